"""One node of the generalisation lattice: worked by hand, and against a loop over rows."""

from collections import Counter, defaultdict
from itertools import product
from pathlib import Path

import pytest

from small import QI, SENSITIVE, made_schema, made_table
from unveil.anonymizers.full_domain import FullDomain
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import RequirementError, UsageError
from unveil.formats.releases import release_files
from unveil.privacy.models import DistinctL, KAnonymity, NTCloseness, TCloseness

ZIP = [["45501", "4550*", "45***", "*"], ["45502", "4550*", "45***", "*"], ["45601", "4560*", "45***", "*"]]
SCHEMA = made_schema(
    {
        "zip": {"role": QI},
        "sex": {"role": QI, "domain": ["f", "m"], "missing": "category"},
        "s": {"role": SENSITIVE, "domain": ["a", "b", "c"]},
    },
    {"zip": ZIP},
    missing=["?"],
)
ROWS = [
    ("45501", "f", "a"),
    ("45502", "f", "b"),
    ("45501", "m", "a"),
    ("45502", "m", "a"),
    ("45601", "m", "c"),
    ("45601", "?", "b"),
]
TABLE = made_table(SCHEMA, *ROWS)


def lines(release: Release) -> list[str]:
    """The published rows."""
    return release_files(release, Path("/nowhere/r.csv"))[Path("/nowhere/r.csv")].decode().splitlines()[1:]


def test_a_node_by_hand() -> None:
    made = FullDomain(levels=(1, 0)).anonymize(TABLE, Engine(seed=0))
    assert lines(made.release) == [
        "4550*,f,a",
        "4550*,f,b",
        "4550*,m,a",
        "4550*,m,a",
        "45601,m,c",  # alone in 4560*, so the value itself
        "45601,?,b",
    ]
    assert made.release.sizes.tolist() == [2, 2, 1, 1]
    assert made.group_of_row.tolist() == [0, 0, 1, 1, 2, 3]


def test_rows_of_small_groups_are_suppressed_within_the_limit() -> None:
    made = FullDomain(levels=(1, 0), suppress=0.34, require=(KAnonymity(k=2),)).anonymize(TABLE, Engine(seed=0))
    assert sorted(lines(made.release)) == sorted(["4550*,f,a", "4550*,f,b", "4550*,m,a", "4550*,m,a", "*,*,c", "*,*,b"])
    assert made.release.suppressed().sum() == 1
    assert sorted(made.release.class_sizes()) == [2, 2]


def test_too_many_rows_to_suppress() -> None:
    with pytest.raises(RequirementError) as error:
        FullDomain(levels=(1, 0), suppress=0.3, require=(KAnonymity(k=2),)).anonymize(TABLE, Engine(seed=0))
    assert str(error.value) == (
        "full_domain: 2 of 6 rows lie in groups that miss k_anonymity:k=2, more than suppress=0.3 allows; "
        "suppress=0.3334 would do, or raise a level"
    )
    FullDomain(levels=(1, 0), suppress=0.3334, require=(KAnonymity(k=2),)).anonymize(TABLE, Engine(seed=0))
    with pytest.raises(RequirementError, match=r"4 of 6 rows .* miss k_anonymity:k=2 and distinct_l:l=2"):
        FullDomain(levels=(1, 0), require=(KAnonymity(k=2), DistinctL(l=2))).anonymize(TABLE, Engine(seed=0))


def test_a_share_is_a_share() -> None:
    """0.29 of 100 rows are 29 rows, though 0.29 · 100 is less in binary."""
    schema = made_schema({"q": {"role": QI, "domain": ["x", "y"]}})
    table = made_table(schema, *([["x"]] * 29 + [["y"]] * 71))
    made = FullDomain(levels=(0,), suppress=0.29, require=(KAnonymity(k=30),)).anonymize(table, Engine(seed=0))
    assert made.release.suppressed().sum() == 1


