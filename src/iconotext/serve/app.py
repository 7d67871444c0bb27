"""The server as a whole: builds the application from ``routes`` and ``guard``, and runs it."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, nullcontext
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exception_handlers import http_exception_handler
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from iconotext import __version__
from iconotext.alt_text.captioner import Captioner
from iconotext.errors import FullDiskError, SettingError
from iconotext.plain_text import encodable, shortened
from iconotext.recipe.toml import wrong_value
from iconotext.serve import search, work
from iconotext.serve.follow import Follower
from iconotext.serve.guard import FULL, Access, Guard, Protocol
from iconotext.serve.jobs import Jobs
from iconotext.serve.pool import BusyError, Pool
from iconotext.serve.routes import ROUTES
from iconotext.serve.settings import ServeSettings
from iconotext.serve.store import Store
from iconotext.system.files import is_full_disk, locked, reporting_full_disk

MAX_CONNECTIONS = 500
"""Maximum number of connections; further clients are asked to come again."""


def make_app(settings: ServeSettings, access: Access, jobs: Jobs) -> ASGIApp:
    """Build the application, with the guard before it."""
    return Guard(
        make_routes(settings, jobs),
        settings=settings,
        access=access,
        uploads={route.address for route in ROUTES if route.files},
        open_paths={route.address for route in ROUTES if route.open},
    )


def make_routes(settings: ServeSettings, jobs: Jobs) -> FastAPI:
    """Build the application without the guard: the routes that the settings allow, and the answers to errors."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        jobs.events.open()
        with ExitStack() as ends:
            if settings.library is not None:
                app.state.finder.open()
                ends.enter_context(closing(app.state.finder.pool))
            yield
        jobs.events.close()

    app = FastAPI(
        title="iconotext",
        version=__version__,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        servers=[{"url": "/"}],  # generated clients want one
        # Only for the description of the API: the guard has checked the key before.
        dependencies=[Depends(HTTPBearer(auto_error=False, description="The key in the file of the data folder."))],
        # The name of a route in generated clients, such as ``programs_link``.
        generate_unique_id_function=lambda route: "_".join((*map(str, route.tags), route.name)),
    )

    @app.exception_handler(BusyError)
    def busy(_: Request, error: BusyError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 503, {"retry-after": "60"})

    @app.exception_handler(FullDiskError)
    @app.exception_handler(OSError)
    @app.exception_handler(HTTPException)
    async def failed(request: Request, error: Exception) -> Response:
        if is_full_disk(error):  # also if a route has turned it into an HTTPException
            return JSONResponse({"detail": FULL.strip()}, 507)
        if isinstance(error, HTTPException):
            return await http_exception_handler(request, error)
        raise error

    @app.exception_handler(RequestValidationError)
    def wrong(_: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"detail": encodable("; ".join(map(_wrong_value, error.errors())))}, 422)

    app.state.jobs = jobs
    if settings.library is not None:
        app.state.finder = search.Finder(settings, settings.library)
    options = {
        "": True,
        "--library": settings.library is not None,
        "--captioner": jobs.captioner is not None,
    }
    for route in ROUTES:
        if options[route.option]:
            route.add_to(app)
    return app


def _wrong_value(problem: Mapping[str, Any]) -> str:
    """A sentence about a parameter or a field of the body, from an entry of pydantic's ``errors()``."""
    place, *names = problem["loc"]
    where = ".".join(name for name in names if isinstance(name, str)) or "the body"
    if problem["type"] == "json_invalid":
        return f"the body is not JSON: {problem['ctx']['error']}"
    if problem["type"] == "model_attributes_type":
        return f"{where} must be a JSON object, sent with Content-Type: application/json"
    noun = "field" if place == "body" else "parameter"
    plain = {"extra_forbidden": f"there is no such {noun}", "missing": "it is missing"}
    return f"{where}: {plain.get(problem['type']) or shortened(wrong_value(problem), 300)}"


@contextmanager
def open_data(settings: ServeSettings) -> Iterator[Store]:
    """The database of a server, in a folder that only its owner can read; no other server can use it meanwhile.

    Raises:
        SettingError: The folder cannot be used, or another server uses it.
    """
    data = settings.data
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        (data / "lock").touch(mode=0o600)
        (data / ".gitignore").write_text("*\n", encoding="ascii")  # uploaded files must not be committed
    except OSError as error:
        raise SettingError(f"{data}: cannot be used: {error.strerror}") from error
    busy = "another server uses it: stop that one, or name another folder"
    with locked(data / "lock", busy, SettingError), closing(Store(data / "serve.sqlite")) as store:
        yield store


def run(
    settings: ServeSettings, model: str, announce: Callable[[str], None], captioner: Captioner | None = None
) -> None:
    """Run the server until it is stopped.

    Args:
        captioner: The vision model that people may ask for drafts of alternative texts.
        announce: Called with the address at the start, and with a new address whenever one was used.
    """
    import uvicorn

    if settings.root is not None and not settings.root.is_dir():
        raise SettingError(f"{settings.root}: no folder, as the root must be")
    if settings.library is not None:
        search.check_library(settings.library)
    with (
        reporting_full_disk(settings.data),
        open_data(settings) as store,
        listen(settings) as listener,
        closing(Pool(settings.workers, work.prepare, model)) as pool,
        closing(Jobs(store, pool, settings, captioner)) as jobs,
        closing(Follower(jobs)) if settings.root is not None else nullcontext(),
    ):
        port = listener.getsockname()[1]
        access = Access(store, port, settings.data)

        def announce_address() -> None:
            host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host
            announce(f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={access.new_token()}")

        access.on_use = announce_address
        config = uvicorn.Config(
            make_app(settings, access, jobs),
            http=Protocol,
            ws="none",
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=2,
        )
        announce_address()
        uvicorn.Server(config).run(sockets=[listener])


def listen(settings: ServeSettings) -> socket.socket:
    """A socket at the address of the server.

    Raises:
        SettingError: The address cannot be used, or the port is taken.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With the protocol named, asyncio sends small answers at once instead of waiting 40 ms for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(128)  # now, since the address is printed before the server answers
    except OSError as error:
        listener.close()
        problem = f"cannot listen at {settings.host}, port {settings.port}: {error.strerror}"
        raise SettingError(f"{problem}: name another port, or 0 for a free one") from error
    return listener
