"""The published file read as a stranger reads it: every column, every byte, in its order.

Each check is a plain function of a `PublishedFile` that returns the `Leak`s it found; `read_as_a_stranger` runs them
all. None of them looks at beliefs. Beside them stand `harmful_classes` (what classes tell of a secret, judged by harm),
`likely_members` (against a register of the population), `across_releases` and `beside_earlier`: lower bounds that cost
a histogram. What a reader who learns infers beyond them is the attackers' part.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.schema import Schema
from unveil.errors import ReleaseError
from unveil.formats.columns import Columns
from unveil.formats.parts import part_files
from unveil.formats.paths import is_many, is_project, sheet_file
from unveil.formats.releases.published import Sidecar, published_columns, read_sidecar
from unveil.formats.releases.surroundings import Surrounding, row_groups, surroundings
from unveil.formats.tables import READERS
from unveil.risk.published_file.beside import beside_the_table
from unveil.risk.published_file.blocks import paired_blocks
from unveil.risk.published_file.canonical import unexplained_cells
from unveil.risk.published_file.claims import claimed_masking, claimed_noise
from unveil.risk.published_file.columns import doubtful_roles, exact_values, identifying_columns, leftover_columns
from unveil.risk.published_file.dependence import given_back, telling_columns
from unveil.risk.published_file.file import Disclosure, Leak, PublishedFile, Severity
from unveil.risk.published_file.form import group_names, missing_cells, spelling, withheld_values
from unveil.risk.published_file.harm import few_values, harmful_classes, likely_members
from unveil.risk.published_file.marks import marked_rows
from unveil.risk.published_file.order import row_order
from unveil.risk.published_file.people import repeated_people, rows_of_nobody, unplaced_people
from unveil.risk.published_file.residual import chosen_people, told_by_all_columns
from unveil.risk.published_file.several import across_releases, beside_earlier

__all__ = [
    "CHECKS",
    "Leak",
    "PublishedFile",
    "Severity",
    "across_releases",
    "beside_earlier",
    "harmful_classes",
    "likely_members",
    "published_file",
    "read_as_a_stranger",
    "read_published_file",
]

# Each check with the kind of disclosure it is about, whether it needs the original, and what it says if all is well.
CHECKS: dict[Callable[[PublishedFile], list[Leak]], tuple[Disclosure, bool, str]] = {
    leftover_columns: ("linking", False, "No identifier, key or unexplained column is left in the file."),
    beside_the_table: ("linking", False, "Nothing but the table is in the file."),
    doubtful_roles: ("inference", False, "No column's name speaks against its role."),
    exact_values: ("singling out", False, "Columns with bins show no exact values."),
    identifying_columns: ("singling out", False, "No column beside the quasi-identifiers singles people out."),
    telling_columns: ("inference", False, "No insensitive column tells a sensitive one."),
    few_values: ("inference", False, "No small set of people leaves few values of a secret."),
    given_back: ("singling out", True, "What was coarsened or withheld is not given back by another column."),
    told_by_all_columns: ("inference", True, "All columns together tell nothing that the cells leave open."),
    row_order: ("linking", True, "The order of the rows tells nothing beyond their cells."),
    marked_rows: ("linking", True, "Nothing but its values tells a row from others."),
    paired_blocks: ("inference", True, "Lines of different blocks do not stand in true pairs."),
    group_names: ("file", True, "Names of groups tell nothing."),
    spelling: ("file", False, "Every value is written in one way."),
    unexplained_cells: ("file", True, "One rule for everybody explains every cell."),
    missing_cells: ("inference", False, "What is missing tells nothing about the secret."),
    withheld_values: ("inference", True, "No value is withheld because of what it is."),
    repeated_people: ("singling out", True, "Nobody has several rows."),
    rows_of_nobody: ("singling out", True, "No class holds more rows than people who fit it."),
    chosen_people: ("inference", True, "Who has a row does not depend on what the file does not show."),
    unplaced_people: ("linking", True, "Everybody who should fits a published row."),
    claimed_masking: ("file", True, "What the sidecar says of masking holds."),
    claimed_noise: ("file", True, "What the sidecar says of noise holds."),
}


def published_file(
    columns: Columns,
    schema: Schema,
    *,
    sidecar: Sidecar | None = None,
    second: Columns | None = None,
    original: Columns | None = None,
    origin: NDArray[np.int64] | None = None,
    key: str | None = None,
    raw: bytes | None = None,
    around: tuple[Surrounding, ...] = (),
    parts: tuple[int, ...] = (),
) -> PublishedFile:
    """A published file from what `formats.tables.read_columns` reads of it and, if there is one, of the original.

    `origin`: (rows,) the original row of each published one, counted from 0, where an assignment says it. `raw`: the
    bytes of a text file, for its quotes. `around`: what the file holds beside the table.
    `parts`: rows of each of its parts.
    """
    return PublishedFile(
        columns=columns.columns,
        rows=columns.rows,
        schema=schema,
        sidecar=sidecar or Sidecar(),
        second=second,
        original=None if original is None else original.columns,
        people=0 if original is None else original.rows,
        origin=origin,
        key=key,
        raw=raw,
        around=around,
        parts=parts,
        decimal=columns.decimal,
        original_decimal="." if original is None else original.decimal,
    )


def read_published_file(
    path: str | Path,
    schema: Schema,
    *,
    original: Columns | None = None,
    origin: NDArray[np.int64] | None = None,
    key: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> PublishedFile:
    """A published file from its path, with its sidecar and Anatomy's second table."""
    path = Path(path)
    sidecar = read_sidecar(path)
    reading: dict[str, Any] = {"schema": schema, "delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    columns = published_columns(path, **reading)
    beside = sidecar.sensitive_table
    second = None if beside is None else published_columns(path.parent / beside, **reading)
    files = [part.path for part in part_files(path, ReleaseError)] if is_many(path) else [sheet_file(path)[0]]
    text = files[0].suffix.lower() not in READERS and not is_project(path)
    raw = _joined_text(files) if text else None
    held: dict[str, Any] = {"second": second, "origin": origin, "key": key, "raw": raw, "around": surroundings(path)}
    held["parts"] = columns.parts if len(columns.parts) > 1 else row_groups(path)
    return published_file(columns, schema, sidecar=sidecar, original=original, **held)


def _joined_text(files: list[Path]) -> bytes:
    """The bytes of text files as those of one, which has its header once."""
    first, *rest = [file.read_bytes() for file in files]
    return b"".join([first, *(b"\n" * (not first.endswith(b"\n")) + part.partition(b"\n")[2] for part in rest)])


def read_as_a_stranger(file: PublishedFile) -> tuple[Leak, ...]:
    """Every check: what it found, or one record that it found nothing, or that it needs the original.

    Cost: linear in rows × columns, about a second for 30,162 rows of 15 columns.
    """
    found: list[Leak] = []
    for check, (kind, needs_original, well) in CHECKS.items():
        name = check.__name__
        if needs_original and file.original is None:
            found.append(Leak(name, kind, "not judged", "This is judged against the original, which was not given."))
            continue
        found += check(file) or [Leak(name, kind, "fine", well)]
    return tuple(found)
