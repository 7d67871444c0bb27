"""Links with a promise: a collection is looked at as a whole, and what does not pass is dropped."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError

from iconotext import Document, Image, LinkedDocument, Linker, LinkSettings, Sentence
from iconotext.errors import DocumentError, SettingError
from iconotext.read import Failure
from iconotext.report.as_json import json_object
from iconotext.report.as_markdown import markdown
from iconotext.report.problems import promise_lines
from iconotext.report.reading_page import reading_page
from iconotext.types import Promise
from tests.support.encoders import MadeUpEncoder, text_backbone
from tests.support.linking import encode
from tests.support.program import printed as run

THINGS = "anchor bridge candle dragon engine falcon garden hammer island jacket kettle ladder".split()


def linker(**settings: object) -> Linker:
    words = text_backbone(SimpleNamespace(name="words", dim=32, encode=encode))
    encoder = MadeUpEncoder("x", 32, encode, None, text_backbone=words)
    chosen = {"evidence": ("caption", "layout"), "relations": "none", "max_false": 0.2, **settings}
    return Linker(encoder, LinkSettings(**chosen))


def story(number: int, *, caption: str | None = None) -> Document:
    """Six paragraphs, each about a thing of this document, and a captioned picture below the third."""
    thing = f"{THINGS[number % 12]}{number}"
    texts = [f"{word} {thing} stood there {word}{number}." for word in ("old", "new", "red", "tall", "lost", "last")]
    image = Image(f"{number}.png", caption=caption or f"the red {thing} red{number}", block=6, position=3)
    return Document(
        f"d{number:02}", tuple(Sentence(text, n) for n, text in enumerate(texts)), (image,), links=((2, 0),)
    )


STORIES = [story(number) for number in range(24)]


def test_pictures_belong_to_their_document_and_foreign_ones_do_not():
    foreign = [replace(story(number + 200).images[0], position=5) for number in range(24)]
    mixed = [replace(each, images=(*each.images, image)) for each, image in zip(STORIES, foreign, strict=True)]
    found = list(linker(promise="document").link_all(mixed))
    promise = found[0].promises[0]
    assert (promise.claim, promise.tested, promise.refused) == ("document", 48, None)
    assert sum(0 in each.promises[0].images for each in found) >= 22
    assert sum(1 in each.promises[0].images for each in found) <= 10  # six in the mean, of 24
    for linked in found:
        assert {link.image for link in linked.links} == linked.promises[0].images


def test_what_has_no_calibration_figures_is_refused_and_has_no_links():
    linked = next(linker().link_all(STORIES))
    assert linked.links == ()
    assert "not enough calibration data of this kind (en, caption, layout, by caption+layout)" in (
        linked.promises[2].refused
    )


def test_promises_from_documents_whose_links_are_known():
    own = linker()
    own.calibrate(story(number) for number in range(100, 130))
    found = list(own.link_all(STORIES))
    assert [promise.calibration for promise in found[0].promises] == [24, 30, 30]
    assert all([(link.sentence, link.image) for link in linked.links] == [(2, 0)] for linked in found)
    # Where the known links say that the program is wrong, nothing passes.
    own.calibrate(replace(story(number), links=((5, 0),)) for number in range(100, 130))
    assert not any(linked.links for linked in own.link_all(STORIES))


def test_the_order_of_documents_changes_nothing():
    def kept(documents: list[Document]) -> dict[str, object]:
        return {each.document.id: (each.links, each.promises) for each in linker().link_all(documents)}

    assert kept(STORIES) == kept(STORIES[::-1])


def test_failures_pass_through_and_documents_may_come_from_anywhere():
    failure = Failure(Path("gone.md"), DocumentError("gone.md: gone"))
    first, second, *others = linker(promise="document").link_all(iter([failure, "missing.md", *STORIES]))
    assert [type(each) for each in (first, second)] == [Failure, Failure]
    assert str(first.error) == "gone.md: gone"
    assert [each.document.id for each in others] == [each.id for each in STORIES]


def test_two_documents_of_one_name_are_an_error():
    with pytest.raises(SettingError, match="'d00'"):
        list(linker().link_all([STORIES[0], replace(STORIES[1], id="d00")]))
    with pytest.raises(SettingError, match="max_false is not set"):
        linker(max_false=None).promises(STORIES)


def test_one_document_alone_has_no_decoys():
    linked = linker(promise="document").link(STORIES[0])
    assert linked.links == ()
    assert "link several documents" in linked.promises[0].refused


def test_without_words_and_pictures_nothing_belongs():
    linked = next(linker(promise="document", evidence=("layout",)).link_all(STORIES))
    assert (linked.promises[0].tested, linked.promises[0].untested) == (0, 24)


def test_the_same_run_without_a_promise_has_its_links():
    assert all(linked.links and not linked.promises for linked in linker(max_false=None).link_all(STORIES))


@pytest.mark.parametrize(
    "settings",
    [
        {"select": "assignment"},
        {"select": "threshold"},
        {"min_confidence": 0.5},
        {"max_false": 0},
        {"max_false": 0.9},
        {"max_false": None, "promise": "paragraph"},
    ],
)
def test_what_contradicts_a_promise(settings):
    with pytest.raises(ValidationError):
        LinkSettings(**{"max_false": 0.1, **settings})


MADE = (
    Promise("document", 0.1, 0, 0, 0, 3, "no decoys: link several documents"),
    Promise("paragraph", 0.1, 12, 3, 412, 0, None, frozenset({0}), decides=True),
    Promise("sentence", 0.1, 12, 0, 412, 2, "not enough calibration data of this kind (fr)"),
)


def test_promises_in_words():
    assert [line.replace("\u00a0", " ") for line in promise_lines(MADE)] == [
        "Right document: no promise, no decoys: link several documents",
        "Right paragraph: 3 of 12 pictures have a link that is sure enough; of such links, at most 10 % lead to a wrong "
        "paragraph (tested on 412 figures whose paragraph is known)",
        "Right sentence: 0 of 12 pictures have a link that is sure enough (tested on 412 figures whose sentence is known); "
        "2 not tested, not enough calibration data of this kind (fr)",
    ]


def test_a_promise_of_several_collections_says_so():
    (line,) = promise_lines([Promise("document", 0.1, 30, 20, 30, collections=2)])
    assert line.replace("\u00a0", " ") == (
        "Right document: 20 of 30 pictures have a link that is sure enough; of such links, at most 10 % show a picture of "
        "another document, counted over all collections (tested on 30 pictures of another document)"
    )


def test_every_output_says_what_is_promised():
    plain = next(linker(max_false=None).link_all(STORIES))
    linked = LinkedDocument(plain.document, (), plain.similarity, "m", MADE)
    page = reading_page(linked)
    assert "3 of 12 pictures of all documents have a link" in page
    for line in promise_lines(MADE, len(plain.document.images)):
        assert line in page
    assert "not sure enough for the promise" in page
    assert page.index("Right paragraph") < page.index("<footer>") < page.index("Right document")
    assert "no decoys" in markdown(linked, Path())
    found = json_object(linked)["promises"]
    assert found[1] == {
        "claim": "paragraph", "max_false": 0.1, "tested": 12, "kept": 3, "calibration": 412, "untested": 0,
        "refused": None, "decides": True, "collections": 0, "pictures": [0],
    }  # fmt: skip
    assert "promises" not in json_object(plain)
    assert 0 < json_object(plain)["links"][0]["paragraph"] <= 1


@pytest.fixture
def folder(tmp_path, picture) -> Path:
    for number in range(12):
        picture(f"docs/{number}.png", seed=number)
        text = "\n\n".join(sentence.text for sentence in STORIES[number].sentences)
        caption = STORIES[number].images[0].caption
        (tmp_path / "docs" / f"d{number:02}.md").write_text(
            f"{text}\n\n![](docs/{number}.png)\n*{caption}*\n".replace("docs/", "")
        )
    return tmp_path / "docs"


@pytest.mark.slow
def test_the_command_says_and_remembers_what_is_promised(folder, tmp_path):
    out = tmp_path / "out"
    command = ["link", folder, "--output", out, "--evidence", "caption,layout", "--relations", "none"]
    promise = ["--max-false", "0.2", "--promise", "document"]
    first = run(*command, *promise)
    assert "Right document: " in first
    assert "Right sentence: no promise, not enough calibration data" in first
    page = (out / "d00.html").read_bytes()
    assert b"Right document: " in page
    assert run(*command, *promise) == first
    assert (out / "d00.html").read_bytes() == page
    (folder / "d11.md").unlink()
    run(*command, *promise)
    assert (out / "d00.html").read_bytes() != page  # it is promised of fewer pictures
    assert "--max-false" in run("link", folder, "--calibration", folder / "d00.md", status=1)


@pytest.mark.slow
def test_the_command_takes_links_that_are_known(folder, tmp_path):
    rows = [
        {
            "id": document.id,
            "sentences": [sentence.text for sentence in document.sentences],
            "images": [f"docs/{n % 12}.png"],
            "captions": [document.images[0].caption],
            "blocks": list(range(6)),
            "positions": [3],
            "links": [[2, 0]],
        }
        for n, document in enumerate(story(number) for number in range(100, 120))
    ]
    (tmp_path / "known.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["--to", "jsonl", "--evidence", "caption,layout", "--relations", "none", "--max-false", "0.2"]
    printed = run("link", folder, *options, "--calibration", tmp_path / "known.jsonl")
    linked = [json.loads(line) for line in printed.splitlines()]
    assert {each["promises"][2]["calibration"] for each in linked} == {20}
    assert sum(len(each["links"]) for each in linked) == linked[0]["promises"][2]["kept"]
    assert np.mean([bool(each["links"]) for each in linked]) > 0.5


def test_promises_that_drop_no_link():
    [plain, *_] = linker(max_false=None, select="top-k", k=2).link_all(STORIES)
    [said, *_] = linker(promise="none", k=2).link_all(STORIES)
    assert said.links == plain.links
    [best, *_] = linker(promise="paragraph").link_all(STORIES)
    assert [(p.claim, p.kept) for p in said.promises] == [(p.claim, p.kept) for p in best.promises]
    assert not any(promise.decides for promise in said.promises)
