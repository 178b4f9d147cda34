"""What a draft proposes to do with a column before it is read: dates, numbers, blanks, spellings, marks for missing."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Kind, position
from unveil.data.draft.summary import ColumnTexts, Make, RowSource, is_missing
from unveil.data.draft.words import (
    ADMISSION_WORDS,
    AGE_NAMES,
    DISCHARGE_WORDS,
    SEX_WORDS,
    STAY_NAMES,
    YEAR_NAMES,
    hinted,
    named_as,
)
from unveil.data.hierarchy import iso_date
from unveil.data.preparation import CodedColumn, national_date, prepare_columns, prepare_texts, without_unit
from unveil.data.schema import Preparation, Schema, SchemaDocument
from unveil.data.schema.document import DATE_FORMATS
from unveil.errors import UnveilError, shown

__all__ = ["Derived", "Proposal", "derived_columns", "propose"]

FOLD_ROWS = 50  # in fewer rows, a rare spelling says nothing
FOLD_SHARE = 0.2  # of the rows of a value that its rarer spellings may have together
LONG_WORD = 4  # letters: White and white are one value however often each is written; m and M may be two
MOST_RECODES = 20
MOST_WORDS = 3  # words among numbers or dates that are taken for marks of missing values

_MARKS = ((".", ","), (",", "."), (",", " "), (",", "\u00a0"), (",", "\u202f"), (".", "'"), (".", "’"), (".", " "))
_CURRENCY = r"[€$£¥]|EUR|USD|GBP|CHF|Fr\.|Euro"
_WITH_UNIT = re.compile(
    rf"[+-]?\s*({_CURRENCY})\s*[+-]?[\d.,'’\s]+|[+-]?\d[\d.,'’\s]*?({_CURRENCY}|[%‰]|[kcm]?m²?|m[gl]|µ?g|kg(?:/m²)?|m?mol/l|"
    r"mmHg|°C|min|Std\.?|[hl]|[Tt]age?|jours?|days?|d[ií]as|dagen|giorni|hours?|heures?|uur|ore)",
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The `prepare` table of one column, why each key is there, and the column as it makes it."""

    column: ColumnTexts
    prepare: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    number: NDArray[np.integer] | None = None  # (texts of the file,) the text that each became; None: they stay


@dataclass(frozen=True, slots=True)
class Derived:
    """An attribute that the draft makes of other columns."""

    name: str
    source: str
    column: ColumnTexts
    prepare: Mapping[str, Any]
    reason: str
    number: NDArray[np.integer] | None = None  # (texts of the source,) the text that each became
    make: Make | None = None  # where it is made of several columns


def propose(name: str, column: ColumnTexts, tokens: frozenset[str], decimal: str) -> Proposal:
    """What to do with a column; nothing if its texts can be read as they are."""
    count_of = dict(zip(column.texts, column.rows.tolist(), strict=True))
    kept = [text for text in column.texts if not is_missing(text, tokens)]
    prepare: dict[str, Any] = {}
    notes: list[str] = []
    if not kept or _all_numbers(kept, decimal) or all(iso_date(text.strip()) for text in kept):
        return Proposal(column)
    for shape in (_dates, _numbers):
        found, words = shape(kept, decimal)
        if found or words:
            prepare |= found
            if words:
                prepare["missing"] = sorted(words)
                said = ", ".join(f"{shown(word, 30)} ({count_of[word]:,} rows)" for word in sorted(words))
                notes.append(f"read as missing: {said}")
            notes.extend(_NOTES[key].format(value) for key, value in found.items())
            break
    else:
        _propose_spellings(kept, count_of, prepare, notes, by_letter=hinted(name, SEX_WORDS))
    if not prepare:
        return Proposal(column)
    made = prepare_texts(column.texts, Preparation.model_validate(prepare), [""], decimal)
    read, number = column.read_as(made)
    return Proposal(read, prepare, tuple(notes), number)


_NOTES = {
    "unit": "{!r} stands beside the numbers, and is left out",
    "date": "dates written {}, and any such as 2024-01-31; a time of day is left out",
    "decimal": "{!r} is the decimal mark",
    "thousands": "{!r} parts thousands",
}


