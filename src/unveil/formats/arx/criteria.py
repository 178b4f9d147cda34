"""ARX's privacy models: which classes of a transformation break one, by the parameters that a project keeps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.table import CodedColumn
from unveil.formats.arx.output import JavaObject
from unveil.formats.columns import Refusal

__all__ = ["Classes", "breaking"]

Breaks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Rows that share their generalised cells. Only rows of the research subset count."""

    of_row: NDArray[np.int64]  # (rows,)
    inside: NDArray[np.bool_]  # (rows,) in the research subset
    columns: Mapping[str, CodedColumn]  # of the input

    @property
    def everybody(self) -> NDArray[np.int64]:
        """(classes,) rows, those outside the subset too."""
        return np.bincount(self.of_row)

    @property
    def count(self) -> NDArray[np.int64]:
        """(classes,) rows of the subset."""
        return np.bincount(self.of_row[self.inside], minlength=len(self.everybody))

    def values(self, criterion: JavaObject) -> tuple[NDArray[np.float64], NDArray[np.float64], Sequence[str]]:
        """(classes, values) rows of each value of the model's attribute, (values,) its shares, and the values."""
        name = criterion.fields.get("attribute")
        column = self.columns.get(name) if isinstance(name, str) else None
        if column is None:
            raise Refusal(f"{_name(criterion)} speaks of {name!r}, which the input lacks")
        codes, found = np.asarray(column.text_of_row, dtype=np.int64), len(column.texts)
        key = self.of_row[self.inside] * found + codes[self.inside]
        rows = np.bincount(key, minlength=len(self.everybody) * found).reshape(-1, found).astype(np.float64)
        return rows, rows.sum(axis=0) / max(rows.sum(), 1.0), column.texts


def breaking(criteria: Sequence[JavaObject], classes: Classes) -> Breaks:
    """(classes,) which are suppressed. A model that is not known here is refused by name."""
    bad = np.zeros(len(classes.everybody), dtype=bool)
    whole = []
    for criterion in criteria:
        rule = _RULES.get(_name(criterion))
        if rule is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                bad |= rule(criterion, classes)
        elif _name(criterion) in _WHOLE:
            whole.append(criterion)
        else:
            raise Refusal(f"which classes break {_name(criterion)} cannot be told from what the project keeps")
    bad &= classes.count > 0
    for criterion in whole:
        sizes = classes.count[(classes.count > 0) & ~bad]
        gone = int(classes.count[bad].sum())
        if not _WHOLE[_name(criterion)](criterion, np.append(sizes, [gone] * (gone > 0)).astype(np.float64)):
            raise Refusal(f"{_name(criterion)} suppresses further classes in an order that the project does not keep")
    return bad


def _name(criterion: JavaObject) -> str:
    return criterion.kind.rsplit(".", 1)[-1]


def _number(criterion: JavaObject, *names: str) -> float:
    """A parameter, by whichever name versions of ARX give it."""
    for name in names:
        value = criterion.fields.get(name)
        value = value.fields.get("value") if isinstance(value, JavaObject) else value
        if isinstance(value, int | float):
            return float(value)
    raise Refusal(f"{_name(criterion)} has no {names[0]}")


def _k_anonymity(criterion: JavaObject, classes: Classes) -> Breaks:
    return classes.count < _number(criterion, "k")


def _k_map(criterion: JavaObject, classes: Classes) -> Breaks:
    if criterion.fields.get("estimator") is None:
        return classes.everybody < _number(criterion, "k")
    return classes.count < _number(criterion, "derivedK")


def _presence(criterion: JavaObject, classes: Classes) -> Breaks:
    share = classes.count / classes.everybody
    return (share < _number(criterion, "dMin")) | (share > _number(criterion, "dMax"))


def _distinct(criterion: JavaObject, classes: Classes) -> Breaks:
    different = np.count_nonzero(classes.values(criterion)[0], axis=1)
    return np.asarray(different < int(_number(criterion, "minSize", "l")))


def _entropy(criterion: JavaObject, classes: Classes) -> Breaks:
    if criterion.fields.get("estimator") not in (None, "SHANNON"):
        raise Refusal(f"{_name(criterion)} estimates entropy by {criterion.fields['estimator']}")
    rows, l = classes.values(criterion)[0], _number(criterion, "l", "minSize")
    total = rows.sum(axis=1)
    entropy = np.log2(total) - (rows * np.log2(np.where(rows > 0, rows, 1.0))).sum(axis=1) / total
    return np.asarray(_distinct(criterion, classes) | (entropy < np.log2(l)))


def _recursive(criterion: JavaObject, classes: Classes) -> Breaks:
    rows, least = classes.values(criterion)[0], int(_number(criterion, "minSize", "l"))
    ranked = -np.sort(-rows, axis=1)
    rest = ranked[:, least - 1 :].sum(axis=1)
    return np.asarray(_distinct(criterion, classes) | (ranked[:, 0] >= _number(criterion, "c") * rest))


