"""unveil hierarchy: build, show and check hierarchies, one column at a time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import unveil.cli.options as opt
from unveil.cli.command import command, group
from unveil.cli.output import console, keep_apart, say, write
from unveil.errors import SchemaError, UsageError
from unveil.formats.databases import Database

__all__ = ["ColumnOptions", "CountOptions", "OutputOption", "hierarchy_app", "values_of"]

hierarchy_app = group("hierarchy", "Build, show and check hierarchies (in ARX's CSV format).")


@dataclass(frozen=True, kw_only=True)
class OutputOption:
    """Where a hierarchy goes."""

    output: Path | None = opt.output_option("Where to write; to the terminal if not given.")


@dataclass(frozen=True, kw_only=True)
class DomainOptions(opt.SchemaFile):
    """A column, and where its values come from."""

    column: str = opt.argument("The column.", default=opt.REQUIRED)
    data: Any = opt.data_option("Take the values from this table, or from the domain in --schema.")


@dataclass(frozen=True, kw_only=True)
class ColumnOptions(OutputOption, DomainOptions):
    """A column whose values are put into a hierarchy."""


@dataclass(frozen=True, kw_only=True)
class CountOptions(OutputOption):
    """A column of which it matters how many rows each value has."""

    column: str = opt.argument("The column.", default=opt.REQUIRED)
    data: Any = opt.data_option("Take the values, and how many rows each has, from this table.", default=opt.REQUIRED)


@dataclass(frozen=True, kw_only=True)
class IntervalOptions(ColumnOptions):
    """Widths."""

    width: str = opt.option("Widths from narrow to wide, e.g. 5+10+20.", "W+W…", default=opt.REQUIRED)
    origin: float = opt.option("Where intervals start counting.", default=0.0)


@command(hierarchy_app)
def intervals(options: IntervalOptions) -> None:
    """Numbers to intervals of growing width."""
    from unveil.data.attribute import Kind, position
    from unveil.data.hierarchy_builders import interval_hierarchy

    values = sorted(set(_numbers(options.column, *values_of(options))))
    widths = [position(w, Kind.NUMERIC) for w in options.width.split("+")]
    if None in widths:
        raise UsageError("--width takes numbers joined by +, for instance 5+10+20")
    _give(options, interval_hierarchy(values, widths, options.origin))  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class PrefixOptions(ColumnOptions):
    """Lengths."""

    keep: str | None = opt.option("Characters kept at each level, e.g. 4+2; one less each if not given.", "N+N…")


@command(hierarchy_app)
def prefixes(options: PrefixOptions) -> None:
    """Codes to ever shorter prefixes: 45501, 4550*, 455**."""
    from unveil.data.hierarchy_builders import prefix_hierarchy

    steps = None
    if options.keep is not None:
        if not all(k.isdigit() for k in options.keep.split("+")):
            raise UsageError("--keep takes whole numbers joined by +, for instance 4+2")
        steps = [int(k) for k in options.keep.split("+")]
    _give(options, prefix_hierarchy(values_of(options)[0], steps))


@dataclass(frozen=True, kw_only=True)
class DateOptions(ColumnOptions):
    """Parts of dates."""

    parts: str = opt.option("week, month, quarter, year, decade.", "PART+PART…", default="month+quarter+year")


@command(hierarchy_app)
def dates(options: DateOptions) -> None:
    """ISO dates to months, quarters, years."""
    from unveil.data.hierarchy_builders import date_hierarchy

    _give(options, date_hierarchy(values_of(options)[0], options.parts.split("+")))


@dataclass(frozen=True, kw_only=True)
class RoundOptions(ColumnOptions):
    """How fine."""

    first: int = opt.option("At most this many intervals on the lowest level.", default=20)


@command(hierarchy_app, "round")
def round_(options: RoundOptions) -> None:
    """Numbers to round intervals: widths of 5, 10, 50, 100 …"""
    from unveil.data.hierarchy_builders import round_hierarchy

    _give(options, round_hierarchy(_numbers(options.column, *values_of(options)), options.first))


@dataclass(frozen=True, kw_only=True)
class EqualCountOptions(CountOptions):
    """How fine."""

    groups: int = opt.option("Intervals on the lowest level.", default=8)


@command(hierarchy_app, "equal-count")
def equal_count(options: EqualCountOptions) -> None:
    """Numbers to intervals with about equally many rows."""
    from unveil.data.hierarchy_builders import equal_count_hierarchy

    counts, decimal = _counts(options)
    rows: dict[float, int] = {}
    for place, count in zip(_numbers(options.column, list(counts), decimal), counts.values(), strict=True):
        rows[place] = rows.get(place, 0) + count
    _give(options, equal_count_hierarchy(list(rows), list(rows.values()), options.groups))


@command(hierarchy_app)
def frequency(options: CountOptions) -> None:
    """Names without an order: rare ones are put together first."""
    from unveil.data.hierarchy_builders import frequency_hierarchy

    counts, _ = _counts(options)
    _give(options, frequency_hierarchy(list(counts), list(counts.values())))


@dataclass(frozen=True, kw_only=True)
class TaxonomyOptions(OutputOption):
    """A tree."""

    file: Path = opt.argument("A CSV with the columns child and parent.", default=opt.REQUIRED)


@command(hierarchy_app)
def taxonomy(options: TaxonomyOptions) -> None:
    """A tree written as child and parent, one row per child."""
    from unveil.data.hierarchy_builders import taxonomy_hierarchy
    from unveil.formats.tables import read_columns

    file = options.file
    keep_apart([file], [options.output])
    found = read_columns(file, error=SchemaError)
    if set(found.columns) != {"child", "parent"}:
        raise UsageError(f"{file}: its columns must be child and parent; it has {', '.join(found.columns)}")
    child, parent = (
        [found.columns[n].texts[i].strip() for i in found.columns[n].text_of_row.tolist()] for n in ("child", "parent")
    )
    parent_of: dict[str, str] = {}
    for row, (below, above) in enumerate(zip(child, parent, strict=True)):
        if not below or below == "*" or parent_of.setdefault(below, above) != above:
            what = "has two parents" if below in parent_of else "cannot be a name"
            raise SchemaError(f"{file}, {found.place(row)}: {below!r} {what}; correct the row")
    write(options.output, taxonomy_hierarchy(parent_of, str(file)).to_csv())


@dataclass(frozen=True, kw_only=True)
class FileArgument:
    """A hierarchy."""

    file: Path = opt.argument("A hierarchy file.", default=opt.REQUIRED)


@command(hierarchy_app)
def show(options: FileArgument) -> None:
    """Check a hierarchy file and show it as a tree."""
    from rich.markup import escape
    from rich.tree import Tree

    from unveil.data.hierarchy import read_hierarchy

    ladder = read_hierarchy(options.file)
    root = Tree("*")
    nodes: dict[tuple[str, ...], Any] = {("*",): root}
    row_of = {row[0]: row for row in ladder.rows}
    for leaf in ladder.leaves:
        row = row_of[leaf]
        for depth in range(2, len(row) + 1):
            path = row[len(row) - depth :]
            if path not in nodes:
                nodes[path] = nodes[path[1:]].add(escape(path[0]))
    console().print(root)
    say(f"{options.file}: {len(ladder.rows)} values, {len(ladder.rows[0]) - 1} levels, nested")


@dataclass(frozen=True, kw_only=True)
class CoverOptions(DomainOptions, FileArgument):
    """A hierarchy and a column."""


@command(hierarchy_app)
def check(options: CoverOptions) -> None:
    """Check that a hierarchy covers a column, and is nested."""
    from unveil.data.attribute import Kind
    from unveil.data.hierarchy import read_hierarchy
    from unveil.data.schema import read_schema

    values, decimal = values_of(options)
    ladder = read_hierarchy(options.file)
    if options.schema is None or read_schema(options.schema).declaration(options.column).kind is Kind.NUMERIC:
        values = _as_in(ladder.leaves, values, decimal)
    ladder.over(values, missing=None, attribute=options.column)
    say(f"{options.file}: nested, and covers all {len(values)} values of {options.column}")


def _give(options: Any, ladder: Any) -> None:
    """Write a hierarchy, but not over what it was made of."""
    keep_apart([options.data, getattr(options, "schema", None)], [options.output])
    write(options.output, ladder.to_csv())


def _as_in(leaves: Sequence[str], values: Sequence[str], decimal: str) -> list[str]:
    """Values as a hierarchy writes them: the row of 17 is that of `17.0` and `17,0`, not of `017`."""
    from unveil.data.attribute import Kind, position

    known = set(leaves)
    leaf_of = {place: leaf for leaf in leaves if (place := position(leaf, Kind.NUMERIC)) is not None}

    def leaf(text: str) -> str:
        if text in known or re.match(r"\s*0\d", text):
            return text
        place = position(text, Kind.NUMERIC, decimal)
        return text if place is None else leaf_of.get(place, text)

    return list(dict.fromkeys(map(leaf, values)))


def values_of(options: Any) -> tuple[list[str], str]:
    """The values of a column, from a table or from a schema's declared domain, and their decimal mark."""
    column: str = options.column
    data: Path | Database | None = options.data
    schema: Path | None = getattr(options, "schema", None)
    if (data is None) == (schema is None):
        raise UsageError("say where the values come from, by one of --data TABLE and --schema FILE")
    if schema is not None:
        from unveil.data.schema import read_schema

        known = read_schema(schema)
        if column not in known.names:
            raise UsageError(f"{schema} has no attribute {column!r}; it has {', '.join(known.names)}")
        attribute = known.attribute(column)
        return list(attribute.values[: attribute.real]), "."
    from unveil.data.draft import MISSING_TOKENS
    from unveil.formats.tables import read_columns

    assert data is not None
    found = read_columns(data)
    if column not in found.columns:
        raise UsageError(f"{data} has no column {column!r}; it has {', '.join(found.columns)}")
    texts = set(found.columns[column].texts)
    left_out = sorted(texts.intersection(MISSING_TOKENS))
    if left_out:
        say(f"left out as missing: {', '.join(map(repr, left_out))}")
    return sorted(texts.difference(MISSING_TOKENS)), found.decimal


def _numbers(column: str, texts: list[str], decimal: str) -> list[float]:
    from unveil.data.attribute import Kind, position

    places = [position(text, Kind.NUMERIC, decimal) for text in texts]
    if None in places:
        raise UsageError(f"{column} is not numeric; use prefixes, dates or frequency")
    return [place for place in places if place is not None]


def _counts(options: CountOptions) -> tuple[dict[str, int], str]:
    """How many rows each value has, without missing ones, and the decimal mark."""
    import numpy as np

    from unveil.formats.tables import read_columns

    texts, decimal = values_of(options)
    found = read_columns(options.data).columns[options.column]
    rows = np.bincount(found.text_of_row, minlength=len(found.texts))
    count_of = dict(zip(found.texts, rows.tolist(), strict=True))
    return {text: count_of[text] for text in texts}, decimal
