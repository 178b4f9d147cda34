"""Whether a command may need more memory than there is: said before it begins, with what would help."""

from typing import Any

from unveil.cli.output import say
from unveil.engine import free_bytes

__all__ = ["belief_bytes", "table_bytes", "warn_of_memory"]

PER_CELL = 60  # bytes of a table's cell, as measured: its code, its copy in a release, and what is sorted


def table_bytes(table: Any) -> int:
    """About what work on a table of this size takes."""
    return int(table.rows * len(table.attributes) * PER_CELL)


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
        readers = len(case.attacker_names) + 1
        total += table_bytes(release) + people * values * readers * (case.chains.chains + 1) * 8
    return total if case.original is None else total + table_bytes(case.original)


def warn_of_memory(needed: int, instead: str) -> None:
    """One line where the work may need more than is free."""
    free = free_bytes()
    if free is not None and needed > free:
        say(
            f"unveil: this may need about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free; if it "
            f"ends for lack of memory, {instead}"
        )
