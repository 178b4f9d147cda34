"""The quasi-identifier cells of a table, the sensitive values counted in each, and the values that rules leave."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Role
from unveil.data.release import example_rows, row_numbers
from unveil.data.table import Table
from unveil.errors import UsageError, shown

__all__ = ["CountedCells", "sensitive_of", "some_sharing", "valid_kinds", "valid_values"]


@dataclass(frozen=True, slots=True, eq=False)
class CountedCells:
    """Distinct cells, and the distinct (cell, value) pairs with the number of people."""

    attributes: tuple[Attribute, ...]
    sensitive: Attribute
    cells: NDArray[np.int64]  # (cells, attributes) codes
    of_row: NDArray[np.int64]  # (rows,) the cell of each row
    cell: NDArray[np.int64]  # (pairs,) growing
    value: NDArray[np.int64]  # (pairs,)
    count: NDArray[np.int64]  # (pairs,) people

    @classmethod
    def of(cls, table: Table, asked: str | None = None) -> "CountedCells":
        """Count a table's rows."""
        known = table.with_role(Role.QUASI_IDENTIFIER)
        index = sensitive_of(table, asked)
        columns = [table.columns[i].astype(np.int64) for i in known]
        number = row_numbers(columns, table.rows)
        first = example_rows(number)
        cells = np.stack([c[first] for c in columns], axis=1) if columns else np.zeros((1, 0), dtype=np.int64)
        values = table.attributes[index].codes
        pair, count = np.unique(number * values + table.columns[index], return_counts=True)
        attributes = tuple(table.attributes[i] for i in known)
        return cls(attributes, table.attributes[index], cells, number, pair // values, pair % values, count)

    @property
    def rows(self) -> int:
        """How many people there are."""
        return len(self.of_row)

    def overall(self) -> NDArray[np.float64]:
        """(values,) the shares of the whole table."""
        total = np.bincount(self.value, weights=self.count, minlength=self.sensitive.codes)
        return np.asarray(total / total.sum())


def sensitive_of(table: Table, asked: str | None) -> int:
    """The position of the sensitive attribute that knowledge is about."""
    sensitive = table.with_role(Role.SENSITIVE)
    names = [table.attributes[i].name for i in sensitive]
    if asked is not None:
        if asked not in names:
            raise UsageError(f"unknown sensitive attribute {shown(asked)}; choose from {', '.join(names) or 'none'}")
        return sensitive[names.index(asked)]
    if len(sensitive) != 1:
        raise UsageError(f"name the sensitive attribute: {', '.join(names) or 'the schema has none'}")
    return sensitive[0]


def valid_values(
    group: NDArray[np.integer], value: NDArray[np.integer], possible: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(people, values) the valid values; `value` is any perfect matching, for instance the truth."""
    rows = np.arange(len(possible))
    if not possible[rows, value].all():
        raise UsageError("somebody has a value that the rules call impossible; use rules of confidence 1")
    holds = np.zeros(possible.shape, dtype=bool)
    holds[rows, value] = True
    return valid_kinds(group, holds, possible)


def valid_kinds(group: NDArray[np.integer], holds: NDArray[np.bool_], possible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(kinds, values) the same for kinds of people, of whom one or more hold each of some values."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    kinds, values = possible.shape
    group = np.asarray(group, dtype=np.int64)
    owner, held = np.nonzero(holds)
    slot, place = np.unique(group[owner] * values + held, return_inverse=True)  # a value of a group, held by somebody
    slot_of = np.full((int(group.max(initial=-1)) + 1) * values, -1, dtype=np.int64)
    slot_of[slot] = np.arange(len(slot))
    kind, wanted = np.nonzero(possible)
    there = slot_of[group[kind] * values + wanted]
    kind, wanted, there = kind[there >= 0], wanted[there >= 0], there[there >= 0]
    begin = np.concatenate([kind, kinds + place.reshape(-1)])
    end = np.concatenate([kinds + there, owner])
    nodes = kinds + len(slot)
    graph = csr_matrix((np.ones(len(begin), dtype=np.int8), (begin, end)), shape=(nodes, nodes))
    label = connected_components(graph, directed=True, connection="strong")[1]
    valid = np.zeros(possible.shape, dtype=bool)
    inside = label[kind] == label[kinds + there]
    valid[kind[inside], wanted[inside]] = True
    return valid


def some_sharing(
    group: NDArray[np.integer],
    people: NDArray[np.integer],
    possible: NDArray[np.bool_],
    counts: NDArray[np.integer],
) -> NDArray[np.int64]:
    """(kinds, values) how many people of each kind get each value, in some way to share out (groups, values) counts.

    By a largest flow from kinds to the values of their group: cost kinds · values, whatever the groups' size.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_flow

    kinds, values = possible.shape
    group = np.asarray(group, dtype=np.int64)
    kind, value = np.nonzero(possible & (counts[group] > 0))
    slots = counts.size
    source, sink = kinds + slots, kinds + slots + 1
    needed = np.flatnonzero(counts.ravel())
    begin = np.concatenate([np.full(kinds, source), kind, kinds + needed])
    end = np.concatenate([np.arange(kinds), kinds + group[kind] * values + value, np.full(len(needed), sink)])
    room = np.concatenate([people, people[kind], counts.ravel()[needed]]).astype(np.int32)
    graph = csr_matrix((room, (begin, end)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(graph, source, sink).flow
    shared = np.zeros(possible.shape, dtype=np.int64)
    shared[kind, value] = np.asarray(flow[kind, kinds + group[kind] * values + value]).ravel()
    short = np.flatnonzero(shared.sum(axis=1) != people)
    if len(short):
        raise UsageError(
            f"what is known rules out group {int(group[short[0]]) + 1} of the release: "
            "its people cannot have its values"
        )
    return shared
