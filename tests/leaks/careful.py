"""Safe releases of the twelfth trial: people who depend on each other mildly, in forms that offices and tools write."""

import io
import random
from collections.abc import Mapping

from tests.leaks.case import Columns, Truth, attribute, control, csv_text, schema_text, shuffled
from tests.leaks.domains import Domain, census, insurance, payroll, police, school, travellers
from tests.leaks.realistic import ATTRIBUTES, HIERARCHIES, TOWNS, _made, _people
from tests.leaks.twelfth import clinic, tenants

__all__: list[str] = []

Fields = Mapping[str, object]
INSENSITIVE = attribute("i")


def _safe(d: Domain, **fields: object) -> Fields:
    return d.case(truth=Truth(0, "nothing", d.people), **fields)


def _sorted(release: Columns, by: int) -> Columns:
    rows = sorted(zip(*release.values(), strict=True), key=lambda r: r[:by])
    return {n: [r[i] for r in rows] for i, n in enumerate(release)}


@control("careful")
def a_clinic_by_communities(draw: random.Random) -> Fields:
    """Thirty years of birth, communities, sexes: old people have other illnesses, as they do everywhere."""
    return _safe(clinic(draw, 5_000))


@control("careful")
def a_clinic_as_arx_writes_it(draw: random.Random) -> Fields:
    """Semicolons, half-open intervals, one row in fifty suppressed at random, sorted by what is shown."""
    d = clinic(draw, 4_000)
    d.shown["provincia"] = ["*"] * d.people
    d.shown["nacimiento"] = [f"[{x[1:5]}, {int(x[6:10]) + 1}[" for x in d.shown["nacimiento"]]
    release = d.release()
    for i in draw.sample(list(d.all), d.people // 50):
        for n in d.shown:
            release[n][i] = "*"
    release = _sorted(release, 4)
    return _safe(d, release=release, release_text=csv_text(release, ";"))


@control("careful")
def tenants_by_halves_of_the_town(draw: random.Random) -> Fields:
    """What tenants owe, a long tail that grows with age a little; the amounts in steps of fifty."""
    d = tenants(draw, 3_000)
    d.secret["arrears"] = [str(int(x) // 50 * 50) for x in d.told]
    kind = attribute("s", "numeric", domain={"from": 0, "to": 9_950, "step": 50})
    return _safe(d, schema=d.schema(arrears=kind))


@control("careful")
def numbers_in_parquet(draw: random.Random) -> Fields:
    """A Parquet file whose numbers are numbers, sorted by the insensitive year."""
    import polars as pl

    d = census(draw, 4_000)
    d.shown["county"] = ["*"] * d.people
    year = [draw.choice(("2019", "2020", "2021")) for _ in d.all]
    release = d.release(year=year)
    content = io.BytesIO()
    pl.DataFrame(release).with_columns(pl.col("year").cast(pl.Int64)).sort("year").write_parquet(content)
    order = sorted(d.all, key=lambda i: release["year"][i])
    return _safe(
        d,
        original=d.original(year=year),
        schema=d.schema(year=INSENSITIVE),
        release={n: [v[i] for i in order] for n, v in release.items()},
        release_text=content.getvalue(),
        release_name="release.parquet",
    )


@control("careful")
def a_workbook_of_an_insurer(draw: random.Random) -> Fields:
    """A workbook with numbers as numbers and a heading, in random order."""
    import xlsxwriter

    d = insurance(draw, 3_000)
    d.shown["agentur"] = ["*"] * d.people
    visits = [draw.choice("1234") for _ in d.all]
    release = d.release(besuche=visits)
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = book.add_worksheet("Tabelle1")
    for j, (name, values) in enumerate(release.items()):
        sheet.write_string(0, j, name)
        for i, value in enumerate(values):
            sheet.write_number(i + 1, j, int(value)) if value.isdigit() else sheet.write_string(i + 1, j, value)
    book.close()
    return _safe(
        d,
        original=d.original(besuche=visits),
        schema=d.schema(besuche=INSENSITIVE),
        release=release,
        release_text=content.getvalue(),
        release_name="release.xlsx",
    )


@control("careful")
def pupils_by_sex_alone(draw: random.Random) -> Fields:
    """Two hundred pupils of whom the sex alone is shown."""
    d = school(draw, 200)
    d.shown["kurs"] = d.shown["geburtsjahr"] = ["*"] * d.people
    return _safe(d)


@control("careful")
def offences_by_district(draw: random.Random) -> Fields:
    """The age is withheld; districts and an offence that is a little commoner in one of them; Latin-1, semicolons."""
    d = police(draw, 2_500)
    d.shown["âge"] = ["*"] * d.people
    d.secret["infraction"] = [
        "vol" if c == "arrondissement 1" and draw.random() < 0.05 else o
        for c, o in zip(d.shown["commune"], d.told, strict=True)
    ]
    release = d.release()
    return _safe(d, original=d.original(), release=release, release_text=csv_text(release, ";").encode("latin-1"))


@control("careful")
def trips_drawn_by_lot(draw: random.Random) -> Fields:
    """Two in five of a panel, drawn by lot, with two harmless answers."""
    d = travellers(draw, 6_000)
    d.shown["zone"] = ["*"] * d.people
    columns = {
        "bicycle": [draw.choice(("yes", "no")) for _ in d.all],
        "minutes": [draw.choice(("under 15", "15 to 30", "over 30")) for _ in d.all],
    }
    release = {n: v[: 2 * d.people // 5] for n, v in d.release(**columns).items()}
    roles = dict.fromkeys(columns, INSENSITIVE)
    return _safe(d, original=d.original(**columns), schema=d.schema(**roles), release=release)


@control("careful")
def grades_in_two_bands(draw: random.Random) -> Fields:
    """Two bands of grades; bonuses in hundreds that grow by one in a hundred a grade."""
    d = payroll(draw, 3_000)
    d.shown["site"] = ["*"] * d.people
    d.shown["grade"] = ["[1,8]" if int(g) <= 8 else "[9,15]" for g in d.exact["grade"]]
    d.secret["bonus"] = [
        str(min(19_900, round(draw.gammavariate(2, 2_000) * (1 + 0.01 * int(g)) / 100) * 100)) for g in d.exact["grade"]
    ]
    return _safe(d, original=d.original())


@control("careful")
def mondrian_of_fifteen(draw: random.Random) -> Fields:
    return _made(_people(draw, 1_500), "mondrian:k=15", "t_closeness:t=0.25")


@control("careful")
def mondrian_of_forty(draw: random.Random) -> Fields:
    return _made(_people(draw, 6_000), "mondrian:k=40", "t_closeness:t=0.2")


@control("careful")
def levels_for_everybody(draw: random.Random) -> Fields:
    people = _people(draw, 2_500)
    kind = {"age": attribute("q", "numeric", domain={"from": 18, "to": 95, "step": 1}, hierarchy="age.csv")}
    return _made(people, "full_domain:k=25", "t_closeness:t=0.25", attributes=kind)


@control("careful")
def mondrian_with_harmless_answers(draw: random.Random) -> Fields:
    """Two insensitive answers beside it that depend on nothing."""
    people = _people(draw, 5_000)
    people["channel"] = [draw.choice(("mail", "phone")) for _ in people["age"]]
    people["wave"] = [draw.choice("123") for _ in people["age"]]
    kinds = dict.fromkeys(("channel", "wave"), INSENSITIVE)
    return _made(people, "mondrian:k=60", "t_closeness:t=0.2", attributes=kinds)


@control("careful")
def mondrian_then_shuffled_by_hand(draw: random.Random) -> Fields:
    """The same, opened and shuffled by another program, and saved as a Parquet file."""
    import polars as pl

    fields = dict(_made(_people(draw, 3_000), "mondrian:k=25", "t_closeness:t=0.25"))
    release = fields["release"]
    assert isinstance(release, dict)
    release = shuffled(release, draw)
    content = io.BytesIO()
    pl.DataFrame(release).write_parquet(content)
    return {
        **fields,
        "release": release,
        "release_text": content.getvalue(),
        "release_name": "release.parquet",
    }


@control("careful")
def towns_by_areas_and_decades(draw: random.Random) -> Fields:
    """By hand: ages in twenty-six years, areas, jobs withheld; illnesses depend on age as they do."""
    people = _people(draw, 4_000)
    low = [18 + (int(a) - 18) // 26 * 26 for a in people["age"]]
    release = {
        "age": [f"[{a},{a + 25}]" for a in low],
        "sex": people["sex"],
        "town": [TOWNS[t] for t in people["town"]],
        "job": ["*"] * len(low),
        "illness": people["illness"],
    }
    return {
        "original": people,
        "schema": schema_text(ATTRIBUTES),
        "release": shuffled(release, draw),
        "files": dict(HIERARCHIES),
        "truth": Truth(0, "nothing", len(low)),
    }


@control("careful")
def codes_of_one_in_twenty_withheld(draw: random.Random) -> Fields:
    """Communities withheld for one person in ten, at random, as a local suppression leaves them."""
    d = clinic(draw, 6_000)
    d.shown["provincia"] = ["*" if draw.random() < 0.1 else p for p in d.shown["provincia"]]
    return _safe(d)
