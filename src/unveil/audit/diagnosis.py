"""How sure an audit is: readers and their chains, verdicts, facts of a release, who is exposed in what."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil import risk
from unveil.audit.case import Case
from unveil.audit.document import Run, describe_run, number
from unveil.audit.part import Part
from unveil.audit.words import main_attacker
from unveil.data.attribute import Role
from unveil.data.belief import Belief

__all__ = ["describe_audit_run", "reader_rows", "release_facts", "roles_of", "unreliable_readers", "worst_attributes"]


def describe_audit_run(started: float) -> Run:
    memory = None
    try:
        import resource

        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    except ImportError:  # not on every system
        pass
    return describe_run(seconds=time.monotonic() - started, peak_memory_mb=memory)


def roles_of(case: Case) -> dict[str, list[str]]:
    """Every column of the original and of the releases by its role, and those that no release publishes."""
    tables = [*([] if case.original is None else [case.original]), *case.releases.values()]
    held = {a.name: str(a.role) for table in tables for a in table.attributes}
    if case.original is not None:
        held |= dict.fromkeys(case.original.repeated, str(Role.IDENTIFIER))
    for file in case.files.values():
        held |= {name: str(file.schema.declaration(name).role) for name in file.schema.names}
        extra = {"weight": file.schema.document.weight, "frequency": file.schema.document.frequency}
        held |= {name: role for role, name in extra.items() if name is not None}
    found = {str(role): [name for name, own in held.items() if own == role] for role in (*Role, "weight", "frequency")}
    published = {a.name for release in case.releases.values() for a in release.attributes}
    published |= {name for file in case.files.values() for name in file.columns}
    found["not published"] = [name for name in held if name not in published]
    return {role: names for role, names in found.items() if names}


def unreliable_readers(parts: Sequence[Part]) -> dict[tuple[str, str | None, str], str]:
    """Readers whose chains disagree or are not precise enough; of people nobody can place the learner speaks."""
    found: dict[tuple[str, str | None, str], str] = {}
    for part in parts:
        for attribute, asked in part.answers.items():
            learner = _state(asked.learner)
            placed = None if not asked.unplaced else learner
            states = {name: _worse(_state(belief), placed) for name, belief in asked.attackers.items()}
            states |= {"learner": learner, "faithfulness": learner}
            if "" in asked.without:
                states["learner_without"] = _state(asked.without[""])
            states |= {"ideal": None if asked.ideal is None else _state(asked.ideal)}
            for reader, state in states.items():
                if state is not None:
                    found[part.name, attribute, reader] = state
        for attribute, readers in part.beliefs.items():
            for reader, belief in readers.items():
                if (unsure := _state(belief)) is not None:
                    found[part.name, attribute, reader] = unsure
        for row in part.panel:  # one alarm of several attackers: what they seem to keep is open, what exceeds does
            found |= {(part.name, row["attribute"], m["reader"]): "imprecise" for m in row["members"] if m["alarm"]}
    return found


def _state(belief: Belief) -> str | None:
    found = belief.diagnostics
    return "disagree" if not found.converged else None if found.precise else "imprecise"


def _worse(one: str | None, other: str | None) -> str | None:
    """Chains that disagree before imprecise ones before none."""
    return "disagree" if "disagree" in (one, other) else one or other


def reader_rows(part: Part) -> Iterator[dict[str, Any]]:
    """One line a reader: who knows what, how it was computed, how sure that is; or why it does not apply."""
    for attribute, found in part.answers.items():
        for reader, belief in {"learner": found.learner, **found.attackers}.items():
            yield _reader(part.name, attribute, reader, belief, found.truth)
        for reader, reason in found.refused.items():
            yield _refused(part.name, attribute, reader, reason)
    for attribute, readers in part.beliefs.items():
        for reader, belief in readers.items():
            yield _reader(part.name, attribute, reader, belief, None)
    for attribute, reasons in part.refused.items():
        for reader, reason in reasons.items():
            yield _refused(part.name, attribute, reader, reason)
    for attribute, reason in part.not_applicable.items():
        yield _refused(part.name, attribute, "learner", reason)


def _reader(
    release: str, attribute: str, reader: str, belief: Belief, truth: NDArray[np.integer] | None
) -> dict[str, Any]:
    diagnostics = belief.diagnostics
    modes = []
    if not diagnostics.converged and belief.chains is not None and truth is not None:
        for chain, p in enumerate(belief.chains, start=1):
            modes.append({"chain": chain, "global_threat": risk.global_threat(Belief(p.copy()), truth).value})
    return {
        "release": release,
        "attribute": attribute,
        "reader": reader,
        "applicable": True,
        "reason": None,
        "threat": asdict(belief.threat),
        "method": diagnostics.method,
        "converged": diagnostics.converged,
        "precise": diagnostics.precise,
        "facts": {k: v if isinstance(v, str) else number(float(v)) for k, v in diagnostics.facts.items()},
        "modes": modes,
    }


def _refused(release: str, attribute: str, reader: str, reason: str) -> dict[str, Any]:
    return {
        "release": release,
        "attribute": attribute,
        "reader": reader,
        "applicable": False,
        "reason": reason,
        "threat": None,
        "method": None,
        "converged": True,
        "precise": True,
        "facts": {},
        "modes": [],
    }


def release_facts(part: Part, repeated: int | None, least: int) -> dict[str, Any]:
    def shown_count(count: int | None) -> int | None:
        return count if count is None or not 0 < count < least else None

    return {
        **part.facts,
        "suppressed_rows": shown_count(part.facts["suppressed_rows"]),
        "withheld_values": {name: shown_count(count) for name, count in part.facts["withheld_values"].items()},
        "repeated_identifiers": shown_count(repeated),
    }


def worst_attributes(part: Part, least: int) -> dict[str, int | None]:
    """People by the attribute in which they are most exposed: largest Ti, or without the truth the largest gain."""
    single = {n: a for n, a in part.answers.items() if a.attribute.source != "seen"}
    columns = []
    for found in single.values():
        name = main_attacker(found.attackers)
        if name is None:
            columns.append(np.zeros(len(found.learner.probability)))
        elif found.truth is None:
            columns.append((found.attackers[name].probability - found.learner.probability).max(axis=1))
        else:
            columns.append(np.nan_to_num(risk.relative_threat(found.attackers[name], found.learner, found.truth)))
    if not columns:
        return {}
    table = np.stack(columns, axis=1)
    counts = np.bincount(table.argmax(axis=1)[table.max(axis=1) > 0], minlength=len(single)).tolist()
    return {n: c if c >= least else None for n, c in zip(single, counts, strict=True)}
