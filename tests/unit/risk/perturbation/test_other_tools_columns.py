"""Files as other tools write them, nothing says what was done: noticed, and no less risk than honest bands."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from one_round import run_attack, run_audit
from small import QI, SENSITIVE, made_schema
from thorough import chosen
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit import Audit
from unveil.audit.case import Case
from unveil.audit.perturbed import case_as_read
from unveil.data.attribute import Role
from unveil.data.release import Release
from unveil.data.rows import rows_of
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import ReleaseError, UsageError
from unveil.formats.releases import read_release_rows
from unveil.formats.releases.published import Sidecar
from unveil.risk.perturbation.channels import with_channels

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric"},
        "pay": {"role": QI, "kind": "numeric"},
        "day": {"role": QI, "kind": "date"},
        "sex": {"role": QI},
        "town": {"role": QI},
        "ill": {"role": SENSITIVE},
    }
)
N = 600
Columns = Mapping[str, np.ndarray]


def people() -> dict[str, np.ndarray]:
    random = np.random.default_rng(11)
    age = np.clip(random.gamma(6, 8, N).astype(int) + 15, 16, 95)
    town = random.choice(["north", "south", "east", "west", "centre"], N, p=[0.35, 0.25, 0.2, 0.15, 0.05])
    ill = np.where(
        random.random(N) < age / 110, random.choice(["heart", "sugar"], N), random.choice(["flu", "none"], N)
    )
    return {
        "age": age,
        "pay": (20 * np.exp(random.normal(5, 0.4, N) + age / 200)).astype(int) * 5,
        "day": np.array([np.datetime64("2021-01-01") + int(d) for d in random.integers(0, 200, N)]).astype(str),
        "sex": random.choice(["f", "m"], N),
        "town": town,
        "ill": ill,
    }


PEOPLE = people()
RANDOM = np.random.default_rng(3)


def text(columns: Columns) -> dict[str, list[str]]:
    return {name: list(map(str, column.tolist())) for name, column in columns.items()}


TABLE = Table.from_columns(SCHEMA, text(PEOPLE))


def by_class(of: Callable[[np.ndarray], float], digits: int) -> np.ndarray:
    """One value a class of age in tens, sex and town, as ARX microaggregates."""
    key = np.unique(
        np.stack([(PEOPLE["age"] // 10).astype(str), PEOPLE["sex"], PEOPLE["town"]]), axis=1, return_inverse=True
    )
    found = np.zeros(N)
    for one in range(int(key[1].max()) + 1):
        inside = key[1].ravel() == one
        found[inside] = of(PEOPLE["age"][inside])
    return np.round(found, digits) if digits else np.round(found).astype(int)


def most_frequent(values: np.ndarray) -> float:
    return float(np.bincount(values).argmax())


def runs(name: str, size: int) -> np.ndarray:
    """Means of so many neighbours in order, as univariate microaggregation has it."""
    order, found = np.argsort(PEOPLE[name], kind="stable"), np.zeros(N)
    for start in range(0, N, size):
        found[order[start : start + size]] = PEOPLE[name][order[start : start + size]].mean()
    return found


def swapped(name: str, within: int) -> np.ndarray:
    order, found = np.argsort(PEOPLE[name], kind="stable"), PEOPLE[name].copy()
    for start in range(0, N, within):
        some = order[start : start + within]
        found[some] = PEOPLE[name][RANDOM.permutation(some)]
    return found


def noise(name: str, amount: float) -> np.ndarray:
    return PEOPLE[name] + RANDOM.normal(0, amount * PEOPLE[name].std(), N)


def moved_days() -> np.ndarray:
    moved = RANDOM.integers(-10, 11, N)
    return np.array([np.datetime64(d) + int(m) for d, m in zip(PEOPLE["day"], moved, strict=True)]).astype(str)


def pram() -> np.ndarray:
    return np.where(RANDOM.random(N) < 0.3, RANDOM.permutation(PEOPLE["town"]), PEOPLE["town"])


def topped() -> np.ndarray:
    age = PEOPLE["age"].astype(float)
    return np.where(age >= 75, age[age >= 75].mean(), np.where(age < 27, age[age < 27].mean(), age)).round(2)


def tens() -> np.ndarray:
    low = PEOPLE["age"] // 10 * 10
    return np.array([f"{a}-{a + 9}" for a in low])


HIDDEN = {"pay": np.full(N, "*"), "day": np.full(N, "*")}
NUMBERS = {name: str(number) for number, name in enumerate(["west", "east", "centre", "south", "north"], start=1)}
MADE: dict[str, dict[str, np.ndarray]] = {
    "mean of a class": {**HIDDEN, "age": by_class(np.mean, 3)},
    "mean of a class, rounded": {**HIDDEN, "age": by_class(np.mean, 0)},
    "median of a class": {**HIDDEN, "age": by_class(np.median, 1)},
    "mode of a class": {**HIDDEN, "age": by_class(most_frequent, 0)},
    "codes of bands": {**HIDDEN, "age": PEOPLE["age"] // 10 - 1},
    "means of neighbours": {**HIDDEN, "age": runs("age", 8)},
    "noise": {**HIDDEN, "age": noise("age", 0.1)},
    "rounded noise": {**HIDDEN, "age": noise("age", 0.1).round().astype(int)},
    "ranks swapped": {**HIDDEN, "age": swapped("age", 40)},
    "top and bottom": {**HIDDEN, "age": topped()},
    "PRAM": {**HIDDEN, "age": tens(), "town": pram()},
    "codes of towns": {**HIDDEN, "age": tens(), "town": np.array([NUMBERS[t] for t in PEOPLE["town"]])},
    "days moved": {"pay": HIDDEN["pay"], "age": tens(), "day": moved_days()},
    "two columns, noise": {"day": HIDDEN["day"], "age": noise("age", 0.1), "pay": noise("pay", 0.1)},
    "two columns, means": {"day": HIDDEN["day"], "age": runs("age", 8), "pay": runs("pay", 8)},
    "two columns, one PRAM": {**HIDDEN, "age": by_class(np.mean, 2), "town": pram()},
}
CHANGED = {
    "PRAM": {"town"},
    "codes of towns": {"town"},
    "days moved": {"day"},
    "two columns, one PRAM": {"age", "town"},
}


def read(changed: Columns) -> tuple[Release, np.ndarray]:
    columns = text({**PEOPLE, **changed})
    return read_release_rows(pl.DataFrame(columns), SCHEMA, attributes=TABLE.attributes)


def audited(release: Release, group: np.ndarray | None) -> Audit:
    told = {} if group is None else {"r": group}
    options = {"original": TABLE, "assignments": told, "attackers": {"counting": RandomWorlds()}}
    return run_audit({"r": release}, **options, engine=Engine(seed=0, workers=1))


def guessed(found: Audit) -> float:
    return next(float(f.value or 0) for f in found.document.findings if f.id == "counting.global_threat")


@pytest.fixture(scope="module")
def honest() -> float:
    """Ages in tens, nothing else but sex and town."""
    return guessed(audited(read({**HIDDEN, "age": tens()})[0], None))


@pytest.mark.parametrize("name", MADE)
def test_it_is_noticed_and_shows_no_less_than_honest_bands(name: str, honest: float) -> None:
    release, group = read(MADE[name])
    expected = CHANGED.get(name, {"age", "pay"} if name.startswith("two") else {"age"})
    for told in (None, group):
        case = Case(releases={"r": release}, original=TABLE, assignments={} if told is None else {"r": told})
        noticed = {column.attribute for column in case_as_read(case, "r")[1]}
        assert noticed == expected, told is not None
        found = audited(release, told)
        towns = 0.85 if name in ("PRAM", "two columns, one PRAM") else 1.0  # a third of the towns is not known any more
        assert guessed(found) >= towns * honest - 0.02, told is not None
        assert found.document.diagnostics["verdict"] != "within" or told is not None


# ------------------------------------------------------------- mixtures, with what somebody honest would have published

NOBODY = {"pay": np.full(N, "*"), "day": np.full(N, "*")}


def bands(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.array([f"{a}-{b}" for a, b in zip(low.tolist(), high.tolist(), strict=True)])


def mdav(columns: Columns, size: int) -> np.ndarray:
    """(people,) groups of so many who are near each other, as sdcMicro and ARX microaggregate."""
    place = np.stack([(PEOPLE[n] - PEOPLE[n].mean()) / PEOPLE[n].std() for n in columns], axis=1)
    left, group, number = np.arange(N), np.zeros(N, dtype=int), 0
    while len(left) >= 2 * size:
        far = left[((place[left] - place[left].mean(axis=0)) ** 2).sum(axis=1).argmax()]
        near = left[np.argsort(((place[left] - place[far]) ** 2).sum(axis=1), kind="stable")[:size]]
        group[near], left, number = number, np.setdiff1d(left, near), number + 1
    group[left] = number
    return group


def within(name: str, group: np.ndarray, of: Callable[[np.ndarray], float]) -> np.ndarray:
    return np.array([of(PEOPLE[name][group == g]) for g in range(group.max() + 1)])[group]


def exchanged(column: np.ndarray, share: float, inside: np.ndarray | None = None) -> np.ndarray:
    """Values exchanged among some rows, and inside a column's values, if one is given."""
    found, some = column.copy(), RANDOM.random(N) < share
    for one in np.unique(inside) if inside is not None else [None]:
        rows = np.flatnonzero(some if inside is None else some & (inside == one))
        found[rows] = column[RANDOM.permutation(rows)]
    return found


