"""Checkpoints: what was reached of a test, in a folder, so that an interrupted run goes on where it stopped."""

import hashlib
import json
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.engine import Engine
from unveil.errors import OutputError

__all__ = ["State"]

VERSION = 1  # of what is saved


@dataclass(slots=True)
class State:
    """What was reached so far, one entry a record; a file in the checkpoint folder, if there is one."""

    done: NDArray[np.bool_]  # (records,)
    distance: NDArray[np.float64]
    floor: NDArray[np.float64]
    without: NDArray[np.float64]  # (records, values) mean prediction without the record
    score: NDArray[np.float64]  # (records, draws) prediction of the true value without the record
    failed: dict[int, str]  # by position in the original
    path: Path | None = None

    @classmethod
    def start(
        cls,
        engine: Engine,
        said: Sequence[Any],
        arrays: Sequence[NDArray[Any]],
        within: NDArray[np.float64],
        draws: int,
    ) -> "State":
        """Afresh, or where an earlier run stopped that was asked the same of the same: another never goes on from it.

        `within`, the predictions on the whole table, tell sanitizers apart that go by one name.
        """
        records = len(within)
        fresh = cls(
            done=np.zeros(records, dtype=bool),
            distance=np.zeros(records),
            floor=np.zeros(records),
            without=np.zeros(within.shape),
            score=np.zeros((records, draws)),
            failed={},
        )
        if engine.checkpoints is None:
            return fresh
        digest = hashlib.blake2b(repr((VERSION, engine.seed, engine.name, *said)).encode(), digest_size=16)
        for array in (*arrays, within):
            digest.update(repr((array.dtype.str, array.shape)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        fresh.path = engine.checkpoints / f"unveil-differential-{digest.hexdigest()}.npz"
        if not fresh.path.is_file():
            return fresh
        try:
            with np.load(fresh.path, allow_pickle=False) as file:
                return replace(
                    fresh,
                    done=file["done"],
                    distance=file["distance"],
                    floor=file["floor"],
                    without=file["without"],
                    score=file["score"],
                    failed={int(k): str(v) for k, v in json.loads(str(file["failed"])).items()},
                )
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            raise OutputError(f"{fresh.path}: is no checkpoint; delete it, or choose another folder") from None

    def save(self) -> None:
        """Whole or not at all, readable by its owner alone: it says what is inferred about people."""
        if self.path is None:
            return
        part = self.path.with_suffix(".part")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part.unlink(missing_ok=True)
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                arrays = {name: getattr(self, name) for name in ("done", "distance", "floor", "without", "score")}
                np.savez(file, allow_pickle=False, **arrays, failed=np.array(json.dumps(self.failed)))
            os.replace(part, self.path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise OutputError(f"{self.path.parent}: no checkpoint can be written ({error.strerror})") from None
