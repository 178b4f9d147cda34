"""Leaks in the form of the file: order of rows, names of groups, spelling, what is missing, what is given back."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from tests.leaks.case import (
    DIAGNOSES,
    REGIONS,
    Columns,
    Truth,
    Ward,
    attribute,
    csv_text,
    determined,
    joined,
    leak,
    schema_text,
    shuffled,
)

__all__: list[str] = []

Fields = Mapping[str, object]


def sorted_by(columns: Columns, key: Callable[[int], object]) -> Columns:
    """The rows in the order of a key of their places."""
    order = sorted(range(len(next(iter(columns.values())))), key=key)  # type: ignore[arg-type]
    return {name: [values[i] for i in order] for name, values in columns.items()}


# --- the order of rows ------------------------------------------------------------------------------------------------


@leak("row order", "linking")
def order_of_the_original(draw: random.Random) -> Fields:
    w = Ward(draw)
    return w.case(release=w.in_order(), truth=Truth(w.people, "their row: it stands where they stand", w.people))


@leak("row order", "linking")
def order_of_the_original_backwards(draw: random.Random) -> Fields:
    w = Ward(draw)
    release = sorted_by(w.in_order(), lambda i: -i)
    return w.case(release=release, truth=Truth(w.people, "their row: it stands where they stand", w.people))


@leak("row order", "linking")
def two_thirds_in_the_order_of_the_original(draw: random.Random) -> Fields:
    w = Ward(draw)
    kept = sorted(draw.sample(range(w.people), w.people * 2 // 3))
    release = {name: [values[i] for i in kept] for name, values in w.in_order().items()}
    return w.case(release=release, truth=Truth(len(kept), "their row: it follows their neighbour's", len(kept)))


@leak("row order", "linking")
def sorted_by_patient_number(draw: random.Random) -> Fields:
    w = Ward(draw)
    release = sorted_by(w.in_order(), lambda i: w.number[i])
    return w.case(release=release, truth=Truth(w.people, "their row by the rank of their number", w.people))


@leak("row order", "linking")
def sorted_by_a_withheld_column(draw: random.Random) -> Fields:
    w = Ward(draw)
    pay = [str(v) for v in draw.sample(range(20_000, 90_000), w.people)]
    release = sorted_by(w.in_order(), lambda i: int(pay[i]))
    return w.case(
        original=w.original(income=pay),
        schema=w.schema(income=attribute("q", "numeric")),
        release=release,
        truth=Truth(w.people, "their row by the rank of their income", w.people),
    )


@leak("row order", "singling out")
def sorted_by_exact_age_under_bands(draw: random.Random) -> Fields:
    w = Ward(draw)
    release = sorted_by(w.in_order(), lambda i: (int(w.age[i]), i * 7919 % w.people))
    return w.case(release=release, truth=Truth(w.people, "their age to a year or so, withheld as a band", w.people))


@leak("row order", "linking")
def classes_together_but_inside_in_order(draw: random.Random) -> Fields:
    w = Ward(draw)
    cells = w.cells()
    release = sorted_by(w.in_order(), lambda i: (cells[i], i))
    return w.case(release=release, truth=Truth(w.people, "their row: the third of their class is the third", w.people))


@leak("row order", "linking")
def order_of_the_original_by_halves(draw: random.Random) -> Fields:
    w = Ward(draw)
    half = w.people // 2
    release = sorted_by(w.in_order(), lambda i: (i < half, i))
    return w.case(release=release, truth=Truth(w.people, "their row, in two runs", w.people))


@leak("row order", "linking")
def mostly_in_order(draw: random.Random) -> Fields:
    w = Ward(draw)
    release = sorted_by(w.in_order(), lambda i: i + 3 * ((i * 7919) % 5))
    return w.case(release=release, truth=Truth(w.people, "their row among the nearest dozen lines", w.people))


def _anatomy(w: Ward, size: int = 12) -> tuple[list[int], list[str]]:
    """Buckets of `size` people of as many different diagnoses as there are: (people in order, bucket)."""
    of: dict[str, list[int]] = defaultdict(list)
    for i in range(w.people):
        of[w.diagnosis[i]].append(i)
    for people in of.values():
        w.draw.shuffle(people)
    dealt = [people[j] for j in range(max(map(len, of.values()))) for people in of.values() if j < len(people)]
    buckets = len(dealt) // size
    return dealt, [str(min(j // size, buckets - 1) + 1) for j in range(len(dealt))]


@leak("blocks in pairs", "inference")
def anatomy_in_true_pairs(draw: random.Random) -> Fields:
    w = Ward(draw, 360)
    people, bucket = _anatomy(w)
    order = list(range(len(people)))
    draw.shuffle(order)
    order.sort(key=lambda j: int(bucket[j]))
    names = ("sex", "region", "diagnosis")
    source = {**w.original(), "region": [c[2] for c in w.cells()]}
    release = {"group": [bucket[j] for j in order], **{n: [source[n][people[j]] for j in order] for n in names}}
    return w.case(
        original={n: v for n, v in w.original().items() if n != "age"},
        schema=_without_age(w),
        release=release,
        sidecar='group = "group"\nblocks = [["sex", "region"], ["diagnosis"]]\n',
        truth=Truth(w.people, "the diagnosis beside their line", w.people),
    )


def _without_age(w: Ward, **more: Mapping[str, object]) -> str:
    return schema_text(
        {
            "number": attribute("id"),
            "sex": attribute("q", domain=["f", "m"]),
            "region": attribute("q", domain=list(REGIONS), hierarchy="region.csv"),
            "diagnosis": attribute("s", domain=list(DIAGNOSES)),
            **more,
        }
    )


@leak("blocks in pairs", "inference")
def three_slices_in_true_pairs(draw: random.Random) -> Fields:
    w = Ward(draw, 144)
    people, bucket = _anatomy(w)
    order = sorted(range(len(people)), key=lambda j: (int(bucket[j]), people[j]))
    release = {
        "group": [bucket[j] for j in order],
        "sex": [w.sex[people[j]] for j in order],
        "region": [w.region[people[j]] for j in order],
        "diagnosis": [w.diagnosis[people[j]] for j in order],
    }
    return w.case(
        original={n: v for n, v in w.original().items() if n != "age"},
        schema=_without_age(w),
        release=release,
        sidecar='group = "group"\nblocks = [["sex"], ["region"], ["diagnosis"]]\n',
        truth=Truth(w.people, "the diagnosis beside their line", w.people),
    )


@leak("blocks in pairs", "inference")
def buckets_sorted_by_the_secret(draw: random.Random) -> Fields:
    """The quasi-identifiers stand in the order of their owners' diagnoses; the second table is sorted, too."""
    w = Ward(draw, 360)
    people, bucket = _anatomy(w)
    order = sorted(range(len(people)), key=lambda j: (int(bucket[j]), w.diagnosis[people[j]], people[j]))
    release = {
        "group": [bucket[j] for j in order],
        "sex": [w.sex[people[j]] for j in order],
        "region": [w.region[people[j]] for j in order],
    }
    counted = Counter((bucket[j], w.diagnosis[people[j]]) for j in order)
    second = sorted(counted, key=lambda c: (int(c[0]), c[1]))
    table = {
        "group": [c[0] for c in second],
        "diagnosis": [c[1] for c in second],
        "count": [str(counted[c]) for c in second],
    }
    return w.case(
        original={n: v for n, v in w.original().items() if n != "age"},
        schema=_without_age(w),
        release=release,
        sidecar=(
            'group = "group"\nblocks = [["sex", "region"], ["diagnosis"]]\nsensitive_table = "release-sensitive.csv"\n'
        ),
        files={"release-sensitive.csv": csv_text(table)},
        truth=Truth(w.people, "the diagnosis by the place in the bucket", w.people),
    )


