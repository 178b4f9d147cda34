"""Coalitions: members of the table who tell each other their own values (Torra 2024, internal attacks)."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.background import PeopleGroups
from unveil.attackers.posterior.roster import place_members, with_roster
from unveil.data.belief import Belief, Diagnostics, Prior, Targets, Threat, describe_targets
from unveil.data.person_prior import PersonPrior
from unveil.data.release import Release
from unveil.errors import UsageError
from unveil.kernels import assignment as kernels

__all__ = ["believe_coalitions"]

MOST_COALITIONS = 2000  # tried for one person; above it, members join one by one


def believe_coalitions(
    release: Release,
    everyone: Targets,
    values: NDArray[np.integer],
    knowledge: PersonPrior | Prior,
    *,
    m: int,
    cost: float = 2e6,
) -> Belief:
    """What the worst m fellow members of each person's group believe of that person, together.

    `everyone` is a roster, `values` what each of them knows of themselves. Worst: the m whose values, once they leave
    the group, make the person's own value most believed. With m as large as the rest of the group it is certain. Up to
    2,000 different coalitions are all tried; beyond, members join one by one, each time the worst, which may miss a
    worse one.
    """
    if m < 1:
        raise UsageError(f"coalition: m={m}; at least one member must tell")
    if len(values) != everyone.count:
        raise UsageError("everybody in the table needs the value they know of themselves")
    group = place_members(release, everyone)
    one = with_roster(release, replace(everyone, group=group))
    groups = PeopleGroups.of(one.release, everyone.asked)
    entry = groups.entries(one.release, one.targets(replace(everyone, group=group)))
    held = groups.held(one.release, knowledge)[entry]
    belief = np.zeros(held.shape)
    tally = {"omega": 0, "greedy": 0}
    order = np.argsort(group, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        _solve(members, held, np.asarray(values, dtype=np.int64), m, cost, belief, tally)
    exact = not any(tally.values())
    facts = {} if exact else {"omega_beliefs": float(tally["omega"]), "greedy_people": float(tally["greedy"])}
    threat = Threat(
        target=describe_targets(release, everyone),
        group="known",
        others=f"the quasi-identifiers of everybody in the table, and the values of the worst {m} in the group",
        population=knowledge.source,
    )
    method = (
        "exact" if exact else "the worst coalition sought step by step, or the Omega-estimate, where groups are large"
    )
    return Belief(belief, diagnostics=Diagnostics(method, facts=facts), threat=threat)


def _solve(
    members: NDArray[np.int64],
    held: NDArray[np.float64],
    values: NDArray[np.int64],
    m: int,
    cost: float,
    belief: NDArray[np.float64],
    tally: dict[str, int],
) -> None:
    """Beliefs about the members of one group; people of one kind (what is held of them, own value) share theirs."""
    weight, own = held[members], values[members]
    if len(members) - 1 <= m:
        belief[members, own] = 1.0
        return
    _, row = np.unique(weight, axis=0, return_inverse=True)
    _, first, kind = np.unique(row.reshape(-1) * held.shape[1] + own, return_index=True, return_inverse=True)
    of_kind = np.bincount(kind)
    for target, example in enumerate(first.tolist()):
        fellows = of_kind.copy()
        fellows[target] -= 1
        best, greedy = None, False
        for chosen in _coalitions(fellows, m):
            if chosen is None:
                greedy = True
                break
            found = _after(weight, own, kind, example, chosen, cost, tally)
            if best is None or found[own[example]] > best[own[example]]:
                best = found
        if greedy:
            best = _one_by_one(weight, own, kind, example, fellows, m, cost, tally)
            tally["greedy"] += int(of_kind[target])
        belief[members[kind == target]] = best


def _coalitions(fellows: NDArray[np.int64], m: int) -> Iterator[tuple[int, ...] | None]:
    """Kinds of the members of each different coalition; None once there are too many."""
    kinds = np.flatnonzero(fellows).tolist()
    tried = 0
    for chosen in combinations_with_replacement(kinds, m):
        if all(chosen.count(k) <= fellows[k] for k in set(chosen)):
            tried += 1
            yield chosen if tried <= MOST_COALITIONS else None


def _after(
    weight: NDArray[np.float64],
    own: NDArray[np.int64],
    kind: NDArray[np.int64],
    target: int,
    chosen: tuple[int, ...],
    cost: float,
    tally: dict[str, int],
) -> NDArray[np.float64]:
    """(values,) the belief about a target once a coalition has left the group with its values."""
    stay = np.ones(len(own), dtype=bool)
    for k in chosen:
        free = np.flatnonzero(stay & (kind == k) & (np.arange(len(own)) != target))
        stay[free[0]] = False
    left, counts = np.unique(own[stay], return_counts=True)
    part = np.ascontiguousarray(weight[stay][:, left])
    found = np.zeros(part.shape)
    states = float(np.prod(counts + 1.0)) * part.size
    if states <= cost and not kernels.alike(part):
        good = kernels.exact_marginals(part, counts.astype(np.int64), found)
    else:
        good = kernels.omega_marginals(part, counts.astype(np.int64), found)
        tally["omega"] += 0 if kernels.alike(part) else 1
    if not good:
        raise UsageError("coalition: what is held beforehand rules out the members' own values")
    belief = np.zeros(weight.shape[1])
    belief[left] = found[int(stay[:target].sum())]
    return belief


def _one_by_one(
    weight: NDArray[np.float64],
    own: NDArray[np.int64],
    kind: NDArray[np.int64],
    target: int,
    fellows: NDArray[np.int64],
    m: int,
    cost: float,
    tally: dict[str, int],
) -> NDArray[np.float64]:
    chosen: tuple[int, ...] = ()
    best = np.zeros(weight.shape[1])
    left = fellows.copy()
    for _ in range(m):
        step: tuple[NDArray[np.float64], int] | None = None
        for k in np.flatnonzero(left).tolist():
            found = _after(weight, own, kind, target, (*chosen, k), cost, tally)
            if step is None or found[own[target]] > step[0][own[target]]:
                step = found, k
        assert step is not None  # there are more fellows than members of the coalition
        best, k = step
        chosen = (*chosen, k)
        left[k] -= 1
    return best
