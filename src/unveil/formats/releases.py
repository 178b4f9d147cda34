"""Releases as files: a CSV, a sidecar that says how it is cut, and Anatomy's second table."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from unveil.attribute import Attribute, Role
from unveil.errors import NotApplicable, ReleaseError, shown
from unveil.formats.cells import CellError, read_cells, shown_values, write_cells
from unveil.formats.output import csv_bytes, write_whole
from unveil.formats.tables import Columns, read_columns
from unveil.regions import Regions
from unveil.release import Block, BlockRows, Release, build_release, row_numbers
from unveil.schema import Schema
from unveil.table import CodedColumn
from unveil.toml_lines import line_of_key

__all__ = ["Sidecar", "read_release", "release_files", "write_release"]


class Sidecar(BaseModel):
    """release.toml: what the CSV alone does not say."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    group: str | None = None
    blocks: tuple[tuple[str, ...], ...] | None = None
    sensitive_table: str | None = None
    masked: tuple[str, ...] = ()


def read_release(
    path: str | Path,
    schema: Schema,
    *,
    attributes: Sequence[Attribute] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Release:
    """Read a published file, ours or another tool's. `attributes`: domains already known, from the original.

    Without a sidecar a published row is a row, and groups are rows with equal quasi-identifier cells.
    """
    path = Path(path)
    sidecar = _read_sidecar(path)
    if sidecar.masked:
        raise NotApplicable(
            f"{path}: {', '.join(sidecar.masked)} were perturbed, not widened; groups say nothing of masked columns"
        )
    known = {a.name: a for a in attributes}
    main = read_columns(path, delimiter=delimiter, encoding=encoding, error=ReleaseError)
    second = _read_second(path, sidecar, delimiter, encoding)
    _check_names(path, schema, sidecar, main, second)
    names = [n for n in schema.names if n in main.columns or (second is not None and n in second[0].columns)]
    read = {}
    for name in names:
        source, file = (main, path) if name in main.columns or second is None else second[:2]
        read[name] = _read_attribute(schema, known.get(name), source, name, str(file))
    blocks = _blocks(path, sidecar, names, second)
    group, second_group = _groups(path, schema, sidecar, main, read, second)
    count = _frequency(schema, main, path)
    parts = []
    for block in blocks:
        in_second = second is not None and block[0] in second[0].columns
        parts.append(
            BlockRows(
                attributes=tuple(names.index(n) for n in block),
                group=second_group if in_second else group,  # type: ignore[arg-type]
                region=tuple(read[n][2] for n in block),
                count=_second_count(*second) if second is not None and in_second else count,
            )
        )
    _check_sizes(parts, path)
    return build_release([read[n][0] for n in names], [read[n][1] for n in names], parts)[0]


def write_release(release: Release, path: str | Path) -> list[Path]:
    """Write a release; all its files appear whole, or none. Reading them gives the same release."""
    files = release_files(release, path)
    write_whole(files)
    return list(files)


def release_files(release: Release, path: str | Path) -> dict[Path, bytes]:
    """The files of a release: the CSV, and where needed the sidecar and Anatomy's second table."""
    path = Path(path)
    if path.suffix.lower() != ".csv":
        raise ReleaseError(f"{path}: a release is written as CSV; name it {path.with_suffix('.csv').name}")
    names = [a.name for a in release.attributes]
    texts = [write_cells(r, a) for r, a in zip(release.regions, release.attributes, strict=True)]
    second = _second_block(release)
    main = [b for b in release.blocks if b is not second]
    columns: dict[str, list[str]] = {}
    for block in main:
        rows = np.repeat(np.arange(len(block.cell)), block.count)
        for attribute in block.attributes:
            region = block.region(attribute)[rows]
            columns[names[attribute]] = np.array(texts[attribute], dtype=object)[region].tolist()
    columns = {n: columns[n] for n in names if n in columns}
    plain = len(release.blocks) == 1 and _groups_are_classes(release)
    files: dict[Path, bytes] = {}
    if not plain:
        key = next(
            k for k in ("group", "group_id", "group_number", *(f"group_{i}" for i in range(1, 999))) if k not in names
        )
        numbers = np.repeat(np.arange(1, release.groups + 1), release.sizes).astype(str).tolist()
        columns = {key: numbers, **columns}
        sidecar = [
            f"group = {_toml(key)}",
            f"blocks = {_toml([[names[i] for i in b.attributes] for b in release.blocks])}",
        ]
        if second is not None:
            other = path.with_name(f"{path.stem}-sensitive.csv")
            sidecar.append(f"sensitive_table = {_toml(other.name)}")
            files[other] = _second_bytes(release, second, texts, key)
        files[path.with_suffix(".toml")] = ("\n".join(sidecar) + "\n").encode()
    files[path] = csv_bytes(list(columns), list(columns.values()))
    stale = [] if not plain else [s for s in (path.with_suffix(".toml"),) if s.exists() and _is_sidecar(s)]
    if stale:
        raise ReleaseError(
            f"{stale[0]}: a sidecar of an earlier release is in the way; remove it, or choose another name"
        )
    return files


def _read_sidecar(path: Path) -> Sidecar:
    file = path.with_suffix(".toml")
    if not file.is_file() or not _is_sidecar(file):
        return Sidecar()
    text = file.read_text(encoding="utf-8-sig")
    try:
        return Sidecar.model_validate(tomllib.loads(text))
    except ValidationError as error:
        fault = error.errors()[0]
        key = tuple(str(p) for p in fault["loc"])
        what = (
            "is unknown; a sidecar has group, blocks, sensitive_table, masked"
            if fault["type"] == "extra_forbidden"
            else fault["msg"]
        )
        raise ReleaseError(f"{file}, line {line_of_key(text, key)}: {key[0] if key else 'sidecar'}: {what}") from None


def _is_sidecar(file: Path) -> bool:
    """A TOML with [attributes] is a schema, not a sidecar."""
    try:
        return "attributes" not in tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ReleaseError(f"{file}: beside the release, but not TOML: {error}") from None
    except OSError as error:
        raise ReleaseError(f"{file}: cannot be read ({error.strerror})") from None


Second = tuple[Columns, Path, str, str]  # columns, file, sensitive attribute, count column


def _read_second(path: Path, sidecar: Sidecar, delimiter: str | None, encoding: str | None) -> Second | None:
    if sidecar.sensitive_table is None:
        return None
    file = path.parent / sidecar.sensitive_table
    if sidecar.group is None:
        raise ReleaseError(
            f"{path.with_suffix('.toml')}: sensitive_table needs group, the column that links the two tables"
        )
    found = read_columns(file, delimiter=delimiter, encoding=encoding, error=ReleaseError)
    rest = [n for n in found.columns if n != sidecar.group]
    if sidecar.group not in found.columns or len(rest) != 2 or rest[1] != "count":
        raise ReleaseError(
            f"{file}: its columns must be {sidecar.group}, the sensitive attribute, count; it has {', '.join(map(shown, found.columns))}"
        )
    return found, file, rest[0], "count"


def _second_count(columns: Columns, file: Path, attribute: str, count: str) -> NDArray[np.int64]:
    return _whole_numbers(columns, columns.columns[count], f"{file}", count)


def _whole_numbers(columns: Columns, column: CodedColumn, file: str, name: str) -> NDArray[np.int64]:
    values = []
    for index, text in enumerate(column.texts):
        if not text.strip().isascii() or not text.strip().isdigit() or not 0 < int(text) < 2**31:
            row = int(np.flatnonzero(column.text_of_row == index)[0])
            raise ReleaseError(
                f"{file}, {columns.place(row)}, {name}: {shown(text)} is no count; write a whole number above 0"
            )
        values.append(int(text))
    return np.array(values, dtype=np.int64)[column.text_of_row]


def _frequency(schema: Schema, main: Columns, path: Path) -> NDArray[np.int64] | None:
    key = schema.document.frequency
    return _whole_numbers(main, main.columns[key], str(path), key) if key is not None and key in main.columns else None


def _check_names(path: Path, schema: Schema, sidecar: Sidecar, main: Columns, second: Second | None) -> None:
    if sidecar.group is not None and sidecar.group not in main.columns:
        raise ReleaseError(f"{path}: the sidecar's group column {shown(sidecar.group)} is not there")
    for name in [*main.columns, *([second[2]] if second is not None else [])]:
        if name == sidecar.group or name in schema.extra_columns:
            continue
        if name not in schema.names:
            raise ReleaseError(
                f"{path}: {schema.name} does not name the column {shown(name)}; add [attributes.{name}] or a sidecar with group"
            )
        if schema.declaration(name).role is Role.IDENTIFIER:
            raise ReleaseError(
                f"{path}: {shown(name)} is an identifier; identifiers are never released: remove the column or its role"
            )
    if second is not None and second[2] in main.columns:
        raise ReleaseError(f"{path}: {shown(second[2])} stands in both tables; the link to it would not be hidden")


def _read_attribute(
    schema: Schema, known: Attribute | None, source: Columns, name: str, file: str
) -> tuple[Attribute, Regions, NDArray[np.int64]]:
    column = source.columns[name]
    attribute = known
    if attribute is None:
        observed = shown_values(column.texts, schema.declaration(name).kind)
        attribute = schema.attribute(name, observed, source="release's")
    try:
        regions = read_cells(column.texts, attribute)
    except CellError as error:
        row = int(np.flatnonzero(column.text_of_row == error.args[1])[0])
        raise ReleaseError(f"{file}, {source.place(row)}, {name}: {error.args[0]}") from None
    return attribute, regions, np.asarray(column.text_of_row, dtype=np.int64)


def _blocks(path: Path, sidecar: Sidecar, names: list[str], second: Second | None) -> list[tuple[str, ...]]:
    blocks = [tuple(b) for b in sidecar.blocks or () if b]
    if not blocks:
        blocks = [tuple(n for n in names if second is None or n != second[2])]
        blocks += [(second[2],)] if second is not None else []
    blocks = [tuple(n for n in names if n in block) if set(block) <= set(names) else block for block in blocks]
    listed = [n for block in blocks for n in block]
    file = path.with_suffix(".toml")
    wrong = [n for n in listed if n not in names] or [n for n in names if n not in listed]
    if wrong or len(set(listed)) != len(listed):
        name = wrong[0] if wrong else next(n for n in listed if listed.count(n) > 1)
        raise ReleaseError(f"{file}: blocks must name every published attribute exactly once; mend {shown(name)}")
    if second is not None and (second[2],) not in blocks:
        raise ReleaseError(f"{file}: {shown(second[2])} stands in a table of its own, so it must be a block of its own")
    return [b for b in blocks if b]


def _groups(
    path: Path,
    schema: Schema,
    sidecar: Sidecar,
    main: Columns,
    read: Mapping[str, tuple[Attribute, Regions, NDArray[np.int64]]],
    second: Second | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    if sidecar.group is None:
        known = []
        for name, (attribute, regions, number) in read.items():
            if attribute.role is Role.QUASI_IDENTIFIER and name in main.columns:
                known.append(regions.canonical(number)[1][number])
        return (row_numbers(known) if known else np.zeros(main.rows, dtype=np.int64)), None
    column = main.columns[sidecar.group]
    group = np.asarray(column.text_of_row, dtype=np.int64)
    if second is None:
        return group, None
    other = second[0].columns[sidecar.group]
    number_of = {text: number for number, text in enumerate(column.texts)}
    for text in other.texts:
        if text not in number_of:
            raise ReleaseError(f"{second[1]}: group {shown(text)} is not in {path}")
    return group, np.array([number_of[t] for t in other.texts], dtype=np.int64)[other.text_of_row]


def _check_sizes(parts: list[BlockRows], path: Path) -> None:
    sizes = [np.bincount(p.group, weights=p.count, minlength=int(parts[0].group.max()) + 1) for p in parts]
    for size in sizes[1:]:
        bad = np.flatnonzero(size != sizes[0])
        if len(bad):
            raise ReleaseError(
                f"{path}: a group has {int(sizes[0][bad[0]])} rows in one table and {int(size[bad[0]])} in the other"
            )


def _second_block(release: Release) -> Block | None:
    """The block that goes to a table of its own: a sensitive attribute alone, beside exactly one other block."""
    alone = [
        b
        for b in release.blocks
        if len(b.attributes) == 1 and release.attributes[b.attributes[0]].role is Role.SENSITIVE
    ]
    return alone[0] if len(release.blocks) == 2 and len(alone) == 1 else None


def _second_bytes(release: Release, block: Block, texts: list[list[str]], key: str) -> bytes:
    attribute = block.attributes[0]
    value = np.array(texts[attribute], dtype=object)[block.region(attribute)].tolist()
    return csv_bytes(
        [key, release.attributes[attribute].name, "count"],
        [(block.group + 1).astype(str).tolist(), value, block.count.astype(str).tolist()],
    )


def _groups_are_classes(release: Release) -> bool:
    """Whether groups are just the rows with equal quasi-identifier cells, so that nothing more need be said."""
    block = release.blocks[0]
    known = [i for i in block.attributes if release.attributes[i].role is Role.QUASI_IDENTIFIER]
    if not known:
        return release.groups == 1
    pair = row_numbers([block.region(i) for i in known])
    groups_of_class = np.unique(np.stack([pair, block.group]), axis=1)
    return bool(groups_of_class.shape[1] == release.groups == int(pair.max()) + 1)


def _toml(value: str | list[Any]) -> str:
    """A TOML string, or a list of them: JSON's form is TOML's but for DEL and the escapes of lone surrogates."""
    import json

    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
