"""Background knowledge in an audit: by hand on forty people in pairs, and as a user meets it."""

import io
import json
import math
from pathlib import Path
from threading import Event
from typing import Any

import altair
import numpy as np
import pytest
from rich.console import Console
from test_audit_cli import audit, folder  # noqa: F401  (a fixture)
from test_cli import run

from documents import check_document
from one_round import run_audit
from small import QI, SENSITIVE, WAIVED, made_release, made_schema, made_table
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit import Audit
from unveil.audit import background as module
from unveil.audit.background import Background, background_sections
from unveil.audit.measures import parse_id
from unveil.catalog import anonymizer
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.privacy.knowledge.kernel import Kernel
from unveil.report import page, print_document, render_page
from unveil.report.sections.background import worst_by_pairs, worst_over_bandwidths
from unveil.risk.background import background_risk, background_risk_by_bandwidth

SCHEMA = made_schema({"sex": {"role": QI, "domain": ["f", "m"]}, "ill": {"role": SENSITIVE, "domain": ["a", "b"]}})
# Ten pairs {f with a, m with a}, ten pairs {f with b, m with a}: no man has b.
TABLE = made_table(SCHEMA, *[("f", "a"), ("m", "a")] * 10, *[("f", "b"), ("m", "a")] * 10)
PAIRS = [(g, sex) for g in range(20) for sex in "fm"]
VALUES = [(g, ill) for g in range(20) for ill in ("aa" if g < 10 else "ab")]
RELEASE = made_release(TABLE.attributes, [([0], PAIRS), ([1], VALUES)])
SURE = Background(bandwidths=(0.5, 1.2), pairs=(), t=0.2, l=2, at_least=0.9)
SHORT = {
    "chains": Chains(chains=2, sweeps=60, burn_in=30, most_sweeps=0, every=10),
    "attackers": {"worlds": RandomWorlds()},
}


def audited(**options: Any) -> Audit:
    given = {
        "original": TABLE,
        "waive": WAIVED,
        "background": SURE,
        "engine": Engine(seed=1, workers=1),
        **SHORT,
        **options,
    }
    found = run_audit({"r.csv": RELEASE}, **given)
    check_document(found.to_dict())
    return found


def values(found: Audit) -> dict[str, Any]:
    return {f.id.removeprefix("background."): f.value for f in found.document.findings if f.id.startswith("background")}


def js(p: float, q: float) -> float:
    """Jensen-Shannon of (p, 1 - p) and (q, 1 - q)."""
    pairs = [(p, q), (1 - p, 1 - q)]
    return (
        sum(x * math.log(2 * x / (x + y)) + y * math.log(2 * y / (x + y)) if x else y * math.log(2) for x, y in pairs)
        / 2
    )


def test_forty_people_by_hand() -> None:
    """Bandwidth .5: women are held a or b alike, men a. Each pair then tells the woman's value; a man's was known."""
    found = audited()
    got = values(found)
    told = js(1.0, 0.5)
    assert got["worst_case_risk.0.5"] == pytest.approx(told)
    assert got["mean_risk.0.5"] == pytest.approx(told / 2)
    assert got["vulnerable.0.5"] == 0.5
    assert got["worst_gain.0.5"] == pytest.approx(0.5)
    assert got["mean_gain.0.5"] == pytest.approx(0.25)
    # Bandwidth 1.2: the other sex counts w.
    w = 1 - (1 / 1.2) ** 2
    woman, man = (10 + 20 * w) / (20 + 20 * w), (20 + 10 * w) / (20 + 20 * w)  # held to have a
    odd = woman * (1 - man) / (woman * (1 - man) + (1 - woman) * man)  # in a pair with a and b: she has a
    apart = [js(1.0, woman), js(1.0, man), js(odd, woman), js(1 - odd, man)]
    assert got["worst_case_risk.1.2"] == pytest.approx(max(apart))
    assert got["mean_risk.1.2"] == pytest.approx(sum(apart) / 4)
    assert got["worst_case_risk"] == max(got["worst_case_risk.0.5"], got["worst_case_risk.1.2"])
    assert got["vulnerable"] == max(got["vulnerable.0.5"], got["vulnerable.1.2"])
    # The one rule: no man has b. Knowing it, both values of every pair are told, ten pairs more than before.
    assert got["negative_rules"] == 1
    assert got["fewer_values.2"] == 1
    (few,) = [f for f in found.document.findings if f.id == "background.fewer_values.2"]
    assert few.baseline == 0.5  # the pairs of two a
    assert got["exposed_by_fact"] == 0.5
    chart = found.document.charts["r.csv"]["ill"]["background"]
    assert chart["facts"] == [{"fact": "sex=m never ill=b", "people": 20, "exposed": 20}]
    assert chart["line"]["people"][0] == 20
    assert chart["pairs"] is None
    (row,) = found.document.diagnostics["background"]
    assert (row["measured"], row["estimated_people"]) == (True, 0)
    assert "sex=m never ill=b (20 people)" in row["words"]
    assert not any("background" in text.lower() for text in found.document.diagnostics["not_tested"])
    assert found.document.diagnostics["definitions"]["vulnerable"]["source"].startswith("Li 2010")


