"""Releases of any shape with an exactly known posterior: blocks, wide cells, known parts, any prior.

Groups of one kind differ only in how many of them are matched in each way: every division is listed, as by
`mode_oracles.by_kinds`, but of cells that are sets of codes, in any number of blocks. Nothing is shared with the
package.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import comb, log, prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tests.enumeration import published
from tests.small import made_release
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.belief import Known, Prior, Targets
from unveil.data.regions import Regions
from unveil.data.release import Release

Floats = NDArray[np.float64]
Codes = tuple[int, ...]  # of one cell: what it may be
Cells = tuple[tuple[Codes, ...], ...]  # of one block of a group: rows, each with the codes of its attributes
Kinds = Mapping[tuple[Cells, ...], int]  # how many groups look so
Row = tuple[int, ...]  # a code of each attribute, the sensitive one last
CHUNK = 1 << 16


@dataclass(frozen=True)
class Shape:
    """Groups by what they look like, and who is asked about."""

    name: str
    codes: tuple[int, ...]  # of each attribute, the sensitive one last
    blocks: tuple[tuple[int, ...], ...]
    kinds: Kinds
    alpha: float = 1.0
    beta: float = 1.0
    known: tuple[int, ...] | None = None  # which attributes a reader knows; None: all but the sensitive one
    group_known: bool = False
    truth: tuple[Row, ...] = field(default=(), compare=False)

    @property
    def asked(self) -> int:
        return len(self.codes) - 1

    @property
    def states(self) -> float:
        """How many divisions there are."""
        return prod(float(comb(n + (w := len(ways(kind, self.blocks))) - 1, w - 1)) for kind, n in self.kinds.items())

    @property
    def rows(self) -> int:
        return sum(len(kind[0]) * times for kind, times in self.kinds.items())

    def people(self) -> list[tuple[int, Row]]:
        """Whom a reader can tell apart: (kind or 0, what is known)."""
        known = tuple(range(self.asked)) if self.known is None else self.known
        found = set()
        for number, kind in enumerate(self.kinds):
            for rows in ways(kind, self.blocks):
                found |= {(number if self.group_known else 0, tuple(row[a] for a in known)) for row in rows}
        return sorted(found)

    def release(self) -> tuple[Release, list[int]]:
        """The release, and a group of each kind."""
        last = len(self.codes) - 1
        attributes = [
            Attribute(
                "s" if a == last else f"a{a}",
                Role.SENSITIVE if a == last else Role.QUASI_IDENTIFIER,
                Kind.CATEGORICAL,
                tuple(map(str, range(n))),
            )
            for a, n in enumerate(self.codes)
        ]
        parts, group = [[] for _ in self.blocks], 0  # type: ignore[var-annotated]
        for kind, times in self.kinds.items():
            for _ in range(times):
                for part, cells in zip(parts, kind, strict=True):
                    part += [(group, *([str(c) for c in cell] for cell in row)) for row in cells]
                group += 1
        release = made_release(attributes, [(block, rows) for block, rows in zip(self.blocks, parts, strict=True)])
        looks = [
            [
                sorted(tuple(cell[a] for a in block) for cell in published(release, number, g))
                for number, block in enumerate(self.blocks)
            ]
            for g in range(release.groups if self.group_known else 0)
        ]
        wanted = [[sorted(cells) for cells in kind] for kind in self.kinds]
        return release, [looks.index(kind) for kind in wanted] if self.group_known else []

    def targets(self, example: Sequence[int]) -> Targets:
        people = self.people()
        known = tuple(range(self.asked)) if self.known is None else self.known
        columns = np.array([what for _, what in people]).reshape(len(people), -1).T
        of = {a: Known(Regions.singles(self.codes[a]), column) for a, column in zip(known, columns, strict=True)}
        group = np.array([example[number] for number, _ in people]) if self.group_known else None
        return Targets(self.asked, of, len(people), group)

    def prior(self) -> Prior:
        values = self.codes[-1]
        beta = {a: np.full((values, n), self.beta) for a, n in enumerate(self.codes[:-1])}
        return Prior(np.full(values, self.alpha), beta)

    def starts(self) -> list[dict[int, Floats]]:
        """As an audit hands them: the shares of the table, and with two values in each other's place."""
        counts = {a: np.full((self.codes[-1], n), 0.5) for a, n in enumerate(self.codes[:-1])}
        for row in self.truth:
            for a, code in enumerate(row[:-1]):
                counts[a][row[-1], code] += 1
        truth = {a: c / c.sum(axis=1, keepdims=True) for a, c in counts.items()}
        order = [1, 0, *range(2, self.codes[-1])]
        return [truth, {a: shares[order] for a, shares in truth.items()}]


