"""Schemas, tables and releases of every kind there is, with values that are hard to write and to read back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
from hypothesis import strategies as st

from unveil.data.attribute import Attribute
from unveil.data.hierarchy import HierarchyTable
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.data.schema import Schema, SchemaDocument
from unveil.data.table import Table
from unveil.errors import SchemaError

__all__ = ["Published", "attributes", "hierarchies", "hostile_texts", "regions", "releases", "schemas", "tables"]

TOKENS = ("?", "")  # that mean missing

HOSTILE = (
    *("a", "b", "a b", "A", "é", "0", "007", "1.0", "-1", "1e3", "NaN", "null", "None", "true"),
    *("=cmd()", "+1", "@x", "<script>alert(1)</script>", "'; drop table t", "%s{0}", "\\", "\\n", "#", "//"),
    *(
        " edge",
        "edge ",
        " ",
        "\t",
        "two\nlines",
        "cr\rlf\r\n",
        "\x85",
        "\xa0x",
        "\u200fright",
        "\u202egnp.exe",
        "\ufeffb",
    ),
    *(",", ";", "a,b", "a;b", "a|b", "a\tb", '"', '"a"', 'a"b', '""', "'", '"a', '"a","b"', '{"a"}'),
    *(
        "{",
        "}",
        "{}",
        "{a,b}",
        "{ a,b}",
        "{a}",
        '{"a,b",b}',
        "[",
        "]",
        "[]",
        "[20,30]",
        "[20-30]",
        "[a,b]",
        "[,a]",
        "**",
        "* ",
    ),
)

NAMES = ("age", "zip", "sex", "group", "count", "group_", "a,b", 'say "x"', "=x", "[1]", "ünï", "a b", "row")


def hostile_texts() -> st.SearchStrategy[str]:
    """Values that look like notation, formulas, delimiters or nothing at all; never `*` or a token for missing."""
    odd = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)
    return st.one_of(st.sampled_from(HOSTILE), odd).filter(lambda text: text != "*" and text not in TOKENS)


@st.composite
def hierarchies(draw: st.DrawFn, values: Sequence[str]) -> HierarchyTable:
    """A nested hierarchy of one to three levels above the values; labels are hostile too."""
    heights = draw(st.integers(1, 3))
    rows = [[value] for value in values]
    taken = {*values, *TOKENS, "*"}
    for _ in range(heights - 1):
        below = sorted({row[-1] for row in rows})
        classes = draw(st.lists(st.integers(0, 2), min_size=len(below), max_size=len(below)))
        labels = []
        for _ in range(3):
            label = draw(hostile_texts().filter(lambda text: text not in taken))
            taken.add(label)
            labels.append(label)
        above = {node: labels[number] for node, number in zip(below, classes, strict=True)}
        for row in rows:
            row.append(above[row[-1]])
    return HierarchyTable(tuple((*row, "*") for row in rows))


@st.composite
def _domains(draw: st.DrawFn) -> dict[str, Any]:
    """Kind, domain and bins of one attribute."""
    form = draw(
        st.sampled_from(["categorical", "ordinal", "whole", "decimal", "bins", "open bins", "date", "date bins"])
    )
    start, count = draw(st.integers(-3, 20)), draw(st.integers(1, 8))
    day = date(2024, 2, 27) + timedelta(days=start)
    if form in ("categorical", "ordinal"):
        return {"kind": form, "domain": draw(st.lists(hostile_texts(), min_size=1, max_size=6, unique=True))}
    if form == "whole":
        return {"kind": "numeric", "domain": {"from": start, "to": start + count - 1}}
    if form == "decimal":
        return {"kind": "numeric", "domain": {"from": start / 10, "to": start / 10 + count / 4, "step": 0.25}}
    if form == "bins":
        cuts = sorted(draw(st.sets(st.integers(start + 1, start + 20), min_size=1, max_size=4)))
        return {"kind": "numeric", "domain": {"from": start, "to": start + 20}, "bins": cuts}
    if form == "open bins":
        cuts = sorted(draw(st.sets(st.integers(start, start + 20), min_size=1, max_size=4)))
        return {"kind": "numeric", "bins": [cut + 0.5 for cut in cuts]}
    if form == "date":
        return {"kind": "date", "domain": {"from": day, "to": day + timedelta(days=count - 1)}}
    cuts = sorted(draw(st.sets(st.integers(0, 20), min_size=1, max_size=4)))
    return {"kind": "date", "bins": [day + timedelta(days=cut) for cut in cuts]}


@st.composite
def schemas(draw: st.DrawFn, *, roles: Sequence[str] | None = None) -> Schema:
    """A schema whose domains are all declared; `roles` in this order, else one or more attributes of any roles."""
    if roles is None:
        published = st.sampled_from(["quasi-identifier", "sensitive", "insensitive"])
        roles = draw(st.lists(published, min_size=1, max_size=4))
    names = draw(st.permutations(NAMES))[: len(roles)]
    declared, ladders = {}, {}
    for name, role in zip(names, roles, strict=True):
        content = {"role": role, **draw(_domains()), "missing": draw(st.sampled_from(["refuse", "category"]))}
        declared[name] = content
        plain = Schema(SchemaDocument(version=1, missing=TOKENS, attributes={name: content})).attribute(name)
        if draw(st.booleans()):
            ladders[name] = draw(hierarchies(plain.values[: plain.real]))
    document = SchemaDocument(version=1, confirmed=True, missing=TOKENS, attributes=declared)
    for name in list(ladders):
        try:
            Schema(document, ladders).attribute(name)
        except SchemaError:  # a label that is also a number of the domain
            del ladders[name]
    return Schema(document, ladders)


@st.composite
def attributes(draw: st.DrawFn) -> Attribute:
    """One attribute with its domain."""
    schema = draw(schemas(roles=["quasi-identifier"]))
    return schema.attribute(schema.names[0])


@st.composite
def tables(
    draw: st.DrawFn, *, schema: Schema | None = None, roles: Sequence[str] | None = None, max_rows: int = 24
) -> Table:
    """An original table, of this schema or of any."""
    schema = draw(schemas(roles=roles)) if schema is None else schema
    known = [schema.attribute(name) for name in schema.names]
    rows = draw(st.integers(1, max_rows))
    columns = []
    for attribute in known:
        codes = draw(st.lists(st.integers(0, attribute.codes - 1), min_size=rows, max_size=rows))
        columns.append(np.array(codes, dtype=attribute.dtype))
    return Table(tuple(known), tuple(columns))


@dataclass(frozen=True)
class Published:
    """A release, the schema to read it by, and the raw material it was built from."""

    schema: Schema
    release: Release
    regions: tuple[Regions, ...]
    parts: tuple[BlockRows, ...]


@st.composite
def regions(draw: st.DrawFn, attribute: Attribute) -> Regions:
    """Values, intervals, sets and `*`, with repetition."""
    code = st.integers(0, attribute.codes - 1)
    value = code.map(lambda c: [c])
    span = st.tuples(code, code).map(lambda ends: list(range(min(ends), max(ends) + 1)))
    whole = st.just(list(range(attribute.codes)))
    members = st.lists(code, min_size=1, max_size=5)
    return Regions.sets(attribute.codes, draw(st.lists(st.one_of(value, span, members, whole), min_size=1, max_size=5)))


@st.composite
def releases(draw: st.DrawFn) -> Published:
    """Any groups, any blocks, any regions: recoded, anatomised, sliced, suppressed and everything between."""
    schema = draw(schemas())
    known = [schema.attribute(name) for name in schema.names]
    cells = tuple(draw(regions(attribute)) for attribute in known)
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    group = np.repeat(np.arange(len(sizes)), sizes)
    block_of = draw(st.lists(st.integers(0, 2), min_size=len(known), max_size=len(known)))
    parts = []
    for block in sorted(set(block_of)):
        members = tuple(i for i, b in enumerate(block_of) if b == block)
        shown = []
        for i in members:
            numbers = st.lists(st.integers(0, len(cells[i]) - 1), min_size=len(group), max_size=len(group))
            shown.append(np.array(draw(numbers)))
        parts.append(BlockRows(members, group, tuple(shown)))
    return Published(schema, build_release(known, cells, parts)[0], cells, tuple(parts))
