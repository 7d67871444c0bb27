"""Closes connections whose first request does not come soon, so that idle ones cannot fill the server."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Maximum time in seconds for the first line and the headers of a connection's first request."""


class Protocol(H11Protocol):
    """HTTP with a limit on the time until the first request."""

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
        asked: object = self.cycle
        if asked is None:  # uvicorn's type says otherwise
            self.transport.close()
