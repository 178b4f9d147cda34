"""Whether a command may need more memory than there is: said before it begins, with what would help."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from unveil.cli.output import say
from unveil.errors import UsageError, shown
from unveil.formats.glass import BINARY
from unveil.formats.paths import is_many

__all__ = [
    "belief_bytes",
    "file_size",
    "least_belief_bytes",
    "memory_size",
    "table_bytes",
    "warn_before_reading",
    "warn_of_memory",
]

HEAD = 2**20  # bytes that are looked at before a file is read
PER_CELL = 60  # bytes of a table's cell, as measured: its code, its copy in a release, and what is sorted
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.ASCII | re.IGNORECASE)
_UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def table_bytes(table: Any) -> int:
    """About what work on a table of this size takes."""
    return int(table.rows * len(table.attributes) * PER_CELL)


def file_size(path: Any) -> tuple[int, int]:
    """About how many rows and columns a delimited text file has, by its size and first lines; 0: it does not say."""
    path = Path(str(path))
    if is_many(path):
        from unveil.formats.parts import part_files

        sizes = [file_size(part.path) for part in part_files(path, UsageError)]
        return sum(rows for rows, _ in sizes), max((columns for _, columns in sizes), default=0)
    try:
        with path.open("rb") as file:
            start, size = file.read(HEAD), os.fstat(file.fileno()).st_size
    except (OSError, ValueError):  # whoever reads it says what is wrong
        return 0, 0
    if size <= HEAD or b"\0" in start or path.suffix.lower() in BINARY:
        return 0, 0
    lines = start.splitlines()
    columns = 1 + max(lines[0].count(sign) for sign in (b",", b";", b"\t", b"|"))
    return int(size / len(start) * max(len(lines) - 1, 1)), columns


def warn_before_reading(paths: Iterable[Any], instead: str, times: int = 1, more: int = 0) -> None:
    """One line before the files are read, which may itself take minutes; `more`: bytes that come on top."""
    cells = (rows * columns for rows, columns in map(file_size, paths))
    warn_of_memory(times * sum(cells) * PER_CELL + more, instead)


def least_belief_bytes(options: Any, schema: Any, people: Any) -> int:
    """What beliefs about everybody in a file take at least, by the domains that the schema lists."""
    from unveil.data.attribute import Role

    count = file_size(people)[0]
    if (sample := getattr(options, "sample", None)) is not None:
        count = min(count, sample)
    named = {name for text in getattr(options, "asked", ()) for name in text.split(",")}
    values = 0
    for name in schema.names:
        declared = schema.declaration(name)
        if name in named or (not named and declared.role is Role.SENSITIVE):
            values += len(declared.domain) if isinstance(declared.domain, tuple | list) else 2
    return _beliefs(count, values, len(getattr(options, "attacker", ())) or 2, options.chains)


def _beliefs(people: int, values: int, attackers: int, chains: int) -> int:
    """For everybody asked about each reader's belief, the learner's too, chain by chain."""
    return people * values * (attackers + 1) * (chains + 1) * 8


def belief_bytes(case: Any) -> int:
    """About what a case takes: its tables, and for everybody asked about each reader's belief, chain by chain."""
    from unveil.audit.asking import asked_of
    from unveil.data.table import MOST_COUNTED

    total = 0
    for release in case.releases.values():
        if case.original is None and release.rows > MOST_COUNTED:  # which is refused
            return 0
        people = release.rows if case.original is None else case.original.rows
        people = people if case.sample is None else min(people, case.sample)
        values = sum(release.attributes[index].codes for index in asked_of(release, case.asked))
        total += table_bytes(release) + _beliefs(people, values, len(case.attacker_names), case.chains.chains)
    return total if case.original is None else total + table_bytes(case.original)


def memory_size(text: str, option: str = "--memory") -> int:
    """Bytes of a size such as 8G, 500M or 1.5 GB."""
    found = _SIZE.fullmatch(text.strip())
    size = float(found[1]) * _UNITS[found[2].upper()] if found else 0.0
    if found is None or size < 2**20:
        raise UsageError(f"{option} {shown(text)} is not a size; write 8G, 500M or 1.5G")
    return int(size)


def warn_of_memory(needed: int, instead: str) -> None:
    """One line where the work may need more than is free; beyond what --memory says, it is refused."""
    from unveil.engine import free_bytes, memory_bound

    free, bound = free_bytes(), memory_bound()
    if bound is not None and needed > bound:
        raise UsageError(
            f"this may need about {needed / 1e9:.1f} GB of memory, more than --memory {bound / 1e9:.1f} GB; {instead}"
        )
    if free is not None and needed > free:
        say(
            f"unveil: this may need about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free; if it "
            f"ends for lack of memory, {instead}"
        )
