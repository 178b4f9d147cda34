"""Published figures beside ours: one file a paper, found by listing this folder.

Each file's `reproduce()` yields `Figure`s: what is printed, where, and what we find. A number that cannot be
reproduced stays, with the reason. Figures that need UCI Adult come from `reproduce_on_adult(columns)`; those
that take minutes from `reproduce_slowly(columns)`, which only `python -m papers` runs.
"""

from dataclasses import dataclass

__all__ = ["Figure"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One printed number (None: the paper has none) and ours."""

    name: str
    where: str  # table or section, and page
    published: float | None
    ours: float
    within: float = 5e-4  # how far apart rounding in print may bring them
    reading: str = ""  # how the text was read, where it could be read otherwise
    why_not: str = ""  # why the printed number is not found

    @property
    def agrees(self) -> bool | None:
        """Whether ours is the printed number; None if there is none."""
        return None if self.published is None else abs(self.published - self.ours) <= self.within
