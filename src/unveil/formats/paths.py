"""Which file a user's path names."""

import re
from pathlib import Path

__all__ = ["SPREADSHEETS", "sheet_file"]

SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_NAMED = re.compile(rf"(.*(?:{'|'.join(map(re.escape, SPREADSHEETS))}))#(.+)", re.IGNORECASE | re.DOTALL)


def sheet_file(path: Path) -> tuple[Path, str | None]:
    """The file and the sheet that `book.xlsx#Sheet` names; any other path is itself."""
    named = _NAMED.fullmatch(path.name)
    return (path, None) if named is None else (path.with_name(named[1]), named[2])
