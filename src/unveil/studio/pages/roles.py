"""Roles: what each column is, why the draft thinks so, and the hierarchies."""

import json
import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from unveil.data.attribute import Kind, Role
from unveil.data.hierarchy import HierarchyTable
from unveil.data.schema import Schema, read_schema
from unveil.data.schema.document import DomainRange
from unveil.data.schema.edit import with_keys
from unveil.data.toml import read_text
from unveil.errors import SchemaError, UnveilError, UsageError
from unveil.formats.output import write_whole
from unveil.studio.folder import Folder
from unveil.studio.web import Form, Studio, screen, went

__all__ = ["build_hierarchy", "draft", "draw_hierarchies", "move_node", "save_roles", "show_hierarchy", "show_roles"]

ROLES = tuple(str(role) for role in Role)
KINDS = tuple(str(kind) for kind in Kind)
MOST_LEAVES = 400  # drawn
PRESETS = {
    Kind.NUMERIC: ("auto", "ages", "round", "equal_count"),
    Kind.DATE: ("auto", "dates"),
    Kind.ORDINAL: ("auto", "frequency"),
    Kind.CATEGORICAL: ("auto", "prefixes", "frequency"),
}
AGE_BANDS = (5, 10, 20)


def draft(request: Request, studio: Studio, form: Form) -> Response:
    """Draft the roles, or, if there is a schema, look at the evidence only."""
    folder = studio.folder
    data = folder.data
    if data is None:
        raise UsageError("choose a data file first")
    output = ".unveil/draft.toml" if folder.schema.is_file() else "schema.toml"
    words = ["schema", data, f"--output={output}", "--json=documents/draft.json"]
    words += [f"--{key}={value}" for key, value in folder.dialect.items()]
    studio.jobs.start(words, about=data, reads=[data], writes=["documents/draft.json"], page="/roles")
    return went("/roles")


def draw_hierarchies(request: Request, studio: Studio, form: Form) -> Response:
    """A hierarchy for every quasi-identifier that has none."""
    folder = studio.folder
    if folder.data is None or not folder.schema.is_file():
        raise UsageError("choose a data file and draft the roles first")
    words = ["hierarchy", "auto", "--schema=schema.toml", f"--data={folder.data}"]
    reads = [folder.data, "schema.toml"]
    studio.jobs.start(words, about=folder.data, reads=reads, writes=["schema.toml"], page="/roles")
    return went("/roles")


def show_roles(request: Request, studio: Studio) -> Response:
    """One line a column."""
    folder = studio.folder
    schema = studio.schema()
    found = _evidence(folder)
    return screen(
        request,
        "roles",
        data=folder.data,
        schema=None if schema is None else schema.document,
        columns=[] if schema is None else [_column(schema, i, found) for i in range(len(schema.names))],
        people=found.get("rows", 0),
        roles=ROLES,
        kinds=KINDS,
    )


def save_roles(request: Request, studio: Studio, form: Form) -> Response:
    """What was corrected, and whether it is confirmed; every other line of schema.toml stays."""
    folder = studio.folder
    schema = read_schema(folder.schema)
    changes: dict[str, dict[str, Any]] = {}
    for index, name in enumerate(schema.names):
        declared = schema.declaration(name)
        held = {"role": str(declared.role), "kind": str(declared.kind), "missing": declared.missing}
        given = {key: form.get(f"{key}-{index}", [value])[0] for key, value in held.items()}
        if given["role"] not in ROLES or given["kind"] not in KINDS or given["missing"] not in ("category", "refuse"):
            raise UsageError("choose roles, kinds and missing values from the lists")
        changed: dict[str, Any] = {key: value for key, value in given.items() if value != held[key]}
        if declared.shared and "role" in changed:
            changed["shared"] = None
        if changed:
            changes[name] = changed
    top: dict[str, Any] = {"confirmed": "confirm" in form}
    for key, answers in (("membership", ("sensitive", "harmless")), ("population_register", ("available", "none"))):
        answer = form.get(key, [""])[0]
        top[key] = answer if answer in answers else None
    if form.get("earlier", [""])[0] == "none":
        top["earlier_releases"] = []
    elif not schema.document.earlier_releases:
        top["earlier_releases"] = None
    _change(folder, changes, top)
    return went("/roles")


