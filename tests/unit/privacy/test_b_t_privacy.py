"""(B,t)-privacy: levels from plain loops, and Mondrian that keeps them."""

from itertools import permutations
from math import log

import numpy as np
import pytest

from small import QI, SENSITIVE, made_schema, made_table
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.full_domain import FullDomain
from unveil.anonymizers.mondrian import Mondrian
from unveil.audit.levels import run_check
from unveil.catalog import privacy_model
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, RequirementError, UsageError
from unveil.kernels.belief_change import largest_changes
from unveil.privacy.knowledge.kernel import Kernel
from unveil.privacy.models import BTPrivacy, KAnonymity, PrivacyModel
from unveil.privacy.reference import GroupMembers, Reference

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 59}},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "ill": {"role": SENSITIVE, "domain": ["flu", "hiv", "none"]},
    }
)


def people(rows: int = 150) -> Table:
    random = np.random.default_rng(8)
    found = []
    for _ in range(rows):
        age, sex = int(random.integers(20, 60)), "fm"[random.integers(2)]
        share = np.array([60 - age, 5 + 10 * (sex == "m"), age - 10], dtype=float)
        found.append((age, sex, ["flu", "hiv", "none"][random.choice(3, p=share / share.sum())]))
    return made_table(SCHEMA, *found)


def js(p: np.ndarray, q: np.ndarray) -> float:
    def kl(a: np.ndarray, b: np.ndarray) -> float:
        return sum(x * log(x / y) for x, y in zip(a, b, strict=True) if x > 0)

    middle = (p + q) / 2
    return (kl(p, middle) + kl(q, middle)) / 2


def plain_level(held: np.ndarray, values: list[int], *, exact: bool) -> float:
    """Every matching listed, or each value shared out by the priors."""
    people, kinds = held.shape
    belief = np.zeros((people, kinds))
    if exact:
        for order in set(permutations(values)):
            belief[np.arange(people), list(order)] += np.prod(held[np.arange(people), list(order)])
    else:
        for v in range(kinds):
            belief[:, v] = held[:, v] * values.count(v) / held[:, v].sum()
    belief /= belief.sum(axis=1, keepdims=True)
    return max(js(b, h) for b, h in zip(belief, held, strict=True))


@pytest.mark.parametrize("exact", [True, False])
def test_levels_are_those_of_plain_loops(exact: bool) -> None:
    random = np.random.default_rng(2)
    held = random.dirichlet(np.ones(3), 9)
    groups = [[0, 1, 2, 3], [4, 4, 5], [6, 7, 8, 0, 1]]
    values = [[0, 1, 2, 2], [1, 1, 1], [0, 0, 1, 2, 2]]
    members = GroupMembers(np.array([0, 4, 7, 12]), np.array([i for g in groups for i in g]), {(0.5, 0.2): held})
    counts = np.array([np.bincount(v, minlength=3) for v in values])
    model = BTPrivacy(t=0.1, bandwidth=(0.5, 0.2), cost=1e6 if exact else 0)
    level = model.level(counts, Reference(np.ones(3, dtype=int), members=members))
    wanted = [plain_level(held[g], v, exact=exact) for g, v in zip(groups, values, strict=True)]
    assert level == pytest.approx(np.array(wanted), abs=1e-12)
    plain = np.zeros(3)
    largest_changes.py_func(members.start, members.cell, held, counts.astype(float), model.cost, plain)
    assert plain == pytest.approx(level, abs=1e-15)


def test_a_group_whose_values_its_people_cannot_have_is_infinitely_bad() -> None:
    members = GroupMembers(np.array([0, 2]), np.array([0, 0]), {(0.3,): np.array([[1.0, 0.0]])})
    for cost in (0, 1e6):
        level = BTPrivacy(cost=cost).level(np.array([[0, 2]]), Reference(np.ones(2, dtype=int), members=members))
        assert level.tolist() == [np.inf]


