"""Shares of codes from rows that show regions, read again without some of the rows."""

import numpy as np
from numba import njit

__all__ = ["shares_without", "warm"]


PLAIN = 40  # plain steps for each of Newton's


@njit(cache=True, nogil=True)
def shares_without(
    theta, beta, shown, inverse, run_start, low, high, pair_start, pair_value, region, gone, steps, still, out
):
    """Fill `out` (pairs, codes): the fixed point of share = (beta + rows in each code by share) / all, less some rows.

    A pair is a value and the rows taken off: `gone` of the region `region`, pair_start[p] to pair_start[p + 1]. By
    value: `theta` and `beta` (values, codes), `shown` (values, regions) rows, `inverse` (values, codes, codes) of I
    less the slope, with which Newton's method runs. Region r is the runs run_start[r] to run_start[r + 1] of low to
    high. Cost: pairs · steps · (runs + codes²).

    The slope is that with all rows: where many are taken off, Newton's steps can lead away. As soon as one does not
    come nearer, or after `steps`, the plain iteration begins, which always does (EM), for up to PLAIN · steps.
    """
    codes, regions = theta.shape[1], shown.shape[1]
    rows, used = np.empty(regions), np.empty(regions, np.int64)
    below, spread, off = np.zeros(codes + 1), np.empty(codes + 1), np.empty(codes)
    for p in range(len(pair_value)):
        v = pair_value[p]
        rows[:] = shown[v]
        for item in range(pair_start[p], pair_start[p + 1]):
            rows[region[item]] -= gone[item]
        total, count = 0.0, 0
        for r in range(regions):
            if rows[r] > 1e-9:
                used[count] = r
                count += 1
                total += rows[r]
        for x in range(codes):
            total += beta[v, x]
        share = out[p]
        share[:] = theta[v]
        newton, before = True, np.inf
        for tried in range((1 + PLAIN) * steps):
            for x in range(codes):
                below[x + 1] = below[x] + share[x]
            spread[:] = 0.0
            for n in range(count):
                r = used[n]
                mass = 0.0
                for run in range(run_start[r], run_start[r + 1]):
                    mass += below[high[run] + 1] - below[low[run]]
                weight = rows[r] / max(mass, 1e-300)
                for run in range(run_start[r], run_start[r + 1]):
                    spread[low[run]] += weight
                    spread[high[run] + 1] -= weight
            inside = 0.0
            for x in range(codes):
                inside += spread[x]
                off[x] = (beta[v, x] + share[x] * inside) / total - share[x]
            left = 0.0
            for x in range(codes):
                left += abs(off[x])
            if newton and left > still and (left > 0.9 * before or tried == steps):
                newton = False
                share[:] = theta[v]
                continue
            before = left
            worst, whole = 0.0, 0.0
            for x in range(codes):
                step = off[x]
                if newton:
                    step = 0.0
                    for y in range(codes):
                        step += inverse[v, x, y] * off[y]
                worst = max(worst, abs(step))
                share[x] = max(share[x] + step, beta[v, x] / total)
                whole += share[x]
            for x in range(codes):
                share[x] /= whole
            if worst < (still if newton else still / PLAIN):
                break


def warm():
    """Compile every kernel here."""
    one = np.ones((1, 2))
    place = np.array([0, 1], np.int64)
    low, high = np.zeros(1, np.int32), np.ones(1, np.int32)
    shares_without(
        one / 2, one, one[:, :1].copy(), np.eye(2)[None].copy(), place, low, high, place, np.zeros(1, np.int64),
        np.zeros(1, np.int64), np.ones(1), 2, 1e-9, np.empty((1, 2)),
    )  # fmt: skip
