"""Columns that only look exact: noticed by pigeonhole, read as the bands that they were taken in, never believed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreign import ARX, SDCMICRO, needs_foreign_files
from one_round import run_audit
from small import QI, SENSITIVE, made_schema, made_table, masked_release
from unveil import catalog, read_release, read_schema, read_table
from unveil.audit.linking import run_link
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.data.rows import as_published
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.risk.perturbation import read_perturbed

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 99, "step": 1}},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "disease": {"role": SENSITIVE, "domain": ["flu", "hiv", "none"]},
    }
)


def people(rows: int = 400, seed: int = 3) -> Table:
    random = np.random.default_rng(seed)
    age = np.clip(random.normal(45, 17, rows).round().astype(int), 0, 99)
    return made_table(
        SCHEMA,
        *[
            (a, "fm"[s], ["flu", "hiv", "none"][d])
            for a, s, d in zip(age, random.integers(0, 2, rows), random.integers(0, 3, rows), strict=True)
        ],
    )


TABLE = people()


def published(low: np.ndarray, high: np.ndarray, table: Table = TABLE) -> Release:
    """A release in which each person's age is the interval from `low` to `high`; classes are groups."""
    _age, sex, disease = (column.astype(np.int64) for column in table.columns)
    ends, number = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
    regions = [Regions.intervals(100, *ends), Regions.singles(2), Regions.singles(3)]
    group = np.unique(number.ravel() * 2 + sex, return_inverse=True)[1]
    return build_release(table.attributes, regions, [BlockRows((0, 1, 2), group, (number.ravel(), sex, disease))])[0]


def in_bands(width: int, table: Table = TABLE) -> tuple[Release, Release]:
    """The same classes twice: with the mean age, rounded, and with the band that it was taken in."""
    age, sex, _ = (column.astype(np.int64) for column in table.columns)
    band = age // width
    kind = np.unique(band * 2 + sex, return_inverse=True)[1]
    mean = np.round(np.bincount(kind, weights=age) / np.bincount(kind)).astype(np.int64)[kind]
    return published(mean, mean, table), published(band * width, np.minimum(band * width + width - 1, 99), table)


@pytest.mark.parametrize("width", [10, 20, 25])
def test_a_class_mean_is_read_as_its_band(width: int) -> None:
    mean, band = in_bands(width)
    reading = read_perturbed(mean, TABLE)
    (column,) = reading.columns
    assert column.attribute == "age"
    assert f"band of {width}" in column.words
    assert column.rows > 100
    assert reading.release == band
    assert read_perturbed(band, TABLE).columns == ()


def test_the_audit_of_means_is_the_audit_of_bands_and_says_so() -> None:
    mean, band = in_bands(20)
    options = {"original": TABLE, "engine": Engine(seed=0)}
    found, fair = (run_audit({"release": one}, **options) for one in (mean, band))
    values = [{f.id: f.value for f in audit.document.findings if f.value is not None} for audit in (found, fair)]
    assert values[0] == values[1]
    assert any("age does not show true values" in text for text in found.document.diagnostics["remarks"])
    assert not any("true values" in text for text in fair.document.diagnostics["remarks"])
    assert found.document.diagnostics["releases"]["release"]["perturbed"] == ["age"]


