"""The gate: whatever comes to the studio passes it first, and whatever leaves gets its headers.

Only our own address as Host (a name that was rebound to this machine is refused), only our own Origin for what changes
something, only who holds the cookie, which the one-time token of the printed address is exchanged for, and on a machine
that several people use nobody else: they may see the token in the list of processes, and cookies know no ports.
"""

import hmac
import ipaddress
import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Gate", "is_loopback", "user_of"]

TRIES, SECONDS = 10, 60.0  # wrong tokens or cookies in so many seconds; then every try waits
SAFE = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # with none at all, browsers send our own forms without their Origin
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def user_of(client: Sequence[Any], server: Sequence[Any]) -> int | None:
    """Who opened a connection within this machine, where the system says so: Linux."""
    table = Path("/proc/net/tcp6" if ":" in client[0] else "/proc/net/tcp")
    try:
        found = table.read_text("ascii").partition(f": {_place(*client)} {_place(*server)} ")[2]
        return int(found.split(maxsplit=5)[4]) if found else None
    except (OSError, ValueError, IndexError):
        return None


def _place(host: str, port: int) -> str:
    """An address as /proc writes it: words of four bytes in the machine's order."""
    packed = socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
    words = [packed[i : i + 4] for i in range(0, len(packed), 4)]
    return "".join(w[:: -1 if sys.byteorder == "little" else 1].hex() for w in words).upper() + f":{port:04X}"


@dataclass
class Gate:
    """The middleware. `hosts`: what a browser may call us, each with its port; `owner`: who alone may, and root."""

    app: ASGIApp
    hosts: tuple[str, ...]
    scheme: str = "http"
    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)  # None: it was used
    owner: int | None = field(default_factory=lambda: getattr(os, "geteuid", lambda: 0)() or None)
    clock: Callable[[], float] = time.monotonic
    _session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _wrong: list[float] = field(default_factory=list)

    @property
    def cookie(self) -> str:
        """Its name: cookies know no ports, and two studios may run."""
        return f"unveil-{self.hosts[0].rpartition(':')[2]}"

    @property
    def address(self) -> str:
        """What is printed and opened, once."""
        return f"{self.scheme}://{self.hosts[0]}/?token={self.token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # no other protocol is spoken here: a web socket is closed
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008})
            return

        async def leave(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refused = self._refusal(scope)
        await (self.app if refused is None else refused)(scope, receive, leave)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if self.owner and self._user(scope) not in (None, 0, self.owner):
            return PlainTextResponse("This studio is another user's.", 403)
        if headers.getlist("host") not in [[host] for host in self.hosts]:
            return PlainTextResponse("This is not the address of the studio.", 421)
        origins = [f"{self.scheme}://{host}" for host in self.hosts]
        origin = headers.get("origin")
        if origin not in (None, *origins) or (origin is None and scope["method"] not in SAFE):
            return PlainTextResponse("This request comes from another page.", 403)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not self._navigates(scope, headers):
            return PlainTextResponse("This request comes from another page.", 403)
        if self._holds_cookie(headers):
            return None
        if self._too_many():
            return PlainTextResponse("Too many wrong tokens; wait a minute.", 429, {"retry-after": f"{SECONDS:.0f}"})
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and scope["method"] == "GET" and self._is_token(given):
            return self._admitted()
        if given or self.cookie in headers.get("cookie", ""):
            self._wrong.append(self.clock())
        return PlainTextResponse(
            "Open the address that unveil studio printed. It works once; start the studio again for a new one.", 403
        )

    def _user(self, scope: Scope) -> int | None:
        client, server = scope.get("client"), scope.get("server")
        return user_of(client, server) if client and server and is_loopback(client[0]) else None

    def _navigates(self, scope: Scope, headers: Headers) -> bool:
        """A link on another page may open the studio: it brings no cookie, which is strict, and changes nothing."""
        return scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"

    def _is_token(self, given: str) -> bool:
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def _admitted(self) -> Response:
        self.token = None
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self.cookie, self._session, httponly=True, samesite="strict", secure=self.scheme == "https")
        return answer

    def _holds_cookie(self, headers: Headers) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self._session.encode())

    def _too_many(self) -> bool:
        self._wrong = [at for at in self._wrong if self.clock() - at < SECONDS]
        return len(self._wrong) >= TRIES
