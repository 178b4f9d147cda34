"""Tables of many files on `local:workers=2`: CPU against one process, memory of the largest process, growth."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import Row
from unveil.cluster import local_cluster, work_on_parts

PART = 500_000  # rows of a file
COMPARED, GROWN = 3_000_000, (10_000_000, 100_000_000)
ON = ("--cluster", "local:workers=2,memory=1GB")
SIZES = {"age": 100, "sex": 2, "region": 16, "marital": 5, "education": 8, "illness": 12}
SCHEMA = "version = 1\nconfirmed = true\n" + "".join(
    f'[attributes.{name}]\nrole = "{"sensitive" if name == "illness" else "quasi-identifier"}"\nkind = "numeric"\n'
    f"domain = {{ from = 0, to = {size - 1}, step = 1 }}\n"
    for name, size in SIZES.items()
)
COMMANDS = {
    "anonymize, mondrian:k=5": ("anonymize", "data", "-s", "schema.toml", "--with", "mondrian:k=5", "--seed", "1"),
    "check": ("check", "release", "-s", "schema.toml"),
}
# CPU and the largest process, all processes that the command started among them.
PROGRAM = """
import json, resource, sys
from unveil.cli import main
sys.argv[0] = "unveil"
try:
    main()
except SystemExit as end:
    own, others = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    seconds = sum(one.ru_utime + one.ru_stime for one in (own, others))
    print(json.dumps([end.code, seconds, max(own.ru_maxrss, others.ru_maxrss) / 2**20]))
"""


def made_up(folder: Path, rows: int) -> None:
    """A census whose attributes hang together: some hundred thousand different people."""
    folder.mkdir()
    for place in range(rows // PART):
        random = np.random.default_rng(place)
        age = np.clip(random.normal(42, 22, PART), 0, 99).astype(np.uint8)
        shares = {name: random.random(PART) ** (2 if name == "region" else 1) for name in list(SIZES)[1:]}
        columns = {name: (share * SIZES[name]).astype(np.uint8) for name, share in shares.items()}
        columns["illness"] = ((columns["illness"] + age // 20) % 12).astype(np.uint8)
        pl.DataFrame({"age": age, **columns}).write_parquet(folder / f"{place:04}.parquet")


def _run(folder: Path, name: str, release: str, on: tuple[str, ...]) -> tuple[float, float]:
    """Seconds of CPU, and gigabytes of the largest process."""
    command = [release if word == "release" else word for word in COMMANDS[name]]
    command += ["-o", release] if name.startswith("anonymize") else []
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command, *on], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode or not done.stdout or json.loads(done.stdout.splitlines()[-1])[0] not in (0, None):
        raise RuntimeError(done.stderr.strip()[-2000:])
    _, seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return seconds, memory


def compared(rows: int) -> Iterator[Row]:
    """The same release and levels from one process and from a cluster."""
    with tempfile.TemporaryDirectory(prefix="unveil-") as name:
        folder = Path(name)
        (folder / "schema.toml").write_text(SCHEMA)
        made_up(folder / "data", rows)
        for what in COMMANDS:
            here, _ = _run(folder, what, "one", ())
            there, memory = _run(folder, what, "two", ON)
            yield Row(
                f"{rows:,} rows, {what}, CPU on a cluster of 2 over one process", there / here, unit="times",
                floor="<= 1.5", note=f"{there:.1f} and {here:.1f} s CPU; {memory:.2f} GB at most",
            )  # fmt: skip
        same = all(
            file.read_bytes() == (folder / "two" / file.name).read_bytes() for file in (folder / "one").iterdir()
        )
        yield Row(f"{rows:,} rows, files of both releases that are equal byte for byte", float(same), floor=">= 1")


def grown(sizes: tuple[int, ...]) -> Iterator[Row]:
    """Memory does not grow with the rows, and time no faster than they do."""
    found: dict[str, list[float]] = {}
    for rows in sizes:
        with tempfile.TemporaryDirectory(prefix="unveil-") as name:
            folder = Path(name)
            (folder / "schema.toml").write_text(SCHEMA)
            made_up(folder / "data", rows)
            for what in COMMANDS:
                seconds, memory = _run(folder, what, "release", ON)
                found.setdefault(what, []).append(seconds)
                files = f"{rows // PART} files of {PART:,} rows, {seconds:.0f} s CPU"
                yield Row(f"{rows:,} rows, {what}, largest process", memory, unit="GB", floor="<= 2", note=files)
    for what, seconds in found.items():
        yield Row(f"{what}, growth for ten times the rows", seconds[-1] / seconds[0], unit="times", floor="<= 12")


def overhead() -> Row:
    """What a round of tasks costs that do nothing."""
    with local_cluster(2, 10**9) as client:
        work_on_parts(client, abs, range(200), max)
        begun = time.perf_counter()
        work_on_parts(client, abs, range(200), max)
        return Row("a round of 200 tasks that do nothing, merged", time.perf_counter() - begun, unit="s")


def measure() -> Iterator[Row]:
    """Commands in processes of their own, the start of the cluster included."""
    yield from compared(COMPARED)
    yield overhead()
    yield from grown(GROWN)
