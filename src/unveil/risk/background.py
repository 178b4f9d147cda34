"""Foreknowledge: what knowledge beforehand is worth by itself, and whom it exposes in a release."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.background import PeopleGroups
from unveil.attackers.posterior.roster import fitting_groups, put_apart, with_roster
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Targets
from unveil.data.person_prior import PersonPrior
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.errors import UsageError
from unveil.kernels.assignment import EXACT
from unveil.privacy.distances import Geometry, jensen_shannon
from unveil.privacy.knowledge.kernel import Kernel
from unveil.privacy.knowledge.mining.cells import some_sharing, valid_kinds
from unveil.privacy.knowledge.mining.rules import Rules
from unveil.privacy.knowledge.overall import OverallShares
from unveil.risk.news import halves, kinds_of, sure

__all__ = [
    "BackgroundRisk",
    "PriorKnowledge",
    "RankedRule",
    "background_risk",
    "background_risk_by_bandwidth",
    "describe_knowledge",
    "omega_error",
    "raised_by_register",
    "rank_rules",
    "seen_by_members",
    "told_by_others",
    "told_by_register",
]

MOST_COUNTED = 5  # impossible values; as many or more are one class


@dataclass(frozen=True, slots=True, eq=False)
class PriorKnowledge:
    """What is held of the people of a table before anything is released."""

    prior: PersonPrior
    rules: Rules | None
    held: NDArray[np.float64]  # (rows, values)
    truth: NDArray[np.int64]  # (rows,)
    overall: NDArray[np.float64]  # (values,)

    def impossible(self) -> NDArray[np.float64]:
        """Shares of people with 0, 1, … 4, and 5 or more impossible values, of those that somebody has."""
        number = ((self.held <= 0) & (self.overall > 0)).sum(axis=1)
        return np.asarray(np.bincount(np.minimum(number, MOST_COUNTED), minlength=MOST_COUNTED + 1) / len(number))


@dataclass(frozen=True, slots=True, eq=False)
class BackgroundRisk:
    """Whom knowledge exposes in a release; people of one cell in one group share their numbers."""

    people: NDArray[np.int64]  # (entries,)
    distance: NDArray[np.float64]  # (entries,) of the belief after the release from the one before (Jensen-Shannon)
    surest: NDArray[np.float64]  # (entries,) the largest belief in a value after the release
    gain: NDArray[np.float64]  # (entries,) the largest growth of a belief in a value that is not harmless
    valid: NDArray[np.int64] | None  # (entries,) how many values each person can still have; None: not asked
    estimated: int  # people in groups that needed the Omega-estimate

    @property
    def exact(self) -> bool:
        """Whether no group needed the Omega-estimate."""
        return self.estimated == 0

    def beyond(self, t: float) -> int:
        """People whose belief moves by more than t: vulnerable under (B,t)."""
        return int(self.people[self.distance > t + 1e-12].sum())

    def fewer(self, l: int) -> int:
        """People with fewer than l valid values: vulnerable under the rules."""
        if self.valid is None:
            raise UsageError("valid values were not counted; ask for them with matching=True")
        return int(self.people[self.valid < l].sum())

    @property
    def worst(self) -> float:
        """The largest distance: the worst-case disclosure risk."""
        return float(self.distance.max())

    def mean(self, of: NDArray[np.float64]) -> float:
        """The mean over people of one of the arrays."""
        return float(np.average(of, weights=self.people))


def describe_knowledge(table: Table, knowledge: Any, asked: str | None = None) -> PriorKnowledge:
    """Hold a member of the knowledge family against the people of a table."""
    prior: PersonPrior = knowledge.prior(table, asked)
    known = table.with_role(Role.QUASI_IDENTIFIER)
    columns = [table.columns[i] for i in known]
    cells = np.stack(columns, axis=1) if columns else np.zeros((table.rows, 0), dtype=np.int64)
    truth = table.columns[table.index(prior.sensitive.name)].astype(np.int64)
    rules = knowledge.rules(table, asked) if hasattr(knowledge, "rules") else None
    overall = OverallShares().prior(table, asked).of(cells[:1])[0]
    return PriorKnowledge(prior, rules, prior.of(cells), truth, overall)


def background_risk(
    release: Release,
    asked: int,
    prior: PersonPrior,
    *,
    roster: Targets | None = None,
    cost: float = 2e6,
    matching: bool = True,
) -> BackgroundRisk:
    """What somebody who holds this prior of everybody learns from a release about each of its people.

    `roster`: everybody in the table, which a generalised release needs. `cost`: as in the `background` attacker.
    `matching`: whether to count everybody's valid values.
    """
    seen = seen_by_members(release, asked, roster)
    groups = PeopleGroups.of(seen, asked)
    held = groups.held(seen, prior)
    found, method = groups.posterior(seen, held, cost)
    harmful = np.ones(held.shape[1], dtype=bool)
    harmful[list(release.attributes[asked].harmless)] = False
    return BackgroundRisk(
        groups.count,
        jensen_shannon(found, held, Geometry()),
        found.max(axis=1),
        (found - held)[:, harmful].max(axis=1, initial=0.0),
        _valid_numbers(seen, groups, held > 0) if matching else None,
        int(seen.sizes[method != EXACT].sum()),
    )


def seen_by_members(release: Release, asked: int, roster: Targets | None = None) -> Release:
    """The release to whoever knows everybody's quasi-identifiers: these stand apart from the values of the group."""
    return put_apart(release, asked).release if roster is None else with_roster(release, roster).release


