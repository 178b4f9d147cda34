"""Injector: buckets in which everybody could have l of the values, as far as rules mined from the table can tell."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.assemble import bucketized, one_sensitive
from unveil.data.options import Options, whole
from unveil.data.release import Anonymized, example_rows, row_numbers
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError
from unveil.kernels import injector as kernels
from unveil.privacy.knowledge.mining.cells import CountedCells, valid_values
from unveil.privacy.knowledge.negative_rules import NegativeRules

__all__ = ["Injector"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Injector(Options):
    """Rule-based bucketization with matching l-diversity (Li 2010, section 3.4).

    Negative rules are mined (`min_expectation`, `predicates`: see the knowledge `negative_rules`); groups of l people
    who could all have each other's values are formed; who is left over joins a group, which is merged with others until
    they have l valid values. Of people with the same value and the same impossible ones it is drawn who goes where.
    """

    l: int = whole(2)
    min_expectation: float = 0.9
    predicates: int = 1

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        NegativeRules(min_expectation=self.min_expectation, predicates=self.predicates)

    def anonymize(self, table: Table, engine: Engine) -> Anonymized:
        """Cost: groups · l · kinds of people · values; and one graph of rows and values for each merged group."""
        table.check_texts()
        sensitive = one_sensitive(table, "injector")
        rules = NegativeRules(min_expectation=self.min_expectation, predicates=self.predicates).rules(table)
        counted = CountedCells.of(table)
        never = (rules.ceiling(counted.cells) <= 0)[counted.of_row]
        value = table.columns[sensitive].astype(np.int64)
        self._check_feasible(value, never)
        kind = row_numbers([value, *never.T.astype(np.int64)])
        example = example_rows(kind)
        engine.report("injector", 0, 1)
        groups, aside = kernels.form_groups(value[example], never[example], np.bincount(kind), self.l)
        group = _placed(kind, groups, engine)
        self._serve(group, kind, _Kinds.of(value[example], never[example]), aside)
        engine.report("injector", 1, 1)
        return bucketized(table, sensitive, np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int32))

    def _check_feasible(self, value: NDArray[np.int64], never: NDArray[np.bool_]) -> None:
        """With all rows in one group everybody has as many valid values as there can be."""
        number = valid_values(np.zeros(len(value), dtype=np.int64), value, ~never).sum(axis=1)
        lost = int((number < self.l).sum())
        if lost:
            best = int(number.min())
            raise RequirementError(
                f"injector: {lost} of {len(value)} rows cannot have l={self.l} valid values, not even with all rows in "
                "one group; " + (f"l={best} can be met" if best > 1 else "no l above 1 can be met")
            )

    def _serve(
        self, group: NDArray[np.int64], kind: NDArray[np.int64], kinds: "_Kinds", aside: NDArray[np.int64]
    ) -> None:
        """Give each row left over a group, merged with others until the row has l valid values (lines 18 to 23).

        `group` (rows,) changes in place; -1 are the rows left over.
        """
        if not (group >= 0).any():  # no group came about: the whole table is one, and that was found feasible
            group[:] = 0
            return
        groups = int(group.max()) + 1
        members: list[list[int]] = [[] for _ in range(groups)]  # the kinds of each group's people
        for row in np.flatnonzero(group >= 0).tolist():
            members[group[row]].append(kind[row])
        apart = np.stack([kinds.clash[:, them].sum(axis=1) for them in members], axis=1)  # (kinds, groups)
        holds = np.zeros((groups, kinds.never.shape[1]), dtype=bool)  # the values of each group
        holds[group[group >= 0], kinds.value[kind[group >= 0]]] = True
        into = np.arange(groups)  # what each group was merged into
        left = _rows_left(group, kind, len(kinds.value))
        for k in aside.tolist():
            alive = into == np.arange(groups)
            mine = int(np.where(alive, apart[k], len(kind)).argmin())
            while True:
                if kinds.served(k, members[mine], self.l):
                    break
                new = np.where(alive, (holds & ~holds[mine]).sum(axis=1), -1)
                new[mine] = -1
                other = int(new.argmax())
                if new[other] < 0:  # all groups are one; with the rows left over it was found feasible
                    group[:] = mine
                    return
                members[mine] += members[other]
                apart[:, mine] += apart[:, other]
                holds[mine] |= holds[other]
                alive[other] = False
                into[into == other] = mine
            group[left[k].pop()] = mine
            members[mine].append(k)
            apart[:, mine] += kinds.clash[:, k]
            holds[mine, kinds.value[k]] = True
        group[:] = into[group]


@dataclass(frozen=True, slots=True, eq=False)
class _Kinds:
    """Kinds of people: those with the same value and the same impossible ones."""

    value: NDArray[np.int64]  # (kinds,)
    never: NDArray[np.bool_]  # (kinds, values)
    clash: NDArray[np.bool_]  # (kinds, kinds) do not go together: the same value, or one that the other never has

    @classmethod
    def of(cls, value: NDArray[np.int64], never: NDArray[np.bool_]) -> "_Kinds":
        """Who goes together: definition 3.4.2."""
        return cls(value, never, (value[:, None] == value) | never[:, value] | never[:, value].T)

    def served(self, kind: int, members: list[int], l: int) -> bool:
        """Whether somebody of this kind would have l valid values in a group."""
        # Two who go together can change places.
        swaps = {int(self.value[k]) for k in members if not self.clash[kind, k]}
        if len(swaps) + 1 >= l:
            return True
        everyone = np.array([kind, *members])
        zeros = np.zeros(len(everyone), dtype=np.int64)
        return bool(valid_values(zeros, self.value[everyone], ~self.never[everyone])[0].sum() >= l)


def _placed(kind: NDArray[np.int64], groups: NDArray[np.int64], engine: Engine) -> NDArray[np.int64]:
    """(rows,) the group of each row, -1 for those left over: the rows of a kind in drawn order."""
    order = engine.named("injector").generator().permutation(len(kind))
    order = order[np.argsort(kind[order], kind="stable")]  # by kind
    first = np.searchsorted(kind[order], np.arange(int(kind.max()) + 1))
    wanted = groups.ravel()
    number = np.repeat(np.arange(len(groups)), groups.shape[1])
    by_kind = np.argsort(wanted, kind="stable")
    taken = np.arange(len(wanted)) - np.searchsorted(wanted[by_kind], wanted[by_kind])
    group = np.full(len(kind), -1, dtype=np.int64)
    group[order[first[wanted[by_kind]] + taken]] = number[by_kind]
    return group


def _rows_left(group: NDArray[np.int64], kind: NDArray[np.int64], kinds: int) -> list[list[int]]:
    """Per kind: the rows without a group."""
    left: list[list[int]] = [[] for _ in range(kinds)]
    for row in np.flatnonzero(group < 0).tolist():
        left[kind[row]].append(row)
    return left
