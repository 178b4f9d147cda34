"""Identity disclosure of any table: risks are shares, pairs are all pairs, and more noise does not help an attacker."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small import QI, made_schema
from unveil import catalog
from unveil.audit.linking import run_link
from unveil.audit.masked_identity import masked_utility
from unveil.data.rows import origin_of, rows_of
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.risk.linkage.distance import link_by_distance, rows_found
from unveil.risk.linkage.levels import agreement_levels, level_counts
from unveil.risk.linkage.links import reid
from unveil.risk.linkage.patterns import pattern_counts
from unveil.risk.linkage.probabilistic import classify, from_true_links, link_by_patterns
from unveil.risk.linkage.published import compare_values, published_of
from unveil.risk.linkage.register import register_of_table


def table_of(rows: int, seed: int) -> Table:
    random = np.random.default_rng(seed)
    schema = made_schema(
        {
            "age": {"role": QI, "kind": "numeric", "missing": "category"},
            "zip": {"role": QI, "domain": list("abcdef")},
            "sex": {"role": QI, "domain": ["f", "m"], "missing": "category"},
        },
        missing=["?"],
    )
    columns = {
        "age": [str(a) if random.random() > 0.1 else "?" for a in random.integers(0, 9, rows)],
        "zip": random.choice(list("abcdef"), rows).tolist(),
        "sex": random.choice(["f", "m", "?"], rows).tolist(),
    }
    return Table.from_columns(schema, columns)


SCHEMES = ["pram:retain=0.6", "noise:amount=0.5", "rounding:base=4", "mondrian:k=2", "mondrian:k=3,relaxed=true"]


@settings(max_examples=8)
@given(st.integers(4, 14), st.integers(0, 99), st.sampled_from(SCHEMES))
def test_risks_are_shares_and_pairs_are_all_pairs(rows: int, seed: int, scheme: str) -> None:
    table = table_of(rows, seed)
    made = catalog.anonymizer(scheme).anonymize(table, Engine(seed=seed))
    masked = bool(made.release.perturbed)
    release: Any = made.release
    origin = made.group_of_row
    found = run_link(release, table=table, group=origin, fraction=0.4, subsets=0)
    alone = next(f.value for f in found.document.findings if f.id == "sample_unique")
    for finding in found.document.findings:
        if finding.value is None or finding.measure == "wildcard_k":  # a number of rows, not a share
            continue
        most = rows * float(alone or 0) + 1e-9 if finding.id.endswith("expected_links") else 1 + 1e-12
        assert finding.low is not None
        assert finding.high is not None
        assert 0 <= finding.low <= float(finding.value) + 1e-12 <= float(finding.high) + 2e-12 <= most + 2e-12, finding
    for reader in found.document.diagnostics["readers"]:
        if reader["pairs"]:
            assert sum(reader["pairs"][k] for k in ("link", "clerical", "no_link")) == rows * release.rows
    held = register_of_table(table, release.true_attributes)
    published = published_of(release, tuple(held.known), origin)
    if masked:
        around, row = rows_found(published, table), origin_of(release, origin)
        assert ((around >= 0) & (around <= 1)).all()
        assert all(f.value is None or f.value >= 0 for f in masked_utility(table, rows_of(release), row, "r"))
        with_counts = pattern_counts(compare_values(published, held))
    else:
        with_counts = level_counts(agreement_levels(published, held))
        with pytest.raises(NotApplicable):
            compare_values(published, held)
    assert with_counts.sum() == rows * release.rows


@pytest.mark.parametrize("readers", ["forwards", "backwards", "probabilistic"])
def test_more_noise_never_finds_more_people_on_average(readers: str) -> None:
    table = table_of(150, 1)
    held = register_of_table(table, table.attributes)
    found = []
    for retain in (1.0, 0.9, 0.7, 0.4, 0.1):
        risks = []
        for seed in range(4):
            made = catalog.anonymizer(f"pram:retain={retain}").anonymize(table, Engine(seed=seed))
            assert made.release.perturbed
            published = published_of(made.release, tuple(held.known), made.group_of_row)
            if readers == "backwards":
                risks.append(float(rows_found(published, table).mean()))
            elif readers == "forwards":
                risks.append(reid(link_by_distance(published, held)).value)
            else:
                files, own = compare_values(published, held), published.true_rows(held)
                assert own is not None
                model = from_true_links(files, own)
                classes = classify(model, false_links=0.01, missed_links=0.1)
                risks.append(reid(link_by_patterns(files, model, classes, true_row=own)).value)
        found.append(np.mean(risks))
    assert all(a >= b for a, b in pairwise(found)), found
    assert found[0] > 3 * found[-1]
