"""The order of rows: whether it is the original's, or that of a column not shown; whether people stand together.

An order that follows from what the file shows anyway (sorted, or equal cells together) tells nothing: chance is always
taken among the orders that look the same in this respect.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Kind
from unveil.data.table import CodedColumn
from unveil.risk.published_file.file import Ids, Leak, PublishedFile, places
from unveil.risk.published_file.neighbours import stand_together
from unveil.risk.published_file.recipes import by_recipe, in_steps
from unveil.risk.published_file.statistics import within_runs

__all__ = ["row_order", "runs_of"]

LEAST = 60  # rows; fewer say too little
_DRAWS = 3
_OTHER_ORDERS = 12.0  # log of the orders that a few rows could have, at least
_FURTHER = 200_000  # rows in all, of random orders that a find is tried against
_FIRST_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def row_order(file: PublishedFile) -> list[Leak]:
    """Whether rows stand in the original's order, or in that of one of its columns."""
    if file.original is None or not file.linked or not file.rows:
        return []
    run = runs_of(file, [n for n in file.columns if n != file.key], np.zeros(file.rows, dtype=np.int64))
    content = file.joint([n for n in file.columns if n != file.key])
    if len(np.unique(run * (int(content.max()) + 1) + content)) == int(run[-1]) + 1:
        return []  # the order follows from the cells
    if min(file.rows, file.people) < LEAST:
        best = _exactly(file, run, content)
    else:
        best = _by_classes(file, run) or _in_pieces(file, run) or _by_place(file, run) or _by_column(file, run)
    if best is None:
        made = by_recipe(file, run)
        return stand_together(file, run, LEAST) if made is None else [_made_again(file, *made)]
    column, strength, how = best
    own = "the order of the original" if column is None else f"sorted by {column}"
    held = "the list in its order" if column is None else f"everybody's {column}"
    hidden = column is not None and column in file.columns
    return [
        Leak(
            "row_order",
            "linking" if column is None or not hidden else "singling out",
            "exceeded",
            f"The rows stand in {own}{how}: who has {held} finds the rows of {file.persons(file.rows)}."
            if column is None
            else f"The rows are {own}{how}, which the file does not show so finely: who has {held} finds or narrows "
            f"down the rows of {file.persons(file.rows)}.",
            "shuffle the rows, or sort them by what is published",
            () if column is None else (column,),
            file.rows,
            strength,
        )
    ]


def _made_again(file: PublishedFile, strength: float, how: str) -> Leak:
    sentence = (
        f"The rows are {how}: who has the original's list makes the same order, and finds the rows of "
        f"{file.persons(file.rows)}."
    )
    fix = "shuffle the rows with a seed that nobody knows, or sort them by what is published"
    return Leak("row_order", "linking", "exceeded", sentence, fix, (), file.rows, strength)


# --- what the file shows of its own order -----------------------------------------------------------------------------


def runs_of(file: PublishedFile, names: Sequence[str], run: Ids) -> Ids:
    """(rows,) numbers of runs, growing: the file is sorted or gathered by these columns, one after another."""
    left = [(n, _ranks(file, n)) for n in names]
    keys = [n for n in file.keys if n in names]
    left += [("", [file.joint(keys)])] if len(keys) > 1 else []  # classes that stand together, in any order
    while left:
        for index, (_, ranks) in enumerate(left):
            refined = next((r for r in (_refined(run, key) for key in ranks) if r is not None), None)
            if refined is not None:
                run = refined
                del left[index]
                break
        else:
            return run
    return run


def _ranks(file: PublishedFile, name: str) -> list[Ids]:
    """(rows,) each: the text's place among texts, by its first number, by its values; falling too, by the sign."""
    column = file.columns[name]
    used = np.unique(column.text_of_row)
    by_text = np.zeros(len(column.texts), dtype=np.int64)
    by_text[sorted(used.tolist(), key=lambda i: column.texts[i])] = np.arange(len(used))
    found = [by_text]
    numbers = [_FIRST_NUMBER.search(column.texts[i]) for i in used.tolist()]
    if any(numbers):
        value = np.array([np.inf if m is None else float(m[0]) for m in numbers])
        by_number = np.zeros(len(column.texts), dtype=np.int64)
        by_number[used] = np.unique(value, return_inverse=True)[1]
        # Ties by text, so that equal first numbers still give one order of the texts.
        both = by_number * (len(used) + 1) + by_text
        found.append(both)
    if name in file.shared:
        found.append(
            np.where(
                file.cells(name).region_of_text < 0, len(file.cells(name).regions), file.cells(name).region_of_text
            )
        )
    return [rank[file.codes(name)] for rank in found] + [-rank[file.codes(name)] for rank in found]


