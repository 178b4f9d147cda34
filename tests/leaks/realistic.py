"""Releases as a careful steward makes them, by our own anonymizers: what people are depends on each other, mildly.

Each was written before any check was run on it. They are safe by what they were required to keep: classes of twenty or
more, in which the secret is distributed about as it is among all.
"""

import csv
import io
import random
import tempfile
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

from tests.leaks.case import Columns, Truth, attribute, control, csv_text, schema_text

__all__: list[str] = []

Fields = Mapping[str, object]
TOWNS = {t: ("coast" if i < 4 else "hills") for i, t in enumerate(("Aa", "Bo", "Ce", "Du", "Ek", "Fu", "Gi", "Ho"))}
ILLNESSES = {
    **dict.fromkeys(("asthma", "bronchitis", "flu"), "lungs"),
    **dict.fromkeys(("angina", "stroke", "thrombosis"), "heart"),
    **dict.fromkeys(("fracture", "arthrosis", "gout"), "bones"),
}
HIERARCHIES = {
    "town.csv": "".join(f"{t};{area};*\n" for t, area in TOWNS.items()),
    "age.csv": "".join(f"{a};{a // 20 * 20}-{a // 20 * 20 + 19};*\n" for a in range(18, 96)),
    "illness.csv": "".join(f"{i};{organ};*\n" for i, organ in ILLNESSES.items()),
}


def _people(draw: random.Random, number: int) -> Columns:
    """Ages of a town, sexes, jobs that depend on age, illnesses that depend on age a little."""
    age = [min(max(int(draw.gauss(48, 17)), 18), 95) for _ in range(number)]
    old = [(a - 48) / 60 for a in age]
    names = list(ILLNESSES)
    illness = [
        draw.choices(names, weights=[1 + (0.8 if n in ("stroke", "arthrosis", "gout") else -0.6) * o for n in names])[0]
        for o in old
    ]
    return {
        "number": [str(v) for v in draw.sample(range(10**6, 10**7), number)],
        "age": [str(a) for a in age],
        "sex": [draw.choice("fm") for _ in age],
        "town": [draw.choices(tuple(TOWNS), weights=(9, 7, 5, 4, 9, 7, 5, 4))[0] for _ in age],
        "job": ["none" if draw.random() < max(o, 0.1) else draw.choice(("office", "craft", "care")) for o in old],
        "illness": illness,
    }


ATTRIBUTES: Mapping[str, Mapping[str, object]] = {
    "number": attribute("id"),
    "age": attribute("q", "numeric", domain={"from": 18, "to": 95, "step": 1}),
    "sex": attribute("q", domain=["f", "m"]),
    "town": attribute("q", domain=list(TOWNS), hierarchy="town.csv"),
    "job": attribute("q", domain=["care", "craft", "none", "office"]),
    "illness": attribute("s", domain=list(ILLNESSES)),
}


def _made(
    people: Columns,
    scheme: str,
    *require: str,
    attributes: Mapping[str, Mapping[str, object]] | None = None,
    top: Mapping[str, object] | None = None,
) -> Fields:
    """The release that the scheme makes of these people, written and read as plain text."""
    from unveil import Engine, anonymizer
    from unveil.data.schema import read_schema
    from unveil.formats.releases import write_release
    from unveil.formats.tables import read_table

    kinds = {**ATTRIBUTES, **(attributes or {})}
    schema = schema_text({n: kinds[n] for n in people}, **(top or {}))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in {**HIERARCHIES, "schema.toml": schema, "people.csv": csv_text(people)}.items():
            (folder / file).write_text(text)
        declared = read_schema(folder / "schema.toml")
        table = read_table(folder / "people.csv", declared)
        made = anonymizer(scheme, require=list(require)).anonymize(table, Engine(seed=1))
        write_release(made.release, folder / "release.csv")
        text = (folder / "release.csv").read_text()
        rows = list(csv.reader(io.StringIO(text)))
        sidecar = folder / "release.toml"
        beside = {
            f.name: f.read_text()
            for f in folder.iterdir()
            if f.name.startswith("release") and f.name not in ("release.csv", "release.toml")
        }
        return {
            "original": people,
            "schema": schema,
            "release": {n: [row[i] for row in rows[1:]] for i, n in enumerate(rows[0])},
            "release_text": text,
            "sidecar": sidecar.read_text() if sidecar.exists() else "",
            "files": {**HIERARCHIES, **beside},
            "truth": Truth(0, "nothing", len(people["number"])),
        }


