"""A differentially private histogram: noisy counts of every combination of values, written out as rows (extra dp)."""

from dataclasses import dataclass
from importlib.util import find_spec
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.masking import described
from unveil.data.attribute import Role
from unveil.data.options import Options, number, whole
from unveil.data.release import Anonymized
from unveil.data.rows import PublishedRows, as_published, release_of_rows
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, RequirementError, UsageError

__all__ = ["DpHistogram"]

MOST_CELLS = 1_000_000
_ABSENT = "dp_histogram: OpenDP is not installed; install unveil[dp]"


@dataclass(frozen=True, slots=True, kw_only=True)
class DpHistogram(Options):
    """Counts with discrete Laplace noise of OpenDP (Dwork et al. 2006; Ghosh, Roughgarden and Sundararajan 2009).

    Every combination of the attributes' values is counted, also those nobody has. One person more or fewer changes one
    count by one, so noise of scale 1/epsilon gives epsilon-differential privacy. What follows is done to the noisy
    counts alone: those below `least` become 0, the others as many rows. The rows are nobody's.
    """

    epsilon: float = number(0, above=True)
    attributes: tuple[str, ...] = ()  # quasi-identifiers and sensitive attributes, if none is named
    least: int = whole(1, default=1)  # the least noisy count that is released

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if find_spec("opendp") is None:  # said before a sweep, not in the middle of it
            raise NotApplicable(_ABSENT)

    def anonymize(self, table: Table, engine: Engine) -> Anonymized:
        """Cost: rows, and some microseconds a combination for its noise.

        The noise comes from the operating system, not from the seed, which orders the rows only: who could replay noise
        could take it off.
        """
        table.check_texts()
        which = self._chosen(table)
        attributes = [table.attributes[i] for i in which]
        sizes = [a.codes for a in attributes]
        if prod(sizes) > MOST_CELLS:
            raise RequirementError(
                f"dp_histogram: {', '.join(a.name for a in attributes)} have {prod(sizes):,} combinations, over "
                f"{MOST_CELLS:,}; name fewer with attributes=A+B, or declare bins"
            )
        cell = np.ravel_multi_index([table.columns[i].astype(np.int64) for i in which], sizes)
        noisy = noisy_counts(np.bincount(cell, minlength=prod(sizes)), self.epsilon)
        kept = np.where(noisy >= self.least, noisy, 0)
        if not kept.any():
            raise RequirementError(
                f"dp_histogram: all noisy counts are below {self.least}; name fewer attributes, or a larger epsilon"
            )
        rows = np.repeat(np.arange(len(kept)), kept)
        rows = rows[engine.named("dp_histogram").generator().permutation(len(rows))]
        columns = as_published(attributes, np.unravel_index(rows, sizes))
        made = PublishedRows(tuple(attributes), columns, tuple(range(len(which))), {}, described(self))
        note = (
            f"epsilon {self.epsilon:g}: noise of scale {1 / self.epsilon:g} on each of {len(kept):,} combinations; "
            f"{int((kept > 0).sum()):,} are released"
        )
        return Anonymized(release_of_rows(made), np.full(table.rows, -1, dtype=np.int32), note)

    def _chosen(self, table: Table) -> list[int]:
        """Positions. A domain must not be read off the table: that somebody has a value would be published."""
        if len(set(self.attributes)) != len(self.attributes):
            raise UsageError("dp_histogram: attributes lists a name twice; keep one")
        roles = (Role.QUASI_IDENTIFIER, Role.SENSITIVE)
        which = sorted(map(table.index, self.attributes)) or [
            i for i, a in enumerate(table.attributes) if a.role in roles
        ]
        if not which:
            raise UsageError("dp_histogram: the table has nothing to count; name columns: attributes=A+B")
        seen = [table.attributes[i].name for i in which if table.attributes[i].source not in ("declared", "hierarchy")]
        if seen:
            raise RequirementError(
                f"dp_histogram: the domain of {', '.join(seen)} is what the table holds, which is not private; declare "
                "it in the schema, or leave the attribute out with attributes=A+B"
            )
        return which


def noisy_counts(counts: NDArray[np.integer], epsilon: float) -> NDArray[np.int64]:
    """(cells,) the counts with the noise of `mechanism`."""
    return np.array(mechanism(epsilon)(np.asarray(counts, dtype=np.int64).tolist()), dtype=np.int64)


def mechanism(epsilon: float) -> Any:
    """OpenDP's discrete Laplace mechanism for a vector of counts of which one changes by one: at most this epsilon."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise NotApplicable(_ABSENT) from None
    dp.enable_features("contrib")
    counts = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    scale = 1 / epsilon
    found: Any = dp.m.make_laplace(*counts, scale=scale)
    while found.map(1) > epsilon:  # 1 / epsilon was rounded down
        scale = float(np.nextafter(scale, np.inf))
        found = dp.m.make_laplace(*counts, scale=scale)
    return found
