"""The rows of a release in groups, as readers learn from them: each column with the cells that it shows, true or not.

A perturbed column shows its own values truthfully. What is uncertain is what they say of true ones: that is its
channel, and what a reader knows of a person becomes a likelihood of what is shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role, canonical
from unveil.data.belief import Belief, Known
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release, row_numbers
from unveil.data.rows import rows_of

__all__ = ["Channel", "Mixture", "mixture_of"]

MOST_SHOWN = 400  # values of a perturbed number that are told apart; more are read in bins of equally many rows


@dataclass(frozen=True, slots=True, eq=False)
class Channel:
    """What the values that a perturbed attribute shows say of true ones."""

    true: Attribute
    chance: NDArray[np.float64]  # (shown codes, true codes) how probable each true value is behind a shown one
    source: Literal["stated", "estimated"]

    def known(self, codes: NDArray[np.integer]) -> Known:
        """What true values say of shown ones."""
        return Known.softly(np.ascontiguousarray(self.chance.T), codes)

    def of_truth(self, belief: Belief) -> Belief:
        """A belief about what is shown, as one about true values."""
        chains = None if belief.chains is None else belief.chains @ self.chance
        return replace(belief, probability=belief.probability @ self.chance, chains=chains)


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """A release in groups: rows with equal quasi-identifier cells, as they are shown."""

    release: Release
    group: NDArray[np.int64]  # (rows,)
    shown: Mapping[int, NDArray[np.int64]]  # by perturbed attribute: (rows,) code of what is shown, -1 = suppressed
    places: Mapping[int, NDArray[np.float64]]  # likewise of numbers: (codes,) where the shown values lie on their line


def mixture_of(given: Release, *, as_true: bool = False) -> Mixture:
    """Everything that is published, in groups. Perturbed numbers have the values that are shown as their domain.

    `as_true`: they keep their own, each number as the value nearest to it.
    """
    masked = rows_of(given)
    attributes: list[Attribute] = []
    regions: list[Regions] = []
    cells: list[NDArray[np.int64]] = []
    shown, places = {}, {}
    for index, (attribute, column) in enumerate(zip(masked.attributes, masked.columns, strict=True)):
        if index in masked.wide:
            held, cell = masked.wide[index]
        else:
            if index in masked.masked and attribute.kind.measured and not (attribute.binned or as_true):
                attribute, code, places[index] = _as_shown(attribute, column)
            else:
                code = _codes(attribute, column)
            if index in masked.masked:
                shown[index] = code
                if attribute.kind.measured and index not in places:
                    places[index] = attribute.positions()[: attribute.real]
            singles = [[one] for one in range(attribute.codes)]
            held = Regions.sets(attribute.codes, [*singles, list(range(attribute.codes))])
            cell = np.where(code < 0, attribute.codes, code)
        attributes.append(attribute)
        regions.append(held)
        cells.append(cell)
    known = [i for i, a in enumerate(attributes) if a.role is Role.QUASI_IDENTIFIER]
    group = row_numbers([cells[i] for i in known], masked.rows)
    part = BlockRows(tuple(range(len(attributes))), group, tuple(cells))
    release, number = build_release(attributes, regions, [part])
    return Mixture(release, number[group], shown, places)


def _codes(attribute: Attribute, column: NDArray[Any]) -> NDArray[np.int64]:
    """(rows,) codes of the domain, of numbers the nearest; -1 = suppressed."""
    if not attribute.kind.measured:
        return np.asarray(column, dtype=np.int64)
    absent = np.isnan(column)
    if attribute.binned and attribute.low is not None:
        code = np.clip(np.searchsorted(attribute.low, column, side="right") - 1, 0, attribute.real - 1)
    else:
        place = attribute.positions()[: attribute.real]
        code = np.searchsorted((place[1:] + place[:-1]) / 2, np.where(absent, 0.0, column))
    return np.where(absent, attribute.codes - 1 if attribute.missing else -1, code)


def _as_shown(attribute: Attribute, column: NDArray[np.float64]) -> tuple[Attribute, NDArray[np.int64], NDArray[Any]]:
    """The attribute with the numbers that are shown as its domain, (rows,) their codes, (codes,) their places."""
    absent = np.isnan(column)
    numbers, code = np.unique(column[~absent], return_inverse=True)
    if len(numbers) > MOST_SHOWN:
        rank = np.argsort(np.argsort(column[~absent], kind="stable"), kind="stable")
        code = np.unique(rank * MOST_SHOWN // len(rank), return_inverse=True)[1]
        low, high = (f.reduceat(np.sort(column[~absent]), np.searchsorted(np.sort(code), np.unique(code)))
                     for f in (np.minimum, np.maximum))  # fmt: skip
        numbers = (low + high) / 2
    if not len(numbers):
        numbers = np.zeros(1)
    line = np.arange(len(numbers), dtype=np.float64)
    made = Attribute(
        attribute.name,
        attribute.role,
        Kind.NUMERIC,
        tuple(f"{canonical(float(n), Kind.NUMERIC)} ({place})" for place, n in enumerate(numbers)),
        low=line,
        high=line,
        source="release",
    )
    codes = np.full(len(column), -1, dtype=np.int64)
    codes[~absent] = code
    return made, codes, numbers
