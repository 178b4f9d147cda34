"""Where the numbers of a point come from: one source a family of measures, each asked only for what is named.

A source claims ids and turns a made release into findings. What needs the anonymizer itself, not one release of it
(the delta of differential testing), is one more source: it gets the candidate.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unveil import risk, utility
from unveil.anonymizers.mondrian import Mondrian
from unveil.attackers.random_worlds import RandomWorlds
from unveil.audit import Audit, run_audit
from unveil.audit.analyst import OF_COLUMNS, OF_FILES, analyst_findings
from unveil.audit.diagnosis import unreliable_readers
from unveil.audit.document import Finding, FindingId
from unveil.audit.identity import identity_findings, utility_findings
from unveil.audit.levels import run_check
from unveil.audit.measures import measure, measures, parse_ids, stands_for
from unveil.audit.membership import MEASURES as OF_MEMBERSHIP
from unveil.audit.membership import MembershipQuestion, known_of, membership_of
from unveil.audit.part import Part
from unveil.data.attribute import Role
from unveil.data.belief import Estimate
from unveil.data.mixture import mixture_of
from unveil.data.release import Anonymized, Release, truthful
from unveil.errors import NotApplicable, UsageError
from unveil.frontier.guessed import asks_only_guesses, guesses
from unveil.frontier.schemes import Candidate
from unveil.frontier.source import Questions, ReaderSettings, Source, State, Yardstick
from unveil.privacy.models import MODELS, KAnonymity
from unveil.privacy.reference import geometry_of
from unveil.risk.differential.leave_one_out import replayable
from unveil.risk.differential.measures import delta, distance_of, mean_distance
from unveil.risk.differential.models import inference_model
from unveil.risk.differential.procedure import Experiment, run_experiment
from unveil.utility.queries import mean_of_draws

__all__ = ["SOURCES", "Questions", "ReaderSettings", "Source", "Yardstick", "higher_is_better", "names", "source_of"]


class PrivacyLoss(Source):
    """P_loss of the worst-off person and on average, against the overall distribution (Li 2010, section 5.2.1)."""

    def claims(self, id: FindingId) -> bool:
        return id.measure == "privacy_loss"

    def findings(
        self, ids: Sequence[str], candidate: Candidate | None, made: Anonymized, shared: Yardstick
    ) -> tuple[list[Finding], State]:
        found = []
        for asked in made.release.with_role(Role.SENSITIVE):
            attribute = made.release.attributes[asked]
            belief, people = risk.group_belief(made.release, asked)
            before = risk.overall_belief(made.release, asked)
            options: dict[str, Any] = {"distance": shared.questions.distance, "ground": geometry_of(attribute)}
            for id in ids:
                if id.endswith(".max"):
                    estimate = risk.privacy_loss_max(belief, before, **options)
                else:
                    estimate = risk.privacy_loss_mean(belief, before, people=people, **options)
                found.append(Finding.of(id, "", attribute.name, estimate))
        return found, {}


Measure = Callable[[Release, Yardstick, str], Estimate]
OfRows = Callable[[Anonymized, Yardstick], Estimate]

# id -> how it is measured; the third argument is a sensitive attribute
_OF_ATTRIBUTE: dict[str, Measure] = {
    "utility_loss": lambda r, s, a: utility.utility_loss(
        r, s.table, attribute=a, distance=s.questions.distance, populations=s.populations
    ),
    "rule_recall": lambda r, s, a: utility.rule_recall(
        r, s.table, attribute=a, minimum_support=s.questions.minimum_support, populations=s.populations
    ),
    "information_loss": lambda r, s, a: utility.information_loss(r, attribute=a),
    "entropy_utility": lambda r, s, a: utility.entropy_utility(r, attribute=a),
    "classification_metric": lambda r, s, a: utility.classification_metric(r, label=a),
    "classification_accuracy": lambda r, s, a: utility.classification_accuracy(r, target=a, seed=s.engine.small_seed),
}
_OF_RELEASE: dict[str, Measure] = {
    "certainty_penalty": lambda r, s, a: utility.certainty_penalty(r),
    "certainty_penalty_hierarchy": lambda r, s, a: utility.certainty_penalty_hierarchy(r),
    "generalisation_height": lambda r, s, a: utility.generalisation_height(r),
    "discernibility": lambda r, s, a: utility.discernibility(r),
    "average_group_size": lambda r, s, a: utility.average_group_size(r),
    "kl_divergence": lambda r, s, a: utility.kl_divergence(r, s.table),
    "query_error": lambda r, s, a: _query_error(r, s),
    "granularity": lambda r, s, a: utility.granularity(r),
    "granularity_geometric": lambda r, s, a: utility.granularity_geometric(r),
    "generalisation_intensity": lambda r, s, a: utility.generalisation_intensity(r),
    "ambiguity": lambda r, s, a: utility.ambiguity(r),
    "aecs": lambda r, s, a: utility.aecs(r, s.table),
    "discernibility_kept": lambda r, s, a: utility.discernibility_kept(r, s.table),
    "withheld_cells": lambda r, s, a: utility.withheld_cells(r),
}
_AS_READ = ("kl_divergence", "query_error", "withheld_cells")  # what perturbed numbers are worth as they stand
_OF_ROWS: dict[str, OfRows] = {  # with which row went to which group
    "non_uniform_entropy": lambda m, s: utility.non_uniform_entropy(m.release, s.table, m.group_of_row),
    "record_error_kept": lambda m, s: utility.record_error_kept(m.release, s.table, m.group_of_row),
}


_OF_ANALYST = (*OF_FILES, *OF_COLUMNS)


class Utility(Source):
    """Measures of `unveil.utility`, by the function's name."""

    def claims(self, id: FindingId) -> bool:
        return id.id in {*_OF_ATTRIBUTE, *_OF_RELEASE, *_OF_ROWS, *_OF_ANALYST}

    def findings(
        self, ids: Sequence[str], candidate: Candidate | None, made: Anonymized, shared: Yardstick
    ) -> tuple[list[Finding], State]:
        release = made.release
        sensitive = [release.attributes[i].name for i in release.with_role(Role.SENSITIVE)]
        as_read = mixture_of(release, as_true=True).release if release.perturbed else release  # numbers as they stand
        found = []
        if set(ids) & set(_OF_ANALYST):
            found += [f for f in analyst_findings(release, "", shared.table) if f.id in ids]
        for id in ids:
            if id in _OF_ANALYST:
                continue
            if id in _OF_RELEASE:
                read = as_read if id in _AS_READ else truthful(release)
                found.append(Finding.of(id, "", None, _OF_RELEASE[id](read, shared, "")))
            elif id in _OF_ROWS:
                found.append(Finding.of(id, "", None, _OF_ROWS[id](made, shared)))
            else:
                found += [Finding.of(id, "", a, _OF_ATTRIBUTE[id](as_read, shared, a)) for a in sensitive]
        return found, {}


