"""What Parquet and Arrow files say they unpack to, looked at before anything is unpacked.

A table of people packs to a tenth or a hundredth, not to a thousandth: a small file that claims billions of rows or
gigabytes of text is refused. What is counted is what a reader makes room for: the heads of pages and batches, not the
sums at the end of the file, which nobody checks.
"""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unveil.errors import UnveilError

__all__ = ["check_arrow", "check_parquet"]

SMALL = 2**26  # bytes that any file may unpack to
MOST_RATIO = 250  # unpacked to packed beyond that, as of spreadsheets and archives
FEW_ROWS = 2**24  # that any file may have
ROWS_PER_BYTE = 8  # beyond that: a bit a row at the least
FEW_CELLS = 2**29  # that any file may have
CELLS_PER_BYTE = 256  # beyond that
MOST_DEPTH = 64

Bytes = bytes | mmap.mmap


class _Claims:
    """What was counted so far; refused as soon as it is beyond measure."""

    def __init__(self, path: Path, columns: int, error: type[UnveilError]) -> None:
        self.path, self.columns, self.error = path, columns, error
        self.size, self.rows, self.unpacked = path.stat().st_size, 0, 0

    def add(self, rows: int, unpacked: int) -> None:
        if rows < 0 or unpacked < 0:
            raise ValueError("a size below 0")
        self.rows, self.unpacked = self.rows + rows, self.unpacked + unpacked
        cells = self.rows * self.columns
        if self.rows > max(FEW_ROWS, ROWS_PER_BYTE * self.size) or cells > max(FEW_CELLS, CELLS_PER_BYTE * self.size):
            raise self.error(
                f"{self.path}: {self.size:,} bytes that claim {self.rows:,} rows or more of {self.columns:,} "
                "columns; it is not read"
            )
        if self.unpacked > max(SMALL, MOST_RATIO * self.size):
            raise self.error(
                f"{self.path}: {self.size:,} bytes that unpack to {self.unpacked:,} or more, as an archive bomb does; "
                "it is not read"
            )


# ------------------------------------------------------------------------------------------------------------- Parquet


def check_parquet(path: Path, columns: int, error: type[UnveilError]) -> None:
    """Every page of every column chunk, by its own head."""
    claims = _Claims(path, columns, error)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        length = struct.unpack_from("<I", raw, len(raw) - 8)[0]
        footer = _Thrift(raw, len(raw) - 8 - length).struct()
        for group in footer.get(4, ()):
            claims.add(group.get(3, 0), 0)
            for chunk in group.get(1, ()):
                meta = chunk.get(3, {})
                at = min(offset for offset in (meta.get(11), meta.get(9)) if offset)  # of a dictionary, of the data
                end = at + meta.get(7, 0)
                while at < end:
                    thrift = _Thrift(raw, at)
                    head = thrift.struct()
                    claims.add(0, head.get(2, 0))
                    at = thrift.at + max(head.get(3, 0), 0)


