"""Every kind of release read together with every other, against the sum over all worlds."""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from kinds import KINDS, Kinds, attributes_of, changed, drawn_table, other_columns, pram_known, summed

from thorough import THOROUGH
from unveil.risk.composition import KnownPeople, Overlap, view_of, weave

TIMES = 40 if THOROUGH else 2


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


JOINED = [(other, "subset") for other in KINDS]  # of a stranger's b nobody knows the chances
JOINED += [(other, "superset") for other in KINDS if other is not pram_known]


@pytest.mark.parametrize(("other", "relation"), JOINED)
def test_people_who_joined_or_left_with_every_kind(other, relation):
    """Who of these people is in the earlier release, or who else is, nobody says; half the time values changed, too."""
    rng = np.random.default_rng(1000 + KINDS.index(other))
    for case in range(4 * TIMES):
        whole = drawn_table(rng, 5)
        some = np.flatnonzero(rng.random(len(whole.a)) < 0.6)
        if not len(some):
            continue
        drawn, older = (whole, whole.some(some)) if relation == "subset" else (whole.some(some), whole)
        new, old = KINDS[int(rng.integers(len(KINDS)))](rng, drawn), other(rng, older)
        old = Kinds(replace(old.earlier, overlap=Overlap(relation)), old.groups)
        old = changed(old, 0.2) if case % 2 else old
        people = KnownPeople.of_table(drawn.table, ["a", "b"])
        secret = attributes_of(drawn.codes)[2]
        found = weave([view_of(str(i), m.earlier, people, secret) for i, m in enumerate((new, old))], drawn.codes[2])
        belief = found.beliefs()
        flat = np.full((len(drawn.a), drawn.codes[2]), 1 / drawn.codes[2])
        assert belief.exact.all()
        assert np.abs(belief.probability - summed(drawn, (new, old), flat)).max() < 1e-8
