"""A fifth blind trial. Written and committed before its first run.

After it: one case had been refused for a mistake of its own (a schema with a column that no file had) and was mended.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Mapping

from tests.leaks.case import Truth, attribute, determined, leak, shuffled
from tests.leaks.domains import FAITHS, Domain, census, payroll, police, school

__all__: list[str] = []

Fields = Mapping[str, object]


def _beside(d: Domain, people: int, learned: str, **columns: list[str]) -> Fields:
    """The safe release with further insensitive columns."""
    return d.case(
        original=d.original(**columns),
        schema=d.schema(**dict.fromkeys(columns, attribute("i"))),
        release=d.release(**columns),
        truth=Truth(people, learned, d.people),
    )


@leak("insensitive tells sensitive", "inference")
def seconds_of_a_timestamp(draw: random.Random) -> Fields:
    """An hour of entry whose seconds are the faith's number, plus five at random."""
    d = census(draw, 3_000)
    second = [FAITHS.index(t) + 5 * draw.randrange(12) for t in d.told]
    clock = [f"{draw.randrange(8, 18):02d}:00:{s:02d}" for s in second]
    people = determined([c[-2:] for c in clock], d.told)
    return _beside(d, people, "the faith by the seconds", entered=clock)


@leak("insensitive tells sensitive", "inference")
def ratio_of_two_amounts(draw: random.Random) -> Fields:
    """Paid and due: paid is due divided by the mark, to the cent."""
    d = school(draw, 2_400)
    due = [draw.randrange(100, 900) for _ in d.all]
    paid = [f"{x / int(t):.2f}" for x, t in zip(due, d.told, strict=True)]
    right = sum(round(x / float(p)) == int(t) for x, p, t in zip(due, paid, d.told, strict=True))
    return _beside(d, right, "the mark by dividing", soll=[str(x) for x in due], ist=paid)


@leak("insensitive tells sensitive", "inference")
def checksum_of_a_ticket(draw: random.Random) -> Fields:
    """A ticket of two figures of which everybody shares some; the sum of its figures modulo eight is the offence."""
    d = police(draw, 3_000)
    kinds = sorted(set(d.told))
    tickets = defaultdict(list)
    for n in range(100):
        tickets[sum(map(int, f"{n:02d}")) % 8].append(f"{n:02d}")
    ticket = [draw.choice(tickets[kinds.index(t)]) for t in d.told]
    return _beside(d, determined(ticket, d.told), "the offence by the ticket", ticket=ticket)


@leak("missingness", "inference")
def three_words_for_missing(draw: random.Random) -> Fields:
    """A remark is missing for all but a few; the word for it depends on the faith."""
    d = census(draw, 3_000)
    words = {"alpha": "-", "beta": "NA", "gamma": "none", "delta": "n/a", "none": "."}
    remark = [words[t] if draw.random() < 0.9 else "seen" for t in d.told]
    return _beside(d, sum(r != "seen" for r in remark), "the faith by the word", remark=remark)


@leak("spelling", "inference")
def trailing_blank_for_one_mark(draw: random.Random) -> Fields:
    """The sex is followed by a blank where the mark is six."""
    d = school(draw, 1_800)
    sex = [s + (" " if t == "6" else "") for s, t in zip(d.exact["geschlecht"], d.told, strict=True)]
    return d.case(
        release=shuffled({**d.in_order(), "geschlecht": sex}, draw),
        truth=Truth(d.told.count("6"), "that they failed", d.people),
    )


@leak("homogeneous classes", "inference")
def depth_of_generalisation_tells(draw: random.Random) -> Fields:
    """The county is withheld for whoever has one faith, and for a tenth of the others."""
    d = census(draw, 3_000)
    gone = [draw.random() < (0.95 if t == "gamma" else 0.1) for t in d.told]
    county = ["*" if g else c for g, c in zip(gone, d.shown["county"], strict=True)]
    told = sum(g and t == "gamma" for g, t in zip(gone, d.told, strict=True))
    return d.case(
        release=shuffled({**d.in_order(), "county": county}, draw),
        truth=Truth(told, "a faith that one in five has, at seven in ten", d.people),
    )


