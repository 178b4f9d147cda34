"""What one state of a chain says of targets, where the release hides the link: terms whose mean is asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import watched
from unveil.attackers.posterior.chain import Draw
from unveil.attackers.posterior.fits import Fitted, Overlaps, check_targets, knowledge_likelihood
from unveil.attackers.posterior.hidden import HiddenBlock, HiddenModel, region_shares
from unveil.attackers.posterior.products import CellProducts
from unveil.data.belief import Known, Targets
from unveil.data.release import Release
from unveil.kernels import matching

__all__ = ["Term", "added", "chances", "expected_pairs", "joint_term", "support_term"]

Floats = NDArray[np.float64]
COLUMNS_AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A number array of each state; the weights (targets, values) are a linear function of its mean."""

    shape: tuple[int, ...]
    add: Callable[[Draw, Floats], None]  # adds the numbers of a state to an array of this shape
    weights: Callable[[Floats], Floats]  # of a mean: (targets, values)
    few: Callable[[Floats], Floats]  # the same of the watched targets
    cost: int  # numbers that are worked on


def added(one: Callable[[Draw], Floats]) -> Callable[[Draw, Floats], None]:
    """`add` of a Term whose numbers are an array anyway."""

    def add(draw: Draw, out: Floats) -> None:
        out += one(draw)

    return add


def joint_term(model: HiddenModel, targets: Targets) -> Term:
    """p_L(s, what is known | t*): given the matched rows all parameters are independent, so their means multiply."""
    check_targets(model.release, targets)

    pieces = [len(known.regions) for known in targets.known.values()]
    offset = np.concatenate([[0], np.cumsum(pieces)])[:-1].astype(np.int64)
    known_of = [known.of_target.astype(np.int32) for known in targets.known.values()]
    cells = np.stack(known_of, axis=1) if known_of else np.zeros((targets.count, 0), np.int32)
    products = CellProducts.of(cells, offset, pieces)

    certain = {i: code for i, known in targets.known.items() if (code := _known_codes(known)) is not None}

    def add(draw: Draw, out: Floats) -> None:
        tables = [
            draw.mean[i].T[certain[i]] if i in certain else knowledge_likelihood(draw.mean[i], known)
            for i, known in targets.known.items()
        ]
        share = np.concatenate(tables) if tables else np.ones((1, model.values))
        products.add_to(out, share, draw.pi_mean)

    few = watched(targets.count, model.values)
    shape = targets.count, model.values
    return Term(shape, add, lambda mean: mean, lambda mean: mean[few], targets.count * model.values * len(known_of))


def _known_codes(known: Known) -> NDArray[np.integer] | None:
    """(knowledge,) the code that is known, where it is always one and never wrong."""
    code = known.regions.single()
    return code if not known.wrong and (code >= 0).all() else None


def support_term(model: HiddenModel, targets: Targets) -> Term:
    """Expected rows that hold s and fit what is known."""
    release = model.release
    fitted = Fitted.of(release, targets)
    overlaps = fitted.overlaps()
    certain = {i: table for i, o in overlaps.items() if (table := _certain(release, i, o)) is not None}
    column_value, held = _columns(model)
    blocks = {b.number: b for b in model.hidden}
    asked = [blocks[place] for place, _ in fitted.others]
    few = watched(targets.count, model.values)

    def weigh_rows(likelihood: dict[int, Floats], matched: dict[int, Floats], draw: Draw) -> Floats:
        """Each withheld row holds a value: its column counts for that value. A few columns at a time."""
        of_column = np.concatenate([column_value, draw.current])
        found = np.zeros((targets.count, model.values))
        for start in range(0, len(of_column), COLUMNS_AT_ONCE):
            some = slice(start, start + COLUMNS_AT_ONCE)
            full = {i: t if t.shape[1] == 1 else t[:, of_column[some]] for i, t in likelihood.items()}
            part = fitted.weights(full, {b: m[:, some] for b, m in matched.items()}, held[:, some])
            np.add.at(found.T, of_column[some], part.T)
        return found

    if len(certain) == len(overlaps) and len(asked) <= 1 and not len(model.withheld.rows):
        # What is known fits a cell or not, whatever the parameters: the support is linear in the matching.
        return _linear(model, fitted, Fitted.of(release, targets.take(few)), asked, held, len(column_value))

    def one(draw: Draw) -> Floats:
        likelihood = {
            i: certain[i] if i in certain else _likelihood(release, i, o, draw.theta[i]) for i, o in overlaps.items()
        }
        if model.withheld.by_row:
            tables = {b.number: _spread_out(model, b, chances(model, b, draw), held.shape[1]) for b in asked}
            return weigh_rows(likelihood, tables, draw)
        full = {i: t if t.shape[1] == 1 else t[:, column_value] for i, t in likelihood.items()}
        matched = {b.number: _matched(model, b, draw, column_value) for b in asked}
        now = held
        if len(model.withheld.rows) and not asked:
            now = held * _revealed(model, draw, column_value)
        return _fold(fitted.weights(full, matched, now), model.values)

    fits = len(fitted.own.target) + sum(len(f.target) for _, f in fitted.others)
    shape = targets.count, model.values
    return Term(shape, added(one), lambda mean: mean, lambda mean: mean[few], fits * len(column_value))


