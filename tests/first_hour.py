"""The steward's first hour on a messy export: five commands, no error, and nobody's name in anything they write.

`make first-hour` walks it with 8,000 rows and 300 diagnoses, in German and in French, then with an Italian spreadsheet
of 12,000 rows and two sensitive attributes, then three messier exports, and says how long it took; the suite walks it
with fewer rows.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

try:
    from assisted_people import FAMILY_NAMES, care_register
    from exports import FRENCH, GERMAN, SURNAMES, hospital_export
    from messy_exports import EXPORTS, PEOPLE
except ModuleNotFoundError:  # as a program: python -m tests.first_hour
    from tests.assisted_people import FAMILY_NAMES, care_register
    from tests.exports import FRENCH, GERMAN, SURNAMES, hospital_export
    from tests.messy_exports import EXPORTS, PEOPLE

__all__ = ["commands", "confirm", "names_in", "walk"]

NAMES = (*SURNAMES, *FAMILY_NAMES, *PEOPLE)

MOST_LINES = 40  # of one command in the terminal, where progress is one line
MOST_SECONDS = 300

Run = Callable[[Sequence[str]], tuple[int, str]]


def commands(folder: Path, export: str = "export.csv", scheme: str = "mondrian:k=5,l=3") -> list[list[str]]:
    """What the steward types; between the first and the second they read the schema and confirm it."""
    ending = Path(export.partition("#")[0]).suffix
    data, schema, release = (str(folder / name) for name in (export, "schema.toml", f"release{ending}"))
    return [
        ["schema", data, "-o", schema],
        ["hierarchy", "auto", "-s", schema, "--data", data],
        ["anonymize", data, "-s", schema, "--with", scheme, "-o", release],
        [
            "audit",
            release,
            "-s",
            schema,
            "--original",
            data,
            "--report",
            f"{folder}/r.html",
            "--json",
            f"{folder}/a.json",
        ],
    ]


def confirm(folder: Path) -> None:
    """The steward read it."""
    schema = folder / "schema.toml"
    text = schema.read_text(encoding="utf-8")
    schema.write_text(text.replace("confirmed = false", "confirmed = true"), encoding="utf-8")


def walk(folder: Path, run: Run, export: str = "export.csv", scheme: str = "mondrian:k=5,l=3") -> list[str]:
    """What each command printed; an error of any but the audit, whose verdict is 1 or 3, ends the walk."""
    printed = []
    for number, command in enumerate(commands(folder, export, scheme)):
        code, text = run(command)
        assert code in ((0, 1, 3) if command[0] == "audit" else (0,)), f"unveil {' '.join(command)}: {code}\n{text}"
        lines = [line for line in text.splitlines() if not re.match(r"\d+% ", line)]
        assert len(lines) <= MOST_LINES, f"unveil {command[0]} prints {len(lines)} lines\n{text}"
        printed.append(text)
        if number == 0:
            confirm(folder)
    return printed


def names_in(folder: Path, printed: Sequence[str]) -> list[str]:
    """Where a surname stands, in what was printed or written; the export itself has them."""
    texts = {f"output {place}": text for place, text in enumerate(printed)}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.stem != "export":
            texts[file.name] = _text_of(file)
    return [f"{where}: {name}" for where, text in texts.items() for name in NAMES if name[:8] in text]


def _text_of(file: Path) -> str:
    """A file as text; of a spreadsheet what its parts hold."""
    if file.suffix != ".xlsx":
        return file.read_bytes().decode("utf-8", "replace")
    with zipfile.ZipFile(file) as book:
        return "\n".join(book.read(part).decode("utf-8", "replace") for part in book.namelist())


def _run(command: Sequence[str]) -> tuple[int, str]:
    program = "from unveil.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def _work() -> float:
    """Seconds of a core that the commands had so far: on a busy machine they wait, too."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    worst = 0.0
    trials: list[tuple[str, str, Callable[[Path], object]]] = [
        ("German", "mondrian:k=5,l=3", lambda path: path.write_bytes(hospital_export(8_000, GERMAN, 300))),
        ("French", "mondrian:k=5,l=3", lambda path: path.write_bytes(hospital_export(8_000, FRENCH, 300))),
        ("German", "anatomy:l=4", lambda path: path.write_bytes(hospital_export(8_000, GERMAN, 300))),
        ("Italian, a spreadsheet", "mondrian:k=5,l=3", lambda path: care_register(path, 12_000)),
        *(
            (f"{name}{ending}", "mondrian:k=5,l=3", lambda path, made=made: path.write_bytes(made(3_000)))
            for name, (ending, made) in EXPORTS.items()
        ),
    ]
    for words, scheme, make in trials:
        with tempfile.TemporaryDirectory() as name:
            folder, export = (
                Path(name),
                "export.xlsx#Assistiti" if "spreadsheet" in words else f"export{Path(words).suffix or '.csv'}",
            )
            make(folder / export.partition("#")[0])
            start, worked = time.monotonic(), _work()
            printed = walk(folder, _run, export, scheme)
            spent = time.monotonic() - start
            found = names_in(folder, printed)
            worst = max(worst, spent)
            print(
                f"{words}, {scheme}: {spent:.0f} s ({_work() - worked:.0f} s of work), "
                f"names in the output: {len(found)}",
                flush=True,
            )
            if found:
                print("\n".join(found[:5]))
                return 1
    return int(worst > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
