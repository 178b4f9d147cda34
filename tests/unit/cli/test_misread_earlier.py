"""Earlier releases that are not what was said of them, or tell more than their groups: as a steward's files may."""

import csv
import json

import numpy as np
import pytest
from test_cli import run

PEOPLE, VALUES = 300, "abc"
QUICK = ("--background", "no", "--attacker", "random_worlds", "--no-panel", "--waive", "background='not now'")
HEADER = ("age", "zip", "diagnosis")


def band(value, width):
    return f"[{value // width * width}-{value // width * width + width - 1}]"


def schema(*, age='kind = "numeric"\ndomain = { from = 0, to = 99 }', values=VALUES, more=""):
    number = 'role = "quasi-identifier"\n'
    return (
        f"version = 1\nconfirmed = true\n[attributes.age]\n{number}{age}\n"
        f'[attributes.zip]\n{number}kind = "numeric"\ndomain = {{ from = 0, to = 99 }}\n'
        f'[attributes.diagnosis]\nrole = "sensitive"\ndomain = {json.dumps(list(values))}\n{more}'
    )


def put(path, rows, header=HEADER):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


class Hospital:
    """People at random, and a new release by bands of zip: alone, and beside one by bands of age, it tells nobody."""

    def __init__(self, folder):
        self.folder, self.random = folder, np.random.default_rng(0)
        self.age, self.zip = self.random.integers(1, 100, (2, PEOPLE))
        self.diagnosis = np.array(list(VALUES))[self.random.integers(len(VALUES), size=PEOPLE)]
        put(folder / "data.csv", zip(self.age, self.zip, self.diagnosis, strict=True))
        (folder / "schema.toml").write_text(schema())
        self.new = self.random.permutation(PEOPLE)
        put(folder / "new.csv", [("*", band(self.zip[i], 20), self.diagnosis[i]) for i in self.new])

    def old(self, row, order=None):
        put(self.folder / "old.csv", [row(i) for i in (self.random.permutation(PEOPLE) if order is None else order)])

    def judged(self, capsys, text="old.csv"):
        """The verdict on composition, its sentence, and the exit code."""
        given = ("--schema", self.folder / "schema.toml", "--original", self.folder / "data.csv")
        code, out, _ = run(
            "audit",
            self.folder / "new.csv",
            *given,
            *QUICK,
            "--earlier",
            self.folder / text,
            "--json",
            "-",
            capsys=capsys,
        )
        kinds = json.loads(out)["diagnostics"]["judgement"]["new.csv"]["kinds"]
        kind = next(k for k in kinds if k["kind"] == "composition")
        return kind["verdict"], kind["sentence"], code


@pytest.fixture
def hospital(tmp_path):
    return Hospital(tmp_path)


def test_two_harmless_releases_are_within(hospital, capsys):
    h = hospital
    h.old(lambda i: (band(h.age[i], 20), "*", h.diagnosis[i]))
    assert h.judged(capsys)[0] == "within"


def test_rows_in_the_same_order_are_one_file(hospital, capsys):
    """Neither shows more than bands of 20; line by line the two show who is who."""
    h = hospital
    h.old(lambda i: (band(h.age[i], 20), "*", h.diagnosis[i]), h.new)
    verdict, sentence, code = h.judged(capsys)
    assert (verdict, code) == ("exceeded", 1)
    assert "same order" in sentence
    assert "old.csv" in sentence


def test_other_words_for_values_are_never_within(hospital, capsys):
    """Whatever is said of the people: a value that no reader of ours understands is not a value that tells nothing."""
    h = hospital
    (h.folder / "old.toml").write_text(schema(values=VALUES.upper()))
    h.old(lambda i: (band(h.age[i], 20), "*", h.diagnosis[i].upper()))
    for said in ("", ",people=subset", ",people=superset", ",people=overlapping", ",changed=0.1"):
        verdict, sentence, _ = h.judged(capsys, f"old.csv:schema={h.folder / 'old.toml'}{said}")
        assert verdict == "not judged", said
        assert "100% of its rows show values of diagnosis that this release does not have" in sentence


