"""Releases as files: round trips, files of other tools, and every fault with one clear line."""

import hashlib
import re
import tomllib
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from small import IDENTIFIER, INSENSITIVE, QI, SENSITIVE, made_release, made_schema, made_table
from unveil.data.release import Release
from unveil.data.schema import Schema
from unveil.errors import ReleaseError
from unveil.formats.releases import read_release, release_files, write_release

ZIP = [["45501", "4550*", "*"], ["45502", "4550*", "*"], ["45601", "4560*", "*"], ["45602", "4560*", "*"]]
SCHEMA = made_schema(
    {
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 40}, "missing": "category"},
        "zip": {"role": QI},
        "note": {"role": INSENSITIVE, "domain": ["=cmd()", "<b>", 'say "hi", you', " edge ", "two\nlines"]},
        "disease": {"role": SENSITIVE, "domain": ["flu", "hiv", "none"]},
    },
    {"zip": ZIP},
    missing=["?"],
)
ATTRIBUTES = tuple(SCHEMA.attribute(name) for name in SCHEMA.names)
TWENTIES = tuple(map(str, range(20, 30)))


def back(release: Release, folder: Path, schema: Schema = SCHEMA) -> list[str]:
    """Write, read, compare; returns the names of the files."""
    files = write_release(release, folder / "release.csv")
    assert read_release(folder / "release.csv", schema) == release
    assert read_release(folder / "release.csv", schema, attributes=release.attributes) == release
    return sorted(f.name for f in files)


def test_a_generalised_release(tmp_path: Path) -> None:
    rows = [
        (0, TWENTIES, ("45501", "45502"), "=cmd()", "flu"),
        (0, TWENTIES, ("45501", "45502"), " edge ", "hiv"),
        (1, ("20", "?"), "*", "two\nlines", "none"),
        (1, ("20", "?"), "*", 'say "hi", you', ("flu", "hiv")),
        (2, "*", "*", "<b>", "*"),
    ]
    release = made_release(ATTRIBUTES, [((0, 1, 2, 3), rows)])
    assert back(release, tmp_path) == ["release.csv"]
    assert (tmp_path / "release.csv").read_text().splitlines()[:3] == [
        "age,zip,note,disease",
        '"{20,?}",*,"say ""hi"", you","{flu,hiv}"',
        '"{20,?}",*,"two',
    ]


def test_anatomy_is_two_tables(tmp_path: Path) -> None:
    qi = [(0, "20", "45501", "<b>"), (0, "21", "45502", "<b>"), (1, "?", "45601", "<b>"), (1, "20", "45501", "<b>")]
    release = made_release(
        ATTRIBUTES, [((0, 1, 2), qi), ((3,), [(0, "flu"), (0, "hiv"), (1, "none"), (1, ("flu", "hiv"))])]
    )
    assert back(release, tmp_path) == ["release-sensitive.csv", "release.csv", "release.toml"]
    assert tomllib.loads((tmp_path / "release.toml").read_text()) == {
        "group": "group",
        "blocks": [["age", "zip", "note"], ["disease"]],
        "sensitive_table": "release-sensitive.csv",
        "digests": {
            "table": hashlib.sha256((tmp_path / "release.csv").read_bytes()).hexdigest(),
            "sensitive_table": hashlib.sha256((tmp_path / "release-sensitive.csv").read_bytes()).hexdigest(),
        },
    }
    assert (tmp_path / "release-sensitive.csv").read_text() == (
        'group,disease,count\n1,flu,1\n1,hiv,1\n2,"{flu,hiv}",1\n2,none,1\n'
    )


def test_slices_are_one_table_with_a_sidecar(tmp_path: Path) -> None:
    first = [(0, "20", "<b>"), (0, "20", "<b>"), (1, "40", "=cmd()")]
    second = [(0, "45501", "flu"), (0, "45602", "hiv"), (1, ("45501", "45502"), "none")]
    release = made_release(ATTRIBUTES, [((0, 2), first), ((1, 3), second)])
    assert back(release, tmp_path) == ["release.csv", "release.toml"]
    assert (tmp_path / "release.csv").read_text().splitlines()[0] == "group,age,zip,note,disease"


