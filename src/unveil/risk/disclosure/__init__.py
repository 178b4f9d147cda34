"""Attribute disclosure of masked tables (Torra 2022, chapter 3): how near the published values lie to the true ones.

Plain functions that return an Estimate, each beside the baseline that tells disclosure from what anybody could say.
Columns are those of PublishedRows: numbers with NaN for missing, or codes; row i of both belongs to one person.
"""

from unveil.risk.disclosure.absent import absent_disclosure, sampled_disclosure
from unveil.risk.disclosure.intervals import (
    deviation_interval,
    deviation_interval_baseline,
    deviation_interval_disclosure,
    distance_risk,
    paired,
    rank_interval,
    rank_interval_baseline,
    rank_interval_disclosure,
    simple_baseline,
    simple_disclosure,
)
from unveil.risk.disclosure.models import (
    MODELS,
    DisclosureByInputs,
    Guesses,
    disclosure_by_inputs,
    model_baseline,
    model_disclosure,
    model_gain,
    model_guesses,
)

__all__ = [
    "MODELS",
    "DisclosureByInputs",
    "Guesses",
    "absent_disclosure",
    "deviation_interval",
    "deviation_interval_baseline",
    "deviation_interval_disclosure",
    "disclosure_by_inputs",
    "distance_risk",
    "model_baseline",
    "model_disclosure",
    "model_gain",
    "model_guesses",
    "paired",
    "rank_interval",
    "rank_interval_baseline",
    "rank_interval_disclosure",
    "sampled_disclosure",
    "simple_baseline",
    "simple_disclosure",
]
