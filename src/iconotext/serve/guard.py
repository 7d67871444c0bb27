"""The guard before all routes: checks the sender of every request and the amount of data, and issues cookies.

``Guard`` wraps the application, ``Access`` knows the tokens, cookies and the key. The checks in order: the host name in
the request (another site's name may point to this server: DNS rebinding), whether another site's page sent the request,
who sent it, and then its size and speed. Every answer tells the browser what its page may load: only this server.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import os
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from iconotext.errors import FullDiskError
from iconotext.plain_text import data_size
from iconotext.read.web.fetch import is_loopback
from iconotext.serve.settings import ServeSettings
from iconotext.serve.store import Store

DAYS = 30
"""Days for which a cookie is valid."""

MAX_TOKENS = 5
"""Number of printed addresses that are valid and unused; the oldest of more become invalid."""


class Access:
    """Checks who may use a server."""

    def __init__(self, store: Store, port: int, folder: Path) -> None:
        self._store = store
        self._tokens: list[bytes] = []
        self._lock = threading.Lock()
        self._key = digest(read_key(folder / "key"))
        self.cookie = f"iconotext-{port}"  # with the port: cookies do not tell ports apart
        self.seconds = DAYS * 24 * 3600
        self.on_use: Callable[[], None] = lambda: None
        """Called when an address was used, so that a new one can be printed."""

    def new_token(self) -> str:
        """A new token, with which an address can be opened once: browsers and terminals keep addresses."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens = [*self._tokens, digest(token)][-MAX_TOKENS:]
        return token

    def redeem(self, token: str) -> str | None:
        """A cookie in exchange for a token, which becomes invalid; None for an invalid token."""
        with self._lock:
            matches = [stored for stored in self._tokens if hmac.compare_digest(stored, digest(token))]
            if not matches:
                return None
            cookie = secrets.token_urlsafe(32)
            self._store.add_session(digest(cookie))  # if this fails, the address still works
            self._tokens.remove(matches[0])
        self.on_use()
        return cookie

    def has_access(self, headers: Mapping[str, str]) -> bool:
        """Whether a request has a valid cookie, or the key."""
        if self.has_key(headers.get("authorization", "")):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return cookie is not None and self._store.has_session(digest(cookie.value), self.seconds)

    def has_key(self, authorization: str) -> bool:
        """Whether an ``Authorization`` header has the key of programs."""
        scheme, _, key = authorization.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(self._key, digest(key.strip()))


def digest(secret: str) -> bytes:
    """The hash that is stored and compared instead of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def read_key(file: Path) -> str:
    """The key for programs, created if missing; only the owner of the file can read it."""
    if file.is_file() and (stored := file.read_text(encoding="ascii").strip()):
        return stored
    key = secrets.token_urlsafe(32)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as stream:
        stream.write(key + "\n")
    return key


HEAD_SECONDS = 10.0
"""Maximum time in seconds for the first line and the headers of a connection's first request."""


class Protocol(H11Protocol):
    """HTTP with a limit on the time until the first request, so that silent clients cannot take all connections."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Start the timer."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._end_unless_asked)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _end_unless_asked(self) -> None:
        request: object = self.cycle
        if request is None:  # possible, although uvicorn's type excludes it
            self.transport.close()


MAX_BODY = 256 * 2**10
"""Maximum size in bytes of a request without files."""

MAX_BODY_SECONDS = 600.0
"""Maximum time in seconds for receiving a request's body."""

MAX_PAUSE = 30.0
"""Maximum pause in seconds between two pieces of the body."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The policy of every page without one of its own."""

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
SAFE = ("GET", "HEAD")

FULL = "The disk of the server is full, so nothing was saved: free some space there, then do the same again.\n"

REFUSED = (
    "This server answers to the address that it printed. Each address works once: take the newest one from the "
    "terminal where iconotext serve runs.\n"
)


