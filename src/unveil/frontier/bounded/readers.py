"""The readers in the loop: what each would learn from an antichain, and whom that exposes, node by node."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.left_out import LEAST, MOST_OF_ALL
from unveil.attackers.posterior.linked import tree_means
from unveil.attackers.posterior.settled import settled_shares
from unveil.audit.bounds import COUNTS, OWN_COUNT, Rule
from unveil.engine import Engine
from unveil.frontier.bounded.tree import Antichain, CutTree
from unveil.kernels.bounded import NEARLY, THREAT, judge_nodes, leave_out

__all__ = ["SearchReaders", "Verdicts"]

NEAR = 0.5  # of the largest belief: somebody just below the mode counts as threatened

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Of a release: whether it keeps every rule, who does not, and how many people each rule counts."""

    kept: bool
    leaf: Ints  # leaves of the tree where somebody is exposed
    crowd: Ints  # leaves with people who are counted by a rule that too many are
    counted: Floats  # (rules,) share of people, the worst reader's
    most: Floats  # (rules,) what it may be


@dataclass(frozen=True, slots=True, eq=False)
class _People:
    """Classes of people with equal cells and equal value of one sensitive attribute."""

    asked: int
    code: Ints  # (classes, quasi-identifiers)
    truth: Ints
    weight: Floats
    leaf: Ints  # (classes,) leaf of the tree
    histogram: Floats  # (nodes, values)
    size: Floats  # (nodes,)
    share: Floats  # (values,)
    harmful: Bools

    @classmethod
    def of(cls, tree: CutTree, asked: int) -> "_People":
        rows, count = tree.classes(asked)
        table, attribute = tree.table, tree.table.attributes[asked]
        code = np.stack([table.columns[i][rows].astype(np.int64) for i in tree.known], axis=1)
        harmful = np.ones(attribute.codes, dtype=bool)
        harmful[list(attribute.harmless)] = False
        histogram = tree.histogram(asked).astype(np.float64)
        return cls(
            asked,
            code,
            table.columns[asked][rows].astype(np.int64),
            count.astype(np.float64),
            tree.partition.group[rows].astype(np.int64),
            histogram,
            histogram.sum(axis=1),
            histogram[0] / histogram[0].sum(),
            harmful,
        )


@dataclass(slots=True, eq=False)
class _SearchReader:
    """One reader of one sensitive attribute."""

    tree: CutTree
    people: _People
    rules: Sequence[int]  # which of the panel's rules are about it; a threat twice if an audit has two learners
    left_out: Sequence[bool]  # (rules,) beside the learner without the person's group
    count: float | None  # pseudo-counts; None: it counts every table that fits alike
    arguments: tuple[Any, ...] = ()  # of the kernel: what was learned

    def learn(self, state: Antichain, engine: Engine) -> None:
        tree, people = self.tree, self.people
        beta = 1.0 if self.count is None else self.count
        nodes, values = people.histogram.shape
        theta, code = [], []
        whole, spread = np.ones((nodes, values)), np.ones(nodes)
        left = np.ones((nodes + 1, values))
        place_of = _places(tree, state)
        codes = 0
        for place, (cells, index) in enumerate(zip(tree.cells, tree.known, strict=True)):
            attribute = tree.table.attributes[index]
            used, at = np.unique(cells.of_group[state.kept], return_inverse=True)
            rows = np.zeros((values, len(used)))
            np.add.at(rows.T, at.reshape(-1), people.histogram[state.kept])
            prior = np.full((values, attribute.codes), beta)
            shares = np.full((values, attribute.codes), 1 / attribute.codes)
            if len(used):
                some = cells.regions.take(used)
                means = tree_means(some, rows.astype(np.int64), prior)
                shares = settled_shares(some, rows, prior, engine) if means is None else means
            counted = np.full(shares.T.shape, 1 / attribute.codes) if self.count is None else shares.T
            whole *= cells.regions.totals(np.ascontiguousarray(counted))[cells.of_group]
            if any(self.left_out):
                margin = cells.regions.totals(shares.T @ people.share)
                spread *= margin[cells.of_group]
                self._leave_out(place, shares, used, rows, place_of, beta, left[:-1])
            theta.append(shares.T)
            code.append(people.code[:, place] + codes)
            codes += attribute.codes
        star = people.histogram[state.gone].sum(axis=0)
        gone = np.concatenate([people.histogram, star[None]])
        left *= np.maximum(beta + people.histogram[0] - gone, LEAST) / (beta + people.histogram[0])
        left[gone.sum(axis=1) > MOST_OF_ALL * tree.table.rows] = 1.0
        self.arguments = (
            np.ascontiguousarray(np.stack(code, axis=1)),
            np.ascontiguousarray(np.concatenate(theta)),
            whole,
            people.histogram[0],
            beta,
            star,
            left,
            spread,
        )

    def _leave_out(
        self, place: int, shares: Floats, used: Ints, rows: Floats, place_of: Ints, beta: float, left: Floats
    ) -> None:
        """How the share of each node's cell changes without the node's rows."""
        tree, people = self.tree, self.people
        cells, nested = tree.cells[place], tree.nested[place]
        held = np.where(place_of >= 0, cells.of_group[place_of], -1).astype(np.int64)
        if nested is None:  # every row of the node is taken off its cell: the learner then knows less than it would
            inside = cells.regions.totals(np.ascontiguousarray(shares.T))[held]
            total = beta * shares.shape[1] + rows.sum(axis=1)
            fewer = np.maximum(inside * total - people.histogram, LEAST) / np.maximum(total - people.histogram, LEAST)
            left *= np.where((held >= 0)[:, None], fewer / np.maximum(inside, 1e-300), 1.0)
            return
        numbers = nested.number(used)
        shown = np.zeros((len(nested.regions), rows.shape[0]))
        np.add.at(shown, numbers, rows.T)
        within = np.zeros_like(shown)
        owner = np.repeat(np.arange(len(nested.regions)), np.diff(nested.start))
        np.add.at(within, nested.above, shown[owner])
        weight = within + beta * nested.regions.sizes[:, None]
        mark = np.zeros(len(nested.regions), dtype=bool)
        mark[numbers] = True
        held = np.where(held >= 0, nested.number(held), -1)
        leave_out(
            held, people.histogram, nested.above, nested.start, mark, nested.root, weight, weight - shown, left
        )  # fmt: skip

    def judge(self, rules: Sequence[Rule], node: Ints, climb: bool, near: float) -> tuple[Floats, Floats]:
        """(nodes + 1, rules) people counted at each node, the last those suppressed; and (classes, rules) each one."""
        people = self.people
        mine = [rules[r] for r in self.rules]
        code, theta, whole, held, alpha, star, left, spread = self.arguments
        bad = np.zeros((len(self.tree.parent) + 1, len(mine)))
        person = np.zeros((len(code), len(mine)))
        kinds = np.array([r.kind for r in mine], dtype=np.int64)
        levels = np.array([r.level for r in mine])
        among = np.array([r.among for r in mine])
        nearly = np.array([near if r.kind == THREAT and r.of_nobody else 1.0 for r in mine])
        judge_nodes(
            code, people.truth, people.weight, node, climb, self.tree.parent, people.histogram, people.size, theta,
            whole, held, alpha, star, left, spread, self.count is not None, people.share, people.harmful, kinds, levels,
            among, nearly, np.array(self.left_out, dtype=bool), bad, person,
        )  # fmt: skip
        return bad, person


