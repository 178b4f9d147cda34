"""Numbers in words: by hand."""

import pytest

from unveil.audit.document import Finding
from unveil.audit.measures import measures, parse_id
from unveil.audit.numbers import count, interval, share, spoken, total
from unveil.report.blocks import Cell, merged
from unveil.report.wording import clean, distinct_labels, label


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0%"), (1, "100%"), (0.41, "41.0%"), (0.5834, "58.3%"), (0.0004, "0.04%"), (0.00000001, "<0.0001%")],
)
def test_shares(value: float, text: str) -> None:
    assert share(value) == text


@pytest.mark.parametrize(
    ("value", "measure", "statistic", "text"),
    [
        (None, "global_threat", "", "unknown"),
        ("inf", "relative_threat", "max", "×∞"),
        ("inf", "beta_likeness", "", "∞"),
        (13.84, "relative_threat", "max", "×13.8"),
        (0.17, "relative_threat", "share_2x", "17.0%"),
        (1.234, "relative_threat", "skewness", "1.23"),
        (0.231, "belief_gain", "", "23.1 points"),
        (5.0, "k_anonymity", "", "5"),
        (123456.0, "discernibility", "", "123,456"),
        (0.41234, "t_closeness", "", "0.412"),
    ],
)
def test_values_in_the_unit_of_their_measure(value: object, measure: str, statistic: str, text: str) -> None:
    assert spoken(value, measure, statistic) == text


def test_intervals_name_the_unit_once_and_are_left_out_of_exact_values() -> None:
    assert interval(0.579, 0.587, "global_threat") == "57.9 – 58.7%"
    assert interval(22.8, 24.1, "relative_threat", "max") == "×22.8 – 24.1"
    assert interval(0.5, 0.5, "global_threat") == ""
    assert interval(None, None, "global_threat") == ""
    assert interval(None, 0.2, "journalist_risk", "max") == "at most 20.0%"
    assert interval(2.0, "inf", "relative_threat", "max") == "×2 – ∞"


def test_ids_come_apart() -> None:
    for id, reader, measure, statistic in (
        ("bayesian.belief_gain.value:a.b", "bayesian", "belief_gain", "value:a.b"),
        ("bayesian:membership=0.5.global_threat", "bayesian:membership=0.5", "global_threat", None),
        ("ideal.global_threat", "ideal", "global_threat", None),
        ("t_closeness.js", None, "t_closeness", "js"),
        ("marketer_risk", None, "marketer_risk", None),
    ):
        part = parse_id(id)
        assert (part.reader, part.measure, part.statistic, part.id) == (reader, measure, statistic, id)
        assert Finding.exact(part.name, "r", "s", 0.5, reader=reader).id == id


def test_every_measure_is_registered_completely() -> None:
    for name, one in measures().items():
        assert one.words, name
        assert one.title, name
        assert one.page.startswith("docs/"), name
        assert one.unit in ("share", "points", "times", "number"), name
        assert name.isidentifier(), name  # an id's parts are told apart by its dots


def test_labels_are_one_visible_line() -> None:
    assert label("a\nb\tc\u2028d") == "a b c d"
    assert label("user\u202egnp.exe") == "user\\u202egnp.exe"
    assert label("x\x00y") == "x\\x00y"
    assert label("\ud800") == "\\ud800"
    assert label("é日本") == "é日本"
    assert len(label("x" * 81)) == 80
    assert label("x" * 80) == "x" * 80
    assert clean("x" * 5000).endswith("…")
    assert distinct_labels(["x" * 90, "x" * 91, "y"]) == ["x" * 79 + "…", "x" * 79 + "… (2)", "y"]


def test_withheld_counts() -> None:
    assert count(None, 10) == "<10"
    assert count(1234, 10) == "1,234"
    assert total([1, 2, 3], 10) == "6"
    assert total([30, None], 10) == "≥30"
    assert total([None, 0], 10) == "<10"
    assert total([None, None], 10) == "≤18"


def test_equal_cells_become_one_only_under_the_same_heading() -> None:
    rows = [(Cell("a"), Cell("x")), (Cell("a"), Cell("x")), (Cell("b"), Cell("x"))]
    spans = [[cell.span for cell in row] for row in merged(rows, [0, 1])]
    assert spans == [[2, 2], [0, 0], [1, 1]]
    assert merged([], [0]) == ()
