"""Choose: the frontier with a slider, the release that is made of a point, and the record of the decision."""

import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from unveil.audit.document import Document
from unveil.audit.measures import parse_ids, title_of
from unveil.audit.numbers import spoken
from unveil.errors import UsageError
from unveil.report.wording import label
from unveil.studio.documents import repairs_of
from unveil.studio.pages.audit import start_audit
from unveil.studio.pages.release import start_anonymize
from unveil.studio.web import Form, Studio, chosen, first, screen, spoken_in, went

__all__ = ["decide", "export", "give_report", "make_point", "show_choose", "start_frontier"]

FRONTIER = "documents/frontier.json"
SAMPLE = 300  # people who are asked about, if nothing else is said


def show_choose(request: Request, studio: Studio) -> Response:
    """The frontier, if there is one, what an audit advises, and the decision."""
    folder = studio.folder
    drawn = studio.drawn(FRONTIER, spoken_in(request))
    audits = studio.audits()
    points = [] if drawn is None else points_of(drawn.document)
    verdicts, releases = _verdicts(audits), folder.releases()
    return screen(
        request,
        "choose",
        data=folder.data,
        confirmed=studio.confirmed,
        drawn=drawn,
        points=points,
        axes=None if drawn is None else _axes(drawn.document),
        limits=folder.settings.get("limit", []),
        sample=SAMPLE,
        repairs=repairs_of(audits[0][1]) if audits else [],
        releases=releases,
        releases_named=[
            (name, f"{name} ({verdicts[Path(name).name]})" if Path(name).name in verdicts else name)
            for name in releases
        ],
        start=next((i for i, point in enumerate(points) if point["recommended"]), len(points) // 2),
        decisions=folder.decisions(),
        reports=folder.reports(),
    )


def start_frontier(request: Request, studio: Studio, form: Form) -> Response:
    """Try schemes and parameters."""
    folder = studio.folder
    if folder.data is None:
        raise UsageError("choose a data file first")
    sample = first(form, "sample") or str(SAMPLE)
    if not re.fullmatch(r"\d{1,7}", sample) or int(sample) < 10:
        raise UsageError("people: give a whole number of at least 10")
    words = ["frontier", folder.data, "--schema=schema.toml", f"--json={FRONTIER}", "--report=reports/frontier.html"]
    words += [] if (language := spoken_in(request)) == "en" else [f"--language={language}"]
    words += [f"--sample={sample}", *(f"--limit={text}" for text in folder.settings.get("limit", []))]
    words += [f"--{key}={value}" for key, value in folder.dialect.items()]
    reads = [folder.data, "schema.toml", "unveil.toml", *folder.hierarchies()]
    studio.jobs.start(words, about=folder.data, reads=reads, writes=[FRONTIER], page="/choose")
    return went("/choose")


def make_point(request: Request, studio: Studio, form: Form) -> Response:
    """The release of a point of the frontier, or of an audit's advice."""
    folder = studio.folder
    if "repair" in form:
        audits = studio.audits()
        repairs = repairs_of(audits[0][1]) if audits else []
        if not (found := chosen(form, "point", repairs)):
            raise UsageError("there is no such advice; load the page again")
        one = found[0]
        with_, require = one["with"][0], one["require"]
        more = [f"--leave-out={name}" for name in one["leave-out"]]
    else:
        drawn = studio.drawn(FRONTIER)
        points = [] if drawn is None else points_of(drawn.document)
        if not (found := chosen(form, "point", points)):
            raise UsageError("choose a point of the frontier")
        with_, require, more = found[0]["with"], found[0]["require"], []
    if "@" in with_ or any("@" in text for text in require):
        raise UsageError("options from another file are not taken from a document")
    left_out = [f"without {text.partition('=')[2]}" for text in more]
    name = re.sub(r"[^\w .+()=,-]", " ", " ".join([with_, *require, *left_out]))[:100].strip()
    _, output = start_anonymize(studio, name, with_, require, more)
    return went(f"/release?release={quote(output)}" if (folder.path / output).is_file() else "/release")


def decide(request: Request, studio: Studio, form: Form) -> Response:
    """Who decided what about a release, when and why, by which limits, and what the files were."""
    folder = studio.folder
    release = folder.one(first(form, "release"), folder.releases())
    who, why = first(form, "who")[:200], first(form, "why")[:4000]
    answer = first(form, "answer")
    if not who or not why or answer not in ("publish", "do not publish"):
        raise UsageError("say who decides, what, and why")
    sidecar = str(Path(release).with_suffix(".toml"))
    files = [release, sidecar, "schema.toml", *([] if folder.data is None else [folder.data])]
    digests = {name: _digest(folder.path / name) for name in files if (folder.path / name).is_file()}
    audited = [one for one in studio.audits() if _is_of(one[1], release, digests)]
    name, document = audited[0] if audited else ("", None)
    if name:
        digests[name] = _digest(folder.path / name)
    folder.decide(
        {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "who": who,
            "decision": answer,
            "why": why,
            "release": release,
            "verdict": None if document is None else _verdict(document, release),
            "limits": [] if document is None else document.settings.get("limits", []),
            "document": name or None,
            "sha256": digests,
        }
    )
    return went("/choose#decisions")


def export(request: Request, studio: Studio, form: Form) -> Response:
    """The report for others: an audit whose document holds no small count and names nobody."""
    folder = studio.folder
    start_audit(studio, [folder.one(first(form, "exported"), folder.releases())], spoken_in(request), external=True)
    return went("/choose")


def give_report(request: Request, studio: Studio) -> Response:
    """A report as a file to keep."""
    folder = studio.folder
    name = folder.one(f"reports/{request.path_params['name']}", folder.reports())
    return FileResponse(folder.path / name, media_type="application/octet-stream", filename=Path(name).name)


def points_of(document: Document) -> list[dict[str, Any]]:
    """The releases that no other one dominates, the safest first, in words; those alone can be chosen well."""
    if document.document != "frontier":
        return []
    chart = document.charts["frontier"]
    sign = -1 if chart["risk_higher_is_better"] else 1
    rows = [
        p for p in document.diagnostics["points"]
        if p["undominated"] and p["with"] and isinstance(p["values"][chart["risk"]]["value"], int | float)
    ]  # fmt: skip
    rows.sort(key=lambda p: sign * p["values"][chart["risk"]]["value"])
    return [
        {
            "name": label(p["name"]),
            "with": p["with"],
            "require": list(p["require"]),
            "risk": _spoken(p, chart["risk"]),
            "utility": _spoken(p, chart["utility"]),
            "groups": p["groups"],
            "verdict": p["verdict"],
            "recommended": p["recommended"],
        }
        for p in rows
    ]


# -------------------------------------------------------------------------------------------------------------- inside


def _spoken(point: dict[str, Any], id: str) -> str:
    part = parse_ids(id)[0]
    return spoken(point["values"][id]["value"], part.measure, part.statistic)


def _axes(document: Document) -> tuple[str, str]:
    chart = document.charts["frontier"]
    return title_of(parse_ids(chart["risk"])[0]), title_of(parse_ids(chart["utility"])[0])


def _is_of(document: Document, release: str, digests: dict[str, str]) -> bool:
    """Whether an audit is of this release, and of the files as they are now."""
    held = {one.name: one.sha256 for one in document.inputs}
    same = all(held.get(Path(name).name, digest) == digest for name, digest in digests.items())
    return same and Path(release).name in document.settings.get("releases", ())


def _verdict(document: Document, release: str) -> str | None:
    judged = document.diagnostics.get("judgement", {}).get(Path(release).name)
    return None if judged is None else str(judged["verdict"])


def _verdicts(audits: list[tuple[str, Document]]) -> dict[str, str]:
    """The verdict on each release in the newest document about it."""
    found: dict[str, str] = {}
    for _, document in audits:
        for release, one in document.diagnostics.get("judgement", {}).items():
            found.setdefault(release, one["verdict"])
    return found


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
