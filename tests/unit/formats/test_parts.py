"""Tables of many files: equal to the one file that they are pieces of; one line for what is no such table."""

import os
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.anonymizers.mondrian import Mondrian
from unveil.data.schema import Schema
from unveil.engine import Engine
from unveil.errors import OutputError, TableError, UnveilError, UsageError
from unveil.formats.columns import Columns
from unveil.formats.output import NewFolder, write_whole
from unveil.formats.parts import file_digest
from unveil.formats.releases import read_release, write_release
from unveil.formats.tables import read_columns, read_table
from unveil.privacy.models import KAnonymity
from unveil.risk.published_file import read_published_file

ROWS = [(str(n % 7), "fm"[n % 2], ["flu", "a,b", "hiv"][n % 3], f"p{n % 5}") for n in range(40)]
HEAD = "age,sex,ill,id\n"
SCHEMA = {
    "version": 1,
    "confirmed": True,
    "attributes": {
        "age": {"role": "quasi-identifier", "kind": "numeric", "domain": {"from": 0, "to": 9, "step": 1}},
        "sex": {"role": "quasi-identifier", "kind": "categorical"},
        "ill": {"role": "sensitive", "kind": "categorical"},
        "id": {"role": "identifier", "kind": "categorical"},
    },
}


def text(rows: list[tuple[str, ...]]) -> str:
    return HEAD + "".join(",".join(f'"{c}"' if "," in c else c for c in row) + "\n" for row in rows)


def written(folder: Path, edges: list[int], ending: str = ".csv") -> Path:
    folder.mkdir()
    for place, (start, stop) in enumerate(zip([0, *edges], [*edges, len(ROWS)], strict=True)):
        file = folder / f"{place:02}{ending}"
        if ending == ".csv":
            file.write_text(text(ROWS[start:stop]))
        else:
            pl.DataFrame(ROWS[start:stop], HEAD.strip().split(","), orient="row").cast(pl.String).write_parquet(file)
    return folder


def schema() -> Schema:
    from unveil.data.schema.document import SchemaDocument

    return Schema(document=SchemaDocument.model_validate(SCHEMA), hierarchies={}, name="schema.toml")


def assert_same(found: Columns, whole: Columns) -> None:
    assert (found.rows, list(found.columns)) == (whole.rows, list(whole.columns))
    for name, column in whole.columns.items():
        assert list(found.columns[name].texts) == list(column.texts)
        assert np.array_equal(found.columns[name].text_of_row, column.text_of_row)


