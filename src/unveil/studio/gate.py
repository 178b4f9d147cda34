"""The gate: whatever comes to the studio passes it first, and whatever leaves gets its headers.

Only our own address as Host (a name that was rebound to this machine is refused), only our own Origin for what changes
something, and only who holds the cookie, which the one-time token of the printed address is exchanged for.
"""

import hmac
import ipaddress
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Gate", "is_loopback"]

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


@dataclass
class Gate:
    """The middleware. `hosts`: what a browser may call us, each with its port."""

    app: ASGIApp
    hosts: tuple[str, ...]
    scheme: str = "http"
    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)  # None: it was used
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
