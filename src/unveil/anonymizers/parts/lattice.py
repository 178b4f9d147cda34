"""Search of the generalisation lattice: the feasible node that loses least, with a bound on what any node can do.

What may be pruned, and why it is sound:

- *Below an infeasible node*, if infeasibility goes down the lattice. It does when every model `grows` (a group that
  holds still holds with any people added: k-anonymity, distinct l, p-sensitive k), with or without suppression; and,
  when nothing may be suppressed, if every model `unites` (two groups that hold, hold as one: the diversities,
  t-closeness, delta-disclosure, beta-likeness). In any other case a node below may still be feasible, and only what
  the growing models alone rule out is pruned: rows they hide, every conjunction with them hides.
- *Above a node whose loss before suppression is no better than the best found*, for every measure (_node_loss).

(epsilon,m)-anonymity and the ordered earth mover's distance with a missing category neither grow nor unite: their nodes
are all looked at, unless a bound rules them out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from unveil.anonymizers.parts.node_loss import NEEDS_VALUES, Measure, NodeLoss
from unveil.anonymizers.parts.roll_up import EquivalenceClasses, Node, RollUp, height_of
from unveil.data.attribute import Role
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, Stopped, UsageError
from unveil.privacy.models import KAnonymity, PrivacyModel
from unveil.privacy.requirement import Requirement

__all__ = ["Found", "search"]

MOST_NODES = 1 << 20  # a lattice of more nodes is descended, not searched
MOST_AXES = 64  # of an array


@dataclass(frozen=True, slots=True)
class Found:
    """The node that was chosen. The optimum's loss lies between `least` and `loss`; equal: it is the optimum."""

    levels: Node
    loss: float
    least: float
    nodes: int  # of the whole lattice
    looked_at: int

    @property
    def optimal(self) -> bool:
        """Whether no node loses less."""
        return self.least >= self.loss


@dataclass(frozen=True, slots=True)
class _NodeResult:
    """One node after it was looked at."""

    feasible: bool
    rules_out_below: bool
    loss: float
    bound: float
    lost: int  # rows in classes that miss the requirement


@dataclass(slots=True)
class _Judge:
    """Looks at nodes: classes, requirement, loss. Each node once."""

    requirement: Requirement
    growing: Requirement | None  # the part of the requirement that grows
    measure: NodeLoss
    classes: RollUp
    values: int  # which histogram the measure needs
    allowed: float  # rows that may be suppressed
    monotone: bool
    whole_holds: bool
    seen: dict[Node, _NodeResult]

    def at(self, node: Node) -> _NodeResult:
        if node not in self.seen:
            self.seen[node] = self._judged(node)
        return self.seen[node]

    def _judged(self, node: Node) -> _NodeResult:
        counted = self.classes.at(node)
        histograms = list(counted.histograms[: len(self.requirement.sensitive)])
        histograms += [] if self.requirement.outside is None else [counted.histograms[-1]]  # who is not published
        hidden = ~self.requirement.holds(counted.size, histograms)
        size, published = self.requirement.published(counted.size, counted.histograms)
        classes = EquivalenceClasses(counted.node, size, tuple(np.asarray(h, dtype=np.int64) for h in published))
        lost = int(classes.size[hidden].sum())
        feasible = lost <= self.allowed and (self.whole_holds or lost < self.measure.rows)
        ruled_out = not feasible and self.monotone
        if lost > self.allowed and not self.monotone and self.growing is not None:
            surely = ~self.growing.holds(counted.size, histograms)
            ruled_out = int(classes.size[surely].sum()) > self.allowed
        loss = self.measure.loss(node, classes, hidden, self.values) if feasible else np.inf
        return _NodeResult(feasible, ruled_out, loss, self.measure.bound(node, classes, self.values), lost)


