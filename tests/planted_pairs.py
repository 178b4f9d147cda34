"""Pairs of releases that are each 5-anonymous and 3-diverse, and together tell the secrets of planted people."""

import numpy as np

from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release
from unveil.data.table import Table

__all__ = ["planted_pair"]

WIDTH = 4  # codes that a group's interval spans
VALUES = ("flu", "asthma", "angina", "gout", "burn", "ulcer")


def planted_pair(people: int = 3000, planted: int = 33, seed: int = 0) -> tuple[Table, Release, Release, np.ndarray]:
    """A table, two releases of it, and the rows of the planted people.

    Of each planted person the first release's group holds {a, b, c} and the second's {a, d, e}: a is certain. Their
    companions meet others so that each keeps two values; everybody else is in the same group twice.
    """
    rng = np.random.default_rng(seed)
    first, second, value, victims = [], [], [], []
    for number in range(planted):
        a, b, c, d, e = rng.permutation(len(VALUES))[:5]
        mine = [a, b, c, b, c, d, e, d, e, b, d]  # the person, four mates in the first, four in the second, two others
        victims.append(len(value))
        value += mine
        first += [2 * number] * 5 + [2 * number + 1] * 6
        second += [2 * number, *[2 * number + 1] * 4, *[2 * number] * 4, *[2 * number + 1] * 2]
    group = 2 * planted
    while len(value) < people:
        size = 5 if people - len(value) >= 10 else people - len(value)
        value += rng.permutation(len(VALUES))[:5].tolist() + rng.integers(0, len(VALUES), size - 5).tolist()
        first += [group] * size
        second += [group] * size
        group += 1
    order = rng.permutation(people)
    first, second, value = (np.array(column)[order] for column in (first, second, value))
    codes = WIDTH * group
    inside = rng.integers(0, WIDTH, (2, people))
    shuffled = rng.permutation(group), rng.permutation(group)
    age, zip_code = shuffled[0][first] * WIDTH + inside[0], shuffled[1][second] * WIDTH + inside[1]
    attributes = (
        _numbers("age", codes),
        _numbers("zip", codes),
        Attribute("diagnosis", Role.SENSITIVE, Kind.CATEGORICAL, VALUES),
    )
    columns = (age, zip_code, value)
    table = Table(
        attributes, tuple(c.astype(a.dtype) for a, c in zip(attributes, columns, strict=True)), name="planted"
    )
    pieces = [_published(attributes, columns, narrow, shuffled[narrow], group) for narrow in (0, 1)]
    return table, pieces[0], pieces[1], np.sort(np.argsort(order)[victims])


def _numbers(name: str, codes: int) -> Attribute:
    places = np.arange(codes, dtype=np.float64)
    texts = tuple(str(i) for i in range(codes))
    return Attribute(name, Role.QUASI_IDENTIFIER, Kind.NUMERIC, texts, low=places, high=places.copy())


def _published(
    attributes: tuple[Attribute, ...], columns: tuple[np.ndarray, ...], narrow: int, number: np.ndarray, groups: int
) -> Release:
    """One attribute in intervals of a group's width, the other withheld."""
    codes = attributes[0].codes
    start = np.arange(groups) * WIDTH
    regions = [Regions.intervals(codes, [0], [codes - 1])] * 2 + [Regions.singles(len(VALUES))]
    regions[narrow] = Regions.intervals(codes, start, start + WIDTH - 1)
    group = columns[narrow] // WIDTH
    cells = [np.zeros(len(group), dtype=np.int64)] * 2 + [columns[2]]
    cells[narrow] = group
    return build_release(attributes, regions, [BlockRows((0, 1, 2), group, tuple(cells))])[0]
