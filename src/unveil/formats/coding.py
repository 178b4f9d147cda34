"""Columns of texts coded batch by batch: distinct texts are held once, rows as small numbers."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.table import CodedColumn

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Coder"]

FEW = 2**10  # texts that Python sorts faster than polars, which has a cost for each column


class Coder:
    """A table as its batches come; `coded()` equals coding it whole.

    Of the columns `counted` only is asked which rows are equal: their texts are not held.
    """

    def __init__(self, counted: Collection[str] = ()) -> None:
        self._counted = frozenset(counted)
        self._columns: dict[str, _Coding | _Counting] = {}

    def add(self, batch: "pl.DataFrame") -> None:
        """The next rows: String columns without nulls, in the same order every time."""
        for name in batch.columns:
            if name not in self._columns:
                self._columns[name] = _Counting() if name in self._counted else _Coding()
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


class _Coding:
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


class _Counting:
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
