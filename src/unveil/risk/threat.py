"""Beliefs against the truth: threatened people, global and relative threat, error, accuracy."""

import math
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Belief, Estimate
from unveil.errors import UsageError
from unveil.risk._checks import TIE, check_same, checked_truth, quantile, ratio
from unveil.risk._checks import at_least as reaches
from unveil.risk._compare import Floats, estimated, estimated_share, stepped

__all__ = [
    "absolute_error",
    "accuracy",
    "baseline_accuracy",
    "global_threat",
    "member_advantage",
    "relative_global_threat",
    "relative_threat",
    "relative_threat_max",
    "relative_threat_quantile",
    "relative_threat_share",
    "relative_threat_skewness",
    "right_guess",
    "squared_error",
    "threatened",
]

Codes = NDArray[np.integer]


def threatened(belief: Belief, truth: Codes) -> NDArray[np.bool_]:
    """(people,) whether the true value is a mode of the belief; a tie counts (Boreale et al. 2020, definition 1)."""
    codes = checked_truth(belief, truth)
    return _threatened(belief.probability, codes)


def right_guess(belief: Belief, truth: Codes) -> Floats:
    """(people,) the chance that a guess from the belief's mode is right, one of several modes at random."""
    return _guessed(belief.probability, checked_truth(belief, truth))


def global_threat(belief: Belief, truth: Codes) -> Estimate:
    """Share of people whose true value is guessed from the belief's mode (Boreale et al. 2020, eq. 17).

    Of several modes one is guessed at random, and this is the expectation. Definition 1 to the letter, where a tie
    counts as a hit, is `threatened(belief, truth).mean()`.
    """
    return _global_threat(belief, checked_truth(belief, truth).tobytes())


@lru_cache(maxsize=8)  # asked again and again of one belief, and the dearest of all measures where values are many
def _global_threat(belief: Belief, truth: bytes) -> Estimate:
    codes = np.frombuffer(truth, dtype=np.int64)
    return stepped(lambda p: _guessed(p, codes), belief, drawn=True, least=0.0, most=1.0)


def accuracy(belief: Belief, truth: Codes) -> Estimate:
    """Share of right guesses (Kifer 2009, section 6): the global threat by its other name, ties included."""
    return global_threat(belief, truth)


def baseline_accuracy(published: NDArray[np.number]) -> Estimate:
    """Share of the most frequent value, of the published counts or shares a value (Boreale et al. 2020, VI-A)."""
    counts = np.asarray(published, dtype=np.float64)
    if counts.ndim != 1 or not np.isfinite(counts).all() or (counts < 0).any() or counts.sum() <= 0:
        raise UsageError("published values must be one count or share a value, not negative and not all 0")
    return Estimate.exact(float(counts.max() / counts.sum()))


def relative_threat(attacker: Belief, learner: Belief, truth: Codes) -> Floats:
    """(people,) Ti = p_A / p_L of the true value; nan where p_A does not threaten (Boreale et al. 2020, eq. 16)."""
    check_same(attacker, learner)
    return _relative(attacker.probability, learner.probability, checked_truth(attacker, truth))


def relative_threat_max(attacker: Belief, learner: Belief, truth: Codes) -> Estimate:
    """The largest Ti; 0 if nobody is threatened."""
    return relative_threat_quantile(attacker, learner, truth, q=1.0)


def relative_threat_quantile(attacker: Belief, learner: Belief, truth: Codes, *, q: float = 0.95) -> Estimate:
    """The q-quantile of Ti among the threatened; 0 if nobody is."""
    check_same(attacker, learner)
    codes = checked_truth(attacker, truth)
    over = partial(quantile, q=q)
    return stepped(lambda a, l: _relative(a, l, codes), attacker, learner, over=over, ranked=True, least=0.0)


def relative_threat_share(attacker: Belief, learner: Belief, truth: Codes, *, at_least: float = 2.0) -> Estimate:
    """Share of all people, threatened or not, with Ti of at least this (2: log2 Ti ≥ 1)."""
    check_same(attacker, learner)
    codes = checked_truth(attacker, truth)

    def holds(a: Floats, l: Floats) -> Floats:
        return np.stack([_threatened(a, codes), reaches(ratio(_of_truth(a, codes), _of_truth(l, codes)), at_least)])

    return estimated_share(holds, attacker, learner)


def relative_threat_skewness(attacker: Belief, learner: Belief, truth: Codes) -> Estimate:
    """Third standardised moment of log2 Ti among the threatened (Boreale et al. 2020, figures 2 and 3).

    0 where it is not defined: fewer than 3 people, or all alike. An infinite Ti is left out.
    """
    check_same(attacker, learner)
    codes = checked_truth(attacker, truth)
    return stepped(lambda a, l: _relative(a, l, codes), attacker, learner, over=_skewness)


