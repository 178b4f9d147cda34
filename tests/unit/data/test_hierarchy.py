"""Hierarchies: ARX's shape, what is refused, and the builders."""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from unveil.data.hierarchy import HierarchyTable, number_text, parse_hierarchy, read_hierarchy
from unveil.data.hierarchy_builders import date_hierarchy, interval_hierarchy, prefix_hierarchy
from unveil.errors import SchemaError

ZIP = "45501;4550*;455**;*\n45502;4550*;455**;*\n45601;4560*;456**;*\n"


def written(folder, text, encoding="utf-8"):
    path = folder / "h.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_arx_shape(tmp_path):
    ladder = read_hierarchy(written(tmp_path, ZIP))
    assert ladder.rows[0] == ("45501", "4550*", "455**", "*")
    hierarchy = ladder.over(["45601", "45501", "45502"], missing=None, attribute="zip")
    assert hierarchy.height == 3
    assert hierarchy.labels == (("45601", "45501", "45502"), ("4560*", "4550*"), ("456**", "455**"), ("*",))
    assert hierarchy.node.tolist() == [[0, 1, 2], [0, 1, 1], [0, 1, 1], [0, 0, 0]]
    assert not hierarchy.node.flags.writeable


def test_missing_is_a_node_of_its_own_below_the_top():
    hierarchy = HierarchyTable((("a", "A", "*"), ("b", "A", "*"))).over(["a", "b"], missing="?", attribute="x")
    assert hierarchy.node.tolist() == [[0, 1, 2], [0, 0, 1], [0, 0, 0]]
    assert hierarchy.labels == (("a", "b", "?"), ("A", "?"), ("*",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no rows"),
        ("\n\n", "holds no rows"),
        ("a;A;*\nb;B\n", r"line 2: 2 levels where line 1 has 3"),
        ("a;A;*\n\nb;B\n", r"line 3: 2 levels where line 1 has 3"),
        ('"a\nx";A;*\nb;B\n', r"line 3: 2 levels"),
        ("a;A;*\na;A;*\n", r"line 2: 'a' is already on line 1"),
        ("a;A;*\nb;B;all\n", r"line 2: ends with 'all'; the last level must be \*"),
        ("*\n", r"line 1: ends with '\*'; the last level must be \*"),
        ("a;*;*\n", r"line 1: \* stands below the last level"),
        ("*;A;*\n", r"line 1: \* stands below the last level"),
        ("a;A;X;*\nb;A;Y;*\n", r"line 2: not nested: 'A' lies in 'Y' here and in 'X' on line 1"),
        ("a;A;B;*\nb;C;A;*\n", "the label 'A' names two different sets"),
        ("a;b;*\nb;b;*\n", "the label 'b' names two different sets"),
        ("a,A,*\nb,B,C,*\n", r"no ';' found, and with ',' rows have different"),
        ("a,A\nb,B\n", r"line 1: ends with 'A'"),
        ('a;"A;*\n', "not a hierarchy in CSV"),
    ],
)
def test_refused(tmp_path, text, message):
    with pytest.raises(SchemaError, match=message) as refused:
        read_hierarchy(written(tmp_path, text))
    assert str(tmp_path / "h.csv") in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_label_may_repeat_its_own_set():
    ladder = HierarchyTable((("a", "a", "A", "A", "*"), ("b", "b", "A", "A", "*")))
    assert ladder.over(["a", "b"], missing=None, attribute="x").height == 4


def test_a_domain_value_without_a_row(tmp_path):
    ladder = read_hierarchy(written(tmp_path, ZIP))
    with pytest.raises(SchemaError, match="the value '99999' of zip has no row; add a row"):
        ladder.over(["45501", "99999"], missing=None, attribute="zip")
    with pytest.raises(SchemaError, match=r"'1' of zip has no row \(2 values lack one\)"):
        ladder.over(["1", "2"], missing=None, attribute="zip")


def test_unreadable_files(tmp_path):
    with pytest.raises(SchemaError, match="No such file"):
        read_hierarchy(tmp_path / "absent.csv")
    with pytest.raises(SchemaError, match="not a regular file"):
        read_hierarchy(tmp_path)
    with pytest.raises(SchemaError, match="null"):
        read_hierarchy(tmp_path / "a\0b")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_encodings(tmp_path, encoding):
    ladder = read_hierarchy(written(tmp_path, "Köln;Nordrhein;*\r\nMünchen;Süd;*\r\n", encoding))
    assert [row[0] for row in ladder.rows] == ["Köln", "München"]


