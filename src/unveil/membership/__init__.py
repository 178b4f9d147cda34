"""Membership disclosure: can a reader find out who is in the table? Nothing here sees the original but as targets."""

from unveil.membership.matching import matching_groups
from unveil.membership.posterior import MembershipReader, Roc, frequency_score, learn_membership, roc, true_positive_at
from unveil.membership.presence import Presence, delta_presence
from unveil.membership.shadow import Inference, ShadowAttack, infer_membership, train_shadows
from unveil.membership.tuples import BANDS, Counted, FakeTuples, count_tuples, fake_tuples

__all__ = [
    "BANDS",
    "Counted",
    "FakeTuples",
    "Inference",
    "MembershipReader",
    "Presence",
    "Roc",
    "ShadowAttack",
    "count_tuples",
    "delta_presence",
    "fake_tuples",
    "frequency_score",
    "infer_membership",
    "learn_membership",
    "matching_groups",
    "roc",
    "train_shadows",
    "true_positive_at",
]
