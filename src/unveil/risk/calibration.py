"""Whether beliefs come true as often as they say: calibration, and certainty that is wrong."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Belief, Estimate, t_quantile
from unveil.errors import UsageError
from unveil.risk._checks import at_least as reaches
from unveil.risk._checks import checked_truth, harmful
from unveil.risk._compare import LEVEL, Floats, estimated, estimated_share, shifted
from unveil.risk.threat import right_guess

__all__ = ["calibration_error", "confident_wrong", "overconfidence"]

BINS = 20


def calibration_error(belief: Belief, truth: NDArray[np.integer], *, bins: int = BINS) -> Estimate:
    """Mean over people of how far the belief in the guessed value lies from how often such guesses are right.

    People are binned by that belief, and each bin's mean belief is compared with its share of right guesses (expected
    calibration error, Guo et al. 2017). A few people in a bin are right more or less often by chance alone, so of few
    people it is never 0.
    """
    codes = checked_truth(belief, truth)
    if bins < 1:
        raise UsageError(f"bins={bins}: choose 1 or more")

    def parts(p: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
        sure = p.max(axis=1)
        place = np.minimum((sure * bins).astype(np.int64), bins - 1)
        return place, sure, right_guess(Belief(np.array(p)), codes)

    return _gaps(parts, belief, bins)


def confident_wrong(
    belief: Belief, truth: NDArray[np.integer], *, at_least: float = 0.8, harmless: Sequence[int] = ()
) -> Estimate:
    """Share of all people of whom a value that is neither theirs nor harmless is believed at least this much."""
    codes, sure = checked_truth(belief, truth), _sure(belief, at_least, harmless)

    def wrong(p: Floats) -> NDArray[np.bool_]:
        found = sure(p)
        found[np.arange(len(p)), codes] = False
        return np.asarray(found.any(axis=1))

    return estimated_share(wrong, belief)


def overconfidence(
    belief: Belief, truth: NDArray[np.integer], *, at_least: float = 0.8, harmless: Sequence[int] = ()
) -> Estimate:
    """Of beliefs of at least this much: their mean, less the share that is true. Above 0: surer than right.

    The interval holds the chains' error and that of counting so few beliefs (normal approximation); 0 of none.
    """
    codes, sure = checked_truth(belief, truth), _sure(belief, at_least, harmless)

    def excess(p: Floats) -> float:
        found = sure(p)
        if not found.any():
            return 0.0
        return float((p[found] - _true(p, codes)[found]).mean())

    found = estimated(excess, belief, least=-1.0, most=1.0)
    believed = belief.probability[sure(belief.probability)]
    if not len(believed):
        return found
    share = min(max(float(believed.mean()) - found.value, 0.0), 1.0)
    # Of n beliefs that all came true one may have failed, and the other way round.
    luck = 1.96 * math.sqrt(max(share * (1 - share), 1 / (len(believed) + 1) / 4) / len(believed))
    low, high = (math.hypot(found.value - end, luck) for end in (found.low, found.high))
    return Estimate(found.value, max(found.value - low, -1.0), min(found.value + high, 1.0))


def _gaps(parts: Callable[[Floats], tuple[NDArray[np.int64], Floats, Floats]], belief: Belief, bins: int) -> Estimate:
    """Mean distance of belief and success, bin by bin, with an interval that holds guesses between near equals.

    A guess that may fall either way makes a bin's gap any number between: its least size may be 0 though both ends
    are far from it. What moves people from bin to bin is seen where all err alike, along the contrasts of the chains.
    """

    def error(place: NDArray[np.int64], sure: Floats, right: Floats) -> float:
        return float(np.abs(np.bincount(place, weights=right - sure, minlength=bins)).sum() / len(sure))

    place, sure, right = parts(belief.probability)
    value = error(place, sure, right)
    if belief.chains is None:
        return Estimate.exact(value)
    small, wide = ([parts(p) for p in shifted(belief, level)] for level in (None, LEVEL))
    spread = t_quantile(len(belief.chains)) * float(np.mean([(error(*one) - value) ** 2 for one in small])) ** 0.5
    found = [error(*one) for one in (*wide, *map(parts, belief.chains if belief.diagnostics.modes else ()))]
    low, high = min(value - spread, *found), max(value + spread, *found)
    least, most = (
        np.bincount(place, weights=of([right, *(one[2] for one in wide)], axis=0) - sure, minlength=bins)
        for of in (np.min, np.max)
    )
    reach = (high - low) / 2  # what errors of the beliefs themselves change, beside the guesses
    nearest = np.where(least * most < 0, 0.0, np.minimum(np.abs(least), np.abs(most))).sum() / len(sure)
    furthest = np.maximum(np.abs(least), np.abs(most)).sum() / len(sure)
    unseen = float(belief.diagnostics.facts.get("unseen_mode", 0.0))
    low, high = min(low, float(nearest) - reach, value - unseen), max(high, float(furthest) + reach, value + unseen)
    return Estimate(value, max(min(low, value), 0.0), min(max(high, value), 1.0))


def _true(p: Floats, codes: NDArray[np.int64]) -> Floats:
    found = np.zeros(p.shape)
    found[np.arange(len(p)), codes] = 1.0
    return found


def _sure(belief: Belief, at_least: float, harmless: Sequence[int]) -> Callable[[Floats], NDArray[np.bool_]]:
    if not 0 < at_least <= 1:
        raise UsageError(f"at_least = {at_least}: a belief that counts as sure lies in (0, 1]")
    counts = harmful(belief.probability.shape[1], harmless)
    return lambda p: np.asarray(reaches(p, at_least) & counts)
