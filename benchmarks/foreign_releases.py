"""A Mondrian release of Adult, 30,162 rows, as we write it and as other tools do: the same release, at what cost."""

import csv
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import Row
from benchmarks._timing import best_cpu
from realdata.adult import QUASI_IDENTIFIERS, SENSITIVE, adult_schema, read_adult
from unveil.anonymizers.mondrian import Mondrian
from unveil.data.table import Table
from unveil.engine import Engine
from unveil.formats.releases import read_release, write_release
from unveil.privacy.models import KAnonymity

_INTERVAL = re.compile(r"\[(\d+),(\d+)\]")


def _spelt(interval: Callable[[int, int], str], listed: Callable[[list[str]], str]) -> Callable[[str], str]:
    def cell(text: str) -> str:
        ends = _INTERVAL.fullmatch(text)
        if ends:
            return interval(int(ends[1]), int(ends[2]))
        return listed(text[1:-1].split(",")) if text.startswith("{") else text

    return cell


TOOLS = {
    "ARX, R's cut: [20, 30[ and {a, b}": _spelt(lambda a, b: f"[{a}, {b + 1}[", lambda v: "{" + ", ".join(v) + "}"),
    "anonypy: 20-29 and a,b": _spelt(lambda a, b: f"{a}-{b}", ",".join),
    "Mondrian scripts: 20~29 and a~b": _spelt(lambda a, b: f"{a}~{b}", "~".join),
    "Python lists: [20, 29] and ['a', 'b']": _spelt(lambda a, b: f"[{a}, {b}]", str),
}


def measure() -> Iterator[Row]:
    """CPU time to read each spelling beside that of our own, and whether the release is equal to the last cell."""
    columns = {name: texts for name, texts in read_adult().items() if name in (*QUASI_IDENTIFIERS, SENSITIVE)}
    schema = adult_schema(columns)
    table = Table.from_columns(schema, columns)
    release = Mondrian(require=(KAnonymity(k=5),), recoding="order").anonymize(table, Engine(seed=0)).release
    with tempfile.TemporaryDirectory() as folder:
        ours = Path(folder) / "ours.csv"
        write_release(release, ours)
        own = best_cpu(lambda: read_release(ours, schema, attributes=table.attributes), 3)
        yield Row("our own notation", own, unit="s CPU")
        with ours.open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        for number, (tool, cell) in enumerate(TOOLS.items()):
            theirs = Path(folder) / f"theirs-{number}.csv"
            with theirs.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, delimiter=";")
                writer.writerows([head, *([cell(text) for text in row] for row in reversed(rows))])
            same = read_release(theirs, schema, attributes=table.attributes) == release
            spent = best_cpu(lambda path=theirs: read_release(path, schema, attributes=table.attributes), 3)  # type: ignore[misc]
            note = "rows reversed; " + ("the same release" if same else "ANOTHER RELEASE")
            yield Row(tool, spent, own, "s CPU", note=note)
            yield Row(f"{tool}: equal", float(same), floor=">= 1")
