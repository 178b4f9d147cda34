"""Charts as binned counts: never one entry a person."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil import risk
from unveil.audit.asking import Answers
from unveil.audit.belief_measures import cut
from unveil.data.attribute import Attribute
from unveil.data.belief import Belief, Targets
from unveil.data.release import Release

__all__ = ["attribute_charts", "group_sizes", "hidden"]

BELIEF_EDGES = np.round(np.linspace(0, 1, 21), 2)
THREAT_EDGES = np.arange(-3, 10.25, 0.5)  # log2 of the relative threat
MOST_LABELS = 20
R_HAT_EDGES = (1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0)
ERROR_EDGES = (0.0, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1)

Chart = dict[str, Any]


def attribute_charts(found: Answers) -> Chart:
    """Everything that is drawn for one sensitive attribute of one release."""
    people = np.arange(len(found.learner.probability))
    truth = found.truth
    threat = {} if truth is None else {n: _threats(b, found.learner, truth) for n, b in found.attackers.items()}
    return {
        "beliefs": {name: _beliefs(belief, found.learner, truth, people) for name, belief in found.attackers.items()},
        "relative_threat": {name: _histogram(times) for name, times in threat.items()},
        "calibration": {n: _calibration(b, truth) for n, b in {"learner": found.learner, **found.attackers}.items()},
        "subgroups": {name: _subgroups(found, times) for name, times in threat.items()},
        "convergence": {n: _convergence(b, truth) for n, b in {"learner": found.learner, **found.attackers}.items()},
    }


def _beliefs(attacker: Belief, learner: Belief, truth: NDArray[np.integer] | None, people: NDArray[np.int64]) -> Chart:
    """Learner (row) against attacker (column): belief in the true value, or without it in the attacker's guess."""
    value = attacker.probability.argmax(axis=1) if truth is None else truth
    mine, theirs = attacker.probability[people, value], learner.probability[people, value]
    counts = np.histogram2d(theirs, mine, bins=(BELIEF_EDGES, BELIEF_EDGES))[0]
    return {"edges": BELIEF_EDGES.tolist(), "counts": counts.astype(int).tolist()}


def _threats(attacker: Belief, learner: Belief, truth: NDArray[np.integer]) -> NDArray[np.float64]:
    return risk.relative_threat(attacker, learner, truth)


def _histogram(times: NDArray[np.float64]) -> Chart:
    """log2 of the relative threat of those who are threatened, ends included in the outer bins."""
    known = times[~np.isnan(times)]
    finite = known[np.isfinite(known) & (known > 0)]
    logs = np.log2(finite)
    inside = np.clip(logs, THREAT_EDGES[0], np.nextafter(THREAT_EDGES[-1], 0))
    off = logs - logs.mean() if len(logs) else logs
    spread = float(np.sqrt((off**2).mean())) if len(logs) else 0.0
    return {
        "edges": THREAT_EDGES.tolist(),
        "counts": np.histogram(inside, bins=THREAT_EDGES)[0].astype(int).tolist(),
        "skewness": float((off**3).mean()) / spread**3 if len(logs) >= 3 and spread > 1e-9 else 0.0,
        "below": int((logs < THREAT_EDGES[0]).sum()),
        "infinite": int(np.isinf(known).sum()),
    }


def _calibration(belief: Belief, truth: NDArray[np.integer] | None) -> Chart:
    """People by how much their guessed value is believed, and how often that guess is right."""
    guess = belief.probability.argmax(axis=1)
    sure = belief.probability[np.arange(len(guess)), guess]
    edges = BELIEF_EDGES[::2]
    place = np.clip(np.digitize(sure, edges) - 1, 0, len(edges) - 2)
    people = np.bincount(place, minlength=len(edges) - 1)
    if truth is None:
        return {"edges": edges.tolist(), "people": people.tolist(), "mean_belief": None, "right": None}
    some = np.maximum(people, 1)
    believed = np.bincount(place, weights=sure, minlength=len(people)) / some
    right = np.bincount(place, weights=(guess == truth).astype(float), minlength=len(people)) / some
    return {
        "edges": edges.tolist(),
        "people": people.tolist(),
        "mean_belief": [float(b) if n else None for b, n in zip(believed, people, strict=True)],
        "right": [float(r) if n else None for r, n in zip(right, people, strict=True)],
    }


def _subgroups(found: Answers, times: NDArray[np.float64]) -> Chart:
    """By quasi-identifier: people, those who are threatened, those at least twice as exposed."""
    threatened, twice = ~np.isnan(times), times >= 2 * (1 - 1e-12)
    chart = {}
    for index in found.targets.known:
        labels, place = _labels(found.release, found.targets, index)
        columns = [np.bincount(place, weights=w, minlength=len(labels)) for w in (None, threatened, twice)]
        chart[found.release.attributes[index].name] = [
            {"label": cut(label), "people": int(n), "threatened": int(t), "twice": int(d)}
            for label, n, t, d in zip(labels, *columns, strict=True)
            if n
        ]
    return chart


