"""Fellegi and Sunter on releases that publish sets: levels by hand, and against every pair."""

import json
from typing import Any

import numpy as np
import pytest

from documents import check_document
from small import QI, made_release, made_schema, made_table
from unveil.audit.linking import run_link
from unveil.data.belief import Known
from unveil.data.regions import Regions
from unveil.data.table import Table
from unveil.errors import NotApplicable
from unveil.risk.linkage import levels
from unveil.risk.linkage.levels import agreement_levels, level_counts, levels_of_rows, link_by_levels, own_levels
from unveil.risk.linkage.links import reid
from unveil.risk.linkage.probabilistic import LinkageRule, classify
from unveil.risk.linkage.published import published_of
from unveil.risk.linkage.register import Register, register_of_table

EVERY = ["0", "1", "2", "3"]


def one_attribute() -> tuple[Table, Any, Any]:
    """Eight people 0 0 1 2 3 3 3 3: the first is published as 0, all others as any value; and their groups."""
    table = made_table(made_schema({"a": {"role": QI, "domain": EVERY}}), *((v,) for v in "00123333"))
    release = made_release(table.attributes, [((0,), [(0, "0"), *[(1, EVERY)] * 7])])
    return table, release, np.array([0, 1, 1, 1, 1, 1, 1, 1])


def every(model: Any) -> LinkageRule:
    return classify(model, false_links=1.0, missed_links=0.0)


def test_two_levels_by_hand() -> None:
    table, release, groups = one_attribute()
    held = register_of_table(table, release.attributes)
    files = agreement_levels(published_of(release, ["a"], groups), held)
    # A quarter of the people lie in 0, all in the other cell.
    assert files.bounds == ((1.0, 0.25),)
    # 64 pairs: six people lie outside 0; all fit seven rows; two fit the one row.
    counts = level_counts(files)
    assert counts.tolist() == [6, 56, 2]
    model = levels_of_rows(files, counts)
    # Rows show level 1 seven times and level 2 once; half a pair is added to each of three.
    assert model.m[0] == pytest.approx(np.array([0.5, 7.5, 1.5]) / 9.5)
    assert model.u[0] == pytest.approx(np.array([6.5, 49.5, 1.5]) / 57.5)
    assert model.weights() == pytest.approx(np.log2(model.m[0] / model.u[0]))
    links = link_by_levels(files, model, every(model))
    # Both who are 0 are taken for the one row that says so, which is the first one's.
    assert links.size.tolist() == [1, 1, 7, 7, 7, 7, 7, 7]
    assert links.chance == pytest.approx([1, 0, *[1 / 7] * 6])
    assert reid(links).value == pytest.approx((1 + 6 / 7) / 8)
    assert links.score[:3] == pytest.approx(model.weights()[[2, 2, 1]])
    assert links.claim.tolist() == [True, True, *[False] * 6]
    assert own_levels(files).tolist() == [2, 1, 1, 1, 1, 1, 1, 1]  # type: ignore[union-attr]
    # Nobody says which is whose: the heavier cell may be right or not.
    unsure = link_by_levels(agreement_levels(published_of(release, ["a"]), held), model, every(model))
    assert unsure.chance is None
    # Whoever is not known at all fits all rows alike.
    known = Known(Regions.sets(4, [[0], [1], [2], [3], [0, 1, 2, 3]]), np.array([0, 0, 1, 2, 3, 3, 3, 3, 4]))
    files = agreement_levels(published_of(release, ["a"]), Register({"a": known}, 9, None))
    assert link_by_levels(files, model, every(model)).size.tolist() == [1, 1, 7, 7, 7, 7, 7, 7, 8]


