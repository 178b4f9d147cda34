"""Synthetic releases: rates by hand, data that remembers everybody and data that remembers nobody, and the audit."""

import json
from pathlib import Path

import numpy as np
import pytest
from test_cli import run

from unveil.data.belief import Estimate
from unveil.errors import UsageError
from unveil.risk.synthetic import (
    MixedTable,
    closest_records,
    inference_risk,
    linkability_risk,
    residual_risk,
    singling_out_risk,
    wilson_rate,
)


def people(rows: int, seed: int) -> MixedTable:
    """A number, two categories that go with it, and one that goes with nothing."""
    random = np.random.default_rng(seed)
    age = random.integers(18, 90, rows).astype(np.float64)
    job = (age // 20).astype(np.int64)
    town = random.integers(0, 12, rows)
    secret = random.integers(0, 10, rows)
    return MixedTable((age, job, town, secret), (True, False, False, False))


def test_wilson_by_hand() -> None:
    """10 of 100, z = 1.96: centre (10 + 1.92) / 103.84 = .1148, ends .0552 and .1744 (Wilson 1927)."""
    found = wilson_rate(10, 100)
    assert (found.value, found.low, found.high) == pytest.approx((0.1148, 0.0552, 0.1744), abs=1e-4)
    assert wilson_rate(0, 10).low == pytest.approx(0, abs=1e-12)
    with pytest.raises(UsageError):
        wilson_rate(0, 0)


def test_the_risk_is_what_control_people_do_not_have() -> None:
    sure, half = Estimate(1.0, 1.0, 1.0), Estimate(0.5, 0.4, 0.6)
    assert residual_risk(sure, half).value == 1
    found = residual_risk(Estimate(0.7, 0.65, 0.75), half)
    assert found.value == pytest.approx(0.4)
    assert found.high - found.value == pytest.approx(np.hypot(0.05 / 0.5, 0.1 * 0.3 / 0.25))
    assert residual_risk(half, sure).value == 0


def test_copies_are_found_and_strangers_are_not() -> None:
    truth, control, strangers = people(600, 1), people(600, 2), people(600, 3)
    for synthetic, found in ((truth, True), (strangers, False)):
        risks = [
            singling_out_risk(truth, control, synthetic, attacks=200).risk,
            linkability_risk(truth, control, synthetic, ([0, 1], [2, 3]), attacks=400).risk,
            inference_risk(truth, control, synthetic, [0, 2], 3, attacks=400).risk,
        ]
        near = closest_records(truth, control, synthetic)
        if found:
            assert risks[0].low > 0.5
            assert risks[2].low > 0.3
            assert near["share"].low > 0.8
            assert near["distance"].value < 0.5
        else:
            assert all(risk.low == 0 for risk in risks)
            assert 0.4 < near["share"].value < 0.6


def test_numbers_are_guessed_within_five_per_cent() -> None:
    truth = MixedTable((np.arange(40), np.full(40, 100.0)), (False, True))
    for shown, right in ((104.0, True), (106.0, False)):
        synthetic = MixedTable((np.arange(40), np.full(40, shown)), (False, True))
        assert (inference_risk(truth, truth, synthetic, [0], 1, attacks=40).attack.value > 0.9) is right


SCHEMA = """version = 1
confirmed = true
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 0, to = 99 }
[attributes.job]
role = "quasi-identifier"
domain = ["0", "1", "2", "3", "4"]
[attributes.town]
role = "quasi-identifier"
domain = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]
[attributes.ill]
role = "sensitive"
domain = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
"""


def written(path: Path, table: MixedTable) -> None:
    rows = zip(*([str(int(v)) for v in column] for column in table.columns), strict=True)
    path.write_text("age,job,town,ill\n" + "".join(",".join(row) + "\n" for row in rows))


@pytest.mark.parametrize(("seed", "remembers"), [(1, True), (3, False)])
def test_the_audit(tmp_path: Path, seed: int, remembers: bool, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA)
    for name, number in (("original", 1), ("control", 2), ("made", seed)):
        written(tmp_path / f"{name}.csv", people(300, number))
    (tmp_path / "made.toml").write_text('masked = ["*"]\nmethod = "synthetic"\n')
    said = ["audit", tmp_path / "made.csv", "--schema", tmp_path / "s.toml", "--original", tmp_path / "original.csv"]
    control = ["--control", tmp_path / "control.csv", "--json", tmp_path / "a.json"]
    code, out, err = run(*said, *control, capsys=capsys)
    document = json.loads((tmp_path / "a.json").read_text())
    found = {f["id"]: f["verdict"] for f in document["findings"]}
    names = ("synthetic_singling_out", "synthetic_linkability", "synthetic_inference")
    assert {name in found for name in names} == {True}, out + err
    assert "reid" not in found
    if remembers:
        assert code == 1
        assert found["synthetic_inference"] == found["synthetic_singling_out"] == "exceeded"
    else:
        assert all(found[name] != "exceeded" for name in names)
    bare = [*said, "--json", tmp_path / "b.json"]
    assert run(*bare, capsys=capsys)[0] in (1, 3)  # the file's own checks may say more of copies
    document = json.loads((tmp_path / "b.json").read_text())
    assert all(f["value"] is None for f in document["findings"] if f["id"] in names)
    assert any("--control FILE" in remark for remark in document["diagnostics"]["remarks"])
