"""Sets of columns that tell a secret only together, against dependence that was planted, and chance that was not."""

from collections.abc import Callable, Sequence
from itertools import combinations, product

import numpy as np
import pytest

from unveil.data.attribute import Kind
from unveil.data.table import CodedColumn
from unveil.risk.published_file.file import places
from unveil.risk.published_file.together import Clue, clues_of, sample_of, tells_most

ROWS = 3_000


def column(values: Sequence[object]) -> CodedColumn:
    texts, ids = np.unique([str(v) for v in values], return_inverse=True)
    return CodedColumn(tuple(texts.tolist()), ids.astype(np.int32))


def clues(**columns: Sequence[object]) -> list[Clue]:
    held = []
    for name, values in columns.items():
        coded = column(values)
        absent = np.array([t == "" for t in coded.texts])
        held.append((name, coded, places(coded.texts, Kind.NUMERIC, "."), absent))
    return clues_of(held, sample_of(len(next(iter(columns.values())))))


def noise(draw: np.random.Generator, values: int, columns: int = 1) -> np.ndarray:
    return draw.integers(values, size=(columns, ROWS))


@pytest.mark.parametrize("number", [2, 3, 4])
@pytest.mark.parametrize("values", [2, 5])
def test_a_secret_that_only_all_columns_tell(number: int, values: int) -> None:
    """Their sum modulo the number of values: every smaller set is independent of it, as counting shows."""
    draw = np.random.default_rng(number * values)
    parts, others = noise(draw, values, number), noise(draw, 4, 3)
    secret = parts.sum(axis=0) % values
    for few in combinations(range(number), number - 1):  # independent truth: shares in every cell of a smaller set
        for cell in product(range(values), repeat=number - 1):
            rows = np.all([parts[i] == v for i, v in zip(few, cell, strict=True)], axis=0)
            if rows.sum() > 200:
                assert abs(np.bincount(secret[rows], minlength=values) / rows.sum() - 1 / values).max() < 0.15
    named = {f"p{i}": parts[i] for i in range(number)} | {f"o{i}": others[i] for i in range(3)}
    texts = {name: [f"v{v}" for v in values_] for name, values_ in named.items()}  # words: nothing to add or subtract
    told = tells_most(clues(**texts), secret, least=0.5)
    assert told is not None
    assert set(told.columns) == {f"p{i}" for i in range(number)}
    assert told.agree == pytest.approx(1)
    assert told.usual == pytest.approx(1 / values, abs=0.02)


ARITHMETIC: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "a less b": lambda a, s: a - s,
    "a plus b": lambda a, s: s - a,
    "a divided by b": lambda a, s: a / (s + 2),
}


@pytest.mark.parametrize("words", ARITHMETIC)
def test_what_two_numbers_make_together(words: str) -> None:
    draw = np.random.default_rng(3)
    secret, a = noise(draw, 6)[0], draw.integers(100, 400, size=ROWS)
    told = tells_most(clues(a=a, b=ARITHMETIC[words](a, secret)), secret, least=0.5)
    assert told is not None
    assert told.words == words


def test_a_part_of_the_values_and_a_gap_in_two() -> None:
    draw = np.random.default_rng(4)
    secret = noise(draw, 2)[0]
    dose = 2 * draw.integers(200, size=ROWS) + secret
    told = tells_most(clues(dose=dose), secret, least=0.5)
    assert told is not None
    assert told.words == "the last sign of dose"
    by_seven = 7 * draw.integers(60, size=ROWS) + noise(draw, 3)[0] + 4 * secret
    told = tells_most(clues(code=by_seven), secret, least=0.5)
    assert told is not None
    assert told.words == "the remainder of code by 7"
    first = draw.random(ROWS) < 0.5
    height = np.where(first, "", draw.integers(140, 200, size=ROWS).astype(str))
    weight = np.where(first ^ (secret == 1), "", draw.integers(40, 120, size=ROWS).astype(str))
    told = tells_most(clues(height=height, weight=weight), secret, least=0.5)
    assert told is not None
    assert told.words == "whether height is missing and whether weight is missing"


def test_only_what_is_told_beyond_what_is_given_counts() -> None:
    draw = np.random.default_rng(5)
    area, copy = noise(draw, 4, 2)
    town = 4 * area + copy
    assert tells_most(clues(area=area), town, given=area, least=0.1) is None
    held = [clue._replace(alone=True) for clue in clues(copy=copy)]
    told = tells_most(held, town, given=area, least=0.5)
    assert told is not None
    assert told.usual == pytest.approx(1 / 4, abs=0.02)
    assert told.agree == pytest.approx(1)


@pytest.mark.parametrize("seed", range(6))
def test_chance_tells_nothing_however_many_sets_are_tried(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = (60, 500, 5_000)[seed % 3]
    columns = {f"c{i}": draw.integers((2, 7, 30, 400)[i % 4], size=rows) for i in range(12)}
    sample = sample_of(rows)
    secret = draw.choice(5, p=(0.6, 0.2, 0.1, 0.06, 0.04), size=rows)[sample]
    assert tells_most(clues(**columns), secret, least=0.15) is None
    assert len(sample) == min(rows, 4_000)
