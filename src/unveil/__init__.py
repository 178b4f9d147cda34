"""unveil: may this table be published? Anonymize microdata, and audit any release."""

import importlib
from typing import Any

# Public names, each with the module that holds it; nothing is imported before it is used.
_HOME = {
    "Anonymized": "release",
    "Attribute": "attribute",
    "Audit": "audit",
    "Block": "release",
    "Check": "check",
    "Differential": "differential",
    "Engine": "engine",
    "Estimate": "belief",
    "Frontier": "frontier",
    "Hierarchy": "hierarchy",
    "Kind": "attribute",
    "LaplaceCounts": "differential",
    "Link": "identity",
    "Masked": "masked",
    "MaskedTable": "masked",
    "NotApplicable": "errors",
    "Oracle": "differential",
    "Regions": "regions",
    "Release": "release",
    "Role": "attribute",
    "Schema": "schema",
    "Sidecar": "formats.sidecar",
    "Table": "table",
    "UnveilError": "errors",
    "anonymizer": "catalog",
    "certainty_penalty": "utility",
    "discernibility": "utility",
    "draft_schema": "draft",
    "privacy_model": "catalog",
    "query_error": "utility",
    "read_masked": "formats.masked",
    "read_paired": "formats.keys",
    "read_release": "formats.releases",
    "read_schema": "schema",
    "read_table": "formats.tables",
    "run_audit": "audit",
    "run_check": "check",
    "run_differential": "differential",
    "run_disclosure": "attribute_disclosure",
    "run_frontier": "frontier",
    "run_link": "identity",
    "run_membership": "inference",
    "sidecar_of": "formats.frame_output",
    "to_frame": "formats.frame_output",
    "utility_loss": "utility",
    "write_masked": "formats.masked",
    "write_release": "formats.releases",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"unveil.{_HOME[name]}"), name)
    raise AttributeError(f"module 'unveil' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
