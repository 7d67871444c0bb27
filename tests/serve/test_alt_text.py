"""Alternative texts over HTTP: what is found, what is said, and what becomes of the files."""

from __future__ import annotations

import io
import zipfile
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from iconotext.serve.alt_text import _ask
from tests.support import program
from tests.support.captioner import completion, failure, serving
from tests.support.server import ARTICLE, WITHOUT_ALT, Running, described, drawn, dropped, say, wait_for, write_article

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path):
    write_article(tmp_path / "trip")
    return tmp_path / "trip"


def opened(writer, path):
    """The collection and the document of an article that lies in a folder below the root."""
    made = writer.open(path.parent.name)
    return made["id"], made["documents"][0]["id"]


def changed_file(server, collection, name):
    """The text of the only document in the zip of changed files."""
    answer = server.ask("GET", f"/v1/collections/{collection}/alt-text/files")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.body)) as packed:
        assert packed.namelist() == [name]
        return packed.read(name).decode()


def write(writer, document):
    return writer.ask("POST", f"/v1/documents/{document}/alt-text/write")


def test_it_finds_what_the_command_finds(writer, folder):
    _, document = dropped(writer, folder)
    found = described(writer, document)
    tram, boat, bridge = found["pictures"]
    assert [tram["missing"], boat["missing"], bridge["missing"]] == [True, False, False]
    assert [[each["rule"] for each in one["findings"]] for one in found["pictures"]] == [
        ["alt-empty"],
        ["alt-file-name"],
        [],
    ]
    assert tram["where"] == "line 5, column 1"
    checked = program.run("check", folder, status=1).output
    for one in (tram, boat):
        assert " ".join(one["findings"][0]["message"].split()) in " ".join(checked.split())
    assert any("a red tram at a stop" in quote["text"] for quote in tram["sentences"])
    assert any("boats" in quote["text"] for quote in boat["sentences"])


def test_what_was_dropped_becomes_a_zip_with_nothing_else_changed(writer, folder):
    collection, document = dropped(writer, folder)
    home = f"/v1/collections/{collection}/alt-text"
    assert writer.ask("GET", f"{home}/files").status == 409
    tram, boat, bridge = described(writer, document)["pictures"]
    assert say(writer, document, tram["key"], "  A red\ttram ") == 201
    assert say(writer, document, boat["key"], "Boats in [snow]") == 201
    assert say(writer, document, bridge["key"], None) == 201
    (row,) = writer.ask("GET", home).json["documents"]
    assert (row["wanted"], row["said"], row["accepted"]) == (2, 2, 2)
    expected = WITHOUT_ALT.replace("![](", "![A red tram](").replace("![IMG_0042]", "![Boats in \\[snow\\]]")
    assert changed_file(writer, collection, "trip/article.md") == expected
    assert write(writer, document).status == 403
    assert (writer.data / "dropped" / collection / "trip" / "article.md").read_text() == WITHOUT_ALT
    wait_for(lambda: not list((writer.data / "exports").iterdir()))


def test_the_last_word_counts_and_is_taken_back(writer, folder):
    collection, document = dropped(writer, folder)
    home = f"/v1/collections/{collection}/alt-text"
    tram, boat, _ = described(writer, document)["pictures"]
    for key, text in ((tram["key"], "One"), (boat["key"], None), (tram["key"], "Two")):
        assert say(writer, document, key, text) == 201
    seen = [(one["said"], one["text"]) for one in described(writer, document)["pictures"]]
    assert seen == [("text", "Two"), ("as it is", None), ("nothing", None)]
    assert writer.ask("POST", f"{home}/undo").json == {"document": document, "key": tram["key"]}
    assert described(writer, document)["pictures"][0]["text"] == "One"
    assert writer.ask("POST", f"{home}/undo").json["key"] == boat["key"]
    assert writer.ask("POST", f"{home}/undo").json["key"] == tram["key"]
    assert writer.ask("POST", f"{home}/undo").json == {"document": None, "key": None}


def test_a_picture_is_marked_as_decoration(writer, desk):
    page = "<title>Trip</title><p>Some boats.</p><img src='{}.png'{}><p>More text.</p>".format
    path = write_article(desk / "marked", "article.html", page("boat", "") + page("tram", ""))
    write_article(desk / "marked")
    documents = {row["name"].rpartition("/")[2]: row["id"] for row in writer.open("marked")["documents"]}
    document = documents["article.html"]
    boat, _ = described(writer, document)["pictures"]
    assert (boat["missing"], boat["decorative"]) == (True, False)
    assert say(writer, document, boat["key"], "") == 201
    assert [one["said"] for one in described(writer, document)["pictures"]] == ["text", "nothing"]
    assert write(writer, document).json == {"written": 1, "problems": []}
    assert path.read_text().startswith(
        '<title>Trip</title><p>Some boats.</p><img alt="" role="presentation" src=\'boat.png\'>'
    )
    wait_for(lambda: described(writer, document)["pictures"][0]["decorative"])
    boat, _ = described(writer, document)["pictures"]
    assert (boat["missing"], boat["findings"], boat["said"]) == (False, [], "written")
    # Of Markdown's own pictures nothing can say so.
    document = documents["article.md"]
    assert say(writer, document, described(writer, document)["pictures"][0]["key"], "") == 201
    done = write(writer, document).json
    assert done["written"] == 0
    assert "only a tag <img> without a role can mark a picture as decoration" in done["problems"][0]


