"""Composition in an audit: what this release tells together with what is already out, beside what it tells alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.asking import Answers, published_targets
from unveil.audit.document import Finding
from unveil.audit.measures import COMPOSED, COMPOSED_LEARNED
from unveil.data.attribute import Role
from unveil.data.belief import Belief, Diagnostics, Estimate, Threat
from unveil.data.release import Release
from unveil.errors import NotApplicable
from unveil.risk.composition import (
    EarlierRelease,
    JointBelief,
    KnownPeople,
    ReleaseView,
    SampledCheck,
    Web,
    exposure_of,
    minimal_sets,
    sampled_check,
    view_of,
    weave,
)

if TYPE_CHECKING:
    from unveil.audit.case import Case

__all__ = ["Composed", "compose"]

SURE = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """What was found of one attribute: readers of all releases, findings, and facts for the document."""

    readers: Mapping[str, Belief]
    refused: Mapping[str, str]  # by reader: why it says nothing
    findings: tuple[Finding, ...]
    facts: Mapping[str, Any]
    remarks: tuple[str, ...]

    def added_to(self, found: Answers) -> Answers:
        """The answers with the readers of all releases among the attackers."""
        return replace(found, attackers={**found.attackers, **self.readers}, refused={**found.refused, **self.refused})


def compose(case: "Case", name: str, release: Release, asked: int, found: Answers) -> Composed:
    """Read one release together with every earlier one about one attribute."""
    attribute = release.attributes[asked]
    people = _people(case, release, asked)
    views = [view_of(name, EarlierRelease(release=release), people, attribute)]
    left_out = dict(case.not_combined)
    silent = []
    for other, earlier in case.earlier.items():
        if attribute.name not in {a.name for a in earlier.release.attributes}:
            silent.append(other)
            continue
        try:
            views.append(view_of(other, earlier, people, attribute))
        except NotApplicable as error:
            left_out[other] = str(error)
    facts: dict[str, Any] = {
        "earlier": [_described(n, e) for n, e in case.earlier.items()],
        "left_out": left_out,
        "silent": silent,
    }
    remarks = [f"{n} does not publish {attribute.name}, so it adds nothing about it." for n in silent]
    if len(views) == 1:
        reason = "none of the earlier releases can be combined" if left_out else "no earlier release publishes it"
        none: dict[str, str] = dict.fromkeys((COMPOSED, COMPOSED_LEARNED), reason) if left_out else {}
        return Composed({} if left_out else {COMPOSED: _alone(found)}, none, (), facts, tuple(remarks))
    web = weave(views, attribute.codes)
    flat = web.beliefs()
    check = None
    if case.original is not None:
        truth = case.original.columns[case.original.index(attribute.name)]
        check = sampled_check(web, flat, truth, case.engine)
    learned = None
    population = _population(found)
    if len(population.probability) == people.count:
        learned = web.beliefs(population.probability)
    agreement = None if learned is None else _agreement(flat, learned)
    known = ", ".join(v.name for v in views[1:])
    readers = {COMPOSED: _belief(flat, found, check, agreement, known, "none: all worlds alike")}
    refused: dict[str, str] = {}
    if learned is not None:
        belief = _belief(learned, found, check, agreement, known, population.threat.population)
        own = population.diagnostics
        sure = replace(
            belief.diagnostics,
            converged=belief.diagnostics.converged and own.converged,
            precise=belief.diagnostics.precise and own.precise,
        )
        readers[COMPOSED_LEARNED] = replace(belief, diagnostics=sure)
    else:
        refused[COMPOSED_LEARNED] = "only a sample of people was asked about; what is learned is not known of all"
    remarks += _remarks(web, views, flat, case.earlier, check)
    findings, more = _counted(case, name, web, views, flat, found)
    facts |= more | {
        "rounds": flat.rounds,
        "change": flat.change,
        "settled": flat.settled,
        "exact": _shown(int(flat.exact.sum()), case.least),
        "people": people.count,
        "agreement": agreement,
        "sampled_check": None if check is None else {"people": _shown(check.people, case.least), "gap": check.gap},
        "contradictions": web.contradictions,
    }
    return Composed(readers, refused, tuple(findings), facts, tuple(remarks))


def _people(case: "Case", release: Release, asked: int) -> KnownPeople:
    """Everybody of the original by what is known of them; without it, the published rows."""
    names = case.readers.known_of(release, asked)
    if case.original is None:
        return KnownPeople.of_targets(release, published_targets(release, asked, names))
    table = case.original
    if case.known is None:  # also what only the earlier releases publish
        names = [a.name for a in table.attributes if a.role is Role.QUASI_IDENTIFIER]
        names = [n for n in names if n != release.attributes[asked].name]
    return KnownPeople.of_table(table, [n for n in names if n in {a.name for a in table.attributes}])


def _population(found: Answers) -> Belief:
    """p(s | x): of the models of an attacker with its own, who have not seen the person's group, if there are any."""
    own = [belief for name, belief in found.without.items() if name]
    return own[-1] if own else found.without.get("", found.learner)


