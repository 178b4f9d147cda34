"""schema.toml changed by a program: keys are added where a human would write them, and every other line stays."""

import tomllib
from collections.abc import Mapping

from unveil.data.toml import toml_string
from unveil.errors import SchemaError

__all__ = ["with_hierarchies"]


def with_hierarchies(text: str, files: Mapping[str, str], where: str) -> str:
    """The schema with `hierarchy = FILE` below the head of each attribute's table."""
    lines, named = [], set()
    for line in text.splitlines(keepends=True):
        lines.append(line)
        name = _head(line)
        if name is not None and name in files and name not in named:
            named.add(name)
            end = line[len(line.rstrip("\r\n")) :] or "\n"
            lines[-1] = line.rstrip("\r\n") + end
            lines.append(f"hierarchy = {toml_string(files[name])}{end}")
    changed = "".join(lines)
    wanted = tomllib.loads(text)
    for name, file in files.items():
        wanted["attributes"][name]["hierarchy"] = file
    try:
        as_wanted = tomllib.loads(changed) == wanted
    except tomllib.TOMLDecodeError:
        as_wanted = False
    if not as_wanted:  # attributes as inline tables, heads within long strings …
        first = next(iter(files))
        raise SchemaError(
            f"{where}: its attributes do not stand in tables [attributes.NAME] of their own; write hierarchy = "
            f"{toml_string(files[first])} for {first} by hand, and so on"
        )
    return changed


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
