"""Which codes one published cell stands for: our own notation first, then whatever else the domain allows."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, position
from unveil.data.draft import MISSING_TOKENS
from unveil.errors import shown
from unveil.formats.cells.notations import SEPARATORS, Everything, Form, Items, Prefix, Span, forms, is_token

__all__ = ["CellError", "CellReader", "enclosed", "own_ends", "own_items", "quoted", "unquoted"]

Codes = NDArray[np.int64]
_DASHED = re.compile(r"\[\s*(\d+(?:\.\d+)?)\s*-\s*(\d+(?:\.\d+)?)\s*\]", re.ASCII)
_SPECIAL = frozenset(',{}[]"')
_ABSENT = frozenset({*MISSING_TOKENS, "None", "(null)", "-"})  # what tools write where there is no value
_SHOWN = 40  # characters of a candidate in an error
_READINGS = 3  # ways to cut a list into items that are looked at: two make it ambiguous


class CellError(ValueError):
    """What is wrong with one cell; the caller knows where it stands. args = (message, position of the text)."""


@dataclass(frozen=True)
class CellReader:
    """What the cells of one attribute may say; `named`: the notations a user chose, which come before all others."""

    attribute: Attribute
    decimal: str
    labels: Mapping[str, Codes]
    named: tuple[str, ...] = ()

    @cached_property
    def _code(self) -> Callable[[str], int]:
        return self.attribute.coder(self.decimal)

    def members(self, text: str, code: int) -> Codes:
        """The codes of one cell; `code` is what the attribute makes of it."""
        attribute, cell = self.attribute, text.strip()
        withheld = "suppressed" in self.named and is_token(cell, attribute.missing_tokens)
        if withheld and not 0 <= code < attribute.real:
            return np.arange(attribute.codes)
        if code >= 0:
            return np.array([code])
        for label in (text, cell):
            if label in self.labels:
                return self.labels[label]
        if cell != text and self._code(cell) >= 0:  # filled up with blanks
            return np.array([self._code(cell)])
        if self.named:
            chosen, _ = self._readings(cell, self.named)
            if chosen:
                return self._one_of(cell, chosen)
        own, fault = self._own(cell)
        if own is not None:
            return own
        found, unfit = self._readings(cell, ())
        if found:
            return self._one_of(cell, found)
        if fault is not None or unfit is not None:
            raise fault or unfit  # type: ignore[misc]  # one of them is
        if code == -2:
            raise CellError(
                f'a missing value; set missing = "category" for {attribute.name} in the schema, '
                f"or say --cells {attribute.name}=suppressed if it was withheld"
            )
        if not cell:
            raise CellError(
                f"an empty cell; if the value was withheld, say --cells {attribute.name}=suppressed, "
                "or --cells suppressed for all columns"
            )
        instead = f"correct the cell, or add a hierarchy for {attribute.name}"
        if cell in _ABSENT:
            instead = (
                f"list it under missing in the schema, and if it was withheld, say --cells {attribute.name}=suppressed"
            )
        if attribute.kind is Kind.NUMERIC and "," in cell:
            instead = (
                "its comma is read as a decimal one: if it parts two values, say --release-decimal ."
                if self.decimal == ","
                else f"{instead}; if its comma is a decimal one, say --release-decimal ,"
            )
        raise CellError(f"{shown(cell)} is not a value, interval or set of the domain ({self._domain()}); {instead}")

    # --- our own notation ---------------------------------------------------------------------------------------------

    def _own(self, cell: str) -> tuple[Codes | None, CellError | None]:
        """What CONTRACTS' notation makes of it; None if it has another shape, with the fault if it has ours."""
        if cell == "*":
            return np.arange(self.attribute.codes), None
        try:
            if enclosed(cell, "{}"):
                # With decimal commas {1,5} may be one number: then all readings are looked at.
                several = self.decimal == "," and self.attribute.kind is Kind.NUMERIC and '"' not in cell
                return (self._set(cell), None) if not several or cell.count(",") == 0 else (None, None)
            if enclosed(cell, "[]"):
                return self._interval(cell), None
            if unquoted(cell) != cell:
                return self._value(unquoted(cell), cell), None
        except CellError as fault:
            return None, fault
        return None, None

    def _set(self, cell: str) -> Codes:
        items = [item or "" for item in own_items(cell[1:-1])]
        if not items:
            raise CellError(f"{shown(cell)} is an empty set; a cell must name at least one value")
        parts = []
        for item in items:
            labelled = item in self.labels and self._code(item) < 0
            parts.append(self.labels[item] if labelled else self._value(item, cell))
        return np.concatenate(parts)

    def _value(self, item: str, cell: str) -> Codes:
        code = self._code(item)
        if code < 0:
            raise CellError(f"{shown(item)} in {shown(cell)} is not a value of the domain ({self._domain()})")
        return np.array([code])

    def _interval(self, cell: str) -> Codes:
        if not self.attribute.kind.ordered:
            raise CellError(
                f"{shown(cell)} is an interval but {self.attribute.name} has no order; "
                f"write a set {{a,b}} or set its kind; if it is a list, say --cells {self.attribute.name}=list"
            )
        ends = own_ends(cell)
        if len(ends) != 2 or ends == [None, None]:
            raise CellError(
                f"{shown(cell)} is not an interval; write [low,high], [low,] or [,high], both ends included; "
                f"if it is a list, say --cells {self.attribute.name}=list"
            )
        return self._span(Span("interval", ends[0], ends[1]), cell)

    def _span(self, span: Span, cell: str) -> Codes:
        """The codes between two ends."""
        attribute = self.attribute
        if attribute.low is None or attribute.high is None:
            first, last = 0, attribute.real - 1
            if span.low is not None:
                first = int(self._value(span.low, cell)[0])
            if span.high is not None:
                last = int(self._value(span.high, cell)[0])
            if max(first, last) >= attribute.real:
                raise CellError(f"{shown(cell)}: a missing value cannot end an interval: it has no order")
            inside = np.arange(first + span.low_open, last + 1 - span.high_open)
        else:
            start = -np.inf if span.low is None else position(span.low, attribute.kind, self.decimal)
            end = np.inf if span.high is None else position(span.high, attribute.kind, self.decimal)
            if start is None or end is None:
                raise CellError(f"{shown(cell)}: an end is not a {attribute.kind} value")
            low, high = attribute.low, attribute.high
            closed = np.full(len(high), not attribute.open_bins)  # which codes hold their own upper end
            closed[-1] = True
            after = low > start if span.low_open else low >= start
            before = np.where(closed & span.high_open, high < end, high <= end)
            reaches = np.where(closed & (not span.low_open), high >= start, high > start)
            begins = low < end if span.high_open else low <= end
            inside = np.flatnonzero(after & before)
            if attribute.binned and len(inside) != np.count_nonzero(reaches & begins):
                raise CellError(f"{shown(cell)} cuts through a bin of {attribute.name}; change the bins in the schema")
        if not len(inside):
            raise CellError(f"{shown(cell)} holds no value of the domain ({self._domain()})")
        return inside

    # --- other tools' notations ---------------------------------------------------------------------------------------

    def _readings(self, cell: str, named: tuple[str, ...]) -> tuple[list[tuple[str, Codes]], CellError | None]:
        """Meanings that fit the domain, each another set of codes, and what is wrong with one that does not fit."""
        found: dict[object, tuple[str, Codes]] = {}
        unfit = None
        for form in forms(cell, self.attribute.kind, self.decimal, self.attribute.missing_tokens if named else ()):
            if not (form.notation in named if named else _likely(form, cell)):
                continue
            try:
                for codes in self._codes(form, cell):
                    # By what a release shows alone, 20,29 is the same two codes as a list and as a range.
                    guessed = self.attribute.source == "release" and form.notation in ("list", "range")
                    found.setdefault((codes.tobytes(), form.notation if guessed else ""), (form.notation, codes))
            except CellError as fault:
                unfit = unfit or (fault if form.notation in ("interval", "bound") else None)
        return list(found.values()), unfit

    def _codes(self, form: Form, cell: str) -> Iterator[Codes]:
        attribute = self.attribute
        if isinstance(form, Everything):
            yield np.arange(attribute.codes)
        elif isinstance(form, Span):
            if not form.exact or min(self._code(form.low or ""), self._code(form.high or "")) >= 0:
                yield np.unique(self._span(form, cell))
        elif isinstance(form, Items):
            yield from self._item_codes(form)
        else:
            real = attribute.values[: attribute.real]
            if isinstance(form, Prefix):
                fits = [code for code, value in enumerate(real) if value.startswith(form.text)]
            else:
                shape = re.compile(re.escape(form.text).replace(r"\*", "."), re.DOTALL)
                fits = [code for code, value in enumerate(real) if shape.fullmatch(value)]
            if fits:
                yield np.array(fits)

    def _item_codes(self, form: Items) -> Iterator[Codes]:
        """The set of codes of every way (up to _READINGS) to cut a list into items of the domain."""
        pieces = form.pieces
        most = 1 + max(self._separators[form.separator], form.separator == "," == self.decimal)
        # From the last piece back: the ways to read what follows, as chains (codes of an item, the rest).
        ways: list[list[tuple[Codes, object] | None]] = [[] for _ in pieces] + [[None]]
        for start in range(len(pieces) - 1, -1, -1):
            for stop in range(start + 1, min(start + most, len(pieces)) + 1):
                if not ways[stop] or len(ways[start]) >= _READINGS:
                    continue
                if stop > start + 1 and any(piece.quoted for piece in pieces[start:stop]):
                    break
                codes = self._item(form, start, stop)
                if codes is not None:
                    ways[start] += [(codes, rest) for rest in ways[stop]]
            ways[start] = ways[start][:_READINGS]
        for way in ways[0]:
            parts, step = [], way
            while step is not None:
                parts.append(step[0])
                step = step[1]  # type: ignore[assignment]
            yield np.unique(np.concatenate(parts))

    @cached_property
    def _separators(self) -> dict[str, int]:
        """How often a value or a label holds each separator."""
        texts = [*self.attribute.values, *self.labels]
        return {mark: max(text.count(mark) for text in texts) for mark in SEPARATORS}

    def _item(self, form: Items, start: int, stop: int) -> Codes | None:
        raw = form.separator.join(piece.text for piece in form.pieces[start:stop])
        if not form.pieces[start].quoted and not raw.strip():
            return None
        for text in (raw, raw.strip()) if not form.pieces[start].quoted else (raw,):
            code = self._code(text)
            if code >= 0:
                return np.array([code])
            if text in self.labels:
                return self.labels[text]
        if not form.pieces[start].quoted:
            return None
        # anonypy's ['a,b'] and ['20-29']: one quoted item that is itself a list or a range.
        inner = replace(self, named=())
        found, _ = inner._readings(raw.strip(), ("list", "range")) if raw[:1] not in tuple("[{(") else ([], None)
        return found[0][1] if len(found) == 1 else None

    def _one_of(self, cell: str, found: list[tuple[str, Codes]]) -> Codes:
        if len(found) == 1:
            return found[0][1]
        texts = [f"{name} ({self._described(codes)})" for name, codes in found]
        choices = sorted({name for name, _ in found})
        options = " or ".join(f"--cells {self.attribute.name}={name}" for name in choices)
        how = f"say {options}" if len(choices) > 1 else "add a hierarchy"
        raise CellError(f"{shown(cell)} is not clear: it may be {' or '.join(texts)}; {how}")

    def _described(self, codes: Codes) -> str:
        values = [shown(self.attribute.values[code], 20)[1:-1] for code in codes.tolist()[:5]]
        text = ", ".join(values[:4])
        if len(codes) > 4:
            text = f"{len(codes)} values: {text} …"
        return text

    def _domain(self) -> str:
        """The domain in a few words, and where it comes from."""
        values, real = self.attribute.values, self.attribute.real
        if self.attribute.kind.measured and not self.attribute.binned and real > 3:
            return f"{self.attribute.source}: {values[0]} to {values[real - 1]}"
        first = ", ".join(shown(v, 20) for v in values[:4])
        return f"{self.attribute.source}: {first}" + (f" … {len(values)} values" if len(values) > 4 else "")


