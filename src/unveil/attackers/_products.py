"""Products over the attributes of cells, by way of tables of the attributes that have few values together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    start: NDArray[np.int64]  # (tables + 1,) where its rows stand among all rows
    parts: tuple[tuple[NDArray[np.int32], NDArray[np.int64]], ...]  # by table: (rows, attributes) regions, offsets
    # Without parts the columns are the attributes themselves: few cells are not worth a second table.

    @classmethod
    def of(cls, cells: NDArray[np.int32], offset: NDArray[np.int64], sizes: list[int]) -> "CellProducts":
        """`sizes`: regions of each attribute; its rows in stacked tables start at `offset`. Smallest first together."""
        if len(cells) < WORTH_JOINING:
            return cls(np.ascontiguousarray(cells), np.append(offset, 0), ())
        most = len(cells) // LARGEST
        tables = [(size, [a]) for a, size in enumerate(sizes)]
        while len(tables) > 1:
            tables.sort()
            (one, few), (two, more) = tables[:2]
            if one * two > most:
                break
            tables[:2] = [(one * two, few + more)]
        parts, columns = [], []
        for size, attributes in tables:
            shape = [sizes[a] for a in attributes]
            rows = np.stack(np.unravel_index(np.arange(size), shape), axis=1).astype(np.int32)
            parts.append((np.ascontiguousarray(rows), np.ascontiguousarray(offset[attributes])))
            columns.append(np.ravel_multi_index([cells[:, a] for a in attributes], shape).astype(np.int32))
        start = np.concatenate([[0], np.cumsum([size for size, _ in tables])]).astype(np.int64)
        table = np.stack(columns, axis=1) if columns else np.zeros((len(cells), 0), np.int32)
        return cls(np.ascontiguousarray(table), start, tuple(parts))

    def rows(self) -> NDArray[np.int32]:
        """(cells, tables) the row of each table among all rows: of `tables`, or of shares if there are no parts."""
        return np.ascontiguousarray((self.columns + self.start[:-1]).astype(np.int32))

    def add_to(self, out: NDArray[np.float64], share: NDArray[np.float64], first: NDArray[np.float64]) -> None:
        """Add to `out` (cells, values) `first` (values,) times the product of the shares of the cell's regions."""
        if not self.columns.shape[1]:
            out += first
            return
        table = self.tables(share)
        if not self.parts:
            table = np.concatenate([table, table * first])  # of all attributes: the first one's stand in the copy
            offset = self.start[:-1].copy()
            offset[0] += len(share)
        else:
            table[: self.start[1]] *= first
            offset = self.start[:-1]
        gibbs.add_products(self.columns, offset, table, out)

    def scale(
        self, table: NDArray[np.float64], out: NDArray[np.float64], cells: NDArray[np.int32] | slice = slice(None)
    ) -> float:
        """Fill `out` with the products of some cells, given the `tables`; small rows are divided by their maximum.

        Returns the smallest maximum, 0 if a row is lost.
        """
        return float(gibbs.scaled_cells(self.columns[cells], self.start[:-1], table, out))

    def collect(self, tally: NDArray[np.int64], out: NDArray[np.int64]) -> None:
        """Add the `tally` (cells, values) of matched cells to the counts `out` (regions, values) of their regions."""
        if not self.parts:
            gibbs.collect(self.columns, self.start[:-1], tally, out)
            return
        counts = np.zeros((int(self.start[-1]), tally.shape[1]), dtype=np.int64)
        gibbs.collect(self.columns, self.start[:-1], tally, counts)
        self.collect_rows(counts, out)

    def collect_rows(self, counts: NDArray[np.int64], out: NDArray[np.int64]) -> None:
        """As `collect`, of cells that were counted in each of their `rows`."""
        if not self.parts:
            out += counts
        for number, (rows, offset) in enumerate(self.parts):
            gibbs.collect(rows, offset, counts[self.start[number] : self.start[number + 1]], out)

    def tables(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """(rows, values) the products of each table's attributes."""
        if not self.parts:
            return share
        found = np.empty((int(self.start[-1]), share.shape[1]))
        ones = np.ones(share.shape[1])
        for number, (rows, offset) in enumerate(self.parts):
            gibbs.multiply_cells(rows, offset, share, ones, found[self.start[number] : self.start[number + 1]])
        return found