def ways(kind: tuple[Cells, ...], blocks: Sequence[Sequence[int]]) -> dict[tuple[Row, ...], int]:
    """Every way to lay the blocks of a group beside each other and to choose codes: rows, and how often they arise."""
    width = sum(len(block) for block in blocks)
    found: dict[tuple[tuple[Row, ...], tuple[tuple[object, ...], ...]], int]
    found = {((), tuple(tuple(sorted(cells)) for cells in kind[1:])): 1}
    for first in kind[0]:
        grown: dict[tuple[tuple[Row, ...], tuple[tuple[object, ...], ...]], int] = {}
        for (rows, left), times in found.items():
            options = [Counter(cells).items() for cells in left]
            for picked in product(*options):
                rest = []
                for cells, (cell, _) in zip(left, picked, strict=True):
                    others = list(cells)
                    others.remove(cell)
                    rest.append(tuple(others))
                often = times * prod(count for _, count in picked)
                cells = [first, *(cell for cell, _ in picked)]
                for choice in product(*(codes for cell in cells for codes in cell)):  # type: ignore[union-attr]
                    row = [0] * width
                    for a, code in zip((a for block in blocks for a in block), choice, strict=True):
                        row[a] = code
                    key = tuple(sorted((*rows, tuple(row)))), tuple(rest)
                    grown[key] = grown.get(key, 0) + often
        found = grown
    total: dict[tuple[Row, ...], int] = {}
    for (rows, _), times in found.items():
        total[rows] = total.get(rows, 0) + times
    return total


def exact(shape: Shape) -> tuple[Floats, Floats]:
    """(people, values) what learner and attacker believe of whom a reader can tell apart."""
    values, people = shape.codes[-1], shape.people()
    known = tuple(range(shape.asked)) if shape.known is None else shape.known
    places = [(a, v) for a, n in enumerate(shape.codes[:-1]) for v in range(n)]
    weight, count, held_of, own = [], [], [], []
    for number, (kind, times) in enumerate(shape.kinds.items()):
        laid = ways(kind, shape.blocks)
        divided = np.array(list(_divisions(times, len(laid))))
        weight.append(gammaln(times + 1) - gammaln(divided + 1).sum(axis=1) + divided @ [log(n) for n in laid.values()])
        held_of.append(divided @ np.array([[sum(r[-1] == s for r in rows) for s in range(values)] for rows in laid]))
        coded = [
            [[sum(r[-1] == s and r[a] == v for r in rows) for a, v in places] for s in range(values)] for rows in laid
        ]
        count.append(np.tensordot(divided, np.array(coded), axes=1))
        mine = np.zeros((len(laid), len(people), values))
        for w, rows in enumerate(laid):
            for p, (where, what) in enumerate(people):
                if shape.group_known and where != number:
                    continue
                for row in rows:
                    mine[w, p, row[-1]] += tuple(row[a] for a in known) == what
        own.append(np.tensordot(divided, mine, axes=1))
    top, total, sums = -np.inf, 0.0, np.zeros((2, len(people), values))
    sizes = [len(w) for w in weight]
    assert prod(sizes) < 3e7, f"{shape.name}: {prod(sizes):.0e} states"
    for begin in range(0, prod(sizes), CHUNK):
        which = np.unravel_index(np.arange(begin, min(begin + CHUNK, prod(sizes))), sizes)
        log_weight, counts, held, rows_of = (
            np.sum([one[at] for one, at in zip(of, which, strict=True)], axis=0) for of in (weight, count, held_of, own)
        )
        log_weight = log_weight + gammaln(shape.alpha + held).sum(axis=1)
        log_weight = log_weight + gammaln(shape.beta + counts).sum(axis=(1, 2))
        for n in shape.codes[:-1]:
            log_weight = log_weight - gammaln(shape.beta * n + held).sum(axis=1)
        share = np.empty((len(log_weight), len(people), values))
        for p, (_, what) in enumerate(people):
            share[:, p] = shape.alpha + held
            for a, v in zip(known, what, strict=True):
                share[:, p] *= (shape.beta + counts[:, :, places.index((a, v))]) / (shape.beta * shape.codes[a] + held)
        most = max(top, float(log_weight.max()))
        scale, each = np.exp(top - most), np.exp(log_weight - most)
        sums = sums * scale + np.tensordot(each, np.stack([share, rows_of], axis=1), axes=1)
        total, top = total * scale + each.sum(), most
    learner, attacker = sums / total
    return learner / learner.sum(axis=1, keepdims=True), attacker / attacker.sum(axis=1, keepdims=True)


