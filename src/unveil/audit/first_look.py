"""The cheap answer first: what classes and the published file show within seconds, before any reader is asked."""

from collections.abc import Iterator

import numpy as np

from unveil.audit.case import Case
from unveil.audit.verdict import DEFAULT_LIMITS
from unveil.data.attribute import Role
from unveil.data.release import Release, row_numbers
from unveil.risk.published_file import read_as_a_stranger

__all__ = ["first_look"]

MOST_LEAKS = 2
ROWS_ASKED = 200_000  # above it the file is not read as a stranger reads it: that is part of the audit itself


def first_look(case: Case) -> Iterator[str]:
    """A few lines of each release: classes, what stands alone, and what already decides. Cost: rows × attributes.

    Each as soon as it is known: of all releases what is counted, then what their files give away.
    """
    for name, release in case.releases.items():
        yield from _counted(name, release)
    for name in case.releases:
        file = case.files.get(name)
        if file is not None and file.rows <= ROWS_ASKED:
            leaks = [leak for leak in read_as_a_stranger(file) if leak.severity == "exceeded"]
            yield from (f"{name}: already exceeded: {leak.kind}: {leak.sentence}" for leak in leaks[:MOST_LEAKS])


def _counted(name: str, release: Release) -> Iterator[str]:
    decided: list[str] = []
    if not release.perturbed:
        size, smallest_l = _classes(release)
        alone = int((size == 1).sum())
        said = f"{int(size.sum()):,} rows in {len(size):,} classes, the smallest of {int(size.min()):,}"
        said += f"; {alone:,} rows alone" if alone else "; no row alone"
        said += "".join(f"; at least {least} different {what} a class" for what, least in smallest_l.items())
        yield f"{name}: {said}"
        if size.min() < _limit("singling out"):
            decided.append(
                f"singling out: the smallest class has {int(size.min())}, {_limit('singling out')} are asked for"
            )
        decided += [
            f"inference of {what}: some class shows one value only"
            for what, least in smallest_l.items()
            if least < _limit("inference")
        ]
    yield from (f"{name}: already exceeded: {text}" for text in decided)


def _limit(kind: str) -> int:
    """The first default limit of a kind is a level: k_anonymity >= 3, distinct_l >= 2."""
    return int(DEFAULT_LIMITS[kind][0].rpartition(" ")[2])  # type: ignore[index]


def _classes(release: Release) -> tuple[np.ndarray, dict[str, int]]:
    """Rows of each class of equal quasi-identifier cells; the fewest different sensitive cells of a group."""
    known = release.with_role(Role.QUASI_IDENTIFIER)
    block = next((b for b in release.blocks if set(known) <= set(b.attributes)), None)
    if block is None or not known:
        size = np.asarray(release.sizes)
    else:
        number = row_numbers([block.region(i).astype(np.int64) for i in known], len(block.count))
        size = np.bincount(number, weights=block.count).astype(np.int64)
    least = {}
    for index in release.with_role(Role.SENSITIVE):
        own = release.block_of(index)
        groups = np.asarray(own.group, dtype=np.int64)
        if own is block:  # published in the same row: a class, not a group, is what is looked up
            groups = row_numbers([block.region(i).astype(np.int64) for i in known], len(block.count))
        cells = own.region(index).astype(np.int64)
        pairs = np.unique(np.stack([groups, cells]), axis=1)[0]
        least[release.attributes[index].name] = int(np.bincount(pairs).min())
    return size, least
