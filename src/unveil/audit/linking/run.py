"""run_link: one release and the people an attacker holds in, one Link out."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unveil.audit.document import Document, Finding, Input
from unveil.audit.identity import identity_findings
from unveil.audit.limits import check_limits, judge
from unveil.audit.linking.alone import ask_uniqueness, uniqueness_findings
from unveil.audit.linking.probability import ReaderLinks, ask_probability
from unveil.audit.linking.worst import ask_worst
from unveil.audit.masked_identity import found_masked
from unveil.audit.result import RunResult, judged_document
from unveil.catalog import anonymizer
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import NotApplicable, UsageError, shown
from unveil.risk.linkage.aggregates import aggregate_named
from unveil.risk.linkage.assignment import link_one_to_one
from unveil.risk.linkage.distance import link_by_distance, on_best_scale
from unveil.risk.linkage.links import Links, claim_precision, claimed, reid
from unveil.risk.linkage.people import people_frame
from unveil.risk.linkage.published import Published, published_of
from unveil.risk.linkage.register import Register, register_of_table
from unveil.risk.linkage.sweep import SubsetLinks, known_points, link_by_subsets
from unveil.risk.perturbation import PerturbedColumn, read_perturbed
from unveil.risk.uniqueness import ESTIMATORS, SUPERPOPULATION

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LINKING", "READERS", "Link", "run_link"]

LINKING = ("distance", "one_to_one", "probabilistic", "unsupervised", "splink", "supervised", "transparency")
READERS = (*LINKING, "counted", "wildcards", *ESTIMATORS, *SUPERPOPULATION)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Link(RunResult):
    """What was linked. `document` is all that a report needs; whom each reader links stays here."""

    document: Document
    links: Mapping[str, Links]  # by reader
    held: Register
    published: Published
    scores: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)  # of people, beside their links

    def people(self) -> "pl.DataFrame":
        """Whom each person is linked with: it names people."""
        return people_frame(self.links, self.held, self.published, self.scores)


def run_link(
    release: Release,
    *,
    name: str = "release",
    table: Table | None = None,
    held: Register | None = None,
    known: Sequence[str] | None = None,
    group: NDArray[np.integer] | None = None,
    population: Table | None = None,
    fraction: float | None = None,
    false_links: float = 0.001,
    missed_links: float = 0.05,
    splink: bool = False,
    worst_case: str | None = None,
    knowing: str | None = None,
    prove: float | None = None,
    largest: int | None = None,
    subsets: int = 64,
    margins: bool = True,
    limits: Sequence[str] = (),
    engine: Engine | None = None,
    inputs: Sequence[Input] = (),
) -> Link:
    """Link the people held (everybody in the original, by all quasi-identifiers) with the published rows.

    `group`: that of each original row, which with perturbed columns is a row; without it links of such a release can
    be counted but not judged.
    `population` or `fraction`: what the release is a sample of. `largest`: size up to
    which minimal sample uniques are sought. `splink`: also link by weights that Splink estimates.
    `worst_case`: the family of distances to learn from the true links.
    `prove`: seconds to prove what no distance of it exceeds, of small files.
    `knowing`: the anonymizer that masked the release, NAME:options, for one who knows it.
    `subsets`: about how many sets of attributes the chart shows; 0 = none.
    """
    started = time.monotonic()
    engine = Engine(seed=0) if engine is None else engine
    noticed: tuple[PerturbedColumn, ...] = ()
    if table is not None and (held is None or not release.perturbed):
        reading = read_perturbed(release, table)
        release, noticed, table = reading.release, reading.columns, reading.as_read(table)
        population = None if population is None else reading.as_read(population)
        if group is not None and reading.group is not None:
            group = reading.group[np.asarray(group)]
    if held is None:
        if table is None:
            raise UsageError("there is nobody to link: give the original, or a file of people")
        held = register_of_table(table, release.true_attributes, known)
    elif known is not None:
        absent = [n for n in known if n not in held.known]
        if absent:
            raise UsageError(f"{shown(absent[0])} is not known of these people; choose from {', '.join(held.known)}")
        held = held.only(known)
    _check_limits(limits)
    method = None if knowing is None else anonymizer(knowing)
    if worst_case is not None:
        aggregate_named(worst_case)
    if prove is not None and (worst_case is None or not prove > 0):
        raise UsageError("--prove SECONDS, more than 0, goes with --worst-case")
    names = tuple(held.known)
    published = published_of(release, names, group)
    found = {"distance": ReaderLinks(link_by_distance(published, held, margins=margins, engine=engine))}
    if release.perturbed:
        found["one_to_one"] = _one_to_one(published, held, engine)
    rates = {"false_links": false_links, "missed_links": missed_links}
    found |= ask_probability(published, held, **rates, splink=splink, engine=engine)
    worst_readers = ask_worst(release, published, held, group, worst_case, method, engine, seconds=prove)
    found |= {reader: ReaderLinks(one.links, one.reason) for reader, one in worst_readers.items()}
    alone = ask_uniqueness(
        release,
        table,
        names,
        population=population,
        fraction=fraction,
        largest=largest,
        curve=subsets > 0,
        engine=engine,
    )
    sets: tuple[list[SubsetLinks], int] = ([], 0)
    if subsets > 0:
        sets = link_by_subsets(release, held, group=group, most=subsets, engine=engine)
    findings = [f for reader, one in found.items() for f in _findings(name, reader, one, published)]
    findings += uniqueness_findings(name, alone)
    findings += [
        Finding.exact(f"reid.{key}", name, None, value, baseline, reader=reader)
        for reader, one in worst_readers.items()
        for key, (value, baseline) in one.shares.items()
    ]
    if not release.perturbed:
        findings += identity_findings(release, name, table, population)
    elif published.origin is not None and table is not None:
        nearest = found["distance"].links
        risks = found_masked(name, published, held, nearest, table=table, population=population, engine=engine)
        findings += [f for f in risks if f.measure != "claim_precision"]  # each reader has its own
    marked = judge(findings, limits, READERS, {})
    document = judged_document(
        "link",
        marked,
        settings={
            "release": name,
            "original": None if table is None else Path(table.name).name,
            "population": None if population is None else Path(population.name).name,
            "known": list(names),
            "fraction": fraction,
            "false_links": false_links,
            "missed_links": missed_links,
            "splink": splink,
            "worst_case": worst_case,
            "prove": prove,
            "knowing": knowing,
            "subsets": subsets,
        },
        seed=engine.stated_seed,
        limits=limits,
        inputs=inputs,
        started=started,
        diagnostics={
            "people": held.people,
            "rows": published.rows,
            "truth": _truth(published, held),
            "perturbed": sorted(published.perturbed),
            "readers": [_reader_row(reader, one, published, names) for reader, one in found.items()],
            "sentences": _sentences(found, published, held, names) + alone.sentences(),
            "uniqueness": alone.facts(),
            "remarks": [column.sentence(f"{column.rows:,}") for column in noticed]
            + _remarks(published, held, table)
            + [one.remark for one in worst_readers.values() if one.remark is not None]
            + [one.remark for one in found.values() if one.remark is not None]
            + _unsettled(found)
            + alone.remarks(),
        },
        charts={
            "set_sizes": {reader: _set_sizes(one.links) for reader, one in found.items() if one.links is not None},
            "known": known_points(*sets),
            "uniqueness": alone.chart(),
        },
    )
    links = {reader: one.links for reader, one in found.items() if one.links is not None}
    return Link(document, links, held, published, alone.scores(held.row))


def _check_limits(limits: Sequence[str]) -> None:
    """Refuse, before the work, a limit on what no link has."""
    linking = ("reid", "claimed", "claim_precision")
    sampling = ("population_unique", "expected_links", "record_risk.max", "record_risk.mean")
    measured = [*linking, *sampling, "sample_unique", "minimal_unique", "dis_suda.max", "dis_suda.mean"]
    measured += [f"reid.{key}" for key in ("trained", "tested", "bound")]
    measured += ["prosecutor_risk.max", "prosecutor_risk.mean", "marketer_risk", "singled_out"]
    measured += [
        "journalist_risk.max",
        "journalist_risk.mean",
        "wildcard_k",
        "household_risk.max",
        "household_risk.mean",
    ]
    for part in check_limits(limits, READERS, measured=measured, readers=()):
        estimates = part.measure in ("population_unique", "expected_links", "record_risk", "household_risk")
        allowed = READERS[len(LINKING) :] if estimates else LINKING if part.measure in linking else ()
        if part.reader is not None and part.reader not in allowed:
            raise UsageError(f"{part.id}: {part.measure} has no reader {shown(part.reader)}; leave it out")


def _findings(release: str, reader: str, one: ReaderLinks, published: Published) -> list[Finding]:
    names = ("reid", "claimed", "claim_precision")
    if one.links is None:
        return [Finding.of(measure, release, None, None, reader=reader) for measure in names]
    values = [None, claimed(one.links), None]
    if one.links.chance is not None:
        values = [reid(one.links), values[1], claim_precision(one.links)]
    guesses = (1 / published.rows, None, None)
    return [
        Finding.of(measure, release, None, value, guess, reader=reader)
        for measure, value, guess in zip(names, values, guesses, strict=True)
    ]


def _one_to_one(published: Published, held: Register, engine: Engine) -> ReaderLinks:
    """Links of somebody who knows that rows are different people's; of a masked release, where rows are rows."""
    try:
        return ReaderLinks(link_one_to_one(on_best_scale(published, held), held, engine=engine.named("one to one")))
    except NotApplicable as reason:
        return ReaderLinks(None, str(reason))


