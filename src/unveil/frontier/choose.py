"""Which point: the undominated ones, the knee among them, and the most useful one within limits; its neighbours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal

from unveil.audit.document import Finding, Verdict
from unveil.audit.limits import judge as hold_against
from unveil.audit.limits import worst
from unveil.errors import UsageError
from unveil.frontier.points import Axes, Point, dominates

__all__ = ["Choice", "choose", "judge", "knee", "marked", "scaled", "undominated"]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What is recommended and why; None: nothing can be."""

    point: Point | None
    rule: Literal["limits", "knee"]
    words: str
    safer: Point | None = None  # the next undominated point with less risk
    more_useful: Point | None = None  # and the next with less utility lost
    exit_code: Literal[0, 1, 3] = 0
    remarks: tuple[str, ...] = ()

    @property
    def recommended(self) -> Point | None:
        """Within limits; a knee is shown, not recommended."""
        return self.point if self.rule == "limits" else None


def undominated(points: Sequence[Point], axes: Axes) -> list[Point]:
    """Points that no other one dominates, by growing risk. Those whose chains did not converge are not looked at."""
    known = [(p, place) for p in points if p.reliable and (place := axes.place(p)) is not None]
    places = [place for _, place in known]
    found = [(p, place) for p, place in known if not any(dominates(other, place) for other in places)]
    return [p for p, _ in sorted(found, key=lambda pair: (pair[1][0].value, pair[1][1].value))]


def _order(axes: Axes, point: Point) -> tuple[float, float]:
    place = axes.place(point)
    return (inf, inf) if place is None else (place[0].value, place[1].value)


def scaled(points: Sequence[Point], axes: Axes) -> dict[str, tuple[float, float]]:
    """Each point's place with both scales brought to 0-1 over these points; those at infinity are left out."""
    places = {}
    for point in points:
        place = axes.place(point)
        if place is not None and isfinite(place[0].value) and isfinite(place[1].value):
            places[point.name] = (place[0].value, place[1].value)
    ends = [(min(values), max(values)) for values in zip(*places.values(), strict=True)]
    return {
        name: tuple((v - low) / (high - low) if high > low else 0.0 for v, (low, high) in zip(place, ends, strict=True))  # type: ignore[misc]
        for name, place in places.items()
    }


def knee(line: Sequence[Point], axes: Axes) -> Point | None:
    """The undominated point furthest below the straight line between the two ends, both scales brought to 0-1."""
    places = scaled(line, axes)
    inner = [p for p in line if not p.trivial and p.name in places]
    return min(inner, key=lambda p: sum(places[p.name]), default=None)


def judge(point: Point, limits: Sequence[str], attackers: Sequence[str]) -> Verdict:
    """The worst verdict over all limits; a limit on what is not known of this point is inconclusive."""
    found: list[Verdict] = []
    for text in limits:
        try:
            verdict = worst(f.verdict for f in _judge(point, [text], attackers))
        except UsageError:
            verdict = "inconclusive"
        found.append("inconclusive" if verdict == "no limit" else verdict)
    return worst(found)


def marked(point: Point, limits: Sequence[str], attackers: Sequence[str]) -> tuple[Finding, ...]:
    """The point's findings with limits and verdicts."""
    try:
        return _judge(point, limits, attackers)
    except UsageError:  # one of them is about what this point does not have
        return point.findings


def _judge(point: Point, limits: Sequence[str], attackers: Sequence[str]) -> tuple[Finding, ...]:
    """Differences are made again by whoever limits them."""
    single = [f for f in point.findings if f.minus is None]
    found = hold_against(single, limits, attackers, point.unreliable or {})
    have = {(f.attribute, f.id) for f in found}
    return (*found, *(f for f in point.findings if (f.attribute, f.id) not in have))


def choose(
    points: Sequence[Point],
    line: Sequence[Point],
    axes: Axes,
    verdicts: Mapping[str, Verdict],
    *,
    limits: Sequence[str],
    complete: bool,
) -> Choice:
    """Within limits the point that loses least utility, of equal ones the safest; without limits the knee is shown.

    `complete`: every candidate was tried. Trivial points, and those whose chains did not converge, are never chosen.
    """
    own = [p for p in points if not p.trivial]
    remarks: list[str] = []
    chosen: Point | None
    if limits:
        rule: Literal["limits", "knee"] = "limits"
        kept = [p for p in own if p.reliable and verdicts[p.name] == "within" and axes.place(p) is not None]
        chosen = min(kept, key=lambda p: _order(axes, p)[::-1], default=None)
        words = f"The least utility lost ({axes.utility}) within {' and '.join(limits)}."
        if chosen is None:
            words = "No release that was tried is known to keep the limits."
        unsure = [p for p in own if _open(p, verdicts) and (chosen is None or _might_be_better(p, chosen, axes))]
        if unsure:
            names = ", ".join(p.name for p in unsure[:5])
            remarks.append(f"Not decided, and perhaps more useful: {names}. Longer chains may tell.")
        trivial = [p.name for p in points if p.trivial and p.reliable and verdicts[p.name] == "within"]
        if trivial and chosen is None:
            remarks.append(f"The limits are kept by a trivial release: {', '.join(trivial)}.")
        code: Literal[0, 1, 3] = 0 if chosen is not None else 3 if unsure or not complete else 1
    else:
        rule = "knee"
        chosen = knee(line, axes)
        words = (
            "No limit was stated, so that nothing is recommended; state one with --limit. The knee lies furthest below "
            f"the line between the ends of the frontier in {axes.risk} and {axes.utility}."
        )
        if chosen is None:
            words = "No release that was tried can be shown as the knee."
            if any(p.reliable for p in own):
                words = (
                    f"Every release that was tried is no safer than the original ({axes.risk}), or no more useful than "
                    f"the table without its quasi-identifiers ({axes.utility})."
                )
        code = 3
    if not complete:
        remarks.append("The sweep was stopped before every candidate was tried.")
        code = 3
    if chosen is None:
        return Choice(None, rule, words, exit_code=code, remarks=tuple(remarks))
    if chosen not in line:
        mine = axes.place(chosen)
        better = next((p.name for p in line if mine and (place := axes.place(p)) and dominates(place, mine)), None)
        if better is not None:
            remarks.append(f"{better} is no worse in both scales, but trivial or not within every limit.")
    safer, useful = _neighbours(chosen, line, axes)
    return Choice(chosen, rule, words, safer, useful, code, tuple(remarks))


def _open(point: Point, verdicts: Mapping[str, Verdict]) -> bool:
    return point.status in ("measured", "unsure") and (
        verdicts[point.name] == "inconclusive" or (point.status == "unsure" and verdicts[point.name] == "within")
    )


def _might_be_better(point: Point, chosen: Point, axes: Axes) -> bool:
    place, best = axes.place(point), axes.place(chosen)
    return place is None or best is None or place[1].value < best[1].value


def _neighbours(chosen: Point, line: Sequence[Point], axes: Axes) -> tuple[Point | None, Point | None]:
    """The nearest undominated points with less risk and with less utility lost."""
    mine = _order(axes, chosen)
    others = [p for p in line if p is not chosen]
    safer = [p for p in others if _order(axes, p)[0] < mine[0]]
    useful = [p for p in others if _order(axes, p)[1] < mine[1]]
    return (
        max(safer, key=lambda p: _order(axes, p)[0], default=None),
        max(useful, key=lambda p: _order(axes, p)[1], default=None),
    )
