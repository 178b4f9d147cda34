"""Every number that ARX and sdcMicro give of their own files: equal to the printed digits, or docs/foreign.md says why.

`numbers_of_arx` walks over arx_numbers.jsonl, `test_every_number_of_the_readme` over README.md: a number that nobody
compares, and that is not among those explained, fails.
"""

import csv
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from foreign import ARX, SDCMICRO, needs_foreign_files
from unveil import read_release, read_schema, read_table, utility
from unveil.audit.identity import identity_findings, suppressed_rows, utility_findings
from unveil.audit.levels import run_check
from unveil.audit.linking import run_link
from unveil.data.belief import Estimate
from unveil.data.hierarchy import HierarchyTable, parse_hierarchy, read_hierarchy
from unveil.data.release import Release, merged_rows
from unveil.data.schema import Schema, SchemaDocument
from unveil.data.table import Table
from unveil.formats.arx.recomputed import configuration
from unveil.formats.arx.schema import project_schema
from unveil.formats.releases import read_release_rows
from unveil.privacy.models import DistinctL, EntropyL, KAnonymity, PrivacyModel, TCloseness
from unveil.privacy.reference import reference_of
from unveil.risk.disclosure import distance_risk
from unveil.risk.linkage.distance import link_by_distance
from unveil.risk.linkage.links import reid
from unveil.risk.linkage.published import published_of
from unveil.risk.linkage.register import register_of_tables
from unveil.risk.uniqueness import (
    CellSizes,
    dankar,
    key_counts,
    pitman,
    slide_negative_binomial,
    uniques_of,
    wildcard_counts,
    zayatz,
)

FILES = ("k5_global", "k5_local", "k5_micro_mean", "k5_micro_set", "k5_topbottom", "safepub")
KNOWN = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
OTHERS = {"occupation": "sensitive", "salary-class": "insensitive"}
pytestmark = needs_foreign_files


@cache
def said() -> Mapping[str, Any]:
    return {line["file"]: line for line in map(json.loads, (ARX / "arx_numbers.jsonl").read_text().splitlines())}


@cache
def adult() -> tuple[Schema, Table]:
    schema = read_schema(ARX / "schema.toml").confirmed()
    return schema, read_table(ARX / "adult.csv", schema)


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


class Output(NamedTuple):
    """What ARX was asked about."""

    release: Release
    group: np.ndarray  # (rows,)
    table: Table
    texts: pl.DataFrame  # the cells as they are written


def quality(made: Output) -> dict[str, float]:
    """Every quality model by ARX's name for it."""
    release, group, table, _ = made
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


def top_and_bottom(*, every: bool) -> HierarchyTable:
    """Ages below 20 and from 70 on by one label at every level, between them 5, 10 and 20 years.

    `every`: of all ages from 17 to 90, else of the 72 that occur.
    """
    table = adult()[1]
    attribute = table.attributes[table.index("age")]
    ages = [int(attribute.values[code]) for code in np.unique(table.columns[table.index("age")])]
    rows = []
    ages = list(range(min(ages), max(ages) + 1)) if every else ages
    for age in ages:
        widths = [f"[{age // w * w}, {min(age // w * w + w, 70)}[" for w in (5, 10, 20)]
        rows.append((str(age), *(["<20"] * 3 if age < 20 else [">=70"] * 3 if age >= 70 else widths), "*"))
    return HierarchyTable(tuple(rows))


# --------------------------------------------------------------------------- outputs of which only numbers are here

MODELS: Mapping[str, tuple[PrivacyModel, ...]] = {  # of occupation
    "l4_distinct": (DistinctL(l=4),),
    "l5_entropy": (EntropyL(l=5),),
    "t03_equal": (TCloseness(t=0.3, distance="equal"),),
    "t02_hierarchical": (TCloseness(t=0.2, distance="hierarchical"),),
    "k5_micro_interval": (KAnonymity(k=5),),
    "dpresence_full": (KAnonymity(k=5),),
    "example_deid_output": (KAnonymity(k=5),),
}


