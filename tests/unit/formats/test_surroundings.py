"""What a published file holds beside its table, and what the audit says of it."""

import zipfile
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter

from tests.sheets import workbook
from unveil.formats.releases.surroundings import surroundings

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
    assert [s.text for s in surroundings(tmp_path / "p.parquet")] == ["4711,4712"]
    (tmp_path / "r.csv").write_text("age\n20\n")
    (tmp_path / "r.toml").write_text('# seed 4711\nmethod = "noise"\n')
    assert "seed 4711" in surroundings(tmp_path / "r.csv")[0].text


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more", b"nothing of the kind"])
def test_a_damaged_workbook_is_for_its_reader_to_refuse(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "b.xlsx").write_bytes(content)
    assert surroundings(tmp_path / "b.xlsx") == ()
    with zipfile.ZipFile(tmp_path / "c.xlsx", "w") as archive:
        archive.writestr("xl/pivotCache/records1.xml", "<r><s v='Anna'/>Berg</r>")
    assert [s.data for s in surroundings(tmp_path / "c.xlsx")] in ([], [True])
