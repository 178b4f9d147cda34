"""What an audit was asked for, checked before the work; and what it found of one release."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.asking import Answers, Readers, asked_of
from unveil.audit.background import Asked, Section
from unveil.audit.document import Finding
from unveil.audit.limits import check_limits
from unveil.audit.measures import labels_of
from unveil.audit.membership import Membership, MembershipAsked
from unveil.data.attribute import Role
from unveil.data.belief import Belief
from unveil.data.masked import Masked
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError, shown
from unveil.risk.linkage.published import Published
from unveil.risk.linkage.register import Register

__all__ = ["Part", "Plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that was asked for, checked before the work."""

    releases: Mapping[str, Release | Masked]
    table: Table | None
    control: Table | None
    population: Table | None
    readers: Readers
    sample: int | None
    asked: tuple[str, ...] | None  # attributes to ask about; None: the sensitive ones, or all that may be known
    joint: bool
    assignments: Mapping[str, NDArray[np.integer]]
    limits: tuple[str, ...]
    least: int
    membership: MembershipAsked | None = None  # None: not asked
    background: Asked = None
    combinations: tuple[tuple[str, ...], ...] = ()  # of known attributes, each asked about alone

    @property
    def attackers(self) -> tuple[str, ...]:
        """The names of all attackers."""
        return (*self.readers.attackers, *self.readers.in_group)

    def at(self, engine: Engine) -> "Plan":
        """The same, worked on by this engine."""
        return replace(self, readers=replace(self.readers, engine=engine))

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
            release = self.releases[name]
            rows, of = (release.rows, "it") if isinstance(release, Masked) else (self.table.rows, "the original")
            if len(group) != rows:
                raise UsageError(f"the assignment of {name} has {len(group)} rows, {of} {rows}")
        if self.population is not None:
            held = {a.name: a.codes for a in self.population.attributes}
            for name, release in self.releases.items():
                for index in release.with_role(Role.QUASI_IDENTIFIER):
                    if held.get(release.attributes[index].name) != release.attributes[index].codes:
                        what = shown(release.attributes[index].name)
                        raise UsageError(f"the population does not speak of {what} of {name}, or in another domain")
        possible = {r.attributes[i].name for r in self.releases.values() for i in asked_of(r)}
        strange = [n for n in self.asked or () if n not in possible]
        if strange or (self.asked is not None and not self.asked):
            what = f"asked names {shown(strange[0])}" if strange else "asked names nothing"
            raise UsageError(
                f"{what}; it may name {', '.join(sorted(possible)) or 'nothing: no attribute is sensitive'}"
            )
        published = {a.name for release in self.releases.values() for a in release.attributes}
        unknown = [n for n in self.readers.known or () if n not in published]
        if unknown:
            raise UsageError(
                f"{shown(unknown[0])} is published by no release; known may be {', '.join(sorted(published))}"
            )
        labels: set[str] = set()
        for release in self.releases.values():
            for index in asked_of(release, self.asked):
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
    sentences: Mapping[str, str] = field(default_factory=dict)  # by attribute, of a masked release
    beliefs: Mapping[str, Mapping[str, Belief]] = field(default_factory=dict)  # likewise, by attribute and reader
    refused: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # likewise: why a reader does not apply
    membership: Membership | None = None
    background: Mapping[str, Section] = field(default_factory=dict)  # by attribute
    links: tuple[Published, Register] | None = None  # of a masked release: who is compared with which rows
    charts: Mapping[str, Any] = field(default_factory=dict)  # of a masked release, besides those of its findings
    combinations: tuple[dict[str, Any], ...] = ()  # one row a combination and sensitive attribute
