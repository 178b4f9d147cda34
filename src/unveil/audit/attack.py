"""Attack: what one or more attackers believe of each person, beside the learner."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.learner import Learner
from unveil.attackers.learner_without import LearnerWithout
from unveil.attackers.posterior.channel import channel_beliefs
from unveil.attackers.posterior.contract import Attacker, Chains, Posterior, learn
from unveil.attackers.posterior.fits import Fitted, check_targets
from unveil.attackers.posterior.joined import join
from unveil.catalog import attacker as attacker_of
from unveil.data.belief import Belief, Known, Prior, Targets, describe_targets, sensitive_attribute
from unveil.data.display import Display, Summary
from unveil.data.mixture import behind_of_truth, shown_targets
from unveil.data.release import Release
from unveil.data.rows import rows_of
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError, shown
from unveil.formats.cells import CellError, read_cells, write_cells
from unveil.formats.tables import Columns
from unveil.risk import global_threat

__all__ = ["Attack", "attack", "run_attack", "run_attacks", "run_channel_attack", "starts_of_table", "targets_of_file"]

WITHOUT = "\1"  # before the name of an attacker: its learner without the person's group
MOST_VALUES = 1000  # of a number that is asked about
MOST_SHARES = 1 << 20  # of one attribute in a start; chains cannot be run over larger domains either


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attack(Display):
    """Beliefs about the same people: the learner's, and each attacker's by name."""

    learner: Belief
    attackers: Mapping[str, Belief]
    targets: Targets
    placed: NDArray[np.bool_] | None = None  # (targets,) who fits a row of the release, where that was asked
    refused: Mapping[str, str] = field(default_factory=dict)  # by attacker: why it says nothing
    learned: Posterior | None = None  # what the release teaches of the population
    truth: NDArray[np.integer] | None = None  # (targets,) their values, where the targets are rows of a table
    without: Mapping[str, Belief] = field(default_factory=dict)  # the learner without the person's group: by attacker
    # that has one of its own, "" for all others; empty if it was not asked

    def summary(self) -> Summary:
        lines = []
        for name, belief in {"learner": self.learner, **self.attackers}.items():
            right = "unknown" if self.truth is None else f"{global_threat(belief, self.truth).value:.1%}"
            lines.append((name, right, "exact" if belief.exact else "sampled"))
        lines += [(name, "does not apply", "") for name in self.refused]
        return f"Attack on {len(self.learner.probability):,} people", ("reader", "guesses right", "beliefs"), lines

    def known_texts(self, release: Release) -> dict[str, list[str]]:
        """What is known of each target, as text, by attribute."""
        found = {}
        for index, known in self.targets.known.items():
            texts = np.array(write_cells(known.regions, release.true_attributes[index]), dtype=object)
            found[release.attributes[index].name] = texts[known.of_target].tolist()
        return found


def attack(
    release: Release,
    targets: Targets | Table,
    attackers: str | Sequence[str] | Mapping[str, Any] = "bayesian",
    *,
    asked: str | None = None,
    known: Sequence[str] | None = None,
    prior: Prior | None = None,
    engine: Engine | None = None,
    chains: Chains | None = None,
) -> Attack:
    """What attackers believe of each target, beside the learner: the Python form of `unveil attack attribute`.

    `targets`: a table, every row a person of whom the attributes `known` are known (all quasi-identifiers if not
    given), or Targets. `attackers`: their texts, for instance `bayesian:membership=0.5`, or attackers by name.
    `asked`: the sensitive attribute, if there are several.
    """
    if isinstance(attackers, str):
        attackers = [attackers]
    if not isinstance(attackers, Mapping):
        attackers = {text: attacker_of(text) for text in attackers}
    truth = None
    if isinstance(targets, Table):
        index = sensitive_attribute(release, asked)
        truth = targets.columns[targets.index(release.attributes[index].name)]
        targets = targets_of_table(targets, release, index, known=known)
    elif asked is not None or known is not None:
        raise UsageError("targets say themselves what is asked and known; give these with a table")
    engine = Engine(seed=0) if engine is None else engine
    return replace(run_attack(release, targets, attackers, prior=prior, engine=engine, chains=chains), truth=truth)


class AttackOptions(TypedDict, total=False):
    """What an attack may be told beside whom it asks about whom."""

    prior: Prior | None
    engine: Engine | None
    chains: Chains | None
    lenient: bool  # of a target that fits no row an attacker believes what the learner does, and an attacker that
    # does not apply is named in `refused`; else both are errors
    in_group: Mapping[str, Attacker] | None  # who also know the `group` of the first targets; asked about these alone
    group: NDArray[np.integer] | None
    starts: Sequence[Mapping[int, NDArray[np.float64]]]  # shares from which the sampler is tried: `starts_of_table`
    left_out: bool  # ask the learner without the person's group, too
    enough: Callable[[Mapping[str, Belief]], bool] | None  # see `learn`


def run_attack(
    release: Release,
    targets: Targets,
    attackers: Mapping[str, Attacker],
    *,
    joined: Sequence[Sequence[str]] = (),
    **options: Unpack[AttackOptions],
) -> Attack:
    """Ask the learner and every attacker about the targets; what is learned from the release is learned once.

    `joined`: names of attributes that the model takes as one, as in the schema.
    """
    if release.perturbed:
        return _run_perturbed(
            release, [targets], options, lambda r, t, told: [run_attack(r, t[0], attackers, joined=joined, **told)]
        )[0]
    if joined:
        return _run_joined(release, targets, attackers, joined, options)
    return run_attacks(release, [targets], attackers, **options)[0]


def run_attacks(
    release: Release,
    several: Sequence[Targets],
    attackers: Mapping[str, Attacker],
    *,
    learned: Posterior | None = None,
    **options: Unpack[AttackOptions],
) -> list[Attack]:
    """run_attack for several sets of targets of one attribute: chains run once, until all of them are answered.

    `in_group`, `group` and `left_out` are about the first set. `learned`: of an attack on the same release with the
    same settings, which then goes on from there.
    """
    if release.perturbed:
        return _run_perturbed(
            release, several, options, lambda r, t, told: run_attacks(r, t, attackers, learned=learned, **told)
        )
    for targets in several:
        check_targets(release, targets)
    index = several[0].asked
    if any(targets.asked != index for targets in several):
        raise UsageError("targets that are asked about together are asked about one attribute")
    asked, lenient = release.attributes[index], options.get("lenient", False)
    if asked.kind.measured and asked.codes > MOST_VALUES:
        raise NotApplicable(f"{asked.name} has {asked.codes} values, over 1,000; declare bins for it")
    within = options.get("in_group") or {}
    asking = [
        _Inquiry.of(release, targets, attackers, {} if number else within, options.get("group"), lenient=lenient)
        for number, targets in enumerate(several)
    ]
    everyone: dict[str, tuple[Attacker, Targets]] = {}
    for number, one in enumerate(asking):
        everyone |= {_key(name, number): asked_about for name, asked_about in one.attackers().items()}
    if options.get("left_out"):
        everyone |= asking[0].left_out()
    refused: dict[str, str] = {}
    prior, engine, chains = options.get("prior"), options.get("engine"), options.get("chains")
    given = (
        Prior.uninformative(release, index) if prior is None else prior,
        Engine(seed=0) if engine is None else engine,
        Chains() if chains is None else chains,
    )
    starts, enough = options.get("starts", ()), options.get("enough")
    told = (*given, everyone, refused, learned, starts)
    beliefs, learned = learn(release, index, *told, lenient=lenient, enough=enough)
    return [one.attack(learned, beliefs, refused, number) for number, one in enumerate(asking)]


def _run_perturbed(
    release: Release,
    several: Sequence[Targets],
    options: AttackOptions,
    run: Callable[[Release, list[Targets], AttackOptions], list[Attack]],
) -> list[Attack]:
    """The same of a release with perturbed columns, which is read as what it shows.

    What is known of a person is turned into likelihoods of what is shown, and beliefs about what is shown into beliefs
    about true values. A channel of which nobody knows anything is refused: nobody could say what is understated.
    """
    asked, enough = release.perturbed.get(several[0].asked), options.get("enough")
    if asked is not None and asked.behind is None:
        raise NotApplicable(f"{asked.true.name} was perturbed, and nothing says how: neither chances nor the original")
    if asked is not None and asked.true.codes > MOST_VALUES:
        name = asked.true.name
        raise NotApplicable(f"{name} has {asked.true.codes:,} values, over {MOST_VALUES:,}; declare bins for it")
    if asked is not None and enough is not None:  # beliefs about true values decide
        of_shown = partial(behind_of_truth, asked)
        options = {**options, "enough": lambda beliefs: enough({n: of_shown(b) for n, b in beliefs.items()})}
    found = run(replace(release, perturbed={}), [shown_targets(release, targets) for targets in several], options)
    how = ", ".join(sorted({one.source for one in release.perturbed.values() if one.source}))

    def of_truth(belief: Belief) -> Belief:
        told = belief if asked is None else behind_of_truth(asked, belief)
        return replace(told, threat=replace(told.threat, mechanism=f"known: what perturbed values say ({how})"))

    return [_retold(attack, of_truth, targets) for attack, targets in zip(found, several, strict=True)]


def _retold(attack: Attack, of: Callable[[Belief], Belief], targets: Targets) -> Attack:
    """The attack with every belief as told of these targets."""
    attackers, without = ({name: of(b) for name, b in some.items()} for some in (attack.attackers, attack.without))
    return replace(attack, learner=of(attack.learner), attackers=attackers, without=without, targets=targets)


def _key(name: str, number: int) -> str:
    """An attacker's name among several sets of targets; the first learner's stays empty: without it nothing is said."""
    return name if number == 0 else f"{name}\0{number}"


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """Who is asked about whom."""

    targets: Targets
    placed: NDArray[np.bool_]  # (targets,) who fits a row
    everyone: Mapping[str, Attacker]  # attackers by name
    fits: Mapping[str, NDArray[np.bool_]]  # which of the targets each can be asked about
    asked_of: Mapping[str, Targets]  # those
    lenient: bool

    @classmethod
    def of(
        cls,
        release: Release,
        targets: Targets,
        attackers: Mapping[str, Attacker],
        within: Mapping[str, Attacker],
        group: NDArray[np.integer] | None,
        *,
        lenient: bool,
    ) -> "_Inquiry":
        placed = _placed(release, targets) if lenient else np.ones(targets.count, dtype=np.bool_)
        whom = dict.fromkeys(attackers, targets)
        if within:
            known_group = np.asarray(group, dtype=np.int64)
            members = targets.take(np.arange(len(known_group)))
            whom |= dict.fromkeys(within, replace(members, group=known_group))
        fits = {name: placed[: of.count] for name, of in whom.items()}
        asked_of = {n: of if fits[n].all() else of.take(np.flatnonzero(fits[n])) for n, of in whom.items()}
        return cls(targets, placed, {**attackers, **within}, fits, asked_of, lenient)

    def attackers(self) -> dict[str, tuple[Attacker, Targets]]:
        """Who is asked about whom, the learner among them."""
        found: dict[str, tuple[Attacker, Targets]] = {"": (Learner(), self.targets)}
        return found | {n: (one, self.asked_of[n]) for n, one in self.everyone.items() if self.fits[n].any()}

    def left_out(self) -> dict[str, tuple[Attacker, Targets]]:
        """The learner without the person's group, and that of each attacker with a model of its own."""
        own = {n: one.left_out() for n, one in self.everyone.items() if hasattr(one, "left_out") and self.fits[n].any()}
        return {f"{WITHOUT}{name}": (one, self.targets) for name, one in {"": LearnerWithout(), **own}.items()}

    def attack(
        self, learned: Posterior, beliefs: Mapping[str, Belief], not_applicable: Mapping[str, str], number: int
    ) -> Attack:
        """What was believed of these targets."""
        learner = beliefs[_key("", number)]
        found, refused = {}, {}
        for name in self.everyone:
            there, key = self.fits[name], _key(name, number)
            if not there.any():
                refused[name] = "nobody asked about fits a row of the release"
            elif key in not_applicable:
                refused[name] = not_applicable[key]
            else:
                belief = beliefs[key]
                found[name] = belief if there.all() else _completed(belief, learner.of(np.arange(len(there))), there)
        placed = self.placed if self.lenient else None
        without = {name.removeprefix(WITHOUT): b for name, b in beliefs.items() if name.startswith(WITHOUT)}
        return Attack(learner, found, self.targets, placed, refused, learned, without={} if number else without)


