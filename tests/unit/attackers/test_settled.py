"""Shares that stand still under expectation and maximisation: against closed forms and against enumeration."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from one_round import attack
from small import QI, SENSITIVE, made_release, made_schema, made_table
from tests.mode_oracles import by_counts
from tests.modes import misled
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.learner import Learner
from unveil.attackers.posterior import settled
from unveil.attackers.posterior.contract import learn
from unveil.attackers.posterior.convergence import Chains
from unveil.attackers.posterior.hidden import HiddenModel
from unveil.attackers.posterior.hidden_terms import expected_pairs
from unveil.attackers.posterior.settled import settled_posterior
from unveil.catalog import anonymizer
from unveil.data.belief import Prior, Targets
from unveil.data.release import Release
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable

SCHEMA = made_schema(
    {
        "a": {"role": QI, "domain": ["0", "1", "2"]},
        "b": {"role": QI, "domain": ["0", "1"]},
        "s": {"role": SENSITIVE, "domain": ["x", "y", "z"]},
    }
)
ATTRIBUTES = made_table(SCHEMA, ("0", "0", "x")).attributes
CELLS = [[("0", "0"), ("1", "1"), ("2", "0")], [("0", "1"), ("0", "0"), ("2", "1")], [("1", "1"), ("2", "0")]]
VALUES = [["x", "y", "y"], ["x", "x", "z"], ["y", "z"]]


def buckets() -> Release:
    rows = [(g, *cell) for g, cells in enumerate(CELLS) for cell in cells]
    values = [(g, value) for g, held in enumerate(VALUES) for value in held]
    return made_release(ATTRIBUTES, [((0, 1), rows), ((2,), values)])


def by_enumeration(beta: float, steps: int) -> list[np.ndarray]:
    """The same steps, every matching of every group written down."""
    codes = [[tuple(map(int, cell)) for cell in cells] for cells in CELLS]
    held = [["xyz".index(v) for v in values] for values in VALUES]
    theta = [np.full((3, 3), 1 / 3), np.full((3, 2), 1 / 2)]
    for _ in range(steps):
        count = [np.full((3, 3), beta), np.full((3, 2), beta)]
        for cells, values in zip(codes, held, strict=True):
            orders = list(permutations(values))
            likely = np.array(
                [np.prod([theta[0][s, a] * theta[1][s, b] for s, (a, b) in zip(o, cells, strict=True)]) for o in orders]
            )
            for order, weight in zip(orders, likely / likely.sum(), strict=True):
                for s, (a, b) in zip(order, cells, strict=True):
                    count[0][s, a] += weight
                    count[1][s, b] += weight
        theta = [c / c.sum(axis=1, keepdims=True) for c in count]
    return theta


@pytest.mark.parametrize("beta", [0.1, 1.0, 5.0])
def test_hidden_links_against_every_matching(beta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settled, "STILL", 0.0)
    release = buckets()
    prior = Prior.uninformative(release, 2, alpha=beta, beta=beta)
    found = settled_posterior(release, 2, prior, Engine(seed=0))
    assert isinstance(found, settled.SettledMatching)
    theta = found.nodes[0].theta
    for index, expected in enumerate(by_enumeration(beta, settled.STEPS)):
        assert theta[index] == pytest.approx(expected, abs=1e-9)


def test_large_groups_that_are_not_too_large_are_matched_exactly() -> None:
    release = buckets()
    model = HiddenModel.of(release, 2, Prior.uninformative(release, 2))
    posterior = settled_posterior(release, 2, model.prior, Engine(seed=0))
    assert isinstance(posterior, settled.SettledMatching)
    draw, (block,) = posterior.nodes[0], model.hidden
    large = settled._LargeGroups.of(model, block).expected(model, block, draw)
    assert large == pytest.approx(expected_pairs(model, block, draw), abs=1e-9)


def test_values_beside_nested_cells_are_exact() -> None:
    random = np.random.default_rng(1)
    rows = [("012"[random.integers(3)], "01"[random.integers(2)], "xyz"[random.integers(3)]) for _ in range(60)]
    table = made_table(SCHEMA, *rows)
    release, targets = table.as_release(), targets_of_table(table, table.as_release(), 2)
    prior = Prior.uninformative(release, 2)
    learned = settled_posterior(release, 2, prior, Engine(seed=0))
    for one in (Learner(), Bayesian()):
        asked = {"": (one, targets)}
        found = learn(release, 2, prior, Engine(seed=0), Chains(), asked, learned=learned)[0][""]
        assert found.probability == pytest.approx(attack(one, release, targets).probability, abs=1e-12)
        assert found.exact


def test_overlapping_cells_are_near_what_chains_say() -> None:
    """Sets that overlap unnested: the mean of chains, but for what a plug-in leaves out."""
    random = np.random.default_rng(2)
    code = random.choice(3, 400, p=[0.6, 0.3, 0.1])
    cells = [("01", "12", "02")[random.integers(3)] if random.random() < 0.5 else str(c) for c in code]
    cells = [cell if str(c) in cell else str(c) for cell, c in zip(cells, code, strict=True)]
    rows = [(0, list(cell), "01"[c % 2], "xyz"[c]) for cell, c in zip(cells, code.tolist(), strict=True)]
    release = made_release(ATTRIBUTES, [((0, 1, 2), rows)])
    targets = Targets(2, {}, 1)
    prior = Prior.uninformative(release, 2)
    learned = settled_posterior(release, 2, prior, Engine(seed=0))
    from unveil.data.belief import Known

    targets = Targets(2, {0: Known.exactly(ATTRIBUTES[0], np.arange(3))}, 3)
    found = learn(release, 2, prior, Engine(seed=0), Chains(), {"": (Learner(), targets)}, learned=learned)[0][""]
    chains = attack(Learner(), release, targets, chains=Chains(chains=2, sweeps=500, most_sweeps=500))
    assert found.probability == pytest.approx(chains.probability, abs=0.02)


def test_who_takes_chains_is_refused() -> None:
    release = made_release(ATTRIBUTES, [((0, 1), [(0, "0", "0"), (0, "1", "1")]), ((2,), [(0, "x"), (0, ["y", "z"])])])
    with pytest.raises(NotApplicable, match="withheld"):
        settled_posterior(release, 2, Prior.uninformative(release, 2), Engine(seed=0))
    table = made_table(SCHEMA, *[("0", "0", "x"), ("1", "1", "y"), ("2", "0", "z")] * 3)
    made = anonymizer("anatomy:l=3").anonymize(table, Engine(seed=0)).release
    prior = Prior.uninformative(made, 2)
    kernel = np.full((3, 3), 1 / 3)
    smooth = Prior(prior.alpha, prior.beta, {0: kernel})
    with pytest.raises(NotApplicable, match="smoothed"):
        settled_posterior(made, 2, smooth, Engine(seed=0))


@pytest.mark.parametrize("beta", [0.5, 1.0, 5.0])
def test_a_first_signal_that_points_the_wrong_way_misleads_nobody(beta: float) -> None:
    """Equal shares move to a reading with less than a hundredth of the posterior; its mirror image has the rest."""
    table = replace(misled(), beta=beta)
    _, exact = by_counts(table)
    release = table.release()
    targets, prior = table.targets(release), table.prior(release)
    learned = settled_posterior(release, targets.asked, prior, Engine(seed=0))
    assert isinstance(learned, settled.SettledMatching)
    assert learned.weight[0] < 0.01
    asked = {"": (Bayesian(), targets)}
    found = learn(release, targets.asked, prior, Engine(seed=0), Chains(), asked, learned=learned)[0][""]
    assert found.probability == pytest.approx(exact, abs=0.03)


def test_large_groups_have_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settled.matching, "exact", lambda groups: np.zeros(len(groups.method), dtype=bool))
    release = buckets()
    found = settled_posterior(release, 2, Prior.uninformative(release, 2), Engine(seed=0))
    assert isinstance(found, settled.SettledMatching)
    assert len(found.nodes) == 1
    assert found.weight.tolist() == [1.0]
