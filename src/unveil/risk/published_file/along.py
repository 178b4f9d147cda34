"""What goes along with the file: whether rows come back, are gathered, or stand at a fixed distance from each other.

Rows in an order that says nothing can be exchanged within the runs that sorting makes. So whatever number the rows
carry, its sum over any stretch of lines, and along any wave of any length (all of them at once: a Fourier transform),
is that of a random order; and which kinds of rows stand at a distance of any number of lines depends on nothing.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from unveil.risk.published_file.classes import Matrix, SharedClasses
from unveil.risk.published_file.file import Ids, PublishedFile
from unveil.risk.published_file.statistics import chernoff, surely

__all__ = ["Along", "KeptDistance", "along_the_file", "at_a_distance", "exchangeable"]

_CERTAIN = 10.0  # and the logarithm of the tests of one file: one false alarm in 20,000 files
_SHORTEST = 16  # lines of a stretch
_AT_ONCE = 64  # numbers that are transformed together
_KINDS = 600  # of rows, that are told apart at every distance
_GATHERED = 4_000_000  # pairs of rows that are looked at, of one kind of pairs of people
_NEAR = 3  # lines, within runs
_SHARE = 0.1  # of the pairs that are kept at a distance, at least: fewer tell nobody who belongs together
_ENDS = 3_000  # lines at both ends of a long file that are looked at; whole-file waves are marks of their own
_COLUMNS = 3  # that join people
_MOST = 50  # people of a set, on average, up to which they belong together


class Along(NamedTuple):
    """The number that goes along with the lines most surely, and a mark of rows for where it does."""

    series: int
    words: str
    value: Matrix  # (rows,)
    surely: float
    strength: float  # the mean there, of a stretch; else the wave's height


class KeptDistance(NamedTuple):
    """People who stand at a fixed distance in the file."""

    words: str
    column: str  # "" for the place in the list
    distance: int
    share: float


def along_the_file(numbers: Matrix, kind: Ids, run: Ids) -> Iterator[Along]:
    """Of every column of (kinds, columns) the wave and the stretch of lines that stand out beyond chance.

    `kind`: (rows,) -1 for rows without numbers.
    """
    whole, kept = len(kind), _ends(len(kind))
    kind, run = kind[kept], np.unique(run[kept], return_inverse=True)[1]
    rows = len(kind)
    table = np.concatenate([numbers, np.zeros((1, numbers.shape[1]))])
    size = np.bincount(run).astype(np.float64)
    certain = _CERTAIN + np.log(rows * max(numbers.shape[1], 1))
    for first in range(0, numbers.shape[1], _AT_ONCE):
        part = table[kind, first : first + _AT_ONCE]
        part = part - np.stack([np.bincount(run, weights=c) / size for c in part.T], axis=1)[run]
        total = (part * part).sum(axis=0)
        good = np.flatnonzero(total > 1e-9)
        part, total, most = part[:, good], total[good], np.abs(part[:, good]).max(axis=0, initial=0.0)
        if not len(good):
            continue
        wave = np.abs(np.fft.rfft(part, axis=0))[1:]
        at = wave.argmax(axis=0)
        sure = surely(wave[at, np.arange(len(good))], total / 2, most)
        for i in np.flatnonzero(sure >= certain).tolist():
            turn = 2 * np.pi * (int(at[i]) + 1) * np.arange(rows) / rows
            phase = np.angle((part[:, i] * np.exp(-1j * turn)).sum())
            yield Along(
                first + int(good[i]),
                f"waves of length {rows / (int(at[i]) + 1):,.4g}",
                _spread(np.cos(turn + phase), kept, whole),
                float(sure[i]),
                float(2 * wave[at[i], i] / rows),
            )
        for found in _stretches(part, total, certain, first + good):
            yield found._replace(value=_spread(found.value, kept, whole))


def _ends(rows: int) -> Ids:
    """The lines to look at: all, or those at both ends."""
    if rows <= 2 * _ENDS:
        return np.arange(rows)
    return np.concatenate([np.arange(_ENDS), np.arange(rows - _ENDS, rows)])


def _spread(value: Matrix, kept: Ids, rows: int) -> Matrix:
    """(rows,) NaN for those that were not looked at."""
    found = np.full(rows, np.nan)
    found[kept] = value
    return found


def _stretches(part: Matrix, total: Matrix, certain: float, place: Ids) -> Iterator[Along]:
    """Lines that follow each other whose sum is no chance, of every length that is a power of two times sixteen."""
    rows = len(part)
    summed = np.concatenate([np.zeros((1, part.shape[1])), np.cumsum(part, axis=0)])
    best = np.zeros(part.shape[1])
    where = np.zeros((part.shape[1], 2), dtype=np.int64)
    length = _SHORTEST
    while length <= rows // 2:
        start = np.append(np.arange(0, rows - length, max(length // 4, 1)), rows - length)
        held = np.abs(summed[start + length] - summed[start])
        at = held.argmax(axis=0)
        found = held[at, np.arange(len(at))] ** 2 / (2 * total * length / rows)
        better = found > best
        best[better], where[better] = found[better], np.stack([start[at], start[at] + length], axis=1)[better]
        length *= 2
    for i in np.flatnonzero(best >= certain).tolist():
        begin, end = where[i].tolist()
        sure = chernoff(part[:, i], float(part[begin:end, i].sum()), end - begin)
        if sure >= certain:
            stretch = np.zeros(rows)
            stretch[begin:end] = 1
            mean = abs(float(part[begin:end, i].mean()))
            yield Along(int(place[i]), f"lines {begin + 1:,} to {end:,}", stretch, sure, mean)


def exchangeable(series: Matrix, run: Ids) -> tuple[int, int, float] | None:
    """The number of the rows that is alike at some distance: its column, the distance, and how much it is."""
    kept = _ends(len(run))
    series, run = series[kept], np.unique(run[kept], return_inverse=True)[1]
    size = np.bincount(run).astype(np.float64)
    part = series - np.stack([np.bincount(run, weights=c) / size for c in series.T], axis=1)[run]
    held = (part * part).sum(axis=0)
    part = part[:, held > 1e-9] / np.sqrt(held[held > 1e-9])
    if not part.shape[1]:
        return None
    rows = len(part)
    # Within runs numbers add up to 0, so that neighbours are a little unlike: no more than 1 / the run's length.
    power = np.abs(np.fft.rfft(part, n=2 * rows, axis=0)) ** 2
    alike = np.fft.irfft(power.sum(axis=1))[1 : rows // 2]
    pairs = rows - np.arange(1, rows // 2)
    cross = part.T @ part
    spread = np.sqrt((cross * cross).sum() * pairs) / rows
    at = int((alike / spread).argmax())
    each = (part[: rows - at - 1] * part[at + 1 :]).sum(axis=0) * rows / pairs[at]
    if alike[at] < np.sqrt(2 * (_CERTAIN + np.log(rows))) * spread[at] or each.max() < _SHARE:
        return None
    return int(np.flatnonzero(held > 1e-9)[each.argmax()]), at + 1, float(each.max())


# --- people who stand at a distance -----------------------------------------------------------------------------------


def at_a_distance(file: PublishedFile, compared: SharedClasses, run: Ids) -> KeptDistance | None:
    """Neighbours in the list, or people of one small set, who stand at the same distance in the file all along."""
    people = compared.runs_of_people(run)
    whole = np.zeros(file.rows, dtype=np.int64)
    if people is not None or int(run.max()) == 0:
        run_of = np.zeros(file.people, dtype=np.int64) if people is None else people
        for words, column, one, other in _pairs_of_people(file, run_of):
            found = _near(compared, run, run_of, one, other)
            if found is not None:
                return KeptDistance(words, column, *found)
    if int(run.max()) > 0:
        return None
    for words, column, one, other in _pairs_of_people(file, whole[:1].repeat(file.people)):
        found = _anywhere(compared, one, other)
        if found is not None:
            return KeptDistance(words, column, *found)
    return None


def _pairs_of_people(file: PublishedFile, run: Ids) -> Iterator[tuple[str, str, Ids, Ids]]:
    """People beside each other in the list (of those of their run), or in a set that a column makes."""
    assert file.original is not None
    order = np.argsort(run, kind="stable")
    beside = run[order[1:]] == run[order[:-1]]
    yield "beside each other in the original's list", "", order[:-1][beside], order[1:][beside]
    left = _COLUMNS
    for name, column in file.original.items():
        value = np.asarray(column.text_of_row, dtype=np.int64)
        sets = len(np.unique(value))
        if name in file.shared and (file.cells(name).exact[file.codes(name)] >= 0).all():
            continue  # who has the same is seen
        if file.people / _MOST <= sets <= 0.8 * file.people:
            order = np.lexsort((value, run))
            same = (value[order[1:]] == value[order[:-1]]) & (run[order[1:]] == run[order[:-1]])
            if same.sum() >= _SHORTEST and left:
                left -= 1
                yield f"with the same {name}", name, order[:-1][same], order[1:][same]


def _near(compared: SharedClasses, run: Ids, run_of: Ids, one: Ids, other: Ids) -> tuple[int, float] | None:
    """A distance of a few lines within runs: kinds of rows against kinds of pairs of people."""
    of_row, of_person = compared.of_row, compared.of_person
    kinds = len(compared.own)
    good = (of_person[one] >= 0) & (of_person[other] >= 0)
    one, other = one[good], other[good]
    if len(one) < _SHORTEST:
        return None
    rows, people = _shares(of_row, run, kinds), _shares(of_person, run_of, kinds)
    # Runs are numbered in both by their order in the file; a class lies in one run.
    run_of_class = np.full(kinds, -1, dtype=np.int64)
    run_of_class[of_row[of_row >= 0]] = np.unique(run, return_inverse=True)[1][of_row >= 0]
    here = run_of_class[of_person[one]]
    number_there = np.bincount(here[here >= 0], minlength=int(run_of_class.max()) + 1).astype(np.float64)
    pairs, times = np.unique(of_person[one] * kinds + of_person[other], return_counts=True)
    alone = _sum_of_squares(times) - _expected(pairs, times, people, run_of_class, number_there, kinds)
    for distance in (1, -1, 2, -2, _NEAR, -_NEAR):
        step = abs(distance)
        first, second = np.arange(len(of_row) - step), np.arange(step, len(of_row))
        if distance < 0:
            first, second = second, first
        held = (run[first] == run[second]) & (of_row[first] >= 0) & (of_row[second] >= 0)
        a, b = of_row[first[held]], of_row[second[held]]
        if len(a) < _SHORTEST:
            continue
        seen, often = np.unique(a * kinds + b, return_counts=True)
        number_here = np.bincount(run_of_class[a], minlength=len(number_there)).astype(np.float64)
        _, i, j = np.intersect1d(seen, pairs, assume_unique=True, return_indices=True)
        both = float((often[i] * times[j]).sum())
        chance = np.bincount(run_of_class, weights=rows * people, minlength=len(number_there)) ** 2
        usual = float((chance * number_here * number_there).sum())
        expected = _expected(seen, often, people, run_of_class, number_there, kinds)
        expected += _expected(pairs, times, rows, run_of_class, number_here, kinds) - usual
        more = both - expected
        share = more / max(alone, 1e-9) * len(one) / len(a)
        if more > 0 and share >= _SHARE and surely(np.array([more]), np.array([usual]), np.ones(1))[0] >= 2 * _CERTAIN:
            return distance, min(share, 1.0)
    return None


def _shares(ids: Ids, run: Ids, kinds: int) -> Matrix:
    """(classes,) how much of its run each class makes up."""
    of_class = np.full(kinds, -1, dtype=np.int64)
    of_class[ids[ids >= 0]] = run[ids >= 0]
    size = np.bincount(ids[ids >= 0], minlength=kinds).astype(np.float64)
    total = np.bincount(of_class[of_class >= 0], weights=size[of_class >= 0], minlength=int(run.max()) + 1)
    return np.where(of_class >= 0, size / np.maximum(total[of_class], 1), 0.0)


def _expected(pairs: Ids, times: Ids, share: Matrix, run_of: Ids, number: Matrix, kinds: int) -> float:
    """How many of these pairs others that are drawn from the same runs would meet."""
    a, b = pairs // kinds, pairs % kinds
    return float((times * share[a] * share[b] * number[run_of[a]])[run_of[a] >= 0].sum())


def _sum_of_squares(times: Ids) -> float:
    return float((times.astype(np.float64) ** 2).sum())


def _anywhere(compared: SharedClasses, one: Ids, other: Ids) -> tuple[int, float] | None:
    """Any distance, where the file is in no order that its cells explain."""
    kinds = min(len(compared.own), _KINDS)
    row, person = (np.where(ids >= 0, ids % kinds, -1) for ids in (compared.of_row, compared.of_person))
    held = (person[one] >= 0) & (person[other] >= 0)
    row = row[row >= 0][: 2 * _ENDS]
    one, other = person[one[held]], person[other[held]]
    rows = len(row)
    if len(one) < _SHORTEST or rows < 4 * _SHORTEST:
        return None
    pairs = np.bincount(one * kinds + other, minlength=kinds * kinds).reshape(kinds, kinds).astype(np.float64)
    first, second = (np.bincount(ids, minlength=kinds) / len(ids) for ids in (one, other))
    beyond = pairs - len(one) * np.outer(first, second)
    share = np.bincount(row, minlength=kinds) / rows
    each = float((pairs * beyond).sum() / len(one))
    spread = float((np.outer(share, share) * beyond**2).sum())
    mean = float(share @ beyond @ share)
    number = int(np.clip(2 * _GATHERED // rows, 4 * _SHORTEST, rows))
    begin = np.sort(np.random.default_rng(0).choice(rows, number, replace=False)) if number < rows else np.arange(rows)
    best = (0.0, 0, 0.0)
    for distance in range(1, rows // 2 + 1):
        beside = row[(begin + distance) % rows]
        for signed, told in ((distance, beyond[row[begin], beside]), (-distance, beyond[beside, row[begin]])):
            more = float(told.sum()) - mean * number
            if more > best[0]:
                best = more, signed, more / number / max(each, 1e-12)
    more, distance, kept = best
    sure = surely(np.array([more]), np.array([spread * number]), np.array([np.abs(beyond).max()]))[0]
    return (distance, min(kept, 1.0)) if sure >= 2 * _CERTAIN and kept >= _SHARE else None
