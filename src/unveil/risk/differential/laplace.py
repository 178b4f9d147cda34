"""The Laplace mechanism on counts, coupled with its inference (Kassem et al. 2019, section 4.2.2), without sampling.

C = 1 + max(0, count + noise) for every combination of quasi-identifiers and sensitive value; a prediction is
C_s / sum of C. With the same noise, leaving a record of value s out lowers C_s and nothing else: p_s falls and every
other coordinate rises, whatever the noise. So the coordinates' distributions are ordered, the earth mover's distance of
each is a difference of means, and d = 2 (E[p_s | c] - E[p_s | c - e_s]). With independent noise

    E[A / (A + Z)] = ∫ E[A exp(-uA)] · E[exp(-uZ)] du,  0 < u < ∞

and both expectations have closed forms for A = 1 + max(0, c + Laplace(1/ε)). The integral over ln u is a trapezoidal
sum that errs by less than rounding: the integrand is analytic in a strip of half-width π/2.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.release import row_numbers
from unveil.data.table import Table
from unveil.errors import UsageError, shown

__all__ = ["CellCounts", "LaplaceCounts", "count_cells", "exact_distances", "mean_predictions", "noisy_predictions"]

STEP = 0.125  # of ln u: the error falls as exp(-π² / STEP)
LEFT = -42.0  # of ln u: what lies below is under exp(-42)
RIGHT = 4.5  # u = 90, where exp(-u (1 + …)) is nothing any more
NEAR = 0.5  # where a difference quotient is summed as a series


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceCounts:
    """Noisy counts of every combination, as a sanitizer: `epsilon` (inf: no noise); measured attributes in quantiles.

    `cut` names the quasi-identifiers to quantise, all numbers and dates if none is named; `quantiles=0` cuts none.
    """

    epsilon: float
    quantiles: int = 5
    cut: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise UsageError(f"laplace_counts: epsilon = {self.epsilon:g}: choose a positive number, or inf")
        if self.quantiles < 0 or self.quantiles == 1:
            raise UsageError(f"laplace_counts: quantiles = {self.quantiles}: choose 2 or more, or 0 for none")


@dataclass(frozen=True, slots=True)
class CellCounts:
    """Counts by combination of quasi-identifiers and sensitive value, and where each record is counted."""

    counts: NDArray[np.int64]  # (combinations, values)
    cell: NDArray[np.int64]  # (rows,)
    value: NDArray[np.int64]  # (rows,)


def count_cells(mechanism: LaplaceCounts, table: Table, asked: int) -> CellCounts:
    """Count the combinations that occur; the others are never asked about. Quantiles are those of the whole table."""
    known = [i for i in table.with_role(Role.QUASI_IDENTIFIER) if i != asked]
    names = {table.attributes[i].name for i in known}
    wrong = [name for name in mechanism.cut if name not in names]
    if wrong:
        raise UsageError(
            f"laplace_counts, cut: {shown(wrong[0])} is not a quasi-identifier; choose from {', '.join(names)}"
        )
    columns = []
    for index in known:
        attribute = table.attributes[index]
        chosen = attribute.name in mechanism.cut or (not mechanism.cut and attribute.kind.measured)
        if mechanism.quantiles and chosen:
            if not attribute.kind.ordered:
                raise UsageError(
                    f"laplace_counts, cut: {attribute.name} has no order, so it cannot be cut into quantiles"
                )
            columns.append(_quantiles(table.columns[index].astype(np.int64), attribute.real, mechanism.quantiles))
        else:
            columns.append(table.columns[index].astype(np.int64))
    cell = row_numbers(columns) if columns else np.zeros(table.rows, dtype=np.int64)
    value = table.columns[asked].astype(np.int64)
    values = table.attributes[asked].codes
    counts = np.bincount(cell * values + value, minlength=(int(cell.max()) + 1) * values).reshape(-1, values)
    return CellCounts(counts, cell, value)


def exact_distances(cells: CellCounts, epsilon: float) -> NDArray[np.float64]:
    """(rows,) d of eq. 1's earth mover's distance in the limit of infinitely many samples."""
    pair, number = np.unique(np.stack([cells.cell, cells.value], axis=1), axis=0, return_inverse=True)
    counts, own = cells.counts[pair[:, 0]], (np.arange(len(pair)), pair[:, 1])
    less = counts.copy()
    less[own] -= 1
    lost = mean_predictions(counts, epsilon)[own] - mean_predictions(less, epsilon)[own]
    return np.asarray(2.0 * lost[number.ravel()])


def mean_predictions(counts: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
    """(combinations, values) the mean prediction of each value; once for all combinations with the same counts."""
    if math.isinf(epsilon):
        return np.asarray((1 + counts) / (1 + counts).sum(axis=1, keepdims=True))
    kinds, number = np.unique(np.sort(counts, axis=1), axis=0, return_inverse=True)
    count, place = np.unique(counts, return_inverse=True)
    u = np.exp(np.arange(LEFT, RIGHT + STEP, STEP))
    psi, phi = _transforms(count.astype(np.float64), epsilon, u)  # (counts, u)
    logs = np.log(np.maximum(psi, 1e-300))  # below, it is nothing in any product
    times = np.zeros((len(kinds), len(count)))
    np.add.at(times, (np.arange(len(kinds))[:, None], np.searchsorted(count, kinds)), 1)
    product = times @ logs  # (kinds, u)
    mean = np.zeros(times.shape)
    for kind, c in np.argwhere(times):
        mean[kind, c] = (np.exp(product[kind] - logs[c]) * phi[c] * u).sum() * STEP
    return np.asarray(mean[number.ravel()[:, None], place.reshape(counts.shape)])


def noisy_predictions(
    counts: NDArray[np.int64], epsilon: float, samples: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """(combinations, samples, values) draws of the prediction for each combination, as the paper drew them."""
    shape = (len(counts), samples, counts.shape[1])
    noise = np.zeros(shape) if math.isinf(epsilon) else random.laplace(0.0, 1.0 / epsilon, shape)
    noisy = 1.0 + np.maximum(0.0, counts[:, None] + noise)
    return np.asarray(noisy / noisy.sum(axis=2, keepdims=True))


def _quantiles(column: NDArray[np.int64], real: int, quantiles: int) -> NDArray[np.int64]:
    """Codes cut at the sample's quantiles, right-closed; equal edges are one. The missing code stays apart."""
    known = column[column < real]
    if not len(known):
        return column
    edges = np.unique(np.quantile(known, np.arange(1, quantiles) / quantiles))
    return np.where(column < real, np.searchsorted(edges, column, "left"), quantiles)


