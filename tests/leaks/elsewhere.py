"""Leaks in other domains' files, each written before any check was run on it (docs/leaks.md has what came of it)."""

import base64
import hashlib
import random
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import date, datetime, timedelta

from tests.leaks.case import (
    Columns,
    Truth,
    alone,
    alone_in,
    attribute,
    csv_text,
    determined,
    joined,
    leak,
    shuffled,
)
from tests.leaks.domains import Domain, census, payroll, police, school

__all__: list[str] = []

Fields = Mapping[str, object]
INSENSITIVE = attribute("i")


def _beside(d: Domain, truth: Truth, role: Mapping[str, object] = INSENSITIVE, /, **columns: list[str]) -> Fields:
    """The safe release with further columns, which the original has, too."""
    return d.case(
        original=d.original(**columns),
        schema=d.schema(**dict.fromkeys(columns, role)),
        release=d.release(**columns),
        truth=truth,
    )


def _rows(columns: Columns, order: list[int]) -> Columns:
    return {n: [v[i] for i in order] for n, v in columns.items()}


# --- columns that name people -----------------------------------------------------------------------------------------


@leak("hashed ids", "linking")
def badges_with_letters_moved_on(draw: random.Random) -> Fields:
    d = payroll(draw, 700)
    ref = ["".join(chr(ord(c) + 3) for c in b) for b in d.id]
    return _beside(d, Truth(d.people, "who they are: every character moved by three", d.people), ref=ref)


@leak("hashed ids", "linking")
def last_digits_of_the_number(draw: random.Random) -> Fields:
    """Three digits: a thousand values for 600 pupils."""
    d = school(draw, 600)
    code = [m[-3:] for m in d.id]
    seen = joined({**d.shown, "code": code}, [*d.shown, "code"])
    return _beside(d, Truth(alone(seen), "which row is theirs", d.people), code=code)


@leak("hashed ids", "linking")
def number_inside_a_longer_text(draw: random.Random) -> Fields:
    d = census(draw, 1_200)
    ref = [f"REC-{draw.randrange(2019, 2024)}-{p}-X" for p in d.id]
    return _beside(d, Truth(d.people, "who they are", d.people), ref=ref)


@leak("hashed ids", "linking")
def base64_of_number_and_year(draw: random.Random) -> Fields:
    d = school(draw, 500)
    made = [base64.b64encode(f"{m}|{y}".encode()).decode() for m, y in zip(d.id, d.exact["geburtsjahr"], strict=True)]
    return _beside(d, Truth(d.people, "who they are, and their year of birth", d.people), schluessel=made)


@leak("insensitive tells quasi-identifier", "singling out")
def hash_of_the_commune(draw: random.Random) -> Fields:
    """Twelve hashes: each is shared by many, and each is a commune."""
    d = police(draw)
    cle = [hashlib.sha1(c.encode()).hexdigest()[:10] for c in d.exact["commune"]]
    return _beside(d, Truth(d.people, "their commune, of which the district alone is shown", d.people), clé=cle)


@leak("dates called insensitive", "singling out")
def minutes_of_entry(draw: random.Random) -> Fields:
    d = police(draw, 800)
    start = datetime(2023, 1, 1)
    saisi = [(start + timedelta(minutes=draw.randrange(500_000))).strftime("%d/%m/%Y %H:%M") for _ in d.all]
    return _beside(d, Truth(alone(saisi), "their row, to whoever knows when it was typed", d.people), saisi=saisi)


@leak("kept index", "singling out")
def a_flag_that_one_person_has(draw: random.Random) -> Fields:
    d = payroll(draw, 1_000)
    flag = ["none"] * d.people
    flag[draw.randrange(d.people)] = "director"
    return _beside(d, Truth(1, "the director's row, bonus included", d.people), remark=flag)


@leak("kept index", "singling out")
def two_columns_each_harmless(draw: random.Random) -> Fields:
    """Thirty values each: every value is shared by dozens, every pair by one or two."""
    d = census(draw, 1_500)
    a, b = ([str(draw.randrange(30)) for _ in d.all] for _ in range(2))
    return _beside(d, Truth(alone(zip(a, b, strict=True)), "their row", d.people), ward=a, street=b)


