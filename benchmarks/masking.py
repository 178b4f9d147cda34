"""Masking 30,162 rows of Adult, and what it discloses; CPU seconds."""

from collections.abc import Iterator

from benchmarks import Row
from benchmarks._timing import best_cpu
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, adult_schema, read_adult
from unveil.catalog import anonymizer
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.risk.disclosure import (
    deviation_interval_disclosure,
    model_baseline,
    model_disclosure,
    model_guesses,
    paired,
    rank_interval_disclosure,
)

NUMBERS = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
OTHERS = tuple(name for name in QUASI_IDENTIFIERS if name not in NUMBERS)
METHODS = {
    "microaggregation:k=5": "<= 5",
    "microaggregation:k=5,method=univariate": "<= 1",
    "noise:amount=0.2": "<= 1",
    "noise:amount=0.2,kind=correlated": "<= 1",
    "rank_swapping:p=5": "<= 2",
    "pram:retain=0.8": "<= 1",
    "top_bottom:top=0.05": "<= 1",
    "rounding:base=5": "<= 1",
}


def measure() -> Iterator[Row]:
    """Coded columns → masked table: five numbers, five categories; then the measures of attribute disclosure."""
    names = (*NUMBERS, *OTHERS)
    columns = read_adult()
    schema = adult_schema(columns, names)
    table = Table.from_columns(schema, {name: columns[name] for name in (*names, SENSITIVE)})
    made = {}
    for text, floor in METHODS.items():
        method = anonymizer(text)
        made[text] = method.anonymize(table, Engine(seed=1))  # compiled
        spent = best_cpu(lambda method=method: method.anonymize(table, Engine(seed=1)), 2)
        yield Row(f"{table.rows:,} rows, {text}", spent, unit="s CPU", floor=floor)
    for text in ("microaggregation:k=5", "noise:amount=0.2", "rank_swapping:p=5"):
        age = paired(table, made[text], "age")
        for measured in (rank_interval_disclosure, deviation_interval_disclosure):
            value = measured(*age, 10).value
            yield Row(f"{text}, {measured.__name__}.10 of age", value, note="share of people")
    few = [*OTHERS, "age"]
    spent = best_cpu(lambda: model_guesses(table, made["noise:amount=0.2"], SENSITIVE, known=few, repeats=1), 1)
    found = model_guesses(table, made["noise:amount=0.2"], SENSITIVE, known=few, repeats=1)
    with_person, without = model_disclosure(found).value, model_baseline(found).value
    note = f"right {with_person:.3f}, by models that did not learn from the person {without:.3f}"
    yield Row(
        f"{table.rows:,} rows, model_guesses, a tree of six inputs", spent, unit="s CPU", floor="<= 60", note=note
    )
