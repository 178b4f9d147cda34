"""Speed, memory and quality, held against floors: one file a benchmark, found by listing this folder.

Each file's `measure()` yields `Row`s. Files that start with `_` serve the others; peers/ holds scripts that run in the
peers' own environment. Where a peer is named, both were measured in this run on the same rows.
"""

from dataclasses import dataclass

__all__ = ["Row"]


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure, beside a peer's where there is one. `floor` reads `>= 1000`, `<= 0.05`; none: only told."""

    name: str
    ours: float
    theirs: float | None = None
    unit: str = ""
    floor: str = ""  # of the ratio theirs / ours if `of_ratio`, else of ours
    of_ratio: bool = False
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times ours the peer's figure is."""
        return None if self.theirs is None or not self.ours else self.theirs / self.ours

    @property
    def met(self) -> bool | None:
        """Whether the floor is reached; None without one."""
        if not self.floor:
            return None
        sign, bound = self.floor.split()
        value = self.ratio if self.of_ratio else self.ours
        if value is None:
            return False
        return value >= float(bound) if sign == ">=" else value <= float(bound)
