"""The same cross-fitted models several times over: some that are believed, and some that say how sure that is."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.boosting import FEW_ROWS, Settings
from unveil.attackers.posterior.cross_fitted import CrossFitted
from unveil.data.belief import Targets
from unveil.data.release import Release
from unveil.engine import Engine

__all__ = ["Repeats", "remembered"]

MOST_REMEMBERED = 8  # fits: four releases, believed and weighed
MOST_BELIEVED = 3  # cross-fits whose mean is believed, where rows are few
BELIEVED_FIRST = 0.6  # of the whole work
HALVES = 2  # folds of those that say how sure it is

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """What is believed comes from all groups alike, how sure it is from weighing groups at random (Bayesian bootstrap).

    The latter have two folds, so that each model has seen half of the groups and varies more than one that has seen
    most of them: by the root of how many more, which is taken off. Their own mean would be less sure than right, so
    that only their differences from it count.
    """

    believed: tuple[CrossFitted, ...]
    weighed: tuple[CrossFitted, ...]
    shrunk: float  # by how much differences of models that saw fewer groups are

    @classmethod
    def of(cls, release: Release, asked: int, settings: Settings, engine: Engine) -> "Repeats":
        """Fit them all, or take what was fitted before."""
        most = BELIEVED_FIRST if settings.repeats else 1.0
        believed = remembered(release, asked, replace(settings, repeats=0), engine.part("", 0.0, most))
        if not settings.repeats or not believed[0].learned:
            return cls(believed, (), 1.0)
        weighed = remembered(release, asked, settings, engine.part("", most, 1.0))
        seen = (len(believed[0].models[0].forests) - 1) / len(believed[0].models[0].forests)
        return cls(believed, weighed, ((HALVES - 1) / HALVES / seen) ** 0.5)

    def members(self, targets: Targets) -> tuple[Floats, Floats | None]:
        """(targets, values) what is believed of members, all 0 where no row fits; and (repeats, targets, values)."""
        return self._both([one.members(targets) for one in (*self.believed, *self.weighed)])

    def anybody(self, targets: Targets) -> tuple[Floats, Floats | None]:
        """The same of anybody whose group is left out."""
        return self._both([one.anybody(targets) for one in (*self.believed, *self.weighed)])

    def _both(self, found: Sequence[Floats]) -> tuple[Floats, Floats | None]:
        each = np.stack([weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300) for weight in found])
        point = each[: len(self.believed)].mean(axis=0)
        if not self.weighed:
            return point, None
        some = each[len(self.believed) :]
        around = np.maximum(point + self.shrunk * (some - some.mean(axis=0)), 0.0)
        total = around.sum(axis=2, keepdims=True)
        return point, np.asarray(np.where(total > 0, around / np.maximum(total, 1e-300), point))

    def facts(self) -> dict[str, float | str]:
        """Of the first, and how many there are."""
        return self.believed[0].facts() | {"repeats": float(len(self.weighed))}


def _fit(release: Release, asked: int, settings: Settings, engine: Engine) -> tuple[CrossFitted, ...]:
    """Those that are believed; with repeats, those that say how sure that is."""
    if not settings.repeats:
        turns = _turns(engine, MOST_BELIEVED if release.rows < FEW_ROWS else 1)
        first = CrossFitted.of(release, asked, settings, turns[0])
        others = (
            CrossFitted.of(release, asked, settings, turn.named(f"again {number}"), like=first)
            for number, turn in enumerate(turns[1:])
        )
        return (first, *others) if first.learned else (first,)
    first = remembered(release, asked, replace(settings, repeats=0), engine)[0]
    found = []
    for number, turn in enumerate(_turns(engine, settings.repeats)):
        own = turn.named(f"repeat {number}")
        times = own.named("times").generator().standard_exponential(release.groups)
        halves = replace(settings, folds=HALVES)
        found.append(CrossFitted.of(release, asked, halves, own, times=times, like=first))
    return tuple(found)


def _turns(engine: Engine, count: int) -> list[Engine]:
    """The engines of parts one after the other."""
    return [engine.part("", n / count, (n + 1) / count) for n in range(count)]


_lock = threading.Lock()
_memory: dict[tuple[int, int, Settings, int, str], tuple[Release, tuple[CrossFitted, ...]]] = {}


def remembered(release: Release, asked: int, settings: Settings, engine: Engine) -> tuple[CrossFitted, ...]:
    """What was learned from a release; the last few are kept, as a run asks about the same release several times."""
    key = id(release), asked, settings, engine.seed, engine.name
    with _lock:
        kept = _memory.get(key)
    found = None if kept is None else kept[1]
    if found is None:
        found = _fit(release, asked, settings, engine)
        with _lock:
            _memory[key] = release, found  # the release stays, so that its id is not used again
            while len(_memory) > MOST_REMEMBERED:
                del _memory[next(iter(_memory))]
    return found
