"""unveil knowledge, and attackers who are given knowledge, as a user meets them."""

import json
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import polars
import pytest

from one_round import attack
from unveil import cli
from unveil.attackers.background import BackgroundKnowledge
from unveil.attackers.posterior.roster import place_members
from unveil.audit.given import ReaderView, others_of_file
from unveil.catalog import anonymizer
from unveil.data.belief import Prior
from unveil.data.schema import read_schema
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.formats.releases import read_release, write_release
from unveil.formats.tables import read_columns, read_table
from unveil.privacy.knowledge.kernel import Kernel
from unveil.privacy.knowledge.mining.cells import some_sharing, valid_kinds, valid_values
from unveil.privacy.knowledge.negative_rules import NegativeRules
from unveil.risk.background import background_risk, background_risk_by_bandwidth, describe_knowledge, rank_rules

SCHEMA = """version = 1
confirmed = true
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
[attributes.sex]
role = "quasi-identifier"
[attributes.disease]
role = "sensitive"
"""


def lines() -> str:
    random = np.random.default_rng(3)
    rows = []
    for _ in range(120):
        sex = "fm"[random.integers(2)]
        disease = random.choice(
            ["flu", "cold", "asthma", "birth"], p=[0.4, 0.3, 0.1, 0.2] if sex == "f" else [0.5, 0.3, 0.2, 0]
        )
        rows.append(f"{random.integers(20, 40)},{sex},{disease}")
    return "age,sex,disease\n" + "\n".join(rows) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "data.csv").write_text(lines())
    table = read_table(tmp_path / "data.csv", read_schema(tmp_path / "schema.toml"))
    for name in ("mondrian:k=4", "anatomy:l=2"):
        made = anonymizer(name).anonymize(table, Engine(seed=1))
        write_release(made.release, tmp_path / f"{name.partition(':')[0]}.csv")
        rows = [f"{i + 1},{g + 1}" for i, g in enumerate(made.group_of_row)]
        (tmp_path / f"{name.partition(':')[0]}-assignment.csv").write_text("row,group\n" + "\n".join(rows) + "\n")
    return tmp_path


BACKGROUND = ("attack", "background", "--original")


