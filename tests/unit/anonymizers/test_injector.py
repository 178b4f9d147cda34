"""Injector: everybody keeps l valid values, or the error says what could be."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from small import QI, SENSITIVE, made_schema, made_table
from unveil.anonymizers import injector
from unveil.anonymizers.injector import Injector
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, UsageError
from unveil.kernels.injector import form_groups
from unveil.privacy.knowledge.mining.cells import valid_values
from unveil.privacy.knowledge.negative_rules import NegativeRules

SCHEMA = made_schema(
    {
        "sex": {"role": QI, "domain": ["f", "m"]},
        "job": {"role": QI, "domain": ["a", "b", "c", "d"]},
        "ill": {"role": SENSITIVE, "domain": ["flu", "cold", "ovary", "prostate", "cough"]},
    }
)


def hospital(rows: int, seed: int = 1) -> Table:
    """Women never have prostate trouble, men never ovarian; job d never coughs."""
    random = np.random.default_rng(seed)
    people = []
    for _ in range(rows):
        sex, job = "fm"[random.integers(2)], "abcd"[random.integers(4)]
        share = np.array([3, 3, 2 * (sex == "f"), 2 * (sex == "m"), 2 * (job != "d")], dtype=float)
        people.append(
            (sex, job, ["flu", "cold", "ovary", "prostate", "cough"][random.choice(5, p=share / share.sum())])
        )
    return made_table(SCHEMA, *people)


def impossible(table: Table, **options: float) -> np.ndarray:
    rules = NegativeRules(**options).rules(table)  # type: ignore[arg-type]
    return rules.ceiling(np.stack(table.columns[:2], axis=1).astype(np.int64)) <= 0


@pytest.mark.parametrize("l", [2, 3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_everybody_has_l_valid_values(l: int, seed: int) -> None:
    """Counted by listing all matchings of small groups, and by components in the others."""
    table = hospital(150, seed)
    made = Injector(l=l).anonymize(table, Engine(seed=seed))
    never, value, group = impossible(table), table.columns[2].astype(np.int64), made.group_of_row
    assert never.any(axis=0).sum() >= 2  # there are rules
    valid = valid_values(group, value, ~never)
    assert valid.sum(axis=1).min() >= l
    for members in (np.flatnonzero(group == g) for g in range(made.release.groups)):
        if len(members) <= 6:
            found = [set() for _ in members]
            for order in set(permutations(value[members].tolist())):
                if not never[members, list(order)].any():
                    for person, v in enumerate(order):
                        found[person].add(v)
            assert min(map(len, found)) >= l
    assert np.bincount(group).min() >= l
    assert made.release.groups > 150 // (3 * l)


def test_a_lone_woman_with_the_only_ovarian_cancer_is_not_hidden() -> None:
    """The thesis' warning: enough values each, yet only she can have it. No group may be made like that."""
    possible = np.array([[True] * 4, *[[True, True, False, True]] * 3])
    valid = valid_values(np.zeros(4, dtype=int), np.array([2, 0, 1, 3]), possible)
    assert valid.tolist() == [[False, False, True, False], *[[True, True, False, True]] * 3]


def test_what_cannot_be_met_says_how_many_and_what_could_be() -> None:
    table = hospital(150)
    never = impossible(table)
    number = valid_values(np.zeros(150, dtype=int), table.columns[2], ~never).sum(axis=1)
    assert number.min() == 3  # men of job d: flu, cold, prostate
    lost = int((number < 4).sum())
    five = int((number < 5).sum())
    assert lost > 0
    with pytest.raises(RequirementError, match=rf"{lost} of 150 rows cannot have l=4 .*l=3 can be met") as caught:
        Injector(l=4, min_expectation=0.9).anonymize(table, Engine(seed=0))
    assert "\n" not in str(caught.value)
    with pytest.raises(RequirementError, match=f"{five} of 150"):
        Injector(l=5).anonymize(table, Engine(seed=0))
    same = made_table(SCHEMA, *[("f", "a", "flu")] * 5)
    with pytest.raises(RequirementError, match=r"5 of 5 rows .*no l above 1"):
        Injector(l=2).anonymize(same, Engine(seed=0))


