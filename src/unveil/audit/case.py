"""A case: what is judged, who reads it and knows what, and by which limits; loaded once and handed to every run."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.bayesian import Bayesian
from unveil.attackers.boosted import Boosted
from unveil.attackers.fixed_prior import FixedPrior
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.posterior.convergence import PRECISION
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit.asking import Readers, asked_of
from unveil.audit.background import Asked, Background
from unveil.audit.belief_measures import labels_of
from unveil.audit.combination_limits import combination_limits, split_limits
from unveil.audit.document import FindingId, Input
from unveil.audit.limits import Limit, Preset, check_limits, read_presets, refuse_reversed_limits
from unveil.audit.measures import COMPOSED, COMPOSED_LEARNED
from unveil.audit.membership import MembershipQuestion
from unveil.audit.verdict import check_waivers
from unveil.data.attribute import Role
from unveil.data.belief import Prior
from unveil.data.display import Display, Summary
from unveil.data.release import Release
from unveil.data.rows import origin_of
from unveil.data.table import MOST_COUNTED, Table
from unveil.engine import Engine
from unveil.errors import UsageError, shown
from unveil.risk.composition import EarlierRelease
from unveil.risk.published_file import PublishedFile

__all__ = ["Case"]

IN_GROUP: Mapping[str, Any] = {"bayesian_in_group": Bayesian(), "boosted_in_group": Boosted()}
MOST_COMBINATIONS = 200
PART_OF_SAMPLE = 0.2  # of the standard error of a sample's share: added in squares, it widens an interval by 2%
FEW = 20  # names that an error lists
_SAID = {True: "sensitive", False: "harmless", None: "not said"}  # of being in the table
ReleaseType = Literal["not stated", "public", "controlled", "internal"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Case(Display):
    """What is judged, who reads it and knows what, and by which limits.

    Where the schema names no sensitive attribute, each quasi-identifier is asked about in turn, all others known.
    Without the original, targets are the published rows as coarsely as they stand there, and success is unknown.
    """

    releases: Mapping[str, Release]
    original: Table | None = None
    control: Table | None = None  # people known not to be in the table
    population: Table | None = None  # everyone among whom someone may look; only its quasi-identifiers are read
    # By release: the group of each original row, -1 = not published; with perturbed columns each row is a group.
    assignments: Mapping[str, NDArray[np.integer]] = field(default_factory=dict)

    earlier: Mapping[str, EarlierRelease] = field(default_factory=dict)  # what is already out about these people
    not_combined: Mapping[str, str] = field(default_factory=dict)  # what is out but cannot be read, each with why
    nothing_else: bool = False  # a ledger was read, and holds no other release
    within: Mapping[str, float] = field(default_factory=dict)  # by perturbed number: how far it may have been moved

    attackers: Mapping[str, Any] | None = None  # None: bayesian, boosted, random_worlds; with a prior fixed_prior
    known: Sequence[str] | None = None  # of a person; None: every quasi-identifier
    combinations: Sequence[Sequence[str]] = ()  # of known attributes, each asked about by itself, as a table
    wrong: float = 0.0  # probability that a known attribute is wrong
    alpha: float = 1.0
    beta: float = 1.0
    prior: Callable[[Release, int], Prior] | None = None  # of the population, for a release and the attribute asked
    joined: Sequence[Sequence[str]] = ()  # attributes that the model takes as one, as in the schema
    chains: Chains = field(default_factory=Chains)
    digits: bool = True  # whether chains go on where inference is surely exceeded already
    engine: Engine = field(default_factory=lambda: Engine(seed=0))

    asked: Sequence[str] | None = None  # only these attributes
    joint: bool = False  # all sensitive attributes as one, too
    sample: int | None = None  # ask about this many people, drawn at random
    panel: bool = True  # readers a little unlike these, too: see audit.panel
    membership: MembershipQuestion | None = MembershipQuestion()  # noqa: RUF009  frozen; None: it is not measured
    earlier_releases: Sequence[str] | None = None  # published about these people; None: nobody said, (): nothing was
    population_register: Literal["available", "none"] | None = None  # to a recipient; None: nobody said
    background: Asked = "auto"  # readers with background knowledge: if it is cheap; None: none

    limits: Sequence[str] = ()
    preset: str | None = None
    presets: Mapping[str, Preset] | None = None  # None: those that come with unveil

    release_type: ReleaseType = "not stated"
    recipient: str | None = None
    variant: Literal["internal", "external"] = "internal"
    least_count: int = 10  # the least count that an external document shows

    waive: Mapping[str, str] = field(default_factory=dict)  # kinds of disclosure that are not judged, each with why
    files: Mapping[str, PublishedFile] = field(default_factory=dict)  # the releases as a stranger reads them, by name

    earlier_files: Mapping[str, PublishedFile] = field(default_factory=dict)  # the same of what is already out
    registers: Mapping[str, PublishedFile] = field(default_factory=dict)  # the same beside the population

    inputs: Sequence[Input] = ()  # the files that were read, for the record
    cells: Sequence[str] = ()  # notations that releases were read with
    key: str | None = None  # the column by which rows were paired

    def __post_init__(self) -> None:
        once = tuple(tuple(dict.fromkeys(names)) for names in self.combinations)
        object.__setattr__(self, "combinations", once)

    def summary(self) -> Summary:
        lines = [(name, release.rows, len(release.attributes)) for name, release in self.releases.items()]
        more = "" if self.original is None else f" of {self.original.rows:,} people"
        count = len(self.releases)
        return f"Case: {count} release{'s' * (count != 1)}{more}", ("release", "rows", "attributes"), lines

    @property
    def readers(self) -> Readers:
        """Who reads, and what they know of a person."""
        attackers = self.attackers
        if attackers is None:
            attackers = {"bayesian": Bayesian(), "boosted": Boosted(), "random_worlds": RandomWorlds()}
            attackers |= {"fixed_prior": FixedPrior()} if self.prior is not None else {}
        grouped = any(name in self.releases and not self.releases[name].perturbed for name in self.assignments)
        return Readers(
            attackers=attackers,
            known=None if self.known is None else tuple(self.known),
            wrong=self.wrong,
            alpha=self.alpha,
            beta=self.beta,
            prior=self.prior,
            joined=tuple(tuple(names) for names in self.joined),
            chains=self._chains,
            engine=self.engine,
            in_group=dict(IN_GROUP) if grouped else {},
        )

    @property
    def _chains(self) -> Chains:
        """As stated; of a sample of people as precise as its own error can tell, unless a precision was asked for."""
        people = min(r.rows for r in self.releases.values()) if self.original is None else self.original.rows
        if self.sample is None or self.sample >= people or self.chains.precision != PRECISION:
            return self.chains
        return replace(self.chains, precision=max(PRECISION, PART_OF_SAMPLE / 2 / max(self.sample, 1) ** 0.5))

    @property
    def attacker_names(self) -> tuple[str, ...]:
        """The names of all attackers."""
        readers = self.readers
        composed = (COMPOSED, COMPOSED_LEARNED) if self.earlier else ()
        return (*readers.attackers, *readers.in_group, *composed)

    @property
    def least(self) -> int:
        """The least count that may be shown; 0: every count."""
        return self.least_count if self.variant == "external" else 0

    @property
    def shown_inputs(self) -> tuple[Input, ...]:
        """The files that the document names. A hash of the original is an oracle for guesses, its name a hint: an
        external document names published files only.
        """
        return tuple(one for one in self.inputs if one.published or self.variant == "internal")

    def at(self, engine: Engine) -> "Case":
        """The same, worked on by this engine."""
        return replace(self, engine=engine)

    def stated_limits(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Every limit, the preset's first: those on the release, and those on combinations of known attributes."""
        stated, on_combinations = split_limits((*self.preset_limits(), *self.limits))
        return stated, on_combinations

    def preset_limits(self) -> tuple[str, ...]:
        """The limits of the preset, if one was named."""
        if self.preset is None:
            return ()
        presets = read_presets() if self.presets is None else self.presets
        if self.preset not in presets:
            raise UsageError(f"unknown preset {shown(self.preset)}; choose from {', '.join(presets)}")
        return presets[self.preset].limits

    def combination_limits(self) -> list[Limit]:
        """The limits on combinations of known attributes."""
        return combination_limits(self.stated_limits()[1], self.combinations)

    def limited(self) -> list[FindingId]:
        """The findings that limits name."""
        return check_limits(self.stated_limits()[0], self.attacker_names)

    def wanted(self) -> list[str]:
        """Measures and statistics that limits name of readers, without the reader."""
        return [part.name for part in self.limited() if part.reader not in ("ideal", "background", "known")]

    def check(self) -> None:
        """Refuse what makes no sense, before the work."""
        if not self.releases:
            raise UsageError("name at least one release to audit")
        if self.attackers is not None and not self.attackers:
            raise UsageError("an audit needs at least one attacker")
        clash = {"learner", "learner_without", "ideal", COMPOSED, COMPOSED_LEARNED} & set(self.attackers or ())
        if clash:
            raise UsageError(f"{clash.pop()} always runs; leave it out of the attackers")
        if not 0 <= self.wrong < 1:
            raise UsageError(f"the probability of a wrong attribute must lie in [0, 1), not {self.wrong:g}")
        if self.sample is not None and self.sample < 1:
            raise UsageError(f"a sample of {self.sample} people says nothing; choose 1 or more")
        if self.least_count < 1:
            raise UsageError(f"the least count shown must be 1 or more, not {self.least_count}")
        check_waivers(self.waive)
        self._check_original()
        self._check_names()
        labels: set[str] = set()
        for release in self.releases.values():
            for index in asked_of(release, self.asked):
                labels |= set(labels_of(release.true_attributes[index]))
        check_limits(self.stated_limits()[0], self.attacker_names, None if self.joint else labels)
        refuse_reversed_limits(self.stated_limits()[0])
        self.combination_limits()

    def _check_original(self) -> None:
        """What needs the original, and whether its rows and domains are the releases'."""
        for name, earlier in self.earlier.items():
            if earlier.group is not None and (self.original is None or len(earlier.group) != self.original.rows):
                raise UsageError(f"the groups of {name} must be those of the original's rows")
        for name, release in self.releases.items():
            if self.original is None and release.rows > MOST_COUNTED:
                raise UsageError(
                    f"{name}: its counts add up to {release.rows:,} people, over {MOST_COUNTED:,}, and without the "
                    "original each of them is asked about; unveil check takes any number"
                )
        if self.original is None and (self.control is not None or self.assignments):
            what = "control people" if self.control is not None else "an assignment"
            raise UsageError(f"{what} can be used only with the original")
        for name, group in self.assignments.items():
            if name not in self.releases:
                raise UsageError(f"there is an assignment for {shown(name)}, but no such release")
            assert self.original is not None
            if len(group) != self.original.rows:
                raise UsageError(f"the assignment of {name} has {len(group)} rows, the original {self.original.rows}")
            if self.releases[name].perturbed:
                origin_of(self.releases[name], group)
        if self.population is None:
            return
        held = {a.name: a.codes for a in self.population.attributes}
        for name, release in self.releases.items():
            for index in release.with_role(Role.QUASI_IDENTIFIER):
                if held.get(release.attributes[index].name) != release.true_attributes[index].codes:
                    what = shown(release.attributes[index].name)
                    raise UsageError(f"the population has no {what}, or its domain is not that of {name}")

    def _check_names(self) -> None:
        """Attributes that are asked about or known must be published."""
        possible = {r.attributes[i].name for r in self.releases.values() for i in asked_of(r)}
        strange = [n for n in self.asked or () if n not in possible]
        if strange or (self.asked is not None and not self.asked):
            what = f"cannot ask about {shown(strange[0])}" if strange else "nothing is asked about"
            raise UsageError(
                f"{what}; choose from {', '.join(sorted(possible)) or 'nothing: no attribute is sensitive'}"
            )
        published = {a.name for release in self.releases.values() for a in release.attributes}
        if len(self.combinations) > MOST_COMBINATIONS:
            raise UsageError(
                f"{len(self.combinations)} combinations of known attributes: give at most {MOST_COMBINATIONS}"
            )
        if not all(self.combinations):
            raise UsageError("a combination of known attributes names none; give --known A,B")
        for names in (self.known or (), *self.combinations):
            for name in names:
                if name not in published:
                    close = difflib.get_close_matches(name, published, n=5, cutoff=0.5) or sorted(published)[:FEW]
                    more = f" and {len(published) - FEW} others" if len(close) == FEW < len(published) else ""
                    raise UsageError(f"unknown attribute {shown(name)} in known; choose from {', '.join(close)}{more}")

    def settings(self) -> dict[str, Any]:
        """What was asked for, as a document holds it."""
        readers, (stated, on_combinations) = self.readers, self.stated_limits()
        found: dict[str, Any] = {
            "releases": list(self.releases),
            "original": self._named(self.original),
            "release_type": self.release_type,
            "recipient": self.recipient,
            "attackers": list(self.attacker_names),
            "asked": None if self.asked is None else list(self.asked),
            "known": None if self.known is None else list(self.known),
            "wrong": self.wrong,
            "alpha": self.alpha,
            "beta": self.beta,
            "prior": None if self.prior is None else "given",
            "chains": readers.chains.chains,
            "sweeps": readers.chains.sweeps,
            "most_sweeps": readers.chains.most_sweeps,
            "precision": readers.chains.precision,
            "seed": self.engine.stated_seed,
            "sample": self.sample,
            "control": self._named(self.control),
            "population": self._named(self.population),
            "joint": self.joint,
            "background": asdict(self.background) if isinstance(self.background, Background) else self.background,
            "preset": self.preset,
            "limits": [*stated, *on_combinations],
            "variant": self.variant,
            "least_count": self.least_count,
            "membership": None if self.membership is None else _SAID[self.membership.sensitive],
        }
        found |= {"earlier": [*self.earlier, *self.not_combined]} if self.earlier or self.not_combined else {}
        found |= {"within": dict(self.within)} if self.within else {}
        found |= {"waived": dict(self.waive)} if self.waive else {}
        found |= {"cells": list(self.cells)} if self.cells else {}
        found |= {} if self.key is None else {"key": self.key}
        found |= {} if self.panel else {"panel": False}
        found |= {"combinations": [list(names) for names in self.combinations]} if self.combinations else {}
        return found

    def _named(self, table: Table | None) -> str | None:
        """A table that is not published, as a document names it."""
        if table is None:
            return None
        return "given" if self.variant == "external" else Path(table.name).name
