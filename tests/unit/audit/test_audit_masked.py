"""Masked releases in an audit: measured beside their baselines, unknown without the truth, refused by group readers."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli import run

from documents import check_document
from one_round import run_audit
from small import QI, SENSITIVE, made_schema, made_table, masked_release
from unveil import catalog
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.posterior.convergence import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit import Audit
from unveil.audit.attack import run_attack, run_channel_attack
from unveil.audit.membership import MembershipQuestion
from unveil.data.release import Anonymized
from unveil.data.rows import as_published, groups_of_origin
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.report import render_page
from unveil.risk import global_threat
from unveil.risk.disclosure import deviation_interval_disclosure, paired, rank_interval_disclosure, simple_disclosure
from unveil.risk.perturbation.channels import with_channels

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric"},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "disease": {"role": SENSITIVE, "domain": ["flu", "hiv", "none"]},
    }
)


def people(rows: int = 40) -> Table:
    random = np.random.default_rng(6)
    age, sex = random.integers(20, 60, rows), random.integers(0, 2, rows)
    return made_table(
        SCHEMA, *[(a, "fm"[s], ["flu", "hiv", "none"][(a // 15) % 3]) for a, s in zip(age, sex, strict=True)]
    )


TABLE = people()


def masked(seed: int = 2) -> Anonymized:
    random = np.random.default_rng(seed)
    age, sex, disease = as_published(TABLE.attributes, TABLE.columns)
    columns = (age + random.normal(size=len(age)) * 4, np.where(random.random(len(sex)) < 0.2, 1 - sex, sex), disease)
    origin = random.permutation(TABLE.rows)
    made = masked_release(TABLE.attributes, tuple(c[origin] for c in columns), (0, 1))
    return Anonymized(made, groups_of_origin(origin, TABLE.rows))


MADE = masked()


@pytest.fixture(scope="module")
def found() -> Audit:
    return run_audit(
        {"noisy.csv": MADE.release},
        original=TABLE,
        assignments={"noisy.csv": MADE.group_of_row},
        engine=Engine(seed=0, workers=1),
        limits=["bayesian.global_threat <= 0.5", "model_disclosure <= 1"],
    )


def test_findings_are_the_measures_of_the_library(found: Audit) -> None:
    by_id = {(f.id, f.attribute): f for f in found.document.findings}
    age, sex = paired(TABLE, MADE, "age"), paired(TABLE, MADE, "sex")
    assert by_id["rank_interval_disclosure.20", "age"].value == rank_interval_disclosure(*age, 20).value
    assert by_id["deviation_interval_disclosure.50", "age"].value == deviation_interval_disclosure(*age, 50).value
    assert by_id["simple_disclosure", "sex"].value == simple_disclosure(*sex).value
    assert by_id["model_disclosure", "disease"].baseline is not None
    assert by_id["model_disclosure.inputs:1", "disease"].value is not None
    assert all(0 <= f.low <= f.value <= f.high <= 1 for f in by_id.values() if isinstance(f.value, float)
               and f.id != "model_gain" and f.reader is None)  # fmt: skip


def test_readers_are_told_how_values_were_moved(found: Audit) -> None:
    readers = {r["reader"]: r for r in found.document.diagnostics["readers"]}
    assert all(readers[name]["applicable"] for name in ("learner", "bayesian", "boosted", "random_worlds"))
    assert readers["bayesian"]["threat"]["mechanism"] == "known: what perturbed values say (estimated)"
    threat = next(f for f in found.document.findings if f.id == "bayesian.global_threat")
    read, _ = with_channels(MADE.release, TABLE, MADE.group_of_row)
    people = targets_of_table(TABLE, read, 2)
    told = run_attack(read, people, {"bayesian": Bayesian()}, engine=Engine(seed=0, workers=1), lenient=True)
    truth = TABLE.columns[2]
    assert threat.value == global_threat(told.attackers["bayesian"], truth).value
    assert threat.baseline == global_threat(told.learner, truth).value < threat.value
    kept = next(f for f in found.document.findings if f.id == "model_disclosure")
    assert kept.verdict == "within"
    kinds = {k["kind"]: k["verdict"] for k in found.document.diagnostics["judgement"]["noisy.csv"]["kinds"]}
    assert (kinds["linking"], kinds["file"]) == ("exceeded", "not judged")
    assert found.exit_code == 1


def test_without_whose_row_is_whose_readers_take_the_least_change() -> None:
    alone = run_audit({"noisy.csv": MADE.release}, original=TABLE, limits=["bayesian.global_threat <= 0.5"])
    (reader, *_) = alone.document.diagnostics["readers"]
    assert reader["applicable"]
    assert reader["threat"]["mechanism"] == "known: what perturbed values say (estimated from classes)"
    found = {f.id: f.value for f in alone.document.findings}
    assert found["bayesian.global_threat"] > found["learner.global_threat"]
    assert found["reid"] is None


def test_the_document_is_valid_and_the_report_shows_it(found: Audit) -> None:
    read = check_document(found.to_dict())
    told = read["diagnostics"]
    assert told["releases"]["noisy.csv"]["masked"] == ["age", "sex"]
    assert told["wp29"]["noisy.csv"]["singling_out"]["finding"] == "claimed"
    assert told["wp29"]["noisy.csv"]["inference"]["finding"] == "bayesian.global_threat"
    assert read["charts"]["noisy.csv"][""]["masked"]["age"]["rank_interval_disclosure"][0]["p"] == 1
    page = render_page(found.document)
    assert "What the masked values give away" in page
    assert "True value within 10% of the ranks" in page
    assert "Who can be linked, and who stands alone" in page
    assert "What is left of the masked values" in page
    assert "A model that learned from this file" in page


def test_without_the_assignment_nothing_is_claimed() -> None:
    for table in (TABLE, None):
        alone = run_audit({"noisy.csv": MADE.release}, original=table, engine=Engine(seed=0, workers=1))
        measured = [f for f in alone.document.findings if "disclosure" in f.id or f.id == "model_gain"]
        assert {f.value for f in measured} == {None}
        assert any("--assignment" in text for text in alone.document.diagnostics["remarks"])
        check_document(alone.to_dict())
        render_page(alone.document)


def test_membership_that_is_sensitive_is_no_pass() -> None:
    """Nothing is measured of a masked release's members: the limit that a schema brings is not kept, but open."""
    asked = MembershipQuestion(sensitive=True)
    found = run_audit(
        {"noisy.csv": MADE.release}, original=TABLE, assignments={"noisy.csv": MADE.group_of_row}, membership=asked
    )
    kinds = {k["kind"]: k for k in found.document.diagnostics["judgement"]["noisy.csv"]["kinds"]}
    assert kinds["membership"]["verdict"] == "not judged"
    assert "--population or --control" in kinds["membership"]["sentence"]
    assert "perturbed" in found.document.diagnostics["membership"]["noisy.csv"]["reason"]
    assert any(text.startswith("Membership was not tested") for text in found.document.diagnostics["not_tested"])


