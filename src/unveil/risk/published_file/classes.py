"""Classes of rows and people by all that they have in common, and what goes with what beyond their cells."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import row_numbers
from unveil.risk.published_file.file import Disclosure, Ids, PublishedFile
from unveil.risk.published_file.people import people_who_fit

__all__ = ["ALIKE", "Mark", "Matrix", "SharedClasses", "all_common", "usual_cells"]

Matrix = NDArray[np.float64]

_CLASSES = 1_200  # that are compared; of more, as many drawn at random
_TEXTS = 3_000  # cells of a column that are told apart
_SAME = 0.7  # of the values of two cells that are common, from which one is the other with a mark
_VALUES = 40  # of a column that are told apart in what is explained
_FREEDOM = 6  # classes beyond those that are needed to learn what the values alone make one expect
_LEFT = 0.05  # of the variance of what depends on nothing, at least: less is explained by what the rows show
ALIKE = 0.5  # the least correlation of the deviations: a mark that stands for a trait in fewer cases tells little
# The chance that any of 10^6 products of independent deviations reaches it is 10^-6 (Hoeffding's bound).
_SIGNIFICANT = 7.5
_CHOSEN = 5.5  # the same of some hundred products: that one of them reaches it has a chance of 10^-5


class Mark(NamedTuple):
    """Something that a reader sees of rows, or that the original knows of people: one number of each."""

    words: str
    column: str  # "" for none
    numbers: NDArray[Any] = np.zeros(0)  # (rows,) or (people,); NaN = not seen
    kind: Disclosure = "linking"  # of a trait: what it is to know it
    rank: Ids | None = None  # where it is a wave along an order
    wave: int = 0  # and which cosine
    made: Callable[[Matrix], Matrix] | None = None  # of the numbers, where they are not the mark themselves

    def of(self, rows: Ids) -> Matrix:
        """(rows,) the mark of these rows or people; NaN = not seen. Others are not worked out."""
        numbers = self.numbers[rows]
        return np.asarray(numbers if self.made is None else self.made(numbers), dtype=np.float64)

    @property
    def value(self) -> Matrix:
        """The same of all."""
        return self.of(np.arange(len(self.numbers)))


Deviations = tuple[Matrix, list[Mark], NDArray[np.bool_]]  # (classes, marks); which marks; whether classes hold several


class SharedClasses(NamedTuple):
    """Classes by all that rows and people have in common, and what their columns explain."""

    of_row: Ids  # (rows,) -1 = none that is compared
    of_person: Ids  # (people,)
    together: Ids  # (classes,) what the quasi-identifiers show
    own: Matrix  # (classes,) the weight of each class in that, whose squares add up to one
    explained: Matrix  # (classes, known) an orthonormal basis of the rest that their columns explain

    @classmethod
    def of(
        cls, file: PublishedFile, common: dict[str, tuple[Ids, Ids]], *, by_people: bool = False
    ) -> "SharedClasses | None":
        """The classes of a file; None if too few. `by_people`: also those without a row, weighted by their people."""
        names = list(common)
        rows, people = ([common[n][i] for n in names] for i in (0, 1))
        both = row_numbers([np.concatenate(pair) for pair in zip(rows, people, strict=True)])
        row, person = both[: file.rows].copy(), both[file.rows :].copy()
        row[np.any([r < 0 for r in rows], axis=0)] = -1
        person[np.any([p < 0 for p in people], axis=0)] = -1
        number = int(both.max()) + 1
        here, there = (np.bincount(ids[ids >= 0], minlength=number) for ids in (row, person))
        kept = np.flatnonzero((there > 0) if by_people else (here > 0) & (there > 0))
        if len(kept) > _CLASSES:
            kept = np.sort(np.random.default_rng(0).choice(kept, _CLASSES, replace=False))
        if len(kept) < _FREEDOM:
            return None
        dense = np.full(number + 1, -1, dtype=np.int64)
        dense[kept] = np.arange(len(kept))
        row, person = dense[row], dense[person]
        # One row, or person, of each class.
        side, held = (1, person) if by_people else (0, row)
        example = np.zeros(len(kept), dtype=np.int64)
        example[held[held >= 0]] = np.flatnonzero(held >= 0)
        keys = [n for n in names if n in file.keys]
        together = (
            row_numbers([common[n][side][example] for n in keys]) if keys else np.zeros(len(kept), dtype=np.int64)
        )
        # Quasi-identifiers together, if enough classes differ in the rest alone; else one by one, as the others.
        single = [common[n][side][example] for n in names if n not in keys or 2 * together.max() >= len(kept)]
        if 2 * together.max() >= len(kept):
            together = np.zeros(len(kept), dtype=np.int64)
        design = []
        for codes in single:
            code = np.unique(codes, return_inverse=True)[1]
            code = code if code.max() < _VALUES else (code * 12) // (int(code.max()) + 1)
            design += [code == v for v in range(1, int(code.max()) + 1)]
        weight = np.sqrt((there if by_people else here)[kept].astype(np.float64))
        own = weight / np.sqrt(np.bincount(together, weights=weight**2))[together]
        made = cls(row, person, together, own, np.zeros((len(kept), 0)))
        if not design:
            return made
        left = made.unexplained(np.stack(design, axis=1) * weight[:, None])
        square, turned = np.linalg.eigh(left.T @ left)
        good = square > 1e-10 * (weight @ weight)
        return made._replace(explained=left @ turned[:, good] / np.sqrt(square[good]))

    @property
    def freedom(self) -> int:
        """Classes beyond those that are needed to learn what the columns make one expect."""
        return int(len(self.own) - self.together.max() - 1 - self.explained.shape[1])

    def unexplained(self, table: Matrix) -> Matrix:
        """(classes, columns) less what the columns make one expect."""
        summed = np.zeros((int(self.together.max()) + 1, table.shape[1]))
        np.add.at(summed, self.together, table * self.own[:, None])
        table = table - summed[self.together] * self.own[:, None]
        return np.asarray(table - self.explained @ (self.explained.T @ table))

    def runs_of_people(self, run: Ids) -> Ids | None:
        """(people,) the run of the rows of their class, if classes lie within runs and there are several."""
        of_class = np.full(len(self.own) + 1, -1, dtype=np.int64)
        rows = self.of_row >= 0
        of_class[self.of_row[rows]] = run[rows]
        if int(run.max()) == 0 or (of_class[self.of_row[rows]] != run[rows]).any():
            return None
        return np.unique(of_class[self.of_person], return_inverse=True)[1].astype(np.int64)

    def best(self, marks: Sequence[Mark], told: Deviations) -> tuple[Mark, Mark, float] | None:
        """The mark and the trait whose deviations agree most surely, and how well they do."""
        freedom = self.freedom
        if freedom < _FREEDOM:
            return None
        here, marks, several_here = self.deviations(self.of_row, marks)
        there, traits, several_there = told
        if not marks or not traits:
            return None
        product = here.T @ there
        length = np.sqrt((here * here).sum(axis=0)[:, None] * (there * there).sum(axis=0)[None, :])
        alike = np.abs(product) / np.maximum(length, 1e-12)
        surely = np.abs(product) / np.sqrt(np.maximum((here * here).T @ (there * there), 1e-12))
        # Where a class holds several of each, deviations are nearly normal, and Fisher's transformation is sharper.
        fisher = np.arctanh(np.minimum(alike, 0.999999)) * np.sqrt(freedom - 3)
        surely = np.where(several_here[:, None] & several_there[None, :], np.maximum(surely, fisher), surely)
        surely[alike < ALIKE] = 0.0
        at = np.unravel_index(int(surely.argmax()), surely.shape)
        if surely[at] >= _SIGNIFICANT:
            return marks[at[0]], traits[at[1]], float(alike[at])
        return _all_waves(marks, traits, product / np.maximum(length, 1e-12), freedom) if several_here.any() else None

    def chosen(self, times: Matrix, traits: Sequence[Mark]) -> tuple[Mark, float] | None:
        """The trait of people that goes with how many of their class have a row; `times`: people of each row."""
        classes = len(self.own)
        rows, people = self.of_row >= 0, np.bincount(self.of_person[self.of_person >= 0], minlength=classes)
        here = np.bincount(self.of_row[rows], weights=times[rows], minlength=classes)
        share = here.sum() / max(people.sum(), 1)
        mark = (here - share * people) / np.sqrt(people)
        mark = self.unexplained(mark[:, None])[:, 0]
        there, traits, _ = self.deviations(self.of_person, traits)
        freedom = self.freedom
        if freedom < _FREEDOM or not traits or not mark.any():
            return None
        alike = np.abs(mark @ there) / np.sqrt((mark @ mark) * (there * there).sum(axis=0))
        at = int(alike.argmax())
        sure = np.arctanh(min(float(alike[at]), 0.999999)) * np.sqrt(freedom - 3)
        return (traits[at], float(alike[at])) if sure >= _CHOSEN else None

    def alike(self, mark: Mark, trait: Mark) -> float:
        """The correlation of their deviations."""
        here, _, _ = self.deviations(self.of_row, [mark])
        there, _, _ = self.deviations(self.of_person, [trait])
        if not here.size or not there.size:
            return 0.0
        one, other = here[:, 0], there[:, 0]
        return float(abs(one @ other) / np.sqrt((one @ one) * (other @ other)))

    def deviations(self, of: Ids, marks: Sequence[Mark]) -> Deviations:
        """(classes, marks) sums of each class less what is explained; the marks; and whether classes hold several."""
        classes = len(self.own)
        rows = np.flatnonzero(of >= 0)
        total = np.maximum(np.bincount(of[rows], minlength=classes).astype(np.float64), 1.0)
        columns, several, spread = [], [], []
        for mark in marks:
            value = mark.of(rows)
            unseen = np.isnan(value)
            if unseen.any():
                value = np.where(unseen, 0.0 if unseen.all() else np.nanmean(value), value)
            columns.append(np.bincount(of[rows], weights=value, minlength=classes))
            flag = bool(((value == 0) | (value == 1)).all())
            held = min(value.sum(), len(value) - value.sum()) if flag else len(value) / 2
            several.append(held >= 2 * classes)
            spread.append(float(value.var()))
        if not columns:
            return np.zeros((classes, 0)), [], np.zeros(0, dtype=bool)
        table = np.stack(columns, axis=1) / np.sqrt(total)[:, None]
        table = self.unexplained(table)
        # Of what depends on nothing, each free class has the variance of a row.
        good = (table**2).sum(axis=0) > np.maximum(_LEFT * self.freedom * np.array(spread), 1e-9)
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


def usual_cells(file: PublishedFile, name: str) -> tuple[Ids, Ids] | None:
    """(rows,), (people,) one number for what rows and people have in common; -1 for cells that are nobody's usual one.

    A value's usual cell is the most frequent one that holds it; a cell that is nearly the same counts as that.
    """
    cells = file.cells(name)
    texts = np.unique(cells.text_of_row)
    texts = texts[(cells.region_of_text[texts] >= 0) & ~cells.whole[texts]]
    wide = texts[cells.exact[texts] < 0]
    if not len(texts) or len(wide) > _TEXTS:
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


def all_common(file: PublishedFile) -> dict[str, tuple[Ids, Ids]]:
    names = [n for n in file.shared if n not in file.sidecar.masked]
    found = {n: c for n in names if (c := usual_cells(file, n)) is not None}
    boxes = [n for n in names if n not in found and n in file.keys]
    both = _boxes(file, boxes) if boxes else None
    return found if both is None else {**found, " and ".join(boxes): both}
