"""Attributes: from text to code, for every kind."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.data.attribute import Attribute, Kind, Role, bin_edges, canonical, position
from unveil.data.schema import Schema, SchemaDocument
from unveil.errors import SchemaError


def attribute(observed=None, missing=(), decimal=".", **declared) -> Attribute:
    """The attribute `x` of a schema with these keys."""
    declared = {"role": "quasi-identifier", **declared}
    document = SchemaDocument.model_validate({"version": 1, "missing": list(missing), "attributes": {"x": declared}})
    return Schema(document).attribute("x", observed, decimal=decimal)


@pytest.mark.parametrize(
    ("text", "decimal", "place"),
    [
        ("17", ".", 17),
        (" -1.5 ", ".", -1.5),
        ("+3e2", ".", 300),
        (".5", ".", 0.5),
        ("1,5", ".", None),
        ("1,234.5", ".", None),
        ("1,5", ",", 1.5),
        ("-0,25", ",", -0.25),
        ("17", ",", 17),
        ("1.234,5", ",", 1234.5),
        ("1.234.567", ",", 1234567),
        ("1.234", ",", None),  # either 1234 or 1.234: not for us to say
        ("1.5", ",", None),
        ("0.123,5", ",", None),
        ("12.34,5", ",", None),
        ("1,234.5", ",", None),
        ("1,2,3", ",", None),
        ("", ".", None),
        ("inf", ".", None),
        ("-Infinity", ".", None),
        ("nan", ".", None),
        ("1e999", ".", None),
        ("1_000", ".", None),
        ("0x10", ".", None),
        ("١٢", ".", None),
        ("1 2", ".", None),
    ],
)
def test_numbers(text, decimal, place):
    assert position(text, Kind.NUMERIC, decimal) == place


@pytest.mark.parametrize(
    "text", ["20240131", "2024-W05", "2024-W05-1", "2024-1-31", "31.01.2024", "2024-02-30", "2024-01-31T00:00"]
)
def test_only_one_way_to_write_a_date(text):
    assert position(text, Kind.DATE) is None


def test_dates():
    place = position(" 2024-01-31 ", Kind.DATE)
    assert place is not None
    assert canonical(place, Kind.DATE) == "2024-01-31"


def test_categories():
    found = attribute(domain=["b", "a"])
    assert found.values == ("b", "a")
    assert found.encode(["a", "b", "c", " a", ""]).tolist() == [1, 0, -1, -1, -1]


def test_categories_of_other_types():
    found = attribute(domain=[True, 1, 9007199254740993, "1.0"])
    assert found.values == ("true", "1", "9007199254740993", "1.0")


def test_numbers_are_read_however_they_are_written():
    found = attribute(kind="numeric", domain={"from": 1, "to": 2, "step": 0.25})
    assert found.values == ("1", "1.25", "1.5", "1.75", "2")
    assert found.encode(["1.0", "1.250", "01", " 2 ", "1.3", "2.25", "x"]).tolist() == [0, 1, 0, 4, -1, -1, -1]
    assert found.encode(["1,5", "1.5"], ",").tolist() == [2, 2]  # the domain's own text always counts


@given(st.integers(-(10**6), 10**6), st.integers(1, 999), st.integers(1, 40), st.integers(0, 6))
def test_every_value_of_a_grid_is_found(first, stride, count, decimals):
    unit = 10**decimals
    texts = [f"{(first + i * stride) / unit:.{decimals}f}" for i in range(count)]
    found = attribute(kind="numeric", domain={"from": float(texts[0]), "to": float(texts[-1]), "step": stride / unit})
    assert found.encode(texts).tolist() == list(range(count))
    assert found.codes == count


def test_large_numbers_with_decimals_are_found():
    found = attribute(kind="numeric", domain={"from": 8e9, "to": 8e9 + 3, "step": 0.1})
    assert found.encode(["8000000000.3", "8000000002.9"]).tolist() == [3, 29]


def test_dates_are_coded_in_order():
    found = attribute(kind="date", observed=["2024-03-01", "2023-01-01", "?"], missing=["?"])
    assert found.values == ("2023-01-01", "2024-03-01")
    assert found.encode(["2024-03-01", "2024-03-02", "?"]).tolist() == [1, -1, -2]


def test_missing_as_a_category_is_last():
    document = {
        "version": 1,
        "missing": ["?", ""],
        "attributes": {"x": {"role": "quasi-identifier", "kind": "numeric", "missing": "category", "domain": [3, 1]}},
    }
    found = Schema(SchemaDocument.model_validate(document)).attribute("x")
    assert found.values == ("1", "3", "?")
    assert (found.codes, found.real) == (3, 2)
    assert found.encode(["", "?", "3", "2"]).tolist() == [2, 2, 1, -1]
    assert found.positions().tolist() == [1, 3, 3]


def test_a_missing_token_that_is_a_number_leaves_the_domain():
    document = {
        "version": 1,
        "missing": ["99"],
        "attributes": {
            "x": {
                "role": "quasi-identifier",
                "kind": "numeric",
                "missing": "category",
                "domain": {"from": 97, "to": 100},
            },
            "y": {"role": "quasi-identifier", "kind": "numeric", "domain": {"from": 97, "to": 100}},
        },
    }
    schema = Schema(SchemaDocument.model_validate(document))
    found = schema.attribute("x")
    assert found.values == ("97", "98", "100", "99")
    assert found.low is not None
    assert found.low.tolist() == [97, 98, 100]
    assert found.encode(["99", "100"]).tolist() == [3, 2]
    assert schema.attribute("y").encode(["99"]).tolist() == [2]  # declared and refusing missing: a value


# --- bins


def test_bins_of_whole_numbers():
    found = attribute(kind="numeric", domain={"from": 17, "to": 90}, bins=[20, 30])
    assert found.values == ("[17,19]", "[20,29]", "[30,90]")
    assert not found.open_bins
    texts = ["17", "19", "19.5", "20", "29", "30", "90", "16", "91", "[20,29]"]
    assert found.encode(texts).tolist() == [0, 0, -1, 1, 1, 2, 2, -1, -1, 1]
    assert found.positions().tolist() == [18, 24.5, 60]


def test_bins_of_fractions():
    found = attribute(kind="numeric", domain={"from": 0, "to": 1, "step": 0.01}, bins=[0.5])
    assert found.values == ("[0,0.5)", "[0.5,1]")
    assert found.open_bins
    assert found.encode(["0", "0.4999", "0.5", "1", "1.01", "-0.1"]).tolist() == [0, 0, 1, 1, -1, -1]


def test_bins_without_ends():
    found = attribute(kind="numeric", bins=[20, 30])
    assert found.values == ("<20", "[20,30)", ">=30")
    assert found.encode(["-1e300", "19.9", "20", "30", "1e300"]).tolist() == [0, 0, 1, 2, 2]
    assert found.positions().tolist() == pytest.approx([20, 25, 30], rel=1e-12)


def test_bins_of_dates():
    from datetime import date

    found = attribute(kind="date", domain={"from": date(2020, 1, 1), "to": date(2022, 12, 31)}, bins=[date(2021, 1, 1)])
    assert found.values == ("[2020-01-01,2020-12-31]", "[2021-01-01,2022-12-31]")
    assert found.encode(["2020-12-31", "2021-01-01", "2023-01-01"]).tolist() == [0, 1, -1]


def test_a_cut_at_the_end_makes_a_bin_of_one_value():
    labels, low, high = bin_edges([90], Kind.NUMERIC, start=17, end=90, whole=True)
    assert labels == ("[17,89]", "[90,90]")
    assert (low.tolist(), high.tolist()) == ([17, 90], [89, 90])


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=6, unique=True).map(sorted),
    st.integers(-60, 0),
    st.integers(0, 60),
    st.booleans(),
)
def test_every_value_lies_in_exactly_one_bin(cuts, start, length, whole):
    end = start + length
    found = attribute(kind="numeric", domain={"from": start, "to": end, "step": 1 if whole else 0.5}, bins=cuts)
    places = np.arange(start, end + 0.25, 1 if whole else 0.5)
    codes = found.encode([canonical(p, Kind.NUMERIC) for p in places.tolist()])
    assert (codes >= 0).all()
    assert (np.diff(codes) >= 0).all()
    cuts_passed = [sum(start < c <= p for c in cuts) for p in places]
    assert codes.tolist() == cuts_passed


# --- the rest


def test_what_a_domain_cannot_be():
    for values, message in [((), "empty"), (("a", "b", "a"), "'a' appears twice"), (("a", "*"), "cannot be a value")]:
        with pytest.raises(SchemaError, match=message):
            Attribute("x", Role.SENSITIVE, Kind.CATEGORICAL, values)


@pytest.mark.parametrize(("codes", "dtype"), [(1, np.uint8), (256, np.uint8), (257, np.uint16), (65537, np.uint32)])
def test_the_smallest_type(codes, dtype):
    assert Attribute("x", Role.SENSITIVE, Kind.CATEGORICAL, tuple(map(str, range(codes)))).dtype is dtype


def test_kinds():
    assert [k.measured for k in Kind] == [False, False, True, True]
    assert [k.ordered for k in Kind] == [False, True, True, True]


def test_equal_attributes():
    one, same = attribute(domain=["a"]), attribute(domain=["a"])
    assert one == same
    assert hash(one) == hash(same)
    assert one != attribute(domain=["b"])
    assert one != "x"
