"""Being in a masked release: what an audit says of it, with control people."""

from collections.abc import Sequence
from dataclasses import replace

from unveil.audit.membership import (
    Membership,
    MembershipAsked,
    membership_refused,
    roc_points,
    told_findings,
    told_words,
)
from unveil.data.masked import Masked
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.risk.linkage.distance import nearest_distances
from unveil.risk.membership.scores import score_quality

__all__ = ["masked_membership"]

REASON = "values were perturbed, not widened"


def masked_membership(
    masked: Masked,
    name: str,
    asked: MembershipAsked,
    *,
    known: Sequence[str],
    table: Table | None,
    control: Table | None,
    engine: Engine,
) -> Membership:
    """Members told from controls by the nearest published row; groups, and beliefs from them, there are none."""
    if table is None or control is None:
        return membership_refused(name, asked, f"{REASON}; members can be told from --control people only")
    try:
        distances = nearest_distances(masked, [table, control], known, engine=engine)
    except (NotApplicable, UsageError) as reason:
        return membership_refused(name, asked, str(reason))
    told = {"nearest": score_quality(*(-part for part in distances))}
    refused = membership_refused(name, asked, REASON)
    found = list(told_findings(name, told, ("nearest",)))
    measured = {f.id for f in found}
    first = "Being in the table is sensitive" if asked.sensitive else "Being in the table is not said to be sensitive"
    facts = {**refused.facts, "known": list(known), "reason": None}
    facts["words"] = f"{first}. By how near the nearest row is:{told_words(told)}"
    kept = tuple(f for f in refused.findings if f.id not in measured)
    return replace(refused, findings=(*found, *kept), facts=facts, charts={"roc": roc_points(told)})
