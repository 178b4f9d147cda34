"""From groups of rows to a release: cells widened to regions, or sensitive values put apart."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.regions import Regions
from unveil.data.release import Anonymized, BlockRows, build_release, distinct_rows, example_rows, row_numbers
from unveil.data.table import Table
from unveil.errors import UsageError

__all__ = ["GroupRegions", "bucketized", "generalised", "one_sensitive"]


@dataclass(frozen=True, slots=True)
class GroupRegions:
    """The cell every row of a group gets for one quasi-identifier."""

    regions: Regions
    of_group: NDArray[np.integer]  # (groups,) region number


def generalised(table: Table, group: NDArray[np.integer], cells: Mapping[int, GroupRegions]) -> Anonymized:
    """One block: quasi-identifiers as regions, the rest as it is. Groups with equal cells are one group.

    People who are not published go, and groups of nobody else with them. Cost: one counting pass over the rows;
    everything after that works on distinct (group, value) pairs.
    """
    if table.outside is not None:
        used, group = np.unique(group[~table.outside], return_inverse=True)
        cells = {index: GroupRegions(cell.regions, np.asarray(cell.of_group)[used]) for index, cell in cells.items()}
        table = table.published()
    if cells:  # a reader cannot tell groups with equal cells apart, so they are one
        regions = {index: cell.regions.canonical(cell.of_group) for index, cell in cells.items()}
        merged = row_numbers([number[cells[index].of_group] for index, (_, number) in regions.items()])
    else:
        merged = np.zeros(int(group.max(initial=0)) + 1, dtype=np.int64)
    first = example_rows(merged)
    group_of_row = merged.astype(np.int32)[group]
    others = [i for i in range(len(table.attributes)) if i not in cells]
    shown = [group_of_row, *(table.columns[i] for i in others)]
    if table.count is None:
        row, count = distinct_rows(shown)
    else:
        number = row_numbers(shown)
        row = example_rows(number)
        count = table.tally(number, len(row))
    all_regions, columns = [], []
    for index, attribute in enumerate(table.attributes):
        if index in cells:
            all_regions.append(cells[index].regions)
            columns.append(np.asarray(cells[index].of_group)[first][group_of_row[row]])
        else:
            all_regions.append(Regions.singles(attribute.codes))
            columns.append(table.columns[index][row])
    part = BlockRows(tuple(range(len(columns))), group_of_row[row], tuple(columns), count)
    release, number = build_release(table.attributes, all_regions, [part])
    return Anonymized(release, number.astype(np.int32)[group_of_row])


def one_sensitive(table: Table, who: str) -> int:
    """The one sensitive attribute that is put apart."""
    sensitive = table.with_role(Role.SENSITIVE)
    if len(sensitive) != 1:
        names = ", ".join(table.attributes[i].name for i in sensitive) or "none"
        raise UsageError(f"{who} separates exactly one sensitive attribute; the schema has {len(sensitive)} ({names})")
    return sensitive[0]


def bucketized(table: Table, sensitive: int, group_of_row: NDArray[np.int32]) -> Anonymized:
    """Two blocks: everything but the sensitive attribute, and the sensitive attribute alone."""
    others = tuple(i for i in range(len(table.attributes)) if i != sensitive)
    parts = [BlockRows(others, group_of_row, tuple(table.columns[i] for i in others))] if others else []
    parts.append(BlockRows((sensitive,), group_of_row, (table.columns[sensitive],)))
    release, number = build_release(table.attributes, [Regions.singles(a.codes) for a in table.attributes], parts)
    return Anonymized(release, number[group_of_row].astype(np.int32))
