"""Cells that one rule for everybody does not explain: what decided about them is unknown, so that it may tell anything.

An honest recoding is a rule: every value has its cell, or every class of people its box, and what withholds is one
word. A file that can be written by such a rule holds nothing else in its cells. Whatever cannot is not judged.
"""

import numpy as np

from unveil.data.attribute import Role
from unveil.data.release import example_rows
from unveil.risk.published_file.file import Ids, Leak, PublishedFile, absent_texts, percent
from unveil.risk.published_file.people import people_who_fit

__all__ = ["unexplained_cells"]

_LEAST = 20  # rows
_FEW = 5
_APART = 0.03  # of the rows that may stand elsewhere than the rule says
_SEVERAL = 0.1  # of the people, who may stand in several cells


def unexplained_cells(file: PublishedFile) -> list[Leak]:
    """Columns with cells that nobody can read, several words for what is withheld, or several cells for one value."""
    if file.original is None or file.rows < _LEAST or file.sidecar.method == "synthetic":
        return []
    found = []
    for name in (n for n in file.shared if n not in file.sidecar.masked and n != file.key):
        leak = (
            _unreadable(file, name)
            or _several_words(file, name)
            or _several_cells(file, name)
            or _several_numbers(file, name)
        )
        if leak is not None:
            found.append(leak)
    return found


def _leak(file: PublishedFile, name: str, what: str, people: int, fix: str) -> Leak:
    kind = "inference" if file.role(name) is Role.SENSITIVE else "singling out"
    sentence = f"{what}: nobody knows what decided this for {file.persons(people)}, so it may tell anything."
    return Leak("unexplained_cells", kind, "suspicious", sentence, fix, (name,), people, people / max(file.rows, 1))  # type: ignore[arg-type]


def _unreadable(file: PublishedFile, name: str) -> Leak | None:
    """Some cells are values of the original or sets of them, and others are nothing of the kind."""
    region = file.cells(name).region_of_text[file.codes(name)]
    strange = int(file.times[(region < 0) & ~file.absent(name)[file.codes(name)]].sum())
    if strange < _FEW or (region >= 0).mean() < _SEVERAL:
        return None
    what = f"Some cells of {name} are neither a value of the original nor a set of its values"
    return _leak(file, name, what, strange, f"write {name} by one rule, or declare what these cells mean")


def _several_words(file: PublishedFile, name: str) -> Leak | None:
    """Several words for what is withheld or missing, where the original has at most one."""
    assert file.original is not None
    absent = file.absent(name)
    used = np.unique(file.codes(name))
    words = used[absent[used]]
    source = file.original[name]
    there = np.unique(np.asarray(source.text_of_row))
    before = {source.texts[i].strip() for i in there[absent_texts(source.texts, file.schema)[there]].tolist()}
    after = {file.columns[name].texts[i].strip() for i in words.tolist()}
    # What was missing before stays so; what is withheld is one word more.
    if len(after) < 2 or len(after - before) + (1 if before else 0) < 2 or (before and len(after) <= 2):
        return None
    size = np.bincount(file.codes(name), weights=file.times, minlength=len(file.columns[name].texts))[words]
    people = int(size.sum() - size.max())
    what = f"{name} has {len(after)} words for what is withheld, where the original has {len(before) or 'none'}"
    return None if people < _FEW else _leak(file, name, what, people, f"write what is withheld of {name} in one way")


def _several_cells(file: PublishedFile, name: str) -> Leak | None:
    """One value stands in one cell here and in another there, and neither the values nor the classes say when."""
    cells = file.cells(name)
    if cells.texts_of_value[1] or not file.linked or _by_value(file, name):
        return None
    names = [n for n in file.keys if n in file.shared and n not in file.sidecar.masked]
    if name not in names:
        names = [*names, name]
    fits, _, kind_of_row, times = people_who_fit(file, names)
    text = cells.text_of_row[example_rows(kind_of_row)]
    region = np.where(cells.whole[text], -1, cells.region_of_text[text])
    several = np.zeros(len(fits), dtype=np.int64)
    for number in np.unique(region[region >= 0]).tolist():
        several += fits[:, region == number].any(axis=1)
    share = float(times[several > 1].sum() / times.sum())
    if share <= _SEVERAL:
        return None
    what = f"{percent(share)} of the people could stand in several cells of {name}, as its cells overlap"
    return _leak(file, name, what, round(share * file.people), f"cut {name} into sets that lie apart, for everybody")


def _several_numbers(file: PublishedFile, name: str) -> Leak | None:
    """Numbers that are not the original's, and that no rounding makes of them: some were changed in another way.

    A rule that keeps the order gives every number the people of some numbers beside each other: then as many people
    are at or below each published number as at or below some number of the original.
    """
    assert file.original is not None
    source = file.original[name]
    if set(file.columns[name].texts) <= set(source.texts) and len(file.columns[name].texts) == len(source.texts):
        return None  # written as in the original
    number = file.numbers(name)
    before = file.original_numbers(name)[np.asarray(source.text_of_row)]
    after = np.repeat(number[file.codes(name)], file.times)
    if len(after) != len(before) or not (np.isfinite(after).all() and np.isfinite(before).all()):
        return None
    if len(np.unique(before)) > len(before) // 4 or np.array_equal(np.sort(after), np.sort(before)):
        return None
    here, there = (np.cumsum(np.unique(v, return_counts=True)[1]) for v in (after, before))
    if np.isin(here, there).mean() >= 1 - _APART:
        return None
    what = f"The numbers of {name} are not the original's, and no rounding that is alike for everybody makes them"
    return _leak(file, name, what, file.rows, f"round {name} by one rule, or say in a sidecar how it was changed")


def _by_value(file: PublishedFile, name: str) -> bool:
    """Whether every value has one cell, the narrowest or the widest that holds it: as many rows have it as people."""
    cells = file.cells(name)
    used = np.unique(cells.text_of_row)
    used = used[(cells.region_of_text[used] >= 0) & ~cells.whole[used]]
    region = np.unique(cells.region_of_text[used])
    members = {r: np.asarray(cells.regions.members(r), dtype=np.int64) for r in region.tolist()}
    row_region = cells.region_of_text[cells.text_of_row]
    rows = np.bincount(row_region[np.isin(row_region, region)], minlength=len(cells.regions)).astype(np.float64)
    published = rows.sum() >= 0.98 * file.people
    for widest_last in (False, True):
        cell = np.full(cells.regions.codes + 1, -1, dtype=np.int64)
        for number in sorted(members, key=lambda r: len(members[r]), reverse=not widest_last):
            cell[members[number]] = number
        people = _counted(cell[cells.value_of_person], len(rows))
        chance = 0.0 if published else float(np.sqrt(len(region) / max(rows.sum(), 1)))
        if np.abs(rows / rows.sum() - people / max(people.sum(), 1)).sum() / 2 <= _APART + chance:
            return True
    return False


def _counted(ids: Ids, number: int) -> np.ndarray:
    return np.bincount(ids[ids >= 0], minlength=number).astype(np.float64)