def search(
    table: Table, require: tuple[PrivacyModel, ...], suppress: float, measure: Measure, most: int, engine: Engine
) -> Found:
    """The node with the least loss whose failing classes hold at most a share `suppress` of the rows.

    At most `most` nodes are looked at; a lattice of over a million nodes above the levels that no feasible node
    can undercut is descended greedily from the top. Both say what the optimum could be at least.
    """
    judge = _judge(table, require, suppress, measure)
    heights = tuple(height_of(a) for a in judge.measure.attributes)
    lowest = tuple(_lowest_level(judge, heights, place) for place in range(len(heights)))
    remaining = prod(high - low + 1 for high, low in zip(heights, lowest, strict=True))
    if remaining > MOST_NODES or len(heights) > MOST_AXES:
        found = _descend(judge, heights, lowest, most, engine)
    else:
        found = _explore(judge, lowest, most, engine)
    if found is None:
        best = min(judge.seen.values(), key=lambda j: j.lost)
        raise RequirementError(
            f"full_domain: no node of {prod(h + 1 for h in heights):,} keeps {judge.requirement.described} with "
            f"suppress={suppress:g}; the least that was found to miss it is {best.lost} of {judge.measure.rows} rows"
        )
    return replace(found, nodes=prod(h + 1 for h in heights), looked_at=len(judge.seen))


def _judge(table: Table, require: tuple[PrivacyModel, ...], suppress: float, measure: Measure) -> _Judge:
    requirement = Requirement.of(require, table, "full_domain")
    if requirement.superset_size is not None:
        raise UsageError(
            "full_domain has no tree of supersets for (n,t)-closeness; require t_closeness, or use mondrian"
        )
    known = table.with_role(Role.QUASI_IDENTIFIER)
    more: list[int] = []
    values = 0
    if measure in NEEDS_VALUES:
        sensitive = table.with_role(Role.SENSITIVE)
        if len(sensitive) != 1:
            raise UsageError(
                f"full_domain: measure={measure} needs exactly one sensitive attribute, not {len(sensitive)}"
            )
        more = [i for i in sensitive if i not in requirement.sensitive]
        values = (*requirement.sensitive, *more).index(sensitive[0])
    own = table.published()
    allowed = suppress * own.people * (1 + 1e-12)  # 0.29 · 100 is a hair below 29
    unites = all(m.unites and not _upper_bound_only(m, requirement) for m in requirement.models)
    grows = all(m.grows for m in requirement.models)
    sizes, histograms = requirement.of_groups(table, np.zeros(table.rows, dtype=np.int64), 1)
    counts = tuple(own.tally(own.columns[i], own.attributes[i].codes) for i in known)
    return _Judge(
        requirement,
        _growing(requirement),
        NodeLoss(measure, tuple(table.attributes[i] for i in known), counts, own.people),
        RollUp.of(table, known, *requirement.secrets(table, *more)),
        values,
        allowed,
        grows or (unites and allowed < 1),
        bool(requirement.holds(sizes, histograms).all()),
        {},
    )


def _growing(requirement: Requirement) -> Requirement | None:
    """The models that grow, and the smallest size at which any group can hold."""
    models = [m for m in requirement.models if m.grows]
    if requirement.smallest > 1:
        models.append(KAnonymity(k=requirement.smallest))
    return replace(requirement, models=tuple(models)) if models else None


def _upper_bound_only(model: PrivacyModel, requirement: Requirement) -> bool:
    """With a missing category the ordered earth mover's distance is an upper bound, of which nothing is proven."""
    return getattr(model, "distance", None) == "ordered" and any(o.geometry.missing for o in requirement.reference)


def _lowest_level(judge: _Judge, heights: Node, place: int) -> int:
    """The lowest level of one attribute that is not ruled out with all others at `*`."""
    low, high = 0, heights[place]
    while low < high:
        middle = (low + high) // 2
        node = tuple(middle if p == place else h for p, h in enumerate(heights))
        if judge.at(node).rules_out_below:
            low = middle + 1
        else:
            high = middle
    return low


