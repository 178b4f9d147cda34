"""How much a spreadsheet would take up, found out before the reader is handed it.

A packed file may unpack to any size, and a sheet with a cell in its first and one in its last row may be laid out whole
in memory: both are refused. What is counted is what is really there, not what the file says of itself.
"""

import re
import string
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from unveil.errors import UnveilError
from unveil.formats.survey import Refusal

__all__ = ["check_size"]

MOST_BYTES = 2**32  # unpacked, of all members
MOST_RATIO = 250  # unpacked to packed, beyond SMALL
SMALL = 2**24
FREE_AREA = 2**22  # cells that a sheet may span, however few there are
SPREAD = 64  # beyond, cells spanned for each that is there
_PIECE = 2**20
_PLACE = re.compile(rb"""\sr\s*=\s*["']\s*([A-Za-z]{0,7}[0-9]{1,10})""")
_LETTERS, _DIGITS = string.ascii_letters.encode(), string.digits.encode()
_ODS = re.compile(rb"<(table:table-row|table:table-cell|table:covered-table-cell|table:table)(?=[\s/>])([^>]*)>")
_REPEATED = re.compile(rb"""number-(?:rows|columns)-repeated\s*=\s*["']\s*([0-9]{1,12})""")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def check_size(path: Path, error: type[UnveilError]) -> None:
    """Refuse a spreadsheet that is none, or that unpacks or spreads beyond measure."""
    try:
        with path.open("rb") as file:
            start = file.read(8)
        if path.suffix.lower() == ".xls" and start == _OLE:
            return  # not packed, and of 65,536 × 256 cells at most
        if not start.startswith(b"PK\x03\x04"):
            raise error(f"{path}: is no spreadsheet although it ends in {path.suffix.lower()}; name it by what it is")
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if not m.is_dir()]
        if len({m.filename for m in members}) != len(members):
            raise Refusal("it holds two parts of one name")
        left = MOST_BYTES
        for member in members:
            left = _check_member(path, member, left)
    except Refusal as reason:
        raise error(f"{path}: is not read: {reason}") from None
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError, KeyError):
        raise error(f"{path}: cannot be read as a spreadsheet: it is damaged; is it whole?") from None


def _check_member(path: Path, member: zipfile.ZipInfo, left: int) -> int:
    """What is left of the bytes that may be unpacked."""
    if member.flag_bits & 1:
        raise Refusal("it is encrypted; save it without a password")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Refusal("it is packed in a way that is not read")
    name = member.filename.lower()
    most = min(left, max(SMALL, MOST_RATIO * member.compress_size))
    scan: _Sheet | _Binary | _OpenDocument | None = None
    if name == "content.xml":
        scan = _OpenDocument()
    elif name.startswith("xl/worksheets/") and name.endswith((".xml", ".bin")):
        scan = _Sheet() if name.endswith(".xml") else _Binary()
    size = 0
    for piece in _unpacked(path, member):
        size += len(piece)
        if size > most:
            raise Refusal("it unpacks to a multiple of its size, as a zip bomb does")
        if scan is not None:
            scan.add(piece)
    if scan is not None:
        scan.check()
    return left - size


def _unpacked(path: Path, member: zipfile.ZipInfo) -> Iterator[bytes]:
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
            while raw:
                yield unpack.decompress(raw, _PIECE)
                raw = unpack.unconsumed_tail


class _Sheet:
    """The cells of a worksheet of Excel, by the places they name."""

    def __init__(self) -> None:
        self.rest, self.cells, self.row, self.column = b"", 0, 0, 0

    def add(self, piece: bytes) -> None:
        text = self.rest + piece
        cut = text.rfind(b"<") if len(text) < 2 * _PIECE else len(text)
        text, self.rest = (text[:cut], text[cut:]) if cut > 0 else (text, b"")
        self.cells += text.count(b"<c ") + text.count(b":c ")
        places = b" ".join(_PLACE.findall(text))
        self.row = max(self.row, *map(int, set(places.translate(None, _LETTERS).split())), 0)
        for letters in set(places.translate(None, _DIGITS).upper().split()):
            column = 0
            for letter in letters:
                column = 26 * column + letter - 64
            self.column = max(self.column, column)

    def check(self) -> None:
        if self.rest:
            rest, self.rest = self.rest, b""
            self.add(rest + b"<")
        _check_area(self.row * max(self.column, 1), self.cells)


class _Binary:
    """The same for Excel's binary sheets: records of a kind, a size and their bytes."""

    def __init__(self) -> None:
        self.rest, self.cells, self.row, self.column = b"", 0, 0, 0

    def add(self, piece: bytes) -> None:
        data, at = self.rest + piece, 0
        while True:
            kind, start = _varint(data, at, 2)
            size, start = _varint(data, start, 4)
            if start < 0 or start + size > len(data):
                break
            if kind <= 11 and size >= 4:
                number = struct.unpack_from("<I", data, start)[0]
                if kind == 0:
                    self.row = max(self.row, number + 1)
                else:
                    self.cells += 1
                    self.column = max(self.column, number + 1)
            at = start + size
        self.rest = data[at:]
        if len(self.rest) > 8 * _PIECE:
            raise Refusal("a record of it is too long")

    def check(self) -> None:
        _check_area(self.row * max(self.column, 1), self.cells)


def _varint(data: bytes, at: int, most: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends; -1 if it is cut."""
    if at < 0:
        return 0, -1
    number = 0
    for place in range(most):
        if at + place >= len(data):
            return 0, -1
        byte = data[at + place]
        number |= (byte & 127) << (7 * place)
        if byte < 128:
            return number, at + place + 1
    return number, at + most


class _OpenDocument:
    """The cells of OpenDocument's sheets, of which each may stand for many."""

    def __init__(self) -> None:
        self.rest = b""
        self._begin()

    def _begin(self) -> None:
        self.cells = self.rows = self.last_row = self.widest = 0
        self.repeat, self.column = 1, 0

    def add(self, piece: bytes) -> None:
        text = self.rest + piece
        cut = text.rfind(b"<") if len(text) < 2 * _PIECE else len(text)
        text, self.rest = (text[:cut], text[cut:]) if cut > 0 else (text, b"")
        for tag, rest in _ODS.findall(text):
            found = _REPEATED.search(rest)
            times = int(found[1]) if found else 1
            if tag.endswith(b"row"):
                self.rows += times
                self.repeat, self.column = times, 0
            elif tag.endswith(b"cell"):
                self.column += times
                if b"value" in rest:
                    self.cells += 1
                    self.widest = max(self.widest, self.column)
                    self.last_row = self.rows
            else:
                self.check()
                self._begin()

    def check(self) -> None:
        _check_area(self.last_row * self.widest, self.cells)


def _check_area(area: int, cells: int) -> None:
    if area > FREE_AREA + SPREAD * cells:
        raise Refusal(f"a sheet spreads {cells:,} cells over {area:,} places; remove the far cells")
