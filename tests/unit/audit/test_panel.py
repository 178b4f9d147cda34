"""The panel: readers a little unlike the audit's own, who they are, what they cost, and that the worst counts."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import unveil
from documents import check_document
from small import QI, SENSITIVE, WAIVED, made_schema, made_table
from unveil import risk
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit import Audit, run_audit
from unveil.audit import panel as panel_module
from unveil.audit.belief_measures import measures_of
from unveil.audit.panel import dependent_pairs
from unveil.catalog import anonymizer
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.report import render_page

NAMES = ("a", "b", "c")
SCHEMA = made_schema(
    {name: {"role": QI, "domain": ["0", "1"]} for name in NAMES}
    | {"s": {"role": SENSITIVE, "domain": ["w", "x", "y", "z"]}}
)
SHORT = Chains(chains=2, sweeps=100, burn_in=100, most_sweeps=0, precision=0.3)
READERS = {"bayesian": Bayesian(), "random_worlds": RandomWorlds()}


@cache
def made(kind: str, rows: int = 300) -> tuple[Table, Release]:
    """Of `together` a and b, which go together, tell s only as a pair; of `nothing` they tell nothing."""
    random = np.random.default_rng(5)
    a = random.integers(2, size=rows)
    b = np.where(random.permutation(np.arange(rows) % 5) < 3, a, 1 - a)
    s = random.integers(4, size=rows)
    if kind == "together":  # both values of a have every s as often, and so have those of b
        s = np.arange(rows) % 2 + np.where(a == b, 0, 2)
    cells = [a, b, random.integers(2, size=rows)]
    table = made_table(SCHEMA, *zip(*(map(str, one) for one in cells), ("wxyz"[i] for i in s), strict=True))
    return table, anonymizer("anatomy:l=3").anonymize(table, Engine(seed=1)).release


def audited(kind: str, **options: Any) -> Audit:
    table, release = made(kind)
    options = {"attackers": READERS, "chains": SHORT, "background": None, "waive": WAIVED} | options
    found = run_audit({"r": release}, original=table, engine=Engine(seed=0, workers=1), **options)
    check_document(found.to_dict())
    return found


@cache
def plain() -> Audit:
    """With nothing else asked for."""
    return audited("together")


def facts(found: Audit) -> dict[str, Any]:
    (row,) = found.document.diagnostics["panel"]
    return dict(row)


def test_who_is_asked_and_what_is_said_of_them() -> None:
    found = plain()
    row = facts(found)
    known = [f"panel:without={name}" for name in NAMES]
    assert [m["reader"] for m in row["members"]] == ["panel:count=0.1", "panel:count=5", "panel:joined", *known]
    assert not row["not_asked"]
    assert row["members"][2]["words"] == "takes a and b as one each"
    assert set(row["worst"]) == {"pseudo-counts", "joined attributes", "known attributes"}
    low, high = row["right"]
    rights = [m["right"] for m in row["members"]]
    assert low <= min(rights) <= max(rights) <= high
    assert 0 < row["disagree"] <= 1
    page = render_page(found.document)
    assert "The worst of the panel · s" in page
    assert "does not know" in page
    again = audited("together")
    assert again.document.diagnostics["panel"] == found.document.diagnostics["panel"]
    assert again.document.findings == found.document.findings


def test_what_naive_bayes_cannot_see_the_panel_does() -> None:
    """Neither a nor b tells s, both together halve it: `bayesian` is blind to that, and a limit on it is kept."""
    limits = ["bayesian.global_threat <= 0.45", "global_threat <= 0.45"]
    found = audited("together", limits=limits)
    right = {f.reader: f for f in found.document.findings if f.name == "global_threat"}
    own, joined = right["bayesian"], right["panel:joined"]
    assert float(own.value or 0) < 0.42 < 0.48 < float(joined.value or 0)
    assert joined.verdict == "exceeded"
    assert own.verdict != "exceeded"
    assert found.exit_code == 1
    assert audited("together", limits=limits, panel=False).exit_code != 1
    both = ["panel:joined.global_threat <= 0.45", "panel.global_threat <= 0.45"]
    named = [f for f in audited("together", limits=both).document.findings if both[1] in (f.limit or "")]
    assert len(named) == 6
    assert [f.reader for f in named if both[0] in (f.limit or "")] == ["panel:joined"]
    with pytest.raises(UsageError, match="unknown reader"):
        audited("together", limits=["panels.global_threat <= 0.45"])


def test_without_the_panel_that_is_said() -> None:
    found = audited("together", panel=False)
    assert "panel" not in found.document.diagnostics
    assert not any((f.reader or "").startswith("panel") for f in found.document.findings)
    assert "the panel not asked" in found.document.diagnostics["judgement"]["r"]["words"]
    assert found.document.settings["panel"] is False


def test_the_most_lucky_of_many_is_not_exceeded_by_luck() -> None:
    """Where nothing tells s, readers are right as often as chance allows; the highest of them lies above that."""
    found = audited("nothing")
    right = [f for f in found.document.findings if f.name == "global_threat" and (f.reader or "").startswith("panel")]
    most = max(right, key=lambda f: float(f.value or 0))
    expected = float(np.mean([float(f.value or 0) for f in right]))
    assert float(most.low or 0) < expected  # a limit at what they all can do is not exceeded by the luckiest
    assert all(f.high == f.value for f in right)
    judged = audited("nothing", limits=[f"global_threat <= {expected:.4f}"])
    assert not any(f.verdict == "exceeded" for f in judged.document.findings if (f.reader or "").startswith("panel"))


def test_where_more_is_safer_the_least_counts() -> None:
    found = audited("together", limits=["absolute_error >= 0.1"], attackers=READERS)
    error = {f.reader: f for f in found.document.findings if f.name == "absolute_error"}
    worst = error["panel:without=c"]
    assert worst.low == worst.value < float(worst.high or 0)
    table, release = made("together")
    one = unveil.attack(release, table, ["random_worlds"], known=["a", "b"], chains=SHORT)
    assert one.truth is not None
    assert float(worst.value or 0) <= risk.absolute_error(one.attackers["random_worlds"], one.truth).value


def test_who_would_cost_too_much_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it costs is counted, not timed: with room for one of seven, one is asked, and the others are named."""
    first = panel_module._Asking.cost
    monkeypatch.setattr(panel_module._Asking, "own_cost", lambda self: 1.0)
    monkeypatch.setattr(panel_module._Asking, "cost", lambda self, member: 1.0 if member.joined else 2.0)
    row = facts(audited("together"))
    assert [m["reader"] for m in row["members"]] == ["panel:joined"]
    assert set(row["not_asked"].values()) == {"the panel may cost no more than the audit's own readers"}
    assert "not asked" in render_page(audited("together").document)
    monkeypatch.setattr(panel_module._Asking, "cost", first)
    row = facts(audited("together"))
    assert not row["members"]
    assert len(row["not_asked"]) == 6


