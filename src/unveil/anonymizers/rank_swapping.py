"""Rank swapping: values change places with others of a near rank."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.masking import NUMBERS, Masking
from unveil.data.attribute import Kind
from unveil.data.options import number
from unveil.data.rows import as_published
from unveil.data.table import Table
from unveil.kernels import masking

__all__ = ["RankSwapping"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSwapping(Masking):
    """A value changes places with one whose rank is at most p % of the rows away (Moore 1996), attribute by attribute.

    Every attribute keeps its values; only whose they are changes. Missing values stay where they are; equal values are
    ranked at random.
    """

    kinds = (*NUMBERS, Kind.ORDINAL)

    p: float = number(0, 100, above=True)

    def changed(self, table: Table, which: tuple[int, ...], random: np.random.Generator) -> dict[int, NDArray[Any]]:
        """Cost: rows · window an attribute."""
        original = as_published(table.attributes, table.columns)
        changed = {}
        for index in which:
            attribute, column = table.attributes[index], original[index].copy()
            known = random.permutation(np.flatnonzero(table.columns[index] < attribute.real))
            order = known[np.argsort(column[known], kind="stable")]
            window = max(1, int(self.p * len(order) / 100))
            partner = np.full(len(order), -1, dtype=np.int64)
            masking.swap_ranks(len(order), window, random.integers(0, 2**64, dtype=np.uint64), partner)
            column[order] = column[order[partner]]
            changed[index] = column
        return changed
