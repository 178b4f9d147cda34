"""Frontier: which release should be published? Schemes and parameters swept, measured, and the undominated kept."""

from unveil.frontier.points import Point
from unveil.frontier.run import Frontier, run_frontier
from unveil.frontier.schemes import Candidate, Scheme, default_schemes, parse_scheme
from unveil.frontier.sources import Questions, ReaderSettings

__all__ = [
    "Candidate",
    "Frontier",
    "Point",
    "Questions",
    "ReaderSettings",
    "Scheme",
    "default_schemes",
    "parse_scheme",
    "run_frontier",
]
