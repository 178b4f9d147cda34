"""Attack: what one or more attackers believe of each person, beside the learner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers._fits import check_targets
from unveil.attackers._posterior import Chains, learn
from unveil.attackers.learner import Learner
from unveil.attribute import Role
from unveil.belief import Belief, Known, Prior, Targets, describe_targets
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError, shown
from unveil.formats.cells import CellError, read_cells, write_cells
from unveil.formats.tables import Columns
from unveil.joined import join
from unveil.release import Release
from unveil.table import Table

__all__ = ["Attack", "run_attack", "targets_of_file", "targets_of_table"]


@dataclass(frozen=True, slots=True, eq=False)
class Attack:
    """Beliefs about the same people: the learner's, and each attacker's by name."""

    learner: Belief
    attackers: Mapping[str, Belief]
    targets: Targets

    def known_texts(self, release: Release) -> dict[str, list[str]]:
        """What is known of each target, as text, by attribute."""
        found = {}
        for index, known in self.targets.known.items():
            texts = np.array(write_cells(known.regions, release.attributes[index]), dtype=object)
            found[release.attributes[index].name] = texts[known.of_target].tolist()
        return found


def run_attack(
    release: Release,
    targets: Targets,
    attackers: Mapping[str, Any],
    *,
    prior: Prior | None = None,
    engine: Engine | None = None,
    chains: Chains | None = None,
    joined: Sequence[Sequence[str]] = (),
) -> Attack:
    """Ask the learner and every attacker about the targets; what is learned from the release is learned once.

    `joined`: names of attributes that the model takes as one, as in the schema.
    """
    if joined:
        return _run_joined(release, targets, attackers, prior, engine, chains, joined)
    check_targets(release, targets)
    prior = Prior.uninformative(release, targets.asked) if prior is None else prior
    engine = Engine() if engine is None else engine
    asked = release.attributes[targets.asked]
    if asked.kind.measured and asked.codes > 1000:
        raise NotApplicable(f"{asked.name} has {asked.codes} values, over 1,000; declare bins for it")
    readers = {"learner": Learner(), **{name: a for name, a in attackers.items() if hasattr(a, "believe")}}
    chains = Chains() if chains is None else chains
    found = learn(release, targets, prior, engine, chains, readers)
    beliefs = {
        name: found[name] if name in found else attacker.attack(release, targets, prior, engine)
        for name, attacker in attackers.items()
    }
    return Attack(found["learner"], beliefs, targets)


def _run_joined(
    release: Release,
    targets: Targets,
    attackers: Mapping[str, Any],
    prior: Prior | None,
    engine: Engine | None,
    chains: Chains | None,
    joined: Sequence[Sequence[str]],
) -> Attack:
    """The same over product domains; what is known is described in the release's own attributes."""
    check_targets(release, targets)
    one = join(release, joined, targets.asked)
    held = Prior.uninformative(release, targets.asked) if prior is None else prior
    asked = one.targets(targets)
    found = run_attack(
        one.release, asked, attackers, prior=one.prior(held, targets.asked), engine=engine, chains=chains
    )
    known = describe_targets(release, targets)
    said = {
        name: replace(belief, threat=replace(belief.threat, target=known)) for name, belief in found.attackers.items()
    }
    return Attack(replace(found.learner, threat=replace(found.learner.threat, target=known)), said, targets)


def targets_of_table(
    table: Table,
    release: Release,
    asked: int,
    *,
    known: Sequence[str] | None = None,
    wrong: float = 0.0,
    group: NDArray[np.integer] | None = None,
) -> Targets:
    """Every row of a table as a target of whom the named attributes (all quasi-identifiers) are known."""
    names = (
        [release.attributes[i].name for i in release.with_role(Role.QUASI_IDENTIFIER)] if known is None else list(known)
    )
    found = {}
    for name in names:
        index = release.index(name)
        if index == asked:
            raise UsageError(f"{name} is asked about, so it cannot be known")
        mine = table.attributes[table.index(name)]
        if mine.values != release.attributes[index].values:
            raise UsageError(f"the original's domain of {name} is not the release's; declare it in the schema")
        found[index] = Known.exactly(release.attributes[index], table.columns[table.index(name)], wrong)
    return Targets(asked, found, table.rows, None if group is None else np.asarray(group, dtype=np.int64))


def targets_of_file(
    columns: Columns,
    release: Release,
    asked: int,
    *,
    name: str,
    known: Sequence[str] | None = None,
    wrong: float = 0.0,
) -> Targets:
    """People as a file gives them: a column an attribute, a value or a coarser cell; empty = unknown.

    `known`: the columns to use, all if not given. Where empty is one of the schema's missing tokens it still means
    unknown; write another token for missing.
    """
    absent = [n for n in known or () if n not in columns.columns]
    if absent:
        raise UsageError(f"{name}: has no column {shown(absent[0])}; it has {', '.join(map(shown, columns.columns))}")
    found = {}
    for key, column in columns.columns.items():
        if known is not None and key not in known:
            continue
        if key not in [a.name for a in release.attributes]:
            raise UsageError(f"{name}: the release has no attribute {shown(key)}; leave the column out")
        index = release.index(key)
        if index == asked:
            raise UsageError(f"{name}: {shown(key)} is asked about, so it cannot be known; leave the column out")
        attribute = release.attributes[index]
        texts = [text if text else "*" for text in column.texts]
        try:
            regions = read_cells(texts, attribute, columns.decimal)
        except CellError as error:
            row = int(np.flatnonzero(np.asarray(column.text_of_row) == error.args[1])[0])
            raise UsageError(f"{name}, {columns.place(row)}, {key}: {error.args[0]}") from None
        found[index] = Known(regions, np.asarray(column.text_of_row, dtype=np.int64), wrong)
    return Targets(asked, found, columns.rows)
