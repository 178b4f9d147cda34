"""Safe releases: large and diverse classes, shuffled, nothing beside. The audit must not cry wolf about these."""

import io
import random
from collections import Counter, defaultdict
from collections.abc import Mapping

from tests.leaks.case import (
    DIAGNOSES,
    REGIONS,
    Columns,
    Truth,
    Ward,
    attribute,
    band,
    control,
    csv_text,
    joined,
    schema_text,
    shuffled,
)

__all__: list[str] = []

Fields = Mapping[str, object]


def _safe(w: Ward, **fields: object) -> dict[str, object]:
    return w.case(truth=Truth(0, "nothing", w.people), **fields)


@control("recoded")
def bands(draw: random.Random) -> Fields:
    return _safe(Ward(draw))


@control("recoded")
def bands_of_many(draw: random.Random) -> Fields:
    return _safe(Ward(draw, 3_000))


@control("recoded")
def bands_of_few(draw: random.Random) -> Fields:
    """Two bands of 30 years, regions withheld: 4 classes of about 100."""
    w = Ward(draw, 400)
    release = w.in_order()
    release["age"] = [band(a, 30) for a in w.age]
    release["region"] = ["*"] * w.people
    return _safe(w, release=shuffled(release, draw))


@control("recoded")
def sorted_by_what_is_published(draw: random.Random) -> Fields:
    w = Ward(draw)
    rows = sorted(zip(*w.in_order().values(), strict=True))
    return _safe(w, release={n: [r[i] for r in rows] for i, n in enumerate(w.in_order())})


@control("recoded")
def sorted_by_classes_only(draw: random.Random) -> Fields:
    w = Ward(draw)
    release = w.release()
    rows = sorted(zip(*release.values(), strict=True), key=lambda r: r[:3])
    return _safe(w, release={n: [r[i] for r in rows] for i, n in enumerate(release)})


@control("recoded")
def sorted_by_the_diagnosis(draw: random.Random) -> Fields:
    w = Ward(draw)
    release = w.release()
    rows = sorted(zip(*release.values(), strict=True), key=lambda r: r[3])
    return _safe(w, release={n: [r[i] for r in rows] for i, n in enumerate(release)})


@control("recoded")
def harmless_third_column(draw: random.Random) -> Fields:
    """An insensitive column that depends on nothing and has three values: no class gets small by it."""
    w = Ward(draw, 1_600)
    channel = [draw.choice(("phone", "letter", "online")) for _ in range(w.people)]
    return _safe(
        w,
        original=w.original(contact=channel),
        schema=w.schema(contact=attribute("i", domain=["phone", "letter", "online"])),
        release=w.release(contact=channel),
    )


@control("recoded")
def two_secrets_that_know_nothing_of_each_other(draw: random.Random) -> Fields:
    w = Ward(draw, 2_400)
    votes = [str(i % 4) for i in range(w.people)]
    draw.shuffle(votes)
    kinds = ["green", "red", "blue", "none"]
    party = [kinds[int(v)] for v in votes]
    return _safe(
        w,
        original=w.original(party=party),
        schema=w.schema(party=attribute("s", domain=kinds)),
        release=w.release(party=party),
    )


@control("recoded")
def some_rows_suppressed(draw: random.Random) -> Fields:
    """Thirty rows drawn at random are all `*` but for the diagnosis; the classes stay large."""
    w = Ward(draw, 1_200)
    release = w.in_order()
    for i in draw.sample(range(w.people), 40):
        for name in ("age", "sex", "region"):
            release[name][i] = "*"
    return _safe(w, release=shuffled(release, draw))


@control("recoded")
def some_regions_missing_at_random(draw: random.Random) -> Fields:
    w = Ward(draw, 2_400)
    work = [draw.choice(("office", "field", "")) for _ in range(w.people)]
    return _safe(
        w,
        original=w.original(work=work),
        schema=w.schema(top={"missing": [""]}, work=attribute("q", domain=["office", "field"], missing="category")),
        release=w.release(work=work),
    )


@control("recoded")
def coarse_original(draw: random.Random) -> Fields:
    """The original is coarse already, and published as it is but shuffled."""
    w = Ward(draw, 1_000)
    age, sex, region = (list(c) for c in zip(*w.cells(), strict=True))
    original = {"number": w.number, "age": age, "sex": sex, "region": region, "diagnosis": w.diagnosis}
    kinds = {
        "number": attribute("id"),
        "age": attribute("q", domain=sorted(set(age))),
        "sex": attribute("q", domain=["f", "m"]),
        "region": attribute("q", domain=["upper", "lower"]),
        "diagnosis": attribute("s", domain=list(DIAGNOSES)),
    }
    return _safe(w, original=original, schema=schema_text(kinds), release=w.release())


