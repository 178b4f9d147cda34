"""Orders that whoever has the original's list can make again: by a hash, by a shuffle with a usual seed, in steps."""

import hashlib
import random
from collections.abc import Callable, Iterator
from functools import lru_cache
from math import gcd

import numpy as np

from unveil.data.attribute import Role
from unveil.risk.published_file.file import Ids, PublishedFile

__all__ = ["in_steps", "recipes"]

SEEDS = (0, 1, 2, 7, 42, 100, 123, 1234, 12345, 2023, 2024, 2025)
_FEW = 20_000  # people whose shuffled orders are remembered
_PAIRS = 1_000_000  # of people who may be the first two of a piece
_STEPS = 60  # rows that a piece in steps is followed for
_CHANCE = -30.0  # log of the chance of such a piece


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
        shuffled: Callable[[int, int], Ids] = _remembered if file.people <= _FEW else _shuffled
        yield words, shuffled(seed, file.people)


def _shuffled(seed: int, people: int) -> Ids:
    rows = list(range(people))
    random.Random(seed).shuffle(rows)
    return np.array(rows, dtype=np.int64)


_remembered = lru_cache(maxsize=len(SEEDS))(_shuffled)  # for the next release of the same table


def in_steps(of_row: Ids, of_person: Ids) -> Iterator[tuple[int, Ids]]:
    """Steps in which neighbouring rows may walk through the original; and the people in that order.

    Two neighbouring rows of rare kinds are followed: every pair of people who may be they gives a step.
    """
    people = len(of_person)
    number = np.bincount(of_person, minlength=int(max(of_row.max(), of_person.max())) + 1)
    if len(of_row) <= _STEPS or people <= _STEPS:
        return
    rows = np.arange(len(of_row) - _STEPS)
    product = number[of_row[rows]].astype(float) * number[of_row[rows + 1]]
    share = np.log(np.maximum(number, 1) / people)
    for first in rows[np.argsort(product, kind="stable")][:3].tolist():
        if not 0 < product[first] <= _PAIRS:
            continue
        one, other = (np.flatnonzero(of_person == of_row[first + i]) for i in (0, 1))
        begin, end = (a.ravel() for a in np.meshgrid(one, other))
        step, chance = end - begin, np.log(max(len(begin), 1.0))
        for i in range(2, _STEPS):
            good = of_person[(begin + i * step) % people] == of_row[first + i]
            begin, step = begin[good], step[good]
            chance += share[of_row[first + i]]
            if chance < _CHANCE or not len(step):
                break
        for length in np.unique(np.abs(step[np.abs(step) > 1])).tolist()[:3] if chance < _CHANCE else ():
            around = gcd(length, people)
            turn = (np.arange(people // around) * length) % people
            yield length, np.concatenate([(turn + start) % people for start in range(around)])
            yield length, np.concatenate([np.arange(start, people, length) for start in range(length)])
