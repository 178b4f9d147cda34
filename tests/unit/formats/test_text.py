"""Reading delimited text: dialects, refusals one by one, and Python's csv module as the oracle."""

import csv
import io
import json
import os
import string
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from unveil.data.notation import FileNotation
from unveil.errors import ReleaseError, TableError, UsageError
from unveil.formats import text as text_module
from unveil.formats.text import dialect, distinct_codes, encodings, read_text
from unveil.formats.text.dialect import described

quick = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def file(tmp_path):
    """A function that writes bytes or text to a file and gives its path."""

    def write(content, name="t.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


def cells(table):
    columns = [[column.texts[i] for i in column.text_of_row.tolist()] for column in table.columns.values()]
    return [list(row) for row in zip(*columns, strict=True)]


# ------------------------------------------------------------------------------------------------------- dialects


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("final", [True, False])
def test_delimiters_and_line_ends(file, delimiter, newline, final):
    lines = [delimiter.join(row) for row in (["a", "b"], ["1", "x y"], ["", ""], ["3", ""])]
    table = read_text(file(newline.join(lines) + newline * final))
    assert tuple(table.columns) == ("a", "b")
    assert cells(table) == [["1", "x y"], ["", ""], ["3", ""]]
    assert table.notation == FileNotation(delimiter, newline=newline)
    assert [table.place.number(row) for row in range(table.rows)] == [2, 3, 4]


@pytest.mark.parametrize(
    ("encoding", "found"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16"), ("cp1252", "cp1252")],
)
def test_encodings_are_found(file, encoding, found):
    table = read_text(file("näme;preis\nJosé;1,5 €\n", encoding=encoding))
    assert tuple(table.columns) == ("näme", "preis")
    assert cells(table) == [["José", "1,5 €"]]
    assert table.notation.encoding == found


def test_utf16_big_endian(file):
    path = file(b"\xfe\xff" + "a,b\n€,ü\n".encode("utf-16-be"))
    assert cells(read_text(path)) == [["€", "ü"]]


def test_aliases_of_encodings_and_tab(file):
    table = read_text(file("é\tb\n1\t2\n", encoding="cp1252"), encoding="windows-1252", delimiter="tab")
    assert [*table.columns] == ["é", "b"]


def test_mark_is_dropped_before_a_quoted_name(file):
    table = read_text(file('"a\nb",c\n1,2\n', encoding="utf-8-sig"))
    assert tuple(table.columns) == ("a\nb", "c")
    assert table.place.number(0) == 3


def test_describe():
    assert described(FileNotation(";", "cp1252", ","), False) == "';' separated, cp1252, decimal comma"
    assert described(FileNotation("\t"), False) == "tab separated, utf-8"
    assert described(FileNotation(), True) == "',' separated, utf-8, blanks around fields dropped"


@pytest.mark.parametrize("header", ["age, work", "age,work"])
def test_blanks_after_every_delimiter_are_dropped(file, header):
    table = read_text(file(f'{header}\n39, State-gov\n50, ?\n1, "a, b" \n 2 , c \n\n'))
    assert "blanks around" in table.described
    assert tuple(table.columns) == ("age", "work")
    assert cells(table) == [["39", "State-gov"], ["50", "?"], ["1", "a, b"], ["2", "c"]]


def test_blanks_after_every_delimiter_without_quotes(file):
    table = read_text(file("a, b, c\n1,  x y, \n 2, \tz, 3\n"))
    assert cells(table) == [["1", "x y", ""], ["2", "z", "3"]]


def test_blanks_after_some_delimiters_are_text(file):
    table = read_text(file("a,b\n1, x\n2,y\n"))
    assert "blanks around" not in table.described
    assert cells(table) == [["1", " x"], ["2", "y"]]


def test_quotes(file):
    table = read_text(file('a,b\n"x ""y"" z","1,2"\n"","l1\nl2\r\nl3"\nend,.\n'))
    assert cells(table) == [['x "y" z', "1,2"], ["", "l1\nl2\r\nl3"], ["end", "."]]
    assert [table.place.number(row) for row in range(3)] == [2, 3, 6]


def test_quote_inside_an_unquoted_field_is_text(file):
    table = read_text(file('a,b\na"b,c\nd,e"f"\n5" pipe,"""q"""\n'))
    assert cells(table) == [['a"b', "c"], ["d", 'e"f"'], ['5" pipe', '"q"']]


def test_nothing_is_interpreted(file):
    values = ["NA", "null", "NaN", "", "true", "2020-01-01", "007", "1e5", "#x", "-", " ", "=1+1"]
    table = read_text(file("a,b\n" + "".join(f"{v},{v}\n" for v in values)))
    assert cells(table) == [[v, v] for v in values]


def test_one_column(file):
    table = read_text(file('name\nx\n\n"y\nz"\n""\n \n\n\n'))
    assert cells(table) == [["x"], [""], ["y\nz"], [""], [" "]]
    assert [table.place.number(row) for row in range(5)] == [2, 3, 4, 6, 7]


def test_one_column_of_decimal_commas(file):
    table = read_text(file("height\n1,5\n2\n-3,25\n"))
    assert cells(table) == [["1,5"], ["2"], ["-3,25"]]
    assert table.decimal == ","


def test_first_cell_that_starts_with_the_mark_is_kept(file):
    assert cells(read_text(file("a,b\n\ufeffx,y\n"))) == [["\ufeffx", "y"]]


@pytest.mark.parametrize(
    ("values", "decimal"),
    [
        (["1,5", "2", "NA"], ","),
        (["1.234,5", "7"], ","),
        (["0,125"], ","),
        (["1.5", "2"], "."),
        (["1,234", "2,500"], "."),  # perhaps thousands: not read as a decimal comma
        (["a,b", "c"], "."),
        (["1", "2"], "."),
        (["1,5", "x1"], "."),
    ],
)
def test_decimal_mark(file, values, decimal):
    assert read_text(file("a;b\n" + "".join(f"x;{v}\n" for v in values))).decimal == decimal


def test_options_win_over_what_is_found(file):
    table = read_text(file("a;b,c\n1;2,5\n"), delimiter=",", decimal=",", encoding="cp1252")
    assert tuple(table.columns) == ("a;b", "c")
    assert table.notation == FileNotation(",", "cp1252", ",")


def test_other_delimiters_on_request(file):
    assert cells(read_text(file("a b\n1 2\n"), delimiter=" ")) == [["1", "2"]]
    assert cells(read_text(file("a^b\n1^2\n"), delimiter="^")) == [["1", "2"]]


def test_delimiter_inside_quotes_does_not_confuse(file):
    table = read_text(file('a,"b;c"\n1,"2;3"\n'))
    assert tuple(table.columns) == ("a", "b;c")
    assert table.notation.delimiter == ","


def test_structure_is_found_beyond_the_sample(file, monkeypatch):
    monkeypatch.setattr(dialect, "SAMPLE", 16)
    table = read_text(file('a;b\n"' + "x\n" * 500 + '";1\n2;3\n'))
    assert cells(table)[1] == ["2", "3"]
    assert table.place.number(1) == 503


def test_a_field_of_megabytes(file):
    long = "x" * 3_000_000
    assert cells(read_text(file(f'a,b\n{long},"{long}\n"\n'))) == [[long, long + "\n"]]


def test_many_quoted_line_ends(file):
    rows = [[str(i), "a\n" * (i % 5) + '"' * (i % 3)] for i in range(20_000)]
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows([["i", "t"], *rows])
    table = read_text(file(out.getvalue()))
    assert cells(table) == rows
    lines = 2
    for i, row in enumerate(rows):
        assert table.place.number(i) == lines
        lines += 1 + row[1].count("\n")


# ------------------------------------------------------------------------------------------------------- refusals

REFUSALS = {
    "empty": ("", "t.csv: is empty; a header line"),
    "blank": ("\n\n", "is empty"),
    "mark alone": (b"\xef\xbb\xbf", "is empty"),
    "header alone": ("a,b\n", "t.csv: holds no rows"),
    "header alone and blanks": ("a,b\n\n \n", "holds no rows"),
    "header of two delimiters alone": ("a,b;c\n", "holds no rows"),
    "short": ("a,b\n1,2\n3\n", r"t.csv, line 3: 1 field where the header has 2 \(',' separated\)"),
    "long": ("a,b\n1,2\n3,4,5\n", "line 3: 3 fields where the header has 2"),
    "short behind quoted lines": ('a,b\n"1\n\r\n",2\n3\n', "line 5: 1 field where"),
    "long at the end": ("a;b\n1;2\n3;4;", "line 3: 3 fields where the header has 2"),
    "unclosed": ('a,b\n1,"2\n3,4\n', "t.csv, line 2: the quote that opens here is never closed"),
    "unclosed name": ('a,"b\n1,2\n', "line 1: the quote that opens here"),
    "unclosed at once": ('"a,b\n1,2\n', "line 1: the quote that opens here"),
    "after quote": ('a,b\n1,"2"x\n', "line 2: text after the quote that closes a field; double"),
    "after quote, below": ('a,b\n1,"2\n3,"4"\n', r"line 3: text after .* \(it opened on line 2\)"),
    "blank after quote": ('a,b\n1,"2" \n3,4\n', "line 2: text after the quote"),
    "blank line": ("a,b\n1,2\n\n3,4\n", "t.csv, line 3: a blank line between the rows; remove it"),
    "line of blanks": ("a,b\n1,2\n \n3,4\n", "line 3: a blank line between the rows"),
    "blank first line": ("\na,b\n1,2\n", "line 1: blank; the first line must name the columns"),
    "no name": ("a,\n1,2\n", "line 1: column 2 has no name"),
    "blank name": ('a," "\n1,2\n', "line 1: column 2 has no name"),
    "same names": ("a,b, a\n1,2,3\n", "line 1: two columns are named 'a'; the first line"),
    "two delimiters": ("a;b,c\n1;2,5\n", r"not clear, ',' \(2 columns\) and ';' \(2 columns\) both split"),
    "header of one field": ("title\n1,x\n3,y\n", r"the header is one field, but row 1 has 2 \(',' separated\)"),
    "two decimals": ("a;b\n1,5;2.5\n", "decimal mark is not clear, 'a' is written with a comma and 'b' with a point"),
    "NUL": (b"a,b\n1,\x002\n", "line 2: not a text file: it holds a NUL byte"),
    "UTF-16 without mark": ("a,b\n1,2\n".encode("utf-16-le"), "NUL byte; save it as CSV, or say encoding utf-16"),
    "bad UTF-16": (b"\xff\xfea\x00,\x00\x00\xd8", "not valid UTF-16"),
    "neither encoding": (b"a,b\n1,\x81\n", "line 2: not a text file: byte 0x81 is neither UTF-8 nor cp1252"),
    "broken UTF-8": (
        "a,b\nü,é\nö,ä\n".encode() + b"\xe9,x\n",
        "line 4: byte 0xe9 is not UTF-8 in a file that mostly is",
    ),
    "broken UTF-8 with mark": (b"\xef\xbb\xbfa,b\n\xe9,x\n", "line 2: byte 0xe9 is not UTF-8"),
    "gzip": (b"\x1f\x8b\x08\x00abc", "looks like a gzip archive; unpack it first"),
    "xlsx": (b"PK\x03\x04" + b"\0" * 30 + b"xl/workbook.xml", "looks like an Excel file; let its name end in .xlsx"),
    "xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "looks like an Excel file; let its name end in .xls"),
    "ods": (b"PK\x03\x04mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "OpenDocument spreadsheet"),
    "zip": (b"PK\x03\x04abc", "looks like a zip archive"),
    "parquet": (b"PAR1\x15\x04PAR1", "looks like a Parquet file; let its name end in .parquet"),
}


@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.parametrize("block", [encodings.BLOCK, 5])
def test_refusal(file, monkeypatch, case, block):
    monkeypatch.setattr(encodings, "BLOCK", block)
    content, message = REFUSALS[case]
    with pytest.raises(TableError, match=message) as caught:
        read_text(file(content))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(file(content)))


def test_a_column_named_par1_is_no_parquet(file):
    assert [*read_text(file("PAR1,b\n1,PAR1\n")).columns] == ["PAR1", "b"]


def test_cp1252_with_a_few_accidental_sequences(file):
    # ß and a closing quotation mark are together a valid UTF-8 sequence.
    table = read_text(file("a,b\n„Spaß“,Größe\n", encoding="cp1252"))
    assert cells(table) == [["„Spaß“", "Größe"]]


def test_said_encoding_is_kept_to(file):
    with pytest.raises(
        TableError, match="line 2: byte 0xe9 is not UTF-8; save the file as UTF-8 or say encoding cp1252"
    ):
        read_text(file(b"a,b\n\xe9,2\n"), encoding="utf-8")
    with pytest.raises(TableError, match="starts with the mark of UTF-8"):
        read_text(file("a,b\n1,2\n", encoding="utf-8-sig"), encoding="cp1252")


def test_error_class_of_the_caller(file):
    with pytest.raises(ReleaseError, match="holds no rows"):
        read_text(file("a,b\n"), error=ReleaseError)


def test_missing_file(tmp_path):
    with pytest.raises(TableError, match=r"none\.csv: no such file"):
        read_text(tmp_path / "none.csv")
    (tmp_path / "f").write_text("x")
    with pytest.raises(TableError, match="cannot be read: not a directory"):
        read_text(tmp_path / "f" / "x.csv")
    with pytest.raises(TableError, match="is not a valid file name"):
        read_text("a\0b")


def test_control_characters_of_a_path_do_not_break_the_line(tmp_path):
    with pytest.raises(TableError, match=r"a\\nb: no such file"):
        read_text(tmp_path / "a\nb")


def test_folder(tmp_path):
    with pytest.raises(TableError, match="is a folder; name a CSV file in it"):
        read_text(tmp_path)


def test_device():
    with pytest.raises(TableError, match="is a device, not a file"):
        read_text("/dev/zero")


def test_pipe(tmp_path):
    import threading

    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(b"a,b\n1,2\n"))
    writer.start()
    assert cells(read_text(path)) == [["1", "2"]]
    writer.join()


def test_no_permission(file, monkeypatch):
    path = file("a,b\n1,2\n")

    def denied(self, mode):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(encodings.Path, "open", denied)  # chmod does not stop root
    with pytest.raises(TableError, match="no permission to read it"):
        read_text(path)


def test_field_over_the_limit(file, monkeypatch):
    for module in (dialect, text_module):
        monkeypatch.setattr(module, "FIELD_LIMIT", 1 << 20)
    with pytest.raises(TableError, match="line 2: a field of over 1 MB; is a closing quote missing"):
        read_text(file('a,b\n1,"' + ("x" * 1000 + "\n") * 1200 + '"\n'))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda frame: frame.head(1),
        lambda frame: frame.with_columns(pl.lit(None, pl.String).alias("1")),
        lambda frame: pl.concat([frame, frame]),
    ],
)
def test_an_engine_that_loses_cells_is_not_believed(file, monkeypatch, spoil):
    real, calls = pl.read_csv, []
    monkeypatch.setattr(pl, "read_csv", lambda *given, **options: calls.append(1) or spoil(real(*given, **options)))
    assert cells(read_text(file("a,b\n1,2\n3,4\n"))) == [["1", "2"], ["3", "4"]]
    assert calls


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ",,"}, "delimiter ',,': one ASCII character"),
        ({"delimiter": '"'}, "one ASCII character"),
        ({"delimiter": "§"}, "one ASCII character"),
        ({"decimal": ";"}, "decimal ';': . or , is needed"),
        ({"encoding": "latin-1"}, "encoding 'latin-1': one of utf-8, utf-8-sig, utf-16, cp1252"),
        ({"encoding": "x\0"}, "encoding 'x"),
    ],
)
def test_options(file, options, message):
    with pytest.raises(UsageError, match=message):
        read_text(file("a,b\n1,2\n"), **options)