@leak("free text", "singling out")
def remarques_en_clair(draw: random.Random) -> Fields:
    d = police(draw, 400)
    who = ("voisin", "collègue", "cousin", "patron", "facteur", "gérant")
    place = ("rue Neuve", "place du Marché", "quai Nord", "avenue Foch", "gare", "port")
    text = [
        f"vu par {draw.choice(who)} {draw.choice(place)} vers {draw.randrange(24)}h{draw.randrange(60):02d}"
        for _ in d.all
    ]
    return _beside(d, Truth(alone(text), "their row", d.people), remarque=text)


# --- columns that tell ------------------------------------------------------------------------------------------------


@leak("insensitive tells quasi-identifier", "singling out")
def last_figure_of_the_year(draw: random.Random) -> Fields:
    """Four years are shown as one span; a harmless figure says which."""
    d = school(draw, 1_000)
    gruppe = [y[-1] for y in d.exact["geburtsjahr"]]
    return _beside(d, Truth(d.people, "the exact year of birth", d.people), gruppe=gruppe)


@leak("insensitive tells sensitive", "inference")
def tax_follows_the_bonus(draw: random.Random) -> Fields:
    d = payroll(draw, 1_500)
    tax = [str(int(b) // 400 * 100) for b in d.told]
    return _beside(
        d,
        Truth(d.people, "the bonus to within 400 euros", d.people),
        attribute("i", "numeric", domain={"from": 0, "to": 5_000, "step": 100}),
        withheld_tax=tax,
    )


@leak("insensitive tells sensitive", "inference")
def rank_in_the_list_of_bonuses(draw: random.Random) -> Fields:
    d = payroll(draw, 600)
    order = sorted(d.all, key=lambda i: int(d.told[i]))
    tenth = [""] * d.people
    for place, i in enumerate(order):
        tenth[i] = "ABCDEFGHIJ"[place * 10 // d.people]
    return _beside(d, Truth(d.people, "which tenth of all bonuses theirs is in", d.people), band_code=tenth)


@leak("insensitive tells sensitive", "inference")
def faith_under_another_name(draw: random.Random) -> Fields:
    d = census(draw, 1_000)
    number = {f: str(7 * i + 11) for i, f in enumerate(sorted(set(d.told)))}
    return _beside(d, Truth(d.people, "their faith by its number", d.people), lbl=[number[f] for f in d.told])


@leak("missingness", "inference")
def support_missing_for_those_who_failed(draw: random.Random) -> Fields:
    d = school(draw, 1_200)
    kinds = ["Musik", "Sport", "Chor"]
    support = ["" if n == "6" else draw.choice(kinds) for n in d.told]
    return d.case(
        original=d.original(angebot=support),
        schema=d.schema(top={"missing": [""]}, angebot=attribute("i", domain=kinds, missing="category")),
        release=d.release(angebot=support),
        truth=Truth(support.count(""), "that they failed", d.people),
    )


@leak("missingness", "singling out")
def spouse_missing_for_the_unmarried(draw: random.Random) -> Fields:
    """The marital status is withheld from everybody; whether there is a spouse's job is not."""
    d = census(draw, 2_000)
    job = ["" if s == "single" else draw.choice(("office", "field", "care")) for s in d.exact["status"]]
    d.shown["status"] = ["*"] * d.people
    return d.case(
        original=d.original(partner_job=job),
        schema=d.schema(
            top={"missing": [""]}, partner_job=attribute("i", domain=["office", "field", "care"], missing="category")
        ),
        release=d.release(partner_job=job),
        truth=Truth(d.people, "the marital status that was withheld", d.people),
    )


@leak("suppressed cells given back", "singling out")
def household_less_adults(draw: random.Random) -> Fields:
    """The number of children is withheld where it is large; all and adults are not."""
    d = census(draw, 2_400)
    children = [str(min(int(draw.expovariate(0.9)), 6)) for _ in d.all]
    adults = [str(draw.randrange(1, 4)) for _ in d.all]
    size = [str(int(c) + int(a)) for c, a in zip(children, adults, strict=True)]
    shown = ["*" if int(c) > 1 else c for c in children]
    number = attribute("q", "numeric", domain={"from": 0, "to": 6, "step": 1})
    return d.case(
        original=d.original(children=children, adults=adults, home=size),
        schema=d.schema(
            children=number,
            adults=attribute("i", domain=["1", "2", "3"]),
            home=attribute("i", domain=[str(i) for i in range(1, 10)]),
        ),
        release=d.release(children=shown, adults=adults, home=size),
        truth=Truth(shown.count("*"), "how many children they have", d.people),
    )


@leak("suppressed cells given back", "singling out")
def weights_of_strata(draw: random.Random) -> Fields:
    """A weight with one decimal, the same for a whole site: eight weights for eight sites."""
    d = payroll(draw, 1_600)
    weight = {s: f"{1.1 + 0.3 * i:.1f}" for i, s in enumerate(sorted(set(d.exact["site"])))}
    return _beside(
        d,
        Truth(d.people, "their site, of which the country alone is shown", d.people),
        attribute("i", "numeric", domain={"from": 1, "to": 4, "step": 0.1}),
        w=[weight[s] for s in d.exact["site"]],
    )


@leak("missingness", "inference")
def other_stands_for_one_thing(draw: random.Random) -> Fields:
    """Whoever has the rarest offence is shown as `*`: nobody else is."""
    d = police(draw, 1_400)
    told = [("conduite" if draw.random() < 0.85 else "faux") if o == "faux" else o for o in d.told]
    shown = ["*" if o == "faux" else o for o in told]
    return d.case(
        original=d.original(infraction=told),
        release=shuffled({**d.in_order(), "infraction": shown}, draw),
        truth=Truth(shown.count("*"), "their offence: the only one that never appears", d.people),
    )


# --- order ------------------------------------------------------------------------------------------------------------


@leak("row order", "linking")
def in_the_order_of_a_column_left_out(draw: random.Random) -> Fields:
    d = school(draw, 800)
    eintritt = [(date(2015, 8, 1) + timedelta(days=draw.randrange(2_000))).isoformat() for _ in d.all]
    order = sorted(d.all, key=lambda i: eintritt[i], reverse=True)
    return d.case(
        original=d.original(eintritt=eintritt),
        schema=d.schema(eintritt=attribute("q", "date")),
        release=_rows(d.in_order(), order),
        truth=Truth(d.people, "their place in the list by the day of entry", d.people),
    )


@leak("row order", "linking")
def shuffled_in_blocks_of_eight(draw: random.Random) -> Fields:
    d = payroll(draw, 1_200)
    order = sorted(d.all, key=lambda i: (i // 8, draw.random()))
    return d.case(
        release=_rows(d.in_order(), order),
        truth=Truth(d.people, "their row to within eight of the payroll's order", d.people),
    )


@leak("row order", "linking")
def members_of_a_household_side_by_side(draw: random.Random) -> Fields:
    d = census(draw, 1_500)
    home = [str(i // 3) for i in d.all]
    places = list(range(500))
    draw.shuffle(places)
    order = sorted(d.all, key=lambda i: (places[int(home[i])], draw.random()))
    faith = [d.told[int(h)] for h in home]
    return d.case(
        original=d.original(home=home, faith=faith),
        schema=d.schema(home=attribute("i")),
        release=_rows({**d.in_order(), "faith": faith}, order),
        truth=Truth(d.people, "the rows of their family: three lines together", d.people),
    )


@leak("row order", "inference")
def within_classes_by_the_year_of_birth(draw: random.Random) -> Fields:
    d = census(draw, 2_000)
    cells = d.cells()
    order = sorted(d.all, key=lambda i: (cells[i], int(d.exact["born"][i])))
    return d.case(
        release=_rows(d.in_order(), order),
        truth=Truth(d.people, "nearly the exact year of birth", d.people),
    )


@leak("row order", "linking")
def half_in_order_half_shuffled(draw: random.Random) -> Fields:
    """Old records as they were, new ones shuffled among themselves at the end."""
    d = police(draw, 1_000)
    late = list(range(500, 1_000))
    draw.shuffle(late)
    return d.case(
        release=_rows(d.in_order(), [*range(500), *late]), truth=Truth(500, "their row by its number", d.people)
    )


# --- form -------------------------------------------------------------------------------------------------------------


@leak("spelling", "inference")
def decimals_of_those_who_were_warned(draw: random.Random) -> Fields:
    """Hours as 37.5 for most, 37.50 for everybody with a disciplinary record, which the file does not hold."""
    d = payroll(draw, 1_500)
    warned = [draw.random() < 0.1 for _ in d.all]
    hours = [draw.choice((20.0, 30.0, 35.5, 37.5)) for _ in d.all]
    shown = [f"{h:.2f}" if w else f"{h:.1f}" for h, w in zip(hours, warned, strict=True)]
    return d.case(
        original=d.original(hours=[f"{h:.1f}" for h in hours], warned=["yes" if w else "no" for w in warned]),
        schema=d.schema(
            hours=attribute("i", "numeric", domain={"from": 20, "to": 40, "step": 0.5}),
            warned=attribute("s", domain=["yes", "no"]),
        ),
        release=d.release(hours=shown),
        truth=Truth(sum(warned), "that they were warned", d.people),
    )


@leak("spelling", "file")
def accents_written_in_two_ways(draw: random.Random) -> Fields:
    """Some offices write é as one character, some as two: it looks the same on the screen."""
    d = police(draw, 1_000)
    told = [
        unicodedata.normalize("NFD", o) if c < "C03" else o for o, c in zip(d.told, d.exact["commune"], strict=True)
    ]
    people = sum(a != b for a, b in zip(told, d.told, strict=True))
    return d.case(
        schema=d.schema(infraction=attribute("s")),
        release=shuffled({**d.in_order(), "infraction": told}, draw),
        truth=Truth(people, "which office their file is from", d.people),
    )


@leak("spelling", "file")
def dates_written_as_the_office_does(draw: random.Random) -> Fields:
    d = census(draw, 1_000)
    moved = [date(2001 + draw.randrange(4), 1, 1) for _ in d.all]
    shown = [
        f"{m:%d.%m.%Y}" if c == "Oxshire" else f"{m:%Y-%m-%d}" for m, c in zip(moved, d.exact["county"], strict=True)
    ]
    return d.case(
        original=d.original(moved=[f"{m:%Y-%m-%d}" for m in moved]),
        schema=d.schema(moved=attribute("i")),
        release=d.release(moved=shown),
        truth=Truth(d.exact["county"].count("Oxshire"), "their county", d.people),
    )


@leak("spelling", "file")
def rounding_marks_the_site(draw: random.Random) -> Fields:
    """One site rounds bonuses to hundreds, the others do not; the country alone is shown."""
    d = payroll(draw, 1_500)
    bonus = [str(int(b) // 100 * 100) if s == "Cork" else b for b, s in zip(d.told, d.exact["site"], strict=True)]
    people = sum(s == "Cork" for s in d.exact["site"])
    return d.case(
        original=d.original(bonus=bonus),
        release=shuffled({**d.in_order(), "bonus": bonus}, draw),
        truth=Truth(people, "their site by the noughts of the bonus", d.people),
    )


def _buckets(d: Domain, size: int) -> list[list[int]]:
    people = list(d.all)
    d.draw.shuffle(people)
    return [people[i : i + size] for i in range(0, d.people - d.people % size, size)]


@leak("blocks in pairs", "inference")
def second_table_in_the_order_of_the_first(draw: random.Random) -> Fields:
    """Anatomy in two files, one line a person in both, in the same order within each bucket."""
    d = police(draw, 960)
    d.shown["âge"] = ["*"] * d.people
    first: Columns = {"lot": [], "âge": [], "commune": []}
    second: Columns = {"lot": [], "infraction": [], "count": []}
    for number, rows in enumerate(_buckets(d, 24), start=1):
        for i in rows:
            first["lot"].append(f"L{number}")
            first["âge"].append(d.exact["âge"][i])
            first["commune"].append(d.exact["commune"][i])
            second["lot"].append(f"L{number}")
            second["infraction"].append(d.told[i])
            second["count"].append("1")
    return d.case(
        release=first,
        sidecar='group = "lot"\nblocks = [["âge", "commune"], ["infraction"]]\nsensitive_table = "delits.csv"\n',
        files={"delits.csv": csv_text(second)},
        truth=Truth(d.people, "their offence: line by line the tables agree", d.people),
    )


@leak("group names", "singling out")
def number_of_the_group_holds_the_commune(draw: random.Random) -> Fields:
    d = police(draw, 1_200)
    lot = [str(1000 * (7 + int(c[1:])) + (draw.randrange(3))) for c in d.exact["commune"]]
    return d.case(
        release=d.release(lot=lot),
        sidecar='group = "lot"\nblocks = [["âge", "commune", "infraction"]]\n',
        truth=Truth(d.people, "their commune by the thousands of the group's number", d.people),
    )


# --- people -----------------------------------------------------------------------------------------------------------


@leak("padding", "singling out")
def strangers_between_neighbours(draw: random.Random) -> Fields:
    """Exact cells; every pair of cells is filled up to five with made-up rows that have likely marks."""
    d = school(draw, 300)
    rows = list(zip(*{**d.exact, **d.secret}.values(), strict=True))
    sizes = Counter(r[:3] for r in rows)
    real = dict(sizes)
    for key in list(sizes):
        while sizes[key] < 5:
            rows.append((*key, draw.choice("123456")))
            sizes[key] += 1
    release = {n: [r[j] for r in rows] for j, n in enumerate((*d.exact, "note"))}
    people = sum(n for n in real.values() if n < 5)
    return d.case(
        release=shuffled(release, draw), truth=Truth(people, "that they are one of fewer than five real rows", d.people)
    )


@leak("padding", "singling out")
def count_of_five_that_is_one(draw: random.Random) -> Fields:
    """The sidecar says that every line stands for five people. There are as many people as lines."""
    d = police(draw, 500)
    release = {**d.exact, **d.secret, "effectif": ["5"] * d.people}
    return d.case(
        release=shuffled(release, draw),
        sidecar='count = "effectif"\n',
        truth=Truth(alone(joined(d.exact, list(d.exact))), "their row", d.people),
    )


@leak("part of the people", "inference")
def the_only_one_of_a_third_country(draw: random.Random) -> Fields:
    """Everybody is shown with a country but one, whose country is withheld: nobody else is from Malta."""
    d = payroll(draw, 900)
    one = draw.randrange(d.people)
    d.exact["site"][one] = "Sliema"
    d.shown["site"][one] = "*"
    sites = [*sorted(set(d.exact["site"]))]
    d.files["site.csv"] += "Sliema;Malta;*\n"
    return d.case(
        schema=d.schema(site=attribute("q", domain=sites, hierarchy="site.csv")),
        truth=Truth(1, "the bonus of the one person from Malta", d.people),
    )


@leak("fits no row", "linking")
def days_of_hiring_moved_by_a_constant(draw: random.Random) -> Fields:
    d = payroll(draw, 700)
    hired = [date(2000, 1, 1) + timedelta(days=draw.randrange(7_000)) for _ in d.all]
    later = [(h + timedelta(days=45)).isoformat() for h in hired]
    span = "={ from = 1999-12-01, to = 2020-12-31, step = 1 }"
    return d.case(
        original=d.original(hired=[h.isoformat() for h in hired]),
        schema=d.schema(hired=attribute("q", "date", domain=span)),
        release=d.release(hired=later),
        truth=Truth(alone(later), "their row: everybody's day is 45 days late", d.people),
    )


@leak("wrong claims", "file")
def noise_too_small_to_notice(draw: random.Random) -> Fields:
    """Said to be noise of half the spread; it is a euro or two."""
    d = payroll(draw, 600)
    moved = [str(min(max(int(b) + draw.randrange(-2, 3), 0), 19_999)) for b in d.told]
    leave = [draw.choice(("yes", "no")) for _ in d.all]
    return d.case(
        schema=d.schema(
            bonus=attribute("q", "numeric", domain={"from": 0, "to": 19_999, "step": 1}),
            leave=attribute("s", domain=["yes", "no"]),
        ),
        original=d.original(leave=leave),
        release=shuffled({**d.exact, "leave": leave, "bonus": moved}, draw),
        sidecar='masked = ["bonus"]\nmethod = "noise:amount=0.5"\n',
        truth=Truth(alone(d.told), "their row by the bonus, to within two euros", d.people),
    )


@leak("membership", "inference")
def nearly_everybody_has_it(draw: random.Random) -> Fields:
    """A file of 98% one offence: whoever is in it has done it."""
    d = police(draw, 700)
    told = ["fraude" if draw.random() < 0.98 else "vol" for _ in d.all]
    return d.case(
        original=d.original(infraction=told),
        release=shuffled({**d.in_order(), "infraction": told}, draw),
        truth=Truth(told.count("fraude"), "their offence, from being in the file", d.people),
    )


# --- what classes tell ------------------------------------------------------------------------------------------------


def _told(d: Domain, name: str, told: list[str], people: int, learned: str, **fields: object) -> Fields:
    return d.case(
        original=d.original(**{name: told}),
        release=shuffled({**d.in_order(), name: told}, d.draw),
        truth=Truth(people, learned, d.people),
        **fields,
    )


@leak("many values", "inference")
def bonuses_of_one_class_alike(draw: random.Random) -> Fields:
    """Two thousand different bonuses; those of one class of about 160 lie within 400 euros of each other."""
    d = payroll(draw)
    cells = d.cells()
    first = sorted(set(cells))[0]
    told = [str(12_000 + draw.randrange(400)) if c == first else b for c, b in zip(cells, d.told, strict=True)]
    return _told(d, "bonus", told, cells.count(first), "the bonus to within 400 euros")


@leak("many values", "inference")
def bonuses_by_country(draw: random.Random) -> Fields:
    """Below 10,000 in one country, above in the other: nobody's exact bonus, everybody's half."""
    d = payroll(draw)
    told = [str(int(b) // 2 + (0 if c[1] == "Spain" else 10_000)) for c, b in zip(d.cells(), d.told, strict=True)]
    return _told(d, "bonus", told, d.people, "which half of all bonuses theirs is in")


@leak("similar values", "inference")
def thefts_of_one_district(draw: random.Random) -> Fields:
    """One class has nothing but thefts of several kinds; the schema's hierarchy calls them all theft."""
    d = police(draw)
    kinds = [
        "vol simple",
        "vol aggravé",
        "vol avec ruse",
        "fraude fiscale",
        "fraude sociale",
        "faux",
        "menaces",
        "outrage",
    ]
    cells = d.cells()
    first = sorted(set(cells))[1]
    told = [draw.choice(kinds[:3]) if c == first else draw.choice(kinds) for c in cells]
    lines = "".join(f"{k};{k.split()[0]};*\n" for k in kinds)
    return _told(
        d,
        "infraction",
        told,
        cells.count(first),
        "that it was theft",
        schema=d.schema(infraction=attribute("s", domain=kinds, hierarchy="infraction.csv")),
        files={"infraction.csv": lines},
    )


@leak("close numbers", "inference")
def failing_marks_of_one_course(draw: random.Random) -> Fields:
    """Marks are numbers; one class has 5 and 6 only."""
    d = school(draw)
    cells = d.cells()
    first = sorted(set(cells))[2]
    told = [draw.choice("56") if c == first else n for c, n in zip(cells, d.told, strict=True)]
    kind = attribute("s", "numeric", domain={"from": 1, "to": 6, "step": 1})
    return _told(d, "note", told, cells.count(first), "that they failed", schema=d.schema(note=kind))


@leak("skew", "inference")
def a_rare_faith_in_one_county(draw: random.Random) -> Fields:
    """Two in a hundred overall, two in five in one class."""
    d = census(draw)
    cells = d.cells()
    first = sorted(set(cells))[3]
    told = [
        "delta" if draw.random() < (0.4 if c == first else 0.005) else draw.choice(("alpha", "beta", "gamma", "none"))
        for c in cells
    ]
    return _told(
        d,
        "faith",
        told,
        sum(c == first and t == "delta" for c, t in zip(cells, told, strict=True)),
        "a rare faith made twenty times as likely",
    )


@leak("homogeneous classes", "inference")
def wrong_marks_for_two_classes(draw: random.Random) -> Fields:
    """Two classes with one mark each were interchanged: readers are certain, and wrong."""
    d = school(draw, 720)
    cells = d.cells()
    one, two = sorted(set(cells))[:2]
    told = ["1" if c == one else "6" if c == two else n for c, n in zip(cells, d.told, strict=True)]
    shown = ["6" if c == one else "1" if c == two else n for c, n in zip(cells, told, strict=True)]
    return d.case(
        original=d.original(note=told),
        release=shuffled({**d.in_order(), "note": shown}, draw),
        truth=Truth(cells.count(one) + cells.count(two), "a wrong mark, for certain", d.people),
    )


@leak("secret called quasi-identifier", "inference")
def a_secret_among_the_known(draw: random.Random) -> Fields:
    """Debts are called quasi-identifier; everybody of one class has them."""
    d = payroll(draw, 1_800)
    cells = d.cells()
    first = sorted(set(cells))[4]
    owed = ["garnished" if c == first or draw.random() < 0.15 else "clear" for c in cells]
    return d.case(
        original=d.original(wages=owed),
        schema=d.schema(wages=attribute("q", domain=["garnished", "clear"])),
        release=d.release(wages=owed),
        truth=Truth(cells.count(first), "that their wages are garnished", d.people),
    )


@leak("one secret tells another", "background")
def mark_and_advice(draw: random.Random) -> Fields:
    """Two secrets: whoever hears the advice (half the school does) knows the mark to within one."""
    d = school(draw, 1_200)
    advice = [("weiter", "Gespräch", "Wiederholung")[(int(n) - 1) // 2] for n in d.told]
    return d.case(
        original=d.original(rat=advice),
        schema=d.schema(rat=attribute("s", domain=["weiter", "Gespräch", "Wiederholung"])),
        release=d.release(rat=advice),
        truth=Truth(
            determined(advice, [(int(n) - 1) // 2 for n in d.told]), "a pair of marks, from the advice", d.people
        ),
    )


@leak("exact under bins", "singling out")
def raw_with_bins_of_a_draft(draw: random.Random) -> Fields:
    """Two columns with bins, as a draft proposes; the table is published as it was."""
    d = police(draw, 900)
    paid = [str(draw.randrange(50, 5_000)) for _ in d.all]
    raw = shuffled({**d.exact, "amende": paid, **d.secret}, draw)
    people = alone_in(joined(raw, ["âge", "commune", "amende"]), zip(*d.exact.values(), paid, strict=True))
    return d.case(
        original=d.original(amende=paid),
        schema=d.schema(
            âge=attribute("q", "numeric", domain={"from": 18, "to": 89, "step": 1}, bins=[36, 54, 72]),
            amende=attribute("q", "numeric", domain={"from": 50, "to": 4_999, "step": 1}, bins=[500, 1_500, 3_000]),
        ),
        release=raw,
        truth=Truth(people, "their row", d.people),
    )


@leak("several rows a person", "inference")
def three_marks_each(draw: random.Random) -> Fields:
    """Three rows a pupil with the same mark: a class of six rows is two pupils."""
    d = school(draw, 300)
    exact = {n: [v for v in values for _ in range(3)] for n, values in d.original().items()}
    by_class: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for key, m in zip(joined(exact, list(d.exact)), exact["matrikel"], strict=True):
        by_class[key].add(m)
    people = sum(len(found) for found in by_class.values() if len(found) < 3)
    return d.case(
        original=exact,
        release=shuffled({n: exact[n] for n in (*d.exact, "note")}, draw),
        truth=Truth(people, "their rows: one of at most two pupils", d.people),
    )
