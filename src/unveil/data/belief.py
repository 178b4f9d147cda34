"""Targets, priors and beliefs: who is asked about, what is held beforehand, what is believed afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Attribute, AttributeList, Role, asked_in_turn
from unveil.data.display import Display, Summary
from unveil.data.regions import Regions
from unveil.data.release import Release, example_rows, row_numbers
from unveil.data.smoothing import check_kernel, smoothing_kernels, tied
from unveil.errors import UsageError

__all__ = ["Belief", "Diagnostics", "Estimate", "Known", "Prior", "Targets", "Threat", "describe_targets", "t_quantile"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the ends of its 95% interval; an exact result has low = value = high."""

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise UsageError(f"an estimate must be within its interval: {self.low} ≤ {self.value} ≤ {self.high}")

    @classmethod
    def exact(cls, value: float) -> "Estimate":
        """A result without error of its own."""
        return cls(value, value, value)


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is known of one attribute: for each target a set of codes, right but for a stated probability."""

    regions: Regions
    of_target: NDArray[np.int64]  # (targets,) region number
    wrong: float = 0.0  # the probability that the true value lies outside the set
    likelihood: NDArray[np.float64] | None = (
        None  # (regions, codes) of this knowledge given each code; 0 outside the set
    )

    def __post_init__(self) -> None:
        if not 0 <= self.wrong < 1:
            raise UsageError(f"the probability of a wrong attribute must be at least 0 and below 1, not {self.wrong:g}")
        if len(self.of_target) and not 0 <= self.of_target.min() <= self.of_target.max() < len(self.regions):
            raise UsageError("what is known of a target is not one of the regions")
        self.of_target.flags.writeable = False
        if self.likelihood is not None:
            if self.likelihood.shape != (len(self.regions), self.regions.codes) or self.wrong:
                raise UsageError("a likelihood says how probable each code is, and so how often it is wrong")
            if not ((self.likelihood >= 0) & (self.likelihood <= 1)).all():
                raise UsageError("a likelihood must lie between 0 and 1")
            self.likelihood.flags.writeable = False

    @classmethod
    def exactly(cls, attribute: Attribute, codes: NDArray[np.integer], wrong: float = 0.0) -> "Known":
        """The value itself."""
        if len(codes) and not 0 <= codes.min() <= codes.max() < attribute.codes:
            raise UsageError(f"a target lies outside the domain of {attribute.name}")
        return cls(Regions.singles(attribute.codes), np.asarray(codes, dtype=np.int64), wrong)

    @classmethod
    def softly(cls, likelihood: NDArray[np.float64], of_target: NDArray[np.integer]) -> "Known":
        """Not a set but how probable it is, (knowledge, codes); one that rules all codes out says nothing."""
        shares = np.where(likelihood.any(axis=1, keepdims=True), likelihood, 1.0)
        owner, code = np.nonzero(shares)
        regions = Regions.pairs(shares.shape[1], owner, code, len(shares))
        return cls(regions, np.asarray(of_target, dtype=np.int64), 0.0, shares)

    def totals(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """(regions, ...) sum of a per-code weight (codes, ...) over what is known, as probable as each code is."""
        if self.likelihood is None:
            return self.regions.totals(weight)
        return np.tensordot(self.likelihood, weight, axes=(1, 0))

    def mistaken(self) -> NDArray[np.float64]:
        """(regions,) likelihood of this knowledge given one value outside the set (it is 1 - wrong inside)."""
        sizes = self.regions.sizes.astype(np.float64)
        outside = self.regions.codes - sizes
        return np.divide(self.wrong * sizes, outside, out=np.zeros(len(sizes)), where=outside > 0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Targets(Display):
    """People an attacker asks about. Attributes that are not in `known` are unknown."""

    asked: int  # position of the attribute asked about, in the release
    known: Mapping[int, Known]  # by position of the attribute in the release
    count: int
    group: NDArray[np.int64] | None = None  # (targets,) the target's group, where the attacker knows it

    def __post_init__(self) -> None:
        if self.asked in self.known:
            raise UsageError("the attribute asked about cannot be known")
        if any(len(known.of_target) != self.count for known in self.known.values()):
            raise UsageError("every known attribute needs one entry a target")
        if self.group is not None and len(self.group) != self.count:
            raise UsageError("every target needs a group, or none")

    def summary(self) -> Summary:
        """How many people, and what is known of them, by position of the attribute in the release."""
        group = "" if self.group is None else ", their groups known"
        lines = [(i, len(np.unique(k.of_target)), f"{k.wrong:g}") for i, k in sorted(self.known.items())]
        title = f"Targets: {self.count:,} people asked about attribute {self.asked}{group}"
        return title, ("known attribute", "different cells", "wrong"), lines

    def distinct(self) -> tuple["Targets", NDArray[np.int64]]:
        """Targets of whom different things are known, and for each target which of them it is."""
        number = self.numbered()
        return self.take(example_rows(number)), number

    def numbered(self) -> NDArray[np.int64]:
        """(targets,) a number that those share of whom the same is known."""
        columns = [known.of_target for known in self.known.values()]
        columns += [self.group] if self.group is not None else []
        return row_numbers(columns, self.count)

    def take(self, which: NDArray[np.integer]) -> "Targets":
        """These targets in this order."""
        known = {i: replace(k, of_target=k.of_target[which]) for i, k in self.known.items()}
        return Targets(self.asked, known, len(which), None if self.group is None else self.group[which])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Prior(Display):
    """What is held of the population beforehand, as Dirichlet pseudo-counts: s ~ alpha, attribute a given s ~ beta.

    Where an attribute is smoothed, beta speaks of centres, and a value comes from its centre's row of the kernel.
    """

    alpha: NDArray[np.float64]  # (values,)
    beta: Mapping[int, NDArray[np.float64]]  # by position of the attribute: (values, codes)
    smooth: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)  # likewise: (centres, codes)
    source: str = "a prior given beforehand"  # where it comes from, in a few words

    def __post_init__(self) -> None:
        for array in (self.alpha, *self.beta.values()):
            if not (np.isfinite(array).all() and (array > 0).all()):
                raise UsageError("pseudo-counts must be above 0; for no knowledge use 1")
            array.flags.writeable = False
        if any(b.ndim != 2 or len(b) != len(self.alpha) for b in self.beta.values()):
            raise UsageError("beta needs one row of pseudo-counts for each sensitive value")
        for index, kernel in self.smooth.items():
            if index not in self.beta:
                raise UsageError("only attributes with pseudo-counts can be smoothed")
            check_kernel(kernel, self.beta[index].shape[1])
            kernel.flags.writeable = False

    def summary(self) -> Summary:
        """Where it comes from, and how much it counts for, by position of the attribute in the release."""
        lines = [(i, b.shape[1], f"{b.sum():g}", i in self.smooth) for i, b in sorted(self.beta.items())]
        title = f"Prior: {self.source}, {len(self.alpha):,} values, pseudo-counts {self.alpha.sum():g}"
        return title, ("attribute", "codes", "pseudo-counts", "smoothed"), lines

    @classmethod
    def uninformative(
        cls,
        release: Release,
        asked: int,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        smooth: Mapping[int, float] | None = None,
    ) -> "Prior":
        """The same pseudo-count for every value. `smooth`: bandwidths by position of the attribute."""
        values = release.attributes[asked].codes
        others = [i for i in range(len(release.attributes)) if i != asked]
        return cls(
            np.full(values, float(alpha)),
            {i: np.full((values, release.attributes[i].codes), float(beta)) for i in others},
            smoothing_kernels(release.attributes, smooth or {}, asked),
            "an uninformative prior",
        )

    def shares(self, index: int) -> NDArray[np.float64]:
        """(values, codes) mean shares of an attribute's codes given each value, before anything is learned."""
        mean = self.beta[index] / self.beta[index].sum(axis=1, keepdims=True)
        return np.asarray(mean @ self.smooth[index] if index in self.smooth else mean)

    def population(self, release: Release) -> str:
        """What is held of the population, in words."""
        return self.source + self.ties(release)

    def ties(self, release: Release) -> str:
        """Which attributes are smoothed, in words; nothing if none."""
        return tied([release.attributes[i].name for i in sorted(self.smooth)])


