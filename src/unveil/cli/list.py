"""unveil list: what there is to choose from, a line each."""

from collections.abc import Callable
from dataclasses import dataclass

import unveil.cli.options as opt
from unveil.cli.output import console
from unveil.errors import UsageError, shown

__all__ = ["LISTS", "ListOptions", "list_"]


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """What is listed."""

    family: str | None = opt.argument("anonymizers, models, attackers, measures, presets or formats.", "FAMILY")


def list_(options: ListOptions) -> None:
    """List anonymizers, models, attackers, measures and more."""
    if options.family not in LISTS:
        said = "say what to list" if options.family is None else f"there is no list of {shown(options.family)}"
        raise UsageError(f"{said}: unveil list {' | '.join(LISTS)}")
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid.grid(padding=(0, 2))
    for name, line in LISTS[options.family]():
        grid.add_row(escape(name), escape(line))
    console().print(grid)


def _members(family: str) -> list[tuple[str, str]]:
    from unveil.catalog import describe

    def options(found: list[dict[str, object]]) -> str:
        words = [f"{o['name']}={'…' if o['required'] else o['default']}" for o in found if o["name"] != "require"]
        return f" ({', '.join(words)})" if words else ""

    return [(found["name"], found["summary"] + options(found["options"])) for found in describe(family)]


def _measures() -> list[tuple[str, str]]:
    from unveil.audit.measures import measures

    return [(name, f"{found.title}. {found.words}") for name, found in measures().items()]


def _presets() -> list[tuple[str, str]]:
    from unveil.audit import read_presets
    from unveil.audit.verdict import preset_covers

    return [
        (preset_covers(p.name, p.limits), f"{p.words} [{'; '.join(p.limits)}] {p.source}")
        for p in read_presets().values()
    ]


def _formats() -> list[tuple[str, str]]:
    from unveil.formats.output.tables import ENDINGS
    from unveil.formats.tables import READERS

    found = {".csv": "read and written; any other ending without a reader of its own is read as text, too"}
    for ending in sorted({*READERS, *ENDINGS} - {".csv"}):
        found[ending] = " and ".join(
            word for word, there in (("read", ending in READERS), ("written", ending in ENDINGS)) if there
        )
    found[".deid"] = "an ARX project: read"
    found["sqlite:///FILE#TABLE, postgresql://…#TABLE"] = "a table of a database: read"
    return list(found.items())


LISTS: dict[str, Callable[[], list[tuple[str, str]]]] = {
    "anonymizers": lambda: _members("anonymizers"),
    "models": lambda: _members("privacy_models"),
    "attackers": lambda: _members("attackers"),
    "measures": _measures,
    "presets": _presets,
    "formats": _formats,
}
