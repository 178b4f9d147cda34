"""The README's commands work as written; every member has its heading; links lead somewhere."""

import inspect
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import ValidationError

from documents import check_document
from hospitals import hospital_csv, shared_hospital, write_hospital
from unveil import cli, risk, utility
from unveil.audit.carriers import CarrierFinding, CarrierGroup, CarrierRow
from unveil.audit.document import Document, DocumentPart
from unveil.audit.measures import measures
from unveil.audit.verdict import Judgement
from unveil.catalog import members
from unveil.data.schema import Schema
from unveil.privacy.distances import DISTANCES
from unveil.privacy.models import MODELS
from unveil.risk import disclosure

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


EXITS = {
    "check": (0, 1),
    "attack": (0, 1, 3),
    "audit": (0, 1, 3),
    "frontier": (0, 1, 3),
}  # a requirement may be missed, short chains may disagree


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def commands(text: str) -> list[list[str]]:
    """The unveil commands of a page, as argument lists."""
    lines = [line for block in blocks(text, "sh") for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("unveil ")]


def run(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    if arguments[1] in ("audit", "frontier") or arguments[1:3] == ["attack", "attribute"]:
        # The command as written, by one attacker with short chains: what it finds is not asked here.
        if arguments[1] != "frontier" and not {"--attacker", "--config"} & {*arguments}:
            arguments = [*arguments, "--attacker", "bayesian"]
        if arguments[1] == "audit":
            arguments = [*arguments, "--no-panel"]
        arguments = [*arguments, "--sweeps", "60", "--most-sweeps", "60"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    return int(stopped.value.code or 0)


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A folder with patients.csv and a confirmed schema.toml, as the README's reader has after the first step."""
    many = "anonymizers" in request.node.name  # its requirements cannot be met with few people
    hospital = write_hospital(tmp_path, 800 if many else 200, 3, name="patients.csv")
    (tmp_path / "register.csv").write_bytes(hospital_csv(hospital))
    (tmp_path / "neighbours.csv").write_text('age,sex\n"[20,29]",female\n,male\n')
    attackers = (ROOT / "docs" / "attackers.md").read_text()
    by_header = {block.partition(",")[0]: block for block in blocks(attackers, "csv")}
    (tmp_path / "prior.csv").write_text(by_header["attribute"])
    (tmp_path / "heard.csv").write_text(by_header["chronic bronchitis"])
    (tmp_path / "others.csv").write_bytes(hospital_csv(shared_hospital(100, 4)))
    audit = (ROOT / "docs" / "audit.md").read_text()
    (tmp_path / "audit.toml").write_text(next(b for b in blocks(audit, "toml") if "releases" in b))
    gate = (ROOT / "docs" / "gate.md").read_text()
    (tmp_path / "unveil.toml").write_text(next(iter(blocks(gate, "toml"))))
    frontier = (ROOT / "docs" / "frontier.md").read_text()
    (tmp_path / "sweep.toml").write_text(next(b for b in blocks(frontier, "toml") if "with" in b))
    linkage = (ROOT / "docs" / "linkage.md").read_text()
    (tmp_path / "mapping.toml").write_text(next(b for b in blocks(linkage, "toml") if "row" in b))
    (tmp_path / "club.csv").write_text(next(iter(blocks(linkage, "csv"))))
    membership = (ROOT / "docs" / "membership.md").read_text()
    (tmp_path / "answers.csv").write_text(next(iter(blocks(membership, "csv"))))
    fact = (ROOT / "docs" / "disclosure.md").read_text()
    (tmp_path / "fact.csv").write_text(next(iter(blocks(fact, "csv"))))
    unsplit = hospital.schema_toml.partition("harmless")[0].replace('"sensitive"', '"quasi-identifier"')
    (tmp_path / "no-sensitive.toml").write_text(unsplit)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_two_commands_of_the_readme_are_there() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for command in re.findall(r"^make (\w+)", "\n".join(blocks(README, "sh")), re.MULTILINE):
        assert command in targets
    assert {"demo", "test", "setup", "check", "bench", "papers", "fuzz"} <= set(targets)


def test_every_command_of_the_readme_works(patients: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = commands(README)
    assert {c[1] for c in found} == {"schema", "hierarchy", "anonymize", "check", "attack", "audit"}
    schema = patients / "schema.toml"
    schema.unlink()  # a newcomer has none yet
    for arguments in found:
        assert run(arguments, monkeypatch) in EXITS.get(arguments[1], (0,)), arguments
        schema.write_text(schema.read_text().replace("confirmed = false", "confirmed = true"))


def test_the_python_of_the_readme_works(patients: Path) -> None:
    (code,) = blocks(README, "python")
    exec(compile(code, "README", "exec"), {})
    assert (patients / "release.csv").is_file()


def test_the_python_of_the_attackers_page_works(patients: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = "unveil anonymize patients.csv -s schema.toml --with mondrian:k=5 -o release.csv"
    assert run(shlex.split(made), monkeypatch) == 0
    code = next(b for b in blocks((ROOT / "docs" / "attackers.md").read_text(), "python") if "unveil.attack(" in b)
    done: dict[str, Any] = {}
    exec(compile(code, "attackers.md", "exec"), done)
    assert done["found"].truth.shape == (200,)


@pytest.mark.parametrize(
    "page",
    [
        *("anonymizers", "attackers", "audit", "check", "differential", "disclosure", "frontier", "gate", "knowledge"),
        *("linkage", "membership", "releases"),
    ],
)
def test_every_command_of_a_page_works(page: str, patients: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        run(
            shlex.split(
                "unveil anonymize patients.csv -s schema.toml --with mondrian:k=5,recoding=order -o release.csv"
            ),
            monkeypatch,
        )
        == 0
    )
    (patients / "second.csv").write_bytes((patients / "release.csv").read_bytes())
    found = commands((ROOT / "docs" / f"{page}.md").read_text())
    assert found
    for arguments in found:
        code = run(arguments, monkeypatch)
        assert code in EXITS.get(arguments[1], (0,)), arguments
        (patients / "release.toml").unlink(missing_ok=True)
        if arguments[1] == "anonymize" and {"anatomy:l=4", "injector:l=3,min_expectation=0.99"} & set(arguments):
            (patients / "release-sensitive.csv").unlink()


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("anonymizers", members("anonymizers")),
        ("attackers", members("attackers")),
        ("knowledge", members("knowledge")),
        ("risk", tuple(risk.__all__)),
        ("privacy-models", tuple(MODELS)),
        ("distances", tuple(DISTANCES)),
        ("utility", tuple(utility.__all__)),
    ],
)
def test_every_member_has_a_heading(page: str, names: tuple[str, ...]) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    headings = " ".join(line for line in text.splitlines() if line.startswith("#"))
    assert names
    for name in names:
        assert f"`{name}`" in headings, name


def test_every_measure_of_disclosure_is_explained() -> None:
    text = (ROOT / "docs" / "disclosure.md").read_text()
    for name in disclosure.__all__:
        assert not name.islower() or f"`{name}`" in text or f"import {name}," in text, name


def test_the_published_json_schemas_are_those_of_the_program() -> None:
    for name, made in (
        ("document-2", Document.model_json_schema(mode="serialization")),
        ("schema-1", Schema.json_schema()),
    ):
        assert json.loads((ROOT / "docs" / "schemas" / f"{name}.json").read_text()) == made, name


@pytest.mark.parametrize("kind", ["attribute", "audit", "differential", "disclosure", "frontier", "link", "membership"])
def test_findings_and_runs_of_every_document_are_those_of_the_program(kind: str) -> None:
    made, published = (
        json.loads((ROOT / "docs" / "schemas" / f"{name}-2.json").read_text()) for name in ("document", kind)
    )
    assert {name: published["$defs"][name] for name in made["$defs"]} == made["$defs"]
    assert published["required"] == [n for n in published["properties"] if n in published["required"]]
    assert published["properties"]["document"]["const"] == kind


@pytest.mark.parametrize("part", [Judgement, CarrierRow, CarrierFinding, CarrierGroup])
def test_parts_of_an_audit_that_are_records_are_those_of_the_program(part: type[DocumentPart]) -> None:
    published = json.loads((ROOT / "docs" / "schemas" / "audit-2.json").read_text())["$defs"]
    made = part.model_json_schema()
    defined = {part.__name__: {k: v for k, v in made.items() if k != "$defs"}, **made.get("$defs", {})}
    assert {name: published[name] for name in defined} == defined


@pytest.mark.parametrize("change", ["more", "less", "another type"])
def test_a_document_of_another_shape_is_refused(change: str) -> None:
    document = json.loads((ROOT / "tests" / "golden" / "audit-li_table_2_2.json").read_text())
    (facts,) = document["diagnostics"]["releases"].values()
    document["run"] = {"date": "2026-01-01", "python": "3", "versions": {}}
    check_document(document)
    if change == "less":
        del facts["groups"]
    else:
        facts["groups" if change == "another type" else "grups"] = "many"
    with pytest.raises(ValidationError):
        check_document(document)


def test_measures_are_functions_with_a_citation_or_a_definition() -> None:
    for name in utility.__all__:
        assert inspect.isfunction(getattr(utility, name))
        assert inspect.getdoc(getattr(utility, name))


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} → {target}"


def test_the_site_shows_every_page() -> None:
    shown = re.findall(r": ([\w./-]+\.md)$", (ROOT / "site" / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert pages <= set(shown)
    assert len(shown) == len(set(shown))


def anchors(page: Path) -> set[str]:
    """Of the headings of a page, as code hosts and the site make them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def test_anchors_are_there() -> None:
    """Of links between pages, and of the page that each measure names."""
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", page.read_text()):
            found = anchors(page.parent / target if target else page)
            assert anchor in found, f"{page.name} → {target}#{anchor}"
    for name, record in measures().items():
        target, _, anchor = record.page.partition("#")
        assert not anchor or anchor in anchors(ROOT / target), f"{name} → {record.page}"


def test_the_times_of_the_first_steps_are_those_that_make_package_holds() -> None:
    from tests.stranger import MOST

    told = re.findall(
        r"^\| `((?:pip|unveil) [a-z ]+)` \| (\d+) \|$", (ROOT / "docs" / "first-hour.md").read_text(), re.MULTILINE
    )
    assert {name: int(seconds) for name, seconds in told} == MOST
