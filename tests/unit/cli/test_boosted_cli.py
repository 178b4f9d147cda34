"""`boosted` through the command line: every kind of release, and every way to know less or more of people."""

import csv
import json

import numpy as np
import pytest
from test_cli import run

BOOSTED = "boosted:rounds=20,folds=3,repeats=0"
SHORT = ("--chains", "2", "--sweeps", "50", "--most-sweeps", "50", "--seed", "1")
DOMAINS = {"sex": "fm", "zip": "abc", "diagnosis": "uvwxyz"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """240 people whose age and sex together tell the diagnosis four times of five, and 60 others."""
    path = tmp_path_factory.mktemp("boosted")
    random = np.random.default_rng(3)
    for name, people in (("data", 240), ("control", 60)):
        age, sex, place = (random.integers(n, size=people) for n in (30, 2, 3))
        told = np.where(random.random(people) < 0.8, age // 10 + 3 * sex, random.integers(6, size=people))
        rows = zip(
            20 + age,
            *(np.array(list(DOMAINS[n]))[c] for n, c in zip(DOMAINS, (sex, place, told), strict=True)),
            strict=True,
        )
        with (path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("age", *DOMAINS), *rows])
    roles = {"sex": "quasi-identifier", "zip": "quasi-identifier", "diagnosis": "sensitive"}
    (path / "schema.toml").write_text(
        "version = 1\nconfirmed = true\n"
        '[attributes.age]\nrole = "quasi-identifier"\nkind = "numeric"\ndomain = { from = 20, to = 49 }\n'
        + "".join(f'[attributes.{n}]\nrole = "{roles[n]}"\ndomain = {list(d)}\n' for n, d in DOMAINS.items())
    )
    return path


@pytest.fixture
def call(folder, capsys):
    def ran(*args):
        code, out, error = run(*args, "--schema", folder / "schema.toml", capsys=capsys)
        assert code in (0, 1, 3), error  # 3: chains as short as these are not precise
        return out

    return ran


@pytest.fixture
def release(folder, call):
    def made(scheme, *rest):
        path = folder / "release.csv"
        call("anonymize", folder / "data.csv", "--with", scheme, "-o", path, "--seed", "1", *rest)
        return path

    return made


@pytest.fixture
def asked(folder, call):
    def believed(release, *rest, attacker=BOOSTED, targets=None):
        """(people, values) what boosted believes, by --people."""
        people = folder / "people.csv"
        given = ("--original", folder / "data.csv") if targets is None else ("--targets", targets)
        call("attack", "attribute", release, *given, "--attacker", attacker, "--people", people, *SHORT, *rest)
        rows = list(csv.DictReader(people.read_text().splitlines()))
        found = np.array([[float(row[f"attacker:{v}"]) for v in DOMAINS["diagnosis"]] for row in rows])
        assert found.sum(axis=1) == pytest.approx(1, abs=1e-5)
        return found

    return believed


@pytest.fixture
def loss(folder):
    rows = list(csv.DictReader((folder / "data.csv").read_text().splitlines()))
    truth = np.array([DOMAINS["diagnosis"].index(row["diagnosis"]) for row in rows])
    return lambda p: float(-np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-6)).mean())


@pytest.mark.parametrize("scheme", ["anatomy:l=3", "slicing:c=3,l=2", "slicing:c=4,l=2", "mondrian:k=8"])
def test_every_kind_of_release(release, asked, loss, scheme):
    assert loss(asked(release(scheme))) < 1.6  # log 6 = 1.79 tells nothing


def test_withheld_values(folder, release, asked, loss):
    path = release("mondrian:k=8")
    header, *rows = list(csv.reader(path.read_text().splitlines()))
    for row in rows[::10]:
        row[header.index("diagnosis")] = "*"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    assert loss(asked(path)) < 1.6


def test_partial_wrong_and_uncertain_knowledge(release, asked, loss):
    """Whoever knows less believes less, and whoever doubts what they know as well."""
    path = release("anatomy:l=3")
    whole = loss(asked(path))
    assert whole < loss(asked(path, "--known", "age")) < 1.75
    assert whole < loss(asked(path, "--wrong", "0.2")) < 1.75
    assert whole < loss(asked(path, attacker=f"{BOOSTED},membership=0.3")) < 1.75


def test_everybody_known_by_a_roster(release, asked, loss):
    path = release("mondrian:k=8")
    assert loss(asked(path, "--roster")) <= loss(asked(path)) + 0.02


def test_coarser_knowledge_of_people_who_are_named(folder, release, asked):
    """Somebody in their twenties, a woman of whom nothing else is known, and one of whom all is."""
    (folder / "neighbours.csv").write_text("age,sex,zip\n[20-29],,\n,f,\n25,f,a\n")
    found = asked(release("anatomy:l=3"), targets=folder / "neighbours.csv")
    assert (found.max(axis=1) > 0.2).all()
    assert found[2, 0] == found[2].max() > found[0, 0]  # u: twenties and f


def test_combinations_and_controls_in_an_audit(folder, release, call):
    data = ("--original", folder / "data.csv", "--control", folder / "control.csv")
    known = ("--known", "age", "--known", "age,sex")
    rest = ("--background", "no", "--no-panel", "--attacker", BOOSTED, "--json", "-")
    found = json.loads(call("audit", release("anatomy:l=3"), *data, *known, *rest, *SHORT))
    mine = {f["id"]: f for f in found["findings"] if f["reader"] == BOOSTED}
    assert mine[f"{BOOSTED}.member_advantage"]["value"] is not None
    rows = [row for row in found["diagnostics"]["combinations"] if row["attacker"] == BOOSTED]
    assert [row["known"] for row in rows] == [["age"], ["age", "sex"]]
    assert all(row["not_applicable"] is None and row["right"][0] > 0.4 for row in rows)
    curve = found["charts"]["release.csv"]["diagnosis"]["calibration"][BOOSTED]
    assert sum(curve["people"]) == 240
    assert mine[f"{BOOSTED}.confident_wrong.80"]["value"] < mine[f"{BOOSTED}.confident_right.80"]["value"]
