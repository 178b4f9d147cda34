"""A command is a function of one dataclass: its fields become the options, from the command line or from --config."""

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import ArgumentInfo

from unveil.cli.memory import memory_size
from unveil.data.toml import read_toml
from unveil.errors import UsageError, shown
from unveil.formats.databases import located

__all__ = ["Command", "Group", "command", "group", "read_config"]

WIDTH = 100  # columns of a help page
MORE = "More options"
KINDS = {str: "text in quotes", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}
Run = TypeVar("Run", bound=Callable[..., None])


class Command(TyperCommand):
    """Its help is plain text in panels, the same in a terminal and in a file."""

    members: tuple[str, ...] = ()  # families of the catalog that the help lists

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
                if kind == "Arguments":
                    record = (record[0].partition(" <")[0], record[1])  # its type says nothing to a person
                panels.setdefault(getattr(parameter, "rich_help_panel", None) or kind, []).append(record)
        for name in sorted(panels, key=lambda name: name == MORE):
            with formatter.section(name):
                formatter.write_dl(panels[name])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        for family in self.members:
            write_members(family, formatter)
        super().format_epilog(ctx, formatter)


class Group(TyperGroup):
    """The same for commands of commands; an epilog keeps its lines."""

    order: tuple[str, ...] = ()  # in which commands are listed

    def list_commands(self, ctx: Any) -> list[str]:
        found = super().list_commands(ctx)
        return sorted(found, key=lambda name: self.order.index(name) if name in self.order else len(self.order))

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        own = " ".join(f"[{p.opts[-1]}]" for p in self.get_params(ctx))  # --help and --version need no panel
        formatter.write_usage(ctx.command_path, f"{own} COMMAND …")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if self.epilog:
            formatter.write_paragraph()
            formatter.write(inspect.cleandoc(self.epilog) + "\n")


def write_members(family: str, formatter: Any) -> None:
    """Every member of a family with its one line, those of other packages among them."""
    from unveil.catalog import describe

    with formatter.section(family.replace("_", " ").capitalize()):
        formatter.write_dl([(found["name"], found["summary"]) for found in describe(family)])


def group(name: str, help: str, *, order: str = "", epilog: str | None = None) -> typer.Typer:
    """An app, whose help is plain text."""
    return typer.Typer(
        name=name,
        help=help,
        epilog=epilog,
        cls=type("Group", (Group,), {"order": tuple(order.split())}),
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"max_content_width": WIDTH},
    )


def command(
    app: typer.Typer, name: str | None = None, *, first: str = "", members: tuple[str, ...] = ()
) -> Callable[[Run], Run]:
    """Make a command of a function whose one parameter is a dataclass of options.

    `first`: the options that its help shows first, in this order; the others stand below in a panel of their own. None
    given: all of them. `members`: families of the catalog that the help lists.
    """

    def register(run: Run) -> Run:
        kind = get_type_hints(run)["options"]
        shown_first = first.split()
        parameters = [_parameter(kind, f, shown_first) for f in fields(kind)]
        places = {n: place for place, n in enumerate(shown_first)}
        shared = {f.name for base in kind.__bases__ if is_dataclass(base) for f in fields(base)}  # below its own
        parameters.sort(key=lambda p: (not _is_argument(p), places.get(p.name, len(places)), p.name in shared))
        context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

        def face(*, context: typer.Context, **values: Any) -> None:
            if (config := values.get("config")) is not None:
                for key, value in read_config(config, kind).items():
                    source = context.get_parameter_source(key)
                    if source is None or source.name == "DEFAULT":
                        values[key] = value
            if "memory" in values:
                from unveil.engine import bound_memory

                bound_memory(None if values["memory"] is None else memory_size(values["memory"]))
            run(kind(**values))

        face.__name__, face.__doc__ = run.__name__, run.__doc__
        face.__annotations__ = {p.name: p.annotation for p in (context, *parameters)}
        face.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]  # as inspect has it
        made = type("Command", (Command,), {"members": members})
        app.command(name or run.__name__.rstrip("_"), cls=made)(face)
        return run

    return register


def _parameter(kind: type[Any], field: Any, first: list[str]) -> inspect.Parameter:
    info = copy(field.metadata["typer"])
    if first and not isinstance(info, ArgumentInfo) and field.name not in first:
        info.rich_help_panel = MORE
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=Annotated[get_type_hints(kind)[field.name], info],
    )


def _is_argument(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.annotation.__metadata__[0], ArgumentInfo)


def read_config(config: Path, kind: type[Any]) -> Mapping[str, Any]:
    """The options of a file, by the fields of a command's dataclass. Paths are relative to the file."""
    hints = get_type_hints(kind)
    allowed = {f.name.rstrip("_"): f for f in fields(kind) if f.name != "config"}  # with_: a word of Python's own
    found = {}
    for key, value in read_toml(config, UsageError).items():
        name = key.replace("-", "_")
        if name not in allowed:
            raise UsageError(f"{config}: unknown option {shown(key)}; choose from {', '.join(sorted(allowed))}")
        field = allowed[name]
        found[field.name] = _value(value, hints[field.name], field, config, key)
    return found


def _value(value: Any, base: Any, field: Any, config: Path, key: str) -> Any:
    inner = next((a for a in get_args(base) if a is not type(None)), base)
    several = get_origin(base) is list
    wanted = list if several else str if inner in (Any, Path) else inner
    fits = isinstance(value, (int, float) if wanted is float else wanted)
    if not fits or (isinstance(value, bool) and wanted is not bool):
        raise UsageError(f"{config}, {key}: this must be {KINDS[wanted]}")
    if isinstance(value, int) and abs(value) >= 2**63:
        raise UsageError(f"{config}, {key}: this number is too large")
    if several:
        if not all(isinstance(item, str) for item in value):
            raise UsageError(f"{config}, {key}: this must be a list of texts in quotes")
        if field.name == "known" and not any("," in item for item in value):  # one set of names, not several sets
            return [",".join(value)] if value else []
        return [config.parent / item for item in value] if inner is Path else value
    if field.metadata["typer"].parser is located:
        return located(value, config.parent)
    if inner is Path:
        return Path(value) if value == "-" else config.parent / value
    return float(value) if wanted is float else value
