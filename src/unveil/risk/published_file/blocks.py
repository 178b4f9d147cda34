"""Blocks said to be apart whose lines stand in true pairs, in one file or across Anatomy's two tables."""

from collections.abc import Iterator, Sequence

import numpy as np

from unveil.data.release import row_numbers
from unveil.risk.published_file.file import Ids, Leak, PublishedFile, percent
from unveil.risk.published_file.order import LEAST
from unveil.risk.published_file.runs import runs_of

__all__ = ["paired_blocks"]

_MOVED = 25  # lines, up to which one block may stand later than the other


def paired_blocks(file: PublishedFile) -> list[Leak]:
    """Blocks said to be apart whose lines still stand in true pairs, in one file or across Anatomy's two tables."""
    if file.original is None or file.linked or file.sidecar.group not in file.columns or file.rows < LEAST:
        return []
    group = file.codes(str(file.sidecar.group))
    lines = [(b, _block_lines(file, b)) for b in file.blocks]
    if file.second is not None:
        lines.append(_second_lines(file))
    draw = np.random.default_rng(0)
    found = []
    for i, (one, first) in enumerate(lines):
        for other, second in lines[i + 1 :]:
            if first is None or second is None or (first[2] and second[2]):
                continue  # both sorted: the order follows from what is shown
            # The same lines backwards, or some lines later within each group, are pairs to whoever tries it.
            tried = [(_overlap(first, second, order, group), words) for words, order in _arrangements(group)]
            seen, how = max(tried, key=lambda one: one[0])
            chance = [_overlap(first, second, np.lexsort((draw.random(file.rows), group)), group) for _ in range(20)]
            mean, spread = float(np.mean(chance)), max(float(np.std(chance)), 1 / file.rows)
            if seen > mean + (4 if seen > 0.999 else 6) * spread and seen - mean > 0.3 * (1 - mean):
                found.append(
                    Leak(
                        "paired_blocks",
                        "inference",
                        "exceeded",
                        f"{', '.join(one)} and {', '.join(other)} are said to stand apart within a group, but "
                        f"their lines stand in true pairs{how}: {percent(seen)} of them are pairs of the original, "
                        f"{percent(mean)} would be by chance.",
                        "shuffle each block within its groups, or sort it by its own cells",
                        (*one, *other),
                        file.rows,
                        (seen - mean) / max(1 - mean, 1e-12),
                    )
                )
    return found


def _arrangements(group: Ids) -> Iterator[tuple[str, Ids]]:
    """(rows,) lines in the order of their groups: as they stand, backwards, and moved on within each group."""
    order = np.argsort(group, kind="stable")
    size = np.bincount(group)[group[order]]
    start = np.searchsorted(group[order], group[order])
    place = np.arange(len(order)) - start
    yield "", order
    yield ", one of them read backwards", order[start + size - 1 - place]
    for lines in range(1, min(int(size.max()), _MOVED)):
        yield f", one of them moved by {lines}", order[start + (place + lines) % size]


Lines = tuple[Ids, Ids, bool]  # (lines,) and (people,) kinds of cells; whether the block is sorted in every group


def _block_lines(file: PublishedFile, block: Sequence[str]) -> Lines | None:
    names = [n for n in block if n in file.shared and file.cells(n).texts_of_value[1]]
    if not names:
        return None
    lines = [file.codes(n) for n in names]
    people = [np.append(file.cells(n).texts_of_value[0], -1)[file.cells(n).value_of_person] for n in names]
    both = row_numbers([np.concatenate(pair) for pair in zip(lines, people, strict=True)])
    group = file.codes(str(file.sidecar.group))
    start = np.concatenate([[0], np.cumsum(group[1:] != group[:-1])]).astype(np.int64)
    run = runs_of(file, names, start)
    kind = both[: file.rows]
    settled = len(np.unique(run * (int(kind.max()) + 1) + kind)) == int(run.max()) + 1
    return both[: file.rows], both[file.rows :], settled


def _second_lines(file: PublishedFile) -> tuple[tuple[str, ...], Lines | None]:
    """Anatomy's second table written out, a line a person, in the order of the first table's groups."""
    assert file.second is not None
    assert file.original is not None
    name = next((n for n in file.second.columns if n not in (file.sidecar.group, "count")), "")
    if name not in file.original or str(file.sidecar.group) not in file.second.columns:
        return (name,), None
    table = file.second.columns
    number = np.array([int(t) if t.strip().isdigit() else 1 for t in table["count"].texts])[table["count"].text_of_row]
    row = np.repeat(np.arange(file.second.rows), number)
    groups = {t: i for i, t in enumerate(file.columns[str(file.sidecar.group)].texts)}
    of_line = np.array([groups.get(t, -1) for t in table[str(file.sidecar.group)].texts])[
        np.asarray(table[str(file.sidecar.group)].text_of_row)[row]
    ]
    main = file.codes(str(file.sidecar.group))
    if len(row) != file.rows:
        return (name,), None
    # The j-th line of a group here goes beside the j-th line of the group there.
    here = np.argsort(main, kind="stable")
    there = np.argsort(of_line, kind="stable")
    if not np.array_equal(main[here], of_line[there]):
        return (name,), None
    texts = {t.strip(): i for i, t in enumerate(file.original[name].texts)}
    value = np.array([texts.get(t.strip(), -1) for t in table[name].texts])[np.asarray(table[name].text_of_row)[row]]
    lines = np.empty(file.rows, dtype=np.int64)
    lines[here] = value[there]
    return (name,), (lines + 1, np.asarray(file.original[name].text_of_row, dtype=np.int64) + 1, True)


def _overlap(one: Lines, other: Lines, order: Ids, group: Ids) -> float:
    """Share of lines whose pair of cells is one of the original's, each pair as often as it occurs there."""
    right = np.empty_like(other[0])
    right[np.argsort(group, kind="stable")] = other[0][order]
    width = int(max(other[0].max(), other[1].max())) + 1
    pairs, count = np.unique(one[0] * width + right, return_counts=True)
    real, held = np.unique(one[1] * width + other[1], return_counts=True)
    _, a, b = np.intersect1d(pairs, real, assume_unique=True, return_indices=True)
    return float(np.minimum(count[a], held[b]).sum() / len(right))
