"""Tables of many files: a folder, folders NAME=VALUE as Hive writes them, or a pattern such as `census/*.parquet`."""

import glob
import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from unveil.data.preparation import CodedColumn
from unveil.errors import UnveilError, shown
from unveil.formats.columns import Columns, EqualityCodes, recoded
from unveil.formats.paths import folder_of, is_many, is_single, sheet_file

__all__ = [
    "TablePart",
    "file_digest",
    "hashed",
    "joined_hashes",
    "joined_parts",
    "part_files",
    "with_labels",
]

MOST_PARTS = 100_000
NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class TablePart:
    """One file of a table."""

    path: Path
    name: str  # within the table, as messages call it
    labels: tuple[tuple[str, str], ...] = ()  # columns that its folders NAME=VALUE give every row


def part_files(path: Path, error: type[UnveilError]) -> tuple[TablePart, ...]:
    """The parts of a table, by name; names that begin with . or _ are no parts, as Hive and Spark have it."""
    parts: list[TablePart] = []
    try:
        for found in _named_parts(path, error):
            parts.append(found)
            if len(parts) > MOST_PARTS:
                raise error(f"{path}: holds over {MOST_PARTS:,} files; join some of them")
    except OSError as reason:
        raise error(f"{path}: cannot be read ({(reason.strerror or 'unknown reason').lower()})") from None
    if not parts:
        what = "holds no files" if path.is_dir() else "no file has such a name"
        raise error(f"{path}: {what}; name a folder with the parts of a table, or a pattern in quotes")
    parts.sort(key=lambda part: Path(part.name).parts)
    endings = sorted({part.path.suffix.lower() for part in parts})
    if len(endings) > 1:
        kinds = " and ".join(shown(ending) for ending in endings[:2])
        raise error(f"{path}: holds files of several kinds, {kinds}; name one kind: '{path}/*{endings[0]}'")
    if is_single(parts[0].path):
        raise error(f"{path}: a table of many files is CSV, Parquet or Arrow, not {endings[0]}; name one file")
    keys = [tuple(name for name, _ in part.labels) for part in parts]
    for part, own in zip(parts, keys, strict=True):
        if own != keys[0]:
            raise error(
                f"{path}: {part.name} does not stand in folders {'/'.join(f'{k}=…' for k in keys[0]) or 'alike'} as "
                f"{parts[0].name} does; name the parts of one table"
            )
    return tuple(parts)


def _named_parts(path: Path, error: type[UnveilError]) -> Iterator[TablePart]:
    if path.is_dir():
        yield from _in_folder(path, path, (), error)
        return
    fixed = folder_of(path)
    for text in glob.iglob(str(path), recursive=True):
        found = Path(text)
        relative = found.relative_to(fixed)
        if any(part.startswith((".", "_")) for part in relative.parts):
            continue
        labels: tuple[tuple[str, str], ...] = ()
        for part in relative.parts if found.is_dir() else relative.parts[:-1]:
            labels += (_label(part),) if "=" in part else ()
        if found.is_file():
            yield TablePart(found, relative.as_posix(), labels)
        elif found.is_dir() and "**" not in path.parts:
            yield from _in_folder(found, fixed, labels, error)


def _in_folder(
    folder: Path, top: Path, labels: tuple[tuple[str, str], ...], error: type[UnveilError]
) -> Iterator[TablePart]:
    for found in sorted(folder.iterdir()):
        if found.name.startswith((".", "_")):
            continue
        name = found.relative_to(top).as_posix()
        if not found.is_dir():
            yield TablePart(found, name, labels)
            continue
        if "=" not in found.name:
            raise error(
                f"{top}: {shown(name)} is a folder whose name is not NAME=VALUE, as Hive names them; name the parts "
                f"with a pattern: '{top}/**/*.parquet'"
            )
        label = _label(found.name)
        if label[0] in dict(labels):
            raise error(f"{top}: {shown(name)} gives {shown(label[0])} twice")
        yield from _in_folder(found, top, (*labels, label), error)


def _label(folder: str) -> tuple[str, str]:
    name, _, value = folder.partition("=")
    return unquote(name), unquote(value)


