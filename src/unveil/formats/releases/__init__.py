"""Releases as files: a table, a sidecar that says how it is cut, and Anatomy's second table."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
import tomli_w
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.regions import Regions
from unveil.data.release import Block, BlockRows, Perturbation, Release, build_release, row_numbers, single_rows
from unveil.data.schema import Schema
from unveil.data.table import CodedColumn, Table
from unveil.data.toml import toml_key
from unveil.engine import Engine
from unveil.errors import ReleaseError, shown
from unveil.formats.cells import CellError, reaches, read_cells, shown_values, write_cells
from unveil.formats.cells.notations import parse_cells
from unveil.formats.output import Content, NewFolder, content_bytes, write_whole
from unveil.formats.output.tables import OutputColumn, check_ending, table_content, written_folder
from unveil.formats.parts import file_digest
from unveil.formats.releases.published import (
    Sidecar,
    check_cells,
    check_columns,
    count_column,
    earlier_parts,
    gathered,
    named_sidecar,
    published_columns,
    second_table,
    without_blanked,
    without_key,
)
from unveil.formats.tables import Columns
from unveil.temporary import own_folder

if TYPE_CHECKING:
    import polars as pl

    from unveil.formats.frames import IntoFrame

__all__ = [
    "ReadAttribute",
    "ReadOptions",
    "dialect_of",
    "read_attribute",
    "read_release",
    "read_release_rows",
    "release_columns",
    "release_files",
    "write_release",
    "written_cells",
]


class ReadOptions(TypedDict, total=False):
    """How a release is read."""

    attributes: Sequence[Attribute]
    cells: Sequence[str]
    sidecar: Sidecar | None
    delimiter: str | None
    decimal: str | None
    encoding: str | None
    engine: Engine | None


def dialect_of(options: ReadOptions) -> dict[str, Any]:
    """Delimiter, decimal mark and encoding, None where they are to be found out."""
    return {name: options.get(name) for name in ("delimiter", "decimal", "encoding")}


def read_release(
    path: "str | Path | IntoFrame",
    schema: Schema,
    **options: Unpack[ReadOptions],
) -> Release:
    """Read a published file or frame, ours or another tool's.

    Options: `attributes`, domains already known, from the original; `delimiter`, `decimal`, `encoding`; `sidecar`,
    instead of the one beside the file; `cells`, notations as `--cells` names them: "list", or "age=range+suppressed"
    for one attribute; `engine`, on whose cluster parts are read and equal rows counted. Without a sidecar a published
    row is a row, and groups are rows with equal quasi-identifier cells. Where it says that columns were perturbed,
    each row is a group.
    """
    return read_release_rows(path, schema, **options)[0]


def read_release_rows(
    path: "str | Path | IntoFrame",
    schema: Schema,
    *,
    key: str | None = None,
    **options: Unpack[ReadOptions],
) -> tuple[Release, NDArray[np.int64]]:
    """The same, and (rows of the file,) the group of each row. The column `key` is left out (releases.assignments)."""
    named = parse_cells(options.get("cells", ()))
    given, (path, sidecar) = path, named_sidecar(path, options.get("sidecar"))
    engine = options.get("engine")
    counts = engine is not None and engine.cluster is not None
    known = {a.name: a for a in options.get("attributes", ())}

    def columns_of(source: "str | Path | IntoFrame") -> Columns:
        return published_columns(source, schema, **dialect_of(options), engine=engine)

    main = gathered(without_blanked(without_key(columns_of(given), key), schema), schema.names)
    second = _read_second(path, sidecar, columns_of)
    check_columns(path, schema, sidecar, main, None if second is None else second.attribute)
    published = {*main.columns, *([second.attribute] if second is not None else [])} - {sidecar.group}
    check_cells(named, path, published, main)
    names = [n for n in schema.names if n in published]
    if not names:
        raise ReleaseError(f"{path}: publishes none of the attributes of {schema.name}")
    read, perturbed = _read_attributes(path, sidecar, schema, known, named, names, main, second)
    attributes, regions = [read[n].attribute for n in names], [read[n].regions for n in names]
    if perturbed and counts:
        raise ReleaseError(f"{path}: perturbed rows are not counted on a cluster; leave --cluster out")
    if perturbed and sidecar.group is None and sidecar.blocks is None and second is None:
        frequency = _frequency(schema, sidecar, main, path)
        if frequency is not None and (frequency != 1).any():
            key = shown(count_column(schema, sidecar, main) or "")
            raise ReleaseError(f"{path}: {key} says that a row stands for several people; write a row for each")
        release = single_rows(attributes, regions, [read[n].region for n in names], perturbed, sidecar.method)
        return release, np.arange(release.rows)
    group = _groups(sidecar, main, read)
    count = _frequency(schema, sidecar, main, path)
    parts = []
    for block in _blocks(path, sidecar, names, second):
        attributes_of, regions_of = tuple(names.index(n) for n in block), tuple(read[n].region for n in block)
        if second is not None and second.attribute in block:
            parts.append(
                BlockRows(attributes_of, _second_groups(path, sidecar, main, second), regions_of, second.count)
            )
        else:
            parts.append(BlockRows(attributes_of, group, regions_of, count))
    if second is not None and sidecar.group is not None:
        _check_sizes(parts, path, main.columns[sidecar.group].texts)
    release, number = build_release(attributes, regions, parts, perturbed, sidecar.method)
    group = number[group]
    column = None if sidecar.group is None else main.columns[sidecar.group]
    return replace(release, labels=_labels(group, column)), group


def _read_attributes(
    path: Path,
    sidecar: Sidecar,
    schema: Schema,
    known: Mapping[str, Attribute],
    named: Mapping[str, tuple[str, ...]],
    names: Sequence[str],
    main: Columns,
    second: "_Second | None",
) -> "tuple[dict[str, ReadAttribute], dict[int, Perturbation]]":
    """Each published attribute; and which are perturbed, as the sidecar says, or as their own numbers do."""
    from unveil.formats.releases.perturbed import channel_of, noticed_column, perturbed_column

    masked = names if "*" in sidecar.masked else sidecar.masked
    beside = path.with_suffix(".toml")
    for name in (*masked, *sidecar.channel):
        if name == sidecar.group:
            raise ReleaseError(f"{beside}: {shown(name)} names the groups, so it shows nothing that was perturbed")
        if name not in masked:
            raise ReleaseError(f"{beside}: a matrix of changes belongs to a perturbed column; add {name} to masked")
        if name not in names:
            raise ReleaseError(f"{beside}: {shown(name)} is not a column of {path.name} that the schema names")
    read, perturbed = {}, {}
    for index, name in enumerate(names):
        source, file = (main, path) if second is None or name != second.attribute else (second.columns, second.file)
        notations = named.get(name, named.get("", ()))
        told = schema, known.get(name), source, name
        if name in masked:
            read[name], one = perturbed_column(*told, str(file), notations, widened=name not in sidecar.channel)
            perturbed[index] = replace(one, channel=channel_of(sidecar, one.true, beside))
            continue
        try:
            read[name] = read_attribute(*told, str(file), notations)
        except ReleaseError:
            noticed = noticed_column(*told, notations)
            if noticed is None:
                raise
            read[name], perturbed[index] = noticed
    return read, perturbed


def _labels(group: NDArray[np.int64], column: CodedColumn | None) -> tuple[str, ...]:
    """What the file calls each group: by its group column, else by the order in which groups appear, from 1."""
    distinct, first = np.unique(group, return_index=True)
    if column is not None:
        return tuple(column.texts[column.text_of_row[row]] for row in first.tolist())
    labels = np.empty(len(distinct), dtype=object)
    labels[np.argsort(first)] = [str(number) for number in range(1, len(distinct) + 1)]
    return tuple(labels.tolist())


def write_release(
    release: Release,
    path: str | Path,
    *,
    like: Table | None = None,
    parts: Sequence[str] = (),
    engine: Engine | None = None,
) -> list[Path]:
    """Write a release; all its files appear whole, or none. Reading them gives the same release.

    `like`: the original, if its codes and labels are to be kept in a statistical file, and its delimiter, encoding,
    decimal mark and date formats in a text file. `parts`: write a new folder of files of these names, each with about
    as many rows; on the cluster of an `engine` its workers write them, to a disk that all of them share.
    """
    return write_whole(release_files(release, path, like=like, parts=parts, engine=engine))


def release_files(
    release: Release,
    path: str | Path,
    *,
    like: Table | None = None,
    parts: Sequence[str] = (),
    engine: Engine | None = None,
) -> dict[Path, Content]:
    """The files of a release: the table, and where needed the sidecar and Anatomy's second table."""
    path, parts = Path(path), tuple(parts)[: release.rows]
    check_ending(path / parts[0] if parts else path, "a release", ReleaseError)
    second = _second_block(release)
    columns, cut = release_columns(release, [b for b in release.blocks if b is not second])
    files: dict[Path, Content] = {}
    dictionary, notation = (None, None) if like is None else (like.dictionary, like.notation)
    table: Content
    if parts:  # of a release with a sidecar the digest is taken here first
        shared = None if cut.group is not None or cut.masked else engine
        table = written_folder(path, parts, columns, release.rows, notation, shared)
    else:
        table = table_content(path, columns, dictionary, notation)
    said = _said_of_perturbed(cut)
    if cut.group is not None or cut.masked:
        sidecar: dict[str, object] = {}
        if cut.group is not None:
            sidecar = {"group": cut.group, "blocks": [list(block) for block in cut.blocks or ()]}
        table, digest = _digested(table)
        digests = {"table": digest}
        if second is not None:
            other = second_table(path, Path(parts[0]).suffix if parts else "")
            sidecar["sensitive_table"] = other.name
            made = table_content(other, _second_columns(release, second, str(cut.group)), dictionary, notation)
            files[other], digests["sensitive_table"] = _digested(made)
        lines = [tomli_w.dumps(sidecar).rstrip(), *said, tomli_w.dumps({"digests": digests})]
        # First in place: if a disk fails before the others are, it says whose parts they are.
        files = {path.with_suffix(".toml"): "\n".join(line for line in lines if line).encode(), **files}
    return {**earlier_parts(path, [*files, path]), **files, path: table}


