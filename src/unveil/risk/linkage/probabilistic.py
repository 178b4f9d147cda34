"""Probabilistic linkage (Fellegi and Sunter 1969): agreement patterns weighed by how much likelier links show them.

m is the probability that a person and their own row agree on an attribute, u that a person and another's row do. The
weight of a pattern is the sum of log2(m/u) where it agrees and of log2((1-m)/(1-u)) where it does not.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unveil.errors import UsageError
from unveil.risk.linkage.links import Links
from unveil.risk.linkage.patterns import CodedFiles, pattern_counts, pattern_of, person_patterns, rows_agreeing

__all__ = [
    "Agreement",
    "LinkageRule",
    "PatternModel",
    "classify",
    "estimate_unsupervised",
    "from_true_links",
    "link_by_patterns",
]

LEAST = 1e-9  # probabilities are kept off 0 and 1 by this much
MOST_ROUNDS = 5000
STILL = 1e-9
Floats = NDArray[np.float64]


class PatternModel(ABC):
    """How often links, `m`, and other pairs, `u`, show each pattern of agreement."""

    __slots__ = ()
    m: Any  # by attribute
    u: Any

    @staticmethod
    @abstractmethod
    def of_patterns(p: Any) -> Floats:
        """(patterns,) the probability of each pattern, from those of the attributes."""

    def among_links(self) -> Floats:
        """(patterns,) the probability of each pattern given a link."""
        return self.of_patterns(self.m)

    def among_others(self) -> Floats:
        """(patterns,) the probability of each pattern given no link."""
        return self.of_patterns(self.u)

    def weights(self) -> Floats:
        """(patterns,) log2 of how much likelier a link shows each."""
        return np.asarray(np.log2(self.among_links()) - np.log2(self.among_others()))


@dataclass(frozen=True, slots=True, eq=False)
class Agreement(PatternModel):
    """How often links and other pairs agree on each attribute."""

    m: Floats  # (attributes,)
    u: Floats  # (attributes,)
    share: float  # of pairs that are links
    rounds: int = 0  # of estimation
    converged: bool = True

    @staticmethod
    def of_patterns(p: Floats) -> Floats:
        bits = _bits(len(p))
        return np.asarray(np.exp(bits @ np.log(p) + (1 - bits) @ np.log1p(-p)))

    def parameters(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """By attribute."""
        return [
            {"attribute": name, "m": float(m), "u": float(u)} for name, m, u in zip(names, self.m, self.u, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class LinkageRule:
    """Fellegi and Sunter's rule: a pattern is called a link, not a link, or goes to a clerk."""

    of_pattern: NDArray[np.int8]  # (patterns,) 2 link, 1 clerical, 0 no link
    upper: float  # least weight of a link; inf = no pattern is one
    lower: float  # largest weight of no link; -inf = no pattern is one
    false_links: float  # probability that a pair that is not a link is called one
    missed_links: float  # probability that a link is called none


def from_true_links(files: CodedFiles, true_row: NDArray[np.integer]) -> Agreement:
    """m counted on the true links: what nobody but the holder of the original can know, the worst case.

    `true_row` (people,): each person's own row, -1 = none. u is counted on all other pairs. Half a pair is added to
    each count, so that no probability is 0 or 1.
    """
    counts = pattern_counts(files)
    there = np.flatnonzero(np.asarray(true_row) >= 0)
    if not len(there):
        raise UsageError("none of these people is published, so there is no true link to learn from")
    own = np.bincount(
        pattern_of(files, files.of_person[there], files.of_row[np.asarray(true_row)[there]]), minlength=len(counts)
    )
    bits = _bits(files.attributes)
    pairs = float(counts.sum())
    others = pairs - len(there)
    m = (own @ bits + 0.5) / (len(there) + 1)
    u = ((counts - own) @ bits + 0.5) / (others + 1)
    return Agreement(m, u, len(there) / pairs)


def estimate_unsupervised(
    counts: NDArray[np.integer], *, share: float, u: Floats | None = None, fixed_share: bool = False
) -> Agreement:
    """m, u and the share of links from the patterns alone, by expectation maximisation: nobody says who is who.

    `counts` (patterns,) pairs; `share`: of pairs that are links, to begin with or, if fixed, for good. `u` given: it is
    kept, as it can be had from all pairs, nearly all of which are none. Attributes are taken as independent given link
    or no link; where people's attributes go together, what is found is partly that (see docs/linkage.md).
    """
    attributes = len(counts).bit_length() - 1
    bits = _bits(attributes)
    total = float(counts.sum())
    found = Agreement(np.full(attributes, 0.9), np.full(attributes, 0.1) if u is None else _inner(u), share)
    for rounds in range(1, MOST_ROUNDS + 1):
        links = found.among_links() * found.share
        belief = links / (links + found.among_others() * (1 - found.share))
        linked = counts * belief
        m = _inner(linked @ bits / max(linked.sum(), LEAST))
        rest = counts - linked
        others = found.u if u is not None else _inner(rest @ bits / max(rest.sum(), LEAST))
        part = found.share if fixed_share else float(np.clip(linked.sum() / total, 1e-15, 1 - 1e-15))
        moved = max(np.abs(m - found.m).max(), np.abs(others - found.u).max(), abs(part / found.share - 1))
        found = Agreement(m, others, part, rounds, bool(moved < STILL))
        if found.converged:
            break
    return found


