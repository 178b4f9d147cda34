"""Linkability in an audit: the people of the original, by their quasi-identifiers, linked to the nearest rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unveil.audit.case import Case
from unveil.audit.document import Finding
from unveil.audit.masked_identity import found_masked, identity_charts
from unveil.audit.part import Part
from unveil.errors import NotApplicable, Stopped, UsageError
from unveil.risk.linkage.assignment import link_one_to_one
from unveil.risk.linkage.distance import link_by_distance, on_best_scale
from unveil.risk.linkage.links import Links, claimed, reid
from unveil.risk.linkage.published import Published, published_of
from unveil.risk.linkage.register import Register, register_of_table
from unveil.risk.sampling import sampled_share

__all__ = ["linked", "with_linkability"]

MOST_LINKED = 100_000  # people of a release in classes; of more a random sample, which says as much of the share
MOST_PAIRS = 2_000_000  # of people and rows that are assigned exactly: about a second


def with_linkability(case: Case, part: Part) -> Part:
    """What was found of a release, and the share of people linked rightly; unknown, never 0, where nothing says it."""
    release: Any = case.releases[part.name]
    if release.synthetic:
        return part  # no row is anybody's
    compared = _compared(case, part.name)
    links, remarks = None, part.remarks
    if compared is not None:
        people = compared[1]
        if not release.perturbed and people.people > MOST_LINKED:
            draw = case.engine.named("linked people").generator()
            people = people.some(np.sort(draw.choice(people.people, MOST_LINKED, replace=False)))
            remarks = (*remarks, f"A random sample of {MOST_LINKED:,} people was linked; its interval allows for that.")
        try:
            links = link_by_distance(compared[0], people, engine=case.engine.named("linkability"))
        except (NotApplicable, Stopped):  # domains too large to compare, or the user stopped
            compared = None
    findings = _findings(part.name, compared, links)
    findings += _one_to_one(case, part.name, release, compared, links)
    if not release.perturbed:
        return replace(part, findings=(*part.findings, *findings), remarks=remarks)
    published, held = (None, None) if compared is None else compared
    charts = {}
    try:
        findings += found_masked(
            part.name,
            published,
            held,
            links,
            table=case.original,
            population=case.population,
            engine=case.engine,
        )
        if published is not None and held is not None:
            charts = identity_charts(case, part.name, release, published, held)
    except Stopped:  # what was found before is kept
        pass
    return replace(part, findings=(*part.findings, *findings), links=compared, charts=charts)


def _compared(case: Case, name: str) -> tuple[Published, Register] | None:
    """Everybody in the original and the published rows; None where they cannot be compared."""
    release: Any = case.releases[name]
    if case.original is None:
        return None
    group = case.assignments.get(name) if release.perturbed else None
    try:
        held = register_of_table(case.original, release.true_attributes, case.readers.known)
        return published_of(release, tuple(held.known), group), held
    except (NotApplicable, UsageError):  # links hidden, nothing known, or domains that differ
        return None


def _findings(name: str, compared: tuple[Published, Register] | None, links: Links | None) -> list[Finding]:
    found = [Finding.of(id, name, None, None) for id in ("reid", "claimed")]
    if compared is None or links is None:
        return found
    everyone, sampled = compared[1].people, links.people < compared[1].people
    share = sampled_share(links.claim.astype(np.float64), everyone) if sampled else claimed(links)
    found[1] = Finding.of("claimed", name, None, share)
    if links.chance is not None:
        share = sampled_share(links.chance, everyone) if sampled else reid(links)
        found[0] = Finding.of("reid", name, None, share, baseline=1 / compared[0].rows)
    return found


def _one_to_one(
    case: Case, name: str, release: Any, compared: tuple[Published, Register] | None, links: Links | None
) -> list[Finding]:
    """Of a masked release: people linked by somebody who knows that rows are different people's."""
    if compared is None or links is None or links.chance is None or not release.perturbed:
        return []
    published, held = compared
    if published.origin is None:  # nothing says whose row is whose
        return []
    engine = case.engine.named("one to one")
    try:
        found = link_one_to_one(on_best_scale(published, held), held, engine=engine, most=MOST_PAIRS)
    except (NotApplicable, Stopped):  # too many rows are alike, or the user stopped: nearest rows stand
        return []
    return [Finding.of("reid.one_to_one", name, None, reid(found), baseline=1 / published.rows)]


def linked(findings: Sequence[Finding]) -> Finding | None:
    """The finding that speaks of linkability, if it was measured."""
    return next((f for f in findings if f.id == "reid" and f.value is not None), None)