@control("made by unveil")
def mondrian_as_advised(draw: random.Random) -> Fields:
    return _made(_people(draw, 3_000), "mondrian:k=20", "t_closeness:t=0.3")


@control("made by unveil")
def mondrian_of_few(draw: random.Random) -> Fields:
    return _made(_people(draw, 500), "mondrian:k=50", "t_closeness:t=0.25")


@control("made by unveil")
def mondrian_of_many(draw: random.Random) -> Fields:
    return _made(_people(draw, 12_000), "mondrian:k=50", "t_closeness:t=0.2")


@control("made by unveil")
def mondrian_close_by_hierarchy(draw: random.Random) -> Fields:
    """Illnesses of one organ are alike: the earth mover's distance along the hierarchy."""
    kind = {"illness": attribute("s", domain=list(ILLNESSES), hierarchy="illness.csv")}
    return _made(_people(draw, 4_000), "mondrian:k=30", "t_closeness:t=0.15,distance=hierarchical", attributes=kind)


@control("made by unveil")
def mondrian_close_by_order(draw: random.Random) -> Fields:
    """Seven grades of pain, which grow with age a little."""
    people = _people(draw, 4_000)
    people["illness"] = [str(min(max(round(3.5 + (int(a) - 48) / 60 + draw.gauss(0, 2)), 1), 7)) for a in people["age"]]
    kind = {"illness": attribute("s", "ordinal", domain=list("1234567"))}
    return _made(people, "mondrian:k=30", "t_closeness:t=0.15,distance=ordered", attributes=kind)


@control("made by unveil")
def full_domain_of_twenty(draw: random.Random) -> Fields:
    people = _people(draw, 4_000)
    kind = {"age": attribute("q", "numeric", domain={"from": 18, "to": 95, "step": 1}, hierarchy="age.csv")}
    return _made(people, "full_domain:k=20", "t_closeness:t=0.3", attributes=kind)


@control("made by unveil")
def anatomy_of_six(draw: random.Random) -> Fields:
    people = {n: v for n, v in _people(draw, 2_000).items() if n not in ("age", "job")}
    return _made(people, "anatomy:l=6")


@control("made by unveil")
def slices_of_thirty(draw: random.Random) -> Fields:
    people = {n: v for n, v in _people(draw, 1_500).items() if n != "age"}
    return _made(people, "slicing:k=30")


@control("made by unveil")
def mondrian_of_two_secrets(draw: random.Random) -> Fields:
    people = _people(draw, 4_000)
    people["debt"] = [draw.choices(("none", "some", "much"), weights=(5, 3, 2))[0] for _ in people["age"]]
    kind = {"debt": attribute("s", domain=["much", "none", "some"])}
    return _made(people, "mondrian:k=400", "t_closeness:t=0.25", attributes=kind)


@control("made by unveil")
def mondrian_of_three_secrets(draw: random.Random) -> Fields:
    people = _people(draw, 6_000)
    people["debt"] = [draw.choices(("none", "some", "much"), weights=(5, 3, 2))[0] for _ in people["age"]]
    people["vote"] = [draw.choice("abcd") for _ in people["age"]]
    kind = {"debt": attribute("s", domain=["much", "none", "some"]), "vote": attribute("s", domain=list("abcd"))}
    return _made(people, "mondrian:k=1000", "t_closeness:t=0.25", attributes=kind)


@control("made by unveil")
def incomes_in_wide_classes(draw: random.Random) -> Fields:
    """A secret of thousands of values."""
    people = _people(draw, 3_000)
    people["illness"] = [str(int(draw.lognormvariate(10, 0.5))) for _ in people["age"]]
    kind = {"illness": attribute("s", "numeric")}
    return _made(people, "mondrian:k=60", "t_closeness:t=0.2,distance=ordered", attributes=kind)


@control("made by unveil")
def days_of_diagnosis(draw: random.Random) -> Fields:
    people = _people(draw, 3_000)
    people["illness"] = [(date(2020, 1, 1) + timedelta(days=draw.randrange(1_400))).isoformat() for _ in people["age"]]
    kind = {"illness": attribute("s", "date")}
    return _made(people, "mondrian:k=60", "t_closeness:t=0.2,distance=ordered", attributes=kind)


