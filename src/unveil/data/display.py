"""How objects show themselves in a terminal and in a notebook: a title and a small table of counts, never of people."""

from abc import abstractmethod
from collections.abc import Sequence
from html import escape

from unveil.errors import shown

__all__ = ["Display", "Summary"]

MOST_LINES = 10

Summary = tuple[str, Sequence[str], Sequence[Sequence[object]]]  # a title, the header, the lines


class Display:
    """Base of what shows itself; a dataclass among its subclasses is made with `repr=False`."""

    __slots__ = ()

    @abstractmethod
    def summary(self) -> Summary:
        """A title, a header and lines, of which the first ten are shown."""

    def __repr__(self) -> str:
        title, lines = self._lines()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
        return "\n".join([title, *(f"  {line}".rstrip() for line in padded)])

    def _repr_html_(self) -> str:
        title, (header, *lines) = self._lines()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
        return f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _lines(self) -> tuple[str, list[list[str]]]:
        title, header, lines = self.summary()
        texts = [[_text(cell) for cell in line] for line in lines[:MOST_LINES]]
        if len(lines) > MOST_LINES:
            texts[-1] = [f"… and {len(lines) - MOST_LINES + 1:,} more", *[""] * (len(header) - 1)]
        return title, [list(header), *texts]


def _text(cell: object) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:,}" if isinstance(cell, int) else shown(cell, 40)[1:-1]
