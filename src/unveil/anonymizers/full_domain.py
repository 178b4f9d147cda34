"""Full-domain recoding: every value of an attribute is widened to the same level of its hierarchy."""

from dataclasses import dataclass, replace
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.assemble import GroupRegions, generalised
from unveil.anonymizers.parts.lattice import search
from unveil.anonymizers.parts.node_loss import Measure
from unveil.anonymizers.parts.roll_up import height_of, nodes_of
from unveil.data.attribute import Attribute, Role
from unveil.data.options import Options, number, whole
from unveil.data.regions import Regions
from unveil.data.release import Anonymized, example_rows, row_numbers
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, UsageError
from unveil.privacy.models import PrivacyModel
from unveil.privacy.requirement import Requirement

__all__ = ["FullDomain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FullDomain(Options):
    """One node of the generalisation lattice (Samarati 2001): a level for each quasi-identifier, in schema order.

    Level 0 is the values, the highest `*`; an attribute without a hierarchy has levels 0 and 1. Rows of groups that
    miss the requirement are suppressed (all their quasi-identifiers `*`) if they are at most a share `suppress`.
    Without levels the node that loses least by `measure` is searched for, looking at most at `nodes` of them.
    """

    reads_counts: ClassVar[bool] = True  # a table whose equal rows are counted is as good to it as the rows

    levels: tuple[int, ...] | None = None
    suppress: float = number(0, 1, default=0.0)
    require: tuple[PrivacyModel, ...] = ()
    measure: Measure = "certainty_penalty"
    nodes: int = whole(1, default=100_000)

    def anonymize(self, table: Table, engine: Engine) -> Anonymized:
        """Cost: one pass over the rows for each quasi-identifier; of a search, the classes of the nodes looked at."""
        table.check_texts(counted=True)
        known = table.with_role(Role.QUASI_IDENTIFIER)
        if self.levels is None:
            return self._searched(table, known, engine)
        self._check_levels(self.levels, [table.attributes[i] for i in known])
        nodes = [nodes_of(table.attributes[i], level) for i, level in zip(known, self.levels, strict=True)]
        columns = [node[table.columns[i]] for i, node in zip(known, nodes, strict=True)]
        group = row_numbers(columns, table.rows)
        groups = int(group.max()) + 1
        hidden = self._failing(table, group, groups) if self.require else np.zeros(groups, dtype=bool)
        first = example_rows(group)
        cells = {}
        for index, node, column in zip(known, nodes, columns, strict=True):
            codes = table.attributes[index].codes
            count = int(node.max()) + 1
            owner = np.append(node, np.full(codes, count))  # one more region: the whole domain, for suppressed rows
            code = np.tile(np.arange(codes), 2)
            cells[index] = GroupRegions(
                Regions.pairs(codes, owner, code, count + 1), np.where(hidden, count, column[first])
            )
        return generalised(table, group, cells)

    def _searched(self, table: Table, known: tuple[int, ...], engine: Engine) -> Anonymized:
        """The release of the best node, and how good it is."""
        if not known:
            Requirement.of(self.require, table, "full_domain").check_whole(table, "full_domain")
            return replace(self, levels=()).anonymize(table, engine)
        found = search(table, self.require, self.suppress, self.measure, self.nodes, engine)
        made = replace(self, levels=found.levels).anonymize(table, engine)
        proof = (
            "no node loses less"
            if found.optimal
            else f"a node that loses as little as {found.least:.6g} is not ruled out"
        )
        levels = "+".join(map(str, found.levels))
        note = (
            f"full_domain:levels={levels}: {self.measure} {found.loss:.6g}; {proof} "
            f"({found.looked_at:,} of {found.nodes:,} nodes looked at)"
        )
        return replace(made, note=note)

    def _failing(self, table: Table, group: NDArray[np.int64], groups: int) -> NDArray[np.bool_]:
        """(groups,) groups that miss the requirement; an error if they hold too many rows."""
        requirement = Requirement.of(self.require, table, "full_domain")
        if requirement.superset_size is not None:
            raise UsageError(
                "full_domain has no tree of supersets for (n,t)-closeness; require t_closeness, or use mondrian"
            )
        sizes, histograms = requirement.of_groups(table, group, groups)
        hidden = ~requirement.holds(sizes, histograms)
        sizes = requirement.published(sizes, histograms)[0]
        rows, lost = int(sizes.sum()), int(sizes[hidden].sum())
        if lost > self.suppress * rows * (1 + 1e-12):  # 0.29 · 100 is a hair below 29
            share = ceil(1e4 * lost / rows) / 1e4
            raise RequirementError(
                f"full_domain: {lost} of {rows} rows lie in groups that miss {requirement.described}, more than "
                f"suppress={self.suppress:g} allows; suppress={share:g} would do, or raise a level"
            )
        if lost == rows:  # then the suppressed rows are the release
            requirement.check_whole(table, "full_domain")
        return hidden

    def _check_levels(self, levels: tuple[int, ...], attributes: list[Attribute]) -> None:
        names = ", ".join(a.name for a in attributes)
        if len(levels) != len(attributes):
            raise UsageError(
                f"full_domain: {len(levels)} levels for {len(attributes)} quasi-identifiers ({names}); "
                "give one each, joined by +"
            )
        for attribute, level in zip(attributes, levels, strict=True):
            if not 0 <= level <= height_of(attribute):
                raise UsageError(f"full_domain: {attribute.name} has levels 0 to {height_of(attribute)}, not {level}")
