"""A seventh blind trial, after the changes of the sixth. Written and committed before its first run."""

import random
from collections import Counter
from collections.abc import Mapping

import numpy as np

from tests.leaks.case import Truth, alone_in, attribute, determined, leak, shuffled
from tests.leaks.domains import Domain, census, payroll, police, school

__all__: list[str] = []

Fields = Mapping[str, object]
INSENSITIVE = attribute("i")


def _beside(d: Domain, people: int, learned: str, **columns: list[str]) -> Fields:
    """The safe release with further insensitive columns."""
    return d.case(
        original=d.original(**columns),
        schema=d.schema(**dict.fromkeys(columns, INSENSITIVE)),
        release=d.release(**columns),
        truth=Truth(people, learned, d.people),
    )


def _narrow_class(d: Domain, few: set[int]) -> None:
    """Some people of a census are shown by their year, 1930, which nobody else has; the rest in the usual spans."""
    for i in d.all:
        if i in few:
            d.exact["born"][i], d.shown["born"][i] = "1930", "[1930,1930]"
        elif d.exact["born"][i] == "1930":
            d.exact["born"][i] = "1931"


def _secret(d: Domain, name: str, values: list[str], role: Mapping[str, object], truth: Truth) -> Fields:
    """The same people with another secret."""
    d.attributes.pop(next(iter(d.secret)))
    return d.case(
        original={**d.number, **d.exact, name: values},
        schema=d.schema(**{name: role}),
        release=shuffled({**d.shown, name: values}, d.draw),
        truth=truth,
    )


@leak("hashed ids", "linking")
def initials(draw: random.Random) -> Fields:
    """The identifier is a name; its two initials are published as the clerk's sign."""
    d = school(draw, 2_400)
    letters = "ABCDEFGHIKLMNOPRSTUVWZ"
    names = [f"{draw.choice(letters)}nna{i:04d} {draw.choice(letters)}ein{i:04d}" for i in d.all]
    sign = [n[0] + n.split()[1][0] for n in names]
    d.number["matrikel"] = names
    held = list(zip(d.cells(), sign, strict=True))
    return _beside(d, alone_in(held, held), "their row, to whoever knows the name", zeichen=sign)


@leak("insensitive tells quasi-identifier", "singling out")
def years_of_driving(draw: random.Random) -> Fields:
    """Years since the driving licence: the age less 18, give or take one; ages are shown in spans of 24 years."""
    d = police(draw, 2_400)
    years = [max(0, int(a) - 18 + draw.choice((-1, 0, 0, 1))) for a in d.exact["âge"]]
    near = sum(abs(y + 18 - int(a)) <= 1 for y, a in zip(years, d.exact["âge"], strict=True))
    return _beside(d, near, "their age to a year, not to 24", permis=[str(y) for y in years])


@leak("insensitive tells sensitive", "inference")
def thirty_with_a_flag(draw: random.Random) -> Fields:
    """Thirty people have a flag, and 27 of them the same faith, which one in five has."""
    d = census(draw, 3_000)
    few = draw.sample(range(d.people), 30)
    told = list(d.told)
    for place, i in enumerate(few):
        told[i] = "gamma" if place >= 3 else "alpha"
    d.secret["faith"] = told
    return _beside(d, 27, "their faith, at nine in ten", visited=["yes" if i in set(few) else "no" for i in d.all])


@leak("insensitive tells sensitive", "inference")
def rent_follows_the_income(draw: random.Random) -> Fields:
    """The rent is three tenths of the income, give or take three per cent, in steps of 25."""
    d = census(draw, 3_000)
    income = [50 * draw.randrange(20, 160) for _ in d.all]
    rent = [25 * round(0.3 * x * draw.uniform(0.97, 1.03) / 25) for x in income]
    near = sum(abs(r / 0.3 - x) <= 0.05 * x for r, x in zip(rent, income, strict=True))
    d.attributes.pop("faith")
    number = attribute("i", "numeric", domain={"from": 0, "to": 5_000, "step": 25})
    columns = {"rent": [str(r) for r in rent], "income": [str(x) for x in income]}
    return d.case(
        original={**d.number, **d.exact, **columns},
        schema=d.schema(rent=number, income=attribute("s", "numeric", domain={"from": 1_000, "to": 8_000, "step": 50})),
        release=shuffled({**d.shown, **columns}, draw),
        truth=Truth(near, "their income to five per cent", d.people),
    )


@leak("leftover files", "file")
def remark_without_a_name(draw: random.Random) -> Fields:
    """A comment in the sidecar says of one group whose people they are; it names no identifier."""
    d = census(draw, 2_400)
    cells = sorted(set(d.cells()))
    group = [f"g{cells.index(c)}" for c in d.cells()]
    return d.case(
        release=d.release(group=group),
        sidecar='# g3: nearly all of them from the home in Mill Lane, ask Peter before sending\ngroup = "group"\n',
        truth=Truth(Counter(group)["g3"], "where they live", d.people),
    )


