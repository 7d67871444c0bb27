"""How connections are held: one whose request does not come soon is closed, so that idle ones cannot fill it."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Seconds that the first line and the headers of a request may take, from the beginning of the connection."""


class Protocol(H11Protocol):
    """HTTP, with a limit on the time until the first request is there."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Begin to wait for the request."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._end_unless_asked)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _end_unless_asked(self) -> None:
        asked: object = self.cycle
        if asked is None:  # whatever uvicorn says of its type
            self.transport.close()
