"""One published cell: what it may say, in which order it is read, and what is wrong with it."""

import json
from datetime import date
from typing import Any

import pytest

from small import QI, made_schema
from unveil.data.attribute import Attribute, Kind
from unveil.data.regions import Regions
from unveil.formats.cells import CellError, read_cells, shown_values, write_cells


def made(ladder: list[list[str]] | None = None, **declared: Any) -> Attribute:
    schema = made_schema(
        {"x": {"role": QI, **declared}}, {"x": ladder} if ladder is not None else None, missing=["?", "", "n/a"]
    )
    return schema.attribute("x")


def read(attribute: Attribute, text: str, decimal: str = ".") -> list[str]:
    """The values that one cell stands for."""
    regions = read_cells([text], attribute, decimal)
    return [attribute.values[c] for c in regions.members(0)]


def fault(attribute: Attribute, text: str) -> str:
    with pytest.raises(CellError) as error:
        read_cells(["*", text], attribute)
    assert error.value.args[1] == 1
    return str(error.value.args[0])


def written(attribute: Attribute, *values: str) -> str:
    region = Regions.sets(attribute.codes, [[attribute.values.index(v) for v in values]])
    (text,) = write_cells(region, attribute)
    assert read_cells([text], attribute) == region
    return text


AGE = made(kind="numeric", domain={"from": 18, "to": 24}, missing="category")
GRADE = made(kind="ordinal", domain=["low", "mid", "high", "top"], missing="category")
ZIP = made(
    [row.split() for row in ("45501 4550* 45*** *", "45502 4550* 45*** *", "45601 4560* 45*** *", "9 9 9x *")],
    domain=["45501", "45502", "45601", "9"],
)
DAY = made(kind="date", domain={"from": date(2024, 2, 28), "to": date(2024, 3, 2)})
BINS = made(kind="numeric", domain={"from": 0, "to": 99}, bins=[18, 65], missing="category")
OPEN = made(kind="numeric", bins=[18.5, 65])
DATES = made(kind="date", bins=[date(2024, 1, 1)], missing="category")


@pytest.mark.parametrize(
    ("attribute", "text", "values"),
    [
        (AGE, "20", ["20"]),
        (AGE, "20.0", ["20"]),
        (AGE, " 20 ", ["20"]),
        (AGE, "?", ["?"]),
        (AGE, "n/a", ["?"]),
        (AGE, "", ["?"]),
        (AGE, "*", ["18", "19", "20", "21", "22", "23", "24", "?"]),
        (AGE, "[20,22]", ["20", "21", "22"]),
        (AGE, "[ 20 , 22 ]", ["20", "21", "22"]),
        (AGE, "[20-22]", ["20", "21", "22"]),
        (AGE, "[20 - 22.5]", ["20", "21", "22"]),
        (AGE, "[23,]", ["23", "24"]),
        (AGE, "[,19]", ["18", "19"]),
        (AGE, "[0,18]", ["18"]),
        (AGE, "[19.5,21.5]", ["20", "21"]),
        (AGE, "{20,24}", ["20", "24"]),
        (AGE, '{20,"24"}', ["20", "24"]),
        (AGE, "{20,?}", ["20", "?"]),
        (AGE, "{20,20}", ["20"]),
        (AGE, '"20"', ["20"]),
        (GRADE, "[low,high]", ["low", "mid", "high"]),
        (GRADE, '["mid",]', ["mid", "high", "top"]),
        (GRADE, "[,mid]", ["low", "mid"]),
        (ZIP, "4550*", ["45501", "45502"]),
        (ZIP, "45***", ["45501", "45502", "45601"]),
        (ZIP, "{4550*,9}", ["45501", "45502", "9"]),
        (ZIP, "9", ["9"]),
        (ZIP, "9x", ["9"]),
        (DAY, "2024-02-29", ["2024-02-29"]),
        (DAY, "[2024-02-29,2024-03-01]", ["2024-02-29", "2024-03-01"]),
        (DAY, "[,2024-02-29]", ["2024-02-28", "2024-02-29"]),
        (BINS, "17", ["[0,17]"]),
        (BINS, "[0,17]", ["[0,17]"]),
        (BINS, "[18,]", ["[18,64]", "[65,99]"]),
        (BINS, "[0,64]", ["[0,17]", "[18,64]"]),
        (OPEN, "18.5", ["[18.5,65)"]),
        (OPEN, "<18.5", ["<18.5"]),
        (OPEN, '{"[18.5,65)",<18.5}', ["<18.5", "[18.5,65)"]),
        (DATES, "[2024-01-01,]", [">=2024-01-01"]),
    ],
)
def test_what_a_cell_may_say(attribute: Attribute, text: str, values: list[str]) -> None:
    assert read(attribute, text) == values


