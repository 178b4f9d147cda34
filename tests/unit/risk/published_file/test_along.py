"""What goes along with the file: planted waves, stretches and distances, and many shuffled files."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from unveil.data.schema import read_schema
from unveil.formats.tables import read_columns
from unveil.risk.published_file import PublishedFile, read_published_file
from unveil.risk.published_file.order import row_order
from unveil.risk.published_file.statistics import chernoff

SCHEMA = """version = 1
confirmed = true
[attributes.number]
role = "identifier"
[attributes.place]
role = "quasi-identifier"
[attributes.home]
role = "insensitive"
[attributes.ill]
role = "sensitive"
"""


def _file(folder: Path, rows: list[tuple[str, str]], homes: list[int] | None = None) -> PublishedFile:
    (folder / "schema.toml").write_text(SCHEMA)
    (folder / "release.csv").write_text("place,ill\n" + "".join(f"{a},{b}\n" for a, b in rows))
    homes = np.random.default_rng(7).permutation(len(rows)).tolist() if homes is None else homes
    order = np.random.default_rng(5).permutation(len(rows))
    number = np.random.default_rng(6).permutation(9_000)
    lines = "".join(f"{number[i]},{rows[i][0]},h{homes[i]},{rows[i][1]}\n" for i in order)
    (folder / "original.csv").write_text("number,place,home,ill\n" + lines)
    schema = read_schema(folder / "schema.toml")
    return read_published_file(folder / "release.csv", schema, original=read_columns(folder / "original.csv"))


def _drawn(seed: int, rows: int) -> list[tuple[str, str]]:
    draw = np.random.default_rng(seed)
    return [(f"p{draw.integers(8)}", f"i{draw.integers(6)}") for _ in range(rows)]


def test_chance_of_a_stretch_is_no_more_than_its_bound() -> None:
    """Every stretch of five of twelve numbers: as many reach a sum as the bound allows at most."""
    values = np.array([0.0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 5]) - 10 / 12
    sums = np.array([sum(chosen) for chosen in combinations(values, 5)])
    for total in (1.0, 2.0, 3.5, 4.5, -2.0, -3.0):
        reached = (sums >= total - 1e-9).mean() if total > 0 else (sums <= total + 1e-9).mean()
        assert reached <= np.exp(-chernoff(values, total, 5)) <= 1
    assert 0 < chernoff(values, 2.0, 5) < chernoff(values, 4.5, 5)


def test_shuffled_files_raise_no_alarm(tmp_path: Path) -> None:
    for seed in range(25):
        assert row_order(_file(tmp_path, _drawn(seed, 300))) == []


@pytest.mark.parametrize("distance", [1, 2, 450])
def test_a_hidden_pair_at_any_distance_is_seen(distance: int, tmp_path: Path) -> None:
    """The second of each home stands so many lines after the first; they have nothing in common."""
    rows = _drawn(2, 900)
    homes = [i // (2 * distance) * distance + i % distance for i in range(900)]
    (leak,) = row_order(_file(tmp_path, rows, homes=homes))
    assert (leak.severity, leak.columns) == ("exceeded", ("home",))


def test_a_stretch_that_is_unlike_the_others_is_seen(tmp_path: Path) -> None:
    rows = _drawn(4, 1_000)
    (leak,) = row_order(_file(tmp_path, [*rows[:700], *[("p1", i) for _, i in rows[700:740]], *rows[740:]]))
    assert (leak.severity, leak.columns) == ("suspicious", ("place",))


def test_families_that_stand_together_are_seen_without_their_numbers(tmp_path: Path) -> None:
    rows = [row for row in _drawn(1, 150) for _ in range(2)]
    (leak,) = row_order(_file(tmp_path, rows))
    assert (leak.check, leak.severity) == ("row_order", "suspicious")


def test_classes_that_stand_together_explain_themselves(tmp_path: Path) -> None:
    rows = sorted(_drawn(3, 400), key=lambda row: hash_of(row[0]))
    assert row_order(_file(tmp_path, rows)) == []


def hash_of(text: str) -> int:
    """An order that nobody would call sorted."""
    return sum(ord(c) * 7919**i for i, c in enumerate(text)) % 101