@control("made by unveil")
def mondrian_with_a_year(draw: random.Random) -> Fields:
    """An insensitive year of three that has to do with nothing."""
    people = _people(draw, 6_000)
    people["year"] = [draw.choice(("2021", "2022", "2023")) for _ in people["age"]]
    kind = {"year": attribute("i", domain=["2021", "2022", "2023"])}
    return _made(people, "mondrian:k=60", "t_closeness:t=0.2", attributes=kind)


@control("made by unveil")
def semicolons_and_commas(draw: random.Random) -> Fields:
    """The German notation: semicolons between cells, commas in numbers."""
    people = _people(draw, 3_000)
    people["illness"] = [f"{draw.randrange(10, 60) / 10:.1f}".replace(".", ",") for _ in people["age"]]
    kinds = {"illness": attribute("s", domain=sorted(set(people["illness"])))}
    made = dict(_made(people, "mondrian:k=40", "t_closeness:t=0.3", attributes=kinds))
    made["release_text"] = csv_text(made["release"], ";")  # type: ignore[arg-type]
    return made


@control("made by unveil")
def a_third_drawn_at_random(draw: random.Random) -> Fields:
    made = dict(_made(_people(draw, 6_000), "mondrian:k=40", "t_closeness:t=0.2"))
    release: Columns = made["release"]  # type: ignore[assignment]
    rows = sorted(draw.sample(range(6_000), 2_000))
    made["release"] = {n: [v[i] for i in rows] for n, v in release.items()}
    made["release_text"] = None
    return made


@control("made by unveil")
def what_everybody_knows(draw: random.Random) -> Fields:
    """Arthrosis hardly before fifty: a fact about people in general, which wide classes still show."""
    people = _people(draw, 4_000)
    names = list(ILLNESSES)
    people["illness"] = [
        draw.choices(names, weights=[(1.6 if int(a) >= 50 else 0.1) if n == "arthrosis" else 1 for n in names])[0]
        for a in people["age"]
    ]
    return _made(people, "mondrian:k=40", "t_closeness:t=0.3")


@control("made by unveil")
def some_rows_left_out(draw: random.Random) -> Fields:
    """One row in twenty, drawn at random, is not published."""
    made = dict(_made(_people(draw, 4_000), "mondrian:k=30", "t_closeness:t=0.25"))
    release: Columns = made["release"]  # type: ignore[assignment]
    rows = sorted(draw.sample(range(4_000), 3_800))
    made["release"] = {n: [v[i] for i in rows] for n, v in release.items()}
    made["release_text"] = None
    return made


@control("made by unveil")
def a_workbook_of_one_sheet(draw: random.Random) -> Fields:
    import xlsxwriter

    made = dict(_made(_people(draw, 2_000), "mondrian:k=40", "t_closeness:t=0.3"))
    release: Columns = made["release"]  # type: ignore[assignment]
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = book.add_worksheet("release")
    for i, row in enumerate([tuple(release), *zip(*release.values(), strict=True)]):
        for j, value in enumerate(row):
            sheet.write_string(i, j, value)
    book.close()
    return made | {"release_text": content.getvalue(), "release_name": "release.xlsx"}


@control("made by unveil")
def towns_withheld_by_ones_hand(draw: random.Random) -> Fields:
    """Ages in three bands, towns as areas, jobs withheld: done by hand, rows shuffled."""
    people = _people(draw, 3_000)
    bands = {a: "[18,39]" if a < 40 else "[40,59]" if a < 60 else "[60,95]" for a in range(18, 96)}
    rows = list(
        zip(
            [bands[int(a)] for a in people["age"]],
            people["sex"],
            [TOWNS[t] for t in people["town"]],
            people["illness"],
            strict=True,
        )
    )
    draw.shuffle(rows)
    shown = {n: [r[i] for r in rows] for i, n in enumerate(("age", "sex", "town", "illness"))}
    original = {n: v for n, v in people.items() if n != "job"}
    return {
        "original": original,
        "schema": schema_text({n: ATTRIBUTES[n] for n in original}),
        "release": shown,
        "files": HIERARCHIES,
        "truth": Truth(0, "nothing", 3_000),
    }


@control("made by unveil")
def membership_answered(draw: random.Random) -> Fields:
    """The schema says that nothing was published before, and that being in the table is harmless."""
    top = {"membership": "harmless", "earlier_releases": [], "population_register": "none"}
    return _made(_people(draw, 3_000), "mondrian:k=30", "t_closeness:t=0.25", top=top)
