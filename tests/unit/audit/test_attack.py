"""`unveil attack attribute` and what it is made of: who is asked about, the people file, exit codes."""

import csv
import json
import stat
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from python_calamine import CalamineWorkbook
from test_cli import run

from documents import check_document
from one_round import attack, run_attack
from small import QI, SENSITIVE, made_release, made_schema, made_table
from unveil import risk
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.learner import Learner
from unveil.attackers.posterior.averages import diagnostics
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit import attack as attack_module
from unveil.audit.attack import Attack, targets_of_file
from unveil.audit.attribute import describe_attack
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Belief, Diagnostics, Prior
from unveil.data.release import Release
from unveil.data.schema import read_schema
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable, ReleaseError, UsageError
from unveil.formats.people import people_frame, write_people
from unveil.formats.releases import read_release
from unveil.formats.tables import read_columns, read_table
from unveil.report.sections.attack import attack_grid

SCHEMA = """version = 1
confirmed = true
missing = ["?"]
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 20, to = 49 }
missing = "category"
[attributes.sex]
role = "quasi-identifier"
domain = ["f", "m"]
[attributes.disease]
role = "sensitive"
domain = ["flu", "hiv, late", "=cmd()"]
"""
DATA = [
    ("20", "f", "flu"), ("25", "f", "hiv, late"), ("29", "m", "flu"), ("29", "m", "=cmd()"),
    ("31", "f", "=cmd()"), ("35", "f", "hiv, late"), ("40", "m", "flu"), ("?", "m", "flu"),
]  # fmt: skip
RELEASE = [
    ("[20,29]", "*", "flu"), ("[20,29]", "*", "hiv, late"), ("[20,29]", "*", "flu"), ("[20,29]", "*", "=cmd()"),
    ("[30,39]", "f", "=cmd()"), ("[30,39]", "f", "hiv, late"), ("*", "m", "flu"), ("*", "m", "flu"),
]  # fmt: skip
HEAD = ("age", "sex", "disease")
VALUES = ("flu", "hiv, late", "=cmd()")


def write_csv(path: Path, header: Any, rows: Any) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return path