def test_messages_hold_no_cells(file):
    for content in ("a,b\nsecret,2\nsecret\n", 'a,b\n"secret"x,1\n', 'a,b\n"secret,1\n', "a,b\nsecret,1\n\nx,y\n"):
        with pytest.raises(TableError) as caught:
            read_text(file(content))
        assert "secret" not in str(caught.value)


# --------------------------------------------------------------------------------------------- csv module as oracle

HOSTILE = st.text(
    st.one_of(
        st.sampled_from(list(",;\t|\"'\r\n =+-@\ufeff\u200f\u202e\u2028#\\é€")),
        st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
    ),
    max_size=8,
)
CP1252 = st.text(st.sampled_from(string.printable + "éß€“”’ÿ¡"), max_size=8)


@st.composite
def tables(draw, cell):
    width = draw(st.integers(1, 4))
    header = draw(st.lists(cell.map(str.strip).filter(bool), min_size=width, max_size=width, unique=True))
    rows = draw(st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=6))
    return header, rows


@quick
@given(
    table=st.one_of(
        st.tuples(tables(HOSTILE), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])),
        st.tuples(tables(CP1252), st.just("cp1252")),
    ),
    delimiter=st.sampled_from([",", ";", "\t", "|", ":"]),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    final=st.booleans(),
)
def test_reads_what_the_csv_module_writes(file, table, delimiter, newline, quoting, final):
    (header, rows), encoding = table
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=newline, quoting=quoting).writerows([header, *rows])
    written = out.getvalue() if final else out.getvalue().removesuffix(newline)
    # A mark at the start of plain UTF-8 is a byte order mark, and nothing else can be known.
    assume(not (encoding == "utf-8" and written.startswith("\ufeff")))
    oracle = list(csv.reader(io.StringIO(written, newline=""), delimiter=delimiter))
    assume(oracle == [header, *rows])  # Python's own writer leaves lone CR or blank cells open in a few cases
    table = read_text(file(written, encoding=encoding), delimiter=delimiter, encoding=encoding, decimal=".")
    assume("blanks around" not in table.described)
    assert list(table.columns) == header
    assert cells(table) == rows


