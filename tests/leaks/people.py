"""Leaks in who the rows are: several a person, padding, part of the people, no row that fits, claims, membership."""

import random
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from tests.leaks.case import (
    DIAGNOSES,
    REGIONS,
    Columns,
    Truth,
    Ward,
    alone,
    attribute,
    band,
    csv_text,
    determined,
    joined,
    leak,
    schema_text,
    shuffled,
)

__all__: list[str] = []

Fields = Mapping[str, object]


def _times(columns: Columns, times: int) -> Columns:
    return {name: [v for v in values for _ in range(times)] for name, values in columns.items()}


# --- several rows a person --------------------------------------------------------------------------------------------


def _visits(draw: random.Random, people: int, times: int) -> tuple[Ward, Columns, Columns]:
    """Every person `times` times in the original, with exact cells: the classes are one person each."""
    w = Ward(draw, people)
    original = _times(w.original(), times)
    release = {n: original[n] for n in ("age", "sex", "region", "diagnosis")}
    return w, original, shuffled(release, draw)


@leak("several rows a person", "singling out")
def five_visits_each(draw: random.Random) -> Fields:
    w, original, release = _visits(draw, 150, 6)
    own = joined(w.original(), ["age", "sex", "region"])
    people = determined(own, w.number)  # known by those three, nobody else looks the same
    return w.case(
        original=original, release=release, truth=Truth(people, "their rows: k counts visits, not people", w.people)
    )


@leak("several rows a person", "singling out")
def six_visits_with_other_diagnoses(draw: random.Random) -> Fields:
    w = Ward(draw, 150)
    original = _times(w.original(), 6)
    original["diagnosis"] = [draw.choice(DIAGNOSES) for _ in original["diagnosis"]]
    release = shuffled({n: original[n] for n in ("age", "sex", "region", "diagnosis")}, draw)
    people = determined(joined(w.original(), ["age", "sex", "region"]), w.number)
    return w.case(
        original=original, release=release, truth=Truth(people, "all their visits: a class is one person", w.people)
    )


@leak("several rows a person", "singling out")
def visits_without_a_number(draw: random.Random) -> Fields:
    """Six visits of each person; nothing in the original says that they are one person's."""
    w = Ward(draw, 150)
    original = {n: v for n, v in _times(w.original(), 6).items() if n != "number"}
    original["diagnosis"] = [draw.choice(DIAGNOSES) for _ in original["diagnosis"]]
    kinds = {
        "age": attribute("q", "numeric", domain={"from": 20, "to": 79, "step": 1}),
        "sex": attribute("q", domain=["f", "m"]),
        "region": attribute("q", domain=list(REGIONS)),
        "diagnosis": attribute("s", domain=list(DIAGNOSES)),
    }
    people = determined(joined(w.original(), ["age", "sex", "region"]), w.number)
    return w.case(
        original=original,
        schema=schema_text(kinds),
        release=shuffled(original, draw),
        truth=Truth(people, "all their visits: a class is one person", w.people),
    )


