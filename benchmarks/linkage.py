"""Identity disclosure on Adult: nearest rows, agreement patterns, uniqueness; growth to 300,000 rows; CPU seconds."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks import Row
from benchmarks._growth import memory, resampled
from benchmarks._timing import best_cpu
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, adult_schema, read_adult
from unveil.anonymizers.mondrian import Mondrian
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known
from unveil.data.rows import PublishedRows, release_of_rows
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.kernels.linkage import warm
from unveil.privacy.models import KAnonymity
from unveil.risk.linkage.aggregates import AGGREGATES
from unveil.risk.linkage.by_splink import estimate_by_splink
from unveil.risk.linkage.distance import link_by_distance
from unveil.risk.linkage.levels import agreement_levels, level_counts, levels_of_rows, link_by_levels
from unveil.risk.linkage.links import reid
from unveil.risk.linkage.pairs import Pairs
from unveil.risk.linkage.patterns import pattern_counts, person_patterns
from unveil.risk.linkage.probabilistic import classify
from unveil.risk.linkage.published import Published, compare_values, published_of
from unveil.risk.linkage.register import Register, register_of_table
from unveil.risk.linkage.supervised import compare_own, learn_distance, links_by, prove
from unveil.risk.uniqueness import ESTIMATORS, intervals_of, key_counts, minimal_uniques, uniqueness_curve

NUMERIC = ("age", "fnlwgt", "education-num", "hours-per-week")
SEED = 4
LARGE = 300_000


def measure() -> Iterator[Row]:
    """30,162 people against as many rows; equal work for every reader, the charts' too."""
    warm()
    columns = read_adult()
    names = (*QUASI_IDENTIFIERS, SENSITIVE)
    table = Table.from_columns(adult_schema(columns), {name: columns[name] for name in names})
    size = f"{table.rows:,} × {table.rows:,}"
    numeric = _numeric(columns)
    for name, (published, held) in {
        "numeric (4), noise of a tenth": numeric,
        "categorical (6), 15% changed": _categorical(table, hierarchies=False),
        "categorical with hierarchies (6), 15% changed": _categorical(table, hierarchies=True),
        "mixed (4 numbers, 5 categories)": _mixed(numeric, _categorical(table, hierarchies=False)),
    }.items():
        links = link_by_distance(published, held, scales=("common",))
        spent = best_cpu(
            lambda published=published, held=held: link_by_distance(published, held, scales=("common",)), 3
        )
        floor = "<= 2" if name.startswith("numeric") else "<= 5"
        yield Row(
            f"nearest rows, {name}, {size}", spent, unit="s CPU", floor=floor, note=f"Reid {reid(links).value:.3f}"
        )
    release = Mondrian(require=(KAnonymity(k=5),), recoding="order").anonymize(table, Engine(seed=1)).release
    everyone = register_of_table(table, release.attributes)
    regions = published_of(release, tuple(everyone.known))
    spent = best_cpu(lambda: link_by_distance(regions, everyone), 3)
    note = f"Reid {reid(link_by_distance(regions, everyone)).value:.3f}; as in every audit"
    yield Row(f"nearest regions, mondrian:k=5, {size}", spent, unit="s CPU", floor="<= 3", note=note)
    spent = best_cpu(lambda: _levels(regions, everyone), 3)
    yield Row(f"probabilities of regions, mondrian:k=5, {size}", spent, unit="s CPU", floor="<= 5", note="three levels")
    files = compare_values(*_categorical(table, hierarchies=False))
    assert int(pattern_counts(files).sum()) == table.rows**2
    spent = best_cpu(lambda: pattern_counts(files), 3)
    yield Row(
        f"exact pattern counts, 6 attributes, {size}", spent, unit="s CPU", floor="<= 1", note="they add up to n²"
    )
    spent = best_cpu(lambda: person_patterns(files), 3)
    yield Row(f"… for each person, {size}", spent, unit="s CPU", floor="<= 1")
    counts = pattern_counts(files)
    spent = best_cpu(lambda: estimate_by_splink(files, counts, share=1 / table.rows), 1)
    yield Row(
        f"weights estimated by Splink, 6 attributes, {size}", spent, unit="s CPU", note="at most 2M pairs a session"
    )
    sample = key_counts(table, fraction=0.1)
    spent = best_cpu(lambda: ([one(sample) for one in ESTIMATORS.values()], minimal_uniques(sample)), 3)
    note = "four estimators and minimal sample uniques of up to 3 attributes"
    yield Row(f"uniqueness, {table.rows:,} rows", spent, unit="s CPU", floor="<= 20", note=note)
    spent = best_cpu(lambda: [intervals_of(name, sample, one(sample)) for name, one in ESTIMATORS.items()], 1)
    yield Row("… with their intervals", spent, unit="s CPU", floor="<= 20")
    spent = best_cpu(lambda: uniqueness_curve(key_counts(table, fraction=1.0)), 1)
    yield Row("uniqueness by sampling fraction, six samples", spent, unit="s CPU", floor="<= 20")
    larger = resampled(table, LARGE, False)
    for name, (published, held) in {
        "categorical (6), 15% changed": _categorical(larger, hierarchies=False),
        "numeric (4), noise of a tenth": _numeric(columns, LARGE),
    }.items():
        spent = best_cpu(
            lambda published=published, held=held: link_by_distance(published, held, scales=("common",)), 1
        )
        yield Row(f"nearest rows, {name}, {LARGE:,} × {LARGE:,}", spent, unit="s CPU", floor="<= 180", note="exact")
    yield from _worst_case(columns)
    yield Row("peak memory of all of this", memory("VmHWM") / 1e6, unit="MB", floor="<= 2000")


