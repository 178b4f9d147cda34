"""Releases in which every row's sensitive value stands beside its cells: the posterior factorises over attributes.

Given s, each attribute is seen through counts of regions. If these are nested or disjoint the posterior is a Dirichlet
tree with closed-form means; if they overlap, each (attribute, s) is sampled alone, on counts, never through rows.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers._fits import Overlaps
from unveil.belief import Prior
from unveil.engine import Engine
from unveil.kernels.shares import expected_counts, share_chain
from unveil.regions import Regions, rank_sequences
from unveil.release import Release

__all__ = [
    "AttributePosterior",
    "Sampled",
    "ShareChain",
    "attribute_posteriors",
    "branch_weights",
    "linked_counts",
    "region_atoms",
    "region_tree",
    "tree_means",
]

EM_ROUNDS = 50
STEPS = 16  # leapfrog steps of a draw, at most


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
class Sampled:
    """Atoms (codes that no region separates), and per chain the means of their shares and of shares of regions."""

    atom: NDArray[np.int64]  # (codes,)
    within: NDArray[np.float64]  # (values, codes) a code's share of its atom
    start: NDArray[np.int64]  # (regions + 1,) the atoms of each region
    member: NDArray[np.int64]  # (region atoms,)
    share: NDArray[np.float64]  # (chains, values, atoms)
    ratio: NDArray[np.float64]  # (chains, values, region atoms) mean of share(atom) / share(region)


@dataclass(slots=True, eq=False)
class ShareChain:
    """A chain of one (attribute, value) where it stands."""

    sets: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]  # as share_chain has them
    mass: NDArray[np.float64]  # (atoms,)
    at: NDArray[np.float64]  # (atoms,) logarithms of the weights whose shares are asked for
    step: float
    key: np.uint64
    counter: np.uint64

    @classmethod
    def start(
        cls,
        atoms_of: tuple[NDArray[np.int64], NDArray[np.int64]],
        counts: NDArray[np.int64],
        prior: NDArray[np.float64],
        engine: Engine,
        burn_in: int,
    ) -> tuple["ShareChain", NDArray[np.int64]]:
        """The chain after burn-in, and which of all regions' atoms its sets have. `prior` is that of the atoms."""
        start, member = atoms_of
        used = np.flatnonzero(counts)
        length = start[used + 1] - start[used]
        own_start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        place = np.repeat(start[used] - own_start[:-1], length) + np.arange(own_start[-1])
        random = engine.generator()
        key = random.integers(0, 2**64, dtype=np.uint64)
        sets = (prior, own_start, member[place], counts[used])
        mass = prior + expected_counts(*sets, EM_ROUNDS)
        # Starts are spread wider than the posterior, so that chains can disagree.
        at = np.log(mass / mass.sum() * prior.sum()) + random.normal(size=len(prior)) / np.sqrt(mass)
        state = cls(sets, mass, at, 0.3, key, np.uint64(0))
        state.run(burn_in, adapt=True)
        return state, place

    def run(self, sweeps: int, *, adapt: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Go on; the sums over the sweeps of the atoms' shares, and of each atom's share of its set."""
        totals = np.zeros(len(self.mass)), np.zeros(len(self.sets[2]))
        found = share_chain(
            *self.sets, self.mass, self.at, self.step, STEPS, adapt, sweeps, self.key, self.counter, *totals
        )
        self.step, self.counter = found[0], np.uint64(found[2])
        return totals


@dataclass(frozen=True, slots=True, eq=False)
class AttributePosterior:
    """What a release teaches about one attribute given s: by a tree (exact), or by chains."""

    regions: Regions
    tree: NDArray[np.float64]  # (values, codes) where `exact`
    exact: NDArray[np.bool_]  # (values,)
    sampled: Sampled | None

    @property
    def chains(self) -> int:
        """How many chains there are; 1 if nothing had to be sampled."""
        return 1 if self.sampled is None else len(self.sampled.share)

    def shares(self) -> NDArray[np.float64]:
        """(chains, values, codes) posterior means of the codes' shares."""
        found = np.repeat(self.tree[None], self.chains, axis=0)
        if self.sampled is not None:
            found[:, ~self.exact] = (self.sampled.share[:, :, self.sampled.atom] * self.sampled.within)[:, ~self.exact]
        return found

    def likelihood(self, overlaps: Overlaps) -> NDArray[np.float64]:
        """(chains, overlaps, values) mean likelihood of a piece of knowledge for a row that shows a region."""
        tree = self.tree.T
        inside, whole = overlaps.shared(tree), self.regions.totals(tree)[overlaps.region]
        ratio = np.divide(inside, whole, out=np.zeros_like(inside), where=whole > 0)
        found = np.repeat(ratio[None], self.chains, axis=0)
        if self.sampled is not None and overlaps.inside is not None:
            mean = self._sampled_ratio(self.sampled, overlaps, overlaps.inside)
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
    sweeps: int,
    wanted: Callable[[int], bool] = lambda index: True,
    tree: bool = True,
) -> dict[int, AttributePosterior]:
    """The posterior of each wanted attribute; `tree=False` samples what could be exact, to check one with the other."""
    found = {}
    for index, table in counts.items():
        if wanted(index):
            name = release.attributes[index].name
            found[index] = _posterior(
                release.regions[index], table, prior.beta[index], engine.named(name), chains, sweeps, tree
            )
    return found


