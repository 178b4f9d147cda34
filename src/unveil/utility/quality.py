"""ARX's quality models: what is kept of the original, 1 all of it and 0 nothing, each normalised as ARX does.

Every model gives a loss of its own; 0 is the original's and 1 that of a table with nothing but `*`. Over several
attributes ARX averages the losses and their ends before it normalises.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Role
from unveil.data.belief import Estimate
from unveil.data.regions import Regions, node_height
from unveil.data.release import Release, row_numbers, truthful
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError, shown
from unveil.utility.groups import discernibility

__all__ = [
    "aecs",
    "ambiguity",
    "discernibility_kept",
    "generalisation_intensity",
    "granularity",
    "granularity_geometric",
    "non_uniform_entropy",
    "record_error_kept",
    "withheld_cells",
]

Floats = NDArray[np.float64]


def granularity(release: Release, *, attribute: str | None = None) -> Estimate:
    """1 less the mean share of the domain that a cell covers, above that of a value (Iyengar 2002; ARX)."""
    covered, least = _covered(release, attribute)
    return _kept(covered.mean(), least.mean(), 1.0)


def granularity_geometric(release: Release) -> Estimate:
    """The same with the geometric mean of 1 + share over the attributes (ARX)."""
    covered, least = _covered(release, None)
    mean = [float(np.exp(np.log1p(part).mean()) - 1) for part in (covered, least)]
    return _kept(mean[0], mean[1], 1.0)


def generalisation_intensity(release: Release, *, attribute: str | None = None) -> Estimate:
    """1 less the mean height of the cells in their hierarchies, the whole height being 1 (Sweeney 2002; ARX)."""
    climbed = []
    for index in _asked(release, attribute):
        own, block = release.attributes[index], release.block_of(index)
        climbed.append(float(_levels(release.regions[index], own)[block.region(index)] @ block.count) / _height(own))
    return _kept(float(np.mean(climbed)) / release.rows, 0.0, 1.0)


def withheld_cells(release: Release) -> Estimate:
    """Share of the quasi-identifiers' cells that are `*`."""
    asked = _asked(release, None)
    hidden = [
        float(release.regions[i].whole[(b := release.block_of(i)).region(i)].astype(np.float64) @ b.count)
        for i in asked
    ]
    return Estimate.exact(sum(hidden) / release.rows / len(asked))


def ambiguity(release: Release) -> Estimate:
    """1 less the mean number of combinations of values that a row allows, as a share (Goldberger, Tassa 2010; ARX)."""
    asked = _asked(release, None)
    blocks = [b for b in release.blocks if set(b.attributes) & set(asked)]
    if len(blocks) > 1:
        raise NotApplicable("ambiguity needs all quasi-identifiers in one block")
    possible, whole = np.ones(len(blocks[0].cell)), 1.0
    for index in asked:
        possible *= release.regions[index].sizes[blocks[0].region(index)]
        whole *= release.attributes[index].codes
    return _kept(float(possible @ blocks[0].count) / release.rows, 1.0, whole)


def aecs(release: Release, table: Table) -> Estimate:
    """1 less the mean class size above the original's, over that of one class (LeFevre et al. 2006; ARX).

    Suppressed rows are left out.
    """
    shown_rows = release.class_sizes()
    return _kept(float(shown_rows.mean()), float(_classes(table).mean()), float(table.rows))


def discernibility_kept(release: Release, table: Table) -> Estimate:
    """1 less the discernibility above the original's, over that of one class (Bayardo, Agrawal 2005; ARX)."""
    least = float((_classes(table).astype(np.float64) ** 2).sum())
    hidden = float(release.sizes[release.suppressed()].sum())
    sizes = release.class_sizes() if hidden < release.rows else np.empty(0)
    loss = float((sizes.astype(np.float64) ** 2).sum()) + hidden * release.rows
    several = len({id(release.block_of(i)) for i in _asked(release, None)}) > 1
    return _kept(discernibility(release).value if several else loss, least, float(table.rows) ** 2)


def non_uniform_entropy(
    release: Release, table: Table, group_of_row: NDArray[np.integer], *, attribute: str | None = None
) -> Estimate:
    """1 less the share of the original's entropy that is lost (De Waal, Willenborg 1999; Prasser et al. 2016; ARX).

    Level by level of the hierarchy: a row that went to a level loses -log2 of the share that its value of the level
    before has among the rows that went at least as far and share its value of this level.
    """
    lost, most = 0.0, 0.0
    for index in _asked(release, attribute):
        own = release.attributes[index]
        code = table.columns[table.index(own.name)].astype(np.int64)
        level = _levels(release.regions[index], own)[_region_of_row(release, index, group_of_row)].astype(np.int64)
        before = code
        for step in np.unique(level):
            here = level >= step
            after = code if step == 0 else _nodes(own, int(step))[code]
            lost += _bits(before[here], after[here])
            before = after
        most += _bits(code, np.zeros_like(code))
    return _kept(lost, 0.0, most)


