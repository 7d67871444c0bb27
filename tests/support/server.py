"""A server in a process of its own, as people start it, the files that it gets, and the requests to it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from anyio.from_thread import start_blocking_portal
from PIL import Image, ImageDraw

ARTICLE = """# Boats and trams

A red boat lies in the harbour.

![A red boat](red.png)

*A red boat in the harbour*

The green tram waits at the stop. Its driver drinks coffee.

![A green tram](green.png)

*The green tram at the stop*

Nothing else happened that day.
"""


WITHOUT_ALT = """# By the river

Figure 1 shows a red tram at a stop beside the river. People wait under the roof.

![](tram.png)

*Figure 1*

The boats lie in the harbour all winter.

![IMG_0042](boat.png)

Here one sees the old bridge. It was built of stone.

![The old bridge, three arches of stone](bridge.png)
"""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    """A server that runs; ``ask`` asks it as a program with the key does, unless headers say otherwise."""

    def __init__(self, data: Path, *options: str, before: str = "") -> None:
        self.data = data
        program = f"{before}\nfrom iconotext_program import main\nmain()"
        command = [sys.executable, "-c", program, "serve", "--data", str(data), "--port", "0", "--no-browser"]
        self.process = subprocess.Popen(
            [*command, *options], stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
        self.said: list[str] = []  # what it writes on stderr, read at once: a full pipe would stop it
        self._addresses = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address = self.next_address()
        self.port = int(re.findall(r":(\d+)/", self.address)[0])
        self.key = (data / "key").read_text().strip()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)

    def next_address(self) -> str:
        """The newest address that was printed, and was not asked for yet."""

        def newest() -> str | None:
            found = re.findall(r"^Open (http\S+)$", "".join(self.said), re.MULTILINE)
            return found[-1] if len(found) > self._addresses else None

        address: str = wait_for(lambda: newest() or (self.process.poll() is not None and "".join(self.said)))
        assert address.startswith("http"), address
        self._addresses += 1
        return address

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, *, key: bool = True
    ) -> Answer:
        sent = {"Authorization": f"Bearer {self.key}"} if key else {}
        if body is not None and not isinstance(body, bytes):
            body, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=300)) as connection:
            connection.request(method, path, body, sent | (headers or {}))
            with connection.getresponse() as answer:
                given = {k.lower(): v for k, v in answer.getheaders()}
                stream = given.get("content-type", "").startswith("text/event-stream")  # it never ends
                return Answer(answer.status, given, answer.readline() if stream else answer.read())

    def send(self, files: dict[str, bytes], path: str = "/v1/collections") -> Answer:
        return self.ask("POST", path, multipart(files), {"Content-Type": "multipart/form-data; boundary=xxx"})

    def open(self, path: str) -> Any:
        """What the server says of a document or a folder below its root, once all is done."""
        return self.linked(self.ask("POST", "/v1/collections/path", {"path": path}).json["id"])

    def linked(self, collection: str, state: str = "done") -> Any:
        """What the server says of a collection once all is done."""
        return wait_for(lambda: self._in_state(collection, state))

    def _in_state(self, collection: str, state: str) -> Any:
        found = self.ask("GET", f"/v1/collections/{collection}").json
        return found if found["state"] == state else None

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._end()

    def _end(self) -> None:
        try:
            self.process.wait(timeout=300)
        finally:
            self.process.kill()
            self._reader.join()
            if self.process.stderr is not None:
                self.process.stderr.close()

    def end(self) -> list[str]:
        """End it as its owner does; what was on stderr besides addresses, and what it serves."""
        self.process.terminate()
        self._end()
        return [line for line in self.said if not line.startswith(("Open http", "iconotext: stopped; "))]

    def close(self) -> None:
        """End it; nothing else may have been on stderr."""
        unexpected = self.end()
        assert unexpected == [], "".join(unexpected)  # scripts use this class too, and show only the message


def awaited(function: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
    """What comes of a coroutine function, in a loop in another thread: browser tests leave one running in this one."""
    with start_blocking_portal() as portal:
        return portal.call(function, *arguments)


def wait_for(look: Callable[[], Any], seconds: float = 600) -> Any:
    """What a function gives as soon as it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come")


def multipart(files: dict[str, bytes]) -> bytes:
    """Files as a browser sends them."""
    parts = [
        f'--xxx\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'.encode() + data + b"\r\n"
        for name, data in files.items()
    ]
    return b"".join(parts) + b"--xxx--\r\n"


def png(colour: tuple[int, int, int], folder: Path) -> bytes:
    pixels = np.full((90, 120, 3), colour, np.uint8)
    pixels[20:60, 30:90] = 255 - pixels[20:60, 30:90]
    Image.fromarray(pixels).save(folder / "one.png")
    return (folder / "one.png").read_bytes()


def article_files(folder: Path) -> dict[str, bytes]:
    """A document with two pictures, as files of a folder."""
    return {
        "trip/article.md": ARTICLE.encode(),
        "trip/red.png": png((200, 20, 20), folder),
        "trip/green.png": png((20, 160, 40), folder),
    }


def drawn(folder: Path, name: str, colour: str) -> None:
    """A shape on a ground, 240 x 220 pixels."""
    image = Image.new("RGB", (240, 220), "white")
    ImageDraw.Draw(image).rectangle((40, 60, 200, 160), fill=colour)
    image.save(folder / name)


def write_article(folder: Path, name: str = "article.md", text: str = WITHOUT_ALT) -> Path:
    """An article with a picture without text, one with a bad one, and one with a good one."""
    folder.mkdir(parents=True, exist_ok=True)
    for picture, colour in (("tram.png", "red"), ("boat.png", "blue"), ("bridge.png", "gray")):
        drawn(folder, picture, colour)
    (folder / name).write_bytes(text.encode())
    return folder / name


def dropped(writer: Running, folder: Path) -> tuple[str, int]:
    files = {f"trip/{path.name}": path.read_bytes() for path in sorted(folder.iterdir())}
    made = writer.send(files).json
    return made["id"], writer.linked(made["id"])["documents"][0]["id"]


def described(writer: Running, document: int) -> Any:
    answer = writer.ask("GET", f"/v1/documents/{document}/alt-text")
    assert answer.status == 200, answer.body
    return answer.json


def say(writer: Running, document: int, key: str, text: str | None) -> int:
    return writer.ask("POST", f"/v1/documents/{document}/alt-text", {"key": key, "text": text}).status


def verdict(document: int, picture: int, *sentences: int, reviewer: str = "Ada") -> dict[str, Any]:
    return {"document": document, "picture": picture, "sentences": list(sentences), "reviewer": reviewer}


def learned(server: Running, home: str) -> Any:
    """The review of a collection once all verdicts were learned."""
    return wait_for(lambda: (found := server.ask("GET", f"{home}/review").json)["current"] and found)


@pytest.fixture(scope="session")
def article(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A document with two pictures, as files of a folder."""
    return article_files(tmp_path_factory.mktemp("article"))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the tests of a module write documents."""
    return tmp_path_factory.mktemp("desk")


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory, desk: Path) -> Iterator[Running]:
    """A server that may write there."""
    with Running(tmp_path_factory.mktemp("serve") / "data", "--root", str(desk), "--write") as running:
        yield running
