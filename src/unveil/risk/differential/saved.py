"""Checkpoints: what was reached of a test, in a folder, so that an interrupted run goes on where it stopped."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.engine import Engine, open_checkpoint, save_checkpoint

__all__ = ["State"]

VERSION = 2  # of what is saved
ARRAYS = ("done", "distance", "floor", "without", "score")


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
        with open_checkpoint(fresh.path) as file:
            if file is None:
                return fresh
            with np.load(file, allow_pickle=False) as saved:
                failed = {int(k): str(v) for k, v in json.loads(str(saved["failed"])).items()}
                return replace(fresh, **{name: saved[name] for name in ARRAYS}, failed=failed)

    def save(self) -> None:
        """Whole or not at all, readable by its owner alone: it says what is inferred about people."""
        if self.path is None:
            return
        arrays = {**{name: getattr(self, name) for name in ARRAYS}, "failed": np.array(json.dumps(self.failed))}
        save_checkpoint(self.path, lambda file: np.savez(file, allow_pickle=False, **arrays))
