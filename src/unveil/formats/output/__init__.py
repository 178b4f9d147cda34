"""Files that appear whole or not at all, and tables as CSV text."""

import contextlib
import errno
import io
import os
import secrets
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from unveil.errors import OutputError, shown
from unveil.formats.output.sets import ENDING, Entry, alone_in, identity, note, remove, settle

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["CodedTexts", "Content", "FileContent", "NewFolder", "content_bytes", "csv_bytes", "write_whole"]

JUST_NOW = 2.0  # seconds
PIECE = 2**18  # rows that are written at a time


@dataclass(frozen=True, slots=True)
class NewFolder:
    """A folder of files, which appears whole under a name that nothing has."""

    fill: Callable[[Path], object]  # writes its files into an empty folder, down to the disk


FileContent = bytes | Callable[[BinaryIO], object]
Content = FileContent | NewFolder | None  # None: the file is removed


def write_whole(
    files: Mapping[Path, Content] | Mapping[str, Content] | Mapping[str | os.PathLike[str], Content],
    *,
    mode: int = 0o644,
    private: Collection[str | os.PathLike[str]] = (),
) -> list[Path]:
    """Write a set of files so that all of them appear, each whole, or none; earlier files stay if it fails.

    A content is its bytes or a function that writes them; a file without content is removed, together with what the
    others replace. The files get `mode` less the process's umask, those named in `private` 0600; until they are
    complete nobody else can read them. Links are followed. A `NewFolder` appears like a file, whole. Returns the paths
    that were written.
    """
    plans: list[_Plan] = []
    notes: list[_Plan] = []
    try:
        for path, content in files.items():
            plans.append(_planned(path, {plan.target for plan in plans}, folder=isinstance(content, NewFolder)))
        folders = {plan.target.parent for plan in plans}
        for folder in folders:
            settle(folder)
            _remove_stale(folder)
        final = mode & ~_umask()
        for plan, (path, content) in zip(plans, files.items(), strict=True):
            with _explained(plan):
                if content is None:
                    plan.removed = True
                else:
                    _fill(plan, content, 0o600 if path in private else final)
        with alone_in(folders):
            for folder in folders:
                if len(together := [plan for plan in plans if plan.target.parent == folder]) > 1:
                    _note(notes, together)
            for place, plan in enumerate(plans):
                with _explained(plan):
                    # The last rename ends the work, so that only the earlier ones may have to be undone.
                    _put(plan, keep=place < len(plans) - 1)
    finally:
        committed = len(plans) == len(files) and all(map(_placed, plans))
        for plan in (*reversed(plans), *notes):
            _clean(plan, committed)
    for folder in folders:
        _sync_folder(folder)
    return [Path(path) for path, content in files.items() if content is not None]


def content_bytes(content: Content) -> bytes:
    """What a file will hold."""
    assert not isinstance(content, NewFolder)
    if not callable(content):
        return content or b""
    out = io.BytesIO()
    content(out)
    return out.getvalue()


@dataclass(frozen=True, slots=True, eq=False)
class CodedTexts:
    """A column of texts, each held once."""

    texts: "pl.Series"
    of_row: "NDArray[np.integer]"  # (rows,) which of them each row holds

    def __len__(self) -> int:
        return len(self.of_row)

    def __getitem__(self, rows: slice) -> "pl.Series":
        return self.texts[self.of_row[rows]]


def csv_bytes(
    header: Sequence[str],
    columns: "Sequence[Iterable[str] | CodedTexts] | pl.DataFrame",
    *,
    delimiter: str = ",",
    newline: str = "\n",
    encoding: str = "utf-8",
) -> bytes:
    """A table as CSV: comma, LF and UTF-8 unless told; a field is quoted only where a reader could go wrong without.

    That is where it holds a comma, a quote, a line end or another usual delimiter, has blanks at an edge, starts with
    a byte order mark, or is the empty field of a one-column table. `read_text` gives back the same texts.
    """
    import polars as pl

    texts = [
        column
        if isinstance(column, CodedTexts)
        else pl.Series("", column if isinstance(column, pl.Series) else list(column), pl.String, strict=True)
        for column in columns
    ]
    if len(texts) != len(header):
        raise ValueError(f"{len(header)} names for {len(texts)} columns")
    if len({len(column) for column in texts}) > 1:
        raise ValueError("columns of different length")
    if any((column.texts if isinstance(column, CodedTexts) else column).null_count() for column in texts):
        raise ValueError("a missing text; write the missing token instead")
    lone = len(texts) == 1
    unsafe = _UNSAFE.replace(",", "", 1) if delimiter == ";" else _UNSAFE  # its decimal commas need no quotes
    names = [_quoted(pl.Series("", [name], pl.String), lone, unsafe).item() for name in header]
    out = io.BytesIO()
    out.write((delimiter.join(names) + newline).encode())
    how: dict[str, Any] = {"include_header": False, "quote_style": "never", "line_terminator": newline}
    texts = [
        CodedTexts(_quoted(column.texts, lone, unsafe), column.of_row) if isinstance(column, CodedTexts) else column
        for column in texts
    ]
    for start in range(0, len(texts[0]) if texts else 0, PIECE):  # never the texts of all rows at once
        some = slice(start, start + PIECE)
        piece = {
            str(place): column[some] if isinstance(column, CodedTexts) else _quoted(column[some], lone, unsafe)
            for place, column in enumerate(texts)
        }
        pl.DataFrame(piece).write_csv(out, separator=delimiter, **how)
    if encoding == "utf-8":
        return out.getvalue()
    try:
        return out.getvalue().decode().encode(encoding)
    except UnicodeEncodeError:  # a label that the input's encoding lacks
        return out.getvalue()


