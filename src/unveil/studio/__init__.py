"""The studio: the whole job in a browser, on one's own machine. It shows files and runs commands."""

import logging
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unveil.errors import UsageError

__all__ = ["LARGEST", "Prepared", "prepared", "serve"]

LARGEST = 2 * 10**9  # bytes of an upload


@dataclass(frozen=True)
class Prepared:
    """A studio that listens, and serves as soon as it is run."""

    server: Any  # uvicorn's
    listening: socket.socket
    gate: Any
    studio: Any

    def run(self) -> None:
        """Serve until it is interrupted; what runs then ends at its last checkpoint."""
        self.server.run(sockets=[self.listening])


def serve(folder: Path, *, opened: bool = True, say: Callable[[str], object] = print, **options: Any) -> None:
    """Run the studio on a folder until it is interrupted; `options` as in `prepared`."""
    made = prepared(folder, **options)
    say(f"unveil studio: {made.gate.address}")
    say(f"The address works once. Ctrl-C ends the studio; {folder} keeps everything.")
    sys.stdout.flush()
    if opened:
        threading.Thread(target=webbrowser.open, args=(made.gate.address,), daemon=True).start()
    threading.Thread(target=_warm, daemon=True).start()
    try:
        made.run()
    except KeyboardInterrupt:
        pass
    finally:
        stopped = made.studio.jobs.stop_all()
        if stopped:
            say(f"Stopped {stopped} running job{'s' * (stopped > 1)}; start the studio again to go on.")


def prepared(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    certificate: Path | None = None,
    key: Path | None = None,
    largest: int = LARGEST,
) -> Prepared:
    """A studio on a folder: at this machine's own address, or at another one with a certificate."""
    try:
        import uvicorn

        from unveil.studio.app import studio_app
        from unveil.studio.gate import Gate, is_loopback
    except ModuleNotFoundError as error:
        raise UsageError(f"the studio needs {error.name}; install it with: pip install 'unveil[studio]'") from None
    from unveil.studio.folder import Folder
    from unveil.studio.web import Studio

    if host in ("0.0.0.0", "::", ""):
        raise UsageError(f"--host {host}: name the one address that browsers will use")
    if not is_loopback(host) and (certificate is None or key is None):
        raise UsageError(
            f"--host {host}: others could listen; give --certificate FILE and --private-key FILE, or leave it out"
        )
    for file in (certificate, key):
        if file is not None and not file.is_file():
            raise UsageError(f"{file}: there is no such file")
    home = Folder(folder.absolute())
    home.make()
    studio = Studio(home, largest)
    listening = _listen(host, port)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)  # a traceback's message may hold values
    named = f"[{host}]" if ":" in host else host
    names = (named, "localhost") if is_loopback(host) else (named,)
    hosts = tuple(f"{name}:{listening.getsockname()[1]}" for name in names)
    gate = Gate(studio_app(studio), hosts, "https" if certificate else "http")
    config = uvicorn.Config(
        gate,
        log_config=None,  # no request is written down: addresses and names of files are the steward's
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        h11_max_incomplete_event_size=2**16,
        limit_concurrency=500,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=2,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    return Prepared(uvicorn.Server(config), listening, gate, studio)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(128)  # a browser that is faster than the server waits
    except (OSError, OverflowError) as error:
        found.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{host}:{port} cannot be used ({reason.lower()}); leave --port out for a free one") from None
    return found


def _warm() -> None:
    """What the first pages need, while the browser opens."""
    from importlib import import_module

    from unveil.studio.texts import catalogue

    for name in ("unveil.data.schema", "unveil.formats.tables", "unveil.report"):
        import_module(name)

    catalogue()
