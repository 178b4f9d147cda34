"""Tables from SPSS, Stata and SAS files: cells show the labels, the codes behind them are kept.

The file is read in pieces and coded as it comes, so that memory holds one piece and the codes.
"""

import inspect
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from unveil.data.dictionary import Dictionary, Value, Variable, made_distinct
from unveil.data.table import CodedColumn
from unveil.errors import UnveilError, shown
from unveil.formats.columns import Columns, DistinctValues, Place, check_file, checked_names, needed, said
from unveil.formats.statistical.transport import layout, tables

__all__ = ["FAMILY", "read_statistical"]

PIECE = 3_000_000  # cells that are read at a time
MOST_ROWS = 2**31 - 1
FAMILY = {
    ".sav": ("SPSS", "read_sav"),
    ".zsav": ("SPSS", "read_sav"),
    ".por": ("SPSS", "read_por"),
    ".dta": ("Stata", "read_dta"),
    ".sas7bdat": ("SAS", "read_sas7bdat"),
    ".xpt": ("SAS", "read_xport"),
}
_START = {  # how such a file begins
    ".sav": (b"$FL2", b"$FL3"),
    ".zsav": (b"$FL2", b"$FL3"),
    ".dta": (b"<stata_dta>", b"\x69", b"\x6c", b"\x6e", b"\x6f", b"\x71", b"\x72", b"\x73"),
    ".sas7bdat": (b"\0" * 12 + b"\xc2\xea\x81\x60",),
    ".xpt": (b"HEADER RECORD*******LIB",),
}
_SPSS_DAYS = ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR", "DATETIME", "YMDHMS")
_SAS_DAYS = (
    *("DATE", "DAY", "DDMMYY", "DDMMYYB", "DDMMYYC", "DDMMYYD", "DDMMYYN", "DDMMYYP", "DDMMYYS", "E8601DA", "B8601DA"),
    *("IS8601DA", "JULIAN", "MMDDYY", "MMDDYYB", "MMDDYYC", "MMDDYYD", "MMDDYYN", "MMDDYYP", "MMDDYYS", "WEEKDATE"),
    *("WEEKDATX", "WORDDATE", "WORDDATX", "YYMMDD", "YYMMDDB", "YYMMDDC", "YYMMDDD", "YYMMDDN", "YYMMDDP", "YYMMDDS"),
    *("NENGO", "MINGUO", "MONYY", "YYMON", "EURDFDE", "EURDFDD", "EURDFWDX"),
)
_SAS_MOMENTS = ("DATETIME", "E8601DT", "B8601DT", "E8601DN", "B8601DN", "IS8601DT", "DATEAMPM", "DTDATE", "MDYAMPM")