@quick
@given(
    rows=st.lists(st.lists(st.text(string.ascii_letters + '"\n .', max_size=5), min_size=3, max_size=3), min_size=1),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
)
def test_finds_the_delimiter_the_csv_module_wrote(file, rows, delimiter):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows([["a", "b", "c"], *rows])
    table = read_text(file(out.getvalue()))
    assert table.notation.delimiter == delimiter
    if "blanks around" in table.described:
        assert [[c.strip() for c in row] for row in cells(table)] == [[c.strip() for c in row] for row in rows]
    else:
        assert cells(table) == rows


@quick
@given(content=st.text(st.sampled_from('ab,"\n\r '), max_size=40))
def test_any_text_is_read_as_by_the_csv_module_or_refused(file, content):
    path = file("x,y\n" + content)
    try:
        table = read_text(path, delimiter=",")
    except TableError as refusal:
        assert "\n" not in str(refusal)  # noqa: PT017  one line is all that is asked
        return
    assume("blanks around" not in table.described)
    oracle = list(csv.reader(io.StringIO("x,y\n" + content, newline=""), strict=True))[1:]
    while oracle and (not oracle[-1] or (len(oracle[-1]) == 1 and not oracle[-1][0].strip())):
        oracle.pop()
    assert cells(table) == oracle


