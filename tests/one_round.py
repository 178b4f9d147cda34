"""Attacks and audits by one round of chains, unless a test says how long they run.

Running on until beliefs are precise takes minutes. Fewer states are looked at than usual: on small releases a look
costs far more than the sweeps between.
"""

from collections.abc import Mapping
from typing import Any

from unveil import attackers
from unveil.attackers import Attacker
from unveil.attackers.posterior.convergence import Chains
from unveil.audit import Audit, run
from unveil.audit import attack as attacks
from unveil.data.belief import Belief, Prior
from unveil.data.release import Release
from unveil.data.targets import Targets
from unveil.engine import Engine

__all__ = ["ONE_ROUND", "attack", "run_attack", "run_audit"]

ONE_ROUND = Chains(sweeps=400, burn_in=200, most_sweeps=0, every=8)


def attack(
    attacker: Attacker,
    release: Release,
    targets: Targets,
    prior: Prior | None = None,
    engine: Engine | None = None,
    chains: Chains = ONE_ROUND,
) -> Belief:
    """What one attacker believes."""
    return attackers.attack(attacker, release, targets, prior, engine, chains)


def run_attack(release: Release, targets: Targets, readers: Mapping[str, Any], **options: Any) -> attacks.Attack:
    """What several readers believe."""
    return attacks.run_attack(release, targets, readers, **{"chains": ONE_ROUND, **options})


def run_audit(releases: Mapping[str, Any], **options: Any) -> Audit:
    """An audit of these releases; the panel, which asks everything several times, only if a test asks for it."""
    return run.run_audit(releases, **{"chains": ONE_ROUND, "panel": False, **options})
