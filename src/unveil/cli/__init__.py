"""The command line: parse, load, call one function, print. Heavy modules are imported where they are used."""

import os
import signal
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread
from typing import Annotated, Any

import typer

from unveil.cli import anonymize as anonymize_verb
from unveil.cli import audit as audit_verb
from unveil.cli import frontier as frontier_verb
from unveil.cli.attack import attack_app
from unveil.cli.check import check
from unveil.cli.command import command, group
from unveil.cli.demo import demo
from unveil.cli.doctor import doctor
from unveil.cli.hierarchies import hierarchy_app
from unveil.cli.ledger import ledger_app
from unveil.cli.list import list_
from unveil.cli.output import harmless, never_silent, say, silence
from unveil.cli.schema import schema
from unveil.cli.studio import studio
from unveil.errors import LimitError, Stopped, UnveilError, failed_at, without_secrets
from unveil.formats.glass import start_early
from unveil.temporary import sweep

__all__ = ["app", "main"]

STOPPED = 130  # by Ctrl-C, with nothing to show
CRASHED = 70  # as sysexits.h has it: an error inside the program, never a verdict
AGAIN = 0.05  # seconds after which a signal is sent once more

app = group(
    "unveil",
    "May this table be published? Anonymize microdata, and audit any release.",
    order="schema hierarchy anonymize check audit ledger attack frontier studio list doctor demo",
    epilog="""
        Start here (unveil COMMAND --help says more):
          unveil schema patients.csv -o schema.toml          draft the schema; read and confirm it
          unveil anonymize patients.csv -s schema.toml --with mondrian:k=5 -o release.csv
          unveil audit release.csv -s schema.toml --original patients.csv --report report.html
        """,
)

command(app)(schema)
app.add_typer(hierarchy_app)
command(app, first=anonymize_verb.FIRST, members=("anonymizers", "privacy_models"))(anonymize_verb.anonymize)
command(app, first="schema original require population assignment n report json verbose")(check)
command(app, first=audit_verb.FIRST)(audit_verb.audit)
app.add_typer(ledger_app)
app.add_typer(attack_app)
command(app, first=frontier_verb.FIRST)(frontier_verb.frontier)
command(app)(studio)
command(app)(list_)
command(app)(doctor)
command(app)(demo)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Show the version.", is_eager=True)] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        print(f"unveil {installed('unveil')}")
        raise typer.Exit


def main() -> None:
    """Run the command and end with its exit code: 2 and one line for a mistake of the user's, 70 for one of ours."""
    # Threads belong to the engine: those of BLAS wait for each other by spinning, on matrices that one does at once.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _usable_streams()
    start_early(sys.argv[1:])
    sweep()
    with _ended_cleanly() as signals, never_silent():
        code = _run(signals)
    if signals:  # compiled code swallowed it while the work came to its end: that is whole, but nobody waits for it
        code = 128 + min(signals)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output left, e.g. head: the exit code stands
        silence()
    except OSError as error:
        code = _unwritable(error)
    sys.exit(code)


def _usable_streams() -> None:
    """Closed streams lead nowhere; a character that a stream cannot write is replaced, not an error."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  open to the end
        if hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(errors="replace")


@contextmanager
def _ended_cleanly() -> Iterator[set[int]]:
    """Who ends us by a signal gets what an interrupt gets: nothing half-written, no temporary file.

    Yields the signals that were to end us.
    """

    waiting: list[Timer] = []
    came: set[int] = set()

    def ended(number: int, frame: Any) -> None:
        if number != signal.SIGINT:
            came.add(number)
        if (on_its_way := _on_its_way()) or _deaf(frame) or number != signal.SIGINT:
            # Compiled code may print the exception and forget it: it is asked again whether we still run.
            waiting.append(Timer(AGAIN, os.kill, (os.getpid(), number)))
            waiting[-1].daemon = True
            waiting[-1].start()
            if on_its_way or _deaf(frame):
                return
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    numbers = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    main = current_thread() is main_thread()
    before = {number: signal.signal(number, ended) for number in numbers if main and _unset(number)}
    hook = sys.unraisablehook

    def forgotten(found: Any) -> None:
        if not (came and isinstance(found.exc_value, SystemExit)):  # ours, which is asked for again
            hook(found)

    if main:
        sys.unraisablehook = forgotten
    try:
        yield came
    finally:
        if main:
            sys.unraisablehook = hook
        for timer in waiting:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _on_its_way() -> bool:
    """Whether a signal has ended us already, and what was begun is being cleaned up."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, SystemExit):
        error = error.__context__
    return error is not None


def _unset(number: signal.Signals) -> bool:
    """Whether nobody has decided on this signal: nohup has."""
    return signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)


def _deaf(frame: Any) -> bool:
    """Whether an exception raised here is printed and forgotten: called back by the compiler, or by the collector."""
    while frame is not None:
        if frame.f_code.co_name == "__del__" or frame.f_code.co_filename.endswith("executionengine.py"):
            return True
        frame = frame.f_back
    return False


def _run(signals: Set[int]) -> int:
    try:
        code = app(standalone_mode=False)
    except UnveilError as error:
        say(f"unveil: {error}")
        return STOPPED if isinstance(error, Stopped) else 1 if isinstance(error, LimitError) else 2
    except (KeyboardInterrupt, typer.Abort):
        say("unveil: stopped")
        return STOPPED
    except BrokenPipeError:
        silence()
        return 0
    except OSError as error:  # standard output itself cannot be written
        return _unwritable(error)
    except MemoryError:
        say("unveil: not enough memory for this table; try --sample N, fewer --workers, or a larger machine")
        return CRASHED
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # Typer makes a 1 of it, which would be a verdict
            silence()
            return 0
        raise
    except BaseException as error:  # a panic of a native library is not an Exception
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # usage errors of the command line itself
            return _show(error)
        return CRASHED if signals else _crashed(error)  # what native code makes of being ended is no error of ours
    if code == STOPPED:  # what Typer makes of Ctrl-C
        say("unveil: stopped")
    return code if isinstance(code, int) else 0


def _show(error: Any) -> int:
    if isinstance(text := getattr(error, "message", None), str):
        error.message = harmless(without_secrets(text))
    try:
        error.show()
    except OSError:
        silence("stderr")
    return int(error.exit_code)


def _unwritable(error: OSError) -> int:
    silence()
    say(f"unveil: {error.strerror or error}")
    return 2


def _crashed(error: BaseException) -> int:
    """One line to report; the values in it may be of the data, so that it is for the reader to decide."""
    if os.environ.get("UNVEIL_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    place = f" at {at}" if (at := failed_at(error)) else ""
    say(
        f"unveil: internal error{place}: {type(error).__name__}: {str(error)[:200]}. Please report this line and the "
        "command (check that it shows no data); UNVEIL_TRACEBACK=1 prints more"
    )
    return CRASHED
