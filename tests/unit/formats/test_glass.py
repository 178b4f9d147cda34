"""What a reader does to its process costs one line that names the file; the caller goes on."""

import ctypes
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.thorough import chosen
from unveil.data.table import CodedColumn
from unveil.errors import TableError, UnveilError
from unveil.formats import glass, tables
from unveil.formats.columns import Columns, Place
from unveil.formats.glass import behind_glass
from unveil.formats.tables import READERS, read_columns

# ------------------------------------------------------------------------------------------------------------ planted


def aborts(path: Path, **_: object) -> Columns:
    os.abort()


def segfaults(path: Path, **_: object) -> Columns:
    ctypes.string_at(0)
    raise AssertionError


def loops(path: Path, **_: object) -> Columns:
    while True:
        pass


def sleeps(path: Path, **_: object) -> Columns:
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))  # as a deadlock, it hears nothing
    while True:
        time.sleep(60)


def eats_memory(path: Path, **_: object) -> Columns:
    held = []
    while True:
        held.append(np.ones(2**24))


def eats_native_memory(path: Path, **_: object) -> Columns:
    held = []
    while True:
        held.append(pl.zeros(2**24, eager=True) + 1.0)


def fills_the_disk(path: Path, **_: object) -> Columns:
    with path.with_suffix(".part").open("wb") as file:
        file.truncate(2**40)
    raise AssertionError


def leaves(path: Path, **_: object) -> Columns:
    os._exit(7)


def fails(path: Path, **_: object) -> Columns:
    raise KeyError("Smith, 1970-01-01")


def gives_codes_without_texts(path: Path, **_: object) -> Columns:
    return Columns({"a": CodedColumn(["x"], np.array([0, 9], dtype=np.uint8))}, 2, Place(), ".", "planted")


def says_where_it_runs(path: Path, **_: object) -> Columns:
    texts = [str(os.getpid()), str(os.getppid())]
    return Columns({"pid": CodedColumn(sorted(texts), np.arange(2, dtype=np.uint8))}, 2, Place(), ".", "planted")


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    planted = request.node.callspec.params["planted"]
    monkeypatch.setattr(glass, "BYTES", 2**29)
    if planted in (loops, sleeps):
        monkeypatch.setattr(glass, "SECONDS", 1.0)
    if planted is sleeps:
        monkeypatch.setattr(glass, "PATIENCE", 1)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    pl.DataFrame({"age": [34, 35, None], "name": ["é", "*", "b"]}).write_parquet(path)
    return path


CRASHES = {
    aborts: "cannot be read: the reader of such files crashed on it (SIGABRT); is it whole?",
    segfaults: "cannot be read: the reader of such files crashed on it (SIGSEGV); is it whole?",
    leaves: "cannot be read: the reader of such files crashed on it (exit code 7); is it whole?",
    loops: "gave no table in 1 s",
    sleeps: "gave no table in 1 s",
    eats_memory: "needs more memory to be read than",
    eats_native_memory: "needs more memory to be read than",
    fails: "cannot be read (KeyError at test_glass.py:",
}


@pytest.mark.parametrize("planted", CRASHES)
@pytest.mark.usefixtures("small_limits")
def test_one_line_names_the_file(planted: object, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(READERS, ".parquet", planted)
    with pytest.raises(TableError) as said:
        read_columns(table)
    assert str(said.value).startswith(f"{table}: {CRASHES[planted]}")
    assert "\n" not in str(said.value)
    assert "Smith" not in str(said.value)
    monkeypatch.undo()
    assert read_columns(table).rows == 3  # and the next file is read


def test_output_has_a_bound(table: Path) -> None:
    with pytest.raises(TableError, match=r"people\.parquet: cannot be read \(OSError"):
        behind_glass(fills_the_disk, table, error=TableError)
    assert table.with_suffix(".part").stat().st_size == 0


def test_what_a_child_says_is_checked(table: Path) -> None:
    with pytest.raises(RuntimeError, match="codes without texts"):
        behind_glass(gives_codes_without_texts, table, error=TableError)


def test_the_same_table_as_in_this_process(table: Path) -> None:
    through, here = read_columns(table, missing="NA"), READERS[".parquet"](table, missing="NA", error=TableError)
    assert through.rows == here.rows
    assert list(through.columns) == list(here.columns)
    for name, column in here.columns.items():
        assert list(column.texts) == through.columns[name].texts
        assert column.text_of_row.dtype == through.columns[name].text_of_row.dtype
        assert column.text_of_row.tolist() == through.columns[name].text_of_row.tolist()
    assert (through.place(2), through.described) == (here.place(2), here.described)


def test_another_process_reads(table: Path) -> None:
    texts = behind_glass(says_where_it_runs, table, error=TableError).columns["pid"].texts
    assert str(os.getpid()) not in texts


def test_threads_read_side_by_side(table: Path) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(read_columns(table).rows)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3, 3, 3]