_UNSAFE = '[,;|\t\r\n"]|^[\\s\ufeff]|\\s$'


def _quoted(column: "pl.Series", lone: bool, shape: str) -> "pl.Series":
    """The fields as they stand in the file."""
    unsafe = column.str.contains(shape)
    if lone:
        unsafe = unsafe | (column == "")
    if not unsafe.any():
        return column
    wrapped = '"' + column.str.replace_all('"', '""', literal=True) + '"'
    return wrapped.zip_with(unsafe, column)


# ---------------------------------------------------------------------------------------------- whole or not at all


@dataclass(slots=True)
class _Plan:
    """One file on its way; what exists under which name at this moment."""

    name: str  # the path as given, printable
    target: Path
    draft: Path | None = None  # the new content, not yet in place
    aside: Path = field(init=False)  # what the earlier file is called meanwhile
    kept: bool = False  # it is called so
    placing: bool = False  # the last rename was begun
    removed: bool = False  # nothing takes its place
    locks: list[int] = field(default_factory=list)  # descriptors that say that the temporary files are in use

    def __post_init__(self) -> None:
        self.aside = _beside(self.target)


def _planned(path: str | os.PathLike[str], taken: set[Path], *, folder: bool = False) -> _Plan:
    name = shown(os.fspath(path), 500)[1:-1]
    try:
        target = Path(os.path.realpath(path))
        if not target.name or os.fspath(path).endswith(os.sep):
            raise OutputError(f"{name}: is a folder; name a file in it")
        if target in taken:
            raise OutputError(f"{name}: is to be written twice; give each file its own name")
        plan = _Plan(name, target)
        with _explained(plan):
            if not target.parent.is_dir():
                what = "is not a folder" if target.parent.exists() else "does not exist; make the folder first"
                raise OutputError(f"{name}: {shown(target.parent, 500)} {what}")
            if target.exists():
                kind = target.stat().st_mode
                if folder:
                    if not stat.S_ISDIR(kind) or any(target.iterdir()):
                        what = "holds files already" if stat.S_ISDIR(kind) else "is a file"
                        raise OutputError(f"{name}: {what}; name a new folder, or remove what is there")
                    return plan
                if stat.S_ISDIR(kind):
                    raise OutputError(f"{name}: is a folder; name a file in it")
                if not stat.S_ISREG(kind):
                    raise OutputError(f"{name}: is a device and cannot be replaced whole; name a file")
                if not os.access(target, os.W_OK):
                    raise OutputError(f"{name}: is write-protected; name another file")
    except ValueError:
        raise OutputError(f"{name}: is not a valid file name") from None
    return plan


@contextlib.contextmanager
def _explained(plan: _Plan) -> Iterator[None]:
    """What the operating system says, in words for the user."""
    try:
        yield
    except OSError as reason:
        if reason.errno in (errno.ENOSPC, errno.EDQUOT):
            what = "the disk is full; nothing was written, make room and try again"
        elif reason.errno in (errno.EACCES, errno.EPERM):
            what = f"no permission to write in {shown(plan.target.parent, 500)}; name another folder"
        elif reason.errno == errno.EROFS:
            what = "the disk is read-only; name another folder"
        elif reason.errno == errno.ENAMETOOLONG:
            what = "the name is too long; name another file"
        else:
            what = f"cannot be written: {(reason.strerror or 'unknown reason').lower()}"
        raise OutputError(f"{plan.name}: {what}") from reason


