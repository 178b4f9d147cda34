"""Leaks of the secret itself: homogeneous classes, skew, similar and close values, secrets that tell each other."""

import random
from collections import Counter, defaultdict
from collections.abc import Mapping

from tests.leaks.case import (
    DIAGNOSES,
    Truth,
    Ward,
    attribute,
    csv_text,
    determined,
    joined,
    leak,
    schema_text,
    shuffled,
)

__all__: list[str] = []

Fields = Mapping[str, object]

_KNOWN = ["age", "sex", "region"]


def _secret(
    w: Ward, values: list[str], kind: Mapping[str, object], learned: str, people: int | None = None, **fields: object
) -> dict[str, object]:
    """The safe release with another sensitive column; by default the truth is who is certain."""
    release = {**w.in_order(), "diagnosis": values}
    certain = determined(joined(release, _KNOWN), values) if people is None else people
    return w.case(
        original={**w.original(), "diagnosis": values},
        schema=w.schema(diagnosis=kind),
        release=shuffled(release, w.draw),
        truth=Truth(certain, learned, w.people),
        **fields,
    )


# --- homogeneous classes ----------------------------------------------------------------------------------------------


@leak("homogeneous classes", "inference")
def one_diagnosis_a_class(draw: random.Random) -> Fields:
    w = Ward(draw)
    number: dict[tuple[str, ...], int] = {}
    values = [DIAGNOSES[number.setdefault(c, len(number)) % 10] for c in w.cells()]
    return _secret(w, values, attribute("s", domain=list(DIAGNOSES)), "their diagnosis")


@leak("homogeneous classes", "inference")
def one_class_of_one_diagnosis(draw: random.Random) -> Fields:
    w = Ward(draw)
    first = sorted(set(w.cells()))[0]
    values = ["gout" if c == first else d for c, d in zip(w.cells(), w.diagnosis, strict=True)]
    return _secret(w, values, attribute("s", domain=list(DIAGNOSES)), "their diagnosis")


@leak("homogeneous classes", "inference")
def nineteen_of_twenty_in_every_class(draw: random.Random) -> Fields:
    w = Ward(draw)
    number: dict[tuple[str, ...], int] = {}
    values = []
    for c, d in zip(w.cells(), w.diagnosis, strict=True):
        own = DIAGNOSES[number.setdefault(c, len(number)) % 10]
        values.append(own if draw.random() < 0.95 else d)
    mode = {
        c: Counter(v for x, v in zip(w.cells(), values, strict=True) if x == c).most_common(1)[0]
        for c in set(w.cells())
    }
    right = sum(n for _, n in mode.values())
    return _secret(w, values, attribute("s", domain=list(DIAGNOSES)), "their diagnosis, at 95%", right)


@leak("homogeneous classes", "inference")
def yes_or_no_by_class(draw: random.Random) -> Fields:
    w = Ward(draw)
    values = ["yes" if c[1] == "f" and c[0] == "[20,39]" else draw.choice(("yes", "no")) for c in w.cells()]
    return _secret(w, values, attribute("s", domain=["no", "yes"]), "that they have it")


@leak("homogeneous classes", "inference")
def buckets_of_one_diagnosis(draw: random.Random) -> Fields:
    """Anatomy of exact cells whose buckets hide nothing: each holds one diagnosis."""
    w = Ward(draw, 360)
    told = w.diagnosis
    order = sorted(range(w.people), key=lambda i: (DIAGNOSES.index(told[i]) * 37 % 10, i * 7919 % w.people))
    group = {d: str(DIAGNOSES.index(d) * 37 % 10 + 1) for d in DIAGNOSES}
    exact = {n: w.original()[n] for n in _KNOWN}
    main = {"group": [group[told[i]] for i in order], **{n: [exact[n][i] for i in order] for n in _KNOWN}}
    counted = Counter(told)
    table = {
        "group": [group[d] for d in DIAGNOSES],
        "diagnosis": list(DIAGNOSES),
        "count": [str(counted[d]) for d in DIAGNOSES],
    }
    return w.case(
        release=main,
        sidecar=(
            'group = "group"\nblocks = [["age", "sex", "region"], ["diagnosis"]]\n'
            'sensitive_table = "release-sensitive.csv"\n'
        ),
        files={"release-sensitive.csv": csv_text(table)},
        truth=Truth(determined(joined(exact, _KNOWN), told), "their diagnosis: all their buckets hold one", w.people),
    )


