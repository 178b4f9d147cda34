"""Published figures beside ours: one file a paper, found by listing this folder.

Each file's `reproduce()` yields `Figure`s: what is printed, where, and what we find. A number that cannot be
reproduced stays, with the reason. Figures that need UCI Adult come from `reproduce_on_adult(columns)`; those
that take minutes from `reproduce_slowly(columns)`, which only `python -m papers` runs.
"""

from dataclasses import dataclass
from decimal import Decimal

__all__ = ["Figure"]

THIRD_DIGIT = 5e-4


@dataclass(frozen=True, slots=True)
class Figure:
    """One printed number (None: the paper has none) and ours."""

    name: str
    where: str  # table or section, and page
    published: float | str | None  # a text: the digits that are printed, all of which must agree
    ours: float
    within: float | None = None  # how far apart they may be; unless given, half of the last printed digit
    reading: str = ""  # how the text was read, where it could be read otherwise
    why_not: str = ""  # why the printed number is not found
    self_check: bool = False  # `published` is what must come out, but no paper prints it

    @property
    def printed(self) -> bool:
        """Whether a paper has this number."""
        return self.published is not None and not self.self_check

    @property
    def agrees(self) -> bool | None:
        """Whether ours is the printed number; None if there is none."""
        if self.published is None:
            return None
        within = self.within
        if within is None:
            within = _half_a_digit(self.published) if isinstance(self.published, str) else THIRD_DIGIT
        # Not NumPy's boolean, which is neither True nor False itself.
        return bool(abs(float(self.published) - self.ours) <= within * (1 + 1e-9))


def _half_a_digit(text: str) -> float:
    exponent = Decimal(text).as_tuple().exponent
    assert isinstance(exponent, int), text
    return 0.5 * 10.0**exponent
