"""Cells spread over several columns, as anonypyx writes them."""

from pathlib import Path

import pytest

from small import QI, SENSITIVE, made_schema
from unveil.errors import ReleaseError
from unveil.formats.releases import read_release, release_files
from unveil.formats.releases.published import gathered
from unveil.formats.tables import read_columns

SPREAD = (
    "age_min,age_max,work_Private,work_State-gov,work_a{b,sex_f,sex_m,job,count\n"
    "20,29,True,True,False,True,False,clerk,2\n"
    "30,30,False,False,True,True,True,cook,1\n"
    "20,29,True,True,True,False,True,cook,3\n"
)
WHOLE = (
    "age,work,sex,job,count\n"
    '"[20,29]","{Private,State-gov}",f,clerk,2\n'
    '30,a{b,"{f,m}",cook,1\n'
    '"[20,29]","{Private,State-gov,""a{b""}",m,cook,3\n'
)


def cells(text: str, folder: Path, names: tuple[str, ...]) -> dict[str, list[str]]:
    (folder / "r.csv").write_text(text)
    found = gathered(read_columns(folder / "r.csv"), names)
    return {name: [column.texts[i] for i in column.text_of_row] for name, column in found.columns.items()}


def test_both_ends_and_columns_of_answers_become_cells(tmp_path: Path) -> None:
    found = cells(SPREAD, tmp_path, ("age", "work", "sex", "job"))
    assert list(found) == ["age", "work", "sex", "job", "count"]
    assert found["age"] == ["[20,29]", "30", "[20,29]"]
    assert found["work"] == ['{"Private","State-gov"}', "a{b", '{"Private","State-gov","a{b"}']
    assert found["sex"] == ["f", '{"f","m"}', "m"]


def test_the_release_is_that_of_whole_cells(tmp_path: Path) -> None:
    schema = made_schema(
        {
            "age": {"role": QI, "kind": "numeric", "domain": {"from": 20, "to": 40, "step": 1}},
            "work": {"role": QI, "domain": ["Private", "State-gov", "a{b"]},
            "sex": {"role": QI, "domain": ["f", "m"]},
            "job": {"role": SENSITIVE, "domain": ["clerk", "cook"]},
        }
    )
    written = []
    for name, text in (("spread.csv", SPREAD), ("whole.csv", WHOLE)):
        (tmp_path / name).write_text(text)
        release = read_release(tmp_path / name, schema)
        assert sorted(release.sizes.tolist()) == [1, 2, 3]
        written.append(release_files(release, tmp_path / "again.csv")[tmp_path / "again.csv"])
    assert written[0] == written[1]


def test_columns_of_other_meaning_stay(tmp_path: Path) -> None:
    names = ("age", "blood", "blood_type", "kin")
    text = "age_min,age,blood_type,blood_type_min,blood_type_max,kin_a\n1,2,A,1,2,True\n"
    assert list(cells(text, tmp_path, names)) == text.split("\n")[0].split(",")  # named, alone, or of one column only
    assert list(cells("blood_type_a,blood_type_b\nTrue,yes\n", tmp_path, names)) == ["blood_type_a", "blood_type_b"]
    found = cells("blood_type_a,blood_type_b,blood_c,blood_d\n1,0,0,1\n", tmp_path, names)
    assert found == {"blood_type": ["a"], "blood": ["d"]}  # the longest name that fits


def test_a_row_without_any_value_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("sex_f,sex_m,job\nFalse,False,cook\n")
    schema = made_schema({"sex": {"role": QI, "domain": ["f", "m"]}, "job": {"role": SENSITIVE}})
    with pytest.raises(ReleaseError, match=r"line 2, sex: '\{\}' is an empty set"):
        read_release(tmp_path / "r.csv", schema)
