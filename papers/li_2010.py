"""Li 2010, Privacy Preservation in Data Publishing and Sharing (thesis, Purdue): chapter 2 and section 5.3."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks._evaluate import evaluate
from papers import Figure
from papers._printed import level, printed_release, printed_schema
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, SHARED, adult_schema
from unveil.anonymizers.full_domain import FullDomain
from unveil.anonymizers.mondrian import Mondrian
from unveil.audit.levels import run_check
from unveil.data.belief import Belief
from unveil.data.hierarchy import HierarchyTable
from unveil.data.hierarchy_builders import interval_hierarchy, prefix_hierarchy
from unveil.data.release import Release
from unveil.data.schema import Schema
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.privacy.distances import Geometry, earth_mover_hierarchical, earth_mover_ordered
from unveil.privacy.models import (
    DistinctL,
    EntropyL,
    KAnonymity,
    NTCloseness,
    PrivacyModel,
    ProbabilisticL,
    RecursiveCL,
    Reference,
    TCloseness,
)
from unveil.risk import group_belief, overall_belief, privacy_loss, privacy_loss_max
from unveil.utility import (
    certainty_penalty,
    entropy_utility_split,
    information_loss,
    large_populations,
    utility_loss,
)

ZIPS = [
    "47601",
    "47602",
    "47603",
    "47605",
    "47607",
    "47673",
    "47674",
    "47677",
    "47678",
    "47904",
    "47905",
    "47906",
    "47907",
    "47909",
]
SALARIES = tuple(f"{n}K" for n in range(3, 12))
# Figure 2.2, page 38. The drawing is not in our copy; this one fits every distance that the text names.
DISEASES = {
    "flu": ("respiratory infection", "respiratory"),
    "pneumonia": ("respiratory infection", "respiratory"),
    "bronchitis": ("respiratory infection", "respiratory"),
    "pulmonary edema": ("vascular lung disease", "respiratory"),
    "pulmonary embolism": ("vascular lung disease", "respiratory"),
    "gastric ulcer": ("stomach disease", "digestive"),
    "stomach cancer": ("stomach disease", "digestive"),
    "gastritis": ("stomach disease", "digestive"),
    "colitis": ("colon disease", "digestive"),
    "colon cancer": ("colon disease", "digestive"),
}
DISEASE_LADDER = HierarchyTable(tuple((leaf, *labels, "*") for leaf, labels in DISEASES.items()), source="figure 2.2")
DISEASE_LEVELS = DISEASE_LADDER.over(tuple(DISEASES), missing=None, attribute="disease").node

TABLE_2_2 = """
zip   ; age     ; salary ; disease
476** ; [20,29] ; 3K     ; gastric ulcer
476** ; [20,29] ; 4K     ; gastritis
476** ; [20,29] ; 5K     ; stomach cancer
4790* ; [40,]   ; 6K     ; gastritis
4790* ; [40,]   ; 11K    ; flu
4790* ; [40,]   ; 8K     ; bronchitis
476** ; [30,39] ; 7K     ; bronchitis
476** ; [30,39] ; 9K     ; pneumonia
476** ; [30,39] ; 10K    ; stomach cancer
"""
TABLE_2_5 = """
zip   ; age    ; salary ; disease
4767* ; [,40]  ; 3K     ; gastric ulcer
4767* ; [,40]  ; 5K     ; stomach cancer
4767* ; [,40]  ; 9K     ; pneumonia
4790* ; [40,]  ; 6K     ; gastritis
4790* ; [40,]  ; 11K    ; flu
4790* ; [40,]  ; 8K     ; bronchitis
4760* ; [,40]  ; 4K     ; gastritis
4760* ; [,40]  ; 7K     ; bronchitis
4760* ; [,40]  ; 10K    ; stomach cancer
"""
TABLE_2_4 = """
zip   ; age ; disease ; count
476** ; 20s ; Cancer  ; 300
476** ; 20s ; Flu     ; 300
479** ; 40s ; Cancer  ; 200
479** ; 40s ; Flu     ; 1800
476** ; 30s ; Cancer  ; 200
476** ; 30s ; Flu     ; 200
"""
# Section 5.3.1, from page 137; the second value is Craft-repair, the last Armed-Forces.
PRINTED_OCCUPATIONS = (
    0.0314, 0.1331, 0.1063, 0.1196, 0.1323, 0.1329, 0.0452, 0.0657, 0.1225, 0.0327, 0.0512, 0.0052, 0.0216, 0.0003,
)  # fmt: skip
# Section 2.4.1, page 41: values that are alike.
CLASSES = (
    ("Tech-support", "Craft-repair", "Prof-specialty", "Machine-op-inspct", "Farming-fishing"),
    ("Other-service", "Handlers-cleaners", "Transport-moving", "Priv-house-serv", "Protective-serv"),
    ("Sales", "Exec-managerial", "Adm-clerical", "Armed-Forces"),
)


def table_2_2() -> Release:
    """Table 2.2, page 18: distinct and entropy 3-diverse, open to the similarity attack."""
    return printed_release(TABLE_2_2, _salary_schema())


def table_2_5() -> Release:
    """Table 2.5, page 39: close to the whole table in both sensitive attributes."""
    return printed_release(TABLE_2_5, _salary_schema())


def table_2_4() -> Release:
    """Table 2.4, page 22: (1000, 0.1)-close, not 0.1-close."""
    ages = HierarchyTable(tuple((str(age), f"{age // 10}0s", "*") for age in range(20, 50)), source="age")
    schema = printed_schema(
        {
            "zip": {"role": "quasi-identifier"},
            "age": {"role": "quasi-identifier", "kind": "numeric"},
            "disease": {"role": "sensitive"},
        },
        {"zip": prefix_hierarchy(ZIPS, [4, 3]), "age": ages},
        frequency="count",
    )
    return printed_release(TABLE_2_4, schema)


def reproduce() -> Iterator[Figure]:
    """The worked examples of chapter 2, and the privacy loss of a revealed value."""
    yield from _earth_movers()
    found = run_check(table_2_2())
    for attribute in ("salary", "disease"):
        yield Figure(
            f"Table 2.2, distinct l, {attribute}", "example 2.1.2, p. 18", 3, level(found, "distinct_l", attribute)
        )
        yield Figure(
            f"Table 2.2, entropy l, {attribute}", "example 2.1.2, p. 18", 3, level(found, "entropy_l", attribute)
        )
    found = run_check(table_2_5())
    yield Figure("Table 2.5, t of salary", "section 2.3.3, p. 39", 0.167, level(found, "t_closeness", "salary"))
    equal = earth_mover_hierarchical(*_disease_groups(), Geometry(level=DISEASE_LEVELS))
    where = "section 2.3.3, p. 39"
    reading = "the six diseases of the table equally frequent"
    yield Figure("Table 2.5, t of disease", where, 0.278, float(equal.max()), reading=reading)
    frequent = level(found, "t_closeness", "disease")
    yield Figure("Table 2.5, t of disease", where, None, frequent, reading="by their frequencies, as check measures it")
    table = table_2_4()
    where = "example 2.2.1, with Table 2.4, p. 22"
    share = table.histograms(table.index("disease"))[0][:, 0].max() / 600
    yield Figure("Table 2.4, share of cancer in the first group", where, 0.5, float(share))
    yield Figure(
        "Table 2.4, t", where, 0.5 - 0.23, level(table, "t_closeness"), 5e-3, "0.5 - 0.23 > 0.1: not 0.1-close"
    )
    close = level(table, "n_t_closeness.1000", n=1000)
    yield Figure("Table 2.4, t of (1000, t)-closeness", where, 0, close, reading="printed as: at most 0.1")
    yield from _entropies(table)
    yield from _skewness()
    printed = np.array(PRINTED_OCCUPATIONS)
    yield from _revealed(printed / printed.sum(), 1, 13, "of the printed distribution")


def reproduce_on_adult(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Section 5.3 on the data itself, the similarity attack of section 2.4.1, and our tie rule."""
    names = (*QUASI_IDENTIFIERS, SENSITIVE)
    table = Table.from_columns(adult_schema(columns), {name: columns[name] for name in names})
    attribute = table.attributes[table.index(SENSITIVE)]
    count = np.bincount(table.columns[table.index(SENSITIVE)], minlength=attribute.codes)
    common, rare = (attribute.values.index(value) for value in ("Craft-repair", "Armed-Forces"))
    yield from _revealed(count / count.sum(), common, rare, "30,162 rows")
    reason = "a distinct-5-diverse group inside one class must hold all five of its values; none does"
    five = (KAnonymity(k=5),)
    cases: tuple[tuple[str, tuple[PrivacyModel, ...], float, str], ...] = (
        ("distinct 5-diversity", (DistinctL(l=5),), 2471, reason),
        ("probabilistic 5-diversity", (ProbabilisticL(l=5),), 720, "the same, and every share is at most 1/5"),
        ("5-anonymity and 0.15-closeness", (*five, TCloseness(t=0.15)), 0, ""),
        ("5-anonymity and (1000, 0.15)-closeness", (*five, NTCloseness(n=1000, t=0.15)), 0, ""),
    )
    for name, require, published, why_not in cases:
        ours = vulnerable(table, require)
        yield Figure(
            f"tuples open to the similarity attack, {name}", "section 2.4.1, p. 41", published, ours, why_not=why_not
        )
    release = Mondrian(require=five, recoding="order").anonymize(table, Engine(seed=0)).release
    reading = "cut at or below the median, the better balanced; a prototype that did only one had .0845 and .517"
    if (SHARED / "hierarchies").is_dir():
        yield from _large_populations(columns)
        yield from _global_optimum(columns)
    yield Figure("Mondrian k=5, GCP (sets)", "ours alone", None, certainty_penalty(release).value, reading=reading)


