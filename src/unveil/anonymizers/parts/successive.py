"""A release after others: groups that refine or repeat the earlier ones, and buckets with the same values as before."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.parts.assemble import GroupRegions, bucketized, generalised, one_sensitive
from unveil.data.attribute import Role
from unveil.data.regions import Regions
from unveil.data.release import Anonymized, Block, Release, example_rows, row_numbers
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, UsageError

__all__ = ["anonymize_after", "place_rows"]

SECONDS = 60.0  # to find out who stood where, where that is ambiguous
SWEEPS = 2000  # of exchanges, tried first

Ints = NDArray[np.int64]


def anonymize_after(
    method: Any,
    table: Table,
    earlier: Mapping[str, Release],
    engine: Engine,
    groups: Mapping[str, NDArray[np.integer]] | None = None,
) -> tuple[Anonymized, Mapping[str, Ints]]:
    """A release that tells nobody more together with the earlier ones than the worse of them tells alone.

    Recoding: every new group lies inside a group of each earlier release, or is a union of such groups where those do
    not keep the requirement. Anatomy: everybody's bucket holds the same values as before (m-invariance, Xiao and Tao
    2007); who was in no earlier release is put into buckets with others who were not. Also
    says in which group of each earlier release every row stood: `groups`, where the maker still knows, else as its
    cells and values tell; people who look alike may then be taken for each other.
    """
    told = groups or {}
    placed = {
        name: np.asarray(told[name], dtype=np.int64) if name in told else place_rows(table, release, name)
        for name, release in earlier.items()
    }
    hidden = {name: len(release.blocks) > 1 for name, release in earlier.items()}
    if isinstance(method, Anatomy):
        if all(hidden.values()):
            return _invariant(method, table, [(earlier[n], placed[n]) for n in earlier], engine), placed
        if any(hidden.values()):
            raise UsageError("the earlier releases are of two kinds; Anatomy can follow one kind only")
        return _inside(method, table, placed, engine), placed
    if any(hidden.values()):
        name = next(n for n, apart in hidden.items() if apart)
        raise UsageError(f"{name} hides links in buckets, which recoding cannot follow; make the release with anatomy")
    return _recoded(method, table, list(placed.values()), engine), placed


def place_rows(table: Table, release: Release, name: str = "the release") -> Ints:
    """(rows,) the group of an earlier release in which each row of the table stood, -1: in none.

    Rows that several groups fit are placed so that as many as possible are and every published row is used once.
    """
    shared = [a.name for a in release.attributes if a.name in {b.name for b in table.attributes}]
    for attribute in shared:
        if table.attributes[table.index(attribute)].values != release.attributes[release.index(attribute)].values:
            raise UsageError(f"{name}: its domain of {attribute} is not the table's; declare it in the schema")
    if len(release.blocks) == 1:
        return _place_one_block(table, release, shared)
    apart = [i for i in release.with_role(Role.SENSITIVE) if release.block_of(i).attributes == (i,)]
    if len(release.blocks) != 2 or len(apart) != 1 or release.attributes[apart[0]].name not in shared:
        raise UsageError(f"{name}: only recoded releases and buckets of one sensitive attribute can be followed")
    return _place_buckets(table, release, shared, apart[0])


def _fitting(table: Table, release: Release, block: Block, names: Sequence[str], rows: Ints) -> tuple[Ints, Ints]:
    """(pairs,) which of these rows fit which entries of a block."""
    from unveil.kernels.boxes import points_in_boxes

    point = np.stack([table.columns[table.index(n)][rows] for n in names], axis=1).astype(np.int32)
    regions = [release.regions[release.index(n)].take(block.region(release.index(n))) for n in names]
    low = np.stack([r.low[r.start[:-1]] for r in regions], axis=1).astype(np.int32)
    high = np.stack([r.high[r.start[1:] - 1] for r in regions], axis=1).astype(np.int32)
    who, entry = points_in_boxes(point, low, high)
    for axis, region in enumerate(regions):
        inside = region.holds(entry, point[who, axis].astype(np.int64))
        who, entry = who[inside], entry[inside]
    return who, entry


def _place_one_block(table: Table, release: Release, names: Sequence[str]) -> Ints:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    block = release.blocks[0]
    number = row_numbers([table.columns[table.index(n)] for n in names])
    size = np.bincount(number)
    who, entry = _fitting(table, release, block, names, example_rows(number))
    classes, entries = len(size), len(block.cell)
    if (
        len(np.unique(who)) == len(who)
        and (np.bincount(entry, weights=size[who], minlength=entries) <= block.count).all()
    ):
        amount = size[who]
    else:
        source, sink = classes + entries, classes + entries + 1
        tail = np.concatenate([np.full(classes, source), who, classes + np.arange(entries)])
        head = np.concatenate([np.arange(classes), classes + entry, np.full(entries, sink)])
        capacity = np.concatenate([size, size[who], block.count]).astype(np.int32)
        graph = coo_array((capacity, (tail, head)), shape=(sink + 1, sink + 1)).tocsr()
        flow = maximum_flow(graph, source, sink).flow
        amount = np.maximum(np.asarray(flow[who, classes + entry]).ravel(), 0)
    return _spread(number, who, block.group[entry], amount)


def _place_buckets(table: Table, release: Release, names: Sequence[str], secret: int) -> Ints:
    """People with cell x and value s in bucket g: as many as possible, within what each bucket shows of both."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, vstack

    own = release.block_of(secret)
    block = next(b for b in release.blocks if b is not own)
    value = table.columns[table.index(release.attributes[secret].name)].astype(np.int64)
    known = [n for n in names if release.index(n) in block.attributes]
    cell = row_numbers([table.columns[table.index(n)] for n in known], table.rows)
    number = row_numbers([cell, value])
    first, size = example_rows(number), np.bincount(number)
    who, entry = _fitting(table, release, block, known, first)
    shown = release.regions[secret].single()[own.region(secret)]
    codes = release.attributes[secret].codes
    key = own.group * codes + shown
    mine = block.group[entry] * codes + value[first[who]]
    order = np.argsort(key)
    at = np.minimum(np.searchsorted(key[order], mine), len(key) - 1)
    held = order[at]
    fits = key[held] == mine
    who, entry, held = who[fits], entry[fits], held[fits]
    exchanged = _exchanged(release, own.group, shown, own.count, block, entry, cell[first[who]], cell, value)
    if exchanged is not None:
        return exchanged
    variable = np.arange(len(who))
    rows = [
        coo_array((np.ones(len(who)), (place, variable)), shape=(count, len(who)))
        for place, count in ((who, len(size)), (entry, len(block.cell)), (held, len(own.cell)))
    ]
    limit = np.concatenate([size, block.count, own.count])
    found = milp(
        -np.ones(len(who)),
        constraints=LinearConstraint(vstack(rows), -np.inf, limit),
        integrality=np.ones(len(who)),
        bounds=Bounds(0, np.inf),
        options={"time_limit": SECONDS},
    )
    if found.x is None or found.status != 0:
        raise UsageError("too many people look alike to find out who stood in which of its buckets; repeat it instead")
    return _spread(number, who, block.group[entry], np.round(found.x).astype(np.int64))


