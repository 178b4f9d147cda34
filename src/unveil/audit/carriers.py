"""Which columns carry what was found: classes counted again without each column, and with it one level coarser."""

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from unveil.audit.document import DocumentPart
from unveil.audit.numbers import spoken
from unveil.audit.verdict import Judgement
from unveil.data.attribute import Attribute, Role
from unveil.data.regions import Regions
from unveil.data.release import Block, Release, row_numbers
from unveil.formats.cells import write_cells

__all__ = [
    "CarrierFinding",
    "CarrierGroup",
    "CarrierRow",
    "carrier_groups",
    "carrier_rows",
    "told_carriers",
    "wider",
]

FEW = 3  # rows of a class below which somebody is singled out: the default limit on k
ENOUGH = 0.1  # share of what is wrong that leaving a column out must take away for it to be named
MOST_NAMED = 2
MOST_GROUPS, LONGEST = 5, 60  # classes that are shown, and characters of a cell

Ids = NDArray[np.int64]


class CarrierRow(DocumentPart):
    """The classes of a release counted again with one column changed; the first rows change none, and leave out all."""

    column: str
    change: Literal["as it is", "without", "one level coarser"]
    smallest: int | None  # None where quasi-identifiers are published apart: there are no classes
    few: int | None  # rows in classes of fewer than 3
    guessed: dict[str, float]  # by attribute: rows that have the most frequent value of their class, as a share
    found: dict[str, float] = Field(default_factory=dict)  # by attribute: see carrier_findings


class CarrierFinding(DocumentPart):
    """The exceeded finding of an attribute for which readers were asked again with columns changed."""

    finding: str
    title: str
    measure: str
    statistic: str | None
    limit: str
    bound: float
    people: int  # who were asked about again
    everybody: int
    together: tuple[str, ...] = ()  # two columns, where none alone is enough
    without_both: float = 0.0
    unknown: bool = False  # the release is as it is, and its readers do not know the column
    scheme: str = ""  # that made the release, where what was computed is the same without the column


class CarrierGroup(DocumentPart):
    """A class of rows that carries what was found: its cells, its rows, and how many have its most frequent value."""

    cells: dict[str, str]
    rows: int
    value: str = ""  # the most frequent value of the attribute
    alike: int = 0


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
    if not known:
        return []
    block = next((b for b in release.blocks if set(known) <= set(b.attributes)), None)
    if block is None:
        return list(_uncounted(release, known))
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
        above = wider(attribute, release.regions[index])
        if above is not None:
            rows.append(row(attribute.name, "one level coarser", counted({**cells, index: above[1][cells[index]]})))
    return rows


def _uncounted(release: Release, known: Sequence[int]) -> Iterator[CarrierRow]:
    """The same rows where quasi-identifiers are published apart: only readers can be asked."""
    changes: list[tuple[str, str]] = [("", "as it is"), ("", "without")]
    for index in known:
        attribute = release.attributes[index]
        changes.append((attribute.name, "without"))
        if wider(attribute, release.regions[index]) is not None:
            changes.append((attribute.name, "one level coarser"))
    for column, change in changes:
        yield CarrierRow(column=column, change=change, smallest=None, few=None, guessed={})  # type: ignore[arg-type]


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


