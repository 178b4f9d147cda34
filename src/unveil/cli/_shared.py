"""What every command needs: where to print, and options that several commands have."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from unveil.errors import UsageError

__all__ = ["Out", "console", "keep_apart", "say", "write"]

Out = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write; else to the terminal.", show_default=False),
]


def console() -> Any:
    from rich.console import Console

    wide = 120 if not sys.stdout.isatty() else None
    return Console(width=wide, highlight=False)


def say(text: str) -> None:
    """One line on standard error."""
    print("".join(c if c.isprintable() else " " for c in text), file=sys.stderr)


def write(output: Path | None, text: str) -> None:
    """To a file, whole or not at all, or to standard output."""
    if output is None:
        print(text, end="")
        return
    from unveil.formats.output import write_whole

    write_whole({output: text.encode()})
    say(f"wrote {output}")


def keep_apart(*, inputs: list[Path], outputs: list[Path]) -> None:
    """Refuse to write over what is read, or two things to one place."""
    seen = {path.resolve(): path for path in inputs}
    for path in outputs:
        if path.resolve() in seen:
            raise UsageError(f"{path}: is also {seen[path.resolve()]}; choose another file to write to")
        seen[path.resolve()] = path
