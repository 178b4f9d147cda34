"""Where in a TOML text a key stands: tomllib forgets, an error message must not."""

import re
import tomllib

__all__ = ["line_of_key"]

# The first alternative that fits is the token; in valid TOML what is left over is of no interest.
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)"""
    r'''|(?P<long>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?'{3,5})'''
    r"""|(?P<part>"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)"""
    r"""|(?P<mark>[\[\]{}=\n])""",
    re.DOTALL,
)


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
