"""Tells open pages that something has changed: server-sent events, from any thread."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

MAX_LISTENERS = 100
"""Pages that are told at once."""

MAX_BEHIND = 1_000
"""Events that a page may be behind; of more, the stream ends, and the page opens a new one and looks at everything."""

BEAT = 15.0
"""Seconds after which a line without meaning is sent, so that a closed page is noticed."""


class Events:
    """What open pages are told.

    ``open`` must have been called in the loop that serves the pages before anything is told.
    """

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[str | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self) -> None:
        """Tell from now on."""
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """End all streams."""
        for listener in self._listeners:
            _put(listener, None)
        self._loop = None

    def tell(self, kind: str, **values: Any) -> None:
        """Tell all pages; where nobody listens, nothing happens."""
        text = f"event: {kind}\ndata: {json.dumps(values)}\n\n"
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._spread, text)

    @property
    def full(self) -> bool:
        """Whether as many listen as may."""
        return len(self._listeners) >= MAX_LISTENERS

    async def stream(self) -> AsyncIterator[str]:
        """What a page is told, until it goes."""
        queue: asyncio.Queue[str | None] = asyncio.Queue(MAX_BEHIND)
        self._listeners.add(queue)
        try:
            yield "event: hello\ndata: {}\n\n"
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
    except asyncio.QueueFull:
        while not listener.empty():
            listener.get_nowait()
        listener.put_nowait(None)
