"""Ten seeds of every table with a known posterior: who is called converged, and how wrong that is."""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tests.modes import Hidden, blind_tables, by_counts, tables
from unveil.attackers import Chains, learn
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.learner import Learner
from unveil.data.belief import Belief
from unveil.engine import Engine

SEEDS = 10
RIGHT = 5.0  # standard errors


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of one reader on one table."""

    table: str
    rows: int
    seed: int
    reader: str
    method: str
    converged: bool
    precise: bool
    error: float
    stated: float
    alarm: str
    seconds: float  # of CPU, of both readers together
    facts: dict[str, float]

    @property
    def fooled(self) -> bool:
        """Called converged, and wrong by more than it says."""
        return self.converged and self.error > RIGHT * self.stated

    @property
    def good(self) -> bool:
        """Converged and right."""
        return self.converged and not self.fooled


def stated(belief: Belief, exact: np.ndarray) -> tuple[float, float]:
    """The largest error, and the standard error that is stated; of an exact belief what rounding allows."""
    error = float(np.abs(belief.probability - exact).max())
    if belief.chains is None:
        return error, float(belief.diagnostics.facts.get("error_max", 1e-9))
    facts = belief.diagnostics.facts
    between = float(belief.chains.std(axis=0, ddof=1).max()) / len(belief.chains) ** 0.5
    return error, max(between, float(facts["error_max"]), float(facts["unseen_mode"]))


def run(table: Hidden, seed: int, chains: Chains | None = None) -> dict[str, Belief]:
    """What learner and attacker believe of everybody who can be told apart."""
    release = table.release()
    targets = table.targets(release)
    both = {"learner": (Learner(), targets), "bayesian": (Bayesian(), targets)}
    asked = len(table.codes)
    return learn(release, asked, table.prior(release), Engine(seed=seed), chains or Chains(), both)[0]


def trials(kept: Path, names: list[str], seeds: int = SEEDS) -> Iterator[Trial]:
    """Every run, those of before from `kept`, to which new ones are added."""
    done = {}
    if kept.exists():
        for line in kept.read_text().splitlines():
            one = Trial(**json.loads(line))
            done[one.table, one.seed, one.reader] = one
    everyone = {table.name: table for table in (*blind_tables(), *tables())}
    exact: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for seed in range(seeds):
        for name, table in everyone.items():
            if names and name not in names:
                continue
            if (name, seed, "bayesian") not in done:
                if name not in exact:
                    exact[name] = by_counts(table)
                begun = time.process_time()
                found = run(table, seed)
                seconds = time.process_time() - begun
                lines = []
                for (reader, belief), truth in zip(found.items(), exact[name], strict=True):
                    judged = belief.diagnostics
                    facts = {k: v for k, v in judged.facts.items() if isinstance(v, float) and "log_fit" not in k}
                    alarm = str(judged.facts.get("alarm", ""))
                    verdict = judged.method, judged.converged, judged.precise, *stated(belief, truth)
                    one = Trial(name, table.rows, seed, reader, *verdict, alarm, seconds, facts)
                    done[name, seed, reader] = one
                    lines.append(json.dumps(asdict(one)) + "\n")
                kept.parent.mkdir(parents=True, exist_ok=True)
                with kept.open("a") as file:
                    file.writelines(lines)
            yield done[name, seed, "learner"]
            yield done[name, seed, "bayesian"]
