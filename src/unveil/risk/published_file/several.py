"""Several releases of the same people: what only both together tell."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import row_numbers
from unveil.risk.published_file.file import Ids, Leak, PublishedFile, percent
from unveil.risk.published_file.order import LEAST
from unveil.risk.published_file.runs import runs_of
from unveil.risk.published_file.statistics import within_runs

__all__ = ["across_releases", "beside_earlier"]

MOST_ALIGNED = 1_500  # rows, from the top
NEAR = 10  # rows
SURELY_ALONE = 0.05  # expected others in a crossing: nobody else is there with a probability of 95%


def across_releases(files: Sequence[PublishedFile]) -> list[Leak]:
    """Two releases of the same people: values that only both together leave, and rows that one has more."""
    found = []
    for i, one in enumerate(files):
        for other in files[i + 1 :]:
            for name in [n for n in one.secrets if n in other.secrets]:
                found += _crossing(one, other, name)
            found += _difference(one, other) + _line_by_line(one, other)
    return found


def beside_earlier(file: PublishedFile, earlier: PublishedFile, name: str) -> list[Leak]:
    """What a file and one that is already out tell once their rows are put together, by their order or what they show.

    What their groups tell is composition's part (risk.composition), which sees neither lines nor other columns.
    """
    both = f"This release and {name}"
    return (
        _line_by_line(file, earlier, both)
        or _row_by_row(file, earlier, both)
        or _sorted_alike(file, earlier, both)
        or _one_value_more(file, earlier, both)
    )


def _row_by_row(one: PublishedFile, other: PublishedFile, both: str) -> list[Leak]:
    """Rows that show the same in all other columns, in one cell of each file: they are the same people's rows."""
    shared = [n for n in one.columns if n in other.columns]
    names = [n for n in shared if n not in {*one.keys, *other.keys, one.count_name, other.count_name}]
    if len(names) < 2 or not (one.linked and other.linked) or one.rows * other.rows == 0:
        return []  # what one column tells of rows, groups do
    columns = [_same_texts(one, other, n) for n in names]
    group = one.sidecar.group if one.sidecar.group == other.sidecar.group else None
    if group in names and not _numbered_alike(columns, names.index(group), one.rows):
        columns.pop(names.index(group))
        names.remove(group)
    number = row_numbers(columns)
    here, there = number[: one.rows], number[one.rows :]
    last = int(number.max()) + 1
    cell, their_cell = _only_cell(here, one.classes, last), _only_cell(there, other.classes, last)
    tied = (cell >= 0) & (their_cell >= 0)
    mine = np.flatnonzero(tied[here])  # rows of which the cells of both files are known
    if len(names) < 2 or not len(mine):
        return []
    crossing = row_numbers([cell[here[mine]], their_cell[here[mine]]])
    rest = np.bincount(one.classes[~tied[here]], minlength=int(one.classes.max()) + 1)[cell[here[mine]]]
    theirs = np.bincount(other.classes[~tied[there]], minlength=int(other.classes.max()) + 1)[their_cell[here[mine]]]
    others = rest * theirs / max(one.rows - len(mine), 1)  # rows of the crossing that were not put together
    told = np.bincount(crossing)[crossing] == 1
    told &= (np.bincount(one.classes)[one.classes[mine]] > 1) & (np.bincount(other.classes)[their_cell[here[mine]]] > 1)
    for secret in [n for n in one.secrets if n in names]:
        value, their_value = np.split(columns[names.index(secret)], [one.rows])
        alone = [_only_cell(f.classes, v, int(f.classes.max()) + 1) for f, v in ((one, value), (other, their_value))]
        single = _only_cell(crossing, value[mine], int(crossing.max()) + 1)[crossing] >= 0
        told |= single & (alone[0][one.classes[mine]] < 0) & (alone[1][their_cell[here[mine]]] < 0)
    people = int((told & (others < SURELY_ALONE)).sum())
    if not people:
        return []
    return [
        _across(
            f"{both} show the same {', '.join(names)} for {one.persons(len(mine))}, so that their rows can be put "
            f"together: {one.plural(people, 'row')} then {'stands' if people == 1 else 'stand'} alone, or with one "
            "value, in the cells of both.",
            f"leave out or coarsen one of {', '.join(names)}, or cut both into the same classes",
            tuple(names),
            people,
            people / one.rows,
        )
    ]


