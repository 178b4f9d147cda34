"""The posterior by integration over a grid, where a release hides links of so few parameters that chains cost more.

Two sensitive values and one matched attribute of two codes have two parameters. Matchings are summed out (see
`Likelihood`), so that every mode has its exact weight; the grid is refined until the posterior no longer changes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import Averages, DistinctTargets
from unveil.attackers.posterior.averages import shares as shares_of
from unveil.attackers.posterior.chain import Draw
from unveil.attackers.posterior.chain_facts import Reading, parted, readings_in_words
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.attackers.posterior.hidden_terms import Term, joint_term, support_term
from unveil.attackers.posterior.questions import HiddenAnswers, NotDrawn
from unveil.attackers.posterior.tempering import Likelihood
from unveil.data.belief import Targets
from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.kernels.tempering import log_likelihoods

__all__ = ["IntegratedPosterior", "integrated_posterior"]

NODES = (24, 36, 54, 80, 120, 180, 270)  # of an axis
SAME = 1e-8  # of evidence and moments of two grids, one after the other
LEAST = 1e-12  # of the largest weight: nodes below count for nothing
MOST_KEPT = 4000  # nodes: beyond them chains are cheaper
SMOOTH = 0.5  # pseudo-counts from which the density has no pole on the grid's axes
STATES = 400  # drawn from the nodes, to see whether they lie in two places
KINDS = {"joint": joint_term, "support": support_term}

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class IntegratedPosterior(NotDrawn, HiddenAnswers):
    """Places of the parameters with their weights: every place has its own, so no start can find another."""

    model: HiddenModel
    engine: Engine
    nodes: tuple[Draw, ...]
    weight: Floats  # (nodes,)
    grid: int  # nodes of an axis
    distinct: DistinctTargets = field(default_factory=DistinctTargets)
    found: dict[tuple[str, int], tuple[Targets, Floats]] = field(default_factory=dict)
    reusable: bool = True

    def joint_mean(self, targets: Targets) -> Floats:
        """See Posterior."""
        distinct, _ = self.distinct.of(targets)
        return self._mean("joint", distinct)[None]

    def conditional(self, targets: Targets) -> Averages:
        """See Posterior."""
        raise NotApplicable("conditional_learner was not asked from the start: ask it together with the others")

    def _of_everyone(self, kind: str, targets: Targets) -> Averages:
        distinct, number = self.distinct.of(targets)
        mean = self._mean(kind, distinct)[None]
        return Averages(mean, mean[None, :, :0], number=number)

    def _mean(self, kind: str, targets: Targets) -> Floats:
        key = kind, id(targets)
        if key not in self.found:
            term = KINDS[kind](self.model, targets)
            self.found[key] = targets, term.weights(_weighed(term, self.nodes, self.weight))
        return self.found[key][1]

    def method(self) -> str:
        """See Posterior."""
        return "integrated"

    def readings(self, targets: Targets) -> list[Reading]:
        """Readings of the release that differ, the likeliest first, and what each alone would have one believe."""
        at = np.searchsorted(np.cumsum(self.weight), (np.arange(STATES) + 0.5) / STATES)
        states = [self.nodes[i] for i in np.minimum(at, len(self.nodes) - 1).tolist()]
        term = support_term(self.model, targets)
        found = []
        for weight, part in parted(self.model, states):
            found.append(
                Reading(weight, shares_of(term.weights(_weighed(term, part, np.full(len(part), 1 / len(part))))))
            )
        return found

    def facts(self) -> dict[str, float | str]:
        """See Posterior."""
        facts: dict[str, float | str] = {"grid": float(self.grid)}
        asked = next((targets for (kind, _), (targets, _) in self.found.items() if kind == "support"), None)
        if asked is not None and asked.count:
            said = readings_in_words(self.readings(asked))
            facts |= {"readings": said} if said else {}
        return facts


def integrated_posterior(
    model: HiddenModel, engine: Engine, questions: Sequence[tuple[str, Targets]]
) -> IntegratedPosterior | None:
    """None where there are more than two parameters, poles, or so many nodes that chains are cheaper."""
    held = np.flatnonzero(model.value_counts).tolist()
    matched = np.flatnonzero(model.matched).tolist()
    layout = model.layout
    if (
        not model.closed
        or len(held) != 2
        or len(matched) != 1
        or layout.shape[matched[0]][1] != 2
        or layout.kernels
        or any(kind not in KINDS for kind, _ in questions)
        or any((model.release.regions[i].sizes > 1).any() for i in layout.attributes)
    ):
        return None
    span = slice(layout.place[matched[0]], layout.place[matched[0] + 1])
    beta = layout.beta[span].reshape(-1, 2)[held]
    if beta.min() < SMOOTH:
        return None
    middle, likelihood = _middle(model), Likelihood.of(model)
    before = np.full(6, np.nan)
    for count in NODES:
        place, log_prior = _grid(beta, count)
        drawn = np.repeat(middle[None], len(place), axis=0)
        table = drawn[:, span].reshape(len(place), -1, 2)
        table[:, held] = np.stack([1 - place, place], axis=2)
        drawn[:, span] = table.reshape(len(place), -1)
        log_weight = log_prior + _log_likelihoods(likelihood, drawn)
        weight = np.exp(log_weight - log_weight.max())
        evidence = math.log(weight.sum()) + float(log_weight.max())
        weight /= weight.sum()
        now = np.array([evidence, *(weight @ place), *(weight @ place**2), weight @ (place[:, 0] * place[:, 1])])
        if (np.abs(now - before) < SAME).all():
            kept = np.flatnonzero(weight > LEAST * weight.max())
            if len(kept) > MOST_KEPT:
                return None
            return IntegratedPosterior(model, engine, _draws(model, drawn[kept]), _one(weight[kept]), count)
        before = now
    return None


def _one(weight: Floats) -> Floats:
    return np.asarray(weight / weight.sum())


def _middle(model: HiddenModel) -> Floats:
    """The mean of every share that no matching touches, given what stands beside the values."""
    layout = model.layout
    found = layout.split(layout.beta.copy())
    for number, index in enumerate(layout.attributes):
        rows = slice(layout.row[number], layout.row[number + 1])
        code = model.release.regions[index].single()
        np.add.at(found[index].T, code, model.own_counts[rows])
        found[index][:] /= found[index].sum(axis=1, keepdims=True)
    return found.flat


def _grid(beta: Floats, count: int) -> tuple[Floats, Floats]:
    """(nodes, 2) shares of the second code given either value, and the logarithm of prior times volume.

    In angles, t = sin², where the density of t^(b - 1) is smooth for pseudo-counts of a half or more.
    """
    at, width = np.polynomial.legendre.leggauss(count)
    angle, width = (at + 1) * math.pi / 4, width * math.pi / 4
    share = np.sin(angle) ** 2
    log_one = np.stack(
        [(2 * b1 - 1) * np.log(np.sin(angle)) + (2 * b0 - 1) * np.log(np.cos(angle)) + np.log(width) for b0, b1 in beta]
    )
    first, second = (axis.ravel() for axis in np.meshgrid(share, share, indexing="ij"))
    return np.stack([first, second], axis=1), (log_one[0][:, None] + log_one[1][None, :]).ravel()


def _log_likelihoods(likelihood: Likelihood, drawn: Floats) -> Floats:
    """(nodes,) of parameters (nodes, numbers)."""
    total = np.zeros(len(drawn))
    for call in likelihood.calls:
        log_likelihoods(drawn, likelihood.model.power(1.0), total, *call)
    return total


def _draws(model: HiddenModel, drawn: Floats) -> tuple[Draw, ...]:
    pi = model.prior.alpha + model.value_counts
    pi = pi / pi.sum()
    none, key = np.empty(0, dtype=np.int64), np.uint64(0)
    partner = tuple(np.zeros(int(block.groups.row_start[-1]), dtype=np.int32) for block in model.hidden)
    found = []
    for flat in drawn:
        theta = model.layout.split(flat)
        found.append(Draw(theta, theta, pi, pi, partner, key, none))
    return tuple(found)


def _weighed(term: Term, nodes: Sequence[Draw], weight: Floats) -> Floats:
    total = np.zeros(term.shape)
    for node, share in zip(nodes, weight.tolist(), strict=True):
        here = np.zeros(term.shape)
        term.add(node, here)
        total += share * here
    return total
