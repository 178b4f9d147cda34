"""Whole commands on spoilt files: they end with 0, 1, 2 or 3, and what is wrong is said without a trace of ours.

Few examples by default; `make fuzz` runs thousands.
"""

import io
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spoilt import spoilt

from unveil import cli

FEW = None if settings().max_examples > 1000 else 5  # the fuzz profile keeps its thousands
SCHEMA = """version = 1
confirmed = true
missing = ["?"]
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
[attributes.sex]
role = "quasi-identifier"
domain = ["f", "m"]
[attributes.day]
role = "quasi-identifier"
kind = "date"
[attributes.disease]
role = "sensitive"
"""
ROWS = [(20 + i % 7, "fm"[i % 2], f"2024-02-{1 + i % 5:02}", "abc"[i % 3]) for i in range(20)]
DATA = "age,sex,day,disease\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)
WIDE = "age,sex,day,disease\n" + "".join(
    f'{"[20-23]" if row[0] < 24 else "[24-26]"},*,"[2024-02-01,2024-02-05]",{row[3]}\n' for row in reversed(ROWS)
)
CELLS = "g,disease,count\n1,a,4\n1,b,3\n1,c,3\n2,a,3\n2,b,4\n2,c,3\n"
GROUPS = "g,age,sex,day\n" + "".join(f"{1 + i % 2},{row[0]},{row[1]},{row[2]}\n" for i, row in enumerate(ROWS))
SIDECAR = 'group = "g"\nblocks = [["age", "sex", "day"], ["disease"]]\nsensitive_table = "a-sensitive.csv"\n'
MASKED = 'masked = ["age"]\nmethod = "noise"\n'
FILES = {
    "s.toml": SCHEMA,
    "d.csv": DATA,
    "w.csv": WIDE,
    "a.csv": GROUPS,
    "a.toml": SIDECAR,
    "a-sensitive.csv": CELLS,
    "n.csv": DATA.replace("20,", "21.5,"),
    "n.toml": MASKED,
}
SHORT = "--sweeps 50 --most-sweeps 50 --chains 2 --workers 1"
MADE = "anonymize d.csv -s s.toml -o out.csv --with"
COMMANDS = {  # and which files are spoilt
    "schema d.csv -o out.toml --json out.json": "d.csv",
    "schema w.csv --published": "w.csv",
    f"{MADE} mondrian:k=3": "d.csv s.toml",
    f"{MADE} anatomy:l=2 --assignment who.csv": "d.csv s.toml",
    f"{MADE} microaggregation:k=3": "d.csv s.toml",
    f"{MADE} local_suppression:k=2": "d.csv s.toml",
    f"{MADE} noise:amount=0.2": "d.csv s.toml",
    "check w.csv -s s.toml --original d.csv --require distinct_l:l=2": "w.csv d.csv s.toml",
    "check a.csv -s s.toml": "a.csv a.toml a-sensitive.csv s.toml",
    "attack identity w.csv -s s.toml --original d.csv --people who.csv": "w.csv d.csv s.toml",
    "attack identity n.csv -s s.toml --original d.csv": "n.csv n.toml d.csv",
    f"attack attribute a.csv -s s.toml --original d.csv {SHORT}": "a.csv a.toml a-sensitive.csv d.csv s.toml",
    f"audit w.csv -s s.toml --original d.csv --no-panel --json out.json {SHORT}": "w.csv d.csv s.toml",
}


def ended(command: str, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> tuple[object, str]:
    """How a command ends in a folder of these files, and what it says on standard error."""
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, monkeypatch.context() as patched:
        patched.chdir(folder)
        patched.setattr(sys, "argv", ["unveil", *command.split()])
        for name, content in files.items():
            Path(name).write_bytes(content)
        with redirect_stdout(io.StringIO()), redirect_stderr(said), pytest.raises(SystemExit) as end:
            cli.main()
    return end.value.code, said.getvalue()


@pytest.mark.parametrize("command", COMMANDS)
@settings(max_examples=FEW or 5_000)
@given(data=st.data())
def test_any_file_of_a_command(data: st.DataObject, command: str) -> None:
    chosen = data.draw(st.sampled_from(COMMANDS[command].split()))
    good = {name: content.encode() for name, content in FILES.items()}
    with pytest.MonkeyPatch.context() as patched:
        code, said = ended(command, {**good, chosen: data.draw(spoilt(good[chosen]))}, patched)
    assert code in (0, 1, 2, 3), said
    assert "internal error" not in said
    assert "Traceback" not in said


@pytest.mark.parametrize("command", COMMANDS)
def test_whole_files_are_taken(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or else the test above would show nothing."""
    code, said = ended(command, {name: content.encode() for name, content in FILES.items()}, monkeypatch)
    assert code in (0, 1, 3), said