def test_a_gain_in_what_is_harmless_is_none() -> None:
    """Of the women in pairs with a and b the belief in b grows, which nobody minds: ten of forty gain a half."""
    harmless = {"role": SENSITIVE, "domain": ["a", "b"], "harmless": ["b"]}
    schema = made_schema({"sex": {"role": QI, "domain": ["f", "m"]}, "ill": harmless})
    rows = [(TABLE.attributes[0].values[x], TABLE.attributes[1].values[s]) for x, s in zip(*TABLE.columns, strict=True)]
    table = made_table(schema, *rows)
    release = made_release(table.attributes, [([0], PAIRS), ([1], VALUES)])
    (section,) = background_sections(release, "r", table, SURE).values()
    got = {f.id: f.value for f in section.findings}
    assert got["background.mean_gain.0.5"] == pytest.approx(10 * 0.5 / 40)
    assert got["background.worst_gain.0.5"] == pytest.approx(0.5)


def test_limits_are_held_against_it() -> None:
    found = audited(limits=["background.worst_case_risk <= 0.2", "background.vulnerable.0.5 <= 0.5"])
    own = ("background.worst_case_risk <= 0.2", "background.vulnerable.0.5 <= 0.5")
    verdicts = {f.id: f.verdict for f in found.document.findings if f.limit in own}
    assert verdicts == {"background.worst_case_risk": "exceeded", "background.vulnerable.0.5": "within"}
    assert found.exit_code == 1
    without = audited(original=None, limits=["background.vulnerable <= 1"])
    assert without.exit_code == 3  # unknown is not kept
    assert values(without) == {"vulnerable": None}
    assert "no original" in without.document.diagnostics["background"][0]["reason"]
    assert values(audited(background=None)) == {}
    with pytest.raises(UsageError, match=r"worst_case_risk"):
        audited(limits=["background.worst_case_rsk <= 0.2"])


def test_an_external_document_says_nothing_of_few() -> None:
    found = audited(variant="external", least_count=25)
    chart = found.document.charts["r.csv"]["ill"]["background"]
    assert chart["facts"] == []  # it speaks of twenty
    assert chart["line"]["people"][0] is None
    assert chart["rules"]["people"] == 40
    words = found.document.diagnostics["background"][0]["words"]
    assert "sex=m" not in words
    fewer = audited(variant="external", least_count=41).document.diagnostics["background"][0]["words"]
    assert "fewer than 41 people can have fewer than 2 values, without them fewer than 41" in fewer


@pytest.mark.parametrize("method", ["mondrian:k=3", "anatomy:l=2"])
def test_it_is_what_the_exposure_of_each_bandwidth_says(method: str) -> None:
    schema = made_schema(
        {
            "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 29}},
            "sex": {"role": QI, "domain": ["f", "m"]},
            "ill": {"role": SENSITIVE, "domain": ["a", "b", "c"], "harmless": ["c"]},
        }
    )
    random = np.random.default_rng(5)
    rows = [(int(random.integers(20, 30)), "fm"[random.integers(2)], "abc"[random.integers(3)]) for _ in range(60)]
    table = made_table(schema, *rows)
    made = anonymizer(method).anonymize(table, Engine(seed=1))
    section = background_sections(made.release, "r", table, "auto")["ill"]
    got = {f.id.removeprefix("background."): f.value for f in section.findings}
    roster = targets_of_table(table, made.release, 2, group=made.group_of_row.astype(np.int64))
    for b in (0.1, 0.5):
        one = background_risk(made.release, 2, Kernel(bandwidth=(b,)).prior(table), roster=roster)
        assert got[f"worst_case_risk.{b:g}"] == pytest.approx(one.worst)
        assert got[f"vulnerable.{b:g}"] == pytest.approx(one.beyond(0.2) / 60)
        assert got[f"worst_gain.{b:g}"] == pytest.approx(one.gain.max())
    pairs = section.chart["pairs"]
    assert (pairs["first"], pairs["second"]) == (["age"], ["sex"])
    (corner,) = background_risk_by_bandwidth(made.release, 2, table, [(0.2, 1.2)], roster=roster)
    assert pairs["worst"][0][2] == pytest.approx(corner.worst)
    assert pairs["worst"][0][2] != pytest.approx(pairs["worst"][2][0])


