"""Weights averaged over a posterior, the beliefs they make, and whether the chains behind them agree."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.belief import Belief, Diagnostics, Threat

__all__ = ["BATCHES", "Averages", "belief_of", "diagnostics", "shares", "watched"]

BATCHES = 50
ERROR_OF_MOST, ERROR_OF_ALL, MANY = 0.003, 0.02, 1000  # the stated precision: for 99% of beliefs, for all
MOST_WATCHED = 2000  # targets whose beliefs are kept by batch, to see whether chains agree


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """Weights averaged over the posterior; of some targets also batch by batch, to judge the chains by."""

    mean: NDArray[np.float64]  # (chains, targets, values); one chain if it is exact
    batches: NDArray[np.float64]  # (batches, chains, watched targets, values)

    def mixed(self, other: "Averages", share: NDArray[np.float64]) -> "Averages":
        """`share` (targets,) of these beliefs, the rest of the other's."""
        few = share[watched(len(share))][:, None]
        mine, theirs = shares(self.mean), shares(other.mean)
        return Averages(
            share[:, None] * mine + (1 - share[:, None]) * theirs,
            few * shares(self.batches) + (1 - few) * shares(other.batches),
        )


def watched(targets: int) -> NDArray[np.int64]:
    """The targets that are watched: all, or a fixed random choice."""
    if targets <= MOST_WATCHED:
        return np.arange(targets)
    return np.sort(np.random.Generator(np.random.PCG64(targets)).choice(targets, MOST_WATCHED, replace=False))


def shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights (..., values) as distributions; without any weight, uniform."""
    total = weights.sum(axis=-1, keepdims=True)
    even = np.full_like(weights, 1 / weights.shape[-1])
    return np.asarray(np.divide(weights, total, out=even, where=total > 0))


def belief_of(averages: Averages, method: str, threat: Threat) -> Belief:
    """Weights are averaged first and normalised last: normalising each draw is wrong (7/12 comes out as .562)."""
    chains = shares(averages.mean) if len(averages.mean) > 1 else None
    found = diagnostics(method, shares(averages.batches), chains)
    return Belief(shares(averages.mean.mean(axis=0)), chains=chains, diagnostics=found, threat=threat)


def diagnostics(method: str, batches: NDArray[np.float64], chains: NDArray[np.float64] | None) -> Diagnostics:
    """Agreement of chains, from batch means (batches, chains, watched targets, values) and chain means of all."""
    if chains is None:
        return Diagnostics(method)
    error = chains.std(axis=0, ddof=1).max(axis=1, initial=0.0) / np.sqrt(len(chains))
    spread = (chains.max(axis=0) - chains.min(axis=0)).max(axis=1, initial=0.0)
    facts: dict[str, float | str] = {
        "chains": float(len(chains)),
        "error_q99": float(np.quantile(error, 0.99)) if len(error) else 0.0,
        "error_max": float(error.max(initial=0.0)),
        "disagreement_q99": float(np.quantile(spread, 0.99)) if len(spread) else 0.0,
    }
    few = len(error) < MANY  # then all must be as sure as 99% of many
    most, all_of_them = np.quantile(error, 0.99) if len(error) else 0.0, error.max(initial=0.0)
    precise = bool(all_of_them <= ERROR_OF_MOST if few else most <= ERROR_OF_MOST and all_of_them <= ERROR_OF_ALL)
    if len(batches) < 4:  # only the chains' means are there: far apart is far apart
        return Diagnostics(method, float(facts["disagreement_q99"]) <= 0.1, precise, facts)
    half = len(batches) // 2
    parts = np.concatenate([batches[:half], batches[half : 2 * half]], axis=1)  # (half, 2 chains, watched, values)
    within = parts.var(axis=0, ddof=1).mean(axis=0)
    between = parts.mean(axis=0).var(axis=0, ddof=1)
    # A chain that never moves has no spread of its own: where chains stand still apart, the ratio must be large.
    ratio = np.sqrt((half - 1) / half + between / np.maximum(within, 1e-10))
    worst = ratio.max(axis=1, initial=0.0)
    apart = float((worst > 1.1).mean())
    facts |= {"r_hat_share_above_1.1": apart, "r_hat_max": float(worst.max(initial=0.0)), "watched": float(len(worst))}
    return Diagnostics(method, not (apart > 0.05 and float(facts["disagreement_q99"]) > 0.1), precise, facts)
