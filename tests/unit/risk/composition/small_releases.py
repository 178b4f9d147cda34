"""Tiny releases of both kinds, and the sum over every world that fits them, written without the product's code."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known, Targets
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release

__all__ = ["Plain", "buckets", "enumerated", "intervals", "known", "random_plain"]


@dataclass(frozen=True)
class Plain:
    """A release in plain lists: entries (codes that fit, group, rows) and groups (columns with rows)."""

    entries: Sequence[tuple[frozenset[int], int, int]]
    held: Sequence[dict[int, int]]
    release: Release
    emission: np.ndarray | None = None  # (columns, values)


def _attributes(x: int, s: int) -> tuple[Attribute, ...]:
    return (
        Attribute("x", Role.QUASI_IDENTIFIER, Kind.ORDINAL, tuple(f"x{i}" for i in range(x))),
        Attribute("s", Role.SENSITIVE, Kind.ORDINAL, tuple(f"s{i}" for i in range(s))),
    )


def known(x: np.ndarray, codes: int) -> Targets:
    """People whose x is known."""
    return Targets(1, {0: Known(Regions.singles(codes), np.asarray(x, dtype=np.int64))}, len(x))


def buckets(x: np.ndarray, s: np.ndarray, group: np.ndarray, codes: int, values: int) -> Plain:
    """Anatomy: cells exact, values of a group apart."""
    release = build_release(
        _attributes(codes, values),
        [Regions.singles(codes), Regions.singles(values)],
        [BlockRows((0,), group, (x,)), BlockRows((1,), group, (s,))],
    )[0]
    groups = range(int(group.max()) + 1)
    entries = [
        (frozenset([c]), g, int(((group == g) & (x == c)).sum()))
        for g in groups
        for c in range(codes)
        if ((group == g) & (x == c)).any()
    ]
    held = [{v: int(n) for v, n in enumerate(np.bincount(s[group == g], minlength=values)) if n} for g in groups]
    return Plain(entries, held, release)


def intervals(
    low: np.ndarray, high: np.ndarray, s: np.ndarray, codes: int, values: int, withheld: np.ndarray | None = None
) -> Plain:
    """Generalised: every row shows an interval and its value, or * where that is withheld."""
    pairs = sorted({(int(a), int(b)) for a, b in zip(low, high, strict=True)})
    number = np.array([pairs.index((int(a), int(b))) for a, b in zip(low, high, strict=True)])
    regions = Regions.intervals(codes, [a for a, _ in pairs], [b for _, b in pairs])
    column, of_value, emission = s.astype(np.int64), Regions.singles(values), None
    if withheld is not None:
        of_value = Regions.intervals(values, [*range(values), 0], [*range(values), values - 1])
        column = np.where(withheld, values, s)
    release = build_release(
        _attributes(codes, values), [regions, of_value], [BlockRows((0, 1), number, (number, column))]
    )[0]
    if withheld is not None:
        shown = release.regions[1]
        emission = np.array([[float(v in shown.members(r)) for v in range(values)] for r in range(len(shown))])
        names = [tuple(shown.members(r).tolist()) for r in range(len(shown))]
        back = {c: names.index((c,) if c < values else tuple(range(values))) for c in set(column.tolist())}
        column = np.array([back[c] for c in column.tolist()])
    entries = [(frozenset(range(a, b + 1)), g, int((number == g).sum())) for g, (a, b) in enumerate(pairs)]
    held = [
        {int(v): int(((number == g) & (column == v)).sum()) for v in set(column[number == g].tolist())}
        for g in range(len(pairs))
    ]
    return Plain(entries, held, release, emission)


def enumerated(x: np.ndarray, releases: Sequence[Plain], p: np.ndarray) -> np.ndarray:
    """Everybody takes a value and a row of every release in every way that uses all rows up. Exponential."""
    people, values = p.shape
    total = np.zeros_like(p)
    left = [[e[2] for e in one.entries] for one in releases]
    held = [[dict(h) for h in one.held] for one in releases]
    chosen = np.zeros(people, dtype=int)

    def person(i: int, weight: float) -> None:
        if i == people:
            total[np.arange(people), chosen] += weight
            return
        for s in range(values):
            chosen[i] = s
            rows(i, s, 0, weight * p[i, s])

    def rows(i: int, s: int, r: int, weight: float) -> None:
        if weight == 0:
            return
        if r == len(releases):
            chosen[i] = s
            person(i + 1, weight)
            chosen[i] = s
            return
        one = releases[r]
        for e, (fits, group, _) in enumerate(one.entries):
            if int(x[i]) not in fits or not left[r][e]:
                continue
            for column, rest in list(held[r][group].items()):
                chance = float(column == s) if one.emission is None else float(one.emission[column, s])
                if rest and chance:
                    left[r][e] -= 1
                    held[r][group][column] -= 1
                    rows(i, s, r + 1, weight * chance)
                    left[r][e] += 1
                    held[r][group][column] += 1

    person(0, 1.0)
    return total / total.sum(axis=1, keepdims=True)


def random_plain(rng: np.random.Generator, x: np.ndarray, s: np.ndarray, codes: int, values: int) -> Plain:
    """A release of these people: buckets, a partition into intervals, or overlapping intervals."""
    people = len(x)
    kind = rng.random()
    if kind < 0.5:
        group = np.unique(rng.integers(0, max(1, people // 2), people), return_inverse=True)[1]
        return buckets(x, s, group, codes, values)
    if kind < 0.85:
        cuts = np.sort(rng.choice(codes, size=min(codes, int(rng.integers(1, 4))), replace=False))
        cuts[0] = 0
        part = np.searchsorted(cuts, x, side="right") - 1
        return intervals(cuts[part], np.append(cuts[1:], codes)[part] - 1, s, codes, values)
    spread = rng.integers(0, 3, (2, people))
    return intervals(np.maximum(x - spread[0], 0), np.minimum(x + spread[1], codes - 1), s, codes, values)