def relative_global_threat(attacker: Belief, learner: Belief, truth: Codes) -> Estimate:
    """How many more people the attacker guesses than the learner, as a share: max(0, GT_A - GT_L) (eq. 18)."""
    check_same(attacker, learner)
    codes = checked_truth(attacker, truth)
    more = lambda a, l: _guessed(a, codes) - _guessed(l, codes)  # noqa: E731
    gap = stepped(more, attacker, learner, drawn=True, least=-1.0, most=1.0)
    # The interval is the difference's, cut at 0: cutting each chain first would narrow it.
    return Estimate(max(gap.value, 0.0), max(gap.low, 0.0), max(gap.high, 0.0))


def member_advantage(members: Belief, truth: Codes, controls: Belief, control_truth: Codes) -> Estimate:
    """Success on members minus success on people who are not in the table (Clifton and Tassa 2013).

    Both groups count as samples of the people one might ask about: 95% by Newcombe's square-and-add of Wilson's
    intervals (1998, method 10), which have a width where all are guessed right; the chains' error is added likewise.
    """
    codes, others = checked_truth(members, truth), checked_truth(controls, control_truth)
    inside, outside = float(right_guess(members, codes).mean()), float(right_guess(controls, others).mean())
    (low_in, high_in), (low_out, high_out) = _wilson(inside, len(codes)), _wilson(outside, len(others))
    people = len(codes) + len(others)
    parts = people / len(codes), -people / len(others)

    def each(a: Floats, b: Floats) -> Floats:
        return np.concatenate([_guessed(a, codes) * parts[0], _guessed(b, others) * parts[1]])

    gap, chains = inside - outside, stepped(each, members, controls, drawn=True, least=-1.0, most=1.0)
    below = math.hypot(inside - low_in, high_out - outside, chains.value - chains.low)
    above = math.hypot(high_in - inside, outside - low_out, chains.high - chains.value)
    return Estimate(gap, max(gap - below, -1.0), min(gap + above, 1.0))


def _wilson(share: float, people: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share among this many sampled people (1927)."""
    square = 1.96**2 / people
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(share * (1 - share) * square + square**2 / 4) / (1 + square)
    return min(middle - half, share), max(middle + half, share)


def absolute_error(belief: Belief, truth: Codes) -> Estimate:
    """Mean over people of the sum over values of |1{s true} - p(s)| (ABS of Kifer 2009 is this × 1000).

    ABS of Boreale et al. 2020 is this × the number of people.
    """
    codes = checked_truth(belief, truth)
    return estimated(lambda p: 2 * max(1 - float(_of_truth(p, codes).mean()), 0.0), belief, least=0.0, most=2.0)


def squared_error(belief: Belief, truth: Codes) -> Estimate:
    """Mean over people of the sum over values of (1{s true} - p(s))² (SSQ of Kifer 2009 is this × 1000)."""
    codes = checked_truth(belief, truth)

    def error(p: Floats) -> float:
        return max(float(np.einsum("ij,ij->", p, p)) / len(p) - 2 * float(_of_truth(p, codes).mean()) + 1, 0.0)

    return estimated(error, belief, least=0.0, most=2.0)


def _of_truth(p: Floats, truth: NDArray[np.int64]) -> Floats:
    return np.asarray(p[np.arange(len(p)), truth])


def _top(p: Floats) -> Floats:
    """(people, 1) the least belief that counts as a mode."""
    return np.asarray(p.max(axis=1, keepdims=True) * (1 - TIE))


def _threatened(p: Floats, truth: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray(_of_truth(p, truth) >= _top(p)[:, 0])


def _guessed(p: Floats, truth: NDArray[np.int64]) -> Floats:
    modes = p >= _top(p)
    return np.asarray(modes[np.arange(len(p)), truth] / modes.sum(axis=1))


def _relative(attacker: Floats, learner: Floats, truth: NDArray[np.int64]) -> Floats:
    times = ratio(_of_truth(attacker, truth), _of_truth(learner, truth))
    return np.where(_threatened(attacker, truth), times, np.nan)


def _skewness(times: Floats) -> float:
    logs = np.log2(times[np.isfinite(times)])
    if len(logs) < 3:
        return 0.0
    off = logs - logs.mean()
    spread = float(np.sqrt((off**2).mean()))
    return float((off**3).mean()) / spread**3 if spread > 1e-9 else 0.0
