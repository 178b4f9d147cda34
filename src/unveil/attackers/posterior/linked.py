"""Releases in which every row's sensitive value stands beside its cells: the posterior factorises over attributes.

Given s, each attribute is seen through counts of regions. If these are nested or disjoint the posterior is a Dirichlet
tree with closed-form means; if they overlap, each (attribute, s) is sampled alone, on counts, never through rows. So
is a smoothed attribute, whatever its regions: of a value, too, only its likely centres are known.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.fits import Overlaps
from unveil.attackers.posterior.share_chains import Sampled, ShareChains
from unveil.data.belief import Prior
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.engine import Engine

__all__ = [
    "AttributePosterior",
    "attribute_posteriors",
    "branch_weights",
    "linked_counts",
    "region_tree",
    "tree_means",
]


def linked_counts(release: Release, asked: int) -> dict[int, NDArray[np.int64]] | None:
    """By attribute: (values, regions) how many rows show the region beside the value; None if that is hidden."""
    own = release.block_of(asked)
    value = release.regions[asked].single()[own.region(asked)]
    if (value < 0).any():
        return None
    values = release.attributes[asked].codes
    of_group = np.bincount(own.group * values + value, weights=own.count, minlength=release.groups * values)
    of_group = of_group.reshape(release.groups, values).astype(np.int64)
    one_value = (of_group > 0).sum(axis=1) == 1
    counts: dict[int, NDArray[np.int64]] = {}
    for block in release.blocks:
        if block is own:
            pairs = [(value, np.arange(len(block.cell)), block.count)]
        else:
            alone = np.diff(block.start) == 1
            if not (one_value | alone).all():
                return None
            hidden = np.flatnonzero(~alone[block.group])  # the group has one value: it belongs to every cell
            first = block.start[:-1][alone]  # the group has one cell: it belongs to every value
            group, held = np.nonzero(of_group[alone])
            pairs = [
                (of_group.argmax(axis=1)[block.group[hidden]], hidden, block.count[hidden]),
                (held, first[group], of_group[alone][group, held]),
            ]
        for index in block.attributes:
            if index != asked:
                table = np.zeros((values, len(release.regions[index])), dtype=np.int64)
                for held, entry, count in pairs:
                    np.add.at(table, (held, block.region(index)[entry]), count)
                counts[index] = table
    return counts


def tree_means(regions: Regions, counts: NDArray[np.int64], prior: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """(values, codes) posterior mean of each code's share, by the Dirichlet tree; None if regions overlap unnested.

    Branches of the tree are independent, so the mean of share(code) / share(region) is the ratio of the means.
    Cost: the sizes of the regions, added up.
    """
    tree = region_tree(regions, np.flatnonzero(counts.sum(axis=0)))
    return None if tree is None else _branch_means(*tree, counts, prior)


def region_tree(regions: Regions, used: NDArray[np.int64]) -> tuple[NDArray[np.int64], dict[int, int]] | None:
    """The parent of each node and the node of each used region; codes are the first nodes, the root is the last."""
    codes = regions.codes
    sizes = regions.sizes
    order = used[np.argsort(sizes[used], kind="stable")]
    parent = [-1] * codes
    size = [1] * codes
    top = np.arange(codes)
    node_of = {}
    for region in order.tolist():
        members = regions.members(region)
        if len(members) == 1:
            node_of[region] = int(members[0])
            continue
        below, held = np.unique(top[members], return_counts=True)
        if any(size[node] != n for node, n in zip(below.tolist(), held.tolist(), strict=True)):
            return None
        node = len(parent)
        parent.append(-1)
        size.append(len(members))
        for child in below.tolist():
            parent[child] = node
        top[members] = node
        node_of[region] = node
    root = len(parent)
    parent.append(-1)
    for node in range(root):
        if parent[node] < 0:
            parent[node] = root
    return np.array(parent), node_of


def branch_weights(
    parent: NDArray[np.int64], node_of: Mapping[int, int], counts: NDArray[np.int64], prior: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(nodes, values) prior and counts at or below each node, which are the Dirichlet parameters of its branch, and
    (nodes,) its depth. Children come before parents."""
    values, codes = prior.shape
    nodes = len(parent)
    weight = np.zeros((nodes, values))
    weight[:codes] = prior.T
    for region, node in node_of.items():
        weight[node] += counts[:, region]
    depth = np.zeros(nodes, dtype=np.int64)
    for node in range(nodes - 2, -1, -1):
        depth[node] = depth[parent[node]] + 1
    for level in range(int(depth.max(initial=0)), 0, -1):
        these = np.flatnonzero(depth == level)
        np.add.at(weight, parent[these], weight[these])
    return weight, depth


