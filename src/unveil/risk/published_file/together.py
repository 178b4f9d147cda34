"""What columns tell only together, or only by a part of their values: sets of two to four, figures, differences, gaps.

One measure serves all of them: how often two rows that agree in what is known agree in the secret, too. It needs no
table of counts, so that sets of many values can be tried as soon as some dozens of rows agree in them; and it is taken
from a sample of the rows, so that hundreds of sets cost less than a second.
"""

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.data.table import CodedColumn

__all__ = ["Clue", "Told", "clues_of", "sample_of", "tells_most"]

Ids = NDArray[np.int64]

_ROWS = 4_000  # the sample
_PAIRS = 30  # of rows that agree, at least, for a set to be tried
_TRIED = {2: 150, 3: 250, 4: 150}  # sets of so many columns, those of the fewest values first
_MOST_CLUES = 16  # that are put together
_NUMERIC = 8  # columns whose differences, sums and ratios are tried
_REMAINDERS = (3, 4, 7, 9, 11)  # besides those that the last figure holds
_SIGNIFICANT = 8.0  # standard deviations: with 10,000 sets tried, chance reaches that in one file in 10^11
_MANY = 64  # values beyond which parts of them are looked at


class Clue(NamedTuple):
    """Something that a reader sees of every row."""

    columns: tuple[str, ...]
    words: str
    ids: Ids  # (rows of the sample,)
    alone: bool = True  # whether it is tried by itself; the columns as they are have been tried on every row


