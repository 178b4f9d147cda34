"""A published table before its cells are read: what stands beside it, and its columns checked against the schema."""

import contextlib
import glob
import json
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from unveil.data.attribute import Kind, Role
from unveil.data.schema import Schema
from unveil.data.table import CodedColumn
from unveil.data.toml import read_toml
from unveil.engine import Engine
from unveil.errors import ReleaseError, UsageError, shown
from unveil.formats.arx import read_project
from unveil.formats.columns import Columns, recoded
from unveil.formats.frames import is_frame, named_source
from unveil.formats.output.sets import settle
from unveil.formats.parts import file_digest, part_files
from unveil.formats.paths import is_many, is_project, sheet_file
from unveil.formats.tables import read_prepared

if TYPE_CHECKING:
    from unveil.formats.frames import IntoFrame

__all__ = [
    "Sidecar",
    "check_cells",
    "check_columns",
    "count_column",
    "earlier_parts",
    "gathered",
    "is_sidecar",
    "named_sidecar",
    "published_columns",
    "read_sidecar",
    "second_table",
    "without_blanked",
    "without_key",
]

# -------------------------------------------------------------------------------------------------------------- spread

_ANSWERS = {
    **dict.fromkeys(("True", "true", "TRUE", "1", "1.0"), True),
    **dict.fromkeys(("False", "false", "FALSE", "0", "0.0"), False),
}


def gathered(found: Columns, names: Collection[str]) -> Columns:
    """The columns with those attributes of `names` made whole that are spread over others."""
    columns = dict(found.columns)
    for name in sorted(names, key=len, reverse=True):  # of a_b_c, what belongs to a_b does not belong to a
        if name in columns:
            continue
        parts = {
            other: column for other, column in columns.items() if other.startswith(f"{name}_") and other not in names
        }
        ends = [f"{name}_min", f"{name}_max"]
        if set(parts) == set(ends) and found.decimal == ".":
            cell = _joined([parts[end] for end in ends], _interval)
        elif len(parts) > 1 and all(set(column.texts) <= set(_ANSWERS) for column in parts.values()):
            values = [other.removeprefix(f"{name}_") for other in parts]
            cell = _joined(list(parts.values()), partial(_members, values))
        else:
            continue
        first = next(iter(parts))
        columns = {
            (name if other == first else other): (cell if other == first else column)
            for other, column in columns.items()
            if other == first or other not in parts
        }
    return found if len(columns) == len(found.columns) else replace(found, columns=columns)


def _joined(parts: Sequence[CodedColumn], cell: Callable[[list[str]], str]) -> CodedColumn:
    """One column; `cell` makes a text of the texts that stand side by side."""
    codes = np.stack([column.text_of_row.astype(np.int64) for column in parts], axis=1)
    distinct, place = np.unique(codes, axis=0, return_inverse=True)
    texts = [cell([column.texts[code] for column, code in zip(parts, row, strict=True)]) for row in distinct.tolist()]
    return recoded(texts, [place.ravel()])


def _interval(ends: list[str]) -> str:
    low, high = (end.strip() for end in ends)
    return low if low == high else f"[{low},{high}]"


def _members(values: list[str], told: list[str]) -> str:
    """The values that are told to be possible; a row that tells none has none to show, and is refused as a cell."""
    chosen = [value for value, text in zip(values, told, strict=True) if _ANSWERS[text]]
    return chosen[0] if len(chosen) == 1 else "{" + ",".join(json.dumps(v, ensure_ascii=False) for v in chosen) + "}"


# ------------------------------------------------------------------------------------------------------------- sidecar


Digests = dict[Literal["table", "sensitive_table"], str]


