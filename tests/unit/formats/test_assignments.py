"""Whose row is whose, by an assignment file or a column that both files have; every mistake is one line."""

import json
from pathlib import Path

import polars as pl
import pytest
from test_cli import run

from unveil import Engine, anonymizer
from unveil.data.release import Release
from unveil.data.schema import read_schema
from unveil.errors import UnveilError
from unveil.formats.releases import Sidecar, assignments, read_release, write_release
from unveil.formats.releases.assignments import assignment_bytes, read_assignment, read_paired
from unveil.formats.tables import read_table

SCHEMA = """version = 1
confirmed = true
[attributes.case]
role = "identifier"
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
domain = { from = 20, to = 39 }
[attributes.s]
role = "sensitive"
domain = ["a", "b"]
"""
DATA = "case,age,s\nk3,20,a\nk1,31,b\nk2,21,b\nk4,30,a\n"
WIDE = "age,s,case\n30-39,a,k4\n20-29,a,k3\n20-29,b, k2 \n30-39,b,k1\n"
NOISY = "case,age,s\nk4,29,a\nk2,22,b\nk3,20,a\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("schema.toml", SCHEMA), ("data.csv", DATA), ("wide.csv", WIDE), ("noisy.csv", NOISY)):
        (tmp_path / name).write_text(text)
    (tmp_path / "noisy.toml").write_text('masked = ["age"]\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def paired(name: str, key: str = "case") -> tuple[Release, list[int]]:
    schema = read_schema("schema.toml").confirmed()
    table = read_table("data.csv", schema)
    published, rows = read_paired(name, schema, key, original="data.csv", table=table)
    return published, rows.tolist()


def test_groups_and_rows_by_hand(folder: Path) -> None:
    release, group = paired("wide.csv")  # groups are ordered by their cells: 20-29 is the first
    assert isinstance(release, Release)
    assert [a.name for a in release.attributes] == ["age", "s"]
    assert group == [0, 1, 0, 1]
    masked, group = paired("noisy.csv")  # k1 is not published
    assert masked.perturbed
    assert [a.name for a in masked.attributes] == ["age", "s"]
    assert group == [2, -1, 1, 0]


def test_frames(folder: Path) -> None:
    schema = read_schema("schema.toml").confirmed()
    data, wide, noisy = (pl.read_csv(f"{name}.csv") for name in ("data", "wide", "noisy"))
    table = read_table(data, schema)
    assert read_paired(wide, schema, "case", original=data, table=table)[1].tolist() == [0, 1, 0, 1]
    told = Sidecar(masked=("age",))
    assert read_paired(noisy, schema, "case", original=data, table=table, sidecar=told)[1].tolist() == [2, -1, 1, 0]


def test_hidden_links_keep_the_group_of_each_row(folder: Path) -> None:
    """Anatomy's two tables: the group of a row is that of the sidecar's column."""
    (folder / "two.csv").write_text("g,age,case\nx,31,k1\ny,20,k3\nx,21,k2\ny,30,k4\n")
    (folder / "two.toml").write_text('group = "g"\nblocks = [["age"], ["s"]]\nsensitive_table = "two-s.csv"\n')
    (folder / "two-s.csv").write_text("g,s,count\nx,b,2\ny,a,2\n")
    release, group = paired("two.csv")
    assert isinstance(release, Release)
    assert release.groups == 2
    assert group == [0, 1, 1, 0]  # y holds 20, the least: it is the first


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("wide.csv", WIDE.replace("case", "other"), "wide.csv has no such column; it has 'age', 's', 'other'"),
        ("data.csv", DATA.replace("k2", "k3"), "the original, line 4: has the key of line 2; a key belongs to one row"),
        ("wide.csv", WIDE.replace("k1", "k4"), "wide.csv, line 5: has the key of line 2"),
        ("wide.csv", WIDE.replace(" k2 ", "  "), "wide.csv, line 4: is empty; every row needs a key"),
        ("wide.csv", WIDE.replace("k4", "K4"), "wide.csv, line 2: no row of the original has this key; is it"),
        ("wide.csv", WIDE.replace("k", "z"), "this key, nor those of 3 other rows; is it"),
        (
            "wide.csv",
            WIDE.replace("30-39,b,k1\n", ""),
            "1 of 4 rows of the original are not in wide.csv, so their group",
        ),
        (
            "wide.csv",
            "age,s,case,count\n20-29,a,k3,2\n20-29,b,k2,1\n30-39,a,k4,1\n30-39,b,k1,1\n",
            "wide.csv: rows stand for several people; --key case tells only one of them",
        ),
    ],
)
def test_mistakes_are_one_line_and_name_no_key(folder: Path, file: str, text: str, said: str) -> None:
    (folder / file).write_text(text)
    with pytest.raises(UnveilError) as error:
        paired("wide.csv")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert not any(key in str(error.value) for key in ("k1", "k2", "k3", "k4", "K4", "z1"))


