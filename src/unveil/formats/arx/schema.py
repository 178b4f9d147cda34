"""A schema out of an ARX project: its roles, its hierarchies, and the domains of its input."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from unveil.data.attribute import Role
from unveil.data.draft import ProjectColumn, draft_schema
from unveil.data.hierarchy import HierarchyTable, plain_name
from unveil.data.schema import Schema, SchemaDocument
from unveil.errors import SchemaError
from unveil.formats.arx import Project, read_project
from unveil.formats.tables import Columns, read_columns

__all__ = ["ProjectDraft", "draft_project", "file_names", "project_schema"]


@dataclass(frozen=True, slots=True)
class ProjectDraft:
    """schema.toml as text, the hierarchies it names, and what could not be taken over."""

    toml: str
    ladders: Mapping[str, HierarchyTable]  # by attribute
    files: Mapping[str, str]  # the file of each, relative to the schema
    notes: tuple[str, ...]
    rows: int


def draft_project(path: str | Path, folder: str = "hierarchies") -> ProjectDraft:
    """Draft a schema with the roles and hierarchies that a human chose in ARX. `folder`: where hierarchies go."""
    project = read_project(path)
    columns = read_columns(project.path)
    absent = [name for name in project.roles if name not in columns.columns]
    if absent:
        raise SchemaError(f"{path}: its definition names {absent[0]!r}, which its input lacks; save it again in ARX")
    notes = [f"left out a hierarchy: {reason}" for reason in project.unusable.values()]
    ladders = {n: ladder for n, ladder in project.ladders.items() if project.roles[n] is not Role.IDENTIFIER}
    while True:
        files = file_names(ladders, folder)
        toml = _toml(project, columns, files)
        fault = _first_fault(toml, ladders, columns)
        if fault is None:
            return ProjectDraft(toml, ladders, files, tuple(notes), columns.rows)
        notes.append(f"left out the hierarchy of {fault[0]}: {fault[1]}")
        del ladders[fault[0]]


def project_schema(path: str | Path) -> Schema:
    """The schema of a project, its roles confirmed by whoever set them in ARX."""
    draft = draft_project(path)
    document = SchemaDocument.model_validate({**tomllib.loads(draft.toml), "confirmed": True})
    return Schema(document, draft.ladders, str(path))


def file_names(names: Mapping[str, object], folder: str) -> dict[str, str]:
    """A file for each attribute: its name, without what no file name should hold."""
    found: dict[str, str] = {}
    for name in names:
        plain = plain_name(name)
        taken = {file.lower() for file in found.values()}
        number = 1
        file = f"{folder}/{plain}.csv"
        while file.lower() in taken:
            number += 1
            file = f"{folder}/{plain}-{number}.csv"
        found[name] = file
    return found


def _toml(project: Project, columns: Columns, files: Mapping[str, str]) -> str:
    told = {n: ProjectColumn(role, "ARX", files.get(n)) for n, role in project.roles.items()}
    return draft_schema(columns.columns, name=project.path.name, decimal=columns.decimal, told=told).toml


def _first_fault(toml: str, ladders: Mapping[str, HierarchyTable], columns: Columns) -> tuple[str, str] | None:
    """The first hierarchy that cannot stand, or lacks a value of the input, and why."""
    document = SchemaDocument.model_validate(tomllib.loads(toml))
    schema = Schema(document, ladders)
    for name in ladders:
        texts = columns.columns[name].texts
        try:
            attribute = schema.attribute(name)
        except SchemaError as reason:
            return name, str(reason)
        lacking = [t for t, code in zip(texts, attribute.encode(texts, columns.decimal), strict=True) if code == -1]
        if lacking:
            return name, f"it has no row for {lacking[0]!r}" + (f" and {len(lacking) - 1} more" if lacking[1:] else "")
    return None
