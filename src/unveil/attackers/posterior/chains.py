"""How long to sample, where sampling is needed."""

from dataclasses import dataclass

from unveil.attackers.posterior.averages import BATCHES
from unveil.attackers.posterior.convergence import PRECISION
from unveil.errors import UsageError

__all__ = ["Chains"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """A first round of sweeps after burn-in, then more by themselves until beliefs are precise or the budget ends."""

    chains: int = 4
    sweeps: int = 1000  # of the first round
    most_sweeps: int = 16_000  # of all rounds: the budget. The first round is always drawn whole
    burn_in: int = 1000
    every: int = 3  # sweeps between the states that are looked at
    keep: int = 400  # states of a chain, at least, that are kept for later questions
    anneal: bool = True
    precision: float = PRECISION  # the standard error of 99% of beliefs at which chains end; 20/3 of it for all

    def __post_init__(self) -> None:
        if self.chains < 2 or self.sweeps < BATCHES or self.burn_in < 0 or self.keep < 1 or self.every < 1:
            raise UsageError(f"a sampler needs 2 chains or more and {BATCHES} sweeps or more")
        if not 0 < self.precision < 1:
            raise UsageError(f"a precision of {self.precision:g} makes no sense; choose a standard error such as 0.003")
