"""unveil attack disclosure: what does a perturbed release give away of people's attributes?"""

from dataclasses import dataclass, replace
from pathlib import Path

import unveil.cli.options as opt
from unveil.cli.load import load_case, with_project
from unveil.cli.output import give_results, long_work
from unveil.cli.settings import dialect_of, names_of, one_set
from unveil.errors import UsageError, shown

__all__ = ["DisclosureOptions", "disclosure"]


@dataclass(frozen=True, kw_only=True)
class DisclosureOptions(
    opt.ReleaseRun, opt.ReportAndLimits, opt.AlignedRows, opt.Pairing, opt.AskedAndKnown, opt.OneRelease
):
    """The options of an attack on perturbed attributes."""

    p: str = opt.option("How near counts, in percent.", "P,P", default="1,2,5,10,20,50")
    model: str = opt.option("tree, forest, nearest or linear.", "NAME", default="tree")
    most_inputs: int = opt.option("Guess from one input, two, … up to this many; 0 = none.", default=3)
    fact: Path | None = opt.option(
        "A fact that no column holds, in a column fact: about rows of the original (row), or about other people.",
        "FILE",
    )


def disclosure(options: DisclosureOptions) -> None:
    """Guess values from a perturbed release.

    Intervals by p, equal categories, models from all inputs and from few, absent facts; each with its baseline.
    """
    import numpy as np

    from unveil.audit import code_people
    from unveil.audit.disclosure import Fact, run_disclosure
    from unveil.data.release import Anonymized
    from unveil.formats.priors import read_fact

    options = with_project(options)
    if options.original is None:
        raise UsageError("give the original: --original DATA")
    if bool(options.assignment) + options.aligned + (options.key is not None) != 1:
        raise UsageError("say whose row is whose, in one way: --assignment FILE, --key COLUMN, or --aligned")
    percentages = _percentages(options.p)
    one_set(options.known)
    case = load_case(options, masked=True)
    ((name, release),) = case.releases.items()
    table = case.original
    assert table is not None
    fact = None
    if options.fact is not None:
        values, labels, others = read_fact(options.fact, table.rows, **dialect_of(options))
        known_of = [a for a in table.attributes if others is not None and a.name in others.columns]
        fact = Fact(values, labels, None if others is None else code_people(others, known_of, options.fact.name))
    with long_work() as (progress, stop):
        found = run_disclosure(
            table,
            Anonymized(release, np.array(case.assignments[name], dtype=np.int32)),
            name=name,
            percentages=percentages,
            asked=names_of(options.asked),
            known=case.known,
            model=options.model,
            most_inputs=options.most_inputs,
            fact=fact,
            limits=options.limit,
            engine=replace(case.engine, progress=progress, stop=stop),
            inputs=case.inputs,
        )
    give_results(found, options)


def _percentages(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--p {shown(text)}: write percentages with commas, for instance 1,5,10") from None
