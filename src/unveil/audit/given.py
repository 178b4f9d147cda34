"""Given: what an attack is told beside the release: a roster, knowledge of everybody, the values of some."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.background import BackgroundKnowledge, OthersValues
from unveil.attackers.posterior.coalition import believe_coalitions
from unveil.attackers.posterior.roster import member_block, with_roster
from unveil.audit.attack import Attack, targets_of_file
from unveil.catalog import make, member, parse
from unveil.data.attribute import Role
from unveil.data.belief import Belief, Prior, Targets
from unveil.data.person_prior import PersonPrior
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.errors import NotApplicable, UsageError
from unveil.formats.tables import Columns

__all__ = ["ReaderView", "others_of_file"]


@dataclass(frozen=True, slots=True, eq=False)
class ReaderView:
    """A release as whoever has been told these things sees it."""

    release: Release
    targets: Targets
    published: Release  # as everybody sees it
    held: PersonPrior | None  # of everybody, beforehand
    prior: Prior | None  # the same for those who learn
    everyone: Targets | None  # all rows of the original, in its order
    values: NDArray[np.int64] | None  # (rows,) what each knows of themselves

    @classmethod
    def of(
        cls,
        release: Release,
        targets: Targets,
        table: Table | None,
        knowledge: str | None = None,
        *,
        roster: bool = False,
        assignment: NDArray[np.integer] | None = None,
        strength: float = 1.0,
    ) -> "ReaderView":
        """`knowledge`: NAME:options of a member of that family. `roster`: everybody's quasi-identifiers are known.

        `assignment`: the group of each row, where a person's cells fit more than one.
        """
        if table is None:
            if knowledge is not None or roster:
                raise UsageError("knowledge and a roster come from the original table; give --original DATA")
            return cls(release, targets, release, None, None, None, None)
        name = release.attributes[targets.asked].name
        everyone = targets_of_table(table, release, targets.asked, group=assignment)
        published = release
        values = table.columns[table.index(name)].astype(np.int64)
        if roster and not _shows_cells(release, targets.asked):
            one = with_roster(release, everyone)
            release, targets = one.release, one.targets(targets)
        held, prior = None, None
        if knowledge is not None:
            kind, options = parse(knowledge)
            held = make(member("knowledge", kind), options, kind).prior(table, name)
            columns = [table.columns[i] for i in table.with_role(Role.QUASI_IDENTIFIER)]
            cells = np.stack(columns, axis=1) if columns else np.zeros((table.rows, 0), dtype=np.int64)
            prior = held.pseudo_counts(release, targets.asked, cells, strength=strength)
        return cls(release, targets, published, held, prior, everyone, values)

    def hand_to(self, attackers: Mapping[str, Any], others: OthersValues | None = None) -> dict[str, Any]:
        """The attackers who can use it, told; the population's prior is for the others."""
        if others is not None and not any(isinstance(a, BackgroundKnowledge) for a in attackers.values()):
            raise UsageError("the values of others are used by background; add --attacker background")
        return {
            name: replace(one, knowledge=self.held, others=others) if isinstance(one, BackgroundKnowledge) else one
            for name, one in attackers.items()
        }

    def rule_out(self, found: Attack, told: Collection[str]) -> Attack:
        """What is impossible of a target by what is held, as exact zeros for the learner and all attackers not `told`.

        Only of targets whose quasi-identifiers are known exactly, and rightly; else nothing is ruled out.
        """
        if self.held is None:
            return found
        try:
            never = self.held.of_targets(self.release, self.targets) <= 0
        except UsageError:
            return found
        if not never.any():
            return found
        attackers = {n: b if n in told else b.ruling_out(never) for n, b in found.attackers.items()}
        return replace(found, learner=found.learner.ruling_out(never), attackers=attackers)

    def coalition(self, m: int) -> Belief:
        """What the worst m fellow members of each row's group believe; random worlds if nothing is held beforehand."""
        if self.everyone is None or self.values is None:
            raise UsageError("a coalition's members know their own values; give --original DATA")
        held = Prior.uninformative(self.published, self.targets.asked) if self.held is None else self.held
        return believe_coalitions(self.published, self.everyone, self.values, held, m=m)


def others_of_file(columns: Columns, release: Release, asked: int, *, name: str) -> OthersValues:
    """People whose value is known: a column for each quasi-identifier, and one for the value."""
    attribute = release.attributes[asked]
    if attribute.name not in columns.columns:
        raise UsageError(f"{name}: has no column {attribute.name}, the value that is known of each")
    known = [key for key in columns.columns if key != attribute.name]
    column = columns.columns[attribute.name]
    codes = attribute.encode(column.texts, columns.decimal)
    for row in np.flatnonzero((codes < 0)[column.text_of_row])[:1]:
        raise UsageError(f"{name}, {columns.place(int(row))}: no value of {attribute.name}")
    people = targets_of_file(columns, release, asked, name=name, known=known)
    return OthersValues(people, codes[column.text_of_row])


def _shows_cells(release: Release, asked: int) -> bool:
    try:
        member_block(release, asked)
    except NotApplicable:
        return False
    return True