def _digested(content: Content) -> tuple[Content, str]:
    """What will be written, as its bytes, and the digest that binds it to a sidecar."""
    if not isinstance(content, NewFolder):
        held = content_bytes(content)
        return held, hashlib.sha256(held).hexdigest()
    with own_folder() as folder:
        content.fill(folder)
        digest = file_digest(folder, ReleaseError)
    return content, digest


def _said_of_perturbed(said: Sidecar) -> list[str]:
    """What a sidecar says of perturbed columns, with matrices and method where they are published."""
    if not said.masked:
        return []
    lines = [tomli_w.dumps({"masked": list(said.masked), **({"method": said.method} if said.method else {})}).rstrip()]
    if said.channel:
        lines.append(
            "\n[channel]  # chances of each published value, one row for each true value in the domain's order"
        )
        for name, matrix in said.channel.items():
            rows = ",\n".join("  [" + ", ".join(map(repr, row)) + "]" for row in matrix)
            lines.append(f"{toml_key(name)} = [\n{rows},\n]")
    return [*lines, ""]


def release_columns(release: Release, blocks: Sequence[Block]) -> tuple[list[OutputColumn], Sidecar]:
    """The columns of these blocks beside each other, a row a published row, and what must be said of the release."""
    import polars as pl

    names = [a.name for a in release.attributes]
    found: dict[str, OutputColumn] = {}
    for block in blocks:
        for i in block.attributes:
            texts = pl.Series(write_cells(release.regions[i], release.attributes[i]))
            found[names[i]] = written_cells(release.attributes[i], texts, block.region(i), block.count)
    columns = [found[n] for n in names if n in found]
    said = {names[i]: one for i, one in sorted(release.perturbed.items()) if one.said}
    channel = {n: tuple(map(tuple, p.channel.tolist())) for n, p in said.items() if p.channel is not None}
    cut = Sidecar(masked=tuple(said), channel=channel, method=release.method)
    if release.row_by_row or (len(release.blocks) == 1 and _groups_are_classes(release)):
        return columns, cut
    key = "group"
    while key in names:
        key += "_"
    numbers = np.arange(release.groups, dtype=np.int32)
    texts = pl.Series(numbers + 1).cast(pl.String)
    columns = [OutputColumn(key, texts, Kind.NUMERIC, of_row=numbers, count=release.sizes), *columns]
    cut_in = tuple(tuple(names[i] for i in b.attributes) for b in release.blocks)
    return columns, cut.model_copy(update={"group": key, "blocks": cut_in})


