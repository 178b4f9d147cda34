"""Leaks in columns beside the quasi-identifiers: exact values, identifiers, dates, weights, dependent columns."""

import base64
import hashlib
import random
import zlib
from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime, timedelta

from tests.leaks.case import (
    DIAGNOSES,
    Truth,
    Ward,
    alone,
    attribute,
    determined,
    joined,
    leak,
    shuffled,
)

__all__: list[str] = []

Fields = Mapping[str, object]


# --- exact values under bins ------------------------------------------------------------------------------------------


def _exact(w: Ward, **columns: list[str]) -> int:
    """People whom the exact cells single out."""
    return alone(zip(*columns.values(), w.sex, w.region, strict=True))


@leak("exact under bins", "singling out")
def raw_table_with_bins(draw: random.Random) -> Fields:
    w = Ward(draw)
    release = shuffled({"age": w.age, "sex": w.sex, "region": w.region, "diagnosis": w.diagnosis}, draw)
    ages = attribute("q", "numeric", domain={"from": 20, "to": 79, "step": 1}, bins=[40, 60])
    return w.case(
        schema=w.schema(age=ages), release=release, truth=Truth(_exact(w, age=w.age), "which row is theirs", w.people)
    )


@leak("exact under bins", "singling out")
def exact_ages_with_bins(draw: random.Random) -> Fields:
    w = Ward(draw)
    release = {**w.in_order(), "age": w.age}
    ages = attribute("q", "numeric", domain={"from": 20, "to": 79, "step": 1}, bins=[40, 60])
    small = alone(joined(release, ["age", "sex", "region"]))
    return w.case(schema=w.schema(age=ages), release=shuffled(release, draw), truth=Truth(small, "their row", w.people))


@leak("exact under bins", "singling out")
def exact_birth_dates_with_bins(draw: random.Random) -> Fields:
    w = Ward(draw)
    born = [(date(2025 - int(a), 1, 1) + timedelta(days=draw.randrange(365))).isoformat() for a in w.age]
    original = {**w.original(), "age": born}
    release = {**w.in_order(), "age": born}
    days = attribute("q", "date", domain="={ from = 1945-01-01, to = 2005-12-31 }", bins="=[1965-01-01, 1985-01-01]")
    return w.case(
        original=original,
        schema=w.schema(age=days),
        release=shuffled(release, draw),
        truth=Truth(alone(born), "their row by the birthday alone", w.people),
    )


@leak("exact under bins", "inference")
def exact_salaries_with_bins(draw: random.Random) -> Fields:
    w = Ward(draw, 400)
    pay = [str(30_000 + 10 * v) for v in draw.sample(range(4_000), w.people)]
    original = {**w.original(), "diagnosis": pay}
    # Few bins, so that they look diverse; the file shows the salary to ten euros.
    secret = attribute("s", "numeric", domain={"from": 30_000, "to": 70_000, "step": 10}, bins=[40_000, 50_000, 60_000])
    known = {**w.in_order(), "age": w.age, "region": w.region, "diagnosis": pay}
    return w.case(
        original=original,
        schema=w.schema(diagnosis=secret),
        release=shuffled(known, draw),
        truth=Truth(determined(joined(known, ["age", "sex", "region"]), pay), "their exact salary", w.people),
    )


