"""Membership disclosure: can a reader find out who is in the table? Nothing here sees the original but as targets."""

# ruff: noqa: F403 - each file names what it offers once, in its own __all__
from unveil.risk.membership import belief, matching, presence, scores, shadow, tuples
from unveil.risk.membership.belief import *
from unveil.risk.membership.matching import *
from unveil.risk.membership.presence import *
from unveil.risk.membership.scores import *
from unveil.risk.membership.shadow import *
from unveil.risk.membership.tuples import *

__all__ = [*belief.__all__, *matching.__all__, *presence.__all__, *scores.__all__, *shadow.__all__, *tuples.__all__]