def levels(table: Table, made: Anonymized, model: BTPrivacy) -> list[float]:
    held = Kernel(bandwidth=model.bandwidth).prior(table).of(np.stack(table.columns[:2], axis=1))
    found = []
    for group in range(made.release.groups):
        rows = np.flatnonzero(made.group_of_row == group)
        members = GroupMembers(np.array([0, len(rows)]), rows, {model.bandwidth: held})
        counts = np.bincount(table.columns[2][rows], minlength=3)[None]
        found += model.level(counts, Reference(np.ones(3, dtype=int), members=members)).tolist()
    return found


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("recoding", ["order", "hierarchy"])
def test_mondrian_keeps_it(relaxed: bool, recoding: str) -> None:
    table = people()
    model = BTPrivacy(t=0.06, bandwidth=(0.3, 0.8))
    made = Mondrian(require=(KAnonymity(k=2), model), relaxed=relaxed, recoding=recoding).anonymize(  # type: ignore[arg-type]
        table, Engine(seed=3)
    )
    found = levels(table, made, model)
    assert max(found) <= 0.06
    without = Mondrian(require=(KAnonymity(k=2),), relaxed=relaxed, recoding=recoding).anonymize(table, Engine(seed=3))  # type: ignore[arg-type]
    assert max(levels(table, without, model)) > 0.06
    assert 1 < made.release.groups < without.release.groups


def test_a_skyline_is_several_of_them() -> None:
    table = people()
    skyline = tuple(privacy_model(f"b_t_privacy:t={t},bandwidth={b}") for t, b in ((0.05, 0.2), (0.1, 0.5)))
    made = Mondrian(require=skyline).anonymize(table, Engine(seed=0))
    for model in skyline:
        assert isinstance(model, BTPrivacy)
        assert max(levels(table, made, model)) <= (model.threshold or 0)
    first: tuple[PrivacyModel, ...] = skyline[:1]
    assert made.release.groups <= Mondrian(require=first).anonymize(table, Engine(seed=0)).release.groups


@pytest.mark.parametrize("buckets", [False, True])
def test_a_check_measures_it_with_the_original(buckets: bool) -> None:
    """The level of every group, from the table and the assignment."""
    table = people(80)
    method = Anatomy(l=2) if buckets else Mondrian(require=(KAnonymity(k=4),))
    made = method.anonymize(table, Engine(seed=3))
    models = [BTPrivacy(t=0.01), BTPrivacy(t=0.6, bandwidth=(0.2, 1.2))]
    for group in (None, made.group_of_row):
        found = run_check(made.release, require=models, original=table, group=group)
        got = {f.id: f for f in found.findings if f.id.startswith("b_t")}
        assert list(got) == ["b_t_privacy.0.3", "b_t_privacy.0.2+1.2"]
        for finding, model in zip(got.values(), models, strict=True):
            assert finding.value == pytest.approx(max(levels(table, made, model)), abs=1e-12)
        assert [f.verdict for f in got.values()] == ["exceeded", "within"]
        assert not found.kept


def test_a_check_of_people_who_fit_several_groups_needs_their_groups() -> None:
    table = people(80)
    made = Mondrian(require=(KAnonymity(k=4),), relaxed=True).anonymize(table, Engine(seed=3))
    with pytest.raises(NotApplicable, match="fit more than one group"):
        run_check(made.release, require=[BTPrivacy(t=0.01)], original=table)
    (found,) = [
        f
        for f in run_check(made.release, require=[BTPrivacy(t=0.01)], original=table, group=made.group_of_row).findings
        if f.id.startswith("b_t")
    ]
    assert found.value == pytest.approx(max(levels(table, made, BTPrivacy(t=0.01))), abs=1e-12)


def test_where_it_cannot_be_had() -> None:
    table = people(30)
    with pytest.raises(RequirementError, match=r"b_t_privacy:t=0.0,bandwidth=0.3,cost=.* cannot be met"):
        Mondrian(require=(BTPrivacy(t=0.0),)).anonymize(table, Engine(seed=0))
    release = Mondrian(require=(KAnonymity(k=3),)).anonymize(table, Engine(seed=0)).release
    with pytest.raises(NotApplicable, match="add --original"):
        run_check(release, require=[BTPrivacy(t=0.1)])
    with pytest.raises(UsageError, match="mondrian can require it"):
        FullDomain(levels=(1, 1), require=(BTPrivacy(t=0.1),)).anonymize(table, Engine(seed=0))
