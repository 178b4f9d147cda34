"""Numbers that ARX and sdcMicro give of their own files, equal to the printed digits; docs/foreign.md lists them."""

import csv
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from foreign import ARX, SDCMICRO, needs_foreign_files
from unveil import read_release, read_schema, read_table, utility
from unveil.audit.identity import identity_findings, suppressed_rows, utility_findings
from unveil.audit.levels import run_check
from unveil.data.belief import Estimate
from unveil.data.hierarchy import HierarchyTable, parse_hierarchy, read_hierarchy
from unveil.data.release import Release, merged_rows
from unveil.data.schema import Schema, SchemaDocument
from unveil.data.table import Table
from unveil.formats.releases import read_release_rows
from unveil.privacy.models import DistinctL, EntropyL, KAnonymity, PrivacyModel, TCloseness
from unveil.privacy.reference import reference_of
from unveil.risk.disclosure import distance_risk
from unveil.risk.uniqueness import CellSizes, dankar, key_counts, pitman, uniques_of, wildcard_counts, zayatz

FILES = ("k5_global", "k5_local", "k5_micro_mean", "k5_micro_set", "k5_topbottom", "safepub")
KNOWN = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
pytestmark = needs_foreign_files


@cache
def said() -> Mapping[str, Any]:
    return {line["file"]: line for line in map(json.loads, (ARX / "arx_numbers.jsonl").read_text().splitlines())}


@cache
def adult() -> tuple[Schema, Table]:
    schema = read_schema(ARX / "schema.toml").confirmed()
    return schema, read_table(ARX / "adult.csv", schema)


def test_arx_counts_the_same() -> None:
    schema, table = adult()
    for name in FILES:
        release, theirs = (
            read_release(ARX / f"{name}.csv", schema, attributes=table.attributes),
            said()[f"{name}.csv"],
        )
        sizes = release.class_sizes()
        ours = {f.id: f.value for f in (*identity_findings(release, name, None), *utility_findings(release, name))}
        assert (sizes.min(), len(sizes), sizes.max()) == (theirs["k"], theirs["classes"], theirs["max_class"]), name
        assert suppressed_rows(release) == theirs["suppressed"], name
        assert ours["prosecutor_risk.max"] == pytest.approx(theirs["pros_highest"], rel=1e-12), name
        assert ours["marketer_risk"] == pytest.approx(theirs["marketer"], rel=1e-12), name
        assert ours["groups.mean_size"] == pytest.approx(theirs["avg_class"], rel=1e-12), name
        assert 1 / sizes.max() == pytest.approx(theirs["lowest_risk"], rel=1e-12), name
    whole = merged_rows(table.as_release())[0].class_sizes()
    assert (whole == 1).sum() == said()["INPUT"]["sample_uniques"]
    assert whole[whole < 5].sum() / table.rows == pytest.approx(said()["INPUT"]["pros_at_risk"], rel=1e-12)
    assert len(whole) / table.rows == pytest.approx(said()["INPUT"]["pros_success"], rel=1e-12)
    subset = read_release(ARX / "dpresence_subset.csv", schema, attributes=table.attributes)
    ours = {f.id: f.value for f in identity_findings(subset, "subset", None, table)}
    assert ours["journalist_risk.max"] == pytest.approx(said()["dpresence_subset.csv"]["jour_highest"])
    assert ours["marketer_risk"] == pytest.approx(said()["dpresence_subset.csv"]["marketer"])
    presence = next(f.value for f in run_check(subset, population=table).findings if f.measure == "delta_presence")
    assert f"{presence:.4f}" == "0.2941"


# ------------------------------------------------------------------------------------------------------ quality models


def by_hierarchies(hierarchies: Mapping[str, HierarchyTable], others: Mapping[str, str]) -> Schema:
    """A schema whose domains are the hierarchies' leaves in their own order, as ARX takes them."""
    attributes: dict[str, Any] = {}
    for name, own in hierarchies.items():
        leaves = [row[0] for row in own.rows]
        kind, domain = ("numeric", [int(leaf) for leaf in leaves]) if name == "age" else ("categorical", leaves)
        attributes[name] = {"role": "quasi-identifier", "kind": kind, "domain": domain}
    attributes |= {name: {"role": role} for name, role in others.items()}
    document = SchemaDocument.model_validate({"version": 1, "confirmed": True, "attributes": attributes})
    return Schema(document, hierarchies)


