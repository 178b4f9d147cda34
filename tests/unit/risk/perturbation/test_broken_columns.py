"""Files that look honest and are not, small tables among them: noticed, and read as what they are or not judged."""

from collections.abc import Callable
from datetime import date

import numpy as np
import pytest

from one_round import run_attack, run_audit
from small import QI, SENSITIVE, made_schema, made_table
from unveil.attackers.random_worlds import RandomWorlds
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release, row_numbers
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.risk import global_threat
from unveil.risk.perturbation import read_perturbed

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 99, "step": 1}},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "town": {"role": QI, "domain": [f"t{i}" for i in range(6)]},
        "day": {"role": QI, "kind": "date", "domain": {"from": date(2020, 1, 1), "to": date(2020, 12, 31)}},
        "disease": {"role": SENSITIVE, "domain": [f"d{i}" for i in range(6)]},
    }
)
AGE, SEX, TOWN, DAY, DISEASE = range(5)
Codes = np.ndarray
DOMAIN = {AGE: 100, SEX: 2, TOWN: 6, DAY: 366, DISEASE: 6}


def people(rows: int, seed: int) -> list[Codes]:
    random = np.random.default_rng(seed)
    share = [0.4, 0.2, 0.15, 0.1, 0.1, 0.05]
    age = np.clip(random.normal(45, 17, rows).round(), 0, 99).astype(np.int64)
    others = random.integers(0, 2, rows), random.choice(6, rows, p=share), random.integers(0, 366, rows)
    return [age, *others, random.choice(6, rows, p=share)]


def table_of(codes: list[Codes]) -> Table:
    first = date(2020, 1, 1).toordinal()
    days = [date.fromordinal(first + int(d)) for d in codes[DAY]]
    return made_table(
        SCHEMA,
        *[
            (a, "fm"[s], f"t{t}", d, f"d{i}")
            for a, s, t, d, i in zip(codes[AGE], codes[SEX], codes[TOWN], days, codes[DISEASE], strict=True)
        ],
    )


def released(
    table: Table, codes: list[Codes], withheld: tuple[int, ...] = (DAY,), blank: Codes | None = None
) -> Release:
    """What is shown, believed; some columns withheld, and of the town some cells."""
    regions, cells = [], []
    for i, column in enumerate(codes):
        size = DOMAIN[i]
        regions.append(Regions.sets(size, [*([c] for c in range(size)), list(range(size))]))
        cell = np.full(len(column), size) if i in withheld else column.astype(np.int64)
        cells.append(np.where(blank, size, cell) if i == TOWN and blank is not None else cell)
    group = row_numbers(cells[:DISEASE])
    return build_release(table.attributes, regions, [BlockRows(tuple(range(5)), group, tuple(cells))])[0]


def right(release: Release, table: Table) -> float:
    """How many diseases somebody guesses who counts rows."""
    targets = targets_of_table(table, release, DISEASE)
    found = run_attack(release, targets, {"counting": RandomWorlds()}, lenient=True)
    return float(global_threat(found.attackers["counting"], table.columns[DISEASE]).value)


