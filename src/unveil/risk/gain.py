"""Beliefs regardless of the truth: a confident false belief does harm too (Kifer 2009, section 2).

And privacy loss: how far what is believed of a person lies from what was believed anyway (Li 2010, section 5.2.1).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.data.attribute import Role
from unveil.data.belief import Belief, Estimate
from unveil.data.release import Release, row_numbers, truthful
from unveil.errors import UsageError
from unveil.privacy.distances import Distance, Geometry
from unveil.privacy.distances import distance as distance_named
from unveil.risk._checks import TIE, check_belief, check_same, checked_truth, harmful, quantile, ratio
from unveil.risk._checks import at_least as reaches
from unveil.risk._compare import Floats, estimated, estimated_share, stepped

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
    "group_belief",
    "overall_belief",
    "privacy_loss",
    "privacy_loss_max",
    "privacy_loss_mean",
    "privacy_loss_share",
    "value_bound",
    "value_bound_share",
]

FEW = 4  # times as many values as count: these are gone through alone


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
    return _quantile(_ratio, attacker, learner, harmless, q, (0.0, np.inf))


def belief_ratio_share(
    attacker: Belief, learner: Belief, *, at_least: float = 2.0, harmless: Sequence[int] = ()
) -> Estimate:
    """Share of people whose largest p_A / p_L is at least this."""
    return _share(_ratio, attacker, learner, harmless, at_least)


def belief_difference_max(attacker: Belief, learner: Belief, *, harmless: Sequence[int] = ()) -> Estimate:
    """The largest p_A - p_L of anyone in any value."""
    return belief_difference_quantile(attacker, learner, q=1.0, harmless=harmless)


def belief_difference_quantile(
    attacker: Belief, learner: Belief, *, q: float = 0.95, harmless: Sequence[int] = ()
) -> Estimate:
    """The q-quantile over people of the largest p_A - p_L."""
    return _quantile(_difference, attacker, learner, harmless, q, (-1.0, 1.0))


def belief_difference_share(
    attacker: Belief, learner: Belief, *, at_least: float = 0.2, harmless: Sequence[int] = ()
) -> Estimate:
    """Share of people whose largest p_A - p_L is at least this."""
    return _share(_difference, attacker, learner, harmless, at_least)


def confident(belief: Belief, *, at_least: float = 0.8, harmless: Sequence[int] = ()) -> Estimate:
    """Share of people of whom some value that is not harmless is believed at least this much (Kifer 2009, 6)."""
    counts = _counted(belief, harmless)
    _check_level(at_least)
    return estimated_share(lambda p: _sure(p, counts, at_least).any(axis=1), belief)


def confident_right(
    belief: Belief, truth: NDArray[np.integer], *, at_least: float = 0.8, harmless: Sequence[int] = ()
) -> Estimate:
    """Of the people counted by `confident`, the share with a belief that high in the truth; 0 if there are none."""
    counts = _counted(belief, harmless)
    codes = checked_truth(belief, truth)
    _check_level(at_least)

    def right(p: Floats) -> Floats:
        sure = _sure(p, counts, at_least)
        return np.where(sure.any(axis=1), sure[np.arange(len(p)), codes], np.nan)

    return stepped(right, belief, over=_mean, least=0.0, most=1.0)


def privacy_loss(
    belief: Belief, before: Belief, *, distance: Distance | str = "js", ground: Geometry | None = None
) -> Floats:
    """(people,) P_loss(t): distance of the belief from what was believed before (Li 2010, section 5.2.1).

    `before` is one belief for everyone (`overall_belief`) or one for each, as the learner's.
    """
    measure, around = _measured(belief, before, distance, ground)
    return measure(belief.probability, before.probability, around)


def privacy_loss_max(
    belief: Belief, before: Belief, *, distance: Distance | str = "js", ground: Geometry | None = None
) -> Estimate:
    """The worst case: P_loss = max over people of P_loss(t) (same section)."""
    measure, around = _measured(belief, before, distance, ground)
    over = partial(quantile, q=1.0)
    return stepped(lambda a, b: measure(a, b, around), belief, before, over=over, ordered=True, least=0.0)


def privacy_loss_mean(
    belief: Belief,
    before: Belief,
    *,
    distance: Distance | str = "js",
    ground: Geometry | None = None,
    people: NDArray[np.integer] | None = None,
) -> Estimate:
    """The average case, beside the worst; `people` says for how many each belief stands."""
    measure, around = _measured(belief, before, distance, ground)
    if people is not None and (people.shape != (len(belief.probability),) or (people < 0).any() or not people.any()):
        raise UsageError("people must say of each belief for how many it stands, for somebody in all")
    return estimated(lambda a, b: float(np.average(measure(a, b, around), weights=people)), belief, before, least=0.0)


def privacy_loss_share(
    belief: Belief,
    before: Belief,
    *,
    distance: Distance | str = "variational",
    ground: Geometry | None = None,
    at_least: float,
) -> Estimate:
    """Share of people whose privacy is not maintained: their loss is at least this b (Kifer 2009, definition 1)."""
    measure, around = _measured(belief, before, distance, ground)
    return estimated_share(lambda a, b: reaches(measure(a, b, around), at_least), belief, before)


def value_bound(belief: Belief, bounds: ArrayLike) -> NDArray[np.bool_]:
    """(people,) whether some value is believed more than its bound, one for all or one each (Kifer 2009, def. 2)."""
    return _above(belief.probability, _bounds(belief, bounds))


def value_bound_share(belief: Belief, bounds: ArrayLike) -> Estimate:
    """Share of people of whom some value is believed more than its bound."""
    limits = _bounds(belief, bounds)
    return estimated_share(lambda p: _above(p, limits), belief)


def group_belief(release: Release, asked: int) -> tuple[Belief, NDArray[np.int64]]:
    """P(t): the distribution of the sensitive values among rows that cannot be told apart, and how many rows they are.

    One entry for each set of rows as `Release.histograms` makes them. Of a set whose values are all withheld the
    overall distribution is believed.
    """
    block = truthful(release).block_of(asked)
    beside = [i for i in block.attributes if release.attributes[i].role is Role.QUASI_IDENTIFIER and i != asked]
    histograms, _ = release.histograms(asked)
    people = np.bincount(row_numbers([block.group, *(block.region(i) for i in beside)]), weights=block.count)
    known = histograms.sum(axis=1, keepdims=True)
    overall = overall_belief(release, asked).probability
    share = np.where(known > 0, histograms / np.maximum(known, 1), overall)
    return Belief(share), people.astype(np.int64)


def overall_belief(release: Release, asked: int) -> Belief:
    """Q: the published distribution of the sensitive values, as one belief; uniform if every value is withheld."""
    total = release.histograms(asked)[0].sum(axis=0).astype(np.float64)
    if not total.any():
        total = np.ones(len(total))
    return Belief((total / total.sum())[None, :])


def _mean(values: Floats) -> float:
    """0 of nobody."""
    return float(values.mean()) if len(values) else 0.0


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


_Gain = Callable[[Floats, Floats, NDArray[np.bool_]], Floats]


def _quantile(
    gain: _Gain, attacker: Belief, learner: Belief, harmless: Sequence[int], q: float, span: tuple[float, float]
) -> Estimate:
    counts, (least, most) = _compared(attacker, learner, harmless), span
    how: dict[str, Any] = {"over": partial(quantile, q=q), "ordered": True, "least": least, "most": most}
    if FEW * counts.sum() > len(counts):
        return stepped(lambda a, l: gain(a, l, counts), attacker, learner, **how)
    columns = np.flatnonzero(counts)
    every = np.ones(len(columns), dtype=bool)
    return stepped(lambda a, l: gain(a, l, every), attacker, learner, columns=columns, **how)


def _share(gain: _Gain, attacker: Belief, learner: Belief, harmless: Sequence[int], at_least: float) -> Estimate:
    counts = _compared(attacker, learner, harmless)
    return estimated_share(lambda a, l: reaches(gain(a, l, counts), at_least), attacker, learner)


def _check_level(level: float) -> None:
    if not 0 < level <= 1:
        raise UsageError(f"at_least = {level}: a confident belief lies in (0, 1]; for 80% write 0.8")


def _sure(p: Floats, counts: NDArray[np.bool_], level: float) -> NDArray[np.bool_]:
    return reaches(p, level) & counts


def _measured(
    belief: Belief, before: Belief, distance: Distance | str, ground: Geometry | None
) -> tuple[Distance, Geometry]:
    if len(before.probability) == 1:
        check_belief(belief)
        check_belief(before)
    else:
        check_same(belief, before)
    values = belief.probability.shape[1]
    around = Geometry() if ground is None else ground
    if before.probability.shape[1] != values:
        raise UsageError(f"the belief is about {values} values, what it is compared with about another number")
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