def _refined(run: Ids, key: Ids) -> Ids | None:
    """The runs cut further where the key changes, if it never falls within a run, or equal keys stand together."""
    same = run[1:] == run[:-1]
    change = key[1:] != key[:-1]
    rising = not bool((same & (key[1:] < key[:-1])).any())
    fresh = np.concatenate([[0], np.cumsum(~same | change)]).astype(np.int64)
    if rising:
        return fresh
    pieces = int(fresh[-1]) + 1
    if pieces > len(run) // 2:
        return None
    _, number = np.unique(key, return_inverse=True)
    kinds = len(np.unique(run * (int(number.max()) + 1) + number))
    return fresh if kinds == pieces else None


# --- the original's order ---------------------------------------------------------------------------------------------


def _orders(file: PublishedFile) -> list[tuple[str | None, NDArray[np.float64]]]:
    """What people may be sorted by: their place in the original, and every column of it."""
    assert file.original is not None
    found: list[tuple[str | None, NDArray[np.float64]]] = [(None, np.arange(file.people, dtype=np.float64))]
    for name, column in file.original.items():
        rank = _rank_texts(file, name, column)
        if len(np.unique(rank)) > 1:
            found.append((name, rank[np.asarray(column.text_of_row)].astype(np.float64)))
    return found


def _rank_texts(file: PublishedFile, name: str, column: CodedColumn) -> Ids:
    kind = file.schema.declaration(name).kind if name in file.schema.names else Kind.NUMERIC
    place = places(column.texts, kind if kind.measured else Kind.NUMERIC, file.original_decimal)
    if np.isfinite(place).mean() > 0.9:
        return np.unique(np.where(np.isfinite(place), place, np.inf), return_inverse=True)[1].astype(np.int64)
    rank = np.zeros(len(column.texts), dtype=np.int64)
    rank[sorted(range(len(column.texts)), key=lambda i: column.texts[i])] = np.arange(len(column.texts))
    return rank


