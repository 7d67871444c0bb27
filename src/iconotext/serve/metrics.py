"""Counts for Prometheus: requests, waiting and running work, linked documents."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from iconotext.serve.pool import Pool

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
