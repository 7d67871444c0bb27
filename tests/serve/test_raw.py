"""Requests as no browser sends them, over a socket: each is answered or refused, nothing leads out, the server stays up."""

from __future__ import annotations

import contextlib
import socket

import pytest

HOST = "Host: 127.0.0.1\r\n"
JSON = "Content-Type: application/json\r\n"
FORM = "Content-Type: multipart/form-data; boundary=xxx\r\n"


def asked(server, data: bytes, *, cut: bool = False) -> tuple[int, bytes]:
    """Status and body of the answer to these bytes; 0 if the connection was closed without one.

    Args:
        cut: The client says that nothing more comes, amid a request.
    """
    with socket.create_connection(("127.0.0.1", server.port), timeout=300) as connection:
        told = b""
        try:
            connection.sendall(data)
            if cut:
                with contextlib.suppress(OSError):  # the server has closed already
                    connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                told += piece
        except ConnectionError:
            pass  # what is too long is not read to its end
    head, _, body = told.partition(b"\r\n\r\n")
    return (int(head.split()[1]) if head else 0), body


def request(server, line: str, headers: str = "", body: bytes = b"", *, host: str = HOST) -> bytes:
    known = f"Authorization: Bearer {server.key}\r\nConnection: close\r\n"
    return f"{line} HTTP/1.1\r\n{host}{known}{headers}\r\n".encode("latin-1") + body


@pytest.mark.parametrize(
    "path",
    [
        "/../../../etc/passwd",
        "/static/../../../../../etc/passwd",
        "/static/%2e%2e/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/%00",
        "/v1/collections/%00",
        "/v1/collections/%ff%fe",
        "/v1/collections/%ed%a0%80",
        "/v1/collections/%zz%",
        "/root/../secret.md",
        "/root?path=%00",
        "/root?path=../secret.md",
        "/v1/" + "a" * 60_000,
        "http://evil.example/etc/passwd",
    ],
)
def test_paths_that_lead_nowhere_are_not_there(server, path):
    status, body = asked(server, request(server, f"GET {path}"))
    assert status == 404
    assert b"Nobody may read this" not in body
    assert b"root:" not in body


@pytest.mark.parametrize(
    ("host", "status"), [("", 400), (HOST + "Host: evil.example\r\n", 400), ("Host: \xff\r\n", 421)]
)
def test_requests_without_a_name_or_with_another_one_are_refused(server, host, status):
    assert asked(server, request(server, "GET /v1/collections", host=host))[0] == status


def test_of_two_origins_none_hides_the_other(server):
    ours, evil = (f"Origin: http://{name}\r\n" for name in ("127.0.0.1", "evil.example"))
    for headers in (ours + evil, evil + ours, ours + "Origin: \xff\r\n"):
        assert asked(server, request(server, "GET /v1/collections", headers))[0] == 403


@pytest.mark.parametrize(
    ("headers", "body", "statuses"),
    [
        ("Content-Length: -1\r\n", b"{}", (400,)),
        ("Content-Length: \xb2\r\n", b"{}", (400,)),
        (f"Content-Length: {'9' * 20}\r\n", b"{}", (413,)),
        (f"Content-Length: {'9' * 6000}\r\n", b"{}", (400,)),
        ("Content-Length: 2\r\nContent-Length: 3\r\n", b"{} ", (400,)),
        ("Content-Length: 1\r\n", b"{}GET / HTTP/1.1\r\n\r\n", (422,)),
        ("Content-Length: 9\r\n", b"{}", (0, 400)),
        ("Transfer-Encoding: gzip\r\n", b"{}", (400, 501)),
        ("Transfer-Encoding: chunked\r\n", b"zz\r\n{}", (0, 400)),
        ("Transfer-Encoding: chunked\r\n", b"fffffffffffffffff\r\n{}", (0, 400)),
        ("Content-Length: 100000\r\n", b"[" * 100_000, (400, 422)),
        ("Content-Length: 250000\r\n", b'{"a":' * 50_000, (400, 422)),
        ("Content-Length: 100010\r\n", b'{"path": ' + b"1" * 100_000 + b"}", (400, 422)),
        ("Content-Length: 14\r\n", b'{"path": "\xff\xfe"}', (400, 422)),
        ("Content-Length: 18\r\n", b'{"path": "\\ud800"}', (400, 422)),
        ("Content-Length: 18\r\n", b'{"path": "\\u0000"}', (404,)),
    ],
)
def test_bodies_that_are_none(server, headers, body, statuses):
    data = request(server, "POST /v1/collections/path", JSON + headers, body)
    assert asked(server, data, cut=0 in statuses)[0] in statuses


@pytest.mark.parametrize(
    "data",
    [
        b"GET /\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 500,
        b"\r\n" * 10_000,
        b"GET / HTTP/1.1\r\nX" + b"a" * 1_000_000,
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 100_000,
        b"GET /\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX : a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: iconotext=\"\\777\xff\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused(server, data):
    assert asked(server, data, cut=True)[0] in (0, 400, 401, 421)
    assert server.ask("GET", "/v1/health").status == 200


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (FORM, ".."),
        (FORM, "a" * 200_000),
        ("Content-Type: multipart/form-data\r\n", "a.md"),
        (f"Content-Type: multipart/form-data; boundary={'x' * 5000}\r\n", "a.md"),
    ],
)
def test_forms_that_are_none(server, head, name):
    part = f'--xxx\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\nhi\r\n--xxx--\r\n'.encode()
    before = sorted((server.data / "dropped").glob("*"))
    length = f"Content-Length: {len(part)}\r\n"
    assert asked(server, request(server, "POST /v1/collections", head + length, part))[0] == 400
    assert sorted((server.data / "dropped").glob("*")) == before
