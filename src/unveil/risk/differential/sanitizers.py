"""What is tested: an anonymizer, any Python function, or an external command; and sweeps of a parameter."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unveil.catalog import anonymizer, make, parse
from unveil.data.release import Anonymized, Release, truthful
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import ReleaseError, UsageError, shown
from unveil.risk.differential.laplace import LaplaceCounts

__all__ = [
    "Anonymizer",
    "FunctionSanitizer",
    "Sanitizer",
    "SanitizerVariant",
    "as_sanitizer",
    "checked_release",
    "parse_sweep",
    "sanitizer_of",
    "sweep",
]


class Sanitizer(Protocol):
    """f: from a table to a release."""

    def sanitize(self, table: Table, rows: NDArray[np.int64], engine: Engine) -> Release:
        """The release of a table made of these rows (positions from 0) of the original."""
        ...

    def described(self) -> str:
        """What tells it from another sanitizer, for checkpoints."""
        ...


@dataclass(frozen=True, slots=True)
class Anonymizer:
    """A member of the catalog, or an object with its one method."""

    method: Any

    def sanitize(self, table: Table, rows: NDArray[np.int64], engine: Engine) -> Release:
        """Its release; the private assignment is dropped."""
        return truthful(self.method.anonymize(table, engine).release)

    def described(self) -> str:
        """Its class and options."""
        return repr(self.method)


@dataclass(frozen=True, slots=True)
class FunctionSanitizer:
    """A Python function of a table that returns a Release (or an Anonymized)."""

    function: Callable[[Table], Any]

    def sanitize(self, table: Table, rows: NDArray[np.int64], engine: Engine) -> Release:
        """Call it."""
        made = self.function(table)
        release = made.release if isinstance(made, Anonymized) else made
        if not isinstance(release, Release):
            raise ReleaseError(f"the sanitizer gave a {type(made).__name__}; it must return a Release")
        return truthful(release)

    def described(self) -> str:
        """Its name, all that can be known of a function."""
        return f"{getattr(self.function, '__module__', '')}.{getattr(self.function, '__qualname__', 'function')}"


def as_sanitizer(thing: Any) -> Sanitizer:
    """Anything that can be tested, behind one method."""
    if hasattr(thing, "sanitize") and hasattr(thing, "described"):
        return thing  # type: ignore[no-any-return]
    if hasattr(thing, "anonymize"):
        return Anonymizer(thing)
    if callable(thing):
        return FunctionSanitizer(thing)
    raise UsageError(
        f"{type(thing).__name__} is not a sanitizer; give an anonymizer, a function of a Table, or an Oracle"
    )


def checked_release(release: Release, table: Table, asked: int) -> Release:
    """Refuse a release that cannot be one of this table: rows or columns are missing, or domains differ."""
    if release.rows != table.rows:
        raise ReleaseError(f"{release.rows:,} rows came back for {table.rows:,}")
    names = [a.name for a in release.attributes]
    for index, attribute in enumerate(table.attributes):
        if index != asked and attribute.role.value != "quasi-identifier":
            continue
        if attribute.name not in names:
            raise ReleaseError(f"the column {attribute.name} is missing")
        if release.attributes[names.index(attribute.name)].values != attribute.values:
            raise ReleaseError(f"{attribute.name} has another domain than in the table")
    return release


@dataclass(frozen=True, slots=True)
class SanitizerVariant:
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
        raise UsageError(
            f"{shown(text)} is not a valid sweep; write KEY=VALUE+VALUE+…, for instance k=2+4+8, each value once"
        )
    for value in values:
        try:
            if math.isnan(float(value)):
                raise ValueError
        except ValueError:
            raise UsageError(f"{shown(text)}: {shown(value)} is not a number") from None
    return key, values


def sweep(
    texts: Sequence[str], sweeps: Sequence[str], made: Callable[[Sequence[str]], Any], *, command: bool = False
) -> list[SanitizerVariant]:
    """One point a value. `texts` are the sanitizer's option text and its requirements, or an oracle's `command`.

    `{k}` in any of them is replaced by k's value; where it stands nowhere, k becomes an option of the first text.
    Without a sweep there is one point.
    """
    if not sweeps:
        return [SanitizerVariant(texts[0], made(texts))]
    points = []
    for key, values in map(parse_sweep, sweeps):
        for value in values:
            if any(f"{{{key}}}" in text for text in texts):
                chosen = [text.replace(f"{{{key}}}", value) for text in texts]
            elif command:
                raise UsageError(f"--sweep {key}: write {{{key}}} in the command where the value goes")
            else:
                chosen = [_with_option(texts[0], key, value), *texts[1:]]
            points.append(SanitizerVariant(chosen[0], made(chosen), key, float(value)))
    names = [point.name for point in points]
    return [
        SanitizerVariant(p.name if names.count(p.name) == 1 else f"{p.name} ({p.parameter}={p.value:g})", *_rest(p))
        for p in points
    ]


def _rest(point: SanitizerVariant) -> tuple[Any, str | None, float | None]:
    return point.sanitizer, point.parameter, point.value


def _with_option(text: str, key: str, value: str) -> str:
    name, colon, rest = text.partition(":")
    if not colon:
        return f"{name}:{key}={value}"
    if rest.startswith("@"):
        raise UsageError(f"{shown(text)}: options of a file cannot be swept; write {{{key}}} where the value goes")
    kept = [item for item in rest.split(",") if item.partition("=")[0] != key]
    return f"{name}:{','.join([*kept, f'{key}={value}'])}"
