"""What a release made of each value: the mapping that it applied, as a table."""

import numpy as np

from unveil.data.attribute import Role
from unveil.data.release import Release
from unveil.errors import UsageError
from unveil.formats.cells import write_cells
from unveil.formats.output import csv_bytes

__all__ = ["mapping_bytes"]

MOST_ROWS = 5_000_000


def mapping_bytes(release: Release) -> bytes:
    """A CSV: attribute, value, cell, rows: every published cell that may stand for the value, and in how many rows.

    A value with one cell was recoded the same everywhere; several cells are local recoding, or some were suppressed.
    """
    columns: list[list[str]] = [[], [], [], []]
    total = 0
    for index, attribute in enumerate(release.attributes):
        regions = release.regions[index]
        if attribute.role is not Role.QUASI_IDENTIFIER and (regions.sizes == 1).all():
            continue
        total += int(regions.sizes.sum())
        if total > MOST_ROWS:
            raise UsageError(f"the mapping has over {MOST_ROWS:,} rows; the release holds too many different cells")
        block = release.block_of(index)
        rows = np.bincount(block.region(index), weights=block.count, minlength=len(regions)).astype(np.int64)
        texts = write_cells(regions, attribute)
        pairs = sorted((int(code), region) for region in range(len(regions)) for code in regions.members(region))
        for code, region in pairs:
            for column, text in zip(
                columns, (attribute.name, attribute.values[code], texts[region], str(rows[region])), strict=True
            ):
                column.append(text)
    return csv_bytes(["attribute", "value", "cell", "rows"], columns)
