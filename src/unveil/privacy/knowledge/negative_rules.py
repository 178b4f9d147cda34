"""Negative rules: what people with some quasi-identifiers never have, found in the table itself."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.person_prior import PersonPrior
from unveil.data.table import Table
from unveil.errors import UsageError
from unveil.privacy.knowledge.mining.cells import CountedCells
from unveil.privacy.knowledge.mining.rules import Rules, mine

__all__ = ["NegativeRules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativeRules:
    """X ⇒ not Y, where so many people make it surprising that none of them has Y (Li 2010, section 3.3).

    A rule needs the expectation 1 - (1 - P(Y))^people, the probability that people like these show Y at least once,
    and the confidence, the share of them who do not have it. `predicates`: the longest conjunction. `fuzzy`: people
    within this share of a numeric attribute's range count in part. `minimal`: only rules that no wider rule implies.
    """

    min_expectation: float = 0.9
    min_confidence: float = 1.0
    predicates: int = 1
    fuzzy: float = 0.0
    minimal: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.min_expectation < 1:
            raise UsageError(f"negative_rules: min_expectation={self.min_expectation:g} must lie between 0 and 1")
        if not 0 < self.min_confidence <= 1:
            raise UsageError(f"negative_rules: min_confidence={self.min_confidence:g} must lie in (0, 1]")
        if self.predicates < 1:
            raise UsageError(f"negative_rules: predicates={self.predicates}; a rule needs at least one")
        if not 0 <= self.fuzzy <= 1:
            raise UsageError(f"negative_rules: fuzzy={self.fuzzy:g} is a share of the range, from 0 to 1")

    def rules(self, table: Table, asked: str | None = None) -> Rules:
        """Cost: one count of the distinct cells for each choice of a level an attribute."""
        found = mine(
            CountedCells.of(table, asked),
            min_expectation=self.min_expectation,
            min_confidence=self.min_confidence,
            predicates=self.predicates,
            fuzzy=self.fuzzy,
        )
        return found.minimal() if self.minimal else found

    def prior(self, table: Table, asked: str | None = None) -> PersonPrior:
        """The overall distribution, with no more for a value than the rules leave it; what is left is scaled up."""
        rules = self.rules(table, asked)
        overall = CountedCells.of(table, asked).overall()

        def look_up(cells: NDArray[np.int64]) -> NDArray[np.float64]:
            held = np.minimum(overall, rules.ceiling(cells))
            total = held.sum(axis=1, keepdims=True)
            if (total <= 0).any():
                raise UsageError("negative_rules: the rules leave a cell no value at all; it is not in the table")
            return np.asarray(held / total)

        return PersonPrior(rules.attributes, rules.sensitive, look_up, f"{len(rules)} negative rules")