def test_slices_with_two_sensitive_attributes_and_three_blocks(tmp_path: Path) -> None:
    schema = made_schema({n: {"role": SENSITIVE, "domain": ["a", "b"]} for n in "stu"})
    attributes = [schema.attribute(n) for n in "stu"]
    back(made_release(attributes, [((i,), [(0, "a"), (0, "b")]) for i in range(3)]), tmp_path, schema)
    two = made_release(attributes[:2], [((i,), [(0, "a"), (0, "b")]) for i in range(2)])
    assert back(two, tmp_path, schema) == ["release.csv", "release.toml"]


def test_groups_that_are_no_classes_need_a_sidecar(tmp_path: Path) -> None:
    rows = [(0, "20", "45501", "<b>", "flu"), (1, "20", "45501", "<b>", "flu")]
    assert back(made_release(ATTRIBUTES, [((0, 1, 2, 3), rows)]), tmp_path) == ["release.csv", "release.toml"]


def test_the_original_is_a_release(tmp_path: Path) -> None:
    table = made_table(
        SCHEMA,
        (20, "45501", "<b>", "flu"),
        ("?", "45602", "two\nlines", "hiv"),
        (20, "45501", "<b>", "flu"),
    )
    assert table.as_release().sizes.tolist() == [1, 1, 1]
    back(table.as_release(), tmp_path)


def test_columns_named_as_ours_are_told_apart(tmp_path: Path) -> None:
    schema = made_schema(
        {
            "group": {"role": QI, "domain": ["x", "y"]},
            "group_": {"role": QI, "domain": ["x", "y"]},
            "count": {"role": SENSITIVE, "domain": ["1", "2"]},
        }
    )
    attributes = [schema.attribute(n) for n in schema.names]
    release = made_release(attributes, [((0, 1), [(0, "x", "y"), (0, "x", "x")]), ((2,), [(0, "1"), (0, "2")])])
    assert back(release, tmp_path, schema) == ["release.csv", "release.toml"]
    assert (tmp_path / "release.csv").read_text().startswith("group__,group,group_,count\n")


def test_a_group_column_is_no_attribute_and_no_frequency(tmp_path: Path) -> None:
    """Whatever the schema has under the name of our group column."""
    for top, role in (({}, IDENTIFIER), ({"frequency": "group"}, None), ({"weight": "group"}, None)):
        declared = {"q": {"role": QI, "domain": ["x", "y"]}, "s": {"role": SENSITIVE, "domain": ["1", "2"]}}
        if role is not None:
            declared["group"] = {"role": role}
        schema = made_schema(declared, **top)
        attributes = [schema.attribute(n) for n in "qs"]
        release = made_release(attributes, [((0,), [(0, "x"), (0, "y")]), ((1,), [(0, "1"), (0, "2")])])
        back(release, tmp_path, schema)


def test_what_the_sidecar_orders_differently_is_the_same_release(tmp_path: Path) -> None:
    file(tmp_path, "r.csv", "g,age,zip,note,disease\n1,20,45501,<b>,flu\n1,21,45502,<b>,hiv\n")
    file(tmp_path, "r.toml", 'group = "g"\nblocks = [["disease"], ["note", "zip", "age"]]\n')
    one = read_release(tmp_path / "r.csv", SCHEMA)
    file(tmp_path, "r.toml", 'group = "g"\nblocks = [["age", "zip", "note"], ["disease"]]\n')
    assert read_release(tmp_path / "r.csv", SCHEMA) == one


# ------------------------------------------------------------------------------------------ files of other tools


def file(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, newline="")
    return folder / name


def test_without_a_sidecar_groups_are_rows_with_equal_cells(tmp_path: Path) -> None:
    """Equal as regions, not as texts; the cells of sensitive and insensitive attributes do not matter."""
    path = file(
        tmp_path,
        "r.csv",
        "disease;zip;age\nflu;4550*;[20-22]\nhiv;{45502,45501};[20,22]\nnone;4550*;{22,21,20}\nflu;45501;[20,22]\n",
    )
    release = read_release(path, SCHEMA)
    assert [a.name for a in release.attributes] == ["age", "zip", "disease"]
    assert release.sizes.tolist() == [1, 3]
    assert [b.attributes for b in release.blocks] == [(0, 1, 2)]
    assert release.histograms(2)[0].tolist() == [[1, 0, 0], [1, 1, 1]]