def written_cells(
    attribute: Attribute,
    cells: "pl.Series",
    of_row: NDArray[np.integer] | None = None,
    count: NDArray[np.int64] | None = None,
) -> OutputColumn:
    """An attribute's cells on their way to a file; `of_row`: which of them each row shows, `count` times."""
    absent = attribute.values[-1] if attribute.missing else None
    return OutputColumn(attribute.name, cells, attribute.kind, absent, merged=True, of_row=of_row, count=count)


@dataclass(frozen=True, slots=True)
class _Second:
    """Anatomy's second table: group, sensitive attribute, count."""

    columns: Columns
    file: Path
    attribute: str
    count: NDArray[np.int64]  # (rows,)


def _read_second(path: Path, sidecar: Sidecar, columns_of: Callable[[Path], Columns]) -> _Second | None:
    if sidecar.sensitive_table is None:
        return None
    file = path.parent / sidecar.sensitive_table
    if sidecar.group is None:
        raise ReleaseError(
            f"{path.with_suffix('.toml')}: sensitive_table needs group, the column that links the two tables"
        )
    found = columns_of(file)
    rest = [n for n in found.columns if n not in (sidecar.group, "count")]
    if len(found.columns) != 3 or len(rest) != 1:
        raise ReleaseError(
            f"{file}: its columns must be {shown(sidecar.group)}, the sensitive attribute, count; "
            f"it has {', '.join(map(shown, found.columns))}"
        )
    count = _whole_numbers(found, found.columns["count"], str(file), "count")
    return _Second(found, file, rest[0], count if found.count is None else count * found.count)