def run(*args: str | Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    argv = sys.argv
    sys.argv = ["unveil", *map(str, args)]
    try:
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    finally:
        sys.argv = argv
    out, err = capsys.readouterr()
    return int(stopped.value.code or 0), out, err


def test_rules_are_printed_with_their_evidence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = (
        "attack",
        "background",
        "--original",
        folder / "data.csv",
        "-s",
        folder / "schema.toml",
        "--knowledge",
        "negative_rules:min_expectation=0.9",
    )
    code, out, _ = run(*command, capsys=capsys)
    assert code == 0
    assert "sex=m never disease=birth" in out
    assert "People with 5 or more impossible values" in out
    code, out, _ = run(*command, "--json", "-", capsys=capsys)
    document = json.loads(out)
    assert document["document"] == "knowledge"
    table = read_table(folder / "data.csv", read_schema(folder / "schema.toml"))
    men = int((table.columns[1] == 1).sum())
    births = float((table.columns[2] == table.attributes[2].values.index("birth")).mean())
    rule = next(r for r in document["diagnostics"]["rules"] if r["rule"] == "sex=m never disease=birth")
    assert rule["people"] == men
    assert rule["expectation"] == pytest.approx(1 - (1 - births) ** men)
    shares = {f["id"]: f["value"] for f in document["findings"]}
    known = describe_knowledge(table, NegativeRules())
    assert sum(shares[f"impossible_values.{i}"] for i in range(5)) + shares[
        "impossible_values.5_or_more"
    ] == pytest.approx(1)
    number = (NegativeRules().prior(table).of(np.stack(table.columns[:2], axis=1)) == 0).sum(axis=1)
    assert [shares[f"impossible_values.{i}"] for i in range(5)] == pytest.approx(
        [(number == i).mean() for i in range(5)]
    )
    assert known.impossible()[5] == shares["impossible_values.5_or_more"]


@pytest.mark.parametrize("name", ["mondrian", "anatomy"])
def test_whom_knowledge_exposes_in_a_release(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        "attack", "background", folder / f"{name}.csv", "--original", folder / "data.csv", "-s", folder / "schema.toml",
        "--knowledge", "negative_rules", "--l", "2", "--t", "0.3", "--json", "-", capsys=capsys,
    )  # fmt: skip
    assert code == 0
    found = {f["id"]: f["value"] for f in json.loads(out)["findings"] if f["release"] == f"{name}.csv"}
    assert set(found) == {"worst_case_risk", "vulnerable_beyond.0.3", "vulnerable_fewer.2"}
    schema = read_schema(folder / "schema.toml")
    table = read_table(folder / "data.csv", schema)
    release = read_release(folder / f"{name}.csv", schema, attributes=table.attributes)
    group = np.loadtxt(folder / f"{name}-assignment.csv", delimiter=",", skiprows=1, dtype=np.int64)[:, 1] - 1
    prior = NegativeRules().prior(table)
    held = prior.of(np.stack(table.columns[:2], axis=1))
    valid = valid_values(group, table.columns[2], held > 0)  # from the truth, where the command finds a matching
    assert found["vulnerable_fewer.2"] == (valid.sum(axis=1) < 2).sum()
    roster = targets_of_table(table, release, 2, group=group)
    shown = background_risk(release, 2, prior, roster=roster)
    assert shown.fewer(2) == found["vulnerable_fewer.2"]
    assert shown.worst == pytest.approx(found["worst_case_risk"])
    assert shown.beyond(0.3) == found["vulnerable_beyond.0.3"]
    assert shown.beyond(0) > shown.beyond(0.3)
    assert shown.people.sum() == table.rows


def test_the_worst_case_over_bandwidths(folder: Path) -> None:
    schema = read_schema(folder / "schema.toml")
    table = read_table(folder / "data.csv", schema)
    release = read_release(folder / "anatomy.csv", schema, attributes=table.attributes)
    grid = [(0.2,), (0.25,), (0.3, 1.5)]
    found = background_risk_by_bandwidth(release, 2, table, grid)
    for bandwidth, one in zip(grid, found, strict=True):
        assert one.worst == background_risk(release, 2, Kernel(bandwidth=bandwidth).prior(table)).worst
    assert len({one.worst for one in found}) == 3


@pytest.mark.parametrize("seed", range(12))
def test_valid_values_are_those_of_all_matchings(seed: int) -> None:
    """Two groups; a value is valid if some way to give everybody a possible value gives it to the person."""
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 6, 2)
    group = np.repeat([0, 1], sizes)
    value = random.integers(0, 4, len(group))
    possible = random.random((len(group), 4)) < 0.6
    possible[np.arange(len(group)), value] = True
    wanted = np.zeros(possible.shape, dtype=bool)
    for g in (0, 1):
        members = np.flatnonzero(group == g)
        for order in set(permutations(value[members].tolist())):
            if possible[members, list(order)].all():
                wanted[members, list(order)] = True
    assert (valid_values(group, value, possible) == wanted).all()
    counts = np.array([np.bincount(value[group == g], minlength=4) for g in (0, 1)])
    shared = some_sharing(group, np.ones(len(group), dtype=int), possible, counts)
    assert (shared.sum(axis=1) == 1).all()
    assert not (shared[~possible]).any()
    assert all((shared[group == g].sum(axis=0) == counts[g]).all() for g in (0, 1))
    assert (valid_values(group, shared.argmax(axis=1), possible) == wanted).all()
    # People of one kind as one: the same group and the same possible values.
    _, kind = np.unique(np.column_stack([group, possible]), axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    first = [int(np.flatnonzero(kind == k)[0]) for k in range(kind.max() + 1)]
    shared = some_sharing(group[first], np.bincount(kind), possible[first], counts)
    assert (valid_kinds(group[first], shared > 0, possible[first])[kind] == wanted).all()
    if not possible.all():
        none = np.zeros((2, 4), dtype=bool)
        with pytest.raises(UsageError, match="rules out group 1"):
            some_sharing(np.array([0, 0]), np.ones(2, dtype=int), none, np.array([[1, 1, 0, 0]]))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--knowledge", "nothing"], "unknown knowledge 'nothing'; choose from facts, kernel, negative_rules"),
        (["--knowledge", "kernel:bandwidth=0"], "a bandwidth is a number above 0"),
        (["--knowledge", "kernel", "--assignment", "x.csv"], "are about a release; name it"),
        (["--knowledge", "overall", "--asked", "age"], "unknown sensitive attribute"),
    ],
)
def test_mistakes_are_one_line(more: list[str], why: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(*BACKGROUND, folder / "data.csv", "-s", folder / "schema.toml", *more, capsys=capsys)
    assert code == 2
    assert why in err
    assert err.count("\n") == 1


def test_attackers_are_given_knowledge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The people file of `background` under a roster holds the beliefs of the attacker asked directly."""
    base = (
        "attack",
        "attribute",
        folder / "mondrian.csv",
        "-s",
        folder / "schema.toml",
        "--original",
        folder / "data.csv",
    )
    told = (
        "--knowledge",
        "kernel:bandwidth=0.3",
        "--people",
        folder / "people.csv",
        "--sweeps",
        "50",
        "--most-sweeps",
        "50",
    )
    code, out, _ = run(*base, *told, "--attacker", "background", "--roster", capsys=capsys)
    assert code in (0, 3)
    assert "background" in out
    schema = read_schema(folder / "schema.toml")
    table = read_table(folder / "data.csv", schema)
    release = read_release(folder / "mondrian.csv", schema, attributes=table.attributes)
    roster = targets_of_table(table, release, 2)
    prior = Kernel(bandwidth=(0.3,)).prior(table)
    attacker = BackgroundKnowledge(knowledge=prior, roster=roster)
    wanted = attack(attacker, release, roster, Prior.uninformative(release, 2), Engine(seed=0))
    names = [f"attacker:{v}" for v in table.attributes[2].values]
    found = polars.read_csv(folder / "people.csv").select(names).to_numpy()
    assert found == pytest.approx(wanted.probability, abs=1e-9)
    code, _, err = run(*base, "--attacker", "background", "--sweeps", "50", "--most-sweeps", "50", capsys=capsys)
    assert code == 2
    assert "give a roster" in err


def test_a_coalition_stands_beside_the_attackers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = (
        "attack",
        "attribute",
        folder / "anatomy.csv",
        "-s",
        folder / "schema.toml",
        "--original",
        folder / "data.csv",
    )
    more = ("--attacker", "random_worlds", "--sweeps", "50", "--most-sweeps", "50", "--coalition", "1")
    code, _, err = run(*base, *more, capsys=capsys)
    assert code == 2
    assert "more than one group; say which is theirs" in err
    code, out, _ = run(*base, *more, "--assignment", folder / "anatomy-assignment.csv", capsys=capsys)
    assert code in (0, 3)
    assert "coalition" in out


def test_others_leave_with_their_values(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a group of four one told value leaves three; the file must name people of the release."""
    schema = read_schema(folder / "schema.toml")
    table = read_table(folder / "data.csv", schema)
    first = [a.values[c[0]] for a, c in zip(table.attributes, table.columns, strict=True)]
    (folder / "others.csv").write_text("age,sex,disease\n" + ",".join(first) + "\n")
    (folder / "strange.csv").write_text("age,sex,disease\n20,f,plague\n")
    (folder / "short.csv").write_text("age,sex\n20,f\n")
    release = read_release(folder / "mondrian.csv", schema, attributes=table.attributes)
    everyone = targets_of_table(table, release, 2)
    given = ReaderView.of(release, everyone, table, "uniform", roster=True)
    told = others_of_file(read_columns(folder / "others.csv"), given.release, 2, name="others")
    attackers = given.hand_to({"background": BackgroundKnowledge()}, told)
    plain = given.hand_to({"background": BackgroundKnowledge()})
    prior = Prior.uninformative(given.release, 2)
    group = place_members(release, everyone)
    fellow = int(np.flatnonzero(group == group[0])[1])
    one = given.targets.take(np.array([fellow]))
    before = attack(plain["background"], given.release, one, prior, Engine(seed=0)).probability[0]
    after = attack(attackers["background"], given.release, one, prior, Engine(seed=0)).probability[0]
    size = int((group == group[0]).sum())
    own = np.zeros(4)
    own[table.columns[2][0]] = 1
    assert before == pytest.approx(np.bincount(table.columns[2][group == group[0]], minlength=4) / size)
    assert after == pytest.approx((before * size - own) / (size - 1))
    with pytest.raises(UsageError, match="no value of disease"):
        others_of_file(read_columns(folder / "strange.csv"), given.release, 2, name="strange")
    with pytest.raises(UsageError, match="has no column disease"):
        others_of_file(read_columns(folder / "short.csv"), given.release, 2, name="short")
    with pytest.raises(UsageError, match="add --attacker background"):
        given.hand_to({}, told)


def test_bandwidths_and_ranks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each point of the curve is the exposure asked directly; whom a rule exposes is listed matching by matching."""
    command = (
        *BACKGROUND, folder / "data.csv", "-s", folder / "schema.toml", "--knowledge", "negative_rules",
        folder / "mondrian.csv", "--bandwidths", "0.2+0.5", "--rank",
    )  # fmt: skip
    code, out, _ = run(*command, capsys=capsys)
    assert code == 0
    assert "Newly exposed" in out
    assert "Worst-case risk" in out
    document = json.loads(run(*command, "--json", "-", capsys=capsys)[1])
    schema = read_schema(folder / "schema.toml")
    table = read_table(folder / "data.csv", schema)
    release = read_release(folder / "mondrian.csv", schema, attributes=table.attributes)
    over = background_risk_by_bandwidth(release, 2, table, [(0.2,), (0.5,)], roster=targets_of_table(table, release, 2))
    curve = document["charts"]["worst_case_over_bandwidths"]
    assert [point["bandwidth"] for point in curve] == [0.2, 0.5]
    for point, one in zip(curve, over, strict=True):
        assert (point["worst"], point["beyond"]) == (one.worst, one.beyond(0.2))
    exposing = {f["rule"]: f["exposed"] for f in document["diagnostics"]["exposing"]}
    assert list(exposing.values()) == sorted(exposing.values(), reverse=True)
    for more in (["--knowledge", "kernel", "--rank"], ["--knowledge", "kernel", "--bandwidths", "0.2"]):
        code, _, err = run(*BACKGROUND, folder / "data.csv", "-s", folder / "schema.toml", *more, capsys=capsys)
        assert code == 2
        assert "are about a release; name it" in err
    code, _, err = run(*command[:7], "kernel", *command[8:], capsys=capsys)
    assert code == 2
    assert "kernel has none" in err
    code, _, err = run(*command[:-2], "x", capsys=capsys)
    assert code == 2
    assert "is not a number" in err


def test_the_rule_that_exposes_most(folder: Path) -> None:
    """Of whom a value is believed with .9 once it is known that men have no birth: matching by matching."""
    schema = read_schema(folder / "schema.toml")
    table = read_table(folder / "data.csv", schema)
    release = read_release(folder / "anatomy.csv", schema, attributes=table.attributes)
    group = np.loadtxt(folder / "anatomy-assignment.csv", delimiter=",", skiprows=1, dtype=np.int64)[:, 1] - 1
    value, man = table.columns[2], table.columns[1] == 1
    share = np.bincount(value, minlength=4) / table.rows
    plain = np.tile(share, (table.rows, 1))
    told = plain.copy()
    told[man, table.attributes[2].values.index("birth")] = 0
    told /= told.sum(axis=1, keepdims=True)
    wanted = 0
    for members in (np.flatnonzero(group == g) for g in range(release.groups)):
        sure = []
        for held in (plain, told):
            belief = np.zeros((len(members), 4))
            for order in set(permutations(value[members].tolist())):
                belief[np.arange(len(members)), list(order)] += np.prod(held[members, list(order)])
            sure.append((belief / belief.sum(axis=1, keepdims=True)).max(axis=1) >= 0.9)
        wanted += int((sure[1] & ~sure[0]).sum())
    facts = rank_rules(release, 2, table, NegativeRules().rules(table), at_least=0.9)
    assert [f.exposed for f in facts] == sorted((f.exposed for f in facts), reverse=True)
    found = next(f for f in facts if f.text == "sex=m never disease=birth")
    assert found.exposed == wanted > 0
    assert found.people == man.sum()
