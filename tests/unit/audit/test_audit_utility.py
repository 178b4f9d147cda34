"""The utility that an audit reports: the error of random counts where the original is known, unknown elsewhere."""

import pytest

from small import QI, SENSITIVE, made_schema, made_table
from unveil import utility
from unveil.audit import identity as identity_module
from unveil.audit.document import Finding
from unveil.audit.identity import population_findings, utility_findings
from unveil.catalog import anonymizer
from unveil.engine import Engine

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 29}},
        "s": {"role": SENSITIVE, "domain": ["a", "b"]},
    }
)
TABLE = made_table(SCHEMA, *[(20 + i % 10, "ab"[i % 3 == 0]) for i in range(40)])
RELEASE = anonymizer("mondrian:k=8").anonymize(TABLE, Engine(seed=0)).release


def found(*arguments: object) -> dict[str, Finding]:
    return {f.id: f for f in utility_findings(*arguments)}  # type: ignore[arg-type]


def test_counts_are_held_against_the_original() -> None:
    mine = found(RELEASE, "r", TABLE)["query_error"]
    expected = utility.query_error(RELEASE, TABLE, dimension=1)  # one quasi-identifier is all there is
    assert (mine.value, mine.low, mine.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert mine.value > 0
    assert found(TABLE.as_release(), "r", TABLE)["query_error"].value == pytest.approx(0, abs=1e-12)


def test_without_the_original_it_is_unknown_and_not_zero() -> None:
    assert found(RELEASE, "r")["query_error"].value is None


def test_the_utility_loss_is_that_over_large_populations(monkeypatch: pytest.MonkeyPatch) -> None:
    (mine,), said = population_findings(RELEASE, "r", TABLE)
    expected = utility.utility_loss(RELEASE, TABLE)
    assert (mine.id, mine.attribute, mine.value, said) == ("utility_loss", "s", expected.value, [])
    assert expected.value > 0
    assert population_findings(RELEASE, "r", None)[0][0].value is None
    populations = len(utility.large_populations(TABLE))
    monkeypatch.setattr(identity_module, "MOST_POPULATIONS", populations)
    assert population_findings(RELEASE, "r", TABLE)[0] == [mine]
    monkeypatch.setattr(identity_module, "MOST_POPULATIONS", populations - 1)
    (unknown,), (reason,) = population_findings(RELEASE, "r", TABLE)
    assert unknown.value is None
    assert f"over {populations - 1} large populations" in reason


def test_nothing_to_ask_by_is_unknown() -> None:
    schema = made_schema({"s": {"role": SENSITIVE, "domain": ["a", "b"]}})
    table = made_table(schema, *[("a",), ("b",)])
    assert found(table.as_release(), "r", table)["query_error"].value is None
    other = made_table(
        made_schema({"age": {"role": QI, "kind": "numeric"}, "s": {"role": SENSITIVE}}), (20, "a"), (21, "b")
    )
    assert found(RELEASE, "r", other)["query_error"].value is None  # another domain