@given(st.lists(st.integers(0, len(ROWS)), max_size=4).map(sorted), st.booleans())
@settings(max_examples=12, deadline=None)
def test_parts_equal_the_file_that_they_are_pieces_of(edges: list[int], by_pattern: bool) -> None:
    """Also where parts are empty; of identifiers only equality is kept, across parts, too."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "whole.csv").write_text(text(ROWS))
        folder = written(Path(name) / "many", edges)
        found = read_columns(folder / "*.csv" if by_pattern else folder, counted=["id"])
        assert_same(found, read_columns(Path(name) / "whole.csv", counted=["id"]))
        assert sum(found.parts) == len(ROWS)


def test_parquet_parts_and_hive_folders(tmp_path: Path) -> None:
    assert_same(
        read_columns(written(tmp_path / "p", [3, 3, 20], ".parquet")), read_columns(written(tmp_path / "c", []))
    )
    for name, rows in {"region=a%20b": ROWS[:9], "region=__HIVE_DEFAULT_PARTITION__": ROWS[9:]}.items():
        (tmp_path / "hive" / name).mkdir(parents=True)
        (tmp_path / "hive" / name / "x.csv").write_text(text(rows))
    (tmp_path / "hive" / "_SUCCESS").touch()
    for path in (tmp_path / "hive", tmp_path / "hive" / "**" / "*.csv", tmp_path / "hive" / "region=*"):
        found = read_columns(path, missing="?")
        region = found.columns["region"]
        shown = [region.texts[code] for code in region.text_of_row.tolist()]
        assert sorted(shown) == sorted(["a b"] * 9 + ["?"] * 31)
        assert found.place(31) == "region=a%20b/x.csv, line 2"


def test_a_table_and_a_release_of_parts(tmp_path: Path) -> None:
    """The same release, written as the same rows, whether its table was one file or five; and read back the same."""
    (tmp_path / "whole.csv").write_text(text(ROWS))
    whole = read_table(tmp_path / "whole.csv", schema())
    table = read_table(written(tmp_path / "many", [1, 7, 7, 30]), schema())
    assert table.repeated == whole.repeated == {"id": 40}
    made = Mondrian(require=(KAnonymity(k=4),)).anonymize(table, Engine(seed=1)).release
    assert made == Mondrian(require=(KAnonymity(k=4),)).anonymize(whole, Engine(seed=1)).release
    names = [f"part-{place}.csv" for place in range(3)]
    write_release(made, tmp_path / "one.csv", like=table)
    assert write_release(made, tmp_path / "parts", like=table, parts=names) == [tmp_path / "parts"]
    lines = [(tmp_path / "parts" / name).read_text().splitlines() for name in names]
    assert [len(part) - 1 for part in lines] == [13, 13, 14]
    joined = "\n".join([lines[0][0], *(row for part in lines for row in part[1:])]) + "\n"
    assert joined == (tmp_path / "one.csv").read_text()
    assert read_release(tmp_path / "parts", schema(), attributes=table.attributes) == made
    file = read_published_file(tmp_path / "parts", schema())
    assert file.parts == (13, 13, 14)
    assert file.raw == (tmp_path / "one.csv").read_bytes()


def test_numbers_in_all_parts_have_one_type(tmp_path: Path) -> None:
    """A part whose cells happen to be whole years is text where another part holds an interval."""
    table = read_table(written(tmp_path / "many", [5]), schema())
    made = Mondrian(require=(KAnonymity(k=2),)).anonymize(table, Engine(seed=1)).release
    write_release(made, tmp_path / "r", like=table, parts=[f"{n:02}.parquet" for n in range(9)])
    kinds = {str(pl.read_parquet_schema(file)) for file in (tmp_path / "r").iterdir()}
    assert len(kinds) == 1
    assert read_release(tmp_path / "r", schema(), attributes=table.attributes) == made


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "holds no files"),
        ({"a.csv": text(ROWS), "b.csv": "age,sex,id\n1,f,p\n"}, "b.csv has no column 'ill', which a.csv has"),
        ({"a.csv": text(ROWS), "b.csv": "age,sex,ill,id,x\n1,f,flu,p,9\n"}, "a.csv has no column 'x', which b.csv has"),
        ({"a.csv": text(ROWS), "b.parquet": "PAR1"}, "files of several kinds, '.csv' and '.parquet'"),
        ({"a.csv": text([]), "b.csv": text([])}, "holds no rows"),
        ({"a.csv": text(ROWS), "b.csv": ""}, "b.csv: is empty"),
        ({"a.csv": text(ROWS), "b.csv": HEAD + "1,f\n"}, "b.csv, line 2"),
        ({"a.parquet": "PAR1 cut off"}, "a.parquet: cannot be read as Parquet"),
        ({"a.xlsx": "PK"}, "CSV, Parquet or Arrow, not .xlsx"),
        ({"a.csv": text(ROWS), "old/b.csv": text(ROWS)}, "'old' is a folder whose name is not NAME=VALUE"),
        ({"y=1/a.csv": text(ROWS), "b.csv": text(ROWS)}, "does not stand in folders"),
        ({"age=1/a.csv": text(ROWS)}, "holds a column 'age', and so does the name of its folder"),
        ({"y=1/y=2/a.csv": text(ROWS)}, "gives 'y' twice"),
        ({"a.csv": "x;y\n1,5;1\n", "b.csv": "x;y\n1.5;1\n"}, "a.csv writes numbers with a decimal comma"),
    ],
)
def test_what_is_no_table_is_said_in_one_line(tmp_path: Path, files: dict[str, str], said: str) -> None:
    folder = tmp_path / "census"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    with pytest.raises(TableError) as caught:
        read_columns(folder)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pattern_that_fits_nothing_and_a_refused_cell_name_the_place(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no file has such a name"):
        read_columns(tmp_path / "*.csv")
    folder = written(tmp_path / "many", [10])
    (folder / "01.csv").write_text(HEAD + "3,f,flu,p\n77,f,flu,p\n")
    with pytest.raises(TableError, match=r"many, 01.csv, line 3, age: '77' is not a number of the declared domain"):
        read_table(folder, schema())
    (tmp_path / "odd [1].csv").write_text(text(ROWS))
    assert read_columns(tmp_path / "odd [1].csv").rows == len(ROWS)  # a file of that name is that file


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    def breaks(folder: Path) -> None:
        (folder / "a.csv").write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="the disk is full"):
        write_whole({tmp_path / "before.csv": b"x", tmp_path / "release": NewFolder(breaks)})
    assert list(tmp_path.iterdir()) == []
    held = tmp_path / "held"
    held.mkdir()
    write_whole({held: NewFolder(lambda folder: (folder / "a").write_text("1"))})  # an empty folder is taken
    assert (held / "a").read_text() == "1"
    assert (held.stat().st_mode & 0o777, (held / "a").stat().st_mode & 0o777) == (0o755, 0o644)
    with pytest.raises(OutputError, match="holds files already"):
        write_whole({held: NewFolder(lambda folder: None)})
    assert (held / "a").read_text() == "1"


def test_the_digest_of_a_folder_is_of_names_and_contents(tmp_path: Path) -> None:
    folder = written(tmp_path / "many", [10])
    before = file_digest(folder, UsageError)
    os.rename(folder / "01.csv", folder / "02.csv")
    renamed = file_digest(folder, UsageError)
    (folder / "02.csv").write_text(text(ROWS[:3]))
    assert len({before, renamed, file_digest(folder, UsageError)}) == 3
    with pytest.raises(UnveilError, match=r"gone.csv: cannot be read"):
        file_digest(tmp_path / "gone.csv", UsageError)