def show_hierarchy(request: Request, studio: Studio) -> Response:
    """One column's hierarchy as a tree."""
    schema, index, name = _asked(request, studio)
    ladder = schema.hierarchies.get(name)
    declared = schema.declaration(name)
    return screen(
        request,
        "hierarchy",
        index=index,
        column=name,
        presets=PRESETS[declared.kind],
        tree=None if ladder is None else tree_of(ladder),
        levels=0 if ladder is None else len(ladder.rows[0]) - 1,
        leaves=0 if ladder is None else len(ladder.rows),
        most=MOST_LEAVES,
        nodes=[] if ladder is None else [_labels(ladder, level) for level in range(len(ladder.rows[0]))],
    )


def build_hierarchy(request: Request, studio: Studio, form: Form) -> Response:
    """A hierarchy by a preset, named in the schema."""
    from unveil.formats.tables import read_table

    folder = studio.folder
    schema, index, name = _asked(request, studio)
    preset = form.get("preset", [""])[0]
    if folder.data is None or preset not in PRESETS[schema.declaration(name).kind]:
        raise UsageError("choose a data file and one of the presets")
    bare = Schema(document=schema.document, name=schema.name, mappings=schema.mappings)  # the domain is the data's
    dialect: dict[str, Any] = folder.dialect
    table = read_table(folder.path / folder.data, bare, **dialect)
    place = [a.name for a in table.attributes].index(name) if name in [a.name for a in table.attributes] else None
    if place is None:
        raise UsageError(f"{name}: an identifier is not released, so that it needs no hierarchy")
    ladder = _built(preset, table.attributes[place], table.columns[place], schema.declaration(name))
    _keep(folder, schema, name, ladder)
    return went(f"/roles/{index}")


def move_node(request: Request, studio: Studio, form: Form) -> Response:
    """A node and all below it under another node: what dragging does, and the form for the keyboard."""
    folder = studio.folder
    schema, index, name = _asked(request, studio)
    ladder = schema.hierarchies.get(name)
    if ladder is None:
        raise UsageError(f"{name}: has no hierarchy yet; build one first")
    try:
        (level, node), (above, parent) = (_place(form[key][0]) for key in ("node", "parent"))
        labels, parents = _labels(ladder, level), _labels(ladder, above)
        moved, target = labels[node], parents[parent]
    except (KeyError, ValueError, IndexError):
        raise UsageError("say which node goes where") from None
    if above != level + 1:
        raise UsageError("a node can be moved to one that is one level higher")
    way = next(row[above:] for row in ladder.rows if row[above] == target)
    rows = tuple((*row[:above], *way) if row[level] == moved else row for row in ladder.rows)
    _keep(folder, schema, name, HierarchyTable(rows=rows, source=ladder.source))
    return went(f"/roles/{index}")


def tree_of(ladder: HierarchyTable) -> dict[str, Any]:
    """The tree for drawing: label, place (level and number), children; at most so many leaves of it."""
    number = [{label: i for i, label in enumerate(_labels(ladder, level))} for level in range(len(ladder.rows[0]))]
    row_of = {row[0]: row for row in ladder.rows}
    top = len(ladder.rows[0]) - 1
    root: dict[str, Any] = {"label": "*", "at": f"{top}.0", "below": []}
    nodes: dict[tuple[str, ...], dict[str, Any]] = {("*",): root}
    for leaf in ladder.leaves[:MOST_LEAVES]:
        row = row_of[leaf]
        for level in range(top - 1, -1, -1):
            path = row[level:]
            if path not in nodes:
                nodes[path] = {"label": row[level], "at": f"{level}.{number[level][row[level]]}", "below": []}
                nodes[path[1:]]["below"].append(nodes[path])
    return root


# -------------------------------------------------------------------------------------------------------------- inside


def _place(text: str) -> tuple[int, int]:
    """Level and number of a node, as the tree has them."""
    if not re.fullmatch(r"\d{1,3}\.\d{1,7}", text, re.ASCII):
        raise ValueError(text)
    level, _, number = text.partition(".")
    return int(level), int(number)


def _labels(ladder: HierarchyTable, level: int) -> list[str]:
    return list(dict.fromkeys(row[level] for row in ladder.rows))