def test_an_original_whose_rows_stand_for_several(folder: Path) -> None:
    (folder / "schema.toml").write_text(SCHEMA.replace("confirmed = true\n", 'confirmed = true\nfrequency = "n"\n'))
    (folder / "data.csv").write_text("case,age,s,n\nk3,20,a,2\nk1,31,b,1\nk2,21,b,1\nk4,30,a,1\n")
    with pytest.raises(UnveilError, match="rows of the original stand for several people"):
        paired("wide.csv")


def test_the_commands_find_what_an_assignment_finds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bare.csv").write_text("\n".join(line.rpartition(",")[0] for line in WIDE.splitlines()) + "\n")
    (folder / "quiet.csv").write_text("\n".join(line.partition(",")[2] for line in NOISY.splitlines()) + "\n")
    (folder / "quiet.toml").write_text('masked = ["age"]\n')
    (folder / "groups.csv").write_text("row,group\n1,2\n2,1\n3,2\n4,1\n")  # as they appear: 30-39 first
    (folder / "origin.csv").write_text("row,group\n4,1\n3,2\n1,3\n")
    base = ("-s", "schema.toml", "--original", "data.csv", "--json", "-")
    for command, keyed, bare, assigned in (
        (("audit", "--workers", "1"), "wide.csv", "bare.csv", "groups.csv"),
        (("audit", "--workers", "1"), "noisy.csv", "quiet.csv", "origin.csv"),
        (("attack", "identity", "--subsets", "0"), "noisy.csv", "quiet.csv", "origin.csv"),
        (("attack", "disclosure", "--model", "nearest"), "noisy.csv", "quiet.csv", "origin.csv"),
    ):
        found = []
        for name, how in ((keyed, ("--key", "case")), (bare, ("--assignment", assigned))):
            code, out, err = run(*command, name, *base, *how, capsys=capsys)
            document = json.loads(out)
            found.append((code, [(f["id"], f["value"], f["attribute"]) for f in document["findings"]]))
            if command[0] == "audit":
                assert document["settings"].get("key") == (how[1] if how[0] == "--key" else None)
                told = (
                    "The column case paired rows with the original's and was left out: take it off before publishing."
                )
                assert (told in document["diagnostics"]["remarks"]) == (how[0] == "--key")
        assert found[0] == found[1], command
        assert len(found[0][1]) > 5
    code, _, err = run("audit", "wide.csv", *base, "--key", "case", "--assignment", "groups.csv", capsys=capsys)
    assert (code, "keep one" in err) == (2, True)
    code, _, err = run("audit", "wide.csv", *base, capsys=capsys)  # without --key an identifier is refused as ever
    assert (code, "identifiers are never released" in err) == (2, True)


# --- assignment files -------------------------------------------------------------------------------------------------

BUCKETS = "g,age\nzoo,31\nzoo,21\nape,20\nape,30\n"  # ape, which holds 20, comes first in the canonical order


def assigned(folder: Path, release: str, lines: str) -> list[int]:
    schema = read_schema("schema.toml").confirmed()
    table = read_table("data.csv", schema)
    (folder / "a.csv").write_text("row,group\n" + lines)
    return read_assignment("a.csv", table, read_release(release, schema, attributes=table.attributes)).tolist()