def with_labels(found: Columns, part: TablePart, missing: str, error: type[UnveilError]) -> Columns:
    """The columns of a part with those that its folders give."""
    columns = dict(found.columns)
    for name, value in part.labels:
        if name in columns:
            raise error(
                f"{part.path}: holds a column {shown(name)}, and so does the name of its folder; keep one of them"
            )
        text = missing if value == NULL else value
        columns[name] = CodedColumn([text] if found.rows else [], np.zeros(found.rows, dtype=np.uint8))
    return replace(found, columns=columns) if part.labels else found


def joined_parts(
    path: Path, parts: Sequence[TablePart], read: Sequence[Columns], counted: Collection[str], error: type[UnveilError]
) -> Columns:
    """The table that the parts are pieces of, as if they were one file, in the order of their names.

    Of the columns `counted` only is kept which rows are equal. `read` is emptied of columns as they are joined.
    """
    at = next((number for number, found in enumerate(read) if found.rows), 0)
    first, named = read[at], parts[at].name
    for part, found in zip(parts, read, strict=True):
        for here, there, kept, other in ((first, found, named, part.name), (found, first, part.name, named)):
            if lacking := [name for name in here.columns if name not in there.columns]:
                raise error(f"{path}: {other} has no column {shown(lacking[0])}, which {kept} has")
        if found.rows and found.decimal != first.decimal:
            comma, point = (part.name, named) if found.decimal == "," else (named, part.name)
            raise error(f"{path}: {comma} writes numbers with a decimal comma, and in {point} none is; say --decimal")
    rows = sum(found.rows for found in read)
    if not rows:
        raise error(f"{path}: holds no rows")
    columns = {}
    for name in list(first.columns):
        hashes: list[tuple[NDArray[np.uint64], NDArray[np.uint64]]] = []
        texts: list[str] = []
        codes: list[NDArray[np.integer]] = []
        for found in read:
            column = found.columns.pop(name)
            if name in counted:
                hashes.append(hashed(column))
                continue
            codes.append(column.text_of_row.astype(np.uint32) + np.uint32(len(texts)))
            texts += column.texts
        columns[name] = joined_hashes(hashes) if hashes else recoded(texts, codes)
    starts = np.cumsum([0, *(found.rows for found in read[:-1])])
    place = _PlaceInPart(starts, tuple(part.name for part in parts), tuple(found.place for found in read))
    how = f"{len(parts)} files, {first.described}" if len(parts) > 1 else first.described
    sizes = tuple(found.rows for found in read)
    return replace(first, columns=columns, rows=rows, place=place, described=how, parts=sizes)


@dataclass(frozen=True, slots=True)
class _PlaceInPart:
    """Where a row of a table of many files stands."""

    start: NDArray[np.int64]  # (parts,) its first row
    name: tuple[str, ...]
    place: tuple[object, ...] = field(repr=False)

    def __call__(self, row: int) -> str:
        part = int(np.searchsorted(self.start, row, side="right")) - 1
        return f"{self.name[part]}, {self.place[part](row - int(self.start[part]))}"  # type: ignore[operator]


def hashed(column: CodedColumn) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """128 bits of each cell."""
    import polars as pl

    texts = pl.Series(column.texts, dtype=pl.String)
    first, second = (texts.hash(seed).to_numpy()[column.text_of_row] for seed in (1, 2))
    return first, second


def joined_hashes(parts: Sequence[tuple[NDArray[np.uint64], NDArray[np.uint64]]]) -> CodedColumn:
    """Which rows of the parts hold equal cells."""
    joined = EqualityCodes()
    for part in parts:
        joined.keep(*part)
    return joined.coded()


def file_digest(path: Path, error: type[UnveilError]) -> str:
    """SHA-256 of a file; of a table of many files that of their names and digests, in order."""
    try:
        if not is_many(path):
            with sheet_file(path)[0].open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as reason:
        raise error(f"{path}: cannot be read ({(reason.strerror or 'unknown reason').lower()})") from None
    whole = hashlib.sha256()
    for part in part_files(path, error):
        whole.update(f"{part.name}\0{file_digest(part.path, error)}\n".encode())
    return whole.hexdigest()
