"""The output that ARX 3.7 and newer keep in a project: codes and dictionaries of the quasi-identifiers.

`data/output.dat` holds two tables, of generalised and of microaggregated attributes. Sensitive and insensitive
attributes are those of the input, row by row; identifiers are never shown. The highest bit of a row's first code marks
a suppressed row, and config.xml says which attributes are withheld there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.table import CodedColumn
from unveil.formats.columns import Columns, smallest_codes
from unveil.formats.java_stream import JavaObject, read_objects
from unveil.formats.survey import Refusal

__all__ = ["OutputTable", "output_tables", "published_columns", "starred_columns"]

_SUPPRESSED = np.uint32(1 << 31)


@dataclass(frozen=True, slots=True)
class OutputTable:
    """Some attributes of the output: the code of each cell, and what the codes stand for."""

    names: tuple[str, ...]
    codes: NDArray[np.uint32]  # (rows, attributes), the highest bit of the first marks a suppressed row
    texts: tuple[tuple[str, ...], ...]  # by attribute

    def column(self, name: str) -> CodedColumn:
        """One attribute, with the texts that occur: a dictionary lists all labels of all levels."""
        place = self.names.index(name)
        return _occurring(self.texts[place], self.codes[:, place] & ~_SUPPRESSED)


def output_tables(raw: bytes) -> tuple[OutputTable, OutputTable]:
    """The generalised and the microaggregated attributes."""
    generalised, aggregated = (_table(found) for found in read_objects(raw, 2))
    if not generalised.names:
        raise Refusal("it holds no generalised attribute")
    if aggregated.names and len(aggregated.codes) != len(generalised.codes):
        raise Refusal("its two tables differ in length")
    return generalised, aggregated


def published_columns(
    original: Columns,
    tables: tuple[OutputTable, OutputTable],
    roles: Mapping[str, Role],
    withheld: frozenset[Role],
) -> Columns:
    """The output as ARX shows it. `withheld`: roles that show `*` in a suppressed row."""
    generalised, aggregated = tables
    if len(generalised.codes) != original.rows:
        raise Refusal(f"it has {len(generalised.codes)} rows and the input {original.rows}")
    suppressed = (generalised.codes[:, 0] & _SUPPRESSED).astype(bool)
    whole = CodedColumn(("*",), np.zeros(original.rows, dtype=np.uint8))
    columns = {}
    for name, column in original.columns.items():
        role = roles.get(name, Role.IDENTIFIER)
        # The means of a microaggregated attribute stand instead of the clusters they were taken in.
        held = next((t for t in (aggregated, generalised) if name in t.names), None)
        if held is not None:
            shown, role = held.column(name), Role.QUASI_IDENTIFIER
        elif role is Role.IDENTIFIER:
            shown = whole
        elif role is Role.QUASI_IDENTIFIER:
            raise Refusal(f"it lacks the quasi-identifier {name!r}")
        else:
            shown = column
        columns[name] = _starred(shown, suppressed) if role in withheld else shown
    return replace(original, columns=columns)


def starred_columns(shown: Columns, roles: Mapping[str, Role], text: str) -> Columns:
    """An output of older versions with `*` where `text` was set to stand for what is suppressed.

    Rows are suppressed whole: the text alone in one column may be a value.
    """
    cells = {n: np.array([t == text for t in c.texts])[c.text_of_row] for n, c in shown.columns.items()}
    known = [cells[n] for n in cells if roles.get(n) is Role.QUASI_IDENTIFIER]
    suppressed = np.logical_and.reduce(known) if known else np.zeros(shown.rows, dtype=bool)
    hidden = {n: here if roles.get(n) is Role.IDENTIFIER else here & suppressed for n, here in cells.items()}
    return replace(shown, columns={n: _starred(c, hidden[n]) for n, c in shown.columns.items()})


def _starred(column: CodedColumn, rows: NDArray[np.bool_]) -> CodedColumn:
    """The column with `*` in these rows."""
    return _occurring([*column.texts, "*"], np.where(rows, len(column.texts), column.text_of_row))


def _occurring(texts: Sequence[str], codes: NDArray[np.integer]) -> CodedColumn:
    """The column with each text that occurs once, by code point, as other columns have them."""
    used, place = np.unique(codes, return_inverse=True)
    names = [texts[code] for code in used.tolist()]
    distinct = sorted(set(names))
    rank = {text: number for number, text in enumerate(distinct)}
    return CodedColumn(
        distinct, smallest_codes(np.array([rank[n] for n in names], dtype=np.uint32)[place], len(distinct))
    )


def _table(found: object) -> OutputTable:
    fields = _fields(found)
    names = _texts(fields.get("header"))
    if not names:
        return OutputTable((), np.zeros((0, 0), dtype=np.uint32), ())
    codes = _codes(fields.get("data"))
    mapping = _fields(fields.get("dictionary")).get("mapping")
    if not isinstance(mapping, list):
        raise Refusal("a table has no dictionary")
    texts = tuple(_texts(one) for one in mapping)
    if not len(texts) == len(names) == codes.shape[1] or len(set(names)) != len(names):
        raise Refusal("a table's names, codes and dictionary differ")
    for place, values in enumerate(texts):
        if len(codes) and int((codes[:, place] & ~_SUPPRESSED).max()) >= len(values):
            raise Refusal("a code is in no dictionary")
    return OutputTable(names, codes, texts)


def _codes(found: object) -> NDArray[np.uint32]:
    """Rows of numbers: a matrix laid out in one array, or an array of rows."""
    if isinstance(found, JavaObject):
        array, columns = found.fields.get("array"), found.fields.get("columns")
        if set(found.fields) & {"subset"} or not isinstance(array, np.ndarray) or not isinstance(columns, int):
            raise Refusal(f"a table is kept as {found.kind}")
        if columns < 1 or len(array) % columns:
            raise Refusal("a table's rows differ in length")
        return array.astype(np.uint32).reshape(-1, columns)
    if isinstance(found, list) and found and all(isinstance(row, np.ndarray) for row in found):
        if len({len(row) for row in found}) != 1:
            raise Refusal("a table's rows differ in length")
        return np.stack(found).astype(np.uint32)
    raise Refusal("a table has no rows")


def _fields(found: object) -> dict[str, object]:
    if not isinstance(found, JavaObject):
        raise Refusal("it holds no table")
    return found.fields


def _texts(found: object) -> tuple[str, ...]:
    """Texts; none given is ARX's missing value."""
    if not isinstance(found, list) or not all(text is None or isinstance(text, str) for text in found):
        raise Refusal("a table has no names or values")
    return tuple("NULL" if text is None else text for text in found)
