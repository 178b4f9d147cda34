"""What is tested: an anonymizer of the catalog, any Python callable, or an external command. None is looked into."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import Anonymized, Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import ReleaseError, UsageError

__all__ = ["Anonymizer", "Called", "Sanitizer", "as_sanitizer", "checked_release", "part_of"]


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
        return self.method.anonymize(table, engine).release  # type: ignore[no-any-return]

    def described(self) -> str:
        """Its class and options."""
        return repr(self.method)


@dataclass(frozen=True, slots=True)
class Called:
    """A Python function of a table that returns a Release (or an Anonymized)."""

    function: Callable[[Table], Any]

    def sanitize(self, table: Table, rows: NDArray[np.int64], engine: Engine) -> Release:
        """Call it."""
        made = self.function(table)
        release = made.release if isinstance(made, Anonymized) else made
        if not isinstance(release, Release):
            raise ReleaseError(f"the sanitizer gave a {type(made).__name__}; it must return a Release")
        return release

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
        return Called(thing)
    raise UsageError(f"{type(thing).__name__} is no sanitizer: give an anonymizer, a function of a Table, or an Oracle")


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


def part_of(table: Table, rows: NDArray[np.int64]) -> Table:
    """A table of some rows, with the domains of the whole."""
    weight = None if table.weight is None else table.weight[rows]
    return Table(table.attributes, tuple(column[rows] for column in table.columns), weight=weight, name=table.name)