def read_statistical(
    path: Path, *, missing: str = "", encoding: str | None = None, error: type[UnveilError], **_: object
) -> Columns:
    """Read such a file by its ending. `missing`: the text of the system's missing value."""
    ending = path.suffix.lower()
    family, reader = FAMILY[ending]
    _check_start(path, ending, family, error)
    if ending == ".xpt" and len(several := tables(path)) > 1:
        raise error(
            f"{path}: holds several tables, {', '.join(map(shown, several[:20]))}; save each as a file of its own"
        )
    read = _reading(path, reader, encoding, family, error)
    gathered: list[DistinctValues] = []
    start, meta, places = 0, None, None
    while True:
        piece, meta = read(start, max(1_000, PIECE // max(len(gathered), 9)))
        fault = checked_names(meta.column_names)
        if fault:
            raise error(f"{path}: {fault}")
        gathered = gathered or [DistinctValues() for _ in piece]
        columns = list(piece.values())
        found = len(columns[0]) if columns else 0
        if any(len(values) != found for values in columns) or len(columns) != len(gathered):
            raise error(f"{path}: cannot be read as {family}: its columns differ in length; is it whole?")
        if ending == ".xpt" and found:
            places = places or layout(path, len(columns))
            if places is not None:
                places.tag(columns, start)
        for column, values in zip(gathered, columns, strict=True):
            column.add(values)
        del piece, columns
        start += found
        if start > MOST_ROWS:
            raise error(f"{path}: holds over {MOST_ROWS:,} rows")
        if not found:
            break
    if not start:
        raise error(f"{path}: holds no rows")
    variables, fault = made_distinct([_variable(meta, name, family) for name in meta.column_names])
    if fault:
        raise error(f"{path}, {fault}")
    coded: dict[str, CodedColumn] = {}
    absent: set[str] = set()
    for variable, column in zip(list(variables.values()), gathered, strict=True):
        coded[variable.name], seen, texts = _coded(variable, column, missing, path, error)
        variables[variable.name] = replace(variable, seen=seen)
        absent.update(texts)
    dictionary = Dictionary(family, variables, meta.file_label or "", tuple(meta.notes or ()))
    return Columns(coded, start, Place(), ".", family, dictionary, tuple(sorted(absent)))


def _check_start(path: Path, ending: str, family: str, error: type[UnveilError]) -> None:
    try:
        check_file(path, f"{'an' if family == 'SPSS' else 'a'} {family} file", error)
        with path.open("rb") as file:
            start = file.read(32)
    except (OSError, ValueError) as reason:
        raise error(f"{path}: cannot be read ({said(reason, 100)})") from None
    known = _START.get(ending)
    if known is not None and not start.startswith(known):
        raise error(f"{path}: is not {family} although it ends in {ending}; name it by what it is")


def _reading(
    path: Path, reader: str, encoding: str | None, family: str, error: type[UnveilError]
) -> Callable[[int, int], tuple[dict[str, list[object]], Any]]:
    pyreadstat = needed("pyreadstat", "files", f"{path}: to read {family} files", error)
    function = getattr(pyreadstat, reader)
    options: dict[str, object] = {"output_format": "dict", "disable_datetime_conversion": True}
    if "user_missing" in inspect.signature(function).parameters:
        options["user_missing"] = True
    if encoding is not None:
        if "encoding" not in inspect.signature(function).parameters:
            raise error(f"{path}: the encoding of a {path.suffix.lower()} file is in the file; leave --encoding out")
        options["encoding"] = encoding

    def read(start: int, rows: int) -> tuple[dict[str, list[object]], Any]:
        try:
            return function(os.fspath(path), row_offset=start, row_limit=rows, **options)  # type: ignore[no-any-return]
        except UnicodeError:
            raise error(f"{path}: {_wrong_encoding(encoding)}") from None
        except Exception as reason:  # whatever the library makes of a damaged file
            words = said(reason, 100)
            odd = encoding is not None and isinstance(reason, TypeError)
            if odd or "encoding" in words or "character set" in words:
                raise error(f"{path}: {_wrong_encoding(encoding)}") from None
            raise error(f"{path}: cannot be read as {family} ({words}); is it whole?") from None

    return read


def _wrong_encoding(encoding: str | None) -> str:
    if encoding is None:
        return "holds text in another encoding than it says; name it, e.g. --encoding cp1252"
    return f"cannot be read in the encoding {shown(encoding)}; name another, e.g. cp1252 or utf-8"


def _variable(meta: Any, name: str, family: str) -> Variable:
    stored = str(meta.readstat_variable_types.get(name) or "double")
    written = str(meta.original_variable_types.get(name) or "")
    text = stored == "string" or stored == "string_ref"
    labels: dict[Value, str] = {}
    for code, label in (meta.variable_value_labels.get(name) or {}).items():
        if isinstance(code, str):
            labels[code.rstrip(" ") if text and family == "SPSS" else code] = str(label)
        elif not text:
            labels[float(code)] = str(label)
    missing = tuple(
        (_ended(part["lo"], text), _ended(part["hi"], text)) for part in (meta.missing_ranges or {}).get(name) or ()
    )
    kind, epoch, unit = ("text", datetime(1960, 1, 1), 1.0) if text else _calendar(written, family)
    return Variable(
        name=name,
        kind=kind,
        label=str((meta.column_names_to_labels or {}).get(name) or ""),
        labels=labels,
        missing=missing,
        tagged=family in ("Stata", "SAS") and not text,
        single=stored == "float",
        epoch=epoch,
        unit=unit,
        format=written,
        measure=str((meta.variable_measure or {}).get(name) or ""),
        width=int((meta.variable_display_width or {}).get(name) or 0),
    )


def _ended(end: object, text: bool) -> Value:
    return str(end).rstrip(" ") if text else float(end)  # type: ignore[arg-type]


def _calendar(written: str, family: str) -> tuple[str, datetime, float]:
    """Kind, first moment and seconds of a unit, by the format. Times and durations stay numbers."""
    name = written.upper().rstrip("0123456789.").strip()
    if family == "SPSS":
        return ("moment" if name in _SPSS_DAYS else "number"), datetime(1582, 10, 14), 1.0
    first = datetime(1960, 1, 1)
    if family == "Stata":
        plain = written.lstrip("%-")
        if plain.startswith(("td", "d")):
            return "day", first, 86400.0
        return ("moment" if plain.startswith("tc") else "number"), first, 0.001
    if name in _SAS_MOMENTS:
        return "moment", first, 1.0
    return ("day" if name in _SAS_DAYS else "number"), first, 86400.0


def _coded(
    variable: Variable, column: DistinctValues, missing: str, path: Path, error: type[UnveilError]
) -> tuple[CodedColumn, tuple[Value | None, ...], list[str]]:
    """The column, which kinds of missing values it holds, and the texts of those that the file defines."""
    texts: list[str] = []
    seen: list[Value | None] = []
    absent: list[str] = []
    for value in column.values():
        if value is None or (value == "" and variable.kind != "text"):
            seen.append(None)
            texts.append(missing)
            continue
        cell: Value = value if isinstance(value, str) else float(value)  # type: ignore[arg-type]
        if isinstance(cell, str) and "\ufffd" in cell and path.suffix.lower() == ".por":
            raise error(
                f"{path}, {variable.name}: {shown(cell)} holds letters that are not read from portable files, and two "
                "values may look alike; save it as .sav"
            )
        text = variable.text(cell)
        texts.append(text)
        if variable.is_missing(cell):
            seen.append(cell)
            absent.append(text)
    texts = _whole_moments(variable, texts, missing)
    # The system's missing value may show the same as one of another kind: the schema's first token.
    given = [text for text, value in zip(texts, column.values(), strict=True) if value is not None]
    if len(set(given)) != len(given):
        first = next(text for text, times in Counter(given).items() if times > 1)
        raise error(f"{path}, {variable.name}: {shown(first)} is a value, and the label of another; change the label")
    return column.coded(texts), tuple(seen), absent


def _whole_moments(variable: Variable, texts: list[str], missing: str) -> list[str]:
    """With a time of day in one cell, all cells of the column have one."""
    if variable.kind != "moment" or not any(len(t) > 10 and t[4:5] == t[7:8] == "-" for t in texts):
        return texts
    bare = [len(t) == 10 and t != missing and variable.value(t) is not None for t in texts]
    return [f"{t} 00:00:00" if lone else t for t, lone in zip(texts, bare, strict=True)]
