"""The table of pages and addresses is what the application has."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fastapi.routing import APIRoute

from iconotext.serve import search
from iconotext.serve.app import make_routes
from iconotext.serve.routes import CALLS, ROUTES
from iconotext.serve.settings import ServeSettings


def requests(monkeypatch, captioner=None, **chosen) -> tuple[set[str], set[str]]:
    """The requests of an application, and those that its description has."""
    monkeypatch.setattr(search, "Pool", lambda *_: None)
    jobs: Any = SimpleNamespace(captioner=captioner)
    made = make_routes(ServeSettings(**chosen), jobs)
    routes = {
        f"{method} {route.path}" for route in made.routes if isinstance(route, APIRoute) for method in route.methods
    }
    described = {f"{method.upper()} {path}" for path, methods in made.openapi()["paths"].items() for method in methods}
    return routes, described


def test_every_route_has_a_row_and_every_row_a_route(monkeypatch):
    routes, described = requests(monkeypatch, "seer", library=Path("lib"))
    assert routes == {row.request[0] for row in ROUTES}
    assert described == {row.request[0] for row in CALLS}
    assert len(ROUTES) == len(routes)


def test_a_row_that_needs_an_option_has_no_route_without_it(monkeypatch):
    routes, _ = requests(monkeypatch)
    assert routes == {row.request[0] for row in ROUTES if not row.option}


def test_every_row_is_described_in_one_sentence():
    assert [row.request for row in ROUTES if not row.summary.endswith(".")] == []
