"""A draft of a table that is read part by part is that of the whole table, whatever the parts are."""

import tomllib
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.data.draft import draft_schema
from unveil.data.draft.summary import ColumnTexts
from unveil.data.preparation import CodedColumn
from unveil.engine import Engine
from unveil.errors import TableError
from unveil.formats import counted
from unveil.formats.counted import summarized_table
from unveil.formats.tables import read_columns

HEAD = "id,age,sex,birth date,admission date,town,income,note"


def lines(number: int = 400) -> list[str]:
    """People with dates to derive from, marks for missing, rare spellings, numbers in a foreign notation."""
    draw, found = np.random.default_rng(3), []
    for place in range(number):
        age, day, town = draw.integers(0, 90), draw.integers(1, 29), draw.integers(0, 12)
        income = "NA" if draw.random() < 0.1 else f"{draw.integers(10, 99)}.{draw.integers(100, 999)}"
        sex = draw.choice(["f", "m", "F"], p=[0.5, 0.45, 0.05])
        found.append(
            f'p{place},{age},{sex},{day:02}.0{1 + place % 9}.{1930 + age},{day:02}.03.2024,t{town},"{income},5",'
        )
    return found


def written(folder: Path, edges: list[int]) -> Path:
    """The people in files that end at these rows; one of them may hold none."""
    folder.mkdir()
    some = lines()
    for number, (a, b) in enumerate(pairwise([0, *edges, len(some)])):
        (folder / f"{number}.csv").write_text("\n".join([HEAD, *some[a:b], ""]))
    return folder


@pytest.mark.parametrize("edges", [[], [200], [0, 1, 40, 40, 170, 399]])
@pytest.mark.parametrize("published", [False, True])
def test_a_draft_of_parts_is_that_of_the_whole(tmp_path: Path, edges: list[int], published: bool) -> None:
    folder = written(tmp_path / "t", edges)
    whole = read_columns(folder, published=published)
    plain = draft_schema(whole.columns, name="t", decimal=whole.decimal, published=published, folder="d")
    found, rows = summarized_table(folder, Engine())
    assert (found.rows, found.described, found.decimal) == (whole.rows, whole.described, whole.decimal)
    draft = draft_schema(found.columns, name="t", decimal=found.decimal, published=published, folder="d", rows=rows)
    assert draft == plain
    if not published:
        made = [a.get("prepare", {}) for a in tomllib.loads(draft.toml)["attributes"].values()]
        assert "admission date" in [one.get("age_at") for one in made]  # of two columns
        assert any(len(one.names) == 3 for one in draft.sets) or "all sets of up to 3" in draft.search


def test_parts_that_do_not_fit_each_other_are_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "t", [200])
    (folder / "1.csv").write_text("id,age\n1,2\n")
    with pytest.raises(TableError, match=r"t: the column 'admission date' is in some of its files only"):
        summarized_table(folder, Engine())
    (folder / "1.csv").write_text(f"{HEAD}\n")
    (folder / "0.csv").write_text(f"{HEAD}\n")
    with pytest.raises(TableError, match="holds no rows"):
        summarized_table(folder, Engine())


def test_too_many_different_rows_are_not_combined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "MOST_JOINED", 50)
    found, rows = summarized_table(written(tmp_path / "t", [100]), Engine())
    draft = draft_schema(found.columns, name="t", decimal=found.decimal, rows=rows)
    assert draft.search == "single attributes only: too many rows differ to combine them"
    assert all(len(one.names) == 1 for one in draft.sets)


def column(texts: list[str]) -> CodedColumn:
    distinct = sorted(set(texts))
    return CodedColumn(distinct, np.array([distinct.index(text) for text in texts], dtype=np.uint32))


@given(st.lists(st.integers(0, 80).map(str), min_size=1, max_size=120), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_a_sample_of_texts_depends_on_no_part_and_counts_all_their_rows(texts: list[str], draw: Random) -> None:
    whole = ColumnTexts.united([ColumnTexts.of(column(texts))], 12)
    cuts = sorted(draw.randrange(len(texts) + 1) for _ in range(5))
    parts = [ColumnTexts.of(column(texts[a:b])) for a, b in pairwise([0, *cuts, len(texts)]) if a < b]
    draw.shuffle(parts)
    while len(parts) > 1:
        some, parts = parts[:2], parts[2:]
        parts.append(ColumnTexts.united(some, 12))
    (found,) = parts
    found = ColumnTexts.united([found], 12)
    assert (list(found.texts), found.rows.tolist(), found.total, found.held) == (
        list(whole.texts), whole.rows.tolist(), whole.total, whole.held,
    )  # fmt: skip
    assert found.rows.tolist() == [texts.count(text) for text in found.texts]
    assert (found.held == 1) == (len(set(texts)) <= 12)
    assert {min(texts), max(texts), str(min(map(int, texts))), str(max(map(int, texts)))} <= set(found.texts)


@pytest.mark.thorough
def test_a_sample_tells_how_many_texts_there_are_and_keeps_marks_and_ends() -> None:
    """Of 40,000 incomes 2,000 are held: the draft has the true ends, and counts within a twentieth."""
    draw = np.random.default_rng(5)
    income = draw.choice(np.arange(1000, 400_000), 40_000, replace=False).tolist()
    texts = [*map(str, income), *["N/A"] * 300]
    held = ColumnTexts.united([ColumnTexts.of(column(texts))], 2_000)
    assert len(held.texts) / held.held == pytest.approx(40_001, rel=0.05)
    assert held.rows[list(held.texts).index("N/A")] == 300
    draft = draft_schema({"income": held}, name="t", rows=None)
    (found,) = draft.evidence
    assert found.distinct == pytest.approx(40_001, rel=0.05)
    assert found.uniqueness == pytest.approx(40_000 / 40_300, rel=0.05)
    assert found.missing == 300
    assert "a sample of" in " ".join(found.reasons)
    domain = tomllib.loads(draft.toml)["attributes"]["income"]
    assert (domain["domain"]["from"], domain["domain"]["to"]) == (min(income), max(income))
    assert len(domain["bins"]) >= 10
