"""The command line as a user meets it: what works, and every mistake as one clear line with exit code 2."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from unveil import cli
from unveil.cli import hospital
from unveil.formats import output
from unveil.kernels._compile import DEMO

SCHEMA = """version = 1
confirmed = true
missing = ["?"]
[attributes.age]
role = "quasi-identifier"
kind = "numeric"
[attributes.sex]
role = "quasi-identifier"
[attributes.disease]
role = "sensitive"
"""
ROWS = "age,sex,disease\n" + "".join(f"{20 + i % 7},{'fm'[i % 2]},{'abc'[i % 3]}\n" for i in range(42))


def run(*args: str | Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run a command in this process; exit code, standard output, standard error.

    By one round of short chains and without the panel, which asks everything several times, unless told otherwise.
    """
    argv = sys.argv
    sampling = args[:1] in (("audit",), ("frontier",)) or args[:2] == ("attack", "attribute")
    short = {"--sweeps": "400", "--most-sweeps": "0"} if sampling else {}
    few = [word for name, value in short.items() if name not in args for word in (name, value)]
    few += ["--no-panel"] if args[:1] == ("audit",) and "--panel" not in args else []
    sys.argv = ["unveil", *map(str, (*args, *few))]
    try:
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    finally:
        sys.argv = argv
    out, err = capsys.readouterr()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, out, err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "data.csv").write_text(ROWS)
    return tmp_path


def _anonymize(
    folder: Path, *rest: str | Path, with_: str = "mondrian:k=3", data: str = "data.csv"
) -> tuple[str | Path, ...]:
    return (
        "anonymize",
        folder / data,
        "--schema",
        folder / "schema.toml",
        "--with",
        with_,
        "-o",
        folder / "r.csv",
        *rest,
    )


def test_anonymize_then_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(*_anonymize(folder), capsys=capsys)
    assert (code, out) == (0, "")
    assert "42 rows in" in err
    assert "seed" in err
    code, out, err = run("check", folder / "r.csv", "-s", folder / "schema.toml", "--json", "-", capsys=capsys)
    assert code == 0
    document = json.loads(out)
    assert document["document"] == "check"
    levels = {f["id"]: f["value"] for f in document["findings"]}
    assert levels["k_anonymity"] >= 3
    assert [i["name"] for i in document["inputs"]] == ["r.csv", "schema.toml"]


def test_a_search_says_what_it_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(*_anonymize(folder, with_="full_domain:k=4"), capsys=capsys)
    assert (code, out) == (0, "")
    # Each age and sex three times: ages have no hierarchy, so either all ages or both sexes go.
    note = "full_domain:levels=0+1: certainty_penalty 0.5; no node loses less ("
    assert [line.startswith(note) for line in err.splitlines()].count(True) == 1
    assert "levels" not in (folder / "r.csv").read_text()


def test_a_missed_requirement_is_exit_code_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(*_anonymize(folder), capsys=capsys)
    check = ("check", folder / "r.csv", "-s", folder / "schema.toml", "--require")
    assert run(*check, "k_anonymity:k=3", capsys=capsys)[0] == 0
    code, out, _ = run(*check, "k_anonymity:k=40", capsys=capsys)
    assert code == 1
    assert "A LIMIT IS EXCEEDED" in out


def test_the_assignment_is_private_and_numbers_groups_as_the_release_does(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*_anonymize(folder, "--assignment", folder / "a.csv", with_="anatomy:l=3"), capsys=capsys)[0] == 0
    assert stat.S_IMODE((folder / "a.csv").stat().st_mode) == 0o600
    assigned = [line.split(",")[1] for line in (folder / "a.csv").read_text().splitlines()[1:]]
    published = [line.split(",")[0] for line in (folder / "r.csv").read_text().splitlines()[1:]]
    assert sorted(assigned) == sorted(published)
    ages = {g: [] for g in published}  # type: dict[str, list[str]]
    for group, line in zip(assigned, ROWS.splitlines()[1:], strict=True):
        ages[group].append(line.split(",")[0])
    for line in (folder / "r.csv").read_text().splitlines()[1:]:
        ages[line.split(",")[0]].remove(line.split(",")[1])
    assert not any(ages.values())


