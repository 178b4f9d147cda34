"""Typed columns as the texts a CSV file would hold: Parquet and Arrow files, and frames in memory.

Files are read column by column and each is coded before the next, so that memory holds one column and the codes.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.data.hierarchy import number_text
from unveil.data.table import CodedColumn
from unveil.errors import UnveilError
from unveil.formats.columns import NO_ROWS, Columns, Place, check_file, checked_names, needed, said
from unveil.formats.text import distinct_codes

if TYPE_CHECKING:
    import polars as pl

__all__ = ["IntoFrame", "coded_series", "is_frame", "named_source", "read_arrow", "read_frame", "read_parquet"]

IntoFrame = Any  # a table of pandas, polars, pyarrow, or another package that narwhals knows

MOST_ROWS = 2**31 - 1
MOST_TEXT = 2**32  # bytes of the texts of one column


def read_parquet(
    path: Path, *, missing: str = "", error: type[UnveilError], empty: bool = False, **_: object
) -> Columns:
    """Read a Parquet file; `empty`: it may hold no rows."""
    import polars as pl

    check_file(path, "a Parquet file", error)

    def column(name: str) -> "pl.Series":
        return pl.read_parquet(path, columns=[name], glob=False, hive_partitioning=False)[name]

    with _refusing(path, "Parquet", error):
        names = list(pl.read_parquet_schema(path))
    return _by_column(path, names, column, "Parquet", missing, error, empty)


def read_arrow(path: Path, *, missing: str = "", error: type[UnveilError], empty: bool = False, **_: object) -> Columns:
    """Read an Arrow file or stream, and Feather, which is one; `empty`: it may hold no rows."""
    import polars as pl

    check_file(path, "an Arrow file", error)
    ipc = needed("pyarrow", "files", f"{path}: to read Arrow files", error).ipc
    with _refusing(path, "Arrow", error), path.open("rb") as file:
        if file.read(4) == b"FEA1":
            raise error(f"{path}: is Feather of version 1, which is not an Arrow file; save it again")
        file.seek(0)
        whole = file.read(6) == b"ARROW1"
        file.seek(0)
        opened = (ipc.open_file if whole else ipc.open_stream)(file)
        names = list(opened.schema.names)

    def column(name: str) -> "pl.Series":
        import pyarrow as pa

        with pa.memory_map(str(path)) as source:
            options = ipc.IpcReadOptions(included_fields=[names.index(name)])
            opened = (ipc.open_file if whole else ipc.open_stream)(source, options=options)
            table = opened.read_all()
        # The buffers come from outside: offsets that lead out of them would be followed blindly.
        table.validate(full=True)
        found = pl.from_arrow(table.column(0).combine_chunks() if not table.column(0).num_chunks else table.column(0))
        return found if isinstance(found, pl.Series) else found.to_series()

    return _by_column(path, names, column, "Arrow", missing, error, empty)


def is_frame(source: object) -> bool:
    """Whether it is a table in memory rather than a path."""
    return not isinstance(source, str | os.PathLike)


def named_source(source: "str | Path | IntoFrame") -> Path:
    """The path, or what a table in memory is called in messages."""
    return Path("frame") if is_frame(source) else Path(source)


def read_frame(frame: Any, *, missing: str = "", name: str, error: type[UnveilError]) -> Columns:
    """Read a pandas, polars or pyarrow table, or any other that narwhals knows. The index of pandas is not read."""
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        with _refusing(Path(name), "a table", error):
            frame = frame.collect()
    fault = checked_names(_names_of(frame))
    if fault:
        raise error(f"{name}: {fault}")
    if isinstance(frame, pl.DataFrame):
        native = frame
    else:
        nw = needed("narwhals", "frames", f"{name}: to read a table that is not polars'", error)
        try:
            wrapped = nw.from_native(_as_text(_as_table(frame)))
        except TypeError:
            what = type(frame).__name__
            raise error(f"{name}: a {what} is not a table; give a path, or a pandas, polars or pyarrow table") from None
        try:
            wrapped = wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped
            native = wrapped.to_polars()
        except Exception as reason:  # whatever a frame's own package says
            raise error(
                f"{name}: cannot be read as a table ({said(reason)}); make its columns texts, numbers or dates"
            ) from None
    if not native.height or not native.width:
        raise error(f"{name}: holds no rows")
    columns = {}
    for key in native.columns:
        column = native[key]
        if column.dtype.is_float():
            column = column.fill_nan(None)  # pandas' word for missing
        try:
            columns[key] = coded_series(column, missing, f"{name}, {key}", error)
        except pl.exceptions.PolarsError:
            raise error(f"{name}, {key}: a column of type {column.dtype} cannot be read; make it text") from None
    return Columns(columns, native.height, Place(), ".", type(frame).__name__)


def _names_of(frame: Any) -> list[object]:
    if type(frame).__module__.startswith("pyarrow"):
        return list(frame.schema.names) if hasattr(frame, "schema") else []
    return list(getattr(frame, "columns", ()))


def _as_table(frame: Any) -> Any:
    """A record batch of Arrow as a table: narwhals knows tables."""
    if type(frame).__module__.startswith("pyarrow") and type(frame).__name__ == "RecordBatch":
        import pyarrow as pa

        return pa.Table.from_batches([frame])
    return frame


def _as_text(frame: Any) -> Any:
    """pandas' columns of intervals, periods, lists and sets, and of several types, as the texts a CSV file would hold.

    A script that writes `*` or 20-29 into a column of numbers leaves numbers and texts side by side.
    """
    if not type(frame).__module__.startswith("pandas") or len(frame.shape) != 2:
        return frame
    pd: Any = sys.modules["pandas"]  # whoever has such a frame has imported it

    def is_odd(column: Any) -> bool:
        values = getattr(column.dtype, "categories", column)  # of a category, what its values are
        if isinstance(values.dtype, pd.IntervalDtype | pd.PeriodDtype):
            return True
        if values.dtype.name != "object":
            return False
        found = pd.api.types.infer_dtype(values)  # fast for texts
        if found != "interval" and not found.startswith("mixed"):
            return False
        odd = str | list | set | frozenset | tuple | pd.Interval
        plain = odd | Real | Decimal | np.bool_ | date | pd.Period
        return any(isinstance(v, odd) for v in values) and all(isinstance(v, plain) or pd.isna(v) for v in values)

    def text(value: Any) -> str | None:
        if value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and value != value):
            return None
        if pd.api.types.is_bool(value):
            return str(value).lower()
        if pd.api.types.is_float(value) and _is_number(str(value)):
            return number_text(float(str(value)))
        return str(value.date() if isinstance(value, pd.Timestamp) and value == value.normalize() else value)

    odd = [place for place in range(frame.shape[1]) if is_odd(frame.iloc[:, place])]
    changed = {
        frame.columns[p]: pd.Series([text(v) for v in frame.iloc[:, p].astype(object)], frame.index, dtype=object)
        for p in odd
    }
    return frame.assign(**changed) if changed else frame


def _by_column(
    path: Path,
    names: list[str],
    column: "Callable[[str], pl.Series]",
    described: str,
    missing: str,
    error: type[UnveilError],
    empty: bool,
) -> Columns:
    fault = checked_names(names)
    if fault:
        raise error(f"{path}: {fault}")
    coded: dict[str, CodedColumn] = {}
    rows = -1
    for name in names:
        with _refusing(path, described, error):
            series = column(name)
            if rows not in (-1, len(series)):
                raise error(f"{path}: cannot be read as {described}: its columns differ in length")
            rows = len(series)
            if rows > MOST_ROWS:
                raise error(f"{path}: holds over {MOST_ROWS:,} rows")
            coded[name] = NO_ROWS
            if rows:
                coded[name] = coded_series(series, missing, f"{path}, {name}", error)
            del series  # before the next one comes
    if rows < (0 if empty else 1):
        raise error(f"{path}: holds no rows")
    return Columns(coded, rows, Place(), ".", described)


def coded_series(column: "pl.Series", missing: str, where: str, error: type[UnveilError]) -> CodedColumn:
    """A typed column as the texts a CSV file would hold."""
    import polars as pl

    kind = column.dtype
    if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration, pl.Time):
        raise error(f"{where}: a column of type {kind} cannot be read; save it as text, number or date")
    if kind == pl.Datetime:
        days = whole_days(column)
        if days is None:
            raise error(f"{where}: holds times of day; keep dates only, or make it text")
        column = days
    if kind in (pl.String, pl.Categorical, pl.Enum):  # held once, a text may stand in every row
        lengths = column.str.len_bytes() if kind == pl.String else column.cat.len_bytes()
        if (laid_out := int(lengths.cast(pl.UInt64).sum())) > MOST_TEXT:
            raise error(f"{where}: its texts are {laid_out:,} bytes laid out, more than is read; shorten them")
    texts = float_texts(column) if kind.is_float() else column.cast(pl.String)
    return CodedColumn(*distinct_codes(texts.fill_null(missing)))


def whole_days(column: "pl.Series") -> "pl.Series | None":
    """A column of moments as dates, in its own time zone; None if one of them is not midnight."""
    import polars as pl

    clock = column.dt.replace_time_zone(None)
    day = clock.cast(pl.Date)
    return day if (day.cast(clock.dtype) == clock).fill_null(True).all() else None


def float_texts(column: "pl.Series") -> "pl.Series":
    """Numbers as the texts a CSV file would hold; nulls stay."""
    import polars as pl

    texts = column.cast(pl.String)
    distinct = texts.unique().drop_nulls()
    return texts.replace(distinct, [number_text(float(t)) if _is_number(t) else t for t in distinct])


def _is_number(text: str) -> bool:
    return text not in ("NaN", "inf", "-inf")


@contextmanager
def _refusing(path: Path, described: str, error: type[UnveilError]) -> Iterator[None]:
    """What a reader makes of a damaged file, as one line of ours."""
    import polars as pl

    try:
        yield
    except UnveilError:
        raise
    except (Exception, pl.exceptions.PanicException) as reason:
        raise error(f"{path}: cannot be read as {described} ({said(reason)})") from None
