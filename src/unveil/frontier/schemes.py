"""Schemes: an anonymizer whose parameters are swept, `mondrian:k=2+5+10`, and the candidates it stands for."""

import math
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any

import numpy as np

from unveil.catalog import SHORTHAND, anonymizer, member, parse, privacy_model
from unveil.data.attribute import Role
from unveil.data.release import Anonymized, Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError, shown
from unveil.privacy.models import MODELS, PrivacyModel

__all__ = [
    "Axis",
    "Candidate",
    "FinishedRelease",
    "Scheme",
    "between",
    "default_schemes",
    "distinct",
    "moved",
    "parse_scheme",
]

MOST_CANDIDATES = 10_000  # of one scheme


@dataclass(frozen=True, slots=True)
class Axis:
    """One parameter that is swept, and its values as they are written."""

    part: int  # 0: the anonymizer, else which of its requirements
    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scheme:
    """An anonymizer, its requirements, and what is swept of both.

    `checked`: requirements that the anonymizer cannot be given; a release of it that misses one is never chosen.
    """

    text: str
    parts: tuple[tuple[str, Mapping[str, str]], ...]  # name and options: the anonymizer, then its requirements
    axes: tuple[Axis, ...]
    checked: int = 0  # how many of the last requirements are only checked

    def candidates(self) -> "Iterator[Candidate]":
        """Every combination of the values."""
        if math.prod(len(axis.values) for axis in self.axes) > MOST_CANDIDATES:
            raise UsageError(f"{shown(self.text)} stands for over {MOST_CANDIDATES:,} releases; sweep fewer values")
        for values in product(*(axis.values for axis in self.axes)):
            yield self.at(values)

    def at(self, values: Sequence[str]) -> "Candidate":
        """The candidate with these values, one an axis."""
        options = [dict(given) for _, given in self.parts]
        for axis, value in zip(self.axes, values, strict=True):
            options[axis.part][axis.key] = value
        texts = [_written(name, given) for (name, _), given in zip(self.parts, options, strict=True)]
        kept = len(texts) - self.checked
        method = anonymizer(texts[0], texts[1:kept])
        checked = tuple(privacy_model(text) for text in texts[kept:])
        return Candidate(
            " ".join(texts), self.text, self.axes, tuple(values), method, texts[0], tuple(texts[1:]), checked
        )


@dataclass(frozen=True, slots=True, eq=False)
class FinishedRelease:
    """A release that somebody made already, with whatever tool: a point like any other."""

    release: Release

    def anonymize(self, table: Table, engine: Engine) -> Anonymized:
        """Nothing is made, and nothing says which row went where."""
        return Anonymized(self.release, np.empty(0, dtype=np.int32))

    def candidate(self, name: str, require: Sequence[str] = ()) -> "Candidate":
        """It as a candidate by the name of its file; requirements are checked."""
        return Candidate(name, name, (), (), self, name, (), tuple(map(privacy_model, require)))


@dataclass(frozen=True, slots=True)
class Candidate:
    """One release that could be made: its name is how it would be written."""

    name: str
    scheme: str
    axes: tuple[Axis, ...]
    values: tuple[str, ...]  # one an axis
    method: Any  # an anonymizer
    with_text: str = ""
    require: tuple[str, ...] = ()
    checked: tuple[PrivacyModel, ...] = ()

    @property
    def parameters(self) -> dict[str, str]:
        """What was swept, by name; of a requirement `MODEL.option`."""
        models = [text.partition(":")[0] for text in self.require]
        return {
            axis.key if not axis.part else f"{models[axis.part - 1]}.{axis.key}": value
            for axis, value in zip(self.axes, self.values, strict=True)
        }

    @property
    def models(self) -> tuple[PrivacyModel, ...]:
        """The privacy models that its release keeps by construction."""
        own: tuple[PrivacyModel, ...] = tuple(getattr(self.method, "require", ()))
        for key, model in SHORTHAND.items():  # a field of its own, as anatomy's l
            value = getattr(self.method, key, None)
            if value is not None and model in MODELS:
                own = (*own, MODELS[model](**{key: value}))
        return own


