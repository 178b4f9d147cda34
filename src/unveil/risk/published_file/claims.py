"""What a sidecar claims, against the original: masked columns, chances of PRAM, noise on counts."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np

from unveil.data.release import row_numbers
from unveil.risk.published_file.file import Ids, Leak, PublishedFile, percent, plural
from unveil.risk.published_file.statistics import guess

__all__ = ["claimed_masking", "claimed_noise"]

# Methods that leave many values as they are, and say so.
_KEEPING = ("top_bottom", "sampling", "rounding", "microaggregation", "synthetic", "dp_histogram")
_PAIRED, _LEAST_PAIRED = 0.9, 20  # of the cells exact; rows whose owner can be told


def claimed_masking(file: PublishedFile) -> list[Leak]:
    """Columns said to be perturbed that are not, are only rescaled, or are perturbed less than the matrix says."""
    if file.original is None:
        return []
    found = []
    for name in file.sidecar.masked:
        if name in file.columns and name in file.original:
            origin = _paired(file, name) if file.origin is None else file.origin
            leak = None if origin is None else _unchanged(replace(file, origin=origin), name)
            if leak is not None:
                found.append(leak)
    if file.origin is not None and not found:
        found += _noise_told(file)
    if file.origin is None:
        found += [leak for leak in (_shares(file, n) for n in file.sidecar.channel) if leak is not None]
    if file.origin is None and not found:
        found += _whole_rows(file)
    return found


def _paired(file: PublishedFile, name: str) -> Ids | None:
    """(rows,) whose row it is, -1 for unknown, where nobody tells: who alone agrees with it in all columns but one."""
    others = [n for n in file.shared if n not in file.sidecar.masked and n != name]
    others = [n for n in others if (file.cells(n).exact[file.codes(n)] >= 0).mean() > _PAIRED]
    if not others:
        return None
    here = [file.cells(n).exact[file.codes(n)] for n in others]
    there = [file.cells(n).value_of_person for n in others]
    both = row_numbers([np.concatenate(pair) for pair in zip(here, there, strict=True)])
    kinds = int(both.max()) + 1
    row, person = both[: file.rows], both[file.rows :]
    alone = (np.bincount(row, minlength=kinds) == 1) & (np.bincount(person, minlength=kinds) == 1)
    owner = np.full(kinds, -1, dtype=np.int64)
    owner[person] = np.arange(file.people)
    origin = np.where(alone[row], owner[row], -1)
    return origin if (origin >= 0).sum() >= max(_LEAST_PAIRED, file.rows / 10) else None


def _noise_told(file: PublishedFile) -> list[Leak]:
    """What was added or changed, told by another column: the same noise twice, or a mark on the rows that changed."""
    assert file.original is not None
    assert file.origin is not None
    known = np.flatnonzero(file.origin >= 0)
    noise: dict[str, np.ndarray] = {}
    found = []
    for name in (n for n in file.sidecar.masked if n in file.columns and n in file.original):
        here, there, x, y = _before_and_after(file, name)
        changed = ((here != there) & ~(x == y)).astype(np.int64)
        if len(known) < 20 or not changed.any():
            continue
        for other in (n for n in file.others if n not in file.sidecar.masked):
            mark = guess(file.codes(other)[known], changed)
            if mark.lift >= 0.5 and mark.right > 0.9:
                sentence = f"{other} tells which values of {name} were changed: right for {percent(mark.right)}."
                found.append(_claim(file, name, sentence, int((changed == 0).sum()), mark.right))
        if np.isfinite(x).all() and np.isfinite(y).all() and changed.mean() > 0.5:
            noise[name] = x - y
    for (one, a), (other, b) in combinations(noise.items(), 2):
        if a.std() > 0 and b.std() > 0 and abs(float(np.corrcoef(a, b)[0, 1])) > 0.95:
            sentence = (
                f"{one} and {other} were given the same noise: anyone who knows one of them takes it off the "
                f"other, and their difference is as it was, for {file.persons(len(known))}."
            )
            found.append(_claim(file, one, sentence, len(known), 1.0))
    return found


def _before_and_after(file: PublishedFile, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Texts as published and as they were, of the rows whose owner is known; then both as numbers."""
    assert file.original is not None
    assert file.origin is not None
    published, source = file.columns[name], file.original[name]
    known = file.origin >= 0
    of = np.asarray(source.text_of_row)[file.origin[known]]
    here = np.array([t.strip() for t in published.texts], dtype=object)[file.codes(name)][known]
    there = np.array([t.strip() for t in source.texts], dtype=object)[of]
    y = file.original_numbers(name)[of]
    return here, there, file.numbers(name)[file.codes(name)][known], y


def _shares(file: PublishedFile, name: str) -> Leak | None:
    """Without an assignment: the published shares against those that the matrix makes of the original's."""
    if name not in file.shared:
        return None
    cells = file.cells(name)
    matrix = np.array(file.sidecar.channel[name], dtype=np.float64)
    exact = cells.exact[cells.text_of_row]
    code = cells.value_of_person
    if matrix.ndim != 2 or len(matrix) != cells.regions.codes or (exact < 0).any() or (code < 0).any():
        return None
    seen = np.bincount(exact, minlength=matrix.shape[1]).astype(np.float64)
    expected = np.bincount(code, minlength=len(matrix)) @ matrix * (len(exact) / len(code))
    used = expected > 5
    if used.sum() < 2:
        return None
    statistic = float((((seen - expected) ** 2)[used] / expected[used]).sum())
    if (statistic - used.sum()) / np.sqrt(2 * used.sum()) < 10:
        return None
    return _claim(
        file,
        name,
        f"{name} does not have the shares that the sidecar's matrix would give it: it was not changed as it says.",
        len(exact),
        1.0,
    )


