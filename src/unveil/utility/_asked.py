"""What measures share: which attribute is meant, and whether release and table speak of the same one."""

from unveil.data.attribute import Role
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError

__all__ = ["asked_attribute", "check_pair"]


def asked_attribute(release: Release, name: str | None) -> int:
    """The position of the named attribute, or of the one sensitive attribute."""
    if name is not None:
        return release.index(name)
    sensitive = release.with_role(Role.SENSITIVE)
    if not sensitive:
        raise NotApplicable("the release has no sensitive attribute; name the attribute to measure")
    if len(sensitive) > 1:
        names = ", ".join(release.attributes[i].name for i in sensitive)
        raise UsageError(f"several sensitive attributes ({names}); name the one to measure")
    return sensitive[0]


def check_pair(release: Release, table: Table) -> None:
    """Release and table must have the same domains. A release may have dropped rows: then it is the worse for it."""
    for attribute in release.attributes:
        table.column_of(attribute)
