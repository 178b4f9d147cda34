"""Shares read again without some rows, where so many are taken off that Newton's steps would lead away."""

import numpy as np
import pytest

from unveil.attackers.posterior.left_out import _newton
from unveil.kernels.wide_cells import shares_without

LOW = np.array([0, 0, 0, 2, 4, 8], np.int32)
HIGH = np.array([1, 3, 11, 3, 7, 11], np.int32)  # each region one run of the twelve codes
ROWS = np.array([55.0, 10, 150, 12, 27, 59])
MEMBER = ((np.arange(12)[:, None] >= LOW) & (np.arange(12)[:, None] <= HIGH)).astype(float)


def plain(rows: np.ndarray) -> np.ndarray:
    """The fixed point, by twenty thousand plain steps."""
    share = np.full(12, 1 / 12)
    for _ in range(20_000):
        share = (1 + share * (MEMBER @ (rows / (share @ MEMBER)))) / (12 + rows.sum())
    return share


@pytest.mark.parametrize(
    "gone", [[0, 0, 0, 0, 0, 1], [0, 0, 4, 0, 0, 59], [55, 10, 0, 12, 0, 0], [50, 9, 149, 11, 26, 58]]
)
def test_whatever_is_taken_off_the_fixed_point_is_found(gone: list[int]) -> None:
    theta, taken = plain(ROWS), np.array(gone, float)
    inverse = _newton(theta, MEMBER, ROWS, 12 + ROWS.sum())[None]
    items = np.flatnonzero(taken)
    found = np.empty((1, 12))
    shares_without(
        theta[None], np.ones((1, 12)), ROWS[None], np.ascontiguousarray(inverse), np.arange(7), LOW, HIGH,
        np.array([0, len(items)]), np.zeros(1, np.int64), items, taken[items], 40, 1e-11, found,
    )  # fmt: skip
    assert found[0] == pytest.approx(plain(ROWS - taken), abs=1e-8)
