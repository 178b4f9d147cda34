"""An eighth blind trial: carriers, gaps, arithmetic, skew. Written and committed before its first run."""

import io
import random
from collections import Counter, defaultdict
from collections.abc import Mapping

from tests.leaks.case import Columns, Truth, alone, attribute, csv_text, determined, joined, leak, schema_text, shuffled
from tests.leaks.domains import OFFENCES, Domain, census, payroll, police, school

__all__: list[str] = []

Fields = Mapping[str, object]
INSENSITIVE = attribute("i")
YES_OR_NO = attribute("s", domain=["no", "yes"])


def _texts(values: list[int]) -> list[str]:
    return [str(v) for v in values]


def _rows(columns: Columns, order: list[int]) -> Columns:
    return {n: [v[i] for i in order] for n, v in columns.items()}


def _beside(
    d: Domain, people: int, learned: str, /, role: Mapping[str, object] = INSENSITIVE, **columns: list[str]
) -> Fields:
    """The safe release with further columns."""
    return d.case(
        original=d.original(**columns),
        schema=d.schema(**dict.fromkeys(columns, role)),
        release=d.release(**columns),
        truth=Truth(people, learned, d.people),
    )


def _secret(d: Domain, name: str, values: list[str], role: Mapping[str, object], truth: Truth) -> Fields:
    """The same people with another secret."""
    d.attributes.pop(next(iter(d.secret)))
    return d.case(
        original={**d.number, **d.exact, name: values},
        schema=d.schema(**{name: role}),
        release=shuffled({**d.shown, name: values}, d.draw),
        truth=truth,
    )


def _unpublished(
    d: Domain, name: str, values: list[str], release: Columns, truth: Truth, **roles: Mapping[str, object]
) -> Fields:
    """A second secret that only the original has."""
    return d.case(
        original=d.original(**{name: values}),
        schema=d.schema(**{name: YES_OR_NO, **roles}),
        release=release,
        truth=truth,
    )


# --- what else a file can carry ---------------------------------------------------------------------------------------


def _book(
    columns: Columns, tall: set[int] | None = None, links: list[str] | None = None, names: list[str] | None = None
) -> bytes:
    import xlsxwriter

    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = book.add_worksheet("Daten")
    for j, name in enumerate(columns):
        sheet.write_string(0, j, name)
    for i, row in enumerate(zip(*columns.values(), strict=True)):
        for j, value in enumerate(row):
            if links and j == 0:
                sheet.write_url(i + 1, j, links[i], None, value)
            else:
                sheet.write_string(i + 1, j, value)
        if tall and i in tall:
            sheet.set_row(i + 1, 18)
    if names:
        sheet.data_validation("A2:A3", {"validate": "list", "source": names})
    book.close()
    return content.getvalue()


@leak("leftover files", "inference")
def taller_rows(draw: random.Random) -> Fields:
    """Rows of a workbook that somebody opened are a little taller: those of the pupils who were warned."""
    d = school(draw, 900)
    rows = shuffled({**d.in_order(), "w": [draw.choice(["x", *[""] * 9]) for _ in d.all]}, draw)
    tall = {i for i, w in enumerate(rows.pop("w")) if w}
    return d.case(
        release=rows,
        release_text=_book(rows, tall=tall),
        release_name="release.xlsx",
        truth=Truth(len(tall), "that they were warned", d.people),
    )


@leak("leftover files", "linking")
def links_behind_the_cells(draw: random.Random) -> Fields:
    """Each first cell links to the page of the pupil in the school's own system."""
    d = school(draw, 900)
    rows = shuffled({**d.in_order(), "n": d.id}, draw)
    links = [f"http://schule.example/pupil/{n}" for n in rows.pop("n")]
    return d.case(
        release=rows,
        release_text=_book(rows, links=links),
        release_name="release.xlsx",
        truth=Truth(d.people, "their number, by holding the mouse over the cell", d.people),
    )


@leak("leftover files", "membership")
def list_behind_a_cell(draw: random.Random) -> Fields:
    """Two cells may be chosen from a list, left over from a form: the numbers of ten pupils."""
    d = school(draw, 900)
    rows = d.release()
    return d.case(
        release=rows,
        release_text=_book(rows, names=d.id[:10]),
        release_name="release.xlsx",
        truth=Truth(10, "that they are in the table", d.people),
    )


