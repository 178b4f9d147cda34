"""Options of a member of a family: its fields, numbers among them with bounds that are checked when it is made."""

from dataclasses import MISSING, field, fields
from math import inf
from numbers import Integral, Real
from typing import Any

from unveil.errors import UsageError

__all__ = ["Options", "number", "whole"]

LARGEST = 2**63 - 1


def whole(low: int, *, default: Any = MISSING) -> Any:
    """An option: a whole number of at least `low`; required unless it has a default."""
    return field(default=default, metadata={"whole": True, "low": low, "high": inf, "above": False, "below": False})


def number(low: float, high: float = inf, *, above: bool = False, below: bool = False, default: Any = MISSING) -> Any:
    """An option: a number from `low` (or above it) to `high` (or below it); required unless it has a default."""
    bounds = {"whole": False, "low": low, "high": high, "above": above, "below": below}
    return field(default=default, metadata=bounds)


class Options:
    """Base of a member; a subclass is a dataclass whose name on the command line is that of its file, or `name`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for option in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, option.name)
            if option.metadata and not (value is None and option.default is None):
                _check(f"{name_of(self)}: {option.name} = ", value, **option.metadata)


def name_of(member: object) -> str:
    """The member's name on the command line."""
    return str(getattr(member, "name", type(member).__module__.rpartition(".")[2]))


def _check(what: str, value: Any, *, whole: bool, low: float, high: float, above: bool, below: bool) -> None:
    kind = not isinstance(value, bool) and isinstance(value, Integral if whole else Real)
    if kind and (low < value if above else low <= value) and (value < high if below else value <= high) and value < inf:
        if not whole or value <= LARGEST:
            return
        raise UsageError(f"{what}{str(value)[:20]}… is out of range; choose a smaller number")
    wanted = f"a {'whole ' if whole else ''}number {'above' if above else 'of at least'} {low:g}"
    upper = f" and {'below' if below else 'at most'} {high:g}" if high < inf else ""
    raise UsageError(f"{what}{value!r}; choose {wanted}{upper}")
