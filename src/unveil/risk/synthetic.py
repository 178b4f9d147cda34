"""Synthetic data, whose rows are nobody's: singling out, linkability and inference, as Anonymeter defines them.

Each attack is tried on people whom the data was made from and on control people; what it does better on the former is
the risk (Giomi et al. 2023). Rates are Wilson's, the risk is (attack - control) / (1 - control). Beside them: how near
synthetic rows lie to the people they were made from, against control people.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate
from unveil.errors import UsageError

__all__ = [
    "AttackRates",
    "MixedTable",
    "closest_records",
    "inference_risk",
    "linkability_risk",
    "residual_risk",
    "singling_out_risk",
    "wilson_rate",
]

NORMAL = 1.959964
PAIRS = 1 << 22  # of people and rows that are compared at once
TOLERANCE = 0.05  # of a number that counts as guessed, relative
TRIES = 50  # predicates that are drawn for each one that is wanted, at most


@dataclass(frozen=True, slots=True, eq=False)
class MixedTable:
    """Columns of numbers (NaN = missing) and of codes, both as PublishedRows hold them."""

    columns: tuple[NDArray[Any], ...]
    measured: tuple[bool, ...]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.columns[0])

    def take(self, rows: NDArray[np.integer]) -> "MixedTable":
        """Some rows."""
        return MixedTable(tuple(column[rows] for column in self.columns), self.measured)


@dataclass(frozen=True, slots=True)
class AttackRates:
    """How often an attack succeeds on people of the table, on control people, and by guessing."""

    attack: Estimate
    control: Estimate
    baseline: Estimate
    attacks: int

    @property
    def risk(self) -> Estimate:
        """What it does better than on control people."""
        return residual_risk(self.attack, self.control)


def wilson_rate(successes: int, attacks: int) -> Estimate:
    """Wilson's score: the middle of the 95% interval, and its ends."""
    if attacks < 1:
        raise UsageError("a rate needs at least one attack")
    square = NORMAL**2
    rate = (successes + square / 2) / (attacks + square)
    half = NORMAL / (attacks + square) * math.sqrt(successes * (attacks - successes) / attacks + square / 4)
    return Estimate(rate, max(rate - half, 0.0), min(rate + half, 1.0))


def residual_risk(attack: Estimate, control: Estimate) -> Estimate:
    """(attack - control) / (1 - control), 0 if not more, with the error of both."""
    left = 1 - control.value
    if left <= 0:
        return Estimate(0.0, 0.0, 1.0)
    value = (attack.value - control.value) / left
    errors = [(one.high - one.low) / 2 for one in (attack, control)]
    half = math.hypot(errors[0] / left, errors[1] * (attack.value - 1) / left**2)
    return Estimate(min(max(value, 0.0), 1.0), min(max(value - half, 0.0), 1.0), min(max(value + half, 0.0), 1.0))


def singling_out_risk(
    truth: MixedTable, control: MixedTable, synthetic: MixedTable, *, attacks: int = 500, most: int = 3, seed: int = 0
) -> AttackRates:
    """Predicates that single out one synthetic row: how often they single out one person.

    A predicate is a random row's values of `most` columns; of a number above the median "at least", else "at
    most". Control people are as many as are drawn of the table, since a predicate singles out more in fewer people.
    """
    random = np.random.default_rng(seed)
    found, by_guess = _predicates(synthetic, attacks, most, random), []
    for _ in range(len(found)):
        by_guess.append(_random_predicate(synthetic, most, random))
    same = min(truth.rows, control.rows)
    there = truth.take(random.choice(truth.rows, same, replace=False)) if truth.rows > same else truth
    others = control.take(random.choice(control.rows, same, replace=False)) if control.rows > same else control
    if not found:
        raise UsageError("no predicate singles out a row of the synthetic table")
    hits = [sum(_matches(table, p) == 1 for p in some) for table, some in ((there, found), (others, found))]
    guessed = sum(_matches(there, p) == 1 for p in by_guess)
    return _rates(hits[0], hits[1], guessed, len(found))


