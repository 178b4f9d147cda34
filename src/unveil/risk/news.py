"""Certainty that is news: what a reader is sure of about a person, and could not have said of anybody.

A value that nine people in ten have is believed of everyone without any release. So a belief counts here only if its
odds are several times those of the value's share among all people.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.data.belief import Belief, Estimate
from unveil.errors import UsageError
from unveil.risk._compare import Floats, checked_truth, estimated
from unveil.risk.numeric import interval_width

__all__ = ["disclosed", "disclosed_people", "misled", "narrowed"]

TIMES = 4.0  # from one in two to four in five, from one in ten to three in ten
ROUNDING = 1e-9


def disclosed_people(
    p: Floats, truth: NDArray[np.integer], share: Floats, *, at_least: float = 0.8, harmless: Sequence[int] = ()
) -> NDArray[np.bool_]:
    """(people,) whose own value, if it is not harmless, is believed at least this much, and that is news."""
    own = p[np.arange(len(p)), truth]
    told = _sure(own, share[truth], at_least)
    return np.asarray(told & ~np.isin(truth, list(harmless)))


def disclosed(
    belief: Belief,
    truth: NDArray[np.integer],
    share: Floats,
    *,
    at_least: float = 0.8,
    harmless: Sequence[int] = (),
) -> Estimate:
    """Share of people whose own value is believed at least this much, with odds several times its overall share's.

    `share`: (values,) how common each value is among all people.
    """
    codes = _checked(belief, truth, share)
    return estimated(
        lambda p: float(disclosed_people(p, codes, share, at_least=at_least, harmless=harmless).mean()),
        belief,
        least=0.0,
        most=1.0,
    )


def misled(
    belief: Belief,
    truth: NDArray[np.integer],
    share: Floats,
    *,
    at_least: float = 0.8,
    harmless: Sequence[int] = (),
) -> Estimate:
    """Share of people of whom a wrong value is believed so: a wrong certainty is held against a person, too."""
    codes = _checked(belief, truth, share)
    counts = np.ones(belief.probability.shape[1], dtype=bool)
    counts[list(harmless)] = False

    def wrong(p: Floats) -> float:
        sure = _sure(p, share, at_least) & counts
        sure[np.arange(len(p)), codes] = False
        return float(sure.any(axis=1).mean())

    return estimated(wrong, belief, least=0.0, most=1.0)


def narrowed(
    belief: Belief,
    truth: NDArray[np.integer],
    share: Floats,
    attribute: Attribute,
    *,
    mass: float = 0.8,
    width: float = 0.1,
) -> Estimate:
    """Share of people whose true number lies in an interval that holds `mass` of the belief, and is narrow.

    Narrow: at most `width` of the shortest interval that holds as much of all people. Missing numbers do not count.
    """
    codes = _checked(belief, truth, share)
    everybody = float(interval_width(Belief(np.asarray(share, dtype=np.float64)[None, :]), attribute, mass=mass)[0])
    place = attribute.positions()
    real = codes < attribute.real

    def near(p: Floats) -> float:
        one = Belief(np.ascontiguousarray(p))
        narrow = interval_width(one, attribute, mass=mass) <= width * everybody + ROUNDING
        mean = p[:, : attribute.real] @ place[: attribute.real]
        at = np.where(real, place[np.minimum(codes, attribute.real - 1)], np.inf)
        return float((narrow & real & (np.abs(mean - at) <= width * everybody)).mean())

    return estimated(near, belief, least=0.0, most=1.0)


def _sure(p: Floats, share: Floats, at_least: float) -> NDArray[np.bool_]:
    """Beliefs of at least this, with odds TIMES those of the share: p (1 - f) >= TIMES f (1 - p)."""
    return np.asarray((p >= at_least - ROUNDING) & (p * (1 - share) >= TIMES * share * (1 - p) - ROUNDING) & (share < 1))


def _checked(belief: Belief, truth: NDArray[np.integer], share: Floats) -> NDArray[np.integer]:
    if len(share) != belief.probability.shape[1]:
        raise UsageError(f"{len(share)} overall shares for {belief.probability.shape[1]} values; give one for each")
    return checked_truth(belief, truth)
