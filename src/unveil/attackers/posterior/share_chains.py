"""Chains for one attribute whose regions overlap: its shares given each sensitive value, sampled alone, on counts."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import BatchMeans
from unveil.attackers.posterior.control import ControlVariates, coefficients
from unveil.attackers.posterior.partial_sums import PartialSums
from unveil.data.regions import Regions, rank_sequences
from unveil.data.smoothing import Centres
from unveil.engine import Engine
from unveil.kernels.allotments import allot_chain
from unveil.kernels.distributions import dirichlet
from unveil.kernels.shares import expected_counts, share_chain

__all__ = ["CodeShares", "Floats", "Ints", "Sampled", "ShareChain", "ShareChains"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

Sums = tuple[Ints, Ints, Ints, Ints]

NOTHING, NO_ROWS, NONE = np.zeros(0), np.zeros(0, np.int64), (np.zeros((0, 0)), np.zeros((0, 0)))
EM_ROUNDS = 50
STEPS = 12  # leapfrog steps of a draw, at most
MOST_ATOMS = 512  # whose covariance is worked out whole: its root is gone through in every step
MOST_CONTROLLED = 128  # atoms with control variates
A_WHILE = 20_000_000  # atoms looked at in one call: well below a second


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Atoms (codes that no region separates), and per chain the means of their shares of regions.

    Of a smoothed attribute each code is an atom.
    """

    atom: Ints  # (codes,)
    within: Floats  # (values, codes) a code's share of its atom
    start: Ints  # (regions + 1,) the atoms of each region
    member: Ints  # (region atoms,)
    ratio: Floats  # (chains, values, region atoms) mean of share(atom) / share(region)


@dataclass(slots=True, eq=False)
class ShareChain:
    """One chain for one sensitive value, where it stands. It goes on with the same draws after a stop."""

    key: np.uint64
    x: Floats  # (own atoms,) the state, where shares are drawn
    step: float
    counter: np.uint64
    held: Ints  # (rows,) the state, where rows are allotted: see allot_chain
    share: BatchMeans = field(default_factory=BatchMeans)  # of (own atoms,)
    ratio: BatchMeans = field(default_factory=BatchMeans)  # of (own atoms of used regions,)
    control: ControlVariates | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """What the kernels take of one value: see share_chain. Atoms that none of its regions separates are one own atom.

    Of a value with a few rows nearly all atoms are one: a draw costs what its own regions tell apart, not the domain.
    """

    prior: Floats  # (own atoms,)
    start: Ints
    atom: Ints
    weight: Floats | None
    count: Ints
    sums: Sums
    place: Ints  # (used region atoms,) which of all region atoms each is
    own: Ints  # (atoms,) the own atom of each
    within: Floats  # (atoms,) its share of that
    own_place: Ints  # (used region atoms,) which of `atom` each lies in
    place_within: Floats  # (used region atoms,) its share of that

    @property
    def allotted(self) -> bool:
        """Whether rows are allotted one by one: quickest where the prior holds the shares."""
        return self.weight is None and 0 < self.count.sum() <= self.prior.sum()


@dataclass(frozen=True, slots=True, eq=False)
class CodeShares:
    """How shares of centres are read as shares of codes, where the attribute is smoothed."""

    kernel: Floats  # (centres, codes)
    start: Ints  # (regions + 1,) the codes of each region
    code: Ints  # (region codes,)

    def parts(self, region: int, centre: Ints, weight: Floats, share: Floats) -> Floats:
        """(codes of the region,) the mean share of each, from that of the centres of the region's rows.

        A row has one of the centres; then a code of the region in proportion to the centre's kernel.
        """
        codes = self.code[self.start[region] : self.start[region + 1]]
        return np.asarray((share / weight) @ self.kernel[np.ix_(centre, codes)])


