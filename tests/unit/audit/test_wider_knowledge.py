"""Readers who know more than the quasi-identifiers: insensitive columns, and a person's other secrets."""

from typing import Any

import numpy as np

from one_round import run_audit
from small import INSENSITIVE, QI, SENSITIVE, made_release, made_schema, made_table
from unveil.audit import Audit
from unveil.catalog import anonymizer
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine

ILLS = ("flu", "hiv", "cold", "none")
VOTES = ("red", "blue", "green", "grey")
SCHEMA = made_schema(
    {
        "age": {"role": QI, "domain": ["young", "old"]},
        "room": {"role": INSENSITIVE, "domain": [str(i) for i in range(400)]},
        "ill": {"role": SENSITIVE, "domain": list(ILLS)},
        "vote": {"role": SENSITIVE, "domain": list(VOTES)},
    }
)
PEOPLE = 400


def table_of(rooms: int, *, told: bool) -> Table:
    """Everybody's illness and vote in all combinations as often; `told`: the vote follows from the illness."""
    rows = []
    for i in range(PEOPLE):
        age, ill, vote = i % 2, i // 2 % 4, i // 8 % 4
        rows.append(("young" if age else "old", str(i // 32 % rooms), ILLS[ill], VOTES[ill if told else vote]))
    return made_table(SCHEMA, *rows)


def published(table: Table) -> Release:
    return anonymizer("full_domain:levels=0").anonymize(table, Engine(seed=0)).release


def audited(table: Table, release: Release | None = None, **options: Any) -> Audit:
    release = published(table) if release is None else release
    return run_audit({"r": release}, original=table, engine=Engine(seed=0, workers=1), waive={"file": "x"}, **options)


def value(found: Audit, id: str, attribute: str | None = None) -> Any:
    (one,) = [f for f in found.document.findings if f.id == id and f.attribute == attribute]
    return one.value


def row(found: Audit, kind: str, attribute: str | None = None) -> dict[str, Any]:
    rows = found.document.diagnostics["judgement"]["r"]["kinds"]
    return next(r for r in rows if (r["kind"], r["attribute"]) == (kind, attribute))


def test_a_column_of_few_values_that_tells_nothing_is_fine() -> None:
    found = audited(table_of(2, told=False))
    assert value(found, "all_columns.singled_out") == 0
    assert value(found, "all_columns.disclosed.80", "ill") == 0
    assert found.exit_code == 0


def test_an_insensitive_column_that_singles_people_out_is_judged() -> None:
    table = made_table(
        SCHEMA, *[("young" if i % 2 else "old", str(i), ILLS[i % 4], VOTES[i // 4 % 4]) for i in range(400)]
    )
    found = audited(table, table.as_release())
    assert value(found, "k_anonymity") == 200  # as far as the roles are believed
    assert value(found, "all_columns.singled_out") == 1.0
    assert value(found, "all_columns.reid") == 1.0
    assert value(found, "all_columns.disclosed.95", "ill") == 1.0
    for kind, attribute in (("singling out", None), ("linking", None), ("inference", "ill"), ("inference", "vote")):
        assert row(found, kind, attribute)["verdict"] == "exceeded"
    assert "every published column" in row(found, "linking")["sentence"]
    assert "400 of 400" in row(found, "inference", "ill")["sentence"]


def test_one_secret_that_gives_another_away_is_judged() -> None:
    found = audited(table_of(2, told=True))
    assert value(found, "bayesian.disclosed.80", "ill") == 0
    assert value(found, "other_secrets.disclosed.80", "ill") == value(found, "other_secrets.disclosed.80", "vote") == 1
    for attribute in ("ill", "vote"):
        assert row(found, "inference", attribute)["verdict"] == "exceeded"
        assert "other secrets" in row(found, "inference", attribute)["sentence"]
    assert found.exit_code == 1
    apart = audited(table_of(2, told=False))
    assert value(apart, "other_secrets.disclosed.80", "ill") == 0


def test_what_they_tell_is_what_counting_tells() -> None:
    """Of a release whose links are open, beliefs with all columns known are shares of the rows that fit."""
    random = np.random.default_rng(5)
    table = made_table(
        SCHEMA,
        *[
            (("young", "old")[a], str(r), ILLS[i], VOTES[v])
            for a, r, i, v in random.integers(0, (2, 20, 4, 4), size=(300, 4)).tolist()
        ],
    )
    found = audited(table, attackers=None)
    rows = list(zip(*(np.asarray(c).tolist() for c in table.columns), strict=True))
    share = np.bincount([r[2] for r in rows], minlength=4) / len(rows)
    for reader, known in (("all_columns", (0, 1)), ("other_secrets", (0, 3))):
        sure = 0
        for one in rows:
            fits = [r[2] for r in rows if all(r[k] == one[k] for k in known)]
            p, q = fits.count(one[2]) / len(fits), share[one[2]]
            sure += p >= 0.8 and (p == 1 or p / (1 - p) >= 4 * q / (1 - q))
        assert value(found, f"{reader}.disclosed.80", "ill") >= sure / len(rows) - 1e-12


def test_hidden_links_and_narrow_questions() -> None:
    """Across blocks the chains are asked; who narrows what is known is not asked about more."""
    schema = made_schema(
        {
            "age": {"role": QI, "domain": ["young", "old"]},
            "room": {"role": INSENSITIVE, "domain": ["1", "2", "3"]},
            "ill": {"role": SENSITIVE, "domain": list(ILLS)},
        }
    )
    rows = [("young" if i % 2 else "old", "123"[i % 3], ILLS[i % 4]) for i in range(24)]
    table = made_table(schema, *rows)
    main = [(i // 12, a, r) for i, (a, r, _) in enumerate(rows)]
    second = [(i // 12, s) for i, (_, _, s) in enumerate(rows)]
    release = made_release(table.attributes, [((0, 1), main), ((2,), second)])
    found = audited(table, release)
    assert 0 <= value(found, "all_columns.disclosed.80", "ill") <= 1
    narrow = audited(table, release, known=["age"])
    assert not [f for f in narrow.document.findings if f.reader == "all_columns"]
    assert narrow.exit_code in (1, 3)


def test_an_audit_stopped_among_nearest_rows_still_ends_with_a_document() -> None:
    """A million rows and --minutes 3 ended with exit code 130 and nothing: people are compared by all columns first."""
    table, engine = table_of(2, told=False), Engine(seed=0, workers=1)
    engine.stop.set()
    release = anonymizer("full_domain:levels=0").anonymize(table, Engine(seed=0)).release
    found = run_audit({"r": release}, original=table, control=table, engine=engine, sample=50, limits=["reid <= 0.1"])
    assert value(found, "all_columns.reid") is None
    assert value(found, "reid") is None
    assert found.exit_code == 3
    assert any("stopped before its end" in text for text in found.document.diagnostics["remarks"])
