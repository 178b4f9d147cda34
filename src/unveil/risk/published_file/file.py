"""A published file as a stranger holds it, beside what its steward knows: the records that every check reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Kind, Role, position
from unveil.data.regions import Regions
from unveil.data.release import row_numbers
from unveil.data.schema import Schema
from unveil.data.table import CodedColumn
from unveil.errors import UnveilError
from unveil.formats.cells import CellError, cell_members
from unveil.formats.columns import Columns
from unveil.formats.releases.published import Sidecar
from unveil.formats.releases.surroundings import Surrounding

__all__ = ["Cells", "Leak", "PublishedFile", "Severity", "absent_texts", "percent", "places", "plural"]

Severity = Literal["exceeded", "suspicious", "fine", "not judged"]
Disclosure = Literal["singling out", "linking", "inference", "membership", "background", "composition", "file"]

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Leak:
    """What one check found in a published file. The sentence names columns, values of the schema and counts, no person.

    "exceeded" must not be published so; "suspicious" needs a human's word; "fine": the check ran and found nothing;
    "not judged": it could not run, and the sentence says why.
    """

    check: str
    kind: Disclosure
    severity: Severity
    sentence: str
    fix: str = ""
    columns: tuple[str, ...] = ()
    people: int | None = None  # whom it touches, of the rows in the file
    strength: float = 0.0  # 0 to 1: the share of them of whom it is right, where that can be said


@dataclass(frozen=True, eq=False)
class Cells:
    """One published column against the original's: which values each distinct text may stand for."""

    regions: Regions
    region_of_text: Ids  # (texts,) -1 = no value, interval or set of the domain
    text_of_row: Ids  # (rows,)
    value_of_person: Ids  # (people,) code; below 0 = none

    @cached_property
    def exact(self) -> Ids:
        """(texts,) the one value a text stands for, -1 if several."""
        single = np.append(self.regions.single(), -1)
        return np.asarray(single[self.region_of_text])

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """(texts,) whether the text withholds everything."""
        return np.asarray(np.append(self.regions.whole, False)[self.region_of_text]) & (self.exact < 0)

    def fits(self, text: Ids, value: Ids) -> NDArray[np.bool_]:
        """Whether each value may stand behind the text beside it."""
        region = self.region_of_text[text]
        good = (region >= 0) & (value >= 0)
        found = np.zeros(len(text), dtype=bool)
        found[good] = self.regions.holds(region[good], value[good])
        return found

    @cached_property
    def texts_of_value(self) -> tuple[Ids, bool]:
        """(codes,) the text that shows each value, -1 for none; and whether no two texts share a value (`*` apart)."""
        shown = np.full(self.regions.codes + 1, -1, dtype=np.int64)
        used = np.unique(self.text_of_row)
        used = used[(self.region_of_text[used] >= 0) & ~self.whole[used]]
        shown[self.exact[used[self.exact[used] >= 0]]] = used[self.exact[used] >= 0]
        apart = True
        read: set[int] = set()
        for text in used[self.exact[used] < 0].tolist():
            region = int(self.region_of_text[text])
            if region in read:  # another spelling of the same
                continue
            read.add(region)
            members = self.regions.members(region)
            apart &= bool((shown[members] < 0).all())
            shown[members] = text
        return shown, apart


