"""What the cells of a release look like: whether they are intervals or sets, for a schema that is drafted from them."""

import re
from collections.abc import Sequence

from unveil.data.attribute import Kind

__all__ = ["hold_several", "interval_kind", "out_of_list"]


_DASH = r"~|-|–|—|\.\.|\bto\b|/"
_FLAGS = re.ASCII | re.IGNORECASE


def _shapes(end: str, between: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A cell with one value, and one with a bound or two ends: [20, 30[ (-Inf,19] 20~29 19-33 <50 90+."""
    open_ended = rf"(?:{end}|[+-]?(?:inf|infinity|∞))?"
    bracketed = rf"[\[\](] ?{open_ended} ?(?:[,;]|{_DASH}) ?{open_ended} ?[\])\[]"
    wide = rf"{bracketed}|{end} ?(?:{between}) ?{end}|(?:[<>≤≥]=?|=[<>]) ?{end}|{end} ?\+"
    return re.compile(end, _FLAGS), re.compile(wide, _FLAGS)


_NUMBERS = _shapes(r"[+-]?\d+(?:[.,]\d+)?(?:e[+-]?\d+)?", f",|{_DASH}")
_CODES = _shapes(r"\d+", _DASH)  # of postcodes 81541,81549 is a list
_DATES = _shapes(r"\d{4}-\d{2}-\d{2}", _DASH)
_LONE = re.compile(r"""\s*\[\s*(['"])([^'"]*)\1\s*\]\s*""")


def interval_kind(cells: Sequence[str], *, codes: bool) -> Kind | None:
    """Numbers or dates, if some cells are intervals of them and all others single ones. `codes`: as postcodes are."""
    cells = [" ".join(cell.split()) for cell in cells]
    for kind, (value, wide) in ((Kind.NUMERIC, _CODES if codes else _NUMBERS), (Kind.DATE, _DATES)):
        if any(map(wide.fullmatch, cells)) and all(wide.fullmatch(c) or value.fullmatch(c) for c in cells):
            return kind
    return None


def out_of_list(text: str) -> str:
    """What a list of one holds, as Python writes it: ['20-29']; any other text is itself."""
    lone = _LONE.fullmatch(text)
    return lone[2] if lone else text


def hold_several(texts: Sequence[str]) -> bool:
    """Whether cells are sets: in brackets, or a list of which a part stands elsewhere too."""
    alone = {text.strip() for text in texts}
    owner: dict[str, str] = {}
    for text in alone:
        if text[:1] + text[-1:] in ("{}", "[]", "()") and any(mark in text for mark in ",;|'\""):
            return True
        for separator in ",;|":
            for part in map(str.strip, text.split(separator) if separator in text else ()):
                if part and (part in alone or owner.setdefault(part, text) != text):
                    return True
    return False
