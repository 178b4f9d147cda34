"""A tenth blind trial, with controls of its own. Written and committed before its first run, and before any change."""

import io
import random
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.leaks.case import Columns, Truth, attribute, control, csv_text, determined, joined, leak, shuffled
from tests.leaks.domains import CLAIMS, PURPOSES, Domain, census, insurance, payroll, police, school, travellers

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


def _any_order(d: Domain) -> list[int]:
    order = list(d.all)
    d.draw.shuffle(order)
    return order


# --- order ------------------------------------------------------------------------------------------------------------


@leak("row order", "inference")
def pages_sorted_by_pay(draw: random.Random) -> Fields:
    """Shuffled; then every page of fifty lines was sorted by a pay that the file does not show."""
    d = insurance(draw, 2_000)
    pay = [str(draw.randrange(1_500, 9_000)) for _ in d.all]
    order = _any_order(d)
    pages = [sorted(order[i : i + 50], key=lambda r: int(pay[r])) for i in range(0, d.people, 50)]
    return _ordered(d, [r for page in pages for r in page], d.people, "their pay, to a tenth", gehalt=pay)


@leak("row order", "linking")
def couples_half_a_file_apart(draw: random.Random) -> Fields:
    """The second of each couple stands exactly half a file after the first; who is whose is in the original."""
    d = census(draw, 2_000)
    half = d.people // 2
    couple = [str(1_000 + i % half) for i in d.all]
    first = list(range(half))
    draw.shuffle(first)
    d.secret["faith"] = [d.secret["faith"][i % half] if draw.random() < 0.9 else d.secret["faith"][i] for i in d.all]
    return _ordered(d, first + [i + half for i in first], d.people, "their spouse's row", couple=couple)