def _placed(release: Release, targets: Targets) -> NDArray[np.bool_]:
    """(targets,) whether some row of the release fits what is known of the target."""
    distinct, number = targets.distinct()
    fitted = Fitted.of(release, distinct, merged=True)
    likelihood = {i: np.ones((len(overlaps.region), 1)) for i, overlaps in fitted.overlaps().items()}
    matched = {place: np.ones((len(release.blocks[place].cell), 1)) for place, _ in fitted.others}
    rows = np.ones((len(fitted.block.cell), 1))
    return np.asarray((fitted.weights(likelihood, matched, rows).sum(axis=1) > 0)[number])


def _completed(belief: Belief, learner: Belief, placed: NDArray[np.bool_]) -> Belief:
    """A belief about those who are placed, and the learner's about the others."""
    probability = learner.probability.copy()
    probability[placed] = belief.probability
    chains = None
    count = len(belief.chains) if belief.chains is not None else 0
    if belief.chains is not None or learner.chains is not None:
        count = count or len(learner.chains if learner.chains is not None else ())
        # The learner's chains stand beside the attacker's where there are as many: they share their draws.
        same = learner.chains is not None and len(learner.chains) == count
        chains = np.array(learner.chains) if same else np.repeat(learner.probability[None], count, axis=0)
        chains[:, placed] = belief.probability if belief.chains is None else belief.chains
    return replace(belief, probability=probability, chains=chains)


