"""An external command as a sanitizer: what it is given, what it gives, and every way it can fail."""

import os
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.small import IDENTIFIER, QI, SENSITIVE, made_schema
from unveil import Engine, Oracle, run_differential
from unveil.data.table import Table, code_table
from unveil.errors import ReleaseError, Stopped, UsageError
from unveil.formats.tables import read_columns

SCHEMA = made_schema(
    {
        "name": {"role": IDENTIFIER},
        "age": {"role": QI, "kind": "numeric", "domain": {"from": 0, "to": 120}},
        "gender": {"role": QI, "domain": ["M", "F"]},
        "disease": {"role": SENSITIVE, "domain": ["Flu", "Cancer"]},
    }
)
DATA = "name,age,gender,disease\nAnn,28,M,Flu\nBen,36,M,Flu\nCy,47,F,Cancer\nDee,53,M,Flu\nEve,72,F,Flu\n"

# Two groups, cut where floor(n/2) is reached: Table 2 of Kassem et al. 2019.
TOOL = """
import csv, os, sys, time
rows = list(csv.DictReader(open(sys.argv[1])))
ages = sorted(int(r["age"]) for r in rows)
cut = ages[len(ages) // 2 - 1]
names = [r["name"] for r in rows]
{extra}
with open(sys.argv[2], "w") as out:
    out.write("age,gender,disease\\n")
    for r in rows:
        cell = f'"[,{{cut}}]"' if int(r["age"]) <= cut else f'"[{{cut + 1}},]"'
        out.write(f'{{cell}},*,{{r["disease"]}}\\n')
"""


@pytest.fixture
def table(tmp_path: Path) -> Table:
    (tmp_path / "data.csv").write_text(DATA)
    found = read_columns(tmp_path / "data.csv")
    return code_table(SCHEMA, found.columns, name="data.csv", place=found.place)


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def oracle(tmp_path: Path, extra: str = "", **options: float) -> Oracle:
    (tmp_path / "tool.py").write_text(TOOL.format(extra=extra))
    columns = read_columns(tmp_path / "data.csv").columns
    return Oracle(f"{sys.executable} {tmp_path}/tool.py {{input}} {{output}}", SCHEMA, columns, **options)


def test_table_1b_by_a_tool_nobody_looks_into(table: Table, tmp_path: Path, own_temporary_folder: Path) -> None:
    for workers in (1, 2):
        found = run_differential(table, oracle(tmp_path), model="conditional", engine=Engine(seed=0, workers=workers))
        (tested,) = found.tests.values()
        np.testing.assert_allclose(tested.distance, [1, 1, 2 / 3, 1 / 3, 1 / 3], atol=1e-15)
        assert tested.path == "every record run again"
    assert not list(own_temporary_folder.iterdir())


def test_its_folder_is_its_owners_alone_and_the_file_is_the_original_less_a_row(table: Table, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    look = (
        f"open({str(seen)!r}, 'a').write(oct(os.stat(os.path.dirname(sys.argv[1])).st_mode) + open(sys.argv[1]).read())"
    )
    run_differential(table, oracle(tmp_path, look), model="conditional", engine=Engine(seed=0, workers=1), records=1)
    text = seen.read_text()
    assert text.count("0o40700") == 3  # the whole table twice, one record
    assert text.startswith(f"0o40700{DATA}")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("if 'Cy' not in names: sys.exit('trace\\nno Cy here')", "exit code 1: 'no Cy here'"),
        ("if 'Cy' not in names: rows.pop()", "3 rows came back for 4"),
        ("if 'Cy' not in names: sys.exit(0)", "without writing"),
        ("if 'Cy' not in names: rows[0]['disease'] = 'Cold'", "'Cold'"),
        ("if 'Cy' not in names: open(sys.argv[2], 'w').write('age,disease\\n1,Flu\\n' * 1); sys.exit(0)", "rows came"),
    ],
)
def test_a_failure_is_told_with_its_record_and_the_rest_goes_on(
    table: Table, tmp_path: Path, own_temporary_folder: Path, extra: str, message: str
) -> None:
    found = run_differential(table, oracle(tmp_path, extra), model="conditional", engine=Engine(seed=0, workers=2))
    (tested,) = found.tests.values()
    (failure,) = found.document.diagnostics["failures"]
    assert failure["row"] == 3
    assert message in failure["message"]
    assert str(own_temporary_folder) not in failure["message"]
    np.testing.assert_allclose(tested.distance, [1, 1, 1 / 3, 1 / 3], atol=1e-15)
    assert found.exit_code == 3
    assert not list(own_temporary_folder.iterdir())


