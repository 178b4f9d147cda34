"""What readers believe of a release, and no more of an audit: the default risks of a sweep."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from unveil.audit.asking import Answers
from unveil.audit.attack import run_attack
from unveil.audit.binning import too_many_values
from unveil.audit.document import Finding
from unveil.audit.findings import belief_findings
from unveil.audit.measures import parse_ids
from unveil.audit.people import Sample
from unveil.data.attribute import Role
from unveil.data.release import Anonymized, Release
from unveil.data.targets import targets_of_table
from unveil.frontier.source import Yardstick
from unveil.risk.perturbation.channels import with_channels

__all__ = ["asks_only_guesses", "guesses"]

GUESSED = ("global_threat", "relative_threat")
PRECISION = 0.01  # of a sweep in which nobody asked for another: points are compared, not certified


def asks_only_guesses(ids: Sequence[str], made: Anonymized, shared: Yardstick) -> bool:
    """Whether nothing else is asked, of attributes that need no bins, by readers of a sweep."""
    release, readers = made.release, (None, "learner", *shared.reading.attackers)
    parts = [part for id in ids for part in parse_ids(id)]
    if any(one.measure not in GUESSED or one.reader not in readers for one in parts):
        return False
    if any(len(parse_ids(id)) > 1 for id in ids):  # differences are an audit's own
        return False
    secrets = release.with_role(Role.SENSITIVE)
    binned = any(too_many_values(release.true_attributes[i]) for i in secrets)
    return bool(secrets) and not (shared.reading.joined or release.synthetic or binned)


def guesses(ids: Sequence[str], made: Anonymized, shared: Yardstick) -> Iterator[tuple[Answers, list[Finding]]]:
    """Every sensitive attribute: what readers believe of it, and what is measured of that."""
    reading, release, table = shared.reading, made.release, shared.table
    if release.perturbed:
        told = len(made.group_of_row) == table.rows
        release, _ = with_channels(release, table, made.group_of_row if told else None)
    rows, sample = np.arange(table.rows), None
    if reading.sample is not None and reading.sample < table.rows:
        draw = shared.engine.named("people").generator()
        rows, sample = np.sort(draw.choice(table.rows, reading.sample, replace=False)), Sample(table.rows)
    chains = reading.chains if shared.precise else replace(reading.chains, precision=PRECISION)
    left_out = any(part.measure != "global_threat" for id in ids for part in parse_ids(id))
    for index in release.with_role(Role.SENSITIVE):
        attribute = release.true_attributes[index]
        people = targets_of_table(table, release, index, known=_known(release, index, reading.known)).take(rows)
        found = run_attack(
            release, people, reading.attackers, engine=shared.engine, chains=chains, lenient=True, left_out=left_out
        )
        truth = table.columns[table.index(attribute.name)]
        answers = Answers(
            release=release,
            attribute=attribute,
            learner=found.learner,
            attackers=found.attackers,
            refused=found.refused,
            truth=truth[rows],
            held=np.bincount(truth, minlength=attribute.codes),
            targets=people,
            row=rows,
            controls=None,
            unplaced=0,
            ideal=None,
            faithful=None,
            without=found.without,
        )
        yield answers, [*belief_findings(answers, "", wanted=ids, sample=sample), *_of_nobody(ids, answers)]


def _of_nobody(ids: Sequence[str], answers: Answers) -> Iterator[Finding]:
    """What readers who do not apply leave unknown."""
    for reader in answers.refused:
        yield from (Finding.of(parse_ids(id)[0].name, "", answers.attribute.name, None, reader=reader) for id in ids)


def _known(release: Release, index: int, known: Sequence[str] | None) -> list[str]:
    names = [a.name for a in release.attributes if a.role is Role.QUASI_IDENTIFIER]
    if known is not None:
        names = [a.name for a in release.attributes if a.name in known]
    return [name for name in names if name != release.attributes[index].name]
