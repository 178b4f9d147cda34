"""Quasi-identifiers asked about in turn: a secret that the schema calls known is not asked about by anybody else.

Cost: one pass over a sample of people and the cells that fit them, for each quasi-identifier; nothing is learned. Where
every cell shows one value, matching people with rows takes time linear in the quasi-identifiers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.random_worlds import believe_by_counting
from unveil.audit.case import Case
from unveil.audit.document import Finding
from unveil.data.attribute import Role
from unveil.data.belief import Estimate
from unveil.data.draft.words import KNOWN_WORDS, SENSITIVE_WORDS, hinted
from unveil.data.release import Release, row_numbers
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.errors import NotApplicable, UsageError
from unveil.risk import news

__all__ = ["MEASURE", "ExactCells", "in_turn_findings"]

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
    exact = ExactCells.of(table, release, known, rows)
    for place, asked in enumerate(known):
        attribute = release.attributes[asked]
        if attribute.codes > MOST_VALUES or (release.regions[asked].sizes > 1).any():
            continue  # in wider cells nobody reads a value
        if hinted(attribute.name, KNOWN_WORDS) and not hinted(attribute.name, SENSITIVE_WORDS):
            continue  # an age or a postcode is what neighbours know: the confirmed role is believed
        others = [release.attributes[i].name for i in known if i != asked]
        try:
            if exact is not None:
                p = exact.beliefs(place)
            else:
                people = targets_of_table(table, release, asked, known=others).take(rows)
                p = believe_by_counting(release, people).probability
        except (NotApplicable, UsageError):
            continue  # people who fit no row are another finding
        yield Finding.of(MEASURE, name, attribute.name, _told(p, table, attribute.name, others, rows))


@dataclass(frozen=True, slots=True, eq=False)
class ExactCells:
    """`believe_by_counting` where every cell of the quasi-identifiers shows one value.

    Rows agree in all columns but one if they agree in those before it and in those after it.
    """

    columns: list[NDArray[np.int64]]  # of the release's entries, then of the people
    before: list[NDArray[np.int32]]  # by column: numbers of what stands before it
    after: list[NDArray[np.int32]]
    codes: list[int]
    count: NDArray[np.int64]  # rows of each entry

    @classmethod
    def of(cls, table: Table, release: Release, known: Sequence[int], rows: NDArray[np.int64]) -> "ExactCells | None":
        """None where a cell is wider, columns are published apart, or the original has another domain."""
        block = release.block_of(known[0])
        columns = []
        for i in known:
            regions, mine = release.regions[i], table.index(release.attributes[i].name)
            same = table.attributes[mine].values == release.attributes[i].values
            if i not in block.attributes or not same or (regions.sizes > 1).any():
                return None
            columns.append(np.concatenate([regions.low[block.region(i)], table.columns[mine][rows]]).astype(np.int64))
        codes = [release.attributes[i].codes for i in known]
        return cls(columns, _agreeing(columns), _agreeing(columns[::-1])[::-1], codes, block.count)

    def beliefs(self, place: int) -> NDArray[np.float64]:
        """(people, values) of the column at this place."""
        number = row_numbers([self.before[place], self.after[place]])
        entries = len(self.count)
        asked, person = np.unique(number[entries:], return_inverse=True)
        where = np.minimum(np.searchsorted(asked, number[:entries]), len(asked) - 1)
        fits = asked[where] == number[:entries]
        held = np.zeros((len(asked), self.codes[place]))
        np.add.at(held, (where[fits], self.columns[place][:entries][fits]), self.count[fits])
        total = held.sum(axis=1, keepdims=True)
        if not total.all():
            raise NotApplicable("somebody fits no row")
        return np.asarray((held / total)[person])


def _agreeing(columns: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int32]]:
    """By column: the same number for rows that agree in all columns before it."""
    found = [np.zeros(len(columns[0]), dtype=np.int32)]
    for column in columns[:-1]:
        found.append(row_numbers([found[-1], column]).astype(np.int32))
    return found


def _told(p: NDArray[np.float64], table: Table, asked: str, others: list[str], rows: NDArray[np.int64]) -> Estimate:
    truth = table.columns[table.index(asked)].astype(np.int64)
    own = p[np.arange(len(rows)), truth[rows]]
    usual = np.bincount(truth)[truth[rows]] / len(truth)
    for other in others:
        usual = np.maximum(usual, _share_beside(table.columns[table.index(other)].astype(np.int64), truth)[rows])
    told = news.sure(own, usual, SURE) & (usual < SURE)  # husbands are men: that is not news, however sure it is
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
