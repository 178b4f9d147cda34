"""What a published file holds beside its table: a sidecar with its remarks, other sheets, comments, metadata."""

import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from unveil.errors import ReleaseError, UnveilError, shown
from unveil.formats.parts import part_files
from unveil.formats.paths import SPREADSHEETS, is_many, sheet_file
from unveil.formats.releases.published import is_sidecar
from unveil.formats.sheets import other_sheets
from unveil.formats.statistical import FAMILY

__all__ = ["NAMES", "Surrounding", "row_groups", "surroundings"]

# Parts of a workbook that hold data of their own: whoever opens it does not see them at once.
_HELD = {
    "pivotcache": "a pivot table's copy of its data",
    "comments": "comments on cells",
    "threadedcomments": "comments on cells",
    "embeddings": "an embedded file",
    "externallinks": "values of another workbook",
    "revisions": "earlier versions",
    "media": "a picture",
}
_DESCRIBED = ("docprops", "customxml", "meta.xml")
# What a workbook needs to show a table, and no more: everything else is named, whatever it is.
_PARTS = re.compile(
    r"\[content_types\]\.xml|(?:.*/)?_rels/(?:workbook|)(?:\.xml|\.bin)?\.rels|xl/(?:workbook|styles|sharedstrings|metadata|"
    r"calcchain)\.xml|xl/theme/.*|docprops/.*|xl/worksheets/sheet\d+\.xml"
)
_ELEMENTS = re.compile(
    "worksheet|sheet(?:Pr|Views?|FormatPr|Data|Protection)|tabColor|outlinePr|pageSetUpPr|dimension|pane|selection|cols?|"
    "row|c|v|f|is|t|autoFilter|page(?:Margins|Setup)|printOptions|headerFooter|odd(?:Header|Footer)|phoneticPr|"
    "ignoredErrors?"
)
_ELEMENT = re.compile(r"<([A-Za-z][\w:]*)")
_SHEET = re.compile(r'<sheet name="([^"]*)"')
_TITLE = re.compile(r"<(?:dc:title|dc:subject|dc:description|cp:keywords|cp:category)>([^<]*)<")
_ROW = re.compile(r"<row ([^>]*)>")
_USUAL = re.compile(r'(?:\br|spans|x14ac:dyDescent)="[^"]*"|[\s/]')
_STRING = re.compile(r"<si>(.*?)</si>|<si/>", re.DOTALL)
_USED = re.compile(r'<c [^>]*t="s"[^>]*><v>(\d+)</v>')
_TAG = re.compile(r"<[^>]*>")
_FORMULA = re.compile(r"<f[ >][^<]*|table:formula=\"([^\"]*)")
_CELL = re.compile(r'<c r="([A-Z]+)(\d+)"(?: s="(\d+)")?(?: t="(\w+)")?')
_HIDDEN = re.compile(r"<(?:row|col) [^>]*hidden=\"(?:1|true)\"")
NAMES = ("the name of the file", "the name of the sheet", "the title of the file")
_MOST = 2**24  # bytes of one part that are looked through


class Surrounding(NamedTuple):
    """One thing beside the table."""

    where: str
    text: str
    data: bool  # whether it is data of its own, that nobody who reads the table asked for


def surroundings(path: Path) -> tuple[Surrounding, ...]:
    """Everything beside the table that can be found; damaged files are for the reader of the table to refuse."""
    if is_many(path):
        names = [Surrounding(NAMES[0], path.stem, False)] if path.is_dir() else []
        held = [one for part in part_files(path, ReleaseError) for one in surroundings(part.path)]
        return (*names, *_sidecar(path), *dict.fromkeys(held))
    file, _ = sheet_file(path)
    found = [Surrounding(NAMES[0], file.stem, False), *_sidecar(file)]
    try:
        if file.suffix.lower() in SPREADSHEETS:
            found += _workbook(path, file)
        elif file.suffix.lower() in (".parquet", ".pq"):
            found += _parquet(file)
        elif file.suffix.lower() in (".arrow", ".feather", ".ipc", *FAMILY):
            found.append(Surrounding("the file's labels and notes", file.read_bytes()[:_MOST].decode("latin-1"), False))
    except (UnveilError, OSError, zipfile.BadZipFile, ValueError):
        pass
    return tuple(found)


def _sidecar(file: Path) -> Iterator[Surrounding]:
    beside = file.with_suffix(".toml")
    if beside.is_file() and is_sidecar(beside):
        text = beside.read_text("utf-8", "replace")
        yield Surrounding(f"the sidecar {beside.name}", text, False)
        remarks = [line for line in text.splitlines() if line.lstrip().startswith("#")]
        if remarks:
            yield Surrounding(f"remarks in the sidecar {beside.name}", "\n".join(remarks), True)