def test_a_seed_makes_the_same_release(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for seed in ("7", "7", "8"):
        run(*_anonymize(folder, "--seed", seed, with_="anatomy:l=3"), capsys=capsys)
        texts.append((folder / "r.csv").read_text())
    assert texts[0] == texts[1] != texts[2]
    assert not any(line.strip() == "7" for line in (folder / "r.toml").read_text().splitlines())


def test_draft_then_refusal_until_confirmed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("schema", folder / "data.csv", "-o", folder / "draft.toml", capsys=capsys)
    assert code == 0
    assert "42 rows" in err
    refused = (
        "anonymize",
        folder / "data.csv",
        "-s",
        folder / "draft.toml",
        "--with",
        "mondrian:k=3",
        "-o",
        folder / "r.csv",
    )
    code, _, err = run(*refused, capsys=capsys)
    assert (code, "confirmed = true" in err) == (2, True)
    draft = folder / "draft.toml"
    again = ("schema", folder / "data.csv", "-o", draft)
    assert run(*again, capsys=capsys)[0] == 0  # a draft may be drafted anew
    confirmed = draft.read_text().replace("confirmed = false", "confirmed = true")
    draft.write_text(confirmed)
    assert run(*refused, capsys=capsys)[0] == 0
    code, _, err = run(*again, capsys=capsys)  # a human's work is not replaced
    assert (code, "is a confirmed schema, which a draft would replace" in err) == (2, True)
    assert draft.read_text() == confirmed


def test_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("schema", "--json-schema", capsys=capsys)
    assert code == 0
    assert "attributes" in json.loads(out)["properties"]


def test_hierarchies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = ("hierarchy", "intervals", "age", "--data", folder / "data.csv", "--width", "5+10", "-o", folder / "age.csv")
    assert run(*made, capsys=capsys)[0] == 0
    assert (folder / "age.csv").read_text().splitlines()[0] == "20;20-24;20-29;*"
    code, out, _ = run("hierarchy", "show", folder / "age.csv", capsys=capsys)
    assert code == 0
    assert "25-29" in out
    assert run("hierarchy", "check", folder / "age.csv", "age", "--data", folder / "data.csv", capsys=capsys)[0] == 0
    code, _, err = run("hierarchy", "check", folder / "age.csv", "sex", "--data", folder / "data.csv", capsys=capsys)
    assert (code, "has no row" in err) == (2, True)
    code, out, _ = run("hierarchy", "prefixes", "age", "--data", folder / "data.csv", capsys=capsys)
    assert (code, out.splitlines()[0]) == (0, "20;2*;*")
    (folder / "days.csv").write_text("day\n2024-01-31\n2023-12-01\n")
    code, out, _ = run(
        "hierarchy", "dates", "day", "--data", folder / "days.csv", "--parts", "month+year", capsys=capsys
    )
    assert (code, out.splitlines()[0]) == (0, "2023-12-01;2023-12;2023;*")


# Runs the demo with fewer patients, then lists the kernel modules whose kernels it called.
DEMO_SCRIPT = """
import importlib, json, sys
from numba.core.dispatcher import Dispatcher
from unveil.cli import hospital, main
importlib.import_module("unveil.cli.demo").made_up_hospital = lambda seed: hospital.made_up_hospital(1000, seed)
sys.argv = ["unveil", "demo", "-o", sys.argv[1]]
try:
    main()
except SystemExit as stopped:
    assert not stopped.code, stopped
kernels = [
    kernel
    for name, module in list(sys.modules.items())
    if name.startswith("unveil.kernels.")
    for kernel in vars(module).values()
    if isinstance(kernel, Dispatcher) and kernel.signatures
]
called = {kernel.py_func.__module__.rsplit(".", 1)[1] for kernel in kernels}
print(json.dumps([[str(kernel) for kernel in kernels if kernel.stats.cache_misses], sorted(called)]))
"""
WARMED_BY = {"cells": "partition", "mondrian": "partition", "splits": "partition"}
ONLY_OF_FEW = {"allotments"}  # the demo's 3,000 patients do without


def _joined(text: str) -> str:
    """Without the ends of lines that a narrow terminal makes."""
    return " ".join(text.split())


def test_the_demo_runs_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a process of its own: it calls the kernels that make demo compiles, and its advice can be followed."""
    command = [sys.executable, "-c", DEMO_SCRIPT, tmp_path / "demo"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    compiled, called = json.loads(out.splitlines()[-1])
    assert not compiled  # set-up has compiled every kernel for the types that it is called with
    assert {WARMED_BY.get(name, name) for name in called} - ONLY_OF_FEW == set(DEMO)
    assert "mondrian.csv" in out
    assert "anatomy.csv" in out
    for name in ("hospital.csv", "schema.toml", "mondrian.csv", "anatomy.csv", "anatomy-sensitive.csv", "anatomy.toml"):
        assert (tmp_path / "demo" / name).is_file()
    both = re.search(
        r"sure of the diagnosis of ([\d,]+) patients; from either alone, of ([\d,]+) and ([\d,]+)", _joined(out)
    )
    assert both is not None
    together, *alone = (int(number.replace(",", "")) for number in both.groups())
    assert together > 2 * max(alone)  # the second release breaks the first
    patients = hospital.made_up_hospital().columns["patient"]
    published = (tmp_path / "demo" / "mondrian.csv").read_text()
    assert not any(p in published for p in patients[:50])
    said = [line.split()[1:] for line in out.splitlines() if line.startswith(("  unveil anonymize", "  unveil audit"))]
    assert [run(*command, capsys=capsys)[0] for command in said] == [0, 0]  # "make one that may be" published


DATA_MISTAKES = {
    "empty file": (b"", "is empty"),
    "header only": (b"age,sex,disease\n", "no rows"),
    "a column too few": (b"age,sex\n1,f\n", "no column 'disease'"),
    "a column too many": (b"age,sex,disease,name\n1,f,a,x\n", "does not name the column 'name'"),
    "ragged row": (b"age,sex,disease\n1,f,a\n2,f\n", "line 3"),
    "no number": (b"age,sex,disease\n1,f,a\nx1,f,a\n", "'x1' is not a number"),
    "missing refused": (b"age,sex,disease\n1,f,a\n1,?,a\n", 'missing = "category"'),
    "not text": (b"age,sex,disease\n\x00\x01\x02,f,a\n", "not a text file"),
    "twice the same column": (b"age,age,disease\n1,f,a\n", "age"),
    "unclosed quote": (b'age,sex,disease\n1,"f,a\n', "line 2"),
    "k above n": (ROWS[:60].rsplit("\n", 1)[0].encode() + b"\n", "k_anonymity"),
    "one row": (b"age,sex,disease\n1,f,a\n", "k_anonymity:k=3 cannot be met"),
}


@pytest.mark.parametrize("name", DATA_MISTAKES)
def test_bad_tables(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    content, message = DATA_MISTAKES[name]
    (folder / "data.csv").write_bytes(content)
    before = sorted(p.name for p in folder.iterdir())
    code, out, err = run(
        *_anonymize(folder, with_="mondrian:k=11" if name == "k above n" else "mondrian:k=3"), capsys=capsys
    )
    assert (code, out) == (2, "")
    lines = [line for line in err.splitlines() if not line.startswith("seed")]
    assert len(lines) == 1, err
    assert message in lines[0]
    assert sorted(p.name for p in folder.iterdir()) == before


BOUNDARY_TABLES = {
    "one group": "age,sex,disease\n" + "1,f,a\n1,f,b\n1,f,c\n",
    "all rows equal": "age,sex,disease\n" + "1,f,a\n" * 9,
    "a domain of one value": "age,sex,disease\n" + "".join(f"{i},f,a\n" for i in range(9)),
    "10,000 distinct values": "age,sex,disease\n" + "".join(f"{i},s{i},d{i}\n" for i in range(10_000)),
    "latin text": "age,sex,disease\n" + "".join(f"{i},féminin,maladie à {i % 3}\n" for i in range(9)),
    "newlines in cells": "age,sex,disease\n" + "".join(f'{i},f,"a\nb{i % 3}"\n' for i in range(9)),
    "html and formulas": "age,sex,disease\n" + "".join(f'{i},<script>,"=cmd({i % 3})"\n' for i in range(9)),
}


@pytest.mark.parametrize(
    ("name", "encoding"), [*((name, "utf-8") for name in BOUNDARY_TABLES), ("latin text", "cp1252")]
)
def test_boundary_tables_work(folder: Path, name: str, encoding: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data.csv").write_bytes(BOUNDARY_TABLES[name].encode(encoding))
    assert run(*_anonymize(folder), capsys=capsys)[::2][0] == 0
    check = ("check", folder / "r.csv", "-s", folder / "schema.toml", "--original", folder / "data.csv")
    code, out, err = run(*check, "--require", "k_anonymity:k=3", capsys=capsys)
    assert code == 0, err
    assert "k_anonymity" in out


USAGE_MISTAKES = {
    "unknown anonymizer": (("--with", "mondrain:k=5"), "unknown anonymizer 'mondrain'; choose from anatomy"),
    "unknown option": (("--with", "mondrian:q=5"), "no option 'q'"),
    "no requirement": (("--with", "mondrian"), "needs a requirement"),
    "k not a number": (("--with", "mondrian:k=five"), "is not a whole number"),
    "k zero": (("--with", "mondrian:k=0"), "k"),
    **{
        f"{option} {what}": (("--with", f"{option}={digits}"), " ")
        for option in (
            "mondrian:k",
            "mondrian:l",
            "anatomy:l",
            "injector:l",
            "full_domain:levels",
            "microaggregation:k",
        )
        for what, digits in (("of 400 digits", "9" * 400), ("of 19 digits", "9" * 18))
    },
    "k twice": (("--with", "mondrian:k=5,k=6"), "twice"),
    "unknown model": (("--with", "mondrian:k=3", "--require", "m_invariance:m=2"), "unknown privacy model"),
    "unknown distance": (("--with", "mondrian:k=3", "--require", "t_closeness:t=0.1,distance=far"), "far"),
    "l=1 in anatomy": (("--with", "anatomy:l=1"), "choose a whole number of at least 2"),
    "anatomy not eligible": (("--with", "anatomy:l=4"), "l=3 can be met"),
    "wrong number of levels": (("--with", "full_domain:levels=1"), "1 levels for 2 quasi-identifiers"),
    "level too high": (("--with", "full_domain:levels=1+4"), "sex has levels 0 to 1"),
    "suppression too small": (("--with", "full_domain:levels=0+0,k=4"), "suppress"),
    "nothing to search for": (("--with", "full_domain"), "full_domain needs a requirement"),
    "nothing to be found": (("--with", "full_domain:k=43"), "no node of 4 keeps k_anonymity:k=43"),
    "no such measure": (("--with", "full_domain:k=3,measure=beauty"), "unknown value 'beauty'; choose from certainty_"),
    "l cannot be met": (("--with", "mondrian:l=4"), "distinct_l:l=4 cannot be met"),
    "release is no table": (("--with", "mondrian:k=3", "-o", "r.xls"), "name it r.xlsx"),
    "folder does not exist": (("--with", "mondrian:k=3", "-o", "nowhere/r.csv"), "does not exist"),
}


@pytest.mark.parametrize("name", USAGE_MISTAKES)
def test_bad_options(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options, message = USAGE_MISTAKES[name]
    monkeypatch.chdir(folder)
    where = () if "-o" in options else ("-o", "r.csv")
    before = sorted(p.name for p in folder.iterdir())
    code, out, err = run("anonymize", "data.csv", "--schema", "schema.toml", *options, *where, capsys=capsys)
    assert (code, out) == (2, "")
    lines = [line for line in err.splitlines() if not line.startswith("seed")]
    assert len(lines) == 1, err
    assert message in lines[0]
    assert sorted(p.name for p in folder.iterdir()) == before


def test_a_directory_instead_of_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data.csv").unlink()
    (folder / "data.csv").mkdir()
    code, _, err = run(*_anonymize(folder), capsys=capsys)
    assert code == 2
    assert "director" in err or "folder" in err
    code, _, err = run("check", folder, "-s", folder / "schema.toml", capsys=capsys)
    assert (code, len(err.splitlines())) == (2, 1)


def test_a_missing_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ("check", folder / "none.csv", "-s", folder / "schema.toml"),
        ("check", folder / "data.csv", "-s", folder / "none.toml"),
        ("schema", folder / "none.csv"),
        ("hierarchy", "show", folder / "none.csv"),
    ):
        code, _, err = run(*arguments, capsys=capsys)
        assert code == 2
        assert len(err.splitlines()) == 1
        assert "none" in err


def test_a_full_disk_leaves_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    before = sorted(p.name for p in folder.iterdir())
    monkeypatch.setattr(output.os, "fsync", full)
    code, _, err = run(*_anonymize(folder, with_="anatomy:l=3"), capsys=capsys)
    assert code == 2
    assert "disk is full" in err
    assert sorted(p.name for p in folder.iterdir()) == before


def test_no_write_permission_leaves_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refused(path: str, flags: int, *rest: int, **more: int) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest, **more)

    before = sorted(p.name for p in folder.iterdir())
    monkeypatch.setattr(output.os, "open", refused)
    code, _, err = run(*_anonymize(folder), capsys=capsys)
    assert (code, "no permission" in err) == (2, True)
    assert sorted(p.name for p in folder.iterdir()) == before


def test_an_earlier_sidecar_is_not_left_beside_a_release_it_does_not_describe(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(*_anonymize(folder, with_="anatomy:l=3"), capsys=capsys)
    made = {path.name for path in folder.glob("r*")}
    assert len(made) == 3
    code, _, err = run(*_anonymize(folder), capsys=capsys)
    assert (code, "a part of the release that was there before" in err) == (0, True)
    assert len({path.name for path in folder.glob("r*")}) == 1
    run(*_anonymize(folder, with_="anatomy:l=3"), capsys=capsys)
    sidecar = next(path for path in folder.glob("r*.toml"))
    sidecar.write_text(sidecar.read_text().partition("[digests]")[0])  # nothing says what belongs to it
    code, _, err = run(*_anonymize(folder), capsys=capsys)
    assert (code, "in the way" in err) == (2, True)
    assert {path.name for path in folder.glob("r*")} == made


def test_nothing_is_written_over_what_is_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = (
        "anonymize",
        folder / "data.csv",
        "-s",
        folder / "schema.toml",
        "--with",
        "mondrian:k=3",
        "-o",
        folder / "data.csv",
    )
    code, _, err = run(*same, capsys=capsys)
    assert (code, "choose another file" in err) == (2, True)
    assert (folder / "data.csv").read_text() == ROWS
    assert run(*_anonymize(folder, "--assignment", folder / "r.csv"), capsys=capsys)[0] == 2


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['unveil', '--help']\n"
        "from unveil.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = [m for m in ('numba', 'numpy', 'polars', 'scipy', 'sklearn', 'altair', 'pandas', 'pyarrow',\n"
        " 'narwhals', 'pyreadstat', 'python_calamine', 'xlsxwriter') if m in sys.modules]\n"
        "print('HEAVY', heavy)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "HEAVY []" in done.stdout
    assert "anonymize" in done.stdout


def test_blas_has_one_thread() -> None:
    """Before NumPy loads it: later it cannot be told."""
    code = (
        "import sys; sys.argv = ['unveil', '--help']\n"
        "from unveil.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "import numpy\nfrom threadpoolctl import threadpool_info\n"
        "print('BLAS', {one['num_threads'] for one in threadpool_info() if one['user_api'] == 'blas'})"
    )
    set_before = {**os.environ}
    set_before.pop("OPENBLAS_NUM_THREADS", None)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=set_before)
    assert "BLAS {1}" in done.stdout


def test_usage_errors_of_the_command_line_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("nonsense", capsys=capsys)[0] == 2
    assert run("check", capsys=capsys)[0] == 2
    code, out, _ = run("--version", capsys=capsys)
    assert (code, out.startswith("unveil ")) == (0, True)


def test_a_file_that_cannot_be_written_is_said_before_the_work(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "data.csv").unlink()  # it would be missed if the work had begun
    schema = (folder / "schema.toml").read_text().replace("[attributes.sex]", '[attributes."marital-status"]')
    (folder / "schema.toml").write_text(schema)
    for name, what in (("r.doc", "name it r.csv"), ("r.dta", "'marital-status' cannot have this name in Stata")):
        arguments = ("anonymize", folder / "data.csv", "-s", folder / "schema.toml", "--with", "mondrian:k=3")
        code, _, said = run(*arguments, "-o", folder / name, capsys=capsys)
        assert code == 2
        assert what in said