def whole(path, **options):
    """All that reading gives, or the error's text."""
    try:
        table = read_text(path, **options)
    except TableError as refusal:
        return str(refusal)
    return (
        tuple(table.columns),
        cells(table),
        table.notation,
        table.described,
        [table.place.number(row) for row in range(table.rows)],
    )


@quick
@given(
    content=st.text(st.sampled_from('aé,"\n\r '), max_size=60),
    header=st.sampled_from(["x,y\n", "x\r\n", '"x\n\n",y\r', "x, y\n"]),
    block=st.sampled_from([1, 2, 5, 11]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
)
def test_a_file_read_in_pieces_is_the_same(file, content, header, block, encoding):
    path = file(header + content, encoding=encoding)
    expected = whole(path, delimiter=",")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encodings, "BLOCK", block)
        assert whole(path, delimiter=",") == expected


@quick
@given(
    content=st.text(st.sampled_from('aé1,";\t\n\r '), max_size=60),
    header=st.sampled_from(["x,y\n", "x\r\n", '"x\n\n",y\r', "x, y\n"]),
    delimiter=st.sampled_from([None, ",", ";", "tab"]),
    block=st.sampled_from([7, 1 << 24]),
)
def test_polars_reads_what_the_records_say(file, content, header, delimiter, block):
    """The quick way and the definition: the same cells, lines and refusals."""
    path = file(header + content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encodings, "BLOCK", block)
        quick_way = whole(path, delimiter=delimiter)
        patch.setattr(text_module._Pieces, "parsed", lambda *_: None)
        assert whole(path, delimiter=delimiter) == quick_way


