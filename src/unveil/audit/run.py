"""run_audit: releases in, one Audit out."""

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.bayesian import Bayesian
from unveil.attackers.fixed_prior import FixedPrior
from unveil.attackers.posterior.contract import Chains
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit.asking import Answers, Readers
from unveil.audit.background import Asked, Background, add_background
from unveil.audit.charts import attribute_charts, group_sizes, hidden
from unveil.audit.combination_limits import combination_findings, combination_limits, split_limits
from unveil.audit.combinations import check_combinations, withheld
from unveil.audit.compare import dominance
from unveil.audit.definitions import definitions_of
from unveil.audit.diagnosis import (
    describe_audit_run,
    reader_rows,
    release_facts,
    unreliable_readers,
    verdict_of,
    worst_attributes,
)
from unveil.audit.document import Document, Finding, Input
from unveil.audit.limits import Preset, judged, read_presets, worst
from unveil.audit.linkability import linked
from unveil.audit.masked import masked_charts
from unveil.audit.membership import MembershipAsked, membership_limits
from unveil.audit.plan import Part, Plan
from unveil.audit.release_part import part_of
from unveil.audit.remarks import count_words
from unveil.audit.result import EXIT_CODES, Judged
from unveil.audit.side_by_side import side_by_side
from unveil.audit.words import main_attacker, not_tested, sentence, wp29
from unveil.data.belief import Prior
from unveil.data.masked import Masked
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.errors import UsageError, shown
from unveil.risk.linkage.distance import link_by_distance
from unveil.risk.linkage.people import people_frame as link_frame
from unveil.risk.linkage.published import Published
from unveil.risk.linkage.register import Register

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Audit", "run_audit"]

ReleaseType = Literal["not stated", "public", "controlled", "internal"]
IN_GROUP = "bayesian_in_group"


@dataclass(frozen=True, slots=True, eq=False)
class Audit(Judged):
    """What an audit found. `document` is all that a report needs; the beliefs behind it stay here."""

    document: Document
    answers: Mapping[tuple[str, str], Answers] = field(repr=False)  # by release and attribute
    compared: Mapping[str, tuple[Published, Register]] = field(repr=False, default_factory=dict)  # masked releases

    def to_dict(self) -> dict[str, Any]:
        """The document as plain data."""
        return self.document.model_dump(mode="json")

    def people(self, release: str, attribute: str) -> "pl.DataFrame":
        """What is believed of each person: it names people."""
        import polars as pl

        from unveil.formats.people import people_frame

        found = self.answers[release, attribute]
        first = main_attacker(found.attackers)
        order = sorted(found.attackers, key=lambda name: name != first)
        frame = people_frame(
            found.attribute,
            found.known_texts(),
            found.learner,
            {name: found.attackers[name] for name in order},
            found.truth,
        )
        return frame.with_columns(pl.Series("row", found.row + 1, dtype=pl.Int64))

    def links(self, release: str) -> "pl.DataFrame":
        """Of a masked release: each person's nearest row, its margin, and whether it is theirs. It names people."""
        published, held = self.compared[release]
        found = link_by_distance(published, held, margins=True)
        return link_frame({"distance": found}, held, published)

    def _repr_html_(self) -> str:
        # By name: the report stands above the audit and reads its document only.
        report = importlib.import_module("unveil.report.html")
        return str(report.render_html(self.document))


