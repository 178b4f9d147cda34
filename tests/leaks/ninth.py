"""A ninth blind trial, after the changes of the eighth. Written and committed before its first run."""

import io
import random
from collections.abc import Mapping

import numpy as np

from tests.leaks.case import Columns, Truth, attribute, csv_text, determined, leak, shuffled
from tests.leaks.domains import Domain, census, payroll, police, school

__all__: list[str] = []

Fields = Mapping[str, object]
INSENSITIVE = attribute("i")
YES_OR_NO = attribute("s", domain=["no", "yes"])


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


@leak("row order", "singling out")
def by_the_sum_of_two_hidden_numbers(draw: random.Random) -> Fields:
    """Sorted by the points that the payroll gives: three for a grade, and the number of the site."""
    d = payroll(draw, 2_400)
    sites = sorted(set(d.exact["site"]))
    order = sorted(d.all, key=lambda i: (3 * int(d.exact["grade"][i]) + sites.index(d.exact["site"][i]), draw.random()))
    return d.case(release=_rows(d.in_order(), order), truth=Truth(d.people, "their grade, nearly", d.people))


@leak("row order", "linking")
def shuffled_with_the_date_as_seed(draw: random.Random) -> Fields:
    """Shuffled with the day of the release as the seed, 20240131."""
    d = census(draw, 2_400)
    order = np.random.default_rng(20240131).permutation(d.people).tolist()
    return d.case(release=_rows(d.in_order(), order), truth=Truth(d.people, "their row, by trying dates", d.people))


@leak("row order", "linking")
def turned_within_each_class(draw: random.Random) -> Fields:
    """Sorted by what is shown; within a class in the order of the list, but beginning anywhere."""
    d = census(draw, 3_000)
    classes: dict[tuple[str, ...], list[int]] = {}
    for i, cell in enumerate(d.cells()):
        classes.setdefault(cell, []).append(i)
    order = []
    for cell in sorted(classes):
        start = draw.randrange(len(classes[cell]))
        order += classes[cell][start:] + classes[cell][:start]
    return d.case(release=_rows(d.in_order(), order), truth=Truth(d.people, "their row, nearly", d.people))


@leak("row order", "singling out")
def dealt_to_six_counties(draw: random.Random) -> Fields:
    """Six clerks, one for each county, wrote a line in turn; of the county the area alone is shown."""
    d = census(draw, 3_000)
    counties = sorted(set(d.exact["county"]))
    area = dict(zip(d.exact["county"], d.shown["county"], strict=True))
    d.exact["county"] = [counties[i % 6] for i in d.all]
    d.shown["county"] = [area[c] for c in d.exact["county"]]
    piles = [[i for i in d.all if i % 6 == k] for k in draw.sample(range(6), 6)]
    for pile in piles:
        draw.shuffle(pile)
    order = [i for turn in zip(*piles, strict=True) for i in turn]
    return d.case(release=_rows(d.in_order(), order), truth=Truth(d.people, "their county", d.people))


@leak("spelling", "inference")
def empty_cells_in_quotes(draw: random.Random) -> Fields:
    """A question that most leave open: nothing between the commas, but two quotes for those who were warned."""
    d = school(draw, 2_400)
    hobby = [draw.choice(("Sport", "Musik")) if draw.random() < 0.3 else "" for _ in d.all]
    warned = [not h and draw.random() < 0.15 for h in hobby]
    rows = d.release(hobby=["@" if w else h for w, h in zip(warned, hobby, strict=True)])
    text = csv_text(rows).replace("@", '""')
    return d.case(
        original=d.original(hobby=hobby),
        schema=d.schema(hobby=INSENSITIVE),
        release={**rows, "hobby": [h.replace("@", "") for h in rows["hobby"]]},
        release_text=text,
        truth=Truth(sum(warned), "that they were warned", d.people),
    )


def _book(columns: Columns, sheet_name: str, title: str) -> bytes:
    import xlsxwriter

    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    if title:
        book.set_properties({"title": title})
    sheet = book.add_worksheet(sheet_name)
    for j, (name, values) in enumerate(columns.items()):
        sheet.write_string(0, j, name)
        for i, value in enumerate(values):
            sheet.write_string(i + 1, j, value)
    book.close()
    return content.getvalue()


@leak("membership", "membership")
def title_of_the_workbook(draw: random.Random) -> Fields:
    """The properties of the workbook have a title, which says what these people are treated for."""
    d = census(draw, 2_000)
    rows = d.release()
    return d.case(
        release=rows,
        release_text=_book(rows, "release", "Schizophrenia outpatients, all wards"),
        release_name="release.xlsx",
        truth=Truth(d.people, "what they are treated for", d.people),
    )


