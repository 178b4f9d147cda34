"""How other tools write cells: every notation, its hostile variants, and what is refused because two readings fit."""

import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from small import QI, SENSITIVE, made_schema
from unveil.data.attribute import Attribute, Kind
from unveil.data.draft import draft_schema
from unveil.errors import ReleaseError, UsageError
from unveil.formats.cells import CellError, read_cells, shown_values
from unveil.formats.cells.notations import NOTATIONS, parse_cells
from unveil.formats.releases import read_release
from unveil.formats.tables import read_columns


def made(ladder: list[list[str]] | None = None, **declared: Any) -> Attribute:
    schema = made_schema({"x": {"role": QI, **declared}}, {"x": ladder} if ladder is not None else None, missing=["?"])
    return schema.attribute("x")


AGE = made(kind="numeric", domain={"from": 18, "to": 24})
COLD = made(kind="numeric", domain={"from": -3, "to": 3})
HALF = made(kind="numeric", domain={"from": 0, "to": 3, "step": 0.5})
LONG = made(kind="numeric", domain=[4, 20, 21, 40, 41, 400])
GRADE = made(kind="ordinal", domain=["low", "mid", "high", "top-up"])
DASHED = made(kind="ordinal", domain=["a", "a-b", "b-c", "c"])
DAY = made(kind="date", domain={"from": date(2024, 2, 28), "to": date(2024, 3, 2)})
BINS = made(kind="numeric", domain={"from": 0, "to": 99}, bins=[18, 65])
OPEN = made(kind="numeric", bins=[18.5, 65])
ZIP = made(domain=["81541", "81549", "81667", "80331", "8154"])
EVEN = made(domain=["81541", "81549", "81667", "80331"])
WORD = made(domain=["a", "b", "c", "it's", 'say "x"', "Smith, Jr", "x~y"])
BLANK = made(domain=["a", "a "])
COMMA = made(domain=["a", "b", "c", "a,b", "b,c"])
COUNTRY = made(domain=["DE", "NA", "FR"])
GAPS = made(domain=["a", "b"], missing="category")
LABEL = made([["20", "[20, 30[", "*"], ["25", "[20, 30[", "*"], ["30", "[30, 40[", "*"], ["29", "[30, 40[", "*"]])
ALL = ["18", "19", "20", "21", "22", "23", "24"]


def read(attribute: Attribute, text: str, *named: str, decimal: str = ".") -> list[str]:
    regions = read_cells([text], attribute, decimal, named)
    return [attribute.values[c] for c in regions.members(0)]