@cache
def with_occupation() -> tuple[Schema, Table, Mapping[str, HierarchyTable]]:
    """adult.csv with occupation as ARX has it, a sensitive attribute with a hierarchy."""
    hierarchies = {n: read_hierarchy(ARX / "hierarchies" / f"{n}.csv") for n in (*KNOWN, "occupation")}
    leaves = [row[0] for row in hierarchies["occupation"].rows]
    whole = by_hierarchies({n: hierarchies[n] for n in KNOWN}, OTHERS)
    attributes = {**whole.document.attributes}
    attributes["occupation"] = attributes["occupation"].model_copy(update={"domain": tuple(leaves)})
    schema = Schema(whole.document.model_copy(update={"attributes": attributes}), hierarchies)
    return schema, read_table(ARX / "adult.csv", schema), hierarchies


@cache
def project() -> tuple[Schema, Table, Mapping[str, HierarchyTable]]:
    """example.deid: its own hierarchies and data."""
    with zipfile.ZipFile(ARX / "example.deid") as archive:
        rows = list(csv.reader(io.StringIO(archive.read("data/input.csv").decode()), delimiter=";"))
        read = {n: parse_hierarchy(archive.read(f"output/hierarchies/{n}.csv"), n) for n in rows[0]}
    schema = by_hierarchies(read, {})
    columns = {n: [row[i] for row in rows[1:]] for i, n in enumerate(rows[0])}
    return schema, Table.from_columns(schema, columns), read


def made_again(name: str) -> Output:
    """ARX's transformation applied to adult.csv, the classes that break its model withheld."""
    schema, table, hierarchies = project() if name == "example_deid_output" else with_occupation()
    levels = levels_of("k5_local" if name == "k5_first_step" else name)
    names = list(levels)
    text = {n: np.array(table.attributes[i].values)[table.columns[i]] for i, n in enumerate(schema.names)}
    for n, level in levels.items():
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
    for model in MODELS.get(name, (KAnonymity(k=5),)):
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
    return Output(*read_release_rows(frame, schema, attributes=table.attributes), table, frame)


# ------------------------------------------------------------------------------------------- the walk over all numbers

ELSEWHERE = ("INPUT", "dpresence_subset", "example_deid_subset_output")
SUBSETS = {"dpresence_full": 6033, "example_deid_subset_output": 5692}  # rows that count; the others show `*`
ABSENT = {"k5_zip"}  # its column `zip` is in no file here
OWN_TESTS = ("transformation", "optimum_loss")
# Numbers of ARX that mean something else than ours: `as_arx_means_it` computes them by ARX's meaning.
OTHERWISE: Mapping[str, set[str]] = {
    "INPUT": {"snb"},
    "k5_global": {"gi_education", "gi_native-country", "q_gen_intensity"},
    "k5_local": {"gi_education", "gi_native-country", "q_gen_intensity"},
    "k5_micro_mean": {"gi_native-country", "q_gen_intensity", "q_recordse"},
    "k5_micro_set": {"gi_native-country", "q_gen_intensity", "gi_marital-status", "q_nue_mean", "q_recordse"},
    "k5_topbottom": {"gi_native-country", "q_gen_intensity"},
    "safepub": {"gi_education", "q_gen_intensity"},
    "l4_distinct": {"gi_education", "gi_native-country", "q_gen_intensity"},
    "l5_entropy": {"gi_education", "gi_native-country", "q_gen_intensity"},
    "k5_micro_interval": {"gi_native-country", "q_gen_intensity", "gi_age", "gran_age"}
    | {"q_granularity_mean", "q_granularity_geo", "q_nue_mean", "q_ambiguity", "q_recordse"},
    "example_deid_output": {"gi_education", "gi_native-country", "q_gen_intensity"},
    "example_deid_subset_output": {"gi_education", "q_gen_intensity"},
}
UNASKED = {"k5_micro_set": {"nue_marital-status"}, "k5_micro_interval": {"nue_age"}}  # ARX has none


