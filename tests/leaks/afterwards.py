"""A second blind trial, written after the checks were changed for the first (elsewhere.py) and run once before any
further change: leaks and controls that are different in kind, not in names."""

import random
from collections.abc import Mapping

from tests.leaks.case import Columns, Truth, alone, attribute, control, joined, leak, shuffled
from tests.leaks.domains import Domain, census, payroll, police, school

__all__: list[str] = []

Fields = Mapping[str, object]
INSENSITIVE = attribute("i")


def _rows(columns: Columns, order: list[int]) -> Columns:
    return {n: [v[i] for i in order] for n, v in columns.items()}


@leak("suppressed cells given back", "singling out")
def secret_values_name_the_commune(draw: random.Random) -> Fields:
    """The secret is a docket such as C07-B: its first part is the commune, of which the district alone is shown."""
    d = police(draw, 1_600)
    told = [f"{c}-{draw.choice('ABCDEF')}" for c in d.exact["commune"]]
    return d.case(
        original=d.original(infraction=told),
        schema=d.schema(infraction=attribute("s")),
        release=shuffled({**d.in_order(), "infraction": told}, draw),
        truth=Truth(d.people, "their commune, by anybody who finds the docket", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def two_halves_of_a_code(draw: random.Random) -> Fields:
    """Each column is noise; their sum modulo six is the mark."""
    d = school(draw, 1_500)
    one = [draw.randrange(6) for _ in d.all]
    two = [(int(n) - 1 - a) % 6 for n, a in zip(d.told, one, strict=True)]
    columns = {"kennung_a": [str(v) for v in one], "kennung_b": [str(v) for v in two]}
    return d.case(
        original=d.original(**columns),
        schema=d.schema(**dict.fromkeys(columns, INSENSITIVE)),
        release=d.release(**columns),
        truth=Truth(d.people, "the mark, from both columns", d.people),
    )


@leak("close numbers", "inference")
def two_worst_grades_in_one_class(draw: random.Random) -> Fields:
    """An ordinal secret of eight grades; one class has the two worst only."""
    d = census(draw, 2_000)
    grades = [f"g{i}" for i in range(1, 9)]
    cells = d.cells()
    first = sorted(set(cells))[5]
    told = [draw.choice(grades[6:]) if c == first else draw.choice(grades) for c in cells]
    return d.case(
        original=d.original(faith=told),
        schema=d.schema(faith=attribute("s", "ordinal", domain=grades)),
        release=shuffled({**d.in_order(), "faith": told}, draw),
        truth=Truth(cells.count(first), "that it is one of the two worst", d.people),
    )


@leak("free text", "linking")
def the_number_inside_a_sensitive_text(draw: random.Random) -> Fields:
    d = police(draw, 700)
    told = [f"{o}, cf. dossier {i}" for o, i in zip(d.told, d.id, strict=True)]
    return d.case(
        original=d.original(infraction=told),
        schema=d.schema(infraction=attribute("s")),
        release=shuffled({**d.in_order(), "infraction": told}, draw),
        truth=Truth(d.people, "who they are: the secret names the file", d.people),
    )


@leak("row order", "linking")
def two_offices_one_after_the_other(draw: random.Random) -> Fields:
    """The first 400 rows are one office's, the rest another's; each shuffled. The office is not published."""
    d = payroll(draw, 1_000)
    office = ["A" if draw.random() < 0.4 else "B" for _ in d.all]
    order = sorted(d.all, key=lambda i: (office[i], draw.random()))
    return d.case(
        original=d.original(office=office),
        schema=d.schema(office=attribute("q", domain=["A", "B"])),
        release=_rows(d.in_order(), order),
        truth=Truth(d.people, "their office, by the place in the file", d.people),
    )


@leak("spelling", "file")
def decimals_in_some_intervals(draw: random.Random) -> Fields:
    d = census(draw, 1_200)
    late = [draw.random() < 0.15 for _ in d.all]
    born = [f"[{b[1:5]}.0,{b[6:10]}.0]" if m else b for b, m in zip(d.shown["born"], late, strict=True)]
    return d.case(release=d.release(born=born), truth=Truth(sum(late), "that their form came in late", d.people))


@leak("secret called insensitive", "inference")
def conviction_called_insensitive(draw: random.Random) -> Fields:
    d = school(draw, 1_400)
    past = [draw.choice(("keine", "Bewährung", "Haft")) for _ in d.all]
    return d.case(
        original=d.original(vorstrafe=past),
        schema=d.schema(vorstrafe=attribute("i", domain=["keine", "Bewährung", "Haft"])),
        release=d.release(vorstrafe=past),
        truth=Truth(sum(p != "keine" for p in past), "that they were convicted; nobody is asked about it", d.people),
    )


@leak("weights and counters", "singling out")
def counts_with_a_long_tail(draw: random.Random) -> Fields:
    """How often somebody moved: most once or twice, some twenty times."""
    d = census(draw, 1_500)
    moves = [str(1 + int(draw.paretovariate(1.2))) for _ in d.all]
    people = alone(joined({**d.shown, "moves": moves}, [*d.shown, "moves"]))
    return d.case(
        original=d.original(moves=moves),
        schema=d.schema(moves=attribute("i", "numeric", domain={"from": 1, "to": 10_000, "step": 1})),
        release=d.release(moves=moves),
        truth=Truth(people, "their row, to whoever knows how often they moved", d.people),
    )


@leak("homogeneous classes", "inference")
def one_small_class_of_one_mark(draw: random.Random) -> Fields:
    """Six people of 1,500 stand in a class of their own, and all failed."""
    d = school(draw, 1_500)
    few = draw.sample(range(d.people), 6)
    told = list(d.told)
    for i in few:
        d.exact["geburtsjahr"][i], told[i] = "2011", "6"
        d.shown["geburtsjahr"][i], d.shown["kurs"][i], d.shown["geschlecht"][i] = "2011", "*", "*"
    return d.case(
        original=d.original(note=told),
        release=shuffled({**d.in_order(), "note": told}, draw),
        truth=Truth(6, "that they failed", d.people),
    )


@leak("several rows a person", "linking")
def siblings_share_a_number_in_another_column(draw: random.Random) -> Fields:
    """Two rows a person, months apart; the file keeps the last two figures of the badge to tell them apart."""
    d = payroll(draw, 400)
    twice = {n: [v for v in values for _ in range(2)] for n, values in d.original().items()}
    bonus = [str(draw.randrange(20_000)) for _ in twice["bonus"]]
    shown = {n: [v for v in values for _ in range(2)] for n, values in d.shown.items()}
    tail = [b[-2:] for b in twice["badge"]]
    seen = joined({**shown, "tail": tail}, [*shown, "tail"])
    people = sum(seen.count(s) == 2 for s in set(seen))
    return d.case(
        original={**twice, "bonus": bonus, "tail": tail},
        schema=d.schema(tail=INSENSITIVE),
        release=shuffled({**shown, "bonus": bonus, "tail": tail}, draw),
        truth=Truth(people, "both of their rows", d.people),
    )


@leak("similar values", "inference")
def one_family_of_codes_a_district(draw: random.Random) -> Fields:
    """Codes such as P12.4 and P19.0: one class has nothing but P, the others all letters."""
    d = police(draw)
    cells = d.cells()
    first = sorted(set(cells))[4]
    told = [
        f"{'P' if c == first else draw.choice('ABCDKLMP')}{draw.randrange(10, 30)}.{draw.randrange(10)}" for c in cells
    ]
    return d.case(
        original=d.original(infraction=told),
        schema=d.schema(infraction=attribute("s")),
        release=shuffled({**d.in_order(), "infraction": told}, draw),
        truth=Truth(cells.count(first), "the letter their code begins with", d.people),
    )


@leak("skew", "inference")
def nine_of_ten_in_one_class(draw: random.Random) -> Fields:
    """One answer in five says yes; in one class nine in ten do."""
    d = census(draw, 2_400)
    cells = d.cells()
    first = sorted(set(cells))[0]
    told = ["yes" if draw.random() < (0.9 if c == first else 0.15) else "no" for c in cells]
    return d.case(
        original=d.original(faith=told),
        schema=d.schema(faith=attribute("s", domain=["yes", "no"])),
        release=shuffled({**d.in_order(), "faith": told}, draw),
        truth=Truth(
            sum(c == first and t == "yes" for c, t in zip(cells, told, strict=True)), "a probable yes", d.people
        ),
    )


@leak("many values", "inference")
def days_of_conviction_by_district(draw: random.Random) -> Fields:
    """A date of 4,000 days; in one class all within a month."""
    from datetime import date, timedelta

    d = police(draw, 1_200)
    cells = d.cells()
    first = sorted(set(cells))[2]
    start = date(2010, 1, 1)
    day = [start + timedelta(days=2_000 + draw.randrange(30) if c == first else draw.randrange(4_000)) for c in cells]
    told = [v.isoformat() for v in day]
    kind = attribute("s", "date", domain="={ from = 2010-01-01, to = 2021-12-31, step = 1 }")
    return d.case(
        original=d.original(infraction=told),
        schema=d.schema(infraction=kind),
        release=shuffled({**d.in_order(), "infraction": told}, draw),
        truth=Truth(cells.count(first), "the day to within a month", d.people),
    )


@leak("row order", "inference")
def failures_at_the_end_of_each_class(draw: random.Random) -> Fields:
    """A column that is not published, the number of reminders, orders each class from few to many."""
    d = school(draw, 1_000)
    sent = [str(min(int(draw.expovariate(0.7)), 9)) for _ in d.all]
    cells = d.cells()
    order = sorted(d.all, key=lambda i: (cells[i], int(sent[i]), draw.random()))
    return d.case(
        original=d.original(mahnungen=sent),
        schema=d.schema(mahnungen=attribute("s", "numeric", domain={"from": 0, "to": 9, "step": 1})),
        release=_rows(d.in_order(), order),
        truth=Truth(d.people, "about how many reminders they got", d.people),
    )


@leak("wrong claims", "file")
def means_of_two_called_means_of_ten(draw: random.Random) -> Fields:
    """The sidecar says microaggregation in tens; it was pairs."""
    d = payroll(draw, 500)
    order = sorted(d.all, key=lambda i: int(d.told[i]))
    mean = [""] * d.people
    for j in range(0, d.people, 2):
        pair = order[j : j + 2]
        value = str(round(sum(int(d.told[i]) for i in pair) / len(pair)))
        for i in pair:
            mean[i] = value
    leave = [draw.choice(("yes", "no")) for _ in d.all]
    return d.case(
        original=d.original(leave=leave),
        schema=d.schema(
            bonus=attribute("q", "numeric", domain={"from": 0, "to": 19_999, "step": 1}),
            leave=attribute("s", domain=["yes", "no"]),
        ),
        release=shuffled({**d.exact, "leave": leave, "bonus": mean}, draw),
        sidecar='masked = ["bonus"]\nmethod = "microaggregation:k=10"\n',
        truth=Truth(d.people, "one of two rows, by the bonus", d.people),
    )


# --- controls ---------------------------------------------------------------------------------------------------------


def _safe(d: Domain, **fields: object) -> Fields:
    return d.case(truth=Truth(0, "nothing", d.people), **fields)


@control("recoded")
def classes_gathered_in_random_order(draw: random.Random) -> Fields:
    d = census(draw, 2_400)
    release = d.release()
    keys = list(zip(*(release[n] for n in d.shown), strict=True))
    place = {k: draw.random() for k in sorted(set(keys))}
    order = sorted(range(d.people), key=lambda i: place[keys[i]])
    return _safe(d, release=_rows(release, order))


@control("recoded")
def ordinal_answers(draw: random.Random) -> Fields:
    d = census(draw, 2_400)
    told = [draw.choice(("never", "rarely", "often", "always")) for _ in d.all]
    kind = attribute("s", "ordinal", domain=["never", "rarely", "often", "always"])
    return _safe(
        d,
        original=d.original(faith=told),
        schema=d.schema(faith=kind),
        release=shuffled({**d.in_order(), "faith": told}, draw),
    )


@control("recoded")
def two_secrets_mildly_related(draw: random.Random) -> Fields:
    d = school(draw, 1_800)
    help_ = ["ja" if draw.random() < (0.5 if n in "456" else 0.35) else "nein" for n in d.told]
    return _safe(
        d,
        original=d.original(nachhilfe=help_),
        schema=d.schema(nachhilfe=attribute("s", domain=["ja", "nein"])),
        release=d.release(nachhilfe=help_),
    )


@control("recoded")
def a_third_of_the_people(draw: random.Random) -> Fields:
    d = school(draw, 3_600)
    return _safe(d, release={n: v[: d.people // 3] for n, v in d.release().items()})


@control("recoded")
def letters_of_codes(draw: random.Random) -> Fields:
    """Codes of eight letters; every class has all of them."""
    d = police(draw, 2_400)
    told = [f"{draw.choice('ABCDKLMP')}{draw.randrange(10, 14)}" for _ in d.all]
    return _safe(
        d,
        original=d.original(infraction=told),
        schema=d.schema(infraction=attribute("s")),
        release=shuffled({**d.in_order(), "infraction": told}, draw),
    )


@control("recoded")
def salaries_that_follow_the_grade_a_little(draw: random.Random) -> Fields:
    """A bonus that grows with the grade, as everybody knows, and spreads far more than it grows."""
    d = payroll(draw, 2_400)
    told = [str(int(9_000 + 120 * int(g) + draw.gauss(0, 2_500))) for g in d.exact["grade"]]
    return _safe(d, original=d.original(bonus=told), release=shuffled({**d.in_order(), "bonus": told}, draw))


@control("recoded")
def withheld_counties(draw: random.Random) -> Fields:
    """Counties withheld for a random tenth, marital status for another."""
    d = census(draw, 6_000)
    county = ["*" if draw.random() < 0.1 else c for c in d.shown["county"]]
    status = ["*" if draw.random() < 0.1 else s for s in d.shown["status"]]
    return _safe(d, release=d.release(county=county, status=status))


@control("recoded")
def year_of_the_survey(draw: random.Random) -> Fields:
    """An insensitive year of three, and the rows sorted by it and by the county."""
    d = census(draw, 3_600)
    year = [draw.choice(("2021", "2022", "2023")) for _ in d.all]
    d.shown["born"] = ["*"] * d.people
    release = d.release(year=year)
    order = sorted(range(d.people), key=lambda i: (release["year"][i], release["county"][i]))
    return _safe(
        d,
        original=d.original(year=year),
        schema=d.schema(year=attribute("i", domain=["2021", "2022", "2023"])),
        release=_rows(release, order),
    )