class Sidecar(BaseModel):
    """release.toml: what the CSV alone does not say."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    group: str | None = None
    blocks: tuple[tuple[str, ...], ...] | None = None
    sensitive_table: str | None = None
    masked: tuple[str, ...] = ()
    channel: dict[str, tuple[tuple[float, ...], ...]] = Field(default_factory=dict)  # of masked columns, if published
    method: str = ""  # of masking, if published
    count: str | None = None
    digests: Digests = Field(default_factory=dict)  # SHA-256 of the files that were written together


def read_sidecar(path: Path) -> Sidecar:
    """What stands beside a release, or in an ARX project; nothing said if there is no sidecar."""
    sidecar = _stated_sidecar(path)
    changed = _changed_part(path, sidecar)
    if changed is not None:
        file = path.with_suffix(".toml")
        raise ReleaseError(
            f"{changed}: is not the file that {file.name} was written with; write the release again, or remove "
            f"[digests] from {file.name} if the change was meant"
        )
    return sidecar


def _stated_sidecar(path: Path) -> Sidecar:
    """As it says, whether or not the files are those that it was written with."""
    if path.parts and path.parts[0].lower() in ("sqlite:", "postgresql:", "postgres:"):
        raise ReleaseError(f"{path.parts[0]}//…: a release is a file, not a table in a database; export it as CSV")
    if not path.name:
        raise ReleaseError(f"{path}: is a folder; name a file in it")
    file = path.with_suffix(".toml")
    if not file.is_file() or not is_sidecar(file):
        return Sidecar(masked=read_project(path).masked if is_project(path) else ())
    try:
        sidecar = Sidecar.model_validate(read_toml(file, ReleaseError))
    except ValidationError as error:
        fault = error.errors()[0]
        key = tuple(str(p) for p in fault["loc"])
        what = (
            "is unknown; a sidecar has group, blocks, sensitive_table, masked, channel, method, count, digests"
            if fault["type"] == "extra_forbidden"
            else fault["msg"]
        )
        raise ReleaseError(f"{file}, {'.'.join(key) or 'sidecar'}: {what}") from None
    beside = sidecar.sensitive_table
    if beside is not None and not _stands_beside(path, beside):
        raise ReleaseError(f"{file}, sensitive_table: {shown(beside)} is not the name of a file beside the release")
    return sidecar


def _stands_beside(path: Path, name: str) -> bool:
    """Whether the name is that of a file in the release's folder: a sidecar of somebody else's names no other."""
    try:
        found = (path.parent / name).resolve()
    except (OSError, ValueError, RuntimeError):  # a null character, links in a circle
        return False
    return Path(name).name == name and found.parent in (path.parent.resolve(), path.resolve().parent)


def second_table(path: Path, ending: str = "") -> Path:
    """Where Anatomy's second table of a release stands; `ending`: of its parts, where the release is a folder."""
    ending = path.suffix or ending
    beside = path.parent.glob(f"{glob.escape(path.stem)}-sensitive.*") if not ending else ()
    return next(iter(sorted(beside)), path.with_name(f"{path.stem}-sensitive{ending}"))


def earlier_parts(path: Path, files: Collection[Path]) -> dict[Path, None]:
    """Parts of the release that `path` held before which `files` do not replace: they go with it.

    A file that is not known to be such a part is refused: it is not ours to remove or to write over.
    """
    for folder in {Path(os.path.realpath(file)).parent for file in (path, *files)}:
        settle(folder)
    beside, second = path.with_suffix(".toml"), second_table(path)
    sidecar = beside.is_file() and is_sidecar(beside)
    if beside.is_file() and not sidecar and beside in files:
        raise ReleaseError(f"{beside}: a schema is in the way; give the release another name")
    earlier, changed, stale = Sidecar(), None, []
    with contextlib.suppress(ReleaseError):
        earlier = _stated_sidecar(path)
        changed = _changed_part(path, earlier)
    if sidecar and beside not in files:
        if changed is not None or "table" not in earlier.digests:
            raise ReleaseError(
                f"{beside}: the sidecar of an earlier release is in the way; remove it, "
                "or give the release another name"
            )
        stale.append(beside)
    if os.path.lexists(second):
        if changed == second or "sensitive_table" not in earlier.digests or earlier.sensitive_table != second.name:
            raise ReleaseError(
                f"{second}: is in the way: its name is that of a part of {path.name}, and nothing says that it was "
                "one; move it, or give the release another name"
            )
        stale += [second] if second not in files else []
    return dict.fromkeys(stale)


def _changed_part(path: Path, sidecar: Sidecar) -> Path | None:
    """The file that is not the one its sidecar was written with, the second table first."""
    parts = {"sensitive_table": path.parent / (sidecar.sensitive_table or ""), "table": sheet_file(path)[0]}
    for part, digest in sorted(sidecar.digests.items()):
        try:
            files = (
                [one.path for one in part_files(parts[part], ReleaseError)] if is_many(parts[part]) else [parts[part]]
            )
            found = _file_digest(parts[part], tuple(file.stat().st_mtime_ns for file in files))
        except (OSError, ValueError, ReleaseError):  # whoever reads it says what is wrong
            continue
        if found != digest:
            return parts[part]
    return None


@lru_cache(maxsize=16)
def _file_digest(path: Path, changed: tuple[int, ...]) -> str:
    """`changed`: when; a release is asked for several times while it is read."""
    return file_digest(path, ReleaseError)


