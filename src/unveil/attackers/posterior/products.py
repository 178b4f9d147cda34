"""Products over the attributes of cells, by way of tables of the attributes that have few values together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.parameters import Layout, Shares
from unveil.kernels import gibbs

__all__ = ["CellProducts"]

WORTH_JOINING = 1000  # cells; for fewer the calls would cost more than the sums
LARGEST = 8  # cells for each row of a table of several attributes, at least: else the table costs as much as it saves


@dataclass(frozen=True, slots=True, eq=False)
class CellProducts:
    """Cells (cells, attributes) of region numbers, written as rows of few tables instead of regions of many attributes.

    Sex, race and workclass have 70 combinations; 10,000 cells then need one number for the three instead of three.
    """

    columns: NDArray[np.int32]  # (cells, tables) row of each table
    start: NDArray[np.int64]  # (tables,) where the columns' rows start among all rows
    region: NDArray[np.int32]  # the regions of each table's rows, see gibbs.fill_tables
    at: NDArray[np.int64]  # (tables + 1,)
    first: NDArray[np.int64]  # (tables + 1,)
    # Without tables the columns are the attributes themselves: few cells are not worth a second table.

    @classmethod
    def plain(cls, cells: NDArray[np.int32], offset: NDArray[np.int64]) -> "CellProducts":
        """Without tables."""
        none = np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(1, np.int64)
        return cls(np.ascontiguousarray(cells), np.asarray(offset, np.int64), *none)

    @classmethod
    def of(cls, cells: NDArray[np.int32], offset: NDArray[np.int64], sizes: list[int]) -> "CellProducts":
        """`sizes`: regions of each attribute; its rows in stacked tables start at `offset`. Smallest first together."""
        if len(cells) < WORTH_JOINING or not len(sizes):
            return cls.plain(cells, offset)
        most = len(cells) // LARGEST
        tables = [(size, [a]) for a, size in enumerate(sizes)]
        while len(tables) > 1:
            tables.sort()
            (one, few), (two, more) = tables[:2]
            if one * two > most:
                break
            tables[:2] = [(one * two, few + more)]
        regions, columns = [], []
        for size, attributes in tables:
            shape = [sizes[a] for a in attributes]
            rows = np.stack(np.unravel_index(np.arange(size), shape), axis=1) + offset[attributes]
            regions.append(rows.ravel().astype(np.int32))
            columns.append(np.ravel_multi_index([cells[:, a] for a in attributes], shape).astype(np.int32))
        first = np.concatenate([[0], np.cumsum([size for size, _ in tables])]).astype(np.int64)
        at = np.concatenate([[0], np.cumsum([len(r) for r in regions])]).astype(np.int64)
        return cls(np.ascontiguousarray(np.stack(columns, axis=1)), first[:-1], np.concatenate(regions), at, first)

    @property
    def joined(self) -> bool:
        """Whether there are tables of several attributes."""
        return len(self.first) > 1

    def rows(self) -> NDArray[np.int32]:
        """(cells, tables) the row of each table among all rows: of `tables`, or of shares if there are none."""
        return np.ascontiguousarray((self.columns + self.start).astype(np.int32))

    def add_to(self, out: NDArray[np.float64], share: NDArray[np.float64], first: NDArray[np.float64]) -> None:
        """Add to `out` (cells, values) `first` (values,) times the product of the shares of the cell's regions."""
        if not self.columns.shape[1]:
            out += first
            return
        table, offset = self.tables(share), self.start
        if not self.joined:
            table = np.concatenate([table, table * first])  # of all attributes: the first one's stand in the copy
            offset = offset.copy()
            offset[0] += len(share)
        else:
            table[: self.first[1]] *= first
        gibbs.add_products(self.columns, offset, table, out)

    def scale(
        self, table: NDArray[np.float64], out: NDArray[np.float64], cells: NDArray[np.int32] | slice = slice(None)
    ) -> float:
        """Fill `out` with the products of some cells, given the `tables`; small rows are divided by their maximum.

        Returns the smallest maximum, 0 if a row is lost.
        """
        return float(gibbs.scaled_cells(self.columns[cells], self.start, table, out))

    def collect(self, tally: NDArray[np.int64], out: NDArray[np.int64]) -> None:
        """Add the `tally` (cells, values) of matched cells to the counts `out` (regions, values) of their regions."""
        if not self.joined:
            gibbs.collect(self.columns, self.start, tally, out)
            return
        counts = np.zeros((int(self.first[-1]), tally.shape[1]), dtype=np.int64)
        gibbs.collect(self.columns, self.start, tally, counts)
        self.collect_rows(counts, out)

    def collect_rows(self, counts: NDArray[np.int64], out: NDArray[np.int64]) -> None:
        """As `collect`, of cells that were counted in each of their `rows`."""
        if self.joined:
            gibbs.collect_tables(counts, self.region, self.at, self.first, out)
        else:
            out += counts

    def tables(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """(rows, values) the products of each table's attributes."""
        if not self.joined:
            return share
        found = np.empty((int(self.first[-1]), share.shape[1]))
        gibbs.fill_tables(share, self.region, self.at, self.first, found)
        return found

    def scaled_tables(self, layout: Layout, theta: Shares, values: int) -> NDArray[np.float64]:
        """The tables of shares that are divided by each region's maximum."""
        found = np.empty((int(self.first[-1]) if self.joined else int(layout.row[-1]), values))
        runs = layout.place, layout.row, layout.start, layout.low, layout.high
        gibbs.scaled_tables(theta.flat, *runs, self.region, self.at, self.first, found)
        return found