class Shape(Source):
    """Levels of privacy models, and risks of being found: what a check and an audit read off the cells."""

    def claims(self, id: FindingId) -> bool:
        return measure(id.measure).kind in ("level", "identity", "membership", "utility")

    def findings(
        self, ids: Sequence[str], candidate: Candidate | None, made: Anonymized, shared: Yardstick
    ) -> tuple[list[Finding], State]:
        release = made.release
        if release.perturbed and any(measure(parse_ids(id)[0].measure).kind != "level" for id in ids):
            found = _audited(made, shared, attackers={"random_worlds": RandomWorlds()}, panel=False)
            return [f for f in found.document.findings if f.id in ids], {}
        n = [int(match[1]) for id in ids if (match := re.fullmatch(r"\w*n_t_closeness\.(\d+)", id))]
        checked = run_check(release, name="", n=n[0]) if n else run_check(release, name="")
        every = [*identity_findings(release, "", shared.table), *checked.findings, *utility_findings(release, "")]
        if any(parse_ids(id)[0].measure in OF_MEMBERSHIP for id in ids):
            names = known_of(release, shared.reading.known)
            asked = MembershipQuestion()
            every += membership_of(release, "", asked, known=names, table=shared.table, engine=shared.engine).findings
        return [f for f in every if f.id in ids], {}


_READ_BY_LEARNER = frozenset({"faithfulness", "baseline_accuracy"})
_ASKED = " <= 0"  # what is named in a limit is measured; the verdicts on it are dropped


class Beliefs(Source):
    """What attackers and the learner believe: an audit of the release, chains and all."""

    def claims(self, id: FindingId) -> bool:
        return measure(id.measure).of_readers or id.measure in _READ_BY_LEARNER

    def findings(
        self, ids: Sequence[str], candidate: Candidate | None, made: Anonymized, shared: Yardstick
    ) -> tuple[list[Finding], State]:
        reading = shared.reading
        if asks_only_guesses(ids, made, shared):
            believed = list(guesses(ids, made, shared))
            kept = [f for _, of in believed for f in of if any(names(id, f, reading.attackers) for id in ids)]
            told = {answers.attribute.name: answers for answers, _ in believed}
            unsure = unreliable_readers([Part("", (), told, {}, {}, (), None)])
            readers = {"learner", *(f.reader for f in kept)}
            return kept, {key: state for key, state in unsure.items() if key[2] in readers}
        try:
            audit = _audited(
                made,
                shared,
                attackers=reading.attackers,
                joined=reading.joined,
                chains=reading.chains,
                sample=reading.sample,
                limits=[f"{id}{_ASKED}" for id in ids],
            )
        except UsageError as error:
            raise UsageError(str(error).replace(_ASKED, "")) from None
        answers = {attribute: found for (_, attribute), found in audit.answers.items()}
        states = unreliable_readers([Part("", (), answers, {}, {}, (), None)])
        found = [f for f in audit.document.findings if any(names(id, f, reading.attackers) for id in ids)]
        if made.release.perturbed and all(f.value is None for f in found):
            why = [row["reason"] for row in audit.document.diagnostics["readers"] if row["reason"]]
            raise NotApplicable(why[0] if why else "its columns were perturbed, and nothing says how")
        parts = [part for f in found for part in (f, f.minus) if part is not None]
        readers = {"learner", *(part.reader or part.measure for part in parts)}
        asked = {key: state for key, state in states.items() if key[2] in readers}
        return [f.model_copy(update={"limit": None, "verdict": "no limit"}) for f in found], asked