def test_a_server_that_has_ended_is_replaced(table: Path) -> None:
    read_columns(table)
    server = glass._Server._resting[-1]
    os.kill(server._process.pid, signal.SIGKILL)
    assert read_columns(table).rows == 3


DYING = """
import os, pathlib, socket, sys
count = 0
def dying(name, place):
    real = getattr(place, name)
    def call(*given):
        global count
        count += 1
        if count == {message} and not pathlib.Path({marker!r}).exists():
            {once} and pathlib.Path({marker!r}).touch()
            os._exit(9)
        return real(*given)
    setattr(place, name, call)
dying("sendall", socket.socket)
dying("recv_fds", socket)
dying("recv", socket.socket)
dying("fork", os)
dying("waitpid", os)
"""


@pytest.mark.parametrize("message", chosen(range(1, 7), [4]))
@pytest.mark.parametrize("once", chosen([True, False], [True]))
def test_a_server_that_dies_at_a_message_is_asked_again(
    message: int, once: bool, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ready, a request's head, its body, a fork, the wait for the child, its status; if it always does, it is ours."""
    dying = DYING.format(message=message, marker=str(tmp_path / "died"), once=once)
    monkeypatch.setattr(glass, "START", dying + glass.START)
    monkeypatch.setattr(glass._Server, "_resting", [])
    if once:
        assert read_columns(table).rows == 3
        assert (tmp_path / "died").exists()
    else:
        with pytest.raises(RuntimeError, match="cannot be started"):
            read_columns(table)
    for server in glass._Server._resting:
        server.kill()


def test_relative_paths_and_folders_that_change(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(table.parent)
    assert read_columns(table.name).rows == 3
    with pytest.raises(UnveilError, match=r"^none\.parquet: does not exist"):
        read_columns("none.parquet")


def test_no_file_stays_open(table: Path) -> None:
    read_columns(table)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        read_columns(table)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# SIGINT as at a terminal: a suite started in the background inherits it ignored.
WAITING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from tests.thorough import chosen
from unveil.data.table import CodedColumn
from unveil.errors import TableError
from unveil.formats.glass import behind_glass
sys.path.insert(0, {folder!r})
from test_glass import waits
behind_glass(waits, Path({path!r}), error=TableError)
"""


def waits(path: Path, **_: object) -> Columns:
    path.with_suffix(".pids").write_text(f"{os.getpid()} {os.getppid()}\n")
    while True:
        time.sleep(60)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_outlives_its_owner(number: signal.Signals, table: Path) -> None:
    program = WAITING.format(folder=str(Path(__file__).parent), path=str(table))
    owner = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    pids = table.with_suffix(".pids")
    until = time.monotonic() + 60
    while not (pids.is_file() and pids.read_text().endswith("\n")) and time.monotonic() < until:
        time.sleep(0.02)
    owner.send_signal(number)
    owner.wait(60)
    child, server = map(int, pids.read_text().split())
    while (_alive(child) or _alive(server)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _alive(child)
    assert not _alive(server)


def test_every_foreign_ending_starts_early(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(glass.BINARY) == {*READERS, ".deid"}
    started: list[bool] = []
    monkeypatch.setattr(glass._Server, "take", lambda fresh: started.append(fresh) or glass._Server._resting[0])
    monkeypatch.setattr(glass._Server, "_resting", [type("Idle", (), {"rest": lambda self: None})()])
    glass.start_early(["audit", "r.csv", "-s", "schema.toml"])
    assert not started
    glass.start_early(["audit", "Book.XLSX#Sheet"])
    assert started == [False]


def test_requests_are_small(table: Path) -> None:
    """Passwords and paths go through a socket, not through the command line that everybody may list."""
    read_columns(table)
    listed = Path(f"/proc/{glass._Server._resting[-1]._process.pid}/cmdline").read_bytes()
    assert str(table).encode() not in listed
    assert len(pickle.dumps(tables.read_project_table)) < 100