@pytest.mark.parametrize(
    ("attribute", "text", "values"),
    [
        # pandas: periods of dates
        (DAY, "2024-02", ["2024-02-28", "2024-02-29"]),
        (DAY, "2024-03", ["2024-03-01", "2024-03-02"]),
        (DAY, "2024Q1", list(DAY.values)),
        (DAY, "2024", list(DAY.values)),
        # ARX: an outward bracket leaves the end out
        (AGE, "[20, 22[", ["20", "21"]),
        (AGE, "]20, 22]", ["21", "22"]),
        (AGE, "]20,22[", ["21"]),
        (AGE, "[ 20 ,22 [", ["20", "21"]),
        (LABEL, "[20, 30[", ["20", "25"]),  # a label wins over the interval, which would hold 29
        (LABEL, " [20, 30[ ", ["20", "25"]),
        # R's cut, pandas' Interval
        (AGE, "[20, 22)", ["20", "21"]),
        (AGE, "(20,22]", ["21", "22"]),
        (AGE, "(19.0, 21.0]", ["20", "21"]),
        (AGE, "(-Inf,19]", ["18", "19"]),
        (AGE, "[23, inf)", ["23", "24"]),
        (AGE, "(22, ∞)", ["23", "24"]),
        (AGE, "[20;22]", ["20", "21", "22"]),
        (AGE, "[20-22)", ["20", "21"]),
        (AGE, "[20~22]", ["20", "21", "22"]),
        (HALF, "[0.5, 1.5)", ["0.5", "1"]),
        (HALF, "(0.5, 1.5)", ["1"]),
        (DAY, "[2024-02-28, 2024-03-01)", ["2024-02-28", "2024-02-29"]),
        (GRADE, "[low, high)", ["low", "mid"]),
        (GRADE, "(low, high]", ["mid", "high"]),
        (BINS, "[18, 65)", ["[18,64]"]),
        (BINS, "[0, 65[", ["[0,17]", "[18,64]"]),
        (OPEN, "[18.5, 65[", ["[18.5,65)"]),
        # Mondrian tools
        (AGE, "20~22", ["20", "21", "22"]),
        (AGE, "20 ~ 22", ["20", "21", "22"]),
        (AGE, "19-21", ["19", "20", "21"]),
        (AGE, "19 – 21", ["19", "20", "21"]),
        (AGE, "19.0-21.0", ["19", "20", "21"]),
        (AGE, "19 to 21", ["19", "20", "21"]),
        (AGE, "20,21", ["20", "21"]),  # as a list or as a range: the same
        (COLD, "-3--1", ["-3", "-2", "-1"]),
        (COLD, "-1-1", ["-1", "0", "1"]),
        (DAY, "2024-02-29~2024-03-01", ["2024-02-29", "2024-03-01"]),
        (DAY, "2024-02-29 - 2024-03-01", ["2024-02-29", "2024-03-01"]),
        (DAY, "2024-02-29/2024-03-01", ["2024-02-29", "2024-03-01"]),
        (GRADE, "low-high", ["low", "mid", "high"]),
        (GRADE, "mid-top-up", ["mid", "high", "top-up"]),  # only one cut gives two values
        # bounds
        (AGE, "<20", ["18", "19"]),
        (AGE, "< 20", ["18", "19"]),
        (AGE, "<=20", ["18", "19", "20"]),
        (AGE, "≤20", ["18", "19", "20"]),
        (AGE, "≥ 23", ["23", "24"]),
        (AGE, ">=23", ["23", "24"]),
        (AGE, ">23", ["24"]),
        (AGE, "23+", ["23", "24"]),
        (GRADE, ">=high", ["high", "top-up"]),
        (DAY, "<2024-02-29", ["2024-02-28"]),
        (BINS, "<65", ["[0,17]", "[18,64]"]),
        (OPEN, "<65", ["<18.5", "[18.5,65)"]),
        # lists
        (WORD, "['a', 'b']", ["a", "b"]),
        (WORD, '["a","b"]', ["a", "b"]),
        (WORD, "('a',)", ["a"]),
        (WORD, "{'a', 'b'}", ["a", "b"]),
        (WORD, "['it\\'s', \"it's\"]", ["it's"]),
        (WORD, "['say \"x\"', 'a']", ["a", 'say "x"']),
        (WORD, "a,b", ["a", "b"]),
        (WORD, "b , a", ["a", "b"]),
        (WORD, "a;b", ["a", "b"]),
        (WORD, "a|c", ["a", "c"]),
        (WORD, "a~x~y~b", ["a", "b", "x~y"]),
        (WORD, "a,Smith, Jr", ["a", "Smith, Jr"]),  # a value may hold the separator
        (WORD, "['a,b']", ["a", "b"]),  # anonypy
        (AGE, "['20-22']", ["20", "21", "22"]),
        (AGE, "{20, 24}", ["20", "24"]),
        (AGE, "18,20,24", ["18", "20", "24"]),
        (GRADE, "['low','high']", ["low", "high"]),
        # masks
        (EVEN, "81***", ["81541", "81549", "81667"]),
        (EVEN, "8154*", ["81541", "81549"]),
        (EVEN, "81*", ["81541", "81549", "81667"]),
        (EVEN, "8*5**", ["81541", "81549"]),
        (EVEN, "*****", ["81541", "81549", "81667", "80331"]),
        (AGE, "1*", ["18", "19"]),
        (DAY, "2024-02-**", ["2024-02-28", "2024-02-29"]),
        # R
        (AGE, "NA", ALL),
        (AGE, "<NA>", ALL),
        (COUNTRY, "NA", ["NA"]),  # Namibia: a value comes first
        # values filled up with blanks, as files of fixed width have them
        (WORD, "a  ", ["a"]),
        (WORD, " Smith, Jr", ["Smith, Jr"]),
        (BLANK, "a ", ["a "]),
        (BLANK, " a", ["a"]),
        (GAPS, " ? ", ["?"]),
    ],
)  # fmt: skip
def test_what_other_tools_write(attribute: Attribute, text: str, values: list[str]) -> None:
    assert read(attribute, text) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[0,5;1,5]", ["0.5", "1", "1.5"]),
        ("[0,5, 1,5]", ["0.5", "1", "1.5"]),
        ("[0,5; 1,5)", ["0.5", "1"]),
        ("0,5-1,5", ["0.5", "1", "1.5"]),
        ("0,5~1", ["0.5", "1"]),
        ("<1,5", ["0", "0.5", "1"]),
        ("≥ 2,5", ["2.5", "3"]),
        ("{0,5;2,5}", ["0.5", "2.5"]),
        ("{0,5, 2,5}", ["0.5", "2.5"]),
        ("{'0,5','2,5'}", ["0.5", "2.5"]),
        ("0,5, 2,5", ["0.5", "2.5"]),
        ("[1,2]", ["1", "1.5", "2"]),  # two ends are needed, so this is no 1.2
        ("{1,2}", ["1", "2"]),  # 1.2 is not a value
        ("{0,5;2}", ["0.5", "2"]),
    ],
)
def test_decimal_commas_within_cells(text: str, values: list[str]) -> None:
    assert read(HALF, text, decimal=",") == values


