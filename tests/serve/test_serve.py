"""A server as people start it: documents come in, are linked, are read, and nothing of others gets out."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import subprocess
import sys
from http.client import HTTPConnection

import pytest

from tests.support.server import Running, multipart, png, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def opened(server, article):
    """A collection that was dropped, linked."""
    answer = server.send(article)
    assert answer.status == 201
    return server.linked(answer.json["id"])


@pytest.fixture(scope="module", autouse=True)
def quiet(server):
    """A client that never asks: it connects before the first test of this module, and the last one looks at it."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=300) as client:
        yield client


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
    assert f'href="/collections/{opened["id"]}/review?document={document["id"]}"'.encode() in page.body
    picture = server.ask("GET", f"/v1/documents/{document['id']}/pictures/0")
    assert picture.headers["content-type"] in ("image/png", "image/jpeg")
    assert server.ask("GET", f"/v1/documents/{document['id']}/pictures/2").status == 404


def test_pictures_of_a_reading_view_are_files_that_may_be_kept(server, article):
    (document,) = server.linked(server.send(article).json["id"])["documents"]
    page = server.ask("GET", f"/documents/{document['id']}").body.decode()
    assert "data:image/jpeg" not in page
    assert "data:image/png" not in page
    sources = re.findall(r'<img src="([^"]+)"', page)
    assert re.search(r"img-src [^;]*'self'", page)
    for address in sources:
        answer = server.ask("GET", address)
        assert answer.status == 200
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        assert hashlib.sha256(answer.body).hexdigest().startswith(address.partition("?digest=")[2])
    assert len(set(sources)) == 2
    for other in ("?digest=0", ""):
        answer = server.ask("GET", sources[0].partition("?")[0] + other)
        assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (["IMG_1.png", "boats.md"], "boats.md"),
        (["trip/IMG_1.png", "trip/boats.md"], "trip"),
        (["IMG_1.png", "boats.md", "trams.md"], "boats.md and 1 more"),
        (["IMG_1.png"], "IMG_1.png"),
        (["/etc/x.md"], "etc"),  # it lies below the folder of the upload nevertheless
        (["bad.zip", "boats.md"], "boats.md"),  # the first is not taken
    ],
)
def test_a_drop_is_named_after_its_documents(server, files, name):
    made = server.send(dict.fromkeys(files, b"# A\n\nA boat.\n")).json
    assert made["name"] == name
    assert any((server.data / "dropped" / made["id"]).rglob(files[-1].rpartition("/")[2]))
    assert server.ask("DELETE", f"/v1/collections/{made['id']}").status == 204


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
    collection = server.linked(made["id"])
    (found,) = collection["documents"]
    assert (found["pictures"], collection["reviewable"]) == (3, 0)
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
    assert (document["pictures"], document["missing"]) == (4, 2)  # one is on the web, where nobody looked
    collection = server.ask("GET", f"/v1/collections/{made}").json
    assert (collection["pictures"], collection["reviewable"]) == (4, 1)
    assert len(server.ask("GET", f"/v1/collections/{made}/review").json["pictures"]) == 1
    assert "<i>·</i> 4 pictures <i>" in server.ask("GET", f"/documents/{document['id']}").body.decode()
    told = [image["problem"] for image in server.ask("GET", f"/v1/documents/{document['id']}").json["images"]]
    assert told == [
        None,
        "a picture on the web",
        "not found between the document's folder and its site's",
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
    wait_for(lambda: server.ask("GET", "/v1/health").json["busy"] == 0)
    wait_for(lambda: not linked.exists())
    assert not (server.data / "dropped" / made).exists()


def test_others_are_told_of_every_step(server):
    connection = HTTPConnection("127.0.0.1", server.port, timeout=300)
    connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {server.key}"})
    stream = connection.getresponse()
    assert stream.readline() == b"event: hello\n"
    made = server.send({"a.md": b"# A\n\nA sentence.\n"}).json
    told = [stream.readline() for _ in range(8)]
    data = [json.loads(line[6:]) for line in told if line.startswith(b"data: ")]
    assert {"id": made["id"], "document": None} in data  # its documents are known
    connection.close()


@pytest.fixture
def patient(tmp_path):
    """A server that sends no idle client away."""
    with Running(tmp_path / "data", before="from iconotext.serve import guard; guard.HEAD_SECONDS = 1e6") as running:
        yield running


def test_clients_that_are_slow_or_never_ask_keep_nobody_waiting(patient, article):
    idle = [socket.create_connection(("127.0.0.1", patient.port)) for _ in range(100)]
    body = multipart(article)
    head = f"POST /v1/collections HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {patient.key}\r\n"
    head += f"Content-Type: multipart/form-data; boundary=xxx\r\nContent-Length: {len(body)}\r\n\r\n"
    for slow in idle[:50]:  # half of them begin to send files and stop
        slow.sendall(head.encode() + body[:100])
    assert patient.ask("GET", "/v1/collections").status == 200
    assert patient.ask("GET", "/").status == 200
    made = patient.send({"a.md": b"# A\n\nA sentence.\n"}).json
    assert patient.linked(made["id"])["documents"]
    for each in idle:
        each.close()


def test_a_folder_has_one_server(server):
    command = [sys.executable, "-m", "iconotext", "serve", "--data", str(server.data), "--port", "0", "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ)
    assert done.returncode == 1
    assert "another server uses it" in done.stderr


def test_a_client_that_never_asks_is_sent_away(quiet):
    assert quiet.recv(1) == b""  # the server has closed it
