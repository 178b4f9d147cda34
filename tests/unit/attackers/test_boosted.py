"""Boosted on made-up tables whose rule is known: what it must find, must not claim, and whom it may learn from."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from one_round import attack
from realdata.hospital import hospital_table
from unveil import catalog, risk
from unveil.attackers.boosted import Boosted
from unveil.attackers.posterior import bags, boosting, cross_fitted
from unveil.attackers.posterior.boosting import Settings
from unveil.attackers.posterior.cross_fitted import CrossFitted
from unveil.attackers.posterior.fits import Fitted
from unveil.attackers.posterior.repeats import Repeats
from unveil.attackers.random_worlds import RandomWorlds
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known, Targets
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable, Stopped, UsageError

ROWS = 1600
MANY = 12_000
QUICK = Boosted(repeats=0)
Ints = NDArray[np.int64]


def attribute(name: str, codes: int, role: Role = Role.QUASI_IDENTIFIER, kind: Kind = Kind.CATEGORICAL) -> Attribute:
    place = np.arange(codes, dtype=np.float64)
    line = {"low": place, "high": place} if kind is Kind.NUMERIC else {}
    return Attribute(name, role, kind, tuple(str(v) for v in range(codes)), **line)  # type: ignore[arg-type]


@cache
def table(rule: str, rows: int = ROWS, seed: int = 1) -> Table:
    """Four values; `pair`: (a + b) mod 4 and noise, which neither a nor b says alone; `age`: a quarter of the ages."""
    random = np.random.default_rng(seed)
    a, b, age = random.integers(4, size=rows), random.integers(4, size=rows), random.integers(40, size=rows)
    said = {"pair": (a + b) % 4, "age": age // 10, "nothing": random.integers(4, size=rows)}[rule]
    s = np.where(random.random(rows) < 0.8, said, random.integers(4, size=rows))
    attributes = (
        attribute("a", 4),
        attribute("b", 4),
        attribute("age", 40, kind=Kind.NUMERIC),
        attribute("s", 4, Role.SENSITIVE),
    )
    return Table(attributes, tuple(column.astype(np.uint8) for column in (a, b, age, s)), name="made up")


@cache
def published(rule: str, scheme: str = "anatomy:l=3") -> tuple[Release, Ints]:
    made = catalog.anonymizer(scheme).anonymize(table(rule), Engine(seed=3))
    return made.release, made.group_of_row.astype(np.int64)


def everybody(rule: str, scheme: str = "anatomy:l=3") -> tuple[Release, Targets, Ints]:
    """The release, its people with their groups, and what they have."""
    release, group = published(rule, scheme)
    asked = release.index("s")
    targets = replace(targets_of_table(table(rule), release, asked), group=group)
    return release, targets, np.asarray(table(rule).columns[3], dtype=np.int64)


def right(probability: NDArray[np.float64], truth: Ints) -> float:
    return float((probability.argmax(axis=1) == truth).mean())


def log_loss(probability: NDArray[np.float64], truth: Ints) -> float:
    return float(-np.log(np.maximum(probability[np.arange(len(truth)), truth], 1e-9)).mean())


def test_it_learns_what_two_attributes_say_together() -> None:
    release, targets, truth = everybody("pair")
    belief = attack(QUICK, release, targets, engine=Engine(seed=1))
    assert right(belief.probability, truth) > 0.75  # 85% of the values follow the rule
    assert log_loss(belief.probability, truth) < 0.8  # log 3 = 1.10 without it
    facts = belief.diagnostics.facts
    assert float(facts["held_out_score"]) > float(facts["held_out_score_bayes"]) + 0.3
    assert belief.diagnostics.method == "cross-fitted boosting"


@pytest.mark.parametrize("scheme", ["anatomy:l=3", "mondrian:k=8", "mondrian:k=20"])
def test_where_there_is_nothing_to_learn_nothing_is_claimed(scheme: str) -> None:
    release, targets, truth = everybody("nothing", scheme)
    belief = attack(QUICK, release, targets, engine=Engine(seed=1))
    plain = attack(RandomWorlds(), release, targets)
    error = 3 * (0.3 * 0.7 / ROWS) ** 0.5
    modes = plain.probability >= plain.probability.max(axis=1, keepdims=True) - 1e-12
    by_chance = float((modes[np.arange(ROWS), truth] / modes.sum(axis=1)).mean())
    assert abs(right(belief.probability, truth) - by_chance) < error + 0.02
    assert ((belief.probability >= 0.8) <= (plain.probability >= 0.8)).all()


def test_what_was_held_out_was_not_seen() -> None:
    """Other values in the groups of one fold: the model that is asked about them stays as it is, tree by tree."""
    release, _ = published("pair")
    asked = release.index("s")
    columns = bags.ValueColumns.of(release, asked)
    (bag,) = bags.bags_of(release, asked, columns, np.random.default_rng(0))
    fold = np.arange(release.groups) % 4
    changed = columns.column.copy()
    some = np.repeat(fold == 2, np.diff(columns.start))
    changed[some] = (changed[some] + 1) % 4
    other = replace(columns, column=changed)
    both = [boosting.fit_bag(bag, one, fold, Settings(rounds=30), Engine(seed=1)) for one in (columns, other)]
    one, two = (model.forests[2] for model in both)
    assert np.array_equal(np.stack(one.attribute[:10]), np.stack(two.attribute[:10]))
    assert np.array_equal(both[0].start[2], both[1].start[2])
    assert np.array_equal(np.stack(one.leaf[:10]), np.stack(two.leaf[:10]))
    seen = [model.forests[1].leaf[:10] for model in both]
    assert not np.array_equal(np.stack(seen[0]), np.stack(seen[1]))


@pytest.mark.parametrize("k", [8, 20])
def test_ages_inside_a_wide_cell(k: int) -> None:
    """The release shows tens of ages together; which of them a value goes with is learned from overlapping cells."""
    release, targets, truth = everybody("age", f"mondrian:k={k}")
    belief = attack(QUICK, release, targets, engine=Engine(seed=1))
    plain = attack(RandomWorlds(), release, targets)
    assert log_loss(belief.probability, truth) < log_loss(plain.probability, truth) - 0.01
    alone = targets.take(np.arange(20))
    again = attack(QUICK, release, alone, engine=Engine(seed=1))
    assert np.array_equal(again.probability, belief.probability[:20])  # who else is asked about does not matter


def test_three_blocks_are_learned_one_by_one() -> None:
    """a and b stand in one block, ages in another, values in a third, in groups of four."""
    made = table("pair")
    group = np.arange(ROWS) // 4
    parts = [BlockRows(block, group, tuple(made.columns[i] for i in block)) for block in ((0, 1), (2,), (3,))]
    release, number = build_release(made.attributes, [Regions.singles(a.codes) for a in made.attributes], parts)
    targets = replace(targets_of_table(made, release, 3), group=number[group])
    truth = np.asarray(made.columns[3], dtype=np.int64)
    model = CrossFitted.of(release, 3, Settings(), Engine(seed=1))
    assert [one.learned for one in model.models] == [True, False]
    belief = attack(QUICK, release, targets, engine=Engine(seed=1))
    assert (
        log_loss(belief.probability, truth)
        < log_loss(attack(RandomWorlds(), release, targets).probability, truth) - 0.2
    )


def test_less_is_known() -> None:
    """Unknown, coarser and doubted attributes: less certain on average, and still above chance."""
    release, targets, truth = everybody("pair")
    whole = {i: targets.known[i] for i in targets.known}
    coarse = Known(Regions.intervals(4, [0, 2], [1, 3]), whole[0].of_target // 2)
    loss = []
    for known in (
        whole,
        {0: coarse} | {i: whole[i] for i in (1, 2)},
        {i: replace(k, wrong=0.2) for i, k in whole.items()},
        {i: whole[i] for i in (1, 2)},
    ):
        some = replace(targets, known=known).take(np.arange(300))
        loss.append(log_loss(attack(QUICK, release, some, engine=Engine(seed=1)).probability, truth[:300]))
    assert loss[0] < loss[1] < loss[3]
    assert loss[0] < loss[2]
    assert max(loss) < np.log(3) + 0.02


def test_membership_in_doubt() -> None:
    release, targets, _ = everybody("pair")
    model = Repeats.of(release, targets.asked, Settings(), Engine(seed=1).named("boosted"))
    some = targets.take(np.arange(50))
    parts = [attack(Boosted(membership=m), release, some, engine=Engine(seed=1)) for m in (1.0, 0.3, 0.0)]
    assert parts[1].probability == pytest.approx(0.3 * parts[0].probability + 0.7 * parts[2].probability)
    distinct, number = some.distinct()
    assert parts[2].probability == pytest.approx(model.anybody(distinct)[0][number])
    assert parts[1].threat.membership == "with probability 0.3"
    nobody = Targets(targets.asked, {2: Known.exactly(release.attributes[2], np.array([5]))}, 1, np.array([0]))
    attack(Boosted(membership=0.5), release, nobody, engine=Engine(seed=1))


def test_the_same_numbers_for_any_number_of_workers() -> None:
    release, targets, _ = everybody("pair")
    asked = targets.asked
    found = [CrossFitted.of(release, asked, Settings(rounds=20), Engine(seed=4, workers=w)) for w in (1, 3)]
    assert np.array_equal(found[0].members(targets), found[1].members(targets))
    other = CrossFitted.of(release, asked, Settings(rounds=20), Engine(seed=5))
    assert not np.array_equal(found[0].members(targets), other.members(targets))


@pytest.mark.parametrize("scheme", ["anatomy:l=3", "mondrian:k=8,l=4"])
def test_of_many_rows_some_groups_are_learned_from(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    """Half of many groups teach nearly as much (of 1,600 rows half cost .06), repeats learn from the same ones, and a
    document says how many rows."""
    made = table("pair", MANY)
    public = catalog.anonymizer(scheme).anonymize(made, Engine(seed=3))
    release, truth = public.release, np.asarray(made.columns[3], dtype=np.int64)
    targets = replace(targets_of_table(made, release, 3), group=public.group_of_row.astype(np.int64))
    whole = CrossFitted.of(release, targets.asked, Settings(rounds=60), Engine(seed=1))
    assert whole.sample is None
    assert "rows_learned_from" not in whole.facts()
    monkeypatch.setattr(cross_fitted, "LEAST_LEARNED", 10)
    some = CrossFitted.of(release, targets.asked, Settings(rounds=60, most_rows=MANY // 2), Engine(seed=1))
    assert some.sample is not None
    assert some.facts()["rows_learned_from"] == release.sizes[some.sample].sum() <= MANY // 2
    assert len(some.fold) == release.groups == len(some.models[0].fold)
    loss = [log_loss(m / m.sum(axis=1, keepdims=True), truth) for m in (one.members(targets) for one in (whole, some))]
    assert loss[1] < loss[0] + 0.05
    again = CrossFitted.of(release, targets.asked, Settings(folds=2), Engine(seed=2), like=some)
    assert again.sample is some.sample


def test_of_a_million_rows_about_100_000_are_learned_from() -> None:
    sizes = np.full(200_000, 5)
    some = cross_fitted._sample(sizes, Settings().most_rows, np.random.default_rng(1))
    assert some is not None
    assert 99_000 < sizes[some].sum() <= 100_000
    assert cross_fitted._sample(sizes, 1_000_000, np.random.default_rng(1)) is None


def test_a_model_learns_from_no_group_of_its_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where some groups are learned from: the folds of the groups that are seen are those they are asked of."""
    release, targets, _ = everybody("pair")
    monkeypatch.setattr(cross_fitted, "LEAST_LEARNED", 10)
    seen = []

    def noted(bag: bags.Bag, columns: bags.ValueColumns, fold: Ints, *rest: object) -> boosting.BagModel:
        seen.append((bag, columns, fold))
        return boosting.fit_bag(bag, columns, fold, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(cross_fitted, "fit_bag", noted)
    found = CrossFitted.of(release, targets.asked, Settings(rounds=10, most_rows=ROWS // 2), Engine(seed=1))
    ((bag, columns, fold),) = seen
    assert found.sample is not None
    assert np.array_equal(fold, found.fold[found.sample])
    full = found.models[0].bag
    for number, group in enumerate(found.sample.tolist()):
        mine, theirs = bag.group == number, full.group == group
        assert np.array_equal(bag.cells[mine], full.cells[theirs])
        assert np.array_equal(bag.points[bag.point[mine]], full.points[full.point[theirs]])
        assert columns.count[columns.start[number] : columns.start[number + 1]].sum() == release.sizes[group]


def test_large_groups_are_scaled_and_come_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of eight: exactly, and as if they were too large for it."""
    release, targets, _ = everybody("pair", "anatomy:l=3")
    wide, group = published("pair", "mondrian:k=8,l=4")
    model = CrossFitted.of(release, targets.asked, Settings(rounds=60), Engine(seed=1))
    from unveil.attackers.posterior.roster import with_roster

    roster = replace(targets_of_table(table("pair"), wide, wide.index("s")), group=group)
    seen = with_roster(wide, roster)
    exact = CrossFitted.of(seen.release, targets.asked, Settings(rounds=60), Engine(seed=1))
    assert exact.scaled == 0
    monkeypatch.setattr(cross_fitted, "STATES", 4)
    columns, fold, models = exact.columns, exact.fold, exact.models
    near = CrossFitted.matching(seen.release, targets.asked, columns, fold, models, exact.entry)
    assert near.scaled > 0.9
    people = seen.targets(roster)
    both = [m.members(people) for m in (exact, near)]
    both = [m / m.sum(axis=1, keepdims=True) for m in both]
    assert float(np.abs(both[0] - both[1]).mean()) < 0.02
    assert model.scaled == 0


def test_naive_bayes_is_heard_where_it_predicts_better() -> None:
    """Four values that each of six attributes hints at, alone: stacking never does worse on held-out groups."""
    random = np.random.default_rng(2)
    s = random.integers(4, size=600)
    columns = [np.where(random.random(600) < 0.5, s, random.integers(4, size=600)) for _ in range(6)]
    attributes = (*(attribute(f"q{i}", 4) for i in range(6)), attribute("s", 4, Role.SENSITIVE))
    made = Table(attributes, tuple(c.astype(np.uint8) for c in (*columns, s)), name="hints")
    release = catalog.anonymizer("anatomy:l=3").anonymize(made, Engine(seed=1)).release
    (model,) = CrossFitted.of(release, 6, Settings(), Engine(seed=1)).models
    assert model.mixed > 0
    assert model.score >= model.bayes_score
    assert len(model.forests) == 10  # below 5,000 rows


def test_a_domain_with_more_codes_than_bins() -> None:
    random = np.random.default_rng(6)
    place = random.integers(1000, size=ROWS)
    town = random.zipf(1.5, size=ROWS) % 400
    s = np.where(random.random(ROWS) < 0.8, place // 250, random.integers(4, size=ROWS))
    attributes = (
        attribute("place", 1000, kind=Kind.NUMERIC),
        attribute("town", 400),
        attribute("s", 4, Role.SENSITIVE),
    )
    made = Table(attributes, (place.astype(np.uint16), town.astype(np.uint16), s.astype(np.uint8)), name="places")
    release = catalog.anonymizer("anatomy:l=3").anonymize(made, Engine(seed=1)).release
    model = CrossFitted.of(release, 2, Settings(rounds=40), Engine(seed=1))
    bins = model.models[0].bag.bins
    assert np.diff(bins.place).max() <= 255
    assert (np.diff(bins.of_code[0].astype(int)) >= 0).all()  # neighbours stay neighbours
    assert model.models[0].score > 0.3


def test_options_and_sizes_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ({"folds": 1}, {"repeats": 1}, {"rounds": -1}, {"membership": 1.5}):
        with pytest.raises(UsageError, match="boosted: "):
            Boosted(**wrong)  # type: ignore[arg-type]
    release, targets, _ = everybody("pair")
    monkeypatch.setattr(cross_fitted, "MOST_NUMBERS", 100)
    with pytest.raises(NotApplicable, match="too many for boosting"):
        CrossFitted.of(release, targets.asked, Settings(), Engine(seed=1))


def test_repeats_are_intervals_around_what_is_believed() -> None:
    """Points from all groups alike; weighed groups move them to either side."""
    release, targets, truth = everybody("pair")
    belief = attack(Boosted(repeats=4), release, targets, engine=Engine(seed=1))
    assert belief.chains is not None
    assert belief.chains.shape == (4, ROWS, 4)
    assert belief.chains.sum(axis=2) == pytest.approx(1)
    found = risk.squared_error(belief, truth)
    assert found.low <= found.value <= found.high
    assert found.high - found.low > 0.01
    assert np.abs(belief.chains.mean(axis=0) - belief.probability).mean() < 0.02  # but for what was cut at 0
    alone = attack(QUICK, release, targets, engine=Engine(seed=1))
    assert alone.exact
    assert np.array_equal(alone.probability, belief.probability)
    nothing = attack(Boosted(repeats=4), *everybody("nothing")[:2], engine=Engine(seed=1))
    assert nothing.exact  # nothing was learned, so that nothing is uncertain


def test_stopped_before_its_end() -> None:
    release, targets, _ = everybody("pair")
    engine = Engine(seed=1)
    engine.stop.set()
    with pytest.raises(
        Stopped, match="before boosting had finished learning"
    ):  # weak models would understate what is learned
        CrossFitted.of(release, targets.asked, Settings(), engine)


@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_a_row_that_shows_its_value_counts_for_that_value_alone(wrong: float) -> None:
    """As if every value were asked of every row, which hundreds of values make slow."""
    release, targets, _ = everybody("age", "mondrian:k=12")
    known = {i: replace(k, wrong=wrong) for i, k in targets.known.items()}
    some = replace(targets, known=known, group=None).take(np.arange(60))
    model = CrossFitted.of(release, some.asked, Settings(rounds=20), Engine(seed=1))
    fitted = Fitted.of(release, some)
    held = np.zeros((len(fitted.block.count), 4))
    held[np.arange(len(held)), model.columns.of_entry] = fitted.block.count
    each = held[fitted.own.entry] * model._likelihood(0, fitted.own)
    expected = np.zeros((60, 4))
    np.add.at(expected, fitted.own.target, each)
    assert model.learned
    assert each.max() > 0
    assert model.members(some) == pytest.approx(expected, rel=1e-12)


def test_what_no_cell_tells_apart_is_not_made_up() -> None:
    """In narrow cells there is little to learn beyond who is in them: trees of single ages made noise of it."""
    hospital = hospital_table(6000)
    made = catalog.anonymizer("mondrian:k=5,l=3").anonymize(hospital, Engine(seed=1))
    release, some = made.release, np.arange(0, 6000, 3)
    targets = targets_of_table(hospital, release, release.index("diagnosis"))
    targets = replace(targets, group=made.group_of_row.astype(np.int64)).take(some)
    truth = np.asarray(hospital.columns[hospital.index("diagnosis")], dtype=np.int64)[some]
    learned, plain = (attack(one, release, targets).probability for one in (QUICK, RandomWorlds()))
    assert log_loss(learned, truth) < log_loss(plain, truth) - 0.01
    assert right(learned, truth) > right(plain, truth)


def test_codes_share_a_bin_unless_a_cell_tells_them_apart() -> None:
    """Ages in tens, five of them single: 9 bins, of which 5 hold one age."""
    values = table("age")
    age = values.columns[2].astype(np.int64)
    cells = [list(range(low, low + 10)) for low in (10, 20, 30)] + [[0], [1], [2], [3], [4], list(range(5, 10))]
    number = np.where(age >= 10, age // 10 - 1, np.minimum(age, 5) + 3)
    part = BlockRows((0, 1), number, (number, values.columns[3].astype(np.int64)))
    release, _ = build_release(values.attributes[2:], [Regions.sets(40, cells), Regions.singles(4)], [part])
    bins = bags.Bins.of(release, (0,), bags.margins_of(release, 1), 8)
    assert bins.of_code[0].tolist() == [0, 1, 2, 3, 4, *[5] * 5, *[6] * 10, *[7] * 10, *[8] * 10]