def classify(model: PatternModel, *, false_links: float, missed_links: float) -> LinkageRule:
    """The most links and non-links such that neither error is larger than stated; all between is clerical.

    Patterns are taken from the heaviest down while others show them at most `false_links` of the time, and from the
    lightest up while links show them at most `missed_links` of the time. Where both would take a pattern it is a link.
    """
    for name, rate in (("false links", false_links), ("missed links", missed_links)):
        if not 0 <= rate <= 1:
            raise UsageError(f"the rate of {name} must lie between 0 and 1, not {rate:g}")
    weight = model.weights()
    order = np.argsort(-weight, kind="stable")
    of_others, of_links = model.among_others(), model.among_links()
    link = np.zeros(len(weight), dtype=bool)
    link[order] = np.cumsum(of_others[order]) <= false_links * (1 + 1e-12)
    none = np.zeros(len(weight), dtype=bool)
    none[order[::-1]] = np.cumsum(of_links[order[::-1]]) <= missed_links * (1 + 1e-12)
    none &= ~link
    return LinkageRule(
        of_pattern=np.where(link, 2, np.where(none, 0, 1)).astype(np.int8),
        upper=float(weight[link].min(initial=np.inf)),
        lower=float(weight[none].max(initial=-np.inf)),
        false_links=float(of_others[link].sum()),
        missed_links=float(of_links[none].sum()),
    )


def link_by_patterns(
    files: CodedFiles,
    model: Agreement,
    classes: LinkageRule,
    *,
    true_row: NDArray[np.integer] | None = None,
    spread: Literal["best", "posterior"] = "best",
) -> Links:
    """Each person's heaviest rows. A link is claimed where one row alone is heaviest, unless its pattern is not a link.

    `spread`: r(b) is uniform over the heaviest rows, or goes over all rows by their likelihood ratio. What is not known
    of a person has no weight.
    """
    counts = person_patterns(files)
    unknown = (files.people < 0) @ (1 << np.arange(files.attributes, dtype=np.int64))
    people = len(files.people)
    best, size, next_best = np.empty(people), np.empty(people, dtype=np.int64), np.empty(people)
    pattern, mass = np.empty(people, dtype=np.int64), np.empty(people)
    weights: dict[int, Floats] = {}
    for absent in np.unique(unknown).tolist():
        mine = np.flatnonzero(unknown == absent)
        weights[absent] = weight = _without(model, absent).weights()
        held = np.where(counts[mine] > 0, weight[None], -np.inf)
        best[mine], pattern[mine] = held.max(axis=1), held.argmax(axis=1)
        top = held >= best[mine, None] - STILL
        size[mine] = (counts[mine] * top).sum(axis=1)
        next_best[mine] = np.where(top, -np.inf, held).max(axis=1)
        mass[mine] = (counts[mine] * np.exp2(weight)[None]).sum(axis=1)
    chance = None
    if true_row is not None:
        chance = np.zeros(len(files.of_person))
        there = np.flatnonzero(np.asarray(true_row) >= 0)
        who = files.of_person[there]
        own = pattern_of(files, who, files.of_row[np.asarray(true_row)[there]])
        weighs = np.array([weights[a][p] for a, p in zip(unknown[who].tolist(), own.tolist(), strict=True)])
        if spread == "best":
            chance[there] = np.where(weighs >= best[who] - STILL, 1 / size[who], 0.0)
        else:
            chance[there] = np.exp2(weighs) / mass[who]
    cell = rows_agreeing(files, pattern)
    named = (cell >= 0) & (pattern_of(files, np.arange(people), cell) == pattern)
    first = np.unique(files.of_row, return_index=True)[1]
    row = np.where(named, first[cell], -1)
    claim = (size == 1) & (classes.of_pattern[pattern] > 0)
    margin = np.where(size > 1, 0.0, best - next_best)
    each = files.of_person
    return Links(row[each], size[each], best[each], claim[each], chance, margin[each])


def _without(model: Agreement, absent: int) -> Agreement:
    """The same reader where some attributes are unknown: both probabilities 1/2, so that they have no weight."""
    lost = (absent >> np.arange(len(model.m))) & 1 == 1
    return replace(model, m=np.where(lost, 0.5, model.m), u=np.where(lost, 0.5, model.u))


def _bits(attributes: int) -> Floats:
    """(patterns, attributes) 1 where a pattern agrees."""
    return ((np.arange(1 << attributes)[:, None] >> np.arange(attributes)[None]) & 1).astype(np.float64)


def _inner(p: Floats) -> Floats:
    return np.asarray(np.clip(p, LEAST, 1 - LEAST))
