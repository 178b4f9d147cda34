"""What the library that reads SAS transport files needs help with: several tables, kinds of missing values."""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["RecordLayout", "layout", "tables"]

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
    """The layout of a transport file with this many columns; None if it has another."""
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
