"""`unveil audit` as a user meets it: outputs, exit codes, the configuration file, every mistake as one clear line."""

import json
import stat
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli import run

from unveil.audit import run as run_module
from unveil.audit.measures import measure

SCHEMA = """version = 1
confirmed = true
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 20, to = 29 }
[attributes.sex]
role = "quasi-identifier"
domain = ["f", "m"]
[attributes.disease]
role = "sensitive"
domain = ["flu", "hiv", "none"]
[attributes.job]
role = "sensitive"
domain = ["x", "y"]
"""
SEED = ("--seed", "1")
VALUES = ("flu", "hiv", "none")
ROWS = [(str(20 + i % 10), "fm"[i // 10 % 2], VALUES[i * 7 % 3], "xy"[i % 2]) for i in range(60)]
# Not in the order of the original, which would give everybody's row away.
WIDE = sorted(("[20,24]" if int(age) < 25 else "[25,29]", sex, disease, job) for age, sex, disease, job in ROWS)


def table(rows: Any) -> str:
    cells = [",".join(f'"{c}"' if "," in c else c for c in row) for row in rows]
    return "\n".join(["age,sex,disease,job", *cells]) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "data.csv").write_text(table(ROWS))
    (tmp_path / "wide.csv").write_text(table(WIDE))
    (tmp_path / "open.csv").write_text(table(ROWS))
    return tmp_path


def audit(folder: Path, *rest: str | Path, releases: tuple[str, ...] = ("wide.csv",)) -> tuple[str | Path, ...]:
    found = ("audit", *(folder / r for r in releases), "-s", folder / "schema.toml")
    return (*found, "--original", folder / "data.csv", "--workers", "1", *rest)


def test_the_document_alone_on_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(*audit(folder, "--json", "-", "--release-type", "public", "--recipient", "all"), capsys=capsys)
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["document"] == "audit"
    assert document["settings"]["original"] == "data.csv"
    assert document["settings"]["recipient"] == "all"
    assert [i["name"] for i in document["inputs"]] == ["wide.csv", "schema.toml", "data.csv"]
    assert document["run"]["seconds"] > 0


def test_outputs_are_written_and_the_people_files_are_private(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = audit(
        folder, "--json", folder / "a.json", "--people", folder / "p.csv", releases=("wide.csv", "open.csv")
    )
    code, out, err = run(*command, capsys=capsys)
    assert code == 1
    assert "wide.csv: within the stated limits" in out
    assert "open.csv: A LIMIT IS EXCEEDED" in out
    assert err.count("it names people: keep it secret") == 4
    for name in ("p-wide-disease.csv", "p-wide-job.csv", "p-open-disease.csv", "p-open-job.csv"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
        lines = (folder / name).read_text().splitlines()
        assert len(lines) == 61
        assert lines[0].startswith("row,attribute,known:age,known:sex,truth,learner_belief,attacker_belief")
    assert not (folder / "p.csv").exists()
    assert json.loads((folder / "a.json").read_text())["settings"]["releases"] == ["wide.csv", "open.csv"]
    # one release, one file an attribute
    assert run(*audit(folder, "--people", folder / "q.parquet"), capsys=capsys)[0] == 0
    assert (folder / "q-job.parquet").is_file()


def test_a_pipeline_gets_the_same_bytes_every_time(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Document, page, JUnit and SARIF; no case fails where the exit code is 0."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    names = {"json": "a.json", "report": "a.html", "junit": "a.xml", "sarif": "a.sarif"}
    options = [word for option, name in names.items() for word in (f"--{option}", folder / name)]
    written = []
    for _ in range(2):
        assert run(*audit(folder, *SEED, *options), capsys=capsys)[0] == 0
        written.append({name: (folder / name).read_bytes() for name in names.values()})
    assert written[0] == written[1]
    assert json.loads(written[0]["a.json"])["run"]["date"] == "2023-11-14T22:13:20+00:00"
    assert b'failures="0" errors="0"' in written[0]["a.xml"]
    assert run(*audit(folder, *SEED, *options, releases=("open.csv",)), capsys=capsys)[0] == 1
    assert b"<failure" in (folder / "a.xml").read_bytes()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    code, _, err = run(*audit(folder, *SEED), capsys=capsys)
    assert code == 2
    assert "SOURCE_DATE_EPOCH" in err.splitlines()[-1]


def test_the_report_is_written_where_this_version_has_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(*audit(folder, "--report", folder / "r.html"), capsys=capsys)
    if find_spec("unveil.report") is None:
        assert code == 2
        assert "this version has no HTML report" in err
    else:
        assert code == 0
        assert "<html" in (folder / "r.html").read_text()[:500]


def test_exit_codes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept, exceeded, open_ = "k_anonymity >= 2", "k_anonymity >= 99", "journalist_risk.max <= 0.001"
    for limits, code in (
        ([kept], 0),
        ([kept, open_], 3),
        ([kept, open_, exceeded], 1),
        ([kept, open_, exceeded, "shoes <= 3"], 2),
    ):
        options = [item for text in limits for item in ("--limit", text)]
        got, out, err = run(*audit(folder, *options), capsys=capsys)
        assert got == code, limits
        if code == 2:
            assert err.startswith("unveil: 'shoes <= 3': unknown measure 'shoes'")
            assert not out
    assert run(*audit(folder, "--preset", "k_11"), capsys=capsys)[0] == 0
    assert run(*audit(folder, "--preset", "ema_0070"), capsys=capsys)[0] == 0
    # Only what default limits say of the original itself is waived, so the preset alone decides.
    waived = [w for kind in ("file", "linking", "inference", "background") for w in ("--waive", f"{kind}='a test'")]
    for preset, code in ((["--preset", "ema_0070"], 1), ([], 0)):
        assert run(*audit(folder, *preset, *waived, releases=("open.csv",)), capsys=capsys)[0] == code
    assert run(*audit(folder, releases=("open.csv",)), capsys=capsys)[0] == 1


def test_a_waiver_is_printed_with_its_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--waive", "file='sorted before it is sent'", "--waive", "inference:job=everybody knows it")
    code, out, err = run(*audit(folder, *given, "--json", "-", releases=("open.csv",)), capsys=capsys)
    assert (code, err) == (1, "")
    document = json.loads(out)
    kinds = document["diagnostics"]["judgement"]["open.csv"]["kinds"]
    assert {(k["kind"], k["attribute"]): k["waived"] for k in kinds if k["waived"]} == {
        ("file", None): "sorted before it is sent",
        ("inference", "job"): "everybody knows it",
    }
    for text, message in (
        ("shoes='why'", "unknown kind; choose from file, singling out"),
        ("linking=''", "--waive linking: say why"),
        ("linking", "write KIND='why'"),
    ):
        code, _, err = run(*audit(folder, "--waive", text), capsys=capsys)
        assert (code, message in err, err.count("\n")) == (2, True, 1)


def test_control_and_sample_and_joint(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = [(age, sex, VALUES[(i * 5 + 1) % 3], job) for i, (age, sex, _, job) in enumerate(ROWS)]
    (folder / "others.csv").write_text(table(others))
    command = audit(folder, "--json", "-", "--control", folder / "others.csv", "--sample", "30", "--joint")
    code, out, _ = run(*command, capsys=capsys)
    document = json.loads(out)
    assert code == 3  # what a sample did not ask about is not known
    assert document["diagnostics"]["controls"] == 60
    assert document["diagnostics"]["sampled_people"] == 30
    asked = {f["attribute"] for f in document["findings"] if measure(f["measure"]).kind != "utility"}
    assert asked == {None, "disease", "job", "disease × job"}
    assert document["settings"]["control"] == "others.csv"


def test_an_assignment_brings_who_knows_the_group(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = ("anonymize", folder / "data.csv", "-s", folder / "schema.toml", "--with", "mondrian:k=5")
    assert run(*made, "-o", folder / "m.csv", "--assignment", folder / "g.csv", capsys=capsys)[0] == 0
    command = audit(folder, "--json", "-", "--assignment", folder / "g.csv", releases=("m.csv",))
    code, out, _ = run(*command, capsys=capsys)
    # Everybody's job is the parity of their age: beside a range of two or three years it tells the year.
    assert code == 1
    checks = next(iter(json.loads(out)["diagnostics"]["file"].values()))
    assert [c["columns"] for c in checks if c["severity"] == "exceeded"] == [["job", "age"]]
    ran = ["bayesian", "boosted", "random_worlds", "bayesian_in_group", "boosted_in_group"]
    assert json.loads(out)["settings"]["attackers"] == ran
    (folder / "g.csv").write_text("row,group\n1,1\n")
    code, _, err = run(*command, capsys=capsys)
    assert code == 2
    assert "one line for each of the original's 60 rows" in err


def test_a_job_that_has_nothing_to_do_with_age_gives_no_age_back(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = [row[3] for row in ROWS]
    np.random.default_rng(0).shuffle(jobs)
    (folder / "data.csv").write_text(table([(*row[:3], job) for row, job in zip(ROWS, jobs, strict=True)]))
    made = ("anonymize", folder / "data.csv", "-s", folder / "schema.toml", "--with", "mondrian:k=5")
    assert run(*made, "-o", folder / "m.csv", capsys=capsys)[0] == 0
    _, out, _ = run(*audit(folder, "--json", "-", releases=("m.csv",)), capsys=capsys)
    checks = next(iter(json.loads(out)["diagnostics"]["file"].values()))
    assert [c["check"] for c in checks if c["severity"] == "exceeded"] == []


@pytest.mark.parametrize(
    ("limit", "code", "said"),
    [
        ("k_anonymity <= 5", 2, "points the wrong way: more is safer; write k_anonymity >= 5"),
        ("reid >= 0.2", 2, "points the wrong way: less is safer; write reid <= 0.2"),
        ("prosecutor_risk.max <= 9", 0, "prosecutor_risk.max <= 9 cannot fail: it is never above 1."),
        ("k_anonymity >= 1", 0, "k_anonymity >= 1 cannot fail: it is never below 1."),
        ("learner.global_threat <= 0.9", 0, "says nothing of the people in the file"),
        ("k_anonymity >= 16", 1, ""),
    ],
)
def test_a_limit_that_cannot_fail_is_refused_or_named(
    limit: str, code: int, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = run(*audit(folder, "--json", "-", "--limit", limit), capsys=capsys)
    assert found == code
    told = err if code == 2 else " ".join(json.loads(out)["diagnostics"]["remarks"])
    assert said in told
    assert bool(said) or "cannot fail" not in told


def test_a_configuration_file_and_options_that_win(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = folder / "audit.toml"
    config.write_text(
        'releases = ["wide.csv"]\nschema = "schema.toml"\noriginal = "data.csv"\nseed = 5\nwrong = 0.1\n'
        'limit = ["k_anonymity >= 99"]\nknown = ["age"]\nrelease-type = "internal"\njson = "out.json"\njoint = true\n'
    )
    code, _, _ = run("audit", "--config", config, capsys=capsys)
    assert code == 1
    settings = json.loads((folder / "out.json").read_text())["settings"]
    assert (settings["seed"], settings["wrong"], settings["known"], settings["joint"]) == (5, 0.1, ["age"], True)
    assert settings["release_type"] == "internal"
    code, _, _ = run("audit", "--config", config, "--seed", "0", "--limit", "k_anonymity >= 1", capsys=capsys)
    assert code == 3  # nothing is exceeded, but a reader who knows the age alone is not every reader
    document = json.loads((folder / "out.json").read_text())
    assert "only for a reader who knows no more than age" in str(document["diagnostics"]["judgement"])
    settings = document["settings"]
    assert (settings["seed"], settings["limits"]) == (0, ["k_anonymity >= 1"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shoes = 3", "unknown option 'shoes'; choose from"),
        ('seed = "3"', "seed: this must be a whole number"),
        ("seed = true", "seed: this must be a whole number"),
        ('limit = "k_anonymity >= 3"', "limit: this must be a list"),
        ("limit = [3]", "limit: this must be a list of texts"),
        ("wrong = 'x'", "wrong: this must be a number"),
        ("[", "not TOML"),
    ],
)
def test_a_configuration_file_that_is_wrong(
    folder: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "c.toml").write_text(text)
    code, out, err = run(*audit(folder, "--config", folder / "c.toml"), capsys=capsys)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "no folder": (("--json", "none/a.json"), "there is no folder"),
    "people ending": (("--people", "p.txt"), "a people file is a .csv, .parquet, .arrow or .xlsx"),
    "over an input": (("--json", "data.csv"), "choose another file"),
    "over a people file": (("--people", "p.csv", "--json", "p-job.csv"), "choose another file"),
    "release type": (("--release-type", "secret"), "choose one of"),
    "variant": (("--variant", "secret"), "choose one of"),
    "workers": (("--workers", "0"), "at least one thread"),
    "preset": (("--preset", "x"), "unknown preset"),
    "presets": (("--presets", "none.toml"), "cannot be read"),
    "attacker": (("--attacker", "x"), "unknown attacker"),
    "known": (("--known", "shoe"), "unknown attribute"),
    "control": (("--control", "schema.toml"), "schema.toml"),
    "limit": (("--limit", "x"), "is not a limit"),
    "config": (("--config", "none.toml"), "cannot be read"),
    "prior": (("--prior", "none.csv"), "none.csv: cannot be read (no such file or directory)"),
    "folder": ((".",), ".: is a folder; name a file in it"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(
    what: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    options, message = MISTAKES[what]
    before = sorted(p.name for p in folder.iterdir())
    code, out, err = run(*audit(folder, *options), capsys=capsys)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(p.name for p in folder.iterdir()) == before


def test_nothing_is_written_when_the_work_fails(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "_put_together", broken)
    before = sorted(p.name for p in folder.iterdir())
    code, _, err = run(*audit(folder, "--json", folder / "a.json", "--people", folder / "p.csv"), capsys=capsys)
    assert (code, err.splitlines()[-1]) == (130, "unveil: stopped")
    assert sorted(p.name for p in folder.iterdir()) == before


def test_without_release_or_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "name at least one release" in run("audit", capsys=capsys)[2]
    assert "--schema" in run("audit", folder / "wide.csv", capsys=capsys)[2]
    code, out, _ = run(
        "audit", folder / "wide.csv", "-s", folder / "schema.toml", "--people", folder / "p.csv", capsys=capsys
    )
    assert code == 3  # nobody can say whether readers would be right
    assert "success" not in out.lower() or "unknown" in out
    assert (folder / "p-job.csv").read_text().splitlines()[1].split(",")[0] == "1"


def test_two_attackers_of_one_kind_have_their_own_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = "bayesian:membership=0.5"
    both = ("--attacker", "bayesian", "--attacker", half, "--people", folder / "p.csv", "--report", folder / "r.html")
    limits = ("--limit", f"{half}.global_threat <= 1", "--limit", "bayesian.global_threat <= 0.01")
    command = audit(folder, *both, *limits, "--json", folder / "a.json", "--verbose")
    code, out, err = run(*command, capsys=capsys)
    assert code == 1, err
    document = json.loads((folder / "a.json").read_text())
    assert document["settings"]["attackers"] == ["bayesian", half]
    of_job = [f for f in document["findings"] if f["attribute"] == "job" and f["statistic"] is None]
    found = {f["reader"]: f for f in of_job if f["measure"] == "global_threat"}
    assert {"bayesian", half, "learner"} <= set(found)
    assert (found["bayesian"]["verdict"], found[half]["verdict"]) == ("exceeded", "within")
    assert half in out
    assert half in (folder / "r.html").read_text()
    assert f"{half}:x" in (folder / "p-job.csv").read_text().splitlines()[0]
    alone = audit(folder, "--attacker", half, "--json", "-")
    assert json.loads(run(*alone, capsys=capsys)[1])["settings"]["attackers"] == [half]
    code, _, err = run(*audit(folder, "--attacker", half, "--attacker", half), capsys=capsys)
    assert (code, "given twice" in err) == (2, True)


def test_a_configuration_file_of_an_attack(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = folder / "identity.toml"
    config.write_text(
        'release = "wide.csv"\nschema = "schema.toml"\noriginal = "data.csv"\n'
        'known = ["sex"]\nsubsets = 0\njson = "-"\n'
    )
    code, out, err = run("attack", "identity", "--config", config, capsys=capsys)
    assert (code, err) == (0, "")
    assert json.loads(out)["settings"]["known"] == ["sex"]
    code, out, _ = run("attack", "identity", "--config", config, "--known", "age", folder / "open.csv", capsys=capsys)
    document = json.loads(out)
    assert document["settings"]["known"] == ["age"]
    assert [i["name"] for i in document["inputs"]] == ["open.csv", "schema.toml", "data.csv", "identity.toml"]
    code, _, err = run(
        "attack", "identity", "-s", folder / "schema.toml", "--original", folder / "data.csv", capsys=capsys
    )
    assert (code, "name the release" in err) == (2, True)
