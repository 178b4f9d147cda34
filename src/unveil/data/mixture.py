"""A release in groups, as readers learn from it: each column with the cells that it shows, true or not.

A perturbed column shows its own values truthfully. What is uncertain is what they say of true ones: that is its
channel, and what a reader knows of a person becomes a likelihood of what is shown.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, canonical
from unveil.data.belief import Belief, Known, Targets
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Perturbation, Release, build_release, merged_rows
from unveil.errors import NotApplicable

__all__ = ["Mixture", "behind_known", "behind_of_truth", "mixture_of", "shown_targets"]

MOST_SHOWN = 400  # values of a perturbed number that are told apart; more are read in bins of equally many rows
MOST_KNOWN = 200_000_000  # kinds of people × shown values, as likelihoods


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """A release in groups: what hides links, or else rows with equal quasi-identifier cells, as they are shown."""

    release: Release  # its perturbed columns are taken for what they show
    group: NDArray[np.int64]  # (groups of the release that was given,) the new number of each
    places: Mapping[int, NDArray[np.float64]]  # by perturbed number: (codes,) where the shown values lie on their line
    binned: Mapping[int, NDArray[np.int64]]  # likewise: (codes of the release that was given,) the code of each


def mixture_of(given: Release, *, as_true: bool = False, ranked: Container[int] = ()) -> Mixture:
    """Everything that is published, in groups. Perturbed numbers have the values that are shown as their domain.

    `as_true`: they keep their own, each number as the value nearest to it; those `ranked`, as values in their order.
    """
    attributes, regions = list(given.attributes), list(given.regions)
    places: dict[int, NDArray[np.float64]] = {}
    binned: dict[int, NDArray[np.int64]] = {}
    for index, one in given.perturbed.items():
        shown = given.attributes[index]
        if not shown.kind.measured or (shown is one.true and one.behind is None):
            continue
        line = shown.positions()[: shown.real]
        if as_true or one.true.binned:
            code = np.arange(len(line)) if index in ranked else _nearest(one.true, line)
            attributes[index], binned[index] = one.true, np.minimum(code, one.true.codes - 1)
        else:
            attributes[index], binned[index], places[index] = _as_shown(given, index, line)
        held = attributes[index]
        code = np.append(binned[index], [held.codes - 1] * (shown.codes - shown.real)).astype(np.int64)
        if attributes[index] is one.true:
            places[index] = held.positions()[: held.real]
        single = given.regions[index].single()
        low = np.where(single >= 0, code[np.maximum(single, 0)], 0)
        regions[index] = Regions.intervals(held.codes, low, np.where(single >= 0, low, held.codes - 1))
        binned[index] = code
    for index in given.perturbed:
        if index not in places and given.attributes[index].kind.measured:
            places[index] = given.attributes[index].positions()[: given.attributes[index].real]
    parts = []
    for block in given.blocks:
        cells = tuple(block.region(i).astype(np.int64) for i in block.attributes)
        parts.append(BlockRows(block.attributes, block.group, cells, block.count))
    made, number = build_release(attributes, regions, parts)
    if given.row_by_row:
        made, merged = merged_rows(made)
        number = merged[number]
    return Mixture(made, number, places, binned)


def shown_targets(release: Release, targets: Targets) -> Targets:
    """People of whom true values are known, as those of whom likelihoods of what is shown are."""
    known = dict(targets.known)
    for index, held in targets.known.items():
        one = release.perturbed.get(index)
        if one is not None and one.behind is None and release.regions[index].whole.all():
            del known[index]  # withheld everywhere: it tells nothing
        elif one is not None and held.regions.codes == one.true.codes:
            known[index] = behind_known(release, index, held)
    return replace(targets, known=known)


def behind_known(release: Release, index: int, held: Known) -> Known:
    """What is known of a true value, as a likelihood of the shown one."""
    one = release.perturbed[index]
    if one.behind is None:
        raise NotApplicable(
            f"{one.true.name} was perturbed, and nothing says how: neither chances nor whose row is whose "
            "(--assignment, --key or --aligned)"
        )
    if one.behind.size > MOST_KNOWN:
        raise NotApplicable(f"{one.true.name} has too many values; declare bins for it")
    likely = held.totals(np.ascontiguousarray(one.behind.T))
    if held.wrong:
        likely = (1 - held.wrong) * likely + held.mistaken()[:, None] * (1 - held.regions.totals(one.behind.T))
    return Known.softly(np.clip(likely, 0.0, 1.0), held.of_target)


def behind_of_truth(one: Perturbation, belief: Belief) -> Belief:
    """A belief about what is shown, as one about true values."""
    if one.behind is None:
        raise NotApplicable(f"{one.true.name} was perturbed, and nothing says how")
    chains = None if belief.chains is None else belief.chains @ one.behind
    return replace(belief, probability=belief.probability @ one.behind, chains=chains)


def _nearest(attribute: Attribute, line: NDArray[np.float64]) -> NDArray[np.int64]:
    """(numbers,) the code of the domain that is nearest to each."""
    if attribute.binned and attribute.low is not None:
        return np.clip(np.searchsorted(attribute.low, line, side="right") - 1, 0, attribute.real - 1)
    place = attribute.positions()[: attribute.real]
    order = np.argsort(place, kind="stable")
    return np.asarray(order[np.searchsorted((place[order][1:] + place[order][:-1]) / 2, line)])


def _as_shown(
    release: Release, index: int, line: NDArray[np.float64]
) -> tuple[Attribute, NDArray[np.int64], NDArray[np.float64]]:
    """The attribute with the numbers that are shown as its domain, (numbers,) the code of each, (codes,) their places.

    `line`: (numbers,) in their order.
    """
    attribute, block = release.attributes[index], release.block_of(index)
    code = np.arange(len(line))
    if len(line) > MOST_SHOWN:
        single = release.regions[index].single()[block.region(index)]
        there = (single >= 0) & (single < len(line))
        rows = np.bincount(single[there], weights=block.count[there], minlength=len(line))
        rank = np.cumsum(rows) - rows
        code = np.unique((rank * MOST_SHOWN / max(rows.sum(), 1)).astype(np.int64), return_inverse=True)[1]
    first = np.searchsorted(code, np.arange(code.max(initial=0) + 1))
    low, high = line[first], line[np.append(first[1:], len(line)) - 1]
    numbers = (low + high) / 2
    ranks = np.arange(len(numbers), dtype=np.float64)
    texts = tuple(f"{canonical(float(n), Kind.NUMERIC)} ({place})" for place, n in enumerate(numbers))
    missing = texts_of_missing(release.attributes[index])
    made = Attribute(
        attribute.name,
        attribute.role,
        Kind.NUMERIC,
        texts + missing,
        bool(missing),
        attribute.missing_tokens,
        low=ranks,
        high=ranks,
        source="release",
    )
    return made, code.astype(np.int64), numbers


def texts_of_missing(attribute: Attribute) -> tuple[str, ...]:
    """The text that stands for a missing value, if there is one."""
    return attribute.values[-1:] if attribute.missing else ()
