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
from unveil.data.attribute import Attribute, Role
from unveil.data.belief import Belief, Diagnostics, Estimate, Threat
from unveil.data.release import Release
from unveil.data.rows import PublishedRows, numbers_of, origin_of, rows_of
from unveil.data.table import Table
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

__all__ = ["Composed", "compose", "compose_masked"]

SURE = 0.95


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


def _earlier_of(
    case: "Case", new: _Asked, bins: AttributeBins | None
) -> tuple[dict[str, EarlierRelease], dict[str, str], list[str]]:
    """The earlier releases that publish the attribute, in bins if it is; why others cannot be used; who is silent."""
    name = new.attribute.name if bins is None else bins.name
    found, left_out, silent = {}, dict(case.not_combined), []
    for other, earlier in case.earlier.items():
        release = earlier.release
        if name not in {a.name for a in release.attributes}:
            if (same := _another_name(case, new, earlier)) is None:
                silent.append(other)
            else:
                left_out[other] = (
                    f"it does not publish {name}, but {same} has such values; if they are the same, its own schema "
                    f"must say so: [attributes.{name}] with prepare = {{ from = {same!r} }}"
                )
        elif bins is None:
            found[other] = earlier
        elif release.perturbed:
            left_out[other] = (
                f"{name} has too many values to be asked about one by one, and was perturbed; declare bins"
            )
        elif release.attributes[release.index(name)].codes != len(bins.of):
            left_out[other] = f"its domain of {name} is not this release's; declare it in the schema"
        else:
            found[other] = replace(earlier, release=bins.release(release))
    return found, left_out, silent


def _compose(case: "Case", new: _Asked, bins: AttributeBins | None) -> Composed:
    name, attribute, people = new.name, new.attribute, new.people
    views = [view_of(name, new.release, people, attribute)]
    published, left_out, silent = _earlier_of(case, new, bins)
    for other, earlier in published.items():
        try:
            views.append(view_of(other, earlier, people, attribute))
        except NotApplicable as error:
            left_out[other] = str(error)
    left_out |= {v.name: _unstated(v) for v in views if v.unstated}
    left_out |= {v.name: unknown for v in views[1:] if (unknown := _unknown(new, v.release))}
    facts: dict[str, Any] = {
        "earlier": [_described(n, e) for n, e in case.earlier.items()],
        "left_out": left_out,
        "silent": silent,
    }
    remarks = [f"{n} does not publish {attribute.name}, so it adds nothing about it." for n in silent]
    if len(views) == 1:
        reason = "none of the earlier releases can be combined" if left_out else "no earlier release publishes it"
        none: dict[str, str] = dict.fromkeys((COMPOSED, COMPOSED_LEARNED), reason) if left_out else {}
        alone = {} if left_out else {COMPOSED: new.alone}
        return Composed(alone, none, (), facts, tuple(remarks), new.learner)
    web = weave(views, attribute.codes)
    for number, view in enumerate(views[1:], start=1):
        if misfit := _misfit(web, number, view, new.truth, case.least):
            left_out[view.name] = f"{left_out[view.name]}; {misfit}" if view.name in left_out else misfit
    flat = web.beliefs()
    check = None if new.truth is None else sampled_check(web, flat, new.truth, case.engine)
    learned, population = None, new.population
    if len(population.probability) == people.count:
        learned = web.beliefs(population.probability)
    agreement = None if learned is None else _agreement(flat, learned)
    known = ", ".join(v.name for v in views[1:])
    absent = any(((one.present > 1e-9) & (one.present < 1 - 1e-9)).any() for one in web.links)
    readers = {COMPOSED: _belief(flat, new, check, agreement, known, "none: all worlds alike", absent=absent)}
    refused: dict[str, str] = {}
    if learned is not None:
        belief = _belief(learned, new, check, agreement, known, population.threat.population, absent=absent)
        own = population.diagnostics
        sure = replace(
            belief.diagnostics,
            converged=belief.diagnostics.converged and own.converged,
            precise=belief.diagnostics.precise and own.precise,
        )
        readers[COMPOSED_LEARNED] = replace(belief, diagnostics=sure)
    else:
        refused[COMPOSED_LEARNED] = "only a sample of people was asked about; what is learned is not known of all"
    remarks += _remarks(web, views, flat, check)
    findings, more = _counted(case, new, web, views, flat)
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


