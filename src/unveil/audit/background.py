"""Background knowledge in an audit: readers who hold something of everybody before they read the release.

They know the quasi-identifiers of all people, and how like people's values are spread (kernel priors, Li 2010, section
3.6) or what some people never have (negative rules, section 3.3). What the release adds to that is measured.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from threading import Event
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.roster import member_block, place_members
from unveil.audit.document import Finding, FindingId, number
from unveil.data.attribute import Role
from unveil.data.belief import Targets
from unveil.data.release import Release, row_numbers
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.errors import NotApplicable, TableError, UsageError
from unveil.privacy.knowledge.kernel import MOST_ENTRIES, Kernel
from unveil.privacy.knowledge.negative_rules import NegativeRules
from unveil.privacy.knowledge.uniform import Uniform
from unveil.risk.background import (
    MOST_COUNTED,
    BackgroundRisk,
    PriorKnowledge,
    RankedRule,
    background_risk,
    background_risk_by_bandwidth,
    omega_error,
    raised_by_register,
    rank_rules,
    seen_by_members,
    told_by_others,
    told_by_register,
)
from unveil.risk.placement import place_people

__all__ = ["READER", "Asked", "Background", "Section", "add_background", "background_sections"]

READER = "background"
COST = 2e6  # as in the `background` attacker: beyond it the Omega-estimate
MOST_BELIEFS = 5_000_000  # people times values that are asked about unless told to
MOST_CELLS = 5_000  # distinct cells, where the domain is too large for the dense form
MOST_FOR_PAIRS = 1 << 20  # entries of the domain up to which two bandwidths are tried unless told not to
MOST_RULES = 50  # of which it is asked whom they would expose
MOST_FACTS = 10  # shown
MOST_VALUES = 1000
LONGEST_FACT = 200
OTHERS = 2  # people of a group whose values are known: two of a family, or a couple
LIKELY = 90  # per cent


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """What is asked: bandwidths of the skyline and of the pairs, and from where on somebody counts as vulnerable."""

    bandwidths: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5)
    pairs: tuple[float, ...] = (0.2, 0.5, 1.2)  # for the first half of the quasi-identifiers, and for the others
    t: float = 0.2  # a belief that the release changes by more (Jensen-Shannon)
    l: int = 3  # fewer possible values under the rules
    at_least: float = 0.5  # a fact exposes whoever is then believed to have some value with this probability

    def __post_init__(self) -> None:
        if not self.bandwidths or not all(np.isfinite(b) and b > 0 for b in (*self.bandwidths, *self.pairs)):
            raise UsageError("background: a bandwidth is a number above 0, on distances from 0 to 1")
        if not self.t >= 0 or self.l < 1 or not 0 < self.at_least <= 1:
            raise UsageError("background: t is 0 or more, l a whole number from 1 on, at_least above 0 and at most 1")


Asked = Background | Literal["auto"] | None  # auto: if it is cheap; None: not at all


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """What was found of one release and attribute, or why nothing was."""

    findings: tuple[Finding, ...] = ()
    chart: Mapping[str, Any] = field(default_factory=dict)
    row: Mapping[str, Any] = field(default_factory=dict)


def background_sections(
    release: Release,
    name: str,
    table: Table | None,
    asked: Asked,
    *,
    group: NDArray[np.integer] | None = None,
    limited: Sequence[FindingId] = (),
    least: int = 0,
    stop: Event | None = None,
) -> dict[str, Section]:
    """By sensitive attribute. `group`: of each original row, where cells do not say it. `limited`: ids in limits.

    `least`: the least count that is said in words. `stop`: set when the time is over. Without the original there is
    nothing to take knowledge from.
    """
    wanted = [part.name for part in limited if part.reader == READER]
    if asked is None and not wanted:
        return {}
    found = {}
    for index in release.with_role(Role.SENSITIVE):
        attribute = release.attributes[index].name
        try:
            if stop is not None and stop.is_set():
                raise NotApplicable("the time was over")
            found[attribute] = _section(release, name, table, index, asked, group, bool(wanted), least)
        except (NotApplicable, UsageError, TableError) as reason:
            row = {"release": name, "attribute": attribute, "measured": False, "reason": str(reason)}
            unknown = tuple(Finding.of(id, name, attribute, None, reader=READER) for id in dict.fromkeys(wanted))
            found[attribute] = Section(unknown, row={**_EMPTY, **row})
    return found


def add_background(charts: Mapping[str, dict[str, Any]], found: Mapping[str, Mapping[str, Section]]) -> None:
    """Put the sections' charts, by release and attribute, beside those of the same attribute."""
    for name, sections in found.items():
        for attribute, section in sections.items():
            if section.chart:
                charts[name].setdefault(attribute, {})["background"] = section.chart


