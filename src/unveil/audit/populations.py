"""What an audited release still says of large populations: the utility loss, where their number stays within bounds."""

from unveil.audit.document import Finding
from unveil.data.attribute import Role
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.errors import NotApplicable, TableError, UsageError
from unveil.utility import large_populations, utility_loss

__all__ = ["population_findings"]

MINIMUM_SUPPORT = 0.05
MOST_POPULATIONS = 5_000  # with many quasi-identifiers they are without bound
MOST_WORK = 150_000_000  # populations times rows
MOST_KNOWN = 300  # quasi-identifiers; the search goes one deeper for each


def population_findings(release: Release, name: str, table: Table | None) -> tuple[list[Finding], list[str]]:
    """`utility_loss` of each sensitive attribute, unknown where it was not measured; and why it was not."""
    sensitive = [release.attributes[i].name for i in release.with_role(Role.SENSITIVE)]
    if not sensitive:
        return [], []
    if table is None:
        return [Finding.of("utility_loss", name, attribute, None) for attribute in sensitive], []
    try:
        if len(table.with_role(Role.QUASI_IDENTIFIER)) > MOST_KNOWN:
            raise NotApplicable(f"there are over {MOST_KNOWN} quasi-identifiers")
        most = min(MOST_POPULATIONS, max(MOST_WORK // table.rows, 1))
        populations = large_populations(table, minimum_support=MINIMUM_SUPPORT, most=most)
        found = [(a, utility_loss(release, table, attribute=a, populations=populations)) for a in sensitive]
    except (NotApplicable, UsageError, TableError) as reason:
        unknown = [Finding.of("utility_loss", name, attribute, None) for attribute in sensitive]
        return unknown, [f"{name}: utility_loss was not measured: {reason}."]
    return [Finding.of("utility_loss", name, attribute, estimate) for attribute, estimate in found], []
