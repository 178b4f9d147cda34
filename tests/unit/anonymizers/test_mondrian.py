"""Mondrian: cuts by hand, every kind of requirement counted anew, and requirements that cannot be met."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from small import QI, SENSITIVE, made_schema, made_table
from unveil.anonymizers.mondrian import Mondrian
from unveil.data.release import Anonymized, Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, UsageError
from unveil.formats.cells import write_cells
from unveil.privacy.models import (
    AlphaK,
    DeltaDisclosure,
    DeltaPresence,
    DistinctL,
    EntropyL,
    EpsilonM,
    KAnonymity,
    NTCloseness,
    PrivacyModel,
    ProbabilisticL,
    RecursiveCL,
    StrictNTCloseness,
    TCloseness,
)


def run(table: Table, *require: PrivacyModel, **options: Any) -> Anonymized:
    return Mondrian(require=require, **options).anonymize(table, Engine(seed=0))


def cells(release: Release, name: str) -> list[str]:
    """The cell of each group, in the order of the groups."""
    index = release.index(name)
    block = release.block_of(index)
    texts = write_cells(release.regions[index], release.attributes[index])
    return [texts[r] for r in block.region(index)[block.start[:-1]]]


NUMBERS = made_schema(
    {
        "x": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 9}, "missing": "category"},
        "s": {"role": SENSITIVE, "domain": ["a", "b", "c"]},
    },
    missing=["?"],
)


def numbers(values: Sequence[object], sick: str = "") -> Table:
    sick = sick or "a" * len(values)
    return made_table(NUMBERS, *zip(values, sick, strict=True))


def test_the_table_is_cut_at_medians() -> None:
    made = run(numbers([1, 2, 4, 5, 6, 8, 8, 9]), KAnonymity(k=2))
    # 1 2 4 5 | 6 8 8 9, then 1 2 | 4 5, then 6 | 8 8 9 is too small on the left and 6 8 8 | 9 on the right
    assert cells(made.release, "x") == ["[1,2]", "[4,5]", "[6,9]"]


def test_the_better_balanced_side_of_the_median_is_tried_first() -> None:
    made = run(numbers([1, 2, 2, 2, 2, 3, 3, 3]), KAnonymity(k=1))
    assert cells(made.release, "x") == ["1", "2", "3"]
    only = run(numbers([1, 2, 2, 2, 2, 3, 3, 3]), KAnonymity(k=3))  # up to 2: 5 | 3; below 2: 1 | 7 is too small
    assert cells(only.release, "x") == ["[1,2]", "3"]


def test_cut_based_regions_tile_the_domain() -> None:
    made = run(numbers([1, 2, 4, 5, 6, 8, 8, 9]), KAnonymity(k=2), regions="cut")
    assert cells(made.release, "x") == ["[0,2]", "[3,5]", "[6,9]"]


def test_relaxed_cuts_halve() -> None:
    made = run(numbers([1, 5, 5, 5, 5, 5, 5, 9]), KAnonymity(k=2), relaxed=True)
    assert sorted(made.release.sizes) == [2, 2, 4]  # two groups of [5,5] are one
    assert sorted(cells(made.release, "x")) == ["5", "[1,5]", "[5,9]"]
    strict = run(numbers([1, 5, 5, 5, 5, 5, 5, 9]), KAnonymity(k=2))
    assert strict.release.sizes.tolist() == [8]


def test_missing_values_stand_apart_or_hide_the_rest() -> None:
    apart = run(numbers([1, 2, 8, 9, "?", "?"]), KAnonymity(k=2))
    assert cells(apart.release, "x") == ["[1,2]", "[8,9]", "?"]
    hidden = run(numbers([1, 2, 8, 9, "?"]), KAnonymity(k=2))
    assert cells(hidden.release, "x") == ["*"]
    for regions in ("tight", "cut"):
        alone = run(numbers(["?", "?", "?"]), KAnonymity(k=2), regions=regions)
        assert cells(alone.release, "x") == ["?"]
    cut = run(numbers([1, 2, 8, 9, "?", "?"]), KAnonymity(k=2), regions="cut")
    assert cells(cut.release, "x") == ["[0,2]", "[3,9]", "?"]


JOBS = [["cook", "food", "*"], ["waiter", "food", "*"], ["nurse", "care", "*"], ["doctor", "care", "*"]]


def jobs(*values: str, missing: str = "refuse", domain: Sequence[str] | None = None) -> Table:
    declared = {"role": QI, "missing": missing, **({"domain": domain} if domain is not None else {})}
    schema = made_schema({"job": declared}, {"job": JOBS}, missing=["?"])
    return made_table(schema, *([v] for v in values))


def test_hierarchies_are_cut_into_their_children() -> None:
    made = run(jobs("cook", "waiter", "nurse", "nurse", "doctor", "doctor"), KAnonymity(k=2), recoding="hierarchy")
    assert sorted(cells(made.release, "job")) == ["doctor", "food", "nurse"]
    whole = run(jobs("cook", "waiter", "nurse"), KAnonymity(k=2), recoding="hierarchy")
    assert cells(whole.release, "job") == ["*"]
    table = jobs("cook", "waiter", "?", "?", missing="category")
    missing = run(table, KAnonymity(k=2), recoding="hierarchy")
    assert sorted(cells(missing.release, "job")) == ["?", "food"]
    cut = run(table, KAnonymity(k=2), recoding="hierarchy", regions="cut")
    assert sorted(cells(cut.release, "job")) == ["*", "?"]  # only the root holds all that is known


def test_categories_are_cut_in_the_order_of_their_hierarchy() -> None:
    """The domain mixes the classes; the cut must not."""
    domain = ["cook", "nurse", "waiter", "doctor"]
    made = run(jobs("cook", "nurse", "waiter", "doctor", domain=domain), KAnonymity(k=2))
    assert sorted(cells(made.release, "job")) == ["care", "food"]
    cut = run(jobs("cook", "nurse", "waiter", "doctor", domain=domain), KAnonymity(k=2), regions="cut")
    assert sorted(cells(cut.release, "job")) == ["care", "food"]


def test_tight_sets_name_what_is_there() -> None:
    schema = made_schema({"q": {"role": QI, "domain": ["a", "b", "c", "d"]}})
    table = made_table(schema, ["a"], ["c"], ["d"])
    assert cells(run(table, KAnonymity(k=3)).release, "q") == ["{a,c,d}"]
    assert cells(run(table, KAnonymity(k=3), regions="cut").release, "q") == ["*"]


def test_bins_are_codes() -> None:
    schema = made_schema({"x": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 99}, "bins": [20, 40, 60]}})
    made = run(made_table(schema, *([v] for v in (5, 19, 25, 45, 50, 99))), KAnonymity(k=3))
    assert cells(made.release, "x") == ["[0,39]", "[40,99]"]


def test_the_widest_attribute_is_cut_first() -> None:
    schema = made_schema({n: {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 9}} for n in "xy"})
    table = made_table(schema, (0, 0), (9, 1), (0, 1), (9, 0))
    # Relative to the data's own range both are 1: the earlier one is cut.
    made = run(table, KAnonymity(k=2))
    assert cells(made.release, "x") == ["0", "9"]
    assert cells(made.release, "y") == ["[0,1]", "[0,1]"]


def made_up(rows: int = 400, seed: int = 2) -> Table:
    """Two quasi-identifiers, two sensitive attributes that depend on them."""
    random = np.random.default_rng(seed)
    schema = made_schema(
        {
            "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 79}, "missing": "category"},
            "job": {"role": QI, "missing": "category"},
            "pay": {"role": SENSITIVE, "kind": "numeric", "domain": {"from": 1, "to": 9}},
            "ill": {"role": SENSITIVE, "domain": ["flu", "hiv", "none", "rare"]},
        },
        {"job": JOBS},
        missing=["?"],
    )
    age = random.integers(20, 80, rows)
    job = random.integers(0, 4, rows)
    pay = np.clip((age // 20 + job + random.integers(0, 5, rows)), 1, 9)
    ill = np.minimum(random.integers(0, 3, rows) + (random.random(rows) < 0.1), 3)
    shown_age = [str(a) if random.random() > 0.05 else "?" for a in age]
    shown_job = [JOBS[j][0] if random.random() > 0.05 else "?" for j in job]
    words = ["flu", "hiv", "none", "rare"]
    return made_table(schema, *zip(shown_age, shown_job, pay.tolist(), (words[i] for i in ill), strict=True))


TABLE = made_up()


def counted(made: Anonymized, name: str) -> list[Counter[str]]:
    """The original sensitive values of each group."""
    index = TABLE.index(name)
    values = TABLE.attributes[index].values
    groups: list[Counter[str]] = [Counter() for _ in range(made.release.groups)]
    for group, code in zip(made.group_of_row, TABLE.columns[index], strict=True):
        groups[group][values[code]] += 1
    return groups


def apart(one: Counter[str], other: Counter[str]) -> float:
    """Total variation."""
    n, m = one.total(), other.total()
    return sum(abs(one[v] / n - other[v] / m) for v in one | other) / 2


def moved(one: Counter[str], other: Counter[str]) -> float:
    """Earth mover's distance of evenly spaced numbers 1 to 9."""
    n, m = one.total(), other.total()
    carried = total = 0.0
    for v in map(str, range(1, 10)):
        carried += one[v] / n - other[v] / m
        total += abs(carried)
    return total / 8


