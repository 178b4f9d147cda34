"""Limits of an audit as rules about single people: what may be true of nobody, or of a share of all."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unveil.audit.limits import Limit, parse_limit, refuse_reversed_limits
from unveil.audit.measures import kind_of
from unveil.errors import UsageError, shown
from unveil.kernels import bounded as kernels

__all__ = ["ADDED", "COUNTS", "OWN_COUNT", "Rule", "rules_of"]

OWN_COUNT = 1.0  # pseudo-counts of an audit's own reader
COUNTS = (OWN_COUNT, 0.1, 5.0)  # of the readers in the loop

ADDED = "relative_threat.share_2x <= 0.2"  # beside maxima alone; one group of everybody keeps it
READERS = ("bayesian", "random_worlds")
_NUMBER = r"(\d+(?:\.\d+)?)"
# statistic -> what is counted; {} is the number in it
_SHARES = {
    "relative_threat": (f"share_{_NUMBER}x", kernels.THREAT, 1.0),
    "confident": (_NUMBER, kernels.CONFIDENT, 100.0),
    "disclosed": (_NUMBER, kernels.DISCLOSED, 100.0),
    "misled": (_NUMBER, kernels.MISLED, 100.0),
    "raised": (f"{_NUMBER}x", kernels.RAISED, 1.0),
}
_LARGEST = {"relative_threat": kernels.THREAT, "belief_gain": kernels.GAIN}
CHOICE = (
    "relative_threat (max, q95, share_2x), belief_gain (or q95), confident.80, disclosed.80, misled.80, raised.10x, "
    "global_threat"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """People counted by `kind` and `level` may add up to `most` of all; 0: nobody may."""

    limit: Limit
    reader: str | None  # a limit may be about one reader alone
    kind: int
    level: float
    most: float
    among: float = 0.0  # of a quantile among those whose true value is believed most

    @property
    def of_nobody(self) -> bool:
        """Whether one person is too many."""
        return self.most == 0 and self.kind != kernels.THREAT_AMONG

    @property
    def of_threat(self) -> bool:
        """Whether it compares with a learner, of whom an audit has two."""
        return self.kind in (kernels.THREAT, kernels.THREAT_AMONG)

    def stated(self, *, worlds: bool) -> tuple[str, ...]:
        """As limits of an audit, which says the same of all its readers. `worlds`: random_worlds keeps it, too."""
        if worlds or self.reader is not None:
            return (self.limit.text,)
        return tuple(f"{reader}.{self.limit.text}" for reader in ("bayesian", "boosted"))


def rules_of(limits: Sequence[str]) -> list[Rule]:
    """Refuse what cannot be said of single people. If only maxima are limited, a share is, too: what is allowed is used
    up by many."""
    if not limits:
        raise UsageError("--until needs a limit, for instance --until 'relative_threat.max <= 5'")
    refuse_reversed_limits(limits)
    found = [_rule(parse_limit(text)) for text in limits]
    if all(rule.of_nobody for rule in found):
        found.append(_rule(parse_limit(ADDED)))
    return found


def _rule(limit: Limit) -> Rule:
    left = limit.left
    reader, measure, statistic = left.reader, left.measure, left.statistic or ""
    if limit.right is not None or limit.sign not in ("<=", "<"):
        raise UsageError(f"{shown(limit.text)}: --until takes upper limits on one measure; choose from {CHOICE}")
    if reader is not None and kind_of(reader) not in READERS:
        raise UsageError(f"{shown(limit.text)}: in --until a reader is one of {', '.join(READERS)}, or every reader")
    bound = limit.number if limit.sign == "<=" else float(np.nextafter(limit.number, -np.inf))
    just_above = float(np.nextafter(bound, np.inf))
    quantile = re.fullmatch(f"q{_NUMBER}", statistic)
    if measure == "relative_threat" and quantile and float(quantile[1]) <= 100:
        share = 1 - float(quantile[1]) / 100
        if share:
            return Rule(limit, reader, kernels.THREAT_AMONG, just_above, 0.0, share)
        statistic = "max"
    if measure == "belief_gain" and quantile and float(quantile[1]) <= 100:
        return Rule(limit, reader, kernels.GAIN, bound, 1 - float(quantile[1]) / 100)
    if measure in _LARGEST and statistic in ("max", ""):
        return Rule(limit, reader, _LARGEST[measure], just_above if measure == "relative_threat" else bound, 0.0)
    if measure in _SHARES:
        form, kind, unit = _SHARES[measure]
        if (match := re.fullmatch(form, statistic)) is not None:
            return Rule(limit, reader, kind, float(match[1]) / unit, bound)
    if measure in ("global_threat", "accuracy") and not statistic:
        return Rule(limit, reader, kernels.GUESSED, 0.0, bound)
    raise UsageError(f"{shown(limit.text)}: no release can be searched for by {left.name}; choose from {CHOICE}")