def _whole_numbers(columns: Columns, column: CodedColumn, file: str, name: str) -> NDArray[np.int64]:
    values = []
    for index, text in enumerate(column.texts):
        if not re.fullmatch(r"\s*0*[1-9]\d{0,8}\s*", text, re.ASCII):
            row = int(np.flatnonzero(column.text_of_row == index)[0])
            raise ReleaseError(
                f"{file}, {columns.place(row)}, {name}: {shown(text)} is not a count; write a whole number above 0"
            )
        values.append(int(text))
    return np.asarray(np.array(values, dtype=np.int64)[column.text_of_row])


def _frequency(schema: Schema, sidecar: Sidecar, main: Columns, path: Path) -> NDArray[np.int64] | None:
    key = count_column(schema, sidecar, main)
    if key is None or key == sidecar.group or key not in main.columns:
        return main.count
    count = _whole_numbers(main, main.columns[key], str(path), key)
    return count if main.count is None else count * main.count


@dataclass(frozen=True, slots=True)
class ReadAttribute:
    """One attribute as it is published."""

    attribute: Attribute
    regions: Regions
    region: NDArray[np.int64]  # (rows,)


def read_attribute(
    schema: Schema, known: Attribute | None, source: Columns, name: str, file: str, named: tuple[str, ...]
) -> ReadAttribute:
    """The cells of one column as regions; `named`: notations that they are read with."""
    column = source.columns[name]
    attribute, declared = known, schema.declaration(name)
    try:
        if attribute is None and (
            declared.domain is not None or declared.bins is not None or name in schema.hierarchies
        ):
            attribute = schema.attribute(name, decimal=source.decimal)
        if attribute is None:
            observed = shown_values(column.texts, declared.kind, source.decimal, named, schema.document.missing)
            if not observed:
                raise CellError(
                    f"{shown(column.texts[0])} is not a value, nor is any other cell, so the domain is unknown; "
                    f"declare it in the schema, or give the original",
                    0,
                )
            attribute = schema.attribute(name, observed, decimal=source.decimal, source="release")
        regions = read_cells(column.texts, attribute, source.decimal, named)
    except CellError as error:
        row = int(np.flatnonzero(column.text_of_row == error.args[1])[0])
        said = re.sub(r"--cells (value|list)", lambda found: f"--cells {name}={found[1]}", error.args[0])
        raise ReleaseError(f"{file}, {source.place(row)}, {name}: {said}") from None
    if attribute.source == "release":
        _check_open_cells(column, regions, source, attribute, file)
    return ReadAttribute(attribute, regions, np.asarray(column.text_of_row, dtype=np.int64))


def _check_open_cells(column: CodedColumn, regions: Regions, source: Columns, attribute: Attribute, file: str) -> None:
    """`*` and open intervals reach beyond the values a release shows: they must not pass for a narrower cell."""
    number = regions.canonical(np.arange(len(regions)))[1]
    name, reaching = attribute.name, [reaches(t, attribute.kind, source.decimal) for t in column.texts]
    # One spelling of each: `< 30` is <30, and NA and ***** are *.
    plain = ["".join(text.split()) for text in column.texts]
    texts = ["*" if not t.strip("*") or t in ("NA", "<NA>") else t for t in plain]
    closed = {int(n) for n, open_end in zip(number, reaching, strict=True) if not open_end}
    ends = {int(n): {t for t, m in zip(texts, number, strict=True) if m == n} for n in set(number.tolist())}
    for index, (text, n, open_end) in enumerate(zip(texts, number.tolist(), reaching, strict=True)):
        if open_end and (n in closed or len(ends[n]) > 1):
            row = int(np.flatnonzero(np.asarray(column.text_of_row) == index)[0])
            raise ReleaseError(
                f"{file}, {source.place(row)}, {name}: {shown(text)} cannot be told from a narrower cell by what the "
                f"release shows; declare the domain of {name} in the schema, or give the original"
            )


