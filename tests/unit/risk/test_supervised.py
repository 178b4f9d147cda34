"""Supervised distances: aggregates by hand, the proof against listing sets of people, the search against the proof."""

import doctest
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from small import QI, made_schema, made_table
from unveil.anonymizers.noise import Noise
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.risk.linkage import supervised
from unveil.risk.linkage.aggregates import AGGREGATES, aggregate_named
from unveil.risk.linkage.certificate import MARGIN
from unveil.risk.linkage.distance import link_by_distance
from unveil.risk.linkage.links import reid
from unveil.risk.linkage.pairs import Pairs, all_pairs
from unveil.risk.linkage.published import published_of
from unveil.risk.linkage.register import register_of_table
from unveil.risk.linkage.supervised import (
    OwnRowGaps,
    _along,
    _linked,
    compare_own,
    learn_distance,
    links_by,
    links_with,
    prove,
    worst_case,
)


def made(people: int, attributes: int, seed: int, noise: tuple[float, ...] = (0.2, 0.8, 0.5, 1.0)) -> Pairs:
    """Normal people, and their rows with noise that differs between attributes."""
    random = np.random.default_rng(seed)
    held = random.normal(size=(people, attributes))
    shown = held + random.normal(size=held.shape) * noise[:attributes]
    signed = held[:, None] - shown[None]
    return Pairs(tuple("abcd"[:attributes]), signed**2, signed, np.arange(people))


def one_pair(*signed: float) -> Pairs:
    values = np.array(signed)[None, None]
    return Pairs(tuple("abcd"[: len(signed)]), values**2, values, np.array([0]))


def by_listing(found: OwnRowGaps, name: str, attributes: int) -> int:
    """The largest set of people that some parameters link, sets tried from the largest down, each a linear program."""
    family = aggregate_named(name)
    matrix, least, greatest, low, high = family.rules(attributes)
    people = len(found.worth)
    for size in range(people, 0, -1):
        for kept in combinations(range(people), size):
            rows = [-found.gap[i, j] for i in kept for j in range(people) if i != j]
            bound = [-MARGIN] * len(rows)
            rows += [*(-matrix), *matrix[np.isfinite(greatest)]]
            bound += [*(-least), *greatest[np.isfinite(greatest)]]
            if linprog(np.zeros(len(low)), A_ub=rows, b_ub=bound, bounds=list(zip(low, high, strict=True))).success:
                return size
    return 0


def test_aggregates_by_hand() -> None:
    pair = one_pair(1, 2, 3)  # contributions 1, 4, 9
    distance = {name: family.features(pair)[0, 0] for name, family in AGGREGATES.items()}
    assert distance["weighted_mean"] @ [0.5, 0.25, 0.25] == pytest.approx(0.5 + 1 + 2.25)
    assert distance["owa"] @ [0.5, 0.25, 0.25] == pytest.approx(4.5 + 1 + 0.25)
    # mu of a, b, ab, c, ac, bc, abc: 1 · mu(abc) + (4 - 1) · mu(bc) + (9 - 4) · mu(c)
    assert distance["choquet"] @ [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1.0] == pytest.approx(1 + 3 * 0.6 + 5 * 0.4)
    # q11 + 2·2 q12 + 2·3 q13 + 4 q22 + 2·6 q23 + 9 q33
    assert distance["bilinear"] @ [0.2, 0.1, 0, 0.3, -0.1, 0.5] == pytest.approx(0.2 + 0.4 + 1.2 - 1.2 + 4.5)


def test_the_plain_distance_is_in_every_family() -> None:
    pairs = made(6, 3, seed=1)
    for family in AGGREGATES.values():
        assert family.features(pairs) @ family.equal(3) == pytest.approx(pairs.squared.mean(axis=2))


def test_a_family_holds_the_smaller_ones() -> None:
    pairs = made(6, 3, seed=2)
    weights = np.array([0.6, 0.3, 0.1])
    for name in ("choquet", "bilinear"):
        for inner in AGGREGATES[name].holds:
            wide = AGGREGATES[name].features(pairs) @ AGGREGATES[name].widened(inner, weights, 3)
            assert wide == pytest.approx(AGGREGATES[inner].features(pairs) @ weights)


@pytest.mark.parametrize("name", AGGREGATES)
def test_parameters_that_are_drawn_or_mended_are_allowed(name: str) -> None:
    family, random = AGGREGATES[name], np.random.default_rng(3)
    matrix, least, greatest, low, high = family.rules(3)
    drawn = [family.draw(3, random) for _ in range(20)]
    mended = [family.nearest(random.normal(size=len(low)), 3) for _ in range(20)]
    for p in (*drawn, *mended, *family.corners(3), family.equal(3)):
        assert (matrix @ p >= least - 1e-9).all()
        assert (matrix @ p <= greatest + 1e-9).all()
        assert (p >= low - 1e-9).all()
        assert (p <= high + 1e-9).all()
        assert family.cut(p, 3) is None


