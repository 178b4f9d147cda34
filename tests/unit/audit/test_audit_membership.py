"""The audit's section on membership: numbers by hand, the limit that a sensitive membership brings, what is said."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from test_cli import run

from documents import check_document
from one_round import run_audit
from small import QI, SENSITIVE, WAIVED, made_release, made_schema, made_table
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit import Audit, MembershipQuestion, hold_out
from unveil.audit import membership as section
from unveil.audit.levels import run_check
from unveil.audit.measures import parse_id
from unveil.catalog import anonymizer
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.frontier.sources import source_of
from unveil.report import print_document
from unveil.report.blocks import Chart
from unveil.report.reading import names_of
from unveil.report.sections.membership import membership, membership_charts

SCHEMA = made_schema(
    {
        "nation": {"role": QI, "domain": ["us", "ca", "fr", "it", "de"]},
        "d": {"role": SENSITIVE, "domain": ["x", "y"]},
    }
)
TABLE = made_table(SCHEMA, ("us", "x"), ("us", "y"), ("ca", "x"), ("it", "y"), ("fr", "x"))
AROUND = [*["us"] * 3, *["ca"] * 3, "fr", "it", "it", *["de"] * 3]


def people(nations: list[str]) -> Table:
    return made_table(SCHEMA, *((nation, "x") for nation in nations))


def generalised() -> Release:
    """Two classes: three rows of us or ca, two of fr or it."""
    rows = [(0, ["us", "ca"], v) for v in "xyx"] + [(1, ["fr", "it"], v) for v in "yx"]
    return made_release(TABLE.attributes, [((0, 1), rows)])


OTHERS = {kind: why for kind, why in WAIVED.items() if kind != "membership"}


def audited(release: Release | None = None, **options: Any) -> Audit:
    defaults: dict[str, Any] = {
        "original": TABLE,
        "waive": WAIVED,
        "attackers": {"random_worlds": RandomWorlds()},
        "chains": Chains(chains=2, sweeps=60, burn_in=30, most_sweeps=0, every=10),
        "engine": Engine(seed=1, workers=1),
    }
    found = run_audit({"r.csv": generalised() if release is None else release}, **{**defaults, **options})
    check_document(found.to_dict())
    json.dumps(found.to_dict(), allow_nan=False)
    return found


def values(found: Audit) -> dict[str, Any]:
    return {f.id: f.value for f in found.document.findings if f.attribute is None}


def test_beliefs_by_hand() -> None:
    """Of ten imagined rows (five, and one more of each nation) nine match a class: the odds grow by 10/9."""
    found = audited()
    got = values(found)
    assert got["membership_odds.max"] == pytest.approx(10 / 9)
    assert got["membership_posterior.max"] == got["membership_posterior.mean"] == pytest.approx(10 / 19)
    assert got["fake_tuples"] == 4 * 2 - 5
    assert got["fake_tuples.known"] == 0
    assert [got[f"matching_groups.rows_{w}"] for w in ("10", "20", "more")] == [1, 0, 0]
    assert got["membership_auc.degree"] is None
    assert "delta_presence.max" not in got
    assert values(audited(membership=MembershipQuestion(prior=0.1)))["membership_posterior.max"] == pytest.approx(
        10 / 91
    )


def test_a_population_by_hand() -> None:
    """Five of twelve are in, 3 of the 6 of one class and 2 of the 3 of the other, nobody of de: odds 2 over 5/7."""
    register = people(AROUND)
    found = audited(population=register)
    got = values(found)
    assert got["membership_odds.max"] == pytest.approx(14 / 5)  # groups alone: of seven others four match one, 7/4
    assert got["membership_posterior.max"] == pytest.approx(2 / 3)
    assert got["membership_posterior.mean"] == pytest.approx((3 * 5 / 9 + 2 * 2 / 3) / 5)
    assert got["delta_presence.max"] == pytest.approx(2 / 3)
    assert got["delta_presence.min"] == 0
    checked = run_check(generalised(), population=register)
    assert next(f.value for f in checked.findings if f.id == "delta_presence") == pytest.approx(2 / 3)
    baseline = {f.id: f.baseline for f in found.document.findings}
    assert baseline["membership_posterior.max"] == baseline["delta_presence.max"] == pytest.approx(5 / 12)


def test_controls_by_hand() -> None:
    """us and ca match as members do, de matches nothing; by frequency fr and it stand below us and ca."""
    found = audited(control=people(["us", "ca", "de", "de"]))
    got = values(found)
    assert got["membership_auc.degree"] == pytest.approx((2 + 2 / 2) / 4)
    assert got["membership_auc.frequency"] == pytest.approx((5 * 2 + 3 * 2 / 2) / 20)
    curve = found.document.charts["r.csv"][""]["membership"]["roc"]
    assert curve["false_positive"][0] == 0
    assert curve["degree"][-1] == curve["frequency"][-1] == 1
    assert "75%" in found.document.diagnostics["membership"]["r.csv"]["words"]


def test_a_sensitive_membership_brings_its_limit() -> None:
    found = audited(membership=MembershipQuestion(sensitive=True), waive=OTHERS)
    assert any(f.limit == "membership_odds.max <= 3" for f in found.document.findings)
    assert (found.verdict, found.exit_code) == ("inconclusive", 3)  # nobody outside to judge it by
    assert not any("membership" in (f.limit or "") for f in audited(waive=OTHERS).document.findings)
    assert "membership not considered" in audited(waive=OTHERS).document.diagnostics["judgement"]["r.csv"]["words"]
    as_it_is = TABLE.as_release()
    wide = audited(
        as_it_is,
        membership=MembershipQuestion(sensitive=True),
        waive=OTHERS,
        population=people([*AROUND, *["de"] * 60]),
    )
    assert float(values(wide)["membership_odds.max"]) == float("inf")  # somebody is certain to be in
    assert (wide.verdict, wide.exit_code) == ("exceeded", 1)
    stated = audited(membership=MembershipQuestion(sensitive=True), limits=["membership_posterior.max <= 0.52"])
    assert stated.document.settings["limits"] == ["membership_posterior.max <= 0.52"]
    assert stated.verdict == "exceeded"
    assert audited().document.settings["limits"] == []


def test_a_sensitive_membership_that_was_not_tested_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise NotApplicable("too many cells")

    monkeypatch.setattr(section, "learn_membership", refuse)
    found = audited(membership=MembershipQuestion(sensitive=True), limits=["k_anonymity >= 2"], waive=OTHERS)
    assert (found.verdict, found.exit_code) == ("inconclusive", 3)
    assert "not tested: too many cells" in found.document.diagnostics["membership"]["r.csv"]["words"]
    unasked = audited(membership=None, limits=["membership_odds.max <= 3"], waive=OTHERS)
    row = {r["kind"]: r for r in unasked.document.diagnostics["judgement"]["r.csv"]["kinds"]}["membership"]
    assert (row["verdict"], unasked.exit_code) == ("not judged", 3)
    assert "membership_odds.max <= 3 was not judged" in row["sentence"]


def test_what_is_said_of_it() -> None:
    found = audited(control=people(["us", "de"]))
    out = io.StringIO()
    print_document(found.document, Console(file=out, width=120), verbose=True)
    assert "not said to be sensitive" in out.getvalue()
    assert "Fake tuples," not in out.getvalue()  # numbers only where they matter; the document has them all
    found = audited(control=people(["us", "de"]), membership=MembershipQuestion(sensitive=True))
    print_document(found.document, Console(file=out, width=120), verbose=True)
    for part in ("Being in the table", "Fake tuples, all published", "Members told from controls"):
        assert part in out.getvalue()
    names = names_of(found.document)
    titles = [block.title for block in membership_charts(found.document, names) if isinstance(block, Chart)]
    assert titles == ["Matching groups", "Belief by matching groups", "Members told from controls"]
    assert any("Membership was tested" in text for text in found.document.diagnostics["not_tested"])
    definitions = found.document.diagnostics["definitions"]
    for measure in section.MEASURES:
        assert definitions[measure]["source"]
        page_of, _, heading = definitions[measure]["page"].partition("#")
        text = (Path(__file__).parents[3] / page_of).read_text()
        headings = [line.lstrip("# ").lower().replace(" ", "-") for line in text.splitlines() if line.startswith("#")]
        assert heading in headings
    silent = audited(membership=None)
    assert silent.document.diagnostics["membership"] == {}
    assert any("Membership was not tested" in text for text in silent.document.diagnostics["not_tested"])
    assert membership(silent.document, names_of(silent.document)) == []


def test_an_external_document_withholds_small_counts() -> None:
    charts = audited(variant="external", least_count=4).document.charts["r.csv"][""]["membership"]
    assert charts["bands"]["rows"] == [5, None, None]
    assert charts["degrees"]["people"][:3] == [None, 5, None]


def test_without_the_original_the_rows_themselves_are_asked_about() -> None:
    got = values(audited(original=None))
    assert got["membership_odds.max"] == pytest.approx(10 / 9)
    assert got["fake_tuples"] is None
    assert got["matching_groups.fake_more"] is None


def test_slices_hide_what_anatomy_shows() -> None:
    """The same twelve rows: in Anatomy no other combination fits, in slices of one attribute many do."""
    schema = made_schema(
        {
            "a": {"role": QI, "domain": ["p", "q", "r"]},
            "b": {"role": QI, "domain": ["u", "v", "w"]},
            "d": {"role": SENSITIVE, "domain": ["x", "y"]},
        }
    )
    rows = [("pqr"[i % 3], "uvw"[i // 2 % 3], "xy"[i % 2]) for i in (0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5)]
    table = made_table(schema, *rows)
    distinct = len({row[:2] for row in rows})
    for method, fake in (("anatomy:l=2", 0), ("slicing:columns=a/b/d,grouping=random,size=12", 9 - distinct)):
        release = anonymizer(method).anonymize(table, Engine(seed=3)).release
        found = section.membership_of(release, "", MembershipQuestion(), known=["a", "b"], table=table).findings
        assert next(f.value for f in found if f.id == "fake_tuples.known") == fake


def test_people_held_out() -> None:
    table = people(AROUND)
    inside, outside = hold_out(table, 0.25, Engine(seed=2))
    assert (inside.rows, outside.rows) == (9, 3)
    both = np.concatenate([inside.columns[0], outside.columns[0]])
    assert sorted(both.tolist()) == sorted(table.columns[0].tolist())
    for share in (0, 1, 0.01):
        with pytest.raises(UsageError, match=r"held out|leaves one side empty"):
            hold_out(table, share)


def test_a_frontier_knows_these_measures() -> None:
    assert source_of(parse_id("fake_tuples.known")).claims(parse_id("membership_odds.max"))


def test_the_command_reads_it_from_the_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "schema.toml").write_text(
        'version = 1\nconfirmed = true\nmembership = "sensitive"\n'
        '[attributes.nation]\nrole = "quasi-identifier"\ndomain = ["us", "ca", "fr", "it", "de"]\n'
        '[attributes.d]\nrole = "sensitive"\ndomain = ["x", "y"]\n'
    )
    data = "nation,d\nus,x\nus,y\nca,x\nit,y\nfr,x\n"
    (tmp_path / "data.csv").write_text(data)
    (tmp_path / "release.csv").write_text(data)
    common = ("audit", tmp_path / "release.csv", "-s", tmp_path / "schema.toml", "--original", tmp_path / "data.csv")
    common = (*common, "--attacker", "random_worlds", "--json", "-", "--membership-prior")
    code, out, _ = run(*common, "0.2", capsys=capsys)
    document = json.loads(out)
    assert code == 1  # most of these five people stand alone
    assert document["settings"]["membership"] == "sensitive"
    (kind,) = [k for k in document["diagnostics"]["judgement"]["release.csv"]["kinds"] if k["kind"] == "membership"]
    assert kind["verdict"] == "not judged"
    assert document["diagnostics"]["membership"]["release.csv"]["prior"] == 0.2
    code, _, err = run(*common, "1.5", capsys=capsys)
    assert code == 2
    assert "between 0 and 1, not 1.5" in err
