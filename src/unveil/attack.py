"""Attack: what one or more attackers believe of each person, beside the learner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers._posterior import Chains, Posterior, posterior
from unveil.attackers.learner import Learner
from unveil.attribute import Role
from unveil.belief import Belief, Known, Prior, Targets
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.release import Release
from unveil.table import Table

__all__ = ["Attack", "run_attack", "targets_of_table"]


@dataclass(frozen=True, slots=True, eq=False)
class Attack:
    """Beliefs about the same people: the learner's, and each attacker's by name."""

    learner: Belief
    attackers: Mapping[str, Belief]
    targets: Targets


def run_attack(
    release: Release,
    targets: Targets,
    attackers: Mapping[str, Any],
    *,
    prior: Prior | None = None,
    engine: Engine | None = None,
    chains: Chains | None = None,
) -> Attack:
    """Ask the learner and every attacker about the targets; what is learned from the release is learned once."""
    prior = Prior.uninformative(release, targets.asked) if prior is None else prior
    engine = Engine() if engine is None else engine
    if release.attributes[targets.asked].kind.measured and release.attributes[targets.asked].codes > 1000:
        name = release.attributes[targets.asked].name
        raise UsageError(
            f"{name} has {release.attributes[targets.asked].codes} values, over 1,000; declare bins for it"
        )
    learned = posterior(release, targets.asked, prior, engine, Chains() if chains is None else chains)
    distinct, number = targets.distinct()
    found = {name: _ask(attacker, learned, release, targets, prior, engine) for name, attacker in attackers.items()}
    return Attack(Learner().believe(learned, distinct).of(number), found, targets)


def _ask(attacker: Any, learned: Posterior, release: Release, targets: Targets, prior: Prior, engine: Engine) -> Belief:
    distinct, number = targets.distinct()
    if isinstance(attacker, Learner):
        return attacker.believe(learned, distinct).of(number)
    if hasattr(attacker, "believe"):
        return attacker.believe(learned, distinct, number)  # type: ignore[no-any-return]
    return attacker.attack(release, targets, prior, engine)  # type: ignore[no-any-return]


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
