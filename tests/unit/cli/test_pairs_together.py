"""Pairs of releases that are harmless alone and tell who has what together: none may come out within.

Some here, and whatever is said of them in `make thorough`.
"""

import csv
import json

import numpy as np
import pytest
from test_cli import run
from test_misread_earlier import QUICK, band

from thorough import THOROUGH

PEOPLE = 300
KNOWN = 'role = "quasi-identifier"\nkind = "numeric"\ndomain = { from = 0, to = 99 }\n'


class Study:
    """People of whom readers know age and zip, each release in bands of ten; what else they have, a pair decides."""

    def __init__(self, folder, values="abc"):
        self.folder, self.random, self.values = folder, np.random.default_rng(0), values
        self.age, self.zip = self.random.integers(0, 100, (2, PEOPLE))
        self.diagnosis = np.array(list(values))[self.random.integers(len(values), size=PEOPLE)]

    def order(self):
        return self.random.permutation(PEOPLE)

    def schema(self, name, **columns):
        """Roles by column: lines of a schema, or the values of a sensitive column."""
        text = "version = 1\nconfirmed = true\n"
        for column, lines in columns.items():
            lines = (
                lines if str(lines).startswith("role") else f'role = "sensitive"\ndomain = {json.dumps(list(lines))}\n'
            )
            text += f"[attributes.{column}]\n{lines}"
        (self.folder / name).write_text(text)
        return self.folder / name

    def put(self, name, columns, order=None):
        """A file of columns, in an order of its own."""
        order = self.order() if order is None else order
        with (self.folder / name).open("w", newline="") as file:
            csv.writer(file).writerow(columns)
            csv.writer(file).writerows([c[i] for c in columns.values()] for i in order)

    def bands(self, column, width=10):
        return [band(int(v), width) for v in column]

    def judged(self, capsys, *earlier, schema="schema.toml"):
        given = ("--schema", self.folder / schema, "--original", self.folder / "data.csv")
        before = [word for one in earlier for word in ("--earlier", f"{self.folder}/{one}")]
        code, out, error = run("audit", self.folder / "new.csv", *given, *QUICK, *before, "--json", "-", capsys=capsys)
        assert code in (0, 1, 3), error
        kinds = json.loads(out)["diagnostics"]["judgement"]["new.csv"]["kinds"]
        kind = next(k for k in kinds if k["kind"] == "composition")
        return kind["verdict"], kind["sentence"]


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path)


STARS = ["*"] * PEOPLE
INSENSITIVE = 'role = "insensitive"\n'
SAID = ("same", "subset", "superset", "overlapping") if THOROUGH else ("overlapping",)


def two(s, new=None, old=None, **roles):
    """The new release by bands of zip, the old one by bands of age, with further columns."""
    s.schema("schema.toml", age=KNOWN, zip=KNOWN, diagnosis=s.values, **roles)
    s.put("data.csv", {"age": s.age, "zip": s.zip, "diagnosis": s.diagnosis, **(new or {})}, range(PEOPLE))
    s.put("new.csv", {"age": STARS, "zip": s.bands(s.zip), "diagnosis": s.diagnosis, **(new or {})})
    s.put("old.csv", {"age": s.bands(s.age), "zip": STARS, "diagnosis": s.diagnosis, **(old or {})})


def test_bands_alone_are_within(study, capsys):
    """What the pairs below have in common is harmless."""
    two(study)
    assert study.judged(capsys, "old.csv")[0] == "within"


def test_a_third_release_is_needed(tmp_path, capsys):
    s = Study(tmp_path, "abcdefghijklmn")
    keys = {n: s.random.permutation(PEOPLE) for n in ("age", "zip", "tenure")}
    wide = KNOWN.replace("99", "299")
    s.schema("schema.toml", **dict.fromkeys(keys, wide), diagnosis=s.values)
    s.put("data.csv", {**keys, "diagnosis": s.diagnosis}, range(PEOPLE))
    for file, shown in zip(("old.csv", "older.csv", "new.csv"), keys, strict=True):
        cells = {n: s.bands(v, 6) if n == shown else STARS for n, v in keys.items()}
        s.put(file, {**cells, "diagnosis": s.diagnosis})
    assert s.judged(capsys, "old.csv", "older.csv")[0] == "exceeded"


