"""Learned distances of large files: judged against all rows as if pair by pair, and learned nearly as well."""

import numpy as np
import pytest

from small import QI, made_schema, made_table, masked_release
from unveil.anonymizers.microaggregation import Microaggregation
from unveil.anonymizers.noise import Noise
from unveil.data.rows import rows_of
from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.risk.linkage import candidates, supervised
from unveil.risk.linkage.aggregates import AGGREGATES
from unveil.risk.linkage.candidates import distinct_rows_of, link_by_parameters, worst_links
from unveil.risk.linkage.distance import on_best_scale
from unveil.risk.linkage.pairs import all_pairs
from unveil.risk.linkage.published import Published, published_of
from unveil.risk.linkage.register import Register, register_of_table
from unveil.risk.linkage.supervised import links_with


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exchanges of people, and more starts, are for small files."""
    monkeypatch.setattr(supervised, "ROUNDS", 0)
    monkeypatch.setattr(supervised, "STARTS", 0)
    monkeypatch.setattr(supervised, "DIRECTIONS", 20)


def released(people: int, *, categories: bool = False, alike: bool = False) -> tuple[Published, Register]:
    random = np.random.default_rng(5)
    values = random.normal(50, 10, size=(people, 3)).round(1)
    attributes = {name: {"role": QI, "kind": "numeric"} for name in "abc"}
    rows = [[f"{v:.1f}" for v in row] for row in values]
    if categories:
        attributes["d"] = {"role": QI, "domain": ["x", "y"]}
        rows = [[*row, "xy"[i % 2]] for i, row in enumerate(rows)]
    table = made_table(made_schema(attributes), *rows)
    method = Microaggregation(k=3) if alike else Noise(amount=0.3)
    made = method.anonymize(table, Engine(seed=1))
    masked, group = made.release, made.group_of_row
    if not alike:  # one row is not published
        rows = rows_of(masked)
        masked = masked_release(rows.attributes, tuple(c[1:] for c in rows.columns), rows.masked)
        group = group - 1
    return published_of(masked, tuple(attributes), group), register_of_table(table, table.attributes)


@pytest.mark.parametrize("name", AGGREGATES)
@pytest.mark.parametrize("alike", [False, True])
def test_all_rows_are_judged_as_pair_by_pair(name: str, alike: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    published, held = released(40, alike=alike)
    family, random = AGGREGATES[name], np.random.default_rng(0)
    vectors = [family.equal(3), family.draw(3, random), family.corners(3)[0]]
    cells, pairs = distinct_rows_of(published, held), all_pairs(published, held)
    assert len(cells.count) == (13 if alike else 39)
    assert cells.points
    monkeypatch.setattr(candidates, "MOST_ENTRIES", 39 * 7 * 5)  # some people at a time
    for vector, (links, near) in zip(vectors, link_by_parameters(cells, family, vectors, 4, Engine()), strict=True):
        expected = links_with(pairs, name, vector)
        assert links.size.tolist() == expected.size.tolist()
        assert links.chance == pytest.approx(expected.chance)
        assert links.score == pytest.approx(expected.score, abs=1e-7)
        distance = family.features(cells.take(np.arange(40))) @ vector
        found = np.sort(np.take_along_axis(distance, near, 1), axis=1)
        assert found == pytest.approx(np.sort(distance, axis=1)[:, :4])


@pytest.mark.parametrize(("name", "categories"), [("weighted_mean", True), ("owa", False)])
def test_learning_from_near_rows_does_nearly_as_well(name: str, categories: bool) -> None:
    published, held = released(45, categories=categories)
    pairs = all_pairs(on_best_scale(published, held), held)
    small, links = worst_links(published, held, name, most=0)
    # What is said of the parameters is exact, whatever they were learned from.
    assert links.chance == pytest.approx(links_with(pairs, name, small.parameters).chance)
    whole, _ = worst_links(published, held, name)
    assert small.plain == pytest.approx(whole.plain)
    assert small.reid == pytest.approx(float(np.mean(links.chance)))  # type: ignore[arg-type]
    assert 0.95 * whole.reid <= small.reid
    assert small.plain < small.reid < 1
    assert 0 <= small.tested <= 1
    assert small.people == 45


def test_learning_from_a_sample_of_people(monkeypatch: pytest.MonkeyPatch) -> None:
    published, held = released(60)
    monkeypatch.setattr(candidates, "MOST_LEARNED", 30 * 60 * 3)
    found, _ = worst_links(published, held, most=0)
    assert found.reid > found.plain


def test_what_cannot_be_asked_of_large_files() -> None:
    published, held = released(12)
    with pytest.raises(NotApplicable, match="up to 120 people"):
        worst_links(published, held, certified=True, most=0)
    nobody = Register(held.known, held.people, np.full(12, 11))
    assert worst_links(published, nobody, most=0)[0].people == 12
