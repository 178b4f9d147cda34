"""What every page of a report is made of: one file that needs no network, and runs nothing but its own.

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

from unveil.errors import OutputError
from unveil.formats.output import write_whole
from unveil.report.chart_parts import Chart
from unveil.report.wording import clean

__all__ = ["render_page"]

# Signs that could end a script element or open a comment in it.
_INERT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def render_page(template: str, **parts: Any) -> str:
    """A template filled; it may draw charts with `draw`. The same parts give the same page."""
    drawn = _Drawn()
    bundle, start, style = _bundle(), _part("report.js"), _part("report.css")
    return (
        _pages()
        .get_template(template)
        .render(
            **parts,
            draw=drawn.add,
            specs=drawn.json,
            policy=_policy([bundle, start], style),
            bundle=Markup(bundle),
            start=Markup(start),
            style=Markup(style),
        )
    )


class _Drawn:
    """The charts of one page, numbered in their order."""

    def __init__(self) -> None:
        self.specs: dict[str, Any] = {}

    def add(self, chart: Chart) -> str:
        name = f"chart-{len(self.specs) + 1}"
        self.specs[name] = chart.spec
        return name

    def json(self) -> Markup:
        text = json.dumps(self.specs, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        return Markup("".join(_INERT.get(sign, sign) for sign in text))


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
def _bundle() -> str:
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
def _pages() -> Environment:
    return Environment(
        loader=PackageLoader("unveil.report"),
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
