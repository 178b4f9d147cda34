"""Generalisation, Anatomy and slicing at equal l, audited beside each other."""

import numpy as np
import pytest

from papers.li_2010_compared import MEASURES, SCHEMES, L, compared
from small import QI, SENSITIVE, made_schema, made_table
from unveil.attackers.posterior.contract import Chains
from unveil.audit.levels import run_check
from unveil.engine import Engine


def test_three_schemes_at_equal_l_are_audited_beside_each_other() -> None:
    schema = made_schema(
        {n: {"role": SENSITIVE if n == "s" else QI, "domain": list("012345")} for n in ("a", "b", "c", "s")}
    )
    everybody = np.arange(54)  # six values beside every a, every b and every c
    a, b = everybody // 18, everybody // 6 % 3
    table = made_table(schema, *zip(a, b, (a + b) % 3, everybody % 6, strict=True))
    for name, scheme in SCHEMES.items():
        release = scheme.anonymize(table, Engine(seed=1)).release
        level = next(f.value for f in run_check(release, name=name).findings if f.id == "probabilistic_l")
        assert level >= L - 1e-9, name
        assert len(release.blocks) == (1 if name == "generalisation" else 2)
    found = compared(table, Chains(sweeps=50, burn_in=10, most_sweeps=50, every=10))
    assert set(found) == {(scheme, id) for scheme in SCHEMES for id in MEASURES}
    # Nine kinds of people, six of each, one for every value: nothing can be learned, and cuts keep each kind together.
    assert found["generalisation", "random_worlds.global_threat"] == pytest.approx(1 / 6)
    assert found["slicing", "random_worlds.global_threat"] == pytest.approx(1 / 6)
    assert found["generalisation", "query_error"] == pytest.approx(0, abs=1e-12)
