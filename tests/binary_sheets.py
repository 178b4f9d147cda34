"""Excel's binary workbooks, written by hand after [MS-XLSB]: no package here writes them."""

import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path

RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
ERRORS = {"#N/A": 42, "#DIV/0!": 7}


def record(kind: int, data: bytes = b"") -> bytes:
    """A kind and a size of seven bits a byte, and the bytes."""
    head = [kind] if kind < 128 else [kind & 127 | 128, kind >> 7]
    size = len(data)
    while size >= 128:
        head.append(size & 127 | 128)
        size >>= 7
    return bytes([*head, size]) + data


def wide(text: str) -> bytes:
    """A text: how many units of two bytes, and these."""
    units = text.encode("utf-16-le")
    return struct.pack("<I", len(units) // 2) + units


def cell(column: int, value: object, style: int = 0, *, short: bool = False, shared: dict[str, int]) -> bytes:
    """A cell; numbers in four bytes where they fit, texts as shared ones, those with `!` within the cell."""
    place = struct.pack("<I", style) if short else struct.pack("<II", column, style)
    more = 11 if short else 0
    if value is None:
        return record(1 + more, place)
    if isinstance(value, bool):
        return record(4 + more, place + bytes([value]))
    if isinstance(value, int):
        return record(2 + more, place + struct.pack("<i", value << 2 | 2))
    if isinstance(value, float):
        hundredth = round(value * 100)
        if value == hundredth / 100 and abs(hundredth) < 2**28:
            return record(2 + more, place + struct.pack("<i", hundredth << 2 | 3))
        return record(5 + more, place + struct.pack("<d", value))
    text = str(value)
    if text in ERRORS:
        return record(3 + more, place + bytes([ERRORS[text]]))
    if text.endswith("!"):
        return record(6 + more, place + wide(text))
    return record(7 + more, place + struct.pack("<I", shared.setdefault(text, len(shared))))


def _counted(kind: int, items: list[bytes]) -> bytes:
    """How many there are, the items, and their end, whose kind is the next."""
    return record(kind, struct.pack("<I", len(items))) + b"".join(items) + record(kind + 1)


def write_xlsb(
    path: Path,
    rows: Iterable[tuple[int, list[object]]],
    formats: dict[int, str] | None = None,
    *,
    short: bool = False,
    hidden: bool = False,
    from_1904: bool = False,
) -> Path:
    """A workbook of one sheet: rows by number, cells as values or pairs of a value and the number of its format."""
    shared: dict[str, int] = {}
    styles = [0, *(formats or {})]
    sheet = [record(129), record(148, bytes(16)), record(145)]
    for number, values in rows:
        sheet.append(record(0, struct.pack("<I", number - 1) + bytes(13)))
        for column, value in enumerate(values):
            value, form = value if isinstance(value, tuple) else (value, 0)
            sheet.append(cell(column, value, styles.index(form), short=short and column > 0, shared=shared))
    sheet += [record(146), record(130)]
    declared = [record(44, struct.pack("<H", number) + wide(code)) for number, code in (formats or {}).items()]
    used = [record(47, struct.pack("<HH", 0, number) + bytes(12)) for number in styles]
    style = record(278) + _counted(615, declared) + _counted(626, [record(47, bytes(16))]) + _counted(617, used)
    bundle = record(156, struct.pack("<II", 2 * hidden, 1) + wide("r1") + wide("one"))
    book = record(131) + record(153, struct.pack("<III", from_1904, 0, 0)) + record(143) + bundle + record(144)
    targets = {"r1": ("worksheet", "worksheets/sheet1.bin"), "r2": ("styles", "styles.bin")}
    targets["r3"] = ("sharedStrings", "sharedStrings.bin")
    related = "".join(
        f'<Relationship Id="{key}" Type="{RELATION}/{kind}" Target="{part}"/>' for key, (kind, part) in targets.items()
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.bin", book + record(132))
        archive.writestr("xl/_rels/workbook.bin.rels", f'<Relationships xmlns="{PACKAGE}">{related}</Relationships>')
        archive.writestr("xl/worksheets/sheet1.bin", b"".join(sheet))
        archive.writestr("xl/styles.bin", style + record(279))
        items = b"".join(record(19, b"\0" + wide(text)) for text in shared)
        count = struct.pack("<II", len(shared), len(shared))
        archive.writestr("xl/sharedStrings.bin", record(159, count) + items + record(160))
    return path
