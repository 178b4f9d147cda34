"""python -m benchmarks [NAME …]: run them, all or those named; a run of all is written to docs/results/benchmarks.*"""

import ast
import json
import math
import os
import sys
from dataclasses import asdict
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # waiting threads of BLAS would be counted as our CPU time

from benchmarks import Row
from benchmarks._process import rows_of
from realdata.machine import describe_machine, machine_lines

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results"
PREFACE = """# Benchmarks

`make bench` writes this page; do not edit it. Times are the best of several runs. A peer's figure was measured in the
same run on the same rows, in an environment of its own (benchmarks/requirements.txt). *ratio* is the peer's figure over
ours. A floor in the ratio's column is of the ratio, else of ours.
"""


def main(chosen: list[str]) -> int:
    """Run, print and, if all ran, write; 1 if a floor is missed."""
    names = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    unknown = [name for name in chosen if name not in names]
    if unknown:
        print(f"no benchmark is called {unknown[0]}; there are {', '.join(names)}", file=sys.stderr)
        return 2
    results: dict[str, list[Row]] = {}
    titles, failed = {}, []
    for name in chosen or names:
        titles[name] = _title(name)
        print(f"{name}: {titles[name]}", flush=True)
        results[name] = []
        for row in rows_of(name):
            if row is None:  # the others' figures took long: they are not lost for one that fails
                failed.append(name)
            else:
                results[name].append(row)
                print("  " + "  ".join(cell for cell in _cells(row) if cell), flush=True)
    missed = [row.name for rows in results.values() for row in rows if row.met is False]
    if not chosen:
        _write(results, titles)
    print(f"missed: {'; '.join(missed)}" if missed else "every floor is met")
    if failed:
        print(f"failed, and not whole on the page: {', '.join(failed)}")
    return 1 if missed or failed else 0


def _title(name: str) -> str:
    found = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text()))
    return str(found).splitlines()[0]


def _write(results: dict[str, list[Row]], titles: dict[str, str]) -> None:
    machine = describe_machine()
    RESULTS.mkdir(parents=True, exist_ok=True)
    rows = {
        name: [{**asdict(row), "ratio": row.ratio, "met": row.met} for row in found] for name, found in results.items()
    }
    (RESULTS / "benchmarks.json").write_text(json.dumps({"machine": machine, "benchmarks": rows}, indent=2) + "\n")
    parts = [PREFACE, machine_lines(machine), ""]
    for name, found in results.items():
        parts += [
            f"## {name}",
            "",
            titles[name],
            "",
            "| | ours | theirs | ratio | met | |",
            "|---|---|---|---|---|---|",
        ]
        parts += [f"| {' | '.join(_cells(row))} |" for row in found]
        parts.append("")
    (RESULTS / "benchmarks.md").write_text("\n".join(parts).rstrip() + "\n")


def _cells(row: Row) -> list[str]:
    """Name, ours, theirs, ratio, met, note."""
    floor = row.floor.replace(">=", "≥").replace("<=", "≤")
    ours = f"{_number(row.ours)} {row.unit}".strip()
    ratio = "" if row.ratio is None else f"{_number(row.ratio)}×"
    met = {None: "", True: "yes", False: "**no**"}[row.met]
    if floor and row.of_ratio:
        ratio += f" ({floor})"
    elif floor:
        ours += f" ({floor})"
    return [
        row.name,
        ours,
        "" if row.theirs is None else f"{_number(row.theirs)} {row.unit}".strip(),
        ratio,
        met,
        row.note,
    ]


def _number(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
