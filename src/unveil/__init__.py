"""unveil: may this table be published? Anonymize microdata, and audit any release."""

import importlib
from typing import Any

# Public names, each with the module that holds it; nothing is imported before it is used.
_HOME = {
    "Anonymized": "data.release",
    "Attack": "audit.attack",
    "Attribute": "data.attribute",
    "Audit": "audit",
    "Belief": "data.belief",
    "Block": "data.release",
    "Bounded": "frontier.bounded",
    "Case": "audit.case",
    "Chains": "attackers.posterior.contract",
    "Check": "audit.levels",
    "Differential": "audit.differential",
    "Engine": "engine",
    "Estimate": "data.belief",
    "Frontier": "frontier",
    "Hierarchy": "data.hierarchy",
    "Kind": "data.attribute",
    "LaplaceCounts": "risk.differential",
    "Link": "audit.linking",
    "NotApplicable": "errors",
    "Oracle": "risk.differential",
    "Prior": "data.belief",
    "Regions": "data.regions",
    "Release": "data.release",
    "Role": "data.attribute",
    "Schema": "data.schema",
    "Sidecar": "formats.releases.published",
    "Table": "data.table",
    "Targets": "data.belief",
    "UnveilError": "errors",
    "anonymizer": "catalog",
    "attack": "audit.attack",
    "attacker": "catalog",
    "audit_frames": "audit",
    "bounded_release": "frontier.bounded",
    "certainty_penalty": "utility",
    "discernibility": "utility",
    "draft_schema": "data.draft",
    "privacy_model": "catalog",
    "query_error": "utility",
    "read_paired": "formats.releases.assignments",
    "read_release": "formats.releases",
    "read_schema": "data.schema",
    "read_table": "formats.tables",
    "run_audit": "audit",
    "run_check": "audit.levels",
    "run_differential": "audit.differential",
    "run_disclosure": "audit.disclosure",
    "run_frontier": "frontier",
    "run_link": "audit.linking",
    "run_membership": "audit.membership_trial",
    "sidecar_of": "formats.output.frames",
    "targets_of_table": "data.targets",
    "to_frame": "formats.output.frames",
    "utility_loss": "utility",
    "write_release": "formats.releases",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"unveil.{_HOME[name]}"), name)
    if name == "audit":  # the package, which can be called: unveil.audit(release=df, …)
        return importlib.import_module("unveil.audit")
    raise AttributeError(f"module 'unveil' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