def parse_scheme(text: str, require: Sequence[str] = ()) -> Scheme:
    """`ANONYMIZER[:options] [MODEL:options …]`; an option with several values, joined by `+`, is swept.

    `require` holds for every scheme: the releases of an anonymizer that takes no requirements are checked afterwards.
    """
    words = text.split()
    if not words:
        raise UsageError("an empty scheme; write for instance mondrian:k=2+5+10")
    name, options = parse(words[0])
    cls = member("anonymizers", name)
    takes = "require" in {f.name for f in fields(cls)}
    if len(words) > 1 and not takes:
        raise UsageError(f"{shown(text)}: {name} takes no requirements of its own; leave out {shown(words[1])}")
    parts, axes = [], []
    for place, word in enumerate([*words, *require]):
        if place:
            name, options = parse(word)
            if name not in MODELS:
                raise UsageError(
                    f"{shown(word)} in {shown(text)} is not a privacy model; choose from {', '.join(MODELS)}"
                )
            cls = MODELS[name]
        fixed, swept = _swept(cls, options)
        parts.append((name, fixed))
        axes += [Axis(place, key, values) for key, values in swept.items()]
    return Scheme(text, tuple(parts), tuple(axes), checked=0 if takes else len(require))


def default_schemes(table: Table) -> list[str]:
    """What is tried if nothing is named: recoding, buckets, microaggregation, withheld cells, where they apply."""
    found = ["mondrian:k=2+5+10+25+50+100"]
    if table.with_role(Role.SENSITIVE):
        found.append("mondrian:k=5 t_closeness:t=0.1+0.2+0.3,distance=js")
    if len(table.with_role(Role.SENSITIVE)) == 1:
        found.append("anatomy:l=2+3+4+5")
    known = [table.attributes[i] for i in table.with_role(Role.QUASI_IDENTIFIER)]
    if any(attribute.hierarchy is not None for attribute in known):
        found.append("full_domain:k=5+25+100,suppress=0.05")
    if any(attribute.kind.measured for attribute in known):
        found.append("microaggregation:k=5+25")
    if known:
        found.append("local_suppression:k=3")
    return found


def between(low: str, high: str) -> str | None:
    """A value between two, by their geometric mean where both are positive; whole numbers stay whole."""
    try:
        one, other = float(low), float(high)
    except ValueError:
        return None
    if not (math.isfinite(one) and math.isfinite(other)) or one == other:
        return None
    middle = math.sqrt(one * other) if min(one, other) > 0 else (one + other) / 2
    if all(text.lstrip("+-").isdigit() for text in (low, high)):
        text = str(round(middle))
    else:
        text = f"{middle:.3g}"
    return text if min(one, other) < float(text) < max(one, other) else None


def _swept(cls: type[Any], options: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Options with one value, and those with several; a list that is itself one value stays as it is."""
    lists = {key for key, kind in typing.get_type_hints(cls).items() if _is_list(kind)}
    fixed: dict[str, str] = {}
    swept: dict[str, tuple[str, ...]] = {}
    for key, value in options.items():
        items = value.split("+") if isinstance(value, str) else value if isinstance(value, list) else [value]
        texts = tuple(dict.fromkeys(str(item).lower() if isinstance(item, bool) else str(item) for item in items))
        fixed[key] = "+".join(map(str, items)) if key in lists else texts[0]  # of a swept one its place in the text
        if key not in lists and len(texts) > 1:
            swept[key] = texts
    return fixed, swept


def _is_list(kind: Any) -> bool:
    inner = typing.get_args(kind)
    return typing.get_origin(kind) is tuple or any(typing.get_origin(k) is tuple for k in inner)


def _written(name: str, options: Mapping[str, str]) -> str:
    return name + (":" + ",".join(f"{key}={value}" for key, value in options.items()) if options else "")


def distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Each candidate once, under its first scheme."""
    found: dict[str, Candidate] = {}
    for candidate in candidates:
        found.setdefault(candidate.name, candidate)
    return list(found.values())


def moved(candidate: Candidate, axis: int, value: str, schemes: Mapping[str, Scheme]) -> Candidate:
    """The same candidate with another value on one axis."""
    values = (*candidate.values[:axis], value, *candidate.values[axis + 1 :])
    return schemes[candidate.scheme].at(values)
