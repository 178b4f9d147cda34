"""No sensitive attribute: each quasi-identifier is asked about in turn, all others being known."""

import json
from pathlib import Path

import numpy as np
import pytest
from test_cli import run
from test_slicing import beliefs

from one_round import attack, run_audit
from small import INSENSITIVE, QI, SENSITIVE, made_release, made_schema, made_table
from unveil import catalog
from unveil.anonymizers.parts.match_probabilities import likely_values, make_slices
from unveil.anonymizers.slicing import asked_of, sliced
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit.measures import measure
from unveil.data.attribute import asked_in_turn
from unveil.data.belief import Prior, describe_targets, sensitive_attribute
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import RequirementError, UsageError
from unveil.privacy.models import DistinctL, ProbabilisticL
from unveil.privacy.requirement import Requirement

SHORT = Chains(sweeps=60, burn_in=20, most_sweeps=60, every=10)
NAMES = ("a", "b", "c", "d")
SCHEMA = made_schema({name: {"role": QI, "domain": list("0123")} for name in NAMES})


def people(rows: int, seed: int) -> Table:
    random = np.random.default_rng(seed)
    return made_table(SCHEMA, *random.integers(4, size=(rows, 4)).astype(str).tolist())


def test_what_is_asked_in_turn() -> None:
    roles = {"x": QI, "y": INSENSITIVE, "z": QI}
    table = made_table(made_schema({n: {"role": r, "domain": ["0"]} for n, r in roles.items()}), ("0", "0", "0"))
    assert asked_in_turn(table.attributes) == (0, 2)
    table = made_table(made_schema({"x": {"role": QI}, "s": {"role": SENSITIVE}}), ("0", "0"))
    assert asked_in_turn(table.attributes) == (1,)
    assert asked_in_turn(()) == ()


# Slicing


def test_p_is_that_of_the_definition_with_the_others_known() -> None:
    table = people(40, 2)
    columns, group = ((0, 2), (1, 3)), np.random.default_rng(3).integers(4, size=40)
    asked = asked_of(table, columns, Requirement.of([DistinctL(l=1)], table, "test", range(4)))
    cells = [np.zeros(40, int)] * 2  # never looked at: each attribute has its own
    likely = likely_values(make_slices(cells), asked, group)
    for index in range(4):
        own = asked[index].own
        assert own is not None
        p = likely.shares(index)[own.person]
        slow = np.array(beliefs(sliced(table, columns, group).release, table, index), dtype=float)
        assert p == pytest.approx(slow, abs=1e-12)
        assert p.sum(axis=1) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("options", ["grouping=strict", "grouping=relaxed", "cut=a+c", "grouping=random,size=15"])
@pytest.mark.parametrize("model", [ProbabilisticL(l=1.5), DistinctL(l=3)])
def test_every_attribute_keeps_the_requirement(options: str, model: ProbabilisticL | DistinctL) -> None:
    table = people(40, 4)
    text = f"slicing:columns=a+b/c/d,{options},require={model.name}:l={model.l}"
    try:
        made = catalog.anonymizer(text).anonymize(table, Engine(seed=1))
    except RequirementError:
        assert "random" in options  # which are only checked
        return
    assert made.release.groups > 1
    for asked in range(4):
        for row in beliefs(made.release, table, asked):
            assert (1 / max(row) if isinstance(model, ProbabilisticL) else sum(x > 0 for x in row)) >= model.l


def test_what_slicing_can_be_asked_for() -> None:
    rows = [("0", "0", "0", "0"), ("1", "1", "0", "1"), ("0", "0", "1", "2"), ("1", "1", "1", "3")]
    table = made_table(SCHEMA, *rows)
    made = catalog.anonymizer("slicing:columns=a/b/c/d,l=2").anonymize(table, Engine(seed=0))
    assert made.release.groups == 1  # of two rows each, d = 0 and 1, or a = 0 and 0
    for options, message in (
        ("columns=a+b,l=2", r"a value of a is 1\.000; l=1 can be met, or more with .*\(see columns and asked\)"),
        ("columns=a/b/c/d,l=3", "value of a is 0.500; l=2 can be met"),
    ):
        with pytest.raises(RequirementError, match=message):
            catalog.anonymizer(f"slicing:{options}").anonymize(table, Engine(seed=0))
    only = catalog.anonymizer("slicing:columns=a+b/c/d,asked=d+c,l=2").anonymize(table, Engine(seed=0))
    assert only.release.groups == 2  # whoever has a = 0, and whoever has a = 1: two values of c and of d each
    for options, message in (
        ("asked=z,l=2", "asked names 'z'; it may name a, b, c, d"),
        ("generalise=2,l=2", "generalise widens what is asked about"),
        ("alpha=2,l=2", "the schema has 0"),
    ):
        with pytest.raises(UsageError, match=message):
            catalog.anonymizer(f"slicing:{options}").anonymize(table, Engine(seed=0))
    assert catalog.anonymizer("slicing:generalise=2,k=2").anonymize(table, Engine(seed=0)).release.rows == 4


# Attackers

SLICES = [(0, "0", "2"), (0, "0", "3"), (0, "1", "3"), (1, "1", "2"), (1, "1", "2")]  # bucket, a, b


def slices() -> tuple[Table, Release]:
    schema = made_schema({"a": {"role": QI, "domain": ["0", "1"]}, "b": {"role": QI, "domain": ["2", "3"]}})
    table = made_table(schema, *[row[1:] for row in SLICES])
    blocks = [([0], [(g, a) for g, a, _ in SLICES]), ([1], [(g, b) for g, _, b in SLICES])]
    return table, made_release(table.attributes, blocks)


