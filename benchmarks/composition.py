"""Two releases of the same people read together: CPU time against the number of people."""

from collections.abc import Iterator
from resource import RUSAGE_SELF, getrusage

import numpy as np

from benchmarks import Row
from benchmarks._growth import memory
from benchmarks._timing import best_cpu
from unveil.catalog import anonymizer
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.risk.composition import ReleaseView, weave

SIZES = {"age": 74, "work": 7, "education": 16, "marital": 7, "race": 5, "sex": 2, "country": 41, "zip": 200}
VALUES = 14
PEOPLE = (30_162, 301_620, 3_016_200)


def measure() -> Iterator[Row]:
    """Two Anatomy releases, and two Mondrian releases of which one leaves out a column; ten times the people."""
    for scheme in ("anatomy:l=4", "mondrian:k=5,l=3"):
        each = []
        for people in PEOPLE:
            views = _views(_table(people), scheme)
            runs = [_spent(views) for _ in range(3 if people < PEOPLE[-1] else 1)]
            user, system, rounds = min(runs)
            each.append(user)
            note = f"{rounds} rounds, {system:.2f} s of it for memory; {memory('VmHWM') / 1e9:.1f} GB at most"
            floor = "<= 10" if people == PEOPLE[0] else ""
            yield Row(f"two {scheme}, {people:,} people", user + system, unit="s CPU", floor=floor, note=note)
        for larger, people in enumerate(PEOPLE[1:], start=1):
            linear = each[larger] / each[0] / (people / PEOPLE[0])
            name = f"two {scheme}: growth over linear, {people / PEOPLE[0]:,.0f} times the people"
            yield Row(name, linear, unit="times", floor="<= 1.25", note="user CPU; fewer people fit into the cache")

    five = _views(_table(PEOPLE[0]), "anatomy:l=4", 5)
    spent_on_five = best_cpu(lambda: weave(five, VALUES).beliefs(), 1)
    yield Row(f"five anatomy:l=4, {PEOPLE[0]:,} people", spent_on_five, unit="s CPU", floor="<= 10")


def _spent(views: list[ReleaseView]) -> tuple[float, float, int]:
    """Seconds of user and of system CPU, and rounds."""
    before = getrusage(RUSAGE_SELF)
    found = weave(views, VALUES).beliefs()
    after = getrusage(RUSAGE_SELF)
    return after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, found.rounds


def _table(people: int) -> Table:
    random = np.random.default_rng(0)
    known = [
        Attribute(name, Role.QUASI_IDENTIFIER, Kind.ORDINAL, tuple(map(str, range(size))))
        for name, size in SIZES.items()
    ]
    secret = Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, tuple(map(str, range(VALUES))))
    columns = [random.integers(0, a.codes, (2, people)).min(axis=0).astype(a.dtype) for a in known]
    value = (columns[0] // 8 + columns[2] + random.integers(0, 8, people)) % VALUES
    return Table((*known, secret), (*columns, value.astype(secret.dtype)))


def _views(table: Table, scheme: str, releases: int = 2) -> list[ReleaseView]:
    fewer = table if scheme.startswith("anatomy") else Table(table.attributes[1:], table.columns[1:])
    views = []
    for seed, one in enumerate((table, *[fewer] * (releases - 1))):
        release = anonymizer(scheme).anonymize(one, Engine(seed=seed)).release
        views.append(ReleaseView(str(seed), release, targets_of_table(one, release, release.index("s"))))
    return views
