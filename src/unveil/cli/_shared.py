"""What every command needs: where to print, and options that several commands have."""

import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Annotated, Any

import typer

from unveil.errors import UsageError, without_secrets
from unveil.formats.databases import Database, located
from unveil.formats.paths import sheet_file

__all__ = [
    "Decimal",
    "Delimiter",
    "Encoding",
    "JsonFile",
    "KeyColumn",
    "OriginalData",
    "Out",
    "PublishedFile",
    "ReleaseCells",
    "ReleaseDecimal",
    "ReleaseDelimiter",
    "ReleaseEncoding",
    "ReportFile",
    "SchemaFile",
    "SchemaOption",
    "attackers_of",
    "check_outputs",
    "console",
    "documents_of",
    "engine_of",
    "give_results",
    "keep_apart",
    "listed",
    "located",
    "long_work",
    "make_folder",
    "refuse_unsure",
    "release_parts",
    "say",
    "write",
]

Out = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write; else to the terminal.", show_default=False),
]

SchemaFile = Annotated[Path, typer.Option("--schema", "-s", metavar="FILE", help="schema.toml", show_default=False)]
SchemaOption = Annotated[
    Path | None, typer.Option("--schema", "-s", metavar="FILE", help="schema.toml", show_default=False)
]
JsonFile = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE", help="Write the document as JSON; - for standard output.", show_default=False
    ),
]
ReportFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the report, one HTML file.", show_default=False)
]

PublishedFile = Annotated[Path, typer.Argument(metavar="RELEASE", help="The published CSV.", show_default=False)]

# A table that is read may be a file, or a Database: typer wants one type.
OriginalData = Annotated[
    Any,
    typer.Argument(
        parser=located, metavar="DATA", help="The original table: a file, or DATABASE#TABLE.", show_default=False
    ),
]

# Of the original and of other tables that are read beside it; a release may come from another tool.
Delimiter = Annotated[
    str | None, typer.Option(help="The CSV delimiter; found by itself if not given.", show_default=False)
]
Decimal = Annotated[str | None, typer.Option(help="The decimal mark: . or ,", show_default=False)]
Encoding = Annotated[
    str | None, typer.Option(help="utf-8, utf-16 or cp1252; found by itself if not given.", show_default=False)
]
ReleaseDelimiter = Annotated[str | None, typer.Option(help="The CSV delimiter of the release.", show_default=False)]
ReleaseDecimal = Annotated[str | None, typer.Option(help="The decimal mark of the release.", show_default=False)]
ReleaseCells = Annotated[
    list[str] | None,
    typer.Option(
        "--cells",
        metavar="[ATTRIBUTE=]NOTATION",
        help="How cells are written, where several ways fit: value, interval, range, bound, list, mask, prefix, "
        "suppressed; repeatable.",
        show_default=False,
    ),
]
KeyColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="A column of both files that says whose row is whose; no reader sees it, and it must not be published.",
        show_default=False,
    ),
]
ReleaseEncoding = Annotated[str | None, typer.Option(help="The encoding of the release.", show_default=False)]


def console() -> Any:
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # main() knows what to do; Rich would end with exit code 1

    return Plain(width=120 if not sys.stdout.isatty() else None, highlight=False)


def say(text: str) -> None:
    """One line on standard error."""
    print("".join(c if c.isprintable() else " " for c in without_secrets(text)), file=sys.stderr)


def write(output: Path | None, text: str) -> None:
    """To a file, whole or not at all, or to standard output."""
    if output is None:
        print(text, end="")
        return
    from unveil.formats.output import write_whole

    write_whole({output: text.encode()})
    say(f"wrote {output}")


def release_parts(release: Path) -> list[Path]:
    """The other files that a release may have: its sidecar and its table of sensitive values."""
    if not release.name:
        raise UsageError(f"{release}: is a folder; name a file in it")
    return [release.with_suffix(".toml"), release.with_name(f"{release.stem}-sensitive{release.suffix}")]


def keep_apart(*, inputs: Sequence[Path | Database], outputs: list[Path]) -> None:
    """Refuse to write over what is read, or two things to one place."""
    seen: dict[Path, Path | Database] = {
        sheet_file(path)[0].resolve() if isinstance(path, Path) else path.resolve(): path for path in inputs
    }
    for path in outputs:
        if path.resolve() in seen:
            raise UsageError(f"{path}: is also {seen[path.resolve()]}; choose another file to write to")
        seen[path.resolve()] = path


