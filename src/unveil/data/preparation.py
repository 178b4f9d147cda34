"""Preparation: the columns of a file become those of the schema, as its `prepare` tables say and in no other way."""

import re
import unicodedata
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Kind, position
from unveil.data.hierarchy import iso_date, number_text
from unveil.data.icd10 import icd10_part
from unveil.data.schema.document import DATE_FORMATS, Preparation
from unveil.errors import TableError, UnveilError, shown

if TYPE_CHECKING:
    from unveil.data.schema import Schema

__all__ = ["CodedColumn", "national_date", "prepare_columns", "prepare_texts", "without_unit", "written_date"]

_CLOCK = re.compile(r"[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?$")


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """A column of texts as its distinct texts and, for each row, which of them it holds."""

    texts: Sequence[str]
    text_of_row: NDArray[np.integer]  # (rows,)


class _Fault(ValueError):  # noqa: N818  no error of its own: the caller names the file and picks the class
    """What is wrong with one text."""


def national_date(text: str, form: str, *, only: bool = False) -> date | None:
    """The day that a text in this format means, or, unless `only`, an ISO date; a time of day is left out."""
    plain, shape = _CLOCK.sub("", text.strip()), DATE_FORMATS[form]
    if "%b" in shape:
        plain, shape = _WORD.sub(_month, plain, count=1), shape.replace("%b", "m%m")
    try:
        return datetime.strptime(plain, shape).date() if plain.isascii() else None
    except ValueError:
        return None if only else iso_date(plain)  # a sheet's real dates beside typed ones: there is one way to read it


_WORD = re.compile(r"[^\W\d_]{3,}\.?")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# How the months begin in English, German, French, Spanish, Dutch and Italian, without accents.
_BEGINNINGS = (
    "jan ene gen", "feb fev", "mar maa mrt mrz", "apr avr abr", "may mai mei mag", "jun juin giu",
    "jul juil lug", "aug aou ago", "sep set", "oct okt ott", "nov", "dec dez dic",
)  # fmt: skip


def _month(name: re.Match[str]) -> str:
    """m and the number of a month, of its name; any other word is itself."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name[0].casefold()) if not unicodedata.combining(c))
    found = (n for n, starts in enumerate(_BEGINNINGS, start=1) if plain.startswith(tuple(starts.split())))
    number = next(found, None)
    return name[0] if number is None else f"m{number}"


def written_date(text: str, form: str) -> str:
    """A cell whose ISO dates are written in this format, all else as it is."""
    shape = DATE_FORMATS[form]
    return re.sub(r"\b\d{4}-\d{2}-\d{2}\b", lambda day: _formatted(day[0], shape), text)


def _formatted(text: str, shape: str) -> str:
    day = iso_date(text)
    if day is None:
        return text
    return day.strftime(shape.replace("%Y", f"{day.year:04d}").replace("%b", MONTHS[day.month - 1]))


def prepare_columns(
    schema: "Schema",
    columns: Mapping[str, CodedColumn],
    *,
    decimal: str = ".",
    name: str = "table",
    place: Callable[[int], str] = lambda row: f"row {row + 1}",
    published: bool = False,
    error: type[UnveilError] = TableError,
) -> dict[str, CodedColumn]:
    """The columns that the schema names, made from those of a file; `decimal` is the file's mark.

    Of a release (`published`) nothing is derived: its cells are what was made of the derived values. Names, dates,
    numbers, blanks and spellings are read as in the original.
    """
    document = schema.document
    made = {n: d.prepare for n, d in document.attributes.items() if d.prepare is not None}
    if not made:
        return dict(columns)
    sources = document.sources()
    if published:
        columns = _renamed(columns, made, document.attributes)
        raw = [n for n in columns if n in sources and n not in document.attributes]
        if raw:
            raise error(
                f"{name}: publishes {shown(raw[0])}, of which the schema makes {shown(sources[raw[0]])}; "
                f"publish {shown(sources[raw[0]])} instead"
            )
    kept = {n: c for n, c in columns.items() if n not in sources or n in (*document.attributes, *schema.extra_columns)}
    for attribute, prepare in made.items():
        derived = not published and all(source in columns for source in prepare.sources)
        if not derived and attribute not in columns:
            if published:
                continue
            absent = next((source for source in prepare.sources if source not in columns), attribute)
            raise error(f"{name}: no column {shown(absent)}, of which {schema.name} makes {shown(attribute)}")
        if derived and prepare.source not in (None, attribute) and attribute in columns:
            raise error(
                f"{name}: has a column {shown(attribute)}, and {schema.name} makes one from {shown(prepare.source)}; "
                "rename the attribute"
            )
        source = prepare.source or attribute
        column = columns[source] if derived else columns[attribute]
        try:
            kept[attribute] = _prepared(schema, attribute, prepare, column, columns, decimal, derived)
        except _Fault as fault:
            message, row = fault.args
            where = f"{name}, {place(row)}, {source if derived else attribute}"
            raise error(f"{where}: {message}") from None
    return kept


def _renamed(
    columns: Mapping[str, CodedColumn], made: Mapping[str, Preparation], names: Container[str]
) -> dict[str, CodedColumn]:
    """The columns of a release, those under the schema's names that the schema takes from another column as it is."""
    plain = {
        p.source: n for n, p in made.items() if p.derivation is None and n not in columns and p.source not in names
    }
    return {plain.get(name, name): column for name, column in columns.items()}