def linkability_risk(
    truth: MixedTable,
    control: MixedTable,
    synthetic: MixedTable,
    parts: tuple[Sequence[int], Sequence[int]],
    *,
    attacks: int = 500,
    neighbours: int = 1,
    seed: int = 0,
) -> AttackRates:
    """Two files about the same people, with the columns of `parts`: are the nearest synthetic rows of both the same?"""
    random = np.random.default_rng(seed)
    hits, many = [], min(attacks, truth.rows, control.rows)
    for table in (truth, control):
        people = table.take(random.choice(table.rows, many, replace=False))
        near = [_nearest(people, synthetic, part, neighbours) for part in parts]
        hits.append(int((near[0][:, :, None] == near[1][:, None, :]).any(axis=(1, 2)).sum()))
    drawn = [random.integers(0, synthetic.rows, (many, neighbours)) for _ in parts]
    guessed = int((drawn[0][:, :, None] == drawn[1][:, None, :]).any(axis=(1, 2)).sum())
    return _rates(hits[0], hits[1], guessed, many)


def inference_risk(
    truth: MixedTable,
    control: MixedTable,
    synthetic: MixedTable,
    known: Sequence[int],
    secret: int,
    *,
    attacks: int = 500,
    seed: int = 0,
) -> AttackRates:
    """The secret of the nearest synthetic row by what is known: how often is it the person's own?

    A number counts as guessed within 5% of itself.
    """
    random = np.random.default_rng(seed)
    many = min(attacks, truth.rows, control.rows)
    right: Callable[[Any, Any], NDArray[np.bool_]] = _close if truth.measured[secret] else np.equal
    hits, guessed = [], 0
    for table in (truth, control):
        people = table.take(random.choice(table.rows, many, replace=False))
        near = _nearest(people, synthetic, known, 1)[:, 0]
        hits.append(int(right(people.columns[secret], synthetic.columns[secret][near]).sum()))
        if table is truth:
            drawn = synthetic.columns[secret][random.integers(0, synthetic.rows, many)]
            guessed = int(right(people.columns[secret], drawn).sum())
    return _rates(hits[0], hits[1], guessed, many)


