"""What a published file holds beside its table, and what the audit says of it."""

import zipfile
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter

from tests.sheets import workbook
from unveil.formats.releases.surroundings import NAMES, surroundings

TABLE = [["age", "ill"], ["20", "flu"], ["30", "gout"]]


def test_a_plain_file_has_nothing_beside_its_table(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("age,ill\n20,flu\n")
    workbook(tmp_path / "r.xlsx", one=TABLE)
    pl.DataFrame({"age": ["20"]}).write_parquet(tmp_path / "r.parquet")
    for name in ("r.csv", "r.xlsx", "r.parquet"):
        assert not [s for s in surroundings(tmp_path / name) if s.data], name


def test_sheets_comments_metadata_and_remarks(tmp_path: Path) -> None:
    book = xlsxwriter.Workbook(tmp_path / "b.xlsx")
    shown, hidden = book.add_worksheet("shown"), book.add_worksheet("work")
    for i, row in enumerate(TABLE):
        shown.write_row(i, 0, row)
        hidden.write_row(i, 0, [*row, 4711 + i])
    hidden.hide()
    shown.write_comment("A2", "this is Anna Berg")
    book.close()
    found = {s.where: s for s in surroundings(tmp_path / "b.xlsx") if s.data}
    assert "4712" in found["the hidden sheet 'work'"].text.split("\n")
    assert any("Anna Berg" in s.text for where, s in found.items() if where.startswith("comments"))
    named = [s.where for s in surroundings(tmp_path / "b.xlsx#work") if s.data]
    assert "the sheet 'shown'" in named  # the other way round
    pl.DataFrame({"age": ["20"]}).write_parquet(tmp_path / "p.parquet", metadata={"index": "4711,4712"})
    assert [s.text for s in surroundings(tmp_path / "p.parquet") if s.where not in NAMES] == ["4711,4712"]
    (tmp_path / "r.csv").write_text("age\n20\n")
    (tmp_path / "r.toml").write_text('# seed 4711\nmethod = "noise"\n')
    assert "seed 4711" in surroundings(tmp_path / "r.csv")[1].text


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more", b"nothing of the kind"])
def test_a_damaged_workbook_is_for_its_reader_to_refuse(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "b.xlsx").write_bytes(content)
    assert [s.where for s in surroundings(tmp_path / "b.xlsx")] == [NAMES[0]]
    with zipfile.ZipFile(tmp_path / "c.xlsx", "w") as archive:
        archive.writestr("xl/pivotCache/records1.xml", "<r><s v='Anna'/>Berg</r>")
    assert [s.data for s in surroundings(tmp_path / "c.xlsx")] in ([False], [False, True])


@pytest.mark.parametrize("what", ["height", "link", "list", "merged", "left"])
def test_whatever_a_table_does_not_need_is_named(what: str, tmp_path: Path) -> None:
    book = xlsxwriter.Workbook(tmp_path / "b.xlsx")
    sheet = book.add_worksheet("Dialyse")
    for i, row in enumerate(TABLE):
        sheet.write_row(i, 0, row)
    if what == "height":
        sheet.set_row(2, 30)
    elif what == "link":
        sheet.write_url("A2", "http://clinic.example/4711", string="20")
    elif what == "list":
        sheet.data_validation("A2", {"validate": "list", "source": ["4711", "4712"]})
    elif what == "merged":
        sheet.merge_range("D4:E5", "")
    else:
        sheet.write_string("A3", "was Anna")
        sheet.write_string("A3", "30")
    book.close()
    found = surroundings(tmp_path / "b.xlsx")
    assert [s for s in found if s.data], what
    assert any(s.where == NAMES[1] and s.text == "Dialyse" for s in found)
    if what in ("link", "list"):
        assert any("4711" in s.text for s in found)
