"""The bytes of a file that may be text, in blocks, as often as they are wanted."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unveil.formats.survey import Refusal

__all__ = ["BLOCK", "Source", "open_source"]

BLOCK = 1 << 24  # bytes held at a time

_IN_R = "write the table in R: write.csv(TABLE, FILE, row.names = FALSE)"
_MAGIC = (
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive; unpack it first"),
    (b"\xfd7zXZ\x00", "an xz archive; unpack it first"),
    (b"BZh91AY&SY", "a bzip2 archive; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel file; let its name end in .xls, or save it as CSV"),
    (b"ARROW1\x00\x00", "an Arrow file; let its name end in .arrow"),
    (b"SQLite format 3\x00", "an SQLite database; write sqlite:///FILE#TABLE"),
    (b"%PDF-", "a PDF file; a CSV file is needed"),
    *((start, f"an R data file; {_IN_R}") for start in (b"RDX2\n", b"RDX3\n")),
)
_XML = (b"<?xml", b"<!doctype html", b"<html", b"<table")


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or bytes that are already here."""

    path: Path | None
    content: bytes | None = None

    def blocks(self, size: int | None = None) -> Iterator[bytes]:
        """All bytes from the start, none of the blocks empty."""
        size = size or BLOCK
        if self.content is not None:
            for start in range(0, len(self.content), size):
                yield self.content[start : start + size]
            return
        assert self.path is not None
        try:
            with self.path.open("rb") as file:
                while block := file.read(size):
                    yield block
        except FileNotFoundError:
            raise Refusal("no such file; check the path") from None
        except PermissionError:
            raise Refusal("no permission to read it; ask its owner") from None
        except OSError as reason:
            raise Refusal(f"cannot be read: {(reason.strerror or 'unknown reason').lower()}") from None

    def head(self, size: int) -> bytes:
        """The first bytes."""
        return next(self.blocks(size), b"")

    def tail(self, size: int) -> bytes:
        """The last bytes."""
        if self.content is not None:
            return self.content[-size:]
        assert self.path is not None
        with self.path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - size))
            return file.read(size)


def open_source(path: str | os.PathLike[str], content: bytes | None = None) -> Source:
    """A file that may be text; what is plainly something else is refused."""
    found = Source(None, content) if content is not None else _regular(path)
    head = found.head(200)
    if str(path).lower().endswith((".rds", ".rdata", ".rda")):  # packed in any way, or not
        raise Refusal(f"is R's own kind of file; {_IN_R}")
    for magic, what in _MAGIC:
        if head.startswith(magic):
            raise Refusal(f"looks like {what}")
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start.startswith(_XML):
        what = "a web page" if start.startswith(_XML[1:]) else "an XML file"
        raise Refusal(f"looks like {what}, whatever its ending; open it in a spreadsheet and save it as .xlsx or CSV")
    if start.startswith((b'{"', b'[{"', b"[{\n", b"[\n")):
        raise Refusal("looks like JSON; save it as CSV or Parquet")
    if re.match(rb"sep=.\r?\n", start):
        raise Refusal("the line sep= is for Excel alone; remove it, and name the delimiter if it is not found", 1)
    if head.startswith(b"PAR1") and found.tail(4) == b"PAR1":
        raise Refusal("looks like a Parquet file; let its name end in .parquet")
    if head.startswith(b"PK\x03\x04"):
        if b"xl/" in found.tail(65536):
            raise Refusal("looks like an Excel file; let its name end in .xlsx, or save it as CSV")
        if b"opendocument.spreadsheet" in head:
            raise Refusal("looks like an OpenDocument spreadsheet; let its name end in .ods, or save it as CSV")
        raise Refusal("looks like a zip archive; unpack it first")
    return found


def _regular(path: str | os.PathLike[str]) -> Source:
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        raise Refusal("no such file; check the path") from None
    except PermissionError:
        raise Refusal("no permission to read it; ask its owner") from None
    except OSError as reason:
        raise Refusal(f"cannot be read: {(reason.strerror or 'unknown reason').lower()}") from None
    except ValueError:
        raise Refusal("is no file name; check the path") from None
    if stat.S_ISDIR(kind):
        raise Refusal("is a folder; name a CSV file in it")
    if stat.S_ISFIFO(kind):  # it can be read once only
        return Source(None, b"".join(Source(Path(path)).blocks()))
    if not stat.S_ISREG(kind):
        raise Refusal("is no file but a device; name a CSV file")
    return Source(Path(path))
