"""Engine: where randomness comes from, and that nothing written says it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from one_round import run_audit
from small import QI, SENSITIVE, made_schema, made_table
from unveil.catalog import anonymizer
from unveil.data.rows import rows_of
from unveil.engine import Engine
from unveil.formats.releases import release_files
from unveil.frontier import run_frontier

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 60}},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "ill": {"role": SENSITIVE, "domain": ["a", "b", "c"]},
    }
)
TABLE = made_table(SCHEMA, *((20 + i, "fm"[i % 2], "abc"[i % 3]) for i in range(40)))


def test_without_a_seed_two_releases_differ() -> None:
    noise = anonymizer("noise:amount=0.5")
    one, other = (noise.anonymize(TABLE, Engine()).release for _ in range(2))
    assert not np.array_equal(np.sort(rows_of(one).columns[0]), np.sort(rows_of(other).columns[0]))


def test_a_drawn_seed_has_128_bits_and_is_kept_by_named_engines() -> None:
    engine = Engine()
    assert max(Engine().seed for _ in range(20)) >= 2**100
    assert engine.named("a").seed == replace(engine, workers=1).seed == engine.seed
    assert engine.named("a").generator().random() == engine.named("a").generator().random()


def test_a_stated_seed_repeats_the_release() -> None:
    noise = anonymizer("noise:amount=0.5")
    assert noise.anonymize(TABLE, Engine(seed=7)).release == noise.anonymize(TABLE, Engine(seed=7)).release


def test_a_drawn_seed_is_not_shown() -> None:
    assert str(Engine().seed) not in repr(Engine())
    assert Engine(seed=3).stated_seed == 3
    assert Engine().named("x").stated_seed is None


@pytest.mark.parametrize("text", ["noise:amount=0.5,publish=true", "anatomy:l=2", "dp_histogram:epsilon=1"])
def test_the_seed_is_in_no_file_of_a_release(text: str, tmp_path: Path) -> None:
    if text.startswith("dp"):
        pytest.importorskip("opendp")
    engine = Engine(seed=918273645546372819)
    made = anonymizer(text).anonymize(TABLE, engine)
    path = tmp_path / "release.csv"
    files = release_files(made.release, path)
    assert not [name for name, content in files.items() if str(engine.seed).encode() in bytes(content)]


def test_no_document_names_a_drawn_seed() -> None:
    engine = replace(Engine(), workers=1)
    release = anonymizer("anatomy:l=2").anonymize(TABLE, engine).release
    audit = run_audit({"r": release}, original=TABLE, engine=engine)
    assert str(engine.seed) not in audit.document.model_dump_json()
    swept = run_frontier(TABLE, ["anatomy:l=2"], risks=["privacy_loss.max"], engine=engine)
    assert str(engine.seed) not in json.dumps(swept.to_dict())
    assert str(swept.release_seed) not in json.dumps(swept.to_dict())


def test_a_frontier_draws_its_own_seed_for_the_releases() -> None:
    one, other = (
        run_frontier(TABLE, ["anatomy:l=2"], risks=["privacy_loss.max"], engine=Engine(seed=0, workers=1))
        for _ in range(2)
    )
    assert one.release_seed != other.release_seed
    assert one.anonymized(one.points[2]).release != other.anonymized(other.points[2]).release


def test_a_stopped_frontier_keeps_its_seed_among_the_checkpoints(tmp_path: Path) -> None:
    engine = Engine(seed=0, workers=1, checkpoints=tmp_path)
    engine.stop.set()
    one, other = (run_frontier(TABLE, ["anatomy:l=2"], risks=["privacy_loss.max"], engine=engine) for _ in range(2))
    assert one.release_seed == other.release_seed
    engine.stop.clear()
    done = run_frontier(TABLE, ["anatomy:l=2"], risks=["privacy_loss.max"], engine=engine)
    assert done.release_seed == one.release_seed
    assert not list(tmp_path.iterdir())