def test_domains_that_only_the_release_shows(tmp_path: Path) -> None:
    schema = made_schema(
        {
            "age": {"role": QI, "kind": "numeric"},
            "day": {"role": QI, "kind": "date"},
            "job": {"role": QI},
            "s": {"role": SENSITIVE},
        }
    )
    path = file(
        tmp_path,
        "r.csv",
        'age,day,job,s\n"[20,22]",2024-02-29,"{nurse,""cook, chef""}",flu\n25,"[2024-02-28,2024-03-01]",guard,hiv\n',
    )
    release = read_release(path, schema)
    assert release.attributes[0].values == ("20", "21", "22", "23", "24", "25")
    assert release.attributes[1].values == ("2024-02-28", "2024-02-29", "2024-03-01")
    assert release.attributes[2].values == ("cook, chef", "guard", "nurse")
    assert release.attributes[3].values == ("flu", "hiv")
    assert {a.source for a in release.attributes} == {"release"}


def test_a_european_file(tmp_path: Path) -> None:
    schema = made_schema({"x": {"role": QI, "kind": "numeric"}, "s": {"role": SENSITIVE}})
    release = read_release(file(tmp_path, "r.csv", "x;s\n0,5;a\n1,5;b\n"), schema)
    assert release.attributes[0].values == ("0.5", "1.5")


def test_frequencies_count_rows(tmp_path: Path) -> None:
    schema = made_schema({"q": {"role": QI}, "s": {"role": SENSITIVE}}, frequency="n")
    release = read_release(file(tmp_path, "r.csv", "q,s,n\nx,a,3\nx,b,1\ny,a,2\n"), schema)
    assert release.sizes.tolist() == [4, 2]
    assert release.rows == 6


def test_a_schema_beside_the_release_is_no_sidecar(tmp_path: Path) -> None:
    path = file(tmp_path, "r.csv", "age,disease\n20,flu\n")
    file(tmp_path, "r.toml", 'version = 1\n[attributes.age]\nrole = "quasi-identifier"\n')
    assert read_release(path, SCHEMA).rows == 1


def test_kifer_table_5(tmp_path: Path) -> None:
    """Kifer 2009, Table 5: three groups of four different diseases."""
    schema = made_schema(
        {
            "gender": {"role": QI},
            "age": {"role": QI, "kind": "numeric"},
            "zip": {"role": QI},
            "disease": {"role": SENSITIVE},
        }
    )
    rows = """M,25,90210,1 M,29,90212,1 F,40,07620,1 F,24,33109,1 F,43,90211,2 F,41,07620,2 M,48,07620,2 F,40,07620,2
        M,41,90213,3 F,40,33109,3 M,48,33109,3 M,49,33109,3"""
    path = file(tmp_path, "kifer.csv", "\n".join(["gender,age,zip,GID", *rows.split()]) + "\n")
    sick = [f"{group},{disease},1" for group in (1, 2, 3) for disease in ("AIDS", "Cancer", "Flu", "None")]
    file(tmp_path, "kifer-sensitive.csv", "\n".join(["GID,disease,count", *sick]) + "\n")
    file(tmp_path, "kifer.toml", 'group = "GID"\nsensitive_table = "kifer-sensitive.csv"\n')
    release = read_release(path, schema)
    assert release.sizes.tolist() == [4, 4, 4]
    assert [b.attributes for b in release.blocks] == [(0, 1, 2), (3,)]
    assert release.attributes[3].values == ("AIDS", "Cancer", "Flu", "None")
    histograms, _ = release.histograms(3)
    assert (histograms == 1).all()
    assert histograms.shape == (3, 4)
    assert release.class_sizes().max() == 2  # F,40,07620 stands in two groups
    assert back(release, tmp_path, schema)
    turned = [",".join(reversed(line.split(","))) for line in ["GID,disease,count", *sick]]
    file(tmp_path, "kifer-sensitive.csv", "\n".join(turned) + "\n")
    assert read_release(path, schema) == release


