"""Every public result shows itself in some lines, in a terminal and in a notebook, and names nobody."""

import inspect

import pytest

import unveil
from small import QI, SENSITIVE, made_schema, made_table
from unveil.data.display import Display

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 7001, "to": 7009}},
        "town": {"role": QI, "domain": ["Xanadu", "Ys"]},
        "ill": {"role": SENSITIVE, "domain": ["flu-xyz", "hiv-xyz"]},
    }
)
ROWS = [(7001 + i % 9, ("Xanadu", "Ys")[i % 2], ("flu-xyz", "hiv-xyz")[i // 3 % 2]) for i in range(60)]
TABLE = made_table(SCHEMA, *ROWS)
SHORT = unveil.Chains(chains=2, sweeps=60, most_sweeps=60)
MADE = unveil.anonymizer("mondrian:k=4").anonymize(TABLE, unveil.Engine(seed=0))
READERS = {"random_worlds": unveil.attacker("random_worlds")}
SHOWN = {
    "Anonymized": lambda: MADE,
    "Attack": lambda: unveil.attack(MADE.release, TABLE, READERS, chains=SHORT, engine=unveil.Engine(seed=0)),
    "Audit": lambda: unveil.run_audit(
        {"r": MADE.release}, original=TABLE, attackers=READERS, chains=SHORT, panel=False, engine=unveil.Engine(seed=0)
    ),
    "Case": lambda: unveil.Case(releases={"r": MADE.release}, original=TABLE),
    "Check": lambda: unveil.run_check(MADE.release),
    "Differential": lambda: unveil.run_differential(TABLE, {"k=3": unveil.anonymizer("mondrian:k=3")}),
    "Frontier": lambda: unveil.run_frontier(
        TABLE, ["mondrian:k=2", "mondrian:k=4"], risks=["privacy_loss.max"], utilities=["utility_loss"]
    ),
    "Link": lambda: unveil.run_link(MADE.release, table=TABLE, group=MADE.group_of_row, subsets=0),
}


@pytest.mark.parametrize("name", SHOWN)
def test_it_is_short_and_names_nobody(name: str) -> None:
    shown = SHOWN[name]()
    assert type(shown).__name__ == name
    texts = [repr(shown)]
    if hasattr(shown, "_repr_html_"):
        texts.append(shown._repr_html_())
    assert len(texts[0].splitlines()) <= 12, texts[0]
    assert len(texts[0]) < 2000
    assert all(len(text) < 20_000 for text in texts)
    assert not any(value in text for text in texts for value in ("Xanadu", "xyz", "7001", "array("))


def test_no_public_result_is_left_out() -> None:
    """A new one is shown here, or by `Display` as the nouns are (tests/unit/data/test_display.py)."""
    classes = {name for name in unveil.__all__ if inspect.isclass(getattr(unveil, name))}
    results = {name for name in classes if "document" in getattr(getattr(unveil, name), "__dataclass_fields__", {})}
    assert results - {"Schema"} <= set(SHOWN)
    displayed = {name for name in classes if issubclass(getattr(unveil, name), Display)}
    assert displayed - set(SHOWN) == {"Belief", "Bounded", "Prior", "Release", "Schema", "Table", "Targets"}
