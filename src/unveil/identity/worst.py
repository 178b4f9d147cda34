"""The worst case of linking, as `unveil link` asks for it: a learned distance, and one who knows the masking."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.linkage.held import Held
from unveil.linkage.links import Links
from unveil.linkage.pairs import all_pairs
from unveil.linkage.readers import Published
from unveil.linkage.supervised import links_with, worst_case
from unveil.linkage.transparency import Method, link_knowing
from unveil.masked import Masked
from unveil.release import Release

__all__ = ["Worst", "ask_worst"]


@dataclass(frozen=True, slots=True, eq=False)
class Worst:
    """One reader's links, or why there are none; and what is to be said of it."""

    links: Links | None
    reason: str | None = None
    remark: str | None = None


def ask_worst(
    release: Release | Masked,
    published: Published,
    held: Held,
    origin: NDArray[np.int64] | None,
    aggregate: str | None,
    method: Method | None,
    engine: Engine,
) -> dict[str, Worst]:
    """The readers that were asked for: `supervised` with an aggregate, `transparency` with a masking method."""
    found = {}
    if aggregate is not None:
        found["supervised"] = _learned(published, held, aggregate, engine)
    if method is not None:
        found["transparency"] = _told(release, held, method, origin)
    return found


def _learned(published: Published, held: Held, aggregate: str, engine: Engine) -> Worst:
    """Links by the distance learned from everybody; the remark says what is left of it for people not learned from."""
    try:
        pairs = all_pairs(published, held)
        found = worst_case(pairs, aggregate, engine=engine)
    except NotApplicable as reason:
        return Worst(None, str(reason))
    remark = (
        f"A distance learned from one half of the people ({aggregate}) links {found.trained:.1%} of that half and "
        f"{found.tested:.1%} of the other, of which the plain one links {found.tested_plain:.1%}. What it links more "
        "of the people it learned from is overfitting."
    )
    return Worst(links_with(pairs, aggregate, found.parameters), None, remark)


def _told(release: Release | Masked, held: Held, method: Method, origin: NDArray[np.int64] | None) -> Worst:
    """Links by one who knows how the release was masked."""
    if not isinstance(release, Masked):
        return Worst(None, "the release is not masked: its cells hold the truth")
    if origin is None:
        return Worst(None, "nothing says whose row is whose")
    try:
        return Worst(link_knowing(release, held, method, origin))
    except NotApplicable as reason:
        return Worst(None, str(reason))
