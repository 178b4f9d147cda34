"""Perturbed columns as they are read: values that need not be in the domain or true, said to be so or noticed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role, position
from unveil.data.regions import Regions
from unveil.data.release import Perturbation
from unveil.data.rows import SUPPRESSED, shown_numbers, shown_region
from unveil.data.schema import Schema
from unveil.errors import ReleaseError, shown
from unveil.formats.cells import shown_values
from unveil.formats.cells.notations import is_token
from unveil.formats.releases import ReadAttribute, read_attribute
from unveil.formats.releases.published import Sidecar
from unveil.formats.tables import Columns

__all__ = ["channel_of", "noticed_column", "perturbed_column"]


def perturbed_column(
    schema: Schema,
    known: Attribute | None,
    found: Columns,
    name: str,
    file: str,
    named: tuple[str, ...],
    *,
    widened: bool,
) -> tuple[ReadAttribute, Perturbation]:
    """A column that is said to be perturbed. A number need not be one of the domain; a category must, or be a set.

    `*` is a suppressed cell, and so is `NA` if it is neither a value nor a token for missing. `named`: "suppressed"
    says that tokens and empty cells are, too. `widened`: bands and sets may have been perturbed, not only values; what
    they hold need not be true then, and which of them is shown is what counts.
    """
    column, attribute = found.columns[name], known
    withheld = "suppressed" in named
    declared = schema.declaration(name)
    if attribute is None:
        notations = ("suppressed",) if withheld else ()
        observed = shown_values(column.texts, declared.kind, found.decimal, notations, schema.document.missing)
        if not observed and declared.domain is None and declared.bins is None and name not in schema.hierarchies:
            raise ReleaseError(f"{file}: {name}: no cell names a value; declare its domain, or give the original")
        attribute = schema.attribute(name, observed, decimal=found.decimal, source="release")
    values, wrong = _values(attribute, column.texts, found.decimal, withheld=withheld)
    if wrong.any():
        index = int(np.flatnonzero(wrong)[0])
        row = int(np.flatnonzero(column.text_of_row == index)[0])
        what = "single number or date" if attribute.kind.measured else f"value of the {attribute.source} domain"
        holds = "single values, bands or sets of them," if widened else "single values where its chances are stated,"
        wrong_cell = ReleaseError(
            f"{file}, {found.place(row)}, {name}: {shown(column.texts[index])} is not a {what}; a perturbed column "
            f"holds {holds} or * where one is suppressed"
        )
        if not widened:
            raise wrong_cell
        try:
            cells = read_attribute(schema, known, found, name, file, named)
        except ReleaseError:
            raise wrong_cell from None
        return ReadAttribute(*shown_region(cells.attribute, cells.regions, cells.region)), Perturbation(cells.attribute)
    return _read(attribute, values[column.text_of_row], said=True)


def noticed_column(
    schema: Schema, known: Attribute | None, found: Columns, name: str, named: tuple[str, ...]
) -> tuple[ReadAttribute, Perturbation] | None:
    """A column of which nobody says that it was perturbed, but that shows numbers which are not in its domain.

    Means with decimals are such, noise, codes of bands. Numbers in place of all values of a category are taken for
    codes of these values in their order, and so are other names, one for each; whether they are is seen beside the
    original. None: it is neither.
    """
    column, declared = found.columns[name], schema.declaration(name)
    attribute = known
    if declared.role is Role.IDENTIFIER:
        return None
    if attribute is None and (declared.domain is not None or declared.bins is not None or name in schema.hierarchies):
        attribute = schema.attribute(name, decimal=found.decimal)
    if attribute is None:
        return None
    values, wrong = _values(attribute, column.texts, found.decimal, withheld="suppressed" in named)
    if attribute.kind.measured:
        lists = found.decimal == "," and any(_is_list(text, attribute) for text in column.texts)
        return None if lists or wrong.any() else _read(attribute, values[column.text_of_row], said=False)
    names = [text.strip() for text, one in zip(column.texts, wrong, strict=True) if one]
    if not names or (values >= 0).any() or len(names) > attribute.real or len(set(names)) < len(names):
        return None
    places = [position(name, Kind.NUMERIC, found.decimal) for name in names]
    numbers = [place for place in places if place is not None]
    if len(set(numbers)) < len(names) and (numbers or len(names) < attribute.real):
        return None  # fewer names than values may be labels of sets of them
    order = [name for _, name in sorted(zip(numbers or names, names, strict=True))]
    values[wrong] = [order.index(name) for name in names]
    return _read(attribute, values[column.text_of_row], said=False)


def _is_list(text: str, attribute: Attribute) -> bool:
    """Whether a decimal comma may part two values of the domain instead."""
    parts = text.split(",")
    return len(parts) > 1 and all(attribute.coder(",")(part) >= 0 for part in parts)


def _values(
    attribute: Attribute, texts: Sequence[str], decimal: str, *, withheld: bool
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """(texts,) what each says, a place of a number or a code; and which are no single value."""
    code = attribute.coder(decimal)

    def is_suppressed(text: str) -> bool:
        cell = text.strip()
        if withheld and is_token(cell, attribute.missing_tokens):
            return not 0 <= code(text) < attribute.real
        return cell == "*" or (cell in ("NA", "<NA>") and code(text) < 0)

    suppressed = np.array([is_suppressed(text) for text in texts])
    if attribute.kind.measured:
        places = [
            np.nan if gone else _place(text, attribute, decimal) for text, gone in zip(texts, suppressed, strict=True)
        ]
        found = np.array([np.inf if place is None else place for place in places])
        return found, np.isinf(found)
    codes = np.array([one if (one := code(text)) != -1 else code(text.strip()) for text in texts])
    return np.where(suppressed, SUPPRESSED, codes), (codes < 0) & ~suppressed


def _place(text: str, attribute: Attribute, decimal: str) -> float | None:
    if text in attribute.missing_tokens:
        return float("nan")
    return position(text, attribute.kind, decimal)


def _read(attribute: Attribute, values: NDArray[Any], *, said: bool) -> tuple[ReadAttribute, Perturbation]:
    """(rows,) values, as cells of an attribute whose domain is what is shown."""
    made, code = shown_numbers(attribute, values) if attribute.kind.measured else (attribute, values)
    each = np.arange(made.codes)  # the last region: a cell that is not published
    regions = Regions.intervals(made.codes, np.append(each, 0), np.append(each, made.codes - 1))
    return ReadAttribute(made, regions, np.where(code < 0, made.codes, code)), Perturbation(attribute, said=said)


def channel_of(sidecar: Sidecar, attribute: Attribute, file: Path) -> NDArray[np.float64] | None:
    """The chances of each change, where they are published."""
    rows = sidecar.channel.get(attribute.name)
    if rows is None:
        return None
    if len(rows) != attribute.codes or any(len(row) != attribute.codes for row in rows):
        raise ReleaseError(
            f"{file}: the matrix of {attribute.name} is not {attribute.codes} × {attribute.codes}, the size of "
            "its domain; declare the domain in the schema, or give the original"
        )
    return np.array(rows, dtype=np.float64)
