"""Quasi-identifiers asked about in turn: what the others tell together, what one of them tells anyway, and nothing."""

import numpy as np
import pytest

from one_round import run_audit
from small import QI, SENSITIVE, made_schema, made_table
from unveil.attackers.random_worlds import believe_by_counting
from unveil.audit.case import Case
from unveil.audit.in_turn import ExactCells, in_turn_findings
from unveil.data.targets import targets_of_table
from unveil.report import render_page

NAMES = ("a", "b", "c")
SCHEMA = made_schema(
    {name: {"role": QI, "domain": ["0", "1"]} for name in NAMES} | {"s": {"role": SENSITIVE, "domain": list("wxyz")}}
)


def table(c: np.ndarray, seed: int = 1, rows: int = 400) -> tuple[np.ndarray, ...]:
    draw = np.random.default_rng(seed)
    return (*draw.integers(2, size=(2, rows)), c, draw.integers(4, size=rows))


def told(columns: tuple[np.ndarray, ...]) -> dict[str, object]:
    rows = [(*(str(v) for v in row[:3]), "wxyz"[row[3]]) for row in zip(*columns, strict=True)]
    people = made_table(SCHEMA, *rows)
    case = Case(releases={"r": people.as_release()}, original=people)
    return {f.attribute: f.value for f in in_turn_findings(case, "r", people.as_release())}


def test_what_two_others_tell_together_is_told() -> None:
    a, b, _, s = table(np.zeros(400, dtype=int))
    assert told((a, b, a ^ b, s)) == {"a": 1.0, "b": 1.0, "c": 1.0}


def test_what_one_other_tells_of_everybody_is_no_news() -> None:
    a, b, _, s = table(np.zeros(400, dtype=int))
    assert told((a, b, a, s)) == {"a": 0.0, "b": 0.0, "c": 0.0}


def test_chance_tells_nothing_in_large_classes() -> None:
    assert set(told(table(np.random.default_rng(5).integers(2, size=400))).values()) == {0.0}


def test_the_steward_is_asked_whether_it_is_a_secret() -> None:
    a, b, _, s = table(np.zeros(400, dtype=int))
    rows = [(*(str(v) for v in row[:3]), "wxyz"[row[3]]) for row in zip(a, b, a ^ b, s, strict=True)]
    people = made_table(SCHEMA, *rows)
    case: dict[str, object] = {"original": people, "membership": None, "background": None}
    found = run_audit({"r": people.as_release()}, **case)  # type: ignore[arg-type]
    row = next(k for k in found.document.diagnostics["judgement"]["r"]["kinds"] if k["attribute"] == "c")
    assert row["verdict"] == "not judged"
    assert row["sentence"].startswith(
        "Anyone who knows the other quasi-identifiers can be 80% sure of the c of 400 of 400"
    )
    assert "--waive \"inference:c='…'\"" in row["fix"]
    page = render_page(found.document)
    assert "Inference of quasi-identifiers" in page  # one row, not three
    assert "Inference of c" not in page
    waived = {f"inference:{n}": "anybody sees it" for n in NAMES}
    again = run_audit({"r": people.as_release()}, waive=waived, **case)  # type: ignore[arg-type]
    rows_now = [k for k in again.document.diagnostics["judgement"]["r"]["kinds"] if k["attribute"] in NAMES]
    assert {k["waived"] for k in rows_now} == {"anybody sees it"}


def test_what_neighbours_know_is_not_asked_about() -> None:
    names = {"sex": "a", "postcode": "b", "income": "c"}
    schema = made_schema(
        {name: {"role": QI, "domain": ["0", "1"]} for name in names}
        | {"s": {"role": SENSITIVE, "domain": list("wxyz")}}
    )
    a, b, _, s = table(np.zeros(400, dtype=int))
    people = made_table(schema, *[(str(x), str(y), str(x ^ y), "wxyz"[z]) for x, y, z in zip(a, b, s, strict=True)])
    case = Case(releases={"r": people.as_release()}, original=people)
    found = {f.attribute: f.value for f in in_turn_findings(case, "r", people.as_release())}
    assert found == {"income": 1.0}


@pytest.mark.parametrize("known", [("a",)])
def test_a_narrowed_question_is_not_widened_again(known: tuple[str, ...]) -> None:
    a, b, c, s = table(np.zeros(400, dtype=int))
    rows = [(*(str(v) for v in row[:3]), "wxyz"[row[3]]) for row in zip(a, b, c, s, strict=True)]
    people = made_table(SCHEMA, *rows)
    case = Case(releases={"r": people.as_release()}, original=people, known=known)
    assert list(in_turn_findings(case, "r", people.as_release())) == []


def test_counting_exact_cells_is_what_random_worlds_believe() -> None:
    """And nothing is said of a column where somebody fits no row."""
    draw = np.random.default_rng(3)
    rows = [(*(str(v) for v in draw.integers(2, size=3)), "wxyz"[draw.integers(4)]) for _ in range(40)]
    people = made_table(SCHEMA, *rows)
    release = made_table(SCHEMA, *rows, *rows[:7]).as_release()
    some = np.array([0, 3, 3, 11, 39])
    exact = ExactCells.of(people, release, [0, 1, 2], some)
    assert exact is not None
    for asked in range(3):
        targets = targets_of_table(people, release, asked, known=[n for n in NAMES if n != NAMES[asked]]).take(some)
        assert exact.beliefs(asked) == pytest.approx(believe_by_counting(release, targets).probability, abs=1e-12)
    one = made_table(SCHEMA, ("0", "0", "0", "w"), ("1", "1", "0", "x"))
    stranger = made_table(SCHEMA, ("0", "0", "1", "w"), ("1", "1", "0", "x"))
    case = Case(releases={"r": one.as_release()}, original=stranger)
    assert [f.attribute for f in in_turn_findings(case, "r", one.as_release())] == ["c"]
