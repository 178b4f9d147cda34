"""Fellegi and Sunter where cells are sets: people agree with cells that may hold their value, the narrower the more.

A pair's level on an attribute is 0 where the value lies outside the cell; else the higher, the fewer people lie in the
cell. Published sets hold the truth, so links never have level 0, and links show the other levels as often as rows do:
m is known without being told any link.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import row_numbers
from unveil.errors import NotApplicable
from unveil.risk.linkage.links import Links
from unveil.risk.linkage.probabilistic import STILL, LinkageRule, PatternModel
from unveil.risk.linkage.published import Published
from unveil.risk.linkage.register import Register

__all__ = [
    "AgreementLevels",
    "LevelAgreement",
    "agreement_levels",
    "level_counts",
    "levels_of_rows",
    "link_by_levels",
    "own_levels",
]

CUTS = ((1 / 16, 1 / 4), (1 / 8,), ())  # shares of people up to which a cell is narrow, middling; the first that fits
MOST_PATTERNS = 1 << 16
MOST_ENTRIES = 20_000_000  # of a table of values and cells
MOST_PAIRS = 400_000_000  # distinct people times distinct cells
AT_ONCE = 4_000_000  # pairs looked at together
LEAST = 1e-9
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class AgreementLevels:
    """People and published cells, equal people taken together, and the level of each value in each cell."""

    names: tuple[str, ...]
    bounds: tuple[tuple[float, ...], ...]  # per attribute: for level 1, 2, …: the largest share of people in a cell
    level: tuple[NDArray[np.int8], ...]  # per attribute: (known values, published cells of it); -1 = not known
    known: Codes  # (distinct people, attributes) the known value
    cell: Codes  # (cells, attributes) the published cell of the attribute
    row: Codes  # (cells,) the first distinct row that shows it
    count: Codes  # (cells,) rows
    of_person: Codes  # (people,)
    own: tuple[Codes, Codes, Codes] | None  # (people,) group; (entries,) group and cell of each, by group

    @property
    def shape(self) -> tuple[int, ...]:
        """Levels of each attribute, level 0 among them."""
        return tuple(len(b) + 1 for b in self.bounds)


@dataclass(frozen=True, slots=True, eq=False)
class LevelAgreement(PatternModel):
    """How often links, and other pairs, show each level of each attribute."""

    m: tuple[Floats, ...]  # per attribute: (levels,)
    u: tuple[Floats, ...]
    share: float  # of pairs that are links
    rounds: int = 0  # nothing is estimated
    converged: bool = True

    @staticmethod
    def of_patterns(p: Sequence[Floats]) -> Floats:
        found = np.ones(1)
        for one in p:
            found = np.outer(one, found).ravel()
        return np.clip(found, 1e-300, None)

    def parameters(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """By attribute: agreeing at all, and each level."""
        return [
            {
                "attribute": name,
                "m": float(1 - m[0]),
                "u": float(1 - u[0]),
                "levels": [{"m": float(a), "u": float(b)} for a, b in zip(m[1:], u[1:], strict=True)],
            }
            for name, m, u in zip(names, self.m, self.u, strict=True)
        ]


def agreement_levels(published: Published, held: Register) -> AgreementLevels:
    """Compare people with truthful cells. Levels are as many as their patterns allow."""
    if published.count is None or published.numbers or not published.truthful:
        raise NotApplicable("levels by the size of a cell are for releases that publish sets")
    names = tuple(a.name for a in published.attributes)
    if 2 ** len(names) > MOST_PATTERNS:
        raise NotApplicable(f"{len(names)} attributes have too many patterns; name at most 16 with --known")
    known = [held.known[name] for name in names]
    used = [np.unique(k.of_target, return_inverse=True) for k in known]
    inside = []
    for name, k, (regions, _) in zip(names, known, used, strict=True):
        cells = published.regions[name][0]
        if len(regions) * max(len(cells), k.regions.codes) > MOST_ENTRIES:
            raise NotApplicable(f"{name}: too many values and cells to compare; leave it out of --known")
        inside.append(_meet(k.regions.take(regions), cells))
    unknown = [k.regions.whole[r] & (k.regions.codes > 1) for k, (r, _) in zip(known, used, strict=True)]
    shares = []
    for (_, number), fits, lost in zip(used, inside, unknown, strict=True):
        times = np.where(lost, 0, np.bincount(number))
        shares.append(times @ fits / max(int(times.sum()), 1))
    of_row = row_numbers([published.regions[name][1] for name in names])
    first = np.unique(of_row, return_index=True)[1]
    cell = np.stack([published.regions[name][1][first] for name in names], axis=1)
    count = np.bincount(of_row, weights=published.count).astype(np.int64)
    shown = [np.unique(column) for column in cell.T]
    for cuts in CUTS:
        ends = [_bounds(share[mine], cuts) for share, mine in zip(shares, shown, strict=True)]
        if prod(len(e) + 1 for e in ends) <= MOST_PATTERNS:
            break
    level = []
    for fits, lost, share, end in zip(inside, unknown, shares, ends, strict=True):
        place = len(end) - np.searchsorted(np.array(end[::-1]), share - 1e-12)  # the widest is level 1
        table = np.where(fits, np.clip(place, 1, len(end))[None], 0).astype(np.int8)
        table[lost] = -1
        level.append(table)
    person = np.stack([number for _, number in used], axis=1)
    of_person = row_numbers(list(person.T))
    distinct = person[np.unique(of_person, return_index=True)[1]]
    if len(distinct) * len(cell) > MOST_PAIRS:
        raise NotApplicable(
            f"{len(distinct):,} distinct people times {len(cell):,} distinct cells are too many pairs; "
            "name fewer attributes with --known"
        )
    own = _own(published, held, of_row)
    return AgreementLevels(names, tuple(ends), tuple(level), distinct, cell, first, count, of_person, own)


def level_counts(files: AgreementLevels) -> NDArray[np.int64]:
    """(patterns,) pairs of a person and a row with exactly each; they add up to people times rows."""
    times = np.bincount(files.of_person).astype(np.float64)
    found = np.zeros(prod(files.shape))
    for people, pattern in _chunks(files):
        weight = times[people, None] * files.count[None]
        found += np.bincount(pattern.ravel(), weights=weight.ravel(), minlength=len(found))
    return np.rint(found).astype(np.int64)


def levels_of_rows(files: AgreementLevels, counts: NDArray[np.integer]) -> LevelAgreement:
    """m as rows show the levels, for a row is its own person's; u of all other pairs. Half a pair is added to each."""
    rows, people = float(files.count.sum()), len(files.of_person)
    links = min(float(people), rows)
    m, u = [], []
    for a, share in enumerate(_margins(counts, files.shape)):
        mine = files.level[a].max(axis=0)  # a cell has one level for all it holds
        shown = np.bincount(mine[files.cell[:, a]].clip(0), weights=files.count, minlength=len(share))
        shown[0] = 0.0
        size = len(share)
        of_links = shown / max(shown.sum(), 1.0)
        m.append((links * of_links + 0.5) / (links + size / 2))
        others = np.maximum(share * counts.sum() - links * of_links, 0.0)
        u.append((others + 0.5) / (others.sum() + size / 2))
    return LevelAgreement(tuple(m), tuple(u), links / (people * rows))


