"""Which file a user's path names."""

import glob
import re
from pathlib import Path

from unveil.formats.glass import BINARY

__all__ = ["SPREADSHEETS", "TYPED", "folder_of", "is_many", "is_project", "is_single", "sheet_file"]

SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
PROJECT = ".deid"
TYPED = (".parquet", ".pq", ".arrow", ".feather", ".ipc")  # besides text: what a part may be
_NAMED = re.compile(rf"(.*(?:{'|'.join(map(re.escape, (*SPREADSHEETS, PROJECT)))}))#(.+)", re.IGNORECASE | re.DOTALL)


def sheet_file(path: Path) -> tuple[Path, str | None]:
    """The file and the sheet that `book.xlsx#Sheet` names, or the transformation of `clinic.deid#2`; else itself."""
    named = _NAMED.fullmatch(path.name)
    return (path, None) if named is None else (path.with_name(named[1]), named[2])


def is_project(path: object) -> bool:
    """Whether a path names an ARX project, or a transformation saved in one."""
    return isinstance(path, Path) and sheet_file(path)[0].suffix.lower() == PROJECT


def is_many(path: object) -> bool:
    """Whether a path names a table of many files: a folder, or a pattern."""
    if not isinstance(path, Path) or is_single(path):
        return False
    if path.is_dir():
        return bool(path.name)
    return glob.has_magic(str(path)) and not sheet_file(path)[0].exists()


def is_single(path: Path) -> bool:
    """Whether a table of this kind is always one file."""
    ending = sheet_file(path)[0].suffix.lower()
    return ending in BINARY and ending not in TYPED


def folder_of(path: Path) -> Path:
    """The folder in which all files of such a table lie."""
    fixed = (i for i, part in enumerate(path.parts) if glob.has_magic(part))
    return path if path.is_dir() else Path(*path.parts[: next(fixed)])
