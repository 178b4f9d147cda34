"""Published: the rows of a release or a masked table as linkage compares them with people."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.data.belief import Known
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.data.rows import origin_of, rows_of
from unveil.errors import NotApplicable
from unveil.risk.linkage.attribute_distances import AttributeDistance, Scale, distance_of_numbers, distance_of_regions
from unveil.risk.linkage.patterns import CodedFiles, code_files
from unveil.risk.linkage.register import Register

__all__ = ["Published", "attribute_distance", "compare_values", "known_numbers", "published_of"]

RANKS = 10  # classes of equal size that perturbed numbers are compared in


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """The rows that people are compared with, and whose they are.

    A grouped release publishes sets that hold the truth: the own row of whoever is in it is among those that fit. A
    perturbed one does not: there `origin` must say it.
    """

    attributes: tuple[Attribute, ...]
    rows: int  # published
    count: NDArray[np.int64] | None  # (distinct rows,) how many of them there are; None = each is one
    regions: dict[str, tuple[Regions, NDArray[np.int64]]]  # truthful sets: regions, and the one of each distinct row
    numbers: dict[str, NDArray[np.float64]]  # nan = not published
    origin: NDArray[np.int64] | None = None  # (rows,) the original row of each

    perturbed: frozenset[str] = frozenset()  # names
    assigned: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None = None
    # of a grouped release: (original rows,) the group of each; (entries,) group and distinct row of each entry
    scale: Scale = "common"  # on which perturbed numbers are compared
    reverse: frozenset[str] = frozenset()  # names of perturbed numbers that fall as the truth rises

    @property
    def truthful(self) -> bool:
        """Whether every published cell holds its person's true value."""
        return not self.perturbed

    def true_rows(self, held: Register) -> NDArray[np.int64] | None:
        """(people,) each one's own row, -1 = not published; None = nobody says."""
        if self.origin is None or held.row is None:
            return None
        own = np.full(int(max(self.origin.max(), held.row.max())) + 1, -1, dtype=np.int64)
        own[self.origin] = np.arange(len(self.origin))
        return own[held.row]


def published_of(release: Release, names: Sequence[str], group: NDArray[np.integer] | None = None) -> Published:
    """The published cells of the named attributes. In a grouped release they must stand in one block.

    `group`: (original rows,) that of each, -1 = not published; of a perturbed release groups are rows.
    """
    if release.perturbed:
        return _rows(release, names, group)
    places = [release.index(name) for name in names]
    blocks = [b for b in release.blocks if any(i in b.attributes for i in places)]
    if len(blocks) > 1:
        raise NotApplicable(
            "the attributes known stand in several blocks, whose link is hidden, so that no row has them all; "
            "name attributes of one block with --known"
        )
    block = blocks[0]
    count = np.bincount(block.cell, weights=block.count, minlength=len(block.cells)).astype(np.int64)
    regions = {
        release.attributes[i].name: (
            release.regions[i],
            np.asarray(block.cells[:, block.attributes.index(i)], dtype=np.int64),
        )
        for i in places
    }
    attributes = tuple(release.attributes[i] for i in places)
    assigned = None
    if group is not None:
        assigned = np.asarray(group, dtype=np.int64), block.group, np.asarray(block.cell, dtype=np.int64)
    return Published(attributes, release.rows, count, regions, {}, assigned=assigned)


def _rows(release: Release, names: Sequence[str], group: NDArray[np.integer] | None) -> Published:
    masked = rows_of(release)
    origin = None if group is None else origin_of(release, group)
    regions: dict[str, tuple[Regions, NDArray[np.int64]]] = {}
    numbers: dict[str, NDArray[np.float64]] = {}
    places = [masked.index(name) for name in names]
    for i in places:
        attribute, column = masked.attributes[i], masked.columns[i]
        if i in masked.wide:
            regions[attribute.name] = masked.wide[i]
        elif attribute.kind.measured:
            numbers[attribute.name] = column
        else:
            sets = Regions.singles(attribute.codes)
            if (column < 0).any():  # one more region for cells that are not published
                singles = [[code] for code in range(attribute.codes)]
                sets = Regions.sets(attribute.codes, [*singles, list(range(attribute.codes))])
            regions[attribute.name] = sets, np.where(column < 0, attribute.codes, column)
    perturbed = frozenset(masked.attributes[i].name for i in places if i in masked.masked)
    return Published(
        tuple(masked.attributes[i] for i in places), masked.rows, None, regions, numbers, origin, perturbed
    )


def attribute_distance(published: Published, attribute: Attribute, known: Known) -> AttributeDistance:
    """How people and rows are compared on one attribute."""
    name = attribute.name
    if name in published.numbers:
        scale = published.scale if name in published.perturbed else "common"
        return distance_of_numbers(
            attribute,
            known.regions,
            known.of_target,
            published.numbers[name],
            scale=scale,
            reverse=name in published.reverse,
        )
    regions, row = published.regions[attribute.name]
    return distance_of_regions(attribute, known.regions, known.of_target, regions, row)


def known_numbers(attribute: Attribute, known: Known) -> NDArray[np.float64]:
    """(people,) the number, or position, of each; nan = not known exactly, or missing."""
    code = known.regions.single()[known.of_target]
    places = attribute.positions() if attribute.kind.measured else np.arange(attribute.codes, dtype=np.float64)
    return np.where((code < 0) | (code >= attribute.real), np.nan, places[np.maximum(code, 0)])


def compare_values(published: Published, held: Register) -> CodedFiles:
    """People and rows coded for agreement: values are equal, perturbed numbers in the same tenth of their own file."""
    if published.truthful:
        raise NotApplicable("nothing is perturbed: whoever fits a row agrees with it, and distance says all there is")
    people, rows = [], []
    for attribute in published.attributes:
        known = held.known[attribute.name]
        single = known.regions.single()[known.of_target]
        if attribute.name not in published.numbers:
            regions, row = published.regions[attribute.name]
            people.append(single)
            rows.append(regions.single()[row])
            continue
        numbers = published.numbers[attribute.name]
        own = known_numbers(attribute, known)
        if attribute.name in published.perturbed:
            people.append(_ranks(own))
            rows.append(_ranks(numbers))
        else:
            values = np.unique(np.concatenate([own, numbers]))
            people.append(_places(values, own))
            rows.append(_places(values, numbers))
    return code_files(people, rows)


def _ranks(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """(values,) the tenth of the file that each number lies in; -1 = missing."""
    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return np.full(len(numbers), -1, dtype=np.int64)
    cuts = np.quantile(known, np.arange(1, RANKS) / RANKS)
    return np.where(np.isnan(numbers), -1, np.searchsorted(cuts, numbers, side="right"))


def _places(values: NDArray[Any], numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.where(np.isnan(numbers), -1, np.searchsorted(values, numbers))
