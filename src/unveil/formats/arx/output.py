"""The output that ARX 3.7 and newer keep in a project: codes and dictionaries of the quasi-identifiers.

`data/output.dat` holds two tables, of generalised and of microaggregated attributes. Sensitive and insensitive
attributes are those of the input, row by row; identifiers are never shown. The highest bit of a row's first code marks
a suppressed row, and config.xml says which attributes are withheld there.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.table import CodedColumn
from unveil.formats.columns import Columns, Refusal, recoded

__all__ = [
    "JavaObject",
    "OutputTable",
    "occurring",
    "output_tables",
    "published_columns",
    "read_objects",
    "starred",
    "starred_columns",
]

# --------------------------------------------------------------------------------------------------------- java stream

Kept = TypeVar("Kept")

MOST_DEPTH = 60
_START = b"\xac\xed\x00\x05"
_FIRST_HANDLE = 0x7E0000
_PRIMITIVE = {"B": ">i1", "C": ">u2", "D": ">f8", "F": ">f4", "I": ">i4", "J": ">i8", "S": ">i2", "Z": ">u1"}
_WRITES, _SERIALISED, _EXTERNAL = 1, 2, 4


@dataclass(frozen=True, slots=True)
class JavaObject:
    """An object: the name of its class and its fields, those of the classes above among them."""

    kind: str
    fields: dict[str, object]
    items: list[object] = field(default_factory=list)  # what a list, a set or a map holds; of a map keys and values


@dataclass(slots=True)
class _Class:
    name: str
    flags: int = 0
    fields: list[tuple[str, str]] = field(default_factory=list)  # type and name
    above: "_Class | None" = None

    def line(self) -> "list[_Class]":
        """The class and those above it, the uppermost first: the order in which values are written."""
        found: list[_Class] = []
        one: _Class | None = self
        while one is not None:
            if len(found) > MOST_DEPTH:
                raise Refusal("a class lies above itself")
            found.append(one)
            one = one.above
        return found[::-1]


def read_objects(raw: bytes, count: int) -> list[object]:
    """The first objects of a stream: JavaObject, str, None, arrays of numbers, lists of objects."""
    if not raw.startswith(_START):
        raise Refusal("it is not a stream of Java objects")
    reader = _Reader(raw)
    try:
        return [reader.content() for _ in range(count)]
    except (struct.error, IndexError, UnicodeDecodeError, UnicodeEncodeError):
        raise Refusal("it ends too early, or is damaged") from None


class _Reader:
    def __init__(self, raw: bytes) -> None:
        self.raw, self.at, self.depth = raw, len(_START), 0
        self.handles: list[object] = []
        self.kinds: dict[int, Callable[[], object]] = {
            0x70: lambda: None,
            0x71: self._reference,
            0x72: self._class,
            0x73: self._object,
            0x74: lambda: self._kept(self._text(self._number(">H"))),
            0x75: self._array,
            0x77: lambda: self._take(self._number(">B")),
            0x7A: lambda: self._take(self._number(">i")),
            0x7C: lambda: self._kept(self._text(self._number(">q"))),
            0x7E: self._constant,
        }

    def content(self) -> object:
        """The next thing, of whatever kind."""
        kind = self._number(">B")
        read = self.kinds.get(kind)
        if read is None:
            raise Refusal(f"it holds something of kind {kind:#x}")
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise Refusal(f"objects within objects over {MOST_DEPTH} deep")
        found = read()
        self.depth -= 1
        return found

    def _take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.raw) - self.at:
            raise Refusal("it ends too early, or is damaged")
        self.at += size
        return self.raw[self.at - size : self.at]

    def _number(self, form: str) -> int:
        return int(struct.unpack(form, self._take(struct.calcsize(form)))[0])

    def _text(self, size: int) -> str:
        """Java's own UTF-8: zero in two bytes, characters beyond the first plane as two surrogates."""
        raw = self._take(size)
        if raw.isascii():
            return raw.decode("ascii")
        text = raw.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
        return text.encode("utf-16", "surrogatepass").decode("utf-16")

    def _kept(self, found: Kept) -> Kept:
        self.handles.append(found)
        return found

    def _reference(self) -> object:
        number = self._number(">i") - _FIRST_HANDLE
        if not 0 <= number < len(self.handles):
            raise Refusal("it points at an object that is not there")
        return self.handles[number]

    def _class(self) -> _Class:
        found = self._kept(_Class(self._text(self._number(">H"))))
        self._take(8)  # the version of the class
        found.flags = self._number(">B")
        for _ in range(self._number(">H")):
            kind = chr(self._number(">B"))
            name = self._text(self._number(">H"))
            if kind in "[L":
                self.content()  # the class of the field, by name
            elif kind not in _PRIMITIVE:
                raise Refusal(f"a field is of the kind {kind!r}")
            found.fields.append((kind, name))
        self._annotations()
        found.above = self._described(or_none=True)
        return found

    def _described(self, *, or_none: bool = False) -> _Class | None:
        found = self.content()
        if isinstance(found, _Class) or (or_none and found is None):
            return found
        raise Refusal("an object has no class")

    def _annotations(self) -> list[object]:
        """What a class writes of its own accord, to where it ends; sizes and other bytes are read over."""
        found = []
        while self.raw[self.at : self.at + 1] != b"\x78":
            found.append(self.content())
        self.at += 1
        return [one for one in found if not isinstance(one, bytes)]

    def _object(self) -> JavaObject:
        described = self._described()
        assert described is not None
        found = self._kept(JavaObject(described.name, {}))
        for one in described.line():
            if one.flags & _EXTERNAL or not one.flags & _SERIALISED:
                raise Refusal(f"objects of {one.name} are written in a way of their own")
            for kind, name in one.fields:
                found.fields[name] = self.content() if kind in "[L" else self._numbers(kind, 1)[0].item()
            if one.flags & _WRITES:
                found.items.extend(self._annotations())
        return found

    def _constant(self) -> object:
        """One of an enumeration: its name."""
        self._described()
        place = len(self.handles)
        self.handles.append(None)
        self.handles[place] = found = self.content()
        return found

    def _array(self) -> object:
        described = self._described()
        assert described is not None
        kind = described.name[1:2]
        place = len(self.handles)
        self.handles.append(None)
        size = self._number(">i")
        if kind in _PRIMITIVE:
            self.handles[place] = numbers = self._numbers(kind, size)
            return numbers
        if not 0 <= size <= len(self.raw) - self.at:  # each takes a byte at least
            raise Refusal("it ends too early, or is damaged")
        self.handles[place] = objects = [self.content() for _ in range(size)]
        return objects

    def _numbers(self, kind: str, size: int) -> NDArray[np.generic]:
        form = np.dtype(_PRIMITIVE[kind])
        return np.frombuffer(self._take(size * form.itemsize), dtype=form)


