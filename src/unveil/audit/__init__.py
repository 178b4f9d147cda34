"""Audit: may these releases be published? Every reader, risk and utility, compared with limits; one document."""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unveil.audit.asking import code_people
    from unveil.audit.limits import Limit, Preset, parse_limit, read_presets
    from unveil.audit.membership import MembershipQuestion, hold_out
    from unveil.audit.notebook import audit_frames
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

# Nothing is imported before it is used: who draws a document needs no sampler.
_HOME = {
    **dict.fromkeys(("Limit", "Preset", "parse_limit", "read_presets"), "limits"),
    **dict.fromkeys(("MembershipQuestion", "hold_out"), "membership"),
    **dict.fromkeys(("Audit", "run_audit"), "run"),
    "audit_frames": "notebook",
    "code_people": "asking",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


class _Verb(ModuleType):
    """unveil.audit is both the package and the verb: called, it audits frames."""

    def __call__(self, *args: Any, **options: Any) -> "Audit":
        from unveil.audit.notebook import audit_frames

        return audit_frames(*args, **options)


sys.modules[__name__].__class__ = _Verb
