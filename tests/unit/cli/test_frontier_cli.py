"""`unveil frontier` as a user meets it: outputs, exit codes, the configuration file, the report, every mistake."""

import json
import re
import stat
import sys
from pathlib import Path
from typing import Any

import altair
import pytest
from test_audit_cli import table
from test_cli import run
from test_frontier import TABLE

from documents import check_document
from unveil import cli
from unveil import frontier as sweep
from unveil.audit.document import Document
from unveil.data.schema import read_schema
from unveil.errors import UsageError
from unveil.formats.releases import read_release
from unveil.report import render_page

SCHEMA = """version = 1
confirmed = true
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 20, to = 39 }
[attributes.sex]
role = "quasi-identifier"
domain = ["f", "m"]
[attributes.disease]
role = "sensitive"
domain = ["flu", "hiv", "none"]
[attributes.job]
role = "insensitive"
domain = ["x", "y"]
"""
ROWS = [
    (str(20 + age), "fm"[sex], ("flu", "hiv", "none")[s], "xy"[age % 2])
    for age, sex, s in zip(*(column.tolist() for column in TABLE.columns), strict=True)
]
FEW = ("--with", "mondrian:k=2+5+20", "--with", "anatomy:l=2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "data.csv").write_text(table(ROWS))
    return tmp_path


def frontier(folder: Path, *rest: str | Path) -> tuple[str | Path, ...]:
    """By counting, unless the test is about readers: chains take time."""
    if not {"--risk", "--config"} & set(rest):
        rest = (*rest, "--risk", "privacy_loss.max", "--risk", "privacy_loss.mean")
    return ("frontier", folder / "data.csv", "-s", folder / "schema.toml", "--workers", "1", *rest)


def test_the_document_alone_on_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(*frontier(folder, *FEW, "--json", "-"), capsys=capsys)
    assert (code, err) == (3, "")  # no limit was stated
    document = json.loads(out)
    check_document(document)
    assert document["settings"]["original"] == "data.csv"
    assert [i["name"] for i in document["inputs"]] == ["data.csv", "schema.toml"]
    assert [p["name"] for p in document["diagnostics"]["points"]] == [
        "original", "all suppressed", "mondrian:k=2", "mondrian:k=5", "mondrian:k=20", "anatomy:l=2",
    ]  # fmt: skip


def test_the_chosen_release_is_written_with_how_it_was_made(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = ("--limit", "prosecutor_risk.max <= 0.2", "--utility", "certainty_penalty")
    command = frontier(folder, *FEW, *limits, "-o", folder / "out.csv", "--json", folder / "f.json")
    code, out, err = run(*command, capsys=capsys)
    assert code == 0
    assert "Recommended: mondrian:k=5" in out
    assert "keep it secret" in err
    seed = re.search(r"release seed (\d+)", err)
    assert seed is not None
    assert seed[1] not in (folder / "f.json").read_text() + (folder / "out-chosen.toml").read_text()
    release = read_release(folder / "out.csv", read_schema(folder / "schema.toml"))
    assert release.class_sizes().min() >= 5
    # The file names no place of ours, is for the owner's eyes, and reads as a sweep of this one point.
    chosen = folder / "out-chosen.toml"
    assert not {"data", "schema", folder.name} & set(re.findall(r"[\w-]+", chosen.read_text().partition("\nwith")[2]))
    assert "/" not in chosen.read_text()
    assert stat.S_IMODE(chosen.stat().st_mode) == 0o600
    code, out, _ = run(*frontier(folder, "--config", chosen), capsys=capsys)
    assert code == 0
    assert "Recommended: mondrian:k=5" in out
    assert "mondrian:k=20" not in out


def test_a_drawn_release_is_the_one_that_anonymize_draws(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--with", "anatomy:l=2", "--release-seed", "77", "-o", folder / "a.csv")
    code, out, err = run(*frontier(folder, *options), capsys=capsys)
    assert (code, (folder / "a.csv").exists()) == (3, False)
    assert "Nothing recommended; the knee: anatomy:l=2" in out
    assert "state a limit" in err
    assert run(*frontier(folder, *options, "--limit", "prosecutor_risk.max <= 1"), capsys=capsys)[0] == 0
    again = ("anonymize", folder / "data.csv", "-s", folder / "schema.toml", "--with", "anatomy:l=2", "--seed", "77")
    assert run(*again, "-o", folder / "b.csv", capsys=capsys)[0] == 0
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text()


def test_exit_codes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        *frontier(folder, *FEW, "--limit", "privacy_loss.max <= 0.000001", "-o", folder / "no.csv"), capsys=capsys
    )
    assert code == 1
    assert "Nothing to recommend" in out
    assert "not written, because nothing is recommended" in err
    assert not (folder / "no.csv").exists()
    hidden = ("--with", "anatomy:l=2", "--risk", "relative_threat.max", "--sweeps", "50", "--most-sweeps", "50")
    code, out, _ = run(*frontier(folder, *hidden, "--chains", "2"), capsys=capsys)
    assert code == 3
    assert "never recommended" in " ".join(out.split())


def test_what_cannot_be_met_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(*frontier(folder, "--with", "mondrian:k=20+900"), capsys=capsys)
    assert code == 3
    assert re.search(r"mondrian:k=900 +cannot be met", out)
    code, out, _ = run(*frontier(folder, "--with", "mondrian:k=2"), capsys=capsys)
    assert code == 3  # a homogeneous group: as bad as the original, and less useful
    assert "no safer than the original" in " ".join(out.split())


def test_a_configuration_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "sweep.toml").write_text(
        'data = "data.csv"\nschema = "schema.toml"\nwith = ["mondrian:k=2+5"]\nrequire = ["distinct_l:l=2"]\n'
        'utility = ["certainty_penalty"]\njson = "f.json"\nbudget = 3\nminutes = 1\nrelease-seed = 5\nworkers = 1\n'
    )
    assert run("frontier", "--config", folder / "sweep.toml", "--seed", "3", capsys=capsys)[0] == 3
    settings = json.loads((folder / "f.json").read_text())["settings"]
    assert (settings["seed"], settings["budget"], settings["require"]) == (3, 3, ["distinct_l:l=2"])
    (folder / "sweep.toml").write_text("nonsense = 1\n")
    code, _, err = run("frontier", "--config", folder / "sweep.toml", capsys=capsys)
    assert code == 2
    assert "unknown option 'nonsense'; choose from attacker, budget" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--with", "nothing:k=2"), "unknown anonymizer"),
        (("--with", "mondrian:k=2", "--risk", "no_such"), "unknown measure"),
        (("--with", "mondrian:k=2", "--limit", "k >> 2"), "unknown measure"),
        (("--with", "mondrian"), "needs a requirement"),
        (("--workers", "0"), "at least one thread"),
        (("--json", "nowhere/f.json"), "there is no folder"),
        (("--distance", "far"), "far"),
    ],
)
def test_mistakes_are_one_line(
    options: tuple[str, ...], words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(*frontier(folder, *options), capsys=capsys)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_inputs_are_never_written_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*frontier(folder, *FEW, "-o", folder / "data.csv"), capsys=capsys)[0] == 2
    (folder / "x.csv").write_text(table(ROWS))
    assert run("frontier", capsys=capsys)[0] == 2
    assert run("frontier", folder / "x.csv", capsys=capsys)[2].startswith("unveil: say what the columns are")


