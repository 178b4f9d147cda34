"""Which column carries it: a hand-made release that keeps the exact length of stay, and a recount row by row."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from one_round import run_audit
from small import QI, SENSITIVE, made_schema, made_table
from unveil.attackers.bayesian import Bayesian
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit.carriers import carrier_rows
from unveil.data.hierarchy_builders import interval_hierarchy
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, build_release
from unveil.data.schema import Schema
from unveil.data.table import Table

STAY = interval_hierarchy([*range(40)], [10, 20])


def hospital(rows: int = 240) -> Table:
    draw = np.random.default_rng(11)
    schema = made_schema(
        {
            "sex": {"role": QI},
            "ward": {"role": QI},
            "stay": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 39}},
            "disease": {"role": SENSITIVE},
        }
    )
    schema = Schema(schema.document, {"stay": STAY})
    columns = {
        "sex": draw.choice(["f", "m"], rows),
        "ward": draw.choice(["a", "b", "c"], rows),
        "stay": draw.integers(0, 40, rows).astype(str),
        "disease": draw.choice(["flu", "hiv", "none", "ulcer"], rows),
    }
    return Table.from_columns(schema, {name: values.tolist() for name, values in columns.items()})


def texts(table: Table) -> list[dict[str, str]]:
    columns = {
        a.name: [a.values[code] for code in column.tolist()]
        for a, column in zip(table.attributes, table.columns, strict=True)
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def few(people: list[dict[str, str]], known: tuple[str, ...]) -> int:
    sizes = Counter(tuple(person[name] for name in known) for person in people)
    return sum(n for n in sizes.values() if n < 3)


def guessed(people: list[dict[str, str]], known: tuple[str, ...]) -> float:
    classes: dict[tuple[str, ...], Counter[str]] = {}
    for person in people:
        classes.setdefault(tuple(person[name] for name in known), Counter())[person["disease"]] += 1
    return sum(max(c.values()) for c in classes.values()) / len(people)


def test_the_numbers_are_those_of_counting_row_by_row():
    table = hospital()
    people = texts(table)
    rows = {(row.column, row.change): row for row in carrier_rows(table.as_release())}
    whole = ("sex", "ward", "stay")
    assert rows["", "as it is"].few == few(people, whole)
    for name in whole:
        rest = tuple(n for n in whole if n != name)
        assert rows[name, "without"].few == few(people, rest)
        assert abs(rows[name, "without"].guessed["disease"] - guessed(people, rest)) < 1e-12
    coarse = [{**p, "stay": str(int(p["stay"]) // 10)} for p in people]
    assert rows["stay", "one level coarser"].few == few(coarse, whole)
    assert abs(rows["stay", "one level coarser"].guessed["disease"] - guessed(coarse, whole)) < 1e-12
    assert ("sex", "one level coarser") not in rows  # it has no hierarchy


def test_the_audit_says_that_the_exact_length_of_stay_carries_it():
    table = hospital()
    found = run_audit({"by hand": table.as_release()}, original=table, membership=None, background=None)
    rows = found.document.diagnostics["judgement"]["by hand"]["kinds"]
    kinds = {k["kind"]: k for k in reversed(rows)}  # of inference the sensitive attribute's, which comes first
    assert kinds["singling out"]["verdict"] == "exceeded"
    people = texts(table)
    said = kinds["singling out"]["why"]
    before, after = few(people, ("sex", "ward", "stay")), few(people, ("sex", "ward"))
    assert said.startswith(
        f"{before} rows stand in classes of fewer than 3; without stay {after} rows, with it one level"
    )
    assert "stay is published exactly." in said
    assert "stay" in kinds["inference"]["why"]
    assert kinds["linking"]["why"] == "The same columns carry it."
    external = run_audit(
        {"by hand": table.as_release()}, original=table, membership=None, background=None, variant="external"
    )
    assert "carriers" not in external.document.diagnostics


def test_readers_are_asked_again_and_say_what_an_audit_of_the_changed_release_would() -> None:
    """The hand-made release: exact length of stay kept. Without it, and one level coarser, audited for themselves."""
    table = hospital()
    quick = {"bayesian": Bayesian(), "random_worlds": RandomWorlds()}
    options: dict[str, Any] = {"membership": None, "background": None, "attackers": quick}
    found = run_audit({"by hand": table.as_release()}, original=table, **options).document
    kind = next(k for k in found.diagnostics["judgement"]["by hand"]["kinds"] if k["kind"] == "inference")
    of = found.diagnostics["carrier_findings"]["by hand"]["disease"]
    again = {(r["column"], r["change"]): r["found"].get("disease") for r in found.diagnostics["carriers"]["by hand"]}
    value = {f.id: f.value for f in found.findings}
    assert again["", "as it is"] == value[of["finding"]]
    wide = np.minimum(np.arange(40) // 10, 3)
    stay = table.index("stay")
    for change, region_of in (("without", np.zeros(40, dtype=np.int64)), ("one level coarser", wide)):
        regions = [Regions.singles(a.codes) for a in table.attributes]
        regions[stay] = Regions.sets(40, [np.flatnonzero(region_of == r) for r in range(int(region_of.max()) + 1)])
        columns = [np.asarray(c, dtype=np.int64) for c in table.columns]
        columns[stay] = region_of[columns[stay]]
        part = BlockRows((0, 1, 2, 3), np.arange(table.rows), tuple(columns))
        other = build_release(table.attributes, regions, [part])[0]
        own = {f.id: f.value for f in run_audit({"r": other}, original=table, **options).document.findings}
        assert again["stay", change] == pytest.approx(own[of["finding"]], abs=1e-12)
    first, without, coarser = (
        again[key] for key in (("", "as it is"), ("stay", "without"), ("stay", "one level coarser"))
    )
    assert f": {first:.1%}; without stay {without:.0%}, with it one level coarser {coarser:.0%}" in kind["asked_again"]
    assert kind["command"].endswith(" --leave-out stay --with mondrian:k=5,l=3")
    people = texts(table)
    groups = found.diagnostics["carrier_groups"]["by hand"]
    for group in groups["singling out"]:
        alike = [p for p in people if all(p[name] == cell for name, cell in group["cells"].items())]
        assert len(alike) == group["rows"] < 3
    for group in groups["disease"]:
        alike = [p for p in people if all(p[name] == cell for name, cell in group["cells"].items())]
        assert (len(alike), sum(p["disease"] == group["value"] for p in alike)) == (group["rows"], group["alike"])


def test_of_many_columns_those_that_show_most_are_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unveil.audit.asked_again.MOST_COLUMNS", 1)
    table = hospital()
    options: dict[str, Any] = {"membership": None, "background": None, "attackers": {"random_worlds": RandomWorlds()}}
    found = run_audit({"by hand": table.as_release()}, original=table, **options).document
    again = {(r["column"], r["change"]): r["found"].get("disease") for r in found.diagnostics["carriers"]["by hand"]}
    assert again["stay", "without"] is not None
    assert again["ward", "without"] is None


def test_a_quasi_identifier_that_is_asked_about_itself_is_not_left_out() -> None:
    """Without a sensitive attribute each quasi-identifier is asked about: a release without it cannot be."""
    schema = made_schema({name: {"role": QI, "domain": ["0", "1"]} for name in ("a", "b", "c")})
    people = made_table(schema, *[(str(i % 2), str(i // 2 % 2), str((i % 2) ^ (i // 2 % 2))) for i in range(80)])
    found = run_audit({"r": people.as_release()}, original=people, membership=None, background=None)
    assert found.verdict in ("exceeded", "inconclusive")