def omega_error(release: Release, asked: int, prior: PersonPrior, cost: float = 2e6) -> float:
    """How far the Omega-estimate of D(belief, prior) lies from the exact one, on average where both can be had.

    NaN if no group was small enough for both. `release`: as `seen_by_members` gives it.
    """
    groups = PeopleGroups.of(release, asked)
    held = groups.held(release, prior)
    method = groups.posterior(release, held, cost)[1]
    found = groups.omega_error(release, held, cost, method)
    return float(found.get("omega_js_error", np.nan))


def background_risk_by_bandwidth(
    release: Release,
    asked: int,
    table: Table,
    bandwidths: Sequence[tuple[float, ...]],
    *,
    roster: Targets | None = None,
    cost: float = 2e6,
) -> list[BackgroundRisk]:
    """The same for readers who know more or less: the worst case over the bandwidth (Li 2010, figure 3.11)."""
    name = release.attributes[asked].name
    seen = seen_by_members(release, asked, roster)
    priors = (Kernel(bandwidth=b).prior(table, name) for b in bandwidths)
    return [background_risk(seen, asked, prior, cost=cost, matching=False) for prior in priors]


@dataclass(frozen=True, slots=True)
class RankedRule:
    """One negative rule, and whom knowing it alone would expose."""

    text: str
    people: float  # of whom it speaks
    exposed: int  # people of whom some value is believed with the stated probability, and would not be without it


def rank_rules(
    release: Release,
    asked: int,
    table: Table,
    rules: Rules,
    *,
    roster: Targets | None = None,
    at_least: float = 0.5,
    cost: float = 2e5,
) -> list[RankedRule]:
    """Which rule, if known beside the overall distribution, would expose most people in a release; the worst first.

    Exposed: some value of theirs is believed with `at_least`. Cost: one pass over all groups a rule.
    """
    plain = OverallShares().prior(table, release.attributes[asked].name)
    seen = seen_by_members(release, asked, roster)
    groups = PeopleGroups.of(seen, asked)
    held = groups.held(seen, plain)
    codes = groups.codes(seen, tuple(a.name for a in plain.attributes))
    before = groups.posterior(seen, held, cost)[0].max(axis=1) >= at_least - 1e-12
    found = []
    for number, text in enumerate(rules.texts()):
        left = np.minimum(held, rules.take(np.array([number])).ceiling(codes))
        left /= left.sum(axis=1, keepdims=True)
        after = groups.posterior(seen, left, cost)[0].max(axis=1) >= at_least - 1e-12
        found.append(RankedRule(text, float(rules.people[number]), int(groups.count[after & ~before].sum())))
    return sorted(found, key=lambda fact: -fact.exposed)


def told_by_others(release: Release, asked: int, known: int = 2) -> float:
    """Share of rows whose value is certain to whoever knows those of `known` other people of the group, if these are
    the right ones: everybody who is left has it.

    Harmless values do not count, nor those of more than half of the rows, which would be guessed anyway.
    """
    held = _values_of_groups(release, asked)
    usual = held.sum(axis=0) > held.sum() / 2
    usual[list(release.attributes[asked].harmless)] = True
    told = (release.sizes[:, None] - held <= known) & ~usual
    return float(held[told].sum() / release.rows)


