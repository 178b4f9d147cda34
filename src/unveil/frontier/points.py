"""Points: one candidate, made and measured, or the reason why it could not be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import Literal

from unveil.audit.document import Finding, amount
from unveil.frontier.schemes import Candidate
from unveil.frontier.sources import higher_is_better, names
from unveil.privacy.models import KAnonymity, PrivacyModel, TCloseness

__all__ = ["ORIGINAL", "SUPPRESSED", "Axes", "Place", "Point", "Status", "Value", "bounded_by", "dominates", "value_of"]

ORIGINAL, SUPPRESSED = "original", "all suppressed"
Status = Literal["measured", "unsure", "infeasible", "not applicable"]


@dataclass(frozen=True, slots=True)
class Value:
    """A point's number on one scale, as it is read: the worst of its attributes and attackers."""

    value: float
    low: float
    high: float


Place = tuple[Value, Value]  # risk and utility lost, turned so that less is better


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One release of the sweep. `reason`: why there are no numbers, or why they are not to be relied on."""

    name: str
    candidate: Candidate | None  # None: one of the two trivial releases
    status: Status
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    unreliable: Mapping[tuple[str, str | None, str], str] | None = None  # readers, as an audit has them
    rows: int = 0
    groups: int = 0
    note: str = ""  # what the anonymizer found out, for whoever ran it
    digest: str = ""  # of the release: equal ones are the same release
    refined: bool = False  # not of the grid

    @property
    def trivial(self) -> bool:
        """The original, or the table without its quasi-identifiers: shown, never recommended."""
        return self.candidate is None

    @property
    def reliable(self) -> bool:
        """Measured, and every chain behind it agreed and was precise."""
        return self.status == "measured"


@dataclass(frozen=True, slots=True)
class Axes:
    """The two measures a frontier is drawn by."""

    risk: str
    utility: str
    attackers: tuple[str, ...]

    def place(self, point: Point) -> "Place | None":
        """Risk and utility loss, turned so that less is better; None where one is not known."""
        found = []
        for id in (self.risk, self.utility):
            value = value_of(point.findings, id, self.attackers)
            if value is None:
                return None
            turned = higher_is_better(id)
            found.append(Value(-value.value, -value.high, -value.low) if turned else value)
        return found[0], found[1]


def dominates(mine: Place, theirs: Place) -> bool:
    """No worse in both and better in one; a difference within the intervals of sampled risks is none.

    Utility is compared by its value: all releases are asked the same questions.
    """
    (risk, loss), (their_risk, their_loss) = mine, theirs
    slack = _slack(risk.value, their_risk.value)
    safer, riskier = risk.high < their_risk.low - slack, risk.low > their_risk.high + slack
    slack = _slack(loss.value, their_loss.value)
    useful, useless = loss.value < their_loss.value - slack, loss.value > their_loss.value + slack
    return not riskier and not useless and (safer or useful)


def _slack(one: float, other: float) -> float:
    """What rounding may do."""
    return 1e-9 * max((abs(v) for v in (one, other) if isfinite(v)), default=0.0)


def value_of(findings: Sequence[Finding], id: str, attackers: Sequence[str]) -> Value | None:
    """The worst of the findings that an id stands for; None if there is none, or one is not known."""
    more = higher_is_better(id)
    found = []
    for finding in findings:
        if names(id, finding, attackers):
            ends = [amount(n) for n in (finding.value, finding.low, finding.high)]
            if isnan(ends[0]):
                return None
            low, high = (-inf if isnan(ends[1]) else ends[1]), (inf if isnan(ends[2]) else ends[2])
            found.append(Value(ends[0], low, high))
    if not found:
        return None
    pick = min if more else max
    return Value(pick(v.value for v in found), pick(v.low for v in found), pick(v.high for v in found))


def bounded_by(models: Sequence[PrivacyModel], risk: str, distance: str) -> str | None:
    """The requirement that bounds this risk by construction: then the point's place says nothing new."""
    name = risk.partition(".")[0]
    for model in models:
        same = model.name == name
        loss = isinstance(model, TCloseness) and name == "privacy_loss" and model.distance == distance
        found = isinstance(model, KAnonymity) and name in ("prosecutor_risk", "journalist_risk", "marketer_risk")
        # (n,t)-closeness holds a group against a superset, not against the whole table
        if same or found or (loss and model.name == "t_closeness"):
            return f"{model.name} ≤ {model.threshold:g}" if not model.higher_is_safer else _at_least(model)
    return None


def _at_least(model: PrivacyModel) -> str:
    return f"{model.name} ≥ {model.threshold:g}"
