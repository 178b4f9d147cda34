"""Releases worked by hand: generalised, anatomised, sliced, suppressed, with withheld values."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from small import IDENTIFIER, QI, SENSITIVE, made_release, made_schema
from unveil.data.regions import Regions
from unveil.data.release import Anonymized, Block, BlockRows, Release, build_release, distinct_rows, row_numbers
from unveil.errors import ReleaseError

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 24}},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "disease": {"role": SENSITIVE, "domain": ["flu", "hiv", "none"]},
        "name": {"role": IDENTIFIER, "domain": ["Ada", "Bob"]},
        "planet": {"role": QI, "domain": ["earth"]},
    }
)
AGE, SEX, DISEASE, NAME, PLANET = (SCHEMA.attribute(name) for name in SCHEMA.names)
PEOPLE = (AGE, SEX, DISEASE)

YOUNG, OLD = ("20", "21"), ("22", "23", "24")
GENERALISED = made_release(
    PEOPLE,
    [
        (
            (0, 1, 2),
            [
                (2, OLD, "*", "none"),
                (2, OLD, "*", "flu"),
                (2, OLD, "*", "none"),
                (0, YOUNG, "f", "flu"),
                (0, YOUNG, "f", "flu"),
                (0, YOUNG, "f", "hiv"),
                (0, YOUNG, "f", "none"),
                (1, "*", "*", "hiv"),
                (1, "*", "*", ("hiv", "none")),  # withheld
            ],
        )
    ],
)
ANATOMY = made_release(
    PEOPLE,
    [
        ((0, 1), [(0, "20", "f"), (0, "20", "f"), (0, "21", "m"), (1, "20", "f"), (1, "24", "m")]),
        ((2,), [(0, "flu"), (0, "hiv"), (0, "none"), (1, "hiv"), (1, "flu")]),
    ],
)
SLICED = made_release(  # sex is published beside the disease, age apart
    PEOPLE,
    [
        ((0,), [(0, "20"), (0, "20"), (0, "21"), (0, "24"), (1, "24"), (1, "24")]),
        (
            (1, 2),
            [(0, "f", "flu"), (0, "f", "hiv"), (0, "m", "flu"), (0, "m", "flu"), (1, "f", "none"), (1, "f", "hiv")],
        ),
    ],
)


def test_groups_are_ordered_by_their_cells() -> None:
    assert GENERALISED.sizes.tolist() == [4, 2, 3]  # [20,21] before * before [22,24]
    assert GENERALISED.groups == 3
    assert GENERALISED.rows == 9
    assert [len(r) for r in GENERALISED.regions] == [3, 2, 4]
    block = GENERALISED.blocks[0]
    assert block.start.tolist() == [0, 3, 5, 7]
    assert block.count.tolist() == [2, 1, 1, 1, 1, 1, 2]
    assert block.group.tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_suppressed_groups() -> None:
    assert GENERALISED.suppressed().tolist() == [False, True, False]
    assert not ANATOMY.suppressed().any()
    assert not SLICED.suppressed().any()


def test_one_hidden_cell_is_no_suppressed_row() -> None:
    release = made_release((AGE, SEX), [((0,), [(0, "*"), (0, "20")]), ((1,), [(0, "*"), (0, "*")])])
    assert release.suppressed().tolist() == [False]


def test_a_domain_of_one_value_hides_nothing() -> None:
    rows = [(0, "earth", "20"), (1, "earth", "*")]
    assert made_release((PLANET, AGE), [((0, 1), rows)]).suppressed().tolist() == [False, True]
    lone = made_release((PLANET, DISEASE), [((0, 1), [(0, "earth", "flu"), (0, "earth", "hiv")])])
    assert lone.suppressed().tolist() == [False]
    assert lone.class_sizes().tolist() == [2]


def test_without_quasi_identifiers_nothing_is_suppressed() -> None:
    release = made_release((DISEASE,), [((0,), [(0, "flu"), (0, "*")])])
    assert release.suppressed().tolist() == [False]
    assert release.class_sizes().tolist() == [2]


def test_histograms_of_equivalence_classes_leave_withheld_values_out() -> None:
    histograms, group = GENERALISED.histograms(2)
    assert group.tolist() == [0, 1, 2]
    assert histograms.tolist() == [[2, 1, 1], [0, 1, 0], [1, 0, 2]]


def test_histograms_of_buckets() -> None:
    assert ANATOMY.sizes.tolist() == [2, 3]  # (20,f)x1 (24,m) before (20,f)x2 (21,m)
    histograms, group = ANATOMY.histograms(2)
    assert group.tolist() == [0, 1]
    assert histograms.tolist() == [[1, 1, 0], [1, 1, 1]]


def test_histograms_of_slices_tell_rows_apart_by_what_stands_beside_the_value() -> None:
    histograms, group = SLICED.histograms(2)
    assert SLICED.sizes.tolist() == [4, 2]
    assert group.tolist() == [0, 0, 1]
    assert histograms.tolist() == [[1, 1, 0], [2, 0, 0], [0, 1, 1]]


def test_class_sizes() -> None:
    assert sorted(GENERALISED.class_sizes()) == [3, 4]
    assert sorted(ANATOMY.class_sizes()) == [1, 1, 3]  # (20,f) in both buckets
    # Several blocks: within a group, ages 20 20 | 21 | 24 and f f | m m, and in the other 24 24 and f f.
    assert sorted(SLICED.class_sizes()) == [1, 1, 2, 2, 2, 2, 2]
    everything = made_release((AGE, SEX), [((0, 1), [(0, "*", "*"), (0, "*", "*")])])
    assert everything.class_sizes().tolist() == [2]


def test_classes_go_across_groups() -> None:
    release = made_release((AGE, DISEASE), [((0, 1), [(0, "20", "flu"), (1, "20", "hiv"), (1, "20", "flu")])])
    assert release.groups == 2
    assert release.class_sizes().tolist() == [3]
    assert release.histograms(1)[0].tolist() == [[1, 0, 0], [1, 1, 0]]


def test_attributes_by_name_and_by_role() -> None:
    assert GENERALISED.index("sex") == 1
    with pytest.raises(ReleaseError, match=r"no attribute 'zip'; choose from age, sex, disease"):
        GENERALISED.index("zip")
    assert ANATOMY.block_of(2).attributes == (2,)


def test_order_of_rows_groups_regions_and_blocks_tells_nothing() -> None:
    qi = ((0, 1), [(1, "20", "f"), (1, "21", "m"), (0, "24", "m"), (1, "20", "f"), (0, "20", "f")])
    other = made_release(PEOPLE, [((2,), [(1, "none"), (0, "flu"), (1, "flu"), (0, "hiv"), (1, "hiv")]), qi])
    assert other == ANATOMY
    assert [b.attributes for b in other.blocks] == [(0, 1), (2,)]


def test_the_attributes_of_a_block_have_one_order() -> None:
    swapped = made_release((AGE, SEX), [((1, 0), [(0, "f", "20"), (0, "m", "21")])])
    assert swapped == made_release((AGE, SEX), [((0, 1), [(0, "20", "f"), (0, "21", "m")])])


def test_different_links_are_different_releases() -> None:
    crossed = made_release((AGE, SEX), [((0, 1), [(0, "20", "m"), (0, "21", "f")])])
    straight = made_release((AGE, SEX), [((0, 1), [(0, "20", "f"), (0, "21", "m")])])
    hidden = made_release((AGE, SEX), [((0,), [(0, "20"), (0, "21")]), ((1,), [(0, "f"), (0, "m")])])
    assert crossed != straight
    assert hidden != straight
    assert straight != "a release"


def changed(release: Release, block: int, **fields: Any) -> Callable[[], Release]:
    blocks = list(release.blocks)
    blocks[block] = replace(blocks[block], **fields)
    return lambda: replace(release, blocks=tuple(blocks))


def built(*parts: BlockRows, attributes: Any = (AGE, SEX)) -> Callable[[], Release]:
    return lambda: build_release(attributes, [Regions.singles(a.codes) for a in attributes], parts)[0]


ZERO = np.zeros(2, np.int64)
EMPTY = np.zeros(0, np.int64)
FIRST = ANATOMY.blocks[0]


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (built(), "has no rows"),
        (built(BlockRows((0, 1), EMPTY, (EMPTY, EMPTY))), "has no rows"),
        (built(BlockRows((0,), ZERO, (ZERO,))), "exactly one block"),
        (built(BlockRows((0,), ZERO, (ZERO,)), BlockRows((0, 1), ZERO, (ZERO, ZERO))), "exactly one block"),
        (built(BlockRows((0, 1), ZERO + 1, (ZERO, ZERO))), "a group has no rows"),
        (built(BlockRows((0,), ZERO, (ZERO,)), BlockRows((1,), np.arange(2), (ZERO,))), "a group has no rows"),
        (built(BlockRows((0,), ZERO, (ZERO,)), BlockRows((1,), ZERO[:1], (ZERO[:1],))), "differ in size"),
        (built(BlockRows((0, 1), ZERO, (ZERO, ZERO), ZERO)), "shown by no row"),
        (built(BlockRows((0, 1), ZERO, (ZERO, ZERO)), BlockRows((), ZERO, ())), "unknown regions"),
        (built(BlockRows((0, 1), ZERO, (ZERO, ZERO)), attributes=(AGE, AGE)), "the same name"),
        (built(BlockRows((0, 1), ZERO, (ZERO, ZERO)), attributes=(AGE, NAME)), "identifiers are never released"),
        (lambda: replace(ANATOMY, regions=ANATOMY.regions[:2]), "do not fit"),
        (lambda: replace(ANATOMY, regions=(Regions.singles(4), *ANATOMY.regions[1:])), "do not fit"),
        (lambda: replace(ANATOMY, sizes=EMPTY), "has no rows"),
        (lambda: replace(ANATOMY, sizes=ANATOMY.sizes + 1), "differ in size"),
        (changed(ANATOMY, 0, start=FIRST.start + 1), "has no rows"),
        (changed(ANATOMY, 0, start=np.array([0, 2, 3])), "has no rows"),
        (changed(ANATOMY, 0, count=FIRST.count * 0), "shown by no row"),
        (changed(ANATOMY, 0, count=FIRST.count[1:]), "shown by no row"),
        (changed(ANATOMY, 0, cells=FIRST.cells + 5), "unknown regions"),
        (changed(ANATOMY, 0, cells=FIRST.cells[:, :1]), "unknown regions"),
        (changed(ANATOMY, 0, cell=FIRST.cell + 1), "a cell outside its block"),
    ],
)  # fmt: skip
def test_a_release_that_cannot_be_is_never_born(make: Callable[[], Release], fault: str) -> None:
    with pytest.raises(ReleaseError, match=fault):
        make()


def test_a_release_cannot_be_changed() -> None:
    block = GENERALISED.blocks[0]
    assert isinstance(block, Block)
    for array in (GENERALISED.sizes, block.cells, block.start, block.cell, block.count):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    made = Anonymized(GENERALISED, np.zeros(9, np.int32))
    with pytest.raises(ValueError, match="read-only"):
        made.group_of_row[0] = 1


def test_rows_are_numbered_in_dictionary_order() -> None:
    columns = [np.array([3, 1, 3, 1], np.uint8), np.array([0, 900_000, 0, 5])]
    assert row_numbers(columns).tolist() == [2, 1, 2, 0]
    row, count = distinct_rows(columns)
    assert count.tolist() == [1, 1, 2]
    assert [columns[1][r] for r in row] == [5, 900_000, 0]
    assert row_numbers([]).tolist() == []
