"""Draws of the population's parameters from their posterior given a release, for what means alone cannot tell."""

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import Averages, watched
from unveil.attackers.posterior.chain import Draw
from unveil.attackers.posterior.convergence import BATCHES
from unveil.attackers.posterior.fits import check_targets
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.attackers.posterior.hidden_terms import Term, added
from unveil.attackers.posterior.linked import branch_weights, region_tree
from unveil.attackers.posterior.share_chains import ShareChains
from unveil.data.belief import Known, Prior, Targets
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import NotApplicable

__all__ = ["LinkedDraws", "Logs", "average_over", "conditional_term", "log_likelihood"]

FOR_A_SWEEP = 4  # draws, where they are cheap
FRESH = 20  # draws of the parameters for each kept state of a matching
AT_ONCE = 1 << 18  # numbers in one piece of draws
SMALLEST = 1e-300

Logs = tuple[NDArray[np.float64], Mapping[int, NDArray[np.float64]]]
"""A piece of draws: logarithms of pi (draws, values) and, by attribute, of theta (draws, values, codes)."""


@dataclass(frozen=True, slots=True, eq=False)
class LinkedDraws:
    """Values stand beside their cells: independent draws from Dirichlet trees, chains where regions overlap."""

    release: Release
    asked: int
    counts: Mapping[int, NDArray[np.int64]]  # by attribute: (values, regions)
    held: NDArray[np.int64]  # (values,) rows that show each value
    prior: Prior
    engine: Engine
    chains: int
    sweeps: int  # of each chain

    @property
    def workers(self) -> int:
        """Threads to use."""
        return self.engine.workers

    @property
    def draws(self) -> int:
        """Draws of each chain."""
        return FOR_A_SWEEP * self.sweeps

    def chain(self, number: int, wanted: Collection[int]) -> Iterator[Logs]:
        """The draws of one chain, in pieces; of the parameters of the wanted attributes only."""
        engine = self.engine.named(f"draws {number}")
        random = engine.generator()
        alpha = self.prior.alpha + self.held
        largest = max((r.codes for r in self.release.regions), default=1)
        piece = min(max(AT_ONCE // (len(alpha) * largest), 1), self.draws)
        sources = {i: self._of_attribute(i, piece, engine.named(self.release.attributes[i].name)) for i in wanted}
        for start in range(0, self.draws, piece):
            log_pi = _dirichlet(random, np.broadcast_to(alpha, (piece, len(alpha))))
            log_theta = {i: next(source) for i, source in sources.items()}
            many = min(piece, self.draws - start)
            yield log_pi[:many], {i: logs[:many] for i, logs in log_theta.items()}

    def _of_attribute(self, index: int, piece: int, engine: Engine) -> Iterator[NDArray[np.float64]]:
        """Pieces (draws, values, codes) of logarithms of the shares, without end."""
        regions, counts, prior = self.release.regions[index], self.counts[index], self.prior.beta[index]
        random = engine.generator()
        whole = _tree_draw(regions, counts, prior, random)
        if whole is not None:
            while True:
                yield whole(piece)
        alone = [_tree_draw(regions, counts[v : v + 1], prior[v : v + 1], random) for v in range(len(prior))]
        exact = np.array([tree is not None for tree in alone])
        sampler = ShareChains.start(regions, counts, prior, exact, engine, 1)
        for task in sampler.tasks():
            sampler.burn_in(task, max(self.sweeps // 5, 50))
        atom = sampler.atom
        while True:
            found = np.empty((piece, *prior.shape))
            for value, tree in enumerate(alone):
                if tree is not None:
                    found[:, value] = tree(piece)[:, 0]
                    continue
                own = sampler.own_atoms(value)[atom]  # (codes,)
                at = np.empty((piece, int(own.max()) + 1))
                for number in range(piece):
                    at[number] = sampler.state((0, value))
                share = at - _log_sum(at)
                within = _log_shares(random, np.broadcast_to(prior[value][:, None], (regions.codes, piece)), own)
                found[:, value] = share[:, own] + within.T
            yield found


def conditional_term(model: HiddenModel, targets: Targets) -> Term:
    """Eq. 6 where the link is hidden: given a state's matched rows the parameters are Dirichlet, drawn a few times.

    A mirror image (`Tempering.mirrored`) is one draw of the parameters: no matched rows stand behind it.
    """
    check_targets(model.release, targets)
    _refuse_smooth(model.prior)
    prior, asked = model.prior, model.asked
    few = watched(targets.count, model.values)
    at_once = max(AT_ONCE // max(targets.count * model.values, 1), 1)

    def one(state: Draw) -> NDArray[np.float64]:
        if state.mean is state.theta:
            theta = {i: np.log(np.maximum(state.theta[i], SMALLEST))[None] for i in targets.known}
            return np.asarray(_conditioned((np.log(np.maximum(state.pi, SMALLEST))[None], theta), targets)[0])
        alpha = state.pi_mean * (prior.alpha.sum() + model.release.rows)  # a mean times its total
        found = {}
        for i in (asked, *targets.known):
            total = prior.beta[i].sum(axis=1) + alpha - prior.alpha if i != asked else alpha
            shape = alpha if i == asked else state.mean[i] * total[:, None]
            random = np.random.Generator(np.random.PCG64([int(state.key), i]))
            found[i] = _dirichlet(random, np.broadcast_to(shape, (FRESH, *shape.shape)))
        total_belief = np.zeros((targets.count, model.values))
        for first in range(0, FRESH, at_once):
            some = slice(first, first + at_once)
            logs = found[asked][some], {i: found[i][some] for i in targets.known}
            total_belief += _conditioned(logs, targets).sum(axis=0)
        return total_belief / FRESH

    cost = FRESH * targets.count * model.values * (len(targets.known) + 1)
    shape = targets.count, model.values
    return Term(shape, added(one), lambda mean: mean, lambda mean: mean[few], cost)


def _refuse_smooth(prior: Prior) -> None:
    if prior.smooth:
        raise NotApplicable("conditional_learner cannot take smoothed attributes: it draws parameters, not centres")


def _conditioned(logs: Logs, targets: Targets) -> NDArray[np.float64]:
    """(draws, targets, values) p(s | what is known, these parameters)."""
    log_pi, log_theta = logs
    total = np.repeat(log_pi[:, None], targets.count, axis=1)
    for index, known in targets.known.items():
        total += log_likelihood(log_theta[index], known)[:, known.of_target]
    weight = np.exp(total - total.max(axis=2, keepdims=True))
    return np.asarray(weight / weight.sum(axis=2, keepdims=True))


def average_over(source: LinkedDraws, targets: Targets) -> Averages:
    """p(s | what is known, the parameters), averaged over the draws of each chain and over batches of them."""
    _refuse_smooth(source.prior)
    few = watched(targets.count, len(source.held))
    batches = min(BATCHES, source.draws)
    bound = np.linspace(0, source.draws, batches + 1).astype(np.int64)

    def chain(number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        done, batch = 0, -1
        total, parts = np.zeros(0), []
        for log_pi, log_theta in source.chain(number, sorted(targets.known)):
            at_once = max(AT_ONCE // max(targets.count * log_pi.shape[1], 1), 1)
            for first in range(0, len(log_pi), at_once):
                some = slice(first, first + at_once)
                for found in _conditioned((log_pi[some], {i: log[some] for i, log in log_theta.items()}), targets):
                    if done == bound[batch + 1]:
                        batch += 1
                        parts.append(np.zeros_like(found[few]))
                    total = found if not done else total + found
                    parts[batch] += found[few]
                    done += 1
        return total / done, np.stack(parts) / np.diff(bound)[:, None, None]

    with ThreadPoolExecutor(source.workers) as pool:
        found = list(pool.map(chain, range(source.chains)))
    return Averages(np.stack([f[0] for f in found]), np.stack([f[1] for f in found], axis=1))


def log_likelihood(logs: NDArray[np.float64], known: Known) -> NDArray[np.float64]:
    """(draws, knowledge, values) log likelihood of what is known, from logarithms (draws, values, codes) of shares."""
    single = known.regions.single()
    by_code = logs.transpose(2, 0, 1)
    if (single >= 0).all():  # sums by differences would lose small shares
        inside = by_code[single]
        if known.wrong == 0:
            return inside.transpose(1, 0, 2)
        share = np.exp(inside)
    else:
        share = known.totals(np.ascontiguousarray(np.exp(by_code)))
    mistaken = known.mistaken()[:, None, None]
    found = np.log(np.maximum(mistaken + (1 - known.wrong - mistaken) * share, SMALLEST))
    return np.asarray(found.transpose(1, 0, 2))


def _tree_draw(
    regions: Regions, counts: NDArray[np.int64], prior: NDArray[np.float64], random: np.random.Generator
) -> Callable[[int], NDArray[np.float64]] | None:
    """Draws (draws, values, codes) logarithms of shares from a Dirichlet tree; None where regions overlap unnested."""
    tree = region_tree(regions, np.flatnonzero(counts.sum(axis=0)))
    if tree is None:
        return None
    parent = tree[0]
    weight, depth = branch_weights(*tree, counts, prior)
    below = np.flatnonzero(depth)
    levels = [np.flatnonzero(depth == level) for level in range(2, int(depth.max()) + 1)]

    def draw(draws: int) -> NDArray[np.float64]:
        logs = np.zeros((len(parent), draws * len(prior)))
        logs[below] = _log_shares(random, np.tile(weight[below], (1, draws)), parent[below])
        for these in levels:  # a code's share is the product of the branches on its path
            logs[these] += logs[parent[these]]
        return logs[: regions.codes].reshape(regions.codes, draws, len(prior)).transpose(1, 2, 0)

    return draw


def _dirichlet(random: np.random.Generator, shape: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of Dirichlet draws along the last axis."""
    logs = _log_gamma(random, shape)
    return np.asarray(logs - _log_sum(logs))


def _log_gamma(random: np.random.Generator, shape: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gamma(a) = Gamma(a + 1) · U^(1/a), in logarithms: with small shapes plain draws would all be zero."""
    return np.asarray(np.log(random.standard_gamma(shape + 1)) + np.log(1 - random.random(shape.shape)) / shape)


def _log_sum(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=-1, keepdims=True)))


def _log_shares(
    random: np.random.Generator, shape: NDArray[np.float64], family: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Logarithms of Dirichlet draws: `shape` (n, columns) within each `family` (n,), columns on their own."""
    logs = _log_gamma(random, shape)
    order = np.argsort(family, kind="stable")
    ordered = family[order]
    start = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    size = np.diff(np.append(start, len(order)))
    top = np.repeat(np.maximum.reduceat(logs[order], start, axis=0), size, axis=0)
    total = np.add.reduceat(np.exp(logs[order] - top), start, axis=0)
    found = np.empty_like(logs)
    found[order] = logs[order] - top - np.log(np.repeat(total, size, axis=0))
    return found
