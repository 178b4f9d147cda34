"""How little need be known: chosen combinations of attributes, each asked about alone, as rows of one table."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil import risk
from unveil.attack import Attack, run_attack, run_attacks, targets_of_table
from unveil.attackers._fits import block_fits
from unveil.attackers._posterior import Posterior
from unveil.attribute import Role
from unveil.audit.asking import published_targets
from unveil.audit.findings import number
from unveil.audit.plan import Plan
from unveil.audit.words import main_attacker
from unveil.belief import Estimate, Targets
from unveil.errors import NotApplicable, UsageError, shown
from unveil.masked import Masked
from unveil.release import Release, row_numbers

__all__ = ["asked_together", "check_combinations", "combination_rows", "withheld"]

MOST = 200  # combinations that one audit asks about


def check_combinations(plan: Plan, combinations: Sequence[Sequence[str]]) -> None:
    """Refuse combinations that no release can be asked with."""
    if len(combinations) > MOST:
        raise UsageError(
            f"{len(combinations)} combinations of known attributes: at most {MOST} are asked about at once"
        )
    published = {a.name for release in plan.releases.values() for a in release.attributes}
    for names in combinations:
        unknown = [n for n in names if n not in published]
        if unknown or not names:
            what = f"{shown(unknown[0])} is published by no release" if unknown else "a combination of nothing"
            raise UsageError(f"{what}; known may be {', '.join(sorted(published))}")


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
    plan: Plan, name: str, release: Release | Masked, told: Mapping[int, list[dict[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """One row a combination and sensitive attribute, in this order. `told`, by attribute: those that are there."""
    asked = release.with_role(Role.SENSITIVE) if plan.combinations else ()
    if isinstance(release, Masked):
        nothing = dict.fromkeys(("alone_in_original", "fewest_rows", "single_row", "attacker"))
        reason = {"not_applicable": "values were perturbed, not widened; see unveil link"}
        for names, index in product(plan.combinations, asked):
            known = _published(release, index, names)
            about = {"attribute": release.attributes[index].name, "known": known, "people": release.rows}
            yield {"release": name} | about | nothing | reason
        return
    rows = {index: told.get(index) or asked_together(plan, name, release, index, None) for index in asked}
    for place, index in product(range(len(plan.combinations)), asked):
        yield rows[index][place]


def asked_together(
    plan: Plan, name: str, release: Release, asked: int, learned: Posterior | None
) -> list[dict[str, Any]]:
    """The rows of one sensitive attribute, by combination. `learned`: what is known of the population by now."""
    known = [_published(release, asked, names) for names in plan.combinations]
    people = [_people(plan, release, asked, names) for names in known]
    beliefs = _believed(plan, release, [targets for targets, _ in people], people[0][1], learned)
    return [
        {"release": name, "attribute": release.attributes[asked].name, "known": names, "people": targets.count}
        | _found(plan, release, targets, names)
        | belief
        for names, (targets, _), belief in zip(known, people, beliefs, strict=True)
    ]


def _published(release: Release | Masked, asked: int, names: Sequence[str]) -> list[str]:
    """Those of the names that can be known of someone whose attribute is asked about."""
    published = {a.name for i, a in enumerate(release.attributes) if i != asked}
    return [n for n in names if n in published]


def _people(plan: Plan, release: Release, asked: int, names: list[str]) -> tuple[Targets, NDArray[np.integer] | None]:
    if plan.table is None:
        return published_targets(release, asked, names, plan.readers.wrong), None
    targets = targets_of_table(plan.table, release, asked, known=names, wrong=plan.readers.wrong)
    truth = plan.table.columns[plan.table.index(release.attributes[asked].name)]
    if plan.sample is not None and plan.sample < plan.table.rows:
        random = plan.readers.engine.named("people").generator()
        rows = np.sort(random.choice(plan.table.rows, plan.sample, replace=False)).astype(np.int64)
        return targets.take(rows), truth[rows]
    return targets, truth


def _found(plan: Plan, release: Release, targets: Targets, names: list[str]) -> dict[str, Any]:
    """Rows that may be a person's: the fewest for anybody, and how many people are left with a single one."""
    alone = None
    if plan.table is not None and names:
        sizes = np.bincount(row_numbers([plan.table.columns[plan.table.index(n)] for n in names]))
        alone = float((sizes == 1).sum() / plan.table.rows)
    blocks = [b for b in release.blocks if any(i in b.attributes for i in targets.known)]
    fewest = single = None
    if len(blocks) == 1:  # across blocks the link is hidden: nobody's rows can be counted
        distinct, of_person = targets.distinct()
        fits = block_fits(release, blocks[0], distinct)
        rows = np.bincount(fits.target, weights=blocks[0].count[fits.entry], minlength=distinct.count)[of_person]
        placed = rows > 0
        fewest = int(rows[placed].min()) if placed.any() else None
        single = float((rows == 1).mean())
    return {
        "alone_in_original": alone,
        "fewest_rows": fewest,
        "single_row": single,
    }


def _believed(
    plan: Plan,
    release: Release,
    several: list[Targets],
    truth: NDArray[np.integer] | None,
    learned: Posterior | None,
) -> list[dict[str, Any]]:
    """What the learner and the main attacker make of each combination."""
    readers = plan.readers
    more: dict[str, Any] = {
        "prior": readers.prior_of(release, several[0].asked),
        "engine": readers.engine,
        "chains": readers.chains,
        "lenient": True,
    }
    try:
        if readers.joined:  # attributes that are taken as one: each combination is asked by itself
            found = [run_attack(release, one, readers.attackers, joined=readers.joined, **more) for one in several]
        else:
            found = run_attacks(release, several, readers.attackers, learned=learned, **more)
    except NotApplicable as reason:
        return [{"attacker": None, "not_applicable": str(reason)}] * len(several)
    harmless = release.attributes[several[0].asked].harmless
    return [_measured(attack, harmless, truth) for attack in found]


def _measured(found: Attack, harmless: Sequence[int], truth: NDArray[np.integer] | None) -> dict[str, Any]:
    if not found.attackers:
        return {"attacker": None, "not_applicable": next(iter(found.refused.values()), "no attacker applies")}
    attacker = main_attacker(found.attackers) or next(iter(found.attackers))
    belief, learner = found.attackers[attacker], found.learner
    measured: dict[str, Estimate | None] = {
        "learner_right": None if truth is None else risk.global_threat(learner, truth),
        "right": None if truth is None else risk.global_threat(belief, truth),
        "twice_exposed": None if truth is None else risk.relative_threat_share(belief, learner, truth),
        "sure": risk.confident(belief, harmless=harmless),
    }
    reliable = all(b.diagnostics.converged and b.diagnostics.precise for b in (belief, learner))
    return {"attacker": attacker, "not_applicable": None, "reliable": reliable} | {
        key: None if e is None else [number(e.value), number(e.low), number(e.high)] for key, e in measured.items()
    }
