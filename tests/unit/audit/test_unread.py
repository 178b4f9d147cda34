"""What an earlier release tells that was not read: columns that only it has, who is in it, other changes."""

import numpy as np
import pytest

from planted_pairs import planted_pair
from unveil.audit.unread import _goes_with, unread
from unveil.risk.composition import EarlierRelease, KnownPeople


@pytest.mark.parametrize("seed", range(5))
def test_what_goes_with_the_answer_and_what_does_not(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 400)
    for codes in (2, 10, 300):
        assert not _goes_with(rng.integers(0, codes, 400), truth, codes, truth, 3), codes
    assert not _goes_with(np.zeros(400, dtype=int), truth, 1, truth, 3)
    assert _goes_with(truth, truth, 3, truth, 3)
    assert _goes_with(np.where(rng.random(400) < 0.6, truth, rng.integers(0, 3, 400)), truth, 3, truth, 3)
    assert _goes_with((truth == 0).astype(int), truth, 2, truth, 3)  # one answer is ruled out
    rare = np.where(np.arange(400) < 8, 0, 1 + truth % 2)  # eight people have a rare answer and one drug
    assert _goes_with((rare > 0).astype(int), rare, 2, rare, 3)


@pytest.mark.parametrize(("changed", "read"), [(0.0, True), (0.01, True), (0.9, False)])
def test_groups_that_hold_what_their_people_have_now_have_not_changed(changed, read):
    """Each of the planted people is told; whoever says that nine of ten values changed since is not believed."""
    table, old, new, _ = planted_pair(160, 4)
    people, secret = KnownPeople.of_table(table, ["age", "zip"]), table.attributes[2]
    earlier = EarlierRelease(release=old, changed=changed)
    why = unread("old", earlier, (new, table), {"age", "zip", "diagnosis"}, people, secret, table.columns[2])
    assert (why == "") == read
    assert read or "have not changed as is said (changed=0.9)" in why
