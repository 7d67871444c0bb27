from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from iconotext.features.backbone import TextBackbone
from iconotext.plain_text import percent
from iconotext.train import changes
from iconotext.train.changes import PAGE, ChangedLink, Changes, Choice, changed_links, describe_gain, write_changes
from iconotext.train.summary import notes
from iconotext.types import Image

SENTENCES = ["Cut the board.", "Figure 2 shows the glue.", "Wait."]


def encode(texts):
    """Each sentence has a direction of its own; every other text is like the first."""
    return np.eye(3, 4, dtype=np.float32)[[SENTENCES.index(text) if text in SENTENCES else 0 for text in texts]]


def encoder(*columns):
    """One that finds the same cosines in every document; columns are images."""
    similarity = np.array(columns, np.float32).T

    def read_all(documents):
        return [SimpleNamespace(document=document, similarity=similarity) for document, _ in documents]

    text = TextBackbone("words", 4, encode)
    return SimpleNamespace(name="x", language=None, read_all=read_all, text_backbone=text, reader=text)


@pytest.fixture
def models(monkeypatch):
    """Two models that choose other sentences for both pictures of a document."""
    several = {"old": encoder([0.9, 0.1, 0.2], [0.1, 0.8, 0.3]), "new": encoder([0.1, 0.2, 0.9], [0.8, 0.1, 0.3])}
    monkeypatch.setattr(changes, "load_encoder", lambda name: several[str(name)])


