"""A writer's file in a real browser: the reading view follows it, and the reader stays where he or she was."""

from __future__ import annotations

import pytest

from tests.support.server import wait_for, write_article

pytestmark = pytest.mark.browser

LONG = "\n\n".join(
    [
        "# A long walk",
        *(f"Paragraph {n} tells of the walk. It is the {n}th of many." for n in range(60)),
        "![A boat](boat.png)",
        "This was the walk.",
    ]
)
TOP = """(words) => [...document.querySelectorAll("#text [id^=s]")]
    .find((one) => one.textContent.includes(words)).getBoundingClientRect().top"""


@pytest.fixture
def walk(request, visit, writer, desk):
    """A long text that is opened: its file, its collection, and a visit to its reading view."""
    name = request.node.name
    path = write_article(desk / name, text=LONG)
    made = writer.open(name)
    came = visit(writer)
    came.go(f"/documents/{made['documents'][0]['id']}")
    came.page.wait_for_selector("html.js")
    return path, made, came


def test_the_reading_view_follows_the_file_and_keeps_the_place(walk):
    path, _, came = walk
    page = came.page
    page.fill("#minimum", "20")
    page.evaluate("document.getElementById('s60').scrollIntoView()")
    before = page.evaluate(TOP, "Paragraph 32 ")
    path.write_text(
        LONG.replace("# A long walk", "# A long walk\n\nSomething is new.\n\nAnd it is long.").replace(
            "Paragraph 30 tells", "Paragraph 30 says"
        )
    )
    page.wait_for_selector("text=The file has changed: this is how it is now.")
    page.wait_for_selector("text=Something is new.")
    assert abs(page.evaluate(TOP, "Paragraph 32 ") - before) < 3
    assert page.input_value("#minimum") == "20"
    assert page.locator("text=Paragraph 30 says").count() == 1
    came.accessible()


def test_a_verdict_on_a_text_that_changed_meanwhile_is_not_kept_for_another_sentence(walk, writer):
    path, made, came = walk
    collection, document = made["id"], made["documents"][0]["id"]
    page = came.page
    came.go(f"/collections/{collection}/review")
    page.fill("#reviewer", "Ada")
    page.keyboard.press("Enter")
    page.wait_for_selector(".marked")
    path.write_text(LONG.replace("# A long walk", "# A long walk\n\nSomething is new."))
    wait_for(lambda: "Something is new." in writer.ask("GET", f"/v1/documents/{document}").body.decode())
    writer.linked(collection)
    page.click("#text >> text=Paragraph 3 tells")
    page.wait_for_selector("text=Not saved: its document has changed since it was shown")
    page.wait_for_selector("#text >> text=Something is new.")
    page.click("#text >> text=Paragraph 3 tells")
    page.wait_for_selector("text=1 of 1 picture judged")
    came.wrong.clear()  # the browser says that the first was refused
    links = writer.ask("GET", f"/v1/collections/{collection}/review").json["pictures"][0]["verdicts"]["Ada"]
    sentences = writer.ask("GET", f"/v1/documents/{document}").json["sentences"]
    assert [sentences[n]["text"] for n in links] == ["Paragraph 3 tells of the walk."]


def test_a_picture_that_is_looked_at_closely_stays_until_it_is_closed(walk, writer):
    path, made, came = walk
    page, document = came.page, made["documents"][0]["id"]
    page.click("[data-open='0']")
    page.wait_for_selector("dialog[open]")
    path.write_text(LONG + "\n\nThe end is new.\n")
    wait_for(lambda: "The end is new." in str(writer.ask("GET", f"/v1/documents/{document}").body))
    page.wait_for_timeout(1500)
    assert page.locator("dialog[open]").count() == 1
    page.keyboard.press("Escape")
    page.wait_for_selector("text=The end is new.")


def test_written_texts_and_new_documents_are_followed_by_every_page(visit, writer, desk):
    path = write_article(desk / "pages")
    made = writer.open("pages")
    collection, document = made["id"], made["documents"][0]["id"]
    came = visit(writer)
    page = came.page
    came.go(f"/collections/{collection}/alt-text?document={document}")
    page.wait_for_selector(".picture-card:focus >> text=Picture 1")
    page.keyboard.press("e")
    page.keyboard.type(" and more")
    path.write_text(path.read_text().replace("![IMG_0042]", "![Boats in the harbour, seen from the bridge]"))
    page.wait_for_selector(".picture-card >> nth=1", state="detached")  # somebody mended it in the file
    assert page.locator("textarea").input_value().endswith(" and more")
    came.go("/")
    page.wait_for_selector(".card")
    (desk / "pages" / "second.md").write_text("# The second one\n\nA boat.\n")
    page.wait_for_selector(".lines a >> text=The second one", state="attached")  # maybe folded
