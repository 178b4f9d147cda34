"""Two releases at a time: the same answers in the same order, errors at once, progress that tells them apart."""

import threading

import pytest

from unveil.audit.side_by_side import side_by_side
from unveil.engine import Engine
from unveil.errors import UsageError


@pytest.mark.parametrize("workers", [1, 2])
def test_order_is_kept_and_progress_names_the_release(workers: int) -> None:
    seen: list[str] = []
    engine = Engine(seed=0, workers=workers, progress=lambda task, done, total: seen.append(task))

    def work(name: str, own: Engine) -> str:
        own.report("learning", 1, 1)
        return name.upper()

    assert side_by_side(["a", "b", "c"], engine, work) == ["A", "B", "C"]
    assert sorted(seen) == ["a: learning", "b: learning", "c: learning"]


def test_one_release_keeps_its_words() -> None:
    seen: list[str] = []
    engine = Engine(seed=0, workers=2, progress=lambda task, done, total: seen.append(task))
    side_by_side(["a"], engine, lambda name, own: own.report("learning", 1, 1) or 0)
    assert seen == ["learning"]


def test_two_run_at_once() -> None:
    meeting = threading.Barrier(2, timeout=30)  # breaks, unless both are there
    assert sorted(side_by_side(["a", "b"], Engine(seed=0, workers=2), lambda name, own: meeting.wait())) == [0, 1]


def test_an_error_stops_the_others_and_is_the_one_that_is_raised() -> None:
    ended = threading.Event()

    def work(name: str, own: Engine) -> int:
        if name == "b":
            raise UsageError("b is wrong")
        if not own.stop.is_set():
            for _ in range(3000):
                if own.stop.is_set():
                    break
                ended.wait(0.01)
        assert own.stop.is_set()
        raise UsageError("stopped before anything was learned")

    engine = Engine(seed=0, workers=2)
    with pytest.raises(UsageError, match="b is wrong"):
        side_by_side(["a", "b", "c"], engine, work)
    assert not engine.stop.is_set()  # the caller's flag is the caller's


def test_the_callers_flag_reaches_all() -> None:
    engine = Engine(seed=0, workers=2)
    engine.stop.set()
    assert side_by_side(["a", "b"], engine, lambda name, own: own.stop.is_set()) == [True, True]
