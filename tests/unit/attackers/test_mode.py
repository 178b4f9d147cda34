"""p_I by the mode of the posterior: by hand, by search, and where there is none."""

import numpy as np
import pytest
from scipy.optimize import minimize
from test_faithfulness import SHORT, made_up

from enumeration import AGE, ILL, SEX, written_release
from unveil.anonymizers.mondrian import Mondrian
from unveil.attackers.conditional_learner import ConditionalLearner
from unveil.attackers.learner import Learner
from unveil.attackers.posterior.mode import modal_posterior
from unveil.data.belief import Prior, known_exactly
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.privacy.models import KAnonymity
from unveil.utility import faithfulness as module
from unveil.utility.faithfulness import faithfulness

ORIGINAL = written_release((AGE, SEX, ILL), {"age sex disease": "20 f flu / 20 m flu / 21 m hiv / 23 m flu"})
DISEASE = 2


def test_with_pseudo_counts_of_one_it_is_the_tables_own_shares() -> None:
    """20 f: only flu shows it, so 3/4 · 2/3 · 1/3; 21 m: hiv 1/4, flu 0."""
    learned = modal_posterior(ORIGINAL, DISEASE, Prior.uninformative(ORIGINAL, DISEASE))
    targets = known_exactly(ORIGINAL, {0: np.array([0, 1]), 1: np.array([0, 1])}, DISEASE)
    assert learned.joint(targets).mean[0] == pytest.approx(np.array([[1 / 6, 0, 0], [0, 1 / 4, 0]]))
    belief = Learner().believe(learned, targets)
    assert belief.probability == pytest.approx(np.array([[1, 0, 0], [0, 1, 0]]))
    # none; 21, 22 given flu; all ages but 21 given hiv; f given hiv.
    assert belief.diagnostics.method == "at the mode; 7 shares are 0 there"


def test_informative_pseudo_counts_by_hand() -> None:
    """(n + alpha - 1) over its sum."""
    prior = Prior(np.array([2.0, 3.0, 1.5]), {0: np.full((3, 4), 2.0), 1: np.array([[1.5, 4], [2, 2], [3, 2]])})
    learned = modal_posterior(ORIGINAL, DISEASE, prior)
    assert learned.value_share == pytest.approx(np.array([4, 3, 0.5]) / 7.5)
    assert learned.shares(1)[0] == pytest.approx(np.array([[1.5 / 6.5, 5 / 6.5], [1 / 3, 2 / 3], [2 / 3, 1 / 3]]))
    assert learned.shares(0)[0, 0] == pytest.approx(np.array([3, 1, 1, 2]) / 7)
    assert learned.method() == "at the mode"


def test_nested_regions_against_a_search() -> None:
    blocks = {"age sex disease": "20 f flu; 20,21 * flu / 20,21 m flu; 23 m flu; 22,23 f flu / * m flu; 21 m flu"}
    release = written_release((AGE, SEX, ILL), blocks)
    beta = np.array([1.5, 2.0, 1.25, 3.0])
    prior = Prior(np.full(3, 2.0), {0: np.tile(beta, (3, 1)), 1: np.full((3, 2), 1.5)})
    sets = [[0], [0, 1], [0, 1], [3], [2, 3], [1]]

    def level(x: np.ndarray) -> float:
        share = np.exp(x) / np.exp(x).sum()
        return float(-((beta - 1) @ np.log(share) + sum(np.log(share[s].sum()) for s in sets)))

    best = minimize(level, np.zeros(4), tol=1e-12).x
    found = modal_posterior(release, DISEASE, prior).shares(0)[0, 0]
    assert found == pytest.approx(np.exp(best) / np.exp(best).sum(), abs=1e-5)


@pytest.mark.parametrize(
    ("blocks", "alpha", "beta", "said"),
    [
        ({"age sex disease": "20 f flu / 20 m hiv"}, 0.5, 1.0, "disease: the posterior has no mode, as no row shows"),
        ({"age sex disease": "20 f flu / 20 m hiv"}, 1.0, 0.5, "age, given disease 'flu': the posterior has no mode"),
        ({"age sex disease": "20 f flu / 20 m hiv"}, 2.0, 1.0, "age, given disease 'none': no single population"),
        ({"age sex disease": "20,21 f flu / 20 m hiv"}, 1.0, 1.0, "age, given disease 'flu': no single population"),
        ({"age sex disease": "20,21 f flu / 21,22 m flu"}, 1.0, 2.0, "nested or disjoint"),
        ({"age sex": "20 f; 21 m", "disease": "flu; hiv"}, 1.0, 1.0, "stands beside its cells"),
    ],
)
def test_where_there_is_no_mode(blocks: dict[str, str], alpha: float, beta: float, said: str) -> None:
    release = written_release((AGE, SEX, ILL), blocks)
    with pytest.raises(NotApplicable, match=said) as caught:
        modal_posterior(release, DISEASE, Prior.uninformative(release, DISEASE, alpha=alpha, beta=beta))
    assert "\n" not in str(caught.value)


def test_a_mode_cannot_be_drawn_from() -> None:
    learned = modal_posterior(ORIGINAL, DISEASE, Prior.uninformative(ORIGINAL, DISEASE))
    targets = known_exactly(ORIGINAL, {0: np.array([0])}, DISEASE)
    with pytest.raises(UsageError, match="not a mode"):
        ConditionalLearner().believe(learned, targets)


def test_faithfulness_to_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand on the original itself: 1 - TV between the mode and the average; and both estimators agree."""
    table = made_up()
    held = np.bincount(table.columns[2], minlength=3)
    given = [
        np.bincount(table.columns[2] * n + table.columns[i], minlength=3 * n).reshape(3, n)
        for i, n in ((0, 12), (1, 2))
    ]
    parts = [[(h + extra) / (h + extra).sum(axis=-1, keepdims=True) for h in (held, *given)] for extra in (0.0, 1.0)]
    mode, average = (p[0][:, None, None] * p[1][:, :, None] * p[2][:, None, :] for p in parts)
    expected = 1 - np.abs(mode - average).sum() / 2
    found = faithfulness(table.as_release(), table, 2, ideal_by="mode")
    assert found.value == pytest.approx(expected, abs=1e-12)
    release = Mondrian(require=(KAnonymity(k=5),)).anonymize(table, Engine(seed=1)).release
    summed = faithfulness(release, table, 2, chains=SHORT, ideal_by="mode")
    monkeypatch.setattr(module, "MOST_CELLS", 0)
    drawn = faithfulness(release, table, 2, chains=SHORT, ideal_by="mode")
    assert abs(drawn.value - summed.value) < 5 * (drawn.high - drawn.low) / 4