@pytest.mark.parametrize(
    ("attribute", "text", "decimal", "candidates"),
    [
        (AGE, "20,24", ".", ["list (20, 24)", "range (5 values: 20, 21, 22, 23 …)", "x=list or --cells x=range"]),
        (ZIP, "8154*", ".", ["prefix (81541, 81549, 8154)", "mask (81541, 81549)", "--cells x=mask or"]),
        (LONG, "4*", ".", ["prefix (4, 40, 41, 400)", "mask (40, 41)"]),
        (DASHED, "a-b-c", ".", ["range (a, a-b, b-c)", "range (a-b, b-c, c)", "add a hierarchy"]),
        (COMMA, "a,b,c", ".", ["list (a, b, c)", "list (a, b,c)", "add a hierarchy"]),
        (AGE, "(19-22)", ".", ["interval (20, 21)", "range (19, 20, 21, 22)", "x=interval or --cells x=range"]),
        (HALF, "[1,5,3]", ",", ["interval (1.5, 2, 2.5, 3)", "interval (5 values"]),
        (HALF, "{1,5,2}", ",", []),
    ],
)  # fmt: skip
def test_two_readings_are_an_error_that_shows_them(
    attribute: Attribute, text: str, decimal: str, candidates: list[str]
) -> None:
    if not candidates:  # 5 is not a value: one reading is left
        assert read(attribute, text, decimal=decimal) == ["1.5", "2"]
        return
    with pytest.raises(CellError, match="is not clear: it may be") as error:
        read(attribute, text, decimal=decimal)
    assert "\n" not in str(error.value)
    for candidate in candidates:
        assert candidate in str(error.value)


@pytest.mark.parametrize(
    ("attribute", "text", "named", "values"),
    [
        (AGE, "20,24", "list", ["20", "24"]),
        (AGE, "20,22", "range", ["20", "21", "22"]),
        (AGE, "[20,22]", "list", ["20", "22"]),  # named before our own notation
        (AGE, "[20,22]", "range", ["20", "21", "22"]),  # a notation that does not fit is no obstacle
        (ZIP, "8154*", "mask", ["81541", "81549"]),
        (ZIP, "8154*", "prefix", ["81541", "81549", "8154"]),
        (EVEN, "[81541,81667]", "list", ["81541", "81667"]),
        (AGE, "", "suppressed", ALL),
        (AGE, "?", "suppressed", ALL),
        (GAPS, "?", "suppressed", ["a", "b", "?"]),
        (GAPS, "?", "list", ["?"]),
        (COUNTRY, "NA", "suppressed", ["NA"]),
    ],
)
def test_a_named_notation_comes_first(attribute: Attribute, text: str, named: str, values: list[str]) -> None:
    assert read(attribute, text, named) == values


