"""What the application keeps, as parameters of its routes."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request

from iconotext.serve.jobs import Jobs


def of_app(name: str) -> Any:
    """What the application keeps under a name, for the parameter of a route."""

    async def kept(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(kept)


TheJobs = Annotated[Jobs, of_app("jobs")]
"""The jobs of the server, with its store and its settings."""
