"""A roster: the quasi-identifiers of everybody in the table, which turn a horizontal release into a vertical one."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.fits import block_fits, check_targets
from unveil.data.attribute import Role
from unveil.data.belief import Targets
from unveil.data.person_prior import cells_of_targets
from unveil.data.regions import Regions
from unveil.data.release import Block, BlockRows, Release, build_release
from unveil.errors import NotApplicable, UsageError

__all__ = ["Rostered", "fitting_groups", "member_block", "place_members", "put_apart", "with_roster"]


@dataclass(frozen=True, slots=True, eq=False)
class Rostered:
    """A release to whoever has the roster: exact quasi-identifiers, apart from the sensitive values of the group."""

    release: Release
    number: NDArray[np.int64]  # (groups,) the new number of each group

    def targets(self, targets: Targets) -> Targets:
        """The same targets, in the new numbers."""
        return targets if targets.group is None else replace(targets, group=self.number[targets.group])


def with_roster(release: Release, roster: Targets) -> Rostered:
    """The release with the roster's cells instead of its own. Every member's group is known, or the only one that fits.

    What stands beside the sensitive value must be the same for the whole group, as in a generalised table or a bucket.
    """
    check_targets(release, roster)
    asked = roster.asked
    known = tuple(i for i in release.with_role(Role.QUASI_IDENTIFIER) if i != asked)
    own = release.block_of(asked)
    for index in (i for i in own.attributes if i in known):
        region = own.region(index)
        first = np.repeat(region[own.start[:-1]], np.diff(own.start))
        if (region != first).any():
            raise NotApplicable(
                f"a roster: {release.attributes[index].name} differs beside the values of a group, which ties some of "
                "them to some people; that link would be lost"
            )
    group = place_members(release, roster)
    sizes = np.bincount(group, minlength=release.groups)
    if (sizes != release.sizes).any():
        wrong = int(np.flatnonzero(sizes != release.sizes)[0])
        raise UsageError(
            f"the roster puts {sizes[wrong]} people into group {wrong + 1}, where the release has "
            f"{release.sizes[wrong]} rows; it must hold everybody in the table, and nobody else"
        )
    cells = cells_of_targets(release, roster, [release.attributes[i].name for i in known])
    return _put_apart(release, known, BlockRows(known, group, tuple(cells.T)))


def put_apart(release: Release, asked: int) -> Rostered:
    """A release that is its own roster: exact cells, the same beside all values of a group, stand apart from these."""
    known = tuple(i for i in release.with_role(Role.QUASI_IDENTIFIER) if i != asked)
    own = release.block_of(asked)
    same = all(
        i in own.attributes
        and not (release.regions[i].sizes > 1).any()
        and (own.region(i) == np.repeat(own.region(i)[own.start[:-1]], np.diff(own.start))).all()
        for i in known
    )
    if not known or not same:
        return Rostered(release, np.arange(release.groups))
    cells = tuple(release.regions[i].single()[own.region(i)] for i in known)
    return _put_apart(release, known, BlockRows(known, own.group, cells, own.count))


def _put_apart(release: Release, known: tuple[int, ...], members: BlockRows) -> Rostered:
    parts = [members]
    for block in release.blocks:
        rest = tuple(i for i in block.attributes if i not in known)
        if rest:
            parts.append(BlockRows(rest, block.group, tuple(block.region(i) for i in rest), block.count))
    regions = [Regions.singles(a.codes) if i in known else release.regions[i] for i, a in enumerate(release.attributes)]
    made, number = build_release(release.attributes, regions, parts)
    return Rostered(made, number)


def place_members(release: Release, roster: Targets) -> NDArray[np.int64]:
    """(members,) the group of each: as given, else the only group with cells that fit."""
    if roster.group is not None:
        return roster.group
    number, kind, group = fitting_groups(release, roster)
    times = np.bincount(kind, minlength=int(number.max(initial=-1)) + 1)
    lost = int((times == 0)[number].sum())
    if lost:
        raise UsageError(
            f"{lost} of the roster's {roster.count} people fit no group of the release; correct the roster"
        )
    several = int((times > 1)[number].sum())
    if several:
        raise NotApplicable(
            f"{several} of the roster's {roster.count} people fit more than one group; say which is theirs"
        )
    return np.asarray(group[number])


def fitting_groups(release: Release, roster: Targets) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(members,) each one's number among kinds of members, and (pairs,) the kinds and the groups that fit them."""
    distinct, number = roster.distinct()
    fits = None  # (pairs,) target · groups + group, in every block of which something is known
    for block in release.blocks:
        if any(i in roster.known for i in block.attributes):
            found = block_fits(release, block, distinct)
            pair = np.unique(found.target * release.groups + found.group)
            fits = pair if fits is None else np.intersect1d(fits, pair)
    if fits is None:
        raise UsageError("a roster needs the quasi-identifiers of everybody in the table")
    return number, fits // release.groups, fits % release.groups


def member_block(release: Release, asked: int) -> Block:
    """The block that shows everybody's quasi-identifiers, exactly and apart from the value asked about."""
    known = tuple(i for i in release.with_role(Role.QUASI_IDENTIFIER) if i != asked)
    blocks = {id(release.block_of(i)): release.block_of(i) for i in known}
    own = release.block_of(asked)
    if len(blocks) != 1 or id(own) in blocks or any((release.regions[i].sizes > 1).any() for i in known):
        raise NotApplicable(
            "who has which cell is not published (Anatomy's buckets do); give a roster of everybody's quasi-identifiers"
        )
    return next(iter(blocks.values()))