@pytest.mark.parametrize(
    ("attribute", "text", "message"),
    [
        (AGE, "[22, 20[", "holds no value of the domain"),
        (AGE, "[20, 20[", "holds no value"),
        (AGE, "(24, 30]", "holds no value"),
        (AGE, "[20, 22", "is not a value"),
        (AGE, "20, 22]", "is not a value"),
        (AGE, "(,)", "is not a value"),
        (AGE, "(-inf, inf)", "is not a value"),
        (AGE, "22-20", "is not a value"),
        (AGE, "20-", "is not a value"),
        (AGE, "-", "is not a value"),
        (AGE, "20--", "is not a value"),
        (AGE, "20-22-24", "is not a value"),
        (AGE, "1e1-2e1", "is not a value"),
        (AGE, "\u0661-\u0669", "is not a value"),  # other scripts' digits
        (AGE, "<", "is not a value"),
        (AGE, "<18", "holds no value"),
        (AGE, "<x", "an end is not a numeric value"),
        (AGE, "<<20", "not a numeric value"),
        (AGE, "++20", "is not a value"),
        (AGE, "20,,22", "is not a value"),
        (AGE, ",", "is not a value"),
        (AGE, "20,99", "is not a value"),
        (AGE, "20,5-21,5", "if its comma is a decimal one, say --release-decimal ,"),
        (AGE, "9*", "is not a value"),
        (AGE, "* *", "is not a value"),
        (AGE, "['20', '22'", "is not a value"),
        (AGE, "['20' '22']", "is not an interval"),
        (AGE, "[]", "is not an interval"),
        (AGE, "{'20", "is not a value"),
        (WORD, "['a', 'z']", "has no order"),
        (WORD, "[a, b]", "if it is a list, say --cells x=list"),
        (AGE, "[20, 21, 24]", "if it is a list, say --cells x=list"),
        (WORD, "a,z", "is not a value"),
        (WORD, "a-b", "is not a value"),
        (WORD, "[a, b)", "is not a value"),
        (WORD, "<a", "is not a value"),
        (WORD, "['a', ['b']]", "has no order"),
        (GAPS, "[a,b]", "has no order"),
        (BINS, "[18, 64)", "cuts through a bin"),
        (BINS, "<20", "cuts through a bin"),
        (OPEN, "(18.5, 65)", "cuts through a bin"),
        (GRADE, "low-best", "is not a value"),
        (DAY, "2024-13", "is not a value"),
        (AGE, "", "an empty cell; if the value was withheld, say --cells x=suppressed"),
        (AGE, "?", "a missing value"),
        (AGE, "na", "is not a value"),
        (AGE, "nan", "list it under missing in the schema, and if it was withheld, say --cells x=suppressed"),
        (WORD, "NULL", "list it under missing in the schema"),
        (AGE, "[" * 5000, "is not a value"),
        (AGE, "'" * 5000, "is not a value"),
        (AGE, "20-" * 5000, "is not a value"),
        (WORD, "a," * 20000 + "z", "is not a value"),
    ],
)  # fmt: skip
def test_what_fits_nothing_is_refused(attribute: Attribute, text: str, message: str) -> None:
    with pytest.raises(CellError) as error:
        read(attribute, text)
    assert message in str(error.value)
    assert len(str(error.value)) < 400


def test_a_long_list_is_read_in_one_pass() -> None:
    values = [f"v{i}" for i in range(3000)]
    assert read(made(domain=values), ",".join(values)) == values


def test_notations_are_named_for_all_or_for_one_attribute() -> None:
    assert parse_cells(["list", "age=range+suppressed", "a=b=mask"]) == {
        "": ("list",),
        "age": ("range", "suppressed"),
        "a=b": ("mask",),
    }
    with pytest.raises(UsageError, match="'lists' is none of value, interval, range"):
        parse_cells(["age=lists"])
    assert all(NOTATIONS.values())


