"""Documents on a terminal: plain tables, no colour where there is no terminal."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unveil import risk
from unveil.audit.document import Document, Finding
from unveil.data.belief import Belief, Estimate

__all__ = ["print_attack", "print_check"]

# What a level says, in a few words; the definitions are in docs/privacy-models.md.
_MEANING = {
    "k_anonymity": "rows that share their quasi-identifiers, at least",
    "delta_presence": "share of the population's matching people who are in the table, at most",
    "distinct_l": "different values in a group, at least",
    "probabilistic_l": "1 / the largest share of a value",
    "entropy_l": "effective number of values in a group",
    "recursive_cl": "most frequent value against the rest (c)",
    "alpha_k": "largest share of one value in a group",
    "p_sensitive_k": "different values in a group, at least",
    "t_closeness": "distance of a group from the table, at most",
    "n_t_closeness": "distance of a group from a large population, at most",
    "strict_n_t_closeness": "distance of a group from every large population, at most",
    "delta_disclosure": "|ln| of a value's share against the table's, at most",
    "beta_likeness": "relative gain in belief in a value, at most",
    "enhanced_beta_likeness": "the same, bounded for frequent values",
    "epsilon_m": "1 / the largest share of people with close numbers",
    "discernibility": "sum of squared group sizes",
    "certainty_penalty": "mean width of the cells: 0 exact, 1 all *",
}
_WORD = {"within": "kept", "exceeded": "MISSED", "inconclusive": "open", "no limit": ""}


def print_check(document: Document, console: Console) -> None:
    """Levels of every privacy model, one table a release."""
    facts = document.diagnostics
    for release in dict.fromkeys(f.release for f in document.findings):
        found = [f for f in document.findings if f.release == release]
        table = Table(
            title=escape(f"{release}: {facts['rows']} rows in {facts['groups']} groups"), title_justify="left"
        )
        table.add_column("measure", no_wrap=True)
        table.add_column("of")
        table.add_column("worst", justify="right", no_wrap=True)
        table.add_column("what it is")
        if any(f.limit for f in found):
            table.add_column("required", no_wrap=True)
        for finding in found:
            row = [
                finding.id,
                finding.attribute or "",
                _number(finding),
                _MEANING.get(finding.measure, ""),
            ]
            if len(table.columns) > 4:
                row.append(f"{finding.limit}: {_WORD[finding.verdict]}" if finding.limit else "")
            table.add_row(*map(escape, row))
        console.print(table)
    if facts["suppressed_rows"]:
        console.print(
            f"{facts['suppressed_rows']} rows are suppressed (all quasi-identifiers *); levels are of the others."
        )
    for name in facts["widened_sensitive"]:
        console.print(escape(f"{name}: published in sets of values; no model of sensitive values was measured on it."))
    for name, count in facts["withheld_values"].items():
        if count:
            console.print(escape(f"{name}: withheld for {count} rows, which are in no histogram."))


def _number(finding: Finding) -> str:
    value = finding.value
    if value is None or isinstance(value, str):
        return "∞" if value == "inf" else "–"
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) >= 1 else f"{value:.4g}"


def print_attack(
    asked: str,
    learner: Belief,
    attackers: Mapping[str, Belief],
    truth: NDArray[np.integer] | None,
    console: Console,
) -> None:
    """Learner and attackers side by side; without the truth, success is unknown and not shown.

    Where chains disagree every mode has a column of its own, and nothing is pooled.
    """
    columns = _by_mode(learner, attackers)
    table = Table(title=escape(f"{asked}: what is believed of {len(learner.probability)} people"), title_justify="left")
    table.add_column("")
    for name, _, _ in columns:
        table.add_column(escape(name), justify="right")
    rows: list[tuple[str, list[str]]] = []
    beliefs = [belief for _, belief, _ in columns]

    def beside(of: Callable[[Belief, Belief], Estimate], show: Callable[[Estimate], str]) -> list[str]:
        return ["" if other is None else show(of(belief, other)) for _, belief, other in columns]

    if truth is not None:
        rows += [
            ("guesses right (global threat)", [_share(risk.global_threat(b, truth)) for b in beliefs]),
            ("more right than the learner", beside(lambda a, l: risk.relative_global_threat(a, l, truth), _share)),
            ("people at least twice as exposed", beside(lambda a, l: risk.relative_threat_share(a, l, truth), _share)),
            ("largest relative threat", beside(lambda a, l: risk.relative_threat_max(a, l, truth), _plain)),
            ("absolute error a person", [_plain(risk.absolute_error(b, truth)) for b in beliefs]),
        ]
    rows.append(
        ("people believed 80% or more of one value", [_share(risk.confident(b, at_least=0.8)) for b in beliefs])
    )
    rows.append(("largest gain over the learner", beside(risk.belief_difference_max, _share)))
    rows.append(("knows that the person is in the table", [b.threat.membership for b in beliefs]))
    rows.append(("computed", [b.diagnostics.method for b in beliefs]))
    rows.append(("largest Monte-Carlo error of a belief", [_error(b) for b in beliefs]))
    for label, cells in rows:
        table.add_row(label, *map(escape, cells))
    console.print(table)
    held = learner.threat.population
    console.print(escape(f"Known of each person: {learner.threat.target}. Of the population beforehand: {held}."))
    for name, belief in attackers.items():
        if belief.threat.target != learner.threat.target:
            console.print(escape(f"Known to {name}: {belief.threat.target}."))


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
            label = f"{name}, mode {number} (chains {which}{fits})"
            found.append((label, belief.of_chains(mode), None if reference is None else reference.of_chains(mode)))
    return found


def _share(estimate: Estimate) -> str:
    if estimate.low == estimate.high:
        return f"{estimate.value:.1%}"
    return f"{estimate.value:.1%} ({estimate.low:.1%} – {estimate.high:.1%})"


def _plain(estimate: Estimate) -> str:
    if estimate.low == estimate.high:
        return f"{estimate.value:.4g}"
    return f"{estimate.value:.3g} ({estimate.low:.3g} – {estimate.high:.3g})"


def _error(belief: Belief) -> str:
    found = belief.diagnostics.facts.get("error_max")
    return "none" if belief.exact else f"{found:.3f}" if isinstance(found, float) else "not known"
