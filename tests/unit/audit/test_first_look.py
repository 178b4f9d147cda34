"""The cheap answer first, a budget of time, and progress where there is no terminal."""

import time

import pytest
from test_carriers import hospital

from unveil.audit import run_audit
from unveil.audit.case import Case
from unveil.audit.first_look import first_look
from unveil.catalog import anonymizer
from unveil.engine import WHOLE, Engine, progress_lines
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


def test_without_a_terminal_progress_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([0.0, 0.0, 1.0, 1.0, 12.0, 12.0, 13.0, 13.0, 30.0, 30.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    lines: list[str] = []
    progress = progress_lines(lines.append)
    for done in range(1, 5):
        progress("chains", done * WHOLE // 8, WHOLE)
    assert lines == ["25% chains, about 36 s left", "50% chains, about 30 s left"]
