"""The cheap answer first, a budget of time, and progress where there is no terminal."""

import threading
import time

import pytest
from test_carriers import hospital

from one_round import run_audit
from unveil import engine as engine_module
from unveil.audit.case import Case
from unveil.audit.first_look import first_look
from unveil.catalog import anonymizer
from unveil.engine import WHOLE, Engine, Meter, line_now_and_then
from unveil.errors import UsageError


def test_the_first_look_counts_what_the_audit_finds() -> None:
    table = hospital()
    raw, made = table.as_release(), anonymizer("mondrian:k=4,l=2").anonymize(table, Engine(seed=0)).release
    lines = list(first_look(Case(releases={"raw": raw, "made": made}, original=table)))
    found = run_audit({"raw": raw, "made": made}, original=table, membership=None, background=None).document
    for name in ("raw", "made"):
        levels = {
            f.measure: f.value
            for f in found.findings
            if f.release == name and f.measure in ("k_anonymity", "distinct_l")
        }
        (said,) = (line for line in lines if line.startswith(f"{name}: 240 rows in"))
        assert f"the smallest of {levels['k_anonymity']:.0f};" in said
        assert f"at least {levels['distinct_l']:.0f} different disease" in said
    assert any(line.startswith("raw: already exceeded: singling out") for line in lines)
    assert not any(line.startswith("made: already") for line in lines)


def test_when_time_is_over_what_was_reached_is_reported_and_is_no_pass() -> None:
    table = hospital()
    told = []
    with Engine(seed=0).for_minutes(1e-9, lambda: told.append(1)) as engine:
        while not engine.stop.is_set():
            time.sleep(0.001)
        found = run_audit({"r": table.as_release()}, original=table, engine=engine)
    assert told
    assert found.exit_code in (1, 3)
    assert any("stopped before its end" in remark for remark in found.document.diagnostics["remarks"])
    with Engine(seed=0).for_minutes(5) as engine:
        assert not engine.stop.is_set()
    with pytest.raises(UsageError, match="more than 0"), Engine(seed=0).for_minutes(0):
        pass


def test_progress_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    meter = Meter()
    assert meter.line() == "0% starting"
    meter("chains", WHOLE // 4, WHOLE)
    clock[0] = 12.0
    assert meter.line() == "25% chains, about 36 s left"
    clock[0] = 24.0  # nothing was reported since: the time left grows
    assert meter.line() == "25% chains, about 72 s left"


def test_the_time_left_follows_the_pace_of_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that got slower is seen to; work that was not needed at all is no pace."""
    clock, shown = [0.0], list[float]()
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    meter = Meter(lambda *said: shown.append(-1.0 if said[2] is None else said[2]))
    for second in range(1, 161):  # 60% in 160 s, then 40% in 1,200 s
        clock[0] = float(second)
        meter("chains", WHOLE * 6 * second // 1600, WHOLE)
    assert shown[-1] == pytest.approx(107, abs=2)
    for second in range(1, 601):
        clock[0] = 160.0 + second
        meter("chains", int(WHOLE * (0.6 + 0.4 * second / 1200)), WHOLE)
    assert 590 < shown[-1] < 700  # 600 s follow; at the pace of all it would be 190
    clock[0] += 0.1
    meter("readers", int(WHOLE * 0.99), WHOLE)  # the rest but 1% turned out to be idle
    assert 5 < shown[-1] < 40
    meter.within(1 / 60)
    meter("readers", int(WHOLE * 0.99), WHOLE)
    assert shown[-1] == pytest.approx(1)


def test_on_a_busy_machine_work_that_was_not_needed_is_no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of a core: a word every five seconds, and three seconds for 40% of which nobody had any need."""
    clock, shown = [0.0], list[float]()
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    meter = Meter(lambda *said: shown.append(-1.0 if said[2] is None else said[2]))
    series = [(5.0 * n, 0.011 * n) for n in range(1, 41)]  # 44% in 200 s
    series += [(203.0, 0.84), (213.0, 0.87), (223.0, 0.90), (233.0, 0.93)]  # 51 s follow the leap
    for at, share in series:
        clock[0] = at
        meter("chains", int(WHOLE * share), WHOLE)
    for (at, _), left in zip(series[-4:], shown[-4:], strict=True):
        assert 254 - at <= left < 2 * (254 - at)  # never promised too early


# An audit of Anatomy as it was heard, ten times as slow: chains are ended at 23 s, for a limit is exceeded.
HEARD = ((5.4, 0.086), (8.4, 0.131), (11.8, 0.177), (15.7, 0.233), (20.1, 0.292), (23.2, 0.357), (39.0, 0.854))


def test_the_time_left_of_a_recorded_audit_whose_chains_were_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, shown = [0.0], list[float]()
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    meter = Meter(lambda *said: shown.append(-1.0 if said[2] is None else said[2]))
    for at, share in HEARD:
        clock[0] = at
        meter("readers of disease", int(WHOLE * share), WHOLE)
    assert 8.5 < shown[-1] < 34  # it took 17 s more: within a factor of two


def test_work_that_reports_nothing_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "EVERY", 0.01)
    meter, lines = Meter(), list[str]()

    def say(line: str) -> None:
        lines.append(line)
        if len(lines) == 2:
            raise BrokenPipeError  # which ends neither the work nor the lines

    with line_now_and_then(say, meter.line):
        meter("chains", 1, 2)
        until = time.monotonic() + 30
        while len(lines) < 4 and time.monotonic() < until:
            time.sleep(0.01)
    assert lines[1:4] == ["25% chains"] * 3
    assert not any(thread.name == "progress" for thread in threading.enumerate())
