"""A file's columns as texts, coded while the file is being read; what is refused; packages that may be missing."""

import importlib
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.dictionary import Dictionary
from unveil.data.notation import PLAIN, FileNotation
from unveil.data.table import CodedColumn
from unveil.errors import UnveilError, shown

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "MOST_COLUMNS",
    "NO_ROWS",
    "ROW_NAME",
    "ROW_NAMES",
    "TOO_WIDE",
    "Coder",
    "Columns",
    "DistinctValues",
    "EqualityCodes",
    "Place",
    "Refusal",
    "check_file",
    "checked_names",
    "needed",
    "no_number",
    "recoded",
    "said",
]

# -------------------------------------------------------------------------------------------------------------- coding

FEW = 2**10  # texts that Python sorts faster than polars, which has a cost for each column


class Coder:
    """A table as its batches come; `coded()` equals coding it whole.

    Of the columns `counted` only is asked which rows are equal: their texts are not held.
    """

    def __init__(self, counted: Collection[str] = ()) -> None:
        self._counted = frozenset(counted)
        self._columns: dict[str, _TextCodes | EqualityCodes] = {}

    def add(self, batch: "pl.DataFrame") -> None:
        """The next rows: String columns without nulls, in the same order every time."""
        for name in batch.columns:
            if name not in self._columns:
                self._columns[name] = EqualityCodes() if name in self._counted else _TextCodes()
        # Numbered: polars takes a name such as * or ^a.*$ for all columns that it fits.
        batch = batch.clone()
        batch.columns = [str(place) for place in range(batch.width)]
        # One select: polars codes the columns side by side.
        codes = batch.select(e for place, column in enumerate(self._columns.values()) for e in column.codes(str(place)))
        for place, column in enumerate(self._columns.values()):
            column.keep(*(codes[each].to_numpy() for each in column.parts_of(str(place))))

    def coded(self) -> dict[str, CodedColumn]:
        """Every column; each is let go as it is finished."""
        return {name: self._columns.pop(name).coded() for name in list(self._columns)}


class _TextCodes:
    """Texts sorted by code point, and each row's position among them."""

    def __init__(self) -> None:
        import polars as pl

        self._texts = pl.Categories.random()
        self._kind = pl.Categorical(self._texts)
        self._held = pl.Series(dtype=self._kind)  # texts are let go with the last series that may hold them
        self._parts: list[NDArray[np.unsignedinteger]] = []

    def parts_of(self, name: str) -> list[str]:
        return [name]

    def codes(self, name: str) -> "list[pl.Expr]":
        import polars as pl

        return [pl.col(name).cast(self._kind).to_physical()]

    def keep(self, codes: NDArray[np.uint32]) -> None:
        self._parts.append(codes.astype(np.min_scalar_type(int(codes.max(initial=0)))))

    def coded(self) -> CodedColumn:
        order, texts = _sorted(self._texts.to_series())
        rank = np.empty(len(texts), dtype=np.min_scalar_type(max(len(texts) - 1, 0)))
        rank[order] = np.arange(len(texts), dtype=rank.dtype)
        return CodedColumn(texts, _joined(self._parts, rank))


class EqualityCodes:
    """No texts, and a number for each row, equal where the texts are, in order of appearance.

    128 bits of each text are held: two different ones among a billion are taken for one with probability 10^-21.
    """

    def __init__(self) -> None:
        self._parts: list[NDArray[np.uint64]] = []  # (2, rows)

    def parts_of(self, name: str) -> list[str]:
        return [f"{name}\0{seed}" for seed in (1, 2)]

    def codes(self, name: str) -> "list[pl.Expr]":
        import polars as pl

        return [pl.col(name).hash(seed).alias(part) for seed, part in enumerate(self.parts_of(name), start=1)]

    def keep(self, first: NDArray[np.uint64], second: NDArray[np.uint64]) -> None:
        self._parts.append(np.stack([first, second]))

    def coded(self) -> CodedColumn:
        first, second = np.concatenate(self._parts, axis=1)
        self._parts.clear()
        order = np.lexsort((second, first))
        new = np.ones(len(order), dtype=bool)
        for half in (first, second):
            half[:] = half[order]
        new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
        appears = order[new]  # (distinct,) the first row that holds each
        rank = np.empty(len(appears), dtype=np.uint32)
        rank[np.argsort(appears)] = np.arange(len(appears), dtype=np.uint32)
        number = np.empty(len(order), dtype=np.uint32)
        number[order] = rank[np.cumsum(new) - 1]
        return CodedColumn((), number)


def _sorted(series: "pl.Series") -> tuple[NDArray[np.integer], list[str]]:
    """Where each text stood, and the texts, by code point."""
    if len(series) > FEW:
        order = series.arg_sort().to_numpy()
        return order, series.gather(order).to_list()
    texts = series.to_list()
    places = sorted(range(len(texts)), key=texts.__getitem__)
    return np.array(places, dtype=np.intp), [texts[place] for place in places]


