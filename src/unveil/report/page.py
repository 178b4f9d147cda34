"""The report as a page: one HTML file that needs no network, and runs nothing but its own, made from a document alone.

The page carries the Vega bundle once, its charts as JSON, and a policy that forbids every request and every script
and style but its own, by hash. Vega evaluates its expressions with its interpreter, so that no `eval` is needed.
"""

import base64
import hashlib
import json
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from unveil.audit.document import Document
from unveil.errors import OutputError
from unveil.formats.output import write_whole
from unveil.report.blocks import Block, Chart, Heading
from unveil.report.reading import names_of, read_document
from unveil.report.sections import blocks_of
from unveil.report.translation import block_in, words_of
from unveil.report.wording import SIGNS, VERDICTS, clean

__all__ = ["chart_library", "render_page", "render_sections", "style_sheet", "templates"]

# Signs that could end a script element or open a comment in it.
_INERT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def render_page(document: Document | dict[str, Any], language: str = "en") -> str:
    """The report of a document of any kind, as one page. The same document gives the same page."""
    read = read_document(document)
    names = names_of(read)
    html, _, specs = render_sections(read, language=language)
    bundle, start, style = chart_library(), _part("report.js"), style_sheet()
    return (
        templates()
        .get_template("report.html.j2")
        .render(
            sections=html,
            language=language,
            t=words_of(read, language),
            kind=read.document,
            of=", ".join(names.of(r) for r in names.releases[:4]),
            specs=specs,
            policy=_policy([bundle, start], style),
            bundle=Markup(bundle),
            start=Markup(start),
            style=Markup(style),
        )
    )


def render_sections(
    document: Document | dict[str, Any], apart: str = "", language: str = "en"
) -> tuple[Markup, Markup, Markup]:
    """The report's sections for a page that somebody else frames: no script, no style.

    The sections but one, that one (`apart`: its address), which has its place elsewhere, and all charts as JSON.
    """
    read = read_document(document)
    drawn = _Drawn()
    t = words_of(read, language)
    sections = _sections([block_in(block, t, language) for block in blocks_of(read, names_of(read))])
    contents = [s for s in sections if s["level"] == 2 and s["second"]]
    made = templates().get_template("sections.html.j2")
    parts = [s for s in sections if s["id"] != apart], [s for s in sections if s["id"] == apart]
    rest, own = (
        Markup(made.render(sections=part, contents=contents, signs=SIGNS, verdicts=VERDICTS, draw=drawn.add, t=t))
        for part in parts
    )
    return rest, own, drawn.json()


def style_sheet() -> str:
    """The style of the report's sections."""
    return _part("report.css")


def _sections(blocks: list[Block]) -> list[dict[str, Any]]:
    """Each part and section with what belongs to it; figures beside each other are drawn side by side."""
    found: list[dict[str, Any]] = []
    parts = 0
    for block in blocks:
        if isinstance(block, Heading) and block.level < 3:
            parts += block.level == 1
            id = block.id or f"part-{len(found) + 1}"
            found.append({"level": block.level, "head": block, "id": id, "second": parts > 1, "blocks": []})
        elif isinstance(block, Chart):
            before = found[-1]["blocks"]
            if not before or before[-1][0] != "figures":
                before.append(("figures", []))
            before[-1][1].append(block)
        else:
            found[-1]["blocks"].append((type(block).__name__.lower(), block))
    return found


class _Drawn:
    """The charts of one page, numbered in their order."""

    def __init__(self) -> None:
        self.specs: dict[str, Any] = {}

    def add(self, chart: Chart) -> str:
        name = f"chart-{len(self.specs) + 1}"
        self.specs[name] = _harmless(chart.spec)
        return name

    def json(self) -> Markup:
        text = json.dumps(self.specs, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        return Markup("".join(_INERT.get(sign, sign) for sign in text))


def _harmless(part: Any) -> Any:
    """A spec whose every text is clean, whoever wrote it."""
    if isinstance(part, dict):
        return {key: _harmless(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_harmless(value) for value in part]
    return clean(part) if isinstance(part, str) else part


def _policy(scripts: list[str], style: str) -> str:
    """Nothing may be loaded or run but what has these hashes."""
    allowed = " ".join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def chart_library() -> str:
    """Vega and its embedding. Bundling starts a JavaScript engine, which takes seconds: kept beside compiled code."""
    kept = Path(__file__).with_name("__pycache__") / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError, UnicodeDecodeError):
        return kept.read_text(encoding="utf-8")
    import vl_convert

    bundle = str(vl_convert.javascript_bundle())  # type: ignore[call-arg]  # its stub knows no default
    with suppress(OSError, OutputError):  # an installation that cannot be written to bundles each time
        kept.parent.mkdir(exist_ok=True)
        write_whole({kept: bundle.encode()})
    return bundle


@cache
def _part(name: str) -> str:
    return files("unveil.report").joinpath("templates", name).read_text("utf-8")


@cache
def templates(package: str = "unveil.report") -> Environment:
    """Templates of a package: whatever they print is escaped, and cleaned of what no reader can see."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_inert,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _inert(value: Any) -> Any:
    """Whatever a template prints is cleaned once more, so that nothing depends on remembering to."""
    return value if isinstance(value, Markup) else clean(value)
