"""Schema: what schema.toml says about a table's columns, and how it is read and checked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from unveil.data.attribute import Attribute
from unveil.data.display import Display, Summary
from unveil.data.hierarchy import (
    HierarchyTable,
    hierarchy_files,
    hierarchy_rows,
    read_hierarchy,
    read_hierarchy_bytes,
)
from unveil.data.schema.document import Declaration, DomainFile, Preparation, SchemaDocument
from unveil.data.schema.domains import canonical_leaves, codes_of, domain_of, is_whole
from unveil.data.toml import toml_bytes, toml_content
from unveil.errors import SchemaError, shown

__all__ = ["Declaration", "Preparation", "Schema", "SchemaDocument", "read_schema"]


@dataclass(frozen=True, slots=True, repr=False)
class Schema(Display):
    """The roles, kinds and declared domains of a table's columns."""

    document: SchemaDocument
    hierarchies: Mapping[str, HierarchyTable] = field(default_factory=dict)
    name: str = "schema"
    mappings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by attribute: the file of its `prepare`

    @property
    def names(self) -> tuple[str, ...]:
        """Attribute names in the file's order."""
        return tuple(self.document.attributes)

    def summary(self) -> Summary:
        """Whether it is confirmed, and the roles."""
        state = "confirmed" if self.document.confirmed else "not confirmed"
        declared = self.document.attributes.items()
        lines = [
            (n, d.role, d.kind, d.domain is not None or d.bins is not None, n in self.hierarchies) for n, d in declared
        ]
        title = f"Schema {self.name}: {len(lines)} attributes, {state}"
        return title, ("attribute", "role", "kind", "domain", "hierarchy"), lines

    @property
    def missing_token(self) -> str:
        """What a missing cell is written as: the first of the tokens, nothing if there are none."""
        return self.document.missing[0] if self.document.missing else ""

    @property
    def extra_columns(self) -> tuple[str, ...]:
        """Columns without a role: weight and frequency."""
        return tuple(n for n in (self.document.weight, self.document.frequency) if n is not None)

    def declaration(self, name: str) -> Declaration:
        """What the schema says of one attribute."""
        return self.document.attributes[name]

    def confirmed(self) -> "Schema":
        """This schema, if a human confirmed its roles."""
        if not self.document.confirmed:
            raise SchemaError(
                f"{self.name}: the roles are not confirmed; read them, correct them, and set confirmed = true"
            )
        return self

    def attribute(
        self, name: str, observed: Iterable[str] | None = None, *, decimal: str = ".", source: str = "original"
    ) -> Attribute:
        """The attribute with its domain: declared, else the hierarchy's leaves, else the observed values."""
        declared = self.declaration(name)
        where = f"{self.name}, {name}"
        tree = canonical_leaves(self.hierarchies.get(name), declared.kind)
        values, low, high, origin = domain_of(declared, tree, observed, self.document.missing, decimal, where, source)
        missing = declared.missing == "category"
        if missing and not self.document.missing:
            raise SchemaError(f'{where}: missing = "category" needs tokens; add missing = ["?", ""] at the top')
        token = self.document.missing[0] if missing else None
        if token is not None:
            kept = [i for i, v in enumerate(values) if v not in self.document.missing]
            values = tuple(values[i] for i in kept)
            low, high = (None if ends is None else ends[kept] for ends in (low, high))
        code_of = {v: i for i, v in enumerate(values)}
        attribute = Attribute(
            name=name,
            role=declared.role,
            kind=declared.kind,
            values=(*values, token) if token is not None else values,
            missing=missing,
            missing_tokens=self.document.missing,
            low=low,
            high=high,
            binned=declared.bins is not None,
            open_bins=declared.bins is not None and not is_whole(declared),
            hierarchy=tree.over(values, missing=token, attribute=name) if tree is not None else None,
            source=origin,
            reason=declared.reason or "",
            harmless=tuple(codes_of(declared.harmless, declared.kind, code_of, f"{where}, harmless", origin)),
            classes=tuple(
                (label, tuple(codes_of(members, declared.kind, code_of, f"{where}, classes.{label}", origin)))
                for label, members in declared.classes.items()
            ),
        )
        _check_labels(attribute, where)
        return attribute

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """The JSON Schema of schema.toml, for editors and other tools."""
        return SchemaDocument.model_json_schema(by_alias=True)


