"""Checkpoints of a sweep: what was measured of each candidate, so that a run goes on where it stopped."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine, open_checkpoint, save_checkpoint

__all__ = ["SavedCandidates", "release_digest", "table_digest"]

VERSION = 2  # of what is saved


@dataclass(frozen=True, slots=True)
class SavedCandidates:
    """One file a candidate, named by everything that its numbers depend on."""

    folder: Path | None
    key: str

    @classmethod
    def of(cls, engine: Engine, table: Table, *what: object) -> "SavedCandidates":
        """The place for a sweep of this table, asked these things."""
        return cls(engine.checkpoints, f"{VERSION} {table_digest(table)} {what!r}")

    def path(self, name: str) -> Path | None:
        """Where a candidate is saved; None if nothing is."""
        if self.folder is None:
            return None
        digest = hashlib.blake2b(f"{self.key} {name}".encode(), digest_size=16).hexdigest()
        return self.folder / f"unveil-point-{digest}.json"

    def load(self, name: str) -> dict[str, Any] | None:
        """What was saved of a candidate."""
        path = self.path(name)
        if path is None:
            return None
        with open_checkpoint(path) as file:
            return None if file is None else json.load(file)

    def save(self, name: str, content: Mapping[str, Any]) -> None:
        """Whole or not at all, readable by its owner alone."""
        path = self.path(name)
        if path is not None:
            save_checkpoint(path, lambda file: file.write(json.dumps(content).encode()))

    def remove(self, name: str) -> None:
        """Done."""
        path = self.path(name)
        if path is not None:
            path.unlink(missing_ok=True)


def table_digest(table: Table) -> str:
    """What tells tables apart: names, domains and codes."""
    digest = hashlib.blake2b(digest_size=16)
    for attribute, column in zip(table.attributes, table.columns, strict=True):
        levels = None if attribute.hierarchy is None else attribute.hierarchy.labels
        digest.update(repr((attribute.name, attribute.role, attribute.kind, attribute.values, levels)).encode())
        _add(digest, column)
    return digest.hexdigest()


def release_digest(release: Release) -> str:
    """What tells releases of one table apart."""
    digest = hashlib.blake2b(digest_size=16)
    for index in release.perturbed:  # what is shown is no domain of the table's
        digest.update(repr((index, release.attributes[index].values)).encode())
    for regions in release.regions:
        _add(digest, regions.start, regions.low, regions.high)
    for block in release.blocks:
        digest.update(repr(block.attributes).encode())
        _add(digest, block.cells, block.start, block.cell, block.count)
    return digest.hexdigest()


def _add(digest: "hashlib.blake2b", *arrays: NDArray[Any]) -> None:
    for array in arrays:
        digest.update(repr((array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
