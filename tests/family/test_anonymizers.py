"""Every anonymizer there is: what it promises, counted anew on the files it writes."""

import contextlib
import csv
import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from small import INSENSITIVE, QI, SENSITIVE, made_schema
from unveil import catalog
from unveil.data.attribute import Role
from unveil.data.release import Anonymized
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, UnveilError
from unveil.formats.releases import write_release

Counts = dict[str, int]  # of one group: its sensitive values


def at_least(k: int) -> Callable[[Counts], bool]:
    return lambda counts: sum(counts.values()) >= k


def different(l: int) -> Callable[[Counts], bool]:
    return lambda counts: len(counts) >= l


def no_more_than(share: float) -> Callable[[Counts], bool]:
    return lambda counts: max(counts.values()) <= share * sum(counts.values())


# Every member: its options, and what must be true of each group that is not suppressed.
CONFIGURATIONS: dict[str, list[tuple[str, Callable[[Counts], bool]]]] = {
    "anatomy": [("l=2", different(2)), ("l=3", different(3)), ("l=3", no_more_than(1 / 3))],
    "full_domain": [
        ("levels=2+1+1", at_least(1)),
        ("levels=1+2+1,k=4,suppress=0.2", at_least(4)),
        ("levels=2+1+0,k=3,l=2,suppress=1", different(2)),
        ("levels=2+2+1,k=5", at_least(5)),
        ("k=4,suppress=0.1", at_least(4)),
        ("require=probabilistic_l:l=2,suppress=0.2,measure=information_loss", no_more_than(1 / 2)),
        ("k=3,l=2,suppress=0.1,measure=discernibility", different(2)),
    ],
    "injector": [("l=2", different(2)), ("l=3,min_expectation=0.8", different(3)), ("l=2,predicates=2", different(2))],
    "local_suppression": [
        ("k=4", at_least(4)),
        ("k=3,l=2,importance=1+2+5", different(2)),
        ("k=3,strata=sex", at_least(3)),
        ("k=3,count=wildcards", at_least(1)),
        ("require=probabilistic_l:l=2", no_more_than(1 / 2)),
    ],
    "mondrian": [
        ("k=3", at_least(3)),
        ("k=3,require=b_t_privacy:t=0.4", at_least(3)),
        ("k=3,relaxed=true", at_least(3)),
        ("k=5,l=3", different(3)),
        ("k=4,recoding=hierarchy", at_least(4)),
        ("k=4,recoding=hierarchy,regions=cut", at_least(4)),
        ("k=4,regions=cut", at_least(4)),
        ("k=4,median=lower", at_least(4)),
        ("k=4,regions=cut,relaxed=true", at_least(4)),
        ("require=probabilistic_l:l=2", no_more_than(1 / 2)),
    ],
    "slicing": [
        ("alpha=1,l=3", different(3)),
        ("columns=disease,require=probabilistic_l:l=2", no_more_than(1 / 2)),
        ("columns=sex+disease/age,k=4,l=2", at_least(4)),
        ("columns=sex+disease/age+note,require=probabilistic_l:l=1.5,cut=age", no_more_than(2 / 3)),
        ("columns=disease/age/zip/sex,l=2,grouping=relaxed", at_least(1)),
        ("c=3,grouping=random,size=7", at_least(7)),
    ],
}
MASKING = {
    "dp_histogram",  # test_dp_histogram.py: its rows are nobody's
    "microaggregation",
    "noise",
    "pram",
    "rank_swapping",
    "rounding",
    "sampling",
    "top_bottom",
}  # test_masking_members.py
DRAWN = {"anatomy", "injector"}  # members whose release is drawn, not determined
DRAWS = ("relaxed", "random")  # options that make any member draw
CASES = [(name, options, holds) for name, cases in CONFIGURATIONS.items() for options, holds in cases]

