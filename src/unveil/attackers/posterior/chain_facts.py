"""What else there is to say of chains: tests of parameters and rows, how well each fits, and readings that differ."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.chain import Draw
from unveil.attackers.posterior.convergence import geweke, weiss
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.attackers.posterior.hidden_terms import chances
from unveil.engine import Engine
from unveil.kernels import matching

__all__ = ["Reading", "chain_facts", "count_of", "log_fit", "log_prior", "middle", "parted", "readings_in_words"]

MOST_STATES = 200  # of a chain, whose rows are looked at
MOST_ROWS = 2000
LEAST_STATES = 50
APART = 4.0  # standard deviations between two readings
MOST_CUTS = 3  # at a time
MOST_READ = 200  # states of a reading
NODES, ROUNDS = 8, 20  # of the path along which the fit of large groups is added up

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One of several ways to read a release that contradict each other."""

    weight: float  # its share of the posterior
    probability: Floats  # (targets, values) what it alone would have one believe


def parted(model: HiddenModel, states: Sequence[Draw]) -> list[tuple[float, list[Draw]]]:
    """States that lie apart from all others, with their shares, the largest part first; one part if all touch."""
    columns = np.repeat(model.matched, np.diff(model.layout.place))
    points = np.stack([state.theta.whole().flat[columns] for state in states])
    parts = _parts(points, np.arange(len(states)), max(len(states) // 50, 1))
    found = [(len(part) / len(states), [states[i] for i in part[:MOST_READ].tolist()]) for part in parts]
    return sorted(found, key=lambda one: -one[0])


def _parts(points: Floats, which: NDArray[np.intp], few: int) -> list[NDArray[np.intp]]:
    """Some points parted where they lie furthest apart, and their parts likewise. `few`: in each at least.

    Three modes in a row are two gaps: neither alone leaves parts that are narrow beside it.
    """
    if len(which) < 2 * few:
        return [which]
    here = points[which] - points[which].mean(axis=0)
    along = here @ np.linalg.svd(here, full_matrices=False)[2][0]
    order = np.argsort(along, kind="stable")
    cuts: list[int] = []
    for cut in (np.argsort(-np.diff(along[order]), kind="stable") + 1).tolist():
        if min(abs(cut - other) for other in (0, len(order), *cuts)) < few:
            continue
        cuts.append(cut)
        several = np.split(order, sorted(cuts))
        middle, spread = (np.array([of(along[part]) for part in several]) for of in (np.mean, np.std))
        if (np.diff(middle) > APART * np.maximum(spread[:-1], spread[1:])).all():
            return [part for some in several for part in _parts(points, which[some], few)]
        if len(cuts) == MOST_CUTS:
            break
    return [which]


def count_of(found: Sequence[Reading]) -> str:
    """How many readings, in words."""
    words = ("no", "one", "two", "three", "four", "five", "six")
    return words[len(found)] if len(found) < len(words) else str(len(found))


def readings_in_words(found: Sequence[Reading]) -> str:
    """Whether several readings of the release fit, and what each would say."""
    if len(found) < 2:
        return ""
    named = np.stack([reading.probability.argmax(axis=1) for reading in found])
    differ = float((named != named[0]).any(axis=0).mean())
    sure = " and ".join(f"{reading.probability.max(axis=1).mean():.0%}" for reading in found)
    weights = ", ".join(f"one with {reading.weight:.1%}" for reading in found[1:])
    return (
        f"{count_of(found)} readings of the release fit, one with {found[0].weight:.1%} of the posterior, {weights}; "
        f"they name different values for {differ:.0%} of the kinds of people asked about, and are {sure} sure on "
        "average; what is believed is their average"
    )


def chain_facts(model: HiddenModel, chains: Sequence[Sequence[Draw]], engine: Engine) -> dict[str, float | str]:
    """Share of parameters beyond 2 by Geweke, of rows below .05 by Weiss, and log f(t* | theta) of each chain."""
    facts: dict[str, float | str] = {}
    columns = model.values + len(model.withheld.rows)
    if min(len(states) for states in chains) >= LEAST_STATES:
        beyond = [(np.abs(geweke(_parameters(states))) > 2).mean() for states in chains]
        facts["geweke_share_beyond_2"] = float(np.mean(beyond))
        found = [weiss(_row_states(model, states, engine), columns) for states in chains] if model.hidden else []
        if found:
            facts["weiss_share_below_.05"] = float(np.mean([(p < 0.05).mean() for p in found]))
    for number, states in enumerate(chains, start=1):
        if states:
            fit, error = log_fit(model, middle(model, states), engine.named(f"fit {number}"))
            facts[f"log_fit_{number}"] = fit
            if error:
                facts[f"log_fit_{number}_error"] = error
    return facts


def middle(model: HiddenModel, states: Sequence[Draw]) -> Draw:
    """The mean of the parameters: a place that stands for the whole chain, where one state would be noise."""
    theta = model.layout.read(np.mean([d.mean.flat for d in states], axis=0)).whole()
    pi = np.mean([d.pi_mean for d in states], axis=0)
    return Draw(theta, theta, pi, pi, states[-1].partner, states[-1].key, states[-1].current)


def _parameters(states: Sequence[Draw]) -> Floats:
    """(states, parameters) theta and pi, flat."""
    return np.stack([np.concatenate([d.pi, d.theta.flat]) for d in states])


def _row_states(model: HiddenModel, states: Sequence[Draw], engine: Engine) -> NDArray[np.int64]:
    """(states, rows) the sensitive value of some rows of the first hidden block, drawn given each state."""
    block = model.hidden[0]
    random = engine.named("rows").generator()
    first = np.flatnonzero(np.diff(block.entry, prepend=-1))  # pairs are ordered by entry
    length = np.diff(np.append(first, len(block.entry)))
    chosen = np.sort(random.choice(len(first), min(MOST_ROWS, len(first)), replace=False))
    stop = np.cumsum(length[chosen])
    start = stop - length[chosen]
    pair = np.repeat(first[chosen] - start, length[chosen]) + np.arange(stop[-1])
    found = []
    for draw in states[:: max(len(states) // MOST_STATES, 1)]:
        whole = replace(draw, theta=draw.theta.whole())
        sums = np.cumsum((chances(model, block, whole) * block.rows)[pair])
        below = np.where(start > 0, sums[start - 1], 0.0)
        at = below + random.random(len(chosen)) * (sums[stop - 1] - below)
        found.append(block.column[pair[np.clip(np.searchsorted(sums, at, side="right"), start, stop - 1)]])
    return np.stack(found)


def log_fit(model: HiddenModel, draw: Draw, engine: Engine) -> tuple[float, float]:
    """log f(t* | theta) up to a constant, and its standard error: an aid to rank modes, never a weight.

    The sum over matchings of a group is a permanent: exact for small groups; for large ones the logarithm is integrated
    along the path of weights raised to powers from 0 (every matching alike) to 1, by swaps at each node.
    """
    log_share = model.log_shares(draw.theta)
    total = float((model.own_counts * log_share).sum()) + float(model.value_counts @ np.log(draw.pi))
    variance = 0.0
    random = engine.generator()
    for block in model.hidden:
        log_weight = model.log_weights(block, log_share, draw.pi, draw.current)
        each = np.empty(len(block.groups.method))
        matching.log_permanent(block.groups, 0, len(each), log_weight, each)
        exact = matching.exact(block.groups)
        total += float(each[exact].sum())
        if not exact.all():
            logs = log_weight[model.release.blocks[block.number].cell[block.entry], block.column]
            large, error = _along_the_path(block.groups, log_weight, logs, np.flatnonzero(~exact), random)
            total, variance = total + large, variance + error**2
    for kind, rows in enumerate(model.withheld.rows.tolist() if not model.hidden else ()):
        log_own = model.log_own(kind, log_share, draw.pi)
        total += rows * float(log_own.max() + np.log(np.exp(log_own - log_own.max()).sum()))
    return total, float(np.sqrt(variance))


def log_prior(model: HiddenModel, draw: Draw) -> float:
    """Of the shares of matched attributes, up to a constant, as a density of their logarithms; not of smoothed ones."""
    shares = ((i, draw.theta[i]) for i, m in zip(model.layout.attributes, model.matched.tolist(), strict=True) if m)
    each = (model.prior.beta[i] * np.log(share) for i, share in shares if i not in model.layout.kernels)
    return float(sum(term.sum() for term in each))


def _along_the_path(
    groups: matching.Groups, log_weight: Floats, logs: Floats, large: NDArray[np.int64], random: np.random.Generator
) -> tuple[float, float]:
    """Sum of the log permanents of the swapped groups, and its standard error."""
    from scipy.special import gammaln

    node, node_weight = np.polynomial.legendre.leggauss(NODES)
    rows = np.diff(groups.row_start)[large]
    total, variance = float(gammaln(rows + 1.0).sum()), 0.0
    pair_group = np.repeat(np.arange(len(groups.method)), np.diff(groups.pair_start))
    mine = np.isin(pair_group, large)
    partner = np.zeros(int(groups.row_start[-1]), dtype=np.int32)
    matching.start_matching(groups, 0, len(groups.method), _key(random), partner)
    weight = np.empty_like(log_weight)
    for x, w in zip((node + 1) / 2, node_weight / 2, strict=True):
        tempered = np.ascontiguousarray(log_weight * x)
        matching.scale(tempered, weight)
        weights = matching.Weights.of(groups, weight, tempered)
        matching.draw(groups, weights, _key(random), partner, rounds=10 * matching.ROUNDS)
        level = []
        for _ in range(ROUNDS):
            drawn = matching.draw(groups, weights, _key(random), partner)
            level.append(float((drawn[mine] * logs[mine]).sum()))
        total += w * float(np.mean(level))
        variance += w**2 * float(np.var(level, ddof=1)) / ROUNDS
    return total, float(np.sqrt(variance))


def _key(random: np.random.Generator) -> np.uint64:
    return random.integers(0, 2**64, dtype=np.uint64)
