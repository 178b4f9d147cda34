"""What chosen combinations of known attributes expose: hand-worked, on the page, and in a wide table."""

import json
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from documents import check_document
from one_round import run_audit
from small import INSENSITIVE, QI, SENSITIVE, made_schema, made_table
from unveil import cli
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit import attack
from unveil.audit.numbers import spoken
from unveil.audit.remarks import _named
from unveil.errors import UsageError
from unveil.report import print_blocks, render_page
from unveil.report.reading import names_of
from unveil.report.sections.combinations import combinations as section

SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": [20, 30]},
        "sex": {"role": QI, "domain": ["f", "m"]},
        "disease": {"role": SENSITIVE, "domain": ["flu", "hiv"]},
    }
)
TABLE = made_table(SCHEMA, (20, "f", "flu"), (20, "m", "hiv"), (30, "f", "flu"), (30, "f", "hiv"))
WORLDS = {"random_worlds": RandomWorlds()}
# Six people in each class, three of them with flu: what default limits allow.
SAFE = made_table(SCHEMA, *[(age, sex, disease) for age in (20, 30) for sex in "fm" for disease in ("flu", "hiv") * 3])


def test_how_little_need_be_known() -> None:
    """The cleartext as a release, and a reader for whom every row that fits is as likely.

    By age two rows fit everybody: a coin. By sex three fit a woman (flu, flu, hiv) and one the man: flu is right for
    two women, hiv for the man. By both, two people stand alone and two share a cell with both diseases.
    """
    sets = [["age"], ["sex"], ["sex", "age"]]
    audit = run_audit({"r.csv": TABLE.as_release()}, original=TABLE, attackers=WORLDS, combinations=sets)
    rows = audit.document.diagnostics["combinations"]
    assert [row["known"] for row in rows] == [["age"], ["sex"], ["sex", "age"]]
    assert [row["alone_in_original"] for row in rows] == [0.0, 0.25, 0.5]
    assert [row["fewest_rows"] for row in rows] == [2, 1, 1]
    assert [row["single_row"] for row in rows] == [0.0, 0.25, 0.5]
    assert [row["right"][0] for row in rows] == pytest.approx([0.5, 0.75, 0.75])
    assert [row["sure"][0] for row in rows] == pytest.approx([0.0, 0.25, 0.5])
    assert {row["attacker"] for row in rows} == {"random_worlds"}
    # The audit itself knows all quasi-identifiers, as without combinations.
    assert audit.document.settings["known"] is None
    right = next(f for f in audit.document.findings if f.id == "random_worlds.global_threat")
    assert right.value == pytest.approx(rows[2]["right"][0])
    check_document(audit.to_dict())
    page = render_page(audit.document)
    assert "How little need be known" in page
    assert "sex, age" in page


def test_without_combinations_nothing_is_said_of_them() -> None:
    audit = run_audit({"r.csv": TABLE.as_release()}, original=TABLE, attackers=WORLDS)
    assert "combinations" not in audit.document.diagnostics
    assert "combinations" not in audit.document.settings
    assert "How little need be known" not in render_page(audit.document)


def test_few_people_are_not_counted_in_an_external_document() -> None:
    audit = run_audit(
        {"r.csv": TABLE.as_release()},
        original=TABLE,
        attackers=WORLDS,
        combinations=[["age"], ["sex"]],
        variant="external",
        least_count=2,
    )
    by_age, by_sex = audit.document.diagnostics["combinations"]
    assert (by_age["fewest_rows"], by_sex["fewest_rows"]) == (2, None)
    assert (by_age["single_row"], by_sex["single_row"], by_sex["alone_in_original"]) == (0.0, None, None)
    assert by_sex["sure"] is None


def test_only_the_release() -> None:
    audit = run_audit({"r.csv": TABLE.as_release()}, attackers=WORLDS, combinations=[["age"], ["sex"]])
    rows = audit.document.diagnostics["combinations"]
    assert [(row["alone_in_original"], row["right"]) for row in rows] == [(None, None)] * 2
    assert [row["fewest_rows"] for row in rows] == [2, 1]


