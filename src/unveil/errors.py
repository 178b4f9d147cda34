"""Every error a user can cause. One root, so that a caller can catch them all.

UnveilError
├── UsageError         an option, a name or a parameter that is not valid
├── SchemaError        schema.toml, a hierarchy or a domain
├── TableError         an original table
├── ReleaseError       a published file or its sidecar
├── RequirementError   a privacy requirement that this table cannot meet
│   └── LimitError     a release that an audit would call exceeded, and that is therefore not made
├── OutputError        a file that cannot be written
├── ClusterError       a cluster that cannot be reached, or whose workers or scheduler were lost
├── Stopped            work that was stopped before it reached anything
└── NotApplicable      a member of a family that says nothing about this release, with the reason
"""

import re
from pathlib import Path

__all__ = [
    "ClusterError",
    "LimitError",
    "NotApplicable",
    "OutputError",
    "ReleaseError",
    "RequirementError",
    "SchemaError",
    "Stopped",
    "TableError",
    "UnveilError",
    "UsageError",
    "failed_at",
    "shown",
    "without_secrets",
]

_LOGIN = re.compile(r"\b([a-z][a-z0-9+.-]+:/{1,3})\S*@", re.IGNORECASE)
_PASSWORD = re.compile(r"([?&]\w*password=)[^&#\s]*", re.IGNORECASE)
_SETTINGS = re.compile(r"\b(?:host|hostaddr|dbname|service|user)\s*=", re.IGNORECASE)  # libpq's other form
_SETTING = re.compile(r"(\b\w*password\s*=\s*)('(?:[^'\\]|\\.)*'?|[^\s#]*)", re.IGNORECASE)


class UnveilError(Exception):
    """What is wrong, where, and what to do instead, in one line, without the passwords an address may hold."""

    def __init__(self, *parts: object) -> None:
        super().__init__(*(without_secrets(part) if isinstance(part, str) else part for part in parts))


class UsageError(UnveilError):
    """An option, a name or a parameter that is not valid."""


class SchemaError(UnveilError):
    """schema.toml, a hierarchy or a domain."""


class TableError(UnveilError):
    """An original table."""


class ReleaseError(UnveilError):
    """A published file or its sidecar."""


class RequirementError(UnveilError):
    """A privacy requirement that this table cannot meet."""


class LimitError(RequirementError):
    """A release that an audit would call exceeded, and that is therefore not made."""


class OutputError(UnveilError):
    """A file that cannot be written."""


class ClusterError(UnveilError):
    """A cluster that cannot be reached, or whose workers or scheduler were lost."""


class Stopped(UnveilError):  # noqa: N818  the user's wish, not a fault
    """Work that was stopped before it reached anything."""


class NotApplicable(UnveilError):  # noqa: N818  the contract's own word, not a fault
    """A member of a family that says nothing about this release."""


def without_secrets(text: str) -> str:
    """The text without users and passwords of addresses in it, wherever they were meant to go."""
    if _SETTINGS.search(text):
        text = _SETTING.sub(r"\1…", text)
    return _PASSWORD.sub(r"\1…", _LOGIN.sub(r"\1", text)) if ":/" in text else text


def failed_at(error: BaseException) -> str:
    """`file.py:12`, where it was raised: all that can be said of an error whose words may hold data; or nothing."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return "" if last is None else f"{Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}"


def shown(value: object, limit: int = 60) -> str:
    """A value of the data, made safe for one line of text: quoted, escaped, cut."""
    text = str(value)
    cut = text if len(text) <= limit else text[:limit] + "…"
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut) + "'"