def run_audit(
    releases: Mapping[str, Release | Masked],
    *,
    table: Table | None = None,
    control: Table | None = None,
    population: Table | None = None,
    attackers: Mapping[str, Any] | None = None,
    known: Sequence[str] | None = None,
    combinations: Sequence[Sequence[str]] = (),
    wrong: float = 0.0,
    alpha: float = 1.0,
    beta: float = 1.0,
    prior: Callable[[Release, int], Prior] | None = None,
    joined: Sequence[Sequence[str]] = (),
    chains: Chains | None = None,
    engine: Engine | None = None,
    sample: int | None = None,
    asked: Sequence[str] | None = None,
    joint: bool = False,
    assignments: Mapping[str, NDArray[np.integer]] | None = None,
    background: Asked = "auto",
    limits: Sequence[str] = (),
    preset: str | None = None,
    presets: Mapping[str, Preset] | None = None,
    release_type: ReleaseType = "not stated",
    recipient: str | None = None,
    variant: Literal["internal", "external"] = "internal",
    least_count: int = 10,
    membership: MembershipAsked | None = MembershipAsked(),  # noqa: B008  frozen
    inputs: Sequence[Input] = (),
    cells: Sequence[str] = (),
    key: str | None = None,
) -> Audit:
    """Ask every reader about every sensitive attribute of every release, and hold what is found against limits.

    Where the schema names none, each quasi-identifier is asked about in turn, all others known. `asked`: only these.
    Without the original (`table`) targets are the published rows as coarsely as they stand there, and success is
    unknown. `control`: people known not to be in the table. `population`: all people among whom someone may look, for
    the journalist's risk; only its quasi-identifiers are read. `assignments`, by release: the group of each original
    row, for the attacker who knows it; of a masked release the original row of each published one. `prior`: what is
    held of the population beforehand, for a release and the position of the attribute asked about. `joined`:
    attributes that the model takes as one, as in the schema.
    `membership`: whether being in the table is sensitive, which brings a limit on it; None: it is not measured.
    `background`: what is asked of readers with background knowledge; "auto": if it is cheap; None: nothing.
    `combinations`: besides, what is exposed by each of these sets of known attributes alone, as a table. `cells`: the
    notations that releases were read with, for the record; `key`: the column by which their rows were paired.
    """
    started = time.monotonic()
    engine = Engine() if engine is None else engine
    if attackers is None:
        attackers = {"bayesian": Bayesian(), "random_worlds": RandomWorlds()}
        attackers |= {"fixed_prior": FixedPrior()} if prior is not None else {}
    stated, on_combinations = split_limits((*_limits_of(preset, presets), *limits))
    plan = Plan(
        releases=releases,
        table=table,
        control=control,
        population=population,
        readers=Readers(
            attackers=attackers,
            known=None if known is None else tuple(known),
            wrong=wrong,
            alpha=alpha,
            beta=beta,
            prior=prior,
            joined=tuple(tuple(names) for names in joined),
            chains=Chains() if chains is None else chains,
            engine=engine,
            in_group={IN_GROUP: Bayesian()} if _grouped(releases, assignments or {}) else {},
        ),
        sample=sample,
        asked=None if asked is None else tuple(asked),
        joint=joint,
        assignments=assignments or {},
        limits=stated + membership_limits(membership, stated),
        least=least_count if variant == "external" else 0,
        membership=membership,
        background=background,
        combinations=tuple(tuple(dict.fromkeys(known)) for known in combinations),
    )
    plan.check()
    check_combinations(plan, combinations)
    asked_of_combinations = combination_limits(on_combinations, combinations)
    if least_count < 1:
        raise UsageError(f"a least count of {least_count} makes no sense; choose 1 or more")
    settings: dict[str, Any] = {
        "releases": list(releases),
        "original": None if table is None else Path(table.name).name,
        "release_type": release_type,
        "recipient": recipient,
        "attackers": list(plan.attackers),
        "asked": None if asked is None else list(asked),
        "known": None if known is None else list(known),
        "wrong": wrong,
        "alpha": alpha,
        "beta": beta,
        "prior": None if prior is None else "given",
        "chains": plan.readers.chains.chains,
        "sweeps": plan.readers.chains.sweeps,
        "most_sweeps": plan.readers.chains.most_sweeps,
        "precision": plan.readers.chains.precision,
        "seed": engine.seed,
        "sample": sample,
        "control": None if control is None else Path(control.name).name,
        "population": None if population is None else Path(population.name).name,
        "joint": joint,
        "background": asdict(background) if isinstance(background, Background) else background,
        "preset": preset,
        "limits": [*plan.limits, *on_combinations],
        "variant": variant,
        "least_count": least_count,
        "membership": None if membership is None else "sensitive" if membership.sensitive else "harmless",
    }
    parts = side_by_side(list(releases), engine, lambda name, own: part_of(plan.at(own), name))
    if cells:
        settings["cells"] = list(cells)
    if key is not None:
        settings["key"] = key
    if combinations:
        settings["combinations"] = [list(names) for names in combinations]
    rows = [row for part in parts for row in part.combinations]
    shown_rows = [withheld(row, plan.least, 0 if table is None else table.rows) for row in rows]
    published = {name: {a.name for a in release.attributes} for name, release in releases.items()}
    more = combination_findings(rows, shown_rows, asked_of_combinations, combinations, published)
    sections = {"combinations": shown_rows} if rows else {}
    return _put_together(plan, parts, settings, tuple(inputs), started, more, sections)


def _grouped(releases: Mapping[str, Release | Masked], assignments: Mapping[str, Any]) -> bool:
    """Whether some assignment is one to groups."""
    return any(not isinstance(releases.get(name), Masked) for name in assignments)


