"""Whole audit documents as they were when last looked at; `run` is left out.

Exact ones must not move. Sampled ones may move within their error: another machine draws other chains. To write them
anew after a change that was meant: UNVEIL_WRITE_GOLDEN=1 python -m pytest tests/unit/audit/test_audit_golden.py
"""

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from documents import check_document
from hospitals import write_hospital
from papers import kassem_2019, li_2010
from small import QI, SENSITIVE, made_schema
from unveil.attackers.posterior.contract import Chains
from unveil.audit import Audit, run_audit
from unveil.catalog import anonymizer
from unveil.cli.demo import LIMITS, RELEASES
from unveil.data.schema import read_schema
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.formats.tables import read_table

GOLDEN = Path(__file__).parents[2] / "golden"
SHORT = Chains(chains=2, sweeps=200, burn_in=200, most_sweeps=0, every=10)


def li_table_2_2(folder: Path) -> Audit:
    """3-diverse salaries and diseases of one kind, nested cells, no original: exact."""
    return run_audit({"table 2.2": li_2010.table_2_2()}, joint=True, limits=["similar <= 0.2"], chains=SHORT)


def kassem_table_2(folder: Path) -> Audit:
    """Five patients, two groups."""
    schema = made_schema(
        {
            "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 80}},
            "gender": {"role": QI, "domain": ["F", "M"]},
            "disease": {"role": SENSITIVE, "domain": ["Cancer", "Flu"]},
        }
    )
    table = Table.from_columns(schema, dict(zip(kassem_2019.NAMES, zip(*kassem_2019.ROWS, strict=True), strict=True)))
    made = anonymizer("mondrian:k=2,relaxed=true").anonymize(table, Engine(seed=0))
    return run_audit(
        {"mondrian": made.release, "original": table.as_release()},
        original=table,
        assignments={"mondrian": made.group_of_row},
        limits=["prosecutor_risk.max <= 0.5", "global_threat - learner.global_threat <= 0.2"],
        chains=SHORT,
    )


def demo(folder: Path) -> Audit:
    """The demo's two releases of a smaller hospital, with short chains."""
    write_hospital(folder, 500, 1)
    table = read_table(folder / "hospital.csv", read_schema(folder / "schema.toml").confirmed())
    releases = {
        name: anonymizer(method).anonymize(table, Engine(seed=1)).release for name, (method, _) in RELEASES.items()
    }
    chains = Chains(sweeps=400, burn_in=400, most_sweeps=0, every=10)
    return run_audit(releases, original=table, limits=LIMITS, chains=chains, engine=Engine(seed=1))


def rounded(part: Any) -> Any:
    """Numbers to nine digits: what is beyond differs from machine to machine."""
    if isinstance(part, dict):
        return {key: rounded(value) for key, value in part.items()}
    if isinstance(part, list):
        return [rounded(value) for value in part]
    return float(f"{part:.9g}") if isinstance(part, float) else part


def differences(old: Any, new: Any, *, loose: bool, where: str = "") -> list[str]:
    """Where two documents differ, numbers within 1e-9 or, where chains were drawn, within their error."""
    if isinstance(old, dict) and isinstance(new, dict):
        if set(old) != set(new):
            return [f"{where}: {sorted(set(old) ^ set(new))}"]
        return [d for key in old for d in differences(old[key], new[key], loose=loose, where=f"{where}/{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, loose=loose, where=f"{where}/{i}")]
    if isinstance(old, int | float) and isinstance(new, int | float) and not isinstance(old, bool):
        near = {"rel_tol": 0.15, "abs_tol": 0.04} if loose else {"rel_tol": 1e-7, "abs_tol": 1e-9}
        return [] if math.isclose(old, new, **near) else [f"{where}: {old} is now {new}"]
    return [] if old == new else [f"{where}: {old!r} is now {new!r}"]


# What hangs on single draws: counts of people at an edge, errors, verdicts in words; largest values.
DRAWN = ("charts", "facts", "sentence", "converged", "precise", "modes", "worst_attribute", "words", "low", "high")
DRAWN += ("verdict", "verdicts")
EXTREME = ("relative_threat.max", "relative_threat.skewness", "belief_ratio.max", ".value:", "confident_right")


def comparable(document: dict[str, Any], *, loose: bool) -> dict[str, Any]:
    kept = {key: value for key, value in document.items() if key != "run"}
    if not loose:
        return kept
    kept["findings"] = [f for f in kept["findings"] if not any(part in f["id"] for part in EXTREME)]
    return _without(kept, DRAWN)  # type: ignore[no-any-return]


def _without(part: Any, keys: tuple[str, ...]) -> Any:
    if isinstance(part, dict):
        return {key: _without(value, keys) for key, value in part.items() if key not in keys}
    return [_without(value, keys) for value in part] if isinstance(part, list) else part


@pytest.mark.parametrize(("make", "loose"), [(li_table_2_2, False), (kassem_table_2, False), (demo, True)])
def test_the_document_is_as_it_was(make: Callable[[Path], Audit], loose: bool, tmp_path: Path) -> None:
    found = rounded(make(tmp_path).to_dict())
    check_document(found)
    if not loose:
        assert {r["method"] for r in found["diagnostics"]["readers"]} == {"exact", "cross-fitted boosting"}
    file = GOLDEN / f"audit-{make.__name__}.json"
    if os.environ.get("UNVEIL_WRITE_GOLDEN"):
        kept = comparable(found, loose=loose)
        file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    old = json.loads(file.read_text(encoding="utf-8"))
    assert not differences(old, comparable(found, loose=loose), loose=loose)[:10]
