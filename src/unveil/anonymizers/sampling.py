"""Sampling: some people, drawn at random, are published as they are."""

from dataclasses import dataclass

import numpy as np

from unveil.data.attribute import Role
from unveil.data.options import Options, number
from unveil.data.regions import Regions
from unveil.data.release import Anonymized, BlockRows, build_release, row_numbers
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError

__all__ = ["Sampling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling(Options):
    """A simple random sample without replacement: a share of the rows, rounded to a whole number of people.

    Nothing is perturbed or widened, so it is an ordinary release, of fewer people. Who was left out has group -1.
    """

    share: float = number(0, 1, above=True, below=True)

    def anonymize(self, table: Table, engine: Engine) -> Anonymized:
        """Cost: sorting the rows drawn."""
        table.check_texts()
        size = round(self.share * table.rows)
        if not size:
            raise RequirementError(
                f"sampling: share={self.share:g} of {table.rows} rows selects nobody; choose a larger share"
            )
        drawn = np.sort(engine.named("sampling").generator().choice(table.rows, size, replace=False))
        columns = [column[drawn] for column in table.columns]
        known = [columns[i] for i, a in enumerate(table.attributes) if a.role is Role.QUASI_IDENTIFIER]
        group = row_numbers(known, size)
        part = BlockRows(tuple(range(len(columns))), group, tuple(columns))
        release, number = build_release(table.attributes, [Regions.singles(a.codes) for a in table.attributes], [part])
        group_of_row = np.full(table.rows, -1, dtype=np.int32)
        group_of_row[drawn] = number[group]
        return Anonymized(release, group_of_row, f"{size:,} of {table.rows:,} people were drawn")