def test_a_seam_between_what_is_looked_at_at_once(file, monkeypatch):
    content = 'a,b\r\n"x ""y"", z",1\r\n5,"l\r\nm"\r\n' * 3
    content = content[:5] + content[5:].replace("a,b\r\n", "")
    expected = whole(file(content))
    assert len(expected[1]) == 6
    for size in range(1, 40):
        monkeypatch.setattr(text_module, "_AT_ONCE", size)
        assert whole(file(content)) == expected


CORPUS = json.loads(Path(__file__).with_name("text_corpus.json").read_text())


@pytest.mark.parametrize("block", [encodings.BLOCK, 20])
def test_files_are_read_as_by_the_reader_before(tmp_path, monkeypatch, block):
    """360 files, half of them faulty, with what our own scanner made of them before polars parsed alone."""
    monkeypatch.setattr(encodings, "BLOCK", block)
    monkeypatch.chdir(tmp_path)
    for case in CORPUS:
        Path("t.csv").write_bytes(case["bytes"].encode("latin-1"))
        expected = case["found"]
        found = whole("t.csv", delimiter=case.get("delimiter"))
        if isinstance(expected, str):
            # What is wrong with the names is told behind what is wrong in the first block.
            early = block == 20 and ("line 1: column" in str(found) or "line 1: column" in expected)
            assert early or found == f"t.csv{expected}"
            continue
        names, rows, written, said, lines = found
        columns = [list(column) for column in zip(*rows, strict=True)]
        assert (list(names), columns, lines) == (expected["names"], expected["columns"], expected["lines"])
        delimiter, encoding, decimal, trimmed, newline = expected["dialect"]
        assert written == FileNotation(delimiter, encoding, decimal, newline)
        assert said == described(written, trimmed)