def _umask() -> int:
    # It can only be read by setting it: to a strict one, lest another thread creates a file meanwhile.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _beside(target: Path, ending: str = ".tmp") -> Path:
    """A name that nothing has, on the same disk."""
    return target.with_name(f".unveil-{secrets.token_hex(8)}{ending}")


def _fill(plan: _Plan, content: FileContent | NewFolder, mode: int) -> None:
    """Write the content under a temporary name, down to the disk."""
    # Recorded before it exists: an interrupt in between must not leave it behind.
    plan.draft = _beside(plan.target)
    if isinstance(content, NewFolder):
        os.mkdir(plan.draft, 0o700)
        _lock(plan, handle := os.open(plan.draft, os.O_RDONLY))
        os.close(handle)
        content.fill(plan.draft)
        for part in plan.draft.iterdir():
            os.chmod(part, mode)
        _sync_folder(plan.draft)
        os.chmod(plan.draft, mode | (mode & 0o444) >> 2)  # whoever may read the files may enter
        return
    handle = os.open(plan.draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    _lock(plan, handle)
    with os.fdopen(handle, "wb") as file:
        if callable(content):
            content(file)
        else:
            file.write(content or b"")
        file.flush()
        os.fsync(file.fileno())
    os.chmod(plan.draft, mode)


def _note(notes: list[_Plan], plans: list[_Plan]) -> None:
    """Note which files of a folder are about to change: whoever comes after us, if we are killed, undoes it."""
    with _explained(plans[0]):
        notes.append(_Plan(plans[0].name, plans[0].target))
        notes[-1].draft = path = _beside(plans[0].target, ENDING)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        _lock(notes[-1], handle)
        entries = [
            Entry(
                plan.target.name,
                None if plan.draft is None else plan.draft.name,
                plan.aside.name,
                None if plan.draft is None else identity(plan.draft),
                identity(plan.target),
            )
            for plan in plans
        ]
        try:
            note(handle, entries)
        finally:
            os.close(handle)


def _put(plan: _Plan, *, keep: bool) -> None:
    """Move the content to its name; with `keep` the earlier file stays under another."""
    if plan.removed:
        plan.placing = True
        if plan.target.exists():
            _keep(plan, os.replace)
        return
    assert plan.draft is not None
    if keep and plan.target.exists():
        try:
            _keep(plan, os.link)
        except OSError:  # not every file system knows hard links
            _keep(plan, os.replace)
    plan.placing = True
    os.replace(plan.draft, plan.target)


def _keep(plan: _Plan, move: Callable[[Path, Path], object]) -> None:
    """The earlier file under another name, as in use."""
    with contextlib.suppress(OSError):
        handle = os.open(plan.target, os.O_RDONLY)
        _lock(plan, handle)
        os.close(handle)
    plan.kept = True
    move(plan.target, plan.aside)


def _placed(plan: _Plan) -> bool:
    # Read from the disk: an interrupt can fall between a rename and a note of it.
    if plan.removed:
        return plan.placing and not os.path.lexists(plan.target)
    return plan.placing and plan.draft is not None and not os.path.lexists(plan.draft)


def _clean(plan: _Plan, committed: bool) -> None:
    """Remove what is temporary; unless committed, bring back what was there."""
    placed = _placed(plan)
    if not committed:
        if plan.kept and os.path.lexists(plan.aside):
            with contextlib.suppress(OSError):
                os.replace(plan.aside, plan.target)
        elif placed:
            with contextlib.suppress(OSError):
                remove(plan.target)
    # A rename onto another link of the same file does nothing, so that the kept one may still be there.
    for path in (plan.draft, plan.aside if plan.kept else None):
        if path is not None:
            with contextlib.suppress(OSError):
                remove(path)
    for handle in plan.locks:
        os.close(handle)


def _lock(plan: _Plan, handle: int) -> None:
    """Say that a file is in use until the plan is done; a process that is killed says it no longer."""
    if fcntl is not None:
        plan.locks.append(os.dup(handle))
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(plan.locks[-1], fcntl.LOCK_SH | fcntl.LOCK_NB)


def _remove_stale(folder: Path) -> None:
    """Remove temporary files of ours that nobody uses: their process was killed."""
    for path in folder.glob(".unveil-*.tmp") if fcntl is not None else ():
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                if time.time() - os.fstat(handle).st_ctime < JUST_NOW:  # made, and not yet locked
                    continue
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(path)
            finally:
                os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Make the renames last; a system that cannot is left as it is."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
