"""unveil knowledge: what somebody may hold beforehand, its evidence, and whom it exposes in a release."""

from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.cli._shared import (
    Decimal,
    Delimiter,
    Encoding,
    JsonFile,
    OriginalData,
    ReleaseCells,
    ReleaseDecimal,
    ReleaseDelimiter,
    ReleaseEncoding,
    SchemaFile,
    console,
    documents_of,
    keep_apart,
    release_parts,
    write,
)
from unveil.errors import UsageError, shown

__all__ = ["knowledge"]


def knowledge(
    data: OriginalData,
    schema: SchemaFile,
    with_: Annotated[
        str,
        typer.Option(
            "--with", metavar="NAME:options", help="e.g. negative_rules:min_expectation=0.9", show_default=False
        ),
    ],
    asked: Annotated[
        str | None,
        typer.Option(metavar="ATTRIBUTE", help="The sensitive attribute, if there are several.", show_default=False),
    ] = None,
    release: Annotated[
        Path | None,
        typer.Option(metavar="RELEASE", help="Also: whom this knowledge exposes in a release.", show_default=False),
    ] = None,
    assignment: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Which row went to which group, where cells do not say it.", show_default=False
        ),
    ] = None,
    t: Annotated[float, typer.Option(help="A belief that the release changes by more is a breach.")] = 0.2,
    l: Annotated[int, typer.Option(help="Fewer possible values are a breach.")] = 3,
    bandwidths: Annotated[
        str | None,
        typer.Option(
            metavar="B+B+…",
            help="Also: the worst case for readers with kernel priors of these bandwidths.",
            show_default=False,
        ),
    ] = None,
    rank: Annotated[
        bool, typer.Option("--rank", help="Also: which rules, if known, would expose most people of the release.")
    ] = False,
    top: Annotated[int, typer.Option(help="Rules to print.")] = 20,
    json: JsonFile = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    release_delimiter: ReleaseDelimiter = None,
    release_encoding: ReleaseEncoding = None,
    release_decimal: ReleaseDecimal = None,
    cells: ReleaseCells = None,
) -> None:
    """Negative rules, kernel priors or facts with their evidence; with --release, whom they expose there."""
    import numpy as np

    from unveil.audit.background import findings_of_exposure, prior_findings
    from unveil.audit.document import Document, describe_inputs, describe_run
    from unveil.catalog import make, member, parse
    from unveil.data.schema import read_schema
    from unveil.data.targets import targets_of_table
    from unveil.formats.assignments import read_assignment
    from unveil.formats.releases import read_release
    from unveil.formats.tables import read_table
    from unveil.report import print_document
    from unveil.risk.background import background_risk, background_risk_by_bandwidth, describe_knowledge, rank_rules

    read = [p for p in (data, schema, release, assignment) if p is not None]
    parts = [] if release is None else release_parts(release)
    keep_apart(inputs=[*read, *parts], outputs=documents_of(None, json))
    if assignment is not None and release is None:
        raise UsageError("--assignment goes with --release RELEASE")
    if release is None and (bandwidths is not None or rank):
        raise UsageError("--bandwidths and --rank are about a release; add --release RELEASE")
    widths = [_width(text) for text in bandwidths.split("+")] if bandwidths is not None else []
    charts: dict[str, Any] = {}
    name, options = parse(with_)
    method = make(member("knowledge", name), options, name)
    document = read_schema(schema).confirmed()
    dialect: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    table = read_table(data, document, **dialect)
    found = describe_knowledge(table, method, asked)
    if rank and found.rules is None:
        raise UsageError(f"--rank is about rules, and {name} has none; use --with negative_rules")
    findings = prior_findings(found, data.name)
    diagnostics: dict[str, Any] = {"source": found.prior.source, "rows": table.rows}
    if found.rules is not None:
        order = np.argsort(-found.rules.people, kind="stable")
        texts, rules = found.rules.texts(), found.rules
        diagnostics["rules"] = [
            {
                "rule": texts[i],
                "people": float(rules.people[i]),
                "expectation": float(rules.expectation[i]),
                "confidence": float(rules.confidence[i]),
            }
            for i in order.tolist()
        ]
    if release is not None:
        published = read_release(
            release,
            document,
            attributes=table.attributes,
            cells=cells or (),
            delimiter=release_delimiter,
            decimal=release_decimal,
            encoding=release_encoding,
        )
        index = published.index(found.prior.sensitive.name)
        roster = None
        if len(published.blocks) == 1 or assignment is not None:
            group = None if assignment is None else read_assignment(assignment, table, published)
            roster = targets_of_table(table, published, index, group=group)
        exposure = background_risk(published, index, found.prior, roster=roster)
        findings += findings_of_exposure(exposure, release.name, found.prior.sensitive.name, t=t, l=l)
        diagnostics["omega"] = not exposure.exact
        for width in widths:
            (one,) = background_risk_by_bandwidth(published, index, table, [(width,)], roster=roster)
            more = {"bandwidth": width, "worst": one.worst, "beyond": one.beyond(t), "exact": one.exact}
            charts.setdefault("worst_case_over_bandwidths", []).append(more)
        if rank:
            assert found.rules is not None
            facts = rank_rules(published, index, table, found.rules, roster=roster)
            diagnostics["exposing"] = [{"rule": f.text, "people": f.people, "exposed": f.exposed} for f in facts]
    made = Document(
        document="knowledge",
        settings={"with": with_, "t": t, "l": l, "top": top},
        inputs=describe_inputs([*read, *(p for p in parts if p.is_file())]),
        run=describe_run(),
        findings=findings,
        diagnostics=diagnostics,
        charts=charts,
    )
    if json == "-":
        print(made.model_dump_json(indent=2))
        return
    if json is not None:
        write(Path(json), made.model_dump_json(indent=2) + "\n")
    print_document(made, console())


def _width(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--bandwidths: {shown(text)} is no number; write 0.2+0.3+0.5") from None