def test_suppressing_everything_must_still_keep_the_requirement() -> None:
    everything = FullDomain(levels=(0, 0), suppress=1, require=(KAnonymity(k=6),)).anonymize(TABLE, Engine(seed=0))
    assert everything.release.class_sizes().tolist() == [6]
    with pytest.raises(RequirementError, match=r"k_anonymity:k=7 cannot be met: all 6 rows in one group reach k=6"):
        FullDomain(levels=(0, 0), suppress=1, require=(KAnonymity(k=7),)).anonymize(TABLE, Engine(seed=0))


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ((1,), r"full_domain: 1 levels for 2 quasi-identifiers \(zip, sex\); give one each, joined by \+"),
        ((1, 0, 0), "3 levels for 2"),
        ((4, 0), "zip has levels 0 to 3, not 4"),
        ((-1, 0), "zip has levels 0 to 3, not -1"),
        ((0, 2), "sex has levels 0 to 1, not 2"),
    ],
)
def test_levels_that_are_none(levels: tuple[int, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        FullDomain(levels=levels).anonymize(TABLE, Engine(seed=0))


def test_other_requirements() -> None:
    with pytest.raises(UsageError, match="no tree of supersets"):
        FullDomain(levels=(1, 0), require=(NTCloseness(t=0.1, n=10),)).anonymize(TABLE, Engine(seed=0))
    with pytest.raises(UsageError, match="k_anonymity as a requirement needs its threshold"):
        FullDomain(levels=(1, 0), require=(KAnonymity(),)).anonymize(TABLE, Engine(seed=0))
    made = FullDomain(levels=(1, 1), suppress=1, require=(TCloseness(t=0.3),)).anonymize(TABLE, Engine(seed=0))
    # 4550*: a 3/4, b 1/4 against 1/2 1/3 1/6: distance 1/4; 45601: b 1/2, c 1/2: distance 1/2, suppressed
    assert sorted(made.release.sizes) == [2, 4]


def naive(levels: tuple[int, int], k: int) -> Counter[tuple[str, ...]]:
    """Samarati's node, row by row: the published rows, as sets of values."""
    leaf = {row[0]: row for row in ZIP}
    domain = ["f", "m", "?"]

    def zip_cell(value: str) -> str:
        return "+".join(sorted(z for z in leaf if leaf[z][levels[0]] == leaf[value][levels[0]]))

    def sex_cell(value: str) -> str:
        return value if levels[1] == 0 else "+".join(sorted(domain))

    classes = defaultdict(list)
    for row in ROWS:
        classes[zip_cell(row[0]), sex_cell(row[1])].append(row[2])
    whole = "+".join(sorted(leaf)), "+".join(sorted(domain))
    return Counter((*(cell if len(s) >= k else whole), v) for cell, s in classes.items() for v in s)


@pytest.mark.parametrize(("levels", "k"), list(product(product(range(4), range(2)), (1, 2, 3, 5))))
def test_every_node_as_a_loop_over_rows_makes_it(levels: tuple[int, int], k: int) -> None:
    release = FullDomain(levels=levels, suppress=1, require=(KAnonymity(k=k),)).anonymize(TABLE, Engine(seed=0)).release
    block = release.blocks[0]
    found: Counter[tuple[str, ...]] = Counter()
    for entry, count in zip(block.cells[block.cell], block.count, strict=True):
        cell = []
        for index, region in enumerate(entry):
            values = release.attributes[index].values
            cell.append("+".join(sorted(values[c] for c in release.regions[index].members(region))))
        found[tuple(cell)] += int(count)
    assert found == naive(levels, k)


def test_without_quasi_identifiers_there_is_one_group() -> None:
    schema = made_schema({"s": {"role": SENSITIVE, "domain": ["a", "b"]}})
    made = FullDomain(levels=()).anonymize(made_table(schema, ["a"], ["b"]), Engine(seed=0))
    assert made.release.sizes.tolist() == [2]
