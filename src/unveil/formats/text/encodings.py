"""The bytes of a file that may be text, its encoding, and its text as UTF-8 block by block."""

import codecs
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from unveil.formats.columns import Refusal

__all__ = ["BLOCK", "ENCODINGS", "ByteSource", "find_encoding", "open_source", "utf8_blocks"]

# -------------------------------------------------------------------------------------------------------------- source

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


@contextmanager
def _readable() -> Iterator[None]:
    """What the system says of a file, as refusals."""
    try:
        yield
    except FileNotFoundError:
        raise Refusal("no such file; check the path") from None
    except PermissionError:
        raise Refusal("no permission to read it; ask its owner") from None
    except OSError as reason:
        raise Refusal(f"cannot be read: {(reason.strerror or 'unknown reason').lower()}") from None
    except ValueError:
        raise Refusal("is not a valid file name; check the path") from None


@dataclass(frozen=True, slots=True)
class ByteSource:
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
        with _readable(), self.path.open("rb") as file:
            while block := file.read(size):
                yield block

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


def open_source(path: str | os.PathLike[str], content: bytes | None = None) -> ByteSource:
    """A file that may be text; what is plainly something else is refused."""
    found = ByteSource(None, content) if content is not None else _regular(path)
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


def _regular(path: str | os.PathLike[str]) -> ByteSource:
    with _readable():
        kind = os.stat(path).st_mode
    if stat.S_ISDIR(kind):
        raise Refusal("is a folder; name a CSV file in it")
    if stat.S_ISFIFO(kind):  # it can be read once only
        return ByteSource(None, b"".join(ByteSource(Path(path)).blocks()))
    if not stat.S_ISREG(kind):
        raise Refusal("is a device, not a file; name a CSV file")
    return ByteSource(Path(path))


# ----------------------------------------------------------------------------------------------------------- encodings

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252")
_PIECE = 1 << 20


def find_encoding(source: ByteSource, encoding: str | None) -> str:
    """The encoding of all of the bytes; bytes that fit none are refused."""
    head = source.head(1000)
    if encoding in (None, "utf-16") and head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
    if encoding == "utf-16":
        _refuse_nul(lambda: _from_utf16(source), "")
        return "utf-16"
    plain = head.count(b"\0") * 3 <= len(head)
    _refuse_nul(source.blocks, "" if plain else ", or say encoding utf-16 if it is that")

    marked = head.startswith(codecs.BOM_UTF8)
    if encoding == "cp1252":
        if marked:
            raise Refusal("starts with the mark of UTF-8; read it without encoding cp1252", 1)
        return "cp1252"
    fault = _first_invalid_utf8(source)
    if fault is None:
        return "utf-8-sig" if marked else "utf-8"
    at, byte = fault
    if encoding is not None or marked:
        raise Refusal(
            f"byte 0x{byte:02x} is not UTF-8; save the file as UTF-8 or say encoding cp1252",
            _line_at(source.blocks(), at),
        )
    if _mostly_utf8(source):
        raise Refusal(
            f"byte 0x{byte:02x} is not UTF-8 in a file that mostly is; repair it or say encoding cp1252",
            _line_at(source.blocks(), at),
        )
    return "cp1252"


def utf8_blocks(source: ByteSource, encoding: str) -> Iterator[bytes]:
    """The text as UTF-8 without its mark, in blocks that may be empty and may end within a character."""
    if encoding == "utf-16":
        yield from _from_utf16(source)
    elif encoding == "cp1252":
        yield from _from_cp1252(source)
    else:
        blocks = source.blocks()
        first = b""
        while encoding == "utf-8-sig" and len(first) < len(codecs.BOM_UTF8):
            first += next(blocks)  # the mark is there: it was seen
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from blocks


def _refuse_nul(blocks: Callable[[], Iterable[bytes]], hint: str) -> None:
    start = 0
    for block in blocks():
        nul = block.find(b"\0")
        if nul >= 0:
            line = _line_at(blocks(), start + nul)
            raise Refusal(f"not a text file: it holds a NUL byte; save it as CSV{hint}", line)
        start += len(block)


def _line_at(blocks: Iterable[bytes], offset: int) -> int:
    """The physical line, from 1, of a byte."""
    line, cr = 1, False
    for block in blocks:
        part = block[:offset]
        line += part.count(b"\n") + part.count(b"\r") - part.count(b"\r\n") - (cr and part.startswith(b"\n"))
        cr = part.endswith(b"\r")
        offset -= len(part)
        if not offset:
            break
    return line


def _first_invalid_utf8(source: ByteSource) -> tuple[int, int] | None:
    """Offset and value of the first byte that cannot be UTF-8."""
    start, rest = 0, b""  # where `rest`, the begun character, starts
    for block in chain(source.blocks(), (b"",)):
        if not rest and block.isascii():
            start += len(block)
            continue
        text = rest + block
        try:
            read = codecs.utf_8_decode(text, "strict", not block)[1]
        except UnicodeDecodeError as reason:
            return start + reason.start, text[reason.start]
        start += read
        rest = text[read:]
    return None


def _mostly_utf8(source: ByteSource) -> bool:
    """Whether more characters beyond ASCII are valid UTF-8 than bytes are not: then it is not a cp1252 file."""
    valid = invalid = 0
    for part in source.blocks(_PIECE):
        text = part.decode("utf-8", "ignore")
        valid += len(text) - len(part.translate(None, _BEYOND_ASCII))
        invalid += len(part) - len(text.encode("utf-8"))
    return valid > invalid


_BEYOND_ASCII = bytes(range(128, 256))


def _from_utf16(source: ByteSource) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")()
    try:
        for block in source.blocks():
            yield decoder.decode(block).encode("utf-8")
        yield decoder.decode(b"", True).encode("utf-8")
    except UnicodeError:
        raise Refusal("is not valid UTF-16 although it starts so; save it as UTF-8") from None


def _from_cp1252(source: ByteSource) -> Iterator[bytes]:
    start = 0
    for block in source.blocks():
        try:
            yield block.decode("cp1252").encode("utf-8")
        except UnicodeDecodeError as reason:
            raise Refusal(
                f"not a text file: byte 0x{block[reason.start]:02x} is neither UTF-8 nor cp1252; save it as UTF-8",
                _line_at(source.blocks(), start + reason.start),
            ) from None
        start += len(block)