def _exchanged(
    release: Release,
    group: NDArray[np.integer],
    shown: NDArray[np.integer],
    held: NDArray[np.integer],
    block: Block,
    entry: Ints,
    cell_of_pair: Ints,
    cell: Ints,
    value: Ints,
) -> Ints | None:
    """(rows,) buckets found by exchanging values inside them until everybody is there; None: not everybody was.

    Quick where many look alike and a search over all ways is hopeless: there are then many ways that fit.
    """
    from unveil.kernels.composition import exchange

    of_entry = np.full(len(block.cell), -1, dtype=np.int64)
    of_entry[entry] = cell_of_pair
    several = np.bincount(np.unique(entry * (int(cell.max()) + 1) + cell_of_pair) // (int(cell.max()) + 1))
    if release.rows != len(cell) or (of_entry < 0).any() or (several > 1).any():
        return None
    bucket = np.repeat(block.group, block.count)
    cells = np.repeat(of_entry, block.count)
    order = np.argsort(np.repeat(group, held), kind="stable")
    values = np.repeat(shown, held)[order].astype(np.int64)
    start = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=release.groups))]).astype(np.int64)
    excess = np.zeros((int(cell.max()) + 1, int(max(value.max(), values.max())) + 1), dtype=np.int64)
    np.add.at(excess, (cells, values), 1)
    np.subtract.at(excess, (cell, value), 1)
    if exchange(start, cells, values, excess, SWEEPS, np.uint64(0x5EED)):
        return None
    placed = np.empty(len(cell), dtype=np.int64)
    placed[np.lexsort((value, cell))] = bucket[np.lexsort((values, cells))]
    return placed


