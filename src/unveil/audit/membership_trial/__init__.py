"""Membership inference: was a person in the table a release was made of, or among those a model learned from?"""

from unveil.audit.membership_trial.run import Trial, check_limits, run_membership

__all__ = ["Trial", "check_limits", "run_membership"]
