"""Every anonymizer that perturbs values: whose row is whose, what is left alone, and the files it writes."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import tables

from small import INSENSITIVE, QI, SENSITIVE, made_schema
from unveil import catalog
from unveil.anonymizers.parts.masking import Masking
from unveil.data.release import Anonymized
from unveil.data.rows import as_published, origin_of, rows_of
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError, UsageError
from unveil.formats.releases import read_release, write_release
from unveil.formats.releases.assignments import assignment_bytes, read_assignment

# Every member: its options, and the columns that it perturbs.
CONFIGURATIONS = {
    "microaggregation": [("k=3", "age day"), ("k=4,method=univariate", "age day"), ("k=3,attributes=pay", "pay")],
    "noise": [("amount=0.3", "age day"), ("amount=0.3,kind=correlated", "age day")],
    "pram": [("retain=0.7", "zip sex"), ("kind=invariant,attributes=disease", "disease")],
    "rank_swapping": [("p=10", "age day sex")],
    "rounding": [("base=5", "age day"), ("base=7,kind=random", "age day")],
    "top_bottom": [("top=0.1,bottom=0.1", "age day"), ("top=0.2,by=mean", "age day")],
}
CASES = [(f"{name}:{options}", columns) for name, cases in CONFIGURATIONS.items() for options, columns in cases]
SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "missing": "category"},
        "zip": {"role": QI, "domain": ["45501", "45502", "=cmd()", 'a "b", c']},
        "day": {"role": QI, "kind": "date"},
        "pay": {"role": INSENSITIVE, "kind": "numeric"},
        "sex": {"role": QI, "kind": "ordinal", "domain": ["f", "m"], "missing": "category"},
        "disease": {"role": SENSITIVE, "domain": ["flu", "hiv, late", "none"]},
    },
    missing=["?", ""],
)


def people(rows: int = 80, seed: int = 4) -> Table:
    random = np.random.default_rng(seed)
    columns = {
        "age": [str(a) if random.random() > 0.1 else "?" for a in random.integers(0, 90, rows)],
        "zip": random.choice(["45501", "45502", "=cmd()", 'a "b", c'], rows).tolist(),
        "day": [f"2020-{m:02d}-{d:02d}" for m, d in zip(*random.integers(1, 13, (2, rows)), strict=True)],
        "pay": [f"{p:.2f}" for p in random.lognormal(8, 1, rows)],
        "sex": random.choice(["f", "m", "?"], rows, p=[0.5, 0.4, 0.1]).tolist(),
        "disease": random.choice(["flu", "hiv, late", "none"], rows).tolist(),
    }
    return Table.from_columns(SCHEMA, columns)


PEOPLE = people()


def run(text: str, table: Table = PEOPLE, seed: int = 1) -> Anonymized:
    made = catalog.anonymizer(text).anonymize(table, Engine(seed=seed))
    assert made.release.perturbed
    return made


def test_every_masking_member_is_tried() -> None:
    members = {n: catalog.member("anonymizers", n) for n in catalog.members("anonymizers")}
    assert set(CONFIGURATIONS) == {name for name, member in members.items() if issubclass(member, Masking)}


@pytest.mark.parametrize(("text", "columns"), CASES)
def test_only_the_chosen_columns_are_perturbed_and_the_order_is_drawn(text: str, columns: str) -> None:
    made, original = run(text), as_published(PEOPLE.attributes, PEOPLE.columns)
    names = [a.name for a in PEOPLE.attributes]
    assert [names[i] for i in made.release.perturbed] == columns.split()
    assert sorted(origin_of(made.release, made.group_of_row).tolist()) == list(range(PEOPLE.rows))
    assert (origin_of(made.release, made.group_of_row) != np.arange(PEOPLE.rows)).sum() > PEOPLE.rows / 2
    for index, name in enumerate(names):
        shown = rows_of(made.release).columns[index][made.group_of_row]
        same = np.array_equal(shown, original[index], equal_nan=True)
        assert same == (name not in columns.split()), name


@pytest.mark.parametrize(("text", "columns"), CASES)
def test_the_same_seed_gives_the_same_release(text: str, columns: str) -> None:
    one, other, third = (run(text, seed=seed) for seed in (1, 1, 2))
    assert one.release == other.release
    assert np.array_equal(one.group_of_row, other.group_of_row)
    assert not np.array_equal(one.group_of_row, third.group_of_row)


@pytest.mark.parametrize(("text", "columns"), CASES)
def test_what_is_written_is_read_again(text: str, columns: str, tmp_path: Path) -> None:
    for publish in ("", ",publish=true"):
        made = run(text + publish)
        write_release(made.release, tmp_path / "r.csv")
        found = read_release(tmp_path / "r.csv", SCHEMA, attributes=PEOPLE.attributes)
        assert found == made.release
        assert bool(found.method) == bool(publish)
        stated = any(one.channel is not None for one in found.perturbed.values())
        assert stated == (bool(publish) and text.startswith("pram"))
    (tmp_path / "a.csv").write_bytes(assignment_bytes(made.group_of_row))
    assert np.array_equal(read_assignment(tmp_path / "a.csv", PEOPLE, found), made.group_of_row)


@pytest.mark.parametrize("text", [text for text, _ in CASES])
@pytest.mark.parametrize("rows", [1, 2])
def test_tiny_tables_are_released_or_refused(text: str, rows: int) -> None:
    table = Table(PEOPLE.attributes, tuple(c[:rows] for c in PEOPLE.columns))
    with contextlib.suppress(RequirementError):
        assert run(text, table).release.rows == rows


ANY = [text for text, _ in CASES if "attributes" not in text]


@settings(max_examples=20)
@given(tables(roles=["quasi-identifier", "quasi-identifier", "insensitive", "sensitive"]), st.sampled_from(ANY))
def test_any_table(table: Table, text: str) -> None:
    """Hostile values, missing ones, bins, dates, one-value domains: nobody is lost, what is left alone is exact."""
    try:
        made = run(text, table)
    except (RequirementError, UsageError):  # too few rows; no column of the kind
        return
    assert made.release.perturbed
    assert sorted(origin_of(made.release, made.group_of_row).tolist()) == list(range(table.rows))
    for index, column in enumerate(as_published(table.attributes, table.columns)):
        if index not in made.release.perturbed:
            assert np.array_equal(
                rows_of(made.release).columns[index], column[origin_of(made.release, made.group_of_row)], equal_nan=True
            )
