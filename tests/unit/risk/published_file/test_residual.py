"""All columns together, who is published, and cells without a rule: planted, and where nothing was planted."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from unveil.data.schema import read_schema
from unveil.formats.tables import read_columns
from unveil.risk.published_file import PublishedFile, read_published_file
from unveil.risk.published_file.canonical import unexplained_cells
from unveil.risk.published_file.residual import chosen_people, told_by_all_columns

SCHEMA = """version = 1
confirmed = true
[attributes.number]
role = "identifier"
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 20, to = 59, step = 1 }
[attributes.town]
role = "quasi-identifier"
[attributes.ill]
role = "sensitive"
[attributes.a]
role = "insensitive"
[attributes.b]
role = "insensitive"
[attributes.c]
role = "insensitive"
"""
PEOPLE = 1_200
Columns = dict[str, np.ndarray]


def _people(seed: int) -> Columns:
    draw = np.random.default_rng(seed)
    drawn = {n: draw.integers(0, 4, PEOPLE) for n in "abc"}
    ages, towns, ills = draw.integers(20, 60, PEOPLE), draw.integers(0, 3, PEOPLE), draw.integers(0, 5, PEOPLE)
    return {"number": draw.permutation(9_000)[:PEOPLE], "age": ages, "town": towns, "ill": ills, **drawn}


def _spans(ages: np.ndarray) -> np.ndarray:
    return np.array([f"[{a // 20 * 20},{a // 20 * 20 + 19}]" for a in ages])


def _file(
    folder: Path, people: Columns, shown: Mapping[str, np.ndarray], rows: np.ndarray | None = None
) -> PublishedFile:
    (folder / "schema.toml").write_text(SCHEMA)
    order = np.random.default_rng(1).permutation(PEOPLE if rows is None else rows)
    release = {n: v for n, v in {**people, "age": _spans(people["age"]), **shown}.items() if n != "number"}
    for name, columns, which in (("original.csv", people, range(PEOPLE)), ("release.csv", release, order)):
        quoted = [[f'"{v[i]}"' if n == "age" else str(v[i]) for n, v in columns.items()] for i in which]
        (folder / name).write_text("\n".join([",".join(columns), *(",".join(line) for line in quoted)]) + "\n")
    schema = read_schema(folder / "schema.toml")
    return read_published_file(folder / "release.csv", schema, original=read_columns(folder / "original.csv"))


def test_nothing_is_told_where_nothing_is_planted(tmp_path: Path) -> None:
    for seed in range(6):
        people = _people(seed)
        draw = np.random.default_rng(seed)
        assert told_by_all_columns(_file(tmp_path, people, {})) == []
        some = np.flatnonzero(draw.random(PEOPLE) < np.where(people["town"] == 0, 0.8, 0.4))  # which the rows show
        assert chosen_people(_file(tmp_path, people, {}, some)) == []
        withheld = np.where(draw.random(PEOPLE) < 0.1, "*", people["town"].astype(str))
        assert unexplained_cells(_file(tmp_path, people, {"town": withheld})) == []


RECIPES: dict[str, Callable[[Columns], np.ndarray]] = {
    "sum": lambda p: (p["ill"] - p["a"] - p["b"]) % 5,
    "product": lambda p: ((p["ill"] + 1) * (p["a"] + p["b"] + 1)) % 5 + 5 * ((p["a"] + p["b"] + 1) % 5 == 0),
    "of the age": lambda p: (p["age"] + p["a"]) % 4,
}


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_that_nobody_thought_of_is_seen(recipe: str, tmp_path: Path) -> None:
    """The third column, which alone tells nothing."""
    people = _people(3)
    people["c"] = RECIPES[recipe](people)
    assert told_by_all_columns(_file(tmp_path, people, {}))


def test_a_value_that_few_have_is_seen(tmp_path: Path) -> None:
    """Thirty people have a value that only those aged 33 and 34 have, of twenty years that are shown as one span."""
    people = _people(4)
    people["b"] = np.where(np.isin(people["age"], (33, 34)) & (np.arange(PEOPLE) % 2 == 0), 9, people["b"])
    (leak,) = told_by_all_columns(_file(tmp_path, people, {}))
    assert set(leak.columns) == {"b", "age"}
    assert leak.people == (people["b"] == 9).sum()


def test_who_is_published_is_seen(tmp_path: Path) -> None:
    people = _people(5)
    chance = np.where(people["age"] % 20 < 10, 0.9, 0.3)
    rows = np.flatnonzero(np.random.default_rng(0).random(PEOPLE) < chance)
    (leak,) = chosen_people(_file(tmp_path, people, {}, rows))
    assert leak.columns == ("age",)


def test_cells_without_a_rule_are_not_judged(tmp_path: Path) -> None:
    people = _people(6)
    draw = np.random.default_rng(2).random(PEOPLE)
    wider = np.array(
        [f"[20,{39 if d < 0.5 else 49}]" if a < 40 else "[40,59]" for a, d in zip(people["age"], draw, strict=True)]
    )
    (leak,) = unexplained_cells(_file(tmp_path, people, {"age": wider}))
    assert (leak.columns, leak.severity) == (("age",), "suspicious")
    words = np.where(draw < 0.2, np.where(draw < 0.1, "*", "NA"), people["town"].astype(str))
    (leak,) = unexplained_cells(_file(tmp_path, people, {"town": words}))
    assert leak.columns == ("town",)
    strange = np.where(draw < 0.05, "one", people["a"].astype(str))
    (leak,) = unexplained_cells(_file(tmp_path, people, {"a": strange}))
    assert leak.columns == ("a",)


def test_numbers_are_rounded_by_one_rule_or_not_judged(tmp_path: Path) -> None:
    people = _people(8)
    people["c"] = np.random.default_rng(88).integers(100, 200, PEOPLE)
    down, up = people["c"] // 5 * 5, (people["c"] + 4) // 5 * 5
    assert unexplained_cells(_file(tmp_path, people, {"c": down})) == []
    (leak,) = unexplained_cells(_file(tmp_path, people, {"c": np.where(people["a"] == 0, up, down)}))
    assert leak.columns == ("c",)


def test_boxes_that_lie_apart_together_are_a_rule(tmp_path: Path) -> None:
    """Ages overlap between the towns, but nobody fits two boxes."""
    people = _people(7)
    cut = 30 + 5 * people["town"]
    age = np.array([f"[20,{c - 1}]" if a < c else f"[{c},59]" for a, c in zip(people["age"], cut, strict=True)])
    assert unexplained_cells(_file(tmp_path, people, {"age": age})) == []
