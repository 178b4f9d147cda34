"""Tables as SPSS, Stata and SAS files: with the codes and labels of the file they came from, where cells allow it."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.data.dictionary import Dictionary, Value, Variable
from unveil.errors import OutputError, shown
from unveil.formats.columns import needed
from unveil.formats.statistical.transport import layout

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ColumnPlan", "check_names", "planned", "write_statistical"]


@dataclass(frozen=True, slots=True)
class _Family:
    """What a format allows."""

    name: str
    writer: str
    shape: re.Pattern[str]
    shaped: str  # the shape in words
    label: int  # characters of a variable's label
    widest: int | None  # bytes of a text
    reserved: frozenset[str] = frozenset()


_SPSS_WORDS = frozenset(["ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"])
_STATA_WORDS = frozenset(
    [
        "_all",
        "_b",
        "byte",
        "_coef",
        "_cons",
        "double",
        "float",
        "if",
        "in",
        "int",
        "long",
        "_n",
        "_N",
        "_pi",
        "_pred",
        "_rc",
        "_skip",
        "strL",
        "using",
        "with",
    ]
)
_SPSS = _Family(
    "SPSS",
    "write_sav",
    re.compile(r"(?!\d)[^\W_@#$][\w@#$.]{0,63}(?<![._])|[@#$][\w@#$.]{0,63}(?<!\.)"),
    "a letter, then letters, digits, _ or dots, 64 bytes at most",
    255,
    32_767,
    _SPSS_WORDS,
)
_PLAIN, _PLAINLY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}"), "a letter, then letters, digits or _, 32 at most"
_FAMILIES = {
    ".sav": _SPSS,
    ".zsav": _SPSS,
    ".dta": _Family("Stata", "write_dta", _PLAIN, _PLAINLY, 80, None, _STATA_WORDS),
    ".xpt": _Family("SAS", "write_xport", _PLAIN, _PLAINLY, 256, 32_767),
}


@dataclass(frozen=True, slots=True, eq=False)
class ColumnPlan:
    """A column as the library writes it."""

    series: "pl.Series"
    label: str = ""
    labels: dict[Any, str] = field(default_factory=dict)
    missing: list[Any] = field(default_factory=list)  # user-missing codes and ranges, or letters
    format: str = ""
    measure: str = ""
    width: int = 0
    tags: "pl.Series | None" = None  # (rows,) letters of special missing values, where the library writes none


def check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse names that the format cannot hold: another name would no longer fit the schema."""
    family = _FAMILIES[path.suffix.lower()]
    seen: dict[str, str] = {}
    for name in names:
        legal = family.shape.fullmatch(name) and len(name.encode()) <= 64
        if not legal or name in family.reserved or (name.upper() in family.reserved and family is _SPSS):
            raise OutputError(
                f"{path}: the column {shown(name)} cannot have this name in {family.name} ({family.shaped}); "
                "rename it in the original and the schema, or write .csv"
            )
        folded = name if family.name == "Stata" else name.upper()
        if folded in seen:
            raise OutputError(
                f"{path}: {shown(seen[folded])} and {shown(name)} are one name in {family.name}; rename one"
            )
        seen[folded] = name


def planned(
    path: Path,
    name: str,
    texts: "pl.Series",
    missing: str | None,
    merged: bool,
    like: Dictionary | None,
    typed: "pl.Series",
) -> ColumnPlan:
    """The column with its original codes if every cell is one, else as numbers, dates or texts."""
    family = _FAMILIES[path.suffix.lower()]
    variable = None if like is None else like.variables.get(name)
    plan = None
    if variable is not None and like is not None:
        own = like.family == family.name
        if own or variable.kind in ("text", "number"):
            plan = _coded(variable if own else _abroad(variable), name, texts, missing, merged, family)
    label = "" if variable is None else variable.label[: family.label]
    plan = replace(plan or ColumnPlan(typed), label=label)
    _check_length(path, family, plan.series)
    return plan


def write_statistical(path: Path, made: Path, plans: Sequence[ColumnPlan], like: Dictionary | None) -> None:
    """Write the file to `made`; `path` names it in errors."""
    import polars as pl

    family = _FAMILIES[path.suffix.lower()]
    pyreadstat = needed("pyreadstat", "files", f"{path}: to write {family.name} files", OutputError)
    named = {p.series.name: p for p in plans}
    options: dict[str, Any] = {
        "column_labels": {name: p.label for name, p in named.items() if p.label},
        "variable_format": {name: p.format for name, p in named.items() if p.format},
    }
    if family.name != "SAS":
        options["variable_value_labels"] = {name: p.labels for name, p in named.items() if p.labels}
        missing = {name: p.missing for name, p in named.items() if p.missing}
        options["missing_ranges" if family.name == "SPSS" else "missing_user_values"] = missing
    if family.name == "SPSS":
        options["variable_measure"] = {name: p.measure for name, p in named.items() if p.measure not in ("", "unknown")}
        options["variable_display_width"] = {name: p.width for name, p in named.items() if p.width > 0}
        options["compress" if path.suffix.lower() == ".zsav" else "row_compress"] = True
        if like is not None and like.family == "SPSS" and like.notes:
            options["note"] = list(like.notes)
    if like is not None and like.label:
        options["file_label"] = like.label[:64]
    try:
        getattr(pyreadstat, family.writer)(pl.DataFrame([p.series for p in plans]), os.fspath(made), **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, TypeError, UnicodeError) as reason:
        said = (str(reason).strip() or type(reason).__name__).splitlines()[0]
        raise OutputError(f"{path}: cannot be written as {family.name} ({shown(said, 100)[1:-1]})") from None
    _write_tags(made, plans)