@pytest.mark.parametrize("at_once", [levels.AT_ONCE, 7])
def test_weights_and_links_are_those_of_every_pair(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "AT_ONCE", at_once)
    random = np.random.default_rng(7)
    domains = {"a": list(range(20)), "b": list(range(6))}
    schema = made_schema({n: {"role": QI, "domain": [str(v) for v in d]} for n, d in domains.items()})
    values = np.stack([random.integers(len(d), size=40) for d in domains.values()], axis=1)
    table = made_table(schema, *(tuple(map(str, v)) for v in values.tolist()))
    groups = np.arange(40) // 4
    # Sets of the group's values and, of every third group, all values; a second cell, of one person, in group 0.
    cells: list[Any] = []
    for i, g in enumerate(groups.tolist()):
        mine = [sorted(set(values[groups == g, a].tolist())) for a in (0, 1)]
        mine[0] = list(range(20)) if g % 3 == 0 else mine[0]
        cells.append([[int(values[0, 0])], [int(values[0, 1])]] if i == 0 else mine)
    rows = [(g, *([str(v) for v in part] for part in cell)) for g, cell in zip(groups.tolist(), cells, strict=True)]
    release = made_release(table.attributes, [((0, 1), rows)])
    # The release orders groups by their cells; the assignment is found again by what they hold.
    group_of_row = np.array([_group_of(release, cell) for cell in cells])
    held = register_of_table(table, release.attributes)
    files = agreement_levels(published_of(release, ["a", "b"], group_of_row), held)
    counts = level_counts(files)
    assert counts.sum() == 40 * 40
    model = levels_of_rows(files, counts)
    weight = np.zeros((40, 40))
    for a in (0, 1):
        share = np.array([np.isin(values[:, a], cell[a]).mean() for cell in cells])
        level = np.searchsorted([1 / 16, 1 / 4], share - 1e-12)  # 0 narrow, 1 middling, 2 wide
        occurring = sorted(set(level.tolist()), reverse=True)
        number = np.array([occurring.index(x) + 1 for x in level.tolist()])
        inside = np.stack([np.isin(values[:, a], cell[a]) for cell in cells], axis=1)
        table_of = np.where(inside, number[None], 0)
        m = (40 * np.bincount(number, minlength=len(model.m[a])) / 40 + 0.5) / (40 + len(model.m[a]) / 2)
        others = np.bincount(table_of.ravel(), minlength=len(m)) - np.bincount(number, minlength=len(m))
        assert model.m[a] == pytest.approx(m)
        assert model.u[a] == pytest.approx((others + 0.5) / (40 * 39 + len(m) / 2))
        weight += np.log2(model.m[a] / model.u[a])[table_of]
    links = link_by_levels(files, model, every(model))
    best = weight.max(axis=1)
    tied = weight >= best[:, None] - 1e-9
    assert links.score == pytest.approx(best)
    assert links.size.tolist() == tied.sum(axis=1).tolist()
    own = weight[np.arange(40), np.arange(40)] >= best - 1e-9
    assert links.chance is not None
    right = np.where(own, 1 / tied.sum(axis=1), 0)
    right[0] = 1 / 4  # fits both cells of the group, four rows in all; which of them is not in the assignment
    assert links.chance == pytest.approx(right)
    assert links.margin == pytest.approx(
        np.where(links.size > 1, 0, best - np.where(tied, -np.inf, weight).max(axis=1))
    )


def _group_of(release: Any, cell: Any) -> int:
    block = release.blocks[0]
    for entry, group in zip(block.cell.tolist(), block.group.tolist(), strict=True):
        parts = [release.regions[a].members(int(block.cells[entry, a])).tolist() for a in (0, 1)]
        if parts == cell:
            return int(group)
    raise AssertionError(cell)


def test_a_link_with_an_assignment_counts_three_classes() -> None:
    table, release, groups = one_attribute()
    found = run_link(release, table=table, group=groups, false_links=0.03, missed_links=0.06, subsets=0, splink=True)
    readers = {r["reader"]: r for r in found.document.diagnostics["readers"]}
    values = {f.id: f.value for f in found.document.findings}
    assert values["probabilistic.reid"] == pytest.approx((1 + 6 / 7) / 8)
    assert values["distance.reid"] == pytest.approx((2 / 8 + 6 / 7) / 8)  # all rows that fit, alike
    # Level 2 is shown by 1.5/57.5 of others and is a link; level 0 by 0.5/9.5 of links and is none.
    assert readers["probabilistic"]["pairs"] == {
        "link": 2,
        "clerical": 56,
        "no_link": 6,
        "true_link": 1,
        "true_clerical": 7,
        "true_no_link": 0,
    }
    assert readers["probabilistic"]["thresholds"]["false_links"] == pytest.approx(1.5 / 57.5)
    assert readers["probabilistic"]["thresholds"]["missed_links"] == pytest.approx(0.5 / 9.5)
    assert [x["m"] for x in readers["probabilistic"]["parameters"][0]["levels"]] == pytest.approx(
        [7.5 / 9.5, 1.5 / 9.5]
    )
    assert "need not be estimated" in readers["unsupervised"]["reason"]
    assert "sets of them" in readers["splink"]["reason"]
    assert found.document.diagnostics["truth"] == "given"
    check_document(json.loads(found.document.model_dump_json()))
    unsure = run_link(release, table=table, subsets=0)
    assert any("--assignment" in text for text in unsure.document.diagnostics["remarks"])
    assert {f.id: f.value for f in unsure.document.findings}["probabilistic.reid"] is None


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table, release, _ = one_attribute()
    held = register_of_table(table, release.attributes)
    for name, words in (("MOST_ENTRIES", "too many values"), ("MOST_PAIRS", "too many pairs"), ("MOST_PATTERNS", "at")):
        with monkeypatch.context() as patch:
            patch.setattr(levels, name, 1)
            with pytest.raises(NotApplicable, match=words):
                agreement_levels(published_of(release, ["a"]), held)
