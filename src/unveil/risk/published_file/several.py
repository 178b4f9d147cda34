"""Several releases of the same people: what only both together tell."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from unveil.data.release import row_numbers
from unveil.risk.published_file.file import Ids, Leak, PublishedFile, percent
from unveil.risk.published_file.order import LEAST
from unveil.risk.published_file.runs import runs_of
from unveil.risk.published_file.statistics import within_runs

__all__ = ["across_releases"]


def across_releases(files: Sequence[PublishedFile]) -> list[Leak]:
    """Two releases of the same people: values that only both together leave, and rows that one has more."""
    found = []
    for i, one in enumerate(files):
        for other in files[i + 1 :]:
            for name in [n for n in one.secrets if n in other.secrets]:
                found += _crossing(one, other, name)
            found += _difference(one, other) + _line_by_line(one, other)
    return found


def _line_by_line(one: PublishedFile, other: PublishedFile) -> list[Leak]:
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
                    f"The two releases have their rows in the same order ({name} agrees in {percent(seen)} of the "
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
            f"Who holds both releases narrows {name} of {one.persons(people)} down to one or two values; either alone "
            f"leaves at least {int(alone[few].min())}.",
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
            f"The two releases differ by {one.plural(more, 'row')} only: who knows who came or went between them has "
            f"their rows.",
            "publish changes in larger steps, or coarsen the second release differently",
            tuple(names),
            more,
            1.0,
        )
    ]
