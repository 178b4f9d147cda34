"""Faithfulness: how close what a release teaches is to what the original would teach."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.contract import Chains, Posterior, posterior
from unveil.attackers.posterior.joined import join
from unveil.attackers.posterior.linked_posterior import LinkedPosterior
from unveil.attackers.posterior.mode import modal_posterior
from unveil.data.belief import Estimate, Known, Prior, Targets, t_quantile
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.data.table import Table
from unveil.engine import Engine

__all__ = ["faithfulness", "original_as"]

MOST_CELLS = 200_000  # of the product domain that are added up one by one
AT_ONCE = 20_000


def faithfulness(
    release: Release,
    table: Table,
    asked: int,
    *,
    prior: Prior | None = None,
    engine: Engine | None = None,
    chains: Chains | None = None,
    draws: int = 20_000,
    ideal_by: Literal["average", "mode"] = "average",
    joined: Sequence[Sequence[str]] = (),
    learned: Posterior | None = None,
    ideal: Posterior | None = None,
) -> Estimate:
    """1 - total variation between p_I, learned from the original, and p_L (Boreale et al. 2020, def. 2).

    Exact over the product domain where it has at most 200,000 cells. Else by draws from p_I of (1 - p_L/p_I)+, which
    has the same mean and lies in [0, 1]; the estimator printed as eq. 21 is unbounded. `ideal_by`: p_I averaged over
    the posterior, or at its mode (note 2). `joined`: attributes that the model takes as one, as in the schema.
    `learned`, `ideal`: the release's posterior and the original's, if they are there already.
    """
    prior = Prior.uninformative(release, asked) if prior is None else prior
    original = original_as(release, table) if ideal is None else None
    if joined:
        one = join(release, joined, asked)
        original = None if original is None else join(original, joined, asked).release
        prior = one.prior(prior, asked)
        release, asked = one.release, one.position(asked)
    engine = Engine(seed=0) if engine is None else engine
    chains = Chains() if chains is None else chains
    if original is not None and ideal_by == "mode":
        ideal = modal_posterior(original, asked, prior)
    elif original is not None:
        ideal = posterior(original, asked, prior, engine.named("ideal"), chains)
    learned = posterior(release, asked, prior, engine, chains) if learned is None else learned
    assert isinstance(ideal, LinkedPosterior)
    others = [i for i in range(len(release.attributes)) if i != asked]
    cells = math.prod(release.attributes[i].codes for i in others)
    if cells * release.attributes[asked].codes <= MOST_CELLS:
        return _summed(release, others, asked, cells, ideal, learned)
    return _drawn(release, others, asked, ideal, learned, engine.named("faithfulness"), draws)


def original_as(release: Release, table: Table) -> Release:
    """The original with the release's attributes: every row a group of its own, every cell a value."""
    columns = [table.column_of(attribute) for attribute in release.attributes]
    part = BlockRows(tuple(range(len(columns))), np.arange(table.rows), tuple(columns))
    return build_release(release.attributes, [Regions.singles(a.codes) for a in release.attributes], [part])[0]


def _targets(release: Release, others: list[int], asked: int, codes: list[NDArray[np.int64]]) -> Targets:
    known = {i: Known.exactly(release.attributes[i], c) for i, c in zip(others, codes, strict=True)}
    return Targets(asked, known, len(codes[0]) if codes else 1)


def _summed(
    release: Release, others: list[int], asked: int, cells: int, ideal: Posterior, learned: Posterior
) -> Estimate:
    sizes = [release.attributes[i].codes for i in others]
    pooled, each = 0.0, None
    for start in range(0, cells, AT_ONCE):
        number = np.arange(start, min(start + AT_ONCE, cells))
        codes = [np.asarray(c, dtype=np.int64) for c in np.unravel_index(number, sizes)] if sizes else []
        targets = _targets(release, others, asked, codes)
        truth = ideal.joint_mean(targets)[0]
        found = learned.joint_mean(targets)
        pooled += float(np.abs(found.mean(axis=0) - truth).sum()) / 2
        part = np.abs(found - truth).sum(axis=(1, 2)) / 2
        each = part if each is None else each + part
    assert each is not None
    return _interval(1 - pooled, 1 - each, 0.0)


def _drawn(
    release: Release,
    others: list[int],
    asked: int,
    ideal: LinkedPosterior,
    learned: Posterior,
    engine: Engine,
    draws: int,
) -> Estimate:
    random = engine.generator()
    value = random.choice(len(ideal.value_share), size=draws, p=ideal.value_share / ideal.value_share.sum())
    codes = []
    for index in others:
        bounds = np.cumsum(ideal.shares(index)[0], axis=1)
        at = random.random(draws) * bounds[value, -1]
        drawn = np.empty(draws, dtype=np.int64)
        for held in np.unique(value):  # a search in each row of bounds: draws × codes would not fit into memory
            drawn[value == held] = np.searchsorted(bounds[held], at[value == held])
        codes.append(drawn)
    short, pooled, error = [], [], 0.0
    for start in range(0, draws, AT_ONCE):
        piece = slice(start, start + AT_ONCE)
        targets = _targets(release, others, asked, [c[piece] for c in codes])
        row, held = np.arange(targets.count), value[piece]
        truth = ideal.joint_mean(targets)[0][row, held]
        found = learned.joint_mean(targets)[:, row, held]
        short.append(np.maximum(1 - found / truth, 0.0))
        pooled.append(np.maximum(1 - found.mean(axis=0) / truth, 0.0))
    every = np.concatenate(pooled)
    error = 1.96 * float(every.std(ddof=1)) / math.sqrt(draws)
    return _interval(1 - float(every.mean()), 1 - np.concatenate(short, axis=1).mean(axis=1), error)


def _interval(value: float, each: NDArray[np.float64], error: float) -> Estimate:
    """Spread between chains and error of the draws, added in squares; faithfulness stays in [0, 1]."""
    half = 0.0 if len(each) < 2 else t_quantile(len(each)) * float(each.std(ddof=1)) / math.sqrt(len(each))
    half = math.hypot(half, error)
    return Estimate(value, max(min(value, value - half), 0.0), min(max(value, value + half), 1.0))
