"""What stands beside the table in a published file: other sheets, remarks, metadata, headings that name people."""

import re

from unveil.data.attribute import Role
from unveil.risk.published_file.file import Leak, PublishedFile, plural

__all__ = ["beside_the_table"]

_SHORTEST = 5  # signs of an identifier: shorter ones stand in any text
_CUTS = (
    re.compile(r"[\W_]+"),
    re.compile(r"(?<=\d)(?=[^\W\d])|(?<=[^\W\d])(?=\d)|[\W_]+"),
    re.compile(r"[\s,;|<>\"'=()]+"),
)
_SEED = re.compile(r"\bseed\b\W{0,4}\w*\d", re.IGNORECASE)
_CELLS = re.compile(r"[\n\t,;|<>\"]+")


def beside_the_table(file: PublishedFile) -> list[Leak]:
    """Identifiers of the original in headings, sidecar, other sheets or metadata; and data beside the table."""
    identifiers = _identifiers(file)
    found = []
    headings = ("a heading", "\n".join(n for n in file.columns if file.role(n) is not Role.IDENTIFIER), False)
    for where, text, data in (headings, *file.around):
        named = len(identifiers & _tokens(text)) if identifiers else 0
        if named:
            found.append(
                Leak(
                    "beside_the_table",
                    "linking",
                    "exceeded",
                    f"Identifiers of the original stand in {where}: {file.persons(named)} can be looked up in it.",
                    f"take them out of {where}, or write the table into a file of its own",
                    (),
                    named,
                    1.0,
                )
            )
        elif "sidecar" in where and _SEED.search(text):
            found.append(
                Leak(
                    "beside_the_table",
                    "file",
                    "exceeded",
                    f"A seed stands in {where}: whoever draws with it again takes off what was added to "
                    f"{file.persons(file.rows)}.",
                    "keep the seed secret, and make the release once more with another",
                    (),
                    file.rows,
                    1.0,
                )
            )
        elif data:
            cells = len(text.split("\n"))
            found.append(
                Leak(
                    "beside_the_table",
                    "file",
                    "suspicious",
                    f"The file holds more than its table: {where}, {plural(cells, 'cell')}. Whoever gets the file gets "
                    f"that too, and nobody has judged it.",
                    "write the table into a file of its own",
                    (),
                    file.rows,
                )
            )
    return found


def _identifiers(file: PublishedFile) -> set[str]:
    """What names people in the original, and is not published in a column anyway: that is another finding."""
    held = {
        text.strip().casefold()
        for name, column in (file.original or {}).items()
        if file.role(name) is Role.IDENTIFIER or name == file.key
        for text in column.texts
    }
    held = {text for text in held if len(text) >= _SHORTEST}
    if not held:
        return held
    return held - {text.strip().casefold() for column in file.columns.values() for text in column.texts}


def _tokens(text: str) -> set[str]:
    text = text.casefold()
    words = {part for cut in _CUTS for part in cut.split(text)}
    return words | {cell.strip() for cell in _CELLS.split(text)}
