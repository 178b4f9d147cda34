"""How a run ends: the verdict's exit code survives whatever happens to the output; a crash is never a verdict."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from test_audit_cli import audit, folder  # noqa: F401  the fixture
from test_cli import run

from unveil import __main__, engine, report
from unveil.audit import levels
from unveil.audit.attribute import AttributeAttack
from unveil.cli import app, main
from unveil.cli import audit as audit_verb
from unveil.cli.memory import file_size, table_bytes, warn_of_memory
from unveil.cli.output import console, harmless, long_work
from unveil.engine import bound_memory, free_bytes
from unveil.errors import Stopped, UsageError
from unveil.formats import tables

# Commands one after the other in one process: importing takes longer than they do. Each has its own standard output, as
# a new process would find it: open, with nobody who reads it, or closed. Then its exit code and what it printed.
COMMANDS = """
import io, json, os, sys
sys.argv[0], told = 'unveil', json.loads(sys.argv[1])
from unveil.cli import main
found = []
for words, stdout in told:
    reading, writing = os.pipe()
    os.dup2(writing, 1)
    os.close(writing)
    if stdout == 'left':
        os.close(reading)
    sys.stdout = open(1, 'w', encoding='ascii' if stdout == 'ascii' else 'utf-8', closefd=False)
    sys.stderr = io.StringIO()
    if stdout == 'closed':
        os.close(1)
        sys.stdout = None
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as stopped:
        code = stopped.code
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the end of what it printed
    printed = '' if stdout == 'left' else os.read(reading, 2**16).decode()
    found.append([code, printed, sys.stderr.getvalue()])
