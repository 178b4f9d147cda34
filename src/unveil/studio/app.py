"""The routes of the studio."""

import re
from functools import cache
from importlib.resources import files

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from unveil.report import chart_library, style_sheet
from unveil.studio.pages.audit import show_audit, show_who, submit_audit
from unveil.studio.pages.choose import decide, export, give_report, make_point, show_choose, start_frontier
from unveil.studio.pages.data import choose_data, show_data, upload
from unveil.studio.pages.release import make_release, show_release
from unveil.studio.pages.roles import (
    build_hierarchy,
    draft,
    draw_hierarchies,
    move_node,
    save_roles,
    show_hierarchy,
    show_roles,
)
from unveil.studio.web import Form, Studio, page, submitted, went

__all__ = ["studio_app"]

KINDS = {".css": "text/css", ".js": "text/javascript"}


def studio_app(studio: Studio) -> Starlette:
    """The application, without its gate."""
    app = Starlette(
        routes=[
            Route("/", page(_first)),
            Route("/static/{name}", page(_static)),
            Route("/upload", upload, methods=["PUT"]),
            Route("/jobs", page(_jobs)),
            Route("/jobs/{id}/{what}", submitted(_steer), methods=["POST"]),
            Route("/data", page(show_data)),
            Route("/data", submitted(choose_data), methods=["POST"]),
            Route("/draft", submitted(draft), methods=["POST"]),
            Route("/roles", page(show_roles)),
            Route("/roles", submitted(save_roles), methods=["POST"]),
            Route("/hierarchies", submitted(draw_hierarchies), methods=["POST"]),
            Route("/roles/{index:int}", page(show_hierarchy)),
            Route("/roles/{index:int}/build", submitted(build_hierarchy), methods=["POST"]),
            Route("/roles/{index:int}/move", submitted(move_node), methods=["POST"]),
            Route("/release", page(show_release)),
            Route("/anonymize", submitted(make_release), methods=["POST"]),
            Route("/audit", page(show_audit)),
            Route("/audit", submitted(submit_audit), methods=["POST"]),
            Route("/who", page(show_who)),
            Route("/choose", page(show_choose)),
            Route("/choose/make", submitted(make_point), methods=["POST"]),
            Route("/frontier", submitted(start_frontier), methods=["POST"]),
            Route("/decide", submitted(decide), methods=["POST"]),
            Route("/export", submitted(export), methods=["POST"]),
            Route("/reports/{name}", page(give_report)),
        ]
    )
    app.state.studio = studio
    return app


def _first(request: Request, studio: Studio) -> Response:
    return RedirectResponse("/data", 303)


@cache
def _file(name: str) -> str | None:
    """What the web may have: these few files of the package, and nothing of the folder."""
    if name == "report.css":
        return style_sheet()
    if name == "charts.js":
        return chart_library()
    place = files("unveil.studio").joinpath("static", name)
    return place.read_text("utf-8") if re.fullmatch(r"studio\.(css|js)|document\.js", name) else None


def _static(request: Request, studio: Studio) -> Response:
    name = request.path_params["name"]
    text = _file(name)
    if text is None:
        return PlainTextResponse("There is no such file.", 404)
    kind = KINDS[name[name.rindex(".") :]]
    return Response(text, media_type=kind, headers={"cache-control": "private, max-age=300"})


def _jobs(request: Request, studio: Studio) -> Response:
    return JSONResponse([job.shown() for job in studio.jobs.all()[:6]])


def _steer(request: Request, studio: Studio, form: Form) -> Response:
    id, what = request.path_params["id"], request.path_params["what"]
    if what == "resume":
        job = studio.jobs.resume(id)
    elif what in ("stop", "finish"):
        job = studio.jobs.stop(id, keep=what == "finish")
    else:
        return PlainTextResponse("There is no such thing.", 404)
    return went(job.page)