BOREALE = made_schema({"nat": {"role": QI}, "zip": {"role": QI}, "disease": {"role": SENSITIVE}})


def test_boreale_table_1c(tmp_path: Path) -> None:
    """Boreale et al. 2020, Table I(c): Anatomy in one table; the rows of a group stand in no meaningful order."""
    rows = """1,Japan,45502,Heart 1,Malaysia,45501,Flu 2,Japan,55504,Flu 2,Japan,55503,Stomach 3,Japan,66601,HIV
        3,China,66601,Diabetes 4,Malaysia,77701,Flu 4,India,77701,Heart"""
    path = file(tmp_path, "c.csv", "\n".join(["GID,nat,zip,disease", *rows.split()]) + "\n")
    file(tmp_path, "c.toml", 'group = "GID"\nblocks = [["nat", "zip"], ["disease"]]\n')
    release = read_release(path, BOREALE)
    assert release.sizes.tolist() == [2, 2, 2, 2]
    histograms, _ = release.histograms(2)
    assert (histograms.sum(axis=1) == 2).all()
    assert histograms.max() == 1  # 2-diverse
    swapped = [line.split(",") for line in rows.split()]
    for i in range(0, 8, 2):
        swapped[i][3], swapped[i + 1][3] = swapped[i + 1][3], swapped[i][3]
    file(tmp_path, "c.csv", "\n".join(["GID,nat,zip,disease", *map(",".join, swapped)]) + "\n")
    assert read_release(path, BOREALE) == release
    assert back(release, tmp_path, BOREALE) == ["release-sensitive.csv", "release.csv", "release.toml"]


def test_boreale_table_1b(tmp_path: Path) -> None:
    """Table I(b): local recoding, sets and prefixes; 2-anonymous and 2-diverse."""
    zips = ["45501", "45502", "55503", "55504", "66601", "77701"]
    schema = made_schema(
        {"nat": {"role": QI, "domain": ["C", "I", "J", "M"]}, "zip": {"role": QI}, "disease": {"role": SENSITIVE}},
        {"zip": [[z, z[:4] + "*", "*"] for z in zips]},
    )
    rows = """"{M,J}",4550*,Heart "{M,J}",4550*,Flu J,5550*,Flu J,5550*,Stomach "{C,J}",66601,HIV
        "{C,J}",66601,Diabetes "{I,M}",77701,Flu "{I,M}",77701,Heart"""
    path = file(tmp_path, "b.csv", "\n".join(["nat,zip,disease", *rows.split()]) + "\n")
    release = read_release(path, schema)
    assert release.sizes.tolist() == [2, 2, 2, 2]
    assert release.class_sizes().tolist() == [2, 2, 2, 2]
    assert np.count_nonzero(release.histograms(2)[0], axis=1).tolist() == [2, 2, 2, 2]
    assert back(release, tmp_path, schema) == ["release.csv"]


# -------------------------------------------------------------------------------------------------------- faults

