"""Rows cut into buckets, attributes into columns: whom a reader can match with which bucket, and p(t, s)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import example_rows, row_numbers
from unveil.errors import UsageError
from unveil.kernels import slicing as kernels

__all__ = ["MOST_LIKELY", "AskedAttribute", "MatchProbabilities", "Slices", "likely_values", "make_slices"]

Rows = NDArray[np.int64]
Judge = Callable[[int, NDArray[np.float64]], bool]  # whether (people, values) shares of an asked attribute may be
MOST_LIKELY = 1 << 27  # people, or cells, × values that are kept
MOST_COLUMNS = 40  # matching degrees of more columns could leave the range of numbers


@dataclass(frozen=True, slots=True)
class AskedAttribute:
    """An attribute that is asked about: the column it stands in and its codes."""

    column: int
    value: NDArray[np.int64]  # (rows,)
    values: int
    own: "Slices | None" = None  # what is known of people when this is asked about, if that is less than otherwise

    def beside(self, slices: "Slices") -> tuple[NDArray[np.int64], int]:
        """(rows,) the known cells beside it in its column, numbered from 0, and how many there are."""
        slices = self.own or slices
        cell = slices.cell[:, self.column].astype(np.int64)
        return cell - slices.first[self.column], int(slices.first[self.column + 1] - slices.first[self.column])


@dataclass(frozen=True, slots=True)
class Slices:
    """What is known of each row, column by column; people with equal cells in every column are one."""

    cell: NDArray[np.int32]  # (rows, columns) numbered across columns
    first: NDArray[np.int64]  # (columns + 1,) first cell of each column
    total: NDArray[np.int64]  # (cells,) rows that have it
    person: NDArray[np.int64]  # (rows,)
    person_cell: NDArray[np.int32]  # (people, columns)
    start: NDArray[np.int64]  # (cells + 1,) the people with a cell are member[start[cell] : start[cell + 1]]
    member: NDArray[np.int32]

    @property
    def people(self) -> int:
        """How many different people there are, to a reader."""
        return len(self.person_cell)


def make_slices(cells: Sequence[NDArray[np.integer]]) -> Slices:
    """From each column's cells: (rows,) one number a distinct cell."""
    dense = [row_numbers([cell]) for cell in cells]
    first = np.concatenate([[0], np.cumsum([int(cell.max()) + 1 for cell in dense])])
    cell = np.stack([c + f for c, f in zip(dense, first[:-1], strict=True)], axis=1).astype(np.int32)
    person = row_numbers(dense)
    person_cell = np.ascontiguousarray(cell[example_rows(person)])
    order = np.argsort(person_cell.ravel(), kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(person_cell.ravel(), minlength=int(first[-1])))])
    member = (order // person_cell.shape[1]).astype(np.int32)
    total = np.bincount(cell.ravel(), minlength=int(first[-1]))
    return Slices(cell, first, total, person, person_cell, start.astype(np.int64), member)


class MatchProbabilities:
    """p(t, s) of every person t and sensitive value s, kept while buckets come and go (Li 2010, section 4.2.2).

    f(t, B) is the product over columns of the share of the bucket's rows with t's cell, D(t, B) the distribution of
    the sensitive values beside t's cell; p(t, s) = sum of f(t, B) · D(t, B)[s] over buckets, by the sum of f(t, B).
    A bucket that is cut changes only the people who match it.
    """

    def __init__(self, slices: Slices, asked: Sequence[AskedAttribute]) -> None:
        known = [a.own or slices for a in asked]
        if sum(a.values * one.people for a, one in zip(asked, known, strict=True)) > MOST_LIKELY:
            raise UsageError(
                f"slicing: {slices.people} different people and {max(a.values for a in asked)} values asked about are "
                "too many to follow through several buckets; declare bins, or use grouping=strict without cut"
            )
        if len(slices.first) - 1 > MOST_COLUMNS:
            raise UsageError(f"slicing: at most {MOST_COLUMNS} columns where people match several buckets")
        self.asked, self._known = tuple(asked), known
        shapes = [(one.people, a.values) for a, one in zip(asked, known, strict=True)]
        self._sum = [np.zeros(shape) for shape in shapes]
        self._rest = [np.zeros(shape) for shape in shapes]  # what rounding left out of the sums
        self._buckets = [np.zeros(shape, dtype=np.int32) for shape in shapes]  # that add to the sum
        cells = max((len(one.total) for one in known), default=0)
        self._count = np.zeros(cells, dtype=np.int64)
        self._place = np.zeros(cells, dtype=np.int64)

    def shares(self, index: int) -> NDArray[np.float64]:
        """(people, values) p(t, s) of one asked attribute."""
        return _shares(self._sum[index])

    def add(self, rows: Rows) -> None:
        """A new bucket."""
        self.change((rows,), (), None)

    def cut(self, rows: Rows, parts: Sequence[Rows], good: Judge) -> bool:
        """Put parts in the place of a bucket if every person who matches it stays good; else change nothing."""
        return self.change(parts, (rows,), good)

    def change(self, new: Sequence[Rows], old: Sequence[Rows], good: Judge | None) -> bool:
        """Buckets come and others go, these being the same rows if there are any."""
        found = []
        everybody = (old or new)[0]
        s, people = None, np.empty(0, dtype=np.int32)
        for index, asked in enumerate(self.asked):
            if self._known[index] is not s:
                s = self._known[index]
                people = kernels.matching(everybody, s.cell, s.person_cell, s.start, s.member, self._count)
            total, rest = self._sum[index][people], self._rest[index][people]
            buckets = self._buckets[index][people]
            for sign, group in ((1, new), (-1, old)):
                for rows in group:
                    weight = kernels.weights(
                        rows, people, s.cell, s.person_cell, s.total, asked.column, asked.value, asked.values,
                        self._count, self._place,
                    )  # fmt: skip
                    buckets += sign * (weight > 0)
                    total, rest = _added(total, rest, sign * weight)
            total, rest = np.where(buckets > 0, total, 0.0), np.where(buckets > 0, rest, 0.0)
            if good is not None and not good(index, _shares(total)):
                return False
            found.append((people, total, rest, buckets))
        for index, (people, total, rest, buckets) in enumerate(found):
            self._sum[index][people], self._rest[index][people] = total, rest
            self._buckets[index][people] = buckets
        return True


def likely_values(slices: Slices, asked: Sequence[AskedAttribute], group: NDArray[np.integer]) -> MatchProbabilities:
    """p(t, s) of a finished tuple partition."""
    found = MatchProbabilities(slices, asked)
    order = np.argsort(group, kind="stable").astype(np.int64)
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        found.add(rows)
    return found


def _shares(total: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(total / total.sum(axis=1, keepdims=True))


def _added(
    total: NDArray[np.float64], rest: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A sum in two parts, exact to twice the digits: what goes is far larger, at times, than what stays."""
    high = total + weight
    part = high - total
    low = rest + ((total - (high - part)) + (weight - part))
    both = high + low
    return both, low - (both - high)
