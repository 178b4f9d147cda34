"""Agreement patterns: on which attributes do a person and a row agree? Counted over all pairs, not pair by pair.

How many rows agree with a person on *at least* a set of attributes is a join on that set; Moebius inversion over the
sets turns "at least" into "exactly". Cost: 2^attributes joins of distinct combinations. Bit j of a pattern: attribute j
agrees.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import row_numbers
from unveil.errors import NotApplicable

__all__ = ["CodedFiles", "code_files", "pattern_counts", "pattern_of", "person_patterns", "rows_agreeing"]

MOST_ATTRIBUTES = 14
MOST_ENTRIES = 50_000_000  # patterns times distinct people
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CodedFiles:
    """Two files coded alike, equal people and equal rows taken together. A code of -1 agrees with nothing."""

    people: Codes  # (distinct people, attributes)
    rows: Codes  # (distinct rows, attributes)
    of_person: Codes  # (people,)
    of_row: Codes  # (rows,)

    @property
    def attributes(self) -> int:
        """How many attributes are compared."""
        return int(self.people.shape[1])

    def times(self) -> tuple[Codes, Codes]:
        """How many people and how many rows each distinct one stands for."""
        return np.bincount(self.of_person), np.bincount(self.of_row)


def code_files(people: Sequence[NDArray[np.integer]], rows: Sequence[NDArray[np.integer]]) -> CodedFiles:
    """`people` and `rows`: a column of codes for each attribute, -1 = unknown."""
    if not people or len(people) != len(rows):
        raise NotApplicable("nothing is known of the people that the release publishes")
    if len(people) > MOST_ATTRIBUTES:
        raise NotApplicable(
            f"{len(people)} attributes have {2 ** len(people):,} patterns; name at most {MOST_ATTRIBUTES} with --known"
        )
    distinct, number = [], []
    for columns in (people, rows):
        shifted = [np.asarray(c, dtype=np.int64) + 1 for c in columns]
        of = row_numbers(shifted)
        first = np.unique(of, return_index=True)[1]
        distinct.append(np.stack([c[first] for c in shifted], axis=1) - 1)
        number.append(of)
    return CodedFiles(distinct[0], distinct[1], number[0], number[1])


def pattern_counts(files: CodedFiles) -> NDArray[np.int64]:
    """(2^attributes,) pairs with exactly each pattern; they add up to people times rows."""
    people, rows = files.times()
    found = np.zeros(1 << files.attributes, dtype=np.int64)

    def join(pattern: int, person: Codes, row: Codes) -> None:
        top = int(max(person.max(), row.max())) + 1
        found[pattern] = _sums(person, people, top) @ _sums(row, rows, top)

    _joins(files, join)
    return np.asarray(_exactly(found[None])[0])


def person_patterns(files: CodedFiles) -> NDArray[np.int32]:
    """(distinct people, 2^attributes) rows with exactly each pattern; every line adds up to the rows."""
    if len(files.people) << files.attributes > MOST_ENTRIES:
        raise NotApplicable(
            f"{len(files.people):,} distinct people times {1 << files.attributes:,} patterns are too many; "
            "name fewer attributes with --known"
        )
    rows = files.times()[1]
    found = np.zeros((1 << files.attributes, len(files.people)), dtype=np.int32)

    def join(pattern: int, person: Codes, row: Codes) -> None:
        found[pattern] = _sums(row, rows, int(max(person.max(), row.max())) + 1)[person]

    _joins(files, join)
    return _exactly(found.T)


def rows_agreeing(files: CodedFiles, pattern: NDArray[np.integer]) -> NDArray[np.int64]:
    """(distinct people,) a distinct row that agrees with each person on at least their pattern; -1 = there is none."""
    found = np.full(len(files.people), -1, dtype=np.int64)
    wanted = set(np.unique(pattern).tolist())

    def join(this: int, person: Codes, row: Codes) -> None:
        if this in wanted:
            holder = np.full(int(max(person.max(), row.max())) + 1, -1, dtype=np.int64)
            holder[row[::-1]] = np.arange(len(row))[::-1]  # the first one is written last
            mine = np.asarray(pattern) == this
            found[mine] = holder[person[mine]]

    _joins(files, join)
    return found


def pattern_of(files: CodedFiles, person: NDArray[np.integer], row: NDArray[np.integer]) -> NDArray[np.int64]:
    """The pattern of each pair of a distinct person and a distinct row."""
    left, right = files.people[person], files.rows[row]
    agree = (left == right) & (left >= 0)
    return np.asarray(agree @ (1 << np.arange(files.attributes, dtype=np.int64)))


def _joins(files: CodedFiles, join: Callable[[int, Codes, Codes], None]) -> None:
    """Call `join` with every pattern, and numbers that are equal where people and rows agree on its attributes."""
    split = len(files.people)
    columns = []
    for left, right in zip(files.people.T, files.rows.T, strict=True):
        top = int(max(left.max(), right.max())) + 1
        columns.append(np.concatenate([np.where(left < 0, top, left), np.where(right < 0, top + 1, right)]))

    def visit(pattern: int, number: Codes, following: int) -> None:
        join(pattern, number[:split], number[split:])
        for attribute in range(following, len(columns)):
            visit(pattern | 1 << attribute, row_numbers([number, columns[attribute]]), attribute + 1)

    visit(0, np.zeros(split + len(files.rows), dtype=np.int64), 0)


def _sums(number: Codes, weight: Codes, top: int) -> NDArray[np.int64]:
    return np.bincount(number, weights=weight, minlength=top).astype(np.int64)


def _exactly(at_least: NDArray[Any]) -> NDArray[Any]:
    """Moebius inversion over supersets of the last axis."""
    found = at_least.copy(order="K")
    patterns = np.arange(found.shape[-1])
    for bit in range(found.shape[-1].bit_length() - 1):
        without = patterns[patterns >> bit & 1 == 0]
        found[..., without] -= found[..., without | 1 << bit]
    return found
