"""What an analyst finds: by hand, against scipy and scikit-learn, and worse the coarser a release is."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from small import QI, SENSITIVE, made_schema
from unveil import anonymizer, utility
from unveil.audit.analyst import analyst_findings, quality_findings
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.utility import analyst

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 99}},
        "hours": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 60}},
        "job": {"role": QI, "domain": ["a", "b", "c"]},
        "ill": {"role": SENSITIVE, "domain": ["no", "yes"]},
    }
)


def people(rows: int = 600, seed: int = 1) -> Table:
    random = np.random.default_rng(seed)
    age = random.integers(18, 80, rows)
    hours = np.clip(50 - age // 3 + random.normal(0, 5, rows), 0, 60).astype(int)
    job = np.array(["a", "b", "c"])[np.minimum(age // 30 + (random.random(rows) < 0.3), 2)]
    ill = np.where(random.random(rows) < age / 150, "yes", "no")
    columns = {"age": age.tolist(), "hours": hours.tolist(), "job": job.tolist(), "ill": ill.tolist()}
    return Table.from_columns(SCHEMA, columns)


TABLE = people()
ORIGINAL = TABLE.as_release()


def test_the_original_is_the_original() -> None:
    found = utility.analyst_utility(ORIGINAL, TABLE)
    assert len(found.readings) == 1
    assert found.propensity()[0].value == pytest.approx(0, abs=1e-12)
    for name in found.names:
        assert found.overlap(name).value == pytest.approx(1)
        assert found.coefficients(name)[0].value == pytest.approx(1)
        assert found.coefficients(name)[1].value == pytest.approx(0, abs=1e-9)
        assert all(m.value == pytest.approx(0) for m in found.moments(name).values())
    correlations = found.correlations()
    assert correlations is not None
    assert correlations.value == pytest.approx(0)


def test_coefficients_are_those_of_least_squares() -> None:
    truth = utility.analyst_utility(ORIGINAL, TABLE).truth
    x = truth.design[:, truth.owner != 0]
    y = truth.features(0)[:, 0]
    beta, rest = np.linalg.lstsq(x, y)[:2]
    error = np.sqrt(np.diag(np.linalg.inv(x.T @ x)) * rest[0] / (len(y) - x.shape[1]))
    found = truth.fitted(0)
    assert found[0] == pytest.approx(beta[1:], abs=1e-5)
    assert found[1] == pytest.approx(error[1:], abs=1e-5)


def test_propensity_is_that_of_a_logistic_model() -> None:
    other = people(500, 2)
    one, two = (utility.analyst_utility(t.as_release(), t).truth for t in (TABLE, other))
    shared = analyst._File(two.table, one.scale)
    mse, ratio = analyst._propensity(one, shared, 0)
    x = np.concatenate([one.design, shared.design])[:, 1:]
    label = np.repeat([0, 1], [TABLE.rows, other.rows])
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=2000).fit(x, label)
    p = model.predict_proba(x)[:, 1]
    assert mse == pytest.approx(((p - label.mean()) ** 2).mean(), rel=1e-3)
    assert 0.2 < ratio < 3  # two samples of one population


def test_overlap_by_hand() -> None:
    """[-1, 1] and [0, 4]: the common part is half of the one and a quarter of the other."""
    unit = 1 / 1.959964
    found = analyst._overlap(*(np.array([v]) for v in (0.0, unit, 2.0, 2 * unit)))
    assert found == pytest.approx((1 / 2 + 1 / 4) / 2)
    apart = analyst._overlap(*(np.array([v]) for v in (0.0, unit, 9.0, unit)))
    assert apart == 0


def test_values_are_drawn_evenly_from_a_cell() -> None:
    made = anonymizer("full_domain:levels=1+1+1").anonymize(TABLE, Engine(seed=1)).release
    (first, second, third) = utility.read_cells(made)
    assert not np.array_equal(first.columns[0], second.columns[0])
    counts = np.bincount(np.concatenate([r.columns[2] for r in (first, second, third)]), minlength=3)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_coarser_releases_are_worth_less() -> None:
    values = []
    for k in (2, 10, 100):
        made = anonymizer(f"mondrian:k={k}").anonymize(TABLE, Engine(seed=1)).release
        found = utility.analyst_utility(made, TABLE)
        values.append((found.coefficients("age")[1].value, found.moments("hours")["deviation_error"].value))
    assert values[0][0] < values[2][0]
    masked = anonymizer("noise:amount=1").anonymize(TABLE, Engine(seed=1)).release
    noisy = utility.analyst_utility(masked, TABLE)
    quiet = utility.analyst_utility(anonymizer("noise:amount=0.05").anonymize(TABLE, Engine(seed=1)).release, TABLE)
    assert quiet.propensity()[0].value < noisy.propensity()[0].value
    assert quiet.coefficients("age")[0].value > noisy.coefficients("age")[0].value


def test_an_audit_has_them() -> None:
    made = anonymizer("mondrian:k=10").anonymize(TABLE, Engine(seed=1)).release
    ids = {(f.id, f.attribute) for f in analyst_findings(made, "r", TABLE)}
    assert {("propensity_mse", None), ("interval_overlap", "ill"), ("coefficient_overlap", "age")} <= ids
    assert {("mean_error", "hours"), ("share_error", "job"), ("correlation_error", None)} <= ids
    assert list(analyst_findings(made, "r", None)) == []
    group = np.asarray(anonymizer("mondrian:k=10").anonymize(TABLE, Engine(seed=1)).group_of_row)
    quality = {f.id for f in quality_findings(made, "r", TABLE, group)}
    assert {"granularity", "non_uniform_entropy", "aecs", "record_error_kept"} <= quality
    assert "non_uniform_entropy" not in {f.id for f in quality_findings(made, "r", TABLE, None)}