def _divisions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _divisions(total - first, parts - 1):
            yield (first, *rest)


def bucket(cells: Sequence[Sequence[int]], values: Sequence[int], any_value: int = 0) -> tuple[Cells, ...]:
    """Cells in one block, sensitive values in the other; a value below 0 is withheld, of `any_value` that may be."""
    shown = tuple((tuple(range(any_value)) if v < 0 else (v,),) for v in values)
    return tuple(tuple((c,) for c in cell) for cell in cells), shown


def _laid(kind: tuple[Cells, ...], blocks: Sequence[Sequence[int]], times: int, flipped: int = 0) -> list[Row]:
    """Rows in their written order; of the last `flipped` groups the last block the other way round."""
    rows = []
    for number in range(times):
        parts = [*kind[:-1], kind[-1][::-1] if number >= times - flipped else kind[-1]]
        for cells in zip(*parts, strict=True):
            row = {
                a: codes[0]
                for block, cell in zip(blocks, cells, strict=True)
                for a, codes in zip(block, cell, strict=True)
            }
            rows.append(tuple(row[a] for a in sorted(row)))
    return rows


def shape(
    name: str, codes: tuple[int, ...], blocks: tuple[tuple[int, ...], ...], *some: tuple[tuple[Cells, ...], int, int],
    **options: object,
) -> Shape:  # fmt: skip
    truth = [row for kind, times, flipped in some for row in _laid(kind, blocks, times, flipped)]
    return Shape(name, codes, blocks, {kind: times for kind, times, _ in some}, truth=tuple(truth), **options)  # type: ignore[arg-type]


