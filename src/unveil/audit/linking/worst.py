"""The worst case of linking for `unveil attack identity`: a learned distance, and one who knows the masking."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.risk.linkage.candidates import worst_links
from unveil.risk.linkage.certificate import MARGIN
from unveil.risk.linkage.links import Links
from unveil.risk.linkage.pairs import MOST_ENTRIES
from unveil.risk.linkage.published import Published
from unveil.risk.linkage.register import Register
from unveil.risk.linkage.supervised import LearnedDistance
from unveil.risk.linkage.transparency import Method, link_by_method

__all__ = ["WorstCase", "ask_worst"]


@dataclass(frozen=True, slots=True, eq=False)
class WorstCase:
    """One reader's links, or why there are none; and what is to be said of it."""

    links: Links | None
    reason: str | None = None
    remark: str | None = None
    shares: dict[str, tuple[float, float | None]] = field(default_factory=dict)  # by statistic of reid: with baseline


def ask_worst(
    release: Release,
    published: Published,
    held: Register,
    group: NDArray[np.integer] | None,
    aggregate: str | None,
    method: Method | None,
    engine: Engine,
    *,
    seconds: float | None = None,
) -> dict[str, WorstCase]:
    """The readers that were asked for: `supervised` with an aggregate, `transparency` with a masking method.

    `seconds`: prove what no distance of the family exceeds, for so long at most; None = it is not asked.
    """
    found = {}
    if aggregate is not None:
        found["supervised"] = _learned(published, held, aggregate, engine, seconds)
    if method is not None:
        found["transparency"] = _told(release, held, method, group)
    return found


def _learned(published: Published, held: Register, aggregate: str, engine: Engine, seconds: float | None) -> WorstCase:
    """Links by the distance learned from everybody; the remark says what is left of it for people not learned from."""
    try:
        found, links = worst_links(
            published, held, aggregate, certified=seconds is not None, seconds=seconds, engine=engine
        )
    except NotApplicable as reason:
        return WorstCase(None, str(reason))
    remark = (
        f"A distance learned from one half of the people ({aggregate}) links {found.trained:.1%} of that half and "
        f"{found.tested:.1%} of the other, of which the plain one links {found.tested_plain:.1%}. What it links more "
        "of the people it learned from is overfitting."
    )
    if held.people * published.rows * len(published.attributes) > MOST_ENTRIES:
        remark += " It was learned from the rows nearest to each person, and is judged against all rows."
    shares: dict[str, tuple[float, float | None]] = {
        "trained": (found.trained, None),
        "tested": (found.tested, found.tested_plain),
    }
    if found.bound is not None:
        shares["bound"] = (found.bound, None)
        remark += _proven(found)
    return WorstCase(links, None, remark, {key: pair for key, pair in shares.items() if pair[0] == pair[0]})


def _proven(found: LearnedDistance) -> str:
    assert found.bound is not None
    if found.reid >= found.bound - 1e-9:
        return f" It is proven that no distance of this family links more (by {MARGIN:g} or more)."
    return (
        f" It is proven that no distance of this family links more than {found.bound:.1%} (by {MARGIN:g} or more); "
        f"what lies between that and {found.reid:.1%} is open."
    )


def _told(release: Release, held: Register, method: Method, group: NDArray[np.integer] | None) -> WorstCase:
    """Links by one who knows how the release was masked."""
    if not release.perturbed:
        return WorstCase(None, "the release is not masked: its cells hold the truth")
    if group is None:
        return WorstCase(None, "nothing says whose row is whose")
    try:
        return WorstCase(link_by_method(release, held, method, group))
    except NotApplicable as reason:
        return WorstCase(None, str(reason))
