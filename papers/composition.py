"""Composition: several releases of the same people (Ganta et al. 2008, Xiao and Tao 2007), on Adult.

No paper prints these numbers: the limits are those of the study that came before the code (docs/composition.md).
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from papers import Figure
from realdata.adult import adult_schema
from unveil.anonymizers.parts.successive import anonymize_after
from unveil.catalog import anonymizer
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.risk.composition import JointBelief, ReleaseView, sampled_check, weave

SEVEN = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
TEN = (*SEVEN, "relationship", "hours-per-week", "salary-class")
SECRET = "occupation"
STUDY = "study, section 3"


def reproduce() -> Iterator[Figure]:
    """Everything here needs Adult."""
    yield from ()


def reproduce_on_adult(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Two Anatomy releases, two Mondrian releases, five of them, and two that were made to fit together."""
    ten, seven = _table(columns, TEN), _table(columns, SEVEN)
    truth = ten.columns[ten.index(SECRET)].astype(np.int64)
    buckets = [anonymizer("anatomy:l=4").anonymize(ten, Engine(seed=seed)) for seed in (1, 2, 3, 4, 5)]
    linked = _joint([ten] * 2, buckets[:2], known_groups=True)
    yield _at_least("two Anatomy l=4, rows linked: share guessed", _right(linked, truth), 0.999)
    files = _joint([ten] * 2, buckets[:2])
    yield _at_least("two Anatomy l=4, from the files alone: share guessed", _right(files, truth), 0.75)
    yield _ours("one Anatomy l=4, from the file alone: share guessed", _right(_joint([ten], buckets[:1]), truth))
    yield _ours("five Anatomy l=4, from the files alone: share guessed", _right(_joint([ten] * 5, buckets), truth))
    fewer = _table(columns, SEVEN[1:])
    cut = [anonymizer("mondrian:k=5,l=3").anonymize(table, Engine(seed=1)) for table in (seven, fewer)]
    views = _views([seven, fewer], cut)
    web = weave(views, 14)
    both = web.beliefs()
    own = both.probability[np.arange(len(truth)), truth]
    sure = both.probability.max(axis=1) >= 0.8
    yield _at_most("two Mondrian k=5 l=3: log-loss", float(-np.log(np.maximum(own, 1e-15)).mean()), 1.37)
    right = both.probability.argmax(axis=1) == truth
    yield _at_least("two Mondrian k=5 l=3: share right among beliefs of .8 and more", float(right[sure].mean()), 0.9)
    check = sampled_check(web, both, truth, Engine(seed=0))
    assert check is not None
    yield _at_most("two Mondrian k=5 l=3: beliefs against sampled joint matchings", check.gap, 0.05)
    alone = weave(views[:1], 14).beliefs().probability[np.arange(len(truth)), truth]
    yield _ours("one Mondrian k=5 l=3: log-loss", float(-np.log(np.maximum(alone, 1e-15)).mean()))
    first = {"first": buckets[0]}
    groups = {name: one.group_of_row for name, one in first.items()}
    releases = {name: one.release for name, one in first.items()}
    again, _ = anonymize_after(anonymizer("anatomy:l=4"), ten, releases, Engine(seed=2), groups)
    invariant = _joint([ten] * 2, [buckets[0], again], known_groups=True)
    yield _at_most(
        "an m-invariant second Anatomy l=4, rows linked: surest belief", float(invariant.probability.max()), 0.2501
    )


def _table(columns: dict[str, list[str]], names: Sequence[str]) -> Table:
    return Table.from_columns(adult_schema(columns, names), {name: columns[name] for name in (*names, SECRET)})


def _views(tables: Sequence[Table], made: Sequence[Anonymized], *, known_groups: bool = False) -> list[ReleaseView]:
    return [
        ReleaseView(
            str(number),
            one.release,
            targets_of_table(
                table, one.release, one.release.index(SECRET), group=one.group_of_row if known_groups else None
            ),
        )
        for number, (table, one) in enumerate(zip(tables, made, strict=True))
    ]


def _joint(tables: Sequence[Table], made: Sequence[Anonymized], *, known_groups: bool = False) -> JointBelief:
    found = weave(_views(tables, made, known_groups=known_groups), 14).beliefs()
    assert found.converged
    return found


def _right(found: JointBelief, truth: NDArray[np.int64]) -> float:
    modes = found.probability >= found.probability.max(axis=1, keepdims=True) * (1 - 1e-12)
    return float((modes[np.arange(len(truth)), truth] / modes.sum(axis=1)).mean())


def _at_least(name: str, ours: float, least: float) -> Figure:
    """A floor: the printed value is the floor where ours lies above it."""
    reading = f"at least {least:g}"
    return Figure(name, STUDY, 1.0, float(ours >= least), self_check=True, reading=f"{reading}: ours is {ours:.4f}")


def _at_most(name: str, ours: float, most: float) -> Figure:
    reading = f"at most {most:g}"
    return Figure(name, STUDY, 1.0, float(ours <= most), self_check=True, reading=f"{reading}: ours is {ours:.4f}")


def _ours(name: str, ours: float) -> Figure:
    return Figure(name, STUDY, None, ours)
