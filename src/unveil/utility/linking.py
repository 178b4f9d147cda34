"""Hidden links drawn at random: the rows that an analyst who needs whole rows makes of buckets or slices."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import Block, Release
from unveil.errors import UsageError

__all__ = ["random_linkings"]


def random_linkings(release: Release, *, draws: int = 5, seed: int = 0) -> Iterator[NDArray[np.int64]]:
    """(rows, attributes) region numbers, `draws` times: whole rows, each block permuted in its group (Li 2010, 4.5.1).

    Rows stand in the order of their groups. A release of one block hides no link and is given once. Cost: a sort of
    the rows for each block but the first, which stays as it is.
    """
    if draws < 1:
        raise UsageError(f"draws = {draws}: draw the hidden link at least once")
    random = np.random.default_rng(seed)
    for _ in range(draws if len(release.blocks) > 1 else 1):
        yield _linked(release, random)


def _linked(release: Release, random: np.random.Generator) -> NDArray[np.int64]:
    region = np.empty((release.rows, len(release.attributes)), dtype=np.int64)
    for number, block in enumerate(release.blocks):
        entry = _shuffled(block, random) if number else np.repeat(np.arange(len(block.cell)), block.count)
        for index in block.attributes:
            region[:, index] = block.region(index)[entry]
    return region


def _shuffled(block: Block, random: np.random.Generator) -> NDArray[np.int64]:
    """(rows,) entries in the order of their groups, inside a group in any order."""
    entry = np.repeat(np.arange(len(block.cell)), block.count)
    return np.asarray(entry[np.lexsort((random.random(len(entry)), block.group[entry]))])