def test_leaves_are_depth_first():
    ladder = HierarchyTable((("a", "A", "*"), ("c", "B", "*"), ("b", "A", "*"), ("d", "B", "*")))
    assert ladder.leaves == ("a", "b", "c", "d")


@st.composite
def ladders(draw):
    """Any nested hierarchy, its rows in any order, its labels told apart by level."""
    size, height = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    nodes, levels = list(range(size)), [list(range(size))]
    for _ in range(height - 1):
        parents = {n: draw(st.integers(0, 3)) for n in sorted(set(nodes))}
        nodes = [parents[n] for n in nodes]
        levels.append(nodes)
    leaves = draw(st.lists(TEXT.filter(lambda t: t != "*" and "@" not in t), min_size=size, max_size=size, unique=True))
    rows = [
        (leaves[i], *(f"{level}@{nodes[i]}" for level, nodes in enumerate(levels) if level), "*") for i in range(size)
    ]
    return HierarchyTable(tuple(draw(st.permutations(rows))))


TEXT = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(list(';"\n\r, '))), max_size=5)


@given(ladders())
@example(HierarchyTable((("a\rb", "x", "*"), ("\ufeff", "x", "*"), ("", '"', "*"))))
@example(HierarchyTable((("\ufeff", "x", "*"), (" ", ";", "*"))))
def test_files_round_trip(tmp_path_factory, ladder):
    path = tmp_path_factory.mktemp("h") / "h.csv"
    path.write_text(ladder.to_csv(), encoding="utf-8", newline="")
    assert read_hierarchy(path).rows == ladder.rows


@given(ladders(), st.data())
def test_in_order_every_node_is_a_run(ladder, data):
    leaves = ladder.leaves
    assert sorted(leaves) == sorted(row[0] for row in ladder.rows)
    values = data.draw(st.permutations(leaves))
    values = values[: data.draw(st.integers(1, len(values)))]
    missing = data.draw(st.sampled_from([None, "missing"]))
    assume("missing" not in values)
    hierarchy = ladder.over(values, missing=missing, attribute="x")
    codes = len(values) + (missing is not None)
    order = hierarchy.order()
    assert sorted(order.tolist()) == list(range(codes))
    own_order = ladder.over([leaf for leaf in leaves if leaf in values], missing=None, attribute="x")
    for nodes in (hierarchy.node[:, order], own_order.node):
        for level in nodes:
            assert np.count_nonzero(np.diff(level)) == len(set(level.tolist())) - 1
    if missing is not None:
        assert order[-1] == codes - 1
    parent_of = [
        dict(zip(low.tolist(), high.tolist(), strict=True))
        for low, high in zip(hierarchy.node, hierarchy.node[1:], strict=False)
    ]
    for level, parents in enumerate(parent_of):
        assert hierarchy.node[level + 1].tolist() == [parents[n] for n in hierarchy.node[level].tolist()]


def test_order_keeps_the_domain_within_a_node():
    ladder = HierarchyTable((("c", "B", "*"), ("a", "A", "*"), ("b", "B", "*"), ("d", "A", "*")))
    assert ladder.over(["a", "b", "c", "d"], missing=None, attribute="x").order().tolist() == [0, 3, 1, 2]


# --- builders


def test_intervals_of_whole_numbers():
    ladder = interval_hierarchy([17, 20, 24, 25, -1], [5, 10])
    assert ladder.rows == (
        ("17", "15-19", "10-19", "*"),
        ("20", "20-24", "20-29", "*"),
        ("24", "20-24", "20-29", "*"),
        ("25", "25-29", "20-29", "*"),
        ("-1", "[-5,-1]", "[-10,-1]", "*"),
    )
    assert interval_hierarchy([17], [10], origin=7).rows[0][1] == "17-26"


def test_intervals_of_fractions_and_of_large_numbers():
    assert interval_hierarchy([0.3, 0.7], [0.1, 0.2]).rows[0] == ("0.3", "[0.3,0.4)", "[0.2,0.4)", "*")
    assert interval_hierarchy([1_234_567, 1_234_999], [100]).rows == (
        ("1234567", "1234500-1234599", "*"),
        ("1234999", "1234900-1234999", "*"),
    )


