"""Three million Adult-like rows of nine columns in each kind of file: CPU seconds, and peak memory."""

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyreadstat

from benchmarks import Row
from realdata.adult import SENSITIVE, read_adult

ROWS = 3_000_000
SHEET_ROWS = 1_000_000  # a sheet holds 1,048,576
NAMES = ("age", "workclass", "education", "marital-status", "relationship", "race", "sex", "native-country", SENSITIVE)
FREE = 500e6


def measure() -> Iterator[Row]:
    """Each file is written here and read in a process of its own, whose memory at its peak is all it ever had."""
    adult = read_adult()
    drawn = np.random.default_rng(0).integers(len(adult[SENSITIVE]), size=ROWS)
    frame = pl.DataFrame({name.replace("-", "_"): adult[name] for name in NAMES})[drawn]
    frame = frame.with_columns(pl.col("age").cast(pl.Float64))
    coded, labels = _coded(frame)
    writers: dict[str, Callable[[Path], object]] = {
        "t.parquet": lambda path: frame.write_parquet(path),
        "t.arrow": lambda path: frame.write_ipc(path),
        "t.sav": lambda path: pyreadstat.write_sav(coded, path, variable_value_labels=labels, row_compress=True),
        "t.dta": lambda path: pyreadstat.write_dta(coded, path, variable_value_labels=labels),
        "t.xpt": lambda path: pyreadstat.write_xport(frame, path),
        "t.xlsx": lambda path: _write_sheet(frame[:SHEET_ROWS], path),
    }
    for name, write in writers.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            write(path)
            found = _run(path)
            size = path.stat().st_size / 1e6
        rows = f"{int(found['rows']):,} rows, {path.suffix}"
        note = f"{size:.0f} MB; {found['coded'] / 1e6:.0f} MB coded"
        yield Row(f"{rows} → coded", found["seconds"], unit="s CPU", note=note)
        share = found["peak"] / (2 * found["coded"] + FREE)
        note = f"{found['peak'] / 1e6:.0f} MB" + ("; a sheet is laid out whole" if path.suffix == ".xlsx" else "")
        floor = "" if path.suffix == ".xlsx" else "<= 1"
        yield Row(f"{rows}, peak of 2 × coded + 500 MB", share, unit="times", floor=floor, note=note)


def _coded(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, dict[int | float, str]]]:
    """Categories as numbers with labels, as a survey has them."""
    labels: dict[str, dict[int | float, str]] = {}
    columns = [frame["age"]]
    for column in frame.drop("age"):
        values = column.unique().sort()
        labels[column.name] = dict(enumerate(values.to_list(), start=1))
        columns.append((column.cast(pl.Enum(values)).to_physical() + 1).cast(pl.Float64).alias(column.name))
    return pl.DataFrame(columns), labels


def _write_sheet(frame: pl.DataFrame, path: Path) -> None:
    """A workbook made by hand: the packages that write them take minutes for so many rows."""
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    related = f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{relation}/'
    cells = [
        pl.format(f'<c r="{letter}{{}}" t="s"><v>{{}}</v></c>', pl.col("row"), pl.col(name))
        for letter, name in zip("ABCDEFGHI", frame.columns, strict=True)
    ]
    names = pl.DataFrame({name: [name] for name in frame.columns})
    texts = pl.concat([names, frame.with_columns(pl.all().cast(pl.String))])
    shared = pl.concat([column.unique().alias("") for column in texts]).unique()
    rows = texts.with_columns(pl.all().replace_strict(shared, pl.int_range(len(shared), eager=True)))
    rows = rows.with_row_index("row", offset=1)
    items = "".join(f"<si><t>{text.replace('&', '&amp;')}</t></si>" for text in shared)
    lines = rows.select(pl.format('<row r="{}">{}</row>', pl.col("row"), pl.concat_str(cells))).to_series()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as book:
        kinds = (
            f'<Types xmlns="{package}/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>'
        )
        book.writestr("[Content_Types].xml", kinds)
        book.writestr("_rels/.rels", f'{related}officeDocument" Target="xl/workbook.xml"/></Relationships>')
        sheets = '<sheets><sheet name="one" sheetId="1" r:id="r1"/></sheets>'
        book.writestr("xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{relation}">{sheets}</workbook>')
        second = f'<Relationship Id="r2" Type="{relation}/sharedStrings" Target="sharedStrings.xml"/></Relationships>'
        book.writestr("xl/_rels/workbook.xml.rels", f'{related}worksheet" Target="worksheets/sheet1.xml"/>{second}')
        book.writestr("xl/sharedStrings.xml", f'<sst xmlns="{main}">{items}</sst>')
        with book.open("xl/worksheets/sheet1.xml", "w") as sheet:
            sheet.write(f'<worksheet xmlns="{main}"><sheetData>'.encode())
            for start in range(0, len(lines), 50_000):
                sheet.write("".join(lines[start : start + 50_000].to_list()).encode())
            sheet.write(b"</sheetData></worksheet>")


def _run(path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks._file_reading", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-2000:])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