def test_those_left_over_make_groups_larger() -> None:
    """Two women and six men, flu most frequent: groups of two at first, then the rest joins."""
    rows = [("f", "a", "flu")] * 5 + [("m", "b", "cold")] * 2 + [("m", "c", "cough")] * 1
    made = Injector(l=2, min_expectation=0.99).anonymize(made_table(SCHEMA, *rows), Engine(seed=4))
    assert made.release.rows == 8
    for group in range(made.release.groups):
        values = [rows[i][2] for i in np.flatnonzero(made.group_of_row == group)]
        assert len(set(values)) >= 2
    assert sorted(Counter(made.group_of_row.tolist()).values())[-1] > 2


@pytest.mark.parametrize("seed", range(8))
def test_groups_are_merged_until_everybody_is_served(seed: int) -> None:
    """People with many impossible values, straight into the phases: merging is needed, and ends."""
    random = np.random.default_rng(seed)
    never = random.random((60, 6)) < 0.55
    value = random.integers(0, 6, 60)
    never[np.arange(60), value] = False
    whole = valid_values(np.zeros(60, dtype=int), value, ~never).sum(axis=1)
    keep = whole >= 3
    value, never = value[keep], never[keep]
    while (number := valid_values(np.zeros(len(value), dtype=int), value, ~never).sum(axis=1)).min() < 3:
        value, never = value[number >= 3], never[number >= 3]  # who cannot be served leaves, and may take others along
    kind = np.arange(len(value))
    groups, aside = form_groups(value, never, np.ones(len(value), dtype=np.int64), 3)
    group = injector._placed(kind, groups, Engine(seed=seed))
    formed = int(group.max()) + 1
    Injector(l=3)._serve(group, kind, injector._Kinds.of(value, never), aside)
    assert (group >= 0).all()
    assert valid_values(group, value, ~never).sum(axis=1).min() >= 3
    assert len(np.unique(group)) < formed  # some were merged


def test_a_table_without_any_group_of_l_becomes_one_group() -> None:
    """Nobody goes with two others at once, yet in one group the values can be passed round."""
    rules = {0: [2], 1: [0], 2: [1]}  # each kind never has one of the others' values
    value, never = np.array([0, 1, 2]), np.zeros((3, 3), dtype=bool)
    for kind, barred in rules.items():
        never[kind, barred] = True
    groups, aside = form_groups(value, never, np.array([2, 2, 2]), 3)
    assert len(groups) == 0
    assert sorted(aside.tolist()) == [0, 0, 1, 1, 2, 2]


def test_groups_go_together_pair_by_pair_and_compiled_is_plain() -> None:
    random = np.random.default_rng(6)
    value = random.integers(0, 5, 12)
    never = random.random((12, 5)) < 0.2
    never[np.arange(12), value] = False
    left = random.integers(1, 9, 12)
    groups, aside = form_groups(value, never, left.copy(), 3)
    assert len(groups) > 3
    for group in groups:
        for a in group:
            for b in group:
                assert a == b or (value[a] != value[b] and not never[a, value[b]])
    used = np.bincount(groups.ravel(), minlength=12) + np.bincount(aside, minlength=12)
    assert (used == left).all()
    plain = form_groups.py_func(value, never, left.copy(), 3)
    assert np.array_equal(plain[0], groups)
    assert np.array_equal(plain[1], aside)


def test_the_draw_decides_who_of_a_kind_goes_where() -> None:
    table = hospital(150)
    one, other = (Injector(l=2).anonymize(table, Engine(seed=s)) for s in (1, 2))
    assert sorted(one.release.sizes) == sorted(other.release.sizes)
    assert one.release != other.release


@pytest.mark.parametrize("options", [{"l": 1}, {"l": 2, "min_expectation": 1.5}, {"l": 2, "predicates": 0}])
def test_options_are_checked(options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Injector(**options)  # type: ignore[arg-type]
