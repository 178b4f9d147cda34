"""Orders that whoever has the original's list can make again: by a hash, by a shuffle with a usual seed, in steps."""

import hashlib
import random
from collections.abc import Iterator
from math import gcd

import numpy as np

from unveil.data.attribute import Role
from unveil.risk.published_file.file import Ids, PublishedFile
from unveil.risk.published_file.statistics import within_runs

__all__ = ["by_recipe", "in_steps"]

SEEDS = (0, 1, 2, 7, 42, 100, 123, 1234, 12345, 2023, 2024, 2025)
_ROWS = 2_000  # at which an order is tried
_GAIN = 0.5  # of the rows that chance does not place, from which an order is that one
_PAIRS = 1_000_000  # of people who may be the first two of a piece
_STEPS = 60  # rows that a piece in steps is followed for
_CHANCE = -30.0  # log of the chance of such a piece


def by_recipe(file: PublishedFile, run: Ids) -> tuple[float, str] | None:
    """How well the best recipe places the rows, and what it is; None if none does."""
    if file.rows != file.people or not file.shared:
        return None
    draw = np.random.default_rng(0)
    places = np.sort(draw.choice(file.rows, min(file.rows, _ROWS), replace=False))
    mixed = [within_runs(run, draw)[places] for _ in range(3)]
    run_of_person = _runs_of_people(file, run)
    for words, order in _recipes(file):
        people = order[np.argsort(run_of_person[order], kind="stable")][places]
        seen = _fitting(file, places, people)
        chance = max(_fitting(file, rows, people) for rows in mixed) if seen > 0.3 else 1.0
        gain = (seen - chance) / max(1 - chance, 1e-12)
        if gain > _GAIN and seen - chance > 8 * np.sqrt(max(chance * (1 - chance), 1e-4) / len(places)):
            return gain, words
    return None


def _runs_of_people(file: PublishedFile, run: Ids) -> Ids:
    """(people,) the run of rows that each belongs to, where rows were sorted by what they show; else one for all."""
    known = file.person_classes
    if known is not None:
        _, of_row, of_person, _ = known
        of_kind = np.full(int(max(of_row.max(), of_person.max())) + 1, -1, dtype=np.int64)
        of_kind[of_row] = run
        if np.array_equal(of_kind[of_row], run) and (of_kind[of_person] >= 0).all():
            return np.asarray(of_kind[of_person])
    return np.zeros(file.people, dtype=np.int64)


def _recipes(file: PublishedFile) -> Iterator[tuple[str, Ids]]:
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


def _fitting(file: PublishedFile, rows: Ids, people: Ids) -> float:
    """Share of these rows whose every cell fits the person beside it."""
    fits = np.ones(len(rows), dtype=bool)
    for name in file.shared:
        cells = file.cells(name)
        fits &= cells.fits(cells.text_of_row[rows], cells.value_of_person[people])
        if not fits.any():
            break
    return float(fits.mean())


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
