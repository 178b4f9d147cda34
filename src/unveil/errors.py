"""Every error a user can cause. One root, so that a caller can catch them all.

UnveilError
├── UsageError         an option, a member name or a parameter that makes no sense
├── SchemaError        schema.toml, a hierarchy or a domain
├── TableError         an original table
├── ReleaseError       a published file or its sidecar
├── RequirementError   a privacy requirement that this table cannot meet
├── OutputError        a file that cannot be written
├── Stopped            work that was stopped before it reached anything
└── NotApplicable      a member of a family that says nothing about this release, with the reason
"""

__all__ = [
    "NotApplicable",
    "OutputError",
    "ReleaseError",
    "RequirementError",
    "SchemaError",
    "Stopped",
    "TableError",
    "UnveilError",
    "UsageError",
    "shown",
]


class UnveilError(Exception):
    """What is wrong, where, and what to do instead, in one line."""


class UsageError(UnveilError):
    """An option, a member name or a parameter that makes no sense."""


class SchemaError(UnveilError):
    """schema.toml, a hierarchy or a domain."""


class TableError(UnveilError):
    """An original table."""


class ReleaseError(UnveilError):
    """A published file or its sidecar."""


class RequirementError(UnveilError):
    """A privacy requirement that this table cannot meet."""


class OutputError(UnveilError):
    """A file that cannot be written."""


class Stopped(UnveilError):  # noqa: N818  the user's wish, not a fault
    """Work that was stopped before it reached anything."""


class NotApplicable(UnveilError):  # noqa: N818  the contract's own word, not a fault
    """A member of a family that says nothing about this release."""


def shown(value: object, limit: int = 60) -> str:
    """A value of the data, made safe for one line of text: quoted, escaped, cut."""
    text = str(value)
    cut = text if len(text) <= limit else text[:limit] + "…"
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut) + "'"
