"""Attribute: a column with its role and its domain, the ordered values it can take. A value's position is its code."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unveil.data.display import Display
from unveil.data.hierarchy import Hierarchy, iso_date, number_text
from unveil.errors import ReleaseError, SchemaError, UnveilError, shown

__all__ = ["Attribute", "AttributeList", "Kind", "Role", "asked_in_turn", "bin_edges", "canonical", "position"]


# With a decimal comma a point groups thousands, and says so only beside a comma or another point.
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:(?:\.\d{3})+,\d*|(?:\.\d{3}){2,})", re.ASCII)


class Role(StrEnum):
    """What a column may reveal."""

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


class Kind(StrEnum):
    """How a column's values relate to each other."""

    CATEGORICAL = "categorical"
    ORDINAL = "ordinal"
    NUMERIC = "numeric"
    DATE = "date"

    @property
    def measured(self) -> bool:
        """Numbers and dates have positions on a line."""
        return self in (Kind.NUMERIC, Kind.DATE)

    @property
    def ordered(self) -> bool:
        """Intervals make sense."""
        return self is not Kind.CATEGORICAL


def position(text: str, kind: Kind, decimal: str = ".") -> float | None:
    """Where a written number or date lies on its line; None if it is neither."""
    if kind is Kind.DATE:
        day = iso_date(text.strip())
        return None if day is None else float(day.toordinal())
    clean = text.strip()
    if decimal == ",":
        if "." in clean and not _GROUPED.fullmatch(clean):
            return None  # 1.234 may be either number: a human decides
        clean = clean.replace(".", "").replace(",", ".")
    if not clean or not clean.isascii() or clean[-1].isalpha() or "_" in clean:
        return None  # float() would take 'inf', 'nan', '1_000' and other scripts' digits
    try:
        value = float(clean)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def canonical(place: float, kind: Kind) -> str:
    """The one way a number or a date is written."""
    return date.fromordinal(int(place)).isoformat() if kind is Kind.DATE else number_text(place)


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """A column whose domain is known. Missing, if it is a category, is the last code and outside the order."""

    name: str
    role: Role
    kind: Kind
    values: tuple[str, ...]
    missing: bool = False
    missing_tokens: tuple[str, ...] = ()
    low: NDArray[np.float64] | None = None  # (codes without missing,) numbers and dates: where a code begins
    high: NDArray[np.float64] | None = None  # and ends, both included unless `open_bins`
    open_bins: bool = False  # bins on a continuous line: [low, high)
    binned: bool = False
    hierarchy: Hierarchy | None = None
    source: str = "declared"  # where the domain comes from
    harmless: tuple[int, ...] = ()
    classes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    reason: str = ""  # why it may be released though its texts point at people

    def __post_init__(self) -> None:
        if not self.values:
            raise SchemaError(f"{self.name}: the domain is empty; declare at least one value")
        if len(set(self.values)) != len(self.values):
            seen: set[str] = set()
            twice = next(v for v in self.values if v in seen or seen.add(v))  # type: ignore[func-returns-value]
            raise SchemaError(f"{self.name}: {shown(twice)} appears twice in the domain; keep one")
        if "*" in self.values:
            raise SchemaError(f"{self.name}: '*' cannot be a value, it means the whole domain; rename that value")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attribute) and (self.name, self.role, self.kind, self.values, self.missing) == (
            other.name,
            other.role,
            other.kind,
            other.values,
            other.missing,
        )

    def __hash__(self) -> int:
        return hash((self.name, self.values))

    @property
    def codes(self) -> int:
        """How many codes there are, missing included."""
        return len(self.values)

    @property
    def real(self) -> int:
        """How many codes there are, missing left out."""
        return len(self.values) - self.missing

    @property
    def dtype(self) -> type[np.unsignedinteger]:
        """The smallest unsigned type that holds every code."""
        for dtype in (np.uint8, np.uint16):
            if self.codes <= np.iinfo(dtype).max + 1:
                return dtype
        return np.uint32

    def positions(self) -> NDArray[np.float64]:
        """One place on a line a code: the middle of a number's or a bin's span, else the code itself.

        A bin without a lower end stands just below its upper one, which is the next bin's.
        """
        places = np.arange(self.codes, dtype=np.float64)
        if self.low is not None and self.high is not None:
            with np.errstate(invalid="ignore"):
                below = np.nextafter(self.high, -np.inf)
                middle = np.where(
                    np.isinf(self.low), below, np.where(np.isinf(self.high), self.low, (self.low + self.high) / 2)
                )
            places[: self.real] = np.where(np.isinf(middle), 0.0, middle)
            places[self.real :] = places[: self.real].max(initial=0.0)
        return places

    def encode(self, texts: Sequence[str], decimal: str = ".") -> NDArray[np.int64]:
        """The code of each text; -1 = no value of the domain, -2 = missing where missing is refused."""
        return np.fromiter(map(self.coder(decimal), texts), dtype=np.int64, count=len(texts))

    def coder(self, decimal: str = ".") -> Callable[[str], int]:
        """What encodes one text, for callers that meet their texts one by one."""
        code_of = {value: code for code, value in enumerate(self.values)}
        tokens = frozenset(self.missing_tokens)
        absent = self.codes - 1 if self.missing else -2

        def code(text: str) -> int:
            known = code_of.get(text)
            if text in tokens and (known is None or self.missing):
                return absent
            return known if known is not None else self._measured_code(text, decimal, code_of)

        return code

    def _measured_code(self, text: str, decimal: str, code_of: dict[str, int]) -> int:
        if self.low is None or self.high is None:
            return -1
        place = position(text, self.kind, decimal)
        if place is None:
            return -1
        if not self.binned:
            return code_of.get(canonical(place, self.kind), -1)
        code = int(np.searchsorted(self.low, place, side="right")) - 1
        if code < 0:
            return -1
        ends_here = place == self.high[code] and (not self.open_bins or code == self.real - 1)
        return code if place < self.high[code] or ends_here else -1


