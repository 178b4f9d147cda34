"""What every page needs: its template, its language, forms, and errors as one sentence."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from unveil.audit.document import Document
from unveil.data.schema import Schema, read_schema
from unveil.errors import UnveilError, UsageError, failed_at
from unveil.report.page import templates
from unveil.report.translation import translated
from unveil.studio.documents import Drawn, drawn_of
from unveil.studio.folder import Folder, Kept
from unveil.studio.jobs import Jobs
from unveil.studio.preview import Preview, preview_of
from unveil.studio.texts import LANGUAGES, language_of, number, text

__all__ = ["Form", "Studio", "chosen", "first", "page", "screen", "spoken_in", "submitted", "went"]

STEPS = ("data", "roles", "release", "audit", "choose")
MOST_FORM, MOST_FIELDS = 2**20, 50_000  # bytes; three fields a column
Form = dict[str, list[str]]
T = TypeVar("T")


@dataclass(frozen=True)
class Studio:
    """What one running studio holds."""

    folder: Folder
    largest: int  # bytes of an upload
    jobs: Jobs = field(init=False)
    _previews: Kept[Preview] = field(init=False)
    _documents: Kept[Drawn | None] = field(init=False)
    _schemas: Kept[Schema] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", Jobs(self.folder))
        for name, most in (("_previews", 32), ("_documents", 8), ("_schemas", 1)):
            object.__setattr__(self, name, Kept(self.folder, most))

    def preview(self, name: str, dialect: Mapping[str, str] | None = None, *, published: bool = False) -> Preview:
        """The head of one of the folder's tables."""
        asked = partial(preview_of, self.folder, name, dialect or {}, published)
        return self._previews.of(asked, [name], *sorted((dialect or {}).items()), published)

    def drawn(self, name: str, language: str = "en") -> Drawn | None:
        """A document of the folder; None if it is not there."""
        return self._documents.of(partial(drawn_of, self.folder, name, language), [name], language)

    def audits(self) -> list[tuple[str, Document]]:
        """Audits that a decision may rest on, the newest first: not those of other knowledge, nor those for others."""
        found = [(name, one.document) for name in self.folder.documents() if (one := self.drawn(name)) is not None]
        return [
            (name, document)
            for name, document in found
            if document.document == "audit"
            and not document.settings.get("known")
            and document.settings.get("variant") != "external"
        ]

    def schema(self) -> Schema | None:
        """The schema; None if there is none yet. Files that it names elsewhere are not watched: then it is read."""
        file, watched = self.folder.schema, self.folder.hierarchies()
        if not file.is_file():
            return None
        schema = self._schemas.of(partial(read_schema, file), ["schema.toml", *watched])
        named = {schema.declaration(name).hierarchy for name in schema.names} - {None}
        return schema if named <= set(watched) else read_schema(file)

    @property
    def confirmed(self) -> bool:
        """Whether somebody has read the roles."""
        schema = self.schema()
        return schema is not None and schema.document.confirmed


def screen(request: Request, name: str, *, status: int = 200, **values: Any) -> Response:
    """A page of the studio."""
    studio: Studio = request.app.state.studio
    language = spoken_in(request)
    jobs = studio.jobs.all()
    html = (
        templates("unveil.studio")
        .get_template(f"{name}.html.j2")
        .render(
            t=partial(text, language),
            said_in=lambda text: translated(text, language),
            number=partial(number, language),
            named=lambda keys, head: [(key, text(language, head + key)) for key in keys],
            language=language,
            languages=LANGUAGES,
            steps=STEPS,
            here=name,
            path=request.url.path,
            folder=studio.folder.path.name,
            jobs=jobs[:6],
            **values,
        )
    )
    answer = HTMLResponse(html, status)
    if (chosen := request.query_params.get("lang")) in LANGUAGES:
        answer.set_cookie("lang", chosen, samesite="strict", httponly=True, max_age=31_536_000)
    return answer


def spoken_in(request: Request) -> str:
    """The language of a page: the one that was chosen, now or earlier, else the browser's."""
    chosen = request.query_params.get("lang") or request.cookies.get("lang")
    return language_of(chosen, request.headers.get("accept-language", ""))


def page(show: Callable[[Request, Studio], Response]) -> Callable[[Request], Any]:
    """A page that is only looked at."""

    async def answer(request: Request) -> Response:
        return await _answered(request, partial(show, request, request.app.state.studio))

    return answer


def submitted(act: Callable[[Request, Studio, Form], Response]) -> Callable[[Request], Any]:
    """A form that somebody sent."""

    async def answer(request: Request) -> Response:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_FORM:
                return screen(request, "fault", status=413, said="This form is too large.")
        try:
            form = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError:
            return screen(request, "fault", status=413, said="This form has too many fields.")
        return await _answered(request, partial(act, request, request.app.state.studio, form))

    return answer


def first(form: Form, name: str) -> str:
    """A field that is there once."""
    return form.get(name, [""])[0].strip()


def chosen(form: Form, name: str, among: Sequence[T]) -> list[T]:
    """What a field's numbers stand for, in a list; other numbers, and what is none, stand for nothing."""
    texts = [str(i) for i in range(len(among))]
    return [among[texts.index(text)] for text in form.get(name, []) if text in texts]


def went(path: str) -> Response:
    """Where a form leads: a page, which can be loaded again without doing anything again."""
    return RedirectResponse(path, 303)


async def _answered(request: Request, act: Callable[[], Response]) -> Response:
    try:
        return await run_in_threadpool(act)
    except UnveilError as error:
        folder = request.app.state.studio.folder.path
        status = 400 if isinstance(error, UsageError) else 422
        return screen(request, "fault", status=status, said=str(error).replace(f"{folder}/", ""))
    except Exception as error:  # the place only: a message may hold values
        said = f"internal error at {failed_at(error)}: {type(error).__name__}"
        print(f"unveil studio: {said}", file=sys.stderr)
        return screen(request, "fault", status=500, said=said)