_EMPTY: dict[str, Any] = dict.fromkeys(("rules", "estimated_people", "omega_error", "words"))


def _section(
    release: Release,
    name: str,
    table: Table | None,
    index: int,
    asked: Asked,
    group: NDArray[np.integer] | None,
    wanted: bool,
    least: int,
) -> Section:
    if table is None:
        raise NotApplicable("there was no original to take knowledge from")
    attribute = release.attributes[index]
    if attribute.codes > MOST_VALUES:
        raise NotApplicable(f"{attribute.name} has over {MOST_VALUES:,} values; declare bins")
    if not table.with_role(Role.QUASI_IDENTIFIER):
        raise NotApplicable("there is no quasi-identifier to know anything by")
    if asked == "auto" and not wanted:
        _refuse_dear(table, attribute.codes)
    told = asked if isinstance(asked, Background) else Background()
    roster = _roster(release, table, index, group)
    seen = seen_by_members(release, index, roster)
    line = background_risk_by_bandwidth(seen, index, table, [(b,) for b in told.bandwidths], cost=COST)
    grid = _pairs(seen, index, table, told, always=isinstance(asked, Background))
    ruled = background_risk(seen, index, NegativeRules().prior(table, attribute.name), cost=COST)
    plain = background_risk(seen, index, Uniform().prior(table, attribute.name), cost=0.0)
    rules = NegativeRules().rules(table, attribute.name)
    order = np.argsort(-rules.people, kind="stable")[:MOST_RULES]
    facts = rank_rules(seen, index, table, rules.take(order), at_least=told.at_least)
    estimated = max(one.estimated for one in line)
    middle = told.bandwidths[len(told.bandwidths) // 2]
    error = omega_error(seen, index, Kernel(bandwidth=(middle,)).prior(table, attribute.name), COST) if estimated else 0
    said = [replace(fact, text=_short(fact.text)) for fact in facts if fact.people >= least][:MOST_FACTS]
    truth = table.columns[table.index(attribute.name)].astype(np.int64)
    people = targets_of_table(table, release, index)
    counted = {
        f"told_by_others.{OTHERS}": told_by_others(release, index, OTHERS),
        f"told_by_register.{LIKELY}": told_by_register(release, index, people, truth, LIKELY / 100),
        "raised_by_register": raised_by_register(release, index, people, truth),
    }
    return Section(
        (
            *_findings(name, attribute.name, told, line, (ruled, plain), len(rules), facts),
            *(Finding.exact(id, name, attribute.name, value, reader=READER) for id, value in counted.items()),
        ),
        {
            "t": told.t,
            "l": told.l,
            "at_least": told.at_least,
            "line": {
                "bandwidth": list(told.bandwidths),
                "worst": [one.worst for one in line],
                "mean": [one.mean(one.distance) for one in line],
                "people": [one.beyond(told.t) for one in line],
            },
            "pairs": grid,
            "rules": {"number": len(rules), "people": ruled.fewer(told.l)},
            "facts": [{"fact": f.text, "people": round(f.people), "exposed": f.exposed} for f in said],
        },
        {
            "release": name,
            "attribute": attribute.name,
            "measured": True,
            "reason": None,
            "rules": len(rules),
            "estimated_people": estimated if not 0 < estimated < least else None,
            "omega_error": number(error),
            "words": _words(told, line, (ruled, plain), len(rules), said, least),
        },
    )


def _refuse_dear(table: Table, values: int) -> None:
    """Unless told to, nothing that would take longer than a few seconds."""
    if table.rows * values > MOST_BELIEFS:
        raise NotApplicable(f"over {MOST_BELIEFS:,} beliefs; ask for it with --background yes")
    known = [table.columns[i] for i in table.with_role(Role.QUASI_IDENTIFIER)]
    if _entries(table, values) > MOST_ENTRIES and int(row_numbers(known).max()) >= MOST_CELLS:
        raise NotApplicable(
            f"the domain is large, and over {MOST_CELLS:,} combinations of quasi-identifiers occur; "
            "ask for it with --background yes"
        )


def _entries(table: Table, values: int) -> int:
    return prod(table.attributes[i].codes for i in table.with_role(Role.QUASI_IDENTIFIER)) * values


def _roster(release: Release, table: Table, index: int, group: NDArray[np.integer] | None) -> Targets | None:
    """Everybody's quasi-identifiers; None where buckets show them exactly."""
    if len(release.blocks) > 1 and group is None:
        try:
            member_block(release, index)
            return None
        except NotApplicable:
            pass  # in wider cells, so that people may fit several buckets
    given = None if group is None else group.astype(np.int64)
    people = targets_of_table(table, release, index, group=given)
    if given is not None:
        return people
    try:
        if (np.bincount(place_members(release, people), minlength=release.groups) == release.sizes).all():
            return people
    except (NotApplicable, UsageError):
        pass  # people fit several groups, or are not in the file
    placed = place_people(release, table, index)
    if placed is None:
        return people
    inside = np.flatnonzero(placed >= 0)
    return replace(people.take(inside), group=placed[inside])


def _pairs(release: Release, index: int, table: Table, told: Background, *, always: bool) -> dict[str, Any] | None:
    """The worst case for one bandwidth on the first half of the quasi-identifiers and one on the others."""
    known = [table.attributes[i].name for i in table.with_role(Role.QUASI_IDENTIFIER)]
    if len(known) < 2 or not told.pairs:
        return None
    if not always and _entries(table, release.attributes[index].codes) > MOST_FOR_PAIRS:
        return None
    first = (len(known) + 1) // 2
    widths = [(a,) * first + (b,) * (len(known) - first) for a, b in product(told.pairs, repeat=2)]
    worst = [one.worst for one in background_risk_by_bandwidth(release, index, table, widths, cost=COST)]
    step = len(told.pairs)
    return {
        "first": known[:first],
        "second": known[first:],
        "bandwidth": list(told.pairs),
        "worst": [worst[i : i + step] for i in range(0, len(worst), step)],  # rows: the first half
    }


def _findings(
    name: str,
    attribute: str,
    told: Background,
    line: Sequence[BackgroundRisk],
    possible: tuple[BackgroundRisk, BackgroundRisk],
    rules: int,
    facts: Sequence[RankedRule],
) -> Iterator[Finding]:
    """The skyline's worst first, then each bandwidth; then rules (beside nobody's knowing them) and facts."""
    everybody = float(line[0].people.sum())
    by_width: dict[str, list[float]] = {
        "worst_case_risk": [one.worst for one in line],
        "mean_risk": [one.mean(one.distance) for one in line],
        "vulnerable": [one.beyond(told.t) / everybody for one in line],
        "worst_gain": [float(one.gain.max()) for one in line],
        "mean_gain": [one.mean(one.gain) for one in line],
    }
    for measure, values in by_width.items():
        yield Finding.exact(f"{measure}", name, attribute, max(values), reader=READER)
        for width, value in zip(told.bandwidths, values, strict=True):
            yield Finding.exact(f"{measure}.{width:g}", name, attribute, value, reader=READER)
    yield Finding.exact("negative_rules", name, attribute, float(rules), reader=READER)
    few = [one.fewer(told.l) / everybody for one in possible]
    yield Finding.exact(f"fewer_values.{told.l}", name, attribute, few[0], baseline=few[1], reader=READER)
    most = max((fact.exposed for fact in facts), default=0)
    yield Finding.exact("exposed_by_fact", name, attribute, most / everybody, reader=READER)


def _words(
    told: Background,
    line: Sequence[BackgroundRisk],
    possible: tuple[BackgroundRisk, BackgroundRisk],
    rules: int,
    facts: Sequence[RankedRule],
    least: int,
) -> str:
    """One paragraph; a number of people below `least` is not said."""
    beyond = [one.beyond(told.t) for one in line]
    worst = int(np.argmax([one.worst for one in line]))
    found = (
        f"To readers who know everybody's quasi-identifiers and the values of like people (kernel priors, bandwidths "
        f"{', '.join(f'{b:g}' for b in told.bandwidths)}) the release changes what they believe of "
        f"{_people(max(beyond), least)} by more than {told.t:g}, of the worst-off person by {line[worst].worst:.2g} "
        f"(Jensen-Shannon, at most 0.69)."
    )
    if rules:
        many, before = (_people(one.fewer(told.l), least) for one in possible)
        found += f" Under the table's negative rules ({rules:,}) {many} can have fewer than {told.l} values, "
        found += f"without them {before}."
    if facts and facts[0].exposed >= max(least, 1):
        found += f" The fact that exposes most, if known: {facts[0].text} ({_people(facts[0].exposed, least)})."
    return found


def _short(text: str) -> str:
    """Values of cells are anybody's text, of any length."""
    return text if len(text) <= LONGEST_FACT else f"{text[: LONGEST_FACT - 1]}…"


def _people(count: int, least: int) -> str:
    if count < least:
        return f"fewer than {least} people"
    return "nobody" if count == 0 else "1 person" if count == 1 else f"{count:,} people"


def findings_of_exposure(found: BackgroundRisk, name: str, attribute: str, *, t: float, l: int) -> tuple[Finding, ...]:
    """The worst case, and how many people are vulnerable under (B,t) and under the rules."""
    return (
        Finding.exact("worst_case_risk", name, attribute, found.worst),
        Finding.exact(f"vulnerable_beyond.{t:g}", name, attribute, float(found.beyond(t))),
        Finding.exact(f"vulnerable_fewer.{l}", name, attribute, float(found.fewer(l))),
    )


def prior_findings(held: PriorKnowledge, name: str) -> tuple[Finding, ...]:
    """In numbers; the baseline is the reader who knows the overall distribution alone."""
    attribute = held.prior.sensitive.name
    rows = np.arange(len(held.truth))
    most = held.held >= held.held.max(axis=1, keepdims=True) - 1e-12
    guessed = most[rows, held.truth] / most.sum(axis=1)
    plain = held.overall >= held.overall.max() - 1e-12
    found = [
        Finding.exact(
            "prior_truth",
            name,
            attribute,
            float(held.held[rows, held.truth].mean()),
            baseline=float(held.overall[held.truth].mean()),
        ),
        Finding.exact(
            "prior_accuracy",
            name,
            attribute,
            float(guessed.mean()),
            baseline=float((plain[held.truth] / plain.sum()).mean()),
        ),
    ]
    if held.rules is not None:
        found.append(Finding.exact("rules", name, attribute, float(len(held.rules))))
    for count, share in enumerate(held.impossible().tolist()):
        most_of = "_or_more" if count == MOST_COUNTED else ""
        found.append(Finding.exact(f"impossible_values.{count}{most_of}", name, attribute, share))
    return tuple(found)
