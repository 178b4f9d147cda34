"""Sweeps: the same sanitizer with one parameter varied, named as on the command line."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from unveil.catalog import anonymizer, make, parse
from unveil.errors import UsageError, shown
from unveil.risk.differential.laplace import LaplaceCounts

__all__ = ["Point", "parse_sweep", "sanitizer_of", "sweep"]


@dataclass(frozen=True, slots=True)
class Point:
    """One sanitizer of a sweep, or the only one: then it has no parameter."""

    name: str
    sanitizer: Any
    parameter: str | None = None
    value: float | None = None


def sanitizer_of(text: str, require: Sequence[str] = ()) -> Any:
    """An anonymizer of the catalog from its option text, or laplace_counts."""
    name, options = parse(text)
    if name == "laplace_counts":
        if require:
            raise UsageError("laplace_counts takes no requirements; its options are epsilon, quantiles and cut")
        return make(LaplaceCounts, options, name)
    return anonymizer(text, require)


def parse_sweep(text: str) -> tuple[str, tuple[str, ...]]:
    """KEY=VALUE+VALUE…, as a name and its values."""
    key, equals, rest = text.partition("=")
    values = tuple(rest.split("+"))
    if not equals or not key or not all(values) or len(set(values)) < len(values):
        raise UsageError(f"{shown(text)} is no sweep; write KEY=VALUE+VALUE+…, for instance k=2+4+8, each value once")
    for value in values:
        try:
            if math.isnan(float(value)):
                raise ValueError
        except ValueError:
            raise UsageError(f"{shown(text)}: {shown(value)} is no number") from None
    return key, values


def sweep(
    texts: Sequence[str], sweeps: Sequence[str], made: Callable[[Sequence[str]], Any], *, command: bool = False
) -> list[Point]:
    """One point a value. `texts` are the sanitizer's option text and its requirements, or an oracle's `command`.

    `{k}` in any of them is replaced by k's value; where it stands nowhere, k becomes an option of the first text.
    Without a sweep there is one point.
    """
    if not sweeps:
        return [Point(texts[0], made(texts))]
    points = []
    for key, values in map(parse_sweep, sweeps):
        for value in values:
            if any(f"{{{key}}}" in text for text in texts):
                chosen = [text.replace(f"{{{key}}}", value) for text in texts]
            elif command:
                raise UsageError(f"--sweep {key}: write {{{key}}} in the command where the value goes")
            else:
                chosen = [_with_option(texts[0], key, value), *texts[1:]]
            points.append(Point(chosen[0], made(chosen), key, float(value)))
    names = [point.name for point in points]
    return [
        Point(p.name if names.count(p.name) == 1 else f"{p.name} ({p.parameter}={p.value:g})", *_rest(p))
        for p in points
    ]


def _rest(point: Point) -> tuple[Any, str | None, float | None]:
    return point.sanitizer, point.parameter, point.value


def _with_option(text: str, key: str, value: str) -> str:
    name, colon, rest = text.partition(":")
    if not colon:
        return f"{name}:{key}={value}"
    if rest.startswith("@"):
        raise UsageError(f"{shown(text)}: options of a file cannot be swept; write {{{key}}} where the value goes")
    kept = [item for item in rest.split(",") if item.partition("=")[0] != key]
    return f"{name}:{','.join([*kept, f'{key}={value}'])}"