@cache
def opened(name: str) -> Output:
    """The release that ARX was asked about, from its file or made again."""
    if name not in FILES and name not in ("k5_micro_as_band", "example_deid_subset_output"):
        return made_again(name)
    if name == "example_deid_subset_output":
        schema, table, _ = project()
    else:
        hierarchies = {n: read_hierarchy(ARX / "hierarchies" / f"{n}.csv") for n in KNOWN}
        if name == "k5_topbottom":
            hierarchies["age"] = top_and_bottom(every=False)
        schema = by_hierarchies(hierarchies, OTHERS)
        table = read_table(ARX / "adult.csv", schema)
    frame = pl.read_csv(ARX / f"{name}.csv", separator=";", infer_schema=False)
    return Output(*read_release_rows(frame, schema, attributes=table.attributes), table, frame)


def of_classes(release: Release, population: Table | None = None) -> dict[str, float]:
    """Risks and uniqueness by ARX's names for them."""
    ours = {f.id: f.value for f in (*identity_findings(release, "", None, population), *utility_findings(release, ""))}
    sizes = release.class_sizes()
    cells = CellSizes(*np.unique(sizes, return_counts=True), 0.1)
    below = float(sizes[sizes < 5].sum() / sizes.sum())
    mean, marketer = ours["prosecutor_risk.mean"], ours["marketer_risk"]
    return {
        "k": sizes.min(),
        "classes": len(sizes),
        "max_class": sizes.max(),
        "avg_class": ours["groups.mean_size"],
        "suppressed": suppressed_rows(release),
        "records": sizes.sum(),
        "rows": release.rows,
        "pros_at_risk": below,
        "pros_highest": ours["prosecutor_risk.max"],
        "pros_success": mean,
        "jour_at_risk": below,
        "jour_highest": ours["journalist_risk.max"],
        "jour_success": marketer,
        "marketer": marketer,
        "avg_risk": mean,
        "lowest_risk": 1 / sizes.max(),
        "est_pros": ours["prosecutor_risk.max"],
        "est_mark": marketer,
        "sample_uniques": (sizes == 1).sum(),
        "zayatz": zayatz(cells),
        "pitman": pitman(cells),
        "snb": slide_negative_binomial(cells),
        "dankar": dankar(cells),
    }


def ours_of(name: str) -> dict[str, float]:
    if name == "INPUT":
        return of_classes(merged_rows(adult()[1].as_release())[0])
    if name == "dpresence_subset":
        schema, table = adult()
        return of_classes(read_release(ARX / f"{name}.csv", schema, attributes=table.attributes), table)
    made = opened(name)
    return of_classes(made.release) | quality(made)


@pytest.mark.parametrize("name", [*FILES, *MODELS, *ELSEWHERE])
def test_every_number_of_arx(name: str) -> None:
    theirs, ours = dict(said()[name if name == "INPUT" else f"{name}.csv"]), ours_of(name)
    theirs = {k: float(v) for k, v in theirs.items() if k not in ("file", *OWN_TESTS)}
    unlike = {k for k, value in theirs.items() if k not in ours or ours[k] != pytest.approx(value, rel=1e-9, abs=1e-9)}
    assert unlike == OTHERWISE.get(name, set()), {k: (ours.get(k), theirs[k]) for k in unlike}
    assert set(ours) - set(theirs) == UNASKED.get(name, set()) or name in ("INPUT", "dpresence_subset")
    meant = as_arx_means_it(name)
    assert set(meant) == unlike
    for key, value in meant.items():
        assert value == pytest.approx(theirs[key], rel=1e-9, abs=1e-9, nan_ok=True), key


WRITTEN_OTHERWISE = {
    "k5_micro_mean": {"age"},
    "k5_micro_interval": {"age"},
    "k5_micro_set": {"marital-status"},
}


@pytest.mark.parametrize("name", [*FILES, *MODELS, "example_deid_subset_output"])
def test_the_transformation_that_arx_names(name: str) -> None:
    """Every cell is the label of its level, but for what was aggregated or recoded locally."""
    made, own = opened(name), {}
    for attribute, column in zip(made.table.attributes, made.table.columns, strict=True):
        own[attribute.name] = np.array(attribute.values)[column]
    texts = opened("k5_first_step" if name == "k5_local" else name).texts  # what it suppresses is recoded locally
    shown = (texts["sex"] != "*").to_numpy() | (texts["education"] != "*").to_numpy()
    unlike = set()
    for n, level in levels_of(name).items():
        label = {row[0]: row[level] for row in ladder_of(name, n).rows}
        if [label[value] for value in own[n][shown].tolist()] != made.texts[n].filter(shown).to_list():
            unlike.add(n)
    assert unlike == WRITTEN_OTHERWISE.get(name, set()), unlike


