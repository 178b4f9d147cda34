"""Schema: what schema.toml says about a table's columns, and how it is read and checked."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    StrictBool,
    StrictFloat,
    ValidationError,
    model_validator,
)

from unveil.attribute import Attribute, Kind, Role, bin_edges, canonical, position
from unveil.errors import SchemaError, shown
from unveil.hierarchy import Ladder, hierarchy_files, number_text, read_ladder
from unveil.toml_lines import line_of_key, toml_content

__all__ = ["Declaration", "Schema", "SchemaDocument", "read_schema"]

# Strict: TOML knows its types, and pydantic would read "0" as the first of January 1970.
Whole = Annotated[int, Strict(), Field(ge=-(2**63), lt=2**63)]
Place = Annotated[date, Strict()] | Whole | StrictFloat
Scalar = Annotated[date, Strict()] | StrictBool | Whole | StrictFloat | str
MOST_CODES = 10_000_000


class DomainRange(BaseModel):
    """A domain given by its ends."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    start: Place = Field(alias="from")
    end: Place = Field(alias="to")
    step: Whole | StrictFloat = 1


def _growing(cuts: tuple[Place, ...]) -> bool:
    """Dates or finite numbers, not both, each above the one before."""
    days = [c for c in cuts if isinstance(c, date)]
    numbers = [c for c in cuts if not isinstance(c, date) and math.isfinite(c)]
    if not cuts or len(cuts) not in (len(days), len(numbers)):
        return False
    return sorted(set(days)) == days and sorted(set(numbers)) == numbers


class Declaration(BaseModel):
    """One [attributes.NAME] table of schema.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    role: Role
    kind: Kind = Kind.CATEGORICAL
    domain: DomainRange | tuple[Scalar, ...] | None = None
    bins: tuple[Place, ...] | None = None
    hierarchy: str | None = None
    missing: Literal["category", "refuse"] = "refuse"
    harmless: tuple[Scalar, ...] = ()
    classes: dict[str, tuple[Scalar, ...]] = {}

    @model_validator(mode="after")
    def _fits(self) -> "Declaration":
        if self.bins is not None and not self.kind.measured:
            raise ValueError('bins: they need kind = "numeric" or "date"')
        if self.bins is not None and not _growing(self.bins):
            raise ValueError("bins: these must be one or more growing cuts, for instance [20, 30, 40]")
        if isinstance(self.domain, DomainRange) and not self.kind.measured:
            raise ValueError('domain: from … to … needs kind = "numeric" or "date"; list the values instead')
        if self.bins is not None and isinstance(self.domain, tuple):
            raise ValueError("bins: they go with a domain from … to …, or with none")
        if isinstance(self.domain, tuple) and not self.domain:
            raise ValueError("domain: it is empty; list its values or leave it out")
        if self.role is not Role.SENSITIVE and (self.harmless or self.classes):
            key = "harmless" if self.harmless else "classes"
            raise ValueError(f"{key}: this belongs to sensitive attributes; remove it or mend the role")
        return self


class SchemaDocument(BaseModel):
    """schema.toml as a whole."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    version: Literal[1]
    confirmed: StrictBool = False
    missing: tuple[str, ...] = ()
    weight: str | None = None
    frequency: str | None = None
    joined: tuple[tuple[str, ...], ...] = ()
    membership: Literal["sensitive", "harmless"] = "harmless"
    hierarchies: str | None = None
    attributes: dict[str, Declaration] = Field(min_length=1)

    @model_validator(mode="after")
    def _fits(self) -> "SchemaDocument":
        for key in ("weight", "frequency"):
            name = getattr(self, key)
            if name is not None and name in self.attributes:
                raise ValueError(f"{key}: the column {name!r} has no role then; remove [attributes.{name}]")
        if self.weight is not None and self.weight == self.frequency:
            raise ValueError(f"frequency: {self.weight!r} is the weight already; a column is one of them")
        joined: set[str] = set()
        for name in (name for group in self.joined for name in group):
            if name not in self.attributes:
                raise ValueError(f"joined: {name!r} is no attribute; mend the name or add [attributes.{name}]")
            if name in joined:
                raise ValueError(f"joined: {name!r} stands here twice; an attribute is joined once")
            joined.add(name)
        if "*" in self.missing:
            raise ValueError("missing: '*' means the whole domain; choose another token")
        return self


