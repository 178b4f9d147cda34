"""Cells that are windows around each person's own value: wide to look at, but the place of the window tells the value.

An honest recoding cuts the values into sets that lie apart, or classes into boxes that do. Equally wide cells that
overlap, about one for each value, are made of the value: its middle, its beginning, or the value and the next one.
"""

import numpy as np

from unveil.risk.published_file.file import Cells, Ids, Leak, PublishedFile, percent
from unveil.risk.published_file.people import people_who_fit

__all__ = ["sliding_cells"]

_LEAST = 4  # windows of one width
_OVERLAP = 1.5  # windows that hold a value, on average
_ROWS = 20
_EQUAL = 0.8  # of the windows as frequent as the value at one place in them


def sliding_cells(file: PublishedFile) -> list[Leak]:
    """Quasi-identifiers whose cells slide along the values."""
    keys = [n for n in file.keys if n in file.shared]
    found = []
    for name in keys:
        cells = file.cells(name)
        for windows in () if name in file.sidecar.masked else _windows(cells):
            rows = np.isin(cells.region_of_text[cells.text_of_row], [w[0] for w in windows])
            if int(file.times[rows].sum()) < _ROWS or not _fit_elsewhere(file, keys, rows):
                continue
            place, equal = _place_of_value(file, cells, windows)
            people = int(file.times[rows].sum())
            told = (
                f"each is as frequent as the value {place} in the original ({percent(equal)} of them), so it tells that"
                if equal >= _EQUAL
                else "whoever guesses how they were made reads the value from where they lie"
            )
            found.append(
                Leak(
                    "given_back",
                    "singling out",
                    "exceeded" if equal >= _EQUAL else "suspicious",
                    f"The cells of {name} slide along its values: {len(windows)} are equally wide and overlap, for "
                    f"{file.persons(people)}; {told}.",
                    f"cut {name} into sets that lie apart, the same for everybody",
                    (name,),
                    people,
                    equal,
                )
            )
            break
    return found


def _windows(cells: Cells) -> list[list[tuple[int, Ids]]]:
    """Regions, with their values, that are equally wide and overlap, about one for each value; by width."""
    regions = np.unique(cells.region_of_text[np.unique(cells.text_of_row)])
    single = cells.regions.single()
    by_width: dict[int, list[tuple[int, Ids]]] = {}
    for region in regions[regions >= 0].tolist():
        if single[region] < 0 and not cells.regions.whole[region]:
            members = np.sort(np.asarray(cells.regions.members(region), dtype=np.int64))
            by_width.setdefault(len(members), []).append((region, members))
    found = []
    for width, windows in sorted(by_width.items(), key=lambda item: -len(item[1])):
        values = len(np.unique(np.concatenate([members for _, members in windows])))
        if (
            len(windows) >= _LEAST
            and values / 2 <= len(windows) <= values
            and len(windows) * width >= _OVERLAP * values
        ):
            found.append(windows)
    return found


def _fit_elsewhere(file: PublishedFile, keys: list[str], rows: np.ndarray) -> bool:
    """Whether more people fit these classes than they have rows: boxes that lie apart hold exactly their own."""
    fits, _, kind_of_row, times = people_who_fit(file, keys)
    here = np.unique(kind_of_row[rows])
    number = np.bincount(kind_of_row, weights=file.times)[here].sum()
    held = (fits[:, here] * times[:, None]).sum() * (file.people / max(int(times.sum()), 1))
    return bool(held >= _OVERLAP * number)


def _place_of_value(file: PublishedFile, cells: Cells, windows: list[tuple[int, Ids]]) -> tuple[str, float]:
    """The place in the windows whose values are as frequent in the original as the windows are here, and how often."""
    good = cells.value_of_person >= 0
    there = np.bincount(cells.value_of_person[good], minlength=cells.regions.codes)
    region = cells.region_of_text[cells.text_of_row]
    here = np.bincount(region[region >= 0], weights=file.times[region >= 0], minlength=len(cells.regions))
    own = np.array([here[number] for number, _ in windows])
    places = {
        "in their middle": [there[m[len(m) // 2]] for _, m in windows],
        "just below their middle": [there[m[(len(m) - 1) // 2]] for _, m in windows],
        "they begin with": [there[m[0]] for _, m in windows],
        "they end with": [there[m[-1]] for _, m in windows],
    }
    shares = {words: float((np.array(number) == own).mean()) for words, number in places.items()}
    best = max(shares, key=shares.__getitem__)
    return best, shares[best]
