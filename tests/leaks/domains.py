"""Other people than the ward's: a school, a payroll, police files, a census; other languages, sizes and secrets.

Each domain's safe release shows coarse cells in classes of many people, shuffled; the secret depends on nothing.
"""

import random
from collections.abc import Mapping

from tests.leaks.case import Columns, attribute, joined, schema_text, shuffled

__all__ = ["Domain", "census", "insurance", "payroll", "police", "school", "travellers"]


class Domain:
    """People with an identifier, quasi-identifiers (as they are, and as they are shown) and a secret."""

    def __init__(
        self,
        draw: random.Random,
        number: Columns,
        exact: Columns,
        shown: Columns,
        secret: Columns,
        attributes: Mapping[str, Mapping[str, object]],
        files: Mapping[str, str] | None = None,
    ) -> None:
        self.draw, self.number, self.exact, self.secret = draw, number, exact, secret
        self.shown = {n: list(v) for n, v in shown.items()}
        self.attributes, self.files = dict(attributes), dict(files or {})
        self.people = len(next(iter(exact.values())))
        self.all = range(self.people)

    @property
    def id(self) -> list[str]:
        """Everybody's identifier."""
        return next(iter(self.number.values()))

    @property
    def told(self) -> list[str]:
        """Everybody's secret."""
        return next(iter(self.secret.values()))

    def cells(self) -> list[tuple[str, ...]]:
        """What is shown of each person's quasi-identifiers."""
        return joined(self.shown, list(self.shown))

    def original(self, **more: list[str]) -> Columns:
        """The original, with further columns or others in their place."""
        return {**self.number, **self.exact, **self.secret, **more}

    def in_order(self, **more: list[str]) -> Columns:
        """The safe release, but in the original's order."""
        return {**{n: list(v) for n, v in {**self.shown, **self.secret}.items()}, **more}

    def release(self, **more: list[str]) -> Columns:
        """The safe release."""
        return shuffled(self.in_order(**more), self.draw)

    def schema(self, top: Mapping[str, object] | None = None, **more: Mapping[str, object]) -> str:
        """The schema."""
        return schema_text({**self.attributes, **more}, **(top or {}))

    def case(self, **fields: object) -> dict[str, object]:
        """The fields of a case: those of the safe release, and what is different."""
        files = {**self.files, **fields.pop("files", {})}  # type: ignore[dict-item]
        found = {"original": self.original(), "schema": self.schema(), "release": None, **fields, "files": files}
        return found if found["release"] is not None else {**found, "release": self.release()}