def test_time_that_is_over_ends_the_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(seed=0, workers=1)
    table, release = made("together")
    first = panel_module._Asking.attack

    def attack(self: panel_module._Asking, member: panel_module.Member) -> Any:
        found = first(self, member)
        if member.count == 5:
            engine.stop.set()
        return found

    monkeypatch.setattr(panel_module._Asking, "attack", attack)
    found = run_audit({"r": release}, original=table, engine=engine, attackers=READERS, chains=SHORT, background=None)
    row = facts(found)
    assert [m["reader"] for m in row["members"]] == ["panel:count=0.1", "panel:count=5"]
    assert "the time was over" in row["not_asked"].values()
    assert found.exit_code != 0


def test_who_reads_the_wrong_way_round_keeps_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the panel believes whatever the release speaks against: its low figures are no evidence of safety."""
    limits = ["global_threat <= 0.9"]

    def verdicts(of: Audit) -> dict[str, str]:
        panel = [f for f in of.document.findings if f.limit == limits[0] and (f.reader or "").startswith("panel")]
        return {str(f.reader): f.verdict for f in panel}

    calm = audited("together", limits=limits)
    assert not any(m["alarm"] for m in facts(calm)["members"])
    assert set(verdicts(calm).values()) == {"within"}
    first = panel_module._Asking.attack

    def attack(self: panel_module._Asking, member: panel_module.Member) -> Any:
        found = first(self, member)
        if not member.joined:
            return found
        belief = found.attackers["bayesian"]
        least = (belief.probability == belief.probability.min(axis=1, keepdims=True)).astype(float)
        turned = replace(belief, probability=least / least.sum(axis=1, keepdims=True))
        return replace(found, attackers={**found.attackers, "bayesian": turned})

    monkeypatch.setattr(panel_module._Asking, "attack", attack)
    found = audited("together", limits=limits)
    (doubted,) = (m for m in facts(found)["members"] if m["alarm"])
    assert doubted["reader"] == "panel:joined"
    assert "bayesian guesses right for" in doubted["alarm"]
    others = verdicts(found)
    assert others.pop("panel:joined") == "inconclusive"
    assert set(others.values()) == {"within"}
    assert any("panel:joined may be wrong: bayesian" in text for text in found.document.diagnostics["remarks"])
    tight = audited("together", limits=["global_threat <= 0.4"]).document.findings  # what others exceed stays so
    assert any(f.verdict == "exceeded" for f in tight)


def test_pairs_that_depend_most_and_overlap_nowhere() -> None:
    table, release = made("together")
    targets = targets_of_table(table, release, release.index("s"))
    assert dependent_pairs(release, targets) == [(0, 1)]
    other, unrelated = made("nothing", 4000)
    pairs = dependent_pairs(unrelated, targets_of_table(other, unrelated, 3))
    assert pairs[0] == (0, 1)  # which go together there as well
    assert len({i for pair in pairs for i in pair}) == 2 * len(pairs)


def test_a_prior_that_was_given_is_not_replaced() -> None:
    from unveil.data.belief import Prior

    found = audited("together", prior=lambda release, asked: Prior.uninformative(release, asked, beta=2.0))
    assert all(m["kind"] == "known attributes" for m in facts(found)["members"])


def test_without_the_truth_only_what_needs_none_is_measured() -> None:
    release = made("together")[1]
    plain = run_audit({"r": release}, attackers=READERS, chains=SHORT, background=None, engine=Engine(seed=0))
    assert "panel" not in plain.document.diagnostics
    found = run_audit({"r": release}, attackers=READERS, chains=SHORT, background=None, limits=["confident.80 <= 0.5"])
    assert facts(found)["right"] is None
    assert {f.name for f in found.document.findings if (f.reader or "").startswith("panel")} == {"confident.80"}


def test_measures_have_a_direction() -> None:
    """Every measure that the panel can be limited by is known to be safer below or above."""
    attribute = made("together")[1].attributes[3]
    assert all(panel_module._safer(m) in (-1, 1) for m in measures_of(attribute))
