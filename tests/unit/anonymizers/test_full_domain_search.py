"""The search of the lattice against looking at every node, for every measure and every kind of requirement."""

from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small import QI, SENSITIVE, made_schema, made_table
from unveil import utility
from unveil.anonymizers.full_domain import FullDomain
from unveil.anonymizers.parts import lattice as _lattice
from unveil.anonymizers.parts import roll_up as _classes
from unveil.anonymizers.parts.lattice import search
from unveil.anonymizers.parts.node_loss import Measure
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, Stopped, UsageError
from unveil.privacy.distances import DISTANCES
from unveil.privacy.models import (
    MODELS,
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    DistinctL,
    EntropyL,
    EpsilonM,
    KAnonymity,
    NTCloseness,
    PrivacyModel,
    ProbabilisticL,
    PSensitiveK,
    RecursiveCL,
    TCloseness,
)
from unveil.privacy.reference import reference_of

ZIP = [[z, z[:4] + "*", z[:3] + "**", "*"] for z in ("45501", "45502", "45511", "45601", "46001")]
AGES = [[str(a), f"{a // 2 * 2}+", "*"] for a in range(20, 26)]
SCHEMA = made_schema(
    {
        "zip": {"role": QI},
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 25}},
        "sex": {"role": QI, "domain": ["f", "m"], "missing": "category"},
        "s": {"role": SENSITIVE, "kind": "numeric", "domain": [1, 2, 3, 9], "missing": "category"},
    },
    {"zip": ZIP, "age": AGES},
    missing=["?"],
)
ATTRIBUTES = tuple(SCHEMA.attribute(name) for name in SCHEMA.names)
HEIGHTS = (3, 2, 1)
MEASURES = get_args(Measure)
REQUIREMENTS: dict[str, tuple[PrivacyModel, ...]] = {
    "k": (KAnonymity(k=3),),
    "distinct": (DistinctL(l=2),),
    "p sensitive": (PSensitiveK(p=2, k=3),),
    "k and probabilistic": (KAnonymity(k=2), ProbabilisticL(l=1.6)),
    "entropy": (EntropyL(l=1.7),),
    "recursive": (RecursiveCL(c=1.5, l=2),),
    "alpha": (AlphaK(alpha=0.6, k=2),),
    "t": (TCloseness(t=0.35),),
    "t ordered": (TCloseness(t=0.3, distance="ordered"),),
    "t and k": (KAnonymity(k=3), TCloseness(t=0.3, distance="js")),
    "delta": (DeltaDisclosure(delta=1.2),),
    "beta": (BetaLikeness(beta=1.5),),
    "epsilon": (EpsilonM(m=1.2, epsilon=1),),
}


def random_table(rows: int, seed: int) -> Table:
    random = np.random.default_rng(seed)
    columns = []
    for attribute in ATTRIBUTES:
        share = random.dirichlet(np.ones(attribute.codes) * 0.8)
        columns.append(random.choice(attribute.codes, rows, p=share).astype(attribute.dtype))
    return Table(ATTRIBUTES, tuple(columns))


Losses = dict[tuple[int, ...], dict[str, float]]  # of every feasible node, by every measure


def exhaustive(table: Table, require: tuple[PrivacyModel, ...], suppress: float) -> Losses:
    """Every node's release is made, if it can be, and measured."""
    found = {}
    for levels in product(*(range(h + 1) for h in HEIGHTS)):
        try:
            release = (
                FullDomain(levels=levels, suppress=suppress, require=require).anonymize(table, Engine(seed=0)).release
            )
        except RequirementError:
            continue
        found[levels] = {measure: getattr(utility, measure)(release).value for measure in MEASURES}
    return found


def least(losses: Losses, measure: str) -> float:
    return min(loss[measure] for loss in losses.values())


def check_search(table: Table, name: str, suppress: float) -> bool:
    """Whether anything was feasible; the search then found the optimum by every measure, and said so."""
    losses = exhaustive(table, REQUIREMENTS[name], suppress)
    for measure in MEASURES:
        if not losses:
            with pytest.raises(RequirementError, match="no node of 24 keeps"):
                search(table, REQUIREMENTS[name], suppress, measure, 10**6, Engine(seed=0))
            continue
        found = search(table, REQUIREMENTS[name], suppress, measure, 10**6, Engine(seed=0))
        assert losses[found.levels][measure] == pytest.approx(found.loss)
        assert found.loss == pytest.approx(least(losses, measure)), (measure, found)
        assert found.optimal
        assert found.nodes == 24
    return bool(losses)


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_the_search_finds_the_optimum(name: str) -> None:
    feasible = [check_search(random_table(18 + 5 * seed, seed), name, 0.2 * seed) for seed in range(3)]
    assert any(feasible)


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from(sorted(REQUIREMENTS)), st.sampled_from([0, 0.25, 1]))
def test_any_table(seed: int, rows: int, name: str, suppress: float) -> None:
    check_search(random_table(rows, seed), name, suppress)


