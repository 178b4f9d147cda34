"""unveil attack membership: can a reader find out who is in a release, or who a model learned from?"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import unveil.cli.options as opt
from unveil.cli.load import input_paths, load_case
from unveil.cli.output import check_outputs, give_results, long_work
from unveil.cli.settings import dialect_of, engine_of, one_name, one_set
from unveil.errors import UsageError

__all__ = ["MembershipOptions", "membership"]


@dataclass(frozen=True, kw_only=True)
class MembershipOptions(
    opt.ReleaseRun, opt.PeopleOptions, opt.ReportAndLimits, opt.AskedAndKnown, opt.Control, opt.With
):
    """The options of an attack on membership."""

    release: Path | None = opt.argument("The published table, made from the original.", "RELEASE")
    with_: str | None = opt.option(
        "The anonymizer, for an attacker who knows it: shadow releases are made with and without each person.",
        "NAME:options",
        "--with",
    )
    model: str | None = opt.option(
        "A scikit-learn classifier trained on the original, e.g. RandomForestClassifier:n_estimators=50.",
        "NAME:options",
    )
    predictions: Path | None = opt.option(
        "A model's answers: member, and score, or label and one column per label with its probability.", "FILE"
    )
    shadows: int = opt.option("Shadow releases or models.", default=32)


def membership(options: MembershipOptions) -> None:
    """Tell who is in the table and who is not.

    From a release, its scheme, a model trained on the table, or the model's answers.
    """
    from unveil.audit.document import describe_inputs
    from unveil.audit.membership_trial import check_limits, run_membership
    from unveil.formats.people import people_content

    _check_subject(options)
    check_limits(options.limit)
    one_set(options.known)
    if options.predictions is not None:
        check_outputs(options, input_paths(options))
        case, engine, inputs = None, engine_of(options), describe_inputs(input_paths(options))
    else:
        case = load_case(options)
        engine, inputs = case.engine, tuple(case.inputs)
    with long_work() as (progress, stop):
        scores = _scores(options, case, replace(engine, progress=progress, stop=stop))
        found = run_membership(scores, limits=options.limit, seed=options.seed, inputs=inputs)
    people = {} if options.people is None else {options.people: people_content(options.people, found.people())}
    give_results(found, options, people=people)


def _scores(options: MembershipOptions, case: Any, engine: Any) -> Any:
    """How strongly each person looks like a member."""
    from unveil.catalog import anonymizer
    from unveil.formats.tables import read_columns
    from unveil.risk.membership.trial import scores_of_model, scores_of_predictions, scores_of_release, scores_of_scheme

    if options.predictions is not None:
        columns = read_columns(options.predictions, **dialect_of(options), error=UsageError)
        return scores_of_predictions(columns, name=options.predictions.name)
    name, release = next(iter(case.releases.items()), ("", None))
    told: dict[str, Any] = {"known": case.known, "engine": engine}
    if options.model is not None:
        asked = one_name(options.asked)
        return scores_of_model(
            options.model, case.original, control=case.control, asked=asked, shadows=options.shadows, **told
        )
    if options.with_ is not None:
        method = anonymizer(options.with_, options.require)
        told |= {"name": options.with_, "control": case.control, "release": release, "shadows": options.shadows}
        return scores_of_scheme(method, case.original, **told)
    assert release is not None
    return scores_of_release(release, case.original, case.control, name=name, **told)


def _check_subject(options: MembershipOptions) -> None:
    """Refuse, before the work, what does not go together."""
    release, with_, control = options.release, options.with_, options.control
    of_release = release is not None or with_ is not None
    if (options.model is not None) + (options.predictions is not None) + of_release != 1:
        raise UsageError(
            "say what is attacked: RELEASE, --with NAME:options (or both), --model NAME:options, or --predictions FILE"
        )
    if options.predictions is not None:
        if options.original is not None or control is not None:
            raise UsageError("--predictions says itself who is a member: leave --original and --control out")
        return
    if options.original is None or options.schema is None:
        raise UsageError("give the original and what its columns are: --original DATA --schema FILE")
    if release is not None and control is None:
        raise UsageError("RELEASE needs --control FILE: members are told from people who are not in the table")
    if release is None and with_ is not None and control is not None:
        raise UsageError("--control goes with RELEASE; without one a random half of the original stays out")
    if options.require and with_ is None:
        raise UsageError("--require is for --with")
