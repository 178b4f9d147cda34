"""How little need be known: chosen combinations of attributes, each asked about alone, as rows of one table."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil import risk
from unveil.attack import Attack, run_attack, run_attacks, targets_of_table
from unveil.attackers._fits import block_fits
from unveil.attribute import Role
from unveil.audit.asking import published_targets
from unveil.audit.findings import number
from unveil.audit.plan import Plan
from unveil.audit.words import main_attacker
from unveil.belief import Estimate, Targets
from unveil.errors import NotApplicable, UsageError, shown
from unveil.masked import Masked
from unveil.release import Release, row_numbers

__all__ = ["check_combinations", "combination_rows", "withheld"]

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


def combination_rows(plan: Plan, combinations: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """One row a release, combination and sensitive attribute, in the order given."""
    sets = [tuple(dict.fromkeys(known)) for known in combinations]
    return [row for name, release in plan.releases.items() for row in _rows(plan, name, release, sets)]


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


def _rows(
    plan: Plan, name: str, release: Release | Masked, sets: Sequence[tuple[str, ...]]
) -> Iterator[dict[str, Any]]:
    """By combination, then by attribute; chains run once an attribute for all combinations."""
    if not sets:
        return
    published = {a.name for a in release.attributes}
    asked = {index: release.attributes[index].name for index in release.with_role(Role.SENSITIVE)}
    known = {index: [[n for n in names if n in published and n != asked[index]] for names in sets] for index in asked}
    if isinstance(release, Masked):
        found = dict.fromkeys(("alone_in_original", "fewest_rows", "single_row", "attacker"))
        for number, index in product(range(len(sets)), asked):
            about = {"attribute": asked[index], "known": known[index][number], "people": release.rows}
            yield (
                {"release": name}
                | about
                | found
                | {"not_applicable": "values were perturbed, not widened; see unveil link"}
            )
        return
    rows: dict[int, list[dict[str, Any]]] = {}
    for index in asked:
        people = [_people(plan, release, index, names) for names in known[index]]
        beliefs = _believed(plan, release, [targets for targets, _ in people], people[0][1])
        rows[index] = [
            {"release": name, "attribute": asked[index], "known": names, "people": targets.count}
            | _found(plan, release, targets, names)
            | belief
            for names, (targets, _), belief in zip(known[index], people, beliefs, strict=True)
        ]
    for number, index in product(range(len(sets)), asked):
        yield rows[index][number]


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
    plan: Plan, release: Release, several: list[Targets], truth: NDArray[np.integer] | None
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
            found = run_attacks(release, several, readers.attackers, **more)
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