def test_other_words_for_what_is_known_are_never_within(hospital, capsys):
    h = hospital
    words = [f"{age}s" for age in range(0, 100, 10)]
    (h.folder / "old.toml").write_text(schema(age=f"domain = {json.dumps(words)}"))
    h.old(lambda i: (words[h.age[i] // 10], "*", h.diagnosis[i]))
    for said in ("", ",people=subset", ",people=superset", ",people=overlapping"):
        verdict, sentence, _ = h.judged(capsys, f"old.csv:schema={h.folder / 'old.toml'}{said}")
        assert verdict == "not judged", said
        assert "fit no row of it" in sentence


def test_a_year_later_everybody_is_a_year_older(hospital, capsys):
    """Linked by today's age people stand in the wrong groups; said what it was then, in their own."""
    h = hospital
    h.old(lambda i: (band(h.age[i] - 1, 20), "*", h.diagnosis[i]))
    verdict, sentence, code = h.judged(capsys)
    assert verdict in ("not judged", "inconclusive")
    assert code == 3
    assert "changed since" in sentence
    assert h.judged(capsys, "old.csv:then=age-1")[0] == "within"
    (h.folder / "schema.toml").write_text(schema())
    h.old(lambda i: (str(h.age[i] - 1), str(h.zip[i]), h.diagnosis[i]))
    assert h.judged(capsys, "old.csv:then=age-1")[0] == "exceeded"


def test_what_a_number_was_then_is_said_in_one_way(hospital, capsys):
    h = hospital
    h.old(lambda i: (band(h.age[i], 20), "*", h.diagnosis[i]))
    given = ("--schema", h.folder / "schema.toml", "--original", h.folder / "data.csv")
    for text in ("age", "age~1", "age-1+", "-1", "age-1 zip"):
        code, _, error = run(
            "audit", h.folder / "new.csv", *given, "--earlier", f"{h.folder / 'old.csv'}:then={text}", capsys=capsys
        )
        assert code == 2, text
        assert error.splitlines()[-1].endswith("write age-1+tenure-1"), text
    verdict, sentence, _ = h.judged(capsys, "old.csv:then=diagnosis-1")
    assert verdict == "not judged"
    assert "diagnosis is not known of people in it" in sentence


def test_what_is_said_of_people_and_is_not_so_is_never_within(hospital, capsys):
    """Somebody else's table of the same size and columns."""
    h = hospital
    age, zips = h.random.integers(1, 100, (2, PEOPLE))
    value = np.array(list(VALUES))[h.random.integers(len(VALUES), size=PEOPLE)]
    h.old(lambda i: (band(age[i], 20), band(zips[i], 50), value[i]))
    for said in ("people=same", "people=superset"):
        verdict, sentence, _ = h.judged(capsys, f"old.csv:{said}")
        assert verdict in ("not judged", "inconclusive"), said
        assert "old.csv" in sentence


def test_rows_put_together_by_what_else_they_show(hospital):
    """Two secrets, of which each has few values, are a key of rows together; cuts that agree tell nothing."""
    from unveil.data.schema import read_schema
    from unveil.risk.published_file import beside_earlier, read_published_file

    h = hospital
    more = "".join(
        f'[attributes.{n}]\nrole = "sensitive"\ndomain = {{ from = 0, to = 29 }}\nkind = "numeric"\n' for n in "xy"
    )
    (h.folder / "both.toml").write_text(schema(more=more))
    both = read_schema(h.folder / "both.toml").confirmed()
    pair = h.random.permutation(900)[:PEOPLE]
    files = {}
    for name, (by_age, by_zip) in {"age": (10, 100), "zip": (100, 10), "again": (10, 100)}.items():
        rows = [
            (band(h.age[i], by_age), band(h.zip[i], by_zip), pair[i] // 30, pair[i] % 30)
            for i in h.random.permutation(PEOPLE)
        ]
        put(h.folder / f"{name}.csv", rows, ("age", "zip", "x", "y"))
        files[name] = read_published_file(h.folder / f"{name}.csv", both)
    (leak,) = beside_earlier(files["zip"], files["age"], "age.csv")
    crossing = [(age // 10, zip // 10) for age, zip in zip(h.age, h.zip, strict=True)]
    assert leak.people == sum(crossing.count(cell) == 1 for cell in crossing)
    assert (leak.kind, leak.severity) == ("composition", "exceeded")
    assert beside_earlier(files["again"], files["age"], "age.csv") == []


def test_groups_of_the_same_name_are_the_same_people(hospital, capsys):
    """One file shows the age of each group and the other its zip; named in another order they tell nothing."""
    h = hospital
    cell = [(age // 25, zips // 25) for age, zips in zip(h.age, h.zip, strict=True)]
    names = {one: str(n) for n, one in enumerate(sorted(set(cell)))}
    h.diagnosis[[i for i in range(PEOPLE) if cell[i] == (1, 1)]] = "a"  # one value in one of the groups
    put(h.folder / "data.csv", zip(h.age, h.zip, h.diagnosis, strict=True))
    header = ("group", *HEADER)
    rows = [(names[cell[i]], "*", band(h.zip[i], 25), h.diagnosis[i]) for i in h.new]
    put(h.folder / "new.csv", rows, header)
    for name in ("new", "old"):
        (h.folder / f"{name}.toml").write_text('group = "group"\n')
    from unveil.data.schema import read_schema
    from unveil.risk.published_file import beside_earlier, read_published_file

    for alike in (True, False):
        number = names if alike else dict(zip(names, h.random.permutation(list(names.values())), strict=True))
        rows = [(number[cell[i]], band(h.age[i], 25), "*", h.diagnosis[i]) for i in h.random.permutation(PEOPLE)]
        put(h.folder / "old.csv", rows, header)
        known = read_schema(h.folder / "schema.toml").confirmed()
        files = [read_published_file(h.folder / f"{name}.csv", known) for name in ("new", "old")]
        found = beside_earlier(*files, "old.csv")
        assert [leak.people for leak in found] == ([cell.count((1, 1))] if alike else [])


def test_one_patient_more_than_last_year(hospital, capsys):
    """The same cuts, and one row that was not there: whoever knows who came knows what they have."""
    h = hospital
    put(h.folder / "old.csv", [("*", band(h.zip[i], 20), h.diagnosis[i]) for i in h.random.permutation(PEOPLE) if i])
    for said in ("people=subset", "people=same"):
        verdict, sentence, code = h.judged(capsys, f"old.csv:{said}")
        assert (verdict, code) == ("exceeded", 1)
        assert "but for 1 row, with one value of diagnosis" in sentence