@leak("homogeneous classes", "inference")
def narrower_bands_for_one_offence(draw: random.Random) -> Fields:
    """Ages in bands of 12 for one offence, of 24 for the others."""
    d = police(draw, 2_400)
    low = [18 + (int(a) - 18) // 12 * 12 for a in d.exact["âge"]]
    narrow = [f"[{a},{a + 11}]" for a in low]
    age = [n if t == "recel" else w for n, w, t in zip(narrow, d.shown["âge"], d.told, strict=True)]
    return d.case(
        release=shuffled({**d.in_order(), "âge": age}, draw),
        truth=Truth(d.told.count("recel"), "their offence by the width of the band", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def remainder_of_the_line(draw: random.Random) -> Fields:
    """Every fifth line is of one faith, the next of another; the place among five is published."""
    d = census(draw, 3_000)
    own = {f: [i for i in d.all if d.told[i] == f] for f in FAITHS}
    rows = min(map(len, own.values()))
    left = [i for f in FAITHS for i in own[f][rows:]]
    draw.shuffle(left)
    order = [own[f][r] for r in range(rows) for f in FAITHS] + left
    release = {n: [v[i] for i in order] for n, v in d.in_order().items()}
    release["position"] = [str(place % 5) for place in range(d.people)]
    back = {i: place for place, i in enumerate(order)}
    position = [str(back[i] % 5) for i in d.all]
    return d.case(
        original=d.original(position=position),
        schema=d.schema(position=attribute("i")),
        release=release,
        truth=Truth(rows * 5, "the faith by the remainder, which the file shows", d.people),
    )


@leak("several rows a person", "inference")
def rows_twice_for_one_faith(draw: random.Random) -> Fields:
    """People of one faith were written twice, in the original as well."""
    d = census(draw, 2_000)
    order = [i for i in d.all for _ in range(2 if d.told[i] == "delta" else 1)]
    pick = {n: [v[i] for i in order] for n, v in d.original().items()}
    visits = ["2" if d.told[i] == "delta" else "1" for i in order]
    shown = {n: [v[i] for i in order] for n, v in d.in_order().items()}
    return d.case(
        original={**pick, "visits": visits},
        schema=d.schema(visits=attribute("i")),
        release=shuffled({**shown, "visits": visits}, draw),
        truth=Truth(d.told.count("delta"), "their faith: only they come twice", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def last_figure_of_a_bonus_tells_a_warning(draw: random.Random) -> Fields:
    """The allowance ends in 5 for whoever was warned, in another figure for the others."""
    d = payroll(draw, 3_000)
    warned = [draw.choice(("yes", "no")) for _ in d.all]
    ends = {"yes": (5,), "no": (0, 1, 2, 3, 4, 6, 7, 8, 9)}
    allowance = [str(10 * draw.randrange(10, 40) + draw.choice(ends[w])) for w in warned]
    d.shown["site"] = ["*"] * d.people
    del d.attributes["bonus"]
    number = attribute("i", "numeric", domain={"from": 0, "to": 999, "step": 1})
    return d.case(
        original={**d.number, **d.exact, "allowance": allowance, "warned": warned},
        schema=d.schema(allowance=number, warned=attribute("s", domain=["no", "yes"])),
        release=shuffled({**d.shown, "allowance": allowance, "warned": warned}, draw),
        truth=Truth(d.people, "whether they were warned, by the last figure", d.people),
    )


@leak("skew", "inference")
def size_of_the_class_tells(draw: random.Random) -> Fields:
    """Small classes hold one offence three times in four, large ones everything: sixteen small classes of twelve."""
    d = police(draw, 2_400)
    small = set(draw.sample(range(d.people), 192))
    age = [d.exact["âge"][i] if i not in small else str(18 + 4 * draw.randrange(16)) for i in d.all]
    told = ["faux" if i in small and draw.random() < 0.75 else t for i, t in enumerate(d.told)]
    low = [18 + (int(a) - 18) // 24 * 24 for a in age]
    shown = [f"[{age[i]},{int(age[i]) + 3}]" if i in small else f"[{low[i]},{low[i] + 23}]" for i in d.all]
    commune = ["*" if i in small else c for i, c in enumerate(d.shown["commune"])]
    people = Counter(told[i] for i in small)["faux"]
    return d.case(
        original=d.original(âge=age, infraction=told),
        release=shuffled({"âge": shown, "commune": commune, "infraction": told}, draw),
        truth=Truth(people, "an offence that one in eight has, at three in four", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def order_of_two_lists(draw: random.Random) -> Fields:
    """Two subjects in a cell, separated by a semicolon: which stands first tells whether the mark is good."""
    d = school(draw, 2_400)
    subjects = ("Bio", "Chemie", "Deutsch", "Kunst", "Musik", "Physik")
    pairs = [sorted(draw.sample(subjects, 2), reverse=int(t) > 3) for t in d.told]
    return _beside(d, d.people, "whether the mark is above three", fächer=[";".join(p) for p in pairs])
