"""Record linkage: hand-worked tables, and searches against all pairs."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from small import QI, made_release, made_schema, made_table, masked_release
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known
from unveil.data.regions import Regions
from unveil.data.release import Release
from unveil.errors import NotApplicable, UsageError
from unveil.kernels import linkage
from unveil.risk.linkage.attribute_distances import AttributeDistance, distance_of_numbers, distance_of_regions
from unveil.risk.linkage.distance import link_by_distance
from unveil.risk.linkage.links import (
    Links,
    anonymity_sets,
    claim_precision,
    claimed,
    mean_chance,
    reid,
    reid_of,
    single_links,
)
from unveil.risk.linkage.nearest import find_nearest
from unveil.risk.linkage.patterns import code_files, pattern_counts, pattern_of, person_patterns
from unveil.risk.linkage.probabilistic import (
    Agreement,
    classify,
    estimate_unsupervised,
    from_true_links,
    link_by_patterns,
)
from unveil.risk.linkage.published import Published, compare_values, published_of
from unveil.risk.linkage.register import Register, register_of_table


def numeric(name: str, values: Any, **more: Any) -> Attribute:
    places = np.array(values, dtype=np.float64)
    texts = tuple(str(v) for v in values)
    texts = (*texts, "?") if more.get("missing") else texts
    return Attribute(name, Role.QUASI_IDENTIFIER, Kind.NUMERIC, texts, low=places, high=places, **more)


def table_of(axis: AttributeDistance) -> NDArray[np.float64]:
    """(people, rows) the contributions of one axis, one pair at a time."""
    found = np.empty((len(axis.person), len(axis.row)))
    for i, j in product(range(len(axis.person)), range(len(axis.row))):
        p, r = axis.person[i], axis.row[j]
        if axis.table is not None or axis.equal:
            found[i, j] = axis.table[p, r] if axis.table is not None else float(p != r)
            continue
        assert axis.known is not None
        assert axis.published is not None
        low, high, first, last = axis.known[0][p], axis.known[1][p], axis.published[0][r], axis.published[1][r]
        if np.isnan(low) or np.isnan(first):
            free = np.isnan(low) and np.isnan(first)
            found[i, j] = 0 if free or np.isinf(low) or np.isinf(first) else 1
        else:
            found[i, j] = max(0, first - high, low - last) ** 2
    return found


def test_reid_in_general_and_its_two_cases_by_hand() -> None:
    true = np.array([0, 1, 2, -1])
    # r(b) is a point: right for the first and the third of four people.
    assert reid_of(single_links(np.array([0, 0, 2, 1]), 3), true).value == 2 / 4
    # r(b) is uniform on a set: 1/2 + 1/3 + 0 + 0 (the fourth is not published).
    sets = anonymity_sets([[0, 1], [0, 1, 2], [0, 1], [2]], 3)
    assert reid_of(sets, true).value == pytest.approx((1 / 2 + 1 / 3) / 4)
    # Any distribution: .7 + .2 + .1.
    spread = np.array([[0.7, 0.3, 0], [0.8, 0.2, 0], [0.5, 0.4, 0.1], [0, 0, 1]])
    assert reid_of(spread, true).value == pytest.approx(1 / 4)
    with pytest.raises(UsageError, match="distribution"):
        reid_of(np.array([[0.9, 0.9]]), np.array([0]))


def test_claims_and_their_precision_by_hand() -> None:
    links = Links(
        row=np.array([0, 1, 2, 3]),
        size=np.array([1, 1, 2, 1]),
        score=np.zeros(4),
        claim=np.array([True, True, False, True]),
        chance=np.array([1.0, 0, 0.5, 1]),
    )
    precision = claim_precision(links)
    assert precision is not None
    assert (reid(links).value, claimed(links).value, precision.value) == (0.625, 0.75, pytest.approx(2 / 3))
    nothing = Links(links.row, links.size, links.score, np.zeros(4, dtype=bool), links.chance)
    assert claim_precision(nothing) is None
    with pytest.raises(UsageError, match="unknown"):
        reid(Links(links.row, links.size, links.score, links.claim))


def test_numbers_are_standardised_by_their_own_file() -> None:
    # Published in other units: 10·x + 3. Standardised, both files are the same; everyone is at distance 0 of their row.
    attribute = numeric("x", [1, 2, 4, 9])
    person = np.arange(4)
    axis = distance_of_numbers(
        attribute, Regions.singles(4), person, 10 * np.array([1.0, 2, 4, 9]) + 3, scale="moments"
    )
    found = find_nearest([axis], true_row=person)
    assert found.distance == pytest.approx(np.zeros(4))
    assert found.row.tolist() == [0, 1, 2, 3]
    # Two random people are 1 apart on average: the mean over all pairs of half the squared difference.
    assert table_of(axis).mean() == pytest.approx(1)
    # Not perturbed: one scale, so that other units are far away.
    apart = distance_of_numbers(attribute, Regions.singles(4), person, np.array([1.0, 2, 4, 90]))
    assert find_nearest([apart]).row.tolist() == [0, 1, 2, 2]


def five_columns(people: int) -> tuple[list[Attribute], list[NDArray[np.int64]], list[NDArray[np.float64]]]:
    """Attributes, codes and numbers of people who are unlike each other."""
    random = np.random.default_rng(3)
    attributes = [numeric(f"x{i}", range(40)) for i in range(3)]
    codes = [random.integers(40, size=people) for _ in attributes]
    return attributes, codes, [c.astype(np.float64) for c in codes]


def linked(attributes: list[Attribute], codes: list[Any], shown: list[Any], **options: Any) -> Links:
    """Everybody linked with a masked file of their numbers."""
    masked = masked_release(tuple(attributes), tuple(shown), tuple(range(len(attributes))))
    register = Register(
        {a.name: Known.exactly(a, c) for a, c in zip(attributes, codes, strict=True)},
        len(codes[0]),
        np.arange(len(codes[0])),
    )
    return link_by_distance(
        published_of(masked, [a.name for a in attributes], np.arange(len(codes[0]))), register, **options
    )


def test_equal_values_stay_equal_whatever_else_was_added() -> None:
    # Half of the people are published as they are, the others far away: the moments of the two files differ, so that
    # on scales of their own nobody is at distance 0 of their row.
    attributes, codes, numbers = five_columns(200)
    random = np.random.default_rng(4)
    shown = [np.where(np.arange(200) < 100, x, x + 1000 * random.random(200)) for x in numbers]
    join = {tuple(row) for row in np.stack(shown, axis=1).tolist()}
    equal = np.mean([tuple(row) in join for row in np.stack(numbers, axis=1).tolist()])
    assert equal == 0.5
    assert reid(linked(attributes, codes, shown, scales=("moments",))).value < 0.05
    best = linked(attributes, codes, shown)
    assert best.scale == "common"
    assert reid(best).value >= 0.5


@pytest.mark.parametrize(
    ("change", "scale"),
    [
        (lambda x: 7 * x + 3, "moments"),
        (lambda x: 100 - x, "moments"),
        (lambda x: np.exp(x / 4), "ranks"),
        (lambda x: -np.exp(x / 4), "ranks"),
    ],
)
def test_other_units_reversed_and_monotone_scales_are_tried(change: Any, scale: str) -> None:
    attributes, codes, numbers = five_columns(150)
    links = linked(attributes, codes, [change(x) for x in numbers])
    assert links.scale == scale
    assert reid(links).value > 0.98  # who has another's numbers shares their row
    assert reid(linked(attributes, codes, [change(x) for x in numbers], scales=("common",))).value < 0.1


def test_cells_that_are_swapped_elsewhere_are_equal_to_nothing_near() -> None:
    # Two of three cells are untouched, the third is anybody's: what is near misleads, what is equal does not.
    attributes, codes, numbers = five_columns(300)
    random = np.random.default_rng(5)
    shown = np.stack(numbers, axis=1)
    hit = random.integers(3, size=300)
    shown[np.arange(300), hit] = random.permutation(shown[np.arange(300), hit])
    links = linked(attributes, codes, list(shown.T))
    same = np.stack(codes, axis=1)[:, None, :] == shown[None]
    agree = same.sum(axis=2)
    best = agree == agree.max(axis=1, keepdims=True)
    by_hand = np.mean(best[np.arange(300), np.arange(300)] / best.sum(axis=1))
    assert links.scale == "equal"
    assert reid(links).value == pytest.approx(by_hand)
    assert (
        reid(links).value > reid(linked(attributes, codes, list(shown.T), scales=("common", "moments", "ranks"))).value
    )


def test_one_fifth_is_one_fifth() -> None:
    # The sum of 0.2s is not a multiple of 0.2: a limit of reid <= 0.2 must hold for groups of five.
    for people in (5, 15, 35, 305, 2005):
        fifths = np.full(people, 1 / 5)
        links = Links(*(np.zeros(people, dtype=np.int64),) * 2, np.zeros(people), np.zeros(people, dtype=bool), fifths)
        assert reid(links).value == 0.2
    mixed = np.concatenate([np.full(3, 1 / 3), np.full(7, 1 / 7), np.zeros(10), [0.123456789]])
    assert mean_chance(mixed) == pytest.approx(mixed.mean(), rel=1e-15)
    assert any(np.full(n, 1 / 5).mean() > 0.2 for n in range(5, 400, 5))  # what made it fail


def test_contributions_by_hand() -> None:
    colour = Attribute("c", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, ("r", "g", "b", "?"), missing=True)
    shown = Regions.sets(4, [[0], [1, 2], [0, 1, 2, 3], [3]])
    axis = distance_of_regions(colour, Regions.singles(4), np.arange(4), shown, np.arange(4))
    assert table_of(axis).tolist() == [[0, 1, 0, 1], [1, 0, 0, 1], [1, 0, 0, 1], [1, 1, 0, 0]]
    grade = Attribute("g", Role.QUASI_IDENTIFIER, Kind.ORDINAL, ("1", "2", "3", "4", "5"))
    shown = Regions.intervals(5, [0, 1, 0], [0, 2, 4])
    axis = distance_of_regions(grade, Regions.singles(5), np.array([0, 2, 4]), shown, np.arange(3))
    assert table_of(axis) == pytest.approx(np.array([[0, 1 / 16, 0], [4 / 16, 0, 0], [1, 4 / 16, 0]]))
    # The same as a table: a set of grades that is no interval.
    sets = Regions.sets(5, [[0], [1, 4]])
    assert table_of(distance_of_regions(grade, Regions.singles(5), np.array([2]), sets, np.arange(2))) == pytest.approx(
        np.array([[4 / 16, 1 / 16]])
    )


def test_a_hierarchy_says_how_far_values_are() -> None:
    rows = [("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")]
    schema = made_schema({"v": {"role": QI, "domain": list("abcd"), "hierarchy": "v.csv"}}, {"v": rows})
    axis = distance_of_regions(
        schema.attribute("v"), Regions.singles(4), np.arange(4), Regions.singles(4), np.arange(4)
    )
    assert axis.table is not None
    assert axis.table[0].tolist() == [0, 0.25, 1, 1]  # the sibling is half the way up, squared


def random_axes(seed: int, people: int, rows: int) -> list[AttributeDistance]:
    """One of every kind, with missing values, sets, `*`, and people of whom something is not known."""
    random = np.random.default_rng(seed)
    missing = numeric("m", range(6), missing=True, missing_tokens=("?",))
    known = Regions.sets(7, [*([c] for c in range(7)), [1, 2], list(range(7))])
    shown = Regions.sets(7, [*([c] for c in range(7)), [0, 1], [3, 4, 5], list(range(7))])
    colour = Attribute("c", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple("rgby"))
    grade = Attribute("g", Role.QUASI_IDENTIFIER, Kind.ORDINAL, tuple("12345"))
    sets = Regions.sets(4, [[0], [1], [2], [3], [0, 3], [0, 1, 2, 3]])
    return [
        distance_of_regions(missing, known, random.integers(9, size=people), shown, random.integers(10, size=rows)),
        distance_of_regions(colour, sets, random.integers(6, size=people), sets, random.integers(6, size=rows)),
        distance_of_regions(
            grade,
            Regions.singles(5),
            random.integers(5, size=people),
            Regions.singles(5),
            random.integers(5, size=rows),
        ),
        distance_of_numbers(
            numeric("n", range(30)),
            Regions.singles(30),
            random.integers(30, size=people),
            np.where(random.random(rows) < 0.1, np.nan, random.integers(30, size=rows) + random.integers(2, size=rows)),
            scale="moments",
        ),
        distance_of_regions(
            Attribute("e", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple("abcdefgh")),
            Regions.singles(8),
            random.integers(8, size=people),
            Regions.singles(8),
            random.integers(8, size=rows),
        ),
    ]


@pytest.mark.parametrize("kinds", [(0,), (1,), (2, 1), (3,), (4,), (4, 2), (0, 1, 2, 3, 4)])
def test_nearest_rows_equal_a_search_of_all_pairs(kinds: tuple[int, ...]) -> None:
    axes = [random_axes(7, 60, 120)[k] for k in kinds]
    true = np.random.default_rng(1).integers(-1, 120, size=60)
    times = np.random.default_rng(2).integers(1, 4, size=120)
    found = find_nearest(axes, true_row=true, count=times, margins=True)
    pairs = sum(table_of(a) for a in axes)
    least = pairs.min(axis=1)
    tied = pairs <= least[:, None] + 1e-9
    assert found.distance == pytest.approx(least)
    assert found.rows.tolist() == (tied * times).sum(axis=1).tolist()
    assert tied[np.arange(60), found.row].all()
    own = np.where(true < 0, np.nan, pairs[np.arange(60), true])
    assert found.true_distance == pytest.approx(own, nan_ok=True)
    # The margin: to the nearest row outside the set, if the set is one row.
    beyond = np.sqrt(np.where(tied, np.inf, pairs).min(axis=1)) - np.sqrt(least)
    assert found.margin == pytest.approx(np.where(found.rows > 1, 0, beyond))


def test_many_categories_need_no_table() -> None:
    place = Attribute("p", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple(map(str, range(6000))))
    person, row = np.array([5, 5999, 17]), np.array([5999, 17, 17])
    axis = distance_of_regions(place, Regions.singles(6000), person, Regions.singles(6000), row)
    assert axis.equal
    found = find_nearest([axis])
    assert (found.distance.tolist(), found.rows.tolist()) == ([1, 0, 0], [3, 1, 2])
    wide = Regions.sets(6000, [[0, 1], list(range(6000))])
    with pytest.raises(NotApplicable, match="--known"):
        distance_of_regions(place, Regions.singles(6000), person, wide, np.array([0, 1, 1]))


def test_kernels_say_the_same_uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    axes, true = random_axes(9, 12, 40), np.arange(12)
    compiled = find_nearest(axes, true_row=true, margins=True)
    for name in ("grow_tree", "nearest_cells", "pair_distances"):
        monkeypatch.setattr(linkage, name, getattr(linkage, name).py_func)
    plain = find_nearest(axes, true_row=true, margins=True)
    for part in ("distance", "rows", "row", "margin", "true_distance"):
        assert getattr(compiled, part).tolist() == getattr(plain, part).tolist()


def test_the_tree_of_boxes_and_the_k_d_tree_agree_with_all_pairs() -> None:
    random = np.random.default_rng(5)
    attributes = [numeric(f"n{i}", range(8)) for i in range(3)]
    people = [random.integers(8, size=80) for _ in attributes]
    rows = [random.integers(8, size=200).astype(np.float64) for _ in attributes]
    axes = [
        distance_of_numbers(a, Regions.singles(8), p, r, scale="moments")
        for a, p, r in zip(attributes, people, rows, strict=True)
    ]
    pairs = sum(table_of(a) for a in axes)
    tied = pairs <= pairs.min(axis=1, keepdims=True) + 1e-9
    for tree in (True, False):
        found = find_nearest(axes, margins=True, tree=tree)
        assert found.distance == pytest.approx(pairs.min(axis=1))
        assert found.rows.tolist() == tied.sum(axis=1).tolist()
        assert tied[np.arange(80), found.row].all()
        beyond = np.sqrt(np.where(tied, np.inf, pairs).min(axis=1)) - np.sqrt(pairs.min(axis=1))
        assert found.margin == pytest.approx(np.where(tied.sum(axis=1) > 1, 0, beyond))
    assert (found.rows > 1).any()


def test_one_published_row_is_everyones() -> None:
    axis = distance_of_numbers(numeric("x", [1, 2]), Regions.singles(2), np.array([0, 1]), np.array([5.0]))
    found = find_nearest([axis], margins=True)
    assert (found.row.tolist(), found.rows.tolist()) == ([0, 0], [1, 1])
    assert np.isinf(found.margin).all()  # type: ignore[arg-type]
    with pytest.raises(NotApplicable, match="nothing is known"):
        find_nearest([])


def people_of(*columns: tuple[Attribute, list[int]]) -> Register:
    rows = len(columns[0][1])
    return Register({a.name: Known.exactly(a, np.array(c)) for a, c in columns}, rows, np.arange(rows))


def test_a_generalised_release_by_hand() -> None:
    # Ages 20 … 29 and sex. Groups: [20,24] f ×2, [25,29] f ×1, [20,29] m ×2, one row suppressed altogether.
    schema = made_schema(
        {"age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 29}}, "sex": {"role": QI}}
    )
    table = made_table(schema, (21, "f"), (24, "f"), (27, "f"), (20, "m"), (29, "m"), (25, "m"))
    young, old, all_ages = ([str(a) for a in r] for r in (range(20, 25), range(25, 30), range(20, 30)))
    rows = [(0, young, "f"), (0, young, "f"), (1, old, "f"), (2, all_ages, "m"), (2, all_ages, "m"), (3, "*", "*")]
    release = made_release(table.attributes, [((0, 1), rows)])
    held = register_of_table(table, release.attributes)
    links = link_by_distance(published_of(release, ["age", "sex"]), held)
    # The suppressed row fits everybody.
    assert links.size.tolist() == [3, 3, 2, 3, 3, 3]
    assert reid(links).value == pytest.approx((5 / 3 + 1 / 2) / 6)
    assert claimed(links).value == 0
    # Only the sex is known: 3 + 1 women, 2 + 1 men.
    fewer = link_by_distance(published_of(release, ["sex"]), held.only(["sex"]))
    assert fewer.size.tolist() == [4, 4, 4, 3, 3, 3]


def test_attributes_of_several_blocks_have_no_rows() -> None:
    schema = made_schema({"a": {"role": QI}, "b": {"role": QI}})
    table = made_table(schema, ("x", "1"), ("y", "2"))
    release = made_release(table.attributes, [((0,), [(0, "x"), (0, "y")]), ((1,), [(0, "1"), (0, "2")])])
    with pytest.raises(NotApplicable, match="several blocks"):
        published_of(release, ["a", "b"])
    assert published_of(release, ["b"]).count is not None


def masked_of(columns: dict[str, Any], attributes: list[Attribute], perturbed: tuple[int, ...]) -> Release:
    return masked_release(tuple(attributes), tuple(np.asarray(columns[a.name]) for a in attributes), perturbed)


def test_a_masked_table_by_hand() -> None:
    age = numeric("age", [20, 30, 40, 50])
    sex = Attribute("sex", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, ("f", "m"))
    held = people_of((age, [0, 1, 2, 3]), (sex, [0, 0, 1, 1]))
    # Published in the order 3, 2, 1, 0; 20 and 30 changed places, and the last sex is not published.
    masked = masked_of({"age": [50.0, 40, 20, 30], "sex": np.array([1, 1, 0, -1])}, [age, sex], (0,))
    published = published_of(masked, ["age", "sex"], np.array([3, 2, 1, 0]))
    links = link_by_distance(published, held, margins=True)
    assert links.row.tolist() == [2, 3, 1, 0]
    assert links.chance is not None
    assert links.chance.tolist() == [0, 0, 1, 1]
    assert (reid(links).value, claimed(links).value) == (0.5, 1)
    # Nobody says whose row is whose, and a column is perturbed: success is unknown.
    unknown = link_by_distance(published_of(masked, ["age", "sex"]), held)
    assert unknown.chance is None
    # Sex alone is not perturbed: women fit the row of 0 and the one that says nothing.
    plain = link_by_distance(published_of(masked, ["sex"]), held.only(["sex"]))
    assert plain.chance is not None
    assert plain.chance.tolist() == [1 / 2, 1 / 2, 1 / 3, 1 / 3]


def test_a_tie_that_holds_ones_own_row_counts_as_one_over_its_rows() -> None:
    age = numeric("age", [20, 30, 40])
    held = people_of((age, [0, 1, 2]))
    # 20 and 30 were both published as 25.
    masked = masked_of({"age": [25.0, 25, 60]}, [age], (0,))
    links = link_by_distance(published_of(masked, ["age"], np.array([0, 1, 2])), held)
    assert links.size.tolist() == [2, 2, 1]
    assert links.chance is not None
    assert links.chance.tolist() == [0.5, 0.5, 1]
    assert links.claim.tolist() == [False, False, True]


def test_whoever_is_not_published_is_never_linked_rightly() -> None:
    age = numeric("age", [20, 30, 40])
    held = people_of((age, [0, 1, 2]))
    published = published_of(masked_of({"age": [20.0, 30]}, [age], ()), ["age"], np.array([0, 1]))
    links = link_by_distance(published, held)
    assert links.chance is not None
    assert links.chance.tolist() == [1, 1, 0]


def test_pattern_counts_are_those_of_all_pairs() -> None:
    random = np.random.default_rng(3)
    people = [random.integers(-1, 3, size=40) for _ in range(4)]
    rows = [random.integers(-1, 3, size=55) for _ in range(4)]
    files = code_files(people, rows)
    counts = pattern_counts(files)
    assert counts.sum() == 40 * 55
    bits = sum(
        ((p[:, None] == r[None]) & (p[:, None] >= 0)) << j for j, (p, r) in enumerate(zip(people, rows, strict=True))
    )
    assert counts.tolist() == np.bincount(np.ravel(bits), minlength=16).tolist()
    each = person_patterns(files)[files.of_person]
    assert (each.sum(axis=1) == 55).all()
    assert each.tolist() == [np.bincount(line, minlength=16).tolist() for line in np.asarray(bits)]
    assert pattern_of(files, files.of_person[:1], files.of_row[:1]).tolist() == [np.asarray(bits)[0, 0]]


def test_m_and_u_by_hand() -> None:
    # Two attributes, three people, rows in the same order. True links agree on a: 3 of 3, on b: 1 of 3.
    files = code_files([np.array([0, 1, 2]), np.array([0, 0, 1])], [np.array([0, 1, 2]), np.array([0, 1, 0])])
    found = from_true_links(files, np.arange(3))
    assert found.m == pytest.approx([3.5 / 4, 1.5 / 4])
    # Of the six other pairs none agrees on a; on b: (0,2), (1,0), (1,2), (2,1).
    assert found.u == pytest.approx([0.5 / 7, 4.5 / 7])
    assert found.share == 3 / 9
    weights = found.weights()
    assert weights[1] - weights[0] == pytest.approx(np.log2((3.5 / 4) / (0.5 / 7) * (6.5 / 7) / (0.5 / 4)))


def test_three_classes_by_hand() -> None:
    # Patterns 00, 10, 01, 11: links .02 .18 .08 .72, others .63 .07 .27 .03.
    model = Agreement(m=np.array([0.9, 0.8]), u=np.array([0.1, 0.3]), share=0.01)
    assert model.among_links() == pytest.approx([0.02, 0.18, 0.08, 0.72])
    assert model.among_others() == pytest.approx([0.63, 0.07, 0.27, 0.03])
    found = classify(model, false_links=0.05, missed_links=0.02)
    assert found.of_pattern.tolist() == [0, 1, 1, 2]
    assert (found.false_links, found.missed_links) == (pytest.approx(0.03), pytest.approx(0.02))
    assert found.upper == pytest.approx(np.log2(24))
    assert found.lower == pytest.approx(np.log2(0.02 / 0.63))
    # Rates that leave nothing to a clerk: what both sides would take is a link.
    assert classify(model, false_links=0.1, missed_links=1.0).of_pattern.tolist() == [0, 2, 0, 2]
    # Rates that nothing keeps.
    nothing = classify(model, false_links=0.01, missed_links=0.0)
    assert nothing.of_pattern.tolist() == [1, 1, 1, 1]
    assert (nothing.upper, nothing.lower) == (np.inf, -np.inf)


def test_known_m_and_u_are_recovered_without_supervision() -> None:
    # Pattern counts as they are expected of 1,000 links among a million pairs: nothing is drawn.
    model = Agreement(np.array([0.95, 0.9, 0.85, 0.8]), np.array([0.02, 0.1, 0.05, 0.2]), 1e-3)
    counts = 1e6 * (model.share * model.among_links() + (1 - model.share) * model.among_others())
    found = estimate_unsupervised(counts, share=1e-2)
    assert found.converged
    assert found.m == pytest.approx(model.m, abs=1e-4)
    assert found.u == pytest.approx(model.u, abs=1e-4)
    assert found.share == pytest.approx(1e-3, rel=1e-3)


def test_known_m_and_u_are_recovered_from_made_up_files() -> None:
    random = np.random.default_rng(9)
    n, sizes, m = 1500, (40, 25, 30, 12, 20), np.array([0.95, 0.9, 0.85, 0.9, 0.8])
    people = [random.integers(size, size=n) for size in sizes]
    rows = [
        np.where(random.random(n) < p, c, random.integers(s, size=n)) for c, s, p in zip(people, sizes, m, strict=True)
    ]
    files = code_files(people, rows)
    right = m + (1 - m) / np.array(sizes)  # who is drawn anew may get the same value
    # 1,500 links: a share has a deviation of at most .011; u is a share of two million pairs.
    truth = from_true_links(files, np.arange(n))
    assert truth.m == pytest.approx(right, abs=0.045)
    assert truth.u == pytest.approx(1 / np.array(sizes), abs=0.002)
    found = estimate_unsupervised(pattern_counts(files), share=1 / n)
    assert found.m == pytest.approx(truth.m, abs=0.02)
    assert found.u == pytest.approx(truth.u, abs=0.001)
    assert found.share * n == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("spread", ["best", "posterior"])
def test_links_by_patterns_are_those_of_all_pairs(spread: Any) -> None:
    random = np.random.default_rng(4)
    people = [random.integers(-1, 4, size=50) for _ in range(3)]
    rows = [np.where(random.random(50) < 0.3, random.integers(4, size=50), np.maximum(p, 0)) for p in people]
    files, true = code_files(people, rows), np.where(np.arange(50) < 45, np.arange(50), -1)
    model = from_true_links(files, true)
    links = link_by_patterns(
        files, model, classify(model, false_links=0.01, missed_links=0.1), true_row=true, spread=spread
    )
    weight = np.zeros((50, 50))
    for j, (p, r) in enumerate(zip(people, rows, strict=True)):
        agree, apart = np.log2(model.m[j] / model.u[j]), np.log2((1 - model.m[j]) / (1 - model.u[j]))
        weight += np.where(p[:, None] < 0, 0, np.where(p[:, None] == r[None], agree, apart))
    best = weight.max(axis=1)
    tied = weight >= best[:, None] - 1e-9
    assert links.score == pytest.approx(best)
    assert links.size.tolist() == tied.sum(axis=1).tolist()
    assert tied[np.arange(50), links.row].all()
    spreads = (
        tied / tied.sum(axis=1, keepdims=True)
        if spread == "best"
        else np.exp2(weight) / np.exp2(weight).sum(axis=1)[:, None]
    )
    assert reid(links).value == pytest.approx(reid_of(spreads, true).value)
    beyond = best - np.where(tied, -np.inf, weight).max(axis=1)
    assert links.margin == pytest.approx(np.where(links.size > 1, 0, beyond))
    assert not links.claim[links.size > 1].any()


def test_perturbed_numbers_agree_by_their_tenth() -> None:
    age = numeric("age", range(20))
    held = people_of((age, list(range(20))))
    published = published_of(masked_of({"age": 3.0 * np.arange(20) + 0.5}, [age], (0,)), ["age"], np.arange(20))
    files = compare_values(published, held)
    assert pattern_counts(files).tolist() == [400 - 40, 40]  # tenths of two
    plain = published_of(masked_of({"age": 1.0 * np.arange(20)}, [age], ()), ["age"])
    with pytest.raises(NotApplicable, match="nothing is perturbed"):
        compare_values(plain, held)


def test_more_noise_links_fewer_on_average() -> None:
    random = np.random.default_rng(0)
    attributes = [numeric(f"n{i}", range(50)) for i in range(3)]
    columns = [random.integers(50, size=300) for _ in attributes]
    held = people_of(*zip(attributes, [c.tolist() for c in columns], strict=True))
    found = []
    for noise in (0.0, 1.0, 3.0, 10.0, 40.0):
        rates = []
        for seed in range(4):
            draw = np.random.default_rng(seed)
            noisy = {a.name: c + noise * draw.normal(size=300) for a, c in zip(attributes, columns, strict=True)}
            published = published_of(masked_of(noisy, attributes, (0, 1, 2)), list(noisy), np.arange(300))
            rates.append(reid(link_by_distance(published, held)).value)
        found.append(np.mean(rates))
    assert all(a >= b for a, b in pairwise(found))
    assert found[0] > 0.98  # all but those who share all three numbers with another
    assert found[-1] < 0.1


def test_published_says_whose_rows_are_missing() -> None:
    age = numeric("age", [1, 2])
    with pytest.raises(UsageError, match="all 2 published rows"):
        published_of(masked_of({"age": [1.0, 2]}, [age], (0,)), ["age"], np.array([0]))
    assert isinstance(published_of(masked_of({"age": [1.0, 2]}, [age], (0,)), ["age"]), Published)
