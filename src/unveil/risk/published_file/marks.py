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

from collections.abc import Iterator, Sequence

import numpy as np

from unveil.data.attribute import Role
from unveil.data.table import CodedColumn
from unveil.risk.published_file.along import along_the_file
from unveil.risk.published_file.classes import ALIKE, Mark, Matrix, SharedClasses, all_common, usual_cells
from unveil.risk.published_file.file import Disclosure, Ids, Leak, PublishedFile, absent_texts, places
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
    found = compared.best(marks, traits)
    if found is not None:
        return found[1:]
    # Waves and stretches of any length: every row has what its class has beyond what its cells make one expect.
    deviations, kept, _ = compared.deviations(compared.of_person, traits)
    number = np.bincount(compared.of_row[compared.of_row >= 0], minlength=len(deviations))
    each = deviations / np.sqrt(np.maximum(number, 1))[:, None]
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
    rows = int(np.isfinite(mark.value).sum())
    if len(np.unique(mark.value[np.isfinite(mark.value)])) == 2:
        rows = int((mark.value == 1).sum())
    subject = mark.words[0].upper() + mark.words[1:]
    columns = [mark.column, trait.column]
    return [
        Leak(
            "marked_rows",
            trait.kind,
            "exceeded",
            f"{subject} goes with {trait.words}, and nothing that the rows show explains it: class by class they "
            f"deviate alike (correlation {alike:.2f}), for {file.persons(rows)}.",
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
    return None if compared is None else compared.best(marks, traits)


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
        yield Mark(words, column, (ids == value).astype(np.float64))


def _waves(words: str, column: str, rank: Ids, run: Ids | None = None, kind: Disclosure = "linking") -> Iterator[Mark]:
    """Waves along an order, or along its part in each run."""
    place, ids = _middles(rank, np.zeros(len(rank), dtype=np.int64) if run is None else run)
    for k in range(1, _WAVES + 1):
        yield Mark(words, column, np.cos(np.pi * k * place)[ids], kind, rank, k)
        if k % 2 == 0:
            yield Mark(words, column, np.sin(np.pi * k * place)[ids], kind, rank)


def _middles(rank: Ids, run: Ids) -> tuple[Matrix, Ids]:
    """The middle place, 0 to 1, of all that have the same rank in their run, NaN in short runs; and (rows,) which."""
    held, ids, size = np.unique(run * (int(rank.max(initial=0)) + 1) + rank, return_inverse=True, return_counts=True)
    of_run = held // (int(rank.max(initial=0)) + 1)
    total = np.bincount(run)
    middle = np.cumsum(size) - size / 2 - (np.cumsum(total) - total)[of_run]
    return np.where(total[of_run] < _SHORTEST, np.nan, middle / np.maximum(total[of_run], 1)), ids


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
        number_of = places(column.texts, file._kind(name), file.original_decimal)
        yield from (shape._replace(kind=kind) for shape in _shapes(name, column, number_of))
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
        yield from _waves(words, "", rank)
<<<<<<< HEAD


# --- classes of rows and people ---------------------------------------------------------------------------------------


class _Classes(NamedTuple):
    """Classes by all that rows and people have in common, and what their columns explain."""

    of_row: Ids  # (rows,) -1 = none that is compared
    of_person: Ids  # (people,)
    explained: Matrix  # (classes, known) an orthonormal basis

    @classmethod
    def of(cls, file: PublishedFile, common: dict[str, tuple[Ids, Ids]]) -> "_Classes | None":
        """The classes of a file; None if too few."""
        names = list(common)
        rows, people = ([common[n][i] for n in names] for i in (0, 1))
        both = row_numbers([np.concatenate(pair) for pair in zip(rows, people, strict=True)])
        row, person = both[: file.rows].copy(), both[file.rows :].copy()
        row[np.any([r < 0 for r in rows], axis=0)] = -1
        person[np.any([p < 0 for p in people], axis=0)] = -1
        number = int(both.max()) + 1
        here, there = (np.bincount(ids[ids >= 0], minlength=number) for ids in (row, person))
        kept = np.flatnonzero((here > 0) & (there > 0))
        if len(kept) > _CLASSES:
            kept = np.sort(np.random.default_rng(0).choice(kept, _CLASSES, replace=False))
        if len(kept) < _FREEDOM:
            return None
        dense = np.full(number + 1, -1, dtype=np.int64)
        dense[kept] = np.arange(len(kept))
        row, person = dense[row], dense[person]
        example = np.zeros(len(kept), dtype=np.int64)
        example[row[row >= 0]] = np.flatnonzero(row >= 0)
        keys = [n for n in names if n in file.keys]
        together = row_numbers([common[n][0][example] for n in keys]) if keys else np.zeros(len(kept), dtype=np.int64)
        # Quasi-identifiers together, if enough classes differ in the rest alone; else one by one, as the others.
        single = [common[n][0][example] for n in names if n not in keys or 2 * together.max() >= len(kept)]
        if 2 * together.max() >= len(kept):
            together = np.zeros(len(kept), dtype=np.int64)
        design = [together == v for v in range(int(together.max()) + 1)]
        for codes in single:
            code = np.unique(codes, return_inverse=True)[1]
            code = code if code.max() < _VALUES else (code * 12) // (int(code.max()) + 1)
            design += [code == v for v in range(1, int(code.max()) + 1)]
        weighed = np.stack(design, axis=1) * np.sqrt(here[kept].astype(np.float64))[:, None]
        size, turned = np.linalg.eigh(weighed.T @ weighed)
        some = size > 1e-12 * size.max()
        return cls(row, person, weighed @ (turned[:, some] / np.sqrt(size[some])))

    def runs_of_people(self, run: Ids) -> Ids | None:
        """(people,) the run of the rows of their class, if classes lie within runs and there are several."""
        of_class = np.full(len(self.explained) + 1, -1, dtype=np.int64)
        rows = self.of_row >= 0
        of_class[self.of_row[rows]] = run[rows]
        if int(run.max()) == 0 or (of_class[self.of_row[rows]] != run[rows]).any():
            return None
        return np.unique(of_class[self.of_person], return_inverse=True)[1].astype(np.int64)

    def best(self, marks: Sequence[Mark], traits: Sequence[Mark]) -> tuple[Mark, Mark, float] | None:
        """The mark and the trait whose deviations agree most surely, and how well they do."""
        freedom = self.explained.shape[0] - self.explained.shape[1]
        if freedom < _FREEDOM:
            return None
        here, marks, several_here = self._deviations(self.of_row, marks)
        there, traits, several_there = self._deviations(self.of_person, traits)
        if not marks or not traits:
            return None
        product = here.T @ there
        length = np.sqrt((here * here).sum(axis=0)[:, None] * (there * there).sum(axis=0)[None, :])
        alike = np.abs(product) / np.maximum(length, 1e-12)
        surely = np.abs(product) / np.sqrt(np.maximum((here * here).T @ (there * there), 1e-12))
        # Where a class holds several of each, deviations are nearly normal, and Fisher's transformation is sharper.
        surely[alike < _ALIKE] = 0.0
        near = (alike >= _ALIKE) & several_here[:, None] & several_there
        fisher = np.arctanh(np.minimum(alike[near], 0.999999)) * np.sqrt(freedom - 3)
        surely[near] = np.maximum(surely[near], fisher)
        at = np.unravel_index(int(surely.argmax()), surely.shape)
        if surely[at] >= _SIGNIFICANT:
            return marks[at[0]], traits[at[1]], float(alike[at])
        return _all_waves(marks, traits, product / np.maximum(length, 1e-12), freedom) if several_here.any() else None

    def _deviations(self, of: Ids, marks: Sequence[Mark]) -> tuple[Matrix, list[Mark], NDArray[np.bool_]]:
        """(classes, marks) sums of each class less what is explained; the marks; and whether classes hold several."""
        classes = len(self.explained)
        rows = np.flatnonzero(of >= 0)
        total = np.maximum(np.bincount(of[rows], minlength=classes).astype(np.float64), 1.0)
        columns, several, spread = [], [], []
        for mark in marks:
            value = mark.value[rows]
            mean = value.mean() if len(value) else 0.0
            if np.isnan(mean):
                mean = np.nanmean(value) if np.isfinite(value).any() else 0.0
                value = np.where(np.isnan(value), mean, value)
            columns.append(np.bincount(of[rows], weights=value, minlength=classes))
            flag = len(value) == 0 or (value[0] in (0, 1) and bool(((value == 0) | (value == 1)).all()))
            held = min(value.sum(), len(value) - value.sum()) if flag else len(value) / 2
            several.append(held >= 2 * classes)
            away = value - mean
            spread.append(float(away @ away) / max(len(value), 1))
        if not columns:
            return np.zeros((classes, 0)), [], np.zeros(0, dtype=bool)
        table = np.stack(columns, axis=1) / np.sqrt(total)[:, None]
        table -= self.explained @ (self.explained.T @ table)
        # Of what depends on nothing, each free class has the variance of a row.
        free = classes - self.explained.shape[1]
        good = (table**2).sum(axis=0) > np.maximum(_LEFT * free * np.array(spread), 1e-9)
        kept = [mark for mark, is_good in zip(marks, good.tolist(), strict=True) if is_good]
        return table[:, good], kept, np.array(several, dtype=bool)[good]


def _all_waves(
    marks: Sequence[Mark], traits: Sequence[Mark], alike: Matrix, freedom: int
) -> tuple[Mark, Mark, float] | None:
    """The same of all cosines along an order at once: few classes tell little by one of them."""
    rows = {mark.wave: i for i, mark in enumerate(marks) if mark.wave}
    orders: list[dict[int, int]] = []
    last: Mark | None = None
    for i, trait in enumerate(traits):
        if trait.wave in rows:
            if last is None or trait.rank is not last.rank or trait.wave <= last.wave:
                orders.append({})
            orders[-1][trait.wave] = i
            last = trait
    best: tuple[float, Mark, float] | None = None
    for order in orders:
        told = np.array([alike[rows[k], i] for k, i in order.items()])
        turned = np.array([(-1.0) ** k for k in order])
        for sign in (np.ones(len(told)), turned):
            sure = float(np.arctanh(np.clip(told * sign, -0.999, 0.999)).sum() * np.sqrt((freedom - 3) / len(told)))
            if sure >= _SIGNIFICANT and (best is None or sure > best[0]):
                best = sure, traits[next(iter(order.values()))], float((told * sign).mean())
    return None if best is None else (marks[next(iter(rows.values()))], *best[1:])


def _common(file: PublishedFile, name: str) -> tuple[Ids, Ids] | None:
    """(rows,), (people,) one number for what rows and people have in common; -1 for cells that are nobody's usual one.

    A value's usual cell is the most frequent one that holds it; a cell that is nearly the same counts as that.
    """
    cells = file.cells(name)
    texts = np.unique(cells.text_of_row)
    texts = texts[(cells.region_of_text[texts] >= 0) & ~cells.whole[texts]]
    wide = texts[cells.exact[texts] < 0]
    if not len(texts) or len(wide) > _CLASSES:
        return None
    number = np.bincount(cells.text_of_row, minlength=len(cells.region_of_text))
    usual = np.full(cells.regions.codes + 1, -1, dtype=np.int64)
    exact = texts[cells.exact[texts] >= 0]
    exact = exact[np.argsort(number[exact], kind="stable")]
    usual[cells.exact[exact]] = exact
    members = {text: np.asarray(cells.regions.members(int(cells.region_of_text[text]))) for text in wide.tolist()}
    for text in wide[np.argsort(number[wide], kind="stable")].tolist():
        held = members[text]
        held = held[(usual[held] < 0) | (number[usual[held]] <= number[text])]
        usual[held] = text
    size = np.bincount(usual[:-1][usual[:-1] >= 0], minlength=len(number))
    means = np.full(len(number), -1, dtype=np.int64)
    means[exact] = np.where(size[usual[cells.exact[exact]]] == 1, usual[cells.exact[exact]], -1)
    for text, held in members.items():
        own = usual[held][usual[held] >= 0]
        best = int(np.bincount(own).argmax()) if len(own) else -1
        common = int((own == best).sum())
        if best >= 0 and common >= _SAME * (len(held) + size[best] - common):
            means[text] = best
    rows, people = means[cells.text_of_row], usual[cells.value_of_person]
    if (rows < 0).mean() > 0.1 or (people < 0).mean() > 0.1 or len(np.unique(rows)) < 2:
        return None
    here, there = (np.bincount(ids[ids >= 0], minlength=len(number)) / len(ids) for ids in (rows, people))
    chance = np.sqrt((here + there > 0).sum() / min(len(rows), len(people)))
    return (rows, people) if np.abs(here - there).sum() / 2 < 0.1 + chance else None


def _boxes(file: PublishedFile, names: list[str]) -> tuple[Ids, Ids] | None:
    """The same by several columns whose cells overlap one by one, but lie apart together, as Mondrian's do."""
    fits, first, kind_of_row, _ = people_who_fit(file, names)
    values = row_numbers([file.cells(n).value_of_person for n in names])
    one = np.where(fits.sum(axis=1) == 1, fits.argmax(axis=1), -1)
    of_value = np.full(int(values.max()) + 1, -1, dtype=np.int64)
    of_value[values[first]] = one
    people = of_value[values]
    held = np.isin(kind_of_row, people)
    if (people >= 0).mean() < 0.3 or held.mean() < 0.3 or len(np.unique(kind_of_row)) < 2:
        return None
    return np.where(held, kind_of_row, -1), people
=======
>>>>>>> main
