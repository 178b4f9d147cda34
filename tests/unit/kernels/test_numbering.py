"""Ranks and groups without comparing, against NumPy's sorts."""

import numpy as np
import pytest

from unveil.data import release
from unveil.kernels.numbering import grouped, ranks


@pytest.mark.parametrize("most", [1, 2, 2047, 2048, 1 << 22, 1 << 40, (1 << 63) - 1])
@pytest.mark.parametrize("rows", [1, 2, 5000])
def test_ranks_are_those_of_sorting(most, rows):
    number = np.random.default_rng(rows).integers(0, most, rows)
    assert np.array_equal(ranks(number), np.unique(number, return_inverse=True)[1])


def test_no_rows_have_no_ranks():
    assert len(ranks(np.zeros(0, np.int64))) == 0


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_rows_are_grouped_as_by_a_stable_sort(kind):
    group = np.random.default_rng(0).integers(0, 300, 4000).astype(kind)
    order, start = grouped(group, 310)
    assert np.array_equal(order, np.argsort(group, kind="stable"))
    assert np.array_equal(np.diff(start), np.bincount(group, minlength=310))


def test_many_rows_are_numbered_as_few_are(monkeypatch):
    columns = [np.random.default_rng(1).integers(0, 50_000, 70_000) for _ in range(3)]
    many = release.row_numbers(columns)
    monkeypatch.setattr(release, "MANY_ROWS", 1 << 40)
    assert np.array_equal(many, release.row_numbers(columns))