def _audited(made: Anonymized, shared: Yardstick, **asked: Any) -> Audit:
    """An audit of one release; of perturbed columns with whose row is whose, where that is known."""
    told = {"": made.group_of_row} if made.release.perturbed and len(made.group_of_row) == shared.table.rows else {}
    if made.release.synthetic:
        told = {}
    return run_audit(
        {"": made.release},
        original=shared.table,
        assignments=told,
        known=shared.reading.known,
        engine=shared.engine,
        background=None,
        membership=None,
        **asked,
    )


def names(id: str, finding: Finding, attackers: Collection[str]) -> bool:
    """Whether a finding is one that an id stands for: an id, or a difference `ID - ID`."""
    first, *rest = parse_ids(id)
    if not stands_for(first, finding, attackers) or bool(rest) != (finding.minus is not None):
        return False
    return not rest or (finding.minus is not None and stands_for(rest[0], finding.minus, attackers))


def source_of(id: FindingId) -> Source:
    """The source that measures an id; an error that names what there is."""
    for source in SOURCES:
        if source.claims(id):
            return source
    known = [
        "privacy_loss.max",
        "privacy_loss.mean",
        "delta",
        "distance.mean",
        *_OF_ATTRIBUTE,
        *_OF_RELEASE,
        *_OF_ROWS,
        *_OF_ANALYST,
    ]
    known += [*sorted(name for name, one in measures().items() if one.of_readers), *MODELS]
    raise UsageError(f"{id.id}: a frontier does not measure it; choose from {', '.join(known)}; see docs/frontier.md")


def higher_is_better(id: str) -> bool:
    """Whether a larger value is the better one: of a difference, that of its first part."""
    first = parse_ids(id)[0]
    return measure(first.measure).direction(first.statistic) > 0


def _query_error(release: Release, shared: Yardstick) -> Estimate:
    errors = utility.query_errors(release, shared.table, shared.queries)
    return mean_of_draws(errors[~np.isnan(errors)])


MOST_RERUNS = 100  # records left out one by one, where the anonymizer must run again for each
_ESTIMATES = {"delta": delta, "distance.mean": mean_distance}


class LeaveOneOut(Source):
    """`delta` and `distance.mean`: the table is anonymized without each record (Kassem et al. 2019)."""

    of_release = False

    def claims(self, id: FindingId) -> bool:
        return id.id in _ESTIMATES

    def findings(
        self, ids: Sequence[str], candidate: Candidate | None, made: Anonymized, shared: Yardstick
    ) -> tuple[list[Finding], State]:
        table = shared.table
        sanitizer = _trivial(made, table.rows) if candidate is None else candidate.method
        everybody = np.arange(table.rows, dtype=np.int64)
        engine = replace(shared.engine, workers=1, checkpoints=None, progress=None).named("differential")
        most = shared.reading.sample
        if not replayable(sanitizer):
            most = min(MOST_RERUNS, most or MOST_RERUNS)
        some = everybody
        if most is not None and most < table.rows:
            some = np.sort(engine.generator().choice(table.rows, most, replace=False)).astype(np.int64)
        found = []
        for asked in table.with_role(Role.SENSITIVE):
            attribute = table.attributes[asked]
            apart = distance_of("emd", "coordinates", geometry_of(attribute), ordered=attribute.kind.ordered)
            question = Experiment(table, asked, inference_model("bernoulli_nb"), apart, "emd coordinates")
            try:
                tested = run_experiment(question, sanitizer, everybody, some, engine)
            except UsageError as reason:  # it draws: one run says nothing
                raise NotApplicable(f"delta: {str(reason).replace('; give --samples N, N of 2 or more', '')}") from None
            tested = replace(tested, sampled_records=len(some) < table.rows)
            found += [Finding.of(id, "", attribute.name, _ESTIMATES[id](tested)) for id in ids]
        return found, {}


def _trivial(made: Anonymized, rows: int) -> Any:
    """An anonymizer that publishes the original, or every quasi-identifier as `*`, with any record or without it."""
    k = max(rows - 1, 1) if bool(made.release.suppressed().all()) else 1
    return Mondrian(require=(KAnonymity(k=k),), regions="cut" if k > 1 else "tight")


SOURCES: tuple[Source, ...] = (PrivacyLoss(), Utility(), LeaveOneOut(), Beliefs(), Shape())
