"""Which file a user's path names."""

import re
from pathlib import Path

__all__ = ["SPREADSHEETS", "is_project", "sheet_file"]

SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
PROJECT = ".deid"
_NAMED = re.compile(rf"(.*(?:{'|'.join(map(re.escape, (*SPREADSHEETS, PROJECT)))}))#(.+)", re.IGNORECASE | re.DOTALL)


def sheet_file(path: Path) -> tuple[Path, str | None]:
    """The file and the sheet that `book.xlsx#Sheet` names, or the transformation of `clinic.deid#2`; else itself."""
    named = _NAMED.fullmatch(path.name)
    return (path, None) if named is None else (path.with_name(named[1]), named[2])


def is_project(path: object) -> bool:
    """Whether a path names an ARX project, or a transformation saved in one."""
    return isinstance(path, Path) and sheet_file(path)[0].suffix.lower() == PROJECT
