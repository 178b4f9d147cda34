"""Being in the table: what an audit says of membership, for one release."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.document import Finding, number
from unveil.audit.words import percent
from unveil.data.attribute import Role
from unveil.data.belief import Estimate, Targets
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable, Stopped, UsageError
from unveil.risk.linkage.distance import nearest_distances
from unveil.risk.membership.belief import BINS, MembershipBelief, bin_of, frequency_score, learn_membership
from unveil.risk.membership.drawing import drawn_members, published_shares
from unveil.risk.membership.matching import matching_groups
from unveil.risk.membership.presence import Presence, delta_presence
from unveil.risk.membership.scores import FALSE_ALARMS, ScoreQuality, score_quality
from unveil.risk.membership.tuples import BANDS, FakeTuples, TupleCount, fake_tuples

__all__ = [
    "MEASURES",
    "Membership",
    "MembershipQuestion",
    "hold_out",
    "known_of",
    "masked_membership",
    "membership_of",
]

MEASURES = (
    *("membership_posterior", "membership_odds", "membership_auc", "membership_tpr"),
    *("fake_tuples", "matching_groups"),
)
MASKED = "values were perturbed, not widened"
OF_CONTROLS = ("membership_auc", *(f"membership_tpr.{alarms}" for alarms in FALSE_ALARMS))  # the best score
MOST_PAIRS = 50_000_000  # of a set of groups: about a second; beyond that tuples are drawn
ROC_POINTS = np.round(np.linspace(0, 1, 41), 3)


@dataclass(frozen=True, slots=True)
class MembershipQuestion:
    """Whether being in the table is sensitive, and how probable it is held beforehand (None: as `learn_membership`)."""

    sensitive: bool | None = None  # None: nobody said
    prior: float | None = None

    def __post_init__(self) -> None:
        if self.prior is not None and not 0 < self.prior < 1:
            raise UsageError(
                f"the prior probability of being in the table must lie between 0 and 1, not {self.prior:g}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Membership:
    """Findings, facts and charts of one release."""

    findings: tuple[Finding, ...]
    facts: dict[str, Any]
    charts: dict[str, Any]


def hold_out(table: Table, share: float, engine: Engine | None = None) -> tuple[Table, Table]:
    """People to release, and a random share of people held out, who are the controls when the release is audited."""
    if not 0 < share < 1:
        raise UsageError(f"the share of people held out must lie between 0 and 1, not {share:g}")
    order = (Engine(seed=0) if engine is None else engine).named("hold_out").generator().permutation(table.rows)
    out = round(share * table.rows)
    if not 0 < out < table.rows:
        raise UsageError(f"{share:g} of {table.rows} rows leaves one side empty")
    return table.part(np.sort(order[out:])), table.part(np.sort(order[:out]))


def membership_of(
    release: Release,
    name: str,
    asked: MembershipQuestion,
    *,
    known: Sequence[str],
    table: Table | None = None,
    control: Table | None = None,
    population: Table | None = None,
    engine: Engine | None = None,
) -> Membership:
    """What a reader who knows these attributes of a person finds out about the person's being in the table."""
    positions = [release.index(attribute) for attribute in known]
    people, others, around = (
        None if part is None else targets_of_table(part, release, -1, known=_held(part, known))
        for part in (table, control, population)
    )
    if around is not None and set(around.known) != set(positions):
        around = None  # the population does not speak of all that is known
    try:
        reader = learn_membership(release, positions, prior=asked.prior, population=around, engine=engine)
    except NotApplicable as reason:
        return _membership_refused(name, asked, str(reason))
    shares = published_shares(release, positions)
    if people is None:
        random = (Engine(seed=0) if engine is None else engine).named("membership people").generator()
        members = drawn_members(release, shares, min(release.rows, 20_000), random)
    else:
        members = people
    degree = matching_groups(release, members).degree
    inside = None if around is None else delta_presence(release, around, members)
    curves: dict[str, ScoreQuality] = {}
    if people is not None and others is not None:
        outside = matching_groups(release, others).degree
        curves["degree"] = score_quality(reader.believe(degree), reader.believe(outside))
        curves["frequency"] = score_quality(*(frequency_score(release, part, shares) for part in (people, others)))
    fakes = {} if table is None else dict(_fakes(release, table, people, engine))
    presence = None if around is None else delta_presence(release, around)
    findings = [
        Finding.of("membership_posterior.max", name, None, reader.largest(degree, inside), reader.prior),
        Finding.of("membership_posterior.mean", name, None, reader.mean(degree, inside), reader.prior),
        Finding.of("membership_odds.max", name, None, reader.largest(degree, inside, odds=True), 1.0),
        *_told_findings(name, curves, ("degree", "frequency")),
        *_fake_findings(name, fakes),
    ]
    if presence is not None:
        share = release.rows / presence.value.size
        findings.append(Finding.of("delta_presence.min", name, None, presence.smallest, share))
        findings.append(Finding.of("delta_presence.max", name, None, presence.largest, share))
    facts = {
        "sensitive": bool(asked.sensitive),
        "prior": reader.prior,
        "others": reader.source,
        "known": list(known),
        "exact": reader.exact,
        "fake_tuples": {key: _fake_fact(found) for key, found in fakes.items()},
        "rows_nobody_fills": None if presence is None else presence.short,
        "reason": None,
        "words": _words(asked, reader, degree, inside, curves, fakes),
    }
    return Membership(tuple(findings), facts, _charts(reader, degree, curves, fakes))


