"""Pairs: how far every person is from every row, attribute by attribute, for readers that learn weights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.errors import NotApplicable
from unveil.risk.linkage.attribute_distances import AttributeDistance
from unveil.risk.linkage.nearest import pair_contributions
from unveil.risk.linkage.published import Published, attribute_distance
from unveil.risk.linkage.register import Register

__all__ = ["MOST_ENTRIES", "Pairs", "all_pairs", "check_weighable", "pairs_in_parts", "signed_pairs"]

MOST_ENTRIES = 20_000_000  # of one array
MOST_PAIRS = 200_000_000  # in all


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Contributions of all pairs; two random people are about 1 apart on every attribute."""

    names: tuple[str, ...]
    squared: NDArray[np.float64]  # (people, rows, attributes)
    signed: NDArray[np.float64] | None  # the same with a sign, unsquared; None unless every cell is a single number
    own: NDArray[np.int64]  # (people,) each one's own row, -1 = not published

    def some(self, people: NDArray[np.integer]) -> "Pairs":
        """Some of the people against all rows."""
        signed = None if self.signed is None else self.signed[people]
        return Pairs(self.names, self.squared[people], signed, self.own[people])


def all_pairs(published: Published, held: Register) -> Pairs:
    """Everybody against every row at once, and whose row is whose."""
    entries = held.people * published.rows * len(published.attributes)
    if entries > MOST_ENTRIES:
        raise NotApplicable(
            f"{held.people:,} people, {published.rows:,} rows and {len(published.attributes)} attributes are too many "
            "for all pairs at once; link fewer people"
        )
    return next(pairs_in_parts(published, held))[1]


def pairs_in_parts(published: Published, held: Register) -> Iterator[tuple[NDArray[np.int64], Pairs]]:
    """The same, some people at a time: their numbers, and their pairs. Cost: all pairs."""
    own = check_weighable(published, held)
    if held.people * published.rows > MOST_PAIRS:
        raise NotApplicable(
            f"{held.people:,} × {published.rows:,} pairs are too many to weigh one by one; link fewer people"
        )
    # Made of everybody first: numbers are standardised by all people held.
    axes = [attribute_distance(published, a, held.known[a.name]) for a in published.attributes]
    step = max(1, MOST_ENTRIES // (published.rows * len(axes)))
    for begin in range(0, held.people, step):
        people = np.arange(begin, min(begin + step, held.people))
        some = [axis.take(people) for axis in axes]
        squared = np.stack([pair_contributions(axis) for axis in some], axis=2)
        yield people, Pairs(tuple(a.name for a in axes), squared, signed_pairs(some), own[people])


def check_weighable(published: Published, register: Register) -> NDArray[np.int64]:
    """(people,) each one's own row, -1 = not published; refused where weighing attributes can change no link."""
    if published.count is not None:
        raise NotApplicable("a grouped release holds the truth: whoever fits a row is at distance 0, however weighed")
    own = published.true_rows(register)
    if own is None:
        raise NotApplicable("nothing says whose row is whose")
    return own


def signed_pairs(axes: Sequence[AttributeDistance]) -> NDArray[np.float64] | None:
    """(people, rows, axes) known less published; None unless every cell is a single number."""
    found = []
    for axis in axes:
        if axis.known is None or axis.published is None or not axis.points:
            return None
        found.append(axis.known[0][axis.person][:, None] - axis.published[0][axis.row][None, :])
    return np.stack(found, axis=2)
