"""Which release is better: no risk worse, no utility worse, by more than their intervals allow."""

import math
from collections.abc import Iterable, Sequence

from unveil.audit.document import Finding, Number

__all__ = ["HIGHER_IS_SAFER", "compared", "dominance"]

# What a finding says of a release: risks, where less is safer unless named here; and utility.
HIGHER_IS_SAFER = frozenset(
    {"absolute_error", "squared_error", "expected_absolute_error", "interval_width", "fake_tuples"}
)
RISKS = frozenset(
    {
        "global_threat",
        "relative_global_threat",
        "relative_threat",
        "absolute_error",
        "belief_gain",
        "confident",
        "prosecutor_risk",
        "marketer_risk",
        "singled_out",
        "expected_absolute_error",
        "interval_width",
        "member_advantage",
    }
)
UTILITY = {"discernibility": -1, "certainty_penalty": -1, "suppressed_share": -1, "faithfulness": 1}


def dominance(
    findings: Sequence[Finding], releases: Sequence[str], attackers: Sequence[str]
) -> tuple[list[dict[str, str]], str]:
    """Pairs of a better and a worse release, and the same in words.

    A release dominates another if none of its risks and no utility is worse and some is better; a difference within
    the intervals counts as none.
    """
    pairs = []
    for one in releases:
        for other in releases:
            if one != other and dominates(findings, one, other, attackers):
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


def dominates(findings: Sequence[Finding], one: str, other: str, attackers: Sequence[str]) -> bool:
    """Whether no comparable finding of `one` is worse than the other's and at least one is better."""
    mine = {(f.attribute, f.id): f for f in findings if f.release == one}
    theirs = {(f.attribute, f.id): f for f in findings if f.release == other}
    signs = [
        compared(mine[key], theirs[key], sign)
        for key in mine
        if key in theirs and (sign := _direction(key[1], attackers)) != 0
    ]
    return bool(signs) and min(signs) >= 0 and max(signs) > 0


def compared(one: Finding, other: Finding, direction: int) -> int:
    """1 if the first is better, -1 if worse, 0 if intervals overlap or one is unknown; direction 1: more is better."""
    ends = [_number(v) for v in (one.low, one.high, other.low, other.high)]
    if any(math.isnan(e) for e in ends):
        return 0
    low, high, their_low, their_high = ends
    above, below = low > their_high + _slack(ends), high < their_low - _slack(ends)
    return direction * (int(above) - int(below))


def _direction(id: str, attackers: Sequence[str]) -> int:
    reader, _, rest = id.partition(".")
    name = rest if reader in attackers else id
    measure, _, statistic = name.partition(".")
    if measure in UTILITY and "." not in id:
        return UTILITY[measure]
    if reader in ("learner", "ideal") or measure not in RISKS or statistic == "skewness" or " - " in id:
        return 0
    return 1 if measure in HIGHER_IS_SAFER else -1


def _slack(ends: Iterable[float]) -> float:
    return 1e-9 * max((abs(e) for e in ends if math.isfinite(e)), default=0.0)


def _number(value: Number) -> float:
    return math.nan if value is None else math.inf if isinstance(value, str) else float(value)
