"""A hundred thousand and a million rows through the commands: CPU seconds, memory, and how both grow."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import Row

SIZES = (100_000, 1_000_000)
SCHEMA = "version = 1\nconfirmed = true\n" + "".join(
    f'[attributes.{name}]\nrole = "{role}"\n' + ('kind = "numeric"\n' if name in ("age", "hours") else "")
    for name, role in {
        **dict.fromkeys(("age", "education", "marital", "race", "sex", "country", "work", "hours"), "quasi-identifier"),
        "occupation": "sensitive",
    }.items()
)
# All at default settings; on a busy machine the audit must not be cut off.
LONG = ("--minutes", "60")
COMMANDS = {
    "anonymize, mondrian:k=5": (
        ("anonymize", "data.csv", "-s", "schema.toml", "--with", "mondrian:k=5", "-o", "release.csv"),
        "",
    ),
    "anonymize, microaggregation:k=5": (
        ("anonymize", "data.csv", "-s", "schema.toml", "--with", "microaggregation:k=5", "-o", "masked.csv"),
        "<= 60",
    ),
    "attack attribute, random_worlds": (
        (
            *("attack", "attribute", "release.csv", "-s", "schema.toml", "--original", "data.csv"),
            *("--attacker", "random_worlds"),
        ),
        "<= 240",
    ),
    "audit --sample 200": (
        ("audit", "release.csv", "-s", "schema.toml", "--original", "data.csv", *LONG, "--sample", "200"),
        "<= 300",
    ),
}
GROWTH = "<= 15"  # for ten times the rows: sorting, and no step that compares all with all
PROGRAM = """
import json, resource, sys
from unveil.cli import main
sys.argv[0] = "unveil"
try:
    main()
except SystemExit as end:
    used = resource.getrusage(resource.RUSAGE_SELF)
    told = [end.code, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20]
    print(json.dumps(told))
"""


def made_up(rows: int) -> pl.DataFrame:
    """Nine columns with domains as wide as those of Adult."""
    random = np.random.default_rng(5)
    education = random.integers(0, 16, rows)
    columns = {
        "age": np.clip(random.normal(42, 15, rows), 17, 90).astype(int),
        "education": education,
        "marital": random.integers(0, 7, rows),
        "race": random.choice(5, rows, p=[0.8, 0.1, 0.05, 0.03, 0.02]),
        "sex": random.integers(0, 2, rows),
        "country": np.minimum(random.geometric(0.3, rows) - 1, 40),
        "work": random.integers(0, 8, rows),
        "hours": np.clip(random.normal(40, 12, rows), 1, 99).astype(int),
        "occupation": (education // 2 + random.integers(0, 7, rows)) % 14,
    }
    return pl.DataFrame(columns)


def measure() -> Iterator[Row]:
    """Each command in a process of its own, start included."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="unveil-") as folder:
        for rows in SIZES:
            (Path(folder) / "schema.toml").write_text(SCHEMA)
            made_up(rows).write_csv(Path(folder) / "data.csv")
            for name, (command, floor) in COMMANDS.items():
                done = subprocess.run(
                    [sys.executable, "-c", PROGRAM, *command], cwd=folder, capture_output=True, text=True, check=False
                )
                code, seconds, memory = json.loads(done.stdout.splitlines()[-1])
                if code not in (0, 1, 3):
                    raise RuntimeError(done.stderr.strip()[-2000:])
                found.setdefault(name, []).append(seconds)
                largest = rows == SIZES[-1]
                yield Row(
                    f"{rows:,} rows, {name}", seconds, unit="s CPU", floor=floor if largest else "",
                    note=f"{memory:.2f} GB at most",
                )  # fmt: skip
    for name, (less, more) in found.items():
        yield Row(f"{name}, growth for ten times the rows", more / less, unit="times", floor=GROWTH)
