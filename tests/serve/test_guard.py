"""Who may ask, from where, and how much: the guard alone, before an application that answers everything."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from iconotext.serve import guard
from iconotext.serve.guard import MAX_BODY, POLICY, Access, Guard
from iconotext.serve.settings import ServeSettings
from iconotext.serve.store import Store
from tests.support.server import awaited

HOST = "127.0.0.1:8017"


class Asked:
    """The guard before an application that reads what comes and says how long it is."""

    def __init__(self, folder, **settings):
        self.access = Access(Store(folder / "serve.sqlite"), 8017, folder)
        self.reached = []
        self.guard = Guard(
            self.app,
            settings=ServeSettings(**settings),
            access=self.access,
            uploads={"/v1/collections"},
            open_paths={"/v1/health"},
        )
        self.key = {"authorization": f"Bearer {(folder / 'key').read_text().strip()}"}

    async def app(self, scope, receive, send):
        self.reached.append(scope["path"])
        length = 0
        while True:
            message = await receive()
            length += len(message.get("body", b""))
            if not message.get("more_body"):
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(length).encode()})

    def __call__(self, method="GET", path="/v1/collections", *, body=(b"",), pause=0.0, query="", **headers):
        """Status, headers and body of the answer; in names of headers ``_`` stands for ``-``."""
        pieces, sent = list(body), []

        async def receive():
            if pause and len(pieces) < len(body):
                await asyncio.sleep(pause)
            return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

        async def send(message):
            sent.append(message)

        given = {"host": HOST} | {name.replace("_", "-"): value for name, value in headers.items()}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items() if value is not None],
        }
        awaited(self.guard, scope, receive, send)
        return sent[0]["status"], {k.decode(): v.decode() for k, v in sent[0]["headers"]}, sent[-1].get("body")


@pytest.fixture
def asked(tmp_path):
    return Asked(tmp_path)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8017", "127.0.0.1.evil.example", "localhost.evil.example:8017", "127.0.0.1@evil.example",
     "169.254.169.254", "10.0.0.1:8017", "", None, "127.0.0.1, evil.example", "[", "[::1", "2130706433", "evil.example#127.0.0.1",
     "\xff", "²7.0.0.1"],
)  # fmt: skip
def test_a_name_that_is_not_ours_is_refused_whoever_asks(asked, host):
    status, _, _ = asked(host=host, **asked.key)
    assert status == 421
    token = asked.access.new_token()
    assert asked(path="/", query=f"token={token}", host=host)[0] == 421
    assert asked.reached == []
    assert asked(path="/", query=f"token={token}")[0] == 303  # and that request did not use it up


@pytest.mark.parametrize("host", [HOST, "localhost:8017", "LOCALHOST", "[::1]:8017", "127.0.0.1"])
def test_names_of_this_machine_are_answered(asked, host):
    assert asked(host=host, **asked.key)[0] == 200


def test_names_that_were_allowed_are_answered_and_no_others(tmp_path):
    asked = Asked(tmp_path, host="0.0.0.0", allow=("docs.example.org",))
    assert asked(host="docs.example.org", **asked.key)[0] == 200
    assert asked(host="evil.example", **asked.key)[0] == 421


def test_an_address_that_lets_others_in_needs_names():
    with pytest.raises(ValidationError, match="say by which names"):
        ServeSettings(host="0.0.0.0")


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},  # another port of this machine
        {"sec_fetch_site": "nonsense"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": "http://[::1"},
        {"origin": ""},
        {"origin": "://"},
        {"origin": "http://evil@127.0.0.1:8017"},
        {"origin": "http://a\xbc"},
        {"origin": "127.0.0.1:8017"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://127.0.0.1:8017.evil.example"},
        {"origin": "http://evil.example", "sec_fetch_site": "same-origin"},
    ],
)
def test_requests_of_other_sites_are_refused_even_with_the_cookie(asked, method, headers):
    cookie = asked.access.redeem(asked.access.new_token())
    assert asked(method, cookie=f"{asked.access.cookie}={cookie}", **headers)[0] == 403
    assert asked(method, **asked.key, **headers)[0] == 403
    assert asked.reached == []


def test_an_address_works_once_and_gives_a_cookie_that_no_script_reads(asked):
    token = asked.access.new_token()
    assert asked(sec_fetch_site="none")[0] == 401
    assert asked(path="/", query="token=wrong")[0] == 401
    assert asked("POST", "/", query=f"token={token}", sec_fetch_site="same-origin")[0] == 401
    status, headers, _ = asked(path="/", query=f"token={token}", sec_fetch_site="none")
    assert (status, headers["location"]) == (303, "/")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(headers["set-cookie"].split("; "))
    cookie = headers["set-cookie"].split(";")[0]
    assert cookie.startswith("iconotext-8017=")
    assert asked(path="/", query=f"token={token}")[0] == 401
    assert asked(cookie=cookie)[0] == 200
    assert asked("POST", cookie=cookie, sec_fetch_site="same-origin", origin=f"http://{HOST}")[0] == 200
    assert asked("POST", cookie=cookie)[0] == 401  # neither a browser nor a program with the key
    assert asked(cookie="iconotext-8017=wrong")[0] == 401


def test_only_so_many_addresses_count_and_the_next_is_told(asked):
    told = []
    asked.access.on_use = lambda: told.append(1)
    first = asked.access.new_token()
    for _ in range(5):
        last = asked.access.new_token()
    assert asked.access.redeem(first) is None
    assert asked.access.redeem(last) is not None
    assert told == [1]


def test_programs_need_the_key_which_others_cannot_read(asked, tmp_path):
    assert asked("POST")[0] == 401
    assert asked("POST", authorization="Bearer wrong")[0] == 401
    assert asked("POST", **asked.key)[0] == 200
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0


def test_health_is_open_and_nothing_else(asked):
    assert asked(path="/v1/health")[0] == 200
    assert asked(path="/v1/health/../collections")[0] == 401
    assert asked("POST", "/v1/health")[0] == 401


def test_every_answer_has_the_policy(asked):
    for answer in (asked(), asked(**asked.key), asked(host="evil.example")):
        assert answer[1]["content-security-policy"] == POLICY
        assert "unsafe" not in POLICY
        assert answer[1]["x-content-type-options"] == "nosniff"
        assert answer[1]["referrer-policy"] == "no-referrer"


def test_more_than_may_come_is_refused_before_and_while_it_comes(asked):
    said = {"content_length": str(MAX_BODY + 1)}
    assert asked("POST", **asked.key, **said)[0] == 200  # files may be larger there
    assert asked("POST", "/v1/collections/path", **asked.key, **said)[0] == 413
    assert asked("POST", "/v1/collections/path", **asked.key, content_length="-1")[0] == 413
    with pytest.raises(HTTPException) as refused:  # which the application turns into an answer
        asked("POST", "/v1/collections/path", body=[bytes(MAX_BODY), b"x"], **asked.key)
    assert refused.value.status_code == 413


def test_a_body_that_drips_is_cut_off(asked, monkeypatch):
    monkeypatch.setattr(guard, "MAX_PAUSE", 0.05)
    with pytest.raises(HTTPException) as refused:
        asked("POST", body=[b"a", b"b"], pause=5.0, **asked.key)
    assert refused.value.status_code == 408
    monkeypatch.setattr(guard, "MAX_PAUSE", 30.0)
    monkeypatch.setattr(guard, "MAX_BODY_SECONDS", 0.2)
    with pytest.raises(HTTPException) as refused:
        asked("POST", body=[b"a"] * 100, pause=0.02, **asked.key)
    assert refused.value.status_code == 408