def _labels(release: Release, targets: Targets, index: int) -> tuple[list[str], NDArray[np.int64]]:
    """At most 20 labels of an attribute, and (people,) which one each has; numbers by interval, rare ones "other"."""
    attribute, known = release.true_attributes[index], targets.known[index]
    code = known.regions.low[known.regions.start[:-1]].astype(np.int64)[known.of_target]
    if attribute.codes <= MOST_LABELS:
        return list(attribute.values), code
    if attribute.kind.ordered:
        return _intervals(attribute, code)
    counts = np.bincount(code, minlength=attribute.codes)
    frequent = np.sort(np.argsort(-counts, kind="stable")[: MOST_LABELS - 1])
    number = np.full(attribute.codes, MOST_LABELS - 1, dtype=np.int64)
    number[frequent] = np.arange(len(frequent))
    return [*(attribute.values[c] for c in frequent), "other"], number[code]


def _intervals(attribute: Attribute, code: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """Ten runs of codes, missing apart."""
    ends = np.unique(np.linspace(0, attribute.real, 11).astype(int))
    labels = [
        attribute.values[a] if b - a == 1 else f"{cut(attribute.values[a])[:38]} – {cut(attribute.values[b - 1])[:38]}"
        for a, b in pairwise(ends.tolist())
    ]
    place = np.searchsorted(ends, code, side="right") - 1
    if attribute.missing:
        labels.append("missing")
        place = np.where(code >= attribute.real, len(labels) - 1, place)
    return labels, place


def _convergence(belief: Belief, truth: NDArray[np.integer] | None) -> Chart:
    """Spread of chains: R-hat of the watched people, error of each person's belief, the global threat by chain."""
    if belief.chains is None:
        return {"r_hat": None, "error": None, "chains": []}
    error = belief.chains.std(axis=0, ddof=1).max(axis=1)
    error /= 1.0 if belief.diagnostics.refits else np.sqrt(len(belief.chains))
    threat = [] if truth is None else [risk.global_threat(Belief(c.copy()), truth).value for c in belief.chains]
    r_hat = belief.diagnostics.r_hat
    return {
        "r_hat": None if r_hat is None else _binned(r_hat, R_HAT_EDGES),
        "error": _binned(error, ERROR_EDGES),
        "chains": threat,
    }


def _binned(values: NDArray[np.float64], edges: tuple[float, ...]) -> Chart:
    """Counts; what lies beyond the ends is counted in the outermost bins."""
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), bins=edges)[0]
    return {"edges": list(edges), "counts": counts.astype(int).tolist()}


def group_sizes(release: Release) -> Chart:
    """Groups and rows by the size of the group, in doubling steps."""
    edges = [1]
    while edges[-1] <= release.sizes.max():
        edges.append(edges[-1] + 1 if edges[-1] < 4 else int(edges[-1] * 1.5))
    groups = np.histogram(release.sizes, bins=edges)[0]
    rows = np.histogram(release.sizes, bins=edges, weights=release.sizes)[0]
    return {"edges": edges, "groups": groups.astype(int).tolist(), "rows": rows.astype(int).tolist()}


COUNTS = ("counts", "people", "groups", "rows", "threatened", "twice", "below", "infinite", "exposed")
SHARES_OF_PEOPLE = ("mean_belief", "right")


def hidden(chart: Any, least: int) -> Any:
    """The same chart with every count below `least` unknown, and one more where a single one could be worked out."""
    if isinstance(chart, list):
        return _hidden_labels(chart, least)
    if not isinstance(chart, Mapping):
        return chart
    found: Chart = {}
    for key, value in chart.items():
        if key in COUNTS and isinstance(value, list | int):
            found[key] = _hidden_counts(value, least)
        else:
            found[key] = hidden(value, least)
    for key in SHARES_OF_PEOPLE:  # a mean over fewer people than may be counted
        if isinstance(found.get(key), list):
            found[key] = [v if n is not None else None for v, n in zip(found[key], found["people"], strict=True)]
    return found


def _hidden_labels(chart: list[Any], least: int) -> list[Any]:
    """Rows of a table of subgroups: their counts column by column."""
    if not chart or not isinstance(chart[0], Mapping):
        return chart
    columns = {key: _hidden_counts([row[key] for row in chart], least) for key in chart[0] if key in COUNTS}
    return [
        {key: columns[key][place] if key in columns else value for key, value in row.items()}
        for place, row in enumerate(chart)
    ]


def _hidden_counts(counts: Any, least: int) -> Any:
    if isinstance(counts, int):
        return counts if counts >= least else None
    flat = np.array(counts, dtype=object)
    shape = flat.shape
    flat = flat.ravel()
    small = np.array([c < least for c in flat])
    if small.sum() == 1 and len(flat) > 1:  # the total gives a single hidden count away
        rest = np.where(small, np.inf, flat.astype(float))
        small[int(rest.argmin())] = True
    flat[small] = None
    return flat.reshape(shape).tolist()