def quality(release: Release, table: Table, group: np.ndarray) -> dict[str, float]:
    """Every quality model by ARX's name for it."""
    names = [a.name for a in release.attributes if a.role == "quasi-identifier"]
    found: dict[str, Callable[[], Estimate]] = {
        "q_granularity_mean": lambda: utility.granularity(release),
        "q_granularity_geo": lambda: utility.granularity_geometric(release),
        "q_gen_intensity": lambda: utility.generalisation_intensity(release),
        "q_nue_mean": lambda: utility.non_uniform_entropy(release, table, group),
        "q_missings": lambda: utility.withheld_cells(release),
        "q_aecs": lambda: utility.aecs(release, table),
        "q_discernibility": lambda: utility.discernibility_kept(release, table),
        "q_ambiguity": lambda: utility.ambiguity(release),
        "q_recordse": lambda: utility.record_error_kept(release, table, group),
    }
    for n in names:
        found[f"gran_{n}"] = lambda n=n: utility.granularity(release, attribute=n)  # type: ignore[misc]
        found[f"gi_{n}"] = lambda n=n: utility.generalisation_intensity(release, attribute=n)  # type: ignore[misc]
        found[f"nue_{n}"] = lambda n=n: utility.non_uniform_entropy(release, table, group, attribute=n)  # type: ignore[misc]
    return {name: one().value for name, one in found.items()}


def top_and_bottom() -> HierarchyTable:
    """Ages below 20 and from 70 on by one label at every level, between them 5, 10 and 20 years."""
    table = adult()[1]
    attribute = table.attributes[table.index("age")]
    ages = [int(attribute.values[code]) for code in np.unique(table.columns[table.index("age")])]
    rows = []
    for age in ages:
        widths = [f"[{age // w * w}, {min(age // w * w + w, 70)}[" for w in (5, 10, 20)]
        rows.append((str(age), *(["<20"] * 3 if age < 20 else [">=70"] * 3 if age >= 70 else widths), "*"))
    return HierarchyTable(tuple(rows))


# What ARX says of a text that it does not find in a hierarchy: docs/foreign.md.
BY_LABEL = {"gi_education", "gi_native-country", "q_gen_intensity"}
OTHERWISE = {
    "k5_micro_mean": {*BY_LABEL, "q_recordse"},
    "k5_micro_interval": {
        *BY_LABEL,
        "gi_age",
        "nue_age",
        "gran_age",
        "q_nue_mean",
        "q_recordse",
        "q_ambiguity",
        "q_granularity_mean",
        "q_granularity_geo",
    },
    "k5_micro_set": {*BY_LABEL, "gi_marital-status", "nue_marital-status", "q_nue_mean", "q_recordse", "q_ambiguity"},
}


@pytest.mark.parametrize("name", FILES)
def test_arx_quality_models(name: str) -> None:
    hierarchies = {n: read_hierarchy(ARX / "hierarchies" / f"{n}.csv") for n in KNOWN}
    if name == "k5_topbottom":
        hierarchies["age"] = top_and_bottom()
    schema = by_hierarchies(hierarchies, {"occupation": "sensitive", "salary-class": "insensitive"})
    table = read_table(ARX / "adult.csv", schema)
    release, group = read_release_rows(ARX / f"{name}.csv", schema, attributes=table.attributes)
    ours, theirs = quality(release, table, group), said()[f"{name}.csv"]
    unlike = {k for k, value in ours.items() if k not in theirs or value != pytest.approx(theirs[k], abs=1e-9)}
    assert unlike <= OTHERWISE.get(name, BY_LABEL), name
    assert len(ours) == 30


def test_microaggregated_ages_by_the_domain_of_the_data() -> None:
    """ARX takes ages for numbers there: `*` is then as wide as the ages that occur."""
    hierarchies = {n: read_hierarchy(ARX / "hierarchies" / f"{n}.csv") for n in KNOWN if n != "age"}
    whole = by_hierarchies(hierarchies, {"occupation": "sensitive", "salary-class": "insensitive"})
    attributes = {**whole.document.attributes, "age": adult()[0].document.attributes["age"]}
    narrow = Schema(whole.document.model_copy(update={"attributes": attributes}), hierarchies)
    people = read_table(ARX / "adult.csv", narrow)
    release, group = read_release_rows(ARX / "k5_micro_mean.csv", narrow, attributes=people.attributes)
    found = utility.record_error_kept(release, people, group)
    assert found.value == pytest.approx(said()["k5_micro_mean.csv"]["q_recordse"], abs=1e-9)


