"""Several sensitive attributes as one: the combinations of values that are seen."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.regions import Regions
from unveil.data.release import Block, BlockRows, Release, build_release
from unveil.data.table import Table
from unveil.errors import NotApplicable

__all__ = ["join_release", "join_table", "joint_attribute"]

BETWEEN = " × "


def joint_attribute(release: Release, tables: Sequence[Table]) -> tuple[Attribute, NDArray[np.int64]]:
    """The joint attribute, and (combinations, attributes) the codes of each combination.

    Combinations are those of the given tables and those that published cells name outright.
    """
    sensitive = release.with_role(Role.SENSITIVE)
    block = release.block_of(sensitive[0])
    apart = [i for i in sensitive if i not in block.attributes]
    names = [release.attributes[i].name for i in sensitive]
    if apart:
        raise NotApplicable(
            f"{BETWEEN.join(names)}: {release.attributes[apart[0]].name} is published in another block, so the "
            "combinations are not published"
        )
    shown = np.stack([release.regions[i].single()[block.region(i)] for i in sensitive], axis=1)
    seen = [shown[(shown >= 0).all(axis=1)]]
    for table in tables:
        seen.append(np.stack([table.columns[table.index(name)].astype(np.int64) for name in names], axis=1))
    codes = np.unique(np.concatenate(seen), axis=0)
    if not len(codes):
        raise NotApplicable(f"{BETWEEN.join(names)}: no combination of values is published outright")
    parts = [release.attributes[i] for i in sensitive]
    labels = [BETWEEN.join(p.values[c] for p, c in zip(parts, row, strict=True)) for row in codes.tolist()]
    if len(set(labels)) < len(labels):  # values that hold the sign themselves
        labels = [f"{label} ({number})" for number, label in enumerate(labels)]
    harmless = [
        n for n, row in enumerate(codes.tolist()) if all(c in p.harmless for p, c in zip(parts, row, strict=True))
    ]
    attribute = Attribute(
        BETWEEN.join(names), Role.SENSITIVE, Kind.CATEGORICAL, tuple(labels), source="seen", harmless=tuple(harmless)
    )
    return attribute, codes.astype(np.int64)


def join_release(release: Release, attribute: Attribute, codes: NDArray[np.int64]) -> Release:
    """The release with its sensitive attributes replaced by the joint one, which stands last."""
    sensitive = release.with_role(Role.SENSITIVE)
    others = [i for i in range(len(release.attributes)) if i not in sensitive]
    last = len(others)
    regions, parts = [release.regions[i] for i in others], []
    for block in release.blocks:
        kept = [i for i in block.attributes if i in others]
        places, columns = [others.index(i) for i in kept], [block.region(i).astype(np.int64) for i in kept]
        if sensitive[0] in block.attributes:
            joint, column = _joint_regions(release, block, sensitive, codes)
            regions.append(joint)
            places, columns = [*places, last], [*columns, column]
        parts.append(BlockRows(tuple(places), block.group, tuple(columns), block.count))
    return build_release([*(release.attributes[i] for i in others), attribute], regions, parts)[0]


def join_table(table: Table, release: Release, attribute: Attribute, codes: NDArray[np.int64]) -> Table:
    """The table with the joint attribute instead of the sensitive ones that the release has."""
    names = [release.attributes[i].name for i in release.with_role(Role.SENSITIVE)]
    column = np.stack([table.columns[table.index(name)].astype(np.int64) for name in names], axis=1)
    number = {tuple(row): place for place, row in enumerate(codes.tolist())}
    joint = np.array([number[tuple(row)] for row in column.tolist()], dtype=attribute.dtype)
    kept = [i for i, a in enumerate(table.attributes) if a.name not in names]
    attributes = (*(table.attributes[i] for i in kept), attribute)
    return Table(attributes, (*(table.columns[i] for i in kept), joint), name=table.name)


def _joint_regions(
    release: Release, block: Block, sensitive: Sequence[int], codes: NDArray[np.int64]
) -> tuple[Regions, NDArray[np.int64]]:
    """The sets of combinations that cells may stand for, and (entries,) which of them each entry shows."""
    distinct, number = np.unique(np.stack([block.region(i) for i in sensitive], axis=1), axis=0, return_inverse=True)
    members = []
    for cell in distinct.tolist():
        fits = np.ones(len(codes), dtype=np.bool_)
        for place, (index, region) in enumerate(zip(sensitive, cell, strict=True)):
            fits &= np.isin(codes[:, place], release.regions[index].members(region))
        if not fits.any():
            raise NotApplicable("a published cell stands for combinations that are seen nowhere")
        members.append(np.flatnonzero(fits))
    return Regions.sets(len(codes), members), number.reshape(-1).astype(np.int64)
