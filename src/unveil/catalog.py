"""The catalog: the folder is the registry. One file a member, the file's name is its name on the command line."""

import importlib
import math
import pkgutil
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from unveil.data.toml import read_toml
from unveil.errors import UsageError, shown
from unveil.privacy.models import MODELS, PrivacyModel

__all__ = ["FAMILIES", "anonymizer", "describe", "make", "member", "members", "parse", "privacy_model"]

FAMILIES = ("anonymizers", "attackers", "knowledge", "privacy_models")
_FOLDERS = {
    "anonymizers": "unveil.anonymizers",
    "attackers": "unveil.attackers",
    "knowledge": "unveil.privacy.knowledge",
}
SHORTHAND = {"k": "k_anonymity", "l": "distinct_l"}  # in an anonymizer that takes requirements
LARGEST = 2**63 - 1


def members(family: str) -> tuple[str, ...]:
    """The names of a family: its files, then what other packages add by entry points."""
    own = _own(family)
    foreign = sorted({e.name for e in entry_points(group=f"unveil.{family}")})
    return (*own, *(name for name in foreign if name not in own))


def _own(family: str) -> list[str]:
    if family == "privacy_models":
        return list(MODELS)
    folder = importlib.import_module(_FOLDERS[family])
    return sorted(m.name for m in pkgutil.iter_modules(folder.__path__) if not (m.ispkg or m.name.startswith("_")))


def member(family: str, name: str) -> type[Any]:
    """The class of one member."""
    if name in _own(family):  # before other packages are looked through, which takes its time
        if family == "privacy_models":
            return MODELS[name]
        module = importlib.import_module(f"{_FOLDERS[family]}.{name}")
        return typing.cast(type[Any], getattr(module, module.__all__[0]))
    if name not in members(family):
        what = {"knowledge": "knowledge"}.get(family, family.removesuffix("s").replace("_", " "))
        raise UsageError(f"unknown {what} {shown(name)}; choose from {', '.join(members(family))}")
    point = next(e for e in entry_points(group=f"unveil.{family}") if e.name == name)
    try:
        return typing.cast(type[Any], point.load())
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{name}: {point.value} of another package cannot be loaded ({error})") from None


def describe(family: str) -> list[dict[str, Any]]:
    """Every member of a family as plain data: name, summary (the first line of its docstring) and options.

    An option has a name, whether it is required, its default and, where they are listed, its choices. A member of
    another package that cannot be loaded says so in its summary.
    """
    found: list[dict[str, Any]] = []
    for name in members(family):
        try:
            cls = member(family, name)
        except UsageError as error:
            found.append({"name": name, "summary": str(error), "options": []})
            continue
        kinds = typing.get_type_hints(cls)
        options = [_described(field, kinds[field.name]) for field in fields(cls)]
        options.sort(key=lambda option: not option["required"])
        found.append({"name": name, "summary": (cls.__doc__ or "").strip().partition("\n")[0], "options": options})
    return found


def _described(field: "Field[Any]", kind: Any) -> dict[str, Any]:
    factory = field.default_factory
    default = field.default if factory is MISSING else factory()
    required = default is MISSING
    inner = [kind, *typing.get_args(kind)]
    choices = next((list(typing.get_args(k)) for k in inner if typing.get_origin(k) is typing.Literal), [])
    plain = default is None or isinstance(default, bool | int | float | str | tuple)
    return {
        "name": field.name,
        "required": required,
        "default": None if required else default if plain else str(default),
        "choices": choices,
    }


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """NAME[:key=value[,key=value]] or NAME:@file.toml, as a name and its options."""
    name, colon, rest = text.partition(":")
    if not name or (colon and not rest):
        raise UsageError(f"{shown(text)} is not valid here; write NAME or NAME:key=value,key=value")
    if rest.startswith("@"):
        return name, read_toml(Path(rest[1:]), UsageError)
    options: dict[str, Any] = {}
    for item in rest.split(",") if rest else []:
        key, equals, value = item.partition("=")
        if not equals or not key or not value:
            raise UsageError(f"{shown(item)} in {shown(text)} is not an option; write key=value")
        if key in options:
            raise UsageError(f"{shown(text)} gives {shown(key)} twice; keep one")
        options[key] = value
    return name, options


def make(cls: type[Any], options: Mapping[str, Any], name: str) -> Any:
    """A member with these options, each converted to its field's type."""
    types_of = typing.get_type_hints(cls)
    known = {f.name: f for f in fields(cls)}
    for key in options:
        if key not in known:
            raise UsageError(f"{name} has no option {shown(key)}; choose from {', '.join(known) or 'none'}")
    for key, field in known.items():
        if key not in options and field.default is MISSING and field.default_factory is MISSING:
            raise UsageError(f"{name} needs {key}; write {name}:{key}=…")
    values = {key: _convert(value, types_of[key], f"{name}, {key}") for key, value in options.items()}
    return cls(**values)


def privacy_model(text: str) -> PrivacyModel:
    """MODEL:options, for instance t_closeness:t=0.2,distance=ordered."""
    name, options = parse(text)
    return typing.cast(PrivacyModel, make(member("privacy_models", name), options, name))


def anonymizer(text: str, require: Sequence[str] = ()) -> Any:
    """An anonymizer from its option text; k= and l= are short for k_anonymity and distinct_l."""
    name, options = parse(text)
    cls = member("anonymizers", name)
    own = {f.name for f in fields(cls)}
    short = {key: model for key, model in SHORTHAND.items() if key in options and key not in own}
    models = [make(MODELS[model], {key: options.pop(key)}, model) for key, model in short.items()]
    models += map(privacy_model, require)
    if models and "require" not in own:
        raise UsageError(f"{name} takes no requirements; its options are {', '.join(sorted(own))}")
    made = make(cls, options, name)
    return replace(made, require=(*models, *made.require)) if models else made


def _convert(value: Any, kind: Any, where: str) -> Any:
    """A text of the command line, or a value of a TOML file, as the field's type."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        inner = [a for a in typing.get_args(kind) if a is not type(None)]
        return _convert(value, inner[0], where)
    if origin is typing.Literal:
        choices = [str(c) for c in typing.get_args(kind)]
        if str(value) not in choices:
            raise UsageError(f"{where}: unknown value {shown(value)}; choose from {', '.join(choices)}")
        return str(value)
    if origin is tuple:
        inner_kind = typing.get_args(kind)[0]
        mark = "/" if typing.get_origin(inner_kind) is tuple else "+"  # lists of lists: a+b/c+d
        items = value.split(mark) if isinstance(value, str) else value
        if isinstance(items, list | tuple):
            return tuple(_convert(item, inner_kind, where) for item in items)
        raise UsageError(f"{where}: {shown(value)} is not a list; join its items with +")
    if kind is bool:
        if str(value).lower() not in ("true", "false"):
            raise UsageError(f"{where}: {shown(value)} is neither true nor false")
        return str(value).lower() == "true"
    if kind is PrivacyModel:
        return privacy_model(str(value))
    if kind in (int, float):
        return _number(value, kind, where)
    if kind is str:
        return str(value)
    if isinstance(value, str):
        raise UsageError(f"{where}: cannot be given as text; see the command's own options")
    return value


def _number(value: Any, kind: type, where: str) -> Any:
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or isinstance(value, bool) or (kind is int and isinstance(value, float) and value != number):
        raise UsageError(f"{where}: {shown(value)} is not a {'whole ' if kind is int else ''}number")
    if math.isinf(number) if kind is float else abs(number) > LARGEST:
        raise UsageError(f"{where}: {shown(value, 20)} is out of range; choose a smaller number")
    return number
