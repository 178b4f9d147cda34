"""The studio's own texts, in the languages of catalogue.toml. Documents and messages of commands stay as they are."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from unveil.report.translation import LANGUAGES, SIGNS

__all__ = ["LANGUAGES", "catalogue", "language_of", "number", "text"]


@cache
def catalogue() -> dict[str, dict[str, str]]:
    """Every text by its key and language."""
    return tomllib.loads(files("unveil.studio").joinpath("catalogue.toml").read_text("utf-8"))


def text(language: str, key: str, **values: Any) -> str:
    """A text in a language, with its values put in."""
    return catalogue()[key][language].format(**values)


def number(language: str, count: int) -> str:
    """A count with its thousands apart."""
    return f"{count:,}".replace(",", SIGNS[language][1])


def language_of(chosen: str | None, accepted: str) -> str:
    """The language that was chosen, else the first of ours that the browser accepts."""
    if chosen in LANGUAGES:
        return chosen
    wanted = (part.strip()[:2].lower() for part in accepted.split(","))
    return next((one for one in wanted if one in LANGUAGES), "en")
