"""Membership inference: intervals and likelihoods by hand, a closed form, a null; releases, schemes, models."""

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from test_cli import run

from documents import check_document
from one_round import run_audit
from small import QI, SENSITIVE, made_schema, made_table, masked_release
from unveil.anonymizers.mondrian import Mondrian
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit import MembershipQuestion
from unveil.audit.membership_trial import run_membership
from unveil.catalog import anonymizer
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.formats.tables import read_columns
from unveil.report import page
from unveil.risk.linkage.distance import nearest_distances
from unveil.risk.membership import likelihood_scores, score_quality, scores_by_roster, true_positives
from unveil.risk.membership.trial import scores_of_model, scores_of_predictions, scores_of_release, scores_of_scheme

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 99}},
        "zip": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 99}},
        "d": {"role": SENSITIVE, "domain": ["x", "y"]},
    }
)

SHORT = Chains(chains=2, sweeps=60, burn_in=30, most_sweeps=0, every=10)


def people(count: int, seed: int = 0) -> Table:
    random = np.random.default_rng(seed)
    return made_table(
        SCHEMA, *zip(*random.integers(100, size=(2, count)), random.choice(["x", "y"], count), strict=True)
    )


def test_members_found_by_hand() -> None:
    # 1,000 others at 0..999, one in 100 accused: 990 and above. Of 100 members 60 are there.
    members, others = np.concatenate([np.full(60, 995.0), np.zeros(40)]), np.arange(1000.0)
    found = true_positives(members, others, 0.01)
    assert found.value == pytest.approx(0.6)
    # 10 others are expected above, 3 to 18 but for 1.25% each side: thresholds 981 and 997; nobody is beyond 997.
    assert found.low == 0
    # 60 of 100 and a tail of 1.25%: Clopper-Pearson's upper end, the root of P(Bin(100, p) <= 60) = .0125.
    from scipy.stats import binom

    assert binom.cdf(60, 100, found.high) == pytest.approx(0.0125)
    # 437 others: P(none above) = .99^437 = .01238 < .0125, so that the largest score is sure to be at the threshold.
    assert true_positives(np.full(50, 1e9), np.arange(437.0), 0.01).low > 0.9
    assert true_positives(np.full(50, 1e9), np.arange(436.0), 0.01).low == 0


def test_the_interval_of_members_found_holds() -> None:
    random = np.random.default_rng(4)
    held = {"normal": 0, "tied": 0}
    truth = float(norm.sf(norm.isf(0.05) - 1))
    # Whole numbers: P(O >= 3) = .05 - so that at 5% exactly those with 3 or more are accused.
    chances = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.2, 0.2, 0.2, 0.4])
    for _ in range(300):
        found = true_positives(random.normal(1, 1, 120), random.normal(size=150), 0.05)
        held["normal"] += found.low <= truth <= found.high
        drawn = [random.choice(4, size, p=p).astype(float) for size, p in zip((150, 120), chances, strict=True)]
        tied = true_positives(drawn[1], drawn[0], 0.05)
        held["tied"] += tied.low <= 0.4 <= tied.high
    assert min(held.values()) >= 285  # 95% of 300


def test_likelihoods_by_hand() -> None:
    inside = np.array([[True, False], [False, True]] * 2)
    shadow = np.array([[2.0, 0.0], [0.0, 2.0], [2.2, 0.2], [0.2, 2.2]])
    # Means 2.1 and .1, all spreads .02: (2² - 0) / (2 · .02).
    assert likelihood_scores(shadow, inside, np.array([2.1, 0.1])).tolist() == pytest.approx([100, -100])
    assert likelihood_scores(shadow, inside, np.array([1.1, 1.1])) == pytest.approx([0, 0], abs=1e-9)
    # Outside, nobody fits; inside, everybody: seen as fitting nowhere, (0 + ½) / (2 + 1½) against (2 + ½) / (2 + 1½).
    nowhere = np.where(inside, 1.0, -np.inf)
    assert likelihood_scores(nowhere, inside, np.full(2, -np.inf)).tolist() == pytest.approx([-np.log(5)] * 2)
    assert likelihood_scores(nowhere, inside, np.ones(2)).tolist() == pytest.approx([np.log(5)] * 2)
    always = np.ones((4, 2), dtype=bool)
    assert likelihood_scores(shadow, always, np.ones(2)).tolist() == [0, 0]
    with pytest.raises(UsageError, match="the same for"):
        likelihood_scores(shadow, inside[:2], np.ones(2))


