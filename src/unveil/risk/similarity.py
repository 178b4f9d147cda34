"""Beliefs in kinds of values: candidates that are all alike, and beliefs above the overall share (Li 2010, 2.1)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.data.belief import Belief, Estimate
from unveil.errors import UsageError, shown
from unveil.risk._checks import at_least as reaches
from unveil.risk._checks import check_belief, harmful, quantile, ratio
from unveil.risk._compare import Floats, estimated_share, stepped

__all__ = [
    "by_classes",
    "coarse_codes",
    "coarsen",
    "similar",
    "similar_share",
    "skewness",
    "skewness_max",
    "skewness_quantile",
    "skewness_share",
]


def coarse_codes(attribute: Attribute, *, level: int | None = None) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """(values,) each value's node at a level of the hierarchy, and the nodes' labels; no level: the schema's classes.

    Classes come in the schema's order, then every value outside them as a class of its own.
    """
    if level is not None:
        if attribute.hierarchy is None:
            raise UsageError(f"{attribute.name} has no hierarchy: add one to the schema, or use its classes")
        if not 0 <= level <= attribute.hierarchy.height:
            raise UsageError(f"{attribute.name} has the levels 0 to {attribute.hierarchy.height}, not {level}")
        return attribute.hierarchy.node[level].astype(np.int64), attribute.hierarchy.labels[level]
    classes = [(label, members) for label, members in attribute.classes if members]  # a domain may lack all of them
    if not classes:
        raise UsageError(f"{attribute.name} has no classes: declare them in the schema, or give a hierarchy level")
    node = np.full(attribute.codes, -1, dtype=np.int64)
    for number, (_, members) in enumerate(classes):
        for code in members:
            if node[code] not in (-1, number):
                raise UsageError(f"{attribute.name}: {shown(attribute.values[code])} stands in two classes; keep one")
            node[code] = number
    alone = np.flatnonzero(node < 0)
    node[alone] = len(classes) + np.arange(len(alone))
    labels = (*(label for label, _ in classes), *(attribute.values[code] for code in alone))
    return node, labels


def coarsen(belief: Belief, attribute: Attribute, *, level: int) -> Belief:
    """The belief in the nodes of one level of the attribute's hierarchy (0: the values, the last: everything)."""
    return _summed(belief, attribute, level)


def by_classes(belief: Belief, attribute: Attribute) -> Belief:
    """The belief in the attribute's classes, a value outside them being a class of its own."""
    return _summed(belief, attribute, None)


def similar(
    belief: Belief, attribute: Attribute, *, level: int | None = None, above: float = 0.0, harmless: Sequence[int] = ()
) -> NDArray[np.bool_]:
    """(people,) whether all candidates, the values believed more than `above`, lie in one class or node.

    The similarity attack of Li 2010, sections 2.1 and 2.4.1. A single candidate counts (homogeneity); candidates that
    are all harmless do not.
    """
    node, counts = _alike(belief, attribute, level, above, harmless)
    return _similar(belief.probability, node, counts, above)


def similar_share(
    belief: Belief, attribute: Attribute, *, level: int | None = None, above: float = 0.0, harmless: Sequence[int] = ()
) -> Estimate:
    """Share of people whose candidates all lie in one class or node."""
    node, counts = _alike(belief, attribute, level, above, harmless)
    return estimated_share(lambda p: _similar(p, node, counts, above), belief)


def skewness(belief: Belief, overall: NDArray[np.number], *, harmless: Sequence[int] = ()) -> Floats:
    """(people,) the largest belief over the value's overall share (skewness attack, Li 2010, section 2.1).

    `overall`: published counts or shares a value. Infinite where a value nobody has is believed.
    """
    shares, counts = _overall(belief, overall, harmless)
    return _skew(belief.probability, shares, counts)


def skewness_max(belief: Belief, overall: NDArray[np.number], *, harmless: Sequence[int] = ()) -> Estimate:
    """The largest belief over overall share of anyone in any value."""
    return skewness_quantile(belief, overall, q=1.0, harmless=harmless)


def skewness_quantile(
    belief: Belief, overall: NDArray[np.number], *, q: float = 0.95, harmless: Sequence[int] = ()
) -> Estimate:
    """The q-quantile over people of the largest belief over overall share."""
    shares, counts = _overall(belief, overall, harmless)
    return stepped(lambda p: _skew(p, shares, counts), belief, over=partial(quantile, q=q), ordered=True, least=0.0)


def skewness_share(
    belief: Belief, overall: NDArray[np.number], *, at_least: float = 2.0, harmless: Sequence[int] = ()
) -> Estimate:
    """Share of people with some belief at least `at_least` times the value's overall share."""
    shares, counts = _overall(belief, overall, harmless)
    return estimated_share(lambda p: reaches(_skew(p, shares, counts), at_least), belief)


def _check_values(belief: Belief, attribute: Attribute) -> None:
    check_belief(belief)
    if belief.probability.shape[1] != attribute.codes:
        raise UsageError(
            f"the belief is about {belief.probability.shape[1]} values, {attribute.name} has {attribute.codes}"
        )


def _summed(belief: Belief, attribute: Attribute, level: int | None) -> Belief:
    _check_values(belief, attribute)
    node, _ = coarse_codes(attribute, level=level)
    order, first = _runs(node)

    def over_nodes(p: Floats) -> Floats:
        return np.asarray(np.add.reduceat(p[..., order], first, axis=-1))

    chains = None if belief.chains is None else over_nodes(belief.chains)
    return replace(belief, probability=over_nodes(belief.probability), chains=chains)


def _runs(node: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Values in the order of their nodes, and where each node's run begins."""
    order = np.argsort(node, kind="stable")
    return order, np.flatnonzero(np.diff(node[order], prepend=-1))


def _alike(
    belief: Belief, attribute: Attribute, level: int | None, above: float, harmless: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    _check_values(belief, attribute)
    if not 0 <= above < 1:
        raise UsageError(f"above = {above}: a candidate is believed more than a number in [0, 1)")
    node, labels = coarse_codes(attribute, level=level)
    if level is not None and len(labels) == 1 and attribute.codes > 1:
        raise UsageError(f"at level {level} of {attribute.name} all values are one node; choose a lower level")
    return node, harmful(attribute.codes, harmless)


def _similar(p: Floats, node: NDArray[np.int64], counts: NDArray[np.bool_], above: float) -> NDArray[np.bool_]:
    order, first = _runs(node)
    candidate = p > above
    nodes = np.logical_or.reduceat(candidate[:, order], first, axis=1).sum(axis=1)
    return np.asarray((nodes == 1) & candidate[:, counts].any(axis=1))


def _overall(belief: Belief, overall: NDArray[np.number], harmless: Sequence[int]) -> tuple[Floats, NDArray[np.bool_]]:
    check_belief(belief)
    values = belief.probability.shape[1]
    counts = np.asarray(overall, dtype=np.float64)
    if counts.shape != (values,):
        raise UsageError(f"the overall distribution needs one count or share for each of the {values} values")
    if not np.isfinite(counts).all() or (counts < 0).any() or counts.sum() <= 0:
        raise UsageError("the overall distribution must not be negative, nor all 0")
    return counts / counts.sum(), harmful(values, harmless)


def _skew(p: Floats, shares: Floats, counts: NDArray[np.bool_]) -> Floats:
    return np.asarray(ratio(p[:, counts], shares[counts]).max(axis=1))