class AttributeList(Display):
    """What a table, a release and its rows have in common: attributes that are found by name or role."""

    __slots__ = ()
    attributes: tuple[Attribute, ...]
    refusal: ClassVar[type[UnveilError]] = ReleaseError

    @property
    def holder(self) -> str:
        """Who has the attributes, in an error."""
        return "the release"

    @property
    def true_attributes(self) -> tuple[Attribute, ...]:
        """The attributes with the domains of people's own values."""
        return self.attributes

    def index(self, name: str) -> int:
        """The position of a named attribute."""
        for index, attribute in enumerate(self.attributes):
            if attribute.name == name:
                return index
        known = ", ".join(a.name for a in self.attributes)
        raise self.refusal(f"{self.holder} has no attribute {shown(name)}; choose from {known}")

    def described(self, *more: Sequence[object]) -> list[tuple[object, ...]]:
        """Name, role and kind of each attribute, and what else there is to say of it, for a summary."""
        return [(a.name, a.role, a.kind, *rest) for a, *rest in zip(self.attributes, *more, strict=True)]

    def with_role(self, role: Role) -> tuple[int, ...]:
        """Positions of the attributes with this role."""
        return tuple(i for i, a in enumerate(self.attributes) if a.role is role)


def bin_edges(
    cuts: Sequence[float], kind: Kind, *, start: float | None, end: float | None, whole: bool
) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.float64]]:
    """Labels, lows and highs of left-closed bins; whole numbers and dates get both-ends-included labels."""
    inner = [c for c in cuts if (start is None or c > start) and (end is None or c <= end)]
    lows = [-math.inf if start is None else start, *inner]
    ends = [*inner, math.inf if end is None else end]
    labels, highs = [], []
    for number, (low, high) in enumerate(zip(lows, ends, strict=True)):
        last = number == len(lows) - 1
        closed = high if last else high - 1 if whole else high
        if math.isinf(low):
            labels.append(f"<{canonical(high, kind)}")
        elif math.isinf(high):
            labels.append(f">={canonical(low, kind)}")
        elif whole or last:
            labels.append(f"[{canonical(low, kind)},{canonical(closed, kind)}]")
        else:
            labels.append(f"[{canonical(low, kind)},{canonical(high, kind)})")
        highs.append(closed)
    return tuple(labels), np.array(lows), np.array(highs)


def asked_in_turn(attributes: Sequence[Attribute]) -> tuple[int, ...]:
    """Positions of what a reader may want to learn, one after another: the sensitive attributes.

    Where there is none, nobody said which attributes are known and which are not: each quasi-identifier is asked
    about, all others being known (Li 2010, section 4.1.2).
    """
    for role in (Role.SENSITIVE, Role.QUASI_IDENTIFIER):
        found = tuple(i for i, a in enumerate(attributes) if a.role is role)
        if found:
            return found
    return ()
