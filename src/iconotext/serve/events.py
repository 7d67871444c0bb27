"""Server-sent events that tell open pages about changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

MAX_LISTENERS = 100
"""Pages that can listen at a time."""

MAX_BEHIND = 1_000
"""Undelivered events per page; with more, the stream ends, and the page opens a new one and reloads everything."""

BEAT = 15.0
"""Seconds between empty lines that are sent to notice closed pages."""


class Events:
    """Sends events to open pages.

    ``open`` must be called first, in the event loop that serves the pages.
    """

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[str | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self) -> None:
        """Start sending events."""
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """End all streams."""
        for listener in self._listeners:
            _put(listener, None)
        self._loop = None

    def send(self, kind: str, **values: Any) -> None:
        """Send an event to all pages."""
        text = f"event: {kind}\ndata: {json.dumps(values)}\n\n"
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._spread, text)

    @property
    def full(self) -> bool:
        """Whether the maximum number of pages is listening."""
        return len(self._listeners) >= MAX_LISTENERS

    async def stream(self) -> AsyncIterator[str]:
        """The events for a page, until it leaves."""
        queue: asyncio.Queue[str | None] = asyncio.Queue(MAX_BEHIND)
        self._listeners.add(queue)
        try:
            yield "event: hello\ndata: {}\n\n"  # the page now fetches what it may have missed
            while True:
                try:
                    text = await asyncio.wait_for(queue.get(), BEAT)
                except TimeoutError:
                    text = ": still here\n\n"
                if text is None:
                    return
                yield text
        finally:
            self._listeners.discard(queue)

    def _spread(self, text: str) -> None:
        for listener in self._listeners:
            _put(listener, text)


def _put(listener: asyncio.Queue[str | None], text: str | None) -> None:
    try:
        listener.put_nowait(text)
    except asyncio.QueueFull:  # the page does not read: its stream ends, so that memory does not grow
        while not listener.empty():
            listener.get_nowait()
        listener.put_nowait(None)
