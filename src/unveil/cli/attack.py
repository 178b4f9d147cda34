"""unveil attack: what one or more attackers believe of each person, beside the learner."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.cli._masked import attack_masked
from unveil.cli._shared import (
    Decimal,
    Delimiter,
    Encoding,
    PublishedFile,
    ReleaseCells,
    ReleaseDecimal,
    ReleaseDelimiter,
    ReleaseEncoding,
    SchemaFile,
    attackers_of,
    console,
    engine_of,
    keep_apart,
    listed,
    located,
    long_work,
    refuse_unsure,
    release_parts,
    say,
)
from unveil.errors import UsageError

__all__ = ["attack"]


def attack(
    release: PublishedFile,
    schema: SchemaFile,
    original: Annotated[
        Any,
        typer.Option(
            parser=located, metavar="DATA", help="The original table: its rows are the targets.", show_default=False
        ),
    ] = None,
    targets: Annotated[
        Any,
        typer.Option(
            parser=located,
            metavar="DATA",
            help="People to ask about instead: known attributes, empty = unknown.",
            show_default=False,
        ),
    ] = None,
    attacker: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:options", help="bayesian (default), learner, random_worlds …; repeatable.", show_default=False
        ),
    ] = None,
    asked: Annotated[
        str | None,
        typer.Option(
            metavar="ATTRIBUTE",
            help="The sensitive attribute, if there are several; a quasi-identifier if there is none.",
            show_default=False,
        ),
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="What is known of the targets; all quasi-identifiers if not given.", show_default=False
        ),
    ] = None,
    wrong: Annotated[float, typer.Option(help="Probability that a known attribute is wrong.")] = 0.0,
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what is believed of each person (.csv, .parquet, .arrow, .xlsx). It names people.",
            show_default=False,
        ),
    ] = None,
    alpha: Annotated[float, typer.Option(help="Prior pseudo-count of each sensitive value.")] = 1.0,
    beta: Annotated[float, typer.Option(help="Prior pseudo-count of each other value.")] = 1.0,
    smooth: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ATTRIBUTE=BANDWIDTH",
            help="Tie neighbouring values of an ordered attribute; repeatable, or with commas.",
            show_default=False,
        ),
    ] = None,
    prior: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Pseudo-counts of single values, a CSV: attribute,value,given,count.",
            show_default=False,
        ),
    ] = None,
    held: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="For fixed_prior: a belief of its own for each target, a CSV with a column for each value.",
            show_default=False,
        ),
    ] = None,
    knowledge: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:options",
            help="What is held of everybody beforehand, e.g. kernel:bandwidth=0.3; it needs --original.",
            show_default=False,
        ),
    ] = None,
    strength: Annotated[
        float, typer.Option(help="Mean pseudo-count of a value that --knowledge gives learners.")
    ] = 1.0,
    roster: Annotated[
        bool, typer.Option("--roster", help="Everybody's quasi-identifiers are known: groups of exact cells.")
    ] = False,
    others: Annotated[
        Any,
        typer.Option(
            parser=located,
            metavar="DATA",
            help="For background: people whose value is known, a CSV of quasi-identifiers and the value.",
            show_default=False,
        ),
    ] = None,
    assignment: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="For --roster and --coalition: which row went to which group, where cells do not say it.",
            show_default=False,
        ),
    ] = None,
    coalition: Annotated[
        int | None,
        typer.Option(metavar="M", help="Also: the worst M fellow members tell their values.", show_default=False),
    ] = None,
    chains: Annotated[int, typer.Option(help="Chains, where sampling is needed.")] = 4,
    sweeps: Annotated[int, typer.Option(help="Sweeps of the first round; more follow until it is precise.")] = 1000,
    most_sweeps: Annotated[
        int | None, typer.Option(help="The budget: sweeps of each chain, 16,000 if not given.", show_default=False)
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Save the chains there, and go on from there. Keep it secret; removed when done.",
            show_default=False,
        ),
    ] = None,
    precision: Annotated[
        float, typer.Option(help="Standard error of 99% of beliefs at which chains end; 20/3 of it for all.")
    ] = 0.003,
    seed: Annotated[int, typer.Option(help="Seed of the chains.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Threads; all cores if not given.", show_default=False)] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    release_delimiter: ReleaseDelimiter = None,
    release_encoding: ReleaseEncoding = None,
    release_decimal: ReleaseDecimal = None,
    cells: ReleaseCells = None,
) -> None:
    """Beliefs of attackers beside the learner's. Exit code 3 if chains disagree or precision was not reached."""
    from unveil.attackers.background import Background
    from unveil.attackers.fixed_prior import FixedPrior
    from unveil.attackers.posterior.contract import Chains
    from unveil.audit.attack import run_attack, targets_of_file
    from unveil.audit.given import Given, others_of_file
    from unveil.data.belief import Prior, sensitive_attribute
    from unveil.data.schema import read_schema
    from unveil.data.smoothing import bandwidths
    from unveil.data.targets import targets_of_table
    from unveil.formats.assignments import read_assignment
    from unveil.formats.masked import is_masked
    from unveil.formats.people import check_people_file, people_frame, write_people
    from unveil.formats.priors import read_held, read_prior
    from unveil.formats.releases import read_release
    from unveil.formats.tables import read_columns, read_table
    from unveil.report import print_blocks
    from unveil.report.sections.attack import attack_blocks

    if (original is None) == (targets is None):
        raise UsageError("say whom to ask about: --original DATA (every row) or --targets FILE")
    if people is not None:
        keep_apart(
            inputs=[
                *(p for p in (release, schema, original, targets, prior, held, others, assignment) if p is not None),
                *release_parts(release),
            ],
            outputs=[people],
        )
        check_people_file(people)
        if not people.parent.is_dir():  # said before the work, not after it
            raise UsageError(f"{people}: there is no folder {people.parent}; make it first")
    if workers is not None and workers < 1:
        raise UsageError(f"--workers {workers}: at least one thread is needed")
    attackers = attackers_of(attacker or ["bayesian"])
    document = read_schema(schema).confirmed()
    dialect: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    table = read_table(original, document, **dialect) if original is not None else None
    domains = table.attributes if table is not None else ()
    if is_masked(release):
        if (
            table is None
            or list(attackers) != ["bayesian"]
            or wrong
            or roster
            or coalition is not None
            or any(one is not None for one in (prior, held, others, assignment, knowledge, smooth))
        ):
            raise UsageError(
                f"{release}: its values were perturbed; it is read by bayesian alone, with --original, --known, "
                "--alpha and --beta"
            )
        engine = engine_of(seed, workers)
        start = Chains(chains=chains, sweeps=sweeps, burn_in=sweeps, precision=precision)
        attack_masked(
            release,
            document,
            table,
            asked=asked,
            known=known,
            dialect={
                "cells": cells or (),
                "delimiter": release_delimiter,
                "decimal": release_decimal,
                "encoding": release_encoding,
            },
            engine=engine,
            chains=replace(start, most_sweeps=most_sweeps) if most_sweeps is not None else start,
            alpha=alpha,
            beta=beta,
            people=people,
        )
        return
    published = read_release(
        release,
        document,
        attributes=domains,
        cells=cells or (),
        delimiter=release_delimiter,
        decimal=release_decimal,
        encoding=release_encoding,
    )
    index = sensitive_attribute(published, asked)
    tied = bandwidths(smooth or [], published.attributes)
    population = Prior.uninformative(published, index, alpha=alpha, beta=beta, smooth=tied)
    if prior is not None:
        population = replace(read_prior(prior, published, index, alpha=alpha, beta=beta), smooth=population.smooth)
    names = listed(known)
    if table is not None:
        asked_about = targets_of_table(table, published, index, known=names, wrong=wrong)
        truth = table.columns[table.index(published.attributes[index].name)]
    else:
        assert targets is not None
        asked_about = targets_of_file(
            read_columns(targets, **dialect), published, index, name=str(targets), known=names, wrong=wrong
        )
        truth = None
    if held is not None:
        if not any(isinstance(one, FixedPrior) for one in attackers.values()):
            raise UsageError("--held is a belief of fixed_prior; add --attacker fixed_prior")
        own = read_held(held, published.attributes[index], asked_about.count)
        attackers = {n: replace(a, own=own) if isinstance(a, FixedPrior) else a for n, a in attackers.items()}
    placed = None
    if assignment is not None:
        if table is None:
            raise UsageError("--assignment is that of the original's rows; give --original DATA")
        placed = read_assignment(assignment, table, published)
    given = Given.of(published, asked_about, table, knowledge, roster=roster, assignment=placed, strength=strength)
    if prior is None and given.prior is not None:
        population = replace(given.prior, smooth=population.smooth)
    published, asked_about = given.release, given.targets
    told = None
    if others is not None:
        told = others_of_file(read_columns(others, **dialect), published, index, name=str(others))
    attackers = given.hand_to(attackers, told)
    engine = engine_of(seed, workers, checkpoint)
    start = Chains(chains=chains, sweeps=sweeps, burn_in=sweeps, precision=precision)
    with long_work() as (progress, stop):
        result = run_attack(
            published,
            asked_about,
            attackers,
            prior=population,
            engine=replace(engine, progress=progress, stop=stop),
            chains=replace(start, most_sweeps=most_sweeps) if most_sweeps is not None else start,
            joined=document.document.joined,
        )
    result = given.rule_out(result, [name for name, one in attackers.items() if isinstance(one, Background)])
    if coalition is not None:
        result = replace(
            result, attackers={**result.attackers, f"coalition of {coalition}": given.coalition(coalition)}
        )
    if people is not None:
        frame = people_frame(
            published.attributes[index], result.known_texts(published), result.learner, result.attackers, truth
        )
        write_people(people, frame)
        say(f"wrote {people}; it names people: keep it secret")
    print_blocks(attack_blocks(published.attributes[index].name, result.learner, result.attackers, truth), console())
    found = [belief.diagnostics for belief in (result.learner, *result.attackers.values())]
    refuse_unsure(found, stopped=stop.is_set(), precision=precision)
