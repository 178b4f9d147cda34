"""How well one column tells another, and what chance alone would give: counts of codes in, shares out."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Narrowed",
    "Prediction",
    "chernoff",
    "guess",
    "information",
    "narrowed_sets",
    "small_sets",
    "surely",
    "within_runs",
]

Ids = NDArray[np.int64]
_CHANCE = 20.0  # the logarithm of one in 5 * 10^8


class Prediction(NamedTuple):
    """How often a value is guessed by the most frequent one among the *other* rows that look alike."""

    right: float  # share of rows
    blind: float  # the share of the most frequent value: who does not look names it
    pure: int  # rows in sets that show one rare value (almost) only, beyond chance
    pure_value: int  # the most frequent of these values, -1 if there are none
    learned: float  # the share of the uncertainty that looking removes, beyond chance; 0 if it may be chance

    @property
    def lift(self) -> float:
        """The share of blind mistakes that looking avoids."""
        return (self.right - self.blind) / max(1 - self.blind, 1e-12)


def guess(known: Ids, secret: Ids, *, least: int = 5, purity: float = 0.9) -> Prediction:
    """Predict `secret` from `known`, each row left out of its own set: chance gives no lift, however many sets."""
    rows = len(known)
    share = np.bincount(secret) / rows
    blind = float(share.max())  # not left out: of two values that are equally frequent it would always name the other
    right, counts = _left_out(known, secret)
    of_known, of_secret, number, size = counts
    top = (number >= purity * size[of_known]) & (size[of_known] >= least) & (share[of_secret] <= 0.5)
    # As many of one value by chance (Chernoff): share ** number where all have it, times the sets that were tried.
    held, usual = number / size[of_known], np.clip(share[of_secret], 1e-300, 1 - 1e-12)
    rest = (1 - held) * np.log(np.maximum(1 - held, 1e-300) / (1 - usual))
    chance = np.log(len(number)) - size[of_known] * (held * np.log(held / usual) + rest)
    top &= chance < np.where(number < 10, -10, -20)  # few people are told by less, at a chance of 1 in 20,000
    pure = int(number[top].sum())
    value = int(np.bincount(of_secret[top], weights=number[top]).argmax()) if pure else -1
    shared, unknown, z = information(known, secret)
    return Prediction(right, blind, pure, value, shared / unknown if unknown > 0 and z > 10 else 0.0)


def _left_out(known: Ids, secret: Ids) -> tuple[float, tuple[Ids, Ids, Ids, Ids]]:
    values = int(secret.max(initial=0)) + 1
    pair, number = np.unique(known * values + secret, return_counts=True)
    of_known, of_secret = pair // values, pair % values
    sets = int(known.max(initial=0)) + 1
    size = np.bincount(known, minlength=sets)
    first = np.zeros(sets, dtype=np.int64)
    np.maximum.at(first, of_known, number)
    is_first = number == first[of_known]
    ties = np.bincount(of_known, weights=is_first, minlength=sets)
    second = np.zeros(sets, dtype=np.int64)
    np.maximum.at(second, of_known[~is_first], number[~is_first])
    best_other = np.where(is_first & (ties[of_known] < 2), second[of_known], first[of_known])
    right = np.where(number - 1 > best_other, 1.0, np.where((number - 1 == best_other) & (number > 1), 0.5, 0.0))
    return float((right * number).sum() / max(len(known), 1)), (of_known, of_secret, number, size)


def information(known: Ids, secret: Ids, given: Ids | None = None) -> tuple[float, float, float]:
    """I(known; secret | given) in nats less what chance gives on average, H(secret | given), and the z of it.

    The bound is that of the chi-square test: 2 n I has as many degrees of freedom as the tables have.
    """
    rows = len(known)
    given = np.zeros(rows, dtype=np.int64) if given is None else given
    k, s = int(known.max(initial=0)) + 1, int(secret.max(initial=0)) + 1
    cells = [given, given * k + known, given * s + secret, (given * k + known) * s + secret]
    entropies, kinds = [], []
    for cell in cells:
        number = np.unique(cell, return_counts=True)[1]
        entropies.append(float(np.log(rows) - (number * np.log(number)).sum() / rows))
        kinds.append(len(number))
    found = max(entropies[1] + entropies[2] - entropies[0] - entropies[3], 0.0)
    freedom = max(kinds[3] - kinds[1] - kinds[2] + kinds[0], 1)
    most = _table_freedom(given, known, secret)
    freedom = max(freedom, most)
    return (
        max(found - freedom / (2 * rows), 0.0),
        entropies[2] - entropies[0],
        (2 * rows * found - freedom) / np.sqrt(2 * freedom),
    )


def _table_freedom(given: Ids, known: Ids, secret: Ids) -> int:
    """The sum over tables of (rows - 1) (columns - 1)."""
    sets = int(given.max(initial=0)) + 1
    wide = []
    for column in (known, secret):
        pair = np.unique(given * (int(column.max(initial=0)) + 1) + column)
        wide.append(np.bincount(pair // (int(column.max(initial=0)) + 1), minlength=sets))
    return int(((wide[0] - 1) * (wide[1] - 1))[np.bincount(given, minlength=sets) > 0].sum())


def small_sets(ids: Ids, below: int, times: Ids | None = None) -> int:
    """Rows that share their number with fewer than `below` rows, themselves counted."""
    size = np.bincount(ids, weights=times)
    held = np.ones(len(ids)) if times is None else times
    return int(held[size[ids] < below].sum())


def within_runs(run: Ids, draw: np.random.Generator) -> Ids:
    """A random order of rows that keeps every run in its place; `run` does not fall."""
    return np.lexsort((draw.random(len(run)), run))


class Narrowed(NamedTuple):
    """Sets of rows in which a secret has only a few of its values, whatever these have in common."""

    sets: Ids  # their numbers
    rows: int  # in all
    times: float  # as likely as among all is one's own value to who knows the set, at least


def narrowed_sets(
    known: Ids,
    secret: Ids,
    expected: Callable[[int], NDArray[np.float64]] | None = None,
    *,
    times: float = 3.0,
    most: float = np.inf,
) -> Narrowed | None:
    """Sets in which knowing the others makes each one's secret `times` as likely, in the geometric mean; None if none.

    The gain is the mean logarithm of the ratio of two predictions of a row by the others: by those of its set, with the
    weight of one row on what all have, and by all; so it is about no kind of values in particular. `expected`:
    (values,) what is expected of a set by what holds of people in general; a set must beat that as well. `most`: rows
    of a set that is looked at.
    """
    values = int(secret.max(initial=0)) + 1
    pair, number = np.unique(known * values + secret, return_counts=True)
    of_set, of_value = pair // values, pair % values
    size = np.bincount(known)
    usual = np.bincount(secret, minlength=values) / len(secret)
    own = (number - 1 + usual[of_value]) / size[of_set]
    gain = np.bincount(of_set, weights=number * np.log(own / usual[of_value]), minlength=len(size))
    # By Markov's inequality chance reaches e^g times the likelihood with a probability of e^-g.
    least = np.maximum(size * np.log(times), _CHANCE + np.log(len(size)))
    found = []
    for one in np.flatnonzero((gain >= least) & (size <= most)).tolist():
        if expected is not None:
            here = of_set == one
            beyond = number[here] * np.log(own[here] / np.maximum(expected(one)[of_value[here]], 1e-300))
            if beyond.sum() < least[one]:
                continue
        found.append(one)
    if not found:
        return None
    sets = np.array(found, dtype=np.int64)
    return Narrowed(sets, int(size[sets].sum()), float(np.exp((gain[sets] / size[sets]).min())))


def surely(
    deviation: NDArray[np.float64], variance: NDArray[np.float64], most: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The negative logarithm of the chance that a sum of independent numbers, none beyond `most`, deviates so far.

    Bernstein's inequality: heavy tails, where a few rows make the sum, cost what they must.
    """
    return deviation**2 / (2 * (variance + most * deviation / 3) + 1e-300)


def chernoff(values: NDArray[np.float64], total: float, number: int) -> float:
    """The negative logarithm of the chance that so many values, drawn from these without replacement, add up to more.

    Chernoff's bound, which holds for them as for draws with replacement (Hoeffding 1963); of a negative total, to less.
    """
    values, total = (values, total) if total >= 0 else (-values, -total)
    spread = float(values.var())
    if spread == 0:
        return 0.0
    best = 0.0
    for share in (0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0):
        tilt = share * total / (number * spread)
        best = max(best, tilt * total - number * float(np.log(np.exp(tilt * values).mean())))
    return best
