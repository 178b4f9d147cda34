"""Audit: may these releases be published? Every reader, risk and utility, compared with limits; one document."""

from unveil.audit.asking import code_people
from unveil.audit.limits import Limit, Preset, parse_limit, read_presets
from unveil.audit.membership import MembershipQuestion, hold_out
from unveil.audit.notebook import audit_frames, make_callable
from unveil.audit.run import Audit, run_audit

__all__ = [
    "Audit",
    "Limit",
    "MembershipQuestion",
    "Preset",
    "audit_frames",
    "code_people",
    "hold_out",
    "parse_limit",
    "read_presets",
    "run_audit",
]

make_callable(__name__)
