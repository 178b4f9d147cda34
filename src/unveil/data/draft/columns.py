"""A column of texts as a draft sees it: what its name says, its kind, its values and how often each occurs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Kind, position
from unveil.data.draft.summary import ColumnTexts, is_missing
from unveil.data.draft.words import CODE_WORDS, hinted
from unveil.data.hierarchy import iso_date

__all__ = [
    "Column",
    "hold_several",
    "interval_kind",
    "out_of_list",
    "read_column",
]

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


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column whose values are numbered, what is missing last."""

    name: str
    kind: Kind
    texts: list[str]  # without missing tokens
    tokens: list[str]  # missing tokens that occur
    places: NDArray[np.float64] | None  # (values,) numbers and dates: the distinct ones, ascending
    counts: NDArray[np.int64]  # (values and perhaps missing,) rows
    missing: int
    value_of_text: NDArray[np.unsignedinteger]  # (texts of the source,)
    source: ColumnTexts
    reasons: list[str]
    masked: bool = False  # cells of a release with stars in them
    several: bool = False  # cells of a release that hold more than one value
    published: bool = False  # whether it is a release's: `*` is then a cell as others are

    @property
    def rows(self) -> int:
        return self.source.total

    @property
    def times(self) -> float:
        """How many different texts there are for each that is held."""
        return 1 / self.source.held


def read_column(name: str, column: ColumnTexts, decimal: str, tokens: frozenset[str], published: bool) -> Column:
    """What the texts of a column are. `published`: they are cells of a release."""
    absent = np.fromiter((is_missing(text, tokens) for text in column.texts), dtype=bool, count=len(column.texts))
    texts = (
        [t for t, gone in zip(column.texts, absent.tolist(), strict=True) if not gone]
        if absent.any()
        else list(column.texts)
    )
    kind, place_of_text, reasons = _read_kind(name, texts, decimal)
    masked = several = False
    if published and place_of_text is None:
        cells = [cell for text in texts if (cell := out_of_list(text)).strip("*")]
        kind, reasons = _published_kind(name, cells, decimal) or (kind, reasons)
        masked = any("*" in text and text.strip("*") for text in texts)
        several = not kind.measured and hold_several(texts)
    if place_of_text is None:
        places, number = None, np.arange(len(texts))
    else:
        places, number = np.unique(place_of_text, return_inverse=True)
    value_of_text = np.empty(len(column.texts), dtype=np.min_scalar_type(len(number) + 1))
    value_of_text[~absent] = number
    value_of_text[absent] = number.max(initial=-1) + 1
    counts = np.bincount(value_of_text, weights=column.rows).astype(np.int64)
    tokens_here = [t for t, gone in zip(column.texts, absent.tolist(), strict=True) if gone] if absent.any() else []
    gone = int(column.rows[absent].sum())
    if column.held < 1:
        reasons = [*reasons, f"a sample of {len(column.texts):,} texts was looked at: counts of values are estimates"]
    return Column(
        *(name, kind, texts, tokens_here, places, counts, gone, value_of_text, column, reasons),
        *(masked, several, published),
    )


_LEADING_ZERO = re.compile(r"\s*[+-]?0\d")
_OTHER_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})|\d{4}[./]\d{1,2}[./]\d{1,2}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}.*", re.ASCII | re.DOTALL)


def _read_kind(name: str, texts: list[str], decimal: str) -> tuple[Kind, NDArray[np.float64] | None, list[str]]:
    """The kind, each text's place on its line, and why."""
    if not texts:
        return Kind.CATEGORICAL, None, ["holds nothing but missing values"]
    places = _places(texts, Kind.NUMERIC, decimal)
    if places is not None:
        if any(_LEADING_ZERO.match(text) for text in texts):
            return Kind.CATEGORICAL, None, ["digits with leading zeros are codes, not numbers"]
        if hinted(name, CODE_WORDS):
            return Kind.CATEGORICAL, None, ["the name says that the numbers are codes"]
        if np.abs(places).max() >= 2**53 and all(text.strip().lstrip("+-").isdigit() for text in texts):
            return Kind.CATEGORICAL, None, ["numbers this long are codes; as numbers they would be rounded"]
        if all(len(t) == 8 and iso_date(f"{t[:4]}-{t[4:6]}-{t[6:]}") for t in texts) and places.min() > 1.8e7:
            return Kind.NUMERIC, places, ["looks like dates without hyphens; dates must be ISO, such as 2024-01-31"]
        return Kind.NUMERIC, places, []
    places = _places(texts, Kind.DATE, decimal)
    if places is not None:
        return Kind.DATE, places, []
    if all(_OTHER_DATE.fullmatch(text.strip()) for text in texts):
        return Kind.CATEGORICAL, None, ["looks like dates; dates must be ISO, such as 2024-01-31, to have an order"]
    if all(_TIME.fullmatch(text.strip()) for text in texts):
        return Kind.CATEGORICAL, None, ["looks like times; cut them to ISO dates, such as 2024-01-31"]
    some = texts[:: max(1, len(texts) // 500)]
    if sum(position(text, Kind.NUMERIC, decimal) is not None for text in some) > 0.8 * len(some):
        return Kind.CATEGORICAL, None, ["most values are numbers: correct the others or list them under missing"]
    return Kind.CATEGORICAL, None, []


def _published_kind(name: str, cells: list[str], decimal: str) -> tuple[Kind, list[str]] | None:
    """The kind of a release's column whose cells, but for `*`, are numbers or dates, or intervals of them, and why."""
    kind, places, reasons = _read_kind(name, cells, decimal)
    if places is not None:
        return kind, [*reasons, "some cells are withheld"]
    codes = hinted(name, CODE_WORDS)
    found = interval_kind(cells, codes=codes)
    if found is not None:
        return found, ["the cells are intervals"]
    if 2 * sum(interval_kind([cell], codes=codes) is not None for cell in cells) > len(cells):
        return Kind.CATEGORICAL, ["most cells are intervals: correct the others or list them under missing"]
    return None


def _places(texts: list[str], kind: Kind, decimal: str) -> NDArray[np.float64] | None:
    if kind is Kind.NUMERIC and all(text.isascii() and text.isdigit() and len(text) < 300 for text in texts):
        return np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
    places = np.empty(len(texts))
    for index, text in enumerate(texts):
        place = position(text, kind, decimal)
        if place is None:
            return None
        places[index] = place
    return places