def read_csv(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
        return list(reader.fieldnames or ()), rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    write_csv(tmp_path / "data.csv", HEAD, DATA)
    write_csv(tmp_path / "r.csv", HEAD, RELEASE)
    return tmp_path


@pytest.fixture
def released(folder: Path) -> tuple[Release, Any]:
    schema = read_schema(folder / "schema.toml")
    table = read_table(folder / "data.csv", schema)
    return read_release(folder / "r.csv", schema, attributes=table.attributes), table


def command(folder: Path, *rest: str | Path, original: bool = True) -> tuple[str | Path, ...]:
    whom = ("--original", folder / "data.csv") if original else ()
    return ("attack", "attribute", folder / "r.csv", "--schema", folder / "schema.toml", *whom, *rest)


# Who is asked about


def test_every_row_of_a_table_is_a_target(released: tuple[Release, Any]) -> None:
    release, table = released
    targets = targets_of_table(table, release, 2)
    assert (targets.count, list(targets.known), targets.group) == (8, [0, 1], None)
    assert run_attack(release, targets, {}).known_texts(release) == {
        "age": [row[0] for row in DATA],
        "sex": [row[1] for row in DATA],
    }
    some = targets_of_table(table, release, 2, known=["sex"], wrong=0.1, group=np.zeros(8, dtype=np.int32))
    assert list(some.known) == [1]
    assert some.known[1].wrong == 0.1
    assert some.group is not None
    assert targets_of_table(table, release, 2, known=[]).count == 8


def test_what_cannot_be_known_of_a_table(released: tuple[Release, Any]) -> None:
    release, table = released
    with pytest.raises(UsageError, match="disease is asked about"):
        targets_of_table(table, release, 2, known=["disease"])
    with pytest.raises(ReleaseError, match="no attribute 'name'"):
        targets_of_table(table, release, 2, known=["name"])
    other = made_schema({"age": {"role": QI}, "sex": {"role": QI}, "disease": {"role": SENSITIVE}})
    with pytest.raises(UsageError, match="domain of age is not the release's"):
        targets_of_table(made_table(other, ("20", "f", "flu")), release, 2)


def test_targets_of_a_file_may_be_unknown_coarser_or_missing(folder: Path, released: tuple[Release, Any]) -> None:
    release, _ = released
    rows = [("25", "f"), ("[20,29]", ""), ("", "m"), ("?", "m"), ("{25,?}", "*"), ("", "")]
    columns = read_columns(write_csv(folder / "t.csv", ("age", "sex"), rows))
    targets = targets_of_file(columns, release, 2, name="t.csv")
    known = [set(targets.known[0].regions.members(int(r)).tolist()) for r in targets.known[0].of_target]
    every, missing = set(range(31)), {30}
    assert known == [{5}, set(range(10)), every, missing, {5, 30}, every]
    attack = run_attack(release, targets, {"a": RandomWorlds()})
    assert attack.known_texts(release)["age"] == ["25", "[20,29]", "*", "?", "{25,?}", "*"]
    # [20,29] fits all four of the first group and, by a third of its codes, each of the last.
    assert attack.attackers["a"].probability[1] == pytest.approx(np.array([2 + 2 * 10 / 31, 1, 1]) / (4 + 2 * 10 / 31))
    assert attack.attackers["a"].probability[3] == pytest.approx([1, 0, 0])  # only * holds the missing one
    assert attack.attackers["a"].probability[5] == pytest.approx([4 / 8, 2 / 8, 2 / 8])


def test_targets_of_a_file_with_a_decimal_comma(tmp_path: Path) -> None:
    schema = made_schema(
        {
            "dose": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 2, "step": 0.5}},
            "disease": {"role": SENSITIVE, "domain": ["a", "b"]},
        }
    )
    release = made_table(schema, ("0.5", "a"), ("1.5", "b")).as_release()
    (tmp_path / "t.csv").write_text("dose;disease\n0,5;\n1,5;\n")
    columns = read_columns(tmp_path / "t.csv", delimiter=";", decimal=",")
    targets = targets_of_file(columns, release, 1, name="t.csv", known=["dose"])
    assert run_attack(release, targets, {}).known_texts(release) == {"dose": ["0.5", "1.5"]}


@pytest.mark.parametrize(
    ("header", "row", "said"),
    [
        (("age", "sex"), ("19", "f"), r"line 3, age: '19' is not a value"),
        (("age", "sex"), ("[50,60]", "f"), r"line 3, age: .*holds no value of the domain"),
        (("sex",), ("?",), r"line 3, sex: a missing value"),
        (("age", "name"), ("20", "Ann"), r"no attribute 'name'; leave the column out"),
        (("age", "disease"), ("20", "flu"), r"'disease' is asked about"),
    ],
)
def test_targets_of_a_file_that_make_no_sense(
    folder: Path, released: tuple[Release, Any], header: Any, row: Any, said: str
) -> None:
    first = {"age": "20", "sex": "f", "disease": "flu", "name": "Bob"}
    columns = read_columns(write_csv(folder / "t.csv", header, [[first[h] for h in header], row]))
    with pytest.raises(UsageError, match=said):
        targets_of_file(columns, released[0], 2, name="t.csv")


# run_attack


def test_the_learner_and_each_attacker_are_asked_about_the_same_people(released: tuple[Release, Any]) -> None:
    release, table = released
    targets = targets_of_table(table, release, 2)
    found = run_attack(
        release,
        targets,
        {"bayesian": Bayesian(), "random_worlds": RandomWorlds(), "half": Bayesian(membership=0.5), "l": Learner()},
    )
    assert list(found.attackers) == ["bayesian", "random_worlds", "half", "l"]
    assert found.targets is targets
    for belief in (found.learner, *found.attackers.values()):
        assert belief.probability.shape == (8, 3)
    assert np.array_equal(found.learner.probability, found.attackers["l"].probability)
    half = (found.attackers["bayesian"].probability + found.learner.probability) / 2
    assert found.attackers["half"].probability == pytest.approx(half)
    for name, attacker in (("bayesian", Bayesian()), ("random_worlds", RandomWorlds())):
        alone = attack(attacker, release, targets, Prior.uninformative(release, 2), Engine(seed=0))
        assert found.attackers[name].probability == pytest.approx(alone.probability, abs=1e-12)


