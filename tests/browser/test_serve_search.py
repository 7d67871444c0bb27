"""Search in a real browser: a sentence, a relation, an example picture, and the document that shows what was found."""

from __future__ import annotations

import shutil
import time

import pytest

from tests.support import program
from tests.support.browser import accessible_in_every_look
from tests.support.server import Running, png

pytestmark = pytest.mark.browser

HOSTILE = """# <script>alert(1)</script>

A zeppelin.</script><script>alert(3)</script> <svg onload="alert(4)">

![x" onerror="alert(5)](zeppelin.png)

*"&gt;&lt;script&gt;alert(6)&lt;/script&gt; zeppelin*
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory, article):
    home = tmp_path_factory.mktemp("library")
    for name, data in {
        **article,
        "bad/bad.md": HOSTILE.encode(),
        "bad/zeppelin.png": png((120, 110, 200), home),
    }.items():
        (home / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "docs" / name).write_bytes(data)
    (home / "photos").mkdir()
    for number in range(28):
        (home / "photos" / f"photo-{number}.png").write_bytes(png((8 * number, 200 - 5 * number, 90), home))
    program.run("library", "add", home / "lib", home / "docs", home / "photos")
    with Running(home / "data", "--library", str(home / "lib"), "--root", str(home / "docs")) as made:
        made.open("trip")
        yield made, home


def found(page):
    page.wait_for_selector(".cards li, .none")
    page.wait_for_load_state()  # its scripts too
    return page.locator(".cards li .name").all_inner_texts()


def test_a_sentence_a_relation_an_example_and_the_document(visit, running):
    server, home = running
    came = visit(server)
    page = came.page
    with page.expect_navigation():
        page.click("nav >> text=Search")
    assert page.locator("text=31 pictures").count() == 1
    page.fill("#sentence", "A red boat in the harbour")
    page.keyboard.press("Enter")
    assert found(page)[0] == "red.png"
    assert page.title().startswith("A red boat in the harbour – ")
    first = page.locator(".cards li").first
    assert "strong match text, words: red boat harbour" in first.inner_text()
    assert "A red boat lies in the harbour." in first.inner_text()
    page.click(".chip >> text=story")
    page.wait_for_url("**relation=story*")
    assert page.url == f"{came.home}/search?sentence=A+red+boat+in+the+harbour&relation=story"
    page.wait_for_selector(".chip[aria-pressed=true]:focus")
    assert "story " in page.locator(".cards li").first.inner_text()
    page.click(".chip[aria-pressed=true]")
    page.wait_for_url(lambda address: "relation" not in address)
    assert page.locator(".chip[aria-pressed=true]").count() == 0
    with page.expect_navigation():
        page.set_input_files("#example", str(home / "photos" / "photo-7.png"))
    page.fill("#sentence", "")
    page.click("form >> text=Search >> nth=-1")
    page.wait_for_url(lambda address: "sentence" not in address)
    assert found(page)[0] == "photo-7.png"
    assert len(found(page)) == 24
    page.click("#more")
    page.wait_for_url("**top=48#result-25")
    assert len(found(page)) == 31
    shared = visit(server)  # the address alone says all
    shared.page.goto(page.url)
    assert found(shared.page) == found(page)
    page.click(".alike >> nth=0")
    page.wait_for_url(lambda address: "top" not in address)
    assert "photo-7.png" not in found(page)
    with page.expect_navigation():
        page.click("text=Without this picture")
    page.fill("#sentence", "A red boat")
    page.keyboard.press("Enter")
    page.wait_for_url("**sentence=A+red+boat")
    page.click(".document")
    page.wait_for_selector("html.js")
    assert page.url.endswith("#p0")
    assert page.locator("figure.picture").count() == 2


def test_with_the_keyboard_alone(visit, running):
    came = visit(running[0])
    page = came.page
    came.go("/search?sentence=A+green+tram")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # to the pictures
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".zoom:target")
    assert page.locator(".zoom:target img").bounding_box()["width"] > 1000
    assert "size=small" not in page.get_attribute(".zoom:target img", "src")
    page.keyboard.press("Escape")
    page.wait_for_selector(".zoom:not(:target)")
    assert page.locator(".zoom:target").count() == 0
    page.focus("#sentence")
    page.keyboard.press("Control+a")
    page.keyboard.type("boat")
    for _ in range(5):  # the button, the picture, visible, reaction, action
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.wait_for_url("**/search?sentence=boat&relation=action")
    page.wait_for_selector("#chip-3:focus[aria-pressed=true]")


def test_filters_and_what_is_wrong(visit, running):
    came = visit(running[0])
    page = came.page
    came.go("/search")
    page.click("form button >> text=Search")
    page.wait_for_selector("#status >> text=Write a sentence")
    page.fill("#sentence", "boat")
    page.click("summary")
    page.fill("#folder", "photos")
    page.keyboard.press("Enter")
    page.wait_for_url("**folder=photos")
    assert page.input_value("#folder") == "photos"
    assert all(name.startswith("photo-") for name in found(page))
    assert found(page)
    page.click("#anyway")
    page.wait_for_url("**anyway=True**")
    assert len(found(page)) == 24
    page.fill("#since", "tomorrow")
    page.keyboard.press("Enter")
    page.wait_for_selector("#status.bad >> text=not a date")
    assert page.input_value("#folder") == "photos"
    came.wrong.clear()  # the browser says of a wrong question that it was one
    page.fill("#since", "2030")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=No picture satisfies the filters.")


def test_an_example_is_dropped_and_what_is_none_is_refused(visit, running):
    came = visit(running[0])
    came.go("/search?sentence=boat")
    drop = """([bytes, type]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(bytes)], "x.png", { type }));
        dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }"""
    came.page.evaluate(drop, [list(b"nothing"), "text/plain"])
    came.page.wait_for_selector("#status.bad >> text=no picture that can be read")
    came.wrong.clear()
    with came.page.expect_navigation():
        came.page.evaluate(drop, [list((running[1] / "photos" / "photo-3.png").read_bytes()), "image/png"])
    came.page.wait_for_selector(".like img")
    assert "photo-3.png" in found(came.page)


def test_a_picture_that_is_gone_says_so(visit, running):
    def later(route):
        time.sleep(1)
        route.continue_()

    server, home = running
    shutil.move(home / "photos" / "photo-20.png", home / "gone.png")
    try:
        came = visit(server)
        came.go("/search?sentence=photo-20&anyway=true")
        came.page.wait_for_selector("text=gone, or another picture by now")
        assert came.page.locator(".missing").count() == 1  # not those that are loaded when they come into view
        assert came.page.locator(".zoom").count() == 23
        came.page.route("**/static/search.js", later)
        came.page.reload()  # the pictures come before the script
        came.page.wait_for_selector("text=gone, or another picture by now")
        assert came.page.locator(".missing").count() == 1
        came.wrong.clear()  # the browser says that it is not there
    finally:
        shutil.move(home / "gone.png", home / "photos" / "photo-20.png")


def test_hostile_texts_stay_texts(visit, running):
    came = visit(running[0])
    came.go("/search?sentence=%3Cscript%3Ealert(8)%3C/script%3E+zeppelin&folder=%22%3E%3Cimg+src=x+onerror=alert(9)%3E")
    came.page.wait_for_selector("#status.bad")
    came.wrong.clear()  # there is no such folder
    came.go("/search?sentence=%3Cscript%3Ealert(8)%3C/script%3E+zeppelin")
    assert "zeppelin.png" in found(came.page)
    assert "<script>alert(6)</script> zeppelin" in came.page.inner_text(".cards")
    assert "<script>alert(8)</script> zeppelin" in came.page.inner_text("h2")


@pytest.mark.parametrize(
    "query", ["", "?sentence=A+red+boat+in+the+harbour&relation=story&folder=docs", "?sentence=xyz"]
)
def test_every_look(visit, running, query):
    accessible_in_every_look(visit, running[0], f"/search{query}", lambda page: page.wait_for_selector("#results"))
