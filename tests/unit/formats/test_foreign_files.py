"""Files as other programs make them that would be read wrongly, or named wrongly: one line that says what to do."""

import gzip
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

from unveil.errors import TableError
from unveil.formats.statistical.transport import tables
from unveil.formats.tables import READERS, read_columns


def transport(path: Path, *names: str, version: int = 8) -> Path:
    """One transport file with a table of each name, as SAS's own libraries have them."""
    whole = b""
    for number, name in enumerate(names):
        frame = pd.DataFrame({"age": [number, number + 1.0], "sex": ["m", "f"]})
        pyreadstat.write_xport(frame, path, table_name=name, file_format_version=version)
        raw = path.read_bytes()
        start = raw.index(b"HEADER RECORD*******MEMB")
        whole += raw if not whole else raw[start:]
    path.write_bytes(whole)
    return path


@pytest.mark.parametrize("version", [5, 8])
def test_a_transport_file_of_several_tables_is_refused(tmp_path: Path, version: int) -> None:
    """The library takes the headings of the second table for rows of the first."""
    one = transport(tmp_path / "one.xpt", "PEOPLE", version=version)
    assert tables(one) == ["PEOPLE"]
    assert read_columns(one).rows == 2
    two = transport(tmp_path / "two.xpt", "PEOPLE", "VISITS", version=version)
    with pytest.raises(TableError, match="holds several tables, 'PEOPLE', 'VISITS'; save each as a file of its own"):
        read_columns(two)


def test_a_heading_among_the_values_is_no_table(tmp_path: Path) -> None:
    heading = "HEADER RECORD*******MEMBER  HEADER RECORD!!!!!!!000000000000000001600000000140"
    path = tmp_path / "text.xpt"
    pyreadstat.write_xport(pd.DataFrame({"x": ["-" + heading], "y": ["z"]}), path)
    assert len(tables(path)) == 1


def test_letters_that_a_portable_file_cannot_tell_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library gives every foreign letter as the same mark, so that two names would be one."""
    read = pyreadstat.read_sav
    path = tmp_path / "t.por"
    pyreadstat.write_sav(pd.DataFrame({"name": ["M\ufffd\ufffdller", "x"]}), tmp_path / "t.sav")
    path.write_bytes((tmp_path / "t.sav").read_bytes())
    monkeypatch.setattr(pyreadstat, "read_por", read)
    with pytest.raises(TableError, match=r"name: 'M..ller' holds letters .*save it as \.sav"):
        READERS[".por"](path, error=TableError)  # in this process, which has the library's answer changed
    assert read_columns(tmp_path / "t.sav").rows == 2


FOREIGN = {
    "people.fods": (
        b'<?xml version="1.0"?>\n<office:document/>',
        "looks like an XML file, whatever its ending; open it",
    ),
    "people.csv": (b"\xef\xbb\xbf\n <!DOCTYPE html><html><table>", "looks like a web page, whatever its ending"),
    "people.txt": (b"<TABLE><tr><td>age", "looks like a web page"),
    "people.rds": (gzip.compress(b"X\n"), "is R's own kind of file; write the table in R: write.csv(TABLE, FILE, row"),
    "people.RData": (gzip.compress(b"RDX3\nX\n"), "is R's own kind of file"),
    "people.dat": (b"RDX3\nX\n\0\0", "looks like an R data file; write the table in R"),
    "r.csv": (
        b'"","age",""\n"1",30,2\n',
        "column 1 has no name; the first line must name every column, or write it without",
    ),
    "sdcmicro.csv": (b'"age","sex"\n"1",30,"f"\n"2",31,NA\n', "if the first is R's row name, write it with row.names"),
    "table.txt": (b'"age" "sex"\n30 "f"\n', "e.g. --delimiter ' ' (of a release --release-delimiter ' ')"),
    "pandas.csv": (b",age,row_name\n0,30,1\n", "row.names = FALSE in R, index=False in pandas"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_the_line_says_what_it_is_and_what_to_do(tmp_path: Path, name: str) -> None:
    content, message = FOREIGN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError) as refused:
        read_columns(tmp_path / name)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "content", [b'"","age"\n"1",30\n"2",31\n', b",age\n0,30\n1,31\n", b"\xef\xbb\xbf;age\n0;30\n1;31\n"]
)
def test_an_index_without_a_name_is_a_column_that_can_be_named(tmp_path: Path, content: bytes) -> None:
    """pandas' index and R's row names: the draft makes an identifier of it."""
    (tmp_path / "t.csv").write_bytes(content)
    assert list(read_columns(tmp_path / "t.csv").columns) == ["row_name", "age"]


def test_a_value_that_looks_like_markup_is_a_value(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('x,y\n<table>,1\n<?xml,2\nsep=;,3\n"{""a"":1}",4\n')
    assert read_columns(tmp_path / "t.csv").rows == 4
