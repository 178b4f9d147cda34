"""unveil attack background: what somebody may know beforehand, its evidence, and whom it exposes in a release."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import unveil.cli.options as opt
from unveil.cli.load import load_case, with_project
from unveil.cli.output import give_results
from unveil.cli.settings import one_name
from unveil.errors import UsageError, shown

__all__ = ["BackgroundOptions", "background"]


@dataclass(frozen=True, kw_only=True)
class BackgroundOptions(opt.ReleaseCase, opt.ClusterOption, opt.Report, opt.Pairing, opt.AskedOptions):
    """The options of an attack with background knowledge."""

    release: Path | None = opt.argument("The published table; without it the knowledge is only shown.", "RELEASE")
    knowledge: str | None = opt.option(
        "What is known about everybody beforehand, e.g. negative_rules:min_expectation=0.9.", "NAME:options"
    )
    t: float = opt.option("A belief that changes by more than this is a breach.", default=0.2)
    l: int = opt.option("Fewer possible values than this are a breach.", default=3)
    bandwidths: str | None = opt.option(
        "Also find the worst case for readers with kernel priors of these bandwidths.", "B+B+…"
    )
    rank: bool = opt.flag("--rank", "Also find the rules that would expose most people if they were known.")
    top: int = opt.option("How many rules to print.", default=20)


def background(options: BackgroundOptions) -> None:
    """Attack with background knowledge: rules, kernel priors or facts.

    Shows its evidence in the original and, given a release, whom it exposes there.
    """
    from unveil.audit.background import prior_findings
    from unveil.audit.document import Document, describe_run
    from unveil.catalog import make, member, parse
    from unveil.risk.background import describe_knowledge

    options = with_project(options)
    if options.original is None or options.knowledge is None:
        raise UsageError("give the original and what is known: --original DATA --knowledge NAME:options")
    if options.release is None and (options.assignment or options.key is not None):
        raise UsageError("--assignment and --key are about a release; name it: unveil attack background RELEASE")
    if options.release is None and (options.bandwidths is not None or options.rank):
        raise UsageError("--bandwidths and --rank are about a release; name it: unveil attack background RELEASE")
    widths = [_width(text) for text in options.bandwidths.split("+")] if options.bandwidths is not None else []
    name, parsed = parse(options.knowledge)
    method = make(member("knowledge", name), parsed, name)
    case = load_case(options, grouped=True)
    table = case.original
    assert table is not None
    found = describe_knowledge(table, method, one_name(options.asked))
    if options.rank and found.rules is None:
        raise UsageError(f"--rank is about rules, and {name} has none; use --knowledge negative_rules")
    findings = prior_findings(found, options.original.name)
    diagnostics: dict[str, Any] = {"source": found.prior.source, "rows": table.rows}
    charts: dict[str, Any] = {}
    if found.rules is not None:
        diagnostics["rules"] = _rules(found.rules)
    if case.releases:
        more, told, charts = _exposure(options, case, found, widths)
        findings += more
        diagnostics |= told
    document = Document(
        document="knowledge",
        settings={"with": options.knowledge, "t": options.t, "l": options.l, "top": options.top},
        inputs=tuple(case.inputs),
        run=describe_run(),
        findings=findings,
        diagnostics=diagnostics,
        charts=charts,
    )
    give_results(SimpleNamespace(document=document, exit_code=0), options)


def _rules(rules: Any) -> list[dict[str, Any]]:
    """What the original never shows, by how many people it is said of."""
    import numpy as np

    texts = rules.texts()
    return [
        {
            "rule": texts[i],
            "people": float(rules.people[i]),
            "expectation": float(rules.expectation[i]),
            "confidence": float(rules.confidence[i]),
        }
        for i in np.argsort(-rules.people, kind="stable").tolist()
    ]


def _exposure(
    options: BackgroundOptions, case: Any, found: Any, widths: list[float]
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Findings, diagnostics and charts of a release that is read with this knowledge."""
    from unveil.audit.background import findings_of_exposure
    from unveil.data.targets import targets_of_table
    from unveil.risk.background import background_risk, background_risk_by_bandwidth, rank_rules

    ((name, release),) = case.releases.items()
    index, group = release.index(found.prior.sensitive.name), case.assignments.get(name)
    roster = None
    if len(release.blocks) == 1 or group is not None:
        roster = targets_of_table(case.original, release, index, group=group)
    exposure = background_risk(release, index, found.prior, roster=roster)
    findings = findings_of_exposure(exposure, name, found.prior.sensitive.name, t=options.t, l=options.l)
    diagnostics: dict[str, Any] = {"omega": not exposure.exact}
    rows = []
    for width in widths:
        (one,) = background_risk_by_bandwidth(release, index, case.original, [(width,)], roster=roster)
        rows.append({"bandwidth": width, "worst": one.worst, "beyond": one.beyond(options.t), "exact": one.exact})
    if options.rank:
        facts = rank_rules(release, index, case.original, found.rules, roster=roster)
        diagnostics["exposing"] = [{"rule": f.text, "people": f.people, "exposed": f.exposed} for f in facts]
    return findings, diagnostics, {"worst_case_over_bandwidths": rows} if rows else {}


def _width(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--bandwidths: {shown(text)} is not a number; write 0.2+0.3+0.5") from None
