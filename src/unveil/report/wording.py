"""Numbers and labels as words a person reads. Every value of the data is hostile until it went through `label`."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from unveil.audit.document import Finding

__all__ = [
    "TITLES",
    "VERDICTS",
    "clean",
    "count",
    "distinct_labels",
    "interval",
    "label",
    "measure_of",
    "number",
    "reader_name",
    "share",
    "spoken",
    "total",
]

LONGEST_LABEL = 80
LONGEST_TEXT = 1200

VERDICTS = {
    "within": "Within the stated limits",
    "exceeded": "Limits exceeded",
    "inconclusive": "Inconclusive",
    "no limit": "No verdict: no limits were given",
}

# What a finding is called on the officer's page; ids are shown beside every finding further down.
TITLES = {
    "prosecutor_risk.max": "Prosecutor risk, the worst-off person",
    "prosecutor_risk.mean": "Prosecutor risk, average",
    "journalist_risk.max": "Journalist risk, the worst-off person",
    "journalist_risk.mean": "Journalist risk, average",
    "marketer_risk": "Marketer risk",
    "singled_out": "Rows alone in their class",
    "reid": "People linked with their own row",
    "claimed": "People of whom one row alone is nearest",
    "claim_precision": "Of these, people whose own row it is",
    "suppressed_share": "Rows suppressed",
    "certainty_penalty": "Detail lost in the cells",
    "discernibility": "Discernibility (sum of squared group sizes)",
    "faithfulness": "Faithfulness",
    "groups.mean_size": "Average group size",
    "query_error": "Error of random counts",
    "membership_posterior.max": "Belief in membership, the worst-off person",
    "membership_posterior.mean": "Belief in membership, average over people in the table",
    "membership_odds.max": "Factor on the odds of membership, the worst-off person",
    "membership_auc.degree": "Members told from controls, by matching groups (AUC)",
    "membership_auc.frequency": "Members told from controls, by frequency (AUC)",
    "membership_auc.nearest": "Members told from controls, by the nearest row (AUC)",
    "membership_auc": "Members told from controls (AUC), the best score",
    "membership_tpr.1_in_100": "Members found, 1 in 100 controls accused",
    "membership_tpr.1_in_1000": "Members found, 1 in 1,000 controls accused",
    "delta_presence.min": "Share of the matching population in the table, smallest",
    "delta_presence.max": "Share of the matching population in the table, largest",
    "fake_tuples": "Fake tuples, all published attributes",
    "fake_tuples.known": "Fake tuples, attributes known of a person",
    "matching_groups.rows_more": "Rows that match more than 20 groups",
    "matching_groups.fake_more": "Fake tuples that match more than 20 groups",
    "utility_loss": "Utility lost for large populations",
}

_SHARES = {
    "absent_disclosure",
    "accuracy",
    "alone_in_original",
    "baseline_accuracy",
    "certainty_penalty",
    "claim_precision",
    "claimed",
    "confident",
    "confident_right",
    "deviation_error",
    "deviation_interval_disclosure",
    "exposed_by_fact",
    "fewer_values",
    "global_threat",
    "journalist_risk",
    "learner_right",
    "marketer_risk",
    "matching_groups",
    "member_advantage",
    "model_disclosure",
    "membership_posterior",
    "membership_tpr",
    "near_truth",
    "prosecutor_risk",
    "query_error",
    "rank_interval_disclosure",
    "reid",
    "right",
    "share_error",
    "similar",
    "simple_disclosure",
    "single_row",
    "singled_out",
    "suppressed_share",
    "sure",
    "twice_exposed",
    "vulnerable",
}
_POINTS = {"belief_gain", "mean_gain", "model_gain", "relative_global_threat", "worst_gain"}
_TIMES = {"belief_ratio", "membership_odds", "relative_threat"}
_ODD = re.compile(r"[^\S ]+")


def clean(text: object, most: int = LONGEST_TEXT) -> str:
    """Text that can neither break a line, turn the writing direction, hide a sign, nor fill the page."""
    cut = str(text)[: most + 1]
    if len(cut) > most:
        cut = cut[: most - 1] + "…"
    plain = _ODD.sub(" ", cut)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in plain)


def label(text: object) -> str:
    """A short name: of a file, an attribute, a value."""
    return clean(text, LONGEST_LABEL)


def distinct_labels(names: Iterable[object]) -> list[str]:
    """Labels of different things stay different, though they were cut."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        short = label(name)
        seen[short] = seen.get(short, 0) + 1
        found.append(short if seen[short] == 1 else f"{short} ({seen[short]})")
    return found


def reader_name(name: str) -> str:
    """`random_worlds` as people write it."""
    return label(name.replace("_", " "))


def measure_of(id: str, readers: Iterable[str]) -> tuple[str, str, str]:
    """An id `[attacker.]measure[.statistic]` in its three parts; a part that is not there is empty."""
    first, _, rest = id.partition(".")
    if rest and first in {*readers, "learner", "ideal", "background", "known"}:
        measure, _, statistic = rest.partition(".")
        return first, measure, statistic
    return "", first, rest


def share(value: float, *, sign: bool = True) -> str:
    """A share in per cent: one decimal, two digits if it is smaller than that."""
    percent = 100 * value
    if percent == 0 or abs(percent) >= 0.1:
        text = f"{percent:.1f}".removesuffix(".0") if abs(percent) in (0, 100) else f"{percent:.1f}"
    else:
        text = f"{percent:.2g}" if abs(percent) >= 1e-4 else "<0.0001"
    return text + "%" if sign else text


def spoken(value: Any, measure: str, statistic: str = "") -> str:
    """A value in the unit of its measure: per cent, times, points, or a plain number."""
    if value is None:
        return "unknown"
    times = measure in _TIMES and not statistic.startswith(("share", "skewness"))
    if value == "inf":
        return "×∞" if times else "∞"
    if measure in _SHARES or statistic.startswith("share"):
        return share(value)
    if measure in _POINTS:
        return f"{100 * value:.1f} points"
    if times:
        return f"×{_digits(value)}"
    return _digits(value)


def _digits(value: float) -> str:
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    if 1000 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-4 else f"{value:.1e}"


def number(finding: Finding, readers: Iterable[str]) -> str:
    """A finding's value in the unit of its measure."""
    _, measure, statistic = measure_of(finding.id, readers)
    return spoken(finding.value, measure, statistic)


def interval(low: Any, high: Any, measure: str, statistic: str = "") -> str:
    """`low – high`, the unit once; nothing where there is no error or no value; one end may be open."""
    if low == high:
        return ""
    if low is None or high is None:
        word, end = ("at most", high) if low is None else ("at least", low)
        return f"{word} {spoken(end, measure, statistic)}"
    first, last = spoken(low, measure, statistic), spoken(high, measure, statistic)
    for unit in ("%", " points"):
        if first.endswith(unit) and last.endswith(unit):
            first = first.removesuffix(unit)
    if first.startswith("×"):
        last = last.removeprefix("×")
    return first if first == last else f"{first} – {last}"


def count(value: int | None, least: int) -> str:
    """A number of people; one that is withheld is below the least count."""
    return f"<{least}" if value is None else f"{value:,}"


def total(values: Sequence[int | None], least: int) -> str:
    """The sum of counts, of which some may be withheld."""
    known, hidden = sum(v for v in values if v is not None), sum(v is None for v in values)
    if not hidden:
        return f"{known:,}"
    if known:
        return f"≥{known:,}"
    return f"<{least}" if hidden == 1 else f"≤{hidden * (least - 1):,}"