@dataclass(frozen=True, slots=True)
class Threat:
    """Who knows what: printed with every finding."""

    target: str = "all quasi-identifiers"
    membership: str = "known"
    group: str = "not known"
    others: str = "nothing"
    population: str = "an uninformative prior"
    mechanism: str = "ignored"


def describe_targets(release: Release, targets: Targets) -> str:
    """What is known of the targets, in a few words: "all quasi-identifiers", "age (coarser), sex", "nothing"."""
    named: dict[int, list[str]] = {}
    for index, known in targets.known.items():
        used = np.unique(known.of_target)
        wide = known.regions.sizes[used] > 1
        whole = known.regions.whole[used] & wide  # which says nothing
        if not whole.all():
            named[index] = ["coarser"] * bool((wide & ~whole).any()) + ["of some"] * bool(whole.any())
    wrong = {targets.known[i].wrong for i in named}
    if len(wrong) > 1:
        for index, notes in named.items():
            if targets.known[index].wrong:
                notes.append(f"wrong with probability {targets.known[index].wrong:g}")
    every = [i for i in release.with_role(Role.QUASI_IDENTIFIER) if i != targets.asked]
    all_of_them = every_known(release, targets.asked)
    whole_set = bool(every) and all(i in named and not named[i] for i in every)
    parts = [all_of_them] if whole_set else []
    for index, notes in named.items():
        if not (whole_set and index in every):
            parts.append(release.attributes[index].name + (f" ({', '.join(notes)})" if notes else ""))
    if len(wrong) == 1 and wrong != {0.0}:
        parts.append(f"each wrong with probability {wrong.pop():g}")
    return ", ".join(parts) or "nothing"


