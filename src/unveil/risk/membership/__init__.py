"""Membership disclosure: can a reader find out who is in the table? Nothing here sees the original but as targets."""

from unveil.risk.membership.belief import MembershipBelief, frequency_score, learn_membership
from unveil.risk.membership.matching import matching_groups
from unveil.risk.membership.presence import Presence, delta_presence
from unveil.risk.membership.scores import (
    FALSE_ALARMS,
    Roc,
    ScoreQuality,
    likelihood_scores,
    roc,
    score_quality,
    true_positive_at,
    true_positives,
)
from unveil.risk.membership.shadow import Inference, ShadowAttack, infer_membership, scores_by_roster, train_shadows
from unveil.risk.membership.tuples import BANDS, FakeTuples, TupleCount, count_tuples, fake_tuples

__all__ = [
    "BANDS",
    "FALSE_ALARMS",
    "FakeTuples",
    "Inference",
    "MembershipBelief",
    "Presence",
    "Roc",
    "ScoreQuality",
    "ShadowAttack",
    "TupleCount",
    "count_tuples",
    "delta_presence",
    "fake_tuples",
    "frequency_score",
    "infer_membership",
    "learn_membership",
    "likelihood_scores",
    "matching_groups",
    "roc",
    "score_quality",
    "scores_by_roster",
    "train_shadows",
    "true_positive_at",
    "true_positives",
]