def _truth(published: Published, held: Register) -> str:
    if published.true_rows(held) is not None or (published.assigned is not None and held.row is not None):
        return "given"
    return "own row fits" if published.truthful else "unknown"


def _reader_row(reader: str, one: ReaderLinks, published: Published, names: Sequence[str]) -> dict[str, Any]:
    parameters = [] if one.model is None else one.model.parameters([a.name for a in published.attributes])
    thresholds = None
    if one.classes is not None:
        ends = {"upper": one.classes.upper, "lower": one.classes.lower}
        thresholds = {
            **{key: None if math.isinf(v) else v for key, v in ends.items()},
            "false_links": one.classes.false_links,
            "missed_links": one.classes.missed_links,
        }
    return {
        "reader": reader,
        "applicable": one.links is not None,
        "reason": one.reason,
        "parameters": parameters,
        "thresholds": thresholds,
        "pairs": one.pairs,
    }


WORDS = {
    "distance": "to the nearest row",
    "one_to_one": "each to a row of their own, by the assignment of the smallest distances together,",
    "probabilistic": "by weights taken from the true links (the worst of its kind)",
    "unsupervised": "by weights estimated without being told any link",
    "splink": "by weights that Splink estimates without being told any link",
    "supervised": "by the distance that links most people (the worst of its kind)",
    "transparency": "by one who knows how the release was masked",
}

