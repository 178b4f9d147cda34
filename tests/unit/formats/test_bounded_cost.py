"""Small files that ask for a great deal are refused in one line, within five seconds and a gigabyte."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bombs import BOMBS

from thorough import chosen

SECONDS, MEGABYTES = 5, 1024
OF_THE_SAME_WAY = {  # as another one goes
    "ods, many text:s",
    "toml, a dotted table",
    "toml, tables",
    "toml, brackets",
    "hierarchy /dev/stdin",
    "arrow of nulls",
    "arrow stream of nulls",
    "arrow of zeros",
    "arrow, a long text",
    "parquet of zeros",
    "parquet, a long text",
    "parquet, a text in every row",
    "frequencies of a release",
    "a cell of a million members, declared",
}
TRIED = chosen(list(BOMBS), [name for name in BOMBS if name not in OF_THE_SAME_WAY])


def _bounded() -> None:
    """A file that is not refused must not take the machine with it."""
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """One process makes the files, another reads them all: its peak is that of the worst."""
    folder = tmp_path_factory.mktemp("bombs")
    program = [sys.executable, str(Path(__file__).with_name("bombs.py"))]
    subprocess.run([*program, "build", str(folder), *TRIED], check=True, timeout=300)
    plain = {**os.environ, "RUST_BACKTRACE": "0", "POLARS_MAX_THREADS": "1"}
    done = subprocess.run(
        [*program, "run", str(folder)], check=False, capture_output=True, timeout=600, preexec_fn=_bounded, env=plain
    )
    return {row[0]: row[1:] for row in map(json.loads, done.stdout.decode().splitlines())}


@pytest.mark.parametrize("name", TRIED)
def test_a_small_file_costs_little(name: str, outcomes: dict[str, list[Any]]) -> None:
    assert name in outcomes, "the process ended before it, or in it"
    code, seconds, peak, said = outcomes[name]
    lines = [line for line in said.splitlines() if not line.endswith(" s so far")]  # the machine may be busy
    assert (code, len(lines)) == (2, 1), said
    assert seconds < SECONDS
    assert peak < MEGABYTES
    assert "root:" not in said  # no line of a system file
