"""What every source of a frontier's numbers is: it claims ids and turns a made release into findings."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from unveil import utility
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit.document import Finding, FindingId
from unveil.data.attribute import Role
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.frontier.schemes import Candidate
from unveil.privacy.distances import distance as distance_named
from unveil.utility.predicates import Predicates

__all__ = ["Questions", "ReaderSettings", "Source", "State", "Yardstick"]

State = Mapping[tuple[str, str | None, str], str]  # by release, attribute and reader: "disagree" or "imprecise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """What utility and privacy loss ask of every release: the same of all."""

    distance: str = "js"  # of privacy loss and utility loss
    minimum_support: float = 0.05  # of large populations
    dimension: int = 2  # quasi-identifiers in a query
    selectivity: float = 0.05
    queries: int = 1000

    def __post_init__(self) -> None:
        distance_named(self.distance)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSettings:
    """Who attacks, what they know of a person, and how long chains run; used only if a measure asks for it."""

    attackers: Mapping[str, Any] = field(
        default_factory=lambda: {"bayesian": Bayesian(), "random_worlds": RandomWorlds()}
    )
    known: tuple[str, ...] | None = None
    joined: tuple[tuple[str, ...], ...] = ()
    chains: Chains = field(default_factory=Chains)
    sample: int | None = None


@dataclass(frozen=True, eq=False)
class Yardstick:
    """What every release of one table is measured with: made once."""

    table: Table
    questions: Questions
    reading: ReaderSettings
    engine: Engine
    precise: bool = True  # whether points are held against limits, or a precision was asked for

    @cached_property
    def populations(self) -> Predicates:
        """The large populations."""
        return utility.large_populations(self.table, minimum_support=self.questions.minimum_support)

    @cached_property
    def queries(self) -> Predicates:
        """The random queries."""
        known = len(self.table.with_role(Role.QUASI_IDENTIFIER))
        return utility.random_queries(
            self.table,
            dimension=max(min(self.questions.dimension, known), 1),
            selectivity=self.questions.selectivity,
            queries=self.questions.queries,
            seed=self.engine.seed,
        )

    def prepare(self, ids: Sequence[str]) -> None:
        """Make the pieces these measures share, before threads would make them twice."""
        if {"utility_loss", "rule_recall"} & set(ids):
            _ = self.populations
        if "query_error" in ids:
            _ = self.queries


class Source(ABC):
    """One family of measures."""

    of_release: ClassVar[bool] = True  # equal releases have equal findings, whoever made them

    @abstractmethod
    def claims(self, id: FindingId) -> bool:
        """Whether this id (not a difference) is one of its findings."""

    @abstractmethod
    def findings(
        self, ids: Sequence[str], candidate: Candidate | None, made: Anonymized, shared: Yardstick
    ) -> tuple[list[Finding], State]:
        """What was asked for, of a release called ""; and readers that are not to be relied on."""
