"""Li 2010, Privacy Preservation in Data Publishing and Sharing (thesis, Purdue): chapter 4, slicing."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from papers import Figure
from papers._printed import printed_schema
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, adult_schema
from unveil.anonymizers.parts.attribute_partition import contingency_of
from unveil.anonymizers.parts.match_probabilities import likely_values, make_slices
from unveil.anonymizers.slicing import Slicing, asked_of, columns_of, sliced
from unveil.data.attribute import Role
from unveil.data.release import row_numbers
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.models import DistinctL, ProbabilisticL
from unveil.privacy.requirement import Requirement

SIX = (
    ("22", "M", "47906", "dyspepsia"),
    ("22", "F", "47906", "flu"),
    ("52", "F", "47905", "bronchitis"),
    ("54", "M", "47302", "flu"),
    ("60", "M", "47302", "dyspepsia"),
    ("64", "F", "47304", "gastritis"),
)
# Section 4.1.1 speaks of t1 … t8, of ages {22, 22, 33, 52}, and of two rows with zip 47905 in the first bucket.
EIGHT = (
    *SIX[:2],
    ("33", "F", "47905", "flu"),
    *SIX[2:5],
    ("60", "M", "47304", "dyspepsia"),
    SIX[5],
)
NAMES = ("age", "sex", "zip", "disease")
F = ((0, 1), (2, 3))  # the columns of Table 4.1(f)


def table_4_1(rows: tuple[tuple[str, ...], ...]) -> tuple[Table, NDArray[np.int64]]:
    """The original table, and its two buckets: the first half and the second."""
    schema = printed_schema(
        {
            "age": {"role": "quasi-identifier", "kind": "numeric"},
            "sex": {"role": "quasi-identifier"},
            "zip": {"role": "quasi-identifier"},
            "disease": {"role": "sensitive"},
        }
    )
    table = Table.from_columns(schema, dict(zip(NAMES, zip(*rows, strict=True), strict=True)))
    return table, np.arange(len(rows)) * 2 // len(rows)


def shares(
    table: Table, columns: tuple[tuple[int, ...], ...], group: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(rows, values) p(t, s) of every row; (rows,) how many buckets it matches."""
    known = table.with_role(Role.QUASI_IDENTIFIER)
    nothing = np.zeros(table.rows, dtype=np.int64)
    cells = [row_numbers([table.columns[i] for i in column if i in known] or [nothing]) for column in columns]
    slices = make_slices(cells)
    asked = asked_of(table, columns, Requirement.of([DistinctL(l=1)], table, "papers"))
    p = likely_values(slices, asked, group).shares(0)[slices.person]
    matching = np.zeros(slices.people, dtype=np.int64)
    for bucket in np.unique(group):
        held = [np.isin(cell, cell[group == bucket]) for cell in cells]
        matching[np.unique(slices.person[np.logical_and.reduce(held)])] += 1
    return p, matching[slices.person]


def multisets(table: Table, group: NDArray[np.integer]) -> list[list[dict[str, int]]]:
    """Table 4.1(e): per bucket and attribute, how often each value is published."""
    release = sliced(table, tuple((i,) for i in range(len(table.attributes))), group).release
    found = []
    for bucket in range(release.groups):
        said = []
        for block in release.blocks:
            (index,) = block.attributes
            entries = slice(block.start[bucket], block.start[bucket + 1])
            codes = release.regions[index].single()[block.region(index)[entries]]
            values = (table.attributes[index].values[code] for code in codes)
            said.append(dict(zip(values, block.count[entries].tolist(), strict=True)))
        found.append(said)
    return found


