"""What several releases of the same people tell together about one attribute of each person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Targets
from unveil.data.regions import rank_sequences
from unveil.data.release import Release, example_rows, row_numbers
from unveil.errors import UsageError
from unveil.kernels.numbering import grouped
from unveil.risk.composition.elimination import exact_beliefs
from unveil.risk.composition.links import Floats, GroupLinks, Ints, Overlap, link_people
from unveil.risk.composition.propagation import Propagated, propagate
from unveil.risk.composition.structure import ConnectedParts, Difference, parts_of, subtract_nested

__all__ = ["JointBelief", "ReleaseView", "Web", "weave"]


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseView:
    """One release as it speaks of the people who are asked about."""

    name: str
    release: Release
    targets: Targets  # the people, in an order that all views share; known and asked by this release's positions
    overlap: Overlap = field(default_factory=Overlap)
    emission: Floats | None = None  # (regions of the asked attribute, values): chance of what is published; None: equal
    nowhere: NDArray[np.bool_] | None = None  # (people,) who fit no row whatever it shows
    likelihood: Mapping[int, Floats] = field(default_factory=dict)  # by perturbed attribute: (known sets, codes)
    unstated: tuple[str, ...] = ()  # known of people and perturbed, nobody says how far: taken for anything

    def repeats(self, other: "ReleaseView") -> bool:
        """Whether it is the same release, said of the same people: published once more, it tells nothing."""
        return (
            self.release == other.release
            and (self.overlap, other.overlap) == (Overlap(), Overlap())
            and self.targets.known.keys() == other.targets.known.keys()
            and not self.likelihood
            and not other.likelihood
            and self.nowhere is other.nowhere is None
            and _equal(self.emission, other.emission)
            and _equal(self.targets.group, other.targets.group)
            and np.array_equal(self.targets.numbered(), other.targets.numbered())
        )


@dataclass(frozen=True, slots=True, eq=False)
class JointBelief:
    """Beliefs about people given several releases, and how they were reached."""

    probability: Floats  # (people, values)
    exact: NDArray[np.bool_]  # (people,) by elimination, or on a tree; the others by propagation on loops
    rounds: int
    change: float  # the last change of the beliefs of 99% of people
    worst: float
    settled: bool
    impossible: NDArray[np.bool_]  # (people,) no value fits all releases: they are not what was said of them

    @property
    def converged(self) -> bool:
        """Settled, and nothing contradicts itself."""
        return self.settled and not self.impossible.any()


@dataclass(frozen=True, slots=True, eq=False)
class Web:
    """People and the groups of all releases they may stand in."""

    number: Ints  # (people,) class of each; people of a class cannot be told apart by what is known
    size: Ints  # (classes,)
    values: int
    links: tuple[GroupLinks, ...]  # as published, by release
    ties: tuple[GroupLinks, ...]  # the same with nested groups subtracted
    differences: tuple[Difference, ...]
    contradictions: int  # nested groups whose values are not among the larger's
    parts: ConnectedParts
    of: Ints | None = None  # (values,) the asked value of each combination with columns in common; None: itself
    split: bool = False  # a release is read block by block, as if its blocks were releases

    def by_value(self, told: Floats) -> Floats:
        """(…, asked values) from (…, values)."""
        if self.of is None:
            return told
        return np.asarray(told @ (self.of[:, None] == np.arange(int(self.of.max()) + 1)[None, :]))

    def beliefs(self, p: Floats | None = None) -> JointBelief:
        """Beliefs from p(s | x) of every person, (people, values), or from nothing learned."""
        classes = len(self.size)
        asked = self.values if self.of is None else int(self.of.max()) + 1
        if p is None:
            even = np.full((classes, asked), 1 / asked)
        else:
            if p.shape != (len(self.number), asked):
                raise UsageError("p(s | x) needs one row a person and one column a value")
            even = np.zeros((classes, asked))
            np.add.at(even, self.number, p)
            even = np.maximum(even, 1e-12)
            even /= even.sum(axis=1, keepdims=True)
        prior = even if self.of is None else (even / np.bincount(self.of))[:, self.of]
        tree = self.parts.tree[self.parts.part]
        exact, done, against = exact_beliefs(self.ties, self.size, prior, self.parts)
        if (done | against).all():
            found = Propagated(exact, 0, 0.0, 0.0, np.zeros(classes), against)
        else:
            found = propagate(self.ties, self.size, prior, tree=tree)
        belief = found.belief
        if found.belief is not exact:
            belief[done] = exact[done]
        unfit = np.flatnonzero(belief.sum(axis=1) <= 0)
        belief[unfit] = prior[unfit]  # whom nothing fits: see `impossible`
        impossible = np.where(done, False, found.impossible | against)
        loose = ~done & (found.moving > 0)
        change = found.change if loose.any() else 0.0
        worst = float(found.moving[loose].max(initial=0.0))
        sure = done | (tree & (found.moving < 1e-9))
        settled = found.settled or worst <= 1e-9
        n = self.number
        belief, sure = self.by_value(belief)[n], sure[n] & (not self.split)
        if p is not None:  # people who cannot be told apart hear the same, each with a p(s | x) of their own
            own = np.maximum(p, 1e-12)
            own = own / own.sum(axis=1, keepdims=True)
            apart = np.abs(own - even[n]).max(axis=1) > 1e-9
            belief[apart] *= own[apart] / even[n[apart]]
            belief[apart] /= belief[apart].sum(axis=1, keepdims=True)
            part = self.parts.part[n]
            sure &= ~np.isin(part, part[apart])
        return JointBelief(belief, sure, found.rounds, change, worst, settled, impossible[n])

    def left(self, which: Sequence[int] | None = None) -> NDArray[np.bool_]:
        """(people, asked values) which values every one of these releases (all) leaves to each person."""
        classes = len(self.size)
        seen = np.ones((classes, self.values), dtype=bool)
        for number, one in enumerate(self.links):
            if which is None or number in which:
                seen &= one.possible(classes, self.values)[:classes]
        return np.asarray(self.by_value(seen.astype(np.float64))[self.number] > 0)

    def crossing(self, which: Sequence[int] | None = None) -> Ints:
        """(people,) how many people stand in the same rows of every one of these releases (all)."""
        columns = [self.number * 0]
        for number, one in enumerate(self.links):
            if which is None or number in which:
                columns.append(_places(one, len(self.size))[self.number])
        cell = row_numbers(columns)
        return np.asarray(np.bincount(cell)[cell])


def weave(views: Sequence[ReleaseView], values: int, of: Ints | None = None) -> Web:
    """Link the people with every release. Cost: people and rows, times the rows that fit a person.

    `of`: (values,) the asked value of each, where people are asked about combinations with columns in common.
    """
    if not views:
        raise UsageError("name at least one release")
    counts = {one.targets.count for one in views}
    if len(counts) != 1:
        raise UsageError("every release must be asked about the same people")
    columns = [one.targets.numbered() for one in views]
    columns += [one.nowhere.astype(np.int64) for one in views if one.nowhere is not None]
    number = row_numbers(columns)
    first, size = example_rows(number), np.bincount(number)
    links = tuple(
        link_people(
            one.release,
            one.targets.take(first),
            size,
            overlap=one.overlap,
            emission=one.emission,
            nowhere=None if one.nowhere is None else one.nowhere[first],
            likelihood=one.likelihood,
        )
        for one in views
    )
    told_once = list(links)
    for place, one in enumerate(views):
        if any(one.repeats(other) for other in views[:place]):
            told_once[place] = links[place].of_groups(np.zeros(links[place].groups, dtype=bool))
    ties, differences, against = subtract_nested(told_once, size)
    split = len({one.name for one in views}) < len(views)
    return Web(number, size, values, links, tuple(ties), tuple(differences), against, parts_of(ties, size), of, split)


def _equal(a: NDArray[np.generic] | None, b: NDArray[np.generic] | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)


def _places(links: GroupLinks, classes: int) -> Ints:
    """(classes,) a number that people share who may stand in the same entries."""
    real = links.person < classes
    person, entry = links.person[real], links.entry[real]
    by_entry = grouped(entry, int(entry.max(initial=-1)) + 1)[0]
    order, start = grouped(person[by_entry], classes)
    return rank_sequences(start, entry[by_entry[order]])