def link_by_levels(files: AgreementLevels, model: LevelAgreement, classes: LinkageRule) -> Links:
    """Each person's heaviest rows, as `link_by_patterns` has them.

    Success is known where the groups of people are, or where nobody fits cells of unlike weight; else `chance` is None.
    """
    people = len(files.known)
    best, next_best = np.empty(people), np.empty(people)
    size, fits = np.empty(people, dtype=np.int64), np.empty(people, dtype=np.int64)
    cell, pattern_found = np.empty(people, dtype=np.int64), np.empty(people, dtype=np.int64)
    clear = np.empty(people, dtype=bool)
    absent = _absent(files)
    patterns = np.arange(prod(files.shape))
    weights = {which: _without(model, which).weights() for which in np.unique(absent).tolist()}
    held = {which: _all_fit(patterns, files.shape, which) for which in weights}
    for mine, pattern in _chunks(files):
        for which in np.unique(absent[mine]).tolist():
            part = np.flatnonzero(absent[mine] == which)
            who, shown = mine[part], pattern[part]
            score = weights[which][shown]
            best[who] = score.max(axis=1)
            top = score >= best[who, None] - STILL
            size[who] = top @ files.count
            cell[who] = score.argmax(axis=1)
            pattern_found[who] = shown[np.arange(len(who)), cell[who]]
            next_best[who] = np.where(top, -np.inf, score).max(axis=1)
            inside = held[which][shown]
            fits[who] = inside @ files.count
            clear[who] = (inside == top).all(axis=1) | (fits[who] == 0)
    each = files.of_person
    chance = _chances(files, weights, absent, best, size)
    if chance is None and clear.all():
        chance = np.where(fits > 0, 1 / size, 0.0)[each]
    claim = (size == 1) & (classes.of_pattern[pattern_found] > 0)
    margin = np.where(size > 1, 0.0, best - next_best)
    return Links(files.row[cell[each]], size[each], best[each], claim[each], chance, margin[each])


def own_levels(files: AgreementLevels) -> NDArray[np.int64] | None:
    """(people,) the pattern of each person and their own cell, -1 = not published; None = nobody says."""
    if files.own is None:
        return None
    person, entry, _ = _entries(files)
    pattern = _pattern_of(files, files.of_person[person], entry)
    found = np.full(len(files.of_person), -1, dtype=np.int64)
    found[person[::-1]] = pattern[::-1]
    return found


def _meet(known: Any, cells: Any) -> NDArray[np.bool_]:
    """(known values, cells) whether a cell holds what is known, or some of it."""
    member = np.zeros((known.codes, len(known)), dtype=np.int32)
    for i in range(len(known)):
        member[known.members(i), i] = 1
    return np.asarray(cells.totals(member).T > 0)


