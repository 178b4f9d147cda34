"""unveil attack identity: run_link, its document, its page and the command, on tables small enough to follow."""

import csv
import io
import json
import stat
import sys
from pathlib import Path
from typing import Any

import altair
import numpy as np
import pytest
from rich.console import Console
from test_carriers import hospital

from documents import check_document
from one_round import run_audit
from small import QI, SENSITIVE, made_release, made_schema, made_table, masked_release
from unveil import cli
from unveil.audit import linkability
from unveil.audit.linking import run_link
from unveil.audit.linking.keys import keys_of_original, keys_of_release
from unveil.audit.linking.run import LINKING
from unveil.catalog import anonymizer
from unveil.data.release import Release
from unveil.data.rows import as_published
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError
from unveil.formats.releases import write_release
from unveil.formats.tables import read_columns
from unveil.report import print_document, render_page
from unveil.report.sections.linkage import READER_NAMES, known_chart, sizes_chart, uniqueness_chart
from unveil.risk.linkage.register import ColumnMapping, read_mapping, register_of_file
from unveil.risk.linkage.sweep import _subsets

SCHEMA = """version = 1
confirmed = true
missing = ["?"]
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 20, to = 29 }
[attributes.sex]
role = "quasi-identifier"
domain = ["f", "m"]
missing = "category"
[attributes.disease]
role = "sensitive"
"""
PEOPLE = ((21, "f"), (24, "f"), (27, "f"), (20, "m"), (29, "m"), (25, "m"))


def table() -> Table:
    schema = made_schema(
        {
            "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 29}},
            "sex": {"role": QI, "domain": ["f", "m"], "missing": "category"},
            "disease": {"role": SENSITIVE},
        },
        missing=["?"],
    )
    return made_table(schema, *((*p, "flu" if i % 2 else "cold") for i, p in enumerate(PEOPLE)))


def generalised() -> Any:
    """Women in two halves of the ages, men of all ages."""
    young, old, every = ([str(a) for a in r] for r in (range(20, 25), range(25, 30), range(20, 30)))
    cells = [(0, young, "f"), (0, young, "f"), (1, old, "f"), *[(2, every, "m")] * 3]
    rows = [(*cell, "flu" if i % 2 else "cold") for i, cell in enumerate(cells)]
    return made_release(table().attributes, [((0, 1, 2), rows)])


def halves() -> Any:
    """Ages in halves, for both: every age lies in one published cell."""
    young, old = ([str(a) for a in r] for r in (range(20, 25), range(25, 30)))
    rows = [(0, young, "f", "flu"), (0, young, "f", "cold"), (1, old, "f", "flu"), (2, young, "m", "flu")]
    rows += [(3, old, "m", "flu"), (3, old, "m", "cold")]
    return made_release(table().attributes, [((0, 1, 2), rows)])


def masked(order: list[int]) -> Release:
    """Ages of the two young women exchanged; rows in this order."""
    age, sex, disease = as_published(table().attributes, table().columns)
    age = age.copy()
    age[[0, 1]] = age[[1, 0]]
    return masked_release(table().attributes, tuple(c[order] for c in (age, sex, disease)), (0,))


def values(document: Any) -> dict[str, Any]:
    return {f.id: f.value for f in document.findings}


def test_a_generalised_release() -> None:
    found = run_link(generalised(), table=table(), limits=["reid <= 0.5", "claimed <= 0.1"])
    # Two young women, one older one, three men: 2·1/2 + 1 + 3·1/3 of 6.
    assert values(found.document)["distance.reid"] == pytest.approx(3 / 6)
    assert values(found.document)["distance.claimed"] == pytest.approx(1 / 6)
    assert values(found.document)["distance.claim_precision"] == 1
    assert values(found.document)["probabilistic.reid"] == pytest.approx(3 / 6)  # nobody fits cells of unlike size
    assert values(found.document)["unsupervised.reid"] is None
    facts = found.document.diagnostics
    assert facts["truth"] == "own row fits"
    assert (found.verdict, found.exit_code) == ("exceeded", 1)
    assert facts["uniqueness"]["of"] == "original"  # the ages of men and women overlap
    assert values(found.document)["sample_unique"] == 1
    points = found.document.charts["known"]["points"]
    assert [(p["known"], p["sets"]) for p in points] == [(1, 2), (2, 1)]
    # By sex alone 1/3 for everybody; by age alone: 21, 24, 20 fit 2 + 3 rows, the others 1 + 3.
    assert points[0]["most"] == pytest.approx(1 / 3)
    assert points[0]["mean"] == pytest.approx((1 / 3 + (3 / 5 + 3 / 4) / 6) / 2)
    assert points[1]["most_by"] == ["age", "sex"]
    sizes = {"edges": [0, 1, 2, 4], "people": [1, 2, 3]}
    assert found.document.charts["set_sizes"] == {"distance": sizes, "probabilistic": sizes}