NARROW = "by weights of how narrow the cells are that hold a person"


def _sentences(
    found: Mapping[str, ReaderLinks], published: Published, held: Register, names: Sequence[str]
) -> list[str]:
    sentences = []
    for reader, one in found.items():
        if one.links is None:
            continue
        words = NARROW if reader == "probabilistic" and published.count is not None else WORDS[reader]
        who = f"Linked {words} by {', '.join(names)}"
        share = claimed(one.links).value
        if one.links.chance is None:
            sentences.append(
                f"{who}: for {share:.1%} of {held.people:,} people one row alone is best; "
                "whether it is theirs is unknown."
            )
            continue
        text = f"{who}, {reid(one.links).value:.2%} of {held.people:,} people get their own row (a guess: one in "
        text += f"{published.rows:,}). For {share:.1%} one row alone is best"
        precision = claim_precision(one.links)
        sentences.append(text + ("." if precision is None else f", rightly so for {precision.value:.1%} of them."))
    return sentences


def _remarks(published: Published, held: Register, table: Table | None) -> list[str]:
    found = []
    if _truth(published, held) == "unknown":
        found.append("Nothing says whose row is whose: give --assignment, or --aligned if both files have one order.")
    if published.truthful and published.origin is None and held.row is not None:
        found.append(
            "Published cells hold the truth, so each person's own row is among those that fit; ties count as 1 / ties."
        )
        if table is not None and published.rows < table.rows:
            found.append(
                f"{table.rows - published.rows:,} people of the original are not published; each number is that of "
                "someone who knows the person is in the release, an upper bound for the others."
            )
    if published.perturbed:
        found.append(
            "Perturbed numbers are standardised in each file by its own mean and deviation; for probabilities they "
            "agree if they lie in the same tenth of their files."
        )
    return found


def _unsettled(found: Mapping[str, ReaderLinks]) -> list[str]:
    return [
        f"The weights of {reader} were still moving after {one.model.rounds:,} rounds; its links are not final."
        for reader, one in found.items()
        if one.model is not None and not one.model.converged
    ]


def _set_sizes(links: Links) -> dict[str, Any]:
    """People by the number of rows that fit them best: 1, 2, 3-4, 5-8, …"""
    top = max(1, math.ceil(math.log2(max(int(links.size.max()), 2))))
    edges = [0, *(2**i for i in range(top + 1))]
    counts = [int(((links.size > a) & (links.size <= b)).sum()) for a, b in pairwise(edges)]
    return {"edges": edges, "people": counts}
