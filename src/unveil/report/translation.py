"""A report in another language: the texts of the English one, each by the catalogue languages/CODE.toml.

Documents stay English, so that every one can be drawn in every language, however old it is. A phrase of the catalogue
stands for itself, or holds {names}: what stands there is kept ({name}), or is translated in its turn ({NAME}). A text
that no phrase fits is taken apart at its sentences; what is in no catalogue stays English.
"""

import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from unveil.audit.document import Document
from unveil.report.blocks import Banner, Block, Cell, Chart, Details, Grid, Heading, Listing, Paragraph

__all__ = ["LANGUAGES", "SIGNS", "Words", "block_in", "translated", "words_of"]

LANGUAGES = {"en": "English", "de": "Deutsch", "fr": "Français"}
SIGNS = {"en": (".", ","), "de": (",", "."), "fr": (",", "\u202f")}  # of decimals, of thousands
Words = Callable[[str], str]
_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w.])|(?<![\w.])\d+\.\d+(?![\w.])")
_FIGURE = re.compile(r"[\s×<>≤≥–−+()%-]*(?:\d[\d.,]*[\s×<>≤≥–−+()%-]*)+(?:points)?\s*")
_COUNTS = ("n", "m", "k", "all", "value")  # names that stand for a number, with what may stand beside it
_COUNT = (
    r"(?:(?:fewer than|at least|at most|under|over|about) )?"
    r"(?:[×<>≤≥–−-]?\.?\d[\d.,]*(?:%| points)?(?: to \d[\d.,]*%?)?|×?∞|unknown)"
)
_APART = (" · ", ". ", "; ", ": ", ", ")  # where a text is taken apart; at the last two only if all parts are known
_JOINED = {("fr", "; "): "\u00a0; ", ("fr", ": "): "\u00a0: "}
_NOTHING: frozenset[str] = frozenset()


def words_of(document: Document, language: str) -> Words:
    """What translates the texts of a document's report; names of its columns, files and values stay as they are."""
    kept = {document.settings.get("original"), *document.settings.get("releases", ())}
    kept |= {finding.attribute for finding in document.findings}
    kept |= {(finding.statistic or "").removeprefix("value:") for finding in document.findings if finding.reader}
    kept |= {name for names in document.diagnostics.get("roles", {}).values() for name in names}
    held = frozenset(filter(None, kept))
    return lambda text: translated(text, language, held)


@lru_cache(20_000)
def translated(text: str, language: str, kept: frozenset[str] = _NOTHING) -> str:
    """A text in a language; in English if the catalogue does not have it, as are `kept` names."""
    if language == "en" or not text or text in kept:
        return text
    if _FIGURE.fullmatch(text):
        return _figures(text, language).replace("points", _phrases(language)[0].get("points", "points"))
    whole = _whole(text, language, kept)
    if whole is not None:
        return whole
    for apart in _APART:
        parts = text.split(apart)
        if len(parts) > 1:
            found = [translated(part, language, kept) for part in parts]
            changed = [new != old for new, old in zip(found, parts, strict=True)]
            if all(changed) or (any(changed) and apart in _APART[:3]):
                return _JOINED.get((language, apart), apart).join(found)
    return text


def _whole(text: str, language: str, kept: frozenset[str]) -> str | None:
    """By one phrase; with or without the sign at its end, a capital at its beginning and a sign before it."""
    exact, patterns = _phrases(language)
    if text in exact:
        return exact[text]
    if text[:2] in ("✓ ", "✕ ", "? ", "– ") and text[2:] in exact:
        return text[:2] + exact[text[2:]]
    if text[-1:] in (".", ",", ";") and (found := _whole(text[:-1], language, kept)) is not None:
        return found + text[-1]
    for first in (text.partition(" ")[0], ""):
        for said, pattern, phrase in patterns.get(first, ()):
            if all(part in text for part in said) and (match := _compiled(pattern).fullmatch(text)):
                return phrase.format(**{n: _part(n, part, language, kept) for n, part in match.groupdict().items()})
    small = text[:1].lower() + text[1:]
    if small != text and (found := _whole(small, language, kept)) is not None:
        return found[0].upper() + found[1:]
    return None


