"""The page of a study as a judge uses it, opened from disk."""

from __future__ import annotations

import json

import pytest

from iconotext_papers.studies.study import read_answers, read_study, write_study
from papers.support.small_studies import contenders

pytestmark = pytest.mark.browser

COLOUR = """(name) => {
  const image = document.getElementById(name), canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  return [...context.getImageData(9, 9, 1, 1).data];
}"""


def begin(page, rater):
    page.fill("#rater", rater)
    page.keyboard.press("Enter")
    page.wait_for_selector("#judge:not([hidden]), #done:not([hidden])")


def is_first(page, side):
    """Whether a picture is the first model's, as its pixels tell."""
    page.wait_for_function(f"document.getElementById('{side}').complete")
    red, _, blue, _ = page.evaluate(COLOUR, side)
    return red > blue


def test_a_judge_answers_stops_goes_on_and_saves(tmp_path, browser):
    file = tmp_path / "study.html"
    write_study(file, contenders(tmp_path, 6), second="cmca", raters=1)
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(file.as_uri())
    begin(page, "Ann")
    sides = []
    for _ in range(3):
        sides.append(is_first(page, "a"))
        page.keyboard.press("1" if sides[-1] else "2")  # always the first model's
    page.keyboard.press("4")
    page.keyboard.press("u")
    assert "3 of 6" in page.inner_text("#progress")
    text = page.inner_text("#text")
    page.reload()
    begin(page, "Ann")
    assert page.inner_text("#text") == text  # what was open comes again
    while page.is_visible("#judge"):
        sides.append(is_first(page, "a"))
        page.click(f"[data-answer={'a' if sides[-1] else 'b'}]")
    assert sum(sides) not in (0, 6)
    with page.expect_download() as download:
        page.click("#save")
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    context.close()
    assert problems == []
    assert saved.name == "answers-Ann.json"
    study = read_study(file)
    (answers,) = read_answers(study, [saved])
    assert sorted(answer.pair for answer in answers.answers) == list(range(6))
    assert all(
        (study.pairs[each.pair].x == "first") == ((each.answer == "a") == (each.a == "x")) for each in answers.answers
    )
    assert json.loads(saved.read_text())["rater"] == "Ann"