def _same_texts(one: PublishedFile, other: PublishedFile, name: str) -> Ids:
    """(rows of both,) equal numbers for equal texts of a column; for equal numbers, if one file rounded them."""
    places = {text: i for i, text in enumerate(one.columns[name].texts)}
    theirs = np.array([places.setdefault(text, len(places)) for text in other.columns[name].texts], dtype=np.int64)
    plain = np.concatenate([one.codes(name), theirs[other.codes(name)]])
    numbers = [f.numbers(name)[f.codes(name)] for f in (one, other)]
    steps = [_step(x) for x in numbers]
    if None in steps or steps[0] == steps[1]:
        return plain
    step = max(s for s in steps if s is not None)
    ways = [np.concatenate([how(x / step + 1e-9) for x in numbers]) for how in (np.rint, np.floor)]
    found = [plain, *(row_numbers([(way - way.min()).astype(np.int64)]) for way in ways)]

    def in_both(number: Ids) -> int:
        counts = [np.bincount(part, minlength=int(number.max()) + 1) for part in np.split(number, [one.rows])]
        return int(np.minimum(*counts).sum())

    return max(found, key=in_both)  # at first as they are


def _step(numbers: NDArray[np.float64]) -> float | None:
    """The largest power of ten that divides all numbers; None for what are no numbers."""
    if not len(numbers) or not np.isfinite(numbers).all() or not numbers.any():
        return None
    powers = (10.0**k for k in range(6, -7, -1))
    return next((s for s in powers if np.abs(numbers / s - np.rint(numbers / s)).max() < 1e-6), None)


