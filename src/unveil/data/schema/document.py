"""schema.toml as it is written: what its tables may hold, and what goes together."""

import math
from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, StrictBool, StrictFloat, model_validator

from unveil.data.attribute import Kind, Role

__all__ = ["Declaration", "DomainRange", "Place", "Scalar", "SchemaDocument"]

# Strict: TOML knows its types, and pydantic would read "0" as the first of January 1970.
Whole = Annotated[int, Strict(), Field(ge=-(2**63), lt=2**63)]
Place = Annotated[date, Strict()] | Whole | StrictFloat
Scalar = Annotated[date, Strict()] | StrictBool | Whole | StrictFloat | str


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
            raise ValueError(f"{key}: this belongs to sensitive attributes; remove it or correct the role")
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
    # What only the steward can know; None: not answered, which an audit prints beside its verdict.
    membership: Literal["sensitive", "harmless"] | None = None  # being in the table
    earlier_releases: tuple[str, ...] | None = None  # published about these people; (): nothing was
    population_register: Literal["available", "none"] | None = None  # to whoever gets the release
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
                raise ValueError(f"joined: unknown attribute {name!r}; correct the name or add [attributes.{name}]")
            if name in joined:
                raise ValueError(f"joined: {name!r} is listed twice; keep one")
            joined.add(name)
        if "*" in self.missing:
            raise ValueError("missing: '*' means the whole domain; choose another token")
        return self