def read_schema(path: str | Path) -> Schema:
    """Read schema.toml and the hierarchies it names."""
    path = Path(path)
    if path.suffix.lower() == ".deid":
        raise SchemaError(f"{path}: an ARX project; make a schema with: unveil schema {path.name} -o schema.toml")
    try:
        raw = toml_bytes(path, SchemaError)
    except OSError as error:
        raise SchemaError(
            f"{path}: cannot be read ({error.strerror}); draft one with: unveil schema DATA -o {path.name}"
        ) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: not UTF-8; save it as UTF-8") from None
    content = toml_content(text, str(path), SchemaError)
    if "attributes" not in content:
        raise SchemaError(f"{path}: not a schema: no [attributes.NAME] tables; draft one with: unveil schema DATA")
    try:
        document = SchemaDocument.model_validate(content)
    except ValidationError as error:
        raise SchemaError(_first_fault(error, path, content)) from None
    document = _with_domains(document, path)
    mappings = {
        name: _read_mapping(path, path.parent / declared.prepare.mapping, f"{path}, attributes.{name}.prepare.mapping")
        for name, declared in document.attributes.items()
        if declared.prepare is not None and declared.prepare.mapping is not None
    }
    hierarchies = {}
    folder: dict[str, Path] = {}
    if document.hierarchies is not None:
        where = f"{path}, hierarchies"
        _check_inside(path, path.parent / document.hierarchies, where)
        folder = hierarchy_files(path.parent / document.hierarchies, document.attributes, where)
        own = [path.parent / d.hierarchy for d in document.attributes.values() if d.hierarchy is not None]
        used = {
            file.resolve() for file in (*own, *(f for n, f in folder.items() if not document.attributes[n].hierarchy))
        }
        for other in sorted((path.parent / document.hierarchies).glob("*.csv")):
            if other.resolve() not in used:
                raise SchemaError(
                    f"{where}: {other.name} is not used: it fits no attribute without a hierarchy of its own; "
                    "rename it by its attribute, or move it away"
                )
    for name, declared in document.attributes.items():
        file = path.parent / declared.hierarchy if declared.hierarchy is not None else folder.get(name)
        if file is not None:
            where = f"{path}, {'hierarchies' if declared.hierarchy is None else f'attributes.{name}.hierarchy'}"
            _check_inside(path, file, where)
            try:
                hierarchies[name] = read_hierarchy(file)
            except SchemaError as error:
                raise SchemaError(f"{where}: {error}") from None
    schema = Schema(document=document, hierarchies=hierarchies, name=str(path), mappings=mappings)
    for name, declared in document.attributes.items():
        if declared.domain is not None or declared.bins is not None or name in hierarchies:
            try:
                schema.attribute(name)  # a declared domain that cannot stand is an error now, not when data comes
            except SchemaError as error:
                where = f"{path}, {name}"
                fault = str(error).removeprefix(where).lstrip(":, ").removeprefix(f"{name}: ")
                raise SchemaError(f"{path}, attributes.{name}: {fault}") from None
    return schema


def _with_domains(document: SchemaDocument, path: Path) -> SchemaDocument:
    """The document with the domains that stand in files of their own."""
    attributes = dict(document.attributes)
    for name, declared in document.attributes.items():
        if not isinstance(declared.domain, DomainFile):
            continue
        where = f"{path}, attributes.{name}.domain"
        rows, lines = _file_rows(path, path.parent / declared.domain.file, where)
        wrong = next((line for row, line in zip(rows, lines, strict=True) if len(row) != 1), None)
        if wrong is not None or not rows:
            what = "holds no values" if wrong is None else f"line {wrong} holds a ;"
            raise SchemaError(f"{where}: {declared.domain.file} {what}; write one value a line, with a ; in quotes")
        attributes[name] = declared.model_copy(update={"domain": tuple(row[0] for row in rows)})
    return document.model_copy(update={"attributes": attributes})


