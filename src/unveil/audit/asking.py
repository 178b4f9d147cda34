"""Whom an audit asks about, and what every reader believes of them: one release, one sensitive attribute."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import hypot, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil import risk
from unveil.attackers.posterior.chain_facts import count_of
from unveil.attackers.posterior.contract import Chains, Posterior
from unveil.attackers.posterior.convergence import FAR
from unveil.attackers.posterior.linked_posterior import LinkedPosterior
from unveil.audit.attack import Attack, run_attack, run_attacks, run_channel_attack, starts_of_table
from unveil.data.attribute import Attribute, Role, asked_in_turn
from unveil.data.belief import Belief, Estimate, Known, Prior, Targets, every_known
from unveil.data.release import Release
from unveil.data.rows import rows_of
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable, Stopped, UsageError, shown
from unveil.formats.cells import write_cells
from unveil.formats.tables import Columns
from unveil.risk.sampling import below_baseline
from unveil.utility.faithfulness import faithfulness, original_as

__all__ = [
    "Answers",
    "Readers",
    "answers",
    "asked_of",
    "check_unnamed",
    "code_people",
    "doubts",
    "guessed_right",
    "published_targets",
    "stated_chances",
    "with_stated",
]

MOST_VALUES_UNNAMED = 1000  # of an attribute that nobody named: everybody's beliefs in all of them are kept
READINGS = "readings"  # the fact that several readings of a release fit
DRAWS = 10_000  # for faithfulness over a large domain: an error of about .005


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """Who reads, what they know of a person, and how long chains run."""

    attackers: Mapping[str, Any]
    known: tuple[str, ...] | None = None  # None: every quasi-identifier that is published
    wrong: float = 0.0
    alpha: float = 1.0
    beta: float = 1.0
    prior: Callable[[Release, int], Prior] | None = None  # for a release and the attribute asked about
    joined: tuple[tuple[str, ...], ...] = ()  # attributes that the model takes as one
    chains: Chains = field(default_factory=Chains)
    engine: Engine = field(default_factory=lambda: Engine(seed=0))
    in_group: Mapping[str, Any] = field(default_factory=dict)  # attackers who also know the group

    def prior_of(self, release: Release, asked: int) -> Prior:
        """The prior for one attribute: given, or the same pseudo-count for every value."""
        if self.prior is not None:
            return self.prior(release, asked)
        return Prior.uninformative(release, asked, alpha=self.alpha, beta=self.beta)

    def known_of(self, release: Release, asked: int) -> list[str]:
        """What is known of a target: the published ones among what was said, or all quasi-identifiers."""
        if self.known is None:
            return [release.attributes[i].name for i in release.with_role(Role.QUASI_IDENTIFIER) if i != asked]
        published = {a.name for a in release.attributes}
        return [name for name in self.known if name in published and name != release.attributes[asked].name]

    def target_words(self, names: Sequence[str], *, coarse: bool, every: str = "all quasi-identifiers") -> str:
        """What is known of a target, for the threat model."""
        words = every if self.known is None else ", ".join(names)
        if not names:
            words = "nothing"
        if coarse and names:
            words += ", as coarsely as published"
        return words + (f"; each wrong with probability {self.wrong:g}" if self.wrong else "")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answers:
    """What every reader believes of the same people, then of the controls."""

    release: Release
    attribute: Attribute
    learner: Belief
    attackers: Mapping[str, Belief]
    refused: Mapping[str, str]  # by attacker: why it does not apply
    truth: NDArray[np.integer] | None  # (people,)
    held: NDArray[np.int64] | None  # (values,) how many of everybody hold each, sampled or not
    targets: Targets  # people only
    row: NDArray[np.int64]  # (people,) the original row of each
    controls: "Controls | None"
    unplaced: int  # people who fit no row
    ideal: Belief | None
    faithful: Estimate | None
    learned: Posterior | None = None  # what the release teaches of the population: large, not to be kept
    also_asked: tuple[Attack, ...] = ()  # of others who were asked about at once
    without: Mapping[str, Belief] = field(default_factory=dict)  # the learner without their group: see Attack

    def __repr__(self) -> str:
        readers = {"learner": self.learner, **self.attackers}
        told = [f"  {name}: {belief.diagnostics.method}" for name, belief in readers.items()]
        return "\n".join([f"Answers: {self.attribute.name} of {len(self.row):,} people", *told[:8]])

    def known_texts(self) -> dict[str, list[str]]:
        """What is known of each person, as text, by attribute."""
        found = {}
        for index, known in self.targets.known.items():
            texts = np.array(write_cells(known.regions, self.release.true_attributes[index]), dtype=object)
            found[self.release.attributes[index].name] = texts[known.of_target].tolist()
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Controls:
    """What the attackers believe of people who are not in the table."""

    attackers: Mapping[str, Belief]
    truth: NDArray[np.integer]
    unplaced: int


def asked_of(release: Release, names: Sequence[str] | None = None) -> tuple[int, ...]:
    """Positions of the attributes that readers are asked about, those named if any are."""
    possible = asked_in_turn(release.attributes)
    return possible if names is None else tuple(i for i in possible if release.attributes[i].name in names)


def check_unnamed(release: Release, asked: int) -> None:
    """Refuse to ask about a quasi-identifier that nobody named if that would take very long."""
    attribute = release.attributes[asked]
    if attribute.role is not Role.QUASI_IDENTIFIER:
        return
    if attribute.codes > MOST_VALUES_UNNAMED:
        raise NotApplicable(f"it has {attribute.codes:,} values and is not sensitive; declare bins, or name it (asked)")
    if (release.regions[asked].sizes > 1).any():
        raise NotApplicable("it is published in wider cells and is not sensitive; name it (asked), which takes long")


def answers(
    release: Release,
    asked: int,
    readers: Readers,
    *,
    table: Table | None,
    rows: NDArray[np.int64] | None = None,
    control: Table | None = None,
    group: NDArray[np.integer] | None = None,
    also_asked: Sequence[Targets] = (),
    enough: Callable[[Mapping[str, Belief]], bool] | None = None,
    stated: Release | None = None,
) -> Answers:
    """Ask every reader; what the release teaches is learned once. `rows`: a sample of the original's.

    `also_asked`: others to ask the same chains about, if no attributes are joined. `enough`: see `learn`. `stated`: the
    release row by row, where it says with what chances categories were changed: the Bayesian reader is then a model of
    the true values behind all rows.
    """
    names = readers.known_of(release, asked)
    attribute = release.true_attributes[asked]
    if release.perturbed and (readers.prior is not None or readers.joined):
        raise NotApplicable("with perturbed values, priors and joined attributes are not supported")
    row = np.arange(release.rows if table is None else table.rows, dtype=np.int64)
    if table is None:
        people = published_targets(release, asked, names, readers.wrong)
        truth = held = None
    else:
        people = targets_of_table(table, release, asked, known=names, wrong=readers.wrong)
        truth = table.columns[table.index(attribute.name)]
        held = np.bincount(truth, minlength=attribute.codes)
    if rows is not None:
        people, row = people.take(rows), row[rows]
        truth = None if truth is None else truth[rows]
        group = None if group is None else group[rows]
    everyone = people
    if control is not None:
        others = targets_of_table(control, release, asked, known=names, wrong=readers.wrong)
        everyone = _together(people, others)
    prior = readers.prior_of(release, asked)
    engine = readers.engine  # as `unveil attack attribute` has it: the same seed gives the same beliefs
    told_of: dict[str, Any] = {
        "prior": prior,
        "engine": engine,
        "chains": readers.chains,
        "lenient": True,
        "in_group": readers.in_group if group is not None else None,
        "group": group,
        # Where links are hidden the sampler is tried from the truth and its mirror images; nobody is told.
        "starts": ()
        if table is None or len(release.blocks) == 1 or release.perturbed
        else starts_of_table(table, release, asked),
        "left_out": not release.perturbed,  # groups of rows that noise tells apart are no groups to leave out
        "enough": enough,
    }
    if also_asked:
        found, *others_too = run_attacks(release, [everyone, *also_asked], readers.attackers, **told_of)
    else:
        found, others_too = run_attack(release, everyone, readers.attackers, joined=readers.joined, **told_of), []
    if stated is not None and table is not None and not readers.wrong:
        found = with_stated(found, stated, table, asked, readers, names, rows)
    assert found.placed is not None
    refused = dict(found.refused)
    words = readers.target_words(names, coarse=table is None, every=every_known(release, asked))
    mine = np.arange(people.count)
    learner, told = _told(found.learner, words), {n: _told(belief, words) for n, belief in found.attackers.items()}
    if truth is not None and not readers.joined and READINGS in learner.diagnostics.facts:
        said = _readings(found.learned, people, truth, found.placed[mine])
        learner, told = _saying(learner, said), {name: _saying(belief, said) for name, belief in told.items()}
    controls = None
    if control is not None:
        theirs = np.arange(people.count, everyone.count)
        controls = Controls(
            {name: told[name].of(theirs) for name in told if name not in readers.in_group},  # controls have no group
            control.columns[control.index(attribute.name)],
            int((~found.placed[theirs]).sum()),
        )
    ideal = faithful = None
    if table is not None and not release.perturbed:
        run: dict[str, Any] = {"prior": prior, "engine": engine, "chains": readers.chains, "joined": readers.joined}
        try:
            as_is = run_attack(original_as(release, table), people, {}, **run)
            ideal = as_is.learner
            # Chains are drawn again, under another name: those of the original must not share the release's draws.
            there = as_is.learned if ideal.exact else None
            faithful = faithfulness(release, table, asked, draws=DRAWS, learned=found.learned, ideal=there, **run)
        except (NotApplicable, Stopped):  # what was believed of the release is kept
            pass
    learner, told = learner.of(mine), {name: belief.of(mine) for name, belief in told.items()}
    if truth is not None:
        told = _doubted(learner, told, readers.attackers, truth)
    return Answers(
        release=release,
        attribute=attribute,
        learner=learner,
        attackers=told,
        refused=refused,
        truth=truth,
        held=held,
        targets=people,
        row=row,
        controls=controls,
        unplaced=int((~found.placed[mine]).sum()),
        ideal=ideal,
        faithful=faithful,
        learned=found.learned if isinstance(found.learned, LinkedPosterior) else None,  # others serve no later question
        also_asked=tuple(replace(attack, learned=None) for attack in others_too),
        without={name: _told(belief, words).of(mine) for name, belief in found.without.items()},
    )


def stated_chances(release: Release) -> bool:
    """Whether a release says of all that was perturbed with what chances, and nothing else was done to it."""
    if not release.row_by_row or any(one.channel is None for one in release.perturbed.values()):
        return False
    return not rows_of(release).wide


def with_stated(
    found: Attack,
    stated: Release,
    table: Table,
    asked: int,
    readers: Readers,
    names: Sequence[str],
    rows: NDArray[np.int64] | None,
) -> Attack:
    """The same with the learner and the Bayesian reader of a channel that is published, where they can be asked."""
    bayesian, people = readers.attackers.get("bayesian"), table.rows if rows is None else len(rows)
    if bayesian is None or bayesian.membership != 1 or found.targets.count != people:
        return found
    given: dict[str, Any] = {name: getattr(readers, name) for name in ("alpha", "beta", "engine", "chains")}
    try:
        told = run_channel_attack(stated, table, asked, known=list(names), **given)
    except NotApplicable:  # too many pairs of a person and a row
        return found
    learner, model = told.learner, told.attackers["bayesian"]
    if rows is not None:
        learner, model = learner.of(rows), model.of(rows)
    return replace(found, learner=learner, attackers={**found.attackers, "bayesian": model}, without={})


def published_targets(release: Release, asked: int, names: Sequence[str], wrong: float = 0.0) -> Targets:
    """Every published row as a target of whom its own cells are known: nobody's truth, and no one's exact values.

    Where the link between blocks is hidden, the block with the most known attributes speaks for the person.
    """
    known = [i for i in (release.index(name) for name in names) if i != asked]
    counts = [sum(i in known for i in block.attributes) for block in release.blocks]
    block = release.blocks[int(np.argmax(counts))]
    entry = np.repeat(np.arange(len(block.cell)), block.count)
    found = {
        i: Known(release.regions[i], block.region(i)[entry].astype(np.int64), wrong)
        for i in block.attributes
        if i in known
    }
    return Targets(asked, found, release.rows)


def code_people(columns: Columns, attributes: Sequence[Attribute], name: str) -> Table:
    """People from another file, coded by the domains of the original's. Other columns are not looked at."""
    coded = []
    for attribute in attributes:
        column = columns.columns.get(attribute.name)
        if column is None:
            raise UsageError(f"{name}: no column {shown(attribute.name)}; these people need it as the original does")
        code_of_text = attribute.encode(column.texts, columns.decimal)
        if (code_of_text < 0).any():
            text = column.texts[int(np.flatnonzero(code_of_text < 0)[0])]
            raise UsageError(
                f"{name}, {attribute.name}: {shown(text)} is not a value of the {attribute.source} domain; "
                "declare the domain in the schema"
            )
        coded.append(code_of_text.astype(attribute.dtype)[column.text_of_row])
    return Table(tuple(attributes), tuple(coded), name=name)


