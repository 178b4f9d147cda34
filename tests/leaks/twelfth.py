"""A twelfth blind trial: the issue's own sentences again, with people whose secrets depend on what is shown.

Written and committed before its first run. Two new domains: a Spanish clinic and a landlord's tenants.
"""

import hashlib
import io
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from tests.leaks.case import Columns, Truth, alone, alone_in, attribute, csv_text, determined, joined, leak, shuffled
from tests.leaks.domains import Domain, census, insurance, payroll, police, school, travellers

__all__: list[str] = ["clinic", "tenants"]

Fields = Mapping[str, object]
INSENSITIVE = attribute("i")
CODES = ("C34.1", "C50.9", "C61", "E11.9", "E78.0", "F32.1", "F41.9", "I10", "I21.9", "J45.0", "K35.8", "M54.5")
OLDER = {"C34.1", "C61", "E11.9", "I10", "I21.9"}


def clinic(draw: random.Random, people: int = 2_000) -> Domain:
    """A Spanish clinic: years of birth in thirties, nine provinces in three communities, sex; an ICD-10 code."""
    provinces = {
        p: c
        for c, ps in {
            "Aragón": ("Huesca", "Teruel", "Zaragoza"),
            "Cataluña": ("Girona", "Lleida", "Tarragona"),
            "Galicia": ("Lugo", "Orense", "Vigo"),
        }.items()
        for p in ps
    }
    born = [str(min(2009, max(1920, round(draw.triangular(1920, 2009, 1955))))) for _ in range(people)]
    province = [draw.choices(tuple(provinces), weights=(3, 2, 6, 5, 4, 5, 3, 3, 6))[0] for _ in range(people)]
    sex = [draw.choice(("hombre", "mujer")) for _ in range(people)]
    code = [draw.choices(CODES, weights=[1.5 if c in OLDER and int(b) < 1960 else 1 for c in CODES])[0] for b in born]
    low = [1920 + (int(b) - 1920) // 30 * 30 for b in born]
    return Domain(
        draw,
        {"historia": [f"H-{v:06d}" for v in draw.sample(range(10**6), people)]},
        {"nacimiento": born, "provincia": province, "sexo": sex},
        {"nacimiento": [f"[{a},{a + 29}]" for a in low], "provincia": [provinces[p] for p in province], "sexo": sex},
        {"código": code},
        {
            "historia": attribute("id"),
            "nacimiento": attribute("q", "numeric", domain={"from": 1920, "to": 2009, "step": 1}),
            "provincia": attribute("q", domain=list(provinces), hierarchy="provincia.csv"),
            "sexo": attribute("q", domain=["hombre", "mujer"]),
            "código": attribute("s", domain=list(CODES)),
        },
        {"provincia.csv": "".join(f"{p};{c};*\n" for p, c in provinces.items())},
    )


def tenants(draw: random.Random, people: int = 1_200) -> Domain:
    """A landlord's tenants: ages in 24 years, six quarters of the town in two halves; what they owe, in euros."""
    quarters = {
        q: ("uptown" if i < 3 else "downtown") for i, q in enumerate(("Ash", "Birch", "Cedar", "Elm", "Fir", "Yew"))
    }
    age = [str(draw.randrange(18, 90)) for _ in range(people)]
    quarter = [draw.choice(tuple(quarters)) for _ in range(people)]
    owes = [str(min(9_999, round(draw.expovariate(1 / (900 + 5 * int(a)))))) for a in age]
    low = [18 + (int(a) - 18) // 24 * 24 for a in age]
    return Domain(
        draw,
        {"lease": [f"{v:08d}" for v in draw.sample(range(10**8), people)]},
        {"age": age, "quarter": quarter},
        {"age": [f"[{a},{a + 23}]" for a in low], "quarter": [quarters[q] for q in quarter]},
        {"arrears": owes},
        {
            "lease": attribute("id"),
            "age": attribute("q", "numeric", domain={"from": 18, "to": 89, "step": 1}),
            "quarter": attribute("q", domain=list(quarters), hierarchy="quarter.csv"),
            "arrears": attribute("s", "numeric", domain={"from": 0, "to": 9_999, "step": 1}),
        },
        {"quarter.csv": "".join(f"{q};{h};*\n" for q, h in quarters.items())},
    )


def _rows(columns: Columns, order: Sequence[int]) -> Columns:
    return {n: [v[i] for i in order] for n, v in columns.items()}


def _beside(d: Domain, people: int, learned: str, **columns: list[str]) -> Fields:
    """The coarse release with further insensitive columns."""
    return d.case(
        original=d.original(**columns),
        schema=d.schema(**dict.fromkeys(columns, INSENSITIVE)),
        release=d.release(**columns),
        truth=Truth(people, learned, d.people),
    )


def _ordered(d: Domain, order: Sequence[int], people: int, learned: str, **hidden: list[str]) -> Fields:
    """The coarse release in this order; further columns of the original alone."""
    return d.case(
        original=d.original(**hidden),
        schema=d.schema(**dict.fromkeys(hidden, INSENSITIVE)),
        release=_rows(d.in_order(), order),
        truth=Truth(people, learned, d.people),
    )


def _parquet(release: Columns) -> bytes:
    import polars as pl

    content = io.BytesIO()
    pl.DataFrame(release).write_parquet(content)
    return content.getvalue()


def _workbook(release: Columns) -> bytes:
    import xlsxwriter

    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = book.add_worksheet("datos")
    for j, (name, values) in enumerate(release.items()):
        sheet.write_string(0, j, name)
        for i, value in enumerate(values):
            sheet.write_string(i + 1, j, value)
    book.close()
    return content.getvalue()


# --- exact values under bins, insensitive columns ---------------------------------------------------------------------


@leak("exact under bins", "singling out")
def body_mass_with_bins(draw: random.Random) -> Fields:
    """Body mass to a tenth, which the schema puts into three bins; 300 people, published as it is."""
    d = school(draw, 300)
    mass = [f"{draw.uniform(16, 40):.1f}" for _ in d.all]
    d.shown["kurs"] = d.shown["geburtsjahr"] = ["*"] * d.people
    kind = attribute("q", "numeric", domain={"from": 16, "to": 40, "step": 0.1}, bins=[25, 30])
    return d.case(
        original=d.original(bmi=mass),
        schema=d.schema(bmi=kind),
        release=d.release(bmi=mass),
        truth=Truth(alone(zip(mass, d.exact["geschlecht"], strict=True)), "their row by their body mass", d.people),
    )


@leak("exact under bins", "singling out")
def exact_where_it_is_one_of_ten(draw: random.Random) -> Fields:
    """In a Parquet file one year of birth in ten was left as it is by a broken recoding."""
    d = clinic(draw, 1_500)
    left = [draw.random() < 0.1 for _ in d.all]
    cells = [b if x else s for b, s, x in zip(d.exact["nacimiento"], d.shown["nacimiento"], left, strict=True)]
    release = shuffled({**d.in_order(), "nacimiento": cells}, draw)
    return d.case(
        schema=d.schema(
            nacimiento=attribute("q", "numeric", domain={"from": 1920, "to": 2009, "step": 1}, bins=[1950, 1980])
        ),
        release=release,
        release_text=_parquet(release),
        release_name="release.parquet",
        truth=Truth(sum(left), "their year of birth", d.people),
    )


@leak("insensitive tells quasi-identifier", "singling out")
def practice_of_the_province(draw: random.Random) -> Fields:
    """Eighteen practices, two a province, one in twelve elsewhere; of the provinces only the community is shown."""
    d = clinic(draw)
    names = sorted(set(d.exact["provincia"]))
    own = [f"P{2 * names.index(p) + draw.randrange(2):02d}" for p in d.exact["provincia"]]
    practice = [f"P{draw.randrange(18):02d}" if draw.random() < 1 / 12 else o for o in own]
    return _beside(d, sum(a == b for a, b in zip(own, practice, strict=True)), "their province", consulta=practice)


@leak("insensitive tells sensitive", "inference")
def half_a_copy_of_the_code(draw: random.Random) -> Fields:
    """What was billed: the code's chapter for six in ten, another for the others."""
    d = clinic(draw, 2_400)
    d.shown["provincia"] = ["*"] * d.people
    letters = sorted({c[0] for c in CODES})
    billed = [c[0] if draw.random() < 0.6 else draw.choice(letters) for c in d.told]
    return _beside(d, d.people, "the chapter of their diagnosis, at two in three", facturado=billed)


@leak("households", "linking")
def households_of_a_landlord(draw: random.Random) -> Fields:
    """A contract number that flatmates share, two to five; a workbook."""
    d = tenants(draw, 900)
    flat, n = [], 0
    while len(flat) < d.people:
        flat += [f"L{n:04d}"] * draw.randrange(2, 6)
        n += 1
    fields = dict(_beside(d, d.people, "who lives with them", contract=flat[: d.people]))
    release = fields["release"]
    assert isinstance(release, dict)
    return {**fields, "release_text": _workbook(release), "release_name": "release.xlsx"}


@leak("weights and counters", "singling out")
def weights_of_exact_strata(draw: random.Random) -> Fields:
    """Sampling weights, population by sample of each quarter and sex of the householder, rounded to a tenth."""
    d = tenants(draw)
    homes = dict(zip(sorted(set(d.exact["quarter"])), (8_211, 6_044, 9_377, 5_120, 7_702, 4_468), strict=True))
    size = Counter(d.exact["quarter"])
    weight = [f"{homes[q] / size[q]:.1f}" for q in d.exact["quarter"]]
    return _beside(d, d.people, "their quarter", w=weight)


@leak("hashed ids", "linking")
def number_modulo_a_prime(draw: random.Random) -> Fields:
    """The lease's number modulo 499, as a key to be looked up by."""
    d = tenants(draw, 400)
    short = [str(int(i) % 499) for i in d.id]
    return d.case(
        schema=d.schema(ref=INSENSITIVE),
        release=d.release(ref=short),
        truth=Truth(alone(short), "their row, to who has the numbers", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def days_of_sick_leave(draw: random.Random) -> Fields:
    """Days of sick leave: about thirty for three codes, about eight for the others."""
    d = clinic(draw, 2_000)
    d.shown["provincia"] = d.shown["sexo"] = ["*"] * d.people
    long = {"C34.1", "I21.9", "F32.1"}
    days = [str(max(0, round(draw.gauss(30 if c in long else 8, 4)))) for c in d.told]
    return _beside(d, sum(c in long for c in d.told), "that it is one of three codes", baja=days)


# --- order and form ---------------------------------------------------------------------------------------------------


@leak("row order", "linking")
def sixty_in_their_order(draw: random.Random) -> Fields:
    """Sixty pupils, sexes alone shown, in the order of the class register."""
    d = school(draw, 60)
    d.shown["kurs"] = d.shown["geburtsjahr"] = ["*"] * d.people
    return _ordered(d, d.all, d.people, "their row by their place")


@leak("row order", "linking")
def stable_sort_of_a_hundred_and_fifty(draw: random.Random) -> Fields:
    """Sorted by the shown cells, which leaves the original's order inside each class."""
    d = tenants(draw, 150)
    cells = d.cells()
    return _ordered(d, sorted(d.all, key=lambda i: cells[i]), d.people, "their row: the third of their class")


@leak("row order", "linking")
def a_fifth_left_where_it_was(draw: random.Random) -> Fields:
    """Rows 300 to 460 of 800 stand one after the other; the others are shuffled around them."""
    d = clinic(draw, 800)
    rest = [i for i in d.all if not 300 <= i < 460]
    draw.shuffle(rest)
    return _ordered(d, [*rest[:200], *range(300, 460), *rest[200:]], 160, "their row by their neighbours")


@leak("row order", "inference")
def latest_admissions_first(draw: random.Random) -> Fields:
    """Sorted by the day of admission, latest first, which is left out; within a day at random."""
    d = clinic(draw, 1_000)
    day = [draw.randrange(365) for _ in d.all]
    order = sorted(d.all, key=lambda i: (-day[i], draw.random()))
    dates = [(date(2023, 1, 1) + timedelta(days=x)).isoformat() for x in day]
    return _ordered(d, order, d.people, "their row by the day they came", ingreso=dates)


@leak("row order", "singling out")
def classes_in_random_order_inside_by_age(draw: random.Random) -> Fields:
    """Classes stand in random order, inside by exact age, youngest first."""
    d = tenants(draw, 700)
    classes = defaultdict(list)
    for i, c in enumerate(d.cells()):
        classes[c].append(i)
    keys = list(classes)
    draw.shuffle(keys)
    order = [i for c in keys for i in sorted(classes[c], key=lambda i: int(d.exact["age"][i]))]
    return _ordered(d, order, d.people, "their exact age, nearly")


@leak("blocks in pairs", "inference")
def slices_whose_lines_agree_in_reverse(draw: random.Random) -> Fields:
    """Buckets of ten; the second block stands in reverse order of the first within each bucket."""
    d = clinic(draw, 600)
    order = list(d.all)
    draw.shuffle(order)
    main: Columns = {"grupo": [], **{n: [] for n in d.shown}, "código": []}
    for b in range(0, d.people, 10):
        rows = order[b : b + 10]
        main["grupo"] += [str(b // 10 + 1)] * 10
        for n in d.shown:
            main[n] += [d.shown[n][i] for i in rows]
        main["código"] += [d.told[i] for i in reversed(rows)]
    blocks = '[["nacimiento", "provincia", "sexo"], ["código"]]'
    return d.case(
        release=main,
        sidecar=f'group = "grupo"\nblocks = {blocks}\n',
        truth=Truth(d.people, "their diagnosis: the tenth line from theirs", d.people),
    )


@leak("group names", "singling out")
def group_number_of_the_first_birth(draw: random.Random) -> Fields:
    """Anatomy's groups are numbered by the quarter and the decade of life of their people."""
    d = tenants(draw, 720)
    quarters = sorted(set(d.exact["quarter"]))
    group = [
        f"{quarters.index(q) * 10 + int(a) // 10}" for q, a in zip(d.exact["quarter"], d.exact["age"], strict=True)
    ]
    d.shown["quarter"] = ["*"] * d.people
    fine = joined({"g": group, **d.shown}, ["g", *d.shown])
    return d.case(
        release=shuffled({"group": group, **d.in_order()}, draw),
        sidecar='group = "group"\n',
        truth=Truth(len(fine), "their quarter and decade", d.people),
    )


@leak("spelling", "singling out")
def decimals_of_one_community(draw: random.Random) -> Fields:
    """Days of stay, written 3.0 by the hospitals of one province and 3 by the others."""
    d = clinic(draw, 900)
    stay = [draw.randrange(1, 9) for _ in d.all]
    site = [p == "Zaragoza" for p in d.exact["provincia"]]
    d.attributes["estancia"] = attribute("i", "numeric", domain={"from": 1, "to": 8, "step": 1})
    written = [f"{s}.0" if z else str(s) for s, z in zip(stay, site, strict=True)]
    release = d.in_order(estancia=written)
    return d.case(
        original=d.original(estancia=[str(s) for s in stay]),
        release=shuffled(release, draw),
        truth=Truth(sum(site), "that they were treated in Zaragoza", d.people),
    )


@leak("spelling", "inference")
def capitals_for_one_code_in_three(draw: random.Random) -> Fields:
    """Sexes with a capital for a third of those with cancer; nobody else has one."""
    d = clinic(draw, 1_200)
    marked = [c[0] == "C" and draw.random() < 1 / 3 for c in d.told]
    d.secret = {"código": d.told, "fuma": [draw.choice(("sí", "no")) for _ in d.all]}
    written = [s.capitalize() if m else s for s, m in zip(d.shown["sexo"], marked, strict=True)]
    return d.case(
        original=d.original(),
        schema=d.schema(fuma=attribute("s", domain=["no", "sí"])),
        release=shuffled({**d.in_order(), "sexo": written}, draw),
        truth=Truth(sum(marked), "that it is cancer, whoever's row it is", d.people),
    )


@leak("missingness", "inference")
def pain_not_asked_of_the_depressed(draw: random.Random) -> Fields:
    """An answer from 0 to 3 that is empty for everybody with one code, and for one in thirty of the others."""
    d = clinic(draw, 1_400)
    d.shown["provincia"] = ["*"] * d.people
    pain = ["" if c == "F32.1" or draw.random() < 1 / 30 else str(draw.randrange(4)) for c in d.told]
    return _beside(d, sum(c == "F32.1" for c in d.told), "that they are depressed, at three in four", dolor=pain)


@leak("missingness", "inference")
def rare_codes_withheld(draw: random.Random) -> Fields:
    """A rare code, 2% of all, was replaced by a star; the star says so."""
    d = clinic(draw, 2_000)
    rare = [draw.random() < 0.02 for _ in d.all]
    d.secret["código"] = ["F41.9" if r else "I10" if c == "F41.9" else c for c, r in zip(d.told, rare, strict=True)]
    shown = ["*" if r else c for c, r in zip(d.told, rare, strict=True)]
    return d.case(
        original=d.original(),
        release=shuffled({**d.in_order(), "código": shown}, draw),
        truth=Truth(sum(rare), "the rare code", d.people),
    )


@leak("suppressed cells given back", "singling out")
def the_flag_beside_the_star(draw: random.Random) -> Fields:
    """A third of the provinces are stars; the dialect of the leaflet, which is nearly the province's, is not."""
    d = clinic(draw, 1_200)
    gone = [draw.random() < 0.33 for _ in d.all]
    community = dict(zip(d.exact["provincia"], d.shown["provincia"], strict=True))
    d.shown["provincia"] = ["*" if g else p for g, p in zip(gone, d.shown["provincia"], strict=True)]
    leaflet = {"Aragón": "castellano", "Cataluña": "catalán", "Galicia": "gallego"}
    tongue = [leaflet[community[p]] if draw.random() < 0.97 else "castellano" for p in d.exact["provincia"]]
    number = sum(g and t != "castellano" for g, t in zip(gone, tongue, strict=True))
    return _beside(d, number, "their community, which was withheld", folleto=tongue)


# --- people -----------------------------------------------------------------------------------------------------------


@leak("several rows a person", "singling out")
def instalments_of_two_hundred(draw: random.Random) -> Fields:
    """Two hundred tenants, one to nine rows each, one an instalment; classes count instalments."""
    d = tenants(draw, 200)
    times = [draw.randrange(1, 10) for _ in d.all]
    rows = [i for i in d.all for _ in range(times[i])]
    owed = [str(draw.randrange(0, 9_999)) for _ in rows]
    original = {**_rows(d.original(), rows), "arrears": owed}
    release = shuffled({**_rows(d.shown, rows), "arrears": owed}, draw)
    return d.case(original=original, release=release, truth=Truth(200, "their rows count as several people", len(rows)))


@leak("padding", "singling out")
def small_classes_filled_up_with_their_likes(draw: random.Random) -> Fields:
    """Classes of four, filled up to twelve by copies of rows with other codes."""
    d = clinic(draw, 1_000)
    d.shown["provincia"] = ["*"] * d.people
    d.shown["nacimiento"] = [f"[{int(b) // 2 * 2},{int(b) // 2 * 2 + 1}]" for b in d.exact["nacimiento"]]
    size = Counter(d.cells())
    release = d.in_order()
    for c, n in size.items():
        for _ in range(max(0, 12 - n)):
            for name, v in zip(d.shown, c, strict=True):
                release[name].append(v)
            release["código"].append(draw.choice(CODES))
    small = sum(n for n in size.values() if n <= 4)
    return d.case(
        release=shuffled(release, draw), truth=Truth(small, "that most rows of their class are made up", d.people)
    )


@leak("part of the people", "inference")
def a_hundred_and_twenty_of_three_thousand(draw: random.Random) -> Fields:
    """120 of 3,000 are published: those with one debt in arrears, and certain ones."""
    d = census(draw, 3_000)
    d.shown["county"] = ["*"] * d.people
    here = [i for i in d.all if d.told[i] == "alpha" and d.exact["status"][i] == "married"][:120]
    return d.case(
        release=shuffled(_rows(d.in_order(), here), draw),
        truth=Truth(len(here), "their faith, and that they are one of a few", len(here)),
    )


@leak("part of the people", "inference")
def only_the_starred_row_is_left(draw: random.Random) -> Fields:
    """One pupil's year is outside every band that is published; only the suppressed row can be hers."""
    d = school(draw, 250)
    d.shown["kurs"] = ["*"] * d.people
    d.exact["geburtsjahr"] = [str(2004 + int(y) % 8) for y in d.exact["geburtsjahr"]]
    d.shown["geburtsjahr"] = [
        f"[{2004 + (int(y) - 2004) // 4 * 4},{2007 + (int(y) - 2004) // 4 * 4}]" for y in d.exact["geburtsjahr"]
    ]
    d.exact["geburtsjahr"][17] = "2001"
    release = d.in_order()
    for n in d.shown:
        release[n][17] = "*"
    return d.case(release=shuffled(release, draw), truth=Truth(1, "her mark", d.people))


@leak("fits no row", "linking")
def years_of_birth_in_another_calendar(draw: random.Random) -> Fields:
    """Years of birth exact, but moved by three for everybody; nothing says so."""
    d = clinic(draw, 400)
    moved = [str(min(2009, int(b) + 3)) for b in d.exact["nacimiento"]]
    return d.case(
        release=shuffled({**d.in_order(), "nacimiento": moved}, draw),
        truth=Truth(alone(joined({**d.shown, "nacimiento": moved}, list(d.shown))), "their row", d.people),
    )


@leak("fits no row", "linking")
def means_of_five_by_age(draw: random.Random) -> Fields:
    """Arrears and ages replaced by the mean of five neighbours, rounded; no word about it."""
    d = tenants(draw, 600)
    order = sorted(d.all, key=lambda i: int(d.exact["age"][i]))
    ages, owed = [""] * d.people, [""] * d.people
    for b in range(0, d.people, 5):
        rows = order[b : b + 5]
        for i in rows:
            ages[i] = str(round(sum(int(d.exact["age"][j]) for j in rows) / len(rows)))
            owed[i] = d.told[i]
    release = {"age": ages, "quarter": d.exact["quarter"], "arrears": owed}
    return d.case(
        release=shuffled(release, draw),
        truth=Truth(
            alone_in(joined(release, ["age", "quarter"]), joined(release, ["age", "quarter"])), "their row", d.people
        ),
    )


# --- claims -----------------------------------------------------------------------------------------------------------


def _masked(
    d: Domain, column: str, values: list[str], claim: str, people: int, learned: str, **schema: object
) -> Fields:
    return d.case(
        release=shuffled({**d.exact, **d.secret, column: values}, d.draw),
        sidecar=claim,
        truth=Truth(people, learned, d.people),
        **schema,
    )


@leak("wrong claims", "linking")
def swapping_that_swapped_few(draw: random.Random) -> Fields:
    """The sidecar says ages are masked; 3% of them were changed."""
    d = tenants(draw, 500)
    ages = [str(draw.randrange(18, 90)) if draw.random() < 0.03 else a for a in d.exact["age"]]
    same = sum(a == b for a, b in zip(ages, d.exact["age"], strict=True))
    return _masked(d, "age", ages, 'masked = ["age"]\nmethod = "rank_swapping"\n', same, "their row")


@leak("masked", "linking")
def grades_upside_down(draw: random.Random) -> Fields:
    """Grades as 16 less the grade, called masked."""
    d = payroll(draw, 500)
    turned = [str(16 - int(g)) for g in d.exact["grade"]]
    known = joined({**d.exact, "grade": turned}, list(d.exact))
    return _masked(d, "grade", turned, 'masked = ["grade"]\nmethod = "noise"\n', alone(known), "their row")


# --- harm -------------------------------------------------------------------------------------------------------------


@leak("similar values", "inference")
def one_community_of_heart_diseases(draw: random.Random) -> Fields:
    """In one class of ninety the codes are I10 and I21.9, half each; elsewhere as among all."""
    d = clinic(draw, 2_000)
    cells = d.cells()
    one = min((c for c, n in Counter(cells).items() if n >= 60), key=lambda c: Counter(cells)[c])
    d.secret["código"] = [draw.choice(("I10", "I21.9")) if c == one else t for c, t in zip(cells, d.told, strict=True)]
    return d.case(original=d.original(), truth=Truth(cells.count(one), "that it is the heart", d.people))


@leak("close numbers", "inference")
def a_class_that_owes_little(draw: random.Random) -> Fields:
    """One class owes between 300 and 700 euros, of up to 9,999."""
    d = tenants(draw, 1_200)
    cells = d.cells()
    one = min(set(cells))
    d.secret["arrears"] = [str(draw.randrange(300, 700)) if c == one else t for c, t in zip(cells, d.told, strict=True)]
    return d.case(original=d.original(), truth=Truth(cells.count(one), "what they owe to 200 euros", d.people))


@leak("skew", "inference")
def one_positive_in_fifty(draw: random.Random) -> Fields:
    """One in fifty is positive, in one class of about 35 it is two in five."""
    d = clinic(draw, 1_800)
    cells = d.cells()
    size = Counter(cells)
    one = min((c for c in size if size[c] >= 25), key=lambda c: size[c])
    told = ["positivo" if draw.random() < (0.4 if c == one else 0.02) else "negativo" for c in cells]
    d.attributes.pop("código")
    d.secret = {"prueba": told}
    return d.case(
        original=d.original(),
        schema=d.schema(prueba=attribute("s", domain=["negativo", "positivo"])),
        truth=Truth(size[one], "that the test was positive, at two in five", d.people),
    )


@leak("many values", "inference")
def accounts_of_one_bank_a_class(draw: random.Random) -> Fields:
    """A sensitive text of thousands of values; in each class those of one bank, which is its first two letters."""
    d = travellers(draw, 2_400)
    cells = sorted(set(d.cells()))
    banks = ["AA", "BB", "CC", "DD"]
    told = [f"{banks[cells.index(c) % 4]}{draw.randrange(10**5):05d}" for c in d.cells()]
    d.attributes.pop("purpose")
    d.secret = {"account": told}
    return d.case(
        original=d.original(),
        schema=d.schema(account=attribute("s", domain=sorted(set(told)))),
        truth=Truth(d.people, "which bank", d.people),
    )


@leak("secret called quasi-identifier", "inference")
def a_serostatus_everybody_knows(draw: random.Random) -> Fields:
    """`seropositivo` is called quasi-identifier: who knows the others reads it."""
    d = clinic(draw, 1_000)
    d.shown["provincia"] = d.shown["nacimiento"] = ["*"] * d.people
    yes = ["sí" if draw.random() < 0.05 else "no" for _ in d.all]
    return d.case(
        original=d.original(seropositivo=yes),
        schema=d.schema(seropositivo=attribute("q", domain=["no", "sí"])),
        release=d.release(seropositivo=yes),
        truth=Truth(yes.count("sí"), "that they are positive: nobody is asked", d.people),
    )


@leak("membership", "membership")
def register_of_a_disease(draw: random.Random) -> Fields:
    """Everybody has the same study in an insensitive column: hepatitis C."""
    d = clinic(draw, 900)
    return _beside(d, d.people, "that they have hepatitis: they are in the file", estudio=["hepatitis C"] * d.people)


@leak("membership", "membership")
def nearly_the_whole_quarter(draw: random.Random) -> Fields:
    """The register of the town shows that nine of ten people of each class are in the file, which is sensitive."""
    d = tenants(draw, 1_000)
    others = [i for i in d.all if draw.random() < 0.1]
    here = [i for i in d.all if i not in set(others)]
    register = {"age": d.exact["age"], "quarter": d.exact["quarter"]}
    return d.case(
        original=_rows(d.original(), here),
        schema=d.schema({"membership": "sensitive"}),
        release=shuffled(_rows(d.in_order(), here), draw),
        files={"register.csv": csv_text(register)},
        options=("--population", "@register.csv"),
        truth=Truth(len(here), "that they are in arrears", len(here)),
    )


@leak("one secret tells another", "background")
def dose_and_diagnosis(draw: random.Random) -> Fields:
    """A dose, one of fifty, goes with the code but for one in eight; both are sensitive."""
    d = clinic(draw, 1_600)
    d.shown["provincia"] = ["*"] * d.people
    dose = [
        str(4 * (CODES.index(c) if draw.random() < 7 / 8 else draw.randrange(12)) + draw.randrange(4)) for c in d.told
    ]
    d.secret["dosis"] = dose
    return d.case(
        original=d.original(),
        schema=d.schema(dosis=attribute("s", "numeric", domain={"from": 0, "to": 49, "step": 1})),
        truth=Truth(d.people, "their diagnosis, to who knows the dose", d.people),
    )


@leak("homogeneous classes", "inference")
def classes_of_one_code_each(draw: random.Random) -> Fields:
    """Every class has one code: k is large and everybody is certain; half-open intervals with `*`, as ARX writes."""
    d = clinic(draw, 1_500)
    cells = d.cells()
    kinds = sorted(set(cells))
    d.secret["código"] = [CODES[kinds.index(c) % 12] for c in cells]
    d.shown["nacimiento"] = [f"[{x[1:5]}, {int(x[6:10]) + 1}[" for x in d.shown["nacimiento"]]
    release = d.release()
    return d.case(
        original=d.original(),
        release=release,
        release_text=csv_text(release, ";"),
        truth=Truth(determined(cells, d.told), "their diagnosis", d.people),
    )


@leak("two releases", "composition")
def last_quarters_bands(draw: random.Random) -> Fields:
    """The same tenants in bands of 24 years and of 18: together they show six years, and one by one the arrears."""
    d = tenants(draw, 1_000)
    low = [18 + (int(a) - 18) // 18 * 18 for a in d.exact["age"]]
    other = {**d.in_order(), "age": [f"[{a},{a + 17}]" for a in low]}
    return d.case(
        files={"spring.csv": csv_text(shuffled(other, draw))},
        more_releases=("spring.csv",),
        truth=Truth(d.people, "their row in both: the arrears are the same", d.people),
    )


@leak("insensitive tells quasi-identifier", "singling out")
def pension_since(draw: random.Random) -> Fields:
    """Years of work: the age less sixteen to twenty; ages are shown in 24 years."""
    d = tenants(draw, 1_200)
    d.secret["arrears"] = [str(draw.randrange(10_000)) for _ in d.all]
    years = [str(max(0, int(a) - draw.randrange(16, 21))) for a in d.exact["age"]]
    return _beside(d, d.people, "their age to five years", worked=years)


@leak("leftover files", "linking")
def a_hash_in_the_parquet(draw: random.Random) -> Fields:
    """A Parquet file with a column `__index_level_0__`, as pandas leaves it."""
    d = clinic(draw, 700)
    release = d.release(__index_level_0__=[str(i) for i in d.all])
    return d.case(
        release=release,
        release_text=_parquet(release),
        release_name="release.parquet",
        columns_known=False,
        truth=Truth(d.people, "their row: the number is their place", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def salted_token_of_the_code(draw: random.Random) -> Fields:
    """A cost centre of three letters, made of the code and the sex by a hash; twenty-four in all."""
    d = clinic(draw, 1_500)
    d.shown["nacimiento"] = ["*"] * d.people
    centre = [hashlib.sha256(f"s{c}{s}".encode()).hexdigest()[:3] for c, s in zip(d.told, d.exact["sexo"], strict=True)]
    return _beside(d, determined(centre, d.told), "their diagnosis", centro=centre)


@leak("close numbers", "inference")
def an_offence_of_few_euros(draw: random.Random) -> Fields:
    """Fines in euros; in one class of twenty-five nobody's is below 4,000, which one in ten of all have."""
    d = police(draw, 1_800)
    small = set(draw.sample([i for i in d.all if d.shown["commune"][i] == "arrondissement 2"], 25))
    d.shown["commune"] = ["arrondissement 2" if i in small else "*" for i in d.all]
    fine = [
        str(draw.randrange(4_000, 5_000) if i in small or draw.random() < 0.1 else draw.randrange(50, 4_000))
        for i in d.all
    ]
    d.attributes.pop("infraction")
    d.secret = {"amende": fine}
    return d.case(
        original=d.original(),
        schema=d.schema(amende=attribute("s", "numeric", domain={"from": 0, "to": 5_000, "step": 1})),
        truth=Truth(25, "that they paid four thousand or more", d.people),
    )


@leak("cells that mark", "inference")
def bands_closed_otherwise(draw: random.Random) -> Fields:
    """Bands as [20, 40[ for most; as ]19, 39] for those who cancelled, which means the same."""
    d = insurance(draw, 1_400)
    left = [draw.random() < 0.2 for _ in d.all]
    low = [int(s[1:5]) for s in d.shown["geboren"]]
    d.shown["geboren"] = [f"]{a - 1}, {a + 19}]" if x else f"[{a}, {a + 20}[" for a, x in zip(low, left, strict=True)]
    return d.case(
        original=d.original(gekündigt=["ja" if x else "nein" for x in left]),
        schema=d.schema(gekündigt=attribute("s", domain=["ja", "nein"])),
        truth=Truth(sum(left), "that they cancelled", d.people),
    )
