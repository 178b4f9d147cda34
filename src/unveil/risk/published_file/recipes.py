"""Orders that whoever has the original's list can make again: by a hash, by a shuffle with a usual seed."""

import hashlib
import random
from collections.abc import Iterator

import numpy as np

from unveil.data.attribute import Role
from unveil.risk.published_file.file import Ids, PublishedFile

__all__ = ["recipes"]

SEEDS = (0, 1, 2, 7, 42, 100, 123, 1234, 12345, 2023, 2024, 2025)


def recipes(file: PublishedFile) -> Iterator[tuple[str, Ids]]:
    """The person who would stand in each row."""
    assert file.original is not None
    for name, column in file.original.items():
        if file.role(name) is Role.IDENTIFIER and len(column.texts) > file.people // 2:
            texts = np.asarray(column.text_of_row, dtype=np.int64)
            for kind in ("md5", "sha1", "sha256"):
                made = [hashlib.new(kind, t.encode(), usedforsecurity=False).digest() for t in column.texts]
                rank = np.empty(len(made), dtype=np.int64)
                rank[sorted(range(len(made)), key=made.__getitem__)] = np.arange(len(made))
                yield f"sorted by the {kind.upper()} of {name}", np.argsort(rank[texts], kind="stable")
    for seed in SEEDS:
        words = f"shuffled with the seed {seed}"
        yield words, np.random.RandomState(seed).permutation(file.people)
        yield words, np.random.default_rng(seed).permutation(file.people)
        rows = list(range(file.people))
        random.Random(seed).shuffle(rows)
        yield words, np.array(rows, dtype=np.int64)