def test_the_command_is_known() -> None:
    assert "frontier" in {c.callback.__name__ for c in cli.app.registered_commands if c.callback is not None}


# --- the report -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    from unveil.engine import Engine
    from unveil.formats.tables import read_table
    from unveil.frontier import run_frontier

    folder = tmp_path_factory.mktemp("frontier")
    (folder / "schema.toml").write_text(SCHEMA)
    (folder / "data.csv").write_text(table(ROWS))
    data = read_table(folder / "data.csv", read_schema(folder / "schema.toml"))
    schemes = ["mondrian:k=2+5+900", "mondrian t_closeness:t=0.1,distance=js"]
    told = {"risks": ["privacy_loss.max", "privacy_loss.mean"], "limits": ["privacy_loss.max <= 0.3"]}
    return run_frontier(data, schemes, engine=Engine(seed=0, workers=1), **told).to_dict()


def specs(page: str) -> dict[str, Any]:
    (block,) = re.findall(r'<script type="application/json" id="specs">(.*?)</script>', page, re.DOTALL)
    found: dict[str, Any] = json.loads(block)
    return found


def test_the_chart_is_what_vega_lite_knows_and_says_everything(document: dict[str, Any]) -> None:
    (spec,) = specs(render_page(document)).values()
    altair.LayerChart.from_dict(spec)
    data = {d["n"]: d for d in spec["data"]["values"]}
    assert set(data) == {
        "original", "all suppressed", "mondrian:k=2", "mondrian:k=5", "mondrian t_closeness:t=0.1,distance=js",
    }  # fmt: skip
    points = {p["name"]: p for p in document["diagnostics"]["points"]}
    for name, drawn in data.items():
        assert drawn["x"] == points[name]["values"]["privacy_loss.max"]["value"]
        assert (drawn["u"], drawn["r"], drawn["h"]) == (points[name]["undominated"], points[name]["recommended"], False)
    bounded = data["mondrian t_closeness:t=0.1,distance=js"]
    assert bounded["b"]
    assert "t_closeness ≤ 0.1, bounds this risk" in bounded["w"]
    assert sum(d["r"] for d in data.values()) == 1
    rules = [layer for layer in spec["layer"] if layer.get("data")]
    assert rules[0]["data"]["values"] == [{"v": 0.3}]
    assert any("params" in layer for layer in spec["layer"])


def test_points_that_did_not_converge_are_drawn_hollow(document: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(document))
    changed["diagnostics"]["points"][2]["status"] = "unsure"
    (spec,) = specs(render_page(changed)).values()
    hollow = [d["n"] for d in spec["data"]["values"] if d["h"]]
    assert hollow == ["mondrian:k=2"]
    layer = next(x for x in spec["layer"] if x.get("transform") == [{"filter": "datum.h"}])
    assert layer["mark"]["filled"] is False


