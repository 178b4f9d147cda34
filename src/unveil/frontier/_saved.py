"""Checkpoints of a sweep: what was measured of each candidate, so that a run goes on where it stopped."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.engine import Engine
from unveil.errors import OutputError
from unveil.release import Release
from unveil.table import Table

__all__ = ["Saved", "release_digest", "table_digest"]

VERSION = 1  # of what is saved


@dataclass(frozen=True, slots=True)
class Saved:
    """One file a candidate, named by everything that its numbers depend on."""

    folder: Path | None
    key: str

    @classmethod
    def of(cls, engine: Engine, table: Table, *what: object) -> "Saved":
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
        if path is None or not path.is_file():
            return None
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict):
            raise OutputError(f"{path}: is no checkpoint; delete it, or choose another folder")
        return found

    def save(self, name: str, content: Mapping[str, Any]) -> None:
        """Whole or not at all, readable by its owner alone."""
        path = self.path(name)
        if path is None:
            return
        part = path.with_suffix(".part")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part.unlink(missing_ok=True)
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump(content, file)
            os.replace(part, path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise OutputError(f"{path.parent}: no checkpoint can be written ({error.strerror})") from None

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