def test_masked_and_grouped_releases_side_by_side() -> None:
    both = run_audit(
        {"open.csv": TABLE.as_release(), "noisy.csv": MADE.release}, original=TABLE, engine=Engine(seed=0, workers=1)
    )
    assert {f.release for f in both.document.findings} == {"open.csv", "noisy.csv"}
    assert {release for release, _ in both.answers} == {"open.csv", "noisy.csv"}


def test_assignments_and_domains_must_fit() -> None:
    with pytest.raises(UsageError, match="has 3 rows, the original 40"):
        run_audit({"noisy.csv": MADE.release}, original=TABLE, assignments={"noisy.csv": np.arange(3)})
    other = made_table(SCHEMA, *[(i, "f", "flu") for i in range(40)])
    with pytest.raises(NotApplicable, match="domain of age"):
        run_audit({"noisy.csv": MADE.release}, original=other, assignments={"noisy.csv": MADE.group_of_row})


FEW = Chains(chains=2, sweeps=60, burn_in=20, most_sweeps=0, every=10)


def test_published_chances_are_read_by_every_reader() -> None:
    made = catalog.anonymizer("pram:retain=0.7,publish=true").anonymize(TABLE, Engine(seed=1))
    options: dict[str, Any] = {"engine": Engine(seed=2, workers=1), "chains": FEW}
    found = run_audit({"r": made.release}, original=TABLE, limits=["global_threat <= 1"], **options).document
    values = {f.id: f for f in found.findings}
    alone = run_channel_attack(made.release, TABLE, 2, **options)
    truth = TABLE.columns[2]
    assert values["bayesian.global_threat"].value == global_threat(alone.attackers["bayesian"], truth).value
    assert values["bayesian.global_threat"].baseline == global_threat(alone.learner, truth).value
    assert values["learner.global_threat"].value == values["bayesian.global_threat"].baseline
    assert values["random_worlds.global_threat"].value is not None
    assert all(r["applicable"] for r in found.diagnostics["readers"])
    assert found.diagnostics["readers"][0]["threat"]["mechanism"].startswith("known")
    assert "A model that learned" not in found.diagnostics["sentence"]["r"]["disease"]
    check_document(found.model_dump(mode="json"))
    few = {**options, "attackers": {"counting": RandomWorlds()}}
    right = {w: run_audit({"r": made.release}, original=TABLE, wrong=w, **few).document for w in (0.0, 0.4)}
    told = {w: next(f.value for f in d.findings if f.id == "counting.global_threat") for w, d in right.items()}
    assert told[0.4] <= told[0.0]


