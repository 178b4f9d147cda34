"""Which columns carry what was found: classes counted again without each column, and with it one level coarser."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.audit.shape import CarrierRow
from unveil.audit.verdict import Judgement
from unveil.data.attribute import Attribute, Role
from unveil.data.regions import Regions
from unveil.data.release import Block, Release, row_numbers

__all__ = ["carrier_rows", "told_carriers"]

FEW = 3  # rows of a class below which somebody is singled out: the default limit on k
ENOUGH = 0.1  # share of what is wrong that leaving a column out must take away for it to be named
MOST_NAMED = 2

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Counted:
    """What the classes of some columns show."""

    smallest: int
    few: int  # rows in classes of fewer than FEW
    guessed: tuple[float, ...]  # per sensitive attribute: rows that have their class' most frequent cell, as a share


def carrier_rows(release: Release) -> list[CarrierRow]:
    """Each quasi-identifier as it is, without it, and with its cells one level wider, where it has a hierarchy.

    Cost: three passes over the distinct rows for each quasi-identifier.
    """
    known = release.with_role(Role.QUASI_IDENTIFIER)
    block = next((b for b in release.blocks if set(known) <= set(b.attributes)), None)
    if block is None or not known:
        return []
    asked = [i for i in release.with_role(Role.SENSITIVE) if i in block.attributes]
    cells = {i: block.region(i).astype(np.int64) for i in known}
    names = [release.attributes[i].name for i in asked]

    def counted(columns: dict[int, Ids]) -> _Counted:
        return _count(block, list(columns.values()), [block.region(i).astype(np.int64) for i in asked])

    def row(column: str, change: str, found: _Counted) -> CarrierRow:
        guessed = dict(zip(names, found.guessed, strict=True))
        return CarrierRow(column=column, change=change, smallest=found.smallest, few=found.few, guessed=guessed)  # type: ignore[arg-type]

    rows = [row("", "as it is", counted(cells)), row("", "without", counted({}))]
    for index in known:
        attribute = release.attributes[index]
        rows.append(row(attribute.name, "without", counted({i: c for i, c in cells.items() if i != index})))
        wider = _wider(attribute, release.regions[index])
        if wider is not None:
            rows.append(row(attribute.name, "one level coarser", counted({**cells, index: wider[cells[index]]})))
    return rows


def _count(block: Block, columns: Sequence[Ids], asked: Sequence[Ids]) -> _Counted:
    number = row_numbers(columns, len(block.count))
    size = np.bincount(number, weights=block.count).astype(np.int64)
    guessed = []
    for cell in asked:
        width = int(cell.max(initial=0)) + 1
        pair, place = np.unique(number * width + cell, return_inverse=True)
        rows = np.bincount(place, weights=block.count)
        most = np.zeros(len(size))
        np.maximum.at(most, pair // width, rows)
        guessed.append(float(most.sum() / size.sum()))
    return _Counted(int(size.min()), int(size[size < FEW].sum()), tuple(guessed))


def _wider(attribute: Attribute, regions: Regions) -> Ids | None:
    """Of each region: the node one level above the lowest that holds it; None without a hierarchy."""
    hierarchy = attribute.hierarchy
    if hierarchy is None or hierarchy.height < 2:
        return None
    found = []
    for region in range(len(regions)):
        members = regions.members(region)
        level = next(h for h in range(hierarchy.height + 1) if len(np.unique(hierarchy.node[h][members])) == 1)
        above = min(level + 1, hierarchy.height)
        found.append(above * attribute.codes + int(hierarchy.node[above][members[0]]))
    return np.unique(np.array(found, dtype=np.int64), return_inverse=True)[1].astype(np.int64)


def told_carriers(judgement: Judgement, rows: Sequence[CarrierRow]) -> Judgement:
    """The judgement, with the columns that carry it beside each kind that is exceeded."""
    if not rows:
        return judgement
    kinds = []
    for kind in judgement.kinds:
        why = ""
        if kind.verdict == "exceeded" and kind.kind in ("singling out", "linking"):
            why = _why_few(rows)
        elif kind.verdict == "exceeded" and kind.kind == "inference" and kind.attribute is not None:
            why = _why_guessed(rows, kind.attribute)
        kinds.append(kind.model_copy(update={"why": why}) if why else kind)
    return judgement.model_copy(update={"kinds": tuple(kinds)})


def _named(rows: Sequence[CarrierRow], before: float, gained: dict[str, float]) -> list[str]:
    order = sorted((name for name in gained if gained[name] >= ENOUGH * before), key=lambda name: -gained[name])
    return order[:MOST_NAMED]


def _of(rows: Sequence[CarrierRow], column: str) -> dict[str, CarrierRow]:
    return {row.change: row for row in rows if row.column == column}


def _why_few(rows: Sequence[CarrierRow]) -> str:
    first = rows[0]
    if not first.few:
        return ""
    without = {row.column: float(first.few - row.few) for row in rows if row.change == "without" and row.column}
    told = []
    for name in _named(rows, first.few, without):
        found = _of(rows, name)
        text = f"without {name} {found['without'].few:,} rows"
        if "one level coarser" in found:
            text += f", with it one level coarser {found['one level coarser'].few:,}"
        told.append(text)
    if not told:
        return f"No column alone carries it: {first.few:,} rows stand in classes of fewer than {FEW}."
    return f"{first.few:,} rows stand in classes of fewer than {FEW}; {'; '.join(told)}."


def _why_guessed(rows: Sequence[CarrierRow], attribute: str) -> str:
    first = rows[0].guessed.get(attribute)
    if first is None:
        return ""
    without = {r.column: first - r.guessed[attribute] for r in rows if r.change == "without" and r.column}
    told = []
    for name in _named(rows, first - rows[1].guessed[attribute], without):
        found = _of(rows, name)
        text = f"without {name} {found['without'].guessed[attribute]:.0%}"
        if "one level coarser" in found:
            text += f", with it one level coarser {found['one level coarser'].guessed[attribute]:.0%}"
        told.append(text)
    if not told:
        return ""
    return f"Who looks up a class and says its most frequent value is right for {first:.0%}; {'; '.join(told)}."
