"""What a reader believes of somebody's being in the table, from how many groups the person matches.

The thesis (Li 2010, section 4.4) asks that people in the table and people outside match alike many groups. Here that
is a belief: with d the number of matching groups and π the prior probability,
P(in | d) = π P(d | in) / (π P(d | in) + (1 − π) P(d | out)). The reader has the release alone, so that
- P(d | in) is taken over rows of the release, the blocks of a group linked at random, and
- P(d | out) over the population: people of a file if there is one, else people drawn as the learner who is asked about
  nothing sees them, each attribute by its published shares and independently of the others.
Numbers of groups are taken together in bins. Who matches no group is out.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate, Known, Targets
from unveil.data.release import Release
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.risk.membership.drawing import drawn_members, drawn_outsiders, published_shares
from unveil.risk.membership.matching import expected_rows, matching_groups
from unveil.risk.membership.presence import Presence

__all__ = [
    "BINS",
    "MembershipBelief",
    "bin_of",
    "frequency_score",
    "learn_membership",
]

ENDS = (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500)  # the last number of groups of each bin but the last
BINS = ("0", "1", "2", "3", "4–5", "6–10", "11–20", "21–50", "51–100", "101–200", "201–500", "over 500")
DRAWS = 20_000


def bin_of(degree: NDArray[np.integer]) -> NDArray[np.int64]:
    """The bin of each number of matching groups."""
    return np.asarray(np.digitize(degree, ENDS, right=True))


@dataclass(frozen=True, slots=True, eq=False)
class MembershipBelief:
    """How often members and others match each number of groups, as far as a reader can tell, and the prior."""

    members: NDArray[np.float64]  # (3, bins) share of the members in each bin: value, low, high
    others: NDArray[np.float64]  # (3, bins) likewise of people who are not in the table
    prior: float
    source: str  # where the others come from, in a few words

    def __post_init__(self) -> None:
        if not 0 < self.prior < 1:
            raise UsageError(
                f"the prior probability of being in the table must lie between 0 and 1, not {self.prior:g}"
            )

    @property
    def exact(self) -> bool:
        """Whether nobody was drawn."""
        return bool((self.members[1:] == self.members[0]).all() and (self.others[1:] == self.others[0]).all())

    def odds(self) -> NDArray[np.float64]:
        """(3, bins) by how much a bin multiplies the odds of being in: value, low, high; 0 for who matches no group.

        The ends are the least favourable of both shares'. A bin in which there is nobody says nothing: 1.
        """
        pairs = ((0, 0), (1, 2), (2, 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.stack([self.members[a] / self.others[b] for a, b in pairs])
        found[np.isnan(found)] = 1.0
        found[:, 0] = 0.0
        return found

    def posterior(self) -> NDArray[np.float64]:
        """(3, bins) P(in | bin): value, low, high."""
        return self._believed(self.odds())

    def believe(self, degree: NDArray[np.integer]) -> NDArray[np.float64]:
        """(people,) the belief that each is in the table."""
        return np.asarray(self.posterior()[0][bin_of(degree)])

    def largest(self, degree: NDArray[np.integer], presence: Presence | None = None, *, odds: bool = False) -> Estimate:
        """The largest belief about these people, or the largest factor on the odds.

        `presence`: theirs in a population that the reader has on file. Whoever then is certain to be in is believed to
        be, however many groups the person matches: of two ways to tell, the better one counts.
        """
        factor = self._odds_of(degree, presence)
        return Estimate(*(float(row.max()) for row in (factor if odds else self._believed(factor))))

    def mean(self, degree: NDArray[np.integer], presence: Presence | None = None) -> Estimate:
        """The mean belief about these people."""
        return Estimate(*(float(row.mean()) for row in self._believed(self._odds_of(degree, presence))))

    def _odds_of(self, degree: NDArray[np.integer], presence: Presence | None) -> NDArray[np.float64]:
        """(3, people)"""
        by_groups = self.odds()[:, bin_of(degree)]
        return by_groups if presence is None else np.maximum(by_groups, presence.odds())

    def _believed(self, odds: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(1 - 1 / (1 + odds * (self.prior / (1 - self.prior))))


def learn_membership(
    release: Release,
    known: Collection[int],
    *,
    prior: float | None = None,
    population: Targets | None = None,
    engine: Engine | None = None,
    draws: int = DRAWS,
) -> MembershipBelief:
    """What the release teaches a reader who knows these attributes of a person.

    `population`: everyone among whom people may be sought, the members included; the prior is then the share of them
    that the release holds, and one half otherwise, unless it is given. Exact where there are at most `draws`
    combinations of values, else `draws` people are drawn of each sort. Cost: matching that many people.
    """
    shares = published_shares(release, sorted(known))
    cells = [release.attributes[i].codes for i in shares]
    if prod(cells) <= draws:
        every = _everybody(release, shares)
        place = bin_of(matching_groups(release, every).degree)
        rows = expected_rows(release, every, shares)
        likely = np.multiply.reduce([shares[i][k.of_target] for i, k in every.known.items()] or [np.ones(1)])
        members, others = (_sure(np.bincount(place, w, len(BINS)).astype(np.float64)) for w in (rows, likely))
    else:
        random = (Engine(seed=0) if engine is None else engine).named("membership").generator()
        sorts = (draw(release, shares, draws, random) for draw in (drawn_members, drawn_outsiders))
        members, others = (_drawn(_binned(release, people)) for people in sorts)
    if population is None:
        source = "attributes as published, independent of each other"
        return MembershipBelief(members, others, 0.5 if prior is None else prior, source)
    everyone = _binned(release, population)
    share, source = 0.5, "the people of the population file"
    if population.count > release.rows:
        share, source = release.rows / population.count, f"{source} who are not members"
        ends = members[[0, 2, 1]] * release.rows  # the members are among them
        others = np.maximum(everyone - ends, 0.0) / (population.count - release.rows)
        others[1:] = np.sort(others[1:], axis=0)
    else:
        others = _sure(everyone)
    return MembershipBelief(members, others, share if prior is None else prior, source)


def _everybody(release: Release, shares: Mapping[int, NDArray[np.float64]]) -> Targets:
    """Every combination of values, once."""
    cells = [release.attributes[i].codes for i in shares]
    count = prod(cells)
    codes = np.unravel_index(np.arange(count), cells) if cells else ()
    return Targets(
        -1, {i: Known.exactly(release.attributes[i], code) for i, code in zip(shares, codes, strict=True)}, count
    )


def _binned(release: Release, people: Targets) -> NDArray[np.float64]:
    return np.bincount(bin_of(matching_groups(release, people).degree), minlength=len(BINS)).astype(np.float64)


def _sure(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.tile(weight / weight.sum(), (3, 1))


def _drawn(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(3, bins) (n + ½) / (all + 1), and the ends of the 95% interval of Jeffreys."""
    from scipy.special import betaincinv

    rest = counts.sum() - counts + 0.5
    value = (counts + 0.5) / (counts.sum() + 1)
    low, high = (betaincinv(counts + 0.5, rest, q) for q in (0.025, 0.975))
    return np.stack([value, np.minimum(low, value), np.maximum(high, value)])


def frequency_score(
    release: Release, targets: Targets, shares: Mapping[int, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """(targets,) how many times more often the release shows somebody like this than the population would.

    Expected rows over all rows, against the product of the published `shares`. It ranks people; as a factor on the
    odds it would lean on attributes being independent, tuple by tuple, and overstate what is known of rare ones.
    """
    likely = np.ones(targets.count)
    for i, known in targets.known.items():
        likely *= known.totals(shares[i])[known.of_target]
    return np.asarray(expected_rows(release, targets, shares) / release.rows / likely)
