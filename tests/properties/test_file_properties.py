"""Files of every kind with bytes changed, put in, taken out or cut off: an answer or an UnveilError.

They are read as a caller reads them, from a process of its own: one that ends it or never comes back is a finding here,
not the end of the tests. Few examples by default; `make fuzz` runs thousands.
"""

import io
import re
import selectors
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import polars as pl
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spoilt import spoilt

from tests.sheets import write_wanted_ods, write_wanted_xls, write_wanted_xlsb
from unveil.formats.tables import READERS

FEW = None if settings().max_examples > 1000 else 12
SECONDS = 150  # over what glass gives a small file by the clock
OTHER_ENDINGS = {".pq", ".feather", ".xlsm"}  # of kinds that are here
CHILD = """
import sys
from unveil.errors import UnveilError
from unveil.formats.tables import read_columns
for line in sys.stdin:
    try:
        found = read_columns(line.rstrip("\\n"))
        for column in found.columns.values():
            assert len(column.text_of_row) == found.rows and column.text_of_row.max() < len(column.texts)
        said = "read"
    except UnveilError as error:
        said = "refused" if str(error) and "\\n" not in str(error) else f"not one line: {error!r}"
    except BaseException as error:
        said = f"{type(error).__name__}: {error!r}"
    print("ANSWER", said.replace("\\n", " "), flush=True)
"""
FRAME = pl.DataFrame(
    {"sex": [1.0, 2.0, None, -9.0, 3.5] * 3, "name": ["a", "", "ccc", "x" * 30, "é"] * 3, "d": [21915.0] * 15}
)
LABELS = {"sex": {1.0: "male", -9.0: "refused"}}
MISSING = {"sex": [{"lo": -9, "hi": -7}, 99.0], "name": ["ccc"]}


