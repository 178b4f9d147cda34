"""Li 2010, Privacy Preservation in Data Publishing and Sharing (thesis, Purdue): section 4.5.3, membership."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from papers import Figure
from realdata.adult import NAMES, QUASI_IDENTIFIERS, SENSITIVE, AdultMissing, adult_schema
from realdata.adult_whole import read_adult_whole
from unveil.anonymizers.anatomy import Anatomy
from unveil.anonymizers.slicing import Slicing, columns_of, sliced
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known, Targets
from unveil.data.release import Release, row_numbers
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.risk.membership import FakeTuples, fake_tuples

OCC_7 = (*QUASI_IDENTIFIERS, SENSITIVE)
FIVE_OF_7 = (("age", "marital-status", "sex"), ("workclass",), ("education",), ("race",), ("occupation",))
FIVE_OF_15 = (
    ("age", "workclass", "education", "education-num", "capital-gain", "hours-per-week", "salary-class"),
    ("marital-status", "occupation", "relationship", "sex"),
    ("race", "native-country"),
    ("fnlwgt",),
    ("capital-loss",),
)
SIZES = (10, 100, 500, 1000)


def occupation_table(columns: dict[str, list[str]], names: Sequence[str]) -> Table:
    """OCC-7 or OCC-15: occupation is sensitive, everything else quasi-identifying."""
    schema = adult_schema(columns, [name for name in names if name != SENSITIVE])
    return Table.from_columns(schema, {name: columns[name] for name in names})


def random_buckets(table: Table, columns: Sequence[Sequence[int]], size: int, seed: int = 1) -> Release:
    """Rows in buckets of a size at random, the last one smaller; each column shuffled inside its bucket."""
    order = Engine(seed=seed).named(f"buckets of {size}").generator().permutation(table.rows)
    group = np.empty(table.rows, dtype=np.int64)
    group[order] = np.arange(table.rows) // size
    return sliced(table, columns, group).release


def as_targets(table: Table, names: Sequence[str] | None = None) -> Targets:
    """Every row as somebody of whom these attributes (all of them) are known."""
    which = range(len(table.attributes)) if names is None else [table.index(name) for name in names]
    known = {i: Known.exactly(table.attributes[i], table.columns[i]) for i in which}
    return Targets(-1, known, table.rows)


def named_columns(table: Table, columns: Sequence[Sequence[str]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(table.index(name) for name in column) for column in columns)


def one_bucket(k: int, c: int) -> int:
    """Fake tuples of one bucket whose k rows differ in each of c columns."""
    values = tuple(map(str, range(k)))
    attributes = tuple(Attribute(f"a{i}", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, values) for i in range(c))
    table = Table(attributes, tuple(np.arange(k, dtype=np.uint8) for _ in range(c)))
    release = sliced(table, tuple((i,) for i in range(c)), np.zeros(k, dtype=np.int64)).release
    return fake_tuples(release, as_targets(table)).fake.value


def reproduce() -> Iterator[Figure]:
    """The argument of section 4.4: a bucket of k rows and c columns hides k among k^c tuples."""
    for k, c in ((5, 2), (100, 2), (100, 5)):
        yield Figure(f"fake tuples of one bucket, k = {k}, c = {c}", "section 4.4", k**c - k, one_bucket(k, c))


def reproduce_slowly(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Figures 4.6 and 4.7 on all 45,222 complete rows; only three numbers of them are printed."""
    try:
        whole = read_adult_whole()
    except AdultMissing as missing:
        print(f"without the 45,222 rows: {missing}")
        return
    seven, fifteen = occupation_table(whole, OCC_7), occupation_table(whole, NAMES)
    yield Figure("rows of Adult without missing values", "section 4.5", 45_222, seven.rows)
    where = "section 4.5.3"
    for name, table in (("OCC-7", seven), ("OCC-15", fifteen)):
        known = [table.columns[i] for i in table.with_role(Role.QUASI_IDENTIFIER)]
        times = np.bincount(row_numbers(known))
        why = "the text says that each combination of quasi-identifiers occurs exactly once; it does not"
        yield Figure(
            f"{name}, rows with quasi-identifiers of their own", where, 45_222, (times == 1).sum(), why_not=why
        )
    made = Anatomy(l=5).anonymize(seven, Engine(seed=1)).release
    found = fake_tuples(made, as_targets(seven, QUASI_IDENTIFIERS))
    yield Figure("OCC-7, Anatomy: fake tuples of the quasi-identifiers", "section 4.4", 0, found.fake.value)
    for name, table, five in (("OCC-7", seven, FIVE_OF_7), ("OCC-15", fifteen, FIVE_OF_15)):
        for c, cut in ((2, columns_of(Slicing(c=2), table)), (5, named_columns(table, five))):
            for size in SIZES:
                fakes = fake_tuples(random_buckets(table, cut, size), as_targets(table))
                yield from _figures(f"{name}, c = {c}, p = {size}", fakes, table, cut, c == 2 and size == 100)
    yield from _any_two_columns(seven)


def _figures(
    name: str, found: FakeTuples, table: Table, cut: tuple[tuple[int, ...], ...], printed: bool
) -> Iterator[Figure]:
    printed = printed and len(table.attributes) == 7
    reading, why = "", ""
    if printed:
        sets = " ".join("{" + ", ".join(table.attributes[i].name for i in column) + "}" for column in cut)
        reading = f"the two columns are not named; by PAM on the contingency they are {sets}"
        why = "the thesis' two columns are not known; see below for all ways to cut"
    assert found.exact
    values = (found.fake.value, found.bands[2].value, found.row_bands[2])
    words = ("fake tuples", "fake tuples with over 20 matching buckets", "original tuples with over 20")
    for what, ours, theirs in zip(words, values, (87_936, 5_325, 31_452), strict=True):
        where = "Figure 4.6" if what == "fake tuples" else "Figure 4.7"
        yield Figure(
            f"{name}: {what}", where, theirs if printed else None, ours, reading=reading, why_not=why if printed else ""
        )


def _any_two_columns(table: Table) -> Iterator[Figure]:
    """Whether some way to cut OCC-7 in two gives the printed numbers: none does."""
    targets = as_targets(table)
    everything = tuple(range(len(table.attributes)))
    found = []
    for size in range(len(everything) - 1):
        for rest in combinations(everything[1:], size):
            one = (0, *rest)
            other = tuple(i for i in everything if i not in one)
            fakes = fake_tuples(random_buckets(table, (one, other), 100), targets)
            found.append((fakes.fake.value, fakes.bands[2].value, fakes.row_bands[2], other))
    for place, (word, printed) in enumerate(
        (("fake tuples", 87_936), ("fake tuples with over 20", 5_325), ("original tuples with over 20", 31_452))
    ):
        best = min(found, key=lambda case, place=place, printed=printed: abs(case[place] - printed))
        names = ", ".join(table.attributes[i].name for i in best[3])
        why = (
            f"of the 63 ways to cut into two columns the nearest, with {{{names}}} apart, has {best[0]:,} fake tuples, "
            f"{best[1]:,} and {best[2]:,} with over 20: none gives the three together"
        )
        name = f"OCC-7, p = 100, the nearest of any two columns: {word}"
        yield Figure(name, "Figures 4.6, 4.7", printed, best[place], why_not=why)