def test_a_decimal_comma_is_read_where_the_file_has_one() -> None:
    half = made(kind="numeric", domain=[0.5, 1, 1.5])
    assert read(half, "0,5", ",") == ["0.5"]
    assert read(half, '{"0,5","1,5"}', ",") == ["0.5", "1.5"]
    assert read(half, '["0,5","1"]', ",") == ["0.5", "1"]
    assert shown_values(["0,5", "2"], Kind.NUMERIC, ",") == ["0,5", "2"]


def test_a_value_comes_before_a_label_before_a_notation() -> None:
    odd = made([["a", "{a,c}", "*"], ["b", "{b,c}", "*"], ["c", "{b,c}", "*"], ["{a,b}", "[x]", "*"]])
    assert read(odd, "{a,b}") == ["{a,b}"]
    assert read(odd, "{a,c}") == ["a"]
    assert read(odd, "{b,c}") == ["b", "c"]
    assert read(odd, "[x]") == ["{a,b}"]
    assert read(odd, '{"{a,b}",b}') == ["b", "{a,b}"]


@pytest.mark.parametrize(
    ("attribute", "text", "message"),
    [
        (AGE, "4x", "'4x' is not a value, interval or set of the domain (declared: 18 to 24); correct the"),
        (AGE, "25", "'25' is not a value"),
        (AGE, "[30,40]", "'[30,40]' holds no value of the domain"),
        (AGE, "[22,20]", "holds no value"),
        (AGE, "[a,20]", "an end is not a numeric value"),
        (AGE, "[?,20]", "an end is not a numeric value"),
        (AGE, "[20]", "is not an interval; write [low,high]"),
        (AGE, "[,]", "is not an interval"),
        (AGE, "[]", "is not an interval"),
        (AGE, "[1,2,3]", "is not an interval"),
        (AGE, "{}", "is an empty set"),
        (AGE, "{20,99}", "'99' in '{20,99}' is not a value"),
        (AGE, '{"20}', "a quoted value does not end"),
        (AGE, '{"20"21}', "a comma must follow a quoted value"),
        (AGE, '"99"', "'99' in '\"99\"' is not a value"),
        (GRADE, "[low,?]", "a missing value cannot end an interval"),
        (GRADE, "[low,best]", "'best' in '[low,best]' is not a value"),
        (GRADE, "[high,low]", "holds no value"),
        (ZIP, "[45501,45502]", "is an interval but x has no order; write a set {a,b} or set its kind"),
        (ZIP, "", "a missing value; set missing = \"category\" for x"),
        (ZIP, "zip\n=cmd()", "'zip\\n=cmd()' is not a value"),
        (BINS, "[0,20]", "cuts through a bin of x"),
        (OPEN, "[18.5,65]", "cuts through a bin of x"),
        (DAY, "[2024-2025]", "an end is not a date value"),
    ],
)  # fmt: skip
def test_what_a_cell_may_not_say(attribute: Attribute, text: str, message: str) -> None:
    assert message in fault(attribute, text)


