"""Limits: `ID [- ID] (<=|<|>=|>) NUMBER`, applied to every release and sensitive attribute; presets of them."""

import difflib
import math
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from unveil.audit.document import Finding, FindingId, Verdict, amount, number
from unveil.audit.measures import PANEL, READERS, kind_of, measure, parse_ids, reads, stands_for
from unveil.data.toml import read_toml
from unveil.errors import UsageError, shown

__all__ = [
    "Limit",
    "Preset",
    "check_limits",
    "judge",
    "limits_that_say_nothing",
    "limits_without_findings",
    "parse_limit",
    "read_presets",
    "refuse_reversed_limits",
    "worst",
]

_ORDER: tuple[Verdict, ...] = ("no limit", "within", "inconclusive", "exceeded")
_FORM = re.compile(r"(.*\S)\s*(<=|>=|<|>)\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*", re.DOTALL)
BESIDE_THE_LEARNER = ("relative_", "belief_")  # measures that compare an attacker with the learner

Unreliable = Mapping[tuple[str, str | None, str], str]  # by release, attribute and reader: "disagree" or "imprecise"


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound on a finding, or on the difference of two."""

    text: str
    left: FindingId
    right: FindingId | None
    sign: Literal["<=", "<", ">=", ">"]
    number: float

    @property
    def parts(self) -> tuple[FindingId, ...]:
        """The findings it names."""
        return (self.left,) if self.right is None else (self.left, self.right)

    def judge(self, low: float | None, high: float | None) -> Verdict:
        """Within only if the whole interval is, exceeded only if the whole interval is beyond."""
        if low is None or high is None or math.isnan(low) or math.isnan(high):
            return "inconclusive"
        bound = self.number
        kept, broken = {
            "<=": (high <= bound, low > bound),
            "<": (high < bound, low >= bound),
            ">=": (low >= bound, high < bound),
            ">": (low > bound, high <= bound),
        }[self.sign]
        return "within" if kept else "exceeded" if broken else "inconclusive"


def parse_limit(text: str) -> Limit:
    """Read a limit. A value in an id may itself hold ` - `: the split whose sides are measures is meant."""
    form = _FORM.fullmatch(text.strip())
    if form is None or not math.isfinite(float(form[3])):
        raise UsageError(
            f"{shown(text)} is not a limit; write ID <= NUMBER or ID - ID <= NUMBER with <=, <, >= or >, "
            "for instance relative_threat.max <= 10"
        )
    body, sign, bound = form[1].strip(), form[2], float(form[3])
    try:
        left, *right = parse_ids(body)
    except UsageError as error:
        raise UsageError(f"{shown(text)}: {error}") from None
    return Limit(text.strip(), left, right[0] if right else None, sign, bound)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Preset:
    """Limits that an institution published."""

    name: str
    words: str
    source: str
    limits: tuple[str, ...]


def read_presets(path: str | Path | None = None) -> dict[str, Preset]:
    """The presets that come with unveil, and those of a file, which win."""
    own = tomllib.loads(files("unveil.audit").joinpath("presets.toml").read_text(encoding="utf-8"))
    found = _presets(own, "presets.toml")
    if path is not None:
        found |= _presets(read_toml(Path(path), UsageError), str(path))
    return found


def _presets(content: Mapping[str, Any], file: str) -> dict[str, Preset]:
    found = {}
    for name, table in content.items():
        if not isinstance(table, dict) or set(table) != {"words", "source", "limits"}:
            raise UsageError(f"{file}, {shown(name)}: a preset is a table with words, source and limits")
        limits = table["limits"]
        if not isinstance(limits, list) or not limits or not all(isinstance(text, str) for text in limits):
            raise UsageError(f"{file}, {shown(name)}: limits must be a list of texts such as 'k_anonymity >= 5'")
        for text in limits:
            parse_limit(text)
        found[name] = Preset(name, str(table["words"]), str(table["source"]), tuple(limits))
    return found


def check_limits(
    limits: Sequence[str],
    attackers: Sequence[str],
    labels: Collection[str] | None = None,
    measured: Collection[str] | None = None,
    readers: Sequence[str] = READERS,
) -> list[FindingId]:
    """Refuse, before the work, a limit on a measure, a reader or a value that this run does not have; what they name.

    `labels`: the sensitive values there are; None if they are not known yet. `measured`: the names of measures, or of
    single statistics, that this run has; None: every measure.
    """
    found: list[FindingId] = []
    for text in limits:
        for part in parse_limit(text).parts:
            if measured is not None and part.measure not in measured and part.name not in measured:
                raise UsageError(f"{shown(text)}: {part.name} is not measured here{_close(part.name, measured)}")
            kinds = {kind_of(name) for name in attackers}
            if readers is READERS and kind_of(part.reader or "") == PANEL:
                pass  # its members depend on the release
            elif part.reader is not None and part.reader not in (*attackers, *kinds, *readers):
                raise UsageError(f"{shown(text)}: unknown reader {shown(part.reader)}{_close(part.reader, attackers)}")
            value = (part.statistic or "").removeprefix("value:")
            if (part.statistic or "").startswith("value:") and labels is not None and value not in labels:
                raise UsageError(f"{shown(text)}: {shown(value)} is not a sensitive value{_close(value, labels)}")
            found.append(part)
    return found


def refuse_reversed_limits(limits: Sequence[str]) -> None:
    """Refuse a limit that points the wrong way: it looks like protection, and keeps what is worst."""
    for limit in map(parse_limit, limits):
        left, upper = limit.left, limit.sign in ("<=", "<")
        better = measure(left.measure).direction(left.statistic)
        if limit.right is None and better and upper == (better > 0):
            safer = "more" if better > 0 else "less"
            turned = f"{left.id} {'>=' if upper else '<='} {limit.number:g}"
            raise UsageError(f"{shown(limit.text)} points the wrong way: {safer} is safer; write {turned}")
        if limit.right is not None and left.reader == "learner" and limit.right.reader != "learner" and upper:
            turned = f"{limit.right.id} - {left.id} {limit.sign} {limit.number:g}"
            raise UsageError(f"{shown(limit.text)} points the wrong way: the attacker comes first; write {turned}")


def limits_that_say_nothing(limits: Sequence[str]) -> list[str]:
    """A sentence for each limit that is always kept, or is about nobody in the file."""
    found = []
    for limit in map(parse_limit, limits):
        left, upper = limit.left, limit.sign in ("<=", "<")
        least = 1 if left.measure in _COUNTS else 0
        if limit.right is not None or measure(left.measure).kind == "utility":
            continue
        if left.reader == "learner":
            found.append(
                f"{limit.text} limits what anybody learns in general; it says nothing of the people in the file."
            )
        elif upper and _bounded(left) and limit.judge(1, 1) == "within":
            found.append(f"{limit.text} cannot fail: it is never above 1.")
        elif not upper and limit.judge(least, least) == "within":
            found.append(f"{limit.text} cannot fail: it is never below {least}.")
    return found


_COUNTS = ("k_anonymity", "distinct_l", "entropy_l", "probabilistic_l", "fewest_rows")  # never below 1
_NEVER_ABOVE_1 = ("t_closeness", "n_t_closeness", "strict_n_t_closeness", "delta_presence", "b_t_privacy")


def _bounded(part: FindingId) -> bool:
    """Whether a finding is never above 1."""
    return measure(part.measure).unit_of(part.statistic) in ("share", "points") or part.measure in _NEVER_ABOVE_1


def limits_without_findings(
    findings: Sequence[Finding], limits: Sequence[str], attackers: Sequence[str], releases: Sequence[str]
) -> dict[str, list[str]]:
    """By release: the limits that nothing in it can be compared with.

    A statistic that is unknown though its measure is there is a slip of the pen, left to `judge`.
    """
    places: dict[tuple[str, str | None], list[Finding]] = {}
    for finding in findings:
        places.setdefault((finding.release, finding.attribute), []).append(finding)
    there = {f.measure for f in findings}
    found: dict[str, list[str]] = {}
    for limit in map(parse_limit, limits):
        touched = {place[0] for place in places if any(_meant(limit, place, places, attackers))}
        if touched or not any(part.measure in there for part in limit.parts):
            for release in releases:
                if release not in touched:
                    found.setdefault(release, []).append(limit.text)
    return found


def _close(name: str, names: Iterable[str]) -> str:
    known = list(names)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.3) or sorted(known)[:12]
    return f"; choose from {', '.join(map(shown, close))}" if close else ""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Exceeded before inconclusive before within before no limit."""
    return max(verdicts, key=_ORDER.index, default="no limit")


