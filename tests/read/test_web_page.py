from __future__ import annotations

import json
from importlib import import_module

import pytest
from typer.testing import CliRunner

from iconotext.cli.app import app
from iconotext.errors import DocumentError
from iconotext.read import ReadSettings, read
from tests.support.pdf import Sheet, png, write_pdf
from tests.support.reading import texts
from tests.support.web import serving


@pytest.fixture
def web(monkeypatch):
    with serving() as web:
        for module in ("fetch", "polite"):
            monkeypatch.setattr(import_module(f"iconotext.read.web.{module}"), "public_address", web.lookup)
        yield web


def fetched(address, **choices):
    return read(address, ReadSettings(fetch=True, **choices))


PAGE = (
    "<article><p>A red tram waits at the stop.</p><img src='{}' alt='A tram'><p>Its driver drinks coffee.</p></article>"
)


def test_relative_pictures_start_from_the_address_of_the_page(web):
    web.put("a.example/trips/img/tram.png", png())
    web.put("a.example/trips/one", PAGE.format("img/tram.png").encode(), kind="text/html; charset=utf-8")
    address = web.put("a.example/moved", statuses=(301,), headers={"Location": "/trips/one"})
    document = fetched(address)
    assert texts(document) == ["A red tram waits at the stop.", "Its driver drinks coffee."]
    assert [(i.file, i.problem) for i in document.images] == [(png(), None)]
    assert document.place == web.address("a.example/trips/one")
    assert document.id == "one"
    assert web.asked["a.example/robots.txt"] == 1


def test_base_and_the_encoding_of_the_server(web):
    web.put("b.example/pictures/tram.png", png())
    base = f"<head><base target=_top href='{web.address('b.example/pictures/')}'></head>"
    page = base + PAGE.format("tram.png").replace("coffee", "café")
    document = fetched(web.put("a.example/", page.encode("latin-1"), kind="text/html; charset=iso-8859-1"))
    assert document.sentences[-1].text == "Its driver drinks café."
    assert [i.problem for i in document.images] == [None]


def test_other_kinds(web):
    sheet = Sheet()
    sheet.text(72, 100, "A sentence of a PDF.")
    pdf = web.put("a.example/report?id=3", write_pdf([sheet]), kind="application/pdf")
    assert texts(fetched(pdf)) == ["A sentence of a PDF."]
    text = web.put("a.example/notes.md", b"# Notes\n\nA *sentence*.", kind="text/plain")
    assert texts(fetched(text)) == ["Notes", "A sentence."]


@pytest.mark.parametrize("source", ["file:///etc/hostname.png", "C:/a.png", "//[broken/a.png", "ftp://a.example/a.png"])
def test_a_page_from_the_web_names_nothing_of_this_machine(web, source):
    address = web.put("a.example/page", PAGE.format(source).encode(), kind="text/html")
    (image,) = fetched(address, allow_outside=True).images
    assert image.file is None
    assert image.problem == "its address leads to nothing on the web"


@pytest.mark.parametrize(
    ("path", "page", "message"),
    [
        ("gone", {"statuses": (404,)}, "answered 404"),
        ("picture", {"body": png()}, "image/png, which is no document"),
        ("private/page", {"body": b"x", "kind": "text/html"}, "robots.txt of a.example forbids it"),
    ],
)
def test_what_is_no_page(web, path, page, message):
    web.put("a.example/robots.txt", b"User-agent: *\nDisallow: /private/", kind="text/plain")
    with pytest.raises(DocumentError, match=message) as error:
        fetched(web.put(f"a.example/{path}", **page))
    assert str(error.value).startswith("http://a.example")


def test_private_addresses_are_refused(web):
    with pytest.raises(DocumentError, match="not a public address"):
        fetched(f"http://127.0.0.1:{web.port}/")


def run(*arguments):
    result = CliRunner().invoke(app, ["link", *arguments])
    assert isinstance(result.exception, SystemExit | None)
    return result


def test_link_says_how_a_page_is_fetched(web):
    address = web.put("a.example/page", PAGE.format("tram.png").encode(), kind="text/html")
    result = run(address)
    assert result.exit_code == 1
    (line,) = result.output.splitlines()
    assert line == f"iconotext: {address}: a page on the web: the option fetch fetches it"
    assert not web.asked


@pytest.mark.slow
def test_link_fetches_a_page_and_names_its_address(web, tmp_path):
    web.put("a.example/tram.png", png())
    address = web.put("a.example/page", PAGE.format("/tram.png").encode(), kind="text/html")
    result = run(address, "--fetch", "--to", "json")
    linked = json.loads(result.stdout)
    linked = linked[0] if isinstance(linked, list) else linked
    assert linked["source"] == address
    assert [image["problem"] for image in linked["images"]] == [None]
    assert run(address, "--fetch", "--output", str(tmp_path / "pages")).exit_code == 0
    page = (tmp_path / "pages" / "page.html").read_text(encoding="utf-8")
    assert f'<a href="{address}"' in page