def _bounds(share: Floats, cuts: Sequence[float]) -> tuple[float, ...]:
    """The largest share of each level that occurs, the widest first."""
    ends = [*cuts, np.inf]
    place = np.searchsorted(np.array(cuts), share - 1e-12) if cuts else np.zeros(len(share), dtype=np.int64)
    return tuple(float(min(ends[i], 1.0)) for i in sorted(set(place.tolist()), reverse=True))


def _chunks(files: AgreementLevels) -> Iterator[tuple[Codes, NDArray[np.int32]]]:
    """Some distinct people at a time, and (people, cells) their patterns; what is unknown counts as level 0."""
    steps = np.cumprod((1, *files.shape[:-1]))
    wide = [
        (table.clip(0).astype(np.int32) * step)[:, files.cell[:, a]]
        for a, (table, step) in enumerate(zip(files.level, steps, strict=True))
    ]
    few = max(1, AT_ONCE // max(len(files.cell), 1))
    for begin in range(0, len(files.known), few):
        people = np.arange(begin, min(begin + few, len(files.known)))
        pattern = np.zeros((len(people), len(files.cell)), dtype=np.int32)
        for a, table in enumerate(wide):
            pattern += table[files.known[people, a]]
        yield people, pattern


def _pattern_of(files: AgreementLevels, person: Codes, cell: Codes) -> Codes:
    """The pattern of each pair of a distinct person and a cell."""
    pattern, step = np.zeros(len(person), dtype=np.int64), 1
    for a, size in enumerate(files.shape):
        pattern += step * files.level[a][files.known[person, a], files.cell[cell, a]].clip(0).astype(np.int64)
        step *= size
    return pattern


def _margins(counts: NDArray[Any], shape: tuple[int, ...]) -> list[Floats]:
    """Per attribute: (levels,) the share of pairs that show each."""
    cube = np.asarray(counts, dtype=np.float64).reshape(shape[::-1])
    axes = tuple(range(len(shape)))
    total = max(float(cube.sum()), LEAST)
    return [cube.sum(axis=tuple(x for x in axes if x != len(shape) - 1 - a)) / total for a in axes]


def _absent(files: AgreementLevels) -> Codes:
    """(distinct people,) a bit for each attribute that is not known of them."""
    found = np.zeros(len(files.known), dtype=np.int64)
    for a, table in enumerate(files.level):
        found |= (table[files.known[:, a], 0] < 0).astype(np.int64) << a
    return found


def _without(model: LevelAgreement, absent: int) -> LevelAgreement:
    """Attributes that are unknown weigh nothing."""

    def even(p: tuple[Floats, ...]) -> tuple[Floats, ...]:
        return tuple(np.full(len(x), 1 / len(x)) if absent >> a & 1 else x for a, x in enumerate(p))

    return replace(model, m=even(model.m), u=even(model.u))


def _all_fit(patterns: Codes, shape: tuple[int, ...], absent: int) -> NDArray[np.bool_]:
    """(patterns,) whether no known attribute lies outside."""
    fits, step = np.ones(len(patterns), dtype=bool), 1
    for a, size in enumerate(shape):
        if not absent >> a & 1:
            fits &= patterns // step % size > 0
        step *= size
    return fits


def _own(published: Published, held: Register, of_row: Codes) -> tuple[Codes, Codes, Codes] | None:
    if published.assigned is None or held.row is None:
        return None
    group, of_entry, row = published.assigned
    pairs = np.unique(np.stack([of_entry, of_row[row]]), axis=1)
    return group[held.row], pairs[0], pairs[1]


def _entries(files: AgreementLevels) -> tuple[Codes, Codes, Floats]:
    """Person, cell and chance of each cell of a person's group that may be their own."""
    assert files.own is not None
    group, of_entry, cell = files.own
    first = np.searchsorted(of_entry, np.arange(int(max(group.max(), of_entry.max())) + 2))
    times = np.diff(first)[group]
    person = np.repeat(np.arange(len(group)), times)
    entry = cell[np.repeat(first[group] - np.append(0, np.cumsum(times)[:-1]), times) + np.arange(times.sum())]
    fits = np.ones(len(person), dtype=bool)
    for a, table in enumerate(files.level):
        fits &= table[files.known[files.of_person[person], a], files.cell[entry, a]] != 0
    person, entry = person[fits], entry[fits]
    weight = files.count[entry].astype(np.float64)
    return person, entry, weight / np.bincount(person, weights=weight, minlength=len(group))[person]


def _chances(
    files: AgreementLevels, weights: Mapping[int, Floats], absent: Codes, best: Floats, size: Codes
) -> Floats | None:
    """(people,) r(b)[true(b)], where it is said which group each person is in."""
    if files.own is None:
        return None
    person, entry, likely = _entries(files)
    who = files.of_person[person]
    pattern = _pattern_of(files, who, entry)
    score = np.empty(len(person))
    for which in weights:
        mine = absent[who] == which
        score[mine] = weights[which][pattern[mine]]
    right = np.where(score >= best[who] - STILL, likely / size[who], 0.0)
    return np.asarray(np.bincount(person, weights=right, minlength=len(files.of_person)), dtype=np.float64)