def judge(
    findings: Sequence[Finding], limits: Sequence[str], attackers: Sequence[str], unreliable: Unreliable | None = None
) -> tuple[Finding, ...]:
    """The findings with their limits and verdicts; a difference that is limited becomes a finding of its own.

    An id without a reader stands for every attacker that ran and for the panel, one with an attacker's kind for all of
    that kind unless one has just that name: each is judged, so the worst decides. `unreliable`: "disagree" makes every
    verdict inconclusive, "imprecise" keeps a limit from counting as kept.
    """
    states = {} if unreliable is None else unreliable
    places: dict[tuple[str, str | None], list[Finding]] = {}
    for finding in findings:
        places.setdefault((finding.release, finding.attribute), []).append(finding)
    verdicts: dict[int, list[tuple[str, Verdict]]] = {}
    added = []
    for limit in map(parse_limit, limits):
        pairs = [pair for place in places for pair in _meant(limit, place, places, attackers)]
        if not pairs:
            missing = [p.id for p in limit.parts if not any(stands_for(p, f, attackers) for f in findings)]
            why = f"nothing here measures {' or '.join(missing)}" if missing else "no release has both findings"
            raise UsageError(f"{shown(limit.text)}: {why}{_close(limit.left.id, {f.id for f in findings})}")
        for pair in pairs:
            verdict = _verdict(limit, pair, states)
            if len(pair) == 1:
                verdicts.setdefault(id(pair[0]), []).append((limit.text, verdict))
            else:
                added.append(_difference(limit, pair, verdict))
    marked = []
    for finding in findings:
        found = verdicts.get(id(finding), [])
        if found and finding.limit:  # compared with other limits before
            found = [(finding.limit, finding.verdict), *found]
        update = {"limit": "; ".join(dict.fromkeys(text for text, _ in found)), "verdict": worst(v for _, v in found)}
        marked.append(finding.model_copy(update=update) if found else finding)
    return (*marked, *added)