def record_error_kept(release: Release, table: Table, group_of_row: NDArray[np.integer]) -> Estimate:
    """1 less the mean distance of a row from the far end of its cells, over the largest (Sanchez et al. 2016; ARX).

    Distances are Euclidean over quasi-identifiers in standard deviations; categories count by their place in the
    domain, and the ends of `*` are those of the domain.
    """
    asked = _asked(release, None)
    real, most = np.zeros(table.rows), np.zeros(table.rows)
    for index in asked:
        own = release.attributes[index]
        code = table.columns[table.index(own.name)]
        place = own.positions() if own.kind.measured else np.arange(own.codes, dtype=np.float64)
        truth, region = place[code], _region_of_row(release, index, group_of_row)
        regions = release.regions[index]
        low, high = place[regions.low[regions.start[:-1]]], place[regions.high[regions.start[1:] - 1]]
        spread = float(truth.std())
        if spread > 0:
            real += (_far(truth, low[region], high[region]) / spread) ** 2
            least, top = min(truth.min(), low.min()), max(truth.max(), high.max())
            most += (_far(truth, np.full(table.rows, least), np.full(table.rows, top)) / spread) ** 2
    return _kept(float(np.sqrt(real).sum()), 0.0, float(np.sqrt(most).sum()))


# ------------------------------------------------------------------------------------------------------------- parts


def _kept(loss: float, least: float, most: float) -> Estimate:
    """ARX's normalisation: 1 at the least loss, 0 at the most; a domain of one value has nothing to lose."""
    return Estimate.exact(1.0 if most <= least else float(1 - min(max((loss - least) / (most - least), 0.0), 1.0)))


def _asked(release: Release, attribute: str | None) -> Sequence[int]:
    known = truthful(release).with_role(Role.QUASI_IDENTIFIER)
    if attribute is not None:
        known = tuple(i for i in known if release.attributes[i].name == attribute)
        if not known:
            raise UsageError(f"{shown(attribute)} is not a quasi-identifier of the release")
    if not known:
        raise NotApplicable("the release has no quasi-identifier")
    return known


def _covered(release: Release, attribute: str | None) -> tuple[Floats, Floats]:
    """(attributes,) the mean share of its domain that a cell covers, and that of a value."""
    covered, least = [], []
    for index in _asked(release, attribute):
        block, codes = release.block_of(index), release.attributes[index].codes
        covered.append(float(release.regions[index].sizes[block.region(index)] @ block.count) / codes / release.rows)
        least.append(1 / codes)
    return np.array(covered), np.array(least)


def _height(attribute: Attribute) -> int:
    return 1 if attribute.hierarchy is None else attribute.hierarchy.height


def _levels(regions: Regions, attribute: Attribute) -> Floats:
    """(regions,) how high each cell stands in the hierarchy; `*` at the top, also where a lower level names all."""
    return np.where(regions.whole & (regions.sizes > 1), float(_height(attribute)), node_height(regions, attribute))


def _nodes(attribute: Attribute, level: int) -> NDArray[np.int64]:
    """(codes,) the node of each value at a level above 0."""
    if attribute.hierarchy is None:
        return np.zeros(attribute.codes, dtype=np.int64)
    return np.asarray(attribute.hierarchy.node[level], dtype=np.int64)


def _bits(before: NDArray[np.int64], after: NDArray[np.int64]) -> float:
    """Sum over rows of -log2 of the share of the row's value among those that became the same."""
    share = np.bincount(before)[before] / np.bincount(after)[after]
    return float(-np.log2(share).sum())


def _classes(table: Table) -> NDArray[np.int64]:
    return np.bincount(row_numbers([table.columns[i] for i in table.with_role(Role.QUASI_IDENTIFIER)], table.rows))


def _region_of_row(release: Release, index: int, group_of_row: NDArray[np.integer]) -> NDArray[np.int64]:
    """(rows,) the cell of each original row, which its group must tell."""
    block = release.block_of(index)
    region = block.region(index).astype(np.int64)
    first = region[block.start[:-1]]
    if len(group_of_row) == 0 or not np.array_equal(first[block.group], region):
        raise NotApplicable(f"a group shows several cells of {release.attributes[index].name}")
    return np.asarray(first[group_of_row])


def _far(truth: Floats, low: Floats, high: Floats) -> Floats:
    return np.maximum(np.abs(high - truth), np.abs(truth - low))
