"""A sheet is what its XML says, however that is written: blanks, quotes, references, prefixes, encodings."""

import random
import re
from pathlib import Path

import pytest
from test_sheet_cells import SHEET, changed, everything

from tests.sheets import WANTED, ods_row, open_document, write_wanted_ods, write_wanted_xlsx, xml_workbook
from unveil.errors import TableError
from unveil.formats import workbook

CONTENT = "content.xml"
TOKEN = re.compile(r"<\?.*?\?>|<[^>]*>|[^<]+")
TABLE = ods_row("x") + ods_row("1") + ods_row("2")


def written_otherwise(raw: bytes, draw: random.Random) -> bytes:
    """The same document: no parser tells the two apart."""
    often = draw.choice([0.03, 0.4])  # seldom, so that plain rows stand among the others
    tokens = TOKEN.findall(raw.decode())
    return "".join(_otherwise(token, draw) if draw.random() < often else token for token in tokens).encode()


def _otherwise(token: str, draw: random.Random) -> str:
    blank = draw.choice(["", "", "", " ", "\n\t"])
    if token.startswith("<?"):
        return token
    if token.startswith("</"):
        return f"{token[:-1]}{blank}>"
    if not token.startswith("<"):
        return _text_otherwise(token, draw)
    if draw.random() < 0.5:
        token = token.replace(" ", blank or " ").replace("=", f"={blank}")
    if draw.random() < 0.5 and "'" not in token:
        token = token.replace('"', "'")
    end = "/>" if token.endswith("/>") else ">"
    return token.removesuffix(end) + blank + end


def _text_otherwise(text: str, draw: random.Random) -> str:
    place = draw.randrange(len(text))
    if text.isspace() or "&" in text or "]]" in text:
        return text
    if draw.random() < 0.9:
        return f"{text[:place]}&#{ord(text[place])};{text[place + 1 :]}"
    noted = "<!-- </row></sheetData></table:table> -->"  # from here on all is the parser's
    return f"{text[:place]}<![CDATA[{text[place:]}]]>{noted}"


@pytest.mark.parametrize("seed", range(16))
def test_one_document_written_in_many_ways(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    for made, part in (
        (write_wanted_xlsx(tmp_path / "t.xlsx"), SHEET),
        (write_wanted_ods(tmp_path / "t.ods"), CONTENT),
    ):
        assert everything(changed(made, part, lambda raw: written_otherwise(raw, draw))) == WANTED


def test_blanks_in_the_end_of_a_sheet(tmp_path: Path) -> None:
    sheets = "".join(f'<table:table table:name="{name}">{{}}</table:table >' for name in "ab")
    path = open_document(tmp_path / "t.ods", "", sheets.format(TABLE, ""))
    assert everything(path) == everything(f"{path}#a") == {"x": ["1", "2"]}
    with pytest.raises(TableError, match="several sheets hold data"):
        everything(open_document(path, "", sheets.format(TABLE, TABLE)))


def test_sheets_in_comments_are_none(tmp_path: Path) -> None:
    path = open_document(
        tmp_path / "t.ods",
        "",
        f'<table:table table:name="a">{TABLE}<!--</table:table><table:table table:name="a">{TABLE}--></table:table>',
    )
    assert everything(path) == {"x": ["1", "2"]}
    with pytest.raises(TableError, match=r"no sheet 'b'; there are 'a'$"):
        everything(f"{path}#b")


@pytest.mark.parametrize("names", [{"table": "ns0", "text": "ns1", "office": "ns2"}, {"text": ""}, {"office": "o"}])
def test_prefixes_are_what_the_file_says(names: dict[str, str], tmp_path: Path) -> None:
    """As ElementTree writes OpenDocument anew."""

    def renamed(raw: bytes) -> bytes:
        text = raw.decode()
        for old, new in names.items():
            text = re.sub(rf"(?<=[</ ]){old}:(?=[a-z])", f"{new}:" if new else "", text)
            text = text.replace(f"xmlns:{old}=", f"xmlns:{new}=" if new else "xmlns=")
        return text.encode()

    assert everything(changed(write_wanted_ods(tmp_path / "t.ods"), CONTENT, renamed)) == WANTED
    number = ods_row("17 kg").replace('"string"', '"float" office:value="17.25"')
    path = open_document(tmp_path / "t.ods", ods_row("x") + number)
    assert everything(changed(path, CONTENT, renamed)) == {"x": ["17.25"]}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_encodings_of_open_document(encoding: str, tmp_path: Path) -> None:
    path = open_document(tmp_path / "t.ods", ods_row("ä") + ods_row("1"))
    said = encoding.removesuffix("-sig")
    changed(path, CONTENT, lambda raw: raw.decode().replace('"1.0"?', f'"1.0" encoding="{said}"?', 1).encode(encoding))
    assert everything(path) == {"ä": ["1"]}


def test_blanks_around_numbers(tmp_path: Path) -> None:
    rows = '<row r="1"><c r="A1" t="inlineStr"><is><t>x</t></is></c></row>'
    rows += '<row r=" 2 "><c r="A2" s=" 0"><v>\n5 </v></c></row><row r="3"><c r="A3" t="e"><v> #N/A\n</v></c></row>'
    assert everything(xml_workbook(tmp_path / "t.xlsx", rows)) == {"x": ["5", "#N/A"]}


def test_rows_that_end_otherwise_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many: they are not held."""
    rows = [f'<row r="{n}"><c r="A{n}" t="inlineStr"><is><t>{n}</t></is></c></row >' for n in range(1, 400)]
    path = xml_workbook(tmp_path / "t.xlsx", "".join(rows))
    monkeypatch.setattr(workbook, "MOST_HELD", 1000)
    monkeypatch.setattr("unveil.formats.spreadsheet_size._PIECE", 300)
    fed: list[int] = []
    feed = workbook.Xml.feed

    def counted(xml: workbook.Xml, block: bytes, last: bool = False) -> None:
        fed.append(len(block))
        feed(xml, block, last)

    monkeypatch.setattr(workbook.Xml, "feed", counted)
    assert everything(path) == {"1": [str(n) for n in range(2, 400)]}
    assert max(fed) < 1500


@pytest.mark.parametrize("cell", ["<c t='inlineStr'><is><t>{}</t></is></c>", "<!-- --><c t='inlineStr'><is><t>{}"])
def test_rows_and_texts_have_bounds(cell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook, "MOST_ROW", 5000)
    monkeypatch.setattr(workbook, "MOST_TOKEN", 5000)
    monkeypatch.setattr("unveil.formats.spreadsheet_size._PIECE", 1000)
    noise = "".join(random.Random(0).choices("abcdefgh", k=20_000))
    cells = "".join(cell.format(noise[i : i + 1000] if "</is>" in cell else noise) for i in range(0, 20_000, 1000))
    with pytest.raises(TableError, match=r"a row of it is over|a text or a comment of it is over"):
        everything(xml_workbook(tmp_path / "t.xlsx", f"<row r='1'>{cells}</row>"))