def closest_records(
    truth: MixedTable, control: MixedTable, synthetic: MixedTable, *, most: int = 2000, seed: int = 0
) -> dict[str, Estimate]:
    """How near synthetic rows lie to people they were made from, against as many control people.

    `share`: of synthetic rows nearer to the former, ties halved; .5 if they remember nobody. `distance` and `ratio`:
    medians of the distance to the closest (DCR) and of its ratio to the next (NNDR), each over that of control people.
    """
    random = np.random.default_rng(seed)
    same = min(truth.rows, control.rows)
    columns = list(range(len(truth.columns)))
    rows = synthetic.take(random.choice(synthetic.rows, min(most, synthetic.rows), replace=False))
    near = []
    for table in (truth, control):
        people = table.take(random.choice(table.rows, same, replace=False)) if table.rows > same else table
        near.append(np.sort(_distances_to_nearest(rows, people, columns, min(2, same)), axis=1))
    nearer = int((near[0][:, 0] < near[1][:, 0]).sum())
    ties = int((near[0][:, 0] == near[1][:, 0]).sum())
    share = wilson_rate(nearer + ties // 2, rows.rows)
    medians = [float(np.median(one[:, 0])) for one in near]
    ratios = [float(np.median(one[:, 0] / np.maximum(one[:, -1], 1e-12))) for one in near]
    return {
        "share": share,
        "distance": Estimate.exact(medians[0] / medians[1] if medians[1] > 0 else 1.0),
        "ratio": Estimate.exact(ratios[0] / ratios[1] if ratios[1] > 0 else 1.0),
    }


# ------------------------------------------------------------------------------------------------------------- parts

_Term = tuple[int, str, Any]  # column, "==", "<=" or ">=", value


def _rates(hits: int, of_control: int, guessed: int, attacks: int) -> AttackRates:
    return AttackRates(
        wilson_rate(hits, attacks), wilson_rate(of_control, attacks), wilson_rate(guessed, attacks), attacks
    )


def _predicates(table: MixedTable, wanted: int, most: int, random: np.random.Generator) -> list[tuple[_Term, ...]]:
    """Different predicates that one row of the table alone matches."""
    found: dict[tuple[_Term, ...], None] = {}
    medians = [float(np.nanmedian(c)) if own else 0.0 for c, own in zip(table.columns, table.measured, strict=True)]
    for _ in range(wanted * TRIES):
        if len(found) >= wanted:
            break
        row, size = int(random.integers(table.rows)), min(most, len(table.columns))
        terms: list[_Term] = []
        for index in sorted(random.choice(len(table.columns), size, replace=False).tolist()):
            value = table.columns[index][row]
            if not table.measured[index]:
                terms.append((index, "==", int(value)))
            elif not math.isnan(value):
                terms.append((index, ">=" if value > medians[index] else "<=", float(value)))
        key = tuple(terms)
        if key and key not in found and _matches(table, key) == 1:
            found[key] = None
    return list(found)


def _random_predicate(table: MixedTable, most: int, random: np.random.Generator) -> tuple[_Term, ...]:
    """Values that occur, each drawn for itself."""
    terms: list[_Term] = []
    for index in random.choice(len(table.columns), min(most, len(table.columns)), replace=False).tolist():
        value = table.columns[index][int(random.integers(table.rows))]
        if table.measured[index]:
            terms.append((index, str(random.choice([">=", "<="])), float(value)))
        else:
            terms.append((index, "==", int(value)))
    return tuple(terms)


def _matches(table: MixedTable, terms: tuple[_Term, ...]) -> int:
    fits = np.ones(table.rows, dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        for index, sign, value in terms:
            column = table.columns[index]
            fits &= column == value if sign == "==" else column >= value if sign == ">=" else column <= value
    return int(fits.sum())


def _close(truth: NDArray[np.float64], guess: NDArray[np.float64]) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        near = np.abs(truth - guess) <= TOLERANCE * np.abs(truth)
    return near | (np.isnan(truth) & np.isnan(guess))


def _blocks(
    people: MixedTable, rows: MixedTable, columns: Sequence[int]
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Gower distances of some people at a time: numbers over their range, other values 0 or 1."""
    step = max(PAIRS // max(rows.rows, 1), 1)
    spans = {}
    for index in columns:
        if rows.measured[index]:
            both = np.concatenate([people.columns[index], rows.columns[index]])
            span = float(np.nanmax(both) - np.nanmin(both)) if not np.isnan(both).all() else 0.0
            spans[index] = span if span > 0 else 1.0
    for begin in range(0, people.rows, step):
        here = slice(begin, begin + step)
        total = np.zeros((len(people.columns[0][here]), rows.rows))
        for index in columns:
            own, other = people.columns[index][here, None], rows.columns[index][None]
            if rows.measured[index]:
                apart = np.abs(own - other) / spans[index]
                missing = np.isnan(own) | np.isnan(other)
                total += np.where(missing, (np.isnan(own) != np.isnan(other)).astype(np.float64), apart)
            else:
                total += own != other
        yield here, total


def _nearest(people: MixedTable, rows: MixedTable, columns: Sequence[int], neighbours: int) -> NDArray[np.int64]:
    """(people, neighbours) the nearest rows."""
    many = min(neighbours, rows.rows)
    found = np.empty((people.rows, many), dtype=np.int64)
    for here, total in _blocks(people, rows, columns):
        found[here] = np.argpartition(total, many - 1, axis=1)[:, :many] if many > 1 else total.argmin(axis=1)[:, None]
    return found


def _distances_to_nearest(
    people: MixedTable, rows: MixedTable, columns: Sequence[int], neighbours: int
) -> NDArray[np.float64]:
    found = np.empty((people.rows, neighbours))
    for here, total in _blocks(people, rows, columns):
        found[here] = np.partition(total, neighbours - 1, axis=1)[:, :neighbours]
    return found