# ---------------------------------------------------------------------------------------------------------- arx output

_SUPPRESSED = np.uint32(1 << 31)


@dataclass(frozen=True, slots=True)
class OutputTable:
    """Some attributes of the output: the code of each cell, and what the codes stand for."""

    names: tuple[str, ...]
    codes: NDArray[np.uint32]  # (rows, attributes), the highest bit of the first marks a suppressed row
    texts: tuple[tuple[str, ...], ...]  # by attribute

    def column(self, name: str) -> CodedColumn:
        """One attribute, with the texts that occur: a dictionary lists all labels of all levels."""
        place = self.names.index(name)
        return occurring(self.texts[place], self.codes[:, place] & ~_SUPPRESSED)


def output_tables(raw: bytes) -> tuple[OutputTable, OutputTable]:
    """The generalised and the microaggregated attributes."""
    generalised, aggregated = (_table(found) for found in read_objects(raw, 2))
    if not generalised.names:
        raise Refusal("it holds no generalised attribute")
    if aggregated.names and len(aggregated.codes) != len(generalised.codes):
        raise Refusal("its two tables differ in length")
    return generalised, aggregated


def published_columns(
    original: Columns,
    tables: tuple[OutputTable, OutputTable],
    roles: Mapping[str, Role],
    withheld: frozenset[Role],
) -> Columns:
    """The output as ARX shows it. `withheld`: roles that show `*` in a suppressed row."""
    generalised, aggregated = tables
    if len(generalised.codes) != original.rows:
        raise Refusal(f"it has {len(generalised.codes)} rows and the input {original.rows}")
    suppressed = (generalised.codes[:, 0] & _SUPPRESSED).astype(bool)
    whole = CodedColumn(("*",), np.zeros(original.rows, dtype=np.uint8))
    columns = {}
    for name, column in original.columns.items():
        role = roles.get(name, Role.IDENTIFIER)
        # The means of a microaggregated attribute stand instead of the clusters they were taken in.
        held = next((t for t in (aggregated, generalised) if name in t.names), None)
        if held is not None:
            shown, role = held.column(name), Role.QUASI_IDENTIFIER
        elif role is Role.IDENTIFIER:
            shown = whole
        elif role is Role.QUASI_IDENTIFIER:
            raise Refusal(f"it lacks the quasi-identifier {name!r}")
        else:
            shown = column
        columns[name] = starred(shown, suppressed) if role in withheld else shown
    return replace(original, columns=columns)


