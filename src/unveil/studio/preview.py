"""The first rows of a table, what it is, or what is wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from unveil.errors import UnveilError
from unveil.studio.folder import Folder

__all__ = ["Preview", "preview_of"]

ROWS = 12
LONGEST = 200  # characters of a cell


@dataclass(frozen=True, slots=True)
class Preview:
    """The head of a table."""

    names: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    count: int = 0
    described: str = ""  # delimiter, encoding, decimal mark
    fault: str = ""  # with its line, if the file cannot be read

    def beside(self, other: "Preview") -> "Preview":
        """The columns that another table has too, in its order."""
        kept = [self.names.index(name) for name in other.names if name in self.names]
        rows = tuple(tuple(row[i] for i in kept) for row in self.rows)
        return replace(self, names=tuple(self.names[i] for i in kept), rows=rows)


def preview_of(folder: Folder, name: str, dialect: Mapping[str, Any], published: bool) -> Preview:
    """The head of one of the folder's tables."""
    from unveil.formats.tables import read_columns

    try:
        found = read_columns(folder.path / name, published=published, **dialect)
    except UnveilError as error:
        return Preview(fault=str(error).replace(f"{folder.path}/", ""))
    first = range(min(ROWS, found.rows))
    columns = [[c.texts[c.text_of_row[i]][:LONGEST] for i in first] for c in found.columns.values()]
    return Preview(tuple(found.columns), tuple(zip(*columns, strict=True)), found.rows, found.described)
