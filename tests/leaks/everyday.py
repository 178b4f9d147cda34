"""Safe releases as offices make them by hand, for the sixth trial. Written and committed before their first run."""

import io
import random
from collections.abc import Mapping

from tests.leaks.case import Truth, attribute, control, csv_text, shuffled
from tests.leaks.domains import Domain, census, payroll, police, school

__all__: list[str] = []

Fields = Mapping[str, object]


def _safe(d: Domain, **fields: object) -> Fields:
    return d.case(truth=Truth(0, "nothing", d.people), **fields)


@control("by hand")
def older_people_in_wider_bands(draw: random.Random) -> Fields:
    """Bands of twenty years, of forty for the old, who are few."""
    d = census(draw, 4_000)
    d.exact["born"] = [b if int(b) > 1964 or draw.random() < 0.5 else str(int(b) + 40) for b in d.exact["born"]]
    edges = ((1925, 1964), (1965, 1984), (1985, 2004))
    d.shown["born"] = [next(f"[{a},{b}]" for a, b in edges if a <= int(x) <= b) for x in d.exact["born"]]
    return _safe(d)


@control("by hand")
def language_of_the_form(draw: random.Random) -> Fields:
    """Two insensitive columns that follow each other, but nobody's secret: the language, and the form's version."""
    d = census(draw, 5_000)
    d.shown["county"] = ["*"] * d.people
    language = [draw.choice(("de", "en", "fr")) for _ in d.all]
    version = [x.upper() if draw.random() < 0.9 else "EN" for x in language]
    kinds = dict.fromkeys(("language", "form"), attribute("i"))
    columns = {"language": language, "form": version}
    return _safe(d, original=d.original(**columns), schema=d.schema(**kinds), release=d.release(**columns))


@control("by hand")
def most_have_nothing(draw: random.Random) -> Fields:
    """Nine in ten have no offence; who has one depends on nothing."""
    d = police(draw, 4_000)
    told = ["rien" if draw.random() < 0.9 else t for t in d.told]
    return _safe(
        d,
        original=d.original(infraction=told),
        schema=d.schema(infraction=attribute("s", domain=[*dict.fromkeys(d.told), "rien"])),
        release=shuffled({**d.in_order(), "infraction": told}, draw),
    )


@control("by hand")
def jaundice_of_newborns(draw: random.Random) -> Fields:
    """One in eight of the children of the year has the jaundice of newborns, as everybody knows; nobody else has."""
    d = census(draw, 5_000)
    d.shown["county"] = ["*"] * d.people
    d.exact["born"] = ["2004" if draw.random() < 0.12 else b for b in d.exact["born"]]
    d.shown["born"] = [
        "[2004,2004]" if b == "2004" else f"[{1925 + (int(b) - 1925) // 40 * 40},{1964 + (int(b) - 1925) // 40 * 40}]"
        for b in d.exact["born"]
    ]
    ills = ("asthma", "eczema", "fracture", "influenza", "otitis")
    told = [
        "neonatal jaundice" if b == "2004" and draw.random() < 0.125 else draw.choice(ills) for b in d.exact["born"]
    ]
    d.attributes.pop("faith")
    return _safe(
        d,
        original={**d.number, **d.exact, "diagnosis": told},
        schema=d.schema(diagnosis=attribute("s", domain=[*ills, "neonatal jaundice"])),
        release=shuffled({**d.shown, "diagnosis": told}, draw),
    )


@control("by hand")
def a_fifth_of_the_people(draw: random.Random) -> Fields:
    """Every fifth person was drawn by lot; the sample is what is published."""
    d = school(draw, 6_000)
    d.shown["kurs"] = ["*"] * d.people
    return _safe(d, release={n: v[: d.people // 5] for n, v in d.release().items()})


@control("by hand")
def wages_by_grade(draw: random.Random) -> Fields:
    """Wages rise with the grade, as they do everywhere: 2% a grade, in a spread of 15%."""
    d = payroll(draw, 4_000)
    d.shown["site"] = ["*"] * d.people
    wage = [100 * round((25_000 * (1 + 0.02 * int(g)) * draw.lognormvariate(0, 0.15)) / 100) for g in d.exact["grade"]]
    wage = [min(max(w, 12_000), 60_000) for w in wage]
    d.attributes.pop("bonus")
    texts = [str(w) for w in wage]
    return _safe(
        d,
        original={**d.number, **d.exact, "wage": texts},
        schema=d.schema(wage=attribute("s", "numeric", domain={"from": 12_000, "to": 60_000, "step": 100})),
        release=shuffled({**d.shown, "wage": texts}, draw),
    )


@control("by hand")
def latin_letters_and_semicolons(draw: random.Random) -> Fields:
    """A file of an older program: Latin-1, semicolons, lines that end as on Windows, sorted by what is shown."""
    d = police(draw, 3_000)
    release = d.release()
    rows = sorted(zip(*release.values(), strict=True), key=lambda r: r[:2])
    release = {n: [r[i] for r in rows] for i, n in enumerate(release)}
    text = csv_text(release, ";").replace("\n", "\r\n").encode("latin-1")
    return _safe(d, release=release, release_text=text)


@control("by hand")
def a_workbook_with_a_bold_heading(draw: random.Random) -> Fields:
    """A workbook with a bold heading, a frozen first row and a filter."""
    import xlsxwriter

    d = school(draw, 2_400)
    release = d.release()
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = book.add_worksheet("Daten")
    bold = book.add_format({"bold": True})
    for j, (name, values) in enumerate(release.items()):
        sheet.write_string(0, j, name, bold)
        for i, value in enumerate(values):
            sheet.write_string(i + 1, j, value)
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, d.people, len(release) - 1)
    book.close()
    return _safe(d, release=release, release_text=content.getvalue(), release_name="release.xlsx")