def _asked(request: Request, studio: Studio) -> tuple[Schema, int, str]:
    schema = studio.schema()
    if schema is None:
        raise UsageError("draft the roles first")
    index = int(request.path_params["index"])
    if index >= len(schema.names):
        raise UsageError("there is no such column")
    return schema, index, schema.names[index]


def _built(preset: str, attribute: Any, column: Any, declared: Any) -> HierarchyTable:
    """The builders of the command line, with what a steward would ask for."""
    import numpy as np

    from unveil.data import hierarchy_builders as builders
    from unveil.data.attribute import position
    from unveil.data.hierarchy_auto import hierarchy_of

    if preset == "auto":
        return hierarchy_of(attribute, column, declared)
    values = list(attribute.values[: attribute.real])
    counts = np.bincount(column, minlength=attribute.codes)[: attribute.real]
    if preset == "prefixes":
        return builders.prefix_hierarchy(values)
    if preset == "dates":
        return builders.date_hierarchy(values)
    if preset == "frequency":
        return builders.frequency_hierarchy(values, counts)
    places = [position(value, Kind.NUMERIC) for value in values]
    if any(place is None for place in places):
        raise SchemaError(f"{attribute.name}: not every value is a number; choose another preset")
    numbers = [float(place) for place in places if place is not None]
    if preset == "ages":
        return builders.interval_hierarchy(sorted(set(numbers)), AGE_BANDS)
    return builders.round_hierarchy(numbers) if preset == "round" else builders.equal_count_hierarchy(numbers, counts)


def _keep(folder: Folder, schema: Schema, name: str, ladder: HierarchyTable) -> None:
    """Write a hierarchy, and name it in the schema if it is not; a file that spoils the schema is taken back."""
    from unveil.formats.arx.schema import file_names

    declared = schema.declaration(name).hierarchy
    file = declared or file_names(dict.fromkeys(schema.names), "hierarchies")[name]
    target = folder.path / file
    target.parent.mkdir(exist_ok=True)
    before = target.read_bytes() if target.is_file() else None
    write_whole({target: ladder.to_csv().encode()})
    try:
        _change(folder, {name: {"hierarchy": file}} if declared is None else {}, {})
    except UnveilError:
        write_whole({target: before})
        raise


def _change(folder: Folder, attributes: Mapping[str, Mapping[str, Any]], top: Mapping[str, Any]) -> None:
    """schema.toml changed, if what comes of it is a schema."""
    before = read_text(folder.schema, SchemaError)
    changed = with_keys(before, attributes, str(folder.schema), top)
    write_whole({folder.schema: changed.encode()})
    try:
        read_schema(folder.schema)
    except UnveilError:
        write_whole({folder.schema: before.encode()})
        raise


def _evidence(folder: Folder) -> dict[str, Any]:
    try:
        found = json.loads((folder.path / "documents" / "draft.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("document") == "draft" else {}


def _column(schema: Schema, index: int, found: Mapping[str, Any]) -> dict[str, Any]:
    """What the page says of a column."""
    name = schema.names[index]
    declared = schema.declaration(name)
    own = next((one for one in found.get("columns", ()) if one["name"] == name), None)
    rows = found.get("rows", 0)
    sets = [one for one in found.get("sets", ()) if name in one["names"] and len(one["names"]) > 1]
    worst = max(sets, key=lambda one: one["uniqueness"], default=None)
    domain = declared.domain
    ladder = schema.hierarchies.get(name)
    return {
        "index": index,
        "name": name,
        "role": str(declared.role),
        "kind": str(declared.kind),
        "missing": declared.missing,
        "listed": len(domain) if isinstance(domain, tuple) else None,
        "ends": (domain.start, domain.end) if isinstance(domain, DomainRange) else None,
        "bins": None if declared.bins is None else len(declared.bins) + 1,
        "levels": None if ladder is None else len(ladder.rows[0]) - 1,
        "reasons": () if own is None else own["reasons"],
        "distinct": None if own is None else own["distinct"],
        "absent": 0 if own is None else own["missing"],
        "alone": None if own is None else round(own["uniqueness"] * rows),
        "with": None if worst is None else ", ".join(n for n in worst["names"] if n != name),
        "together": None if worst is None else round(worst["uniqueness"] * rows),
    }
