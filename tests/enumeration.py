"""The oracle of every attacker: exact beliefs about small releases, by listing every world. Slow and obviously right.

Nothing is shared with the package: a release is only read. All numbers are fractions.

A **world** of a release keeps the published order of the rows of S's block (S is the attribute asked about): row j of a
group is the j-th cell of that block, with its own cells of every other block and one value from the region of each of
its cells. So a world is a choice of

- for each group and each block without S a permutation of the block's cells over the rows, equal cells *told apart*;
- for each row and attribute, S included, a code of the region of its cell.

Why telling equal cells apart is right: under the model rows are independent draws and f(t* | pi) is, up to a constant,
the sum over these permutations of prod over rows and attributes of pi(region). If a cell c shows n_c times in a group,
each way to lay distinct cells beside the rows is listed prod_c n_c! times, the same factor for all of them: it cancels.
Where cells of one group overlap ({1,2} and {2,3}), one cleartext table can be reached by several matchings and is
listed once for each; that, too, is right for a publisher who widened values at random without looking at more than the
region (test_enumeration.py draws every table and every widening to show it).

Knowledge of a target is a dict: position of an attribute -> its likelihoods e(v), one a code; an absent attribute is
unknown (e = 1). Other sensitive attributes are ordinary attributes, unknown unless the dict has them.
A prior is anything with `alpha` (values,) and `beta` {attribute: (values, codes)}: PseudoCounts, or unveil's Prior.
It may have `smooth` {attribute: (centres, codes)}: then each row has a centre, drawn by beta, and its value is drawn by
the centre's row. Centres are listed like everything else. The functions for linked releases do not know smoothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, wraps
from itertools import permutations, product
from math import prod
from operator import add
from typing import Any

from tests.small import made_release
from unveil.data.attribute import Attribute, Kind, Role
from unveil.data.release import Release

__all__ = [
    "PseudoCounts",
    "SmallRelease",
    "SmallTarget",
    "enumerate_attacker",
    "enumerate_fixed_attacker",
    "enumerate_fixed_learner",
    "enumerate_learner",
    "enumerate_learner_joint",
    "enumerate_random_worlds",
    "exactly",
    "group_worlds",
    "linked_attacker",
    "linked_learner_joint",
    "one_of",
    "pseudo_counts",
    "published",
    "small_releases",
    "uneven_pseudo_counts",
    "worlds",
    "written_release",
]

Number = int | Fraction
Knowledge = Mapping[int, Sequence[Number]]
Row = tuple[int, ...]  # a code for each attribute of the release
Counts = tuple[int, ...]  # how often each s, then for each other attribute each (s, code); see _Layout
Cell = Mapping[int, tuple[int, ...]]  # attribute -> codes of its region


MOST_REMEMBERED = 50


# Worlds


def published(release: Release, block: int, group: int) -> list[Cell]:
    """The cells of a block in a group in their published order, each as often as it is shown."""
    part = release.blocks[block]
    cells = []
    for entry in range(int(part.start[group]), int(part.start[group + 1])):
        numbers = part.cells[part.cell[entry]]
        cell = {
            a: tuple(int(code) for code in release.regions[a].members(int(number)))
            for a, number in zip(part.attributes, numbers, strict=True)
        }
        cells += [cell] * int(part.count[entry])
    return cells


def group_worlds(release: Release, asked: int, group: int) -> Iterator[tuple[Row, ...]]:
    """Every world of one group: its rows in the order of S's block. Equal worlds come as often as they can arise."""
    blocks = range(len(release.blocks))
    own = next(b for b in blocks if asked in release.blocks[b].attributes)
    anchor = published(release, own, group)
    others = [published(release, b, group) for b in blocks if b != own]
    attributes = range(len(release.attributes))
    for matching in product(*(permutations(cells) for cells in others)):
        rows = []
        for cells in zip(anchor, *matching, strict=True):
            region = {a: codes for cell in cells for a, codes in cell.items()}
            rows.append(list(product(*(region[a] for a in attributes))))
        yield from product(*rows)


def worlds(release: Release, asked: int) -> Iterator[tuple[tuple[Row, ...], ...]]:
    """Every world of the release, one tuple of rows a group."""
    yield from product(*(list(group_worlds(release, asked, group)) for group in range(release.groups)))


# What a world's weight depends on: its counts


