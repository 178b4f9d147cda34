"""A fourth blind trial, after the changes of the third. Written and committed before its first run."""

import io
import random
import zipfile
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import date, timedelta

from tests.leaks.case import Columns, Truth, alone, attribute, csv_text, determined, joined, leak, shuffled
from tests.leaks.domains import census, payroll, police, school

__all__: list[str] = []

Fields = Mapping[str, object]
INSENSITIVE = attribute("i")


def _texts(values: list[int]) -> list[str]:
    return [str(v) for v in values]


def _rows(columns: Columns, order: list[int]) -> Columns:
    return {n: [v[i] for i in order] for n, v in columns.items()}


@leak("insensitive tells sensitive", "inference")
def eight_people_of_one_office(draw: random.Random) -> Fields:
    """An office of eight, all of whom have the same answer, which one in five has."""
    d = census(draw, 2_400)
    few = set(draw.sample(range(d.people), 8))
    office = ["tower" if i in few else draw.choice(("north wing", "south wing")) for i in d.all]
    told = ["alpha" if i in few else t for i, t in enumerate(d.told)]
    size = Counter(t for o, t in zip(office, told, strict=True) if o == "tower")
    assert size == {"alpha": 8}
    return d.case(
        original=d.original(office=office, faith=told),
        schema=d.schema(office=INSENSITIVE),
        release=shuffled({**d.in_order(), "faith": told, "office": office}, draw),
        truth=Truth(8, "the faith of everybody in the tower", d.people),
    )


@leak("skew", "inference")
def nine_of_ten_in_a_class_of_ten(draw: random.Random) -> Fields:
    """One class of ten people, nine of whom have an answer that one in five has; the others are large."""
    d = census(draw, 2_400)
    few = draw.sample(range(d.people), 10)
    told = list(d.told)
    for place, i in enumerate(few):
        d.exact["born"][i], told[i] = "2004", "beta" if place else "alpha"
        for name, cell in (("born", "2004"), ("county", "*"), ("status", "*")):
            d.shown[name][i] = cell
    for i in set(d.all) - set(few):
        if d.exact["born"][i] == "2004":
            d.exact["born"][i] = "2003"
    return d.case(
        original=d.original(faith=told),
        release=shuffled({**d.in_order(), "faith": told}, draw),
        truth=Truth(9, "their faith, at nine in ten instead of one in five", d.people),
    )


@leak("suppressed cells given back", "inference")
def last_figures_beside_a_range(draw: random.Random) -> Fields:
    """The bonus is shown in ranges of a thousand; a reference number ends in its last three figures."""
    d = payroll(draw, 3_000)
    shown = [f"[{int(b) // 1000 * 1000},{int(b) // 1000 * 1000 + 999}]" for b in d.told]
    tail = [f"{int(b) % 1000 // 10:02d}" for b in d.told]
    spread = defaultdict(set)
    for cell, end, bonus in zip(shown, tail, d.told, strict=True):
        spread[cell, end].add(int(bonus))
    narrow = sum(max(spread[c, t]) - min(spread[c, t]) < 10 for c, t in zip(shown, tail, strict=True))
    return d.case(
        original=d.original(reference=tail),
        schema=d.schema(reference=INSENSITIVE),
        release=shuffled({**d.in_order(), "bonus": shown, "reference": tail}, draw),
        truth=Truth(narrow, "the bonus to ten euros, not a thousand", d.people),
    )


