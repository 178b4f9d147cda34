"""A sixth blind trial: the issue's sentences, each varied. Written and committed before its first run."""

import hashlib
import io
import random
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import date, timedelta

from tests.leaks.case import Columns, Truth, alone_in, attribute, csv_text, determined, joined, leak, shuffled
from tests.leaks.domains import FAITHS, OFFENCES, Domain, census, payroll, police, school

__all__: list[str] = []

Fields = Mapping[str, object]
INSENSITIVE = attribute("i")


def _texts(values: list[int]) -> list[str]:
    return [str(v) for v in values]


def _rows(columns: Columns, order: list[int]) -> Columns:
    return {n: [v[i] for i in order] for n, v in columns.items()}


def _beside(d: Domain, people: int, learned: str, **columns: list[str]) -> Fields:
    """The safe release with further insensitive columns."""
    return d.case(
        original=d.original(**columns),
        schema=d.schema(**dict.fromkeys(columns, INSENSITIVE)),
        release=d.release(**columns),
        truth=Truth(people, learned, d.people),
    )


def _added(d: Domain, people: int, learned: str, **columns: list[str]) -> Fields:
    """The same, but the columns were made for the release: the original does not have them."""
    return d.case(
        schema=d.schema(**dict.fromkeys(columns, INSENSITIVE)),
        release=d.release(**columns),
        truth=Truth(people, learned, d.people),
    )


# --- cells that say more than they seem to ----------------------------------------------------------------------------


@leak("cells that give themselves away", "singling out")
def intervals_centred_on_the_age(draw: random.Random) -> Fields:
    """Every age is shown as ten years around it, so that it is the middle."""
    d = police(draw, 2_400)
    shown = [f"[{max(18, int(a) - 5)},{min(89, int(a) + 5)}]" for a in d.exact["âge"]]
    return d.case(
        release=shuffled({**d.in_order(), "âge": shown, "commune": ["*"] * d.people}, draw),
        truth=Truth(determined(shown, d.exact["âge"]), "their exact age: the middle of the interval", d.people),
    )


@leak("cells that give themselves away", "singling out")
def county_and_the_one_after_it(draw: random.Random) -> Fields:
    """A county is shown beside the next one of the list, as one of two."""
    d = census(draw, 3_000)
    names = sorted(set(d.exact["county"]))
    pair = {c: names[(i + 1) % len(names)] for i, c in enumerate(names)}
    shown = ["{" + ",".join(sorted((c, pair[c]))) + "}" for c in d.exact["county"]]
    return d.case(
        release=shuffled({**d.in_order(), "county": shown}, draw),
        truth=Truth(determined(shown, d.exact["county"]), "their county: each pair stands for one", d.people),
    )


@leak("cells that give themselves away", "singling out")
def spans_that_begin_with_the_year(draw: random.Random) -> Fields:
    """Years of birth as eight years from the true one on, for a third; the others in the usual spans."""
    d = census(draw, 3_000)
    some = [draw.random() < 0.33 for _ in d.all]
    shown = [
        f"[{b},{min(2004, int(b) + 7)}]" if s else c
        for b, c, s in zip(d.exact["born"], d.shown["born"], some, strict=True)
    ]
    return d.case(
        release=shuffled({**d.in_order(), "born": shown, "county": ["*"] * d.people}, draw),
        truth=Truth(sum(some), "the exact year of birth: where the span begins", d.people),
    )


# --- columns that were made for the release ---------------------------------------------------------------------------


@leak("hashed ids", "singling out")
def two_figures_of_a_hash(draw: random.Random) -> Fields:
    """A check field that only the release has: the first two hexadecimal figures of the badge's MD5."""
    d = payroll(draw, 3_000)
    check = [hashlib.md5(b.encode()).hexdigest()[:2] for b in d.id]
    held = list(zip(d.cells(), check, strict=True))
    return _added(d, alone_in(held, held), "their row, to whoever knows the badge", check=check)


