"""Chains end once inference is surely exceeded: the verdict is that of longer chains, and figures are "at least"."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from small import QI, SENSITIVE, made_schema
from unveil.anonymizers.mondrian import Mondrian
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.boosted import Boosted
from unveil.attackers.posterior import contract
from unveil.attackers.posterior.contract import ENDED, Chains
from unveil.audit import Audit, run_audit
from unveil.audit.case import Case
from unveil.audit.decided import surely_exceeded
from unveil.data.belief import Belief, Diagnostics
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.models import KAnonymity

ROWS = 300
CHAINS = Chains(sweeps=100, most_sweeps=400, precision=1e-6)


def table_of(told: bool) -> Table:
    """Whether the age tells the diagnosis, or nothing does."""
    random = np.random.default_rng(3)
    value = random.integers(0, 5, ROWS)
    middle = 15 + 17 * value if told else np.full(ROWS, 45)
    columns = {
        "age": np.clip(random.normal(middle, 2 if told else 15), 0, 99).astype(int).astype(str).tolist(),
        "stay": random.integers(0, 30, ROWS).astype(str).tolist(),
        "diagnosis": [f"D{v}" for v in value],
    }
    roles = {n: {"role": QI, "kind": "numeric"} for n in ("age", "stay")} | {"diagnosis": {"role": SENSITIVE}}
    return Table.from_columns(made_schema(roles), columns)


def audited(told: bool, **options: Any) -> Audit:
    table = table_of(told)
    release = Mondrian(require=(KAnonymity(k=6),), recoding="order").anonymize(table, Engine(seed=1)).release
    case = Case(releases={"r": release}, original=table, attackers={"bayesian": Bayesian()}, chains=CHAINS, panel=False)
    return run_audit(replace(case, engine=Engine(seed=2, workers=1), **options))


def facts_of(found: Audit) -> dict[str, Any]:
    return next(r["facts"] for r in found.document.diagnostics["readers"] if r["reader"] == "bayesian")


def kind_of(found: Audit) -> dict[str, Any]:
    kinds = found.document.diagnostics["judgement"]["r"]["kinds"]
    return next(k for k in kinds if k["kind"] == "inference" and k["attribute"] == "diagnosis")


def test_the_verdict_is_that_of_longer_chains_and_says_at_least() -> None:
    long, short = audited(True), audited(True, digits=False)
    assert facts_of(long)["sweeps"] == 400
    assert facts_of(short)["sweeps"] == 100
    assert facts_of(short)[ENDED]
    assert ENDED not in facts_of(long)
    assert kind_of(long)["verdict"] == kind_of(short)["verdict"] == "exceeded"
    assert long.verdict == short.verdict == "exceeded"
    assert " at least " in kind_of(short)["sentence"]
    assert " of at least " not in kind_of(long)["sentence"]
    assert any("chains ended early" in text for text in short.document.diagnostics["remarks"])
    kept = [f for f in short.document.findings if f.reader == "bayesian" and f.verdict == "within"]
    assert not kept, "what is not precise is not within"


@pytest.mark.parametrize(
    ("told", "options"),
    [
        (False, {}),
        (True, {"limits": ["global_threat <= 0.999"]}),
        (True, {"waive": {"inference": "it is public"}}),
        (True, {"digits": True}),
    ],
)
def test_chains_go_on_where_nothing_is_exceeded_or_more_is_asked(told: bool, options: dict[str, Any]) -> None:
    found = audited(told, **{"digits": False, **options})
    assert facts_of(found)["sweeps"] == 400
    assert ENDED not in facts_of(found)


def test_an_interval_twice_as_wide_must_lie_beyond() -> None:
    """And chains that disagree decide nothing."""
    table, truth = table_of(True), np.zeros(ROWS, dtype=np.int64)
    truth[: ROWS // 2] = 1
    release = Mondrian(require=(KAnonymity(k=6),), recoding="order").anonymize(table, Engine(seed=1)).release
    case = Case(releases={"r": release}, original=table, attackers={"bayesian": Bayesian()}, digits=False)
    enough = surely_exceeded(case, release.attributes[release.index("diagnosis")], truth)
    assert enough is not None
    even = Belief(np.full((ROWS, 5), 0.2))
    for sure, apart, converged, ended in (
        (60, 0, True, True),
        (60, 59, True, False),
        (60, 0, False, False),
        (3, 0, True, False),
    ):
        chains = np.full((4, ROWS, 5), 0.2)
        for chain in range(4):  # so many are told surely, and in two of four chains fewer
            many = sure - (apart if chain < 2 else 0)
            chains[chain, :many] = np.eye(5)[truth[:many]] * 0.96 + 0.008
        belief = Belief(chains.mean(axis=0), chains, Diagnostics("sampled", converged, False))
        assert enough({"": even, "bayesian": belief}) == ended, (sure, apart, converged)


def test_the_panel_is_not_asked_where_the_audits_own_readers_decide() -> None:
    how = (True, True), (True, False), (False, False)  # whether ages tell, and whether all digits are asked for
    asked, decided, undecided = (audited(told, digits=digits, panel=True) for told, digits in how)
    for found, said in ((asked, False), (decided, True), (undecided, False)):
        (facts,) = found.document.diagnostics["panel"]
        assert bool(facts["members"]) is not said
        assert any("surely exceed" in reason for reason in facts["not_asked"].values()) is said
    assert asked.verdict == decided.verdict == "exceeded"


@pytest.mark.parametrize(("told", "digits"), [(True, False), (True, True), (False, False)])
def test_a_dear_reader_is_asked_unless_the_others_surely_exceed(
    told: bool, digits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is not asked is named with the reason, and the verdict stays."""
    monkeypatch.setattr(contract, "DEAR", 0)
    readers = {"boosted": Boosted(folds=2, rounds=5, repeats=0), "bayesian": Bayesian()}
    found = audited(told, digits=digits, attackers=readers)
    rows = {r["reader"]: r for r in found.document.diagnostics["readers"]}
    assert rows["bayesian"]["applicable"]
    assert rows["boosted"]["applicable"] == (not told or digits)
    if told and not digits:
        assert "surely exceeded" in rows["boosted"]["reason"]
    assert (kind_of(found)["verdict"] == "exceeded") == told