def pair_of_towns() -> np.ndarray:
    sets = {"north": "{north, south}", "south": "{north, south}", "centre": "{centre}"}
    return np.array([sets.get(town, "{east, west}") for town in PEOPLE["town"]])


def mixtures() -> dict[str, tuple[Columns, Columns, set[str]]]:
    """What is shown, what somebody honest would show of the same, and the columns that are not true."""
    age, pay, sex, town = (PEOPLE[n] for n in ("age", "pay", "sex", "town"))
    near, hidden = mdav(("age", "pay"), 3), RANDOM.random((2, N)) < 0.04
    withheld = {"age": np.where(hidden[0], "*", tens()), "sex": np.where(hidden[1], "*", sex)}
    group = np.unique(np.stack([(age // 20).astype(str), sex, town]), axis=1, return_inverse=True)[1].ravel()
    shown = {"age": within("age", group, np.mean).round().astype(int), "pay": within("pay", group, np.mean).round()}
    kept, twenties = np.bincount(group)[group] >= 10, bands(age // 20 * 20, age // 20 * 20 + 19)
    suppressed = {n: np.where(kept, c.astype(str), "*") for n, c in {**shown, "sex": sex, "town": town}.items()}
    fives = np.argsort(np.argsort(age, kind="stable")) // 5
    ends = bands(within("age", fives, np.min), within("age", fives, np.max))
    tenth = np.searchsorted(np.quantile(pay, np.arange(0.1, 1, 0.1)), pay)
    secrets = exchanged(PEOPLE["ill"], 0.2)
    codes = {"town": np.array([NUMBERS[t] for t in town])}
    hundreds = bands(within("pay", tenth, np.min), within("pay", tenth, np.max))
    return {
        "sdcMicro: recoded, suppressed, MDAV, PRAM": (
            {**NOBODY, **withheld, "pay": within("pay", near, np.mean), "town": exchanged(town, 0.2)},
            {**NOBODY, **withheld, "pay": bands(within("pay", near, np.min), within("pay", near, np.max)),
             "town": np.full(N, "*")},
            {"pay", "town"},
        ),
        "ARX: two columns of class means, suppressed rows": (
            {**NOBODY, **suppressed},
            {**NOBODY, **suppressed, "age": np.where(kept, twenties, "*"), "pay": np.full(N, "*")},
            {"age", "pay"},
        ),
        "pandas: rounded, jittered, codes": (
            {**NOBODY, **codes, "age": age.round(-1), "pay": (pay * (1 + RANDOM.normal(0, 0.05, N))).round(2)},
            {**NOBODY, "age": bands(age.round(-1) - 5, age.round(-1) + 5)},
            {"age", "pay", "town"},
        ),
        "pandas: medians of tenths, first of the month": (
            {"pay": within("pay", tenth, np.median), "day": np.array([d[:8] + "01" for d in PEOPLE["day"]])},
            {"pay": hundreds, "day": np.full(N, "*")},
            {"pay", "day"},
        ),
        "clipped, ranks and secrets exchanged": (
            {**NOBODY, "age": age.clip(25, 75), "pay": swapped("pay", 30), "ill": secrets},
            {**NOBODY, "age": np.where(age > 75, "75-95", np.where(age < 25, "16-25", age.astype(str))),
             "ill": secrets},
            {"age", "pay", "ill"},
        ),
        "means of five, codes": (
            {**NOBODY, **codes, "age": within("age", fives, np.mean).round(1)},
            {**NOBODY, "age": ends},
            {"age", "town"},
        ),
        "PRAM of bands": ({**NOBODY, "age": exchanged(tens(), 0.2)}, {**NOBODY, "age": twenties}, {"age"}),
        "PRAM of sets": (
            {**NOBODY, "age": tens(), "town": exchanged(pair_of_towns(), 0.2)},
            {**NOBODY, "age": tens(), "town": np.full(N, "*")},
            {"town"},
        ),
        "sexes exchanged within towns": (
            {**NOBODY, "age": tens(), "sex": exchanged(sex, 0.16, town)},
            {**NOBODY, "age": tens(), "sex": np.full(N, "*")},
            {"sex"},
        ),
        "codes of ages and towns, PRAM": (
            {**NOBODY, **codes, "age": age // 10 - 1, "sex": exchanged(sex, 0.2)},
            {**NOBODY, "age": tens(), "sex": np.full(N, "*")},
            {"age", "town", "sex"},
        ),
    }  # fmt: skip


MIXTURES = mixtures()


SLOW = ("clipped, ranks and secrets exchanged", "pandas: rounded, jittered, codes")


@pytest.mark.parametrize("name", chosen([*MIXTURES], [name for name in MIXTURES if name not in SLOW]))
def test_a_mixture_shows_no_less_than_what_somebody_honest_would_have_published(name: str) -> None:
    shown, honest, changed = MIXTURES[name]
    release, group = read(shown)
    least = guessed(audited(read(honest)[0], None))
    for told in (None, group):
        case = Case(releases={"r": release}, original=TABLE, assignments={} if told is None else {"r": told})
        assert {column.attribute for column in case_as_read(case, "r")[1]} == changed, told is not None
        found = audited(release, told)
        assert guessed(found) >= least - 0.01, told is not None
        assert found.document.diagnostics["verdict"] != "within"


def test_names_that_were_exchanged_are_no_numbers_of_bands() -> None:
    """Beside suppressed rows, one town never shown: names have no order in which they could be bands."""
    kept = PEOPLE["town"] != "centre"
    towns = np.where(kept, exchanged(PEOPLE["town"], 0.2, kept), "*")
    shown = {"age": np.where(kept, tens(), "*"), "sex": np.where(kept, PEOPLE["sex"], "*"), "town": towns}
    release, group = read({**NOBODY, **shown})
    for told in (None, group):
        case = Case(releases={"r": release}, original=TABLE, assignments={} if told is None else {"r": told})
        assert [(c.attribute, c.words) for c in case_as_read(case, "r")[1]] == [("town", "")], told is not None


def test_known_pairs_say_which_column_is_false() -> None:
    """Exchanged among people who are alike in all else: the pigeonhole says nothing, the pairs do."""
    sexes = exchanged(PEOPLE["sex"], 0.1, np.char.add(PEOPLE["town"], PEOPLE["ill"]))
    release, group = read({**NOBODY, "age": np.full(N, "*"), "sex": sexes})
    case = Case(releases={"r": release}, original=TABLE)
    assert case_as_read(case, "r")[1] == ()
    noticed = case_as_read(replace(case, assignments={"r": group}), "r")[1]
    assert [column.attribute for column in noticed] == ["sex"]


def test_a_wrong_assignment_is_not_taken_for_perturbed_columns() -> None:
    release, group = read({**NOBODY, "age": tens()})
    wrong = RANDOM.permutation(group)
    assert case_as_read(Case(releases={"r": release}, original=TABLE, assignments={"r": wrong}), "r")[1] == ()
    with pytest.raises(UsageError, match="does not fit its group"):
        audited(release, wrong)


# --------------------------------------------------------------------------------------------------------- hidden links

ANATOMY = ("age", "pay", "day", "sex", "town"), ("ill",)
SLICED = ("age", "ill"), ("pay", "day", "sex", "town")
HIDDEN_LINKS = {
    "bands, Anatomy": ("PRAM of bands", ANATOMY, {"age"}),
    "sets, Anatomy": ("PRAM of sets", ANATOMY, {"town"}),
    "bands, slicing": ("PRAM of bands", SLICED, {"age"}),
    "sets, slicing": ("PRAM of sets", SLICED, {"town"}),
}


def hidden(changed: Columns, blocks: tuple[tuple[str, ...], ...]) -> tuple[Release, np.ndarray]:
    """The same four by four, in an order that tells nothing; and the group of each of the people."""
    group = np.argsort(np.random.default_rng(1).permutation(N)) // 4
    frame = pl.DataFrame({"class": [f"{g:03d}" for g in group], **text({**PEOPLE, **changed})})
    sidecar = Sidecar(group="class", blocks=blocks)
    return read_release_rows(frame, SCHEMA, attributes=TABLE.attributes, sidecar=sidecar)


def learned(case: Case) -> float:
    """What somebody believes of each true illness, as logarithms, who learns from a release as it has to be read."""
    release = with_channels(case.releases["r"], TABLE, case.assignments.get("r"))[0]
    asked = release.with_role(Role.SENSITIVE)[0]
    found = run_attack(release, targets_of_table(TABLE, release, asked), {}, left_out=False).learner
    truth = TABLE.columns[TABLE.index("ill")]
    return float(np.log(np.maximum(found.probability[np.arange(N), truth], 1e-9)).mean())


@pytest.mark.parametrize("name", chosen([*HIDDEN_LINKS], ["bands, Anatomy"]))
def test_false_bands_and_sets_are_not_taken_for_withheld_where_links_are_hidden(name: str) -> None:
    which, blocks, changed = HIDDEN_LINKS[name]
    shown, honest, _ = MIXTURES[which]
    release, group = hidden(shown, blocks)
    given = Case(releases={"r": release}, original=TABLE)
    least = learned(Case(releases={"r": hidden(honest, blocks)[0]}, original=TABLE))
    paired, columns = case_as_read(replace(given, assignments={"r": group}), "r")
    assert {column.attribute: column.paired for column in columns} == dict.fromkeys(changed, True)
    assert learned(paired) >= least - 0.005
    unpaired, columns = case_as_read(given, "r")
    if name != "sets, slicing":  # which are exchanged among people of both sexes: nothing proves it
        assert [(column.words, column.paired) for column in columns] == [("", False)]
        assert learned(unpaired) >= least - 0.005


@pytest.mark.parametrize("name", ["PRAM of bands", "PRAM of sets"])
def test_bands_and_sets_that_are_said_to_be_perturbed_are_read_as_those_that_are_noticed(name: str) -> None:
    shown, _, (changed,) = MIXTURES[name]
    case = Case(releases={"r": read(shown)[0]}, original=TABLE)
    noticed = rows_of(case_as_read(case, "r")[0].releases["r"])
    sidecar, chances = Sidecar(masked=(changed,)), Sidecar(masked=(changed,), channel={changed: ((1.0,),)})
    frame = pl.DataFrame(text({**PEOPLE, **shown}))
    said = read_release_rows(frame, SCHEMA, attributes=TABLE.attributes, sidecar=sidecar)[0]
    stated = rows_of(case_as_read(replace(case, releases={"r": said}), "r")[0].releases["r"])
    assert (stated.masked, stated.wide.keys(), stated.noticed) == (noticed.masked, noticed.wide.keys(), frozenset())
    place = stated.masked[0]
    assert stated.attributes[place].name == changed
    assert np.array_equal(*(np.sort(rows.columns[place]) for rows in (stated, noticed)))
    with pytest.raises(ReleaseError, match="holds single values where its chances are stated"):
        read_release_rows(frame, SCHEMA, attributes=TABLE.attributes, sidecar=chances)
