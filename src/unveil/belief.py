"""What measures return. (Targets, priors and beliefs of attackers come with the attackers.)"""

from dataclasses import dataclass

from unveil.errors import UsageError

__all__ = ["Estimate"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the ends of its 95% interval; an exact result has low = value = high."""

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise UsageError(f"an estimate must lie in its interval: {self.low} ≤ {self.value} ≤ {self.high}")

    @classmethod
    def exact(cls, value: float) -> "Estimate":
        """A result without error of its own."""
        return cls(value, value, value)
