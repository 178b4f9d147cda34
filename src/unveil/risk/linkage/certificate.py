"""A proof of how many people any parameters link: mixed integer programming by HiGHS (Torra 2024).

For each person i a binary K_i, 1 if i is given up:

    minimise sum of worth_i K_i   so that   gap_ij · p + C_ij K_i ≥ margin   for every other row j

over the allowed p. C_ij is as small as the family permits. Rows are added as they are broken: with some of the rows the
minimum can only be lower, so that every step's proven minimum is a bound of the whole.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.errors import NotApplicable
from unveil.risk.linkage.aggregates import Aggregate

__all__ = ["MARGIN", "Certificate", "certify"]

MARGIN = 1e-4  # by which the own row must be nearer; a contribution of 1 is that of two random people
ROWS_AT_ONCE = 5  # broken rows of a person that are added in a step
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """The best parameters found, and what none exceed."""

    parameters: Floats
    linked: float  # worth of the people whom these parameters link, by half of MARGIN at least
    most: float  # no parameters link more by MARGIN: the proven bound
    proven: bool  # nothing is left between the two


def certify(
    gap: Floats,
    other: NDArray[np.bool_],
    worth: Floats,
    reach: Floats,
    aggregate: Aggregate,
    attributes: int,
    *,
    start: Floats | None = None,
    nodes: int = 20_000,
    steps: int = 100,
    seconds: float | None = None,
) -> Certificate:
    """`gap` (people, rows, parameters), `other` (people, rows), `reach` (people, rows): see `supervised`.

    `start`: parameters known to be good, so that only better ones are sought. `nodes` of the search tree a step,
    `steps` of added rows, `seconds` in all: beyond these the bound stays above what was found. Seconds are those of the
    clock, so that where they end it another run may find another bound.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, hstack

    people, _, size = gap.shape
    total = float(worth.sum())
    matrix, least, greatest, low, high = aggregate.rules(attributes)
    constraints = [_padded(matrix, least, greatest, people)] if len(matrix) else []
    active = [np.empty(0, dtype=np.int64) for _ in range(people)]
    parameters = best = aggregate.equal(attributes) if start is None else start
    safe = float(worth[~((gap @ best < MARGIN) & other).any(axis=1)].sum())
    at_most = np.concatenate([np.zeros(size), worth])[None, :]
    constraints.append(LinearConstraint(at_most, -np.inf, total - safe + 1e-6))
    most, linked = total, -1.0
    given_up = np.zeros(people, dtype=bool)
    ends = None if seconds is None else time.monotonic() + seconds
    for _ in range(steps):
        # What counts is how the parameters do after they were moved into the allowed set, by half the margin: the
        # solver meets the margin but roughly.
        allowed = aggregate.nearest(parameters, attributes)
        worthy = float(worth[~((gap @ allowed < MARGIN / 2) & other).any(axis=1)].sum())
        if worthy > linked:
            best, linked = allowed, worthy
        if linked >= most - 1e-6:
            break
        missed = np.where(other, gap @ parameters, np.inf)
        broken = (missed < MARGIN / 2) & ~given_up[:, None]
        grown = 0
        for i in np.flatnonzero(broken.any(axis=1)):
            worst = np.argsort(missed[i], kind="stable")[:ROWS_AT_ONCE]
            new = np.setdiff1d(worst[broken[i, worst]], active[i])
            active[i] = np.concatenate([active[i], new])
            grown += len(new)
        cut = aggregate.cut(parameters, attributes)
        if cut is not None:
            constraints.append(_padded(cut, np.zeros(len(cut)), np.full(len(cut), np.inf), people))
        elif grown == 0:
            break
        person = np.repeat(np.arange(people), [len(rows) for rows in active])
        row = np.concatenate(active)
        weight = csr_array((reach[person, row] + MARGIN, (np.arange(len(row)), person)), shape=(len(row), people))
        links = LinearConstraint(hstack([csr_array(gap[person, row]), weight]), MARGIN, np.inf)
        options = {"node_limit": nodes, "mip_rel_gap": 0.0}
        if ends is not None:
            left = ends - time.monotonic()
            if left <= 0:
                break
            options["time_limit"] = left
        with _quiet():
            solved = milp(
                np.concatenate([np.zeros(size), worth]),
                constraints=[links, *constraints],
                integrality=np.concatenate([np.zeros(size), np.ones(people)]),
                bounds=Bounds(np.concatenate([low, np.zeros(people)]), np.concatenate([high, np.ones(people)])),
                options=options,
            )
        if solved.mip_dual_bound is not None and np.isfinite(solved.mip_dual_bound):
            most = min(most, total - _rounded_up(float(solved.mip_dual_bound), worth))
        if solved.x is None:
            if solved.status == 2:
                raise NotApplicable("HiGHS finds no parameters at all; the distances are too large or too small")
            break
        parameters, given_up = solved.x[:size], solved.x[size:] > 0.5
    return Certificate(best, linked, most, linked >= most - 1e-6)


@contextmanager
def _quiet() -> Iterator[None]:
    """HiGHS writes some lines to the process' standard output, whatever it is told; there a document may stand."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _padded(matrix: Floats, least: Floats, greatest: Floats, people: int) -> "object":
    from scipy.optimize import LinearConstraint

    return LinearConstraint(np.hstack([matrix, np.zeros((len(matrix), people))]), least, greatest)


def _rounded_up(bound: float, worth: Floats) -> float:
    """A sum of ones is whole; else the bound as it is, less what the solver may be wrong by."""
    if (worth == 1).all():
        return float(np.ceil(bound - 1e-6))
    return max(bound - 1e-6, 0.0)