def _meant(
    limit: Limit,
    place: tuple[str, str | None],
    places: Mapping[tuple[str, str | None], list[Finding]],
    attackers: Sequence[str],
) -> Iterator[tuple[Finding, ...]]:
    """The findings meant for one release and attribute; of a difference, pairs of the same attacker.

    A finding of the release itself goes with every attribute, in a difference.
    """
    release, attribute = place
    here = places[place]
    lefts = [f for f in here if f.minus is None and stands_for(limit.left, f, attackers)]
    if limit.right is None:
        yield from ((f,) for f in lefts)
        return
    shared = [] if attribute is None else places.get((release, None), [])
    lefts = lefts or [f for f in shared if stands_for(limit.left, f, attackers)]
    rights = [f for f in here if f.minus is None and stands_for(limit.right, f, attackers)]
    rights = rights or [f for f in shared if stands_for(limit.right, f, attackers)]
    for left in lefts:
        for right in rights:
            both = reads(left.reader, attackers) and reads(right.reader, attackers)
            free = limit.left.reader is None and limit.right.reader is None
            if (left.attribute, right.attribute) == (None, None) and attribute is not None:
                continue
            if not (both and free) or left.reader == right.reader:
                yield left, right


def _verdict(limit: Limit, parts: Sequence[Finding], unreliable: Unreliable) -> Verdict:
    verdict = limit.judge(*_ends(parts))
    states = set()
    for part in parts:
        # What is learned of a release without an attacker (its faithfulness) is as sure as the learner.
        states.add(unreliable.get((part.release, part.attribute, part.reader or part.measure)))
        if part.measure.startswith(BESIDE_THE_LEARNER):
            states.add(unreliable.get((part.release, part.attribute, part.against or "learner")))
    if "disagree" in states or ("imprecise" in states and verdict == "within"):
        return "inconclusive"
    return verdict


def _ends(parts: Sequence[Finding]) -> tuple[float, float]:
    """The interval of a finding; of a difference the widest that both allow, as their errors may go together."""
    low, high = amount(parts[0].low), amount(parts[0].high)
    if len(parts) == 1:
        return low, high
    return low - amount(parts[1].high), high - amount(parts[1].low)


def _difference(limit: Limit, pair: Sequence[Finding], verdict: Verdict) -> Finding:
    left, right = pair
    low, high = _ends(pair)
    value = amount(left.value) - amount(right.value)
    known = all(map(math.isfinite, (value, low, high)))
    ends = [number(v) if known else None for v in (value, low, high)]
    minus = FindingId(reader=right.reader, measure=right.measure, statistic=right.statistic)
    place = left if left.attribute is not None else right
    update: dict[str, Any] = dict(zip(("value", "low", "high"), ends, strict=True))
    update |= {"minus": minus, "baseline": None, "limit": limit.text, "verdict": verdict, "attribute": place.attribute}
    return left.model_copy(update=update)
