"""What a hostile reader found: each case as it was reported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unveil import cli

SCHEMA = """version = 1
confirmed = true
missing = ["?"]
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
[attributes.zip]
role = "quasi-identifier"
[attributes.dis]
role = "sensitive"
"""
ORIGINAL = "age,zip,dis\n20,1,a\n20,1,b\n30,2,a\n30,2,b\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "orig.csv").write_text(ORIGINAL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["unveil", *line.split()])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    return int(stopped.value.code or 0), capsys.readouterr().err


REFUSED = {
    "a set of sensitive values is no value": (
        "age,zip,dis\n" + '20,1,"{HIV,AIDS}"\n' * 3 + "30,2,flu\n30,2,cold\n30,2,HIV\n",
        "check r.csv -s s.toml --require distinct_l:l=3",
        "sets of values",
    ),
    "* is not the only value seen": (
        "age,zip,dis\n20,476**,flu\n20,476**,cold\n20,*,flu\n30,476**,flu\n",
        "check r.csv -s s.toml --require k_anonymity:k=3",
        "line 4, zip: '*' cannot be told",
    ),
    "an open interval is not the only value seen": (
        'age,zip,dis\n"[20,]",1,flu\n"[,20]",1,cold\n20,1,flu\n',
        "check r.csv -s s.toml",
        "cannot be told",
    ),
    "a column of * only": ("age,zip,dis\n20,*,a\n20,*,b\n", "check r.csv -s s.toml", "line 2, zip: '*' is not a value"),
    "a notation that is not read": ("age,zip,dis\ntwenties,1,a\ntwenties,1,b\n", "check r.csv -s s.toml", "'twenties'"),
    "a requirement without a threshold": (ORIGINAL, "check r.csv -s s.toml --require k_anonymity", "k_anonymity:k="),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    release, line, message = REFUSED[name]
    (folder / "r.csv").write_text(release)
    code, err = run(line, monkeypatch, capsys)
    assert (code, len(err.splitlines())) == (2, 1), err
    assert message in err


def test_groups_of_one_row_link_every_block(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "sl.csv").write_text("g,age,zip,dis\n1,20,1,a\n2,20,2,b\n3,30,1,a\n4,30,2,b\n")
    (folder / "sl.toml").write_text('group="g"\nblocks=[["age"],["zip"],["dis"]]\n')
    assert run("check sl.csv -s s.toml --require k_anonymity:k=2", monkeypatch, capsys)[0] == 1


OVERWRITING = [
    "anonymize orig.csv -s s.toml --with anatomy:l=2 -o y.csv --assignment y-sensitive.csv",
    "anonymize orig.csv -s s.toml --with mondrian:k=2 -o x.csv --assignment x.toml",
    "schema orig.csv -o orig.csv",
    "anonymize rr-sensitive.csv -s s.toml --with anatomy:l=2 -o rr.csv",
    "hierarchy intervals age --width 5+10 --data orig.csv -o orig.csv",
    "check orig.csv -s s.toml --json orig.csv",
    "attack attribute rr.csv -s s.toml --original orig.csv --people rr-sensitive.csv",
]


@pytest.mark.parametrize("line", OVERWRITING)
def test_nothing_is_written_over_something_else(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "rr-sensitive.csv").write_text(ORIGINAL)
    before = {p.name: p.read_text() for p in folder.iterdir()}
    code, err = run(line, monkeypatch, capsys)
    assert (code, "choose another file" in err) == (2, True), err
    assert {p.name: p.read_text() for p in folder.iterdir()} == before


@pytest.mark.parametrize(
    "requirement",
    ["k_anonymity:k=99999999999999999999", "probabilistic_l:l=1e300", "recursive_cl:c=2,l=99999999999999999999"],
)
def test_huge_requirements_are_refused(
    requirement: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, err = run(
        f"anonymize orig.csv -s s.toml --with mondrian --require {requirement} -o z.csv", monkeypatch, capsys
    )
    assert code == 2
    assert "cannot be met" in err or "is out of range; choose a smaller number" in err
    assert not (folder / "z.csv").exists()


def test_relaxed_cuts_do_not_follow_the_order_of_the_rows(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{20 + i * 7 % 13},{i % 3},{'abcd'[i % 4]}" for i in range(90)]
    written = []
    for name, order in (("a", rows), ("b", rows[::-1])):
        (folder / f"{name}.csv").write_text("age,zip,dis\n" + "\n".join(order) + "\n")
        made = f"anonymize {name}.csv -s s.toml --with mondrian:k=4,relaxed=true --seed 1 -o {name}-r.csv"
        assert run(made, monkeypatch, capsys)[0] == 0
        written.append((folder / f"{name}-r.csv").read_text())
    assert written[0] == written[1]


# The command with each output in turn, as its own process would have it: one start instead of four.
WRITING = """
import os, sys
for output, line in eval(sys.argv.pop()):
    os.dup2(output, 1)
    sys.stdout = open(1, "w", closefd=False)
    sys.argv[1:] = line.split()
    from unveil.cli import main
    try:
        main()
    except SystemExit as ended:
        print("EXIT", ended.code, file=sys.stderr)
os._exit(0)
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_an_output_that_cannot_be_written_is_one_line(folder: Path) -> None:
    """And a reader that leaves, as head does, is no missed requirement."""
    reading, writing = os.pipe()
    os.close(reading)
    with Path("/dev/full").open("w") as full:
        check = "check orig.csv -s s.toml"
        cases = [(full.fileno(), check), (full.fileno(), "schema orig.csv"), (full.fileno(), f"{check} --json -")]
        command = [sys.executable, "-c", WRITING, repr([*cases, (writing, check)])]
        kept = (full.fileno(), writing)
        done = subprocess.run(command, capture_output=True, pass_fds=kept, text=True, cwd=folder, check=False)
    os.close(writing)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    *said, last, rest = done.stderr.split("EXIT ")
    assert len(said) == 3
    for text, after in zip(said, (*said[1:], last), strict=True):
        assert text.splitlines()[-1].startswith("unveil: ")
        assert after.startswith("2\n")
    assert rest == "0\n"
