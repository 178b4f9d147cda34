"""Sheets of binary records (.xls, .xlsb): cells that the library would lose, endless chains, how far cells go."""

import struct
import zipfile

from unveil.formats.columns import Refusal

__all__ = ["MOST_ROWS", "check_area", "check_old", "plain_records"]

MOST_AREA = 130 * 2**20  # cells of the rectangle that holds a sheet, about 3 GB
MOST_COLUMNS = 2**14  # Excel's and LibreOffice's own
MOST_ROWS = 2**20
_NO_SECTOR = 0xFFFFFFFA  # numbers from here on say that nothing follows
_OLD_CELLS = frozenset(
    {0x0006, 0x00BD, 0x00BE, 0x00D6, 0x00FD, 0x0201, 0x0203, 0x0204, 0x0205, 0x027E}
)  # records of .xls
_ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}


def check_area(rows: int, columns: int) -> None:
    if columns > MOST_COLUMNS or rows > MOST_ROWS:
        raise Refusal(
            f"its cells reach to row {rows:,}, column {columns:,}; a sheet has {MOST_ROWS:,} and {MOST_COLUMNS:,}"
        )
    if rows * columns > MOST_AREA:
        raise Refusal(
            f"its cells span {rows:,} rows and {columns:,} columns, more than is read; "
            "remove what stands far from the table, or save it as CSV"
        )


def check_old(content: bytes) -> None:
    """A file of Excel until 2003: its sectors form chains, in which the library would go round for ever."""
    size = 1 << int.from_bytes(content[30:32], "little")
    if size not in (512, 4096):
        raise zipfile.BadZipFile

    def sector(number: int) -> bytes:
        return content[(number + 1) * size : (number + 2) * size]

    def chain(start: int, following: tuple[int, ...]) -> list[int]:
        found: list[int] = []
        while start < _NO_SECTOR:
            if start >= len(following) or len(found) > len(following):
                raise zipfile.BadZipFile
            found.append(start)
            start = following[start]
        return found

    def numbers(raw: bytes) -> tuple[int, ...]:
        return struct.unpack(f"<{len(raw) // 4}I", raw[: len(raw) // 4 * 4])

    directory, few, small, more = (numbers(content[at : at + 4])[0] for at in (48, 56, 60, 68))
    tables = list(numbers(content[76:512]))
    while more < _NO_SECTOR and len(tables) * size <= len(content):
        *listed, more = numbers(sector(more))
        tables += listed
    fat = numbers(b"".join(sector(number) for number in tables if number < _NO_SECTOR))
    small_fat = numbers(b"".join(map(sector, chain(small, fat))))
    entries = b"".join(map(sector, chain(directory, fat)))
    root = b"".join(map(sector, chain(numbers(entries[116:120])[0], fat)))
    for at in range(128, len(entries) - 127, 128):
        start, length = numbers(entries[at + 116 : at + 124])
        if entries[at + 66] == 2 and length < few:
            _check_old_records(b"".join(root[n * 64 : n * 64 + 64] for n in chain(start, small_fat))[:length])
        elif entries[at + 66] == 2:
            _check_old_records(b"".join(map(sector, chain(start, fat)))[:length])


def _check_old_records(content: bytes) -> None:
    """Cells of .xls: where they stand, and that none is an error."""
    at = 0
    while at + 18 <= len(content):
        kind, size, row, column = struct.unpack("<HHHH", content[at : at + 8])
        if kind in _OLD_CELLS and column > 255:
            raise Refusal(f"a cell stands in row {row + 1:,}, column {column + 1:,}; a sheet of .xls has 256 columns")
        failed = kind == 0x0205 and content[at + 11] == 1
        if failed or (kind == 0x0006 and content[at + 10] == 2 and content[at + 16 : at + 18] == b"\xff\xff"):
            raise Refusal("it holds an error such as #N/A, which is not read from .xls; save it as .xlsx")
        at += 4 + size


def plain_records(content: bytes) -> tuple[bytes, bool]:
    """A sheet of binary records in which no cell is lost, and whether that needed a change.

    Errors become texts, negative numbers lose their format, and cells in the short form, which name no column, do.
    """
    at, row, column, rows, columns, done = 0, 0, -1, 0, 0, 0
    out: list[bytes] = []  # of what is before `done`
    while at < len(content):
        begin = at
        kind, at = _varying(content, at, 2)
        size, at = _varying(content, at, 4)
        data = content[at : at + size] if kind <= 18 else b""
        at += size
        if kind == 0:
            row, column = int.from_bytes(data[:4], "little"), -1
        if not 1 <= kind <= 18:
            continue
        short = kind >= 12
        column = column + 1 if short else int.from_bytes(data[:4], "little")
        rows, columns = max(rows, row + 1), max(columns, column + 1)
        if short:
            kind, data = kind - 11, struct.pack("<I", column) + data
        plain = data
        if kind in (3, 11):
            text = _ERRORS.get(data[8], "#ERROR")
            kind, plain = 6, data[:8] + struct.pack("<I", len(text)) + text.encode("utf-16-le")
        elif (kind == 2 and data[11] & 128) or (kind in (5, 9) and data[15] & 128):
            plain = data[:4] + bytes(4) + data[8:]
        if short or plain != data:
            out += [content[done:begin], bytes([kind, len(plain) & 127 | 128, len(plain) >> 7]), plain]
            done = at
    check_area(rows, columns)
    return (b"".join([*out, content[done:]]), True) if done else (content, False)


def _varying(content: bytes, at: int, most: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    number = 0
    for place in range(most):
        number |= (content[at + place] & 127) << 7 * place
        if not content[at + place] & 128:
            break
    return number, at + place + 1