def _another_name(case: "Case", new: _Asked, earlier: EarlierRelease) -> str | None:
    """A column that nobody else has and that may be the attribute under another name."""
    known = {a.name for one in (new.release.release, case.original) if one is not None for a in one.attributes}
    asked, values = new.attribute, set(new.attribute.values)
    for one in earlier.release.attributes:
        if one.name not in known:
            both_numbers = one.role is Role.SENSITIVE and one.kind.measured and asked.kind.measured
            if both_numbers or 2 * len(values.intersection(one.values)) >= min(len(values), one.codes):
                return one.name
    return None


def _unknown(new: _Asked, earlier: Release) -> str:
    """What readers may know of people and the original does not hold, so that nobody could be linked by it."""
    if new.original is None:
        return ""
    held = {a.name for a in (*new.original.attributes, *new.release.release.attributes)}
    names = [a.name for a in earlier.attributes if a.role is Role.QUASI_IDENTIFIER and a.name not in held]
    if not names:
        return ""
    return (
        f"readers may know {', '.join(names)}, which the original does not hold: nobody was linked by it. If it has "
        f"another name there, its own schema must say so (prepare = {{ from = {names[0]!r} }})"
    )


def _misfit(web: Web, number: int, view: ReleaseView, truth: NDArray[np.integer] | None, least: int) -> str:
    """How an earlier release contradicts what was said of it: where people stand in it is then not known."""
    links, people, rows = web.links[number], int(web.size.sum()), view.release.rows
    advice = "say how its people overlap, or what of them has changed since"

    def some(count: float) -> str:
        return f"fewer than {least}" if 0 < round(count) < least else f"{round(count):,}"

    fitting = float((links.present * web.size).sum())
    wanted = {"same": min(people, rows), "subset": rows, "superset": people, "overlapping": view.overlap.shared or 1}
    if (missing := wanted[view.overlap.people] - fitting) > 0.5:
        return (
            f"{some(missing)} of {wanted[view.overlap.people]:,} people who should be in it fit no row of it; {advice}"
        )
    real = links.person < len(web.size)
    linked = np.bincount(links.person[real], weights=links.count[real], minlength=len(web.size))
    if (amiss := float(np.abs(linked - links.present * web.size).sum())) > 0.5:
        return f"its groups have more or fewer rows than people who fit them, by {some(amiss)} in all; {advice}"
    told = links.possible(len(web.size), web.values)[web.number]
    ruled_out = ~told.any(axis=1) if truth is None else ~told[np.arange(people), truth]
    if ruled_out.any():
        return f"it rules out what {some(ruled_out.sum())} of {people:,} people have; {advice}"
    return ""


def _unstated(view: ReleaseView) -> str:
    """What a reader may know better than we do."""
    names = ", ".join(view.unstated)
    return f"{names} perturbed: how far, or with what chances, is not stated, and it was taken for anything"


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
    *,
    absent: bool,
) -> Belief:
    """A reader of all releases, about those people who are asked about.

    Where people may be `absent` from a release and a part is too large to be summed up, nothing checks propagation: it
    was seen to be off by .1 for one person in ten. So a limit may be exceeded by it, and is never kept.
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
    precise = settled and (check is not None or not absent or bool(joint.exact.all()))
    if not precise:
        facts["alarm"] = _unsettled(joint, check)
    method = "exact" if joint.exact.all() else "belief propagation"
    threat = Threat(target=new.learner.threat.target, others=f"what {names} publish", population=population)
    total = probability.sum(axis=1, keepdims=True)
    return Belief(probability / total, diagnostics=Diagnostics(method, settled, precise, facts), threat=threat)


def _unsettled(joint: JointBelief, check: SampledCheck | None) -> str:
    if joint.impossible.any():
        return "for some people no value fits every release: they are not the same people, or their values changed"
    if not joint.settled:
        return (
            f"beliefs from all releases together still change by {joint.worst:.3f} after {joint.rounds} rounds; do not "
            "rely on them"
        )
    if check is None:
        return (
            "people may be missing from an earlier release, and parts of it are too large to be summed up exactly: "
            "beliefs from all releases together are estimates, and no limit counts as kept by them"
        )
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


def _counted(
    case: "Case", new: _Asked, web: Web, views: Sequence[ReleaseView], flat: JointBelief
) -> tuple[list[Finding], dict[str, Any]]:
    """Findings that count people, and the smallest sets of earlier releases that expose somebody."""
    attribute, truth = new.attribute, new.truth
    told = exposure_of(web, harmless=attribute.harmless)
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
    needed = 1
    if len(views) > 2 and sure.any():
        sets, complete = minimal_sets(views, attribute.codes, sure)
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