def prepare_texts(texts: Sequence[str], prepare: Preparation, tokens: Sequence[str], decimal: str) -> list[str]:
    """Texts trimmed, recoded and with their dates and numbers written one way; a text that is neither stays."""
    read = _reader(prepare, frozenset(tokens), tokens[0] if tokens else "", decimal, cells=True)
    return [read(text) for text in texts]


def _prepared(
    schema: "Schema",
    attribute: str,
    prepare: Preparation,
    column: CodedColumn,
    columns: Mapping[str, CodedColumn],
    decimal: str,
    derived: bool,
) -> CodedColumn:
    tokens = frozenset(schema.document.missing)
    absent = schema.missing_token
    read = _reader(prepare, tokens, absent, decimal, cells=not derived)
    texts = _each(column, read)
    absence = {*tokens, absent} if tokens else {absent}
    if not derived or prepare.derivation is None:
        return _distinct(texts, column.text_of_row)
    if prepare.derivation in ("age_at", "days_since") and not isinstance(prepare.age_at, date):
        other = prepare.days_since or prepare.age_at
        assert isinstance(other, str)
        return _between(schema, prepare, texts, column, columns[other], other, absence, absent)
    derive = _derivation(prepare, schema.mappings.get(attribute, {}))
    made = [text if text in absence else derive(text) for text in texts]
    for index, text in enumerate(made):
        if text is None:
            raise _Fault(f"{shown(column.texts[index])} {_WANTED[prepare.derivation]}", _first_row(column, index))
    return _distinct([text for text in made if text is not None], column.text_of_row)


_WANTED = {
    "age_at": "is not a date before the day on which ages are taken; correct it, or list it under missing",
    "part": "is not a date in this format; correct it, or list it under missing",
    "prefix": "has no prefix; list it under missing",
    "icd10": "is not an ICD-10 code; correct it, or list it under missing",
    "mapping": "is not in the mapping; add a row for it",
}


def _each(column: CodedColumn, read: Callable[[str], str]) -> list[str]:
    texts = []
    for index, text in enumerate(column.texts):
        try:
            texts.append(read(text))
        except _Fault as fault:
            raise _Fault(fault.args[0], _first_row(column, index)) from None
    return texts


def _first_row(column: CodedColumn, index: int) -> int:
    found = np.flatnonzero(column.text_of_row == index)
    return int(found[0]) if len(found) else 0


def _distinct(texts: Sequence[str], of_row: NDArray[np.integer]) -> CodedColumn:
    distinct = sorted(set(texts))
    rank = {text: number for number, text in enumerate(distinct)}
    codes = np.array([rank[text] for text in texts], dtype=np.min_scalar_type(max(len(distinct) - 1, 0)))
    return CodedColumn(distinct, codes[of_row])


def _reader(
    prepare: Preparation, tokens: frozenset[str], absent: str, decimal: str, *, cells: bool
) -> Callable[[str], str]:
    """What makes one text of one text; `cells`: of a release, whose cells may be intervals and sets."""
    own = frozenset(prepare.missing)

    def read(text: str) -> str:
        plain = text.strip() if prepare.trim else text
        plain = prepare.recode.get(plain, prepare.recode.get(text, plain))
        if plain in own:
            return absent
        if plain in tokens or not plain.strip():
            return plain
        if prepare.case is not None:
            plain = plain.upper() if prepare.case == "upper" else plain.lower()
            plain = prepare.recode.get(plain, plain)
        if prepare.date is not None:
            return _dated(plain, prepare.date, cells)
        if prepare.decimal is not None or prepare.thousands is not None or prepare.unit is not None:
            return _numbered(plain, prepare, decimal, cells)
        return plain

    return read


def _dated(text: str, form: str, cells: bool) -> str:
    day = national_date(text, form)
    if day is not None:
        return day.isoformat()
    if not cells:
        raise _Fault(f"{shown(text)} is not a date written {form}; correct it, or list it under missing")
    shape = re.escape(form).replace("dd", r"\d{1,2}").replace("mmm", _WORD.pattern).replace("mm", r"\d{1,2}")
    shape = shape.replace("yyyy", r"\d{4}")
    return re.sub(rf"(?<!\d){shape}(?!\d)", lambda part: _iso(part[0], form), text)


def _iso(text: str, form: str) -> str:
    day = national_date(text, form)
    return text if day is None else day.isoformat()