def told_by_register(
    release: Release, asked: int, people: Targets, truth: NDArray[np.integer], at_least: float
) -> float:
    """Share of people whose own value is told, with news, to whoever holds everybody's quasi-identifiers, by counting.

    The rows of a group belong to people who fit it. So of those who fit, at least as many have a value as rows show it,
    whatever other groups they fit as well. The same for kinds of values, and for halves and tenths of ordered ones.
    `truth`: (people,) their values.
    """
    attribute = release.attributes[asked]
    held = _values_of_groups(release, asked)
    number, kind, group, fit = _who_fits(release, people)
    harmless = np.isin(np.arange(held.shape[1]), list(attribute.harmless))
    exposed = np.zeros(len(truth), dtype=bool)
    for node, sure_at in _ways(attribute, np.bincount(truth, minlength=held.shape[1]) / max(len(truth), 1), at_least):
        member = np.zeros((len(node), int(node.max()) + 1))
        member[np.arange(len(node)), node] = ~harmless
        own = node[truth]
        share = np.bincount(own, minlength=member.shape[1]) / max(len(truth), 1)
        told = sure(held @ member / fit[:, None], share[None, :], sure_at)
        some = np.asarray(told.any(axis=1))[group]
        pair, value = np.nonzero(told[group[some]])
        exposed |= np.isin(number * member.shape[1] + own, kind[some][pair] * member.shape[1] + value)
    return float((exposed & ~harmless[truth]).mean())


def raised_by_register(
    release: Release, asked: int, people: Targets, truth: NDArray[np.integer], *, times: float = 10.0, least: int = 10
) -> float:
    """The share, among the people of one value and at worst, whose own value becomes one in four or more by counting.

    To somebody who holds everybody's quasi-identifiers, at `times` the odds of its overall share. Values of fewer than
    `least` people are left out, as by `raised_of_value`.
    """
    held = _values_of_groups(release, asked)
    number, kind, group, fit = _who_fits(release, people)
    owners = np.bincount(truth, minlength=held.shape[1])
    share = owners / max(len(truth), 1)
    p = held / fit[:, None]
    told = (p >= 0.25 - 1e-9) & (p * (1 - share) >= times * share * (1 - p) - 1e-9) & (share < 1)
    told[:, list(release.attributes[asked].harmless)] = False
    some = np.asarray(told.any(axis=1))[group]
    pair, value = np.nonzero(told[group[some]])
    raised = np.isin(number * held.shape[1] + truth, kind[some][pair] * held.shape[1] + value)
    counts = owners >= least
    return float(
        (np.bincount(truth, weights=raised, minlength=held.shape[1])[counts] / owners[counts]).max(initial=0.0)
    )


def _who_fits(
    release: Release, people: Targets
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """(people,) their kinds; pairs of a kind and a group that it fits; and (groups,) how many people fit each."""
    number, kind, group = fitting_groups(release, people)
    fit = np.bincount(group, weights=np.bincount(number)[kind], minlength=release.groups)
    return number, kind, group, np.maximum(fit, release.sizes)


def _ways(
    attribute: Attribute, share: NDArray[np.float64], at_least: float
) -> Iterator[tuple[NDArray[np.int64], float]]:
    """Values as they are, as kinds, and as halves and tenths of all people; and how sure one must be of each."""
    closely = max(at_least, 0.95)  # two halves are often alike by chance
    yield np.arange(len(share)), at_least
    yield from ((node, closely) for node, _ in kinds_of(attribute))
    if attribute.kind.measured or attribute.kind is Kind.ORDINAL:
        yield halves(attribute, share), closely
        tenth = np.minimum((10 * (np.cumsum(share) - share / 2)).astype(np.int64), 9)
        tenth[attribute.real :] = 10
        yield tenth, at_least


def _values_of_groups(release: Release, asked: int) -> NDArray[np.int64]:
    """(groups, values) rows; of withheld or wider values none."""
    block = release.block_of(asked)
    code = release.regions[asked].single()[block.region(asked)]
    held = np.zeros((release.groups, release.attributes[asked].codes), dtype=np.int64)
    np.add.at(held, (block.group[code >= 0], code[code >= 0]), block.count[code >= 0])
    return held


def _valid_numbers(release: Release, groups: PeopleGroups, possible: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(entries,) how many different values the people of an entry can have. A withheld value is left out of account."""
    single = release.regions[groups.asked].single()
    if (single[groups.item] < 0).any():
        return np.full(len(groups.count), possible.shape[1])
    if possible.all():  # every value of the group is valid for everybody
        return np.repeat(np.diff(groups.item_start), np.diff(groups.block.start))
    counts = np.zeros((release.groups, possible.shape[1]), dtype=np.int64)
    item_group = np.repeat(np.arange(release.groups), np.diff(groups.item_start))
    counts[item_group, single[groups.item]] = groups.item_count
    shared = some_sharing(groups.block.group, groups.count, possible, counts)
    return np.asarray(valid_kinds(groups.block.group, shared > 0, possible).sum(axis=1))