def _spans(values: list[str], width: int, start: int) -> list[str]:
    low = [start + (int(v) - start) // width * width for v in values]
    return [f"[{a},{a + width - 1}]" for a in low]


def school(draw: random.Random, people: int = 900) -> Domain:
    """German pupils: years of birth in fours, courses in two streams; a mark from 1 to 6."""
    courses = {c: ("Oberstufe" if c in "ABC" else "Mittelstufe") for c in "ABCDEF"}
    year = [str(draw.randrange(2000, 2012)) for _ in range(people)]
    course = [draw.choice("ABCDEF") for _ in range(people)]
    sex = [draw.choice(("w", "m")) for _ in range(people)]
    return Domain(
        draw,
        {"matrikel": [str(v) for v in draw.sample(range(2_000_000, 9_000_000), people)]},
        {"geburtsjahr": year, "kurs": course, "geschlecht": sex},
        {"geburtsjahr": _spans(year, 4, 2000), "kurs": [courses[c] for c in course], "geschlecht": sex},
        {"note": [str(draw.randrange(1, 7)) for _ in range(people)]},
        {
            "matrikel": attribute("id"),
            "geburtsjahr": attribute("q", "numeric", domain={"from": 2000, "to": 2011, "step": 1}),
            "kurs": attribute("q", domain=list("ABCDEF"), hierarchy="kurs.csv"),
            "geschlecht": attribute("q", domain=["m", "w"]),
            "note": attribute("s", domain=list("123456")),
        },
        {"kurs.csv": "".join(f"{c};{stream};*\n" for c, stream in courses.items())},
    )


def payroll(draw: random.Random, people: int = 2_000) -> Domain:
    """Employees: grades in fives, eight sites in two countries, contracts; a bonus of any number of euros."""
    sites = {
        s: ("Ireland" if i < 4 else "Spain")
        for i, s in enumerate(("Cork", "Dublin", "Galway", "Sligo", "Cadiz", "Elche", "Gijon", "Vigo"))
    }
    grade = [str(draw.randrange(1, 16)) for _ in range(people)]
    site = [draw.choice(tuple(sites)) for _ in range(people)]
    contract = [draw.choice(("full", "part")) for _ in range(people)]
    return Domain(
        draw,
        {"badge": [f"E{v:06d}" for v in draw.sample(range(1_000_000), people)]},
        {"grade": grade, "site": site, "contract": contract},
        {"grade": _spans(grade, 5, 1), "site": [sites[s] for s in site], "contract": contract},
        {"bonus": [str(draw.randrange(0, 20_000)) for _ in range(people)]},
        {
            "badge": attribute("id"),
            "grade": attribute("q", "numeric", domain={"from": 1, "to": 15, "step": 1}),
            "site": attribute("q", domain=list(sites), hierarchy="site.csv"),
            "contract": attribute("q", domain=["full", "part"]),
            "bonus": attribute("s", "numeric", domain={"from": 0, "to": 19_999, "step": 1}),
        },
        {"site.csv": "".join(f"{s};{country};*\n" for s, country in sites.items())},
    )


OFFENCES = ("vol", "fraude", "recel", "outrage", "faux", "menaces", "dégradation", "conduite")


def police(draw: random.Random, people: int = 1_500) -> Domain:
    """French police files: ages in 24 years, twelve communes in three districts; eight offences."""
    communes = {f"C{i:02d}": f"arrondissement {1 + i // 4}" for i in range(12)}
    age = [str(draw.randrange(18, 90)) for _ in range(people)]
    commune = [draw.choice(tuple(communes)) for _ in range(people)]
    return Domain(
        draw,
        {"dossier": [f"{draw.randrange(10, 24)}/{v:05d}" for v in draw.sample(range(100_000), people)]},
        {"âge": age, "commune": commune},
        {"âge": _spans(age, 24, 18), "commune": [communes[c] for c in commune]},
        {"infraction": [draw.choice(OFFENCES) for _ in range(people)]},
        {
            "dossier": attribute("id"),
            "âge": attribute("q", "numeric", domain={"from": 18, "to": 89, "step": 1}),
            "commune": attribute("q", domain=list(communes), hierarchy="commune.csv"),
            "infraction": attribute("s", domain=list(OFFENCES)),
        },
        {"commune.csv": "".join(f"{c};{a};*\n" for c, a in communes.items())},
    )


FAITHS = ("alpha", "beta", "gamma", "delta", "none")


def census(draw: random.Random, people: int = 3_000) -> Domain:
    """A census: years of birth in twenties, six counties as three, marital status; a faith."""
    counties = {
        f"{c}shire": f"{'North' if i < 2 else 'Mid' if i < 4 else 'South'}"
        for i, c in enumerate(("Ox", "Berk", "Derby", "Lanca", "York", "Hamp"))
    }
    born = [str(draw.randrange(1925, 2005)) for _ in range(people)]
    county = [draw.choice(tuple(counties)) for _ in range(people)]
    status = [draw.choice(("single", "married")) for _ in range(people)]
    return Domain(
        draw,
        {"persid": [str(v) for v in draw.sample(range(10**8, 10**9), people)]},
        {"born": born, "county": county, "status": status},
        {"born": _spans(born, 20, 1925), "county": [counties[c] for c in county], "status": status},
        {"faith": [draw.choice(FAITHS) for _ in range(people)]},
        {
            "persid": attribute("id"),
            "born": attribute("q", "numeric", domain={"from": 1925, "to": 2004, "step": 1}),
            "county": attribute("q", domain=list(counties), hierarchy="county.csv"),
            "status": attribute("q", domain=["single", "married"]),
            "faith": attribute("s", domain=list(FAITHS)),
        },
        {"county.csv": "".join(f"{c};{area};*\n" for c, area in counties.items())},
    )


def insurance(draw: random.Random, people: int = 1_600) -> Domain:
    """A German insurer: years of birth in twenties, eight agencies in two directorates, a tariff; a kind of claim."""
    agencies = {
        a: ("Nord" if i < 4 else "Süd")
        for i, a in enumerate(("Kiel", "Emden", "Celle", "Jever", "Ulm", "Hof", "Isny", "Wörth"))
    }
    born = [str(draw.randrange(1940, 2000)) for _ in range(people)]
    agency = [draw.choice(tuple(agencies)) for _ in range(people)]
    tariff = [draw.choice(("Basis", "Komfort")) for _ in range(people)]
    return Domain(
        draw,
        {"vertrag": [f"V{v:07d}" for v in draw.sample(range(10**7), people)]},
        {"geboren": born, "agentur": agency, "tarif": tariff},
        {"geboren": _spans(born, 20, 1940), "agentur": [agencies[a] for a in agency], "tarif": tariff},
        {"leistung": [draw.choice(CLAIMS) for _ in range(people)]},
        {
            "vertrag": attribute("id"),
            "geboren": attribute("q", "numeric", domain={"from": 1940, "to": 1999, "step": 1}),
            "agentur": attribute("q", domain=list(agencies), hierarchy="agentur.csv"),
            "tarif": attribute("q", domain=["Basis", "Komfort"]),
            "leistung": attribute("s", domain=list(CLAIMS)),
        },
        {"agentur.csv": "".join(f"{a};{d};*\n" for a, d in agencies.items())},
    )


CLAIMS = ("Zahnersatz", "Brille", "Kur", "Rollstuhl", "Massage", "Impfung", "Hörgerät", "Einlagen")


def travellers(draw: random.Random, people: int = 1_600) -> Domain:
    """A panel on mobility: ages in thirties, nine zones on a ring in three sectors; the purpose of a trip at night."""
    zones = {f"Z{i}": f"sector {'ABC'[i // 3]}" for i in range(9)}
    age = [str(draw.randrange(18, 78)) for _ in range(people)]
    zone = [draw.choice(tuple(zones)) for _ in range(people)]
    licence = [draw.choice(("yes", "no")) for _ in range(people)]
    return Domain(
        draw,
        {"device": [f"{v:08x}" for v in draw.sample(range(16**8), people)]},
        {"age": age, "zone": zone, "licence": licence},
        {"age": _spans(age, 30, 18), "zone": [zones[z] for z in zone], "licence": licence},
        {"purpose": [draw.choice(PURPOSES) for _ in range(people)]},
        {
            "device": attribute("id"),
            "age": attribute("q", "numeric", domain={"from": 18, "to": 77, "step": 1}),
            "zone": attribute("q", domain=list(zones), hierarchy="zone.csv"),
            "licence": attribute("q", domain=["no", "yes"]),
            "purpose": attribute("s", domain=list(PURPOSES)),
        },
        {"zone.csv": "".join(f"{z};{s};*\n" for z, s in zones.items())},
    )


PURPOSES = ("visit", "work", "club", "clinic", "church", "casino", "sport", "unknown")
