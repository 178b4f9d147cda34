"""The posterior where values stand beside their cells: each attribute on its own, exactly or by chains."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import Averages, BatchMeans, DistinctTargets, watched
from unveil.attackers.posterior.checkpoint import Arrays, Checkpoint
from unveil.attackers.posterior.control import ControlVariates
from unveil.attackers.posterior.convergence import BATCHES, Chains, geweke
from unveil.attackers.posterior.draws import LinkedDraws, average_over
from unveil.attackers.posterior.fits import Fitted, check_targets, held_values, knowledge_likelihood
from unveil.attackers.posterior.linked import AttributePosterior
from unveil.attackers.posterior.linked_support import LinkedSupport
from unveil.attackers.posterior.share_chains import ShareChains
from unveil.data.belief import Prior, Targets
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import Stopped, UsageError

__all__ = ["LinkedPosterior"]

TASK = "learning from overlapping regions"
MOST_NUMBERS = 200_000_000  # of all batches of all attributes: 800 MB
MOST_SPREAD_OUT = 60_000_000  # of some batches of one attribute, looked at together
LEAST_COUNT = 0.5  # pseudo-counts with which chains over overlapping regions are believed
FEWEST = 16  # batches, or they say nothing of whether chains agree: then two, as few as can be merged


@dataclass(slots=True, eq=False)
class LinkedPosterior:
    """Per attribute a tree, or chains that can be drawn on."""

    release: Release
    asked: int
    prior: Prior
    value_share: NDArray[np.float64]  # (values,)
    attributes: dict[int, AttributePosterior]
    engine: Engine
    settings: Chains
    saved: Checkpoint | None = None
    draws: LinkedDraws | None = None  # for readers whom means do not serve; nothing is drawn before it is asked for
    conditioned: bool = False  # whether it was
    goal: int = 0  # batches of each chain at the end of a round
    drawn: int = 0  # sweeps of each chain in all rounds
    disagreed: int = 0  # rounds after which chains did not agree
    burned: set[tuple[int, int, int]] = field(default_factory=set)  # (attribute, chain, value) past burn-in
    distinct: DistinctTargets = field(default_factory=lambda: DistinctTargets(most=8))
    chains: int = field(init=False)  # how many there are; 1 if all is exact

    def __post_init__(self) -> None:
        self.chains = max((a.chains for a in self.attributes.values()), default=1)

    @property
    def reusable(self) -> bool:
        """See Posterior: all there is to know is in the counts and the chains' means."""
        return True

    def samplers(self) -> dict[int, ShareChains]:
        """By attribute: the chains of those that have no tree for some value."""
        return {i: a.sampler for i, a in self.attributes.items() if a.sampler is not None and a.sampler.running}

    def run(self) -> None:
        """The first round."""
        samplers = self.samplers()
        if not samplers:
            return
        self.goal = _batches(samplers.values(), self.settings.sweeps)
        for sampler in samplers.values():
            sampler.size = max(self.settings.sweeps // self.goal, 1)
        self.drawn = self.goal * next(iter(samplers.values())).size
        if self.saved is not None:
            self._restore(self.saved.load())
        self._round()

    def run_on(self, *, agree: bool, times: float = 2.0) -> bool:
        """See Posterior. Batches are merged two by two first, so that there are never more than at the end."""
        samplers = self.samplers()
        self.disagreed += not agree
        if self.conditioned and self.draws is not None and not self.engine.stop.is_set():
            if 2 * self.draws.sweeps > self.settings.most_sweeps:
                return False
            self.draws = replace(self.draws, sweeps=2 * self.draws.sweeps)
            if not samplers:
                return True
        longer = False
        for _ in range(max(int(np.log2(times)), 1)):
            ahead = self.goal * next((s.size for s in samplers.values()), 0)  # as much again
            if not samplers or self.engine.stop.is_set() or self.drawn + ahead > self.settings.most_sweeps:
                break
            for sampler in samplers.values():
                sampler.merge()
            self.drawn += ahead
            self._round()
            longer = True
        return longer

    def _round(self) -> None:
        """Every chain to its goal of batches."""
        samplers = self.samplers()
        tasks = [(i, task) for i, sampler in samplers.items() for task in sampler.tasks()]
        total = len(tasks) * self.goal
        lock, done = Lock(), [sum(len(c.share) for s in samplers.values() for c in s.running.values())]

        def run(which: tuple[int, tuple[int, int]]) -> None:
            index, task = which
            sampler = samplers[index]
            if (index, *task) not in self.burned and not self.engine.stop.is_set():
                sampler.burn_in(task, max(self.settings.sweeps // 5, 50))
                with lock:
                    self.burned.add((index, *task))
            while len(sampler.running[task].share) < self.goal and not self.engine.stop.is_set():
                drawn = sampler.draw_batches(task, self.goal - len(sampler.running[task].share))
                with lock:
                    done[0] += drawn
                    self.engine.report(TASK, done[0], total)

        with ThreadPoolExecutor(self.engine.workers) as pool:
            list(pool.map(run, tasks))
        if self.saved is not None:
            self.saved.save(self._arrays())

    def finish(self, *, done: bool) -> None:
        """See Posterior."""
        if self.saved is not None and done:
            self.saved.remove()

    def batches(self) -> int:
        """Batches that all chains have; 0 if all is exact."""
        found = min((s.batches for s in self.samplers().values()), default=0)
        if self.samplers() and not found:
            raise Stopped("stopped before anything was learned")
        return found

    def joint(self, targets: Targets) -> Averages:
        """See Posterior."""
        targets, number = self.distinct.of(targets)
        mean = self.joint_mean(targets)
        few = targets.take(watched(targets.count, len(self.value_share)))
        batches = self.batches()
        watching = self._joint(few, batches) if batches else mean[None, :, :0]
        return Averages(mean, watching, self.settings.precision, number)

    def joint_mean(self, targets: Targets) -> NDArray[np.float64]:
        """See Posterior."""
        check_targets(self.release, targets)
        self.batches()  # are there any?
        return np.asarray(self._joint(targets, None)[0])

    def _joint(self, targets: Targets, batches: int | None) -> NDArray[np.float64]:
        """(batches, chains, targets, values), of the first `batches`; None: one, of all draws."""
        weights = np.empty((batches or 1, self.chains, targets.count, len(self.value_share)))
        weights[:] = self.value_share
        for index, known in targets.known.items():
            owner, listed = known.regions.listed(np.arange(len(known.regions)))
            codes, place = np.unique(listed, return_inverse=True)  # few people are watched, and few codes known of them
            regions = Regions.pairs(len(codes), owner, place, len(known.regions))
            some = max(MOST_SPREAD_OUT // (self.chains * len(self.value_share) * max(len(codes), 1)), 1)
            for start in range(0, len(weights), some):
                these = None if batches is None else range(start, min(start + some, batches))
                factor = knowledge_likelihood(self.attributes[index].shares(these, codes), known, (codes, regions))
                for batch, weight in enumerate(weights[start : start + some]):  # one by one: what is multiplied is near
                    weight *= factor[min(batch, len(factor) - 1)][:, known.of_target]
        return weights

    def shares(self, index: int) -> NDArray[np.float64]:
        """(chains, values, codes) mean shares of an attribute's codes given each value."""
        found = self.attributes[index]
        return np.broadcast_to(found.shares()[0], (self.chains, *found.tree.shape))

    def support(self, targets: Targets) -> Averages:
        """See Posterior."""
        targets, number = self.distinct.of(targets)
        batches = self.batches()
        fitted = Fitted.of(self.release, targets, merged=True)
        mean = self._support(fitted, None)[0]
        if not batches:
            return Averages(mean, mean[None, :, :0], self.settings.precision, number)
        few = watched(targets.count, len(self.value_share))
        if len(few) < targets.count:
            fitted = Fitted.of(self.release, targets.take(few), merged=True)
        return Averages(mean, self._support(fitted, batches), self.settings.precision, number)

    def conditional(self, targets: Targets) -> Averages:
        """See Posterior."""
        targets, number = self.distinct.of(targets)
        check_targets(self.release, targets)
        if self.draws is None:
            raise UsageError("conditional_learner needs a posterior that can be drawn from, not a mode")
        self.conditioned = True
        return replace(average_over(self.draws, targets), precision=self.settings.precision, number=number)

    def _support(self, fitted: Fitted, batches: int | None) -> NDArray[np.float64]:
        """(batches, chains, targets, values), of the first `batches`; None: one, of all draws."""
        quick = LinkedSupport.of(self.release, fitted, self.attributes, self.chains)
        if quick is not None:
            return quick.weights(batches)
        each = [None] if batches is None else range(batches)
        return np.stack([self._support_of(fitted, batch) for batch in each])

    def _support_of(self, fitted: Fitted, batch: int | None) -> NDArray[np.float64]:
        held = held_values(self.release, self.asked, fitted.block)
        matched = {}
        for place, _ in fitted.others:  # a group has one cell, or one value
            block = self.release.blocks[place]
            matched[place] = (block.count / self.release.sizes[block.group])[:, None]
        tables = {i: self.attributes[i].likelihood(o, batch) for i, o in fitted.overlaps().items()}
        found = []
        for chain in range(self.chains):
            likelihood = {i: table[min(chain, len(table) - 1)] for i, table in tables.items()}
            found.append(fitted.weights(likelihood, matched, held))
        return np.stack(found)

    def method(self) -> str:
        """See Posterior."""
        sampled = [self.release.attributes[i].name for i in self.samplers()]
        return f"sampled on counts: {', '.join(sampled)}" if sampled else "exact"

    def facts(self) -> dict[str, float | str]:
        """See Posterior."""
        samplers = self.samplers()
        if not samplers:
            return {}
        beyond = [
            np.abs(geweke(chain.share.stacked(len(chain.share)))) > 2
            for sampler in samplers.values()
            for chain in sampler.running.values()
            if len(chain.share) >= FEWEST
        ]
        facts: dict[str, float | str] = {"sweeps": float(self.drawn), "disagreed": float(self.disagreed)}
        if beyond:
            facts["geweke_share_beyond_2"] = float(np.concatenate(beyond).mean())
        return facts

    def alarm(self, starts: Sequence[Mapping[int, NDArray[np.float64]]] | None = None) -> str:
        """See Posterior: each attribute is sampled alone, and has one mode where pseudo-counts are 1 or more.

        Below a half intervals were seen to miss three to eight times too often, and no chain sees it.
        """
        least = min((float(self.prior.beta[index].min()) for index in self.samplers()), default=1.0)
        if least >= LEAST_COUNT:
            return ""
        return f"pseudo-counts of {least:g} let several readings of overlapping cells fit, and chains may miss some"

    def _arrays(self) -> Arrays:
        found: Arrays = {"goal": np.array(self.goal), "drawn": np.array(self.drawn)}
        for index, sampler in self.samplers().items():
            found[f"{index}/size"] = np.array(sampler.size)
            for (chain, value), one in sampler.running.items():
                name = f"{index}/{chain}/{value}"
                found[f"{name}/burned"] = np.array((index, chain, value) in self.burned)
                found |= {
                    f"{name}/x": one.x,
                    f"{name}/held": one.held,
                    f"{name}/step": np.array(one.step),
                    f"{name}/counter": np.array(one.counter),
                }
                kept = {"share": one.share, "ratio": one.ratio}
                if (aside := one.control) is not None:
                    kept["zero"] = aside.zero
                    sums = {"gram": aside.gram, "cross": aside.cross, "shares": aside.shares, "total": aside.total}
                    found |= {f"{name}/{what}": array for what, array in sums.items()}
                    found[f"{name}/draws"] = np.array(aside.draws)
                for what, means in kept.items():
                    if means.first is not None:
                        found |= {f"{name}/{what}": means.first, f"{name}/{what}/beyond": np.stack(means.beyond)}
        return found

    def _restore(self, arrays: Arrays | None) -> None:
        if arrays is None:
            return
        self.goal, self.drawn = int(arrays["goal"]), int(arrays["drawn"])
        for index, sampler in self.samplers().items():
            sampler.size = int(arrays[f"{index}/size"])
            for (chain, value), one in sampler.running.items():
                name = f"{index}/{chain}/{value}"
                if arrays[f"{name}/burned"]:
                    self.burned.add((index, chain, value))
                one.x, one.step = arrays[f"{name}/x"].copy(), float(arrays[f"{name}/step"])
                one.counter, one.held = np.uint64(arrays[f"{name}/counter"]), arrays[f"{name}/held"].copy()
                one.share, one.ratio, zero = (
                    BatchMeans(arrays.get(f"{name}/{what}"), list(arrays.get(f"{name}/{what}/beyond", ())))
                    for what in ("share", "ratio", "zero")
                )
                if one.control is not None:
                    gram, cross, shares, total = (
                        arrays[f"{name}/{what}"].copy() for what in ("gram", "cross", "shares", "total")
                    )
                    draws = int(arrays[f"{name}/draws"])
                    one.control = ControlVariates(one.control.centre, zero, gram, cross, shares, total, draws)


def _batches(samplers: Iterable[ShareChains], sweeps: int) -> int:
    """Batches of each chain, an even number: enough to say whether chains agree, or two where memory ends first."""
    samplers = list(samplers)
    room = MOST_NUMBERS // max(sum(s.numbers for s in samplers), 1)
    if room >= BATCHES:
        return BATCHES
    if room < FEWEST:
        return 2
    # As many as there is room for, but hardly a sweep left over.
    return next((n for n in range(room // 2 * 2, FEWEST, -2) if sweeps % n <= sweeps // 20), FEWEST)
