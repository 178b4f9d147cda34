"""Limits: `ID [- ID] (<=|<|>=|>) NUMBER`, held against every release and sensitive attribute; presets of them."""

import difflib
import math
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from unveil.audit.definitions import MEASURES
from unveil.audit.document import Finding
from unveil.data.toml import read_toml
from unveil.errors import UsageError, shown
from unveil.privacy.models import MODELS

__all__ = ["Limit", "Preset", "Verdict", "check_limits", "judged", "parse_limit", "read_presets", "worst"]

Verdict = Literal["within", "exceeded", "inconclusive", "no limit"]
_ORDER: tuple[Verdict, ...] = ("no limit", "within", "inconclusive", "exceeded")
_FORM = re.compile(r"(.*\S)\s*(<=|>=|<|>)\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*", re.DOTALL)
_MINUS = re.compile(r"\s+-\s+")
NO_ATTACKER = ("learner", "ideal", "background")
BESIDE_THE_LEARNER = ("relative_", "belief_")  # measures that compare an attacker with the learner


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound on a finding, or on the difference of two."""

    text: str
    left: str
    right: str | None
    sign: Literal["<=", "<", ">=", ">"]
    number: float

    @property
    def ids(self) -> tuple[str, ...]:
        """The findings it names."""
        return (self.left,) if self.right is None else (self.left, self.right)

    def judge(self, low: float | None, high: float | None) -> Verdict:
        """Within only if the whole interval is, exceeded only if the whole interval is beyond."""
        if low is None or high is None:
            return "inconclusive"
        if self.sign in ("<=", "<"):
            kept, broken = (high <= self.number, low > self.number)
            if self.sign == "<":
                kept, broken = (high < self.number, low >= self.number)
        else:
            kept, broken = (low >= self.number, high < self.number)
            if self.sign == ">":
                kept, broken = (low > self.number, high <= self.number)
        return "within" if kept else "exceeded" if broken else "inconclusive"


def parse_limit(text: str, known: Iterable[str] = ()) -> Limit:
    """Read a limit. A value in an id may itself hold ` - `: then the split that gives `known` ids is meant."""
    form = _FORM.fullmatch(text.strip())
    if form is None or not math.isfinite(float(form[3])):
        raise UsageError(
            f"{shown(text)} is no limit; write ID <= NUMBER or ID - ID <= NUMBER with <=, <, >= or >, "
            "for instance relative_threat.max <= 10"
        )
    body, sign, number = form[1].strip(), form[2], float(form[3])
    sides: tuple[str, str | None] = body, None
    names = set(known)
    if body not in names:
        splits = [(body[: m.start()], body[m.end() :]) for m in _MINUS.finditer(body)]
        sides = next((s for s in splits if set(s) <= names), splits[0] if splits else sides)
    return Limit(text.strip(), sides[0], sides[1], sign, number)  # type: ignore[arg-type]


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


def check_limits(limits: Sequence[str], attackers: Sequence[str], labels: Collection[str] | None) -> list[str]:
    """Refuse, before the work, a limit on a measure or a value that no audit has; the ids they name.

    `labels`: the sensitive values there are; None if they are not known yet.
    """
    measures = [*MEASURES, *MODELS]

    def fault(id: str) -> str | None:
        reader, _, rest = id.partition(".")
        name = rest if reader in (*attackers, *NO_ATTACKER) else id
        measure, _, statistic = name.partition(".")
        if measure not in measures:
            words = [*measures, *(f"{a}.{m}" for a in (*attackers, *NO_ATTACKER) for m in MEASURES)]
            close = difflib.get_close_matches(id, words, n=3, cutoff=0.5)
            return f"{shown(id)} is no finding of this audit" + (
                f"; close ones are {', '.join(close)}" if close else ""
            )
        if statistic.startswith("value:") and labels is not None and statistic[6:] not in labels:
            close = difflib.get_close_matches(statistic[6:], list(labels), n=3, cutoff=0.3)
            return f"{shown(statistic[6:])} is no sensitive value" + (
                f"; close ones are {', '.join(map(shown, close))}" if close else ""
            )
        return None

    found: list[str] = []
    for text in limits:
        limit = parse_limit(text)
        body = limit.left if limit.right is None else _FORM.fullmatch(limit.text)[1].strip()  # type: ignore[index]
        ways = [(body,), *((body[: m.start()], body[m.end() :]) for m in _MINUS.finditer(body))]
        good = next((way for way in ways if not any(map(fault, way))), None)
        if good is None:
            raise UsageError(f"{shown(text)}: {next(filter(None, map(fault, limit.ids)), '')}")
        found += good
    return found


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Exceeded before inconclusive before within before no limit."""
    return max(verdicts, key=_ORDER.index, default="no limit")


