"""Tables from spreadsheets: one sheet, its first row the names, every cell the text it shows."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil.errors import UnveilError, shown
from unveil.formats.columns import Columns, checked_names
from unveil.formats.extras import needed
from unveil.formats.frames import coded_series
from unveil.formats.spreadsheet_size import check_size
from unveil.hierarchy import number_text
from unveil.paths import sheet_file

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_sheet"]

_SHORTENED = r"^-?(\d+\.\d{9}|0)$"
_MIDNIGHT = r"^\d{4}-\d\d-\d\d 00:00:00$"
_MOMENT = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$"


def read_sheet(path: Path, *, missing: str = "", error: type[UnveilError], **_: object) -> Columns:
    """Read the sheet that is named, or the only one that holds anything."""
    file, wanted = sheet_file(path)
    if not file.is_file():
        what = "is a directory, not a file" if file.is_dir() else "does not exist"
        raise error(f"{file}: {what}; name a spreadsheet")
    check_size(file, error)
    fastexcel = needed("fastexcel", "files", f"{file}: to read spreadsheets", error)
    try:
        frame, sheet = _loaded(fastexcel.read_excel(str(file)), file, wanted, error)
    except UnveilError:
        raise
    except BaseException as reason:  # Rust's panics are no Exceptions
        if isinstance(reason, KeyboardInterrupt | SystemExit):
            raise
        said = (str(reason).strip() or type(reason).__name__).splitlines()[0]
        raise error(f"{file}: cannot be read as a spreadsheet ({shown(said, 80)}); is it whole?") from None
    names, body = _parted(frame, f"{file}, sheet {shown(sheet)}", error)
    del frame
    rows, columns = body.height, {}
    for place, name in names.items():  # each column is let go once it is coded
        columns[name] = coded_series(_days(body.drop_in_place(str(place))), missing, f"{file}, {name}", error)
    return Columns(columns, rows, lambda row: f"row {row + 1}", ".", f"spreadsheet, sheet {shown(sheet)}")


def _loaded(book: Any, file: Path, wanted: str | None, error: type[UnveilError]) -> "tuple[pl.DataFrame, str]":
    """All cells of the sheet as texts, the names in the first row."""
    import polars as pl

    names = list(book.sheet_names)
    if wanted is not None and wanted not in names:
        raise error(f"{file}: no sheet {shown(wanted)}; there are {', '.join(map(shown, names[:20]))}")
    frame: pl.DataFrame | None = None
    holding: list[str] = []
    for name in names if wanted is None else [wanted]:
        # As texts: a type guessed from the first rows would lose the cells that do not fit it.
        # Eagerly: what was read is then not held a second time beside the texts.
        sheet = book.load_sheet_eager(name, header_row=None, skip_rows=0, dtypes="string")
        if sheet.num_columns and sheet.num_rows:
            frame = pl.DataFrame(pl.from_arrow(sheet)) if not holding else None
            holding.append(name)
        del sheet
    if len(holding) > 1:
        named = ", ".join(map(shown, holding))
        raise error(f"{file}: several sheets hold data; name one, {file.name}#SHEET, of {named}")
    if frame is None:
        raise error(f"{file}: holds no rows")
    return _exact(book, holding[0], frame), holding[0]


def _exact(book: Any, sheet: str, frame: "pl.DataFrame") -> "pl.DataFrame":
    """Numbers with all their digits: as texts they have nine decimals, and 1e-12 would be 0."""
    import polars as pl

    short = {place: c.str.contains(_SHORTENED).fill_null(False) for place, c in enumerate(frame.get_columns())}
    places = [place for place, these in short.items() if these.any()]
    if not places:
        return frame
    floats = pl.DataFrame(
        pl.from_arrow(
            book.load_sheet_eager(
                sheet,
                header_row=None,
                skip_rows=0,
                use_columns=places,
                dtypes=dict.fromkeys(places, "float"),
                dtype_coercion="coerce",
            )
        )
    )
    for number, place in enumerate(places):
        rows = (short[place] & floats.to_series(number).is_not_null()).arg_true()
        pairs = zip(frame.to_series(place)[rows].to_list(), floats.to_series(number)[rows].to_list(), strict=True)
        texts = pl.Series([_digits(text, value) for text, value in pairs], dtype=pl.String)
        frame.replace_column(place, frame.to_series(place).scatter(rows, texts))
    return frame


def _digits(text: str, value: float) -> str:
    """The number, if the text is what was made of it; a text that only looks like a number stays."""
    made = f"{value:.9f}".rstrip("0").rstrip(".")
    return number_text(value) if value and made == text else text


def _parted(frame: "pl.DataFrame", where: str, error: type[UnveilError]) -> "tuple[dict[int, str], pl.DataFrame]":
    """Positions and names of the columns, and the rows below the names without blank ones at the end."""
    import polars as pl

    frame.columns = [str(place) for place in range(frame.width)]
    names = {place: (name or "").strip() for place, name in enumerate(frame.row(0))}
    body = frame[1:]
    filled = body.select(pl.any_horizontal(pl.all().is_not_null() & (pl.all() != "")))
    rows = filled.to_series().arg_true()
    if not len(rows):
        raise error(f"{where}: holds no rows, only names")
    body = body[: int(rows[-1]) + 1]
    if len(rows) != body.height:
        blank = int(filled.to_series().not_().arg_true()[0])
        raise error(f"{where}: row {blank + 1} below the names is blank; remove it")
    names = {place: name for place, name in names.items() if name or body.to_series(place).null_count() < body.height}
    fault = checked_names(names.values())
    if fault:
        raise error(f"{where}: {fault}")
    return names, body


def _days(column: "pl.Series") -> "pl.Series":
    """Dates without the midnight that a spreadsheet gives them, unless another time stands in the column."""
    moments = column.str.contains(_MOMENT).fill_null(False)
    if not moments.any() or not (column.str.contains(_MIDNIGHT).fill_null(False) == moments).all():
        return column
    return column.str.strip_suffix(" 00:00:00").zip_with(moments, column)
