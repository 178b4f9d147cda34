"""Every anonymizer of the catalog can be tested by leaving records out."""

import numpy as np
import pytest
from test_anonymizers import CASES, PEOPLE, table_of

from documents import check_document
from unveil import catalog, run_differential


@pytest.mark.parametrize(("name", "options"), sorted({(name, options) for name, options, _ in CASES}))
def test_every_anonymizer_can_be_tested(name: str, options: str) -> None:
    method = catalog.anonymizer(f"{name}:{options}")
    found = run_differential(table_of(PEOPLE), {name: method}, samples=2, records=2)
    tested = found.tests[name]
    assert len(tested.row) == 2
    assert np.isfinite(tested.distance).all()
    np.testing.assert_allclose(tested.within.sum(axis=1), 1)
    np.testing.assert_allclose(tested.without.sum(axis=1), 1)
    check_document(found.to_dict())
