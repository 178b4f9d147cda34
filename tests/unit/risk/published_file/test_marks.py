"""Marks of rows against traits of people: planted ones are found, whatever they are, and chance raises no alarm."""

import random
from pathlib import Path

import pytest

from unveil.data.schema import read_schema
from unveil.formats.tables import read_columns
from unveil.risk.published_file import PublishedFile, read_published_file
from unveil.risk.published_file.marks import marked_rows
from unveil.risk.published_file.order import row_order

SCHEMA = """version = 1
confirmed = true
[attributes.id]
role = "identifier"
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 20, to = 99, step = 1 }
[attributes.sex]
role = "quasi-identifier"
domain = ["f", "m"]
[attributes.owes]
role = "sensitive"
domain = ["no", "yes"]
[attributes.ill]
role = "sensitive"
domain = ["a", "b", "c", "d", "e", "f"]
"""
Person = dict[str, str]


def _people(draw: random.Random, number: int = 900) -> list[Person]:
    return [
        {
            "id": str(draw.randrange(10**6, 10**7)),
            "age": str(draw.randrange(20, 80)),
            "sex": draw.choice("fm"),
            "owes": draw.choice(("no", "no", "no", "yes")),
            "ill": draw.choice("abcdef"),
        }
        for _ in range(number)
    ]


def _row(person: Person, *, late: bool = False) -> Person:
    low = int(person["age"]) // 20 * 20
    return {"age": f"[{low},{low + 19 + late}]", "sex": person["sex"], "ill": person["ill"]}


def _file(folder: Path, people: list[Person], rows: list[Person]) -> PublishedFile:
    for name, table in (("people.csv", people), ("release.csv", rows)):
        lines = [",".join(f'"{v}"' if "," in v else v for v in row.values()) for row in table]
        (folder / name).write_text("\n".join([",".join(table[0]), *lines]) + "\n")
    (folder / "schema.toml").write_text(SCHEMA)
    schema = read_schema(folder / "schema.toml")
    return read_published_file(folder / "release.csv", schema, original=read_columns(folder / "people.csv"))


def _riffled(people: list[Person], draw: random.Random) -> list[Person]:
    cut = len(people) // 2
    left, right, found = people[:cut], people[cut:], []
    while left or right:
        found.append((left if draw.random() < len(left) / (len(left) + len(right)) else right).pop(0))
    return found


@pytest.mark.parametrize(
    ("order", "columns"),
    [
        (lambda people, draw: people, ()),
        (lambda people, draw: people[::-1], ()),
        (_riffled, ()),
        (lambda people, draw: people[1::2] + people[::2], ()),
        (lambda people, draw: sorted(people, key=lambda p: p["id"][-3:]), ("id",)),
        (lambda people, draw: sorted(people, key=lambda p: (p["sex"], p["age"])), ("age",)),
        (
            lambda people, draw: sorted(people, key=lambda p: (p["sex"], int(p["age"]) * (-1) ** (p["sex"] == "f"))),
            ("age",),
        ),
    ],
)
def test_orders_that_follow_something(order, columns, tmp_path: Path) -> None:
    draw = random.Random(4)
    people = _people(draw)
    (leak,) = row_order(_file(tmp_path, people, [_row(p) for p in order(list(people), draw)]))
    assert (leak.check, leak.severity, leak.columns) == ("row_order", "exceeded", columns)


def test_a_bound_that_marks_a_secret_which_is_not_published(tmp_path: Path) -> None:
    draw = random.Random(5)
    people = _people(draw)
    rows = [_row(p, late=p["owes"] == "yes") for p in people]
    draw.shuffle(rows)
    (leak,) = marked_rows(_file(tmp_path, people, rows))
    assert leak.columns == ("age", "owes")
    assert leak.people == sum(p["owes"] == "yes" for p in people)


@pytest.mark.parametrize("seed", range(12))
def test_chance_raises_no_alarm(seed: int, tmp_path: Path) -> None:
    """Rows in random order, some of them marked at random: by a bound, and by a cell that is withheld."""
    draw = random.Random(seed)
    people = _people(draw, 400 + 100 * seed)
    rows = [_row(p, late=draw.random() < 0.2) for p in people]
    rows = [{**r, "sex": "*" if draw.random() < 0.1 else r["sex"]} for r in rows]
    draw.shuffle(rows)
    file = _file(tmp_path, people, rows)
    assert not marked_rows(file)
    assert not row_order(file)
