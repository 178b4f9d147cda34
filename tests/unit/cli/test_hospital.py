"""The made-up hospital: reproducible, correlated where it says so, and its files fit its table."""

import csv
import io
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from unveil.cli.hospital import _CLASSES, _DIAGNOSES, Hospital, made_up_hospital
from unveil.errors import UsageError

QUASI_IDENTIFIERS = ("age", "sex", "nationality", "postcode", "admission")
# As coarse as a person would look at them: fine values would look informative by chance alone.
COARSE: dict[str, Callable[[str], str]] = {
    "age": lambda value: str(int(value) // 10),
    "sex": str,
    "nationality": str,
    "postcode": lambda value: value[:4],
    "admission": str,
}


@pytest.fixture(scope="module")
def hospital() -> Hospital:
    return made_up_hospital()


@pytest.fixture(scope="module")
def large() -> Hospital:
    return made_up_hospital(patients=30_000, seed=7)


@pytest.fixture(scope="module")
def rows(large: Hospital) -> list[dict[str, str]]:
    return [dict(zip(large.columns, cells, strict=True)) for cells in zip(*large.columns.values(), strict=True)]


def ladder(hospital: Hospital, attribute: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(hospital.hierarchies[f"{attribute}.csv"]), delimiter=";"))


def share(rows: Sequence[dict[str, str]], **wanted: str) -> float:
    return sum(all(row[name] == value for name, value in wanted.items()) for row in rows) / len(rows)


def mutual_information(left: Sequence[str], right: Sequence[str]) -> float:
    """In nats."""
    count, lefts, rights = Counter(zip(left, right, strict=True)), Counter(left), Counter(right)
    n = len(left)
    return float(sum(c / n * np.log(c * n / (lefts[a] * rights[b])) for (a, b), c in count.items()))


# --- the draw ---------------------------------------------------------------------------------------------------------


def test_the_same_seed_draws_the_same_patients(hospital: Hospital) -> None:
    assert made_up_hospital(3000, 0) == hospital
    assert made_up_hospital(3000, 1).columns != hospital.columns


def test_a_smaller_hospital_is_the_start_of_a_larger_one(hospital: Hospital) -> None:
    small = made_up_hospital(patients=10)
    assert small.columns == {name: values[:10] for name, values in hospital.columns.items()}


def test_known_patients(hospital: Hospital) -> None:
    """A change of the table or of the draw shows here, and changes the demo's figures."""
    assert [values[0] for values in hospital.columns.values()] == [
        "P000001",
        "45",
        "female",
        "Germany",
        "45614",
        "transfer",
        "diabetes",
    ]


def test_columns_and_their_values(hospital: Hospital) -> None:
    columns = hospital.columns
    assert list(columns) == ["patient", *QUASI_IDENTIFIERS, "diagnosis"]
    assert {len(values) for values in columns.values()} == {3000}
    assert len(set(columns["patient"])) == 3000
    assert columns["patient"][122] == "P000123"
    assert set(map(int, columns["age"])) <= set(range(100))
    assert len(set(columns["postcode"])) == 40
    assert len(set(columns["nationality"])) == 12
    assert len(set(columns["diagnosis"])) == 14


@pytest.mark.parametrize("patients", [0, -3])
def test_a_hospital_without_patients_is_refused(patients: int) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        made_up_hospital(patients=patients)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(UsageError, match="seed"):
        made_up_hospital(seed=-1)


def test_a_hospital_is_frozen(hospital: Hospital) -> None:
    with pytest.raises(FrozenInstanceError):
        hospital.schema_toml = ""  # type: ignore[misc]


# --- what is in it ----------------------------------------------------------------------------------------------------


def test_the_shares_of_the_table_add_up_and_are_recovered(large: Hospital) -> None:
    assert sum(line.share for line in _DIAGNOSES.values()) == pytest.approx(1)
    count = Counter(large.columns["diagnosis"])
    for name, line in _DIAGNOSES.items():
        assert count[name] / 30_000 == pytest.approx(line.share, abs=0.01)  # over five standard errors


@pytest.mark.parametrize("seed", range(5))
def test_anatomy_is_eligible_and_no_diagnosis_is_rare(seed: int) -> None:
    count = Counter(made_up_hospital(seed=seed).columns["diagnosis"])
    assert max(count.values()) / 3000 < 1 / 5
    assert min(count.values()) / 3000 > 0.01


@pytest.mark.parametrize("attribute", QUASI_IDENTIFIERS)
def test_every_quasi_identifier_tells_something_of_the_diagnosis(hospital: Hospital, attribute: str) -> None:
    values = [COARSE[attribute](value) for value in hospital.columns[attribute]]
    diagnoses = hospital.columns["diagnosis"]
    by_chance = mutual_information(values, diagnoses[1000:] + diagnoses[:1000])  # someone else's diagnosis
    assert mutual_information(values, diagnoses) > 2.5 * by_chance + 0.005


def test_a_learner_guesses_far_better_than_the_most_frequent_diagnosis(hospital: Hospital) -> None:
    """Naive Bayes, taught on one half, tried on the other."""
    diagnoses = hospital.columns["diagnosis"]
    names = sorted(set(diagnoses))
    s = np.array([names.index(d) for d in diagnoses])
    taught, tried = slice(0, 1500), slice(1500, 3000)
    score = np.tile(np.log(np.bincount(s[taught], minlength=14)), (1500, 1))  # (tried, diagnoses)
    for attribute, coarse in COARSE.items():
        values = [coarse(v) for v in hospital.columns[attribute]]
        code = np.array([sorted(set(values)).index(v) for v in values])
        count = np.full((code.max() + 1, 14), 0.5)
        np.add.at(count, (code[taught], s[taught]), 1)
        score += np.log(count / count.sum(axis=0))[code[tried]]
    accuracy = float((score.argmax(axis=1) == s[tried]).mean())
    most_frequent = max(Counter(diagnoses).values()) / 3000
    assert accuracy > 2.5 * most_frequent


