"""Anatomy: quasi-identifiers stay exact; which sensitive value belongs to whom is hidden within groups of l."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.assemble import bucketized, one_sensitive
from unveil.data.options import Options, whole
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, shown
from unveil.kernels import anatomy as kernels

__all__ = ["Anatomy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Anatomy(Options):
    """Bucketization into groups of l rows with l different sensitive values (Xiao and Tao 2006).

    Ties between equally frequent values and the rows taken are drawn. Rows left over (at most l - 1) join a group
    that lacks their value, or are refused with `residue=refuse`.
    """

    l: int = whole(2)
    residue: Literal["place", "refuse"] = "place"

    def anonymize(self, table: Table, engine: Engine) -> Anonymized:
        """Cost: rows · log(sensitive values)."""
        table.check_texts()
        sensitive = one_sensitive(table, "anatomy")
        attribute, column = table.attributes[sensitive], table.columns[sensitive]
        count = np.bincount(column, minlength=attribute.codes).astype(np.int64)
        self._check_eligible(table, sensitive, count)
        random = engine.named("anatomy").generator()
        key, residue_key = random.integers(0, 2**64, size=2, dtype=np.uint64)
        order = random.permutation(table.rows)
        by_value = order[np.argsort(column[order], kind="stable")]
        group, groups = kernels.rounds(count, self.l, key)
        left_over = int((group < 0).sum())
        if left_over and self.residue == "refuse":
            raise RequirementError(
                f"anatomy: {left_over} of {table.rows} rows are left over for l={self.l}; place them with residue=place"
            )
        value = column[by_value].astype(np.int64)
        if kernels.place_residue(group, value, groups, attribute.codes, residue_key):
            raise RequirementError(f"anatomy: a row left over fits no group with l={self.l}; choose a smaller l")
        group_of_row = np.empty(table.rows, dtype=np.int32)
        group_of_row[by_value] = group
        return bucketized(table, sensitive, group_of_row)

    def _check_eligible(self, table: Table, sensitive: int, count: NDArray[np.int64]) -> None:
        """No value may be more frequent than rows / l, or no grouping can exist (Xiao and Tao 2006, section 4)."""
        most = int(count.max())
        if most * self.l > table.rows:
            attribute = table.attributes[sensitive]
            best = table.rows // most
            raise RequirementError(
                f"anatomy: {shown(attribute.values[int(count.argmax())])} is the {attribute.name} "
                f"of {most} of {table.rows} rows, "
                f"more than 1 in {self.l}; " + (f"l={best} can be met" if best > 1 else "no l above 1 can be met")
            )
