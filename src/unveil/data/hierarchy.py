"""Hierarchies: value → ever wider sets of values, up to the whole domain. Read, checked, built."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unveil.errors import SchemaError, shown

__all__ = [
    "Hierarchy",
    "HierarchyTable",
    "csv_field",
    "hierarchy_files",
    "hierarchy_rows",
    "parse_hierarchy",
    "plain_name",
    "read_hierarchy",
    "read_hierarchy_bytes",
]

MOST_LEVELS = 200
MOST_BYTES = 1 << 28  # of a file


@dataclass(frozen=True, slots=True)
class HierarchyTable:
    """A hierarchy as a file holds it: one row a leaf, its labels from the narrowest up, `*` last."""

    rows: tuple[tuple[str, ...], ...]
    source: str = "hierarchy"
    lines: tuple[int, ...] = field(default=(), compare=False, repr=False)  # (rows,) where each row stands in its file

    def __post_init__(self) -> None:
        _check_rows(self)

    @property
    def leaves(self) -> tuple[str, ...]:
        """The leaves, depth first: every node is a run of neighbours."""
        rank: dict[tuple[str, ...], int] = {}
        for row in self.rows:
            for depth in range(1, len(row) + 1):
                rank.setdefault(row[len(row) - depth :], len(rank))
        height = len(self.rows[0])
        return tuple(
            r[0] for r in sorted(self.rows, key=lambda r: [rank[r[height - d :]] for d in range(1, height + 1)])
        )

    def to_csv(self) -> str:
        """ARX's shape: no header, `;`, raw value first, `*` last."""
        return "".join(";".join(map(csv_field, row)) + "\n" for row in self.rows)

    def over(self, values: Sequence[str], *, missing: str | None, attribute: str) -> "Hierarchy":
        """This hierarchy on the codes of a domain (`missing`: the token of a last code outside the order)."""
        row_of = {row[0]: row for row in self.rows}
        absent = [v for v in values if v not in row_of]
        if absent:
            raise SchemaError(
                f"{self.source}: the value {shown(absent[0])} of {attribute} has no row"
                + (f" ({len(absent)} values lack one)" if len(absent) > 1 else "")
                + "; add a row for it"
            )
        node, labels = [], []
        for level in range(len(self.rows[0])):
            number: dict[str, int] = {}
            column = [number.setdefault(row_of[v][level], len(number)) for v in values]
            below_top = level < len(self.rows[0]) - 1
            if missing is not None:
                column.append(len(number) if below_top else 0)
            node.append(column)
            labels.append((*number, missing) if missing is not None and below_top else tuple(number))
        array = np.asarray(node, dtype=np.int32)
        array.flags.writeable = False
        return Hierarchy(node=array, labels=tuple(labels))


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """A hierarchy on codes: which node each code belongs to, level by level."""

    node: NDArray[np.int32]  # (levels, codes): level 0 is the values themselves, the last level one node
    labels: tuple[tuple[str, ...], ...]  # per level: the node's label

    @property
    def height(self) -> int:
        """Steps from a value to `*`."""
        return len(self.labels) - 1

    def order(self) -> NDArray[np.int64]:
        """Codes depth first, so that every node is a run; the domain's order decides within a node."""
        first = [self._first_code(level) for level in range(len(self.labels) - 1, -1, -1)]
        return np.lexsort(first[::-1]).astype(np.int64)

    def _first_code(self, level: int) -> NDArray[np.int64]:
        """Of each code: the first code of its node."""
        first = np.full(len(self.labels[level]), self.node.shape[1], dtype=np.int64)
        np.minimum.at(first, self.node[level], np.arange(self.node.shape[1]))
        of_code: NDArray[np.int64] = first[self.node[level]]
        return of_code


def csv_field(text: str) -> str:
    """A CSV field that reads back as it is; Python's writer leaves a lone carriage return unquoted."""
    plain = text.isprintable() and not set(text) & set(';"')  # a byte order mark is not printable
    return text if plain else '"' + text.replace('"', '""') + '"'


def _check_rows(tree: HierarchyTable) -> None:
    rows, source = tree.rows, tree.source
    if not rows:
        raise SchemaError(f"{source}: holds no rows; write one row a value, for instance 45501;4550*;*")
    width = len(rows[0])
    if width > MOST_LEVELS:
        raise SchemaError(f"{source}: {width:,} levels, over {MOST_LEVELS}; leave levels out")
    line_of: dict[str, int] = {}
    parent: list[dict[str, tuple[str, int]]] = [{} for _ in range(width)]
    lines = tree.lines or range(1, len(rows) + 1)
    for line, row in zip(lines, rows, strict=True):
        if len(row) != width:
            raise SchemaError(
                f"{source}, line {line}: {len(row)} levels where line {lines[0]} has {width}; give every row the same"
            )
        if row[0] in line_of:
            raise SchemaError(
                f"{source}, line {line}: {shown(row[0])} is already on line {line_of[row[0]]}; keep one row a value"
            )
        line_of[row[0]] = line
        if row[-1] != "*" or width < 2:
            raise SchemaError(f"{source}, line {line}: ends with {shown(row[-1])}; the last level must be *")
        if "*" in row[:-1]:
            raise SchemaError(f"{source}, line {line}: * stands below the last level; it means the whole domain")
        for level in range(width - 1):
            known = parent[level].setdefault(row[level], (row[level + 1], line))
            if known[0] != row[level + 1]:
                raise SchemaError(
                    f"{source}, line {line}: not nested: {shown(row[level])} lies in {shown(row[level + 1])} here "
                    f"and in {shown(known[0])} on line {known[1]}"
                )
    _check_labels(tree)