def every_known(release: Release, asked: int) -> str:
    """What is known of a target of whom everything is, in words; one quasi-identifier may be asked about itself."""
    itself = 0 <= asked < len(release.attributes) and release.attributes[asked].role is Role.QUASI_IDENTIFIER
    return "all other quasi-identifiers" if itself else "all quasi-identifiers"


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """How a belief was reached, and how sure that is."""

    method: str  # "exact", or the sampler's name
    converged: bool = True  # the chains agree
    precise: bool = True  # the stated precision was reached (CONTRACTS: .003 for 99% of beliefs, .02 for all)
    facts: Mapping[str, float | str] = field(default_factory=dict)
    modes: tuple[tuple[int, ...], ...] = ()  # of chains that disagree: which lie together, the largest company first
    r_hat: NDArray[np.float64] | None = None  # (watched people,) of each one's belief
    wanted: float = 1.0  # times as much as was drawn: what the precision asks for, going by the error there is
    refits: bool = False  # chains are beliefs fitted again: each errs as the belief itself does, not as one of a mean


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Belief(Display):
    """For each target a distribution over the sensitive values; of a sampler, one by each chain as well."""

    probability: NDArray[np.float64]  # (targets, values)
    chains: NDArray[np.float64] | None = None  # (chains, targets, values)
    diagnostics: Diagnostics = field(default_factory=lambda: Diagnostics("exact"))
    threat: Threat = field(default_factory=Threat)

    def __post_init__(self) -> None:
        total = self.probability.sum(axis=1)
        if not np.isfinite(self.probability).all() or (self.probability < 0).any() or (np.abs(total - 1) > 1e-9).any():
            raise UsageError("beliefs must be distributions: not negative, with sum 1")
        self.probability.flags.writeable = False

    def summary(self) -> Summary:
        """How sure it is: people by the probability of their likeliest value."""
        targets, values = self.probability.shape
        chains = (
            self.diagnostics.method if self.chains is None else f"{self.diagnostics.method}, {len(self.chains)} chains"
        )
        edges = {"100%": 1 - 1e-9, "80% to 100%": 0.8, "60% to 80%": 0.6, "below 60%": 0.0}
        band = np.searchsorted(-np.array(list(edges.values())), -self.probability.max(axis=1))
        count = np.bincount(band, minlength=len(edges)).tolist()
        lines = [(label, people) for label, people in zip(edges, count, strict=True) if people]
        return f"Belief: {targets:,} targets, {values:,} values, {chains}", ("likeliest value", "targets"), lines

    @property
    def exact(self) -> bool:
        """Whether there is no Monte-Carlo error."""
        return self.chains is None

    def of(self, number: NDArray[np.integer]) -> "Belief":
        """The beliefs about these targets."""
        chains = None if self.chains is None else self.chains[:, number]
        return _unchecked(self.probability[number], chains, self.diagnostics, self.threat)

    def pooled(self, number: NDArray[np.integer]) -> "Belief":
        """The same without the chains, as if it were exact."""
        return _unchecked(self.probability[number], None, _EXACT, self.threat)

    def ruling_out(self, impossible: NDArray[np.bool_]) -> "Belief":
        """The same beliefs once some (targets, values) are known to be impossible: exact zeros."""
        parts = [self.probability] if self.chains is None else [self.probability, *self.chains]
        left = [np.where(impossible, 0.0, part) for part in parts]
        total = np.array([part.sum(axis=1) for part in left])
        if (total <= 0).any():
            target = int(np.flatnonzero((total <= 0).any(axis=0))[0])
            raise UsageError(f"target {target + 1} is believed to have only values that are known to be impossible")
        scaled = [part / part.sum(axis=1, keepdims=True) for part in left]
        return replace(self, probability=scaled[0], chains=None if self.chains is None else np.stack(scaled[1:]))

    def of_chains(self, mode: Sequence[int]) -> "Belief":
        """What these chains alone say; an exact belief says it anyway."""
        if self.chains is None:
            return self
        some = self.chains[list(mode)]
        alone = replace(self.diagnostics, modes=())
        return replace(self, probability=some.mean(axis=0), chains=some if len(some) > 1 else None, diagnostics=alone)


