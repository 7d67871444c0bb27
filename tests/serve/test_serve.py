"""A server as people start it: documents come in, are linked, are read, and nothing of others gets out."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import pytest

from iconotext.serve import protocol
from tests.serve.conftest import multipart, png, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def opened(server, article):
    """A collection that was dropped, linked."""
    answer = server.send(article)
    assert answer.status == 201
    return server.linked(answer.json["id"])


def test_what_is_dropped_is_linked_and_read(server, opened):
    assert opened["name"] == "trip"
    (document,) = opened["documents"]
    assert document["title"] == "Boats and trams"
    assert document["pictures"] == 2
    linked = server.ask("GET", f"/v1/documents/{document['id']}").json
    best = {link["image"]: link for link in sorted(linked["links"], key=lambda link: link["confidence"])}
    texts = [linked["sentences"][best[image]["sentence"]]["text"] for image in (0, 1)]
    assert texts == ["A red boat lies in the harbour.", "The green tram waits at the stop."]
    page = server.ask("GET", f"/documents/{document['id']}")
    assert b"Boats and trams" in page.body
    assert f'href="/collections/{opened["id"]}/review"'.encode() in page.body
    policy = page.headers["content-security-policy"]
    assert re.search(r"script-src 'sha256-[^']+'; ", policy)
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    picture = server.ask("GET", f"/v1/documents/{document['id']}/pictures/0")
    assert picture.headers["content-type"] in ("image/png", "image/jpeg")
    assert server.ask("GET", f"/v1/documents/{document['id']}/pictures/2").status == 404


def test_the_pages_have_no_script_or_style_of_their_own(server, opened):
    for path in ("/", f"/collections/{opened['id']}/review"):
        page = server.ask("GET", path).body.decode()
        assert "<style" not in page
        assert " style=" not in page
        assert re.findall(r"<script(?![^>]*src=)", page) == []
        assert re.findall(r"\son\w+=", page) == []
        for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', page):
            assert server.ask("GET", address).status == 200, address
    assert server.ask("GET", "/static/../app.py").status == 404


def test_nothing_is_answered_without_cookie_or_key(server, opened):
    document = opened["documents"][0]["id"]
    for path in (
        "/",
        f"/documents/{document}",
        f"/v1/documents/{document}",
        "/v1/collections",
        "/v1/events",
        "/openapi.json",
    ):
        assert server.ask("GET", path, key=False).status == 401, path
        assert server.ask("GET", path, headers={"Host": "evil.example"}).status == 421, path


@pytest.mark.parametrize(
    "path",
    ["../secret.md", "out/secret.md", "out", "trip/leads-out.md", "/etc/passwd", "trip/../../secret.md", "nothing", "a\x00b",
     "x" * 5000, "~", "trip/article.md/x"],
)  # fmt: skip
def test_paths_that_lead_out_of_the_root_are_not_there(server, path):
    answer = server.ask("POST", "/v1/collections/path", {"path": path})
    assert answer.status in (404, 422)
    assert "Secret" not in answer.body.decode()


def test_a_folder_of_the_root_is_opened_without_what_leads_out_of_it(server, root):
    before = sorted(root.rglob("*"))
    answer = server.ask("POST", "/v1/collections/path", {"path": "trip"})
    assert answer.status == 201
    found = server.linked(answer.json["id"])
    assert [document["name"] for document in found["documents"]] == ["article"]
    absolute = server.ask("POST", "/v1/collections/path", {"path": str(root / "trip" / "article.md")})
    assert len(server.linked(absolute.json["id"])["documents"]) == 1
    assert sorted(root.rglob("*")) == before
    for made in (answer, absolute):
        assert server.ask("DELETE", f"/v1/collections/{made.json['id']}").status == 204
    assert sorted(root.rglob("*")) == before


def test_a_document_cannot_show_pictures_of_elsewhere(server, article):
    secret = server.data / "key"
    text = f"# A\n\nA sentence.\n\n![x]({secret})\n\n![y](../../key)\n\n![z](/etc/passwd)\n"
    made = server.send({"a.md": text.encode()}).json
    found = server.linked(made["id"])["documents"][0]
    assert found["pictures"] == 0
    assert server.key.encode() not in server.ask("GET", f"/documents/{found['id']}").body


def test_what_cannot_be_linked_says_why_and_stops_nothing(server):
    made = server.send({"x/good.md": b"# Good\n\nA sentence.\n", "x/bad.pdf": b"%PDF-1.7 broken"}).json
    found = {each["name"]: each for each in server.linked(made["id"])["documents"]}
    assert found["good"]["state"] == "done"
    assert found["bad"]["state"] == "failed"
    assert str(server.data) not in found["bad"]["problem"]
    assert server.ask("GET", f"/documents/{found['bad']['id']}").status == 409
    empty = server.send({"picture.png": b"x"}).json
    assert "no document in it" in server.linked(empty["id"], "failed")["problem"]


def test_pictures_that_are_not_there_are_counted_and_nobody_is_told_of_arguments(server, article):
    text = "# A\n\nA boat.\n\n![](boat.png)\n\n![](https://pictures.example/a.png)\n\n![](/img/b.png)\n\n![](c.png)\n"
    made = server.send({"t/a.md": text.encode(), "t/boat.png": article["trip/red.png"]}).json["id"]
    (document,) = server.linked(made)["documents"]
    assert (document["pictures"], document["missing"]) == (1, 2)  # one is on the web, where nobody looked
    told = [image["problem"] for image in server.ask("GET", f"/v1/documents/{document['id']}").json["images"]]
    assert told == [
        None,
        "a picture on the web",
        "not found in any parent folder of the document",
        "not found beside the document",
    ]


def test_what_is_removed_is_gone(server, article):
    made = server.send(article).json
    document = server.linked(made["id"])["documents"][0]["id"]
    assert (server.data / "dropped" / made["id"]).is_dir()
    assert server.ask("DELETE", f"/v1/collections/{made['id']}").status == 204
    assert server.ask("GET", f"/v1/collections/{made['id']}").status == 404
    assert server.ask("GET", f"/documents/{document}").status == 404
    assert not (server.data / "dropped" / made["id"]).exists()
    assert not (server.data / "linked" / made["id"]).exists()


def test_what_is_removed_while_it_is_linked_is_gone_too(server, tmp_path):
    pictures = {f"many/p{n}.png": png((n, 2 * n, 3 * n), tmp_path) for n in range(40)}
    lines = "".join(f"A step.\n\n![](p{n}.png)\n\n" for n in range(40))
    made = server.send({**pictures, "many/a.md": f"# A\n\n{lines}".encode()}).json["id"]
    linked = server.data / "linked" / made
    wait_for(lambda: linked.is_dir() or server.ask("GET", f"/v1/collections/{made}").json["state"] == "done")
    assert server.ask("DELETE", f"/v1/collections/{made}").status == 204
    wait_for(lambda: b"iconotext_busy_processes 0.0" in server.ask("GET", "/metrics").body)
    wait_for(lambda: not linked.exists())
    assert not (server.data / "dropped" / made).exists()


def test_uploads_that_pass_a_limit_are_refused_and_leave_nothing(server):
    before = sorted((server.data / "dropped").iterdir())
    said = {"Content-Type": "multipart/form-data; boundary=xxx", "Content-Length": "5000000"}
    assert server.ask("POST", "/v1/collections", b"", said).status == 413
    assert server.send({f"{n}.md": b"x" for n in range(60)}).status == 400
    assert server.send({"../a.md": b"x"}).status == 400
    assert server.send({}).status == 400
    assert server.ask("POST", "/v1/collections", {"files": 1}).status == 415
    assert sorted((server.data / "dropped").iterdir()) == before


def test_others_are_told_of_every_step(server):
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {server.key}"})
    stream = connection.getresponse()
    assert stream.readline() == b"event: hello\n"
    made = server.send({"a.md": b"# A\n\nA sentence.\n"}).json
    told = [stream.readline() for _ in range(8)]
    data = [json.loads(line[6:]) for line in told if line.startswith(b"data: ")]
    assert {"id": made["id"], "document": None} in data  # its documents are known
    connection.close()


def test_clients_that_are_slow_or_never_ask_keep_nobody_waiting(server, article):
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]
    body = multipart(article)
    head = f"POST /v1/collections HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.key}\r\n"
    head += f"Content-Type: multipart/form-data; boundary=xxx\r\nContent-Length: {len(body)}\r\n\r\n"
    for slow in idle[:50]:  # half of them begin to send files and stop
        slow.sendall(head.encode() + body[:100])
    begin = time.monotonic()
    assert server.ask("GET", "/v1/collections").status == 200
    assert server.ask("GET", "/").status == 200
    assert time.monotonic() - begin < protocol.HEAD_SECONDS  # when those that never ask are sent away
    made = server.send({"a.md": b"# A\n\nA sentence.\n"}).json
    assert server.linked(made["id"])["documents"]
    quiet = idle[-1]
    quiet.settimeout(protocol.HEAD_SECONDS + 10)
    assert quiet.recv(1) == b""  # the server has closed it
    for each in idle:
        each.close()


def test_many_at_once_are_answered(server, opened):
    document = opened["documents"][0]["id"]
    with ThreadPoolExecutor(20) as threads:
        found = list(threads.map(lambda _: server.ask("GET", f"/documents/{document}").status, range(100)))
    assert set(found) == {200}


def test_a_folder_has_one_server(server):
    command = [sys.executable, "-m", "iconotext", "serve", "--data", str(server.data), "--port", "0", "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ)
    assert done.returncode == 1
    assert "another server uses it" in done.stderr