@dataclass(frozen=True, slots=True)
class Schema:
    """The roles, kinds and declared domains of a table's columns."""

    document: SchemaDocument
    ladders: Mapping[str, Ladder] = field(default_factory=dict)
    name: str = "schema"

    @property
    def names(self) -> tuple[str, ...]:
        """Attribute names in the file's order."""
        return tuple(self.document.attributes)

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
                f"{self.name}: the roles are not confirmed; read them, mend them, and set confirmed = true"
            )
        return self

    def attribute(
        self, name: str, observed: Iterable[str] | None = None, *, decimal: str = ".", source: str = "original"
    ) -> Attribute:
        """The attribute with its domain: declared, else the hierarchy's leaves, else the observed values."""
        declared = self.declaration(name)
        where = f"{self.name}, {name}"
        ladder = _canonical_leaves(self.ladders.get(name), declared.kind)
        values, low, high, origin = _domain(declared, ladder, observed, self.document.missing, decimal, where, source)
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
            open_bins=declared.bins is not None and not _whole(declared),
            hierarchy=ladder.over(values, missing=token, attribute=name) if ladder is not None else None,
            source=origin,
            harmless=tuple(_codes_of(declared.harmless, declared.kind, code_of, f"{where}, harmless", origin)),
            classes=tuple(
                (label, tuple(_codes_of(members, declared.kind, code_of, f"{where}, classes.{label}", origin)))
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
        raise SchemaError(f"{path}: an ARX project is no schema; write one: unveil schema {path.name} -o schema.toml")
    try:
        raw = path.read_bytes()
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
        raise SchemaError(f"{path}: no [attributes.NAME] tables: this is no schema; draft one with: unveil schema DATA")
    try:
        document = SchemaDocument.model_validate(content)
    except ValidationError as error:
        raise SchemaError(_first_fault(error, path, text, content)) from None
    ladders = {}
    folder: dict[str, Path] = {}
    if document.hierarchies is not None:
        where = f"{path}, line {line_of_key(text, ('hierarchies',))}, hierarchies"
        folder = hierarchy_files(path.parent / document.hierarchies, document.attributes, where)
    for name, declared in document.attributes.items():
        file = path.parent / declared.hierarchy if declared.hierarchy is not None else folder.get(name)
        if file is not None:
            try:
                ladders[name] = read_ladder(file)
            except SchemaError as error:
                own = ("attributes", name, "hierarchy") if declared.hierarchy is not None else ("hierarchies",)
                line = line_of_key(text, own)
                raise SchemaError(f"{path}, line {line}, {name}: {error}") from None
    schema = Schema(document=document, ladders=ladders, name=str(path))
    for name, declared in document.attributes.items():
        if declared.domain is not None or declared.bins is not None or name in ladders:
            try:
                schema.attribute(name)  # a declared domain that cannot stand is an error now, not when data comes
            except SchemaError as error:
                where = f"{path}, {name}"
                fault = str(error).removeprefix(where).lstrip(":, ").removeprefix(f"{name}: ")
                raise SchemaError(f"{path}, line {line_of_key(text, ('attributes', name))}, {name}: {fault}") from None
    return schema


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


def _first_fault(error: ValidationError, path: Path, text: str, content: object) -> str:
    """One line for the first thing pydantic found: file, line, key, what instead."""
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
    return f"{path}, line {line_of_key(text, key)}, {'.'.join(key) or 'schema'}: {message}"


def _scalar_text(value: Scalar, kind: Kind) -> str:
    """A TOML value as the text a table would hold."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and not kind.measured:
        return str(value)
    if isinstance(value, int | float):
        return canonical(float(value), Kind.NUMERIC)
    place = position(value, kind) if kind.measured else None
    return value if place is None else canonical(place, kind)


def _canonical_leaves(ladder: Ladder | None, kind: Kind) -> Ladder | None:
    """A hierarchy's numbers and dates written the one way: 17, not 17.0."""
    if ladder is None or not kind.measured:
        return ladder
    rows = tuple((_scalar_text(row[0], kind), *row[1:]) for row in ladder.rows)
    return ladder if rows == ladder.rows else Ladder(rows=rows, source=ladder.source, lines=ladder.lines)


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


def _place(value: Place, kind: Kind, where: str) -> float:
    if kind is Kind.DATE:
        if not isinstance(value, date):
            raise SchemaError(f"{where}: {value!r} is no date; write it as 2024-01-31 without quotes")
        return float(value.toordinal())
    if isinstance(value, date):
        raise SchemaError(f'{where}: {value} is a date; set kind = "date"')
    return float(value)


def _whole(declared: Declaration) -> bool:
    """Whole numbers and dates: a bin can name its last value."""
    if declared.kind is Kind.DATE:
        return True
    ends = (
        [declared.domain.start, declared.domain.end, declared.domain.step]
        if isinstance(declared.domain, DomainRange)
        else [0.5]
    )
    return all(float(v).is_integer() for v in [*(declared.bins or ()), *ends] if not isinstance(v, date))


Domain = tuple[
    tuple[str, ...], "np.ndarray[Any, np.dtype[np.float64]] | None", "np.ndarray[Any, np.dtype[np.float64]] | None", str
]


def _domain(
    declared: Declaration,
    ladder: Ladder | None,
    observed: Iterable[str] | None,
    missing: tuple[str, ...],
    decimal: str,
    where: str,
    source: str,
) -> Domain:
    kind = declared.kind
    if isinstance(declared.domain, DomainRange):
        start, end = _place(declared.domain.start, kind, where), _place(declared.domain.end, kind, where)
        step = float(declared.domain.step)
        if not all(map(math.isfinite, (start, end, step))):
            raise SchemaError(f"{where}: the ends and the step of a domain must be finite numbers")
        if kind is Kind.DATE and not step.is_integer():
            raise SchemaError(f"{where}: the step of a date domain is in whole days, not {step:g}")
        if not step > 0 or not end >= start:
            raise SchemaError(
                f"{where}: the domain from {declared.domain.start} to {declared.domain.end} step {step:g} is empty"
            )
        if declared.bins is None:
            return _grid(start, end, step, kind, where)
        cuts = [_place(c, kind, where) for c in declared.bins]
        return (*bin_edges(cuts, kind, start=start, end=end, whole=_whole(declared)), "declared")
    if declared.bins is not None:
        cuts = [_place(c, kind, where) for c in declared.bins]
        return (*bin_edges(cuts, kind, start=None, end=None, whole=_whole(declared)), "declared")
    if declared.domain is not None:
        texts, origin = [_scalar_text(v, kind) for v in declared.domain], "declared"
    elif ladder is not None:
        absent = missing if kind.measured else ()
        texts, origin = [leaf for leaf in ladder.leaves if leaf not in absent], "hierarchy"
    elif observed is not None:
        if kind is Kind.ORDINAL:
            raise SchemaError(f"{where}: an ordinal attribute needs its order; list its domain from lowest to highest")
        texts, origin = sorted(set(observed) - set(missing)), source
    else:
        raise SchemaError(f"{where}: no domain is declared and there is no data to take it from; add domain = […]")
    if not kind.measured:
        return tuple(texts), None, None, origin
    return _measured(texts, kind, decimal if origin == source else ".", where, origin)


def _grid(start: float, end: float, step: float, kind: Kind, where: str) -> Domain:
    # In whole numbers of the last decimal, so that 0.1 + 0.2 is the 0.3 that a table holds.
    written = [Decimal(number_text(v)) for v in (start, end, step)]
    unit = 10 ** max(0, *(-int(d.as_tuple().exponent) for d in written))
    first, last, stride = (int(d * unit) for d in written)
    count = (last - first) // stride + 1
    if count > MOST_CODES:
        raise SchemaError(
            f"{where}: the domain has {count:,} values, over {MOST_CODES:,}; declare bins or a larger step"
        )
    places = np.array([n / unit for n in range(first, last + 1, stride)])
    return tuple(canonical(p, kind) for p in places.tolist()), places, places, "declared"


def _measured(texts: list[str], kind: Kind, decimal: str, where: str, origin: str) -> Domain:
    places = set()
    for text in texts:
        place = position(text, kind, decimal)
        if place is None:
            what = "date such as 2024-01-31" if kind is Kind.DATE else "number"
            raise SchemaError(f"{where}: {shown(text)} is no {what}; change the kind, or list it under missing")
        places.add(place)
    ordered = np.array(sorted(places))
    return tuple(canonical(p, kind) for p in ordered.tolist()), ordered, ordered, origin


def _codes_of(members: tuple[Scalar, ...], kind: Kind, code_of: dict[str, int], where: str, origin: str) -> list[int]:
    codes = []
    for member in members:
        text = _scalar_text(member, kind)
        if text in code_of:
            codes.append(code_of[text])
        elif origin in ("declared", "hierarchy"):  # an observed domain may lack a value that is declared harmless
            raise SchemaError(f"{where}: {shown(text)} is no value of the domain; mend it or add it to the domain")
    return codes
