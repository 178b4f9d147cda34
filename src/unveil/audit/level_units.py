"""What privacy models are measured on: rows that a reader cannot tell apart, a few at a time, and their supersets."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.release import Release, example_rows, row_numbers
from unveil.errors import UsageError
from unveil.kernels.supersets import large_supersets
from unveil.privacy.models import NTCloseness, PrivacyModel, Reference, StrictNTCloseness, Supersets, TCloseness
from unveil.privacy.reference import reference_of

__all__ = ["Units", "worst_over_lattice"]

MOST_LATTICE_NODES = 4096
CELLS_AT_ONCE, CELLS_MERGED = 1 << 21, 1 << 19
FEW_VALUES = 256  # fewer are never merged
MERGING = ("variational", "equal", "kl", "js")  # distances that are sums over values
FIRST_ASKED, MOST_ASKED = 64, 256  # groups at once


@dataclass(frozen=True, slots=True)
class Units:
    """Rows that a reader cannot tell apart, without the suppressed ones, and what they may be compared with."""

    start: NDArray[np.int64]  # (units + 1,) where the entries of each begin
    value: NDArray[np.int64]  # (entries,)
    count: NDArray[np.int64]  # (entries,) rows
    overall: Reference
    total: NDArray[np.int64]  # (values,) the whole release's
    ladders: tuple[NDArray[np.int64], ...]  # per quasi-identifier beside the value: (levels, units) ever wider cells

    @classmethod
    def of(cls, release: Release, index: int) -> "Units":
        """Those of a release, by what it shows of one sensitive attribute."""
        unit, value, count, group = release.counted(index)
        total = np.bincount(value, weights=count, minlength=release.attributes[index].codes).astype(np.int64)
        hidden = release.suppressed()
        keep = ~hidden[group] if not hidden.all() else np.ones(len(group), dtype=bool)
        mine = keep[unit]
        unit = (np.cumsum(keep) - 1)[unit[mine]]
        order = np.argsort(unit, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(unit, minlength=int(keep.sum())))]).astype(np.int64)
        return cls(
            start,
            value[mine][order],
            count[mine][order].astype(np.int64),
            reference_of(release.attributes[index], np.maximum(total, 0)),
            total,
            tuple(ladder[:, keep] for ladder in _ladders(release, index)),
        )

    @property
    def units(self) -> int:
        """How many there are."""
        return len(self.start) - 1

    def sizes(self) -> NDArray[np.int64]:
        """(units,) rows of each that show a value."""
        return np.diff(np.concatenate([[0], np.cumsum(self.count)])[self.start])

    def histograms(self, first: int, last: int, values: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """(units, values) of some units; with `values` only these, and behind them all others as one."""
        codes = len(self.total)
        column = np.arange(codes)
        if values is not None:
            column = np.full(codes, len(values))
            column[values] = np.arange(len(values))
            codes = len(values) + 1
        entries = slice(self.start[first], self.start[last])
        unit = np.repeat(np.arange(last - first), np.diff(self.start[first : last + 1]))
        found = np.bincount(
            unit * codes + column[self.value[entries]], weights=self.count[entries], minlength=(last - first) * codes
        )
        return found.astype(np.int64).reshape(last - first, codes)

    def merged(self, values: NDArray[np.int64]) -> Reference:
        """The whole release with all other values as one."""
        of_values = self.overall.histogram[values]
        return Reference(np.append(of_values, self.overall.histogram.sum() - of_values.sum()))

    def pieces(self, model: PrivacyModel) -> Iterator[tuple[NDArray[np.int64], Reference]]:
        """Some units at a time: with thousands of values all at once would fill the memory.

        Where the model allows, values that none of them shows are taken as one: the cost is then that of the rows,
        not of units times values.
        """
        merges = _merges(model) and len(self.total) > FEW_VALUES
        each = max(len(self.value) / max(self.units, 1), 1.0) if merges else len(self.total)
        step = max(int((CELLS_MERGED / each) ** 0.5 if merges else CELLS_AT_ONCE / max(each, 1)), 1)
        for first in range(0, max(self.units, 1), step):
            last = min(first + step, self.units)
            if not merges:
                yield self.histograms(first, last), self.overall
                continue
            values = np.unique(self.value[self.start[first] : self.start[last]])
            yield self.histograms(first, last, values), self.merged(values)

    def level(self, model: PrivacyModel) -> NDArray[np.float64]:
        """(units,) the model's level of each."""
        return np.concatenate([model.level(*piece) for piece in self.pieces(model)])

    def lattice(self, *, thin: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(cells, units) all widths of all cells, and (nodes, quasi-identifiers) every choice of one width each."""
        heights = [len(ladder) for ladder in self.ladders]
        choices: list[tuple[int, ...]] = [tuple(range(h)) for h in heights]
        if np.prod(heights, dtype=float) > MOST_LATTICE_NODES:
            if not thin:
                raise UsageError(
                    f"{np.prod(heights, dtype=float):,.0f} supersets a group are too many; use n_t_closeness"
                )
            choices = [(0, h - 1) for h in heights]
        first = np.concatenate([[0], np.cumsum(heights)])[:-1].astype(np.int64)
        tried = list(islice(product(*choices), MOST_LATTICE_NODES))
        nodes = np.array(tried, dtype=np.int64).reshape(len(tried), len(heights))
        ladder = np.concatenate(self.ladders) if self.ladders else np.zeros((0, self.units), dtype=np.int64)
        return np.ascontiguousarray(ladder), nodes + first


def _merges(model: PrivacyModel) -> bool:
    """Whether values that a group does not show count for it only by their share of the whole."""
    if isinstance(model, TCloseness):
        return model.distance in MERGING
    return "numeric" not in model.needs and "members" not in model.needs


def worst_over_lattice(model: NTCloseness, units: Units) -> float:
    """The worst level against natural supersets: rows that show the same wider cells, for every choice of widths.

    Nearest superset: a superset left out can only make a level worse, so a lattice that is too large is thinned.
    Farthest superset: nothing may be left out, so it is refused. Distances to the whole table bound the levels from
    above (nearest), so groups are asked in this order until no other can be worse.
    """
    farthest = isinstance(model, StrictNTCloseness)
    ladder, nodes = units.lattice(thin=not farthest)
    sizes = units.sizes()
    nothing = Supersets(np.empty(0, np.int64), np.empty((0, 0), np.int64))
    alone = np.concatenate(
        [
            model.level(piece, replace(overall, supersets=replace(nothing, histogram=piece[:0])))
            for piece, overall in units.pieces(model)
        ]
    )
    merges = _merges(model) and len(units.total) > FEW_VALUES
    histograms, overall = (np.empty((0, 0), np.int64) if merges else units.histograms(0, units.units)), units.overall
    order = np.argsort(-alone, kind="stable")
    worst, start, step = model.worst(alone) if farthest else 0.0, 0, FIRST_ASKED
    while start < len(order) and (farthest or alone[order[start]] > worst):
        chosen = order[start : start + step]
        if merges:  # what none of the chosen shows is one value, in their supersets too
            values = np.unique(np.concatenate([units.value[units.start[u] : units.start[u + 1]] for u in chosen]))
            histograms, overall = units.histograms(0, units.units, values), units.merged(values)
        room = len(chosen) * len(nodes)
        group, superset = np.empty(room, np.int64), np.empty((room, histograms.shape[1]), np.int64)
        pairs = large_supersets(ladder, nodes, chosen, sizes, histograms, model.n, group, superset)
        beside = replace(overall, supersets=Supersets(group[:pairs], superset[:pairs]))
        worst = max(worst, model.worst(model.level(histograms[chosen], beside)))
        start, step = start + step, min(4 * step, MOST_ASKED)
    return worst


def _ladders(release: Release, index: int) -> list[NDArray[np.int64]]:
    """Per quasi-identifier in the block of a sensitive attribute: (levels, units) the cell, wider nodes, `*`."""
    block = release.block_of(index)
    beside = [i for i in block.attributes if release.attributes[i].role is Role.QUASI_IDENTIFIER]
    unit = row_numbers([block.group, *(block.region(i) for i in beside)])
    entry = example_rows(unit)
    ladders = []
    for i in beside:
        region = block.region(i)[entry].astype(np.int64)
        rows = [region]
        hierarchy, regions = release.attributes[i].hierarchy, release.regions[i]
        if hierarchy is not None:
            low = regions.low[regions.start[:-1]]
            for level in range(1, hierarchy.height):
                node = hierarchy.node[level].astype(np.int64)
                # A region lies in one node if the node numbers of its codes are all equal: sum and square sum agree.
                mean = regions.totals(node) / regions.sizes
                spread = regions.totals(node * node) / regions.sizes - mean * mean
                inside = np.abs(spread) < 1e-9
                wider = np.where(inside, node[low] + len(regions), np.arange(len(regions)))[region]
                if not _same_partition(wider, rows[-1]):  # a level that widens nothing would only be tried twice
                    rows.append(wider)
        if not _same_partition(rows[-1], np.zeros_like(region)):
            rows.append(np.zeros(len(region), dtype=np.int64))
        ladders.append(np.stack(rows))
    return ladders


def _same_partition(a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    """Whether two columns tell the same rows apart."""
    pairs = row_numbers([a, b]).max(initial=-1)
    return bool(pairs == row_numbers([a]).max(initial=-1) == row_numbers([b]).max(initial=-1))
