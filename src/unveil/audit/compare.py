"""Which release is better: nothing that both have is worse by more than its interval, and something is better."""

import math
from collections.abc import Sequence

from unveil.audit.document import Finding, amount
from unveil.audit.measures import PANEL, kind_of, measure

__all__ = ["compared", "dominance"]


def dominance(findings: Sequence[Finding], releases: Sequence[str]) -> tuple[list[dict[str, str]], str]:
    """Pairs of a better and a worse release, and the same in words.

    A release dominates another if none of its risks and no utility is worse and some is better; a difference within
    the intervals counts as none.
    """
    pairs = []
    for one in releases:
        for other in releases:
            if one != other and dominates(findings, one, other):
                pairs.append({"better": one, "worse": other})
    if len(releases) < 2:
        return pairs, "There is one release only; nothing is compared."
    if not pairs:
        return pairs, "No release dominates another: what one is better in, it pays for elsewhere."
    words = [
        f"{p['better']} dominates {p['worse']}: no risk and no utility is worse, and some is better" for p in pairs
    ]
    others = len(releases) * (len(releases) - 1) // 2 - len(pairs)
    rest = (
        "" if not others else " Of the other pairs neither dominates." if others > 1 else " Of the other pair neither."
    )
    return pairs, "; ".join(words) + "." + rest


def dominates(findings: Sequence[Finding], one: str, other: str) -> bool:
    """Whether no finding that both releases have is worse for `one`, and at least one is better."""
    mine, theirs = (
        {(f.attribute, f.id): f for f in findings if f.release == name and f.minus is None} for name in (one, other)
    )
    signs = [
        compared(mine[key], theirs[key], sign) for key in mine if key in theirs and (sign := _direction(mine[key]))
    ]
    return bool(signs) and min(signs) >= 0 and max(signs) > 0


def compared(one: Finding, other: Finding, direction: int) -> int:
    """1 if the first is better, -1 if worse, 0 if intervals overlap or one is unknown; direction 1: more is better."""
    low, high, their_low, their_high = ends = [amount(v) for v in (one.low, one.high, other.low, other.high)]
    if any(math.isnan(e) for e in ends):
        return 0
    slack = 1e-9 * max((abs(e) for e in ends if math.isfinite(e)), default=0.0)  # what rounding may do
    return direction * (int(low > their_high + slack) - int(high < their_low - slack))


def _direction(finding: Finding) -> int:
    """Which way is better; what anybody learns in general, and what the original would teach, are no fault of it.

    The panel varies readers that are compared anyway.
    """
    if finding.reader in ("learner", "ideal") or kind_of(finding.reader or "") == PANEL:
        return 0
    return measure(finding.measure).direction(finding.statistic)
