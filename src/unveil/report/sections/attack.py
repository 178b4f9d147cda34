"""What readers of one release believe, side by side: from beliefs, not from a document."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from unveil import risk
from unveil.audit.document import Finding
from unveil.audit.measures import title_of
from unveil.data.belief import Belief, Estimate
from unveil.report.blocks import Block, Cell, Grid, Heading, Listing, num
from unveil.report.reading import value_cell
from unveil.report.wording import clean, label

__all__ = ["attack_blocks"]

Of = Callable[[Belief, Belief], Estimate]


def attack_blocks(
    asked: str, learner: Belief, attackers: Mapping[str, Belief], truth: NDArray[np.integer] | None
) -> list[Block]:
    """Learner and attackers side by side; without the truth, success is unknown and not shown.

    Where chains disagree every mode has a column of its own, and nothing is pooled.
    """
    columns = _by_mode(learner, attackers)
    rows: list[tuple[Cell, ...]] = []

    def add(name: str, of: Of, *, beside: bool = False) -> None:
        """A measure of each reader; `beside`: of an attacker against the learner."""
        found = [None if beside and other is None else of(b, other or learner) for _, b, other in columns]
        cells = [Cell("") if e is None else value_cell(Finding.of(name, "", asked, e)) for e in found]
        rows.append((Cell(title_of(Finding.exact(name, "", asked, 0.0))), *cells))

    if truth is not None:
        codes = truth
        add("global_threat", lambda a, l: risk.global_threat(a, codes))
        add("relative_global_threat", lambda a, l: risk.relative_global_threat(a, l, codes), beside=True)
        add("relative_threat.share_2x", lambda a, l: risk.relative_threat_share(a, l, codes), beside=True)
        add("relative_threat.max", lambda a, l: risk.relative_threat_max(a, l, codes), beside=True)
        add("absolute_error", lambda a, l: risk.absolute_error(a, codes))
    add("confident.80", lambda a, l: risk.confident(a, at_least=0.8))
    add("belief_gain", risk.belief_difference_max, beside=True)
    beliefs = [belief for _, belief, _ in columns]
    for words, texts in (
        ("Knows that the person is in the table", [b.threat.membership for b in beliefs]),
        ("Computed", [b.diagnostics.method for b in beliefs]),
        ("Largest Monte-Carlo error of a belief", [_error(b) for b in beliefs]),
    ):
        rows.append((Cell(words), *(num(clean(text)) for text in texts)))
    title = f"{label(asked)}: what is believed of {len(learner.probability):,} people"
    known = [
        ("Known of each person", learner.threat.target),
        ("Known of the population beforehand", learner.threat.population),
        *(
            (f"Known to {label(n)}", b.threat.target)
            for n, b in attackers.items()
            if b.threat.target != learner.threat.target
        ),
    ]
    head = (Cell(""), *(num(label(name)) for name, _, _ in columns))
    return [Heading(title), Grid(title, head, tuple(rows)), Listing(tuple((n, f"{clean(t)}.") for n, t in known))]


def _by_mode(learner: Belief, attackers: Mapping[str, Belief]) -> list[tuple[str, Belief, Belief | None]]:
    """Name, belief and the learner it is compared with; one for each mode where chains disagree."""
    found: list[tuple[str, Belief, Belief | None]] = []
    for name, belief in {"learner": learner, **attackers}.items():
        reference = None if belief is learner else learner
        if not belief.diagnostics.modes:
            found.append((name, belief, reference))
        for number, mode in enumerate(belief.diagnostics.modes, start=1):
            which = " ".join(str(chain + 1) for chain in mode)
            fit = belief.diagnostics.facts.get(f"log_fit_{mode[0] + 1}")
            fits = f", log fit {fit:.0f}" if isinstance(fit, float) else ""
            shown = f"{name}, mode {number} (chains {which}{fits})"
            found.append((shown, belief.of_chains(mode), None if reference is None else reference.of_chains(mode)))
    return found


def _error(belief: Belief) -> str:
    found = belief.diagnostics.facts.get("error_max")
    return "none" if belief.exact else f"{found:.3f}" if isinstance(found, float) else "not known"
