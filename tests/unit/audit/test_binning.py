"""Bins of the audit's own, against cutting sorted people by hand."""

import numpy as np
import pytest

from one_round import run_audit
from small import QI, SENSITIVE, made_schema, made_table
from unveil.audit.binning import bins_of, too_many_values
from unveil.catalog import anonymizer
from unveil.data.table import Table
from unveil.engine import Engine

SCHEMA = made_schema(
    {
        "age": {"role": QI, "domain": ["young", "old"]},
        "pay": {
            "role": SENSITIVE,
            "kind": "numeric",
            "domain": {"from": 0, "to": 4_999, "step": 1},
            "release": True,
            "reason": "incomes of a made-up list",
        },
    }
)


def people(pay: list[int]) -> Table:
    return made_table(SCHEMA, *[(("young", "old")[i % 2], str(v)) for i, v in enumerate(pay)])


@pytest.mark.parametrize("bins", [10, 100])
def test_bins_hold_equally_many_people_and_never_cross(bins: int) -> None:
    pay = np.random.default_rng(1).permutation(5_000)[:1_000].tolist()
    table = people(pay)
    release = anonymizer("full_domain:levels=0").anonymize(table, Engine(seed=0)).release
    made = bins_of(table.attributes[1], release, table, bins)
    binned = made.table(table)
    assert too_many_values(table.attributes[1])
    assert not too_many_values(made.attribute)
    counts = np.bincount(binned.columns[1], minlength=bins)
    assert counts.max() - counts.min() <= 2
    order = np.argsort(pay)
    assert (np.diff(binned.columns[1][order].astype(int)) >= 0).all()
    assert made.attribute.low is not None
    assert made.attribute.high is not None
    held = np.array(pay)
    assert (held >= made.attribute.low[binned.columns[1]]).all()
    assert (held <= made.attribute.high[binned.columns[1]]).all()


def test_a_release_of_bins_shows_what_the_table_of_bins_has() -> None:
    table = people(np.random.default_rng(2).integers(0, 5_000, 300).tolist())
    release = anonymizer("full_domain:levels=0").anonymize(table, Engine(seed=0)).release
    made = bins_of(table.attributes[1], release, table, 10)
    expected = anonymizer("full_domain:levels=0").anonymize(made.table(table), Engine(seed=0)).release
    assert made.release(release) == expected


def test_an_attribute_of_thousands_of_values_is_judged_coarsely_and_finely() -> None:
    draw = np.random.default_rng(3)
    pay = [int(draw.integers(3_000, 3_100)) if i % 2 else int(draw.integers(0, 5_000)) for i in range(400)]
    table = people(pay)
    release = anonymizer("full_domain:levels=0").anonymize(table, Engine(seed=0)).release
    found = run_audit({"r": release}, original=table, engine=Engine(seed=0, workers=1))
    rows = found.document.diagnostics["judgement"]["r"]["kinds"]
    inference = {row["attribute"]: row["verdict"] for row in rows if row["kind"] == "inference"}
    binned = {name: verdict for name, verdict in inference.items() if name.startswith("pay in ")}
    assert len(binned) == 2
    assert set(binned.values()) == {"exceeded"}  # every second person within 100