def _places(tree: CutTree, state: Antichain) -> Ints:
    """(nodes,) the node at which a node's rows are taken off: its own, or the published one above; -1: suppressed."""
    owner = tree.owners(state)
    place = np.where(owner >= 0, owner, np.arange(len(owner)))
    gone = np.zeros(len(owner), dtype=bool)
    gone[state.gone] = True
    return np.where(gone[place], -1, place)


class SearchReaders:
    """Readers with other pseudo-counts, and one who counts tables, of every sensitive attribute."""

    def __init__(self, tree: CutTree, asked: Sequence[int], rules: Sequence[Rule], *, worlds: bool) -> None:
        self.tree, self.rules = tree, list(rules)
        self.readers: list[_SearchReader] = []
        for attribute in asked:
            people = _People.of(tree, attribute)
            for count in (*COUNTS, *([None] if worlds else [])):
                name = "random_worlds" if count is None else "bayesian"
                mine = [n for n, rule in enumerate(rules) if rule.reader in (None, name)]
                # As an audit has it: the threats of its own readers are beside two learners, the panel's beside one.
                twice = [n for n in mine if rules[n].of_threat and count in (None, OWN_COUNT)]
                if mine:
                    left_out = [False] * len(mine) + [True] * len(twice)
                    self.readers.append(_SearchReader(tree, people, [*mine, *twice], left_out, count))
        self.rows = float(tree.table.rows)

    def learn(self, state: Antichain, engine: Engine) -> None:
        """What the release of this antichain teaches each of them."""
        for reader in self.readers:
            reader.learn(state, engine)

    def nodes(self) -> tuple[Floats, Ints]:
        """As if each node were published: (nodes, counts) the people whom a reader counts against a rule, who is nearly
        threatened among them; and (counts,) the rule of each count."""
        counts: list[Floats] = []
        rules: list[int] = []
        for reader in self.readers:
            node = self.tree.partition.node[reader.people.leaf].astype(np.int64)
            bad, _ = reader.judge(self.rules, node, True, NEAR)
            counts.append(bad[:-1])
            rules += reader.rules
        return np.concatenate(counts, axis=1), np.array(rules, dtype=np.int64)

    def check(self, state: Antichain, start: Antichain | None = None) -> Verdicts:
        """The release itself, after its readers have learned from it.

        Whoever is nearly threatened counts as threatened, but in groups that a `start` has, too: that one was taken as
        it is measured.
        """
        node = self.tree.node_of_leaf(state)
        spared = np.zeros(self.tree.partition.groups, dtype=bool)
        if start is not None:
            spared = (node == self.tree.node_of_leaf(start)) & (node >= 0)
        counted = np.full(len(self.rules), -np.inf)
        exposed = np.zeros(self.tree.partition.groups, dtype=bool)
        crowd = np.zeros_like(exposed)
        for reader in self.readers:
            leaf = reader.people.leaf
            bad, person = reader.judge(self.rules, node[leaf], False, NEAR)
            for place, number in enumerate(reader.rules):
                total = bad[:, place].sum()
                if self.rules[number].of_nobody:
                    surely = person[:, place] > NEARLY
                    exposed[leaf[surely | ((person[:, place] > 0) & ~spared[leaf])]] = True
                    total = reader.people.weight[surely].sum()
                elif total / self.rows > self.rules[number].most + 1e-12:
                    crowd[leaf[person[:, place] > 0]] = True
                counted[number] = max(counted[number], total / self.rows)
        most = np.array([rule.most for rule in self.rules])
        kept = not exposed.any() and bool((counted <= most + 1e-12).all())
        return Verdicts(kept, np.flatnonzero(exposed), np.flatnonzero(crowd), counted, most)