def levels_of(name: str) -> dict[str, int]:
    levels, names = (part.split(", ") for part in re.findall(r"\[(.*?)\]", said()[f"{name}.csv"]["transformation"]))
    return dict(zip(names, map(int, levels), strict=True))


@pytest.mark.parametrize("name", [*FILES, *MODELS, "example_deid_subset_output"])
def test_the_loss_of_arxs_optimum(name: str) -> None:
    """The geometric mean of 1 + the detail lost of each attribute, over the rows that count, before aggregation."""
    theirs = float(said()[f"{name}.csv"]["optimum_loss"])
    before = {"k5_micro_mean": "k5_micro_as_band", "k5_micro_interval": "k5_micro_as_band", "k5_local": "k5_first_step"}
    if name == "k5_topbottom":  # its hierarchy is of all ages from 17 to 90
        ladders = {n: read_hierarchy(ARX / "hierarchies" / f"{n}.csv") for n in KNOWN}
        schema = by_hierarchies(ladders | {"age": top_and_bottom(every=True)}, OTHERS)
        people = read_table(ARX / "adult.csv", schema)
        release = read_release(ARX / "k5_topbottom.csv", schema, attributes=people.attributes)
    else:
        release = opened(before.get(name, name)).release
    rows, counted = release.rows, SUBSETS.get(name, release.rows)
    kept = [utility.granularity(release, attribute=n).value for n in levels_of(name)]
    lost = np.array([((1 - k) * rows - (rows - counted)) / counted for k in kept])
    if name == "safepub":  # rows that were not drawn count for nothing: a share of 1 - exp(-2) is drawn of all
        shown = rows - suppressed_rows(release)
        outliers = np.arange(rows - shown + 1)
        each = (lost[:, None] * rows - (rows - shown) + outliers) / (shown + outliers)
        loss = np.exp(np.log1p(each).mean(axis=0)) - 1
        found = int(np.abs(loss - theirs).argmin())
        assert loss[found] == pytest.approx(theirs, abs=1e-9)
        share = 1 - np.exp(-2)
        assert abs(shown + found - share * rows) < 3 * np.sqrt(rows * share * (1 - share))
    else:
        assert np.exp(np.log1p(lost).mean()) - 1 == pytest.approx(theirs, abs=1e-9)


def test_the_walk_leaves_out_no_line_and_the_docs_explain_every_difference() -> None:
    walked = {*FILES, *MODELS, *ELSEWHERE}
    assert walked | ABSENT == {name.removesuffix(".csv") for name in said()}
    assert all("zip" in said()[f"{name}.csv"]["transformation"] for name in ABSENT)
    assert "zip" not in adult()[0].names
    page = (Path(__file__).parents[3] / "docs" / "foreign.md").read_text()
    table = [line.split("|")[1] for line in page.splitlines() if line.startswith("| ")]
    for name, keys in OTHERWISE.items():
        for key in keys:
            told = [cell for cell in table if f"`{key}`" in cell and (name in cell or "_micro_" not in cell)]
            assert told or name == "INPUT", (name, key)
    assert "ARX's `snb` is 0" in page
    assert all(name in page for name in ABSENT)


