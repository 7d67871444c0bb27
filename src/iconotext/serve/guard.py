"""What stands before every request: who may ask, from where, and how much.

In this order: the name by which the server was called (a page of another site whose name was made to point here has
the wrong one: DNS rebinding), whether the page of another site asks, who asks, and then how much comes and how slowly.
Every answer says what its page may do: load from here, and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from iconotext.serve.access import Access
from iconotext.serve.settings import ServeSettings, is_loopback

MAX_BODY = 256 * 2**10
"""Bytes of a request that brings no files."""

MAX_BODY_SECONDS = 600.0
"""Seconds that the body of a request may take to come."""

MAX_PAUSE = 30.0
"""Seconds between two pieces of it."""

UPLOADS = ("/v1/collections", "/v1/link", "/v1/context", "/v1/chunks", "/v1/alt-text", "/v1/search/pictures")
"""Where files are sent to."""

OPEN = ("/v1/health",)
"""What anybody may ask who can reach the server: it says nothing but that it is there."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The policy of every page that names none of its own."""

HEADERS = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
SAFE = ("GET", "HEAD")

REFUSED = (
    "This server answers to the address that it printed. Each address works once: take the newest one from the "
    "terminal where iconotext serve runs.\n"
)


class Guard:
    """The outermost part of the application."""

    def __init__(self, app: ASGIApp, *, settings: ServeSettings, access: Access) -> None:
        self._app, self._settings, self._access = app, settings, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let it pass."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_headers(send)
        answer = self._refusal(scope)
        if answer is not None:
            await answer(scope, receive, send)
            return
        with contextlib.suppress(ClientDisconnect):  # nobody is left to answer, and nothing went wrong here
            await self._app(scope, _bounded(receive, self._limit(scope["path"])), send)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that may not pass; None for one that may."""
        headers = _single(scope["headers"])
        host = headers.get("host", "")
        if not is_own_name(host, self._settings):
            return _said(scope, "This server is not called by that name.\n", 421)
        if not _from_here(headers, host):
            return _said(scope, "Requests from other sites are refused.\n", 403)
        path, method = scope["path"], scope["method"]
        if path in OPEN and method in SAFE:
            return None
        if method not in SAFE and "sec-fetch-site" not in headers and "origin" not in headers:
            # A browser says where a request comes from. A program says who it is.
            if not self._access.is_key(headers.get("authorization", "")):
                return _said(scope, "Programs need the key: Authorization: Bearer ...\n", 401)
        elif not self._access.is_known(headers):
            return self._greeting(scope)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._limit(path):
            return _said(scope, too_large(self._limit(path)), 413)
        return None

    def _greeting(self, scope: Scope) -> Response:
        """The answer to somebody who is not known: in, with a cookie, where the address is a printed one."""
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        cookie = self._access.redeem(token) if scope["path"] == "/" and scope["method"] == "GET" else None
        if cookie is None:
            return _said(scope, REFUSED, 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._access.cookie, cookie, max_age=self._access.seconds, path="/", httponly=True, samesite="strict"
        )
        return answer

    def _limit(self, path: str) -> int:
        return self._settings.max_upload + MAX_BODY if path in UPLOADS else MAX_BODY


def _said(scope: Scope, text: str, status: int) -> Response:
    """A refusal, for programs as they get all others; the connection ends with what may still come on it."""
    headers = {"connection": "close"} if status == 413 else None
    if scope["path"].startswith("/v1/"):
        return JSONResponse({"detail": text.strip()}, status, headers)
    return PlainTextResponse(text, status, headers)


def is_own_name(host: str, settings: ServeSettings) -> bool:
    """Whether a ``Host`` header calls this server by a name that it has."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    plain = all(sign.isalnum() or sign in ".-:[]" for sign in host)
    return plain and (is_loopback(name) or name in settings.allow)


def too_large(limit: int) -> str:
    """What to say of more than may come."""
    return f"More than the limit of {limit / 2**20:.3g} MiB: send less at once.\n"


def _from_here(headers: dict[str, str], host: str) -> bool:
    """Whether no page of another site asks. Another port of this machine is another site."""
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc.lower() == host.lower()


def _single(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name; of one that came twice, both, so that neither passes for the other."""
    found: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            known = {name.lower() for name, _ in message["headers"]}
            own = HEADERS | {"content-security-policy": POLICY, "cache-control": "no-store"}
            message["headers"] = [
                *message["headers"],
                *((name.encode(), value.encode()) for name, value in own.items() if name.encode() not in known),
            ]
        await send(message)

    return sent


def _bounded(receive: Receive, limit: int) -> Callable[[], Awaitable[Message]]:
    """The body of a request, up to a size and to a time."""
    size, begin, ended = 0, time.monotonic(), False

    async def received() -> Any:
        nonlocal size, ended
        if ended:  # what comes now is the end of the connection, for which a long answer waits
            return await receive()
        left = MAX_BODY_SECONDS - (time.monotonic() - begin)
        try:
            message = await asyncio.wait_for(receive(), max(min(left, MAX_PAUSE), 0))
        except TimeoutError:
            raise HTTPException(408, "the request came too slowly", {"connection": "close"}) from None
        ended = not message.get("more_body", False)
        size += len(message.get("body", b""))
        if size > limit:
            raise HTTPException(413, too_large(limit), {"connection": "close"})
        return message

    return received
