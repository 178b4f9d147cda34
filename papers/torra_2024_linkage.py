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
from unveil.anonymizers.mondrian import Mondrian
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known
from unveil.data.rows import PublishedRows, release_of_rows
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.models import KAnonymity
from unveil.risk.linkage.by_splink import estimate_by_splink
from unveil.risk.linkage.distance import link_by_distance
from unveil.risk.linkage.levels import agreement_levels, level_counts, levels_of_rows, link_by_levels
from unveil.risk.linkage.links import Links, anonymity_sets, claimed, reid, reid_of, single_links
from unveil.risk.linkage.patterns import pattern_counts
from unveil.risk.linkage.probabilistic import classify, estimate_unsupervised, from_true_links, link_by_patterns
from unveil.risk.linkage.published import Published, compare_values, published_of
from unveil.risk.linkage.register import Register, register_of_table
from unveil.risk.uniqueness import (
    ESTIMATORS,
    KeyCounts,
    count_keys,
    counted,
    expected_links,
    intervals_of,
    key_counts,
    population_unique,
)

ORIGINAL = (("Barcelona", "30"), ("Barcelona", "32"), ("Barcelona", "33"))
ORIGINAL += (("Tarragona", "62"), ("Tarragona", "65"), ("Tarragona", "60"))
PUBLISHED = ((0, 30.0), (0, 30.0), (0, 30.0), (1, 60.0), (1, 60.0))  # the sixth row is blank
TABLES = "Privacy models, X and X'"
REIDS = "Re-identification, equation 1"
UNIQUE = "Identity disclosure: uniqueness"
OURS = "no number is printed"
POPULATIONS = 100


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
    yield Figure("r(b)[true(b)] is at most 1/|A_b|", REIDS, 1.0, float(bound), self_check=True)
    true = np.array([0, 1, 2])
    point, sets = single_links(np.array([0, 1, 1]), 3), anonymity_sets([[0, 1], [1], [0, 1, 2]], 3)
    yield Figure("Reid_d of two right links of three", REIDS, None, reid_of(point, true).value, reading=OURS)
    yield Figure("Reid_k of sets of 2, 1 and 3", REIDS, None, reid_of(sets, true).value, reading=OURS)
    # f = 1 1 1 2 and F = 1 1 4 3: two of three sample uniques are population uniques.
    cells, population = np.array([1, 1, 1, 2]), np.array([1, 1, 4, 3])
    sample = KeyCounts(("key",), (4,), (np.arange(4),), np.repeat(np.arange(4), cells), cells, cells / 0.5, 0.5)
    share = population_unique(sample, counted(sample, population))
    yield Figure("P(PU|SU) of two in three", UNIQUE, None, share, reading=OURS)


def coverage(populations: int) -> dict[str, float]:
    """By estimator: how often the interval of the sum of 1/F over sample uniques holds the truth."""
    found = {}
    for model, draw in {
        "poisson_independence": _independent,
        "poisson_two_way": _chained,
        "negative_binomial": _gamma,
    }.items():
        held = 0
        for seed in range(populations):
            sample, population = draw(np.random.default_rng(seed))
            own = intervals_of(model, sample, ESTIMATORS[model](sample)).expected_links
            held += own.low <= expected_links(sample, counted(sample, population)) <= own.high
        found[model] = held / populations
    return found


def _independent(random: np.random.Generator) -> tuple[KeyCounts, NDArray[np.int64]]:
    """20,000 people with three independent keys of 40, 25 and 12 values, a tenth sampled."""
    shares = [(1 / np.arange(1, size + 1)) / (1 / np.arange(1, size + 1)).sum() for size in (40, 25, 12)]
    return _sampled(np.stack([random.choice(len(p), 20_000, p=p) for p in shares], axis=1), 0.1, random)


def _chained(random: np.random.Generator) -> tuple[KeyCounts, NDArray[np.int64]]:
    """30,000 people with five keys, each near the one before, a tenth sampled."""
    chain = [random.integers(6, size=30_000)]
    for _ in range(4):
        chain.append((chain[-1] + random.geometric(0.5, 30_000) - 1) % 6)
    return _sampled(np.stack(chain, axis=1), 0.1, random)


def _gamma(random: np.random.Generator) -> tuple[KeyCounts, NDArray[np.int64]]:
    """5,000 cells with gamma means, a fifth of the people sampled."""
    population = random.poisson(random.gamma(0.3, 8.0, 5000))
    f = random.binomial(population, 0.2)
    seen = np.flatnonzero(f)
    cell = np.arange(len(seen))
    return KeyCounts(("key",), (5000,), (cell,), np.repeat(cell, f[seen]), f[seen], f[seen] / 0.2, 0.2), population[
        seen
    ]