def test_looking_at_few_nodes_says_what_could_be_better() -> None:
    table = random_table(30, 4)
    losses = exhaustive(table, (KAnonymity(k=3),), 0.1)
    for measure in MEASURES:
        found = search(table, (KAnonymity(k=3),), 0.1, measure, 1, Engine(seed=0))
        assert found.least <= least(losses, measure) + 1e-12
        assert found.loss == pytest.approx(losses[found.levels][measure])


def test_a_lattice_that_is_too_large_is_descended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lattice, "MOST_NODES", 3)
    proven = []
    for seed, suppress in product(range(4), (0.0, 0.2)):
        table = random_table(30, seed)
        losses = exhaustive(table, (KAnonymity(k=3),), suppress)
        for measure in MEASURES:
            found = search(table, (KAnonymity(k=3),), suppress, measure, 10**6, Engine(seed=0))
            assert losses[found.levels][measure] == pytest.approx(found.loss)
            assert found.least <= least(losses, measure) + 1e-12
            proven.append(found.optimal)
        note = FullDomain(suppress=suppress, require=(KAnonymity(k=3),)).anonymize(table, Engine(seed=0)).note
        assert ("is not ruled out" in note) != ("no node loses less" in note)
    assert not all(proven)
    lopsided = made_table(SCHEMA, *[("45501", 20, "f", 1)] * 9, ("45502", 21, "m", 2))
    with pytest.raises(RequirementError, match="too many to search, and the top of the lattice misses alpha_k"):
        search(lopsided, (AlphaK(alpha=0.5, k=2),), 0.4, "discernibility", 10**6, Engine(seed=0))