@leak("several rows a person", "inference")
def families_share_the_disease(draw: random.Random) -> Fields:
    """A class of eight is two families; each family has one disease and the file has its number."""
    w = Ward(draw, 600)
    families = [str(i // 4) for i in range(w.people)]
    disease = [DIAGNOSES[int(f) % 10] for f in families]
    return w.case(
        original={**w.original(family=families), "diagnosis": disease},
        schema=w.schema(family=attribute("i")),
        release=shuffled({**w.in_order(family=families), "diagnosis": disease}, draw),
        truth=Truth(determined(families, disease), "their diagnosis from any relative's", w.people),
    )


@leak("padding", "singling out")
def every_row_five_times(draw: random.Random) -> Fields:
    w = Ward(draw, 200)
    exact = {n: w.original()[n] for n in ("age", "sex", "region", "diagnosis")}
    people = alone(joined(exact, ["age", "sex", "region"]))
    return w.case(
        release=shuffled(_times(exact, 5), draw),
        truth=Truth(people, "their row: its copies do not hide it", w.people),
    )


@leak("padding", "singling out")
def small_classes_filled_up_with_copies(draw: random.Random) -> Fields:
    w = Ward(draw, 200)
    exact = {n: w.original()[n] for n in ("age", "sex", "region", "diagnosis")}
    rows = list(zip(*exact.values(), strict=True))
    sizes = Counter(r[:3] for r in rows)
    filled = list(rows)
    for row in rows:
        while sizes[row[:3]] < 6:
            filled.append(row)
            sizes[row[:3]] += 1
    release = {n: [r[i] for r in filled] for i, n in enumerate(exact)}
    people = alone(r[:3] for r in rows)
    return w.case(release=shuffled(release, draw), truth=Truth(people, "their diagnosis", w.people))


@leak("padding", "singling out")
def small_classes_filled_up_with_decoys(draw: random.Random) -> Fields:
    w = Ward(draw, 200)
    exact = {n: w.original()[n] for n in ("age", "sex", "region", "diagnosis")}
    rows = list(zip(*exact.values(), strict=True))
    sizes = Counter(r[:3] for r in rows)
    filled = list(rows)
    for key in list(sizes):
        while sizes[key] < 6:  # made-up people: nobody in the original has these rows
            filled.append((*key, "*"))
            sizes[key] += 1
    release = {n: [r[i] for r in filled] for i, n in enumerate(exact)}
    return w.case(
        release=shuffled(release, draw),
        truth=Truth(alone(r[:3] for r in rows), "their row: the others show no diagnosis", w.people),
    )


@leak("padding", "singling out")
def decoys_with_diagnoses(draw: random.Random) -> Fields:
    w = Ward(draw, 200)
    exact = {n: w.original()[n] for n in ("age", "sex", "region", "diagnosis")}
    rows = list(zip(*exact.values(), strict=True))
    sizes = Counter(r[:3] for r in rows)
    filled = list(rows)
    for key in list(sizes):
        while sizes[key] < 6:
            filled.append((*key, "influenza"))
            sizes[key] += 1
    release = {n: [r[i] for r in filled] for i, n in enumerate(exact)}
    sure = sum(sizes[r[:3]] <= 6 and r[3] != "influenza" and Counter(x[:3] for x in rows)[r[:3]] == 1 for r in rows)
    return w.case(
        release=shuffled(release, draw), truth=Truth(sure, "their diagnosis: the one row that differs", w.people)
    )


@leak("padding", "singling out")
def count_column_multiplies(draw: random.Random) -> Fields:
    w = Ward(draw, 200)
    exact = {n: w.original()[n] for n in ("age", "sex", "region", "diagnosis")}
    people = alone(joined(exact, ["age", "sex", "region"]))
    release = shuffled({**exact, "count": ["7"] * w.people}, draw)
    return w.case(
        release=release,
        truth=Truth(people, "their row: a column that nobody explained says it stands for seven", w.people),
        columns_known=False,
    )


# --- part of the people -----------------------------------------------------------------------------------------------


@leak("part of the people", "inference")
def ninety_of_two_thousand(draw: random.Random) -> Fields:
    """Three classes of 30, each with one diagnosis; 1,910 people are not published, and fit no row."""
    w = Ward(draw, 2_000)
    chosen: list[int] = []
    for sex, diagnosis in (("f", DIAGNOSES[0]), ("m", DIAGNOSES[1])):
        fit = [i for i in range(w.people) if w.sex[i] == sex and w.age[i] < "25"]
        for i in fit[:45]:
            w.diagnosis[i] = diagnosis
        chosen += fit[:45]
    cells = w.cells()
    release = {
        "age": ["[20,24]" for _ in chosen],
        "sex": [cells[i][1] for i in chosen],
        "region": ["*" for _ in chosen],
        "diagnosis": [w.diagnosis[i] for i in chosen],
    }
    return w.case(
        original=w.original(),
        release=shuffled(release, draw),
        truth=Truth(determined(release["sex"], release["diagnosis"]), "their diagnosis", len(chosen)),
    )


@leak("part of the people", "inference")
def only_the_suppressed_row_fits(draw: random.Random) -> Fields:
    """Everybody else is in a class; one person fits only the one row that is all `*` but for the diagnosis."""
    w = Ward(draw)
    w.age[0], w.sex[0] = "20", "f"
    others = [i for i in range(w.people) if i and band(w.age[i]) != "[20,39]"]
    people = [0, *others]
    original = {n: [v[i] for i in people] for n, v in w.original().items()}
    cells = w.cells()
    rows = [(*cells[i], w.diagnosis[i]) for i in others] + [("*", "*", "*", w.diagnosis[0])]
    release = {n: [r[j] for r in rows] for j, n in enumerate(("age", "sex", "region", "diagnosis"))}
    return w.case(
        original=original,
        release=shuffled(release, draw),
        truth=Truth(1, "her diagnosis: she fits no other row", len(people)),
    )


@leak("part of the people", "singling out")
def a_tenth_keeps_exact_cells(draw: random.Random) -> Fields:
    w = Ward(draw)
    release = w.in_order()
    exact = draw.sample(range(w.people), w.people // 10)
    for i in exact:
        release["age"][i], release["region"][i] = w.age[i], w.region[i]
    shown = joined(release, ["age", "sex", "region"])
    return w.case(release=shuffled(release, draw), truth=Truth(alone(shown), "their row", w.people))


# --- people who fit no row --------------------------------------------------------------------------------------------


def _numbers(draw: random.Random, people: int = 300) -> tuple[Ward, Columns, str]:
    """People with an exact age and an income, both numbers that others may know, and a diagnosis."""
    w = Ward(draw, people)
    pay = [str(v) for v in draw.sample(range(20_000, 90_000, 10), people)]
    schema = schema_text(
        {
            "number": attribute("id"),
            "age": attribute("q", "numeric"),
            "income": attribute("q", "numeric"),
            "diagnosis": attribute("s", domain=list(DIAGNOSES)),
        }
    )
    return w, {"number": w.number, "age": w.age, "income": pay, "diagnosis": w.diagnosis}, schema


def _release_of(original: Columns, **changed: list[str]) -> Columns:
    return {n: list(v) for n, v in {**original, **changed}.items() if n != "number"}


def _open_schema(schema: str) -> str:
    """The same with domains wide enough for what is published."""
    for name, domain in (("age", "from = 0, to = 120, step = 1"), ("income", "from = 0, to = 200000, step = 10")):
        numeric = f'[attributes."{name}"]\nrole = "quasi-identifier"\nkind = "numeric"\n'
        schema = schema.replace(numeric, f"{numeric}domain = {{ {domain} }}\n")
    return schema


@leak("fits no row", "linking")
def means_of_three_without_a_word(draw: random.Random) -> Fields:
    w, original, schema = _numbers(draw)
    order = sorted(range(w.people), key=lambda i: (int(original["age"][i]), int(original["income"][i])))
    age, pay = [""] * w.people, [""] * w.people
    for start in range(0, w.people, 3):
        rows = order[start : start + 3]
        for i in rows:
            age[i] = str(round(sum(int(original["age"][j]) for j in rows) / len(rows)))
            pay[i] = str(round(sum(int(original["income"][j]) for j in rows) / len(rows), -1))
    release = _release_of(original, age=age, income=[p.removesuffix(".0") for p in pay])
    nearest = _nearest_right(original, release, 3)
    return w.case(
        original=original,
        schema=_open_schema(schema),
        release=shuffled(release, draw),
        truth=Truth(nearest, "their row: among the three nearest", w.people),
    )


def _nearest_right(original: Columns, release: Columns, tied: int = 1) -> int:
    """How many people (rows aligned) have their own row among those nearest by age and income; ties up to `tied`."""
    people = [(int(a) / 17, int(p) / 20_000) for a, p in zip(original["age"], original["income"], strict=True)]
    rows = [(float(a) / 17, float(p) / 20_000) for a, p in zip(release["age"], release["income"], strict=True)]
    right = 0
    for i, (a, p) in enumerate(people):
        own = (rows[i][0] - a) ** 2 + (rows[i][1] - p) ** 2
        right += sum((x - a) ** 2 + (y - p) ** 2 < own - 1e-12 for x, y in rows) < tied
    return right


@leak("fits no row", "linking")
def ages_one_year_later(draw: random.Random) -> Fields:
    w, original, schema = _numbers(draw)
    age = [str(int(a) + 1) for a in original["age"]]
    release = _release_of(original, age=age)
    return w.case(
        original=original,
        schema=_open_schema(schema),
        release=shuffled(release, draw),
        truth=Truth(alone(original["income"]), "their row by the income alone", w.people),
    )


@leak("fits no row", "linking")
def incomes_in_another_currency(draw: random.Random) -> Fields:
    w, original, schema = _numbers(draw)
    pay = [str(round(int(p) * 1.1) // 10 * 10) for p in original["income"]]
    release = _release_of(original, income=pay)
    ranks = sorted(range(w.people), key=lambda i: int(original["income"][i]))
    kept = sum(int(pay[a]) <= int(pay[b]) for a, b in pairwise(ranks)) + 1
    return w.case(
        original=original,
        schema=_open_schema(schema),
        release=shuffled(release, draw),
        truth=Truth(kept, "their row by the rank of the income", w.people),
    )


@leak("fits no row", "linking")
def incomes_rounded_to_fifty(draw: random.Random) -> Fields:
    w, original, schema = _numbers(draw)
    pay = [str(round(int(p) / 50) * 50) for p in original["income"]]
    release = _release_of(original, income=pay)
    return w.case(
        original=original,
        schema=_open_schema(schema),
        release=shuffled(release, draw),
        truth=Truth(_nearest_right(original, release), "their row: the nearest", w.people),
    )


# --- masked files -----------------------------------------------------------------------------------------------------


def _masked(
    w: Ward, original: Columns, release: Columns, schema: str, sidecar: str, people: int, learned: str
) -> Fields:
    order = list(range(w.people))
    w.draw.shuffle(order)
    rows = {n: [v[i] for i in order] for n, v in release.items()}
    place = {i: j for j, i in enumerate(order)}
    assignment = {
        "row": [str(i + 1) for i in range(w.people)],
        "group": [str(place[i] + 1) for i in range(w.people)],
    }
    return w.case(
        original=original,
        schema=_open_schema(schema),
        release=rows,
        sidecar=sidecar,
        files={"assignment.csv": csv_text(assignment)},
        options=("--assignment", "@assignment.csv"),
        truth=Truth(people, learned, w.people),
    )


@leak("masked", "linking")
def one_column_left_as_it_was(draw: random.Random) -> Fields:
    w, original, schema = _numbers(draw)
    age = [str(min(120, max(0, int(a) + draw.randrange(-30, 31)))) for a in original["age"]]
    release = _release_of(original, age=age)
    return _masked(
        w,
        original,
        release,
        schema,
        'masked = ["age", "income"]\n',
        alone(original["income"]),
        "their row by the income",
    )


@leak("masked", "linking")
def incomes_times_a_constant(draw: random.Random) -> Fields:
    w, original, schema = _numbers(draw)
    pay = [str(int(p) * 2) for p in original["income"]]
    release = _release_of(original, income=pay)
    return _masked(w, original, release, schema, 'masked = ["income"]\n', alone(pay), "their row: twice the income")


@leak("masked", "linking")
def incomes_upside_down(draw: random.Random) -> Fields:
    w, original, schema = _numbers(draw)
    pay = [str(110_000 - int(p)) for p in original["income"]]
    release = _release_of(original, income=pay)
    return _masked(
        w, original, release, schema, 'masked = ["income"]\n', alone(pay), "their row by the rank from above"
    )


@leak("masked", "linking")
def noise_of_ten_euros(draw: random.Random) -> Fields:
    w, original, schema = _numbers(draw)
    pay = [str(int(p) + draw.choice((-10, 0, 10))) for p in original["income"]]
    release = _release_of(original, income=pay)
    return _masked(
        w,
        original,
        release,
        schema,
        'masked = ["income"]\nmethod = "noise"\n',
        _nearest_right(original, release),
        "their row",
    )


@leak("masked", "linking")
def a_few_swapped(draw: random.Random) -> Fields:
    w, original, schema = _numbers(draw)
    pay = list(original["income"])
    for _ in range(5):
        a, b = draw.sample(range(w.people), 2)
        pay[a], pay[b] = pay[b], pay[a]
    release = _release_of(original, income=pay)
    same = sum(a == b for a, b in zip(pay, original["income"], strict=True))
    return _masked(w, original, release, schema, 'masked = ["income"]\nmethod = "swapping"\n', same, "their row")


@leak("masked", "linking")
def noise_in_the_order_of_the_original(draw: random.Random) -> Fields:
    w, original, schema = _numbers(draw)
    pay = [str(max(0, int(p) + 10 * draw.randrange(-500, 501))) for p in original["income"]]
    age = [str(min(120, max(0, int(a) + draw.randrange(-15, 16)))) for a in original["age"]]
    return w.case(
        original=original,
        schema=_open_schema(schema),
        release=_release_of(original, income=pay, age=age),
        sidecar='masked = ["age", "income"]\nmethod = "noise"\n',
        truth=Truth(w.people, "their row: it stands where they stand", w.people),
    )


# --- claims that are not true -----------------------------------------------------------------------------------------


@leak("wrong claims", "file")
def raw_table_labelled_masked(draw: random.Random) -> Fields:
    w, original, schema = _numbers(draw)
    release = _release_of(original)
    return _masked(
        w,
        original,
        release,
        schema,
        'masked = ["age", "income"]\nmethod = "noise:share=0.5"\n',
        w.people,
        "their row: nothing was changed",
    )


def _pram(w: Ward, retain: float, changed: list[str]) -> Fields:
    other = (1 - retain) / 3
    rows = [[round(retain if a == b else other, 6) for b in range(4)] for a in range(4)]
    release = {**{n: w.original()[n] for n in ("age", "sex", "diagnosis")}, "region": changed}
    release = {n: release[n] for n in ("age", "sex", "region", "diagnosis")}
    release["age"] = [band(a).strip("[]").split(",")[0] for a in release["age"]]
    original = {**w.original(), "age": release["age"]}
    order = list(range(w.people))
    w.draw.shuffle(order)
    place = {i: j for j, i in enumerate(order)}
    assignment = {
        "row": [str(i + 1) for i in range(w.people)],
        "group": [str(place[i] + 1) for i in range(w.people)],
    }
    same = sum(a == b for a, b in zip(changed, w.region, strict=True))
    return w.case(
        original=original,
        release={n: [v[i] for i in order] for n, v in release.items()},
        schema=w.schema(region=attribute("q", domain=list(REGIONS))),
        sidecar=f'masked = ["region"]\nmethod = "pram:retain={retain}"\n[channel]\nregion = {rows}\n',
        files={"assignment.csv": csv_text(assignment)},
        options=("--assignment", "@assignment.csv"),
        truth=Truth(same, "their region: the file does not do what it says", w.people),
    )


@leak("wrong claims", "file")
def pram_that_changed_nothing(draw: random.Random) -> Fields:
    w = Ward(draw, 300)
    return _pram(w, 0.4, list(w.region))


@leak("wrong claims", "file")
def pram_weaker_than_it_says(draw: random.Random) -> Fields:
    w = Ward(draw, 300)
    return _pram(w, 0.4, [r if draw.random() < 0.9 else draw.choice(tuple(REGIONS)) for r in w.region])


@leak("wrong claims", "file")
def pram_claimed_without_an_assignment(draw: random.Random) -> Fields:
    w = Ward(draw, 600)
    skewed = [r if draw.random() < 0.3 else "north" for r in w.region]
    rows = [[0.4 if a == b else 0.2 for b in range(4)] for a in range(4)]
    original = {**w.original(), "age": [band(a).strip("[]").split(",")[0] for a in w.age], "region": skewed}
    release = shuffled({n: original[n] for n in ("age", "sex", "region", "diagnosis")}, draw)
    return w.case(
        original=original,
        release=release,
        schema=w.schema(region=attribute("q", domain=list(REGIONS))),
        sidecar=f'masked = ["region"]\nmethod = "pram:retain=0.4"\n[channel]\nregion = {rows}\n',
        truth=Truth(w.people, "their region: nothing was changed", w.people),
    )


@leak("wrong claims", "file")
def exact_counts_called_differentially_private(draw: random.Random) -> Fields:
    w = Ward(draw, 240)
    exact = {n: w.original()[n] for n in ("age", "sex", "region", "diagnosis")}
    people = alone(joined(exact, ["age", "sex", "region"]))
    return w.case(
        release=shuffled(exact, draw),
        sidecar='method = "dp_histogram:epsilon=0.1"\n',
        truth=Truth(people, "their row: no count has any noise", w.people),
    )


@leak("wrong claims", "inference")
def secret_in_both_blocks(draw: random.Random) -> Fields:
    """The blocks hide the diagnosis; a second column, in the other block, is the diagnosis by another name."""
    w = Ward(draw)
    code = [str(DIAGNOSES.index(d)) for d in w.diagnosis]
    release = w.in_order(code=code)
    bucket = ["1"] * w.people
    told = release.pop("diagnosis")
    w.draw.shuffle(told)
    rows = shuffled(release, draw)
    return w.case(
        original=w.original(code=code),
        schema=w.schema(code=attribute("i")),
        release={"group": bucket, **rows, "diagnosis": told},
        sidecar='group = "group"\nblocks = [["age", "sex", "region", "code"], ["diagnosis"]]\n',
        truth=Truth(w.people, "their diagnosis by its other name", w.people),
    )


# --- membership -------------------------------------------------------------------------------------------------------


def _registry(w: Ward, everyone: int) -> tuple[Columns, int]:
    """A population of `everyone`, the ward's people first; of how many members it is certain that they are in."""
    population = {
        "age": [*w.age, *(str(w.draw.randrange(20, 80)) for _ in range(everyone - w.people))],
        "sex": [*w.sex, *(w.draw.choice("fm") for _ in range(everyone - w.people))],
        "region": [*w.region, *(w.draw.choice(tuple(REGIONS)) for _ in range(everyone - w.people))],
    }
    held = Counter(
        (band(a), s, REGIONS[r])
        for a, s, r in zip(population["age"], population["sex"], population["region"], strict=True)
    )
    members = Counter(w.cells())
    return population, sum(n for cell, n in members.items() if held[cell] == n)


@leak("membership", "membership")
def everyone_in_the_town_is_in(draw: random.Random) -> Fields:
    w = Ward(draw)
    population, certain = _registry(w, w.people)
    return w.case(
        schema=w.schema(top={"membership": "sensitive"}),
        files={"population.csv": csv_text(population)},
        options=("--population", "@population.csv"),
        truth=Truth(certain, "that they are in the register, whose name is the diagnosis", w.people),
    )


@leak("membership", "membership")
def most_of_the_town_is_in(draw: random.Random) -> Fields:
    w = Ward(draw)
    population, _ = _registry(w, round(w.people * 1.1))
    return w.case(
        schema=w.schema(top={"membership": "sensitive"}),
        files={"population.csv": csv_text(population)},
        options=("--population", "@population.csv"),
        truth=Truth(w.people, "with nine tenths, that they are in the register", w.people),
    )


@leak("membership", "membership")
def some_classes_are_whole(draw: random.Random) -> Fields:
    w = Ward(draw)
    population, _ = _registry(w, 4 * w.people)
    # Nobody else in the town is a woman of 60 or more.
    keep = [
        i
        for i in range(4 * w.people)
        if i < w.people or not (population["sex"][i] == "f" and int(population["age"][i]) >= 60)
    ]
    population = {n: [v[i] for i in keep] for n, v in population.items()}
    certain = sum(s == "f" and int(a) >= 60 for s, a in zip(w.sex, w.age, strict=True))
    return w.case(
        schema=w.schema(top={"membership": "sensitive"}),
        files={"population.csv": csv_text(population)},
        options=("--population", "@population.csv"),
        truth=Truth(certain, "that they are in the register", w.people),
    )


@leak("membership", "membership")
def exact_cells_of_a_register(draw: random.Random) -> Fields:
    w = Ward(draw)
    pay = [str(v) for v in draw.sample(range(20_000, 90_000), w.people)]
    release = w.in_order(income=pay)
    return w.case(
        original=w.original(income=pay),
        schema=w.schema(top={"membership": "sensitive"}, income=attribute("i", "numeric")),
        release=shuffled(release, draw),
        truth=Truth(alone(pay), "that they are in the register, by an income nobody else has", w.people),
    )


@leak("membership", "inference")
def everybody_has_it(draw: random.Random) -> Fields:
    w = Ward(draw)
    same = ["hepatitis"] * w.people
    return w.case(
        original={**w.original(), "diagnosis": same},
        schema=w.schema(diagnosis=attribute("s", domain=["hepatitis", "healthy"])),
        release={**w.release(), "diagnosis": same},
        truth=Truth(w.people, "the diagnosis that everybody in it has", w.people),
    )