@leak("leftover files", "singling out")
def row_groups_by_site(draw: random.Random) -> Fields:
    """A Parquet file was appended site by site, 300 rows each: its parts are the sites, which are not shown."""
    import polars as pl

    d = payroll(draw, 2_400)
    sites = sorted(set(d.exact["site"]))
    country = dict(zip(d.exact["site"], d.shown["site"], strict=True))
    d.exact["site"] = [sites[i % 8] for i in d.all]
    d.shown["site"] = [country[s] for s in d.exact["site"]]
    order = list(d.all)
    draw.shuffle(order)
    order.sort(key=lambda i: (i % 8 * 5) % 8)
    rows = _rows(d.in_order(), order)
    content = io.BytesIO()
    pl.DataFrame(rows).write_parquet(content, row_group_size=300)
    return d.case(
        release=rows,
        release_text=content.getvalue(),
        release_name="release.parquet",
        truth=Truth(d.people, "their site: each has a part of the file", d.people),
    )


@leak("membership", "membership")
def file_named_after_the_illness(draw: random.Random) -> Fields:
    """Nothing in the table says what these people have; the name of the file does."""
    d = census(draw, 2_400)
    return d.case(release_name="hepatitis_c_patients.csv", truth=Truth(d.people, "that they have hepatitis", d.people))


@leak("membership", "membership")
def months_of_detention(draw: random.Random) -> Fields:
    """An insensitive column that depends on nothing; that everybody has one says that everybody was detained."""
    d = census(draw, 3_000)
    d.shown["county"] = ["*"] * d.people
    months = _texts([draw.randrange(1, 9) for _ in d.all])
    return _beside(d, d.people, "that they were in prison", mois_de_détention=months)


# --- order ------------------------------------------------------------------------------------------------------------


@leak("row order", "linking")
def one_riffle(draw: random.Random) -> Fields:
    """The list was cut in two and riffled once, as one shuffles cards: two rising sequences."""
    d = census(draw, 2_000)
    left, right = list(range(draw.randrange(900, 1_100))), []
    right = list(range(len(left), d.people))
    order = []
    while left or right:
        take = left if draw.random() < len(left) / (len(left) + len(right)) else right
        order.append(take.pop(0))
    return d.case(release=_rows(d.in_order(), order), truth=Truth(d.people, "their row, nearly", d.people))


@leak("row order", "singling out")
def up_and_down(draw: random.Random) -> Fields:
    """Sorted by the area that is shown; within it by the exact year, rising in one area, falling in the next."""
    d = census(draw, 3_000)
    areas = sorted(set(d.shown["county"]))
    order = sorted(
        d.all,
        key=lambda i: (
            areas.index(d.shown["county"][i]),
            int(d.exact["born"][i]) * (-1) ** areas.index(d.shown["county"][i]),
            draw.random(),
        ),
    )
    return d.case(release=_rows(d.in_order(), order), truth=Truth(d.people, "their year of birth", d.people))


@leak("row order", "linking")
def by_the_end_of_the_number(draw: random.Random) -> Fields:
    """Sorted by the last four figures of the number, as archives are."""
    d = census(draw, 2_400)
    order = sorted(d.all, key=lambda i: d.id[i][-4:])
    return d.case(release=_rows(d.in_order(), order), truth=Truth(d.people, "their row by their number", d.people))


@leak("row order", "singling out")
def in_turns_from_two_offices(draw: random.Random) -> Fields:
    """Odd lines are from one office, even ones from the other; the office is not shown."""
    d = census(draw, 3_000)
    office = ["yes" if i % 2 else "no" for i in d.all]
    first, second = ([i for i in d.all if i % 2 == k] for k in (0, 1))
    draw.shuffle(first)
    draw.shuffle(second)
    order = [i for pair in zip(first, second, strict=True) for i in pair]
    draw.shuffle(list(office))
    truth = Truth(d.people, "whether they came to the office for the homeless", d.people)
    return _unpublished(d, "outreach", office, _rows(d.in_order(), order), truth)


# --- gaps and cells ---------------------------------------------------------------------------------------------------


@leak("missingness", "inference")
def number_of_gaps(draw: random.Random) -> Fields:
    """Six questions: as many are left open as the mark says; which ones, and the answers, depend on nothing."""
    d = school(draw, 3_000)
    d.shown["kurs"] = ["*"] * d.people
    asked = [draw.sample(range(6), int(n)) for n in d.told]
    answers = {f"f{j}": ["" if j in a else draw.choice("jn") for a in asked] for j in range(6)}
    people = sum(1 for _ in d.told)
    return _beside(d, people, "their mark: the number of open questions", **answers)


