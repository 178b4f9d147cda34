"""Every kind of release read together with every other, against the sum over all worlds."""

import os
from itertools import combinations_with_replacement

import numpy as np
import pytest
from kinds import KINDS, attributes_of, drawn_table, other_columns, summed

from unveil.risk.composition import KnownPeople, view_of, weave

TIMES = 40 if os.environ.get("UNVEIL_THOROUGH") == "1" else 2


@pytest.mark.parametrize(("one", "other"), list(combinations_with_replacement(KINDS, 2)))
def test_every_kind_with_every_kind(one, other):
    rng = np.random.default_rng(KINDS.index(one) * 100 + KINDS.index(other))
    for case in range(TIMES):
        drawn = drawn_table(rng, 5 if TIMES > 2 else 4)
        made = [one(rng, drawn), other(rng, drawn)]
        if made[0].earlier.release == made[1].earlier.release:
            made = made[:1]
        secret = attributes_of(drawn.codes)[2]
        people = KnownPeople.of_table(drawn.table, ["a", "b"])
        views = [view_of(str(i), m.earlier, people, secret) for i, m in enumerate(made)]
        p = rng.dirichlet(np.ones(drawn.codes[2]), 20)[drawn.a * 4 + drawn.b]
        p = np.full_like(p, 1 / drawn.codes[2]) if case % 2 else p
        found = weave(views, drawn.codes[2]).beliefs(p)
        assert not found.impossible.any()
        error = np.abs(found.probability - summed(drawn, made, p)).max(axis=1)
        # Without b in any release, who differs in b cannot be told apart and has a p(s | x) of its own.
        assert found.exact.all() or (one is other is other_columns and not case % 2)
        assert error[found.exact].max(initial=0) < 1e-8
