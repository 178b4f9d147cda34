"""python -m papers [NAME…]: every published figure beside ours, printed and written to docs/results/papers.md.

With names only those files are run and printed; the page, which has one date, is written when all ran.
"""

import importlib
import sys
from pathlib import Path

from papers import Figure
from realdata.adult import AdultMissing, read_adult
from realdata.machine import describe_machine, machine_lines

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results" / "papers.md"
PREFACE = """# Published figures beside ours

`make papers` writes this page; do not edit it. *yes*: the printed number, as far as it is printed. *no*: not found,
with the reason. Pages are given where the copy at hand has them.
"""


def main() -> int:
    """1 if a figure disagrees without a reason."""
    try:
        columns = read_adult()
    except AdultMissing as missing:
        print(f"without Adult: {missing}", file=sys.stderr)
        columns = None
    every = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    unknown = set(sys.argv[1:]) - set(every)
    if unknown:
        print(f"papers has no {', '.join(sorted(unknown))}; it has {', '.join(every)}", file=sys.stderr)
        return 2
    named = sys.argv[1:] or every
    written: dict[str, str] = {}
    unexplained = []
    for name in named:
        module = importlib.import_module(f"papers.{name}")
        title = str(module.__doc__).strip().splitlines()[0]
        figures = list(module.reproduce())
        if columns is not None and hasattr(module, "reproduce_on_adult"):
            figures += module.reproduce_on_adult(columns)
        if columns is not None and hasattr(module, "reproduce_slowly"):
            figures += module.reproduce_slowly(columns)
        lines = ["| figure | where | printed | ours | | |", "|---|---|---|---|---|---|"]
        written[title] = "\n".join([*lines, *(f"| {' | '.join(_cells(figure))} |" for figure in figures)])
        unexplained += [f.name for f in figures if f.agrees is False and not f.why_not]
        print(title)
        for figure in figures:
            print("  " + "  ".join(cell for cell in _cells(figure) if cell))
    if columns is not None and named == every:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        parts = [PREFACE, machine_lines(describe_machine()), *(f"\n## {t}\n\n{text}" for t, text in written.items())]
        RESULTS.write_text("\n".join(parts).rstrip() + "\n")
    print(f"unexplained: {'; '.join(unexplained)}" if unexplained else "every figure agrees or says why not")
    return 1 if unexplained else 0


def _cells(figure: Figure) -> list[str]:
    agrees = {None: "", True: "yes", False: "no"}[figure.agrees]
    published = "" if figure.published is None else f"{figure.published:.6g}"
    note = "; ".join(text for text in (figure.reading, figure.why_not if figure.agrees is False else "") if text)
    return [figure.name, figure.where, published, f"{figure.ours:.6g}", agrees, note]


if __name__ == "__main__":
    sys.exit(main())