class _Layout:
    """Where each count stands in a tuple of counts."""

    def __init__(self, release: Release, asked: int) -> None:
        self.asked = asked
        self.codes = [a.codes for a in release.attributes]
        self.values = self.codes[asked]
        self.others = [a for a in range(len(self.codes)) if a != asked]
        self.first: dict[int, int] = {}
        self.width = self.values
        for a in self.others:
            self.first[a] = self.width
            self.width += self.values * self.codes[a]

    def count(self, rows: Sequence[Row]) -> Counts:
        counts = [0] * self.width
        for row in rows:
            s = row[self.asked]
            counts[s] += 1
            for a in self.others:
                counts[self.first[a] + s * self.codes[a] + row[a]] += 1
        return tuple(counts)

    def of(self, counts: Counts, a: int, s: int) -> Counts:
        """How often attribute a takes each code beside s."""
        begin = self.first[a] + s * self.codes[a]
        return counts[begin : begin + self.codes[a]]


def _likelihood(row: Row, knowledge: Knowledge) -> Number:
    """How likely it is to know this of the person in this row."""
    return prod((e[row[a]] for a, e in knowledge.items()), start=1)


def _remembered(made: Callable[..., Any]) -> Callable[..., Any]:
    """The same answer for the same release, which has no hash, and the same rest."""
    known: dict[tuple[Any, ...], tuple[Release, Any]] = {}

    @wraps(made)
    def found(release: Release, *rest: Any) -> Any:
        key = id(release), *rest
        if key not in known:
            if len(known) == MOST_REMEMBERED:
                known.clear()
            known[key] = release, made(release, *rest)  # kept, so that no other release gets its id
        return known[key][1]

    return found


@dataclass(frozen=True)
class _Tally:
    """The worlds with the same counts: they have equal weight under every model here."""

    worlds: int  # how many there are
    rows: Mapping[tuple[int, Row], int]  # (group, row) -> how often it is there, all these worlds taken together


@_remembered
def _tally(release: Release, asked: int) -> dict[Counts, _Tally]:
    """Every world by its counts. Groups are put together one by one."""
    layout = _Layout(release, asked)
    total = {(0,) * layout.width: _Tally(1, {})}
    for number in range(release.groups):
        here: dict[Counts, tuple[int, Counter[tuple[int, Row]]]] = {}
        for rows in group_worlds(release, asked, number):
            counts = layout.count(rows)
            many, seen = here.get(counts, (0, Counter()))
            seen.update((number, row) for row in rows)
            here[counts] = (many + 1, seen)
        joined: dict[Counts, tuple[int, dict[tuple[int, Row], int]]] = {}
        for (counts, before), (more, (many, rows_here)) in product(total.items(), here.items()):
            both = tuple(map(add, counts, more))
            worlds_so_far, found = joined.get(both, (0, {}))
            for row, times in before.rows.items():
                found[row] = found.get(row, 0) + times * many
            for row, times in rows_here.items():
                found[row] = found.get(row, 0) + times * before.worlds
            joined[both] = (worlds_so_far + before.worlds * many, found)
        total = {counts: _Tally(many, found) for counts, (many, found) in joined.items()}
    return total


# Models


@dataclass(frozen=True)
class PseudoCounts:
    """Dirichlet priors: s ~ alpha, attribute a given s ~ beta[a][s]."""

    alpha: tuple[Number, ...]
    beta: Mapping[int, tuple[tuple[Number, ...], ...]]
    smooth: Mapping[int, tuple[tuple[Number, ...], ...]] = field(default_factory=dict)
    known: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)  # results, for hashing is slow

    def chance(self, a: int, s: int, counts: tuple[int, ...]) -> Fraction:
        """The probability of one sequence of values of the attribute beside s with these counts."""
        found = self.known.get((a, s, counts))
        if found is None:
            if a in self.smooth:
                found = _smoothed_multinomial(self.beta[a][s], self.smooth[a], counts)
            else:
                found = _dirichlet_multinomial(self.beta[a][s], counts)
            self.known[a, s, counts] = found
        return found  # type: ignore[no-any-return]

    def next_value(self, a: int, s: int, counts: tuple[int, ...]) -> list[Fraction]:
        """The probability of each value of one more row beside s."""
        found = self.known.get((a, s, counts, "next"))
        if found is None:
            if a in self.smooth:
                each = [tuple(n + (v == w) for w, n in enumerate(counts)) for v in range(len(counts))]
                found = [self.chance(a, s, more) / self.chance(a, s, counts) for more in each]
            else:
                beside = list(map(add, self.beta[a][s], counts))
                found = [Fraction(b) / sum(beside) for b in beside]
            self.known[a, s, counts, "next"] = found
        return found  # type: ignore[no-any-return]


