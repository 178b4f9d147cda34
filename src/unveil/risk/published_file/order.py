"""The order of rows: whether it is the original's, or that of a column not shown; whether people stand together.

An order that follows from what the file shows anyway (sorted, or equal cells together) tells nothing: chance is always
taken among the orders that look the same in this respect.
"""

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Kind
from unveil.data.table import CodedColumn
from unveil.risk.published_file.file import Disclosure, Ids, Leak, PublishedFile, places
from unveil.risk.published_file.marks import PLACE, Mark, stands_for
from unveil.risk.published_file.neighbours import stand_together
from unveil.risk.published_file.recipes import in_steps
from unveil.risk.published_file.runs import runs_of
from unveil.risk.published_file.statistics import within_runs

__all__ = ["row_order"]

LEAST = 60  # rows; fewer say too little
_DRAWS = 3
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
        followed = stands_for(file, run)
        if followed is not None:
            return [_followed(file, *followed)]
        best = _in_pieces(file, run) or _by_place(file, run) or _by_column(file, run)
    if best is None:
        return stand_together(file, run, LEAST)
    column, strength, how = best
    return [_followed(file, Mark(PLACE if column is None else f"the order of {column}", column or ""), strength, how)]


def _followed(file: PublishedFile, trait: Mark, strength: float, how: str = "") -> Leak:
    found = f"the rows of {file.persons(file.rows)}"
    fix = "shuffle the rows, or sort them by what is published"
    if trait.column:
        sentence = (
            f"The rows follow {trait.words}{how}, which the file does not show so finely: who has everybody's "
            f"{trait.column} finds or narrows down {found}."
        )
    elif trait.words.startswith(PLACE):
        sentence = f"The rows stand in the order of the original{how}: who has the list in its order finds {found}."
    else:
        sentence = f"The rows are {trait.words}: who has the original's list makes the same order, and finds {found}."
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
    kind = file.schema.declaration(name).kind if name in file.schema.names else Kind.NUMERIC
    place = places(column.texts, kind if kind.measured else Kind.NUMERIC, file.original_decimal)
    if np.isfinite(place).mean() > 0.9:
        return np.unique(np.where(np.isfinite(place), place, np.inf), return_inverse=True)[1].astype(np.int64)
    rank = np.zeros(len(column.texts), dtype=np.int64)
    rank[sorted(range(len(column.texts)), key=lambda i: column.texts[i])] = np.arange(len(column.texts))
    return rank


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