def _all_numbers(texts: Sequence[str], decimal: str) -> bool:
    fine = all(position(text, Kind.NUMERIC, decimal) is not None for text in texts)
    return fine and not (_compact_dates(texts) and len(texts) > 1)


def _compact_dates(texts: Sequence[str]) -> bool:
    days = [national_date(t, "yyyymmdd") if len(t.strip()) == 8 else None for t in texts]
    return all(day is not None and 1850 <= day.year <= 2100 for day in days)


def _apart(texts: Sequence[str], fits: Any) -> set[str] | None:
    """The few words among texts that fit; None if others are among them too."""
    others = {text for text in texts if not fits(text)}
    if len(others) > MOST_WORDS or len(others) * 10 > len(texts):
        return None
    return others if all(not re.search(r"\d", text) and len(text) <= 20 for text in others) else None


def _dates(texts: Sequence[str], decimal: str) -> tuple[dict[str, Any], set[str]]:
    found: list[tuple[str, set[str]]] = []
    for form in DATE_FORMATS:
        if form == "yyyymmdd" and not _compact_dates(texts):
            continue
        if all(national_date(text, form, only=True) is None for text in (texts[0], texts[-1])):
            continue
        words = _apart(texts, lambda text, form=form: national_date(text, form) is not None)
        if words is not None:
            found.append((form, words))
    # 03/04/2019 alone may be either day: a human decides.
    return ({"date": found[0][0]}, found[0][1]) if len(found) == 1 else ({}, set())


def _numbers(texts: Sequence[str], decimal: str) -> tuple[dict[str, Any], set[str]]:
    unit = next((unit for unit in map(_unit, texts) if unit), None)
    if unit is None:
        return _plain_numbers(texts, decimal)
    bare = [without_unit(text, unit) if re.search(r"\d", text) else text for text in texts]
    found, words = _plain_numbers(bare, decimal)
    if found or words or all(position(text, Kind.NUMERIC, decimal) is not None for text in bare):
        return {"unit": unit, **found}, words
    return {}, set()


def _unit(text: str) -> str | None:
    """The unit beside a number: a currency before it, or a currency or another unit behind it."""
    found = _WITH_UNIT.fullmatch(text.strip())
    return None if found is None else found[1] or found[2]


def _plain_numbers(texts: Sequence[str], decimal: str) -> tuple[dict[str, Any], set[str]]:
    words = _apart(texts, lambda text: position(text, Kind.NUMERIC, decimal) is not None)
    if words:
        if any(re.match(r"\s*0\d", text) for text in texts):
            return {}, set()  # codes
        return {}, words
    for mark, group in _MARKS:
        whole = rf"\d{{1,3}}(?:{re.escape(group)}\d{{3}})+|\d+"
        shape = re.compile(rf"\s*[+-]?(?:{whole})(?:{re.escape(mark)}\d+)?\s*", re.ASCII)
        words = _apart(texts, shape.fullmatch)
        if words is None:
            continue
        grouped = any(group in text.strip() for text in texts)
        if mark != decimal and not any(mark in text for text in texts):
            continue  # 1.234 alone: thousands or decimals
        three = re.compile(rf"\s*[+-]?\d{{1,3}}{re.escape(mark)}\d{{3}}\s*", re.ASCII)
        if not grouped and all(three.fullmatch(text) for text in texts if mark in text):
            continue  # 1,234 alone, too
        return {"decimal": mark, **({"thousands": group} if grouped else {})}, words
    return {}, set()