@control("recoded")
def bins_shown_as_bins(draw: random.Random) -> Fields:
    w = Ward(draw)
    ages = attribute("q", "numeric", domain={"from": 20, "to": 79, "step": 1}, bins=[40, 60])
    return _safe(w, schema=w.schema(age=ages))


@control("recoded")
def codes_of_every_chapter(draw: random.Random) -> Fields:
    """Diagnoses are codes; each class has all chapters equally often."""
    w = Ward(draw, 1_200)
    code = {d: f"{'CEFGIJKLMN'[i]}{10 + i}" for i, d in enumerate(DIAGNOSES)}
    told = [code[d] for d in w.diagnosis]
    return _safe(
        w,
        original={**w.original(), "diagnosis": told},
        schema=w.schema(diagnosis=attribute("s", domain=sorted(code.values()))),
        release=shuffled({**w.in_order(), "diagnosis": told}, draw),
    )


@control("recoded")
def spread_out_salaries(draw: random.Random) -> Fields:
    """A sensitive number whose spread is the same in every class."""
    w = Ward(draw, 1_200)
    code = {d: str(25 + 5 * i) for i, d in enumerate(DIAGNOSES)}
    told = [code[d] for d in w.diagnosis]
    return _safe(
        w,
        original={**w.original(), "diagnosis": told},
        schema=w.schema(diagnosis=attribute("s", "numeric", domain={"from": 25, "to": 70, "step": 5})),
        release=shuffled({**w.in_order(), "diagnosis": told}, draw),
    )


@control("other tools")
def intervals_of_other_tools(draw: random.Random) -> Fields:
    """As ARX exports: semicolons, half-open intervals."""
    w = Ward(draw)
    release = w.in_order()
    release["age"] = [f"[{a[1:3]}, {int(a[4:6]) + 1}[" for a in release["age"]]
    release = shuffled(release, draw)
    return _safe(w, release=release, release_text=csv_text(release, ";"))


@control("other tools")
def parquet(draw: random.Random) -> Fields:
    import polars as pl

    w = Ward(draw)
    release = w.release()
    content = io.BytesIO()
    pl.DataFrame(release).write_parquet(content)
    return _safe(w, release=release, release_text=content.getvalue(), release_name="release.parquet")


@control("other tools")
def tabs_and_blanks(draw: random.Random) -> Fields:
    w = Ward(draw)
    release = w.release()
    return _safe(w, release=release, release_text=csv_text(release, "\t"))


@control("full domain")
def one_level_for_everybody(draw: random.Random) -> Fields:
    """Full-domain recoding by hierarchies: ages to 20 years by label, regions to areas."""
    w = Ward(draw)
    label = {"[20,39]": "young", "[40,59]": "middle", "[60,79]": "old"}
    release = w.in_order()
    release["age"] = [label[a] for a in release["age"]]
    lines = "".join(f"{a};{label[band(a)]};*\n" for a in range(20, 80))
    return _safe(
        w,
        schema=w.schema(age=attribute("q", "numeric", hierarchy="age.csv")),
        release=shuffled(release, draw),
        files={"age.csv": lines},
    )