def test_a_number_with_over_a_thousand_values_needs_bins() -> None:
    pay = {"role": SENSITIVE, "kind": "numeric", "domain": {"from": 0, "to": 1000}}
    table = made_table(made_schema({"sex": {"role": QI}, "pay": pay}), ("f", "7"), ("m", "8"))
    release = table.as_release()
    with pytest.raises(NotApplicable, match=r"pay has 1001 values.*declare bins"):
        run_attack(release, targets_of_table(table, release, 1), {"bayesian": Bayesian()})


# The people file

ILL = Attribute("disease", Role.SENSITIVE, Kind.CATEGORICAL, VALUES)
LEARNER = Belief(np.array([[0.5, 0.25, 0.25], [0.2, 0.4, 0.4], [1 / 3, 1 / 3, 1 / 3]]))
ATTACKER = Belief(np.array([[1.0, 0.0, 0.0], [0.5, 0.3, 0.2], [0.25, 0.5, 0.25]]))
COLUMNS = [
    "row", "attribute", "known:age", "known:sex", "truth", "learner_belief", "attacker_belief", "learner_guess",
    "attacker_guess", "learner_threatened", "attacker_threatened", "relative_threat",
    "learner:flu", "learner:hiv, late", "learner:=cmd()", "attacker:flu", "attacker:hiv, late", "attacker:=cmd()",
]  # fmt: skip
KNOWN = {"age": ["20", "[20,29]", 'a "b", c\n'], "sex": ["f", "*", "\u200f<b>"]}


def test_columns_of_the_people_file_and_their_order() -> None:
    frame = people_frame(ILL, KNOWN, LEARNER, {"bayesian": ATTACKER, "random_worlds": LEARNER}, np.array([0, 1, 2]))
    assert frame.columns == [*COLUMNS, *(f"random_worlds:{v}" for v in VALUES)]
    assert frame["row"].to_list() == [1, 2, 3]
    assert frame["attribute"].to_list() == ["disease"] * 3
    assert frame["truth"].to_list() == list(VALUES)
    assert frame["learner_belief"].to_list() == [0.5, 0.4, 1 / 3]
    assert frame["attacker_belief"].to_list() == [1.0, 0.3, 0.25]
    assert frame["attacker_guess"].to_list() == ["flu", "flu", "hiv, late"]
    assert frame["learner_threatened"].to_list() == [True, True, True]  # a tie threatens
    assert frame["attacker_threatened"].to_list() == [True, False, False]
    assert frame["relative_threat"].to_list() == [2.0, None, None]
    assert frame.select(COLUMNS[-3:]).rows() == [tuple(row) for row in ATTACKER.probability.tolist()]


def test_the_people_file_says_what_risk_says() -> None:
    random = np.random.default_rng(3)
    attacker, learner = (Belief(random.dirichlet(np.ones(3), size=50)) for _ in range(2))
    truth = random.integers(3, size=50)
    frame = people_frame(ILL, {}, learner, {"x": attacker}, truth)
    assert frame["attacker_threatened"].to_list() == risk.threatened(attacker, truth).tolist()
    ours = frame["relative_threat"].fill_null(float("nan")).to_numpy()
    assert ours == pytest.approx(risk.relative_threat(attacker, learner, truth), nan_ok=True)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".CSV"])
