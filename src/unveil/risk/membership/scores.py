"""Scores of being in: how well they tell members from others at few false alarms, and the best score from shadows.

A score is any number that is larger for people whom a reader takes for members.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate
from unveil.errors import UsageError

__all__ = [
    "FALSE_ALARMS",
    "Roc",
    "ScoreQuality",
    "likelihood_scores",
    "roc",
    "score_quality",
    "true_positive_at",
    "true_positives",
]

FALSE_ALARMS = {"1_in_100": 0.01, "1_in_1000": 0.001}  # shares of others accused, by the name in a finding's id
PRIOR_SHADOWS = 8  # shadows that the spread seen over all people counts for, beside a person's own
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Roc:
    """How well a score tells people in the table from people who are not, threshold by threshold."""

    false_positive: NDArray[np.float64]  # (points,) from 0 to 1
    true_positive: NDArray[np.float64]  # (points,)
    auc: Estimate  # chance that a member scores higher than somebody else, equal scores counting half


def roc(members: NDArray[np.float64], others: NDArray[np.float64]) -> Roc:
    """The curve and the area under it, with the 95% interval of DeLong et al. 1988 for both samples of people."""
    if not len(members) or not len(others):
        raise UsageError("a ROC curve needs people in the table and people who are not")
    scores = np.unique(np.concatenate([members, others]))[::-1]
    hits, alarms = (np.searchsorted(np.sort(-part), -scores, side="right") / len(part) for part in (members, others))
    below = _beaten(members, others)  # (members,) share of others that each beats
    above = 1 - _beaten(others, members)  # (others,) share of members that beat each
    area = float(below.mean())
    variance = sum(float(part.var(ddof=1)) / len(part) for part in (below, above) if len(part) > 1)
    few = min(len(members), len(others))
    half = 1.96 * variance**0.5 if variance > 0 else min(3 / few, 1.0)  # no spread seen: the rule of three
    auc = Estimate(area, max(area - half, 0.0), min(area + half, 1.0))
    return Roc(np.concatenate([[0.0], alarms]), np.concatenate([[0.0], hits]), auc)


def true_positive_at(curve: Roc, false_positive: float) -> float:
    """The share of members found when this share of others is accused.

    Among equal scores it is drawn who is accused, and this is the mean over the draws: the straight line between two
    points of the curve.
    """
    if not 0 <= false_positive <= 1:
        raise UsageError(f"a share of false alarms lies between 0 and 1; {false_positive:g} does not")
    x, y = curve.false_positive, curve.true_positive
    at = int(np.searchsorted(x, false_positive, side="right")) - 1  # the highest of the points above one another
    if at + 1 == len(x):
        return float(y[-1])
    share = (false_positive - x[at]) / (x[at + 1] - x[at])
    return float(y[at] + share * (y[at + 1] - y[at]))


def _beaten(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    ordered = np.sort(other)
    low, high = (np.searchsorted(ordered, one, side=side) for side in ("left", "right"))
    return np.asarray((low + high) / 2 / len(other))


@dataclass(frozen=True, slots=True, eq=False)
class ScoreQuality:
    """How well one score tells members from others."""

    roc: Roc
    found: Mapping[str, Estimate]  # by the names of FALSE_ALARMS: the share of members found

    @property
    def auc(self) -> Estimate:
        """The chance that a member scores higher than somebody else; equal scores count half."""
        return self.roc.auc


def score_quality(members: Floats, others: Floats) -> ScoreQuality:
    """Everything that is said of a score."""
    curve = roc(members, others)
    found = {name: true_positives(members, others, share) for name, share in FALSE_ALARMS.items()}
    return ScoreQuality(curve, found)


def true_positives(members: Floats, others: Floats, false_positive: float) -> Estimate:
    """The share of members found when so large a share of others is accused; the interval holds in 95% or more.

    The value is that of `true_positive_at`: among equal scores it is drawn who is accused. The threshold is only known
    as well as the others tell: it lies between two of their ordered scores with 97.5% (binomial counts, no shape is
    assumed), and the members beyond either end are counted with an exact interval (Clopper and Pearson 1934) of 97.5%.
    With few others the upper end is beyond all of them, and nothing is sure to be found.
    """
    from scipy.special import bdtr, betaincinv

    value = true_positive_at(roc(members, others), false_positive)
    ordered = np.sort(others)[::-1]
    # At most this many others lie above the threshold, and at least that many, each but for 1.25%.
    chance = bdtr(np.arange(len(others) + 1.0), len(others), false_positive)  # P(at most this many above)
    many, few = (int((chance < q).sum()) for q in (0.9875, 0.0125))
    most = int((members >= ordered[many]).sum()) if many < len(ordered) else len(members)
    least = int((members > ordered[few - 1]).sum()) if few > 0 else 0
    n = len(members)
    low = 0.0 if least == 0 else float(betaincinv(least, n - least + 1, 0.0125))
    high = 1.0 if most == n else float(betaincinv(most + 1, n - most, 0.9875))
    return Estimate(value, min(low, value), max(high, value))


def likelihood_scores(shadow: Floats, inside: NDArray[np.bool_], seen: Floats) -> Floats:
    """(people,) how much likelier what is seen of each is with the person in than without, as the shadows show it.

    `shadow` (shadows, people): a statistic of each person against each shadow; `inside` (shadows, people): whether the
    person was in it; `seen` (people,): the same statistic against the target. The log of the ratio of two normal
    densities, each person's own (Carlini et al. 2022); a spread is drawn towards that over all people as if
    PRIOR_SHADOWS more shadows had shown it. -inf and inf are values of their own, with the chances they had. Of whom no
    shadow was with, or none without, nothing is known: 0.
    """
    if shadow.shape != inside.shape or shadow.shape[1:] != seen.shape:
        raise UsageError("shadows and people must be the same for the statistic, for who is inside and for the target")
    kinds = [np.where(np.isfinite(part), 0, np.sign(part)) for part in (shadow, seen)]
    score, density, known = np.zeros(len(seen)), np.zeros(len(seen)), kinds[1] == 0
    for sign, where in ((1.0, inside), (-1.0, ~inside)):
        alike = ((kinds[0] == kinds[1]) & where).sum(axis=0)
        score += sign * np.log((alike + 0.5) / (where.sum(axis=0) + 1.5))
        used = where & (kinds[0] == 0)
        number = used.sum(axis=0)
        mean = np.where(used, shadow, 0.0).sum(axis=0) / np.maximum(number, 1)
        squares = (np.where(used, shadow - mean, 0.0) ** 2).sum(axis=0)
        free = np.maximum(number - 1, 0)
        common = float(squares.sum()) / max(float(free.sum()), 1.0)
        spread = np.maximum((squares + PRIOR_SHADOWS * common) / (free + PRIOR_SHADOWS), 1e-12 * (1 + mean**2))
        gap = np.where(kinds[1] == 0, seen, 0.0) - mean
        density -= sign * (gap**2 / spread + np.log(spread)) / 2
        known &= number > 0
    asked = inside.any(axis=0) & (~inside).any(axis=0)
    return np.where(asked, score + np.where(known, density, 0.0), 0.0)
