"""Three million Adult-like rows of nine columns in each kind of file: CPU seconds, and peak memory."""

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import polars as pl
import pyreadstat

from benchmarks import Row
from realdata.adult import SENSITIVE, read_adult

ROWS = 3_000_000
SHEET_ROWS = 1_000_000  # a sheet holds 1,048,576
NAMES = ("age", "workclass", "education", "marital-status", "relationship", "race", "sex", "native-country", SENSITIVE)
FREE = 500e6
SHEETS = (".xlsx", ".xlsb", ".ods")


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
        "t.xlsb": lambda path: _write_binary_sheet(frame[:SHEET_ROWS], path),
        "t.ods": lambda path: _write_open_document(frame[:SHEET_ROWS], path),
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
        if path.suffix in SHEETS:  # laid out whole by the library
            yield Row(f"{rows}, peak", found["peak"] / 1e6, unit="MB", floor="<= 1,500")
            continue
        share = found["peak"] / (2 * found["coded"] + FREE)
        note = f"{found['peak'] / 1e6:.0f} MB"
        yield Row(f"{rows}, peak of 2 × coded + 500 MB", share, unit="times", floor="<= 1", note=note)


def _coded(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, dict[int | float, str]]]:
    """Categories as numbers with labels, as a survey has them."""
    labels: dict[str, dict[int | float, str]] = {}
    columns = [frame["age"]]
    for column in frame.drop("age"):
        values = column.unique().sort()
        labels[column.name] = dict(enumerate(values.to_list(), start=1))
        columns.append((column.cast(pl.Enum(values)).to_physical() + 1).cast(pl.Float64).alias(column.name))
    return pl.DataFrame(columns), labels


RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
# The workbooks are made by hand: the packages that write them take minutes for so many rows.


def _related(ending: str) -> str:
    parts = {"worksheet": f"worksheets/sheet1.{ending}", "sharedStrings": f"sharedStrings.{ending}"}
    found = "".join(f'<Relationship Id="{k}" Type="{RELATION}/{k}" Target="{part}"/>' for k, part in parts.items())
    return f'<Relationships xmlns="{PACKAGE}/relationships">{found}</Relationships>'


def _root(ending: str) -> str:
    main = f'<Relationship Id="r1" Type="{RELATION}/officeDocument" Target="xl/workbook.{ending}"/>'
    return f'<Relationships xmlns="{PACKAGE}/relationships">{main}</Relationships>'


