"""Slicing: attributes in columns, rows in buckets; inside a bucket the link between columns is hidden."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.mondrian import Mondrian, cut_axes
from unveil.anonymizers.parts.attribute_partition import clustered_columns, given_columns
from unveil.anonymizers.parts.match_probabilities import MOST_LIKELY, AskedAttribute, Slices, likely_values, make_slices
from unveil.anonymizers.parts.tuple_partition import local_buckets, shared_buckets
from unveil.data.attribute import Role, asked_in_turn
from unveil.data.options import Options, whole
from unveil.data.regions import Regions
from unveil.data.release import Anonymized, BlockRows, build_release, row_numbers
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, UsageError, shown
from unveil.privacy.models import KAnonymity, PrivacyModel
from unveil.privacy.requirement import Requirement

__all__ = ["Slicing", "columns_of", "sliced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slicing(Options):
    """Columns of attributes that go together, buckets of rows, under privacy models on p(t, s) (Li 2010, chapter 4).

    `c` columns by k-medoids, the sensitive one of `alpha` attributes, or `columns` by hand. Models of sensitive values
    are asked about each person's p(t, ·), the others about buckets. `grouping=strict` cuts as Mondrian does, `relaxed`
    lets rows at a median go to either side, drawn; both along the attributes named in `cut` (default: all that are
    known). `random` draws buckets of `size` rows. `generalise` widens each column until its cells stand for that many
    rows. `bins`: numbers are compared in that many intervals of equal width when columns are sought. Where no attribute
    is sensitive, models of values are asked about each quasi-identifier, all others being known, or only those `asked`.
    """

    require: tuple[PrivacyModel, ...] = ()
    c: int = whole(1, default=2)
    alpha: int | None = whole(1, default=None)
    columns: tuple[tuple[str, ...], ...] = ()
    grouping: Literal["strict", "relaxed", "random"] = "strict"
    cut: tuple[str, ...] = ()
    size: int | None = whole(1, default=None)
    generalise: int | None = whole(1, default=None)
    bins: int = whole(2, default=10)
    asked: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.columns and self.alpha is not None:
            raise UsageError("slicing: columns are given, so alpha has no meaning; keep one")
        if (self.grouping == "random") != (self.size is not None):
            raise UsageError("slicing: size goes with grouping=random, for instance slicing:grouping=random,size=100")
        if self.grouping == "random" and self.cut:
            raise UsageError("slicing: random buckets are not cut; leave out cut, or use grouping=strict")
        for model in self.require:
            if "supersets" in model.needs or ("values" in model.needs and getattr(model, "k", None) is not None):
                raise UsageError(
                    f"slicing cannot require {model.name}: it judges p(t, s), which has no size and no supersets; "
                    "ask for k_anonymity and a model of values instead"
                )

    def anonymize(self, table: Table, engine: Engine) -> Anonymized:
        """Cost: rows · depth of the tree of cuts if everybody matches one bucket, else the matching pairs as well."""
        table.check_texts()
        columns = columns_of(self, table)
        cells, regions = _column_cells(self, table, columns, engine)
        slices = make_slices(cells)
        if self.grouping == "random":
            group = self._drawn(table, columns, slices, engine)
        else:
            group = self._cut(table, columns, slices, engine)
        anonymized = sliced(table, columns, group, regions)
        names = " ".join("{" + ", ".join(table.attributes[i].name for i in column) + "}" for column in columns)
        note = f"slicing: columns {names}; buckets: {anonymized.release.groups}"
        return Anonymized(anonymized.release, anonymized.group_of_row, note)

    def _cut(
        self, table: Table, columns: Sequence[Sequence[int]], slices: Slices, engine: Engine
    ) -> NDArray[np.integer]:
        known = table.with_role(Role.QUASI_IDENTIFIER)
        which = tuple(i for i in known if not self.cut or table.attributes[i].name in self.cut)
        for name in self.cut:
            if name not in [table.attributes[i].name for i in known]:
                raise UsageError(f"slicing: cut names {shown(name)}, which is not a quasi-identifier")
        requirement = Requirement.of(self.require, table, "slicing", _in_turn(self, table))
        asked = asked_of(table, columns, requirement)
        for index, one in enumerate(asked):
            beside, cells = one.beside(slices)
            if cells * one.values > MOST_LIKELY:
                raise UsageError(
                    f"slicing: {cells} cells beside {one.values} values of {requirement.names[index]} are too many; "
                    "declare bins, or put less into its column (alpha)"
                )
            count = np.bincount(beside * one.values + one.value, minlength=cells * one.values).reshape(cells, -1)
            where = f"with all {table.rows} rows in one bucket"
            alone = "alpha=1: nothing" if one.own is None else "see columns and asked"
            instead = f", or more with less beside it in its column ({alone})" if cells > 1 else ""
            requirement.check_shares(index, count / count.sum(axis=1, keepdims=True), "slicing", where, instead)
        if not requirement.sizes_hold(np.array([table.rows])).all():
            raise RequirementError(
                f"slicing: {requirement.described} cannot be met: the table has only {table.rows} rows"
            )
        if not which:
            return np.zeros(table.rows, dtype=np.int32)
        axes, codes = cut_axes(Mondrian(), table, which)
        if self.grouping == "strict" and which == known and self.generalise is None and not any(a.own for a in asked):
            return local_buckets(axes, codes, slices, asked, requirement)
        shuffled = _shuffled(table, engine) if self.grouping == "relaxed" else None
        return shared_buckets(axes, codes, slices, asked, requirement, shuffled, engine)

    def _drawn(
        self, table: Table, columns: Sequence[Sequence[int]], slices: Slices, engine: Engine
    ) -> NDArray[np.integer]:
        """Random buckets; rows left over join the last. A requirement is only checked: nothing is left to choose."""
        assert self.size is not None
        buckets = max(table.rows // self.size, 1)
        group = np.empty(table.rows, dtype=np.int32)
        group[_shuffled(table, engine)] = np.minimum(np.arange(table.rows) // self.size, buckets - 1)
        if self.require:
            requirement = Requirement.of(self.require, table, "slicing", _in_turn(self, table))
            asked = asked_of(table, columns, requirement)
            sizes = np.bincount(group)
            if not requirement.sizes_hold(sizes).all():
                raise RequirementError(
                    f"slicing: {requirement.described} cannot be met: random buckets have {sizes.min()} rows or more; "
                    "choose a larger size"
                )
            likely = likely_values(slices, asked, group) if asked else None
            for index in range(len(asked)):
                assert likely is not None
                where = f"with random buckets of {self.size} rows"
                requirement.check_shares(index, likely.shares(index), "slicing", where)
        return group


def columns_of(slicing: Slicing, table: Table) -> tuple[tuple[int, ...], ...]:
    """The attribute partition of a table."""
    if slicing.columns:
        return given_columns(table, slicing.columns)
    return clustered_columns(table, slicing.c, slicing.alpha, slicing.bins)


def asked_of(table: Table, columns: Sequence[Sequence[int]], requirement: Requirement) -> list[AskedAttribute]:
    """The attributes that the models ask about, each in its column; of a quasi-identifier only the others are known."""
    found = []
    known = table.with_role(Role.QUASI_IDENTIFIER)
    for index in requirement.sensitive:
        column = next(k for k, members in enumerate(columns) if index in members)
        own = None
        if index in known:
            own = make_slices([_cells(table, [i for i in members if i in known and i != index]) for members in columns])
        found.append(AskedAttribute(column, table.columns[index].astype(np.int64), table.attributes[index].codes, own))
    return found


def _cells(table: Table, known: Sequence[int]) -> NDArray[np.int64]:
    """(rows,) one number for rows with equal values of these attributes."""
    return row_numbers([table.columns[i] for i in known], table.rows)


def _in_turn(slicing: Slicing, table: Table) -> tuple[int, ...]:
    """What models of values are asked about, if it is not simply every sensitive attribute."""
    possible = asked_in_turn(table.attributes)
    names = [table.attributes[i].name for i in possible]
    for name in slicing.asked:
        if name not in names:
            raise UsageError(f"slicing: asked names {shown(name)}; it may name {', '.join(names) or 'nothing'}")
    chosen = tuple(i for i, name in zip(possible, names, strict=True) if not slicing.asked or name in slicing.asked)
    of_values = any("values" in model.needs for model in slicing.require)
    if of_values and slicing.generalise is not None and not table.with_role(Role.SENSITIVE):
        raise UsageError(
            "slicing: generalise widens what is asked about where no attribute is sensitive; leave it out, or give one "
            "attribute that role"
        )
    return chosen


def sliced(
    table: Table,
    columns: Sequence[Sequence[int]],
    group: NDArray[np.integer],
    regions: dict[int, tuple[Regions, NDArray[np.integer]]] | None = None,
) -> Anonymized:
    """The release of an attribute partition and a tuple partition (Li 2010, definition 4.1.3).

    `regions`: per widened attribute its regions and (rows,) their numbers; the others are published as they are.
    """
    shown_as = [Regions.singles(a.codes) for a in table.attributes]
    numbers: list[NDArray[np.integer]] = list(table.columns)
    for index, (widened, number) in (regions or {}).items():
        shown_as[index], numbers[index] = widened, number
    parts = [BlockRows(tuple(column), group, tuple(numbers[i] for i in column)) for column in columns]
    release, number = build_release(table.attributes, shown_as, parts)
    return Anonymized(release, number[group].astype(np.int32))


def _column_cells(
    slicing: Slicing, table: Table, columns: Sequence[Sequence[int]], engine: Engine
) -> tuple[list[NDArray[np.integer]], dict[int, tuple[Regions, NDArray[np.integer]]]]:
    """What is known of each row in each column, as (rows,) numbers, and the regions of what is widened."""
    cells: list[NDArray[np.integer]] = []
    regions: dict[int, tuple[Regions, NDArray[np.integer]]] = {}
    for column in columns:
        known = [i for i in column if table.attributes[i].role is Role.QUASI_IDENTIFIER]
        if not known or slicing.generalise is None:
            cells.append(_cells(table, known))
        else:
            part = Table(tuple(table.attributes[i] for i in known), tuple(table.columns[i] for i in known))
            made = Mondrian(require=(KAnonymity(k=slicing.generalise),)).anonymize(part, engine)
            cells.append(made.group_of_row)
            block = made.release.blocks[0]
            for place, index in enumerate(known):
                of_group = block.region(place)[block.start[:-1]]
                regions[index] = made.release.regions[place], of_group[made.group_of_row]
    return cells, regions


def _shuffled(table: Table, engine: Engine) -> NDArray[np.int64]:
    """The rows in a drawn order that does not follow theirs in the original."""
    order = np.lexsort(table.columns)
    return np.asarray(order[engine.named("slicing").generator().permutation(table.rows)], dtype=np.int64)
