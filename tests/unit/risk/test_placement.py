"""People in the groups that they may be in: every row filled by somebody who fits it, or none can be."""

import numpy as np
import pytest

from small import QI, SENSITIVE, made_release, made_schema
from unveil.data.table import Table
from unveil.risk.placement import place_people

SCHEMA = made_schema(
    {
        "age": {"role": QI, "domain": ["a", "b", "c"]},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "ill": {"role": SENSITIVE, "domain": ["x", "y"]},
    }
)
VALUES = [SCHEMA.attribute(n).values for n in SCHEMA.names]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kept", [1.0, 0.6])
def test_every_row_is_somebodys_who_fits_it(seed: int, kept: float) -> None:
    """Cells withheld at random here and there, so that they overlap; of a sample, too."""
    draw = np.random.default_rng(seed)
    codes = [draw.integers(0, n, 60) for n in (3, 2, 2)]
    table = Table.from_columns(
        SCHEMA,
        {n: [SCHEMA.attribute(n).values[c] for c in column] for n, column in zip(SCHEMA.names, codes, strict=True)},
    )
    rows, cells = np.flatnonzero(draw.random(60) < kept), {}
    lines = []
    for i in rows:
        cell = [list(VALUES[j]) if j < 2 and draw.random() < 0.3 else [VALUES[j][codes[j][i]]] for j in range(3)]
        group = cells.setdefault(str(cell[:2]), len(cells))
        lines.append((group, *cell))
    release = made_release([SCHEMA.attribute(n) for n in SCHEMA.names], [((0, 1, 2), lines)])
    placed = place_people(release, table, 2)
    assert placed is not None
    assert (placed >= 0).sum() == len(rows)
    assert np.array_equal(np.bincount(placed[placed >= 0], minlength=release.groups), release.sizes)
    block = release.blocks[0]
    for group in range(release.groups):
        inside, entries = np.flatnonzero(placed == group), np.flatnonzero(block.group == group)
        for j in range(2):
            region = np.full(len(inside), int(block.region(j)[entries[0]]))
            assert release.regions[j].holds(region, codes[j][inside]).all()
        shown = np.bincount(release.regions[2].single()[block.region(2)[entries]], block.count[entries], 2)
        assert np.array_equal(np.bincount(codes[2][inside], minlength=2), shown)


def test_rows_that_nobody_fits_cannot_be_filled() -> None:
    table = Table.from_columns(SCHEMA, {"age": ["a", "a"], "sex": ["f", "f"], "ill": ["x", "x"]})
    release = made_release(
        [SCHEMA.attribute(n) for n in SCHEMA.names], [((0, 1, 2), [(0, ["a"], ["f"], ["x"]), (1, ["b"], ["f"], ["x"])])]
    )
    assert place_people(release, table, 2) is None