def test_classes_are_rolled_up_from_any_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is kept and given up, the classes are those of the rows."""
    table = random_table(40, 7)
    for most, widest in ((10**6, 2**62), (30, 2**62), (10**6, 1)):
        monkeypatch.setattr(_classes, "MOST_CELLS", most)
        monkeypatch.setattr(_classes, "WIDEST_KEY", widest)
        classes = _classes.RollUp.of(table, (0, 1, 2), [table.columns[3]], [table.attributes[3].codes])
        order = np.random.default_rng(1).permutation(list(product(*(range(h + 1) for h in HEIGHTS))))
        for levels in order.tolist():
            made = classes.at(tuple(levels))
            columns = [_classes.nodes_of(ATTRIBUTES[i], levels[i])[table.columns[i]] for i in range(3)]
            keys = list(zip(*columns, strict=True))
            wanted = {key: np.zeros(5, dtype=int) for key in keys}
            for key, value in zip(keys, table.columns[3], strict=True):
                wanted[key][value] += 1
            found = {tuple(n): h for n, h in zip(made.node.tolist(), made.histograms[0], strict=True)}
            assert {tuple(map(int, k)): v.tolist() for k, v in wanted.items()} == {
                k: v.tolist() for k, v in found.items()
            }
            assert made.size.tolist() == made.histograms[0].sum(axis=1).tolist()


@pytest.mark.parametrize("name", MODELS)
def test_models_grow_and_unite_as_they_say(name: str) -> None:
    """What pruning rests on: random groups united with random others."""
    if name in ("b_t_privacy", "delta_presence", "n_t_closeness", "population_uniqueness", "strict_n_t_closeness"):
        assert (MODELS[name].grows, MODELS[name].unites) == (False, False)
        return
    if name == "k_map":  # its level is a number of people, which only grows
        assert (MODELS[name].grows, MODELS[name].unites) == (True, True)
        return
    random = np.random.default_rng(3)
    attribute = SCHEMA.attribute("s")
    one, other = (random.poisson(random.gamma(0.5, 3.0, (4000, attribute.codes))) for _ in range(2))
    one, other = (np.where(h.sum(axis=1, keepdims=True) > 0, h, 1) for h in (one, other))
    overall = reference_of(attribute, np.array([30, 25, 20, 15, 10]))
    seen = {"grows": False, "unites": False}
    for model in _models(name):
        holds = [model.holds(model.level(h, overall)) for h in (one, other, one + other)]
        grown, united = holds[0] & ~holds[2], holds[0] & holds[1] & ~holds[2]
        if getattr(model, "distance", "") != "ordered":
            assert not (model.grows and grown.any())
            assert not (model.unites and united.any())
        seen["grows"] |= bool(grown.any())
        assert 0 < holds[0].sum() < len(one), model
    assert seen["grows"] != MODELS[name].grows  # and no model that could be pruned by is left out


def _models(name: str) -> list[PrivacyModel]:
    """The model at several thresholds."""
    if name == "t_closeness":
        return [TCloseness(t=t, distance=d) for d in DISTANCES for t in (0.15, 0.3) if d not in ("kl", "hierarchical")]
    options: dict[str, list[dict[str, float]]] = {
        "k_anonymity": [{"k": 6}],
        "distinct_l": [{"l": 2}, {"l": 4}],
        "probabilistic_l": [{"l": 1.5}, {"l": 2.5}],
        "entropy_l": [{"l": 1.8}, {"l": 3}],
        "recursive_cl": [{"c": 1.2, "l": 2}, {"c": 3, "l": 3}],
        "alpha_k": [{"alpha": 0.5, "k": 3}],
        "p_sensitive_k": [{"p": 3, "k": 5}],
        "delta_disclosure": [{"delta": 1.0}],
        "beta_likeness": [{"beta": 1.0}],
        "enhanced_beta_likeness": [{"beta": 1.5}],
        "epsilon_m": [{"m": 1.5, "epsilon": 1}],
    }
    return [MODELS[name](**chosen) for chosen in options[name]]


def test_the_note_says_what_was_found() -> None:
    table = random_table(30, 2)
    made = FullDomain(suppress=0.1, require=(KAnonymity(k=3),)).anonymize(table, Engine(seed=0))
    found = search(table, (KAnonymity(k=3),), 0.1, "certainty_penalty", 100, Engine(seed=0))
    levels = "+".join(map(str, found.levels))
    assert made.note.startswith(
        f"full_domain:levels={levels}: certainty_penalty {found.loss:.6g}; no node loses less ("
    )
    assert made.note.endswith("of 24 nodes looked at)")
    assert utility.certainty_penalty(made.release).value == pytest.approx(found.loss)


def test_what_cannot_be_searched() -> None:
    table = random_table(20, 1)
    with pytest.raises(UsageError, match="full_domain needs a requirement"):
        FullDomain().anonymize(table, Engine(seed=0))
    with pytest.raises(UsageError, match="no tree of supersets"):
        FullDomain(require=(NTCloseness(t=0.1, n=10),)).anonymize(table, Engine(seed=0))
    with pytest.raises(UsageError, match="nodes = 0; choose"):
        FullDomain(nodes=0)
    with pytest.raises(RequirementError, match="no node of 24 keeps k_anonymity:k=21 with suppress=0; the least"):
        FullDomain(require=(KAnonymity(k=21),)).anonymize(table, Engine(seed=0))
    plain = made_schema({"q": {"role": QI, "domain": ["x"]}})
    with pytest.raises(UsageError, match="information_loss needs exactly one sensitive attribute, not 0"):
        FullDomain(require=(KAnonymity(k=1),), measure="information_loss").anonymize(
            made_table(plain, ["x"]), Engine(seed=0)
        )
    engine = Engine(seed=0)
    engine.stop.set()
    with pytest.raises(Stopped):
        FullDomain(require=(TCloseness(t=0),)).anonymize(table, engine)


def test_without_quasi_identifiers_the_whole_must_hold() -> None:
    schema = made_schema({"s": {"role": SENSITIVE, "domain": ["a", "b"]}})
    table = made_table(schema, ["a"], ["b"])
    assert FullDomain(require=(KAnonymity(k=2),)).anonymize(table, Engine(seed=0)).release.sizes.tolist() == [2]
    with pytest.raises(RequirementError, match="cannot be met"):
        FullDomain(require=(KAnonymity(k=3),)).anonymize(table, Engine(seed=0))


def test_more_quasi_identifiers_than_an_array_has_axes() -> None:
    names = [f"q{i}" for i in range(66)]
    schema = made_schema({name: {"role": QI, "domain": ["x", "y"]} for name in names})
    table = made_table(schema, *[["x"] * 66] * 3, ["y"] + ["x"] * 65)
    made = FullDomain(require=(KAnonymity(k=2),), nodes=200).anonymize(table, Engine(seed=0))
    assert made.release.class_sizes().min() >= 2
    assert "a node that loses as little as 0.0151515 is not ruled out" in made.note  # q0 alone as *
