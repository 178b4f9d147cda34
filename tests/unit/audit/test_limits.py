"""Limits: how they are read, what they say of an interval, what comes first, and the presets."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small import made_finding
from unveil.audit.document import Finding
from unveil.audit.limits import check_limits, judge, parse_limit, read_presets, worst
from unveil.errors import UsageError

ATTACKERS = ("bayesian", "random_worlds")


def finding(id: str, value: float | None, low: float | None = None, high: float | None = None, **rest: str) -> Finding:
    return made_finding(id, rest.get("release", "r"), rest.get("attribute", "disease"), value, low, high)


def verdict(limit: str, *findings: Finding, unreliable: dict[tuple[str, str | None, str], str] | None = None) -> str:
    return worst(f.verdict for f in judge(findings, [limit], ATTACKERS, unreliable or {}))


labels = st.text(st.characters(codec="utf-8", exclude_characters="<>=", exclude_categories=["Cs"]), min_size=1).filter(
    lambda t: t == t.strip() and t and " - " not in t and not t.startswith("- ") and not t.endswith(" -")
)
readers = st.sampled_from(["", "learner.", "bayesian.", "bayesian:membership=0.5."])
names = st.builds("{}global_threat.value:{}".format, readers, labels) | st.builds("{}accuracy".format, readers)
numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(names, st.none() | names, st.sampled_from(["<=", "<", ">=", ">"]), numbers, st.sampled_from(["", " ", "  "]))
def test_a_limit_is_read_back(left: str, right: str | None, sign: str, number: float, blank: str) -> None:
    body = left if right is None else f"{left} - {right}"
    limit = parse_limit(f" {body}{blank}{sign}{blank}{number!r} ")
    if right is None or "value:" not in left:  # a value may hold what looks like a difference
        assert [part.id for part in limit.parts] == [left, right] if right else [left]
    assert (limit.sign, limit.number) == (sign, number)


@given(st.text())
def test_any_text_is_a_limit_or_one_clear_line(text: str) -> None:
    said = ""
    try:
        limit = parse_limit(text)
    except UsageError as error:
        said = str(error)
    else:
        assert limit.left
        assert math.isfinite(limit.number)
    assert not said or (("write ID <= NUMBER" in said or "unknown measure" in said) and "\n" not in said)


@pytest.mark.parametrize(
    "text", ["", "<= 3", "k_anonymity", "k_anonymity = 3", "k_anonymity <= x", "accuracy <= 1e999"]
)
def test_what_is_no_limit(text: str) -> None:
    with pytest.raises(UsageError, match="is not a limit"):
        parse_limit(text)


def test_a_value_may_hold_the_signs_themselves() -> None:
    assert parse_limit("b.global_threat.value:a - b <= .5").right is None
    assert parse_limit("b.global_threat.value:x <= 3 <= .5").left.statistic == "value:x <= 3"


@pytest.mark.parametrize(
    ("sign", "low", "high", "expected"),
    [
        ("<=", 0.1, 0.5, "within"),
        ("<=", 0.1, 0.51, "inconclusive"),
        ("<=", 0.5, 0.6, "inconclusive"),
        ("<=", 0.51, 0.6, "exceeded"),
        ("<", 0.1, 0.5, "inconclusive"),
        ("<", 0.5, 0.5, "exceeded"),
        (">=", 0.5, 0.9, "within"),
        (">=", 0.4, 0.9, "inconclusive"),
        (">=", 0.1, 0.49, "exceeded"),
        (">", 0.5, 0.9, "inconclusive"),
        (">", 0.1, 0.5, "exceeded"),
        ("<=", None, None, "inconclusive"),
        ("<=", 1.0, float("inf"), "exceeded"),
    ],
)
def test_an_interval_against_a_limit(sign: str, low: float | None, high: float | None, expected: str) -> None:
    assert parse_limit(f"accuracy {sign} 0.5").judge(low, high) == expected


def test_without_an_attacker_the_worst_decides() -> None:
    found = [finding("bayesian.global_threat", 0.4), finding("random_worlds.global_threat", 0.6)]
    learner = finding("learner.global_threat", 0.99)
    assert verdict("global_threat <= .5", *found, learner) == "exceeded"
    assert verdict("bayesian.global_threat <= .5", *found, learner) == "within"
    assert verdict("global_threat <= .7", *found, learner) == "within"
    assert verdict("global_threat >= .5", *found, learner) == "exceeded"


def test_a_difference_is_a_finding_of_its_own() -> None:
    found = [
        finding("bayesian.global_threat", 0.5, 0.4, 0.6),
        finding("random_worlds.global_threat", 0.3),
        finding("learner.global_threat", 0.2, 0.1, 0.3),
    ]
    marked = judge(found, ["global_threat - learner.global_threat <= 0.5"], ATTACKERS, {})
    added = {f.id: f for f in marked if " - " in f.id}
    wide = added["bayesian.global_threat - learner.global_threat"]
    assert (wide.value, wide.low, wide.high) == pytest.approx((0.3, 0.1, 0.5))
    assert wide.verdict == "within"
    assert added["random_worlds.global_threat - learner.global_threat"].verdict == "within"
    assert verdict("global_threat - learner.global_threat <= 0.4", *found) == "inconclusive"
    assert verdict("global_threat - learner.global_threat < 0.05", *found) == "exceeded"


def test_every_release_and_attribute_is_held_against_it() -> None:
    found = [
        finding("bayesian.global_threat", value, release=release, attribute=attribute)
        for value, release, attribute in ((0.1, "a", "x"), (0.9, "b", "x"), (0.1, "a", "y"))
    ]
    marked = judge(found, ["global_threat <= .5"], ATTACKERS, {})
    assert [f.verdict for f in marked] == ["within", "exceeded", "within"]


def test_unknown_values_and_unreliable_readers_are_not_a_pass() -> None:
    assert verdict("global_threat <= 1", finding("bayesian.global_threat", None)) == "inconclusive"
    good = finding("bayesian.global_threat", 0.1)
    bad = finding("bayesian.global_threat", 0.9)
    disagree = {("r", "disease", "bayesian"): "disagree"}
    imprecise = {("r", "disease", "bayesian"): "imprecise"}
    assert verdict("global_threat <= .5", good, unreliable=disagree) == "inconclusive"
    assert verdict("global_threat <= .5", bad, unreliable=disagree) == "inconclusive"
    assert verdict("global_threat <= .5", good, unreliable=imprecise) == "inconclusive"
    assert verdict("global_threat <= .5", bad, unreliable=imprecise) == "exceeded"
    learner = {("r", "disease", "learner"): "imprecise"}
    assert verdict("global_threat <= .5", good, unreliable=learner) == "within"
    assert verdict("relative_threat.max <= 5", finding("bayesian.relative_threat.max", 2), unreliable=learner) == (
        "inconclusive"
    )


def test_two_limits_on_one_finding() -> None:
    (marked,) = judge([finding("k_anonymity", 5.0)], ["k_anonymity >= 3", "k_anonymity >= 7"], ATTACKERS, {})
    assert marked.limit == "k_anonymity >= 3; k_anonymity >= 7"
    assert marked.verdict == "exceeded"


def test_the_order_of_verdicts() -> None:
    assert worst(["within", "inconclusive", "exceeded", "no limit"]) == "exceeded"
    assert worst(["within", "inconclusive", "no limit"]) == "inconclusive"
    assert worst(["within", "no limit"]) == "within"
    assert worst([]) == "no limit"


@pytest.mark.parametrize(
    ("limit", "close"),
    [
        ("global_thread <= .5", "unknown measure.*global_threat"),
        ("bayesian.relative_threat <= 3", "nothing here measures .*relative_threat"),
        ("bayesan.global_threat <= 1", "nothing here measures .*bayesian.global_threat"),
    ],
)
def test_an_unknown_id_names_close_ones(limit: str, close: str) -> None:
    found = [finding("bayesian.global_threat", 0.4), finding("bayesian.relative_threat.max", 0.4)]
    with pytest.raises(UsageError, match=close):
        judge(found, [limit], ATTACKERS, {})


def test_what_no_audit_has_is_refused_before_the_work() -> None:
    with pytest.raises(UsageError, match=r"unknown measure .*did you mean global_threat"):
        check_limits(["bayesian.global_thread <= .5"], ATTACKERS, {"HIV"})
    with pytest.raises(UsageError, match="'HIV2' is not a sensitive value; choose from 'HIV'"):
        check_limits(["global_threat.value:HIV2 <= .5"], ATTACKERS, {"HIV"})
    ids = check_limits(
        ["global_threat.value:a - b <= .5", "global_threat - learner.global_threat <= .1"], ATTACKERS, {"a - b"}
    )
    assert [part.id for part in ids] == ["global_threat.value:a - b", "global_threat", "learner.global_threat"]
    with pytest.raises(UsageError, match="unknown reader 'bayesan'; choose from 'bayesian'"):
        check_limits(["bayesan.global_threat <= 1"], ATTACKERS)


def test_presets_name_their_source_and_a_file_wins(tmp_path: Path) -> None:
    own = read_presets()
    assert own["ema_0070"].limits == ("prosecutor_risk.max <= 0.09",)
    assert own["k_11"].limits == ("k_anonymity >= 11",)
    assert all(p.source and p.words for p in own.values())
    for preset in own.values():
        check_limits(preset.limits, ATTACKERS, set())
    file = tmp_path / "mine.toml"
    file.write_text(
        '[k_11]\nwords = "w"\nsource = "s"\nlimits = ["k_anonymity >= 12"]\n'
        '[x]\nwords="w"\nsource="s"\nlimits=["distinct_l >= 2"]\n'
    )
    both = read_presets(file)
    assert both["k_11"].limits == ("k_anonymity >= 12",)
    assert set(both) == {*own, "x"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[x", "not TOML"),
        ("x = 3", "words, source and limits"),
        ('[x]\nwords="w"\nsource="s"\nlimits=[]', "must be a list"),
        ('[x]\nwords="w"\nsource="s"\nlimits=["k"]', "is not a limit"),
    ],
)
def test_a_preset_file_that_is_none(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_presets(tmp_path / "p.toml")
    with pytest.raises(UsageError, match="cannot be read"):
        read_presets(tmp_path / "none.toml")


def test_two_attackers_of_one_kind_are_told_apart() -> None:
    both = ("bayesian", "bayesian:membership=0.5", "random_worlds:x=1")
    found = [finding(f"{name}.global_threat", value) for name, value in zip(both, (0.9, 0.4, 0.2), strict=True)]

    def verdicts(limit: str) -> list[str]:
        return [f.verdict for f in judge(found, [limit], both)]

    assert verdicts("bayesian.global_threat <= .5") == ["exceeded", "no limit", "no limit"]
    assert verdicts("bayesian:membership=0.5.global_threat <= .5") == ["no limit", "within", "no limit"]
    assert verdicts("random_worlds.global_threat <= .5") == ["no limit", "no limit", "within"]  # all of that kind
    assert verdicts("global_threat <= .5") == ["exceeded", "within", "within"]