def starred_columns(shown: Columns, roles: Mapping[str, Role], text: str) -> Columns:
    """An output of older versions with `*` where `text` was set to stand for what is suppressed.

    Rows are suppressed whole: the text alone in one column may be a value.
    """
    cells = {n: np.array([t == text for t in c.texts])[c.text_of_row] for n, c in shown.columns.items()}
    known = [cells[n] for n in cells if roles.get(n) is Role.QUASI_IDENTIFIER]
    suppressed = np.logical_and.reduce(known) if known else np.zeros(shown.rows, dtype=bool)
    hidden = {n: here if roles.get(n) is Role.IDENTIFIER else here & suppressed for n, here in cells.items()}
    return replace(shown, columns={n: starred(c, hidden[n]) for n, c in shown.columns.items()})


def starred(column: CodedColumn, rows: NDArray[np.bool_]) -> CodedColumn:
    """The column with `*` in these rows."""
    return occurring([*column.texts, "*"], np.where(rows, len(column.texts), column.text_of_row))


def occurring(texts: Sequence[str], codes: NDArray[np.integer]) -> CodedColumn:
    """The column with each text that occurs once, by code point, as other columns have them."""
    used, place = np.unique(codes, return_inverse=True)
    return recoded([texts[code] for code in used.tolist()], [place])


def _table(found: object) -> OutputTable:
    fields = _fields(found)
    names = _texts(fields.get("header"))
    if not names:
        return OutputTable((), np.zeros((0, 0), dtype=np.uint32), ())
    codes = _codes(fields.get("data"))
    mapping = _fields(fields.get("dictionary")).get("mapping")
    if not isinstance(mapping, list):
        raise Refusal("a table has no dictionary")
    texts = tuple(_texts(one) for one in mapping)
    if not len(texts) == len(names) == codes.shape[1] or len(set(names)) != len(names):
        raise Refusal("a table's names, codes and dictionary differ")
    for place, values in enumerate(texts):
        if len(codes) and int((codes[:, place] & ~_SUPPRESSED).max()) >= len(values):
            raise Refusal("a code is in no dictionary")
    return OutputTable(names, codes, texts)


def _codes(found: object) -> NDArray[np.uint32]:
    """Rows of numbers: a matrix laid out in one array, or an array of rows."""
    if isinstance(found, JavaObject):
        array, columns = found.fields.get("array"), found.fields.get("columns")
        if set(found.fields) & {"subset"} or not isinstance(array, np.ndarray) or not isinstance(columns, int):
            raise Refusal(f"a table is kept as {found.kind}")
        if columns < 1 or len(array) % columns:
            raise Refusal("a table's rows differ in length")
        return array.astype(np.uint32).reshape(-1, columns)
    if isinstance(found, list) and found and all(isinstance(row, np.ndarray) for row in found):
        if len({len(row) for row in found}) != 1:
            raise Refusal("a table's rows differ in length")
        return np.stack(found).astype(np.uint32)
    raise Refusal("a table has no rows")


def _fields(found: object) -> dict[str, object]:
    if not isinstance(found, JavaObject):
        raise Refusal("it holds no table")
    return found.fields


def _texts(found: object) -> tuple[str, ...]:
    """Texts; none given is ARX's missing value."""
    if not isinstance(found, list) or not all(text is None or isinstance(text, str) for text in found):
        raise Refusal("a table has no names or values")
    return tuple("NULL" if text is None else text for text in found)