def _texts(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Names and rows as numbers of shared texts, and these."""
    names = pl.DataFrame({name: [name] for name in frame.columns})
    texts = pl.concat([names, frame.with_columns(pl.all().cast(pl.String))])
    shared = pl.concat([column.unique().alias("") for column in texts]).unique()
    rows = texts.with_columns(pl.all().replace_strict(shared, pl.int_range(len(shared), eager=True)))
    return rows, shared.to_list()


def _write_lines(book: zipfile.ZipFile, name: str, lines: pl.Series, before: str, after: str) -> None:
    with book.open(name, "w") as part:
        part.write(before.encode())
        for start in range(0, len(lines), 50_000):
            part.write("".join(lines[start : start + 50_000].to_list()).encode())
        part.write(after.encode())


def _write_sheet(frame: pl.DataFrame, path: Path) -> None:
    cells = [
        pl.format(f'<c r="{letter}{{}}" t="s"><v>{{}}</v></c>', pl.col("row"), pl.col(name))
        for letter, name in zip("ABCDEFGHI", frame.columns, strict=True)
    ]
    rows, shared = _texts(frame)
    lines = rows.with_row_index("row", offset=1).select(
        pl.format('<row r="{}">{}</row>', pl.col("row"), pl.concat_str(cells))
    )
    sheets = '<sheets><sheet name="one" sheetId="1" r:id="worksheet"/></sheets>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as book:
        book.writestr("_rels/.rels", _root("xml"))
        book.writestr("xl/workbook.xml", f'<workbook xmlns="{MAIN}" xmlns:r="{RELATION}">{sheets}</workbook>')
        book.writestr("xl/_rels/workbook.xml.rels", _related("xml"))
        items = "".join(f"<si><t>{escape(text)}</t></si>" for text in shared)
        book.writestr("xl/sharedStrings.xml", f'<sst xmlns="{MAIN}">{items}</sst>')
        before = f'<worksheet xmlns="{MAIN}"><sheetData>'
        _write_lines(book, "xl/worksheets/sheet1.xml", lines.to_series(), before, "</sheetData></worksheet>")


def _write_binary_sheet(frame: pl.DataFrame, path: Path) -> None:
    """Records of [MS-XLSB]: a kind, a size, and the bytes; all rows are of one length."""
    rows, shared = _texts(frame)
    cell = np.dtype([("kind", "u1"), ("size", "u1"), ("column", "<u4"), ("style", "<u4"), ("text", "<u4")])
    line = np.zeros(
        len(rows), dtype=[("kind", "u1"), ("size", "u1"), ("row", "<u4"), ("rest", "V13"), ("cells", cell, rows.width)]
    )
    line["size"], line["row"] = 17, np.arange(len(rows))
    line["cells"]["kind"], line["cells"]["size"] = 7, 12
    line["cells"]["column"] = np.arange(rows.width)
    line["cells"]["text"] = rows.to_numpy()

    def text(said: str) -> bytes:
        return len(said).to_bytes(4, "little") + said.encode("utf-16-le")

    sheet = bytes(4) + bytes([1, 0, 0, 0]) + text("worksheet") + text("one")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as book:
        book.writestr("_rels/.rels", _root("bin"))
        listed = bytes([0x8F, 1, 0, 0x9C, 1, len(sheet)]) + sheet + bytes([0x90, 1, 0])
        book.writestr("xl/workbook.bin", bytes([0x83, 1, 0]) + listed + bytes([0x84, 1, 0]))
        book.writestr("xl/_rels/workbook.bin.rels", _related("bin"))
        items = [b"\0" + text(each) for each in shared]
        count = len(items).to_bytes(4, "little") * 2
        strings = b"".join(bytes([19, len(item)]) + item for item in items)
        book.writestr("xl/sharedStrings.bin", bytes([0x9F, 1, 8]) + count + strings + bytes([0xA0, 1, 0]))
        with book.open("xl/worksheets/sheet1.bin", "w") as part:
            part.write(bytes([0x81, 1, 0, 0x94, 1, 16]) + bytes(16) + bytes([0x91, 1, 0]))
            for start in range(0, len(line), 50_000):
                part.write(line[start : start + 50_000].tobytes())
            part.write(bytes([0x92, 1, 0, 0x82, 1, 0]))


def _write_open_document(frame: pl.DataFrame, path: Path) -> None:
    kinds = {name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for name in ("office", "table", "text")}
    spaces = " ".join(f'xmlns:{name}="{space}"' for name, space in kinds.items())
    names = pl.DataFrame({name: [name] for name in frame.columns})
    texts = pl.concat([names, frame.with_columns(pl.all().cast(pl.String))])
    texts = texts.with_columns(pl.all().str.replace_all("&", "&amp;", literal=True))
    before = '<table:table-cell office:value-type="string"><text:p>'
    cells = pl.concat_str([pl.format(before + "{}</text:p></table:table-cell>", pl.col(n)) for n in texts.columns])
    lines = texts.select(pl.format("<table:table-row>{}</table:table-row>", cells)).to_series()
    top = f'<office:document-content {spaces}><office:body><office:spreadsheet><table:table table:name="one">'
    end = "</table:table></office:spreadsheet></office:body></office:document-content>"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet", zipfile.ZIP_STORED)
        book.writestr("META-INF/manifest.xml", "<manifest/>")
        _write_lines(book, "content.xml", lines, top, end)


def _run(path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks._file_reading", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-2000:])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