def _write_tags(made: Path, plans: Sequence[ColumnPlan]) -> None:
    tagged = {place: p.tags for place, p in enumerate(plans) if p.tags is not None}
    places = layout(made, len(plans)) if tagged else None
    for place, letters in tagged.items():
        if places is not None:
            places.write_tags(place, np.frombuffer(letters.fill_null("\0").str.join("").item().encode(), np.uint8))


def _abroad(variable: Variable) -> Variable:
    """In another family's file: codes and labels of what is not missing; its kinds of missing have no code there."""
    gone = [code for code in variable.labels if variable.is_missing(code)]
    return replace(
        variable,
        labels={c: label for c, label in variable.labels.items() if c not in gone},
        shows={c: text for c, text in variable.shows.items() if c not in gone},
        missing=(),
        tagged=False,
        single=False,
        format="",
        measure="",
        width=0,
        seen=(),
    )


def _coded(
    variable: Variable, name: str, texts: "pl.Series", missing: str | None, merged: bool, family: _Family
) -> ColumnPlan | None:
    import polars as pl

    distinct = texts.unique().to_list()
    numbers = variable.kind != "text"
    absent = missing is not None and missing in distinct and (numbers or (merged and bool(variable.seen)))
    codes = variable.values([text for text in distinct if not (absent and text == missing)])
    labels = _labels(variable, family)
    if codes is None or labels is None:
        return None
    values: dict[str, Value | None] = dict(codes)
    if absent and missing is not None:
        # One kind of missing values keeps its code; of several, the release does not say which.
        kind = variable.seen[0] if merged and len(variable.seen) == 1 else None
        values[missing] = kind if numbers or kind is not None else ""
    letters = sorted({v for v in (*values.values(), *labels) if numbers and isinstance(v, str)})
    tags = None
    if family.name == "SAS" and letters:
        known = {text: v for text, v in values.items() if isinstance(v, str)}
        tags = texts.replace_strict(list(known), list(known.values()), default=None, return_dtype=pl.String)
        values = {text: None if text in known else v for text, v in values.items()}
        letters = []
    dtype = pl.String if not numbers else pl.Float64
    if letters and any(isinstance(v, str) for v in values.values()):
        series = pl.Series(name, [values[text] for text in texts.to_list()], dtype=pl.Object)
    else:
        series = texts.replace_strict(
            list(values), pl.Series(list(values.values()), dtype=dtype), return_dtype=dtype
        ).alias(name)
    ranges = [low if low == high else {"lo": low, "hi": high} for low, high in variable.missing]
    return ColumnPlan(
        series,
        labels=labels,
        missing=letters if family.name == "Stata" else ranges if family.name == "SPSS" else [],
        format=variable.format if numbers else "",
        measure=variable.measure,
        width=variable.width,
        tags=tags,
    )


def _labels(variable: Variable, family: _Family) -> dict[Any, str] | None:
    """The labels by code; None if the format cannot hold them, so that cells must show them."""
    if family.name == "SAS":
        return {} if not variable.labels else None
    if family.name != "Stata":
        return dict(variable.labels)
    whole: dict[Any, str] = {}
    for code, label in variable.labels.items():
        if variable.kind == "text" or (isinstance(code, float) and not (code.is_integer() and abs(code) < 2**31 - 100)):
            return None
        whole[int(code) if isinstance(code, float) else code] = label
    return whole


def _check_length(path: Path, family: _Family, series: "pl.Series") -> None:
    import polars as pl

    if series.dtype != pl.String or family.widest is None:
        return
    if series.str.ends_with(" ").any():
        raise OutputError(
            f"{path}: {series.name} holds texts that end in a blank, which {family.name} does not keep; write .csv"
        )
    longest = int(series.str.len_bytes().fill_null(0).to_numpy().max(initial=0))
    if longest > family.widest:
        raise OutputError(
            f"{path}: {series.name} holds a text of {longest:,} bytes, over the {family.widest:,} of {family.name}; "
            "write .csv"
        )