class Told(NamedTuple):
    """The set of clues that tells most: rows that agree in it agree in the secret with this chance."""

    clues: tuple[Clue, ...]
    agree: float
    usual: float  # the same without the clues

    @property
    def lift(self) -> float:
        """The share of the disagreement that the clues remove."""
        return (self.agree - self.usual) / max(1 - self.usual, 1e-12)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it takes."""
        return tuple(dict.fromkeys(name for clue in self.clues for name in clue.columns))

    @property
    def them(self) -> str:
        """How a sentence goes on about it."""
        return "it" if len(self.clues) == 1 else "them"

    @property
    def words(self) -> str:
        """`a, b and the last figure of c`."""
        *first, last = [clue.words for clue in self.clues]
        return f"{', '.join(first)} and {last}" if first else last


def sample_of(rows: int) -> Ids:
    """Rows to search in: all, or as many drawn at random."""
    if rows <= _ROWS:
        return np.arange(rows)
    return np.sort(np.random.default_rng(0).choice(rows, _ROWS, replace=False))


def clues_of(
    columns: Sequence[tuple[str, CodedColumn, NDArray[np.float64], NDArray[np.bool_]]], sample: Ids
) -> list[Clue]:
    """What the columns show: values, whether there is one, figures and remainders, and what two numbers make together.

    Of each column its name, its texts by row, (texts,) the number of each and whether it is absent.
    """
    found: list[Clue] = []
    parts: list[Clue] = []
    numbers: list[tuple[str, NDArray[np.float64]]] = []
    for name, column, number, absent in columns:
        ids = np.asarray(column.text_of_row, dtype=np.int64)[sample]
        value, gone = number[ids], absent[ids]
        kinds = len(np.unique(ids))
        whole = np.isfinite(value[~gone]).all() and not gone.all()
        if whole and kinds > len(sample) // 4:
            ids = _binned(value)
        if kinds > 1:
            found.append(Clue((name,), name, _dense(ids), alone=False))
        if 0.02 < gone.mean() < 0.98 and kinds > 2:
            parts.append(Clue((name,), f"whether {name} is missing", gone.astype(np.int64)))
        if _MANY < kinds <= len(sample) // 2:
            parts += _parts(name, column, ids=np.asarray(column.text_of_row, dtype=np.int64)[sample])
            if whole and (value[~gone] == np.round(value[~gone])).all():
                filled = np.where(gone, -1, value).astype(np.int64)
                parts += [
                    Clue((name,), f"the remainder of {name} by {n}", _dense(np.where(gone, -1, filled % n)))
                    for n in _REMAINDERS
                ]
        if whole and kinds > 4:
            numbers.append((name, value))
    parts += [clue for pair in combinations(numbers[:_NUMERIC], 2) for clue in _arithmetic(*pair)]
    return found + [clue for clue in parts if len(np.unique(clue.ids)) > 1]


def _parts(name: str, column: CodedColumn, ids: Ids) -> list[Clue]:
    """The ends and the length of the texts."""
    texts = [t.strip() for t in column.texts]
    cuts = {
        f"the last sign of {name}": [t[-1:] for t in texts],
        f"the last two signs of {name}": [t[-2:] for t in texts],
        f"the first sign of {name}": [t[:1] for t in texts],
        f"the length of {name}": [str(len(t)) for t in texts],
    }
    return [
        Clue((name,), words, _dense(np.unique(cut, return_inverse=True)[1].astype(np.int64)[ids]))
        for words, cut in cuts.items()
    ]


def _arithmetic(one: tuple[str, NDArray[np.float64]], other: tuple[str, NDArray[np.float64]]) -> list[Clue]:
    (a, x), (b, y) = one, other
    with np.errstate(divide="ignore", invalid="ignore"):
        made = {f"{a} less {b}": x - y, f"{a} plus {b}": x + y, f"{a} divided by {b}": x / y}
    return [Clue((a, b), words, _binned(np.round(value, 9))) for words, value in made.items()]


def _dense(ids: Ids) -> Ids:
    return np.unique(ids, return_inverse=True)[1].astype(np.int64)


def _binned(value: NDArray[np.float64]) -> Ids:
    """Equal numbers as one; numbers that hardly repeat by their ranks."""
    value = np.where(np.isfinite(value), value, np.inf)
    kinds, ids = np.unique(value, return_inverse=True)
    if len(kinds) <= len(value) // 4:
        return ids.astype(np.int64)
    return (np.argsort(np.argsort(value, kind="stable")) * (len(value) // 16) // len(value)).astype(np.int64)


def tells_most(
    clues: Sequence[Clue],
    secret: Ids,
    *,
    given: Ids | None = None,
    least: float,
    singles: bool = True,
    share: int = 1,
) -> Told | None:
    """The set of clues that tells most of the secret, beyond what is `given`; None if none avoids `least` of it.

    `singles`: whether parts and differences are tried alone, too; `share`: among how many secrets the work is divided.
    """
    rows = len(secret)
    if rows < 20 or len(np.unique(secret)) < 2 or not clues:
        return None
    base = np.zeros(rows, dtype=np.int64) if given is None else _dense(given)
    usual = _agreement(base, secret)[0]

    def better(best: Told | None, several: tuple[Clue, ...], key: Ids) -> Told | None:
        agree, pairs = _agreement(key, secret)
        spread = np.sqrt(max(usual * (1 - usual), 1e-3) / max(pairs, 1))
        found = Told(several, agree, usual)
        enough = pairs >= _PAIRS and agree - usual > _SIGNIFICANT * spread and found.lift >= least
        # A larger set must tell clearly more than a smaller one.
        more = best is None or agree > best.agree + 0.1 * (len(several) > len(best.clues))
        return found if enough and more else best

    best: Told | None = None
    for clue in clues if singles else ():
        if clue.alone:
            best = better(best, (clue,), _keys(base, [clue.ids]))
    if best is not None:
        return best
    joined = sorted(
        (c for c in clues if len(c.columns) == 1 and (not c.alone or c.words.startswith("whether"))),
        key=lambda c: int(c.ids.max()),
    )[:_MOST_CLUES]
    wide = [int(c.ids.max()) + 1 for c in joined]
    most = rows * rows / (2 * _PAIRS) / (int(base.max()) + 1)
    for number, limit in _TRIED.items():
        sets = [(prod(wide[i] for i in s), s) for s in combinations(range(len(joined)), number)]
        sets = sorted(s for s in sets if s[0] <= most)[: max(limit // share, 20)]
        for _, chosen in sets:
            several = tuple(joined[i] for i in chosen)
            if len({c.columns for c in several}) == number:
                best = better(best, several, _keys(base, [c.ids for c in several]))
        if best is not None:
            return best
    return None


def _keys(base: Ids, several: Sequence[Ids]) -> Ids:
    key = base
    for ids in several:
        key = key * (int(ids.max()) + 1) + ids
    return key


def _agreement(known: Ids, secret: Ids) -> tuple[float, float]:
    """The chance that another row of the same set has the same secret, and how many pairs of rows speak for it."""
    values = int(secret.max(initial=0)) + 1
    cell = np.sort(known * values + secret)
    start = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
    number = np.diff(np.append(start, len(cell)))
    of_set = cell[start] // values
    first = np.flatnonzero(np.concatenate([[True], of_set[1:] != of_set[:-1]]))
    size = np.add.reduceat(number, first)
    several = size > 1
    if not several.any():
        return 0.0, 0.0
    alike = np.add.reduceat(number * (number - 1.0), first)[several] / (size[several] - 1.0)
    rows = float(size[several].sum())
    return float(alike.sum() / rows), rows / 2
