"""Quasi-identifiers asked about in turn: a secret that the schema calls known is not asked about by anybody else.

Cost: one pass over a sample of people and the cells that fit them, for each quasi-identifier; nothing is learned.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.random_worlds import believe_by_counting
from unveil.audit.case import Case
from unveil.audit.document import Finding
from unveil.data.attribute import Role
from unveil.data.belief import Estimate
from unveil.data.draft.words import KNOWN_WORDS, SENSITIVE_WORDS, hinted
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.errors import NotApplicable, UsageError
from unveil.risk import news

__all__ = ["MEASURE", "in_turn_findings"]

MEASURE = "told_in_turn"
PEOPLE = 500  # asked about: a share of 5% is then known to 2 points
MOST_VALUES = 1_000
SURE = 0.8


def in_turn_findings(case: Case, name: str, release: Release) -> Iterator[Finding]:
    """Of each quasi-identifier that is shown exactly, unless its name is that of something neighbours know: the share
    of people whose own value the others tell a reader who counts rows, beyond what any one of them tells of people in
    general.
    """
    table = case.original
    known = release.with_role(Role.QUASI_IDENTIFIER)
    if table is None or case.known is not None or len(known) < 2 or not release.with_role(Role.SENSITIVE):
        return
    rows = np.arange(table.rows)
    if table.rows > PEOPLE:
        rows = np.sort(np.random.default_rng(0).choice(table.rows, PEOPLE, replace=False))
    for asked in known:
        attribute = release.attributes[asked]
        if attribute.codes > MOST_VALUES or (release.regions[asked].sizes > 1).any():
            continue  # in wider cells nobody reads a value
        if hinted(attribute.name, KNOWN_WORDS) and not hinted(attribute.name, SENSITIVE_WORDS):
            continue  # an age or a postcode is what neighbours know: the confirmed role is believed
        others = [release.attributes[i].name for i in known if i != asked]
        try:
            people = targets_of_table(table, release, asked, known=others).take(rows)
            p = believe_by_counting(release, people).probability
        except (NotApplicable, UsageError):
            continue  # people who fit no row are another finding
        yield Finding.of(MEASURE, name, attribute.name, _told(p, table, attribute.name, others, rows))


def _told(p: NDArray[np.float64], table: Table, asked: str, others: list[str], rows: NDArray[np.int64]) -> Estimate:
    truth = table.columns[table.index(asked)].astype(np.int64)
    own = p[np.arange(len(rows)), truth[rows]]
    usual = np.bincount(truth)[truth[rows]] / len(truth)
    for other in others:
        usual = np.maximum(usual, _share_beside(table.columns[table.index(other)].astype(np.int64), truth)[rows])
    told = news.sure(own, usual, SURE) & (usual < SURE)  # husbands are men: that is no news, however sure it is
    share = float(told.mean())
    half = (
        0.0 if len(rows) == table.rows else 1.96 * float(np.sqrt(max(share * (1 - share), 1 / len(rows)) / len(rows)))
    )
    return Estimate(share, max(share - half, 0.0), min(share + half, 1.0))


def _share_beside(known: NDArray[np.int64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """(people,) how common their own value is among the others who share the known one."""
    width = int(truth.max()) + 1
    both = np.bincount(known * width + truth, minlength=(int(known.max()) + 1) * width)
    alike, same = np.bincount(known)[known] - 1, both[known * width + truth] - 1
    return np.asarray((same + 0.5) / (alike + 1.0))
