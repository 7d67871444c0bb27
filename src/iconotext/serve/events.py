"""Server-sent events that tell open pages about changes (``Events``), and counts for Prometheus (``Metrics``)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from iconotext.serve.pool import Pool

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


METHODS = frozenset(("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"))
"""Methods that are counted by name; others are counted together, since clients may invent any number of them."""

SECONDS = (0.005, 0.02, 0.1, 0.3, 1, 3, 10, 30, 100, 600)
"""Upper bounds of the histogram of durations, in seconds."""


class Metrics:
    """The counts of a server."""

    def __init__(self, pool: Pool) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "iconotext_requests", "Answered requests.", ["method", "route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "iconotext_request_seconds", "Until the answer was sent.", ["route"], buckets=SECONDS, registry=registry
        )
        self._documents = Counter("iconotext_documents_linked", "Documents that were linked.", registry=registry)
        self._links = Counter("iconotext_links", "Links that were found.", registry=registry)
        Gauge("iconotext_queue_length", "Calls that wait for a process.", registry=registry).set_function(
            lambda: pool.waiting
        )
        Gauge("iconotext_busy_processes", "Processes that are at work.", registry=registry).set_function(
            lambda: pool.busy
        )

    def linked(self, documents: int, links: int) -> None:
        """Count documents and their links."""
        self._documents.inc(documents)
        self._links.inc(links)

    def text(self) -> bytes:
        """All counts, in the format of Prometheus."""
        return generate_latest(self._registry)

    def counting(self, app: ASGIApp) -> ASGIApp:
        """Wrap an application to count its requests."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            begin, status = time.perf_counter(), "none"  # if the client leaves before the answer

            async def sent(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = str(message["status"])
                await send(message)

            try:
                await app(scope, receive, sent)
            finally:
                # The pattern of the route, not the path: clients may invent any number of paths.
                route = getattr(scope.get("route"), "path", "none")
                method = scope["method"] if scope["method"] in METHODS else "other"
                self._requests.labels(method, route, status).inc()
                self._seconds.labels(route).observe(time.perf_counter() - begin)

        return counted