def shapes() -> Iterator[Shape]:
    """Invented before the sampler was tried on any of them."""
    two = ((0,), (1,))
    three = ((0, 1), (2,))
    # Three values, two sets of buckets with codes of their own: each set can be read in six ways.
    yield shape(
        "three values trade places in two sets", (6, 3), two,
        (bucket([[0], [1], [2]], [0, 1, 2]), 8, 2), (bucket([[3], [4], [5]], [0, 1, 2]), 8, 2),
        (bucket([[0], [0], [1]], [0, 0, 1]), 1, 0), (bucket([[3], [4]], [0, 1]), 2, 0),
    )  # fmt: skip
    # Two halves that know nothing of each other, one nearly balanced, one tilted.
    yield shape(
        "two halves, each with two readings", (2, 2, 4), three,
        (bucket([[0, 0], [1, 1]], [0, 1]), 30, 6), (bucket([[0, 1], [1, 0]], [0, 1]), 6, 2),
        (bucket([[0, 0], [0, 0], [1, 1]], [0, 0, 1]), 2, 0),
        (bucket([[0, 0], [1, 1]], [2, 3]), 24, 4), (bucket([[1, 0], [0, 0], [1, 1]], [2, 2, 3]), 4, 0),
    )  # fmt: skip
    # Three blocks: which code goes with the value is open in each attribute alone, and the two go together or not.
    sliced = ((0,), (1,), (2,))
    pair = (((0,),), ((1,),))
    same = (((0,),), ((0,),))
    yield shape(
        "sliced into three blocks", (2, 2, 2), sliced, ((pair, pair, pair), 30, 0), ((pair, same, pair), 5, 2),
        ((same, pair, pair), 5, 2), (((*pair, ((0,),)), (*pair, ((0,),)), (*pair, ((0,),))), 2, 0),
    )  # fmt: skip
    yield shape(
        "sliced into three blocks, no tilt", (2, 2, 2), sliced, ((pair, pair, pair), 60, 0),
        ((pair, same, pair), 10, 2), ((same, pair, pair), 10, 3),
    )  # fmt: skip
    # People whose value is withheld, alone in their groups: a mixture, held to its names by few buckets.
    alone = [(bucket([[x, y]], [-1], 2), n, 0) for x, y, n in ((0, 0, 14), (1, 1, 12), (0, 1, 5), (1, 0, 5))]
    yield shape("values withheld from most", (2, 2, 2), three, (bucket([[0, 0], [1, 1]], [0, 1]), 5, 1), *alone)
    yield shape("values withheld from all but two pairs", (2, 2, 2), three,
                 (bucket([[0, 0], [1, 1]], [0, 1]), 2, 0), *alone, beta=0.5)  # fmt: skip
    # The reader knows one of two attributes, and the other one carries the evidence of which reading is right.
    known = [(bucket([[0, 0], [1, 1]], [0, 1]), 40, 8), (bucket([[0, 1], [1, 0]], [0, 1]), 20, 9),
             (bucket([[0, 0], [1, 0], [0, 1]], [0, 0, 1]), 3, 1)]  # fmt: skip
    for which in ((0,), (1,)):
        yield shape(f"one attribute known, a{which[0]}", (2, 2, 2), three, *known, known=which)
    # Tiny pseudo-counts of the values, and a value that nobody need have.
    yield shape(
        "tiny alpha, a value that may be absent", (2, 2, 3), three, (bucket([[0, 0], [1, 1]], [0, 1]), 10, 2),
        (bucket([[0, 0], [1, 1]], [0, -1], 3), 6, 0), (bucket([[0, 1]], [-1], 3), 5, 0),
        (bucket([[1, 0]], [-1], 3), 5, 0), alpha=0.01,
    )  # fmt: skip
    # Large buckets, more than can be matched at once, beside pairs that say which way round.
    half = [[0]] * 12 + [[1]] * 12 + [[2]] * 12
    wide = bucket(half, [0] * 18 + [1] * 18)
    yield shape("large buckets", (3, 2), two, (wide, 2, 0), (bucket([[0], [2]], [0, 1]), 6, 1))
    yield shape("large buckets, both ways alike", (3, 2), two, (wide, 2, 0), (bucket([[0], [2]], [0, 1]), 6, 3))
    big = bucket([[0]] * 60 + [[1]] * 60, [0] * 60 + [1] * 60)
    yield shape("buckets of 120", (2, 2), two, (big, 3, 0), (bucket([[0], [1]], [0, 1]), 10, 3), beta=0.5)
    # Nearly everybody is settled; eight people with a rare code are not.
    yield shape(
        "two readings of a rare code", (2, 3, 2), three,
        (bucket([[0, 0]], [0]), 300, 0), (bucket([[1, 0]], [1]), 300, 0),
        (bucket([[0, 1], [0, 2]], [0, 1]), 9, 2), (bucket([[1, 1], [1, 2]], [0, 1]), 4, 2),
        (bucket([[0, 1], [1, 2]], [0, 1]), 1, 0), (bucket([[0, 2], [1, 1]], [0, 1]), 1, 0),
    )  # fmt: skip
    # Codes that every bucket sets against each other, in rings of odd length: no reading fits all.
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (4, 5), (5, 6), (6, 4), (6, 7), (7, 8), (8, 6)]
    edges += [(0, 3), (1, 5), (7, 3)]
    yield shape("rings of odd length", (9, 2), two, *((bucket([[x], [y]], [0, 1]), 1, 0) for x, y in edges), beta=0.05)
    twice = [(bucket([[x], [y]], [0, 1]), 2, i % 2) for i, (x, y) in enumerate(edges[:10])]
    yield shape("rings of odd length, twice", (9, 2), two, *twice, beta=0.1)
    # The sensitive value beside one attribute, the other in a block of its own; everybody's group is known.
    beside = ((0,), (1, 2))
    yield shape(
        "sliced beside the value, groups known", (3, 2, 2), beside,
        ((((( 0,),), ((1,),)), (((0,), (0,)), ((1,), (1,)))), 14, 2),
        (((((1,),), ((2,),)), (((0,), (1,)), ((1,), (0,)))), 12, 5),
        (((((0,),), ((2,),)), (((0,), (0,)), ((0,), (1,)))), 10, 3),
        (((((0,),), ((0,),), ((1,),)), (((0,), (0,)), ((1,), (1,)), ((1,), (0,)))), 3, 0),
        group_known=True,
    )  # fmt: skip
    # Wide cells that overlap in a ring, linked to the value.
    linked = ((0, 1),)
    for beta in (0.05, 0.3, 0.5, 0.7, 1.0):
        ring = [((((c, (c + 1) % 4), (s,)),),) for s in (0, 1) for c in range(4)]
        times = (9, 7, 8, 6, 3, 8, 2, 9)
        yield shape(f"cells that overlap in a ring, beta {beta}", (4, 2), linked,
                     *((kind, n, 0) for kind, n in zip(ring, times, strict=True)), beta=beta)  # fmt: skip
    # The same with hidden links: wide cells in one block, values in the other.
    hidden = [((((( 0, 1),), ((2, 3),)), (((0,),), ((1,),)))), (((((1, 2),), ((3, 0),)), (((0,),), ((1,),)))),
              (((((0, 1),), ((1, 2),)), (((0,),), ((1,),))))]  # fmt: skip
    for beta in (0.2, 0.6, 1.0):
        yield shape(f"cells that overlap in buckets, beta {beta}", (4, 2), two,
                     (hidden[0], 4, 1), (hidden[1], 3, 1), (hidden[2], 2, 0), beta=beta)  # fmt: skip
