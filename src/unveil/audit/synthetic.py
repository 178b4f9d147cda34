"""Synthetic releases in an audit: what attacks find of the people they were made from, beside control people."""

import numpy as np

from unveil.audit.case import Case
from unveil.audit.document import Finding
from unveil.data.attribute import Role
from unveil.data.rows import PublishedRows, as_published
from unveil.data.table import Table
from unveil.errors import UsageError
from unveil.risk.synthetic import (
    AttackRates,
    MixedTable,
    closest_records,
    inference_risk,
    linkability_risk,
    singling_out_risk,
)

__all__ = ["synthetic_findings"]

ATTACKS = 1000
NEIGHBOURS = 10
IDS = ("synthetic_singling_out", "synthetic_linkability", "closest_record.share")


def synthetic_findings(case: Case, name: str, masked: PublishedRows) -> tuple[list[Finding], list[str]]:
    """The three risks of Anonymeter and distances to the closest record; unknown without original or control people."""
    sensitive = list(masked.with_role(Role.SENSITIVE))
    unknown = [Finding.of(id, name, None, None) for id in IDS]
    unknown += [Finding.of("synthetic_inference", name, masked.attributes[i].name, None) for i in sensitive]
    if case.original is None or case.control is None:
        missing = "the original" if case.original is None else "control people, who are like those of the table"
        option = "--original DATA" if case.original is None else "--control FILE"
        return unknown, [f"{name}: what synthetic rows give away can be told only with {missing}: give {option}."]
    try:
        truth, control = (_mixed(table, masked) for table in (case.original, case.control))
    except UsageError as reason:
        return unknown, [f"{name}: {reason}."]
    rows = MixedTable(masked.columns, tuple(a.kind.measured for a in masked.attributes))
    seed = case.engine.named(f"synthetic/{name}").small_seed
    known = [i for i in masked.with_role(Role.QUASI_IDENTIFIER) if i not in sensitive]
    columns = list(range(len(masked.attributes)))
    found, said = [], []
    try:
        rates = singling_out_risk(truth, control, rows, attacks=ATTACKS // 2, seed=seed)
        found.append(_finding("synthetic_singling_out", name, None, rates))
        said.append(f"{name}: a predicate of three columns singles out {_words(rates)}.")
    except UsageError:  # no row stands out
        found.append(Finding.exact("synthetic_singling_out", name, None, 0.0))
    if len(columns) > 1:
        order = np.random.default_rng(seed).permutation(columns)
        parts = (order[: len(order) // 2].tolist(), order[len(order) // 2 :].tolist())
        rates = linkability_risk(truth, control, rows, parts, attacks=ATTACKS, neighbours=NEIGHBOURS, seed=seed)
        found.append(_finding("synthetic_linkability", name, None, rates))
        said.append(f"{name}: two halves of the columns are linked through the synthetic rows for {_words(rates)}.")
    for index in sensitive:
        others = known or [i for i in columns if i != index]
        if others:
            rates = inference_risk(truth, control, rows, others, index, attacks=ATTACKS, seed=seed)
            attribute = masked.attributes[index].name
            found.append(_finding("synthetic_inference", name, attribute, rates))
            said.append(f"{name}: {attribute} is told by the nearest synthetic row of {_words(rates)}.")
    for key, value in closest_records(truth, control, rows, seed=seed).items():
        found.append(Finding.of(f"closest_record.{key}", name, None, value))
    return found, said


def _words(rates: AttackRates) -> str:
    return f"{rates.attack.value:.1%} of people of the table and {rates.control.value:.1%} of control people"


def _finding(id: str, release: str, attribute: str | None, rates: AttackRates) -> Finding:
    return Finding.of(id, release, attribute, rates.risk, baseline=0.0)


def _mixed(table: Table, masked: PublishedRows) -> MixedTable:
    """The columns of a table that are published, as the release has them."""
    held = {a.name: a.values for a in table.attributes}
    for attribute in masked.attributes:
        if held.get(attribute.name) != attribute.values:
            raise UsageError(f"{attribute.name} is not in {table.name}, or has another domain there")
    columns = [table.columns[table.index(a.name)] for a in masked.attributes]
    return MixedTable(as_published(masked.attributes, columns), tuple(a.kind.measured for a in masked.attributes))
