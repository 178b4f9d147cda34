"""Documents on a terminal: the answer in one screen, or every section; no colour where there is none."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from unveil.audit.document import Document
from unveil.report.blocks import Banner, Block, Cell, Chart, Details, Grid, Heading, Listing, Paragraph
from unveil.report.reading import names_of, read_document
from unveil.report.sections import blocks_of
from unveil.report.sections.summary import Summary, summary_of
from unveil.report.wording import VERDICTS, clean

__all__ = ["print_blocks", "print_document"]

SCREEN, LEAST_ROOM = 33, 9  # lines of an answer, and of each table in it; first look and files stand above
MOST_CHART_ROWS = 12
GAP = 3  # between columns
STYLES = {"within": "green", "exceeded": "bold red", "inconclusive": "yellow", "no limit": "bold"}
STYLES |= {"not judged": "yellow", "not considered": "dim", "waived": "dim"}


def print_document(
    document: Document | dict[str, Any], console: Console, *, verbose: bool = False, report: Path | None = None
) -> None:
    """A document of any kind: the answer in one screen; with `verbose` every section, as the page has them.

    `report`: where the page was written.
    """
    read = read_document(document)
    names = names_of(read)
    if verbose:
        print_blocks(blocks_of(read, names), console)
        if report is not None:
            _print(_line(f"Report: {report}"), console)
        return
    for part in _screen(summary_of(read, names), console, report):
        _print(part, console)


def print_blocks(blocks: Iterable[Block], console: Console) -> None:
    """All of them, in their order."""
    for block in blocks:
        for part in _drawn(block, console):
            _print(part, console)


def _print(part: RenderableType, console: Console) -> None:
    console.print(part, highlight=False)


def _line(text: object, style: str = "", most: int = 1200) -> Text:
    """One text, whoever wrote it: no markup is read in it."""
    return Text(clean(text, most), style=style)


def _named(name: str, text: str, *, mark: str = "") -> Text:
    return _line(f"{mark}{name}: {text}" if name else f"{mark}{text}")


def _verdict(name: str, verdict: str) -> Text:
    words = VERDICTS[verdict]
    words = words.upper() if verdict in ("exceeded", "inconclusive") else words
    words = f"{name}: {words if words.isupper() else words[0].lower() + words[1:]}" if name else words
    return _line(words, STYLES[verdict])


def _drawn(block: Block, console: Console) -> list[RenderableType]:
    """What a block looks like."""
    match block:
        case Heading(text, level, small):
            said = f"{text} ({small})" if small and level > 1 else text
            return [Text(), _line(said.upper() if level == 1 else said, "bold" if level < 3 else "italic")]
        case Banner(verdict, text, words):
            head = _verdict("", verdict) if text == VERDICTS[verdict] else _line(text, STYLES[verdict])
            return [head, *([_line(words)] if words else [])]
        case Paragraph(text, kind):
            return [_line(text, "yellow" if kind == "warning" else "dim" if kind == "quiet" else "")]
        case Listing(items, "verdicts"):
            return [_verdict(name, verdict) for name, verdict in items]
        case Listing(items, kind):
            return [
                _named(name, text, mark="! " if kind == "warning" else "- " if kind == "list" else "")
                for name, text in items
            ]
        case Chart(title, caption, _, head, rows):
            cells = tuple(tuple(Cell(t, kind="num" if i else "") for i, t in enumerate(row)) for row in rows)
            more = f"… and {len(rows) - MOST_CHART_ROWS:,} more rows in the report"
            heads = tuple(Cell(text, kind="num" if i else "") for i, text in enumerate(head))
            return [
                _line(title, "italic"),
                *([_line(caption, "dim")] if caption else []),
                _table(Grid("", heads, cells[:MOST_CHART_ROWS]), console),
                *([_line(more, "dim")] if len(rows) > MOST_CHART_ROWS else []),
            ]
        case Details(summary):
            return [_line(f"{summary}: in the report and the JSON document.", "dim")]
        case Grid():
            return [_table(block, console)]


def _table(grid: Grid, console: Console) -> RenderableType:
    """As a table if every word has room; else one line a cell, for what is cut is said nowhere."""
    columns = [[head, *(row[i] for row in grid.rows if len(row) > max(i, 1))] for i, head in enumerate(grid.head)]
    texts = [[_cell(cell).plain for cell in column] for column in columns]
    least = [max(1, *(_longest_word(cell) for cell in column)) for column in columns]
    wanted = [max(1, *map(len, column)) for column in texts]
    room = console.width - GAP * (len(least) - 1)
    if sum(least) > room:
        return Group(*(part for row in grid.rows for part in _stacked(grid.head, row)))
    spare = min(1.0, (room - sum(least)) / max(1, sum(wanted) - sum(least)))  # Rich would cut where a word needs more
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for cell, low, high in zip(grid.head, least, wanted, strict=True):
        side: Any = "right" if "num" in cell.kind else "left"
        table.add_column(_cell(cell), justify=side, overflow="fold", width=low + int(spare * (high - low)))
    for row in grid.rows:
        if len(row) == 1:
            table.add_section()
        table.add_row(*map(_cell, row), style="bold" if len(row) == 1 else "")
    return table


def _longest_word(cell: Cell) -> int:
    text = _cell(cell).plain
    return len(text) if "verdict" in cell.kind else max(map(len, text.split()), default=0)


def _stacked(head: Sequence[Cell], row: Sequence[Cell]) -> list[RenderableType]:
    """One row of a table that is too wide."""
    lines: list[RenderableType] = [_cell(row[0], style="bold")] if row[0].span else []
    for name, cell in zip(head[1:], row[1:], strict=False):
        if cell.text and cell.span:
            lines.append(
                Padding(Text.assemble(f"{clean(name.text)}: " if name.text else "", _cell(cell)), (0, 0, 0, 2))
            )
    return lines


def _cell(cell: Cell, style: str = "") -> Text:
    if not cell.span or (cell.kind == "measure" and not style):
        return _line(cell.text if cell.span else "", style)
    verdict = next((key for key in STYLES if key.replace(" ", "-") in cell.kind.split()), None)
    small = cell.small if cell.small.startswith("(") else f"({cell.small})"
    text = f"{cell.text} {small}" if cell.small else cell.text
    return _line(text, style or (STYLES[verdict] if verdict and "verdict" in cell.kind else ""))


def _screen(found: Summary, console: Console, report: Path | None) -> list[RenderableType]:
    """The parts of the answer in their order, tables shortened until all of it fits."""
    top: list[RenderableType] = [part for block in found.top for part in _drawn(block, console)]
    end: list[RenderableType] = [Text()]
    if found.not_tested or found.more_not_tested:
        end.append(_not_tested(found.not_tested, found.more_not_tested, console.width))
    where = (
        f"Report: {report}" if report is not None else "Everything: --verbose, --report FILE (with charts), --json FILE"
    )
    end.append(_line(where, "dim"))
    left = SCREEN - _height(top, console) - _height(end, console)
    needs = [min(_height(_shortened(grid, console, SCREEN), console), LEAST_ROOM) for grid in found.grids]
    spare = [part for block in found.spare for part in _drawn(block, console)]
    if _height(spare, console) <= left - sum(needs):
        top, left = [*top, *spare], left - _height(spare, console)
    for number, grid in enumerate(found.grids):
        parts = _shortened(grid, console, max(left - sum(needs[number + 1 :]), needs[number]))
        left -= _height(parts, console)
        top += parts
    return [*top, *end]


def _shortened(grid: Grid, console: Console, room: int) -> list[RenderableType]:
    """A table with its title and as many rows as there is room for; how many are left out is said."""
    for rows in range(len(grid.rows), 0, -1):
        shown = Grid(grid.title, grid.head, grid.rows[:rows], grid.fixed, grid.kind)
        parts = [Text(), *([_line(grid.title, "bold")] if grid.title else []), _table(shown, console)]
        if rows < len(grid.rows):
            parts.append(_line(f"… and {len(grid.rows) - rows:,} more", "dim"))
        if rows == 1 or _height(parts, console) <= room:
            return parts
    return []


def _height(parts: Sequence[RenderableType], console: Console) -> int:
    return sum(len(console.render_lines(part, pad=False)) for part in parts)


def _not_tested(subjects: Sequence[str], others: int, width: int) -> Text:
    """As many as one line holds, and how many more there are."""
    for shown in range(len(subjects), -1, -1):
        rest = len(subjects) - shown + others
        more = f" and {rest} more" if shown and rest else f"{rest} points" if rest else ""
        text = f"Not tested: {', '.join(subjects[:shown])}{more}{' (see the report)' if rest else ''}."
        if len(text) <= width or not shown:
            return _line(text)
    return Text()
