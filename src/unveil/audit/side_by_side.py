"""Two releases at a time: while one waits for what only one thread can do, the other's chains go on."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import TypeVar

from unveil.engine import Engine

__all__ = ["side_by_side"]

AT_ONCE = 2  # more would only take more memory: each one's chains have all workers already

T = TypeVar("T")


class _LinkedFlag(Event):
    """A flag that is also set when the one it hangs on is."""

    def __init__(self, on: Event) -> None:
        super().__init__()
        self._on = on

    def is_set(self) -> bool:
        return super().is_set() or self._on.is_set()


def side_by_side(names: Sequence[str], engine: Engine, work: Callable[[str, Engine], T]) -> list[T]:
    """What `work` makes of each name, in this order. Progress tells the names apart; an error stops the others."""
    stop = _LinkedFlag(engine.stop)
    own = dict(zip(names, engine.abreast(len(names)), strict=True))
    own = own if len(names) < 2 else {name: _told_apart(one, name) for name, one in own.items()}
    failed: list[BaseException] = []

    def one(name: str) -> T | None:
        if failed:
            return None
        try:
            return work(name, replace(own[name], stop=stop))
        except BaseException as error:
            failed.append(error)
            stop.set()
            return None

    if len(names) < 2 or engine.workers < 2:
        found = [one(name) for name in names]
    else:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = list(pool.map(one, names))
    if failed:
        raise failed[0]
    return [made for made in found if made is not None]


def _told_apart(engine: Engine, name: str) -> Engine:
    """The engine, whose progress names the release."""
    listening = engine.progress
    if listening is None:
        return engine
    return replace(engine, progress=lambda task, done, total: listening(f"{name}: {task}", done, total))
