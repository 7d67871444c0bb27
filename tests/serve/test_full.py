"""A disk that is full, or may not take more: nothing is said to be saved that was not, and the server stays up."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from iconotext.errors import FullDiskError
from iconotext.serve.guard import FULL
from iconotext.serve.store import Store
from tests.support.full_disk import largest
from tests.support.program import run
from tests.support.server import Running, verdict, wait_for

resource = pytest.importorskip("resource", reason="Windows has no limit on the size of files")
needs_limits = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of other processes are Linux's")


@contextmanager
def full(*processes: int):
    """No file of these processes may grow."""
    before = {process: resource.prlimit(process, resource.RLIMIT_FSIZE) for process in processes}
    for process, (_, hard) in before.items():
        resource.prlimit(process, resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        for process, limits in before.items():
            resource.prlimit(process, resource.RLIMIT_FSIZE, limits)


def children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]


def test_a_change_is_whole_or_not_there_and_the_next_one_is_made(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    kept = store.add_collection("kept", tmp_path, own=False).id
    for size in (0, 1_000, 50_000):
        with pytest.raises(FullDiskError, match=r"s\.sqlite: .*free some space"), largest(size):
            store.add_collection("lost" * 50_000, tmp_path, own=False)
        assert [each.id for each in store.collections()] == [kept]
        assert not store._sql.in_transaction
    store.add_collection("next", tmp_path, own=False)
    store.close()
    again = Store(tmp_path / "s.sqlite")
    assert [each.name for each in again.collections()] == ["next", "kept"]
    again.close()


def test_a_commit_that_fails_is_taken_back(tmp_path):
    store = Store(tmp_path / "s.sqlite")

    class Refusing:
        """A connection whose commit finds the disk full, and whose transaction stays open: SQLite allows both."""

        def __init__(self, sql):
            self._sql = sql

        def __getattr__(self, name):
            return getattr(self._sql, name)

        def execute(self, line, *values):
            if line == "commit":
                raise OSError(28, "No space left on device")
            return self._sql.execute(line, *values)

    sql, store._sql = store._sql, Refusing(store._sql)  # type: ignore[assignment]  # as much of one as is asked
    with pytest.raises(FullDiskError):
        store.add_session(b"cookie")
    store._sql = sql
    assert not store.has_session(b"cookie", 100)
    store.add_session(b"cookie")
    store.close()


@pytest.mark.slow
@needs_limits
def test_what_is_said_is_saved_or_refused_in_a_sentence(tmp_path, article):
    server = Running(tmp_path / "data")
    made = server.linked(server.send(article).json["id"])
    document, home = made["documents"][0]["id"], f"/v1/collections/{made['id']}"
    assert server.ask("POST", f"{home}/verdicts", verdict(document, 0, reviewer="Ann")).status == 201
    key = server.ask("GET", f"/v1/documents/{document}/alt-text").json["pictures"][0]["key"]
    once = server.address[server.address.index("/?") :]
    before = server.ask("GET", f"{home}/review").json
    asked = [
        ("POST", f"{home}/verdicts", verdict(document, 1, reviewer="Ann")),
        ("POST", f"{home}/undo", {"reviewer": "Ann"}),
        ("POST", f"/v1/documents/{document}/alt-text", {"key": key, "text": "A boat"}),
    ]
    with full(server.process.pid):
        for method, path, body in [*asked, *asked]:
            answer = server.ask(method, path, body)
            assert (answer.status, answer.json) == (507, {"detail": FULL.strip()}), path
        for path in ("/v1/collections", "/v1/link"):
            answer = server.send(article, path)
            assert (answer.status, answer.json) == (507, {"detail": FULL.strip()}), path
        answer = server.ask("GET", once, key=False)
        assert (answer.status, answer.body.decode()) == (507, FULL)
        assert server.ask("GET", "/v1/health").status == 200
        now = server.ask("GET", f"{home}/review").json
        assert now["pictures"] == before["pictures"]
        assert now["reviewers"] == before["reviewers"] == ["Ann"]
        assert server.ask("GET", f"/v1/documents/{document}/alt-text").json["pictures"][0]["said"] == "nothing"
    assert [server.ask(method, path, body).status for method, path, body in asked] == [201, 200, 201]
    assert server.ask("GET", once, key=False).status == 303
    assert len(server.ask("GET", "/v1/collections").json) == 1  # nothing of what was refused
    server.linked(made["id"])
    assert set(server.end()) <= {"the disk is full: free some space, and the work goes on\n"}


@pytest.mark.slow
@needs_limits
def test_what_could_not_be_linked_is_linked_once_there_is_room(tmp_path, article):
    server = Running(tmp_path / "data")
    server.linked(server.send({"a.md": b"# A\n\nA sentence.\n"}).json["id"])
    with full(*children(server.process.pid)):
        made = server.send(article).json["id"]
        wait_for(lambda: any("the disk is full" in line for line in server.said))
        assert server.ask("GET", f"/v1/collections/{made}").json["documents"][0]["problem"] is None
    assert server.linked(made)["documents"][0]["state"] == "done"
    said = [line for line in server.end() if "features are no longer cached" not in line]
    assert said == ["the disk is full: free some space, and the work goes on\n"]


@pytest.mark.parametrize("size", [0, 1_000])
def test_a_server_that_cannot_begin_says_why_in_a_line(tmp_path, size):
    (tmp_path / "data").mkdir()
    with largest(size):  # the program inherits it
        done = run("serve", "--data", str(tmp_path / "data"), "--port", "0", "--no-browser", status=1)
    assert done.stderr.count("\n") == 1
    assert str(tmp_path / "data") in done.stderr
    assert os.strerror(27) in done.stderr or "disk" in done.stderr
