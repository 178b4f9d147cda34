"""`unveil anonymize --until`, as a user meets it."""

import hashlib
import json
import stat

import pytest
from test_cli import run

from hospitals import write_hospital


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("until")
    write_hospital(path, 300)
    return path


def test_a_release_comes_with_its_certificate(folder, capsys):
    made = folder / "made.csv"
    given = ("anonymize", folder / "hospital.csv", "--schema", folder / "schema.toml", "--with", "mondrian:k=3")
    code, _, said = run(*given, "--until", "relative_threat.max <= 8", "--anyway", "-o", made, capsys=capsys)
    assert code == 0, said
    assert "relative_threat.share_2x <= 0.05 was added" in said
    certificate = json.loads((folder / "made.certificate.json").read_text())
    assert certificate["files"]["made.csv"] == hashlib.sha256(made.read_bytes()).hexdigest()
    assert certificate["limits"] == ["relative_threat.max <= 8", "relative_threat.share_2x <= 0.05"]
    assert {"bayesian", "boosted", "bayesian without age"} <= {row["reader"] for row in certificate["readers"]}
    inside = [row for row in certificate["readers"] if row["in_loop"]]
    assert inside
    assert all(row["kept"] for row in inside)
    assert "seed" not in json.dumps(certificate)
    assert stat.S_ISREG(made.stat().st_mode)


def test_nothing_is_written_where_nothing_keeps_the_limits(folder, capsys):
    made = folder / "never.csv"
    given = ("anonymize", folder / "hospital.csv", "--schema", folder / "schema.toml", "--with", "mondrian")
    limits = ("--until", "relative_threat.max <= 1.00001", "--until", "global_threat <= 0.01")
    code, _, said = run(*given, *limits, "-o", made, capsys=capsys)
    assert code == 1
    assert "nearest" in said
    assert not made.exists()
    assert not (folder / "never.certificate.json").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--suppress", "0.1"), "go with --until"),
        (("--until", "belief_gain <= 0.4", "--utility", "beauty"), "choose from certainty_penalty"),
        (("--until", "belief_gain <= 0.4", "--suppress", "1.5"), "share of the rows"),
        (("--until", "belief_gain >= 0.4"), "points the wrong way"),
        (("--until", "beauty <= 0.4"), "beauty"),
    ],
)
def test_mistakes_are_one_line(folder, capsys, options, said):
    given = ("anonymize", folder / "hospital.csv", "--schema", folder / "schema.toml", "--with", "mondrian")
    code, _, line = run(*given, *options, "-o", folder / "no.csv", capsys=capsys)
    assert code == 2
    assert said in line
    assert not (folder / "no.csv").exists()