def _joined(parts: list[NDArray[Any]], rank: NDArray[np.unsignedinteger]) -> NDArray[np.unsignedinteger]:
    """All rows' ranks; parts are let go as they are read, so that a column is never held twice."""
    out = np.empty(sum(map(len, parts)), dtype=rank.dtype)
    stop = len(out)
    while parts:
        part = parts.pop()
        out[stop - len(part) : stop] = rank[part]
        stop -= len(part)
    return out


# -------------------------------------------------------------------------------------------------------------- extras


def needed(package: str, extra: str, purpose: str, error: type[UnveilError]) -> ModuleType | Any:
    """The package; if it is not there, one line that says what to install."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise error(f"{purpose}, install {package.replace('_', '-')}: pip install 'unveil[{extra}]'") from None


# ------------------------------------------------------------------------------------------------------------- columns

NO_ROWS = CodedColumn((), np.zeros(0, dtype=np.uint8))
ROW_NAME = "row_name"  # of a text file's first column, if that has no name
ROW_NAMES = ", or write it without row names: row.names = FALSE in R, index=False in pandas"


class Refusal(Exception):  # noqa: N818  no error of its own: read_text names the file and picks the class
    """What is wrong with the file, and on which physical line."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands in its file, for messages."""

    word: str = "row"
    first: int = 1  # the number of row 0
    jumps: Sequence[tuple[int, int]] = ()  # records with line ends in quotes: which (0 = header), line ends so far

    def number(self, row: int) -> int:
        """The number of data row `row`, from 0."""
        before = bisect_left(self.jumps, row + 1, key=lambda jump: jump[0])
        return row + self.first + (int(self.jumps[before - 1][1]) if before else 0)

    def __call__(self, row: int) -> str:
        return f"{self.word} {self.number(row)}"


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
    notation: FileNotation = PLAIN  # of a text file
    parts: tuple[int, ...] = ()  # rows of each of its files, where it has many
    count: NDArray[np.int64] | None = None  # (rows,) how many rows of the file each is, where they are counted


def no_number(texts: Iterable[str], most: int) -> str | None:
    """The first text that is not a whole number from 1 to `most`; None if all are."""
    return next((t for t in texts if not (t.isascii() and t.isdigit() and len(t) < 19 and 1 <= int(t) <= most)), None)


class _Numbers(dict[object, int]):
    """Numbers what it meets, from 0."""

    def __missing__(self, key: object) -> int:
        self[key] = number = len(self)
        return number


@dataclass
class DistinctValues:
    """The distinct values of a column and each row's number among them, gathered piece by piece."""

    _number: _Numbers = field(default_factory=_Numbers)
    _pieces: list[NDArray[np.unsignedinteger]] = field(default_factory=list)

    def add(self, values: list[object]) -> None:
        """The next rows."""
        codes = np.fromiter(map(self._number.__getitem__, values), dtype=np.uint32, count=len(values))
        self._pieces.append(codes.astype(np.min_scalar_type(max(len(self._number) - 1, 0))))

    def values(self) -> list[object]:
        """The distinct values in the order they were met."""
        return list(self._number)

    def coded(self, texts: list[str]) -> CodedColumn:
        """The column; `texts` are those of `values()`. The pieces are let go."""
        return recoded(texts, self._pieces)


def recoded(texts: Sequence[str], parts: list[NDArray[Any]]) -> CodedColumn:
    """A column of these texts, sorted by code point and each once; `parts`: which of them the next rows hold."""
    distinct = sorted(set(texts))
    rank_of = {text: rank for rank, text in enumerate(distinct)}
    rank = np.array([rank_of[text] for text in texts], dtype=np.min_scalar_type(max(len(distinct) - 1, 0)))
    return CodedColumn(distinct, _joined(parts, rank))


MOST_COLUMNS = 2**14  # as in a sheet: more are not attributes of people
TOO_WIDE = f"holds over {MOST_COLUMNS:,} columns; keep those that are to be published"


def check_file(path: Path, what: str, error: type[UnveilError]) -> None:
    """Refuse a path that names no file; `what`: what is needed, with its article."""
    if not path.is_file():
        raise error(f"{path}: {'is a directory, not a file' if path.is_dir() else 'does not exist'}; name {what}")


def said(reason: BaseException, most: int = 80) -> str:
    """The first line of what somebody else's code says."""
    lines = str(reason).strip().splitlines()
    return shown(lines[0] if lines else type(reason).__name__, most)[1:-1]


def checked_names(names: Iterable[object], how: str = "name every column") -> str | None:
    """What is wrong with the names of columns, if anything: each must be a text, none empty, none twice.

    `how` says what to do about it.
    """
    seen: set[object] = set()
    for place, name in enumerate(names, start=1):
        if place > MOST_COLUMNS:
            return TOO_WIDE
        if not isinstance(name, str):
            return f"column {place} is named {name!r}, which is not a text; rename it"
        if not name.strip():
            return f"column {place} has no name; {how}"
        if name in seen:
            return f"two columns are named {shown(name)}; {how}"
        seen.add(name)
    return None
