"""An eleventh blind trial, after the changes of the tenth. Written and committed before its first run."""

import io
import random
from collections import Counter
from collections.abc import Mapping

from tests.leaks.case import Columns, Truth, attribute, control, csv_text, determined, joined, leak, shuffled
from tests.leaks.domains import CLAIMS, Domain, census, insurance, payroll, police, school, travellers

__all__: list[str] = []

Fields = Mapping[str, object]
INSENSITIVE = attribute("i")


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


def _ordered(d: Domain, order: list[int], people: int, learned: str, **hidden: list[str]) -> Fields:
    """The safe release in this order; further columns of the original alone."""
    return d.case(
        original=d.original(**hidden),
        schema=d.schema(**dict.fromkeys(hidden, INSENSITIVE)),
        release=_rows(d.in_order(), order),
        truth=Truth(people, learned, d.people),
    )


@leak("row order", "linking")
def folded_like_a_leaflet(draw: random.Random) -> Fields:
    """First, last, second, last but one, and so on: as pages of a leaflet are printed."""
    d = insurance(draw, 1_600)
    order = [i // 2 if i % 2 == 0 else d.people - 1 - i // 2 for i in d.all]
    return _ordered(d, order, d.people, "their row")


@leak("row order", "singling out")
def a_tournament_by_age(draw: random.Random) -> Fields:
    """Random pairs of neighbours, of which the elder always stands first; nothing else is in order."""
    d = travellers(draw, 2_000)
    order = list(d.all)
    draw.shuffle(order)
    for i in range(0, d.people, 2):
        a, b = order[i], order[i + 1]
        order[i], order[i + 1] = (a, b) if int(d.exact["age"][a]) >= int(d.exact["age"][b]) else (b, a)
    return _ordered(d, order, d.people, "which of two is the elder, within their bands")


@leak("row order", "inference")
def refused_ones_every_seventh(draw: random.Random) -> Fields:
    """Every seventh line is of somebody who refused a question that the file does not hold; they are a seventh."""
    d = census(draw, 2_100)
    refused = set(draw.sample(list(d.all), 300))
    yes, no = [i for i in d.all if i in refused], [i for i in d.all if i not in refused]
    draw.shuffle(yes)
    draw.shuffle(no)
    order = [i for k in range(300) for i in [yes[k], *no[6 * k : 6 * k + 6]]]
    column = ["yes" if i in refused else "no" for i in d.all]
    return _ordered(d, order, 300, "that they refused", refused=column)


@leak("row order", "linking")
def sorted_by_the_reversed_number(draw: random.Random) -> Fields:
    """Sorted by the contract's number, read from right to left."""
    d = insurance(draw, 1_600)
    order = sorted(d.all, key=lambda i: d.id[i][::-1])
    return _ordered(d, order, d.people, "their row, to who has the numbers")


@leak("insensitive tells quasi-identifier", "singling out")
def three_answers_about_the_commune(draw: random.Random) -> Fields:
    """Bus, tram and bath: which of them there are depends on the commune alone; one in ten ticks a wrong answer."""
    d = police(draw, 2_000)
    communes = sorted(set(d.exact["commune"]))
    columns = {}
    for k, name in enumerate(("bus", "tram", "piscine")):
        truth = [communes.index(c) % 4 >> k & 1 if k < 2 else communes.index(c) // 4 % 2 for c in d.exact["commune"]]
        columns[name] = [("oui" if t else "non") if draw.random() < 0.9 else draw.choice(("oui", "non")) for t in truth]
    known = joined({**columns, "c": d.shown["commune"]}, [*columns, "c"])
    best = Counter(zip(known, d.exact["commune"], strict=True))
    top = {k: max(n for (kk, _), n in best.items() if kk == k) for k in set(known)}
    return _beside(d, sum(top.values()), "their commune, guessed", **columns)


@leak("insensitive tells sensitive", "inference")
def an_answer_only_they_give(draw: random.Random) -> Fields:
    """How somebody paid, five ways; cash only for massages, of which one in four was paid so."""
    d = insurance(draw, 2_000)
    d.shown["agentur"] = ["*"] * d.people
    ways = ["Karte", "Rechnung", "Lastschrift", "Vorkasse"]
    paid = ["Bar" if c == "Massage" and draw.random() < 0.25 else draw.choice(ways) for c in d.told]
    return _beside(d, paid.count("Bar"), "their claim", zahlung=paid)


@leak("insensitive tells quasi-identifier", "singling out")
def a_year_of_school(draw: random.Random) -> Fields:
    """The form a pupil is in, 1 to 12, give or take one, beside years of birth in fours."""
    d = school(draw, 2_000)
    d.secret["note"] = [str(draw.randrange(1, 7)) for _ in d.all]
    form = [str(min(max(2012 - int(y) + draw.choice((-1, 0, 0, 0)), 1), 12)) for y in d.exact["geburtsjahr"]]
    return _beside(d, d.people, "their year of birth, three times in four", klasse=form)


@leak("insensitive tells sensitive", "inference")
def time_between_two_stamps(draw: random.Random) -> Fields:
    """Hours of arrival and of leaving, 24 each; whoever went to the casino stays seven hours, nobody else does."""
    d = travellers(draw, 2_400)
    d.shown["zone"] = ["*"] * d.people
    come = [draw.randrange(0, 12) for _ in d.all]
    stay = [7 if p == "casino" else draw.choice([1, 2, 3, 4, 5, 6, 8, 9]) for p in d.told]
    columns = {"come": [str(c) for c in come], "gone": [str(c + s) for c, s in zip(come, stay, strict=True)]}
    return _beside(d, d.told.count("casino"), "that they went to the casino", **columns)


@leak("insensitive tells sensitive", "inference")
def language_of_the_letter(draw: random.Random) -> Fields:
    """A short remark out of thirty, ten in each of three languages, which goes with the faith nine times in ten."""
    d = census(draw, 2_000)
    d.shown["county"] = ["*"] * d.people
    words = {k: [f"{stem}{n}" for n in range(10)] for k, stem in enumerate(("note", "aviso", "bref"))}
    group = {"alpha": 0, "beta": 0, "gamma": 1, "delta": 1, "none": 2}
    text = [draw.choice(words[group[f] if draw.random() < 0.9 else draw.randrange(3)]) for f in d.told]
    return _beside(d, d.people, "which two faiths it may be", remark=text)


@leak("cells that mark", "singling out")
def the_wider_band_is_the_older_half(draw: random.Random) -> Fields:
    """Ages as thirty years; of the older half of each band the upper end is open by ten more years."""
    d = travellers(draw, 2_000)
    low = [18 + (int(a) - 18) // 30 * 30 for a in d.exact["age"]]
    wide = [29 + 10 * (int(a) - start >= 15) for a, start in zip(d.exact["age"], low, strict=True)]
    d.shown["age"] = [f"[{start},{min(start + w, 77)}]" for start, w in zip(low, wide, strict=True)]
    return d.case(truth=Truth(d.people, "their age to fifteen years", d.people))


@leak("cells that mark", "inference")
def stars_and_the_root(draw: random.Random) -> Fields:
    """A third of all counties are withheld; of those who owe taxes as `*`, of the others as an empty cell."""
    d = census(draw, 2_000)
    owes = [draw.random() < 0.3 for _ in d.all]
    gone = [draw.random() < 0.33 for _ in d.all]
    d.shown["county"] = [("*" if o else "") if g else c for o, g, c in zip(owes, gone, d.shown["county"], strict=True)]
    column = ["yes" if o else "no" for o in owes]
    return d.case(
        original=d.original(owes=column),
        schema=d.schema(owes=attribute("s", domain=["no", "yes"])),
        truth=Truth(sum(o and g for o, g in zip(owes, gone, strict=True)), "that they owe taxes", d.people),
    )


@leak("spelling", "singling out")
def umlauts_of_the_south(draw: random.Random) -> Fields:
    """A nationality, "Österreich" or "Oesterreich": half of the agencies write the one, the others the other."""
    d = insurance(draw, 1_600)
    region = [a in ("Kiel", "Emden", "Ulm", "Hof") for a in d.exact["agentur"]]
    staat = [draw.choice(("Deutschland", "Österreich", "Schweiz")) for _ in d.all]
    written = ["Oesterreich" if s == "Österreich" and r else s for s, r in zip(staat, region, strict=True)]
    return _beside(d, sum(w[0] in "OÖ" for w in written), "half of the agencies", staat=written)


@leak("spelling", "inference")
def intervals_with_a_plus(draw: random.Random) -> Fields:
    """Debts in bands as text; the lowest is "0-999" or "<1000", which is the same: the second for those in arrears."""
    d = payroll(draw, 1_600)
    d.secret = {"leave": [draw.choice(("no", "yes")) for _ in d.all]}
    d.attributes.pop("bonus")
    arrears = [draw.random() < 0.25 for _ in d.all]
    debts = [draw.choice(("0-999", "1000-4999", "5000-")) for _ in d.all]
    shown = ["<1000" if a and x == "0-999" else x for a, x in zip(arrears, debts, strict=True)]
    return d.case(
        original=d.original(debts=debts, arrears=["yes" if a else "no" for a in arrears]),
        schema=d.schema(
            debts=INSENSITIVE, arrears=attribute("s", domain=["no", "yes"]), leave=attribute("s", domain=["no", "yes"])
        ),
        release=d.release(debts=shown),
        truth=Truth(shown.count("<1000"), "that they are in arrears", d.people),
    )


@leak("missingness", "inference")
def a_comment_only_where_it_hurts(draw: random.Random) -> Fields:
    """A phone number's first two figures, left out by one in five; by four in five of those who got a wheelchair."""
    d = insurance(draw, 2_000)
    d.shown["agentur"] = ["*"] * d.people
    phone = [
        "" if draw.random() < (0.8 if c == "Rollstuhl" else 0.2) else draw.choice(("01", "03", "07")) for c in d.told
    ]
    number = sum(not p and c == "Rollstuhl" for p, c in zip(phone, d.told, strict=True))
    return _beside(d, number, "their claim, at two in five instead of one in eight", vorwahl=phone)


@leak("part of the people", "inference")
def only_those_who_answered(draw: random.Random) -> Fields:
    """Six in ten are published: nine in ten of those whose debts are small, a question that the file does not hold."""
    d = census(draw, 2_400)
    debts = [draw.choice(("small", "large")) for _ in d.all]
    here = [i for i in d.all if draw.random() < (0.9 if debts[i] == "small" else 0.3)]
    return d.case(
        original=d.original(debts=debts),
        schema=d.schema(debts=attribute("s", domain=["large", "small"])),
        release=shuffled(_rows(d.in_order(), here), draw),
        truth=Truth(sum(debts[i] == "small" for i in here), "that their debts are small, at three to one", len(here)),
    )


@leak("padding", "singling out")
def a_decoy_for_each_of_few(draw: random.Random) -> Fields:
    """Four classes have twelve people each, and are filled up to sixty with rows that are made up."""
    d = insurance(draw, 1_600)
    d.shown["geboren"] = [f"[{int(b) // 10 * 10},{int(b) // 10 * 10 + 9}]" for b in d.exact["geboren"]]
    cells = d.cells()
    size = Counter(cells)
    chosen = sorted(size)[:4]
    kept = {c: draw.sample([i for i in d.all if cells[i] == c], 12) for c in chosen}
    rows = [i for i in d.all if cells[i] not in kept] + [i for v in kept.values() for i in v]
    table = _rows(d.in_order(), rows)
    for c in chosen:
        for _ in range(48):
            for n, v in zip(d.shown, c, strict=True):
                table[n].append(v)
            table["leistung"].append(draw.choice(CLAIMS))
    gone = {i for i in d.all if cells[i] in kept} - {i for v in kept.values() for i in v}
    original = {n: [v[i] for i in d.all if i not in gone] for n, v in d.original().items()}
    return d.case(
        original=original,
        release=shuffled(table, draw),
        truth=Truth(48, "that four in five rows are made up", len(rows)),
    )


@leak("close numbers", "inference")
def bonuses_around_two_round_sums(draw: random.Random) -> Fields:
    """In one class of sixty every bonus is 5,000 or 10,000, give or take 60, of 20,000 possible ones."""
    d = payroll(draw, 2_000)
    d.shown["site"] = ["*"] * d.people
    full = [i for i in d.all if d.exact["contract"][i] == "full" and int(d.exact["grade"][i]) <= 5]
    small = set(draw.sample(full, 60))
    d.shown["contract"] = ["full" if i in small else "*" for i in d.all]
    d.secret["bonus"] = [
        str(draw.choice((5_000, 10_000)) + draw.randrange(-60, 61)) if i in small else b for i, b in enumerate(d.told)
    ]
    return d.case(truth=Truth(60, "their bonus, one of two", d.people))


@leak("skew", "inference")
def nobody_under_fifty_is_ill(draw: random.Random) -> Fields:
    """Eight claims; massages and cures occur in one class of eighty only, and are half of it."""
    d = insurance(draw, 2_000)
    d.shown["agentur"] = ["*"] * d.people
    eldest = [i for i in d.all if int(d.exact["geboren"][i]) < 1960 and d.exact["tarif"][i] == "Basis"]
    small = set(draw.sample(eldest, 80))
    d.shown["tarif"] = [
        "Basis" if i in small else "Komfort" if d.exact["tarif"][i] == "Komfort" else "*" for i in d.all
    ]
    rest = [c for c in CLAIMS if c not in ("Massage", "Kur")]
    d.secret["leistung"] = [
        draw.choice(["Massage", "Kur"]) if i in small and draw.random() < 0.5 else draw.choice(rest) for i in d.all
    ]
    return d.case(truth=Truth(40, "that they had one of two claims", d.people))


@leak("leftover files", "linking")
def a_name_in_the_workbook(draw: random.Random) -> Fields:
    """A defined name of the workbook refers to one row, and is that person's contract number."""
    import xlsxwriter

    d = insurance(draw, 1_200)
    rows = d.release()
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = book.add_worksheet("release")
    for j, (name, values) in enumerate(rows.items()):
        sheet.write_string(0, j, name)
        for i, value in enumerate(values):
            sheet.write_string(i + 1, j, value)
    book.define_name(f"_{d.id[3]}", "=release!$A$71:$D$71")
    book.close()
    return d.case(
        release=rows,
        release_text=content.getvalue(),
        release_name="release.xlsx",
        truth=Truth(1, "their row", d.people),
    )


@leak("leftover files", "linking")
def rows_of_other_lengths(draw: random.Random) -> Fields:
    """Blanks after the last cell of some lines, as an editor leaves them: of those at two of eight agencies."""
    d = insurance(draw, 1_600)
    rows = shuffled({**d.in_order(), "which": d.exact["agentur"]}, draw)
    which = rows.pop("which")
    lines = csv_text(rows).splitlines()
    text = (
        "\n".join(
            [lines[0], *(f"{x}{' ' if w in ('Kiel', 'Ulm') else ''}" for x, w in zip(lines[1:], which, strict=True))]
        )
        + "\n"
    )
    mine = sum(w in ("Kiel", "Ulm") for w in which)
    return d.case(release=rows, release_text=text, truth=Truth(mine, "their agency, one of two", d.people))


@leak("one secret tells another", "inference")
def wage_and_hours_and_pay(draw: random.Random) -> Fields:
    """Three secrets: the wage is the pay by the hours; who knows two, as an employer does, knows the third."""
    d = payroll(draw, 2_000)
    d.attributes.pop("bonus")
    wage, hours = [draw.randrange(10, 30) for _ in d.all], [draw.randrange(5, 40) for _ in d.all]
    d.secret = {
        "wage": [str(w) for w in wage],
        "hours": [str(h) for h in hours],
        "pay": [str(w * h) for w, h in zip(wage, hours, strict=True)],
    }
    role = attribute("s", "numeric", domain={"from": 1, "to": 1_200, "step": 1})
    return d.case(
        original={**d.number, **d.exact, **d.secret},
        schema=d.schema(wage=role, hours=role, pay=role),
        release=d.release(),
        truth=Truth(determined(joined(d.secret, ["pay", "hours"]), d.secret["wage"]), "their wage", d.people),
    )


@leak("membership", "membership")
def column_that_says_since_when(draw: random.Random) -> Fields:
    """An insensitive column "Abstinent seit", a year: that it is filled in for everybody says what they were."""
    d = insurance(draw, 1_600)
    since = [str(draw.randrange(2012, 2020)) for _ in d.all]
    return _beside(d, d.people, "that they were addicted", **{"abstinent seit": since})


# --- safe releases ----------------------------------------------------------------------------------------------------


def _safe(d: Domain, **fields: object) -> Fields:
    return d.case(truth=Truth(0, "nothing", d.people), **fields)


@control("eleventh")
def sorted_by_claims_then_classes(draw: random.Random) -> Fields:
    """Sorted by the claim, falling, and by the class within."""
    d = insurance(draw, 2_000)
    rows = sorted(zip(*d.in_order().values(), strict=True), key=lambda r: (r[3], r[:3]), reverse=True)
    return _safe(d, release={n: [r[i] for r in rows] for i, n in enumerate(d.in_order())})


@control("eleventh")
def a_quarter_of_the_insured(draw: random.Random) -> Fields:
    """One in four, drawn at random, and of one directorate one in two, which the rows show."""
    d = insurance(draw, 6_000)
    here = [i for i in d.all if draw.random() < (0.5 if d.shown["agentur"][i] == "Nord" else 0.25)]
    return _safe(d, release=shuffled(_rows(d.in_order(), here), draw))


@control("eleventh")
def five_harmless_answers(draw: random.Random) -> Fields:
    """A Parquet file of six thousand: five answers of two values, independent of all; two of them go together."""
    d = census(draw, 6_000)
    d.shown["county"] = ["*"] * d.people
    d.shown["status"] = ["*"] * d.people
    columns = {f"q{k}": [draw.choice("ab") for _ in d.all] for k in range(4)}
    columns["q4"] = [a if draw.random() < 0.8 else draw.choice("ab") for a in columns["q0"]]
    return _safe(
        d,
        original=d.original(**columns),
        schema=d.schema(**dict.fromkeys(columns, INSENSITIVE)),
        release=d.release(**columns),
    )


@control("eleventh")
def transport_that_depends_on_the_age_shown(draw: random.Random) -> Fields:
    """Insensitive: the old go by bus, the young by bicycle, mostly."""
    d = travellers(draw, 3_000)
    d.shown["zone"] = ["*"] * d.people
    young = [c.startswith("[18") for c in d.shown["age"]]
    mode = [draw.choices(("bus", "bicycle", "car"), weights=(1, 4, 2) if y else (4, 1, 2))[0] for y in young]
    return _beside_safe(d, mode=mode)


def _beside_safe(d: Domain, **columns: list[str]) -> Fields:
    return _safe(
        d,
        original=d.original(**columns),
        schema=d.schema(**dict.fromkeys(columns, INSENSITIVE)),
        release=d.release(**columns),
    )


@control("eleventh")
def agencies_in_their_levels(draw: random.Random) -> Fields:
    """Local recoding as ARX does it: large agencies as they are, small ones as their directorate."""
    d = insurance(draw, 3_000)
    d.shown["geboren"] = ["*"] * d.people
    size = Counter(d.exact["agentur"])
    large = {a for a, _ in size.most_common(3)}
    d.shown["agentur"] = [a if a in large else s for a, s in zip(d.exact["agentur"], d.shown["agentur"], strict=True)]
    return _safe(d)


@control("eleventh")
def a_french_workbook(draw: random.Random) -> Fields:
    """An .xlsx file with numbers as numbers, written row by row, sorted by the district."""
    import xlsxwriter

    d = police(draw, 2_000)
    rows = sorted(zip(*d.release().values(), strict=True), key=lambda r: r[1])
    release = {n: [r[i] for r in rows] for i, n in enumerate(d.in_order())}
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = book.add_worksheet("2024")
    for j, (name, values) in enumerate(release.items()):
        for i, value in enumerate([name, *values]):
            sheet.write_string(i, j, value)
    book.close()
    return _safe(d, release=release, release_text=content.getvalue(), release_name="release.xlsx")


@control("eleventh")
def ages_rounded_to_ten_years(draw: random.Random) -> Fields:
    """Years of birth as the first year of each decade's span, in words that the schema knows; shuffled."""
    d = insurance(draw, 2_400)
    d.shown["geboren"] = [f"[{int(b) // 20 * 20},{int(b) // 20 * 20 + 19}]" for b in d.exact["geboren"]]
    d.shown["tarif"] = ["*"] * d.people
    return _safe(d)


@control("eleventh")
def a_tenth_of_the_tariffs_withheld(draw: random.Random) -> Fields:
    """The tariff is withheld of one in ten, drawn at random."""
    d = insurance(draw, 2_400)
    d.shown["tarif"] = ["*" if draw.random() < 0.1 else t for t in d.shown["tarif"]]
    return _safe(d)
