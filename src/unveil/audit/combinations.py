"""How little need be known: chosen combinations of attributes, each asked about alone, as rows of one table."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil import risk
from unveil.attack import run_attack, targets_of_table
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

__all__ = ["check_combinations", "combination_rows"]

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
    """One row a release, combination and sensitive attribute, in the order given.

    Shares of fewer people than an external document may count are None there.
    """
    return [
        row
        for name, release in plan.releases.items()
        for known in combinations
        for row in _rows(plan, name, release, tuple(dict.fromkeys(known)))
    ]


def _rows(plan: Plan, name: str, release: Release | Masked, known: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    names = [n for n in known if n in {a.name for a in release.attributes}]
    for asked in release.with_role(Role.SENSITIVE):
        attribute = release.attributes[asked].name
        mine = [n for n in names if n != attribute]
        if isinstance(release, Masked):
            found = dict.fromkeys(("alone_in_original", "fewest_rows", "single_row", "attacker"))
            about = {"release": name, "attribute": attribute, "known": mine, "people": release.rows}
            yield about | found | {"not_applicable": "values were perturbed, not widened; see unveil link"}
            continue
        targets, truth = _people(plan, release, asked, mine)
        row: dict[str, Any] = {"release": name, "attribute": attribute, "known": mine, "people": targets.count}
        row |= _found(plan, release, targets, mine)
        try:
            yield row | _believed(plan, release, targets, truth)
        except NotApplicable as reason:
            yield row | {"attacker": None, "not_applicable": str(reason)}


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
        "alone_in_original": _share(plan, alone, plan.table.rows if plan.table is not None else 0),
        "fewest_rows": None if fewest is None or fewest < plan.least else fewest,
        "single_row": _share(plan, single, targets.count),
    }


def _believed(plan: Plan, release: Release, targets: Targets, truth: NDArray[np.integer] | None) -> dict[str, Any]:
    """What the learner and the main attacker make of it."""
    readers = plan.readers
    found = run_attack(
        release,
        targets,
        readers.attackers,
        prior=readers.prior_of(release, targets.asked),
        engine=readers.engine,
        chains=readers.chains,
        joined=readers.joined,
        lenient=True,
    )
    if not found.attackers:
        raise NotApplicable(next(iter(found.refused.values()), "no attacker applies"))
    attacker = main_attacker(found.attackers) or next(iter(found.attackers))
    belief, learner = found.attackers[attacker], found.learner
    harmless = release.attributes[targets.asked].harmless
    measured: dict[str, Estimate | None] = {
        "learner_right": None if truth is None else risk.global_threat(learner, truth),
        "right": None if truth is None else risk.global_threat(belief, truth),
        "twice_exposed": None if truth is None else risk.relative_threat_share(belief, learner, truth),
        "sure": risk.confident(belief, harmless=harmless),
    }
    reliable = all(b.diagnostics.converged and b.diagnostics.precise for b in (belief, learner))
    return {"attacker": attacker, "not_applicable": None, "reliable": reliable} | {
        key: None if e is None else _estimate(plan, e, targets.count) for key, e in measured.items()
    }


def _estimate(plan: Plan, estimate: Estimate, people: int) -> list[Any] | None:
    """Value, low, high."""
    if _share(plan, estimate.value, people) is None:
        return None
    return [number(estimate.value), number(estimate.low), number(estimate.high)]


def _share(plan: Plan, share: float | None, people: int) -> float | None:
    """A share, unless it tells of fewer people than may be counted."""
    return None if share is None or 0 < share * people < plan.least else float(share)