@dataclass(frozen=True, eq=False)
class PublishedFile:
    """Every column of a published file in its order, the schema's roles, and what the steward has beside it."""

    columns: Mapping[str, CodedColumn]
    rows: int
    schema: Schema
    sidecar: Sidecar = field(default_factory=Sidecar)
    second: Columns | None = None  # Anatomy's second table
    original: Mapping[str, CodedColumn] | None = None
    people: int = 0
    origin: Ids | None = None  # (rows,) the original row of each published row, where it is known
    key: str | None = None  # a column that pairs the rows with the original's
    raw: bytes | None = None  # the file as it is, where it is text
    around: tuple[Surrounding, ...] = ()  # what the file holds beside the table
    parts: tuple[int, ...] = ()  # rows of each part of the file, where it has several
    decimal: str = "."
    original_decimal: str = "."
    least: int = 0  # the least count of people or rows that a sentence shows; 0: every count

    def count(self, number: int) -> str:
        """A count of people or rows, unless it is too small to be shown."""
        return f"fewer than {self.least}" if 0 < number < self.least else f"{number:,}"

    def persons(self, number: int, share: float | None = None) -> str:
        """`1 person`, `2,000 people`, `300 people (15%)`; a share is not shown where the count is not."""
        return self.plural(number, "person", "people", share=share)

    def plural(self, number: int, one: str, many: str = "", *, share: float | None = None) -> str:
        """The same of rows or anything else that is counted one a person."""
        hidden = 0 < number < self.least
        beside = "" if share is None or hidden else f" ({percent(share)})"
        return f"{self.count(number)} {one if number == 1 and not hidden else many or one + 's'}{beside}"

    def role(self, name: str) -> Role | None:
        """The schema's role; None for a column it does not name."""
        return self.schema.declaration(name).role if name in self.schema.names else None

    def named(self, *roles: Role) -> list[str]:
        """Published columns of these roles."""
        return [n for n in self.columns if self.role(n) in roles]

    @property
    def keys(self) -> list[str]:
        """Published quasi-identifiers."""
        return self.named(Role.QUASI_IDENTIFIER)

    @property
    def secrets(self) -> list[str]:
        """Published sensitive columns."""
        return self.named(Role.SENSITIVE)

    @cached_property
    def count_name(self) -> str | None:
        """The column that multiplies rows, by the sidecar, the schema, or only by its name."""
        for name in (self.sidecar.count, self.schema.document.frequency):
            if name in self.columns:
                return name
        return "count" if "count" in self.columns and "count" not in self.schema.names else None

    @cached_property
    def others(self) -> list[str]:
        """Published columns that are neither quasi-identifier nor sensitive: insensitive, weights, unnamed ones."""
        known = {*self.keys, *self.secrets, self.sidecar.group, self.count_name}
        return [n for n in self.columns if n not in known]

    @property
    def blocks(self) -> list[tuple[str, ...]]:
        """Columns that are published together, as the sidecar says."""
        blocks = [tuple(n for n in b if n in self.columns) for b in self.sidecar.blocks or ()]
        return [b for b in blocks if b]

    @property
    def linked(self) -> bool:
        """Whether a line is a person: the sidecar hides no link."""
        return self.second is None and len(self.blocks) < 2

    def together(self, one: str, other: str) -> bool:
        """Whether two columns stand on one line of one block."""
        return self.linked or any(one in b and other in b for b in self.blocks)

    def codes(self, name: str) -> Ids:
        """(rows,) the number of each row's text."""
        return np.asarray(self.columns[name].text_of_row, dtype=np.int64)

    def joint(self, names: Sequence[str]) -> Ids:
        """(rows,) equal numbers where all these columns are equal."""
        return row_numbers([self.codes(n) for n in names]) if names else np.zeros(self.rows, dtype=np.int64)

    @cached_property
    def classes(self) -> Ids:
        """(rows,) the class of each row by its quasi-identifiers as they are written."""
        return self.joint(self.keys)

    @cached_property
    def times(self) -> Ids:
        """(rows,) how many people a line stands for."""
        if self.count_name is None:
            return np.ones(self.rows, dtype=np.int64)
        column = self.columns[self.count_name]
        number = [int(t) if t.strip().isascii() and t.strip().isdigit() else 1 for t in column.texts]
        return np.asarray(np.array(number, dtype=np.int64)[column.text_of_row])

    def numbers(self, name: str) -> NDArray[np.float64]:
        """(texts,) of a published column: the number or the day it shows, NaN for anything else."""
        if name not in self._places[0]:
            self._places[0][name] = places(self.columns[name].texts, self._kind(name), self.decimal)
        return self._places[0][name]

    def original_numbers(self, name: str) -> NDArray[np.float64]:
        """(texts,) the same of a column of the original."""
        assert self.original is not None
        if name not in self._places[1]:
            self._places[1][name] = places(self.original[name].texts, self._kind(name), self.original_decimal)
        return self._places[1][name]

    @cached_property
    def _places(self) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
        return {}, {}

    def _kind(self, name: str) -> Kind:
        if name in self.schema.names and self.schema.declaration(name).kind.measured:
            return self.schema.declaration(name).kind
        return Kind.NUMERIC

    def absent(self, name: str) -> NDArray[np.bool_]:
        """(texts,) whether a text withholds the value: empty, a missing token, `*` or NA."""
        return absent_texts(self.columns[name].texts, self.schema)

    @cached_property
    def shared(self) -> list[str]:
        """Published attributes that the original has too, and whose cells can be read."""
        return [n for n in self.columns if n in self._cells]

    def cells(self, name: str) -> Cells:
        """A shared column against the original's."""
        return self._cells[name]

    @cached_property
    def _cells(self) -> dict[str, Cells]:
        found = {}
        for name in self.columns:
            if self.original is None or name not in self.original or name not in self.schema.names:
                continue
            if self.role(name) is not Role.IDENTIFIER:
                cells = _read(self, name, self.columns[name], self.original[name])
                if cells is not None:
                    found[name] = cells
        return found

    def _true(self, name: str) -> bool:
        """Whether a column shows each kind of cell about as often as people have it: else it was perturbed."""
        cells = self.cells(name)
        rows = cells.text_of_row[~cells.whole[cells.text_of_row]]
        people = np.append(cells.texts_of_value[0], -1)[cells.value_of_person]
        people = people[people >= 0]
        if not len(rows) or len(people) < 0.5 * self.people:
            return False
        texts = len(cells.region_of_text)
        region = np.where(cells.region_of_text < 0, len(cells.regions), cells.region_of_text)
        here = np.bincount(region, weights=np.bincount(rows, minlength=texts), minlength=len(cells.regions) + 1)
        there = np.bincount(region, weights=np.bincount(people, minlength=texts), minlength=len(cells.regions) + 1)
        apart = np.abs(here / here.sum() - there / there.sum()).sum() / 2
        chance = np.sqrt((here + there > 0).sum() / min(len(rows), len(people)))
        return bool(apart < 0.1 + chance)

    @cached_property
    def person_classes(self) -> tuple[list[str], Ids, Ids, Ids] | None:
        """Columns by which every person has one kind of row; (rows,), (people,) those kinds, and rows they hold for."""
        names = [n for n in self.shared if self.cells(n).texts_of_value[1] and self._true(n)]
        if not names:
            return None
        rows, people, good = [], [], np.ones(self.rows, dtype=bool)
        for name in names:
            cells = self.cells(name)
            shown = np.append(cells.texts_of_value[0], -1)
            people.append(shown[cells.value_of_person])
            # Two spellings of one region are one kind of row: go by the text that `shown` keeps.
            region = cells.region_of_text
            first = np.full(len(cells.regions) + 1, -1, dtype=np.int64)
            kept = cells.texts_of_value[0]
            kept = kept[kept >= 0]
            first[region[kept]] = kept
            rows.append(first[region][cells.text_of_row])
            good &= ~cells.whole[cells.text_of_row] & (region[cells.text_of_row] >= 0)
        both = row_numbers([np.concatenate(pair) for pair in zip(rows, people, strict=True)])
        return names, both[: self.rows], both[self.rows :], np.flatnonzero(good)


