"""What of earlier releases was not read, or cannot have been read rightly, and why: composition is then not judged."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unveil.audit.binning import COARSE, AttributeBins, bins_of
from unveil.data.attribute import Attribute, Role
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.errors import NotApplicable
from unveil.risk.composition import (
    EarlierRelease,
    KnownPeople,
    ReleaseView,
    Web,
    home_of,
    presence_view,
    view_of,
    weave,
)

if TYPE_CHECKING:
    from unveil.audit.case import Case

__all__ = ["earlier_about", "misfit", "unread", "unstated"]

FEW = 20  # values of a number that are read one by one
TOLD = 0.8  # a reader is sure
LEAST = 5  # people told one value
BY_CHANCE = 1e-4
GAIN = 0.05
SURELY_NOT = 1e-9  # probability
SURE, DRAWS = 4.0, 20  # standard errors, of so many draws


def earlier_about(
    case: "Case", asked: Attribute, bins: AttributeBins | None
) -> tuple[dict[str, EarlierRelease], dict[str, str], dict[str, EarlierRelease]]:
    """Earlier releases that publish the attribute, in bins if it is; why others cannot be used; who does not."""
    name = asked.name if bins is None else bins.name
    found, left_out, silent = {}, dict(case.not_combined), {}
    for other, earlier in case.earlier.items():
        release = earlier.release
        if name not in {a.name for a in release.attributes}:
            silent[other] = earlier
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


def unread(
    name: str,
    earlier: EarlierRelease,
    held: Sequence[Release | Table],
    read: Collection[str],
    people: KnownPeople,
    asked: Attribute,
    truth: NDArray[np.integer] | None,
) -> str:
    """Why an earlier release may tell more than was read of it; empty if it does not.

    `held`: the new release, and the original if there is one; `read`: columns that readers know, or were asked about.
    """
    release, here = earlier.release, {a.name for one in held for a in one.attributes}
    columns = [a for i, a in enumerate(release.attributes) if a.name not in read and i not in release.perturbed]
    shows = asked.name in {a.name for a in release.attributes}
    unknown = [a.name for a in columns if a.role is Role.QUASI_IDENTIFIER and a.name not in here]
    if shows and unknown and truth is not None:
        return (
            f"readers may know {', '.join(unknown)}, which the original does not hold: nobody was linked by it. If it "
            f"has another name there, its own schema must say so (prepare = {{ from = {unknown[0]!r} }})"
        )
    for column in columns:
        if not shows and column.name not in here and _may_be(column, asked):
            return (
                f"it does not publish {asked.name}, but {column.name} has such values; if they are the same, its own "
                f"schema must say so: [attributes.{asked.name}] with prepare = {{ from = {column.name!r} }}"
            )
        if why := _foreign(name, earlier, column, people, asked, truth, shows=shows):
            return why
    if truth is None:
        return ""
    if earlier.overlap.people in ("subset", "overlapping") and (why := _listed(name, earlier, people, asked, truth)):
        return why
    return _changed_otherwise(name, earlier, people, asked, truth) if shows and earlier.changed else ""


def _may_be(column: Attribute, asked: Attribute) -> bool:
    """Whether a column may be the attribute under another name."""
    both_numbers = column.role is Role.SENSITIVE and column.kind.measured and asked.kind.measured
    same = len({*asked.values} & {*column.values})
    return both_numbers or 2 * same >= min(len(asked.values), column.codes)


def _foreign(
    name: str,
    earlier: EarlierRelease,
    column: Attribute,
    people: KnownPeople,
    asked: Attribute,
    truth: NDArray[np.integer] | None,
    *,
    shows: bool,
) -> str:
    """What a column tells of people that goes with the attribute, or why that cannot be said."""
    if truth is None:
        secret = column.role is Role.SENSITIVE and not shows
        return f"what its {column.name} says of {asked.name} cannot be said without an original" if secret else ""
    if column.codes > FEW and column.kind.measured:
        bins = bins_of(column, earlier.release, None, COARSE)
        earlier, column = replace(earlier, release=bins.release(earlier.release)), bins.attribute
    try:
        view = view_of(name, earlier, people, column)
    except NotApplicable as error:
        return f"its {column.name} was not read: {error}"
    web = weave([view], column.codes)
    if not shows and (why := misfit(web, 0, view, None, 1)):
        return why
    if not shows and view.overlap.people == "same" and view.release.rows != people.count:
        return (
            f"it has {view.release.rows:,} rows for {people.count:,} people, and its {column.name} is in no other "
            "release: say how its people overlap; rows that are not people (counts, households) are not read"
        )
    told = web.links[0].possible(len(web.size), column.codes, absent=False)[web.number]  # by whatever row fits them
    sure = np.flatnonzero(told.sum(axis=1) == 1)
    if not _goes_with(told[sure].argmax(axis=1), truth[sure], column.codes, truth, asked.codes):
        return ""
    return (
        f"it tells {column.name} of people, which goes with their {asked.name} and is in no other release: whoever "
        "knows how, knows more than was read. If it is the same in other words, its own schema must say so"
    )


def _listed(
    name: str, earlier: EarlierRelease, people: KnownPeople, asked: Attribute, truth: NDArray[np.integer]
) -> str:
    """Why it matters who is in the release at all."""
    try:
        web = weave([presence_view(name, earlier, people)], 1)
    except NotApplicable:
        return ""
    present = web.links[0].present[web.number]
    told = np.flatnonzero((present < SURELY_NOT) | (present > 1 - SURELY_NOT))
    if not _goes_with((present[told] > 0.5).astype(np.int64), truth[told], 2, truth, asked.codes):
        return ""
    return (
        f"who is in it goes with their {asked.name}: whoever knows how it was put together knows more than was read. "
        "Who is missing from a file is taken to be so by chance"
    )


def _changed_otherwise(
    name: str, earlier: EarlierRelease, people: KnownPeople, asked: Attribute, truth: NDArray[np.integer]
) -> str:
    """How values differ from those of then, if not as is said: whoever knows how they changed knows more."""
    web = weave([view_of(name, replace(earlier, changed=0.0), people, asked)], asked.codes)
    links, share = web.links[0], np.bincount(truth, minlength=asked.codes) / len(truth)
    told = links.possible(len(web.size), asked.codes, absent=False)[web.number]
    sure = np.flatnonzero((told.sum(axis=1) == 1) & (links.present[web.number] > 1 - SURELY_NOT))
    then, now = told[sure].argmax(axis=1), truth[sure]
    count = np.bincount(then * asked.codes + now, minlength=asked.codes**2).reshape(asked.codes, asked.codes)
    said = share * ((1 - earlier.changed) * np.eye(asked.codes) + earlier.changed * share[:, None])
    said /= np.maximum(said.sum(axis=1, keepdims=True), 1e-300)
    guessed = count[then] + 2 * said[then]  # from the others
    guessed[np.arange(len(now)), now] -= 1
    gain = np.log(guessed / guessed.sum(axis=1, keepdims=True) / said[then])[np.arange(len(now)), now]
    by_rule = len(now) >= LEAST and gain.mean() > max(GAIN, SURE * gain.std() / len(now) ** 0.5)
    if by_rule or _fewer_changed(web, truth, share, earlier.changed):
        return (
            f"values of {asked.name} have not changed as is said (changed={earlier.changed:g}): whoever knows how, "
            "knows more than was read"
        )
    return ""


def _fewer_changed(web: Web, truth: NDArray[np.integer], share: NDArray[np.float64], changed: float) -> bool:
    """Whether groups hold what their people have now, more than chance explains if so many values changed."""
    links = web.links[0]
    if links.emission is not None:
        return False
    home = home_of(links, web.size)[web.number]
    of_value = np.repeat(np.arange(links.groups), np.diff(links.value_start))
    rows = np.round(links.held).astype(np.int64)
    people = np.bincount(home[home >= 0], minlength=links.groups)
    whole = people == np.bincount(of_value, weights=rows, minlength=links.groups)
    group, then = np.repeat(of_value, rows), np.repeat(links.column, rows)
    group, then = group[whole[group]], then[whole[group]]
    some = whole[home] & (home >= 0)

    def counts(value: NDArray[np.integer], place: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.bincount(place * len(share) + value, minlength=links.groups * len(share))

    def differ(value: NDArray[np.integer], place: NDArray[np.int64]) -> float:
        return float(np.abs(counts(then, group) - counts(value, place)).sum()) / 2

    draw = np.random.default_rng(0)
    drawn = []
    for _ in range(DRAWS):
        other = draw.choice(len(share), len(then), p=share)
        drawn.append(differ(np.where(draw.random(len(then)) < changed, other, then), group))
    seen = differ(truth[some], home[some])
    return float(np.mean(drawn)) - seen > max(GAIN * len(then), SURE * float(np.std(drawn)))


def _goes_with(
    value: NDArray[np.int64], mine: NDArray[np.integer], codes: int, truth: NDArray[np.integer], answers: int
) -> bool:
    """Whether of those who are told a value most have one answer or none has it, or more are guessed right by it."""
    from scipy.stats import binom, chi2

    if not len(value):
        return False
    count = np.bincount(value * answers + mine, minlength=codes * answers).reshape(codes, answers)
    people, overall = count.sum(axis=1, keepdims=True), np.bincount(truth, minlength=answers) / len(truth)
    chance = binom.sf(count - 1, people, overall) * count.size
    if ((people >= LEAST) & (count >= TOLD * people) & (overall < TOLD) & (chance < BY_CHANCE)).any():
        return True
    if ((count == 0) & ((1 - overall) ** people * count.size < BY_CHANCE)).any():  # an answer is ruled out
        return True
    alike = people * count.sum(axis=0) / len(value)
    excess = 2 * float((count * np.log(np.maximum(count, 1) / np.maximum(alike, 1e-12))).sum())  # a G test
    freedom = max(((people > 0).sum() - 1) * ((count > 0).any(axis=0).sum() - 1), 1)
    own = count[value]
    own[np.arange(len(value)), mine] -= 1  # guessed from the others
    right = float((own.argmax(axis=1) == mine).mean())
    return right > overall.max() + GAIN and bool(chi2.sf(excess, freedom) < BY_CHANCE)


def misfit(web: Web, number: int, view: ReleaseView, truth: NDArray[np.integer] | None, least: int) -> str:
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
    told = web.by_value(links.possible(len(web.size), web.values).astype(np.float64))[web.number] > 0
    ruled_out = ~told.any(axis=1) if truth is None else ~told[np.arange(people), truth]
    if ruled_out.any():
        return f"it rules out what {some(ruled_out.sum())} of {people:,} people have; {advice}"
    return ""


def unstated(view: ReleaseView) -> str:
    """What a reader may know better than we do."""
    names = ", ".join(view.unstated)
    return f"{names} perturbed: how far, or with what chances, is not stated, and it was taken for anything"
