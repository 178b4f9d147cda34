"""schema.toml as it is written: what its tables may hold, and what goes together."""

import math
from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, StrictBool, StrictFloat, model_validator

from unveil.data.attribute import Kind, Role

__all__ = ["Declaration", "DomainFile", "DomainRange", "Place", "Preparation", "Scalar", "SchemaDocument"]

# Strict: TOML knows its types, and pydantic would read "0" as the first of January 1970.
Whole = Annotated[int, Strict(), Field(ge=-(2**63), lt=2**63)]
Day = Annotated[date, Strict()]
Place = Day | Whole | StrictFloat
Scalar = Day | StrictBool | Whole | StrictFloat | str


class DomainRange(BaseModel):
    """A domain given by its ends."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    start: Place = Field(alias="from")
    end: Place = Field(alias="to")
    step: Whole | StrictFloat = 1


class DomainFile(BaseModel):
    """A domain in a file of its own: one value a line, as a CSV of one column without a header."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    file: str


class Preparation(BaseModel):
    """How a column comes about from the columns of the file: one `prepare` table of an attribute.

    The texts of the column, or of `from`, are trimmed, written in one case and recoded, then read as dates or numbers;
    last, at most one value is derived. See docs/schema.md#preparation.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    source: str | None = Field(None, alias="from")
    trim: StrictBool = False
    case: Literal["upper", "lower"] | None = None
    recode: dict[str, str] = {}
    missing: tuple[str, ...] = ()
    date: str | None = None
    decimal: Literal[".", ","] | None = None
    thousands: Literal[".", ",", " ", "'", "’", "\u00a0", "\u202f"] | None = None
    unit: Annotated[str, Field(min_length=1, max_length=20)] | None = None
    age_at: Day | str | None = None
    days_since: str | None = None
    part: Literal["year", "quarter", "month", "week"] | None = None
    prefix: Annotated[int, Strict(), Field(ge=1, le=100)] | None = None
    icd10: Literal["chapter", "block", "category"] | None = None
    mapping: str | None = None

    @property
    def derivation(self) -> str | None:
        """The one key that makes another value out of a text, if there is one."""
        return next((key for key in DERIVATIONS if getattr(self, key) is not None), None)

    @property
    def sources(self) -> tuple[str, ...]:
        """The other columns of the file that are read."""
        named = (self.source, self.days_since, self.age_at if isinstance(self.age_at, str) else None)
        return tuple(name for name in named if name is not None)

    @model_validator(mode="after")
    def _fits(self) -> "Preparation":
        chosen = [key for key in DERIVATIONS if getattr(self, key) is not None]
        if len(chosen) > 1:
            raise ValueError(f"prepare: {chosen[0]} and {chosen[1]} are two derivations; make two attributes of them")
        if self.date is not None and self.date not in DATE_FORMATS:
            raise ValueError(f"prepare: date = {self.date!r} is unknown; choose from {', '.join(DATE_FORMATS)}")
        if self.decimal is not None and self.decimal == self.thousands:
            raise ValueError("prepare: decimal and thousands are the same mark; correct one")
        if self.date is not None and (self.decimal or self.thousands or self.unit):
            raise ValueError("prepare: a column holds dates or numbers, not both; keep date, or what numbers need")
        if self.unit is not None and any(c.isdigit() or c in ".,+-" for c in self.unit):
            raise ValueError(f"prepare: unit = {self.unit!r} holds what numbers are made of; name a sign such as €")
        return self


DERIVATIONS = ("age_at", "days_since", "part", "prefix", "icd10", "mapping")
DATE_FORMATS = {
    "yyyy-mm-dd": "%Y-%m-%d",
    "dd.mm.yyyy": "%d.%m.%Y",
    "dd/mm/yyyy": "%d/%m/%Y",
    "dd-mm-yyyy": "%d-%m-%Y",
    "mm/dd/yyyy": "%m/%d/%Y",
    "yyyy/mm/dd": "%Y/%m/%d",
    "yyyy.mm.dd": "%Y.%m.%d",
    "yyyymmdd": "%Y%m%d",
    "dd-mmm-yyyy": "%d-%b-%Y",
    "dd mmm yyyy": "%d %b %Y",
    "dd/mmm/yyyy": "%d/%b/%Y",
}


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
    domain: DomainRange | DomainFile | tuple[Scalar, ...] | None = None
    bins: tuple[Place, ...] | None = None
    hierarchy: str | None = None
    missing: Literal["category", "refuse"] = "refuse"
    harmless: tuple[Scalar, ...] = ()
    classes: dict[str, tuple[Scalar, ...]] = {}
    prepare: Preparation | None = None
    shared: StrictBool = False
    release: StrictBool = False
    reason: str | None = None

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
            raise ValueError(f"{key}: this belongs to sensitive attributes; remove it or correct the role")
        if self.shared and self.role is not Role.IDENTIFIER:
            raise ValueError("shared: this belongs to identifiers that do not tell people apart; remove it")
        if self.release and self.role is Role.IDENTIFIER:
            raise ValueError("release: an identifier is never released; choose another role, or remove this")
        if self.release != bool(self.reason and self.reason.strip()):
            raise ValueError('release: releasing this column takes release = true and reason = "why", both or neither')
        return self


class SchemaDocument(BaseModel):
    """schema.toml as a whole."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    version: Literal[1]
    confirmed: StrictBool = False
    missing: tuple[str, ...] = ()
    weight: str | None = None
    frequency: str | None = None
    household: str | None = None  # the attribute that says who lives together
    joined: tuple[tuple[str, ...], ...] = ()
    # What only the steward can know; None: not answered, which an audit prints beside its verdict.
    membership: Literal["sensitive", "harmless"] | None = None  # being in the table
    earlier_releases: tuple[str, ...] | None = None  # published about these people; (): nothing was
    population_register: Literal["available", "none"] | None = None  # to whoever gets the release
    hierarchies: str | None = None
    attributes: dict[str, Declaration] = Field(min_length=1)

    def sources(self) -> dict[str, str]:
        """The columns of the file that other attributes are made of, each with one of these attributes."""
        found: dict[str, str] = {}
        for name, declared in self.attributes.items():
            for source in declared.prepare.sources if declared.prepare is not None else ():
                if source != name:
                    found.setdefault(source, name)
        return found

    @model_validator(mode="after")
    def _fits(self) -> "SchemaDocument":
        for key in ("weight", "frequency"):
            name = getattr(self, key)
            if name is not None and name in self.attributes:
                raise ValueError(f"{key}: the column {name!r} has no role then; remove [attributes.{name}]")
        if self.weight is not None and self.weight == self.frequency:
            raise ValueError(f"frequency: {self.weight!r} is the weight already; a column is one of them")
        if self.household is not None and self.household not in self.attributes:
            raise ValueError(
                f"household: unknown attribute {self.household!r}; add it, as an identifier if it numbers them"
            )
        joined: set[str] = set()
        for name in (name for group in self.joined for name in group):
            if name not in self.attributes:
                raise ValueError(f"joined: unknown attribute {name!r}; correct the name or add [attributes.{name}]")
            if self.attributes[name].role is Role.IDENTIFIER:
                raise ValueError(f"joined: {name!r} is an identifier, which no model ever sees; correct its role")
            if name in joined:
                raise ValueError(f"joined: {name!r} is listed twice; keep one")
            joined.add(name)
        if "*" in self.missing:
            raise ValueError("missing: '*' means the whole domain; choose another token")
        return self