def test_a_missing_column(table: Table, tmp_path: Path) -> None:
    cells = "''.join('*,' + r['disease'] + chr(10) for r in rows)"
    drop = f"open(sys.argv[2], 'w').write('age,disease' + chr(10) + {cells})\nsys.exit(0)"
    with pytest.raises(ReleaseError, match="on the whole table: the column gender is missing"):
        run_differential(table, oracle(tmp_path, drop))


def test_a_time_out_ends_the_command_and_its_children(table: Table, tmp_path: Path) -> None:
    left = tmp_path / "left"
    (tmp_path / "child.py").write_text(f"import time; time.sleep(2.5); open({str(left)!r}, 'w')")
    child = f"import subprocess\nif 'Cy' not in names: subprocess.run([sys.executable, {str(tmp_path / 'child.py')!r}])"
    found = run_differential(
        table, oracle(tmp_path, child, timeout=1.2), model="conditional", engine=Engine(seed=0, workers=1)
    )
    (failure,) = found.document.diagnostics["failures"]
    assert (failure["row"], failure["message"]) == (3, "no answer within 1.2 seconds")
    time.sleep(1.6)  # longer than the child would have needed
    assert not left.exists()


def test_stopping_ends_a_running_command_and_a_later_run_goes_on(table: Table, tmp_path: Path) -> None:
    stop = threading.Event()
    waits = f"if 'Cy' not in names and not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(60)"
    engine = Engine(seed=0, workers=1, stop=stop, checkpoints=tmp_path / "saved")
    threading.Timer(2.0, stop.set).start()
    begun = time.monotonic()
    found = run_differential(table, oracle(tmp_path, waits), model="conditional", engine=engine)
    assert time.monotonic() - begun < 30
    (tested,) = found.tests.values()
    assert tested.row.tolist() == [0, 1]
    assert found.exit_code == 3
    assert len(os.listdir(tmp_path / "saved")) == 1
    (tmp_path / "go").touch()
    found = run_differential(
        table, oracle(tmp_path, waits), model="conditional", engine=replace(engine, stop=threading.Event())
    )
    (tested,) = found.tests.values()
    np.testing.assert_allclose(tested.distance, [1, 1, 2 / 3, 1 / 3, 1 / 3], atol=1e-15)
    assert not os.listdir(tmp_path / "saved")


def test_stopped_before_anything(table: Table, tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        run_differential(table, oracle(tmp_path), engine=Engine(seed=0, stop=stop))


def test_commands_that_make_no_sense() -> None:
    for command, text in (
        ("tool {input}", "must contain {output}"),
        ("", "empty command"),
        ("tool 'x {input} {output}", "cannot be split"),
        ("no-such-program-here {input} {output}", "was not found"),
    ):
        with pytest.raises(UsageError, match=text):
            Oracle(command, SCHEMA)
    with pytest.raises(UsageError, match="positive number of seconds"):
        Oracle("cat {input} {output}", SCHEMA, timeout=0)


def test_no_shell_is_asked_and_files_are_found_from_here(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made"
    monkeypatch.chdir(tmp_path)
    words = f"{sys.executable} tool.py {{input}} {{output}} ; touch {made}"
    oracle(tmp_path)
    run_differential(table, Oracle(words, SCHEMA, read_columns(tmp_path / "data.csv").columns), records=1)
    assert not made.exists()
