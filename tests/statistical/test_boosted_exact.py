"""Boosted beliefs against the enumeration of every world: where nothing is learned, and where the model is given."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from enumeration import SmallRelease, SmallTarget, enumerate_fixed_attacker, small_releases
from one_round import attack
from unveil.attackers.boosted import Boosted
from unveil.attackers.posterior.averages import shares
from unveil.attackers.posterior.boosting import Settings
from unveil.attackers.posterior.cross_fitted import CrossFitted
from unveil.data.belief import Known, Targets
from unveil.data.regions import Regions
from unveil.engine import Engine

SMALL = {small.name: small for small in small_releases()}
COUPLED = ("disease suppressed or widened, three blocks", "disease suppressed twice beside sex, three blocks")
Floats = NDArray[np.float64]


def targets_of(small: SmallRelease, target: SmallTarget, group_known: bool) -> Targets:
    known = {}
    for index, (codes, wrong) in target.known.items():
        regions = Regions.sets(small.release.attributes[index].codes, [sorted(codes)])
        known[index] = Known(regions, np.zeros(1, dtype=np.int64), wrong=float(wrong))
    return Targets(small.asked, known, 1, np.array([target.group]) if group_known else None)


def fractions(numbers: Sequence[float]) -> list[Fraction]:
    return [Fraction(float(n)).limit_denominator(10**12) for n in numbers]


def with_model(small: SmallRelease, log_share: dict[int, Floats] | None) -> CrossFitted:
    """The attacker whose model is naive Bayes with these shares (values, codes), by attribute; None: knows nothing."""
    plain = CrossFitted.of(small.release, small.asked, Settings(), Engine(seed=1))
    models = []
    for model in plain.models:
        start = np.tile(np.log(plain.columns.share), (len(model.start), 1))
        table = np.zeros_like(model.bayes[0])
        if log_share is not None:
            table = np.concatenate([log_share[i].T for i in model.bag.attributes])
        bayes = (table,) * len(model.forests)
        models.append(replace(model, start=start, mixed=1.0 * (log_share is not None), temperature=1.0, bayes=bayes))
    entry = tuple(model.of_entries() for model in models)
    return CrossFitted.matching(small.release, small.asked, plain.columns, plain.fold, tuple(models), entry)


@pytest.mark.parametrize("name", SMALL)
def test_whoever_learns_nothing_shares_out_by_the_margins(name: str) -> None:
    """Too few rows to learn from: the population is the release's own shares, whatever the value."""
    small = SMALL[name]
    learned = CrossFitted.of(small.release, small.asked, Settings(), Engine(seed=1))
    assert not learned.learned
    model = with_model(small, None)
    theta = {i: [fractions(share)] * model.columns.values for i, share in model.margins.items()}
    for target in small.targets:
        for group_known in (False, True):
            expected = enumerate_fixed_attacker(
                small.release, small.asked, fractions(model.columns.share), theta, target.knowledge,
                target.group if group_known else None,
            )  # fmt: skip
            targets = targets_of(small, target, group_known)
            error = 0.03 if name in COUPLED else 1e-6
            assert shares(model.members(targets))[0] == pytest.approx(np.array(expected, dtype=float), abs=error)
            if not len(model.columns.allowed):  # of a withheld value other groups speak, not the person's own
                found = attack(Boosted(), small.release, targets, engine=Engine(seed=1))
                assert found.probability[0] == pytest.approx(np.array(expected, dtype=float), abs=1e-6)


@pytest.mark.parametrize("name", [n for n, s in SMALL.items() if all((r.sizes == 1).all() for i, r in
                                  enumerate(s.release.regions) if i != s.asked)])  # fmt: skip
def test_a_given_model_shares_out_as_the_worlds_do(name: str) -> None:
    """Single cells: matching by p(s | x) is matching by the population p(x | s), withheld values and all."""
    small = SMALL[name]
    random = np.random.default_rng(5)
    values = small.release.attributes[small.asked].codes
    others = [i for i in range(len(small.release.attributes)) if i != small.asked]
    theta = {i: random.dirichlet(np.ones(small.release.attributes[i].codes) * 2, size=values) for i in others}
    model = with_model(small, {i: np.log(t) for i, t in theta.items()})
    given = {i: [fractions(row) for row in t] for i, t in theta.items()}
    for target in small.targets:
        for group_known in (False, True):
            expected = enumerate_fixed_attacker(
                small.release, small.asked, fractions(model.columns.share), given, target.knowledge,
                target.group if group_known else None,
            )  # fmt: skip
            found = shares(model.members(targets_of(small, target, group_known)))
            # With three blocks a withheld value ties two matchings together; here each block is matched alone.
            error = 0.03 if name in COUPLED else 1e-9
            assert found[0] == pytest.approx(np.array(expected, dtype=float), abs=error)
