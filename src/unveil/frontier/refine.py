"""Refinement: where along a scheme's parameter the next release is worth making."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot

from unveil.audit.document import Verdict
from unveil.frontier.choose import scaled
from unveil.frontier.points import Axes, Point
from unveil.frontier.schemes import Candidate, Scheme, between, moved

__all__ = ["Gap", "gaps"]

SMALL = 0.01  # of the frontier's extent: two points this near have nothing between them worth making
UNKNOWN = 0.5  # the size of a gap with one end that could not be made


@dataclass(frozen=True, slots=True)
class Gap:
    """Two neighbours along one parameter, and the candidate between them."""

    low: str
    high: str
    middle: Candidate
    size: float  # in the plane of the two scales, each 0-1
    crosses: bool  # a limit is kept on one side only


def gaps(
    points: Sequence[Point],
    line: Sequence[Point],
    axes: Axes,
    verdicts: Mapping[str, Verdict],
    schemes: Mapping[str, Scheme],
) -> list[Gap]:
    """Neighbours of which one at least is undominated, or of which one only keeps the limits: largest gap first."""
    places = scaled([p for p in points if p.reliable], axes)
    efficient = {p.name for p in line}
    tried = {p.name for p in points}
    found: dict[str, Gap] = {}
    for row, axis in _lines(points, schemes):
        for one, other in pairwise(row):
            kept = [verdicts.get(p.name) == "within" for p in (one, other)]
            crosses = kept[0] != kept[1]
            feasible = [p for p in (one, other) if p.status in ("measured", "unsure")]
            if not feasible or not (crosses or {one.name, other.name} & efficient):
                continue
            assert one.candidate is not None
            assert other.candidate is not None
            value = between(one.candidate.values[axis], other.candidate.values[axis])
            if value is None:
                continue
            middle = moved(one.candidate, axis, value, schemes)
            size = _size(one, other, places)
            if middle.name in tried or (size < SMALL and not crosses):
                continue
            gap = Gap(one.name, other.name, middle, size, crosses)
            if middle.name not in found or found[middle.name].size < size:
                found[middle.name] = gap
    return sorted(found.values(), key=lambda gap: (not gap.crosses, -gap.size, gap.middle.name))


def _size(one: Point, other: Point, places: Mapping[str, tuple[float, float]]) -> float:
    if one.name not in places or other.name not in places:
        return UNKNOWN
    (a, b), (c, d) = places[one.name], places[other.name]
    return hypot(a - c, b - d)


def _lines(points: Sequence[Point], schemes: Mapping[str, Scheme]) -> list[tuple[list[Point], int]]:
    """Points that differ in one numeric parameter, in its order; and which parameter that is."""
    rows: dict[tuple[str, int, tuple[str, ...]], list[Point]] = {}
    for point in points:
        candidate = point.candidate
        if candidate is None or candidate.scheme not in schemes:
            continue
        for axis in range(len(candidate.axes)):
            if _is_number(candidate.values[axis]):
                rest = candidate.values[:axis] + candidate.values[axis + 1 :]
                rows.setdefault((candidate.scheme, axis, rest), []).append(point)
    found = []
    for (_, axis, _), row in rows.items():
        found.append((sorted(row, key=lambda p: _position(p, axis)), axis))
    return found


def _position(point: Point, axis: int) -> float:
    assert point.candidate is not None
    return float(point.candidate.values[axis])


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False