WAYS = [
    {},
    {"relaxed": True},
    {"regions": "cut"},
    {"recoding": "hierarchy"},
    {"recoding": "hierarchy", "regions": "cut"},
    {"recoding": "hierarchy", "relaxed": True},
]


@pytest.mark.parametrize("options", WAYS)
def test_requirements_hold_for_every_sensitive_attribute(options: dict[str, Any]) -> None:
    made = run(TABLE, KAnonymity(k=5), DistinctL(l=3), **options)
    assert made.release.groups > 5
    for name in ("pay", "ill"):
        for group in counted(made, name):
            assert group.total() >= 5
            assert len(group) >= 3


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("distance", ["equal", "variational"])
def test_t_closeness_counted_anew(options: dict[str, Any], distance: str) -> None:
    made = run(TABLE, TCloseness(t=0.3, distance=distance), **options)
    assert made.release.groups > 1
    for name in ("pay", "ill"):
        groups = counted(made, name)
        whole = sum(groups, Counter())
        assert max(apart(group, whole) for group in groups) <= 0.3 + 1e-9


def test_ordered_t_closeness_counted_anew() -> None:
    schema = made_schema(
        {
            "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 79}, "missing": "category"},
            "pay": {"role": SENSITIVE, "kind": "numeric", "domain": {"from": 1, "to": 9}},
        },
        missing=["?"],
    )
    texts = [[TABLE.attributes[i].values[c] for c in TABLE.columns[i]] for i in (0, 2)]
    rows = list(zip(*texts, strict=True))
    made = run(made_table(schema, *rows), TCloseness(t=0.12, distance="ordered"))
    groups: list[Counter[str]] = [Counter() for _ in range(made.release.groups)]
    for group, (_, pay) in zip(made.group_of_row, rows, strict=True):
        groups[group][pay] += 1
    assert len(groups) > 3
    assert max(moved(group, sum(groups, Counter())) for group in groups) <= 0.12 + 1e-9