def _shares(criterion: JavaObject, classes: Classes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if criterion.fields.get("externalDistribution") is not None:
        raise Refusal(f"{_name(criterion)} compares with a distribution of its own")
    rows, overall, _ = classes.values(criterion)
    return rows / classes.count[:, None], overall


def _equal_distance(criterion: JavaObject, classes: Classes) -> Breaks:
    share, overall = _shares(criterion, classes)
    return np.asarray(np.abs(share - overall).sum(axis=1) / 2 > _number(criterion, "t") + 1e-12)


def _hierarchical(criterion: JavaObject, classes: Classes) -> Breaks:
    """Mass is moved within the lowest node that evens it out, at that node's level over the hierarchy's height."""
    share, overall = _shares(criterion, classes)
    held = criterion.fields.get("hierarchy")
    rows = held.fields.get("hierarchy") if isinstance(held, JavaObject) else None
    ladder = {row[0]: row for row in rows if isinstance(row, list)} if isinstance(rows, list) else {}
    texts = classes.values(criterion)[2]
    if not ladder or any(text not in ladder for text in texts):
        raise Refusal(f"the hierarchy of {_name(criterion)} does not hold every value")
    height = len(next(iter(ladder.values()))) - 1
    extra, cost = share - overall, np.zeros(len(share))
    below = np.arange(len(texts))
    for level in range(1, height + 1):
        node = np.unique([ladder[text][level] for text in texts], return_inverse=True)[1]
        above = np.zeros(int(below.max()) + 1, dtype=np.int64)
        above[below] = node
        merged = np.zeros((len(share), int(node.max()) + 1))
        positive = np.zeros_like(merged)
        np.add.at(merged.T, above, extra.T)
        np.add.at(positive.T, above, np.maximum(extra, 0).T)
        cost += level / height * np.minimum(positive, positive - merged).sum(axis=1)
        extra, below = merged, node
    return np.asarray(cost > _number(criterion, "t") + 1e-12)


def _ordered(criterion: JavaObject, classes: Classes) -> Breaks:
    share, overall = _shares(criterion, classes)
    texts = classes.values(criterion)[2]
    try:
        order = np.argsort([float(text) for text in texts], kind="stable")
    except ValueError:
        raise Refusal(f"in which order {_name(criterion)} takes the values is not kept") from None
    moved = np.abs(np.cumsum((share - overall)[:, order], axis=1)).sum(axis=1) / max(len(texts) - 1, 1)
    return np.asarray(moved > _number(criterion, "t") + 1e-12)


def _disclosure(criterion: JavaObject, classes: Classes) -> Breaks:
    share, overall = _shares(criterion, classes)
    change = np.where(share > 0, np.abs(np.log2(share / overall)), 0.0)
    return np.asarray((change >= _number(criterion, "d")).any(axis=1))


def _likeness(criterion: JavaObject, classes: Classes, *, enhanced: bool) -> Breaks:
    share, overall = _shares(criterion, classes)
    most = np.full(len(overall), _number(criterion, "b", "beta"))
    most = np.minimum(most, -np.log(overall)) if enhanced else most
    return np.asarray(((share > 0) & ((share - overall) / overall > most)).any(axis=1))


_RULES: Mapping[str, Callable[[JavaObject, Classes], Breaks]] = {
    "KAnonymity": _k_anonymity,
    "EDDifferentialPrivacy": _k_anonymity,
    "KMap": _k_map,
    "DPresence": _presence,
    "Inclusion": lambda _, classes: np.zeros(len(classes.everybody), dtype=bool),
    "DistinctLDiversity": _distinct,
    "EntropyLDiversity": _entropy,
    "RecursiveCLDiversity": _recursive,
    "EqualDistanceTCloseness": _equal_distance,
    "HierarchicalDistanceTCloseness": _hierarchical,
    "OrderedDistanceTCloseness": _ordered,
    "DDisclosurePrivacy": _disclosure,
    "BasicBLikeness": lambda criterion, classes: _likeness(criterion, classes, enhanced=False),
    "EnhancedBLikeness": lambda criterion, classes: _likeness(criterion, classes, enhanced=True),
}


def _average_risk(criterion: JavaObject, sizes: NDArray[np.float64]) -> bool:
    """Suppressed rows are one class, as ARX has it."""
    if criterion.fields.get("highestRisk") is not None:
        return False
    return bool(1 / sizes.mean() <= _number(criterion, "threshold"))


def _sample_uniques(criterion: JavaObject, sizes: NDArray[np.float64]) -> bool:
    return bool((sizes == 1).sum() / sizes.sum() <= _number(criterion, "threshold"))


# Models of the whole table: where the classes that are left meet them, nothing more is suppressed.
_WHOLE: Mapping[str, Callable[[JavaObject, NDArray[np.float64]], bool]] = {
    "AverageReidentificationRisk": _average_risk,
    "SampleUniqueness": _sample_uniques,
}
