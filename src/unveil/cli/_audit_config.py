"""The configuration file of an audit: the same names as the options, which win."""

import tomllib
from pathlib import Path
from typing import Any

import typer

from unveil.errors import UsageError, shown

__all__ = ["merged"]

_PATHS = ("schema", "original", "report", "people", "presets", "control", "population", "prior", "checkpoint")
_LISTS = ("releases", "limit", "attacker", "assignment", "smooth")
_TEXTS = (
    *("json", "preset", "release_type", "recipient", "variant"),
    *("delimiter", "decimal", "encoding", "release_delimiter", "release_encoding"),
)
_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(_PATHS, (str,)),
    **dict.fromkeys(_TEXTS, (str,)),
    **dict.fromkeys(("sample", "chains", "sweeps", "most_sweeps", "seed", "workers", "least_count"), (int,)),
    **dict.fromkeys(("wrong", "alpha", "beta", "precision"), (int, float)),
    "joint": (bool,),
    "known": (list,),
    **dict.fromkeys(_LISTS, (list,)),
}
_WORDS = {str: "a text in quotes", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}


def merged(context: typer.Context, config: Path | None) -> dict[str, Any]:
    """Every option: from the command line if it was given there, else from the file, else its default.

    Paths in the file are relative to the file.
    """
    found = dict(context.params)
    for name in _LISTS:
        found[name] = list(found[name] or ())
    if config is None:
        return found
    for name, value in _read(config).items():
        source = context.get_parameter_source(name)
        if source is None or source.name == "DEFAULT":
            found[name] = value
    return found


def _read(config: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(config.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{config}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{config}: not TOML: {error}") from None
    found = {}
    for key, value in content.items():
        name = key.replace("-", "_")
        if name not in _KINDS:
            raise UsageError(f"{config}: {shown(key)} is no option; there are {', '.join(sorted(_KINDS))}")
        kinds = _KINDS[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise UsageError(f"{config}, {key}: this must be {_WORDS[kinds[-1]]}")
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            raise UsageError(f"{config}, {key}: this must be a list of texts in quotes")
        found[name] = _value(name, value, config.parent)
    return found


def _value(name: str, value: Any, folder: Path) -> Any:
    if name in _PATHS:
        return folder / value
    if name in ("releases", "assignment"):
        return [folder / item for item in value]
    if name == "json" and value != "-":
        return str(folder / value)
    if name == "known":
        return ",".join(value)
    return float(value) if _KINDS[name] == (int, float) else value