def test_nothing_is_begun_when_the_time_is_over() -> None:
    over = Event()
    over.set()
    (section,) = background_sections(RELEASE, "r", TABLE, "auto", stop=over).values()
    assert not section.row["measured"]
    assert section.row["reason"] == "the time was over"


def test_what_is_dear_is_left_out_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BELIEFS", 79)
    (section,) = background_sections(RELEASE, "r", TABLE, "auto").values()
    assert not section.findings
    assert "--background yes" in section.row["reason"]
    asked = background_sections(RELEASE, "r", TABLE, "auto", limited=[parse_id("background.vulnerable")])["ill"]
    assert len(asked.findings) == len(background_sections(RELEASE, "r", TABLE, Background())["ill"].findings) > 1
    found = audited(background="auto")
    assert any("ask for it" in text for text in found.document.diagnostics["not_tested"])


def test_people_who_fit_several_groups_are_judged_by_all_of_them() -> None:
    rows = [(0, ["f", "m"], "a"), (0, ["f", "m"], "b"), (1, "f", "a"), (1, "f", "a")]
    both = made_release(TABLE.attributes, [([0, 1], rows)])
    small = made_table(SCHEMA, ("f", "a"), ("m", "b"), ("f", "a"), ("f", "a"))
    (section,) = background_sections(both, "r", small, SURE).values()
    assert section.row["measured"]  # every group that fits is taken together
    singles = both.regions[0].sizes[both.blocks[0].region(0)] == 1
    alone = int(both.blocks[0].group[singles][0])
    group = np.array([1 - alone, 1 - alone, alone, alone])
    (section,) = background_sections(both, "r", small, SURE, group=group).values()
    assert section.row["measured"]


def test_the_report_and_the_terminal_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "chart_library", lambda: "")  # seconds of JavaScript that nothing here runs
    found = audited(background=Background(bandwidths=(0.3, 0.5), t=0.1, l=2, at_least=0.9))
    text = render_page(found.document)
    assert 'id="background"' in text
    assert "Worst case over the bandwidth" in text
    assert "sex=m never ill=b" in text
    assert "All beliefs are exact" in text
    out = io.StringIO()
    print_document(found.document, Console(file=out, width=400), verbose=True)
    assert "\nTo readers who know everybody's quasi-identifiers" in out.getvalue()
    old = found.document.model_copy(update={"diagnostics": {**found.document.diagnostics, "background": []}})
    assert 'id="background"' not in render_page(old)


def test_the_charts_are_valid_specs() -> None:
    line = {"bandwidth": [0.1, 0.5], "worst": [0.2, 0.6], "mean": [0.1, 0.3], "people": [None, 12]}
    pairs = {"first": ["a"], "second": ["b", "c"], "bandwidth": [0.2, 1.2], "worst": [[0.1, 0.2], [0.3, 0.4]]}
    for chart in (worst_over_bandwidths(line, 0.2, 10), worst_by_pairs(pairs)):
        altair.Chart.from_dict(chart.spec, validate=True)
        assert len(chart.rows) == 2
        assert all(len(row) == len(chart.head) for row in chart.rows)
    assert worst_over_bandwidths(line, 0.2, 10).rows[0] == ("0.1", "0.200", "0.100", "<10")
    assert worst_by_pairs(pairs).rows[1] == ("1.2", "0.300", "0.400")


def test_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    more = ("--sweeps", "60", "--most-sweeps", "0", "--attacker", "random_worlds", "--json", "-")
    code, out, _ = run(*audit(folder, "--background", "yes:bandwidths=0.2+0.4,t=0.1", *more), capsys=capsys)
    assert code == 3  # one attacker only: narrowed
    document = json.loads(out)
    assert document["settings"]["background"]["bandwidths"] == [0.2, 0.4]
    ids = {f["id"] for f in document["findings"] if f["attribute"] == "disease"}
    assert {"background.vulnerable.0.2", "background.vulnerable.0.4"} < ids
    code, out, _ = run(*audit(folder, "--background", "no", *more), capsys=capsys)
    assert not any(f["id"].startswith("background") for f in json.loads(out)["findings"])
    for wrong in ("maybe", "yes:bandwidths=0", "yes:t=-1"):
        code, _, err = run(*audit(folder, "--background", wrong, *more), capsys=capsys)
        assert (code, err.count("\n")) == (2, 1)