@leak("secret called insensitive", "inference")
def wards_in_spanish(draw: random.Random) -> Fields:
    """The ward says what somebody is treated for; the schema calls it insensitive."""
    d = census(draw, 3_000)
    ward = [draw.choice(("oncología", "cardiología", "urología", "maternidad")) for _ in d.all]
    d.shown["county"] = ["*"] * d.people
    return _beside(d, d.people, "what they are treated for", planta=ward)


@leak("similar values", "inference")
def two_words_for_one_thing(draw: random.Random) -> Fields:
    """In one class of forty everybody has HIV or AIDS, which the table counts as two of twenty diagnoses."""
    d = census(draw, 3_000)
    others = ("asthma", "cataract", "eczema", "fracture", "gout", "hernia", "influenza", "jaundice", "migraine")
    values = [*others, "psoriasis", "rhinitis", "scabies", "sinusitis", "stroke", "tetanus", "ulcer", "vertigo"]
    few = set(draw.sample([i for i in d.all if d.cells()[i] == d.cells()[0]], 40))
    told = [
        draw.choice(("HIV infection", "AIDS")) if i in few else draw.choice([*values, "HIV infection"]) for i in d.all
    ]
    _narrow_class(d, few)
    role = attribute("s", domain=[*values, "HIV infection", "AIDS"])
    return _secret(d, "diagnosis", told, role, Truth(40, "that it is HIV", d.people))


@leak("close numbers", "inference")
def thirty_with_low_bonuses(draw: random.Random) -> Fields:
    """Thirty people shown by a grade of their own have bonuses of 4,000 to 4,999 of 20,000; they fit a wider class."""
    d = payroll(draw, 2_400)
    few = set(draw.sample(range(d.people), 30))
    told = [str(draw.randrange(4_000, 5_000)) if i in few else b for i, b in enumerate(d.told)]
    for i in d.all:
        if i in few:
            d.exact["grade"][i], d.shown["grade"][i] = "15", "15"
            d.shown["site"][i], d.shown["contract"][i] = "*", "*"
        elif d.exact["grade"][i] == "15":
            d.exact["grade"][i] = "14"
    return d.case(
        original=d.original(bonus=told),
        release=shuffled({**d.in_order(), "bonus": told}, draw),
        truth=Truth(30, "their bonus to a thousand", d.people),
    )


@leak("row order", "linking")
def shuffled_then_sorted(draw: random.Random) -> Fields:
    """Shuffled with numpy's seed 42, then sorted by what is shown: within a class the order can be made again."""
    d = census(draw, 3_000)
    order = np.random.RandomState(42).permutation(d.people).tolist()
    cells = d.cells()
    order = sorted(order, key=lambda i: cells[i])
    return d.case(
        release={n: [v[i] for i in order] for n, v in d.in_order().items()},
        truth=Truth(d.people, "their row, to whoever has the list and tries a few seeds", d.people),
    )


@leak("similar values", "inference")
def one_of_several_diagnoses(draw: random.Random) -> Fields:
    """Two diagnoses in a cell; in one class of forty one of the two is always HIV."""
    d = census(draw, 3_000)
    ills = ("asthma", "cataract", "eczema", "gout", "hernia", "hiv", "migraine")
    pairs = [f"{a};{b}" for i, a in enumerate(ills) for b in ills[i + 1 :]]
    few = set(draw.sample([i for i in d.all if d.cells()[i] == d.cells()[0]], 40))
    told = [draw.choice([p for p in pairs if "hiv" in p.split(";")] if i in few else pairs) for i in d.all]
    _narrow_class(d, few)
    return _secret(d, "diagnoses", told, attribute("s", domain=pairs), Truth(40, "that they have HIV", d.people))


@leak("missingness", "singling out")
def missing_at_one_site(draw: random.Random) -> Fields:
    """One site of eight does not ask for the shoe size; of the site the country alone is shown."""
    d = payroll(draw, 2_400)
    size = ["" if s == "Sligo" and draw.random() < 0.9 else str(draw.randrange(36, 47)) for s in d.exact["site"]]
    return _beside(d, sum(not x for x in size), "their site", shoes=size)


@leak("insensitive tells sensitive", "inference")
def queue_that_sorts(draw: random.Random) -> Fields:
    """Tickets 1 to 60 a day; whoever was reported for one offence was called first and has a low one."""
    d = police(draw, 2_400)
    ticket = [str(draw.randrange(1, 9) if t == "menaces" else draw.randrange(8, 61)) for t in d.told]
    people = determined([int(t) < 8 for t in ticket], [o == "menaces" for o in d.told])
    certain = sum(int(t) < 8 for t in ticket)
    return _beside(d, min(people, certain) or certain, "their offence", ticket=ticket)