class _Thrift:
    """Thrift's compact protocol, as far as Parquet uses it: structures as dictionaries by field number."""

    def __init__(self, raw: Bytes, at: int) -> None:
        self.raw, self.at, self.depth = raw, at, 0
        if at < 0:
            raise ValueError("a place before the file")

    def struct(self) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number, self.depth = 0, self.depth + 1
        if self.depth > MOST_DEPTH:
            raise ValueError("structures in structures, too deep")
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._signed()
            found[number] = self._value(head & 15, alone=True)
        self.depth -= 1
        return found

    def _byte(self) -> int:
        self.at += 1
        return self.raw[self.at - 1]

    def _whole(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number of too many bytes")

    def _signed(self) -> int:
        value = self._whole()
        return value >> 1 ^ -(value & 1)

    def _value(self, kind: int, *, alone: bool = False) -> Any:
        if kind in (1, 2):
            return kind == 1 if alone else self._byte() == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 12:
            return self.struct()
        if kind in (7, 8):  # numbers with a point and texts tell nothing here
            length = 8 if kind == 7 else self._whole()
            self.at += length
            return None
        if kind in (9, 10):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._whole()
            return [self._value(head & 15) for _ in range(self._least(count))]
        raise ValueError(f"a value of kind {kind}")

    def _least(self, count: int) -> int:
        """The number of items, each of which takes a byte at the least."""
        if count > len(self.raw) - self.at:
            raise ValueError("a list that is longer than the file")
        return count


# --------------------------------------------------------------------------------------------------------------- Arrow


def check_arrow(path: Path, columns: int, error: type[UnveilError], *, whole: bool) -> None:
    """Every batch, by its head and the lengths that stand before its packed buffers.

    `whole`: a file, which lists its batches at its end and may list one many times; else a stream.
    """
    claims = _Claims(path, columns, error)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        for at in _listed(raw) if whole else _streamed(raw):
            start, length = _head(raw, at)
            message = _Flat.root(raw, start)
            claims.add(*_batch(raw, message, start + length))


def _head(raw: Bytes, at: int) -> tuple[int, int]:
    """Where the description of a message starts, and how long it is; older files have no mark before it."""
    (mark,) = struct.unpack_from("<I", raw, at)
    at += 4 if mark == 0xFFFFFFFF else 0
    return at + 4, struct.unpack_from("<I", raw, at)[0]


def _streamed(raw: Bytes) -> Iterator[int]:
    at = 0
    while at + 8 <= len(raw):
        start, length = _head(raw, at)
        if not length:
            return
        yield at
        body = _Flat.root(raw, start).number(3, "q")
        if body < 0:
            raise ValueError("a size below 0")
        at = start + length + body


def _listed(raw: Bytes) -> Iterator[int]:
    (length,) = struct.unpack_from("<I", raw, len(raw) - 10)
    footer = _Flat.root(raw, len(raw) - 10 - length)
    for field in (2, 3):  # dictionaries, batches
        start, count = footer.vector(field)
        for place in range(count):
            yield int(struct.unpack_from("<q", raw, start + 24 * place)[0])


def _batch(raw: Bytes, message: "_Flat", body: int) -> tuple[int, int]:
    """Rows and unpacked bytes of a message; of a schema none."""
    kind, batch = message.number(1, "B"), message.table(2)
    if batch is None or kind not in (2, 3):
        return 0, 0
    rows = batch.number(0, "q") if kind == 3 else 0
    if kind == 2:  # a dictionary holds a batch
        batch = batch.table(1)
        if batch is None:
            return 0, 0
    packed, unpacked = batch.table(3) is not None, 0
    start, count = batch.vector(2)
    for place in range(count):
        offset, length = struct.unpack_from("<qq", raw, start + 16 * place)
        if packed and length >= 8:
            (claim,) = struct.unpack_from("<q", raw, body + offset)
            length = length if claim == -1 else claim
        unpacked += max(length, 0)
    return rows, unpacked


class _Flat:
    """A table of FlatBuffers: its fields by number."""

    def __init__(self, raw: Bytes, at: int) -> None:
        self.raw, self.at = raw, at
        self.fields = at - struct.unpack_from("<i", raw, at)[0]
        (self.size,) = struct.unpack_from("<H", raw, self.fields)

    @classmethod
    def root(cls, raw: Bytes, at: int) -> "_Flat":
        if at < 0:
            raise ValueError("a place before the file")
        return cls(raw, at + struct.unpack_from("<I", raw, at)[0])

    def _place(self, field: int) -> int | None:
        if 4 + 2 * field >= self.size:
            return None
        (offset,) = struct.unpack_from("<H", self.raw, self.fields + 4 + 2 * field)
        return self.at + offset if offset else None

    def number(self, field: int, kind: str) -> int:
        place = self._place(field)
        return 0 if place is None else int(struct.unpack_from(f"<{kind}", self.raw, place)[0])

    def table(self, field: int) -> "_Flat | None":
        place = self._place(field)
        return None if place is None else _Flat.root(self.raw, place)

    def vector(self, field: int) -> tuple[int, int]:
        """Where its items start, and how many there are."""
        place = self._place(field)
        if place is None:
            return 0, 0
        place += struct.unpack_from("<I", self.raw, place)[0]
        return place + 4, int(struct.unpack_from("<I", self.raw, place)[0])
