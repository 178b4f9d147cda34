"""Joined attributes: those that the model takes as one, because they depend on each other beyond the sensitive value.

A release, what is known of targets and a prior are rewritten over a product domain before anyone is asked; attackers
see one attribute more instead of several, and need not know that it was joined.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known, Prior, Targets
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release, row_numbers
from unveil.errors import NotApplicable, UsageError

__all__ = ["Joined", "join"]

MOST_CODES = 100_000  # of a product domain
MOST_MEMBERS = 20_000_000  # codes of all regions of a product, added up


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """A release whose joined attributes are one, and the way there for targets and priors."""

    release: Release
    original: Release
    members: tuple[tuple[int, ...], ...]  # per attribute of the new release: the original's attributes it is made of
    group: NDArray[np.int64]  # (groups,) the new number of each group

    def position(self, attribute: int) -> int:
        """Where an attribute that is not joined with others stands now."""
        return self.members.index((attribute,))

    def targets(self, targets: Targets) -> Targets:
        """The same knowledge. Joined attributes must be known for certain: errors in one say nothing of the other."""
        known = {}
        for place, members in enumerate(self.members):
            if len(members) == 1:
                if members[0] in targets.known:
                    known[place] = targets.known[members[0]]
                continue
            parts = [targets.known.get(i) for i in members]
            if all(part is None for part in parts):
                continue
            if any(part is not None and part.wrong > 0 for part in parts):
                raise NotApplicable(
                    f"{self.release.attributes[place].name}: what is known of joined attributes cannot be wrong with a "
                    "probability; take them apart in the schema, or ask without errors"
                )
            columns = [np.zeros(targets.count, np.int64) if p is None else p.of_target for p in parts]
            number, combinations = _combinations(columns)
            sets = [
                Regions.intervals(self.original.attributes[i].codes, [0], [self.original.attributes[i].codes - 1])
                if part is None
                else part.regions
                for i, part in zip(members, parts, strict=True)
            ]
            known[place] = Known(_product(sets, combinations, self.release.attributes[place].name), number)
        group = None if targets.group is None else self.group[targets.group]
        return Targets(self.position(targets.asked), known, targets.count, group)

    def prior(self, prior: Prior, asked: int) -> Prior:
        """The same pseudo-count for each combination; only where the members' are all one number."""
        beta, smooth = {}, {}
        for place, members in enumerate(self.members):
            if members == (asked,):
                continue
            if len(members) == 1:
                beta[place] = prior.beta[members[0]]
                if members[0] in prior.smooth:
                    smooth[place] = prior.smooth[members[0]]
                continue
            if any(i in prior.smooth for i in members):
                raise NotApplicable(
                    f"{self.release.attributes[place].name}: joined attributes have no neighbours to smooth"
                )
            counts = {float(c) for i in members for c in np.unique(prior.beta[i])}
            if len(counts) > 1:
                raise UsageError(
                    f"{self.release.attributes[place].name}: joined attributes share one pseudo-count for every "
                    "combination; leave them out of the prior, or take them apart in the schema"
                )
            beta[place] = np.full((len(prior.alpha), self.release.attributes[place].codes), counts.pop())
        return Prior(prior.alpha, beta, smooth, prior.source)


def join(release: Release, joined: Sequence[Sequence[str]], asked: int) -> Joined:
    """Make each set of joined attributes one, with every combination of their values for its domain.

    Attributes that are not released are passed over. Cost: the codes of the products' regions, added up.
    """
    names = [a.name for a in release.attributes]
    sets = [sorted(names.index(name) for name in each if name in names) for each in joined]
    sets = [each for each in sets if len(each) > 1]
    for each in sets:
        listed = ", ".join(names[i] for i in each)
        if asked in each:
            raise UsageError(f"{names[asked]} is asked about, so it cannot be joined ({listed}); correct the schema")
        if not all(i in release.block_of(each[0]).attributes for i in each):
            raise NotApplicable(
                f"{listed} are joined, but the release publishes them in different blocks; which cells belong "
                "together is hidden, so they cannot be taken as one"
            )
        size = math.prod(release.attributes[i].codes for i in each)
        if size > MOST_CODES:
            raise NotApplicable(
                f"{listed} are joined: {size:,} combinations of values are over {MOST_CODES:,}; declare bins, or take "
                "them apart in the schema"
            )
    inside = {i for each in sets for i in each[1:]}
    first = {each[0]: tuple(each) for each in sets}
    members = tuple(first.get(i, (i,)) for i in range(len(names)) if i not in inside)
    if not sets:
        return Joined(release, release, members, np.arange(release.groups))
    attributes, regions = [], []
    shown: dict[int, NDArray[np.int64]] = {}  # per new attribute: (entries of its block,) region
    for place, made_of in enumerate(members):
        block = release.block_of(made_of[0])
        if len(made_of) == 1:
            attributes.append(release.attributes[made_of[0]])
            regions.append(release.regions[made_of[0]])
            shown[place] = block.region(made_of[0]).astype(np.int64)
            continue
        attributes.append(_attribute([release.attributes[i] for i in made_of]))
        shown[place], combinations = _combinations([block.region(i) for i in made_of])
        regions.append(_product([release.regions[i] for i in made_of], combinations, attributes[-1].name))
    parts = []
    for block in release.blocks:
        here = [place for place, made_of in enumerate(members) if made_of[0] in block.attributes]
        parts.append(BlockRows(tuple(here), block.group, tuple(shown[place] for place in here), block.count))
    made, group = build_release(attributes, regions, parts)
    return Joined(made, release, members, group)


def _attribute(members: Sequence[Attribute]) -> Attribute:
    """Combinations in the members' order, the last one running fastest; JSON keeps their names apart."""
    roles = {a.role for a in members}
    role = next(r for r in (Role.SENSITIVE, Role.QUASI_IDENTIFIER, Role.INSENSITIVE) if r in roles)
    values = tuple(json.dumps(each, ensure_ascii=False) for each in product(*(a.values for a in members)))
    return Attribute(" × ".join(a.name for a in members), role, Kind.CATEGORICAL, values)


def _combinations(columns: Sequence[NDArray[np.integer]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(rows,) which distinct combination each row has, and (combinations, columns) what they are."""
    number = row_numbers(columns)
    found = np.zeros((int(number.max(initial=-1)) + 1, len(columns)), dtype=np.int64)
    for place, column in enumerate(columns):
        found[number, place] = column
    return number, found


def _product(sets: Sequence[Regions], combinations: NDArray[np.int64], name: str) -> Regions:
    """The region of each combination of the members' regions: every code of one with every code of the others."""
    codes = math.prod(s.codes for s in sets)
    sizes = np.prod([s.sizes[combinations[:, i]] for i, s in enumerate(sets)], axis=0, dtype=np.float64)
    if sizes.sum() > MOST_MEMBERS:
        raise NotApplicable(f"{name}: the joined cells are too wide to list their combinations; take them apart")
    members = []
    for combination in combinations.tolist():
        code = np.zeros(1, dtype=np.int64)
        for s, region in zip(sets, combination, strict=True):
            code = (code[:, None] * s.codes + s.members(region)[None]).ravel()
        members.append(code)
    return Regions.sets(codes, members)
