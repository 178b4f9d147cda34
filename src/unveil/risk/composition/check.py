"""A sampled check of beliefs on loops: a walk over the joint matchings of two releases, from one that fits both."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.engine import Engine
from unveil.kernels.composition import alternate
from unveil.risk.composition.inference import JointBelief, Web
from unveil.risk.composition.structure import home_of

__all__ = ["SampledCheck", "sampled_check"]

STEPS, FIRST = 60, 20  # sweeps that count, and those before
LONGEST = 400  # people on a loop that is turned over
BINS = 10
TOLERANCE = 0.05  # a larger gap: the beliefs are not called settled
FEWEST = 100  # people: a gap over fewer is chance


@dataclass(frozen=True, slots=True)
class SampledCheck:
    """How far beliefs are from a walk over joint matchings."""

    people: int  # who are compared: on loops, and moved by the walk
    gap: float  # mean distance of beliefs and sampled shares, over tenths of belief

    @property
    def passed(self) -> bool:
        """Whether the gap is within the tolerance."""
        return self.people < FEWEST or self.gap <= TOLERANCE


def sampled_check(web: Web, found: JointBelief, values: NDArray[np.integer], engine: Engine) -> SampledCheck | None:
    """Compare beliefs with shares of a walk that starts from `values` (people,), which must fit both releases.

    None where it cannot be done: more than two releases, people who may be elsewhere or absent, values that do not fit.
    The walk knows no more than the releases: from a matching that fits, it goes to others that fit.
    """
    if (
        len(web.links) != 2
        or web.of is not None
        or found.exact.all()
        or any(one.emission is not None for one in web.links)
    ):
        return None
    homes = [home_of(one, web.size)[web.number] for one in web.links]
    if any((home < 0).any() for home in homes):
        return None
    start, member = [], []
    width = max(one.groups for one in web.links) + 1
    for one, home in zip(web.links, homes, strict=True):
        of_value = np.repeat(np.arange(one.groups), np.diff(one.value_start))
        held = np.zeros((one.groups, web.values), dtype=np.int64)
        held[of_value, one.column] = np.round(one.held)
        mine = np.zeros_like(held)
        np.add.at(mine, (home, values), 1)
        if not np.array_equal(held, mine):
            return None
        member.append(np.argsort(home, kind="stable"))
        begin = np.concatenate([[0], np.cumsum(np.bincount(home, minlength=one.groups))])
        start.append(np.pad(begin, (0, width - len(begin)), mode="edge"))
    people = len(values)
    state = np.asarray(values, dtype=np.int64).copy()
    seen, moved = np.zeros((people, web.values), dtype=np.int64), np.zeros(people, dtype=np.int64)
    weight = np.ones((people, web.values))
    shape = np.stack(homes), np.stack(start), np.stack(member), state, weight
    keys = engine.named("composition").generator().integers(0, 2**63, 2).astype(np.uint64)
    alternate(*shape, FIRST, LONGEST, keys[0], seen, moved)
    seen[:] = 0
    alternate(*shape, STEPS, LONGEST, keys[1], seen, moved)
    which = np.flatnonzero(~found.exact & (moved > 0))
    if not len(which):
        return SampledCheck(0, 0.0)
    belief = found.probability[which]
    top = belief.argmax(axis=1)
    sure, share = belief[np.arange(len(which)), top], seen[which, top] / seen[which].sum(axis=1)
    bin_of = np.minimum((sure * BINS).astype(int), BINS - 1)
    gap = sum(abs(float((sure - share)[bin_of == b].sum())) for b in range(BINS)) / len(which)
    return SampledCheck(len(which), gap)
