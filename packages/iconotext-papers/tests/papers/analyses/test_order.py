"""Pictures that lose their places, and find them by content."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from iconotext.decide.settings import LinkSettings
from iconotext.errors import CorpusError, SettingError
from iconotext.features.ocr import LineReader
from iconotext.types import Document, Image, Sentence, TextLine
from iconotext_papers.analyses.order import ORDER_METRICS, Displaced, displaced, put_back, reorder
from tests.support.linking import encode

ONE_ORDER = np.array([[0, 1, 2, 3]])


@pytest.mark.parametrize(
    ("put", "expected"),
    [
        ([0, 1, 2, 3], (1, 4, 1)),
        ([0, 2, 1, 3], (1, 4, 1)),  # the second and the third have one place
        # the first and the last change places: 2 of 4, and every pair from different places is reversed
        ([3, 1, 2, 0], (0, 2, 0)),
        # the first at 3, the second at 1, the rest as they were: of 5 pairs 0-1 reversed, 0-2 at one place, 3 right
        ([1, 0, 2, 3], (0, 2, (0 + 0.5 + 3) / 5)),
    ],
)
def test_by_hand(put: Any, expected: Any) -> None:
    scores = np.zeros((4, 4))
    scores[put, range(4)] = 1
    assert put_back(scores, np.array([1, 3, 3, 5]), ONE_ORDER) == pytest.approx(expected)


def test_equal_scores_are_chance() -> None:
    orders = np.array(list(permutations(range(3))))
    # Over all orders of three: one of six is right, one image of three, half of the pairs.
    assert put_back(np.ones((3, 3)), np.array([0, 2, 4]), orders) == pytest.approx((1 / 6, 1, 0.5))


def test_a_strong_pair_does_not_cost_the_rest_more() -> None:
    scores = np.array([[9.0, 8.0, 0.0], [8.0, 0.0, 0.0], [0.0, 0.0, 0.1]])  # 8 + 8 is more than 9 + 0
    assert put_back(scores, np.array([0, 1, 2]), ONE_ORDER[:, :3])[1] == 1


BLOCKS = (
    ("paragraph", ("Bread dough is kneaded.", "It rests.")),
    ("caption", ("Figure 2: Kneaded dough.",)),
    ("paragraph", ("A saw cuts wood.",)),
    ("paragraph", ("The roof was painted.", "Red paint dried.")),
)


def article(*images: Image, name: str = "d") -> Document:
    sentences = [Sentence(text, block, kind) for block, (kind, texts) in enumerate(BLOCKS) for text in texts]
    return Document(name, tuple(sentences), images)


DOUGH = Image("a.jpg", caption="Figure 2: Kneaded bread dough.", position=2, block=1, anchors=("fig-2",), page=3)
SAW = Image("b.jpg", alt="A saw for wood", position=4, block=None)
ROOF = Image("c.jpg", caption="Fig. 3. The painted roof.", position=6)


def lost_of(document: Document, seed: int = 0) -> Displaced:
    lost = displaced(document, seed=seed)
    assert isinstance(lost, Displaced)
    return lost


def test_nothing_tells_the_place() -> None:
    lost = lost_of(article(DOUGH, SAW, ROOF))
    assert "caption" not in {sentence.kind for sentence in lost.document.sentences}
    place = {image.source: where for image, where in zip(lost.document.images, lost.position.tolist(), strict=True)}
    assert place == {"a.jpg": 2, "b.jpg": 3, "c.jpg": 5}  # the caption sentence is gone
    texts = {image.source: (image.caption, image.alt) for image in lost.document.images}
    assert texts == {
        "a.jpg": ("Kneaded bread dough.", None),
        "b.jpg": (None, "A saw for wood"),
        "c.jpg": ("The painted roof.", None),
    }
    for image in lost.document.images:
        assert (image.position, image.block, image.anchors, image.page) == (None, None, (), None)
    around = {image.source: row.tolist() for image, row in zip(lost.document.images, lost.around, strict=True)}
    assert around["a.jpg"] == [True, True, True, False, False]  # the block above and the block below
    assert around["c.jpg"] == [False, False, False, True, True]
    orders = {tuple(i.source for i in lost_of(article(DOUGH, SAW, ROOF), s).document.images) for s in range(9)}
    assert len(orders) > 2


def linker(similar: Any = (), evidence: Any = ("picture", "caption")) -> Any:
    """Texts as hashed words; an image is as similar to a sentence as ``similar`` says of its source and the text."""

    def read(document: Document) -> Any:
        cells = [[float((i.source, s.text) in similar) for i in document.images] for s in document.sentences]
        return SimpleNamespace(document=document, similarity=np.array(cells, np.float32), caption_vectors=None)

    source, backbone = SimpleNamespace(from_file=True), SimpleNamespace(encode=encode)
    encoder = SimpleNamespace(read=read, text_backbone=backbone, image_source=source)
    return SimpleNamespace(encoder=encoder, settings=LinkSettings(evidence=evidence), line_reader=LineReader("", lines))


def lines(files: Any) -> Any:
    written = {"a.jpg": "Dough rests", "b.jpg": "Saw, wood", "c.jpg": "Red paint"}
    return [(TextLine(written[file.name], 0.9, (0, 0, 1, 1)),) for file in files]


def test_captions_among_the_sentences_of_a_corpus_are_found_by_their_words() -> None:
    whole = article(DOUGH, SAW)
    plain = replace(whole, sentences=tuple(replace(s, kind="paragraph") for s in whole.sentences))
    assert len(lost_of(plain).document.sentences) == 6
    copied = replace(plain, images=(replace(DOUGH, caption="Figure 2: Kneaded dough. By Ann."), SAW))
    assert [s.text for s in lost_of(copied).document.sentences] == [s.text for s in lost_of(whole).document.sentences]


def test_what_is_written_and_what_is_seen_put_pictures_back() -> None:
    seen = {("a.jpg", "It rests."), ("b.jpg", "A saw cuts wood."), ("c.jpg", "Red paint dried.")}
    found = reorder(linker(seen), [article(DOUGH, SAW, ROOF)])
    assert list(found.totals) == ["random", "words", "text", "image", "both"]
    for rule in ("words", "text", "image", "both"):
        assert found.totals[rule].tolist() == [[1, 3, 1]], rule
    assert found.totals["random"][0, 0] < 1
    assert found.beyond_words("text")["placed"] == (0, 0, 0)


def test_words_in_pictures_count_as_what_is_seen() -> None:
    images = [
        Image(name, file=Path(name), position=place) for name, place in (("a.jpg", 2), ("b.jpg", 4), ("c.jpg", 6))
    ]
    found = reorder(linker(evidence=("caption", "ocr")), [article(*images)])
    assert found.totals["image"].tolist() == [[1, 3, 1]]
    assert found.totals["text"][0, 1] < 3  # nothing is written about them


def test_where_pictures_stood_changes_no_score() -> None:
    """Pictures that stand at each other's places are put back where the others were put: the place is not used."""
    right = reorder(linker(), [article(DOUGH, SAW, ROOF)])
    changed = [replace(i, position=p) for i, p in ((DOUGH, 6), (SAW, 4), (ROOF, 2))]
    wrong = reorder(linker(), [article(*changed)])
    assert right.totals["text"][0].tolist() == [1, 3, 1]
    assert wrong.totals["text"][0].tolist() == [0, 1, 0]


