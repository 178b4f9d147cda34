"""Channels of perturbed columns: stated beside the release, or estimated by whoever knows whose row is whose."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute
from unveil.data.mixture import Channel, Mixture
from unveil.data.release import Release
from unveil.data.rows import origin_of, rows_of
from unveil.data.table import Table

__all__ = ["Channels", "channels_of"]

NEIGHBOURS = 200  # rows around a shown number whose changes are taken for its own


@dataclass(frozen=True, slots=True, eq=False)
class Channels:
    """By perturbed attribute what its values say of true ones; and the names of those of which nobody can tell."""

    of: Mapping[int, Channel]
    unknown: tuple[str, ...]


def channels_of(release: Release, mixture: Mixture, table: Table, group: NDArray[np.integer] | None) -> Channels:
    """Stated chances first, for they are the reader's too; else what pairs of a true and a shown value say.

    A number's changes are pooled over its neighbours: a reader knows how values are moved, not whose was.
    """
    masked, origin = rows_of(release), None if group is None else origin_of(release, group)
    found: dict[int, Channel] = {}
    unknown = []
    held = {a.name: i for i, a in enumerate(table.attributes)}
    for index, shown in mixture.shown.items():
        name = masked.attributes[index].name
        if name not in held:
            unknown.append(name)
            continue
        true, codes = table.attributes[held[name]], table.columns[held[name]].astype(np.int64)
        if index in masked.channel and masked.channel[index].shape == (true.codes, true.codes):
            share = np.bincount(codes, minlength=true.codes) / max(len(codes), 1)
            found[index] = Channel(true, _normed((masked.channel[index] * share[:, None]).T), "stated")
        elif origin is not None:
            mine = codes[origin]
            places = mixture.places.get(index)
            values = mixture.release.attributes[index].codes
            counts = _pairs(shown, mine, values, true.codes)
            if places is not None:
                counts += _moved(masked.columns[index], shown, mine, places, true, values)
            found[index] = Channel(true, _normed(counts), "estimated")
        else:
            unknown.append(name)
    return Channels(found, tuple(unknown))


def _pairs(shown: NDArray[np.int64], true: NDArray[np.int64], values: int, codes: int) -> NDArray[np.float64]:
    """(shown codes, true codes) rows."""
    there = shown >= 0
    key = shown[there] * codes + true[there]
    return np.bincount(key, minlength=values * codes).reshape(values, codes).astype(np.float64)


def _moved(
    column: NDArray[np.float64],
    shown: NDArray[np.int64],
    true: NDArray[np.int64],
    places: NDArray[np.float64],
    attribute: Attribute,
    values: int,
) -> NDArray[np.float64]:
    """(shown codes, true codes) true values that the changes of neighbouring rows would have led to what is shown."""
    line = attribute.positions()[: attribute.real]
    rows = np.flatnonzero((shown >= 0) & (true < attribute.real) & np.isfinite(column))
    rows = rows[np.argsort(column[rows], kind="stable")]
    counts = np.zeros((values, attribute.codes))
    if not len(rows):
        return counts
    change = line[true[rows]] - column[rows]
    middle = (line[1:] + line[:-1]) / 2
    most = min(NEIGHBOURS, max(len(rows) // 4, 1))
    at = np.searchsorted(column[rows], places)
    for code in range(min(values, len(places))):
        first = int(np.clip(at[code] - most // 2, 0, max(len(rows) - most, 0)))
        near = np.searchsorted(middle, places[code] + change[first : first + most])
        counts[code] += np.bincount(near, minlength=attribute.codes)
    return counts


def _normed(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows that add up to 1; of one that never occurs all values are alike."""
    counts = np.where(counts.any(axis=1, keepdims=True), counts, 1.0)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
