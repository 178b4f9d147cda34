"""`unveil audit --earlier` and `--ledger`, `unveil ledger`, as a user meets them."""

import json
from typing import NamedTuple

import pytest
from test_cli import run

from planted_pairs import planted_pair
from unveil.formats.output import csv_bytes
from unveil.formats.releases import write_release

QUICK = ("--background", "no", "--attacker", "random_worlds", "--waive", "background='not now'")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("planted")
    table, old, new, _ = planted_pair(600, 7)
    columns = [[a.values[c] for c in column] for a, column in zip(table.attributes, table.columns, strict=True)]
    (path / "data.csv").write_bytes(csv_bytes([a.name for a in table.attributes], columns))
    last = table.attributes[0].codes - 1
    number = f'role = "quasi-identifier"\nkind = "numeric"\ndomain = {{ from = 0, to = {last} }}\n'
    names = ", ".join(f'"{v}"' for v in table.attributes[2].values)
    (path / "schema.toml").write_text(
        f"version = 1\nconfirmed = true\n[attributes.age]\n{number}[attributes.zip]\n{number}"
        f'[attributes.diagnosis]\nrole = "sensitive"\ndomain = [{names}]\n'
    )
    write_release(old, path / "old.csv")
    write_release(new, path / "new.csv")
    return path


class Ran(NamedTuple):
    """What a command gave."""

    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def call(capsys):
    return lambda *args: Ran(*run(*args, capsys=capsys))


@pytest.fixture
def audit(call):
    def ran(folder, *rest):
        given = ("--schema", folder / "schema.toml", "--original", folder / "data.csv")
        return call("audit", folder / "new.csv", *given, *QUICK, *rest)

    return ran


def test_alone_it_says_that_earlier_releases_were_not_considered(folder, audit):
    found = audit(folder)
    assert "earlier releases not considered" in "\n".join(found.stdout.splitlines()[:3])
    assert found.exit_code != 1


def test_with_the_earlier_release_it_is_exceeded(folder, audit):
    found = audit(folder, "--earlier", folder / "old.csv", "--json", "-")
    assert found.exit_code == 1
    facts = json.loads(found.stdout)["diagnostics"]["composition"]["new.csv"]["diagnosis"]
    assert facts["sure"] == 7
    assert facts["sure_alone"] == 0
    assert [one["name"] for one in facts["earlier"]] == ["old.csv"]


def test_options_of_an_earlier_release(folder, audit):
    said = "date=2025-03-01,people=overlapping,shared=500,changed=0.2"
    text = f"{folder / 'old.csv'}:schema={folder / 'schema.toml'},{said}"
    found = audit(folder, "--earlier", text, "--json", "-")
    (one,) = json.loads(found.stdout)["diagnostics"]["composition"]["new.csv"]["diagnosis"]["earlier"]
    assert (one["date"], one["people"], one["shared"], one["changed"]) == ("2025-03-01", "overlapping", 500, 0.2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("absent.csv", "absent.csv"),
        ("old.csv:people=twins", "twins"),
        ("old.csv:date=March", "March"),
        ("old.csv:changed=2", "changed"),
        ("old.csv:shared=many,people=overlapping", "many"),
        ("old.csv:people=same,colour=red", "colour"),
        ("old.csv:within=age", "age"),
    ],
)
def test_mistakes_are_one_line(folder, text, said, monkeypatch, audit):
    monkeypatch.chdir(folder)
    found = audit(folder, "--earlier", text)
    assert found.exit_code == 2
    assert len(found.stderr.splitlines()) == 1
    assert said in found.stderr


def test_a_ledger_is_read_without_naming_its_releases(folder, tmp_path, call, audit):
    ledger = tmp_path / "ledger"
    said = ("--schema", folder / "schema.toml", "--ledger", ledger, "--date", "2025-03-01", "--recipient", "ministry")
    assert call("ledger", "add", folder / "old.csv", *said).exit_code == 0
    assert "ministry" in call("ledger", "list", "--ledger", ledger).stdout
    assert audit(folder, "--ledger", ledger).exit_code == 1
    # The release itself in the ledger is no earlier release.
    own = tmp_path / "own"
    call("ledger", "add", folder / "new.csv", "--schema", folder / "schema.toml", "--ledger", own)
    found = audit(folder, "--ledger", own, "--json", "-")
    assert "composition" not in json.loads(found.stdout)["diagnostics"]
    # A copy that was touched is named, and nothing is within.
    copied = next(ledger.rglob("old.csv"))
    copied.write_text(copied.read_text().replace("flu", "gout", 1))
    found = audit(folder, "--ledger", ledger, "--json", "-")
    kinds = json.loads(found.stdout)["diagnostics"]["judgement"]["new.csv"]["kinds"]
    kind = next(k for k in kinds if k["kind"] == "composition")
    assert kind["verdict"] == "not judged"
    assert "changed since it was added" in kind["sentence"]
    assert audit(folder, "--ledger", tmp_path / "nowhere").exit_code == 2


def test_anonymize_under_a_ledger_keeps_together_what_each_keeps(folder, tmp_path, call):
    ledger, schema = tmp_path / "ledger", ("--schema", folder / "schema.toml")
    call("ledger", "add", folder / "old.csv", *schema, "--ledger", ledger)
    made = tmp_path / "next.csv"
    options = ("--with", "mondrian:k=5,l=3", "--seed", "1", "-o", made)
    found = call("anonymize", folder / "data.csv", *schema, "--ledger", ledger, *options)
    assert found.exit_code == 0, found.stderr
    assert "together with the ledger" in found.stderr
    given = ("--original", folder / "data.csv", "--ledger", ledger, "--json", "-", *QUICK)
    document = json.loads(call("audit", made, *schema, *given).stdout)
    kinds = document["diagnostics"]["judgement"]["next.csv"]["kinds"]
    assert next(k for k in kinds if k["kind"] == "composition")["verdict"] == "within"
    refused = tmp_path / "refused.csv"
    found = call("anonymize", folder / "data.csv", *schema, "--ledger", ledger, "--with", "anatomy:l=5", "-o", refused)
    assert found.exit_code == 2
    assert "can be kept" in found.stderr
    assert not refused.exists()