def _part(name: str, text: str, language: str, kept: frozenset[str]) -> str:
    """What stands for a name: kept, translated, or of a {LIST} each by itself."""
    if name == "LIST" and text not in kept:
        parts = re.split("(, | and )", text)
        return "".join(
            _phrases(language)[0].get(p, p) if i % 2 else translated(p, language, kept) for i, p in enumerate(parts)
        )
    return translated(text, language, kept) if name.isupper() or name in _COUNTS else _figures(text, language)


@cache
def _phrases(language: str) -> tuple[dict[str, str], dict[str, list[tuple[list[str], str, str]]]]:
    """Phrases that stand for themselves, and patterns with what they say by their first word, "" if that is a name."""
    content = tomllib.loads(files("unveil.report").joinpath("languages", f"{language}.toml").read_text("utf-8"))
    exact: dict[str, str] = {}
    patterns: dict[str, list[tuple[list[str], str, str]]] = {}
    for text, phrase in content.items():
        if "{" not in text:
            exact[text] = phrase
            continue
        parts = re.split(r"\{(\w+)\}", text)
        made = "".join(_place(p, parts.index(p) < i) if i % 2 else re.escape(p) for i, p in enumerate(parts))
        first = text.partition(" ")[0]
        patterns.setdefault("" if "{" in first else first, []).append((parts[::2], made, phrase))
    for found in patterns.values():  # what says most is tried first
        found.sort(key=lambda one: -sum(map(len, one[0])))
    return exact, patterns


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Of most patterns no page has the text."""
    return re.compile(pattern, re.DOTALL)


def _place(name: str, again: bool) -> str:
    """What stands for a name: a number, or nothing that ends a sentence; of several ({names}) also what parts them."""
    if again:
        return f"(?P={name})"
    if name in _COUNTS:
        return f"(?P<{name}>{_COUNT})"
    return f"(?P<{name}>(?:(?!\\. {'' if name.lower().endswith('s') else '|; '}).)+?)"


def _figures(text: str, language: str) -> str:
    """Numbers as the language writes them, where the whole text is one or more of them."""
    if language == "en" or not _FIGURE.fullmatch(text):
        return text
    decimal, thousands = SIGNS[language]
    swap = str.maketrans({".": decimal, ",": thousands})
    return _NUMBER.sub(lambda found: found[0].translate(swap), text)


def block_in(block: Block, t: Words, language: str) -> Block:
    """A block of a report with its texts translated."""
    if isinstance(block, Heading):
        return replace(block, text=t(block.text), small=t(block.small))
    if isinstance(block, Paragraph):
        return replace(block, text=t(block.text))
    if isinstance(block, Listing):
        kept = block.kind == "verdicts"
        return replace(block, items=tuple((n if kept else t(n), x if kept else t(x)) for n, x in block.items))
    if isinstance(block, Banner):
        return replace(block, text=t(block.text), words=t(block.words))
    if isinstance(block, Chart):
        rows = tuple(tuple(map(t, row)) for row in block.rows)
        head, spec = tuple(map(t, block.head)), _spec_in(block.spec, t)
        if language != "en":
            decimal, thousands = SIGNS[language]
            number = {"decimal": decimal, "thousands": thousands, "grouping": [3], "currency": ["", ""]}
            spec["config"] = {**spec.get("config", {}), "locale": {"number": number}}
        return replace(block, title=t(block.title), caption=t(block.caption), head=head, rows=rows, spec=spec)
    if isinstance(block, Details):
        return replace(block, summary=t(block.summary), grids=tuple(_grid_in(grid, t) for grid in block.grids))
    return _grid_in(block, t)


def _grid_in(grid: Grid, t: Words) -> Grid:
    rows = tuple(tuple(_cell_in(cell, t) for cell in row) for row in grid.rows)
    return replace(grid, title=t(grid.title), head=tuple(_cell_in(cell, t) for cell in grid.head), rows=rows)


def _cell_in(cell: Cell, t: Words) -> Cell:
    text = cell.text if cell.kind in ("code", "hash", "measure") else t(cell.text)
    return replace(cell, text=text, small=t(cell.small), meaning=t(cell.meaning))


def _spec_in(part: Any, t: Words) -> Any:
    """A chart's spec with its titles translated."""
    if isinstance(part, dict):
        named = ("title", "description")
        return {k: t(v) if k in named and isinstance(v, str) else _spec_in(v, t) for k, v in part.items()}
    return [_spec_in(value, t) for value in part] if isinstance(part, list | tuple) else part