def as_arx_means_it(name: str) -> dict[str, float]:
    """The numbers of `OTHERWISE` by ARX's meaning, computed from the cells and from our measures."""
    if name not in OTHERWISE:
        return {}
    if name == "INPUT":  # the equations as Chen and Keller-McNulty have them are solved; ARX's solver finds nothing
        solved = slide_negative_binomial(CellSizes.of(key_counts(adult()[1], KNOWN, fraction=0.1)))
        assert solved == pytest.approx(40_953, abs=0.5)
        return {"snb": 0.0}
    made, theirs = opened(name), said()[f"{name}.csv"]
    names = [a.name for a in made.release.attributes if a.role == "quasi-identifier"]
    climbed = {n: by_label(name, n) for n in names}
    found: dict[str, float] = {}
    if name == "k5_micro_mean":
        found["q_recordse"] = record_error(made.texts)
    if name == "k5_micro_set":  # a text that is no label is as high as `*`, and no entropy is known of it
        climbed["marital-status"] = 0.0
        found |= {"q_recordse": np.nan, "q_nue_mean": entropy_without("marital-status", theirs)}
    if name == "k5_micro_interval":  # and it is as exact as a true value
        climbed["age"] = 0.0
        people = made.table
        own = np.array(people.attributes[people.index("age")].values)[people.columns[people.index("age")]]
        exact = made.texts.with_columns(pl.Series("age", np.where(made.texts["sex"] == "*", "*", own)))
        schema = with_occupation()[0]
        read = Output(*read_release_rows(exact, schema, attributes=people.attributes), people, exact)
        wanted = ("gran_age", "q_granularity_mean", "q_granularity_geo", "q_ambiguity")
        found |= {k: value for k, value in quality(read).items() if k in wanted}
        found |= {"q_nue_mean": entropy_without("age", theirs), "q_recordse": record_error(made.texts)}
    found |= {f"gi_{n}": climbed[n] for n in names} | {"q_gen_intensity": float(np.mean([*climbed.values()]))}
    return {k: value for k, value in found.items() if k in OTHERWISE[name]}


def by_label(name: str, attribute: str) -> float:
    """`gi_…` as ARX has it: the level of the label that was written, were it the same set as the label below it."""
    level: dict[str, int] = {}
    ladder = ladder_of(name, attribute)
    for row in ladder.rows:
        for step, label in enumerate(row):
            level.setdefault(label, step)
    most, texts = len(ladder.rows[0]) - 1, opened(name).texts[attribute]
    return 1 - sum(level.get(text, most) * times for text, times in texts.value_counts().rows()) / most / len(texts)


def ladder_of(name: str, attribute: str) -> HierarchyTable:
    if name == "k5_topbottom" and attribute == "age":
        return top_and_bottom(every=False)
    if name.startswith("example"):
        return project()[2][attribute]
    return read_hierarchy(ARX / "hierarchies" / f"{attribute}.csv")


def entropy_without(left_out: str, theirs: Mapping[str, float]) -> float:
    """`q_nue_mean` over the attributes of which ARX gives one: the bits that are kept of theirs."""
    _, table = adult()
    kept = most = 0.0
    for n in KNOWN:
        if n != left_out:
            share = np.bincount(table.columns[table.index(n)]) / table.rows
            bits = float(-(share[share > 0] * np.log2(share[share > 0])).sum())
            kept, most = kept + bits * theirs[f"nue_{n}"], most + bits
    return kept / most


def record_error(texts: pl.DataFrame) -> float:
    """`q_recordse` where ages are numbers to ARX: `*` is as wide as the ages that occur."""
    hierarchies = {n: read_hierarchy(ARX / "hierarchies" / f"{n}.csv") for n in KNOWN if n != "age"}
    whole = by_hierarchies(hierarchies, OTHERS)
    own = {**whole.document.attributes, "age": adult()[0].document.attributes["age"]}
    narrow = Schema(whole.document.model_copy(update={"attributes": own}), hierarchies)
    people = read_table(ARX / "adult.csv", narrow)
    release, group = read_release_rows(texts, narrow, attributes=people.attributes)
    return utility.record_error_kept(release, people, group).value


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


