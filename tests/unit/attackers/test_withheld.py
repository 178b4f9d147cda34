"""Withheld sensitive values: one column a kind, or one a row where blocks are matched one by one."""

import numpy as np
import pytest

from enumeration import AGE, ILL, SEX, written_release
from unveil.attackers.posterior import hidden as _withheld
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.data.belief import Prior
from unveil.errors import NotApplicable

THREE = written_release(
    (AGE, SEX, ILL),
    {"age": "20; 21; 20 / 22; 20", "sex": "f; m; m / f; f", "disease": "*; *; flu / flu,hiv; none"},
)
TWO = written_release((AGE, SEX, ILL), {"age sex": "20 f; 21 m; 20 m / 22 f; 20 f", "disease": "*; *; flu / *; none"})


def test_with_several_blocks_each_withheld_row_has_a_column() -> None:
    model = HiddenModel.of(THREE, 2, Prior.uninformative(THREE, 2))
    assert model.withheld.by_row
    assert model.withheld.rows.tolist() == [1, 1, 1]
    assert sorted(model.withheld.allowed.sum(axis=1).tolist()) == [2, 3, 3]
    for block in model.hidden:
        own = block.column >= 3
        assert (block.rows[own] == 1).all()
        assert set(block.column[own].tolist()) == {3, 4, 5}


def test_with_one_block_rows_of_a_kind_share_a_column() -> None:
    model = HiddenModel.of(TWO, 2, Prior.uninformative(TWO, 2))
    assert not model.withheld.by_row
    assert model.withheld.rows.tolist() == [3]


def test_too_many_withheld_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_withheld, "MOST_WITHHELD", 2)
    prior = Prior(np.ones(3), {0: np.ones((3, 4)), 1: np.ones((3, 2))})
    with pytest.raises(
        NotApplicable, match="3 withheld sensitive values in a release of three blocks or more are over 2"
    ):
        HiddenModel.of(THREE, 2, prior)
    HiddenModel.of(TWO, 2, prior)