@pytest.mark.parametrize(
    ("model", "holds"),
    [
        (ProbabilisticL(l=1.5), lambda g: max(g.values()) / g.total() <= 1 / 1.5 + 1e-9),
        (EntropyL(l=2), lambda g: -sum(c / g.total() * np.log(c / g.total()) for c in g.values()) >= np.log(2) - 1e-9),
        (AlphaK(alpha=0.6, k=4), lambda g: g.total() >= 4 and max(g.values()) <= 0.6 * g.total() + 1e-9),
        (RecursiveCL(c=2, l=2), lambda g: g.most_common()[0][1] < 2 * (g.total() - g.most_common()[0][1])),
    ],
)
def test_other_models_counted_anew(model: PrivacyModel, holds: Any) -> None:
    made = run(TABLE, model)
    assert made.release.groups > 3
    for name in ("pay", "ill"):
        assert all(holds(group) for group in counted(made, name))


def test_delta_disclosure_needs_every_value_in_every_group() -> None:
    made = run(TABLE, DeltaDisclosure(delta=2))
    assert all(len(group) == 4 for group in counted(made, "ill"))


def test_epsilon_m_asks_for_numbers() -> None:
    with pytest.raises(UsageError, match="epsilon_m needs numbers, and ill is categorical"):
        run(TABLE, EpsilonM(epsilon=1, m=2))


# Two halves of 100 with opposite illnesses; each half is alike throughout.
HALVES = [(x, "a" if i % 10 < (8 if x < 5 else 2) else "b") for x in range(10) for i in range(20)]


def test_n_t_closeness_takes_the_half_as_the_population() -> None:
    table = made_table(NUMBERS, *HALVES)
    assert run(table, TCloseness(t=0.1)).release.groups == 1
    large = run(table, NTCloseness(t=0.1, n=100))
    assert large.release.groups > 2
    for group, shown in zip(*np.unique(large.group_of_row, return_counts=True), strict=True):
        rows = np.flatnonzero(large.group_of_row == group)
        assert shown >= 20
        assert len({HALVES[r][0] < 5 for r in rows}) == 1  # nobody crosses
    assert run(table, NTCloseness(t=0.1, n=101)).release.groups == 1  # the halves are no population any more
    everyone = run(table, NTCloseness(t=0.1, n=1), KAnonymity(k=20))
    assert everyone.release == run(table, KAnonymity(k=20)).release


def test_n_t_closeness_lies_between_no_requirement_and_t_closeness() -> None:
    groups = [run(TABLE, KAnonymity(k=5), NTCloseness(t=0.2, n=n)).release.groups for n in (1, 50, 100, 200, 400)]
    assert groups == sorted(groups, reverse=True)
    assert groups[0] == run(TABLE, KAnonymity(k=5)).release.groups
    assert groups[-1] == run(TABLE, KAnonymity(k=5), TCloseness(t=0.2)).release.groups