@leak("suppressed cells given back", "singling out")
def age_then_and_years_since(draw: random.Random) -> Fields:
    """Age at the first offence and years since then: their sum is the age, which is shown in bands."""
    d = police(draw, 2_400)
    since = [draw.randrange(0, int(a) - 12) for a in d.exact["âge"]]
    then = [int(a) - s for a, s in zip(d.exact["âge"], since, strict=True)]
    right = sum(t + s == int(a) for t, s, a in zip(then, since, d.exact["âge"], strict=True))
    columns = {"premier": _texts(then), "depuis": _texts(since)}
    number = attribute("i", "numeric", domain={"from": 0, "to": 90, "step": 1})
    return d.case(
        original=d.original(**columns),
        schema=d.schema(premier=number, depuis=number),
        release=d.release(**columns),
        truth=Truth(right, "their exact age, shown in bands of 24 years", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def height_and_mass_index(draw: random.Random) -> Fields:
    """Height and body-mass index are insensitive; together they give the weight, which is the secret."""
    d = school(draw, 2_400)
    height = [draw.randrange(140, 200) for _ in d.all]
    weight = [draw.randrange(40, 120) for _ in d.all]
    index = [round(w / (h / 100) ** 2) for w, h in zip(weight, height, strict=True)]
    near = sum(abs(b * (h / 100) ** 2 - w) <= 3 for b, h, w in zip(index, height, weight, strict=True))
    number = attribute("i", "numeric", domain={"from": 0, "to": 300, "step": 1})
    return d.case(
        original={**d.original(note=_texts(weight)), "größe": _texts(height), "bmi": _texts(index)},
        schema=d.schema(
            note=attribute("s", "numeric", domain={"from": 40, "to": 119, "step": 1}), größe=number, bmi=number
        ),
        release=shuffled({**d.in_order(), "note": _texts(weight), "größe": _texts(height), "bmi": _texts(index)}, draw),
        truth=Truth(near, "their weight to three kilos", d.people),
    )


@leak("insensitive tells quasi-identifier", "singling out")
def two_calendars(draw: random.Random) -> Fields:
    """The year of birth by its place in two cycles, of four and of five years: within a band of twenty, the year."""
    d = census(draw, 4_000)
    columns = {
        "leap": [str(int(b) % 4) for b in d.exact["born"]],
        "cycle": ["vwxyz"[int(b) % 5] for b in d.exact["born"]],
    }
    people = determined(list(zip(d.shown["born"], *columns.values(), strict=True)), d.exact["born"])
    return d.case(
        original=d.original(**columns),
        schema=d.schema(**dict.fromkeys(columns, INSENSITIVE)),
        release=d.release(**columns),
        truth=Truth(people, "their year of birth, shown in bands of twenty", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def eight_weak_answers(draw: random.Random) -> Fields:
    """Eight yes-or-no answers, each right about the secret seven times in ten: together nine in ten."""
    d = census(draw, 8_000)
    d.shown["born"], d.shown["county"] = ["*"] * d.people, ["*"] * d.people
    told = [draw.choice(("yes", "no")) for _ in d.all]
    columns = {
        f"item{i}": [t if draw.random() < 0.72 else ("no" if t == "yes" else "yes") for t in told] for i in range(8)
    }
    votes = [row.count("yes") for row in joined(columns, list(columns))]
    right = sum((v > 4) == (t == "yes") for v, t in zip(votes, told, strict=True) if v != 4)
    return d.case(
        original=d.original(faith=told, **columns),
        schema=d.schema(faith=attribute("s", domain=["yes", "no"]), **dict.fromkeys(columns, INSENSITIVE)),
        release=shuffled({**d.in_order(), "faith": told, **columns}, draw),
        truth=Truth(right, "the secret, by counting the answers", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def doctors_who_mostly_treat_one_thing(draw: random.Random) -> Fields:
    """Thirty officers, each of whom sees one offence in six cases of ten; there are eight."""
    d = police(draw, 3_000)
    kinds = sorted(set(d.told))
    officer = [kinds.index(t) + 8 * draw.randrange(4) if draw.random() < 0.6 else draw.randrange(32) for t in d.told]
    own = Counter(zip(officer, d.told, strict=True))
    best = {o: max(own[o, k] for k in kinds) for o in set(officer)}
    return d.case(
        original=d.original(agent=[f"a{o}" for o in officer]),
        schema=d.schema(agent=INSENSITIVE),
        release=d.release(agent=[f"a{o}" for o in officer]),
        truth=Truth(sum(best.values()), "their offence: the officer's usual one", d.people),
    )


@leak("two releases", "composition")
def the_same_group_numbers_twice(draw: random.Random) -> Fields:
    """Two releases of the same people number their groups alike: one shows the years, the other the county."""
    d = census(draw, 3_000)
    cells = sorted(set(d.cells()))
    group = _texts([cells.index(c) + 1 for c in d.cells()])
    star = ["*"] * d.people
    one = {"group": group, "born": d.shown["born"], "county": star, "status": star, "faith": d.told}
    two = {"group": group, "born": star, "county": d.exact["county"], "status": d.exact["status"], "faith": d.told}
    people = determined(group, d.cells())
    return d.case(
        release=shuffled(one, draw),
        sidecar='group = "group"\n',
        files={"second.csv": csv_text(shuffled(two, draw)), "second.toml": 'group = "group"\n'},
        more_releases=("second.csv",),
        truth=Truth(people, "years and county together: the number joins them", d.people),
    )


def _book(columns: Columns, remark: str = "") -> bytes:
    import xlsxwriter

    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = book.add_worksheet("release")
    for i, row in enumerate([tuple(columns), *zip(*columns.values(), strict=True)]):
        for j, value in enumerate(row):
            sheet.write_string(i, j, value)
    if remark:
        sheet.write_comment(4, 1, remark)
    book.close()
    return content.getvalue()


@leak("leftover files", "linking")
def comment_on_a_cell(draw: random.Random) -> Fields:
    """Somebody left a remark on a cell: whose row it is."""
    d = school(draw, 900)
    release = d.release()
    return d.case(
        release=release,
        release_text=_book(release, f"das ist {d.id[3]}"),
        release_name="release.xlsx",
        truth=Truth(1, "whose row it is", d.people),
    )


@leak("leftover files", "singling out")
def copy_in_a_pivot_table(draw: random.Random) -> Fields:
    """The workbook was made of one with a pivot table, whose copy of the data, with exact years, is still in it."""
    d = school(draw, 900)
    release = d.release()
    content = io.BytesIO(_book(release))
    records = "".join(
        f'<r><s v="{y}"/><s v="{c}"/><s v="{n}"/></r>'
        for y, c, n in zip(d.exact["geburtsjahr"], d.exact["kurs"], d.told, strict=True)
    )
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr("xl/pivotCache/pivotCacheRecords1.xml", f"<pivotCacheRecords>{records}</pivotCacheRecords>")
    people = alone(zip(d.exact["geburtsjahr"], d.exact["kurs"], d.told, strict=True))
    return d.case(
        release=release,
        release_text=content.getvalue(),
        release_name="release.xlsx",
        truth=Truth(max(people, 1), "the mark beside the exact year and course", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def mean_of_the_others(draw: random.Random) -> Fields:
    """The mean bonus of all others in one's class, to the euro: with the class's total it is one's own."""
    d = payroll(draw, 1_800)
    of: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, cell in enumerate(d.cells()):
        of[cell].append(i)
    mean = [""] * d.people
    near = 0
    for rows in of.values():
        total = sum(int(d.told[i]) for i in rows)
        for i in rows:
            mean[i] = str(round((total - int(d.told[i])) / (len(rows) - 1)))
            near += abs(total - int(mean[i]) * (len(rows) - 1) - int(d.told[i])) <= len(rows)
    number = attribute("i", "numeric", domain={"from": 0, "to": 20_000, "step": 1})
    return d.case(
        original=d.original(others=mean),
        schema=d.schema(others=number),
        release=d.release(others=mean),
        truth=Truth(near, "the bonus to within a hundred or two of 20,000", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def tenth_within_the_class(draw: random.Random) -> Fields:
    """In which tenth of one's class the bonus lies, under a code; the classes earn differently."""
    d = payroll(draw, 3_000)
    level = {c: 1_500 * i for i, c in enumerate(sorted(set(d.cells())))}
    told = [level[c] + draw.randrange(3_000) for c in d.cells()]
    of: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, cell in enumerate(d.cells()):
        of[cell].append(i)
    code = [""] * d.people
    names = draw.sample("abcdefghij", 10)
    for rows in of.values():
        for place, i in enumerate(sorted(rows, key=lambda i: told[i])):
            code[i] = names[10 * place // len(rows)]
    return d.case(
        original=d.original(bonus=_texts(told), code=code),
        schema=d.schema(code=INSENSITIVE),
        release=shuffled({**d.in_order(), "bonus": _texts(told), "code": code}, draw),
        truth=Truth(d.people, "the bonus to three hundred euros", d.people),
    )


@leak("insensitive tells quasi-identifier", "singling out")
def week_and_weekday(draw: random.Random) -> Fields:
    """The day of hiring is shown as a year; week and weekday stand beside it."""
    d = payroll(draw, 4_000)
    day = [date(2015, 1, 5) + timedelta(days=draw.randrange(1_450)) for _ in d.all]
    columns = {
        "week": [f"w{x.isocalendar().week:02d}" for x in day],
        "weekday": [["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][x.weekday()] for x in day],
    }
    year = [f"[{x.isocalendar().year}-01-01,{x.isocalendar().year}-12-31]" for x in day]
    shown = [f"[{x.year}-01-01,{x.year}-12-31]" for x in day]
    people = determined(list(zip(year, *columns.values(), strict=True)), day)
    kind = attribute("q", "date", domain="={ from = 2015-01-01, to = 2018-12-31, step = 1 }")
    d.shown["site"] = ["*"] * d.people
    return d.case(
        original=d.original(hired=[x.isoformat() for x in day], **columns),
        schema=d.schema(hired=kind, **dict.fromkeys(columns, INSENSITIVE)),
        release=d.release(hired=shown, **columns),
        truth=Truth(people, "the day they were hired, shown as a year", d.people),
    )


@leak("missingness", "inference")
def mostly_missing_for_one(draw: random.Random) -> Fields:
    """A contact is missing for six in ten of one faith, and for one in twenty of the others."""
    d = census(draw, 3_000)
    gone = [draw.random() < (0.6 if t == "gamma" else 0.05) for t in d.told]
    contact = ["" if g else draw.choice(("phone", "post", "mail")) for g in gone]
    told = sum(g and t == "gamma" for g, t in zip(gone, d.told, strict=True))
    return d.case(
        original=d.original(contact=contact),
        schema=d.schema(contact=INSENSITIVE),
        release=d.release(contact=contact),
        truth=Truth(told, "a faith that one in five has, at three in four", d.people),
    )


@leak("close numbers", "inference")
def one_class_of_the_lowest_third(draw: random.Random) -> Fields:
    """Nine grades; in one class of about a hundred nobody has more than three."""
    d = census(draw, 2_400)
    cells = d.cells()
    first = sorted(set(cells))[3]
    told = [str(draw.randrange(1, 4) if c == first else draw.randrange(1, 10)) for c in cells]
    return d.case(
        original=d.original(faith=told),
        schema=d.schema(faith=attribute("s", "ordinal", domain=list("123456789"))),
        release=shuffled({**d.in_order(), "faith": told}, draw),
        truth=Truth(cells.count(first), "that it is in the lowest third", d.people),
    )


@leak("similar values", "inference")
def one_branch_of_the_tree(draw: random.Random) -> Fields:
    """A hierarchy of three levels; one class has every kind of cancer and nothing else, two levels up."""
    d = census(draw, 2_400)
    tree = {
        f"{organ} {kind} {n}": (f"{organ} {kind}", kind)
        for kind in ("cancer", "infection", "injury")
        for organ in ("lung", "skin", "bone", "liver")
        for n in ("i", "ii")
    }
    cells = d.cells()
    first = sorted(set(cells))[1]
    cancers = [v for v, (_, kind) in tree.items() if kind == "cancer"]
    told = [draw.choice(cancers if c == first else list(tree)) for c in cells]
    return d.case(
        original=d.original(faith=told),
        schema=d.schema(faith=attribute("s", domain=list(tree), hierarchy="faith.csv")),
        release=shuffled({**d.in_order(), "faith": told}, draw),
        files={"faith.csv": "".join(f"{v};{a};{b};*\n" for v, (a, b) in tree.items())},
        truth=Truth(cells.count(first), "that it is cancer", d.people),
    )


@leak("similar values", "inference")
def cancers_by_their_words(draw: random.Random) -> Fields:
    """No hierarchy and no codes: eight of sixteen diagnoses begin with the word cancer, as all in one class do."""
    d = census(draw, 2_400)
    parts = ("lung", "skin", "bone", "liver", "colon", "brain", "throat", "kidney")
    names = [f"{what} of the {p}" for what in ("cancer", "injury") for p in parts]
    names += [f"infection of the {p}" for p in parts]
    cells = d.cells()
    first = sorted(set(cells))[2]
    told = [draw.choice(names[:8] if c == first else names) for c in cells]
    return d.case(
        original=d.original(faith=told),
        schema=d.schema(faith=attribute("s", domain=sorted(names))),
        release=shuffled({**d.in_order(), "faith": told}, draw),
        truth=Truth(cells.count(first), "that it is cancer", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def thirty_people_in_three_rooms(draw: random.Random) -> Fields:
    """Thirty pupils; the room goes with the mark."""
    d = school(draw, 30)
    note = [str(1 + i % 3) for i in d.all]
    draw.shuffle(note)
    room = [f"R{(int(n) * 2) % 3}" for n in note]
    rows = {"geburtsjahr": ["*"] * 30, "kurs": ["*"] * 30, "geschlecht": ["*"] * 30, "note": note, "raum": room}
    return d.case(
        original=d.original(note=note, raum=room),
        schema=d.schema(raum=INSENSITIVE),
        release=shuffled(rows, draw),
        truth=Truth(determined(room, note), "their mark by the room", 30),
    )


@leak("row order", "singling out")
def forty_people_by_income(draw: random.Random) -> Fields:
    """Forty rows, two classes, in the order of an income that is not published."""
    d = payroll(draw, 40)
    leave = [draw.choice(("yes", "no")) for _ in d.all]
    d.exact["contract"] = [draw.choice(("full", "part")) for _ in d.all]
    d.shown["contract"] = list(d.exact["contract"])
    d.shown["grade"], d.shown["site"] = ["*"] * 40, ["*"] * 40
    order = sorted(d.all, key=lambda i: int(d.told[i]))
    rows = {**d.shown, "leave": leave}
    return d.case(
        original=d.original(leave=leave),
        schema=d.schema(leave=attribute("s", domain=["yes", "no"])),
        release=_rows(rows, order),
        truth=Truth(40, "their row, by the rank of their bonus", 40),
    )