def _linear(
    model: HiddenModel, fitted: Fitted, few: Fitted, asked: list[HiddenBlock], held: Floats, columns: int
) -> Term:
    """Support from averaged matchings: the term is the expected number of each pair."""
    if not asked:
        return Term((0,), added(lambda draw: np.zeros(0)), lambda _: _rows(fitted, held), lambda _: _rows(few, held), 1)
    block = asked[0]
    every, some = (_map(model, who, block, held) for who in (fitted, few))
    shape = (-1, columns)
    pairs = len(block.entry)
    of = added(lambda draw: expected_pairs(model, block, draw))
    return Term(
        (pairs,), of, lambda mean: (every @ mean).reshape(shape), lambda mean: (some @ mean).reshape(shape), pairs
    )


def _rows(who: Fitted, held: Floats) -> Floats:
    """(targets, values) support of targets of whom nothing in a matched block is known."""
    return who.weights(_certain_ones(who), {}, held)


def _map(model: HiddenModel, who: Fitted, block: HiddenBlock, held: Floats) -> Any:  # a sparse matrix of scipy
    """(targets · values, pairs) what one more of a pair adds to the support: `Fitted.weights`, written as a matrix."""
    from scipy.sparse import csr_array

    groups, values, likelihood = model.release.groups, held.shape[1], _certain_ones(who)
    ((_, fits),) = who.others
    own = who.own.target * groups + who.own.group  # growing, as fits are ordered by target and entries by group
    starts = np.flatnonzero(np.concatenate([[True], own[1:] != own[:-1]])) if len(own) else own
    support = held[who.own.entry] * who.own.product(likelihood)
    support = np.add.reduceat(support, starts, axis=0) if len(starts) else np.zeros((1, values))
    theirs = fits.target * groups + fits.group
    place = np.minimum(np.searchsorted(own[starts], theirs), max(len(starts) - 1, 0))
    kept = np.flatnonzero(own[starts][place] == theirs) if len(starts) else np.zeros(0, np.int64)
    first, last = (np.searchsorted(block.entry, fits.entry[kept], side=side) for side in ("left", "right"))
    fit = np.repeat(kept, last - first)
    stop = np.cumsum(last - first)
    pair = np.arange(len(fit)) + np.repeat(first - stop + last - first, last - first)
    value = block.column[pair]
    chance = fits.product(likelihood)
    number = chance[fit, value if chance.shape[1] > 1 else 0] * support[place[fit], value] / block.rows[pair]
    where = fits.target[fit] * values + value, pair
    return csr_array((number, where), shape=(who.targets.count * values, len(block.entry)))


def _certain_ones(who: Fitted) -> dict[int, Floats]:
    found = {i: _certain(who.release, i, o) for i, o in who.overlaps().items()}
    return {i: table for i, table in found.items() if table is not None}


def _certain(release: Release, index: int, overlaps: Overlaps) -> Floats | None:
    """(overlaps, 1) the likelihood, if every region lies wholly inside or outside what is known; else None."""
    sizes = release.regions[index].sizes[overlaps.region]
    inside = overlaps.shared(np.ones(release.attributes[index].codes))
    if not ((inside == 0) | (inside == sizes)).all():
        return None
    return overlaps.likelihood((inside == sizes).astype(np.float64))[:, None]


def _likelihood(release: Release, index: int, overlaps: Overlaps, theta: Floats) -> Floats:
    """(overlaps, values) likelihood of what is known for a row that shows a region, given the parameters."""
    whole = region_shares(release.regions[index], theta)[overlaps.region]
    return overlaps.likelihood(np.minimum(overlaps.shared(np.ascontiguousarray(theta.T)) / whole, 1.0))


def _columns(model: HiddenModel) -> tuple[NDArray[np.int64], Floats]:
    """The value of each column (values, then for each kind of withheld row all values), and (entries, columns) rows.

    Where each withheld row holds a value, a column for each of them follows instead; its value is the state's.
    """
    values, kinds = model.values, len(model.withheld.rows)
    if model.withheld.by_row:
        return _columns_by_row(model)
    column_value = np.concatenate([np.arange(values)] + [np.arange(values)] * kinds)
    block = model.release.block_of(model.asked)
    value = model.release.regions[model.asked].single()[block.region(model.asked)]
    held = np.zeros((len(block.cell), len(column_value)))
    plain = np.flatnonzero(value >= 0)
    held[plain, value[plain]] = block.count[plain]
    for kind in range(kinds):
        these = np.flatnonzero(model.withheld.column == kind)
        held[these, values * (kind + 1) : values * (kind + 2)] = block.count[these, None]
    return column_value, held


