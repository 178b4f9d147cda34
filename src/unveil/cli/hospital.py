"""A made-up hospital: no person, place or count in it is real.

A patient is drawn in two steps: a diagnosis by its share, then age, sex, nationality, postcode and way of admission,
each from that diagnosis' line of `_DIAGNOSES`. So they are independent of each other given the diagnosis: the model
that a learning attacker has in mind is true here, and what there is to learn can be read off the table.
A weight of 0 is a structural zero: no man has ovarian cancer, nobody over 50 a pregnancy complication.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unveil.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Hospital", "made_up_hospital"]


@dataclass(frozen=True, slots=True)
class Hospital:
    """The patients as a table, and the files a user would write beside it."""

    columns: dict[str, list[str]]  # in the table's order, one value a patient
    schema_toml: str
    hierarchies: dict[str, str]  # file name -> text in ARX's shape: no header, ';', leaf first, '*' last


# --- the domains, each in the order of its hierarchy ------------------------------------------------------------------

_AGES = range(100)
_AGE_BANDS = (5, 10, 20)  # years
_LIFE_STAGES = (range(1), range(1, 15), range(15, 31), range(31, 51), range(51, 66), range(66, 81), range(81, 100))

_SEXES = ("female", "male")

_REGIONS = {  # continent -> region -> nationality
    "Europe": {"Central Europe": ("Germany", "Poland"), "Southern Europe": ("Greece", "Italy")},
    "Africa": {"North Africa": ("Morocco", "Tunisia"), "West Africa": ("Ghana", "Nigeria")},
    "Asia": {"South Asia": ("India", "Pakistan"), "East Asia": ("Japan", "Korea")},
}
_REGION_WEIGHT = {  # within a region the first nationality is twice as frequent as the second
    "Central Europe": 50.0,
    "Southern Europe": 18.0,
    "North Africa": 8.0,
    "West Africa": 6.0,
    "South Asia": 10.0,
    "East Asia": 8.0,
}
_NATIONALITIES = tuple(name for regions in _REGIONS.values() for names in regions.values() for name in names)

_DISTRICTS = {  # district -> the first four digits of its postcodes
    "centre": ("4550", "4551"),
    "harbour": ("4552", "4553"),  # steelworks and docks: the bad air is here
    "suburbs": ("4560", "4561"),
    "hills": ("4610", "4611"),
}
_LAST_DIGIT_WEIGHT = {"1": 5.0, "2": 4.0, "3": 3.0, "4": 2.0, "5": 1.0}
_POSTCODES = tuple(start + last for starts in _DISTRICTS.values() for start in starts for last in _LAST_DIGIT_WEIGHT)

_WAYS = {"unscheduled": ("emergency", "birth"), "scheduled": ("planned", "transfer")}
_ADMISSIONS = tuple(way for ways in _WAYS.values() for way in ways)

_CLASSES = {
    "lung disease": ("asthma", "chronic bronchitis"),
    "heart disease": ("heart attack", "heart failure"),
    "cancer": ("lung cancer", "stomach cancer", "ovarian cancer", "prostate cancer"),
    "blood or sugar": ("diabetes", "hereditary anaemia"),
    "birth or pregnancy": ("pregnancy complication", "newborn jaundice"),
    "accident or urgent surgery": ("fracture", "appendicitis"),
}
_HARMLESS = ("fracture", "appendicitis")


# --- who has what -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Patients:
    """The people with one diagnosis. Weights need not add up to anything; only `share` and `female` are shares."""

    share: float
    age: tuple[float, ...]  # a weight for each of _LIFE_STAGES: 0, 1-14, 15-30, 31-50, 51-65, 66-80, 81-99
    female: float
    home: tuple[float, ...]  # a weight for each of _DISTRICTS: centre, harbour, suburbs, hills
    way: tuple[float, ...]  # a weight for each of _ADMISSIONS: emergency, birth, planned, transfer
    more_often: Mapping[str, float] = field(default_factory=dict)  # region -> times its _REGION_WEIGHT


# fmt: off
_DIAGNOSES = {
    #                                 share   0   1  15  31  51  66  81  female  home          way
    "asthma":                 _Patients(.08, (1, 40, 30, 15,  8,  4,  2), .50, (2, 11, 2, 1), (7, 0, 2, 1)),
    "chronic bronchitis":     _Patients(.10, (0,  0,  1, 15, 45, 30,  9), .35, (2, 14, 2, 1), (4, 0, 4, 2)),
    "heart attack":           _Patients(.09, (0,  0,  0, 12, 40, 38, 10), .28, (4,  3, 4, 2), (9, 0, 0, 1),
                                        {"South Asia": 2.5}),
    "heart failure":          _Patients(.10, (0,  0,  0,  3, 15, 45, 37), .55, (3,  2, 3, 5), (4, 0, 3, 3)),
    "lung cancer":            _Patients(.06, (0,  0,  0,  8, 42, 40, 10), .35, (2, 12, 2, 1), (1, 0, 6, 3)),
    "stomach cancer":         _Patients(.04, (0,  0,  0,  8, 35, 42, 15), .40, (3,  3, 3, 2), (1, 0, 7, 2),
                                        {"East Asia": 8}),
    "ovarian cancer":         _Patients(.04, (0,  0,  3, 22, 40, 28,  7), 1.0, (3,  2, 5, 2), (1, 0, 7, 2)),
    "prostate cancer":        _Patients(.05, (0,  0,  0,  2, 30, 50, 18), 0.0, (3,  2, 5, 2), (0, 0, 9, 1)),
    "diabetes":               _Patients(.10, (0,  6,  6, 20, 35, 25,  8), .48, (4,  3, 3, 2), (3, 0, 6, 1),
                                        {"South Asia": 5, "North Africa": 2}),
    "hereditary anaemia":     _Patients(.04, (4, 45, 30, 15,  4,  2,  0), .50, (6,  3, 2, 1), (4, 0, 5, 1),
                                        {"West Africa": 12, "Southern Europe": 5, "North Africa": 4}),
    "pregnancy complication": _Patients(.07, (0,  0, 55, 45,  0,  0,  0), 1.0, (5,  2, 5, 2), (6, 0, 2, 2)),
    "newborn jaundice":       _Patients(.05, (1,  0,  0,  0,  0,  0,  0), .45, (5,  2, 5, 2), (1, 8, 0, 1),
                                        {"East Asia": 2.5}),
    "fracture":               _Patients(.12, (0, 22, 18, 12, 10, 16, 22), .52, (3,  2, 3, 6), (8, 0, 1, 1)),
    "appendicitis":           _Patients(.06, (0, 38, 40, 15,  5,  2,  0), .46, (3,  2, 3, 3), (9, 0, 0, 1)),
}
# fmt: on


def made_up_hospital(patients: int = 3000, seed: int = 0) -> Hospital:
    """Draw made-up patients; the first n of a larger hospital with the same seed are the n of a smaller one."""
    import numpy as np  # here, so that the command line can show its help without it

    if patients < 1:
        raise UsageError(f"patients = {patients}: a hospital needs at least 1")
    if seed < 0:
        raise UsageError(f"seed = {seed}: a seed is 0 or more")
    uniform = np.random.Generator(np.random.PCG64(seed)).random((patients, 6))
    lines = tuple(_DIAGNOSES.values())
    diagnosis = _pick([line.share for line in lines], uniform[:, 0])
    rows_of = [np.flatnonzero(diagnosis == number) for number in range(len(lines))]

    def drawn(column: int, values: Sequence[str], weights: Callable[[_Patients], Sequence[float]]) -> list[str]:
        code = np.empty(patients, np.int64)
        for line, rows in zip(lines, rows_of, strict=True):
            code[rows] = _pick(weights(line), uniform[rows, column])
        return [values[c] for c in code.tolist()]

    columns = {
        "patient": [f"P{number:06d}" for number in range(1, patients + 1)],
        "age": drawn(1, [str(age) for age in _AGES], _age_weights),
        "sex": drawn(2, _SEXES, lambda line: (line.female, 1 - line.female)),
        "nationality": drawn(3, _NATIONALITIES, _nationality_weights),
        "postcode": drawn(4, _POSTCODES, _postcode_weights),
        "admission": drawn(5, _ADMISSIONS, lambda line: line.way),
        "diagnosis": [tuple(_DIAGNOSES)[number] for number in diagnosis],
    }
    return Hospital(columns, _schema_toml(), _hierarchies())


def _pick(weights: Sequence[float], uniform: NDArray[np.float64]) -> NDArray[np.int64]:
    """Codes in proportion to their weights, by inversion; a weight of 0 is never picked."""
    import numpy as np

    reached = np.cumsum(weights)
    return np.searchsorted(reached[:-1] / reached[-1], uniform, side="right").astype(np.int64)


def _age_weights(line: _Patients) -> list[float]:
    """Every age of a life stage is equally likely."""
    return [weight / len(ages) for weight, ages in zip(line.age, _LIFE_STAGES, strict=True) for _ in ages]


def _nationality_weights(line: _Patients) -> list[float]:
    return [
        _REGION_WEIGHT[region] * line.more_often.get(region, 1.0) * weight
        for regions in _REGIONS.values()
        for region, names in regions.items()
        for weight in range(len(names), 0, -1)
    ]


def _postcode_weights(line: _Patients) -> list[float]:
    return [
        weight * last
        for weight, starts in zip(line.home, _DISTRICTS.values(), strict=True)
        for _ in starts
        for last in _LAST_DIGIT_WEIGHT.values()
    ]


# --- the files beside the table ---------------------------------------------------------------------------------------


def _hierarchies() -> dict[str, str]:
    rows = {
        "age": [
            [str(age), *(f"{age - age % band}-{age - age % band + band - 1}" for band in _AGE_BANDS)] for age in _AGES
        ],
        "sex": [[sex] for sex in _SEXES],
        "nationality": [
            [name, region, continent]
            for continent, regions in _REGIONS.items()
            for region, names in regions.items()
            for name in names
        ],
        "postcode": [[code, *(code[:kept] + "*" * (5 - kept) for kept in (4, 3, 2))] for code in _POSTCODES],
        "admission": [[way, kind] for kind, ways in _WAYS.items() for way in ways],
        "diagnosis": [[name, family] for family, names in _CLASSES.items() for name in names],
    }
    return {f"{name}.csv": "".join(";".join([*row, "*"]) + "\n" for row in table) for name, table in rows.items()}


def _schema_toml() -> str:
    classes = "\n".join(f"{json.dumps(family)} = {_array(names)}" for family, names in _CLASSES.items())
    domains = {"sex": _SEXES, "nationality": _NATIONALITIES, "postcode": _POSTCODES, "admission": _ADMISSIONS}
    known = "\n".join(
        f'[attributes.{name}]\nrole = "quasi-identifier"\nkind = "categorical"\n'
        f'domain = {_array(domain)}\nhierarchy = "hierarchies/{name}.csv"\n'
        for name, domain in domains.items()
    )
    return f"""# A made-up hospital: nothing in it is real.
version = 1
confirmed = true

[attributes.patient]
role = "identifier"
kind = "categorical"

[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = {{ from = {_AGES[0]}, to = {_AGES[-1]}, step = 1 }}
hierarchy = "hierarchies/age.csv"

{known}
[attributes.diagnosis]
role = "sensitive"
kind = "categorical"
domain = {_array(_DIAGNOSES)}
hierarchy = "hierarchies/diagnosis.csv"
harmless = {_array(_HARMLESS)}

[attributes.diagnosis.classes]
{classes}
"""


def _array(values: Iterable[str]) -> str:
    """A TOML array, several lines if it is long."""
    quoted = [json.dumps(value) for value in values]
    lines = [", ".join(quoted[start : start + 5]) for start in range(0, len(quoted), 5)]
    return f"[{lines[0]}]" if len(lines) == 1 else "[\n    " + ",\n    ".join(lines) + ",\n]"
