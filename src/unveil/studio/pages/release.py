"""Release: those that are there, and a form that makes one."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from unveil.errors import UsageError, shown
from unveil.studio.folder import NAME
from unveil.studio.jobs import Job
from unveil.studio.web import Form, Studio, first, screen, went

__all__ = ["make_release", "show_release", "start_anonymize"]

# How a scheme is written: its parameters, in the order of the form, each with its least and greatest.
SCHEMES: dict[str, dict[str, tuple[float, float]]] = {
    "mondrian": {"k": (2, 10_000), "l": (2, 1000), "t": (0, 1)},
    "full_domain": {"k": (2, 10_000), "l": (2, 1000), "t": (0, 1), "suppress": (0, 0.5)},
    "anatomy": {"l": (2, 1000)},
    "local_suppression": {"k": (2, 10_000)},
    "bounded": {"k": (2, 10_000), "threat": (1, 1000), "suppress": (0, 0.5)},
}
DEFAULTS = {"k": "5", "l": "", "t": "", "suppress": "", "threat": "5"}
NEEDED = {"mondrian": "k", "full_domain": "k", "anatomy": "l", "local_suppression": "k", "bounded": "threat"}


def show_release(request: Request, studio: Studio) -> Response:
    """The releases, one of them beside the original, and the form."""
    folder = studio.folder
    names = folder.releases()
    chosen = request.query_params.get("release", "")
    chosen = folder.one(chosen, names) if chosen else ""
    after = studio.preview(chosen, published=True) if chosen else None
    before = studio.preview(folder.data, folder.dialect) if after and folder.data else None
    commands = {output: job.command for job in reversed(studio.jobs.all()) for output in job.outputs}
    return screen(
        request,
        "release",
        data=folder.data,
        confirmed=studio.confirmed,
        releases=[(name, commands.get(name, "")) for name in names],
        chosen=chosen,
        before=before.beside(after) if before and after else None,
        after=after,
        schemes=SCHEMES,
        defaults=DEFAULTS,
    )


def make_release(request: Request, studio: Studio, form: Form) -> Response:
    """A release by the scheme and the requirement that were chosen in words."""
    scheme = first(form, "scheme")
    if scheme not in SCHEMES:
        raise UsageError("choose how the release is made")
    values = {key: _number(key, first(form, key), *ends) for key, ends in SCHEMES[scheme].items() if first(form, key)}
    if NEEDED[scheme] not in values:
        raise UsageError(f"{scheme}: say how large {NEEDED[scheme]} is to be")
    name = first(form, "name") or _named(scheme, values)
    require = [f"t_closeness:t={values.pop('t')}"] if "t" in values else []
    more = []
    if scheme == "bounded":
        scheme = "mondrian"
        more = [f"--until=relative_threat.max <= {values.pop('threat')}"]
        more += [f"--suppress={values.pop('suppress')}"] if "suppress" in values else []
        values.setdefault("k", "2")
    with_ = scheme + "".join(f"{':' if i == 0 else ','}{key}={value}" for i, (key, value) in enumerate(values.items()))
    start_anonymize(studio, name, with_, require, more)
    return went("/release")


def start_anonymize(studio: Studio, name: str, with_: str, require: list[str], more: list[str]) -> tuple[Job, str]:
    """The job that makes a release, and the release's name; one that is there is not replaced."""
    folder = studio.folder
    if folder.data is None:
        raise UsageError("choose a data file first")
    name = name if name.endswith(".csv") else f"{name}.csv"
    if not NAME.fullmatch(name):
        raise UsageError(f"{shown(name)}: letters, digits, blanks and -_.+()=, are allowed in a name")
    output = f"releases/{name}"
    words = ["anonymize", folder.data, "--schema=schema.toml", f"--with={with_}", f"--output={output}"]
    words += [f"--require={text}" for text in require] + more
    words += [f"--{key}={value}" for key, value in folder.dialect.items()]
    job = studio.jobs.start(
        words,
        about=output,
        reads=[folder.data, "schema.toml", *folder.hierarchies()],
        writes=[output],
        page=f"/release?release={quote(output)}",
        replace=False,
    )
    return job, output


def _number(key: str, text: str, least: float, most: float) -> str:
    """A number of the form, as it was written, if it is one and makes sense."""
    text = text.strip().replace(",", ".")
    if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text) or not least <= float(text) <= most:
        raise UsageError(f"{key} = {shown(text)}: give a number from {least:g} to {most:g}")
    if least >= 2 and "." in text:
        raise UsageError(f"{key} = {shown(text)}: give a whole number")
    return text


def _named(scheme: str, values: dict[str, Any]) -> str:
    return Path(" ".join([scheme, *(f"{key}={value}" for key, value in values.items())])).name