def _run_joined(
    release: Release,
    targets: Targets,
    attackers: Mapping[str, Attacker],
    joined: Sequence[Sequence[str]],
    options: AttackOptions,
) -> Attack:
    """The same over product domains; what is known is described in the release's own attributes."""
    check_targets(release, targets)
    one = join(release, joined, targets.asked)
    prior, group = options.get("prior"), options.get("group")
    held = Prior.uninformative(release, targets.asked) if prior is None else prior
    inside: AttackOptions = {
        **options,
        "prior": one.prior(held, targets.asked),
        "group": None if group is None else one.group[np.asarray(group, dtype=np.int64)],
        "starts": (),  # they speak of the release's own attributes, not of their combinations
    }
    found = run_attack(one.release, one.targets(targets), attackers, **inside)
    known = describe_targets(release, targets)
    return _retold(found, lambda belief: replace(belief, threat=replace(belief.threat, target=known)), targets)


def run_channel_attack(
    release: Release,
    table: Table,
    asked: int,
    *,
    known: Sequence[str] | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    engine: Engine | None = None,
    chains: Chains | None = None,
) -> Attack:
    """Ask the learner and the Bayesian attacker about every row of a table whose masked release says with what chances
    its categories changed (PRAM). Whose row is whose is not needed.
    """
    masked = rows_of(release)
    attribute = masked.attributes[asked]
    if attribute.kind.measured and attribute.codes > 1000:
        raise NotApplicable(f"{attribute.name} has {attribute.codes} values, over 1,000; declare bins for it")
    targets = targets_of_table(table, masked, asked, known=known)
    codes = {i: one.of_target for i, one in targets.known.items()}
    found = channel_beliefs(masked, asked, codes, alpha=alpha, beta=beta, engine=engine, chains=chains)
    return Attack(found.pop("learner"), found, targets)


