from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from iconotext.errors import ImageError
from iconotext.read.web import fetch as module
from iconotext.read.web.fetch import fetch, public_address


class Pictures(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/loop"):
            self.send_response(302)
            self.send_header("Location", "/loop")
            self.end_headers()
        elif self.path == "/moved":
            self.send_response(301)
            self.send_header("Location", "/picture?x=1")
            self.end_headers()
        elif self.path == "/inside":
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
        elif self.path.startswith("/picture"):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"bytes of a picture")
        elif self.path == "/endless":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                pass
        else:
            self.send_error(404)

    def log_message(self, *_):
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pictures) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://pictures.example:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


@pytest.fixture
def loopback_is_public(monkeypatch):
    """Let the name of the test server lead to loopback, and pass."""
    monkeypatch.setattr(module, "public_address", lambda host, port: "127.0.0.1")


@pytest.mark.usefixtures("loopback_is_public")
def test_fetch_follows_redirects(server):
    assert fetch(f"{server}/picture") == b"bytes of a picture"
    assert fetch(f"{server}/moved") == b"bytes of a picture"


@pytest.mark.usefixtures("loopback_is_public")
@pytest.mark.parametrize(("path", "message"), [("/loop", "redirects"), ("/gone", "404"), ("/inside", "neither http")])
def test_what_is_not_fetched(server, path, message):
    with pytest.raises(ImageError, match=message):
        fetch(server + path)


@pytest.mark.usefixtures("loopback_is_public")
def test_limits(server, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 10**6)
    with pytest.raises(ImageError, match="larger than"):
        fetch(f"{server}/endless")
    monkeypatch.setattr(module, "MAX_BYTES", 10**12)
    monkeypatch.setattr(module, "MAX_SECONDS", 0.3)
    with pytest.raises(ImageError, match="longer than"):
        fetch(f"{server}/endless")


def test_private_hosts_are_refused(server):
    port = server.rpartition(":")[2]
    for host in ("127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "0.0.0.0"):
        with pytest.raises(ImageError, match="not fetched"):
            fetch(f"http://{host}:{port}/picture")
    for address in ("http://host.example:99999/", "http:///a.png", "http://[broken/"):
        with pytest.raises(ImageError, match="not fetched"):
            fetch(address)


def test_one_private_answer_is_enough_to_refuse(monkeypatch):
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 80)) for ip in ("93.184.215.14", "192.168.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    with pytest.raises(ImageError, match="not a public"):
        public_address("two-faced.example", 80)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers[:1])
    assert public_address("good.example", 80) == "93.184.215.14"