def test_the_people_file_is_its_owner_s_alone(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"people{ending}"
    path.write_text("an earlier one")
    path.chmod(0o666)
    frame = people_frame(ILL, KNOWN, LEARNER, {"bayesian": ATTACKER}, np.array([0, 1, 2]))
    write_people(path, frame)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    if ending == ".parquet":
        assert pl.read_parquet(path).equals(frame)
        return
    header, rows = read_csv(path)
    assert header == COLUMNS
    assert [row["known:age"] for row in rows] == KNOWN["age"]
    assert [row["known:sex"] for row in rows] == KNOWN["sex"]
    assert [row["truth"] for row in rows] == ["flu", "hiv, late", "'=cmd()"]
    assert [row["relative_threat"] for row in rows] == ["2.0", "", ""]
    assert [row["attacker_threatened"] for row in rows] == ["true", "false", "false"]
    assert [float(row["learner_belief"]) for row in rows] == [0.5, 0.4, 1 / 3]  # no digit is lost


def test_without_the_truth_success_stays_empty(tmp_path: Path) -> None:
    frame = people_frame(ILL, KNOWN, LEARNER, {"bayesian": ATTACKER}, None)
    write_people(tmp_path / "p.csv", frame)
    header, rows = read_csv(tmp_path / "p.csv")
    assert header == COLUMNS
    empty = ("truth", "learner_belief", "attacker_belief", "learner_threatened", "attacker_threatened")
    for row in rows:
        assert [row[name] for name in (*empty, "relative_threat")] == [""] * 6
        assert row["attacker_guess"] in VALUES
    assert frame["attacker_threatened"].dtype == pl.Boolean
    assert frame["relative_threat"].dtype == pl.Float64


@pytest.mark.parametrize(("values", "asked", "shown"), [(100, None, True), (101, None, False), (101, True, True)])
def test_over_a_hundred_values_get_no_columns_of_their_own(values: int, asked: bool | None, shown: bool) -> None:
    attribute = replace(ILL, values=tuple(f"v{i}" for i in range(values)))
    belief = Belief(np.full((2, values), 1 / values))
    frame = people_frame(attribute, {}, belief, {"a": belief}, np.array([0, 1]), value_columns=asked)
    assert any(name.startswith("learner:") for name in frame.columns) == shown
    assert len(frame.columns) == 10 + (2 * values if shown else 0)


def read_sheet(path: Path) -> pl.DataFrame:
    head, *rows = CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
    return pl.DataFrame(rows, schema=[str(name) for name in head], orient="row")


def test_a_people_file_has_one_of_four_endings(tmp_path: Path) -> None:
    frame = people_frame(ILL, KNOWN, LEARNER, {"bayesian": ATTACKER}, None)
    with pytest.raises(UsageError, match=r"a \.csv, \.parquet, \.arrow or \.xlsx; name it people\.csv"):
        write_people(tmp_path / "people.sav", frame)
    assert not list(tmp_path.iterdir())
    for ending, read in ((".parquet", pl.read_parquet), (".arrow", pl.read_ipc), (".xlsx", read_sheet)):
        path = tmp_path / f"people{ending}"
        write_people(path, frame)
        found = read(path)
        assert found.columns == frame.columns
        assert found["attacker_guess"].to_list() == frame["attacker_guess"].to_list()
        assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="needs an attacker"):
        people_frame(ILL, KNOWN, LEARNER, {}, None)


# The command


