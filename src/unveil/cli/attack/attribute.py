"""unveil attack attribute: what attackers believe of each person's sensitive value, beside the learner."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import unveil.cli.options as opt
from unveil.cli.load import load_case, with_project
from unveil.cli.output import give_results, long_work, say
from unveil.cli.settings import chains_of, dialect_of, one_name, one_set
from unveil.errors import UsageError

__all__ = ["AttributeOptions", "attribute"]


@dataclass(frozen=True, kw_only=True)
class AttributeOptions(
    opt.ReleaseCase,
    opt.ClusterOption,
    opt.ReportAndLimits,
    opt.CheckpointOptions,
    opt.EngineSettings,
    opt.ChainLengths,
    opt.Priors,
    opt.Pairing,
    opt.PeopleOptions,
    opt.AskedAndKnown,
    opt.Attackers,
    opt.OneRelease,
):
    """The options of an attack on attributes."""

    targets: Any = opt.data_option(
        "People to ask about instead of those in the original: known attributes, empty = unknown."
    )
    own_prior: Path | None = opt.option(
        "For fixed_prior: its prior for each target, a CSV with a column per value.", "FILE"
    )
    knowledge: str | None = opt.option(
        "What is known about everybody beforehand, e.g. kernel:bandwidth=0.3. Needs --original.", "NAME:options"
    )
    strength: float = opt.option("Mean pseudo-count of a value that --knowledge gives learners.", default=1.0)
    roster: bool = opt.flag(
        "--roster", "The attacker knows everybody's quasi-identifiers; for releases with exact cells."
    )
    others: Any = opt.data_option(
        "For background: people whose value is known, a CSV of quasi-identifiers and the value."
    )
    coalition: int | None = opt.option(
        "Also assume that the M most telling members of a group reveal their values.", "M"
    )


def attribute(options: AttributeOptions) -> None:
    """Guess sensitive values: what attackers believe about each person.

    The learner beside them reads the release but is not told that the person is in it. Exit code 3 if the chains
    disagree or did not reach the precision.
    """
    started = time.monotonic()

    options = with_project(options)
    if (options.original is None) == (options.targets is None):
        raise UsageError("say whom to ask about: --original DATA (every row) or --targets FILE")
    asked = one_name(options.asked)
    one_set(options.known)
    case = load_case(replace(options, attacker=options.attacker or ["bayesian"]))
    from unveil.audit.asking import stated_chances, with_stated  # after it: this takes seconds
    from unveil.audit.attribute import describe_attack
    from unveil.audit.perturbed import case_as_read, perturbed_remarks
    from unveil.data.belief import sensitive_attribute
    from unveil.formats.people import people_content, people_frame
    from unveil.risk.perturbation.channels import with_channels

    (name,) = case.releases
    case, perturbed = case_as_read(case, name)
    for remark in perturbed_remarks(case, name, perturbed):
        say(f"unveil: {remark}")
    release = given = case.releases[name]
    if release.perturbed:
        _check_masked(options)
        release, _ = with_channels(release, case.original, case.assignments.get(name))
        case = replace(case, releases={name: release}, assignments={})  # nobody knows which perturbed row is whose
    index = sensitive_attribute(release, asked)
    with long_work() as (progress, stop):
        case = case.at(replace(case.engine, progress=progress, stop=stop).part())
        result = _attack(case, index, options)
        if stated_chances(given) and case.original is not None and not case.wrong:
            names = case.readers.known_of(release, index)
            result = with_stated(result, given, case.original, index, case.readers, names, None)
    column = release.true_attributes[index]
    truth = None if case.original is None else case.original.columns[case.original.index(column.name)]
    people = {}
    if options.people is not None:
        frame = people_frame(column, result.known_texts(release), result.learner, result.attackers, truth)
        people[options.people] = people_content(options.people, frame)
    found = describe_attack(
        result,
        release,
        truth,
        name=name,
        settings=_settings(options),
        limits=options.limit,
        inputs=case.inputs,
        started=started,
    )
    _say_unsure(result, stopped=stop.is_set(), precision=chains_of(options).precision)
    give_results(found, options, people=people)


def _settings(options: AttributeOptions) -> dict[str, Any]:
    """What was asked for, beside the attribute and the limits."""
    return {
        "original": None if options.original is None else options.original.name,
        "targets": None if options.targets is None else options.targets.name,
        "attackers": options.attacker or ["bayesian"],
        "known": one_set(options.known),
        "wrong": options.wrong,
        "prior": None if options.prior is None else options.prior.name,
        "knowledge": options.knowledge,
        "roster": options.roster,
        "coalition": options.coalition,
        "alpha": options.alpha,
        "beta": options.beta,
        "seed": options.seed,
        "chains": options.chains,
        "sweeps": options.sweeps,
        "most_sweeps": options.most_sweeps,
        "precision": chains_of(options).precision,
    }


def _attack(case: Any, index: int, options: AttributeOptions) -> Any:
    """The beliefs of every attacker, each told what options tell it."""
    from unveil.attackers.background import BackgroundKnowledge
    from unveil.attackers.fixed_prior import FixedPrior
    from unveil.audit.attack import run_attack, targets_of_file
    from unveil.audit.given import ReaderView, others_of_file
    from unveil.data.targets import targets_of_table
    from unveil.formats.priors import read_held
    from unveil.formats.tables import read_columns

    ((name, release),) = case.releases.items()
    dialect = dialect_of(options)
    if case.original is not None:
        targets = targets_of_table(case.original, release, index, known=case.known, wrong=case.wrong)
    else:
        columns = read_columns(options.targets, **dialect)
        targets = targets_of_file(
            columns, release, index, name=str(options.targets), known=case.known, wrong=case.wrong
        )
    attackers = dict(case.attackers or {})
    if options.own_prior is not None:
        if not any(isinstance(one, FixedPrior) for one in attackers.values()):
            raise UsageError("--own-prior is a belief of fixed_prior; add --attacker fixed_prior")
        own = read_held(options.own_prior, release.attributes[index], targets.count)
        attackers = {n: replace(a, own=own) if isinstance(a, FixedPrior) else a for n, a in attackers.items()}
    group = case.assignments.get(name)
    prior = case.readers.prior_of(release, index)
    given = ReaderView.of(
        release,
        targets,
        case.original,
        options.knowledge,
        roster=options.roster,
        assignment=group,
        strength=options.strength,
    )
    if options.prior is None and given.prior is not None:
        prior = replace(given.prior, smooth=prior.smooth)
    told = None
    if options.others is not None:
        told = others_of_file(read_columns(options.others, **dialect), given.release, index, name=str(options.others))
    attackers = given.hand_to(attackers, told)
    # A roster says already who is in which group.
    knows_group = {} if group is None or options.roster else {"in_group": case.readers.in_group, "group": group}
    found = run_attack(
        given.release,
        given.targets,
        attackers,
        prior=prior,
        engine=case.engine,
        chains=case.chains,
        joined=case.joined,
        **knows_group,
    )
    found = given.rule_out(found, [n for n, one in attackers.items() if isinstance(one, BackgroundKnowledge)])
    if options.coalition is None:
        return found
    together = given.coalition(options.coalition)
    return replace(found, attackers={**found.attackers, f"coalition of {options.coalition}": together})


def _check_masked(options: AttributeOptions) -> None:
    """What readers of perturbed columns cannot be told."""
    told = (options.prior, options.own_prior, options.others, options.knowledge, options.coalition)
    if options.original is None or options.roster or options.smooth or any(one is not None for one in told):
        raise UsageError(
            f"{options.release}: its values were perturbed; it is read with --original, --known, --wrong, --alpha and "
            "--beta"
        )


def _say_unsure(result: Any, *, stopped: bool, precision: float) -> None:
    """What to do if chains disagree or did not reach the stated precision."""
    found = [belief.diagnostics for belief in (result.learner, *result.attackers.values())]
    if not all(diagnostics.converged for diagnostics in found):
        say("unveil: the chains disagree: they found different modes, shown one by one; do not rely on any of them")
    elif not all(diagnostics.precise for diagnostics in found):
        budget = "you stopped" if stopped else "the budget ended"
        say(f"unveil: {budget} before the stated precision ({precision:g} for 99% of people); raise --most-sweeps")
