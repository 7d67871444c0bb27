"""A web server on loopback for tests, and time that passes only when somebody sleeps."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from iconotext.read.web.fetch import public_address


@dataclass
class Page:
    """What the server answers: once for each entry of ``statuses``, the last one for ever."""

    body: bytes = b""
    kind: str | None = "image/png"
    statuses: tuple[int, ...] = (200,)
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0  # seconds between two bytes of the body
    endless: bool = False


class QuietHandler(BaseHTTPRequestHandler):
    """Answers requests without a log on stderr."""

    def log_message(self, *_):
        pass


class Web:
    """Pages by address; every host of ``.example`` leads here. Counts what was asked for, host and path."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: Counter[str] = Counter()
        self.order: list[str] = []
        self.port = 0

    def put(self, address: str, body: bytes = b"", **more) -> str:
        """Put a page at ``host.example/path``, and give its whole address."""
        self.pages[address] = Page(body, **more)
        return self.address(address)

    def address(self, address: str) -> str:
        host, _, path = address.partition("/")
        return f"http://{host}:{self.port}/{path}"

    def lookup(self, host: str, port: int) -> str:
        """Like ``public_address``, but hosts of ``.example`` are here."""
        return "127.0.0.1" if host.endswith(".example") else public_address(host, port)


@contextmanager
def serving() -> Iterator[Web]:
    """A web while the block runs."""
    web = Web()

    class Handler(QuietHandler):
        def do_GET(self):
            address = f"{urlsplit('//' + self.headers['Host']).hostname}{self.path}"
            number = web.asked[address]
            web.asked[address] += 1
            web.order.append(address)
            page = web.pages.get(address, Page(statuses=(404,)))
            self.send_response(page.statuses[min(number, len(page.statuses) - 1)])
            if page.kind is not None:
                self.send_header("Content-Type", page.kind)
            for name, value in page.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                while page.endless:
                    self.wfile.write(b"x" * 65536)
                for i in range(len(page.body)) if page.pause else ():
                    self.wfile.write(page.body[i : i + 1])
                    self.wfile.flush()
                    time.sleep(page.pause)
                if not page.pause:
                    self.wfile.write(page.body)
            except OSError:
                pass

    with on_loopback(Handler) as web.port:
        yield web


@contextmanager
def on_loopback(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Answer requests in threads while the block runs, at the port that it gets."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        httpd.daemon_threads = True
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield httpd.server_port
        finally:
            httpd.shutdown()
            thread.join()


class Time:
    """A clock that goes on only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
