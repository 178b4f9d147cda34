"""How far learning has come, estimated from the error still to go."""

from collections.abc import Sequence
from dataclasses import replace

from unveil.engine import WHOLE, Engine

__all__ = ["Course"]

FIRST, READ = 0.25, 0.6  # shares of the whole at the end of the first round of chains, and of the readers after it
DECIDED = 0.6  # that of the first round where it may decide
TRIED = 0.9  # from here on chains are tried from other starts
SLOW = 10.0  # turns that a reader who learns for itself counts for
LEAST = 0.5  # of what is left, by the end of a round, however large the error still is: the budget ends it, too


class Course:
    """A first round of chains, every reader's turn, then rounds as the error asks for.

    Where nothing is sampled the turns are all there is. `alone`: of each reader, whether it learns for itself.
    `decides`: whether no round may follow the first, as that decides.
    """

    def __init__(self, engine: Engine, alone: Sequence[bool], *, decides: bool = False) -> None:
        self._whole = engine
        self.engine = engine if engine.progress is None else replace(engine, progress=self._heard)  # whoever works
        self._low, self._high, self._reached = 0.0, DECIDED if decides else FIRST, 0.0
        self._turns = max(sum(SLOW if slow else 1.0 for slow in alone), 1.0)
        self._step: float | None = None
        self._more = False

    def _heard(self, task: str, done: int, total: int) -> None:
        share = min(done / total, 1.0) if total > 0 else 0.0
        self._reached = max(self._reached, self._low + (self._high - self._low) * share)
        self._whole.report(task, round(self._reached * WHOLE), WHOLE)

    def turn(self, *, alone: bool) -> None:
        """The next reader's; after the first round beliefs are only looked at again."""
        if self._more:
            return
        if self._step is None:
            self._step = (max(READ, self._reached + 0.1) - self._reached if self._reached else 1.0) / self._turns
            self._high = self._reached
        self._low = self._reached = self._high
        self._high = min(self._low + self._step * (SLOW if alone else 1.0), 1.0)
        self._whole.report("readers", round(self._reached * WHOLE), WHOLE)

    def round(self, end: float) -> None:
        """One more, at whose end this share of the draws that the error asks for will be there."""
        self._more = True
        self._low = self._reached = max(self._reached, self._high)
        self._high = self._low + (1.0 - self._low) * max(end, LEAST)

    def end(self) -> None:
        """All readers have been asked; chains are tried once more."""
        self._low = self._reached = max(self._reached, TRIED)
        self._high = 1.0