def _spread(number: Ints, who: Ints, group: Ints, amount: NDArray[np.integer]) -> Ints:
    """(rows,) groups, given how many rows of each class go to which."""
    placed = np.full(len(number), -1, dtype=np.int64)
    order = np.argsort(number, kind="stable")
    begin = np.concatenate([[0], np.cumsum(np.bincount(number))])
    by_class = np.argsort(who, kind="stable")
    used = np.zeros(len(begin), dtype=np.int64)
    for pair in by_class[np.asarray(amount)[by_class] > 0].tolist():
        x, n = int(who[pair]), int(amount[pair])
        rows = order[begin[x] + used[x] : begin[x] + used[x] + n]
        placed[rows] = group[pair]
        used[x] += n
    return placed


def _invariant(method: Anatomy, table: Table, earlier: Sequence[tuple[Release, Ints]], engine: Engine) -> Anonymized:
    """Buckets whose members all had a bucket with just these values before; newcomers in buckets of their own."""
    secret = one_sensitive(table, "anatomy")
    column = table.columns[secret].astype(np.int64)
    values = table.attributes[secret].codes
    signature = np.zeros((table.rows, values), dtype=bool)
    before = np.zeros(table.rows, dtype=bool)
    for release, placed in earlier:
        histogram, group = release.histograms(release.index(table.attributes[secret].name))
        held = np.zeros((release.groups, values), dtype=bool)
        np.logical_or.at(held, group, histogram > 0)
        if (histogram > 1).any():
            raise UsageError("an earlier bucket holds a value twice; m-invariance needs buckets of different values")
        inside = placed >= 0
        mine = held[placed[inside]]
        again = before[inside]
        if (signature[inside][again] != mine[again]).any():
            raise RequirementError(
                "the earlier releases do not show the same values for everybody; no further one can be added"
            )
        signature[inside] = mine
        before |= inside
    fewest = int(signature[before].sum(axis=1).min(initial=method.l))
    if fewest < method.l:
        raise RequirementError(f"anatomy: an earlier bucket has {fewest} values; l={fewest} can be kept with it")
    random = engine.named("anatomy").generator()
    order = random.permutation(table.rows)
    group_of_row = np.full(table.rows, -1, dtype=np.int64)
    groups, left = 0, 0
    number = row_numbers(list(np.packbits(signature, axis=1).T))
    for kind in np.unique(number[before]).tolist():
        rows = order[(number[order] == kind) & before[order]]
        codes = np.flatnonzero(signature[rows[0]])
        by_value = [rows[column[rows] == code] for code in codes]
        count = min(map(len, by_value))
        for some in by_value:
            group_of_row[some[:count]] = groups + np.arange(count)
        left += sum(len(some) - count for some in by_value)
        groups += count
    if left:
        kept = table.rows - left
        raise RequirementError(
            f"anatomy: {left:,} people shared a bucket with somebody who is gone, and cannot have the same "
            f"values again; without them l={method.l} can be kept for {kept:,} people"
        )
    new = np.flatnonzero(~before)
    if len(new):
        part = method.anonymize(table.part(new), engine)
        group_of_row[new] = groups + part.group_of_row
    return bucketized(table, secret, group_of_row.astype(np.int32))


def _cells(placed: Sequence[Ints]) -> Ints:
    """(rows,) who stood in the same groups of all earlier releases; who stood in none is together, too."""
    return row_numbers([one + 1 for one in placed])


