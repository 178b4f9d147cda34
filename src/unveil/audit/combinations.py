"""How little need be known: chosen combinations of attributes, each asked about alone, as rows of one table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.attackers.posterior.averages import watched
from unveil.attackers.posterior.contract import Posterior
from unveil.attackers.posterior.convergence import BATCHES
from unveil.attackers.posterior.fits import block_fits, merged_block
from unveil.audit.asking import published_targets
from unveil.audit.attack import Attack, run_attack, run_attacks
from unveil.audit.belief_measures import measures_of
from unveil.audit.case import Case
from unveil.audit.document import number
from unveil.audit.findings import measure_of
from unveil.audit.people import Measure, People, Sample
from unveil.audit.words import main_attacker
from unveil.data.attribute import Role
from unveil.data.belief import Estimate, Targets
from unveil.data.release import Release, row_numbers
from unveil.data.targets import targets_of_table
from unveil.errors import NotApplicable, Stopped

__all__ = ["asked_at_once", "asked_together", "attacks_on", "combination_rows", "combination_targets", "withheld"]

MOST_FITS = 1_000_000  # pairs of a person and a published cell that are looked at together
MOST_NOTED = 100_000_000  # numbers of beliefs, batch by batch, that chains note at once


def withheld(row: dict[str, Any], least: int, people: int) -> dict[str, Any]:
    """The row as a document shows it that counts nobody below `least`; `people`: of the original."""
    fewest = row["fewest_rows"]
    found = row | {"fewest_rows": None if fewest is None or fewest < least else fewest}
    for key in ("alone_in_original", "single_row", "learner_right", "right", "twice_exposed", "sure"):
        value = row.get(key)
        if value is None:
            continue
        of = people if key == "alone_in_original" else row["people"]
        share = value if isinstance(value, float) else value[0]
        if 0 < share * of < least:
            found[key] = None
    return found


def combination_rows(
    case: Case, name: str, release: Release, told: Mapping[int, list[dict[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """One row a combination and sensitive attribute, in this order. `told`, by attribute: those that are there."""
    asked = release.with_role(Role.SENSITIVE) if case.combinations else ()
    order = [
        (place, i) for place, i in product(range(len(case.combinations)), asked) if place in _places(case, release, i)
    ]
    if release.perturbed:
        nothing = dict.fromkeys(("alone_in_original", "fewest_rows", "single_row", "attacker"))
        reason = {"not_applicable": "values were perturbed, not widened; see unveil attack identity"}
        for place, index in order:
            known = _published(release, index, case.combinations[place])
            about = {"attribute": release.attributes[index].name, "known": known, "people": release.rows}
            yield {"release": name} | about | nothing | reason
        return
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for index in asked:
        found = told[index] if index in told else asked_together(case, name, release, index, None)
        rows |= {(place, index): row for place, row in zip(_places(case, release, index), found, strict=True)}
    yield from (rows[key] for key in order)


def _places(case: Case, release: Release, asked: int) -> list[int]:
    """The combinations that are asked about an attribute: what is known is not asked, unless nothing else could be."""
    sensitive = {release.attributes[i].name for i in release.with_role(Role.SENSITIVE)}
    name = release.attributes[asked].name
    return [p for p, names in enumerate(case.combinations) if name not in names or sensitive <= set(names)]


def combination_targets(case: Case, release: Release, asked: int) -> Iterator[Targets]:
    """Whom combinations ask about."""
    return (_people(case, release, asked, names)[0] for names in _known(case, release, asked))


def asked_at_once(case: Case, release: Release, asked: int, several: Iterable[Targets]) -> list[Targets]:
    """Those of several sets of people whom the audit's own chains are asked about: all, or as many as memory allows.

    None where no link is hidden: there chains keep what any later question needs.
    """
    own = release.block_of(asked)
    linked = len(release.blocks) == 1 and (release.regions[asked].sizes[own.region(asked)] == 1).all()
    if linked or case.readers.joined:
        return []
    return next(_pieces(several, release.attributes[asked].codes, case), [])


def asked_together(
    case: Case,
    name: str,
    release: Release,
    asked: int,
    learned: Posterior | None,
    told: Sequence[Attack] = (),
) -> list[dict[str, Any]]:
    """The rows of one sensitive attribute, by combination. `learned`: what is known of the population by now.

    `told`: what the first combinations were told already.
    """
    known = _known(case, release, asked)
    if not known:
        return []
    people = [_people(case, release, asked, names) for names in known]
    beliefs = _believed(case, release, [targets for targets, _ in people], people[0][1], learned, told)
    return [
        {"release": name, "attribute": release.attributes[asked].name, "known": names, "people": targets.count}
        | _found(case, release, asked, names)
        | belief
        for names, (targets, _), belief in zip(known, people, beliefs, strict=True)
    ]


def _known(case: Case, release: Release, asked: int) -> list[list[str]]:
    """What is known of people by each combination that is asked about this attribute."""
    return [_published(release, asked, case.combinations[place]) for place in _places(case, release, asked)]


def _published(release: Release, asked: int, names: Sequence[str]) -> list[str]:
    """Those of the names that can be known of someone whose attribute is asked about."""
    published = {a.name for i, a in enumerate(release.attributes) if i != asked}
    return [n for n in names if n in published]


def _people(case: Case, release: Release, asked: int, names: list[str]) -> tuple[Targets, NDArray[np.integer] | None]:
    """Those who are asked about, a sample if that was asked for, and their true values."""
    everyone = _everyone(case, release, asked, names)
    if case.original is None:
        return everyone, None
    truth = case.original.columns[case.original.index(release.attributes[asked].name)]
    if case.sample is not None and case.sample < case.original.rows:
        random = case.engine.named("people").generator()
        rows = np.sort(random.choice(case.original.rows, case.sample, replace=False)).astype(np.int64)
        return everyone.take(rows), truth[rows]
    return everyone, truth


def _everyone(case: Case, release: Release, asked: int, names: list[str]) -> Targets:
    if case.original is None:
        return published_targets(release, asked, names, case.readers.wrong)
    return targets_of_table(case.original, release, asked, known=names, wrong=case.readers.wrong)


def _found(case: Case, release: Release, asked: int, names: list[str]) -> dict[str, Any]:
    """Rows that may be a person's, of everybody, not of a sample: the fewest, and how many are left with one."""
    alone = None
    if case.original is not None and names:
        sizes = np.bincount(row_numbers([case.original.columns[case.original.index(n)] for n in names]))
        alone = float((sizes == 1).sum() / case.original.rows)
    targets = _everyone(case, release, asked, names)
    blocks = [b for b in release.blocks if any(i in b.attributes for i in targets.known)]
    fewest = single = None
    if len(blocks) == 1:  # across blocks the link is hidden: nobody's rows can be counted
        distinct, of_person = targets.distinct()
        block = merged_block(blocks[0], tuple(sorted(targets.known)))
        rows = np.zeros(distinct.count)
        step = max(MOST_FITS // len(block.cell), 1)
        for start in range(0, distinct.count, step):
            fits = block_fits(release, block, distinct.take(np.arange(start, min(start + step, distinct.count))))
            np.add.at(rows, start + fits.target, block.count[fits.entry])
        placed = rows[of_person] > 0
        fewest = int(rows[of_person][placed].min()) if placed.any() else None
        single = float((rows[of_person] == 1).mean())
    return {
        "alone_in_original": alone,
        "fewest_rows": fewest,
        "single_row": single,
    }


def _believed(
    case: Case,
    release: Release,
    several: list[Targets],
    truth: NDArray[np.integer] | None,
    learned: Posterior | None,
    told: Sequence[Attack],
) -> list[dict[str, Any]]:
    """What the learner and the main attacker make of each combination."""
    try:
        found = attacks_on(case, release, several, learned, told)
    except (NotApplicable, Stopped) as reason:
        return [{"attacker": None, "not_applicable": str(reason)}] * len(several)
    measures = {measure.name: measure for measure in measures_of(release.attributes[several[0].asked])}
    sampled = truth is not None and case.original is not None and len(truth) < case.original.rows
    sample = Sample(case.original.rows) if sampled and case.original is not None else None
    return [_measured(attack, measures, truth, sample) for attack in found]


def attacks_on(
    case: Case, release: Release, several: Sequence[Targets], learned: Posterior | None, told: Sequence[Attack] = ()
) -> list[Attack]:
    """What readers believe of several sets of people, `told` of the first of them; `learned`: of the population."""
    readers = case.readers
    more: dict[str, Any] = {
        "prior": readers.prior_of(release, several[0].asked),
        "engine": readers.engine,
        "chains": readers.chains,
        "lenient": True,
    }
    if readers.joined:  # attributes that are taken as one: each set is asked about by itself
        return [run_attack(release, one, readers.attackers, joined=readers.joined, **more) for one in several]
    found = list(told)
    for piece in _pieces(several[len(told) :], release.attributes[several[0].asked].codes, case):
        of_piece = run_attacks(release, piece, readers.attackers, learned=learned, **more)
        found += [replace(attack, learned=None) for attack in of_piece]  # which takes much memory
    return found


def _pieces(several: Iterable[Targets], values: int, case: Case) -> Iterator[list[Targets]]:
    """As many combinations at a time as memory allows: chains note every batch of each one's watched beliefs."""
    readers = case.readers
    times = 2 * BATCHES * readers.chains.chains * (1 + len(readers.attackers)) * values
    piece: list[Targets] = []
    noted = 0
    for targets in several:
        mine = len(watched(targets.distinct()[0].count, values)) * times
        if piece and noted + mine > MOST_NOTED:
            yield piece
            piece, noted = [], 0
        piece.append(targets)
        noted += mine
    if piece:
        yield piece


def _measured(
    found: Attack, measures: Mapping[str, Measure], truth: NDArray[np.integer] | None, sample: Sample | None
) -> dict[str, Any]:
    """The row's numbers of beliefs, with the error of the sample of people if there is one."""
    if not found.attackers:
        return {"attacker": None, "not_applicable": next(iter(found.refused.values()), "no attacker applies")}
    attacker = main_attacker(found.attackers) or next(iter(found.attackers))
    belief, learner = found.attackers[attacker], found.learner
    measured = {}
    for key, (name, reader) in {
        "learner_right": ("global_threat", learner),
        "right": ("global_threat", belief),
        "twice_exposed": ("relative_threat.share_2x", belief),
        "sure": ("confident.80", belief),
    }.items():
        people = People(reader, learner, truth)
        # Without the measure every value is harmless: nobody is sure of anything that anybody minds.
        measured[key] = measure_of(measures[name], people, sample) if name in measures else Estimate.exact(0.0)
    reliable = all(b.diagnostics.converged and b.diagnostics.precise for b in (belief, learner))
    return {"attacker": attacker, "not_applicable": None, "reliable": reliable} | {
        key: None if e is None else [number(e.value), number(e.low), number(e.high)] for key, e in measured.items()
    }