def _propose_spellings(
    texts: Sequence[str], count_of: Mapping[str, int], prepare: dict[str, Any], notes: list[str], *, by_letter: bool
) -> None:
    """Blanks at the edges, and rare spellings of a common value. `by_letter`: F, f and Femmina are one."""
    letters = {text.strip().casefold() for text in texts if len(text.strip()) == 1}
    by_letter = by_letter and all(text.strip()[:1].casefold() in letters for text in texts)
    blanks = [text for text in texts if text != text.strip()]
    total = sum(count_of[text] for text in texts)
    if len({text.strip() for text in texts}) < len(texts):
        prepare["trim"] = True
        edged = sum(count_of[text] for text in blanks)
        notes.append(f"blanks at the edges of {edged:,} rows are cut, for instance {shown(blanks[0], 30)}")
    if total < FOLD_ROWS:
        return
    groups: dict[str, dict[str, int]] = {}
    for text in texts:
        spellings = groups.setdefault(text.strip().casefold()[: 1 if by_letter else None], {})
        spellings[text.strip()] = spellings.get(text.strip(), 0) + count_of[text]
    recode: dict[str, str] = {}
    rows_of: dict[str, int] = {}
    for spellings in groups.values():
        common = max(spellings, key=lambda text: (spellings[text], text))
        rare = {text: n for text, n in spellings.items() if text != common}
        if rare and (
            by_letter or len(common) >= LONG_WORD or sum(rare.values()) <= FOLD_SHARE * sum(spellings.values())
        ):
            recode |= dict.fromkeys(rare, common)
            rows_of |= rare
    small = [text for text in texts if text != text.upper()]
    rows = sum(count_of[text] for text in small)
    one_case = rows <= FOLD_SHARE * total and len({text.strip().upper() for text in texts}) == len(groups)
    if len(recode) > MOST_RECODES and one_case:
        prepare["case"] = "upper"
        example = shown(small[0], 30)
        notes.append(f"{len(small):,} texts of {rows:,} rows are read in capitals, for instance {example}")
    elif 0 < len(recode) <= MOST_RECODES:
        prepare["recode"] = recode
        said = [f"{shown(rare, 30)} ({rows_of[rare]:,} rows) is read as {shown(recode[rare], 30)}" for rare in recode]
        notes.append("; ".join(said[:4]) + (f"; and {len(said) - 4} more" if len(said) > 4 else ""))


# ------------------------------------------------------------------------------------------------------------- derived


def derived_columns(
    raw: Mapping[str, ColumnTexts],
    rows: RowSource,
    dates: Mapping[str, str],
    births: Collection[str],
    missing: Mapping[str, Sequence[str]],
    tokens: Sequence[str],
    latest: Any,
) -> list[Derived]:
    """An age out of a birth date, a length of stay out of two dates. `dates`: the format of each column of dates, some
    of which are `births`."""
    found: list[Derived] = []
    taken = set(raw)
    admitted = next((name for name in dates if hinted(name, ADMISSION_WORDS) and name not in births), None)
    for name, form in dates.items():
        plans: list[tuple[str, dict[str, Any], str]] = []
        if name in births:
            at = admitted or latest
            if at is None:
                reason = "the year alone: no other date says on which day ages are to be taken"
                plans.append((named_as(name, YEAR_NAMES, taken), {"part": "year"}, reason))
            else:
                when = f"on {shown(at)[1:-1]}" if admitted is None else f"at {shown(at)}"
                plans.append((named_as(name, AGE_NAMES, taken), {"age_at": at}, f"completed years {when}"))
        elif hinted(name, DISCHARGE_WORDS) and admitted is not None and admitted != name:
            reason = f"days from {shown(admitted)} to {shown(name)}"
            plans.append((named_as(name, STAY_NAMES, taken), {"days_since": admitted}, reason))
        for new, keys, reason in plans:
            words = sorted({*missing.get(name, ()), *(missing.get(admitted, ()) if admitted is not None else ())})
            prepare = {"from": name, "date": form, **({"missing": words} if words else {}), **keys}
            make, number = partial(_made, new, prepare, tuple(tokens)), None
            several = isinstance(prepare.get("age_at", prepare.get("days_since")), str)
            try:
                if several:
                    column = rows.made(make)
                else:
                    one = make({name: raw[name].alone()})
                    column, number = ColumnTexts.of(one, raw[name].rows), one.text_of_row
            except UnveilError:
                continue  # a row in which the dates are the wrong way round: the columns stay as they are
            found.append(Derived(new, name, column, prepare, reason, number, make if several else None))
            taken.add(new)
    return found


def _made(name: str, prepare: Mapping[str, Any], tokens: Sequence[str], raw: Mapping[str, CodedColumn]) -> CodedColumn:
    document = SchemaDocument.model_validate(
        {
            "version": 1,
            "missing": list(tokens),
            "attributes": {name: {"role": "quasi-identifier", "prepare": dict(prepare)}},
        }
    )
    sources = {n: c for n, c in raw.items() if n in document.sources()}
    return prepare_columns(Schema(document), sources)[name]
