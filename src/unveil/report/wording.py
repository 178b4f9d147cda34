"""Labels as a person reads them. Every value of the data is hostile until it went through `label` or `clean`."""

import re
from collections.abc import Iterable

__all__ = ["SIGNS", "VERDICTS", "clean", "distinct_labels", "label", "listed", "reader_name"]

LONGEST_LABEL = 80
LONGEST_TEXT = 1200

VERDICTS = {
    "within": "Within the stated limits",
    "exceeded": "A limit is exceeded",
    "inconclusive": "Inconclusive: not a pass",
    "no limit": "No limit was stated, so there is no verdict",
}
SIGNS = {"within": "✓", "exceeded": "✕", "inconclusive": "?", "no limit": "–"}
SIGNS |= {"not judged": "?", "not considered": "–", "waived": "–"}  # of single kinds of disclosure

_ODD = re.compile(r"[^\S ]+")


def clean(text: object, most: int = LONGEST_TEXT) -> str:
    """Text that can neither break a line, turn the writing direction, hide a sign, nor fill the page."""
    cut = str(text)[: most + 1]
    if len(cut) > most:
        cut = cut[: most - 1] + "…"
    if cut.isprintable():
        return cut
    plain = _ODD.sub(" ", cut)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in plain)


def label(text: object) -> str:
    """A short name: of a file, an attribute, a value."""
    return clean(text, LONGEST_LABEL)


def listed(names: Iterable[object]) -> str:
    """Several names, each short, and not too many of them."""
    return clean(", ".join(map(label, names)), 600)


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
    """`random_worlds` as people write it; its options as they were given."""
    kind, colon, options = name.partition(":")
    return label(kind.replace("_", " ") + colon + options)
