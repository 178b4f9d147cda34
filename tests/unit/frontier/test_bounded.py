"""Releases bounded by threat: the loop's readers against the product's own, the search against every antichain."""

import itertools
from functools import cache

import numpy as np
import pytest

from small import QI, SENSITIVE, made_schema, made_table
from unveil import risk, utility
from unveil.anonymizers.mondrian import Mondrian
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit.attack import run_attack
from unveil.audit.bounds import ADDED, rules_of
from unveil.data.belief import Prior
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import LimitError, NotApplicable, UsageError
from unveil.frontier.bounded import bounded_release
from unveil.frontier.bounded.mechanism import replay_mechanism
from unveil.frontier.bounded.readers import SearchReaders
from unveil.frontier.bounded.search import Search, cheapest
from unveil.frontier.bounded.tree import Antichain, CutTree
from unveil.kernels import bounded as kernels
from unveil.privacy.models import DistinctL, KAnonymity, TCloseness
from unveil.risk import news

ENGINE = Engine(seed=3)
AGES = [[str(a), f"{a // 5 * 5}s", f"{a // 10 * 10}er", "*"] for a in range(20, 60)]
SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 59}},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "town": {"role": QI, "domain": ["p", "q", "r"]},
        "s": {"role": SENSITIVE, "domain": ["a", "b", "c", "d"]},
    },
    {
        "age": AGES,
        "sex": [["f", "*"], ["m", "*"]],
        "town": [["p", "north", "*"], ["q", "north", "*"], ["r", "south", "*"]],
    },
)


