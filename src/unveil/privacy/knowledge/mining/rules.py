"""Negative association rules of a table: what people with some quasi-identifiers do not have (Li 2010, section 3.3)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.data.release import example_rows, row_numbers
from unveil.errors import UsageError
from unveil.privacy.knowledge.mining.cells import CountedCells

__all__ = ["Nodes", "Rules", "mine"]


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Of one attribute. Node 0 is the whole domain: no predicate."""

    labels: tuple[str, ...]  # (nodes,)
    codes: tuple[NDArray[np.int64], ...]  # per node: the values it holds
    of_code: NDArray[np.int64]  # (levels, codes) the node of each value, level by level, the whole domain left out
    level: NDArray[np.int64]  # (nodes,) the lowest level that has the node; -1 for the whole domain

    @classmethod
    def of(cls, attribute: Attribute) -> "Nodes":
        """The values themselves, then what the hierarchy adds."""
        hierarchy = attribute.hierarchy
        number: dict[tuple[int, ...], int] = {tuple(range(attribute.codes)): 0}
        labels, level, of_code = ["*"], [-1], []
        for height in range(1 if hierarchy is None else hierarchy.height):
            node = np.arange(attribute.codes) if hierarchy is None else hierarchy.node[height]
            row = np.zeros(attribute.codes, dtype=np.int64)
            for one in range(int(node.max()) + 1):
                members = tuple(np.flatnonzero(node == one).tolist())
                if members not in number:
                    number[members] = len(number)
                    labels.append(attribute.values[one] if hierarchy is None else hierarchy.labels[height][one])
                    level.append(height)
                row[list(members)] = number[members]
            of_code.append(row)
        sets = tuple(np.array(members, dtype=np.int64) for members in number)
        return cls(tuple(labels), sets, np.stack(of_code), np.array(level))

    @property
    def levels(self) -> int:
        """How many levels there are, the whole domain left out."""
        return len(self.of_code)

    def fresh(self, level: int) -> NDArray[np.bool_]:
        """(nodes,) the nodes that this level is the first to have."""
        return np.asarray(self.level == level)

    def wider(self) -> NDArray[np.int64]:
        """(levels + 1, nodes) the nodes above each: one for each level, the last is the whole domain."""
        first = np.array([codes[0] for codes in self.codes])
        above = np.zeros((self.levels + 1, len(self.labels)), dtype=np.int64)
        for level in range(self.levels):
            here = self.of_code[level, first]
            higher = (level > self.level) & (self.level >= 0)
            above[level] = np.where(higher, here, 0)  # below its own level: the whole domain, which is wider anyway
        return above

    def membership(self, attribute: Attribute, fuzzy: float) -> NDArray[np.float64]:
        """(nodes, codes) how much a value belongs to a node: 1 inside, falling to 0 at `fuzzy` of the range from it."""
        inside = np.zeros((len(self.labels), attribute.codes))
        for node, codes in enumerate(self.codes):
            inside[node, codes] = 1.0
        if not fuzzy or not attribute.kind.measured or attribute.real < 2:
            return inside
        place = attribute.positions()[: attribute.real]
        scale = np.ptp(place)
        apart = np.abs(place[:, None] - place) / (scale if scale > 0 else 1.0)
        for node, codes in enumerate(self.codes):
            known = codes[codes < attribute.real]
            if len(known):  # missing is near nothing
                near = 1 - apart[:, known].min(axis=1) / fuzzy
                inside[node, : attribute.real] = np.maximum(near, 0.0)
        return inside


