"""What programs are told when a process cannot answer: an application in this process, whose pool is made up."""

from __future__ import annotations

import socket
from concurrent.futures import Future
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from fastapi import HTTPException
from starlette.testclient import TestClient

from iconotext.errors import DocumentError
from iconotext.serve.app import listen, make_app, open_data
from iconotext.serve.collections import sent_once
from iconotext.serve.guard import Access
from iconotext.serve.jobs import Jobs
from iconotext.serve.pool import BusyError
from iconotext.serve.settings import ServeSettings
from iconotext.serve.store import Store
from iconotext.system.processes import GoneError, LateError
from tests.support.server import awaited, wait_for


class MadeUp:
    """A pool whose calls have one end."""

    waiting, busy = 3, 1

    def __init__(self, end: bytes | Exception) -> None:
        self.end, self.full = end, False
        self.calls: list[tuple[object, ...]] = []

    def check(self) -> None:
        if self.full:
            raise BusyError("too much is waiting already")

    def submit(self, *call: object) -> Future[bytes]:
        self.calls.append(call)
        if isinstance(self.end, BusyError):
            raise self.end
        future: Future[bytes] = Future()
        if isinstance(self.end, Exception):
            future.set_exception(self.end)
        else:
            future.set_result(self.end)
        return future


@pytest.fixture
def asked(tmp_path):
    """Asks for links of a file, and says with which status and headers that ends."""
    chosen = ServeSettings(data=tmp_path / "data")
    with open_data(chosen) as store:
        pool = MadeUp(b"[]")
        jobs = Jobs(store, pool, chosen)
        app = make_app(chosen, Access(store, chosen.port, chosen.data), jobs)
        key = {"authorization": f"Bearer {(chosen.data / 'key').read_text().strip()}"}
        client = TestClient(app, "http://localhost", headers=key)

        def ask(path: str = "/v1/link") -> httpx2.Response:
            answer = client.post(path, files=[("files", ("a.md", b"A."))])
            assert not list((chosen.data / "asked").glob("*"))
            return answer

        ask.pool, ask.client = pool, client  # type: ignore[attr-defined]  # a function carries what tests look at
        yield ask
        jobs.close()


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (DocumentError("a.md: broken"), 400),
        (LateError("it takes more than 600 seconds"), 504),
        (GoneError("a bug of iconotext"), 500),
        (BusyError("too much is waiting already"), 503),
    ],
)
def test_every_end_of_a_process_has_its_status(asked, end, status):
    asked.pool.end = end
    answer = asked()
    assert (answer.status_code, answer.json()) == (status, {"detail": str(end)})
    assert answer.headers.get("retry-after") == ("60" if status == 503 else None)


def test_where_the_queue_is_full_no_file_is_read(asked):
    asked.pool.full = True
    answer = asked()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
    assert asked.pool.calls == []


@pytest.mark.parametrize("end", [BusyError("too much is waiting already"), DocumentError("a.md: broken")])
def test_a_file_waits_for_a_free_process_and_is_refused_where_it_cannot_be_made(tmp_path, end):
    jobs: Any = SimpleNamespace(exports=tmp_path, pool=MadeUp(end), settings=SimpleNamespace(max_seconds=1))
    expected = BusyError if isinstance(end, BusyError) else HTTPException  # 503 is not 409
    with pytest.raises(expected) as refused:
        awaited(sent_once, jobs, "a.zip", "application/zip", print, [], "a")
    assert getattr(refused.value, "status_code", None) == (None if isinstance(end, BusyError) else 409)


def test_what_cannot_be_stored_for_a_bug_is_not_done_again_at_once(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("iconotext.serve.jobs.RETRY_SECONDS", 1_000)
    with closing(Store(tmp_path / "s.sqlite")) as store:
        store.add_collection("trip", tmp_path, own=False)
        pool = MadeUp(b"")  # nothing that a collection can have
        with closing(Jobs(store, pool, ServeSettings(data=tmp_path))):
            wait_for(lambda: pool.calls)
    assert len(pool.calls) == 1
    assert "trip: the result of a process cannot be stored" in caplog.text


def test_parameters_become_settings_and_what_is_counted_is_told(asked):
    assert asked("/v1/link?evidence=layout,caption&k=2&min_side=9").content == b"[]"
    ((_, seconds, sent),) = asked.pool.calls
    assert (seconds, sent.linking.evidence, sent.linking.k, sent.reading.min_side) == (600, ("caption", "layout"), 2, 9)
    told = asked.client.get("/v1/health").json()
    assert (told["busy"], told["waiting"]) == (1, 3)


def test_small_answers_are_sent_at_once():
    """asyncio switches Nagle's algorithm off only on sockets that name their protocol."""
    with listen(ServeSettings(port=0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP
