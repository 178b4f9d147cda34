"""Weights that Splink estimates: known m and u found again, and its own scores beside ours."""

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from documents import check_document
from small import QI, made_schema, masked_release
from unveil.audit.linking import run_link
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable
from unveil.risk.linkage import by_splink
from unveil.risk.linkage.by_splink import blocking_sets, estimate_by_splink
from unveil.risk.linkage.links import reid
from unveil.risk.linkage.patterns import code_files, pattern_counts, pattern_of
from unveil.risk.linkage.probabilistic import Agreement, classify, from_true_links, link_by_patterns

SIZES = (6, 9, 12, 20, 30)
M = np.array([0.95, 0.9, 0.8, 0.85, 0.9])
PEOPLE = 400


def made(people: int = PEOPLE) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Values, and the same with each kept with probability m, else another one: u is one over the size."""
    random = np.random.default_rng(3)
    columns = [random.integers(size, size=people) for size in SIZES]
    kept = [random.random(people) < m for m in M]
    return columns, [
        np.where(k, c, (c + 1 + random.integers(size - 1, size=people)) % size)
        for k, c, size in zip(kept, columns, SIZES, strict=True)
    ]


def test_known_probabilities_are_found_again_and_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    people, rows = made()
    schema = made_schema(
        {n: {"role": QI, "domain": [str(v) for v in range(s)]} for n, s in zip("abcde", SIZES, strict=True)}
    )
    table = Table.from_columns(schema, {n: [str(v) for v in c] for n, c in zip("abcde", people, strict=True)})
    release = masked_release(table.attributes, tuple(rows), (0, 1, 2, 3, 4))
    before = logging.getLogger("splink").level, list(logging.getLogger("splink").handlers)
    with caplog.at_level(logging.DEBUG):
        found = run_link(release, table=table, group=np.arange(PEOPLE), splink=True, subsets=0, engine=Engine(seed=5))
    assert (logging.getLogger("splink").level, list(logging.getLogger("splink").handlers)) == before
    assert capfd.readouterr() == ("", "")
    assert not [r for r in caplog.records if r.name.startswith("splink")]
    assert os.listdir(tmp_path) == []
    row = next(r for r in found.document.diagnostics["readers"] if r["reader"] == "splink")
    # Standard errors of m are about .02: 400 links, nearly all of them told apart.
    assert [p["m"] for p in row["parameters"]] == pytest.approx(M.tolist(), abs=0.06)
    assert [p["u"] for p in row["parameters"]] == pytest.approx([1 / s for s in SIZES], abs=0.01)
    files = code_files(people, rows)
    true = from_true_links(files, np.arange(PEOPLE))
    best = reid(
        link_by_patterns(files, true, classify(true, false_links=0.001, missed_links=0.05), true_row=np.arange(400))
    )
    values = {f.id: f.value for f in found.document.findings}
    assert values["splink.reid"] == pytest.approx(best.value, abs=0.02)
    assert 0 < values["splink.claimed"] <= 1
    pairs = row["pairs"]
    assert pairs["link"] + pairs["clerical"] + pairs["no_link"] == PEOPLE**2
    assert sum(pairs[f"true_{k}"] for k in ("link", "clerical", "no_link")) == PEOPLE
    assert any(text.startswith("Splink learned") for text in found.document.diagnostics["remarks"])
    check_document(json.loads(found.document.model_dump_json()))


def test_splink_scores_pairs_as_we_do() -> None:
    import duckdb
    import pyarrow as pa
    from splink import DuckDBAPI, Linker, SettingsCreator

    people, rows = made(30)
    files = code_files(people, rows)
    model = Agreement(M, 1 / np.array(SIZES), share=1 / 30)

    def level(column: str, m: float, u: float) -> dict[str, Any]:
        equal = {"sql_condition": f"{column}_l = {column}_r", "m_probability": m, "u_probability": u}
        other = {"sql_condition": "ELSE", "m_probability": 1 - m, "u_probability": 1 - u}
        return {"output_column_name": column, "comparison_levels": [equal, other]}

    settings = SettingsCreator(
        link_type="link_only",
        comparisons=[level(n, float(m), float(u)) for n, m, u in zip("abcde", model.m, model.u, strict=True)],
        blocking_rules_to_generate_predictions=[{"blocking_rule": "1=1"}],
        probability_two_random_records_match=1 / 30,
    )
    with duckdb.connect(":memory:") as connection, by_splink._silenced():
        database = DuckDBAPI(connection)
        inputs = [
            database.register(
                pa.table({"unique_id": np.arange(30), **dict(zip("abcde", file, strict=True))}),
                dataset_display_name=name,
            )
            for name, file in (("p", people), ("q", rows))
        ]
        scored = Linker(inputs, settings, log_level=None).inference.predict().as_record_list()
    assert len(scored) == 900
    weights = model.weights()
    prior = np.log2((1 / 30) / (29 / 30))
    for pair in scored:
        assert pair["source_dataset_l"] == "p"
        here = pattern_of(files, files.of_person[[pair["unique_id_l"]]], files.of_row[[pair["unique_id_r"]]])
        assert pair["match_weight"] == pytest.approx(prior + weights[here[0]], abs=1e-9)


def test_blocks_by_hand() -> None:
    # Pairs by pattern of three attributes: a and b agree alone in 90 and 6, c in 3, all of them in 1.
    counts = np.array([0, 90, 6, 0, 3, 0, 0, 1])
    assert blocking_sets(3, counts, 0.01) == ((1,), (2,))  # 7 and 4 pairs, each with its one link
    # With four attributes two may stand together, if one alone leaves too few links among its pairs.
    counts = np.zeros(16, dtype=np.int64)
    counts[[0b0011, 0b1100, 0b1111]] = 2000, 3000, 1
    counts[[0b0001, 0b0010, 0b0100, 0b1000]] = 10**6
    assert blocking_sets(4, counts, 30 / counts.sum()) == ((0, 1), (2, 3))
    for few, words in (
        (np.array([5, 1, 1, 1]), "needs 3 attributes"),
        (np.array([9, 1, 0, 0, 0, 0, 0, 0]), "too few pairs"),
    ):
        with pytest.raises(NotApplicable, match=words):
            blocking_sets(len(few).bit_length() - 1, few, 0.1)


def test_where_it_cannot() -> None:
    people, rows = made(40)
    two = code_files(people[:2], rows[:2])
    with pytest.raises(NotApplicable, match="needs 3 attributes"):
        estimate_by_splink(two, pattern_counts(two), share=1 / 40)
    files = code_files(people, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "splink", None)
        with pytest.raises(NotApplicable, match=r"install unveil\[linkage\]"):
            estimate_by_splink(files, pattern_counts(files), share=1 / 40)
    # Of an attribute on which nobody ever agrees nothing is learned, and it weighs nothing.
    zero = np.zeros(40, dtype=np.int64)
    files = code_files([*people, zero], [*rows, zero + 1])
    found = estimate_by_splink(files, pattern_counts(files), share=1 / 40)
    assert found.untrained == (5,)
    assert found.model.m[5] == found.model.u[5]
    assert "It could say nothing of f." in found.remark("abcdef")