def _transforms(
    count: NDArray[np.float64], epsilon: float, u: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(counts, u) E[exp(-uA)] and E[A exp(-uA)] for A = 1 + max(0, count + Laplace(1/ε))."""
    c, u = count[:, None], u[None, :]
    gap = epsilon - u
    at_zero, at_count = np.exp(-epsilon * c), np.exp(-u * c)
    near = np.abs(gap * c) < NEAR
    safe = np.where(near, 1.0, gap)
    x = np.where(near, gap * c, 0.0)
    # (exp(-uc) - exp(-εc)) / gap and its derivative by -u, as series in gap · c where both are small.
    slope = np.where(near, at_zero * c * _series(x, lambda k: 1.0 / math.factorial(k + 1)), (at_count - at_zero) / safe)
    bend = np.where(
        near,
        at_zero * c * c * _series(x, lambda k: (k + 1) / math.factorial(k + 2)),
        (c * at_count) / safe - (at_count - at_zero) / safe**2,
    )
    plain = 0.5 * at_zero + 0.5 * epsilon * slope + 0.5 * epsilon * at_count / (epsilon + u)
    first = 0.5 * epsilon * bend + 0.5 * epsilon * at_count * (c / (epsilon + u) + 1.0 / (epsilon + u) ** 2)
    return np.exp(-u) * plain, np.exp(-u) * (plain + first)


def _series(x: NDArray[np.float64], coefficient: Callable[[int], float]) -> NDArray[np.float64]:
    """Sum over k of coefficient(k) x^k, for |x| < 1/2."""
    total = np.zeros_like(x)
    for k in range(17, -1, -1):
        total = total * x + coefficient(k)
    return total
