"""What a reader gains who knows how a bounded release is made: the minimality attack (Wong et al. 2007), replayed.

A group that could have been cut was not, so the cut would have exposed somebody: ways to share the group's values out
under which it would not are ruled out. This reader knows everybody's cells, the tree and what the release teaches.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from unveil.engine import Engine
from unveil.frontier.bounded.readers import SearchReaders
from unveil.frontier.bounded.tree import Antichain, CutTree
from unveil.kernels.bounded import replay_cut

__all__ = ["MechanismReplay", "replay_mechanism"]

GROUPS = 60  # drawn at random, of each sensitive attribute
MOST_PEOPLE = 400  # of a group
DRAWS = 1500  # ways to share values out
LEAST_SEEN = 30  # draws in which a person has the true value: fewer tell no ratio


@dataclass(frozen=True, slots=True)
class MechanismReplay:
    """By how much the belief in somebody's true value grows, the worst person of each group."""

    groups: int  # that could have been cut further
    replayed: int  # whose cut would have exposed somebody, as the mechanism has it
    median: float
    q90: float
    largest: float

    def to_dict(self) -> dict[str, Any]:
        """As the certificate holds it."""
        words = (
            "A reader who knows this mechanism, everybody's cells and the cuts that were not made rules out values "
            "under which these cuts would have exposed nobody. The belief in the true value grows by these factors, "
            "for the worst person of each group; 1: nothing is gained."
        )
        return {
            "words": words,
            "groups": self.groups,
            "replayed": self.replayed,
            "median": round(self.median, 3),
            "q90": round(self.q90, 3),
            "largest": round(self.largest, 3),
        }


def replay_mechanism(tree: CutTree, panel: SearchReaders, state: Antichain, engine: Engine) -> MechanismReplay:
    """Replay the cuts that were not made, one group at a time; rules about shares decide no single cut.

    Cost: a few milliseconds a group.
    """
    panel.learn(state, engine)
    generator = engine.named("mechanism").generator()
    whole_groups = state.kept[tree.inner[state.kept]]
    ratios: list[float] = []
    tried = 0
    asked = {reader.people.asked: reader for reader in reversed(panel.readers) if reader.count is not None}
    for reader in asked.values():
        rules = [panel.rules[r] for r in dict.fromkeys(reader.rules) if panel.rules[r].of_nobody]
        if not rules:
            continue
        few = generator.permutation(whole_groups[tree.size[whole_groups] <= MOST_PEOPLE])[:GROUPS]
        for node in few.tolist():
            tried += 1
            ratio = _replayed(tree, reader, rules, node, generator)
            ratios += [] if ratio is None else [ratio]
    found = np.array(ratios or [1.0])
    return MechanismReplay(tried, len(ratios), *(float(q) for q in np.quantile(found, [0.5, 0.9, 1.0])))


def _replayed(tree: CutTree, reader: Any, rules: Any, node: int, generator: np.random.Generator) -> float | None:
    """The worst person's factor; None if the cut would have exposed nobody: something else kept it from being made."""
    people = reader.people
    code, theta, whole, held, alpha, *_ = reader.arguments
    children = np.flatnonzero(tree.parent == node)
    first, last = tree.runs
    mine = np.flatnonzero((people.leaf >= first[node]) & (people.leaf < last[node]))
    each = np.repeat(mine, people.weight[mine].astype(np.int64))
    leaf = people.leaf[each]
    inside = (leaf[:, None] >= first[children]) & (leaf[:, None] < last[children])
    fit = np.ones((len(each), theta.shape[1]))
    for a in range(code.shape[1]):
        fit *= theta[code[each, a]]
    learner = fit * (alpha + held)
    learner /= learner.sum(axis=1, keepdims=True)
    before, after = np.zeros(len(each)), np.zeros(len(each))
    truth = people.truth[each]
    kinds = np.array([r.kind for r in rules], dtype=np.int64)
    found, true = replay_cut(
        fit, learner, inside.argmax(axis=1), truth, generator.permutation(truth), np.ascontiguousarray(whole[children]),
        people.share, people.harmful, kinds, np.array([r.level for r in rules]), DRAWS,
        generator.integers(2**63, dtype=np.uint64), before, after,
    )  # fmt: skip
    seen = before >= LEAST_SEEN
    if not true or not found or not seen.any():
        return None
    return float(((after[seen] / found) / (before[seen] / DRAWS)).max())