@given(
    st.lists(st.decimals(-10_000, 10_000, places=2), min_size=1, unique=True),
    st.sampled_from([[0.1], [0.05, 0.5], [2, 10, 100]]),
)
def test_every_number_lies_in_its_interval(values, widths):
    for value, *labels, _ in interval_hierarchy([float(v) for v in values], widths).rows:
        for label in labels:
            low, high = label[1:-1].split(",")
            assert float(low) <= float(value)
            assert float(value) < float(high) if label.endswith(")") else float(value) <= float(high)


@pytest.mark.parametrize("widths", [[], [0], [-5], [float("nan")], [float("inf")]])
def test_intervals_need_positive_widths(widths):
    with pytest.raises(SchemaError, match="one positive width a level"):
        interval_hierarchy([1], widths)


@pytest.mark.parametrize("widths", [[5, 12], [5, 5], [10, 5]])
def test_widths_that_do_not_nest(widths):
    with pytest.raises(SchemaError, match="is not a multiple of"):
        interval_hierarchy([1], widths)


def test_prefixes():
    assert prefix_hierarchy(["45501", "456"]).rows == (
        ("45501", "4550*", "455**", "45***", "4****", "*"),
        ("456", "456*", "456**", "45***", "4****", "*"),
    )
    assert prefix_hierarchy(["45501", "45601"], [3]).rows[0] == ("45501", "455**", "*")
    assert prefix_hierarchy([" a", "b"]).rows[0] == (" a", " *", "*")


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="*"), min_size=1, max_size=6), min_size=1, unique=True
    )
)
def test_prefixes_are_always_nested(values):
    assume(max(map(len, values)) > 1)
    assert [row[0] for row in prefix_hierarchy(values).rows] == values


@pytest.mark.parametrize(
    ("values", "keep", "message"),
    [
        (["a", "b"], None, "two characters or more"),
        ([], None, "two characters or more"),
        (["abc"], [1, 2], "must shrink"),
        (["abc"], [2, 2], "must shrink"),
        (["abc"], [0], "stay above 0"),
        (["abc", ""], None, "empty value has no prefix"),
        (["451", "45*"], [2], "names two different sets"),
    ],
)
def test_prefixes_refused(values, keep, message):
    with pytest.raises(SchemaError, match=message):
        prefix_hierarchy(values, keep)


def test_date_parts():
    ladder = date_hierarchy(["2024-05-31", "0987-01-02"], ["month", "quarter", "year", "decade"])
    assert ladder.rows == (
        ("2024-05-31", "2024-05", "2024-Q2", "2024", "2020s", "*"),
        ("0987-01-02", "0987-01", "0987-Q1", "0987", "0980s", "*"),
    )
    assert date_hierarchy(["2024-12-30"], ["week"]).rows == (("2024-12-30", "2025-W01", "*"),)


def test_date_parts_refused():
    with pytest.raises(SchemaError, match="'hour' is unknown; choose from week, month"):
        date_hierarchy(["2024-01-01"], ["hour"])
    with pytest.raises(SchemaError, match="is unknown"):
        date_hierarchy(["2024-01-01"], [])
    for text in ("31.12.2024", "20240131", "2024-W05", "2024-02-30", ""):
        with pytest.raises(SchemaError, match="is not a date such as"):
            date_hierarchy([text])
    with pytest.raises(SchemaError, match="not nested: '2025-W01'"):
        date_hierarchy(["2024-12-30", "2025-01-02"], ["week", "year"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (17, "17"),
        (17.0, "17"),
        (17.5, "17.5"),
        (-0.0, "0"),
        (1e15, "1000000000000000"),
        (2.0**54, "1.8014398509481984e+16"),
        (1e-7, "1e-07"),
    ],
)
def test_number_text(value, text):
    assert number_text(value) == text


def test_levels_may_be_separated_by_commas() -> None:
    plain, other = parse_hierarchy(b"a;A;*\nb;B;*\n", "h.csv"), parse_hierarchy(b'a,A,*\n"b","B",*\n', "h.csv")
    assert plain.rows == other.rows
