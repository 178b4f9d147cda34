"""The table of docs/leaks.md, as `make leaks` writes it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from realdata.machine import describe_machine, machine_lines
from tests.leaks.case import Case

if TYPE_CHECKING:
    from tests.leaks.run import Outcome

__all__ = ["PAGE", "write_table"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "leaks.md"
HEADING = "## The table"
PREFACE = """`make leaks` writes it; do not edit it. *verdict*: under the default limits, with what is exceeded or open.
*within under*: of a leak, the limits (default or preset) under which it passed, which must be none; of a control, how
many of them it is within under. Where checks of the file exceed, readers were not asked: they cannot change that.
"""


def write_table(cases: Mapping[str, Case], found: Sequence["Outcome"]) -> None:
    """Replace the table at the end of docs/leaks.md."""
    text = PAGE.read_text()
    head = text[: text.index(HEADING)] if HEADING in text else text.rstrip() + "\n\n"
    PAGE.write_text(head + _table(cases, found))


def _table(cases: Mapping[str, Case], found: Sequence["Outcome"]) -> str:
    runs: dict[str, list[Outcome]] = {}
    for outcome in found:
        runs.setdefault(outcome.case, []).append(outcome)
    lines = [HEADING, "", PREFACE, machine_lines(describe_machine()), ""]
    leaks = [n for n in runs if not cases[n].safe]
    passed = [n for n in leaks if any(o.passed for o in runs[n])]
    controls = [n for n in runs if cases[n].safe]
    within = [n for n in controls if runs[n][0].exit == 0]
    lines += [
        f"{len(leaks)} leaks of {len({cases[n].family for n in leaks})} families: {len(passed)} within under any "
        f"limits. {len(controls)} safe controls: {len(within)} within by default.",
        "",
        "| leak | family | people | of | what is learned | verdict | within under |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in sorted(leaks, key=lambda n: (cases[n].family, n)):
        truth = cases[name].truth
        where = ", ".join(o.preset or "default" for o in runs[name] if o.passed)
        cells = [_words(name), cases[name].family, f"{truth.people:,}", f"{truth.of:,}", truth.learned]
        lines.append(f"| {' | '.join([*cells, _verdict(runs[name][0]), where])} |")
    lines += ["", "| control | people | verdict | within under |", "|---|---|---|---|"]
    for name in sorted(controls):
        kept = sum(o.exit == 0 for o in runs[name])
        cells = [_words(name), f"{cases[name].truth.of:,}", _verdict(runs[name][0]), f"{kept} of {len(runs[name])}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _verdict(outcome: "Outcome") -> str:
    return outcome.verdict + (f": {', '.join(outcome.kinds)}" if outcome.kinds else "")