def _workbook(path: Path, file: Path) -> Iterator[Surrounding]:
    others = list(other_sheets(path))
    for name, hidden, texts in others:
        yield Surrounding(f"the {'hidden ' if hidden else ''}sheet {shown(name)}", "\n".join(texts), True)
    if not zipfile.is_zipfile(file):
        return
    book = file.suffix.lower() in (".xlsx", ".xlsm")
    used: set[int] = set()
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            folders = member.filename.lower().split("/")
            if "worksheets" in folders[:-1] or folders == ["content.xml"]:
                with archive.open(member) as part:
                    text = part.read(_MOST).decode("utf-8", "replace")
                if folders[-1].endswith(".rels"):
                    yield Surrounding(f"links of a sheet ({shown(member.filename)})", text, True)
                    continue
                yield from _sheet(text)
                if book:
                    yield from _unneeded(text)
                    used |= {int(i) for i in _USED.findall(text)}
                continue
            if folders[-1] in ("workbook.xml", "core.xml") and book:
                with archive.open(member) as part:
                    text = part.read(_MOST).decode("utf-8", "replace")
                yield Surrounding(NAMES[1], "\n".join(_SHEET.findall(text)), False)
                yield Surrounding(NAMES[2], "\n".join(_TITLE.findall(text)), False)
            held = next((words for part, words in _HELD.items() if any(f.startswith(part) for f in folders)), None)
            if held is None and book and not _PARTS.fullmatch(member.filename.lower()):
                held = "a part that no table needs"
            if held is None and not any(f.startswith(_DESCRIBED) for f in folders):
                continue
            with archive.open(member) as part:
                text = part.read(_MOST).decode("utf-8", "replace")
            yield Surrounding(
                f"{held or 'the properties'} ({shown(member.filename)})", _TAG.sub("\n", text), bool(held)
            )
        if book and "xl/sharedStrings.xml" in archive.namelist():
            with archive.open("xl/sharedStrings.xml") as part:
                texts = _STRING.findall(part.read(_MOST).decode("utf-8", "replace"))
            left = [_TAG.sub("", text) for i, text in enumerate(texts) if i not in used]
            if left and not others:
                yield Surrounding("texts that no cell shows", "\n".join(left), True)


def _unneeded(text: str) -> Iterator[Surrounding]:
    """What a sheet's own text holds beside rows of cells; rows that differ from the others."""
    elements = Counter(name.removeprefix("x:") for name in _ELEMENT.findall(text))
    other = sorted(name for name in elements if not _ELEMENTS.fullmatch(name))
    if other:
        lines = "\n" * (sum(elements[name] for name in other) - 1)
        yield Surrounding(f"more than cells in a sheet ({', '.join(shown(n) for n in other[:5])})", lines + text, True)
    forms = Counter(_USUAL.sub("", form) for form in _ROW.findall(text)[1:])
    marked = forms.total() - max(forms.values(), default=0)
    if marked:
        yield Surrounding("rows whose height or format differs from the others", "\n" * (marked - 1), True)


def _sheet(text: str) -> Iterator[Surrounding]:
    """What a sheet holds behind its values: formulas, formats that differ within a column, rows that are not shown."""
    formulas = [found[0] for found in _FORMULA.finditer(text)]
    if formulas:
        yield Surrounding("formulas behind cells", "\n".join(formulas), True)
    formats: dict[tuple[str, str], Counter[str]] = {}
    for column, row, form, kind in _CELL.findall(text):
        if row != "1":
            formats.setdefault((column, kind), Counter())[form] += 1
    marked = sum(used.total() - max(used.values()) for used in formats.values())
    if marked:
        yield Surrounding(
            "cells whose format differs from others of their column (colour, font)", "\n" * (marked - 1), True
        )
    hidden = len(_HIDDEN.findall(text))
    if hidden:
        yield Surrounding("hidden rows or columns", "\n" * (hidden - 1), True)


def _parquet(file: Path) -> Iterator[Surrounding]:
    import polars as pl

    for key, text in pl.read_parquet_metadata(file).items():
        if key != "ARROW:schema":
            yield Surrounding(f"the metadata {shown(key)}", text, False)


def row_groups(path: Path) -> tuple[int, ...]:
    """Rows of each part of a Parquet file; nothing for other files, or where there is one part."""
    if is_many(path):
        return ()
    file, _ = sheet_file(path)
    if file.suffix.lower() not in (".parquet", ".pq"):
        return ()
    try:
        from pyarrow.parquet import read_metadata

        held = read_metadata(file)
    except (ImportError, OSError, ValueError):  # a damaged file is for the reader of the table to refuse
        return ()
    return tuple(held.row_group(i).num_rows for i in range(held.num_row_groups)) if held.num_row_groups > 1 else ()
