"""What is true of every release: one form, whatever order it came in, and files that give it back."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Published, attributes, regions, releases, schemas, tables

from unveil.data.attribute import Attribute, Role
from unveil.data.release import BlockRows, Release, build_release
from unveil.formats.cells import read_cells, write_cells
from unveil.formats.releases import read_release, write_release


def shuffled(published: Published, random: np.random.Generator) -> Release:
    """The same release from material in another order: rows, groups, regions, attributes of a block, blocks."""
    groups = published.release.groups
    region_order = [random.permutation(len(r)) for r in published.regions]
    new_number = [np.argsort(order) for order in region_order]
    regions = [r.take(order) for r, order in zip(published.regions, region_order, strict=True)]
    group_number = random.permutation(groups)
    parts = []
    for part in published.parts:
        rows = random.permutation(len(part.group))
        columns = random.permutation(len(part.attributes))
        parts.append(
            BlockRows(
                tuple(part.attributes[c] for c in columns),
                group_number[part.group[rows]],
                tuple(new_number[part.attributes[c]][part.region[c][rows]] for c in columns),
            )
        )
    order = random.permutation(len(parts))
    return build_release(published.release.attributes, regions, [parts[i] for i in order])[0]


@given(releases(), st.integers(0, 2**32))
def test_order_tells_nothing(published: Published, seed: int) -> None:
    assert shuffled(published, np.random.default_rng(seed)) == published.release


@given(releases())
def test_rows_and_counted_rows_are_the_same(published: Published) -> None:
    twice = [
        replace(part, group=np.tile(part.group, 2), region=tuple(np.tile(r, 2) for r in part.region))
        for part in published.parts
    ]
    counted = [replace(part, count=np.full(len(part.group), 2)) for part in published.parts]
    attributes = published.release.attributes
    assert (
        build_release(attributes, published.regions, twice)[0]
        == build_release(attributes, published.regions, counted)[0]
    )


@given(releases())
def test_group_numbers_lead_to_the_groups(published: Published) -> None:
    """The second result of build_release: every row's block cells stand in the group it says."""
    release, number = build_release(published.release.attributes, published.regions, published.parts)
    for part in published.parts:
        for index, shown in zip(part.attributes, part.region, strict=True):
            block = release.block_of(index)
            for group in range(release.groups):
                entries = slice(block.start[number[group]], block.start[number[group] + 1])
                found = np.repeat(block.region(index)[entries], block.count[entries])
                want = sorted(tuple(published.regions[index].members(r)) for r in shown[part.group == group])
                assert sorted(tuple(release.regions[index].members(r)) for r in found) == want


@given(releases())
def test_files_give_the_release_back(published: Published) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.csv"
        write_release(published.release, path)
        assert read_release(path, published.schema) == published.release  # every domain is declared
        assert read_release(path, published.schema, attributes=published.release.attributes) == published.release


@given(st.data())
def test_the_original_is_a_release_that_files_give_back(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    table = data.draw(tables(schema=schema, max_rows=12))
    release = table.as_release()
    assert release.sizes.tolist() == [1] * table.rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "original.csv"
        write_release(release, path)
        assert read_release(path, schema) == release


@given(st.data(), attributes())
def test_cells_are_read_as_they_were_written(data: st.DataObject, attribute: Attribute) -> None:
    wanted = data.draw(regions(attribute))
    assert read_cells(write_cells(wanted, attribute), attribute) == wanted


@given(releases())
def test_a_release_cannot_be_changed(published: Published) -> None:
    release = published.release
    arrays = [release.sizes]
    arrays += [a for b in release.blocks for a in (b.cells, b.start, b.cell, b.count)]
    arrays += [a for r in release.regions for a in (r.start, r.low, r.high)]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@given(releases())
def test_counts_add_up(published: Published) -> None:
    """Levels are taken over every row once: histograms and class sizes lose and double nobody."""
    release = published.release
    hidden = int(release.sizes[release.suppressed()].sum())
    for index in release.with_role(Role.SENSITIVE):
        histograms, group = release.histograms(index)
        block = release.block_of(index)
        open_cells = block.count[release.regions[index].sizes[block.region(index)] == 1].sum()
        assert histograms.sum() == open_cells
        assert group.min() >= 0
        assert group.max() < release.groups
    blocks = [
        b for b in release.blocks if any(release.attributes[i].role is Role.QUASI_IDENTIFIER for i in b.attributes)
    ]
    if blocks and hidden < release.rows:
        assert release.class_sizes().sum() == len(blocks) * (release.rows - hidden)
    else:
        assert release.class_sizes().tolist() == [release.rows]