def test_a_document_is_what_its_schema_says() -> None:
    for found in (
        run_link(generalised(), table=table()),
        run_link(masked([0, 1, 2, 3, 4, 5]), table=table(), group=np.arange(6), fraction=0.5),
        run_link(masked([0, 1, 2, 3, 4, 5]), table=table(), subsets=0),
    ):
        check_document(json.loads(found.document.model_dump_json()))


def test_a_masked_release_and_its_people() -> None:
    order = [5, 3, 1, 0, 2, 4]
    found = run_link(masked(order), table=table(), group=np.argsort(order), fraction=0.5)
    said = values(found.document)
    assert said["distance.reid"] == pytest.approx(4 / 6)  # each young woman is taken for the other
    assert said["prosecutor_risk.mean"] == said["marketer_risk"] == pytest.approx(4 / 6)  # and so is each one's row
    assert (said["prosecutor_risk.max"], said["journalist_risk.max"]) == (1, 1)
    assert said["distance.claimed"] == 1
    frame = found.people()
    assert frame["row"].to_list() == [1, 2, 3, 4, 5, 6]
    assert frame["distance:row"].to_list() == [3, 4, 5, 2, 6, 1]
    assert frame["distance:right"].to_list() == [0, 0, 1, 1, 1, 1]
    assert frame["known:age"].to_list()[0] == frame["link:age"].to_list()[0] == "21"
    assert frame["distance:margin"].to_list()[0] > 0
    # Whoever cannot know who is who still claims as much.
    alone = run_link(masked(order), table=table())
    assert values(alone.document)["distance.reid"] is None
    assert values(alone.document)["probabilistic.reid"] is None
    assert values(alone.document)["distance.claimed"] == 1
    assert alone.document.diagnostics["truth"] == "unknown"
    assert alone.people()["distance:right"].to_list() == [None] * 6
    with pytest.raises(UsageError, match="unknown measure"):
        run_link(masked(order), table=table(), limits=["nonsense <= 1"])
    judged = run_link(masked(order), table=table(), limits=["distance.reid <= 0.5"])
    assert judged.exit_code == 3  # unknown is no pass


def test_the_worst_case_and_one_who_knows_the_masking() -> None:
    order = np.array([5, 3, 1, 0, 2, 4])
    group = np.argsort(order)
    asked: dict[str, Any] = {"worst_case": "weighted_mean", "knowing": "noise:amount=0.1", "subsets": 0}
    found = run_link(
        masked(order.tolist()), table=table(), group=np.argsort(order), **asked, limits=["supervised.reid <= 0.5"]
    )
    said = values(found.document)
    assert said["supervised.reid"] >= said["distance.reid"] == pytest.approx(4 / 6)
    assert 0 <= said["transparency.reid"] <= 1
    assert found.exit_code == 1
    assert found.document.settings["worst_case"] == "weighted_mean"
    assert any("is overfitting" in remark for remark in found.document.diagnostics["remarks"])
    assert {"supervised:right", "transparency:right"} <= set(found.people().columns)
    check_document(json.loads(found.document.model_dump_json()))
    assert set(READER_NAMES) == set(LINKING)
    proven = run_link(masked(order.tolist()), table=table(), group=group, worst_case="owa", prove=30, subsets=0)
    bound = values(proven.document)
    assert bound["supervised.reid"] <= bound["supervised.reid.bound"] <= 1
    assert bound["supervised.reid.tested"] is not None
    assert any("is proven that no distance" in remark for remark in proven.document.diagnostics["remarks"])
    check_document(json.loads(proven.document.model_dump_json()))
    with pytest.raises(UsageError, match="goes with --worst-case"):
        run_link(masked(order.tolist()), table=table(), group=np.argsort(order), prove=1, subsets=0)
    unknown = run_link(masked(order.tolist()), table=table(), **asked)
    assert values(unknown.document)["supervised.reid"] is values(unknown.document)["transparency.reid"] is None
    with pytest.raises(UsageError, match="unknown distance"):
        run_link(masked(order.tolist()), table=table(), group=np.argsort(order), worst_case="median", subsets=0)