# ----------------------------------------------------------------------------------------------------------- codes


@quick
@given(st.lists(HOSTILE, max_size=20))
def test_codes_name_the_sorted_texts(values):
    texts, codes = distinct_codes(pl.Series("x", values, pl.String))
    assert texts == sorted(set(values))
    assert [texts[code] for code in codes] == values


@pytest.mark.parametrize(("distinct", "dtype"), [(200, np.uint8), (300, np.uint16), (70_000, np.uint32)])
def test_codes_are_small(distinct, dtype):
    texts, codes = distinct_codes(pl.Series("x", [str(i) for i in range(distinct)]))
    assert codes.dtype == dtype
    assert len(texts) == distinct


def test_codes_refuse_nulls():
    with pytest.raises(ValueError, match="column 'x' has nulls"):
        distinct_codes(pl.Series("x", ["a", None]))


def test_counting_delimiters_finds_what_parsing_finds() -> None:
    """On short texts with every kind of quote, blank and line end; where quotes take a parser, it does not answer."""
    random, answered = np.random.default_rng(5), 0
    for _ in range(2000):
        delimiter = str(random.choice([",", ";", "\t", " "]))
        mark = delimiter.encode()
        parts = [
            b"a",
            b"b ",
            mark,
            mark,
            b"\n",
            b"\r\n",
            b"\r",
            b" ",
            b'"',
            b'""',
            b'"x%sy"' % mark,
            b'"q"',
            b' "q%s"' % mark,
        ]
        weight = random.random(len(parts)) ** random.choice([1, 6])
        text = b"".join(parts[i] for i in random.choice(len(parts), random.integers(14), p=weight / weight.sum()))
        if random.random() < 0.3:
            text = text.replace(mark, mark + b" ")
        may_trim = delimiter != " " and f"{delimiter} ".encode() in text
        found = dialect._counted(text, delimiter, may_trim)
        if found is None:
            continue
        answered += 1
        parsed = dialect._parsed(text, delimiter, may_trim, whole=True)
        assert found.widths.tolist() == parsed.widths.tolist(), text
        assert replace(found, widths=parsed.widths) == parsed, text
    assert answered > 500
