"""The encoding of a text file, found out where it is not given, and its text as UTF-8 block by block."""

import codecs
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from unveil.formats.source import Source
from unveil.formats.survey import Refusal

__all__ = ["ENCODINGS", "find_encoding", "utf8_blocks"]

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252")
_PIECE = 1 << 20


def find_encoding(source: Source, encoding: str | None) -> str:
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


def utf8_blocks(source: Source, encoding: str) -> Iterator[bytes]:
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


def _first_invalid_utf8(source: Source) -> tuple[int, int] | None:
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


def _mostly_utf8(source: Source) -> bool:
    """Whether more characters beyond ASCII are valid UTF-8 than bytes are not: then it is no cp1252 file."""
    valid = invalid = 0
    for part in source.blocks(_PIECE):
        text = part.decode("utf-8", "ignore")
        valid += len(text) - len(part.translate(None, _BEYOND_ASCII))
        invalid += len(part) - len(text.encode("utf-8"))
    return valid > invalid


_BEYOND_ASCII = bytes(range(128, 256))


def _from_utf16(source: Source) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")()
    try:
        for block in source.blocks():
            yield decoder.decode(block).encode("utf-8")
        yield decoder.decode(b"", True).encode("utf-8")
    except UnicodeError:
        raise Refusal("is not valid UTF-16 although it starts so; save it as UTF-8") from None


def _from_cp1252(source: Source) -> Iterator[bytes]:
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