def pseudo_counts(release: Release, asked: int, alpha: Number = 1, beta: Number = 1) -> PseudoCounts:
    """The same pseudo-count for every value."""
    layout = _Layout(release, asked)
    return PseudoCounts(
        (alpha,) * layout.values, {a: ((beta,) * layout.codes[a],) * layout.values for a in layout.others}
    )


def uneven_pseudo_counts(release: Release, asked: int) -> PseudoCounts:
    """An informative prior: different whole and half pseudo-counts, exact as floats too."""
    layout = _Layout(release, asked)
    alpha = tuple(Fraction(1 + 2 * s, 2) for s in range(layout.values))
    beta = {
        a: tuple(
            tuple(Fraction(1 + (2 * s + 3 * v + a) % 5, 2) for v in range(layout.codes[a]))
            for s in range(layout.values)
        )
        for a in layout.others
    }
    return PseudoCounts(alpha, beta)


def _exact(number: Any) -> Number:
    """A number as it is: fractions stay, floats become the fraction they are."""
    value = number if isinstance(number, int | Fraction) else Fraction(float(number))
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


def _as_pseudo_counts(prior: Any) -> PseudoCounts:
    if isinstance(prior, PseudoCounts):
        return prior
    beta, smooth = (
        {int(a): tuple(tuple(map(_exact, row)) for row in table) for a, table in tables.items()}
        for tables in (prior.beta, getattr(prior, "smooth", {}))
    )
    return PseudoCounts(tuple(map(_exact, prior.alpha)), beta, smooth)


@cache
def _rising(start: Number, steps: int) -> Number:
    """start (start + 1) ... (start + steps - 1)."""
    return prod((start + i for i in range(steps)), start=1)


@cache
def _dirichlet_multinomial(pseudo: tuple[Number, ...], counts: tuple[int, ...]) -> Fraction:
    """The probability of one sequence of draws with these counts, the distribution integrated out."""
    up = prod((_rising(p, n) for p, n in zip(pseudo, counts, strict=True)), start=1)
    return Fraction(up) / _rising(sum(pseudo), sum(counts))


@cache
def _smoothed_multinomial(
    pseudo: tuple[Number, ...], kernel: tuple[tuple[Number, ...], ...], counts: tuple[int, ...]
) -> Fraction:
    """The same where each draw is a centre whose row of the kernel gives the value: summed over all centres."""
    values = [v for v, n in enumerate(counts) for _ in range(n)]
    chance: dict[tuple[int, ...], Number] = {(0,) * len(pseudo): 1}  # of the values, by counts of centres
    for v in values:
        more: dict[tuple[int, ...], Number] = {}
        for before, weight in chance.items():
            for u, row in enumerate(kernel):
                if row[v]:
                    after = tuple(n + (u == w) for w, n in enumerate(before))
                    more[after] = more.get(after, 0) + weight * row[v]
        chance = more
    return sum((w * _dirichlet_multinomial(pseudo, c) for c, w in chance.items()), start=Fraction(0))


def _marginal_likelihood(layout: _Layout, prior: PseudoCounts) -> Callable[[Counts], Fraction]:
    """The probability of one cleartext table with these counts, pi and theta integrated out."""

    def weight(counts: Counts) -> Fraction:
        result = prior.known.get((layout.asked, counts))
        if result is None:
            result = _dirichlet_multinomial(prior.alpha, counts[: layout.values])
            for a in layout.others:
                for s in range(layout.values):
                    if counts[s]:
                        result *= prior.chance(a, s, layout.of(counts, a, s))
            prior.known[layout.asked, counts] = result
        return result  # type: ignore[no-any-return]

    return weight


@_remembered
def _equal_weights(release: Release, asked: int) -> "Weights":
    """Every world as likely as any other."""
    return _weigh(release, asked, lambda counts: Fraction(1))


