"""python -m benchmarks [--write] [NAME …]: run them, all or those named.

A run of all is written to docs/results/benchmarks.*; with --write those named replace their sections there, each with
the date of its run.
"""

import ast
import json
import math
import os
import sys
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # waiting threads of BLAS would be counted as our CPU time

from benchmarks import Row
from benchmarks._process import rows_of
from realdata.machine import describe_machine, machine_lines

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results"
PREFACE = """# Benchmarks

`make bench` writes this page; do not edit it. Times are the best of several runs. A peer's figure was measured in the
same run on the same rows, in an environment of its own (benchmarks/peers/pins.txt). *ratio* is the peer's figure over
ours. A floor in the ratio's column is of the ratio, else of ours. A section with a date of its own was run then, alone.
"""


def main(chosen: list[str]) -> int:
    """Run, print and, if all ran, write; 1 if a floor is missed."""
    write = "--write" in chosen or not chosen
    chosen = [name for name in chosen if name != "--write"]
    names = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    unknown = [name for name in chosen if name not in names]
    if unknown:
        print(f"no benchmark is called {unknown[0]}; there are {', '.join(names)}", file=sys.stderr)
        return 2
    results: dict[str, list[Row]] = {}
    failed = []
    for name in chosen or names:
        print(f"{name}: {_title(name)}", flush=True)
        results[name] = []
        for row in rows_of(name):
            if row is None:  # the others' figures took long: they are not lost for one that fails
                failed.append(name)
            else:
                results[name].append(row)
                print("  " + "  ".join(cell for cell in _cells(row) if cell), flush=True)
    missed = [row.name for rows in results.values() for row in rows if row.met is False]
    if write:
        whole = [name for name in results if name not in failed] if chosen else list(results)
        _write({name: results[name] for name in whole}, alone=bool(chosen))
    print(f"missed: {'; '.join(missed)}" if missed else "every floor is met")
    if failed:
        print(f"failed, and not whole on the page: {', '.join(failed)}")
    return 1 if missed or failed else 0


def _title(name: str) -> str:
    found = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text()))
    return str(found).splitlines()[0]


def _write(results: dict[str, list[Row]], *, alone: bool) -> None:
    """The page and its numbers; `alone`: what other sections hold is kept."""
    now, kept = describe_machine(), RESULTS / "benchmarks.json"
    document = json.loads(kept.read_text()) if alone else {"machine": now, "benchmarks": {}, "dates": {}}
    for name, found in results.items():
        document["benchmarks"][name] = [{**asdict(row), "ratio": row.ratio, "met": row.met} for row in found]
        if alone:
            document.setdefault("dates", {})[name] = now["date"]
    document["benchmarks"] = dict(sorted(document["benchmarks"].items()))
    RESULTS.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(document, indent=2) + "\n")
    (RESULTS / "benchmarks.md").write_text(_page(document))


def _page(document: dict[str, Any]) -> str:
    parts = [PREFACE, machine_lines(document["machine"]), ""]
    for name, found in document["benchmarks"].items():
        rows = [Row(**{field.name: row[field.name] for field in fields(Row)}) for row in found]
        date = document["dates"].get(name)
        parts += [f"## {name}", "", _title(name) + (f" Run on {date}." if date else ""), ""]
        parts += ["| | ours | theirs | ratio | met | |", "|---|---|---|---|---|---|"]
        parts += [*(f"| {' | '.join(_cells(row))} |" for row in rows), ""]
    return "\n".join(parts).rstrip() + "\n"


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
