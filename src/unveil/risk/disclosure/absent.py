"""Facts that no column holds: whether the masked table lets them be inferred as the original would."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Estimate
from unveil.data.release import Anonymized
from unveil.data.rows import as_published, origin_of
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.risk.disclosure.intervals import paired
from unveil.risk.disclosure.models import Model, _inputs, features, fitted, over_repeats

__all__ = ["absent_disclosure", "sampled_disclosure"]


def absent_disclosure(
    table: Table,
    made: Anonymized,
    labels: NDArray[np.integer],
    *,
    known: Sequence[str] | None = None,
    model: Model = "tree",
    folds: int = 5,
    repeats: int = 3,
    engine: Engine | None = None,
) -> tuple[Estimate, Estimate]:
    """DDMBAR (algorithm 11 of Torra 2024) of a fact known of some people: the share of all who are told the same.

    One model learns the fact from the original rows of those labelled, another from their masked rows; the first is
    asked about x, the second about x', the person's own masked row. `labels` (original rows,): the fact as a number
    from 0, -1 = not known. The second estimate is the baseline: the same of models that did not learn from the person.
    """
    if labels.shape != (table.rows,):
        raise UsageError(f"{len(labels)} labels for {table.rows} rows; give one a row, -1 where it is not known")
    names = _inputs(table, made, "") if known is None else list(known)
    true, seen = _both(table, made, names)
    label = np.asarray(labels, dtype=np.int64)[origin_of(made.release, made.group_of_row)]
    held = np.flatnonzero(label >= 0)
    if len(held) < folds or folds < 2:
        raise UsageError(f"{len(held)} published people are labelled; {folds} folds need at least as many, and two")
    fact = _fact(int(label.max()) + 1)
    engine = Engine(seed=0) if engine is None else engine
    same, apart = np.empty(repeats), np.empty(repeats)
    for repeat in range(repeats):
        random = engine.named(f"absent/{repeat}").generator()
        seed = int(random.integers(2**31))
        fold = random.permutation(len(label)) % folds
        told = [fitted(model, fact, rows[held], label[held], seed).predict(rows) for rows in (true, seen)]
        same[repeat] = (told[0] == told[1]).mean()
        without = np.empty((2, len(label)), dtype=np.int64)
        for number in range(folds):
            learned = held[fold[held] != number] if (fold[held] != number).any() else held
            for place, rows in enumerate((true, seen)):
                one = fitted(model, fact, rows[learned], label[learned], seed)
                without[place, fold == number] = one.predict(rows[fold == number])
        apart[repeat] = (without[0] == without[1]).mean()
    return over_repeats(same, 0.0), over_repeats(apart, 0.0)


def sampled_disclosure(
    table: Table,
    made: Anonymized,
    sample: Table,
    labels: NDArray[np.integer],
    *,
    known: Sequence[str] | None = None,
    model: Model = "tree",
    engine: Engine | None = None,
) -> tuple[Estimate, Estimate]:
    """The same with a fact known of other people: one model learns it from them, and is asked about x and x'.

    `sample`: people of whom the fact is known, with the original's domains; `labels`: theirs. The second estimate is
    the baseline, what would agree if everybody's masked row were another's.
    """
    if labels.shape != (sample.rows,) or (labels < 0).any():
        raise UsageError(f"{len(labels)} labels for a sample of {sample.rows} rows; give each row its fact from 0")
    names = _inputs(table, made, "") if known is None else list(known)
    true, seen = _both(table, made, names)
    attributes = [table.attributes[table.index(name)] for name in names]
    theirs = as_published(attributes, [sample.column_of(attribute, "the sample") for attribute in attributes])
    scale = [paired(table, made, name)[1] for name in names]
    label = np.asarray(labels, dtype=np.int64)
    seed = int((Engine(seed=0) if engine is None else engine).named("absent").generator().integers(2**31))
    learned = fitted(model, _fact(int(label.max()) + 1), features(attributes, theirs, scale), label, seed)
    told = [learned.predict(rows) for rows in (true, seen)]
    shares = [np.bincount(one, minlength=int(label.max()) + 1) / len(one) for one in told]
    return Estimate.exact(float((told[0] == told[1]).mean())), Estimate.exact(float(shares[0] @ shares[1]))


def _both(table: Table, made: Anonymized, names: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What models read of the same people: their true and their published values, in the published order."""
    if not names:
        raise UsageError("no attribute is known from which the fact could be inferred; name some")
    pairs = [paired(table, made, name) for name in names]
    attributes = [table.attributes[table.index(name)] for name in names]
    scale = [one for _, one in pairs]
    return features(attributes, [one for one, _ in pairs], scale), features(attributes, scale, scale)


def _fact(values: int) -> Attribute:
    return Attribute("fact", Role.SENSITIVE, Kind.CATEGORICAL, tuple(map(str, range(values))))
