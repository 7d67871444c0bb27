"""The story of a study in a real browser: two raters judge it by keyboard, the server is killed, the result is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from iconotext.papers.studies.study import progress
from tests.support import program
from tests.support.browser import Visit, accessible_in_every_look
from tests.support.server import Running
from tests.support.studies import addresses, make_study

pytestmark = pytest.mark.browser

READY = "#answers button:enabled"


def begin(came: Visit, rater: str, *, ready: str = READY) -> None:
    """Say who judges, by keyboard: the field has the focus."""
    came.page.wait_for_selector("#rater:focus")
    came.page.keyboard.press("Control+A")
    came.page.keyboard.type(rater)
    came.page.keyboard.press("Enter")
    came.page.wait_for_selector(ready)


def judged(came: Visit, rater: str, count: int) -> None:
    came.page.wait_for_selector(f'#progress:has-text("{rater}: {count} pair")')


def judge(came: Visit, rater: str, keys: str, *, done: int = 0) -> None:
    """Answer with some keys, each when both pictures are there."""
    for number, key in enumerate(keys, done + 1):
        came.page.wait_for_selector(READY)
        came.page.keyboard.press(key)
        judged(came, rater, number)


def test_two_raters_a_kill_and_the_result(visit, tmp_path):
    file, data = make_study(tmp_path / "study.sqlite", pairs=4), tmp_path / "data"
    server = Running(data, "--study", str(file))
    came = visit(server)
    came.page.click("nav >> text=Studies")
    came.page.click("text=Judge pictures")
    begin(came, "Ann")
    assert came.page.evaluate("document.activeElement.id") == "text"
    assert "<b>bold</b>" in came.page.inner_text("#text") or "both" in came.page.inner_text("#text")
    judge(came, "Ann", "13")
    came.page.keyboard.press("u")
    judged(came, "Ann", 1)
    judge(came, "Ann", "4", done=1)
    came.page.wait_for_selector(READY)
    seen = came.page.inner_text("#text")
    server.kill()
    came.page.keyboard.press("2")
    came.page.wait_for_selector(".status.bad:has-text('Press Begin to go on')")
    assert came.page.locator(READY).count() == 0  # nothing is answered that cannot be saved
    came.wrong.clear()  # the browser says that nobody answers
    assert progress(file).votes == 2

    server = Running(data, "--study", str(file))
    try:
        home = f"/studies/{addresses(server)[0]}"
        ann, ben = visit(server), visit(server)
        ann.go(home)
        begin(ann, "Ann")
        assert ann.page.inner_text("#text") == seen
        judge(ann, "Ann", "11", done=2)
        ann.page.wait_for_selector("#done:has-text('Nothing is left for you now')")
        assert ann.page.evaluate("document.activeElement.id") == "done"
        ann.accessible()
        ann.go(f"{home}/result")
        ann.page.wait_for_selector("text=4 of 8 answers are in")
        assert ann.page.locator("table").count() == 0
        ben.go(home)
        begin(ben, "Ben")
        judge(ben, "Ben", "1234")
        ben.page.click("text=See the result")
        ben.page.wait_for_selector("table")
        assert ben.page.locator("table").count() == 2
        printed = program.run("analyze", "votes", file).output
        for row in ben.page.locator("tbody tr").all_inner_texts():
            for cell in row.split("\t"):
                assert cell.replace("\xa0", " ") in printed.replace("\xa0", " ")
        accessible_in_every_look(visit, server, f"{home}/result", lambda page: page.wait_for_selector("table"))
    finally:
        server.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    server = Running(folder / "data", "--study", str(make_study(folder / "study.sqlite", pairs=9, raters=3)))
    yield server, folder
    server.close()


def test_the_pages_in_every_look(visit, running):
    server, _ = running
    home = f"/studies/{addresses(server)[0]}"
    accessible_in_every_look(visit, server, "/studies", lambda page: page.wait_for_selector(".card"))

    def judging(page):
        page.fill("#rater", "Cyd")
        page.keyboard.press("Enter")
        page.wait_for_selector(READY)

    accessible_in_every_look(visit, server, home, judging)


def test_a_key_that_is_held_answers_once_and_nothing_is_answered_unseen(visit, running):
    server, folder = running
    came = visit(server)
    came.go(f"/studies/{addresses(server)[0]}")
    waiting = []
    came.page.route(re.compile("/pairs/"), lambda route: waiting.append(route))  # pictures that do not come yet
    came.page.keyboard.type("Dan")
    came.page.keyboard.press("Enter")
    came.page.wait_for_selector("#judge:not([hidden])")
    came.page.keyboard.press("1")
    assert came.page.locator(READY).count() == 0
    assert len(waiting) == 2
    came.page.unroute_all(behavior="ignoreErrors")
    came.page.wait_for_selector(READY)
    for _ in range(5):
        came.page.keyboard.down("1")  # the first is a press, the others are repeats
    judged(came, "Dan", 1)
    came.page.wait_for_selector(READY)
    assert progress(folder / "study.sqlite").of_rater["Dan"] == 1
    came.page.keyboard.up("1")


def test_names_of_all_languages_are_good_and_others_are_said_at_once(visit, running):
    server, folder = running
    came = visit(server)
    came.go(f"/studies/{addresses(server)[0]}")
    came.page.keyboard.type("=1+1")
    came.page.keyboard.press("Enter")
    assert came.page.evaluate("document.getElementById('rater').validity.patternMismatch")
    assert came.page.locator("#judge:not([hidden])").count() == 0
    begin(came, "Zoë O'Neil-李明 + 1")
    judge(came, "Zoë O'Neil-李明 + 1", "3")
    assert progress(folder / "study.sqlite").of_rater["Zoë O'Neil-李明 + 1"] == 1


def test_a_picture_that_is_gone_is_said_and_not_judged(visit, tmp_path):
    file = make_study(tmp_path / "study.sqlite")
    server = Running(tmp_path / "data", "--study", str(file))
    try:
        for picture in Path(tmp_path).glob("*.png"):
            picture.unlink()
        came = visit(server)
        came.go(f"/studies/{addresses(server)[0]}")
        begin(came, "Eve", ready=".status.bad:has-text('cannot be shown')")
        came.page.keyboard.press("1")
        assert came.page.locator(READY).count() == 0
        came.wrong.clear()  # the browser says that there is no picture
        assert progress(file).votes == 0
    finally:
        server.close()
