"""Sliced releases of three and more blocks: which entries of the other blocks fit whom, group by group."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["BlockLinks", "SliceLinks"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class BlockLinks:
    """Of one block: the entries that fit each class of people, by class and group."""

    key: Ints  # (distinct pairs of class and group,) class × groups + group, growing
    start: Ints  # (distinct pairs + 1,)
    entry: Ints  # (fits,) entries of the block that fit
    fit: Floats  # (fits,) how well
    rows: Floats  # (entries,)
    home: Ints  # (entries,) the group of each
    groups: int

    @classmethod
    def of(cls, who: Ints, entry: Ints, fit: Floats, rows: Floats, home: Ints, groups: int) -> "BlockLinks":
        """From fits in any order."""
        group = home[entry]
        order = np.lexsort((entry, group, who))
        key, first = np.unique(who[order] * groups + group[order], return_index=True)
        start = np.append(first, len(order)).astype(np.int64)
        return cls(key, start, entry[order], fit[order], rows, home, groups)

    def find(self, who: Ints, group: Ints) -> Ints:
        """(asked,) where a class and a group stand in `key`, -1 if nothing fits there."""
        mine = who * self.groups + group
        if not len(self.key):
            return np.full(len(mine), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.key, mine), len(self.key) - 1)
        return np.where(self.key[at] == mine, at, -1)

    def share(self, sizes: NDArray[np.integer]) -> Floats:
        """(distinct pairs,) how much of the group shows cells that fit the class."""
        fitting = np.add.reduceat(np.append(self.fit * self.rows[self.entry], 0.0), self.start[:-1])
        return np.asarray(fitting / sizes[self.key % self.groups])


@dataclass(frozen=True, slots=True, eq=False)
class SliceLinks:
    """The other blocks of a sliced release, and the groups in which they matter: where somebody's place is open.

    In a group whose members' places are all certain, which cells of other blocks they take says nothing about values.
    """

    home: Ints  # (groups of links,) the release's group
    open: NDArray[np.bool_]  # (groups of links,) other blocks matter there
    blocks: tuple[BlockLinks, ...]

    @classmethod
    def where_open(cls, home: Ints, unsure: Ints, blocks: Sequence[BlockLinks]) -> "SliceLinks | None":
        """`unsure`: groups of links with an uncertain member."""
        is_open = np.isin(home, home[unsure])
        return cls(home, is_open, tuple(blocks)) if is_open.any() else None

    def cut(self, keep: NDArray[np.bool_]) -> "SliceLinks":
        """Of some groups."""
        return replace(self, home=self.home[keep], open=self.open[keep])

    def ways(self, who: int, group: int) -> list[list[tuple[int, float]]]:
        """Per block, the entries that somebody (-1: a stranger) may take in a group, each with how well it fits."""
        if not self.open[group]:
            return []
        found = []
        for block in self.blocks:
            if who < 0:
                found.append([(int(e), 1.0) for e in np.flatnonzero(block.home == self.home[group])])
                continue
            at = int(block.find(np.array([who]), self.home[group : group + 1])[0])
            fits = slice(block.start[at], block.start[at + 1]) if at >= 0 else slice(0, 0)
            found.append(list(zip(block.entry[fits].tolist(), block.fit[fits].tolist(), strict=True)))
        return found
