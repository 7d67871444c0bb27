"""What programs ask: the answers are those of the commands, nothing of a request stays, and none blocks the others."""

from __future__ import annotations

import json
import socket
import zipfile
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import httpx2
import pytest
from aiopenapi3 import OpenAPI
from aiopenapi3.errors import HTTPClientError

from tests.support import program
from tests.support.server import multipart, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def files(tmp_path, article, monkeypatch):
    """A working folder with the files of the article."""
    for name, data in article.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(*words: str, status: int = 0) -> object:
    return json.loads(program.run(*words, status=status).stdout)


def send(server, files, path):
    answer = server.send(files, f"/v1/{path}")
    assert answer.status == 200, answer.body
    assert not any((server.data / "asked").iterdir())
    return answer.json


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("link", "link . --to json"),
        (
            "link?evidence=caption,layout&k=1&min_confidence=0.2&relations=none",
            "link . --to json --evidence caption,layout --k 1 --min-confidence 0.2 --relations none",
        ),
        ("link?min_confidence=0.3&explain=true", "link . --to json --min-confidence 0.3 --explain"),
        ("context?words=12&k=1&min_confidence=0.4", "context . --json --words 12 --k 1 --min-confidence 0.4"),
        ("chunks?words=9&evidence=caption&evidence=layout", "chunks . --json --words 9 --evidence caption,layout"),
        ("chunks?tokens=12&once=true&full=true", "chunks . --json --tokens 12 --once --full"),
    ],
)
def test_answers_are_those_of_the_command(server, article, files, path, command):
    assert send(server, article, path) == printed(*command.split())


def test_one_file_is_the_document_whatever_it_is_called(server, files):
    text = b"<html><body><p>A boat.</p><p>A tram.</p></body></html>"
    (files / "page.unknown").write_bytes(text)
    assert send(server, {"page.unknown": text}, "link") == printed("link", "page.unknown", "--to", "json")


def test_a_zip_is_what_is_in_it(server, article, files):
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in article.items():
            archive.writestr(name, data)
    assert send(server, {"all.zip": packed.getvalue()}, "link") == printed("link", ".", "--to", "json")


def test_alternative_texts_are_checked(server, article, files):
    text = article["trip/article.md"].decode().replace("![A red boat]", "![]")
    sent = article | {"trip/article.md": text.encode()}
    (files / "trip/article.md").write_text(text)
    found = send(server, sent, "check?skip=caption")
    assert [each | {"new": True} for each in found["findings"]] == printed(
        "check", ".", "--skip", "caption", "--json", status=1
    )
    assert found["findings"]
    assert found["failed"] == []


def test_a_text_gets_the_pictures_of_the_other_files(server, article, files):
    text = b"Nothing happens.\n\nA **boat** that is red lies in the harbour.\n"
    (files.parent / "answer.md").write_bytes(text)
    found = send(server, article | {"answer.md": text}, "place?text=answer.md&most=1")
    assert found == printed("place", str(files.parent / "answer.md"), ".", "--most", "1", "--json")
    (placed,) = found["placed"]
    assert (placed["file"], placed["sentence"]) == ("trip/red.png", 1)
    assert found["markdown"].endswith("![A red boat](<trip/red.png>)\\\n*A red boat in the harbour*\n")
    rows = json.dumps([{"id": "a", "links": []}]).encode()
    for name, sent, said in (
        ("gone.md", article, "text: gone.md: no file of this name was sent"),
        ("../a.md", article, "leads out of the folder"),
        ("answer.md", {"answer.md": text, "rows.json": rows}, "rows.json: source: Field required"),
    ):
        answer = server.send(sent, f"/v1/place?text={name}")
        assert (answer.status, said in answer.json["detail"]) == (400, True), answer.body


def test_what_cannot_be_answered_says_why(server, article):
    def refused(files, path, status=400):
        answer = server.send(files, f"/v1/{path}")
        assert answer.status == status
        assert str(server.data) not in answer.body.decode()
        return answer.json["detail"]

    assert "no document in it" in refused({"a.png": article["trip/red.png"], "b.png": article["trip/red.png"]}, "link")
    assert "bad.pdf" in refused({"bad.pdf": b"%PDF-1.7 broken"}, "context")
    assert refused({"../a.md": b"A."}, "link") == "../a.md: its name leads out of the folder that was sent (..)"
    assert refused(article, "link?model=other", 422) == "model: there is no such parameter"
    assert refused(article, "link?text=/etc/passwd", 422) == "text: there is no such parameter"
    assert refused(article, "link?relations=/etc", 422) == "relations: must be 'default' or 'none', not '/etc'"
    assert refused(article, "context?words=0&k=x", 422) == (
        "k: must be a whole number, not 'x'; words: must be greater than or equal to 1, not '0'"
    )
    large = {"a.md": b"A.", "b.md": bytes(4_000_000)}
    limit = (
        "More than 4,000,000 bytes (3.81 MiB) at once, the limit that `iconotext serve --max-upload` sets: send less."
    )
    assert refused(large, "link", 413) == limit
    bomb = BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("large.md", bytes(4_000_001))
    assert refused({"a.zip": bomb.getvalue()}, "link").endswith(
        "of 3.81 MiB, which `iconotext serve --max-upload` sets"
    )
    led = {"good.md": b"# Good\n\nA sentence.\n", "../x.png": article["trip/red.png"]}
    assert [(each["id"], each.get("error")) for each in send(server, led, "link")] == [
        ("x", "../x.png: its name leads out of the folder that was sent (..)"),
        ("good", None),
    ]
    assert [each["source"] for each in send(server, led, "check")["failed"]] == ["../x.png"]
    assert "leads out" in refused(led, "context")
    mixed = {"x/good.md": b"# Good\n\nA sentence.\n", "x/bad.pdf": b"%PDF-1.7 broken"}
    assert [each.get("error") is not None for each in send(server, mixed, "link")] == [True, False]
    assert "bad.pdf" in refused(mixed, "chunks")
    assert [each["source"] for each in send(server, mixed, "check")["failed"]] == ["x/bad.pdf"]
    assert not any((server.data / "asked").iterdir())


