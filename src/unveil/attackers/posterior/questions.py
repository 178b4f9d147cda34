"""What is asked of the posterior of hidden links: means over the states of chains, and states that are kept."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import Averages, Running
from unveil.attackers.posterior.chain import Draw
from unveil.attackers.posterior.checkpoint import Arrays
from unveil.attackers.posterior.convergence import PRECISION
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.attackers.posterior.hidden_terms import Term
from unveil.attackers.posterior.parameters import Layout
from unveil.data.belief import Prior, Targets
from unveil.data.release import Release
from unveil.errors import Stopped

__all__ = ["HiddenAnswers", "NotDrawn", "Question", "ThinnedStates", "add_state", "averages_of"]


class NotDrawn:
    """A posterior without chains: nothing can be drawn on, and nothing can have been missed."""

    __slots__ = ()

    def run_on(self, *, agree: bool, times: float = 2.0) -> bool:
        """See Posterior."""
        return False

    def facts(self) -> dict[str, float | str]:
        """See Posterior."""
        return {}

    def alarm(self, starts: Sequence[Mapping[int, NDArray[np.float64]]] | None = None) -> str:
        """See Posterior."""
        return ""

    def finish(self, *, done: bool) -> None:
        """See Posterior."""


class HiddenAnswers:
    """What every posterior of hidden links says in the same way, however it was reached."""

    __slots__ = ()
    model: HiddenModel

    @property
    def release(self) -> Release:
        """The release it was learned from."""
        return self.model.release

    @property
    def prior(self) -> Prior:
        """What was held before."""
        return self.model.prior

    def joint(self, targets: Targets) -> Averages:
        """See Posterior."""
        return self._of_everyone("joint", targets)

    def support(self, targets: Targets) -> Averages:
        """See Posterior."""
        return self._of_everyone("support", targets)

    def _of_everyone(self, kind: str, targets: Targets) -> Averages:
        raise NotImplementedError


@dataclass(slots=True, eq=False)
class Question:
    """Something asked of every state: the term whose mean is wanted, and its running means, one a chain."""

    kind: str
    targets: Targets
    term: Term
    running: list[Running]

    def averages(self, precision: float) -> Averages:
        """What the chains say so far."""
        return _averages(self.term, self.running, precision)

    def arrays(self, chain: int, at: str) -> Arrays:
        """The running mean of one chain, to be saved."""
        running = self.running[chain]
        counts = [running.states, running.size, running.in_part, len(running.batches)]
        found: Arrays = {f"{at}/counts": np.array(counts)}
        if running.total is not None:
            found[f"{at}/total"] = running.total
        if running.part is not None:
            found[f"{at}/part"] = running.part
        if running.batches:
            found[f"{at}/batches"] = np.stack(running.batches)
        return found

    def restore(self, chain: int, arrays: Arrays, at: str) -> None:
        """The running mean of one chain, as it was saved."""
        states, size, in_part, _ = arrays[f"{at}/counts"].tolist()
        total, part = (_floats(arrays.get(f"{at}/{name}")) for name in ("total", "part"))
        self.running[chain] = Running(states, total, size, part, in_part, list(arrays.get(f"{at}/batches", ())))


@dataclass(slots=True, eq=False)
class ThinnedStates:
    """States of one chain, thinned as they come: between `most` and twice as many; none if `most` is 0."""

    most: int
    layout: Layout
    states: list[Draw] = field(default_factory=list)
    seen: int = 0
    every: int = 1

    def add(self, draw: Draw) -> None:
        """One more state."""
        self.seen += 1
        if self.most and self.seen % self.every == 0:
            theta = self.layout.keep(draw.theta)  # one and the same as its mean: see `conditional_term`
            mean = theta if draw.mean is draw.theta else self.layout.keep(draw.mean)
            self.states.append(replace(draw, theta=theta, mean=mean, weights=None, expected=None, reckoned={}))
        if self.states and len(self.states) == 2 * self.most:
            self.states, self.every = self.states[1::2], 2 * self.every

    def arrays(self, at: str) -> Arrays:
        """One array for each part of a state, not one for each state: files of thousands of arrays are slow."""
        found = {f"{at}/kept": np.array([self.most, self.seen, self.every, len(self.states)])}
        if not self.states:
            return found
        for name in ("pi", "pi_mean", "key", "current"):
            found[f"{at}/states/{name}"] = np.stack([getattr(draw, name) for draw in self.states])
        for name in ("theta", "mean"):
            found[f"{at}/states/{name}"] = np.stack([getattr(draw, name).flat for draw in self.states])
        for block, partner in enumerate(zip(*(draw.partner for draw in self.states), strict=True)):
            found[f"{at}/states/partner/{block}"] = np.stack(partner)
        return found

    @classmethod
    def of_arrays(cls, model: HiddenModel, arrays: Arrays, at: str) -> "ThinnedStates":
        """As they were saved."""
        most, seen, every, states = arrays[f"{at}/kept"].tolist()
        found = cls(most, model.layout, [], seen, every)
        saved = f"{at}/states"
        for state in range(states):
            theta, mean = (model.layout.read(arrays[f"{saved}/{name}"][state]) for name in ("theta", "mean"))
            partner = tuple(arrays[f"{saved}/partner/{b}"][state] for b in range(len(model.hidden)))
            pi, pi_mean, key, current = (arrays[f"{saved}/{n}"][state] for n in ("pi", "pi_mean", "key", "current"))
            found.states.append(Draw(theta, mean, pi, pi_mean, partner, np.uint64(key), current))
        return found


def add_state(term: Term, running: Running, draw: Draw) -> None:
    """One more state into the mean of a term."""
    term.add(draw, running.room(term.shape))
    full = running.added()
    if full is not None:
        running.close(term.few(full))


def averages_of(term: Term, chains: Sequence[Sequence[Draw]], workers: int, precision: float = PRECISION) -> Averages:
    """The mean of a term over the states of each chain, chains side by side."""

    def one(states: Sequence[Draw]) -> Running:
        running = Running()
        for draw in states:
            theta = draw.theta.whole()  # once for all attributes
            mean = theta if draw.mean is draw.theta else draw.mean.whole()
            add_state(term, running, replace(draw, theta=theta, mean=mean))
        return running

    with ThreadPoolExecutor(workers) as pool:
        return _averages(term, list(pool.map(one, chains)), precision)


def _averages(term: Term, running: Sequence[Running], precision: float) -> Averages:
    means = [mean for r in running if (mean := r.mean()) is not None and r.states]
    if len(means) < len(running):
        raise Stopped("stopped before anything was learned")
    mean = np.stack([term.weights(found) for found in means])
    count = min(len(r.batches) for r in running)
    return Averages(mean, np.stack([np.stack(r.batches[-count:]) for r in running], axis=1), precision)


def _floats(array: NDArray[Any] | None) -> NDArray[np.float64] | None:
    return None if array is None else np.array(array, dtype=np.float64)