def listed(names: str | None) -> list[str] | None:
    """The names of an option A,B; None if it was not given."""
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


def attackers_of(texts: Iterable[str]) -> dict[str, Any]:
    """The attackers NAME:options, by their names; a second one of a name by its whole text."""
    from unveil.catalog import make, member, parse

    attackers: dict[str, Any] = {}
    for text in texts:
        name, options = parse(text)
        attackers[text if name in attackers else name] = make(member("attackers", name), options, name)
    return attackers


def engine_of(seed: int, workers: int | None, checkpoint: Path | None = None) -> Any:
    """The engine that options ask for; all cores if they do not say how many."""
    from unveil.engine import Engine

    engine = Engine(seed=seed, checkpoints=checkpoint)
    return engine if workers is None else replace(engine, workers=workers)


def documents_of(report: Path | None, json: str | None, people: Path | None = None) -> list[Path]:
    """The files of results that are to be written."""
    return [p for p in (report, None if json in (None, "-") else Path(str(json)), people) if p is not None]


def give_results(
    found: Any,
    *,
    report: Path | None,
    json: str | None,
    people: Mapping[Path, Any] | None = None,
    beside: Mapping[Path, Any] | None = None,
) -> None:
    """Write a result's report, its document and what is beside, all or none; print it; end with its exit code.

    `found` has a document and an exit code. Files of `people` name them.
    """
    from unveil.formats.output import write_whole
    from unveil.report import print_document, render_page

    people = people or {}
    text = found.document.model_dump_json(indent=2) + "\n"
    contents: dict[Path, Any] = {}
    if report is not None:
        contents[report] = render_page(found.document).encode()
    if json not in (None, "-"):
        contents[Path(str(json))] = text.encode()
    contents |= {**people, **(beside or {})}
    write_whole(contents, private=list(people))
    for path in contents:
        say(f"wrote {path}" + ("; it names people: keep it secret" if path in people else ""))
    if json == "-":
        print(text, end="")
    else:
        print_document(found.document, console(), report=report)
    if found.exit_code:
        raise typer.Exit(found.exit_code)


@contextmanager
def long_work() -> "Iterator[tuple[Any, Event]]":
    """A progress bar with the time left, if standard error is a terminal, and a flag that Ctrl-C sets.

    What was reached by then is kept; a second Ctrl-C ends at once.
    """
    stop = Event()

    def interrupted(number: int, frame: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        say("unveil: stopping; what was reached is kept. Once more to end at once")

    before = signal.getsignal(signal.SIGINT)
    main = current_thread() is main_thread()
    if main:
        signal.signal(signal.SIGINT, interrupted)
    try:
        if sys.stderr.isatty():
            with _bar() as progress:
                yield progress, stop
        else:
            yield None, stop
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _bar() -> "Iterator[Any]":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    text, bar = TextColumn("{task.description}"), BarColumn()
    left, gone = TimeRemainingColumn(), TimeElapsedColumn()
    with Progress(text, bar, TextColumn("{task.percentage:>3.0f}%"), gone, left, console=Console(stderr=True)) as shown:
        tasks: dict[str, Any] = {}

        def progress(task: str, done: int, total: int) -> None:
            if task not in tasks:
                tasks[task] = shown.add_task(task, total=total)
            shown.update(tasks[task], completed=done, total=total)

        yield progress


def make_folder(folder: Path) -> None:
    """A folder to write to, if it is not there."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made ({(error.strerror or 'unknown reason').lower()})") from None


def refuse_unsure(found: Iterable[Any], *, stopped: bool, precision: float) -> None:
    """Exit code 3 if chains disagree or did not reach the stated precision; `found`: diagnostics of beliefs."""
    found = list(found)
    if not all(diagnostics.converged for diagnostics in found):
        say("unveil: the chains disagree: they found different modes, shown one by one; none is to be relied on")
        raise typer.Exit(3)
    if not all(diagnostics.precise for diagnostics in found):
        budget = "you stopped" if stopped else "the budget ended"
        say(f"unveil: {budget} before the stated precision ({precision:g} for 99% of people); add --most-sweeps")
        raise typer.Exit(3)


def check_outputs(outputs: list[Path], people: Path | None) -> None:
    """Said before the work, not after it."""
    for path in outputs:
        if not path.parent.is_dir():
            raise UsageError(f"{path}: there is no folder {path.parent}; make it first")
        if path.is_dir():
            raise UsageError(f"{path}: is a folder; name a file in it")
    if people is not None:
        from unveil.formats.people import check_people_file

        check_people_file(people)
