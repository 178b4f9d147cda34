"""Overall: nothing is known but the table's distribution of the sensitive values."""

from dataclasses import dataclass

import numpy as np

from unveil.data.person_prior import PersonPrior
from unveil.data.table import Table
from unveil.privacy.knowledge.mining.cells import CountedCells

__all__ = ["OverallShares"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverallShares:
    """The same for everybody: the shares of the whole table, which t-closeness assumes (Li 2010, section 3.5.4)."""

    def prior(self, table: Table, asked: str | None = None) -> PersonPrior:
        """Cost: one pass over the rows."""
        counted = CountedCells.of(table, asked)
        share = counted.overall()
        return PersonPrior(
            counted.attributes,
            counted.sensitive,
            lambda cells: np.tile(share, (len(cells), 1)),
            "the table's overall distribution",
        )
