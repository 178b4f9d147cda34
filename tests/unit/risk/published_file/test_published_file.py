"""The checks on tables small enough to see the answer; tests/leaks tries them on many."""

import random
from pathlib import Path

import pytest

from unveil.data.schema import read_schema
from unveil.formats.tables import read_columns
from unveil.risk.published_file import CHECKS, Leak, read_as_a_stranger, read_published_file

SCHEMA = """version = 1
confirmed = true
missing = [""]
[attributes.id]
role = "identifier"
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 20, to = 79, step = 1 }
[attributes.sex]
role = "quasi-identifier"
domain = ["f", "m"]
[attributes.work]
role = "insensitive"
[attributes.ill]
role = "sensitive"
domain = ["a", "b", "c", "d"]
"""


def _people(number: int = 240) -> list[dict[str, str]]:
    draw = random.Random(5)
    return [
        {
            "id": f"P{10_000 + 7 * i}",
            "age": str(draw.randrange(20, 80)),
            "sex": "fm"[i % 2],
            "work": ("office", "field", "home")[i % 3],
            "ill": "abcd"[i // 2 % 4],
        }
        for i in range(number)
    ]


def _published(people: list[dict[str, str]], names: str = "age sex work ill", **changed: str) -> list[dict[str, str]]:
    rows = []
    for person in people:
        low = int(person["age"]) // 20 * 20
        row = {**person, "age": f"[{low},{low + 19}]", **changed}
        rows.append({n: row[n] for n in names.split()})
    random.Random(3).shuffle(rows)
    return rows


def _found(
    folder: Path,
    people: list[dict[str, str]] | None,
    rows: list[dict[str, str]],
    schema: str = SCHEMA,
    sidecar: str = "",
) -> dict[str, Leak]:
    """What is found, by check; each check at most once."""
    (folder / "schema.toml").write_text(schema)
    for name, lines in (("original.csv", people), ("release.csv", rows)):
        if lines is not None:
            text = ["|".join(lines[0]), *("|".join(line.values()) for line in lines)]
            (folder / name).write_text("\n".join(text) + "\n")
    if sidecar:
        (folder / "release.toml").write_text(sidecar)
    read = read_schema(folder / "schema.toml")
    original = None if people is None else read_columns(folder / "original.csv", missing="")
    leaks = read_as_a_stranger(read_published_file(folder / "release.csv", read, original=original))
    assert {leak.check for leak in leaks} == {check.__name__ for check in CHECKS}
    return {leak.check: leak for leak in leaks if leak.severity in ("exceeded", "suspicious")}


def test_a_safe_file_is_fine(tmp_path: Path) -> None:
    people = _people()
    assert _found(tmp_path, people, _published(people)) == {}


def test_without_the_original_what_needs_it_is_not_judged(tmp_path: Path) -> None:
    assert _found(tmp_path, None, _published(_people())) == {}
    file = read_published_file(tmp_path / "release.csv", read_schema(tmp_path / "schema.toml"))
    open_checks = {leak.check for leak in read_as_a_stranger(file) if leak.severity == "not judged"}
    assert open_checks == {check.__name__ for check, (_, needs, _) in CHECKS.items() if needs}


def test_exact_numbers_under_bins_are_counted(tmp_path: Path) -> None:
    people = _people()
    rows = _published(people)
    for row, person in zip(rows[:30], people, strict=False):
        row["age"] = person["age"]
    schema = SCHEMA.replace("to = 79, step = 1 }", "to = 79, step = 1 }\nbins = [40, 60]")
    found = _found(tmp_path, None, rows, schema)
    assert found["exact_values"].people == 30
    assert found["exact_values"].kind == "singling out"


def test_the_number_of_marked_rows_is_the_rarer_spelling(tmp_path: Path) -> None:
    people = _people()
    rows = _published(people)
    for row in rows[:17]:
        row["sex"] += " "
    assert _found(tmp_path, people, rows)["spelling"].people == 17


def test_a_column_that_tells_the_secret_is_named_with_how_often(tmp_path: Path) -> None:
    people = [{**p, "work": {"a": "x", "b": "y", "c": "z", "d": "w"}[p["ill"]]} for p in _people()]
    leak = _found(tmp_path, people, _published(people))["telling_columns"]
    assert leak.columns == ("work", "ill")
    assert leak.people == 240
    assert leak.strength == 1.0


def test_missing_cells_of_one_value(tmp_path: Path) -> None:
    people = _people()
    rows = _published(people, "age sex ill")
    for row in rows:
        row["age"] = "*" if row["ill"] == "c" else row["age"]
    leak = _found(tmp_path, people, rows)["missing_cells"]
    assert leak.people == 60
    assert leak.columns == ("age", "ill")


def test_a_value_never_shown_is_known_of_those_withheld(tmp_path: Path) -> None:
    people = _people()
    rows = [row for row in _published(people) if row["ill"] != "d"]
    assert _found(tmp_path, people, rows)["withheld_values"].people == 60


def test_the_order_of_the_original_and_of_a_hidden_column(tmp_path: Path) -> None:
    people = _people()
    low = {p["id"]: int(p["age"]) // 20 * 20 for p in people}
    line = {p["id"]: {"age": f"[{low[p['id']]},{low[p['id']] + 19}]", "sex": p["sex"], "ill": p["ill"]} for p in people}
    as_they_are = [line[p["id"]] for p in people]
    (tmp_path / "one").mkdir()
    assert _found(tmp_path / "one", people, as_they_are)["row_order"].columns == ()
    by_age = [line[p["id"]] for p in sorted(people, key=lambda p: (int(p["age"]), p["id"][::-1]))]
    (tmp_path / "two").mkdir()
    assert _found(tmp_path / "two", people, by_age)["row_order"].columns == ("age",)
    by_cells = sorted(as_they_are, key=lambda row: tuple(row.values()))
    (tmp_path / "three").mkdir()
    assert "row_order" not in _found(tmp_path / "three", people, by_cells)


def test_people_who_fit_no_row_and_what_was_done(tmp_path: Path) -> None:
    people = _people()
    rows = [{**row, "age": str(int(p["age"]) + 100)} for row, p in zip(_published(people), people, strict=True)]
    leak = _found(tmp_path, people, rows, SCHEMA.replace("to = 79", "to = 200"))["unplaced_people"]
    assert leak.people == 240
    assert leak.columns == ("age",)
    assert "moved by 100" in leak.sentence


def test_copies_are_rows_of_nobody(tmp_path: Path) -> None:
    people = _people(40)
    leak = _found(tmp_path, people, 4 * _published(people))["rows_of_nobody"]
    assert leak.strength == pytest.approx(0.75)


def test_an_identifier_that_repeats_counts_people(tmp_path: Path) -> None:
    people = [dict(p) for p in _people(60) for _ in range(4)]
    leak = _found(tmp_path, people, _published(people))["repeated_people"]
    assert "60 people of 60 have several rows (240 in all" in leak.sentence


def test_a_hash_of_an_identifier_is_called_one(tmp_path: Path) -> None:
    import hashlib

    people = [{**p, "work": hashlib.sha1(p["id"].encode()).hexdigest()} for p in _people()]
    leak = _found(tmp_path, people, _published(people))["identifying_columns"]
    assert "hashed with SHA-1" in leak.sentence
    assert leak.people == 240


def test_counts_called_private_that_are_exact(tmp_path: Path) -> None:
    people = _people()
    found = _found(tmp_path, people, _published(people), sidecar='method = "dp_histogram:epsilon=1"\n')
    assert found["claimed_noise"].kind == "file"


def test_names_of_secrets_and_roles(tmp_path: Path) -> None:
    people = [{("income" if n == "work" else n): v for n, v in p.items()} for p in _people()]
    schema = SCHEMA.replace("[attributes.work]", "[attributes.income]")
    leak = _found(tmp_path, people, _published(people, "age sex income ill"), schema)["doubtful_roles"]
    assert (leak.severity, leak.columns) == ("suspicious", ("income",))