@leak("exact under bins", "singling out")
def half_of_the_ages_exact(draw: random.Random) -> Fields:
    w = Ward(draw)
    release = w.in_order()
    exact = set(draw.sample(range(w.people), w.people // 2))
    release["age"] = [w.age[i] if i in exact else a for i, a in enumerate(release["age"])]
    ages = attribute("q", "numeric", domain={"from": 20, "to": 79, "step": 1}, bins=[40, 60])
    shown = joined(release, ["age", "sex", "region"])
    return w.case(
        schema=w.schema(age=ages), release=shuffled(release, draw), truth=Truth(alone(shown), "their row", w.people)
    )


@leak("exact under bins", "singling out")
def ages_to_the_month_with_bins(draw: random.Random) -> Fields:
    w = Ward(draw)
    ages = [f"{a}.{draw.randrange(100):02d}" for a in w.age]
    kind = attribute("q", "numeric", domain={"from": 20, "to": 80, "step": 0.01}, bins=[40, 60])
    return w.case(
        original={**w.original(), "age": ages},
        schema=w.schema(age=kind),
        release=shuffled({**w.in_order(), "age": ages}, draw),
        truth=Truth(alone(zip(ages, w.sex, strict=True)), "their row", w.people),
    )


@leak("exact under bins", "singling out")
def exact_postcodes_with_bins(draw: random.Random) -> Fields:
    w = Ward(draw)
    codes = [str(10_000 + draw.randrange(900)) for _ in range(w.people)]
    kind = attribute("q", "numeric", domain={"from": 10_000, "to": 10_899, "step": 1}, bins=[10_300, 10_600])
    return w.case(
        original=w.original(postcode=codes),
        schema=w.schema(postcode=kind),
        release=w.release(postcode=codes),
        truth=Truth(alone(codes), "their row by the postcode alone", w.people),
    )


# --- kept identifiers -------------------------------------------------------------------------------------------------


def _column(
    w: Ward, values: list[str], learned: str, *, original: bool = True, name: str = "code"
) -> dict[str, object]:
    """A column called insensitive, in the release and (as a stranger's register has it) in the original."""
    return w.case(
        original=w.original(**{name: values}),
        schema=w.schema(**{name: attribute("i")}),
        release=w.release(**{name: values}),
        truth=Truth(alone(values), learned, w.people),
    )


@leak("kept index", "linking")
def row_numbers(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _column(w, [str(i) for i in range(w.people)], "their place in the original", name="index")


@leak("kept index", "linking")
def row_numbers_from_one_thousand(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _column(w, [f"A{1000 + 3 * i}" for i in range(w.people)], "their place in the original", name="record")


@leak("kept index", "linking")
def case_numbers_called_insensitive(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _column(w, w.number, "their patient number", name="case")


@leak("kept index", "linking")
def case_numbers_moved_by_a_constant(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _column(w, [str(int(n) + 4711) for n in w.number], "their patient number, less 4711", name="case")


@leak("kept index", "linking")
def case_numbers_reversed(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _column(w, [n[::-1] for n in w.number], "their patient number read backwards", name="case")


@leak("kept index", "linking")
def leftover_key(draw: random.Random) -> Fields:
    w = Ward(draw)
    return w.case(
        release=w.release(number=w.number),
        options=("--key", "number"),
        truth=Truth(w.people, "their patient number", w.people),
    )


@leak("kept index", "linking")
def identifier_left_in(draw: random.Random) -> Fields:
    w = Ward(draw)
    return w.case(release=w.release(number=w.number), truth=Truth(w.people, "their patient number", w.people))


@leak("kept index", "linking")
def column_the_schema_does_not_name(draw: random.Random) -> Fields:
    w = Ward(draw)
    return w.case(
        release=w.release(file=[f"f{n}" for n in w.number]),
        truth=Truth(w.people, "their patient number", w.people),
        columns_known=False,
    )


@leak("hashed ids", "linking")
def md5_of_ids(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _column(w, [hashlib.md5(n.encode()).hexdigest() for n in w.number], "their number: six digits, hashed")


@leak("hashed ids", "linking")
def sha256_of_ids(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _column(w, [hashlib.sha256(n.encode()).hexdigest() for n in w.number], "their number: six digits, hashed")


@leak("hashed ids", "linking")
def short_sha1_of_ids(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _column(w, [hashlib.sha1(n.encode()).hexdigest()[:10] for n in w.number], "their number, hashed and cut")


@leak("hashed ids", "linking")
def crc_of_ids(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _column(w, [f"{zlib.crc32(n.encode()):08x}" for n in w.number], "their number by its checksum")


@leak("hashed ids", "linking")
def base64_of_ids(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _column(w, [base64.b64encode(n.encode()).decode() for n in w.number], "their number, only encoded")


@leak("hashed ids", "linking")
def random_uuids(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _column(
        w, [f"{draw.getrandbits(128):032x}" for _ in range(w.people)], "their row in any file with the token"
    )


# --- dates and free text ----------------------------------------------------------------------------------------------


@leak("dates called insensitive", "singling out")
def birth_dates(draw: random.Random) -> Fields:
    w = Ward(draw)
    born = [(date(2025 - int(a), 1, 1) + timedelta(days=draw.randrange(365))).isoformat() for a in w.age]
    return _column(w, born, "their row by the birthday", name="born")


@leak("dates called insensitive", "singling out")
def admission_times(draw: random.Random) -> Fields:
    w = Ward(draw)
    start = datetime(2025, 1, 1)
    times = [(start + timedelta(seconds=draw.randrange(31_536_000))).isoformat(sep=" ") for _ in range(w.people)]
    return _column(w, times, "their row by when they came", name="admitted")


@leak("dates called insensitive", "singling out")
def unix_times(draw: random.Random) -> Fields:
    w = Ward(draw)
    times = [str(1_735_689_600 + draw.randrange(31_536_000)) for _ in range(w.people)]
    return _column(w, times, "their row by when they came", name="created")


@leak("dates called insensitive", "singling out")
def discharge_days(draw: random.Random) -> Fields:
    w = Ward(draw)
    days = [(date(2020, 1, 1) + timedelta(days=draw.randrange(2_000))).strftime("%d.%m.%Y") for _ in range(w.people)]
    return _column(w, days, "their row by when they left", name="discharged")


@leak("dates called insensitive", "singling out")
def birth_years_beside_bands(draw: random.Random) -> Fields:
    w = Ward(draw, 420)
    years = [str(2025 - int(a)) for a in w.age]
    release = w.in_order(year=years)
    people = alone(joined(release, ["year", "sex", "region"]))
    return w.case(
        original=w.original(year=years),
        schema=w.schema(year=attribute("i", "numeric")),
        release=shuffled(release, draw),
        truth=Truth(people, "their row; and everybody's exact age", w.people),
    )


_WORDS = (
    "came",
    "by",
    "bus",
    "with",
    "wife",
    "after",
    "a",
    "fall",
    "at",
    "home",
    "works",
    "in",
    "bakery",
    "teacher",
    "of",
    "music",
)


@leak("free text", "singling out")
def doctors_notes(draw: random.Random) -> Fields:
    w = Ward(draw)
    notes = [" ".join(draw.choice(_WORDS) for _ in range(9)) for _ in range(w.people)]
    return _column(w, notes, "their row by the doctor's note", name="note")


@leak("free text", "singling out")
def occupations_as_written(draw: random.Random) -> Fields:
    w = Ward(draw)
    jobs = [f"{draw.choice(_WORDS)} {draw.choice(_WORDS)} {draw.choice(_WORDS)}" for _ in range(w.people)]
    return _column(w, jobs, "their row by what they wrote", name="occupation")


# --- weights, counters, households ------------------------------------------------------------------------------------


@leak("weights and counters", "linking")
def weights_with_many_decimals(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _column(w, [f"{draw.uniform(5, 50):.8f}" for _ in range(w.people)], "their row by its weight", name="calib")


@leak("weights and counters", "linking")
def weight_of_the_schema(draw: random.Random) -> Fields:
    w = Ward(draw)
    weights = [f"{draw.uniform(5, 50):.6f}" for _ in range(w.people)]
    return w.case(
        original=w.original(w=weights),
        schema=w.schema(top={"weight": "w"}),
        release=w.release(w=weights),
        truth=Truth(alone(weights), "their row by its weight", w.people),
    )


@leak("weights and counters", "linking")
def counter_of_visits(draw: random.Random) -> Fields:
    w = Ward(draw)
    order = list(range(w.people))
    draw.shuffle(order)
    return _column(w, [str(70_000 + 7 * i) for i in order], "their row by the ticket's number", name="ticket")


@leak("weights and counters", "singling out")
def coordinates(draw: random.Random) -> Fields:
    w = Ward(draw)
    homes = [f"{draw.uniform(47, 55):.5f}" for _ in range(w.people)]
    return _column(w, homes, "where they live", name="latitude")


@leak("weights and counters", "singling out")
def laboratory_values(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _column(w, [f"{draw.gauss(5, 1):.4f}" for _ in range(w.people)], "their row by the blood test", name="ldl")


@leak("households", "linking")
def household_numbers(draw: random.Random) -> Fields:
    w = Ward(draw)
    homes = [f"{i // 3 + 500}" for i in range(w.people)]
    draw.shuffle(homes)
    return w.case(
        original=w.original(household=homes),
        schema=w.schema(household=attribute("i")),
        release=w.release(household=homes),
        truth=Truth(sum(n > 1 for n in Counter(homes).values()) * 3, "who lives with whom", w.people),
    )


@leak("households", "linking")
def families_of_two_to_five(draw: random.Random) -> Fields:
    w = Ward(draw)
    homes: list[str] = []
    while len(homes) < w.people:
        homes += [f"H{draw.getrandbits(24):06x}"] * draw.randrange(2, 6)
    homes = homes[: w.people]
    draw.shuffle(homes)
    return w.case(
        original=w.original(home=homes),
        schema=w.schema(home=attribute("i")),
        release=w.release(home=homes),
        truth=Truth(w.people, "who lives with whom", w.people),
    )


# --- columns that tell the secret -------------------------------------------------------------------------------------


def _tells(w: Ward, name: str, values: list[str], people: int, kind: str = "") -> dict[str, object]:
    return w.case(
        original=w.original(**{name: values}),
        schema=w.schema(**{name: attribute("i", kind)}),
        release=w.release(**{name: values}),
        truth=Truth(people, "their diagnosis", w.people),
    )


@leak("insensitive tells sensitive", "inference")
def drug_is_the_diagnosis(draw: random.Random) -> Fields:
    w = Ward(draw)
    drugs = [f"drug {DIAGNOSES.index(d) * 7 % 10}" for d in w.diagnosis]
    return _tells(w, "drug", drugs, determined(drugs, w.diagnosis))


@leak("insensitive tells sensitive", "inference")
def two_drugs_a_diagnosis(draw: random.Random) -> Fields:
    w = Ward(draw)
    drugs = [f"d{DIAGNOSES.index(d) * 2 + draw.randrange(2)}" for d in w.diagnosis]
    return _tells(w, "drug", drugs, determined(drugs, w.diagnosis))


@leak("insensitive tells sensitive", "inference")
def ward_of_one_diagnosis(draw: random.Random) -> Fields:
    w = Ward(draw)
    wards = ["oncology" if d == DIAGNOSES[3] else draw.choice(("a", "b", "c")) for d in w.diagnosis]
    return _tells(w, "ward", wards, sum(x == "oncology" for x in wards))


@leak("insensitive tells sensitive", "inference")
def nearly_always_the_drug(draw: random.Random) -> Fields:
    w = Ward(draw)
    drugs = [str(DIAGNOSES.index(d if draw.random() < 0.95 else draw.choice(DIAGNOSES))) for d in w.diagnosis]
    right = sum(DIAGNOSES[int(x)] == d for x, d in zip(drugs, w.diagnosis, strict=True))
    return _tells(w, "drug", drugs, right)


@leak("insensitive tells sensitive", "inference")
def fee_of_the_diagnosis(draw: random.Random) -> Fields:
    w = Ward(draw)
    fees = [f"{100 + 37.5 * DIAGNOSES.index(d):.2f}" for d in w.diagnosis]
    return _tells(w, "fee", fees, determined(fees, w.diagnosis), "numeric")


@leak("insensitive tells sensitive", "inference")
def fee_near_the_diagnosis(draw: random.Random) -> Fields:
    w = Ward(draw)
    fees = [str(1000 * DIAGNOSES.index(d) + draw.randrange(40)) for d in w.diagnosis]
    return _tells(w, "fee", fees, w.people, "numeric")


@leak("insensitive tells sensitive", "inference")
def two_columns_together(draw: random.Random) -> Fields:
    w = Ward(draw)
    one = [draw.randrange(10) for _ in range(w.people)]
    two = [(DIAGNOSES.index(d) - v) % 10 for d, v in zip(w.diagnosis, one, strict=True)]
    first, second = [str(v) for v in one], [str(v) for v in two]
    return w.case(
        original=w.original(desk=first, floor=second),
        schema=w.schema(desk=attribute("i"), floor=attribute("i")),
        release=w.release(desk=first, floor=second),
        truth=Truth(determined(list(zip(first, second, strict=True)), w.diagnosis), "their diagnosis", w.people),
    )


@leak("insensitive tells sensitive", "inference")
def copy_of_the_secret(draw: random.Random) -> Fields:
    w = Ward(draw)
    copy = [d.upper() for d in w.diagnosis]
    return _tells(w, "code", copy, determined(copy, w.diagnosis))


@leak("insensitive tells sensitive", "inference")
def first_letter_of_the_secret(draw: random.Random) -> Fields:
    w = Ward(draw)
    letters = [d[0] for d in w.diagnosis]
    return _tells(w, "letter", letters, determined(letters, w.diagnosis))


@leak("insensitive tells quasi-identifier", "singling out")
def exact_age_called_insensitive(draw: random.Random) -> Fields:
    w = Ward(draw, 420)
    release = w.in_order(years=w.age, place=w.region)
    people = alone(joined(release, ["years", "sex", "place"]))
    return w.case(
        original=w.original(years=w.age, place=w.region),
        schema=w.schema(years=attribute("i", "numeric"), place=attribute("i")),
        release=shuffled(release, draw),
        truth=Truth(people, "their row", w.people),
    )


@leak("insensitive tells quasi-identifier", "singling out")
def school_tells_the_region(draw: random.Random) -> Fields:
    w = Ward(draw)
    schools = [f"{r[0]}{draw.randrange(8)}" for r in w.region]
    release = w.in_order(school=schools)
    people = determined(schools, w.region)
    return w.case(
        original=w.original(school=schools),
        schema=w.schema(school=attribute("i")),
        release=shuffled(release, draw),
        truth=Truth(people, "their region, which was withheld", w.people),
    )
