"""python -m papers [NAME…]: every published figure beside ours, printed and written to docs/results/papers.md.

With names only those files are run and printed; the page, which has one date, is written when all ran.
"""

import importlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from papers import Figure
from realdata.adult import AdultMissing, read_adult
from realdata.machine import describe_machine, machine_lines

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results" / "papers.md"
PREFACE = """# Published figures beside ours

`make papers` writes this page; do not edit it. *yes*: the same quantity, equal to the last printed digit, or to what
a printed formula gives, to .001 where ours is sampled. *no*: not found, with the reason. A statement in words is 1
where it holds, or the share of cases in which it holds. Under "Ours alone" stands what no paper prints: figures behind
a curve or a sentence, and checks of our own with what must come out. Pages are given where the copy at hand has them.
"""
PRINTED = ("figure", "where", "printed", "ours", "", "")
ALONE = ("figure", "where", "must be", "ours", "", "")


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
        written[title] = page(figures)
        unexplained += unexplained_names(figures)
        print(title)
        for figure in figures:
            print("  " + "  ".join(cell for cell in _cells(figure) if cell))
    if columns is not None and named == every:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        parts = [PREFACE, machine_lines(describe_machine()), *(f"\n## {t}\n\n{text}" for t, text in written.items())]
        RESULTS.write_text("\n".join(parts).rstrip() + "\n")
    print(f"unexplained: {'; '.join(unexplained)}" if unexplained else "every figure agrees or says why not")
    return 1 if unexplained else 0


def unexplained_names(figures: Iterable[Figure]) -> list[str]:
    """Those that miss without a reason; a check of our own may not miss at all."""
    return [f.name for f in figures if f.agrees is False and (f.self_check or not f.why_not)]


def page(figures: Sequence[Figure]) -> str:
    """How many agree, what is printed, and in a table of its own what is not."""
    printed = [figure for figure in figures if figure.printed]
    alone = [figure for figure in figures if not figure.printed]
    parts = []
    if printed:
        agree = sum(figure.agrees is True for figure in printed)
        parts += [f"{agree} of {len(printed)} printed figures agree.", _table(PRINTED, printed)]
    if alone:
        parts += ["### Ours alone" if printed else "Nothing is printed; ours alone:", _table(ALONE, alone)]
    return "\n\n".join(parts)


def _table(head: Sequence[str], figures: Iterable[Figure]) -> str:
    rows = [head, ["---"] * len(head), *map(_cells, figures)]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)


def _cells(figure: Figure) -> list[str]:
    agrees = {None: "", True: "yes", False: "no"}[figure.agrees]
    published = figure.published
    if not isinstance(published, str):
        published = "" if published is None else f"{published:.6g}"
    note = "; ".join(text for text in (figure.reading, figure.why_not if figure.agrees is False else "") if text)
    return [figure.name, figure.where, published, f"{figure.ours:.6g}", agrees, note]


if __name__ == "__main__":
    sys.exit(main())