def _check_labels(tree: HierarchyTable) -> None:
    """One label, one set: a label met at two levels, or equal to a value, must name the same values."""
    meaning: dict[str, frozenset[int]] = {}
    for level in range(len(tree.rows[0])):
        members: dict[str, list[int]] = {}
        for index, row in enumerate(tree.rows):
            members.setdefault(row[level], []).append(index)
        for label, indices in members.items():
            if meaning.setdefault(label, frozenset(indices)) != frozenset(indices):
                raise SchemaError(
                    f"{tree.source}: the label {shown(label)} names two different sets; rename one of them"
                )


def read_hierarchy(path: Path) -> HierarchyTable:
    """Read a hierarchy in ARX's CSV shape."""
    return parse_hierarchy(read_hierarchy_bytes(path), str(path))


def read_hierarchy_bytes(path: Path) -> bytes:
    """The bytes of a hierarchy's, a domain's or a mapping's file; not of a device, nor of a huge one."""
    try:
        if not path.is_file() and path.exists():
            raise SchemaError(f"{shown(path, 500)[1:-1]}: not a regular file; name a hierarchy file")
        if path.stat().st_size > MOST_BYTES:
            raise SchemaError(f"{shown(path, 500)[1:-1]}: over {MOST_BYTES >> 20} MB; too large for a hierarchy")
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise SchemaError(
            f"{shown(path, 500)[1:-1]}: cannot be read ({reason}); name an existing hierarchy file"
        ) from None


def parse_hierarchy(raw: bytes, source: str) -> HierarchyTable:
    """A hierarchy in ARX's CSV shape, or with commas as other tools write it, from the bytes of a file."""
    commas = b"," in raw and b";" not in raw
    rows, lines = hierarchy_rows(raw, source, "," if commas else ";")
    if commas and len({len(row) for row in rows}) > 1:
        raise SchemaError(
            f"{source}: no ';' found, and with ',' rows have different numbers of levels; separate the levels with ';'"
        )
    return HierarchyTable(rows=tuple(rows), source=source, lines=tuple(lines))


def hierarchy_rows(raw: bytes, source: str, delimiter: str = ";") -> tuple[list[tuple[str, ...]], list[int]]:
    """The rows of a hierarchy file, whatever they say, and the line of each."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", errors="replace")
    rows, lines, line = [], [], 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                rows.append(tuple(row))
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise SchemaError(
            f"{source}: not a hierarchy in CSV ({error}); write one row a value: value;label;…;*"
        ) from None
    return rows, lines


def hierarchy_files(folder: Path, names: Iterable[str] | None, where: str) -> dict[str, Path]:
    """The hierarchy file of each attribute in a folder: NAME.csv, or ARX's …_hierarchy_NAME.csv.

    Without `names` every file is taken, its name less what ARX puts before it. A name with characters that no file name
    should hold is found by its `plain_name`.
    """
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix.lower() == ".csv")
    except (OSError, ValueError):
        raise SchemaError(f"{where}: {shown(folder, 200)} is not a folder that can be read; name one") from None
    found: dict[str, Path] = {}
    for name in dict.fromkeys(file.stem.rpartition("_hierarchy_")[2] for file in files) if names is None else names:
        fits = {name, plain_name(name)}
        mine = [f for f in files if f.stem in fits or any(f.stem.endswith(f"_hierarchy_{fit}") for fit in fits)]
        if len(mine) > 1:
            raise SchemaError(f"{where}: {mine[0].name} and {mine[1].name} both fit {shown(name)}; keep one")
        if mine:
            found[name] = mine[0]
    return found


def plain_name(name: str) -> str:
    """An attribute's name without what no file name should hold."""
    return "".join(c if c.isalnum() or c in " ._-" else "_" for c in name)[:80].strip(" .") or "_"


def iso_date(text: str) -> date | None:
    """A date written 2024-01-31; not 20240131, nor 2024-W05, which is a hierarchy's label for a week."""
    try:
        return date.fromisoformat(text) if len(text) == 10 and text[4] == text[7] == "-" else None
    except ValueError:
        return None


def number_text(value: float) -> str:
    """The one way a number is written: 17, 17.5, never 17.0."""
    return str(int(value)) if float(value).is_integer() and abs(value) <= 2**53 else repr(float(value))
