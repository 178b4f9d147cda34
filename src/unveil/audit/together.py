"""A release and those before it, compared with the default limits while it is being made."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from unveil.attackers.bayesian import Bayesian
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit.case import Case
from unveil.audit.remembered import sentence_of
from unveil.audit.run import run_audit
from unveil.audit.verdict import kind_of_finding
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.risk.composition import EarlierRelease

__all__ = ["BeyondLimits", "beyond_limits"]


class BeyondLimits(NamedTuple):
    """What an audit finds beyond its default limits, as sentences."""

    together: tuple[str, ...]  # only by reading all releases
    alone: tuple[str, ...]  # and by reading the new one alone


def beyond_limits(
    table: Table, release: Release, earlier: Mapping[str, EarlierRelease], engine: Engine
) -> BeyondLimits:
    """Ask the readers of an audit, of one release and of all, and sort out what it takes all of them for."""
    readers = {"random_worlds": RandomWorlds(), "bayesian": Bayesian()}
    case = Case(
        releases={"new": release},
        original=table,
        earlier=earlier,
        attackers=readers,
        background=None,
        membership=None,
        engine=replace(engine, seed=0, name="", secret=False),  # an audit's: the same figures, and no seed to keep
    )
    exceeded = [f for f in run_audit(case).document.findings if f.verdict == "exceeded"]
    own = {(f.attribute, f.measure, f.statistic) for f in exceeded if f.reader in readers}
    found: dict[bool, dict[tuple[str | None, str, str | None], str]] = {True: {}, False: {}}
    for f in exceeded:
        place = (f.attribute, f.measure, f.statistic)
        if kind_of_finding(f) == "composition":
            found[place in own].setdefault(place, sentence_of(f, table.rows))
    return BeyondLimits(tuple(found[False].values()), tuple(found[True].values()))
