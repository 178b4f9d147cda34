"""unveil check: the level of every privacy model on a release."""

from dataclasses import dataclass
from types import SimpleNamespace

import unveil.cli.options as opt
from unveil.cli.load import load_case
from unveil.cli.output import doing, give_results, say
from unveil.errors import UsageError

__all__ = ["CheckOptions", "check"]


@dataclass(frozen=True, kw_only=True)
class CheckOptions(
    opt.ReleaseCase,
    opt.Pairing,
    opt.Population,
    opt.Report,
    opt.Require,
    opt.ClusterOption,
    opt.MemoryBound,
    opt.OneRelease,
):
    """The options of a check."""

    n: int = opt.option("How many people make a large population, for (n,t)-closeness.", default=1000)


def check(options: CheckOptions) -> None:
    """Show the level that a release reaches in every privacy model.

    Exit code 1 if a requirement is not met.
    """
    if options.n < 1:
        raise UsageError("--n must be at least 1")
    give_results(_checked(options), options)


def _checked(options: CheckOptions) -> SimpleNamespace:
    """The document, and the exit code."""
    from unveil.audit.document import Document, describe_run
    from unveil.audit.levels import run_check
    from unveil.catalog import privacy_model

    models = [privacy_model(item) for item in options.require]
    case = load_case(options, counted=True)
    ((name, release),) = case.releases.items()
    if perturbed := ", ".join(release.attributes[i].name for i in release.perturbed):
        say(f"unveil: {name}: {perturbed}: perturbed, so classes are counted by what is shown, not by true values")
    doing("counting the levels")
    found = run_check(
        release,
        name=name,
        require=models,
        n=options.n,
        population=case.population,
        original=case.original,
        group=case.assignments.get(name),
    )
    document = Document(
        document="check",
        settings={"require": options.require, "n": options.n, **({"cells": options.cells} if options.cells else {})},
        inputs=tuple(case.inputs),
        run=describe_run(),
        findings=found.findings,
        diagnostics=found.diagnostics,
    )
    return SimpleNamespace(document=document, exit_code=0 if found.kept else 1)
