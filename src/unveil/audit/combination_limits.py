"""Limits on chosen combinations of known attributes: `known.MEASURE[.A+B] (<=|<|>=|>) NUMBER`.

Without attributes a limit holds for every combination. What a limit is compared with becomes a finding.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from unveil.audit.document import Finding, Verdict
from unveil.audit.limits import Limit, parse_limit, worst
from unveil.errors import UsageError, shown

__all__ = ["COUNTED", "JUDGED", "combination_findings", "combination_limits", "split_limits"]

COUNTED = ("alone_in_original", "fewest_rows", "single_row")  # of the release and the original
JUDGED = ("learner_right", "right", "twice_exposed", "sure")  # of what readers believe


def split_limits(limits: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The limits on findings of the whole audit, and those on combinations."""
    own = tuple(text for text in limits if text.lstrip().startswith("known."))
    return tuple(text for text in limits if text not in own), own


def combination_limits(limits: Sequence[str], combinations: Sequence[Sequence[str]]) -> list[Limit]:
    """Read them; one that no combination can be compared with is refused before the work."""
    joined = [_joined(names) for names in combinations]
    found = []
    for text in limits:
        limit = parse_limit(text)
        if not combinations:
            raise UsageError(f"{shown(text)}: give --known more than once, so that there are combinations to judge")
        if limit.right is not None or limit.left.measure not in (*COUNTED, *JUDGED):
            names = ", ".join(f"known.{m}" for m in (*COUNTED, *JUDGED))
            raise UsageError(f"{shown(text)}: combinations have no {shown(limit.left.id)}; choose from {names}")
        if limit.left.statistic not in (None, *joined):
            raise UsageError(f"{shown(text)}: unknown combination; choose from {', '.join(joined)}")
        found.append(limit)
    return found


def combination_findings(
    rows: Sequence[Mapping[str, Any]],
    shown_rows: Sequence[Mapping[str, Any]],
    limits: Sequence[Limit],
    combinations: Sequence[Sequence[str]],
    published: Mapping[str, Collection[str]],
) -> tuple[Finding, ...]:
    """What limits name, with its verdict. `shown_rows`: the rows with what an external document withholds left out.

    `published`: the attributes of each release; others, and the one asked about, are not part of what is known there.
    """
    if limits and not rows:
        raise UsageError(f"{shown(limits[0].text)}: no release has a sensitive attribute to ask about")
    asked: dict[str, set[str]] = {}
    for row in rows:
        asked.setdefault(row["release"], set()).add(row["attribute"])
    found: dict[tuple[str, str, str], tuple[Finding, list[tuple[str, Verdict]]]] = {}
    for limit in limits:
        measure = limit.left.measure
        for combination in combinations:
            if limit.left.statistic not in (None, _joined(combination)):
                continue
            for row, visible in zip(rows, shown_rows, strict=True):
                release, attribute = row["release"], row["attribute"]
                if attribute in combination and not asked[release] <= set(combination):
                    continue  # what is known is not asked
                known = [n for n in dict.fromkeys(combination) if n in published[release] and n != attribute]
                if row["known"] != known:
                    continue
                key = (release, attribute, f"{measure}.{_joined(combination)}")
                value, low, high = _estimate(visible, measure)
                statistic = _joined(combination)
                finding = Finding(
                    release=release,
                    attribute=attribute,
                    reader="known",
                    measure=measure,
                    statistic=statistic,
                    value=value,
                    low=low,
                    high=high,
                )
                held = found.setdefault(key, (finding, []))[1]
                if limit.text not in (text for text, _ in held):
                    held.append((limit.text, _verdict(limit, row, measure)))
    return tuple(
        finding.model_copy(update={"limit": "; ".join(text for text, _ in held), "verdict": worst(v for _, v in held)})
        for finding, held in found.values()
    )


def _joined(names: Sequence[str]) -> str:
    return "+".join(dict.fromkeys(names))


def _estimate(row: Mapping[str, Any], measure: str) -> tuple[Any, Any, Any]:
    """Value, low, high; None where it is unknown."""
    value = row.get(measure)
    return (value, value, value) if value is None or measure in COUNTED else tuple(value)


def _verdict(limit: Limit, row: Mapping[str, Any], measure: str) -> Verdict:
    if measure in JUDGED and not row.get("reliable"):  # chains disagree or ended early, or nobody could be asked
        return "inconclusive"
    return limit.judge(*_estimate(row, measure)[1:])
