"""make vulnerabilities: whether a pinned package has a known vulnerability, by the snapshot in vulnerabilities.toml.

No network: `python -m tests.vulnerabilities FOLDER` takes a new snapshot from an unpacked export of PyPI's records in
the OSV format (one JSON file each). Facts alone are kept: the package, the record's names, and the versions it affects.
"""

import json
import sys
import tomllib
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import tomli_w
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[1]
SNAPSHOT = ROOT / "vulnerabilities.toml"
LAST = "999999"  # stands for "not fixed"


def pins(text: str) -> Iterator[tuple[str, Version]]:
    """Every package and version of a file of pins; one that differs by platform comes several times."""
    for line in text.splitlines():
        wanted = Requirement(line)
        (exact,) = wanted.specifier
        yield canonicalize_name(wanted.name), Version(exact.version)


def affected(pinned: Iterable[tuple[str, Version]], snapshot: dict[str, Any]) -> list[str]:
    """A line for each pin that a record affects."""
    records = snapshot["vulnerability"]
    return [
        f"{package} {version}: {record['id']} ({', '.join(record['aliases'])})"
        for package, version in pinned
        for record in records
        if record["package"] == package
        and any(Version(first) <= version < Version(fixed) for first, fixed in record["affected"])
    ]


def ranges(entry: dict[str, Any]) -> Iterator[list[str]]:
    """From the first version that is affected to the one that no longer is."""
    for found in entry.get("ranges", ()):
        if found["type"] != "ECOSYSTEM":
            continue
        first = None
        for event in found["events"]:
            if "introduced" in event:
                first = event["introduced"]
            elif first is not None:
                last = event.get("fixed") or f"{event['last_affected']}.post{LAST}"
                yield [first, last]
                first = None
        if first is not None:
            yield [first, LAST]


def taken(records: Iterable[dict[str, Any]], packages: set[str]) -> dict[str, Any]:
    """The snapshot of some packages."""
    found = []
    for record in records:
        for entry in record.get("affected", ()):
            name = canonicalize_name(entry["package"]["name"])
            if entry["package"]["ecosystem"] != "PyPI" or name not in packages or "withdrawn" in record:
                continue
            every = list(ranges(entry))
            for version in (text for pair in every for text in pair):
                try:
                    Version(version)
                except InvalidVersion:
                    sys.exit(f"{record['id']}: {version!r} is not a version")
            found.append({
                "package": name, "id": record["id"], "aliases": sorted(record.get("aliases", ())), "affected": every,
            })  # fmt: skip
    return {"taken": date.today(), "vulnerability": sorted(found, key=lambda one: (one["package"], one["id"]))}


def main() -> None:
    """Check the pins, or take a new snapshot."""
    pinned = list(pins((ROOT / "constraints.txt").read_text()))
    if len(sys.argv) > 1:
        files = sorted(Path(sys.argv[1]).rglob("*.json"))
        made = taken((json.loads(file.read_bytes()) for file in files), {name for name, _ in pinned})
        SNAPSHOT.write_bytes(tomli_w.dumps(made).encode())
    snapshot = tomllib.loads(SNAPSHOT.read_text())
    known = len(snapshot["vulnerability"])
    for line in (found := affected(pinned, snapshot)):
        print(line)
    print(f"{len(found)} of {len(pinned)} pins affected, by {known} records taken on {snapshot['taken']}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
