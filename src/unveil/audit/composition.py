"""Composition in an audit: what this release tells together with what is already out, beside what it tells alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.asking import Answers, published_targets
from unveil.audit.binning import AttributeBins
from unveil.audit.document import Finding
from unveil.audit.measures import COMPOSED, COMPOSED_LEARNED
from unveil.audit.unread import earlier_about, misfit, unread, unstated
from unveil.data.attribute import Attribute, Role
from unveil.data.belief import Belief, Diagnostics, Estimate, Threat
from unveil.data.release import Release
from unveil.data.rows import PublishedRows, numbers_of, origin_of, rows_of
from unveil.data.table import Table
from unveil.errors import NotApplicable
from unveil.risk.composition import (
    Combinations,
    EarlierRelease,
    JointBelief,
    KnownPeople,
    ReleaseView,
    SampledCheck,
    Web,
    columns_in_common,
    combinations_of,
    exposure_of,
    minimal_sets,
    sampled_check,
    view_of,
    views_of,
    weave,
)

if TYPE_CHECKING:
    from unveil.audit.case import Case

__all__ = ["Composed", "compose", "compose_masked"]

SURE = 0.95
NEARLY = 0.85  # whom logic tells for certain was believed at least that much by propagation
UNCHECKED = "people may be missing from an earlier release, and parts of it are too large to be summed up exactly"
LOOPS = "some people are believed at 85% or more, and what is told of them goes in circles that nothing checks"


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """What was found of one attribute: readers of all releases, findings, and facts for the document."""

    readers: Mapping[str, Belief]
    refused: Mapping[str, str]  # by reader: why it says nothing
    findings: tuple[Finding, ...]
    facts: Mapping[str, Any]
    remarks: tuple[str, ...]
    baseline: Belief | None = None  # the learner beside whom the readers stand, where readers exist

    def added_to(self, found: Answers) -> Answers:
        """The answers with the readers of all releases among the attackers."""
        return replace(found, attackers={**found.attackers, **self.readers}, refused={**found.refused, **self.refused})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Asked:
    """One attribute of the release under audit, whom it is asked about, and what is believed without other releases."""

    name: str
    release: EarlierRelease
    attribute: Attribute
    people: KnownPeople
    original: Table | None
    learner: Belief
    population: Belief  # p(s | x); of all people, or of a sample
    alone: Belief  # what this release alone tells, where no other speaks of the attribute
    row: NDArray[np.int64]  # (people asked about,)

    @property
    def truth(self) -> NDArray[np.integer] | None:
        """(people,) the values, where there is an original."""
        return None if self.original is None else self.original.columns[self.original.index(self.attribute.name)]


def compose(
    case: "Case",
    name: str,
    release: Release,
    asked: int,
    found: Answers,
    original: Table | None,
    bins: AttributeBins | None = None,
) -> Composed:
    """Read one release together with every earlier one about one attribute; `bins`: it is asked about in these."""
    new = _Asked(
        name=name,
        release=EarlierRelease(release=release),
        attribute=release.attributes[asked],
        people=_people(case, release, asked, original),
        original=original,
        learner=found.learner,
        population=_population(found),
        alone=found.attackers.get("random_worlds", next(iter(found.attackers.values()), found.learner)),
        row=found.row,
    )
    return _compose(case, new, bins)


def compose_masked(case: "Case", name: str, perturbed: Release, asked: int, learner: Belief | None) -> Composed:
    """The same of a perturbed release, which needs the original; `learner`: what its channel teaches, if published."""
    masked, original, group = rows_of(perturbed), case.original, case.assignments.get(name)
    attribute = masked.attributes[asked]
    if original is None:
        return _nothing(case, {name: "it was perturbed, and there is no original to ask about"})
    quasi = [a.name for a in original.attributes if a.role is Role.QUASI_IDENTIFIER and a.name != attribute.name]
    names = quasi if case.known is None else [n for n in case.known if n in quasi]
    people = KnownPeople.of_table(original, names)
    origin = None if group is None else origin_of(perturbed, group)
    within = _largest_moves(masked, original, origin) | dict(case.within)
    release = EarlierRelease(release=perturbed, within={n: w for n, w in within.items() if n in _names(masked)})
    try:
        view = view_of(name, release, people, attribute)
    except NotApplicable as reason:
        return _nothing(case, {name: str(reason)})
    own = weave([view], attribute.codes).beliefs()
    threat = Threat(target="all quasi-identifiers" if case.known is None else ", ".join(names))
    sure = Diagnostics("exact" if own.exact.all() else "belief propagation", own.converged, own.converged, {})
    alone = Belief(own.probability, diagnostics=sure, threat=threat)
    if learner is None:  # who is not told that a person is in it sees how frequent values are
        share = own.probability.mean(axis=0, keepdims=True)
        learner = Belief(np.repeat(share, people.count, axis=0), diagnostics=sure, threat=threat)
    new = _Asked(
        name=name,
        release=release,
        attribute=attribute,
        people=people,
        original=original,
        learner=learner,
        population=learner,
        alone=alone,
        row=np.arange(people.count),
    )
    return _compose(case, new, None)


def _names(masked: PublishedRows) -> set[str]:
    return {masked.attributes[i].name for i in masked.masked}


def _largest_moves(masked: PublishedRows, table: Table, origin: NDArray[np.integer] | None) -> dict[str, float]:
    """By perturbed number, how far its values were moved at most, where it is known whose row is whose."""
    found: dict[str, float] = {}
    for index in () if origin is None else masked.masked:
        attribute = masked.attributes[index]
        if attribute.kind.measured and attribute.name in {a.name for a in table.attributes}:
            at = table.index(attribute.name)
            moved = np.abs(masked.columns[index] - numbers_of(table.attributes[at], table.columns[at][origin]))
            found[attribute.name] = float(np.nanmax(moved, initial=0.0))
    return found


def _nothing(case: "Case", left_out: Mapping[str, str]) -> Composed:
    """No reader of all releases, and why."""
    why = "; ".join(left_out.values())
    facts: dict[str, Any] = {"earlier": [_described(n, e) for n, e in case.earlier.items()]}
    facts |= {"left_out": {**case.not_combined, **left_out}, "silent": []}
    return Composed({}, dict.fromkeys((COMPOSED, COMPOSED_LEARNED), why), (), facts, ())


def _compose(case: "Case", new: _Asked, bins: AttributeBins | None) -> Composed:
    name, attribute, people = new.name, new.attribute, new.people
    views = [view_of(name, new.release, people, attribute)]
    speaking, left_out, silent = earlier_about(case, attribute, bins)
    for other, earlier in speaking.items():
        try:
            views.append(view_of(other, earlier, people, attribute))
        except NotApplicable as error:
            left_out[other] = str(error)
    left_out |= {v.name: unstated(v) for v in views if v.unstated}
    wide, beside = _beside(case, new, {**speaking, **silent}, left_out)
    held: tuple[Release | Table, ...] = (new.release.release,)
    held += () if new.original is None else (new.original,)
    understood = {attribute.name, *people.known, *(() if beside is None else beside.names)}
    for other, earlier in {**speaking, **silent}.items():
        if other not in left_out and (why := unread(other, earlier, held, understood, people, attribute, new.truth)):
            left_out[other] = why
    nothing = [n for n in silent if n not in left_out and (beside is None or n not in {v.name for v in wide})]
    facts: dict[str, Any] = {
        "earlier": [_described(n, e) for n, e in case.earlier.items()],
        "left_out": left_out,
        "silent": nothing,
        "in_common": [] if beside is None else list(beside.names),
    }
    remarks = [f"{n} does not publish {attribute.name}, so it adds nothing about it." for n in nothing]
    if len(views) == 1 and len({v.name for v in wide}) < 2:
        reason = "none of the earlier releases can be combined" if left_out else "no earlier release publishes it"
        none: dict[str, str] = dict.fromkeys((COMPOSED, COMPOSED_LEARNED), reason) if left_out else {}
        alone = {} if left_out else {COMPOSED: new.alone}
        return Composed(alone, none, (), facts, tuple(remarks), new.learner)
    webs = [weave(views, attribute.codes)]
    if beside is not None:
        webs.append(weave(wide, len(beside), beside.asked))
    for web, read in zip(webs, (views, wide), strict=False):
        for number, view in enumerate(read):
            amiss = view.name != name and (web is webs[0] or view.name in silent)
            if amiss and (why := misfit(web, number, view, new.truth, case.least)):
                left_out[view.name] = f"{left_out[view.name]}; {why}" if view.name in left_out else why
    web, read = webs[-1], wide or views
    flat = web.beliefs()
    check = None if new.truth is None else sampled_check(web, flat, new.truth, case.engine)
    learned, population = None, new.population
    if len(population.probability) == people.count:
        learned = web.beliefs(population.probability)
    agreement = None if learned is None else _agreement(flat, learned)
    known = ", ".join(dict.fromkeys(v.name for v in read[1:] if v.name != name))
    absent = any(((one.present > 1e-9) & (one.present < 1 - 1e-9)).any() for one in web.links)
    top, mode = flat.probability.max(axis=1), flat.probability.argmax(axis=1)
    nearly = (top >= NEARLY) & (top < SURE) & ~flat.exact & (True if new.truth is None else mode == new.truth)
    doubt = UNCHECKED if absent else LOOPS if nearly.any() else ""
    readers = {COMPOSED: _belief(flat, new, check, agreement, known, "none: all worlds alike", doubt)}
    refused: dict[str, str] = {}
    if learned is not None:
        doubt = UNCHECKED if absent else ""
        belief = _belief(learned, new, check, agreement, known, population.threat.population, doubt)
        own = population.diagnostics
        sure = replace(
            belief.diagnostics,
            converged=belief.diagnostics.converged and own.converged,
            precise=belief.diagnostics.precise and own.precise,
        )
        readers[COMPOSED_LEARNED] = replace(belief, diagnostics=sure)
    else:
        refused[COMPOSED_LEARNED] = "only a sample of people was asked about; what is learned is not known of all"
    remarks += _remarks(web, read, flat, check)
    findings, more = _counted(case, new, webs, read, flat)
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
    return Composed(readers, refused, tuple(findings), facts, tuple(remarks), new.learner)


def _people(case: "Case", release: Release, asked: int, table: Table | None) -> KnownPeople:
    """Everybody of the original by what is known of them; without it, the published rows."""
    names = case.readers.known_of(release, asked)
    if table is None:
        return KnownPeople.of_targets(release, published_targets(release, asked, names))
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
    new: _Asked,
    check: SampledCheck | None,
    agreement: float | None,
    names: str,
    population: str,
    doubt: str,
) -> Belief:
    """A reader of all releases, about those people who are asked about; `doubt`: why no limit counts as kept by it.

    Where nothing checks propagation and a part is too large to be summed up: it was seen to be off by .1 for one person
    in ten if people may be absent, and to be less than sure of people whom integer programming tells for certain.
    """
    probability = joint.probability[new.row]
    facts: dict[str, float | str] = {
        "rounds": float(joint.rounds),
        "last change": joint.change,
        "exact people": float(joint.exact.mean()),
    }
    facts |= {} if agreement is None else {"agreement of flat and learned": agreement}
    facts |= {} if check is None else {"sampled gap": check.gap}
    settled = joint.converged and (check is None or check.passed)
    precise = settled and (check is not None or not doubt or bool(joint.exact.all()))
    if not precise:
        facts["alarm"] = _unsettled(joint, check, doubt)
    method = "exact" if joint.exact.all() else "belief propagation"
    threat = Threat(target=new.learner.threat.target, others=f"what {names} publish", population=population)
    total = probability.sum(axis=1, keepdims=True)
    return Belief(probability / total, diagnostics=Diagnostics(method, settled, precise, facts), threat=threat)


def _unsettled(joint: JointBelief, check: SampledCheck | None, doubt: str) -> str:
    if joint.impossible.any():
        return "for some people no value fits every release: they are not the same people, or their values changed"
    if not joint.settled:
        return (
            f"beliefs from all releases together still change by {joint.worst:.3f} after {joint.rounds} rounds; do not "
            "rely on them"
        )
    if check is None:
        return f"{doubt}: beliefs from all releases together are estimates, and no limit counts as kept by them"
    return f"beliefs from all releases together are {check.gap:.3f} from sampled matchings; do not rely on them"


def _agreement(one: JointBelief, other: JointBelief) -> float:
    """1 less the mean distance (total variation) of what the two runs believe of a person."""
    return 1 - float(np.abs(one.probability - other.probability).sum(axis=1).mean()) / 2


def _remarks(web: Web, views: Sequence[ReleaseView], joint: JointBelief, check: SampledCheck | None) -> Iterator[str]:
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


def _beside(
    case: "Case", new: _Asked, earlier: Mapping[str, EarlierRelease], left_out: dict[str, str]
) -> tuple[list[ReleaseView], Combinations | None]:
    """The releases as they speak of the attribute with columns in common, if there are any."""
    every = {new.name: new.release, **{n: e for n, e in earlier.items() if n not in left_out}}
    known = {*new.people.known, new.attribute.name}
    common = columns_in_common([e.release for e in every.values()], known)
    if not common:
        return [], None
    names = {new.attribute.name, *(one.name for one in common)}
    every = {n: e for n, e in every.items() if names & {a.name for a in e.release.attributes}}
    try:
        beside = combinations_of([e.release for e in every.values()], new.attribute, common, new.people.count)
    except NotApplicable as error:
        shown = {
            n for n, e in every.items() if n != new.name and (names - known) & {a.name for a in e.release.attributes}
        }
        left_out |= dict.fromkeys(shown, str(error))
        return [], None
    views = []
    for name, one in every.items():
        try:
            views += views_of(name, one, new.people, new.attribute, beside)
        except NotApplicable as error:
            left_out[name] = str(error)
    first = next((v for v in views if v.name == new.name), None)
    return (views, beside) if first is not None and len({v.name for v in views}) > 1 else ([], None)


def _counted(
    case: "Case", new: _Asked, webs: Sequence[Web], views: Sequence[ReleaseView], flat: JointBelief
) -> tuple[list[Finding], dict[str, Any]]:
    """Findings that count people, and the smallest sets of earlier releases that expose somebody."""
    attribute, truth, web = new.attribute, new.truth, webs[-1]
    told = exposure_of(web, harmless=attribute.harmless)
    for other in webs[:-1]:
        told = told.joined(exposure_of(other, harmless=attribute.harmless))
    place = (new.name, attribute.name)

    def share(which: NDArray[np.bool_]) -> Estimate:
        return Estimate.exact(float(which.mean()))

    findings = [
        Finding.of("crossing_alone", *place, share(told.alone), float(told.alone_before.mean())),
        Finding.of("one_value_left", *place, share(told.one_left), float(told.one_left_before.mean())),
        Finding.of("differenced", *place, share(told.differenced), 0.0),
    ]
    sure = flat.probability.max(axis=1) >= SURE
    if truth is not None:
        sure &= flat.probability.argmax(axis=1) == truth
    own = [v for v in views if v.name == new.name]
    alone = weave(own, web.values, web.of).beliefs().probability.max(axis=1) >= SURE
    findings.append(Finding.of("newly_sure", *place, share(sure & ~alone), 0.0))
    least = case.least
    facts: dict[str, Any] = {
        "alone": _shown(int(told.alone.sum()), least),
        "one_value_left": _shown(int(told.one_left.sum()), least),
        "differenced": _shown(int(told.differenced.sum()), least),
        "sure": _shown(int(sure.sum()), least),
        "sure_alone": _shown(int(alone.sum()), least),
    }
    needed = 1
    if len(views) > 2 and sure.any():
        sets, complete = minimal_sets(views, web.values, sure, web.of)
        needed = min((len(names) for names in sets if names), default=1)
        facts["minimal_sets"] = [
            {"releases": list(names), "people": _shown(count, least)}
            for names, count in sorted(sets.items(), key=lambda item: (len(item[0]), -item[1]))
        ]
        facts["every_subset"] = complete
    if (sure & ~alone).any():
        findings.append(Finding.of("releases_needed", *place, Estimate.exact(needed), None))
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
