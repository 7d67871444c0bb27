"""What every page and address promises: a key, a policy that holds, and no folder of the machine in any answer."""

from __future__ import annotations

import hashlib
import re
import shutil
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from html.parser import HTMLParser
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest

import iconotext
from iconotext.library.files import digest_of
from iconotext.serve.pages import ASSETS
from iconotext.serve.routes import CALLS, PAGES, ROUTES, Route
from tests.support.server import Answer, Running, described, say, verdict

pytestmark = pytest.mark.slow

PROGRAM = Path(iconotext.__file__).parent
READ = [row for row in ROUTES if row.method == "GET"]


@pytest.fixture(scope="module")
def server(library: Path, article: dict[str, bytes]) -> Iterator[Running]:
    """A server with everything that it can have, all of it in the home of its user."""
    home = library.parent
    shutil.copytree(PROGRAM / "models" / "default", home / "models" / "ours")
    for name, data in (article | {"trip/bad.pdf": b"%PDF-1.7 broken"}).items():
        (home / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "root" / name).write_bytes(data)
    options = {
        "--root": home / "root",
        "--library": library,
        "--model": home / "models" / "ours",
        "--captioner": "http://127.0.0.1:9/v1",
        "--captioner-model": "seer",
    }
    words = [str(word) for option in options.items() for word in option]
    with Running(home / "data", *words, before=f"import os; os.environ['HOME'] = {str(home)!r}") as running:
        yield running


@pytest.fixture(scope="module")
def values(server: Running, library: Path, article: dict[str, bytes]) -> dict[str, list[Any]]:
    """What stands for the parameters of addresses; under a row's address, what stands for all of it."""
    sent = server.linked(server.send(article | {"trip/bad.pdf": b"%PDF-1.7 broken"}).json["id"])
    collections = [sent, server.open("trip")]  # one that was sent, and one of the root
    documents = [each for one in collections for each in one["documents"] if each["state"] == "done"]
    assert [len(one["documents"]) for one in collections] == [len(documents)] * 2 == [2, 2]
    for collection, document in zip(collections, documents, strict=True):
        home, number = f"/v1/collections/{collection['id']}", document["id"]
        assert server.ask("POST", f"{home}/verdicts", verdict(number, 0, 1)).status == 201
        assert say(server, number, described(server, number)["pictures"][0]["key"], "A boat that is red") == 201
    picture = digest_of(library.parent / "photos" / "photo-4.png")
    return {
        "collection": [each["id"] for each in collections],
        "document": [each["id"] for each in documents],
        "picture": [0, 1],
        "name": sorted(ASSETS),
        "/v1/place": ["/v1/place?text=trip/article.md"],
        "/documents/{document}": [f"/documents/{each['id']}" for each in documents],
        "/search": ["/search", "/search?sentence=boat"],
        "/v1/search/pictures/{picture}": [f"/v1/search/pictures/{picture}"],
    }


def filled(row: Route, values: dict[str, list[Any]]) -> list[str]:
    """The addresses of a row."""
    if row.address in values:
        return values[row.address]
    names = re.findall(r"\{(\w+)\}", row.address)
    unknown = [name for name in names if name not in values]
    assert unknown == [], f"{row.address}: `values` has nothing for {', '.join(unknown)}"
    return [
        row.address.format(**dict(zip(names, each, strict=True))) for each in product(*(values[name] for name in names))
    ]


@pytest.fixture(scope="module")
def answers(server: Running, values: dict[str, list[Any]]) -> dict[str, Answer]:
    """What a program with the key gets, by address."""
    return {address: server.ask("GET", address) for row in READ for address in filled(row, values)}


def test_every_address_is_answered(answers):
    assert {address: answer.status for address, answer in answers.items() if answer.status != 200} == {}


def test_nothing_is_answered_without_cookie_or_key_and_by_another_name(server, values):
    expected = {address: 200 if row.open else 401 for row in READ for address in filled(row, values)}
    expected["/openapi.json"] = 401
    assert {address: server.ask("GET", address, key=False).status for address in expected} == expected
    stranger = {"Host": "evil.example"}
    assert {server.ask("GET", address, headers=stranger).status for address in expected} == {421}


class Page(HTMLParser):
    """What of a page runs or styles it without a file: ``script`` and ``style`` by their hashes, and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.linked: set[str] = set()
        self._inside = ""
        self._text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        runs = tag == "script" and "src" not in given and given.get("type") != "application/json"
        self._inside, self._text = tag if runs or tag == "style" else "", ""
        for name, value in attrs:
            if name == "style" or name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.found.append((name, value or ""))
            if name in ("src", "href") and (value or "").startswith("/"):
                self.linked.add(str(value).partition("?")[0])

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            digest = b64encode(hashlib.sha256(self._text.encode()).digest()).decode()
            self.found.append((f"{tag}-src", f"'sha256-{digest}'"))
        self._inside = ""


def test_pages_run_and_are_styled_by_what_their_policy_allows(answers, values):
    wrong: dict[str, Any] = {}
    pages: set[str] = set()
    for row in PAGES:
        for address in filled(row, values):
            answer = answers[address]
            if not answer.headers["content-type"].startswith("text/html"):
                continue
            pages.add(row.address)
            policy = dict(
                part.strip().partition(" ")[::2] for part in answer.headers["content-security-policy"].split(";")
            )
            assert policy["default-src"] == policy["frame-ancestors"] == "'none'", address
            assert "unsafe" not in str(policy), address
            page = Page(answer.body.decode())
            refused = [(name, value) for name, value in page.found if value not in policy.get(name, "").split()]
            gone = {file for file in page.linked if file.startswith("/static/")} - answers.keys()
            if refused or gone:
                wrong[address] = refused, gone
    assert wrong == {}
    front = Page(answers["/"].body.decode()).linked
    assert {page for page in pages if "{" not in page} - front == set()
    assert {row.address for row in PAGES} - pages == {"/static/{name}", "/v1/events"}


def test_no_answer_names_a_folder_of_the_machine(server, values, answers, library, article):
    everything = answers | {"/openapi.json": server.ask("GET", "/openapi.json")}
    programs = [address for row in CALLS if row.tag == "programs" for address in filled(row, values)]
    everything |= {address: server.send(article, address) for address in programs}
    assert {everything[address].status for address in programs} == {200}
    assert everything["/v1/link"].json[0]["model"] == "ours"
    homes = {str(folder).encode() for folder in (library.parent, library.parent.resolve(), PROGRAM)}
    assert {answers[f"/v1/documents/{number}"].json["source"] for number in values["document"]} == {"trip/article.md"}
    told: dict[str, bytes] = {}
    for address, answer in everything.items():
        parts = [repr(answer.headers).encode(), answer.body]
        if zipfile.is_zipfile(BytesIO(answer.body)):
            with zipfile.ZipFile(BytesIO(answer.body)) as packed:
                parts += [packed.read(name) for name in packed.namelist()]
        text = b"\n".join(parts)
        at = [place for home in homes if (place := max(text.find(home), unquote_to_bytes(text).find(home))) >= 0]
        if at:
            told[address] = text[max(at[0] - 100, 0) : at[0] + 100]
    assert told == {}
