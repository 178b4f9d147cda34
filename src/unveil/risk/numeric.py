"""Beliefs in numbers and dates: near the truth, narrow, or far off. A bin stands for the middle of its span."""

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind
from unveil.data.belief import Belief, Estimate
from unveil.errors import UsageError
from unveil.risk._checks import TIE, check_belief, check_same, checked_truth, ratio
from unveil.risk._compare import Floats, estimated, estimated_share, stepped

__all__ = [
    "expected_absolute_error",
    "interval_width",
    "interval_width_mean",
    "near_truth",
    "near_truth_of_range",
    "relative_interval_width",
    "relative_interval_width_share",
]

_CHUNK = 4096  # people at a time: what is added to tell rows apart must not blur a belief of 1e-9


def near_truth(belief: Belief, truth: NDArray[np.integer], attribute: Attribute, *, within: float = 0.1) -> Estimate:
    """Mean belief in numbers within this share of the true number: P(|guess - truth| ≤ within · |truth|).

    The guess is drawn from the belief. People whose truth is missing are left out; missing is near nothing.
    """
    place, span = _line(belief, attribute)
    if attribute.kind is Kind.DATE:
        raise UsageError(f"{attribute.name} is a date, and no date is 10% of another; use near_truth_of_range")
    return _near(belief, truth, attribute, place, span, within, np.abs(place))


def near_truth_of_range(
    belief: Belief, truth: NDArray[np.integer], attribute: Attribute, *, within: float = 0.1
) -> Estimate:
    """The same within a share of the domain's range: P(|guess - truth| ≤ within · (largest - smallest))."""
    place, span = _line(belief, attribute)
    return _near(belief, truth, attribute, place, span, within, np.full(len(place), span))


def expected_absolute_error(belief: Belief, truth: NDArray[np.integer], attribute: Attribute) -> Estimate:
    """Mean over people of E|guess - truth| in the attribute's unit (dates: days), the guess drawn from the belief.

    People whose truth is missing are left out; a belief in missing is as far off as the whole range.
    """
    place, span = _line(belief, attribute)
    codes, known = _known_truth(belief, truth, attribute)
    apart = np.full((len(place), attribute.codes), span)
    apart[:, : len(place)] = np.abs(place[:, None] - place[None, :])
    return estimated(lambda p: float(_weighed(p[known], codes, apart).mean()), belief, least=0.0, most=span)


def interval_width(belief: Belief, attribute: Attribute, *, mass: float = 0.9) -> Floats:
    """(people,) width of the shortest interval that holds this much of the belief, in the attribute's unit.

    From where its first value or bin begins to where its last one ends; the whole range if missing is believed more
    than 1 - mass.
    """
    _line(belief, attribute)
    _check_mass(mass)
    return _widths(belief.probability, attribute, mass)


def interval_width_mean(belief: Belief, attribute: Attribute, *, mass: float = 0.9) -> Estimate:
    """Mean over people of the width of the shortest interval that holds this much of the belief."""
    _line(belief, attribute)
    _check_mass(mass)
    return stepped(lambda p: _widths(p, attribute, mass), belief, least=0.0)


def relative_interval_width(attacker: Belief, learner: Belief, attribute: Attribute, *, mass: float = 0.9) -> Floats:
    """(people,) width of the attacker's shortest interval over the learner's; 1 where both are single numbers."""
    check_same(attacker, learner)
    _line(attacker, attribute)
    _check_mass(mass)
    return _narrowed(attacker.probability, learner.probability, attribute, mass)


def relative_interval_width_share(
    attacker: Belief, learner: Belief, attribute: Attribute, *, at_most: float = 0.5, mass: float = 0.9
) -> Estimate:
    """Share of people whose interval is at most `at_most` times as wide for the attacker as for the learner."""
    check_same(attacker, learner)
    _line(attacker, attribute)
    _check_mass(mass)
    return estimated_share(lambda a, l: _narrowed(a, l, attribute, mass) <= at_most * (1 + TIE), attacker, learner)