# x: rows, ill with a. The group x = 0 is near the whole table (.5) but far from x ≤ 1 (.6).
NEAR_AND_FAR = [(x, "a" if i < a else "b") for x, n, a in ((0, 30, 12), (1, 170, 108), (2, 200, 80)) for i in range(n)]


def test_strict_n_t_closeness_asks_every_superset() -> None:
    table = made_table(NUMBERS, *NEAR_AND_FAR)
    assert 30 in run(table, TCloseness(t=0.15)).release.sizes
    assert 30 not in run(table, StrictNTCloseness(t=0.15, n=31)).release.sizes


def test_strict_n_t_closeness_asks_the_supersets_of_large_groups_too() -> None:
    assert 30 not in run(made_table(NUMBERS, *NEAR_AND_FAR), StrictNTCloseness(t=0.15, n=30)).release.sizes


@pytest.mark.parametrize(
    ("require", "message"),
    [
        ([KAnonymity(k=500)], "mondrian: k_anonymity:k=500 cannot be met: all 400 rows in one group reach k=400"),
        ([KAnonymity(k=2), DistinctL(l=5)], r"distinct_l:l=5 cannot be met: .* reach l=4 \(ill\)"),
        ([ProbabilisticL(l=4)], r"probabilistic_l:l=4 cannot be met: .* reach l=\d\.\d+ \((pay|ill)\)"),
        ([AlphaK(alpha=0.9, k=500)], r"alpha_k:alpha=0.9,k=500 cannot be met: .* reach no alpha at all"),
        ([RecursiveCL(c=0.5, l=4)], r"recursive_cl:c=0.5,l=4 cannot be met: .* reach c=\d+"),
    ],
)
def test_what_cannot_be_met_says_which_and_what_could_be(require: list[PrivacyModel], message: str) -> None:
    with pytest.raises(RequirementError, match=message):
        run(TABLE, *require)


@pytest.mark.parametrize(
    ("require", "message"),
    [
        ([], "mondrian needs a requirement, for instance mondrian:k=5"),
        ([KAnonymity()], "k_anonymity as a requirement needs its threshold, for instance k_anonymity:k="),
        ([DeltaPresence(high=0.5)], "delta_presence as a requirement needs a population; add --population FILE"),
    ],
)
def test_requirements_that_make_no_sense(require: list[PrivacyModel], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(TABLE, *require)


def test_groups_with_equal_cells_must_hold_together() -> None:
    """{1, 9} and {0, 2} are (1, 2)-anonymous, but both are published as x = 5, and three of four lie within 1 of 1."""
    digits = {"kind": "numeric", "domain": {"from": 0, "to": 9}}
    schema = made_schema({"x": {"role": QI, **digits}, "s": {"role": SENSITIVE, **digits}})
    table = made_table(schema, (4, 0), (4, 9), (5, 1), (5, 9), (5, 0), (5, 2), (6, 0), (6, 9))
    with pytest.raises(RequirementError, match=r"epsilon_m:m=2,epsilon=1 cannot be met with relaxed cuts"):
        run(table, EpsilonM(m=2, epsilon=1), relaxed=True)
    run(table, KAnonymity(k=2), relaxed=True)


def test_a_model_of_values_needs_a_sensitive_attribute() -> None:
    with pytest.raises(UsageError, match="distinct_l needs a sensitive attribute, and the schema has none"):
        run(jobs("cook"), DistinctL(l=2))


def test_without_quasi_identifiers_there_is_one_group() -> None:
    schema = made_schema({"s": {"role": SENSITIVE, "domain": ["a", "b"]}})
    table = made_table(schema, ["a"], ["b"], ["a"])
    assert run(table, KAnonymity(k=2)).release.sizes.tolist() == [3]
    with pytest.raises(RequirementError, match="reach k=3"):
        run(table, KAnonymity(k=4))


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    Mondrian(require=(KAnonymity(k=5),)).anonymize(TABLE, Engine(seed=0, progress=lambda *step: told.append(step)))
    assert told == [("mondrian", 0, 1), ("mondrian", 1, 1)]


def test_a_large_table_collapses_to_the_same_release() -> None:
    """Above 200,000 rows equal rows are worked on as one."""
    columns = [np.tile(column, 600) for column in TABLE.columns]
    many = run(Table(TABLE.attributes, tuple(columns)), KAnonymity(k=3000), DistinctL(l=3))
    once = run(TABLE, KAnonymity(k=5), DistinctL(l=3))
    assert (many.release.sizes == 600 * once.release.sizes).all()
    assert many.release.regions == once.release.regions
    assert (many.group_of_row[: TABLE.rows] == once.group_of_row).all()
