"""TOML: whatever a file holds is read or refused in one line, and any text is written on one line."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w

from unveil.errors import SchemaError, UnveilError, shown

__all__ = ["read_text", "read_toml", "toml_array", "toml_bytes", "toml_content", "toml_key", "toml_string"]


DIGITS = "a whole number has thousands of digits"
MOST_BYTES = 2**26  # of a file: a device has no end
MOST_DEPTH = 64  # of a dotted key, each part of which is a table in a table
MOST_TABLES = 100_000  # several a column, of as many columns as a table may have
_WORD = r"""(?>[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DEEP = re.compile(rf"(?<![\w.-]){_WORD}(?:[ \t]*\.[ \t]*{_WORD}){{{MOST_DEPTH}}}", re.ASCII)
_LONG = re.compile(r"[=\[,]\s*0[xob][0-9a-fA-F_]{3000}", re.ASCII)  # read, but never written again


def toml_bytes(path: Path, error: type[UnveilError]) -> bytes:
    """The bytes of a file that is no larger than such files are."""
    with path.open("rb") as file:
        raw = file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise error(f"{path}: over {MOST_BYTES >> 20} MB; too large for TOML")
    return raw


def read_toml(path: Path, error: type[UnveilError]) -> dict[str, Any]:
    """What a TOML file holds."""
    return toml_content(read_text(path, error), str(path), error)


def read_text(path: Path, error: type[UnveilError]) -> str:
    """The text of a TOML file."""
    try:
        return toml_bytes(path, error).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise error(f"{path}: not TOML in UTF-8; save it as UTF-8") from None
    except (OSError, ValueError) as fault:  # ValueError: a null character in the name
        reason = fault.strerror if isinstance(fault, OSError) else fault
        raise error(f"{shown(path, 500)[1:-1]}: cannot be read ({reason})") from None


def toml_content(text: str, where: str, error: type[UnveilError]) -> dict[str, Any]:
    """What a TOML text holds: tomllib gives up on deep nesting and on long numbers by errors that are not its own."""
    if _DEEP.search(text):
        raise error(f"{where}: not TOML that can be read: a key of over {MOST_DEPTH} parts, table in table")
    if text.startswith("[") + text.count("\n[") > MOST_TABLES:
        raise error(f"{where}: over {MOST_TABLES:,} tables; that is not a file of this program")
    if _LONG.search(text):
        raise error(f"{where}: not TOML: {DIGITS}")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise error(f"{where}: not TOML that can be read: brackets in brackets, too deep") from None
    except ValueError as fault:
        own = isinstance(fault, tomllib.TOMLDecodeError)
        raise error(f"{where}: not TOML: {fault if own else DIGITS}") from None


def toml_string(text: str) -> str:
    """A TOML string on one line, whatever the text holds."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise SchemaError(
            f"{shown(text)} holds half a character and cannot be written; correct the encoding of its file"
        )
    written = tomli_w.dumps({"k": text}).removeprefix("k = ").rstrip("\n")
    # tomli_w leaves what no terminal shows as it is.
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in written)


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