def test_what_cannot_be_known_is_refused() -> None:
    for combinations, message in (
        ([["age"], ["zip"]], "unknown attribute 'zip' in known"),
        ([["age"], []], "names none"),
        ([["age"]] * 201, "at most 200"),
    ):
        with pytest.raises(UsageError, match=message):
            run_audit({"r.csv": TABLE.as_release()}, original=TABLE, attackers=WORLDS, combinations=combinations)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "schema.toml").write_text(
        'version = 1\nconfirmed = true\n[attributes.age]\nrole = "quasi-identifier"\nkind = "numeric"\n'
        '[attributes.sex]\nrole = "quasi-identifier"\n[attributes.disease]\nrole = "sensitive"\n'
    )
    text = "age,sex,disease\n20,f,flu\n20,m,hiv\n30,f,flu\n30,f,hiv\n"
    (tmp_path / "data.csv").write_text(text)
    (tmp_path / "r.csv").write_text(text)
    (tmp_path / "audit.toml").write_text('known = ["age,sex", "sex"]\n')
    given = ["audit", "r.csv", "--schema", "schema.toml", "--original", "data.csv", "--attacker", "random_worlds"]
    files = [str(tmp_path / arg) if arg.endswith((".csv", ".toml")) else arg for arg in given]
    for more, known in (
        (["--known", "age", "--known", "age,sex", "--cells", "age=range"], [["age"], ["age", "sex"]]),
        (["--config", str(tmp_path / "audit.toml")], [["age", "sex"], ["sex"]]),
    ):
        argv, sys.argv = sys.argv, ["unveil", *files, *more, "--json", str(tmp_path / "a.json")]
        try:
            with pytest.raises(SystemExit) as stopped:
                cli.main()
        finally:
            sys.argv = argv
        out = capsys.readouterr().out
        assert stopped.value.code == 1  # the original itself
        assert "how little need be known" in out
        found = json.loads((tmp_path / "a.json").read_text())
        assert found["settings"]["combinations"] == known
        assert found["settings"].get("cells") == (["age=range"] if "--cells" in more else None)
        assert [row["known"] for row in found["diagnostics"]["combinations"]] == known


def test_a_wide_table() -> None:
    """200 attributes, 40 of them quasi-identifiers, two sensitive: every combination has its row."""
    random = np.random.default_rng(7)
    roles = [QI] * 40 + [SENSITIVE] * 2 + [INSENSITIVE] * 158
    schema = made_schema({f"a{i}": {"role": role, "domain": ["x", "y", "z"]} for i, role in enumerate(roles)})
    codes = random.integers(0, 3, (60, 200))
    table = made_table(schema, *[["xyz"[c] for c in row] for row in codes])
    sets = [["a0"], ["a0", "a1"], [f"a{i}" for i in range(40)]]
    audit = run_audit({"wide.csv": table.as_release()}, original=table, attackers=WORLDS, combinations=sets)
    rows = audit.document.diagnostics["combinations"]
    assert len(rows) == 6
    for row in rows:
        known = codes[:, [int(name[1:]) for name in row["known"]]]
        fitting = (known[:, None] == known).all(axis=2).sum(axis=1)
        assert row["fewest_rows"] == fitting.min()
        assert row["single_row"] == pytest.approx((fitting == 1).mean())


def test_limits_on_combinations() -> None:
    """By age two rows fit everybody, by sex one fits the man; .25 and .5 of the people are left with one row."""
    sets = [["age"], ["sex"], ["sex", "age"]]
    limits = ["known.fewest_rows.age >= 2", "known.single_row <= 0.25", "known.right.sex+age < 0.76"]

    def found(limits: list[str], **more: object) -> tuple[int, dict[str, tuple[object, str]]]:
        audit = run_audit(
            {"r.csv": TABLE.as_release()}, original=TABLE, attackers=WORLDS, combinations=sets, limits=limits, **more
        )
        check_document(audit.to_dict())
        findings = [f for f in audit.document.findings if f.id.startswith("known.")]
        page = render_page(audit.document)
        assert all(f"{f.id.split('.')[2]} known" in page for f in findings)
        assert {f.attribute for f in findings} == {"disease"}
        return audit.exit_code, {f.id: (f.value, f.verdict) for f in findings}

    assert found(limits) == (
        1,
        {
            "known.fewest_rows.age": (2, "within"),
            "known.single_row.age": (0.0, "within"),
            "known.single_row.sex": (0.25, "within"),
            "known.single_row.sex+age": (0.5, "exceeded"),
            "known.right.sex+age": (0.75, "within"),
        },
    )
    code, kept = found([limits[0], limits[2]])
    assert (code, {verdict for _, verdict in kept.values()}) == (1, {"within"})  # the original itself is not safe
    for limit, code in (("known.fewest_rows.age >= 12", 0), ("known.fewest_rows.age >= 13", 1)):
        waive = {"file": "there is none", "background": "not asked", "inference": "every row is a group of its own"}
        more = {"combinations": sets, "limits": [limit]}
        assert run_audit({"r.csv": SAFE.as_release()}, original=SAFE, waive=waive, **more).exit_code == code
    # An external document withholds shares of fewer than two people, not the verdict.
    assert found(["known.single_row.sex <= 0.2"], variant="external", least_count=2) == (
        1,
        {"known.single_row.sex": (None, "exceeded")},
    )


