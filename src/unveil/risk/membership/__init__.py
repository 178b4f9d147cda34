"""Membership disclosure: can a reader find out who is in the table? Nothing here sees the original but as targets."""

from unveil.risk.membership.matching import matching_groups
from unveil.risk.membership.posterior import (
    MembershipReader,
    Roc,
    frequency_score,
    learn_membership,
    roc,
    true_positive_at,
)
from unveil.risk.membership.presence import Presence, delta_presence
from unveil.risk.membership.scores import FALSE_ALARMS, Told, likelihood_scores, tell_apart, true_positives
from unveil.risk.membership.shadow import Inference, ShadowAttack, infer_membership, scores_by_roster, train_shadows
from unveil.risk.membership.tuples import BANDS, Counted, FakeTuples, count_tuples, fake_tuples

__all__ = [
    "BANDS",
    "FALSE_ALARMS",
    "Counted",
    "FakeTuples",
    "Inference",
    "MembershipReader",
    "Presence",
    "Roc",
    "ShadowAttack",
    "Told",
    "count_tuples",
    "delta_presence",
    "fake_tuples",
    "frequency_score",
    "infer_membership",
    "learn_membership",
    "likelihood_scores",
    "matching_groups",
    "roc",
    "scores_by_roster",
    "tell_apart",
    "train_shadows",
    "true_positive_at",
    "true_positives",
]