def _columns_by_row(model: HiddenModel) -> tuple[NDArray[np.int64], Floats]:
    values, entry = model.values, model.withheld.entry
    block = model.release.block_of(model.asked)
    value = model.release.regions[model.asked].single()[block.region(model.asked)]
    held = np.zeros((len(block.cell), values + len(entry)))
    plain = np.flatnonzero(value >= 0)
    held[plain, value[plain]] = block.count[plain]
    held[entry, values + np.arange(len(entry))] = 1
    return np.arange(values), held


def _fold(weights: Floats, values: int) -> Floats:
    """(targets, columns) to (targets, values)."""
    if weights.shape[1] == values:
        return weights
    return np.asarray(weights.reshape(len(weights), -1, values).sum(axis=1))


def chances(model: HiddenModel, block: HiddenBlock, draw: Draw) -> Floats:
    """(pairs,) the probability that a row of the pair's column shows the pair's cell, given the parameters."""
    return expected_pairs(model, block, draw) / block.rows


def expected_pairs(model: HiddenModel, block: HiddenBlock, draw: Draw) -> Floats:
    """(pairs,) the expected number of each, given the parameters."""
    place = [b.number for b in model.hidden].index(block.number)
    if draw.expected is not None:
        return draw.expected[place]
    if place in draw.reckoned:
        return draw.reckoned[place]
    if draw.weights is None:
        weights = model.weights(block, draw.theta, draw.pi, draw.current)
    else:
        weights = draw.weights[place]
    partner = draw.partner[place].copy()
    key = np.uint64(int(draw.key) ^ 0x5DEECE66D)
    found = matching.marginals(block.groups, weights, key, partner)
    if draw.weights is not None:  # the state just reached: other questions ask for the same
        draw.reckoned[place] = found
    return found


def _spread_out(model: HiddenModel, block: HiddenBlock, chance: Floats, columns: int) -> Floats:
    """(entries, columns) the chances as a table; of the plain columns, where withheld rows share theirs."""
    entries = int(model.release.blocks[block.number].start[-1])
    plain = (block.column < model.values) | model.withheld.by_row
    place = block.entry[plain] * columns + block.column[plain]  # a cell shown twice was matched row by row: add up
    found = np.bincount(place, weights=chance[plain], minlength=entries * columns).astype(np.float64)
    return found.reshape(entries, columns)


def _matched(model: HiddenModel, block: HiddenBlock, draw: Draw, column_value: NDArray[np.int64]) -> Floats:
    """(entries, columns) the probability that a row of the column shows the entry's cell, given the parameters.

    For a withheld row the column also holds the probability of its value given the cell.
    """
    chance, values = chances(model, block, draw), model.values
    found = _spread_out(model, block, chance, len(column_value))
    published = model.release.blocks[block.number]
    if len(model.withheld.rows):
        log_share = model.log_shares(draw.theta)
        log_weight = model.log_weights(block, log_share, draw.pi, draw.current)
    for kind in range(len(model.withheld.rows)):
        these = np.flatnonzero(block.column == values + kind)
        logs = model.log_own(kind, log_share, draw.pi) + log_weight[published.cell[block.entry[these]], :values]
        share = np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf)) if len(these) else logs
        share = share / share.sum(axis=1, keepdims=True) if len(these) else share
        np.add.at(found[:, values * (kind + 1) : values * (kind + 2)], block.entry[these], chance[these, None] * share)
    return found


def _revealed(model: HiddenModel, draw: Draw, column_value: NDArray[np.int64]) -> Floats:
    """(entries of the sensitive block, columns) probability of a withheld row's value; 1 for plain columns.

    For targets of whom nothing in a matched block is known: what its cells say of the value still counts.
    """
    values = model.values
    own = model.release.block_of(model.asked)
    shares = np.ones((len(own.cell), len(column_value)))
    if model.hidden:
        block = model.hidden[0]
        matched = _matched(model, block, draw, column_value)
        of_group = np.add.reduceat(matched, model.release.blocks[block.number].start[:-1], axis=0)
        shares[:, values:] = of_group[own.group][:, values:]
        return shares
    log_share = model.log_shares(draw.theta)
    for kind in range(len(model.withheld.rows)):
        logs = model.log_own(kind, log_share, draw.pi)
        share = np.exp(logs - logs.max())
        shares[:, values * (kind + 1) : values * (kind + 2)] = share / share.sum()
    return shares