def test_the_harbour_has_the_lung_diseases(rows: list[dict[str, str]]) -> None:
    harbour = [row for row in rows if row["postcode"][:4] in ("4552", "4553")]
    elsewhere = [row for row in rows if row["postcode"][:4] not in ("4552", "4553")]
    for name in ("asthma", "chronic bronchitis", "lung cancer"):
        assert share(harbour, diagnosis=name) > 3 * share(elsewhere, diagnosis=name)


def test_nationality_goes_with_inherited_and_regional_disease(rows: list[dict[str, str]]) -> None:
    for country, name in (("Ghana", "hereditary anaemia"), ("Japan", "stomach cancer"), ("India", "diabetes")):
        there = [row for row in rows if row["nationality"] == country]
        assert share(there, diagnosis=name) > 2 * share(rows, diagnosis=name)


def test_sex_and_age_go_with_the_heart(rows: list[dict[str, str]]) -> None:
    men, women = ([row for row in rows if row["sex"] == sex] for sex in ("male", "female"))
    assert share(men, diagnosis="heart attack") > 2 * share(women, diagnosis="heart attack")
    old = [row for row in rows if int(row["age"]) > 80]
    assert share(old, diagnosis="heart failure") > 2 * share(rows, diagnosis="heart failure")


def test_structural_zeros(rows: list[dict[str, str]]) -> None:
    for row in rows:
        match row["diagnosis"]:
            case "ovarian cancer":
                assert row["sex"] == "female"
            case "prostate cancer":
                assert row["sex"] == "male"
            case "pregnancy complication":
                assert row["sex"] == "female"
                assert 15 <= int(row["age"]) <= 50
            case "newborn jaundice":
                assert row["age"] == "0"
        if row["admission"] == "birth":
            assert row["age"] == "0"
    assert share(rows, admission="birth") > 0.02


# --- the files --------------------------------------------------------------------------------------------------------


def test_the_schema_declares_every_column(hospital: Hospital) -> None:
    schema = tomllib.loads(hospital.schema_toml)
    assert schema["version"] == 1
    assert schema["confirmed"] is True
    attributes = schema["attributes"]
    assert list(attributes) == list(hospital.columns)
    assert attributes["patient"]["role"] == "identifier"
    assert {attributes[name]["role"] for name in QUASI_IDENTIFIERS} == {"quasi-identifier"}
    assert attributes["diagnosis"]["role"] == "sensitive"
    assert attributes["age"]["kind"] == "numeric"
    assert attributes["age"]["domain"] == {"from": 0, "to": 99, "step": 1}
    for name in ("sex", "nationality", "postcode", "admission", "diagnosis"):
        assert set(hospital.columns[name]) <= set(attributes[name]["domain"])


def test_the_schema_names_the_hierarchy_files(hospital: Hospital) -> None:
    attributes = tomllib.loads(hospital.schema_toml)["attributes"]
    named = {spec["hierarchy"] for spec in attributes.values() if "hierarchy" in spec}
    assert named == {f"hierarchies/{file}" for file in hospital.hierarchies}


def test_harmless_values_and_classes_are_diagnoses(hospital: Hospital) -> None:
    spec = tomllib.loads(hospital.schema_toml)["attributes"]["diagnosis"]
    assert set(spec["harmless"]) < set(spec["domain"])
    assert [name for names in spec["classes"].values() for name in names] == spec["domain"]
    assert all(len(names) > 1 for names in spec["classes"].values())
    assert [name for names in _CLASSES.values() for name in names] == list(_DIAGNOSES)


@pytest.mark.parametrize("attribute", [*QUASI_IDENTIFIERS, "diagnosis"])
def test_hierarchies_are_nested_and_cover_the_domain(hospital: Hospital, attribute: str) -> None:
    domain = tomllib.loads(hospital.schema_toml)["attributes"][attribute]["domain"]
    values = list(map(str, range(100))) if attribute == "age" else domain
    table = ladder(hospital, attribute)
    assert [row[0] for row in table] == values
    assert len({len(row) for row in table}) == 1
    assert all(row[-1] == "*" and "*" not in row[:-1] for row in table)
    for level in range(len(table[0]) - 1):
        assert len({(row[level], row[level + 1]) for row in table}) == len({row[level] for row in table})
    assert not set(values) & {label for row in table for label in row[1:]}


def test_hierarchies_by_hand(hospital: Hospital) -> None:
    assert ladder(hospital, "age")[37] == ["37", "35-39", "30-39", "20-39", "*"]
    assert ladder(hospital, "postcode")[0] == ["45501", "4550*", "455**", "45***", "*"]
    assert ladder(hospital, "sex") == [["female", "*"], ["male", "*"]]
    assert ["Nigeria", "West Africa", "Africa", "*"] in ladder(hospital, "nationality")
    assert ["birth", "unscheduled", "*"] in ladder(hospital, "admission")
    assert ["lung cancer", "cancer", "*"] in ladder(hospital, "diagnosis")
