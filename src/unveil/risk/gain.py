"""Beliefs regardless of the truth: a false belief held with confidence harms too (Kifer 2009, section 2)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.data.belief import Belief, Estimate
from unveil.errors import UsageError
from unveil.privacy.distances import Distance, Geometry
from unveil.privacy.distances import distance as distance_named
from unveil.risk._compare import (
    TIE,
    Floats,
    check_belief,
    check_same,
    checked_truth,
    estimated,
    harmful,
    quantile,
    ratio,
)
from unveil.risk._compare import at_least as reaches

__all__ = [
    "belief_difference_max",
    "belief_difference_quantile",
    "belief_difference_share",
    "belief_gain",
    "belief_ratio_max",
    "belief_ratio_quantile",
    "belief_ratio_share",
    "confident",
    "confident_right",
    "privacy_breach_distance",
    "privacy_breach_distance_max",
    "privacy_breach_distance_share",
    "value_bound",
    "value_bound_share",
]


def belief_gain(attacker: Belief, learner: Belief, *, harmless: Sequence[int] = ()) -> tuple[Floats, Floats]:
    """(people,) twice: the largest p_A / p_L, and the largest p_A - p_L, over the values that are not harmless.

    A ratio is infinite where p_A > p_L = 0 and 0 where both are 0.
    """
    counts = _compared(attacker, learner, harmless)
    pair = attacker.probability, learner.probability
    return _ratio(*pair, counts), _difference(*pair, counts)


def belief_ratio_max(attacker: Belief, learner: Belief, *, harmless: Sequence[int] = ()) -> Estimate:
    """The largest p_A / p_L of anyone in any value."""
    return belief_ratio_quantile(attacker, learner, q=1.0, harmless=harmless)


def belief_ratio_quantile(
    attacker: Belief, learner: Belief, *, q: float = 0.95, harmless: Sequence[int] = ()
) -> Estimate:
    """The q-quantile over people of the largest p_A / p_L."""
    counts = _compared(attacker, learner, harmless)
    return estimated(lambda a, l: quantile(_ratio(a, l, counts), q), attacker, learner, least=0.0)


def belief_ratio_share(
    attacker: Belief, learner: Belief, *, at_least: float = 2.0, harmless: Sequence[int] = ()
) -> Estimate:
    """Share of people whose largest p_A / p_L is at least this."""
    counts = _compared(attacker, learner, harmless)
    return estimated(
        lambda a, l: float(reaches(_ratio(a, l, counts), at_least).mean()), attacker, learner, least=0.0, most=1.0
    )


def belief_difference_max(attacker: Belief, learner: Belief, *, harmless: Sequence[int] = ()) -> Estimate:
    """The largest p_A - p_L of anyone in any value."""
    return belief_difference_quantile(attacker, learner, q=1.0, harmless=harmless)


def belief_difference_quantile(
    attacker: Belief, learner: Belief, *, q: float = 0.95, harmless: Sequence[int] = ()
) -> Estimate:
    """The q-quantile over people of the largest p_A - p_L."""
    counts = _compared(attacker, learner, harmless)
    return estimated(lambda a, l: quantile(_difference(a, l, counts), q), attacker, learner, least=-1.0, most=1.0)


def belief_difference_share(
    attacker: Belief, learner: Belief, *, at_least: float = 0.2, harmless: Sequence[int] = ()
) -> Estimate:
    """Share of people whose largest p_A - p_L is at least this."""
    counts = _compared(attacker, learner, harmless)
    return estimated(
        lambda a, l: float(reaches(_difference(a, l, counts), at_least).mean()), attacker, learner, least=0.0, most=1.0
    )


def confident(belief: Belief, *, at_least: float = 0.8, harmless: Sequence[int] = ()) -> Estimate:
    """Share of people of whom some value that is not harmless is believed at least this much (Kifer 2009, 6)."""
    counts = _counted(belief, harmless)
    _check_level(at_least)
    return estimated(lambda p: float(_sure(p, counts, at_least).any(axis=1).mean()), belief, least=0.0, most=1.0)


def confident_right(
    belief: Belief, truth: NDArray[np.integer], *, at_least: float = 0.8, harmless: Sequence[int] = ()
) -> Estimate:
    """Of the people counted by `confident`, the share with a belief that high in the truth; 0 if there are none."""
    counts = _counted(belief, harmless)
    codes = checked_truth(belief, truth)
    _check_level(at_least)

    def right(p: Floats) -> float:
        sure = _sure(p, counts, at_least)
        return float(sure[np.arange(len(p)), codes].sum() / max(int(sure.any(axis=1).sum()), 1))

    return estimated(right, belief, least=0.0, most=1.0)


def privacy_breach_distance(
    attacker: Belief, prior: Belief, distance: Distance | str = "variational", ground: Geometry | None = None
) -> Floats:
    """(people,) distance of the belief from the one held before: below b for privacy (Kifer 2009, definition 1)."""
    measure, ground = _measured(attacker, prior, distance, ground)
    return measure(attacker.probability, prior.probability, ground)


def privacy_breach_distance_max(
    attacker: Belief, prior: Belief, distance: Distance | str = "variational", ground: Geometry | None = None
) -> Estimate:
    """The largest distance between the beliefs before and after: definition 1 holds for every b above it."""
    measure, around = _measured(attacker, prior, distance, ground)
    return estimated(lambda a, b: float(measure(a, b, around).max()), attacker, prior, least=0.0)


def privacy_breach_distance_share(
    attacker: Belief,
    prior: Belief,
    distance: Distance | str = "variational",
    ground: Geometry | None = None,
    *,
    at_least: float,
) -> Estimate:
    """Share of people whose privacy is not maintained: their distance is at least this b."""
    measure, around = _measured(attacker, prior, distance, ground)
    return estimated(
        lambda a, b: float(reaches(measure(a, b, around), at_least).mean()), attacker, prior, least=0.0, most=1.0
    )


def value_bound(belief: Belief, bounds: ArrayLike) -> NDArray[np.bool_]:
    """(people,) whether some value is believed more than its bound, one for all or one each (Kifer 2009, def. 2)."""
    return _above(belief.probability, _bounds(belief, bounds))


def value_bound_share(belief: Belief, bounds: ArrayLike) -> Estimate:
    """Share of people of whom some value is believed more than its bound."""
    limits = _bounds(belief, bounds)
    return estimated(lambda p: float(_above(p, limits).mean()), belief, least=0.0, most=1.0)


def _counted(belief: Belief, harmless: Sequence[int]) -> NDArray[np.bool_]:
    check_belief(belief)
    return harmful(belief.probability.shape[1], harmless)


def _compared(attacker: Belief, learner: Belief, harmless: Sequence[int]) -> NDArray[np.bool_]:
    check_same(attacker, learner)
    return _counted(attacker, harmless)


def _ratio(attacker: Floats, learner: Floats, counts: NDArray[np.bool_]) -> Floats:
    return np.asarray(ratio(attacker[:, counts], learner[:, counts]).max(axis=1))


def _difference(attacker: Floats, learner: Floats, counts: NDArray[np.bool_]) -> Floats:
    return np.asarray((attacker[:, counts] - learner[:, counts]).max(axis=1))


def _check_level(level: float) -> None:
    if not 0 < level <= 1:
        raise UsageError(f"at_least = {level}: a confident belief lies in (0, 1]; for 80% write 0.8")


def _sure(p: Floats, counts: NDArray[np.bool_], level: float) -> NDArray[np.bool_]:
    return reaches(p, level) & counts


def _measured(
    attacker: Belief, prior: Belief, distance: Distance | str, ground: Geometry | None
) -> tuple[Distance, Geometry]:
    check_same(attacker, prior)
    around = Geometry() if ground is None else ground
    values = attacker.probability.shape[1]
    if around.values not in (None, values):
        raise UsageError(f"the ground is about {around.values} values, the beliefs about {values}")
    return distance_named(distance) if isinstance(distance, str) else distance, around


def _bounds(belief: Belief, bounds: ArrayLike) -> Floats:
    check_belief(belief)
    values = belief.probability.shape[1]
    limits = np.asarray(bounds, dtype=np.float64)
    if limits.shape not in ((), (values,)):
        raise UsageError(f"give one bound for all values or one for each of the {values}, not {limits.shape}")
    if not ((limits >= 0) & (limits <= 1)).all():
        raise UsageError("a bound on a belief lies in [0, 1]; 1 for a value that may be believed")
    return limits


def _above(p: Floats, limits: Floats) -> NDArray[np.bool_]:
    return np.asarray((p > limits * (1 + TIE)).any(axis=1))