AGES = [
    [str(a), f"[{a // 5 * 5},{a // 5 * 5 + 4}]", f"[{a // 20 * 20},{a // 20 * 20 + 19}]", "*"] for a in range(20, 60)
]
ZIPS = [[str(z), f"{str(z)[:3]}**", "*"] for z in (45501, 45502, 45601, 45602, 46001)]
SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 59}, "missing": "category"},
        "zip": {"role": QI},
        "note": {"role": INSENSITIVE, "domain": ["=cmd()", 'a "b", c', "\u200f<b>"]},
        "sex": {"role": QI, "domain": ["f", "m"], "missing": "category"},
        "disease": {"role": SENSITIVE, "domain": ["flu", "hiv, late", "none", "[x]"]},
    },
    {"age": AGES, "zip": ZIPS},
    missing=["?", ""],
)
QIS = ("age", "zip", "sex")


def people(rows: int = 200, seed: int = 5) -> list[tuple[str, ...]]:
    """Made-up people; a tenth of the ages and sexes is missing."""
    random = np.random.default_rng(seed)
    ages = random.integers(20, 60, rows)
    return [
        (
            str(age) if random.random() > 0.1 else "?",
            ZIPS[random.integers(len(ZIPS))][0],
            ["=cmd()", 'a "b", c', "\u200f<b>"][random.integers(3)],
            random.choice(["f", "m", "?"], p=[0.5, 0.4, 0.1]),
            ["flu", "hiv, late", "none", "[x]"][(random.integers(4) + (age > 40)) % 4],
        )
        for age in ages
    ]


PEOPLE = people()


def table_of(rows: Iterable[tuple[str, ...]]) -> Table:
    return Table.from_columns(SCHEMA, dict(zip(SCHEMA.names, zip(*rows, strict=True), strict=True)))


def run(name: str, options: str, rows: list[tuple[str, ...]], seed: int = 1) -> Anonymized:
    made = catalog.anonymizer(f"{name}:{options}").anonymize(table_of(rows), Engine(seed=seed))
    assert isinstance(made, Anonymized)
    return made


def lies_in(value: str, cell: str, ladder: list[list[str]]) -> bool:
    """Whether a value is among those a published cell names; written from CONTRACTS.md alone."""
    if cell in ("*", value):
        return True
    if any(value == row[0] and cell in row for row in ladder):
        return True
    if cell.startswith("["):
        low, high = cell[1:-1].split(",")
        return value.isdigit() and int(low) <= int(value) <= int(high)
    return cell.startswith("{") and value in [json.loads(i) if i.startswith('"') else i for i in cell[1:-1].split(",")]