def _limits_of(preset: str | None, presets: Mapping[str, Preset] | None) -> tuple[str, ...]:
    if preset is None:
        return ()
    known = read_presets() if presets is None else presets
    if preset not in known:
        raise UsageError(f"{shown(preset)} is no preset; there are {', '.join(known)}")
    return known[preset].limits


def _put_together(
    plan: Plan,
    parts: Sequence[Part],
    settings: dict[str, Any],
    inputs: tuple[Input, ...],
    started: float,
    of_combinations: Sequence[Finding],
    more: Mapping[str, Any],
) -> Audit:
    readers = [row for part in parts for row in reader_rows(part)]
    unreliable = unreliable_readers(parts)
    findings = judged([f for p in parts for f in p.findings], plan.limits, plan.attackers, unreliable)
    findings += tuple(of_combinations)
    verdicts = {p.name: verdict_of(p.name, findings, unreliable) for p in parts}
    verdict = worst(verdicts.values())
    pairs, pairs_words = dominance(findings, [p.name for p in parts], plan.attackers)
    sampled = next((p.sampled for p in parts if p.sampled is not None), None)
    people = plan.table.rows if plan.table is not None else sum(r.rows for r in plan.releases.values())
    refused = [(r["release"], r["attribute"], r["reader"], r["reason"]) for r in readers if not r["applicable"]]
    remarks = list(dict.fromkeys(text for p in parts for text in p.remarks))
    if sampled is not None:
        remarks.insert(
            0,
            f"Only a random sample of {sampled:,} people was asked about. Intervals hold the error of that sample "
            "(bootstrap over people, corrected for the finite population); a largest value may be larger in the rest.",
        )
    repeated = None if plan.table is None else sum(plan.table.repeated.values())
    if repeated:
        remarks.append(
            f"{count_words(repeated, plan.least)} rows share an identifier with another; each counts as one person."
        )
    if (key := settings.get("key")) is not None:
        remarks.insert(
            0, f"The column {key} paired rows with the original's and was left out: take it off before publishing."
        )
    background = [section.row for p in parts for section in p.background.values()]
    diagnostics = {
        "verdict": verdict,
        "verdicts": verdicts,
        "exit_code": EXIT_CODES[verdict],
        "sentence": {
            p.name: {n: sentence(a, least=plan.least, sampled=p.sampled is not None) for n, a in p.answers.items()}
            | dict(p.sentences)
            for p in parts
        },
        "releases": {p.name: release_facts(p, repeated, plan.least) for p in parts},
        "readers": readers,
        "people": people,
        "sampled_people": sampled,
        "controls": None if plan.control is None else plan.control.rows,
        "worst_attribute": {p.name: worst_attributes(p, plan.least) for p in parts},
        "dominance": pairs,
        "dominance_text": pairs_words,
        "wp29": {p.name: wp29(findings, p.name, plan.attackers) for p in parts},
        "not_tested": not_tested(
            has_sensitive=any(p.answers or p.not_applicable or p.beliefs for p in parts),
            original=plan.table is not None,
            control=plan.control is not None,
            assignment=bool(plan.assignments),
            linked=any(linked(p.findings) for p in parts),
            refused=refused,
            membership=any(p.membership is not None and p.membership.facts["reason"] is None for p in parts),
            background=background,
        ),
        "membership": {p.name: p.membership.facts for p in parts if p.membership is not None},
        "background": background,
        "remarks": remarks,
        "definitions": definitions_of(findings, plan.attackers),
        **more,
    }
    charts: dict[str, dict[str, Any]] = {
        p.name: {
            **{name: attribute_charts(found) for name, found in p.answers.items()},
            "": {
                **(
                    {"group_sizes": group_sizes(release)} if isinstance(release, Release) else masked_charts(p.findings)
                ),
                **p.charts,
                **({} if p.membership is None else {"membership": p.membership.charts}),
            },
        }
        for p, release in ((p, plan.releases[p.name]) for p in parts)
    }
    add_background(charts, {p.name: p.background for p in parts})
    document = Document(
        document="audit",
        settings=settings,
        inputs=inputs,
        run=describe_audit_run(started),
        findings=findings,
        diagnostics=diagnostics,
        charts=hidden(charts, plan.least) if plan.least else charts,
    )
    return Audit(
        document,
        {(p.name, name): found for p in parts for name, found in p.answers.items()},
        {p.name: p.links for p in parts if p.links is not None},
    )