def _unchanged(file: PublishedFile, name: str) -> Leak | None:
    here, there, x, y = _before_and_after(file, name)
    same = (here == there) | (np.isfinite(x) & (x == y))
    share, rows = float(same.mean()), len(same)
    if rows < 20:
        return None
    promised = _retained(file, name, there)
    if promised is not None:
        if share <= promised + 6 * np.sqrt(max(promised * (1 - promised), 1e-4) / rows):
            return None
        return _claim(
            file,
            name,
            f"The sidecar's matrix says that {percent(promised)} of {name} stay as they were; "
            f"in truth {percent(share)} did.",
            round(share * rows),
            share,
        )
    if np.isfinite(x).all() and np.isfinite(y).all() and np.std(y) > 0 and len(np.unique(y)) > 10:
        slope, start = np.polyfit(y, x, 1)
        scale = max(np.abs(x).max(), 1e-12)
        start = 0.0 if abs(start) < 1e-9 * scale else start
        if (np.abs(slope * y + start - x) < 1e-9 * scale).mean() > 0.9 and (
            abs(slope - 1) > 1e-9 or abs(start) > 1e-9 * scale
        ):
            return _claim(
                file,
                name,
                f"{name} is said to be masked, but it is only rescaled (times {slope:.4g}, plus {start:.4g}): "
                f"ranks are the same, and anyone who knows {name} finds the row.",
                rows,
                1.0,
            )
    steps = np.unique(y) if np.isfinite(y).all() else np.zeros(0)
    if np.isfinite(x).all() and 5 <= len(steps) <= rows // 2 and not file.sidecar.method.startswith(_KEEPING):
        above = np.clip(np.searchsorted(steps, x), 1, len(steps) - 1)
        nearest = np.where(x - steps[above - 1] <= steps[above] - x, steps[above - 1], steps[above])
        back = float((nearest == y).mean())
        if back > 0.9 > share:
            return _claim(
                file,
                name,
                f"{name} is said to be masked, but the nearest value that occurs at all is the true one of "
                f"{file.persons(round(back * rows), back)}: rounding takes the noise off.",
                round(back * rows),
                back,
            )
    if share < 0.9 or file.sidecar.method.startswith(_KEEPING) or len(np.unique(there)) < 5:
        return None  # less than that is a weak mask, which linkage measures, not a false claim
    ends = np.isin(x[~same], [np.nanmin(x), np.nanmax(x)]) if np.isfinite(x).any() else np.zeros(0)
    if share < 0.99 and (not np.isfinite(x).all() or ends.mean() > 0.9):
        return None  # swapped categories, or tails cut off
    return _claim(
        file,
        name,
        f"{name} is said to be masked, but {file.persons(round(share * rows), share)} still have their true value.",
        round(share * rows),
        share,
    )


def _retained(file: PublishedFile, name: str, there: np.ndarray) -> float | None:
    """The share of rows that the published matrix keeps, for the values that the original has."""
    matrix = file.sidecar.channel.get(name)
    if matrix is None or name not in file.shared:
        return None
    code = file.cells(name).value_of_person
    good = code[(code >= 0) & (code < len(matrix))]
    keep = np.array([row[i] if i < len(row) else 0.0 for i, row in enumerate(matrix)])
    return float(keep[good].mean()) if len(good) else None


def _claim(file: PublishedFile, name: str, sentence: str, people: int, share: float) -> Leak:
    return Leak(
        "claimed_masking",
        "file",
        "exceeded",
        sentence,
        f"mask {name} once more, or take the claim out of the sidecar and audit the values as they are",
        (name,),
        people,
        share,
    )


def _whole_rows(file: PublishedFile) -> list[Leak]:
    """Without an assignment: how many published rows stand in the original as they are."""
    names = [n for n in file.shared if (file.cells(n).exact[file.cells(n).text_of_row] >= 0).mean() > 0.9]
    masked = [n for n in names if n in file.sidecar.masked]
    if not masked or file.sidecar.method.startswith(_KEEPING):
        return []
    here = [file.cells(n).exact[file.cells(n).text_of_row] for n in names]
    there = [file.cells(n).value_of_person for n in names]
    both = row_numbers([np.concatenate(pair) for pair in zip(here, there, strict=True)])
    kinds = np.bincount(both[file.rows :], minlength=int(both.max()) + 1)
    alone = kinds[both[: file.rows]] == 1
    share = float(alone.mean())
    if share < 0.99:
        return []
    people = int(alone.sum())
    return [
        _claim(
            file,
            masked[0],
            f"{', '.join(masked)} {'is' if len(masked) == 1 else 'are'} said to be masked, but "
            f"{file.plural(people, 'row', share=share)} stand in the original as they are, each once.",
            people,
            share,
        )
    ]


def claimed_noise(file: PublishedFile) -> list[Leak]:
    """Counts said to be differentially private that are exact."""
    method = file.sidecar.method
    if file.original is None or not re.search(r"\bdp|epsilon|differential", method) or not file.shared:
        return []
    known = file.person_classes
    if known is None:
        return []
    _, of_row, of_person, _ = known
    kinds = int(max(of_row.max(), of_person.max())) + 1
    here, there = np.bincount(of_row, weights=file.times, minlength=kinds), np.bincount(of_person, minlength=kinds)
    used = (here > 0) | (there > 0)
    same = float((here[used] == there[used]).mean())
    if used.sum() < 20 or same < 0.95:
        return []
    return [
        Leak(
            "claimed_noise",
            "file",
            "exceeded",
            f"The sidecar claims differential privacy ({method}), but {percent(same)} of "
            f"{plural(int(used.sum()), 'count')} are exactly the original's.",
            "add the noise, or take the claim out of the sidecar",
            tuple(known[0]),
            file.rows,
            same,
        )
    ]