def _classes(codes: list[Codes], value: Callable[[Codes], float]) -> Codes:
    kind = np.unique(codes[AGE] // 10 * 2 + codes[SEX], return_inverse=True)[1]
    return np.array([value(codes[AGE][kind == k]) for k in range(kind.max() + 1)])[kind].round().astype(np.int64)


def _neighbours(age: Codes, size: int) -> Codes:
    shown = np.empty_like(age)
    for some in np.array_split(np.argsort(age, kind="stable"), len(age) // size):
        shown[some] = np.round(age[some].mean())
    return shown


def _swapped(age: Codes, random: np.random.Generator) -> Codes:
    shown, order = age.copy(), np.argsort(age, kind="stable")
    for i in range(0, len(age) - 8, 2):
        pair = [order[i], order[i + int(random.integers(3, 8))]]
        shown[pair] = shown[pair[::-1]]
    return shown


def _noisy(age: Codes, spread: float, random: np.random.Generator) -> Codes:
    return np.clip(np.round(age + random.normal(0, spread, len(age))), 0, 99).astype(np.int64)


AGES = {
    "mean of a class": lambda c, r: _classes(c, np.mean),
    "mean of a class, rounded to 5": lambda c, r: _classes(c, lambda x: 5 * round(np.mean(x) / 5)),
    "median of a class": lambda c, r: _classes(c, np.median),
    "mode of a class": lambda c, r: _classes(c, lambda x: np.bincount(x).argmax()),
    "mean of three neighbours": lambda c, r: _neighbours(c[AGE], 3),
    "noise of 2, rounded": lambda c, r: _noisy(c[AGE], 2.0, r),
    "noise of .7, rounded": lambda c, r: _noisy(c[AGE], 0.7, r),
    "three years older": lambda c, r: np.minimum(c[AGE] + 3, 99),
    "ranks swapped": lambda c, r: _swapped(c[AGE], r),
    "top and bottom codes": lambda c, r: np.clip(c[AGE], 20, 70),
    "rounded to 5": lambda c, r: np.minimum(5 * np.round(c[AGE] / 5), 99).astype(np.int64),
    "first year of the decade": lambda c, r: c[AGE] // 10 * 10,
    "number of the decade": lambda c, r: c[AGE] // 10 + 1,
    "number of the decade, in another order": lambda c, r: r.permutation(10)[c[AGE] // 10] + 1,
    "shuffled": lambda c, r: r.permutation(c[AGE]),
}


@pytest.mark.parametrize("rows", [200, 2000])
@pytest.mark.parametrize("name", AGES)
def test_a_changed_age_is_noticed(name: str, rows: int) -> None:
    codes = people(rows, seed=1)
    table = table_of(codes)
    shown = [AGES[name](codes, np.random.default_rng(7)), *codes[1:]]
    believed = released(table, shown)
    reading = read_perturbed(believed, table)
    (column,) = reading.columns
    assert column.attribute == "age"
    if column.words:  # as much as the file with honest bands would show; a mean of few neighbours tells a little more
        honest = released(table, codes)
        assert right(believed, table) - 0.01 < right(reading.release, table) <= right(honest, table)


@pytest.mark.parametrize("rows", [200, 2000])
@pytest.mark.parametrize("days", ["all moved by a week", "each moved by up to ten days"])
def test_moved_dates_are_noticed(days: str, rows: int) -> None:
    codes, random = people(rows, seed=2), np.random.default_rng(5)
    moved = np.full(rows, 7) if days.startswith("all") else random.integers(-10, 11, rows)
    shown = [*codes[:DAY], np.clip(codes[DAY] + moved, 0, 365), codes[DISEASE]]
    table = table_of(codes)
    (column,) = read_perturbed(released(table, shown, withheld=()), table).columns
    assert column.attribute == "day"


@pytest.mark.parametrize("rows", [200, 2000])
@pytest.mark.parametrize("how", ["renumbered", "changed by chance", "changed by chance, some withheld"])
def test_changed_towns_are_noticed(how: str, rows: int) -> None:
    codes, random = people(rows, seed=3), np.random.default_rng(4)
    blank = random.random(rows) < 0.1 if "withheld" in how else None
    if how == "renumbered":
        town = np.array([3, 0, 1, 5, 2, 4])[codes[TOWN]]
    else:
        town = np.where(random.random(rows) < 0.3, random.integers(0, 6, rows), codes[TOWN])
    table = table_of(codes)
    release = released(table, [codes[AGE], codes[SEX], town, codes[DAY], codes[DISEASE]], blank=blank)
    (column,) = read_perturbed(release, table).columns
    assert column.attribute == "town"


@pytest.mark.parametrize("how", ["shuffled", "changed by chance"])
def test_sensitive_values_that_are_nobodys_are_noticed_and_not_judged(how: str) -> None:
    codes, random = people(200, seed=5), np.random.default_rng(6)
    changed = random.permutation(200) if how == "shuffled" else np.arange(200)
    disease = codes[DISEASE][changed]
    if how != "shuffled":
        disease = np.where(random.random(200) < 0.3, random.integers(0, 6, 200), disease)
    table = table_of(codes)
    release = released(table, [*codes[:DISEASE], disease])
    (column,) = read_perturbed(release, table).columns
    assert (column.attribute, column.words) == ("disease", "")
    found = run_audit({"r": release}, original=table, engine=Engine(seed=0, workers=1), panel=False).document
    kinds = {(k["kind"], k.get("attribute")): k["verdict"] for k in found.diagnostics["judgement"]["r"]["kinds"]}
    assert kinds["inference", "disease"] in ("not judged", "exceeded")
    assert any("disease does not show true values" in text for text in found.diagnostics["remarks"])


@pytest.mark.parametrize("rows", [40, 200, 2000])
def test_a_file_that_holds_the_truth_is_believed(rows: int) -> None:
    codes = people(rows, seed=9)
    table = table_of(codes)
    for withheld in ((DAY,), (), (AGE, DAY)):
        assert read_perturbed(released(table, codes, withheld), table).columns == ()
