"""Membership inference: was a person in the table a release was made of, or among those a model learned from?"""

from unveil.inference.models import scores_of_model
from unveil.inference.releases import scores_of_release, scores_of_scheme
from unveil.inference.run import Trial, check_limits, run_membership
from unveil.inference.scores import Scores, scores_of_predictions

__all__ = [
    "Scores",
    "Trial",
    "check_limits",
    "run_membership",
    "scores_of_model",
    "scores_of_predictions",
    "scores_of_release",
    "scores_of_scheme",
]