def _sampled(
    values: NDArray[np.integer], fraction: float, random: np.random.Generator
) -> tuple[KeyCounts, NDArray[np.int64]]:
    names = [f"key {i}" for i in range(values.shape[1])]
    whole = count_keys(names, (values.max(axis=0) + 1).tolist(), list(values.T))
    return whole.sample(np.flatnonzero(random.random(len(values)) < fraction), fraction)


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


def reproduce_slowly(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Coverage of the intervals of uniqueness; weights that Splink estimates; cells that overlap."""
    for model, held in coverage(POPULATIONS).items():
        note = f"{POPULATIONS} populations of the model's own kind, sum of 1/F"
        yield Figure(f"95% intervals that hold the truth, {model}", UNIQUE, None, held, reading=note)
    names = (*QUASI_IDENTIFIERS, SENSITIVE)
    table = Table.from_columns(adult_schema(columns), {name: columns[name] for name in names})
    published, held_people = _changed(table)
    files = compare_values(published, held_people)
    model_of = estimate_by_splink(files, pattern_counts(files), share=1 / table.rows).model
    classes = classify(model_of, false_links=1e-3, missed_links=0.05)
    links = link_by_patterns(files, model_of, classes, true_row=np.arange(table.rows))
    note = "told no link; beside it stand those of the true links and of our own EM"
    yield Figure("Adult, 15% changed: Reid by Splink", REIDS, None, reid(links).value, reading=note)
    yield from _overlapping(table)


def _changed(table: Table) -> tuple[Published, Register]:
    """Six attributes, each of 15% of the people drawn anew."""
    random = np.random.default_rng(0)
    attributes = [Attribute(a.name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, a.values) for a in table.attributes[:6]]
    codes = [column.astype(np.int64) for column in table.columns[:6]]
    changed = [np.where(random.random(table.rows) < 0.15, random.permutation(c), c) for c in codes]
    held = _held(attributes, codes)
    masked = release_of_rows(PublishedRows(tuple(attributes), tuple(changed), tuple(range(6))))
    return published_of(masked, list(held.known), np.arange(table.rows)), held


def _linkage(table: Table) -> Iterator[Figure]:
    published, held = _changed(table)
    everyone = np.arange(table.rows)
    nearest = link_by_distance(published, held)
    yield Figure("Adult, 15% changed: Reid of nearest rows", REIDS, None, reid(nearest).value, reading=OURS)
    yield Figure("Adult, 15% changed: K.Reid of nearest rows", REIDS, None, claimed(nearest).value)
    files = compare_values(published, held)
    counts = pattern_counts(files)
    all_pairs = float(counts.sum() == table.rows**2)
    yield Figure("Adult, patterns of all pairs add up to n²", REIDS, 1.0, all_pairs, self_check=True)
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


def _overlapping(table: Table) -> Iterator[Figure]:
    """Cells that overlap: all that fits alike, and the narrower the heavier."""
    made = Mondrian(require=(KAnonymity(k=5),), relaxed=True, recoding="order").anonymize(table, Engine(seed=1))
    held = register_of_table(table, made.release.attributes)
    published = published_of(made.release, tuple(held.known), made.group_of_row)
    where = "Adult, mondrian:k=5,relaxed=true"
    yield Figure(f"{where}: Reid of all cells that fit", REIDS, None, reid(link_by_distance(published, held)).value)
    files = agreement_levels(published, held)
    model = levels_of_rows(files, level_counts(files))
    links = link_by_levels(files, model, classify(model, false_links=1e-3, missed_links=0.05))
    note = "levels of agreement by how many people lie in a cell"
    yield Figure(f"{where}: Reid by probability", REIDS, None, reid(links).value, reading=note)


def linked() -> Links:
    """Everybody of X by city and age, linked with X'."""
    schema = printed_schema(
        {"city": {"role": "quasi-identifier"}, "age": {"role": "quasi-identifier", "kind": "numeric"}}
    )
    table = Table.from_columns(schema, dict(zip(("city", "age"), zip(*ORIGINAL, strict=True), strict=True)))
    city, age = (np.array(column) for column in zip(*PUBLISHED, strict=True))
    masked = release_of_rows(PublishedRows(table.attributes, (city.astype(np.int64), age.astype(np.float64)), (1,)))
    held = register_of_table(table, table.attributes)
    return link_by_distance(published_of(masked, ["city", "age"], np.arange(5)), held)


def _held(attributes: list[Attribute], codes: list[NDArray[np.int64]]) -> Register:
    known = {a.name: Known.exactly(a, c) for a, c in zip(attributes, codes, strict=True)}
    return Register(known, len(codes[0]), np.arange(len(codes[0])))