@pytest.mark.parametrize(
    ("attribute", "values", "text"),
    [
        (AGE, ["20"], "20"),
        (AGE, ["20", "21"], "[20,21]"),
        (AGE, ["20", "24"], "{20,24}"),
        (AGE, ["20", "?"], "{20,?}"),
        (AGE, ["18", "19", "20", "21", "22", "23", "24"], "[18,24]"),  # all but missing
        (AGE, list(AGE.values), "*"),
        (GRADE, ["mid", "high"], "[mid,high]"),
        (ZIP, ["45501", "45502"], "4550*"),
        (ZIP, ["45501", "9"], "{45501,9}"),
        (DAY, ["2024-02-29", "2024-03-01"], "[2024-02-29,2024-03-01]"),
        (BINS, ["[0,17]", "[18,64]"], "[0,64]"),
        (OPEN, ["<18.5", "[18.5,65)"], '{<18.5,"[18.5,65)"}'),
        (DATES, ["<2024-01-01", ">=2024-01-01"], "{<2024-01-01,>=2024-01-01}"),
        (made(domain=["only"]), ["only"], "only"),
        (made(domain=["a,b", " c", "d"]), ["a,b", " c"], '{"a,b"," c"}'),
        (made(domain=["a", "b", "c", "{a,b}", "{ a,b}"]), ["a", "b"], "{  a,b}"),  # blanks tell it from the value
        (made([["1", "[1,2]", "*"], ["2", "x", "*"], ["3", "x", "*"]], kind="numeric"), ["1", "2"], "[ 1,2]"),
        (made(kind="ordinal", domain=["a", "", "c", "d"]), ["", "c"], '["",c]'),  # here the empty text is a value
    ],
)  # fmt: skip
def test_how_a_region_is_written(attribute: Attribute, values: list[str], text: str) -> None:
    assert written(attribute, *values) == text


def test_an_empty_value_in_the_middle_of_an_order_is_no_open_end() -> None:
    grades = made(kind="ordinal", domain=["a", "b", "", "d"])
    assert read(grades, '["",d]') == ["", "d"]
    assert read(grades, "[,b]") == ["a", "b"]


@pytest.mark.parametrize(
    ("texts", "kind", "values"),
    [
        (["20", "[22,23]", "*"], Kind.NUMERIC, ["20", "21", "22", "23"]),
        (["20", "23"], Kind.NUMERIC, ["20", "23"]),  # without an interval nothing lies between
        (["[20-22]"], Kind.NUMERIC, ["20", "21", "22"]),
        (["[1.5,2]"], Kind.NUMERIC, ["1.5", "2"]),
        (["[20,]", "{7}"], Kind.NUMERIC, [str(i) for i in range(10, 21)] + ["7", "8", "9"]),
        (["twenties", "20"], Kind.NUMERIC, ["20"]),  # what is no number is for read_cells to refuse
        (["[1,9000000]"], Kind.NUMERIC, ["1", "9000000"]),  # too many to fill in
        (["[2024-02-28,2024-03-01]"], Kind.DATE, ["2024-02-28", "2024-02-29", "2024-03-01"]),
        (["a", "{b,c}", "*", '"d,e"', "", ' "f'], Kind.CATEGORICAL, ["", ' "f', "a", "b", "c", "d,e"]),
        (['{"x, y",z}'], Kind.CATEGORICAL, ["x, y", "z"]),
    ],
)
def test_the_values_that_cells_show(texts: list[str], kind: Kind, values: list[str]) -> None:
    assert shown_values(texts, kind) == values


def test_a_set_that_cannot_be_read_shows_no_values() -> None:
    with pytest.raises(CellError, match="does not end") as error:
        shown_values(["a", '{"b}'], Kind.CATEGORICAL)
    assert error.value.args[1] == 1


def test_json_strings_keep_any_text() -> None:
    hostile = ['"', "\\", "\n", "\u2028", "{", "\x7f", "é", " "]
    attribute = made(domain=[*hostile, "plain"])
    assert (
        written(attribute, *hostile)
        == "{" + ",".join(json.dumps(v, ensure_ascii=False) if v not in ("\\", "é") else v for v in hostile) + "}"
    )
