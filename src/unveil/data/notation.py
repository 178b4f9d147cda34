"""How a table's file writes its cells, so that a release of it is written alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from unveil.data.attribute import Kind
from unveil.data.preparation import other_mark, written_date

__all__ = ["PLAIN", "FileNotation"]


@dataclass(frozen=True, slots=True)
class FileNotation:
    """Delimiter, encoding and line ends of a text file, its decimal mark, and each column's own mark and dates."""

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    newline: str = "\n"
    dates: Mapping[str, str] = field(default_factory=dict)  # by attribute
    decimals: Mapping[str, str] = field(default_factory=dict)  # by attribute, where a column has a mark of its own

    def cell(self, text: str, name: str, kind: Kind | None) -> str:
        """A cell in this notation. With a decimal comma a semicolon parts the ends of an interval: [1,5;3)."""
        if kind is Kind.DATE and name in self.dates:
            return written_date(text, self.dates[name])
        if kind is Kind.NUMERIC:
            return other_mark(text, ".", self.decimals.get(name, self.decimal))
        return text


PLAIN = FileNotation()
