"""One-to-one linkage against all assignments."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from small import masked_release
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known
from unveil.kernels.auction import auction
from unveil.risk.linkage import assignment
from unveil.risk.linkage.assignment import link_one_to_one
from unveil.risk.linkage.distance import link_by_distance
from unveil.risk.linkage.links import reid
from unveil.risk.linkage.nearest import pair_contributions
from unveil.risk.linkage.published import Published, attribute_distance, published_of
from unveil.risk.linkage.register import Register


def files(
    codes: Any, shown: Any, origin: Any = None, *, row: Any = "same", values: int = 50
) -> tuple[Published, Register]:
    """People by columns of codes, and a masked file of numbers."""
    line = np.arange(values, dtype=np.float64)
    texts = tuple(map(str, range(values)))
    attributes = [
        Attribute(f"x{i}", Role.QUASI_IDENTIFIER, Kind.NUMERIC, texts, low=line, high=line) for i in range(len(codes))
    ]
    columns = tuple(np.array(c, dtype=np.float64) for c in shown)
    people = len(codes[0])
    known = {a.name: Known.exactly(a, np.array(c)) for a, c in zip(attributes, codes, strict=True)}
    register = Register(known, people, np.arange(people) if isinstance(row, str) else row)
    masked = masked_release(tuple(attributes), columns, tuple(range(len(attributes))))
    return published_of(masked, list(known), origin), register


def distances(published: Published, register: Register) -> Any:
    """(people, rows)"""
    parts = [pair_contributions(attribute_distance(published, a, register.known[a.name])) for a in published.attributes]
    return np.sum(parts, axis=0)


@pytest.mark.parametrize("most", [10**6, 0])
@pytest.mark.parametrize(("people", "rows"), [(6, 6), (5, 7), (7, 5)])
@pytest.mark.parametrize("exact", [20_000, 0])
def test_no_other_assignment_has_a_smaller_sum(
    people: int, rows: int, most: int, exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assignment, "MOST_EXACT", exact)  # none: an auction, which with so few people finds the best
    monkeypatch.setattr(assignment, "STEP", 1e-4)
    random = np.random.default_rng(people * rows)
    for _ in range(5):
        codes, shown = random.integers(50, size=(2, people)), random.integers(50, size=(2, rows))
        published, register = files(codes, shown, np.arange(rows))
        links = link_one_to_one(published, register, most=most)
        pairs = distances(published, register)
        linked = np.flatnonzero(links.row >= 0)
        assert len(linked) == min(people, rows) == len(set(links.row[linked].tolist()))
        if people <= rows:
            sums = [pairs[np.arange(people), list(p)].sum() for p in permutations(range(rows), people)]
        else:
            sums = [pairs[list(p), np.arange(rows)].sum() for p in permutations(range(people), rows)]
        assert (links.score[linked] ** 2).sum() == pytest.approx(min(sums))


@pytest.mark.parametrize("most", [10**6, 0])
def test_equal_people_and_equal_rows_stand_for_each_other(most: int) -> None:
    # Two people of 10 with rows at 10 and 12, two of 30 whose rows are both at 31.
    published, register = files([[10, 10, 30, 30]], [[10, 12, 31, 31]], np.arange(4))
    links = link_one_to_one(published, register, most=most)
    assert links.chance is not None
    assert links.chance.tolist() == [1 / 2, 1 / 2, 1 / 2, 1 / 2]
    assert links.size.tolist() == [1, 1, 2, 2]
    assert not links.claim.any()
    # Nobody says whose row is whose.
    unknown, somebody = files([[10, 10, 30, 30]], [[10, 12, 31, 31]])
    assert link_one_to_one(unknown, somebody, most=most).chance is None


def test_rows_of_ones_own_link_more_than_nearest_rows() -> None:
    # Everybody moved up by 3 of 2 … 9 steps: the nearest row is often a neighbour's, but all rows must be somebody's.
    random = np.random.default_rng(1)
    codes = np.cumsum(random.integers(2, 10, size=30))
    published, register = files([codes], [codes + 3], np.arange(30), values=int(codes.max()) + 1)
    nearest = link_by_distance(published, register, scales=("common",))
    assert reid(nearest).value < 0.8
    links = link_one_to_one(published, register)
    assert reid(links).value == 1
    assert links.claim.all()


def test_near_rows_give_the_same_as_all_pairs() -> None:
    random = np.random.default_rng(2)
    codes = random.integers(400, size=(3, 150))
    shown = codes + random.normal(size=codes.shape) * 8
    published, register = files(codes, shown, np.arange(150), values=400)
    every, near = (link_one_to_one(published, register, most=most) for most in (10**9, 0))
    assert (near.score**2).sum() == pytest.approx((every.score**2).sum())
    assert near.row.tolist() == every.row.tolist()


@pytest.mark.parametrize("noise", [0.1, 0.6, 3.0])
def test_an_auction_is_as_near_to_the_best_as_it_says(noise: float) -> None:
    """Against the exact sparse assignment, and below by its own prices (duality)."""
    random = np.random.default_rng(4)
    own = random.normal(size=(300, 3))
    shown = own + noise * random.normal(size=own.shape)
    squared = ((own[:, None] - shown[None]) ** 2).sum(axis=2)
    near = np.sort(np.argsort(squared, axis=1)[:, :12], axis=1)
    weight, row = np.take_along_axis(squared, near, axis=1).ravel(), near.ravel().astype(np.int64)
    start, without = np.arange(301) * 12, 2 * float(weight.max())
    for step in (1e-4, 1e-2):
        edge, price, ended = auction(start, row, weight, 300, without, step, 10**7)
        assert ended
        got = row[edge[edge >= 0]]
        assert len(set(got.tolist())) == len(got)  # a row is one person's
        total = weight[edge[edge >= 0]].sum() + (edge < 0).sum() * without
        bids = (weight + price[row]).reshape(300, 12).min(axis=1)
        lower = np.minimum(bids, without).sum() - price.sum()
        assert lower - 1e-9 <= total <= lower + 300 * step + 1e-9
    exact = assignment._matched(np.repeat(np.arange(300), 12), row, weight, 300, 300)
    linked = exact >= 0
    best = squared[np.flatnonzero(linked), exact[linked]].sum() + (~linked).sum() * without
    assert best >= lower - 1e-9
    assert total <= best + 300 * step + (~linked).sum() * without
    assert not auction(start, row, weight, 300, without, 1e-4, 10)[2]  # too few bids