def wider(attribute: Attribute, regions: Regions) -> tuple[list[Ids], Ids] | None:
    """The nodes one level above the lowest that hold the regions, as codes, and that of each region; None without a
    hierarchy.
    """
    hierarchy = attribute.hierarchy
    if hierarchy is None or hierarchy.height < 2:
        return None
    found = []
    for region in range(len(regions)):
        members = regions.members(region)
        level = next(h for h in range(hierarchy.height + 1) if len(np.unique(hierarchy.node[h][members])) == 1)
        above = min(level + 1, hierarchy.height)
        found.append(above * attribute.codes + int(hierarchy.node[above][members[0]]))
    nodes, number = np.unique(np.array(found, dtype=np.int64), return_inverse=True)
    inside = [np.flatnonzero(hierarchy.node[n // attribute.codes] == n % attribute.codes) for n in nodes.tolist()]
    return inside, number.astype(np.int64)


def carrier_groups(release: Release, attribute: str | None = None) -> list[CarrierGroup]:
    """The classes that carry most: the smallest, or those in which one value of an attribute stands out most."""
    known = release.with_role(Role.QUASI_IDENTIFIER)
    block = next((b for b in release.blocks if set(known) <= set(b.attributes)), None)
    if block is None or not known:
        return []
    index = None if attribute is None else release.index(attribute)
    if index is not None and index not in block.attributes:
        return []
    number = row_numbers([block.region(i).astype(np.int64) for i in known], len(block.count))
    size = np.bincount(number, weights=block.count).astype(np.int64)
    first = np.zeros(len(size), dtype=np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    texts = {i: write_cells(release.regions[i], release.attributes[i]) for i in known}
    if index is None:
        order = np.argsort(size, kind="stable")
        top, alike = None, np.zeros(len(size), dtype=np.int64)
        order = order[size[order] < FEW]
    else:
        cell = block.region(index).astype(np.int64)
        width = int(cell.max(initial=0)) + 1
        pair, place = np.unique(number * width + cell, return_inverse=True)
        rows = np.bincount(place, weights=block.count)
        overall = np.bincount(cell, weights=block.count, minlength=width) / block.count.sum()
        beyond = rows - size[pair // width] * overall[pair % width]  # rows more than anywhere
        best = np.lexsort((beyond, pair // width))
        last = best[np.append(pair[best[1:]] // width != pair[best[:-1]] // width, True)]
        top, alike = pair[last] % width, rows[last].astype(np.int64)
        order = np.argsort(-beyond[last], kind="stable")
        labels = write_cells(release.regions[index], release.attributes[index])
    return [
        CarrierGroup(
            cells={release.attributes[i].name: _short(texts[i][int(block.region(i)[first[c]])]) for i in known},
            rows=int(size[c]),
            value="" if top is None else _short(labels[int(top[c])]),
            alike=int(alike[c]),
        )
        for c in order[:MOST_GROUPS].tolist()
    ]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def told_carriers(
    judgement: Judgement,
    rows: Sequence[CarrierRow],
    groups: Mapping[str, Sequence[CarrierGroup]],
    findings: Mapping[str, CarrierFinding],
    anonymize: str,
    exact: Collection[str] = (),
) -> Judgement:
    """The judgement, with the columns that carry it beside each kind that is exceeded, where, and what tries it.

    `exact`: columns that are published as they are.
    """
    kinds: list[Any] = []
    for kind in judgement.kinds:
        said, again = _Said(), _Said()
        if kind.verdict == "exceeded" and kind.kind in ("singling out", "linking") and rows:
            said = _why_few(rows)
        elif kind.verdict == "exceeded" and kind.kind == "inference" and kind.attribute is not None and rows:
            said = _why_guessed(rows, kind.attribute)
            again = _why_found(rows, kind.attribute, findings.get(kind.attribute))
        update: dict[str, Any] = {}
        columns = again.columns or said.columns
        if columns and columns[0] in exact:
            told = f"{columns[0]} is published exactly."
            said, again = (
                (said, replace(again, why=f"{again.why} {told}"))
                if again.why
                else (replace(said, why=f"{said.why} {told}"), again)
            )
        if said.why or again.why:
            where = _where(groups.get(kind.attribute or "singling out", ()))
            if said.columns and any(one.why == said.why for one in kinds if kind.kind == "linking"):
                said, where = replace(said, why="The same columns carry it."), ""
            update |= {"why": said.why, "asked_again": again.why, "where": where}
        if columns and anonymize and "--leave-out" not in kind.fix.removeprefix(anonymize):
            out = "".join(f" --leave-out {shlex.quote(name)}" for name in columns)
            scheme = (again.scheme if again.columns else "") or "mondrian:k=5,l=3"
            update["command"] = f"{anonymize}{out} --with {scheme}"
        kinds.append(kind.model_copy(update=update) if update else kind)
    return judgement.model_copy(update={"kinds": tuple(kinds)})


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence, and the columns whose leaving out it recommends."""

    why: str = ""
    columns: tuple[str, ...] = ()
    scheme: str = ""  # with which leaving them out is enough


def _where(groups: Sequence[CarrierGroup]) -> str:
    """The class that carries most."""
    if not groups:
        return ""
    first = groups[0]
    cells = ", ".join(f"{name} {text}" for name, text in first.cells.items() if text != "*")
    if not first.value:
        return f"One of them: {cells}." if cells else ""
    return f"Most in one class: {first.alike:,} of {first.rows:,} rows have {first.value} ({cells or 'all rows'})."


def _named(before: float, gained: Mapping[str, float]) -> list[str]:
    order = sorted((name for name in gained if gained[name] >= ENOUGH * before), key=lambda name: -gained[name])
    return order[:MOST_NAMED]


def _of(rows: Sequence[CarrierRow], column: str) -> dict[str, CarrierRow]:
    return {row.change: row for row in rows if row.column == column}


def _changed(rows: Sequence[CarrierRow], name: str, number: Callable[[CarrierRow], str], unit: str = "") -> str:
    """What a number is without a column, and with it one level coarser."""
    found = _of(rows, name)
    text = f"without {name} {number(found['without'])}{unit}"
    coarser = found.get("one level coarser")
    return text if coarser is None else f"{text}, with it one level coarser {number(coarser)}"


def _not_known(rows: Sequence[CarrierRow], name: str, number: Callable[[float], str], attribute: str) -> str:
    """The same to readers who do not know the column of a person."""
    found = _of(rows, name)
    text = f"for readers who do not know {name} {number(found['without'].found[attribute])}"
    coarser = found.get("one level coarser")
    if coarser is None or attribute not in coarser.found:
        return text
    return f"{text}, or know it one level coarser {number(coarser.found[attribute])}"


def _why_few(rows: Sequence[CarrierRow]) -> _Said:
    first = rows[0]
    if not first.few:
        return _Said()
    without = {r.column: float(first.few - (r.few or 0)) for r in rows if r.change == "without" and r.column}
    named = _named(first.few, without)
    told = [_changed(rows, name, lambda row: f"{row.few:,}", " rows") for name in named]
    if not told:
        return _Said(f"No column alone carries it: {first.few:,} rows stand in classes of fewer than {FEW}.")
    return _Said(f"{first.few:,} rows stand in classes of fewer than {FEW}; {'; '.join(told)}.", tuple(named[:1]))


def _why_found(rows: Sequence[CarrierRow], attribute: str, of: CarrierFinding | None) -> _Said:
    """What the finding that decides would be: readers were asked again."""
    if of is None:
        return _Said()
    first = rows[0].found[attribute]
    number = partial(spoken, measure=of.measure, statistic=of.statistic)
    # Without a quasi-identifier that is asked about itself there is nothing to ask.
    changed = [r for r in rows if r.change == "without" and r.column and attribute in r.found]
    without = {r.column: r.found[attribute] for r in changed}
    if not without:
        return _Said()
    beyond = first - of.bound
    named = _named(beyond, {name: first - value for name, value in without.items()})
    whose = "" if of.people == of.everybody else f", {of.people:,} at random asked again"
    head = f"{of.title}{whose}{', in a quicker reading without chains' * of.unknown}: {number(first)}"
    missing = "for readers who do not know" if of.unknown else "without"
    told = [
        _not_known(rows, name, number, attribute)
        if of.unknown
        else _changed(rows, name, lambda row: number(row.found[attribute]))
        for name in named
    ]
    best = min(without, key=lambda name: without[name])
    if without[best] <= of.bound:
        return _Said(f"{head}; {'; '.join(told)}.", (best,), of.scheme)
    if of.together:
        told.append(f"{missing} {' and '.join(of.together)} {number(of.without_both)}")
    if not named:
        told.insert(0, f"no column alone carries it, {missing} {best} it is {number(without[best])}")
    enough = of.together if of.together and of.without_both <= of.bound else ()
    return _Said(f"{head}; {'; '.join(told)}.", tuple(enough or named[:1]), of.scheme if enough else "")


def _why_guessed(rows: Sequence[CarrierRow], attribute: str) -> _Said:
    first = rows[0].guessed.get(attribute)
    if first is None:
        return _Said()
    changed = [r for r in rows if r.change == "without" and r.column and attribute in r.guessed]
    without = {r.column: first - r.guessed[attribute] for r in changed}
    named = _named(first - rows[1].guessed[attribute], without)
    told = [_changed(rows, name, lambda row: f"{row.guessed[attribute]:.0%}") for name in named]
    if not told:
        return _Said()
    why = f"Who looks up a class and says its most frequent value is right for {first:.0%}; {'; '.join(told)}."
    return _Said(why, tuple(named[:1]))