def test_what_is_wrong_is_refused(writer, folder):
    _, document = dropped(writer, folder)
    found = described(writer, document)
    key = found["pictures"][0]["key"]
    assert found["captioner"] is None
    assert writer.ask("POST", f"/v1/documents/{document}/alt-text/draft", {"key": key}).status == 404
    assert say(writer, document, key, " \n ") == 422
    assert say(writer, document, key, "x" * 2001) == 422
    assert say(writer, document, "no-such-picture", "x") == 404
    assert say(writer, document + 999, key, "x") == 404
    assert writer.ask("GET", "/v1/collections/nothing/alt-text").status == 404
    assert writer.ask("GET", "/collections/nothing/alt-text").status == 404


def test_texts_are_written_below_the_root_in_one_step(writer, desk):
    path = write_article(desk / "written", text=WITHOUT_ALT.replace("\n", "\r\n"))
    collection, document = opened(writer, path)
    tram, boat, _ = described(writer, document)["pictures"]
    say(writer, document, boat["key"], "Boats in snow")
    for text in ("A bus", "A tram"):
        say(writer, document, tram["key"], text)
    answer = write(writer, document)
    assert answer.json == {"written": 2, "problems": []}
    expected = WITHOUT_ALT.replace("![](", "![A tram](").replace("IMG_0042", "Boats in snow").replace("\n", "\r\n")
    assert path.read_bytes() == expected.encode()
    assert sorted(each.name for each in path.parent.iterdir()) == ["article.md", "boat.png", "bridge.png", "tram.png"]
    wait_for(lambda: described(writer, document)["pictures"][0]["alt"] == "A tram")
    after = described(writer, document)
    assert [one["said"] for one in after["pictures"]] == ["written", "written", "nothing"]
    assert [one["findings"] for one in after["pictures"]] == [[], [], []]
    assert write(writer, document).status == 409
    # What was said before a text that is in the file is not taken back either.
    assert writer.ask("POST", f"/v1/collections/{collection}/alt-text/undo").json["document"] is None


def test_a_text_that_the_author_wrote_or_whose_picture_is_gone_waits_no_more(writer, desk):
    path = write_article(desk / "author")
    collection, document = opened(writer, path)
    tram, boat, _ = described(writer, document)["pictures"]
    say(writer, document, tram["key"], "A tram")
    say(writer, document, boat["key"], "Boats in snow")
    path.write_text(WITHOUT_ALT.replace("![](", "![A tram](").replace("![IMG_0042](boat.png)", ""))
    wait_for(lambda: len(described(writer, document)["pictures"]) == 2)
    assert described(writer, document)["accepted"] == 0
    (counted,) = writer.ask("GET", f"/v1/collections/{collection}/alt-text").json["documents"]
    assert counted["accepted"] == 0


def test_nothing_is_written_into_a_file_that_changed_since(writer, desk):
    path = write_article(desk / "changed")
    collection, document = opened(writer, path)
    tram = described(writer, document)["pictures"][0]
    say(writer, document, tram["key"], "A tram")
    changed = WITHOUT_ALT.replace("all winter", "all year")
    path.write_text(changed)
    answer = write(writer, document)
    assert answer.status == 409
    assert "has changed since it was read" in answer.json["detail"]
    assert str(desk) not in answer.json["detail"]
    assert path.read_text() == changed
    writer.linked(collection)  # as it is now; the text that was accepted is still there
    wait_for(lambda: write(writer, document).status == 200)
    assert path.read_text() == changed.replace("![](", "![A tram](")


def test_what_cannot_be_written_is_told_and_the_rest_is(writer, desk):
    path = write_article(desk / "part", text=WITHOUT_ALT.replace("![IMG_0042](", "![boat][](") + "\n[boat]: boat.png\n")
    _, document = opened(writer, path)
    tram, boat, _ = described(writer, document)["pictures"]
    say(writer, document, tram["key"], "A tram")
    say(writer, document, boat["key"], "Boats in snow")
    done = write(writer, document).json
    assert done["written"] == 1
    assert len(done["problems"]) == 1
    assert done["problems"][0].startswith("Picture 2: 1 picture (boat.png) cannot be given an alternative text")
    assert "![A tram](" in path.read_text()
    assert "![boat][]" in path.read_text()


def test_without_the_option_nothing_below_the_root_is_written(server, root):
    collection, document = opened(server, root / "trip" / "article.md")
    say(server, document, described(server, document)["pictures"][0]["key"], "A boat")
    assert server.ask("GET", f"/v1/collections/{collection}/alt-text").json["writes"] is False
    assert write(server, document).status == 403
    assert changed_file(server, collection, "article.md") == ARTICLE.replace("![A red boat]", "![A boat]")
    assert (root / "trip" / "article.md").read_text() == ARTICLE
    server.ask("DELETE", f"/v1/collections/{collection}")


