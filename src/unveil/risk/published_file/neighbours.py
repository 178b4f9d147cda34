"""Rows that stand beside each other: whether they have more in common than rows drawn at random would have.

In a file that was shuffled, or sorted by what it shows, neighbours are strangers but for the runs that the sorting
makes. Families, visits or days of entry that stand together break that, whatever the original's order was.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from unveil.risk.published_file.file import Ids, Leak, PublishedFile, percent
from unveil.risk.published_file.statistics import within_runs

__all__ = ["stand_together"]

# Eight standard deviations: with a hundred columns tried, chance raises an alarm in fewer than one file in 10^12.
_SIGNIFICANT = 8.0
_STRONG = 0.05  # of the pairs that could be alike beyond chance: fewer tell nobody who belongs together
_DRAWS = 12
_LARGEST_SET = 50  # people who share a value, on average, up to which it means that they belong together


def stand_together(file: PublishedFile, run: Ids, least: int) -> list[Leak]:
    """Neighbours that are alike beyond chance in a published column, or share a column of the original's.

    `run`: (rows,) numbers of the runs that the file's own sorting explains.
    """
    beside = np.flatnonzero(run[1:] == run[:-1])
    if len(beside) < least:
        return []
    found = max(_alike(file, run, beside), default=None)
    hidden = max(_belonging(file, run), default=None)
    if hidden is not None:
        strength, name = hidden
        return [
            _leak(
                file,
                "exceeded",
                f"People with the same {name}, which the file does not show, stand together: {percent(strength)} of "
                f"the neighbouring rows fit such pairs beyond chance. Who finds one of them finds the others, among "
                f"{file.persons(file.rows)}.",
                name,
                strength,
            )
        ]
    if found is None:
        return []
    strength, name = found
    return [
        _leak(
            file,
            "suspicious",
            f"Rows that stand beside each other are alike in {name} more often than chance allows "
            f"({percent(strength)} of the pairs that need not be): people who belong together stand together, or the "
            f"rows follow something that is not shown.",
            name,
            strength,
        )
    ]


def _leak(file: PublishedFile, severity: str, sentence: str, name: str, strength: float) -> Leak:
    fix = "shuffle the rows, or sort them by what is published"
    return Leak("row_order", "linking", severity, sentence, fix, (name,), file.rows, strength)  # type: ignore[arg-type]


def _alike(file: PublishedFile, run: Ids, beside: Ids) -> Iterator[tuple[float, str]]:
    """How many more neighbours have the same cell than a random order within the runs would give, exactly."""
    size = np.bincount(run)
    for name in file.columns:
        if name in (file.key, file.sidecar.group):
            continue
        code = file.codes(name)
        kinds = int(code.max(initial=0)) + 1
        held, times = np.unique(run * kinds + code, return_counts=True)
        of_run = np.bincount(held // kinds, weights=times * (times - 1.0), minlength=len(size))
        chance = of_run / np.maximum(size, 1)  # of size - 1 pairs, each with probability of_run / size / (size - 1)
        pairs = np.maximum(size - 1, 0)
        share = np.divide(chance, pairs, out=np.zeros(len(size)), where=pairs > 0)
        seen = float((code[beside] == code[beside + 1]).sum())
        spread = float(np.sqrt(max((pairs * share * (1 - share)).sum(), 1e-12)))
        more, left = seen - float(chance.sum()), len(beside) - float(chance.sum())
        if left > 0 and more > _SIGNIFICANT * spread and more / left >= _STRONG:
            yield more / left, name
        number = file.numbers(name)[code]
        if kinds > 10 and np.isfinite(number).all():
            alike = _lagged(number, run, beside)
            if alike > max(_SIGNIFICANT / np.sqrt(len(beside)), 2 * _STRONG):
                yield alike, name


def _lagged(number: NDArray[np.float64], run: Ids, beside: Ids) -> float:
    """The rank correlation of neighbours within runs."""
    rank = np.unique(number, return_inverse=True)[1].astype(np.float64)
    rank -= (np.bincount(run, weights=rank) / np.bincount(run))[run]
    spread = float((rank * rank).mean())
    return float((rank[beside] * rank[beside + 1]).mean() / spread) if spread > 0 else 0.0


def _belonging(file: PublishedFile, run: Ids) -> Iterator[tuple[float, str]]:
    """Columns of the original that put people into small sets: neighbours against the pairs that such sets hold."""
    known = file.person_classes
    if known is None or file.original is None:
        return
    names, of_row, of_person, _ = known
    if len(np.unique(of_person)) < 4:
        return
    draw = np.random.default_rng(0)
    orders = [np.arange(file.rows), *(within_runs(run, draw) for _ in range(_DRAWS))]
    kinds = int(max(of_row.max(), of_person.max())) + 1
    lines = [_pairs(of_row[order], kinds) for order in orders]
    for name, column in file.original.items():
        value = np.asarray(column.text_of_row, dtype=np.int64)
        sets = len(np.unique(value))
        if name in names or not file.people / _LARGEST_SET <= sets <= 0.8 * file.people:
            continue
        order = np.lexsort((np.random.default_rng(0).random(len(value)), value))
        same = value[order][1:] == value[order][:-1]
        real, held = np.unique(_pairs(of_person[order], kinds)[same], return_counts=True)
        seen = []
        for line in lines:
            pair, count = np.unique(line, return_counts=True)
            _, a, b = np.intersect1d(pair, real, assume_unique=True, return_indices=True)
            seen.append(float(np.minimum(count[a], held[b]).sum()))
        chance, spread = float(np.mean(seen[1:])), max(float(np.std(seen[1:])), 1.0)
        gain = (seen[0] - chance) / max(float(held.sum()) - chance, 1.0)
        # The spread is known from a dozen orders only: twice the bound of the exact test.
        if seen[0] > chance + 2 * _SIGNIFICANT * spread and gain >= 2 * _STRONG:
            yield gain, name


def _pairs(kind: Ids, kinds: int) -> Ids:
    """One number for each pair of neighbours, whichever stands first."""
    first, second = np.minimum(kind[1:], kind[:-1]), np.maximum(kind[1:], kind[:-1])
    return np.asarray(first * kinds + second)