class Files:
    """What a reader has: the rows of the release, group by group, and the sensitive values of each group."""

    def __init__(self, made: Anonymized, folder: Path) -> None:
        write_release(made.release, folder / "r.csv")
        with (folder / "r.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        if (folder / "r-sensitive.csv").exists():
            self.linked = False
            self.blocks = tomllib.loads((folder / "r.toml").read_text())["blocks"]
            numbers = [row["group"] for row in rows]
            order = sorted(set(numbers), key=int)
            self.rows = [[row for row, n in zip(rows, numbers, strict=True) if n == group] for group in order]
            with (folder / "r-sensitive.csv").open(newline="", encoding="utf-8") as file:
                second = list(csv.DictReader(file))
            self.sick = [
                Counter({r["disease"]: int(r["count"]) for r in second if r["group"] == group}) for group in order
            ]
        elif (folder / "r.toml").exists():
            self.linked = False
            order = sorted({row["group"] for row in rows}, key=int)
            self.rows = [[row for row in rows if row["group"] == group] for group in order]
            self.sick = [Counter(row["disease"] for row in group) for group in self.rows]
            self.blocks = tomllib.loads((folder / "r.toml").read_text())["blocks"]
        else:
            self.linked = True
            keys = list(dict.fromkeys(tuple(row[q] for q in QIS) for row in rows))
            self.rows = [[row for row in rows if tuple(row[q] for q in QIS) == key] for key in keys]
            self.sick = [Counter(row["disease"] for row in group) for group in self.rows]


def test_every_member_is_tried() -> None:
    made_of_groups = set(catalog.members("anonymizers")) - MASKING
    assert set(CONFIGURATIONS) == made_of_groups, "add the new member's options above, or to test_masking_members.py"


@pytest.mark.parametrize(("name", "options", "holds"), CASES)
def test_what_was_promised_is_kept(name: str, options: str, holds: Callable[[Counts], bool], tmp_path: Path) -> None:
    files = Files(run(name, options, PEOPLE), tmp_path)
    for rows, sick in zip(files.rows, files.sick, strict=True):
        if not all(row[q] == "*" for row in rows for q in QIS):
            assert holds(sick), (name, options, sick)
    assert len(files.rows) > 1


@pytest.mark.parametrize(("name", "options", "holds"), CASES)
def test_nobody_is_lost_moved_or_doubled(
    name: str, options: str, holds: Callable[[Counts], bool], tmp_path: Path
) -> None:
    """Each group of the files holds its own people: their cells cover them, their other values are all there."""
    made = run(name, options, PEOPLE)
    files = Files(made, tmp_path)
    assert made.group_of_row.shape == (len(PEOPLE),)
    assert sorted(set(made.group_of_row.tolist())) == list(range(len(files.rows)))
    for group, (rows, sick) in enumerate(zip(files.rows, files.sick, strict=True)):
        own = [dict(zip(SCHEMA.names, PEOPLE[i], strict=True)) for i in np.flatnonzero(made.group_of_row == group)]
        assert len(rows) == len(own)
        assert sick == Counter(person["disease"] for person in own)
        if files.linked:
            rest = ("note", "disease")
            assert Counter(tuple(r[n] for n in rest) for r in rows) == Counter(tuple(p[n] for n in rest) for p in own)
            for attribute, ladder in (("age", AGES), ("zip", ZIPS), ("sex", [])):
                assert {row[attribute] for row in rows} == {rows[0][attribute]}
                assert all(lies_in(person[attribute], rows[0][attribute], ladder) for person in own)
        for block in [] if files.linked else files.blocks:
            rest = tuple(n for n in block if n in rows[0])  # Anatomy's second table was looked at above
            assert Counter(tuple(r[n] for n in rest) for r in rows) == Counter(tuple(p[n] for n in rest) for p in own)


@pytest.mark.parametrize(("name", "options", "holds"), CASES)
def test_the_same_seed_gives_the_same_release(name: str, options: str, holds: Callable[[Counts], bool]) -> None:
    one, other, third = (run(name, options, PEOPLE, seed) for seed in (1, 1, 2))
    assert one.release == other.release
    assert (one.group_of_row == other.group_of_row).all()
    assert (one.release == third.release) == (name not in DRAWN and not any(d in options for d in DRAWS))


@pytest.mark.parametrize(("name", "options", "holds"), [c for c in CASES if c[0] not in DRAWN])
def test_the_order_of_the_rows_does_not_matter(name: str, options: str, holds: Callable[[Counts], bool]) -> None:
    order = np.random.default_rng(3).permutation(len(PEOPLE))
    one, other = run(name, options, PEOPLE), run(name, options, [PEOPLE[i] for i in order])
    assert one.release == other.release
    if not any(d in options for d in DRAWS):  # equal rows at a median may change places
        assert (one.group_of_row[order] == other.group_of_row).all()


@pytest.mark.parametrize("name", sorted(CONFIGURATIONS))
@pytest.mark.parametrize("rows", [PEOPLE[:1], PEOPLE[:1] * 30, PEOPLE[:2]])
def test_tiny_tables_are_released_or_refused(name: str, rows: list[tuple[str, ...]]) -> None:
    for options, _ in CONFIGURATIONS[name]:
        with contextlib.suppress(RequirementError):
            assert run(name, options, rows).release.rows == len(rows)


ROLES = ["quasi-identifier", "quasi-identifier", "insensitive", "sensitive"]
BOXES = ("tight", "cut")
ANY = st.sampled_from(
    [
        "anatomy:l=2",
        "injector:l=2",
        "mondrian:k=2,require=b_t_privacy:t=0.3",
        *(f"mondrian:k={k},recoding={r},regions={b}" for k in (1, 3) for r in ("order", "hierarchy") for b in BOXES),
        *(f"mondrian:k=2,l=2,relaxed={x},regions={b}" for x in ("true", "false") for b in BOXES),
        *(f"full_domain:levels={a}+{b},k=2,suppress=1" for a in (0, 1) for b in (0, 1)),
        "full_domain:k=2,suppress=0.3",
        "full_domain:k=2,l=2,measure=classification_metric",
        *(f"slicing:c={c},l=2,grouping={g}" for c in (2, 3) for g in ("strict", "relaxed")),
        "slicing:alpha=1,k=2,require=probabilistic_l:l=2",
        "slicing:c=2,grouping=random,size=3",
    ]
)  # fmt: skip


@given(tables(roles=ROLES), ANY)
def test_any_table(table: Table, text: str) -> None:
    """Hostile values, missing ones, bins, dates, one-value domains: covered, complete, and large enough."""
    try:
        made = catalog.anonymizer(text).anonymize(table, Engine(seed=3))
    except RequirementError:
        return
    release, hides_links = made.release, text.startswith(("anatomy", "injector", "slicing"))
    assert release.rows == table.rows
    assert np.bincount(made.group_of_row).tolist() == release.sizes.tolist()
    for index, column in enumerate(table.columns):
        block = release.block_of(index)
        for group in range(release.groups):
            entries = slice(block.start[group], block.start[group + 1])
            region, count = block.region(index)[entries], block.count[entries]
            own = column[made.group_of_row == group]
            if table.attributes[index].role is Role.QUASI_IDENTIFIER and not hides_links:
                assert len(set(region)) == 1
                assert release.regions[index].holds(np.full(len(own), region[0]), own).all()
            else:
                shown = Counter(np.repeat(release.regions[index].single()[region], count).tolist())
                assert shown == Counter(own.tolist())
    if not hides_links:
        k = 3 if "k=3" in text else 2 if "k=2" in text else 1
        assert release.class_sizes().min() >= k
    elif "random" not in text:
        grouped = np.bincount(made.group_of_row * table.attributes[3].codes + table.columns[3])
        grouped = np.pad(grouped, (0, -len(grouped) % table.attributes[3].codes)).reshape(release.groups, -1)
        assert "relaxed" in text or (np.count_nonzero(grouped, axis=1) >= 2).all()


@pytest.mark.parametrize("name", catalog.members("anonymizers"))
def test_texts_that_point_at_people_are_not_published(name: str) -> None:
    """By every member, whatever role the column has, unless the schema says release = true, and why."""
    needed = dict.fromkeys(catalog.members("anonymizers"), "")
    needed |= dict.fromkeys(("anatomy", "injector", "slicing"), ":l=2") | {"dp_histogram": ":epsilon=1"}
    needed |= dict.fromkeys(("full_domain", "mondrian", "microaggregation"), ":k=3") | {"rank_swapping": ":p=5"}
    needed |= {"noise": ":amount=0.1", "rounding": ":base=5", "sampling": ":share=0.5", "pram": ":attributes=d"}
    rows = [("Ann Lee", str(20 + i % 9), f"Mrs. Lee{i % 7} called", f"d{i % 4}") for i in range(40)]
    for told in ({}, {"release": True, "reason": "made-up names"}):
        note = {"role": INSENSITIVE, **told}
        schema = made_schema(
            {
                "id": {"role": "identifier"},
                "age": {"role": QI, "kind": "numeric"},
                "note": note,
                "d": {"role": SENSITIVE},
            }
        )
        columns = dict(zip(("id", "age", "note", "d"), zip(*rows, strict=True), strict=True))
        table = Table.from_columns(schema, columns)
        method = catalog.anonymizer(name + needed[name])
        said = ""
        try:
            method.anonymize(table, Engine(seed=1))
        except UnveilError as error:
            said = str(error)
        assert ("note: is not released: 100% of its different texts name somebody" in said) is (not told), said