def write_corpus(folder, **more):
    layout = {"blocks": [0, 1, 2], "positions": [1, 2]}
    captions = [None, "Figure 2: glue"]
    rows = [
        {"id": "pair", "sentences": SENTENCES, "images": ["a.png"]},
        {"id": "guide", "sentences": SENTENCES, "images": ["a.png", "b.png"], "captions": captions, **layout, **more},
    ]
    (folder / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("a.png", "b.png"):
        (folder / name).write_bytes(b"stands for an image")
    return folder / "c.jsonl"


def test_images_whose_best_sentence_is_another_one_are_compared(tmp_path, models):
    corpus = write_corpus(tmp_path)
    # By the picture alone both have another sentence; the second is cited by the same one as before.
    found = changed_links("old", "new", [corpus])
    assert (found.documents, found.images, found.count("picture")) == (1, 2, 2)
    assert found.count("all") <= 1
    first = found.links[0]
    assert (first.document, first.image.source, first.before.sentence, first.after.sentence) == (
        "guide", "a.png", "Cut the board.", "Wait.",
    )  # fmt: skip
    assert 0 < first.after.confidence < 1
    assert changed_links("old", "old", [corpus]) == Changes(1, 2, (), None)


def test_the_gain_is_measured_on_documents_that_were_not_trained_on(tmp_path, models):
    links = [[2, 0], [0, 1]]
    corpus = write_corpus(tmp_path, links=links)
    found = changed_links("old", "new", [corpus], {(0, "guide")})
    assert found.gain is not None
    assert (found.gain.documents, found.gain.before, found.gain.after) == (1, 0.1875, 1.0)
    assert describe_gain(found.gain._asdict()) == (
        "AUC of the known links by the picture alone in 1 document that was not trained on: 18.8 before, 100.0 now "
        "(+81.2, 95 % interval +81.2 to +81.2: better)"
    )
    assert changed_links("old", "new", [corpus], {(1, "guide")}).gain is None


def test_documents_that_were_not_trained_on_come_first(tmp_path, models, monkeypatch):
    monkeypatch.setattr(changes, "DOCUMENTS", 1)
    held, learned = tmp_path / "held", tmp_path / "learned"
    held.mkdir()
    learned.mkdir()
    corpora = [write_corpus(learned, id="learned"), write_corpus(held, id="held")]
    assert {link.document for link in changed_links("old", "new", corpora, {(1, "held")}).links} == {"held"}


def link(document="guide", *, after=0.6, evidence="all", now="Now <b>this</b>.", file=None):
    return ChangedLink(document, Image("a<i>.png", file), evidence, Choice("Old.", 0.3), Choice(now, after))


def test_the_page_shows_both_sentences_the_surest_first(tmp_path, picture):
    links = (
        link("first <script>", after=0.25, file=picture("one.png")),
        link("second", after=0.9),
        link("third", evidence="picture"),
    )
    write_changes(Changes(2, 9, links, None), tmp_path)
    page = (tmp_path / PAGE).read_text()
    assert page.index("second") < page.index("first &lt;script&gt;") < page.index("third")
    assert "<script>" not in page
    assert "<b>this</b>" not in page
    assert "Now &lt;b&gt;this&lt;/b&gt;." in page
    assert "a&lt;i&gt;.png" in page
    assert page.count(f"Before <b>{percent(0.3)}</b>") == 3
    assert f"Now <b>{percent(0.9)}</b>" in page
    assert page.count("data:image/") == 2  # one picture, and the sign of the page
    assert "there is no file of this picture" in page
    assert "with all evidence <b>2 changed</b>" in page
    assert "Whether the new links are better is not measured" in page


def test_the_page_says_that_more_links_changed_than_it_shows(tmp_path, monkeypatch):
    monkeypatch.setattr(changes, "SHOWN", 2)
    write_changes(Changes(1, 3, tuple(link(f"number {n}", after=n / 10) for n in (1, 2, 3)), None), tmp_path)
    page = (tmp_path / PAGE).read_text()
    assert "The first 2 of 3 are shown." in page
    assert "number 1" not in page


def test_the_page_says_that_nothing_changed(tmp_path):
    write_changes(Changes(2, 9, (), None), tmp_path)
    assert "Nothing changed: each picture has the same best sentence as before." in (tmp_path / PAGE).read_text()


STARTED = {"before": {"validation_loss": 2.0, "validation_auc": None}, "best_epoch": 3, "validation_loss": 1.5}
FIRST = "before training: validation loss 2.0000"


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ({}, []),
        ({"validated_on": {"documents": 9, "images": 20}}, []),
        (
            {"validated_on": {"documents": 1, "images": 2}},
            ["validated on 2 pictures of 1 document: too few to tell whether training helped. Give more documents, "
             "and their captions (iconotext corpus build pairs)"],
        ),
        (
            STARTED | {"before": {"validation_loss": 2.0, "validation_auc": 0.546},
                       "changed": {"images": 157, "picture": 41, "all": 1, "held_out": None}},
            ["before training: validation loss 2.0000, AUC 54.6",
             "links changed: of 157 pictures, 41 get another best sentence by the picture alone, 1 by all evidence",
             "not measured: whether the new links are better, since no document that was not trained on has known "
             "links; look at some of them, or write known links by hand and run `iconotext evaluate --compare`"],
        ),
        (
            STARTED | {"changed": {"images": 1, "picture": 0, "all": 0, "held_out": {
                "documents": 9, "before": 0.5, "after": 0.52, "low": -0.01, "high": 0.05}}},
            [FIRST, "links changed: none; of 1 picture, each has the same best sentence as before",
             "AUC of the known links by the picture alone in 9 documents that were not trained on: 50.0 before, 52.0 "
             "now (+2.0, 95 % interval -1.0 to +5.0: which may be chance)"],
        ),
        (
            STARTED | {"changed": {"images": 1, "picture": 0, "all": 0, "held_out": None}},
            [FIRST, "links changed: none; of 1 picture, each has the same best sentence as before",
             "not measured: whether the new links are better, since no document that was not trained on has known "
             "links; look at some of them, or write known links by hand and run `iconotext evaluate --compare`"],
        ),
        (
            STARTED | {"changed": None},
            [FIRST, "links changed: cannot be counted, since features have no texts; link some of their documents with "
             "both models, or compare them by `iconotext evaluate`"],
        ),
        (
            STARTED | {"best_epoch": 0, "validation_loss": 2.0, "last_loss": 2.5},
            [FIRST, "no epoch lowered the validation loss (the last: 2.5000): the model is unchanged"],
        ),
        (
            STARTED | {"validation_loss": 1.99},
            [FIRST, "it is now less than 1 % better: training changed little"],
        ),
    ],
)  # fmt: skip
def test_what_is_said_of_a_training(metrics, expected):
    assert list(notes(metrics)) == expected