def test_the_project_example() -> None:
    """The project's own hierarchies and data; the rows of its output stand in the order of its input."""
    schema, table, _ = project()
    source = ARX / "example_deid_subset_output.csv"
    release, group = read_release_rows(source, schema, attributes=table.attributes)
    ours, theirs = quality(release, table, group), said()["example_deid_subset_output.csv"]
    unlike = {k for k, value in ours.items() if value != pytest.approx(theirs[k], abs=1e-9)}
    assert unlike <= BY_LABEL
    sizes = release.class_sizes()
    assert (sizes.min(), len(sizes), suppressed_rows(release)) == (5, 174, 25213)


# --------------------------------------------------------------------------- outputs of which only numbers are here

MODELS: Mapping[str, tuple[PrivacyModel, ...]] = {  # of occupation
    "l4_distinct": (DistinctL(l=4),),
    "l5_entropy": (EntropyL(l=5),),
    "t03_equal": (TCloseness(t=0.3, distance="equal"),),
    "t02_hierarchical": (TCloseness(t=0.2, distance="hierarchical"),),
    "k5_global": (KAnonymity(k=5),),
    "k5_micro_interval": (KAnonymity(k=5),),
    "dpresence_full": (KAnonymity(k=5),),
    "example_deid_output": (KAnonymity(k=5),),
}


def with_occupation() -> tuple[Schema, Table, Mapping[str, HierarchyTable]]:
    """adult.csv with occupation as ARX has it, a sensitive attribute with a hierarchy."""
    hierarchies = {n: read_hierarchy(ARX / "hierarchies" / f"{n}.csv") for n in (*KNOWN, "occupation")}
    leaves = [row[0] for row in hierarchies["occupation"].rows]
    whole = by_hierarchies(
        {n: hierarchies[n] for n in KNOWN}, {"occupation": "sensitive", "salary-class": "insensitive"}
    )
    attributes = {**whole.document.attributes}
    attributes["occupation"] = attributes["occupation"].model_copy(update={"domain": tuple(leaves)})
    schema = Schema(whole.document.model_copy(update={"attributes": attributes}), hierarchies)
    return schema, read_table(ARX / "adult.csv", schema), hierarchies


def project() -> tuple[Schema, Table, Mapping[str, HierarchyTable]]:
    """example.deid: its own hierarchies and data."""
    with zipfile.ZipFile(ARX / "example.deid") as archive:
        rows = list(csv.reader(io.StringIO(archive.read("data/input.csv").decode()), delimiter=";"))
        read = {n: parse_hierarchy(archive.read(f"output/hierarchies/{n}.csv"), n) for n in rows[0]}
    schema = by_hierarchies(read, {})
    columns = {n: [row[i] for row in rows[1:]] for i, n in enumerate(rows[0])}
    return schema, Table.from_columns(schema, columns), read


def made_again(name: str) -> tuple[Release, Table, np.ndarray]:
    """ARX's transformation applied to adult.csv, the classes that break its model withheld."""
    schema, table, hierarchies = project() if name == "example_deid_output" else with_occupation()
    levels, names = (part.split(", ") for part in re.findall(r"\[(.*?)\]", said()[f"{name}.csv"]["transformation"]))
    text = {n: np.array(table.attributes[i].values)[table.columns[i]] for i, n in enumerate(schema.names)}
    for n, level in zip(names, map(int, levels), strict=True):
        label = {row[0]: row[level] for row in hierarchies[n].rows}
        text[n] = np.array([label[value] for value in text[n].tolist()])
    number = np.unique(np.stack([text[n] for n in names]), axis=1, return_inverse=True)[1].ravel()
    counted = np.ones(table.rows, dtype=bool)
    if name == "dpresence_full":  # (0, .3)-presence of a research subset, of which rows are known as a multiset only
        with (ARX / "dpresence_subset_original.csv").open() as file:
            chosen = Counter(tuple(row[n] for n in schema.names) for row in csv.DictReader(file, delimiter=";"))
        own = [np.array(a.values)[c].tolist() for a, c in zip(table.attributes, table.columns, strict=True)]
        for row, cells in enumerate(zip(*own, strict=True)):
            counted[row] = chosen[cells] > 0
            chosen[cells] -= 1
    place = table.index("occupation")
    histogram = np.zeros((number.max() + 1, table.attributes[place].codes), dtype=np.int64)
    np.add.at(histogram, (number[counted], table.columns[place][counted]), 1)
    keep = histogram.sum(axis=1) > 0
    for model in MODELS[name]:
        if isinstance(model, KAnonymity):
            keep &= histogram.sum(axis=1) >= 5
        else:
            reference = reference_of(table.attributes[place], histogram.sum(axis=0))
            level, threshold = model.level(np.maximum(histogram, 0), reference), model.threshold
            keep &= level >= threshold - 1e-12 if model.higher_is_safer else level <= threshold + 1e-12
    if name == "dpresence_full":
        share = histogram.sum(axis=1) / np.bincount(number)
        keep &= share <= 0.3 + 1e-12
    shown = keep[number] & counted
    if name == "k5_micro_interval":
        age = np.array(text["age"])
        own = table.attributes[table.index("age")].positions()[table.columns[table.index("age")]]
        for one in np.unique(number[shown]):
            inside = shown & (number == one)
            age = age.astype(object)
            age[inside] = f"[{own[inside].min():.0f}, {own[inside].max():.0f}]"
        text["age"] = age
    for n in names:
        text[n] = np.where(shown, text[n], "*")
    frame = pl.DataFrame({n: list(map(str, column)) for n, column in text.items()})
    release, group = read_release_rows(frame, schema, attributes=table.attributes)
    return release, table, group


