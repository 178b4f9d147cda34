"""unveil.audit(release=df, original=df, roles={…}): an audit from data frames, for notebooks."""

import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from unveil.audit.case import Case
from unveil.audit.run import Audit, run_audit
from unveil.data.attribute import Role
from unveil.data.draft import draft_schema
from unveil.data.schema import Schema, SchemaDocument
from unveil.engine import Engine, Meter, line_now_and_then
from unveil.errors import UsageError, shown
from unveil.formats.releases import read_release
from unveil.formats.tables import read_columns, read_table
from unveil.risk.published_file import published_file

__all__ = ["audit_frames"]

MINUTES = 10.0  # until what was reached is reported


def audit_frames(
    release: Any,
    original: Any = None,
    roles: Mapping[str, str] | None = None,
    *,
    schema: Schema | None = None,
    minutes: float = MINUTES,
    engine: Engine | None = None,
    **options: Any,
) -> Audit:
    """Audit a release, or several by name: frames of pandas, polars or pyarrow, or files.

    `roles` names the role of every column; kinds and domains are drafted from the original, or from the release if
    there is none. `schema` stands instead of `roles`. After `minutes` what was reached is reported. Other options are
    the fields of a Case: `limits`, `preset`, `known`, `sample` …
    """
    releases = dict(release) if isinstance(release, Mapping) else {"release": release}
    first = next(iter(releases.values()), None)
    if first is None:
        raise UsageError("name a release: unveil.audit(release=…, original=…, roles={…})")
    if (schema is None) == (roles is None):
        raise UsageError('say what the columns are, by one of roles={"age": "quasi-identifier", …} and schema=…')
    schema = (
        schema.confirmed()
        if schema is not None
        else _schema_of(first if original is None else original, roles or {}, original is None)
    )
    table = None if original is None else read_table(original, schema)
    found = {
        n: read_release(r, schema, attributes=() if table is None else table.attributes) for n, r in releases.items()
    }
    people = None if original is None else read_columns(original, missing=schema.missing_token)
    files = {
        n: published_file(read_columns(r, missing=schema.missing_token, published=True), schema, original=people)
        for n, r in releases.items()
    }
    options.setdefault("digits", "chains" in options)
    case = Case(releases=found, original=table, files=files, joined=schema.document.joined, **options)
    with _listening(engine) as engine, engine.for_minutes(minutes) as timed:
        return run_audit(replace(case, engine=timed))


@contextmanager
def _listening(engine: Engine | None) -> Iterator[Engine]:
    """A line every ten seconds where cells show what is printed; elsewhere a caller brings an engine that listens."""
    if engine is not None or "ipykernel" not in sys.modules:
        yield engine or Engine(seed=0)
        return
    meter = Meter()
    with line_now_and_then(lambda line: print(line, file=sys.stderr), meter.line):
        yield Engine(seed=0, progress=meter)


def _schema_of(frame: Any, roles: Mapping[str, str], published: bool) -> Schema:
    """A schema with drafted kinds and domains, and the roles that a human named."""
    columns = read_columns(frame)
    unnamed = [name for name in columns.columns if name not in roles]
    unknown = [name for name in roles if name not in columns.columns]
    if unknown:
        raise UsageError(f"roles: there is no column {shown(unknown[0])}; there are {', '.join(columns.columns)}")
    if unnamed:
        raise UsageError(
            f"roles: say what {', '.join(map(shown, unnamed))} is: one of {', '.join(Role)}; nothing is guessed here"
        )
    wrong = [role for role in roles.values() if role not in tuple(Role)]
    if wrong:
        raise UsageError(f"roles: {shown(wrong[0])} is not a role; choose from {', '.join(Role)}")
    draft = draft_schema(columns.columns, name="frame", decimal=columns.decimal, published=published, prepare=False)
    document = tomllib.loads(draft.toml)
    for name, role in roles.items():
        held = document["attributes"][name]
        if role == Role.IDENTIFIER:
            held.clear()
        held["role"] = str(role)
        held.pop("shared", None)
    return Schema(SchemaDocument.model_validate({**document, "confirmed": True}), {}, "roles")
