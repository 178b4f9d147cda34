"""Tables that hide links and have an exactly known posterior (see `mode_oracles`), many of them with several modes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Prior, Targets, known_exactly
from unveil.data.regions import Regions
from unveil.data.release import BlockRows, Release, build_release

Floats = NDArray[np.float64]
Cell = tuple[int, ...]
Group = tuple[tuple[Cell, ...], tuple[int, ...]]  # cells and values, each in any order
WITHHELD = -1  # a value that is not published


@dataclass(frozen=True)
class Hidden:
    """A table in buckets: cells and values of each, and what is held beforehand."""

    name: str
    groups: tuple[Group, ...]
    codes: tuple[int, ...]
    values: int = 2
    beta: float = 1.0

    @property
    def withheld(self) -> bool:
        return any(WITHHELD in values for _, values in self.groups)

    @property
    def rows(self) -> int:
        return sum(len(cells) for cells, _ in self.groups)

    @property
    def cells(self) -> list[Cell]:
        return sorted({cell for cells, _ in self.groups for cell in cells})

    def release(self) -> Release:
        attributes = [
            Attribute(f"a{i}", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, tuple(map(str, range(n))))
            for i, n in enumerate(self.codes)
        ]
        attributes.append(Attribute("s", Role.SENSITIVE, Kind.CATEGORICAL, tuple(map(str, range(self.values)))))
        group = np.repeat(np.arange(len(self.groups)), [len(cells) for cells, _ in self.groups])
        cell = np.array([cell for cells, _ in self.groups for cell in cells])
        value = np.array([value for _, values in self.groups for value in values])
        own = len(self.codes)
        shown = np.where(value == WITHHELD, self.values, value)
        parts = [BlockRows(tuple(range(own)), group, tuple(cell.T)), BlockRows((own,), group, (shown,))]
        every = Regions.intervals(self.values, [*range(self.values), 0], [*range(self.values), self.values - 1])
        return build_release(attributes, [*(Regions.singles(n) for n in self.codes), every], parts)[0]

    def prior(self, release: Release) -> Prior:
        return Prior.uninformative(release, len(self.codes), beta=self.beta)

    def targets(self, release: Release) -> Targets:
        """Everybody who can be told apart."""
        columns = np.array(self.cells).T
        return known_exactly(release, dict(enumerate(columns)), len(self.codes))

    def kinds(self) -> dict[Group, int]:
        found: dict[Group, int] = {}
        for cells, values in self.groups:
            kind = tuple(sorted(cells)), tuple(sorted(values))
            found[kind] = found.get(kind, 0) + 1
        return found


def drawn_table(
    name: str,
    seed: int,
    shapes: dict[tuple[int, ...], int],
    shares: Sequence[Sequence[Sequence[float]]],
    beta: float = 1.0,
) -> Hidden:
    """Groups that hold these values, as many as it says; cells drawn from `shares` (attributes, values, codes)."""
    random = np.random.default_rng(seed)
    groups = []
    for values, times in shapes.items():
        for _ in range(times):
            true = [int(random.integers(len(shares[0]))) if s == WITHHELD else s for s in values]
            cells = tuple(tuple(int(random.choice(len(of[s]), p=of[s])) for of in shares) for s in true)
            groups.append((cells, values))
    codes = tuple(len(of[0]) for of in shares)
    return Hidden(name, tuple(groups), codes, len(shares[0]), beta)


def _binary(strength: float, other: float | None = None) -> list[list[float]]:
    other = 1 - strength if other is None else other
    return [[strength, 1 - strength], [other, 1 - other]]


def tables() -> Iterator[Hidden]:
    """At least 40 of them: symmetric, tilted, near-deterministic, tiny beta, case-control, two and three modes."""
    for rows in (40, 100, 344, 1000, 3000):
        for strength in (0.6, 0.8, 0.95):
            shapes = {(0, 1): rows // 2}
            yield drawn_table(f"case-control, {rows} rows, {strength}", rows, shapes, [_binary(strength)])
    for rows in (40, 160, 344):
        for strength in (0.7, 0.9):
            two = [_binary(strength), _binary(strength)]
            yield drawn_table(f"case-control of two, {rows} rows, {strength}", rows + 1, {(0, 1): rows // 2}, two)
    for rows in (60, 240, 600, 2000):
        for share in (0.05, 0.3):
            many = int(rows * share) // 3
            shapes = {(0, 1): (rows - 3 * many) // 2, (0, 0, 1): many}
            yield drawn_table(f"tilted by {share}, {rows} rows", rows + 7, shapes, [_binary(0.8, 0.3)])
    for rows in (60, 150, 300):
        shapes = {(0, 1): rows // 3, (0, 0, 1): rows // 18, (0, 1, 1): rows // 18}
        yield drawn_table(f"tilted of two, {rows} rows", rows + 3, shapes, [_binary(0.85, 0.2), _binary(0.75, 0.4)])
    for rows in (60, 400):
        for strength in (0.99, 1.0):
            shapes = {(0, 1): rows // 2 - 3, (0, 0, 1): 2}
            yield drawn_table(f"near-deterministic {strength}, {rows} rows", rows, shapes, [_binary(strength)])
    for beta in (0.01, 0.1, 0.5):
        for rows in (40, 200):
            shapes = {(0, 1): rows // 2 - 3, (0, 0, 1): 2}
            yield drawn_table(f"beta {beta}, {rows} rows", rows + 5, shapes, [_binary(0.8)], beta)
    of_three = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    for rows in (24, 33):
        yield drawn_table(f"three modes, {rows} rows", rows, {(0, 1, 2): rows // 3}, [of_three])
    for rows in (60, 180):
        ramp = [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]
        yield drawn_table(f"three values, {rows} rows", rows, {(0, 1, 2): rows // 3}, [ramp])
    wide = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
    for rows in (60, 200):
        yield drawn_table(f"three codes, {rows} rows", rows + 2, {(0, 1): rows // 2 - 6, (0, 0, 1, 1): 3}, [wide])
    yield misled()


def misled() -> Hidden:
    """A first look, value by value, points away from where nearly all of the posterior is: 88% right, or 12%."""
    a, b, c, d = (0, 0), (1, 1), (1, 0), (0, 1)
    pairs = {(a, b): 87, (a, c): 6, (b, c): 3, (b, d): 2, (a, d): 1, (a, a): 1}
    groups = [group for cells, times in pairs.items() for group in [(cells, (0, 1))] * times]
    groups += [((a, a, b), (0, 0, 1))] * 30 + [((a, a, a), (0, 1, 1))] * 9 + [((b, b, b), (0, 0, 1))] * 9
    return Hidden("misled", tuple(groups), (2, 2))


def blind_tables() -> Iterator[Hidden]:
    """Tables invented before the sampler was tried on any of them: ten ways to be fooled."""
    odd = [[0.9, 0.1], [0.15, 0.85], [0.15, 0.85]]  # which of three values is the odd one: three modes
    yield drawn_table("odd one of three, 180 rows", 901, {(0, 1, 2): 60}, [odd])
    yield _two_sides("two attributes that mirror alone, 120 rows", 902, 28, 28, 4)
    yield _sets("two sets that flip alone, 120 rows", 903, 4, 60, 0.9)
    yield _sets("three sets that flip alone, 36 rows", 904, 6, 18, 0.9)
    sure = [[[1.0, 0.0], [0.02, 0.98]], [[0.8, 0.2], [0.2, 0.8]]]
    yield drawn_table("near-deterministic beside symmetric, 200 rows", 905, {(0, 1): 94, (0, 0, 1): 4}, sure)
    yield drawn_table(
        "beta 0.001, three codes, 90 rows", 906, {(0, 1): 45}, [[[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]], 0.001
    )
    yield drawn_table("groups of four, 2900 rows", 907, {(0, 0, 1, 1): 725}, [_binary(0.7)])
    half = {(0, 1): 20, (0, 1, 2): 8, (2, 3): 12, (0, 1, 3, 3): 4}
    yield drawn_table(
        "four values, two alike, 104 rows", 908, half, [[[0.85, 0.15], [0.15, 0.85], [0.6, 0.4], [0.3, 0.7]]]
    )
    alike = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]]
    yield drawn_table("three values, two alike, 32 rows", 909, {(0, 1): 7, (0, 1, 2): 6}, [alike])
    conflict = {(0, 1): 60, (0, 0, 1): 10, (0, 1, 1): 9}
    yield drawn_table("weights of 2900 rows, tilted", 910, {(0, 1): 1417, (0, 0, 1): 22}, [_binary(0.55, 0.45)])
    yield drawn_table("two attributes that disagree, 177 rows", 911, conflict, [_binary(0.8, 0.25), _binary(0.25, 0.8)])


def odd_tables() -> Iterator[Hidden]:
    """Ten more, of other families than all before, again invented before the sampler was tried on any of them."""
    pairs = [[0.9, 0.1], [0.1, 0.9], [0.85, 0.15], [0.2, 0.8]]  # 0 and 1 trade places, and so do 2 and 3: four modes
    yield drawn_table("two pairs that trade places alone, 120 rows", 921, {(0, 1): 30, (2, 3): 30}, [pairs])
    wide = [[0.8, 0.15, 0.05], [0.05, 0.15, 0.8]]
    yield drawn_table("tilted by one bucket, 203 rows", 922, {(0, 1): 100, (0, 0, 1): 1}, [wide])
    a, b, c, d = (0, 0), (1, 1), (1, 0), (0, 1)
    rare: list[Group] = [((a, b), (0, 1))] * 50 + [((a, c), (0, 1))] * 8 + [((b, d), (0, 1))] * 8
    rare += [((a, a, b), (0, 0, 1))] * 2 + [((a, b, b), (0, 0, 1))]
    yield Hidden("a mode of 0.9%, 141 rows", tuple(rare), (2, 2))
    of_pair = [[[0.85, 0.15], [0.15, 0.85], [0.5, 0.5]], [[0.7, 0.3], [0.3, 0.7], [0.1, 0.9]]]
    shapes = {(0, 1, 2): 12, (0, 1): 6, (0, 1, 2, 2): 3}
    yield drawn_table("three values, a pair alike, two attributes, 60 rows", 924, shapes, of_pair)
    yield _separable("nearly separable by seven attributes, 92 rows", 7)
    ramp = [[0.7, 0.3], [0.5, 0.5], [0.3, 0.7]]
    yield drawn_table("three values, 3000 rows", 926, {(0, 1, 2): 1000}, [ramp])
    few = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.05, 0.05, 0.9]]
    yield drawn_table("beta 0.05, a rare value, 66 rows", 927, {(0, 1): 30, (0, 2): 3}, [few], 0.05)
    sizes = {(0, 1): 30, (0, 0, 1, 1): 4, (0,) * 8 + (1,) * 4: 1, (0,) * 3 + (1,) * 5: 1}
    yield drawn_table("buckets of 2 to 12, 96 rows", 928, sizes, [_binary(0.85), _binary(0.7)])
    some = {(0, 1): 25, (0, WITHHELD): 6, (WITHHELD, 1): 5, (0, 1, WITHHELD): 4}
    yield drawn_table("values withheld, 84 rows", 929, some, [_binary(0.85, 0.2)])
    torn: list[Group] = [((a, b), (0, 1))] * 40 + [((c, d), (0, 1))] * 12
    torn += [((a, a, b), (0, 0, 1))] * 9 + [((a, a, b), (0, 1, 1))] * 9 + [((c, c, d), (0, 0, 1))] * 3
    yield Hidden("buckets that contradict each other, 167 rows", tuple(torn), (2, 2))


def _separable(name: str, attributes: int) -> Hidden:
    """Cases and controls differ in every attribute, but for the last of some."""
    a, b = (0,) * attributes, (1,) * attributes
    c, d = (*a[1:], 1), (*b[1:], 0)
    pairs = {(a, b): 18, (a, d): 5, (b, c): 5, (c, d): 4, (a, c): 3, (b, d): 3}
    groups: list[Group] = [(cells, (0, 1)) for cells, times in pairs.items() for _ in range(times)]
    groups += [((a, c, b), (0, 0, 1))] * 3 + [((a, b, d), (0, 0, 1))] + [((c, d, b, b), (0, 0, 1, 1))]
    return Hidden(name, tuple(groups), (2,) * attributes)


def _two_sides(name: str, seed: int, first: int, second: int, ties: int) -> Hidden:
    """Case and control differ in one attribute in some buckets, in the other in others, in both in few."""
    random = np.random.default_rng(seed)
    groups: list[Group] = []
    for number in range(first + second + ties):
        shown = number % 2
        a, b = ((0, 1) if random.random() < 0.9 else (1, 0)), ((0, 1) if random.random() < 0.9 else (1, 0))
        if number < first:
            b = (shown, shown)
        elif number < first + second:
            a = (shown, shown)
        groups.append((((a[0], b[0]), (a[1], b[1])), (0, 1)))
    return Hidden(name, tuple(groups), (2, 2))


def _sets(name: str, seed: int, codes: int, buckets: int, strength: float) -> Hidden:
    """Case and control in buckets that show codes 0 and 1, or 2 and 3, …: each set of buckets has its own mirror."""
    random = np.random.default_rng(seed)
    groups: list[Group] = []
    for number in range(buckets):
        low = number % (codes // 2) * 2
        case = [low, low + 1] if random.random() < strength else [low + 1, low]
        groups.append((((case[0],), (case[1],)), (0, 1)))
    return Hidden(name, tuple(groups), (codes,))