@pytest.mark.parametrize("said", SAID)
def test_one_value_was_renamed(study, capsys, said):
    """The old file shows whoever has c, which it calls d, by age and zip."""
    s = study
    two(s)
    s.schema("old.toml", age=KNOWN, zip=KNOWN, diagnosis="abd")
    c = s.diagnosis == "c"
    s.put(
        "old.csv",
        {
            "age": np.where(c, s.age.astype(str), "*"),
            "zip": np.where(c, s.zip.astype(str), "*"),
            "diagnosis": np.where(c, "d", s.diagnosis),
        },
    )
    for changed in ("", ",changed=0.2", ",changed=0.9") if THOROUGH else ("",):
        verdict, why = s.judged(capsys, f"old.csv:schema={s.folder}/old.toml,people={said}{changed}")
        assert verdict != "within", (changed, why)


@pytest.mark.parametrize("said", SAID)
def test_codes_of_regions_were_numbered_otherwise(study, capsys, said):
    """Five regions of sixty people, whose codes the old file numbers in another way; in one of them all have a."""
    s = study
    region = np.repeat(np.arange(5), 60)
    s.diagnosis[region == 3] = "a"
    codes = 'role = "quasi-identifier"\ndomain = ["0", "1", "2", "3", "4"]\n'
    two(s, {"region": region}, {"region": (region + 2) % 5}, region=codes)
    s.put("new.csv", {"age": STARS, "zip": s.bands(s.zip), "region": STARS, "diagnosis": s.diagnosis})
    verdict, why = s.judged(capsys, f"old.csv:people={said}")
    assert verdict != "within", why


