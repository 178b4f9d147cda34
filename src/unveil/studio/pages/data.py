"""Data: which file it is, how it is written, and what is wrong with it."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from unveil.errors import UnveilError, UsageError
from unveil.studio.web import Form, Studio, screen, went

__all__ = ["choose_data", "show_data", "upload"]

STALL = 20.0  # seconds without a byte
GRACE, LEAST_RATE = 30.0, 2048  # after so many seconds an upload must have come at so many bytes a second
DELIMITERS = {",": ",", ";": ";", "\t": "tab", "|": "|"}
ENCODINGS = ("utf-8", "utf-16", "cp1252")


def show_data(request: Request, studio: Studio) -> Response:
    """The files of the folder, and the first rows of the one that was chosen."""
    folder = studio.folder
    data = folder.data
    return screen(
        request,
        "data",
        files=[name for name in folder.tables() if "/" not in name],
        data=data,
        preview=None if data is None else studio.preview(data, folder.dialect),
        dialect=folder.dialect,
        delimiters=list(DELIMITERS.items()),
        encodings=[(name, name) for name in ENCODINGS],
        largest=studio.largest,
        drafted=folder.schema.is_file(),
    )


def choose_data(request: Request, studio: Studio, form: Form) -> Response:
    """Another file, or the same one read in another way."""
    folder = studio.folder
    name = folder.one(form.get("file", [""])[0], folder.tables())
    changes: dict[str, str | None] = {"original": name, "schema": "schema.toml"}
    same = name == folder.data
    allowed = {"delimiter": DELIMITERS, "decimal": (".", ","), "encoding": ENCODINGS}
    for key, values in allowed.items():
        given = form.get(key, [""])[0] if same else ""
        if given and given not in values:
            raise UsageError(f"{key}: choose one of the list")
        changes[key] = given or None
    folder.save(changes)
    return went("/data")


async def upload(request: Request) -> Response:
    """A file comes in pieces; too large, too slow or broken off, it leaves nothing."""
    studio: Studio = request.app.state.studio
    name, part = request.query_params.get("name", ""), request.query_params.get("as", "")
    if part not in ("data", "release"):
        return JSONResponse({"said": "say what the file is"}, 400)
    try:
        kept = await studio.folder.receive(_pieces(request, studio), name, "" if part == "data" else "releases")
        if part == "data":
            studio.folder.save(
                {"original": kept, "schema": "schema.toml", "delimiter": None, "decimal": None, "encoding": None}
            )
    except TimeoutError:
        return JSONResponse({"said": f"{name}: came too slowly; try again"}, 408, {"connection": "close"})
    except OverflowError as error:
        return JSONResponse({"said": str(error)}, 413, {"connection": "close"})
    except UnveilError as error:
        return JSONResponse({"said": str(error)}, 400, {"connection": "close"})
    except ClientDisconnect:
        return JSONResponse({"said": "broken off"}, 400)
    return JSONResponse({"kept": kept})


async def _pieces(request: Request, studio: Studio) -> AsyncIterator[bytes]:
    stated = request.headers.get("content-length", "")
    room = shutil.disk_usage(studio.folder.path).free // 2
    most = min(studio.largest, room)
    large = f"larger than the {most / 1e6:,.0f} MB that may be sent; put it into the folder yourself"
    if stated.isdigit() and int(stated) > most:
        raise OverflowError(large)
    coming, began, size = request.stream(), time.monotonic(), 0
    while True:
        try:
            piece = await asyncio.wait_for(anext(coming), STALL)
        except StopAsyncIteration:
            return
        size += len(piece)
        if size > most:
            raise OverflowError(large)
        spent = time.monotonic() - began
        if spent > GRACE and size < LEAST_RATE * spent:
            raise TimeoutError
        yield piece
