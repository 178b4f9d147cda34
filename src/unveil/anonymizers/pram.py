"""PRAM, the post-randomisation method: categories change at random, with chances that may be published."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.masking import CODES, Masking
from unveil.data.attribute import Attribute
from unveil.data.options import number
from unveil.data.table import Table
from unveil.errors import UsageError, shown

__all__ = ["Pram"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pram(Masking):
    """A category stays with probability `retain`, else it is drawn again (Gouweleeuw et al. 1998).

    `uniform`: every other category is equally likely. `invariant`: it is drawn from the table's own shares, which may
    give the same again, so that expected shares stay as they are. `matrix`, by attribute, one row of chances for each
    true category (in a file: `pram:@options.toml`), goes before both. Missing is one more category, the last.
    """

    kinds = CODES

    retain: float = number(0, 1, default=0.8)
    kind: Literal["uniform", "invariant"] = "uniform"
    matrix: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        Masking.__post_init__(self)
        if not isinstance(self.matrix, Mapping):
            raise UsageError("pram: matrix names attributes: [matrix] and below it NAME = [[0.9, 0.1], [0.2, 0.8]]")
        strange = [name for name in self.matrix if self.attributes and name not in self.attributes]
        if strange:
            raise UsageError(f"pram: a matrix for {shown(strange[0])}, which is not among attributes; add it there")

    def named(self) -> tuple[str, ...]:
        """Where matrices alone are given, the attributes that they are of."""
        return self.attributes or tuple(self.matrix)

    def changed(self, table: Table, which: tuple[int, ...], random: np.random.Generator) -> dict[int, NDArray[Any]]:
        """Cost: rows · categories an attribute."""
        changed = {}
        for index, chances in self.channel(table, which).items():
            column = table.columns[index].astype(np.int64)
            edges = np.cumsum(chances, axis=1)
            edges /= edges[:, -1:]
            drawn, new = random.random(len(column)), np.empty(len(column), dtype=np.int64)
            for code in range(len(chances)):
                # A draw in [0, 1) falls before the first edge above it; a category of chance 0 has no width.
                held = column == code
                new[held] = np.searchsorted(edges[code], drawn[held], side="right")
            changed[index] = new
        return changed

    def channel(self, table: Table, which: tuple[int, ...]) -> dict[int, NDArray[np.float64]]:
        """By position: (categories, categories) P(published | true)."""
        return {i: self._chances(table.attributes[i], table.columns[i].astype(np.int64)) for i in which}

    def _chances(self, attribute: Attribute, column: NDArray[np.int64]) -> NDArray[np.float64]:
        """(categories, categories) P(published | true)."""
        codes = attribute.codes
        if attribute.name in self.matrix:
            try:
                given = np.array(self.matrix[attribute.name], dtype=np.float64)
            except (TypeError, ValueError):
                given = np.empty(0)
            if given.shape != (codes, codes) or not (given >= 0).all() or (np.abs(given.sum(axis=1) - 1) > 1e-6).any():
                raise UsageError(
                    f"pram: the matrix of {attribute.name} needs {codes} rows of {codes} probabilities with sum 1, "
                    f"in the order {', '.join(map(shown, attribute.values[:6]))}{' …' if codes > 6 else ''}"
                )
            return np.asarray(given / given.sum(axis=1, keepdims=True))
        if codes == 1:
            return np.ones((1, 1))
        if self.kind == "invariant":
            share = np.bincount(column, minlength=codes) / len(column)
            return np.asarray(self.retain * np.eye(codes) + (1 - self.retain) * share)
        return np.where(np.eye(codes, dtype=bool), self.retain, (1 - self.retain) / (codes - 1))