def _sorted_alike(one: PublishedFile, other: PublishedFile, both: str) -> list[Leak]:
    """A number of each file, of whatever name, that puts the rows of both in one order: a record number, a weight."""
    if min(one.rows, other.rows) < LEAST or not (one.linked and other.linked):
        return []
    names = [n for n in one.columns if n in other.columns and n not in {*one.keys, *other.keys}]
    names = [n for n in names if len(_shared_texts(one, other, n)) > 1]
    orders = [_orders(f) for f in (one, other)]
    if not names or not all(orders) or _cut_alike(one, other):
        return []
    here, there = np.split(row_numbers([_same_texts(one, other, n) for n in names]), [one.rows])
    draw = np.random.default_rng(0)
    for mine, first in orders[0].items():
        for yours, second in orders[1].items():
            for order in (second, second[::-1]):
                a, b = here[first][:MOST_ALIGNED], there[order][:MOST_ALIGNED]
                near = [np.argsort(np.arange(len(b)) // NEAR + draw.random(len(b)), kind="stable") for _ in range(3)]
                seen, *chance = (aligned(a, x) for x in (b, *(b[n] for n in near)))
                if seen - max(chance) > max(0.3 * (1 - max(chance)), 4 * float(np.std(chance))):
                    return [
                        _across(
                            f"{both} have their rows in the same order once they are sorted by {mine} and {yours} "
                            f"({', '.join(names)} agrees in {percent(seen)} of the lines, {percent(max(chance))} if "
                            "rows close by are exchanged): their rows can be put together, with the columns of both.",
                            f"leave {mine} out, or number the rows of each release by itself and at random",
                            tuple(dict.fromkeys([mine, yours, *names])),
                            min(one.rows, other.rows),
                            seen,
                        )
                    ]
    return []


def _shared_texts(one: PublishedFile, other: PublishedFile, name: str) -> set[str]:
    return {*one.columns[name].texts} & {*other.columns[name].texts}


def _orders(file: PublishedFile) -> dict[str, Ids]:
    """The order of rows by each number that few rows share and nobody knows of people."""
    found = {}
    for name in file.others + file.secrets:
        number = file.numbers(name)[file.codes(name)]
        if np.isfinite(number).all() and len(np.unique(number)) >= 0.5 * file.rows:
            found[name] = np.argsort(number, kind="stable")
    return found


def _cut_alike(one: PublishedFile, other: PublishedFile) -> bool:
    """Whether both show the same of who is who, so that nothing is won by putting rows together."""
    names = [n for n in one.keys if n in other.keys]
    if len(names) < max(len(one.keys), len(other.keys)):
        return False
    counts = [
        Counter(zip(*(np.array(f.columns[n].texts, dtype=object)[f.codes(n)] for n in names), strict=True))
        for f in (one, other)
    ]
    return counts[0].keys() == counts[1].keys()


def aligned(one: Ids, other: Ids) -> float:
    """The longest common subsequence of two rows of codes, as a share of the shorter one."""
    best = np.zeros(len(other) + 1, dtype=np.int64)
    for code in one:
        best[1:] = np.maximum(best[1:], best[:-1] + (other == code))
        np.maximum.accumulate(best, out=best)
    return float(best[-1] / min(len(one), len(other)))


def _only_cell(number: Ids, cell: Ids, last: int) -> Ids:
    """(numbers,) the one cell in which all rows of a number stand; -1: several, or no row."""
    low, high = np.full(last, np.iinfo(np.int64).max), np.full(last, -1, dtype=np.int64)
    np.minimum.at(low, number, cell)
    np.maximum.at(high, number, cell)
    return np.where(low == high, high, -1)


def _numbered_alike(columns: Sequence[Ids], at: int, rows: int) -> bool:
    """Whether groups of one name hold the same rows in both files, more than groups named at random would."""

    def agreeing(names: Ids) -> float:
        number = row_numbers([names if place == at else column for place, column in enumerate(columns)])
        both = [np.bincount(part, minlength=int(number.max()) + 1) for part in np.split(number, [rows])]
        return float(np.minimum(*both).sum() / rows)

    group = columns[at]
    mixed = np.random.default_rng(0).permutation(int(group.max()) + 1)
    return agreeing(group) > 0.95 > agreeing(np.append(group[:rows], mixed[group[rows:]]))


def _one_value_more(one: PublishedFile, other: PublishedFile, both: str) -> list[Leak]:
    """Few rows that only one of two otherwise equal files has, and one value in all of them."""
    names = [n for n in one.columns if n in other.columns]
    if len(names) < max(len(one.columns), len(other.columns)) or not names:
        return []
    number = row_numbers([_same_texts(one, other, n) for n in names])
    counts = [np.bincount(part, minlength=int(number.max()) + 1) for part in np.split(number, [one.rows])]
    for file, more in ((one, counts[0] - counts[1]), (other, counts[1] - counts[0])):
        place = number[: one.rows] if file is one else number[one.rows :]
        rows = int(np.maximum(more, 0).sum())
        which = np.flatnonzero(more[place] > 0)
        told = [n for n in file.secrets if len(np.unique(file.codes(n)[which])) == 1]
        if 0 < rows <= max(5, 0.02 * min(one.rows, other.rows)) and told:
            return [
                _across(
                    f"{both} are the same but for {one.plural(rows, 'row')}, with one value of {told[0]}: "
                    "whoever knows who came or went between them knows their value.",
                    "publish changes in larger steps, or coarsen the second release differently",
                    (told[0],),
                    rows,
                    1.0,
                )
            ]
    return []


def _line_by_line(one: PublishedFile, other: PublishedFile, both: str = "The two releases") -> list[Leak]:
    """Two files whose rows stand in the same order, beyond what their cells explain: line by line they are one file."""
    names = [n for n in one.columns if n in other.columns]
    if one.rows != other.rows or one.rows < LEAST or not (one.linked and other.linked):
        return []
    sides = []
    for file in (one, other):
        places = {n: {t: i for i, t in enumerate(one.columns[n].texts)} for n in names}
        codes = [np.array([places[n].get(t, -1) for t in file.columns[n].texts])[file.codes(n)] for n in names]
        sides.append((codes, runs_of(file, list(file.columns), np.zeros(file.rows, dtype=np.int64))))
    (here, run), (there, other_run) = sides
    whole = row_numbers([*(one.codes(n) for n in one.columns), *(other.codes(n) for n in other.columns)])
    if len(np.unique(whole)) == max(len(np.unique(f.joint(list(f.columns)))) for f in (one, other)):
        return []  # together they show nothing that one of them does not
    draw = np.random.default_rng(0)
    mixed = [(within_runs(run, draw), within_runs(other_run, draw)) for _ in range(5)]
    for name, a, b in zip(names, here, there, strict=True):
        seen = float((a == b).mean())
        chance = max(float((a[x] == b[y]).mean()) for x, y in mixed)
        spread = 8 * np.sqrt(max(chance * (1 - chance), 1e-4) / one.rows)
        if seen - chance > max(spread, 0.3 * (1 - chance)):
            return [
                _across(
                    f"{both} have their rows in the same order ({name} agrees in {percent(seen)} of the "
                    f"lines, {percent(chance)} would by chance): line by line they are one file of "
                    f"{one.persons(one.rows)} with the columns of both.",
                    "shuffle the rows of each release by itself, or sort them by what it shows",
                    tuple(dict.fromkeys([*one.columns, *other.columns])),
                    one.rows,
                    seen,
                )
            ]
    return []


def _across(text: str, remedy: str, names: tuple[str, ...], people: int, share: float) -> Leak:
    return Leak("across_releases", "composition", "exceeded", text, remedy, names, people, share)


def _crossing(one: PublishedFile, other: PublishedFile, name: str) -> list[Leak]:
    here, there = _values_of_people(one, name), _values_of_people(other, name)
    if here is None or there is None or len(here[0]) != len(there[0]):
        return []
    (first, a), (second, b) = here, there
    known = (first >= 0) & (second >= 0)
    pairs, of_person = np.unique(np.stack([first[known], second[known]]), axis=1, return_inverse=True)
    left = np.array([len(a[x] & b[y]) for x, y in pairs.T.tolist()])
    alone = np.array([min(len(a[x]), len(b[y])) for x, y in pairs.T.tolist()])
    few = ((left <= 1) & (alone > 2)) | ((left <= 2) & (alone > 4))
    people = int(few[np.ravel(of_person)].sum())
    if not people:
        return []
    return [
        _across(
            f"Anyone who holds both releases narrows {name} of {one.persons(people)} down to one or two values; either "
            f"alone leaves at least {int(alone[few].min())}.",
            "publish one of them only, or cut both into the same classes",
            (name,),
            people,
            people / max(int(known.sum()), 1),
        )
    ]


def _values_of_people(file: PublishedFile, name: str) -> tuple[Ids, dict[int, set[str]]] | None:
    """(people,) the class of each, and the secrets that each class shows; None if people have no class of their own."""
    keys = [n for n in file.keys if n in file.shared and file.cells(n).texts_of_value[1]]
    if not keys or len(keys) < len(file.keys) or not file.linked:
        return None
    shown = [np.append(file.cells(n).texts_of_value[0], -1)[file.cells(n).value_of_person] for n in keys]
    number = {cell: i for i, cell in enumerate(set(zip(*(file.codes(n).tolist() for n in keys), strict=True)))}
    people = np.array([number.get(cell, -1) for cell in zip(*(s.tolist() for s in shown), strict=True)], dtype=np.int64)
    values: dict[int, set[str]] = {}
    rows = zip(*(file.codes(n).tolist() for n in keys), strict=True)
    texts = file.columns[name].texts
    for cell, value in zip(rows, file.codes(name).tolist(), strict=True):
        values.setdefault(number[cell], set()).add(texts[value].strip())
    return people, values


def _difference(one: PublishedFile, other: PublishedFile) -> list[Leak]:
    """Rows that one file has and the other has not, when nearly all are the same."""
    names = [n for n in one.columns if n in other.columns]
    if len(names) < max(len(one.columns), len(other.columns)) or not names:
        return []
    counts = []
    for file in (one, other):
        texts = [np.array(file.columns[n].texts, dtype=object)[file.codes(n)] for n in names]
        counts.append(Counter(zip(*texts, strict=True)))
    more = max((counts[0] - counts[1]).total(), (counts[1] - counts[0]).total())
    if not more or more > max(5, 0.02 * min(one.rows, other.rows)):
        return []
    return [
        _across(
            f"The two releases differ by {one.plural(more, 'row')} only: whoever knows who came or went between them "
            f"has their rows.",
            "publish changes in larger steps, or coarsen the second release differently",
            tuple(names),
            more,
            1.0,
        )
    ]