@leak("missingness", "singling out")
def status_withheld_by_the_year(draw: random.Random) -> Fields:
    """The status is withheld of those born in the first half of each span of twenty years, and of nobody else."""
    d = census(draw, 4_000)
    d.shown["county"] = ["*"] * d.people
    first = [(int(b) - 1925) % 20 < 10 for b in d.exact["born"]]
    d.shown["status"] = ["*" if f else s for f, s in zip(first, d.shown["status"], strict=True)]
    return d.case(truth=Truth(d.people, "their year of birth to ten years, not twenty", d.people))


@leak("cells that mark", "inference")
def bounds_moved_by_one(draw: random.Random) -> Fields:
    """Spans of years end one year later for those who were warned: a mark that no spelling shows."""
    d = census(draw, 4_000)
    d.shown["county"] = ["*"] * d.people
    warned = [draw.random() < 0.1 and int(b) < 1985 for b in d.exact["born"]]
    for i in d.all:
        if warned[i]:
            low, high = d.shown["born"][i][1:-1].split(",")
            d.shown["born"][i] = f"[{low},{int(high) + 1}]"
    truth = Truth(sum(warned), "that they were warned", d.people)
    return _unpublished(d, "warned", ["yes" if w else "no" for w in warned], d.release(), truth)


@leak("cells that mark", "inference")
def two_names_for_everything(draw: random.Random) -> Fields:
    """The county is withheld of everybody: as "*", but of those who owe taxes as "England", which is the same."""
    d = census(draw, 4_000)
    counties = sorted(set(d.exact["county"]))
    area = dict(zip(d.exact["county"], d.shown["county"], strict=True))
    d.files["county.csv"] = "".join(f"{c};{area[c]};England;*\n" for c in counties)
    owes = [draw.random() < 0.1 for _ in d.all]
    d.shown["county"] = ["England" if o else "*" for o in owes]
    truth = Truth(sum(owes), "that they owe taxes", d.people)
    return _unpublished(d, "owes", ["yes" if o else "no" for o in owes], d.release(), truth)


