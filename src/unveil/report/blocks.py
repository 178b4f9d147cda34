"""What a report is made of: sections build these blocks from a document, the page and the terminal draw them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Banner", "Block", "Cell", "Chart", "Details", "Grid", "Heading", "Listing", "Paragraph", "merged", "num"]


@dataclass(frozen=True, slots=True)
class Heading:
    """Opens a part (level 1), a section (2) or something within one (3); `id`: its address on the page."""

    text: str
    level: int = 2
    small: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A piece of text; quiet: how to read what follows; warning: what the reader must not miss."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of pairs of a name, which may be empty, and a text.

    list: bullets; plain: sentences; facts: a name beside each; verdicts: texts are keys of `VERDICTS`; warning.
    """

    items: tuple[tuple[str, str], ...]
    kind: str = "list"


@dataclass(frozen=True, slots=True)
class Banner:
    """The verdict, or what is recommended."""

    verdict: str
    text: str
    words: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table: its text, small print under it, and how it is set (num, code, quiet, a verdict).

    `meaning`: what a click on it explains, on a page.
    """

    text: str
    small: str = ""
    kind: str = ""
    span: int = 1  # rows it reaches over; 0: the cell above reaches over this one
    meaning: str = ""


def num(text: str, small: str = "") -> Cell:
    """A number, or the heading of a column of them."""
    return Cell(text, small, "num")


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; the first `fixed` cells of a row are its heading. A row of one cell heads those below it."""

    title: str
    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    fixed: int = 1
    kind: str = ""  # tight: small print beside the value


@dataclass(frozen=True, slots=True)
class Chart:
    """One figure: what it is called, how to read it, its Vega-Lite spec, and its numbers for readers without one."""

    title: str
    caption: str
    spec: dict[str, Any]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Details:
    """Tables that are shown on demand: folded on the page, on a terminal only named."""

    summary: str
    grids: tuple[Grid, ...]


Block = Heading | Paragraph | Listing | Banner | Grid | Chart | Details


def merged(rows: Iterable[tuple[Cell, ...]], columns: Iterable[int]) -> tuple[tuple[Cell, ...], ...]:
    """Equal cells under each other become one, in columns where the first such column is equal too."""
    made = [list(row) for row in rows]
    columns = list(columns)
    start = 0
    for i in range(1, len(made) + 1):
        if i < len(made) and made[i][columns[0]] == made[start][columns[0]]:
            continue
        for c in columns:
            if all(made[j][c] == made[start][c] for j in range(start, i)):
                made[start][c] = replace(made[start][c], span=i - start)
                for j in range(start + 1, i):
                    made[j][c] = replace(made[j][c], span=0)
        start = i
    return tuple(map(tuple, made))