def _held(table: Table, known: Sequence[str]) -> list[str]:
    names = {a.name for a in table.attributes}
    return [name for name in known if name in names]


def _fakes(
    release: Release, table: Table, people: Targets | None, engine: Engine | None
) -> Iterator[tuple[str, FakeTuples]]:
    """Of all published attributes, as the thesis has it, and of those that are known of a person."""
    published = [a.name for a in release.attributes if a.name in {b.name for b in table.attributes}]
    every = targets_of_table(table, release, -1, known=published)
    for key, targets in (("published", every), ("known", people)):
        if targets is not None and targets.known:
            yield key, fake_tuples(release, targets, engine=engine, most=MOST_PAIRS)


def _told_findings(release: str, told: Mapping[str, ScoreQuality], scores: Sequence[str]) -> Iterator[Finding]:
    """How members are told from controls: each score's area, the largest, and the largest share found at few alarms."""
    for score in scores:
        id = f"membership_auc.{score}"
        known = told.get(score)
        yield Finding.of(id, release, None, None) if known is None else Finding.of(id, release, None, known.auc, 0.5)
    if not told:
        yield from (Finding.of(id, release, None, None) for id in OF_CONTROLS)
        return
    yield Finding.of(OF_CONTROLS[0], release, None, _largest([one.auc for one in told.values()]), 0.5)
    for id, (alarms, share) in zip(OF_CONTROLS[1:], FALSE_ALARMS.items(), strict=True):
        yield Finding.of(id, release, None, _largest([one.found[alarms] for one in told.values()]), share)


def _largest(found: Sequence[Estimate]) -> Estimate:
    """The largest of several scores: each end is the largest of theirs."""
    return Estimate(*(max(ends) for ends in zip(*((e.value, e.low, e.high) for e in found), strict=True)))


def _fake_findings(name: str, fakes: dict[str, FakeTuples]) -> Iterator[Finding]:
    for id, key in (("fake_tuples", "published"), ("fake_tuples.known", "known")):
        if key in fakes:
            found = fakes[key].fake
            yield Finding.of(id, name, None, Estimate(*map(_float, (found.value, found.low, found.high))))
        else:
            yield Finding.of(id, name, None, None)
    every = fakes.get("published")
    for place, word in enumerate(("10", "20", "more")):
        ids = f"matching_groups.rows_{word}", f"matching_groups.fake_{word}"
        if every is None:
            yield from (Finding.of(id, name, None, None) for id in ids)
            continue
        yield Finding.exact(ids[0], name, None, every.row_bands[place] / every.rows)
        yield Finding.of(ids[1], name, None, _share(every.bands[place], every.fake))


def _float(value: int) -> float:
    return float(value) if value.bit_length() < 1000 else float("inf")


def _share(part: TupleCount, whole: TupleCount) -> Estimate:
    """The share of the fake tuples in a band; of none it is 0."""
    if not whole.value:
        return Estimate.exact(0.0)
    value = part.value / whole.value
    low, high = part.low / whole.value, min(part.high / whole.value, 1.0)
    return Estimate(min(value, 1.0), min(low, value, 1.0), max(high, min(value, 1.0)))


def _fake_fact(found: FakeTuples) -> dict[str, Any]:
    """In digits: JSON readers round large numbers."""
    return {
        "fake": str(found.fake.value),
        "low": str(found.fake.low),
        "high": str(found.fake.high),
        "exact": found.exact,
    }


def _membership_refused(name: str, asked: MembershipQuestion, reason: str) -> Membership:
    """Membership where it cannot be measured: all unknown, so that a limit on it is inconclusive."""
    ids = (
        *("membership_posterior.max", "membership_posterior.mean", "membership_odds.max"),
        *("membership_auc.degree", "membership_auc.frequency", *OF_CONTROLS),
    )
    findings = (*(Finding.of(id, name, None, None) for id in ids), *_fake_findings(name, {}))
    facts: dict[str, Any] = dict.fromkeys(("prior", "others", "rows_nobody_fills"))
    facts |= {"sensitive": bool(asked.sensitive), "known": [], "exact": False, "fake_tuples": {}, "reason": reason}
    return Membership(findings, {**facts, "words": f"Membership was not tested: {reason}."}, {})