# --- whole files ------------------------------------------------------------------------------------------------------

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 17, "to": 90}},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "name": {"role": "identifier"},
        "disease": {"role": SENSITIVE, "domain": ["flu", "hiv"]},
    }
)
BARE = made_schema({"age": {"role": QI, "kind": "numeric"}, "sex": {"role": QI}, "disease": {"role": SENSITIVE}})


def file(folder: Path, text: str, name: str = "r.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_one_release_in_the_words_of_six_tools(tmp_path: Path) -> None:
    """The same groups whoever wrote them, and in whatever order the rows come."""
    ours = read_release(
        file(
            tmp_path, 'age,sex,disease\n"[20,29]",f,flu\n"[20,29]",f,hiv\n"[20,29]",f,hiv\n"[30,39]",*,flu\n*,*,hiv\n'
        ),
        SCHEMA,
    )
    others = {
        "arx": "name;age;sex;disease\n"
        + "*;[20, 30[;f;flu\n*;[20, 30[;f;hiv\n*;[20, 30[;f;hiv\n*;[30, 40[;*;flu\n*;*;*;hiv\n",
        "r": '"age","sex","disease"\n'
        + '"[20,30)","f","flu"\n"[20,30)","f","hiv"\n"[20,30)","f","hiv"\n"[30,40)",NA,"flu"\nNA,NA,"hiv"\n',
        "anonypy": 'age,sex,disease,count\n20-29,f,flu,1\n20-29,f,hiv,2\n30-39,"f,m",flu,1\n17-90,"f,m",hiv,1\n',
        "lists": "age;sex;disease\n20-29;['f'];flu\n20-29;['f'];hiv\n20-29;['f'];hiv\n"
        + "30-39;['f', 'm'];flu\n*;['m', 'f'];hiv\n",
        "mondrian": 'age,sex,disease\n20~29,f,hiv\n17~90,*,hiv\n20~29,f,flu\n30~39,f~m,flu\n20~29,f,hiv\n',
        "masks": 'age,sex,disease\n2*,f,hiv\n2*,f,flu\n3*,*,flu\n2*,f,hiv\n**,*,hiv\n',
    }  # fmt: skip
    for tool, text in others.items():
        assert read_release(file(tmp_path, text, f"{tool}.csv"), SCHEMA) == ours, tool


def test_suppressed_rows_are_no_class_of_equal_people(tmp_path: Path) -> None:
    """ARX writes rows it gave up as `*`: five of them are no class of five, and k stays what the others have."""
    rows = "[20, 30[;f;flu\n" * 2 + "*;*;hiv\n" * 5
    release = read_release(file(tmp_path, f"age;sex;disease\n{rows}"), SCHEMA)
    assert release.class_sizes().tolist() == [2]
    assert int(release.sizes[release.suppressed()].sum()) == 5


def test_the_same_readings_where_the_release_is_all_there_is(tmp_path: Path) -> None:
    """Domains from the release: ends that are left out are no values, and what is not clear is refused."""
    release = read_release(file(tmp_path, "age;sex;disease\n[20, 22[;['f', 'm'];flu\n22-23;f;hiv\n"), BARE)
    assert [a.values for a in release.attributes] == [("20", "21", "22", "23"), ("f", "m"), ("flu", "hiv")]
    release = read_release(file(tmp_path, "age;sex;disease\n<22;f;flu\n≥ 23;NA;hiv\n[20, 23[;m;flu\n"), BARE)
    assert release.attributes[0].values == ("20", "21", "22", "23")
    assert release.attributes[1].values == ("f", "m")
    text = "age;sex;disease\n<22;f;flu\n< 22;NA;hiv\n[20, 24[;m;flu\n21;***;flu\n20;*;flu\n"
    release = read_release(file(tmp_path, text), BARE)
    assert release.regions[1].whole.tolist().count(True) == 1  # NA, *** and * are one region


TENS = ["20", "21", "22", "23", "24", "25", "26", "27", "28", "29"]


@pytest.mark.parametrize(
    ("kind", "texts", "named", "values"),
    [
        # between the ends of an interval every whole number is a value, whoever wrote it
        (Kind.NUMERIC, ["[20, 30["], (), TENS),
        (Kind.NUMERIC, ["(19,29]"], (), TENS),
        (Kind.NUMERIC, ["(19, 30)"], (), TENS),
        (Kind.NUMERIC, ["[20, 29]"], (), TENS),
        (Kind.NUMERIC, ["20~29"], (), TENS),
        (Kind.NUMERIC, ["['20-29']"], (), TENS),
        (Kind.NUMERIC, ["20,22", "29"], ("list",), ["20", "22", "29"]),
        (Kind.NUMERIC, ["{'20', '22'}", "('29',)"], (), ["20", "22", "29"]),
        (Kind.DATE, ["[2024-02-28, 2024-03-02)"], (), ["2024-02-28", "2024-02-29", "2024-03-01"]),
        # a named notation comes first, and the others after it
        (Kind.NUMERIC, ["[20, 30)", "NA", ""], ("suppressed",), TENS),
        (Kind.NUMERIC, ["[20,29]", "?"], ("suppressed",), TENS),
        (Kind.NUMERIC, ["(19,29]", "20,22"], ("list",), TENS),
        (Kind.NUMERIC, ["20-29", "<22"], ("bound",), TENS),
        (Kind.CATEGORICAL, ["a", "", "?"], ("suppressed",), ["a"]),
        (Kind.CATEGORICAL, ["a", "", "?"], (), ["", "?", "a"]),
        (Kind.CATEGORICAL, ["a", "a ", " b"], (), [" b", "a"]),  # filled up with blanks, if it also stands without
        # Python's sets and tuples
        (Kind.CATEGORICAL, ["a", "{'a', 'b'}"], (), ["a", "b"]),
        (Kind.CATEGORICAL, ["('a', 'b')", "('a',)"], (), ["a", "b"]),
        (Kind.CATEGORICAL, ["{it's,b}"], (), ["b", "it's"]),  # our own sets have no such quotes
        (Kind.CATEGORICAL, ["('a' or b)"], (), ["('a' or b)"]),
    ],
)  # fmt: skip
def test_the_values_that_a_release_shows(
    kind: Kind, texts: list[str], named: tuple[str, ...], values: list[str]
) -> None:
    assert shown_values(texts, kind, ".", named, ["?"]) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age,sex,disease\n20,f,flu\n21,\"f,m\",hiv\n", "line 3, sex: 'f,m' is not clear: it may be a value or a list"),
        ('age,sex,disease\n"20,29",f,flu\n30,m,hiv\n', "line 2, age: '20,29' is not clear: it may be range"),
        ("age,sex,disease\n20,81*,flu\n30,815*,hiv\n", "line 3, sex: '815*' is not clear: '81*' may hold it"),
        ("age,sex,disease\n20,NA,flu\n30,NA,hiv\n", "is not a value, nor"),
        ("age,sex,disease\n<30,f,flu\n<30,m,hiv\n20~29,m,hiv\n", "'<30' cannot be told from a narrower cell"),
    ],
)  # fmt: skip
def test_what_a_release_alone_does_not_say(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ReleaseError) as error:
        read_release(file(tmp_path, text), BARE)
    assert message in str(error.value)