def reproduce() -> Iterator[Figure]:
    """Table 4.1 and the example of section 4.2.1."""
    where = "Table 4.1(f)"
    table, group = table_4_1(SIX)
    six = shares(table, F, group)[0].max(axis=1)
    why_not = "as printed rows 3 and 6 are alone with their zip; the text describes a table of eight rows"
    yield Figure("Table 4.1(f), largest p, six rows", where, 0.5, float(six.max()), why_not=why_not)
    yield Figure("Table 4.1(f), rows with p = 1, six rows", where, None, float((six == 1).sum()))
    table, group = table_4_1(EIGHT)
    p, _ = shares(table, F, group)
    yield Figure("Table 4.1(f), largest p, eight rows", "section 4.2.1", 0.5, float(p.max()))
    flu = table.attributes[3].values.index("flu")
    yield Figure("D(t1, B1)[flu], eight rows", "section 4.2.2", 0.5, float(p[0, flu]))
    table, group = table_4_1(SIX)
    printed = [
        [{"22": 2, "52": 1}, {"M": 1, "F": 2}, {"47905": 1, "47906": 2}],
        [{"54": 1, "60": 1, "64": 1}, {"M": 2, "F": 1}, {"47302": 2, "47304": 1}],
    ]
    same = [bucket[:3] for bucket in multisets(table, group)] == printed
    reading = "1: the multisets of (d) are what slices of one attribute publish"
    yield Figure("Table 4.1, (d) equals (e)", "section 4.1.2", 1, float(same), reading=reading)


def reproduce_on_adult(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """OCC-7, 30,162 rows: correlations, what l can be, and how many buckets match."""
    names = (*QUASI_IDENTIFIERS, SENSITIVE)
    table = Table.from_columns(adult_schema(columns), {name: columns[name] for name in names})
    sensitive = table.index(SENSITIVE)
    together = contingency_of(table, 10)[sensitive]
    where = "section 4.5, experimental data"
    for name in ("sex", "workclass", "education"):
        yield Figure(f"contingency of occupation with {name}", where, None, float(together[table.index(name)]))
    rank = sorted((i for i in range(len(together)) if i != sensitive), key=lambda i: -together[i])
    yield Figure("rank of sex among all, by contingency", where, 1, 1 + rank.index(table.index("sex")))
    why_not = "workclass is closer, here and in the thesis' 45,222 rows (see workloads below)"
    education = 1 + rank.index(table.index("education"))
    yield Figure("rank of education among all, by contingency", where, 2, education, why_not=why_not)
    everybody = np.zeros(table.rows, dtype=np.int64)
    for alpha in (2, 1):
        chosen = columns_of(Slicing(alpha=alpha), table)
        p, _ = shares(table, chosen, everybody)
        reading = f"no bucket is cut: by definition 4.2.2 l is {1 / p.max():.3f} at most"
        reading += "; the thesis' 5, 8 and 10 can only be distinct values" if alpha == 2 else ""
        yield Figure(f"largest p of the whole table, alpha = {alpha}", "ours alone", None, p.max(), reading=reading)
    strict = Slicing(alpha=2, require=(ProbabilisticL(l=3),)).anonymize(table, Engine(seed=0))
    p, matching = shares(table, columns_of(Slicing(alpha=2), table), strict.group_of_row)
    yield Figure("3-diverse slicing, largest p", "ours alone", None, float(p.max()))
    yield Figure("3-diverse slicing, largest distance of a sum of p from 1", "fact 4.2.1", 0, _apart(p), 1e-9)
    reading = "strict cuts on every quasi-identifier: protection by several matching buckets does not come about"
    yield Figure("3-diverse slicing, most buckets anybody matches", "ours alone", None, matching.max(), reading=reading)
    for l in (5, 8, 10):
        made = Slicing(alpha=2, require=(DistinctL(l=l),)).anonymize(table, Engine(seed=0))
        reading = f"distinct values of p(t, ·) for everybody; {made.release.sizes.mean():.1f} rows a bucket"
        yield Figure(
            f"buckets of distinct {l}-diverse slicing", "ours alone", None, made.release.groups, reading=reading
        )


def _apart(p: NDArray[np.float64]) -> float:
    return float(np.abs(p.sum(axis=1) - 1).max())