MOST_FUZZY = 1 << 24  # entries of a table of counts
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """X ⇒ not Y: people in the node of every attribute do not have the value."""

    attributes: tuple[Attribute, ...]
    sensitive: Attribute
    nodes: tuple[Nodes, ...]  # per attribute
    node: NDArray[np.int64]  # (rules, attributes), 0 = no predicate on it
    value: NDArray[np.int64]  # (rules,)
    people: NDArray[np.float64]  # (rules,) of whom X is true, in parts where membership is fuzzy
    expectation: NDArray[np.float64]  # (rules,) probability that this many people show the value at least once
    confidence: NDArray[np.float64]  # (rules,) share of these people who do not have it

    def __len__(self) -> int:
        return len(self.value)

    def take(self, which: NDArray[np.integer] | NDArray[np.bool_]) -> "Rules":
        """These rules."""
        return replace(
            self,
            node=self.node[which],
            value=self.value[which],
            people=self.people[which],
            expectation=self.expectation[which],
            confidence=self.confidence[which],
        )

    def texts(self) -> list[str]:
        """As people write them: sex=male never disease=ovarian cancer."""
        said = []
        for node, value in zip(self.node.tolist(), self.value.tolist(), strict=True):
            named = [f"{a.name}={n.labels[i]}" for a, n, i in zip(self.attributes, self.nodes, node, strict=True) if i]
            said.append(f"{' & '.join(named)} never {self.sensitive.name}={self.sensitive.values[value]}")
        return said

    def ceiling(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """(cells, values) the largest share that the rules leave a value: 1 where none speaks, 0 where impossible."""
        found = np.ones((len(cells), self.sensitive.codes))
        if not len(self) or not len(cells):
            return found
        level = np.stack([n.level[self.node[:, a]] for a, n in enumerate(self.nodes)], axis=1)
        kind = row_numbers(list((level + 1).T))
        order = np.argsort(kind, kind="stable")
        for rules in np.split(order, np.flatnonzero(np.diff(kind[order])) + 1):
            used = [a for a in range(len(self.nodes)) if level[rules[0], a] >= 0]
            columns = []
            for a in used:
                mine = self.nodes[a].of_code[level[rules[0], a]][cells[:, a]]
                columns.append(np.concatenate([mine, self.node[rules, a]]))
            number = row_numbers(columns)
            left = np.ones((int(number.max()) + 1, self.sensitive.codes))
            np.minimum.at(left, (number[len(cells) :], self.value[rules]), 1 - self.confidence[rules])
            np.minimum(found, left[number[: len(cells)]], out=found)
        return found

    def minimal(self) -> "Rules":
        """Rules of which no wider one is a rule too: with one predicate widened along its hierarchy or left out."""
        if not len(self):
            return self
        wider = [n.wider() for n in self.nodes]
        covered = np.zeros(len(self), dtype=bool)
        for a, above in enumerate(wider):
            for level in above:
                shifted = self.node.copy()
                shifted[:, a] = level[self.node[:, a]]
                changed = shifted[:, a] != self.node[:, a]
                both = [np.concatenate([self.node[:, b], shifted[:, b]]) for b in range(self.node.shape[1])]
                number = row_numbers([*both, np.concatenate([self.value, self.value])])
                covered |= changed & np.isin(number[len(self) :], number[: len(self)])
        return self.take(~covered)


def mine(
    counted: CountedCells, *, min_expectation: float, min_confidence: float, predicates: int, fuzzy: float
) -> Rules:
    """Every rule of up to `predicates` predicates, over all levels of the hierarchies.

    Cost: one count of the distinct cells for each choice of a level an attribute; all supports come at once.
    """
    nodes = tuple(Nodes.of(a) for a in counted.attributes)
    share = counted.overall()
    found = _fuzzy_counts(counted, nodes, predicates, fuzzy) if fuzzy else _counts(counted, nodes, predicates)
    parts: list[tuple[NDArray[np.int64], ...]] = []
    measured: list[tuple[NDArray[np.float64], ...]] = []
    log_absent = np.log(np.maximum(1 - share, 1e-300))  # of a value that everybody has: as good as never
    for node, counts in found:
        people = counts.sum(axis=1)
        expectation = np.zeros(counts.shape)
        some = share > 0
        expectation[:, some] = -np.expm1(people[:, None] * log_absent[some])
        rare = counts <= (1 - min_confidence + ROUNDING) * people[:, None]
        rule, value = np.nonzero(rare & (expectation >= min_expectation - ROUNDING) & (people > 0)[:, None])
        if len(rule):
            parts.append((node[rule], value))
            measured.append((people[rule], expectation[rule, value], 1 - counts[rule, value] / people[rule]))
    if not parts:
        none = np.zeros(0)
        empty = np.zeros((0, len(nodes)), dtype=np.int64)
        return Rules(counted.attributes, counted.sensitive, nodes, empty, empty[:, 0], none, none, none)
    node, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    people, expectation, confidence = (np.concatenate(column) for column in zip(*measured, strict=True))
    return Rules(counted.attributes, counted.sensitive, nodes, node, value, people, expectation, confidence)


Counted = Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]  # (sets, attributes) nodes, (sets, values) people