def test_formats_that_are_not_checked_say_so(writer):
    made = writer.send({"a.txt": b"x", "a.rst": b"A\n=\n\nA sentence.\n\n.. image:: a.png\n"})
    found = writer.linked(made.json["id"])
    for document in found["documents"]:
        if document["state"] == "done":
            told = described(writer, document["id"])
            assert "Markdown, HTML, DOCX and EPUB only" in told["unchecked"]
            assert say(writer, document["id"], "any", "x") == 409


def test_a_menu_of_a_web_page_is_told_apart_from_its_text(writer, tmp_path):
    drawn(tmp_path, "a.png", "red")
    page = (
        "<!doctype html><html lang=en><head><title>T</title></head><body><nav><a href=/><img src=logo.png></a></nav>"
        "<main><h1>Boats</h1>"
        "<p>The boats lie in the harbour all winter, and nobody looks after them at all.</p><p><img src=a.png></p>"
        "<p>In spring they are painted again, and then they go to sea.</p></main></body></html>"
    )
    made = writer.send({"x/a.html": page.encode(), "x/a.png": (tmp_path / "a.png").read_bytes()}).json
    document = writer.linked(made["id"])["documents"][0]["id"]
    found = described(writer, document)
    assert [each["source"] for each in found["elsewhere"]] == ["logo.png"]
    (one,) = found["pictures"]
    assert one["findings"][0]["rule"] == "alt-missing"
    say(writer, document, one["key"], 'A "red" boat')
    expected = page.replace("<img src=a.png", '<img alt="A &quot;red&quot; boat" src=a.png')
    assert changed_file(writer, made["id"], "x/a.html") == expected


def test_a_picture_at_the_beginning_of_a_page_belongs_to_its_text(writer, tmp_path):
    drawn(tmp_path, "a.png", "red")
    page = b"<img src=a.png><p>The boats lie in the harbour all winter, and nobody looks after them at all.</p>"
    made = writer.send({"x/a.html": page, "x/a.png": (tmp_path / "a.png").read_bytes()}).json
    found = described(writer, writer.linked(made["id"])["documents"][0]["id"])
    assert found["elsewhere"] == []
    assert found["pictures"][0]["findings"][0]["rule"] == "alt-missing"


@pytest.fixture
def vision():
    with serving() as server:
        yield server


@pytest.fixture
def asking(tmp_path, vision, monkeypatch):
    """A server whose people may ask a vision model, which says how many pictures it got."""
    monkeypatch.setenv("ICONOTEXT_CACHE", str(tmp_path / "cache"))
    with Running(tmp_path / "data", "--captioner", vision.url, "--captioner-model", "seer") as running:
        yield running


def test_a_vision_model_is_asked_for_one_picture_and_nothing_is_said_for_anybody(asking, vision, folder):
    vision.say = lambda asked, number: completion("Three boats under snow, seen from the pier")
    _, document = dropped(asking, folder)
    found = described(asking, document)
    assert found["captioner"] == "seer"
    assert vision.asked == []  # linking asks nobody
    home, boat = f"/v1/documents/{document}/alt-text", found["pictures"][1]
    answer = asking.ask("POST", f"{home}/draft", {"key": boat["key"]})
    assert answer.json == {"text": "Three boats under snow, seen from the pier", "problem": None}
    (asked,) = vision.asked
    assert "The boats lie in the harbour all winter." in asked.context["text about the picture"]
    assert [one["said"] for one in described(asking, document)["pictures"]] == ["nothing"] * 3
    assert asking.ask("POST", f"{home}/draft", {"key": boat["key"]}).json == answer.json
    assert len(vision.asked) == 1  # the reply was stored
    vision.say = lambda asked, number: completion("The boats lie in the harbour all winter.")
    tram = asking.ask("POST", f"{home}/draft", {"key": found["pictures"][0]["key"]}).json
    assert tram["text"] == "The boats lie in the harbour all winter."
    assert "says again what stands beside it" in tram["problem"]
    program.run("alt-text", "draft", folder, "--captioner", vision.url, "--captioner-model", "seer")
    assert len(vision.asked) == 2  # nor does the command ask again
    vision.say = lambda asked, number: failure(400, "no images here")
    bridge = asking.ask("POST", f"{home}/draft", {"key": found["pictures"][2]["key"]}).json
    assert bridge == {"text": None, "problem": "it answered 400: no images here"}
    vision.say = lambda asked, number: failure(401, "no key")
    refused = asking.ask("POST", f"{home}/draft", {"key": found["pictures"][2]["key"]})
    assert (refused.status, "it answered 401: no key" in refused.json["detail"]) == (502, True)
    assert asking.ask("POST", f"{home}/draft", {"key": "nothing"}).status == 404


def test_nobody_is_asked_for_a_client_that_has_left():
    future: Future[Any] = Future()
    future.cancel()
    asked: list[Any] = []
    _ask(SimpleNamespace(ask=asked.append), [], future)
    assert asked == []