def _together(people: Targets, others: Targets) -> Targets:
    """People, then the others; both are known by single values."""
    known = {
        i: replace(k, of_target=np.concatenate([k.of_target, others.known[i].of_target]))
        for i, k in people.known.items()
    }
    return Targets(people.asked, known, people.count + others.count)


def _readings(learned: Any, people: Targets, truth: NDArray[np.integer], placed: NDArray[np.bool_]) -> str:
    """Which readings of the release fit it, and how often each would be right."""
    some = np.flatnonzero(placed)
    found = learned.readings(people.take(some))
    *weights, last = (f"{reading.weight:.1%}" for reading in found)
    right = [risk.global_threat(Belief(reading.probability), truth[some]).value for reading in found]
    *most, least = (f"{share:.0%}" for share in right)
    each = f"they are right about {', '.join(most)} and {least} of the people; what is believed here is their average"
    if len(found) == 2:
        each = (
            f"one is right about {most[0]} of the people, the other about {least}; what is believed here is the "
            "average of both"
        )
    shares = f"{', '.join(weights)} and {last}"
    return f"{count_of(found)} readings of the release fit it, with {shares} of the posterior: {each}"


def _saying(belief: Belief, readings: str) -> Belief:
    """The belief of a reader who met several readings of the release, with what each would say of these people."""
    judged = belief.diagnostics
    if READINGS not in judged.facts:
        return belief
    return replace(belief, diagnostics=replace(judged, facts={**judged.facts, READINGS: readings}))