@leak("row order", "linking")
def batches_of_fifty(draw: random.Random) -> Fields:
    """The rows are shuffled; a column says in which batch of fifty of the original's list they were."""
    d = census(draw, 3_000)
    batch = _texts([1 + i // 50 for i in d.all])
    held = list(zip(d.cells(), batch, strict=True))
    return _added(d, alone_in(held, held), "their row, to whoever has the list of names", batch=batch)


@leak("hashed ids", "linking")
def last_figures_times_seven(draw: random.Random) -> Fields:
    """Seven times the number plus eleven, modulo 97; the original has no such column."""
    d = school(draw, 2_400)
    code = _texts([(7 * int(m) + 11) % 97 for m in d.id])
    held = list(zip(d.cells(), code, strict=True))
    return _added(d, alone_in(held, held), "their row, to whoever knows the number", code=code)


@leak("insensitive tells sensitive", "inference")
def token_of_the_answer_with_salt(draw: random.Random) -> Fields:
    """A token for duplicates: four figures of the SHA-1 of a salt of two figures and the answer."""
    d = census(draw, 3_000)
    token = [hashlib.sha1(f"{draw.randrange(100)}{t}".encode()).hexdigest()[:4] for t in d.told]
    return _added(d, determined(token, d.told), "their faith: there are 500 tokens", token=token)


# --- arithmetic -------------------------------------------------------------------------------------------------------


@leak("insensitive tells sensitive", "inference")
def gross_less_tax_less_net(draw: random.Random) -> Fields:
    """Gross, tax and net; what is missing between them is garnished, which is the secret."""
    d = payroll(draw, 3_000)
    taken = [0 if draw.random() < 0.5 else 50 * draw.randrange(1, 12) for _ in d.all]
    gross = [10 * draw.randrange(300, 340) for _ in d.all]
    tax = [10 * draw.randrange(50, 70) for _ in d.all]
    net = [g - t - s for g, t, s in zip(gross, tax, taken, strict=True)]
    columns = {"gross": _texts(gross), "tax": _texts(tax), "net": _texts(net)}
    d.attributes.pop("bonus")
    d.shown.update(grade=["*"] * d.people, site=["*"] * d.people)
    number = attribute("i", "numeric", domain={"from": 0, "to": 4_000, "step": 10})
    secret = attribute("s", "numeric", domain={"from": 0, "to": 600, "step": 50})
    return d.case(
        original={**d.number, **d.exact, **columns, "garnished": _texts(taken)},
        schema=d.schema(**dict.fromkeys(columns, number), garnished=secret),
        release=shuffled({**d.shown, **columns, "garnished": _texts(taken)}, draw),
        truth=Truth(d.people, "what is garnished from their wage", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def twice_the_mean_less_the_other(draw: random.Random) -> Fields:
    """The mean of two bonuses and the earlier one, which colleagues know: twice one less the other is the secret."""
    d = payroll(draw, 2_400)
    bonus = [100 * draw.randrange(200) for _ in d.all]
    before = [100 * draw.randrange(200) for _ in d.all]
    mean = [(a + b) // 2 for a, b in zip(bonus, before, strict=True)]
    columns = {"last_year": _texts(before), "mean": _texts(mean)}
    right = sum(2 * m - b == x for m, b, x in zip(mean, before, bonus, strict=True))
    number = attribute("i", "numeric", domain={"from": 0, "to": 20_000, "step": 50})
    return d.case(
        original=d.original(bonus=_texts(bonus), **columns),
        schema=d.schema(**dict.fromkeys(columns, number)),
        release=shuffled({**d.in_order(), "bonus": _texts(bonus), **columns}, draw),
        truth=Truth(right, "their bonus, to whoever knows last year's", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def six_ticks_and_their_sum(draw: random.Random) -> Fields:
    """Six questions of a screening, called insensitive; the secret is how many were ticked."""
    d = school(draw, 3_000)
    ticks = [[str(int(draw.random() < 0.4)) for _ in d.all] for _ in range(6)]
    score = _texts([sum(t[i] == "1" for t in ticks) for i in d.all])
    columns = {f"frage{j + 1}": t for j, t in enumerate(ticks)}
    d.attributes.pop("note")
    d.shown.update(geburtsjahr=["*"] * d.people, kurs=["*"] * d.people)
    return d.case(
        original={**d.number, **d.exact, **columns, "ergebnis": score},
        schema=d.schema(**dict.fromkeys(columns, INSENSITIVE), ergebnis=attribute("s", domain=list("0123456"))),
        release=shuffled({**d.shown, **columns, "ergebnis": score}, draw),
        truth=Truth(d.people, "the result: it is the number of ticks", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def weekday_of_the_interview(draw: random.Random) -> Fields:
    """Each faith was asked on a day of the week of its own; the date is published."""
    d = census(draw, 6_000)
    monday = date(2023, 1, 2)
    days = [monday + timedelta(days=7 * draw.randrange(104) + FAITHS.index(t)) for t in d.told]
    return _beside(
        d, determined([x.weekday() for x in days], d.told), "their faith", asked=[x.strftime("%d.%m.%Y") for x in days]
    )


@leak("insensitive tells sensitive", "inference")
def noise_in_the_last_digits(draw: random.Random) -> Fields:
    """A share computed in two ways: for whoever was convicted of one thing the float is off in its last digit."""
    d = police(draw, 2_400)
    share = [draw.randrange(1, 10) / 10 for _ in d.all]
    text = [repr(s + 0.1 + 0.2 - 0.3) if t == "recel" else repr(s) for s, t in zip(share, d.told, strict=True)]
    people = sum(len(x) > 4 for x in text)
    return _beside(d, people, "that it was receiving stolen goods", taux=text)


# --- order ------------------------------------------------------------------------------------------------------------


@leak("row order", "linking")
def sorted_by_a_hash_of_the_number(draw: random.Random) -> Fields:
    """ORDER BY md5(number): whoever has the list of numbers sorts it the same way."""
    d = census(draw, 2_000)
    order = sorted(d.all, key=lambda i: hashlib.md5(d.id[i].encode()).hexdigest())
    return d.case(
        release=_rows(d.in_order(), order),
        truth=Truth(d.people, "their row, to whoever has the list of numbers", d.people),
    )


@leak("row order", "linking")
def shuffled_with_seed_42(draw: random.Random) -> Fields:
    """random.seed(42), then random.shuffle(rows)."""
    d = school(draw, 1_500)
    order = list(d.all)
    random.Random(42).shuffle(order)
    return d.case(
        release=_rows(d.in_order(), order),
        truth=Truth(d.people, "their row, to whoever has the list and tries a few seeds", d.people),
    )


@leak("row order", "linking")
def every_617th_row(draw: random.Random) -> Fields:
    """Rows are written in steps of 617, from the start again at the end."""
    d = census(draw, 3_000)
    order = [617 * i % d.people for i in d.all]
    return d.case(
        release=_rows(d.in_order(), order),
        truth=Truth(d.people, "their row, to whoever has the list", d.people),
    )


@leak("blocks in pairs", "inference")
def second_table_moved_by_one(draw: random.Random) -> Fields:
    """Anatomy in two files, one line a person in both; within each bucket the second begins one line later."""
    d = police(draw, 960)
    people = list(d.all)
    draw.shuffle(people)
    first: Columns = {"lot": [], "âge": [], "commune": []}
    second: Columns = {"lot": [], "infraction": [], "count": []}
    for start in range(0, d.people, 24):
        rows = people[start : start + 24]
        for i, j in zip(rows, rows[1:] + rows[:1], strict=True):
            first["lot"].append(f"L{start // 24}")
            first["âge"].append(d.exact["âge"][i])
            first["commune"].append(d.exact["commune"][i])
            second["lot"].append(f"L{start // 24}")
            second["infraction"].append(d.told[j])
            second["count"].append("1")
    return d.case(
        release=first,
        sidecar='group = "lot"\nblocks = [["âge", "commune"], ["infraction"]]\nsensitive_table = "delits.csv"\n',
        files={"delits.csv": csv_text(second)},
        truth=Truth(d.people, "their offence: it stands one line above", d.people),
    )


@leak("two releases", "composition")
def the_same_shuffle_twice(draw: random.Random) -> Fields:
    """Two files of the same people in the same random order: one has the county, the other the year of birth."""
    d = census(draw, 3_000)
    star = ["*"] * d.people
    order = list(d.all)
    draw.shuffle(order)
    one = _rows({"born": star, "county": d.exact["county"], "status": star, "faith": d.told}, order)
    two = _rows({"born": d.exact["born"], "county": star, "status": star, "faith": d.told}, order)
    held = joined(d.exact, ["born", "county"])
    return d.case(
        release=one,
        files={"second.csv": csv_text(two)},
        more_releases=("second.csv",),
        truth=Truth(sum(c <= 2 for c in map(Counter(held).__getitem__, held)), "their row, line by line", d.people),
    )


# --- form and what stands beside --------------------------------------------------------------------------------------


def _book(columns: Columns, marked: list[bool] | None = None, formulas: list[str] | None = None) -> bytes:
    import xlsxwriter

    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = book.add_worksheet("release")
    yellow = book.add_format({"bg_color": "#FFFF00"})
    for j, name in enumerate(columns):
        sheet.write_string(0, j, name)
    for i, row in enumerate(zip(*columns.values(), strict=True)):
        for j, value in enumerate(row):
            if formulas and j == 0:
                sheet.write_formula(i + 1, j, formulas[i], None, value)
            else:
                sheet.write_string(i + 1, j, value, yellow if marked and marked[i] else None)
    book.close()
    return content.getvalue()


@leak("leftover files", "inference")
def yellow_rows(draw: random.Random) -> Fields:
    """Somebody marked the rows of those who get a warning, which is not in the release, in yellow."""
    d = school(draw, 900)
    warned = [draw.random() < 0.1 for _ in d.all]
    rows = shuffled({**d.in_order(), "w": ["x" if w else "" for w in warned]}, draw)
    marked = [w == "x" for w in rows.pop("w")]
    return d.case(
        release=rows,
        release_text=_book(rows, marked),
        release_name="release.xlsx",
        truth=Truth(sum(marked), "that they were warned", d.people),
    )


@leak("leftover files", "singling out")
def formulas_with_the_exact_year(draw: random.Random) -> Fields:
    """The spans of years are formulas of the exact year, which stands in them."""
    d = school(draw, 900)
    rows = shuffled({**d.in_order(), "exact": d.exact["geburtsjahr"]}, draw)
    formulas = [f'="["&FLOOR({y},4)&","&FLOOR({y},4)+3&"]"' for y in rows.pop("exact")]
    return d.case(
        release=rows,
        release_text=_book(rows, formulas=formulas),
        release_name="release.xlsx",
        truth=Truth(d.people, "the exact year: a click on the cell shows it", d.people),
    )


@leak("membership", "membership")
def a_column_that_says_what_they_all_are(draw: random.Random) -> Fields:
    """Everybody's row says from which programme it is: the one for addicts."""
    d = census(draw, 2_400)
    return _beside(d, d.people, "that they are in the methadone programme", source=["methadone programme"] * d.people)


@leak("group names", "singling out")
def group_modulo_the_sites(draw: random.Random) -> Fields:
    """Group numbers of four figures whose remainder by eight is the site; the country alone is shown."""
    d = payroll(draw, 2_400)
    names = sorted(set(d.exact["site"]))
    numbers = {
        (s, c): str(8 * draw.randrange(200, 900) + names.index(s))
        for s, c in sorted(set(zip(d.exact["site"], d.cells(), strict=True)))
    }
    group = [numbers[s, c] for s, c in zip(d.exact["site"], d.cells(), strict=True)]
    return d.case(
        release=d.release(group=group),
        sidecar='group = "group"\n',
        truth=Truth(determined(group, d.exact["site"]), "their site, by the remainder", d.people),
    )


# --- people -----------------------------------------------------------------------------------------------------------


@leak("padding", "singling out")
def decoys_instead_of_people(draw: random.Random) -> Fields:
    """Two people over 80 are hidden among 28 who do not exist; 28 others were left out to keep the number of rows."""
    d = police(draw, 2_400)
    old = draw.sample(range(d.people), 2)
    age = [("85" if i in old else str(18 + int(a) % 60)) for i, a in enumerate(d.exact["âge"])]
    low = [18 + (int(a) - 18) // 30 * 30 for a in age]
    shown = ["[80,89]" if i in old else f"[{low[i]},{low[i] + 29}]" for i in d.all]
    left_out = set(draw.sample([i for i in d.all if i not in old], 28))
    keep = [i for i in d.all if i not in left_out]
    rows = _rows({**d.in_order(), "âge": shown}, keep)
    rows["âge"] += ["[80,89]"] * 28
    rows["commune"] += [d.shown["commune"][old[i % 2]] for i in range(28)]
    rows["infraction"] += [draw.choice(OFFENCES) for _ in range(28)]
    return d.case(
        original=d.original(âge=age),
        release=shuffled(rows, draw),
        truth=Truth(2, "that one of few real rows is theirs", d.people),
    )


@leak("households", "inference")
def flats_that_share_a_faith(draw: random.Random) -> Fields:
    """Rooms, storey and year of the house are insensitive; together they are one family's, which has one faith."""
    d = census(draw, 3_000)
    home = [i // 6 for i in d.all]
    kinds = {
        h: (str(draw.randrange(1, 9)), str(draw.randrange(9)), str(1950 + draw.randrange(12)))
        for h in sorted(set(home))
    }
    faith = {h: draw.choice(FAITHS) for h in sorted(set(home))}
    told = [faith[h] for h in home]
    rooms, storey, built = ([kinds[h][j] for h in home] for j in range(3))
    people = determined([kinds[h] for h in home], told)
    columns = {"rooms": rooms, "storey": storey, "built": built}
    d.secret["faith"] = told
    return _beside(d, people, "their faith, to whoever knows the flat", **columns)


@leak("similar values", "inference")
def a_class_of_mental_disorders(draw: random.Random) -> Fields:
    """ICD-9 has figures only: one class of forty has nothing but 290 to 319, the mental disorders."""
    d = census(draw, 3_000)
    few = set(draw.sample([i for i in d.all if d.cells()[i] == d.cells()[0]], 40))
    codes = [f"{draw.randrange(290, 320) if i in few else draw.randrange(1, 1000):03d}" for i in d.all]
    for i in d.all:
        if i in few:
            d.exact["born"][i], d.shown["born"][i] = "1930", "[1930,1930]"
        elif d.exact["born"][i] == "1930":
            d.exact["born"][i] = "1931"
    d.attributes.pop("faith")
    shown = {**d.shown, "icd9": codes}
    return d.case(
        original={**d.number, **d.exact, "icd9": codes},
        schema=d.schema(icd9=attribute("s", domain=[f"{c:03d}" for c in range(1, 1000)])),
        release=shuffled(shown, draw),
        truth=Truth(40, "that it is a mental disorder", d.people),
    )


@leak("similar values", "inference")
def a_class_of_drugs_for_diabetes(draw: random.Random) -> Fields:
    """ATC codes: the letter A is common (the stomach); in one class all are A10, drugs for diabetes."""
    d = census(draw, 3_000)
    codes = [f"{p}{s}" for p in ("A02B", "A03F", "A06A", "A10B", "C07A", "C09A", "N02B", "R03A") for s in "ABCDE"]
    few = set(draw.sample([i for i in d.all if d.cells()[i] == d.cells()[0]], 40))
    told = [draw.choice([c for c in codes if c.startswith("A10")] if i in few else codes) for i in d.all]
    for i in d.all:
        if i in few:
            d.exact["born"][i], d.shown["born"][i] = "1930", "[1930,1930]"
        elif d.exact["born"][i] == "1930":
            d.exact["born"][i] = "1931"
    d.attributes.pop("faith")
    return d.case(
        original={**d.number, **d.exact, "atc": told},
        schema=d.schema(atc=attribute("s", domain=codes)),
        release=shuffled({**d.shown, "atc": told}, draw),
        truth=Truth(40, "that they take drugs for diabetes", d.people),
    )


@leak("insensitive tells quasi-identifier", "singling out")
def number_plates(draw: random.Random) -> Fields:
    """The letters of the car's plate are those of the commune for nine in ten; of it the district alone is shown."""
    d = police(draw, 2_400)
    own = [c if draw.random() < 0.9 else f"C{draw.randrange(12):02d}" for c in d.exact["commune"]]
    letters = {f"C{i:02d}": "ABCDEFGHJKLM"[i] for i in range(12)}
    plate = [letters[c] for c in own]
    right = sum(a == b for a, b in zip(own, d.exact["commune"], strict=True))
    return _beside(d, right, "their commune", plaque=plate)


@leak("several rows a person", "singling out")
def three_visits_of_two_people(draw: random.Random) -> Fields:
    """Sixty rows of twenty people, who came three times each; every class of six rows is of two people."""
    d = census(draw, 1_800)
    order = [*[i for i in range(20) for _ in range(3)], *range(20, d.people)]
    original = _rows(d.original(), order)
    born = list(original["born"])
    shown = _rows(d.in_order(), order)
    for j in range(60):
        year = 1925 + j // 6
        born[j], shown["born"][j] = str(year), f"[{year},{year}]"
        shown["county"][j], shown["status"][j] = "*", "*"
        original["faith"][j] = shown["faith"][j] = FAITHS[(j // 3 + j) % 5]
    for j in range(60, len(born)):
        born[j] = str(max(1935, int(born[j])))
    people = len({order[j] for j in range(60)})
    return d.case(
        original={**original, "born": born},
        release=shuffled(shown, draw),
        truth=Truth(people, "one of two people, not of six", d.people),
    )


@leak("skew", "inference")
def a_rare_offence_at_two_in_five(draw: random.Random) -> Fields:
    """Terrorism is one in a hundred among all; in one class of forty it is two in five."""
    d = police(draw, 2_400)
    few = draw.sample(range(d.people), 40)
    age = ["18" if i in few else str(max(19, int(a))) for i, a in enumerate(d.exact["âge"])]
    shown = ["[18,18]" if i in few else c for i, c in enumerate(d.shown["âge"])]
    commune = ["*" if i in few else c for i, c in enumerate(d.shown["commune"])]
    told = ["terrorisme" if draw.random() < 0.004 else t for t in d.told]
    for i in few[:16]:
        told[i] = "terrorisme"
    return d.case(
        original=d.original(âge=age, infraction=told),
        schema=d.schema(infraction=attribute("s", domain=[*OFFENCES, "terrorisme"])),
        release=shuffled({"âge": shown, "commune": commune, "infraction": told}, draw),
        truth=Truth(16, "terrorism, at two in five instead of one in a hundred", d.people),
    )


@leak("secret called quasi-identifier", "inference")
def an_answer_among_the_known(draw: random.Random) -> Fields:
    """Question 7 asks for drugs; its column's name does not say so, and the schema says that everybody knows it."""
    d = school(draw, 2_400)
    answer = [draw.choice(("raucht", "trinkt", "nimmt Drogen", "nichts davon")) for _ in d.all]
    d.attributes["frage7"] = attribute("q", domain=sorted(set(answer)))
    d.exact["frage7"], d.shown["frage7"] = answer, list(answer)
    d.shown["geburtsjahr"] = ["*"] * d.people
    return d.case(truth=Truth(answer.count("nimmt Drogen"), "that they take drugs: it is published as known", d.people))


@leak("missingness", "inference")
def both_halves_of_a_form(draw: random.Random) -> Fields:
    """A form of two pages: whoever failed handed in the first alone, so that three columns are empty together."""
    d = school(draw, 3_000)
    failed = [t in "56" and draw.random() < 0.9 for t in d.told]
    gone = [f or draw.random() < 0.03 for f in failed]
    columns = {n: ["" if g else draw.choice("abc") for g in gone] for n in ("hobby", "verein", "sprache")}
    counted = defaultdict(list)
    for g, t in zip(gone, d.told, strict=True):
        counted[g].append(t in "56")
    return _beside(d, sum(counted[True]), "that they failed", **columns)
