"""Every kind of knowledge there is: what must be true of its prior, whatever it holds."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import tables

from small import QI, SENSITIVE, made_schema
from unveil import catalog
from unveil.data.attribute import Role
from unveil.data.person_prior import PersonPrior
from unveil.data.table import Table
from unveil.errors import UsageError

CONFIGURATIONS: dict[str, list[str]] = {
    "facts": ["say=sex=m never ill=hiv+everybody has ill=flu 0.3", "say=age=20 has ill=none 0.9,base=uniform"],
    "kernel": ["bandwidth=0.3", "bandwidth=0.4+1.5"],
    "negative_rules": ["min_expectation=0.7", "min_expectation=0.6,min_confidence=0.8,predicates=2,fuzzy=0.3"],
    "overall": [""],
    "uniform": [""],
}
CASES = [(name, options) for name, several in CONFIGURATIONS.items() for options in several]
PLAIN = [(name, options) for name, options in CASES if name != "facts" and "+" not in options]
ILL = ("flu", "hiv", "none")


def schema_of(values: tuple[str, ...], more: bool = False) -> Any:
    attributes: dict[str, dict[str, Any]] = {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 25}, "missing": "category"},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "ill": {"role": SENSITIVE, "domain": list(values)},
    }
    return made_schema(attributes | ({"pay": {"role": SENSITIVE}} if more else {}), missing=["?"])


def people(rows: int = 80, seed: int = 2) -> list[tuple[str, str, str]]:
    random = np.random.default_rng(seed)
    found = []
    for _ in range(rows):
        age, sex = str(random.integers(20, 26)) if random.random() > 0.1 else "?", "fm"[random.integers(2)]
        found.append((age, sex, ILL[random.choice(3, p=[0.5, 0.3, 0.2] if sex == "f" else [0.6, 0.0, 0.4])]))
    return found


PEOPLE = people()
DOMAIN = np.array(list(product(range(7), range(2))))  # 6 ages and missing


def table_of(rows: list[tuple[str, str, str]], values: tuple[str, ...] = ILL, more: bool = False) -> Table:
    columns = dict(zip(("age", "sex", "ill"), (list(c) for c in zip(*rows, strict=True)), strict=True))
    return Table.from_columns(
        schema_of(values, more), columns | ({"pay": ["low", "high"] * (len(rows) // 2)} if more else {})
    )


def prior_of(name: str, options: str, table: Table, asked: str | None = None) -> PersonPrior:
    kind, given_options = catalog.parse(f"{name}:{options}" if options else name)
    prior = catalog.make(catalog.member("knowledge", kind), given_options, kind).prior(table, asked)
    assert isinstance(prior, PersonPrior)
    return prior


def test_every_member_is_tried() -> None:
    assert set(CONFIGURATIONS) == set(catalog.members("knowledge")), "add the new member's options above"


@pytest.mark.parametrize(("name", "options"), CASES)
def test_every_cell_of_the_domain_has_a_distribution(name: str, options: str) -> None:
    prior = prior_of(name, options, table_of(PEOPLE))
    found = prior.of(DOMAIN)
    assert found.shape == (14, 3)
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert [a.name for a in prior.attributes] == ["age", "sex"]
    assert prior.sensitive.name == "ill"
    assert prior.source
    again = prior.of(DOMAIN[[3, 3, 0]])  # who else is asked about does not matter
    assert np.array_equal(again, found[[3, 3, 0]])


@pytest.mark.parametrize(("name", "options"), CASES)
def test_nobody_s_own_value_is_impossible_but_by_a_fact(name: str, options: str) -> None:
    table = table_of(PEOPLE)
    held = prior_of(name, options, table).of(np.stack(table.columns[:2], axis=1))
    assert (held[np.arange(table.rows), table.columns[2]] > 0).all()  # the facts above are true of these people


@pytest.mark.parametrize(("name", "options"), CASES)
def test_the_order_of_the_rows_does_not_matter(name: str, options: str) -> None:
    turned = [PEOPLE[i] for i in np.random.default_rng(1).permutation(len(PEOPLE))]
    one, other = (prior_of(name, options, table_of(rows)).of(DOMAIN) for rows in (PEOPLE, turned))
    assert one == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_renaming_the_values_permutes_the_columns(name: str, options: str) -> None:
    one = prior_of(name, options, table_of(PEOPLE)).of(DOMAIN)
    other = prior_of(name, options, table_of(PEOPLE, ("none", "flu", "hiv"))).of(DOMAIN)
    assert other == pytest.approx(one[:, [2, 0, 1]], abs=1e-12)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_of_several_sensitive_attributes_one_is_named(name: str, options: str) -> None:
    table = table_of(PEOPLE, more=True)
    with pytest.raises(UsageError, match="name the sensitive attribute: ill, pay"):
        prior_of(name, options, table)
    assert np.array_equal(
        prior_of(name, options, table, "ill").of(DOMAIN), prior_of(name, options, table_of(PEOPLE)).of(DOMAIN)
    )
    with pytest.raises(UsageError, match="unknown sensitive attribute"):
        prior_of(name, options, table, "age")


ROLES = ["quasi-identifier", "quasi-identifier", "insensitive", "sensitive"]


@settings(max_examples=20)
@given(tables(roles=ROLES))
@pytest.mark.parametrize(("name", "options"), PLAIN)
def test_any_table(name: str, options: str, table: Table) -> None:
    """Hostile values, missing ones, bins, dates, one-value domains: a distribution for everybody in it."""
    prior = prior_of(name, options, table)
    known = table.with_role(Role.QUASI_IDENTIFIER)
    held = prior.of(np.stack([table.columns[i] for i in known], axis=1))
    assert held.shape == (table.rows, table.attributes[3].codes)
    assert held.sum(axis=1) == pytest.approx(1, abs=1e-9)