def _blocks(path: Path, sidecar: Sidecar, names: list[str], second: _Second | None) -> list[tuple[str, ...]]:
    alone = () if second is None else (second.attribute,)
    blocks = [block for block in sidecar.blocks or () if block]
    if not blocks:
        blocks = [block for block in (tuple(n for n in names if n not in alone), alone) if block]
    listed = Counter(n for block in blocks for n in block)
    wrong = [n for n in [*names, *listed] if listed[n] != 1 or n not in names]
    file = path.with_suffix(".toml")
    if wrong:
        raise ReleaseError(f"{file}: blocks must name every published attribute once; correct {shown(wrong[0])}")
    if alone and alone not in blocks:
        raise ReleaseError(f"{file}: {shown(alone[0])} stands in a table of its own, so it must be a block of its own")
    return blocks


def _groups(sidecar: Sidecar, main: Columns, read: Mapping[str, ReadAttribute]) -> NDArray[np.int64]:
    """(rows,) the group of each row: by the sidecar's column, else rows with equal quasi-identifier cells."""
    if sidecar.group is not None:
        return np.asarray(main.columns[sidecar.group].text_of_row, dtype=np.int64)
    known = [r for r in read.values() if r.attribute.role is Role.QUASI_IDENTIFIER]
    cells = [r.regions.canonical(r.region)[1][r.region] for r in known]
    return row_numbers(cells) if cells else np.zeros(main.rows, dtype=np.int64)


def _second_groups(path: Path, sidecar: Sidecar, main: Columns, second: _Second) -> NDArray[np.int64]:
    """(rows of the second table,) the same groups by the same names."""
    assert sidecar.group is not None
    here, there = main.columns[sidecar.group], second.columns.columns[sidecar.group]
    number_of = {text: number for number, text in enumerate(here.texts)}
    for text in there.texts:
        if text not in number_of:
            raise ReleaseError(f"{second.file}: group {shown(text)} is not in {path}")
    return np.asarray(np.array([number_of[t] for t in there.texts], dtype=np.int64)[there.text_of_row])


def _check_sizes(parts: list[BlockRows], path: Path, names: Sequence[str]) -> None:
    """Two tables of one release must have the same people in each group."""
    groups = max(int(p.group.max()) for p in parts) + 1
    first, *others = [np.bincount(p.group, weights=p.count, minlength=groups).astype(np.int64) for p in parts]
    for size in others:
        bad = np.flatnonzero(size != first)
        if len(bad):
            rows = sorted((int(first[bad[0]]), int(size[bad[0]])))
            raise ReleaseError(
                f"{path}: group {shown(names[bad[0]])} has {rows[1]} rows in one table, {rows[0]} in the other"
            )


def _second_block(release: Release) -> Block | None:
    """The block that goes to a table of its own: a sensitive attribute alone, beside exactly one other block."""
    if len(release.blocks) != 2:
        return None
    single = [(b, release.attributes[b.attributes[0]]) for b in release.blocks if len(b.attributes) == 1]
    alone = [b for b, a in single if a.role is Role.SENSITIVE and a.name != "count"]  # that name is the third column's
    return alone[0] if len(alone) == 1 else None


def _second_columns(release: Release, block: Block, key: str) -> list[OutputColumn]:
    import polars as pl

    attribute = block.attributes[0]
    texts = pl.Series(write_cells(release.regions[attribute], release.attributes[attribute]))
    return [
        OutputColumn(key, pl.Series(block.group + 1).cast(pl.String), Kind.NUMERIC),
        written_cells(release.attributes[attribute], texts, block.region(attribute)),
        OutputColumn("count", pl.Series(block.count).cast(pl.String), Kind.NUMERIC),
    ]


def _groups_are_classes(release: Release) -> bool:
    """Whether groups are just the rows with equal quasi-identifier cells, so that nothing more need be said."""
    block = release.blocks[0]
    known = [i for i in block.attributes if release.attributes[i].role is Role.QUASI_IDENTIFIER]
    if not known:
        return release.groups == 1
    pair = row_numbers([block.region(i) for i in known])
    groups_of_class = np.unique(np.stack([pair, block.group]), axis=1)
    return bool(groups_of_class.shape[1] == release.groups == int(pair.max()) + 1)
