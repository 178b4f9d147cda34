"""The first rows of a table, what it is, or what is wrong with it: read once, as long as the file stays as it is."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from unveil.errors import UnveilError
from unveil.studio.folder import Folder

__all__ = ["Preview", "Previews"]

ROWS = 12
KEPT = 32  # files whose first rows are held
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


class Previews:
    """One reader at a time: fifty tabs do not read a file fifty times."""

    def __init__(self, folder: Folder) -> None:
        self._folder, self._lock = folder, threading.Lock()
        self._held: OrderedDict[tuple[object, ...], Preview] = OrderedDict()

    def of(self, name: str, dialect: Mapping[str, str] | None = None, *, published: bool = False) -> Preview:
        """The head of one of the folder's tables."""
        dialect = dialect or {}
        key = (name, *self._folder.stamp(name), *sorted(dialect.items()), published)
        with self._lock:
            found = self._held.pop(key, None) or self._read(name, dialect, published)
            self._held[key] = found
            while len(self._held) > KEPT:
                self._held.popitem(last=False)
            return found

    def _read(self, name: str, dialect: Mapping[str, Any], published: bool) -> Preview:
        from unveil.formats.tables import read_columns

        try:
            found = read_columns(self._folder.path / name, published=published, **dialect)
        except UnveilError as error:
            return Preview(fault=str(error).replace(f"{self._folder.path}/", ""))
        first = range(min(ROWS, found.rows))
        columns = [[c.texts[c.text_of_row[i]][:LONGEST] for i in first] for c in found.columns.values()]
        return Preview(tuple(found.columns), tuple(zip(*columns, strict=True)), found.rows, found.described)