@pytest.mark.parametrize("learns", [True, False])
def test_a_published_mean_against_its_closed_form(learns: bool) -> None:
    """x · mean of n people in d dimensions, all normal: AUC = Φ(√(d / 2n)); one half if the mean is of other people."""
    size, dimensions, shadows = 100, 100, 120
    random = np.random.default_rng(7)
    x = random.normal(size=(1500, dimensions))
    inside = random.random((shadows + 1, len(x))) < 0.5
    means = random.normal(size=(shadows + 1, dimensions)) / np.sqrt(size)
    seen = means @ x.T + inside * (x**2).sum(axis=1) / size * learns
    score = likelihood_scores(seen[1:], inside[1:], seen[0])
    told = score_quality(score[inside[0]], score[~inside[0]])
    expected = norm.cdf(np.sqrt(dimensions / 2 / size)) if learns else 0.5
    assert told.auc.low <= expected <= told.auc.high
    assert told.auc.high - told.auc.low < 0.06
    alarms = 0.01
    # Log likelihoods are normal with means ± δ² / 2 and variance δ² = d / n.
    delta = np.sqrt(dimensions / size) * learns
    truth = norm.sf(norm.isf(alarms) - delta)
    assert told.found["1_in_100"].low <= truth <= told.found["1_in_100"].high


def test_a_scheme_that_gives_all_away_and_one_that_says_nothing() -> None:
    table = people(120)
    open_ = run_membership(scores_of_scheme(anonymizer("mondrian:k=1"), table, name="open", shadows=8))
    assert open_.told["likelihood"].auc.value == 1
    shut = scores_of_scheme(Mondrian(require=anonymizer("mondrian:k=60").require), table, name="shut", shadows=8)
    told = run_membership(shut).told["likelihood"].auc
    assert told.low <= 0.5 <= told.high
    assert told.value < open_.told["likelihood"].auc.value - 0.2
    masked = run_membership(scores_of_scheme(anonymizer("noise:amount=0.02"), table, name="noise", shadows=8))
    assert masked.told["likelihood"].auc.value > 0.9
    assert masked.told["nearest"].auc.low > 0.7


def test_a_release_that_is_there_with_controls() -> None:
    inside, outside = people(60), people(60, seed=1)
    method = anonymizer("mondrian:k=2")
    release = method.anonymize(inside, Engine(seed=3)).release
    plain = scores_of_release(release, inside, outside, name="r.csv")
    assert plain.inside.sum() == 60
    assert list(plain.by) == ["degree", "frequency"]
    both = scores_of_scheme(method, inside, name="r.csv", control=outside, release=release, shadows=8)
    assert both.by["frequency"].tolist() == plain.by["frequency"].tolist()
    told = run_membership(both).told
    assert told["likelihood"].auc.value > 0.8
    with pytest.raises(UsageError, match="both, or neither"):
        scores_of_scheme(method, inside, name="r.csv", release=release)
    with pytest.raises(UsageError, match="4 or more"):
        scores_of_scheme(method, inside, name="r.csv", shadows=2)
    with pytest.raises(UsageError, match="unknown attribute 'town'"):
        scores_of_release(release, inside, outside, known=["town"])


def test_the_nearest_row_by_hand() -> None:
    schema = made_schema({"a": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 9}}})
    inside, outside = made_table(schema, ("1",), ("3",)), made_table(schema, ("5",), ("7",))
    masked = masked_release(inside.attributes, (np.array([1.5, 3.0]),), (0,))
    # Everybody's deviation is √5; a difference counts over √2 of it.
    unit = np.sqrt(5) * np.sqrt(2)
    near, far = nearest_distances(masked, [inside, outside], ["a"])
    assert near.tolist() == pytest.approx([0.5 / unit, 0])
    assert far.tolist() == pytest.approx([2 / unit, 4 / unit])
    asked = MembershipQuestion(sensitive=True)
    found = run_audit(
        {"m.csv": masked}, original=inside, control=outside, membership=asked, limits=["membership_auc <= 0.6"]
    )
    got = {f.id: f for f in found.document.findings}
    assert got["membership_auc.nearest"].value == got["membership_auc"].value == 1
    assert got["membership_tpr.1_in_100"].value == 1
    assert got["membership_tpr.1_in_100"].low == 0
    assert got["membership_odds.max"].value is None
    assert "the nearest row is: Of a member" in found.document.diagnostics["membership"]["m.csv"]["words"]


def test_audits_of_groups_say_who_is_found() -> None:
    inside, outside = people(40), people(40, seed=1)
    release = anonymizer("mondrian:k=2").anonymize(inside, Engine(seed=1)).release
    quick: Any = {
        "original": inside,
        "attackers": {"random_worlds": RandomWorlds()},
        "chains": SHORT,
        "background": None,
    }
    found = run_audit({"r.csv": release}, control=outside, **quick)
    got = {f.id: f for f in found.document.findings if f.attribute is None}
    each = [got[f"membership_auc.{score}"].value for score in ("degree", "frequency")]
    assert got["membership_auc"].value == max(each) > 0.6
    assert got["membership_tpr.1_in_1000"].baseline == 0.001
    scores = scores_of_release(release, inside, outside).by
    best = max(true_positives(part[:40], part[40:], 0.01).value for part in (scores["degree"], scores["frequency"]))
    assert got["membership_tpr.1_in_100"].value == pytest.approx(best)
    alone = run_audit({"r.csv": release}, **quick)
    assert {f.value for f in alone.document.findings if f.id.startswith("membership_tpr")} == {None}


