"""How a table's file writes its cells, so that a release of it is written alike."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from unveil.data.attribute import Kind
from unveil.data.preparation import written_date

__all__ = ["PLAIN", "FileNotation"]

_ENCLOSED = re.compile(r"[\[({\]].*[\])}\[]", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e-?\d+)?(?![\w.])", re.ASCII)


@dataclass(frozen=True, slots=True)
class FileNotation:
    """Delimiter, encoding and line ends of a text file, its decimal mark, and the format of each column's dates."""

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    newline: str = "\n"
    dates: Mapping[str, str] = field(default_factory=dict)  # by attribute

    def cell(self, text: str, name: str, kind: Kind | None) -> str:
        """A cell in this notation. With a decimal comma a semicolon parts the ends of an interval: [1,5;3)."""
        if kind is Kind.DATE and name in self.dates:
            return written_date(text, self.dates[name])
        if kind is Kind.NUMERIC and self.decimal == "," and '"' not in text and _NUMBER.search(text):
            parted = text.replace(",", ";") if _ENCLOSED.fullmatch(text) else text
            return _NUMBER.sub(lambda number: number[0].replace(".", ","), parted)
        return text


PLAIN = FileNotation()
