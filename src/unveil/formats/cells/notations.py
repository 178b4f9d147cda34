"""How other tools write a widened cell: what its text may mean, before the domain decides which meaning fits.

ARX, sdcMicro, R's cut, pandas, anonypy and the usual Mondrian scripts each have a way of their own. A text may have
several meanings: `20,29` is a list to one tool and a range to another.
"""

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unveil.data.attribute import Kind
from unveil.errors import UsageError, shown

__all__ = [
    "NOTATIONS",
    "SEPARATORS",
    "Everything",
    "Form",
    "Items",
    "Mask",
    "Piece",
    "Prefix",
    "Span",
    "forms",
    "is_token",
    "parse_cells",
]

NOTATIONS = {
    "value": "the cell is a value as it stands",
    "interval": "[20,30] [20, 30[ [20, 30) (20,30] [20;30]",
    "range": "20~29 19-33 20,29, both ends included; of dates 2021-03 2021Q1 2021",
    "bound": "<50 <=50 ≥ 45 90+",
    "list": "['a','b'] {a,b} a,b a|b",
    "mask": "81***, each star one character",
    "prefix": "81*, the stars are any rest",
    "suppressed": "NA, an empty cell or a token for missing: withheld, not missing",
}

_NUMBER = {".": r"[+-]?\d+(?:\.\d+)?", ",": r"[+-]?\d+(?:,\d+)?"}
_DATE = r"\d{4}-\d{2}-\d{2}"
_PERIOD = re.compile(r"(\d{4})(?:-(\d\d)|-?Q([1-4]))?", re.ASCII)
_DASH = r"\s*(?:~|-|–|—|\.\.|\bto\b|/)\s*"
_ENDLESS = re.compile(r"[+-]?\s*(?:inf|infinity|∞)", re.IGNORECASE)
_BOUND = re.compile(r"(<=|>=|=<|=>|<|>|≤|≥)\s*(.+)", re.DOTALL)
_PLUS = {mark: re.compile(rf"({number})\s*\+", re.ASCII) for mark, number in _NUMBER.items()}
_RANGE = {
    (kind, mark): re.compile(rf"({end}){_DASH}({end})")
    for mark, number in _NUMBER.items()
    for kind, end in ((Kind.NUMERIC, number), (Kind.DATE, _DATE))
}
_LEFT, _RIGHT = {"[": False, "(": True, "]": True}, {"]": False, ")": True, "[": True}
SEPARATORS = (",", ";", "|", "~")
_MOST_SPLITS = 50  # places where a text without a shape may be cut into two ends


@dataclass(frozen=True, slots=True)
class Span:
    """Everything between two ends, as written; None = no end on that side."""

    notation: str
    low: str | None
    high: str | None
    low_open: bool = False  # whether the end itself lies outside
    high_open: bool = False
    exact: bool = False  # whether both ends must be values: 20,99 may be a number just as well


@dataclass(frozen=True, slots=True)
class Piece:
    """What stands between two separators of a list."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Items:
    """Pieces of a list; an item may hold the separator, so it may be several pieces."""

    pieces: tuple[Piece, ...]
    separator: str
    sure: bool = True  # [a,b] without quotes may be an interval of codes: read as a list only if the user says so
    notation: str = "list"


@dataclass(frozen=True, slots=True)
class Mask:
    """A text whose stars stand for one character each."""

    text: str
    notation: str = "mask"


@dataclass(frozen=True, slots=True)
class Prefix:
    """A text that the value starts with."""

    text: str
    notation: str = "prefix"


@dataclass(frozen=True, slots=True)
class Everything:
    """The whole domain."""

    notation: str = "suppressed"


Form = Span | Items | Mask | Prefix | Everything


def parse_cells(options: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """`--cells NOTATION` or `ATTRIBUTE=NOTATION`, several joined by +: notations by attribute, "" for all others."""
    named: dict[str, tuple[str, ...]] = {}
    for option in options:
        attribute, _, text = option.rpartition("=")
        names = tuple(name.strip() for name in text.split("+"))
        unknown = [name for name in names if name not in NOTATIONS]
        if unknown:
            raise UsageError(f"--cells {shown(option)}: {shown(unknown[0])} is none of {', '.join(NOTATIONS)}")
        named[attribute.strip()] = (*named.get(attribute.strip(), ()), *names)
    return named


def is_token(text: str, tokens: Sequence[str]) -> bool:
    """Whether a cell says that nothing is said: R's NA, an empty cell, a token for missing."""
    return not text or text in ("NA", "<NA>") or text in tokens


def forms(cell: str, kind: Kind, decimal: str, tokens: Sequence[str] = ()) -> list[Form]:
    """Every meaning that the text of a cell may have; `cell` has no blanks around it."""
    found: list[Form] = []
    if is_token(cell, tokens):
        found.append(Everything())
    if kind.ordered:
        found += _intervals(cell, kind, decimal)
        found += _ranges(cell, kind, decimal)
        found += _bounds(cell, kind, decimal)
    found += _lists(cell, kind, decimal)
    if "*" in cell:
        found += _starred(cell)
    return found


def _intervals(cell: str, kind: Kind, decimal: str) -> Iterator[Span]:
    """In brackets: `(` or an outward bracket leaves the end out."""
    if len(cell) < 3 or cell[0] not in _LEFT or cell[-1] not in _RIGHT:
        return
    inner, flags = cell[1:-1], (_LEFT[cell[0]], _RIGHT[cell[-1]])
    for low, high in _two(inner, kind, decimal):
        ends = [None if not end or _ENDLESS.fullmatch(end) else end for end in (low, high)]
        if ends != [None, None]:
            yield Span("interval", ends[0], ends[1], *flags)