def test_models_that_remember_and_that_do_not() -> None:
    from sklearn.dummy import DummyClassifier
    from sklearn.tree import DecisionTreeClassifier

    table = people(200, seed=5)
    tree = run_membership(scores_of_model(DecisionTreeClassifier(random_state=0), table, shadows=6)).told
    assert tree["confidence"].auc.low > 0.6
    assert tree["likelihood"].auc.low > 0.6
    same = scores_of_model(DummyClassifier(), table, shadows=4)
    assert all(one.auc.low <= 0.5 <= one.auc.high for one in run_membership(same).told.values())
    apart = scores_of_model(DecisionTreeClassifier(), table, control=people(100, seed=6), shadows=4)
    assert apart.inside.tolist() == [True] * 200 + [False] * 100
    with pytest.raises(UsageError, match="2 or more"):
        scores_of_model(DecisionTreeClassifier(), table, shadows=1)
    with pytest.raises(UsageError, match="not from others"):
        scores_by_roster(lambda x, y: None, np.zeros((4, 1)), np.zeros(4, dtype=int), np.ones(4, dtype=bool))


def answers(folder: Path, text: str) -> Any:
    (folder / "a.csv").write_text(text)
    return scores_of_predictions(read_columns(folder / "a.csv"), name="a.csv")


def test_answers_of_a_model_by_hand(tmp_path: Path) -> None:
    found = answers(tmp_path, "member,label,flu,cold\n1,flu,0.9,0.1\n0,cold,0.4,0.6\nyes,cold,0.5,0.5\n0,flu,0.2,0.8\n")
    assert found.by["confidence"].tolist() == [0.9, 0.6, 0.5, 0.2]
    assert run_membership(found).told["confidence"].auc.value == 0.75
    scored = answers(tmp_path, "member,score\n1,3\n0,3\n")
    assert run_membership(scored).told["score"].auc.value == 0.5
    for text, words in (
        ("member,score\n2,3\n", "neither 1 nor 0"),
        ("who,score\n1,3\n", "no column member"),
        ("member,label\n1,flu\n", "no column 'flu'"),
        ("member,score\n1,many\n", "is not a number"),
        ("member,x\n1,2\n", "needs a column score"),
        ("member,score\n1,2\n1,2\n", "if there are both"),
    ):
        with pytest.raises(UsageError, match=words):
            answers(tmp_path, text)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "chart_library", lambda: "")  # making it takes seconds
    (tmp_path / "schema.toml").write_text(TOML)
    for name, table in (("in.csv", people(40)), ("out.csv", people(40, seed=1))):
        texts = [[a.values[c] for c in column] for a, column in zip(table.attributes, table.columns, strict=True)]
        lines = [",".join(map(str, row)) for row in zip(*texts, strict=True)]
        (tmp_path / name).write_text("age,zip,d\n" + "\n".join(lines) + "\n")
    base = ("attack", "membership", "--original", tmp_path / "in.csv", "-s", tmp_path / "schema.toml")
    files = ("--people", tmp_path / "p.csv", "--json", tmp_path / "m.json", "--report", tmp_path / "m.html")
    limit = ("--limit", "membership_auc <= 0.6")
    code, out, err = run(*base, "--with", "mondrian:k=1", "--shadows", 4, *limit, *files, capsys=capsys)
    assert (code, "A LIMIT IS EXCEEDED" in out) == (1, True)
    assert "keep it secret" in err
    assert stat.S_IMODE((tmp_path / "p.csv").stat().st_mode) == 0o600
    assert (tmp_path / "p.csv").read_text().startswith("row,member,likelihood,degree,frequency\n1,")
    document = json.loads((tmp_path / "m.json").read_text())
    check_document(document)
    assert document["settings"]["shadows"] == 4
    assert "<h1>Can it be found out who is in?" in (tmp_path / "m.html").read_text()
    (tmp_path / "a.csv").write_text("member,score\n1,3\n0,2\n")
    code, out, _ = run("attack", "membership", "--predictions", tmp_path / "a.csv", "--json", "-", capsys=capsys)
    assert (code, json.loads(out)["findings"][0]["id"]) == (0, "score.membership_auc")
    for options, words in (
        (base, "say what is attacked"),
        ((*base, "--with", "mondrian:k=2", "--model", "GaussianNB"), "say what is attacked"),
        ((*base, "--predictions", tmp_path / "a.csv"), "leave --original and --control out"),
        ((*base, tmp_path / "in.csv"), "RELEASE needs --control"),
        ((*base, "--with", "mondrian:k=2", "--control", tmp_path / "out.csv"), "--control goes with RELEASE"),
        ((*base, "--model", "GaussianNB", "--require", "t_closeness:t=0.2"), "--require is for --with"),
        (("attack", "membership", "--model", "GaussianNB"), "give the original"),
        ((*base, "--model", "GaussianNB", "--limit", "reid <= 1", "--shadows", 2), "is not measured here"),
    ):
        code, out, err = run(*options, capsys=capsys)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert words in err


TOML = """version = 1
confirmed = true
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 0, to = 99, step = 1 }
[attributes.zip]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 0, to = 99, step = 1 }
[attributes.d]
role = "sensitive"
domain = ["x", "y"]
"""