def test_probabilistic_readers_and_their_classes() -> None:
    random = np.random.default_rng(2)
    schema = made_schema({n: {"role": QI, "domain": [str(v) for v in range(9)]} for n in "abcd"})
    columns = {n: random.integers(9, size=200) for n in "abcd"}
    original = Table.from_columns(schema, {n: [str(v) for v in c] for n, c in columns.items()})
    noisy = tuple(
        np.where(random.random(200) < 0.1, random.integers(9, size=200), c).astype(np.int64) for c in columns.values()
    )
    order = random.permutation(200)
    release = masked_release(original.attributes, tuple(c[order] for c in noisy), (0, 1, 2, 3))
    found = run_link(release, table=original, group=np.argsort(order), false_links=0.01, missed_links=0.1, subsets=0)
    rows = {r["reader"]: r for r in found.document.diagnostics["readers"]}
    for name in ("probabilistic", "unsupervised"):
        pairs = rows[name]["pairs"]
        assert pairs["link"] + pairs["clerical"] + pairs["no_link"] == 200 * 200
        assert pairs["true_link"] + pairs["true_clerical"] + pairs["true_no_link"] == 200
        assert values(found.document)[f"{name}.reid"] > 0.8
        assert rows[name]["thresholds"]["false_links"] <= 0.01
        assert rows[name]["thresholds"]["missed_links"] <= 0.1
    assert [p["m"] for p in rows["probabilistic"]["parameters"]] == pytest.approx([0.91] * 4, abs=0.06)
    # The stated rate of false links holds for the pairs there are, but for chance: 1% of 39,800.
    others = rows["probabilistic"]["pairs"]["link"] - rows["probabilistic"]["pairs"]["true_link"]
    assert others <= 0.011 * 39_800


def test_uniqueness_of_published_cells_and_of_the_population() -> None:
    keys = keys_of_release(halves(), ["age", "sex"], fraction=None)
    assert sorted(keys.counts.count.tolist()) == [1, 1, 2, 2]
    everybody = made_table(
        made_schema(
            {
                "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 29}},
                "sex": {"role": QI, "domain": ["f", "m"], "missing": "category"},
                "disease": {"role": SENSITIVE},
            },
            missing=["?"],
        ),
        *((a, s, "flu") for a in range(20, 30) for s in ("f", "m") if (a, s) != (20, "f")),
        (20, "?", "flu"),
    )
    people = keys.in_population(everybody)
    # Five ages in each half; one young woman is not there; who has no sex fits no cell.
    assert sorted(people.tolist()) == [4, 5, 5, 5]
    found = run_link(halves(), table=table(), population=everybody)
    assert values(found.document)["counted.population_unique"] == 0
    assert values(found.document)["counted.expected_links"] == pytest.approx(2 / 5)
    assert found.document.diagnostics["uniqueness"]["of"] == "release"
    with pytest.raises(NotApplicable, match="overlap"):
        keys_of_release(generalised(), ["age", "sex"], fraction=None)
    assert keys_of_original(table(), ["sex"], fraction=0.5).counts.count.tolist() == [3, 3]


