"""Preparation: what a schema makes of the columns of a file, on tables worked by hand, and the same for releases."""

from datetime import date, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.data.attribute import Kind
from unveil.data.icd10 import icd10_part, icd10_rows, is_icd10
from unveil.data.notation import FileNotation
from unveil.data.preparation import national_date, prepare_columns, prepare_texts, written_date
from unveil.data.schema import read_schema
from unveil.data.schema.document import DATE_FORMATS
from unveil.data.table import Table
from unveil.errors import SchemaError, TableError
from unveil.formats.releases import read_release
from unveil.formats.tables import read_table

SCHEMA = """
version = 1
confirmed = true
missing = ["k.A.", ""]

[attributes.Geburtsdatum]
role = "identifier"

[attributes.Alter]
role = "quasi-identifier"
kind = "numeric"
prepare = { from = "Geburtsdatum", date = "dd.mm.yyyy", age_at = "Aufnahme" }
missing = "category"

[attributes.Quartal]
role = "quasi-identifier"
prepare = { from = "Aufnahme", date = "dd.mm.yyyy", part = "quarter" }

[attributes.Tage]
role = "quasi-identifier"
kind = "numeric"
prepare = { from = "Entlassung", date = "dd.mm.yyyy", days_since = "Aufnahme" }

[attributes.Region]
role = "quasi-identifier"
prepare = { from = "PLZ", prefix = 2 }

[attributes.Land]
role = "insensitive"
prepare = { from = "PLZ", mapping = "land.csv" }

[attributes.Kasse]
role = "quasi-identifier"
prepare = { trim = true, recode = { gkv = "GKV" } }
missing = "category"

[attributes.Betrag]
role = "insensitive"
kind = "numeric"
prepare = { unit = "€", decimal = ",", thousands = ".", missing = ["offen"] }
missing = "category"

[attributes.Kapitel]
role = "sensitive"
prepare = { from = "ICD", icd10 = "chapter" }
"""
DATA = """Geburtsdatum;Aufnahme;Entlassung;PLZ;Kasse;Betrag;ICD
01.03.1980;28.02.2020;03.03.2020;48143;GKV ;"€ 1.234,50";E11.9
01.03.1980;01.03.2020;01.03.2020;48155;gkv;12,00 €;I20
k.A.;31.12.2021;02.01.2022;01099;k.A.;offen;C50.1
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "data.csv").write_text(DATA, encoding="utf-8")
    (tmp_path / "land.csv").write_text("48143;NRW\n48155;NRW\n01099;Sachsen\n", encoding="utf-8")
    return tmp_path


def cells(table: Table) -> dict[str, list[str]]:
    return {
        a.name: [a.values[code] for code in column.tolist()]
        for a, column in zip(table.attributes, table.columns, strict=True)
    }


def test_every_key_on_a_table_worked_by_hand(folder):
    found = cells(read_table(folder / "data.csv", read_schema(folder / "schema.toml")))
    assert found == {
        "Alter": ["39", "40", "k.A."],  # the birthday itself counts, the day before it does not
        "Quartal": ["2020-Q1", "2020-Q1", "2021-Q4"],
        "Tage": ["4", "0", "2"],  # 2020 has a 29th of February
        "Region": ["48", "48", "01"],
        "Land": ["NRW", "NRW", "Sachsen"],
        "Kasse": ["GKV", "GKV", "k.A."],
        "Betrag": ["1234.5", "12", "k.A."],
        "Kapitel": [
            "IV Endocrine, nutritional and metabolic diseases",
            "IX Circulatory system",
            "II Neoplasms",
        ],
    }


def test_a_release_is_read_alike_but_nothing_is_derived_from_it(folder):
    schema = read_schema(folder / "schema.toml")
    table = read_table(folder / "data.csv", schema)
    (folder / "release.csv").write_text(
        "Alter;Kasse;Betrag\n[39,40];GKV ;€1.234,50\n[39,40];gkv;12\nk.A.;k.A.;offen\n", encoding="utf-8"
    )
    release = read_release(folder / "release.csv", schema, attributes=table.attributes)
    assert release.rows == 3
    assert release.groups == 2  # the two spellings of GKV are one value, as in the original


def test_a_release_may_have_the_name_that_the_schema_only_changes(tmp_path):
    """Nothing is derived from it: the cells are those of the attribute."""
    (tmp_path / "schema.toml").write_text(
        'version = 1\nconfirmed = true\n[attributes.age]\nrole = "quasi-identifier"\nkind = "numeric"\n'
        'domain = { from = 0, to = 99 }\nprepare = { from = "Alter" }\n'
        '[attributes.s]\nrole = "sensitive"\ndomain = ["x", "y"]\n'
    )
    schema = read_schema(tmp_path / "schema.toml")
    texts = "{}\n[0,9];x\n[0,9];y\n"
    for name in ("Alter", "age"):
        (tmp_path / f"{name}.csv").write_text(texts.format(f"{name};s"))
    both = [read_release(tmp_path / f"{name}.csv", schema) for name in ("Alter", "age")]
    assert both[0] == both[1]


def test_a_release_that_publishes_a_source_is_refused(folder):
    schema = read_schema(folder / "schema.toml")
    (folder / "release.csv").write_text("PLZ;Kasse\n48143;GKV\n", encoding="utf-8")
    with pytest.raises(Exception, match="publishes 'PLZ', of which the schema makes"):
        read_release(folder / "release.csv", schema)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("01.03.1980;28.02", "1980/03/01;28.02", "line 2, Geburtsdatum: '1980/03/01' is not a date written dd.mm.yyyy"),
        ("03.03.2020", "03.02.2020", "line 2, Entlassung: 2020-02-28 is after 2020-02-03"),
        ("12,00", "12,0,0", "line 3, Betrag: '12,0,0' is not a number with these marks"),
        ("I20", "X", "line 3, ICD: 'X' is not an ICD-10 code"),
        (";01099;", ";99999;", "line 4, PLZ: '99999' is not in the mapping"),
        ("Entlassung", "Abgang", "no column 'Entlassung', of which"),
    ],
)
def test_what_cannot_be_prepared_is_one_line_with_its_place(folder, old, new, said):
    (folder / "data.csv").write_text(DATA.replace(old, new), encoding="utf-8")
    with pytest.raises(TableError, match=said.replace(".", r"\.")):
        read_table(folder / "data.csv", read_schema(folder / "schema.toml"))


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        ('{ prefix = 2, part = "year" }', "two derivations"),
        ('{ date = "d.m.y" }', "is unknown; choose from"),
        ('{ decimal = ",", thousands = "," }', "the same mark"),
        ('{ date = "dd.mm.yyyy", decimal = "," }', "dates or numbers, not both"),
        ('{ mapping = "../land.csv" }', "outside the schema's folder"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(tmp_path, prepare, said):
    path = tmp_path / "schema.toml"
    path.write_text(f'version = 1\n[attributes.x]\nrole = "insensitive"\nprepare = {prepare}\n', encoding="utf-8")
    with pytest.raises(SchemaError, match=said):
        read_schema(path)


def test_a_domain_may_stand_in_a_file(tmp_path):
    (tmp_path / "d.csv").write_text('b\n"a;c"\n', encoding="utf-8")
    path = tmp_path / "schema.toml"
    path.write_text(
        'version = 1\n[attributes.x]\nrole = "insensitive"\ndomain = { file = "d.csv" }\n', encoding="utf-8"
    )
    assert read_schema(path).attribute("x").values == ("b", "a;c")
    (tmp_path / "d.csv").write_text("b;c\n", encoding="utf-8")
    with pytest.raises(SchemaError, match="write one value a line"):
        read_schema(path)


@given(day=st.dates(min_value=date(1600, 1, 1)), form=st.sampled_from([*DATE_FORMATS]))
def test_a_day_survives_every_format(day, form):
    assert national_date(written_date(day.isoformat(), form), form) == day


@pytest.mark.parametrize(
    ("text", "month"),
    [("3-Jan-2019", 1), ("03-Mär-2019", 3), ("3-févr.-2019", 2), ("3-dic-2019", 12), ("3-Foo-2019", 0)],
)
def test_months_by_their_names_in_six_languages(text, month):
    assert national_date(text, "dd-mmm-yyyy") == (date(2019, month, 3) if month else None)


@given(born=st.dates(date(1900, 1, 1), date(2020, 1, 1)), days=st.integers(0, 36_000))
def test_ages_are_completed_years(born, days):
    """Against counting birthdays one by one."""
    from unveil.data.preparation import _age

    at = born + timedelta(days=days)
    birthdays = sum(
        (at.month, at.day) >= (born.month, born.day) or year < at.year for year in range(born.year + 1, at.year + 1)
    )
    assert _age(born, at) == str(birthdays)


def test_icd10_is_nested_and_covers_its_chapters():
    codes = [f"{letter}{number:02d}.{digit}" for letter in "ACEIKMZ" for number in range(100) for digit in (0, 9)]
    valid = [code for code in codes if is_icd10(code)]
    assert len(valid) > 1000
    above: dict[str, str] = {}
    for row in icd10_rows(valid):
        for low, high in pairwise(row[1:]):
            assert above.setdefault(low, high) == high
    assert icd10_part("e11.90", "block") == "E10-E14"
    assert icd10_part("C50", "chapter") == "II Neoplasms"
    assert not is_icd10("E95")
    assert not is_icd10("Erkältung")


def test_without_preparation_columns_stay_as_they_are(tmp_path):
    from unveil.data.table import CodedColumn

    path = tmp_path / "schema.toml"
    path.write_text('version = 1\n[attributes.x]\nrole = "insensitive"\n', encoding="utf-8")
    columns = {"x": CodedColumn([" a", "b"], np.array([1, 0]))}
    assert prepare_columns(read_schema(path), columns)["x"] is columns["x"]


@pytest.mark.parametrize(
    "cell",
    ["1.5", "[1.5,3)", "[ 1.5, 3.25 ]", "{1.5,2,[4.5,7]}", "1.5-3.5", "-1.5~-0.5", ">=2.5", "[20,30)", "1.5e-07"],
)
@pytest.mark.parametrize("group", ["", ', thousands = " "'])
def test_a_cell_with_the_other_decimal_mark_is_read_back(folder, cell, group):
    """A column in commas of a file in points, and a column in points of a file in commas."""
    (folder / "s.toml").write_text(
        "version = 1\nconfirmed = true\n"
        + "".join(
            f'[attributes.{name}]\nrole = "insensitive"\nkind = "numeric"\nprepare = {{ decimal = "{mark}"{group} }}\n'
            for name, mark in (("comma", ","), ("point", "."))
        )
    )
    attributes = read_schema(folder / "s.toml").document.attributes
    written = FileNotation(decimals={"comma": ","}).cell(cell, "comma", Kind.NUMERIC)
    assert "." not in written
    assert prepare_texts([written], attributes["comma"].prepare, (), ".") == [cell]
    as_commas = FileNotation(decimal=",").cell(cell, "other", Kind.NUMERIC)
    kept = FileNotation(decimal=",", decimals={"point": "."}).cell(cell, "point", Kind.NUMERIC)
    assert kept == cell
    assert prepare_texts([kept], attributes["point"].prepare, (), ",") == [as_commas]
