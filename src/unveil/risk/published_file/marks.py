"""Anything that tells rows apart though they mean the same, held against everything that the original knows of people.

A reader sees more of a row than its values: where it stands, in which part of the file, how a cell is written,
whether it is withheld. In an honest file such a *mark* depends on nothing but what the row shows. Whether it does can
be tested without knowing whose row is whose: cut rows and people into classes by what both show. If a mark stands for a
*trait* of people (a hidden value, a part of an identifier, the place in the list), then in every class as many rows
have the mark as people have the trait, and both deviate alike from what the quasi-identifiers together, and the other
columns one by one, make one expect. The deviations of marks and traits that have nothing to do with each other are
independent. So all marks are held against all traits by one product of matrices, and nothing is assumed about how the
file was made.

An order is seen as waves along it (cosines and sines of the rank, a Fourier series): one that rises or falls, one that
was cut and riffled, or that starts anew in every class, agrees with the list in some wave.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from unveil.data.attribute import Role
from unveil.data.table import CodedColumn
from unveil.risk.published_file.along import along_the_file
from unveil.risk.published_file.classes import ALIKE, Mark, Matrix, SharedClasses, all_common, usual_cells
from unveil.risk.published_file.file import Disclosure, Ids, Leak, PublishedFile, absent_texts
from unveil.risk.published_file.recipes import recipes

__all__ = ["PLACE", "marked_rows", "shown_values", "stands_for", "traits_of"]

PLACE = "the place in the original's list"

_WAVES = 8  # along an order
_SHORTEST = 8  # rows of a run whose order is looked at
_VALUES = 40  # of a mark or a trait that are told apart
_TURNS = (2, 3, 4, 5, 7, 8, 10)
_FEWEST = 10  # rows of a mark, people of a trait


def stands_for(file: PublishedFile, compared: SharedClasses, run: Ids) -> tuple[Mark, float] | None:
    """The trait of people that the places of the rows go with most surely; `run`: runs that their cells explain."""
    size = np.bincount(run)
    place = np.arange(file.rows) - (np.cumsum(size) - size)[run]
    marks = list(_waves("where a row stands in the file", "", place, run))
    for number in _TURNS:
        marks += _dummies(f"the number of the line, counted in turns of {number},", "", place % number)
    traits = [*traits_of(file), *_recipes(file)]
    people = compared.runs_of_people(run)
    if people is not None:
        orders = [t for t in traits if t.rank is not None and t.wave == 1]
        traits += [w for t in orders for w in _waves(t.words, t.column, _ranks(t), people, t.kind)]
    told = compared.deviations(compared.of_person, traits)
    found = compared.best(marks, told)
    if found is not None:
        return found[1:]
    # Waves and stretches of any length: every row has what its class has beyond what its cells make one expect.
    deviations, kept, _ = told
    held = np.bincount(compared.of_row[compared.of_row >= 0], minlength=len(deviations))
    each = deviations / np.sqrt(np.maximum(held, 1))[:, None]
    best: tuple[float, Mark, float] | None = None
    for along in along_the_file(each, compared.of_row, run):
        trait = kept[along.series]
        alike = compared.alike(Mark(along.words, "", along.value), trait)
        if alike >= ALIKE and (best is None or along.surely > best[0]):
            best = along.surely, trait, alike
    return None if best is None else best[1:]


def marked_rows(file: PublishedFile) -> list[Leak]:
    """The mark of cells and the trait of people that go together most surely."""
    if file.original is None or not file.linked or file.rows < 3 * _FEWEST:
        return []
    common = all_common(file)
    marks = [*_parts(file), *_written(file, common), *_unread(file)]
    # What is withheld, or nobody's, is compared in classes by the other columns.
    odd = {name: list(_odd(file, name, common)) for name in file.columns}
    if not marks and not any(odd.values()):
        return []
    traits = list(traits_of(file))
    found = _found(file, common, marks, traits)
    for name in (n for n, several in odd.items() if several):
        if found is None:
            others = {n: c for n, c in common.items() if n != name}
            empty = name in file.original and absent_texts(file.original[name].texts, file.schema).any()
            told = empty or name not in common  # what is missing, or shown here and there, is the column's own matter
            found = _found(file, others, odd[name], [t for t in traits if t.column != name or not told])
    if found is None:
        return []
    mark, trait, alike = found
    value = mark.value[np.isfinite(mark.value)]
    rows = int((value == 1).sum()) if len(np.unique(value)) == 2 else len(value)
    subject = mark.words[0].upper() + mark.words[1:]
    columns = [mark.column, trait.column]
    return [
        Leak(
            "marked_rows",
            trait.kind,
            "exceeded",
            f"{subject} gives away {trait.words}, for {file.persons(rows)}: class by class the two go together "
            f"(correlation {alike:.2f}), and nothing else that the rows show explains it.",
            f"write equal cells of {mark.column} alike, or drop the column"
            if mark.column
            else "shuffle the rows, and write the file in one part",
            tuple(dict.fromkeys(c for c in columns if c)),
            rows,
            alike,
        )
    ]


def _found(
    file: PublishedFile, common: dict[str, tuple[Ids, Ids]], marks: Sequence[Mark], traits: Sequence[Mark]
) -> tuple[Mark, Mark, float] | None:
    compared = SharedClasses.of(file, common) if marks and common else None
    return None if compared is None else compared.best(marks, compared.deviations(compared.of_person, traits))


# --- what a reader sees of rows ---------------------------------------------------------------------------------------


def _ranks(mark: Mark) -> Ids:
    assert mark.rank is not None
    return mark.rank


def _parts(file: PublishedFile) -> Iterator[Mark]:
    if file.parts:
        part = np.repeat(np.arange(len(file.parts)), file.parts)[: file.rows]
        yield from _dummies("the part of the file that a row is in", "", part)


def _written(file: PublishedFile, common: dict[str, tuple[Ids, Ids]]) -> Iterator[Mark]:
    """Cells that are written otherwise than is usual for what they mean."""
    for name, (usual, _) in common.items():
        if name not in file.columns:  # several together
            continue
        codes = file.codes(name)
        other = (codes != usual) & (usual >= 0)
        if other.sum() >= _FEWEST:
            yield Mark(f"how {name} is written", name, other.astype(np.float64))
            yield from _dummies(f"how {name} is written", name, np.where(other, codes, -1))


def _unread(file: PublishedFile) -> Iterator[Mark]:
    """Columns that the original does not have: names of groups, numbers, whatever they mean."""
    for name in file.columns:
        if name not in file.shared and name != file.key and file.role(name) is not Role.IDENTIFIER:
            yield from _shapes(name, file.columns[name], file.numbers(name))


def shown_values(file: PublishedFile, name: str) -> Iterator[Mark]:
    """What a column shows: its values where they are few, else the order of its numbers."""
    column = file.columns[name]
    used = len(np.unique(column.text_of_row))
    if 1 < used <= _VALUES:
        yield from _dummies(name, name, file.codes(name))
    elif used > 1 and np.isfinite(file.numbers(name)).all():
        rank = np.unique(file.numbers(name), return_inverse=True)[1].astype(np.int64)[file.codes(name)]
        yield from (wave for wave in _waves(f"the order of {name}", name, rank) if 0 < wave.wave <= 2)


def _odd(file: PublishedFile, name: str, common: dict[str, tuple[Ids, Ids]]) -> Iterator[Mark]:
    """Cells of a column that are withheld, stand for a value that nobody has, or are wider than others."""
    gone = file.absent(name)[file.codes(name)]
    if _FEWEST <= gone.sum() <= file.rows - _FEWEST:
        yield Mark(f"whether {name} is withheld", name, gone.astype(np.float64))
    if name in common:
        rows, people = common[name]
        nobody = (rows >= 0) & ~np.isin(rows, people)
        if nobody.sum() >= _FEWEST:
            yield Mark(f"a {name} that nobody has in the original", name, nobody.astype(np.float64))
    elif name in file.shared and [n for n in file.keys if n not in common] == [name]:
        # If several columns are cut finer here and coarser there, their cells together say where.
        yield from _dummies(f"how wide the cell of {name} is", name, _widths(file, name))


def _widths(file: PublishedFile, name: str) -> Ids:
    """(rows,) how many values the cell may stand for; -1 for more than can be told apart."""
    cells = file.cells(name)
    number = np.array([len(cells.regions.members(r)) if r >= 0 else 0 for r in cells.region_of_text.tolist()])
    number[cells.exact >= 0] = 1
    kinds, ids = np.unique(number, return_inverse=True)
    return np.where(len(kinds) <= _VALUES, ids.astype(np.int64)[cells.text_of_row], -1)


def _shapes(name: str, column: CodedColumn, number: Matrix) -> Iterator[Mark]:
    """Values, or waves along their order; first and last signs, length, remainders."""
    texts = [t.strip() for t in column.texts]
    ids = np.asarray(column.text_of_row, dtype=np.int64)
    whole = bool(np.isfinite(number).all()) and len(texts) > 0
    order = np.unique(number if whole else np.array(texts, dtype=str), return_inverse=True)[1].astype(np.int64)
    if len(texts) <= _VALUES:
        yield from _dummies(name, name, order[ids])
        if len(texts) <= 5:
            return
    yield from _waves(f"the order of {name}", name, order[ids])
    cuts = {
        "the first sign of": [t[:1] for t in texts],
        "the last sign of": [t[-1:] for t in texts],
        "the length of": [str(len(t)) for t in texts],
    }
    for words, cut in cuts.items():
        made = np.unique(cut, return_inverse=True)[1].astype(np.int64)
        if int(made.max(initial=0)) < _VALUES:
            yield from _dummies(f"{words} {name}", name, made[ids])
    for length in (2, 3, 4):
        ends = np.unique([t[-length:] for t in texts], return_inverse=True)[1].astype(np.int64)
        if len(texts) > 2 * _VALUES:
            yield from _waves(f"the end of {name}", name, ends[ids])
    if whole and len(texts) > _VALUES and (number == np.round(number)).all() and np.abs(number).max() < 2**53:
        for by in (3, 4, 7, 8, 9, 11):
            yield from _dummies(f"the remainder of {name} by {by}", name, (number.astype(np.int64) % by)[ids])


def _dummies(words: str, column: str, ids: Ids) -> Iterator[Mark]:
    """One mark for each value."""
    size = np.bincount(ids[ids >= 0]) if (ids >= 0).any() else np.zeros(0)
    for value in np.flatnonzero((size >= _FEWEST) & (size <= len(ids) - _FEWEST)).tolist():
        yield Mark(words, column, ids, made=partial(np.equal, value))


def _waves(words: str, column: str, rank: Ids, run: Ids | None = None, kind: Disclosure = "linking") -> Iterator[Mark]:
    """Waves along an order, or along its part in each run."""
    place = _middles(rank, np.zeros(len(rank), dtype=np.int64) if run is None else run)
    for k in range(1, _WAVES + 1):
        yield Mark(words, column, place, kind, rank, k, partial(_wave, np.cos, k))
        if k % 2 == 0:
            yield Mark(words, column, place, kind, rank, made=partial(_wave, np.sin, k))


def _wave(wave: Callable[[Matrix], Matrix], k: int, place: Matrix) -> Matrix:
    return wave(np.pi * k * place)


def _middles(rank: Ids, run: Ids) -> Matrix:
    """(rows,) the middle place, 0 to 1, of all that have the same rank in their run; NaN in short runs."""
    held, ids, size = np.unique(run * (int(rank.max(initial=0)) + 1) + rank, return_inverse=True, return_counts=True)
    of_run = held // (int(rank.max(initial=0)) + 1)
    total = np.bincount(run)
    middle = np.cumsum(size) - size / 2 - (np.cumsum(total) - total)[of_run]
    return np.where(total[of_run] < _SHORTEST, np.nan, middle / np.maximum(total[of_run], 1))[ids]


# --- what the original knows of people --------------------------------------------------------------------------------


def traits_of(file: PublishedFile) -> Iterator[Mark]:
    assert file.original is not None
    place = np.arange(file.people)
    yield from _waves(PLACE, "", place)
    for number in _TURNS:
        yield from _dummies(f"{PLACE}, counted in turns of {number}", "", place % number)
    for name, column in file.original.items():
        role = file.role(name)
        kind: Disclosure = "singling out" if role is Role.QUASI_IDENTIFIER else "inference"
        kind = "linking" if role is Role.IDENTIFIER or name == file.key else kind
        yield from (shape._replace(kind=kind) for shape in _shapes(name, column, file.original_numbers(name)))
        if name in file.shared:
            yield from (wave._replace(kind=kind) for wave in _within_cells(file, name))


def _within_cells(file: PublishedFile, name: str) -> Iterator[Mark]:
    """Where a value lies among those of its usual cell: what the cell does not say."""
    both = usual_cells(file, name)
    if both is None:
        return
    cell, value = both[1], file.cells(name).value_of_person
    words = f"the place of {name} within its cell"
    ids = np.unique(cell, return_inverse=True)[1].astype(np.int64)
    rank = np.unique(value, return_inverse=True)[1].astype(np.int64)
    yield from _waves(words, name, rank, ids)
    low, high = np.full(int(ids.max()) + 1, np.inf), np.full(int(ids.max()) + 1, -np.inf)
    np.minimum.at(low, ids, value)
    np.maximum.at(high, ids, value)
    yield Mark(words, name, (value > (low + high)[ids] / 2).astype(np.float64))


def _recipes(file: PublishedFile) -> Iterator[Mark]:
    """Places in orders that whoever has the list can make again."""
    for words, order in recipes(file):
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        place = (rank + 0.5) / len(rank)
        for k in range(1, _WAVES // 2 + 1):
            yield Mark(words, "", place, "linking", rank, k, partial(_wave, np.cos, k))
