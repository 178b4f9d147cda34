"""Folders for data on its way: gone with their process, however it ends."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from unveil import temporary
from unveil.temporary import own_folder, sweep

HOLDING = """
import time
from unveil.temporary import own_folder
with own_folder() as folder:
    (folder / "people.csv").write_text("name")
    print("there", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(temporary, "JUST_NOW", 0.0)
    return tmp_path


def test_it_is_private_and_gone_afterwards(place: Path) -> None:
    before = os.umask(0)
    try:
        with own_folder() as folder:
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            (folder / "people.csv").write_text("name")
            sweep()
            assert (folder / "people.csv").exists()  # in use
    finally:
        os.umask(before)
    assert not list(place.iterdir())


def test_what_a_killed_process_leaves_goes_at_the_next_start(place: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", HOLDING], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "there\n"
    sweep()
    assert len(list(place.glob("*/people.csv"))) == 1
    child.send_signal(signal.SIGKILL)
    child.communicate()
    (elsewhere := place / "elsewhere").mkdir()
    (place / f"{temporary.PREFIX}link").symlink_to(elsewhere)
    sweep()
    assert sorted(path.name for path in place.iterdir()) == ["elsewhere", f"{temporary.PREFIX}link"]


def test_a_start_without_a_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/none")
    sweep()
