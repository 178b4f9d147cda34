"""`unveil audit --earlier` and `--ledger`, `unveil ledger`, as a user meets them."""

import csv
import json
import re
from typing import NamedTuple

import polars as pl
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
    first = "\n".join(found.stdout.splitlines()[:3])
    assert re.search("not considered.*earlier releases|earlier releases not considered", first, re.IGNORECASE)
    assert found.exit_code != 1


def test_with_the_earlier_release_it_is_exceeded(folder, audit):
    found = audit(folder, "--earlier", folder / "old.csv", "--json", "-")
    assert found.exit_code == 1
    facts = json.loads(found.stdout)["diagnostics"]["composition"]["new.csv"]["diagnosis"]
    assert facts["sure"] == 7
    assert facts["sure_alone"] == 0
    assert [one["name"] for one in facts["earlier"]] == ["old.csv"]


def written_again(folder, header, old, new, *, delimiter=",", suffix=".csv"):
    """The earlier release in another form, and a schema of its own in which `old` reads `new`."""
    rows = list(csv.reader((folder / "old.csv").read_text().splitlines()))[1:]
    path = folder / f"again{suffix}"
    if suffix == ".csv":
        path.write_text("\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in [header, *rows]) + "\n")
    else:
        frame = pl.DataFrame({name: [row[i] for row in rows] for i, name in enumerate(header)})
        frame.write_parquet(path)
    schema = (folder / "schema.toml").read_text()
    assert old in schema
    (folder / "again.toml").write_text(schema.replace(old, new))
    return f"{path}:schema={folder / 'again.toml'}"


def test_other_formats_and_other_names_of_columns(folder, audit):
    """A file of another kind with other names, which its own schema says."""
    names = ["alter", "zip", "befund"]
    for rest in ({"delimiter": ";"}, {"suffix": ".parquet"}):
        text = written_again(
            folder, names, "[attributes.age]\n", '[attributes.age]\nprepare = { from = "alter" }\n', **rest
        )
        schema = (folder / "again.toml").read_text()
        renamed = '[attributes.diagnosis]\nprepare = { from = "befund" }\n'
        (folder / "again.toml").write_text(schema.replace("[attributes.diagnosis]\n", renamed))
        found = audit(folder, "--earlier", text, "--json", "-")
        assert found.exit_code == 1
        assert json.loads(found.stdout)["diagnostics"]["composition"]["new.csv"]["diagnosis"]["sure"] == 7


@pytest.mark.parametrize(
    ("header", "old", "new", "said"),
    [
        (["age", "zip", "dx"], "attributes.diagnosis", "attributes.dx", "but dx has such values"),
        (["alter", "zip", "diagnosis"], "attributes.age", "attributes.alter", "readers may know alter"),
    ],
)
def test_a_column_under_another_name_is_never_within(folder, audit, header, old, new, said):
    """Nobody says that they are the same: a reader sees it at once."""
    found = audit(folder, "--earlier", written_again(folder, header, old, new), "--json", "-")
    kinds = json.loads(found.stdout)["diagnostics"]["judgement"]["new.csv"]["kinds"]
    kind = next(k for k in kinds if k["kind"] == "composition")
    assert kind["verdict"] == "not judged"
    assert said in kind["sentence"]
    assert found.exit_code == 3


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
    assert audit(folder, "--ledger", tmp_path / "nowhere").exit_code == 2


def _swapped_index(ledger):
    (ledger / "ledger.toml").rename(ledger.parent / "elsewhere.toml")
    (ledger / "ledger.toml").symlink_to(ledger.parent / "elsewhere.toml")


def _linked_out(ledger):
    copied = next(ledger.rglob("old.csv"))
    copied.rename(ledger.parent / "old.csv")
    copied.symlink_to(ledger.parent / "old.csv")


def _rewritten(name, old, new):
    def spoil(ledger):
        path = next(ledger.rglob(name))
        path.write_text(path.read_text().replace(old, new, 1))

    return spoil


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_rewritten("old.csv", "flu", "gout"), "was changed since it was added"),
        (_rewritten("schema.toml", '"sensitive"', '"insensitive"'), "another schema"),
        (lambda ledger: next(ledger.rglob("old.csv")).unlink(), "is gone"),
        (lambda ledger: next(ledger.rglob("schema.toml")).unlink(), "is gone"),
        (_linked_out, "outside the ledger"),
        (_swapped_index, "outside the ledger"),
        (_rewritten("ledger.toml", 'file = "', 'file = "../'), "outside the ledger"),
        (_rewritten("ledger.toml", "changed = 0.0", "changed = 1.5"), "changed"),
        (_rewritten("ledger.toml", "changed = 0.0", "colour = 'red'"), "colour"),
        (_rewritten("ledger.toml", "[[releases]]", "[[releases"), "ledger.toml"),
        (_rewritten("ledger.toml", 'people = "same"', 'people = "same"\nshared = 5'), "overlapping"),
    ],
)
def test_a_spoilt_ledger_is_one_line_for_every_command(folder, tmp_path, call, audit, spoil, said):
    ledger, schema = tmp_path / "ledger", ("--schema", folder / "schema.toml")
    call("ledger", "add", folder / "old.csv", *schema, "--ledger", ledger)
    spoil(ledger)
    made = tmp_path / "next.csv"
    anonymize = call(
        "anonymize", folder / "data.csv", *schema, "--ledger", ledger, "--with", "mondrian:k=5", "-o", made
    )
    for found in (audit(folder, "--ledger", ledger), anonymize):
        assert found.exit_code == 2
        assert said in found.stderr.splitlines()[-1]
        assert "Traceback" not in found.stderr
    assert not made.exists()


def test_two_runs_add_at_once_and_no_entry_is_lost(folder, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    from unveil.formats.ledger import add_to_ledger, check_copies, read_ledger

    for number in range(6):
        (tmp_path / f"old{number}.csv").write_bytes((folder / "old.csv").read_bytes() + b"\n" * number)
    ledger = tmp_path / "ledger"
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: add_to_ledger(ledger, tmp_path / f"old{n}.csv", folder / "schema.toml"), range(6)))
    entries = read_ledger(ledger)
    assert len({entry.name for entry in entries}) == 6
    for entry in entries:
        check_copies(ledger, entry)


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


def test_a_release_beyond_the_limits_even_alone_is_not_written(folder, tmp_path, call, monkeypatch):
    from unveil.audit import together

    beyond = together.BeyondLimits((), ("a reader is sure of 40 people",))
    monkeypatch.setattr(together, "beyond_limits", lambda *_: beyond)
    ledger, schema = ("--ledger", tmp_path / "ledger"), ("--schema", folder / "schema.toml")
    call("ledger", "add", folder / "old.csv", *schema, *ledger)
    made = tmp_path / "next.csv"
    found = call("anonymize", folder / "data.csv", *schema, *ledger, "--with", "mondrian:k=5,l=3", "-o", made)
    assert found.exit_code == 1
    assert "even without the ledger: a reader is sure of 40 people" in found.stderr
    assert not made.exists()