def _counts(counted: CountedCells, nodes: tuple[Nodes, ...], predicates: int) -> Counted:
    """For each choice of levels: the combinations of nodes that people have, and their values counted."""
    values = counted.sensitive.codes

    def below(a: int, number: NDArray[np.int64], chosen: tuple[int, ...]) -> Counted:
        """Choices for the attributes from `a` on, the cells being told apart by `number` so far."""
        if a == len(nodes):
            if any(level >= 0 for level in chosen):
                yield _counted_sets(counted, nodes, number, chosen, values)
            return
        yield from below(a + 1, number, (*chosen, -1))
        if sum(level >= 0 for level in chosen) < predicates:
            for level in range(nodes[a].levels):
                if nodes[a].fresh(level).any():
                    finer = row_numbers([number, nodes[a].of_code[level][counted.cells[:, a]]])
                    yield from below(a + 1, finer, (*chosen, level))

    yield from below(0, np.zeros(len(counted.cells), dtype=np.int64), ())


def _counted_sets(
    counted: CountedCells, nodes: tuple[Nodes, ...], number: NDArray[np.int64], chosen: tuple[int, ...], values: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    sets = int(number.max()) + 1
    first = example_rows(number)
    counts = np.bincount(number[counted.cell] * values + counted.value, weights=counted.count, minlength=sets * values)
    node = np.zeros((sets, len(nodes)), dtype=np.int64)
    keep = np.ones(sets, dtype=bool)
    for a, level in enumerate(chosen):
        if level >= 0:
            node[:, a] = nodes[a].of_code[level][counted.cells[first, a]]
            keep &= nodes[a].fresh(level)[node[:, a]]  # a set that a lower level has too was counted there
    return node[keep], counts.astype(np.float64).reshape(sets, values)[keep]


def _fuzzy_counts(counted: CountedCells, nodes: tuple[Nodes, ...], predicates: int, fuzzy: float) -> Counted:
    """The same with people who count in part: the product of their memberships in the nodes."""
    values = counted.sensitive.codes
    inside = [n.membership(a, fuzzy) for n, a in zip(nodes, counted.attributes, strict=True)]
    for used in (u for size in range(1, predicates + 1) for u in combinations(range(len(nodes)), size)):
        shape = (*(counted.attributes[a].codes for a in used), values)
        if prod(max(len(nodes[a].labels), counted.attributes[a].codes) for a in used) * values > MOST_FUZZY:
            raise UsageError(
                "negative_rules: fuzzy conjunctions of "
                f"{' and '.join(counted.attributes[a].name for a in used)} are too many; use fewer predicates, or bins"
            )
        place = np.ravel_multi_index((*counted.cells[counted.cell][:, list(used)].T, counted.value), shape)
        table = np.bincount(place, weights=counted.count, minlength=prod(shape)).reshape(shape)
        for chosen in product(*(range(nodes[a].levels) for a in used)):
            here = [np.flatnonzero(nodes[a].fresh(level)) for a, level in zip(used, chosen, strict=True)]
            counts: NDArray[np.float64] = table.astype(np.float64)
            for a, rows in zip(used, here, strict=True):  # each turn takes the first axis and puts its nodes last
                counts = np.tensordot(counts, inside[a][rows], axes=(0, 1))
            counts = np.moveaxis(counts, 0, -1).reshape(-1, values)
            node = np.zeros((len(counts), len(nodes)), dtype=np.int64)
            grid = np.meshgrid(*here, indexing="ij")
            for a, column in zip(used, grid, strict=True):
                node[:, a] = column.ravel()
            yield node, counts