def _branch_means(
    parent: NDArray[np.int64], node_of: Mapping[int, int], counts: NDArray[np.int64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Means of the leaves: along each path the product of the branches' means."""
    values, codes = prior.shape
    weight, depth = branch_weights(parent, node_of, counts, prior)
    split = np.zeros((len(parent), values))  # what the children of a node have together
    below = np.flatnonzero(depth)
    np.add.at(split, parent[below], weight[below])
    mean = np.ones((len(parent), values))
    for level in range(1, int(depth.max(initial=0)) + 1):
        these = np.flatnonzero(depth == level)
        mean[these] = mean[parent[these]] * weight[these] / split[parent[these]]
    return np.ascontiguousarray(mean[:codes].T)


@dataclass(frozen=True, slots=True, eq=False)
class AttributePosterior:
    """What a release teaches about one attribute given s: by a tree (exact), or by chains."""

    regions: Regions
    tree: NDArray[np.float64]  # (values, codes) where `exact`
    exact: NDArray[np.bool_]  # (values,)
    sampler: ShareChains | None

    @property
    def chains(self) -> int:
        """How many chains there are; 1 if nothing had to be sampled."""
        return 1 if self.sampler is None else self.sampler.chains

    def shares(self, batches: range | None = None, codes: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """(1, chains, values, codes) means of the codes' shares over the posterior, or (batches, ...) over the draws of
        each of some batches; one of each where all is exact. `codes`: of these alone."""
        tree = self.tree if codes is None else self.tree[:, codes]
        if self.sampler is None:
            return tree[None, None]
        found = self.sampler.code_shares(batches, codes)
        found[:, :, self.exact] = tree[self.exact]
        return found

    def likelihood(self, overlaps: Overlaps, batch: int | None = None) -> NDArray[np.float64]:
        """(chains, overlaps, values) mean likelihood of a piece of knowledge for a row that shows a region."""
        tree = self.tree.T
        inside, whole = overlaps.shared(tree), self.regions.totals(tree)[overlaps.region]
        ratio = np.divide(inside, whole, out=np.zeros_like(inside), where=whole > 0)
        found = np.repeat(ratio[None], self.chains, axis=0)
        if self.sampler is not None and overlaps.inside is not None:
            mean = self._sampled_ratio(self.sampler.region_shares(batch), overlaps, overlaps.inside)
            found[:, :, ~self.exact] = mean[:, :, ~self.exact]
        return np.stack([overlaps.likelihood(chain) for chain in found])

    def _sampled_ratio(self, sampled: Sampled, overlaps: Overlaps, inside: Regions) -> NDArray[np.float64]:
        length = inside.high.astype(np.int64) - inside.low + 1
        run_owner = np.repeat(overlaps.overlapping, inside.runs)
        owner = np.repeat(run_owner, length)
        first = np.concatenate([[0], np.cumsum(length)])
        code = np.repeat(inside.low - first[:-1], length) + np.arange(first[-1])
        atoms = int(sampled.atom.max()) + 1
        key = np.repeat(np.arange(len(self.regions)), np.diff(sampled.start)) * atoms + sampled.member
        place = np.searchsorted(key, overlaps.region[owner] * atoms + sampled.atom[code])
        term = sampled.ratio[:, :, place] * sampled.within[:, code]
        found = np.zeros((*sampled.ratio.shape[:2], len(overlaps.region)))
        for chain in range(len(found)):
            for value in range(found.shape[1]):
                found[chain, value] = np.bincount(owner, weights=term[chain, value], minlength=len(overlaps.region))
        return found.transpose(0, 2, 1)


def attribute_posteriors(
    release: Release,
    counts: Mapping[int, NDArray[np.int64]],
    prior: Prior,
    engine: Engine,
    *,
    chains: int,
    tree: bool = True,
) -> dict[int, AttributePosterior]:
    """The posterior of each attribute; `tree=False` samples what could be exact, to check one with the other."""
    found = {}
    for index, table in counts.items():
        own = engine.named(release.attributes[index].name)
        regions, beta = release.regions[index], prior.beta[index]
        if index in prior.smooth:
            unseen = table.sum(axis=1) == 0
            sampler = ShareChains.smoothed(regions, table, beta, prior.smooth[index], unseen, own, chains)
            found[index] = AttributePosterior(regions, prior.shares(index), unseen, sampler)
        else:
            found[index] = _posterior(regions, table, beta, own, chains, tree)
    return found


def _posterior(
    regions: Regions,
    counts: NDArray[np.int64],
    prior: NDArray[np.float64],
    engine: Engine,
    chains: int,
    tree: bool,
) -> AttributePosterior:
    values, codes = prior.shape
    whole = tree_means(regions, counts, prior) if tree else None
    if whole is not None:
        return AttributePosterior(regions, whole, np.ones(values, dtype=bool), None)
    means, exact = np.full((values, codes), 1 / codes), np.zeros(values, dtype=bool)
    for value in range(values):
        alone = tree_means(regions, counts[value : value + 1], prior[value : value + 1]) if tree else None
        if alone is not None:
            means[value], exact[value] = alone[0], True
    return AttributePosterior(regions, means, exact, ShareChains.start(regions, counts, prior, exact, engine, chains))
