"""Fixed prior: a belief about the population given beforehand, and no learning from the release."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers._averages import belief_of
from unveil.attackers._fits import check_targets
from unveil.attackers._hidden import Draw, HiddenModel, start_values, sweep_on
from unveil.attackers._hidden_posterior import averages_of
from unveil.attackers._hidden_terms import support_term
from unveil.attackers._posterior import check_prior
from unveil.attackers._weigh import refuse_misfits
from unveil.belief import Belief, Prior, Targets, Threat, describe_targets
from unveil.engine import Engine
from unveil.kernels import matching
from unveil.release import Release

__all__ = ["FixedPrior"]

CHAINS, BURN_IN, KEPT = 4, 100, 50  # where a group is too large to be matched exactly: burn-in in sweeps of swaps
KEPT_BY_ROW = 1000  # where withheld values are drawn one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPrior:
    """Rows come independently from a known population, the prior's means (Kifer 2009, section 3: the i.i.d. model).

    Worlds that fit the release are weighted by that population; nothing is learned about it. With a uniform prior
    this is random worlds.
    """

    def attack(self, release: Release, targets: Targets, prior: Prior, engine: Engine) -> Belief:
        """Cost: one matching of every group, and one pass over the pairs of a target and a fitting cell."""
        check_targets(release, targets)
        check_prior(release, targets.asked, prior)
        distinct, number = targets.distinct()
        model = HiddenModel.of(release, targets.asked, prior)
        theta = {i: prior.shares(i) for i in prior.beta}
        pi = prior.alpha / prior.alpha.sum()
        states = _states(model, theta, pi, engine.named("fixed prior"))
        found = averages_of(support_term(model, distinct), states, engine.workers)
        refuse_misfits(distinct, found.mean.mean(axis=0), number)
        threat = Threat(
            target=describe_targets(release, targets),
            group="known" if targets.group is not None else "not known",
            population=f"known beforehand ({prior.source}), nothing is learned" + prior.ties(release),
        )
        method = "matchings and withheld values drawn" if model.withheld.by_row else "the largest groups by swaps"
        return belief_of(found, "exact" if len(states) == 1 else method, threat).of(number)


def _states(
    model: HiddenModel, theta: dict[int, NDArray[np.float64]], pi: NDArray[np.float64], engine: Engine
) -> tuple[list[Draw], ...]:
    """One state where every group is matched exactly; else chains of swaps at these parameters."""
    if model.withheld.by_row:
        return _by_row(model, theta, pi, engine)
    exact = all(matching.exact(block.groups).all() for block in model.hidden)
    none = np.empty(0, dtype=np.int64)
    weights = [] if exact else [model.weights(block, model.log_shares(theta), pi, none) for block in model.hidden]
    chains = []
    for chain in range(1 if exact else CHAINS):
        random = engine.named(f"chain {chain}").generator()
        partners = [np.zeros(int(block.groups.row_start[-1]), dtype=np.int32) for block in model.hidden]
        for block, partner in zip(model.hidden, partners, strict=True):
            matching.start_matching(block.groups, 0, len(block.groups.method), _key(random), partner)
        kept = []
        for state in range(1 if exact else KEPT):
            rounds = matching.ROUNDS * (BURN_IN if not state else 1)
            for block, partner, (log_weight, weight) in zip(model.hidden, partners, weights, strict=not exact):
                matching.marginals(block.groups, weight, log_weight, _key(random), partner, rounds=rounds)
            kept.append(Draw(theta, theta, pi, pi, tuple(p.copy() for p in partners), _key(random), none))
        chains.append(kept)
    return tuple(chains)


def _by_row(
    model: HiddenModel, theta: dict[int, NDArray[np.float64]], pi: NDArray[np.float64], engine: Engine
) -> tuple[list[Draw], ...]:
    """Chains of matchings and withheld values at these parameters; what a sweep learns of them is not used."""
    chains = []
    for chain in range(CHAINS):
        random = engine.named(f"chain {chain}").generator()
        current = start_values(model, random)
        phi = {i: model.prior.beta[i] / model.prior.beta[i].sum(axis=1, keepdims=True) for i in model.centres}
        partners = [np.zeros(int(block.groups.row_start[-1]), dtype=np.int32) for block in model.hidden]
        for block, partner in zip(model.hidden, partners, strict=True):
            matching.start_matching(block.groups, 0, len(block.groups.method), _key(random), partner)
        kept = []
        for state in range(BURN_IN + KEPT_BY_ROW):
            keys = _key(random), _key(random)
            *_, current, _ = sweep_on(model, theta, phi, pi, partners, current, keys, np.uint64(0), 1.0)
            if state >= BURN_IN:
                kept.append(Draw(theta, theta, pi, pi, tuple(p.copy() for p in partners), keys[0], current))
        chains.append(kept)
    return tuple(chains)


def _key(random: np.random.Generator) -> np.uint64:
    return random.integers(0, 2**64, dtype=np.uint64)