def _likely(form: Form, cell: str) -> bool:
    """Whether a meaning is looked at without being named."""
    if isinstance(form, Everything) and form.notation == "suppressed":
        return cell in ("NA", "<NA>")
    return form.sure if isinstance(form, Items) else True


def enclosed(cell: str, pair: str) -> bool:
    return len(cell) >= 2 and cell[0] == pair[0] and cell[-1] == pair[1]


def own_ends(cell: str) -> list[str | None]:
    """The ends of an interval as written; None = open."""
    dashed = _DASHED.fullmatch(cell)
    return list(dashed.groups()) if dashed else own_items(cell[1:-1])


def own_items(inner: str) -> list[str | None]:
    """Items separated by commas, None where nothing is written; one with special characters is a JSON string."""
    items: list[str | None] = []
    rest = inner.strip()
    if not rest:
        return items
    while True:
        rest = rest.lstrip()
        if rest.startswith('"'):
            try:
                item, stop = json.JSONDecoder().raw_decode(rest)
            except json.JSONDecodeError:
                raise CellError(f"{shown(inner)}: a quoted value does not end") from None
            items.append(item)
            rest = rest[stop:].lstrip()
            if rest and not rest.startswith(","):
                raise CellError(f"{shown(inner)}: a comma must follow a quoted value")
        else:
            item = rest.partition(",")[0]
            items.append(item.strip() or None)
            rest = rest[len(item) :]
        if not rest:
            return items
        rest = rest[1:]


def quoted(value: str) -> str:
    """A value as an item of a set or an end of an interval."""
    special = not value or value != value.strip() or not _SPECIAL.isdisjoint(value) or not value.isprintable()
    return json.dumps(value, ensure_ascii=False) if special else value


def unquoted(cell: str) -> str:
    """The value that a JSON string names; any other text is itself."""
    if not enclosed(cell, '""'):
        return cell
    try:
        return str(json.loads(cell))
    except json.JSONDecodeError:
        return cell