# --- names of groups --------------------------------------------------------------------------------------------------


def _grouped(w: Ward, label: Callable[[int], str], learned: str, people: int) -> dict[str, object]:
    """A table of classes with a column that names the group."""
    release = w.release(group=[label(i) for i in range(w.people)])
    return w.case(
        release=release,
        sidecar='group = "group"\nblocks = [["age", "sex", "region", "diagnosis"]]\n',
        truth=Truth(people, learned, w.people),
    )


@leak("group names", "singling out")
def group_is_the_exact_age(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _grouped(w, lambda i: w.age[i], "their exact age", w.people)


@leak("group names", "inference")
def group_holds_the_diagnosis(draw: random.Random) -> Fields:
    w = Ward(draw)
    label = [f"{w.sex[i]}-{DIAGNOSES.index(w.diagnosis[i]) // 2}" for i in range(w.people)]
    return _grouped(w, lambda i: label[i], "their diagnosis to one of two", w.people)


@leak("group names", "singling out")
def group_is_the_region(draw: random.Random) -> Fields:
    w = Ward(draw)
    cells = w.cells()
    return _grouped(w, lambda i: f"{w.region[i]}/{cells[i][0][1:3]}", "their region, which was withheld", w.people)


@leak("group names", "linking")
def group_is_a_case_number(draw: random.Random) -> Fields:
    w = Ward(draw)
    first: dict[tuple[str, ...], str] = {}
    for cell, number in zip(w.cells(), w.number, strict=True):
        first.setdefault(cell, number)
    cells = w.cells()
    return _grouped(w, lambda i: first[cells[i]], "the number of one patient of each class", len(first))


# --- spelling ---------------------------------------------------------------------------------------------------------


def _marked(
    w: Ward,
    column: str,
    mark: Callable[[str], str],
    secret: list[bool],
    *,
    schema: str | None = None,
    text: Callable[[Columns], str] | None = None,
    learned: str = "a second secret: who was treated for an addiction",
) -> dict[str, object]:
    release = w.in_order()
    release[column] = [mark(v) if s else v for v, s in zip(release[column], secret, strict=True)]
    release = shuffled(release, w.draw)
    flags = ["yes" if s else "no" for s in secret]
    fields = w.case(
        original=w.original(addiction=flags),
        schema=schema or w.schema(addiction=attribute("s", domain=["no", "yes"])),
        release=release,
        truth=Truth(sum(secret), learned, w.people),
    )
    if text is not None:
        fields["release_text"] = text(release)
    return fields


def _few(w: Ward, share: float = 0.1) -> list[bool]:
    chosen = set(w.draw.sample(range(w.people), int(share * w.people)))
    return [i in chosen for i in range(w.people)]


def _exact_ages(w: Ward) -> str:
    """A schema whose ages are the three that the file shows as numbers."""
    return w.schema(age=attribute("q", "numeric", domain=[30, 50, 70]), addiction=attribute("s", domain=["no", "yes"]))


@leak("spelling", "file")
def decimals_mark_some(draw: random.Random) -> Fields:
    w = Ward(draw)
    w.age = [str(int(a) // 20 * 20 + 10) for a in w.age]
    secret = _few(w)
    ages = [f"{a}.0" if s else a for a, s in zip(w.age, secret, strict=True)]
    release = shuffled({**w.in_order(), "age": ages}, draw)
    return w.case(
        original=w.original(addiction=["yes" if s else "no" for s in secret]),
        schema=_exact_ages(w),
        release=release,
        truth=Truth(sum(secret), "a second secret: who was treated for an addiction", w.people),
    )


@leak("spelling", "file")
def leading_zeros_mark_some(draw: random.Random) -> Fields:
    w = Ward(draw)
    w.age = [str(int(a) // 20 * 20 + 10) for a in w.age]
    secret = _few(w)
    ages = [f"0{a}" if s else a for a, s in zip(w.age, secret, strict=True)]
    release = shuffled({**w.in_order(), "age": ages}, draw)
    return w.case(
        original=w.original(addiction=["yes" if s else "no" for s in secret]),
        schema=_exact_ages(w),
        release=release,
        truth=Truth(sum(secret), "a second secret: who was treated for an addiction", w.people),
    )


@leak("spelling", "file")
def trailing_blanks_mark_some(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _marked(w, "sex", lambda v: v + " ", _few(w))


@leak("spelling", "file")
def leading_blanks_mark_some(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _marked(w, "diagnosis", lambda v: " " + v, _few(w))


@leak("spelling", "file")
def notation_marks_some(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _marked(w, "age", lambda v: v.strip("[]").replace(",", "-"), _few(w))


@leak("spelling", "file")
def blanks_in_intervals_mark_some(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _marked(w, "age", lambda v: v.replace(",", ", "), _few(w))


@leak("spelling", "file")
def quotes_mark_some(draw: random.Random) -> Fields:
    w = Ward(draw)
    secret = _few(w)
    rows = [
        (*cell, d, s)
        for cell, d, s in zip(((f'"{a}"', s, r) for a, s, r in w.cells()), w.diagnosis, secret, strict=True)
    ]
    draw.shuffle(rows)
    lines = ["age,sex,region,diagnosis"]
    lines += [f'{a},{x},{r},"{d}"' if s else f"{a},{x},{r},{d}" for a, x, r, d, s in rows]
    columns: Columns = {
        name: [row[i].strip('"') for row in rows] for i, name in enumerate(("age", "sex", "region", "diagnosis"))
    }
    return w.case(
        original=w.original(addiction=["yes" if s else "no" for s in secret]),
        schema=w.schema(addiction=attribute("s", domain=["no", "yes"])),
        release=columns,
        release_text="\n".join(lines) + "\n",
        truth=Truth(sum(secret), "a second secret: who was treated for an addiction", w.people),
    )


@leak("spelling", "file")
def line_ends_mark_some(draw: random.Random) -> Fields:
    w = Ward(draw)
    secret = _few(w)
    rows = [(*c, d, s) for c, d, s in zip(w.cells(), w.diagnosis, secret, strict=True)]
    draw.shuffle(rows)
    names = ("age", "sex", "region", "diagnosis")
    lines = [f'"{a}",{x},{r},{d}' + ("\r\n" if s else "\n") for a, x, r, d, s in rows]
    return w.case(
        original=w.original(addiction=["yes" if s else "no" for s in secret]),
        schema=w.schema(addiction=attribute("s", domain=["no", "yes"])),
        release={name: [row[i] for row in rows] for i, name in enumerate(names)},
        release_text=(",".join(names) + "\n" + "".join(lines)).encode(),
        truth=Truth(sum(secret), "a second secret: who was treated for an addiction", w.people),
    )


@leak("spelling", "file")
def capitals_mark_some(draw: random.Random) -> Fields:
    """The original came from two hospitals; one wrote capitals. It is the one for addictions."""
    w = Ward(draw)
    secret = _few(w)
    told = [d.capitalize() if s else d for d, s in zip(w.diagnosis, secret, strict=True)]
    return w.case(
        original={**w.original(), "diagnosis": told},
        schema=w.schema(diagnosis=attribute("s")),
        release=shuffled({**w.in_order(), "diagnosis": told}, draw),
        truth=Truth(sum(secret), "which hospital they were in", w.people),
    )


@leak("spelling", "file")
def spelling_of_stars_marks_some(draw: random.Random) -> Fields:
    w = Ward(draw)
    secret = _few(w, 0.3)
    release = w.in_order()
    hidden = _few(w, 0.3)
    release["region"] = [
        ("**" if s else "*") if h else v for v, s, h in zip(release["region"], secret, hidden, strict=True)
    ]
    return w.case(
        original=w.original(addiction=["yes" if s else "no" for s in secret]),
        schema=w.schema(addiction=attribute("s", domain=["no", "yes"])),
        release=shuffled(release, draw),
        truth=Truth(sum(s and h for s, h in zip(secret, hidden, strict=True)), "a second secret", w.people),
    )


# --- what is missing --------------------------------------------------------------------------------------------------


def _withheld(w: Ward, column: str, where: Callable[[int], bool], learned: str) -> dict[str, object]:
    """A column whose cells are withheld for some people."""
    release = w.in_order()
    gone = [where(i) for i in range(w.people)]
    release[column] = ["*" if g else v for v, g in zip(release[column], gone, strict=True)]
    return w.case(release=shuffled(release, w.draw), truth=Truth(sum(gone), learned, w.people))


@leak("missingness", "inference")
def work_missing_for_one_diagnosis(draw: random.Random) -> Fields:
    w = Ward(draw)
    work = [draw.choice(("office", "field", "home")) for _ in range(w.people)]
    shown = ["" if d == "diabetes" else v for v, d in zip(work, w.diagnosis, strict=True)]
    return w.case(
        original=w.original(work=work),
        schema=w.schema(top={"missing": [""]}, work=attribute("i", missing="category")),
        release=w.release(work=shown),
        truth=Truth(w.diagnosis.count("diabetes"), "their diagnosis: the only one with empty cells", w.people),
    )


@leak("missingness", "inference")
def rare_diagnosis_withheld(draw: random.Random) -> Fields:
    w = Ward(draw)
    # One diagnosis alone is replaced by `*`: whoever is suppressed has it.
    rare = {i for i in range(w.people) if w.diagnosis[i] == "jaundice"}
    return _withheld(w, "diagnosis", lambda i: i in rare, "their diagnosis: the only one that is never shown")


@leak("missingness", "inference")
def rows_withheld_for_one_diagnosis(draw: random.Random) -> Fields:
    w = Ward(draw)
    release = w.in_order()
    sick = [d == "gout" for d in w.diagnosis]
    kept = {name: [v for v, s in zip(values, sick, strict=True) if not s] for name, values in release.items()}
    return w.case(
        release=shuffled(kept, draw),
        truth=Truth(sum(sick), "their diagnosis: they are in the original and have no row", w.people),
    )


@leak("missingness", "inference")
def two_tokens_for_missing(draw: random.Random) -> Fields:
    w = Ward(draw)
    work = [draw.choice(("office", "field", "home", "")) for _ in range(w.people)]
    shown = [("?" if d in DIAGNOSES[:3] else "") if v == "" else v for v, d in zip(work, w.diagnosis, strict=True)]
    told = sum(v == "?" for v in shown)
    return w.case(
        original=w.original(work=work),
        schema=w.schema(top={"missing": ["", "?"]}, work=attribute("q", missing="category")),
        release=w.release(work=shown),
        truth=Truth(told, "their diagnosis to one of three, by how the blank is written", w.people),
    )


@leak("missingness", "inference")
def suppressed_ages_of_one_diagnosis(draw: random.Random) -> Fields:
    w = Ward(draw)
    return _withheld(w, "age", lambda i: w.diagnosis[i] == "hernia", "their diagnosis: the only one without an age")


# --- what is given back -----------------------------------------------------------------------------------------------


@leak("suppressed cells given back", "singling out")
def education_number_beside_education(draw: random.Random) -> Fields:
    w = Ward(draw)
    levels = ["none", "primary", "middle", "secondary", "college", "bachelor", "master", "doctor"]
    held = [draw.randrange(8) for _ in range(w.people)]
    shown = [levels[v] if 1 <= v <= 4 else "*" for v in held]
    numbers = [str(v + 1) for v in held]
    hidden = sum(s == "*" for s in shown)
    return w.case(
        original=w.original(education=[levels[v] for v in held], schooling=numbers),
        schema=w.schema(education=attribute("q", domain=levels), schooling=attribute("i", "numeric")),
        release=w.release(education=shown, schooling=numbers),
        truth=Truth(hidden, "their education, which was suppressed", w.people),
    )


@leak("suppressed cells given back", "singling out")
def town_beside_its_postcode(draw: random.Random) -> Fields:
    w = Ward(draw)
    towns = ["Au", "Berg", "Calw", "Dorf", "Esch", "Forst"]
    held = [draw.randrange(6) for _ in range(w.people)]
    shown = ["*" if draw.random() < 0.4 else towns[v] for v in held]
    codes = [str(70_000 + 11 * v) for v in held]
    return w.case(
        original=w.original(town=[towns[v] for v in held], code=codes),
        schema=w.schema(town=attribute("q", domain=towns), code=attribute("i")),
        release=w.release(town=shown, code=codes),
        truth=Truth(sum(s == "*" for s in shown), "their town, which was suppressed", w.people),
    )


@leak("suppressed cells given back", "inference")
def sum_gives_the_secret_back(draw: random.Random) -> Fields:
    w = Ward(draw, 360)
    wage = [draw.randrange(1, 13) for _ in range(w.people)]
    rent = [draw.randrange(1, 60) for _ in range(w.people)]
    total = [str(a + b) for a, b in zip(wage, rent, strict=True)]
    shown = ["*" if draw.random() < 0.1 else str(a) for a in wage]
    money = {"from": 1, "to": 12, "step": 1}
    return w.case(
        original=w.original(wage=[str(v) for v in wage], rent=[str(v) for v in rent], total=total),
        schema=w.schema(
            wage=attribute("s", "numeric", domain=money),
            rent=attribute("i", "numeric"),
            total=attribute("i", "numeric"),
        ),
        release=w.release(wage=shown, rent=[str(v) for v in rent], total=total),
        truth=Truth(sum(s == "*" for s in shown), "the wage that was suppressed: the total less the rent", w.people),
    )


@leak("suppressed cells given back", "singling out")
def year_gives_the_age_back(draw: random.Random) -> Fields:
    w = Ward(draw)
    decade = [str(int(a) // 10 * 10) for a in w.age]
    release = w.in_order(generation=[f"G{int(d) // 10}" for d in decade])
    return w.case(
        original=w.original(generation=[f"G{int(d) // 10}" for d in decade]),
        schema=w.schema(generation=attribute("i")),
        release=shuffled(release, draw),
        truth=Truth(
            determined(joined(release, ["generation"]), decade), "their age to ten years, not twenty", w.people
        ),
    )
