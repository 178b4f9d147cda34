"""An external command as a sanitizer: given a file, it gives a file. No shell, a folder of its own, a time limit."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unveil.data.release import Release
from unveil.data.schema import Schema
from unveil.data.table import CodedColumn, Table
from unveil.engine import Engine
from unveil.errors import ReleaseError, Stopped, UsageError, shown
from unveil.formats.output import csv_bytes
from unveil.formats.releases import read_release
from unveil.temporary import own_folder

__all__ = ["Oracle"]

TICK = 0.05  # seconds between two looks at the stop flag
MOST_TEXT = 200  # characters of the command's own message


@dataclass(frozen=True, slots=True)
class Oracle:
    """`tool … {input} {output}`: run once for every table. `columns` are the original's texts, as its file has them."""

    command: str
    schema: Schema
    columns: Mapping[str, CodedColumn] | None = field(default=None, repr=False)
    timeout: float = 600.0  # seconds for one table
    delimiter: str | None = None
    encoding: str | None = None
    cells: tuple[str, ...] = ()  # notations of the command's output, as --cells names them

    def __post_init__(self) -> None:
        words = self._words()
        for name in ("{input}", "{output}"):
            if not any(name in word for word in words):
                raise UsageError(
                    f"--oracle: the command must contain {name}, for instance "
                    '"Rscript anonymize.R {input} {output}"'
                )
        if shutil.which(words[0]) is None:
            raise UsageError(f"--oracle: program {shown(words[0])} was not found")
        if not self.timeout > 0:
            raise UsageError(f"--timeout {self.timeout:g}: choose a positive number of seconds")
        if self.schema.document.frequency is not None:
            raise UsageError("--oracle: a table with a frequency column has no single records to leave out; expand it")

    def described(self) -> str:
        """The command."""
        return self.command

    def sanitize(self, table: Table, rows: NDArray[np.int64], engine: Engine) -> Release:
        """Write the rows, run the command, read what it wrote."""
        with own_folder() as folder:
            given, made = folder / "input.csv", folder / "output.csv"
            given.write_bytes(self._text(table, rows))
            words = [w.replace("{input}", str(given)).replace("{output}", str(made)) for w in self._words()]
            self._run(words, folder, engine)
            if not made.is_file():
                raise ReleaseError("the command ended without writing {output}")
            try:
                return read_release(
                    made,
                    self.schema,
                    attributes=table.attributes,
                    cells=self.cells,
                    delimiter=self.delimiter,
                    encoding=self.encoding,
                )
            except ReleaseError as error:
                raise ReleaseError(str(error).replace(str(folder) + os.sep, "")) from None

    def _words(self) -> list[str]:
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise UsageError(f"--oracle: {shown(self.command)} cannot be split into words ({error})") from None
        if not words:
            raise UsageError('--oracle: an empty command; write "tool {input} {output}"')
        return words

    def _text(self, table: Table, rows: NDArray[np.int64]) -> bytes:
        if self.columns is None:
            texts = [np.array(a.values, dtype=object)[c] for a, c in zip(table.attributes, table.columns, strict=True)]
            return csv_bytes([a.name for a in table.attributes], [t.tolist() for t in texts])
        chosen = [
            np.array(c.texts, dtype=object)[np.asarray(c.text_of_row)[rows]].tolist() for c in self.columns.values()
        ]
        return csv_bytes(list(self.columns), chosen)

    def _run(self, words: list[str], folder: Path, engine: Engine) -> None:
        until = time.monotonic() + self.timeout
        with (folder / "messages").open("w+b") as messages:
            try:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=messages,
                    start_new_session=True,
                )
            except OSError as error:
                raise ReleaseError(f"the command cannot be started ({error.strerror})") from None
            try:
                while True:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(TICK)
                        break
                    if engine.stop.is_set():
                        raise Stopped("stopped while the command ran")
                    if time.monotonic() > until:
                        raise ReleaseError(f"no answer within {self.timeout:g} seconds")
            finally:
                if process.poll() is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            if process.returncode:
                messages.seek(0)
                said = messages.read(1 << 16).decode("utf-8", "replace").strip().splitlines()
                # The last line is the message; what comes before it is mostly a trace.
                words_of = f": {shown(said[-1], MOST_TEXT)}" if said else ""
                raise ReleaseError(f"the command ended with exit code {process.returncode}{words_of}")