@_remembered
def _given_weights(
    release: Release, asked: int, pi: tuple[Number, ...], theta: tuple[tuple[int, tuple[tuple[Number, ...], ...]], ...]
) -> "Weights":
    """Worlds by the probability of their cleartext table, pi and theta known."""
    layout = _Layout(release, asked)

    def weight(counts: Counts) -> Fraction:
        result = prod((p**n for p, n in zip(pi, counts[: layout.values], strict=True) if n), start=Fraction(1))
        for a, table in theta:
            for s in range(layout.values):
                powers = zip(table[s], layout.of(counts, a, s), strict=True)
                result *= prod((p**n for p, n in powers if n), start=Fraction(1))
        return result

    return _weigh(release, asked, weight)


# Beliefs


def _normalised(weights: Sequence[Number]) -> list[Fraction]:
    total = sum(weights)
    if not total:
        raise ValueError("the target fits no row")
    return [Fraction(w) / total for w in weights]


Weights = dict[tuple[int, Row], Fraction]  # (group, row) -> how often it is there, worlds weighted


def _weigh(release: Release, asked: int, weight: Callable[[Counts], Fraction]) -> Weights:
    found: Weights = {}
    for counts, tally in _tally(release, asked).items():
        factor = weight(counts)
        for row, times in tally.rows.items():
            found[row] = found.get(row, Fraction(0)) + factor * times
    return found


def _attack(release: Release, asked: int, knowledge: Knowledge, group: int | None, weights: Weights) -> list[Fraction]:
    """Sum over the rows (of the group, if one is given) with s_j = s of the likelihood of the knowledge, for each s."""
    if asked in knowledge:
        raise ValueError("the attribute asked about cannot be known")
    belief = [Fraction(0)] * release.attributes[asked].codes
    for (number, row), weight in weights.items():
        if group is None or group == number:
            belief[row[asked]] += weight * _likelihood(row, knowledge)
    return _normalised(belief)


def enumerate_attacker(
    release: Release, asked: int, prior: Any, knowledge: Knowledge, group: int | None = None
) -> list[Fraction]:
    """p_A(s | knowledge, t*): ∝ sum over rows j of P(s_j = s and row j fits | t*) (Boreale et al. 2020, eq. 8 and 15).

    The target is any of the rows, or any of the group's rows where the group is known (Kifer 2009).
    """
    held = _as_pseudo_counts(prior)
    if held.known.get("weighed") is not release:
        held.known["weighed"] = release
        held.known["weights"] = _weigh(release, asked, _marginal_likelihood(_Layout(release, asked), held))
    return _attack(release, asked, knowledge, group, held.known["weights"])


def enumerate_random_worlds(
    release: Release, asked: int, knowledge: Knowledge, group: int | None = None
) -> list[Fraction]:
    """The same attacker to whom every world is equally likely."""
    return _attack(release, asked, knowledge, group, _equal_weights(release, asked))


def enumerate_fixed_attacker(
    release: Release, asked: int, pi: Any, theta: Mapping[int, Any], knowledge: Knowledge, group: int | None = None
) -> list[Fraction]:
    """The same attacker who holds s ~ pi and a given s ~ theta[a][s], and learns nothing (Kifer's i.i.d. model)."""
    pi_given = tuple(map(_exact, pi))
    others = _Layout(release, asked).others
    theta_given = tuple((a, tuple(tuple(map(_exact, row)) for row in theta[a])) for a in others)
    return _attack(release, asked, knowledge, group, _given_weights(release, asked, pi_given, theta_given))


def enumerate_fixed_learner(
    release: Release, asked: int, pi: Any, theta: Mapping[int, Any], knowledge: Knowledge
) -> list[Fraction]:
    """What pi and theta alone say of a person of whom this is known; the release changes nothing."""
    fit = []
    for s in range(release.attributes[asked].codes):
        each = [sum(_exact(e) * _exact(p) for e, p in zip(knowledge[a], theta[a][s], strict=True)) for a in knowledge]
        fit.append(prod(each, start=_exact(pi[s])))
    return _normalised(fit)


