"""Properties of what a release says about a target, and of leaving records out, for any release and any table."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import Published, releases, tables

from unveil.anonymizers.mondrian import Mondrian
from unveil.data.attribute import Role
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.models import KAnonymity
from unveil.risk.differential.evidence import counts_of, encoded_rows, quasi_identifiers
from unveil.risk.differential.leave_one_out import without_each


@given(releases(), st.integers(0, 2**32 - 1))
def test_counts_are_those_of_the_encoded_rows(published: Published, seed: int) -> None:
    release = published.release
    sensitive = release.with_role(Role.SENSITIVE)
    assume(sensitive)
    asked = sensitive[0]
    known = quasi_identifiers(release, asked)
    random = np.random.default_rng(seed)
    target = np.array([random.integers(release.attributes[i].codes) for i in known], dtype=np.int64)
    rows = encoded_rows(release, asked, target)
    counts = counts_of(release, asked, target[None])
    values = release.attributes[asked].codes
    np.testing.assert_allclose(counts.overall[0], np.bincount(rows.value, rows.weight, minlength=values), atol=1e-9)
    for place in range(len(known)):
        one = rows.ones[:, place]
        np.testing.assert_allclose(
            counts.each[0, place], np.bincount(rows.value[one], rows.weight[one], minlength=values), atol=1e-9
        )
    full = rows.ones.all(axis=1)
    np.testing.assert_allclose(
        counts.joint[0], np.bincount(rows.value[full], rows.weight[full], minlength=values), atol=1e-9
    )


@given(
    tables(roles=["quasi-identifier", "quasi-identifier", "sensitive"], max_rows=10),
    st.integers(1, 3),
    st.sampled_from(["order", "hierarchy"]),
    st.sampled_from(["tight", "cut"]),
    st.sampled_from(["balanced", "lower"]),
)
def test_leaving_out_any_record_of_any_table(table: Table, k: int, recoding: str, regions: str, median: str) -> None:
    assume(table.rows > k)
    mondrian = Mondrian(require=(KAnonymity(k=k),), recoding=recoding, regions=regions, median=median)  # type: ignore[arg-type]
    asked = table.with_role(Role.SENSITIVE)[0]
    known = table.with_role(Role.QUASI_IDENTIFIER)
    found = without_each(mondrian, table, asked, Engine(seed=0))
    row = table.rows // 2
    rest = Table(table.attributes, tuple(np.delete(column, row) for column in table.columns))
    codes = np.array([[int(table.columns[i][row]) for i in known]])
    slow = counts_of(mondrian.anonymize(rest, Engine(seed=0)).release, asked, codes)
    assert not len(found.open)
    np.testing.assert_array_equal(found.without.each[row], slow.each[0])
    np.testing.assert_array_equal(found.without.joint[row], slow.joint[0])