class Guard:
    """The outermost layer of the application, so that no route can lack it.

    Args:
        uploads: Paths to which files are sent.
        open_paths: Paths that need no access rights.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: ServeSettings,
        access: Access,
        uploads: Collection[str],
        open_paths: Collection[str],
    ) -> None:
        self._app, self._settings, self._access = app, settings, access
        self._uploads, self._open = uploads, open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_headers(send)
        try:
            answer = self._refusal(scope)
        except FullDiskError:
            answer = _refused(scope, FULL, 507)
        if answer is not None:
            await answer(scope, receive, send)
            return
        with contextlib.suppress(ClientDisconnect):  # the client has left; nothing went wrong here
            path = scope["path"]
            await self._app(scope, _bounded(receive, self._limit(path), self._too_large(path)), send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = _single(scope["headers"])
        host = headers.get("host", "")
        if not is_own_name(host, self._settings):
            return _refused(scope, "This server is not called by that name.\n", 421)
        if not _from_here(headers, host):
            return _refused(scope, "Requests from other sites are refused.\n", 403)
        path, method = scope["path"], scope["method"]
        if path in self._open and method in SAFE:
            return None
        if method not in SAFE and "sec-fetch-site" not in headers and "origin" not in headers:
            # A browser names the site that sent a request. A program identifies itself.
            if not self._access.has_key(headers.get("authorization", "")):
                return _refused(scope, "Programs need the key: Authorization: Bearer ...\n", 401)
        elif not self._access.has_access(headers):
            return self._greeting(scope)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._limit(path):
            return _refused(scope, self._too_large(path), 413)
        return None

    def _greeting(self, scope: Scope) -> Response:
        """The answer to an unknown client: a cookie and a redirect if it opened a printed address."""
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        cookie = self._access.redeem(token) if scope["path"] == "/" and scope["method"] == "GET" else None
        if cookie is None:
            return _refused(scope, REFUSED, 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._access.cookie, cookie, max_age=self._access.seconds, path="/", httponly=True, samesite="strict"
        )
        return answer

    def _limit(self, path: str) -> int:
        return self._settings.max_upload + MAX_BODY if path in self._uploads else MAX_BODY

    def _too_large(self, path: str) -> str:
        return (
            too_large(self._settings) if path in self._uploads else f"More than {data_size(MAX_BODY)} without files.\n"
        )


def _refused(scope: Scope, text: str, status: int) -> Response:
    headers = {"connection": "close"} if status == 413 else None
    if scope["path"].startswith("/v1/"):
        return JSONResponse({"detail": text.strip()}, status, headers)
    return PlainTextResponse(text, status, headers)


def is_own_name(host: str, settings: ServeSettings) -> bool:
    """Whether a ``Host`` header has a name of this server."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    plain = all(sign.isalnum() or sign in ".-:[]" for sign in host)
    return plain and (is_loopback(name) or name in settings.allow)


def too_large(settings: ServeSettings) -> str:
    """The message for files that are too large together."""
    limit = f"{settings.max_upload:,} bytes ({data_size(settings.max_upload)})"
    return f"More than {limit} at once, the limit that `iconotext serve --max-upload` sets: send less.\n"


def _from_here(headers: dict[str, str], host: str) -> bool:
    """Whether no other site's page sent the request.

    Another port of this machine counts as another site (``same-site``), since cookies do not tell ports apart.
    """
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2].lower() == host.lower()


def _single(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name; repeated headers are joined, so that none of them can hide the other."""
    by_name: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        by_name[key] = f"{by_name[key]}, {text}" if key in by_name else text
    return by_name


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)  # a reading view has a policy of its own
        await send(message)

    return sent


def _bounded(receive: Receive, limit: int, too_large: str) -> Callable[[], Awaitable[Message]]:
    """The body of a request, limited in size and time; ``too_large`` is the message if it is longer."""
    size, begin, ended = 0, time.monotonic(), False

    async def received() -> Any:
        nonlocal size, ended
        if ended:  # next comes the end of the connection, however late
            return await receive()
        left = MAX_BODY_SECONDS - (time.monotonic() - begin)
        try:
            message = await asyncio.wait_for(receive(), max(min(left, MAX_PAUSE), 0))
        except TimeoutError:
            raise HTTPException(408, "the request came too slowly", {"connection": "close"}) from None
        ended = not message.get("more_body", False)
        size += len(message.get("body", b""))
        if size > limit:
            raise HTTPException(413, too_large.strip(), {"connection": "close"})
        return message

    return received