SCHEMA_TOML = """version = 1
confirmed = true
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
[attributes.sex]
role = "quasi-identifier"
[attributes.disease]
role = "sensitive"
"""


def test_the_whole_way_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "schema.toml").write_text(SCHEMA_TOML)
    rows = zip(*(np.array(a.values)[c] for a, c in zip(TABLE.attributes, TABLE.columns, strict=True)), strict=True)
    (tmp_path / "data.csv").write_text("\n".join(["age,sex,disease", *map(",".join, rows)]) + "\n")
    base = ("-s", tmp_path / "schema.toml")
    data, release, secret = (tmp_path / name for name in ("data.csv", "r.csv", "secret.csv"))
    code, _, err = run(
        *("anonymize", data, *base, "--with", "noise:amount=0.3", "-o", release, "--assignment", secret, "--seed", "4"),
        capsys=capsys,
    )
    assert code == 0
    assert "40 rows, 1 columns perturbed" in err
    assert secret.stat().st_mode & 0o777 == 0o600
    code, out, _ = run(
        *("audit", release, *base, "--original", data, "--assignment", secret, "--json", tmp_path / "a.json"),
        *("--people", tmp_path / "linked.csv"),
        capsys=capsys,
    )
    assert code == 1  # so little noise links people
    linked = list(csv.DictReader((tmp_path / "linked.csv").read_text().splitlines()))
    assert (tmp_path / "linked.csv").stat().st_mode & 0o777 == 0o600
    assert [row["row"] for row in linked] == [str(i) for i in range(1, 41)]
    assert "Not tested" in out
    document = json.loads((tmp_path / "a.json").read_text())
    right = [float(row["distance:right"]) for row in linked]
    assert np.mean(right) == pytest.approx(next(f["value"] for f in document["findings"] if f["id"] == "reid"))
    assert all(float(row["distance:margin"]) >= 0 for row in linked)
    values = [f["value"] for f in document["findings"] if f["id"].startswith("rank_interval_disclosure")]
    assert values == sorted(values)
    assert values[-1] > 0.5
    code, out, _ = run("attack", "attribute", release, *base, "--original", data, capsys=capsys)
    assert code in (0, 3)
    assert "what is believed of 40 people" in out
    code, _, err = run("attack", "attribute", release, *base, "--original", data, "--roster", capsys=capsys)
    assert code == 2
    assert "its values were perturbed; it is read with" in err
    assert err.count("\n") == 1
    code, _, err = run("check", release, *base, capsys=capsys)
    assert code == 0
    assert "age: perturbed, so classes are counted by what is shown" in err
    published = ("pram:retain=0.7,publish=true", "-o", tmp_path / "p.csv")
    assert run("anonymize", data, *base, "--with", *published, "--seed", "4", capsys=capsys)[0] == 0
    few = ("--original", data, "--sweeps", "60", "--most-sweeps", "60", "--chains", "2")
    code, out, _ = run(
        "attack", "attribute", tmp_path / "p.csv", *base, *few, "--people", tmp_path / "people.csv", capsys=capsys
    )
    assert code in (0, 3)
    assert "what is believed of 40 people" in out
    assert len((tmp_path / "people.csv").read_text().splitlines()) == 41
    code, out, _ = run(
        "attack", "attribute", tmp_path / "p.csv", *base, *few, "--attacker", "random_worlds", capsys=capsys
    )
    assert (code in (0, 3), "random_worlds" in out) == (True, True)
    code, _, err = run("attack", "attribute", tmp_path / "p.csv", *base, *few, "--release-decimal", "x", capsys=capsys)
    assert (code, "decimal 'x'" in err) == (2, True)
