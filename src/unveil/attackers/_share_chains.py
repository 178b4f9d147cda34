"""Chains for one attribute whose regions overlap: its shares given each sensitive value, sampled alone, on counts."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unveil.attackers._averages import BATCHES
from unveil.engine import Engine
from unveil.kernels.shares import expected_counts, share_chain
from unveil.regions import Regions, rank_sequences

__all__ = ["Sampled", "ShareChain", "ShareChains"]

Sets = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

EM_ROUNDS = 50
STEPS = 16  # leapfrog steps of a draw, at most
MOST_BATCH_NUMBERS = 60_000_000  # kept means of all batches of an attribute; above, only whole means are kept


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
    """One chain for one sensitive value, where it stands. It goes on with the same draws after a stop."""

    key: np.uint64
    x: NDArray[np.float64]  # (atoms,) the state
    step: float
    counter: np.uint64
    share: list[NDArray[np.float64]] = field(default_factory=list)  # per batch: (atoms,) mean
    ratio: list[NDArray[np.float64]] = field(default_factory=list)  # per batch: (used region atoms,) mean


@dataclass(slots=True, eq=False)
class ShareChains:
    """All chains of one attribute."""

    atom: NDArray[np.int64]  # see Sampled
    within: NDArray[np.float64]
    start_of: NDArray[np.int64]  # (regions + 1,)
    member: NDArray[np.int64]
    prior: NDArray[np.float64]  # (values, atoms)
    counts: NDArray[np.int64]  # (values, regions)
    mass: NDArray[np.float64]  # (values, atoms)
    chains: int
    running: dict[tuple[int, int], ShareChain]  # by (chain, value)
    most: int  # batches that are kept of a chain before they are merged
    size: int = 0  # draws in a batch

    @classmethod
    def start(
        cls,
        regions: Regions,
        counts: NDArray[np.int64],
        prior: NDArray[np.float64],
        exact: NDArray[np.bool_],
        engine: Engine,
        chains: int,
    ) -> "ShareChains":
        """A chain for every value that has no tree, each at a place of its own."""
        values = len(prior)
        atom, start, member = _atoms(regions, np.flatnonzero(counts.sum(axis=0)))
        atoms = int(atom.max()) + 1
        of_atom = np.zeros((values, atoms))
        np.add.at(of_atom.T, atom, prior.T)
        numbers = chains * values * (atoms + len(member)) * 2 * BATCHES
        most = 2 * BATCHES if numbers <= MOST_BATCH_NUMBERS else 2
        mass = np.ones((values, atoms))
        found = cls(atom, prior / of_atom[:, atom], start, member, of_atom, counts, mass, chains, {}, most)
        for value in np.flatnonzero(~exact).tolist():
            sets, _ = found._sets(value)
            mass[value] = of_atom[value] + expected_counts(*sets, EM_ROUNDS)
            middle = np.log(mass[value] / mass[value].sum() * of_atom[value].sum())
            for chain in range(chains):
                random = engine.named(f"chain {chain} value {value}").generator()
                key = random.integers(0, 2**64, dtype=np.uint64)
                # Starts are spread wider than the posterior, so that chains can disagree.
                x = middle + random.normal(size=atoms) / np.sqrt(mass[value])
                found.running[chain, value] = ShareChain(key, x, 0.3, np.uint64(0))
        return found

    def tasks(self) -> list[tuple[int, int]]:
        """Work is cut by (chain, value); each has draws of its own, so the order and the threads do not matter."""
        return list(self.running)

    def burn_in(self, task: tuple[int, int], draws: int) -> None:
        """Walk to the posterior, adapting the length of the steps."""
        self._draw(task, draws, adapt=True)

    def batch(self, task: tuple[int, int]) -> None:
        """Draw one more batch."""
        chain = self.running[task]
        share, ratio = self._draw(task, self.size, adapt=False)
        chain.share.append(share / self.size)
        chain.ratio.append(ratio / self.size)

    def merge(self) -> None:
        """Two batches into one, once there are as many as are kept."""
        if min(len(chain.share) for chain in self.running.values()) < self.most:
            return
        for chain in self.running.values():
            chain.share, chain.ratio = _halved(chain.share), _halved(chain.ratio)
        self.size *= 2

    def forget(self) -> None:
        """Start the means anew: what was drawn so far was on the way."""
        for chain in self.running.values():
            chain.share, chain.ratio = [], []

    @property
    def batches(self) -> int:
        """Batches that every chain has."""
        return min((len(chain.share) for chain in self.running.values()), default=0)

    def means(self, batch: int | None = None) -> Sampled:
        """Over all batches, or of one."""
        values, atoms = self.prior.shape
        share, ratio = np.zeros((self.chains, values, atoms)), np.zeros((self.chains, values, len(self.member)))
        for (chain, value), found in self.running.items():
            _, place = self._sets(value)
            share[chain, value] = np.mean(found.share, axis=0) if batch is None else found.share[batch]
            ratio[chain, value, place] = np.mean(found.ratio, axis=0) if batch is None else found.ratio[batch]
        return Sampled(self.atom, self.within, self.start_of, self.member, share, ratio)

    def _sets(self, value: int) -> tuple[Sets, NDArray[np.int64]]:
        """What the kernels take of a value, and which region atoms its sets are."""
        used = np.flatnonzero(self.counts[value])
        length = self.start_of[used + 1] - self.start_of[used]
        own_start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        place = np.repeat(self.start_of[used] - own_start[:-1], length) + np.arange(own_start[-1])
        return (self.prior[value], own_start, self.member[place], self.counts[value][used]), place

    def _draw(
        self, task: tuple[int, int], draws: int, *, adapt: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        chain, value = self.running[task], task[1]
        sets, place = self._sets(value)
        totals = np.zeros(self.prior.shape[1]), np.zeros(len(place))
        step, _, counter = share_chain(
            *sets, self.mass[value], chain.x, chain.step, STEPS, adapt, draws, chain.key, chain.counter, *totals
        )
        chain.step, chain.counter = float(step), np.uint64(counter)
        return totals


def _halved(batches: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    return [(a + b) / 2 for a, b in zip(batches[::2], batches[1::2], strict=True)]


def _atoms(regions: Regions, used: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
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
