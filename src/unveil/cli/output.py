"""What every command needs for its results: where to print, and files that are written whole or not at all."""

import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Any

import typer

from unveil.errors import UsageError, shown, without_secrets
from unveil.formats.databases import Database
from unveil.formats.paths import folder_of, is_many, sheet_file

__all__ = [
    "check_outputs",
    "console",
    "doing",
    "file_part",
    "give_results",
    "harmless",
    "keep_apart",
    "long_work",
    "make_folder",
    "never_silent",
    "print_text",
    "release_parts",
    "say",
    "silence",
    "to_reader",
    "write",
]


def harmless(text: str) -> str:
    """The text without what a terminal would obey: every control character but line ends and tabs is shown as �."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)


def console(*, stderr: bool = False) -> Any:
    """Where results are printed; what comes from files cannot move the cursor, colour or name the window."""
    from rich.console import Console
    from rich.segment import Segment

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # main() knows what to do; Rich would end with exit code 1

        def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                if segment.control or segment.text.isprintable() or segment.text == "\n":
                    yield segment
                else:
                    yield Segment(harmless(segment.text), segment.style)

    shown = sys.stderr if stderr else sys.stdout
    return Plain(stderr=stderr, width=None if shown.isatty() else 120, highlight=False)


def say(text: str) -> None:
    """One line on standard error; if nobody reads it any more, what is still said goes nowhere."""
    try:
        print("".join(c if c.isprintable() else " " for c in without_secrets(text)), file=sys.stderr)
    except OSError:  # a closed pipe, a full disk: neither is a reason to lose a result or its exit code
        silence("stderr")


def print_text(text: str) -> None:
    """A file's content to standard output: as it is, but harmless on a terminal."""
    print(harmless(text) if sys.stdout.isatty() else text, end="")


def silence(name: str = "stdout") -> None:
    """Nobody reads this stream any more: what is still printed goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, getattr(sys, name).fileno())
    except (OSError, ValueError):  # a stream without a file
        setattr(sys, name, io.StringIO())
    os.close(nowhere)


@contextmanager
def to_reader() -> "Iterator[None]":
    """Printing, after which an exit code follows: it stands even if the reader of our output has left, as head does."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        silence()


def write(output: Path | None, text: str) -> None:
    """To a file, whole or not at all, or to standard output."""
    if output is None:
        print_text(text)
        return
    from unveil.formats.output import write_whole

    write_whole({output: text.encode()})
    say(f"wrote {output}")


def release_parts(release: Path) -> list[Path]:
    """The other files that a release may have: its sidecar and its table of sensitive values."""
    if not release.name:
        raise UsageError(f"{release}: is a folder; name a file in it")
    from unveil.formats.releases.published import second_table

    return [release.with_suffix(".toml"), second_table(release)]


def keep_apart(inputs: Iterable[Path | Database | None], outputs: Iterable[Path | None]) -> None:
    """Refuse to write over what is read, or two things to one place; None stands for no file."""
    seen: dict[Path, Path | Database] = {
        sheet_file(path)[0].resolve() if isinstance(path, Path) else path.resolve(): path
        for path in inputs
        if path is not None
    }
    folders = {path: folder_of(path).resolve() for path in seen.values() if isinstance(path, Path) and is_many(path)}
    for path in outputs:
        if path is None or str(path) == "-":
            continue
        for table, folder in folders.items():
            if path.resolve().is_relative_to(folder):
                raise UsageError(f"{path}: lies among the files of {table}; choose a place outside it")
        if path.resolve() in seen:
            raise UsageError(f"{path}: is also {seen[path.resolve()]}; choose another file to write to")
        seen[path.resolve()] = path


def check_outputs(options: Any, inputs: Sequence[Path | Database | None], *more: Path) -> None:
    """Whether report, document and people file can be written beside what is read: said before the work."""
    if (language := getattr(options, "language", "en")) != "en":
        from unveil.report.translation import LANGUAGES

        if language not in LANGUAGES:
            raise UsageError(f"--language {shown(language)}: choose from {', '.join(LANGUAGES)}")
    people = getattr(options, "people", None)
    named = [*(getattr(options, name, None) for name in ("report", "json", "junit", "sarif")), people, *more]
    outputs = [path for path in named if path is not None and str(path) != "-"]
    keep_apart(inputs, outputs)
    for path in outputs:
        if not path.parent.is_dir():
            raise UsageError(f"{path}: there is no folder {path.parent}; make it first")
        if path.is_dir():
            raise UsageError(f"{path}: is a folder; name a file in it")
    if people is not None:
        from unveil.formats.people import check_people_file

        check_people_file(people)