def _posterior(
    regions: Regions,
    counts: NDArray[np.int64],
    prior: NDArray[np.float64],
    engine: Engine,
    chains: int,
    sweeps: int,
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
    return AttributePosterior(regions, means, exact, _sample(regions, counts, prior, exact, engine, chains, sweeps))


def _sample(
    regions: Regions,
    counts: NDArray[np.int64],
    prior: NDArray[np.float64],
    exact: NDArray[np.bool_],
    engine: Engine,
    chains: int,
    sweeps: int,
) -> Sampled:
    """Chains for every value that has no tree; the first fifth of each is burn-in."""
    values = len(prior)
    atom, start, member = region_atoms(regions, np.flatnonzero(counts.sum(axis=0)))
    atoms = int(atom.max()) + 1
    of_atom = np.zeros((values, atoms))
    np.add.at(of_atom.T, atom, prior.T)
    sampled = Sampled(
        atom,
        prior / of_atom[:, atom],
        start,
        member,
        np.zeros((chains, values, atoms)),
        np.zeros((chains, values, len(member))),
    )
    # Work is cut by (chain, value); each has draws of its own, so the order and the threads do not matter.
    tasks = [(chain, value) for chain in range(chains) for value in np.flatnonzero(~exact).tolist()]
    burn_in = max(sweeps // 5, 1)

    def run(task: tuple[int, int]) -> None:
        chain, value = task
        named = engine.named(f"chain {chain} value {value}")
        state, place = ShareChain.start((start, member), counts[value], of_atom[value], named, burn_in)
        share, ratio = state.run(sweeps)
        sampled.share[chain, value] = share / sweeps
        sampled.ratio[chain, value, place] = ratio / sweeps

    with ThreadPoolExecutor(engine.workers) as pool:
        for done, _ in enumerate(pool.map(run, tasks), start=1):
            engine.report("learning from overlapping regions", done, len(tasks))
    return sampled


def region_atoms(
    regions: Regions, used: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(codes,) the atom of each code, and for every region (unused ones are empty) its atoms, growing."""
    kept = regions.take(used)
    length = kept.high.astype(np.int64) - kept.low + 1
    owner = np.repeat(np.repeat(np.arange(len(used)), kept.runs), length)
    first = np.concatenate([[0], np.cumsum(length)])
    code = np.repeat(kept.low - first[:-1], length) + np.arange(first[-1])
    order = np.lexsort((owner, code))
    start = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=regions.codes))]).astype(np.int64)
    atom = rank_sequences(start, owner[order].astype(np.int64))
    pair = np.unique(used[owner] * (int(atom.max()) + 1) + atom[code])
    region, member = pair // (int(atom.max()) + 1), pair % (int(atom.max()) + 1)
    region_start = np.concatenate([[0], np.cumsum(np.bincount(region, minlength=len(regions)))]).astype(np.int64)
    return atom, region_start, member
