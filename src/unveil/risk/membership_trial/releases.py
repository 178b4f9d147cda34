"""Membership inference against releases: by the release alone, or by shadow releases of a scheme that is known."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.data.attribute import Role
from unveil.data.masked import Masked, MaskedTable
from unveil.data.release import Release
from unveil.data.table import Table
from unveil.data.targets import targets_of_table
from unveil.engine import Engine
from unveil.errors import Stopped, UsageError, shown
from unveil.risk.linkage.nearness import nearest_distances
from unveil.risk.membership import frequency_score, learn_membership, likelihood_scores, matching_groups
from unveil.risk.membership.drawing import published_shares
from unveil.risk.membership.matching import expected_rows
from unveil.risk.membership_trial.scores import Scores, joined, some_rows

__all__ = ["scores_of_release", "scores_of_scheme"]

Floats = NDArray[np.float64]
ROSTER = (
    "The attacker knows the people who may be in it, members and others, but not who is; and the scheme, but not what "
    "it drew."
)


def scores_of_release(
    release: Release | Masked,
    table: Table,
    control: Table,
    *,
    name: str = "release",
    known: Sequence[str] | None = None,
    engine: Engine | None = None,
) -> Scores:
    """What the release alone says of its people and of controls, who are known not to be in it.

    A grouped release: matching groups (`degree`) and rows expected against the population (`frequency`). A masked one:
    the nearest row (`nearest`).
    """
    people = joined(table, control)
    names = _known(release, known)
    inside = np.arange(people.rows) < table.rows
    by = _plain(release, people, names, engine)
    return Scores("release", name, inside, by, tuple(names))


def scores_of_scheme(
    method: Any,
    table: Table,
    *,
    name: str,
    control: Table | None = None,
    release: Release | Masked | None = None,
    known: Sequence[str] | None = None,
    shadows: int = 32,
    engine: Engine | None = None,
) -> Scores:
    """What somebody finds out who knows the scheme: releases of it are made with each person and without.

    The target is `release`, made of all of `table`, with `control` outside; without them a random half of the table is
    released and the other half stays out. Each shadow is made of as many people, drawn from everybody. `likelihood`
    compares what is seen of a person in the target with what was seen in shadows with and without the person; the
    scores of the release alone stand beside it. Cost: one release and one search a shadow.
    """
    if shadows < 4:
        raise UsageError(f"{shadows} shadow releases show nobody often enough in and out; make 4 or more")
    if (release is None) != (control is None):
        raise UsageError("a release that is there needs people who are known not to be in it: give both, or neither")
    engine = Engine(seed=0) if engine is None else engine
    random = engine.named("shadow releases").generator()
    people = table if control is None else joined(table, control)
    if people.rows < 4:
        raise UsageError(f"{people.rows} people are too few to be cut in two; give 4 or more")
    inside = np.arange(people.rows) < table.rows
    if control is None:
        inside = np.zeros(people.rows, dtype=bool)
        inside[random.permutation(people.rows)[: people.rows // 2]] = True
    size = int(inside.sum())
    target = release
    if target is None:
        target = _made(method, some_rows(people, np.flatnonzero(inside)), engine.named("target"))
    names = _known(target, known)
    seen = np.empty((shadows, people.rows))
    member = np.zeros((shadows, people.rows), dtype=bool)
    order = np.arange(people.rows)
    for number in range(shadows):
        if engine.stop.is_set():
            raise Stopped("shadow releases were stopped before their end; nothing was found out")
        # Every other shadow takes first whom the one before left out, so that all are in about as many.
        order = order[::-1] if number % 2 else random.permutation(people.rows)
        member[number, order[:size]] = True
        shadow = _made(method, some_rows(people, np.flatnonzero(member[number])), engine.named(f"shadow/{number}"))
        seen[number] = _statistic(shadow, people, names, engine)
        engine.report("shadow releases", number + 1, shadows)
    score = likelihood_scores(seen, member, _statistic(target, people, names, engine))
    by = {"likelihood": score, **_plain(target, people, names, engine)}
    return Scores("scheme", name, inside, by, tuple(names), shadows, (ROSTER,))


def _made(method: Any, table: Table, engine: Engine) -> Release | Masked:
    made = method.anonymize(table, engine)
    return made.masked if isinstance(made, MaskedTable) else made.release


def _known(release: Release | Masked, known: Sequence[str] | None) -> list[str]:
    published = {a.name: a for a in release.attributes}
    names = [n for n, a in published.items() if a.role is Role.QUASI_IDENTIFIER] if known is None else list(known)
    for name in names:
        if name not in published:
            raise UsageError(f"the release has no attribute {shown(name)}; it has {', '.join(published)}")
    if not names:
        raise UsageError("nothing is known of anybody: the schema has no quasi-identifier; name attributes by --known")
    return names


def _plain(release: Release | Masked, people: Table, names: Sequence[str], engine: Engine | None) -> dict[str, Floats]:
    """Scores that need no shadow."""
    if isinstance(release, Masked):
        return {"nearest": -nearest_distances(release, [people], names, engine=engine)[0]}
    positions = [release.index(name) for name in names]
    targets = targets_of_table(people, release, -1, known=names)
    reader = learn_membership(release, positions, engine=engine)
    return {
        "degree": reader.believe(matching_groups(release, targets).degree),
        "frequency": frequency_score(release, targets, published_shares(release, positions)),
    }


def _statistic(release: Release | Masked, people: Table, names: Sequence[str], engine: Engine) -> Floats:
    """(people,) log of the rows expected to be each one's, or minus the log of the distance to the nearest.

    -inf: the person fits nowhere; inf: a row is exactly the person's values.
    """
    with np.errstate(divide="ignore"):
        if isinstance(release, Masked):
            return -np.log(nearest_distances(release, [people], names, engine=engine)[0])
        shares = published_shares(release, [release.index(name) for name in names])
        return np.asarray(np.log(expected_rows(release, targets_of_table(people, release, -1, known=names), shares)))