@cache
def of_testdata() -> dict[str, float]:
    """What sdcMicro says of testdata.csv and of what was made of it."""
    schema = read_schema(SDCMICRO / "td.toml").confirmed()
    table = read_table(SDCMICRO / "testdata.csv", schema)
    keys = key_counts(table)
    linked = run_link(table.as_release(), table=table, subsets=0, margins=False).document.findings
    risk = {f.id: f.value for f in linked}
    release = read_release(SDCMICRO / "testdata_ls.csv", schema, attributes=table.attributes)
    apart, together = wildcard_counts(release, table, alpha=0), wildcard_counts(release, table)
    chance = keys.count / keys.weight
    one, two = (keys.count == n for n in (1, 2))
    stays = 1 - chance
    of_one, of_two = -np.log(chance) * chance / stays, (chance * np.log(chance) + stays) * chance / stays**2
    each = np.where(one, of_one, np.where(two, of_two, chance / (keys.count - stays)))  # an approximation from 3 on
    with (SDCMICRO / "testdata_individual_risk.csv").open() as file:
        rows = sorted((float(row["fk"]), float(row["Fk"]), float(row["risk"])) for row in csv.DictReader(file))
    repeated = [np.repeat(column, keys.count) for column in (keys.count, keys.weight, each)]
    assert rows == pytest.approx(np.array(sorted(zip(*repeated, strict=True))), rel=1e-9)
    return {
        "keys": len(keys.names),
        "weight": float(table.weight[0]) if table.weight is not None else 0,
        "alone": int((keys.count == 1).sum()),
        "below 3": int(keys.count[keys.count < 3].sum()),
        "expected": float(each @ keys.count),
        "ours": float(risk["benedetti_franconi.record_risk.mean"] or 0) * table.rows,
        "mean": float(risk["benedetti_franconi.record_risk.mean"] or 0),
        "max": float(risk["benedetti_franconi.record_risk.max"] or 0),
        "withheld": sum(read_sdcmicro("testdata_ls")[n].null_count() for n in keys.names),
        "k, NA any": together.k,
        "risk, NA any": together.mean_risk(),
        "k, NA apart": apart.k,
        "alone, NA apart": int(apart.rows[apart.count == 1].sum()),
        "below 3, NA apart": int(apart.rows[apart.count < 3].sum()),
        "distances, mixed": distance_risk(list(numbers("testdata.csv")), list(numbers("testdata_mixed.csv"))).value,
        "distances, PRAM": distance_risk(
            list(numbers("testdata.csv")), list(numbers("testdata_recode_pram.csv"))
        ).value,
    }


def read_sdcmicro(name: str) -> pl.DataFrame:
    return pl.read_csv(SDCMICRO / f"{name}.csv", infer_schema=False, null_values=["NA", ""])


def nearest_right() -> float:
    """Share of people whose nearest row is theirs: codes as numbers in standard deviations, `NA` any value."""
    keys = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "age")
    people, rows = (
        read_sdcmicro(name).select(pl.col(keys).cast(pl.Float64)).to_numpy()
        for name in ("testdata_ageband", "testdata_recode_pram")
    )
    people, rows = people / people.std(axis=0), rows / people.std(axis=0)
    kinds, kind = np.unique(people, axis=0, return_inverse=True)
    shown, cell, times = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    far = np.nansum((kinds[:, None] - shown) ** 2, axis=2)
    near = far <= far.min(axis=1, keepdims=True) + 1e-9
    return float((near[kind.ravel(), cell.ravel()] / (near @ times)[kind.ravel()]).mean())


def digits(value: float, places: int) -> str:
    """As the README writes shares: without a leading 0."""
    return f"{value:.{places}f}".removeprefix("0")


