"""unveil attack identity: whose row is whose, and who is alone in the population?"""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import unveil.cli.options as opt
from unveil.cli.load import load_case, with_project
from unveil.cli.output import give_results, long_work
from unveil.cli.settings import dialect_of, one_set
from unveil.errors import UsageError

__all__ = ["IdentityOptions", "identity"]

# what run_link calls the same
LINKING = ("fraction", "false_links", "missed_links", "splink", "worst_case", "knowing", "prove", "largest", "subsets")


@dataclass(frozen=True, kw_only=True)
class IdentityOptions(
    opt.ReleaseRun,
    opt.ClusterOption,
    opt.PeopleOptions,
    opt.ReportAndLimits,
    opt.Population,
    opt.AlignedRows,
    opt.Pairing,
    opt.KnownOptions,
    opt.OneRelease,
):
    """The options of an attack on identity."""

    held: Any = opt.data_option("The attacker's own file instead: some people, some columns; empty = unknown.")
    mapping: Path | None = opt.option("What the columns and values of --held are called here.", "FILE")
    fraction: float | None = opt.option("The share of the population that is published, for uniqueness.", "SHARE")
    false_links: float = opt.option(
        "Share of non-matching pairs that may be called links (probabilistic).", default=0.001
    )
    missed_links: float = opt.option("Share of links that may be called non-links (probabilistic).", default=0.05)
    splink: bool = opt.flag("--splink", "Also link by weights that Splink estimates without truth (extra linkage).")
    worst_case: str | None = opt.option(
        "Learn the distance that links most: weighted_mean, owa, choquet, bilinear. Perturbed releases.", "DISTANCE"
    )
    prove: float | None = opt.option(
        "With --worst-case, up to 120 people: take this long to prove what no such distance exceeds.", "SECONDS"
    )
    knowing: str | None = opt.option(
        "Link as an attacker who knows the masking, e.g. rank_swapping:p=5.", "NAME:options"
    )
    largest: int | None = opt.option("Look for minimal sample uniques of up to this many attributes; 3 if not given.")
    subsets: int = opt.option("Sets of attributes in the chart of what is known; 0 = no charts.", default=64)


def identity(options: IdentityOptions) -> None:
    """Find whose row is whose: linkage and uniqueness.

    The attacker's records are linked with published rows, by distance and by probability; and who is unique in the
    population is estimated.
    """
    options = with_project(options)
    if options.original is None and options.held is None:
        raise UsageError("give the people to link: --original DATA or --held FILE")
    if options.mapping is not None and options.held is None:
        raise UsageError("--mapping goes with --held FILE")
    if options.splink and find_spec("splink") is None:
        raise UsageError("--splink: Splink is not installed; install unveil[linkage], or leave --splink out")
    known = one_set(options.known)
    case = load_case(options)
    from unveil.audit.linking import run_link  # after it: this takes seconds
    from unveil.formats.people import people_content
    from unveil.formats.tables import read_columns
    from unveil.risk.linkage.register import read_mapping, register_of_file

    ((name, release),) = case.releases.items()
    held = None
    if options.held is not None:
        held = register_of_file(
            read_columns(options.held, **dialect_of(options), error=UsageError),
            release.attributes,
            name=str(options.held),
            naming=None if options.mapping is None else read_mapping(options.mapping),
            known=known,
            rows=None if case.original is None else case.original.rows,
        )
    with long_work() as (progress, stop):
        found = run_link(
            release,
            name=name,
            table=case.original,
            held=held,
            known=known,
            group=case.assignments.get(name),
            population=case.population,
            **{name: getattr(options, name) for name in LINKING},
            margins=options.people is not None,
            limits=options.limit,
            engine=replace(case.engine, progress=progress, stop=stop),
            inputs=case.inputs,
        )
    people = {} if options.people is None else {options.people: people_content(options.people, found.people())}
    give_results(found, options, people=people)
