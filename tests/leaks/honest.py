"""Safe releases as an honest steward would publish them, for the eighth trial. Committed before their first run."""

import io
import random
from collections.abc import Mapping

from tests.leaks.case import Truth, attribute, control, csv_text, shuffled
from tests.leaks.domains import Domain, census, payroll, police, school

__all__: list[str] = []

Fields = Mapping[str, object]
INSENSITIVE = attribute("i")


def _safe(d: Domain, **fields: object) -> Fields:
    return d.case(truth=Truth(0, "nothing", d.people), **fields)


def _beside(d: Domain, roles: Mapping[str, Mapping[str, object]], columns: dict[str, list[str]]) -> Fields:
    return _safe(d, original=d.original(**columns), schema=d.schema(**roles), release=d.release(**columns))


@control("honest")
def answers_that_go_together(draw: random.Random) -> Fields:
    """Three answers of a survey, from 1 to 4, that follow each other; the faith depends on none of them."""
    d = census(draw, 6_000)
    d.shown["county"] = ["*"] * d.people
    mood = [draw.gauss(0, 1) for _ in d.all]
    columns = {
        name: [str(min(max(round(2.5 + 0.6 * m + draw.gauss(0, 0.6)), 1), 4)) for m in mood]
        for name in ("content", "healthy", "secure")
    }
    return _beside(d, dict.fromkeys(columns, INSENSITIVE), columns)


@control("honest")
def bonuses_in_bands(draw: random.Random) -> Fields:
    """The secret itself is published in bands of 5,000, the rows sorted by all that is shown."""
    d = payroll(draw, 3_000)
    bands = [f"[{int(b) // 5_000 * 5_000},{int(b) // 5_000 * 5_000 + 4_999}]" for b in d.told]
    rows = sorted(zip(*{**d.shown, "bonus": bands}.values(), strict=True))
    names = [*d.shown, "bonus"]
    return _safe(d, release={n: [r[i] for r in rows] for i, n in enumerate(names)})


@control("honest")
def drugs_of_a_pharmacy(draw: random.Random) -> Fields:
    """Twelve drugs, a few frequent and most rare; the old take some of them half as often again."""
    d = census(draw, 6_000)
    d.shown["county"] = ["*"] * d.people
    drugs = ["A02BC", "B01AC", "C07AB", "C09AA", "C10AA", "H03AA", "J01CA", "M01AE", "N02BE", "N06AB", "R03AC", "R06AE"]
    usual = [1 / (i + 2) for i in range(12)]
    old = [int(b) < 1965 for b in d.exact["born"]]
    told = [
        draw.choices(
            drugs, weights=[w * (1.5 if o and x[0] in "BC" else 1) for w, x in zip(usual, drugs, strict=True)]
        )[0]
        for o in old
    ]
    d.attributes.pop("faith")
    d.secret = {"drug": told}
    return _safe(d, original=d.original(), schema=d.schema(drug=attribute("s", domain=drugs)), release=d.release())


@control("honest")
def answers_left_open(draw: random.Random) -> Fields:
    """One in seven leaves a question open, another one in ten; nothing depends on it."""
    d = police(draw, 5_000)
    columns = {
        "transport": ["" if draw.random() < 0.15 else draw.choice(("bus", "auto", "vélo")) for _ in d.all],
        "abonné": ["" if draw.random() < 0.1 else draw.choice(("oui", "non")) for _ in d.all],
    }
    d.shown["commune"] = ["*"] * d.people
    return _beside(d, dict.fromkeys(columns, INSENSITIVE), columns)


@control("honest")
def a_workbook_that_was_formatted(draw: random.Random) -> Fields:
    """A workbook: a heading in bold on grey, columns as wide as they need to be, the first row frozen."""
    import xlsxwriter

    d = school(draw, 2_400)
    release = d.release()
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = book.add_worksheet("Daten 2024")
    head = book.add_format({"bold": True, "bg_color": "#DDDDDD", "bottom": 1})
    for j, (name, values) in enumerate(release.items()):
        sheet.set_column(j, j, 6 + len(name))
        sheet.write_string(0, j, name, head)
        for i, value in enumerate(values):
            sheet.write_number(i + 1, j, int(value)) if name == "note" else sheet.write_string(i + 1, j, value)
    sheet.freeze_panes(1, 0)
    book.close()
    return _safe(d, release=release, release_text=content.getvalue(), release_name="release.xlsx")


@control("honest")
def parquet_in_several_parts(draw: random.Random) -> Fields:
    """A Parquet file in parts of 500 rows, which mean nothing."""
    import polars as pl

    d = census(draw, 3_000)
    release = d.release()
    content = io.BytesIO()
    pl.DataFrame(release).write_parquet(content, row_group_size=500)
    return _safe(d, release=release, release_text=content.getvalue(), release_name="release.parquet")


@control("honest")
def marks_of_three_years(draw: random.Random) -> Fields:
    """The year of the examination is shown; marks were a little better in one of the three."""
    d = school(draw, 6_000)
    d.shown["kurs"] = ["*"] * d.people
    year = [draw.choice(("2021", "2022", "2023")) for _ in d.all]
    d.secret["note"] = [draw.choice("1123456" if y == "2022" else "123456") for y in year]
    return _beside(d, {"prüfung": INSENSITIVE}, {"prüfung": year})


@control("honest")
def visits_and_kilometres(draw: random.Random) -> Fields:
    """How often and from how far somebody came, in the steps that such files have; sorted by what is shown."""
    d = census(draw, 6_000)
    d.shown["county"] = ["*"] * d.people
    visits = [draw.choices(("1", "2", "3", "4 or more"), weights=(50, 25, 15, 10))[0] for _ in d.all]
    far = [draw.choices(("under 5 km", "5 to 20 km", "over 20 km"), weights=(5, 3, 2))[0] for _ in d.all]
    columns = {"visits": visits, "distance": far}
    release = shuffled({**d.in_order(), **columns}, draw)
    rows = sorted(zip(*release.values(), strict=True), key=lambda r: (r[0], r[2]))
    shown = {n: [r[i] for r in rows] for i, n in enumerate(release)}
    text = csv_text(shown)
    roles = dict.fromkeys(columns, INSENSITIVE)
    return _safe(d, original=d.original(**columns), schema=d.schema(**roles), release=shown, release_text=text)