sys.__stderr__.write(json.dumps(found))
"""


def ended(*commands: tuple[tuple[str | Path, ...], str]) -> list[list[Any]]:
    """Exit code, standard output and error of each command, given what its standard output is."""
    told = json.dumps([([*map(str, words)], stdout) for words, stdout in commands])
    done = subprocess.run([sys.executable, "-c", COMMANDS, told], capture_output=True, check=False, timeout=300)
    found: list[list[Any]] = json.loads(done.stderr)
    return [[code, out, re.sub(r"(?m)^(\d+% .*|.* s so far)\n", "", err)] for code, out, err in found]  # a busy machine


MAIN = "import sys; sys.argv[0] = 'unveil'; from unveil.cli import main; main()"


def check(folder: Path, *rest: str | Path) -> tuple[str | Path, ...]:  # noqa: F811
    return ("check", folder / "wide.csv", "-s", folder / "schema.toml", *rest)


def test_a_reader_that_leaves_does_not_change_the_verdict(folder: Path) -> None:  # noqa: F811
    commands = (
        check(folder, "--require", "k_anonymity:k=500"),
        (*check(folder, "--require", "k_anonymity:k=500"), "--json", "-"),
        (*audit(folder, "--limit", "k_anonymity >= 500"), "--attacker", "random_worlds"),
    )
    for command, (code, _, err) in zip(commands, ended(*((c, "left") for c in commands)), strict=True):
        assert (code, len(err.splitlines())) == (1, int(command[0] == "audit"))
        assert all(line.startswith("wide.csv: 60 rows in 4 classes") for line in err.splitlines())  # the first look


def test_a_command_without_a_verdict_is_done_when_its_reader_leaves(folder: Path) -> None:  # noqa: F811
    """Its help, too; 1 would say that a limit is exceeded."""
    commands = (("schema", folder / "wide.csv"), ("frontier", "--help"), ("--version",), ("list", "anonymizers"))
    for command, (code, *_) in zip(commands, ended(*((c, "left") for c in commands)), strict=True):
        assert code == 0, command


def test_nobody_who_reads_what_is_said_changes_no_outcome(folder: Path) -> None:  # noqa: F811
    """`2>&1 | head -1` closes standard error, too: files are written, a mistake is 2 and a verdict a verdict."""
    data, schema, made = folder / "data.csv", folder / "schema.toml", folder / "made.csv"
    for code, command in (
        (0, ("anonymize", data, "-s", schema, "--with", "mondrian:k=2", "-o", made)),
        (1, check(folder, "--require", "k_anonymity:k=500", "--json", folder / "found.json")),
        (2, ("check", folder / "nothing.csv", "-s", schema)),
        (2, ("check", "--nonsense")),
    ):
        reading, writing = os.pipe()
        os.close(reading)
        program = [sys.executable, "-c", MAIN, *map(str, command)]
        try:
            done = subprocess.run(program, stdout=writing, stderr=writing, check=False, timeout=300)
        finally:
            os.close(writing)
        assert done.returncode == code, command
    assert made.exists()
    assert (folder / "found.json").exists()


def test_an_output_that_takes_few_characters_or_none(folder: Path) -> None:  # noqa: F811
    text = (folder / "wide.csv").read_text().replace("disease", "krankhéit")
    (folder / "wide.csv").write_text(text, encoding="utf-8")
    schema = (folder / "schema.toml").read_text().replace("attributes.disease", 'attributes."krankhéit"')
    (folder / "schema.toml").write_text(schema, encoding="utf-8")
    verbose = check(folder, "--require", "k_anonymity:k=500", "--verbose")
    (code, out, err), closed = ended((verbose, "ascii"), (check(folder, "--require", "k_anonymity:k=500"), "closed"))
    assert (code, err) == (1, "")
    assert "krankh?it" in out
    assert closed[::2] == [1, ""]


def test_an_attack_says_that_it_is_unsure_to_nobody(
    folder: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(report, "print_document", gone)
    monkeypatch.setattr(AttributeAttack, "exit_code", 3)
    monkeypatch.setattr(sys, "stdout", io.StringIO())  # put back at the end
    assert run("attack", "attribute", *audit(folder)[1:], "--asked", "job", capsys=capsys)[::2] == (3, "")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "not enough memory"),
        (KeyError("a\x1b[31m"), "internal error at test_outcomes.py:"),
        (RecursionError("too deep"), "RecursionError: too deep. Please report"),
    ],
)
def test_a_crash_is_one_line_and_never_a_verdict(
    error: Exception,
    said: str,
    folder: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(levels, "run_check", crash)
    code, out, err = run(*check(folder), capsys=capsys)
    assert (code, out, err.count("\n")) == (70, "", 1)
    assert said in err
    assert "\x1b" not in err


def slowly(work: Any) -> Any:
    def slow(*args: Any, **options: Any) -> Any:
        time.sleep(0.3)
        return work(*args, **options)

    return slow


def test_no_command_is_silent_while_it_works(
    folder: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where nothing reports how far it is: reading, counting, writing."""
    for module, name, stage in (
        (tables, "read_table", "reading "),
        (levels, "run_check", "counting the levels"),
        (report, "render_page", "writing"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(engine, "EVERY", 0.02)
            patched.setattr(module, name, slowly(getattr(module, name)))
            command = check(folder, "--original", folder / "data.csv", "--report", folder / "page.html")
            code, _, err = run(*command, capsys=capsys)
            assert code == 0
            assert sum(line.startswith(stage) and line.endswith(" s so far") for line in err.splitlines()) > 2, err


@pytest.mark.parametrize("after", [0.0, 0.02, 0.1, 0.3, 0.6, 0.86, 0.96])
def test_ctrl_c_keeps_what_was_reached(
    after: float,
    folder: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stopped before anything, among the levels, at readers of the attributes, before people are linked, and late."""

    @contextmanager
    def interrupted() -> Iterator[tuple[Any, threading.Event]]:
        stop = threading.Event()
        if not after:
            stop.set()

        class Stopping(engine.Meter):
            def __call__(self, task: str, done: int, total: int) -> None:
                if done >= after * total:
                    stop.set()

        yield Stopping(), stop

    monkeypatch.setattr(audit_verb, "long_work", interrupted)
    files = ("--json", folder / "a.json", "--report", folder / "r.html", "--people", folder / "p.csv")
    code, _, _ = run(*audit(folder, *files, "--limit", "bayesian.global_threat <= 1"), capsys=capsys)
    assert code == 3
    document = json.loads((folder / "a.json").read_text())
    assert document["diagnostics"]["exit_code"] == 3
    assert "The audit was stopped before its end" in document["diagnostics"]["remarks"][0]
    values = {(f["id"], f["attribute"]): f["value"] for f in document["findings"]}
    assert values["k_anonymity", None] == 15
    assert (folder / "r.html").is_file()
    if after >= 0.6:
        assert values["bayesian.global_threat", "disease"] is not None
    if after >= 0.86:
        assert values["bayesian.global_threat", "job"] is not None
    assert (values["reid", None] is None) == (after < 0.9)


def test_a_stopped_audit_still_says_that_a_limit_is_exceeded(
    folder: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def interrupted() -> Iterator[tuple[Any, threading.Event]]:
        stop = threading.Event()
        stop.set()
        yield engine.Meter(), stop

    monkeypatch.setattr(audit_verb, "long_work", interrupted)
    assert run(*audit(folder, "--limit", "k_anonymity >= 500"), capsys=capsys)[0] == 1


def test_work_that_was_stopped_before_it_found_anything_is_no_mistake(
    folder: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise Stopped("stopped before anything was found")

    monkeypatch.setattr(levels, "run_check", stopped)
    assert run(*check(folder), capsys=capsys) == (130, "", "unveil: stopped before anything was found\n")


# What comes from files cannot steer the terminal.

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m"


def test_no_escape_reaches_the_terminal(
    folder: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert harmless("a\tb\n") == "a\tb\n"
    console().print(ESCAPE, markup=False)
    assert not {"\x1b", "\x07", "\x9b"} & set(capsys.readouterr().out)
    bad, commands = _hostile(folder)
    monkeypatch.setattr(sys.stdout.__class__, "isatty", lambda _: True)
    assert {" ".join(verb) for verb in verbs(typer.main.get_command(app))} - {"demo", "doctor", "studio"} == {
        " ".join(command[:2] if command[0] in ("attack", "hierarchy", "ledger") else command[:1])
        for command in ([str(part) for part in c] for c in commands)
    }
    for command in (
        *commands,
        ("nonsense" + ESCAPE,),
        ("check", bad, "-s", folder / f"none{ESCAPE}.toml"),
        ("check", folder / f"none{ESCAPE}.csv", "-s", folder / "bad.toml"),
        ("anonymize", bad, "-s", folder / "bad.toml", "--with", f"mondrian:k={ESCAPE}", "-o", folder / "x.csv"),
    ):
        code, out, err = run(*command, capsys=capsys)
        assert code in (0, 1, 2, 3), (command, err)
        text = out + err
        for code_of_ours in ("\x1b[0m", "\x1b[1m", "\x1b[1;31m", "\x1b[2m", "\x1b[33m", "\x1b[32m"):
            text = text.replace(code_of_ours, "")
        assert "\x1b]" not in text, command
        assert not {"\x07", "\x9b"} & set(text), command
        assert "\x1b[2J" not in text, command


def verbs(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every verb there is."""
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            yield from verbs(below, (*path, name))
    else:
        yield path


def _hostile(folder: Path) -> tuple[Path, list[tuple[str | Path, ...]]]:  # noqa: F811
    """Values, labels, names and places that hold escapes, and a command for every verb that meets them."""
    (folder / "tree.csv").write_text(f"a{ESCAPE};x{ESCAPE};*\nb;y;*\n")
    (folder / "arx").mkdir()
    (folder / "arx" / "sex.csv").write_text(f"f{ESCAPE};x{ESCAPE};*\n")
    (folder / "family.csv").write_text(f"child,parent\na{ESCAPE},{ESCAPE}\nb,{ESCAPE}\n")
    rows = "".join(f"{20 + i % 5},f{ESCAPE},{ESCAPE}{i % 2},{i}\n" for i in range(40))
    bad = folder / "bad.csv"
    bad.write_text("age,sex,disease,pay\n" + rows)
    qi = "".join(f'[attributes.{name}]\nrole = "quasi-identifier"\n' for name in ("age", "sex"))
    rest = '[attributes.disease]\nrole = "sensitive"\n[attributes.pay]\nrole = "insensitive"\n'
    schema = folder / "bad.toml"
    schema.write_text(f"version = 1\nconfirmed = true\n{qi}{rest}")
    (folder / "masked.csv").write_text("age,sex,disease,pay\n" + rows)
    (folder / "masked.toml").write_text('masked = ["pay"]\n')
    s, data, of = ("-s", schema), ("--data", bad), ("-s", schema, "--original", bad)
    few = ("--sweeps", "50", "--most-sweeps", "50")
    return bad, [
        ("schema", bad),
        ("hierarchy", "show", folder / "tree.csv"),
        ("hierarchy", "frequency", "disease", *data),
        ("hierarchy", "intervals", "sex", "--width", "5+10", *data),
        ("hierarchy", "prefixes", "sex", *data),
        ("hierarchy", "dates", "sex", *data),
        ("hierarchy", "round", "sex", *data),
        ("hierarchy", "equal-count", "sex", *data),
        ("hierarchy", "taxonomy", folder / "family.csv"),
        ("hierarchy", "check", folder / "tree.csv", "sex", *data),
        ("hierarchy", "auto", *s, *data, "-o", folder / "made"),
        ("hierarchy", "import", folder / "arx", "-o", folder / "imported"),
        ("hierarchy", "export", *s, "-o", folder / "exported"),
        ("hierarchy", "mapping", bad, *of),
        ("anonymize", bad, *s, "--with", "mondrian:k=2", "-o", folder / f"out{ESCAPE}.csv"),
        ("check", bad, *of, "--verbose"),
        ("check", bad, *of, "--json", "-"),
        ("audit", bad, *of, *few, "--verbose"),
        ("attack", "attribute", bad, *of, *few, "--verbose"),
        ("attack", "identity", bad, *of, "--verbose"),
        ("attack", "membership", bad, *of, "--control", bad, "--verbose"),
        ("attack", "background", bad, *of, "--knowledge", "negative_rules", "--verbose"),
        ("attack", "disclosure", folder / "masked.csv", *of, "--aligned", "--verbose"),
        ("attack", "differential", bad, *s, "--with", "mondrian:k=2", "--sample", "2", "--runs", "2", "--verbose"),
        ("ledger", "add", bad, *s, "--recipient", f"you{ESCAPE}", "--ledger", folder / "ledger"),
        ("ledger", "list", "--ledger", folder / "ledger"),
        ("list", "anonymizers"),
        ("frontier", bad, *s, "--with", "mondrian:k=2+5", "--utility", "certainty_penalty", "--verbose"),
    ]


def test_a_lack_of_memory_is_said_before_it_comes(
    folder: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (free_bytes() or 0) > 2**20
    out = ("-o", folder / "out.csv")
    making = ("anonymize", folder / "data.csv", "-s", folder / "schema.toml", "--with", "mondrian:k=5")
    few = ("--asked", "job", "--attacker", "random_worlds", "--sweeps", "50", "--most-sweeps", "50")
    asking = ("attack", "attribute", *audit(folder, *few)[1:])
    for command, instead in ((asking, "--sample N"), ((*making, *out), "release it in parts")):
        assert "GB of memory" not in run(*command, capsys=capsys)[2]
        with monkeypatch.context() as patched:
            patched.setattr(engine, "free_bytes", lambda: 1000)
            code, _, err = run(*command, capsys=capsys)
        assert code in (0, 3)
        assert "unveil: this may need about 0.0 GB of memory, and 0.0 GB are free" in err
        assert instead in err


def test_a_stopped_anonymizer_writes_nothing(
    folder: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def interrupted(then: str) -> Iterator[tuple[Any, threading.Event]]:
        stop = threading.Event()
        stop.set()
        yield engine.Meter(), stop

    monkeypatch.setattr(sys.modules["unveil.cli.anonymize"], "long_work", interrupted)
    making = ("anonymize", folder / "data.csv", "-s", folder / "schema.toml", "--with", "mondrian:k=5")
    code, _, err = run(*making, "-o", folder / "out.csv", capsys=capsys)
    assert (code, err.splitlines()[-1]) == (130, "unveil: stopped; no release was written")
    assert not (folder / "out.csv").exists()


def test_ctrl_c_before_the_command_begins_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Imports take a second, in which somebody may see a wrong word in the command."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("unveil.cli.main", interrupted)
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "unveil: stopped\n"


def test_signals_in_quick_succession_are_one_interruption() -> None:
    """`timeout -s INT` sends two at once: to the process, and to its group."""
    with long_work() as (_, stop):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.is_set()
        time.sleep(0.6)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_memory_bounds_a_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    making = ("anonymize", folder / "data.csv", "-s", folder / "schema.toml", "--with", "mondrian:k=5", "-o")
    needed = table_bytes(SimpleNamespace(rows=10**7, attributes=range(4)))
    bound_memory(2**30)
    try:
        with pytest.raises(UsageError, match=r"may need about 2\.4 GB of memory, more than --memory 1\.1 GB; do less"):
            warn_of_memory(needed, "do less")
    finally:
        bound_memory(None)
    assert run(*making, folder / "one.csv", "--memory", "1.5 GB", capsys=capsys)[0] == 0
    for wrong in ("much", "-1G", "0", "1000"):
        code, _, err = run(*making, folder / "two.csv", f"--memory={wrong}", capsys=capsys)
        assert (code, err.count("\n")) == (2, 1)
        assert "is not a size; write 8G" in err
    assert not (folder / "two.csv").exists()


def test_a_large_file_is_refused_before_it_is_read(
    folder: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By its size: reading thirty million rows takes a minute."""
    rows = 80_000
    large = folder / "large.csv"
    large.write_text("age,sex,disease\n" + f"{'x' * 10},f,flu\n" * rows)
    assert file_size(large) == (pytest.approx(rows, rel=0.01), 3)
    assert file_size(folder / "data.csv") == file_size(folder / "none.csv") == (0, 0)  # small, or not there
    monkeypatch.setattr(tables, "read_table", lambda *_, **__: pytest.fail("it was read"))
    schema = ("-s", folder / "schema.toml")
    for command in (
        ("anonymize", large, *schema, "--with", "mondrian:k=5", "-o", folder / "one.csv"),
        ("audit", folder / "data.csv", *schema, "--original", large),
        ("check", large, *schema),
        ("frontier", large, *schema),
    ):
        code, _, err = run(*command, "--memory", "5M", capsys=capsys)
        assert (code, err.count("\n")) == (2, 1), err
        assert "more than --memory" in err


@pytest.mark.parametrize(
    ("command", "needs", "instead"),
    [
        ("audit", 28.8, "ask about a sample of people (--sample N), or audit a part of the rows"),
        ("audit --sample 200", 10.8, "audit a part of the rows"),
        ("attack attribute", 22.8, "audit a part of the rows"),
        ("attack identity", 10.8, "audit a part of the rows"),
        ("check", 10.8, "audit a part of the rows"),
    ],
)
def test_thirty_million_rows_are_answered_before_they_are_read(
    folder: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    needs: float,
    instead: str,
) -> None:
    """Files of that size whose rest is empty: nobody gets so far."""
    large = folder / "large.csv"
    large.write_text("age,sex,disease\n" + "20,f,flu\n" * 2**18)
    os.truncate(large, 30_000_000 * 9)
    monkeypatch.setattr(engine, "free_bytes", lambda: 10 * 10**9)

    def unread(*_: object, **__: object) -> None:
        raise UsageError("nothing was read")

    monkeypatch.setattr(tables, "read_table", unread)
    given = (*command.split(), large, "-s", folder / "schema.toml", "--original", large)
    code, _, err = run(*given, capsys=capsys)
    said = "unveil: this may need about {} GB of memory, and 10.0 GB are free; if it ends for lack of memory, {}"
    assert code == 2
    assert err.splitlines()[0] == said.format(needs, instead)


DEAF = """
import ctypes, os, signal, sys, time
from unveil.cli import _ended_cleanly

def struck(*_):
    os.kill(os.getpid(), signal.{number})

class Forgotten:
    def __del__(self):
        struck()

place = {{"struck": struck}}
exec(compile("def called(*_): struck()", "llvmlite/binding/executionengine.py", "exec"), place)
with _ended_cleanly():
    try:
        {strike}
        print("went on")
        time.sleep(20)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
@pytest.mark.parametrize("strike", ["Forgotten()", "ctypes.CFUNCTYPE(None)(place['called'])()"])
def test_a_signal_in_a_callback_is_not_forgotten(number: str, code: int, strike: str) -> None:
    """Python prints what is raised there, and goes on as if nothing had happened."""
    program = DEAF.format(number=number, strike=strike)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "went on\n", "")


SWALLOWED = """
import ctypes, os, signal, sys, time
from unveil.cli import _ended_cleanly

def swallowed():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.01)

with _ended_cleanly():
    try:
        ctypes.CFUNCTYPE(None)(swallowed)()
        print("went on")
        time.sleep(20)
    finally:
        time.sleep(0.3)
        print("cleaned up")
"""


def test_an_end_that_compiled_code_swallows_is_asked_for_again() -> None:
    """As in Cython's functions that cannot raise; what is being cleaned up meanwhile is left to end."""
    done = subprocess.run([sys.executable, "-c", SWALLOWED], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (143, "went on\ncleaned up\n", "")


@pytest.mark.parametrize("panic", [False, True])
def test_an_end_that_is_swallowed_as_the_work_ends_is_no_success(
    panic: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Compiled code that swallows it may be the last that runs, or makes a panic of it."""

    def work(**_: object) -> int:
        with suppress(SystemExit):
            signal.raise_signal(signal.SIGTERM)
        if panic:
            raise BaseException("Failed to access NumPy array API capsule")
        return 0

    monkeypatch.setattr("unveil.cli.app", work)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 143
    assert capfd.readouterr() == ("", "")