@cache
def people(rows: int = 600, seed: int = 2) -> Table:
    """Ages and towns tell something of s, and each person's own part is drawn."""
    rng = np.random.default_rng(seed)
    age, town = rng.integers(20, 60, rows), rng.integers(0, 3, rows)
    s = np.where(rng.random(rows) < 0.55, (age // 10 + town) % 4, rng.integers(0, 4, rows))
    sex = rng.choice(["f", "m"], rows)
    return made_table(SCHEMA, *zip(age.tolist(), sex, ["pqr"[t] for t in town], ["abcd"[v] for v in s], strict=True))


@cache
def tree(recoding: str = "hierarchy", first: tuple = ()) -> CutTree:
    return CutTree.grow(Mondrian(recoding=recoding), people(), ENGINE, smallest=2, first=first)


def some_antichain(grown: CutTree, seed: int, gone: float = 0.0) -> Antichain:
    """Cut at random; some parts suppressed."""
    rng = np.random.default_rng(seed)
    state = grown._cut_at(grown.inner & ((rng.random(len(grown.parent)) < 0.75) | (grown.depth < 3)))
    lost = rng.random(len(state.kept)) < gone
    return Antichain.of(state.kept[~lost], state.kept[lost])


def test_a_tree_holds_mondrians_own_releases() -> None:
    table, grown = people(), tree()
    for k in (2, 5, 20, 60):
        own = Mondrian(require=(KAnonymity(k=k),)).anonymize(table, ENGINE).release
        assert utility.certainty_penalty(grown.release(grown.at_least(k)).release).value <= 1
        if k == 2:
            assert grown.release(grown.at_least(2)).release == own
    model = TCloseness(t=0.3, distance="js")
    own = Mondrian(require=(KAnonymity(k=2), model)).anonymize(table, ENGINE).release
    cut_on = tree(first=(model,))
    assert cut_on.release(Antichain.of(cut_on.own)).release == own
    assert cut_on.partition.groups > own.groups  # and is cut further below


@pytest.mark.parametrize("gone", [0.0, 0.15])
@pytest.mark.parametrize("count", [1.0, 0.1, 5.0, None])
def test_the_readers_of_the_loop_count_as_the_products_do(count: float | None, gone: float) -> None:
    table, grown, state = people(), tree(), some_antichain(tree(), 7, gone)
    texts = ["relative_threat.share_1.5x <= 1", "relative_threat.q90 <= 2", "belief_gain.q90 <= 0.2"]
    texts += ["confident.60 <= 1", "global_threat <= 1", "disclosed.50 <= 1", "misled.50 <= 1", "raised.2x <= 1"]
    rules = rules_of(texts)
    panel = SearchReaders(grown, [3], rules, worlds=count is None)
    panel.readers = [r for r in panel.readers if r.count == count]
    panel.learn(state, ENGINE)
    found = dict(zip(texts, panel.check(state).counted, strict=True))

    release = grown.release(state).release
    targets = targets_of_table(table, release, 3)
    reader = RandomWorlds() if count is None else Bayesian()
    prior = Prior.uninformative(release, 3, alpha=count or 1.0, beta=count or 1.0)
    attack = run_attack(release, targets, {"x": reader}, prior=prior, engine=ENGINE, left_out=True)
    belief, learner, truth = attack.attackers["x"], attack.learner, table.columns[3].astype(np.int64)
    assert belief.exact
    share = np.bincount(truth, minlength=4) / len(truth)
    # An audit's own readers are beside two learners, and the larger threat counts; the panel's beside one.
    learners = [learner, attack.without[""]] if count in (1.0, None) else [learner]
    shares = [risk.relative_threat_share(belief, one, truth, at_least=1.5).value for one in learners]
    assert found[texts[0]] == pytest.approx(max(shares))
    assert len(shares) == 1 or shares[1] > shares[0]
    threats = [risk.relative_threat(belief, one, truth) for one in learners]
    above = [(np.nan_to_num(t) > 2).mean() - 0.1 * (~np.isnan(t)).mean() for t in threats]
    assert found[texts[1]] == pytest.approx(max(above))
    assert found[texts[2]] == pytest.approx((risk.belief_gain(belief, learner)[1] > 0.2).mean())
    assert found[texts[3]] == pytest.approx(risk.confident(belief, at_least=0.6).value)
    assert found[texts[4]] == pytest.approx(risk.global_threat(belief, truth).value)
    assert found[texts[5]] == pytest.approx(news.disclosed(belief, truth, share, at_least=0.5).value)
    assert found[texts[6]] == pytest.approx(news.misled(belief, truth, share, at_least=0.5).value)
    assert found[texts[7]] == pytest.approx(news.raised(belief, learner, truth, share, times=2.0).value)
    assert 0 < found[texts[0]] < 1  # something is counted at all
    assert 0 < found[texts[3]] < 1


def test_nodes_are_judged_as_if_they_were_published() -> None:
    """At what was learned: people counted at the nodes of an antichain add up to those of its release."""
    grown, state = tree(), some_antichain(tree(), 4)
    rules = rules_of(["relative_threat.share_1.5x <= 1", "confident.60 <= 1"])
    panel = SearchReaders(grown, [3], rules, worlds=False)
    panel.learn(state, ENGINE)
    bad, of_rule = panel.nodes()
    per_reader = bad[state.kept].sum(axis=0) / people().rows
    for number in range(2):
        assert max(per_reader[of_rule == number]) == pytest.approx(panel.check(state).counted[number])


def every_antichain(grown: CutTree, node: int = 0) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    found = [((node,), ()), ((), (node,))]
    children = np.flatnonzero(grown.parent == node).tolist()
    if children:
        for parts in itertools.product(*(every_antichain(grown, child) for child in children)):
            found.append((sum((p[0] for p in parts), ()), sum((p[1] for p in parts), ())))
    return found


@pytest.mark.parametrize("seed", range(30))
def test_the_cheapest_antichain_of_all(seed: int) -> None:
    grown = CutTree.grow(Mondrian(), people(40, 5), ENGINE, smallest=7)
    rng = np.random.default_rng(seed)
    nodes = len(grown.parent)
    assert nodes >= 5
    cost, allowed = rng.random(nodes) * 5, rng.random(nodes) < 0.7
    gone = np.where(rng.random(nodes) < 0.5, rng.random(nodes) * 6, np.inf)
    price = np.where(allowed, cost, np.inf)
    best = min(price[list(k)].sum() + gone[list(g)].sum() for k, g in every_antichain(grown))
    found = cheapest(grown, allowed, cost, gone)
    if np.isinf(best):
        assert found is None
    else:
        assert found is not None
        assert price[found.kept].sum() + gone[found.gone].sum() == pytest.approx(best)


@pytest.mark.parametrize("suppress", [0.0, 0.1])
def test_the_search_keeps_every_rule_and_is_never_worse_than_a_start(suppress: float) -> None:
    rules = rules_of(["relative_threat.max <= 4", "confident.60 <= 0.3"])
    search = Search(tree(), SearchReaders(tree(), [3], rules, worlds=False), suppress, ENGINE)
    starts = [tree().at_least(k) for k in (2, 5, 10, 20, 40, 80)]
    found = search.run([*starts, tree().root()])
    assert found is not None
    assert tree().size[found.gone].sum() <= suppress * people().rows
    kept = [search.loss(s) for s in [*starts, tree().root()] if search.check(s, s).kept]
    assert search.loss(found) < 0.95 * min(kept)  # never worse, and here better
    release = tree().release(found).release
    assert utility.certainty_penalty(release).value == pytest.approx(search.loss(found))


def test_every_reader_of_the_certificate_is_named_and_the_product_agrees() -> None:
    table = people()
    method = Mondrian(require=(KAnonymity(k=3), DistinctL(l=2)))
    found = bounded_release(table, method, ["relative_threat.max <= 2.5"], ENGINE, suppress=0.05)
    assert found.stated == ("relative_threat.max <= 2.5", ADDED)
    readers = {row.reader: row.in_loop for row in found.certificate.rows} | dict.fromkeys(found.certificate.not_asked)
    assert {"bayesian", "random_worlds", "boosted", "bayesian without age", "bayesian without town"} <= set(readers)
    assert not readers["boosted"]
    assert not readers["bayesian without age"]
    release = found.made.release
    kept = release.class_sizes()
    assert kept.min() >= 3
    histograms, _ = release.histograms(3)
    assert ((histograms > 0).sum(axis=1) >= 2).all()
    attack = run_attack(release, targets_of_table(table, release, 3), {"b": Bayesian()}, engine=Engine(seed=99))
    truth = table.columns[3].astype(np.int64)
    assert risk.relative_threat_max(attack.attackers["b"], attack.learner, truth).value <= 2.5
    document = str(found.to_dict())
    assert "seed" not in document


def test_one_reader_alone_is_fooled_by_what_is_fitted_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The study's warning: repaired against one reader, a release shows others more than the limit."""
    from unveil.frontier.bounded import readers as module

    monkeypatch.setattr(module, "COUNTS", (1.0,))
    rules = rules_of(["belief_gain <= 0.4"])[:1]
    alone = Search(tree(), SearchReaders(tree(), [3], rules, worlds=False), 0.0, ENGINE)
    found = alone.run([tree().at_least(k) for k in (5, 20, 40)])
    assert found is not None
    monkeypatch.undo()
    panel = SearchReaders(tree(), [3], rules, worlds=False)
    panel.learn(found, ENGINE)
    assert not panel.check(found, found).kept


def test_a_reader_who_knows_the_mechanism_rules_values_out() -> None:
    """One person alone in a part, two in the other; a, b, b. The cut tells too much only if the first has a."""
    even = np.full((3, 2), 0.5)
    learner = np.tile([1 / 3, 2 / 3], (3, 1))
    truth, child, whole = np.array([0, 1, 1]), np.array([0, 1, 1]), np.full((2, 2), 0.5)
    share, harmful = np.array([1 / 3, 2 / 3]), np.array([True, False])
    rule = np.array([kernels.GAIN]), np.array([0.5])
    before, after = np.zeros(3), np.zeros(3)
    given = even, learner, child, truth, truth[[1, 0, 2]], whole, share, harmful, *rule
    found, true = kernels.replay_cut(*given, 6000, np.uint64(5), before, after)
    assert true
    assert before / 6000 == pytest.approx([1 / 3, 2 / 3, 2 / 3], abs=0.03)
    assert found / 6000 == pytest.approx(1 / 3, abs=0.03)
    assert after.tolist() == [found, found, found]  # now it is known


def test_the_mechanism_is_replayed_and_told() -> None:
    rules = rules_of(["belief_gain <= 0.25", "confident.80 <= 1"])
    panel = SearchReaders(tree(), [3], rules, worlds=False)
    search = Search(tree(), panel, 0.0, ENGINE)
    found = search.run([tree().at_least(k) for k in (10, 40, 80)])
    assert found is not None
    told = replay_mechanism(tree(), panel, found, ENGINE)
    assert 0 < told.replayed <= told.groups
    assert 1.0 <= told.median <= told.q90 <= told.largest
    assert told == replay_mechanism(tree(), panel, found, ENGINE)  # by the engine's seed


def test_limits_that_nothing_keeps_say_what_could_be() -> None:
    with pytest.raises(LimitError, match=r"only one group.*nearest to it is relative_threat.max <= "):
        bounded_release(people(160), Mondrian(), ["relative_threat.max <= 1.0001", "global_threat <= 0.2"], ENGINE)


def test_overlapping_cells_are_certified_by_chains() -> None:
    limits = ["relative_threat.max <= 8", "confident.80 <= 0.5"]
    found = bounded_release(people(160), Mondrian(recoding="order"), limits, ENGINE)
    bayesian = next(r for r in found.certificate.rows if r.reader == "bayesian" and "max" in r.limit)
    assert bayesian.far_end > bayesian.value  # an interval
    assert not bayesian.far_beyond


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("k_anonymity >= 5", "upper limits"),
        ("calibration_error <= 0.1", "choose from relative_threat"),
        ("learner.global_threat <= 0.5", "one of bayesian, random_worlds"),
        ("global_threat - learner.global_threat <= 0.1", "upper limits"),
    ],
)
def test_limits_that_are_not_about_single_people_are_refused(limit: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        rules_of([limit])


def test_a_share_is_limited_beside_maxima() -> None:
    assert [r.limit.text for r in rules_of(["belief_gain <= 0.4"])] == ["belief_gain <= 0.4", ADDED]
    assert len(rules_of(["belief_gain <= 0.4", "confident.80 <= 0.1"])) == 2
    assert rules_of(["relative_threat.q100 <= 3"])[0].kind == kernels.THREAT


def test_other_schemes_are_refused() -> None:
    from unveil.catalog import anonymizer

    with pytest.raises(NotApplicable, match="mondrian"):
        bounded_release(people(), anonymizer("anatomy:l=2"), ["belief_gain <= 0.4"], ENGINE)
    with pytest.raises(NotApplicable, match="mondrian"):
        bounded_release(people(), Mondrian(relaxed=True), ["belief_gain <= 0.4"], ENGINE)