def _by_classes(file: PublishedFile, explained: Ids) -> tuple[str | None, float, str] | None:
    """The places of each class's rows against the ranks of its people, by every column.

    The statistic is the mean distance between the j-th row of a class and the j-th of its people.
    """
    known = file.person_classes
    if known is None:
        return None
    names, of_row, of_person, good = known
    shown = runs_of(file, names, np.zeros(file.rows, dtype=np.int64))[good]
    row = of_row[good]
    kinds = int(max(of_row.max(), of_person.max())) + 1
    run_of_kind = np.full(kinds, -1, dtype=np.int64)
    run_of_kind[row] = np.unique(shown, return_inverse=True)[1]
    run = run_of_kind[row]
    if not np.array_equal(run, np.unique(shown, return_inverse=True)[1]) or len(row) < LEAST:
        return None
    people = np.flatnonzero(run_of_kind[of_person] >= 0)
    if len(people) < max(LEAST, len(row) // 2):
        return None
    kind, group = of_person[people], run_of_kind[of_person[people]]
    draw = np.random.default_rng(0)
    orders = [np.arange(len(run)), *(within_runs(explained[good], draw) for _ in range(_DRAWS))]
    kinds, sizes = int(max(row.max(), kind.max())) + 1, np.bincount(run)
    lines = [_lines(row, _place_in_run(run, order), kinds, sizes[run]) for order in orders]
    # With fewer rows two random orders lie further apart.
    limit = 0.6 if len(row) >= 200 else 0.3
    # A column of few values leaves most places open, so that random orders differ much: a find is tried against more.
    further: list[Lines] = []
    best: tuple[str | None, float, str] | None = None
    for column, value in _orders(file):
        low, high = _span_in_run(group, value[people])
        for turned in (False, True):
            ends = (1 - high, 1 - low) if turned else (low, high)
            by_person, people_of = np.lexsort((ends[0], kind)), np.bincount(kind, minlength=kinds)
            told = [_distance(line, by_person, people_of, ends) for line in lines[:2]]
            if told[0] >= limit * told[1]:
                continue  # no better than the first random order, so than the best of them
            chance = min(told[1], *(_distance(line, by_person, people_of, ends) for line in lines[2:]))
            if (
                chance <= 1
                or told[0] >= limit * chance
                or (best is not None and 1 - told[0] / chance <= best[1] + 0.02)
            ):
                continue
            if not further:
                drawn = (within_runs(explained[good], draw) for _ in range(int(np.clip(_FURTHER // len(row), 8, 300))))
                further = [_lines(row, _place_in_run(run, order), kinds, sizes[run]) for order in drawn]
            if told[0] < limit * min(_distance(line, by_person, people_of, ends) for line in further):
                best = column, 1 - told[0] / chance, " backwards" if turned else ""
    return best


def _place_in_run(run: Ids, order: Ids) -> NDArray[np.float64]:
    """(rows,) where each row stands in its run, 0 to 1, if the rows stood in this order."""
    place = np.empty(len(run), dtype=np.int64)
    place[order] = np.arange(len(run))
    first = np.searchsorted(run, run, side="left") if (np.diff(run) >= 0).all() else None
    assert first is not None
    size = np.bincount(run)[run]
    return (place - first + 0.5) / size


def _span_in_run(run: Ids, value: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(people,) the first and last place that a person may take among those of the run, sorted by the value."""
    order = np.lexsort((value, run))
    r, v = run[order], value[order]
    size = np.bincount(run, minlength=int(run.max()) + 1)
    start = np.concatenate([[0], np.cumsum(size)])[:-1]
    fresh = np.concatenate([[True], (r[1:] != r[:-1]) | (v[1:] != v[:-1])])
    block = np.cumsum(fresh) - 1
    begin = np.flatnonzero(fresh)
    end = np.append(begin[1:], len(r))
    low, high = np.empty(len(r)), np.empty(len(r))
    low[order] = (begin[block] - start[r]) / size[r]
    high[order] = (end[block] - start[r]) / size[r]
    return low, high


Lines = tuple[Ids, Ids, NDArray[np.float64], NDArray[np.float64], Ids]


def _lines(row: Ids, place: NDArray[np.float64], kinds: int, size: Ids) -> Lines:
    """Rows sorted by kind, then place: kind, number within the kind, place, rows of the run; and (kinds,) sizes."""
    order = np.lexsort((place, row))
    rows = np.bincount(row, minlength=kinds)
    kind = row[order]
    return kind, np.arange(len(order)) - (np.cumsum(rows) - rows)[kind], place[order], size[order].astype(float), rows


def _distance(
    lines: Lines, by_person: Ids, people: Ids, ends: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> float:
    """Mean distance, in rows, of the j-th row of each kind from the j-th person of it."""
    kind, nth, place, size, rows = lines
    if not people.all():
        has = people[kind] > 0
        kind, nth, place, size = kind[has], nth[has], place[has], size[has]
    if not len(kind):
        return 0.0
    first = np.cumsum(people) - people
    other = by_person[first[kind] + ((nth + 0.5) * (people / np.maximum(rows, 1))[kind]).astype(np.int64)]
    off = np.maximum(np.maximum(ends[0][other] - place, place - ends[1][other]), 0.0) * size
    return float(off.mean())


def _in_pieces(file: PublishedFile, run: Ids) -> tuple[str | None, float, str] | None:
    """Whether rows that follow each other follow each other in the original: also in pieces, and backwards."""
    known = file.person_classes
    if known is None:
        return None
    _, of_row, of_person, _ = known
    share = np.bincount(of_person) / len(of_person)
    share = share[share > 0]
    kinds = float(np.exp(-(share * np.log(share)).sum()))  # as many equally frequent ones
    if kinds < 1.5:
        return None
    length = int(np.clip(np.ceil(np.log(30 * file.people) / np.log(kinds)), 2, 12))
    if min(file.rows, file.people) < 4 * length:
        return None
    draw = np.random.default_rng(0)
    for turned in (False, True):
        pieces = _pieces(of_person[::-1] if turned else of_person, length)
        seen = np.isin(_pieces(of_row, length), pieces).mean()
        chance = max(np.isin(_pieces(of_row[within_runs(run, draw)], length), pieces).mean() for _ in range(_DRAWS))
        if seen > 0.3 and seen > chance + 0.25:
            return None, float(seen), f"{' backwards' if turned else ''}, in pieces"
    for step, order in in_steps(of_row, of_person):
        seen = max(
            float(np.isin(_pieces(of_row, length), _pieces(of_person[turned], length)).mean())
            for turned in (order, order[::-1])
        )
        if seen > 0.3:
            return None, seen, f", in steps of {step:,}"
    return None


def _pieces(ids: Ids, length: int) -> NDArray[np.uint64]:
    """One number for each piece of so many neighbours."""
    found = np.zeros(len(ids) - length + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for step in range(length):
            part = ids[step : step + len(found)].astype(np.uint64) + np.uint64(1)
            found = found * np.uint64(0x9E3779B97F4A7C15) + part * np.uint64(0xBF58476D1CE4E5B9)
            found ^= found >> np.uint64(29)
    return found


def _by_place(file: PublishedFile, run: Ids) -> tuple[str | None, float, str] | None:
    """Row i against person i: for files whose cells overlap, so that nobody has one kind of row."""
    assert file.original is not None
    if file.rows != file.people or not file.shared:
        return None
    draw = np.random.default_rng(0)
    drawn = [within_runs(run, draw) for _ in range(_DRAWS)]
    best: tuple[str | None, float, str] | None = None
    for column, value in _orders(file):
        for turned in (False, True):
            order = np.argsort(-value if turned else value, kind="stable")
            seen = _agreement(file, np.arange(file.rows), order)
            if seen < 0.3:
                continue
            chance = max(_agreement(file, d, order) for d in drawn)
            spread = 8 * np.sqrt(max(chance * (1 - chance), 1e-4) / file.rows)
            gain = (seen - chance) / max(1 - chance, 1e-12)
            if seen - chance > spread and gain > 0.5 and (best is None or gain > best[1] + 0.02):
                best = column, gain, " backwards" if turned else ""
    return best


def _exactly(file: PublishedFile, run: Ids, content: Ids) -> tuple[str | None, float, str] | None:
    """A few rows, all of which fit the person at their place, where hardly any other order would do."""
    from scipy.special import gammaln

    if file.rows != file.people or not file.shared:
        return None
    alike = np.unique(run * (int(content.max()) + 1) + content, return_counts=True)[1]
    others = float(gammaln(np.bincount(run) + 1.0).sum() - gammaln(alike + 1.0).sum())
    if others < _OTHER_ORDERS:
        return None
    draw = np.random.default_rng(0)
    drawn = [within_runs(run, draw) for _ in range(300)]
    for column, value in _orders(file):
        for turned in (False, True):
            order = np.argsort(-value if turned else value, kind="stable")
            if _agreement(file, np.arange(file.rows), order) < 1:
                continue
            if max(_agreement(file, d, order) for d in drawn) < 0.9:
                return column, 1.0, " backwards" if turned else ""
    return None


def _by_column(file: PublishedFile, run: Ids) -> tuple[str | None, float, str] | None:
    """Row i against person i in one column: for files whose values were perturbed, so that nobody's row fits."""
    assert file.original is not None
    if file.rows != file.people:
        return None
    draw = np.random.default_rng(0)
    drawn = [np.arange(file.rows), *(within_runs(run, draw) for _ in range(8))]
    for name in file.columns:
        if name not in file.original:
            continue
        source = file.original[name]
        here, there = (
            file.numbers(name)[file.codes(name)],
            _rank_texts(file, name, source)[np.asarray(source.text_of_row)],
        )
        if np.isfinite(here).mean() > 0.9 and len(np.unique(here)) > 10:
            rank = np.unique(np.where(np.isfinite(here), here, np.inf), return_inverse=True)[1]
            seen = [abs(float(np.corrcoef(rank[d], there)[0, 1])) for d in drawn]
        else:
            place = {t.strip(): i for i, t in enumerate(source.texts)}
            text = np.array([place.get(t.strip(), -1) for t in file.columns[name].texts])[file.codes(name)]
            seen = [float((text[d] == np.asarray(source.text_of_row)).mean()) for d in drawn]
        chance, spread = float(np.mean(seen[1:])), max(float(np.std(seen[1:])), 0.5 / np.sqrt(file.rows))
        if seen[0] > chance + 8 * spread and seen[0] - chance > 0.3 * (1 - chance):
            return None, (seen[0] - chance) / (1 - chance), ""
    return None


def _agreement(file: PublishedFile, rows: Ids, people: Ids) -> float:
    """Share of rows whose every cell fits the person at its place."""
    fits = np.ones(len(rows), dtype=bool)
    for name in file.shared:
        cells = file.cells(name)
        fits &= cells.fits(cells.text_of_row[rows], cells.value_of_person[people])
    return float(fits.mean())
