"""A file's columns as texts, and how they are coded while the file is being read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unveil.data.dictionary import Dictionary
from unveil.data.table import CodedColumn

__all__ = ["ROW_NAMES", "Columns", "Distinct", "checked_names", "no_number", "smallest_codes"]

ROW_NAMES = ", or write it without row names: row.names = FALSE in R, index=False in pandas"


@dataclass(frozen=True, slots=True)
class Columns:
    """A file's columns as texts, with what is needed to say where a row stands."""

    columns: dict[str, CodedColumn]
    rows: int
    place: Callable[[int], str]
    decimal: str
    described: str  # the dialect, for the user
    dictionary: Dictionary | None = None  # of a statistical file: codes and labels
    missing: tuple[str, ...] = ()  # texts that the file itself says are missing values, by kind


def no_number(texts: Iterable[str], most: int) -> str | None:
    """The first text that is no whole number from 1 to `most`; None if all are."""
    return next((t for t in texts if not (t.isascii() and t.isdigit() and len(t) < 19 and 1 <= int(t) <= most)), None)


class _Numbers(dict[object, int]):
    """Numbers what it meets, from 0."""

    def __missing__(self, key: object) -> int:
        self[key] = number = len(self)
        return number


@dataclass
class Distinct:
    """The distinct values of a column and each row's number among them, gathered piece by piece."""

    _number: _Numbers = field(default_factory=_Numbers)
    _pieces: list[NDArray[np.unsignedinteger]] = field(default_factory=list)

    def add(self, values: list[object]) -> None:
        """The next rows."""
        codes = np.fromiter(map(self._number.__getitem__, values), dtype=np.uint32, count=len(values))
        self._pieces.append(smallest_codes(codes, len(self._number)))

    def values(self) -> list[object]:
        """The distinct values in the order they were met."""
        return list(self._number)

    def coded(self, texts: list[str]) -> CodedColumn:
        """The column; `texts` are those of `values()`. They get sorted by code point; the pieces are let go."""
        distinct = sorted(set(texts))
        rank_of = {text: rank for rank, text in enumerate(distinct)}
        rank = smallest_codes(np.array([rank_of[text] for text in texts], dtype=np.uint32), len(distinct))
        rows = sum(map(len, self._pieces))
        codes = np.empty(rows, dtype=rank.dtype)
        start = 0
        self._pieces.reverse()
        while self._pieces:
            piece = self._pieces.pop()
            codes[start : start + len(piece)] = rank[piece]
            start += len(piece)
        return CodedColumn(distinct, codes)


def smallest_codes(codes: NDArray[np.unsignedinteger], count: int) -> NDArray[np.unsignedinteger]:
    """Codes in the smallest unsigned type that holds `count` of them."""
    for dtype in (np.uint8, np.uint16):
        if count <= np.iinfo(dtype).max + 1:
            return codes.astype(dtype, copy=False)
    return codes.astype(np.uint32, copy=False)


def checked_names(names: Iterable[object]) -> str | None:
    """What is wrong with the names of columns, if anything: each must be a text, none empty, none twice."""
    seen: set[object] = set()
    for place, name in enumerate(names, start=1):
        if not isinstance(name, str):
            return f"column {place} is named {name!r}, which is no text; rename it"
        if not name.strip():
            return f"column {place} has no name; name every column" + (ROW_NAMES if place == 1 else "")
        if name in seen:
            return f"two columns are named {name!r}; give each its own name"
        seen.add(name)
    return None