def give_results(
    found: Any,
    options: Any,
    *,
    people: Mapping[Path, Any] | None = None,
    beside: Mapping[Path, Any] | None = None,
    private: Sequence[Path] = (),
) -> None:
    """Write a result's report, its document and what is beside, all or none; print it; end with its exit code.

    `found` has a document and an exit code. Files of `people` name them; these and `private` ones are for the owner's
    eyes alone.
    """
    from unveil.formats.output import write_whole
    from unveil.report import junit, print_document, render_page, sarif

    doing("writing")
    people, report = people or {}, options.report
    text = found.document.model_dump_json(indent=2) + "\n"
    contents: dict[Path, Any] = {}
    if report is not None:
        contents[report] = render_page(found.document, options.language).encode()
    if options.json is not None and str(options.json) != "-":
        contents[options.json] = text.encode()
    for path, render in ((options.junit, junit), (options.sarif, sarif)):
        if path is not None:
            contents[path] = render(found.document).encode()
    contents |= {**people, **(beside or {})}
    write_whole(contents, private=[*people, *private])
    for path in (path for path, content in contents.items() if content is None):
        say(f"removed {path}, a part of the release that was there before")
    told = report if str(options.json) != "-" else None  # below what is printed stands where the report is
    if others := [str(path) for path, content in contents.items() if content and path not in people and path != told]:
        say(f"wrote {', '.join(others)}")
    for path in people:
        say(f"wrote {path}; it names people: keep it secret")
    with to_reader():
        if str(options.json) == "-":
            print_text(text)
        else:
            print_document(found.document, console(), verbose=options.verbose, report=report)
    if found.exit_code:
        raise typer.Exit(found.exit_code)


_doing: Callable[[], str] = str  # in words; main() sets it


def doing(what: str | Callable[[], str]) -> None:
    """What the command is at, for those who wait; a text is followed by the seconds since. "": somebody else tells."""
    global _doing
    began = time.monotonic()

    def since() -> str:
        return what and f"{what}, {time.monotonic() - began:.0f} s so far"

    _doing = since if isinstance(what, str) else what


@contextmanager
def never_silent() -> "Iterator[None]":
    """Every ten seconds a line that says what the command is at: nobody can tell a silent one from a dead one."""
    from unveil.engine import line_now_and_then

    doing("reading")
    with line_now_and_then(say, lambda: _doing()):
        yield


@contextmanager
def long_work(then: str = "what was reached is kept") -> "Iterator[tuple[Any, Event]]":
    """One progress bar with the time left, lines without a terminal, and a flag that Ctrl-C sets.

    `then`: what comes of the work; a second Ctrl-C ends at once. Signals in quick succession are one: `timeout -s INT`
    sends two, to the process and to its group.
    """
    from unveil.engine import Meter

    stop = Event()
    until = 0.0

    def interrupted(number: int, frame: Any) -> None:
        nonlocal until
        if stop.is_set():
            if time.monotonic() < until:
                return
            raise KeyboardInterrupt
        stop.set()
        until = time.monotonic() + 0.5
        say(f"unveil: stopping; {then}. Press Ctrl-C again to end at once")

    before = signal.getsignal(signal.SIGINT)
    main = current_thread() is main_thread()
    if main:
        signal.signal(signal.SIGINT, interrupted)
    try:
        if sys.stderr.isatty():
            doing("")  # the bar shows that time goes by
            with _bar() as progress:
                yield progress, stop
        else:
            meter = Meter(_told_to_file())
            doing(meter.line)
            yield meter, stop
    finally:
        doing("writing")
        if main:
            signal.signal(signal.SIGINT, before)


def _told_to_file() -> Callable[[str, float, float | None], None] | None:
    """Progress for a program that waits: it names a file in UNVEIL_PROGRESS, which then always holds the latest."""
    named = os.environ.get("UNVEIL_PROGRESS")
    if not named:
        return None
    import json

    file, last = Path(named), -1.0

    def show(stage: str, share: float, left: float | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < 0.25 and share < 1:
            return
        last = now
        with suppress(OSError):  # nobody waits any more: that ends no work
            part = file.with_suffix(".part")
            part.write_text(json.dumps({"stage": harmless(stage), "share": share, "left": left}), "utf-8")
            part.replace(file)

    return show


@contextmanager
def _bar() -> "Iterator[Any]":
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from unveil.engine import Meter, duration

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeElapsedColumn()
    with Progress(*columns, TextColumn("{task.fields[left]}"), console=console(stderr=True)) as shown:
        bar = shown.add_task("starting", total=1.0, left="")

        def show(stage: str, share: float, left: float | None) -> None:
            about = "" if left is None else f"about {duration(left)} left"
            shown.update(bar, description=escape(harmless(stage)), completed=share, left=about)

        yield Meter(show)


def make_folder(folder: Path) -> None:
    """A folder to write to, if it is not there."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made ({(error.strerror or 'unknown reason').lower()})") from None


def file_part(text: str) -> str:
    """A name of the data as a part of a file's name."""
    return "".join(c if c.isalnum() or c in " ._×-" else "_" for c in text)[:60]