def test_a_notation_can_be_named(tmp_path: Path) -> None:
    path = file(tmp_path, 'age,sex,disease\n"20,22","f,m",flu\n')
    release = read_release(path, BARE, cells=["list"])
    assert [a.values for a in release.attributes] == [("20", "22"), ("f", "m"), ("flu",)]
    release = read_release(path, BARE, cells=["age=range", "sex=value"])
    assert [a.values for a in release.attributes] == [("20", "21", "22"), ("f,m",), ("flu",)]
    with pytest.raises(UsageError, match=r"--cells zip=…: .* publishes no such attribute; it has age, sex, disease"):
        read_release(path, BARE, cells=["zip=list"])


def test_a_decimal_comma_can_be_named(tmp_path: Path) -> None:
    schema = made_schema({"bmi": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 30, "step": 0.5}}})
    path = file(tmp_path, "bmi\n[20,5; 21,5]\n")
    release = read_release(path, schema, delimiter="|", decimal=",")
    assert [release.attributes[0].values[c] for c in release.regions[0].members(0)] == ["20.5", "21", "21.5"]


def test_a_comma_that_is_no_decimal_one(tmp_path: Path) -> None:
    """Between semicolons 20,23 looks like a decimal comma: the line says how to take it for a list."""
    path = file(tmp_path, "age;sex;disease\n20,23;f;flu\n20;f;flu\n")
    with pytest.raises(ReleaseError, match=r"'20,23' is not a value.*if it parts two values, say --release-decimal \."):
        read_release(path, SCHEMA)
    release = read_release(path, SCHEMA, decimal=".", cells=["age=list"])
    assert sorted(release.regions[0].sizes.tolist()) == [1, 2]


