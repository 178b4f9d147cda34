"""Minimal sample uniques (SUDA) and data intrusion simulation (DIS): who stands out, and how often a match is right."""

from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import row_numbers
from unveil.errors import UsageError
from unveil.risk.uniqueness.counts import KeyCounts

__all__ = ["FRACTION", "MinimalUniques", "data_intrusion", "dis_suda", "minimal_uniques"]

MOST_SUBSETS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class MinimalUniques:
    """Per row: how many minimal sample uniques of each size it has, and its score."""

    names: tuple[str, ...]
    largest: int  # size up to which they were sought
    sizes: NDArray[np.int64]  # (rows, largest) number of minimal uniques of 1, 2, … attributes
    score: NDArray[np.float64]  # (rows,)
    subsets: int  # combinations of attributes that were looked at
    takes_part: NDArray[np.int64]  # (attributes,) minimal uniques that hold the attribute

    @property
    def risky(self) -> int:
        """Rows with at least one minimal sample unique."""
        return int((self.sizes.sum(axis=1) > 0).sum())

    @property
    def found(self) -> NDArray[np.int64]:
        """(largest,) minimal sample uniques of each size, over all rows."""
        return np.asarray(self.sizes.sum(axis=0))


def minimal_uniques(counts: KeyCounts, largest: int | None = None) -> MinimalUniques:
    """Every minimal sample unique of at most `largest` attributes (3, or all but one if there are fewer).

    A minimal sample unique is a set of attributes on which a row is unique while it is on no smaller set inside it. One
    of size k adds (m-k)(m-k-1)…(m-M) to its row's score, with m attributes and M the largest size (Elliot, Manning and
    Ford 2002): few attributes weigh most. A row that only all m attributes single out has no score.
    Being unique on a set is inherited by larger sets, so each set is one counting pass and one look at the sets one
    smaller: the cost is rows times combinations, not times rows.
    """
    attributes = len(counts.names)
    top = max(1, min(3, attributes - 1)) if largest is None else largest
    if not 1 <= top <= max(1, attributes - 1):
        raise UsageError(f"minimal sample uniques of {top} of {attributes} attributes are not possible; choose fewer")
    subsets = sum(comb(attributes, k) for k in range(1, top + 1))
    if subsets > MOST_SUBSETS:
        raise UsageError(
            f"{subsets:,} combinations of up to {top} of {attributes} attributes are over {MOST_SUBSETS:,}; "
            "choose a smaller size or fewer attributes"
        )
    cells = len(counts.count)
    weight = counts.count.astype(np.float64)
    number: dict[tuple[int, ...], NDArray[np.int64]] = {(): np.zeros(cells, dtype=np.int64)}
    unique: dict[tuple[int, ...], NDArray[np.bool_]] = {(): np.full(cells, counts.rows == 1)}
    sizes = np.zeros((cells, top), dtype=np.int64)
    takes_part = np.zeros(attributes, dtype=np.int64)
    for size in range(1, top + 1):
        longer: dict[tuple[int, ...], NDArray[np.int64]] = {}
        alone: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        for chosen in combinations(range(attributes), size):
            longer[chosen] = row_numbers([number[chosen[:-1]], counts.values[chosen[-1]]])
            alone[chosen] = (np.bincount(longer[chosen], weights=weight) == 1)[longer[chosen]]
            minimal = alone[chosen].copy()
            for left_out in range(size):
                minimal &= ~unique[chosen[:left_out] + chosen[left_out + 1 :]]
            sizes[:, size - 1] += minimal
            takes_part[list(chosen)] += int(minimal.sum())
        number, unique = longer, alone
    worth = [float(prod(attributes - i for i in range(size, top + 1))) for size in range(1, top + 1)]
    worth = [1.0] if attributes == 1 else worth
    return MinimalUniques(
        names=counts.names,
        largest=top,
        sizes=sizes[counts.of_row],
        score=(sizes @ np.array(worth))[counts.of_row],
        subsets=subsets,
        takes_part=takes_part,
    )


FRACTION = 0.01  # sampled, where nobody says: as sdcMicro's suda2 has it


def data_intrusion(counts: KeyCounts, fraction: float) -> float:
    """P(a match with a sample unique is right): data intrusion simulation (Skinner and Elliot 2002).

    U·p / (U·p + P·(1-p)), with U sample uniques, P people of the sample in cells of two, and the fraction p sampled:
    one person is taken out of the sample and put back with probability p; some match one row then, rightly or not.
    0 without sample uniques.
    """
    if not 0 < fraction <= 1:
        raise UsageError(f"the sampling fraction must be above 0 and at most 1, not {fraction:g}")
    alone, pairs = float((counts.count == 1).sum()), 2.0 * float((counts.count == 2).sum())
    return alone * fraction / (alone * fraction + pairs * (1 - fraction)) if alone else 0.0


def dis_suda(counts: KeyCounts, found: MinimalUniques, fraction: float) -> NDArray[np.float64]:
    """(rows,) DIS shared out by the scores of minimal sample uniques (Elliot and Manning 2003; sdcMicro's suda2).

    1 / (1 + U·(1/DIS - 1) / (score^q · sum of score^-q)) with q = 1 + (8 - attributes)/20, the sum over all who have a
    score; 0 for who has none. Where all U have one score, all have DIS.
    """
    whole = data_intrusion(counts, fraction)
    scored = found.score > 0
    risk = np.zeros(len(found.score))
    if not scored.any() or not whole:
        return risk
    power = found.score[scored] ** (1 + (8 - len(found.names)) / 20)
    uniques = float((counts.count == 1).sum())
    risk[scored] = 1 / (1 + uniques * (1 / whole - 1) / (power * (1 / power).sum()))
    return risk
