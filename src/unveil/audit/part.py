"""What an audit found of one release."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unveil.audit.asking import Answers
from unveil.audit.background import Section
from unveil.audit.document import Finding
from unveil.audit.membership import Membership
from unveil.data.belief import Belief
from unveil.risk.linkage.published import Published
from unveil.risk.linkage.register import Register
from unveil.risk.perturbation import PerturbedColumn

__all__ = ["Part"]


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
    charts: Mapping[str, Any] = field(default_factory=dict)  # of a masked release, in addition to those of its findings
    composition: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by attribute: with earlier releases
    combinations: tuple[dict[str, Any], ...] = ()  # one row a combination and sensitive attribute
    perturbed: tuple[PerturbedColumn, ...] = ()  # columns that do not show true values, though nothing said so
    panel: tuple[Mapping[str, Any], ...] = ()  # one row a sensitive attribute: see audit.panel
