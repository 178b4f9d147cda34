"""`unveil audit` on tables whose posterior has several modes: a limit that the exact posterior exceeds is not kept."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli import run

from tests.mode_oracles import by_counts
from tests.modes import Hidden, drawn_table, misled
from thorough import chosen

SCHEMA = """version = 1
confirmed = true
[attributes.a0]
role = "quasi-identifier"
domain = ["0", "1"]
[attributes.a1]
role = "quasi-identifier"
domain = ["0", "1"]
[attributes.s]
role = "sensitive"
domain = ["0", "1"]
"""
SEEDS = chosen([str(seed) for seed in range(10)], ["1"])
Row = tuple[int, ...]


def likeliest(table: Hidden) -> tuple[list[list[Row]], float]:
    """By group its people with values as believed most, and the share of them whom the exact posterior guesses."""
    belief = dict(zip(table.cells, by_counts(table)[1], strict=True))
    groups, right = [], 0
    for cells, values in table.groups:
        order = sorted(cells, key=lambda cell: -belief[cell][0])
        rows = [(*cell, value) for cell, value in zip(order, sorted(values), strict=True)]
        right += sum(int(np.argmax(belief[row[:-1]])) == row[-1] for row in rows)
        groups.append(rows)
    return groups, right / table.rows


def write(folder: Path, table: Hidden) -> float:
    """The original, its Anatomy release and a schema; the share of people whom the exact posterior guesses."""
    groups, right = likeliest(table)
    lines = [",".join(map(str, row)) for rows in groups for row in rows]
    (folder / "o.csv").write_text("\n".join(["a0,a1,s", *lines]) + "\n")
    released = [
        f"{a0},{a1},{s},b{number}"
        for number, rows in enumerate(groups)
        for (a0, a1), s in zip(sorted(row[:-1] for row in rows), sorted(row[-1] for row in rows), strict=True)
    ]
    (folder / "r.csv").write_text("\n".join(["a0,a1,s,group", *released]) + "\n")
    (folder / "r.toml").write_text('group = "group"\nblocks = [["a0", "a1"], ["s"]]\n')
    (folder / "s.toml").write_text(SCHEMA)
    return right


def audit(folder: Path, seed: str, limit: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, dict[str, Any]]:
    files = folder / "r.csv", "--original", folder / "o.csv", "--schema", folder / "s.toml"
    readers = "--attacker", "bayesian", "--background", "no"
    more = *readers, "--limit", limit, "--seed", seed, "--json", folder / "a.json"
    code, out, _ = run("audit", *files, *more, capsys=capsys)
    return code, out, json.loads((folder / "a.json").read_text())


@pytest.mark.parametrize("seed", SEEDS)
def test_no_seed_is_within_a_limit_that_the_exact_posterior_exceeds(
    seed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Chains used to agree on 12% with an interval of no width: exit code 0."""
    right = write(tmp_path, misled())
    assert 0.85 < right < 0.95
    code, _, document = audit(tmp_path, seed, "global_threat <= 0.6", capsys)
    assert code in (1, 3)
    (found,) = (f for f in document["findings"] if f["id"] == "bayesian.global_threat")
    assert found["verdict"] != "within"
    assert found["low"] <= right <= found["high"]
    assert any("s: one reading of the release fits it" in remark for remark in document["diagnostics"]["remarks"])


def test_two_readings_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every bucket one case and one control: half of the posterior each way, and nobody can be told."""
    tied = [[[0.95, 0.05], [0.05, 0.95]], [[0.5, 0.5], [0.5, 0.5]]]
    write(tmp_path, drawn_table("case-control", 7, {(0, 1): 60}, tied))
    _, out, document = audit(tmp_path, "0", "global_threat <= 0.9", capsys)
    said = [r for r in document["diagnostics"]["remarks"] if "two readings of the release fit" in r]
    assert len(said) == 1
    assert " ".join(out.split()).count("two readings of the release fit") == 1
    one, other = map(int, re.findall(r"about (\d+)%", said[0]))  # each says of everybody what the other denies
    assert one + other == 100
    assert not any("one reading" in remark for remark in document["diagnostics"]["remarks"])
    assert re.search(r"guess (50%|\d+% to \d+%) right", document["diagnostics"]["sentence"]["r.csv"]["s"])
