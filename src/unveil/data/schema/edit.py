"""schema.toml changed by a program: keys are added where a human would write them, and every other line stays."""

import tomllib
from collections.abc import Mapping
from typing import Any

from unveil.data.toml import toml_string
from unveil.errors import SchemaError

__all__ = ["with_hierarchies", "with_keys"]

_TOP = ("version", "confirmed")  # what is added to the top stands below these


def with_hierarchies(text: str, files: Mapping[str, str], where: str) -> str:
    """The schema with `hierarchy = FILE` below the head of each attribute's table."""
    return with_keys(text, {name: {"hierarchy": file} for name, file in files.items()}, where)


def with_keys(
    text: str, attributes: Mapping[str, Mapping[str, Any]], where: str, top: Mapping[str, Any] | None = None
) -> str:
    """The schema with these keys of attributes, and of the top: each on its own line, where it was or below the head.

    A value is a text, a flag or a list of texts; None takes the key out. Keys that stand on several lines, or in inline
    tables, are left to a human.
    """
    wanted = tomllib.loads(text)
    tables = [(wanted, top or {}), *((wanted["attributes"][name], keys) for name, keys in attributes.items())]
    for table, keys in tables:
        for key, value in keys.items():
            table.pop(key, None)
            if value is not None:
                table[key] = value
    changed = _changed(text, attributes, top or {})
    try:
        as_wanted = tomllib.loads(changed) == wanted
    except tomllib.TOMLDecodeError:
        as_wanted = False
    if not as_wanted:  # attributes as inline tables, heads within long strings …
        first, keys = next(((n, k) for n, k in attributes.items() if k), ("", top or {}))
        key, value = next(iter(keys.items()))
        by_hand = f"remove {key}" if value is None else f"write {key} = {_value(value)}"
        of = f" for {first}" if first else ""
        raise SchemaError(
            f"{where}: its attributes do not stand in tables [attributes.NAME] of their own; {by_hand}{of} by hand, "
            "and so on"
        )
    return changed


def _changed(text: str, attributes: Mapping[str, Mapping[str, Any]], top: Mapping[str, Any]) -> str:
    lines: list[str] = []
    open_keys, below, done = dict(top), 0, set()  # keys of the table we are in, and where new ones go
    end = "\r\n" if "\r\n" in text else "\n"

    def close() -> None:
        added = [f"{key} = {_value(value)}{end}" for key, value in open_keys.items() if value is not None]
        if added and below and not lines[below - 1].endswith(("\r", "\n")):
            lines[below - 1] += end
        lines[below:below] = added

    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            close()
            name = _head(line)
            open_keys = {} if name is None or name in done else dict(attributes.get(name, {}))
            done |= {name}
            lines.append(line)
            below = len(lines)
            continue
        key = line.partition("=")[0].strip()
        if key in open_keys:
            value = open_keys.pop(key)
            if value is not None:
                lines.append(f"{key} = {_value(value)}{end}")
            continue
        lines.append(line)
        below = len(lines) if key in _TOP else below
    close()
    return "".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(toml_string, value))}]" if isinstance(value, list) else toml_string(value)


def _head(line: str) -> str | None:
    """The attribute whose table a line opens."""
    if not line.lstrip().startswith("["):
        return None
    try:
        found = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    tables = found.get("attributes")
    if not isinstance(tables, dict) or len(tables) != 1:
        return None
    ((name, held),) = tables.items()
    return str(name) if held == {} else None
