"""Torra 2024, Disclosure, Privacy Models, and Privacy Mechanisms (lecture): attribute disclosure of a masked table."""

from collections.abc import Iterator

import numpy as np

from papers import Figure
from papers._printed import printed_schema
from unveil.data.attribute import Role
from unveil.data.release import Anonymized, row_numbers
from unveil.data.rows import PublishedRows, release_of_rows, rows_of
from unveil.data.table import Table
from unveil.risk import disclosure

ORIGINAL = (
    ("Barcelona", "30", "Heart attack"),
    ("Barcelona", "32", "Cancer"),
    ("Barcelona", "33", "Cancer"),
    ("Tarragona", "62", "AIDS"),
    ("Tarragona", "65", "AIDS"),
    ("Tarragona", "60", "Heart attack"),
)
PUBLISHED = (
    ("Barcelona", 30.0, "Cancer"),
    ("Barcelona", 30.0, "Cancer"),
    ("Barcelona", 30.0, "Cancer"),
    ("Tarragona", 60.0, "AIDS"),
    ("Tarragona", 60.0, "AIDS"),
)  # the sixth row is blank: suppressed
WHERE = "Privacy models, X and X'"
NO_NUMBER = "the slides print the tables and the algorithms, no number"


def tables() -> tuple[Table, Anonymized]:
    """X and X', their five published rows in the printed order."""
    schema = printed_schema(
        {
            "city": {"role": "quasi-identifier"},
            "age": {"role": "quasi-identifier", "kind": "numeric"},
            "illness": {"role": "sensitive"},
        }
    )
    table = Table.from_columns(schema, dict(zip(schema.names, zip(*ORIGINAL, strict=True), strict=True)))
    city, _, illness = table.attributes
    columns = (
        np.array([city.values.index(row[0]) for row in PUBLISHED], dtype=np.int64),
        np.array([row[1] for row in PUBLISHED]),
        np.array([illness.values.index(row[2]) for row in PUBLISHED], dtype=np.int64),
    )
    return table, Anonymized(
        release_of_rows(PublishedRows(table.attributes, columns, (1, 2))), np.arange(len(PUBLISHED))
    )


def reproduce() -> Iterator[Figure]:
    """The one pair of tables in the slides, by every algorithm on attribute disclosure."""
    table, made = tables()
    known = [rows_of(made.release).columns[i] for i in made.release.with_role(Role.QUASI_IDENTIFIER)]
    alike = np.bincount(row_numbers([np.unique(column, return_inverse=True)[1] for column in known]))
    yield Figure("X', rows that look alike, at least", WHERE, None, float(alike.min()), reading=NO_NUMBER)
    age, illness = disclosure.paired(table, made, "age"), disclosure.paired(table, made, "illness")
    yield Figure("SADR of illness", WHERE, None, disclosure.simple_disclosure(*illness).value)
    yield Figure("… always guessing one illness", WHERE, None, disclosure.simple_baseline(illness[0]).value)
    yield Figure(
        "rank interval, age, p = 40",
        f"algorithm rid; {WHERE}",
        None,
        disclosure.rank_interval_disclosure(*age, 40).value,
        reading="min and max are exchanged in the slide; V' is ranked; among equal values a rank is drawn",
    )
    yield Figure(
        "… with min and max as printed, any p",
        f"algorithm rid; {WHERE}",
        None,
        _as_printed(*age),
        reading="from the lowest rank to the highest: it would not depend on p",
    )
    for p in (10, 20):
        value = disclosure.deviation_interval_disclosure(*age, p).value
        yield Figure(f"standard deviation interval, age, p = {p}", f"algorithm sdid; {WHERE}", None, value)
    found = disclosure.model_guesses(table, made, "illness", model="nearest", folds=5, repeats=1)
    where = f"algorithms 9 and 10; {WHERE}"
    yield Figure(
        "adr, nearest neighbour, each left out in turn",
        where,
        None,
        disclosure.model_baseline(found).value,
        reading="models learn from masked folds and are scored on the true V",
    )
    yield Figure("… with the person's own row", where, None, disclosure.model_disclosure(found).value)
    labels = np.array([0, 0, 0, 1, 1, 1])
    value, _ = disclosure.absent_disclosure(table, made, labels, model="nearest", folds=5, repeats=1)
    yield Figure(
        "DDMBAR, a made-up fact that goes with the city",
        f"algorithm 11; {WHERE}",
        None,
        value.value,
        reading="V'(x'), as printed",
    )


def _as_printed(truth: np.ndarray, published: np.ndarray) -> float:
    """rid with I = [R[min(i - w, 0)], R[max(i + w, n - 1)]], indices beyond the ends cut."""
    return float(((truth >= published.min()) & (truth <= published.max())).mean())