def _belief(
    joint: JointBelief,
    found: Answers,
    check: SampledCheck | None,
    agreement: float | None,
    names: str,
    population: str,
) -> Belief:
    """A reader of all releases, about those people who are asked about."""
    probability = joint.probability[found.row]
    facts: dict[str, float | str] = {
        "rounds": float(joint.rounds),
        "last change": joint.change,
        "exact people": float(joint.exact.mean()),
    }
    facts |= {} if agreement is None else {"agreement of flat and learned": agreement}
    facts |= {} if check is None else {"sampled gap": check.gap}
    settled = joint.converged and (check is None or check.passed)
    if not settled:
        facts["alarm"] = _unsettled(joint, check)
    method = "exact" if joint.exact.all() else "belief propagation"
    threat = Threat(target=found.learner.threat.target, others=f"what {names} publish", population=population)
    total = probability.sum(axis=1, keepdims=True)
    return Belief(probability / total, diagnostics=Diagnostics(method, settled, settled, facts), threat=threat)


def _unsettled(joint: JointBelief, check: SampledCheck | None) -> str:
    if joint.impossible.any():
        return "no value fits every release for some people: not the same people, or their values changed"
    if not joint.settled:
        return f"beliefs still change by {joint.worst:.3f} after {joint.rounds} rounds"
    return f"beliefs are {check.gap:.3f} from sampled matchings" if check is not None else "not settled"


def _alone(found: Answers) -> Belief:
    """No other release speaks of the attribute: what is known of it is what this release tells."""
    return found.attackers.get("random_worlds", next(iter(found.attackers.values()), found.learner))


def _agreement(one: JointBelief, other: JointBelief) -> float:
    """1 less the mean distance (total variation) of what the two runs believe of a person."""
    return 1 - float(np.abs(one.probability - other.probability).sum(axis=1).mean()) / 2


def _remarks(
    web: Web,
    views: Sequence[ReleaseView],
    joint: JointBelief,
    earlier: Mapping[str, EarlierRelease],
    check: SampledCheck | None,
) -> Iterator[str]:
    people = int(web.size.sum())
    for number, view in enumerate(views):
        fitting = float((web.links[number].present * web.size).sum())
        if view.overlap.people == "same" and (fitting < people - 0.5 or view.release.rows != people):
            yield (
                f"{view.name} is said to hold the same {people:,} people, but {round(fitting):,} fit its "
                f"{view.release.rows:,} rows; the others count as absent or strangers. Say how they overlap."
            )
    if web.contradictions or joint.impossible.any():
        yield (
            "Some groups of the releases contradict each other: they are not about the same people, or values changed; "
            "give --changed or how the people overlap."
        )
    if not joint.settled:
        yield f"Belief propagation did not settle: beliefs still change by {joint.worst:.3f}."
    elif check is not None and not check.passed:
        yield f"Beliefs of all releases together are {check.gap:.3f} from sampled joint matchings: not precise enough."


def _counted(
    case: "Case", name: str, web: Web, views: Sequence[ReleaseView], flat: JointBelief, found: Answers
) -> tuple[list[Finding], dict[str, Any]]:
    """Findings that count people, and the smallest sets of earlier releases that expose somebody."""
    attribute = found.attribute
    told = exposure_of(web, harmless=attribute.harmless)
    place = (name, attribute.name)

    def share(which: NDArray[np.bool_]) -> Estimate:
        return Estimate.exact(float(which.mean()))

    findings = [
        Finding.of("crossing_alone", *place, share(told.alone), float(told.alone_before.mean())),
        Finding.of("one_value_left", *place, share(told.one_left), float(told.one_left_before.mean())),
        Finding.of("differenced", *place, share(told.differenced), 0.0),
    ]
    truth = None if case.original is None else case.original.columns[case.original.index(attribute.name)]
    sure = flat.probability.max(axis=1) >= SURE
    if truth is not None:
        sure &= flat.probability.argmax(axis=1) == truth
    alone = weave(views[:1], attribute.codes).beliefs().probability.max(axis=1) >= SURE
    findings.append(Finding.of("newly_sure", *place, share(sure & ~alone), 0.0))
    least = case.least
    facts: dict[str, Any] = {
        "alone": _shown(int(told.alone.sum()), least),
        "one_value_left": _shown(int(told.one_left.sum()), least),
        "differenced": _shown(int(told.differenced.sum()), least),
        "sure": _shown(int(sure.sum()), least),
        "sure_alone": _shown(int(alone.sum()), least),
    }
    if len(views) > 2 and sure.any():
        sets, complete = minimal_sets(views, attribute.codes, sure)
        facts["minimal_sets"] = [
            {"releases": list(names), "people": _shown(count, least)}
            for names, count in sorted(sets.items(), key=lambda item: (len(item[0]), -item[1]))
        ]
        facts["every_subset"] = complete
    return findings, facts


def _described(name: str, earlier: EarlierRelease) -> dict[str, Any]:
    return {
        "name": name,
        "date": earlier.date,
        "rows": earlier.release.rows,
        "people": earlier.overlap.people,
        "shared": earlier.overlap.shared,
        "changed": earlier.changed,
    }


def _shown(count: int, least: int) -> int | None:
    return None if 0 < count < least else count
