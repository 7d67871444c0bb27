"""A single request: only to public addresses, within limits. ``test_polite`` tests what is refused on the way."""

from __future__ import annotations

import socket

import pytest

from iconotext.errors import ImageError
from iconotext.read.web import fetch as module
from iconotext.read.web.fetch import fetch, is_public, public_address
from tests.support.web import serving


@pytest.fixture
def web(monkeypatch):
    """A server whose names lead to loopback, and pass."""
    with serving() as web:
        monkeypatch.setattr(module, "public_address", web.lookup)
        yield web


def test_fetch_follows_redirects(web):
    web.put("a.example/picture?x=1", b"bytes of a picture")
    moved = web.put("a.example/moved", statuses=(301,), headers={"Location": "/picture?x=1"})
    assert fetch(moved) == b"bytes of a picture"


def test_limits(web, monkeypatch):
    address = web.put("a.example/endless", endless=True)
    monkeypatch.setattr(module, "MAX_BYTES", 10**6)
    with pytest.raises(ImageError, match="larger than"):
        fetch(address)
    monkeypatch.setattr(module, "MAX_BYTES", 10**12)
    monkeypatch.setattr(module, "MAX_SECONDS", 0.3)
    with pytest.raises(ImageError, match="longer than"):
        fetch(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "0.0.0.0"])
def test_private_hosts_are_refused(host):
    with pytest.raises(ImageError, match="is not a public address"):
        fetch(f"http://{host}:1/picture")


def test_one_private_answer_is_enough_to_refuse(monkeypatch):
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 80)) for ip in ("93.184.215.14", "192.168.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    with pytest.raises(ImageError, match="not a public"):
        public_address("two-faced.example", 80)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers[:1])
    assert public_address("good.example", 80) == "93.184.215.14"


@pytest.mark.parametrize(
    "address",
    "1.1.1.1 8.8.8.8 93.184.215.14 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.1 192.0.1.1 192.169.0.1 198.17.255.255"
    " 198.20.0.1 223.255.255.254 2001:200::1 2001:4860:4860::8888 2003::1 2400:cb00::1 2606:4700::1111 2620:4f:7fff::1"
    " 2620:4f:8001::1 2620:0:2d0::1 2a00:1450::1 2c0f:f248::1".split(),
)
def test_public(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    "0.0.0.0 0.1.2.3 10.1.2.3 100.64.0.1 100.127.255.255 127.0.0.1 127.255.0.1 169.254.169.254 172.16.0.1 172.31.255.255"
    " 192.0.0.1 192.0.0.9 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.1.1 192.175.48.1 198.18.0.1 198.19.255.255"
    " 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255"
    " :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::8.8.8.8 64:ff9b::7f00:1 64:ff9b:1::1"
    " 100::1 100:0:0:1::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:1::1 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1"
    " 2001:20::1 2001:30::1 2001:db8::1 2002:7f00:1:: 2002:808:808::1 2620:4f:8000::1 2620:4f:8000:ffff::1 3ffe::1 3fff::1"
    " 3fff:fff::1 4000::1 5f00::1 5f00:1::2 8000::1 fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 ff0e::1".split(),
)
def test_not_public(address):
    assert not is_public(address)