def test_counts_are_people(tmp_path: Path) -> None:
    path = file(tmp_path, "age,sex,disease,n\n20,f,flu,3\n20,f,hiv,1\n")
    with pytest.raises(ReleaseError, match="does not name the column 'n'"):
        read_release(path, BARE)
    file(tmp_path, 'count = "n"\n', "r.toml")
    assert read_release(path, BARE).sizes.tolist() == [4]
    file(tmp_path, 'count = "m"\n', "r.toml")
    with pytest.raises(ReleaseError, match="count column 'm' is not there"):
        read_release(path, BARE)
    said = made_schema({"age": {"role": QI, "kind": "numeric"}, "disease": {"role": SENSITIVE}}, frequency="n")
    for name in ("n", "count"):  # the original's own column, or another tool's
        path = file(tmp_path, f"age,disease,{name}\n20,flu,3\n20,hiv,1\n", "t.csv")
        assert read_release(path, said).sizes.tolist() == [4]
    with pytest.raises(ReleaseError, match=r"count: '1\.5' is not a count"):
        read_release(file(tmp_path, "age,sex,disease,count\n20,f,flu,1.5\n", "s.csv"), BARE)


def test_an_identifier_that_is_still_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="'name' is an identifier"):
        read_release(file(tmp_path, "name,age,sex,disease\n*,20,f,flu\nann,20,f,flu\n"), SCHEMA)


def test_a_weight_may_stay_in_the_release(tmp_path: Path) -> None:
    """A sampling weight has no role: it is neither an attribute nor a number of people."""
    weighted = made_schema({"age": {"role": QI, "kind": "numeric"}, "s": {"role": SENSITIVE}}, weight="w")
    release = read_release(file(tmp_path, "age;w;s\n[20, 30[;120.5;flu\n[20, 30[;80;hiv\n"), weighted)
    assert [a.name for a in release.attributes] == ["age", "s"]
    assert release.rows == 2


def test_a_schema_is_drafted_from_a_release(tmp_path: Path) -> None:
    """Intervals are no values: the kind is drafted, the domain is left to the human or to what the cells show."""
    path = file(tmp_path, "age;zip;disease\n[20, 30[;815**;flu\n20~24;81541;hiv\n≥ 60;*;flu\n")
    found = read_columns(path)
    drafted = draft_schema(found.columns, name="r.csv", decimal=found.decimal, published=True).toml
    assert "# the cells are intervals" in drafted
    content = tomllib.loads(drafted.replace("confirmed = false", "confirmed = true"))
    assert content["attributes"]["age"]["kind"] == "numeric"
    assert "domain" not in content["attributes"]["age"] | content["attributes"]["zip"]
    assert content["attributes"]["disease"]["domain"] == ["flu", "hiv"]
    plain = tomllib.loads(draft_schema(found.columns, name="r.csv", decimal=found.decimal).toml)
    assert plain["attributes"]["age"]["domain"] == ["20~24", "[20, 30[", "≥ 60"]  # an original may hold such categories