def absent_texts(texts: Sequence[str], schema: Schema) -> NDArray[np.bool_]:
    """(texts,) whether each is empty, a missing token, `*` or NA."""
    tokens = {"", "NA", "<NA>", "NaN", "null", *schema.document.missing}
    return np.array([t.strip() in tokens or not t.strip().strip("*") for t in texts], dtype=bool)


def places(texts: Sequence[str], kind: Kind, decimal: str) -> NDArray[np.float64]:
    """Numbers or days of texts, NaN where a text is neither."""
    found = [position(t, kind, decimal) for t in texts]
    return np.array([np.nan if f is None else f for f in found], dtype=np.float64)


def _read(file: PublishedFile, name: str, published: CodedColumn, original: CodedColumn) -> Cells | None:
    declared = file.schema.declaration(name)
    document = file.schema.document
    if declared.bins is not None:  # values as they stand, not the bins they fall into
        unbinned = declared.model_copy(update={"bins": None, "domain": None})
        document = document.model_copy(update={"attributes": {**document.attributes, name: unbinned}})
    ladders = {k: v for k, v in file.schema.hierarchies.items() if k != name or declared.bins is None}
    schema = Schema(document=document, hierarchies=ladders, name=file.schema.name)
    try:
        attribute = schema.attribute(name, original.texts, decimal=file.original_decimal)
    except UnveilError:
        return None
    code = attribute.encode(published.texts, file.decimal)
    region_of_text = np.where(code >= 0, code, -1).astype(np.int64)
    owner, member = [np.arange(attribute.codes)], [np.arange(attribute.codes)]  # region c is the value c
    count = attribute.codes
    plain = ~np.isnan(file.numbers(name)) & declared.kind.measured
    others = np.flatnonzero((code < 0) & ~plain).tolist()  # a number outside the domain is nobody's value
    cells = cell_members([published.texts[text] for text in others], attribute, file.decimal)
    for text, held in zip(others, cells, strict=True):
        if isinstance(held, CellError):
            continue
        region_of_text[text] = count
        owner.append(np.full(len(held), count))
        member.append(held)
        count += 1
    value = attribute.encode(original.texts, file.original_decimal)[original.text_of_row]
    regions = Regions.pairs(attribute.codes, np.concatenate(owner), np.concatenate(member), count)
    regions, number = regions.canonical(np.arange(count))
    region_of_text = np.where(region_of_text >= 0, number[region_of_text], -1)
    return Cells(regions, region_of_text, np.asarray(published.text_of_row, dtype=np.int64), value.astype(np.int64))


def percent(share: float) -> str:
    """A share for people: never 0% or 100% unless it is."""
    if 0 < share < 0.01:
        return "under 1%"
    return "over 99%" if 0.99 < share < 1 else f"{share:.0%}"


def plural(number: int, one: str, many: str = "") -> str:
    """`1 bin`, `2,000 bins`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
