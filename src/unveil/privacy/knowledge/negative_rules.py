"""Negative rules: what people with some quasi-identifiers never have, found in the table itself."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.options import Options, number, whole
from unveil.data.person_prior import PersonPrior
from unveil.data.table import Table
from unveil.errors import UsageError
from unveil.privacy.knowledge.mining.cells import CountedCells
from unveil.privacy.knowledge.mining.rules import Rules, mine

__all__ = ["NegativeRules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativeRules(Options):
    """X ⇒ not Y, where there are enough people that one of them could be expected to have Y (Li 2010, section 3.3).

    A rule needs the expectation 1 - (1 - P(Y))^people, the probability that people like these show Y at least once,
    and the confidence, the share of them who do not have it. `predicates`: the longest conjunction. `fuzzy`: people
    within this share of a numeric attribute's range count in part. `minimal`: only rules that no wider rule implies.
    """

    min_expectation: float = number(0, 1, above=True, below=True, default=0.9)
    min_confidence: float = number(0, 1, above=True, default=1.0)
    predicates: int = whole(1, default=1)
    fuzzy: float = number(0, 1, default=0.0)
    minimal: bool = False

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