_EXACT = Diagnostics("exact")


def _unchecked(
    probability: NDArray[np.float64], chains: NDArray[np.float64] | None, diagnostics: Diagnostics, threat: Threat
) -> Belief:
    """A belief whose rows are those of another: thousands are taken, and checking costs more than measuring."""
    probability.flags.writeable = False
    found = object.__new__(Belief)
    for name, value in zip(Belief.__slots__, (probability, chains, diagnostics, threat), strict=True):
        object.__setattr__(found, name, value)
    return found


def t_quantile(chains: int) -> float:
    """The 97.5% quantile of Student's t for the mean of this many chains."""
    from scipy.special import stdtrit

    return float(stdtrit(chains - 1, 0.975))


def known_exactly(release: Release, columns: Mapping[int, NDArray[np.integer]], asked: int) -> Targets:
    """Targets whose values are given as codes, by position of the attribute in the release."""
    known = {i: Known.exactly(release.attributes[i], codes) for i, codes in columns.items()}
    counts = {len(codes) for codes in columns.values()}
    if len(counts) != 1:
        raise UsageError("give the same number of values for every known attribute")
    return Targets(asked, known, counts.pop())


def sensitive_attribute(release: AttributeList, name: str | None = None) -> int:
    """The position of the sensitive attribute that is asked about; of a quasi-identifier where none is sensitive."""
    possible = asked_in_turn(release.attributes)
    names = [release.attributes[i].name for i in possible]
    kind = "quasi-identifier" if possible and not release.with_role(Role.SENSITIVE) else "sensitive attribute"
    if name is not None:
        if name not in names:
            raise UsageError(f"unknown {kind} {name!r}; choose from {', '.join(names) or 'none'}")
        return possible[names.index(name)]
    if len(possible) != 1:
        choices = f"--asked {' or --asked '.join(names)}" if names else "the schema has none"
        raise UsageError(f"say which {kind} to ask about: {choices}")
    return possible[0]
