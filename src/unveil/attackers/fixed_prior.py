"""Fixed prior: a belief about the population given beforehand, and no learning from the release."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import Averages, belief_of
from unveil.attackers.posterior.chain import Draw, start_values, sweep_on
from unveil.attackers.posterior.contract import Posterior
from unveil.attackers.posterior.fits import check_targets, knowledge_likelihood, refuse_misfits
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.attackers.posterior.hidden_terms import support_term
from unveil.attackers.posterior.parameters import Shares
from unveil.attackers.posterior.questions import averages_of
from unveil.data.belief import Belief, Targets, Threat, describe_targets
from unveil.data.release import Release, example_rows, row_numbers
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.kernels import matching

__all__ = ["FixedPrior"]

CHAINS, BURN_IN, KEPT = 4, 100, 50  # where a group is too large to be matched exactly: burn-in in sweeps of swaps
KEPT_BY_ROW = 1000  # where withheld values are drawn one by one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FixedPrior:
    """Rows come independently from a known population, the prior's means (Kifer 2009, section 3: the i.i.d. model).

    Worlds that fit the release are weighted by that population; nothing is learned about it. With a uniform prior
    this is random worlds. With `own` (targets, values) each target has a distribution of its own (the
    tuple-independent model), everybody else's is the population's.
    """

    own: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        own = self.own
        if own is None:
            return
        if own.ndim != 2 or not np.isfinite(own).all() or (own < 0).any() or (np.abs(own.sum(axis=1) - 1) > 1e-6).any():
            raise UsageError("the prior of each target must be a distribution: not negative, with sum 1")

    def asks(self) -> tuple[str, ...]:
        """See Attacker."""
        return ()

    def believe(self, posterior: Posterior, targets: Targets) -> Belief:
        """Cost: one matching of every group, and one pass over the pairs of a target and a fitting cell."""
        release, prior = posterior.release, posterior.prior
        check_targets(release, targets)
        distinct, number, own = self._distinct(release, targets)
        model = HiddenModel.of(release, targets.asked, prior)
        theta = model.layout.split(model.layout.join({i: prior.shares(i) for i in prior.beta}))
        pi = prior.alpha / prior.alpha.sum()
        states = _states(model, theta, pi, posterior.engine.named("fixed prior"))
        found = averages_of(support_term(model, distinct), states, posterior.engine.workers)
        refuse_misfits(distinct, found.mean.mean(axis=0), number)
        said = describe_targets(release, targets)
        if own is not None:
            found = _own(found, own, _log_expected(distinct, theta, pi))
            impossible = np.flatnonzero((found.mean.sum(axis=2) <= 0).any(axis=0)[number])
            if len(impossible):
                raise UsageError(
                    f"the prior of target {impossible[0] + 1} is ruled out by the release: no row that fits has a "
                    "value held possible"
                )
            said += ", and for each a belief of its own"
        threat = Threat(
            target=said,
            group="known" if targets.group is not None else "not known",
            population=f"known beforehand ({prior.source}), nothing is learned" + prior.ties(release),
        )
        method = "matchings and withheld values drawn" if model.withheld.by_row else "the largest groups by swaps"
        return belief_of(found, "exact" if len(states) == 1 else method, threat).of(number)

    def _distinct(
        self, release: Release, targets: Targets
    ) -> tuple[Targets, NDArray[np.int64], NDArray[np.float64] | None]:
        """Targets that differ, which of them each target is, and what is held of each of them."""
        distinct, number = targets.distinct()
        if self.own is None:
            return distinct, number, None
        if self.own.shape != (targets.count, release.attributes[targets.asked].codes):
            raise UsageError(
                f"the priors of the targets need {targets.count} rows of {release.attributes[targets.asked].codes} "
                f"values, not {len(self.own)} of {self.own.shape[1]}"
            )
        if targets.count:
            number = row_numbers([number, np.unique(self.own, axis=0, return_inverse=True)[1].reshape(-1)])
        first = example_rows(number)
        return targets.take(first), number, self.own[first]


def _log_expected(targets: Targets, theta: Shares, pi: NDArray[np.float64]) -> NDArray[np.float64]:
    """(targets, values) what the population alone says of a value together with what is known of the target."""
    found = np.repeat(np.log(pi)[None], targets.count, axis=0)
    for index, known in targets.known.items():
        found += np.log(knowledge_likelihood(theta[index], known))[known.of_target]
    return found


def _own(found: Averages, own: NDArray[np.float64], log_expected: NDArray[np.float64]) -> Averages:
    """The target's row comes from its own distribution instead of the population's: worlds change by that ratio."""
    least = np.where(own > 0, log_expected, np.inf).min(axis=1, keepdims=True)  # the largest ratio is scaled to 1
    return found.times(own * np.exp(np.minimum(least - log_expected, 0)))


def _states(model: HiddenModel, theta: Shares, pi: NDArray[np.float64], engine: Engine) -> tuple[list[Draw], ...]:
    """One state where every group is matched exactly; else chains of swaps at these parameters."""
    if model.withheld.by_row:
        return _by_row(model, theta, pi, engine)
    exact = all(matching.exact(block.groups).all() for block in model.hidden)
    none = np.empty(0, dtype=np.int64)
    weights = [] if exact else [model.weights(block, theta, pi, none) for block in model.hidden]
    chains = []
    for chain in range(1 if exact else CHAINS):
        random = engine.named(f"chain {chain}").generator()
        partners = [np.zeros(int(block.groups.row_start[-1]), dtype=np.int32) for block in model.hidden]
        for block, partner in zip(model.hidden, partners, strict=True):
            matching.start_matching(block.groups, 0, len(block.groups.method), _key(random), partner)
        kept = []
        for state in range(1 if exact else KEPT):
            rounds = matching.ROUNDS * (BURN_IN if not state else 1)
            for block, partner, found in zip(model.hidden, partners, weights, strict=not exact):
                matching.marginals(block.groups, found, _key(random), partner, rounds=rounds)
            kept.append(Draw(theta, theta, pi, pi, tuple(p.copy() for p in partners), _key(random), none))
        chains.append(kept)
    return tuple(chains)


def _by_row(model: HiddenModel, theta: Shares, pi: NDArray[np.float64], engine: Engine) -> tuple[list[Draw], ...]:
    """Chains of matchings and withheld values at these parameters; what a sweep learns of them is not used."""
    chains = []
    for chain in range(CHAINS):
        random = engine.named(f"chain {chain}").generator()
        current = start_values(model, random)
        drawn = model.layout.join({i: b / b.sum(axis=1, keepdims=True) for i, b in model.prior.beta.items()})
        partners = [np.zeros(int(block.groups.row_start[-1]), dtype=np.int32) for block in model.hidden]
        for block, partner in zip(model.hidden, partners, strict=True):
            matching.start_matching(block.groups, 0, len(block.groups.method), _key(random), partner)
        kept = []
        for state in range(BURN_IN + KEPT_BY_ROW):
            keys = _key(random), _key(random)
            *_, current, _ = sweep_on(model, theta, drawn, pi, partners, current, keys, np.uint64(0), 1.0, False)
            if state >= BURN_IN:
                kept.append(Draw(theta, theta, pi, pi, tuple(p.copy() for p in partners), keys[0], current))
        chains.append(kept)
    return tuple(chains)


def _key(random: np.random.Generator) -> np.uint64:
    return random.integers(0, 2**64, dtype=np.uint64)
