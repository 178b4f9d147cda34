"""What the file shows of its own order: rows that are sorted or gathered by the cells they show."""

import re
from collections.abc import Sequence

import numpy as np

from unveil.risk.published_file.file import Ids, PublishedFile

__all__ = ["runs_of"]

_FIRST_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


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
