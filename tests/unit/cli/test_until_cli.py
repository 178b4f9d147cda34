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
    assert "relative_threat.share_2x <= 0.2 was added" in said
    certificate = json.loads((folder / "made.certificate.json").read_text())
    assert certificate["files"]["made.csv"] == hashlib.sha256(made.read_bytes()).hexdigest()
    assert certificate["stated"] == ["relative_threat.max <= 8", "relative_threat.share_2x <= 0.2"]
    assert {text.removeprefix("bayesian.").removeprefix("boosted.") for text in certificate["limits"]} == {
        *certificate["stated"]
    }
    assert {"bayesian", "boosted", "bayesian without age"} <= {row["reader"] for row in certificate["readers"]}
    inside = [row for row in certificate["readers"] if row["in_loop"]]
    assert inside
    assert all(row["kept"] for row in inside)
    assert "seed" not in json.dumps(certificate)
    assert stat.S_ISREG(made.stat().st_mode)


def test_a_certificate_is_verified_anew(folder, capsys):
    """Follows the test above, whose release it audits."""
    made, certificate = folder / "made.csv", folder / "made.certificate.json"
    given = ("audit", made, "--schema", folder / "schema.toml", "--original", folder / "hospital.csv", "--certificate")
    quick = ("--attacker", "bayesian", "--attacker", "boosted:repeats=0", "--no-panel", "--sample", "40")
    code, out, said = run(*given, certificate, *quick, capsys=capsys)
    assert code in (0, 1, 3), said  # an audit has other limits, too
    assert "made.certificate.json is confirmed: the files are those certified" in said
    assert "relative_threat.max <= 8" in out + said or "relative" in out

    text = certificate.read_text()
    tight = folder / "tight.json"
    tight.write_text(text.replace("relative_threat.max <= 8", "relative_threat.max <= 1.01"))
    code, _, said = run(*given, tight, capsys=capsys)
    assert code == 1
    assert "tight.json is refuted" in said

    for change, words in (
        (("made.csv", "other.csv"), "not among the files"),
        ((hashlib.sha256(made.read_bytes()).hexdigest(), "0" * 64), "its digest differs"),
        (('"stated"', '"started"'), "holds no stated"),
        (('"document": "certificate"', '"document": "letter"'), "not a certificate"),
        (('"limits": [', '"limits": ["belief_gain <= 0.9",'), "not those that were stated"),
        (("{", ""), "not a certificate"),
    ):
        broken = folder / "broken.json"
        broken.write_text(text.replace(*change))
        code, _, said = run(*given, broken, capsys=capsys)
        assert code == 2, change
        assert words in said, change
        assert said.count("\n") <= 3


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
