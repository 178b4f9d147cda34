"""Who is in which group of a release, or may be: for models of members, by the original and by a population."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.background import PeopleGroups
from unveil.attackers.posterior.roster import put_apart, with_roster
from unveil.data.attribute import Role
from unveil.data.belief import Known, Targets
from unveil.data.release import Release, row_numbers
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError
from unveil.privacy.knowledge.kernel import Kernel
from unveil.privacy.reference import GroupMembers, Reference, reference_of

__all__ = ["groups_and_members", "groups_and_population"]


def groups_and_members(
    release: Release,
    asked: int,
    table: Table,
    bandwidths: Iterable[tuple[float, ...]],
    *,
    group: NDArray[np.integer] | None = None,
) -> tuple[NDArray[np.int64], Reference]:
    """(groups, values) histograms, and what they are compared with: the members and their kernel priors.

    `group`: of each row of the table; without it the only one that fits. Buckets say it themselves.
    """
    if len(release.blocks) > 1 and group is None:
        seen = put_apart(release, asked).release
    else:
        seen = with_roster(release, _everybody(release, asked, table, group)).release
    groups = PeopleGroups.of(seen, asked)
    single = seen.regions[asked].single()[groups.item]
    counts = np.zeros((seen.groups, release.attributes[asked].codes), dtype=np.int64)
    item_group = np.repeat(np.arange(seen.groups), np.diff(groups.item_start))
    shown = single >= 0  # a withheld value is in no count
    np.add.at(counts, (item_group[shown], single[shown]), groups.item_count[shown])
    name = release.attributes[asked].name
    priors = {b: groups.held(seen, Kernel(bandwidth=b).prior(table, name)) for b in bandwidths}
    people = np.concatenate([[0], np.cumsum(groups.count)])[groups.block.start]
    members = GroupMembers(people, np.repeat(np.arange(len(groups.count)), groups.count), priors)
    plain = reference_of(release.attributes[asked], counts.sum(axis=0))
    return counts, Reference(plain.histogram, plain.geometry, members=members)


def groups_and_population(release: Release, population: Table) -> tuple[NDArray[np.int64], Reference]:
    """Group sizes, and how many people of the population each group's cells may stand for."""
    known = release.with_role(Role.QUASI_IDENTIFIER)
    block = release.blocks[0]
    if len(release.blocks) > 1 or not known:
        raise NotApplicable("a population can be counted only where quasi-identifiers are published in one block")
    columns = [population.columns[population.index(release.attributes[i].name)] for i in known]
    for i in known:
        mine = release.attributes[i]
        if population.attributes[population.index(mine.name)].values != mine.values:
            raise UsageError(
                f"the population's domain of {mine.name} is not the release's; declare the domain in the schema"
            )
    number = row_numbers(columns)
    people = np.bincount(number)
    row = np.zeros(len(people), dtype=np.int64)
    row[number] = np.arange(len(number))
    codes = [column[row] for column in columns]
    kind = row_numbers([block.region(i) for i in known])
    entry = np.zeros(int(kind.max()) + 1, dtype=np.int64)
    entry[kind] = np.arange(len(kind))
    size = np.bincount(kind, weights=block.count).astype(np.int64)
    found = np.zeros(len(size), dtype=np.int64)
    for unit in range(len(size)):
        inside = np.ones(len(row), dtype=bool)
        for i, code in zip(known, codes, strict=True):
            mask = np.zeros(release.attributes[i].codes, dtype=bool)
            mask[release.regions[i].members(int(block.region(i)[entry[unit]]))] = True
            inside &= mask[code]
        found[unit] = people[inside].sum()
    return size[:, None], Reference(np.ones(1, dtype=np.int64), population=found)


def _everybody(release: Release, asked: int, table: Table, group: NDArray[np.integer] | None) -> Targets:
    known = {}
    for index in release.with_role(Role.QUASI_IDENTIFIER):
        mine = release.attributes[index]
        if table.attributes[table.index(mine.name)].values != mine.values:
            raise UsageError(f"the original's domain of {mine.name} is not the release's; declare it in the schema")
        known[index] = Known.exactly(mine, table.columns[table.index(mine.name)])
    return Targets(asked, known, table.rows, None if group is None else np.asarray(group, dtype=np.int64))
