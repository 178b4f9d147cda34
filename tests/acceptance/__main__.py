"""`make accept`: whole runs of the sampler against exact posteriors and of intervals against exact statistics.

About two hours of CPU. It can be stopped and goes on where it was: runs are kept in build/acceptance. `python -m
tests.acceptance --write` only writes the page, from the runs that there are.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.acceptance.coverage import REAL, Coverage, advantage_coverage, coverages, real_coverages
from tests.acceptance.modes import (
    LINKED,
    RIGHT,
    TRIED,
    Part,
    Trial,
    code_digest,
    everybody,
    kept_trials,
    parts,
    run_trials,
    second_ways,
)
from tests.mode_oracles import MOST
from tests.modes import blind_tables, odd_tables

KEPT = Path("build/acceptance")
PAGE = Path("docs/results/sampler.md")
WORLDS, CHAINS = 400, 6  # trials of each world; seeds of each real table


def main(arguments: Sequence[str]) -> int:
    """Run what is missing and write the page; 1 if a run was fooled or an interval holds too seldom."""
    if "--write" not in arguments:
        for one in run_trials(KEPT, parts()):
            if not one.good:
                print(one, flush=True)
    second = second_ways(KEPT / "second.json", 0 if "--write" in arguments else MOST)
    held = [*coverages(WORLDS), *real_coverages(CHAINS), advantage_coverage(3 * WORLDS)]
    found = [(part, list(kept_trials(KEPT, part).values())) for part in parts()]
    PAGE.write_text("\n".join([*_modes(found), *_exactness(second), *_coverage(held)]) + "\n")
    fooled = [one for _, some in found for one in some if one.fooled]
    return int(bool(fooled) or not all(one.met for one in held))


def _modes(found: Sequence[tuple[Part, list[Trial]]]) -> list[str]:
    lines = [
        "# The sampler against exact posteriors",
        "",
        "`make accept` writes this page; do not edit it. Tables with an exactly known posterior, up to ten seeds of",
        "each with the default budget, probed from the truth and its mirror image as an audit does. A run is *fooled*",
        f"if it is called converged while its error is over {RIGHT:g} stated standard errors; *good* if it is",
        f"converged and right. All runs are of one code (digest {code_digest()}, of other shapes",
        f"{code_digest(TRIED + LINKED)}).",
        "",
    ]
    blind, odd = ({table.name for table in some} for some in (blind_tables(), odd_tables()))
    for part, some in found:
        lines += [f"## {part.name}", ""]
        if not some:
            lines += ["Not run.", ""]
            continue
        runs = len({(t.table, t.seed) for t in some})
        whole = min(sum(t.table == one and t.reader == "learner" for t in some) for one in part.tables)
        lines += [f"{runs:,} of {part.runs:,} runs (table and seed), two readers each; {whole} seeds of all.", ""]
        lines += [
            "| tables | runs | readers | fooled | good | precise | alarms | largest error / stated | CPU s a run |"
        ]
        lines += ["|---|---|---|---|---|---|---|---|---|"]
        rows = {
            "all": some,
            "invented blind": [t for t in some if t.table in blind],
            "invented blind, other families": [t for t in some if t.table in odd],
            "sampled": [t for t in some if t.method != "integrated"],
            "integrated": [t for t in some if t.method == "integrated"],
        }
        lines += [_line(label, these) for label, these in rows.items() if these]
        worst = sorted((t for t in some if not t.good), key=lambda t: -t.error / t.stated)
        lines += ["", *(f"- not good: {t.table}, seed {t.seed}, {t.reader}: {_why(t)}" for t in worst), ""]
    return lines


def _cell(one: Coverage) -> str:
    best = f" / {one.best:.3f} (±{one.best_width / 2:.2g})" if np.isfinite(one.best) else ""
    needed = f", {one.needed:.0%}" if 0 < one.needed < np.inf else ""
    return f"{one.held:.3f} (±{one.width / 2:.2g}{needed}){best}"


def _exactness(second: dict[str, tuple[str, float]]) -> list[str]:
    ways = [how for how, _ in second.values()]
    alone = [name for name in everybody() if name not in second]
    return [
        "## Whether what is exact is exact",
        "",
        "Posteriors are counted: matchings by how many rows of each value have each code. A second algorithm shares",
        f"nothing with that: of {ways.count('by kinds')} tables every way to match groups that look alike is listed,",
        f"and {ways.count('by integration')} are integrated over their parameters by Gauss's rule (exact here).",
        f"The largest difference of a belief is {max((apart for _, apart in second.values()), default=0):.0e}. By one",
        f"algorithm alone: {'; '.join(alone) or 'none'}.",
        "",
    ]


def _why(one: Trial) -> str:
    return f"error {one.error:.4f}, stated {one.stated:.4f}, {one.alarm or ('fooled' if one.fooled else 'disagree')}"


def _line(label: str, some: list[Trial]) -> str:
    sampled = [t.error / t.stated for t in some if t.method != "integrated"]
    cells = [
        label,
        f"{len({(t.table, t.seed) for t in some}):,}",
        f"{len(some):,}",
        f"{sum(t.fooled for t in some)}",
        f"{np.mean([t.good for t in some]):.1%}",
        f"{np.mean([t.precise for t in some]):.1%}",
        f"{sum(bool(t.alarm) for t in some)}",
        f"{max(sampled):.2f}" if sampled else f"error {max(t.error for t in some):.0e}",
        f"{np.mean([t.seconds for t in some]):.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def _coverage(found: list[Coverage]) -> list[str]:
    lines = [
        "# Coverage of intervals",
        "",
        "How often the 95% interval of every statistic of beliefs that an audit prints holds the exact value; in",
        "brackets half of its mean width, and how much of that would hold in 95% there. After a slash the same of the",
        "best interval there could be: the narrowest of one width for all trials that holds in 95% of them. Nobody has",
        "it who has four chains: where errors are normal, Student's interval is one and a half times as wide. Where it",
        "is itself at 100%, errors come in few steps (a person, or a cell of ten), and no interval can hold in 95%:",
        "the next narrower one holds too seldom.",
        "*Cells with ties*: half of 24 cells have a tie, cells err alone; *many*: 80 of 200; *in fours*: four of 200",
        "err alike, and 20 are on two thresholds at once. *Two readings*: all err together around an exact tie.",
        "*Chains*: short real chains on tables with a known posterior; an interval is never narrower there than an",
        f"unseen mode allows. {WORLDS} trials of each of the first five, {CHAINS} seeds of each of {len(REAL)} tables.",
        "",
        "Why some hold more often than 98%. One rule serves all worlds, for four chains do not tell which they are in;",
        "where a statistic needs nearly all of its width in one world, a narrower rule would hold too seldom there. A",
        "share (`share_2x`, `disclosed`) of few kinds of people near a threshold holds in 95% as promised. Of many",
        "kinds the interval allows for all of them at once: people on the threshold and people a billionth below it",
        "cannot be told apart, and their shares are as far apart as it is wide. It also allows for a few that err",
        "further, however their errors depend on each other: a rule for kinds that err alone holds in 87% of runs",
        "where four err alike. Where nobody is near it moves in no trial, and neither does the best. A guess",
        "(`global_threat`, `accuracy`, `mode_gain`) changes in steps, a cell at a time: the best interval holds too",
        "often as well, and ours is a step wider where four chains do not tell errors alone from errors together.",
        "`interval_width`, `relative_threat.max` and `.skewness`, `belief_gain.q95` and `calibration_error`: whoever",
        "may be on either side counts on both, wider than need be and never too narrow. `overconfidence` holds the",
        "luck of counting few people as well.",
        "",
    ]
    worlds = list(dict.fromkeys(one.world for one in found))
    lines += [f"| statistic | reader | {' | '.join(worlds)} |", f"|---|---|{'---|' * len(worlds)}"]
    by_name: dict[tuple[str, str], dict[str, Coverage]] = {}
    for one in found:
        by_name.setdefault((one.statistic, one.reader), {})[one.world] = one
    for (statistic, reader), of in by_name.items():
        cells = [_cell(of[w]) if w in of else "" for w in worlds]
        lines.append(f"| {statistic} | {reader} | {' | '.join(cells)} |")
    missed = [one for one in found if not one.met]
    lines += ["", f"Below 92%: {'; '.join(f'{m.statistic} ({m.world})' for m in missed) or 'none'}."]
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
