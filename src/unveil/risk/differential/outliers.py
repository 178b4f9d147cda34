"""Outlier removal (section 4.5): take the worst records out of the original, sanitize and test again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.engine import Engine
from unveil.errors import RequirementError
from unveil.risk.differential.procedure import Experiment, Outcome, run_experiment

__all__ = ["Removal", "Round", "remove_outliers"]

MOST_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Round:
    """One test, and who was taken out after it."""

    delta: float
    records: int
    removed: NDArray[np.int64]  # positions in the original, from 0


@dataclass(frozen=True, slots=True)
class Removal:
    """The path of delta; the last test is of the table that remains."""

    until: float
    rounds: tuple[Round, ...]
    last: Outcome
    ended: str  # reached | stopped | failed | rounds | requirement | too many

    @property
    def removed(self) -> NDArray[np.int64]:
        """Everybody who was taken out."""
        return np.sort(np.concatenate([r.removed for r in self.rounds])) if self.rounds else np.zeros(0, np.int64)


def remove_outliers(
    question: Experiment, sanitizer: Any, first: Outcome, until: float, engine: Engine, *, most: int = MOST_ROUNDS
) -> Removal:
    """Take out every record above `until`, from the original, until none is left above it.

    Removing a record changes the release for all others: new outliers may appear, so every round tests everybody. It
    gives up before more than half of the table is gone.
    """
    kept = np.arange(question.table.rows, dtype=np.int64)
    rounds: list[Round] = []
    tested = first
    while True:
        worst = tested.row[tested.distance > until]
        delta = float(tested.distance.max(initial=0.0))
        ended = ""
        if not len(worst):
            ended = "reached" if tested.complete else "stopped" if engine.stop.is_set() else "failed"
        elif engine.stop.is_set():
            ended = "stopped"
        elif len(rounds) == most:
            ended = "rounds"
        elif 2 * (len(kept) - len(worst)) < question.table.rows:
            ended = "too many"
        if ended:
            rounds.append(Round(delta, len(kept), np.zeros(0, np.int64)))
            return Removal(until, tuple(rounds), tested, ended)
        smaller = np.setdiff1d(kept, worst)
        try:
            tested = run_experiment(question, sanitizer, smaller, smaller, engine.named(f"round {len(rounds) + 1}"))
        except RequirementError:
            rounds.append(Round(delta, len(kept), np.zeros(0, np.int64)))
            return Removal(until, tuple(rounds), tested, "requirement")
        rounds.append(Round(delta, len(kept), worst))
        kept = smaller
        engine.report(f"removing until {until:g}", len(rounds), most)