def enumerate_learner_joint(release: Release, asked: int, prior: Any, knowledge: Knowledge) -> list[Fraction]:
    """p_L(s, knowledge | t*) for each s: the predictive of one more row, averaged over the worlds (eq. 5).

    With every attribute known exactly it is p_L(s, r | t*); with nothing known it is p_L(s | t*).
    """
    layout, held = _Layout(release, asked), _as_pseudo_counts(prior)
    weight = _marginal_likelihood(layout, held)
    joint, total = [Fraction(0)] * layout.values, Fraction(0)

    @cache
    def fits(a: int, s: int, counts: tuple[int, ...]) -> Fraction:
        beside = held.next_value(a, s, counts)
        return sum((x * b for x, b in zip(knowledge[a], beside, strict=True)), start=Fraction(0))

    for counts, tally in _tally(release, asked).items():
        factor = tally.worlds * weight(counts)
        total += factor
        for s in range(layout.values):
            chance = Fraction(held.alpha[s] + counts[s]) / (sum(held.alpha) + release.rows)
            for a in knowledge:
                chance *= fits(a, s, layout.of(counts, a, s))
            joint[s] += factor * chance
    return [j / total for j in joint]


def enumerate_learner(release: Release, asked: int, prior: Any, knowledge: Knowledge) -> list[Fraction]:
    """p_L(s | knowledge, t*): eq. 5, averaged first and conditioned last. (Eq. 6 is another number.)"""
    return _normalised(enumerate_learner_joint(release, asked, prior, knowledge))


# Linked releases (one block, S never widened) factorise over (attribute, s): larger ones can be listed piece by piece


def _linked_rows(release: Release, asked: int) -> list[tuple[int, int, Cell]]:
    """(group, s, cell) of each row."""
    rows = [(g, cell) for g in range(release.groups) for cell in published(release, 0, g)]
    if len(release.blocks) > 1 or any(len(cell[asked]) > 1 for _, cell in rows):
        raise ValueError("the release is not linked")
    return [(g, cell[asked][0], cell) for g, cell in rows]


def _average(
    regions: Sequence[tuple[int, ...]], pseudo: tuple[Number, ...], score: Callable[[Sequence[int]], Number]
) -> Fraction:
    """A score of the values behind these regions, averaged over all choices of values by their probability."""
    top = total = Fraction(0)
    for values in product(*regions):
        weight = _dirichlet_multinomial(pseudo, tuple(values.count(v) for v in range(len(pseudo))))
        total += weight
        top += weight * score(values)
    return top / total


def linked_attacker(
    release: Release, asked: int, prior: Any, knowledge: Knowledge, group: int | None = None
) -> list[Fraction]:
    """enumerate_attacker for linked releases with more worlds than can be listed."""
    rows, held = _linked_rows(release, asked), _as_pseudo_counts(prior)
    belief = [Fraction(0)] * release.attributes[asked].codes
    for j, (g, s, _) in enumerate(rows):
        if group is None or g == group:
            same = [i for i, (_, other, _) in enumerate(rows) if other == s]
            fit = Fraction(1)
            at = same.index(j)
            for a, e in knowledge.items():
                regions = [rows[i][2][a] for i in same]
                fit *= _average(regions, held.beta[a][s], lambda values, e=e, at=at: e[values[at]])
            belief[s] += fit
    return _normalised(belief)


def linked_learner_joint(release: Release, asked: int, prior: Any, knowledge: Knowledge) -> list[Fraction]:
    """enumerate_learner_joint for linked releases with more worlds than can be listed."""
    rows, held = _linked_rows(release, asked), _as_pseudo_counts(prior)
    joint = []
    for s in range(release.attributes[asked].codes):
        beside = [cell for _, value, cell in rows if value == s]
        chance = Fraction(held.alpha[s] + len(beside)) / (sum(held.alpha) + len(rows))
        for a, e in knowledge.items():
            pseudo = held.beta[a][s]

            def predictive(values: Sequence[int], e: Sequence[Number] = e, pseudo: Sequence[Number] = pseudo) -> Number:
                counts = [p + values.count(v) for v, p in enumerate(pseudo)]
                return sum((x * c for x, c in zip(e, counts, strict=True)), start=Fraction(0)) / sum(counts)

            chance *= _average([cell[a] for cell in beside], pseudo, predictive)
        joint.append(chance)
    return joint


# Small releases


def exactly(attribute: Attribute, value: str, wrong: Number = 0) -> tuple[Number, ...]:
    """The likelihoods of knowing one value that is wrong with this probability, each other value alike."""
    return one_of(attribute, [value], wrong)


