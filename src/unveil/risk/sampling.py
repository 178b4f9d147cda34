"""What a random sample of people says of all of them: exact bounds for shares and quantiles, none for what lies beyond.

Nobody exposed among those sampled is not nobody exposed: bounds come from how many exposed people a sample drawn
without replacement may miss (hypergeometric), never from a bootstrap, which repeats what it saw.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate
from unveil.errors import UsageError
from unveil.risk._checks import quantile

__all__ = ["below_baseline", "sampled_quantile", "sampled_share"]

LEVEL = 0.95

Floats = NDArray[np.float64]


def sampled_share(each: Floats, people: int) -> Estimate:
    """The mean over all `people` of a number in [0, 1], from a sample of it; a share where it is 0 or 1.

    Of zeros and ones the bounds are exact: every number of exposed people that the sample does not refute at 2.5% on
    either side. Of fractions (guesses among ties) as many zeros and ones are taken as have the same variance (Korn and
    Graubard 1998).
    """
    count = _checked(each, people)
    value = float(each.mean())
    if count == people:
        return Estimate.exact(value)
    if ((each == 0) | (each == 1)).all():
        fewest, most = _hypergeometric(int(each.sum()), count, people)
        return Estimate(value, min(fewest / people, value), max(most / people, value))
    from scipy.special import betaincinv

    spread = float(each.var(ddof=1)) if count > 1 else value * (1 - value)
    alike = value * (1 - value) / spread * count if spread > 0 else float(count)
    alike = max(alike, float(count)) * (people - 1) / max(people - count, 1)
    hits, tail = value * alike, (1 - LEVEL) / 2
    low = float(betaincinv(hits, alike - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, alike - hits, 1 - tail)) if hits < alike else 1.0
    return Estimate(value, min(low, value), max(high, value))


def sampled_quantile(each: Floats, q: float, people: int) -> Estimate:
    """The q-quantile over all `people` of any number, from a sample: order statistics, right with ties.

    Where even the largest number sampled may lie below the quantile, the upper end is infinite: unknown.
    """
    count = _checked(each, people)
    if not 0 <= q <= 1:
        raise UsageError(f"q={q:g} is not a quantile; choose 0 to 1")
    ordered = np.sort(each)
    value = quantile(each, q)
    if count == people:
        return Estimate.exact(value)
    from scipy.stats import hypergeom

    rank = min(max(math.ceil(q * people), 1), people)  # of the quantile among all
    tail = (1 - LEVEL) / 2
    # How many sampled people lie at or below it, and how many strictly below: at most one less.
    most = int(hypergeom.ppf(1 - tail, people, rank, count))
    least = int(hypergeom.ppf(tail, people, rank - 1, count))
    low = float(ordered[least - 1]) if least > 0 else -math.inf
    high = float(ordered[most]) if most < count else math.inf
    return Estimate(value, min(low, value), max(high, value))


def below_baseline(attacker: Estimate, **baselines: Estimate) -> str:
    """Why an attacker's success cannot be right: who knows more must not guess worse; empty if it does not.

    Compared with attackers that know less (the learner, random worlds), by more than the errors of both.
    """
    for name, other in baselines.items():
        error = math.hypot(attacker.high - attacker.value, other.value - other.low)
        if attacker.value + error < other.value:
            said = name.replace("_", " ")
            right = f"guesses right for {attacker.value:.1%}, {said} for {other.value:.1%}"
            return f"{right}: who knows more must not do worse, so it may read the release the wrong way round"
    return ""


def _checked(each: Floats, people: int) -> int:
    if not len(each) or len(each) > people:
        raise UsageError(f"a sample of {len(each)} of {people} people says nothing; give 1 to {people}")
    return len(each)


@lru_cache(maxsize=2**12)  # many measures of one sample find the same number of people
def _hypergeometric(hits: int, count: int, people: int) -> tuple[int, int]:
    """The fewest and the most exposed people of whom this many would be among those sampled, each at 2.5%."""
    from scipy.stats import hypergeom

    tail = (1 - LEVEL) / 2

    def first(holds: object, low: int, high: int) -> int:
        """The first number for which it holds, given that it does from there on; `high` + 1 if it never does."""
        while low <= high:
            middle = (low + high) // 2
            if holds(middle):  # type: ignore[operator]
                high = middle - 1
            else:
                low = middle + 1
        return low

    rest = people - count + hits
    low = first(lambda k: hypergeom.sf(hits - 1, people, k, count) > tail, hits, rest)
    high = first(lambda k: hypergeom.cdf(hits, people, k, count) <= tail, hits, rest) - 1
    return low, max(high, low)