def _inside(method: Anatomy, table: Table, placed: Mapping[str, Ints], engine: Engine) -> Anonymized:
    """Buckets inside every earlier group."""
    secret = one_sensitive(table, "anatomy")
    cell = _cells(list(placed.values()))
    group_of_row, groups, best = np.zeros(table.rows, dtype=np.int64), 0, method.l
    for number in range(int(cell.max()) + 1):
        rows = np.flatnonzero(cell == number)
        most = int(np.bincount(table.columns[secret][rows]).max())
        best = min(best, len(rows) // most)
        if best < method.l:
            continue
        made = method.anonymize(table.part(rows), engine.named(str(number)))
        group_of_row[rows] = groups + made.group_of_row
        groups += made.release.groups
    if best < method.l:
        can = f"l={best} can be kept" if best > 1 else "no l above 1 can be kept"
        raise RequirementError(f"anatomy: some group of the earlier releases is too uniform for l={method.l}; {can}")
    return bucketized(table, secret, group_of_row.astype(np.int32))


def _recoded(method: Any, table: Table, placed: Sequence[Ints], engine: Engine) -> Anonymized:
    """The method at work inside every earlier group; groups that cannot keep the requirement are merged whole."""
    cell, outer = _cells(placed), _cells(placed[:1])
    made: list[tuple[Ints, Anonymized]] = []
    refused: list[Ints] = []
    by_outer = np.argsort(outer, kind="stable")
    begin = np.concatenate([[0], np.cumsum(np.bincount(outer))])
    for number in range(len(begin) - 1):
        rows = by_outer[begin[number] : begin[number + 1]]
        inner = [rows[cell[rows] == c] for c in np.unique(cell[rows])]
        try:
            made += [(some, _recoding(method, table.part(some), engine.named(str(some[0])))) for some in inner]
        except RequirementError:
            refused.append(rows)
    if refused:
        some = np.concatenate(refused)
        try:
            made += _unions(method, table, some, outer, engine)
        except RequirementError:  # they cannot keep it among themselves: everybody's groups are merged
            made = _unions(method, table, np.arange(table.rows), outer, engine)
    return _joined(table, made)


def _recoding(method: Any, table: Table, engine: Engine) -> Anonymized:
    """What the method makes of a part, if that is one recoded block: of slices only the first cells would be left."""
    found: Anonymized = method.anonymize(table, engine)
    if len(found.release.blocks) > 1 or found.release.perturbed:
        raise UsageError("only recoding and anatomy can follow earlier releases; use mondrian, full_domain or anatomy")
    return found


def _unions(method: Any, table: Table, rows: Ints, outer: Ints, engine: Engine) -> list[tuple[Ints, Anonymized]]:
    """Unions of whole earlier groups: the method sees every group where its middle row stands, and cannot part it.

    The earlier groups lie inside the unions and tell all that these do.
    """
    part, group = table.part(rows), row_numbers([outer[rows]])
    begin = np.concatenate([[0], np.cumsum(np.bincount(group))])
    middle = (begin[:-1] + begin[1:]) // 2
    columns = list(part.columns)
    for index in table.with_role(Role.QUASI_IDENTIFIER):
        order = np.lexsort((part.columns[index], group))
        columns[index] = part.columns[index][order][middle][group]
    found = _recoding(method, Table(table.attributes, tuple(columns), name=table.name), engine)
    union = row_numbers([found.group_of_row])
    return [(own := rows[union == number], _as_one(table, own)) for number in range(int(union.max()) + 1)]


def _as_one(table: Table, rows: Ints) -> Anonymized:
    """These rows as a single group."""
    part = table.part(rows)
    cells = {}
    for index in table.with_role(Role.QUASI_IDENTIFIER):
        attribute, codes = table.attributes[index], np.unique(part.columns[index]).astype(np.int64)
        if attribute.kind.ordered and attribute.missing and len(codes) > 1 and codes[-1] == attribute.codes - 1:
            codes = np.arange(attribute.codes)  # known and missing values: only * holds both
        elif attribute.kind.ordered:
            codes = np.arange(codes[0], codes[-1] + 1)
        cells[index] = GroupRegions(Regions.sets(attribute.codes, [codes]), np.zeros(1, dtype=np.int64))
    return generalised(part, np.zeros(len(rows), dtype=np.int64), cells)


def _joined(table: Table, made: Sequence[tuple[Ints, Anonymized]]) -> Anonymized:
    """The parts as one release."""
    group = np.zeros(table.rows, dtype=np.int64)
    known = table.with_role(Role.QUASI_IDENTIFIER)
    members: dict[int, list[tuple[NDArray[np.int32], NDArray[np.int32], Ints]]] = {i: [] for i in known}
    groups = 0
    for rows, part in made:
        release = part.release
        group[rows] = groups + part.group_of_row
        groups += release.groups
        for index in known:
            block = release.block_of(index)
            shown = release.regions[index].take(block.region(index)[block.start[:-1]])
            members[index].append((shown.low, shown.high, shown.runs))
    cells = {}
    for index in known:
        low, high, runs = (np.concatenate(columns) for columns in zip(*members[index], strict=True))
        start = np.concatenate([[0], np.cumsum(runs)]).astype(np.int64)
        cells[index] = GroupRegions(Regions(table.attributes[index].codes, start, low, high), np.arange(groups))
    return generalised(table, group, cells)