def _levels(published: Published, held: Register) -> None:
    files = agreement_levels(published, held)
    model = levels_of_rows(files, level_counts(files))
    link_by_levels(files, model, classify(model, false_links=1e-3, missed_links=0.05))


def _worst_case(columns: dict[str, list[str]]) -> Iterator[Row]:
    """Learned weights of 100 people, against the proven optimum; noise differs between attributes."""
    random = np.random.default_rng(SEED)
    drawn = random.choice(len(columns["age"]), 100, replace=False)
    people = np.array([[float(columns[name][i]) for name in NUMERIC] for i in drawn])
    rows = people + random.normal(size=people.shape) * people.std(axis=0) * [0.2, 0.6, 0.4, 0.5]
    held, shown = ((x - x.mean(axis=0)) / x.std(axis=0) / np.sqrt(2) for x in (people, rows))
    signed = held[:, None] - shown[None]
    pairs = Pairs(NUMERIC, signed**2, signed, np.arange(100))
    family = AGGREGATES["weighted_mean"]
    found = compare_own(pairs, family)
    learned = learn_distance(found, family)
    proof = prove(found, family, start=learned)
    linked, plain = (float(links_by(found, p).sum()) for p in (learned, family.equal(len(NUMERIC))))
    spent = best_cpu(lambda: learn_distance(found, family), 1)
    proving = best_cpu(lambda: prove(found, family, start=learned), 1)
    note = (
        f"plain {plain:.0f}, learned {linked:.0f}, bound {proof.most:.0f}; {spent:.1f} s CPU, the proof {proving:.1f} s"
    )
    yield Row(
        "learned weights, 100 people: share of the proven optimum", linked / proof.most, floor=">= 0.95", note=note
    )


def _numeric(columns: dict[str, list[str]], rows: int | None = None) -> tuple[Published, Register]:
    """Four numbers with normal noise of a tenth of their deviation; `rows`: drawn again, fnlwgt moved a little."""
    random = np.random.default_rng(SEED)
    numbers = [np.array([float(text) for text in columns[name]]) for name in NUMERIC]
    if rows is not None:
        drawn = random.integers(len(numbers[0]), size=rows)
        numbers = [n[drawn] for n in numbers]
        numbers[1] = numbers[1] + random.integers(-5000, 5001, size=rows)
    attributes, codes = [], []
    for name, values in zip(NUMERIC, numbers, strict=True):
        places, code = np.unique(values, return_inverse=True)
        texts = tuple(f"{p:.0f}" for p in places)
        attributes.append(Attribute(name, Role.QUASI_IDENTIFIER, Kind.NUMERIC, texts, low=places, high=places))
        codes.append(code)
    noisy = [n + random.normal(size=len(n)) * n.std() / 10 for n in numbers]
    return _files(attributes, codes, noisy)


def _categorical(table: Table, *, hierarchies: bool) -> tuple[Published, Register]:
    """The six quasi-identifiers, each of 15% of people drawn anew; ages as categories."""
    random = np.random.default_rng(SEED)
    attributes, codes, changed = [], [], []
    for index, attribute in enumerate(table.attributes[:6]):
        tree = attribute.hierarchy if hierarchies else None
        attributes.append(
            Attribute(attribute.name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, attribute.values, hierarchy=tree)
        )
        column = table.columns[index].astype(np.int64)
        anew = random.random(table.rows) < 0.15
        codes.append(column)
        changed.append(np.where(anew, random.permutation(column), column))
    return _files(attributes, codes, changed)


def _mixed(numeric: tuple[Published, Register], categorical: tuple[Published, Register]) -> tuple[Published, Register]:
    """All numbers, and all categories but age."""
    held = {n: k for part in (categorical, numeric) for n, k in part[1].known.items()}
    published = Published(
        tuple(a for a in (*numeric[0].attributes, *categorical[0].attributes[1:])),
        numeric[0].rows,
        None,
        {n: r for n, r in categorical[0].regions.items() if n != "age"},
        numeric[0].numbers,
        numeric[0].group_of_row,
        numeric[0].perturbed | categorical[0].perturbed,
    )
    return published, Register(held, numeric[1].people, numeric[1].row)


def _files(
    attributes: Sequence[Attribute], codes: Sequence[NDArray[np.integer]], columns: Sequence[NDArray[np.generic]]
) -> tuple[Published, Register]:
    rows = len(codes[0])
    masked = release_of_rows(PublishedRows(tuple(attributes), tuple(columns), tuple(range(len(attributes)))))
    known = {a.name: Known.exactly(a, c) for a, c in zip(attributes, codes, strict=True)}
    return published_of(masked, list(known), np.arange(rows)), Register(known, rows, np.arange(rows))
