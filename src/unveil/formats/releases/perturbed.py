"""Perturbed columns as they are read: single values that need not be in the domain, beside widened ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, position
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.data.rows import SUPPRESSED, PublishedRows, release_of_rows, single_values
from unveil.data.schema import Schema
from unveil.errors import ReleaseError, shown
from unveil.formats.cells import shown_values
from unveil.formats.cells.notations import is_token, parse_cells
from unveil.formats.releases import ReadOptions, dialect_of, published, read_attribute
from unveil.formats.tables import Columns

if TYPE_CHECKING:
    from unveil.formats.frames import IntoFrame

__all__ = ["read_perturbed_columns"]


def read_perturbed_columns(
    given: "str | Path | IntoFrame", schema: Schema, key: str | None, options: ReadOptions
) -> Release:
    """A release whose sidecar says that columns were perturbed.

    A perturbed number need not be one of the domain; a category must. Other columns may hold intervals, sets and
    labels of hierarchies, as in any release. `*` is a suppressed cell, and so is `NA` if it is
    neither a value nor a token for missing. `cells` may say that tokens and empty cells are, too: "suppressed", or
    "age=suppressed" for one attribute.
    """
    named = parse_cells(options.get("cells", ()))
    known = {a.name: a for a in options.get("attributes", ())}
    path, sidecar = published.named_sidecar(given, options.get("sidecar"))
    beside = path.with_suffix(".toml")
    if sidecar.group is not None or sidecar.blocks is not None or sidecar.sensitive_table is not None:
        raise ReleaseError(f"{beside}: masked columns and hidden links in one release cannot be read; keep one of them")
    found = published.published_columns(given, schema, **dialect_of(options))
    found = published.without_blanked(published.without_key(found, key), schema)
    published.check_columns(path, schema, sidecar, found)
    count = published.count_column(schema, sidecar, found)
    if count in found.columns and {text.strip() for text in found.columns[count].texts} != {"1"}:
        raise ReleaseError(f"{path}: {shown(count)} says that a row stands for several people; write a row for each")
    names = [n for n in schema.names if n in found.columns]
    if not names:
        raise ReleaseError(f"{path}: publishes none of the attributes of {schema.name}")
    perturbed = names if "*" in sidecar.masked else sidecar.masked
    for name in (*perturbed, *sidecar.channel):
        if name not in names:
            raise ReleaseError(f"{beside}: {shown(name)} is not a column of {path.name} that the schema names")
    published.check_cells(named, path, names, found)
    read: list[tuple[Attribute, NDArray[Any]]] = []
    wide: dict[int, tuple[Regions, NDArray[np.int64]]] = {}
    for index, name in enumerate(names):
        cells = named.get(name, named.get("", ()))
        try:
            read.append(_read_column(schema, known.get(name), found, name, str(path), "suppressed" in cells))
        except _WidenedCellError as reason:
            if name in sidecar.masked:
                raise ReleaseError(str(reason)) from None
            one = read_attribute(schema, known.get(name), found, name, str(path), cells)
            regions, number = one.regions.canonical(one.region)
            wide[index] = regions, number[one.region]
            read.append((one.attribute, single_values(one.attribute, *wide[index])))
    rows = PublishedRows(
        tuple(attribute for attribute, _ in read),
        tuple(column for _, column in read),
        tuple(sorted({names.index(name) for name in perturbed})),
        _channel(sidecar, [attribute for attribute, _ in read], beside),
        sidecar.method,
        wide,
    )
    return release_of_rows(rows)


class _WidenedCellError(ReleaseError):
    """A cell that is not a single value."""


def _read_column(
    schema: Schema, known: Attribute | None, found: Columns, name: str, file: str, withheld: bool
) -> tuple[Attribute, NDArray[Any]]:
    """`withheld`: whether a token for missing, or an empty cell, is a suppressed one."""
    column, attribute = found.columns[name], known
    declared = schema.declaration(name)
    if attribute is None:
        named = ("suppressed",) if withheld else ()
        observed = shown_values(column.texts, declared.kind, found.decimal, named, schema.document.missing)
        if not observed and declared.domain is None and declared.bins is None and name not in schema.hierarchies:
            raise ReleaseError(f"{file}: {name}: no cell names a value; declare its domain, or give the original")
        attribute = schema.attribute(name, observed, decimal=found.decimal, source="release")
    code = attribute.coder(found.decimal)

    def is_suppressed(text: str) -> bool:
        cell = text.strip()
        if withheld and is_token(cell, attribute.missing_tokens):
            return not 0 <= code(text) < attribute.real
        return cell == "*" or (cell in ("NA", "<NA>") and code(text) < 0)

    suppressed = np.array([is_suppressed(text) for text in column.texts])
    values: NDArray[Any]
    if attribute.kind.measured:
        places = [
            np.nan if gone else _place(text, attribute, found.decimal)
            for text, gone in zip(column.texts, suppressed, strict=True)
        ]
        values = np.array([np.inf if p is None else p for p in places])
        wrong = np.isinf(values)
    else:
        values = np.array([one if (one := code(text)) != -1 else code(text.strip()) for text in column.texts])
        wrong = (values < 0) & ~suppressed
        values = np.where(suppressed, SUPPRESSED, values)
    if wrong.any():
        index = int(np.flatnonzero(wrong)[0])
        row = int(np.flatnonzero(column.text_of_row == index)[0])
        what = "single number or date" if attribute.kind.measured else f"value of the {attribute.source} domain"
        raise _WidenedCellError(
            f"{file}, {found.place(row)}, {name}: {shown(column.texts[index])} is not a {what}; a perturbed column "
            "holds single values, or * where one is suppressed"
        )
    return attribute, values[column.text_of_row]


def _place(text: str, attribute: Attribute, decimal: str) -> float | None:
    if text in attribute.missing_tokens:
        return float("nan")
    return position(text, attribute.kind, decimal)


def _channel(sidecar: published.Sidecar, attributes: list[Attribute], file: Path) -> dict[int, NDArray[np.float64]]:
    found = {}
    for index, attribute in enumerate(attributes):
        if attribute.name in sidecar.channel:
            rows = sidecar.channel[attribute.name]
            if len(rows) != attribute.codes or any(len(row) != attribute.codes for row in rows):
                raise ReleaseError(
                    f"{file}: the matrix of {attribute.name} is not {attribute.codes} × {attribute.codes}, the size of "
                    "its domain; declare the domain in the schema, or give the original"
                )
            found[index] = np.array(rows, dtype=np.float64)
    return found
