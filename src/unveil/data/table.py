"""Table: the originals, integer-coded in the smallest unsigned type. Only anonymizers and risk measures see it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, AttributeList, Kind, Role, position
from unveil.data.dictionary import Dictionary
from unveil.data.display import Summary
from unveil.data.hierarchy import number_text
from unveil.data.notation import PLAIN, FileNotation
from unveil.data.preparation import CodedColumn, prepare_columns
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release, example_rows, row_numbers
from unveil.data.schema import Schema
from unveil.data.texts import names_people, numbers_people
from unveil.errors import TableError, UsageError, shown

__all__ = ["MOST_COUNTED", "CodedColumn", "Table", "check_table_columns", "code_table"]

MOST_COUNTED = 30_000_000  # rows that a column of frequencies may stand for: each is laid out


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table(AttributeList):
    """Original microdata: one row a person, or, where rows are counted, one row for all people who are equal in it.

    Identifiers are counted, never kept.
    """

    refusal = TableError

    attributes: tuple[Attribute, ...]
    columns: tuple[NDArray[np.unsignedinteger], ...]  # per attribute: (rows,) codes
    weight: NDArray[np.float64] | None = None  # (rows,) sampling weights
    household: NDArray[np.int64] | None = None  # (rows,) equal numbers for people who live together
    repeated: Mapping[str, int] = field(default_factory=dict)  # per identifier: rows that share its value with others
    name: str = "table"
    dictionary: Dictionary | None = None  # codes and labels of the statistical file it was read from
    notation: FileNotation = PLAIN  # of the text file it was read from
    outside: NDArray[np.bool_] | None = None  # (rows,) people of the population, of whom nothing is published
    count: NDArray[np.int64] | None = None  # (rows,) how many people each row is; None: one each

    def __post_init__(self) -> None:
        if len(self.attributes) != len(self.columns) or not self.columns:
            raise TableError(f"{self.name}: no attribute but identifiers; a table needs at least one other column")
        for attribute, column in zip(self.attributes, self.columns, strict=True):
            if attribute.role is Role.IDENTIFIER:
                raise TableError(f"{attribute.name}: an identifier is not kept in a table")
            if len(column) != self.rows or column.dtype != attribute.dtype or column.max(initial=0) >= attribute.codes:
                raise TableError(f"{attribute.name}: codes that do not fit the domain or the other columns")
            column.flags.writeable = False
        if not self.rows:
            raise TableError(f"{self.name}: holds no rows")
        if self.weight is not None:
            if self.weight.shape != (self.rows,) or not (self.weight > 0).all():
                raise TableError(f"{self.name}: weights must be one positive number a row")
            self.weight.flags.writeable = False
        if self.count is not None:
            if self.count.shape != (self.rows,) or (self.count < 1).any():
                raise TableError(f"{self.name}: counts must be one whole number above 0 a row")
            if any(held is not None for held in (self.weight, self.household, self.outside)):
                raise TableError(f"{self.name}: counted rows have no weights and no households")
            self.count.flags.writeable = False
        if self.household is not None and self.household.shape != (self.rows,):
            raise TableError(f"{self.name}: households must be one number a row")

    @property
    def holder(self) -> str:
        """The file it was read from."""
        return self.name

    @property
    def rows(self) -> int:
        """How many rows there are: people, unless they are counted."""
        return len(self.columns[0])

    def column_of(self, attribute: Attribute, of: str = "the original") -> NDArray[np.unsignedinteger]:
        """(rows,) the codes of an attribute of a release; an error if its domain here is another."""
        index = self.index(attribute.name)
        if self.attributes[index].values != attribute.values:
            raise UsageError(f"{of}'s domain of {attribute.name} is not the release's; declare it in the schema")
        return self.columns[index]

    @property
    def people(self) -> int:
        """How many people there are."""
        return self.rows if self.count is None else int(self.count.sum())

    def tally(self, number: NDArray[np.integer], least: int) -> NDArray[np.int64]:
        """(numbers, `least` or more,) how many people have each of these (rows,) numbers."""
        if self.count is None:
            return np.bincount(number, minlength=least)
        return np.bincount(number, weights=self.count, minlength=least).astype(np.int64)

    def counted(self) -> "Table":
        """The same people with each different row once, in the order of the codes. Cost: sorting the rows."""
        number = row_numbers(self.columns)
        row = example_rows(number)
        count = self.tally(number, len(row))
        columns = tuple(column[row] for column in self.columns)
        return Table(self.attributes, columns, name=self.name, notation=self.notation, count=count)

    @classmethod
    def united(cls, tables: "Sequence[Table]") -> "Table":
        """The people of several tables, counted; all have the same attributes."""
        first, *others = tables
        if not others and first.count is not None:
            return first
        columns = tuple(np.concatenate(each) for each in zip(*(table.columns for table in tables), strict=True))
        ones = [np.ones(t.rows, dtype=np.int64) if t.count is None else t.count for t in tables]
        whole = cls(first.attributes, columns, name=first.name, notation=first.notation, count=np.concatenate(ones))
        return whole.counted()

    def part(self, rows: NDArray[np.integer]) -> "Table":
        """A table of some of its people, with the domains of the whole."""
        weight = None if self.weight is None else self.weight[rows]
        return Table(self.attributes, tuple(column[rows] for column in self.columns), weight=weight, name=self.name)

    def summary(self) -> Summary:
        """Its size and its attributes; no rows."""
        title = f"Table {self.name}: {self.people:,} people, {len(self.attributes)} attributes"
        lines = self.described([a.codes for a in self.attributes])
        return title, ("attribute", "role", "kind", "values"), lines

    def without(self, names: Collection[str]) -> "Table":
        """The table without some of its attributes."""
        kept = [i for i, a in enumerate(self.attributes) if a.name not in names]
        if len(kept) == len(self.attributes):
            return self
        return replace(
            self, attributes=tuple(self.attributes[i] for i in kept), columns=tuple(self.columns[i] for i in kept)
        )

    def with_population(self, population: "Table") -> "Table":
        """The same with everybody of a population as rows that are not published, for requirements about them.

        Only their quasi-identifiers are taken, in this table's domains.
        """
        if self.count is not None:
            raise TableError(f"{self.name}: beside a population rows are not counted; leave the cluster out")
        columns = []
        for attribute, column in zip(self.attributes, self.columns, strict=True):
            added = np.zeros(population.rows, dtype=attribute.dtype)
            if attribute.role is Role.QUASI_IDENTIFIER:
                index = population.index(attribute.name)
                if population.attributes[index].values != attribute.values:
                    raise TableError(
                        f"the population's domain of {attribute.name} is not the table's; declare it in the schema"
                    )
                added = population.columns[index].astype(attribute.dtype)
            columns.append(np.concatenate([column, added]))
        outside = np.arange(self.rows + population.rows) >= self.rows
        return replace(self, columns=tuple(columns), weight=None, household=None, outside=outside)

    def published(self) -> "Table":
        """Without people who are not published."""
        if self.outside is None:
            return self
        return replace(self, columns=tuple(column[~self.outside] for column in self.columns), outside=None)

    def check_texts(self, *, counted: bool = False) -> None:
        """Refuse to publish a column whose texts point at people, unless the schema says release = true, and why.

        Every anonymizer asks first; `counted`: whether it reads counted rows. Cost: some thousand texts a column.
        """
        if self.count is not None and not counted:
            raise TableError(f"{self.name}: its rows are counted, and this anonymizer works on people one by one")
        for attribute, column in zip(self.attributes, self.columns, strict=True):
            rows = self.tally(column, attribute.codes)[: attribute.real]
            if not attribute.reason and (why := _points_at_people(attribute, rows)) is not None:
                raise TableError(
                    f"{attribute.name}: is not released: {why}; make it an identifier, or, if it names nobody, add "
                    f'release = true and reason = "…" to it in the schema'
                )

    def as_release(self) -> Release:
        """The cleartext as a release: every row a group of its own, every cell a single value."""
        if self.count is not None:
            raise TableError(f"{self.name}: its rows are counted; read it without a cluster, row by row")
        part = BlockRows(tuple(range(len(self.columns))), np.arange(self.rows, dtype=np.int64), self.columns)
        return build_release(self.attributes, [Regions.singles(a.codes) for a in self.attributes], [part])[0]

    @classmethod
    def from_columns(cls, schema: Schema, columns: Mapping[str, Sequence[object]], *, name: str = "table") -> "Table":
        """A table from Python values, written as a CSV file would hold them."""
        lengths = {len(values) for values in columns.values()}
        if len(lengths) > 1:
            raise TableError(f"{name}: columns of different lengths")
        missing = schema.missing_token
        coded = {key: _code_values(values, missing) for key, values in columns.items()}
        return code_table(schema, coded, name=name, place=lambda row: f"row {row + 1}")


def _points_at_people(attribute: Attribute, rows: NDArray[np.int64]) -> str | None:
    """Why a column of these values, in so many rows each, must not be published; None if nothing speaks against it."""
    seen = np.flatnonzero(rows)
    if attribute.kind.measured:  # of quasi-identifiers intervals are published
        if attribute.low is None or attribute.binned or attribute.role is Role.QUASI_IDENTIFIER:
            return None
        return None if attribute.kind is Kind.DATE else numbers_people(attribute.low[seen], rows[seen])
    why = names_people([attribute.values[code] for code in seen.tolist()], rows[seen])
    apart = len(seen) / max(int(rows.sum()), 1)
    if why is None and attribute.role is Role.INSENSITIVE and len(seen) >= 50 and apart >= 0.95:
        why = f"{apart:.0%} of its rows hold a text of their own"
    return why


def code_table(
    schema: Schema,
    columns: Mapping[str, CodedColumn],
    *,
    name: str,
    place: Callable[[int], str],
    decimal: str = ".",
    dictionary: Dictionary | None = None,
    known: Mapping[str, Attribute] | None = None,
    prepared: bool = False,
) -> Table:
    """Prepare and code columns of texts by the schema; `place` says where a row stands, for errors.

    `known`: attributes whose domains are fixed already, by name. `prepared`: the columns are those of the schema.

    Cost: one dictionary look-up a distinct text, one gather a row.
    """
    if not prepared:
        columns = prepare_columns(schema, columns, decimal=decimal, name=name, place=place)
    check_table_columns(schema, columns, name)
    repeats = _repeats(schema, columns, name, place, decimal)
    attributes, coded, repeated = [], [], {}
    for key in schema.names:
        column = columns[key]
        if schema.declaration(key).role is Role.IDENTIFIER:
            if not (schema.declaration(key).shared or key == schema.document.household):
                times = np.bincount(column.text_of_row, weights=repeats)
                repeated[key] = int(times[times > 1].sum())
            continue
        attribute = (known or {}).get(key) or schema.attribute(key, column.texts, decimal=decimal)
        code_of_text = attribute.encode(column.texts, decimal)
        if (code_of_text < 0).any():
            _refuse(attribute, column, code_of_text, name, place)
        codes = code_of_text.astype(attribute.dtype)[column.text_of_row]
        attributes.append(attribute)
        coded.append(codes if repeats is None else np.repeat(codes, repeats))
    weight = None
    if schema.document.weight is not None:
        weight = _numbers(columns[schema.document.weight], schema.document.weight, name, place, decimal)
        weight = weight if repeats is None else np.repeat(weight, repeats)
    household = None
    if schema.document.household is not None:
        household = np.asarray(columns[schema.document.household].text_of_row, dtype=np.int64)
        household = household if repeats is None else np.repeat(household, repeats)
    return Table(
        tuple(attributes),
        tuple(coded),
        weight=weight,
        household=household,
        repeated=repeated,
        name=name,
        dictionary=dictionary,
    )


def _code_values(values: Sequence[object], missing: str) -> CodedColumn:
    number: dict[str, int] = {}
    rows = [number.setdefault(_text(v, missing), len(number)) for v in values]
    return CodedColumn(texts=tuple(number), text_of_row=np.array(rows, dtype=np.int64))


def _text(value: object, missing: str) -> str:
    """A Python value as a file would hold it: None is missing, True is true, 17.0 is 17."""
    if value is None:
        return missing
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    return number_text(value) if isinstance(value, float) and np.isfinite(value) else str(value)


def check_table_columns(schema: Schema, columns: Mapping[str, CodedColumn], name: str) -> None:
    """Refuse a table that lacks a column of the schema, or has one that it does not name."""
    needed = (*schema.names, *schema.extra_columns)
    absent = [key for key in needed if key not in columns]
    if absent:
        raise TableError(
            f"{name}: no column {shown(absent[0])}, which {schema.name} names; the file has {_listed(columns)}"
        )
    unknown = [key for key in columns if key not in needed]
    if unknown:
        raise TableError(
            f"{name}: {schema.name} does not name the column {shown(unknown[0])}; add [attributes.NAME] with its role"
        )


def _listed(names: Mapping[str, CodedColumn]) -> str:
    first = [shown(n, 30) for n in list(names)[:12]]
    return ", ".join(first) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _refuse(
    attribute: Attribute, column: CodedColumn, code_of_text: NDArray[np.int64], name: str, place: Callable[[int], str]
) -> None:
    bad = code_of_text[column.text_of_row]
    row = int(np.flatnonzero(bad < 0)[0])
    text = column.texts[int(column.text_of_row[row])]
    where = f"{name}, {place(row)}, {attribute.name}"
    if bad[row] == -2:
        raise TableError(
            f'{where}: a missing value; set missing = "category" for {attribute.name}, or leave such rows out'
        )
    kind = {Kind.NUMERIC: "number", Kind.DATE: "date"}.get(attribute.kind, "value")
    raise TableError(
        f"{where}: {shown(text)} is not a {kind} of the {attribute.source} domain; correct it or extend the domain"
    )


def _numbers(
    column: CodedColumn, key: str, name: str, place: Callable[[int], str], decimal: str
) -> NDArray[np.float64]:
    """A weight column: positive numbers."""
    places = [position(text, Kind.NUMERIC, decimal) for text in column.texts]
    distinct = np.array([np.nan if p is None else p for p in places])
    values: NDArray[np.float64] = distinct[column.text_of_row]
    bad = ~(values > 0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        text = column.texts[int(column.text_of_row[row])]
        raise TableError(f"{name}, {place(row)}, {key}: {shown(text)} is not a positive number")
    return np.asarray(values)


def _repeats(
    schema: Schema, columns: Mapping[str, CodedColumn], name: str, place: Callable[[int], str], decimal: str
) -> NDArray[np.int64] | None:
    """How many people each row stands for, if the schema has a frequency column."""
    key = schema.document.frequency
    if key is None:
        return None
    values = _numbers(columns[key], key, name, place, decimal)
    if (values % 1 != 0).any():
        row = int(np.flatnonzero(values % 1 != 0)[0])
        raise TableError(
            f"{name}, {place(row)}, {key}: a frequency must be a whole number; sampling weights go under weight"
        )
    if values.sum() > MOST_COUNTED:
        raise TableError(
            f"{name}: {key} adds up to {values.sum():,.0f} rows, over {MOST_COUNTED:,}; take a sample of the rows, or "
            "say in the schema that it is a weight"
        )
    return values.astype(np.int64)
