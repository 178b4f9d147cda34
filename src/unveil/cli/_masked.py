"""unveil attack on a masked release: the Bayesian attacker reads it where the chances of each change are published."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from unveil.cli._shared import console, listed, long_work, refuse_unsure, say

__all__ = ["attack_masked"]


def attack_masked(
    release: Path,
    schema: Any,
    table: Any,
    *,
    asked: str | None,
    known: str | None,
    dialect: dict[str, Any],
    engine: Any,
    chains: Any,
    alpha: float,
    beta: float,
    people: Path | None,
) -> None:
    """Read, ask, print; a file whose chances are not published is refused in one line."""
    from unveil.audit.attack import run_channel_attack
    from unveil.data.belief import sensitive_attribute
    from unveil.formats.masked import read_masked
    from unveil.formats.people import people_frame, write_people
    from unveil.formats.releases import read_release
    from unveil.report import print_blocks
    from unveil.report.sections.attack import attack_blocks

    masked = read_masked(release, schema, attributes=table.attributes, **dialect)
    if not masked.known_channel:
        read_release(release, schema, **dialect)  # which says why not
    index = sensitive_attribute(masked, asked)
    with long_work() as (progress, stop):
        result = run_channel_attack(
            masked,
            table,
            index,
            known=listed(known),
            alpha=alpha,
            beta=beta,
            engine=replace(engine, progress=progress, stop=stop),
            chains=chains,
        )
    attribute = masked.attributes[index]
    truth = table.columns[table.index(attribute.name)]
    if people is not None:
        frame = people_frame(attribute, result.known_texts(masked), result.learner, result.attackers, truth)
        write_people(people, frame)
        say(f"wrote {people}; it names people: keep it secret")
    print_blocks(attack_blocks(attribute.name, result.learner, result.attackers, truth), console())
    found = [belief.diagnostics for belief in (result.learner, *result.attackers.values())]
    refuse_unsure(found, stopped=stop.is_set(), precision=chains.precision)
