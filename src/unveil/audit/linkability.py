"""Linkability in an audit: everybody in the original, by their quasi-identifiers, linked to the nearest rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unveil.audit.findings import finding_of, unknown_finding
from unveil.audit.plan import Part, Plan
from unveil.document import Finding
from unveil.errors import NotApplicable, UsageError
from unveil.linkage.held import held_of_table
from unveil.linkage.links import claimed, reid
from unveil.linkage.readers import link_by_distance, published_of
from unveil.masked import Masked

__all__ = ["linked", "with_linkability"]


def with_linkability(plan: Plan, part: Part) -> Part:
    """What was found of a release, and the share of people linked rightly; unknown, never 0, where nothing says it."""
    return replace(part, findings=(*part.findings, *_findings(plan, part.name)))


def _findings(plan: Plan, name: str) -> list[Finding]:
    release: Any = plan.releases[name]
    unknown = [unknown_finding(id, name, None) for id in ("reid", "claimed")]
    if plan.table is None:
        return unknown
    origin = plan.assignments.get(name) if isinstance(release, Masked) else None
    known = plan.readers.known
    try:
        held = held_of_table(plan.table, release.attributes, known)
        published = published_of(release, tuple(held.known), None if origin is None else np.asarray(origin))
        links = link_by_distance(published, held, engine=plan.readers.engine.named("linkability"))
    except (NotApplicable, UsageError):  # links hidden, nothing known, or domains that differ
        return unknown
    found = [unknown[0], finding_of("claimed", name, None, claimed(links))]
    if links.chance is not None:
        found[0] = finding_of("reid", name, None, reid(links), baseline=1 / published.rows)
    return found


def linked(findings: Sequence[Finding]) -> Finding | None:
    """The finding that speaks of linkability, if it was measured."""
    return next((f for f in findings if f.id == "reid" and f.value is not None), None)
