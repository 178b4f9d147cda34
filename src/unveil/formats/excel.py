"""Tables from spreadsheets: one sheet, its first row the names, every cell the text it shows."""

import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from unveil.errors import UnveilError, shown
from unveil.formats.columns import Columns
from unveil.formats.extras import needed
from unveil.formats.ods import Ods
from unveil.formats.paths import sheet_file
from unveil.formats.sheet_rows import SheetRows
from unveil.formats.spreadsheet_size import check_size
from unveil.formats.survey import Refusal
from unveil.formats.workbook import Book, Row
from unveil.formats.xls import Xls
from unveil.formats.xlsb import Xlsb
from unveil.formats.xlsx import Xlsx

__all__ = ["read_sheet"]

MOST_SHEETS = 250
_BOOKS: dict[str, Callable[[Path], Book]] = {".xlsx": Xlsx, ".xlsm": Xlsx, ".xlsb": Xlsb, ".ods": Ods}
_FAULTS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, LookupError, UnicodeDecodeError)


def read_sheet(path: Path, *, missing: str = "", error: type[UnveilError], **_: object) -> Columns:
    """Read the sheet that is named, or the only one in sight that holds anything."""
    file, wanted = sheet_file(path)
    if not file.is_file():
        what = "is a directory, not a file" if file.is_dir() else "does not exist"
        raise error(f"{file}: {what}; name a spreadsheet")
    check_size(file, error)
    try:
        book = _opened(file, error)
        sheet, rows = _chosen(book, file, wanted, error)
        table = SheetRows(f"{file}, sheet {shown(sheet)}", missing, error)
        for number, cells in rows:
            table.add(number, cells)
    except Refusal as reason:
        raise error(f"{file}: cannot be read as a spreadsheet: {reason}") from None
    except _FAULTS:
        raise error(f"{file}: cannot be read as a spreadsheet: it is damaged; is it whole?") from None
    return table.columns(f"spreadsheet, sheet {shown(sheet)}")


def _opened(file: Path, error: type[UnveilError]) -> Book:
    if file.suffix.lower() != ".xls":
        return _BOOKS[file.suffix.lower()](file)
    xlrd = needed("xlrd", "files", f"{file}: to read .xls files", error)
    try:
        return Xls(file, xlrd)
    except Exception as reason:  # whatever xlrd stumbles over
        raise Refusal(f"it is damaged ({shown(str(reason) or type(reason).__name__, 80)}); is it whole?") from None


def _chosen(book: Book, file: Path, wanted: str | None, error: type[UnveilError]) -> tuple[str, Iterator[Row]]:
    """The sheet to be read and its rows."""
    sheets = book.sheets()
    names = [sheet.name for sheet in sheets]
    if wanted is not None:
        if wanted not in names:
            raise error(f"{file}: no sheet {shown(wanted)}; there are {', '.join(map(shown, names[:20]))}")
        return wanted, book.rows(wanted)
    if len(sheets) > MOST_SHEETS:
        raise error(f"{file}: holds {len(sheets):,} sheets; name one, {file.name}#SHEET")
    holding: list[str] = []
    for hidden in (False, True):  # who saved it does not mean what it does not show
        if not holding:
            holding = [sheet.name for sheet in sheets if sheet.hidden == hidden and _holds(book, sheet.name)]
    if len(holding) > 1:
        named = ", ".join(map(shown, holding[:20]))
        raise error(f"{file}: several sheets hold data; name one, {file.name}#SHEET, of {named}")
    if not holding:
        raise error(f"{file}: holds no rows")
    return holding[0], book.rows(holding[0])


def _holds(book: Book, sheet: str) -> bool:
    rows = book.rows(sheet)
    found = next(rows, None)
    if isinstance(rows, Generator):
        rows.close()  # and the file
    return found is not None
