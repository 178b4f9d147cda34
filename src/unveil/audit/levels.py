"""Check: the level of every privacy model on a release, ours or another tool's."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.document import Finding
from unveil.audit.group_members import groups_and_members, groups_and_population
from unveil.data.attribute import Attribute, Role
from unveil.data.release import Release, row_numbers
from unveil.data.table import Table
from unveil.errors import NotApplicable, UsageError
from unveil.kernels.supersets import large_supersets
from unveil.privacy.distances import DISTANCES
from unveil.privacy.models import (
    AlphaK,
    BetaLikeness,
    BTPrivacy,
    DeltaDisclosure,
    DeltaPresence,
    DistinctL,
    EnhancedBetaLikeness,
    EntropyL,
    EpsilonM,
    KAnonymity,
    KMap,
    NTCloseness,
    PopulationUniqueness,
    PrivacyModel,
    ProbabilisticL,
    PSensitiveK,
    RecursiveCL,
    Reference,
    StrictNTCloseness,
    Supersets,
    TCloseness,
)
from unveil.privacy.reference import reference_of
from unveil.risk.uniqueness import wildcard_counts
from unveil.utility import certainty_penalty, discernibility

__all__ = ["Check", "natural_distance", "run_check"]

MOST_LATTICE_NODES = 4096
CELLS_AT_ONCE, CELLS_MERGED = 1 << 21, 1 << 19
FEW_VALUES = 256  # so few are never merged
_OF_POPULATION = (DeltaPresence(), KMap(), PopulationUniqueness())
MERGING = ("variational", "equal", "kl", "js")  # distances that are sums over values
FIRST_ASKED, MOST_ASKED = 64, 256  # groups at once


@dataclass(frozen=True, slots=True)
class Check:
    """Levels of a release. `diagnostics` says what was left out and where domains come from."""

    findings: tuple[Finding, ...]
    diagnostics: dict[str, Any]

    @property
    def kept(self) -> bool:
        """Whether no requirement is missed."""
        return all(f.verdict != "exceeded" for f in self.findings)


def natural_distance(attribute: Attribute) -> str:
    """The distance that fits an attribute: ordered for orders, hierarchical with a hierarchy, else equal."""
    return "ordered" if attribute.kind.ordered else "hierarchical" if attribute.hierarchy is not None else "equal"


def run_check(
    release: Release,
    *,
    name: str = "release",
    require: Sequence[PrivacyModel] = (),
    n: int = 1000,
    population: Table | None = None,
    original: Table | None = None,
    group: NDArray[np.integer] | None = None,
) -> Check:
    """Measure every model, and judge those that are required. `n`: the large population of (n,t)-closeness.

    `original`: the people of the release, for a required model that is about members (`b_t_privacy`); `group`: of each
    of its rows, where the cells fit several.

    Cost: one histogram a set of rows that cannot be told apart; (n,t)-closeness adds one pass a lattice node.
    """
    for model in require:
        if model.threshold is None:
            raise UsageError(
                f"{model.name} is required without its threshold; write {model.name}:{fields(model)[0].name}=…"
            )
        if "members" in model.needs and original is None:
            raise NotApplicable(f"{model.name} is about people whose cells are known; add --original DATA")
    hidden = release.suppressed()
    sizes = release.class_sizes()
    one = Reference(np.ones(1, dtype=np.int64))
    findings = []
    for model in _asked(KAnonymity(), require):
        findings.append(_finding(model.name, name, None, model, model.level(sizes[:, None], one)))
    with suppress(NotApplicable):  # no row withholds some of its cells
        findings.append(Finding.exact("wildcard_k", name, None, float(wildcard_counts(release).k)))
    if population is not None:
        people = groups_and_population(release, population)
        for model in (m for plain in _OF_POPULATION for m in _asked(plain, require)):
            findings.append(_finding(model.name, name, None, model, model.level(*people)))
    withheld: dict[str, int] = {}
    widened: list[str] = []
    for index in release.with_role(Role.SENSITIVE):
        attribute = release.attributes[index]
        regions = release.regions[index]
        if ((regions.sizes > 1) & ~regions.whole).any():  # {HIV,AIDS} is no value, and it is not nothing either
            widened.append(attribute.name)
            continue
        units = _Units.of(release, index)
        withheld[attribute.name] = release.rows - int(units.total.sum())
        findings += _attribute_findings(units, attribute, name, require, n)
        if original is not None:
            findings += _member_findings(release, index, name, require, original, group)
    findings.append(Finding.exact("discernibility", name, None, discernibility(release).value))
    findings.append(Finding.exact("certainty_penalty", name, None, certainty_penalty(release).value))
    measured = {f.measure for f in findings}
    for model in require:
        if "values" in model.needs and widened:
            raise NotApplicable(
                f"{model.name} cannot be measured on {name}: {widened[0]} is published in sets of values"
            )
        if model.name not in measured:
            raise NotApplicable(f"{model.name} cannot be measured on {name}: {_why_not(model, release, population)}")
    return Check(
        tuple(findings),
        {
            "rows": release.rows,
            "groups": release.groups,
            "blocks": [[release.attributes[i].name for i in block.attributes] for block in release.blocks],
            "suppressed_rows": int(release.sizes[hidden].sum()),
            "withheld_values": withheld,
            "widened_sensitive": widened,
            "domains": {a.name: a.source for a in release.attributes},
            "distances": {
                release.attributes[i].name: natural_distance(release.attributes[i])
                for i in release.with_role(Role.SENSITIVE)
            },
        },
    )


def _asked(plain: PrivacyModel, require: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    """The required models of one name, or the plain one that only measures."""
    return [model for model in require if model.name == plain.name] or [plain]


def _why_not(model: PrivacyModel, release: Release, population: Table | None) -> str:
    if "population" in model.needs and population is None:
        return "it needs a population; add --population FILE"
    if not release.with_role(Role.SENSITIVE):
        return "the release has no sensitive attribute"
    return "no sensitive attribute is numeric"


@dataclass(frozen=True, slots=True)
class _Units:
    """Rows that a reader cannot tell apart, without the suppressed ones, and what they may be compared with."""

    start: NDArray[np.int64]  # (units + 1,) where the entries of each begin
    value: NDArray[np.int64]  # (entries,)
    count: NDArray[np.int64]  # (entries,) rows
    overall: Reference
    total: NDArray[np.int64]  # (values,) the whole release's
    ladders: tuple[NDArray[np.int64], ...]  # per quasi-identifier beside the value: (levels, units) ever wider cells

    @classmethod
    def of(cls, release: Release, index: int) -> "_Units":
        unit, value, count, group = release.counted(index)
        total = np.bincount(value, weights=count, minlength=release.attributes[index].codes).astype(np.int64)
        hidden = release.suppressed()
        keep = ~hidden[group] if not hidden.all() else np.ones(len(group), dtype=bool)
        mine = keep[unit]
        unit = (np.cumsum(keep) - 1)[unit[mine]]
        order = np.argsort(unit, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(unit, minlength=int(keep.sum())))]).astype(np.int64)
        return cls(
            start,
            value[mine][order],
            count[mine][order].astype(np.int64),
            reference_of(release.attributes[index], np.maximum(total, 0)),
            total,
            tuple(ladder[:, keep] for ladder in _ladders(release, index)),
        )

    @property
    def units(self) -> int:
        """How many there are."""
        return len(self.start) - 1

    def sizes(self) -> NDArray[np.int64]:
        """(units,) rows of each that show a value."""
        return np.diff(np.concatenate([[0], np.cumsum(self.count)])[self.start])

    def histograms(self, first: int, last: int, values: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """(units, values) of some units; with `values` only these, and behind them all others as one."""
        codes = len(self.total)
        column = np.arange(codes)
        if values is not None:
            column = np.full(codes, len(values))
            column[values] = np.arange(len(values))
            codes = len(values) + 1
        entries = slice(self.start[first], self.start[last])
        unit = np.repeat(np.arange(last - first), np.diff(self.start[first : last + 1]))
        found = np.bincount(
            unit * codes + column[self.value[entries]], weights=self.count[entries], minlength=(last - first) * codes
        )
        return found.astype(np.int64).reshape(last - first, codes)

    def merged(self, values: NDArray[np.int64]) -> Reference:
        """The whole release with all other values as one."""
        of_values = self.overall.histogram[values]
        return Reference(np.append(of_values, self.overall.histogram.sum() - of_values.sum()))

    def pieces(self, model: PrivacyModel) -> Iterator[tuple[NDArray[np.int64], Reference]]:
        """Some units at a time: with thousands of values all at once would fill the memory.

        Where the model allows, values that none of them shows are taken as one: the cost is then that of the rows,
        not of units times values.
        """
        merges = _merges(model) and len(self.total) > FEW_VALUES
        each = max(len(self.value) / max(self.units, 1), 1.0) if merges else len(self.total)
        step = max(int((CELLS_MERGED / each) ** 0.5 if merges else CELLS_AT_ONCE / max(each, 1)), 1)
        for first in range(0, max(self.units, 1), step):
            last = min(first + step, self.units)
            if not merges:
                yield self.histograms(first, last), self.overall
                continue
            values = np.unique(self.value[self.start[first] : self.start[last]])
            yield self.histograms(first, last, values), self.merged(values)

    def level(self, model: PrivacyModel) -> NDArray[np.float64]:
        """(units,) the model's level of each."""
        return np.concatenate([model.level(*piece) for piece in self.pieces(model)])

    def lattice(self, *, thin: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(cells, units) all widths of all cells, and (nodes, quasi-identifiers) every choice of one width each."""
        heights = [len(ladder) for ladder in self.ladders]
        choices: list[tuple[int, ...]] = [tuple(range(h)) for h in heights]
        if np.prod(heights, dtype=float) > MOST_LATTICE_NODES:
            if not thin:
                raise UsageError(
                    f"{np.prod(heights, dtype=float):,.0f} supersets a group are too many; use n_t_closeness"
                )
            choices = [(0, h - 1) for h in heights]
        first = np.concatenate([[0], np.cumsum(heights)])[:-1].astype(np.int64)
        tried = list(islice(product(*choices), MOST_LATTICE_NODES))
        nodes = np.array(tried, dtype=np.int64).reshape(len(tried), len(heights))
        ladder = np.concatenate(self.ladders) if self.ladders else np.zeros((0, self.units), dtype=np.int64)
        return np.ascontiguousarray(ladder), nodes + first


def _merges(model: PrivacyModel) -> bool:
    """Whether values that a group does not show count for it only by their share of the whole."""
    if isinstance(model, TCloseness):
        return model.distance in MERGING
    return "numeric" not in model.needs and "members" not in model.needs


def _models(attribute: Attribute, n: int) -> Iterator[tuple[str, PrivacyModel]]:
    """Every model that can be measured on a sensitive attribute, with its finding id."""
    for model in (DistinctL(), ProbabilisticL(), EntropyL()):
        yield model.name, model
    for l in (2, 3):
        yield f"recursive_cl.{l}", RecursiveCL(l=l)
    yield "alpha_k", AlphaK()
    yield "p_sensitive_k", PSensitiveK()
    natural = natural_distance(attribute)
    yield "t_closeness", TCloseness(distance=natural)
    for distance in DISTANCES:
        if distance != natural and _fits(distance, attribute):
            yield f"t_closeness.{distance}", TCloseness(distance=distance)
    yield f"n_t_closeness.{n}", NTCloseness(n=n, distance=natural)
    for relative in (DeltaDisclosure(), BetaLikeness(), EnhancedBetaLikeness()):
        yield relative.name, relative
    if attribute.kind.measured:
        place = attribute.positions()
        yield "epsilon_m.5%", EpsilonM(epsilon=float(0.05 * (place.max() - place.min())))


def _fits(distance: str, attribute: Attribute) -> bool:
    if distance == "ordered":
        return attribute.kind.ordered
    if distance == "hierarchical":
        return attribute.hierarchy is not None
    if distance == "smoothed_js":
        return attribute.kind.measured or attribute.hierarchy is not None
    return True


def _attribute_findings(
    units: _Units, attribute: Attribute, release: str, require: Sequence[PrivacyModel], n: int
) -> Iterator[Finding]:
    """Every measurable model, and every required one with its own options; one finding an id."""
    required = [m for m in require if "values" in m.needs and (attribute.kind.measured or "numeric" not in m.needs)]
    required = [m for m in required if "members" not in m.needs]
    asked = [(_id(model, attribute), model) for model in required]
    measured = [(id, model) for id, model in _models(attribute, n) if id not in dict(asked)]
    for id, model in [*measured, *asked]:
        if isinstance(model, NTCloseness):
            levels = np.array([_worst_over_lattice(model, units)])
        else:
            levels = units.level(model)
        yield _finding(id, release, attribute.name, model, levels)


def _member_findings(
    release: Release,
    index: int,
    name: str,
    require: Sequence[PrivacyModel],
    original: Table,
    group: NDArray[np.integer] | None,
) -> Iterator[Finding]:
    """Required models of what is believed of members; several are a skyline."""
    models = [m for m in require if isinstance(m, BTPrivacy)]
    if not models:
        return
    counts, overall = groups_and_members(release, index, original, {m.bandwidth for m in models}, group=group)
    for model in models:
        id = f"{model.name}.{'+'.join(f'{b:g}' for b in model.bandwidth)}"
        yield _finding(id, name, release.attributes[index].name, model, model.level(counts, overall))


def _id(model: PrivacyModel, attribute: Attribute) -> str:
    """The model's name, and its options but for the threshold where they are not the usual ones."""
    options = [getattr(model, f.name) for f in fields(model)[1:]]
    return ".".join([model.name, *(str(o) for o in options if o is not None and o != natural_distance(attribute))])


def _finding(id: str, release: str, attribute: str | None, model: PrivacyModel, levels: NDArray[np.float64]) -> Finding:
    """The worst level, held against the threshold if the model has one."""
    worst = model.worst(levels)
    if model.threshold is None:
        return Finding.exact(id, release, attribute, worst)
    sign = ">=" if model.higher_is_safer else "<" if model.strictly else "<="
    verdict = "within" if model.holds(levels).all() else "exceeded"
    return Finding.exact(id, release, attribute, worst, limit=f"{id} {sign} {model.threshold:g}", verdict=verdict)


def _worst_over_lattice(model: NTCloseness, units: _Units) -> float:
    """The worst level against natural supersets: rows that show the same wider cells, for every choice of widths.

    Nearest superset: a superset left out can only make a level worse, so a lattice that is too large is thinned.
    Farthest superset: nothing may be left out, so it is refused. Distances to the whole table bound the levels from
    above (nearest), so groups are asked in this order until no other can be worse.
    """
    farthest = isinstance(model, StrictNTCloseness)
    ladder, nodes = units.lattice(thin=not farthest)
    sizes = units.sizes()
    nothing = Supersets(np.empty(0, np.int64), np.empty((0, 0), np.int64))
    alone = np.concatenate(
        [
            model.level(piece, replace(overall, supersets=replace(nothing, histogram=piece[:0])))
            for piece, overall in units.pieces(model)
        ]
    )
    merges = _merges(model) and len(units.total) > FEW_VALUES
    histograms, overall = (np.empty((0, 0), np.int64) if merges else units.histograms(0, units.units)), units.overall
    order = np.argsort(-alone, kind="stable")
    worst, start, step = model.worst(alone) if farthest else 0.0, 0, FIRST_ASKED
    while start < len(order) and (farthest or alone[order[start]] > worst):
        chosen = order[start : start + step]
        if merges:  # what none of the chosen shows is one value, in their supersets too
            values = np.unique(np.concatenate([units.value[units.start[u] : units.start[u + 1]] for u in chosen]))
            histograms, overall = units.histograms(0, units.units, values), units.merged(values)
        room = len(chosen) * len(nodes)
        group, superset = np.empty(room, np.int64), np.empty((room, histograms.shape[1]), np.int64)
        pairs = large_supersets(ladder, nodes, chosen, sizes, histograms, model.n, group, superset)
        beside = replace(overall, supersets=Supersets(group[:pairs], superset[:pairs]))
        worst = max(worst, model.worst(model.level(histograms[chosen], beside)))
        start, step = start + step, min(4 * step, MOST_ASKED)
    return worst


def _ladders(release: Release, index: int) -> list[NDArray[np.int64]]:
    """Per quasi-identifier in the block of a sensitive attribute: (levels, units) the cell, wider nodes, `*`."""
    block = release.block_of(index)
    beside = [i for i in block.attributes if release.attributes[i].role is Role.QUASI_IDENTIFIER]
    unit = row_numbers([block.group, *(block.region(i) for i in beside)])
    entry = np.zeros(int(unit.max(initial=-1)) + 1, dtype=np.int64)
    entry[unit] = np.arange(len(unit))
    ladders = []
    for i in beside:
        region = block.region(i)[entry].astype(np.int64)
        rows = [region]
        hierarchy, regions = release.attributes[i].hierarchy, release.regions[i]
        if hierarchy is not None:
            low = regions.low[regions.start[:-1]]
            for level in range(1, hierarchy.height):
                node = hierarchy.node[level].astype(np.int64)
                # A region lies in one node if the node numbers of its codes are all equal: sum and square sum agree.
                mean = regions.totals(node) / regions.sizes
                spread = regions.totals(node * node) / regions.sizes - mean * mean
                inside = np.abs(spread) < 1e-9
                wider = np.where(inside, node[low] + len(regions), np.arange(len(regions)))[region]
                if not _same_partition(wider, rows[-1]):  # a level that widens nothing would only be tried twice
                    rows.append(wider)
        if not _same_partition(rows[-1], np.zeros_like(region)):
            rows.append(np.zeros(len(region), dtype=np.int64))
        ladders.append(np.stack(rows))
    return ladders


def _same_partition(a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    """Whether two columns tell the same rows apart."""
    pairs = row_numbers([a, b]).max(initial=-1)
    return bool(pairs == row_numbers([a]).max(initial=-1) == row_numbers([b]).max(initial=-1))
