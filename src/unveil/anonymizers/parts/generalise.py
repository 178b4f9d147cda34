"""From groups of rows and one region a group and quasi-identifier to a generalised release."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.regions import Regions
from unveil.data.release import Anonymized, BlockRows, build_release, distinct_rows, row_numbers
from unveil.data.table import Table

__all__ = ["GroupRegions", "generalised"]


@dataclass(frozen=True, slots=True)
class GroupRegions:
    """The cell every row of a group gets for one quasi-identifier."""

    regions: Regions
    of_group: NDArray[np.integer]  # (groups,) region number


def generalised(table: Table, group: NDArray[np.integer], cells: Mapping[int, GroupRegions]) -> Anonymized:
    """One block: quasi-identifiers as regions, the rest as it is. Groups with equal cells are one group.

    Cost: one counting pass over the rows; everything after that works on distinct (group, value) pairs.
    """
    if cells:  # a reader cannot tell groups with equal cells apart, so they are one
        regions = {index: cell.regions.canonical(cell.of_group) for index, cell in cells.items()}
        merged = row_numbers([number[cells[index].of_group] for index, (_, number) in regions.items()])
    else:
        merged = np.zeros(int(group.max(initial=0)) + 1, dtype=np.int64)
    first = np.zeros(int(merged.max(initial=0)) + 1, dtype=np.int64)
    first[merged] = np.arange(len(merged))
    group_of_row = merged.astype(np.int32)[group]
    others = [i for i in range(len(table.attributes)) if i not in cells]
    row, count = distinct_rows([group_of_row, *(table.columns[i] for i in others)])
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
