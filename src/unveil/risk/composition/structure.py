"""What ties people together across releases: nested groups subtracted, connected parts, and which of them are trees."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.kernels.composition import join, labels
from unveil.risk.composition.links import GroupLinks

__all__ = ["ConnectedParts", "Difference", "home_of", "parts_of", "subtract_nested"]

MOST_PASSES = 4

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """What is left of a group once those of another release that lie inside it are taken away."""

    release: int
    people: Ints  # (people,) classes in such remainders
    values: Ints  # (people,) how many values the remainder still holds
    rows: Ints  # (people,) rows of the remainder


def subtract_nested(links: Sequence[GroupLinks], size: Ints) -> tuple[list[GroupLinks], list[Difference], int]:
    """The same knowledge without repetition: a group that lies inside one of another release is taken off it.

    Exact: whoever is in the smaller group holds its values, so the rest of the larger holds the rest. Also says what is
    left where something was taken away, and how many groups contradict each other.
    """
    found, against = list(links), 0
    touched: dict[int, NDArray[np.bool_]] = {}
    for _ in range(MOST_PASSES):
        changed = False
        for inner in range(len(found)):
            for outer in range(len(found)):
                if inner == outer or found[inner].emission is not None or found[outer].emission is not None:
                    continue
                if found[outer].slices is not None:  # who is taken off it would leave gaps in its other blocks
                    continue
                done, hit, wrong = _subtract(found[inner], found[outer], size)
                against += wrong
                if done is not None:
                    found[outer] = done
                    touched[outer] = touched.get(outer, np.zeros(len(size), dtype=bool)) | hit
                    changed = True
        if not changed:
            break
    remainders = []
    for release, hit in touched.items():
        one = found[release]
        # Of whoever may stand elsewhere, too, the remainder says nothing for certain.
        here = home_of(one, size)[one.person] == one.group
        mine = np.flatnonzero(here & (one.person < len(size)) & hit[np.minimum(one.person, len(size) - 1)])
        group = one.group[mine]
        values = np.diff(one.value_start)[group]
        rows = np.add.reduceat(np.append(one.held, 0.0), one.value_start[:-1])[group].astype(np.int64)
        remainders.append(Difference(release, one.person[mine].astype(np.int64), values, rows))
    return found, remainders, against


def home_of(links: GroupLinks, size: Ints) -> Ints:
    """(classes + 1,) the one group in which a class stands for certain, -1 if there is none."""
    home = np.full(len(size) + 1, -1, dtype=np.int64)
    times = np.bincount(links.person, minlength=len(size) + 1)
    whole = np.append(size, 0)[links.person]
    sure = links.certain & (times[links.person] == 1) & (np.abs(links.count - whole) < 1e-9)
    home[links.person[sure]] = links.group[sure]
    home[len(size)] = -1
    return home


def _subtract(inner: GroupLinks, outer: GroupLinks, size: Ints) -> tuple[GroupLinks | None, NDArray[np.bool_], int]:
    """`outer` less the groups of `inner` that lie inside one of its own, and whose remainder that touches."""
    none = np.zeros(len(size), dtype=bool)
    home_inner, home = home_of(inner, size), home_of(outer, size)
    filled = np.diff(inner.start) > 0
    if not filled.any():
        return None, none, 0
    there = home[inner.person]
    there[home_inner[inner.person] != inner.group] = -1
    begin = inner.start[:-1][filled]
    low, high = np.minimum.reduceat(there, begin), np.maximum.reduceat(there, begin)
    nested = np.flatnonzero(filled)[(low == high) & (low >= 0)]
    if not len(nested):
        return None, none, 0
    into = np.full(inner.groups, -1, dtype=np.int64)
    into[nested] = low[(low == high) & (low >= 0)]
    width = int(max(inner.column.max(initial=0), outer.column.max(initial=0))) + 1
    outer_of = np.repeat(np.arange(outer.groups), np.diff(outer.value_start))
    key = outer_of * width + outer.column
    inner_of = np.repeat(np.arange(inner.groups), np.diff(inner.value_start))
    taken = into[inner_of] >= 0
    theirs = into[inner_of[taken]] * width + inner.column[taken]
    at = np.minimum(np.searchsorted(key, theirs), max(len(key) - 1, 0))
    matching = key[at] == theirs
    left = outer.held.copy()
    np.subtract.at(left, at[matching], inner.held[taken][matching])
    bad = np.zeros(outer.groups, dtype=bool)  # they hold values that the larger group does not
    bad[theirs[~matching] // width] = True
    bad[outer_of[left < -1e-9]] = True
    into[(into >= 0) & bad[into]] = -1
    reduced = np.zeros(outer.groups, dtype=bool)
    reduced[into[into >= 0]] = True
    if not reduced.any():
        return None, none, int(bad.sum())
    gone = np.zeros(len(size) + 1, dtype=bool)
    gone[inner.person[into[inner.group] >= 0]] = True
    held = np.where(reduced[outer_of], left, outer.held)
    keep_links = ~(gone[outer.person] & reduced[outer.group])
    hit = none.copy()
    remaining = outer.person[keep_links & reduced[outer.group]]
    hit[remaining[remaining < len(size)]] = True
    return outer.cut(keep_links, held), hit, int(bad.sum())


@dataclass(frozen=True, slots=True, eq=False)
class ConnectedParts:
    """Connected parts of people and groups, which say nothing about each other."""

    part: Ints  # (classes,)
    people: Ints  # (parts,) people in it, strangers included
    tree: NDArray[np.bool_]  # (parts,) no loop: belief propagation is exact
    closed: NDArray[np.bool_]  # (parts,) of each release it is known how many are missing or strangers, so that all
    # ways can be summed up


def parts_of(links: Sequence[GroupLinks], size: Ints) -> ConnectedParts:
    """The connected parts. A loop is a way from person to group to person that comes back."""
    classes = len(size)
    corners_in_all = classes + sum(
        one.groups + (0 if one.slices is None else int(one.slices.home.max()) + 1) for one in links
    )
    parent, offset = np.arange(corners_in_all), classes
    for one in links:
        join(parent, one.start, one.person, np.arange(one.groups), offset, classes, np.ones(one.groups, dtype=np.bool_))
        offset += one.groups
        if one.slices is not None:  # who may take the same cells of another block is tied together, too
            join(parent, one.start, one.person, one.slices.home, offset, classes, one.slices.open)
            offset += int(one.slices.home.max()) + 1
    label, count = labels(parent)
    part = label[:classes]
    people = np.bincount(part, weights=size, minlength=count)
    corners, edges = np.zeros(count), np.zeros(count)
    simple, closed = np.ones(count, dtype=bool), np.ones(count, dtype=bool)
    offset = classes
    for one in links:
        of_group = label[offset : offset + one.groups]
        filled = np.diff(one.start) > 0
        corners += np.bincount(of_group[filled], minlength=count)
        of_link = of_group[one.group]
        edges += np.bincount(of_link, weights=one.count, minlength=count)
        strange = one.person == classes
        people = people + np.bincount(of_link[strange], weights=one.count[strange], minlength=count)
        times = np.bincount(one.person[~strange], minlength=classes)
        simple[of_link[~one.certain]] = False
        simple[part[times > 1]] = False
        missing, joined = np.zeros((2, count), dtype=bool)  # by chance only; rows say how many, unless both are open
        missing[part[(one.present > 1e-9) & (one.present < 1 - 1e-9)]] = True
        joined[of_link[strange & ~one.certain]] = True
        closed &= ~(missing & joined)
        simple &= ~missing
        offset += one.groups
        if one.slices is not None:
            simple[of_link[one.slices.open[one.group]]] = False
            offset += int(one.slices.home.max()) + 1
    tree = simple & closed & (np.abs(edges - (people + corners - 1)) < 1e-6)
    return ConnectedParts(part, np.round(people).astype(np.int64), tree, closed)