PLAIN = "age,zip,disease\n20,45501,flu\n"
ANATOMY = "g,age,zip\n1,20,45501\n1,21,45502\n2,20,45601\n"
TWO = 'group = "g"\nsensitive_table = "s.csv"\n'


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"r.csv": "age,name\n20,Ada\n"}, "does not name the column 'name'; remove it, add [attributes.NAME]"),
        ({"r.csv": 'age,"na\nme"\n20,Ada\n'}, "does not name the column 'na\\nme'"),
        ({"r.csv": "id,age\n1,20\n"}, "'id' is an identifier; identifiers are never released"),
        ({"r.csv": "w\n1\n"}, "publishes none of the attributes"),
        ({"r.csv": "age,zip\n20,45501\n4x,45501\n"}, "r.csv, line 3, age: '4x' is not a value, interval or set"),
        ({"r.csv": "age,zip\n20,\n"}, "zip: an empty cell; if the value was withheld, say --cells zip=suppressed"),
        ({"r.csv": "age\n"}, "holds no rows"),
        ({"r.csv": ""}, "is empty"),
        ({"r.csv": "job\na\n\"{\"\"b}\"\n"}, "r.csv, line 3, job: '\"b': a quoted value does not end"),
        ({"r.csv": "n\n1\n[3\n"}, "line 3, n: '[3' is not a value, interval or set of the domain (release: '1')"),
        ({"r.csv": PLAIN, "r.toml": "group = 'g'\n"}, "the sidecar's group column 'g' is not there"),
        ({"r.csv": PLAIN, "r.toml": "groups = 'g'\n"}, "r.toml, groups: is unknown; a sidecar has group"),
        ({"r.csv": PLAIN, "r.toml": "\ngroup = 7\n"}, "r.toml, group:"),
        ({"r.csv": PLAIN, "r.toml": "group = \n"}, "; it stands beside the release"),
        ({"r.csv": PLAIN, "r.toml": "blocks = [['age']]\n"}, "once; correct 'zip'"),
        ({"r.csv": PLAIN, "r.toml": "blocks = [['age', 'zip', 'age'], ['disease']]\n"}, "once; correct 'age'"),
        ({"r.csv": PLAIN, "r.toml": "blocks = [['age', 'zip'], ['disease', 'x']]\n"}, "once; correct 'x'"),
        ({"r.csv": PLAIN, "r.toml": "sensitive_table = 's.csv'\n"}, "sensitive_table needs group"),
        ({"r.csv": ANATOMY, "r.toml": TWO}, "s.csv: "),
        ({"r.csv": ANATOMY, "r.toml": TWO, "s.csv": "g,disease\n1,flu\n"}, "its columns must be 'g', the"),
        ({"r.csv": ANATOMY, "r.toml": TWO, "s.csv": "g,disease,n\n1,flu,1\n"}, "its columns must be 'g', the"),
        (
            {"r.csv": ANATOMY, "r.toml": TWO, "s.csv": "g,disease,count\n1,flu,2\n3,flu,1\n"},
            "s.csv: group '3' is not in",
        ),
        (
            {"r.csv": ANATOMY, "r.toml": TWO, "s.csv": "g,disease,count\n1,flu,2\n"},
            "group '2' has 1 rows in one table, 0 in the other",
        ),
        (
            {
                "r.csv": ANATOMY,
                "r.toml": TWO + "blocks = [['disease'], ['age', 'zip']]\n",
                "s.csv": "g,disease,count\n1,flu,2\n",
            },
            "group '2' has 1 rows in one table, 0 in the other",
        ),
        (
            {"r.csv": ANATOMY, "r.toml": TWO, "s.csv": "g,disease,count\n1,flu,3\n2,flu,1\n"},
            "group '1' has 3 rows in one table, 2 in the other",
        ),
        *(
            (
                {"r.csv": ANATOMY, "r.toml": TWO, "s.csv": f"g,disease,count\n1,flu,2\n2,flu,{count}\n"},
                f"s.csv, line 3, count: '{count[:60]}",
            )
            for count in ("0", "-1", "1.5", "", "²", "9" * 10, "9" * 5000)
        ),
        (
            {"r.csv": ANATOMY, "r.toml": TWO, "s.csv": "g,age,count\n1,20,2\n2,20,1\n"},
            "'age' stands in both tables; the link to it would not be hidden",
        ),
        (
            {
                "r.csv": ANATOMY,
                "r.toml": TWO + "blocks = [['age'], ['zip', 'disease']]\n",
                "s.csv": "g,disease,count\n1,flu,2\n2,flu,1\n",
            },
            "'disease' stands in a table of its own",
        ),
    ],
)  # fmt: skip
def test_every_fault_is_one_clear_line(files: dict[str, str], message: str, tmp_path: Path) -> None:
    schema = made_schema(
        {
            "id": {"role": IDENTIFIER},
            "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 40}},
            "n": {"role": QI, "kind": "numeric"},
            "job": {"role": QI},
            "zip": {"role": QI},
            "disease": {"role": SENSITIVE},
        },
        {"zip": ZIP},
        weight="w",
    )
    for name, text in files.items():
        file(tmp_path, name, text)
    with pytest.raises(ReleaseError) as error:
        read_release(tmp_path / "r.csv", schema)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_column_of_nothing_but_stars_has_no_domain(tmp_path: Path) -> None:
    schema = made_schema({"q": {"role": QI}})
    with pytest.raises(ReleaseError, match=r"line 2, q: '\*' is not a value"):
        read_release(file(tmp_path, "r.csv", "q\n*\n"), schema)