def starts_of_table(
    table: Table, release: Release, asked: int, *, most: int = 3
) -> list[dict[int, NDArray[np.float64]]]:
    """Where a sampler is tried from: the table's own shares, and the same with the most frequent values trading places.

    An audit holds the original and may ask whether chains would stay there; no attacker is told.
    """
    attribute = release.attributes[asked]
    value = np.asarray(table.columns[table.index(attribute.name)], dtype=np.int64)
    own: dict[int, NDArray[np.float64]] = {}
    domain = {a.name: a.values for a in table.attributes}
    for index, other in enumerate(release.attributes):
        fits = domain.get(other.name) == other.values and attribute.codes * other.codes <= MOST_SHARES
        if index != asked and fits:
            code = np.asarray(table.columns[table.index(other.name)], dtype=np.int64)
            count = np.bincount(value * other.codes + code, minlength=attribute.codes * other.codes)
            shares = count.reshape(attribute.codes, other.codes) + 0.5
            own[index] = shares / shares.sum(axis=1, keepdims=True)
    frequent = np.argsort(-np.bincount(value, minlength=attribute.codes), kind="stable")[: most + 1]
    found = [own]
    for other_value in frequent[1:].tolist():
        order = np.arange(attribute.codes)
        order[[frequent[0], other_value]] = order[[other_value, frequent[0]]]
        found.append({index: shares[order] for index, shares in own.items()})
    return found[: most + 1]


def targets_of_file(
    columns: Columns,
    release: Release,
    asked: int,
    *,
    name: str,
    known: Sequence[str] | None = None,
    wrong: float = 0.0,
) -> Targets:
    """People as a file gives them: a column an attribute, a value or a coarser cell; empty = unknown.

    `known`: the columns to use, all if not given. Where empty is one of the schema's missing tokens it still means
    unknown; write another token for missing.
    """
    absent = [n for n in known or () if n not in columns.columns]
    if absent:
        raise UsageError(f"{name}: has no column {shown(absent[0])}; it has {', '.join(map(shown, columns.columns))}")
    found = {}
    for key, column in columns.columns.items():
        if known is not None and key not in known:
            continue
        if key not in [a.name for a in release.attributes]:
            raise UsageError(f"{name}: the release has no attribute {shown(key)}; leave the column out")
        index = release.index(key)
        if index == asked:
            raise UsageError(f"{name}: {shown(key)} is asked about, so it cannot be known; leave the column out")
        attribute = release.attributes[index]
        texts = [text if text else "*" for text in column.texts]
        try:
            regions = read_cells(texts, attribute, columns.decimal)
        except CellError as error:
            row = int(np.flatnonzero(np.asarray(column.text_of_row) == error.args[1])[0])
            raise UsageError(f"{name}, {columns.place(row)}, {key}: {error.args[0]}") from None
        found[index] = Known(regions, np.asarray(column.text_of_row, dtype=np.int64), wrong)
    return Targets(asked, found, columns.rows)
