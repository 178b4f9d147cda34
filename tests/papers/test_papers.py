"""Every published figure is found, or its file says why not; the exact ones are named here once more."""

import importlib
from pathlib import Path

import pytest

import papers
from papers import boreale_2020, kassem_2019, kifer_2009, li_2010
from papers._printed import level
from realdata.adult import AdultMissing, read_adult
from unveil.anonymizers.anatomy import Anatomy
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import RequirementError
from unveil.privacy.models import NTCloseness, TCloseness

FOLDER = Path(papers.__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))


@pytest.fixture(scope="module")
def adult() -> dict[str, list[str]]:
    try:
        return read_adult(download=False)
    except AdultMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_agrees_or_says_why_not(name):
    figures = list(importlib.import_module(f"papers.{name}").reproduce())
    assert figures
    assert [f.name for f in figures if f.agrees is False and not f.why_not] == []


@pytest.mark.parametrize(
    "name", [n for n in NAMES if hasattr(importlib.import_module(f"papers.{n}"), "reproduce_on_adult")]
)
def test_every_figure_on_adult_agrees_or_says_why_not(name, adult):
    figures = list(importlib.import_module(f"papers.{name}").reproduce_on_adult(adult))
    assert figures
    assert [f.name for f in figures if f.agrees is False and not f.why_not] == []


def test_earth_mover_distances_of_the_thesis_are_exact():
    found = [f.ours for f in li_2010.reproduce() if f.name.startswith("EMD")]
    assert found == pytest.approx([3 / 8, 1 / 6, 1 / 2, 5 / 18, 4 / 9, 7 / 27], abs=1e-12)


def test_table_2_4_is_1000_close_and_not_close():
    table = li_2010.table_2_4()
    assert table.rows == 3000
    assert sorted(table.sizes) == [400, 600, 2000]
    histograms, _ = table.histograms(table.index("disease"))
    assert not TCloseness(t=0.1).holds(level(table, "t_closeness")).all()
    assert NTCloseness(n=1000, t=0.1).holds(level(table, "n_t_closeness.1000", n=1000)).all()
    assert level(table, "n_t_closeness.1001", n=1001) == pytest.approx(0.5 - 700 / 3000)  # no superset but the whole
    assert histograms.sum() == 3000


def test_table_2_2_lets_the_similarity_attack_through():
    """Every salary of the first group is low, every disease one of the stomach: l-diversity sees nothing, t does."""
    table = li_2010.table_2_2()
    assert level(table, "distinct_l", "disease") == 3
    assert level(table, "t_closeness", "salary") == pytest.approx(0.375)
    assert level(table, "t_closeness", "disease") == pytest.approx(4 / 9)
    assert level(li_2010.table_2_5(), "t_closeness", "salary") == pytest.approx(1 / 6)


def test_table_1b_of_differential_inference_testing_is_exact():
    assert kassem_2019.distances() == pytest.approx([float(d) for d in kassem_2019.DISTANCES], abs=1e-15)


def test_removing_record_4_gives_table_2b():
    release = kassem_2019.sanitized(without=3)
    assert sorted(release.sizes) == [2, 2]


def test_anatomy_tables_hide_the_link():
    for release, size in ((kifer_2009.table_5(), 4), (kifer_2009.table_6(), 2)):
        assert len(release.blocks) == 2
        assert set(release.sizes) == {size}
        errors = kifer_2009.random_worlds_errors(release)
        assert errors == pytest.approx((2000 * (1 - 1 / size), 1000 * (1 - 1 / size), 1 / size))


def test_table_i_b_is_what_anatomy_of_c_is_not():
    """Local recoding publishes linked cells in wide regions, Anatomy exact cells whose link is hidden."""
    recoded, bucketized = boreale_2020.table_i("b"), boreale_2020.table_i("c")
    assert len(recoded.blocks) == 1
    assert len(bucketized.blocks) == 2
    assert recoded.regions[1].sizes.max() == 10  # 4550*
    assert bucketized.regions[1].sizes.max() == 1
    assert level(bucketized, "k_anonymity") == 1


def test_anatomy_is_eligible_up_to_seven_on_adult(adult):
    from realdata.adult import adult_schema

    names = (*kifer_2009.QUASI_IDENTIFIERS, "occupation")
    schema = adult_schema(adult, kifer_2009.QUASI_IDENTIFIERS)
    table = Table.from_columns(schema, {name: adult[name] for name in names})
    assert Anatomy(l=7).anonymize(table, Engine(seed=0)).release.sizes.min() >= 7
    with pytest.raises(RequirementError, match="l=7 can be met"):
        Anatomy(l=8).anonymize(table, Engine(seed=0))