def _global_optimum(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """The best global recoding for k = 5: the same groups as ARX's optimum, and why its GCP was read as .577."""
    schema = with_ages(adult_schema(columns, hierarchies="shared"))
    table = Table.from_columns(schema, {name: columns[name] for name in (*QUASI_IDENTIFIERS, SENSITIVE)})
    made = FullDomain(require=(KAnonymity(k=5),), suppress=0.0).anonymize(table, Engine(seed=0))
    found = evaluate(columns, QUASI_IDENTIFIERS, made.group_of_row)
    where = "ARX, optimal global recoding, one run on this data"
    yield Figure("full_domain k=5, groups", where, 20, made.release.groups, 0, self_check=True)
    yield Figure("full_domain k=5, smallest group", where, 14, found.smallest, 0, self_check=True)
    reading = "cells as tight as each group's rows, as one evaluator took them of every tool"
    penalty = found.certainty_penalty
    yield Figure("full_domain k=5, GCP of tight cells", where, "0.577", penalty, reading=reading, self_check=True)
    reading = "the cells that are published: a node of the hierarchy also holds values that no row of the group has"
    ours = certainty_penalty(made.release).value
    yield Figure("full_domain k=5, GCP", "ours alone", None, ours, reading=reading)


def with_ages(schema: Schema) -> Schema:
    """The same schema with ages in steps of 5, 10 and 20 years, as the hierarchies beside the data have them."""
    return Schema(
        schema.document, {**schema.hierarchies, "age": interval_hierarchy(range(17, 91), [5, 10, 20])}, schema.name
    )


def vulnerable(table: Table, require: tuple[PrivacyModel, ...]) -> int:
    """Rows in groups whose sensitive values all lie in one class."""
    release = Mondrian(require=require, recoding="order").anonymize(table, Engine(seed=0)).release
    sensitive = release.index(SENSITIVE)
    histograms, _ = release.histograms(sensitive)
    values = release.attributes[sensitive].values
    held = np.stack([histograms[:, [v in members for v in values]].sum(axis=1) for members in CLASSES])
    return int(histograms.sum(axis=1)[(held > 0).sum(axis=0) == 1].sum())


def _salary_schema() -> Schema:
    return printed_schema(
        {
            "zip": {"role": "quasi-identifier"},
            "age": {"role": "quasi-identifier", "kind": "numeric", "domain": {"from": 20, "to": 60}},
            "salary": {"role": "sensitive", "kind": "ordinal", "domain": SALARIES},
            "disease": {"role": "sensitive"},
        },
        {"zip": prefix_hierarchy(ZIPS, [4, 3]), "disease": DISEASE_LADDER},
    )


def _earth_movers() -> Iterator[Figure]:
    where = "section 2.3.3, with Table 2.5, p. 39"
    whole = np.full(9, 1 / 9)
    for held, published in (("3K 4K 5K", 0.375), ("6K 8K 11K", 0.167)):
        ours = earth_mover_ordered(_share(held.split(), SALARIES)[None, :], whole, Geometry())
        yield Figure(f"EMD of salaries {held}", where, published, float(ours[0]))
    names = tuple(DISEASES)
    column = _diseases(TABLE_2_2)
    frequent, uniform = _share(column, names), _share(sorted(set(column)), names)
    readings = (
        ("the six diseases of the table equally frequent", uniform, (0.5, 0.278)),
        ("by their frequencies", frequent, (None, None)),
    )
    groups = (("gastric ulcer", "gastritis", "stomach cancer"), ("gastric ulcer", "stomach cancer", "pneumonia"))
    for reading, reference, printed in readings:
        for group, value in zip(groups, printed, strict=True):
            ours = earth_mover_hierarchical(_share(group, names)[None, :], reference, Geometry(level=DISEASE_LEVELS))
            yield Figure(f"EMD of {', '.join(group)}", where, value, float(ours[0]), reading=reading)


def _diseases(table: str) -> list[str]:
    return [line.split(";")[-1].strip() for line in table.strip().splitlines()[1:]]


def _disease_groups() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The groups of Table 2.5, and its six diseases with equal shares."""
    held, names = _diseases(TABLE_2_5), tuple(DISEASES)
    return np.stack([_share(held[i : i + 3], names) for i in (0, 3, 6)]), _share(sorted(set(held)), names)


def _entropies(table: Release) -> Iterator[Figure]:
    """Section 2.2.3 on Table 2.4: what its group of 2,000 and the 1,000 others together say, and the rest."""
    where = "section 2.2.3, p. 25, on Table 2.4"
    about, rest = entropy_utility_split(table, (table.sizes < 1000).astype(np.int64))
    yield Figure("information loss IL", where, None, information_loss(table).value)
    yield Figure("utility U about groups of at least 1,000", where, None, about.value)
    yield Figure(
        "utility U beyond that", where, None, rest.value, reading="the two smaller groups have one distribution"
    )


def _large_populations(columns: dict[str, list[str]]) -> Iterator[Figure]:
    """Section 5.3.1: the two trivial releases, and the one point that is printed in numbers."""
    where = "section 5.3.1, p. 137"
    names = (*QUASI_IDENTIFIERS, SENSITIVE)
    schema = with_ages(adult_schema(columns, hierarchies="shared"))
    table = Table.from_columns(schema, {name: columns[name] for name in names})
    populations = large_populations(table)
    yield Figure("large populations, minSup 5%", where, None, len(populations))
    yield Figure("large populations, minSup 2%", where, None, len(large_populations(table, minimum_support=0.02)))
    tops = [a.hierarchy.height for a in table.attributes[:-1] if a.hierarchy is not None]
    nothing = FullDomain(levels=tuple(tops)).anonymize(table, Engine(seed=0)).release
    loss = utility_loss(nothing, table, populations=populations).value
    yield Figure("U_loss with every quasi-identifier removed", where, "0.05", loss)
    asked = len(names) - 1

    def losses(release: Release) -> tuple[float, float]:
        belief, _ = group_belief(release, asked)
        worst = privacy_loss_max(belief, overall_belief(release, asked)).value
        return worst, utility_loss(release, table, populations=populations).value

    five_thousand = (KAnonymity(k=5000),)
    ways = [
        Mondrian(require=five_thousand, recoding="order"),
        Mondrian(require=five_thousand, recoding="order", relaxed=True),
        Mondrian(require=five_thousand),  # along the hierarchies
    ]
    cut = [losses(mondrian.anonymize(table, Engine(seed=0)).release) for mondrian in ways]
    whole = losses(table.as_release())
    for place, (name, original, coarse) in enumerate((("P_loss", "0.692", "0.086"), ("U_loss", 0, "0.0288"))):
        spread = f"{min(c[place] for c in cut):.3g} to {max(c[place] for c in cut):.3g}"
        why = (
            f"three or four groups, so each cut decides: strict, relaxed and by hierarchies they give {spread}; how he "
        )
        why += "cut is not known"
        yield Figure(f"{name} of the original", where, original, whole[place])
        yield Figure(f"{name} of k=5000", where, coarse, cut[0][place], why_not=why)


def _skewness() -> Iterator[Figure]:
    """10,000 people, 1% positive: groups that every l-diversity lets pass."""
    where = "example 2.1.1, section 2.1 from p. 17"
    overall = Reference(np.array([100, 9900]))
    even, positive, negative = (np.array([pair]) for pair in ((25, 25), (49, 1), (1, 49)))

    def measured(model: PrivacyModel, group: NDArray[np.int64]) -> float:
        return float(model.level(group, overall)[0])

    yield Figure("as many positive as negative, distinct l", where, 2, measured(DistinctL(), even))
    yield Figure("as many positive as negative, entropy l", where, 2, measured(EntropyL(), even))
    reading = "the whole table has 99, so that only a c above 99 can be imposed"
    yield Figure(
        "as many positive as negative, recursive c of l=2", where, 1, measured(RecursiveCL(), even), reading=reading
    )
    yield Figure("as many positive as negative, t", where, 0.5 - 0.01, measured(TCloseness(), even))
    same = measured(EntropyL(), positive) - measured(EntropyL(), negative)
    yield Figure("entropy l of 49 + 1 less that of 1 + 49", where, 0, same, 1e-12, "exactly the same diversity")
    yield Figure("t of 49 + 1", where, 0.98 - 0.01, measured(TCloseness(), positive))


def _revealed(share: NDArray[np.float64], common: int, rare: int, reading: str) -> Iterator[Figure]:
    known = privacy_loss(Belief(np.eye(len(share))[[rare, common]]), Belief(share[None, :]))
    where = "section 5.3.1, from p. 137"
    yield Figure("privacy loss (JS) of Armed-Forces revealed", where, 0.692, float(known[0]), reading=reading)
    yield Figure("privacy loss (JS) of Craft-repair revealed", where, 0.488, float(known[1]), reading=reading)


def _share(held: list[str] | tuple[str, ...], names: tuple[str, ...]) -> NDArray[np.float64]:
    count = np.array([held.count(name) for name in names], dtype=np.float64)
    share: NDArray[np.float64] = count / count.sum()
    return share
