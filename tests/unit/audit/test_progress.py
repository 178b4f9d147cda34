"""Progress that is true: one share, out of WHOLE, that only grows, whatever kind of release is read."""

from typing import Any

import pytest
from test_carriers import hospital

from one_round import run_audit
from unveil.attackers.posterior.contract import Chains
from unveil.catalog import anonymizer
from unveil.engine import WHOLE, Engine, Meter

SCHEMES = {
    "recoded by hierarchies": "mondrian:k=4,l=2",
    "sets": "mondrian:k=4,recoding=order",
    "one recoding for all": "full_domain:k=4",
    "two tables": "anatomy:l=2",
    "slices": "slicing:k=4",
    "masked": "pram:retain=0.8",
    "noise": "microaggregation:k=4",
}


def heard(**releases: object) -> list[tuple[str, int, int]]:
    told: list[tuple[str, int, int]] = []
    engine = Engine(seed=0, workers=2, progress=lambda *said: told.append(said))
    chains = Chains(chains=2, sweeps=60, most_sweeps=240, burn_in=20)
    run_audit(releases, original=hospital(), engine=engine, chains=chains)  # type: ignore[arg-type]
    return told


@pytest.mark.parametrize("kind", ["the table itself", *SCHEMES])
def test_one_share_that_only_grows(kind: str) -> None:
    table = hospital()
    release = table.as_release() if kind == "the table itself" else None
    if release is None:
        made: Any = anonymizer(SCHEMES[kind]).anonymize(table, Engine(seed=0))
        release = made.release
    told = heard(release=release)
    shares = [done for _, done, _ in told]
    assert {total for *_, total in told} == {WHOLE}
    assert shares == sorted(shares)
    assert shares[-1] == WHOLE
    assert all(task for task, *_ in told)
    assert len(set(shares)) >= (4 if kind in ("masked", "noise") else 6)  # not only begun and ended


def test_two_releases_at_a_time_are_one_share_with_their_names() -> None:
    raw = hospital().as_release()
    told = heard(one=raw, other=anonymizer("anatomy:l=2").anonymize(hospital(), Engine(seed=0)).release)
    shares = [done for _, done, _ in told]
    assert shares == sorted(shares)
    assert {task.partition(":")[0] for task, *_ in told} >= {"one", "other"}


def test_work_whose_parts_nobody_knows_still_only_grows() -> None:
    shown: list[tuple[str, float, float | None]] = []
    meter = Meter(lambda *said: shown.append(said))
    for task, done, total in (("a", 1, 2), ("a", 2, 2), ("b", 1, 4), ("a", 1, 2), ("c", 0, 0), ("c", 9, 3)):
        meter(task, done, total)
    shares = [share for _, share, _ in shown]
    assert shares == [0.25, 0.5, 0.5625, 0.5625, 0.75, 0.875]
    assert all(left is None for *_, left in shown)
