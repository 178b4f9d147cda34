"""Attacks and audits of what a real cluster read are those of what one process read."""

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unveil import cli
from unveil.cli import load
from unveil.data.schema import read_schema
from unveil.engine import Engine
from unveil.errors import TableError
from unveil.formats.tables import read_table

pytest.importorskip("distributed", reason="needs unveil[cluster]")

from unveil.cluster import local_cluster

TOML = """version = 1
confirmed = true
[attributes.id]
role = "identifier"
[attributes.card]
role = "identifier"
shared = true
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
[attributes.sex]
role = "quasi-identifier"
[attributes.since]
role = "quasi-identifier"
kind = "date"
prepare = { date = "dd.mm.yyyy" }
[attributes.ill]
role = "sensitive"
"""
ON = ("--cluster", "local:workers=2")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with local_cluster(2, 1_000_000_000) as found:
        yield found


@pytest.fixture
def run(tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command in a folder with a table of three files, one of them without rows."""
    monkeypatch.setattr(load, "cluster_of", lambda options: nullcontext(client if options.cluster else None))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    Path("schema.toml").write_text(TOML)
    Path("t").mkdir()
    draw, lines = np.random.default_rng(1), []
    for place in range(240):
        age, sex = min(draw.geometric(0.2), 30), "fm"[draw.integers(2)]
        ill = min(draw.geometric(0.45) + (age > 8), 5)
        lines.append(f"p{place % 200},c{place % 9},{age},{sex},{draw.integers(1, 4):02}.01.2020,ill {ill}\n")
    for number, piece in enumerate((lines[:70], [], lines[70:])):
        Path(f"t/{number}.csv").write_text("id,card,age,sex,since,ill\n" + "".join(piece))

    def ran(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["unveil", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0)

    return ran


def findings_of(name: str) -> Any:
    held = json.loads(Path(name).read_text())
    return held["findings"], held["charts"], held["diagnostics"].get("remarks"), held["settings"]


@pytest.mark.parametrize("method", ["mondrian:k=4", "anatomy:l=2"])  # the second hides links
def test_documents_and_people_files_are_those_of_one_process(run: Any, method: str) -> None:
    make = ("anonymize", "t", "-s", "schema.toml", "--seed", "1", "--with", method, "-o", "r")
    assert run(*make) == 0
    asked = ("r", "-s", "schema.toml", "--original", "t")
    commands = {
        "attribute": ("attack", "attribute", *asked, "--sweeps", "100", "--most-sweeps", "200", "--people", "PEOPLE"),
        "identity": ("attack", "identity", *asked, "--people", "PEOPLE"),
    }
    if method != "anatomy:l=2":  # its chains take long, and they are those of the first command
        commands["audit"] = ("audit", *asked, "--no-panel", "--attacker", "bayesian", "--background", "no")
        commands["background"] = ("attack", "background", *asked, "--knowledge", "negative_rules")
    for name, words in commands.items():
        ends = []
        for where, more in (("here", ()), ("there", ON)):
            people = f"{name}-{where}.csv"
            said = tuple(people if word == "PEOPLE" else word for word in words)
            ends.append(run(*said, *more, "--json", f"{name}-{where}.json"))
        assert ends[0] == ends[1] != 2, name
        assert findings_of(f"{name}-here.json") == findings_of(f"{name}-there.json"), name
        if "PEOPLE" in words:
            assert Path(f"{name}-here.csv").read_bytes() == Path(f"{name}-there.csv").read_bytes()


def test_rows_that_a_cluster_codes_are_those_of_one_process(run: Any, client: Any) -> None:
    schema = read_schema(Path("schema.toml")).confirmed()
    plain = read_table("t", schema)
    coded = read_table("t", schema, engine=Engine(cluster=client), counted=False)
    assert plain.repeated == coded.repeated == {"id": 80}
    assert (plain.attributes, plain.notation, plain.name) == (coded.attributes, coded.notation, coded.name)
    assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(plain.columns, coded.columns, strict=True))
    counted = read_table("t", schema, engine=Engine(cluster=client))
    assert counted.notation == plain.notation  # dates are written as the original writes them
    Path("t/2.csv").write_text("id,card,age,sex,since,ill\np1,c1,3,f,04.01.2020,ill 1\np1,c1,3,f,2020-13-04,ill 1\n")
    with pytest.raises(TableError, match=r"t, 2.csv, line 3, since: '2020-13-04' is not a date"):
        read_table("t", schema, engine=Engine(cluster=client), counted=False)


def test_what_needs_every_row_is_refused_or_read_here(
    run: Any, client: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    make = ("anonymize", "t", "-s", "schema.toml", "--seed", "1", "--with")
    assert run(*make, "mondrian:k=4", "--assignment", "a.csv", "-o", "r") == 0
    asked = ("r", "-s", "schema.toml", "--original", "t", *ON)
    assert run("attack", "attribute", *asked, "--key", "age") == 2
    assert run("audit", *asked, "--aligned") == 2
    assert "whose row is whose is then not known" in capsys.readouterr().err
    assert run("attack", "identity", *asked, "--assignment", "a.csv") == 0  # it goes by the groups' names
    assert run(*make, "noise:amount=0.1,attributes=age", "-o", "noisy") == 0
    assert run("attack", "identity", "noisy", *asked[1:]) == 2
    assert "perturbed rows are not counted on a cluster; leave --cluster out" in capsys.readouterr().err
    weighted = TOML.replace('[attributes.age]\nrole = "quasi-identifier"\nkind = "numeric"\n', "")
    Path("weights.toml").write_text(weighted.replace("confirmed = true\n", 'confirmed = true\nfrequency = "age"\n', 1))
    schema = read_schema(Path("weights.toml")).confirmed()
    engine = Engine(cluster=client)
    assert read_table("t", schema, engine=engine, counted=False).rows == read_table("t", schema).rows > 240