def test_nothing_of_this_machine_comes_back(server):
    text = f"# A\n\nA sentence.\n\n![x]({server.data / 'key'})\n\n![y](../../key)\n\n![z](/key)\n\n![p](/etc/passwd)\n"
    for path in ("link", "context", "chunks", "check", "place?text=a.md"):
        answer = server.send({"a.md": text.encode()}, f"/v1/{path}")
        assert answer.status == 200
        assert server.key not in answer.body.decode()
    (document,) = server.send({"a.md": text.encode()}, "/v1/link").json
    assert [image["problem"] is None for image in document["images"]] == [False] * 4
    assert "=" not in " ".join(image["problem"] for image in document["images"])  # no argument of a function


def test_twenty_at_once_are_answered(server, article):
    with ThreadPoolExecutor(20) as threads:
        found = list(threads.map(lambda _: server.send(article, "/v1/link"), range(20)))
    assert {answer.status for answer in found} == {200}
    assert len({answer.body for answer in found}) == 1


def health(server):
    return server.ask("GET", "/v1/health").json


def test_a_client_that_leaves_is_worked_for_no_more(server, article):
    """A process that is at work for nobody ends; requests of others are answered by a new one."""
    large = b"# A\n\n" + b"".join(b"Sentence %d is about a boat and a tram.\n\n" % n for n in range(20_000))
    body = multipart({"large.md": large})
    head = f"POST /v1/link HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.key}\r\n"
    head += f"Content-Type: multipart/form-data; boundary=xxx\r\nContent-Length: {len(body)}\r\n\r\n"
    leaving = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
    for each in leaving:
        each.sendall(head.encode() + body)
    wait_for(lambda: (health(server)["busy"], health(server)["waiting"]) == (1, 2))
    for each in leaving:
        each.close()
    wait_for(lambda: (health(server)["busy"], health(server)["waiting"]) == (0, 0))
    wait_for(lambda: not any((server.data / "asked").iterdir()))
    send(server, article, "link")


class Session(httpx2.Client):
    def __init__(self, **options: Any) -> None:
        super().__init__(**(options | {"timeout": 300}))


def test_a_client_made_of_the_description_asks(server, article):
    """aiopenapi3 makes it of the description alone, with its types: it reads no answer that is not as described."""
    address, description = f"http://127.0.0.1:{server.port}/openapi.json", server.ask("GET", "/openapi.json").body
    client = OpenAPI.loads(address, description.decode(), session_factory=Session)
    assert client._.server_health().status == "ok"
    with pytest.raises(ValueError, match=r"accepts \{HTTPBearer\}"):
        client._.collections_all_collections()
    client.authenticate(HTTPBearer="wrong")
    with pytest.raises(HTTPClientError):
        client._.collections_all_collections()
    client.authenticate(HTTPBearer=server.key)
    sent = [("files", (name, data, "application/octet-stream")) for name, data in article.items()]
    (answer,) = client._.programs_link(parameters={"k": 1, "evidence": ["caption", "layout"]}, data=sent)
    document = answer.root  # it might be one that failed
    best = {link.image: document.sentences[link.sentence].text for link in document.links}
    assert best == {0: "A red boat lies in the harbour.", 1: "The green tram waits at the stop."}
    first, _ = client._.programs_context(parameters={"words": 12}, data=sent)
    assert (first.document, first.by) == ("article", "links")
    assert any(each.root.images for each in client._.programs_chunks(parameters={"words": 9}, data=sent))
    assert client._.programs_check(data=sent).failed == []
    text = ("files", ("answer.md", b"A red boat lies in the harbour.", "application/octet-stream"))
    placed = client._.programs_place(parameters={"text": "answer.md"}, data=[*sent, text])
    assert [each.file for each in placed.placed] == ["trip/red.png"]
    made = client._.collections_drop(data=sent)
    found = wait_for(lambda: _done(client._.collections_one(parameters={"collection": made.id})))
    assert [each.state for each in found.documents] == ["done"]
    client._.collections_remove(parameters={"collection": made.id})


def _done(collection: Any) -> Any:
    return collection if collection.state == "done" else None
