"""What tomllib leaves out: whatever a file holds is read or refused, where a key stands, how TOML is written."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unveil.errors import SchemaError, UnveilError, shown

__all__ = ["line_of_key", "read_toml", "toml_array", "toml_content", "toml_key", "toml_string"]

# The first alternative that fits is the token; in valid TOML what is left over is of no interest.
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)"""
    r'''|(?P<long>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?'{3,5})'''
    r"""|(?P<part>"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)"""
    r"""|(?P<mark>[\[\]{}=\n])""",
    re.DOTALL,
)


def read_toml(path: Path, error: type[UnveilError]) -> dict[str, Any]:
    """What a TOML file holds."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise error(f"{path}: not TOML in UTF-8; save it as UTF-8") from None
    except (OSError, ValueError) as fault:  # ValueError: a null character in the name
        reason = fault.strerror if isinstance(fault, OSError) else fault
        raise error(f"{shown(path, 500)[1:-1]}: cannot be read ({reason})") from None
    return toml_content(text, str(path), error)


def toml_content(text: str, where: str, error: type[UnveilError]) -> dict[str, Any]:
    """What a TOML text holds: tomllib gives up on deep nesting and on long numbers by errors that are not its own."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise error(f"{where}: not TOML that can be read: brackets in brackets, too deep") from None
    except ValueError as fault:
        own = isinstance(fault, tomllib.TOMLDecodeError)
        raise error(f"{where}: not TOML: {fault if own else 'a whole number has thousands of digits'}") from None


def line_of_key(text: str, key: tuple[str, ...]) -> int:
    """The line of the longest part of `key` that the text names; 1 if none."""
    best, line = 0, 1
    for here, number in _keys(text):
        if len(here) > best and here == key[: len(here)]:
            best, line = len(here), number
    return line


def _keys(text: str) -> list[tuple[tuple[str, ...], int]]:
    """Every header and every key outside brackets, with its line."""
    found: list[tuple[tuple[str, ...], int]] = []
    table: tuple[str, ...] = ()
    parts: list[str] = []
    number, depth, in_value, in_header = 1, 0, False, False
    for token in _TOKEN.finditer(text):
        mark = token["mark"]
        if token["part"] is not None and not in_value:
            parts.append(_plain(token["part"]))
        elif mark == "\n" and depth == 0:
            parts, in_value, in_header = [], False, False
        elif mark == "=" and not in_value:
            found.append(((*table, *parts), number))
            in_value = True
        elif mark in ("[", "{") and in_value:
            depth += 1
        elif mark in ("]", "}") and in_value:
            depth = max(0, depth - 1)
        elif mark == "[":
            in_header = True
        elif mark == "]" and in_header:
            table, in_header = tuple(parts), False
            found.append((table, number))
        number += token[0].count("\n")
    return found


def _plain(part: str) -> str:
    """A key's name without its quotes and escapes."""
    if part[0] not in "\"'":
        return part
    try:
        return str(tomllib.loads(f"k = {part}")["k"])
    except tomllib.TOMLDecodeError:
        return part[1:-1]


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def toml_string(text: str) -> str:
    """A TOML string on one line, whatever the text holds."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise SchemaError(f"{shown(text)} holds half a character and cannot be written; mend the file's encoding")
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    plain = (c if c.isprintable() and c not in '"\\' else _ESCAPES.get(c, f"\\U{ord(c):08x}") for c in text)
    return f'"{"".join(plain)}"'


def toml_key(name: str) -> str:
    """A key, quoted where it must be."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_string(name)


def toml_array(items: Sequence[str], width: int = 100) -> str:
    """An array of values already written, on several lines where it is long."""
    if sum(map(len, items)) + 2 * len(items) <= width:
        return f"[{', '.join(items)}]"
    lines: list[list[str]] = [[]]
    filled = 0
    for item in items:
        if lines[-1] and filled + len(item) > width:
            lines.append([])
            filled = 0
        lines[-1].append(item)
        filled += len(item) + 2
    return "[\n" + "".join(f"  {', '.join(line)},\n" for line in lines) + "]"
