"""What stands around a table in an export for people: passed over and said in an original, never in a release."""

from pathlib import Path

import pytest

from unveil.errors import TableError
from unveil.formats.tables import read_columns
from unveil.formats.text.heading import find_heading, is_total

ROWS = "".join(f"{i};Köln;{i},5;0{i % 9 + 1}.02.2019\n" for i in range(30))


def read(path: Path, text: str, **options: object) -> list[list[str]]:
    file = path / "export.csv"
    file.write_text(text, encoding="utf-8")
    found = read_columns(file, **options)  # type: ignore[arg-type]
    return [[name, *(column.texts[i] for i in column.text_of_row)] for name, column in found.columns.items()]


@pytest.mark.parametrize(
    ("above", "below", "said"),
    [
        ("Auszug der Klinik;;;\nStand 1.3.2020;;;\n", "", "names in line 3"),
        ("Auszug der Klinik\n", "", "names in line 2"),
        ("", ";;kg;tt.mm.jjjj\n", "the units in line 2 left out"),
        ("Liste;;;\n", ";;kg;\n", "names in line 2, the units in line 3 left out"),
    ],
)
def test_titles_and_units_are_passed_over(tmp_path: Path, above: str, below: str, said: str) -> None:
    plain = read(tmp_path, "Nr;Ort;Gewicht;Tag\n" + ROWS)
    assert read(tmp_path, f"{above}Nr;Ort;Gewicht;Tag\n{below}{ROWS}") == plain
    assert said in read_columns(tmp_path / "export.csv").described


def test_two_rows_of_names(tmp_path: Path) -> None:
    """Groups tell names apart that stand twice; a name above an empty cell is the column's."""
    rows = "".join(f"{i},{i % 7},{i % 5},x\n" for i in range(30))
    found = read(tmp_path, f"Number,2019,,Remark\n,sick,paid,\n{rows}")
    assert [name for name, *_ in found] == ["Number", "sick", "paid", "Remark"]
    found = read(tmp_path, f"Person,Before,After,\nNo.,score,score,note\n{rows}")
    assert [name for name, *_ in found] == ["No.", "Before score", "After score", "note"]


@pytest.mark.parametrize("total", ["Total;;;", "Summe;;435;", ";;;\ninsgesamt;;435,0;"])
def test_totals_at_the_end_are_left_out(tmp_path: Path, total: str) -> None:
    text = "Nr;Ort;Gewicht;Tag\n" + ROWS
    assert read(tmp_path, text + total + "\n") == read(tmp_path, text)
    read(tmp_path, text + total)
    assert "of totals at the end left out" in read_columns(tmp_path / "export.csv").described


@pytest.mark.parametrize(
    "row",
    ["", "Totaro;Köln;1,5;01.02.2019\n", "k.A.;;;\n", ";;n.b.;\n", "Total;Köln;1;01.02.2019\n"],
)
def test_people_are_never_left_out(tmp_path: Path, row: str) -> None:
    """A first or last person of whom little is known, or called like a total, stays."""
    rows = ROWS.count("\n") + row.count("\n")
    for text in (row + ROWS, ROWS + row):
        assert all(len(column) == rows + 1 for column in read(tmp_path, "Nr;Ort;Gewicht;Tag\n" + text))


@pytest.mark.parametrize(
    "text",
    ["a,b\nx,y\nx,z\nw,y\n", "1,2\n3,4\n5,6\n", "Title\na,b\nx,y\nx,z\n", "a,b\n1,2\n3,4\n", "a,\nb,c\nd,e\n", ""],
)
def test_what_is_not_sure_is_no_heading(text: str) -> None:
    """Names that are followed by nothing but words might be a person; complete first lines need no heading."""
    assert find_heading(text.encode(), None) is None


def test_a_release_is_read_as_it_stands(tmp_path: Path) -> None:
    """What stands beside its table is published."""
    text = "Nr;Ort;Gewicht;Tag\n" + ROWS
    assert len(read(tmp_path, text + "Summe;;435;\n", published=True)[0]) == 32
    with pytest.raises(TableError, match="line 1: column 2 has no name"):
        read(tmp_path, "Patienten von Dr. X;;;\n" + text, published=True)


def test_places_are_those_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="line 34: 3 fields"):
        read(tmp_path, "Liste;;;\nNr;Ort;Gewicht;Tag\n;;kg;\n" + ROWS + "1;2;3\n")
    (tmp_path / "export.csv").write_text("Liste;;;\nNr;Ort;Gewicht;Tag\n;;kg;\n" + ROWS, encoding="utf-8")
    assert read_columns(tmp_path / "export.csv").place(0) == "line 4"


def test_what_a_total_is() -> None:
    assert is_total(["", "Total général", "", "12"])
    assert not is_total(["Total", "12", "13"])
    assert not is_total(["Totaro", "", "", ""])
