"""What a release teaches without chains: shares that stand still under expectation and maximisation.

Of hidden links and overlapping cells the posterior is one place instead of draws: the rows expected of each value at
the current shares, then (pseudo-counts + rows) as shares, until nothing moves. It costs what some dozens of sweeps do
and has no Monte-Carlo error, so that many readers can be tried; where values stand beside nested cells it is exact.

Shares that start equal follow the first signal, which may point the wrong way. Hidden links are therefore settled
twice, the second time from the mirror image of the first place, and each place counts by its posterior density.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.bags import Matched, ValueColumns
from unveil.attackers.posterior.chain import Draw
from unveil.attackers.posterior.contract import Chains, check_prior
from unveil.attackers.posterior.flips import other_side
from unveil.attackers.posterior.hidden import HiddenBlock, HiddenModel
from unveil.attackers.posterior.hidden_terms import expected_pairs
from unveil.attackers.posterior.integrated import IntegratedPosterior
from unveil.attackers.posterior.linked import AttributePosterior, linked_counts, tree_means
from unveil.attackers.posterior.linked_posterior import LinkedPosterior
from unveil.attackers.posterior.tempering import Likelihood
from unveil.data.belief import Prior
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import NotApplicable, Stopped
from unveil.kernels import matching

__all__ = ["STEPS", "settled_posterior", "settled_shares"]

STEPS = 60  # at most
STILL = 1e-3  # the largest change of a share, at which nothing moves
MOST_MEMBERS = 4_000_000  # codes of all regions of an attribute, added up
STATES = 4096  # of groups that are matched exactly where others are too large
NOBODY = np.empty(0, dtype=np.int64)
TINY = 1e-300
METHOD = "expectation and maximisation"

Floats = NDArray[np.float64]


@dataclass(slots=True, eq=False)
class SettledShares(LinkedPosterior):
    """Where values stand beside their cells."""

    def method(self) -> str:
        """See Posterior."""
        return METHOD


@dataclass(frozen=True, slots=True, eq=False)
class SettledMatching(IntegratedPosterior):
    """Where links are hidden: one or two places instead of a grid of them."""

    def method(self) -> str:
        """See Posterior."""
        return METHOD

    def facts(self) -> dict[str, float | str]:
        """See Posterior."""
        return {}


def settled_posterior(release: Release, asked: int, prior: Prior, engine: Engine) -> SettledShares | SettledMatching:
    """Learn from a release. Cost: at most 2 · STEPS · (pairs of a cell and a value of its group, and codes of regions).

    NotApplicable where values are withheld or attributes smoothed.
    """
    check_prior(release, asked, prior)
    if prior.smooth:
        raise NotApplicable("attributes are smoothed, which takes chains")
    counts = linked_counts(release, asked)
    if counts is None:
        return _matched(release, asked, prior, engine)
    block, values = release.block_of(asked), release.attributes[asked].codes
    value = release.regions[asked].single()[block.region(asked)]
    held = np.bincount(value, weights=block.count, minlength=values)
    found = {}
    for index, table in counts.items():
        theta = tree_means(release.regions[index], table, prior.beta[index])
        if theta is None:
            theta = settled_shares(release.regions[index], table.astype(np.float64), prior.beta[index], engine)
        every = np.ones(values, dtype=bool)
        found[index] = AttributePosterior(release.regions[index], theta, every, None)
    share = (prior.alpha + held) / (prior.alpha.sum() + held.sum())
    return SettledShares(release, asked, prior, share, found, engine, Chains())


def settled_shares(regions: Regions, rows: Floats, beta: Floats, engine: Engine) -> Floats:
    """(values, codes) shares, from (values, regions) rows that show each region."""
    inside = _inside(regions)
    theta = beta / beta.sum(axis=1, keepdims=True)
    for _ in range(STEPS):
        before, theta = theta, _shares(inside, rows, theta, beta)
        if np.abs(theta - before).max(initial=0.0) < STILL or engine.stop.is_set():
            break
    return np.asarray(theta)


def _inside(regions: Regions) -> Any:
    """(regions, codes) sparse: which codes a region holds."""
    from scipy.sparse import csr_array

    if int(regions.sizes.sum()) > MOST_MEMBERS:
        raise NotApplicable("cells are too wide to list their values")
    owner, code = regions.listed(np.arange(len(regions)))
    return csr_array((np.ones(len(code)), (owner, code)), shape=(len(regions), regions.codes))


def _shares(inside: Any, rows: Floats, theta: Floats, beta: Floats) -> Floats:
    """One step: rows are shared out among the codes of their regions as `theta` has it."""
    each = rows.T / np.maximum(inside @ theta.T, 1e-300)
    count = beta + theta * (inside.T @ each).T
    return np.asarray(count / count.sum(axis=1, keepdims=True))


def _matched(release: Release, asked: int, prior: Prior, engine: Engine) -> SettledMatching:
    model = HiddenModel.of(release, asked, prior)
    if len(model.withheld.rows):
        raise NotApplicable("some sensitive values are withheld, which takes chains")
    layout = model.layout
    inside = {i: _inside(release.regions[i]) for i in layout.attributes}
    large = {b.number: _LargeGroups.of(model, b) for b in model.hidden if not matching.exact(b.groups).all()}
    pi = prior.alpha + model.value_counts
    pi = pi / pi.sum()

    def settle(start: Mapping[int, Floats]) -> Draw:
        draw = _at(model, layout.join(start), pi, large)
        for _ in range(STEPS):
            rows = _rows(model, draw)
            new = {i: _shares(inside[i], rows[i], draw.theta[i], prior.beta[i]) for i in layout.attributes}
            moved = max((float(np.abs(new[i] - draw.theta[i]).max()) for i in new), default=0.0)
            draw = _at(model, layout.join(new), pi, large)
            if moved < STILL:
                break
            if engine.stop.is_set():
                raise Stopped("stopped before shares stood still")
        return draw

    places = [settle({i: prior.shares(i) for i in layout.attributes})]
    weight = np.ones(1)
    if not large:  # else nobody can say which of two places fits better
        places.append(settle(_mirrored(model, places[0])))
        density = Likelihood.of(model).log_posterior
        logs = np.array([density(np.maximum(place.theta.flat, TINY), pi) for place in places])
        weight = np.exp(logs - logs.max())
    return SettledMatching(model, engine, tuple(places), weight / weight.sum(), 0)


def _mirrored(model: HiddenModel, draw: Draw) -> dict[int, Floats]:
    """Shares of matched attributes on the other side of their means over all values; the other attributes stay."""
    found = dict(draw.theta)
    for index, matched in zip(model.layout.attributes, model.matched.tolist(), strict=True):
        if matched:
            found[index] = other_side(draw.theta[index], draw.pi)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _LargeGroups:
    """A block some of whose groups are too large to be matched exactly: those are scaled instead."""

    matched: Matched
    place: NDArray[np.int64]  # (pairs,) of a cell and a value among all entries and values
    times: Floats  # (pairs,) pairs that share a place

    @classmethod
    def of(cls, model: HiddenModel, block: HiddenBlock) -> "_LargeGroups":
        published = model.release.blocks[block.number]
        everyone, row = np.arange(model.release.groups), np.arange(len(published.cell))
        columns = ValueColumns.of(model.release, model.asked)
        matched = Matched.of(columns, published.start, published.count, everyone, row, STATES)
        place = block.entry * model.values + block.column
        return cls(matched, place, np.bincount(place)[place].astype(np.float64))

    def expected(self, model: HiddenModel, block: HiddenBlock, draw: Draw) -> Floats:
        log = model.log_weights(block, model.log_shares(draw.theta), draw.pi, draw.current)
        weight = np.exp(log - log.max(axis=1, keepdims=True))[model.release.blocks[block.number].cell]
        found = self.matched.expected(weight, np.ones(model.release.groups))
        return np.asarray(found.ravel()[self.place] / self.times)


def _at(model: HiddenModel, flat: Floats, pi: Floats, large: Mapping[int, _LargeGroups]) -> Draw:
    """Shares, and the rows they let one expect of each pair of a cell and a value of its group."""
    theta = model.layout.split(flat)
    draw = Draw(theta, theta, pi, pi, tuple(np.empty(0, np.int32) for _ in model.hidden), np.uint64(0), NOBODY)
    expected = (
        large[b.number].expected(model, b, draw) if b.number in large else expected_pairs(model, b, draw)
        for b in model.hidden
    )
    return replace(draw, expected=tuple(expected))


def _rows(model: HiddenModel, draw: Draw) -> Mapping[int, Floats]:
    """By attribute: (values, regions) rows that show a region beside a value, by expectation."""
    layout, values = model.layout, model.values
    found = {
        i: model.own_counts[layout.row[n] : layout.row[n + 1]].T.astype(np.float64)
        for n, i in enumerate(layout.attributes)
    }
    for block, expected in zip(model.hidden, draw.expected or (), strict=True):
        published = model.release.blocks[block.number]
        for i in published.attributes:
            regions = len(model.release.regions[i])
            key = block.column * regions + published.region(i)[block.entry]
            rows = np.bincount(key, weights=expected, minlength=values * regions).astype(np.float64)
            found[i] = rows.reshape(values, regions)
    return found
