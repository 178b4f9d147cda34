"""Readers of a release with perturbed columns: they know, or it was estimated, what shown values say of true ones."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.contract import Chains
from unveil.audit.attack import Attack, run_attack
from unveil.data.belief import Belief, Known, Prior, Targets
from unveil.data.mixture import mixture_of
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.risk.perturbation.channels import channels_of

__all__ = ["run_mixture_attack"]

MOST_VALUES = 1000
MOST_KNOWN = 200_000_000  # kinds of people × shown values, as likelihoods


def run_mixture_attack(
    given: Release,
    table: Table,
    asked: int,
    attackers: Mapping[str, Any],
    *,
    group: NDArray[np.integer] | None,
    known: list[str] | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    engine: Engine | None = None,
    chains: Chains | None = None,
) -> Attack:
    """Ask the learner and every attacker about every row of a table, whatever was done to each column.

    What is known of a perturbed column is a likelihood of what it shows; beliefs about one are turned into beliefs
    about true values. A channel that is neither stated nor can be estimated is refused: nobody could say what is
    understated.
    """
    attribute = given.true_attributes[asked]
    if attribute.codes > MOST_VALUES:
        raise NotApplicable(
            f"{attribute.name} has {attribute.codes:,} values, over {MOST_VALUES:,}; declare bins for it"
        )
    plain = targets_of_table(table, given, asked, known=known)
    mixture = mixture_of(given)
    channels = channels_of(given, mixture, table, group)
    named = {attribute.name, *(given.attributes[i].name for i in plain.known)}
    lacking = [name for name in channels.unknown if name in named]
    if lacking:
        raise NotApplicable(
            f"{lacking[0]} was perturbed, and nothing says how: neither chances nor whose row is whose "
            "(--assignment, --key or --aligned)"
        )
    held: dict[int, Known] = {}
    for index, one in plain.known.items():
        channel = channels.of.get(index)
        if channel is not None and channel.chance.size > MOST_KNOWN:
            raise NotApplicable(f"{given.attributes[index].name} has too many values; declare bins for it")
        held[index] = one if channel is None else channel.known(one.of_target)
    release = mixture.release
    found = run_attack(
        release,
        Targets(asked, held, table.rows),
        attackers,
        prior=Prior.uninformative(release, asked, alpha=alpha, beta=beta),
        engine=engine,
        chains=chains,
        lenient=True,
    )
    channel = channels.of.get(asked)

    def of_truth(belief: Belief) -> Belief:
        told = belief if channel is None else channel.of_truth(belief)
        how = ", ".join(sorted({one.source for one in channels.of.values()}))
        return replace(told, threat=replace(told.threat, mechanism=f"known: what perturbed values say ({how})"))

    believed = {name: of_truth(belief) for name, belief in found.attackers.items()}
    return replace(found, learner=of_truth(found.learner), attackers=believed, targets=plain, learned=None)
