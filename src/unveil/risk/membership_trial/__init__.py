"""Membership inference tried on people whose truth is known: scores of releases, models and predictions."""
