"""What objects show of themselves: counts and names, at most ten lines, and nobody's values."""

import numpy as np
import pytest

from small import QI, SENSITIVE, made_schema, made_table
from unveil.catalog import anonymizer
from unveil.data.belief import Belief, Prior
from unveil.data.display import MOST_LINES, Display
from unveil.data.targets import targets_of_table
from unveil.engine import Engine

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 7001, "to": 7009}},
        "<b>town": {"role": QI, "domain": ["Xanadu", "Ys"], "missing": "category"},
        "ill": {"role": SENSITIVE, "domain": ["flu-xyz", "hiv-xyz"]},
    },
    missing=["?"],
)
TABLE = made_table(SCHEMA, *((7001 + i % 9, ("Xanadu", "Ys")[i % 2], ("flu-xyz", "hiv-xyz")[i % 2]) for i in range(18)))
RELEASE = anonymizer("mondrian:k=3").anonymize(TABLE, Engine(seed=0)).release
MASKED = anonymizer("noise:amount=0.3").anonymize(TABLE, Engine(seed=0)).release
ASKED = RELEASE.index("ill")
OBJECTS = {
    "Table": TABLE,
    "Schema": SCHEMA,
    "Release": RELEASE,
    "Targets": targets_of_table(TABLE, RELEASE, ASKED),
    "Prior": Prior.uninformative(RELEASE, ASKED),
    "Belief": Belief(np.full((1234, 2), 0.5)),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_nobodys_values_and_no_domain_is_shown(name: str) -> None:
    one = OBJECTS[name]
    assert isinstance(one, Display)
    for text in (repr(one), one._repr_html_()):
        assert text.startswith((name, f"<p>{name}"))
        assert not any(value in text for value in ("Xanadu", "Ys", "xyz", "700", "7009"))
    assert len(repr(one).splitlines()) <= MOST_LINES + 2
    assert "<b>" not in one._repr_html_()


def test_a_table_shows_its_size_and_attributes() -> None:
    assert repr(TABLE) == (
        "Table table: 18 people, 3 attributes\n"
        "  attribute  role              kind         values\n"
        "  age        quasi-identifier  numeric      9\n"
        "  <b>town    quasi-identifier  categorical  3\n"
        "  ill        sensitive         categorical  2"
    )


def test_a_release_shows_its_groups() -> None:
    title, _, lines = RELEASE.summary()
    assert title == f"Release: 18 rows in {RELEASE.groups} groups of {RELEASE.sizes.min()} or more, 1 block"
    assert [line[0] for line in lines] == ["age", "<b>town", "ill"]
    assert lines[2][3:] == (2, 1)


def test_a_masked_table_says_which_columns_were_perturbed() -> None:
    assert MASKED.summary()[0] == "Release: 18 rows, 1 of 3 attributes perturbed"
    assert [line[-1] for line in MASKED.summary()[2]] == [True, False, False]


def test_a_belief_shows_how_sure_it_is() -> None:
    belief = Belief(np.array([[1.0, 0.0], [0.85, 0.15], [0.5, 0.5]]))
    title, _, lines = belief.summary()
    assert title == "Belief: 3 targets, 2 values, exact"
    assert lines == [("100%", 1), ("80% to 100%", 1), ("below 60%", 1)]


def test_long_lists_are_cut() -> None:
    wide = made_schema({f"a{i}": {"role": QI} for i in range(40)})
    lines = repr(wide).splitlines()
    assert len(lines) == MOST_LINES + 2
    assert lines[-1].strip() == "… and 31 more"
