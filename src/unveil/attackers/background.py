"""Background knowledge: what is held of everybody beforehand, and who of a group then has which of its values."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.contract import Posterior
from unveil.attackers.posterior.fits import block_fits, check_targets, refuse_misfits
from unveil.attackers.posterior.roster import member_block, put_apart, with_roster
from unveil.data.belief import Belief, Diagnostics, Prior, Targets, Threat, describe_targets
from unveil.data.person_prior import PersonPrior
from unveil.data.release import Block, Release
from unveil.errors import NotApplicable, UsageError
from unveil.kernels import assignment as kernels
from unveil.privacy.distances import Geometry, jensen_shannon

__all__ = ["BackgroundKnowledge", "OthersValues", "PeopleGroups"]

COMPARED = 100  # groups on which the Omega-estimate's error is measured


@dataclass(frozen=True, slots=True, eq=False)
class OthersValues:
    """People whose sensitive value is known: they leave their group together with it."""

    people: Targets  # all quasi-identifiers known exactly, and the group, or the only one that fits
    value: NDArray[np.int64]  # (people,)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BackgroundKnowledge:
    """Posterior under a prior for each person, the groups' values known (Li 2010, section 3.6).

    Exact by dynamic programming where people · prod(n_i + 1) · values of a group is at most `cost`, n_i being how often
    each value occurs; beyond, the Omega-estimate (section 3.6.3), whose error is measured on groups where both can be
    had. `knowledge` is what is held of everybody; without it the population's prior says it. `roster`: everybody in the
    table, which a generalised release needs. `others`: people whose value is known.
    """

    cost: float = 2e6
    knowledge: PersonPrior | None = None
    roster: Targets | None = None
    others: OthersValues | None = None

    def asks(self) -> tuple[str, ...]:
        """See Attacker."""
        return ()

    def believe(self, posterior: Posterior, targets: Targets) -> Belief:
        """Cost: people · states · values of each group, and one pass over the pairs of a target and a fitting cell."""
        release, prior = posterior.release, posterior.prior
        check_targets(release, targets)
        said = describe_targets(release, targets)
        known = targets
        others = self.others
        one = put_apart(release, targets.asked) if self.roster is None else with_roster(release, self.roster)
        release, known = one.release, one.targets(targets)
        if others is not None:
            others = replace(others, people=one.targets(others.people))
        groups = PeopleGroups.of(release, targets.asked)
        beside = [release.attributes[i].name for i in known.known if i not in groups.block.attributes]
        if beside:
            raise NotApplicable(
                f"{beside[0]} is not published beside the quasi-identifiers; leave it out of what is known"
            )
        if others is not None:
            groups = groups.without(release, others)
        held = groups.held(release, prior if self.knowledge is None else self.knowledge)
        found, method = groups.posterior(release, held, self.cost)
        distinct, number = known.distinct()
        probability = _of_targets(release, groups, found, distinct, number)
        facts = {} if (method == kernels.EXACT).all() else groups.omega_error(release, held, self.cost, method)
        threat = Threat(
            target=said,
            group="known" if targets.group is not None else "not known",
            others=_others_in_words(self.roster, self.others),
            population=prior.source if self.knowledge is None else self.knowledge.source,
        )
        how = "exact" if (method == kernels.EXACT).all() else "exact, and the Omega-estimate in large groups"
        return Belief(probability[number], diagnostics=Diagnostics(how, facts=facts), threat=threat)


@dataclass(frozen=True, slots=True, eq=False)
class PeopleGroups:
    """People with known cells and the values they share, group by group."""

    asked: int
    block: Block  # of the people
    count: NDArray[np.int64]  # (entries of the block,) people of each
    item_start: NDArray[np.int64]  # (groups + 1,)
    item: NDArray[np.int64]  # (items,) region of the sensitive attribute
    item_count: NDArray[np.int64]  # (items,)

    @classmethod
    def of(cls, release: Release, asked: int) -> "PeopleGroups":
        """From a release that shows everybody's cells."""
        block, own = member_block(release, asked), release.block_of(asked)
        regions = len(release.regions[asked])
        pair, inverse = np.unique(own.group * regions + own.region(asked), return_inverse=True)
        count = np.bincount(inverse, weights=own.count).astype(np.int64)
        start = np.searchsorted(pair // regions, np.arange(release.groups + 1))
        return cls(asked, block, block.count, start.astype(np.int64), pair % regions, count)

    def without(self, release: Release, others: OthersValues) -> "PeopleGroups":
        """People whose value is known leave, and take it with them."""
        if len(others.value) != others.people.count:
            raise UsageError("give one value for each person whose value is known")
        single = release.regions[self.asked].single()
        count, item_count = self.count.copy(), self.item_count.copy()
        fits = block_fits(release, self.block, others.people)
        first = np.searchsorted(fits.target, np.arange(others.people.count + 1))
        for person, value in enumerate(others.value.tolist()):
            entries = fits.entry[first[person] : first[person + 1]]
            entries = entries[count[entries] > 0]
            group = self.block.group[entries]
            if not len(entries) or (group != group[0]).any():
                where = "more than one group" if len(entries) else "no group"
                raise UsageError(f"person {person + 1} of those whose value is known fits {where}; say which is theirs")
            items = np.arange(self.item_start[group[0]], self.item_start[group[0] + 1])
            mine = items[(single[self.item[items]] == value) & (item_count[items] > 0)]
            if not len(mine):
                raise UsageError(f"person {person + 1} of those whose value is known has a value their group lacks")
            count[entries[0]] -= 1
            item_count[mine[0]] -= 1
        return replace(self, count=count, item_count=item_count)

    def entries(self, release: Release, people: Targets) -> NDArray[np.int64]:
        """(people,) the entry of people whose cells and groups are known."""
        distinct, number = people.distinct()
        fits = block_fits(release, self.block, distinct)
        first = np.searchsorted(fits.target, np.arange(distinct.count))
        refuse_misfits(people, np.bincount(fits.target, minlength=distinct.count)[:, None].astype(np.float64), number)
        return np.asarray(fits.entry[first][number])

    def codes(self, release: Release, names: tuple[str, ...]) -> NDArray[np.int64]:
        """(entries, attributes) the cells of the people."""
        indexes = [release.index(name) for name in names]
        columns = [release.regions[i].single()[self.block.region(i)] for i in indexes]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.count), 0), dtype=np.int64)

    def held(self, release: Release, knowledge: PersonPrior | Prior) -> NDArray[np.float64]:
        """(entries, values) what is held of the people of each entry."""
        if isinstance(knowledge, PersonPrior):
            if knowledge.sensitive.values != release.attributes[self.asked].values:
                raise UsageError(f"the knowledge is not about {release.attributes[self.asked].name}")
            there = {release.attributes[i].name for i in self.block.attributes}
            for name in (a.name for a in knowledge.attributes if a.name not in there):
                raise NotApplicable(f"knowledge about {name}, which is not published alone (joined attributes are one)")
            return knowledge.of(self.codes(release, tuple(a.name for a in knowledge.attributes)))
        log = np.tile(np.log(knowledge.alpha / knowledge.alpha.sum()), (len(self.count), 1))
        for index in self.block.attributes:
            if index in knowledge.beta:
                share = release.regions[index].totals(np.ascontiguousarray(knowledge.shares(index).T))
                log += np.log(share)[self.block.region(index)]
        weight = np.exp(log - log.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def posterior(
        self, release: Release, held: NDArray[np.float64], cost: float
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """(entries, values) beliefs about the people of each entry, and (groups,) how each was reached."""
        regions = release.regions[self.asked]
        single = regions.single()
        plain = bool((single >= 0).all()) and len(np.unique(single)) == len(single)  # nothing is withheld
        if plain:
            weight = np.ascontiguousarray(held[:, single])
        else:
            inside = np.zeros((len(regions), regions.codes))
            for region in range(len(regions)):
                inside[region, regions.members(region)] = 1.0
            weight = held @ inside.T
            weight[:, single >= 0] = held[:, single[single >= 0]]  # as it is: an impossible value stays impossible
        found = np.zeros((len(held), len(regions)))
        method = np.zeros(release.groups, dtype=np.int64)
        kernels.solve_groups(
            self.block.start, self.count, self.item_start, self.item, self.item_count, weight, cost, found, method
        )
        if (method == kernels.IMPOSSIBLE).any():
            group = int(np.flatnonzero(method == kernels.IMPOSSIBLE)[0])
            raise UsageError(
                f"what is held beforehand rules out group {group + 1} of the release: its people cannot have its values"
            )
        if plain:
            shown = np.zeros(held.shape)
            shown[:, single] = found
            return shown, method
        # A withheld value is one of its region, by what is held.
        part = np.divide(found, weight, out=np.zeros(found.shape), where=weight > 0)
        belief = held * (part @ inside)
        whole = belief.sum(axis=1, keepdims=True)
        return np.divide(belief, whole, out=np.zeros(belief.shape), where=whole > 0), method

    def omega_error(
        self, release: Release, held: NDArray[np.float64], cost: float, method: NDArray[np.int64]
    ) -> dict[str, float | str]:
        """How far the Omega-estimate lies from the exact belief, in the largest groups where both can be had."""
        rough, how = self.posterior(release, held, 0.0)
        # Where all are held alike the estimate is exact: such groups say nothing of its error.
        size = np.where((method == kernels.EXACT) & (how == kernels.OMEGA), release.sizes, 0)
        largest = np.argsort(-size, kind="stable")[:COMPARED]
        entries = np.isin(self.block.group, largest[size[largest] > 1]) & (self.count > 0)
        facts: dict[str, float | str] = {
            "omega_groups": float((method == kernels.OMEGA).sum()),
            "omega_people": float(release.sizes[method == kernels.OMEGA].sum()),
        }
        if entries.any():
            exact, _ = self.posterior(release, held, cost)
            apart = _js(exact[entries], held[entries]) - _js(rough[entries], held[entries])
            facts["omega_js_error"] = float(np.average(np.abs(apart), weights=self.count[entries]))
            facts["omega_largest_error"] = float(np.abs(exact - rough)[entries].max())
        return facts


def _js(share: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    return jensen_shannon(share, reference, Geometry())


def _of_targets(
    release: Release,
    groups: PeopleGroups,
    found: NDArray[np.float64],
    targets: Targets,
    number: NDArray[np.integer],
) -> NDArray[np.float64]:
    """(targets, values) the mean belief about the people who may be the target, each by how well they fit."""
    fits = block_fits(release, groups.block, targets)
    likelihood = {}
    for index, overlaps in fits.overlaps.items():
        share = overlaps.shared(np.ones(release.attributes[index].codes))
        likelihood[index] = overlaps.likelihood(share / release.regions[index].sizes[overlaps.region])[:, None]
    weight = fits.product(likelihood) * groups.count[fits.entry][:, None] * found[fits.entry]
    total = np.zeros((targets.count, found.shape[1]))
    np.add.at(total, fits.target, weight)
    refuse_misfits(targets, total, number)
    return np.asarray(total / total.sum(axis=1, keepdims=True))


def _others_in_words(roster: Targets | None, others: OthersValues | None) -> str:
    said = "the quasi-identifiers of everybody in the table"
    if roster is None:
        said += ", as published"
    if others is not None and others.people.count:
        said += f", and the values of {others.people.count}"
    return said