def named_sidecar(given: "str | Path | IntoFrame", sidecar: Sidecar | None) -> tuple[Path, Sidecar]:
    """What a release is called, and what is said of it: `sidecar`, or what stands beside a file."""
    path = named_source(given)
    if sidecar is None:
        sidecar = Sidecar() if is_frame(given) else read_sidecar(path)
    return path, sidecar


def is_sidecar(file: Path) -> bool:
    """A TOML with [attributes] is a schema, not a sidecar."""
    try:
        return "attributes" not in read_toml(file, ReleaseError)
    except ReleaseError as error:
        raise ReleaseError(f"{error}; it stands beside the release") from None


# ----------------------------------------------------------------------------------------------------------- published


def published_columns(
    source: "str | Path | IntoFrame",
    schema: Schema,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    engine: Engine | None = None,
) -> Columns:
    """All columns of a published file or frame, prepared; what is missing is the schema's first token.

    On the cluster of an `engine` equal rows are counted.
    """
    dialect = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    if engine is not None and engine.cluster is not None:
        from unveil.formats.counted import counted_release

        read = partial(counted_release, source, schema, engine)
    else:
        read = partial(read_prepared, source, schema, published=True, error=ReleaseError)
    found = read(**dialect)
    if decimal is None and found.decimal == "." and found.notation.delimiter == ";" and _decimal_commas(found, schema):
        dialect["decimal"] = ","
        return read(**dialect)
    return found


_COMMA_ENDS = re.compile(r"[\[(]-?\d+(?:,\d+)?;-?\d+(?:,\d+)?[\])]", re.ASCII)


def _decimal_commas(found: Columns, schema: Schema) -> bool:
    """Whether intervals of numbers have a semicolon between their ends, and a comma in one: [1,5;3)."""
    numeric = [n for n in found.columns if n in schema.names and schema.declaration(n).kind is Kind.NUMERIC]
    texts = [text.strip() for name in numeric for text in found.columns[name].texts]
    return any("," in text and _COMMA_ENDS.fullmatch(text) for text in texts)


def count_column(schema: Schema, sidecar: Sidecar, main: Columns) -> str | None:
    """The column that says how many people a row stands for: anonypy calls it `count`, as Anatomy's second table."""
    if sidecar.count is not None:
        return sidecar.count
    if schema.document.frequency in main.columns:
        return schema.document.frequency
    return None if "count" in schema.names else "count"


def check_cells(named: Mapping[str, tuple[str, ...]], path: Path, published: Collection[str], main: Columns) -> None:
    """Notations may be named of published attributes only."""
    for name in named:
        if name and name not in published:
            raise UsageError(f"--cells {name}=…: {path} publishes no such attribute; it has {', '.join(main.columns)}")


def check_columns(path: Path, schema: Schema, sidecar: Sidecar, main: Columns, second: str | None = None) -> None:
    """Every column must be one of the schema's, and none an identifier; `second`: the attribute of a second table."""
    for key, column in (("group", sidecar.group), ("count", sidecar.count)):
        if column is not None and column not in main.columns:
            raise ReleaseError(f"{path}: the sidecar's {key} column {shown(column)} is not there")
    for name in [*main.columns, *([second] if second is not None else [])]:
        if name in (sidecar.group, *schema.extra_columns) or name == count_column(schema, sidecar, main):
            continue
        if name not in schema.names:
            raise ReleaseError(
                f"{path}: {schema.name} does not name the column {shown(name)}; "
                "remove it, add [attributes.NAME] with its role, or a sidecar that names it as the group"
            )
        if schema.declaration(name).role is Role.IDENTIFIER:
            raise ReleaseError(
                f"{path}: {shown(name)} is an identifier; identifiers are never released: remove the column or its role"
            )
    if second is not None and second in main.columns:
        name = shown(second)
        raise ReleaseError(f"{path}: {name} stands in both tables; the link to it would not be hidden")


def without_blanked(main: Columns, schema: Schema) -> Columns:
    """Without identifiers of which nothing is left: ARX keeps their columns, every cell `*`."""
    blanked = [
        name
        for name, column in main.columns.items()
        if name in schema.names
        and schema.declaration(name).role is Role.IDENTIFIER
        and all(not text.strip().strip("*") for text in column.texts)
    ]
    return replace(main, columns={n: c for n, c in main.columns.items() if n not in blanked}) if blanked else main


def without_key(main: Columns, key: str | None) -> Columns:
    """Without the column that only says whose row is whose; see releases.assignments."""
    return main if key is None else replace(main, columns={n: c for n, c in main.columns.items() if n != key})
