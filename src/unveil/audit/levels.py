"""Check: the level of every privacy model on a release, ours or another tool's."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.background import PeopleGroups
from unveil.attackers.posterior.roster import put_apart, with_roster
from unveil.audit.document import Finding, amount
from unveil.audit.level_units import Units, worst_over_lattice
from unveil.data.attribute import Attribute, Role
from unveil.data.display import Display, Summary
from unveil.data.mixture import mixture_of
from unveil.data.release import Release, example_rows, row_numbers
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.errors import NotApplicable, UsageError
from unveil.privacy.distances import DISTANCES
from unveil.privacy.knowledge.kernel import Kernel
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
    TCloseness,
)
from unveil.privacy.reference import GroupMembers, Reference, reference_of
from unveil.risk.uniqueness import wildcard_counts
from unveil.utility import certainty_penalty, discernibility

__all__ = ["Check", "natural_distance", "run_check"]

_OF_POPULATION = (DeltaPresence(), KMap(), PopulationUniqueness())


@dataclass(frozen=True, slots=True, repr=False)
class Check(Display):
    """Levels of a release. `diagnostics` says what was left out and where domains come from."""

    findings: tuple[Finding, ...]
    diagnostics: dict[str, Any]

    def summary(self) -> Summary:
        lines = [(f.id, "" if f.value is None else f"{amount(f.value):.4g}", f.verdict) for f in self.findings]
        return f"Check: {len(self.findings)} levels", ("level", "value", "verdict"), lines

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
        if "members" in model.needs and original is not None and original.count is not None:
            raise NotApplicable(f"{model.name} is about people one by one, and on a cluster they are counted")
        if "members" in model.needs and original is None:
            raise NotApplicable(f"{model.name} is about people whose cells are known; add --original DATA")
    if release.perturbed:  # what is shown tells rows apart, true or not
        mixture = mixture_of(release)
        release = mixture.release
        group = None if group is None or (group < 0).any() else mixture.group[group]
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
        if ((regions.sizes > 1) & ~regions.whole).any():  # {HIV,AIDS} is not a value, and not nothing either
            widened.append(attribute.name)
            continue
        units = Units.of(release, index)
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
    units: Units, attribute: Attribute, release: str, require: Sequence[PrivacyModel], n: int
) -> Iterator[Finding]:
    """Every measurable model, and every required one with its own options; one finding an id."""
    required = [m for m in require if "values" in m.needs and (attribute.kind.measured or "numeric" not in m.needs)]
    required = [m for m in required if "members" not in m.needs]
    asked = [(_id(model, attribute), model) for model in required]
    measured = [(id, model) for id, model in _models(attribute, n) if id not in dict(asked)]
    for id, model in [*measured, *asked]:
        if isinstance(model, NTCloseness):
            levels = np.array([worst_over_lattice(model, units)])
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
    """The worst level, compared with the threshold if the model has one."""
    worst = model.worst(levels)
    if model.threshold is None:
        return Finding.exact(id, release, attribute, worst)
    sign = ">=" if model.higher_is_safer else "<" if model.strictly else "<="
    verdict = "within" if model.holds(levels).all() else "exceeded"
    return Finding.exact(id, release, attribute, worst, limit=f"{id} {sign} {model.threshold:g}", verdict=verdict)


def groups_and_members(
    release: Release,
    asked: int,
    table: Table,
    bandwidths: Iterable[tuple[float, ...]],
    *,
    group: NDArray[np.integer] | None = None,
) -> tuple[NDArray[np.int64], Reference]:
    """(groups, values) histograms, and what they are compared with: the members and their kernel priors.

    `group`: of each row of the table; without it the only one that fits. Buckets say it themselves.
    """
    if len(release.blocks) > 1 and group is None:
        seen = put_apart(release, asked).release
    else:
        seen = with_roster(release, targets_of_table(table, release, asked, group=group)).release
    groups = PeopleGroups.of(seen, asked)
    single = seen.regions[asked].single()[groups.item]
    counts = np.zeros((seen.groups, release.attributes[asked].codes), dtype=np.int64)
    item_group = np.repeat(np.arange(seen.groups), np.diff(groups.item_start))
    shown = single >= 0  # a withheld value is in no count
    np.add.at(counts, (item_group[shown], single[shown]), groups.item_count[shown])
    name = release.attributes[asked].name
    priors = {b: groups.held(seen, Kernel(bandwidth=b).prior(table, name)) for b in bandwidths}
    people = np.concatenate([[0], np.cumsum(groups.count)])[groups.block.start]
    members = GroupMembers(people, np.repeat(np.arange(len(groups.count)), groups.count), priors)
    plain = reference_of(release.attributes[asked], counts.sum(axis=0))
    return counts, Reference(plain.histogram, plain.geometry, members=members)


def groups_and_population(release: Release, population: Table) -> tuple[NDArray[np.int64], Reference]:
    """Group sizes, and how many people of the population each group's cells may stand for."""
    known = release.with_role(Role.QUASI_IDENTIFIER)
    block = release.blocks[0]
    if len(release.blocks) > 1 or not known:
        raise NotApplicable("a population can be counted only where quasi-identifiers are published in one block")
    columns = [population.column_of(release.attributes[i], "the population") for i in known]
    number = row_numbers(columns)
    people = np.bincount(number)
    row = example_rows(number)
    codes = [column[row] for column in columns]
    kind = row_numbers([block.region(i) for i in known])
    entry = example_rows(kind)
    size = np.bincount(kind, weights=block.count).astype(np.int64)
    found = np.zeros(len(size), dtype=np.int64)
    for unit in range(len(size)):
        inside = np.ones(len(row), dtype=bool)
        for i, code in zip(known, codes, strict=True):
            mask = np.zeros(release.attributes[i].codes, dtype=bool)
            mask[release.regions[i].members(int(block.region(i)[entry[unit]]))] = True
            inside &= mask[code]
        found[unit] = people[inside].sum()
    return size[:, None], Reference(np.ones(1, dtype=np.int64), population=found)