def test_unknown_values_are_inconclusive() -> None:
    audit = run_audit(
        {"r.csv": TABLE.as_release()},
        attackers=WORLDS,
        combinations=[["age"], ["sex"]],
        limits=["known.alone_in_original <= 1", "known.sure <= 1"],
    )
    verdicts = [f.verdict for f in audit.document.findings if f.id.startswith("known.")]
    assert (audit.exit_code, verdicts) == (1, ["inconclusive", "inconclusive", "within", "within"])
    waive = dict.fromkeys(["file", "linking", "inference", "background"], "there is only the release")
    for limits, code in ((["known.alone_in_original <= 1"], 3), ([], 0)):
        more = {"combinations": [["age"], ["sex"]], "limits": limits}
        assert run_audit({"r.csv": SAFE.as_release()}, waive=waive, **more).exit_code == code


@pytest.mark.parametrize(
    ("limit", "sets", "message"),
    [
        ("known.single_row <= 0.1", [], "give --known more than once"),
        ("known.single_rows <= 0.1", [["age"], ["sex"]], "did you mean single_row"),
        ("known.sure.age+sex <= 0.1", [["age"], ["sex"]], "unknown combination; choose from age, sex"),
        ("known.sure - known.right <= 0.1", [["age"], ["sex"]], "combinations have no"),
    ],
)
def test_limits_that_no_combination_has(limit: str, sets: list[list[str]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run_audit({"r.csv": TABLE.as_release()}, original=TABLE, attackers=WORLDS, combinations=sets, limits=[limit])


def test_chains_run_once_for_all_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = attack.learn
    monkeypatch.setattr(attack, "learn", lambda *given, **more: calls.append(given) or real(*given, **more))
    counts = []
    for sets in ([], [["age"], ["sex"], ["sex", "age"]]):
        calls.clear()
        run_audit({"r.csv": TABLE.as_release()}, original=TABLE, combinations=sets, background=None)
        counts.append(len(calls))
    assert counts[1] == counts[0] + 1


def test_long_names_are_folded_and_each_combination_is_named_once() -> None:
    document = run_audit({"r.csv": TABLE.as_release()}, original=TABLE, attackers=WORLDS, combinations=[["age", "sex"]])
    row = document.document.diagnostics["combinations"][0]
    names = ["marital-status-of-the-person-asked", "occupation-of-the-person-asked-about"]
    rows = [row | {"attribute": name, "known": ["age", "sex"], "reliable": name == names[0]} for name in names]
    again = document.document.model_copy(update={"diagnostics": document.document.diagnostics | {"combinations": rows}})
    said = StringIO()
    print_blocks(section(again, names_of(again))[2:], Console(file=said, width=80))
    words = said.getvalue()
    assert [words.count(text) for text in ("age, sex", *names, "(not reliable)")] == [1, 1, 1, 1]
    assert "…" not in said.getvalue()
    page = render_page(again)
    table = page[page.index('id="combinations"') :]
    table = table[: table.index("</section>")]
    assert table.count("<bdi>age, sex</bdi>") == 1
    assert 'rowspan="2"' in table
    assert table.count("<bdi>not reliable</bdi>") == 1


def test_very_many_names_and_very_large_numbers_are_cut() -> None:
    names = [f"a{i}" for i in range(200)]
    assert _named(names[:20]) == ", ".join(names[:20])
    assert _named(names) == ", ".join(names[:15]) + " and 185 other attributes"
    assert spoken(7.1448188763538333e19, "fake_tuples") == "7.14e+19"
    assert spoken(909_746_244.0, "fake_tuples") == "909,746,244"
    assert spoken(5.05e12 + 0.5, "relative_threat", "max").endswith("5.05e+12")
