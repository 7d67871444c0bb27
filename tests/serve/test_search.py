"""Search over a library in the server: the same as on the command line, and nothing else of the machine."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

from iconotext.library.files import digest_of
from iconotext.serve.search import _address
from iconotext.serve.search_work import SearchIn
from tests.support import program
from tests.support.server import Running, png

pytestmark = pytest.mark.slow

QUESTION = "A red boat in the harbour"


def cli(*arguments: object) -> str:
    return program.run(*arguments).stdout


@pytest.fixture(scope="module")
def searching(tmp_path_factory, library) -> Iterator[Running]:
    options = ("--library", str(library), "--root", str(library.parent / "docs"))
    with Running(tmp_path_factory.mktemp("serve") / "data", *options) as running:
        yield running


def search(server: Running, **asked: Any) -> Any:
    answer = server.ask("POST", "/v1/search", asked)
    assert answer.status == 200, answer.body
    return answer.json


def page(server: Running, query: str) -> str:
    answer = server.ask("GET", f"/search?{query}")
    assert answer.status == 200
    return answer.body.decode()


def test_the_same_as_the_command_line_but_where_things_lie(searching, library):
    for asked, options in (
        ({"sentence": QUESTION}, [QUESTION]),
        (
            {"sentence": QUESTION, "relation": "story", "top": 3, "anyway": True},
            [QUESTION, "--relation", "story", "--top", 3, "--anyway"],
        ),
        (
            {"sentence": "boat", "folder": "photos/deep", "anyway": True},
            ["boat", "--folder", library.parent / "photos" / "deep", "--anyway"],
        ),
        ({"sentence": "boat", "since": "2001", "until": "2002-03"}, ["boat", "--since", "2001", "--until", "2002-03"]),
    ):
        found = search(searching, **asked)["results"]
        for each in found:
            assert re.fullmatch(r"[0-9a-f]{32}", each.pop("id"))
            assert each.pop("reading_view") is None
        expected = json.loads(cli("search", library, *options, "--json"))
        for each in expected:
            for name in ("image", "document"):
                each[name] = each[name] and os.path.relpath(each[name], library.parent)
        assert found == expected
    assert found == []  # nothing was taken then


def test_the_document_of_a_result_is_read_here_once_it_is_open(searching):
    first = search(searching, sentence=QUESTION)["results"][0]
    assert (first["document"], first["reading_view"]) == ("docs/trip/article.md", None)
    assert first["sentences"][0]["text"] == "A red boat lies in the harbour."
    (field,) = re.findall(r'class="document" dir="auto" href="([^"]+)"', page(searching, "sentence=red+boat&top=1"))
    assert field == "/?path=trip%2Farticle.md"
    assert 'value="trip/article.md" autofocus' in searching.ask("GET", field).body.decode()
    made = searching.open("trip")
    (document,) = made["documents"]
    view = search(searching, sentence=QUESTION)["results"][0]["reading_view"]
    assert view == f"/documents/{document['id']}#p0"
    assert b'id="p0"' in searching.ask("GET", view.partition("#")[0]).body
    assert f'href="{view}"' in page(searching, "sentence=red+boat")
    searching.ask("DELETE", f"/v1/collections/{made['id']}")
    assert search(searching, sentence=QUESTION)["results"][0]["reading_view"] is None


def test_more_like_a_result_and_like_a_picture_that_was_sent(searching, library):
    first = search(searching, sentence=QUESTION)["results"][0]
    alike = search(searching, picture=first["id"], top=1000)
    assert len(alike["results"]) == 31  # all but itself
    assert first["id"] not in [each["id"] for each in alike["results"]]
    assert not alike["more"]
    assert alike["results"][0]["match"] is None
    sent = searching.send({"example": (library.parent / "photos" / "photo-0.png").read_bytes()}, "/v1/search/pictures")
    assert sent.status == 201
    nearest = search(searching, picture=sent.json["id"], top=2)
    assert nearest["results"][0]["image"] == "photos/photo-0.png"
    assert nearest["more"]
    both = search(searching, picture=sent.json["id"], sentence=QUESTION)
    assert both["results"][0]["match"] is None
    shown = searching.ask("GET", f"/v1/search/pictures/{sent.json['id']}")
    assert digest_of(shown.body) == sent.json["id"]


@pytest.mark.parametrize(
    "files", [{"example": b"not a picture"}, {"a.png": b"x", "b.png": b"y"}, {"../../x.png": b"x"}, {"a.zip": b"PK"}]
)
def test_what_is_no_picture_is_not_kept(searching, files):
    before = list((searching.data / "examples").glob("*")) if (searching.data / "examples").exists() else []
    answer = searching.send(files, "/v1/search/pictures")
    assert answer.status == 400
    assert str(searching.data) not in answer.json["detail"]
    assert list((searching.data / "examples").glob("*")) == before
    assert list((searching.data / "dropped").glob("*")) == []


def test_pictures_are_shown_by_their_ids_and_no_other_file_is(searching, library):
    found = {each["image"]: each["id"] for each in search(searching, sentence="boat", top=100, anyway=True)["results"]}
    identifier = found["photos/photo-4.png"]
    shown = searching.ask("GET", f"/v1/search/pictures/{identifier}?size=small")
    assert shown.status == 200
    assert shown.headers["content-type"] in ("image/png", "image/jpeg")
    assert "immutable" in shown.headers["cache-control"]
    secret = library.parent / "secret.png"
    for wrong in (
        digest_of(secret),
        "0" * 32,
        identifier.upper(),
        identifier + "0",
        "..%2f..%2fsecret.png",
        str(secret),
        "%27%20OR%201%3D1%20--",
    ):
        answer = searching.ask("GET", f"/v1/search/pictures/{wrong}")
        assert answer.status in (404, 405, 422), wrong
        assert not answer.headers["content-type"].startswith("image")
    assert searching.ask("GET", f"/v1/search/pictures/{identifier}?size=huge").status == 422


@pytest.mark.parametrize("how", ["replaced", "linked", "a pipe", "gone"])
def test_a_file_that_took_the_place_of_a_picture_is_not_shown(searching, library, how):
    place, secret = library.parent / "photos" / "photo-6.png", library.parent / "secret.png"
    before = place.read_bytes()
    identifier = digest_of(before)
    assert searching.ask("GET", f"/v1/search/pictures/{identifier}").status == 200
    place.unlink()
    try:
        if how == "replaced":
            place.write_bytes(secret.read_bytes())
        elif how == "linked":
            place.symlink_to(secret)
        elif how == "a pipe":
            os.mkfifo(place)
        answer = searching.ask("GET", f"/v1/search/pictures/{identifier}")
        assert answer.status == 404
        assert answer.json["detail"].startswith("its file is gone")
    finally:
        place.unlink(missing_ok=True)
        place.write_bytes(before)


@pytest.mark.parametrize(
    ("asked", "status", "says"),
    [
        ({}, 400, "nothing to search for"),
        ({"sentence": "  "}, 400, "the sentence is empty"),
        ({"sentence": "x", "relation": "love"}, 400, "not among the relations"),
        ({"sentence": "x", "since": "soon"}, 400, "not a date"),
        ({"sentence": "x", "folder": "/etc"}, 400, "they begin with: docs, photos"),
        ({"sentence": "x", "folder": "photos/../../etc", "top": 1}, 200, '"results":[]'),
        ({"picture": "0" * 32}, 404, "not in the library"),
        ({"picture": "../../key"}, 422, "picture: string should match pattern"),
        ({"sentence": "x", "top": 0}, 422, "top: must be greater than or equal to 1, not 0"),
        ({"sentence": "x" * 1001}, 422, "sentence: string should have at most 1000 characters"),
        ({"sentence": "x", "anything": 1}, 422, "anything: there is no such field"),
        ({"sentence": "\ud800"}, 422, "sentence: must be text"),
        ({"sentence": "' OR 1=1 --\x00\u202e"}, 200, '"results"'),
    ],
)
def test_wrong_questions_are_answered_with_a_reason(searching, library, asked, status, says):
    answer = searching.ask("POST", "/v1/search", asked)
    assert answer.status == status, answer.body
    assert says in answer.body.decode()
    assert str(library.parent) not in answer.body.decode()


def test_the_page_says_what_is_wrong_and_keeps_what_was_asked(searching, library):
    for query, status, says in (
        ("sentence=x&since=soon", 400, "not a date"),
        ("sentence=x&top=many", 400, "top: must be a whole number, not"),
        (f"sentence=x&picture={'0' * 32}", 404, "not in the library"),
        ("sentence=%ff%00%3Cscript%3E&relation=love", 400, "love: not among"),
        ("sentence=&relation=&top=", 200, "32 pictures"),
        ("sentence=boat&until=1999", 200, "No picture satisfies the filters."),
        ("sentence=quantum+chromodynamics", 200, "No picture matches well."),
    ):
        answer = searching.ask("GET", f"/search?{query}")
        page = answer.body.decode()
        assert answer.status == status, query
        assert says in page, query
        assert (says in re.findall("<title>(.*)</title>", page)[0]) == (status != 200)  # what is read aloud first
        assert str(library.parent) not in page
        assert "<script>" not in page
        assert re.findall(r"\s(?:on\w+|style)=", page) == []
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")


def test_more_pictures_and_only_what_is_asked_is_in_addresses(searching):
    shown = page(searching, "sentence=boat&anyway=true")
    assert shown.count('class="zoom"') == 24
    (more,) = re.findall(r'id="more" href="([^"]+)"', shown)
    assert more == "/search?sentence=boat&amp;top=48&amp;anyway=True#result-25"
    shown = page(searching, more.replace("&amp;", "&").partition("#")[0].removeprefix("/search?"))
    assert shown.count('class="zoom"') == 32
    assert 'id="result-25"' in shown
    assert 'id="more"' not in shown


def test_an_address_has_what_differs_from_the_page_without_a_query():
    assert _address(SearchIn(sentence="boat", top=24)) == "/search?sentence=boat"
    assert _address(SearchIn(sentence="boat", top=10), anyway=True) == "/search?sentence=boat&top=10&anyway=True"


def test_what_was_added_meanwhile_is_found_and_a_library_that_is_gone_says_so(searching, library):
    new = library.parent / "photos" / "zeppelin.png"
    assert not search(searching, sentence="zeppelin")["good"]
    new.write_bytes(png((250, 250, 0), library.parent))
    cli("library", "add", library)
    assert search(searching, sentence="zeppelin")["results"][0]["image"] == "photos/zeppelin.png"
    new.unlink()
    cli("library", "add", library)
    assert not search(searching, sentence="zeppelin")["good"]
    away = library.rename(library.with_name("away"))
    try:
        answer = searching.ask("POST", "/v1/search", {"sentence": "boat"})
        assert answer.status == 409
        assert answer.json["detail"].startswith("lib: not a library")
        page = searching.ask("GET", "/search?sentence=boat")
        assert page.status == 409
        assert b"lib: not a library" in page.body
        assert str(library.parent).encode() not in page.body + answer.body
    finally:
        away.rename(library)
    assert search(searching, sentence=QUESTION)["good"]


def test_linking_does_not_keep_a_search_waiting(searching, article):
    search(searching, sentence="boat")
    many = {f"many/{n}/{name}": data for n in range(20) for name, data in article.items()}
    made = searching.send(many).json
    search(searching, sentence="boat")
    assert searching.ask("GET", f"/v1/collections/{made['id']}").json["state"] != "done"
    searching.ask("DELETE", f"/v1/collections/{made['id']}")


def test_without_a_library_there_is_no_search(server):
    assert server.ask("GET", "/search").status == 404
    assert server.ask("POST", "/v1/search", {"sentence": "x"}).status == 404
    assert b'href="/search"' not in server.ask("GET", "/").body


def test_a_folder_that_is_no_library_is_refused_before_anything_begins(tmp_path):
    data = tmp_path / "data"
    done = program.run("serve", "--library", tmp_path, "--data", data, "--no-browser", status=1)
    assert "not a library; make one with" in done.stderr
    assert not data.exists()