@pytest.mark.parametrize("said", SAID)
def test_known_numbers_were_rounded(study, capsys, said):
    """34 is 30 in the old file, which nobody says; with zip as it is, most are told."""
    s = study
    two(s)
    s.put("old.csv", {"age": s.age // 10 * 10, "zip": s.zip, "diagnosis": s.diagnosis})
    verdict, why = s.judged(capsys, f"old.csv:people={said}")
    assert verdict != "within", why


@pytest.mark.parametrize("digits", [0, 1] if THOROUGH else [0])
def test_a_measurement_in_both_once_rounded(study, capsys, digits):
    """Weight and height of everybody, in the old file with fewer digits: rows can be put together."""
    s = study
    body = {"weight": s.random.normal(70, 15, PEOPLE).round(2), "height": s.random.normal(170, 10, PEOPLE).round(2)}
    number = 'role = "insensitive"\nkind = "numeric"\n'
    two(s, body, {n: v.round(digits) for n, v in body.items()}, weight=number, height=number)
    s.schema("old.toml", age=KNOWN, zip=KNOWN, diagnosis=s.values, weight=INSENSITIVE, height=INSENSITIVE)
    verdict, why = s.judged(capsys, f"old.csv:schema={s.folder}/old.toml")
    assert verdict != "within", why


@pytest.mark.parametrize("said", ["same", "superset"] if THOROUGH else ["superset"])
def test_a_study_of_some_of_them_later(tmp_path, capsys, said):
    """The old file has everybody in small groups; the new one sixty of them in others, with their employer."""
    s = Study(tmp_path, "abcdefghijklmn")
    s.age, s.zip = s.random.permutation(PEOPLE), s.random.permutation(PEOPLE)
    wide = KNOWN.replace("99", "299")
    employer = s.random.integers(0, 3, PEOPLE)
    roles = {"age": wide, "zip": wide, "diagnosis": s.values}
    s.schema("old.toml", **roles)
    s.schema("schema.toml", **roles, employer='role = "quasi-identifier"\n')
    s.put("old.csv", {"age": s.bands(s.age, 5), "zip": STARS, "diagnosis": s.diagnosis})
    some = np.flatnonzero(s.random.random(PEOPLE) < 0.2)
    rank = np.argsort(np.argsort(s.zip[some]))
    cut = np.sort(s.zip[some])
    low = cut[rank // 5 * 5]
    high = cut[np.minimum(rank // 5 * 5 + 4, len(some) - 1)]
    zips = dict(zip(some.tolist(), [f"[{a}-{b}]" for a, b in zip(low, high, strict=True)], strict=True))
    whole = {"age": s.age, "zip": s.zip, "employer": employer, "diagnosis": s.diagnosis}
    s.put("data.csv", whole, some)
    s.put("new.csv", {**whole, "age": STARS, "zip": zips}, s.random.permutation(some))
    verdict, why = s.judged(capsys, f"old.csv:schema={s.folder}/old.toml,people={said}")
    assert verdict != "within", why


def counted(s, by):
    """Age bands of `by` years, each with how many have each diagnosis."""
    found = {}
    for age, value in zip(s.age.tolist(), s.diagnosis.tolist(), strict=True):
        found.setdefault(band(age, by), dict.fromkeys(s.values, 0))[value] += 1
    return found


@pytest.mark.parametrize("form", ["long", "wide"])
def test_counts_by_narrow_bands(study, capsys, form):
    """A table of counts by single years of age, for three people each; the new file shows bands of both."""
    s = study
    two(s)
    with (s.folder / "old.csv").open("w", newline="") as file:
        write = csv.writer(file)
        if form == "long":
            write.writerow(["age", "diagnosis", "people"])
            write.writerows([a, v, n] for a, of in counted(s, 1).items() for v, n in of.items() if n)
            roles = {"age": KNOWN, "diagnosis": s.values, "people": INSENSITIVE}
        else:
            write.writerow(["age", *s.values])
            write.writerows([a, *of.values()] for a, of in counted(s, 1).items())
            roles = {"age": KNOWN, **dict.fromkeys(s.values, 'role = "sensitive"\n')}
    s.schema("old.toml", **roles)
    for said in SAID:
        verdict, why = s.judged(capsys, f"old.csv:schema={s.folder}/old.toml,people={said}")
        assert verdict != "within", (said, why)


@pytest.mark.parametrize("names", [("id", "id"), ("id", "number")] if THOROUGH else [("id", "number")])
@pytest.mark.parametrize("old", [lambda i: 9999 - i, lambda i: 1000 + 7 * i, lambda i: i][: 3 if THOROUGH else 1])
def test_record_numbers_in_both(study, capsys, names, old):
    """Rows in an order of their own, and a number beside each that grows with the other file's."""
    s = study
    number = s.random.permutation(9000)[:PEOPLE]
    two(s, {names[0]: number}, {names[1]: old(number)}, **{names[0]: INSENSITIVE})
    s.schema("old.toml", age=KNOWN, zip=KNOWN, diagnosis=s.values, **{names[1]: INSENSITIVE})
    verdict, why = s.judged(capsys, f"old.csv:schema={s.folder}/old.toml")
    assert verdict != "within", why


def test_the_secret_under_another_name_in_other_words(study, capsys):
    s = study
    two(s)
    icd = dict(zip("abc", ("J10", "K20", "L30"), strict=True))
    s.schema("old.toml", age=KNOWN, zip=KNOWN, icd=list(icd.values()))
    s.put("old.csv", {"age": s.age, "zip": s.zip, "icd": [icd[v] for v in s.diagnosis]})
    verdict, why = s.judged(capsys, f"old.csv:schema={s.folder}/old.toml")
    assert verdict != "within", why


@pytest.mark.parametrize("shown", ["all", "any"])
def test_households_and_persons(study, capsys, shown):
    """A row a household of three of one zip: the ages of all, and what they have, or whether somebody has a."""
    s = study
    s.zip = np.repeat(s.random.integers(0, 100, 100), 3)
    two(s)
    homes = np.arange(PEOPLE).reshape(100, 3)
    ill = [" ".join(sorted(s.diagnosis[h])) if shown == "all" else str("a" in s.diagnosis[h]) for h in homes]
    s.schema("old.toml", zip=KNOWN, eldest=KNOWN, ill='role = "sensitive"\n')
    rows = {"zip": s.zip[homes[:, 0]], "eldest": s.age[homes].max(axis=1), "ill": ill}
    s.put("old.csv", rows, s.random.permutation(100))
    for said in SAID:
        verdict, why = s.judged(capsys, f"old.csv:schema={s.folder}/old.toml,people={said}")
        assert verdict != "within", (said, why)


@pytest.mark.parametrize("drugs", [20, 60, 200] if THOROUGH else [60])
def test_what_they_take_in_one_file_and_what_they_have_in_the_other(study, capsys, drugs):
    """The old file tells everybody's drug and no diagnosis; the new one drug and diagnosis by bands of zip."""
    s = study
    drug = s.random.integers(0, drugs, PEOPLE)
    s.diagnosis = np.array(list(s.values))[drug % 3]
    two(s, {"drug": drug}, {"drug": drug}, drug=INSENSITIVE)
    s.put("old.csv", {"age": s.age, "zip": s.zip, "drug": drug})
    verdict, why = s.judged(capsys, "old.csv")
    assert verdict != "within", why


@pytest.mark.parametrize("drugs", [60, 200] if THOROUGH else [60])
def test_a_coarse_column_in_both(study, capsys, drugs):
    """Drug and diagnosis in both files, by zip in one and by age in the other."""
    s = study
    drug = s.random.integers(0, drugs, PEOPLE)
    two(s, {"drug": drug}, {"drug": drug}, drug=INSENSITIVE)
    verdict, why = s.judged(capsys, "old.csv")
    assert verdict != "within", why


def test_pounds_and_kilograms(study, capsys):
    s = study
    kilograms = s.random.normal(70, 15, PEOPLE).round(1)
    number = 'role = "insensitive"\nkind = "numeric"\n'
    two(s, {"kg": kilograms}, {"lb": (kilograms / 0.4536).round(1)}, kg=number)
    s.schema("old.toml", age=KNOWN, zip=KNOWN, diagnosis=s.values, lb=number)
    verdict, why = s.judged(capsys, f"old.csv:schema={s.folder}/old.toml")
    assert verdict != "within", why


def secret_then(s, width):
    """Zip as the old file's own schema has it: sensitive, in bands of `width`."""
    two(s)
    s.schema("old.toml", age=KNOWN, zip=KNOWN.replace("quasi-identifier", "sensitive"), diagnosis=s.values)
    s.put("old.csv", {"age": s.bands(s.age, 50), "zip": s.bands(s.zip, width), "diagnosis": s.diagnosis})
    return f"old.csv:schema={s.folder}/old.toml"


def test_what_was_secret_then_is_known_now(study, capsys):
    """Two zips to a band beside the diagnosis, and readers know zip."""
    verdict, why = study.judged(capsys, secret_then(study, 2))
    assert verdict != "within", why


def test_halves_of_what_was_secret_then_are_within(study, capsys):
    assert study.judged(capsys, secret_then(study, 50))[0] == "within"


def drug_in_the_original(s, drug):
    """Drugs of all by age and zip in the old file; the original has them, too, and the new file has not."""
    two(s, drug=INSENSITIVE)
    s.put("data.csv", {"age": s.age, "zip": s.zip, "diagnosis": s.diagnosis, "drug": drug}, range(PEOPLE))
    s.put("old.csv", {"age": s.age, "zip": s.zip, "drug": drug})


def test_the_original_holds_what_the_old_file_tells(study, capsys):
    """Each drug is for one diagnosis."""
    numbers = study.random.integers(1, 4, PEOPLE)
    drug_in_the_original(study, [f"{v}{n}" for v, n in zip(study.diagnosis, numbers, strict=True)])
    verdict, why = study.judged(capsys, "old.csv")
    assert verdict != "within", why


def test_a_drug_for_anything_is_within(study, capsys):
    drug_in_the_original(study, study.random.integers(0, 12, PEOPLE))
    assert study.judged(capsys, "old.csv")[0] == "within"


def test_fewer_values_changed_than_is_said(study, capsys):
    """Nobody's did."""
    two(study)
    study.put("old.csv", {"age": study.age, "zip": study.zip, "diagnosis": study.diagnosis})
    verdict, why = study.judged(capsys, "old.csv:changed=0.9")
    assert verdict != "within", why


def test_values_changed_by_a_rule(tmp_path, capsys):
    """Everybody is one stage further."""
    s = Study(tmp_path, "abcdef")
    two(s)
    before = dict(zip("abcdef", "fabcde", strict=True))
    s.put("old.csv", {"age": s.age, "zip": s.zip, "diagnosis": [before[v] for v in s.diagnosis]})
    verdict, why = s.judged(capsys, "old.csv:changed=0.8")
    assert verdict != "within", why


def test_half_of_the_values_changed_as_is_said(study, capsys):
    s = study
    two(s)
    now = s.random.permutation(s.diagnosis)
    then = np.where(s.random.random(PEOPLE) < 0.5, s.diagnosis, now)
    s.put("old.csv", {"age": s.bands(s.age), "zip": STARS, "diagnosis": then})
    assert s.judged(capsys, "old.csv:changed=0.5")[0] == "within"


def moved_bands(s):
    """Bands of ten years in both, in the new file moved by five: together they tell bands of five."""
    two(s)
    s.put("old.csv", {"age": s.bands(s.age), "zip": STARS, "diagnosis": s.diagnosis})
    low = np.maximum((s.age + 5) // 10 * 10 - 5, 0)
    high = np.minimum((s.age + 5) // 10 * 10 + 4, 99)
    new = [f"[{a}-{b}]" for a, b in zip(low, high, strict=True)]
    s.put("new.csv", {"age": new, "zip": STARS, "diagnosis": s.diagnosis})


@pytest.mark.parametrize("band_of_one_value", [45, 90])
def test_bands_moved_by_half_of_their_width(study, capsys, band_of_one_value):
    study.diagnosis[study.age // 5 * 5 == band_of_one_value] = "a"
    moved_bands(study)
    verdict, why = study.judged(capsys, "old.csv")
    assert verdict == "exceeded", why


def test_moved_bands_of_many_values_are_within(study, capsys):
    moved_bands(study)
    assert study.judged(capsys, "old.csv")[0] == "within"


def listed(s, who):
    """Who is in the old file, by age and zip, and nothing else of them."""
    two(s)
    s.put("old.csv", {"age": s.age, "zip": s.zip}, s.random.permutation(np.flatnonzero(who)))
    return "old.csv:people=subset"


def test_whoever_is_in_the_file_at_all_has_it(study, capsys):
    """Participants of a study of one disease."""
    verdict, why = study.judged(capsys, listed(study, study.diagnosis == "a"))
    assert verdict != "within", why


def test_a_list_of_anybody_is_within(study, capsys):
    assert study.judged(capsys, listed(study, study.random.random(PEOPLE) < 0.4))[0] == "within"


@pytest.mark.parametrize("said", SAID)
def test_two_visits_of_everybody(study, capsys, said):
    s = study
    two(s)
    s.put("old.csv", {"age": s.age, "zip": s.bands(s.zip), "diagnosis": s.diagnosis}, np.tile(s.order(), 2))
    verdict, why = s.judged(capsys, f"old.csv:people={said}")
    assert verdict != "within", why


def test_a_day_in_one_file_and_its_month_in_the_other(study, capsys):
    """With a ward in both, day and diagnosis put most rows together."""
    s = study
    month, day = s.random.integers(1, 13, PEOPLE), s.random.integers(1, 29, PEOPLE)
    dates = [f"2024-{m:02}-{d:02}" for m, d in zip(month, day, strict=True)]
    ward = s.random.integers(0, 10, PEOPLE)
    two(
        s,
        {"admitted": dates, "ward": ward},
        {"admitted": [d[:7] for d in dates], "ward": ward},
        admitted=INSENSITIVE,
        ward=INSENSITIVE,
    )
    verdict, why = s.judged(capsys, "old.csv")
    assert verdict != "within", why


def test_pay_a_month_and_pay_a_year(study, capsys):
    """The old file's schema calls it insensitive."""
    s = study
    pay = s.random.integers(10, 40, PEOPLE) * 100
    s.diagnosis = pay
    s.schema("schema.toml", age=KNOWN, zip=KNOWN, pay='role = "sensitive"\nkind = "numeric"\n')
    s.put("data.csv", {"age": s.age, "zip": s.zip, "pay": pay}, range(PEOPLE))
    s.put("new.csv", {"age": STARS, "zip": s.bands(s.zip), "pay": pay})
    s.schema("old.toml", age=KNOWN, zip=KNOWN, yearly='role = "insensitive"\nkind = "numeric"\n')
    s.put("old.csv", {"age": s.age, "zip": s.zip, "yearly": 12 * pay + s.random.integers(0, 600, PEOPLE)})
    verdict, why = s.judged(capsys, f"old.csv:schema={s.folder}/old.toml")
    assert verdict != "within", why


def test_buckets_again_after_a_tenth_came_and_went(tmp_path, capsys):
    """Each has three values to a bucket, and strangers of the other."""
    s = Study(tmp_path, "abcdefgh")
    two(s)
    people = {"age": s.age, "zip": s.zip, "diagnosis": s.diagnosis}
    for name, who in (("then", range(270)), ("data", range(30, PEOPLE))):
        s.put(f"{name}.csv", people, who)
        out = s.folder / ("old.csv" if name == "then" else "new.csv")
        given = ("--schema", s.folder / "schema.toml", "--with", "anatomy:l=3", "--seed", len(name), "-o", out)
        code, _, error = run("anonymize", s.folder / f"{name}.csv", *given, capsys=capsys)
        assert code == 0, error
    verdict, why = s.judged(capsys, "old.csv:people=overlapping,shared=240")
    assert verdict != "within", why
