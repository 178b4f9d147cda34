"""What an attacker knows, from files: pseudo-counts of the population, probabilities of each person, facts."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, position
from unveil.data.belief import Prior
from unveil.data.release import Release
from unveil.errors import UsageError, shown
from unveil.formats.cells import CellError, read_cells
from unveil.formats.columns import no_number
from unveil.formats.tables import Columns, read_columns

__all__ = ["read_fact", "read_held", "read_prior"]

# --------------------------------------------------------------------------------------------------------------- facts

FACT, ROW = "fact", "row"


def read_fact(path: str | Path, rows: int, **dialect: Any) -> tuple[tuple[str, ...], NDArray[np.int64], Columns | None]:
    """The values of the column `fact`, a place among them for each person, and the people themselves.

    With a column `row` (1 = the original's first) they are the original's: (rows,), -1 = not said, and no people. Else
    each line is somebody else, whose attributes are the other columns. An empty fact is not known; a line of somebody
    else must have one.
    """
    columns = read_columns(path, **dialect, error=UsageError)
    if FACT not in columns.columns:
        raise UsageError(f"{path}: has no column {FACT}; it has {', '.join(map(shown, columns.columns))}")
    column = columns.columns[FACT]
    values = tuple(sorted(text for text in column.texts if text))
    if len(values) < 2:
        raise UsageError(f"{path}, {FACT}: {len(values)} different value; a fact that varies is needed")
    place = {value: number for number, value in enumerate(values)}
    labels = np.array([place.get(text, -1) for text in column.texts], dtype=np.int64)[column.text_of_row]
    if ROW not in columns.columns:
        if (labels < 0).any():
            raise UsageError(f"{path}, {FACT}: empty; say it of everybody in a sample of other people")
        return values, np.asarray(labels), columns
    said = columns.columns[ROW]
    wrong = no_number(said.texts, rows)
    if wrong is not None:
        raise UsageError(f"{path}, {ROW}: {shown(wrong)} is not a row of the original, 1 to {rows:,}")
    number = np.array([int(t) for t in said.texts])[said.text_of_row] - 1
    if len(np.unique(number)) < len(number):
        raise UsageError(f"{path}, {ROW}: a row appears there twice")
    found = np.full(rows, -1, dtype=np.int64)
    found[number] = labels
    return values, found, None


# -------------------------------------------------------------------------------------------------------------- priors

HEADER = ("attribute", "value", "given", "count")
ROUNDED = 0.01  # how far from 1 a person's probabilities may add up, for being rounded


def read_prior(path: str | Path, release: Release, asked: int, *, alpha: float = 1.0, beta: float = 1.0) -> Prior:
    """Read pseudo-counts from a CSV `attribute,value,given,count`; what it does not name keeps `alpha` and `beta`.

    Rows of the attribute asked about count its values. Rows of any other count its values beside the sensitive value
    `given`, or beside every one if that is empty; a row with `given` goes before one without.
    """
    path = Path(path)
    columns = read_columns(path, error=UsageError)
    if sorted(columns.columns) != sorted(HEADER):
        found = ", ".join(shown(name, 20) for name in list(columns.columns)[:8])
        raise UsageError(f"{path}: the header must be {','.join(HEADER)}; it is {found}")
    plain = Prior.uninformative(release, asked, alpha=alpha, beta=beta)
    counts, pairs = plain.alpha.copy(), {i: b.copy() for i, b in plain.beta.items()}
    texts = [[columns.columns[key].texts[t] for t in columns.columns[key].text_of_row] for key in HEADER]
    position_of = {attribute.name: i for i, attribute in enumerate(release.attributes)}
    rows = []
    seen: dict[tuple[int, int, int], str] = {}
    for row, (name, value, given, count) in enumerate(zip(*texts, strict=True)):
        place = columns.place(row)
        where = f"{path}, {place}"
        if name not in position_of:
            raise UsageError(f"{where}: the release has no attribute {shown(name)}; it has {', '.join(position_of)}")
        index = position_of[name]
        code = _code(release.attributes[index], value, columns.decimal, f"{where}, {name}")
        beside = -1
        if given:
            if index == asked:
                raise UsageError(f"{where}: {name} is asked about, so its count is given nothing; empty that cell")
            beside = _code(release.attributes[asked], given, columns.decimal, f"{where}, given")
        number = position(count, Kind.NUMERIC, columns.decimal)
        if number is None or number <= 0:
            raise UsageError(f"{where}: {shown(count)} is not a valid pseudo-count; write a number above 0")
        before = seen.setdefault((index, code, beside), place)
        if before != place:
            raise UsageError(f"{where}: {name} {shown(value)} stands in {before} already; keep one")
        rows.append((beside, index, code, number))
    for beside, index, code, number in sorted(rows):  # those for every value first
        if index == asked:
            counts[code] = number
        else:
            pairs[index][beside if beside >= 0 else slice(None), code] = number
    return Prior(counts, pairs, source=f"a prior from {path.name}")


def read_held(path: str | Path, attribute: Attribute, targets: int) -> NDArray[np.float64]:
    """(targets, values) what is held of each target: a CSV with a column for each value, a row for each target.

    A value without a column, or an empty cell, has probability 0.
    """
    path = Path(path)
    columns = read_columns(path, error=UsageError)
    if columns.rows != targets:
        raise UsageError(f"{path}: has {columns.rows} rows; it needs one for each of the {targets} targets")
    found = np.zeros((targets, attribute.codes))
    named: dict[int, str] = {}
    for name, column in columns.columns.items():
        code = _code(attribute, name, columns.decimal, f"{path}, header")
        if code in named:
            raise UsageError(f"{path}: {shown(named[code])} and {shown(name)} are the same value; keep one column")
        named[code] = name
        numbers = [0.0 if not text else position(text, Kind.NUMERIC, columns.decimal) for text in column.texts]
        wrong = {t for t, number in enumerate(numbers) if number is None or not 0 <= number <= 1}
        for row in np.flatnonzero(np.isin(column.text_of_row, sorted(wrong)))[:1]:
            text = column.texts[column.text_of_row[row]]
            raise UsageError(f"{path}, {columns.place(int(row))}, {name}: {shown(text)} is not a probability")
        found[:, code] = np.array([number or 0.0 for number in numbers])[column.text_of_row]
    total = found.sum(axis=1)
    for row in np.flatnonzero(np.abs(total - 1) > ROUNDED)[:1]:
        raise UsageError(f"{path}, {columns.place(int(row))}: the probabilities add up to {total[row]:g}, not to 1")
    return np.asarray(found / total[:, None])


def _code(attribute: Attribute, text: str, decimal: str, where: str) -> int:
    """The one value that a cell names."""
    try:
        region = read_cells([text], attribute, decimal)
    except CellError as error:
        raise UsageError(f"{where}: {error.args[0]}") from None
    code = int(np.asarray(region.single())[0])
    if code < 0:
        raise UsageError(f"{where}: {shown(text)} stands for several values; a pseudo-count belongs to one value")
    return code
