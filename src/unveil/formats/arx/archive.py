"""Zip files from elsewhere: a few members read into memory, nothing unpacked to disk, everything odd refused."""

import os
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType

from unveil.errors import TableError, UnveilError, shown

__all__ = ["Archive"]

MOST_MEMBERS = 10_000
MOST_BYTES = 2**32  # unpacked, of all members that are read
MOST_RATIO = 250  # unpacked to packed, beyond SMALL: tables pack to a tenth, deflate cannot do better than 1:1032
SMALL = 2**24
_FAULTS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(RuntimeError, NotImplementedError, ValueError, IndexError, KeyError),
)


@dataclass
class Archive:
    """A zip file, open. Names that lead out of it, links, secrets, strange packing and bombs are refused."""

    path: Path
    error: type[UnveilError] = TableError

    def __enter__(self) -> "Archive":
        try:
            self._zip = zipfile.ZipFile(self.path)
            self._members = {info.filename: info for info in self._zip.infolist()}
        except FileNotFoundError:
            raise self._refused("no such file; check the path") from None
        except _FAULTS as reason:
            raise self._refused(f"cannot be opened as a zip file ({_said(reason)})") from None
        try:
            self._check_names()
        except UnveilError:
            self._zip.close()
            raise
        self._left = MOST_BYTES
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    @property
    def names(self) -> tuple[str, ...]:
        """The members, as the archive lists them."""
        return tuple(self._members)

    def read(self, name: str) -> bytes:
        """All bytes of a member, which is never larger than it says."""
        info = self._members.get(name)
        if info is None:
            raise self._refused(f"holds no {shown(name, 80)}; is it the right kind of file?")
        if info.flag_bits & 1:
            raise self._refused(f"{shown(name, 80)} is encrypted; save it without a password")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise self._refused(f"{shown(name, 80)} is packed in a way that is not read; pack it with deflate")
        if info.file_size > self._left:
            raise self._refused(f"{shown(name, 80)} unpacks to {info.file_size:,} bytes, more than is read from a zip")
        if info.file_size > max(SMALL, MOST_RATIO * info.compress_size):
            raise self._refused(f"{shown(name, 80)} unpacks to over {MOST_RATIO} times its size: a zip bomb, not read")
        try:
            with self._zip.open(info) as stream:
                content = stream.read(info.file_size)  # never more than it says; a wrong checksum is an error
        except _FAULTS as reason:
            raise self._refused(f"{shown(name, 80)} is damaged ({_said(reason)})") from None
        if len(content) != info.file_size:
            raise self._refused(f"{shown(name, 80)} is damaged: it holds not as many bytes as it says")
        self._left -= len(content)
        return content

    def _check_names(self) -> None:
        if len(self._zip.infolist()) > MOST_MEMBERS:
            raise self._refused(f"holds over {MOST_MEMBERS:,} files; is it the right kind of file?")
        if len(self._members) != len(self._zip.infolist()):
            raise self._refused("holds two files of one name; pack it again")
        for name in self._members:
            parts = PurePosixPath(name.replace("\\", "/")).parts
            if not parts or ".." in parts or parts[0].startswith("/") or ":" in parts[0] or "\0" in name:
                raise self._refused(f"the file name {shown(name, 80)} leads out of the archive; it is not read")

    def _refused(self, what: str) -> UnveilError:
        return self.error(f"{shown(os.fspath(self.path), 500)[1:-1]}: {what}")


def _said(reason: BaseException) -> str:
    text = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return shown(text or type(reason).__name__, 80)[1:-1]
