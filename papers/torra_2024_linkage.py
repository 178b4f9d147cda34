"""Torra 2024, Disclosure, Privacy Models, and Privacy Mechanisms (lecture): identity disclosure.

The slides define measures and print no numbers of them. A statement of the text is a figure with the printed value 1:
it holds. Numbers without a printed one are ours, to be found again.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from papers import Figure
from papers._printed import printed_schema
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, adult_schema
from unveil.attribute import Attribute, Kind, Role
from unveil.belief import Known
from unveil.linkage.held import Held, held_of_table
from unveil.linkage.links import Links, anonymity_sets, claimed, reid, reid_of, single_links
from unveil.linkage.patterns import pattern_counts
from unveil.linkage.probabilistic import classify, estimate_unsupervised, from_true_links, link_by_patterns
from unveil.linkage.readers import compare_values, link_by_distance, published_of
from unveil.masked import Masked
from unveil.table import Table
from unveil.uniqueness import ESTIMATORS, KeyCounts, counted, expected_links, key_counts, population_unique

ORIGINAL = (("Barcelona", "30"), ("Barcelona", "32"), ("Barcelona", "33"))
ORIGINAL += (("Tarragona", "62"), ("Tarragona", "65"), ("Tarragona", "60"))
PUBLISHED = ((0, 30.0), (0, 30.0), (0, 30.0), (1, 60.0), (1, 60.0))  # the sixth row is blank
TABLES = "Privacy models, X and X'"
REIDS = "Re-identification, equation 1"
UNIQUE = "Identity disclosure: uniqueness"
OURS = "no number is printed"


def reproduce() -> Iterator[Figure]:
    """X and X' linked by city and age; the general Reid and its two cases; uniqueness by counting."""
    links = linked()
    yield Figure(
        "X and X', Reid by city and age",
        TABLES,
        None,
        reid(links).value,
        reading="three rows tie in Barcelona, two in Tarragona, and the sixth is not published: 3/3 + 2/2 + 0 of 6",
    )
    yield Figure("X and X', K.Reid: links that can be claimed", TABLES, None, claimed(links).value, reading=OURS)
    assert links.chance is not None
    bound = bool((links.chance <= 1 / links.size + 1e-12).all())
    yield Figure("r(b)[true(b)] is at most 1/|A_b|", REIDS, 1.0, float(bound))
    true = np.array([0, 1, 2])
    point, sets = single_links(np.array([0, 1, 1]), 3), anonymity_sets([[0, 1], [1], [0, 1, 2]], 3)
    yield Figure("Reid_d of two right links of three", REIDS, None, reid_of(point, true).value, reading=OURS)
    yield Figure("Reid_k of sets of 2, 1 and 3", REIDS, None, reid_of(sets, true).value, reading=OURS)
    # f = 1 1 1 2 and F = 1 1 4 3: two of three sample uniques are population uniques.
    cells, population = np.array([1, 1, 1, 2]), np.array([1, 1, 4, 3])
    sample = KeyCounts(("key",), (4,), (np.arange(4),), np.repeat(np.arange(4), cells), cells, cells / 0.5, 0.5)
    share = population_unique(sample, counted(sample, population))
    yield Figure("P(PU|SU) of two in three", UNIQUE, None, share, reading=OURS)


def reproduce_on_adult(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """30,162 people: uniqueness of samples of them, and linkage of six attributes of which 15% were drawn anew."""
    names = (*QUASI_IDENTIFIERS, SENSITIVE)
    table = Table.from_columns(adult_schema(columns), {name: columns[name] for name in names})
    whole = key_counts(table, fraction=1.0)
    draw = np.random.default_rng(0).random(whole.rows)
    for fraction in (0.05, 0.1, 0.5):
        sample, population = whole.sample(np.flatnonzero(draw < fraction), fraction)
        truth = counted(sample, population)
        where = f"Adult, a sample of {fraction:.0%}"
        yield Figure(
            f"{where}: unique in the sample does not imply unique in the population",
            UNIQUE,
            1.0,
            float(population_unique(sample, truth) < 1),
        )
        yield Figure(f"{where}: P(PU|SU), counted", UNIQUE, None, population_unique(sample, truth), reading=OURS)
        yield Figure(f"{where}: sum of 1/F over sample uniques, counted", UNIQUE, None, expected_links(sample, truth))
        for name, estimator in ESTIMATORS.items():
            found = estimator(sample)
            yield Figure(f"{where}: P(PU|SU), {name}", UNIQUE, None, population_unique(sample, found))
            yield Figure(f"{where}: sum of 1/F, {name}", UNIQUE, None, expected_links(sample, found))
    yield from _linkage(table)


def _linkage(table: Table) -> Iterator[Figure]:
    random = np.random.default_rng(0)
    attributes = [Attribute(a.name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, a.values) for a in table.attributes[:6]]
    codes = [column.astype(np.int64) for column in table.columns[:6]]
    changed = [np.where(random.random(table.rows) < 0.15, random.permutation(c), c) for c in codes]
    everyone = np.arange(table.rows)
    held = _held(attributes, codes)
    masked = Masked(tuple(attributes), tuple(changed), tuple(range(6)))
    published = published_of(masked, list(held.known), everyone)
    nearest = link_by_distance(published, held)
    yield Figure("Adult, 15% changed: Reid of nearest rows", REIDS, None, reid(nearest).value, reading=OURS)
    yield Figure("Adult, 15% changed: K.Reid of nearest rows", REIDS, None, claimed(nearest).value)
    files = compare_values(published, held)
    counts = pattern_counts(files)
    yield Figure("Adult, patterns of all pairs add up to n²", REIDS, 1.0, float(counts.sum() == table.rows**2))
    agree = np.array([counts[np.arange(64) >> bit & 1 == 1].sum() for bit in range(6)]) / counts.sum()
    models = {
        "m of the true links": from_true_links(files, everyone),
        "EM, u of all pairs and one link a person": estimate_unsupervised(
            counts, share=1 / table.rows, u=agree, fixed_share=True
        ),
        "EM, nothing held fast": estimate_unsupervised(counts, share=1 / table.rows),
    }
    for name, model in models.items():
        classes = classify(model, false_links=1e-3, missed_links=0.05)
        links = link_by_patterns(files, model, classes, true_row=everyone)
        note = "it finds what goes together in people, not links" if name == "EM, nothing held fast" else ""
        yield Figure(f"Adult, 15% changed: Reid by {name}", REIDS, None, reid(links).value, reading=note)


def linked() -> Links:
    """Everybody of X by city and age, linked with X'."""
    schema = printed_schema(
        {"city": {"role": "quasi-identifier"}, "age": {"role": "quasi-identifier", "kind": "numeric"}}
    )
    table = Table.from_columns(schema, dict(zip(("city", "age"), zip(*ORIGINAL, strict=True), strict=True)))
    city, age = (np.array(column) for column in zip(*PUBLISHED, strict=True))
    masked = Masked(table.attributes, (city.astype(np.int64), age.astype(np.float64)), (1,))
    held = held_of_table(table, table.attributes)
    return link_by_distance(published_of(masked, ["city", "age"], np.arange(5)), held)


def _held(attributes: list[Attribute], codes: list[NDArray[np.int64]]) -> Held:
    known = {a.name: Known.exactly(a, c) for a, c in zip(attributes, codes, strict=True)}
    return Held(known, len(codes[0]), np.arange(len(codes[0])))
