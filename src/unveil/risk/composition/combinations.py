"""Columns in common that nobody knows of people: by them, rows of one release are put together with those of another.

Everybody is asked about what they show in all of these at once, the asked attribute among them. Each release then says
something of such a combination, whichever of the columns it has, and beliefs add up to those about the attribute.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.data.release import Block, Release
from unveil.errors import NotApplicable

__all__ = ["Combinations", "columns_in_common", "combinations_of", "places"]

MOST = 20_000_000  # people times combinations

Ints = NDArray[np.int64]
OTHER = -1  # any value that is not listed


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """What a row may show in the asked attribute and in columns in common."""

    columns: tuple[Attribute, ...]  # the asked one first
    codes: Ints  # (combinations, columns); OTHER: a value that is not listed

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in common."""
        return tuple(one.name for one in self.columns[1:])

    @property
    def asked(self) -> Ints:
        """(combinations,) the code of the asked attribute."""
        return np.asarray(self.codes[:, 0])

    def __len__(self) -> int:
        return len(self.codes)

    def column(self, name: str) -> int:
        """Where a column stands; -1 if it is none of them."""
        return next((i for i, one in enumerate(self.columns) if one.name == name), -1)


def columns_in_common(releases: Sequence[Release], known: Collection[str]) -> tuple[Attribute, ...]:
    """Columns that two releases show cell by cell, which are not known of people."""
    shown: dict[str, list[Attribute]] = {}
    for release in releases:
        for index, one in enumerate(release.attributes):
            regions = release.regions[index]
            plain = index not in release.perturbed and bool(((regions.sizes == 1) | regions.whole).all())
            if one.name not in known and one.codes > 1 and plain and not regions.whole.all():
                shown.setdefault(one.name, []).append(one)
    return tuple(same[0] for same in shown.values() if len(same) > 1)


def combinations_of(
    releases: Sequence[Release], asked: Attribute, common: Sequence[Attribute], people: int
) -> Combinations:
    """The combinations of an attribute with columns in common; NotApplicable if too many for so many people."""
    columns = (asked, *common)
    rows = [found for r in releases for b in r.blocks if (found := _shown_together(r, b, columns)) is not None]
    if not rows:  # no release shows all of them
        seen = [_values_of(releases, one) for one in common]
        _refuse_many(prod(map(len, seen)) * asked.codes, people, columns)
        rows.append(np.array(list(product(range(asked.codes), *seen))))
    rows.append(np.column_stack([np.arange(asked.codes), np.full((asked.codes, len(common)), OTHER)]))
    every = np.unique(np.concatenate(rows).astype(np.int64), axis=0)
    _refuse_many(len(every), people, columns)
    return Combinations(columns, every)


def _refuse_many(count: int, people: int, columns: Sequence[Attribute]) -> None:
    if count * people > MOST:
        names = ", ".join(one.name for one in columns[1:])
        raise NotApplicable(
            f"it shows {names}, as another release does: rows may be put together by that, and {count:,} combinations "
            f"of {people:,} people are too many to be read so"
        )


def _shown_together(release: Release, block: Block, columns: Sequence[Attribute]) -> Ints | None:
    """(cells, columns) what the cells of a block show, in the codes of `columns`; None if it does not show all."""
    index = {release.attributes[i].name: i for i in block.attributes if i not in release.perturbed}
    if any(one.name not in index for one in columns):
        return None
    found = []
    for one in columns:
        at = index[one.name]
        single = release.regions[at].single()[block.cells[:, block.attributes.index(at)]]
        found.append(np.append(places(release.attributes[at], one), OTHER)[single])
    rows = np.column_stack(found)
    return rows[rows[:, 0] >= 0]


def _values_of(releases: Sequence[Release], column: Attribute) -> list[int]:
    """The codes that some release shows, and OTHER."""
    found = {OTHER}
    for release in releases:
        for index, one in enumerate(release.attributes):
            if one.name == column.name:
                single = release.regions[index].single()
                found |= set(places(one, column)[single[single >= 0]].tolist())
    return sorted(found)


def places(theirs: Attribute, ours: Attribute) -> Ints:
    """(their codes,) our code of the same text; OTHER if there is none."""
    if theirs.values == ours.values:
        return np.arange(theirs.codes)
    code: Mapping[str, int] = {value: i for i, value in enumerate(ours.values)}
    return np.array([code.get(value, OTHER) for value in theirs.values], dtype=np.int64)
