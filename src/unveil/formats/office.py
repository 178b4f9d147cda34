"""What Excel's workbooks in XML and in records have in common: parts that name each other, shared texts, formats."""

import posixpath
from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path

from unveil.formats.sheet_values import Shown
from unveil.formats.survey import Refusal
from unveil.formats.workbook import Sheet, Zipped, elements

__all__ = ["OfficeBook"]


class OfficeBook(ABC):
    """A workbook of Excel; whoever reads its main part adds the sheets."""

    def __init__(self, path: Path, main: str) -> None:
        self._parts = Zipped(path)
        self._related = _Relations(self._parts, main)
        self._sheets: dict[str, str] = {}  # the parts that hold them
        self._hidden: set[str] = set()
        self._from_1904 = False

    def sheets(self) -> list[Sheet]:
        """In the file's order."""
        return [Sheet(name, name in self._hidden) for name in self._sheets]

    def _add_sheet(self, name: str, identity: str, hidden: bool) -> None:
        """One more sheet, whose name no other may have; charts are passed over."""
        part = self._related.by_identity.get(identity)
        if part not in self._related.worksheets:
            return
        if name in self._sheets:
            raise Refusal(f"two sheets are named {name[:40]!r}")
        self._sheets[name] = part
        if hidden:
            self._hidden.add(name)

    @cached_property
    def _texts(self) -> list[str]:
        """The texts that cells share."""
        part = self._related.by_kind.get("sharedStrings", "")
        return self._shared_texts(part) if part in self._parts else []

    @cached_property
    def _shown(self) -> list[Shown]:
        """What the numbers of each cell style are shown as."""
        part = self._related.by_kind.get("styles", "")
        return self._formats(part) if part in self._parts else []

    @abstractmethod
    def _shared_texts(self, part: str) -> list[str]: ...

    @abstractmethod
    def _formats(self, part: str) -> list[Shown]: ...


class _Relations:
    """Which part of a workbook is what: its main part, those that it names, and their kinds."""

    def __init__(self, parts: Zipped, default: str) -> None:
        self.main = default
        if "_rels/.rels" in parts:
            found = [a for tag, a in elements(parts.blocks("_rels/.rels")) if tag == "Relationship"]
            kinds = {_last(a.get("Type", "")): a.get("Target", "") for a in found}
            self.main = kinds.get("officeDocument", default).lstrip("/") or default
        folder, name = posixpath.split(self.main)
        related = posixpath.join(folder, "_rels", f"{name}.rels")
        self.by_identity: dict[str, str] = {}
        self.by_kind: dict[str, str] = {}
        self.worksheets: set[str] = set()
        for tag, a in elements(parts.blocks(related)):
            if tag == "Relationship" and a.get("TargetMode") != "External":
                target = a.get("Target", "")
                path = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
                path, kind = posixpath.normpath(path), _last(a.get("Type", ""))
                self.by_identity[a.get("Id", "")] = path
                self.by_kind.setdefault(kind, path)
                if kind == "worksheet":
                    self.worksheets.add(path)


def _last(kind: str) -> str:
    return kind.rpartition("/")[2]