def test_what_could_not_be_told_is_not_judged() -> None:
    """Noise and no word of it: nothing is within, and the reason names the column."""
    random = np.random.default_rng(5)
    noisy = np.clip(TABLE.columns[0].astype(np.int64) + random.integers(-30, 31, TABLE.rows), 0, 99)
    release = published(noisy // 3 * 3, noisy // 3 * 3)
    (column,) = read_perturbed(release, TABLE).columns
    assert column.attribute == "age"
    assert column.words == ""
    found = run_audit({"release": release}, original=TABLE, engine=Engine(seed=0))
    kinds = found.document.diagnostics["judgement"]["release"]["kinds"]
    for kind in ("singling out", "linking", "inference"):
        (row,) = [k for k in kinds if k["kind"] == kind]
        assert row["verdict"] in ("exceeded", "not judged"), kind
        assert row["verdict"] == "exceeded" or "age does not show true values" in row["sentence"]


def test_averages_of_neighbours_are_noticed_without_round_bands() -> None:
    """Five by five in the order of the ages, whatever the sex: MDAV of one column."""
    age = TABLE.columns[0].astype(np.int64)
    order = np.argsort(age, kind="stable")
    mean = np.empty_like(age)
    for start in range(0, len(age), 5):
        mean[order[start : start + 5]] = round(float(age[order[start : start + 5]].mean()))
    reading = read_perturbed(published(mean, mean), TABLE)
    (column,) = reading.columns
    assert column.words == "an average of neighbouring values"
    assert isinstance(reading.release, Release)
    width = reading.release.regions[0].sizes
    assert read_perturbed(reading.release, TABLE).columns == ()
    assert width.max() <= 20


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_bands_are_not_ages(first: int) -> None:
    """Ages cut by ten and exported as 1 to 9: whoever holds the original numbers its ages in the same way."""
    age, sex, disease = as_published(TABLE.attributes, TABLE.columns)
    number = np.unique((age - first) // 10, return_inverse=True)[1] + 1.0
    number[:7] = np.nan  # some are withheld
    masked = masked_release(TABLE.attributes, (number, sex, disease), (1,))
    reading = read_perturbed(masked, TABLE)
    (column,) = reading.columns
    assert column.attribute == "age"
    assert "number of its band of 10" in column.words
    read = reading.as_read(TABLE)
    shown = np.array([float(v) for v in read.attributes[0].values])[read.columns[0]]
    assert np.array_equal(shown[7:], number[7:])
    as_codes = run_link(masked, table=TABLE, group=np.arange(TABLE.rows), subsets=0)
    honest = run_link(reading.release, table=read, group=np.arange(TABLE.rows), subsets=0)
    assert [f.value for f in as_codes.document.findings] == [f.value for f in honest.document.findings]
    assert any("age does not show true values" in text for text in as_codes.document.diagnostics["remarks"])


def test_a_renumbering_of_categories_is_undone_by_how_often_they_occur() -> None:
    schema = made_schema(
        {"region": {"role": QI, "domain": ["1", "2", "3"]}, "disease": {"role": SENSITIVE, "domain": ["a", "b"]}}
    )
    table = made_table(schema, *([("1", "a")] * 50 + [("2", "b")] * 30 + [("3", "a")] * 20))
    turned = made_table(schema, *([("2", "a")] * 50 + [("3", "b")] * 30 + [("1", "a")] * 20))
    reading = read_perturbed(turned.as_release(), table)
    assert [c.attribute for c in reading.columns] == ["region"]
    assert "another number" in reading.columns[0].words
    assert isinstance(reading.release, Release)
    assert np.bincount(reading.release.blocks[0].region(0)).tolist() == [50, 30, 20]


def test_an_unmasked_column_of_a_masked_release_that_was_changed_counts_as_masked() -> None:
    age, sex, disease = as_published(TABLE.attributes, TABLE.columns)
    all_women = np.zeros_like(sex)
    reading = read_perturbed(masked_release(TABLE.attributes, (age + 0.5, all_women, disease), (0,)), TABLE)
    assert reading.release.perturbed
    assert tuple(reading.release.perturbed) == (0, 1)
    assert reading.columns[0].attribute == "sex"


def test_more_missing_cells_than_people_who_lack_a_value_are_withheld_ones() -> None:
    """sdcMicro's NA read as the category "missing": no column is doubted for it, and no risk becomes smaller."""
    schema = made_schema(
        {"age": {"role": QI, "domain": ["20", "30"], "missing": "category"}, "disease": {"role": SENSITIVE}},
        missing=[""],
    )
    table = made_table(schema, *([("20", "flu")] * 30 + [("30", "hiv")] * 30 + [("", "flu")]))
    withheld = made_table(schema, *([("20", "flu")] * 25 + [("", "flu")] * 16 + [("30", "hiv")] * 20))
    assert read_perturbed(withheld.as_release(), table).columns == ()


@given(st.integers(0, 10_000), st.sampled_from(["mondrian:k=3", "mondrian:k=4,relaxed=true", "full_domain:k=3"]))
def test_a_release_that_holds_the_truth_is_never_doubted(seed: int, scheme: str) -> None:
    table = people(60, seed)
    made = catalog.anonymizer(scheme).anonymize(table, Engine(seed=seed)).release
    assert read_perturbed(made, table).columns == ()
    assert read_perturbed(table.as_release(), table).columns == ()


@needs_foreign_files
def test_arx_means_are_read_as_the_bands_arx_took_them_in() -> None:
    schema = read_schema(ARX / "schema.toml").confirmed()
    table = read_table(ARX / "adult.csv", schema)
    files = ("k5_micro_mean", "k5_micro_as_band", "k5_local", "k5_topbottom", "k5_micro_set")
    mean, band, *others = (read_release(ARX / f"{name}.csv", schema, attributes=table.attributes) for name in files)
    reading = read_perturbed(mean, table)
    assert reading.release == band
    assert [c.attribute for c in reading.columns] == ["age"]
    assert all(read_perturbed(one, table).columns == () for one in (band, *others))


@needs_foreign_files
def test_ages_that_sdcmicro_exported_as_codes_are_not_ages() -> None:
    folder = SDCMICRO
    schema = read_schema(folder / "td_age.toml").confirmed()
    table, bands = (read_table(folder / f"{name}.csv", schema) for name in ("testdata", "testdata_ageband"))
    masked = read_release(folder / "testdata_recode_pram.csv", schema, attributes=table.attributes)
    reading = read_perturbed(masked, table)
    read = reading.as_read(table)
    place, other = read.index("age"), bands.index("age")
    texts = np.array(read.attributes[place].values)[read.columns[place]]
    assert (texts == np.array(bands.attributes[other].values)[bands.columns[other]]).all()
