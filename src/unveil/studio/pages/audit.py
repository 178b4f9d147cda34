"""Audit: what a reader would learn from releases, the verdict first, and what changes if the reader knows more."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from unveil.audit import read_presets
from unveil.audit.document import Document
from unveil.audit.limits import parse_limit
from unveil.errors import UsageError
from unveil.report.wording import SIGNS
from unveil.studio.documents import MOST_ROWS, who_is_in
from unveil.studio.folder import Folder
from unveil.studio.jobs import Job
from unveil.studio.web import Form, Studio, chosen, first, screen, spoken_in, went

__all__ = ["show_audit", "show_who", "start_audit", "submit_audit"]

TYPES = ("not stated", "public", "controlled", "internal")
MOST_RELEASES = 6


def show_audit(request: Request, studio: Studio) -> Response:
    """The form, and the newest document or the one that was asked for."""
    folder = studio.folder
    documents = folder.documents()
    name = request.query_params.get("document", "")
    name = folder.one(name, documents) if name else next(iter(documents), "")
    drawn = studio.drawn(name, spoken_in(request)) if name else None
    beside = request.query_params.get("beside", "")
    other = studio.drawn(folder.one(beside, documents)) if beside else None
    held, releases = folder.settings, folder.releases()
    schema = studio.schema()
    return screen(
        request,
        "audit",
        data=folder.data,
        confirmed=studio.confirmed,
        releases=releases,
        ticked=_releases_of(releases, drawn.document) if drawn else releases[:MOST_RELEASES],
        settings=held,
        presets_named=[(name, name) for name in sorted(read_presets())],
        types_named=[(name, name) for name in TYPES],
        documents=documents,
        documents_named=[(name, Path(name).stem) for name in documents],
        newline=Markup("\n"),
        shown=name,
        drawn=drawn,
        external=drawn is not None and drawn.document.settings.get("variant") == "external",
        compared=_compared(other.document, drawn.document) if drawn and other else [],
        columns=[] if schema is None else _published(schema),
        attributes=[] if drawn is None else _asked(drawn.document),
        signs=SIGNS,
    )


def submit_audit(request: Request, studio: Studio, form: Form) -> Response:
    """Keep the settings in unveil.toml, and audit; with columns that the reader knows, ask what they change."""
    folder = studio.folder
    names = [folder.one(name, folder.releases()) for name in form.get("release", [])]
    if not names or len(names) > MOST_RELEASES:
        raise UsageError(f"choose from one to {MOST_RELEASES} releases")
    if "known" in form:
        schema = studio.schema()
        if schema is None:
            raise UsageError("draft the roles first")
        known = chosen(form, "known", schema.names)
        before = folder.one(first(form, "document"), folder.documents())
        job, _ = start_audit(studio, names, spoken_in(request), known=known, beside=before)
        return went(job.page if job.state == "done" else "/audit")
    if set(form) - {"release"}:
        _keep_settings(folder, form)
    start_audit(studio, names, spoken_in(request))
    return went("/audit")


def _keep_settings(folder: Folder, form: Form) -> None:
    """Limits, and who gets it, in unveil.toml."""
    limits = [line.strip() for line in first(form, "limit").splitlines() if line.strip()]
    for line in limits:
        parse_limit(line)
    preset, kind = first(form, "preset"), first(form, "release_type")
    if preset and preset not in read_presets():
        raise UsageError("choose a preset of the list")
    minutes = first(form, "minutes") or "10"
    if not re.fullmatch(r"\d{1,4}(\.\d+)?", minutes) or not float(minutes) > 0:
        raise UsageError("minutes: give a number above 0")
    folder.save(
        {
            "limit": limits,
            "preset": preset,
            "minutes": float(minutes),
            "release_type": kind if kind in TYPES[1:] else None,
            "recipient": first(form, "recipient")[:200],
        }
    )


def start_audit(
    studio: Studio,
    names: list[str],
    language: str,
    *,
    known: list[str] | None = None,
    external: bool = False,
    beside: str = "",
) -> tuple[Job, str]:
    """The job that audits these releases, and the document that it writes; `beside`: one to compare it with."""
    folder = studio.folder
    if folder.data is None:
        raise UsageError("choose a data file first")
    stem = "+".join(Path(name).stem for name in names)[:80]
    more = []
    if known is not None:
        if any("," in name for name in known):
            raise UsageError("a column whose name holds a comma can be asked about in Python only")
        stem = re.sub(r"[^\w .+()=,-]", "_", f"{stem} (known {', '.join(known)})")[:110]
        more = [f"--known={','.join(known)}"]
    if external:
        stem = f"{stem} (external)"
        more = ["--variant=external"]
    document = f"documents/{stem}.json"
    words = ["audit", *names, "--config=unveil.toml", f"--json={document}", f"--report=reports/{stem}.html", *more]
    words += [] if language == "en" else [f"--language={language}"]
    words += [] if external else [f"--people=people/{stem}.csv"]
    parts = [str(Path(name).with_suffix(".toml")) for name in names]
    job = studio.jobs.start(
        words,
        about=", ".join(Path(name).name for name in names),
        reads=[*names, *parts, folder.data, "schema.toml", "unveil.toml", *folder.hierarchies()],
        writes=[document],
        page=f"/audit?document={quote(document)}" + (f"&beside={quote(beside)}" if beside else ""),
    )
    return job, document


def show_who(request: Request, studio: Studio) -> Response:
    """Row numbers of the people in a bar; never of a document for others, which has no people file."""
    given = request.query_params
    folder = studio.folder
    name = folder.one(given.get("document", ""), folder.documents())
    drawn = studio.drawn(name)
    if drawn is None or drawn.document.settings.get("variant") == "external":
        raise UsageError("a document for others names nobody")
    try:
        ends = tuple(float(given.get(key, text)) for key, text in (("x", "0"), ("x2", "1"), ("y", "0"), ("y2", "1")))
        release, attribute = int(given.get("release", "0")), int(given.get("attribute", "0"))
    except ValueError:
        raise UsageError("say which bar is meant") from None
    rows = who_is_in(folder, name, drawn.document, release, attribute, given.get("reader", ""), ends)
    return JSONResponse({"rows": rows[:MOST_ROWS], "count": len(rows)})


# -------------------------------------------------------------------------------------------------------------- inside


def _releases_of(releases: list[str], document: Document) -> list[str]:
    short = set(document.settings.get("releases", ()))
    return [name for name in releases if Path(name).name in short or name in short]


def _published(schema: Any) -> list[tuple[int, str, str]]:
    return [(i, n, str(schema.declaration(n).role)) for i, n in enumerate(schema.names)
            if schema.declaration(n).role != "identifier"]  # fmt: skip


def _asked(document: Document) -> list[dict[str, Any]]:
    """Where people may be looked up: release, attribute and reader by their place."""
    return [
        {"release": i, "attribute": j, "reader": reader, "words": (release, attribute, reader)}
        for i, release in enumerate(document.settings.get("releases", ()))
        for j, attribute in enumerate(document.charts.get(release, {}))
        for reader in document.charts[release][attribute].get("beliefs", {})
    ]


def _compared(before: Document, after: Document) -> list[dict[str, str]]:
    """Kinds of disclosure in both documents, and what is said of each."""
    rows = []
    for release, one in after.diagnostics.get("judgement", {}).items():
        was = {
            (k["kind"], k["attribute"]): k for k in before.diagnostics["judgement"].get(release, {"kinds": []})["kinds"]
        }
        for kind in one["kinds"]:
            old = was.get((kind["kind"], kind["attribute"]))
            if old is not None:
                rows.append({"release": release, "kind": kind["kind"], "attribute": kind["attribute"] or "",
                             "before": old["verdict"], "was": old["sentence"],
                             "after": kind["verdict"], "is": kind["sentence"]})  # fmt: skip
    return rows
