"""Rank swapping: values change places with others of a near rank."""

from dataclasses import dataclass

import numpy as np

from unveil.anonymizers.parts.masking import NUMBERS, chosen, published
from unveil.data.attribute import Kind
from unveil.data.masked import MaskedTable, as_published
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.kernels import masking

__all__ = ["RankSwapping"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSwapping:
    """A value changes places with one whose rank is at most p % of the rows away (Moore 1996), attribute by attribute.

    Every attribute keeps its values; only whose they are changes. Missing values stay where they are; equal values are
    ranked at random.
    """

    p: float
    attributes: tuple[str, ...] = ()  # numeric, date and ordinal quasi-identifiers, if none is named
    publish: bool = False  # say in the sidecar how it was made

    def __post_init__(self) -> None:
        if not 0 < self.p <= 100:
            raise UsageError(f"rank_swapping: p={self.p:g} is no percentage above 0; choose for instance p=5")

    def anonymize(self, table: Table, engine: Engine) -> MaskedTable:
        """Cost: rows · window an attribute."""
        which = chosen(table, self.attributes, (*NUMBERS, Kind.ORDINAL), "rank_swapping")
        original = as_published(table.attributes, table.columns)
        random = engine.named("rank_swapping").generator()
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
        return published(table, changed, engine.named("rank_swapping"), self, "rank_swapping")
