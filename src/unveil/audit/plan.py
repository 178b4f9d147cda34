"""What an audit was asked for, checked before the work; and what it found of one release."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attribute import Role
from unveil.audit.asking import Answers, Readers
from unveil.audit.background import Asked, Section
from unveil.audit.limits import check_limits
from unveil.audit.measures import labels_of
from unveil.document import Finding
from unveil.errors import UsageError, shown
from unveil.release import Release
from unveil.table import Table

__all__ = ["Part", "Plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that was asked for, checked before the work."""

    releases: Mapping[str, Release]
    table: Table | None
    control: Table | None
    population: Table | None
    readers: Readers
    sample: int | None
    joint: bool
    assignments: Mapping[str, NDArray[np.integer]]
    limits: tuple[str, ...]
    least: int
    background: Asked = None

    @property
    def attackers(self) -> tuple[str, ...]:
        """The names of all attackers."""
        return (*self.readers.attackers, *self.readers.in_group)

    def check(self) -> None:
        """Refuse what makes no sense."""
        if not self.releases:
            raise UsageError("name at least one release to audit")
        if not self.readers.attackers:
            raise UsageError("an audit needs at least one attacker")
        clash = {"learner", "ideal"} & set(self.readers.attackers)
        if clash:
            raise UsageError(f"{clash.pop()} is asked anyway; name attackers")
        if not 0 <= self.readers.wrong < 1:
            raise UsageError(f"the probability of a wrong attribute must lie in [0, 1), not {self.readers.wrong:g}")
        if self.sample is not None and self.sample < 1:
            raise UsageError(f"a sample of {self.sample} people says nothing; choose 1 or more")
        if self.table is None and (self.control is not None or self.assignments):
            what = "control people" if self.control is not None else "an assignment"
            raise UsageError(f"{what} can be used only with the original")
        for name, group in self.assignments.items():
            if name not in self.releases:
                raise UsageError(f"an assignment for {shown(name)}, which is no release here")
            assert self.table is not None
            if len(group) != self.table.rows:
                raise UsageError(f"the assignment of {name} has {len(group)} rows, the original {self.table.rows}")
        if self.population is not None:
            held = {a.name: a.codes for a in self.population.attributes}
            for name, release in self.releases.items():
                for index in release.with_role(Role.QUASI_IDENTIFIER):
                    if held.get(release.attributes[index].name) != release.attributes[index].codes:
                        what = shown(release.attributes[index].name)
                        raise UsageError(f"the population does not speak of {what} of {name}, or in another domain")
        published = {a.name for release in self.releases.values() for a in release.attributes}
        unknown = [n for n in self.readers.known or () if n not in published]
        if unknown:
            raise UsageError(
                f"{shown(unknown[0])} is published by no release; known may be {', '.join(sorted(published))}"
            )
        labels: set[str] = set()
        for release in self.releases.values():
            for index in release.with_role(Role.SENSITIVE):
                labels |= set(labels_of(release.attributes[index]))
        check_limits(self.limits, self.attackers, None if self.joint else labels)

    def limited(self) -> list[str]:
        """The ids that limits name."""
        return check_limits(self.limits, self.attackers, None)

    def wanted(self) -> list[str]:
        """Statistics that limits name, without the reader."""
        found = []
        for id in self.limited():
            reader, _, rest = id.partition(".")
            found.append(rest if reader in (*self.attackers, "learner") else id)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What was found of one release."""

    name: str
    findings: tuple[Finding, ...]
    answers: Mapping[str, Answers]
    not_applicable: Mapping[str, str]  # by attribute: why nobody could be asked
    facts: Mapping[str, Any]
    remarks: tuple[str, ...]
    sampled: int | None  # people asked about, if not all
    background: Mapping[str, Section] = field(default_factory=dict)  # by attribute
