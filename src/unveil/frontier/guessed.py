"""How many are guessed right: the default risk of a sweep, which needs no more of an audit than its readers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from unveil.audit.attack import run_attack
from unveil.audit.belief_measures import measures_of
from unveil.audit.binning import too_many_values
from unveil.audit.document import Finding
from unveil.audit.findings import measure_of
from unveil.audit.measures import parse_ids
from unveil.audit.people import People, Sample
from unveil.data.attribute import Role
from unveil.data.release import Anonymized, Release
from unveil.data.targets import targets_of_table
from unveil.frontier.source import State, Yardstick
from unveil.risk.perturbation.channels import with_channels

__all__ = ["GUESSED", "asks_only_guesses", "guesses"]

GUESSED = "global_threat"
PRECISION = 0.01  # of a sweep in which nobody asked for another: points are compared, not certified


def asks_only_guesses(ids: Sequence[str], made: Anonymized, shared: Yardstick) -> bool:
    """Whether nothing else is asked, of attributes that need no bins, by readers of a sweep."""
    release, readers = made.release, (None, "learner", *shared.reading.attackers)
    parts = [parse_ids(id) for id in ids]
    if any(len(one) > 1 or one[0].name != GUESSED or one[0].reader not in readers for one in parts):
        return False
    secrets = release.with_role(Role.SENSITIVE)
    binned = any(too_many_values(release.true_attributes[i]) for i in secrets)
    return bool(secrets) and not (shared.reading.joined or release.synthetic or binned)


def guesses(made: Anonymized, shared: Yardstick) -> tuple[list[Finding], State]:
    """Every reader's share of right guesses, attribute by attribute; and readers that are not to be relied on."""
    found: list[Finding] = []
    states: dict[tuple[str, str | None, str], str] = {}
    for finding, state in _of_release(made, shared):
        found.append(finding)
        if state is not None:
            states["", finding.attribute, str(finding.reader)] = state
    return found, states


def _of_release(made: Anonymized, shared: Yardstick) -> Iterator[tuple[Finding, str | None]]:
    reading, release, table = shared.reading, made.release, shared.table
    if release.perturbed:
        told = len(made.group_of_row) == table.rows
        release, _ = with_channels(release, table, made.group_of_row if told else None)
    rows, sample = np.arange(table.rows), None
    if reading.sample is not None and reading.sample < table.rows:
        draw = shared.engine.named("people").generator()
        rows, sample = np.sort(draw.choice(table.rows, reading.sample, replace=False)), Sample(table.rows)
    chains = reading.chains if shared.precise else replace(reading.chains, precision=PRECISION)
    for index in release.with_role(Role.SENSITIVE):
        attribute = release.true_attributes[index]
        people = targets_of_table(table, release, index, known=_known(release, index, reading.known)).take(rows)
        found = run_attack(release, people, reading.attackers, engine=shared.engine, chains=chains, lenient=True)
        truth = table.columns[table.index(attribute.name)][rows]
        counts = np.bincount(truth, minlength=attribute.codes)
        guessed = next(m for m in measures_of(attribute, (), counts) if m.name == GUESSED)
        base = None
        for reader, belief in {"learner": found.learner, **found.attackers}.items():
            value = measure_of(guessed, People(belief, found.learner, truth), sample)
            judged = belief.diagnostics
            state = "disagree" if not judged.converged else None if judged.precise else "imprecise"
            yield Finding.of(GUESSED, "", attribute.name, value, base, reader=reader), state
            if reader == "learner" and value is not None:
                base = value.value
        for reader in found.refused:
            yield Finding.of(GUESSED, "", attribute.name, None, reader=reader), None


def _known(release: Release, index: int, known: Sequence[str] | None) -> list[str]:
    names = [a.name for a in release.attributes if a.role is Role.QUASI_IDENTIFIER]
    if known is not None:
        names = [a.name for a in release.attributes if a.name in known]
    return [name for name in names if name != release.attributes[index].name]
