"""The search: the cheapest antichain whose readers are kept within every rule by what that very release teaches.

Given what is learned, whether a node may be published is a question about the node alone, so that the cheapest allowed
antichain is found exactly in one pass up the tree. What is learned follows the release: learn, ban who is still
exposed, again (`down`); then cut further wherever every rule still holds by the new release's own beliefs (`up`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from unveil.engine import Engine
from unveil.frontier.bounded.readers import SearchReaders, Verdicts
from unveil.frontier.bounded.tree import Antichain, CutTree

__all__ = ["Search", "cheapest"]

DOWN, UP = 25, 24  # rounds
TRIES = 10  # sets of moves, of one round up
PRICES = 14  # rounds of raising prices
STEP = 0.7  # a round's goal, of what is counted before
REACH = 2  # cuts that are made or undone in one round
FEW = 0.02  # of people: if fewer are exposed, what exposes them is banned
WORTH = 1e-4  # of detail: less is no gain
STARTS = 3  # cut further, the best ones

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def cheapest(tree: CutTree, allowed: Bools, cost: Floats, gone: Floats, roots: Ints | None = None) -> Antichain | None:
    """The antichain of least cost among allowed nodes (`cost`) and suppressed ones (`gone`, infinite: never).

    `roots`: an antichain at or below which it lies; the tree's root if not given. None: there is none. Cost: nodes.
    """
    below = np.where(tree.inner, 0.0, np.inf)
    best = np.full(len(tree.parent), np.inf)
    own = np.where(allowed, cost, np.inf)
    for level in reversed(tree.levels):
        best[level] = np.minimum(np.minimum(own[level], below[level]), gone[level])
        if len(level) and level[0] != 0:
            np.add.at(below, tree.parent[level], best[level])
    roots = np.zeros(1, dtype=np.int64) if roots is None else roots
    if not np.isfinite(best[roots]).all():
        return None
    open_ = np.zeros(len(best), dtype=bool)
    open_[roots] = True
    for level in tree.levels:
        cut = open_[level] & (below[level] < np.minimum(own[level], gone[level]))
        open_[level[cut]] = False
        opened = np.zeros(len(best), dtype=bool)
        opened[level[cut]] = True
        if cut.any():
            depth = int(tree.depth[level[0]]) + 1
            children = tree.levels[depth]
            open_[children] |= opened[tree.parent[children]]
    chosen = np.flatnonzero(open_)
    kept = own[chosen] <= gone[chosen]
    return Antichain.of(chosen[kept], chosen[~kept])


@dataclass(slots=True, eq=False)
class Search:
    """One tree, one panel. `suppress`: the share of rows that may be suppressed."""

    tree: CutTree
    panel: SearchReaders
    suppress: float
    engine: Engine
    banned: Bools = field(init=False)  # (nodes,) seen to expose somebody
    never_gone: Bools = field(init=False)  # (nodes,) whose people are exposed if they are suppressed
    checks: int = 0

    def __post_init__(self) -> None:
        self.banned = ~self.tree.fit
        self.never_gone = np.full(len(self.tree.parent), self.suppress <= 0)

    @property
    def cost(self) -> Floats:
        """(nodes,) detail lost by publishing a node."""
        return self.tree.width * self.tree.size

    def loss(self, state: Antichain) -> float:
        """Detail lost, as a share: a suppressed row has lost all."""
        return float((self.cost[state.kept].sum() + self.tree.size[state.gone].sum()) / self.tree.table.rows)

    def check(self, state: Antichain, start: Antichain | None = None) -> Verdicts:
        """By what the release itself teaches."""
        self.checks += 1
        self.panel.learn(state, self.engine)
        found = self.panel.check(state, start)
        over = self.tree.size[state.gone].sum() > self.suppress * self.tree.table.rows
        if over or not self.tree.fit[state.kept].all():
            return replace(found, kept=False)
        return found

    def down(self, start: Antichain) -> Antichain | None:
        """From any release: prune, learn, ban whoever is still exposed. None if that does not end in time.

        Goals come down step by step: what a release teaches follows it, and the cheapest one that kept every rule at
        once by what the start teaches is one group of everybody.
        """
        banned, never_gone = self.banned.copy(), self.never_gone.copy()
        state, found = start, self.check(start)
        nobody = np.array([rule.of_nobody for rule in self.panel.rules])
        goal, free = found.counted, np.ones(len(found.most))
        for _ in range(DOWN):
            goal = np.maximum(found.most * free, goal * STEP)
            leaf = None
            if found.counted[nobody].max(initial=0.0) < FEW:
                self._ban(state, found.leaf, banned, never_gone)
                leaf = np.union1d(found.leaf, found.crowd)
            next_ = self._near(state, leaf, banned, never_gone, goal)
            if next_ is None or self.engine.stop.is_set():
                return None
            state, found = next_, self.check(next_)
            if found.kept:
                return state
            missed = found.counted > found.most + 1e-12
            free = np.where(missed & (goal <= found.most * free + 1e-12), free * 0.85, free)  # aim lower
            goal = np.where(missed, np.minimum(goal, found.counted), goal)
        return None

    def _near(
        self, state: Antichain, leaf: Ints | None, banned: Bools, never_gone: Bools, goal: Floats
    ) -> Antichain | None:
        """The best release that is a few cuts away, changed around these leaves alone if they are given.

        What was learned is not true of one that is quite unlike this.
        """
        tree = self.tree
        owner, mine = tree.owners(state), np.concatenate([state.kept, state.gone])
        above = np.full(len(owner), -1, dtype=np.int64)
        above[mine] = 0
        for level in reversed(tree.levels[1:]):
            there = level[above[level] >= 0]
            np.maximum.at(above, tree.parent[there], above[there] + 1)
        cuts = np.where(owner >= 0, tree.depth - tree.depth[owner], above)
        around = np.ones(len(owner), dtype=bool)
        if leaf is not None:
            changed = np.zeros(len(owner), dtype=bool)
            changed[owner[tree.partition.node[leaf]]] = True
            around = changed[owner] & (owner >= 0)  # and below
            for level in reversed(tree.levels[1:]):
                around[tree.parent[level[around[level]]]] = True
            around[mine] = True
        for reach in range(REACH, int(cuts.max()) + 2):
            far = (cuts > reach) | ~around
            found = self._priced(banned | far, never_gone | far, goal, hard=False)
            if found is not None:
                return found
        return None

    def up(self, state: Antichain) -> Antichain:
        """From a release that keeps every rule: cut further, as long as it does."""
        tabu, cleared = np.zeros(len(self.tree.parent), dtype=bool), False
        most = np.array([rule.most for rule in self.panel.rules])
        for _ in range(UP):
            if self.engine.stop.is_set():
                break
            self.panel.learn(state, self.engine)
            mine = np.concatenate([state.kept, state.gone])
            owner = self.tree.owners(state)
            wanted = self._priced(self.banned | tabu, self.never_gone | tabu, most, state)
            better = None if wanted is None else self._accepted(state, wanted, owner, mine, tabu)
            if better is not None and self.loss(state) - self.loss(better) > WORTH:
                state = better
                continue
            state = state if better is None or self.loss(better) > self.loss(state) else better
            if cleared or not tabu.any():
                break
            tabu[:], cleared = False, True
        return state

    def _accepted(self, state: Antichain, wanted: Antichain, owner: Ints, mine: Ints, tabu: Bools) -> Antichain | None:
        """As many of the wanted changes as keep every rule, the most useful ones first."""
        before, after = np.zeros(len(owner)), np.zeros(len(owner))
        for sums, one in ((before, state), (after, wanted)):
            np.add.at(sums, owner[one.kept], self.cost[one.kept])
            np.add.at(sums, owner[one.gone], self.tree.size[one.gone].astype(np.float64))
        gain = before - after
        moved = np.flatnonzero(gain > 1e-9)
        for _ in range(TRIES):
            if not len(moved) or self.engine.stop.is_set():
                return None
            new = _mixed(state, wanted, np.isin(owner, moved), owner)
            found = self.check(new, state)
            if found.kept:
                return new
            node = self.tree.node_of_leaf(new)[found.leaf]
            offending = np.unique(node[node >= 0])
            tabu[offending[~np.isin(offending, mine)]] = True
            guilty = np.intersect1d(np.unique(owner[offending]), moved)
            innocent = np.setdiff1d(moved, guilty)
            if len(guilty) and len(innocent):
                moved = innocent
            else:  # somebody else's change did it: half of them, the most useful ones
                moved = moved[np.argsort(-gain[moved], kind="stable")[: len(moved) // 2]]
        return None

    def ban(self, state: Antichain, leaf: Ints) -> None:
        """Never publish again what exposed these leaves' people to a reader outside the loop."""
        self._ban(state, leaf, self.banned, self.never_gone)

    def _ban(self, state: Antichain, leaf: Ints, banned: Bools, never_gone: Bools) -> None:
        node = self.tree.node_of_leaf(state)[leaf]
        banned[np.unique(node[node >= 0])] = True
        owner = self.tree.owners(state)[self.tree.partition.node[leaf[node < 0]]]
        never_gone[np.unique(owner[owner >= 0])] = True

    def _priced(
        self, banned: Bools, never_gone: Bools, goal: Floats, within: Antichain | None = None, *, hard: bool = True
    ) -> Antichain | None:
        """The cheapest antichain within a goal for each rule, with as low a price for each person that a rule counts as
        will do; if none will, with a high one. `hard`: where nobody may be exposed, that is no matter of price."""
        tree, rules, rows = self.tree, self.panel.rules, self.panel.rows
        bad, of_rule = self.panel.nodes()
        never = np.array([hard and rules[r].of_nobody for r in of_rule.tolist()], dtype=bool)
        allowed = ~banned & (bad[:, never] <= 0).all(axis=1)
        bad, of_rule = bad[:, ~never], of_rule[~never]
        may_go = ~never_gone
        if within is not None:  # what is published now may stay
            allowed[within.kept] = True
            may_go[within.gone] = True
        most = goal[of_rule] * rows
        room = self.suppress * rows
        roots = None if within is None else np.concatenate([within.kept, within.gone])

        def find(price: Floats, of_gone: float) -> Antichain | None:
            cost = self.cost + bad @ price
            gone = np.where(may_go, tree.size * (1.0 + of_gone), np.inf)
            return cheapest(tree, allowed, cost, gone, roots)

        def excess(state: Antichain) -> tuple[Bools, bool]:
            return (
                bad[state.kept].sum(axis=0) > most + 1e-9,
                bool(tree.size[state.gone].sum() > room + 1e-9),
            )

        price, of_gone = np.zeros(len(most)), 0.0
        state = find(price, of_gone)
        for _ in range(PRICES):
            if state is None:
                return None
            over, too_many = excess(state)
            if not over.any() and not too_many:
                break
            price = np.where(over, np.maximum(price * 2, 0.02), price)
            of_gone = max(of_gone * 2, 0.05) if too_many else of_gone
            state = find(price, of_gone)
        if state is None or not (price.any() or of_gone):
            return state
        low, high = 0.5, 1.0  # prices were doubled: half of them was too little, at least of one
        for _ in range(4):
            middle = (low + high) / 2
            tried = find(price * middle, of_gone * middle)
            if tried is not None and not np.concatenate([np.atleast_1d(e) for e in excess(tried)]).any():
                state, high = tried, middle
            else:
                low = middle
        return state

    def run(self, starts: Iterable[Antichain]) -> Antichain | None:
        """The best that is found from several releases; never worse than one of them that keeps every rule."""
        found: list[Antichain] = []
        for start in starts:
            if self.engine.stop.is_set():
                break
            if self.check(start, start).kept:
                found.append(start)
            pruned = self.down(start)
            found += [] if pruned is None else [pruned]
        found.sort(key=self.loss)
        return min((self.up(state) for state in found[:STARTS]), key=self.loss, default=None)


def _mixed(state: Antichain, wanted: Antichain, change: Bools, owner: Ints) -> Antichain:
    """The state with some of its parts as wanted; `change` by node of the tree: whether its owner's part changes."""
    kept = [state.kept[~change[state.kept]], wanted.kept[change[wanted.kept]]]
    gone = [state.gone[~change[state.gone]], wanted.gone[change[wanted.gone]]]
    return Antichain.of(np.concatenate(kept), np.concatenate(gone))