@leak("membership", "membership")
def sheet_named_after_the_ward(draw: random.Random) -> Fields:
    """The sheet is called after the ward for dialysis."""
    d = census(draw, 2_000)
    rows = d.release()
    return d.case(
        release=rows,
        release_text=_book(rows, "Dialyse", ""),
        release_name="release.xlsx",
        truth=Truth(d.people, "what they are treated for", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def a_pair_that_leaves_two_of_twelve(draw: random.Random) -> Fields:
    """Eight days and eight counters, of which each pair has fifty people; at four pairs only two of twelve benefits."""
    d = census(draw, 3_200)
    d.shown["county"] = ["*"] * d.people
    names = [f"benefit {c}" for c in "ABCDEFGHIJKL"]
    day, counter = ([str(i % 8) for i in d.all], [str(i // 8 % 8) for i in d.all])
    few = {("0", "3"), ("2", "5"), ("5", "1"), ("7", "7")}
    told = [draw.choice(names[4:6] if pair in few else names) for pair in zip(day, counter, strict=True)]
    d.attributes.pop("faith")
    d.secret = {"benefit": told}
    return d.case(
        original=d.original(day=day, counter=counter),
        schema=d.schema(benefit=attribute("s", domain=names), day=INSENSITIVE, counter=INSENSITIVE),
        release=d.release(day=day, counter=counter),
        truth=Truth(sum(p in few for p in zip(day, counter, strict=True)), "one of two of twelve", d.people),
    )


@leak("close numbers", "inference")
def secrets_in_windows_of_their_own(draw: random.Random) -> Fields:
    """Bonuses are shown as the exact one, less and plus 2,000: the middle of the span is the bonus."""
    d = payroll(draw, 2_000)
    bonus = [str(draw.randrange(2_000, 18_000)) for _ in d.all]
    d.secret["bonus"] = bonus
    shown = [f"[{int(b) - 2_000},{int(b) + 1_999}]" for b in bonus]
    return d.case(
        release=shuffled({**d.shown, "bonus": shown}, draw),
        truth=Truth(d.people, "their exact bonus", d.people),
    )


@leak("insensitive tells sensitive", "inference")
def sum_of_the_figures(draw: random.Random) -> Fields:
    """A number of the form, of three figures that add up to the mark, or ten or twenty more."""
    d = school(draw, 3_000)
    d.shown["kurs"] = ["*"] * d.people
    numbers = {n: [x for x in range(100, 1_000) if sum(map(int, str(x))) % 10 == n] for n in range(1, 7)}
    form = [str(draw.choice(numbers[int(n)])) for n in d.told]
    return _beside(d, determined([sum(map(int, f)) % 10 for f in form], d.told), "their mark", formular=form)


@leak("insensitive tells quasi-identifier", "singling out")
def letter_in_the_middle(draw: random.Random) -> Fields:
    """A code of five letters, the third of which stands for the commune."""
    d = police(draw, 3_000)
    communes = sorted(set(d.exact["commune"]))
    code = [
        f"{draw.choice('XY')}{draw.choice('XYZ')}{'ABCDEFGHIJKL'[communes.index(c)]}{draw.choice('XYZ')}{draw.choice('XY')}"
        for c in d.exact["commune"]
    ]
    return _beside(d, d.people, "their commune", code=code)


@leak("masked", "inference")
def rounded_up_for_the_warned(draw: random.Random) -> Fields:
    """Hours are rounded to fives: down, but up for those who were warned."""
    d = payroll(draw, 3_000)
    hours = [draw.randrange(100, 200) for _ in d.all]
    warned = [draw.random() < 0.3 and h % 5 > 0 for h in hours]
    shown = [str(h // 5 * 5 + 5 * w) for h, w in zip(hours, warned, strict=True)]
    d.attributes.pop("bonus")
    d.secret = {"leave": [draw.choice(("no", "yes")) for _ in d.all]}
    role = attribute("i", "numeric", domain={"from": 100, "to": 205, "step": 1})
    return d.case(
        original=d.original(hours=[str(h) for h in hours], warned=["yes" if w else "no" for w in warned]),
        schema=d.schema(hours=role, warned=YES_OR_NO, leave=YES_OR_NO),
        release=d.release(hours=shown),
        truth=Truth(sum(h % 5 > 0 for h in hours), "whether they were warned, to who knows the hours", d.people),
    )


@leak("cells that mark", "singling out")
def exact_county_for_the_older(draw: random.Random) -> Fields:
    """The county is shown exactly of those born in the first half of their span of years, else the area."""
    d = census(draw, 4_000)
    first = [(int(b) - 1925) % 20 < 10 for b in d.exact["born"]]
    d.shown["county"] = [d.exact["county"][i] if first[i] else d.shown["county"][i] for i in d.all]
    return d.case(truth=Truth(d.people, "their year of birth to ten years", d.people))