def judged(
    findings: Sequence[Finding],
    limits: Sequence[str],
    attackers: Sequence[str],
    unreliable: Mapping[tuple[str, str | None, str], str],
) -> tuple[Finding, ...]:
    """The findings with their limits and verdicts; a difference that is limited becomes a finding of its own.

    An id without an attacker stands for every attacker that ran: each is judged, so the worst decides. `unreliable`:
    by (release, attribute, reader) "disagree" or "imprecise"; the first makes every verdict inconclusive, the second
    keeps a limit from counting as kept.
    """
    known = _known_ids(findings, attackers)
    asked = [parse_limit(text, known) for text in limits]
    for limit in asked:
        for id in limit.ids:
            if id not in known:
                raise UsageError(f"{shown(limit.text)}: {_unknown(id, known)}")
    table = {(f.release, f.attribute, f.id): f for f in findings}
    verdicts: dict[tuple[str, str | None, str], list[tuple[str, Verdict]]] = {}
    added = []
    for limit in asked:
        hit = False
        for release, attribute in dict.fromkeys((f.release, f.attribute) for f in findings):
            for ids in _meant(limit, release, attribute, table, attackers):
                hit = True
                parts = [_at(table, release, attribute, id) for id in ids]
                verdict = _verdict(limit, [p for p in parts if p is not None], unreliable)
                if len(ids) == 1:
                    verdicts.setdefault((release, attribute, ids[0]), []).append((limit.text, verdict))
                else:
                    added.append(_difference(limit, release, attribute, ids, table, verdict))
        if not hit:
            raise UsageError(
                f"{shown(limit.text)}: no release has both findings; the first is of one attribute, the other of none"
            )
    marked = []
    for finding in findings:
        found = verdicts.get((finding.release, finding.attribute, finding.id), [])
        marked.append(
            finding.model_copy(
                update={"limit": "; ".join(text for text, _ in found), "verdict": worst(v for _, v in found)}
            )
            if found
            else finding
        )
    return (*marked, *added)


def _known_ids(findings: Sequence[Finding], attackers: Sequence[str]) -> dict[str, None]:
    """Every id that a limit may name, with and without the attacker."""
    ids: dict[str, None] = {}
    for finding in findings:
        ids[finding.id] = None
        reader, _, rest = finding.id.partition(".")
        if reader in attackers:
            ids[rest] = None
    return ids


def _unknown(id: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(id, list(known), n=3, cutoff=0.5)
    return f"{shown(id)} is no finding of this audit" + (
        f"; close ones are {', '.join(map(shown, close))}" if close else "; see docs/audit.md for the ids"
    )


def _at(
    table: Mapping[tuple[str, str | None, str], Finding], release: str, attribute: str | None, id: str
) -> Finding | None:
    """A finding of this attribute, or of none: an identity finding goes with every attribute."""
    return table.get((release, attribute, id)) or table.get((release, None, id))


def _meant(
    limit: Limit,
    release: str,
    attribute: str | None,
    table: Mapping[tuple[str, str | None, str], Finding],
    attackers: Sequence[str],
) -> list[tuple[str, ...]]:
    """The ids meant for one release and attribute: as written, or once an attacker."""
    found: dict[tuple[str, ...], None] = {}
    for reader in (None, *attackers):
        ids = []
        for id in limit.ids:
            plain = _at(table, release, attribute, id) is not None
            ids.append(id if plain or reader is None else f"{reader}.{id}")
        here = [(release, attribute, id) in table for id in ids]
        if all(_at(table, release, attribute, id) is not None for id in ids) and any(here):
            found[tuple(ids)] = None
    return list(found)


def _number(value: float | str | None) -> float | None:
    return math.inf if value == "inf" else None if value is None else float(value)


def _verdict(limit: Limit, parts: Sequence[Finding], unreliable: Mapping[tuple[str, str | None, str], str]) -> Verdict:
    low, high = _ends(parts)
    verdict = limit.judge(low, high)
    states = set()
    for part in parts:
        reader, _, measure = part.id.partition(".")
        states.add(unreliable.get((part.release, part.attribute, reader)))
        if measure.startswith(BESIDE_THE_LEARNER):
            states.add(unreliable.get((part.release, part.attribute, "learner")))
    if "disagree" in states or ("imprecise" in states and verdict == "within"):
        return "inconclusive"
    return verdict


def _ends(parts: Sequence[Finding]) -> tuple[float | None, float | None]:
    """The interval of a finding; of a difference the widest that both allow, as their errors may go together."""
    low, high = _number(parts[0].low), _number(parts[0].high)
    if len(parts) == 1 or low is None or high is None:
        return low, high
    less, more = _number(parts[1].low), _number(parts[1].high)
    if less is None or more is None:
        return None, None
    ends = low - more, high - less
    return (None, None) if any(map(math.isnan, ends)) else ends


def _difference(
    limit: Limit,
    release: str,
    attribute: str | None,
    ids: Sequence[str],
    table: Mapping[tuple[str, str | None, str], Finding],
    verdict: Verdict,
) -> Finding:
    parts = [_at(table, release, attribute, id) for id in ids]
    assert parts[0] is not None
    assert parts[1] is not None
    low, high = _ends([parts[0], parts[1]])
    one, other = _number(parts[0].value), _number(parts[1].value)
    value = None if low is None or high is None or one is None or other is None else one - other
    if value is None or low is None or high is None or not all(map(math.isfinite, (value, low, high))):
        value = low = high = None
    return Finding(
        id=" - ".join(ids),
        release=release,
        attribute=attribute,
        value=value,
        low=low,
        high=high,
        limit=limit.text,
        verdict=verdict,
    )