def one_of(attribute: Attribute, values: Sequence[str], wrong: Number = 0) -> tuple[Number, ...]:
    """The likelihoods of knowing a set of values; wrong with this probability, spread over the sets of that size."""
    outside = attribute.codes - len(values)
    mistaken = Fraction(wrong) * len(values) / outside if outside else Fraction(0)
    return tuple(1 - Fraction(wrong) if v in values else mistaken for v in attribute.values)


@dataclass(frozen=True)
class SmallTarget:
    """A person asked about. `known` says what `knowledge` says: attribute -> (codes, probability that it is wrong)."""

    name: str
    known: Mapping[int, tuple[tuple[int, ...], Fraction]]
    knowledge: Knowledge
    group: int  # a group the person may be in, for attackers who know it


@dataclass(frozen=True)
class SmallRelease:
    """A release whose worlds can be listed, and people who may be in it."""

    name: str
    release: Release
    asked: int
    targets: tuple[SmallTarget, ...]


AGE = Attribute("age", Role.QUASI_IDENTIFIER, Kind.ORDINAL, ("20", "21", "22", "23"))
SEX = Attribute("sex", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, ("f", "m"))
JOB = Attribute("job", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, ("clerk", "nurse", "?"), missing=True)
ILL = Attribute("disease", Role.SENSITIVE, Kind.CATEGORICAL, ("flu", "hiv", "none"))
PAY = Attribute("pay", Role.SENSITIVE, Kind.CATEGORICAL, ("low", "high"))


def small_releases() -> list[SmallRelease]:
    """Every scheme the data model can express, small enough to list every world."""
    return (
        [_small(name, blocks, people) for name, blocks, people in _SMALL]
        + [
            _small(f"two sensitive attributes in three blocks, {asked} asked", _TWO_SENSITIVE, "20 f, 22 m", asked)
            for asked in ("disease", "pay")
        ]
        + [_small("sliced, nothing sensitive, job asked", _NOTHING_SENSITIVE, "20 f, 22 m", "job")]
    )


_LINKED = "age sex disease"
_TWO_SENSITIVE = {
    "age sex": "20 f; 21 m / 20 f; 22 m; 20 m",
    "disease": "flu; hiv / flu; none; flu",
    "pay": "low; high / low; low; high",
}
_NOTHING_SENSITIVE = {
    "age": "20; 21; 20 / 20; 22",
    "sex job": "f nurse; m clerk; m nurse / f ?; m clerk",
}
# A name, the blocks as in written_release, and two people.
_SMALL = [
    (
        "horizontal nested",
        {_LINKED: "20,21 f flu; 20,21 f hiv / 22,23 * hiv; 22,23 * hiv / 20 m flu; 20 m none"},
        "20 f, 22 m",
    ),
    (
        "horizontal overlapping, not nested",
        {_LINKED: "20,21 * flu; 20,21 * hiv / 21,22 * flu; 21,22 * hiv; 21,22 * hiv / 22,23 m hiv"},
        "21 f, 22 m",
    ),
    (
        "local recoding with suppression",
        {_LINKED: "20,21 f flu; 20,21 f none / 23 * hiv; 23 * flu / * * hiv; * * none"},
        "20 f, 23 m",
    ),
    ("sets with gaps", {_LINKED: "20,23 f flu; 20,23 f hiv / 20,22 m flu; 20,22 m flu / 22,23 m none"}, "20 f, 22 m"),
    (
        "vertical",
        {
            "age sex": "20 f; 21 m / 20 f; 20 f; 22 m / 20 f; 22 m; 23 m",
            "disease": "flu; hiv / flu; none; flu / flu; hiv; none",
        },
        "20 f, 22 m",
    ),
    (
        "vertical with a group of one disease",
        {"age sex": "20 f; 21 m / 20 f; 22 m / 22 m; 20 m", "disease": "flu; flu / flu; hiv / none; hiv"},
        "20 f, 22 m",
    ),
    (
        "sliced, unequal buckets, sex beside disease",
        {
            "age": "20; 21 / 20; 22; 20 / 20; 23; 21; 21",
            "sex disease": "f flu; m hiv / f none; f flu; m flu / f hiv; m hiv; f flu; f flu",
        },
        "20 f, 21 m",
    ),
    (
        "three blocks",
        {"age": "20; 21; 20 / 20; 22", "sex": "f; m; m / f; m", "disease": "flu; hiv; hiv / flu; none"},
        "20 m, 22 f",
    ),
    (
        "sliced with generalised cells",
        {"age": "20,21; 21,22 / 20,21; 22; *", "sex disease": "f flu; * hiv / f none; m flu; f hiv"},
        "21 f, 22 m",
    ),
    (
        "disease suppressed in a linked row, widened in another",
        {_LINKED: "20,21 f flu; 20,21 f * / 22,23 m hiv; 22,23 m flu; 22,23 m flu,hiv"},
        "21 f, 22 m",
    ),
    (
        "disease suppressed in a bucket, widened in another",
        {"age sex": "20 f; 21 m / 20 f; 22 m; 22 m", "disease": "flu; * / flu,hiv; hiv; none"},
        "20 f, 22 m",
    ),
    (
        "disease suppressed or widened, three blocks",
        {"age": "20; 21 / 20; 22; 20", "sex": "f; m / f; m; m", "disease": "flu; * / flu,hiv; hiv; none"},
        "20 f, 22 m",
    ),
    (
        "disease suppressed twice beside sex, three blocks",
        {
            "age": "20; 21; 20 / 22; 20",
            "sex disease": "f *; f *; m hiv / m flu; m hiv,none",
            "job": "?; ?; nurse / clerk; nurse",
        },
        "20 f, 22 m",
    ),
    (
        "two sensitive attributes published linked",
        {"age sex": "20 f; 21 m / 20 f; 22 m; 20 *", "disease pay": "flu low; hiv * / flu low; none low; hiv high"},
        "20 f, 22 m",
    ),
    (
        "missing is a value",
        {"age job disease": "20,21 ? flu; 20,21 ? hiv / 22 clerk,nurse hiv; 22 clerk,nurse flu / 22 * hiv; 22 * hiv"},
        "20 ?, 22 clerk",
    ),
    ("the original", {_LINKED: "20 f flu / 20 f hiv / 21 m none / 23 m flu"}, "20 f, 21 m"),
]