def _line(belief: Belief, attribute: Attribute) -> tuple[Floats, float]:
    """(codes without missing,) where each code lies, and the range they span."""
    check_belief(belief)
    if not attribute.kind.measured or attribute.low is None or attribute.high is None:
        raise UsageError(f"{attribute.name} is {attribute.kind}: only numbers and dates can be near each other")
    if belief.probability.shape[1] != attribute.codes:
        raise UsageError(
            f"the belief is about {belief.probability.shape[1]} values, {attribute.name} has {attribute.codes}"
        )
    if not attribute.real:
        raise UsageError(f"{attribute.name} has no value but missing")
    place = attribute.positions()[: attribute.real]
    return place, float(np.ptp(place))


def _known_truth(
    belief: Belief, truth: NDArray[np.integer], attribute: Attribute
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """True codes of those whose truth is not missing, and which people they are."""
    codes = checked_truth(belief, truth)
    known = np.flatnonzero(codes < attribute.real)
    if not len(known):
        raise UsageError(f"the true {attribute.name} of everyone is missing: there is nothing to be near")
    return codes[known], known


def _near(
    belief: Belief,
    truth: NDArray[np.integer],
    attribute: Attribute,
    place: Floats,
    span: float,
    within: float,
    unit: Floats,
) -> Estimate:
    if not 0 <= within < np.inf:
        raise UsageError(f"within = {within}: choose a share of at least 0; for 10% write 0.1")
    codes, known = _known_truth(belief, truth, attribute)
    close = np.zeros((len(place), attribute.codes))  # (true, believed)
    reach = within * unit + TIE * (span + np.abs(place))
    close[:, : len(place)] = np.abs(place[:, None] - place[None, :]) <= reach[:, None]
    return estimated(lambda p: float(_weighed(p[known], codes, close).mean()), belief, least=0.0, most=1.0)


def _weighed(p: Floats, truth: NDArray[np.int64], weight: Floats) -> Floats:
    """(people,) sum over values of belief times weight[truth, value], one true value at a time."""
    found = np.empty(len(p))
    order = np.argsort(truth, kind="stable")
    first = np.flatnonzero(np.diff(truth[order], prepend=-1))
    for these in np.split(order, first[1:]):
        found[these] = p[these] @ weight[truth[these[0]]]
    return found


def _check_mass(mass: float) -> None:
    if not 0 < mass <= 1:
        raise UsageError(f"mass = {mass}: an interval holds a share of the belief in (0, 1]; for 90% write 0.9")


def _ends(attribute: Attribute) -> tuple[Floats, Floats]:
    """Where each code begins and ends; a bin without end counts as a point at the end it has."""
    place = attribute.positions()[: attribute.real]
    low, high = np.asarray(attribute.low), np.asarray(attribute.high)
    open_ended = np.isinf(low) | np.isinf(high)
    return np.where(open_ended, place, low), np.where(open_ended, place, high)


def _widths(p: Floats, attribute: Attribute, mass: float) -> Floats:
    low, high = _ends(attribute)
    found = [_shortest(rows[:, : attribute.real], low, high, mass) for rows in _chunks(p)]
    return np.concatenate(found)


def _chunks(p: Floats) -> list[Floats]:
    return [p[start : start + _CHUNK] for start in range(0, len(p), _CHUNK)]


def _shortest(p: Floats, low: Floats, high: Floats, mass: float) -> Floats:
    """(people,) for every first value the nearest last value that makes up the mass, by one search over all rows."""
    people, values = p.shape
    row = np.arange(people)[:, None]
    upto = np.cumsum(p, axis=1) + 2.0 * row  # a row's sums lie in [2 row, 2 row + 1]: rising over all rows
    needed = upto - p + (mass - 1e-9)
    last = np.searchsorted(upto.ravel(), needed.ravel()).reshape(people, values) - row * values
    ends = np.append(high, np.inf)
    width = (ends[np.minimum(last, values)] - low).min(axis=1)
    return np.asarray(np.where(np.isinf(width), high[-1] - low[0], width))


def _narrowed(attacker: Floats, learner: Floats, attribute: Attribute, mass: float) -> Floats:
    mine, other = _widths(attacker, attribute, mass), _widths(learner, attribute, mass)
    return np.where((mine == 0) & (other == 0), 1.0, ratio(mine, other))
