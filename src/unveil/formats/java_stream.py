"""Serialised Java objects read as data: names, numbers and texts. No class is looked up, nothing is made or run.

The layout is Oracle's "Java Object Serialization Specification", chapter 6 (stream protocol, version 5). ARX keeps the
output of a project in this form.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from unveil.formats.survey import Refusal

__all__ = ["JavaObject", "read_objects"]

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
        raise Refusal("it is no stream of Java objects")
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

    def _annotations(self) -> None:
        """What a class writes of its own accord, to where it ends: read over."""
        while self.raw[self.at : self.at + 1] != b"\x78":
            self.content()
        self.at += 1

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
                self._annotations()
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