def _read_mapping(schema: Path, file: Path, where: str) -> dict[str, str]:
    """A CSV of two columns, value;label, without a header."""
    rows, lines = _file_rows(schema, file, where)
    found: dict[str, str] = {}
    for row, line in zip(rows, lines, strict=True):
        if len(row) != 2 or not row[1]:
            raise SchemaError(f"{where}: {file.name}, line {line}: write value;label, two columns a row")
        if found.setdefault(row[0], row[1]) != row[1]:
            raise SchemaError(f"{where}: {file.name}, line {line}: {shown(row[0])} has two labels; keep one")
    return found


def _file_rows(schema: Path, file: Path, where: str) -> tuple[list[tuple[str, ...]], list[int]]:
    _check_inside(schema, file, where)
    try:
        return hierarchy_rows(read_hierarchy_bytes(file), str(file))
    except SchemaError as error:
        raise SchemaError(f"{where}: {error}") from None


def _check_inside(schema: Path, named: Path, where: str) -> None:
    """A schema of somebody else's must not have any file of this machine read, nor a line of it shown."""
    try:
        inside = named.resolve().is_relative_to(schema.parent.resolve())
    except (OSError, ValueError, RuntimeError):  # a null character, links in a circle
        inside = False
    if not inside:
        raise SchemaError(f"{where}: {shown(named, 200)} lies outside the schema's folder; copy it beside the schema")


_FAULTS = {
    "extra_forbidden": "this key is unknown; see docs/schema.md for the keys there are",
    "missing": "this key is required",
    "string_type": "this must be text; put it in quotes",
    "bool_type": "this must be true or false, without quotes",
}
_FORMS = {
    "domain": "this must be a list of values, or { from = 17, to = 90, step = 1 } with numbers or dates without quotes",
    "bins": "this must be a list of growing cuts, numbers or dates without quotes, for instance [20, 30, 40]",
}


def _first_fault(error: ValidationError, path: Path, content: object) -> str:
    """One line for the first thing pydantic found: file, key, what instead."""
    fault = error.errors()[0]
    key: tuple[str, ...] = ()
    for part in fault["loc"]:  # pydantic adds the names of types it tried: keep what the file has
        if isinstance(content, dict) and part in content:
            key, content = (*key, str(part)), content[part]
    message = _FAULTS.get(fault["type"], fault["msg"].removeprefix("Value error, "))
    about, colon, rest = message.partition(": ")
    if fault["type"] == "value_error" and colon and isinstance(content, dict) and about in content:
        key, message = (*key, about), rest  # our own checks name their key first
    elif fault["type"] in ("missing", "extra_forbidden"):
        key = key if key[-1:] == fault["loc"][-1:] else (*key, str(fault["loc"][-1]))
    elif len(key) > 2:
        message = _FORMS.get(key[2], message)
    return f"{path}, {'.'.join(key) or 'schema'}: {message}"


def _check_labels(attribute: Attribute, where: str) -> None:
    """A cell is read as a value before it is read as a label: one text must not be both."""
    hierarchy = attribute.hierarchy
    if hierarchy is None:
        return
    for level in range(1, hierarchy.height):
        labels = hierarchy.labels[level]
        for node, (label, code) in enumerate(zip(labels, attribute.encode(labels).tolist(), strict=True)):
            if code != -1 and np.flatnonzero(hierarchy.node[level] == node).tolist() != [code]:
                what = "value" if 0 <= code < attribute.real else "missing token"
                raise SchemaError(f"{where}: the hierarchy's label {shown(label)} is also a {what}; rename the label")
