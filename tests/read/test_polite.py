"""The polite fetcher against a server on loopback; time is made up, so no test waits."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from iconotext.errors import ImageError, UnreachableError
from iconotext.read.web.polite import Pace, PoliteFetcher, Politeness
from tests.support.web import Time, Web, serving


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as web:
        yield web


def fetcher(web, time=None, **politeness):
    time = time or Time()
    return PoliteFetcher(Politeness(**politeness), lookup=web.lookup, clock=time.clock, sleep=time.sleep)


def test_a_picture_and_its_redirects(web):
    web.put("b.example/p.png", b"picture")
    web.put("a.example/old", statuses=(302,), headers={"Location": web.address("b.example/p.png")})
    time = Time()
    assert fetcher(web, time).fetch(web.address("a.example/old")) == b"picture"
    assert web.order == ["a.example/robots.txt", "a.example/old", "b.example/robots.txt", "b.example/p.png"]
    assert time.slept == [1.0, 1.0]  # between the two requests to each host


def test_requests_to_a_host_are_apart_and_other_hosts_need_not_wait(web):
    for host in ("a", "b"):
        for i in range(3):
            web.put(f"{host}.example/{i}.png", b"x")
    time = Time()
    polite = fetcher(web, time, interval=5.0)
    for i in range(3):
        polite.fetch(web.address(f"a.example/{i}.png"))
    assert time.slept == [5.0] * 3
    polite.fetch(web.address("b.example/0.png"))
    assert time.slept == [5.0] * 4  # robots.txt of b at once, its picture after it
    assert web.asked["a.example/robots.txt"] == web.asked["b.example/robots.txt"] == 1


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ({"statuses": (404,)}, "answered 404"),
        ({"statuses": (403,)}, "answered 403"),
        ({"body": b"<html>", "kind": "text/html; charset=utf-8"}, "sent text/html, not a picture"),
        ({"endless": True}, "larger than"),
        ({"statuses": (302,), "headers": {"Location": "/p"}}, "more than 5 redirects"),
        ({"statuses": (302,), "headers": {"Location": "file:///etc/passwd"}}, "neither http nor https"),
        ({"statuses": (302,), "headers": {"Location": "http://127.0.0.1:1/x"}}, "not a public address"),
        ({"statuses": (302,), "headers": {"Location": "http://[::1]/x"}}, "not a public address"),
        ({"statuses": (302,), "headers": {"Location": "http://169.254.169.254/latest"}}, "not a public address"),
        ({"statuses": (302,), "headers": {"Location": "http://[broken/x"}}, "something that is not an address"),
    ],
)
def test_what_is_refused_for_good_is_asked_once(web, page, message):
    address = web.put("a.example/p", **page)
    with pytest.raises(ImageError, match=message) as raised:
        fetcher(web, max_bytes=10**6).fetch(address)
    assert not isinstance(raised.value, UnreachableError)
    assert web.asked["a.example/p"] == (6 if "redirects" in message else 1)


def test_private_addresses_are_refused_without_a_request(web):
    polite = PoliteFetcher(clock=Time().clock, sleep=Time().sleep)
    for host in ("127.0.0.1", "localhost", "10.0.0.1"):
        with pytest.raises(ImageError, match="not a public address"):
            polite.fetch(f"http://{host}:{web.port}/p.png")
    for address in ("ftp://a.example/x", "http://[broken/", "http://a.example:99999/x", "nothing", "http://"):
        with pytest.raises(ImageError, match="not fetched"):
            polite.fetch(address)
    assert not web.asked


def test_robots_are_respected(web):
    web.put("a.example/robots.txt", b"User-agent: *\nDisallow: /no/\nCrawl-delay: 7", kind="text/plain")
    web.put("a.example/yes.png", b"x")
    time = Time()
    polite = fetcher(web, time)
    assert polite.fetch(web.address("a.example/yes.png")) == b"x"
    assert polite.fetch(web.address("a.example/yes.png")) == b"x"
    assert time.slept == [1.0, 7.0]  # what the delay is, is known only after the first request
    with pytest.raises(ImageError, match=r"robots\.txt of a\.example forbids it"):
        polite.fetch(web.address("a.example/no/p.png"))
    assert web.asked["a.example/no/p.png"] == 0
    assert web.asked["a.example/robots.txt"] == 1
    web.put("a.example/no/p.png", b"y")
    assert fetcher(web, robots=False).fetch(web.address("a.example/no/p.png")) == b"y"


def test_robots_of_a_redirect_s_host_and_robots_that_have_moved_count_too(web):
    web.put("b.example/robots.txt", b"User-agent: iconotext\nDisallow: /", kind="text/plain")
    address = web.put("a.example/p", statuses=(301,), headers={"Location": web.address("b.example/p.png")})
    with pytest.raises(ImageError, match=r"robots\.txt of b\.example"):
        fetcher(web).fetch(address)
    web.put("a.example/robots.txt", statuses=(301,), headers={"Location": web.address("b.example/robots.txt")})
    with pytest.raises(ImageError, match="forbids"):
        fetcher(web).fetch(web.address("a.example/p.png"))


@pytest.mark.parametrize("status", [500, 501, 526, 599])
def test_a_server_error_instead_of_robots_forbids_everything_for_now(web, status):
    web.put("a.example/robots.txt", statuses=(status,))
    address, polite = web.put("a.example/p.png", b"x"), fetcher(web)
    for _ in range(2):
        with pytest.raises(UnreachableError, match=rf"answered {status}, which was asked for its robots\.txt"):
            polite.fetch(address)
    assert web.asked == {"a.example/robots.txt": 3 if status == 500 else 1}  # a busy one is asked three times


@pytest.mark.parametrize(("status", "kind"), [(400, None), (403, "application/octet-stream"), (410, "IMAGE/JPEG")])
def test_a_host_without_robots_has_no_rules_and_types_that_may_be_a_picture_are_read(web, status, kind):
    web.put("a.example/robots.txt", statuses=(status,))
    assert fetcher(web).fetch(web.put("a.example/p.png", b"x", kind=kind)) == b"x"


def test_of_a_robots_file_of_any_length_the_beginning_counts(web):
    rules = b"User-agent: *\nDisallow: /no/\n"
    web.put("a.example/robots.txt", rules + b"# much more\n" * 200_000, kind="text/plain")
    web.put("a.example/yes.png", b"x")
    polite = fetcher(web, max_bytes=1000)
    assert polite.fetch(web.address("a.example/yes.png")) == b"x"
    with pytest.raises(ImageError, match="forbids it"):
        polite.fetch(web.address("a.example/no/p.png"))


def test_robots_that_may_not_be_had_are_asked_for_once(web):
    web.put("a.example/robots.txt", statuses=(302,), headers={"Location": "http://127.0.0.1:1/robots.txt"})
    polite = fetcher(web)
    for name in ("p", "q"):
        with pytest.raises(ImageError, match=r"not a public address \(its robots\.txt\)") as raised:
            polite.fetch(web.address(f"a.example/{name}.png"))
        assert not isinstance(raised.value, UnreachableError)
    assert web.asked == {"a.example/robots.txt": 1}


def test_a_busy_server_is_asked_again_later(web):
    address = web.put("a.example/p.png", b"x", statuses=(503, 500, 200))
    time = Time()
    assert fetcher(web, time).fetch(address) == b"x"
    assert time.slept == [1.0, 2.0, 4.0]
    busy = web.put("a.example/busy.png", statuses=(503,))
    with pytest.raises(UnreachableError, match="answered 503"):
        fetcher(web).fetch(busy)
    assert web.asked["a.example/busy.png"] == 3


def test_a_server_says_how_long_to_wait(web):
    time = Time()
    address = web.put("a.example/p.png", b"x", statuses=(429, 200), headers={"Retry-After": "30"})
    assert fetcher(web, time).fetch(address) == b"x"
    assert time.slept == [1.0, 30.0]
    later = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    address = web.put("a.example/q.png", b"x", statuses=(429, 200), headers={"Retry-After": later})
    with pytest.raises(UnreachableError, match="answered 429"):
        fetcher(web).fetch(address)
    assert web.asked["a.example/q.png"] == 1
    address = web.put("a.example/r.png", b"x", statuses=(429, 200), headers={"Retry-After": "tomorrow"})
    assert fetcher(web).fetch(address) == b"x"


def test_a_host_that_wants_a_day_between_requests_is_left_alone(web):
    web.put("a.example/robots.txt", b"User-agent: *\nCrawl-delay: 86400", kind="text/plain")
    with pytest.raises(UnreachableError, match="86400 seconds between"):
        fetcher(web).fetch(web.address("a.example/p.png"))


def test_a_server_that_drips_is_cut_off(web):
    address = web.put("a.example/p.png", b"x" * 1000, pause=0.02)
    with pytest.raises(UnreachableError, match="took longer"):
        fetcher(web, max_seconds=0.3, tries=1, robots=False).fetch(address)


def test_a_server_that_drips_its_headers_is_cut_off():
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip():
            connection, _ = listening.accept()
            with connection:
                connection.recv(10**4)
                try:
                    for character in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 500:
                        connection.sendall(bytes([character]))
                        threading.Event().wait(0.02)
                except OSError:
                    pass

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        politeness = Politeness(max_seconds=0.3, tries=1, robots=False)
        polite = PoliteFetcher(politeness, lookup=lambda host, port: "127.0.0.1")
        with pytest.raises(UnreachableError, match="took longer"):
            polite.fetch(f"http://a.example:{listening.getsockname()[1]}/p.png")
        thread.join(300)
        assert not thread.is_alive()


def test_nobody_there(web):
    def nobody(host, port):
        raise UnreachableError(f"not fetched: the name {host} cannot be looked up")

    time = Time()
    polite = PoliteFetcher(lookup=nobody, clock=time.clock, sleep=time.sleep)
    for _ in range(2):
        with pytest.raises(UnreachableError, match="cannot be looked up"):
            polite.fetch("http://gone.example/p.png")
    assert time.slept == [2.0, 4.0]


def test_pace_gives_each_thread_its_turn():
    time = Time()
    slept: list[float] = []
    pace = Pace(time.clock, slept.append)  # nobody's sleep moves the clock: as if all came at once
    for _ in range(4):
        pace.wait("a", 2.0)
    pace.wait("b", 2.0)
    assert slept == [2.0, 4.0, 6.0]
