"""Numbers that ARX gives of its own files, equal to the printed digits; docs/foreign.md lists them."""

import json

import pytest

from foreign import ARX, needs_foreign_files
from unveil import read_release, read_schema, read_table
from unveil.audit.identity import identity_findings, suppressed_rows, utility_findings
from unveil.audit.levels import run_check
from unveil.data.release import merged_rows

FILES = ("k5_global", "k5_local", "k5_micro_mean", "k5_micro_set", "k5_topbottom", "safepub")


@needs_foreign_files
def test_arx_counts_the_same() -> None:
    said = {line["file"]: line for line in map(json.loads, (ARX / "arx_numbers.jsonl").read_text().splitlines())}
    schema = read_schema(ARX / "schema.toml").confirmed()
    table = read_table(ARX / "adult.csv", schema)
    for name in FILES:
        release, theirs = (
            read_release(ARX / f"{name}.csv", schema, attributes=table.attributes),
            said[f"{name}.csv"],
        )
        sizes = release.class_sizes()
        ours = {f.id: f.value for f in (*identity_findings(release, name, None), *utility_findings(release, name))}
        assert (sizes.min(), len(sizes), sizes.max()) == (theirs["k"], theirs["classes"], theirs["max_class"]), name
        assert suppressed_rows(release) == theirs["suppressed"], name
        assert ours["prosecutor_risk.max"] == pytest.approx(theirs["pros_highest"], rel=1e-12), name
        assert ours["marketer_risk"] == pytest.approx(theirs["marketer"], rel=1e-12), name
        assert ours["groups.mean_size"] == pytest.approx(theirs["avg_class"], rel=1e-12), name
    whole = merged_rows(table.as_release())[0].class_sizes()
    assert (whole == 1).sum() == said["INPUT"]["sample_uniques"]
    subset = read_release(ARX / "dpresence_subset.csv", schema, attributes=table.attributes)
    ours = {f.id: f.value for f in identity_findings(subset, "subset", None, table)}
    assert ours["journalist_risk.max"] == pytest.approx(said["dpresence_subset.csv"]["jour_highest"])
    assert ours["marketer_risk"] == pytest.approx(said["dpresence_subset.csv"]["marketer"])
    presence = next(f.value for f in run_check(subset, population=table).findings if f.measure == "delta_presence")
    assert f"{presence:.4f}" == "0.2941"
