"""Uniform: nothing is known at all."""

from dataclasses import dataclass

import numpy as np

from unveil.data.attribute import Role
from unveil.data.person_prior import PersonPrior
from unveil.data.table import Table
from unveil.privacy.knowledge.mining.cells import sensitive_of

__all__ = ["Uniform"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform:
    """Every value alike for everybody: the ignorant reader whom l-diversity assumes (Li 2010, section 3.5.4)."""

    def prior(self, table: Table, asked: str | None = None) -> PersonPrior:
        """Cost: none."""
        attributes = tuple(table.attributes[i] for i in table.with_role(Role.QUASI_IDENTIFIER))
        sensitive = table.attributes[sensitive_of(table, asked)]
        return PersonPrior(
            attributes,
            sensitive,
            lambda cells: np.full((len(cells), sensitive.codes), 1 / sensitive.codes),
            "all values alike",
        )