def _explore(judge: _Judge, lowest: Node, most: int, engine: Engine) -> Found | None:
    """Branch and bound: along paths up from the most promising node, halved where infeasibility goes down."""
    bound = judge.measure.bounds(lowest)
    open_ = np.ones(bound.shape, dtype=np.bool_)
    best, levels = np.inf, None
    last = tuple(n - 1 for n in bound.shape)

    def look(place: Node) -> _NodeResult:
        nonlocal best, levels
        node = _node(place, lowest)
        judged = judge.at(node)
        open_[place] = False
        above = tuple(slice(p, None) for p in place)
        np.maximum(bound[above], judged.bound, out=bound[above])
        if judged.rules_out_below:
            open_[tuple(slice(None, p + 1) for p in place)] = False
        if judged.feasible and judged.loss < best:
            best, levels = judged.loss, node
        return judged

    for node in list(judge.seen):  # met on the way to the lowest levels
        if all(level >= low for level, low in zip(node, lowest, strict=True)):
            look(tuple(level - low for level, low in zip(node, lowest, strict=True)))
    while True:
        promising = np.where(open_ & (bound < best), bound, np.inf)
        start = np.unravel_index(int(promising.argmin()), bound.shape)
        place = tuple(int(p) for p in start)
        if promising[place] == np.inf:
            return None if levels is None else Found(levels, best, best, 0, 0)
        if len(judge.seen) >= most or engine.stop.is_set():
            if levels is None and engine.stop.is_set():
                raise Stopped("full_domain was stopped before it met a node that keeps the requirement")
            if levels is not None:
                return Found(levels, best, min(float(promising[place]), best), 0, 0)
        engine.report("full_domain", int((~open_).sum()), open_.size)
        if not judge.monotone:
            look(place)
            continue
        path = [place, *_upwards(place, promising, last)]
        low, high = 0, len(path)
        while low < high:
            middle = (low + high) // 2
            here = path[middle]
            if open_[here] and bound[here] < best:
                feasible = look(here).feasible
            else:
                # Closed but never looked at: ruled out from above.
                known = judge.seen.get(_node(here, lowest))
                feasible = bool(bound[here] >= best) or (known is not None and known.feasible)
            if feasible:
                high = middle
            else:
                low = middle + 1


def _node(place: Node, lowest: Node) -> Node:
    return tuple(p + low for p, low in zip(place, lowest, strict=True))


def _upwards(place: Node, promising: NDArray[np.float64], last: Node) -> Iterator[Node]:
    """A path of open nodes, each one level above the one before, the most promising first."""
    while True:
        steps = [(*place[:i], level + 1, *place[i + 1 :]) for i, level in enumerate(place) if level < last[i]]
        steps = [step for step in steps if promising[step] < np.inf]
        if not steps:
            return
        place = min(steps, key=lambda step: (promising[step], step))
        yield place


def _descend(judge: _Judge, heights: Node, lowest: Node, most: int, engine: Engine) -> Found | None:
    """From the top, each time one level down where it loses least, as long as the requirement is kept."""
    node = heights
    if not judge.at(node).feasible:
        raise RequirementError(
            f"full_domain: {prod(h + 1 for h in heights):,} nodes are too many to search, and the top of the lattice "
            f"misses {judge.requirement.described}; use shorter hierarchies"
        )
    best, levels = judge.at(node).loss, node
    while len(judge.seen) < most and not engine.stop.is_set():
        steps = [(*node[:i], level - 1, *node[i + 1 :]) for i, level in enumerate(node) if level > lowest[i]]
        kept = [step for step in steps if judge.at(step).feasible]
        if not kept:
            break
        node = min(kept, key=lambda step: (judge.at(step).loss, step))
        engine.report("full_domain", sum(heights) - sum(node), sum(heights) - sum(lowest))
        if judge.at(node).loss < best:
            best, levels = judge.at(node).loss, node
    return Found(levels, best, min(judge.at(lowest).bound, best), 0, 0)