def test_subsets_are_all_or_drawn() -> None:
    random = np.random.default_rng(1)
    assert _subsets("abc", 7, random) == [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    drawn = _subsets("abcdefgh", 24, random)
    assert len(drawn) == len(set(drawn)) == 1 + 7 * 3
    assert {len(s) for s in drawn} == set(range(1, 9))


def columns_of(text: str, folder: Path) -> Any:
    (folder / "held.csv").write_text(text)
    return read_columns(folder / "held.csv")


def test_a_file_of_the_attackers_own(tmp_path: Path) -> None:
    (tmp_path / "mapping.toml").write_text(
        'row = "no"\n[attributes]\nage = "YEARS"\nsex = "G"\n[values.sex]\n"1" = "m"\n"2" = "f"\n'
    )
    text = "no,YEARS,G,town\n3,27,2,x\n1,,2,y\n5,[28;29],1,z\n".replace(";", "-")
    held = register_of_file(
        columns_of(text, tmp_path),
        generalised().attributes,
        name="held.csv",
        naming=read_mapping(tmp_path / "mapping.toml"),
    )
    assert held.row is not None
    assert held.row.tolist() == [2, 0, 4]
    found = run_link(generalised(), held=held)
    # 27 f fits the one old woman; of an unknown age all three women; 28 or 29 m the three men.
    assert found.links["distance"].size.tolist() == [1, 3, 3]
    assert found.people()["known:age"].to_list() == ["27", "*", "[28,29]"]
    assert found.people()["row"].to_list() == [3, 1, 5]
    assert found.document.diagnostics["uniqueness"] is None  # cells overlap, and there is no original
    # Without rows a masked release cannot be judged, and the line counts.
    nobody = register_of_file(columns_of("sex\nf\n", tmp_path), masked(list(range(6))).attributes, name="held.csv")
    assert nobody.row is None
    assert run_link(masked(list(range(6))), held=nobody, group=np.arange(6)).people()["row"].to_list() == [1]


@pytest.mark.parametrize(
    ("text", "naming", "known", "words"),
    [
        ("x\n1\n", ColumnMapping(), None, "no column has the name"),
        ("age\nold\n", ColumnMapping(), None, "line 2, age"),
        ("age\n21\n", ColumnMapping(columns={"age": "YEARS"}), None, "no column 'YEARS'"),
        ("age\n21\n", ColumnMapping(columns={"town": "age"}), None, "not published"),
        ("age\n21\n", ColumnMapping(row="no"), None, "no column 'no'"),
        ("age,row\n21,7\n", ColumnMapping(), None, "not a row number of the original; give 1 to 6"),
        ("age\n21\n", ColumnMapping(), ["sex"], "no column 'sex'"),
        ("age\n21\n", ColumnMapping(), ["town"], "unknown attribute 'town'"),
    ],
)
def test_files_that_cannot_be(text: str, naming: ColumnMapping, known: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        register_of_file(
            columns_of(text, tmp_path), generalised().attributes, name="held.csv", naming=naming, known=known, rows=6
        )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = [", "not TOML"),
        ("column = 1", "unknown key"),
        ("row = 1", "name of a column"),
        ("[attributes]\nage = 1", "ATTRIBUTE"),
        ("[values]\nage = 1", "values"),
    ],
)
def test_mappings_that_cannot_be(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(text)
    with pytest.raises(UsageError, match=words):
        read_mapping(tmp_path / "m.toml")
    with pytest.raises(UsageError, match="cannot be read"):
        read_mapping(tmp_path / "none.toml")


def test_charts_are_what_vega_lite_knows_and_hostile_names_stay_text() -> None:
    found = run_link(masked(list(range(6))), table=table(), group=np.arange(6), fraction=0.5)
    charts = found.document.charts
    drawn = [known_chart(charts["known"]), sizes_chart(charts["set_sizes"], 6), uniqueness_chart(charts["uniqueness"])]
    for chart in drawn:
        assert chart is not None
        altair.Chart.from_dict({"$schema": altair.SCHEMA_URL, **chart.spec}, validate=True)
    assert drawn[0] is not None
    assert drawn[0].rows[-1][:2] == ("2", "1")
    assert known_chart({"people": 0, "points": []}) is None
    assert uniqueness_chart([]) is None
    document = json.loads(found.document.model_dump_json())
    document["settings"]["release"] = "<script>alert(1)</script>\u202e"
    document["charts"]["known"]["points"][0]["most_by"] = ["<img src=x>"]
    page = render_page(document)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "\u202e" not in page
    said = io.StringIO()
    print_document(found.document, Console(file=said, width=120))
    assert "nearest row" in said.getvalue()


def test_an_audit_speaks_of_linkability() -> None:
    found = run_audit({"a.csv": generalised()}, original=table(), limits=["reid <= 0.4"], engine=Engine(seed=1))
    row = found.document.diagnostics["wp29"]["a.csv"]["linkability"]
    assert (row["status"], row["value"], row["finding"]) == ("measured", pytest.approx(0.5), "reid")
    assert "one in 6" in row["words"]
    assert row["baseline"] == pytest.approx(1 / 6)
    assert found.exit_code == 1
    assert not any("Linkability" in text for text in found.document.diagnostics["not_tested"])
    assert found.document.diagnostics["definitions"]["reid"]["source"].startswith("Torra")
    unknown = run_audit({"a.csv": generalised()}, engine=Engine(seed=1))
    assert unknown.document.diagnostics["wp29"]["a.csv"]["linkability"]["status"] == "not tested"
    assert any("Linkability" in text for text in unknown.document.diagnostics["not_tested"])


def test_of_many_people_a_sample_is_linked_and_its_interval_holds_the_share(monkeypatch: pytest.MonkeyPatch) -> None:
    held = hospital(400)
    release = anonymizer("mondrian:k=4").anonymize(held, Engine(seed=2)).release
    found = {}
    for most in (400, 100):
        monkeypatch.setattr(linkability, "MOST_LINKED", most)
        audit = run_audit({"r": release}, original=held, membership=None, background=None, engine=Engine(seed=1))
        found[most] = {f.id: f for f in audit.document.findings if f.id in ("reid", "claimed")}
        told = [text for text in audit.document.diagnostics["remarks"] if "people was linked" in text]
        assert len(told) == (most == 100)
    exact, sampled = found[400]["reid"], found[100]["reid"]
    assert exact.low == exact.value == exact.high
    assert sampled.low < exact.value < sampled.high
    assert sampled.high - sampled.low < 0.05
    assert found[100]["claimed"].low == 0
    assert 0 < found[100]["claimed"].high < 0.05  # nobody of a hundred is not nobody of four hundred


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    lines = [f"{a},{s},{'flu' if i % 2 else 'cold'}" for i, (a, s) in enumerate(PEOPLE)]
    (tmp_path / "data.csv").write_text("age,sex,disease\n" + "\n".join(lines) + "\n")
    cells = ['"[20,24]",f', '"[20,24]",f', '"[25,29]",f', "*,m", "*,m", "*,m"]
    (tmp_path / "wide.csv").write_text(
        "age,sex,disease\n" + "\n".join(f"{c},{'flu' if i % 2 else 'cold'}" for i, c in enumerate(cells)) + "\n"
    )
    write_release(masked([5, 4, 3, 2, 1, 0]), tmp_path / "noisy.csv")
    (tmp_path / "short.csv").write_text("".join((tmp_path / "wide.csv").read_text().splitlines(keepends=True)[:-1]))
    (tmp_path / "origin.csv").write_text("row,group\n" + "".join(f"{i},{7 - i}\n" for i in range(1, 7)))
    return tmp_path


def run(*options: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    before, sys.argv = sys.argv, ["unveil", "attack", "identity", *map(str, options)]
    try:
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    finally:
        sys.argv = before
    said = capsys.readouterr()
    return int(stopped.value.code or 0), said.out, said.err


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = ("-s", folder / "schema.toml", "--original", folder / "data.csv")
    files = ("--people", folder / "p.csv", "--json", folder / "l.json", "--report", folder / "l.html")
    code, out, err = run(
        folder / "noisy.csv",
        *base,
        "--assignment",
        folder / "origin.csv",
        "--limit",
        "reid <= 0.1",
        *files,
        capsys=capsys,
    )
    assert code == 1
    assert "A LIMIT IS EXCEEDED" in out
    assert "66.67% of 6 people get their own row" in " ".join(out.split())
    assert "it names people: keep it secret" in err
    assert stat.S_IMODE((folder / "p.csv").stat().st_mode) == 0o600
    rows = list(csv.DictReader((folder / "p.csv").read_text().splitlines()))
    assert [r["distance:right"] for r in rows] == ["0.0", "0.0", "1.0", "1.0", "1.0", "1.0"]
    check_document(json.loads((folder / "l.json").read_text()))
    assert "<h1>Can people be linked" in (folder / "l.html").read_text()
    (folder / "groups.csv").write_text("row,group\n1,1\n2,1\n3,2\n4,3\n5,3\n6,3\n")
    code, out, _ = run(
        folder / "wide.csv", *base, "--assignment", folder / "groups.csv", "--subsets", "0", "--splink",
        "--json", folder / "w.json", capsys=capsys,
    )  # fmt: skip
    assert code == 0
    assert "by weights of how narrow the cells are" in " ".join(out.split())
    assert "not run" in out
    assert "it compares values, and the published cells are sets" in (folder / "w.json").read_text()
    code, out, _ = run(folder / "wide.csv", *base, "--known", "sex", "--json", "-", "--subsets", "0", capsys=capsys)
    assert code == 0
    assert json.loads(out)["settings"]["known"] == ["sex"]
    other = (folder / "wide.csv").read_text().replace("[", "").replace("]", "")  # 20,24: a list or a range
    (folder / "other.csv").write_text(other)
    sex = ("--known", "sex", "--json", "-", "--subsets", "0")
    code, _, err = run(folder / "other.csv", *base, *sex, capsys=capsys)
    assert (code, "say --cells age=list or --cells age=range" in err) == (2, True)
    code, again, _ = run(folder / "other.csv", *base, *sex, "--cells", "age=range", capsys=capsys)
    values = [[f["value"] for f in json.loads(text)["findings"]] for text in (out, again)]
    assert values[0] == values[1]
    (folder / "held.csv").write_text("row,sex\n1,f\n4,m\n")
    code, out, _ = run(
        folder / "wide.csv",
        "-s",
        folder / "schema.toml",
        "--held",
        folder / "held.csv",
        "--subsets",
        "0",
        capsys=capsys,
    )
    assert code == 0
    assert "33.33% of 2 people" in " ".join(out.split())


def test_rows_that_kept_their_order_need_no_key(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a grouped release the order says each row's group, as an assignment does."""
    (folder / "groups.csv").write_text("row,group\n" + "".join(f"{i},{g}\n" for i, g in enumerate("112333", 1)))
    base = (folder / "wide.csv", "-s", folder / "schema.toml", "--original", folder / "data.csv", "--json", "-")
    answers = [
        json.loads(run(*base, *told, capsys=capsys)[1])
        for told in (("--aligned",), ("--assignment", folder / "groups.csv"))
    ]
    assert answers[0]["findings"] == answers[1]["findings"]
    assert answers[0]["diagnostics"]["truth"] == "given"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("wide.csv",), "give the people to link"),
        (("wide.csv", "--original", "data.csv", "--mapping", "m.toml"), "--mapping goes with"),
        (("short.csv", "--original", "data.csv", "--aligned"), "the original has"),
        (("noisy.csv", "--original", "data.csv", "--aligned", "--assignment", "origin.csv"), "in several ways"),
        (("wide.csv", "--original", "data.csv", "--known", "town"), "unknown attribute 'town'"),
        (("wide.csv", "--original", "data.csv", "--limit", "alpha <= 3"), "unknown measure"),
        (("wide.csv", "--original", "data.csv", "--fraction", "2"), "sampling fraction"),
        (("wide.csv", "--original", "data.csv", "--people", "p.txt"), "a people file is"),
        (("noisy.csv", "--original", "data.csv", "--false-links", "2"), "false links"),
        (("noisy.csv", "--original", "data.csv", "--release-decimal", "x"), "decimal 'x'"),
        (("wide.csv", "--original", "data.csv", "--release-decimal", "x"), "decimal 'x'"),
        (("wide.csv", "--original", "data.csv", "--cells", "town=value"), "publishes no such attribute"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    folder: Path,
    options: tuple[str, ...],
    text: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    code, out, err = run(*options, "-s", "schema.toml", capsys=capsys)
    assert (code, out) == (2, "")
    assert text in err
    assert err.count("\n") == 1