def _doubted(
    learner: Belief, told: Mapping[str, Belief], attackers: Mapping[str, Any], truth: NDArray[np.integer]
) -> dict[str, Belief]:
    """Beliefs, those that are not to be trusted marked so: see `doubts`."""
    found, sampled = dict(told), {name: belief for name, belief in told.items() if belief.chains is not None}
    for name, said in doubts({"learner": learner, **_worlds(told)}, sampled, attackers, truth).items():
        judged = told[name].diagnostics
        facts = {"alarm": said, **judged.facts}
        found[name] = replace(told[name], diagnostics=replace(judged, facts=facts, converged=False, precise=False))
    return found


def doubts(
    less: Mapping[str, Belief],
    told: Mapping[str, Belief],
    attackers: Mapping[str, Any],
    truth: NDArray[np.integer],
) -> dict[str, str]:
    """Why readers who learn from the release are not trusted, by name: whoever does far worse than `less`, who know
    less. Who does a little worse may only have another model."""
    right = {name: guessed_right(belief, truth) for name, belief in less.items()}
    found = {}
    for name, belief in told.items():
        attacker = attackers.get(name)
        learns = attacker is not None and (attacker.asks() or hasattr(attacker, "left_out"))
        if name in less or not learns:
            continue
        own = guessed_right(belief, truth)
        far = {other: one for other, one in right.items() if one.value > own.value + FAR}
        if said := below_baseline(own, **far):
            found[name] = f"{name} {said}"
    return found


def _worlds(told: Mapping[str, Belief]) -> dict[str, Belief]:
    """Random worlds, if they were asked: they learn nothing."""
    return {name: told[name] for name in ("random_worlds",) if name in told}


def guessed_right(belief: Belief, truth: NDArray[np.integer]) -> Estimate:
    """How many are guessed right, by the chains' error and by luck: few people may be guessed wrong by chance."""
    found = risk.global_threat(belief, truth)
    value, luck = found.value, 1.96 * sqrt(found.value * (1 - found.value) / len(truth))
    low, high = value - hypot(value - found.low, luck), value + hypot(found.high - value, luck)
    return Estimate(value, max(low, 0.0), min(high, 1.0))


def _told(belief: Belief, words: str) -> Belief:
    return replace(belief, threat=replace(belief.threat, target=words))
