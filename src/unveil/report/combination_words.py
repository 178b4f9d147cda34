"""What combinations of known attributes come to, in a sentence: what little knowledge leaves somebody with one row."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["combination_words"]

MOST_NAMES = 8  # attributes of a combination that a sentence names


def combination_words(rows: Sequence[Mapping[str, Any]], release: str) -> str | None:
    """Of one release, from the document's rows; None where it was not asked or nothing can be counted."""
    share = {tuple(row["known"]): row["single_row"] for row in rows if row["release"] == release}
    counted = {known: s for known, s in share.items() if isinstance(s, float | int) and known}
    if not counted:
        return None
    exposing = {known: s for known, s in counted.items() if s > 0}
    if not exposing:
        if len(counted) < len(share):
            return None
        return "None of the combinations asked about leaves anybody with a single published row."
    least = min(exposing, key=lambda known: (len(known), -exposing[known]))
    most = max(exposing, key=lambda known: (exposing[known], -len(known)))
    words = f"By {_named(least)} alone {_percent(exposing[least])} of people are left with a single published row"
    all_of = "the most of those asked about" if len(counted) == len(share) else "the most of those that can be counted"
    if most == least:
        return f"{words}{f', {all_of}' if len(share) > 1 else ''}."
    return f"{words}; by {_named(most)} it is {_percent(exposing[most])}, {all_of}."


def _named(known: Sequence[str]) -> str:
    shown = ", ".join(known[:MOST_NAMES])
    return shown if len(known) <= MOST_NAMES else f"{shown} and {len(known) - MOST_NAMES} more"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share == 1 or 0.1 <= share <= 0.99 else f"{share:.1%}" if share >= 0.001 else "under 0.1%"