def test_a_matrix_that_is_not_semidefinite_is_cut_off() -> None:
    family = AGGREGATES["bilinear"]
    bad = np.array([0.5, 0.5, 0.5])  # [[.5, .5], [.5, .5]] is allowed, …
    assert family.cut(bad, 2) is None
    bad[2] = 0.4  # … but no smaller corner
    row = family.cut(bad, 2)
    assert row is not None
    assert row @ bad < 0
    random = np.random.default_rng(0)
    assert all(row @ family.draw(2, random) >= 0 for _ in range(50))


@pytest.mark.parametrize(("name", "attributes"), [("weighted_mean", 3), ("owa", 3), ("choquet", 2), ("choquet", 3)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_proof_equals_listing_all_sets_of_people(name: str, attributes: int, seed: int) -> None:
    found = compare_own(made(6, attributes, seed, noise=(0.5, 1.0, 1.5)), AGGREGATES[name])
    proof = prove(found, AGGREGATES[name])
    assert proof.proven
    listed = by_listing(found, name, attributes)
    assert 0 < listed < 6  # nobody and everybody would prove little
    assert proof.most == listed
    assert links_by(found, proof.parameters).sum() == proof.linked == proof.most


@pytest.mark.parametrize("seed", [0, 1])
def test_the_proof_of_a_bilinear_form_equals_a_fine_grid(seed: int) -> None:
    family, pairs = AGGREGATES["bilinear"], made(8, 2, seed, noise=(0.5, 1.0))
    found = compare_own(pairs, family)
    best = 0.0
    for q in np.linspace(0, 1, 101):
        for c in np.linspace(-1, 1, 101) * np.sqrt(q * (1 - q)):
            form = np.einsum("ija,ab,ijb->ij", pairs.signed, [[q, c], [c, 1 - q]], pairs.signed)
            best = max(best, float((form.argmin(axis=1) == pairs.own).sum()))
    proof = prove(found, family)
    assert proof.proven
    assert proof.linked == proof.most == best
    assert np.linalg.eigvalsh([[proof.parameters[0], proof.parameters[1]], proof.parameters[1:]])[0] >= -1e-9


@pytest.mark.parametrize(
    ("name", "people", "attributes", "seed"),
    [("weighted_mean", 100, 3, 0), ("weighted_mean", 30, 4, 2), ("choquet", 20, 3, 0), ("bilinear", 20, 3, 2)],
)
def test_the_search_is_within_5_percent_of_the_proven_optimum(
    name: str, people: int, attributes: int, seed: int
) -> None:
    family = AGGREGATES[name]
    noise = (0.05, 0.3, 0.15) if people == 100 else (0.2, 0.8, 0.5, 1.0)
    found = compare_own(made(people, attributes, seed, noise), family)
    parameters = learn_distance(found, family)
    learned = links_by(found, parameters).sum()
    # Proven from nothing: what the search found does not help.
    proof = prove(found, family, nodes=3000)
    assert proof.proven
    assert proof.most < people
    assert 0.95 * proof.most <= learned <= proof.most
    assert learned > links_by(found, family.equal(attributes)).sum() + 2


def test_a_proof_that_is_cut_short_still_bounds() -> None:
    family = AGGREGATES["weighted_mean"]
    found = compare_own(made(30, 4, 2), family)
    whole = prove(found, family)
    early = prove(found, family, seconds=1e-9)
    assert (early.proven, early.most) == (False, 30)
    assert early.linked <= whole.linked == whole.most < early.most


@pytest.mark.parametrize("name", AGGREGATES)
def test_a_line_is_searched_exactly(name: str) -> None:
    family, random = AGGREGATES[name], np.random.default_rng(6)
    found = compare_own(made(15, 3, seed=6), family)
    for _ in range(5):
        here, goal = family.draw(3, random), family.draw(3, random)
        best = max(_linked(found, here + t * (goal - here)) for t in np.linspace(0, 1, 501))
        moved = _along(found, here, goal)
        assert moved is not None
        assert _linked(found, moved) >= best


def test_slopes_of_free_numbers() -> None:
    family, random = AGGREGATES["bilinear"], np.random.default_rng(7)
    free, weight = random.normal(size=9), random.normal(size=6)
    step = 1e-6 * np.eye(9)
    measured = [weight @ (family.from_free(free + h, 3) - family.from_free(free - h, 3)) / 2e-6 for h in step]
    assert family.slope(free, weight, 3) == pytest.approx(measured, abs=1e-6)


def test_rows_that_nothing_tells_apart_count_in_parts() -> None:
    # Persons 0 and 1 have equal rows: each is linked by half, whatever the weights; person 2 by all.
    rows = np.array([[0.0, 0.0], [0.0, 0.0], [5.0, 5.0]])
    signed = np.array([[0.1, 0.2], [0.0, 0.1], [5.0, 4.0]])[:, None] - rows[None]
    found = compare_own(Pairs(("a", "b"), signed**2, signed, np.arange(3)), AGGREGATES["weighted_mean"])
    assert found.worth.tolist() == [0.5, 0.5, 1.0]
    proof = prove(found, AGGREGATES["weighted_mean"])
    assert proof.most == pytest.approx(2.0, abs=1e-5)
    assert links_by(found, proof.parameters).tolist() == [0.5, 0.5, 1.0]


def released() -> tuple[Pairs, float]:
    random = np.random.default_rng(5)
    values = random.normal(size=(30, 3)).round(2)
    schema = made_schema({name: {"role": QI, "kind": "numeric"} for name in "abc"})
    table = made_table(schema, *([f"{v:.2f}" for v in row] for row in values))
    masked = Noise(amount=0.4).anonymize(table, Engine(seed=1))
    held = register_of_table(table, table.attributes)
    published = published_of(masked.release, ("a", "b", "c"), masked.group_of_row)
    return all_pairs(published, held), reid(link_by_distance(published, held, scales=("common",))).value


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither exchanges nor more starts, where how good the search is does not matter."""
    monkeypatch.setattr(supervised, "ROUNDS", 0)
    monkeypatch.setattr(supervised, "STARTS", 0)


@pytest.mark.usefixtures("quick")
def test_worst_case_of_a_masked_table() -> None:
    pairs, plain = released()
    found = worst_case(pairs, "weighted_mean", certified=True)
    assert found.plain == pytest.approx(plain)
    assert found.plain <= found.reid <= found.bound
    assert found.trained >= found.reid - 0.3
    assert 0 <= found.tested <= 1
    assert reid(links_with(pairs, "weighted_mean", found.parameters)).value == pytest.approx(found.reid)
    again = worst_case(pairs, "weighted_mean")
    assert (found.trained, found.tested) == (again.trained, again.tested)


@pytest.mark.usefixtures("quick")
def test_learning_from_noise_does_well_where_it_learned_only() -> None:
    # Rows have nothing to do with people: whatever is learned is overfitted.
    random = np.random.default_rng(8)
    signed = random.normal(size=(20, 1, 4)) - random.normal(size=(1, 20, 4))
    found = worst_case(Pairs(tuple("abcd"), signed**2, signed, np.arange(20)), "bilinear")
    assert found.trained >= 0.2
    assert found.tested <= found.trained / 2


@pytest.mark.usefixtures("quick")
def test_people_without_a_row_are_never_linked() -> None:
    pairs = made(10, 2, seed=4)
    own = np.where(np.arange(10) < 5, np.arange(10), -1)
    all_of_them = worst_case(Pairs(pairs.names, pairs.squared, pairs.signed, own))
    assert all_of_them.people == 10
    assert all_of_them.reid <= 0.5
    with pytest.raises(NotApplicable, match="none of these people"):
        compare_own(Pairs(pairs.names, pairs.squared, pairs.signed, np.full(10, -1)), AGGREGATES["owa"])


def test_what_cannot_be_learned_is_refused() -> None:
    pairs = made(4, 2, seed=0)
    with pytest.raises(UsageError, match="weighted_mean, owa, choquet, bilinear"):
        worst_case(pairs, "median")
    with pytest.raises(NotApplicable, match="single numbers"):
        worst_case(Pairs(pairs.names, pairs.squared, None, pairs.own), "bilinear")
    many: NDArray[np.float64] = np.zeros((1, 1, 7))
    with pytest.raises(NotApplicable, match="at most 6 attributes"):
        AGGREGATES["choquet"].features(Pairs(tuple("abcdefg"), many, many, np.array([0])))
    wide = compare_own(made(121, 1, seed=0), AGGREGATES["owa"])
    with pytest.raises(NotApplicable, match="120 people"):
        prove(wide, AGGREGATES["owa"])


def test_the_page_says_what_the_program_does() -> None:
    page = Path(__file__).parents[3] / "docs" / "linkage.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert failed == 0
    assert tried >= 8