# --- skew -------------------------------------------------------------------------------------------------------------


@leak("skew", "inference")
def rare_disease_in_one_class(draw: random.Random) -> Fields:
    """HIV: one in a hundred in the table, every second in one class."""
    w = Ward(draw, 1_600)
    first = sorted(set(w.cells()))[0]
    here = [i for i, c in enumerate(w.cells()) if c == first]
    sick = set(here[: len(here) // 2])
    values = ["HIV" if i in sick else d for i, d in enumerate(w.diagnosis)]
    return _secret(
        w,
        values,
        attribute("s", domain=[*DIAGNOSES, "HIV"]),
        "that they have HIV, at one half instead of 4%",
        len(here),
    )


@leak("skew", "inference")
def all_the_sick_in_one_class(draw: random.Random) -> Fields:
    w = Ward(draw, 1_600)
    first = sorted(set(w.cells()))[0]
    here = [i for i, c in enumerate(w.cells()) if c == first]
    sick = set(draw.sample(here, len(here) * 9 // 10))
    values = ["HIV" if i in sick else "healthy" for i in range(w.people)]
    return _secret(
        w, values, attribute("s", domain=["healthy", "HIV"], harmless=["healthy"]), "that they have HIV", len(sick)
    )


@leak("skew", "inference")
def everybody_else_is_healthy(draw: random.Random) -> Fields:
    w = Ward(draw, 1_600)
    cells = w.cells()
    values = ["positive" if c[0] == "[60,79]" and draw.random() < 0.7 else "negative" for c in cells]
    people = sum(c[0] == "[60,79]" for c in cells)
    return _secret(
        w, values, attribute("s", domain=["negative", "positive"]), "that the test was positive, at 70%", people
    )


# --- values that are alike --------------------------------------------------------------------------------------------

_ICD = [f"{letter}{number:02d}.{digit}" for letter in "CEFIJKMN" for number in (10, 20, 34) for digit in range(4)]


@leak("similar values", "inference")
def one_chapter_of_codes_a_class(draw: random.Random) -> Fields:
    """Every class has a dozen different codes, all of one chapter: F20, F34 … are mental disorders."""
    w = Ward(draw)
    letters: dict[tuple[str, ...], str] = {}
    values = []
    for c in w.cells():
        letter = letters.setdefault(c, "CEFIJKMN"[len(letters) % 8])
        values.append(draw.choice([v for v in _ICD if v[0] == letter]))
    known = determined(w.cells(), [v[0] for v in values])
    return _secret(w, values, attribute("s", domain=_ICD), "the chapter of their diagnosis", known)


@leak("similar values", "inference")
def one_class_of_mental_disorders(draw: random.Random) -> Fields:
    w = Ward(draw)
    first = sorted(set(w.cells()))[0]
    values = [draw.choice([v for v in _ICD if v[0] == "F"] if c == first else _ICD) for c in w.cells()]
    return _secret(
        w, values, attribute("s", domain=_ICD), "that it is a mental disorder", sum(c == first for c in w.cells())
    )


@leak("similar values", "inference")
def stomach_diseases_by_hierarchy(draw: random.Random) -> Fields:
    w = Ward(draw)
    kinds = {
        "stomach": ["gastritis", "ulcer", "reflux", "dyspepsia"],
        "lungs": ["asthma", "bronchitis", "pneumonia", "emphysema"],
        "skin": ["eczema", "psoriasis", "acne", "vitiligo"],
    }
    organ = dict(zip(("[20,39]", "[40,59]", "[60,79]"), kinds, strict=True))
    values = [draw.choice(kinds[organ[c[0]]]) for c in w.cells()]
    lines = "".join(f"{v};{k};*\n" for k, vs in kinds.items() for v in vs)
    return _secret(
        w,
        values,
        attribute("s", hierarchy="diagnosis.csv"),
        "which organ is ill",
        w.people,
        files={"diagnosis.csv": lines},
    )


@leak("similar values", "inference")
def declared_classes_of_values(draw: random.Random) -> Fields:
    w = Ward(draw)
    first = sorted(set(w.cells()))[0]
    cancers = ["lung cancer", "liver cancer", "skin cancer", "bone cancer"]
    values = [draw.choice(cancers if c == first else [*cancers, *DIAGNOSES]) for c in w.cells()]
    kind = attribute("s", domain=[*cancers, *DIAGNOSES], classes={"cancer": cancers})
    return _secret(w, values, kind, "that it is cancer", sum(c == first for c in w.cells()))


@leak("close numbers", "inference")
def salaries_close_together(draw: random.Random) -> Fields:
    w = Ward(draw)
    number: dict[tuple[str, ...], int] = {}
    values = [str(20_000 + 5_000 * number.setdefault(c, len(number)) + 10 * draw.randrange(20)) for c in w.cells()]
    kind = attribute("s", "numeric", domain={"from": 20_000, "to": 80_000, "step": 10})
    return _secret(w, values, kind, "their salary to 200 of 60,000", w.people)


@leak("close numbers", "inference")
def one_class_of_high_salaries(draw: random.Random) -> Fields:
    w = Ward(draw)
    first = sorted(set(w.cells()))[0]
    values = [str(90 + draw.randrange(5) if c == first else draw.randrange(20, 100)) for c in w.cells()]
    kind = attribute("s", "numeric", domain={"from": 20, "to": 99, "step": 1})
    return _secret(w, values, kind, "their salary to 5 of 80", sum(c == first for c in w.cells()))


@leak("close numbers", "inference")
def dates_of_death_close_together(draw: random.Random) -> Fields:
    w = Ward(draw)
    number: dict[tuple[str, ...], int] = {}
    values = [f"2024-{number.setdefault(c, len(number)) % 12 + 1:02d}-{draw.randrange(1, 8):02d}" for c in w.cells()]
    kind = attribute("s", "date", domain="={ from = 2024-01-01, to = 2024-12-31 }")
    return _secret(w, values, kind, "the week in which it was", w.people)


# --- more than a thousand values --------------------------------------------------------------------------------------


@leak("many values", "inference")
def thousands_of_salaries(draw: random.Random) -> Fields:
    w = Ward(draw)
    number: dict[tuple[str, ...], int] = {}
    values = [str(20_000 + 5_000 * number.setdefault(c, len(number)) + draw.randrange(300)) for c in w.cells()]
    return _secret(w, values, attribute("s", "numeric"), "their salary to 300 of 60,000", w.people)


@leak("many values", "inference")
def thousands_of_codes(draw: random.Random) -> Fields:
    w = Ward(draw, 1_500)
    number: dict[tuple[str, ...], int] = {}
    values = [f"{'ABCDEFGHIJKL'[number.setdefault(c, len(number)) % 12]}{draw.randrange(1000):03d}" for c in w.cells()]
    return _secret(w, values, attribute("s"), "the chapter of their diagnosis", w.people)


@leak("many values", "singling out")
def quasi_identifier_of_seventy_thousand_values(draw: random.Random) -> Fields:
    w = Ward(draw, 400)
    pay = [str(20_000 + v) for v in draw.sample(range(70_001), w.people)]
    return w.case(
        original=w.original(income=pay),
        schema=w.schema(income=attribute("q", "numeric", domain={"from": 20_000, "to": 90_000, "step": 1})),
        release=w.release(income=pay),
        truth=Truth(len(set(pay)), "their row by the income", w.people),
    )


# --- secrets called something else, and secrets that tell each other --------------------------------------------------


@leak("secret called quasi-identifier", "inference")
def no_sensitive_attribute_named(draw: random.Random) -> Fields:
    w = Ward(draw)
    number: dict[tuple[str, ...], int] = {}
    values = [DIAGNOSES[number.setdefault(c, len(number)) % 10] for c in w.cells()]
    return _secret(w, values, attribute("q", domain=list(DIAGNOSES)), "their diagnosis")


@leak("secret called quasi-identifier", "inference")
def second_secret_called_quasi_identifier(draw: random.Random) -> Fields:
    w = Ward(draw)
    religion = [{"f": "a", "m": "b"}[s] for s in w.sex]
    return w.case(
        original=w.original(religion=religion),
        schema=w.schema(religion=attribute("q", domain=["a", "b"])),
        release=w.release(religion=religion),
        truth=Truth(determined(w.sex, religion), "their religion", w.people),
    )


@leak("secret called insensitive", "inference")
def diagnosis_called_insensitive(draw: random.Random) -> Fields:
    w = Ward(draw)
    number: dict[tuple[str, ...], int] = {}
    virus = ["HIV" if number.setdefault(c, len(number)) % 4 == 0 else "none" for c in w.cells()]
    return w.case(
        original=w.original(hiv_status=virus),
        schema=w.schema(hiv_status=attribute("i", domain=["HIV", "none"])),
        release=w.release(hiv_status=virus),
        truth=Truth(determined(w.cells(), virus), "whether they have HIV", w.people),
    )


@leak("one secret tells another", "background")
def drug_and_diagnosis_both_sensitive(draw: random.Random) -> Fields:
    w = Ward(draw)
    drugs = [f"drug {DIAGNOSES.index(d) * 7 % 10}" for d in w.diagnosis]
    return w.case(
        original=w.original(drug=drugs),
        schema=w.schema(drug=attribute("s")),
        release=w.release(drug=drugs),
        truth=Truth(determined(drugs, w.diagnosis), "their diagnosis, to whoever saw the prescription", w.people),
    )


@leak("one secret tells another", "background")
def salary_and_employer_both_sensitive(draw: random.Random) -> Fields:
    w = Ward(draw)
    firms = [str(draw.randrange(8)) for _ in range(w.people)]
    debts = [str(100 * int(f) + draw.randrange(3)) for f in firms]
    return w.case(
        original=w.original(firm=firms, debt=debts),
        schema=w.schema(firm=attribute("s"), debt=attribute("s", "numeric")),
        release=w.release(firm=firms, debt=debts),
        truth=Truth(determined(debts, firms), "their employer, to whoever knows the debt", w.people),
    )


@leak("one secret tells another", "background")
def class_and_second_secret(draw: random.Random) -> Fields:
    """The other secret alone tells little, the class alone nothing; both together tell the diagnosis."""
    w = Ward(draw)
    number = {c: i for i, c in enumerate(sorted(set(w.cells())))}
    marks = [str((DIAGNOSES.index(d) + number[c]) % 10) for c, d in zip(w.cells(), w.diagnosis, strict=True)]
    known = list(zip(w.cells(), marks, strict=True))
    return w.case(
        original=w.original(mark=marks),
        schema=w.schema(mark=attribute("s")),
        release=w.release(mark=marks),
        truth=Truth(determined(known, w.diagnosis), "their diagnosis, to whoever knows the mark", w.people),
    )


# --- several releases -------------------------------------------------------------------------------------------------


@leak("two releases", "composition")
def classes_that_cross_each_other(draw: random.Random) -> Fields:
    """Ages by decade in one file, by last digit in the other: ten values in each class, one in each crossing."""
    people = 1_200
    ages = [v % 100 for v in range(people)]
    draw.shuffle(ages)
    names = [a + b for a in ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu") for b in "lnrstvwxyz"]
    draw.shuffle(names)
    tens, ones = draw.sample(range(10), 10), draw.sample(range(10), 10)
    secret = [names[10 * tens[a // 10] + ones[a % 10]] for a in ages]
    decades = [f"[{a // 10 * 10},{a // 10 * 10 + 9}]" for a in ages]
    digits = ["{" + ",".join(str(d + a % 10) for d in range(0, 100, 10)) + "}" for a in ages]
    kinds = {
        "age": attribute("q", "numeric", domain={"from": 0, "to": 99, "step": 1}),
        "diagnosis": attribute("s", domain=sorted(names)),
    }
    here, there = defaultdict(set), defaultdict(set)
    for one, two, value in zip(decades, digits, secret, strict=True):
        here[one].add(value)
        there[two].add(value)
    certain = sum(len(here[one] & there[two]) == 1 for one, two in zip(decades, digits, strict=True))
    return {
        "original": {"age": [str(a) for a in ages], "diagnosis": secret},
        "schema": schema_text(kinds),
        "release": shuffled({"age": decades, "diagnosis": secret}, draw),
        "files": {"second.csv": csv_text(shuffled({"age": digits, "diagnosis": secret}, draw))},
        "more_releases": ("second.csv",),
        "truth": Truth(certain, "their diagnosis: the only one in both of their classes", people),
    }


@leak("two releases", "composition")
def last_years_file_without_one_person(draw: random.Random) -> Fields:
    """Two files of the same classes; what the second has more is one patient."""
    w = Ward(draw)
    now = w.in_order()
    then = {n: v[:-1] for n, v in now.items()}
    gone = Counter(joined(now, [*_KNOWN, "diagnosis"])) - Counter(joined(then, [*_KNOWN, "diagnosis"]))
    return w.case(
        release=shuffled(now, draw),
        files={"second.csv": csv_text(shuffled(then, draw))},
        more_releases=("second.csv",),
        truth=Truth(gone.total(), "the diagnosis of who came in between", w.people),
    )
