"""What the library that reads SPSS and SAS files needs help with: damaged headers, kinds of missing values."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from unveil.errors import UnveilError
from unveil.formats.columns import Refusal

__all__ = ["RecordLayout", "check_header", "layout", "tables"]

# --------------------------------------------------------------------------------------------------------- sas missing

_RECORD, _VARIABLE = 80, 140
_PIECE = _RECORD * 2**16
_TABLE = (b"HEADER RECORD*******MEMBER  HEADER RECORD!!!!!!!", b"HEADER RECORD*******MEMBV8  HEADER RECORD!!!!!!!")
_LETTERS = np.zeros(256, dtype=bool)
_LETTERS[[ord("_"), *range(ord("A"), ord("Z") + 1)]] = True


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Where the rows begin, how long one is, and where in it each number stands."""

    path: Path
    start: int
    length: int
    numbers: dict[int, tuple[int, int]]  # by the column's place: offset and bytes

    def tag(self, columns: list[list[object]], first: int) -> None:
        """Put letters where a special missing value stands; `columns` are the rows from `first` on."""
        rows = len(columns[0]) if columns else 0
        if self.start + (first + rows) * self.length > self.path.stat().st_size:
            return
        raw = np.fromfile(self.path, dtype=np.uint8, count=rows * self.length, offset=self.start + first * self.length)
        block = raw.reshape(rows, self.length)
        for place, (offset, size) in self.numbers.items():
            lead = block[:, offset]
            found = np.flatnonzero(_LETTERS[lead])
            found = found[(block[found, offset + 1 : offset + size] == 0).all(axis=1)]
            for row in found.tolist():
                columns[place][row] = chr(lead[row])

    def write_tags(self, place: int, letters: NDArray[np.uint8]) -> None:
        """Write letters, one a row, 0 = none, where the file has plain missing values."""
        offset, _ = self.numbers[place]
        rows = np.memmap(self.path, dtype=np.uint8, mode="r+", offset=self.start, shape=(len(letters), self.length))
        tagged = np.flatnonzero(letters)
        rows[tagged, offset] = letters[tagged]
        rows.flush()


def layout(path: Path, columns: int) -> RecordLayout | None:
    """The layout of a transport file of so many columns; None if it has another."""
    with path.open("rb") as file:
        head = file.read(2**16 + _VARIABLE * columns)
        described = max(head.find(b"HEADER RECORD*******NAMESTR "), head.find(b"HEADER RECORD*******NAMSTV8 "))
        if described < 0:
            return None
        at = described + _RECORD
        numbers, length = {}, 0
        for place in range(columns):
            record = head[at + _VARIABLE * place : at + _VARIABLE * (place + 1)]
            if len(record) < _VARIABLE:
                return None
            kind, _, size = struct.unpack(">HHH", record[:6])
            (offset,) = struct.unpack(">I", record[84:88])
            if kind == 1:
                if not 2 <= size <= 8:
                    return None
                numbers[place] = (offset, size)
            length += size
        file.seek(at + _VARIABLE * columns)
        rest = file.read(2**24)  # labels and formats that are longer than a record holds
        rows = rest.find(b"HEADER RECORD*******OBS")
    if rows < 0 or any(offset + size > length for offset, size in numbers.values()):
        return None
    return RecordLayout(path, at + _VARIABLE * columns + rows + _RECORD, length, numbers)


def tables(path: Path) -> list[str]:
    """The names of the tables in a transport file: the library reads those behind the first as rows of it."""
    places: list[int] = []
    with path.open("rb") as file:
        start = 0
        while piece := file.read(_PIECE):  # of whole records: a heading begins one
            for heading in _TABLE:
                found = piece.find(heading)
                while found >= 0:
                    if found % _RECORD == 0:
                        places.append(start + found)
                    found = piece.find(heading, found + 1)
            start += len(piece)
        names = []
        for place in sorted(places):
            file.seek(place + 2 * _RECORD)
            names.append(file.read(_RECORD)[8:40].split(b"SASDATA")[0].decode("ascii", "replace").strip())
    return names


# --------------------------------------------------------------------------------------------------------- spss header

_HEADER = 176
_MOST_VARIABLES = 1_000_000
_WIDEST = 255
_TEXT_FORMATS = (1, 2)  # A and AHEX


def check_header(path: Path, error: type[UnveilError]) -> None:
    """Refuse a .sav or .zsav whose dictionary cannot stand."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            _walk(file, size)
    except Refusal as damage:
        raise error(f"{path}: cannot be read as SPSS ({damage}); is it whole?") from None
    except (struct.error, IndexError, OSError):
        raise error(f"{path}: cannot be read as SPSS (its dictionary ends too early); is it whole?") from None


def _walk(file: BinaryIO, size: int) -> None:
    head = file.read(_HEADER)
    order = _order(head)
    variables = continued = 0  # variables: of eight bytes each, as the records count them

    def number() -> int:
        return int(struct.unpack(order + "i", file.read(4))[0])

    def count(most: int, what: str) -> int:
        found = number()
        if not 0 <= found <= most:
            raise Refusal(f"{what} cannot be {found}")
        return found

    def skip(length: int) -> None:
        if file.tell() + length > size:
            raise Refusal("its dictionary ends too early")
        file.seek(length, 1)

    while True:
        kind = number()
        if kind == 999:
            break
        if kind == 2:
            width, labelled = number(), count(1, "a mark of a label")
            missing = number()
            formats = [number() >> 16 & 255, number() >> 16 & 255]
            skip(8)
            if not -1 <= width <= _WIDEST or not -3 <= missing <= 3:
                raise Refusal("a variable's type or missing values are none")
            if any(f and (f in _TEXT_FORMATS) != (width > 0) for f in formats) and width >= 0:
                raise Refusal("a number has the format of a text, or a text that of a number")
            if (width == -1) != (continued > 0):
                raise Refusal("a string variable is cut")
            continued = continued - 1 if width == -1 else max(0, (width + 7) // 8 - 1)
            if labelled:
                skip(-(-count(2**16, "the length of a label") // 4) * 4)
            skip(8 * abs(missing))
            variables += 1
            if variables > _MOST_VARIABLES:
                raise Refusal("too many variables")
        elif kind == 3:
            for _ in range(count(2**24, "a number of labels")):
                skip(8)
                skip((file.read(1)[0] + 8) // 8 * 8 - 1)
            if number() != 4:
                raise Refusal("labels belong to no variable")
            for _ in range(count(variables, "a number of labelled variables")):
                if not 1 <= number() <= variables:
                    raise Refusal("labels belong to a variable that is not there")
        elif kind == 6:
            skip(80 * count(2**20, "a number of lines"))
        elif kind == 7:
            number()
            width, times = count(2**30, "the size of a record"), count(2**30, "the size of a record")
            skip(width * times)
        else:
            raise Refusal(f"a record of kind {kind}")
    if continued or not variables:
        raise Refusal("it has no whole variable")


def _order(head: bytes) -> str:
    if len(head) < _HEADER:
        raise Refusal("its header ends too early")
    for order in "<>":
        if struct.unpack(order + "i", head[64:68])[0] in (2, 3):
            return order
    raise Refusal("its layout is unknown")
