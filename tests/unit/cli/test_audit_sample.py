"""`unveil audit --sample`: nobody exposed among those sampled is not nobody exposed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from test_cli import run

from small import QI, SENSITIVE, made_schema, made_table
from unveil.attackers.posterior.contract import Chains
from unveil.audit.case import Case

SCHEMA = """version = 1
confirmed = true
[attributes.town]
role = "quasi-identifier"
domain = ["a", "b", "c", "d", "e"]
[attributes.disease]
role = "sensitive"
domain = ["flu", "hiv"]
"""
LIMITS = ("bayesian.confident.90 <= 0.001", "bayesian.belief_gain <= 0.35", "bayesian.belief_gain.q99.5 <= 0.3")


@pytest.mark.parametrize("seed", ["1", "2"])
def test_five_exposed_people_whom_a_sample_misses_are_not_within(
    seed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five of 1,005 live in a town of their own and all have hiv; of 100 people asked about hardly one is of them."""
    rows = [("abcd"[i % 4], ("flu", "hiv")[i % 8 // 4]) for i in range(1000)] + [("e", "hiv")] * 5
    text = "\n".join(["town,disease", *(f"{town},{disease}" for town, disease in sorted(rows))]) + "\n"
    for name in ("o.csv", "r.csv"):
        (tmp_path / name).write_text(text)
    (tmp_path / "s.toml").write_text(SCHEMA)
    files = tmp_path / "r.csv", "--original", tmp_path / "o.csv", "--schema", tmp_path / "s.toml"
    limits = [part for limit in LIMITS for part in ("--limit", limit)]
    more = ["--seed", seed, "--json", tmp_path / "a.json"]
    code, _, _ = run("audit", *files, *limits, *more, "--sample", "100", capsys=capsys)
    sampled = json.loads((tmp_path / "a.json").read_text())
    asked = {f["id"]: f for f in sampled["findings"] if f["id"] in {limit.split()[0] for limit in LIMITS}}
    assert len(asked) == len(LIMITS)
    assert code in (1, 3)
    assert asked["bayesian.confident.90"]["value"] == 0  # whom it missed
    assert {f["verdict"] for f in asked.values()} == {"inconclusive"}
    code, _, _ = run("audit", *files, *limits, *more, capsys=capsys)
    whole = json.loads((tmp_path / "a.json").read_text())
    assert code == 1
    found = {f["id"]: f for f in whole["findings"]}
    assert found["bayesian.confident.90"]["value"] == pytest.approx(5 / 1005)
    assert found["bayesian.confident.90"]["verdict"] == "exceeded"


@pytest.mark.parametrize(
    ("sample", "stated", "precision"),
    [(100, 0.003, 0.01), (400, 0.003, 0.005), (4000, 0.003, 0.003), (100, 0.001, 0.001), (None, 0.003, 0.003)],
)
def test_chains_are_as_precise_as_a_sample_can_tell(sample: int | None, stated: float, precision: float) -> None:
    """A fifth of the standard error of a share of a half; who asks for a precision gets it."""
    table = made_table(made_schema({"a": {"role": QI}, "s": {"role": SENSITIVE}}), *[("x", "u"), ("x", "v")] * 2500)
    case = Case(releases={"r": table.as_release()}, original=table, sample=sample, chains=Chains(precision=stated))
    assert case.readers.chains.precision == pytest.approx(precision)
    assert case.settings()["precision"] == pytest.approx(precision)
    everybody = replace(case, sample=5000)
    assert everybody.readers.chains.precision == stated