@dataclass(slots=True, eq=False)
class ShareChains:
    """All chains of one attribute: shares of atoms, seen through regions that each hold some of them."""

    atom: Ints  # see Sampled
    within: Floats
    start_of: Ints  # (regions + 1,)
    member: Ints
    weight: Floats | None  # (region atoms,) how likely a centre puts its value there; None = surely
    reading: CodeShares | None  # of a smoothed attribute, whose atoms are centres
    prior: Floats  # (values, atoms)
    counts: Ints  # (values, regions)
    root: dict[int, Floats]  # by value: of about the covariance of a chain's state, see share_chain
    chains: int
    running: dict[tuple[int, int], ShareChain]  # by (chain, value)
    size: int = 0  # draws in a batch
    sets_of: dict[int, Sets] = field(default_factory=dict)  # by value, once made
    fitted: dict[int, tuple[int, list[Floats] | None]] = field(default_factory=dict)  # by value: to so many draws

    @classmethod
    def start(
        cls, regions: Regions, counts: Ints, prior: Floats, exact: Bools, engine: Engine, chains: int
    ) -> "ShareChains":
        """A chain for every value that has no tree, each at a place of its own."""
        atom, start, member = _atoms(regions, np.flatnonzero(counts.sum(axis=0)))
        of_atom = np.zeros((len(prior), int(atom.max()) + 1))
        np.add.at(of_atom.T, atom, prior.T)
        sets = atom, prior / of_atom[:, atom], start, member, None, None
        return cls._started(sets, of_atom, counts, exact, engine, chains)

    @classmethod
    def smoothed(
        cls, regions: Regions, counts: Ints, prior: Floats, kernel: Floats, unseen: Bools, engine: Engine, chains: int
    ) -> "ShareChains":
        """Chains over the shares of the centres; for a value that nobody has there is nothing to draw."""
        used = np.flatnonzero(counts.sum(axis=0))
        near = Centres.of(regions.take(used), kernel)
        start = np.zeros(len(regions) + 1, dtype=np.int64)
        start[used + 1] = np.diff(near.start)
        owner, code = regions.listed(used)
        code_start = np.concatenate([[0], np.cumsum(np.bincount(used[owner], minlength=len(regions)))])
        reading = CodeShares(kernel, code_start.astype(np.int64), code)
        codes = np.arange(regions.codes)
        sets = codes, np.ones(prior.shape), np.cumsum(start), near.centre, near.weight, reading
        return cls._started(sets, prior, counts, unseen, engine, chains)

    @classmethod
    def _started(
        cls,
        sets: tuple[Ints, Floats, Ints, Ints, Floats | None, CodeShares | None],
        prior: Floats,
        counts: Ints,
        exact: Bools,
        engine: Engine,
        chains: int,
    ) -> "ShareChains":
        found = cls(*sets, prior, counts, {}, chains, {})
        for value in np.flatnonzero(~exact).tolist():
            seen = found._sets(value)
            if seen.allotted:
                for chain in range(chains):
                    random = engine.named(f"chain {chain} value {value}").generator()
                    key = random.integers(0, 2**64, dtype=np.uint64)
                    # Anywhere in its set: chains that start apart and end together agree.
                    held = random.integers(
                        np.repeat(seen.start[:-1], seen.count), np.repeat(seen.start[1:], seen.count)
                    )
                    found.running[chain, value] = ShareChain(key, NOTHING, 0.0, np.uint64(0), held)
                continue
            mass = seen.prior + expected_counts(seen.prior, seen.weight, seen.count, seen.sums, EM_ROUNDS)
            found.root[value] = _root(seen, mass)
            for chain in range(chains):
                random = engine.named(f"chain {chain} value {value}").generator()
                key = random.integers(0, 2**64, dtype=np.uint64)
                # Starts are spread wider than the posterior, so that chains can disagree.
                centre = np.log(mass / mass.sum() * seen.prior.sum())
                x = centre + random.normal(size=len(mass)) / np.sqrt(mass)
                found.running[chain, value] = ShareChain(key, x, 0.3, np.uint64(0), NO_ROWS)
                if 1 < found.root[value].shape[1] <= MOST_CONTROLLED:
                    found.running[chain, value].control = ControlVariates.of(centre)
        return found

    def tasks(self) -> list[tuple[int, int]]:
        """Work is cut by (chain, value); each has draws of its own, so the order and the threads do not matter."""
        return list(self.running)

    def burn_in(self, task: tuple[int, int], draws: int) -> None:
        """Walk to the posterior, adapting the length of the steps."""
        self._draw(task, draws, adapt=True)

    def state(self, task: tuple[int, int]) -> Floats:
        """(own atoms,) one more draw: logarithms of weights whose shares are asked for."""
        self._draw(task, 1, adapt=False)
        chain, sets = self.running[task], self._sets(task[1])
        if not sets.allotted:
            return chain.x
        share = np.empty(len(sets.prior))
        shape = sets.prior + np.bincount(sets.atom[chain.held], minlength=len(share))
        chain.counter = np.uint64(dirichlet(shape, chain.key, chain.counter, share))
        return np.log(np.maximum(share, 1e-300))

    def draw_batches(self, task: tuple[int, int], most: int) -> int:
        """Draw at least one more batch and at most so many, and say how many: a while, after which one may stop."""
        chain = self.running[task]
        sets = self._sets(task[1])
        batches = min(max(A_WHILE // (self.size * (len(sets.atom) + STEPS * len(sets.prior))), 1), most)
        share, ratio = self._draw(task, self.size, adapt=False, batches=batches, control=chain.control)
        chain.share.extend(share / self.size)
        chain.ratio.extend(ratio / self.size)
        return batches

    def merge(self) -> None:
        """Two batches into one, before as much again is drawn."""
        for chain in self.running.values():
            chain.share.halve()
            chain.ratio.halve()
            if chain.control is not None:
                chain.control.zero.halve()
        self.size *= 2

    @property
    def numbers(self) -> int:
        """How many numbers a batch of all chains is."""
        return sum(len(sets.atom) + len(sets.prior) for _, value in self.running for sets in [self._sets(value)])

    @property
    def batches(self) -> int:
        """Batches that every chain has."""
        return min((len(chain.share) for chain in self.running.values()), default=0)

    def code_shares(self, batches: range | None = None, codes: Ints | None = None) -> Floats:
        """(1, chains, values, codes) mean shares over all batches, or (batches, ...) of each of some; all codes, or
        some."""
        codes = np.arange(len(self.atom)) if codes is None else codes
        found = np.zeros((1 if batches is None else len(batches), self.chains, len(self.prior), len(codes)))
        atom = self.atom[codes]
        for (chain, value), one in self.running.items():
            sets = self._sets(value)
            mine = self._less_noise(chain, value, _means(one.share, batches), batches)
            if self.reading is not None:
                found[:, chain, value] = mine @ self.reading.kernel[:, codes]
            else:
                # What no region of this value separates is divided as the prior says, whatever is drawn.
                found[:, chain, value] = mine[:, sets.own[atom]] * (sets.within[atom] * self.within[value, codes])
        return found

    def _less_noise(self, chain: int, value: int, share: Floats, batches: range | None) -> Floats:
        """Shares (batches or 1, own atoms) without what of them goes with functions whose means are 0."""
        control, fitted = self.running[chain, value].control, self._coefficients(value)
        if control is None or fitted is None:
            return share
        less = share - _means(control.zero, batches) @ fitted[chain]
        return np.asarray(less / less.sum(axis=1, keepdims=True))  # 1, unless some shares were left as they are

    def _coefficients(self, value: int) -> list[Floats] | None:
        """By chain: (functions, own atoms) fitted to the other chains; None where these have too few draws.

        A share that would fall below 0 in any batch is left as it is in all chains: what is subtracted from it is not
        small beside it, and a belief would be made of a probability that cannot be.
        """
        control = [self.running[chain, value].control for chain in range(self.chains)]
        everyone = [one for one in control if one is not None]
        draws = sum(one.draws for one in everyone)
        if self.fitted.get(value, (-1, None))[0] != draws:
            found = [coefficients([other for other in everyone if other is not one]) for one in everyone]
            self.fitted[value] = draws, self._above_zero(value, [one for one in found if one is not None])
        return self.fitted[value][1]

    def _above_zero(self, value: int, fitted: list[Floats]) -> list[Floats] | None:
        if not fitted or len(fitted) < self.chains:
            return None
        below = np.zeros(len(self._sets(value).prior), dtype=bool)
        for chain, one in enumerate(fitted):
            found = self.running[chain, value]
            if found.control is not None and len(found.share):
                zero, share = found.control.zero.stacked(len(found.share)), found.share.stacked(len(found.share))
                below |= (share <= zero @ one).any(axis=0)
        for one in fitted:
            one[:, below] = 0
        return fitted

    def region_shares(self, batch: int | None = None) -> Sampled:
        """Mean shares of regions, over all batches or of one."""
        reading = self.reading
        start, member = (self.start_of, self.member) if reading is None else (reading.start, reading.code)
        ratio = np.zeros((self.chains, len(self.prior), len(member)))
        for (chain, value), found in self.running.items():
            sets = self._sets(value)
            place = sets.place
            parts = (found.ratio.mean() if batch is None else found.ratio[batch])[sets.own_place] * sets.place_within
            if reading is None or self.weight is None:
                ratio[chain, value, place] = parts
                continue
            of_centre = np.zeros(len(self.member))
            of_centre[place] = parts
            for region in np.flatnonzero(self.counts[value]).tolist():
                these = slice(self.start_of[region], self.start_of[region + 1])
                read = reading.parts(region, self.member[these], self.weight[these], of_centre[these])
                ratio[chain, value, start[region] : start[region + 1]] = read
        return Sampled(self.atom, self.within, start, member, ratio)

    def parts(self, value: int, place: Ints) -> tuple[Ints, Floats]:
        """Of some of all region atoms: where in the value's `ratio` each stands, and its share of that."""
        sets = self._sets(value)
        own = np.searchsorted(sets.place, place)
        return sets.own_place[own], sets.place_within[own]

    def own_atoms(self, value: int) -> Ints:
        """(atoms,) the atom of the value's own chains that each lies in."""
        return self._sets(value).own

    def _sets(self, value: int) -> Sets:
        if value not in self.sets_of:
            self.sets_of[value] = self._make_sets(value)
        return self.sets_of[value]

    def _make_sets(self, value: int) -> Sets:
        used = np.flatnonzero(self.counts[value])
        length = self.start_of[used + 1] - self.start_of[used]
        start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        place = np.repeat(self.start_of[used] - start[:-1], length) + np.arange(start[-1])
        member, prior, count = self.member[place], self.prior[value], self.counts[value][used]
        if self.weight is not None:
            own, each = np.arange(len(prior)), np.ones(len(place))
            plain = PartialSums.plain(start, member).arrays()
            same = np.arange(len(place))
            return Sets(
                prior, start, member, self.weight[place], count, plain, place, own, np.ones(len(prior)), same, each
            )
        owner = np.repeat(np.arange(len(used)), length)
        order = np.lexsort((owner, member))
        of_atom = np.concatenate([[0], np.cumsum(np.bincount(member, minlength=len(prior)))]).astype(np.int64)
        own = rank_sequences(of_atom, owner[order].astype(np.int64))
        whole = np.asarray(np.bincount(own, weights=prior), dtype=np.float64)
        within = prior / whole[own]
        pair, own_place = np.unique(owner * len(whole) + own[member], return_inverse=True)
        own_start = np.searchsorted(pair, np.arange(len(used) + 1) * len(whole)).astype(np.int64)
        atom = (pair % len(whole)).astype(np.int64)
        found = Sets(
            whole,
            own_start,
            atom,
            None,
            count,
            PartialSums.plain(own_start, atom).arrays(),
            place,
            own,
            within,
            own_place,
            within[member],
        )
        if found.allotted:
            return found
        return replace(found, sums=PartialSums.of(own_start, atom, len(whole)).arrays())

    def _draw(
        self,
        task: tuple[int, int],
        draws: int,
        *,
        adapt: bool,
        batches: int = 1,
        control: ControlVariates | None = None,
    ) -> tuple[Floats, Floats]:
        chain, value = self.running[task], task[1]
        sets = self._sets(value)
        totals = np.zeros((batches, len(sets.prior))), np.zeros((batches, len(sets.atom)))
        if len(sets.prior) == 1:  # nothing to draw: nobody has the value, or every region of it is the whole domain
            totals[0][:], totals[1][:] = draws, draws
            return totals
        if sets.allotted:
            rows = sets.prior, sets.start, sets.atom, sets.count, chain.held
            chain.counter = np.uint64(allot_chain(*rows, draws, chain.key, chain.counter, *totals))
            return totals
        density = sets.prior, sets.start, sets.atom, sets.weight, sets.count, sets.sums
        zero = np.zeros((batches, 0 if control is None else len(control.total)))
        aside = (NOTHING, zero, *NONE) if control is None else (control.centre, zero, control.gram, control.cross)
        place = self.root[value], chain.x, chain.step, STEPS, adapt, draws
        step, _, counter = share_chain(*density, *place, chain.key, chain.counter, *totals, aside)
        if control is not None:
            control.extend(totals[0], zero, draws)
        chain.step, chain.counter = float(step), np.uint64(counter)
        return totals


def _means(means: BatchMeans, batches: range | None) -> Floats:
    """(1, numbers) over all batches, or (batches, numbers) of each of some."""
    return means.mean()[None] if batches is None else np.stack([means[batch] for batch in batches])


def _root(sets: Sets, mass: Floats) -> Floats:
    """The root of about the covariance of logarithms of shares: the inverse of their curvature at the mode.

    Wide sets tell little of how their atoms divide: by the curvature of each atom alone such directions would be walked
    in steps far too short. With fewer rows than pseudo-counts the prior holds them, and each atom alone is enough.
    """
    rows = sets.count.sum()
    if len(mass) > MOST_ATOMS or rows <= sets.prior.sum():
        return np.asarray(1 / np.sqrt(mass))[:, None]
    part = np.zeros((len(sets.count), len(mass)))
    owner = np.repeat(np.arange(len(sets.count)), np.diff(sets.start))
    part[owner, sets.atom] = mass[sets.atom] * (1.0 if sets.weight is None else sets.weight)
    part /= part.sum(axis=1, keepdims=True)
    part -= sets.count @ part / rows
    part *= np.sqrt(sets.count)[:, None]
    curvature, axis = np.linalg.eigh(part.T @ part + np.diag(sets.prior))
    return np.ascontiguousarray(axis / np.sqrt(np.maximum(curvature, sets.prior.min())) @ axis.T)


def _atoms(regions: Regions, used: Ints) -> tuple[Ints, Ints, Ints]:
    """(codes,) the atom of each code, and for every region (unused ones are empty) its atoms, growing."""
    owner, code = regions.listed(used)
    order = np.lexsort((owner, code))
    start = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=regions.codes))]).astype(np.int64)
    atom = rank_sequences(start, owner[order].astype(np.int64))
    pair = np.unique(used[owner] * (int(atom.max()) + 1) + atom[code])
    region, member = pair // (int(atom.max()) + 1), pair % (int(atom.max()) + 1)
    region_start = np.concatenate([[0], np.cumsum(np.bincount(region, minlength=len(regions)))]).astype(np.int64)
    return atom, region_start, member