def test_attack_prints_learner_and_attackers_and_writes_people(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = folder / "people.csv"
    both = ("--attacker", "bayesian", "--attacker", "random_worlds", "--people", people)
    code, out, err = run(*command(folder, *both), capsys=capsys)
    assert code == 0
    assert "disease: what is believed of 8 people" in out
    for word in ("learner", "bayesian", "random_worlds", "Guessed right", "exact"):
        assert word in out
    assert err == f"wrote {people}; it names people: keep it secret\n"
    assert stat.S_IMODE(people.stat().st_mode) == 0o600
    header, rows = read_csv(people)
    assert header == [*COLUMNS, *(f"random_worlds:{v}" for v in VALUES)]
    assert [(row["known:age"], row["known:sex"], row["truth"].lstrip("'")) for row in rows] == DATA
    assert [row["row"] for row in rows] == [str(i) for i in range(1, 9)]
    assert rows[7]["attacker_belief"] == "1.0"  # only two rows can hold the missing age, both have the flu


def test_the_report_on_the_terminal_names_nobody(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(*command(folder), capsys=capsys)
    assert "hiv" not in out
    assert "cmd" not in out


def test_known_and_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = folder / "people.parquet"
    code, *_ = run(*command(folder, "--known", "sex, age", "--wrong", "0.2", "--people", people), capsys=capsys)
    assert code == 0
    noisy = pl.read_parquet(people)
    assert [c for c in noisy.columns if c.startswith("known:")] == ["known:sex", "known:age"]
    code, *_ = run(*command(folder, "--known", "sex", "--people", people), capsys=capsys)
    assert code == 0
    frame = pl.read_parquet(people)
    assert [c for c in frame.columns if c.startswith("known:")] == ["known:sex"]
    women = frame.filter(pl.col("known:sex") == "f")
    assert women["attacker:flu"].n_unique() == 1  # the same is known of them
    assert 0 < women["attacker:flu"][0] < 1
    assert (noisy["attacker:flu"] > 0).all()  # with errors nothing is excluded


def test_targets_of_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    targets = write_csv(folder / "t.csv", ("age", "sex"), [("25", "f"), ("[20,29]", ""), ("?", "m")])
    people = folder / "people.csv"
    code, out, _ = run(*command(folder, "--targets", targets, "--people", people, original=False), capsys=capsys)
    assert code == 0
    assert "3 people" in out
    assert "Guessed right" not in out  # nobody knows
    header, rows = read_csv(people)
    assert header == COLUMNS
    assert [(row["known:age"], row["known:sex"]) for row in rows] == [("25", "f"), ("[20,29]", "*"), ("?", "m")]
    assert {row["truth"] for row in rows} == {""}
    assert rows[2]["attacker:flu"] == "1.0"
    rest = ("--targets", targets, "--known", "sex", "--people", people)
    code, *_ = run(*command(folder, *rest, original=False), capsys=capsys)
    assert code == 0
    assert [c for c in read_csv(people)[0] if c.startswith("known:")] == ["known:sex"]


def test_the_learner_is_asked_about_someone_who_is_not_in_the_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(folder / "r.csv", HEAD, RELEASE[:6])
    targets = write_csv(folder / "t.csv", ("age", "sex"), [("20", "f"), ("49", "m")])
    code, out, err = run(*command(folder, "--targets", targets, original=False), capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith("unveil: target 2 does not fit any group of the release (1 of 2 targets do not)")
    code, *_ = run(*command(folder, "--targets", targets, "--attacker", "learner", original=False), capsys=capsys)
    assert code == 0


def test_of_several_sensitive_attributes_one_is_asked_about(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "schema.toml").write_text(SCHEMA + '[attributes.pay]\nrole = "sensitive"\n')
    for name, rows in (("data.csv", DATA), ("r.csv", RELEASE)):
        write_csv(folder / name, (*HEAD, "pay"), [(*row, "low" if i % 2 else "high") for i, row in enumerate(rows)])
    code, _, err = run(*command(folder), capsys=capsys)
    assert (code, err) == (2, "unveil: say which sensitive attribute to ask about: --asked disease or --asked pay\n")
    code, out, _ = run(*command(folder, "--asked", "pay"), capsys=capsys)
    assert code == 0
    assert "pay: what is believed of 8 people" in out
    code, out, _ = run(*command(folder, "--asked", "pay", "--known", "age,disease"), capsys=capsys)
    assert code == 0
    code, _, err = run(*command(folder, "--asked", "pay", "--known", "pay"), capsys=capsys)
    assert (code, err) == (2, "unveil: pay is asked about, so it cannot be known\n")
    code, _, err = run(*command(folder, "--asked", "sex"), capsys=capsys)
    assert (code, err) == (2, "unveil: unknown sensitive attribute 'sex'; choose from disease, pay\n")


def test_chains_that_disagree_are_exit_code_3(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = attack_module.run_attack

    def disagreeing(*args: Any, **rest: Any) -> Any:
        found = plain(*args, **rest)
        belief = replace(found.attackers["bayesian"], diagnostics=Diagnostics("sampled", converged=False))
        return replace(found, attackers={"bayesian": belief})

    monkeypatch.setattr(attack_module, "run_attack", disagreeing)
    people = folder / "people.csv"
    code, out, err = run(*command(folder, "--people", people), capsys=capsys)
    assert code == 3
    assert "bayesian" in out
    assert "the chains disagree" in err
    assert "! r.csv (disease): the chains of bayesian disagree." in out
    assert "raises that to" not in out  # nothing is pooled
    assert people.exists()  # what was reached is kept


def test_the_document_says_what_is_printed_and_is_drawn_by_the_same_page(
    folder: Path, released: tuple[Release, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = ("--json", folder / "a.json", "--report", folder / "a.html", "--limit", "global_threat <= 1")
    code, out, err = run(*command(folder, "--attacker", "bayesian:membership=0.5", *wanted), capsys=capsys)
    assert (code, err) == (0, f"wrote {folder / 'a.json'}\n")
    document = check_document(json.loads((folder / "a.json").read_text()))
    assert [reader["reader"] for reader in document["diagnostics"]["readers"]] == ["learner", "bayesian:membership=0.5"]
    (limited,) = (f for f in document["findings"] if f["limit"])
    assert (limited["id"], limited["verdict"]) == ("bayesian:membership=0.5.global_threat", "within")
    release, table = released
    found = attack_module.attack(release, table, ["bayesian:membership=0.5"])
    expected = risk.global_threat(found.attackers["bayesian:membership=0.5"], found.truth).value
    assert limited["value"] == pytest.approx(expected, abs=1e-12)
    page = (folder / "a.html").read_text()
    assert "disease: what is believed of 8 people" in page
    assert "What do readers believe of each person?" in page
    assert "Within the stated limits" in out


def test_a_limit_that_is_exceeded_and_one_that_nothing_measures(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*command(folder, "--limit", "global_threat <= 0.1"), capsys=capsys)[0] == 1
    code, _, err = run(*command(folder, "--limit", "faithfulness <= 0.1"), capsys=capsys)
    assert (code, err.count("\n")) == (2, 1)
    code, out, _ = run(*command(folder, "--json", "-"), capsys=capsys)
    assert (code, json.loads(out)["document"]) == (0, "attribute")


SETTINGS = dict.fromkeys(("original", "targets", "known", "prior", "knowledge", "coalition", "most_sweeps"))
SETTINGS |= {"attackers": ["bayesian"], "wrong": 0, "roster": False, "alpha": 1, "beta": 1, "seed": 0}
SETTINGS |= {"chains": 4, "sweeps": 50, "precision": 0.003}


def test_modes_of_chains_that_disagree_stand_side_by_side() -> None:
    """By hand: two chains sure of one value, two of the other; nothing is averaged."""
    chains = np.array([[[0.9, 0.1]] * 3] * 2 + [[[0.2, 0.8]] * 3] * 2)
    apart = Diagnostics("sampled", converged=False, modes=((0, 1), (2, 3)), facts={"log_fit_1": -3.0})
    learner = Belief(np.full((3, 2), 0.5))
    attacker = Belief(chains.mean(axis=0), chains, apart)
    schema = made_schema({"q": {"role": QI}, "s": {"role": SENSITIVE}})
    table = made_table(schema, ("a", "x"), ("a", "y"), ("b", "x"))
    release = made_release(table.attributes, [((0, 1), [(0, "*", "x"), (0, "*", "y"), (0, "*", "x")])])
    found = Attack(learner, {"bayesian": attacker}, targets_of_table(table, release, 1))
    made = describe_attack(found, release, np.zeros(3, int), name="r", settings=SETTINGS, started=0.0)
    assert made.exit_code == 3
    document = check_document(made.document.model_dump(mode="json"))
    modes = document["diagnostics"]["modes"]
    values = [{f["id"]: f["value"] for f in mode["findings"]}["bayesian.global_threat"] for mode in modes]
    assert values == [1.0, 0.0]
    assert document["diagnostics"]["sentence"] == {}
    heads = [cell.text for cell in attack_grid(made.document).head]
    assert heads == ["", "learner", "bayesian, mode 1 (chains 1 2, log fit -3)", "bayesian, mode 2 (chains 3 4)"]


@pytest.mark.parametrize("apart", [True, False])
def test_chains_that_stand_still_apart_disagree(apart: bool) -> None:
    """A chain stuck in its own mode has no spread of its own; that must not look like agreement."""
    chains = np.full((4, 10, 2), 0.5)
    chains[:2] = [0.9, 0.1] if apart else [0.5, 0.5]
    assert diagnostics("sampled", np.repeat(chains[None], 50, axis=0), chains).converged == (not apart)
    assert diagnostics("sampled on counts: age", chains[None], chains).converged == (not apart)


USER_ERRORS = {
    "unknown attacker": (("--attacker", "psychic"), "unknown attacker 'psychic'; choose from background, bayesian"),
    "unknown option": (("--attacker", "bayesian:faith=1"), "bayesian has no option 'faith'"),
    "no probability": (("--attacker", "bayesian:membership=1.5"), "membership=1.5 is not a probability"),
    "an array as text": (("--attacker", "fixed_prior:own=1"), "cannot be given as text"),
    "both": (("--targets", "{folder}/data.csv"), "say whom to ask about"),
    "asked is known": (("--known", "disease"), "disease is asked about, so it cannot be known"),
    "unknown known": (("--known", "name"), "no attribute 'name'"),
    "wrong": (("--wrong", "1"), "must be at least 0 and below 1, not 1"),
    "negative wrong": (("--wrong", "-0.1"), "must be at least 0 and below 1, not -0.1"),
    "alpha": (("--alpha", "0"), "pseudo-counts must be above 0"),
    "beta": (("--beta", "nan"), "pseudo-counts must be above 0"),
    "chains": (("--chains", "1"), "2 chains or more"),
    "sweeps": (("--sweeps", "10"), "50 sweeps or more"),
    "workers": (("--workers", "0"), "at least one thread"),
    "ending": (("--people", "{folder}/people.txt"), "a people file is a .csv, .parquet, .arrow or .xlsx"),
    "over the original": (("--people", "{folder}/data.csv"), "choose another file to write to"),
    "over the release": (("--people", "{folder}/r.csv"), "choose another file to write to"),
    "no folder": (("--people", "{folder}/none/p.csv"), "make it first"),
}


@pytest.mark.parametrize("error", USER_ERRORS)
def test_a_user_s_error_is_one_line_and_exit_code_2(
    folder: Path, capsys: pytest.CaptureFixture[str], error: str
) -> None:
    options, said = USER_ERRORS[error]
    before = {path: path.read_bytes() for path in folder.iterdir()}
    code, out, err = run(*command(folder, *(o.format(folder=folder) for o in options)), capsys=capsys)
    assert (code, out) == (2, "")
    assert said in err
    assert err.startswith("unveil: ")
    assert err.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age,sex\n19,f\n", "t.csv, line 2, age: '19' is not a value"),
        ("age,disease\n20,flu\n", "'disease' is asked about, so it cannot be known"),
        ("age,name\n20,Ann\n", "the release has no attribute 'name'"),
        ("age,sex\n", "t.csv"),
    ],
)
def test_a_targets_file_that_makes_no_sense_is_exit_code_2(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    (folder / "t.csv").write_text(text)
    code, out, err = run(*command(folder, "--targets", folder / "t.csv", original=False), capsys=capsys)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_whom_to_ask_about_must_be_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(*command(folder, original=False), capsys=capsys)
    assert code == 2
    assert err == "unveil: say whom to ask about: --original DATA (every row) or --targets FILE\n"


def test_the_same_seed_gives_the_same_people_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a release whose link is hidden, so that it is sampled; in spite of the number of threads."""
    (folder / "r.toml").write_text('group = "group"\nblocks = [["age", "sex"], ["disease"]]\n')
    write_csv(folder / "r.csv", (*HEAD, "group"), [(*row, str(i // 4)) for i, row in enumerate(DATA)])
    files = []
    for number, (seed, workers) in enumerate([("5", "1"), ("5", "3"), ("6", "3")]):
        path = folder / f"p{number}.csv"
        rest = ("--seed", seed, "--workers", workers, "--sweeps", "200", "--most-sweeps", "400", "--people", path)
        code, out, _ = run(*command(folder, *rest), capsys=capsys)
        assert code in (0, 3)
        assert "sampled" in out
        files.append(path.read_bytes())
    assert files[0] == files[1] != files[2]


def test_options_from_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "half.toml").write_text("membership = 0.5\n")
    code, out, _ = run(*command(folder, "--attacker", f"bayesian:@{folder / 'half.toml'}", "--verbose"), capsys=capsys)
    assert code == 0
    assert "with probability 0.5" in out
    assert "bayesian:@half.toml" in out  # by its name, without its folder


def test_the_original_s_delimiter_decimal_and_encoding_can_be_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An original with `|` between cells and names in cp1252; the release has a separator of its own."""
    (folder / "schema.toml").write_text(SCHEMA.replace('"hiv, late"', '"hiv, späte"'), encoding="utf-8")
    lines = ["|".join(row).replace("late", "späte") for row in (HEAD, *DATA)]
    (folder / "data.csv").write_bytes(("\n".join(lines) + "\n").encode("cp1252"))
    shown = ["~".join(row).replace("late", "späte") for row in (HEAD, *RELEASE)]
    (folder / "r.csv").write_text("\n".join(shown) + "\n", encoding="utf-16")
    original = ("--delimiter", "|", "--encoding", "cp1252", "--decimal", ".")
    release = ("--release-delimiter", "~", "--release-encoding", "utf-16")
    code, out, _ = run(*command(folder, *original, *release), capsys=capsys)
    assert code == 0
    assert "8 people" in out
    code, _, err = run(*command(folder, *original), capsys=capsys)
    assert code == 2
    assert "r.csv" in err
    checked = ("check", folder / "r.csv", "--schema", folder / "schema.toml", "--original", folder / "data.csv")
    code, out, _ = run(*checked, *original, *release, capsys=capsys)
    assert code == 0
    code, _, err = run(*checked, *release, "--delimiter", ";", capsys=capsys)
    assert code == 2
    assert "data.csv" in err


def test_a_people_file_holds_no_formula(tmp_path: Path) -> None:
    """A spreadsheet runs what starts with one of these; numbers stay as they are, and Parquet holds the values."""
    values = ("=cmd()", "+1+1", "-2", "@sum", "\tx", "-x", "flu", "a=b", "")
    frame = pl.DataFrame({"truth": values, "learner_belief": [-0.5] * len(values)})
    path = tmp_path / "people.csv"
    write_people(path, frame)
    _, rows = read_csv(path)
    assert [row["truth"] for row in rows] == ["'=cmd()", "'+1+1", "-2", "'@sum", "'\tx", "'-x", "flu", "a=b", ""]
    assert {row["learner_belief"] for row in rows} == {"-0.5"}
    write_people(tmp_path / "people.parquet", frame)
    assert pl.read_parquet(tmp_path / "people.parquet")["truth"].to_list() == list(values)


def test_an_assignment_brings_who_knows_the_group(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A man of 29 fits the first group and the last; whoever knows his group sees its values alone."""
    options = ("--assignment", folder / "g.csv", "--people", folder / "p.csv")
    for first, second, third in permutations((1, 2, 3)):  # however the release numbers its groups
        groups = [first] * 4 + [second] * 2 + [third] * 2
        write_csv(folder / "g.csv", ("row", "group"), [(i + 1, g) for i, g in enumerate(groups)])
        code, out, err = run(*command(folder, *options), capsys=capsys)
        if code == 0:
            break
    assert code == 0, err
    assert "bayesian_in_group" in "".join(out.split())
    _, rows = read_csv(folder / "p.csv")
    certain = [float(row["bayesian_in_group:flu"]) for row in rows[6:]]
    assert certain == pytest.approx([1, 1])
    flu = [float(rows[2][f"{reader}:flu"]) for reader in ("attacker", "bayesian_in_group")]
    assert flu[0] > flu[1] + 0.01
