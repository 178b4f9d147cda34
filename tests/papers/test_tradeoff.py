"""Section 5.3 in small: what bounds what, and that buckets of the same groups lose the same privacy, less utility."""

import pytest

from papers.li_2010_tradeoff import Buckets, adult
from realdata.adult import AdultMissing, read_adult
from unveil.anonymizers.mondrian import Mondrian
from unveil.engine import Engine
from unveil.frontier import Candidate, run_frontier
from unveil.frontier.points import value_of
from unveil.privacy.models import TCloseness


def test_buckets_keep_the_privacy_loss_and_lose_less_utility() -> None:
    try:
        columns = read_adult(download=False)
    except AdultMissing as missing:
        pytest.skip(str(missing))
    table = adult(columns, ("age", "sex"))
    mondrian = Mondrian(require=(TCloseness(t=0.1, distance="js"),), recoding="order")
    methods = {"generalised": mondrian, "bucketized": Buckets(mondrian)}
    candidates = [Candidate(name, name, (), (), method) for name, method in methods.items()]
    asked = {"risks": ["privacy_loss.max"], "utilities": ["utility_loss"]}
    found = run_frontier(table, candidates, **asked, engine=Engine(seed=0, workers=1))
    loss, lost = (
        {p.name: value_of(p.findings, id, ()).value for p in found.points}
        for id in ("privacy_loss.max", "utility_loss")
    )
    assert loss["bucketized"] == pytest.approx(loss["generalised"])
    assert 0.09 < loss["generalised"] <= 0.1
    assert lost["bucketized"] < lost["generalised"] < lost["all suppressed"]
    assert found.choice.point.name == "bucketized"