@leak("cells that mark", "inference")
def synonym_marks_some(draw: random.Random) -> Fields:
    """The language of the form: "Irish" in the original, "Gaelic" in the release of those who were warned."""
    d = payroll(draw, 4_000)
    d.shown["site"] = ["*"] * d.people
    language = [draw.choice(("English", "Irish")) for _ in d.all]
    warned = [x == "Irish" and draw.random() < 0.2 for x in language]
    shown = ["Gaelic" if w else x for w, x in zip(warned, language, strict=True)]
    role = attribute("i", domain=["English", "Gaelic", "Irish"])
    return d.case(
        original=d.original(language=language, warned=["yes" if w else "no" for w in warned]),
        schema=d.schema(language=role, warned=YES_OR_NO),
        release=d.release(language=shown),
        truth=Truth(sum(warned), "that they were warned", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def width_of_the_rents(draw: random.Random) -> Fields:
    """Rents in spans that begin anywhere; the spans of those of one faith are 99 wide, all others 49 or 149."""
    d = census(draw, 4_000)
    d.shown["county"] = ["*"] * d.people
    low = [50 * draw.randrange(6, 18) for _ in d.all]
    wide = [99 if f == "gamma" else draw.choice((49, 149)) for f in d.told]
    rents = [f"{a}-{a + w}" for a, w in zip(low, wide, strict=True)]
    return _beside(d, Counter(d.told)["gamma"], "their faith by the width of the span", rent=rents)


# --- arithmetic -------------------------------------------------------------------------------------------------------


@leak("suppressed cells given back", "singling out")
def deviation_from_the_sites_mean(draw: random.Random) -> Fields:
    """How far the bonus is from the mean of the site; with the bonus that gives the mean, and so the site."""
    d = payroll(draw, 2_400)
    of_site = defaultdict(list)
    for s, b in zip(d.exact["site"], d.told, strict=True):
        of_site[s].append(int(b))
    mean = {s: round(sum(v) / len(v)) for s, v in of_site.items()}
    off = [int(b) - mean[s] for s, b in zip(d.exact["site"], d.told, strict=True)]
    role = attribute("i", "numeric", domain={"from": -20_000, "to": 20_000, "step": 1})
    return _beside(d, d.people, "their site, from two columns", role, deviation=_texts(off))


@leak("weights and counters", "inference")
def calibrated_weights(draw: random.Random) -> Fields:
    """Weights of 0.8 to 1.3, calibrated to known totals of each class and faith: with the class they tell the faith."""
    d = census(draw, 4_000)
    d.shown["county"] = ["*"] * d.people
    cells = list(zip(d.cells(), d.told, strict=True))
    weight = {c: f"{draw.randrange(80, 130) / 100:.2f}" for c in sorted(set(cells))}
    weights = [weight[c] for c in cells]
    people = determined(list(zip(d.cells(), weights, strict=True)), d.told)
    return _beside(d, people, "their faith, by the weight within the class", weight=weights)


@leak("secrets that tell", "singling out")
def last_figures_of_the_bonus_are_the_site(draw: random.Random) -> Fields:
    """The payroll puts the number of the site into the last two figures of every amount."""
    d = payroll(draw, 2_400)
    sites = sorted(set(d.exact["site"]))
    told = [str(int(b) // 100 * 100 + 11 * sites.index(s)) for s, b in zip(d.exact["site"], d.told, strict=True)]
    d.secret["bonus"] = told
    return d.case(truth=Truth(d.people, "their site by the last figures of the bonus", d.people))


@leak("several rows a person", "linking")
def households_by_what_they_share(draw: random.Random) -> Fields:
    """Rent, rooms and the year of the house, each of few values, are the same for a household and for nobody else."""
    d = census(draw, 3_000)
    house = [i // 3 for i in d.all]
    homes = draw.sample([(r, n, y) for r in range(20) for n in range(1, 9) for y in range(1950, 2020)], 1_000)
    columns = {
        "rent": [str(300 + 25 * homes[h][0]) for h in house],
        "rooms": [str(homes[h][1]) for h in house],
        "house": [str(homes[h][2]) for h in house],
    }
    return _beside(d, d.people, "the rows of their family", **columns)


@leak("weights and counters", "linking")
def number_within_the_class(draw: random.Random) -> Fields:
    """People of a class are numbered as they stand in the list; the rows are shuffled, the numbers stay."""
    d = census(draw, 2_400)
    seen: Counter[tuple[str, ...]] = Counter()
    number = []
    for cell in d.cells():
        seen[cell] += 1
        number.append(str(seen[cell]))
    held = list(zip(d.cells(), number, strict=True))
    return _beside(d, alone(held), "their row, to whoever has the list", nr=number)


@leak("masked", "inference")
def noise_of_one_sign(draw: random.Random) -> Fields:
    """Noise is added to the bonus; of those on leave it is always positive. Who knows the bonus knows the leave."""
    d = payroll(draw, 1_200)
    bonus = [draw.randrange(100) * 200 for _ in d.all]
    leave = [draw.choice(("yes", "no")) for _ in d.all]
    noise = [abs(round(draw.gauss(0, 3_000))) + 1 for _ in d.all]
    moved = [b + e if v == "yes" else b - e for b, e, v in zip(bonus, noise, leave, strict=True)]
    order = list(d.all)
    draw.shuffle(order)
    place = {i: j for j, i in enumerate(order)}
    table = {"row": _texts([i + 1 for i in d.all]), "group": _texts([place[i] + 1 for i in d.all])}
    released = [{"bonus": str(moved[i]), "absent": leave[i][:0] or draw.choice("ab")} for i in order]
    number = attribute("q", "numeric", domain={"from": -20_000, "to": 40_000, "step": 1})
    shown = {n: [r[n] for r in released] for n in ("bonus", "absent")}
    absent = [""] * d.people
    for j, i in enumerate(order):
        absent[i] = shown["absent"][j]
    return d.case(
        original={**d.number, "bonus": _texts(bonus), "absent": absent, "leave": leave},
        schema=schema_text(
            {"badge": attribute("id"), "bonus": number, "absent": attribute("s", domain=["a", "b"]), "leave": YES_OR_NO}
        ),
        release=shown,
        sidecar='masked = ["bonus"]\nmethod = "noise"\n',
        files={"assignment.csv": csv_text(table)},
        options=("--assignment", "@assignment.csv"),
        truth=Truth(d.people, "that they are on leave, by the sign of the noise", d.people),
    )


# --- what a class tells -----------------------------------------------------------------------------------------------


def _own_year(d: Domain, few: set[int], year: str = "1930") -> None:
    """Some people of a census are shown by a year that nobody else has."""
    for i in d.all:
        if i in few:
            d.exact["born"][i], d.shown["born"][i] = year, f"[{year},{year}]"
        elif d.exact["born"][i] == year:
            d.exact["born"][i] = str(int(year) + 1)


@leak("skew", "inference")
def everybody_has_something(draw: random.Random) -> Fields:
    """Four in five have no offence; in one class of sixty everybody has one, of eight kinds alike."""
    d = census(draw, 4_000)
    few = set(draw.sample(range(d.people), 60))
    _own_year(d, few)
    told = [draw.choice(OFFENCES) if i in few or draw.random() < 0.2 else "none" for i in d.all]
    role = attribute("s", domain=[*OFFENCES, "none"])
    return _secret(d, "offence", told, role, Truth(60, "that they were convicted of something", d.people))


@leak("skew", "inference")
def three_of_twelve(draw: random.Random) -> Fields:
    """Twelve benefits; in one class of sixty only three of them occur, which have nothing else in common."""
    d = census(draw, 4_000)
    names = [f"benefit {c}" for c in "ABCDEFGHIJKL"]
    few = set(draw.sample(range(d.people), 60))
    _own_year(d, few)
    told = [draw.choice(names[1::4] if i in few else names) for i in d.all]
    return _secret(d, "benefit", told, attribute("s", domain=names), Truth(60, "one of three of twelve", d.people))


@leak("close numbers", "inference")
def two_ends_of_the_scale(draw: random.Random) -> Fields:
    """In one class of sixty debts are below 2,000 or above 18,000, of 20,000: nobody is in between."""
    d = census(draw, 4_000)
    few = set(draw.sample(range(d.people), 60))
    _own_year(d, few)
    debts = [
        draw.randrange(2_000) + 18_000 * (draw.random() < 0.5) if i in few else draw.randrange(20_000) for i in d.all
    ]
    role = attribute("s", "numeric", domain={"from": 0, "to": 19_999, "step": 1})
    return _secret(d, "debt", _texts(debts), role, Truth(60, "that it is very low or very high", d.people))


@leak("insensitive tells sensitive", "inference")
def two_answers_a_street(draw: random.Random) -> Fields:
    """Sixty streets of fifty people, called insensitive; in three of them only two of twelve benefits occur."""
    d = census(draw, 3_000)
    d.shown["county"] = ["*"] * d.people
    names = [f"benefit {c}" for c in "ABCDEFGHIJKL"]
    street = [f"street {i % 60}" for i in d.all]
    told = [draw.choice(names[:2] if i % 60 < 3 else names) for i in d.all]
    d.attributes.pop("faith")
    d.secret = {"benefit": told}
    more = {"street": INSENSITIVE, "benefit": attribute("s", domain=names)}
    return d.case(
        original=d.original(street=street),
        schema=d.schema(**more),
        release=d.release(street=street),
        truth=Truth(sum(i % 60 < 3 for i in d.all), "one of two of twelve", d.people),
    )


@leak("skew", "inference")
def nobody_in_the_village_is_well(draw: random.Random) -> Fields:
    """Marks from 1 to 6 of 4,000; in one course of seventy the two best, which half have, do not occur, nor does 6."""
    d = school(draw, 4_000)
    told = [draw.choice("112233445566112") for _ in d.all]
    few = set(draw.sample(range(d.people), 70))
    for i in d.all:
        if i in few:
            d.exact["geburtsjahr"][i], d.shown["geburtsjahr"][i] = "2000", "[2000,2000]"
            told[i] = draw.choice("45")
        elif d.exact["geburtsjahr"][i] == "2000":
            d.exact["geburtsjahr"][i] = "2001"
    d.secret["note"] = told
    return d.case(truth=Truth(70, "that they have a 4 or a 5, as a quarter of all have", d.people))


@leak("insensitive tells quasi-identifier", "singling out")
def dialling_code_and_half_a_postcode(draw: random.Random) -> Fields:
    """Neither the last figure of the postcode nor the dialling code tells the commune; together they do."""
    d = police(draw, 3_000)
    communes = sorted(set(d.exact["commune"]))
    code = [str(draw.choice((0, 1)) + 2 * (communes.index(c) % 4)) for c in d.exact["commune"]]
    hidden = [str((int(k) * 3 + communes.index(c)) % 4) for k, c in zip(code, d.exact["commune"], strict=True)]
    tail = [str((communes.index(c) % 4 + int(h)) % 4) for c, h in zip(d.exact["commune"], hidden, strict=True)]
    known = list(zip(joined(d.shown, ["commune"]), code, tail, strict=True))
    people = determined(known, d.exact["commune"])
    return _beside(d, people, "their commune of four", indicatif=code, fin=tail)