@pytest.mark.parametrize("name", MODELS)
def test_arx_numbers_of_outputs_made_again(name: str) -> None:
    release, table, group = made_again(name)
    theirs, sizes = said()[f"{name}.csv"], release.class_sizes()
    ours = {f.id: f.value for f in (*identity_findings(release, name, None), *utility_findings(release, name))}
    assert (sizes.min(), len(sizes), sizes.max()) == (theirs["k"], theirs["classes"], theirs["max_class"])
    assert suppressed_rows(release) == theirs["suppressed"]
    assert ours["marketer_risk"] == pytest.approx(theirs["marketer"], rel=1e-12)
    assert sizes[sizes < 5].sum() / sizes.sum() == pytest.approx(theirs["pros_at_risk"], rel=1e-12)
    found = quality(release, table, group)
    unlike = {k for k, value in found.items() if k not in theirs or value != pytest.approx(theirs[k], abs=1e-9)}
    assert unlike <= OTHERWISE.get(name, BY_LABEL), (name, {k: (found[k], theirs.get(k)) for k in unlike})


# --------------------------------------------------------------------------------------------------------- uniqueness


def test_arx_population_uniques() -> None:
    """ARX was told of a population ten times the sample."""
    counts = key_counts(adult()[1], KNOWN, fraction=0.1)
    sizes, theirs = CellSizes.of(counts), said()["INPUT"]
    for ours, name in ((zayatz, "zayatz"), (pitman, "pitman"), (dankar, "dankar")):
        assert ours(sizes) == pytest.approx(theirs[name], rel=1e-9), name


def test_population_uniques_of_samples_of_a_real_population() -> None:
    """30,162 people, 7,653 of them alone: up to a tenth of them Pitman's interval holds the truth, Zayatz is above."""
    table = adult()[1]
    whole, random = key_counts(table, KNOWN, fraction=1.0), np.random.default_rng(1)
    for fraction in (0.05, 0.1):
        sample, population = whole.sample(np.flatnonzero(random.random(table.rows) < fraction), fraction)
        truth = float((population[sample.alone] == 1).mean())
        found, bound = uniques_of("pitman", sample).share, uniques_of("zayatz", sample).share
        assert found is not None
        assert bound is not None
        assert found.low < truth < found.high
        assert bound.low > truth


# ---------------------------------------------------------------------------------------------------------- sdcMicro


def numbers(name: str) -> np.ndarray:
    with (SDCMICRO / name).open() as file:
        rows = list(csv.DictReader(file))
    return np.array([[float(row[n]) for n in ("expend", "income", "savings")] for row in rows]).T


@pytest.mark.parametrize(("name", "risk"), [("testdata_mixed", ".01637555"), ("testdata_recode_pram", ".129476")])
def test_sdcmicro_distance_based_risk(name: str, risk: str) -> None:
    found = distance_risk(list(numbers("testdata.csv")), list(numbers(f"{name}.csv"))).value
    assert f"{found:.{len(risk) - 1}f}" == f"0{risk}"


def test_sdcmicro_counts_withheld_cells_for_nobody_else() -> None:
    """k = 1, 18 alone and 36 below 3: freqCalc with alpha = 0."""
    schema = read_schema(SDCMICRO / "td.toml").confirmed()
    table = read_table(SDCMICRO / "testdata.csv", schema)
    release = read_release(SDCMICRO / "testdata_ls.csv", schema, attributes=table.attributes)
    found = wildcard_counts(release, table, alpha=0)
    assert (found.k, found.rows[found.count == 1].sum(), found.rows[found.count < 3].sum()) == (1, 18, 36)
    assert wildcard_counts(release, table).k == 3