def _two(inner: str, kind: Kind, decimal: str) -> Iterator[tuple[str, str]]:
    """Ways to cut the inside of brackets into two ends: at a semicolon, else at any comma, else at a dash."""
    for separator in (";", ","):
        if separator in inner:
            parts = inner.split(separator)
            comma = separator == "," == decimal and kind is Kind.NUMERIC
            if len(parts) > 2 and not comma and kind is not Kind.ORDINAL:
                return
            for cut in range(1, min(len(parts), _MOST_SPLITS)):
                ends = [_bare(separator.join(part).strip()) for part in (parts[:cut], parts[cut:])]
                # With a decimal comma 1,5 may be one end; 1, 5 is not.
                if len(parts) == 2 or not comma or all(re.fullmatch(_NUMBER[","], end) for end in ends):
                    yield ends[0], ends[1]
            return
    yield from ((span.low or "", span.high or "") for span in _ranges(inner.strip(), kind, decimal))


def _ranges(cell: str, kind: Kind, decimal: str) -> Iterator[Span]:
    """Two ends with a dash or a tilde between, or with a comma (some Mondrian scripts); both included."""
    if kind is Kind.DATE:
        yield from _periods(cell)
    if kind.measured:
        # (20-29) may be a range with brackets around it, or an interval without its ends.
        inner = cell[1:-1].strip() if cell[:1] + cell[-1:] == "()" else cell
        both = _RANGE[kind, decimal].fullmatch(inner)
        if both:
            yield Span("range", both[1], both[2])
        comma = cell.split(",")
        if len(comma) == 2 and decimal == "." and all(end.strip() for end in comma):
            yield Span("range", comma[0].strip(), comma[1].strip(), exact=True)
        return
    for cut in list(re.finditer(_DASH, cell))[:_MOST_SPLITS]:
        if cut.start() > 0 and cut.end() < len(cell):
            yield Span("range", cell[: cut.start()], cell[cut.end() :])


def _periods(cell: str) -> Iterator[Span]:
    """A year, a quarter or a month, from its first day to its last."""
    found = _PERIOD.fullmatch(cell)
    if not found or not int(found[1]) or (found[2] and not 1 <= int(found[2]) <= 12):
        return
    year, first, months = int(found[1]), 1, 12
    if found[2]:
        first, months = int(found[2]), 1
    elif found[3]:
        first, months = 3 * int(found[3]) - 2, 3
    last = first + months - 1
    yield Span("range", f"{year:04}-{first:02}-01", f"{year:04}-{last:02}-{monthrange(year, last)[1]}")


def _bounds(cell: str, kind: Kind, decimal: str) -> Iterator[Span]:
    one = _BOUND.fullmatch(cell)
    if one:
        sign, end = one[1], one[2].strip()
        out = sign in "<>"
        yield (
            Span("bound", None, end, high_open=out)
            if sign[0] in "<≤" or sign == "=<"
            else Span("bound", end, None, low_open=out)
        )
    top = _PLUS[decimal].fullmatch(cell) if kind is Kind.NUMERIC else None
    if top:
        yield Span("bound", top[1], None)


def _lists(cell: str, kind: Kind, decimal: str) -> Iterator[Items]:
    """Python's lists, sets and tuples, and items with nothing around them."""
    if len(cell) >= 2 and cell[0] + cell[-1] in ("[]", "{}", "()"):
        inner, bare = cell[1:-1], False
    else:
        inner, bare = cell, True
    for separator in SEPARATORS:
        if separator == "~" and (kind.ordered or not bare):
            continue
        pieces = _pieces(inner, separator)
        if pieces is None or (len(pieces) < 2 and (bare or separator != ",")):
            continue
        if bare and any(not piece.text for piece in pieces):
            continue
        if not bare and len(pieces) > 1 and not pieces[-1].quoted and not pieces[-1].text.strip():
            pieces = pieces[:-1]  # Python's ('a',)
        # 20,5 in a file with decimal commas is a number, not two.
        if bare and separator == "," == decimal and kind is Kind.NUMERIC and not re.search(r",\s", inner):
            continue
        yield Items(tuple(pieces), separator, bare or cell[0] == "{" or any(piece.quoted for piece in pieces))


def _pieces(inner: str, separator: str) -> list[Piece] | None:
    """Cut at the separator, but not within quotes; None if quotes do not end or something follows them."""
    pieces: list[Piece] = []
    rest = inner
    while True:
        plain = rest.lstrip()
        if plain[:1] in ("'", '"'):
            quoted = _QUOTED[plain[0]].match(plain)
            after = plain[quoted.end() :].lstrip() if quoted else "?"
            if quoted and (not after or after[0] == separator):
                pieces.append(Piece(_ESCAPED.sub(r"\1", quoted[1]), True))
                if not after:
                    return pieces
                rest = after[1:]
                continue
            if quoted is None and pieces and pieces[-1].quoted:
                return None
        item, found, rest = rest.partition(separator)
        pieces.append(Piece(item, False))
        if not found:
            return pieces


_QUOTED = {mark: re.compile(rf"{mark}((?:[^{mark}\\]|\\.)*){mark}", re.DOTALL) for mark in "'\""}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def _starred(cell: str) -> Iterator[Form]:
    stem = cell.rstrip("*")
    if not stem:
        yield Everything("prefix")
    elif "*" not in stem:
        yield Prefix(stem)
    yield Mask(cell)


def _bare(text: str) -> str:
    """An end in double quotes without them; single ones are Python's, and make it a list."""
    quoted = _QUOTED['"'].fullmatch(text)
    return _ESCAPED.sub(r"\1", quoted[1]) if quoted else text