@leak("row order", "singling out")
def along_a_curve_through_town(draw: random.Random) -> Fields:
    """In the order of a walk from door to door: a snake through a town of 20 by 20 blocks; the zone is a block's."""
    d = travellers(draw, 2_000)
    x, y = ([draw.randrange(20) for _ in d.all] for _ in range(2))
    zones = sorted(set(d.exact["zone"]))
    d.exact["zone"] = [zones[a * 9 // 20] for a in x]
    area = {z: f"sector {'ABC'[i // 3]}" for i, z in enumerate(zones)}
    d.shown["zone"] = [area[z] for z in d.exact["zone"]]
    order = sorted(d.all, key=lambda i: (y[i], x[i] if y[i] % 2 else -x[i], draw.random()))
    return _ordered(d, order, d.people, "their door, nearly", x=[str(v) for v in x], y=[str(v) for v in y])


@leak("row order", "inference")
def thirty_stragglers_at_the_end(draw: random.Random) -> Fields:
    """Forty people were added last: those who answered only after a reminder, of whom seven in ten have one faith."""
    d = census(draw, 2_000)
    late = set(draw.sample(list(d.all), 40))
    d.secret["faith"] = [("alpha" if draw.random() < 0.7 else f) if i in late else f for i, f in enumerate(d.told)]
    order = _any_order(d)
    order = [i for i in order if i not in late] + [i for i in order if i in late]
    reminded = ["yes" if i in late else "no" for i in d.all]
    return _ordered(d, order, 40, "that they were reminded, and likely their faith", reminded=reminded)


@leak("row order", "singling out")
def one_office_in_the_middle(draw: random.Random) -> Fields:
    """Shuffled, but one commune came as a file of its own and stands in one piece, somewhere."""
    d = police(draw, 1_800)
    order = _any_order(d)
    mine = [i for i in order if d.exact["commune"][i] == "C05"]
    rest = [i for i in order if d.exact["commune"][i] != "C05"]
    return _ordered(d, rest[:731] + mine + rest[731:], len(mine), "their commune")


@leak("row order", "linking")
def bits_of_the_place_reversed(draw: random.Random) -> Fields:
    """The list in the order that a fast Fourier transform leaves behind: the bits of the place are reversed."""
    d = census(draw, 2_048)
    order = sorted(d.all, key=lambda i: f"{i:011b}"[::-1])
    return _ordered(d, order, d.people, "their row")


# --- further columns --------------------------------------------------------------------------------------------------


@leak("insensitive tells sensitive", "inference")
def vowels_of_a_nickname(draw: random.Random) -> Fields:
    """A nickname out of 240 made-up words; it has as many vowels as the mark, or none for a six."""
    d = school(draw, 1_800)
    d.shown["kurs"] = ["*"] * d.people
    words: dict[int, list[str]] = {}
    for number in range(6):
        for _ in range(40):
            letters = [draw.choice("aeiou") for _ in range(number)] + [
                draw.choice("bcdfgklmnprst") for _ in range(8 - number)
            ]
            draw.shuffle(letters)
            words.setdefault(number, []).append("".join(letters))
    name = [draw.choice(words[int(n) % 6]) for n in d.told]
    return _beside(d, d.people, "their mark", rufname=name)


@leak("insensitive tells sensitive", "inference")
def minutes_less_hours(draw: random.Random) -> Fields:
    """A time of day; the minute less the hour leaves a remainder by eight that is the claim."""
    d = insurance(draw, 2_000)
    time = []
    for c in d.told:
        hour = draw.randrange(8, 18)
        minute = draw.choice([m for m in range(60) if (m - hour) % 8 == CLAIMS.index(c)])
        time.append(f"{hour:02d}:{minute:02d}")
    return _beside(d, d.people, "their claim", uhrzeit=time)


@leak("insensitive tells quasi-identifier", "singling out")
def bytes_of_a_colour(draw: random.Random) -> Fields:
    """The colour of a sticker, of 512 colours; its three parts add up to the zone, modulo nine."""
    d = travellers(draw, 2_000)
    zones = sorted(set(d.exact["zone"]))
    colour = []
    for z in d.exact["zone"]:
        a, b = draw.randrange(9), draw.randrange(9)
        c = (zones.index(z) - a - b) % 9
        colour.append("#" + "".join(f"{v * 28:02x}" for v in (a, b, c)))
    return _beside(d, d.people, "their zone", sticker=colour)


@leak("insensitive tells quasi-identifier", "singling out")
def number_of_colleagues(draw: random.Random) -> Fields:
    """How many work at somebody's site: no two sites are equally large."""
    d = payroll(draw, 2_000)
    d.secret = {"bonus": [str(int(b) // 1_000 * 1_000) for b in d.told]}
    size = Counter(d.exact["site"])
    return _beside(d, d.people, "their site", colleagues=[str(size[s]) for s in d.exact["site"]])


@leak("insensitive tells quasi-identifier", "singling out")
def distances_to_three_towns(draw: random.Random) -> Fields:
    """Kilometres to three towns, in steps of ten: each is the same for several communes, all three are one's."""
    d = police(draw, 2_000)
    communes = sorted(set(d.exact["commune"]))
    place = {c: (i % 4 * 15 + 7, i // 4 * 15 + 9) for i, c in enumerate(communes)}
    towns = ((0, 0), (60, 0), (20, 50))
    columns = {
        name: [
            str(round(((place[c][0] - x) ** 2 + (place[c][1] - y) ** 2) ** 0.5 / 10) * 10) for c in d.exact["commune"]
        ]
        for name, (x, y) in zip(("nord", "est", "sud"), towns, strict=True)
    }
    told = determined([*zip(*columns.values(), d.shown["commune"], strict=True)], d.exact["commune"])
    assert told > 0.4 * d.people
    return _beside(d, told, "their commune", **columns)


@leak("insensitive tells quasi-identifier", "singling out")
def premium_of_the_exact_year(draw: random.Random) -> Fields:
    """A premium in steps of five euros rises with the year of birth in one tariff; falls and rises in the other."""
    d = insurance(draw, 2_000)
    premium = [
        str(5 * (int(b) - 1930) if t == "Basis" else 5 * (20 + abs(int(b) - 1971)))
        for b, t in zip(d.exact["geboren"], d.exact["tarif"], strict=True)
    ]
    told = determined([*zip(premium, *d.shown.values(), strict=True)], d.exact["geboren"])
    return _beside(d, told, "their year of birth", beitrag=premium)


@leak("insensitive tells sensitive", "inference")
def seconds_to_answer(draw: random.Random) -> Fields:
    """Whole seconds until the question about faith was answered: ten to twenty for most, longer for one faith."""
    d = census(draw, 2_000)
    d.shown["county"] = ["*"] * d.people
    told = ["alpha" if draw.random() < 0.15 else draw.choice(("beta", "gamma", "delta", "none")) for _ in d.all]
    d.secret["faith"] = told
    seconds = [str(round(draw.gauss(24, 2.5) if f == "alpha" else draw.gauss(14, 2.5))) for f in told]
    return _beside(d, told.count("alpha"), "their faith", seconds=seconds)


@leak("insensitive tells quasi-identifier", "singling out")
def a_language_of_one_site(draw: random.Random) -> Fields:
    """Four languages; the fourth is spoken by a third of one site of eight, and by nobody else."""
    d = payroll(draw, 2_000)
    d.secret = {"bonus": [str(int(b) // 1_000 * 1_000) for b in d.told]}
    language = [
        "Basque" if s == "Gijon" and draw.random() < 0.35 else draw.choice(("English", "Spanish", "Polish"))
        for s in d.exact["site"]
    ]
    return _beside(d, language.count("Basque"), "their site", language=language)


@leak("insensitive tells sensitive", "inference")
def a_class_of_discount(draw: random.Random) -> Fields:
    """A class of 0 to 18: two for each kind of claim, one more from fifty on, one for the tariff."""
    d = insurance(draw, 2_400)
    d.shown["agentur"] = ["*"] * d.people
    discount = [
        str(2 * CLAIMS.index(c) + (int(b) < 1974) + (t == "Basis"))
        for c, b, t in zip(d.told, d.exact["geboren"], d.exact["tarif"], strict=True)
    ]
    told = determined([*zip(discount, *d.shown.values(), strict=True)], d.told)
    assert told > d.people // 3
    return _beside(d, told, "their claim", klasse=discount)


@leak("insensitive tells sensitive", "inference")
def rising_figures(draw: random.Random) -> Fields:
    """A ticket of three figures: they rise for those whose purpose is the clinic, and for nobody else."""
    d = travellers(draw, 2_000)
    d.shown["zone"] = ["*"] * d.people
    rising = [t for t in range(1_000) if f"{t:03d}" == "".join(sorted(f"{t:03d}")) and len(set(f"{t:03d}")) == 3]
    others = [t for t in range(1_000) if t not in set(rising)]
    ticket = [f"{draw.choice(rising if p == 'clinic' else others):03d}" for p in d.told]
    return _beside(d, d.told.count("clinic"), "that they went to the clinic", ticket=ticket)


@leak("homogeneous classes", "inference")
def codes_called_insensitive(draw: random.Random) -> Fields:
    """A column Kz of eight codes, called insensitive; the people of one class of fifty have one and the same."""
    d = insurance(draw, 2_000)
    d.shown["agentur"] = ["*"] * d.people
    codes = ["E11", "F20", "J45", "I10", "K52", "M54", "R51", "B20"]
    small = {i for i in d.all if 1940 <= int(d.exact["geboren"][i]) < 1960 and d.exact["tarif"][i] == "Basis"}
    small = set(draw.sample(sorted(small), 50))
    d.shown["tarif"] = [
        "Basis" if i in small else "Komfort" if d.exact["tarif"][i] == "Komfort" else "*" for i in d.all
    ]
    kz = ["B20" if i in small else draw.choice(codes) for i in d.all]
    return _beside(d, 50, "their diagnosis, B20", kz=kz)


# --- cells ------------------------------------------------------------------------------------------------------------


@leak("cells that mark", "inference")
def which_of_two_is_withheld(draw: random.Random) -> Fields:
    """Of everybody either the county or the status is withheld: of some faiths the one, of the others the other."""
    d = census(draw, 2_000)
    first = [f in ("alpha", "beta") for f in d.told]
    d.shown["county"] = ["*" if a else c for a, c in zip(first, d.shown["county"], strict=True)]
    d.shown["status"] = [s if a else "*" for a, s in zip(first, d.shown["status"], strict=True)]
    return d.case(truth=Truth(d.people, "which two or three faiths it may be", d.people))


@leak("cells that give themselves away", "singling out")
def a_zone_between_its_neighbours(draw: random.Random) -> Fields:
    """Zones lie on a ring; everybody's is shown as a set of three, of which it is the middle."""
    d = travellers(draw, 2_000)
    d.shown["zone"] = [
        "{" + ",".join(sorted(f"Z{(int(z[1:]) + k) % 9}" for k in (-1, 0, 1))) + "}" for z in d.exact["zone"]
    ]
    return d.case(truth=Truth(d.people, "their zone", d.people))


@leak("missingness", "singling out")
def three_bits_of_missing_answers(draw: random.Random) -> Fields:
    """Three questions, each left open by half: which ones were printed on the form depends on the agency, of eight."""
    d = insurance(draw, 2_000)
    agencies = list(dict.fromkeys(sorted(d.exact["agentur"])))
    columns = {
        f"frage{k}": [
            "" if agencies.index(a) >> k & 1 else draw.choice(("ja", "nein", "weiß nicht")) for a in d.exact["agentur"]
        ]
        for k in range(3)
    }
    return _beside(d, d.people, "their agency", **columns)


@leak("spelling", "singling out")
def currency_format_of_the_site(draw: random.Random) -> Fields:
    """A workbook whose amounts are formatted with two places at one site of each country, elsewhere with none."""
    import xlsxwriter

    d = payroll(draw, 1_200)
    d.secret = {"bonus": [str(int(b) // 1_000 * 1_000) for b in d.told]}
    rows = shuffled({**d.in_order(), "which": d.exact["site"]}, draw)
    which = rows.pop("which")
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    formats = [book.add_format({"num_format": f}) for f in ("#,##0", "#,##0.00")]
    sheet = book.add_worksheet("release")
    for j, (name, values) in enumerate(rows.items()):
        sheet.write_string(0, j, name)
        for i, value in enumerate(values):
            if name == "bonus":
                sheet.write_number(i + 1, j, int(value), formats[which[i] in ("Cork", "Vigo")])
            else:
                sheet.write_string(i + 1, j, value)
    book.close()
    mine = sum(s in ("Cork", "Vigo") for s in which)
    truth = Truth(mine, "their site", d.people)
    return d.case(release=rows, release_text=content.getvalue(), release_name="release.xlsx", truth=truth)


@leak("leftover files", "linking")
def labels_of_a_statistical_file(draw: random.Random) -> Fields:
    """An SPSS file: the label of the value "other" of a question says who asked for it, with the contract's number."""
    import polars as pl
    import pyreadstat

    d = insurance(draw, 1_200)
    weg = [str(draw.randrange(1, 5)) for _ in d.all]
    rows = d.release(weg=weg)
    frame = pl.DataFrame({n: [float(x) for x in v] if n == "weg" else v for n, v in rows.items()})
    labels = {1.0: "Post", 2.0: "Telefon", 3.0: "Online", 4.0: f"Sonstiges (auf Wunsch von {d.id[17]})"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.sav"
        pyreadstat.write_sav(frame.to_pandas(), str(path), variable_value_labels={"weg": labels})
        content = path.read_bytes()
    named = [labels[float(w)] for w in weg]
    return d.case(
        original=d.original(weg=named),
        schema=d.schema(weg=INSENSITIVE),
        release=rows,
        release_text=content,
        release_name="release.sav",
        truth=Truth(1, "what the person with this number asked for", d.people),
    )


# --- people and values ------------------------------------------------------------------------------------------------


@leak("part of the people", "singling out")
def presence_means_the_first_site(draw: random.Random) -> Fields:
    """The file is a part of the people: all of two sites, and one in ten of the others, which nothing says."""
    d = payroll(draw, 2_400)
    d.secret = {"bonus": [str(int(b) // 1_000 * 1_000) for b in d.told]}
    here = [i for i in d.all if d.exact["site"][i] in ("Cork", "Elche") or draw.random() < 0.1]
    sure = sum(d.exact["site"][i] in ("Cork", "Elche") for i in here)
    release = shuffled(_rows(d.in_order(), here), draw)
    return d.case(release=release, truth=Truth(sure, "their site, at three to one", len(here)))


@leak("one secret tells another", "inference")
def four_places_tell_a_person(draw: random.Random) -> Fields:
    """Four places somebody was at, of forty each, all called sensitive: who saw somebody at two finds the others."""
    d = travellers(draw, 1_600)
    places = [f"P{i:02d}" for i in range(40)]
    columns = {f"stop{k}": [draw.choice(places) for _ in d.all] for k in range(1, 5)}
    d.attributes.pop("purpose")
    d.secret = dict(columns)
    role = attribute("s", domain=places)
    known = Counter(joined({**d.shown, **columns}, [*d.shown, "stop1", "stop2"]))
    alone = sum(known[k] == 1 for k in joined({**d.shown, **columns}, [*d.shown, "stop1", "stop2"]))
    return d.case(
        original={**d.number, **d.exact, **columns},
        schema=d.schema(**dict.fromkeys(columns, role)),
        release=d.release(),
        truth=Truth(alone, "where else they were, to who saw them twice", d.people),
    )


@leak("secrets that tell", "singling out")
def amounts_in_units_of_the_site(draw: random.Random) -> Fields:
    """A bonus is a whole number of points; a point is worth 37, 41, 43 … euros, another prime at each site."""
    d = payroll(draw, 2_000)
    sites = sorted(set(d.exact["site"]))
    unit = dict(zip(sites, (37, 41, 43, 47, 53, 59, 61, 67), strict=True))
    d.secret["bonus"] = [str(unit[s] * draw.randrange(1, 19_999 // unit[s])) for s in d.exact["site"]]
    return d.case(truth=Truth(d.people, "their site", d.people))


@leak("similar values", "inference")
def addictions_inside_words(draw: random.Random) -> Fields:
    """Sixteen places of treatment; in one class of fifty all have "sucht" inside, as four of them do."""
    d = insurance(draw, 2_000)
    kinds = ["Tagessuchthilfe", "Spielsuchtgruppe", "Klinik für Suchtkranke", "Altersuchtwohnen"]
    kinds += ["Augenklinik", "Tagesklinik", "Herzzentrum", "Reha am See", "Kinderklinik", "Hautpraxis", "Zahnzentrum"]
    kinds += ["Wundambulanz", "Schmerzpraxis", "Klinik für Knie", "Altersmedizin", "Rheumahaus"]
    d.shown["agentur"] = ["*"] * d.people
    eldest = [i for i in d.all if int(d.exact["geboren"][i]) < 1960 and d.exact["tarif"][i] == "Basis"]
    small = set(draw.sample(eldest, 50))
    d.shown["tarif"] = [
        "Basis" if i in small else "Komfort" if d.exact["tarif"][i] == "Komfort" else "*" for i in d.all
    ]
    d.attributes.pop("leistung")
    d.secret = {"ort": [draw.choice(kinds[:4] if i in small else kinds) for i in d.all]}
    return d.case(
        original=d.original(),
        schema=d.schema(ort=attribute("s", domain=kinds)),
        release=d.release(),
        truth=Truth(50, "that they are treated for an addiction", d.people),
    )


@leak("masked", "singling out")
def synthetic_rows_that_are_real(draw: random.Random) -> Fields:
    """Called synthetic; every fourth row is a real person's, the others are drawn column by column."""
    d = insurance(draw, 1_600)
    names = [*d.exact, *d.secret]
    truth = {**d.exact, **d.secret}
    real = set(draw.sample(list(d.all), d.people // 4))
    rows = {n: [truth[n][i] if i in real else draw.choice(truth[n]) for i in d.all] for n in names}
    return d.case(
        release=shuffled(rows, draw),
        sidecar='method = "synthetic"\n',
        truth=Truth(len(real), "their claim: their row is in the file", d.people),
    )


@leak("suppressed cells given back", "inference")
def mean_beside_a_withheld_amount(draw: random.Random) -> Fields:
    """The largest bonus of each class is withheld; the mean of the class stands beside everybody's bonus."""
    d = payroll(draw, 1_200)
    d.shown["site"] = ["*"] * d.people
    bonus = [int(b) for b in d.told]
    classes: dict[tuple[str, ...], list[int]] = {}
    for i, cell in enumerate(d.cells()):
        classes.setdefault(cell, []).append(i)
    largest = {max(rows, key=lambda i: bonus[i]) for rows in classes.values()}
    mean = {}
    for rows in classes.values():
        for i in rows:
            mean[i] = f"{sum(bonus[r] for r in rows) / len(rows):.2f}"
    shown = ["*" if i in largest else str(b) for i, b in enumerate(bonus)]
    average = [mean[i] for i in d.all]
    return d.case(
        original=d.original(average=average),
        schema=d.schema(average=INSENSITIVE),
        release=shuffled({**d.shown, "bonus": shown, "average": average}, draw),
        truth=Truth(len(largest), "their exact bonus", d.people),
    )


# --- safe releases ----------------------------------------------------------------------------------------------------


def _safe(d: Domain, **fields: object) -> Fields:
    return d.case(truth=Truth(0, "nothing", d.people), **fields)


@control("tenth")
def semicolons_of_an_insurer(draw: random.Random) -> Fields:
    """German CSV with semicolons and quotes around everything; an amount in bands with decimal commas is beside."""
    d = insurance(draw, 2_000)
    d.shown["agentur"] = ["*"] * d.people
    band = [draw.choices(("bis 99,50", "bis 499,50", "darüber"), weights=(5, 3, 2))[0] for _ in d.all]
    release = d.release(betrag=band)
    lines = [list(release), *(list(r) for r in zip(*release.values(), strict=True))]
    text = "\r\n".join(";".join(f'"{c}"' for c in line) for line in lines) + "\r\n"
    return _safe(
        d, original=d.original(betrag=band), schema=d.schema(betrag=INSENSITIVE), release=release, release_text=text
    )


@control("tenth")
def rows_suppressed_as_arx_does(draw: random.Random) -> Fields:
    """One level for everybody; of forty people in small classes all quasi-identifiers are stars, the claim is not."""
    d = insurance(draw, 1_600)
    gone = set(draw.sample(list(d.all), 40))
    d.shown = {n: ["*" if i in gone else v for i, v in enumerate(values)] for n, values in d.shown.items()}
    return _safe(d)


@control("tenth")
def a_class_as_sdcmicro_leaves_it(draw: random.Random) -> Fields:
    """Recoded, a sampling weight that is one for all of a stratum that is shown, sorted by nothing."""
    d = travellers(draw, 2_000)
    weight = {a: f"{draw.randrange(20, 60)}" for a in sorted(set(d.shown["zone"]))}
    column = [weight[z] for z in d.shown["zone"]]
    return _safe(
        d,
        original=d.original(w=column),
        schema=d.schema(w=attribute("i", "numeric", domain={"from": 1, "to": 100, "step": 1})),
        release=d.release(w=column),
    )


@control("tenth")
def drawn_column_by_column(draw: random.Random) -> Fields:
    """Synthetic: every column drawn on its own from how frequent its values are; nobody's row is anybody's."""
    d = insurance(draw, 1_600)
    truth = {**d.exact, **d.secret}
    rows = {n: [draw.choice(v) for _ in d.all] for n, v in truth.items()}
    return _safe(d, release=rows, sidecar='method = "synthetic"\n')


@control("tenth")
def counts_of_trips(draw: random.Random) -> Fields:
    """A table of counts: how many of each sector, age and licence went where; no count is below ten."""
    d = travellers(draw, 2_400)
    d.shown["licence"] = ["*"] * d.people
    cells = d.cells()
    for cell in sorted(set(cells)):
        mine = [i for i in d.all if cells[i] == cell]
        for place, i in enumerate(mine):
            d.secret["purpose"][i] = PURPOSES[place % len(PURPOSES)]
    number = Counter(zip(*d.shown.values(), d.told, strict=True))
    assert min(number.values()) >= 10
    rows = sorted(number)
    names = [*d.shown, "purpose"]
    release = {n: [r[j] for r in rows] for j, n in enumerate(names)} | {"n": [str(number[r]) for r in rows]}
    return _safe(d, release=release, sidecar='count = "n"\n')


@control("tenth")
def boxes_of_forty(draw: random.Random) -> Fields:
    """Mondrian by hand: boxes of years and agencies cut at medians while forty are left on each side."""
    d = insurance(draw, 2_000)
    agencies = sorted(set(d.exact["agentur"]))
    boxes: list[list[int]] = []

    def cut(rows: list[int], turn: int) -> None:
        for axis in (turn % 2, (turn + 1) % 2):
            key = [int(d.exact["geboren"][i]) if axis == 0 else agencies.index(d.exact["agentur"][i]) for i in d.all]
            middle = sorted(key[i] for i in rows)[len(rows) // 2]
            low, high = [i for i in rows if key[i] < middle], [i for i in rows if key[i] >= middle]
            if min(len(low), len(high)) >= 40:
                cut(low, turn + 1)
                cut(high, turn + 1)
                return
        boxes.append(rows)

    for tariff in ("Basis", "Komfort"):
        cut([i for i in d.all if d.exact["tarif"][i] == tariff], 0)
    for rows in boxes:
        born = [int(d.exact["geboren"][i]) for i in rows]
        held = sorted({d.exact["agentur"][i] for i in rows})
        for place, i in enumerate(draw.sample(rows, len(rows))):
            d.shown["geboren"][i] = f"[{min(born)},{max(born)}]"
            d.shown["agentur"][i] = "{" + ",".join(held) + "}" if len(held) > 1 else held[0]
            d.secret["leistung"][i] = CLAIMS[place % len(CLAIMS)]
    return _safe(d, original=d.original())


@control("tenth")
def shifts_and_canteens(draw: random.Random) -> Fields:
    """Parquet; three harmless columns of two or three values each, which depend on the shown country a little."""
    import polars as pl

    d = payroll(draw, 4_000)
    d.shown["grade"] = ["*"] * d.people
    d.shown["contract"] = ["*"] * d.people
    ireland = [s == "Ireland" for s in d.shown["site"]]
    columns = {
        "shift": [draw.choice("ABB" if e else "AAB") for e in ireland],
        "canteen": [draw.choice(("daily", "weekly", "never")) for _ in d.all],
        "parking": [draw.choice(("yes", "no")) for _ in d.all],
    }
    release = d.release(**columns)
    content = io.BytesIO()
    pl.DataFrame(release).write_parquet(content)
    return _safe(
        d,
        original=d.original(**columns),
        schema=d.schema(**dict.fromkeys(columns, INSENSITIVE)),
        release=release,
        release_text=content.getvalue(),
        release_name="release.parquet",
    )


@control("tenth")
def class_tests_in_twelve_points(draw: random.Random) -> Fields:
    """The points of a harmless test, 0 to 11, are shown; sorted by them."""
    d = school(draw, 4_000)
    d.shown["kurs"] = ["*"] * d.people
    d.shown["geschlecht"] = ["*"] * d.people
    points = [str(min(max(round(draw.gauss(6, 2)), 0), 11)) for _ in d.all]
    rows = shuffled({**d.in_order(), "punkte": points}, draw)
    order = sorted(range(d.people), key=lambda i: int(rows["punkte"][i]))
    return _safe(d, original=d.original(punkte=points), schema=d.schema(punkte=INSENSITIVE), release=_rows(rows, order))


@control("tenth")
def tabs_of_a_french_survey(draw: random.Random) -> Fields:
    """Tab-separated, ages written as 18-41; an answer of three that depends on the age that is shown, mildly."""
    d = police(draw, 2_400)
    d.shown["commune"] = ["*"] * d.people
    d.shown["âge"] = [c.strip("[]").replace(",", "-") for c in d.shown["âge"]]
    answer = [draw.choice(("oui", "non", "parfois", "oui" if c.startswith("18") else "non")) for c in d.shown["âge"]]
    release = d.release(réponse=answer)
    return _safe(
        d,
        original=d.original(réponse=answer),
        schema=d.schema(réponse=INSENSITIVE),
        release=release,
        release_text=csv_text(release, "\t"),
        release_name="release.tsv",
    )


@control("tenth")
def half_of_the_travellers(draw: random.Random) -> Fields:
    """Every person was published with the same chance of one half, which is a sample."""
    d = travellers(draw, 3_000)
    here = sorted(draw.sample(list(d.all), 1_500))
    return _safe(d, release=shuffled(_rows(d.in_order(), here), draw))