def test_every_number_of_the_readme() -> None:
    """Made of our own numbers, the README's sentences are found in it; what is left are parameters and versions."""
    text = " ".join((ARX.parent / "README.md").read_text().split())
    said_of = [f"({adult()[1].rows:,} rows"]
    for name in FILES:
        found = of_classes(opened(name).release)
        row = " | ".join(f"{found[key]:.0f}" for key in ("k", "classes", "suppressed"))
        highest = digits(found["pros_highest"], 5).rstrip("0")
        said_of.append(f"| {row} | {highest} | {digits(found['marketer'], 6)} |")
    mean, band = (opened(name) for name in ("k5_micro_mean", "k5_micro_as_band"))
    own = np.array(mean.table.attributes[mean.table.index("age")].values)[mean.table.columns[mean.table.index("age")]]
    shown = mean.texts["age"].to_numpy()
    said_of.append(f"only {(shown == own).sum():,} of {(shown != '*').sum():,} shown ages are true")
    assert of_classes(band.release) == of_classes(opened("k5_micro_set").release)
    schema, table = adult()
    subset = read_release(ARX / "dpresence_subset.csv", schema, attributes=table.attributes)
    found = of_classes(subset, table)
    delta = next(f.value for f in run_check(subset, population=table).findings if f.measure == "delta_presence")
    said_of.append(
        f"| {found['k']} | {found['classes']} | {found['suppressed']} | {digits(found['pros_highest'], 1)}; "
        f"journalist {digits(found['jour_highest'], 6)} | journalist's marketer {digits(found['marketer'], 6)}; "
        f"delta {digits(float(delta or 0), 4)} |"
    )
    example = opened("example_deid_subset_output")
    found, inside = of_classes(example.release), research_subset()
    hidden = (example.texts["sex"] == "*").to_numpy()
    assert hidden[~inside].all()
    said_of += [
        f"| {found['k']} | {found['classes']} | {found['suppressed']}, of them {(hidden & inside).sum()} in the subset "
        f"| {digits(found['pros_highest'], 1)} |",
        f"{inside.sum():,} of {len(inside):,} rows in examples 1",
    ]
    schema = project_schema(ARX / "example5.deid")
    table = read_table(ARX / "example5.deid", schema)
    assert read_release(ARX / "example5.deid", schema, attributes=table.attributes).class_sizes().min() == 5
    of = of_testdata()
    with (SDCMICRO / "francdat_expected.csv").open() as file:
        risks = [float(row["rk"]) for row in csv.DictReader(file)]  # compared in test_wildcards
    said_of += [
        f"({' '.join(digits(risk, 4) for risk in risks)})",
        f"{of['keys']} keys, weight {of['weight']:.0f}",
        f"{of['alone']} with fk=1, {of['below 3']} below 3, expected re-identifications {of['expected']:.4f}, "
        f"mean {digits(of['mean'], 6)}, max {digits(of['max'], 6)}",
        f"{of['withheld']} cells NA",
        f"sdcMicro: k={of['k, NA any']}, global risk {digits(of['risk, NA any'], 6)}",
        f"k={of['k, NA apart']}, {of['alone, NA apart']} alone, {of['below 3, NA apart']} below 3",
        f"distance-based risk {digits(of['distances, mixed'], 8)} |",
        f"distance-based risk {digits(of['distances, PRAM'], 6)};",
        f"nearest row right {100 * nearest_right():.2f}%",
    ]
    for part in said_of:
        assert part in text, part
        text = text.replace(part, "", 1)
    for parameter in PARAMETERS:
        assert parameter in text, parameter
        text = text.replace(parameter, "")
    assert not re.findall(r"[^.]{0,40}\d[^.]{0,20}", re.sub(r"\b(k5|example5?|francdat|testdata)[_.]?\w*", "", text))


PARAMETERS = (  # how files were made and by which versions: no results
    "Apache-2.0", "GPL-2", "CC BY 4.0", "ARX 3.7", "sdcMicro 5.8.1", "k=5, suppression <= 4%", "k=5, local recoding",
    "bottom <20, top >=70", "(0,.3)-presence", "(2, 1e-5)-differential privacy", ", 4 and 5", "Key1-4",
    "local suppression k=3", "MDAV of 3", "recoded by 10", "codes* 1..9",
)  # fmt: skip


def research_subset() -> np.ndarray:
    with zipfile.ZipFile(ARX / "example.deid") as archive:
        rows = archive.read("data/input.csv").count(b"\n") - 1
        inside = configuration(archive.read("output/config.dat"), rows).subset
    assert inside is not None
    return inside


def test_where_sdcmicros_formula_is_an_approximation() -> None:
    assert f"{of_testdata()['ours']:.4f}" == "10.7755"


def test_the_nearest_row_by_our_axes() -> None:
    schema = read_schema(SDCMICRO / "td_age.toml").confirmed()
    table = read_table(SDCMICRO / "testdata_ageband.csv", schema)
    release = read_release(SDCMICRO / "testdata_recode_pram.csv", schema, attributes=table.attributes)
    names = [a.name for a in release.attributes if a.role == "quasi-identifier"]
    published = published_of(release, names, np.arange(table.rows))
    register = register_of_tables([table], [a for a in table.attributes if a.name in names])
    register = replace(register, row=np.arange(table.rows))
    assert f"{100 * reid(link_by_distance(published, register)).value:.2f}" == "17.52"
