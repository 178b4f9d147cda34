"""The most likely population given a release, where it is closed form: p_I by its mode (Boreale et al., note 2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.contract import Chains, check_prior
from unveil.attackers.posterior.linked import AttributePosterior, branch_weights, linked_counts, region_tree
from unveil.attackers.posterior.linked_posterior import LinkedPosterior
from unveil.data.belief import Prior
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import NotApplicable, shown

__all__ = ["ModalPosterior", "modal_posterior"]


@dataclass(slots=True, eq=False)
class ModalPosterior(LinkedPosterior):
    """All belief in one population: f(s, r | pi_MAP) in place of its average."""

    zeros: int = 0  # shares that are 0 at the mode: it lies on the boundary

    def method(self) -> str:
        """See Posterior."""
        return f"at the mode; {self.zeros} shares are 0 there" if self.zeros else "at the mode"


def modal_posterior(release: Release, asked: int, prior: Prior) -> ModalPosterior:
    """The mode of the posterior: of each distribution (counts + pseudo-counts - 1), as shares.

    For the original as a release, and for any release with values beside nested cells. With pseudo-counts of 1 the mode
    is the table's own shares: what the table does not show has share 0. NotApplicable where there is no mode (a value
    without rows and a pseudo-count below 1) or no single one (neither rows nor pseudo-counts above 1).
    """
    check_prior(release, asked, prior)
    counts = linked_counts(release, asked)
    if counts is None:
        raise NotApplicable("the mode is closed form only where every sensitive value stands beside its cells")
    attribute, block = release.attributes[asked], release.block_of(asked)
    value = release.regions[asked].single()[block.region(asked)]
    held = np.bincount(value, weights=block.count, minlength=attribute.codes)
    excess = prior.alpha + held - 1
    _refuse(excess, attribute.values, attribute.name)
    if not excess.sum() > 0:
        raise NotApplicable(f"{attribute.name}: {FLAT}")
    share = excess / excess.sum()
    zeros, found = int((share == 0).sum()), {}
    for index, table in counts.items():
        other = release.attributes[index]
        theta = np.full((attribute.codes, other.codes), 1 / other.codes)  # of a value with share 0 it does not matter
        for s in np.flatnonzero(share).tolist():
            where = f"{other.name}, given {attribute.name} {shown(attribute.values[s])}"
            theta[s] = _mode(release.regions[index], table[s : s + 1], prior.beta[index][s], other.values, where)
            zeros += int((theta[s] == 0).sum())
        exact = np.ones(attribute.codes, dtype=bool)
        found[index] = AttributePosterior(release.regions[index], theta, exact, None)
    return ModalPosterior(release, asked, prior, share, found, Engine(seed=0), Chains(), zeros=zeros)


FLAT = "no single population is most likely, as no row shows it; use a pseudo-count above 1"


def _mode(
    regions: Regions, counts: NDArray[np.int64], prior: NDArray[np.float64], values: tuple[str, ...], where: str
) -> NDArray[np.float64]:
    """(codes,) the shares at the mode: along each path of the tree the branches' shares of what lies below them."""
    tree = region_tree(regions, np.flatnonzero(counts[0]))
    if tree is None:
        raise NotApplicable(f"{where}: the mode is closed form only where regions are nested or disjoint")
    parent, codes = tree[0], len(prior)
    excess, depth = branch_weights(*tree, counts, prior[None] - 1)
    weight = excess[:, 0]
    _refuse(weight[:codes], values, where)
    below = np.flatnonzero(depth)
    split = np.bincount(parent[below], weights=weight[below], minlength=len(parent))
    share = np.ones(len(parent))
    for level in range(1, int(depth.max()) + 1):
        these = np.flatnonzero(depth == level)
        if (share[parent[these]][split[parent[these]] == 0] > 0).any():
            raise NotApplicable(f"{where}: {FLAT}")
        with np.errstate(invalid="ignore"):
            branch = np.where(split[parent[these]] > 0, weight[these] / split[parent[these]], 0.0)
        share[these] = share[parent[these]] * branch
    return share[:codes]


def _refuse(excess: NDArray[np.float64], values: tuple[str, ...], where: str) -> None:
    """Below 0 the density grows without end towards the boundary."""
    bad = np.flatnonzero(excess < 0)
    if len(bad):
        raise NotApplicable(
            f"{where}: the posterior has no mode, as no row shows {shown(values[bad[0]])} and its pseudo-count is "
            "below 1; use 1 or more"
        )