def test_what_lies_at_infinity_is_in_the_table_alone(document: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(document))
    changed["diagnostics"]["points"][0]["values"]["privacy_loss.max"]["value"] = "inf"
    page = render_page(changed)
    (spec,) = specs(page).values()
    assert "original" not in {d["n"] for d in spec["data"]["values"]}
    assert "1 at infinity or unknown" in page


def test_hostile_names_stay_text(document: dict[str, Any]) -> None:
    bad = "</script><img src=x onerror=alert(1)>\u202e"
    text = json.dumps(document).replace("mondrian:k=2", json.dumps(bad)[1:-1])
    page = render_page(json.loads(text))
    assert "<img src=x" not in page
    assert len(re.findall(r"</script>", page[page.index('id="specs"') :])) == 3
    assert "\u202e" not in page
    assert "default-src &#39;none&#39;" in page


def test_the_same_document_gives_the_same_page_and_another_is_refused(document: dict[str, Any]) -> None:
    assert render_page(document) == render_page(Document.model_validate(document))
    with pytest.raises(UsageError, match=r"not a document of unveil: findings\.0\.measure"):
        render_page({**document, "findings": [{}]})


def test_checkpoints_go_when_done(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*frontier(folder, *FEW, "--checkpoint", folder / "saved"), capsys=capsys)[0] == 3
    assert list((folder / "saved").iterdir()) == []


@pytest.mark.parametrize(("package", "name"), [("xlsxwriter", "out.xlsx"), ("pyreadstat", "out.sav")])
def test_what_cannot_be_written_in_the_end_is_said_before_the_sweep(
    package: str, name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(sweep, "run_frontier", lambda *_, **__: pytest.fail("swept"))
    code, _, err = run(*frontier(folder, *FEW, "-o", folder / name), capsys=capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert f"install {package}: pip install 'unveil[files]'" in err


@pytest.mark.parametrize(
    ("stale", "said"),
    [
        ({"out-sensitive.csv": "mine"}, "out-sensitive.csv: is in the way"),
        ({"out.toml": 'group = "g"\n'}, "out.toml: the sidecar of an earlier release is in the way"),
        ({"out.toml": '[attributes.a]\nrole = "sensitive"\n'}, "out.toml: a schema is in the way"),
    ],
)
def test_what_stands_in_the_way_is_said_before_the_sweep(
    stale: dict[str, str], said: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "run_frontier", lambda *_, **__: pytest.fail("swept"))
    for name, text in stale.items():
        (folder / name).write_text(text)
    code, _, err = run(*frontier(folder, *FEW, "-o", folder / "out.csv"), capsys=capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert said in err


def test_a_finished_release_is_a_point(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = ("anonymize", folder / "data.csv", "-s", folder / "schema.toml", "--with", "mondrian:k=5", "--seed", "1")
    assert run(*made, "-o", folder / "theirs.csv", capsys=capsys)[0] == 0
    limits = ("--limit", "k_anonymity >= 5", "--utility", "certainty_penalty", "--json", folder / "f.json")
    command = frontier(folder, "--with", folder / "theirs.csv", "--with", "mondrian:k=20", *limits)
    code, out, err = run(*command, "-o", folder / "out.csv", capsys=capsys)
    assert code == 0, err
    assert "Recommended: theirs.csv" in out
    assert "there already" in err
    assert not (folder / "out.csv").exists()
    points = {p["name"]: p for p in json.loads((folder / "f.json").read_text())["diagnostics"]["points"]}
    same = run(*frontier(folder, "--with", "mondrian:k=5", *limits), capsys=capsys)
    assert same[0] == 0
    ours = {p["name"]: p for p in json.loads((folder / "f.json").read_text())["diagnostics"]["points"]}
    assert points["theirs.csv"]["values"] == ours["mondrian:k=5"]["values"]
    noisy = ("anonymize", folder / "data.csv", "-s", folder / "schema.toml", "--with", "rounding:base=5", "--seed", "1")
    assert run(*noisy, "-o", folder / "noisy.csv", capsys=capsys)[0] == 0
    masked = ("--with", folder / "noisy.csv", "--risk", "global_threat", "--json", folder / "m.json")
    assert run(*frontier(folder, *masked), capsys=capsys)[0] == 3
    points = {p["name"]: p for p in json.loads((folder / "m.json").read_text())["diagnostics"]["points"]}
    assert points["noisy.csv"]["status"] in ("measured", "not applicable")
    assert points["noisy.csv"]["reason"] or points["noisy.csv"]["values"]["global_threat"]


def test_cell_suppression_is_swept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        *frontier(folder, "--with", "local_suppression:k=2+5", "--limit", "k_anonymity >= 5"), capsys=capsys
    )
    assert code == 0, err
    assert "Recommended: local_suppression:k=5" in out
