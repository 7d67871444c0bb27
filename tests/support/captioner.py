"""A server of the chat-completions protocol on loopback, which says what a test wants, and remembers the requests."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.web import QuietHandler, on_loopback


@dataclass
class Said:
    """An answer, as it goes over the wire."""

    body: bytes
    status: int = 200
    kind: str | None = "application/json; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None  # stated, if it is not the true one
    pause: float = 0.0  # seconds before it


def completion(text: Any, *, finish: str = "stop", tokens: int | None = 1_000, **more: Any) -> Said:
    """An answer with a text, as servers give it."""
    data = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}]}
    usage = {} if tokens is None else {"usage": {"total_tokens": tokens}}
    return Said(json.dumps({"object": "chat.completion", **data, **usage}).encode(), **more)


def failure(status: int, message: str = "", **more: Any) -> Said:
    """An error, as servers tell it."""
    return Said(json.dumps({"error": {"message": message, "code": status}}).encode(), status, **more)


@dataclass
class Asked:
    """A request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """What was said about the picture."""
        text: str = self.body["messages"][1]["content"][1]["text"]
        return text

    @property
    def context(self) -> dict[str, Any]:
        context: dict[str, Any] = json.loads(self.text.partition(": ")[2])
        return context

    @property
    def picture(self) -> str:
        uri: str = self.body["messages"][1]["content"][0]["image_url"]["url"]
        return uri


class Server:
    """``say`` makes an answer of a request and its number, from 0."""

    def __init__(self) -> None:
        self.say: Callable[[Asked, int], Said] = lambda asked, number: completion(f"A shape of kind {number}")
        self.asked: list[Asked] = []
        self.others: list[str] = []  # requests of another kind
        self.port = 0
        self.most = 0  # at a time
        self._running = 0
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _begin(self, asked: Asked) -> int:
        with self._lock:
            self.asked.append(asked)
            self._running += 1
            self.most = max(self.most, self._running)
            return len(self.asked) - 1

    def _end(self) -> None:
        with self._lock:
            self._running -= 1


@contextmanager
def serving() -> Iterator[Server]:
    """A server while the block runs."""
    server = Server()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            server.others.append(self.path)
            self.send_error(404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked = Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(body))
            number = server._begin(asked)
            try:
                said = server.say(asked, number)
                time.sleep(said.pause)
                self.send_response(said.status)
                if said.kind is not None:
                    self.send_header("Content-Type", said.kind)
                for name, value in said.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(said.body) if said.length is None else said.length))
                self.end_headers()
                self.wfile.write(said.body)
            except OSError:
                pass  # the other side has gone
            finally:
                server._end()

    with on_loopback(Handler) as server.port:
        yield server
