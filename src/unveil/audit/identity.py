"""Being found in a release: risks from the sizes of classes; and what the release is still worth."""

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.fits import block_fits
from unveil.audit.document import Finding
from unveil.data.attribute import Role
from unveil.data.belief import Estimate, Known, Targets
from unveil.data.release import Release, row_numbers
from unveil.data.table import Table
from unveil.errors import NotApplicable, TableError, UsageError
from unveil.utility import large_populations, query_error, utility_loss

__all__ = ["identity_findings", "in_population", "population_findings", "suppressed_rows", "utility_findings"]

MINIMUM_SUPPORT = 0.05
MOST_POPULATIONS = 5_000  # large ones; with many quasi-identifiers they are without bound
MOST_WORK = 150_000_000  # populations times rows
MOST_KNOWN = 300  # quasi-identifiers; the search goes one deeper for each


def identity_findings(
    release: Release, name: str, table: Table | None, population: Table | None = None
) -> list[Finding]:
    """Prosecutor, marketer and journalist risk (El Emam and Dankar 2008), and rows that stand alone.

    Suppressed rows have no class; they count in no risk unless all are suppressed. Without a population the
    journalist's risk is not known; the prosecutor's bounds it from above.
    """
    sizes = release.class_sizes().astype(np.float64)
    rows = float(sizes.sum())
    alone = float((sizes == 1).sum() / rows)
    largest = float(1 / sizes.min())
    mean = float(len(sizes) / rows)  # each row's risk is 1 / its class: a class adds up to 1
    marketer, journalist = mean, [_bounded(name, largest)]
    people = None if population is None else in_population(release, population)
    if people is not None:
        fitting = np.maximum(people, sizes)  # whoever is in the table is in the population, on file or not
        marketer = float((sizes / fitting).sum() / rows)
        journalist = [
            Finding.exact("journalist_risk.max", name, None, float(1 / fitting.min())),
            Finding.exact("journalist_risk.mean", name, None, marketer),
        ]
    return [
        Finding.exact("prosecutor_risk.max", name, None, largest),
        Finding.exact("prosecutor_risk.mean", name, None, mean),
        Finding.exact("marketer_risk", name, None, marketer),
        *journalist,
        Finding.exact("singled_out", name, None, alone, baseline=None if table is None else _alone(table)),
    ]


def _bounded(release: str, largest: float) -> Finding:
    return Finding.of("journalist_risk.max", release, None, Estimate(largest, 0.0, largest))


def in_population(release: Release, population: Table) -> NDArray[np.float64] | None:
    """(classes,) people of the population who fit each class, in the order of `class_sizes`.

    None where quasi-identifiers lie in several blocks: then classes have no cells of their own.
    """
    known = release.with_role(Role.QUASI_IDENTIFIER)
    blocks = [b for b in release.blocks if any(i in known for i in b.attributes)]
    hidden = release.suppressed()
    if len(blocks) > 1:
        return None
    if not blocks or hidden.all():
        return np.array([float(population.rows)])
    keep = ~hidden[blocks[0].group]
    number = np.full(len(keep), -1)
    number[keep] = row_numbers([blocks[0].region(i)[keep] for i in blocks[0].attributes if i in known])
    columns = {i: population.columns[population.index(release.attributes[i].name)] for i in known}
    targets = Targets(
        -1, {i: Known.exactly(release.attributes[i], column) for i, column in columns.items()}, population.rows
    )
    distinct, of_person = targets.distinct()
    fits = block_fits(release, blocks[0], distinct)
    classes = int(number.max()) + 1
    pair = np.unique(fits.target * (classes + 1) + number[fits.entry] + 1)  # a class may stand in several groups
    person, where = pair // (classes + 1), pair % (classes + 1)
    times = np.bincount(of_person, minlength=distinct.count)
    return np.asarray(np.bincount(where, weights=times[person], minlength=classes + 1)[1:])


def utility_findings(release: Release, name: str, table: Table | None = None) -> list[Finding]:
    """Beside what a check measures: suppressed rows, group sizes, and with the original the error of random counts."""
    return [
        Finding.exact("suppressed_share", name, None, suppressed_rows(release) / release.rows),
        Finding.exact("groups.mean_size", name, None, _mean_size(release)),
        _query_error(release, name, table),
    ]


def _mean_size(release: Release) -> float:
    """Rows a group, without suppressed ones, which are not hidden among each other; unless all are."""
    shown = release.sizes[~release.suppressed()]
    return float((shown if len(shown) else release.sizes).mean())


def _query_error(release: Release, name: str, table: Table | None) -> Finding:
    """Unknown without the original, or where no query fits anybody."""
    known = 0 if table is None else len(table.with_role(Role.QUASI_IDENTIFIER))
    if table is None or not known:
        return Finding.of("query_error", name, None, None)
    try:
        return Finding.of("query_error", name, None, query_error(release, table, dimension=min(known, 2)))
    except (NotApplicable, UsageError, TableError):  # queries that fit nobody, or domains that differ
        return Finding.of("query_error", name, None, None)


def suppressed_rows(release: Release) -> int:
    """Rows whose quasi-identifiers are all `*`."""
    return int(release.sizes[release.suppressed()].sum())


def _alone(table: Table) -> float:
    """Share of the original's rows that no other row shares its quasi-identifiers with."""
    known = [table.columns[i] for i in table.with_role(Role.QUASI_IDENTIFIER)]
    if not known:
        return 1.0 if table.rows == 1 else 0.0
    return float((np.bincount(row_numbers(known)) == 1).sum() / table.rows)


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