@pytest.fixture
def buckets(folder: Path) -> Path:
    """Anatomy by another tool: its groups have names, or numbers in an order of its own."""
    (folder / "two.csv").write_text(BUCKETS)
    (folder / "two.toml").write_text('group = "g"\nblocks = [["age"], ["s"]]\nsensitive_table = "two-s.csv"\n')
    (folder / "two-s.csv").write_text("g,s,count\nape,a,2\nzoo,b,2\n")
    return folder


def test_groups_go_by_the_names_of_the_release(buckets: Path) -> None:
    assert assigned(buckets, "two.csv", "1,ape\n2,zoo\n3,zoo\n4,ape\n") == [0, 1, 1, 0]
    for name, old, new in (("two.csv", "zoo", "1"), ("two.csv", "ape", "2"), ("two-s.csv", "zoo", "1")):
        path = buckets / name
        path.write_text(path.read_text().replace(old, new))
    (buckets / "two-s.csv").write_text((buckets / "two-s.csv").read_text().replace("ape", "2"))
    assert assigned(buckets, "two.csv", "4,2\n1,2\n2,1\n3,1\n") == [0, 1, 1, 0]  # not our numbers


def test_groups_without_names_are_counted_as_they_appear(folder: Path) -> None:
    (folder / "wide.csv").write_text("age,s\n30-39,a\n20-29,a\n20-29,b\n30-39,b\n")
    assert assigned(folder, "wide.csv", "1,2\n2,1\n3,2\n4,1\n") == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("1,zoo\n2,zoo\n3,ape\n4,ape\n", "row 1 does not fit group 'zoo': no row published there allows age '20'"),
        ("1,ape\n2,zoo\n3,zoo\n4,zoo\n", "3 rows are assigned to group 'zoo', which has 2"),
        ("1,ape\n2,zoo\n3,zoo\n4,3\n", "'3' is not a group of the release; its groups are 'ape', 'zoo'$"),
        ("1,ape\n2,zoo\n3,zoo\n", "one line for each of the original's 4 rows"),
        ("1,ape\n2,zoo\n3,zoo\n3,ape\n", "a row number appears there twice"),
        ("1,ape\n2,zoo\n3,zoo\n5,ape\n", "'5' is not a row number from 1 to 4"),
    ],
)
def test_assignments_that_cannot_be(lines: str, what: str, buckets: Path) -> None:
    with pytest.raises(UnveilError, match=what):
        assigned(buckets, "two.csv", lines)


def test_a_true_value_that_the_group_does_not_hold(buckets: Path) -> None:
    """It would be believed with probability 0."""
    (buckets / "two-s.csv").write_text("g,s,count\nape,b,2\nzoo,a,2\n")
    with pytest.raises(UnveilError, match="row 1 does not fit group 'ape': no row published there allows s 'a'"):
        assigned(buckets, "two.csv", "1,ape\n2,zoo\n3,zoo\n4,ape\n")


def test_values_that_fit_one_by_one_and_not_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "one.csv").write_text("g,age,s\nx,20,b\nx,21,a\ny,31,b\ny,30,a\n")
    (folder / "one.toml").write_text('group = "g"\n')
    for pairs in (1 << 22, 1):  # all rows at once, or one after the other
        monkeypatch.setattr(assignments, "PAIRS", pairs)
        with pytest.raises(
            UnveilError, match="row 1 does not fit group 'x': no row published there allows age '20', s 'a'"
        ):
            assigned(folder, "one.csv", "1,x\n2,y\n3,x\n4,y\n")


def test_our_own_assignment_is_read(folder: Path) -> None:
    schema = read_schema("schema.toml").confirmed()
    table = read_table("data.csv", schema)
    for scheme in ("mondrian:k=2", "anatomy:l=2"):
        made = anonymizer(scheme).anonymize(table, Engine(seed=1))
        write_release(made.release, f"{scheme[:3]}.csv")
        Path("a.csv").write_bytes(assignment_bytes(made.group_of_row))
        read = read_release(f"{scheme[:3]}.csv", schema, attributes=table.attributes)
        assert read_assignment("a.csv", table, read).tolist() == made.group_of_row.tolist()
        assert read_assignment("a.csv", table, made.release).tolist() == made.group_of_row.tolist()