class Reader:
    """A process that reads files; a new one is started when it ends."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.child = folder, None

    def answer(self, content: bytes, ending: str) -> str:
        path = self.folder / f"t{ending}"
        path.write_bytes(content)
        if self.child is None:
            pipe = subprocess.PIPE
            self.child = subprocess.Popen(
                [sys.executable, "-c", CHILD], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, bufsize=1
            )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(f"{path}\n")
        with selectors.DefaultSelector() as ready:
            ready.register(self.child.stdout, selectors.EVENT_READ)
            came = ready.select(SECONDS)
        line = self.child.stdout.readline() if came else ""
        if not line.startswith("ANSWER"):
            code = self.close()
            return f"no answer: the process ended with {code}" if came else "no answer in time"
        return line.removeprefix("ANSWER ").strip()

    def close(self) -> int | None:
        """End the process; its exit code."""
        if self.child is None:
            return None
        self.child.kill()
        self.child.communicate()
        code, self.child = self.child.returncode, None
        return code


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    made = Reader(tmp_path_factory.mktemp("files"))
    yield made
    made.close()


def _written(write: Callable[..., object], folder: Path, ending: str, **options: object) -> bytes:
    path = folder / f"good{ending}"
    frame = FRAME.drop("name") if ending == ".por" else FRAME
    write(frame, path, **options)
    return path.read_bytes()


def _packed(parts: Mapping[str, str | bytes]) -> bytes:
    """The same bytes at any time of day: `make test` tries the same examples every time."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _timeless(content: bytes) -> bytes:
    """A workbook that does not say when it was made."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    moment = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
    return _packed({name: re.sub(moment, b"2024-01-31T10:30:00", part) for name, part in parts.items()})


def _open_document() -> bytes:
    """A header, a row of each kind of cell, and rows and cells that repeat."""
    names = {n: f"urn:oasis:names:tc:opendocument:xmlns:{n}:1.0" for n in ("office", "table", "text")}
    spaces = " ".join(f'xmlns:{name}="{address}"' for name, address in names.items())
    cells = (
        '<table:table-cell office:value-type="float" office:value="1.5"><text:p>1.5</text:p></table:table-cell>'
        '<table:table-cell office:value-type="string"><text:p>a<text:s text:c="2"/>b</text:p></table:table-cell>'
        '<table:table-cell office:value-type="date" office:date-value="2024-01-31"/>'
    )
    header = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{n}</text:p></table:table-cell>' for n in "xyz"
    )
    rows = f'<table:table-row>{header}</table:table-row><table:table-row table:number-rows-repeated="3">{cells}'
    rows += '<table:table-cell table:number-columns-repeated="16381"/></table:table-row>'
    content = (
        f'<?xml version="1.0"?><office:document-content {spaces}><office:body><office:spreadsheet>'
        f'<table:table table:name="one">{rows}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return _packed({"mimetype": kind, "META-INF/manifest.xml": "<manifest/>", "content.xml": content})


# No library at hand writes these: how they begin.
BEGUN = {"sas7bdat": b"\0" * 12 + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011") + b"\0" * 992}


def _good(folder: Path) -> dict[str, bytes]:
    """A small whole file of each kind."""
    shown = {"variable_value_labels": LABELS}
    kinds = {
        "sav": _written(pyreadstat.write_sav, folder, ".sav", missing_ranges=MISSING, note="n", **shown),
        "sav packed": _written(pyreadstat.write_sav, folder, ".sav", row_compress=True, **shown),
        "zsav": _written(pyreadstat.write_sav, folder, ".zsav", compress=True, **shown),
        "dta": _written(pyreadstat.write_dta, folder, ".dta", variable_value_labels={"d": {1: "one"}}),
        "dta old": _written(pyreadstat.write_dta, folder, ".dta", version=12),
        "xpt": _written(pyreadstat.write_xport, folder, ".xpt"),
        "por": _written(pyreadstat.write_por, folder, ".por"),
        "xlsx": _timeless(_written(lambda frame, path: frame.write_excel(path), folder, ".xlsx")),
        "xlsb": _timeless(write_wanted_xlsb(folder / "t.xlsb", short=True).read_bytes()),
        "xls": write_wanted_xls(folder / "t.xls").read_bytes(),
        "ods": _timeless(write_wanted_ods(folder / "t.ods").read_bytes()),
        "parquet": _written(lambda frame, path: frame.write_parquet(path), folder, ".parquet"),
        "arrow": _written(lambda frame, path: frame.write_ipc(path), folder, ".arrow"),
        "ipc": _written(lambda frame, path: frame.write_ipc_stream(path), folder, ".ipc"),
    }
    return {**kinds, "ods repeated": _open_document(), **BEGUN}


class Files:
    """Whole files by kind, not shown: hypothesis calls a failure with arguments of this size flaky."""

    def __init__(self, of: dict[str, bytes]) -> None:
        self.of = of


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(_good(tmp_path_factory.mktemp("good")))


SHEETS = ("xlsx", "xlsb", "ods", "ods repeated")
KINDS = ("sav", "sav packed", "zsav", "dta", "dta old", "xpt", "por", "xls", *SHEETS, "parquet", "arrow", "ipc", *BEGUN)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=FEW or 2000)
@given(data=st.data())
def test_any_file(data: st.DataObject, kind: str, good: Files, reader: Reader) -> None:
    content = data.draw(spoilt(good.of[kind]))
    assert reader.answer(content, f".{kind.split()[0]}") in ("read", "refused")


@pytest.mark.parametrize("kind", SHEETS)
@settings(max_examples=FEW or 2000)
@given(data=st.data())
def test_any_sheet(data: st.DataObject, kind: str, good: Files, reader: Reader) -> None:
    """What is inside, packed anew: a changed byte of the archive itself rarely gets further than its checksum."""
    with zipfile.ZipFile(io.BytesIO(good.of[kind])) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = data.draw(st.sampled_from([n for n in parts if n.startswith(("xl/", "content"))]))
    parts[name] = data.draw(spoilt(parts[name]))
    assert reader.answer(_packed(parts), f".{kind.split()[0]}") in ("read", "refused")


def test_whole_files_are_read(good: Files, reader: Reader) -> None:
    """Or else the tests above would show nothing."""
    said = {kind: reader.answer(content, f".{kind.split()[0]}") for kind, content in good.of.items()}
    assert said == {kind: "refused" if kind in BEGUN else "read" for kind in good.of}
    assert set(good.of) == set(KINDS)
    assert {f".{kind.split()[0]}" for kind in KINDS} | OTHER_ENDINGS == set(READERS)
