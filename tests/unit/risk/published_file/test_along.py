"""Neighbouring rows, against every order of small files and many shuffled ones."""

from itertools import pairwise, permutations
from pathlib import Path

import numpy as np

from unveil.data.schema import read_schema
from unveil.formats.tables import read_columns
from unveil.risk.published_file import PublishedFile, read_published_file
from unveil.risk.published_file.neighbours import stand_together
from unveil.risk.published_file.order import row_order

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


def test_chance_is_the_mean_over_all_orders() -> None:
    """m (m - 1) / n pairs of equal neighbours, summed over values: what the check takes for chance."""
    cells = "aaabbc"
    seen = [sum(x == y for x, y in pairwise(order)) for order in permutations(cells)]
    assert np.isclose(np.mean(seen), sum(m * (m - 1) / 6 for m in (3, 2, 1)))


def test_shuffled_files_raise_no_alarm(tmp_path: Path) -> None:
    for seed in range(40):
        file = _file(tmp_path, _drawn(seed, 300))
        assert stand_together(file, np.zeros(300, dtype=np.int64), 60) == []


def test_families_that_stand_together_are_seen_without_their_numbers(tmp_path: Path) -> None:
    rows = [row for row in _drawn(1, 150) for _ in range(2)]
    (leak,) = row_order(_file(tmp_path, rows))
    assert (leak.check, leak.severity) == ("row_order", "suspicious")


def test_a_hidden_column_that_they_share_is_named(tmp_path: Path) -> None:
    """Two of each home side by side, with nothing in common that the file shows."""
    rows = _drawn(2, 900)
    (leak,) = row_order(_file(tmp_path, rows, homes=[i // 2 for i in range(900)]))
    assert (leak.severity, leak.columns) == ("exceeded", ("home",))


def test_classes_that_stand_together_explain_themselves(tmp_path: Path) -> None:
    rows = sorted(_drawn(3, 400), key=lambda row: hash_of(row[0]))
    assert row_order(_file(tmp_path, rows)) == []


def hash_of(text: str) -> int:
    """An order that nobody would call sorted."""
    return sum(ord(c) * 7919**i for i, c in enumerate(text)) % 101
