"""Configuration files: the same names as a command's options, which win."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from unveil.data.toml import read_toml
from unveil.errors import UsageError, shown
from unveil.formats.databases import located

__all__ = ["AUDIT", "FRONTIER", "Names", "merged"]

_WORDS = {str: "a text in quotes", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}
_DIALECT = ("delimiter", "decimal", "encoding")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The options that a file may hold, by what they are. Paths are relative to the file."""

    paths: tuple[str, ...]
    lists: tuple[str, ...]
    path_lists: tuple[str, ...] = ()
    texts: tuple[str, ...]
    whole: tuple[str, ...]
    numbers: tuple[str, ...]
    flags: tuple[str, ...] = ()
    joined: tuple[str, ...] = ("known",)  # lists that the command line writes with commas

    @property
    def kinds(self) -> dict[str, tuple[type, ...]]:
        """The types a value may have."""
        return {
            **dict.fromkeys((*self.paths, *self.texts, "json"), (str,)),
            **dict.fromkeys(self.whole, (int,)),
            **dict.fromkeys(self.numbers, (int, float)),
            **dict.fromkeys(self.flags, (bool,)),
            **dict.fromkeys((*self.lists, *self.path_lists, *self.joined), (list,)),
        }


AUDIT = Names(
    paths=("schema", "original", "report", "people", "presets", "control", "population", "prior", "checkpoint"),
    lists=("limit", "attacker", "smooth", "cells", "waive"),
    path_lists=("releases", "assignment"),
    texts=(
        *("preset", "background", "release_type", "recipient", "variant", "key", *_DIALECT),
        *("release_delimiter", "release_encoding", "release_decimal"),
    ),
    whole=("sample", "chains", "sweeps", "most_sweeps", "seed", "workers", "least_count"),
    numbers=("wrong", "alpha", "beta", "precision", "membership_prior"),
    flags=("joint",),
    joined=("asked", "known"),
)
FRONTIER = Names(
    paths=("data", "schema", "report", "output", "checkpoint"),
    lists=("with", "require", "risk", "utility", "limit", "attacker"),
    texts=("distance", *_DIALECT),
    whole=(
        *("budget", "dimension", "queries", "sample", "chains", "sweeps", "most_sweeps"),
        *("seed", "release_seed", "workers"),
    ),
    numbers=("minutes", "minimum_support", "selectivity", "precision"),
)


def merged(context: typer.Context, config: Path | None, names: Names = AUDIT) -> dict[str, Any]:
    """Every option: from the command line if it was given there, else from the file, else its default."""
    found = dict(context.params)
    for name in (*names.lists, *names.path_lists, *(("known",) if names is AUDIT else ())):
        found[_parameter(name)] = list(found[_parameter(name)] or ())
    if config is None:
        return found
    for name, value in _read(config, names).items():
        source = context.get_parameter_source(_parameter(name))
        if source is None or source.name == "DEFAULT":
            found[_parameter(name)] = value
    return found


def _parameter(name: str) -> str:
    return "with_" if name == "with" else name  # a word of Python's own


def _read(config: Path, names: Names) -> dict[str, Any]:
    content = read_toml(config, UsageError)
    found = {}
    allowed = names.kinds
    for key, value in content.items():
        name = key.replace("-", "_")
        if name not in allowed:
            raise UsageError(f"{config}: {shown(key)} is no option; there are {', '.join(sorted(allowed))}")
        kinds = allowed[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise UsageError(f"{config}, {key}: this must be {_WORDS[kinds[-1]]}")
        if isinstance(value, int) and abs(value) >= 2**63:
            raise UsageError(f"{config}, {key}: this number is too large")
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            raise UsageError(f"{config}, {key}: this must be a list of texts in quotes")
        found[name] = _value(name, value, config.parent, names)
    return found


def _value(name: str, value: Any, folder: Path, names: Names) -> Any:
    if name in ("original", "control", "population", "data"):
        return located(value, folder)
    if name in names.paths:
        return folder / value
    if name in names.path_lists:
        return [folder / item for item in value]
    if name == "json" and value != "-":
        return str(folder / value)
    if name == "known" and names is AUDIT:  # names, or combinations of them joined by commas
        return value if any("," in item for item in value) else [",".join(value)]
    if name in names.joined:
        return ",".join(value)
    return float(value) if name in names.numbers else value
