"""Background knowledge on Adult: rules, kernel priors, Injector, (B,t)-privacy; and the naive forms they replace."""

from collections.abc import Iterator

import numpy as np

from benchmarks import Row
from benchmarks._timing import best_cpu
from papers.li_2010_knowledge import adult_table
from realdata.adult import read_adult
from unveil.anonymizers.injector import Injector
from unveil.anonymizers.mondrian import Mondrian
from unveil.audit.background import background_sections
from unveil.catalog import anonymizer
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.knowledge import kernel as kernel_module
from unveil.privacy.knowledge.kernel import Kernel
from unveil.privacy.knowledge.mining.cells import valid_values
from unveil.privacy.knowledge.negative_rules import NegativeRules
from unveil.privacy.models import BTPrivacy, KAnonymity


def measure() -> Iterator[Row]:
    """30,162 rows, six quasi-identifiers, occupation; CPU seconds, all threads, compiled before."""
    table = adult_table(read_adult())
    cells = np.stack(table.columns[:-1], axis=1).astype(np.int64)
    everything = NegativeRules(predicates=6)
    rules = everything.rules(table)
    spent = best_cpu(lambda: everything.rules(table), 2)
    yield Row(
        "all negative rules, up to six predicates", spent, unit="s CPU", floor="<= 10", note=f"{len(rules):,} rules"
    )
    dense = best_cpu(lambda: Kernel().prior(table).of(cells), 3)
    domain = Kernel().prior(table).of(cells)
    before, kernel_module.MOST_ENTRIES = kernel_module.MOST_ENTRIES, 0
    try:
        Kernel().prior(table).of(cells[:10])
        by_cells = best_cpu(lambda: Kernel().prior(table).of(cells), 2)
        apart = float(np.abs(Kernel().prior(table).of(cells) - domain).max())
    finally:
        kernel_module.MOST_ENTRIES = before
    yield Row(
        "kernel prior, whole domain", dense, by_cells, "s CPU", "<= 2", note=f"against cell by cell; {apart:.0e} apart"
    )
    method = Injector(l=6)
    made = method.anonymize(table, Engine(seed=0))
    spent = best_cpu(lambda: method.anonymize(table, Engine(seed=0)), 2)
    yield Row("injector, l=6", spent, unit="s CPU", floor="<= 5", note=f"{made.release.groups} groups")
    one = Mondrian(require=(KAnonymity(k=4), BTPrivacy(t=0.2)), recoding="order")
    sky = Mondrian(
        require=(KAnonymity(k=4), *(BTPrivacy(t=0.2, bandwidth=(b,)) for b in (0.2, 0.3, 0.4, 0.5))),
    )
    for name, mondrian, floor in (("(B,t)-privacy", one, "<= 10"), ("a skyline of four", sky, "<= 15")):
        found = mondrian.anonymize(table, Engine(seed=0))
        spent = best_cpu(lambda mondrian=mondrian: mondrian.anonymize(table, Engine(seed=0)), 1)  # type: ignore[misc]
        yield Row(f"mondrian under {name}", spent, unit="s CPU", floor=floor, note=f"{found.release.groups} groups")
    yield from _audit_section(table)
    group, value = made.group_of_row[:40] * 0, table.columns[-1][:40].astype(np.int64)
    possible = NegativeRules().rules(table).ceiling(cells[:40]) > 0
    ours = best_cpu(lambda: valid_values(group, value, possible), 5)
    theirs = best_cpu(lambda: _by_matchings(value, possible), 1)
    yield Row("valid values of a group of 40", ours, theirs, "s CPU", ">= 20", True, "against a matching for each pair")


def _audit_section(table: Table) -> Iterator[Row]:
    """What readers with background knowledge add to an audit of Mondrian k=5 and Anatomy l=4."""
    for name in ("mondrian:k=5,recoding=order", "anatomy:l=4"):
        release = anonymizer(name).anonymize(table, Engine(seed=0)).release
        (found,) = background_sections(release, name, table, "auto").values()
        spent = best_cpu(lambda release=release: background_sections(release, "", table, "auto"), 2)  # type: ignore[misc]
        note = f"{len(found.chart['line']['bandwidth'])} bandwidths, {found.row['rules']} rules, facts ranked"
        yield Row(f"background knowledge in an audit, {name}", spent, unit="s CPU", floor="<= 4", note=note)


def _by_matchings(value: np.ndarray, possible: np.ndarray) -> np.ndarray:
    """Figure 3.1 of the thesis: give i the value of j, and see whether the rest can be matched."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    takes = possible[:, value]
    valid = np.zeros(possible.shape, dtype=bool)
    for i, j in zip(*np.nonzero(takes), strict=True):
        if not valid[i, value[j]]:
            rest = csr_matrix(np.delete(np.delete(takes, i, 0), j, 1))
            valid[i, value[j]] = (maximum_bipartite_matching(rest, perm_type="column") >= 0).all()
    return valid
