"""Membership disclosure: can a reader find out who is in the table? Nothing here sees the original but as targets."""

from unveil.membership.matching import matching_groups
from unveil.membership.posterior import MembershipReader, Roc, learn_membership, roc
from unveil.membership.presence import Presence, delta_presence
from unveil.membership.tuples import BANDS, Counted, FakeTuples, count_tuples, fake_tuples

__all__ = [
    "BANDS",
    "Counted",
    "FakeTuples",
    "MembershipReader",
    "Presence",
    "Roc",
    "count_tuples",
    "delta_presence",
    "fake_tuples",
    "learn_membership",
    "matching_groups",
    "roc",
]