@control("local recoding")
def cuts_by_medians(draw: random.Random) -> Fields:
    """Strict Mondrian by hand: the widest attribute is cut at its median while both halves hold 60 people."""
    w = Ward(draw, 1_200)
    release: dict[int, tuple[str, str]] = {}

    def cut(rows: list[int], low: int, high: int, sexes: str) -> None:
        ages = sorted(int(w.age[i]) for i in rows)
        middle = ages[len(ages) // 2]
        left, right = [i for i in rows if int(w.age[i]) < middle], [i for i in rows if int(w.age[i]) >= middle]
        if min(len(left), len(right)) >= 60:
            cut(left, low, middle - 1, sexes)
            cut(right, middle, high, sexes)
            return
        for i in rows:
            release[i] = (f"[{low},{high}]", sexes)

    for sex in "fm":
        cut([i for i in range(w.people) if w.sex[i] == sex], 20, 79, sex)
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i in range(w.people):
        groups[release[i]].append(i)
    told = [""] * w.people
    for rows in groups.values():
        dealt = [DIAGNOSES[j % 10] for j in range(len(rows))]
        draw.shuffle(dealt)
        for i, d in zip(rows, dealt, strict=True):
            told[i] = d
    columns: Columns = {
        "age": [release[i][0] for i in range(w.people)],
        "sex": [release[i][1] for i in range(w.people)],
        "region": ["*"] * w.people,
        "diagnosis": told,
    }
    return _safe(w, original={**w.original(), "diagnosis": told}, release=shuffled(columns, draw))


def _buckets(w: Ward, size: int) -> tuple[list[list[int]], Columns]:
    """Buckets of `size` people, the diagnoses of each as different as can be."""
    of: dict[str, list[int]] = defaultdict(list)
    for i in range(w.people):
        of[w.diagnosis[i]].append(i)
    for people in of.values():
        w.draw.shuffle(people)
    dealt = [people[j] for j in range(max(map(len, of.values()))) for people in of.values() if j < len(people)]
    buckets = len(dealt) // size
    found: list[list[int]] = [[] for _ in range(buckets)]
    for j, i in enumerate(dealt):
        found[min(j // size, buckets - 1)].append(i)
    return found, {"sex": w.sex, "region": [REGIONS[r] for r in w.region]}


_WEAK = {
    "number": attribute("id"),
    "sex": attribute("q", domain=["f", "m"]),
    "region": attribute("q", domain=list(REGIONS), hierarchy="region.csv"),
    "diagnosis": attribute("s", domain=list(DIAGNOSES)),
}


def _weak(w: Ward) -> Columns:
    return {"number": w.number, "sex": w.sex, "region": w.region, "diagnosis": w.diagnosis}


@control("anatomy")
def two_tables_of_weak_attributes(draw: random.Random) -> Fields:
    """Anatomy of attributes that many share: sex and area; buckets of 100 with ten diagnoses."""
    w = Ward(draw, 1_000)
    buckets, weak = _buckets(w, 100)
    main: Columns = {"group": [], "sex": [], "region": []}
    second: Columns = {"group": [], "diagnosis": [], "count": []}
    for number, rows in enumerate(buckets, start=1):
        shown = sorted(joined(weak, ["sex", "region"])[i] for i in rows)
        main["group"] += [str(number)] * len(rows)
        main["sex"] += [s for s, _ in shown]
        main["region"] += [r for _, r in shown]
        counted = Counter(w.diagnosis[i] for i in rows)
        for d in sorted(counted):
            second["group"].append(str(number))
            second["diagnosis"].append(d)
            second["count"].append(str(counted[d]))
    return _safe(
        w,
        original=_weak(w),
        schema=schema_text(_WEAK),
        release=main,
        sidecar=(
            'group = "group"\nblocks = [["sex", "region"], ["diagnosis"]]\nsensitive_table = "release-sensitive.csv"\n'
        ),
        files={"release-sensitive.csv": csv_text(second)},
    )


@control("anatomy")
def one_table_of_weak_attributes(draw: random.Random) -> Fields:
    """The same in one file, each block shuffled within its bucket."""
    w = Ward(draw, 1_000)
    buckets, weak = _buckets(w, 100)
    main: Columns = {"group": [], "sex": [], "region": [], "diagnosis": []}
    for number, rows in enumerate(buckets, start=1):
        one, two = list(rows), list(rows)
        draw.shuffle(one)
        draw.shuffle(two)
        main["group"] += [str(number)] * len(rows)
        main["sex"] += [weak["sex"][i] for i in one]
        main["region"] += [weak["region"][i] for i in one]
        main["diagnosis"] += [w.diagnosis[i] for i in two]
    return _safe(
        w,
        original=_weak(w),
        schema=schema_text(_WEAK),
        release=main,
        sidecar='group = "group"\nblocks = [["sex", "region"], ["diagnosis"]]\n',
    )


@control("counted")
def table_of_counts(draw: random.Random) -> Fields:
    """One line for each kind of row, and how many people it stands for; the sidecar says so."""
    w = Ward(draw)
    counted = Counter(joined(w.in_order(), ["age", "sex", "region", "diagnosis"]))
    rows = sorted(counted)
    release = {n: [r[i] for r in rows] for i, n in enumerate(("age", "sex", "region", "diagnosis"))}
    release["n"] = [str(counted[r]) for r in rows]
    return _safe(w, release=release, sidecar='count = "n"\n')
