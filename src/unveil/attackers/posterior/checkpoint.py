"""Checkpoints: the state of chains in a folder, so that a run goes on where it stopped, with the same draws."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.convergence import Chains
from unveil.data.belief import Prior, Targets
from unveil.data.release import Release
from unveil.engine import Engine, open_checkpoint, save_checkpoint

__all__ = ["Arrays", "Checkpoint"]

Arrays = dict[str, NDArray[Any]]
VERSION = 7  # of what is saved
SAVING = Lock()  # two threads may be at work on the same question


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One file, named by what was asked of which release: another question never goes on from it."""

    path: Path

    @classmethod
    def of(
        cls,
        engine: Engine,
        release: Release,
        asked: int,
        prior: Prior,
        chains: Chains,
        questions: Sequence[tuple[str, Targets]],
    ) -> "Checkpoint | None":
        """The place for this work; None if nothing is to be saved. The budget may change between two runs."""
        if engine.checkpoints is None:
            return None
        digest = hashlib.blake2b(digest_size=16)
        shape = (chains.chains, chains.sweeps, chains.burn_in, chains.every, chains.keep, chains.anneal)
        digest.update(repr((VERSION, engine.seed, engine.name, asked, shape)).encode())
        for attribute in release.attributes:
            digest.update(repr((attribute.name, attribute.values)).encode())
        for regions in release.regions:
            _add(digest, regions.start, regions.low, regions.high)
        for block in release.blocks:
            digest.update(repr(block.attributes).encode())
            _add(digest, block.cells, block.group, block.cell, block.count)
        _add(digest, prior.alpha, *(prior.beta[i] for i in sorted(prior.beta)))
        digest.update(repr(sorted(prior.smooth)).encode())
        _add(digest, *(prior.smooth[i] for i in sorted(prior.smooth)))
        for kind, targets in questions:
            digest.update(repr((kind, targets.count, sorted(targets.known))).encode())
            for index in sorted(targets.known):
                known = targets.known[index]
                digest.update(repr(known.wrong).encode())
                _add(digest, known.regions.start, known.regions.low, known.regions.high, known.of_target)
            _add(digest, *(() if targets.group is None else (targets.group,)))
        return cls(engine.checkpoints / f"unveil-{digest.hexdigest()}.npz")

    def load(self) -> Arrays | None:
        """What was saved, if anything was."""
        with SAVING, open_checkpoint(self.path) as file:
            if file is None:
                return None
            with np.load(file, allow_pickle=False) as saved:
                return dict(saved)

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Whole or not at all, readable by its owner alone: it says what was learned about people."""
        with SAVING:
            save_checkpoint(self.path, lambda file: np.savez(file, allow_pickle=False, **dict(arrays)))

    def remove(self) -> None:
        """Done: nothing personal stays behind."""
        with SAVING:
            self.path.unlink(missing_ok=True)


def _add(digest: "hashlib.blake2b", *arrays: NDArray[Any]) -> None:
    for array in arrays:
        digest.update(repr((array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
