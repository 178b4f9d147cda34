"""The order of rows: whether it is the original's, or that of a column not shown; whether people stand together.

An order that follows from what the file shows anyway (sorted, or equal cells together) tells nothing: chance is always
taken among the orders that look the same in this respect.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from unveil.data.table import CodedColumn
from unveil.risk.published_file.along import KeptDistance, along_the_file, at_a_distance, exchangeable
from unveil.risk.published_file.classes import Mark, SharedClasses, all_common
from unveil.risk.published_file.file import Disclosure, Ids, Leak, PublishedFile, percent
from unveil.risk.published_file.marks import PLACE, shown_values, stands_for
from unveil.risk.published_file.runs import runs_of
from unveil.risk.published_file.statistics import within_runs

__all__ = ["row_order"]

LEAST = 60  # rows; fewer say too little
_DRAWS = 3
_ALIKE = 0.3  # of the rows that fit the person at their place, at least
_LOOKED_AT = 2_000  # rows, before all are
LEAST_ALONG = 0.2  # by how much some lines differ from the others, where that is no chance
_OTHER_ORDERS = 12.0  # log of the orders that a few rows could have, at least


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
        common = all_common(file)
        compared = SharedClasses.of(file, common) if common else None
        followed = None if compared is None else stands_for(file, compared, run)
        if followed is not None:
            return [_followed(file, *followed)]
        apart = None if compared is None else at_a_distance(file, compared, run)
        if apart is not None:
            return [_apart(file, apart)]
        best = _by_place(file, run) or _by_column(file, run)
    if best is None:
        return _not_exchangeable(file, run)
    column, strength, how = best
    return [_followed(file, Mark(PLACE if column is None else f"the order of {column}", column or ""), strength, how)]


def _apart(file: PublishedFile, found: KeptDistance) -> Leak:
    """People whom the original joins, and who stand at one distance in the file all along."""
    lines = "beside each other" if found.distance in (1, -1) else f"{abs(found.distance):,} lines apart"
    return Leak(
        "row_order",
        "linking",
        "exceeded",
        f"People {found.words} stand {lines} in the file ({percent(found.share)} of such pairs, beyond chance): "
        f"whoever finds one of them finds the other, among {file.persons(file.rows)}.",
        "shuffle the rows, or sort them by what is published",
        (found.column,) if found.column else (),
        file.rows,
        found.share,
    )


def _not_exchangeable(file: PublishedFile, run: Ids) -> list[Leak]:
    """Rows in an order that is neither that of their cells nor random: they follow something that is not shown."""
    if file.rows < LEAST:
        return []
    marks = [m for n in file.columns if n not in (file.key, file.sidecar.group) for m in shown_values(file, n)]
    if not marks:
        return []
    series = np.stack([mark.value for mark in marks], axis=1)
    along = max(along_the_file(series, np.arange(file.rows), run), key=lambda a: a.surely, default=None)
    paired = exchangeable(series, run)
    if along is not None and along.strength >= LEAST_ALONG:
        name, how = marks[along.series].column, f"{along.words} are unlike the others in it"
    elif paired is not None:
        name, how = marks[paired[0]].column, f"rows are alike at a distance of {paired[1]:,} lines"
    else:
        return []
    return [
        Leak(
            "row_order",
            "linking",
            "suspicious",
            f"By {name} the rows are neither sorted nor in random order: {how}, more than chance allows. They follow "
            f"something that is not shown, or people who belong together stand together.",
            "shuffle the rows, or sort them by what is published",
            (name,),
            file.rows,
        )
    ]


def _followed(file: PublishedFile, trait: Mark, strength: float, how: str = "") -> Leak:
    found = f"the rows of {file.persons(file.rows)}"
    fix = "shuffle the rows, or sort them by what is published"
    if trait.column:
        sentence = (
            f"The rows follow {trait.words}{how}, which the file does not show so finely: anyone who has everybody's "
            f"{trait.column} finds or narrows down {found}."
        )
    elif trait.words.startswith(PLACE):
        sentence = f"The rows stand in the order of the original{how}: anyone who has that list finds {found}."
    else:
        sentence = (
            f"The rows are {trait.words}: anyone who has the original's list can repeat that order, and finds {found}."
        )
        fix = "shuffle the rows with a seed that nobody knows, or sort them by what is published"
    kind: Disclosure = "singling out" if trait.column in file.columns else "linking"
    return Leak(
        "row_order", kind, "exceeded", sentence, fix, (trait.column,) if trait.column else (), file.rows, strength
    )


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
    place = file.original_numbers(name)
    if np.isfinite(place).mean() > 0.9:
        return np.unique(np.where(np.isfinite(place), place, np.inf), return_inverse=True)[1].astype(np.int64)
    rank = np.zeros(len(column.texts), dtype=np.int64)
    rank[sorted(range(len(column.texts)), key=lambda i: column.texts[i])] = np.arange(len(column.texts))
    return rank


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
            some = np.arange(0, file.rows, max(file.rows // _LOOKED_AT, 1))
            if _agreement(file, some, order[some]) < _ALIKE - 0.05:
                continue
            seen = _agreement(file, np.arange(file.rows), order)
            if seen < _ALIKE:
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
            likeness = partial(_correlated, rank, there)
        else:
            place = {t.strip(): i for i, t in enumerate(source.texts)}
            text = np.array([place.get(t.strip(), -1) for t in file.columns[name].texts])[file.codes(name)]
            likeness = partial(_equal, text, np.asarray(source.text_of_row))
        if likeness(drawn[0]) < _ALIKE:
            continue
        seen = [likeness(d) for d in drawn]
        chance, spread = float(np.mean(seen[1:])), max(float(np.std(seen[1:])), 0.5 / np.sqrt(file.rows))
        if seen[0] > chance + 8 * spread and seen[0] - chance > _ALIKE * (1 - chance):
            return None, (seen[0] - chance) / (1 - chance), ""
    return None


def _correlated(here: Ids, there: Ids, order: Ids) -> float:
    return abs(float(np.corrcoef(here[order], there)[0, 1]))


def _equal(here: Ids, there: Ids, order: Ids) -> float:
    return float((here[order] == there).mean())


def _agreement(file: PublishedFile, rows: Ids, people: Ids) -> float:
    """Share of rows whose every cell fits the person at its place."""
    fits = np.ones(len(rows), dtype=bool)
    for name in file.shared:
        cells = file.cells(name)
        fits &= cells.fits(cells.text_of_row[rows], cells.value_of_person[people])
    return float(fits.mean())