def test_figures_are_means_over_documents_and_images() -> None:
    swapped = article(replace(DOUGH, position=6), replace(ROOF, position=2), name="swapped")
    found = reorder(linker(evidence=("caption",)), [article(DOUGH, SAW, ROOF), swapped])
    figures = found.figures(found.totals["text"])
    assert list(figures) == list(ORDER_METRICS)
    assert [value for value, _, _ in figures.values()] == pytest.approx([0.5, 3 / 5, 0.5])
    assert set(found.totals) == {"random", "words", "text"}
    assert found.as_dict()["rules"]["text"]["figures"]["placed"][0] == pytest.approx(0.6)
    again = reorder(linker(evidence=("caption",)), [swapped, article(DOUGH, SAW, ROOF)])
    assert again.totals["random"].tolist() == found.totals["random"][::-1].tolist()  # the order of documents is nothing


def test_what_cannot_be_measured_is_named() -> None:
    documents = [
        article(DOUGH, SAW),
        article(DOUGH, replace(SAW, position=2), name="one place"),
        article(DOUGH, replace(SAW, position=None), name="no place"),
        article(name="no pictures"),
        article(DOUGH, replace(SAW, position=3), name="a caption between"),
        Document("captions", (Sentence("A.", 0, "caption"), Sentence("B.", 1, "caption")), (DOUGH, SAW)),
    ]
    found = reorder(linker(), documents)
    assert found.documents == ("d",)
    assert found.undefined == {
        "one place": "its pictures stand at one place",
        "no place": "it does not say where its pictures stand",
        "no pictures": "it has no sentences or no pictures",
        "a caption between": "its pictures stand at one place",
        "captions": "it has no sentences or no pictures",
    }
    with pytest.raises(CorpusError, match="its pictures stand at one place"):
        reorder(linker(), documents[1:2])


@pytest.mark.parametrize("kind", ["layout", "reference"])
def test_evidence_that_tells_the_place_is_refused(kind: Any) -> None:
    with pytest.raises(SettingError, match=f"evidence {kind} tells the places"):
        reorder(linker(evidence=("caption", kind)), [article(DOUGH, SAW)])
