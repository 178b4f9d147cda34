"""Numbers as a person reads them: in the unit of their measure, with the interval, and small counts withheld."""

from collections.abc import Sequence
from typing import Any

from unveil.audit.measures import measure as registered

__all__ = ["count", "interval", "share", "spoken", "total"]


def share(value: float, *, sign: bool = True) -> str:
    """A share in per cent: one decimal, two digits if it is smaller than that."""
    percent = 100 * value
    if percent == 0 or abs(percent) >= 0.1:
        text = f"{percent:.1f}".removesuffix(".0") if abs(percent) in (0, 100) else f"{percent:.1f}"
    else:
        text = f"{percent:.2g}" if abs(percent) >= 1e-4 else "<0.0001"
    return text + "%" if sign else text


def spoken(value: Any, measure: str, statistic: str | None = None) -> str:
    """A value in the unit of its measure: per cent, times, points, or a plain number."""
    if value is None:
        return "unknown"
    unit = registered(measure).unit_of(statistic)
    if value == "inf":
        return "×∞" if unit == "times" else "∞"
    if unit == "share":
        return share(value)
    if unit == "points":
        return f"{100 * value:.1f} points"
    return f"×{_digits(value)}" if unit == "times" else _digits(value)


def _digits(value: float) -> str:
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    if 1000 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    if abs(value) < 1e-12:  # what rounding leaves of 0
        return "0"
    return f"{value:.3g}" if abs(value) >= 1e-4 else f"{value:.1e}"


def interval(low: Any, high: Any, measure: str, statistic: str | None = None) -> str:
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