def test_a_row_with_perturbed_columns_is_a_group(tmp_path: Path) -> None:
    path = file(tmp_path, "r.csv", PLAIN)
    file(tmp_path, "r.toml", 'masked = ["age"]\n')
    release = read_release(path, SCHEMA)
    assert [release.attributes[i].name for i in release.perturbed] == ["age"]
    assert release.groups == release.rows == len(PLAIN.splitlines()) - 1


@pytest.mark.parametrize(
    ("name", "instead"),
    [("release.xls", "release.xlsx"), ("release.sas7bdat", "release.xpt")],
)
def test_a_release_has_an_ending_that_can_be_written(name: str, instead: str, tmp_path: Path) -> None:
    release = made_release(ATTRIBUTES[3:], [((0,), [(0, "flu")])])
    with pytest.raises(ReleaseError, match=re.escape(f"name it {instead}")):
        write_release(release, tmp_path / name)


def test_nothing_that_says_something_else_is_written_over(tmp_path: Path) -> None:
    """A sidecar must not be left beside a release that it does not describe, nor take the place of a schema."""
    plain = made_release(ATTRIBUTES[3:], [((0,), [(0, "flu")])])
    cut = made_release(ATTRIBUTES[2:], [((0,), [(0, "<b>"), (0, "<b>")]), ((1,), [(0, "flu"), (0, "hiv")])])
    schema = file(tmp_path, "r.toml", 'version = 1\n[attributes.age]\nrole = "quasi-identifier"\n')
    with pytest.raises(ReleaseError, match=r"r\.toml: a schema is in the way; give"):
        write_release(cut, tmp_path / "r.csv")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["r.toml"]
    write_release(plain, tmp_path / "r.csv")
    schema.unlink()
    write_release(cut, tmp_path / "r.csv")
    write_release(cut, tmp_path / "r.csv")
    text = (tmp_path / "r.toml").read_text()
    (tmp_path / "r.toml").write_text(text[: text.index("[digests]")])  # as an earlier version wrote it
    with pytest.raises(ReleaseError, match=r"r\.toml: the sidecar of an earlier release is in the way"):
        write_release(plain, tmp_path / "r.csv")


def test_the_order_of_rows_leaks_nothing() -> None:
    """The same bytes, whatever order the material came in."""
    rows = [(0, "20", "45501", "<b>"), (0, "21", "45502", "<b>"), (0, "20", "45501", "=cmd()")]
    sick = [(0, "flu"), (0, "hiv"), (0, "none")]
    one = release_files(made_release(ATTRIBUTES, [((0, 1, 2), rows), ((3,), sick)]), "x.csv")
    other = release_files(made_release(ATTRIBUTES, [((3,), sick[::-1]), ((0, 1, 2), rows[::-1])]), "x.csv")
    assert one == other


def test_dates_and_bins(tmp_path: Path) -> None:
    schema = made_schema(
        {
            "born": {"role": QI, "kind": "date", "bins": [date(1990, 1, 1), date(2000, 1, 1)], "missing": "category"},
            "pay": {"role": QI, "kind": "numeric", "bins": [10.5, 20]},
            "len": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 9}, "bins": [3, 6]},
        },
        missing=["?"],
    )
    attributes = [schema.attribute(n) for n in schema.names]
    born, pay, length = (a.values for a in attributes)
    rows = [(0, born[:3], pay[:2], length[:2]), (1, born[1:3], pay[0], length[1:]), (2, born, pay, length[0])]
    assert back(made_release(attributes, [((0, 1, 2), rows)]), tmp_path, schema) == ["release.csv"]