def test_random_worlds_by_hand() -> None:
    """Whoever has b = 2 is the one of bucket 1, of a = 0 by 2/3, or one of the two of bucket 2."""
    table, release = slices()
    targets = targets_of_table(table, release, 0)
    assert describe_targets(release, targets) == "all other quasi-identifiers"
    found = attack(RandomWorlds(), release, targets, Prior.uninformative(release, 0), Engine(seed=0)).probability
    of_2, of_3 = [2 / 9, 7 / 9], [2 / 3, 1 / 3]
    assert found == pytest.approx(np.array([of_2, of_3, of_3, of_2, of_2]))
    assert sensitive_attribute(release, "b") == 1
    with pytest.raises(UsageError, match="say which quasi-identifier to ask about: --asked a or --asked b"):
        sensitive_attribute(release)
    with pytest.raises(UsageError, match="unknown quasi-identifier 'z'; choose from a, b"):
        sensitive_attribute(release, "z")


# The audit


def test_an_audit_asks_about_each() -> None:
    table, release = slices()
    found = run_audit({"r": release}, original=table, attackers={"random_worlds": RandomWorlds()}, chains=SHORT)
    threat = {f.attribute: f.value for f in found.document.findings if f.id == "random_worlds.global_threat"}
    assert threat == pytest.approx({"a": 3 / 5, "b": 3 / 5})  # b = 2 → 1, b = 3 → 0; a = 0 → 3, a = 1 → 2
    assert found.answers["r", "b"].attackers["random_worlds"].probability[0] == pytest.approx([1 / 3, 2 / 3])
    assert {a for _, a in found.answers} == {"a", "b"}
    readers = found.document.diagnostics["readers"]
    assert {r["threat"]["target"] for r in readers} == {"all other quasi-identifiers"}
    assert any("asked about in turn" in text for text in found.document.diagnostics["remarks"])
    only = run_audit({"r": release}, original=table, asked=["b"], chains=SHORT)
    assert {a for _, a in only.answers} == {"b"}
    assert only.document.settings["asked"] == ["b"]
    for asked, message in (
        (["z"], "cannot ask about 'z'; choose from a, b"),
        ([], "nothing is asked about"),
    ):
        with pytest.raises(UsageError, match=message):
            run_audit({"r": release}, original=table, asked=asked)


def test_wider_cells_are_asked_about_by_name_only() -> None:
    table, _ = slices()
    wide = made_release(table.attributes, [([0, 1], [(0, "*", b) for b in "22233"])])
    found = run_audit({"r": wide}, original=table, limits=["global_threat <= 1"], chains=SHORT)
    assert {a for _, a in found.answers} == {"b"}
    assert any("(a): it is published in wider cells" in text for text in found.document.diagnostics["not_tested"])
    # Two of five are alike and two of five linked; nobody knows the threat to a.
    kinds = found.document.diagnostics["judgement"]["r"]["kinds"]
    verdicts = {k["attribute"] or k["kind"]: k["verdict"] for k in kinds}
    assert {name for name, verdict in verdicts.items() if verdict == "exceeded"} == {"singling out", "linking"}
    assert (verdicts["a"], verdicts["b"]) == ("inconclusive", "within")
    why = dict.fromkeys(["file", "singling out", "linking"], "five people")
    waived = run_audit({"r": wide}, original=table, limits=["global_threat <= 1"], chains=SHORT, waive=why)
    assert (found.exit_code, waived.exit_code) == (1, 3)
    named = run_audit({"r": wide}, original=table, asked=["a"], chains=SHORT)
    assert {a for _, a in named.answers} == {"a"}


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = ["version = 1", "confirmed = true"]
    content += [f'[attributes.{name}]\nrole = "quasi-identifier"\ndomain = ["0", "1", "2", "3"]' for name in NAMES]
    (tmp_path / "schema.toml").write_text("\n".join(content))
    rows = np.random.default_rng(1).integers(4, size=(60, 4)).astype(str).tolist()
    data, release, people = tmp_path / "data.csv", tmp_path / "release.csv", tmp_path / "people.csv"
    data.write_text("\n".join(",".join(row) for row in [NAMES, *rows]) + "\n")
    common = ("-s", tmp_path / "schema.toml")
    code, _, err = run(
        "anonymize", data, *common, "--with", "slicing:c=3,l=2", "-o", release, "--seed", "1", capsys=capsys
    )
    assert code == 0, err
    more = (*common, "--original", data, "--workers", "1", "--sweeps", "60", "--most-sweeps", "60")
    code, out, err = run(
        "attack", "attribute", release, *more, "--asked", "c", "--attacker", "random_worlds", capsys=capsys
    )
    assert code in (0, 3), err
    assert "c: what is believed of 60 people" in out
    command = ("audit", release, *more, "--attacker", "random_worlds", "--asked", "a,c", "--json", "-")
    code, out, err = run(*command, "--people", people, capsys=capsys)
    document = json.loads(out)
    assert code == document["diagnostics"]["exit_code"] == 1, err
    kinds = document["diagnostics"]["judgement"]["release.csv"]["kinds"]
    assert {k["attribute"] for k in kinds if k["kind"] == "inference"} == {"a", "c"}
    risks = [
        f for f in document["findings"] if measure(f["measure"]).kind != "utility"
    ]  # an analyst's are of every column
    assert {f["attribute"] for f in risks} == {None, "a", "c"}
    assert sorted(p.name for p in tmp_path.glob("people*")) == ["people-a.csv", "people-c.csv"]
    assert (tmp_path / "people-a.csv").read_text().startswith("row,attribute,known:b,known:c,known:d,truth")