def written_release(attributes: Sequence[Attribute], blocks: Mapping[str, str]) -> Release:
    """A release from text: names of a block -> its cells; `/` between groups, `;` between rows, `,` between values."""
    names = [a.name for a in attributes]
    parts = []
    for block, text in blocks.items():
        rows = [
            (number, *(cell if cell == "*" else cell.split(",") for cell in row.split()))
            for number, group in enumerate(text.split("/"))
            for row in group.split(";")
        ]
        parts.append((tuple(names.index(name) for name in block.split()), rows))
    return made_release(attributes, parts)


def _small(name: str, blocks: Mapping[str, str], people: str, asked: str = "disease") -> SmallRelease:
    """Each person known in full, in part, more coarsely, and with errors; and one of whom nothing is known."""
    shown = " ".join(blocks).split()
    release = written_release([a for a in (AGE, SEX, JOB, ILL, PAY) if a.name in shown], blocks)
    targets = []
    for number, person in enumerate(people.split(", ")):
        code = {a: release.attributes[a].values.index(value) for a, value in enumerate(person.split())}
        group = next(g for g in range(release.groups) if _may_hold(release, g, code))
        first, second = code
        exact = {a: ((c,), Fraction(0)) for a, c in code.items()}
        pair = tuple(sorted({code[first], (code[first] + 1) % release.attributes[first].codes}))
        kinds = {
            "full": exact,
            "partial": {second: exact[second]},
            "coarser": {**exact, first: (pair, Fraction(0))},
            "noisy": {**exact, first: ((code[first],), Fraction(1, 4))},
            "noisy and coarser": {first: (pair, Fraction(1, 8)), second: ((code[second],), Fraction(1, 4))},
        }
        if not number:
            kinds["nothing"] = {}
        for kind, known in kinds.items():
            knowledge = {
                a: one_of(release.attributes[a], [release.attributes[a].values[c] for c in codes], wrong)
                for a, (codes, wrong) in known.items()
            }
            targets.append(SmallTarget(f"{person}, {kind}", known, knowledge, group))
    return SmallRelease(name, release, release.index(asked), tuple(targets))


def _may_hold(release: Release, group: int, code: Mapping[int, int]) -> bool:
    """Whether each block of the group shows a cell that this person fits."""
    return all(
        any(
            all(code[a] in codes for a, codes in cell.items() if a in code) for cell in published(release, block, group)
        )
        for block in range(len(release.blocks))
    )
