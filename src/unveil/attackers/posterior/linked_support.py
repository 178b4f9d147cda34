"""Support for each value where every value stands beside its cells: only a row's own value counts for it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.fits import BlockFits, Fitted, Overlaps
from unveil.attackers.posterior.linked import AttributePosterior
from unveil.attackers.posterior.share_chains import Floats
from unveil.data.release import Release, row_numbers

__all__ = ["LinkedSupport"]

AT_ONCE = 4_000_000  # fits, over all batches and chains that are worked on together

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Sampled:
    """Of one value: which pairs are sampled, and which parts of sets each one's ratio is the sum of."""

    value: int
    pair: Longs
    first: Longs  # (pair,) where each one's parts begin
    place: Longs  # (parts,) among the value's own atoms of regions
    within: Floats  # (parts,) the code's share of that


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """One known attribute: pairs of what is known and shown, and a row's value."""

    posterior: AttributePosterior
    pair_of_fit: Longs  # (fits,)
    right: Floats  # (pairs,) see Overlaps
    mistaken: Floats
    by_tree: Floats  # (pairs,) the region's share that is known, where it is exact
    sampled: tuple[_Sampled, ...]

    @classmethod
    def of(cls, posterior: AttributePosterior, overlaps: Overlaps, overlap: Longs, value: Longs) -> "_Known":
        pair_of_fit = row_numbers([overlap, value])
        pairs = int(pair_of_fit.max(initial=-1)) + 1
        of_overlap, of_value = np.zeros(pairs, np.int64), np.zeros(pairs, np.int64)
        of_overlap[pair_of_fit], of_value[pair_of_fit] = overlap, value
        tree = posterior.tree.T
        inside = overlaps.shared(tree)[of_overlap, of_value]
        whole = posterior.regions.totals(tree)[overlaps.region[of_overlap], of_value]
        by_tree = np.divide(inside, whole, out=np.zeros(pairs), where=whole > 0)
        sampled = tuple(_sampled(posterior, overlaps, of_overlap, of_value))
        return cls(posterior, pair_of_fit, overlaps.right[of_overlap], overlaps.mistaken[of_overlap], by_tree, sampled)

    def likelihood(self, batches: range | None) -> Floats:
        """(batches, chains, pairs) mean likelihood of what is known; one of each where all is exact."""
        sampler = self.posterior.sampler
        share = self.by_tree[None, None]
        if self.sampled and sampler is not None:
            share = np.tile(self.by_tree, (1 if batches is None else len(batches), sampler.chains, 1))
            for one in self.sampled:
                for chain in range(sampler.chains):
                    found = sampler.running[chain, one.value].ratio
                    drawn = [found.mean()] if batches is None else (found[batch] for batch in batches)
                    for batch, ratio in enumerate(drawn):
                        parts = ratio[one.place] * one.within
                        share[batch, chain, one.pair] = np.add.reduceat(parts, one.first)
        return np.asarray(self.mistaken + self.right * share)


def _sampled(posterior: AttributePosterior, overlaps: Overlaps, overlap: Longs, value: Longs) -> Iterator[_Sampled]:
    sampler, inside = posterior.sampler, overlaps.inside
    if sampler is None or inside is None:
        return
    atoms = sampler.prior.shape[1]
    key = np.repeat(np.arange(len(posterior.regions)), np.diff(sampler.start_of)) * atoms + sampler.member
    where = np.minimum(np.searchsorted(overlaps.overlapping, overlap), len(overlaps.overlapping) - 1)
    allowed = overlaps.overlapping[where] == overlap
    for one in np.unique(value[allowed]).tolist():
        if posterior.exact[one]:
            continue
        pair = np.flatnonzero(allowed & (value == one))
        owner, code = inside.listed(where[pair])
        place = np.searchsorted(key, overlaps.region[overlap[pair]][owner] * atoms + sampler.atom[code])
        own, within = sampler.parts(one, place)
        first = np.searchsorted(owner, np.arange(len(pair)))
        yield _Sampled(one, pair, first, own, within * sampler.within[one][code])


@dataclass(frozen=True, slots=True, eq=False)
class LinkedSupport:
    """Targets and the rows that fit them: the expected number that hold each value, for any batch of draws."""

    fits: BlockFits
    targets: int
    values: int
    chains: int
    count: Floats  # (fits,) rows
    value: Longs  # (fits,) the value they hold
    known: tuple[_Known, ...]

    @classmethod
    def of(
        cls, release: Release, fitted: Fitted, attributes: Mapping[int, AttributePosterior], chains: int
    ) -> "LinkedSupport | None":
        """None where cells of other blocks count as well, or an attribute is smoothed: then values are not enough."""
        own = fitted.own
        smoothed = [a for i in own.pair if (a := attributes[i]).sampler is not None and a.sampler.reading is not None]
        if fitted.others or smoothed:
            return None
        asked, block = fitted.targets.asked, fitted.block
        value = release.regions[asked].single()[block.region(asked)][own.entry]
        known = (_Known.of(attributes[i], own.overlaps[i], pair, value) for i, pair in own.pair.items())
        sizes = fitted.targets.count, release.attributes[asked].codes, chains
        return cls(own, *sizes, block.count[own.entry].astype(np.float64), value, tuple(known))

    def weights(self, batches: int | None) -> Floats:
        """(batches, chains, targets, values) of the first batches; None: one, of all draws."""
        found = np.empty((batches or 1, self.chains, self.targets, self.values))
        some = max(AT_ONCE // (self.chains * max(len(self.value), 1)), 1)
        for start in range(0, batches or 1, some):
            these = None if batches is None else range(start, min(start + some, batches))
            self._fill(found[start : start + some], these)
        return found

    def _fill(self, found: Floats, batches: range | None) -> None:
        support = np.empty((*found.shape[:2], len(self.value)))
        support[:] = self.count
        for known in self.known:
            likelihood = known.likelihood(batches)
            for batch, rows in enumerate(support):
                for chain, row in enumerate(rows):
                    of = likelihood[min(batch, len(likelihood) - 1), min(chain, likelihood.shape[1] - 1)]
                    row *= of[known.pair_of_fit]
        key = self.fits.target * self.values + self.value
        for batch, rows in enumerate(support):
            for chain, row in enumerate(rows):
                added = np.bincount(key, weights=row, minlength=self.targets * self.values)
                found[batch, chain] = added.reshape(self.targets, self.values)
