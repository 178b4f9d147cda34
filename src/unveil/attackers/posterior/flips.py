"""Global moves: two sensitive values trade shares of codes, in the whole release or in a part that hangs together.

Where buckets show only some codes of an attribute, nothing says which way round other buckets are to be read: each such
set of buckets has a mirror image of its own. Sets are found as codes that are linked by many groups and with the rest
by few (single linkage over the number of groups that show both).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.hidden import HiddenBlock, HiddenModel
from unveil.attackers.posterior.parameters import Layout
from unveil.kernels import matching, tempering

__all__ = ["Flip", "linked_flips", "other_side", "plain_flips"]

LEAST_MIRRORED = 0.1  # of the mean share over all values, at the mirror image of a place
MOST_CODES = 200  # of matched attributes together, among which sets are looked for

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Flip:
    """Codes, by place of their attribute in the layout, within which two values trade shares."""

    codes: tuple[tuple[int, NDArray[np.int64]], ...]

    def made(self, layout: Layout, drawn: Floats, first: int, other: int) -> tuple[Floats, float]:
        """The parameters after it, and the logarithm of their prior density over that of before.

        A value keeps the share that it gives to all of the codes; how it parts among them is traded. Under a Dirichlet
        prior the two are independent, and a trade leaves volumes as they are.
        """
        found, prior = drawn.copy(), 0.0
        for place, codes in self.codes:
            start, width = layout.place[place], layout.shape[place][1]
            prior += tempering.trade(found, layout.beta, codes, start + first * width, start + other * width)
        return found, prior


def other_side(shares: Floats, weight: Floats) -> Floats:
    """(values, codes) shares on the other side of their mean, in which values have a `weight` (values,)."""
    mean = weight @ shares
    other = np.maximum(2 * mean - shares, LEAST_MIRRORED * mean)
    return np.asarray(other / other.sum(axis=1, keepdims=True))


def plain_flips(model: HiddenModel) -> tuple[Flip, ...]:
    """In all matched attributes, then in each alone if there are several."""
    places = np.flatnonzero(model.matched).tolist()
    every = [(place, np.arange(model.layout.shape[place][1])) for place in places]
    each = [Flip((one,)) for one in every] if len(every) > 1 else []
    return (Flip(tuple(every)), *each) if every else ()


def linked_flips(
    model: HiddenModel, kinds: Sequence[tuple[HiddenBlock, matching.Groups, NDArray[np.float64]]]
) -> tuple[Flip, ...]:
    """In codes that hang together, from the closest sets to the widest that is not a whole attribute or all of them."""
    layout = model.layout
    places = [p for p in np.flatnonzero(model.matched).tolist() if layout.attributes[p] not in layout.kernels]
    first = dict(zip(places, np.cumsum([0, *(layout.shape[p][1] for p in places)]).tolist(), strict=False))
    codes = sum(layout.shape[p][1] for p in places)
    if not places or codes > MOST_CODES:
        return ()
    link = np.zeros((codes, codes))
    for block, groups, times in kinds:
        for nodes, many in _shown(model, block, groups, times, first):
            link[np.ix_(nodes, nodes)] += many
    owner = np.concatenate([np.full(layout.shape[p][1], p) for p in places])
    code = np.concatenate([np.arange(layout.shape[p][1]) for p in places])
    seen = frozenset(np.flatnonzero(np.diag(link)).tolist())
    whole = {seen, *(frozenset(n for n in seen if owner[n] == p) for p in places)}
    found = []
    for members in _merged(link):
        if members in whole:
            continue
        parts = [(p, np.array(sorted(int(code[n]) for n in members if owner[n] == p))) for p in places]
        parts = [(place, some) for place, some in parts if len(some) > 1]
        if parts:
            found.append(Flip(tuple(parts)))
    return tuple(found)


def _shown(
    model: HiddenModel,
    block: HiddenBlock,
    groups: matching.Groups,
    times: NDArray[np.float64],
    first: dict[int, int],
) -> list[tuple[list[int], float]]:
    """Of each kind of group the codes that it shows of attributes in which its rows differ, and how many there are."""
    release, layout = model.release, model.layout
    place_of = {index: place for place, index in enumerate(layout.attributes)}
    found = []
    for kind in range(len(times)):
        cells = block.cells[groups.cell[groups.start[kind] : groups.start[kind + 1]]]
        nodes: set[int] = set()
        for column, index in enumerate(release.blocks[block.number].attributes):
            shown = np.unique(cells[:, column])
            if place_of[index] in first and len(shown) > 1:
                members = [int(c) for region in shown for c in release.regions[index].members(int(region))]
                nodes |= {first[place_of[index]] + c for c in members}
        if nodes:
            found.append((sorted(nodes), float(times[kind])))
    return found


def _merged(link: Floats) -> list[frozenset[int]]:
    """Every set that single linkage makes, the closest first."""
    below = np.tril_indices(len(link), -1)
    order = np.argsort(-link[below], kind="stable")
    owner = {n: frozenset([n]) for n in range(len(link))}
    found = []
    for a, b in zip(below[0][order].tolist(), below[1][order].tolist(), strict=True):
        if link[a, b] <= 0:
            break
        if owner[a] is not owner[b]:
            both = owner[a] | owner[b]
            found.append(both)
            for n in both:
                owner[n] = both
    return found
