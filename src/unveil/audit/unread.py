"""What of earlier releases was not read, or cannot have been read rightly, and why: composition is then not judged."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unveil.audit.binning import COARSE, AttributeBins, bins_of
from unveil.data.attribute import Attribute, Role
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.errors import NotApplicable
from unveil.risk.composition import EarlierRelease, KnownPeople, ReleaseView, Web, view_of, weave

if TYPE_CHECKING:
    from unveil.audit.case import Case

__all__ = ["earlier_about", "misfit", "unread", "unstated"]

FEW = 20  # values of a number that are read one by one
TOLD = 0.8  # a reader is sure
LEAST = 5  # people told one value
BY_CHANCE = 1e-4
GAIN = 0.05


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
    people: KnownPeople,
    asked: Attribute,
    truth: NDArray[np.integer] | None,
) -> str:
    """Why columns of an earlier release that nobody else has may tell more than was read; empty if they do not.

    `held`: the new release, and the original if there is one.
    """
    release, here = earlier.release, {a.name for one in held for a in one.attributes}
    foreign = [a for i, a in enumerate(release.attributes) if a.name not in here and i not in release.perturbed]
    shows = asked.name in {a.name for a in release.attributes}
    unknown = [a.name for a in foreign if a.role is Role.QUASI_IDENTIFIER]
    if shows and unknown and truth is not None:
        return (
            f"readers may know {', '.join(unknown)}, which the original does not hold: nobody was linked by it. If it "
            f"has another name there, its own schema must say so (prepare = {{ from = {unknown[0]!r} }})"
        )
    for column in foreign:
        if not shows and _may_be(column, asked):
            return (
                f"it does not publish {asked.name}, but {column.name} has such values; if they are the same, its own "
                f"schema must say so: [attributes.{asked.name}] with prepare = {{ from = {column.name!r} }}"
            )
        if why := _foreign(name, earlier, column, people, asked, truth, shows=shows):
            return why
    return ""


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