def _words(
    asked: MembershipQuestion,
    reader: MembershipBelief,
    degree: NDArray[np.int64],
    inside: Presence | None,
    curves: dict[str, ScoreQuality],
    fakes: dict[str, FakeTuples],
) -> str:
    first = _said(asked)
    largest = reader.largest(degree, inside).value
    words = (
        f"{first}. Someone who gave a person in it a chance of {percent(reader.prior)} of being there gives at most "
        f"{percent(largest)} after "
        f"{'counting the groups that the person matches' if inside is None else 'reading it beside the population'}."
    )
    if inside is not None and inside.certain:
        words += f" {percent(inside.certain)} of its people are certain to be in it: nobody else could fill its rows."
    if curves:
        words += _told_words(curves)
    if "known" in fakes and not fakes["known"].fake.value:
        words += " Whoever fits a row by what is known is one of the people in the table or just like one: "
        words += "no other combination fits."
    return words


def _told_words(told: Mapping[str, ScoreQuality]) -> str:
    """How members are told from controls, by the best score."""
    best = max(told.values(), key=lambda one: one.auc.value)
    return (
        f" Of a member and a control, the member is picked out with a chance of {percent(best.auc.value)}; "
        "a coin does it with 50%. With one control in 100 accused wrongly, "
        f"{percent(best.found['1_in_100'].value)} of the members are found."
    )


def _said(asked: MembershipQuestion) -> str:
    """What the schema says of being in the table."""
    words = {True: "Being in the table is sensitive", False: "Being in the table is said to be harmless"}
    return "Being in the table is not said to be sensitive" if asked.sensitive is None else words[asked.sensitive]


def _charts(
    reader: MembershipBelief, degree: NDArray[np.int64], curves: dict[str, ScoreQuality], fakes: dict[str, FakeTuples]
) -> dict[str, Any]:
    """Binned: bands of matching groups for rows and fake tuples, what is believed by bin, ROC at fixed points."""
    place = bin_of(degree)
    posterior = reader.posterior()
    found: dict[str, Any] = {
        "degrees": {
            "labels": list(BINS),
            "people": np.bincount(place, minlength=len(BINS)).tolist(),
            "others": [number(v) for v in reader.others[0]],
            "posterior": [number(v) for v in posterior[0]],
        }
    }
    if "published" in fakes:
        every = fakes["published"]
        found["bands"] = {
            "labels": list(BANDS),
            "rows": list(every.row_bands),
            "fake": [_float(band.value) for band in every.bands],
        }
    if curves:
        found["roc"] = _roc_points(curves)
    return found


def _roc_points(told: Mapping[str, ScoreQuality]) -> dict[str, list[float]]:
    """The curves at fixed points."""
    curves = {key: (one.roc.false_positive, one.roc.true_positive) for key, one in told.items()}
    found = {key: np.interp(ROC_POINTS, *curve).tolist() for key, curve in curves.items()}
    return {"false_positive": ROC_POINTS.tolist(), **found}


def known_of(release: Release, known: Sequence[str] | None) -> list[str]:
    """What is known of a person: what was said, as far as it is published, or every quasi-identifier."""
    if known is None:
        return [release.attributes[i].name for i in release.with_role(Role.QUASI_IDENTIFIER)]
    published = {a.name for a in release.attributes}
    return [name for name in known if name in published]


def masked_membership(
    release: Release,
    name: str,
    asked: MembershipQuestion,
    *,
    known: Sequence[str],
    table: Table | None,
    control: Table | None,
    engine: Engine,
) -> Membership:
    """Members told from controls by the nearest published row; groups, and beliefs from them, there are none."""
    if table is None or control is None:
        return _membership_refused(name, asked, f"{MASKED}; members can be told from --control people only")
    try:
        distances = nearest_distances(release, [table, control], known, engine=engine)
    except (NotApplicable, Stopped, UsageError) as reason:
        return _membership_refused(name, asked, str(reason))
    told = {"nearest": score_quality(*(-part for part in distances))}
    refused = _membership_refused(name, asked, MASKED)
    found = list(_told_findings(name, told, ("nearest",)))
    measured = {f.id for f in found}
    first = _said(asked)
    facts = {**refused.facts, "known": list(known), "reason": None}
    facts["words"] = f"{first}. By how near the nearest row is:{_told_words(told)}"
    kept = tuple(f for f in refused.findings if f.id not in measured)
    return replace(refused, findings=(*found, *kept), facts=facts, charts={"roc": _roc_points(told)})
