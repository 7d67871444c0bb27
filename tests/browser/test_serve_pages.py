"""The stories of the server in a real browser: drop and read; review, undo, take the corpus, evaluate."""

from __future__ import annotations

import json
import zipfile

import pytest

from tests.support import program
from tests.support.browser import accessible_in_every_look
from tests.support.server import Running

pytestmark = pytest.mark.browser

HOSTILE = """# <img src=x onerror="alert(1)"><script>alert(2)</script>

A red boat.</script><script>alert(3)</script> <svg onload="alert(4)">

![x" onerror="alert(5)](red.png)

*"><script>alert(6)</script>*
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory, article):
    root = tmp_path_factory.mktemp("root")
    for name, data in article.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(data)
    with Running(tmp_path_factory.mktemp("serve") / "data", "--root", str(root)) as made:
        yield made, root


def reviewing(visit, running, reviewer: str):
    """A visit to the review of a collection that is opened for it, and its address for programs."""
    made = running[0].open("trip")
    came = visit(running[0])
    came.go(f"/collections/{made['id']}/review")
    begin(came.page, reviewer)
    return came, f"/v1/collections/{made['id']}"


def begin(page, reviewer: str = "Ada") -> None:
    page.fill("#reviewer", reviewer)
    page.keyboard.press("Enter")
    page.wait_for_selector("#judge:not([hidden]) .marked")


def test_drop_a_folder_and_read_it(visit, running):
    came = visit(running[0])
    came.accessible()
    came.page.set_input_files("#folder", str(running[1] / "trip"))
    came.page.click("text=Boats and trams")
    came.page.wait_for_selector("html.js")
    assert came.page.locator("figure.picture").count() == 2
    came.page.click("[data-open='0']")
    assert came.page.locator("dialog[open]").count() == 1
    came.page.keyboard.press("Escape")
    came.accessible()
    came.page.click("text=All documents")
    came.page.wait_for_selector(".card")
    came.accessible()


def test_a_second_look_asks_for_no_picture(visit, running):
    came = visit(running[0])
    document = running[0].open("trip")["documents"][0]["id"]
    sizes = (
        "performance.getEntriesByType('resource').filter(e => e.name.includes('/pictures/')).map(e => e.transferSize)"
    )

    def loaded():
        came.page.wait_for_selector("html.js")
        came.page.evaluate("Promise.all([...document.images].map(i => (i.loading = 'eager', i.decode())))")
        return came.page.evaluate(sizes)

    came.go(f"/documents/{document}")
    assert [size > 0 for size in loaded()] == [True, True]
    came.go("/")
    came.go(f"/documents/{document}")
    assert loaded() == [0, 0]
    came.accessible()


def test_a_zip_is_dropped_with_the_pointer(visit, running, tmp_path):
    came = visit(running[0])
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in (running[1] / "trip").iterdir():
            archive.write(path, path.name)
    data = list(packed.read_bytes())
    came.page.wait_for_selector("#documents .card, #documents p")
    before = came.page.locator(".card").count()
    came.page.evaluate(
        """(bytes) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(bytes)], "packed.zip"));
            dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
        }""",
        data,
    )
    came.page.wait_for_selector(f".card >> nth={before}")
    came.page.wait_for_selector(".card:first-child h2 a >> text=Boats and trams")


def test_open_a_path_and_be_told_of_a_wrong_one(visit, running):
    came = visit(running[0])
    came.page.fill("#path", "../elsewhere")
    came.page.click("#open button >> nth=0")
    came.page.wait_for_selector(".status.bad")
    came.page.fill("#path", "trip/article.md")
    came.page.keyboard.press("Enter")
    came.page.wait_for_selector("text=article.md")
    came.wrong.clear()  # the browser says of a wrong path that it is not there
    came.page.click("text=Open all")
    came.page.wait_for_selector(f".card >> nth=0 >> text={running[1].name}")


def test_review_undo_export_evaluate(visit, running, tmp_path):
    came, home = reviewing(visit, running, "Ada")
    page = came.page
    came.accessible()
    page.keyboard.press("Enter")  # one action for the likeliest
    page.wait_for_selector("text=1 of 2 pictures judged")
    page.keyboard.press("0")  # one for none
    page.wait_for_selector("#done:not([hidden])")
    came.accessible()
    page.keyboard.press("u")
    page.wait_for_selector("#judge:not([hidden])")
    page.keyboard.press("1")
    page.wait_for_selector("text=2 of 2 pictures judged")
    page.wait_for_selector("text=gave no other picture another sentence")
    with page.expect_download() as download:
        page.click("text=Take the corpus")
    with zipfile.ZipFile(download.value.path()) as packed:
        packed.extractall(tmp_path)
    done = program.run("evaluate", "default", tmp_path / "corpus.jsonl", "--json")
    assert json.loads(done.stdout)["documents"] == 1
    verdicts = running[0].ask("GET", f"{home}/review").json["pictures"]
    assert all(picture["verdicts"]["Ada"] == [picture["best"]] for picture in verdicts)


def test_two_windows_of_one_reviewer_are_told_of_each_others_answers(visit, running):
    first, home = reviewing(visit, running, "Dora")
    second = visit(running[0])
    second.go(f"{home.removeprefix('/v1')}/review")
    begin(second.page, "Dora")
    one, other = first.page, second.page
    name = one.inner_text("#picture-name")
    assert other.inner_text("#picture-name") == name
    one.keyboard.press("Enter")
    one.wait_for_selector("text=1 of 2 pictures judged")
    other.wait_for_selector("text=/^Dora in another window: picture [12], sentence [0-9]+[.]$/")
    other.wait_for_selector("text=1 of 2 pictures judged")
    assert other.inner_text("#picture-name") == name  # a key that is pressed now is meant for it
    other.keyboard.press("0")
    one.wait_for_selector("text=/^Dora in another window: picture [12], none of its sentences[.]$/")
    other.wait_for_selector("text=/^Saved: picture [12] belongs to none[.]$/")
    other.keyboard.press("u")
    one.wait_for_selector("text=/^Dora in another window: picture [12], sentence [0-9]+[.]$/")
    other.wait_for_selector("text=/^Taken back: picture/")
    other.keyboard.press("u")
    one.wait_for_selector("text=/^Dora in another window: picture [12], taken back[.]$/")
    one.wait_for_selector("text=0 of 2 pictures judged")


def test_what_was_done_is_said_when_the_next_key_is_taken(visit, running):
    page = reviewing(visit, running, "Eve")[0].page
    page.keyboard.press("Enter")
    page.wait_for_selector("text=1 of 2 pictures judged")
    page.wait_for_selector("text=/^Saved: picture/")
    held = []
    page.route("**/review?reviewer=*", lambda route: held.append(route))
    with page.expect_request("**/review?reviewer=Eve"):
        page.keyboard.press("u")
    assert page.locator("text=/^Taken back/").count() == 0  # a key would not be taken yet
    page.unroute("**/review?reviewer=*")  # what is held goes on
    page.wait_for_selector("text=/^Taken back: picture/")
    page.keyboard.press("0")
    page.wait_for_selector("text=/^Saved: picture [12] belongs to none[.]$/")


def test_a_picture_of_several_sentences_is_told_with_the_keyboard(visit, running):
    came, home = reviewing(visit, running, "Cy")
    page = came.page

    def candidates():
        return [
            int(n) for n in page.locator("#candidates button").evaluate_all("all => all.map((b) => b.dataset.sentence)")
        ]

    first = candidates()
    page.keyboard.press("Shift+Digit1")
    page.keyboard.press("Shift+Digit3")
    assert page.locator("#candidates [aria-pressed=true]").count() == 2
    assert page.locator(".text .picked").count() == 2
    came.accessible()
    page.keyboard.press("Enter")
    page.wait_for_selector("text=1 of 2 pictures judged")
    page.wait_for_selector(".picked", state="detached")
    second = candidates()
    page.keyboard.press("Space")  # the marked one, at first the likeliest
    page.keyboard.press("m")  # from now on numbers and the pointer pick
    page.keyboard.press("2")
    page.keyboard.press("Shift+Digit4")
    page.keyboard.press("Shift+Digit4")  # not, after all
    page.click("#take")
    page.wait_for_selector("text=2 of 2 pictures judged")
    review = running[0].ask("GET", f"{home}/review").json
    said = sorted(p["verdicts"]["Cy"] for p in review["pictures"])
    assert said == sorted([sorted([first[0], first[2]]), sorted(second[:2])])
    assert page.locator("text=Take the corpus").count() == 1


def test_a_wrong_link_is_corrected_where_it_is_seen(visit, running):
    server, _ = running
    made = server.open("trip")
    document = made["documents"][0]["id"]
    came = visit(server, width=390)
    page = came.page
    page.goto(f"{came.home}/documents/{document}")
    page.click("[data-open='1']")
    page.wait_for_selector("dialog[open] .evidence")
    page.focus("text=Correct")
    page.keyboard.press("Enter")
    page.wait_for_url("**/review?document=*&picture=1")
    begin(page, "ANNA")
    page.wait_for_selector("#picture-name >> text=Picture 2")
    # It stands behind the tram's sentences, before the last one of the text.
    assert page.locator(".here").evaluate("e => e.nextElementSibling.querySelector('[data-n]').dataset.n") == "4"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("p")
    came.accessible()
    page.click("#text [data-n='2']")
    page.wait_for_selector("text=Saved: picture 2, sentence 3.")
    page.keyboard.press("u")  # not, after all
    page.wait_for_selector("text=Taken back: picture 2.")
    assert page.inner_text("#given") == ""
    page.click("#text [data-n='4']")
    page.wait_for_selector("text=Your answer: sentence 5.")
    page.wait_for_selector("#back:focus")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/documents/{document}#p1")
    page.wait_for_selector("text=1 sentence, chosen by ANNA")
    page.click("[data-open='1']")
    page.wait_for_selector("dialog[open] >> text=As chosen by ANNA")
    assert page.locator("dialog .evidence, dialog .sure").count() == 0
    came.accessible()
    page.click("text=Change")
    page.wait_for_selector("text=Your answer: sentence 5.")
    page.keyboard.press("0")
    page.wait_for_selector("text=Your answer: none of its sentences.")


def test_the_list_is_filtered_and_folded_and_the_root_is_looked_through(visit, running):
    server, root = running
    for folder in ("book", "book/deep"):
        (root / folder).mkdir(exist_ok=True)
        (root / folder / "walk.md").write_text(f"# A walk in {folder}\n\nIt rained.\n")
    came = visit(server)
    page = came.page
    page.click("text=look what is in it")
    page.click("text=book/")
    page.wait_for_selector("#inside >> text=walk.md")
    came.accessible()
    page.click("text=Open all of this folder")
    page.wait_for_url("**/?collection=*")
    page.wait_for_selector(".lines a >> text=A walk in book/deep")
    came.go("/")
    page.fill("#q", "BOOK/deep")
    page.keyboard.press("Enter")
    page.wait_for_selector("summary >> text=1 of 2 documents with")
    page.select_option("#sort", "name")
    page.wait_for_url("**/?q=BOOK%2Fdeep&sort=name")
    page.reload()
    assert page.input_value("#q") == "BOOK/deep"
    # The root as a whole may have been opened, too, and is followed: it then has the same document.
    lines = page.locator(".card").evaluate_all("all => all.map((one) => one.querySelectorAll('.lines a').length)")
    assert lines in ([1], [1, 1])
    page.click("summary")
    with page.expect_response(lambda answer: "?q=" in answer.url):  # the list is fetched again
        server.send({"new.md": b"# New\n\nIt rained again.\n"})
    page.wait_for_timeout(200)
    assert page.locator(".card details:not([open])").count() == 1


def test_a_hostile_document_runs_nothing(visit, running):
    server, root = running
    made = server.send({"bad.md": HOSTILE.encode(), "red.png": (root / "trip" / "red.png").read_bytes()}).json
    found = server.linked(made["id"])
    came = visit(running[0])
    came.page.wait_for_selector(".card:first-child h2 a")
    came.go(f"/documents/{found['documents'][0]['id']}")
    came.page.wait_for_selector("html.js")
    came.go(f"/collections/{made['id']}/review")
    begin(came.page, "<img src=x onerror=alert(7)>")
    came.page.keyboard.press("1")
    came.page.wait_for_selector("text=of 1 picture judged")


def test_every_page_is_accessible(visit, running):
    server, _ = running
    made = server.open("trip")
    accessible_in_every_look(visit, server, "/", lambda page: page.wait_for_selector(".card"))
    view = f"/documents/{made['documents'][0]['id']}"
    accessible_in_every_look(visit, server, view, lambda page: page.wait_for_selector("html.js"))
    accessible_in_every_look(visit, server, f"/collections/{made['id']}/review", begin)
    accessible_in_every_look(visit, server, "/root", lambda page: page.wait_for_selector(".lines"))


def test_on_a_phone_a_field_stands_beside_its_name(visit, running):
    running[0].open("trip")
    came = visit(running[0], width=390)
    for field in ("q", "sort"):
        named, name = (came.page.locator(each).bounding_box() for each in (f"#{field}", f"label[for={field}]"))
        assert named["y"] < name["y"] + name["height"] / 2 < named["y"] + named["height"]
