"""How much a spreadsheet unpacks to, found out before it is read.

A packed file may unpack to any size: that is refused. What is counted is what is really there, not what the file says
of itself.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from unveil.errors import UnveilError
from unveil.formats.survey import Refusal

__all__ = ["check_size", "unpacked"]

MOST_BYTES = 2**32  # unpacked, of all members
MOST_RATIO = 250  # unpacked to packed, beyond SMALL
SMALL = 2**24
_PIECE = 2**20
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def check_size(path: Path, error: type[UnveilError]) -> None:
    """Refuse a spreadsheet that is none, or that unpacks or spreads beyond measure."""
    try:
        with path.open("rb") as file:
            start = file.read(8)
        if path.suffix.lower() == ".xls" and start == _OLE:
            return  # not packed, and of 65,536 × 256 cells at most
        if start == _OLE:
            raise error(f"{path}: is protected by a password, or an old .xls; save it without one, or name it .xls")
        if path.suffix.lower() == ".xls" and start.startswith(b"PK"):
            raise error(f"{path}: is no .xls but a newer spreadsheet; name it .xlsx, .xlsb or .ods")
        if not start.startswith(b"PK\x03\x04"):
            raise error(f"{path}: is no spreadsheet although it ends in {path.suffix.lower()}; name it by what it is")
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if not m.is_dir()]
        if len({m.filename.lower().lstrip("/") for m in members}) != len(members):
            raise Refusal("it holds two parts of one name")
        left = MOST_BYTES
        for member in members:
            left = _check_member(path, member, left)
    except Refusal as reason:
        raise error(f"{path}: is not read: {reason}") from None
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError, LookupError):
        raise error(f"{path}: cannot be read as a spreadsheet: it is damaged; is it whole?") from None


def _check_member(path: Path, member: zipfile.ZipInfo, left: int) -> int:
    """What is left of the bytes that may be unpacked."""
    if member.flag_bits & 1:
        raise Refusal("it is encrypted; save it without a password")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Refusal("it is packed in a way that is not read")
    most = min(left, max(SMALL, MOST_RATIO * member.compress_size))
    size = checksum = 0
    for piece in unpacked(path, member):
        size += len(piece)
        checksum = zlib.crc32(piece, checksum)
        if size > most:
            raise Refusal("it unpacks to a multiple of its size, as a zip bomb does")
    if checksum != member.CRC:
        raise zipfile.BadZipFile
    return left - size


def unpacked(path: Path, member: zipfile.ZipInfo) -> Iterator[bytes]:
    """The bytes that are really packed there, in pieces, however many the file says there are."""
    with path.open("rb") as file:
        file.seek(member.header_offset)
        header = file.read(30)
        if header[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile
        name, extra = struct.unpack("<HH", header[26:30])
        file.seek(name + extra, 1)
        packed = member.compress_size
        unpack = zlib.decompressobj(-15) if member.compress_type == zipfile.ZIP_DEFLATED else None
        while packed > 0:
            raw = file.read(min(packed, _PIECE))
            if not raw:
                raise EOFError
            packed -= len(raw)
            if unpack is None:
                yield raw
                continue
            while True:
                piece = unpack.decompress(raw, _PIECE)
                if piece:
                    yield piece
                raw = unpack.unconsumed_tail
                if not raw and len(piece) < _PIECE:  # a full piece may have a rest that no bytes stand for
                    break
        if unpack is not None and not unpack.eof:
            raise EOFError
