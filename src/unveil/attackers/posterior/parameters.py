"""The shares of every attribute's codes given every sensitive value, in one array: one call draws them all."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Prior
from unveil.data.release import Release
from unveil.data.smoothing import Centres
from unveil.kernels import gibbs, possible

__all__ = ["Layout", "Possible", "Shares"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Shares(Mapping[int, Floats]):
    """By attribute: (values, codes) shares; `flat` holds them all, one attribute after the other."""

    flat: Floats
    of: dict[int, Floats]  # views of it

    def whole(self) -> "Shares":
        """Of all codes: these."""
        return self

    def __getitem__(self, attribute: int) -> Floats:
        return self.of[attribute]

    def __iter__(self) -> Iterator[int]:
        return iter(self.of)

    def __len__(self) -> int:
        return len(self.of)


@dataclass(frozen=True, slots=True, eq=False)
class PossibleShares(Shares):
    """Shares of which only those of possible codes are kept, in `flat`; `of` is empty.

    What of a value is left for its other codes is divided as the prior says: so it is of a mean, and so on average of
    what was drawn.
    """

    layout: "Layout"

    def __getitem__(self, attribute: int) -> Floats:
        return self.whole()[attribute]

    def __iter__(self) -> Iterator[int]:
        return iter(self.layout.attributes)

    def __len__(self) -> int:
        return len(self.layout.attributes)

    def whole(self) -> Shares:
        """Of all codes."""
        some = self.layout.possible
        assert some is not None
        empty = some.first[1:] == some.first[:-1]
        sums = np.add.reduceat(np.append(self.flat, 0.0), some.first[:-1])
        left = np.maximum(1.0 - np.where(empty, 0.0, sums), 0.0)
        each = np.divide(left, some.rest, out=np.zeros_like(left), where=some.rest > 0)
        codes = np.concatenate([np.repeat(codes, values) for values, codes in self.layout.shape])
        found = np.maximum(self.layout.beta * np.repeat(each, codes), 1e-300)
        found[some.place] = self.flat
        return self.layout.split(found)


@dataclass(frozen=True, slots=True, eq=False)
class Possible:
    """Which values some row of each region may have, and so which codes are possible for each: see kernels.possible."""

    start: NDArray[np.int64]  # (all regions + 1,) where the values of each start
    value: NDArray[np.int32]  # (pairs of a region and a value,)
    slot_start: NDArray[np.int64]  # (pairs + 1,)
    slot: NDArray[np.int32]
    place: NDArray[np.int64]  # (slots,) of each among the flat shares
    first: NDArray[np.int64]  # (attributes · values + 1,)
    at: NDArray[np.int64]  # place[slot]
    rest: Floats  # (attributes · values,) pseudo-counts of codes that are not possible; 0: all are

    @classmethod
    def of(cls, layout: "Layout", shown: NDArray[np.bool_], most: int) -> "Possible | None":
        """Of the pairs that are `shown` (all regions, values); None if there are more than `most` slots."""
        region, value = np.nonzero(shown)
        if len(region) > most:
            return None
        runs = layout.start[region], layout.start[region + 1]
        length = (layout.high - layout.low + 1).astype(np.int64)
        below = np.concatenate([[0], np.cumsum(length)])
        size = below[runs[1]] - below[runs[0]]
        if size.sum() > most:
            return None
        code = np.repeat(layout.low, length) + np.arange(below[-1]) - np.repeat(below[:-1], length)
        slot_start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        which = np.arange(slot_start[-1]) + np.repeat(below[runs[0]] - slot_start[:-1], size)
        attribute = np.searchsorted(layout.row, region, side="right") - 1
        codes = np.array([codes for _, codes in layout.shape], dtype=np.int64)
        origin = layout.place[attribute] + value * codes[attribute]
        place, slot = np.unique(np.repeat(origin, size) + code[which], return_inverse=True)
        starts = np.concatenate(
            [at + np.arange(values) * codes for at, (values, codes) in zip(layout.place, layout.shape, strict=False)]
        )
        first = np.append(np.searchsorted(place, starts), len(place)).astype(np.int64)
        without = layout.beta.copy()
        without[place] = 0.0
        return cls(
            np.concatenate([[0], np.cumsum(shown.sum(axis=1))]).astype(np.int64),
            value.astype(np.int32),
            slot_start,
            slot.astype(np.int32),
            place.astype(np.int64),
            first,
            place[slot],
            np.add.reduceat(without, starts),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where each attribute's shares stand, which codes its regions hold, and which of them are drawn as centres."""

    attributes: tuple[int, ...]
    shape: tuple[tuple[int, int], ...]  # by attribute: values, codes
    place: NDArray[np.int64]  # (attributes + 1,) where its shares start
    row: NDArray[np.int64]  # (attributes + 1,) where its regions start, among all regions
    start: NDArray[np.int64]  # (all regions + 1,) where a region's runs start
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    beta: Floats  # flat
    smoothed: NDArray[np.bool_]  # (attributes,) drawn as centres
    near: Centres  # of all regions; those of attributes that are not smoothed have none
    kernels: Mapping[int, Floats]  # of the smoothed ones: (centres, codes)
    possible: Possible | None = None  # codes that are not keep their proportions, but in whole draws; None: all are

    @classmethod
    def of(cls, release: Release, attributes: tuple[int, ...], prior: Prior) -> "Layout":
        """The attributes in this order."""
        regions = [release.regions[i] for i in attributes]
        shape = tuple(prior.beta[i].shape for i in attributes)
        runs = np.concatenate([[0], *(r.runs for r in regions)])
        count, centre, weight = [np.zeros(1, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
        for index, own in zip(attributes, regions, strict=True):
            if index in prior.smooth:
                near = Centres.of(own, prior.smooth[index])
                count.append(np.diff(near.start))
                centre.append(near.centre)
                weight.append(near.weight)
            else:
                count.append(np.zeros(len(own), np.int64))
        return cls(
            attributes,
            shape,
            np.cumsum([0, *(values * codes for values, codes in shape)]),
            np.cumsum([0, *(len(r) for r in regions)]),
            np.cumsum(runs),
            np.concatenate([np.empty(0, np.int32), *(r.low for r in regions)]),
            np.concatenate([np.empty(0, np.int32), *(r.high for r in regions)]),
            np.concatenate([np.empty(0), *(prior.beta[i].ravel() for i in attributes)]),
            np.array([i in prior.smooth for i in attributes], dtype=bool),
            Centres(np.cumsum(np.concatenate(count)), np.concatenate(centre), np.concatenate(weight)),
            {i: prior.smooth[i] for i in attributes if i in prior.smooth},
        )

    def first(self) -> dict[int, int]:
        """By attribute: its first row in tables of all regions."""
        return dict(zip(self.attributes, self.row[:-1].tolist(), strict=True))

    def join(self, shares: Mapping[int, Floats]) -> Floats:
        """One array of them."""
        return np.concatenate([np.empty(0), *(shares[i].ravel() for i in self.attributes)])

    def split(self, flat: Floats) -> Shares:
        """Views of an array of shares."""
        ends = pairwise(self.place.tolist())
        pairs = zip(self.attributes, ends, self.shape, strict=True)
        return Shares(flat, {i: flat[a:b].reshape(shape) for i, (a, b), shape in pairs})

    @property
    def kept(self) -> int:
        """How many shares of a state are kept: all, or those of possible codes."""
        return len(self.beta) if self.possible is None else len(self.possible.place)

    def keep(self, shares: Shares) -> Shares:
        """Shares to be kept: all, or those of possible codes."""
        return shares if self.possible is None else self.read(shares.flat[self.possible.place])

    def read(self, kept: Floats) -> Shares:
        """Those whose `flat` was kept."""
        return self.split(kept) if self.possible is None else PossibleShares(kept, {}, self)

    def shares(self, drawn: Floats) -> Shares:
        """Shares of codes, from what was drawn: where an attribute is smoothed that is shares of centres."""
        if not self.kernels:
            return self.split(drawn)
        found = self.split(drawn.copy())
        for index, kernel in self.kernels.items():
            found[index][:] = found[index] @ kernel
        return found

    def of_regions(self, shares: Shares, values: int) -> Floats:
        """(all regions, values) the share of each region given each value."""
        found = np.empty((int(self.row[-1]), values))
        gibbs.add_runs(shares.flat, self.place, self.row, self.start, self.low, self.high, found)
        return found

    def tables(self, shares: Shares, values: int) -> Floats:
        """(all regions, values) the share of each region given each value it may have, over the region's largest."""
        found = np.zeros((int(self.row[-1]), values))
        some = self.possible
        assert some is not None
        possible.shares_of_pairs(shares.flat, some.start, some.value, some.slot_start, some.at, found)
        return found

    def heated(self, drawn: Floats, power: Floats) -> Shares:
        """Shares of codes, what was drawn raised to the `power` (attributes,); those that are not possible may not."""
        each = np.repeat(power, np.diff(self.place))
        if self.possible is None:
            return self.shares(drawn**each)
        hot, place = drawn.copy(), self.possible.place
        hot[place] **= each[place]
        return self.shares(hot)

    def draw(
        self,
        count: NDArray[np.int64],
        drawn: Floats,
        power: Floats,
        mirror: bool,
        whole: bool,
        wanted: bool,
        key: np.uint64,
        counter: np.uint64,
    ) -> tuple[Floats, Floats, np.uint64]:
        """New shares and their mean given the `count` (all regions, values) of rows, and the counter reached.

        `drawn`: those so far; with `mirror` the new ones lie on the other side. `power` (attributes,): what each
        attribute's likelihood is raised to. `whole`: codes that no row can have are drawn one by one, too. The mean is
        that only if `wanted`.
        """
        mean, new = np.empty_like(drawn), np.empty_like(drawn)
        some = self.possible
        if some is not None and not whole:
            pairs = some.start, some.value, some.slot_start, some.slot, some.place, some.first, some.rest
            state = self.beta, drawn, power, mirror, wanted, key, counter, mean, new
            return new, mean, np.uint64(possible.draw_possible(count, self.place, *pairs, *state))
        runs = self.row, self.start, self.low, self.high
        near = self.smoothed, self.near.start, self.near.centre, self.near.weight
        reached = gibbs.draw_all(
            count, self.place, *runs, *near, self.beta, drawn, power, mirror, key, counter, mean, new
        )
        return new, mean, np.uint64(reached)
