"""Access to a server: for browsers that opened an address that it printed, and for programs with its key.

An address works once, and gives the browser a cookie that scripts cannot read and other sites cannot send. Browsers
share cookies between ports, so the cookie's name includes the port. The key for programs is in a file that only its
owner can read.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path

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
        self.cookie = f"iconotext-{port}"
        self.seconds = DAYS * 24 * 3600
        self.on_use: Callable[[], None] = lambda: None
        """Called when an address was used, so that a new one can be printed."""

    def new_token(self) -> str:
        """A new token, with which an address can be opened once."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens = [*self._tokens, digest(token)][-MAX_TOKENS:]
        return token

    def redeem(self, token: str) -> str | None:
        """A cookie in exchange for a token, which becomes invalid; None for an invalid token."""
        with self._lock:
            found = [known for known in self._tokens if hmac.compare_digest(known, digest(token))]
            if not found:
                return None
            cookie = secrets.token_urlsafe(32)
            self._store.add_session(digest(cookie))  # where that fails, the address still works
            self._tokens.remove(found[0])
        self.on_use()
        return cookie

    def is_known(self, headers: Mapping[str, str]) -> bool:
        """Whether a request has a valid cookie, or the key."""
        if self.is_key(headers.get("authorization", "")):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return cookie is not None and self._store.has_session(digest(cookie.value), self.seconds)

    def is_key(self, authorization: str) -> bool:
        """Whether an ``Authorization`` header has the key of programs."""
        scheme, _, key = authorization.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(self._key, digest(key.strip()))


def digest(secret: str) -> bytes:
    """The hash that is stored and compared instead of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def read_key(file: Path) -> str:
    """The key for programs, created if missing; only the owner of the file can read it."""
    if file.is_file() and (known := file.read_text(encoding="ascii").strip()):
        return known
    key = secrets.token_urlsafe(32)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as stream:
        stream.write(key + "\n")
    return key