def _numbered(text: str, prepare: Preparation, decimal: str, cells: bool) -> str:
    """A number in the file's own notation, without marks between thousands."""
    mark, group = prepare.decimal or decimal, prepare.thousands
    if prepare.unit is not None:
        text = text.replace(prepare.unit, "") if cells else without_unit(text, prepare.unit)
    whole = rf"\d{{1,3}}(?:{re.escape(group)}\d{{3}})+|\d+" if group else r"\d+"
    shape = rf"[+-]?(?:{whole})(?:{re.escape(mark)}\d+)?"

    def plain(number: str) -> str:
        number = number.replace(group, "") if group else number
        place = position(number.replace(mark, "."), Kind.NUMERIC)
        return number if place is None else number_text(place).replace(".", decimal)

    if re.fullmatch(shape, text.strip(), re.ASCII):
        return plain(text.strip())
    if not cells:
        raise _Fault(f"{shown(text)} is not a number with these marks; correct it, or list it under missing")
    if group is None:
        return text
    grouped = rf"(?<![\d.,])\d{{1,3}}(?:{re.escape(group)}\d{{3}})+(?:{re.escape(mark)}\d+)?(?![\d.,])"
    return re.sub(grouped, lambda part: plain(part[0]), text, flags=re.ASCII)


def without_unit(text: str, unit: str) -> str:
    """A number without the unit in front of it or behind it.

    >>> without_unit("-£ 34,250.00", "£"), without_unit("5.5%", "%"), without_unit("km 5 km", "km")
    ('-34,250.00', '5.5', '5 km')
    """
    sign, plain = "", text.strip()
    if plain[:1] in ("+", "-") and plain[1:].lstrip().startswith(unit):
        sign, plain = plain[0], plain[1:].lstrip()
    return sign + (plain.removeprefix(unit) if plain.startswith(unit) else plain.removesuffix(unit)).strip()


def _derivation(prepare: Preparation, mapping: Mapping[str, str]) -> Callable[[str], str | None]:
    """What makes another value of one text."""
    if prepare.icd10 is not None:
        part = prepare.icd10
        return lambda text: icd10_part(text, part)
    if prepare.prefix is not None:
        return lambda text: text[: prepare.prefix].strip() or None
    if prepare.mapping is not None:
        return lambda text: mapping.get(text)
    if prepare.part is not None:
        return lambda text: _part(text, prepare.part or "")
    return lambda text: _age(iso_date(text), prepare.age_at)  # type: ignore[arg-type]


def _part(text: str, part: str) -> str | None:
    from unveil.data.hierarchy_builders import DATE_PARTS

    day = iso_date(text)
    return None if day is None else DATE_PARTS[part](day)


def _age(born: date | None, at: date) -> str | None:
    """Completed years."""
    if born is None or at < born:
        return None
    return str(at.year - born.year - ((at.month, at.day) < (born.month, born.day)))


def _between(
    schema: "Schema",
    prepare: Preparation,
    texts: Sequence[str],
    column: CodedColumn,
    other: CodedColumn,
    name: str,
    absence: set[str],
    absent: str,
) -> CodedColumn:
    """Years or days from one date of a row to another; missing if either is."""
    declared = schema.document.attributes.get(name)
    beside = (
        declared.prepare if declared is not None and declared.prepare is not None else Preparation.model_validate({})
    )
    # Its own marks for missing and its own format; if it states none, those of this table.
    beside = beside.model_copy(
        update={
            "date": beside.date or prepare.date,
            "missing": beside.missing or prepare.missing,
            "trim": beside.trim or prepare.trim,
        }
    )
    read = _reader(beside, frozenset(schema.document.missing), absent, ".", cells=False)
    others = _each(other, read)
    first, second = ([None if t in absence else iso_date(t) for t in found] for found in (texts, others))
    pair, of_row = np.unique(column.text_of_row.astype(np.int64) * len(others) + other.text_of_row, return_inverse=True)
    made = []
    for number, code in enumerate(pair.tolist()):
        here, there = divmod(code, len(others))
        if texts[here] in absence or others[there] in absence:
            made.append(absent)
            continue
        day, until = first[here], second[there]
        if day is None or until is None:
            row = int(np.flatnonzero(of_row == number)[0])
            wrong = column.texts[here] if day is None else other.texts[there]
            raise _Fault(f'{shown(wrong)} is not a date such as 2024-01-31; add date = "dd.mm.yyyy" to prepare', row)
        found = str((day - until).days) if prepare.days_since and day >= until else None
        found = _age(day, until) if prepare.age_at else found
        if found is None:
            row = int(np.flatnonzero(of_row == number)[0])
            dates = (until, day) if prepare.days_since else (day, until)
            raise _Fault(f"{dates[0].isoformat()} is after {dates[1].isoformat()}; correct the row", row)
        made.append(found)
    return _distinct(made, of_row)
