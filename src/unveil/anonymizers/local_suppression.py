"""Local suppression: single cells are withheld until every row is among enough others."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.assemble import GroupRegions, generalised
from unveil.data.attribute import Role
from unveil.data.options import Options
from unveil.data.regions import Regions
from unveil.data.release import Anonymized, example_rows, row_numbers
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.privacy.models import PrivacyModel
from unveil.privacy.requirement import Requirement
from unveil.privacy.wildcards import wildcard_sums

__all__ = ["LocalSuppression"]

EXACT_ROWS = 10  # every partition of so few rows is gone through
MOST_MASKS = 4096  # sets of attributes that are tried before a row is withheld whole

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]  # (rows, quasi-identifiers) withheld


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSuppression(Options):
    """Cells of quasi-identifiers are withheld one by one, as cheaply as possible; nothing is widened.

    Under `count=classes` rows with equal cells, withheld ones included, keep the requirement: at least cost up to 10
    rows, beyond that by ever dearer sets of attributes, with a bound on what is the least. Under `count=wildcards` a
    withheld cell agrees with every value, as sdcMicro counts, and only rows that miss k lose cells. `importance`: the
    cost of a withheld cell of each quasi-identifier, in schema order; 1 each if not given. `strata`: attributes within
    whose values rows are counted, and which are withheld only where a whole row is.
    """

    require: tuple[PrivacyModel, ...] = ()
    importance: tuple[float, ...] | None = None
    strata: tuple[str, ...] = ()
    count: Literal["classes", "wildcards"] = "classes"

    def anonymize(self, table: Table, engine: Engine) -> Anonymized:
        """Cost: failing rows for each set of attributes that is tried; 3^rows of a table of at most 10."""
        table.check_texts()
        requirement = Requirement.of(self.require, table, "local_suppression")
        if requirement.superset_size is not None or requirement.cell_of_row is not None:
            raise UsageError(
                "local_suppression: a model that asks for supersets or members cannot be required; use mondrian"
            )
        known = table.with_role(Role.QUASI_IDENTIFIER)
        cost = self._costs(table, known)
        stratum = row_numbers([table.columns[table.index(n)] for n in self.strata], table.rows)
        fixed = np.array([table.attributes[i].name in self.strata for i in known], dtype=bool)
        search = _Search(table, requirement, [table.columns[i].astype(np.int64) for i in known], stratum, cost, fixed)
        if not known:
            requirement.check_whole(table, "local_suppression")
            return generalised(table, np.zeros(table.rows, dtype=np.int64), {})
        if self.count == "wildcards":
            if [model.name for model in self.require] != ["k_anonymity"]:
                raise UsageError("local_suppression: count=wildcards counts rows; require k alone, or count=classes")
            withheld, least, proof = search.with_wildcards()
        elif table.rows <= EXACT_ROWS:
            withheld, least, proof = search.exact()
        else:
            withheld, least, proof = search.greedy()
        if withheld.all():  # then the suppressed rows are the release
            requirement.check_whole(table, "local_suppression")
        found = float((withheld * cost).sum())
        said = proof or f"the least is not below {least:g}"
        note = f"local_suppression: {int(withheld.sum()):,} cells are withheld, at a cost of {found:g}; {said}"
        return _released(table, known, withheld, note)

    def _costs(self, table: Table, known: tuple[int, ...]) -> NDArray[np.float64]:
        names = [table.attributes[i].name for i in known]
        costs = (1.0,) * len(known) if self.importance is None else self.importance
        if len(costs) != len(known) or not all(0 < one < np.inf for one in costs):
            raise UsageError(
                f"local_suppression: importance needs one number above 0 for each of {', '.join(names)}, joined by +"
            )
        for name in self.strata:
            table.index(name)  # which says what is wrong
        return np.array(costs)


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """What may be withheld, at which cost, and what must hold."""

    table: Table
    requirement: Requirement
    columns: list[Ints]  # per quasi-identifier: (rows,) codes
    stratum: Ints  # (rows,)
    cost: NDArray[np.float64]  # (quasi-identifiers,)
    fixed: NDArray[np.bool_]  # (quasi-identifiers,) never withheld

    @property
    def keys(self) -> int:
        return len(self.columns)

    def holds(self, rows: Ints, group: Ints) -> NDArray[np.bool_]:
        """(groups,) whether groups of some rows keep the requirement."""
        groups = int(group.max(initial=-1)) + 1
        histograms = []
        for index in self.requirement.sensitive:
            codes = self.table.attributes[index].codes
            flat = np.bincount(group * codes + self.table.columns[index][rows], minlength=groups * codes)
            histograms.append(flat.reshape(groups, codes))
        return self.requirement.holds(np.bincount(group, minlength=groups), histograms)

    def masks(self) -> Iterator[NDArray[np.bool_]]:
        """Sets of attributes to withhold, the cheapest first: not none, and not all, which is the last resort."""
        free = np.flatnonzero(~self.fixed).tolist()
        found = []
        for size in range(1, len(free) + 1):
            for some in combinations(free, size):
                if len(some) < self.keys:
                    found.append(some)
                if len(found) >= MOST_MASKS:
                    break
        for some in sorted(found, key=lambda one: (self.cost[list(one)].sum(), len(one))):
            mask = np.zeros(self.keys, dtype=bool)
            mask[list(some)] = True
            yield mask

    def alike(self, rows: Ints, mask: NDArray[np.bool_]) -> Ints:
        """(rows,) equal numbers for rows of a stratum whose cells outside the mask are equal."""
        shown = [column[rows] for column, hidden in zip(self.columns, mask, strict=True) if not hidden]
        return row_numbers([self.stratum[rows], *shown])

    def greedy(self) -> tuple[Mask, float, str]:
        """Failing rows that agree on all but a set of attributes, and hold, withhold it: the cheapest sets first."""
        withheld = np.zeros((self.table.rows, self.keys), dtype=bool)
        everybody = np.arange(self.table.rows)
        group = self.alike(everybody, np.zeros(self.keys, dtype=bool))
        left = everybody[~self.holds(everybody, group)[group]]
        need = self.requirement.smallest
        least = np.full(self.table.rows, np.inf)
        for mask in self.masks():
            if not len(left):
                break
            price = float(self.cost[mask].sum())
            number = self.alike(everybody, mask)  # a class is among all rows that agree where it shows something
            enough = (np.bincount(number) >= need)[number]
            first = np.isinf(least) & enough
            least[first] = price
            group = self.alike(left, mask)
            good = self.holds(left, group)[group]
            withheld[left[good]] = mask
            left = left[~good]
        withheld[left] = True
        start = self.alike(everybody, np.zeros(self.keys, dtype=bool))
        failing = ~self.holds(everybody, start)[start]
        every = 2 ** int((~self.fixed).sum()) <= MOST_MASKS  # else a set that was not tried may be cheaper
        last = float(self.cost.sum() if every else self.cost.min())
        bound = np.where(np.isinf(least), last, least)
        return withheld, float(bound[failing].sum()) if failing.any() else 0.0, ""

    def exact(self) -> tuple[Mask, float, str]:
        """The cheapest partition of a few rows into groups that hold, by dynamic programming over sets of rows."""
        rows = self.table.rows
        whole = (1 << rows) - 1
        best, choice = [np.inf] * (whole + 1), [0] * (whole + 1)
        best[0] = 0.0
        price: dict[int, tuple[float, NDArray[np.bool_]]] = {}
        all_of_it = float(self.cost.sum())
        for subset in range(1, whole + 1):
            members = np.array([i for i in range(rows) if subset >> i & 1])
            differ = np.array([np.ptp(column[members]) > 0 for column in self.columns])
            own = len(members) * float(self.cost[differ].sum())
            apart = bool(np.ptp(self.stratum[members])) or bool((differ & self.fixed).any())
            good = not apart and bool(self.holds(members, np.zeros(len(members), dtype=np.int64))[0])
            if good:
                price[subset] = (own, differ)
            elif len(members) == 1:
                price[subset] = (all_of_it, np.ones(self.keys, dtype=bool))
        for subset in range(1, whole + 1):
            low, part = subset & -subset, subset
            while part:
                if part & low and part in price and best[subset ^ part] + price[part][0] < best[subset]:
                    best[subset], choice[subset] = best[subset ^ part] + price[part][0], part
                part = (part - 1) & subset
        withheld = np.zeros((rows, self.keys), dtype=bool)
        subset = whole
        while subset:
            part = choice[subset]
            for i in range(rows):
                if part >> i & 1:
                    withheld[i] = price[part][1]
            subset ^= part
        return withheld, best[whole], "no other choice costs less"

    def with_wildcards(self) -> tuple[Mask, float, str]:
        """Rows below k withhold the cheapest set beside which enough rows agree; what others withhold counts for them.

        At the end each withheld cell is shown again if its row, and every other, keeps k without it.
        """
        need = self.requirement.smallest
        withheld = np.zeros((self.table.rows, self.keys), dtype=bool)
        everybody = np.arange(self.table.rows)
        number = self.alike(everybody, withheld[0])
        left = everybody[(np.bincount(number) < need)[number]]
        price = 0.0
        for mask in self.masks():
            if float(self.cost[mask].sum()) > price and price:  # what cheaper sets withheld may be enough for others
                left = left[self._agreeing(withheld)[left] < need]
            price = float(self.cost[mask].sum())
            if not len(left):
                break
            number = self.alike(everybody, mask)
            good = (np.bincount(number) >= need)[number][left]
            withheld[left[good]] = mask
            left = left[~good]
        withheld[left] = True
        return self._shown_again(withheld, need), 0.0, "rows that keep k lose nothing"

    def _agreeing(self, withheld: Mask) -> NDArray[np.float64]:
        """(rows,) how many rows agree with each, a withheld cell with every value."""
        blank = [*withheld.T, np.zeros(self.table.rows, dtype=bool)]
        hidden = [np.where(b, 0, c + 1) for b, c in zip(blank, [*self.columns, self.stratum], strict=True)]
        number = row_numbers(hidden)
        first = example_rows(number)
        rows = np.bincount(number).astype(np.float64)
        (total,) = wildcard_sums([h[first] for h in hidden], [b[first] for b in blank], rows)
        return np.asarray(total[number])

    def _shown_again(self, withheld: Mask, need: int) -> Mask:
        """Cells that need not be withheld after all, the dearest first."""
        for key in np.argsort(-self.cost, kind="stable").tolist():
            here = np.flatnonzero(withheld[:, key])
            shown = withheld.copy()
            shown[here, key] = False
            bad = here[self._agreeing(shown)[here] < need]
            shown[bad, key] = True
            if (self._agreeing(shown) >= need).all():
                withheld = shown
        return withheld


def _released(table: Table, known: tuple[int, ...], withheld: Mask, note: str) -> Anonymized:
    """The release in which these cells are `*`."""
    cells = {}
    shown = [
        np.where(hidden, table.attributes[i].codes, table.columns[i])
        for i, hidden in zip(known, withheld.T, strict=True)
    ]
    group = row_numbers(shown)
    first = example_rows(group)
    for index, column in zip(known, shown, strict=True):
        codes = table.attributes[index].codes
        each = np.arange(codes)
        regions = Regions.pairs(codes, np.append(each, np.full(codes, codes)), np.tile(each, 2), codes + 1)
        cells[index] = GroupRegions(regions, column[first].astype(np.int64))
    made = generalised(table, group, cells)
    return Anonymized(made.release, made.group_of_row, note)
