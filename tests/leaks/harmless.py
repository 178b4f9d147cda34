"""Safe releases of other domains, each written before any check was run on it; secrets fall as they fall."""

import random
from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta

from tests.leaks.case import Truth, attribute, control, csv_text, joined, shuffled
from tests.leaks.domains import Domain, census, payroll, police, school

__all__: list[str] = []

Fields = Mapping[str, object]


def _safe(d: Domain, **fields: object) -> Fields:
    return d.case(truth=Truth(0, "nothing", d.people), **fields)


@control("recoded")
def school_of_nine_hundred(draw: random.Random) -> Fields:
    return _safe(school(draw))


@control("recoded")
def bonuses_of_any_size(draw: random.Random) -> Fields:
    """A secret of nearly two thousand values that depends on nothing."""
    return _safe(payroll(draw))


@control("recoded")
def offences_in_french(draw: random.Random) -> Fields:
    d = police(draw)
    release = d.release()
    return _safe(d, release=release, release_text=csv_text(release, ";"))


@control("recoded")
def census_of_five_thousand(draw: random.Random) -> Fields:
    return _safe(census(draw, 5_000))


@control("recoded")
def month_of_the_interview(draw: random.Random) -> Fields:
    """An insensitive column of twelve values, the rows sorted by it."""
    d = census(draw, 5_000)
    d.shown["county"] = ["*"] * d.people
    d.shown["born"] = [
        f"[{1925 if int(b) < 1965 else 1965},{1964 if int(b) < 1965 else 2004}]" for b in d.exact["born"]
    ]
    month = [f"{draw.randrange(1, 13):02d}" for _ in d.all]
    release = d.release(month=month)
    order = sorted(range(d.people), key=lambda i: release["month"][i])
    return _safe(
        d,
        original=d.original(month=month),
        schema=d.schema(month=attribute("i", domain=[f"{m:02d}" for m in range(1, 13)])),
        release={n: [v[i] for i in order] for n, v in release.items()},
    )


@control("recoded")
def secret_that_mildly_depends(draw: random.Random) -> Fields:
    """Older people fail a little more often, as anybody may know: 30% instead of 20%."""
    d = census(draw, 3_000)
    told = ["yes" if draw.random() < (0.3 if int(b) < 1965 else 0.2) else "no" for b in d.exact["born"]]
    return _safe(
        d,
        original=d.original(faith=told),
        schema=d.schema(faith=attribute("s", domain=["yes", "no"])),
        release=shuffled({**d.in_order(), "faith": told}, draw),
    )


@control("recoded")
def weight_of_the_shown_stratum(draw: random.Random) -> Fields:
    """A weight that follows from what is shown anyway."""
    d = payroll(draw, 1_600)
    weight = ["1.5" if c[1] == "Spain" else "2.5" for c in d.cells()]
    return _safe(
        d,
        original=d.original(w=weight),
        schema=d.schema(w=attribute("i", "numeric", domain={"from": 1, "to": 3, "step": 0.5})),
        release=d.release(w=weight),
    )


@control("recoded")
def half_of_the_people(draw: random.Random) -> Fields:
    """A random half is published; everybody fits some row."""
    d = police(draw, 2_400)
    release = {n: v[: d.people // 2] for n, v in d.release().items()}
    return _safe(d, release=release)


@control("recoded")
def sexes_withheld_at_random(draw: random.Random) -> Fields:
    d = school(draw, 1_800)
    shown = ["*" if draw.random() < 0.2 else s for s in d.shown["geschlecht"]]
    return _safe(d, release=d.release(geschlecht=shown))


@control("recoded")
def years_of_dates(draw: random.Random) -> Fields:
    """Days of hiring as spans of seven years."""
    d = payroll(draw, 2_400)
    d.shown["grade"] = ["*"] * d.people
    hired = [date(2000, 1, 1) + timedelta(days=draw.randrange(365 * 14)) for _ in d.all]
    shown = ["[2000-01-01,2006-12-31]" if h.year < 2007 else "[2007-01-01,2013-12-31]" for h in hired]
    return _safe(
        d,
        original=d.original(hired=[h.isoformat() for h in hired]),
        schema=d.schema(hired=attribute("q", "date", domain="={ from = 2000-01-01, to = 2013-12-31, step = 1 }")),
        release=d.release(hired=shown),
    )


@control("counted")
def counts_of_offences(draw: random.Random) -> Fields:
    d = police(draw, 2_000)
    counted = Counter(joined(d.in_order(), ["âge", "commune", "infraction"]))
    rows = sorted(counted)
    release = {n: [r[i] for r in rows] for i, n in enumerate(("âge", "commune", "infraction"))}
    release["effectif"] = [str(counted[r]) for r in rows]
    return _safe(d, release=release, sidecar='count = "effectif"\n')


@control("recoded")
def two_sorted_columns(draw: random.Random) -> Fields:
    """Sorted by the secret, then by what is shown."""
    d = police(draw)
    release = d.release()  # shuffled first: sorting keeps the order of rows that are alike
    rows = sorted(zip(*release.values(), strict=True), key=lambda r: (r[2], r[0]))
    return _safe(d, release={n: [r[i] for r in rows] for i, n in enumerate(release)})
